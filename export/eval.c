/* Expressions to values.  A `let` is evaluated when its variable is first asked
 * for, but its nodes stand where it does: so what nothing asks for, such as a
 * library function's parameter that another branch would read, is not looked
 * at. */
#include <stdio.h>

#include "export/exporter.h"
#include "types/types.h"

enum { CALLS_MOST = 2000 }; /* within each other */

static bool in_library(const Export *x, Span at) {
  const SourceFile *file = sources_file(x->p->sources, at);
  return !file || file->library;
}

void *refuse(Export *x, Span at, const char *format, ...) {
  char why[300];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  Span from = at;
  for (const CallSite *c = x->site; c && in_library(x, at); c = c->up)
    at = c->at;
  Diag *d = diag_error(x->p->diags, E0809, at, "%s", why);
  if (at.lo != from.lo) diag_note(d, from, "from here in the library");
  return NULL;
}

/* --- Constants and names -------------------------------------------------- */

/* A small integer tensor that the checker knows, with numbers and not names of
 * dimensions in it. */
static Val *known_value(Export *x, const Expr *e) {
  const Type *t = e->type;
  bool small = t && t->kind == TY_TENSOR && t->rank <= 1 && !t->any_rank &&
               (t->dtype == DT_BOOL || dtype_is_int((DType)t->dtype));
  Known known;
  if (!small || e->kind == EX_CONST || !types_known(x->p, x->arena, e, &known))
    return NULL;
  int64_t count = known.count;
  Tensor *made = program_tensor_new(x->p, known.dtype, known.rank, &count);
  if (!made) return NULL;
  size_t size = (size_t)dtype_size(known.dtype);
  for (int i = 0; i < known.count; i++)
    bits_store(known.dtype, made->data + (size_t)i * size,
               bits_from_i64(known.dtype, dim_value(known.items[i])));
  made = program_constant_take(x->p, made);
  return made ? val_constant(x, made) : NULL;
}

/* The axis of a parameter of the function under way whose length the dimension
 * is. */
static bool param_axis(const Fn *fn, const TypeVar *var, DimTable *dims,
                       int *param, int *axis) {
  Dim wanted = dim_named(dims, var->name, var);
  for (int i = 0; i < fn->param_count; i++) {
    const Type *t = fn->params[i]->type;
    if (!t || t->kind != TY_TENSOR || t->any_rank) continue;
    for (int k = 0; k < t->rank; k++)
      if (dim_same(t->dims[k], wanted)) {
        *param = i;
        *axis = k;
        return true;
      }
  }
  return false;
}

static Val *axis_length(Export *x, Val *v, int axis, Span at) {
  const char *hint = x->hint;
  x->hint = NULL;
  const char *name = val_name(x, v, at);
  if (!name) return NULL;
  OnnxNode *n = node_new(x, "Shape");
  onnx_node_input(x->w, n, name);
  Val *shape = node_out(x, n, type_of_rank(x, DT_INT64, 1));
  Val *index = val_number(x, DT_INT64, axis);
  x->hint = hint;
  return node_of(x, "Gather", type_of_rank(x, DT_INT64, 0), 2,
                 (Val *[]){shape, index});
}

static Val *dim_val(Export *x, const TypeVar *var, Span at) {
  const Type *meant = type_here(x, type_param(x->p->types, var));
  if (meant->kind == TY_DIM && dim_is_number(meant->dims[0]))
    return val_number(x, DT_INT64, dim_value(meant->dims[0]));
  DimTable *dims = types_dims(x->p->types);
  for (Frame *f = x->frame; f; f = f->outer) {
    int param, axis;
    if (!f->fn || !param_axis(f->fn, var, dims, &param, &axis)) continue;
    Val *v = frame_value(x, f->fn->params[param], at);
    return v ? axis_length(x, v, axis, at) : NULL;
  }
  return refuse(x, at, "no parameter has an axis of length `%s`",
                var->name->text);
}

/* A function's frame is that of the place where it is made. */
static Val *function_value(Export *x, const Expr *e) {
  Val *v = ARENA_NEW(x->arena, Val);
  v->kind = VAL_FN;
  v->type = e->type ? type_here(x, e->type) : NULL;
  v->fn = e;
  v->frame = x->frame;
  return v;
}

/* The values of the text are evaluated outside of all functions and graphs. */
static Val *global_value(Export *x, const Global *g) {
  Frame *frame = x->frame;
  OnnxGraph *graph = x->graph;
  x->frame = NULL;
  x->graph = x->root;
  Val *v = eval(x, g->value);
  x->graph = graph;
  x->frame = frame;
  return v;
}

