/* The reverse sweep: from a tape and the adjoint of its value to the adjoints
 * of its inputs.
 *
 *   seed      the adjoint's tensors go to the records of the value's
 *   sweep     records in the reverse order of making: the operator's rule, a
 *             function of the language, gives what is added to the adjoints of
 *             its operands
 *   collect   the inputs, with adjoints in the places of tensors
 *
 * Adjoints are added in the order in which the sweep meets them, which the
 * program alone decides.  The adjoint of a weight is a sum of products a' b,
 * one for each step: their rows wait, and one product sums over all of them,
 * upward in the order of making, as in a product over the whole sequence.
 *
 * In differentiated code rules are differentiated code, too, so that the sweep
 * is recorded at the outer levels. */
#include "kernels/rows.h"
#include "vm/sweep.h"

#include <string.h>

/* --- Rules -------------------------------------------------------------- */

static const Type *shape_type(Code *c, Value v) {
  const Tensor *t = dual_tensor(v);
  Dim dims[RANK_MAX];
  for (int i = 0; i < t->rank; i++) dims[i] = DIM_ANY;
  if (first_dim(t) >= 0) dims[0] = dim_of(first_dim(t));
  return type_tensor(c->program->types, (DType)t->dtype, t->rank, dims);
}

static const Type *tuple_of(Code *c, int n, const Value *v) {
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)n + 1);
  for (int i = 0; types && i < n; i++) types[i] = shape_type(c, v[i]);
  return type_tuple(c->program->types, types ? n : 0, types);
}

static void make_functions(Code *c, struct Derivative *d, const Global *g) {
  Env *plain = ARENA_NEW(&c->arena, Env);
  *plain = (Env){0};
  Function *f = code_global(c, g, plain, false);
  d->plain = code_owning(c, f);
  d->dual = code_owning(c, code_dual(c, f));
  d->result = g->type->result;
}

static inline int group_fields(int group) {
  return group == GROUP_SINGLE ? 1 : group;
}

struct Derivative *derivative_make(Code *c, const OpSite *site, int n,
                                   const Value *args, int m,
                                   const Value *outs) {
  struct Derivative *d = ARENA_NEW(&c->arena, struct Derivative);
  int count;
  int *groups = site_groups(&c->arena, site, &count);
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)n + 3);
  bool *kept = ARENA_ARRAY(&c->arena, bool, (size_t)n + 1);
  uint32_t *kinds = ARENA_ARRAY(&c->arena, uint32_t, (size_t)n + 1);
  if (!groups || !types || !kept || !kinds) return NULL;
  *d = (struct Derivative){
      .kept = kept, .kinds = kinds, .group_count = count, .groups = groups};
  for (int i = 0; i < n; i++) kinds[i] = operand_kind(args[i]);
  for (int i = 0, at = 0; i < count; at += group_fields(groups[i++]))
    types[i] = groups[i] == GROUP_SINGLE ? shape_type(c, args[at])
                                         : tuple_of(c, groups[i], args + at);
  types[count] = m == 1 && !site->gives_tuple ? shape_type(c, outs[0])
                                              : tuple_of(c, m, outs);
  Gradient g;
  d->status = types_gradient(c->program, site->attrs, count + 1, types, &g);
  if (mem_exhausted(c->program->mem)) return NULL;
  if (d->status == GRADIENT_OK) {
    d->uses = g.uses;
    d->keeps_value = g.uses >> count & 1;
    for (int i = 0, at = 0; i < count; i++)
      for (int k = group_fields(groups[i]); k-- > 0;)
        kept[at++] = g.uses >> i & 1;
    make_functions(c, d, g.function);
  }
  d->next = atomic_load(&site->derivatives);
  atomic_store(&((OpSite *)site)->derivatives, d);
  return d;
}

/* --- Adjoints ----------------------------------------------------------- */

static uint64_t order_of(const Sweep *w, size_t i) {
  return record_order(w->heap.data[i]->record);
}

static void heap_swap(Sweep *w, size_t i, size_t k) {
  Adjoint *a = w->heap.data[i];
  w->heap.data[i] = w->heap.data[k];
  w->heap.data[k] = a;
}

static void heap_push(Sweep *w, Adjoint *a) {
  VEC_PUSH(&w->heap, a);
  for (size_t i = w->heap.len - 1; i > 0;) {
    size_t up = (i - 1) / 2;
    if (order_of(w, up) >= order_of(w, i)) break;
    heap_swap(w, i, up);
    i = up;
  }
}

static Adjoint *heap_pop(Sweep *w) {
  Adjoint *first = w->heap.data[0];
  w->heap.data[0] = VEC_LAST(&w->heap);
  w->heap.len--;
  for (size_t i = 0;;) {
    size_t k = 2 * i + 1;
    if (k >= w->heap.len) break;
    if (k + 1 < w->heap.len && order_of(w, k + 1) > order_of(w, k)) k++;
    if (order_of(w, i) >= order_of(w, k)) break;
    heap_swap(w, i, k);
    i = k;
  }
  return first;
}

/* Where a record's adjoint stands.  A sweep that a rule begins may meet records
 * of the one around it, and puts back what it found. */
