/* A rule by its parts, and what can be said against it without types. */
#include "rules/rule.h"

#include <string.h>

#include "ir/walk.h"
#include "rules/condition.h"

/* --- Parts ---------------------------------------------------------------- */

const Expr *rule_bare(const Expr *e) {
  while (e->kind == EX_BLOCK && e->block->count == 0) e = e->block->result;
  return e;
}

const OpInfo *rule_op(const Expr *e) {
  bool dyn;
  if (e->kind != EX_CALL || e->call.callee->kind != EX_IDENT) return NULL;
  OpId id = op_find(e->call.callee->name->text, &dyn);
  return id == OP_COUNT || dyn ? NULL : op_info(id);
}

bool rule_is_number(const Expr *e) {
  return e->kind == EX_CALL && e->count == 2 &&
         e->call.callee->kind == EX_IDENT &&
         !strcmp(e->call.callee->name->text, "number");
}

bool rule_commutes(const Expr *e) {
  const OpInfo *op = rule_op(e);
  return op && op->commutes && e->count == 2;
}

int rule_attr_index(const OpInfo *op, const Name *name) {
  for (int i = 0; i < op->attr_count; i++)
    if (!strcmp(attr_name_text(op->attrs[i].name), name->text)) return i;
  return -1;
}

int rule_var(const Rule *rule, const Expr *e) {
  for (int i = 0; e->kind == EX_LOCAL && i < rule->fn->param_count; i++)
    if (rule->fn->params[i]->name == e->name) return i;
  return -1;
}

int rule_attr_var(const Rule *rule, const Expr *e) {
  for (int i = 0; e->kind == EX_IDENT && i < rule->attr_count; i++)
    if (rule->attrs[i].name == e->name) return i;
  return -1;
}

int rule_type_param(const Rule *rule, const Name *name) {
  for (int i = 0; i < rule->fn->type_param_count; i++)
    if (rule->fn->type_params[i].name == name) return i;
  return -1;
}

static bool is_attr_name(const Expr *e) {
  return e->kind == EX_IDENT && *e->name->text == '$';
}

static void add_attr_var(Rule *rule, const Expr *call, const Attr *attr) {
  const AttrExpr *x = attr->value;
  if (x->kind != AX_EXPR || !is_attr_name(x->expr) ||
      rule_attr_var(rule, x->expr) >= 0 || rule->attr_count == ATTR_VARS_MAX)
    return;
  const OpInfo *op = rule_op(call);
  int spec = op && attr->name ? rule_attr_index(op, attr->name) : -1;
  rule->attrs[rule->attr_count++] =
      (AttrVar){.name = x->expr->name,
                .span = x->span,
                .op = op,
                .spec = spec < 0 ? NULL : &op->attrs[spec]};
}

Rule rule_of(Mem *mem, const Item *item) {
  const Expr *sides = item->expr->fn->body;
  Rule rule = {.item = item,
               .fn = item->expr->fn,
               .left = sides->args[0],
               .right = sides->args[1],
               .when = sides->count == 3 ? sides->args[2] : NULL};
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, rule.left);
  while (expr_walk_next(&w)) {
    rule.commuting += rule.commuting < COMMUTING_MAX && rule_commutes(w.at);
    for (int i = 0; w.at->kind == EX_CALL && i < w.at->call.attr_count; i++)
      add_attr_var(&rule, w.at, &w.at->call.attrs[i]);
  }
  expr_walk_end(&w);
  rule.root = rule_op(rule_bare(rule.left));
  rule_list_own(mem, &rule);
  for (int i = 0; i < rule.fn->param_count && i < RULE_PARAMS_MAX; i++)
    rule.constants |= (unsigned)rule_is_constant(&rule, i) << i;
  return rule;
}

/* --- Conditions ----------------------------------------------------------- */

static bool is_fact(const Rule *rule, const Expr *e, RuleFact fact, int var) {
  return rule_fact(e) == fact && rule_var(rule, e->args[0]) == var;
}