/* --- Data ----------------------------------------------------------------- */

static Val *data_new(Export *x, const Type *type, const Ctor *ctor, int count,
                     Val *const *items) {
  Val *v = val_tuple(x, type, count, items);
  v->kind = VAL_DATA;
  v->ctor = ctor;
  return v;
}

static Val *const *eval_all(Export *x, int count, const Expr *const *es) {
  Val **out = ARENA_ARRAY(x->arena, Val *, (size_t)count + 1);
  const char *hint = x->hint;
  x->hint = NULL;
  for (int i = 0; out && i < count; i++)
    if (!(out[i] = eval(x, es[i]))) return NULL;
  x->hint = hint;
  return out;
}

static Val *packed_item(Export *x, const Tensor *packed, int64_t i) {
  Tensor *t = program_tensor_new(x->p, (DType)packed->dtype, 0, NULL);
  if (!t) return NULL;
  bits_store((DType)t->dtype, t->data, tensor_bits_at(packed, i));
  t = program_constant_take(x->p, t);
  return t ? val_constant(x, t) : NULL;
}

/* The list of these items, built from its end. */
static Val *list_of(Export *x, const Type *type, const Ctor *cons,
                    int64_t count, Val *const *items) {
  Val *v = data_new(x, type, ctor_nil(cons), 0, NULL);
  for (int64_t i = count; i-- > 0 && v && !mem_exhausted(x->mem);) {
    Val **pair = ARENA_ARRAY(x->arena, Val *, 2);
    if (!pair) return NULL;
    pair[0] = items[i];
    pair[1] = v;
    v = data_new(x, type, cons, 2, pair);
  }
  return v;
}

static Val *const *packed_items(Export *x, const Tensor *packed,
                                int64_t count) {
  Val **items = ARENA_ARRAY(x->arena, Val *, (size_t)count + 1);
  for (int64_t i = 0; items && i < count; i++)
    if (!(items[i] = packed_item(x, packed, i))) return NULL;
  return items;
}

static Val *list(Export *x, const Expr *e) {
  const Tensor *packed = e->list.packed;
  int64_t count = packed ? tensor_count(packed) : e->count;
  Val *const *items =
      packed ? packed_items(x, packed, count) : eval_all(x, e->count, e->args);
  return items ? list_of(x, type_here(x, e->type), e->list.head->ctor, count,
                         items)
               : NULL;
}

/* --- Params --------------------------------------------------------------- */

static Val *part_value(Export *x, const ExportPart *p) {
  if (p->tensor) return val_initializer(x, p->name, p->tensor);
  Val **items = ARENA_ARRAY(x->arena, Val *, (size_t)p->count + 1);
  for (int64_t i = 0; items && i < p->count; i++)
    if (!(items[i] = part_value(x, &p->parts[i]))) return NULL;
  if (!items) return NULL;
  if (!p->ctor) return val_tuple(x, p->type, (int)p->count, items);
  return p->list ? list_of(x, p->type, p->ctor, p->count, items)
                 : data_new(x, p->type, p->ctor, (int)p->count, items);
}

/* The elements of a list whose end is known; false: it is made by a node. */
static bool list_items(const Val *v, Vals *out) {
  for (; v->kind == VAL_DATA && v->count; v = v->items[1])
    VEC_PUSH(out, v->items[0]);
  return v->kind == VAL_DATA;
}

static Val *named_parts(Export *x, Val *v, const char *path);

static Val *named_list(Export *x, Val *v, const char *path) {
  Vals items;
  VEC_INIT(&items, x->mem);
  Val *made = v;
  if (list_items(v, &items)) {
    for (size_t i = 0; i < items.len; i++)
      items.data[i] =
          named_parts(x, items.data[i],
                      x->wish->path(x->wish->data, path, v->ctor, (int64_t)i));
    made = list_of(x, v->type, v->ctor, (int64_t)items.len, items.data);
  }
  VEC_DONE(&items);
  return made;
}

/* The value of a default: what is known of it is an initializer, as what is
 * bound is, of the param's name or of the part's path.  Parts of a tree that is
 * so deep that its paths are longer than PATH_MOST are constants like others:
 * the paths of all of them would take room by the square of the depth. */
