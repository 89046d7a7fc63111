/* Operators of a text's own in rules.
 *
 *   op @swish[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = {...};
 *   rule @fuse[s: Shape](%x: Tensor[s, float32]) : bits {
 *     %x * sigmoid(%x)
 *   } => { @swish(%x) }
 *
 * The checker has put what `@swish` is into the node that names it
 * (types/rule.c), and into the rule's item the definitions that such operators
 * are, with those that they use.  A rule is applied in another program than
 * that in which it was checked.  There each of these definitions must be, by
 * its name, and be equal: what the operator means is what the rule is about. */
#include "ir/print.h"
#include "ir/walk.h"
#include "rules/rule.h"

const Global *rule_callee(const Expr *call) {
  return call->kind == EX_CALL && call->call.callee->kind == EX_GLOBAL
             ? call->call.callee->g.global
             : NULL;
}

static int find(const Rule *rule, const Global *g) {
  for (int i = 0; g && i < rule->own_count; i++)
    if (rule->own[i].op == g) return i;
  return -1;
}

int rule_own(const Rule *rule, const Expr *call) {
  return find(rule, rule_callee(call));
}

static bool list_side(Mem *mem, Rule *rule, const Expr *side, bool left) {
  ExprWalk w;
  bool room = true;
  expr_walk_start(&w, mem, WALK_ENTER, side);
  while (room && expr_walk_next(&w)) {
    const Global *g = rule_callee(w.at);
    int at = find(rule, g);
    if (!g) continue;
    if (at < 0) {
      room = rule->own_count < RULE_OWN_MAX;
      if (!room) break;
      at = rule->own_count++;
      rule->own[at] = (OwnOp){.op = g};
    }
    *(left ? &rule->own[at].left : &rule->own[at].right) = true;
  }
  expr_walk_end(&w);
  return room;
}

bool rule_list_own(Mem *mem, Rule *rule) {
  rule->own_count = 0;
  return list_side(mem, rule, rule->left, true) &&
         list_side(mem, rule, rule->right, false);
}

static bool is_same(const Program *p, const Item *item) {
  const Global *g = item_global(p, item);
  const Item *there = g ? global_item_of(p, g) : NULL;
  Unit a = {.items = item, .item_count = 1},
       b = {.items = there, .item_count = 1};
  return there && there->own == item->own && unit_equal(p->mem, &a, &b);
}

const Name *rule_find_own(const Program *p, Rule *rule) {
  const Item *item = rule->item;
  for (int i = 0; i < item->rule->used_count; i++)
    if (!is_same(p, item->rule->used[i])) return item->rule->used[i]->name;
  for (int i = 0; i < rule->own_count; i++)
    rule->own[i].found = scope_global(&p->user, rule->own[i].op->name);
  return NULL;
}
