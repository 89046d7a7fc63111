/* FoldConstant: calls of operators whose values are known become constants, and
 * an `if` whose condition is one becomes the branch that is taken.
 *
 *   if (take(shape_of(%x), 0) == 4) { %a } else { %b }   ==>   %a
 *   let %k = [1f, 2f] * 3f;                      ==>   let %k = [3f, 6f];
 *
 * Of small integer tensors the checker knows what depends on shapes alone, too
 * (types/known.c).  Other calls are evaluated by the kernels where all operands
 * are constants, or names that a `let` gives one.
 *
 * Parts are folded before the whole, so what is left of a branch has constants
 * in it already.  What goes must do nothing but give its value. */
#include <math.h>

#include "ops/ops.h"
#include "passes/calls.h"
#include "types/types.h"

enum { ELEMENTS }; /* the pass's argument */

/* What a text leaves open (`?`) stays open: beside a constant of a known
 * length, operands that do not fit would be a mistake of types, where they are
 * one of the run. */
static bool is_small_integer(const Type *t) {
  return t && t->kind == TY_TENSOR && t->rank <= 1 && type_is_static(t) &&
         (t->dtype == DT_BOOL || dtype_is_int((DType)t->dtype));
}

typedef struct Fold {
  Program *p;
  Arena *arena;
  Knowing *knowing;
  int64_t most;  /* elements of small integer tensors that are written */
  PtrMap values; /* Var -> the tensor that a `let` gives it */
} Fold;

/* The program takes the tensor; NULL gives the call as it was. */
static const Expr *constant_take(Fold *f, const Expr *e, Tensor *t) {
  if (t) t = program_constant_take(f->p, t);
  if (!t) return e;
  Expr *made = expr_const(f->arena, e->span, t);
  made->type = e->type;
  return pass_may_replace(f->p, NULL, e, made) ? made : e;
}

/* --- What the checker knows ----------------------------------------------- */

static Tensor *known_tensor(Program *p, const Known *known) {
  int64_t count = known->count;
  Tensor *t = program_tensor_new(p, known->dtype, known->rank, &count);
  size_t size = (size_t)dtype_size(known->dtype);
  for (int i = 0; t && i < known->count; i++)
    bits_store(known->dtype, (char *)t->data + (size_t)i * size,
               bits_from_i64(known->dtype, dim_value(known->items[i])));
  return t;
}

/* Is the value of the call known without a look at the kernels?  `*made` is
 * then what takes its place. */
static bool fold_known(Fold *f, const Expr *e, const Expr **made) {
  Known known;
  *made = e;
  if (!knowing_ask(f->knowing, f->arena, e, &known)) return false;
  if (known.count <= f->most && expr_is_pure(f->p, e))
    *made = constant_take(f, e, known_tensor(f->p, &known));
  return true;
}

/* --- What the kernels say ------------------------------------------------- */

enum { OPERANDS = 64 };

/* What is evaluated after a step of the text may name its value. */
static const Tensor *tensor_of_step(const Global *g) {
  bool step = g->kind == GLOBAL_VALUE || g->kind == GLOBAL_LOCAL;
  return step && g->value && g->value->kind == EX_CONST ? g->value->constant
                                                        : NULL;
}

static const Tensor *tensor_of(const Fold *f, const Expr *e) {
  switch (e->kind) {
    case EX_CONST: return e->constant;
    case EX_VAR: return ptrmap_get(&f->values, e->var);
    case EX_GLOBAL: return tensor_of_step(e->g.global);
    default: return NULL;
  }
}

/* The operands of a call, the fields of a tuple one by one; -1: one of them is
 * no constant, or there are too many. */
static int operands_of(const Fold *f, const Expr *e, const Tensor **out) {
  int n = 0;
  for (int i = 0; i < e->count; i++) {
    const Expr *arg = e->args[i];
    bool tuple = arg->kind == EX_TUPLE;
    for (int k = 0; k < (tuple ? arg->count : 1); k++) {
      if (n == OPERANDS) return -1;
      out[n] = tensor_of(f, tuple ? arg->args[k] : arg);
      if (!out[n++]) return -1;
    }
  }
  return n;
}

/* Text has one NaN, the kernels give several. */
static bool has_nan(const Tensor *t) {
  if (!dtype_is_float((DType)t->dtype)) return false;
  for (int64_t i = 0, n = tensor_count(t); i < n; i++)
    if (isnan(tensor_f64_at(t, i))) return true;
  return false;
}

static bool has_type(const Tensor *t, const Type *type) {
  if (t->dtype != type->dtype || t->rank != type->rank) return false;
  for (int i = 0; i < t->rank; i++)
    if (t->shape[i] != dim_value(type->dims[i])) return false;
  return true;
}

