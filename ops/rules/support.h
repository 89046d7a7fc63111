/* What rules are written with.  Functions that answer bool report the mistake
 * themselves; a rule then returns RULE_ERROR. */
#ifndef OPS_RULES_SUPPORT_H
#define OPS_RULES_SUPPORT_H

#include "ops/ops.h"

/* The row of a rule stands above its function, in any file of ops/rules/:
 *
 *   RULE(name, "operands -> results", further fields of RuleInfo);
 *
 * The text is what documentation shows: d... is any shape, t a dtype, ^ is
 * broadcasting.  The build collects the names (rules.ids). */
#define RULE(id, said, ...)                    \
  static RuleStatus rule_##id(RuleCall *call); \
  const RuleInfo rule_info_##id = {            \
      .name = #id, .run = rule_##id, .text = said, __VA_ARGS__}

/* --- Results ------------------------------------------------------------- */

RuleType rule_tensor(DType dtype, int rank, const Dim *dims);
/* Sets the result; RULE_OK unless the rank is too high. */
RuleStatus rule_result(RuleCall *c, DType dtype, int rank, const Dim *dims);
/* The result is of the first operand's type. */
RuleStatus rule_result_alike(RuleCall *c);
/* Makes the result a tuple and returns its `n` fields, to be set; NULL after
 * reporting when memory runs out. */
RuleType *rule_result_tuple(RuleCall *c, int n);

/* --- Operands ------------------------------------------------------------ */

/* How many operands are not attributes. */
int rule_operands(const RuleCall *c);
bool rule_rank(RuleCall *c, int i, int rank);
bool rule_min_rank(RuleCall *c, int i, int rank);
bool rule_dtype(RuleCall *c, int i, DType dtype);
bool rule_same_dtype(RuleCall *c, int i, int k);

bool rule_class(RuleCall *c, int i, TypeClass class);

/* Operand `i` has this shape. */
bool rule_fits(RuleCall *c, int i, int rank, const Dim *dims);
/* The same and the dtype, after filling in what is not known of it. */
bool rule_expect(RuleCall *c, int i, DType dtype, int rank, const Dim *dims);
/* The dtype that a weight, operand 1, has beside operand 0: its own where both
 * are integers, else that of operand 0. */
DType rule_weight_dtype(const RuleCall *c);
/* Of counts and indices: attribute `dtype`, int32 where it is not given. */
DType rule_dtype_or_int32(const RuleCall *c);

/* --- Integer attributes -----------------------------------------------------
 * An attribute's integers are Dims, which do no arithmetic by themselves: a
 * rule computes with dim_add and its like, or asks for a number of a range
 * that is small enough to compute with.  Each names the attribute, its value,
 * and the range. */

enum { STEP_MOST = INT32_MAX }; /* of strides, widths of windows, blocks */

/* Nothing is said of what is not known before the program runs. */
bool rule_in_range(RuleCall *c, AttrName name, Dim value, int64_t least,
                   int64_t most);
/* An attribute that is no expression. */
bool rule_number(RuleCall *c, AttrName name, int64_t least, int64_t most,
                 int64_t *number);

/* --- Axes ---------------------------------------------------------------- */

typedef unsigned AxisSet; /* bit i: axis i */

/* An attribute's value, negative ones counting from the end. */
bool rule_axis_value(RuleCall *c, AttrName name, Dim value, int rank,
                     int *axis);
bool rule_axis(RuleCall *c, AttrName name, int rank, int *axis);
bool rule_axis_set(RuleCall *c, AttrName name, int rank, AxisSet *set);

/* --- Dimensions ---------------------------------------------------------- */

/* What is known of a dimension of which two things are known: the number
 * rather than `?`. */
Dim rule_meet(Dim a, Dim b);
/* `out` receives the dims; its dtype stays. */
bool rule_broadcast_dims(const RuleType *a, const RuleType *b, RuleType *out);
/* The same for two operands, reporting the mistake. */
bool rule_broadcast_pair(RuleCall *c, int i, int k, RuleType *out);

/* The dims that a shape-like attribute gives.  The second refuses negative
 * ones. */
RuleStatus rule_shape_attr(RuleCall *c, AttrName name, int *rank, Dim *dims);
RuleStatus rule_result_shape(RuleCall *c, AttrName name, int *rank, Dim *dims);

/* --- Text in the call's arena -------------------------------------------- */

const char *rule_shape(RuleCall *c, int i); /* of operand i: "(2, 3)" */
const char *rule_dims_text(RuleCall *c, int rank, const Dim *dims);
const char *rule_dim_text(RuleCall *c, Dim d);
const char *rule_arg_name(RuleCall *c, int i);

#endif