/* The condition is bounded as the rule is.  What stands in an `if` (`||`) need
 * not be asked. */
static bool asks(const Rule *rule, const Expr *e, RuleFact fact, int var) {
  e = rule_bare(e);
  if (is_fact(rule, e, fact, var)) return true;
  for (int i = 0; e->kind != EX_IF && i < e->count; i++)
    if (asks(rule, e->args[i], fact, var)) return true;
  return false;
}

/* `a && b` is `if (a) {b} else {False}`. */
static bool demands(const Rule *rule,
                    bool (*test)(const Rule *rule, const Expr *e, RuleFact fact,
                                 int var),
                    RuleFact fact, int var) {
  const Expr *e = rule->when ? rule_bare(rule->when) : NULL;
  for (; e && e->kind == EX_IF && e->sugar == SUGAR_AND;
       e = rule_bare(e->args[0]))
    if (test(rule, rule_bare(e->args[1]), fact, var)) return true;
  return e && test(rule, e, fact, var);
}

bool rule_demands(const Rule *rule, RuleFact fact, int var) {
  return demands(rule, is_fact, fact, var);
}

/* Only of a constant is the value known. */
bool rule_is_constant(const Rule *rule, int var) {
  return demands(rule, is_fact, RULE_CONSTANT, var) ||
         demands(rule, asks, RULE_VALUE, var);
}

/* --- Checks --------------------------------------------------------------- */

typedef enum Side { LEFT, RIGHT, WHEN } Side;

typedef struct Checks {
  Program *p;
  const Rule *rule;
  size_t errors; /* before */
  unsigned seen; /* bits: parameters that the left side mentions */
  const Var *lets[ATTR_VARS_MAX]; /* in scope, of the right side */
  int let_count;
} Checks;

static Diag *wrong(Checks *c, Span span, const char *format, const char *what) {
  return diag_error(c->p->diags, E0901, span, format, what);
}

/* "the left side binds `%x`, `%y`", for who used another name. */
static void hint_bound(Checks *c, Diag *d, bool attrs) {
  StrBuf text;
  strbuf_init(&text, c->p->mem);
  int n = attrs ? c->rule->attr_count : c->rule->fn->param_count;
  for (int i = 0; i < n; i++) {
    const char *name = attrs ? c->rule->attrs[i].name->text
                             : c->rule->fn->params[i]->name->text;
    strbuf_addf(&text, "%s`%s%s`", i ? ", " : "", attrs ? "" : "%", name);
  }
  if (n > 0) diag_hint(d, "the left side binds %s", strbuf_text(&text));
  else if (attrs)
    diag_hint(d, "an attribute of the left side binds it: axis=$p");
  strbuf_done(&text);
}

static void check_local(Checks *c, const Expr *e, Side side) {
  int var = rule_var(c->rule, e);
  for (int i = 0; i < c->let_count; i++)
    if (c->lets[i]->name == e->name) return;
  if (var >= 0 && side == LEFT) c->seen |= 1u << var;
  if (var >= 0) return;
  Diag *d = diag_error(c->p->diags, E0902, e->span,
                       "`%%%s` is no variable of the rule", e->name->text);
  hint_bound(c, d, false);
}

static void check_ident(Checks *c, const Expr *e, Side side) {
  if (is_attr_name(e)) {
    if (rule_attr_var(c->rule, e) >= 0) return;
    Diag *d = diag_error(c->p->diags, E0902, e->span,
                         "the left side binds no `%s`", e->name->text);
    hint_bound(c, d, true);
    return;
  }
  int param = rule_type_param(c->rule, e->name);
  if (side != LEFT && param >= 0) return;
  if (side == WHEN && !strcmp(e->name->text, "None")) return;
  if (param >= 0) {
    Diag *d = wrong(c, e->span,
                    "`%s` is no operand: the left side binds it by types and "
                    "attributes",
                    e->name->text);
    if (c->rule->fn->type_params[param].kind == KIND_DIM)
      diag_hint(d,
                "a variable stands in its place, and a condition compares: "
                "when value(%%i) == %s",
                e->name->text);
    return;
  }
  wrong(c, e->span, "`%s` is no variable of the rule", e->name->text);
}