static Adjoint *adjoint_in(Cell *record) {
  return (Adjoint *)(uintptr_t)cell_fields(record)[RECORD_ADJOINT].bits;
}

static void set_adjoint(Cell *record, Adjoint *a) {
  cell_fields(record)[RECORD_ADJOINT].bits = (uint64_t)(uintptr_t)a;
}

Adjoint *adjoint_known(const Sweep *w, Cell *record) {
  Adjoint *a = adjoint_in(record);
  return a && a->sweep == w ? a : NULL;
}

static size_t adjoint_size(int count) {
  return sizeof(Adjoint) + (size_t)count * sizeof(Part);
}

Adjoint *adjoint_of(Sweep *w, Cell *record) {
  Adjoint *a = adjoint_known(w, record);
  if (a) return a;
  Session *s = w->s;
  Value *f = cell_fields(record);
  int outs = (int)(uint32_t)f[RECORD_COUNTS].bits;
  a = pool_alloc(&s->store.heap.pool, adjoint_size(outs));
  if (!a) return NULL;
  memset(a, 0, adjoint_size(outs));
  *a = (Adjoint){
      .record = record, .sweep = w, .outer = adjoint_in(record), .count = outs};
  if (!VEC_RESERVE(&w->heap, 1)) {
    pool_free(&s->store.heap.pool, a, adjoint_size(outs));
    return NULL;
  }
  set_adjoint(record, a);
  obj_keep(&record->obj);
  heap_push(w, a);
  return a;
}

/* Operators of the sweep itself. */
enum {
  SITE_ADD,
  SITE_COLLAPSE, /* undoes a broadcast */
  SITE_PRODUCT,  /* a' b */
  SITE_ROWS,     /* adds to rows */
  SITE_SUM,      /* of rows */
  SITE_JOIN,     /* of two tensors, of three ... */
  JOIN_MOST = 64
};
static_assert(SITE_JOIN + JOIN_MOST - 1 == DUAL_SITES, "a place for each site");

/* The sum of rows. */
static void reduce_first_axis(Code *c, Attrs *attrs) {
  Dim *axis = ARENA_ARRAY(&c->arena, Dim, 1);
  for (int i = 0; axis && i < attrs->op->attr_count; i++) {
    if (attrs->op->attrs[i].name != ATTR_axis) continue;
    axis[0] = dim_of(0);
    attrs->values[i].state = AV_SET;
    attrs->values[i].count = 1;
    attrs->values[i].ints = axis;
  }
}

/* Joins `count` tensors, or takes so many operands. */
static OpSite *make_site(Code *c, OpId id, int count) {
  static const OpSource single[3] = {
      {.kind = FROM_TENSOR}, {.kind = FROM_TENSOR}, {.kind = FROM_TENSOR}};
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)count + 1);
  Attrs *attrs = attrs_new(&c->arena, op_info(id));
  OpSource *tuple = ARENA_NEW(&c->arena, OpSource);
  OpSite *site = ARENA_NEW(&c->arena, OpSite);
  bool joins = id == OP_CONCATENATE;
  if (!types || !attrs) return site;
  for (int i = 0; i < count; i++) types[i] = type_unit(c->program->types);
  tuple->kind = FROM_TUPLE;
  if (joins) tuple->type = type_tuple(c->program->types, count, types);
  if (id == OP_NN_MATMUL) attr_set_number(attrs, ATTR_transpose_a, 1);
  if (id == OP_SUM) reduce_first_axis(c, attrs);
  if (id == OP_SCATTER_ND) attr_set_text(attrs, ATTR_mode, "add");
  *site = (OpSite){.op = op_info(id),
                   .attrs = attrs,
                   .span = SPAN_NONE,
                   .number = NO_PLAN,
                   .source_count = joins ? 1 : count,
                   .sources = joins ? tuple : single,
                   .arg_count = count,
                   .out_count = 1,
                   .out_types = types};
  return site;
}

/* Applies one of those operators; bit i of `ending`: nobody else reads operand
 * i afterwards. */
static bool apply_own(Session *s, int which, int n, const Value *args,
                      uint32_t ending, Value *out) {
  static const OpId ids[] = {OP_ADD,       OP_COLLAPSE_SUM_LIKE,
                             OP_NN_MATMUL, OP_SCATTER_ND,
                             OP_SUM,       OP_CONCATENATE};
  Code *c = s->code;
  pthread_mutex_lock(&c->lock);
  OpSite **site = &c->dual_sites[which];
  if (!*site)
    *site = make_site(c, ids[which < SITE_JOIN ? which : SITE_JOIN], n);
  pthread_mutex_unlock(&c->lock);
  bool ok = dual_apply(s, *site, n, args, ending, 1, out);
  arena_reset(&s->scratch);
  return ok;
}

static bool apply_two(Session *s, int which, Value a, Value b, uint32_t ending,
                      Value *out) {
  Value args[2] = {a, b};
  return apply_own(s, which, 2, args, ending, out);
}

/* --- Sums of products --------------------------------------------------- */

