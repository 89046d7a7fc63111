/* Where values are looked at while the program runs.
 *
 * A tensor is checked where it crosses from an unknown dimension to a known
 * one:
 *
 *   fn (%x: Tensor[(?), float32]) { let %y: Tensor[(3), float32] = %x; ... }
 *
 * What lies inside a container or behind a function value is not looked into,
 * for a list may be long and a function cannot be looked into at all.  Where
 * such a type was used at another with other dimensions the program is loose
 * (Program), and a tensor is checked as it comes out - as a pattern's variable,
 * by ref_read, as a result - and on its way into a function that was called as
 * a value.
 *
 * A named dimension is bound when its function is entered.  Where a use gives
 * `?` for it, the parameters that mention it are compared then.
 *
 * Lowering and the stepper ask at each place as they meet it.  types_crossings
 * lists the places of a node for those who only want to know of them:
 * effects.c, since a check may fail, and closures, which capture the named
 * dimensions that checks compare with. */
#include "types/check.h"

enum { NAMES_MAX = 16 };

/* --- What a type knows --------------------------------------------------- */

bool types_know_dims(const Type *t) {
  for (int i = 0; t->kind == TY_TENSOR && i < t->rank; i++)
    if (!dim_is_any(t->dims[i])) return true;
  for (int i = 0; t->kind == TY_TUPLE && i < t->count; i++)
    if (types_know_dims(t->args[i])) return true;
  return false;
}

/*   a dimension of the expected type:    of the actual type:
 *       ?                                any: no check
 *       3, n                             the same: no check
 *       3, n                             ? or another form: check
 *
 * A rank that is not known is a check wherever one is expected.
 *
 * Kinds that differ are none of its business: inference has let them pass, as
 * with the error type. */
bool types_need_check(const Type *actual, const Type *expected) {
  if (actual == expected || actual->kind != expected->kind) return false;
  if (expected->any_rank || actual->any_rank) return !expected->any_rank;
  if (actual->kind == TY_TENSOR) {
    for (int i = 0; i < actual->rank && i < expected->rank; i++) {
      if (dim_is_any(expected->dims[i])) continue;
      if (dim_equal(actual->dims[i], expected->dims[i]) != YES) return true;
    }
  }
  if (actual->kind != TY_TUPLE || actual->count != expected->count)
    return false;
  for (int i = 0; i < actual->count; i++)
    if (types_need_check(actual->args[i], expected->args[i])) return true;
  return false;
}

/* In a loose program the actual type of what comes out says nothing, so
 * everything that the expected type knows is checked. */
bool types_need_check_out(const Program *p, const Type *actual,
                          const Type *expected) {
  return p->loose ? types_know_dims(expected)
                  : types_need_check(actual, expected);
}

/* --- Where one type meets another ---------------------------------------- */

typedef struct Crossings {
  CrossingFn visit;
  void *data;
} Crossings;

static void meet(const Crossings *c, const Type *actual, const Type *expected,
                 bool out) {
  if (actual && expected) c->visit(c->data, actual, expected, out);
}

/* A polymorphic callee is seen at its instance, whose type is that of the
 * callee's expression; an operator checks its operands itself, by its rule. */
static void meet_call(const Crossings *c, const Expr *e) {
  const Type *fn = e->call.callee->type;
  if (e->call.callee->kind == EX_OP || !fn || fn->kind != TY_FN) return;
  if (fn->param_count > 0) return;
  for (int i = 0; i < e->count && i < fn->count; i++)
    meet(c, e->args[i]->type, fn->args[i], false);
  if (e->call.callee->kind != EX_CTOR) meet(c, fn->result, e->type, true);
}

/* Patterns nest no deeper than the parser lets them. */
static void meet_pattern(const Crossings *c, const Pattern *p) {
  if (p->kind == PT_VAR) meet(c, p->type, p->var->type, true);
  for (int i = 0; i < p->count; i++) meet_pattern(c, p->fields[i]);
}

static const Type *content(const Expr *cell) {
  return cell->type && cell->type->kind == TY_REF ? cell->type->args[0] : NULL;
}

/* One case for each kind of node that hands a value to a place with a type of
 * its own. */
