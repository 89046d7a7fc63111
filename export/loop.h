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
  Val **met; /* for each slot what the turns met; NULL: nobody asks */
} Loop;

/* What a value of the loop is at every turn. */
typedef struct Slot {
  const Type *type;
  const char *name; /* that of its parameter */
  const Type *met;  /* what a sequence of it holds (back.c): a tensor itself, of
                       a list an element; NULL: nobody has asked */
} Slot;

/* --- loop.c --------------------------------------------------------------- */

/* A frame of the same call with other arguments. */
Frame *frame_with(Export *x, const Frame *call, const Fn *fn, Val *const *args);
Val *ask_in(Export *x, Frame *f, const Fn *fn, Ask what, const Self *self);
/* The arguments with others in the places of those that change. */
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

/* Can the second loop have again what each slot was?  Sets what sequences of it
 * hold.  False after reporting. */
bool may_be_met(const Loop *l, size_t count, Slot *slots);
/* What a slot was at the turns so far: an input of the body; nothing yet. */
Val *met_input(Export *x, OnnxGraph *body, const Slot *slot);
Val *met_none(Export *x, const Slot *slot);
/* What it was at this turn, too, as outputs of the body. */
bool meet(const Loop *l, OnnxGraph *body, Val *const *met, Val *const *now,
          const Vals *next, const Slot *slots);
/* From the value `v` of the last call to that of the first; `lists` are what
 * the first loop left of its slots. */
Val *loop_back(const Loop *l, const Val *v, size_t count, const Slot *slots,
               Val *const *lists);

#endif
