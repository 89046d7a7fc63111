/* Where a tensor passes between a type of known rank and one of unknown rank.
 *
 * A scalar whose rank is known has no header (type_is_counted), one of unknown
 * rank has; and what comes from an unknown rank must be compared while the
 * program runs.  Both happen at annotated lets (lower_let).  So wherever else
 * ranks cross, the checker writes one:
 *
 *   @f(%x)    ->   @f({ let %argument: Tensor[(3), float32] = %x; %argument })
 *
 * The variable's name says in messages what the value is there.  A tuple is
 * taken apart and made again, for its fields cross one by one.
 *
 * The nodes are found first and changed then, in place, as others point to
 * them. */
#include "types/infer.h"

enum { PARTS_MOST = 1 << 12 }; /* of a tuple's type, as a tree */

typedef struct Crossing {
  Expr *e;
  const Type *expected;
  const char *name;
} Crossing;

typedef struct Coercion {
  Infer *in;
  VEC(Crossing) found;
} Coercion;

/* --- Finding -------------------------------------------------------------- */

/* A part that is shared is looked at each time: is_large has bounded them. */
static bool differs(const Type *actual, const Type *expected) {
  if (actual == expected || actual->kind != expected->kind) return false;
  bool found = actual->any_rank != expected->any_rank;
  bool tuples = actual->kind == TY_TUPLE && actual->count == expected->count;
  for (int i = 0; tuples && !found && i < actual->count; i++)
    found = differs(actual->args[i], expected->args[i]);
  return found;
}

/* Tuples with more parts than are worth a let each. */
static bool is_large(const Type *actual, const Type *expected) {
  return actual != expected && actual->kind == TY_TUPLE &&
         expected->kind == TY_TUPLE &&
         (actual->size > PARTS_MOST || expected->size > PARTS_MOST);
}

static void meet(Coercion *c, const Expr *e, const Type *expected,
                 const char *name) {
  if (!e || !e->type || !expected) return;
  if (is_large(e->type, expected))
    diag_error(c->in->p->diags, E0214, e->span,
               "a tuple of more than %d parts is too large to look for unknown "
               "ranks in",
               PARTS_MOST);
  else if (differs(e->type, expected))
    VEC_PUSH(&c->found, ((Crossing){(Expr *)e, expected, name}));
}

/* Operators take any rank, but for the one that reads a bool from a
 * register. */
static void meet_call(Coercion *c, const Expr *e) {
  const Type *fn = e->call.callee->type;
  bool op = e->call.callee->kind == EX_OP;
  if (op && op_info(e->call.callee->op)->special == SPECIAL_ASSERT)
    meet(c, e->args[0], type_scalar(c->in->types, DT_BOOL), "condition");
  if (e->call.callee->kind == EX_OP || !fn || fn->kind != TY_FN) return;
  for (int i = 0; i < e->count && i < fn->count; i++)
    meet(c, e->args[i], fn->args[i], "argument");
}

/* The places where a value flows to a type that is not its own (infer.c).  An
 * annotated let of a tensor is what others become. */
static void meet_node(Coercion *c, const Expr *e) {
  switch (e->kind) {
    case EX_CALL: meet_call(c, e); break;
    case EX_LIST:
      for (int i = 0; i < e->count; i++)
        meet(c, e->args[i], e->list.head->type->args[0], "element");
      break;
    case EX_REF: meet(c, e->args[0], e->type->args[0], "content"); break;
    case EX_WRITE:
      meet(c, e->args[1], e->args[0]->type->args[0], "content");
      break;
    case EX_IF:
      meet(c, e->args[1], e->type, "branch");
      meet(c, e->args[2], e->type, "branch");
      break;
    case EX_MATCH:
      for (int i = 0; i < e->match->arm_count; i++)
        meet(c, e->match->arms[i].body, e->type, "arm");
      break;
    case EX_FN: meet(c, e->fn->body, e->type->result, "result"); break;
    case EX_BLOCK:
      for (int i = 0; i < e->block->count; i++) {
        const Binding *b = &e->block->bindings[i];
        if (b->value && b->var && b->value->type &&
            b->value->type->kind == TY_TUPLE)
          meet(c, b->value, b->var->type, "annotation");
      }
      break;
    default: break;
  }
}