void types_crossings(const Expr *e, CrossingFn visit, void *data) {
  const Crossings c = {visit, data};
  switch (e->kind) {
    case EX_CALL: meet_call(&c, e); break;
    case EX_LIST:
      for (int i = 0; i < e->count; i++)
        meet(&c, e->args[i]->type, e->list.head->type->args[0], false);
      break;
    case EX_REF: meet(&c, e->args[0]->type, content(e), false); break;
    case EX_READ: meet(&c, content(e->args[0]), e->type, true); break;
    case EX_WRITE:
      meet(&c, e->args[1]->type, content(e->args[0]), false);
      break;
    case EX_BLOCK:
      for (int i = 0; i < e->block->count; i++) {
        const Binding *b = &e->block->bindings[i];
        if (b->value && b->var)
          meet(&c, b->value->type, b->var->declared, false);
      }
      break;
    case EX_MATCH:
      for (int i = 0; i < e->match->arm_count; i++)
        meet_pattern(&c, e->match->arms[i].pattern);
      break;
    case EX_FN:
      meet(&c, e->fn->body->type, e->fn->declared_result, false);
      break;
    default: break;
  }
}

/* --- Uses of functions with named dimensions ----------------------------- */

/* The parameters' types of a function, as declared and at a use. */
typedef struct NamedUse {
  TypeTable *types;
  int count;
  const TypeVar *const *params;
  bool bound[NAMES_MAX]; /* met alone, as a dimension */
  bool binds;            /* something has to be compared */
  bool inside;           /* a `?` lies in a container or function */
} NamedUse;

/* Only the first NAMES_MAX names are told apart; for those beyond, the answer
 * is that there is something to compare, which is safe. */
static int bare_name(const NamedUse *n, Dim d) {
  for (int i = 0; i < n->count && i < NAMES_MAX; i++) {
    const TypeVar *v = n->params[i];
    if (v->kind == KIND_DIM &&
        dim_same(d, dim_named(types_dims(n->types), v->name, v)))
      return i;
  }
  return -1;
}

/* The first parameter that has the name alone binds it, which needs no
 * comparison; each further mention, and each form over it, does. */
static void compare_tensor(NamedUse *n, const Type *declared, const Type *used,
                           bool inside) {
  for (int i = 0; i < declared->rank; i++) {
    if (!dim_is_form(declared->dims[i]) || !dim_is_any(used->dims[i])) continue;
    n->inside |= inside;
    if (inside) continue;
    int name = bare_name(n, declared->dims[i]);
    n->binds |= name < 0 || n->bound[name];
    if (name >= 0) n->bound[name] = true;
  }
}

/* Types are as deep as the checker lets them be. */
static void compare(NamedUse *n, const Type *declared, const Type *used,
                    bool inside) {
  if (declared == used || !declared->has_var || declared->kind != used->kind ||
      declared->count != used->count)
    return;
  if (declared->kind == TY_TENSOR || declared->kind == TY_DIM) {
    if (declared->rank == used->rank) compare_tensor(n, declared, used, inside);
    return;
  }
  bool deeper = inside || declared->kind != TY_TUPLE;
  for (int i = 0; i < declared->count; i++)
    compare(n, declared->args[i], used->args[i], deeper);
  if (declared->kind == TY_FN)
    compare(n, declared->result, used->result, deeper);
}

static void compare_fn(NamedUse *n, const Fn *fn, const Type *used) {
  for (int i = 0; i < fn->param_count && i < used->count; i++)
    compare(n, fn->params[i]->type, used->args[i], false);
}

/* The result binds nothing when the function is entered, so only what it holds
 * inside containers counts. */
static NamedUse look_at_use(TypeTable *types, const Expr *use) {
  NamedUse n = {.types = types};
  const Type *used = use->type, *declared = NULL;
  if (use->kind == EX_GLOBAL) declared = use->g.global->type;
  if (use->kind == EX_VAR) declared = use->var->type;
  if (!used || used->kind != TY_FN || used->param_count > 0) return n;
  if (use->kind == EX_FN) {
    n.count = use->fn->type_param_count;
    n.params = use->fn->type_vars;
  } else if (declared && declared->kind == TY_FN) {
    n.count = declared->param_count;
    n.params = declared->params;
  }
  bool has_dims = false;
  for (int i = 0; i < n.count; i++) has_dims |= n.params[i]->kind == KIND_DIM;
  if (!has_dims) return n;
  if (use->kind == EX_FN) {
    compare_fn(&n, use->fn, used);
    return n;
  }
  if (declared->count != used->count) return n;
  for (int i = 0; i < declared->count; i++)
    compare(&n, declared->args[i], used->args[i], false);
  bool binds = n.binds;
  compare(&n, declared->result, used->result, false);
  n.binds = binds;
  return n;
}

bool types_use_binds(const Program *p, const Expr *use) {
  return look_at_use(p->types, use).binds;
}

bool types_use_loosens(const Program *p, const Expr *use) {
  return look_at_use(p->types, use).inside;
}