static void drop_values(Session *s, int n, const Value *v) {
  for (int i = 0; i < n; i++) obj_drop(&s->store, v[i].obj);
}

/* One below the other: takes the values, which it overwrites. */
static bool join(Session *s, size_t n, Value *v, Value *out) {
  while (n > 1) {
    size_t made = 0;
    for (size_t i = 0; i < n;) {
      int count = (int)(n - i < JOIN_MOST ? n - i : JOIN_MOST);
      Value all = v[i];
      if (count > 1 &&
          !apply_own(s, SITE_JOIN + count - 2, count, v + i, 0, &all)) {
        drop_values(s, (int)made, v);
        drop_values(s, (int)(n - i), v + i);
        return false;
      }
      if (count > 1) drop_values(s, count, v + i);
      v[made++] = all;
      i += (size_t)count;
    }
    n = made;
  }
  *out = v[0];
  return true;
}

/* The matrices of one side of the products, in the order of making. */
typedef struct Side {
  size_t count;
  Value *of;
  bool plain; /* none is a Dual */
} Side;

static bool side_start(Session *s, const Rows *rows, bool second, Side *side) {
  *side = (Side){.plain = true};
  for (const Rows *r = rows; r; r = r->next) side->count++;
  side->of = mem_alloc(s->mem, side->count * sizeof *side->of);
  if (!side->of) return vm_out_of_memory(s);
  size_t i = 0;
  for (const Rows *r = rows; r; r = r->next, i++) {
    side->of[i] = second ? r->b : r->a;
    side->plain &= !is_dual(side->of[i]);
  }
  return true;
}

static void side_done(Session *s, Side *side) {
  if (side->of) mem_free(s->mem, side->of, side->count * sizeof *side->of);
}

/* One below the other. */
static bool join_side(Session *s, const Side *side, Value *out) {
  for (size_t i = 0; i < side->count; i++) obj_keep(side->of[i].obj);
  return join(s, side->count, side->of, out);
}

/* A plain side as blocks of rows: values of tensors are pointers to them. */
static RowBlocks blocks_of(const Side *side) {
  static_assert(sizeof(Value) == sizeof(const Tensor *), "one after the other");
  return (RowBlocks){(int64_t)side->count, (const Tensor *const *)side->of};
}

/* Multiplies or sums rows where they lie; `*fits` is false where the kernels
 * for that do not take these tensors. */
static bool add_blocks(Session *s, const Side *a, const Side *b, bool *fits,
                       Value *out) {
  OpCall call = {.heap = &s->store.heap,
                 .stop = &s->store.stop,
                 .threads = s->limits.threads,
                 .crowd = &s->crowd};
  *fits = a->count > 1 && a->plain && row_blocks_fit(blocks_of(a)) &&
          (!b || (b->plain && row_blocks_fit(blocks_of(b))));
  if (!*fits) return true;
  out->tensor = b ? rows_product(&call, blocks_of(a), blocks_of(b))
                  : rows_sum(&call, blocks_of(a));
  if (out->tensor) return true;
  return atomic_load(&s->store.stop) ? vm_stopped(s) : vm_out_of_memory(s);
}

/* The product of what stands in the two sides, or the sum of a's rows. */
static bool add_up(Session *s, Side *a, Side *b, Value *out) {
  bool fits;
  if (!add_blocks(s, a, b, &fits, out)) return false;
  if (fits) return true;
  Value left, right;
  if (!join_side(s, a, &left)) return false;
  bool ok =
      !b ? apply_own(s, SITE_SUM, 1, &left, 0, out) : join_side(s, b, &right);
  if (ok && b) {
    ok = apply_two(s, SITE_PRODUCT, left, right, 0, out);
    obj_drop(&s->store, right.obj);
  }
  obj_drop(&s->store, left.obj);
  return ok;
}

static void drop_rows(Session *s, Part *part) {
  while (part->rows) {
    Rows *r = part->rows;
    part->rows = r->next;
    obj_drop(&s->store, r->a.obj);
    if (r->b.obj) obj_drop(&s->store, r->b.obj);
    pool_free(&s->store.heap.pool, r, sizeof *r);
  }
}

bool part_box(Session *s, Part *part) {
  if (part->form != SUM_BITS) return true;
  Value v;
  v.tensor = tensor_from_bits(&s->store.heap, part->dtype, part->sum);
  if (!v.tensor) return vm_out_of_memory(s);
  part->form = SUM_OBJECT;
  part->sum = v;
  return true;
}

/* Adds `v`, which it takes, to the sum. */
static bool add_sum(Session *s, Part *part, Value v) {
  if (part->form == SUM_ZERO) {
    part->form = SUM_OBJECT;
    part->sum = v;
    return true;
  }
  Value sum;
  bool ok = part_box(s, part) && apply_two(s, SITE_ADD, part->sum, v, 3, &sum);
  obj_drop(&s->store, v.obj);
  if (!ok) return false;
  obj_drop(&s->store, part->sum.obj);
  part->sum = sum;
  return true;
}

