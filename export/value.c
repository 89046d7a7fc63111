/* Values while a program is exported: frames, constants, lists as sequences,
 * and the nodes that give names to them. */
#include <string.h>

#include "export/exporter.h"

/* --- Frames --------------------------------------------------------------- */

Frame *frame_new(Export *x, Frame *outer) {
  Frame *f = ARENA_NEW(x->arena, Frame);
  ptrmap_init(&f->vars, x->mem);
  f->outer = outer;
  VEC_PUSH(&x->frames, f);
  return f;
}

static Bound *bound_new(Export *x, Frame *f, const Var *var) {
  Bound *b = ARENA_NEW(x->arena, Bound);
  b->var = var;
  b->frame = f;
  b->graph = x->graph;
  ptrmap_put(&f->vars, var, b);
  return b;
}

void frame_bind(Export *x, Frame *f, const Var *var, Val *val) {
  bound_new(x, f, var)->val = val;
}

void frame_bind_later(Export *x, Frame *f, const Var *var, const Expr *value) {
  Bound *b = bound_new(x, f, var);
  b->value = value;
  b->anew = var->lazy;
}

/* Its nodes stand where the `let` stands: a graph within sees those of the
 * graphs around it. */
static Val *found(Export *x, Bound *b, Span at) {
  if (b->busy)
    return refuse(x, at, "`%%%s` is needed to compute itself",
                  b->var->name->text);
  Frame *frame = x->frame;
  OnnxGraph *graph = x->graph;
  const char *hint = x->hint;
  b->busy = true;
  x->frame = b->frame;
  if (!b->anew) x->graph = b->graph;
  x->hint = b->var->name->text;
  Val *val = eval(x, b->value);
  if (val && val->kind == VAL_FN && b->value->kind == EX_FN) {
    val = arena_copy(x->arena, val, sizeof *val);
    val->self = b->var;
  }
  x->hint = hint;
  x->graph = graph;
  x->frame = frame;
  b->busy = false;
  if (!b->anew) b->val = val;
  return val;
}

Val *frame_value(Export *x, const Var *var, Span at) {
  for (Frame *f = x->frame; f; f = f->outer) {
    Bound *b = ptrmap_get(&f->vars, var);
    if (b) return b->val ? b->val : found(x, b, at);
  }
  return refuse(x, at, "`%%%s` has no value here", var->name->text);
}

/* The arguments of a call's type parameters are closed already. */
const Type *type_here(Export *x, const Type *t) {
  for (Frame *f = x->frame; f && t->has_var; f = f->outer)
    if (f->type_count)
      t = type_substitute(x->p->types, t, f->type_count, f->type_vars, f->types,
                          NULL);
  return t;
}

/* --- Making --------------------------------------------------------------- */

/* Reads List[A] { Cons(A, List[A]), Nil } off the data type. */
const Ctor *list_cons(const Type *t) {
  if (t->kind != TY_ADT || t->adt->ctor_count != 2) return NULL;
  const Ctor *a = &t->adt->ctors[0], *b = &t->adt->ctors[1];
  const Ctor *cons = a->field_count == 2 ? a : b;
  const Ctor *nil = cons == a ? b : a;
  bool list = cons->field_count == 2 && nil->field_count == 0 && cons->fields &&
              cons->fields[1]->kind == TY_ADT && cons->fields[1]->adt == t->adt;
  return list ? cons : NULL;
}

static Val *val_new(Export *x, ValKind kind, const Type *type) {
  Val *v = ARENA_NEW(x->arena, Val);
  v->kind = kind;
  v->type = type;
  return v;
}

Val *val_tensor(Export *x, const Type *type, const char *name) {
  ValKind kind = type->kind == TY_TENSOR ? VAL_TENSOR
                 : list_cons(type)       ? VAL_SEQUENCE
                                         : VAL_OPTIONAL;
  Val *v = val_new(x, kind, type);
  v->name = name;
  v->graph = x->graph;
  return v;
}

Val *val_constant(Export *x, const Tensor *t) {
  Dim dims[RANK_MAX];
  dims_of_shape(t->rank, t->shape, dims);
  Val *v = val_new(x, VAL_TENSOR,
                   type_tensor(x->p->types, (DType)t->dtype, t->rank, dims));
  v->constant = t;
  return v;
}

