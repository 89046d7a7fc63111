/* What both directions of derivatives share: the reverse sweep (step_sweep.c)
 * and the forward one (step_tangent.c). */
#ifndef SMALLSTEP_STEP_SWEEP_H
#define SMALLSTEP_STEP_SWEEP_H

#include "smallstep/step_machine.h"

/* Records that are gone over, while that is being moved on; step_sweep_stand()
 * makes a state of it. */
typedef struct StepSweep {
  StepMachine *m;
  const Expr *e; /* the call that is differentiated */
  SweepKind kind;
  StepObj *env, *run, *records, *adjoints, *todo, *along, *outer;
  uint32_t left;    /* the record that is next: counted down, or along up */
  uint32_t operand; /* along: of that record, counted with tuples flattened */
} StepSweep;

typedef VEC(StepObj *) StepObjs;
/* A tensor and a part of its adjoint. */
typedef struct StepGiven {
  StepObj *of, *part;
} StepGiven;
typedef VEC(StepGiven) StepParts;

/* --- Moving on (step_sweep.c) ------------------------------------------- */

/* The state in a frame, after a step at `record` about the adjoint of `of`,
 * made from `from`. */
void step_sweep_stand(StepSweep *w, int waits, StepDid what, StepObj *record,
                      StepObj *of, StepObj *from);
/* Neither failed nor out of memory. */
bool step_sweep_goes_on(const StepSweep *w);
/* Up to the next step. */
void step_sweep_move_on(StepSweep *w);
/* Does the record's operator have a derivative here?  False after a failure. */
bool step_sweep_can(StepSweep *w, const StepObj *record);
/* Enters the rule of a record's operator from this adjoint. */
void step_sweep_enter_rule(StepSweep *w, StepObj *record, StepObj *adjoint);
/* Enters the rule of the record, from the adjoints of its value.  False: there
 * are none. */
bool step_sweep_visit(StepSweep *w, StepObj *record);

/* --- Records (step_trace.c) --------------------------------------------- */

/* Adds the tensors of floats in a value, in order. */
void step_sweep_leaves(StepMachine *m, StepObj *v, StepObjs *out);
/* The objects as a tuple; NULL without memory. */
StepObj *step_sweep_tuple(StepMachine *m, const StepObjs *all);
/* The records that the value of a run depends on and that depend on its inputs,
 * those included, by their order; `along` for a forward sweep. */
StepObj *step_sweep_records(StepMachine *m, const StepObj *run, bool along);
/* The records of the operands of a record, and that one. */
StepObj *step_sweep_records_around(const StepSweep *w, StepObj *record);
bool step_sweep_is_input(const StepObj *run, const StepObj *record);
/* Does the tensor come from one of the records? */
bool step_sweep_depends(const StepSweep *w, const StepObj *t);
/* What adjoints are of: what a tensor was before its first new name within the
 * run. */
StepObj *step_sweep_meant(const StepSweep *w, StepObj *t);

/* --- Adjoints (step_adjoint.c) ------------------------------------------ */

/* The sum, or along the tangent, of a tensor; or NULL. */
StepObj *step_sweep_sum(const StepSweep *w, const StepObj *t);
/* For step_copy: the same, or zeros. */
StepObj *step_sweep_sum_or_zeros(StepMachine *m, StepObj *t, void *sweep);
void step_sweep_put(StepSweep *w, const StepObj *t, StepObj *sum,
                    StepObj *rows);
/* A matrix, or a pair of them, that waits. */
void step_sweep_put_rows(StepSweep *w, const StepObj *t, StepObj *rows);
/* A part that is to be added, before all that already is. */
void step_sweep_put_todo(StepSweep *w, StepObj *of, StepObj *part);
/* Those of the parts whose tensors depend on an input, in order. */
void step_sweep_put_parts(StepSweep *w, const StepParts *parts);
/* The parts of an adjoint of a whole value, in order; `what` names it in a
 * message. */
void step_sweep_put_whole(StepSweep *w, const char *what, StepObj *of,
                          StepObj *part);
/* The record that the sweep stands at. */
StepObj *step_sweep_at(const StepSweep *w);
/* Gives the step that an operator of the sweep's own was its name. */
void step_sweep_named(const StepSweep *w);
/* Each is true if an operator was applied, or has failed: for what is to be
 * added next, and for what waited for the tensors of a record. */
bool step_sweep_add_next(StepSweep *w);
bool step_sweep_settle(StepSweep *w, StepObj *record);
/* After the sweep of records around one: the adjoints of its operands that have
 * a tangent in w->along, and in *tangents those. */
StepObj *step_sweep_found(StepSweep *w, StepObj **tangents);

/* --- Along (step_tangent.c) --------------------------------------------- */

/* The next record; true: a step was made, or has failed. */
bool step_along_visit(StepSweep *w, StepObj *record);
/* What a rule, or the sweeps of one, have given for the record. */
void step_along_take(StepSweep *w, StepObj *record, int waited, StepObj *given);
/* From what a sweep of one record has found for its operands, on to the
 * tangents of its value. */
void step_along_go_back(StepSweep *w);

#endif
