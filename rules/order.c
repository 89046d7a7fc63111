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
 * trace.  What both branches begin with happens whichever is taken, so it
 * stands before them, as if it were evaluated after the condition:
 *
 *   if (%c) {%x + %y} else {%x}         c  x  if  y  else  end
 *
 * A call of an operator, of the table or of a text's own, is an event
 * where the operator does more than compute, such as print. */
#include <string.h>

#include "rules/rule.h"

typedef enum EventKind {
  EVALUATE,
  CALL,
  CALL_OWN, /* `var` is the place in the rule's `own`, */
  CALL_OP,  /* an OpId */
  BEGIN_IF,
  BEGIN_ELSE,
  END_IF
} EventKind;

typedef struct Event {
  EventKind kind;
  int var;
  const Expr *at;
} Event;

typedef struct Order {
  Mem *mem;
  const Rule *rule;
  int count;
  Event events[2 * RULE_NODES_MAX];
} Order;

static void add(Order *o, EventKind kind, int var, const Expr *at) {
  o->events[o->count++] = (Event){kind, var, at};
}

/* Does evaluating the variable leave no trace? */
static bool is_pure(const Rule *rule, int var) {
  return rule_demands(rule, RULE_PURE, var) || rule_is_constant(rule, var);
}

static bool same_event(const Event *a, const Event *b) {
  return a->kind == b->kind && a->var == b->var;
}

/* What a call of an operator does may depend on its operands. */
static bool has_operands(const Event *e) {
  return e->kind == CALL_OWN || e->kind == CALL_OP;
}

/* How many events the branches, of which one begins at `a` and ends before `b`,
 * and the other begins behind it, have in common at their beginnings.  An `if`
 * within them counts as a whole. */
static int common(const Order *o, int a, int b) {
  int whole = 0, depth = 0;
  for (int i = 0; a + i < b && b + 1 + i < o->count; i++) {
    const Event *x = &o->events[a + i], *y = &o->events[b + 1 + i];
    if (!same_event(x, y)) break;
    if (has_operands(x) && !expr_equal(o->mem, x->at, y->at)) break;
    depth += (x->kind == BEGIN_IF) - (x->kind == END_IF);
    if (depth == 0) whole = i + 1;
  }
  return whole;
}

static void list(Order *o, const Expr *e);

static void list_if(Order *o, const Expr *e) {
  list(o, e->args[0]);
  int begin = o->count;
  add(o, BEGIN_IF, 0, e);
  list(o, e->args[1]);
  int middle = o->count;
  add(o, BEGIN_ELSE, 0, e);
  list(o, e->args[2]);
  int n = common(o, begin + 1, middle);
  Event *events = o->events, branch = events[begin];
  memmove(events + begin, events + begin + 1, (size_t)n * sizeof *events);
  events[begin + n] = branch;
  o->count -= n;
  memmove(events + middle + 1, events + middle + 1 + n,
          (size_t)(o->count - middle - 1) * sizeof *events);
  if (o->count == begin + n + 2) o->count = begin + n;
  else add(o, END_IF, 0, e);
}

/* Bounded by RULE_NODES_MAX. */
static void list(Order *o, const Expr *e) {
  int var = rule_var(o->rule, e);
  if (var >= 0 && !is_pure(o->rule, var)) add(o, EVALUATE, var, e);
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
  if (callee >= 0 && !is_pure(o->rule, callee)) add(o, CALL, callee, e);
  int own = rule_own(o->rule, e);
  if (own >= 0 && o->rule->own[own].op->effects & OWN_EFFECTS)
    add(o, CALL_OWN, own, e);
  const OpInfo *op = rule_op(e);
  if (op && op->prints) add(o, CALL_OP, (int)op_id(op), e);
}

/* What an event is about: a variable, whether it is evaluated or called, or an
 * operator. */
typedef struct Subject {
  EventKind kind; /* EVALUATE of all variables */
  int at;
} Subject;

static Subject subject_of(const Event *e) {
  return (Subject){e->kind == CALL ? EVALUATE : e->kind, e->var};
}

static bool is_about(const Event *e, Subject s) {
  Subject other = subject_of(e);
  return other.kind == s.kind && other.at == s.at;
}

static const char *sigil_of(Subject s) {
  return s.kind == EVALUATE ? "%" : s.kind == CALL_OWN ? "@" : "";
}

static const char *name_of_subject(const Rule *rule, Subject s) {
  return s.kind == EVALUATE   ? rule->fn->params[s.at]->name->text
         : s.kind == CALL_OWN ? rule->own[s.at].op->name->text
                              : op_info(s.at)->name;
}

/* How often something is evaluated: it depends on the branches taken. */
typedef struct Times {
  int least, most;
} Times;

