/* Rules of operators that detect objects: prior boxes, boxes that overlap, and
 * what networks of detection do around them.  A batch has n boxes. */
#include "ops/rules/support.h"

#include <string.h>

/* One number: a scalar, or a vector of one. */
static bool one_number(RuleCall *c, int i, TypeClass class) {
  return rule_class(c, i, class) &&
         (c->args[i].rank == 0 || rule_fits(c, i, 1, (Dim[]){dim_of(1)}));
}

/* A list of `count` numbers; 0: of any number but none. */
static bool numbers(RuleCall *c, AttrName name, int count) {
  int given = attr_get(c->attrs, name)->count;
  if (count ? given == count : given > 0) return true;
  if (count)
    rule_attr_error(c, E0303, name, "`%s` holds %d numbers, not %d",
                    attr_name_text(name), count, given);
  else
    rule_attr_error(c, E0303, name, "`%s` holds no number",
                    attr_name_text(name));
  return false;
}

/* Where a box of operand 0, (b, n, e), has something: `length` numbers from
 * the attribute on. */
static bool place_in_box(RuleCall *c, AttrName name, int64_t least,
                         int64_t length) {
  Dim e = c->args[0].dims[2];
  int64_t place, most = STEP_MOST;
  if (dim_is_number(e)) most = dim_value(dim_sub(c->dims, e, dim_of(length)));
  return rule_number(c, name, least, most, &place);
}

enum { OFF = -STEP_MOST }; /* any negative place: a box has no such number */

/*   x : (b, c, h, w, t)    s sizes, r ratios    t floating-point
 *   -------------------------------------------------------------
 *   vision.multibox_prior(x) : (1, h * w * (s + r - 1), 4, t)               */
RULE(multibox_prior,
     "(b, c, h, w, t) -> (1, h * w * boxes, 4, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_multibox_prior(RuleCall *c) {
  const RuleType *x = &c->args[0];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_rank(c, 0, 4) ||
      !numbers(c, ATTR_sizes, 0) || !numbers(c, ATTR_ratios, 0) ||
      !numbers(c, ATTR_steps, 2) || !numbers(c, ATTR_offsets, 2))
    return RULE_ERROR;
  int64_t boxes = (int64_t)attr_get(c->attrs, ATTR_sizes)->count +
                  attr_get(c->attrs, ATTR_ratios)->count - 1;
  Dim n =
      dim_mul(c->dims, dim_mul(c->dims, x->dims[2], x->dims[3]), dim_of(boxes));
  return rule_result(c, x->dtype, 3, (Dim[]){dim_of(1), n, dim_of(4)});
}

/* Are the operands of one floating-point dtype and of these ranks? */
static bool three_floats(RuleCall *c, int first, int second, int third) {
  const int ranks[] = {first, second, third};
  for (int i = 0; i < 3; i++)
    if (!rule_class(c, i, TAKES_FLOAT) || !rule_same_dtype(c, 0, i) ||
        !rule_rank(c, i, ranks[i]))
      return false;
  return true;
}

/*   p : (b, c, n, t)    l : (b, 4 * n, t)    a : (1, n, 4, t)
 *   ----------------------------------------------------------------------
 *   vision.multibox_transform_loc(p, l, a) : ((b, n, 6, t), (b, int32))     */
RULE(multibox_transform_loc,
     "(b, c, n, t), (b, 4 * n, t), (1, n, 4, t) -> ((b, n, 6, t), (b, int32)), "
     "t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_multibox_transform_loc(RuleCall *c) {
  const RuleType *p = &c->args[0];
  if (!three_floats(c, 3, 2, 3)) return RULE_ERROR;
  Dim n = rule_meet(p->dims[2], c->args[2].dims[1]), b = p->dims[0];
  if (!rule_fits(c, 2, 3, (Dim[]){dim_of(1), p->dims[2], dim_of(4)}) ||
      !rule_fits(c, 1, 2, (Dim[]){b, dim_mul(c->dims, n, dim_of(4))}) ||
      !numbers(c, ATTR_variances, 4))
    return RULE_ERROR;
  b = rule_meet(b, c->args[1].dims[0]);
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(p->dtype, 3, (Dim[]){b, n, dim_of(6)});
  fields[1] = rule_tensor(DT_INT32, 1, &b);
  return RULE_OK;
}

/*   x : (b, n, e, t)    s : ()    t, s floating-point
 *   ---------------------------------------------------------------------
 *   vision.get_valid_counts(x, s) : ((b, int32), (b, n, e, t), (b, n, int32))
 */
