/* Rules by their parts, and what can be said against one before its sides are
 * typed. */
#ifndef RULES_RULE_H
#define RULES_RULE_H

#include "ir/program.h"
#include "ops/ops.h"
#include "rules/functions.h"

/* `$p`: the attribute that the left side takes it from. */
typedef struct AttrVar {
  const Name *name;
  Span span;
  const OpInfo *op;     /* NULL: the call is of no operator */
  const AttrSpec *spec; /* NULL: the operator has no such attribute */
} AttrVar;

/* An operator of a text's own, `op @f`, that the sides call. */
typedef struct OwnOp {
  const Global *op; /* as the checker of the rule found it */
  Global *found;    /* that of the program at hand (rule_find_own) */
  bool left, right; /* the sides that call it */
} OwnOp;

enum {
  RULE_PARAMS_MAX = 31,
  RULE_OWN_MAX = 16,    /* operators of a text's own */
  RULE_TYPES_MAX = 16,  /* parameters in brackets */
  RULE_NODES_MAX = 400, /* of a rule: what recurses over one is as deep */
  ATTR_VARS_MAX = 32,
  COMMUTING_MAX = 6, /* so 2^6 orders of operands are tried */
};

typedef struct Rule {
  const Item *item;
  const Fn *fn; /* its parameters are the pattern variables */
  const Expr *left, *right;
  const Expr *when; /* NULL: none */
  int attr_count;
  AttrVar attrs[ATTR_VARS_MAX]; /* in the order of the left side */
  int commuting;      /* calls of the left side whose operands may be swapped */
  const OpInfo *root; /* the operator that the left side calls; or NULL */
  unsigned constants; /* bits: parameters that are constants where it holds */
  int own_count;
  OwnOp own[RULE_OWN_MAX]; /* those of the left side first */
} Rule;

/* The parts of an ITEM_RULE. */
Rule rule_of(Mem *mem, const Item *item);
/* Reports what is wrong with the rule whatever its types are: what cannot be
 * matched or made, and variables that nothing binds. */
bool rule_check(Program *p, const Rule *rule);

/* --- Parts of sides ------------------------------------------------------- */

/* Which parameter the node names; -1: none. */
int rule_var(const Rule *rule, const Expr *e);
/* Which attribute variable, `$p`; -1: none. */
int rule_attr_var(const Rule *rule, const Expr *e);
/* Which parameter in brackets; -1: none. */
int rule_type_param(const Rule *rule, const Name *name);
/* Which operator of a text's own a parsed call names; -1: it is no such call.
 */
int rule_own(const Rule *rule, const Expr *call);
/* Is it number(V, D), a constant of dtype D, which a right side computes? */
bool rule_is_number(const Expr *e);
/* The operator that a parsed call names; NULL: it is no such call. */
const OpInfo *rule_op(const Expr *e);
/* Does the call commute? */
bool rule_commutes(const Expr *e);
/* Which attribute of the operator has that name; -1: none. */
int rule_attr_index(const OpInfo *op, const Name *name);
/* Without braces that mean nothing. */
const Expr *rule_bare(const Expr *e);
/* Does the condition demand the fact of the parameter: is it among the
 * conditions that `&&` joins? */
bool rule_demands(const Rule *rule, RuleFact fact, int var);
/* Is the parameter a constant wherever the rule holds? */
bool rule_is_constant(const Rule *rule, int var);

/* --- flat.c --------------------------------------------------------------- */

/* The rule with tensors in the places of variables that are tuples, and with
 * calls of variables that are functions written out; there are FLAT_CHOICES
 * functions.  `item` itself: it has no such variables, or one of a type for
 * which nothing is known. */
enum { FLAT_CHOICES = 2 };
const Item *rule_flat(Program *p, Arena *arena, const Item *item, int choice);

/* --- own.c ---------------------------------------------------------------- */

/* The global that the callee of a checked rule's call names; NULL: none. */
const Global *rule_callee(const Expr *call);
/* Lists the operators of a text's own; false: there are more than
 * RULE_OWN_MAX. */
bool rule_list_own(Mem *mem, Rule *rule);
/* Finds these operators in the program that the rule is to be applied in.  The
 * name of a definition that is missing there, or is another one; NULL: all are
 * the same. */
const Name *rule_find_own(const Program *p, Rule *rule);
/* What a call of an operator of a text's own can do that must happen as often,
 * and in the same order, on both sides.  That it may fail or not end is no more
 * told from the rule than of an operator of the table: rly verify compares
 * errors. */
enum {
  OWN_EFFECTS =
      EFFECT_READ | EFFECT_WRITE | EFFECT_ALLOC | EFFECT_PRINT | EFFECT_PARAM
};

/* --- kinds.c ------------------------------------------------------------- */

/* Reports what is in the condition and of the wrong kind (E0901). */
bool rule_check_kinds(Program *p, const Rule *rule);

/* --- order.c -------------------------------------------------------------- */

/* Reports a right side that drops, repeats or reorders what may have an effect
 * (E0904), or evaluates what the left side may not have evaluated (E0905). */
bool rule_check_order(Program *p, const Rule *rule);

#endif