static void check_names_in(Checks *c, const Expr *e, Side side);

/* An attribute is a literal, a `$p`, or computed from what is bound. */
static void check_attr(Checks *c, const AttrExpr *x, Side side) {
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    check_attr(c, x->items[i], side);
  if (x->kind != AX_EXPR) return;
  bool bare = x->expr->kind == EX_IDENT;
  if (bare && rule_type_param(c->rule, x->expr->name) >= 0) return;
  if (bare) check_ident(c, x->expr, WHEN);
  else check_names_in(c, x->expr, WHEN);
}

/* A condition calls functions, of which some ask about a variable. */
static void check_function(Checks *c, const Expr *e) {
  const char *name = e->call.callee->name->text;
  const RuleFunction *f = rule_function(name, e->count);
  if (!f) {
    Diag *d = diag_error(c->p->diags, E0901, e->span,
                         "no function `%s` of a condition takes %d argument%s",
                         name, e->count, e->count == 1 ? "" : "s");
    const char *near = rule_function_near(name);
    if (near) diag_hint(d, "did you mean `%s`?", near);
    return;
  }
  for (int i = 0; i < e->count; i++) {
    if (!f->fact) check_names_in(c, e->args[i], WHEN);
    else if (rule_var(c->rule, e->args[i]) < 0)
      wrong(c, e->args[i]->span, "`%s` asks about a variable of the left side",
            name);
  }
}

/* What is called is neither an operator nor a variable. */
static void refuse_callee(Checks *c, const Expr *callee) {
  bool named = callee->kind == EX_IDENT;
  Diag *d =
      wrong(c, callee->span, "%s",
            named ? "this is no operator: a rule is about operators and its "
                    "own variables"
                  : "a rule calls operators and its own variables");
  if (!named) return;
  const char *refused = op_refused(callee->name->text);
  Suggestion near = suggestion_for(callee->name->text);
  for (int i = 0; i < OP_COUNT; i++)
    suggestion_offer(&near, op_info((OpId)i)->name);
  if (refused) diag_hint(d, "%s", refused);
  else if (near.best) diag_hint(d, "did you mean `%s`?", near.best);
}

static void check_call(Checks *c, const Expr *e, Side side) {
  const Expr *callee = e->call.callee;
  const OpInfo *op = rule_op(e);
  if (callee->kind == EX_LOCAL) return;
  if (rule_callee(e) && side != WHEN) {
    if (e->call.attr_count > 0)
      wrong(c, e->call.attrs[0].span, "%s",
            "an operator of a text has operands, which stand in their order, "
            "and no attributes");
    return;
  }
  if (!op) {
    refuse_callee(c, callee);
    return;
  }
  if (e->count > op_arg_count(op) && !op->many) {
    int takes = op_arg_count(op);
    Diag *d = diag_error(c->p->diags, E0901, e->args[takes]->span,
                         "`%s` takes %d operand%s, not %d", op->name, takes,
                         takes == 1 ? "" : "s", e->count);
    diag_hint(d, "rly ops %s shows its operands", op->name);
  }
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    if (!attr->name || rule_attr_index(op, attr->name) < 0) {
      Diag *d =
          wrong(c, attr->span, "`%s` has no attribute of this name", op->name);
      diag_hint(d, "rly ops %s lists those that it has", op->name);
      continue;
    }
    check_attr(c, attr->value, side);
  }
}

static void check_let(Checks *c, const Binding *b) {
  if (b->kind != BIND_LET || b->value->kind == EX_FN) {
    wrong(c, b->span, "%s", "a rule has lets of values, and no other bindings");
    return;
  }
  check_names_in(c, b->value, RIGHT);
  if (c->let_count < ATTR_VARS_MAX) c->lets[c->let_count++] = b->var;
}