RULE(get_valid_counts,
     "(b, n, e, t), () -> ((b, int32), (b, n, e, t), (b, n, int32)), t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_get_valid_counts(RuleCall *c) {
  const RuleType *x = &c->args[0];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_rank(c, 0, 3) ||
      !one_number(c, 1, TAKES_FLOAT) ||
      !place_in_box(c, ATTR_score_index, 0, 1) ||
      !place_in_box(c, ATTR_id_index, OFF, 1))
    return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 3);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(DT_INT32, 1, x->dims);
  fields[1] = rule_tensor(x->dtype, 3, x->dims);
  fields[2] = rule_tensor(DT_INT32, 2, x->dims);
  return RULE_OK;
}

/*   x : (b, n, e, t)    v : (b, int)    i : (b, n, int)    m : (int)    s : ()
 *   ------------------------------------------------------------------------
 *   vision.non_max_suppression(x, v, i, m, s) : ((b, n, int32), (b, 1, int32)),
 *   or, with return_indices=False, when i may be anything, (b, n, e, t)     */
RULE(non_max_suppression,
     "(b, n, e, t), (b, int), (b, n, int), (), () -> ((b, n, int32), (b, 1, "
     "int32)) or (b, n, e, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_non_max_suppression(RuleCall *c) {
  const RuleType *x = &c->args[0];
  int64_t most;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_rank(c, 0, 3) ||
      !rule_class(c, 1, TAKES_INT) || !rule_fits(c, 1, 1, x->dims) ||
      !one_number(c, 3, TAKES_INT) || !one_number(c, 4, TAKES_FLOAT) ||
      !rule_number(c, ATTR_top_k, -STEP_MOST, STEP_MOST, &most) ||
      !place_in_box(c, ATTR_coord_start, 0, 4) ||
      !place_in_box(c, ATTR_score_index, 0, 1) ||
      !place_in_box(c, ATTR_id_index, OFF, 1))
    return RULE_ERROR;
  if (!attr_bool(c->attrs, ATTR_return_indices)) return rule_result_alike(c);
  if (!rule_class(c, 2, TAKES_INT) || !rule_fits(c, 2, 2, x->dims))
    return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(DT_INT32, 2, x->dims);
  fields[1] = rule_tensor(DT_INT32, 2, (Dim[]){x->dims[0], dim_of(1)});
  return RULE_OK;
}

/*   x : (b, n, 4, t)    s : (b, c, n, t)    m : (int)    o, l : ()
 *   -----------------------------------------------------------------------
 *   vision.all_class_non_max_suppression(x, s, m, o, l) :
 *     "onnx"         ((b * c * n, 3, int64), (1, int64))
 *     "tensorflow"   ((b, c * n, 2, int64), (b, c * n, float32), (b, int64)) */
RULE(all_class_non_max_suppression,
     "(b, n, 4, t), (b, c, n, t), (), (), () -> ((b * c * n, 3, int64), (1, "
     "int64)), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_all_class_non_max_suppression(RuleCall *c) {
  const RuleType *x = &c->args[0], *s = &c->args[1];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !rule_rank(c, 0, 3) || !rule_rank(c, 1, 3) ||
      !rule_fits(c, 0, 3, (Dim[]){x->dims[0], x->dims[1], dim_of(4)}) ||
      !rule_fits(c, 1, 3, (Dim[]){x->dims[0], s->dims[1], x->dims[1]}) ||
      !one_number(c, 2, TAKES_INT) || !one_number(c, 3, TAKES_FLOAT) ||
      !one_number(c, 4, TAKES_FLOAT))
    return RULE_ERROR;
  Dim b = rule_meet(x->dims[0], s->dims[0]);
  Dim n = dim_mul(c->dims, s->dims[1], rule_meet(x->dims[1], s->dims[2]));
  bool onnx = attr_word(c->attrs, ATTR_output_format) == BOXES_OF_ONNX;
  RuleType *fields = rule_result_tuple(c, onnx ? 2 : 3);
  if (!fields) return RULE_ERROR;
  if (onnx) {
    Dim all = dim_mul(c->dims, b, n);
    fields[0] = rule_tensor(DT_INT64, 2, (Dim[]){all, dim_of(3)});
    fields[1] = rule_tensor(DT_INT64, 1, (Dim[]){dim_of(1)});
  } else {
    fields[0] = rule_tensor(DT_INT64, 3, (Dim[]){b, n, dim_of(2)});
    fields[1] = rule_tensor(DT_FLOAT32, 2, (Dim[]){b, n});
    fields[2] = rule_tensor(DT_INT64, 1, &b);
  }
  return RULE_OK;
}

/*   x : (b, n, 4, t)    s : (b, n, c, t)    m = max_detections
 *   -----------------------------------------------------------------------
 *   vision.regular_non_max_suppression(x, s) :
 *     ((b, m, 4, float32), (b, m, float32), (b, m, float32), (b, int32))    */
