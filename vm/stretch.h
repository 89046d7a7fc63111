/* Records of stretches (bytecode/lower/stretch.c), which stretch.c makes and
 * stretch_pull.c sweeps.
 *
 * Where a loop's body is a stretch, each step reads what the step before gave
 * and nothing else does.  Such steps share a record: the next one is added to
 * the record of those before (stretch.c), which so is that of the latest step.
 * Of the steps after the first it keeps what the sweep reads, and no more:
 *
 *   record   [ ... | inputs of the first step | saved by the first step]
 *                steps
 *                 |
 *   steps    [older | count, room | sources | saved by a step | the next | ...]
 *               |
 *   steps    [ ... ]
 */
#ifndef VM_STRETCH_H
#define VM_STRETCH_H

#include <string.h>

#include "vm/checkpoint.h"

/* --- Inputs --------------------------------------------------------------- */

/* Of which result of its record an input is: four to a word. */
enum { INDEX_BITS = 16, INDEX_MOST = (1 << INDEX_BITS) - 1, INDICES = 4 };

static inline uint64_t input_index(const Value *f, int n, int i) {
  unsigned at = (unsigned)i / INDICES,
           shift = INDEX_BITS * ((unsigned)i % INDICES);
  return f[RECORD_ARGS + n + (int)at].bits >> shift & INDEX_MOST;
}

static inline void set_input_index(Value *f, int n, int i, uint64_t index) {
  f[RECORD_ARGS + n + i / INDICES].bits |= index << INDEX_BITS * (i % INDICES);
}

/* The field where the saved values of a record of n inputs begin. */
static inline int first_saved(int n) {
  return RECORD_ARGS + n + (n + INDICES - 1) / INDICES;
}

/* --- Steps ---------------------------------------------------------------- */

/* A record of a stretch has no rule in it: this is where its steps are
 * after the first, the latest ones.  A cell for steps has one, at least. */
enum { RECORD_STEPS = RECORD_RULE };

/* What an input of each step but the first is: the result of this number of the
 * step before, or of all steps the same.  A byte for each input. */
enum { SOURCE_SAME = UINT8_MAX, SOURCE_WORDS = STRETCH_INPUTS / 8 };
static_assert(STRETCH_INPUTS % 8 == 0 && (int)STRETCH_OUTS < (int)SOURCE_SAME,
              "a place for each");

enum {
  STEPS_OLDER,
  STEPS_COUNT,
  STEPS_ROOM,
  STEPS_SOURCES,
  STEPS_SAVED = STEPS_SOURCES + SOURCE_WORDS
};

static inline const uint8_t *step_sources(const Cell *steps) {
  return (const uint8_t *)(cell_fields((Cell *)steps) + STEPS_SOURCES);
}

/* --- Instructions --------------------------------------------------------- */

/* The registers of an instruction, which its site precedes. */
static inline const uint16_t *stretch_list(const Word *pc) {
  return pc[2].regs;
}

/* What the instructions do (stretch.c), unless the step at hand is like the one
 * before (stretch_loop.c). */
bool stretch_fits(Session *s, const Value *regs, const Word *pc);
bool stretch_in(Session *s, const Word *pc);
bool stretch_out(Session *s, const Word *pc);
/* The record has a new step, and the next one may be like it. */
void loop_fill(Session *s, const StretchSite *site, Cell *record);

static inline bool is_float_tensor(const Type *t) {
  return dtype_is_float((DType)t->dtype);
}

static inline Value scalar_bits(const Tensor *t) {
  Value v = {.bits = 0};
  if (t->dtype != DT_FLOAT32) return bits_load((DType)t->dtype, t->data);
  memcpy(&v.f32, t->data, sizeof v.f32);
  return v;
}

static inline void set_scalar(const Tensor *t, Value bits) {
  if (t->dtype != DT_FLOAT32) bits_store((DType)t->dtype, t->data, bits);
  else memcpy(t->data, &bits.f32, sizeof bits.f32);
}

/* May the scalar below a Dual be written over? */
static inline bool scalar_is_ours(const Cell *dual) {
  const Tensor *t = dual->fields[DUAL_PRIMAL].tensor;
  return obj_unshared(&t->obj) && buffer_writable(t->buffer);
}

/* What the sweep reads goes from the listed registers to fields of `to`, from
 * `saved` on. */
static inline void save_at(const Session *s, const StretchSite *site,
                           const uint16_t *list, Cell *to, Value *saved) {
  for (int i = 0; i < site->saved_count; i++) saved[i] = s->regs[list[i]];
  if (site->saved_objects)
    mark_fields(to, (int)(saved - cell_fields(to)), site->saved_objects, true);
}

/* Is a saved value an object? */
static inline bool saved_is_counted(const StretchSite *site, int i) {
  return site->saved_objects >> i & 1;
}

/* --- What a function for a stretch gives ---------------------------------- */

/* What a rule gave: a tuple, or its fields, of which part i and those after are
 * still to be taken. */
typedef struct Given {
  const Function *rule;
  Cell *tuple; /* NULL: the fields are unboxed */
  Value fields[RESULTS_MOST];
  int taken;
} Given;

/* The rule's result, which is in s->left. */
static inline void given_start(const Session *s, const Function *rule,
                               Given *given) {
  given->rule = rule;
  given->taken = 0;
  given->tuple = rule->result_count ? NULL : s->left[0].cell;
  for (uint32_t i = 0; i < rule->result_count; i++)
    given->fields[i] = s->left[i];
}

/* The next part: a reference, where it is an object. */
static inline Value given_next(Given *given) {
  int i = given->taken++;
  if (!given->tuple) return given->fields[i];
  Value v = cell_fields(given->tuple)[i];
  if (cell_field_counted(given->tuple, (uint64_t)i)) obj_keep(v.obj);
  return v;
}

/* What was not taken ends. */
static inline void given_done(Session *s, Given *given) {
  if (given->tuple) obj_drop(&s->store, &given->tuple->obj);
  for (uint32_t i = (uint32_t)given->taken; i < given->rule->result_count; i++)
    if (given->rule->result_counted[i])
      obj_drop(&s->store, given->fields[i].obj);
}

/* --- Forward runs (forward.c) --------------------------------------------- */

/* Has the stretch tangents of its own where these inputs vary?  True also where
 * memory ran out. */
bool forward_stretch_fits(Session *s, StretchSite *site, uint32_t varies);
/* A record for the stretch that begins, with the tangents of its inputs; NULL:
 * memory ran out. */
Cell *forward_stretch_in(Session *s, StretchSite *site, const uint16_t *list,
                         int level);
/* Puts the results' tangents into the record, in the place of the inputs'.  The
 * registers of what is saved are listed first.  False after a fault. */
bool forward_stretch_out(Session *s, StretchSite *site, const uint16_t *list,
                         Cell *record);
/* Is it the record of a stretch in a forward run? */
static inline bool record_has_tangents(const Cell *record) {
  return record->obj.tag == RECORD_OF_OP;
}

#endif
