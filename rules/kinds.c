/* Kinds of the values in a condition: numbers, bools, texts, lists.
 *
 *   when rank(%x)                  a number is no condition
 *   when length(rank(%x)) == 2     `length` is of lists
 *   when dtype(%x) == 3            never equal
 *
 * Such a condition never holds, whatever is drawn, so it is refused when the
 * rule is read.  Of an attribute `$p`, or an item of a list, any kind may come.
 */
#include <stdio.h>
#include <string.h>

#include "rules/functions.h"
#include "rules/rule.h"

typedef struct Kinds {
  Program *p;
  const Rule *rule;
} Kinds;

static ValueKinds kinds_of(const Kinds *k, const Expr *e);

/* "a number or a bool". */
static const char *words_of(ValueKinds kinds) {
  static const char *const words[] = {"a number", "a bool", "a text", "a list",
                                      "None"};
  for (int i = 0; i < 5; i++)
    if (kinds == 1u << i) return words[i];
  return kinds == (VALUE_NUMBER | VALUE_BOOL) ? "a number or a bool"
                                              : "a value";
}

/* Is `e`, of these kinds, what `who` takes? */
static void expect(const Kinds *k, const Expr *e, ValueKinds is,
                   const char *who, ValueKinds wanted) {
  if (is & wanted) return;
  diag_error(k->p->diags, E0901, e->span, "%s is %s, and this is %s", who,
             words_of(wanted), words_of(is));
}

static ValueKinds kinds_of_name(const Kinds *k, const Expr *e) {
  if (!strcmp(e->name->text, "None")) return VALUE_NONE;
  int param = rule_type_param(k->rule, e->name);
  if (param < 0) return VALUE_ANY;
  switch (k->rule->fn->type_params[param].kind) {
    case KIND_TYPE: return VALUE_ANY;
    case KIND_DIM: return VALUE_NUMBER;
    case KIND_SHAPE: return VALUE_LIST;
    default: return VALUE_TEXT;
  }
}

static ValueKinds kinds_of_call(const Kinds *k, const Expr *e) {
  const char *name = e->call.callee->name->text;
  const RuleFunction *f = rule_function(name, e->count);
  ValueKinds args[RULE_FUNCTION_ARGS_MAX];
  char who[80];
  for (int i = 0; i < e->count && !f->fact; i++) {
    args[i] = kinds_of(k, e->args[i]);
    snprintf(who, sizeof who, "what `%s` takes", name);
    expect(k, e->args[i], args[i], who, f->takes[i]);
  }
  if (f->compares && !(args[0] & args[1]))
    diag_error(k->p->diags, E0901, e->span, "%s and %s are never equal",
               words_of(args[0]), words_of(args[1]));
  return f->gives;
}

/* `&&` and `||` are such: a && b is if (a) { b } else { False }. */
static ValueKinds kinds_of_if(const Kinds *k, const Expr *e) {
  expect(k, e->args[0], kinds_of(k, e->args[0]), "a condition", VALUE_BOOL);
  ValueKinds a = kinds_of(k, e->args[1]), b = kinds_of(k, e->args[2]);
  bool constant = rule_bare(e->args[1])->kind == EX_CONST;
  if (a & b) return a & b;
  expect(k, e->args[constant ? 2 : 1], constant ? b : a, "a condition",
         constant ? a : b);
  return VALUE_ANY;
}

static ValueKinds kinds_of_const(const Tensor *t) {
  if (t->rank > 0) return VALUE_ANY;
  return t->dtype == DT_BOOL ? VALUE_BOOL : VALUE_NUMBER;
}

/* Bounded by RULE_NODES_MAX. */
static ValueKinds kinds_of(const Kinds *k, const Expr *e) {
  e = rule_bare(e);
  switch (e->kind) {
    case EX_CONST: return kinds_of_const(e->constant);
    case EX_IDENT: return kinds_of_name(k, e);
    case EX_STRING: return VALUE_TEXT;
    case EX_BRACKET:
      for (int i = 0; i < e->count; i++) kinds_of(k, e->args[i]);
      return VALUE_LIST;
    case EX_IF: return kinds_of_if(k, e);
    case EX_CALL:
      return e->call.callee->kind == EX_IDENT ? kinds_of_call(k, e) : VALUE_ANY;
    default: return VALUE_ANY;
  }
}

bool rule_check_kinds(Program *p, const Rule *rule) {
  const Kinds k = {p, rule};
  size_t errors = p->diags->errors;
  if (rule->when)
    expect(&k, rule->when, kinds_of(&k, rule->when), "a condition", VALUE_BOOL);
  return p->diags->errors == errors;
}