RULE(regular_non_max_suppression,
     "(b, n, 4, t), (b, n, c, t) -> ((b, m, 4, float32), (b, m, float32), (b, "
     "m, float32), (b, int32)), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_regular_non_max_suppression(RuleCall *c) {
  const RuleType *x = &c->args[0], *s = &c->args[1];
  int64_t of_class, kept, classes, most = STEP_MOST;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !rule_rank(c, 0, 3) || !rule_rank(c, 1, 3) ||
      !rule_fits(c, 0, 3, (Dim[]){x->dims[0], x->dims[1], dim_of(4)}) ||
      !rule_fits(c, 1, 3, (Dim[]){x->dims[0], x->dims[1], s->dims[2]}))
    return RULE_ERROR;
  if (dim_is_number(s->dims[2])) most = dim_value(s->dims[2]);
  if (!rule_number(c, ATTR_max_detections_per_class, 0, STEP_MOST, &of_class) ||
      !rule_number(c, ATTR_max_detections, 0, STEP_MOST, &kept) ||
      !rule_number(c, ATTR_num_classes, 0, most, &classes))
    return RULE_ERROR;
  Dim b = rule_meet(x->dims[0], s->dims[0]), m = dim_of(kept);
  RuleType *fields = rule_result_tuple(c, 4);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(DT_FLOAT32, 3, (Dim[]){b, m, dim_of(4)});
  fields[1] = fields[2] = rule_tensor(DT_FLOAT32, 2, (Dim[]){b, m});
  fields[3] = rule_tensor(DT_INT32, 1, &b);
  return RULE_OK;
}

/*   p : (b, 2 * a, h, w, t)    d : (b, 4 * a, h, w, t)    i : (b, 3, t)
 *   a anchors: scales times ratios    m = rpn_post_nms_top_n
 *   -------------------------------------------------------------------
 *   vision.proposal(p, d, i) : (b * m, 5, t)                                */
RULE(proposal,
     "(b, 2 * a, h, w, t), (b, 4 * a, h, w, t), (b, 3, t) -> (b * m, 5, t), t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_proposal(RuleCall *c) {
  const RuleType *p = &c->args[0];
  int64_t stride, before, after, least;
  if (!three_floats(c, 4, 4, 2) || !numbers(c, ATTR_scales, 0) ||
      !numbers(c, ATTR_ratios, 0) ||
      !rule_number(c, ATTR_feature_stride, 1, STEP_MOST, &stride) ||
      !rule_number(c, ATTR_rpn_pre_nms_top_n, -STEP_MOST, STEP_MOST, &before) ||
      !rule_number(c, ATTR_rpn_post_nms_top_n, 0, STEP_MOST, &after) ||
      !rule_number(c, ATTR_rpn_min_size, -STEP_MOST, STEP_MOST, &least))
    return RULE_ERROR;
  int64_t anchors = (int64_t)attr_get(c->attrs, ATTR_scales)->count *
                    attr_get(c->attrs, ATTR_ratios)->count;
  Dim b = p->dims[0], h = p->dims[2], w = p->dims[3];
  if (!rule_fits(c, 0, 4, (Dim[]){b, dim_of(2 * anchors), h, w}) ||
      !rule_fits(c, 1, 4, (Dim[]){b, dim_of(4 * anchors), h, w}) ||
      !rule_fits(c, 2, 2, (Dim[]){b, dim_of(3)}))
    return RULE_ERROR;
  b = rule_meet(rule_meet(b, c->args[1].dims[0]), c->args[2].dims[0]);
  return rule_result(c, p->dtype, 2,
                     (Dim[]){dim_mul(c->dims, b, dim_of(after)), dim_of(5)});
}

/*   x : (n, c, h, w, t)    s divides h and w, s * s divides c
 *   ----------------------------------------------------------
 *   vision.yolo_reorg(x, stride=s) : (n, c * s * s, h / s, w / s, t)        */
RULE(yolo_reorg, "(n, c, h, w, t) -> (n, c * s * s, h / s, w / s, t)");
static RuleStatus rule_yolo_reorg(RuleCall *c) {
  RuleType out = c->args[0];
  int64_t s;
  if (!rule_rank(c, 0, 4) || !rule_number(c, ATTR_stride, 1, 1 << 15, &s))
    return RULE_ERROR;
  int64_t parts[] = {1, s * s, s, s};
  for (int i = 1; i < 4; i++) {
    bool divides =
        !dim_is_number(out.dims[i]) || dim_value(out.dims[i]) % parts[i] == 0;
    if (!divides)
      return rule_error(c, E0303, 0,
                        "axis %d of data %s is no multiple of %lld", i,
                        rule_shape(c, 0), (long long)parts[i]);
    out.dims[i] = i == 1 ? dim_mul(c->dims, out.dims[i], dim_of(s * s))
                         : dim_div_floor(c->dims, out.dims[i], s);
  }
  return rule_result(c, out.dtype, 4, out.dims);
}
