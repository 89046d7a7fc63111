/* A text that computes in float64 where it is written with narrower floats.
 *
 *   def @f(%x: Tensor[(3), float32]) { %x * cast(2, dtype="float32") + 0.5f }
 *   def @f(%x: Tensor[(3), float64]) { %x * cast(2, dtype="float64") + 0.5f64 }
 *
 * Differences of values tell a derivative only where values are exact to many
 * digits.  So a program is checked as this other one, with what it reaches of
 * the library (rly gradcheck).  The pass works on the parsed form, whose nodes
 * the unit owns and nobody else has seen yet, and changes them in place. */
#include <string.h>

#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/pass.h"
#include "tensor/tensor.h"

static bool is_narrow(DType t) {
  return t != DTYPE_NONE && dtype_is_float(t) && t != DT_FLOAT64;
}

/* --- Types ---------------------------------------------------------------- */

/* Types are written no deeper than the parser lets them be. */
static void widen_type(const TypeExpr *t) {
  if (!t) return;
  if (t->kind == TX_TENSOR && !t->dtype_name && is_narrow(t->dtype))
    ((TypeExpr *)t)->dtype = DT_FLOAT64;
  for (int i = 0; i < t->arg_count; i++) widen_type(t->args[i]);
  widen_type(t->result);
}

static void widen_adt(const AdtDecl *adt) {
  widen_type(adt->meaning);
  for (int i = 0; i < adt->ctor_count; i++)
    for (int k = 0; k < adt->ctors[i].field_count; k++)
      widen_type(adt->ctors[i].fields[k]);
}

/* --- Attributes --------------------------------------------------------------
 * The name of a dtype is a text like any other before the operator is known. */

static bool names_narrow(const AttrExpr *x) {
  return x->kind == AX_STRING && x->text &&
         is_narrow(dtype_find(x->text, (size_t)x->count));
}

static const char wide[] = "float64";

static void widen_value(const AttrExpr *x) {
  AttrExpr *own = (AttrExpr *)x;
  if (names_narrow(x)) {
    own->text = wide;
    own->count = (int)strlen(wide);
  }
  if (x->kind == AX_FLOAT && is_narrow(x->dtype)) own->dtype = DT_FLOAT64;
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    widen_value(x->items[i]);
}

static void widen_attrs(int count, const Attr *attrs) {
  for (int i = 0; i < count; i++)
    if (attrs[i].value) widen_value(attrs[i].value);
}

/* Is the attribute given, or may it be, in a record of metadata? */
static bool is_given(const Expr *call, const char *name) {
  for (int i = 0; i < call->call.attr_count; i++) {
    const Name *given = call->call.attrs[i].name;
    if (!given || strcmp(given->text, name) == 0) return true;
  }
  return false;
}

static void add_attr(Program *p, Arena *arena, Expr *call, const char *name) {
  int n = call->call.attr_count;
  Attr *attrs = ARENA_ARRAY(arena, Attr, (size_t)n + 1);
  AttrExpr *value = ARENA_NEW(arena, AttrExpr);
  if (!attrs || !value) return;
  *value = (AttrExpr){.kind = AX_STRING,
                      .span = call->span,
                      .text = wide,
                      .count = (int)strlen(wide)};
  if (n) memcpy(attrs, call->call.attrs, (size_t)n * sizeof *attrs);
  attrs[n] = (Attr){name_of(p->names, name), call->span, value};
  call->call.attrs = attrs;
  call->call.attr_count = n + 1;
}

/* ones(shape=[3]) is of float32 by default, so it is written with its dtype. */
static void write_defaults(Program *p, Arena *arena, Expr *call) {
  const Expr *callee = call->call.callee;
  bool dyn;
  OpId id =
      callee->kind == EX_IDENT ? op_find(callee->name->text, &dyn) : OP_COUNT;
  if (id == OP_COUNT) return;
  const OpInfo *op = op_info(id);
  for (int i = 0; i < op->attr_count; i++) {
    const AttrSpec *spec = &op->attrs[i];
    const char *name = attr_name_text(spec->name);
    if (spec->type == AT_DTYPE && spec->text &&
        is_narrow(dtype_find(spec->text, strlen(spec->text))) &&
        !is_given(call, name))
      add_attr(p, arena, call, name);
  }
}

/* --- Expressions --------------------------------------------------------- */

static void widen_constant(Program *p, Expr *e) {
  const Tensor *t = e->constant;
  if (!is_narrow((DType)t->dtype)) return;
  Tensor *made = program_tensor_new(p, DT_FLOAT64, t->rank, t->shape);
  int64_t n = made ? tensor_count(made) : 0;
  for (int64_t i = 0; i < n; i++)
    bits_store(DT_FLOAT64, made->data + i * (int64_t)dtype_size(DT_FLOAT64),
               (Value){.f64 = tensor_f64_at(t, i)});
  if (made) made = program_constant_take(p, made);
  if (made) e->constant = made;
}

static void widen_fn(const Fn *fn) {
  for (int i = 0; i < fn->param_count; i++)
    widen_type(fn->params[i]->annotation);
  widen_type(fn->result);
  widen_attrs(fn->attr_count, fn->attrs);
}

static void widen_node(Program *p, Arena *arena, const Expr *e) {
  if (e->kind == EX_CONST) widen_constant(p, (Expr *)e);
  if (e->kind == EX_CALL) {
    widen_attrs(e->call.attr_count, e->call.attrs);
    write_defaults(p, arena, (Expr *)e);
  }
  if (e->kind == EX_FN) widen_fn(e->fn);
  for (int i = 0; e->kind == EX_BLOCK && i < e->block->count; i++)
    if (e->block->bindings[i].var)
      widen_type(e->block->bindings[i].var->annotation);
}

static bool is_left_out(const Program *p, const Item *item) {
  return item->kind == ITEM_EXPR || item->kind == ITEM_LET_LOCAL ||
         (item_is_global(item) && ptrmap_has(p->left_out, item->name));
}

static void leave_out(Program *p, Unit *unit) {
  Item *items = (Item *)unit->items;
  int kept = 0;
  for (int i = 0; i < unit->item_count; i++)
    if (!is_left_out(p, &items[i])) items[kept++] = items[i];
  unit->item_count = kept;
}

bool unit_to_float64(Program *p, Unit *unit) {
  if (p->left_out) leave_out(p, unit);

  ExprWalk w;
  expr_walk_start(&w, p->mem, WALK_ENTER, NULL);
  for (int i = 0; i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    widen_type(item->annotation);
    if (item->adt) widen_adt(item->adt);
    if (!item->expr) continue;
    expr_walk_add(&w, item->expr);
    while (expr_walk_next(&w)) widen_node(p, &unit->arena, w.at);
  }
  return expr_walk_end(&w) && !mem_exhausted(p->mem);
}

Pass pass_float64;

Unit *pass_float64(Program *p, Unit *unit) {
  return unit_to_float64(p, unit) ? unit : NULL;
}