static const char *refusal(const Expr *e, Side side) {
  switch (e->kind) {
    case EX_LOCAL:
    case EX_IDENT:
    case EX_CONST:
    case EX_IF:
    case EX_CALL: return NULL;
    case EX_STRING:
    case EX_BRACKET:
      return side == WHEN ? NULL : "only a condition and an attribute have it";
    case EX_TUPLE:
    case EX_PROJ: return side != WHEN ? NULL : "a condition has no tuples";
    case EX_BLOCK:
      if (side == RIGHT || e->block->count == 0) return NULL;
      return "what stands here has no bindings";
    case EX_GLOBAL:
      return "a rule calls an operator of a text, and does not name it "
             "elsewhere";
    default: return "a rule has calls, variables, literals, tuples and `if`s";
  }
}

/* Only of a constant has number() the value. */
static void check_values(Checks *c, const Expr *e) {
  for (int i = 0; i < c->rule->fn->param_count; i++) {
    const char *name = c->rule->fn->params[i]->name->text;
    if (!is_fact(c->rule, e, RULE_VALUE, i) || rule_is_constant(c->rule, i))
      continue;
    Diag *d = wrong(c, e->span, "`%%%s` may be no constant", name);
    diag_hint(d, "the condition must demand that it is: when is_constant(%%%s)",
              name);
  }
  for (int i = 0; i < e->count; i++) check_values(c, e->args[i]);
}

/* Bounded by RULE_NODES_MAX. */
static void check_names_in(Checks *c, const Expr *e, Side side) {
  const char *refused = refusal(e, side);
  if (refused) {
    wrong(c, e->span, "%s", refused);
    return;
  }
  if (side == RIGHT && rule_is_number(e) && e->call.attr_count == 0) {
    for (int i = 0; i < e->count; i++) check_names_in(c, e->args[i], WHEN);
    check_values(c, e);
    return;
  }
  if (e->kind == EX_LOCAL && side == WHEN) {
    Diag *d = wrong(c, e->span, "a condition cannot use `%%%s` as a value",
                    e->name->text);
    diag_hint(d,
              "functions give what is known of it: value(%%%s), rank(%%%s), "
              "is_constant(%%%s)",
              e->name->text, e->name->text, e->name->text);
  } else if (e->kind == EX_LOCAL) check_local(c, e, side);
  else if (e->kind == EX_IDENT) check_ident(c, e, side);
  else if (e->kind == EX_BLOCK) {
    int outer = c->let_count;
    for (int i = 0; i < e->block->count; i++)
      check_let(c, &e->block->bindings[i]);
    check_names_in(c, e->block->result, side);
    c->let_count = outer;
  } else if (side == WHEN && e->kind == EX_CALL &&
             e->call.callee->kind == EX_IDENT) {
    check_function(c, e);
  } else {
    if (e->kind == EX_CALL) check_call(c, e, side);
    if (e->kind == EX_CALL && e->call.callee->kind == EX_LOCAL)
      check_local(c, e->call.callee, side);
    for (int i = 0; i < e->count; i++) check_names_in(c, e->args[i], side);
  }
}

/* Does the type mention the parameter in brackets? */
static bool type_mentions_name(const TypeExpr *t, const Name *name) {
  if (!t) return false;
  if (t->name == name || t->dtype_name == name) return true;
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->name == name) return true;
  for (int i = 0; i < t->arg_count; i++)
    if (type_mentions_name(t->args[i], name)) return true;
  return type_mentions_name(t->result, name);
}

/* A name in a type that is no parameter in brackets; `kind` would make it
 * one. */