static Val *named_parts(Export *x, Val *v, const char *path) {
  enum { PATH_MOST = 1024 };
  if (!v || strlen(path) > PATH_MOST) return v;
  if (v->kind == VAL_TENSOR)
    return v->constant && !v->name ? val_initializer(x, path, v->constant) : v;
  if ((v->kind != VAL_TUPLE && v->kind != VAL_DATA) || !v->count) return v;
  if (v->ctor && !v->ctor->labels && list_cons(v->type) == v->ctor)
    return named_list(x, v, path);
  Val **items = ARENA_ARRAY(x->arena, Val *, (size_t)v->count);
  for (int i = 0; items && i < v->count; i++) {
    const char *at = x->wish->path(x->wish->data, path, v->ctor, i);
    if (!(items[i] = named_parts(x, v->items[i], at))) return NULL;
  }
  if (!items) return NULL;
  return v->ctor ? data_new(x, v->type, v->ctor, v->count, items)
                 : val_tuple(x, v->type, v->count, items);
}

static Val *param_value(Export *x, const Global *g, Span at) {
  bool failed = false;
  const ExportPart *bound = x->wish->param(x->wish->data, g, &failed);
  if (failed) return NULL;
  if (bound) return part_value(x, bound);
  if (g->value) return named_parts(x, global_value(x, g), g->name->text);
  Diag *d =
      diag_error(x->p->diags, E0503, at, "`@%s` has no value", g->name->text);
  diag_hint(d, "write %s=VALUE after the program, or --params FILE",
            g->name->text);
  return NULL;
}

static Val *global(Export *x, const Expr *e) {
  const Global *g = e->g.global;
  if (g->kind == GLOBAL_DEF) return function_value(x, e);
  Val *v = ptrmap_get(&x->globals, g);
  if (v) return v;
  const char *hint = x->hint;
  x->hint = g->name->text;
  v = g->kind == GLOBAL_PARAM ? param_value(x, g, e->span) : global_value(x, g);
  x->hint = hint;
  if (v) ptrmap_put(&x->globals, g, v);
  return v;
}

static Val *projection(Export *x, const Expr *e) {
  Val *v = eval(x, e->args[0]);
  if (!v) return NULL;
  if ((v->kind == VAL_TUPLE || v->kind == VAL_DATA) && e->index < v->count)
    return v->items[e->index];
  return refuse(x, e->span, "a part of what is no tuple in ONNX");
}

/* --- Calls ---------------------------------------------------------------- */

/* The function's own EX_FN, and what mentions it within itself. */
static const Fn *function_of(const Val *v, Self *self) {
  *self = (Self){0};
  if (v->fn->kind == EX_FN) {
    self->var = v->self;
    return v->fn->fn;
  }
  const Global *g = v->fn->g.global;
  self->global = g;
  const Expr *value = v->fn->kind == EX_GLOBAL ? g->value : NULL;
  return value && value->kind == EX_FN ? value->fn : NULL;
}

static void bind_types(Export *x, Frame *f, const Expr *use, const Fn *fn) {
  int count = use->targ_count;
  const TypeVar *const *vars = fn->type_vars;
  if (use->kind == EX_GLOBAL && use->g.global->param_count == count)
    vars = use->g.global->params;
  else if (use->kind == EX_VAR && use->var->param_count == count)
    vars = use->var->params;
  if (!count || !vars) return;
  const Type **types = ARENA_ARRAY(x->arena, const Type *, (size_t)count);
  for (int i = 0; types && i < count; i++)
    types[i] = type_here(x, use->targs[i]);
  f->type_count = types ? count : 0;
  f->type_vars = vars;
  f->types = types;
}

static Val *call_function(Export *x, const Val *f, int count, Val *const *args,
                          const Expr *at) {
  Self self;
  const Fn *fn = function_of(f, &self);
  if (!fn || fn->param_count != count)
    return refuse(x, at->span, "this function has no text");
  Frame *frame = frame_new(x, f->frame);
  frame->fn = fn;
  if (at->kind == EX_CALL) {
    bind_types(x, frame, at->call.callee, fn);
    if (!frame->type_count) bind_types(x, frame, f->fn, fn);
  } else {
    bind_types(x, frame, f->fn, fn);
  }
  for (int i = 0; i < count; i++) frame_bind(x, frame, fn->params[i], args[i]);
  if (x->calls == CALLS_MOST)
    return refuse(x, at->span, "more than %d calls are within each other",
                  CALLS_MOST);
  x->calls++;
  CallSite site = {at->span, x->site};
  x->site = &site;
  Frame *outer = x->frame;
  Val *v;
  const Circle *circle =
      circle_of(x, self.var ? NULL : self.global, self.var, f->frame);
  if (circle) {
    v = circle_call(x, circle, f->frame, args, at);
  } else if (fn_mentions(x, fn, &self)) {
    v = loop_call(x, fn, &self, frame, at);
  } else {
    x->frame = frame;
    v = eval(x, fn->body);
  }
  x->frame = outer;
  x->site = site.up;
  x->calls--;
  return v;
}