/* From event *i on, to the end of the branch or of all; *i moves there. */
static Times times_from(const Order *o, Subject s, int *i) {
  Times t = {0, 0};
  for (; *i < o->count; ++*i) {
    const Event *e = &o->events[*i];
    if (e->kind == BEGIN_ELSE || e->kind == END_IF) break;
    Times here = {is_about(e, s), is_about(e, s)};
    if (e->kind == BEGIN_IF) {
      ++*i;
      Times a = times_from(o, s, i);
      ++*i;
      Times b = times_from(o, s, i);
      here.least = a.least < b.least ? a.least : b.least;
      here.most = a.most > b.most ? a.most : b.most;
    }
    t.least += here.least;
    t.most += here.most;
  }
  return t;
}

static Times times(const Order *o, Subject s) {
  int i = 0;
  return times_from(o, s, &i);
}

static Span last_of(const Order *o, Subject s) {
  Span span = SPAN_NONE;
  for (int i = 0; i < o->count; i++)
    if (is_about(&o->events[i], s)) span = o->events[i].at->span;
  return span;
}

static void hint_pure(Diag *d, Subject s, const char *name) {
  if (s.kind == EVALUATE)
    diag_hint(d,
              "where that is meant: when pure(%%%s), of an expression that "
              "does nothing but give its value",
              name);
  else if (s.kind == CALL_OWN)
    diag_hint(d, "`rly check --effects` shows what `@%s` does", name);
}

/* Is it evaluated as often on both sides?  False after a report. */
static bool check_times(Program *p, const Rule *rule, const Order *left,
                        const Order *right, Subject s) {
  const char *sigil = sigil_of(s);
  const char *name = name_of_subject(rule, s);
  Times was = times(left, s), is = times(right, s);
  if (was.least == is.least && was.most == is.most) return true;
  Span at = is.most > 0 ? last_of(right, s) : rule->right->span;
  const char *has = s.kind == EVALUATE ? "may have" : "has";
  Diag *d;
  if (was.most > 0 && was.least == 0 && is.least > 0)
    d = diag_error(p->diags, E0905, at,
                   "the left side evaluates `%s%s` in some branches only, the "
                   "right one in any case",
                   sigil, name);
  else if (is.most == 0)
    d = diag_error(p->diags, E0904, at,
                   "the right side drops `%s%s`, which %s an effect", sigil,
                   name, has);
  else
    d = diag_error(p->diags, E0904, at,
                   "the right side evaluates `%s%s` %s often than the left "
                   "one, and it %s an effect",
                   sigil, name,
                   is.least > was.least || is.most > was.most ? "more" : "less",
                   has);
  if (was.most > 0)
    diag_note(d, last_of(left, s), "evaluated here on the left side");
  hint_pure(d, s, name);
  return false;
}

static void report(Program *p, const Rule *rule, const Order *left,
                   const Order *right) {
  for (int i = 0; i < rule->fn->param_count; i++)
    if (!check_times(p, rule, left, right, (Subject){EVALUATE, i})) return;
  const Order *sides[] = {left, right};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < sides[side]->count; i++) {
      const Event *e = &sides[side]->events[i];
      if (has_operands(e) && !check_times(p, rule, left, right, subject_of(e)))
        return;
    }
  int i = 0;
  while (same_event(&left->events[i], &right->events[i])) i++;
  const Event *first = &right->events[i];
  Diag *d;
  if (first->kind > CALL_OP)
    d = diag_error(p->diags, E0904, first->at->span,
                   "the right side branches before it has evaluated what the "
                   "left one has");
  else
    d = diag_error(p->diags, E0904, first->at->span,
                   "the right side evaluates `%s%s` earlier than the left one",
                   sigil_of(subject_of(first)),
                   name_of_subject(rule, subject_of(first)));
  diag_note(d, left->events[i].at->span, "first on the left side");
  int var = first->kind <= CALL ? first->var : 0;
  if (!has_operands(first) && var < rule->fn->param_count)
    diag_hint(d,
              "the order of effects would change; where all variables but one "
              "are pure it cannot: when pure(%%%s)",
              rule->fn->params[var]->name->text);
}

/* Have calls that do something the same operands?  False after a report. */
static bool check_operands(Program *p, const Rule *rule, const Order *left,
                           const Order *right) {
  for (int i = 0; i < left->count; i++) {
    const Event *was = &left->events[i], *is = &right->events[i];
    if (!has_operands(is) || expr_equal(p->mem, was->at, is->at)) continue;
    Subject s = subject_of(is);
    Diag *d = diag_error(p->diags, E0904, is->at->span,
                         "the right side calls `%s%s`, which has an effect, "
                         "with other operands than the left one",
                         sigil_of(s), name_of_subject(rule, s));
    diag_note(d, was->at->span, "called here on the left side");
    return false;
  }
  return true;
}

bool rule_check_order(Program *p, const Rule *rule) {
  Order left = {.mem = p->mem, .rule = rule}, right = left;
  list(&left, rule->left);
  list(&right, rule->right);
  bool same = left.count == right.count;
  for (int i = 0; same && i < left.count; i++)
    same = same_event(&left.events[i], &right.events[i]);
  if (!same) report(p, rule, &left, &right);
  return same && check_operands(p, rule, &left, &right);
}