/* The products that wait become part of the sum. */
static bool settle(Session *s, Part *part) {
  if (!part->rows) return true;
  Side a, b = {0};
  Value total;
  bool sums = !part->rows->b.obj;
  bool ok = side_start(s, part->rows, false, &a) &&
            (sums || side_start(s, part->rows, true, &b)) &&
            add_up(s, &a, sums ? NULL : &b, &total);
  side_done(s, &a);
  side_done(s, &b);
  drop_rows(s, part);
  return ok && add_sum(s, part, total);
}

bool sweep_add_product(Sweep *w, Cell *record, uint64_t index, Value a,
                       Value b) {
  Session *s = w->s;
  Adjoint *to = adjoint_of(w, record);
  Rows *r = to ? pool_alloc(&s->store.heap.pool, sizeof *r) : NULL;
  if (!r || mem_exhausted(s->mem)) {
    obj_drop(&s->store, a.obj);
    if (b.obj) obj_drop(&s->store, b.obj);
    if (r) pool_free(&s->store.heap.pool, r, sizeof *r);
    return vm_out_of_memory(s);
  }
  *r = (Rows){to->of[index].rows, a, b};
  to->of[index].rows = r;
  return true;
}

static bool is_row_of(const Tensor *row, const Tensor *matrix) {
  return row->rank == 1 && matrix->rank == 2 &&
         row->shape[0] == matrix->shape[1];
}

/* Takes `v`, the part of an adjoint; `like` has the operand's shape, where the
 * record keeps the operand. */
static bool add(Sweep *w, Cell *record, uint64_t index, Value v, Value like) {
  Session *s = w->s;
  bool alike = !like.obj || shapes_equal(dual_tensor(like), dual_tensor(v));
  if (!alike && is_row_of(dual_tensor(like), dual_tensor(v)))
    return sweep_add_product(w, record, index, v, (Value){.bits = 0});
  if (!alike) {
    Value small;
    bool ok = apply_two(s, SITE_COLLAPSE, v, like, 0, &small);
    obj_drop(&s->store, v.obj);
    if (!ok) return false;
    v = small;
  }
  Adjoint *a = adjoint_of(w, record);
  if (!a || mem_exhausted(s->mem)) {
    obj_drop(&s->store, v.obj);
    return vm_out_of_memory(s);
  }
  return add_sum(s, &a->of[index], v);
}

/* Adds `g` to the rows of these numbers of an adjoint of the operand's shape:
 * takes both. */
static bool add_rows(Sweep *w, Cell *record, uint64_t index, Value rows,
                     Value g, Value like) {
  Session *s = w->s;
  Adjoint *a = adjoint_of(w, record);
  bool ok = (a && !mem_exhausted(s->mem)) || vm_out_of_memory(s);
  Part *part = ok ? &a->of[index] : NULL;
  Value *sum = ok ? &part->sum : NULL;
  if (ok && part->form == SUM_ZERO) {
    const Tensor *t = dual_tensor(like.obj ? like : g);
    sum->tensor =
        tensor_zeros(&s->store.heap, (DType)t->dtype, t->rank, t->shape);
    ok = sum->tensor || vm_out_of_memory(s);
    if (ok) part->form = SUM_OBJECT;
  }
  ok = ok && part_box(s, part);
  Value made;
  if (ok) {
    Value args[3] = {*sum, rows, g};
    ok = apply_own(s, SITE_ROWS, 3, args, 1, &made);
  }
  if (ok) {
    obj_drop(&s->store, sum->obj);
    *sum = made;
  }
  obj_drop(&s->store, rows.obj);
  obj_drop(&s->store, g.obj);
  return ok;
}

/* --- Seeds -------------------------------------------------------------- */

/* A value and its adjoint, to be walked together. */
typedef struct Both {
  const Type *type;
  Value v, g;
  bool v_bits, g_bits;
} Both;

static const Type *part_type(Session *s, const Both *at, int i) {
  return at->type->kind == TY_TUPLE
             ? at->type->args[i]
             : value_ctor_field(&s->store, at->type, at->v.obj->tag, i);
}

static bool seed_leaf(Sweep *w, const Both *at) {
  Session *s = w->s;
  bool varies = at->type->kind == TY_TENSOR &&
                dtype_is_float((DType)at->type->dtype) && !at->v_bits;
  if (!varies || !is_dual(at->v) ||
      record_level(dual_record(at->v)) != w->level)
    return true;
  Value g = at->g;
  if (!at->g_bits) obj_keep(g.obj);
  else g.tensor = tensor_from_bits(&s->store.heap, (DType)at->type->dtype, g);
  if (!g.obj) return vm_out_of_memory(s);
  if (!shapes_equal(dual_tensor(g), dual_tensor(at->v))) {
    obj_drop(&s->store, g.obj);
    return vm_fault(s, E0612,
                    "the adjoint of a value has its shape: this one has "
                    "another");
  }
  return add(w, dual_record(at->v), dual_index(at->v), g, (Value){.bits = 0});
}