static double elements_of(const Type *t) {
  double n = 1;
  for (int i = 0; i < t->rank; i++) n *= (double)dim_value(t->dims[i]);
  return n;
}

/* A constant is no larger than the operands together: a program stays as small
 * as it is written. */
static const Expr *fold_constants(Fold *f, const Expr *e) {
  const Tensor *args[OPERANDS];
  int n = operands_of(f, e, args);
  double size = 0;
  for (int i = 0; i < n; i++) size += (double)tensor_count(args[i]);
  if (n <= 0 || elements_of(e->type) > size || !expr_is_pure(f->p, e)) return e;
  Tensor *t =
      f->p->constant_of_call(f->p, expr_operator(e), e->call.bound, n, args);
  if (t && (has_nan(t) || !has_type(t, e->type))) {
    tensor_drop(f->p->heap, t);
    t = NULL;
  }
  return constant_take(f, e, t);
}

static const Expr *fold_call(Fold *f, const Expr *e) {
  const Expr *made;
  const OpInfo *op = expr_operator(e);
  if (!op) return e;
  if ((op->known || op->dim) && is_small_integer(e->type) &&
      fold_known(f, e, &made))
    return made;
  bool plain = e->type && e->type->kind == TY_TENSOR &&
               type_is_static(e->type) && !e->targ_count &&
               !attrs_have_operands(e->call.bound);
  return plain ? fold_constants(f, e) : e;
}

/* --- Branches ------------------------------------------------------------- */

/* An `else if` that stands alone is an `if`. */
static const Expr *standing_alone(Arena *arena, const Expr *e,
                                  const Expr *place) {
  if (e->kind != EX_IF || e->sugar != SUGAR_ELSE_IF) return e;
  Expr *alone = arena_copy(arena, e, sizeof *e);
  if (!alone) return e;
  alone->sugar = place->sugar == SUGAR_ELSE_IF && e->type == place->type
                     ? SUGAR_ELSE_IF
                     : SUGAR_NONE;
  return alone;
}

/* A graph node that may fail is evaluated at its first use where that lies in a
 * branch, else where it stands.  Without the branches it would be evaluated
 * earlier than what is shown or written between.
 *
 * The type stays that of both branches, in which dimensions may be `?`: what
 * stands around was checked with it, and the branch may fail there when it
 * runs, as one of shape (4) does where (n) is due. */
static const Expr *fold_if(Program *p, Arena *arena, const Expr *e) {
  const Expr *c = e->args[0];
  if (c->kind != EX_CONST || c->constant->rank != 0) return e;
  if (expr_uses_lazy(p, e) || !pass_may_rewrite(p, e->span)) return e;
  const Expr *taken = e->args[tensor_i64_at(c->constant, 0) ? 1 : 2];
  return expr_of_type(p, arena, standing_alone(arena, taken, e), e);
}

/* --- Expressions ---------------------------------------------------------- */

/* Notes the constant that a `let` gives its name. */
static void note_value(Fold *f, const ExprWalk *w, const Expr *made) {
  const Binding *b = expr_walk_binding(w);
  if (b && made->kind == EX_CONST && b->kind == BIND_LET &&
      b->var->type == made->type)
    ptrmap_put(&f->values, b->var, made->constant);
}

/* `data` is a Fold that says what is known, and how much is written. */
static const Expr *fold_with(void *data, Program *p, Arena *arena,
                             const Expr *e) {
  Fold f = *(const Fold *)data;
  ExprMap m;
  f.p = p;
  f.arena = arena;
  ptrmap_init(&f.values, p->mem);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.made->kind == EX_CALL) expr_map_put(&m, fold_call(&f, m.made));
    else if (m.made->kind == EX_IF) expr_map_put(&m, fold_if(p, arena, m.made));
    note_value(&f, &m.walk, m.made);
  }
  ptrmap_done(&f.values);
  return expr_map_end(&m);
}

const Expr *expr_fold(Program *p, Arena *arena, const Expr *e) {
  Fold f = {.knowing = knowing_new(p), .most = KNOWN_MAX};
  const Expr *made = f.knowing ? fold_with(&f, p, arena, e) : NULL;
  knowing_free(f.knowing);
  return made;
}

Pass pass_fold_constant;

Unit *pass_fold_constant(Program *p, Unit *unit) {
  Fold f = {.knowing = knowing_new(p), .most = pass_arg(p, ELEMENTS)};
  Unit *made = f.knowing ? unit_rewrite_with(p, unit, fold_with, &f) : NULL;
  knowing_free(f.knowing);
  return made;
}
