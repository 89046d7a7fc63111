/* Rules of blocked layouts run on the plain ones; blocks.h says how.
 *
 * NCHW4c is NCHW with the channels in blocks of 4, which lie last: C / 4 stands
 * at C's place.  An operand's type in blocks determines the plain one, and a
 * plain result determines the one in blocks, so no rule but this file knows of
 * blocks:
 *
 *   operands in blocks --> plain --> the rule --> plain result --> in blocks */
#include "ops/rules/blocks.h"

#include <ctype.h>
#include <string.h>

#include "ops/rules/layout.h"
#include "ops/rules/support.h"

/* --- Layouts ------------------------------------------------------------- */

static bool has_blocks(const char *text) {
  Layout l;
  if (!layout_parse(text, &l)) return false;
  for (int i = 0; i < l.rank; i++)
    if (l.axes[i].block > 0) return true;
  return false;
}

/* The upper-case letters: NCHW4c becomes NCHW.  RANK_MAX + 1 bytes in the
 * arena. */
const char *layout_plain(Arena *arena, const char *text) {
  char *plain = arena_alloc(arena, RANK_MAX + 1);
  int n = 0;
  for (const char *p = text; *p && n < RANK_MAX; p++)
    if (isupper((unsigned char)*p)) plain[n++] = *p;
  return plain;
}

/* The attributes with plain layouts, and which of the operands and the result
 * were in blocks; false when none was.  Without out_layout, which some
 * operators do not even have, the result has the data's layout. */
bool blocks_of(const Attrs *attrs, Arena *arena, Blocks *b) {
  bool conv = attrs_have(attrs, ATTR_data_layout);
  AttrName names[] = {conv ? ATTR_data_layout : ATTR_layout,
                      conv ? ATTR_kernel_layout : ATTR_NONE};
  *b = (Blocks){.count = conv ? 2 : 1};
  Attrs *plain = attrs_shared(arena, attrs->op, attrs);
  for (int i = 0; i < b->count; i++) {
    const char *text = attr_text(attrs, names[i]);
    if (!has_blocks(text)) continue;
    b->operands[i] = text;
    b->plain[i] = layout_plain(arena, text);
    attr_set_text(plain, names[i], b->plain[i]);
  }
  bool own = attrs_have(attrs, ATTR_out_layout);
  const char *out = own ? attr_text(attrs, ATTR_out_layout) : "";
  const char *result = *out ? out : attr_text(attrs, names[0]);
  if (has_blocks(result)) {
    b->result = result;
    b->plain_result = layout_plain(arena, result);
    if (own) attr_set_text(plain, ATTR_out_layout, b->plain_result);
  }
  b->attrs = plain;
  return b->operands[0] || b->operands[1] || b->result;
}

/* --- Types --------------------------------------------------------------- */

/* Operand i of that layout as it is without blocks: an axis that has blocks is
 * as long as all of its parts multiplied.  A block's own axis must have the
 * length that the layout says. */
static bool rule_unblocked(RuleCall *c, int i, const char *text,
                           RuleType *plain) {
  Layout l;
  RuleType x = c->args[i];
  layout_parse(text, &l);
  if (!rule_rank(c, i, l.rank)) return false;
  *plain = x;
  plain->rank = 0;
  for (int k = 0; k < l.rank; k++) {
    Dim inside = dim_of(layout_inside(&l, l.axes[k].primal));
    if (l.axes[k].block > 0 &&
        dim_equal(x.dims[k], dim_of(l.axes[k].block)) == NO) {
      rule_error(c, E0209, i, "axis %d of %s has the length %lld in layout %s",
                 k, rule_shape(c, i), (long long)l.axes[k].block, text);
      return false;
    }
    if (l.axes[k].block == 0)
      plain->dims[plain->rank++] = dim_mul(c->dims, x.dims[k], inside);
  }
  return true;
}

/* The result, of a plain layout, as it is in blocks; the block must divide its
 * axis. */
static RuleStatus blocked_result(RuleCall *c, const char *text,
                                 const RuleType *plain) {
  Layout l;
  Dim dims[RANK_MAX];
  layout_parse(text, &l);
  for (int k = 0, at = 0; k < l.rank; k++) {
    int64_t inside = layout_inside(&l, l.axes[k].primal);
    bool inexact = false;
    dims[k] = dim_of(l.axes[k].block);
    if (l.axes[k].block > 0) continue;
    dims[k] =
        dim_div_exact(c->dims, plain->dims[at++], dim_of(inside), &inexact);
    if (inexact)
      return rule_error(c, E0209, -1,
                        "axis %c of the result %s does not split into blocks "
                        "of %lld",
                        l.axes[k].primal,
                        rule_dims_text(c, plain->rank, plain->dims),
                        (long long)inside);
  }
  return rule_result(c, plain->dtype, l.rank, dims);
}

/* What the plain rule inferred of an operand (a weight) goes back to the call,
 * unless that operand is in blocks. */
RuleStatus rule_without_blocks(RuleCall *c, RuleFn rule) {
  Blocks b;
  if (!blocks_of(c->attrs, c->arena, &b)) return rule(c);
  RuleType args[2] = {c->args[0], c->args[b.count - 1]};
  for (int i = 0; i < b.count; i++) {
    if (!b.operands[i]) continue;
    if (c->args[i].kind != RT_TENSOR || c->args[i].rank < 0) return RULE_WAIT;
    if (!rule_unblocked(c, i, b.operands[i], &args[i])) return RULE_ERROR;
  }
  RuleCall plain = *c;
  plain.attrs = b.attrs;
  plain.args = args;
  plain.count = b.count;
  RuleStatus status = rule(&plain);
  rule_adopt(c, &plain);
  if (status != RULE_OK) return status;
  for (int i = 0; i < b.count; i++)
    if (!b.operands[i]) c->args[i] = args[i];
  if (b.result) return blocked_result(c, b.result, &plain.result);
  c->result = plain.result;
  return RULE_OK;
}

RuleStatus rule_dense_in_blocks(RuleCall *c, RuleFn rule) {
  const char *text = attr_text(c->attrs, ATTR_weight_layout);
  const char *plain = layout_plain(c->arena, text);
  Layout l;
  if (!layout_parse(text, &l) || strlen(plain) != 2 || plain[0] != 'N')
    return rule_attr_error(c, E0303, ATTR_weight_layout,
                           "weight_layout \"%s\" is not N, another letter, "
                           "and blocks of these, as in NC8n",
                           text);
  if (!rule_rank(c, 0, 2)) return RULE_ERROR;
  RuleType weight, packed = c->args[1];
  if (!rule_unblocked(c, 1, text, &weight)) return RULE_ERROR;
  c->args[1] = weight;
  RuleStatus status = rule(c);
  c->args[1] = packed;
  return status;
}
