/* Adjoints while a sweep is under way: the queue of records that have one, by
 * the order of making, and the sums.
 *
 * Adjoints are added in the order in which the sweep meets them.  What a rule
 * gives as a product a' b waits, with all others for the same tensor, until the
 * sweep comes to that tensor's record: one product sums over all rows then,
 * upward in the order of making, where they lie (kernels/rows.h) or, of Duals
 * and other dtypes, joined. */
#include "vm/sweep.h"

#include "kernels/rows.h"

#include <string.h>

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

Adjoint *sweep_pop(Sweep *w) {
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
  const Tensor **blocks; /* the same, where none is a Dual */
  bool plain;            /* none is a Dual */
} Side;

/* Both arrays are one block. */
static size_t side_size(const Side *side) {
  return side->count * (sizeof *side->of + sizeof *side->blocks);
}

static bool side_start(Session *s, const Rows *rows, bool second, Side *side) {
  *side = (Side){.plain = true};
  for (const Rows *r = rows; r; r = r->next) side->count++;
  side->of = mem_alloc(s->mem, side_size(side));
  if (!side->of) return vm_out_of_memory(s);
  side->blocks = (const Tensor **)(side->of + side->count);
  size_t i = 0;
  for (const Rows *r = rows; r; r = r->next, i++) {
    side->of[i] = second ? r->b : r->a;
    side->blocks[i] = side->of[i].tensor;
    side->plain &= !is_dual(side->of[i]);
  }
  return true;
}

static void side_done(Session *s, Side *side) {
  if (side->of) mem_free(s->mem, side->of, side_size(side));
}

/* One below the other. */
static bool join_side(Session *s, const Side *side, Value *out) {
  for (size_t i = 0; i < side->count; i++) obj_keep(side->of[i].obj);
  return join(s, side->count, side->of, out);
}

/* A plain side as blocks of rows. */
static RowBlocks blocks_of(const Side *side) {
  return (RowBlocks){(int64_t)side->count, side->blocks};
}

/* Multiplies or sums rows where they lie; `*fits` is false where the kernels
 * for that do not take these tensors. */
