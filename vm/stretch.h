/* Records of stretches (bytecode/lower/stretch.c), which stretch.c makes and
 * stretch_pull.c sweeps.
 *
 * Where a loop's body is a stretch, each step reads what the step before gave
 * and nothing else does.  Such steps share a record: the next one is added to
 * the record of those before (stretch.c), which so is that of the latest step.
 * Of the others it keeps what the sweep reads, and no more:
 *
 *   record   [ ... | inputs of the first step | saved by the latest step]
 *                steps
 *                 |
 *   steps    [older | count, room | sources | saved by a step | the next | ...]
 *               |
 *   steps    [ ... ]
 */
#ifndef VM_STRETCH_H
#define VM_STRETCH_H

#include "vm/again.h"

/* --- Inputs --------------------------------------------------------------- */

/* Of which result of its record an input is: four to a word. */
enum { INDEX_BITS = 16, INDEX_MOST = (1 << INDEX_BITS) - 1, INDICES = 4 };

static inline uint64_t input_index(const Value *f, int n, int i) {
  return f[RECORD_ARGS + n + i / INDICES].bits >> INDEX_BITS * (i % INDICES) &
         INDEX_MOST;
}

static inline void set_input_index(Value *f, int n, int i, uint64_t index) {
  f[RECORD_ARGS + n + i / INDICES].bits |= index << INDEX_BITS * (i % INDICES);
}

/* The field where the saved values of a record of n inputs begin. */
static inline int first_saved(int n) {
  return RECORD_ARGS + n + (n + INDICES - 1) / INDICES;
}

/* --- Steps ---------------------------------------------------------------- */

/* A record of a stretch has no rule in it: this is where its steps are, if
 * there are any but the latest. */
enum { RECORD_STEPS = RECORD_RULE };

enum { STEPS_OLDER, STEPS_COUNT, STEPS_ROOM, STEPS_SOURCES, SOURCE_WORDS = 2 };
enum { STEPS_SAVED = STEPS_SOURCES + SOURCE_WORDS };

/* What an input of each step but the first is: the result of this number of the
 * step before, or of all steps the same. */
enum { SOURCE_BITS = 5, SOURCES = 12, SOURCE_SAME = (1 << SOURCE_BITS) - 1 };
static_assert((int)SOURCES * SOURCE_WORDS >= (int)STRETCH_INPUTS &&
                  (int)STRETCH_OUTS <= (int)SOURCE_SAME,
              "a place for each");

static inline unsigned step_source(const Value *words, int i) {
  return words[i / SOURCES].bits >> SOURCE_BITS * (i % SOURCES) & SOURCE_SAME;
}

/* Is a saved value an object? */
static inline bool saved_is_counted(const StretchSite *site, int i) {
  return site->saved_objects >> i & 1;
}

#endif