static void check_type_name(Checks *c, const Name *name, Span span,
                            const char *kind) {
  if (!name || rule_type_param(c->rule, name) >= 0) return;
  Diag *d = diag_error(c->p->diags, E0902, span,
                       "`%s` is no parameter of the rule", name->text);
  diag_hint(d, "parameters of types stand in brackets: rule @%s[%s: %s](...)",
            c->rule->item->name->text, name->text, kind);
}

static void check_dim(Checks *c, const DimExpr *d) {
  DimExprs postfix;
  VEC_INIT(&postfix, c->p->mem);
  if (dim_expr_postfix(d, &postfix))
    for (size_t i = 0; i < postfix.len; i++) {
      const DimExpr *at = postfix.data[i];
      if (at->kind == DX_NAME || at->kind == DX_SPLAT)
        check_type_name(c, at->name, at->span,
                        at->kind == DX_SPLAT ? "Shape" : "Dim");
    }
  VEC_DONE(&postfix);
}

/* Types nest no deeper than the parser lets them. */
static void check_type(Checks *c, const TypeExpr *t) {
  if (!t) return;
  check_type_name(c, t->dtype_name, t->dtype_span, "DType");
  for (int i = 0; i < t->dim_count; i++) check_dim(c, t->dims[i]);
  for (int i = 0; i < t->arg_count; i++) check_type(c, t->args[i]);
  check_type(c, t->result);
}

static void check_params(Checks *c) {
  const Fn *fn = c->rule->fn;
  if (fn->attr_count > 0)
    wrong(c, fn->attrs[0].span, "%s", "a rule's parameters are variables");
  for (int i = 0; i < fn->param_count; i++) {
    const Var *v = fn->params[i];
    if (!v->annotation)
      wrong(c, v->span, "the type of `%%%s` must be written out",
            v->name->text);
    check_type(c, v->annotation);
    if (c->seen >> i & 1) continue;
    Diag *d =
        diag_error(c->p->diags, E0902, v->span,
                   "`%%%s` does not occur on the left side", v->name->text);
    diag_note(d, c->rule->left->span, "the left side, which binds variables");
  }
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeParam *t = &fn->type_params[i];
    bool found = false;
    for (int k = 0; !found && k < fn->param_count; k++)
      found = type_mentions_name(fn->params[k]->annotation, t->name);
    if (!found)
      diag_error(c->p->diags, E0902, t->span,
                 "no parameter's type says what `%s` is", t->name->text);
  }
}

static bool check_size(Checks *c) {
  ExprWalk w;
  int count = 0;
  expr_walk_start(&w, c->p->mem, WALK_ENTER, c->rule->fn->body);
  while (count <= RULE_NODES_MAX && expr_walk_next(&w)) count++;
  expr_walk_end(&w);
  if (c->rule->fn->param_count > RULE_PARAMS_MAX ||
      c->rule->fn->type_param_count > RULE_TYPES_MAX)
    count = RULE_NODES_MAX + 1;
  Rule all = *c->rule;
  if (!rule_list_own(c->p->mem, &all)) count = RULE_NODES_MAX + 1;
  if (count > RULE_NODES_MAX)
    wrong(c, c->rule->item->name_span, "the rule `@%s` is too large",
          c->rule->item->name->text);
  return count <= RULE_NODES_MAX;
}

bool rule_check(Program *p, const Rule *rule) {
  Checks c = {.p = p, .rule = rule, .errors = p->diags->errors};
  if (!check_size(&c)) return false;
  const Expr *root = rule_bare(rule->left);
  if (root->kind == EX_LOCAL || root->kind == EX_CONST)
    wrong(&c, root->span, "%s",
          "the left side is a call, a tuple or an `if`: "
          "this would fit everywhere");
  check_names_in(&c, rule->left, LEFT);
  check_params(&c);
  check_names_in(&c, rule->right, RIGHT);
  if (rule->when) check_names_in(&c, rule->when, WHEN);
  if (p->diags->errors != c.errors || mem_exhausted(p->mem)) return false;
  return rule_check_kinds(p, rule);
}