Val *val_initializer(Export *x, const char *name, const Tensor *t) {
  Val *v = val_constant(x, t);
  v->reserved = onnx_name(x->w, name);
  return v;
}

Val *val_tuple(Export *x, const Type *type, int count, Val *const *items) {
  Val *v = val_new(x, VAL_TUPLE, type);
  v->count = count;
  v->items = items;
  return v;
}

static Val *val_scalar(Export *x, DType dtype, Value bits) {
  Tensor *t = program_tensor_new(x->p, dtype, 0, NULL);
  if (!t) return NULL;
  bits_store(dtype, t->data, bits);
  t = program_constant_take(x->p, t);
  return t ? val_constant(x, t) : NULL;
}

Val *val_number(Export *x, DType dtype, int64_t n) {
  return val_scalar(x, dtype, bits_from_i64(dtype, n));
}

Val *val_real(Export *x, DType dtype, double r) {
  return val_scalar(x, dtype, bits_from_f64(dtype, r));
}

Val *val_ints(Export *x, int count, const int64_t *ints) {
  int64_t shape = count;
  Tensor *t = program_tensor_new(x->p, DT_INT64, 1, &shape);
  if (!t) return NULL;
  if (count) memcpy(t->data, ints, (size_t)count * sizeof *ints);
  t = program_constant_take(x->p, t);
  return t ? val_constant(x, t) : NULL;
}

DType val_dtype(const Val *v) {
  return v->type->kind == TY_TENSOR ? (DType)v->type->dtype : DTYPE_NONE;
}

bool val_rank(Export *x, const Val *v, Span at, int *rank) {
  if (v->type->kind == TY_TENSOR && !v->type->any_rank) {
    *rank = v->type->rank;
    return true;
  }
  refuse(x, at, "the rank of this tensor is not known before the run");
  return false;
}

const Type *tensor_type(Export *x, DType dtype, int rank, const Dim *dims) {
  return type_tensor(x->p->types, dtype, rank, dims);
}

const Type *type_of_rank(Export *x, DType dtype, int rank) {
  Dim dims[RANK_MAX];
  for (int i = 0; i < rank; i++) dims[i] = DIM_ANY;
  return tensor_type(x, dtype, rank, dims);
}

/* --- Nodes ---------------------------------------------------------------- */

OnnxNode *node_new(Export *x, const char *op) {
  return onnx_node_new(x->w, x->graph, "", op);
}

bool node_in(Export *x, OnnxNode *n, Val *v, Span at) {
  const char *name = v ? val_name(x, v, at) : NULL;
  if (name) onnx_node_input(x->w, n, name);
  return name != NULL;
}

Val *node_out(Export *x, OnnxNode *n, const Type *type) {
  const char *name = onnx_name(x->w, x->hint ? x->hint : "v");
  x->hint = NULL;
  onnx_node_output(x->w, n, name);
  Val *v = val_tensor(x, type, name);
  v->made = true;
  return v;
}

OnnxGraph *graph_enter(Export *x, const char *name, Span at) {
  if (x->graphs == ONNX_GRAPHS_MOST)
    return refuse(x, at,
                  "more than %d branches and loops are within each other",
                  ONNX_GRAPHS_MOST);
  x->graphs++;
  x->graph = onnx_graph_new(x->w, onnx_name(x->w, name));
  return x->graph;
}

void graph_leave(Export *x, OnnxGraph *outer) {
  x->graphs--;
  x->graph = outer;
}

/* The operands are given their names before the node has its place. */
Val *node_of(Export *x, const char *op, const Type *type, int count,
             Val *const *in) {
  for (int i = 0; i < count; i++)
    if (!in[i] || !val_name(x, in[i], SPAN_NONE)) return NULL;
  OnnxNode *n = node_new(x, op);
  for (int i = 0; i < count; i++)
    if (!node_in(x, n, in[i], SPAN_NONE)) return NULL;
  return node_out(x, n, type);
}

