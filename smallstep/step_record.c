/* The record of the small-step machine: its last states, and moving back and
 * forth among them.
 *
 *   entries   [ e1 | e2 | e3 | e4 | e5 ]
 *                         ^ entry = 3: the machine stands after e3
 *   changes   [ c1 c2 | c3 | c4 ]
 *                       ^ changed = 3: c4 is undone
 *
 * An entry holds two states (a few pointers each) and keeps them alive; they
 * share all that they have in common.  What changes in place (cells, promises,
 * globals) is in the list of changes, with the value before and the value
 * after, and each entry says how many changes had been made by then.  So to go
 * back is to set pointers and to undo some changes, and to go forward again to
 * redo them: nothing is evaluated and nothing is printed twice.
 *
 * The record is bounded by step_keep() and by memory (step_heap.c): the older
 * half is dropped, which moves the rest and so costs constant time for each
 * entry on average. */
#include "smallstep/step_machine.h"

#include <string.h>

/* --- Changes ------------------------------------------------------------ */

/* The index of a promise says whether it holds a value.  Undoing an evaluation
 * makes the promise wait again. */
static void put(StepMachine *m, const StepChange *c, StepObj *content,
                bool evaluated) {
  if (!c->of) {
    m->globals.data[c->slot] = content;
    return;
  }
  c->of->fields[CONTENT] = content;
  if (c->of->kind == V_PROMISE) c->of->evaluated = evaluated;
}

/* Without a record nothing is noted down. */
static void change(StepMachine *m, StepChange c) {
  put(m, &c, c.is, true);
  if (!m->keep) return;
  VEC_PUSH(&m->changes, c);
  m->changed = m->changes.len;
}

void step_set(StepMachine *m, StepObj *of, StepObj *content) {
  change(m, (StepChange){of, 0, of->fields[CONTENT], content});
}

void step_set_global(StepMachine *m, size_t slot, StepObj *value) {
  while (m->globals.len <= slot && !mem_exhausted(m->mem))
    VEC_PUSH(&m->globals, NULL);
  if (mem_exhausted(m->mem)) return;
  change(m, (StepChange){NULL, slot, m->globals.data[slot], value});
}

/* Undoes changes from the last, or redoes them from the first, until `end` of
 * them are in force. */
static void change_until(StepMachine *m, size_t end) {
  while (m->changed > end) {
    const StepChange *c = &m->changes.data[--m->changed];
    put(m, c, c->was, false);
  }
  while (m->changed < end) {
    const StepChange *c = &m->changes.data[m->changed++];
    put(m, c, c->is, true);
  }
}

/* --- Entries ------------------------------------------------------------ */

void step_keep(StepMachine *m, size_t entries) { m->keep = entries; }

/* Not while the machine stands in the past: step_next() goes on through the
 * entries after it. */
bool step_forget(StepMachine *m) {
  size_t gone = (m->entries.len + 1) / 2;
  if (!gone || m->entry < m->entries.len) return false;
  StepEntry *e = m->entries.data;
  size_t changes = e[gone - 1].changes;
  m->entries.len -= gone;
  m->changes.len -= changes;
  m->changed -= changes;
  m->entry = m->entries.len;
  memmove(e, e + gone, m->entries.len * sizeof *e);
  if (changes) {
    memmove(m->changes.data, m->changes.data + changes,
            m->changes.len * sizeof *m->changes.data);
  }
  for (size_t i = 0; i < m->entries.len; i++) e[i].changes -= changes;
  return true;
}

void step_enter_record(StepMachine *m) {
  uint32_t low = m->low;
  m->low = UINT32_MAX;
  if (!m->keep) return;
  if (m->entries.len >= m->keep) step_forget(m);
  VEC_PUSH(&m->entries, (StepEntry){.redex = m->redex,
                                    .after = m->now,
                                    .outcome = m->outcome,
                                    .rule = m->rule,
                                    .span = m->span,
                                    .low = low,
                                    .job = m->job,
                                    .count = m->count,
                                    .changes = m->changes.len});
  m->entry = m->entries.len;
}

/* Moves to the state after entry `n` (from 1). */
static void stand(StepMachine *m, size_t n) {
  const StepEntry *e = &m->entries.data[n - 1];
  m->entry = n;
  m->now = e->after;
  m->redex = e->redex;
  m->outcome = e->outcome;
  m->rule = e->rule;
  m->span = e->span;
  m->job = e->job;
  m->count = e->count;
  m->low = UINT32_MAX;
  change_until(m, e->changes);
}

/* The first entry has no state before it in the record. */
bool step_back(StepMachine *m) {
  if (m->entry < 2) return false;
  stand(m, m->entry - 1);
  return true;
}

bool step_is_behind(const StepMachine *m) { return m->entry < m->entries.len; }

StepOutcome step_again(StepMachine *m) {
  stand(m, m->entry + 1);
  return m->outcome;
}
