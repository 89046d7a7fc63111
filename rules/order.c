/* What the two sides of a rule evaluate, in order.
 *
 * A pattern variable stands for any expression, so evaluating it may print,
 * write, fail or not end, unless the condition demands pure(%x).  The others
 * must be evaluated by the right side as by the left one: as often, in the same
 * order, and under the same branches.  A side is told as a list of events:
 *
 *   %x + if (%c) {%y} else {%f(%z)}     x  c  if  y  else  z  call f  end
 *
 * Variables that are pure or constants, and branches without events, leave no
 * trace. */
#include "rules/rule.h"

typedef enum EventKind {
  EVALUATE,
  CALL,
  BEGIN_IF,
  BEGIN_ELSE,
  END_IF
} EventKind;

typedef struct Event {
  EventKind kind;
  int var;
  int depth; /* of branches around it */
  Span span;
} Event;

typedef struct Order {
  const Rule *rule;
  int count, depth;
  Event events[2 * RULE_NODES_MAX];
} Order;

static void add(Order *o, EventKind kind, int var, Span span) {
  o->events[o->count++] = (Event){kind, var, o->depth, span};
}

/* Does evaluating the variable leave no trace? */
static bool is_pure(const Rule *rule, int var) {
  return rule_demands(rule, "pure", var) || rule_is_constant(rule, var);
}

static void list(Order *o, const Expr *e);

static void list_if(Order *o, const Expr *e) {
  list(o, e->args[0]);
  int before = o->count;
  add(o, BEGIN_IF, 0, e->span);
  o->depth++;
  list(o, e->args[1]);
  add(o, BEGIN_ELSE, 0, e->span);
  list(o, e->args[2]);
  o->depth--;
  if (o->count == before + 2) o->count = before;
  else add(o, END_IF, 0, e->span);
}

/* Bounded by RULE_NODES_MAX. */
static void list(Order *o, const Expr *e) {
  int var = rule_var(o->rule, e);
  if (var >= 0 && !is_pure(o->rule, var)) add(o, EVALUATE, var, e->span);
  if (rule_is_number(e)) return;
  if (e->kind == EX_IF) {
    list_if(o, e);
    return;
  }
  for (int i = 0; e->kind == EX_BLOCK && i < e->block->count; i++)
    list(o, e->block->bindings[i].value);
  if (e->kind == EX_BLOCK) list(o, e->block->result);
  else
    for (int i = 0; i < e->count; i++) list(o, e->args[i]);
  int callee = e->kind == EX_CALL ? rule_var(o->rule, e->call.callee) : -1;
  if (callee >= 0 && !is_pure(o->rule, callee)) add(o, CALL, callee, e->span);
}

/* How often the variable is evaluated whatever branch is taken, and at all. */
static int times(const Order *o, int var, bool surely) {
  int n = 0;
  for (int i = 0; i < o->count; i++)
    n += o->events[i].kind <= CALL && o->events[i].var == var &&
         !(surely && o->events[i].depth > 0);
  return n;
}

static Span last_of(const Order *o, int var) {
  Span span = SPAN_NONE;
  for (int i = 0; i < o->count; i++)
    if (o->events[i].kind <= CALL && o->events[i].var == var)
      span = o->events[i].span;
  return span;
}

static void report(Program *p, const Rule *rule, const Order *left,
                   const Order *right) {
  for (int var = 0; var < rule->fn->param_count; var++) {
    const char *name = rule->fn->params[var]->name->text;
    int was = times(left, var, false), is = times(right, var, false);
    bool unasked = times(right, var, true) > times(left, var, true) &&
                   times(left, var, false) > times(left, var, true);
    if (was == is && !unasked) continue;
    Span at = is > 0 ? last_of(right, var) : rule->right->span;
    Diag *d;
    if (unasked)
      d = diag_error(p->diags, E0905, at,
                     "the left side evaluates `%%%s` in one branch only, the "
                     "right one in any case",
                     name);
    else if (is == 0)
      d = diag_error(p->diags, E0904, at,
                     "the right side drops `%%%s`, which may have an effect",
                     name);
    else
      d = diag_error(p->diags, E0904, at,
                     "the right side evaluates `%%%s` %s often than the left "
                     "one, and it may have an effect",
                     name, is > was ? "more" : "less");
    diag_note(d, last_of(left, var), "evaluated here on the left side");
    diag_hint(d,
              "where that is meant: when pure(%%%s), of an expression that "
              "does nothing but give its value",
              name);
    return;
  }
  int i = 0;
  while (left->events[i].kind == right->events[i].kind &&
         left->events[i].var == right->events[i].var)
    i++;
  const char *name = rule->fn->params[right->events[i].var]->name->text;
  bool is_var = right->events[i].kind <= CALL;
  Diag *d = diag_error(p->diags, E0904, right->events[i].span,
                       is_var ? "the right side evaluates `%%%s` earlier than "
                                "the left one"
                              : "the right side branches before it has "
                                "evaluated what the left one has%.0s",
                       name);
  diag_note(d, left->events[i].span, "first on the left side");
  diag_hint(d,
            "the order of effects would change; where all variables but one "
            "are pure it cannot: when pure(%%%s)",
            is_var ? name : rule->fn->params[0]->name->text);
}

bool rule_check_order(Program *p, const Rule *rule) {
  Order left = {.rule = rule}, right = {.rule = rule};
  list(&left, rule->left);
  list(&right, rule->right);
  bool same = left.count == right.count;
  for (int i = 0; same && i < left.count; i++)
    same = left.events[i].kind == right.events[i].kind &&
           left.events[i].var == right.events[i].var;
  if (!same) report(p, rule, &left, &right);
  return same;
}