static bool seed(Sweep *w, Both root) {
  Session *s = w->s;
  VEC(Both) todo;
  VEC_INIT(&todo, s->mem);
  VEC_PUSH(&todo, root);
  bool ok = true;
  while (ok && todo.len && !mem_exhausted(s->mem)) {
    Both at = VEC_POP(&todo);
    if (at.type->kind != TY_TUPLE && at.type->kind != TY_ADT) {
      ok = seed_leaf(w, &at);
      continue;
    }
    if (at.v.obj->tag != at.g.obj->tag) {
      ok = vm_fault(s, E0612,
                    "the adjoint of a value has its structure: this one has "
                    "another constructor");
      break;
    }
    int n = (int)cell_count(at.v.cell);
    for (int i = n; i-- > 0;) {
      Both part = {part_type(s, &at, i), cell_fields(at.v.cell)[i],
                   cell_fields(at.g.cell)[i],
                   !cell_field_counted(at.v.cell, (uint64_t)i),
                   !cell_field_counted(at.g.cell, (uint64_t)i)};
      if (part.type->kind == TY_ERROR) ok = vm_out_of_memory(s);
      VEC_PUSH(&todo, part);
    }
  }
  ok = ok && (!mem_exhausted(s->mem) || vm_out_of_memory(s));
  VEC_DONE(&todo);
  return ok;
}

/* --- Rules -------------------------------------------------------------- */

Value sweep_argument(Sweep *w, const Type *type, Value v) {
  Session *s = w->s;
  if (!w->dual && is_dual(v)) {
    Value tensor = {.tensor = (Tensor *)dual_tensor(v)};
    obj_keep(tensor.obj);
    obj_drop(&s->store, v.obj);
    v = tensor;
  }
  bool boxed = w->dual && type_is_float_scalar(type);
  if (!type_is_scalar(type) || boxed) return v;
  Value bits = tensor_bits_at(v.tensor, 0);
  tensor_drop(&s->store.heap, v.tensor);
  return bits;
}

/* Several of them as one tuple, of which each reference is taken. */
static bool tuple_argument(Sweep *w, const Type *type, Value *fields,
                           Value *out) {
  Session *s = w->s;
  int n = type->count;
  for (int i = 0; i < n; i++)
    fields[i] = sweep_argument(w, type->args[i], fields[i]);
  return dual_cell(s, 0, n, type->args, w->dual, fields, out);
}

/* The result's adjoint, which nobody needs afterwards, or zeros where nothing
 * depends on it. */
static bool result_adjoint(Sweep *w, Adjoint *a, int i, Value like,
                           Value *out) {
  Session *s = w->s;
  Part *part = &a->of[i];
  if (part->form != SUM_ZERO) {
    if (!part_box(s, part)) return false;
    *out = part->sum;
    part->form = SUM_ZERO;
    return true;
  }
  const Tensor *t = dual_tensor(like);
  out->tensor =
      tensor_zeros(&s->store.heap, (DType)t->dtype, t->rank, t->shape);
  return out->tensor || vm_out_of_memory(s);
}

bool sweep_invoke(Sweep *w, Function *f, Value *window, Value *result) {
  Session *s = w->s;
  Value *regs = s->regs;
  *s->frame_top++ = (Frame){w->pc + 2, regs};
  s->regs = s->left;
  if (!vm_call(s, f, window, s->entry + 2)) {
    s->frame_top--;
    s->regs = regs;
    s->pc = w->pc;
    return false;
  }
  if (!session_loop(s)) return false;
  s->frame_top--;
  s->regs = regs;
  s->pc = w->pc;
  *result = s->left[0];
  return true;
}

bool sweep_drop_arguments(Session *s, const Function *f, Value *window,
                          int count) {
  for (int i = 0; i < count; i++)
    if (f->params[i] == PARAM_OWNED) obj_drop(&s->store, window[i].obj);
  return false;
}

/* The operands that the rule names into the window; false without memory. */
static bool put_arguments(Sweep *w, Adjoint *a, const struct Derivative *d,
                          Value *window, int *count) {
  Value *f = cell_fields(a->record);
  int n = (int)(f[RECORD_COUNTS].bits >> 32), m = a->count, at = 0;
  const Global *g = d->plain->key.global;
  *count = 0;
  for (int i = 0; i < d->group_count; i++) {
    bool tuple = d->groups[i] != GROUP_SINGLE;
    int fields = group_fields(d->groups[i]);
    if (d->uses >> i & 1) {
      const Type *type = g->type->args[*count];
      Value *kept = &f[RECORD_ARGS + 2 * n + at], v = *kept;
      for (int k = 0; k < fields; k++) obj_keep(kept[k].obj);
      if (tuple) {
        Value parts[fields];
        memcpy(parts, kept, (size_t)fields * sizeof *parts);
        if (!tuple_argument(w, type, parts, &v)) return false;
      } else {
        v = sweep_argument(w, type, v);
      }
      window[(*count)++] = v;
    }
    at += fields;
  }
  Value parts[m];
  Value *outs = &f[RECORD_ARGS + 3 * n];
  if (d->keeps_value) {
    const Type *type = g->type->args[*count];
    for (int i = 0; i < m; i++) obj_keep(outs[i].obj);
    memcpy(parts, outs, (size_t)m * sizeof *parts);
    if (type->kind != TY_TUPLE)
      window[*count] = sweep_argument(w, type, parts[0]);
    else if (!tuple_argument(w, type, parts, &window[*count])) return false;
    (*count)++;
  }
  const Type *type = g->type->args[*count];
  for (int i = 0; i < m; i++)
    if (!result_adjoint(w, a, i, outs[i], &parts[i])) return false;
  if (type->kind != TY_TUPLE)
    window[*count] = sweep_argument(w, type, parts[0]);
  else if (!tuple_argument(w, type, parts, &window[*count])) return false;
  (*count)++;
  return true;
}