Val *cast_to(Export *x, Val *v, DType dtype) {
  if (!v || v->kind != VAL_TENSOR || val_dtype(v) == dtype) return v;
  bool any = v->type->any_rank;
  const Type *type = any ? type_any_rank(x->p->types, dtype)
                         : tensor_type(x, dtype, v->type->rank, v->type->dims);
  if (v->constant && dtype_is_int(dtype) && dtype_is_int(val_dtype(v))) {
    const Tensor *t = v->constant;
    Tensor *made = program_tensor_new(x->p, dtype, t->rank, t->shape);
    if (!made) return NULL;
    size_t size = (size_t)dtype_size(dtype);
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
      bits_store(dtype, made->data + (size_t)i * size,
                 bits_from_i64(dtype, tensor_i64_at(t, i)));
    made = program_constant_take(x->p, made);
    return made ? val_constant(x, made) : NULL;
  }
  const char *hint = x->hint;
  x->hint = NULL;
  const char *name = val_name(x, v, SPAN_NONE);
  if (!name) return NULL;
  OnnxNode *n = node_new(x, "Cast");
  onnx_node_input(x->w, n, name);
  onnx_attr_int(x->w, n, "to", onnx_dtype_number(dtype));
  x->hint = hint;
  return node_out(x, n, type);
}

/* A small constant is a node; a large one, and what is bound to a param, is an
 * initializer.  All stand in the whole model's graph, where every other sees
 * them. */
enum { CONSTANT_MOST = 64 };

static void name_constant(Export *x, Val *v) {
  const Tensor *t = v->constant;
  if (!tensor_is_contiguous(t)) {
    Tensor *copy = program_tensor_new(x->p, (DType)t->dtype, t->rank, t->shape);
    if (copy) tensor_copy_into(copy, t);
    t = copy ? program_constant_take(x->p, copy) : NULL;
    if (!t) return;
  }
  v->name = v->reserved ? v->reserved : onnx_name(x->w, "c");
  v->graph = x->root;
  if (v->reserved || tensor_count(t) > CONSTANT_MOST) {
    onnx_graph_initializer(x->w, x->root, v->name, t);
    return;
  }
  OnnxNode *n = onnx_node_new(x->w, x->root, "", "Constant");
  onnx_attr_tensor(x->w, n, "value", t);
  onnx_node_output(x->w, n, v->name);
}

static Val *val_in_graph(Export *x, Val *v);

const char *val_name(Export *x, Val *v, Span at) {
  if (v->kind == VAL_DATA) {
    Val *made = val_in_graph(x, v);
    if (made) v = made;
  }
  if (v->kind == VAL_TENSOR && !v->name && v->constant) name_constant(x, v);
  if (v->kind == VAL_TUPLE || v->kind == VAL_DATA || v->kind == VAL_FN) {
    refuse(x, at,
           "this value is no tensor, no list of tensors and no Option of one, "
           "and has to be in ONNX");
    return NULL;
  }
  return v->name;
}

/* --- Lists and Options --------------------------------------------------- */

const Type *list_element(Export *x, const Type *t) {
  const Ctor *cons = list_cons(t);
  if (!cons) return NULL;
  const Type *element = type_substitute(x->p->types, cons->fields[0], t->count,
                                        t->adt->params, t->args, NULL);
  return element->kind == TY_TENSOR ? element : NULL;
}

const Type *option_element(Export *x, const Type *t) {
  if (t->kind != TY_ADT || t->adt->ctor_count != 2) return NULL;
  const Ctor *a = &t->adt->ctors[0], *b = &t->adt->ctors[1];
  const Ctor *some = a->field_count == 1 ? a : b;
  if (a->field_count + b->field_count != 1 || !some->fields) return NULL;
  const Type *element = type_substitute(x->p->types, some->fields[0], t->count,
                                        t->adt->params, t->args, NULL);
  bool has = element->kind == TY_TENSOR ||
             (element->kind == TY_ADT && list_element(x, element));
  return has ? element : NULL;
}

/* A list that ends in a sequence, too: its elements are put before that one's,
 * the last first. */