/* --- Changing ------------------------------------------------------------- */

static Var *late_var(Infer *in, const char *name, Span span, const Type *type) {
  Var *var = var_new(&in->p->arena, name_of(in->p->names, name), span, NULL);
  var->id = in->p->next_var_id++;
  var->type = type;
  return var;
}

static Expr *use_of(Infer *in, Var *var, Span span) {
  Expr *use = expr_new(&in->p->arena, EX_VAR, span);
  use->var = var;
  use->type = var->type;
  return use;
}

/* `e` becomes { let var = e; result }: others point to the node, so it changes
 * in place. */
static void bind_value(Infer *in, Expr *e, Var *var, const Expr *result) {
  Arena *a = &in->p->arena;
  Expr *value = arena_copy(a, e, sizeof *e);
  Binding *binding = ARENA_NEW(a, Binding);
  if (!value) return;
  *binding = binding_let(e->span, var, value);
  *e = *expr_block(a, e->span, 1, binding, result);
}

static void coerce(Infer *in, Expr *e, const Type *expected, const char *name);

/* Types are as deep as the checker lets them be. */
static void coerce_tuple(Infer *in, Expr *e, const Type *expected,
                         const char *name) {
  Arena *a = &in->p->arena;
  if (e->kind == EX_TUPLE) {
    for (int i = 0; i < e->count; i++)
      coerce(in, (Expr *)e->args[i], expected->args[i], name);
    e->type = expected;
    return;
  }
  Var *whole = late_var(in, name, e->span, e->type);
  const Expr **fields = ARENA_ARRAY(a, const Expr *, (size_t)expected->count);
  if (!fields) return;
  for (int i = 0; i < expected->count; i++) {
    const Expr *tuple = use_of(in, whole, e->span);
    Expr *field = expr_proj(a, e->span, tuple, i);
    field->type = e->type->args[i];
    coerce(in, field, expected->args[i], name);
    fields[i] = field;
  }
  Expr *made = expr_new(a, EX_TUPLE, e->span);
  made->count = expected->count;
  made->args = fields;
  made->type = expected;
  bind_value(in, e, whole, made);
}

static void coerce(Infer *in, Expr *e, const Type *expected, const char *name) {
  if (!differs(e->type, expected)) return;
  if (expected->kind == TY_TUPLE) {
    coerce_tuple(in, e, expected, name);
    return;
  }
  Var *var = late_var(in, name, e->span, expected);
  var->declared = expected;
  bind_value(in, e, var, use_of(in, var, e->span));
}

/* A match that became a block is what the block binds. */
static void follow_matches(Checker *c) {
  for (size_t i = 0; i < c->matches.len; i++) {
    const Expr **e = &c->matches.data[i];
    while ((*e)->kind == EX_BLOCK) *e = (*e)->block->bindings[0].value;
  }
}

void coerce_ranks(Infer *in) {
  bool any = false;
  for (int i = 0; i <= DTYPE_COUNT; i++) any |= in->any_ranks[i] != NULL;
  if (!any || in->p->diags->errors) return;
  Coercion c = {.in = in};
  VEC_INIT(&c.found, in->mem);
  for (size_t i = 0; i < in->typed.len; i++) meet_node(&c, in->typed.data[i].e);
  for (size_t i = 0; i < in->c->defs.len; i++) {
    const Definition *d = in->c->defs.data[i];
    if (d->global) meet(&c, d->value, d->global->type, "annotation");
  }
  for (size_t i = 0; i < c.found.len && !mem_exhausted(in->mem); i++) {
    Crossing found = c.found.data[i];
    coerce(in, found.e, found.expected, found.name);
  }
  follow_matches(in->c);
  VEC_DONE(&c.found);
}
