/* A recursive function that becomes a Loop, for the files that write it. */
#ifndef EXPORT_LOOP_H
#define EXPORT_LOOP_H

#include "export/exporter.h"

typedef struct Loop {
  Export *x;
  const Fn *fn;
  const Self *self;
  Frame *call;
  Val **args; /* of the call */
  const Expr *at;
  Val **met; /* for each slot the sequence of its values, one a turn (back.c);
                NULL: the loop has no way back */
} Loop;

/* A value that the loop carries from turn to turn. */
typedef struct Slot {
  const Type *type;
  const char *name; /* of the function's parameter */
  const Type *met;  /* the element type of its sequence in Loop.met: the tensor,
                       or the first element of a list; NULL: no sequence */
} Slot;

/* --- loop.c --------------------------------------------------------------- */

/* A frame of the same call with other arguments. */
Frame *frame_with(Export *x, const Frame *call, const Fn *fn, Val *const *args);
/* The answer of `what` for the function's body in the frame. */
Val *ask_in(Export *x, Frame *f, const Fn *fn, Ask what, const Self *self);
/* The call's arguments, with `values` in the places of those that change. */
Val **with_carried(const Loop *l, Val *const *values);
/* The slots of a value of that type, laid out as val_flatten lays out the
 * values, from `*next` on. */
void carried_slots(const Loop *l, const Val *v, Slot of, const Vals *values,
                   size_t *next, Slot *out);
/* Inputs and outputs of a loop's body. */
Val *body_input(Export *x, OnnxGraph *body, const char *name, const Type *type);
Val **body_inputs(Export *x, OnnxGraph *body, size_t count, const Slot *slots);
bool body_outputs(Export *x, OnnxGraph *body, const Vals *next,
                  const Slot *slots);

/* --- back.c --------------------------------------------------------------- */

/* Can the second Loop recover the values of each slot?  Sets `met` of the
 * slots. False after reporting. */
bool may_be_met(const Loop *l, size_t count, Slot *slots);
/* The sequence of a slot's values: as an input of the body, and empty. */
Val *met_input(Export *x, OnnxGraph *body, const Slot *slot);
Val *met_none(Export *x, const Slot *slot);
/* Adds the slots' values at this turn, `now`, to the sequences `met`, which
 * become outputs of the body.  `next` are the slots after the turn.  False
 * after reporting. */
bool meet(const Loop *l, OnnxGraph *body, Val *const *met, Val *const *now,
          const Vals *next, const Slot *slots);
/* The second Loop: from `v`, the value of the last call, the value of the
 * first. `lists` are the slots as the first Loop left them.  NULL after
 * reporting. */
Val *loop_back(const Loop *l, const Val *v, size_t count, const Slot *slots,
               Val *const *lists);

#endif