Val *call_value(Export *x, Val *f, int count, Val *const *args,
                const Expr *at) {
  if (f->kind != VAL_FN)
    return refuse(x, at->span, "this function is not known before the run");
  if (f->fn->kind == EX_CTOR)
    return data_new(x, type_here(x, at->type), f->fn->ctor, count, args);
  if (f->fn->kind == EX_OP) return say_operator(x, f->fn->op, count, args, at);
  Val *v;
  if (f->fn->kind == EX_GLOBAL &&
      say_library(x, f->fn->g.global, at, count, args, &v))
    return v;
  return call_function(x, f, count, args, at);
}

/* The name of a `let` is for the last node of its value. */
static Val *call(Export *x, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) return say_call(x, e);
  Val *resumed = resumed_value(x, e);
  if (resumed) return resumed;
  const char *hint = x->hint;
  Val *const *args = eval_all(x, e->count, e->args);
  if (!args) return NULL;
  if (callee->kind == EX_CTOR)
    return data_new(x, type_here(x, e->type), callee->ctor, e->count, args);
  x->hint = NULL;
  Val *f = eval(x, callee);
  x->hint = hint;
  return f ? call_value(x, f, e->count, args, e) : NULL;
}

/* --- Blocks --------------------------------------------------------------- */

bool block_enter(Export *x, const Block *b) {
  Frame *f = frame_new(x, x->frame);
  x->frame = f;
  for (int i = 0; i < b->count; i++) {
    const Binding *let = &b->bindings[i];
    if (let->kind == BIND_LET || let->kind == BIND_AND ||
        let->kind == BIND_GRAPH) {
      frame_bind_later(x, f, let->var, let->value);
    } else if (let->kind == BIND_ITEM &&
               expr_effects(x->p, let->value) & ~EFFECT_DIVERGE) {
      refuse(x, let->span,
             "what is done for its effect has no place in an ONNX graph");
      return false;
    }
  }
  return !mem_exhausted(x->mem);
}

static Val *block(Export *x, const Expr *e) {
  Val *v;
  if (e->inlined && say_inlined(x, e, &v)) return v;
  Frame *outer = x->frame;
  v = block_enter(x, e->block) ? eval(x, e->block->result) : NULL;
  x->frame = outer;
  return v;
}

/* --- Expressions ---------------------------------------------------------- */

static Val *eval_here(Export *x, const Expr *e) {
  switch ((ExprKind)e->kind) {
    case EX_CONST: return val_constant(x, e->constant);
    case EX_VAR: return frame_value(x, e->var, e->span);
    case EX_GLOBAL: return global(x, e);
    case EX_TUPLE: {
      Val *const *items = eval_all(x, e->count, e->args);
      return items ? val_tuple(x, type_here(x, e->type), e->count, items)
                   : NULL;
    }
    case EX_LIST: return list(x, e);
    case EX_PROJ: return projection(x, e);
    case EX_CALL: return call(x, e);
    case EX_CTOR:
      if (e->ctor->field_count == 0)
        return data_new(x, type_here(x, e->type), e->ctor, 0, NULL);
      return function_value(x, e);
    case EX_FN:
    case EX_OP: return function_value(x, e);
    case EX_BLOCK: return block(x, e);
    case EX_IF:
    case EX_MATCH: return ask(x, e, ASK_VALUE, NULL);
    case EX_DIM: return cast_to(x, dim_val(x, e->dim_var, e->span), DT_INT32);
    case EX_REF:
    case EX_READ:
    case EX_WRITE: {
      refuse(x, e->span, "ONNX has no cells");
      return NULL;
    }
    default: return refuse(x, e->span, "ONNX has nothing for this expression");
  }
}

typedef struct EvalCall {
  Export *x;
  const Expr *e;
  Val *v;
} EvalCall;

static void eval_run(void *of) {
  EvalCall *c = of;
  c->v = eval(c->x, c->e);
}

Val *eval(Export *x, const Expr *e) {
  if (mem_exhausted(x->mem)) return NULL;
  if (split_is_used_up(&x->stack)) {
    EvalCall c = {x, e, NULL};
    split_call(&x->stack, eval_run, &c);
    return c.v;
  }
  Val *v = known_value(x, e);
  return v ? v : eval_here(x, e);
}
