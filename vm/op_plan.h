/* Plans of tensor operators: the code specialised, site by site, to the shapes
 * and values at hand.
 *
 * The typing rule of an operator depends on the shapes of its operands and on
 * attributes, which are the site's or the values of operands.  As long as these
 * are those of the last time, the rule's answer is taken from the plan: a loop
 * over tensors of one shape infers once.  Of the arithmetic of shapes
 * (OpSite.keeps) the plan has the result, too, as long as the operands have the
 * values of the last time: then no kernel runs.
 *
 *   shape_of(x)                   shapes of x     -> the result
 *   take(s, 1)                    values of s, 1  -> the result
 *   reshape(x, newshape=[a, b])   shapes of x, value of [a, b]
 *                                                 -> its type and its record
 *
 * Other operands make the plan anew.  Nothing but the time that a run takes
 * depends on plans. */
#ifndef VM_OP_PLAN_H
#define VM_OP_PLAN_H

#include "kernels/call.h"
#include "vm/plan.h"

typedef struct OpPlan {
  Plan plan; /* with `kept`, the result of OpSite.keeps */
  RuleType result;
  const Attrs *attrs; /* the complete record */
  int held;           /* operands whose values are in the record */
  int misses;         /* kept results in a row that were of no use */
  int64_t *values;    /* the elements that the kept result depends on; NULL:
                         results are not kept */
  int64_t key[]; /* for each operand: its rank and dimensions; after them the
                    elements of those that the site has `by_value` */
} OpPlan;

/* Have the operands of `by_value` these elements?  Their shapes are the plan's.
 */
bool op_plan_has_values(const OpSite *site, const Tensor *const *args,
                        const int64_t *values);

/* The plan for these operands, flattened; NULL: there is none. */
static inline OpPlan *op_plan_find(const Plans *p, const OpSite *site,
                                   const Tensor *const *args) {
  OpPlan *plan = (OpPlan *)plan_find(p, site->number);
  if (!plan) return NULL;
  const int64_t *key = plan->key;
  for (int i = 0; i < site->arg_count; i++) {
    const Tensor *t = args[i];
    int rank = t->rank;
    if (*key++ != rank) return NULL;
    for (int k = 0; k < rank; k++)
      if (t->shape[k] != key[k]) return NULL;
    key += rank;
  }
  if (!site->by_value) return plan;
  if (!op_plan_has_values(site, args, key)) return NULL;
  plan->plan.misses = 0;
  return plan;
}
/* Makes the plan of what the rule has answered, which is in the call.  NULL
 * without memory, or where another plan would be of little use. */
OpPlan *op_plan_keep(Plans *p, const OpSite *site, const Tensor *const *args,
                     const OpCall *call);
/* The result that the plan keeps (plan.kept), a reference for the caller, if it
 * is that of these operands; else NULL. */
Tensor *op_plan_result(Plans *p, OpPlan *plan, const OpSite *site,
                       const Tensor *const *args);
/* Keeps a reference to the result `t`, if it is small.  plan->values is not
 * NULL. */
void op_plan_keep_result(Plans *p, OpPlan *plan, const OpSite *site,
                         const Tensor *const *args, Tensor *t);

#endif