Value sweep_field(Session *s, const Cell *from, int i, const Type *type) {
  Value v = cell_fields((Cell *)from)[i];
  if (cell_field_counted(from, (uint64_t)i)) obj_keep(v.obj);
  else v.tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, v);
  return v;
}

/* Adds one field of the rule's result to the adjoint of flat operand `at`.  A
 * pair (a, b) stands for a' b, or where a is of integers for zeros with b added
 * to the rows a. */
static bool add_part(Sweep *w, Cell *r, int n, int at, const Type *type,
                     const Cell *from, int i) {
  Session *s = w->s;
  Value *f = cell_fields(r);
  Cell *input = f[RECORD_ARGS + at].cell;
  uint64_t index = f[RECORD_ARGS + n + at].bits;
  if (!input) return true;
  if (type->kind == TY_TUPLE) {
    const Cell *pair = cell_fields((Cell *)from)[i].cell;
    Value a = sweep_field(s, pair, 0, type->args[0]);
    Value b = sweep_field(s, pair, 1, type->args[1]);
    if (dtype_is_float((DType)type->args[0]->dtype))
      return sweep_add_product(w, input, index, a, b);
    return add_rows(w, input, index, a, b, f[RECORD_ARGS + 2 * n + at]);
  }
  Value v = sweep_field(s, from, i, type);
  if (!v.obj) return vm_out_of_memory(s);
  return add(w, input, index, v, f[RECORD_ARGS + 2 * n + at]);
}

/* A field of the rule's result for each operand; () where it has no adjoint.
 * Operands that hold attributes have no field. */
static bool add_parts(Sweep *w, Cell *r, const struct Derivative *d,
                      const Cell *result) {
  int n = (int)(cell_fields(r)[RECORD_COUNTS].bits >> 32), at = 0;
  for (int i = 0; i < d->group_count; i++) {
    bool tuple = d->groups[i] != GROUP_SINGLE;
    int fields = group_fields(d->groups[i]);
    const Type *type = i < d->result->count ? d->result->args[i] : NULL;
    bool none = !type || (type->kind == TY_TUPLE && type->count == 0);
    const Cell *from =
        tuple && !none ? cell_fields((Cell *)result)[i].cell : result;
    for (int k = 0; !none && k < fields; k++)
      if (!add_part(w, r, n, at + k, tuple ? type->args[k] : type, from,
                    tuple ? k : i))
        return false;
    at += fields;
  }
  return true;
}

/* --- Rules of one's own ------------------------------------------------- */

/* The adjoint of a value, leaf by leaf; `data` is where the next stands. */
typedef struct Next {
  Adjoint *of;
  int at;
} Next;

static bool leaf_given(Walk *walk, const Type *type, Value v, bool bits,
                       Value *out) {
  Next *next = walk->data;
  Session *s = walk->s;
  Part *part = &next->of->of[next->at++];
  (void)type;
  (void)bits;
  if (!part_box(s, part)) return false;
  if (part->form == SUM_OBJECT) {
    obj_keep(part->sum.obj);
    *out = part->sum;
    return true;
  }
  const Tensor *t = dual_tensor(v);
  out->tensor =
      tensor_zeros(&s->store.heap, (DType)t->dtype, t->rank, t->shape);
  return out->tensor || vm_out_of_memory(s);
}

static bool is_object(const Type *t) {
  return type_is_counted(t) || type_is_float_scalar(t);
}

/* The rule runs as differentiated code, whatever the sweep does: its closure
 * may have been made in such code. */
static bool sweep_custom(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  Value *f = cell_fields(a->record), *kept = &f[RECORD_ARGS];
  const Type *type = (const Type *)(uintptr_t)f[RECORD_RULE].bits;
  int n = type->count, made = 0;
  Function *rule = vm_dual_function(s, kept[0].cell);
  Value *window = s->regs + w->pc->c, result;
  if (window + n + 4 >= s->stack_end)
    return vm_fault(s, E0702, "recursion too deep: no room for a rule");
  bool ok = true;
  for (; ok && made <= n; made++) {
    const Type *t = made < n ? type->args[made] : type->result;
    Value v = kept[made + 1];
    if (!is_object(t)) window[made] = v;
    else ok = dual_copy_upto(s, t, v, false, w->level - 1, &window[made]);
  }
  Next next = {.of = a};
  Walk walk = {.s = s, .leaf = leaf_given, .dual = true, .data = &next};
  if (ok)
    ok = walk_copy(&walk, type->result, kept[n + 1], false, &window[made]);
  if (!ok)
    return sweep_drop_arguments(s, rule, window, made > 0 ? made - 1 : 0);
  window[++made] = kept[0];
  if (rule->nparams > (uint32_t)made) obj_keep(kept[0].obj);
  if (!sweep_invoke(w, rule, window, &result)) return false;
  for (int i = 0; ok && i < n; i++) {
    const Type *t = type->args[i];
    if (!is_object(t) || t->kind == TY_FN || t->kind == TY_REF) continue;
    ok = seed(w, (Both){t, kept[i + 1], cell_fields(result.cell)[i], false,
                        !cell_field_counted(result.cell, (uint64_t)i)});
  }
  obj_drop(&s->store, result.obj);
  return ok;
}