static Val *sequence_of(Export *x, Val *v, const Type *element) {
  const Type *type = v->type;
  Vals items;
  VEC_INIT(&items, x->mem);
  while (v && v->kind == VAL_DATA && v->count == 2) {
    VEC_PUSH(&items, v->items[0]);
    v = v->items[1];
  }
  Val *made = v && v->kind == VAL_SEQUENCE ? v : NULL;
  const char *hint = x->hint;
  x->hint = NULL;
  bool fine = v != NULL;
  for (size_t i = 0; fine && i < items.len; i++)
    fine = val_name(x, items.data[i], SPAN_NONE) != NULL;
  if (fine && !made && !items.len) {
    OnnxNode *n = node_new(x, "SequenceEmpty");
    onnx_attr_int(x->w, n, "dtype", onnx_dtype_number((DType)element->dtype));
    made = node_out(x, n, type);
  } else if (fine && !made) {
    OnnxNode *n = node_new(x, "SequenceConstruct");
    for (size_t i = 0; fine && i < items.len; i++)
      fine = node_in(x, n, items.data[i], SPAN_NONE);
    made = node_out(x, n, type);
  } else {
    for (size_t i = items.len; fine && made && i-- > 0;) {
      Val *zero = val_number(x, DT_INT64, 0);
      made = zero ? node_of(x, "SequenceInsert", type, 3,
                            (Val *[]){made, items.data[i], zero})
                  : NULL;
    }
  }
  x->hint = hint;
  VEC_DONE(&items);
  return fine ? made : NULL;
}

static Val *optional_of(Export *x, const Val *v, const Type *element) {
  const char *hint = x->hint;
  x->hint = NULL;
  Val *made = NULL;
  if (v->count == 0) {
    OnnxNode *n = node_new(x, "Optional");
    OnnxValueType type = value_type(x, element);
    onnx_attr_type(x->w, n, "type", &type);
    made = node_out(x, n, v->type);
  } else {
    made = node_of(x, "Optional", v->type, 1, v->items);
  }
  x->hint = hint;
  return made;
}

/* A list or an Option as a value of the graph; NULL: it is none. */
static Val *val_in_graph(Export *x, Val *v) {
  if (v->kind != VAL_DATA)
    return v->kind == VAL_SEQUENCE || v->kind == VAL_OPTIONAL ? v : NULL;
  const Type *element = list_element(x, v->type);
  if (element) return sequence_of(x, v, element);
  element = option_element(x, v->type);
  return element ? optional_of(x, v, element) : NULL;
}

/* --- Values of several tensors -------------------------------------------- */

/* A list of tensors and an Option are one value of a graph, whatever is known
 * of them. */
bool val_is_slot(Export *x, const Val *v) {
  if (v->kind == VAL_DATA)
    return list_element(x, v->type) || option_element(x, v->type);
  return v->kind != VAL_TUPLE && v->kind != VAL_FN;
}

bool val_flatten(Export *x, Val *v, Vals *out, Span at) {
  if (v->kind == VAL_FN) {
    refuse(x, at, "a function is chosen, or changed, while the program runs");
    return false;
  }
  if (val_is_slot(x, v)) {
    if (v->kind == VAL_DATA) v = val_in_graph(x, v);
    if (v) VEC_PUSH(out, v);
    return v != NULL;
  }
  for (int i = 0; i < v->count; i++)
    if (!val_flatten(x, v->items[i], out, at)) return false;
  return !mem_exhausted(x->mem);
}

Val *val_rebuild(Export *x, const Val *v, Val *const **next) {
  if (val_is_slot(x, v)) return *(*next)++;
  Val *made = arena_copy(x->arena, v, sizeof *v);
  Val **items = ARENA_ARRAY(x->arena, Val *, (size_t)v->count + 1);
  for (int i = 0; made && items && i < v->count; i++)
    items[i] = val_rebuild(x, v->items[i], next);
  if (made) made->items = items;
  return made;
}

bool val_agree(Export *x, const Val *a, const Val *b, Span at) {
  if (val_is_slot(x, a) && val_is_slot(x, b)) return true;
  if (a->kind == VAL_FN || b->kind == VAL_FN)
    return refuse(x, at, "which function this is depends on the run") != NULL;
  if (a->kind == VAL_DATA && a->ctor != b->ctor && list_cons(a->type))
    return refuse(x, at,
                  "how long this list is depends on the run, and its elements "
                  "are no tensors, as those of a sequence are") != NULL;
  if (a->kind != b->kind || a->count != b->count || a->ctor != b->ctor)
    return refuse(x, at,
                  "which constructor this value has depends on the "
                  "run") != NULL;
  for (int i = 0; i < a->count; i++)
    if (!val_agree(x, a->items[i], b->items[i], at)) return false;
  return true;
}