static bool add_blocks(Session *s, const Side *a, const Side *b, bool *fits,
                       Value *out) {
  OpCall call = {.heap = &s->store.heap,
                 .stop = &s->store.stop,
                 .threads = s->limits.threads,
                 .crowd = &s->crowd};
  *fits = !session_shows_kernels(s) && a->count > 1 && a->plain &&
          row_blocks_fit(blocks_of(a)) &&
          (!b || (b->plain && row_blocks_fit(blocks_of(b))));
  if (!*fits) return true;
  RowsSum sum = {0};
  if (b) out->tensor = rows_product(&call, NULL, blocks_of(a), blocks_of(b));
  else if (rows_sum_add(&call, &sum, blocks_of(a)))
    out->tensor = rows_sum_end(call.heap, &sum);
  else out->tensor = NULL;
  if (sum.parts) tensor_drop(call.heap, sum.parts);
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

bool part_settle(Session *s, Part *part) {
  if (!part->rows) return true;
  Side a, b = {0};
  Value total;
  const OpSite *of = part->rows->of;
  bool sums = !part->rows->b.obj;
  bool ok = side_start(s, part->rows, false, &a) &&
            (sums || side_start(s, part->rows, true, &b)) &&
            add_up(s, &a, sums ? NULL : &b, &total);
  side_done(s, &a);
  side_done(s, &b);
  drop_rows(s, part);
  return (ok && add_sum(s, part, total)) || sweep_blame(s, of);
}

/* A step's rows are often one or a few: a matrix of their own for each would
 * cost more memory than they do, and the product more time to walk over.  So
 * from the second on small ones are gathered, in blocks of as many rows as have
 * been gathered before. */
enum { GATHERED_BYTES = 4 << 10, BLOCK_LEAST = 8, BLOCK_MOST = 64 };

static size_t matrix_bytes(const Tensor *t) {
  return (size_t)(t->shape[0] * t->shape[1]) * dtype_size((DType)t->dtype);
}

static bool is_gathered(Value v) {
  return !is_dual(v) && v.tensor->rank == 2 &&
         v.tensor->shape[0] <= BLOCK_LEAST &&
         matrix_bytes(v.tensor) <= GATHERED_BYTES &&
         tensor_is_contiguous(v.tensor);
}

/* A matrix without rows, but room for `rows` at its end. */
static Value empty_block(Session *s, const Tensor *like, int64_t rows) {
  int64_t shape[] = {rows, like->shape[1]};
  Value v;
  v.tensor = tensor_new(&s->store.heap, (DType)like->dtype, 2, shape);
  if (!v.tensor) return v;
  v.tensor->data += matrix_bytes(v.tensor);
  v.tensor->shape[0] = 0;
  return v;
}

static void put_before(Tensor *block, const Tensor *rows) {
  size_t bytes = matrix_bytes(rows);
  block->data -= bytes;
  block->shape[0] += rows->shape[0];
  memcpy(block->data, rows->data, bytes);
}

/* Puts a block before what waits; takes a and b. */
static bool rows_push(Session *s, Part *to, Value a, Value b, int64_t room) {
  Rows *r = pool_alloc(&s->store.heap.pool, sizeof *r);
  if (!r) {
    obj_drop(&s->store, a.obj);
    if (b.obj) obj_drop(&s->store, b.obj);
    return vm_out_of_memory(s);
  }
  *r = (Rows){.next = to->rows, .a = a, .b = b, .room = room};
  to->rows = r;
  return true;
}

/* A block for rows like these, which it does not take. */
static bool open_block(Session *s, Part *to, Value a, Value b) {
  int64_t room = 2 * dual_tensor(to->rows->a)->shape[0];
  if (room < BLOCK_LEAST) room = BLOCK_LEAST;
  if (room > BLOCK_MOST) room = BLOCK_MOST;
  Value left = empty_block(s, a.tensor, room), right = {.bits = 0};
  if (!left.obj) return vm_out_of_memory(s);
  if (b.obj) right = empty_block(s, b.tensor, room);
  if (!b.obj || right.obj) return rows_push(s, to, left, right, room);
  obj_drop(&s->store, left.obj);
  return vm_out_of_memory(s);
}

bool part_add_product(Session *s, Part *to, Value a, Value b) {
  bool gathers = to->rows && is_gathered(a) && (!b.obj || is_gathered(b));
  if (!gathers) return rows_push(s, to, a, b, 0);
  int64_t rows = a.tensor->shape[0];
  bool ok = to->rows->room >= rows || open_block(s, to, a, b);
  if (ok) {
    put_before(to->rows->a.tensor, a.tensor);
    if (b.obj) put_before(to->rows->b.tensor, b.tensor);
    to->rows->room -= rows;
  }
  obj_drop(&s->store, a.obj);
  if (b.obj) obj_drop(&s->store, b.obj);
  return ok;
}

bool sweep_add_product(Sweep *w, Cell *record, uint64_t index, Value a,
                       Value b) {
  Session *s = w->s;
  Adjoint *to = adjoint_of(w, record);
  if (to && !mem_exhausted(s->mem)) {
    bool ok = part_add_product(s, &to->of[index], a, b);
    if (ok) to->of[index].rows->of = w->site;
    return ok;
  }
  obj_drop(&s->store, a.obj);
  if (b.obj) obj_drop(&s->store, b.obj);
  return vm_out_of_memory(s);
}

static bool is_row_of(const Tensor *row, const Tensor *matrix) {
  return row->rank == 1 && matrix->rank == 2 &&
         row->shape[0] == matrix->shape[1];
}

bool sweep_add(Sweep *w, Cell *record, uint64_t index, Value v, Value like) {
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

bool sweep_add_rows(Sweep *w, Cell *record, uint64_t index, Value rows, Value g,
                    Value like) {
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

/* --- Ends ---------------------------------------------------------------- */

void part_clear(Session *s, Part *part) {
  if (part->form == SUM_OBJECT) obj_drop(&s->store, part->sum.obj);
  part->form = SUM_ZERO;
  drop_rows(s, part);
}

void adjoint_done(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  for (int k = 0; k < a->count; k++) part_clear(s, &a->of[k]);
  set_adjoint(a->record, a->outer);
  obj_drop(&s->store, &a->record->obj);
  pool_free(&s->store.heap.pool, a, adjoint_size(a->count));
}