/* Where the operator stands that has no rule here.  Always false. */
static bool no_rule(Session *s, const OpSite *site, GradientStatus status) {
  const char *name = site->op->name;
  if (status == GRADIENT_UNKNOWN)
    vm_fault_at(s, site->span, E0609,
                "`%s` cannot be differentiated here: its attributes must be "
                "known before the program runs",
                name);
  else if (status == GRADIENT_NONE)
    vm_fault_at(s, site->span, E0609, "`%s` has no derivative, because %s",
                name,
                site->op->no_gradient ? site->op->no_gradient
                                      : "it was called without an operand");
  else
    vm_fault_at(s, site->span, E0609,
                "the rule of differentiation of `%s` does not fit these "
                "operands",
                name);
  diag_hint(s->fault, "where no gradient is wanted: stop_gradient(...)");
  return false;
}

/* The computed attribute of a record's operator that depends on what is
 * differentiated, of which rules say nothing; or NULL. */
static const AttrSpec *varying_attr(const Value *record, const OpSite *site,
                                    const struct Derivative *d) {
  const OpInfo *op = site->op;
  for (int k = 0; site->places && k < op->attr_count; k++) {
    int operand = site->attrs->values[k].operand, at = RECORD_ARGS;
    for (int i = 0; i < operand; i++) at += group_fields(d->groups[i]);
    if (operand >= 0 && record[at].cell) return &op->attrs[k];
  }
  return NULL;
}

static bool sweep_record(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  Value *f = cell_fields(a->record);
  if (a->record->obj.tag == RECORD_OF_STRETCH) return sweep_stretch(w, a);
  const OpSite *site = (const OpSite *)(uintptr_t)f[RECORD_SITE].bits;
  if (!site) return !f[RECORD_RULE].bits || sweep_custom(w, a);
  int count;
  const struct Derivative *d =
      (const struct Derivative *)(uintptr_t)f[RECORD_RULE].bits;
  if (d->status != GRADIENT_OK) return no_rule(s, site, d->status);
  const AttrSpec *attr = varying_attr(f, site, d);
  if (attr) {
    vm_fault_at(s, site->span, E0609,
                "`%s` has no derivative with respect to its attribute `%s`",
                site->op->name, attr_name_text(attr->name));
    diag_hint(s->fault,
              "where the value is meant as a constant: "
              "stop_gradient(...)");
    return false;
  }
  Function *rule = w->dual ? d->dual : d->plain;
  Value *window = s->regs + w->pc->c, result;
  if (!put_arguments(w, a, d, window, &count))
    return sweep_drop_arguments(s, rule, window, count);
  if (!sweep_invoke(w, rule, window, &result)) return false;
  bool ok = add_parts(w, a->record, d, result.cell);
  obj_drop(&s->store, result.obj);
  return ok;
}

/* --- Collecting --------------------------------------------------------- */

static bool leaf_adjoint(Walk *walk, const Type *type, Value v, bool bits,
                         Value *out) {
  Sweep *w = walk->data;
  Session *s = w->s;
  if (type->kind == TY_FN || type->kind == TY_REF)
    return vm_fault(s, E0612,
                    "a gradient has no place for the %s inside this argument",
                    type->kind == TY_FN ? "function" : "cell");
  Value g = {.bits = 0};
  bool varies = type->kind == TY_TENSOR && dtype_is_float((DType)type->dtype);
  if (varies && !bits && is_dual(v) &&
      record_level(dual_record(v)) == w->level) {
    Adjoint *a = adjoint_known(w, dual_record(v));
    Part *part = a ? &a->of[dual_index(v)] : NULL;
    if (part && !part_box(s, part)) return false;
    if (part && part->form == SUM_OBJECT) g = part->sum;
  }
  bool as_bits = type_is_scalar(type) && !(walk->dual && varies);
  if (g.obj) {
    Value shown = g;
    if (!walk->dual) shown.tensor = (Tensor *)dual_tensor(g);
    if (!as_bits) obj_keep(shown.obj);
    *out = as_bits ? tensor_bits_at(shown.tensor, 0) : shown;
    return true;
  }
  if (as_bits) {
    out->bits = 0;
    return true;
  }
  const Tensor *t = bits ? NULL : dual_tensor(v);
  out->tensor = tensor_zeros(&s->store.heap, (DType)type->dtype,
                             t ? t->rank : 0, t ? t->shape : NULL);
  return out->tensor || vm_out_of_memory(s);
}

