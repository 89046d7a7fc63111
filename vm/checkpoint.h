/* Checkpointing: parts of a differentiated run are computed again in its sweep.
 *
 * A region is the machine's state where such a part begins: the frames of the
 * run and what its registers hold.  An operator in a region makes a blank: a
 * record that keeps nothing but its place in the order and its region.  When
 * the reverse sweep meets blanks, the region's part runs once more from that
 * state, and its records, which now keep what the sweep reads, take over the
 * adjoints of the blanks of the same order.
 *
 * So a run is cut where its memory asks for it, or as checkpoint() does; where
 * a part is too long to be kept at once, it is run again in regions of its own
 * (Siskind and Pearlmutter 2017, Divide-and-conquer checkpointing). */
#ifndef VM_CHECKPOINT_H
#define VM_CHECKPOINT_H

#include "vm/sweep.h"

static inline bool record_is_blank(const Cell *record) {
  return record->obj.tag == RECORD_BLANK;
}

/* Is a record of this level made here a blank? */
static inline bool checkpoint_blanks(const Session *s, int level) {
  return s->checkpointing.region && level == 1;
}
/* Such a record; NULL: memory ran out. */
Cell *checkpoint_blank(Session *s, int level, int outs);

/* A record has its order: the sweep under way may have waited for it.  False:
 * memory ran out. */
bool checkpoint_found(Session *s, Cell *record);
static inline bool checkpoint_made(Session *s, Cell *record) {
  return record_order(record) != s->checkpointing.wanted ||
         checkpoint_found(s, record);
}

/* At an operator, where the session's pc is: a region may begin or end. */
bool checkpoint_due(Session *s);
static inline bool checkpoint_look(Session *s) {
  return s->record_count < s->checkpointing.next || checkpoint_due(s);
}

/* The outermost run begins and ends. */
void checkpoint_begin(Session *s, bool counted);
void checkpoint_end(Session *s);
/* How much the run, or its sweep, keeps now is told by the statistics. */
void session_note_tape(Session *s);
/* Does what is kept now leave no room for the tape of another region? */
bool checkpoint_is_short(const Session *s);
/* After a fault. */
void checkpoint_forget(Session *s);

/* The order of the last record before a region. */
uint64_t region_order(const Cell *region);

/* Makes the records anew whose blanks are to be swept next. */
bool sweep_again(Sweep *w);

#endif