static bool collect(Sweep *w, const Type *type, Cell *tape, Value *out) {
  Session *s = w->s;
  int n = type->count, made = 0;
  Value *fields = mem_alloc(s->mem, ((size_t)n + 1) * sizeof *fields);
  const Type **types = mem_alloc(s->mem, ((size_t)n + 1) * sizeof *types);
  bool ok = fields && types;
  if (!ok) vm_out_of_memory(s);
  Walk walk = {.s = s,
               .leaf = leaf_adjoint,
               .dual = w->dual,
               .all_leaves = true,
               .data = w};
  for (; ok && made < n; made++) {
    const Type *t = type->args[made];
    bool none = t->kind == TY_FN || t->kind == TY_REF;
    types[made] = none ? type_unit(s->code->program->types) : t;
    int at = TAPE_INPUTS + made;
    if (none) {
      pthread_mutex_lock(&s->code->lock);
      fields[made].cell = shared_nullary(&s->code->shared, 0);
      pthread_mutex_unlock(&s->code->lock);
      continue;
    }
    ok = walk_copy(&walk, t, cell_fields(tape)[at],
                   !cell_field_counted(tape, (uint64_t)at), &fields[made]);
    if (!ok) break;
  }
  if (ok) ok = dual_cell(s, 0, n, types, w->dual, fields, out);
  else
    for (int i = 0; fields && types && i < made; i++)
      if (type_is_counted(types[i]) ||
          (w->dual && type_is_float_scalar(types[i])))
        obj_drop(&s->store, fields[i].obj);
  if (fields) mem_free(s->mem, fields, ((size_t)n + 1) * sizeof *fields);
  if (types) mem_free(s->mem, types, ((size_t)n + 1) * sizeof *types);
  return ok;
}

/* The record may be freed with it. */
static void adjoint_done(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  for (int k = 0; k < a->count; k++) {
    if (a->of[k].form == SUM_OBJECT) obj_drop(&s->store, a->of[k].sum.obj);
    drop_rows(s, &a->of[k]);
  }
  set_adjoint(a->record, a->outer);
  obj_drop(&s->store, &a->record->obj);
  pool_free(&s->store.heap.pool, a, adjoint_size(a->count));
}

/* Drops what a record refers to, of a tape that will not be swept again: so
 * what the sweep has left behind is free while it goes on. */
static void release(Session *s, Cell *record) {
  Value *f = cell_fields(record);
  uint64_t n = cell_count(record);
  for (uint64_t i = RECORD_ARGS; i < n; i++) {
    if (!cell_field_counted(record, i)) continue;
    Obj *o = f[i].obj;
    clear_field(record, (int)i);
    obj_drop(&s->store, o);
  }
}

static void sweep_done(Sweep *w) {
  for (size_t i = 0; i < w->heap.len; i++) adjoint_done(w, w->heap.data[i]);
  for (size_t i = 0; i < w->inputs.len; i++) adjoint_done(w, w->inputs.data[i]);
  VEC_DONE(&w->heap);
  VEC_DONE(&w->inputs);
}

/* Sweeps the latest record. */
static bool sweep_next(Sweep *w, bool last) {
  Session *s = w->s;
  if (!VEC_RESERVE(&w->inputs, 1)) return vm_out_of_memory(s);
  Adjoint *a = heap_pop(w);
  const Value *f = cell_fields(a->record);
  bool inner = f[RECORD_SITE].bits || f[RECORD_RULE].bits, ok = true;
  for (int k = 0; ok && k < a->count; k++) ok = settle(s, &a->of[k]);
  if (!inner) VEC_PUSH(&w->inputs, a);
  if (!inner) return ok;
  ok = ok && sweep_record(w, a);
  if (ok && last) release(s, a->record);
  adjoint_done(w, a);
  return ok;
}

/* A rule that fails unwinds all frames, those that hold the tape too: the sweep
 * has a reference of its own. */
bool vm_pull(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  const uint16_t *list = ins_list(pc);
  Cell *tape = s->regs[list[0]].cell;
  Value *t = cell_fields(tape);
  bool last = obj_unshared(&tape->obj);
  obj_keep(&tape->obj);
  Sweep w = {
      .s = s, .level = (int)(t[TAPE_LEVEL].bits >> 1), .dual = pc->b, .pc = pc};
  VEC_INIT(&w.heap, s->mem);
  VEC_INIT(&w.inputs, s->mem);
  const Type *r = type->result;
  bool varies = type_is_float_scalar(r);
  bool bits = type_is_scalar(r) && !(w.dual && varies);
  bool ok = seed(&w, (Both){r, t[TAPE_VALUE], s->regs[list[1]],
                            type_is_scalar(r) && !varies, bits});
  while (ok && w.heap.len) ok = sweep_next(&w, last);
  Value result;
  if (ok) ok = collect(&w, type, tape, &result);
  sweep_done(&w);
  obj_drop(&s->store, &tape->obj);
  if (ok) s->regs[pc->a] = result;
  return ok;
}
