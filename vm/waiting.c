/* What a rule gives as a product a' b waits, with all others for the same
 * tensor, until the sweep comes to that tensor's record: one product sums over
 * all rows then, upward in the order of making, where they lie (kernels/rows.h)
 * or, of Duals and other dtypes, joined.
 *
 * The list of what waits begins with the first in that order, which came last.
 * Where memory is short, the rows of a region (checkpoint.h) are dropped when
 * it has been swept, and the region stands in the list instead:
 *
 *   rows -> rows -> region -> region -> ... -> region -> rows
 *
 * The sum then goes along the list, from the first rows on; each region is
 * swept again when its turn comes (swept.c).  The sum is the same chain of
 * roundings, and of all dropped rows those of one region are there at a time.
 */
#include "vm/sweep.h"

#include "kernels/rows.h"

#include <string.h>

/* --- Sides --------------------------------------------------------------- */

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
      if (count > 1 && !sweep_apply(s, ADJOINT_JOIN, count, v + i, 0, &all)) {
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

/* Of the rows from `rows` up to `end`. */
static bool side_start(Session *s, const Rows *rows, const Rows *end,
                       bool second, Side *side) {
  *side = (Side){.plain = true};
  for (const Rows *r = rows; r != end; r = r->next) side->count++;
  side->of = mem_alloc(s->mem, side_size(side));
  if (!side->of) return vm_out_of_memory(s);
  side->blocks = (const Tensor **)(side->of + side->count);
  size_t i = 0;
  for (const Rows *r = rows; r != end; r = r->next, i++) {
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

/* --- All that waits, at once --------------------------------------------- */

/* Do the kernels take these rows where they lie? */
static bool fit_kernels(const Session *s, const Side *a, const Side *b) {
  return !session_shows_kernels(s) && a->count > 1 && a->plain &&
         row_blocks_fit(blocks_of(a)) &&
         (!b || (b->plain && row_blocks_fit(blocks_of(b))));
}

static bool add_blocks(Session *s, const Side *a, const Side *b, Value *out) {
  OpCall call = vm_op_call(s, NULL, 0, NULL);
  RowsSum sum = {0};
  if (b) out->tensor = rows_product(&call, NULL, blocks_of(a), blocks_of(b));
  else if (rows_sum_add(&call, &sum, blocks_of(a)))
    out->tensor = rows_sum_end(call.heap, &sum);
  else out->tensor = NULL;
  if (sum.parts) tensor_drop(call.heap, sum.parts);
  return out->tensor || vm_op_failed(s, NULL, &call);
}

static bool add_joined(Session *s, const Side *a, const Side *b, Value *out) {
  Value both[2];
  if (!join_side(s, a, &both[0])) return false;
  bool ok = !b ? sweep_apply(s, ADJOINT_SUM, 1, both, 0, out)
               : join_side(s, b, &both[1]);
  if (ok && b) {
    ok = sweep_apply(s, ADJOINT_PRODUCT, 2, both, 0, out);
    obj_drop(&s->store, both[1].obj);
  }
  obj_drop(&s->store, both[0].obj);
  return ok;
}

/* The product of what stands in the two sides, or the sum of a's rows. */
static bool add_up(Session *s, const Side *a, const Side *b, Value *out) {
  return (fit_kernels(s, a, b) ? add_blocks : add_joined)(s, a, b, out);
}

/* Takes what stands there out of the list. */
static void drop_at(Session *s, Rows **at) {
  Rows *r = *at;
  *at = r->next;
  if (r->again) swept_drop(s, r->again);
  if (r->a.obj) obj_drop(&s->store, r->a.obj);
  if (r->b.obj) obj_drop(&s->store, r->b.obj);
  pool_free(&s->store.heap.pool, r, sizeof *r);
}

static void drop_first(Session *s, Part *part) { drop_at(s, &part->rows); }

void rows_drop(Session *s, Part *part) {
  while (part->rows) drop_first(s, part);
}

static bool has_gaps(const Part *part) {
  for (const Rows *r = part->rows; r; r = r->next)
    if (r->again) return true;
  return false;
}

bool part_settle(Session *s, Part *part) {
  if (!part->rows) return true;
  if (has_gaps(part)) return parts_settle(s, 1, &part);
  Side a, b = {0};
  Value total;
  const OpSite *of = part->rows->of;
  bool sums = !part->rows->b.obj;
  bool ok = side_start(s, part->rows, NULL, false, &a) &&
            (sums || side_start(s, part->rows, NULL, true, &b)) &&
            add_up(s, &a, sums ? NULL : &b, &total);
  side_done(s, &a);
  side_done(s, &b);
  rows_drop(s, part);
  return (ok && part_add(s, part, total)) || sweep_blame(s, of);
}

/* --- With rows that were dropped ----------------------------------------- */

/* What has been added up of the rows that wait for one tensor, from the first
 * in the order of making on. */
typedef struct Total {
  Part *part;
  const OpSite *of;
  Tensor *product; /* of pairs; or NULL */
  RowsSum sum;     /* of single rows */
} Total;

/* Adds the rows of `from`, of which none was dropped, up to `end`. */
static bool fold(Session *s, Total *t, const Rows *from, const Rows *end) {
  if (from == end) return true;
  OpCall call = vm_op_call(s, NULL, 0, NULL);
  Side a, b = {0};
  bool sums = !from->b.obj;
  t->of = from->of;
  bool ok = side_start(s, from, end, false, &a) &&
            (sums || side_start(s, from, end, true, &b));
  if (ok && sums) {
    ok = rows_sum_add(&call, &t->sum, blocks_of(&a)) ||
         vm_op_failed(s, NULL, &call);
  } else if (ok) {
    t->product = rows_product(&call, t->product, blocks_of(&a), blocks_of(&b));
    ok = t->product || vm_op_failed(s, NULL, &call);
  }
  side_done(s, &a);
  side_done(s, &b);
  return ok;
}

/* Adds the rows before the first that were dropped. */
static bool fold_first(Session *s, Total *t) {
  const Rows *end = t->part->rows;
  while (end && !end->again) end = end->next;
  bool ok = fold(s, t, t->part->rows, end);
  while (ok && t->part->rows != end) drop_first(s, t->part);
  return ok;
}

/* The rows that `w`, which has swept a region again, found for the tensor. */
static Part *found_by(const Sweep *w, uint64_t order, uint64_t index) {
  for (size_t i = 0; i < w->heap.len; i++)
    if (record_order(w->heap.data[i]->record) == order)
      return &w->heap.data[i]->of[index];
  return NULL;
}

/* Sweeps a region again and adds the rows of it that begin what waits. */
static bool fold_region(Session *s, SweptRegion *again, size_t n, Total *all) {
  Sweep w;
  swept_keep(again);
  bool ok = swept_again(again, &w);
  for (size_t i = 0; ok && i < n; i++) {
    const Rows *gap = all[i].part->rows;
    if (!gap || gap->again != again) continue;
    Part *found = found_by(&w, gap->order, gap->index);
    if (found) ok = fold(s, &all[i], found->rows, NULL);
    if (ok) drop_first(s, all[i].part);
  }
  sweep_done(&w);
  swept_drop(s, again);
  return ok;
}

/* The first of the regions that have to be swept again now; or NULL. */
static SweptRegion *first_region(size_t n, const Total *all) {
  SweptRegion *first = NULL;
  for (size_t i = 0; i < n; i++) {
    const Rows *r = all[i].part->rows;
    if (r && (!first || swept_before(r->again, first))) first = r->again;
  }
  return first;
}

static bool fold_all(Session *s, size_t n, Total *all) {
  for (;;) {
    for (size_t i = 0; i < n; i++)
      if (!fold_first(s, &all[i])) return sweep_blame(s, all[i].of);
    SweptRegion *again = first_region(n, all);
    if (!again) return true;
    if (!fold_region(s, again, n, all)) return false;
  }
}

/* Makes the total part of the sum, or with `ok` false frees it. */
static bool total_end(Session *s, Total *t, bool ok) {
  Heap *heap = &s->store.heap;
  Value v = {.tensor = t->product};
  if (ok && t->sum.parts) {
    v.tensor = rows_sum_end(heap, &t->sum);
    if (!v.tensor) ok = vm_out_of_memory(s);
  }
  if (t->sum.parts) tensor_drop(heap, t->sum.parts);
  if (ok && v.tensor) return part_add(s, t->part, v);
  if (v.tensor) tensor_drop(heap, v.tensor);
  return ok;
}

bool parts_settle(Session *s, size_t n, Part *const *parts) {
  size_t bytes = (n + 1) * sizeof(Total), count = 0;
  Total *all = mem_alloc(s->mem, bytes);
  bool ok = all || vm_out_of_memory(s);
  for (size_t i = 0; ok && i < n; i++)
    if (has_gaps(parts[i])) all[count++] = (Total){.part = parts[i]};
    else ok = part_settle(s, parts[i]);
  ok = ok && fold_all(s, count, all);
  for (size_t i = 0; i < count; i++) ok = total_end(s, &all[i], ok);
  if (all) mem_free(s->mem, all, bytes);
  return ok;
}

/* --- As they are ---------------------------------------------------------- */

/* Puts the rows of a region in its place, all of the list that begins there. */
static bool fill_gap(Session *s, Rows **at) {
  Rows *gap = *at;
  SweptRegion *again = swept_keep(gap->again);
  Sweep w;
  bool ok = swept_again(again, &w);
  Part *found = ok ? found_by(&w, gap->order, gap->index) : NULL;
  Rows **end = at;
  if (found && found->rows) {
    *at = found->rows;
    found->rows = NULL;
    while (*end) end = &(*end)->next;
    *end = gap;
  }
  if (ok) drop_at(s, end);
  sweep_done(&w);
  swept_drop(s, again);
  return ok;
}

static bool fill_gaps(Session *s, Part *part) {
  for (Rows **at = &part->rows; *at;)
    if (!(*at)->again) at = &(*at)->next;
    else if (!fill_gap(s, at)) return false;
  return true;
}

static bool take_side(Session *s, const Part *part, bool second, Value *out) {
  Side side;
  bool ok = side_start(s, part->rows, NULL, second, &side) &&
            join_side(s, &side, out);
  side_done(s, &side);
  return ok;
}

int part_take_rows(Session *s, Part *part, Value sides[2]) {
  if (!fill_gaps(s, part)) return 0;
  const OpSite *of = part->rows->of;
  int count = part->rows->b.obj ? 2 : 1;
  bool ok = take_side(s, part, false, &sides[0]);
  if (ok && count == 2) {
    ok = take_side(s, part, true, &sides[1]);
    if (!ok) obj_drop(&s->store, sides[0].obj);
  }
  rows_drop(s, part);
  if (!ok) sweep_blame(s, of);
  return ok ? count : 0;
}

/* --- Rows of the region that is swept ------------------------------------ */

void part_seal(Part *part) {
  if (!part->rows) return;
  part->rows->sealed = true;
  part->rows->room = 0;
}

static bool is_fresh(const Rows *r) { return r && !r->sealed && !r->again; }

static bool is_rows(Value v) {
  return !is_dual(v) &&
         row_blocks_fit((RowBlocks){1, (const Tensor *[]){v.tensor}});
}

static size_t matrix_bytes(const Tensor *t) {
  return (size_t)(t->shape[0] * t->shape[1]) * dtype_size((DType)t->dtype);
}

size_t part_fresh_bytes(const Part *part) {
  size_t bytes = 0;
  for (const Rows *r = part->rows; is_fresh(r); r = r->next) {
    if (!is_rows(r->a) || (r->b.obj && !is_rows(r->b))) return 0;
    bytes += matrix_bytes(r->a.tensor);
    if (r->b.obj) bytes += matrix_bytes(r->b.tensor);
  }
  return bytes;
}

bool part_forget_fresh(Session *s, Part *part, SweptRegion *again,
                       uint64_t order, uint64_t index) {
  Rows *gap = pool_alloc(&s->store.heap.pool, sizeof *gap);
  if (!gap) return vm_out_of_memory(s);
  while (is_fresh(part->rows)) drop_first(s, part);
  *gap = (Rows){.next = part->rows,
                .again = swept_keep(again),
                .order = order,
                .index = index};
  part->rows = gap;
  return true;
}

/* --- Rows that come ------------------------------------------------------ */

/* A step's rows are often one or a few: a matrix of their own for each would
 * cost more memory than they do, and the product more time to walk over.  So
 * from the second on small ones are gathered, in blocks of as many rows as have
 * been gathered before. */
enum { GATHERED_BYTES = 4 << 10, BLOCK_LEAST = 8, BLOCK_MOST = 64 };

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

/* Without `copies` the elements are there already. */
static void put_before(Tensor *block, const Tensor *rows, bool copies) {
  size_t bytes = matrix_bytes(rows);
  block->data -= bytes;
  block->shape[0] += rows->shape[0];
  if (copies) memcpy(block->data, rows->data, bytes);
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

/* A block that is empty up to where another part has put these rows: the same
 * memory. */
static Value following_block(Session *s, const Gathered *last) {
  int64_t shape[] = {0, last->block->shape[1]};
  int64_t end = last->rows->shape[0] * shape[1];
  return (Value){
      .tensor = tensor_view(&s->store.heap, last->block, 2, shape, NULL, end)};
}

/* Has another part put the rows where this block wants them? */
static bool is_followed(const Tensor *block, const Tensor *rows,
                        const Gathered *last) {
  return last->rows == rows && last->block->buffer == block->buffer &&
         last->block->data == block->data - matrix_bytes(rows);
}

/* A block for rows like these, which it does not take. */
static bool open_block(Session *s, Part *to, Value a, Value b,
                       const Gathered *last) {
  bool follows = last->rows == a.tensor;
  int64_t room = 2 * value_tensor(to->rows->a)->shape[0];
  if (room < BLOCK_LEAST) room = BLOCK_LEAST;
  if (room > BLOCK_MOST) room = BLOCK_MOST;
  if (follows) room = last->room + a.tensor->shape[0];
  Value left =
      follows ? following_block(s, last) : empty_block(s, a.tensor, room);
  Value right = {.bits = 0};
  if (!left.obj) return vm_out_of_memory(s);
  if (b.obj) right = empty_block(s, b.tensor, room);
  if (!b.obj || right.obj) {
    bool ok = rows_push(s, to, left, right, room);
    if (ok) to->rows->follows = follows;
    return ok;
  }
  obj_drop(&s->store, left.obj);
  return vm_out_of_memory(s);
}

/* Has the first block room for the rows?  One that follows has none for rows
 * that the other part did not get. */
static bool has_room(const Rows *first, const Tensor *rows,
                     const Gathered *last) {
  return first->room >= rows->shape[0] &&
         (!first->follows || is_followed(first->a.tensor, rows, last));
}

bool part_add_product(Session *s, Part *to, Value a, Value b, Gathered *last) {
  bool gathers = to->rows && !to->rows->again && is_gathered(a) &&
                 (!b.obj || is_gathered(b));
  if (!gathers) return rows_push(s, to, a, b, 0);
  bool ok = has_room(to->rows, a.tensor, last) || open_block(s, to, a, b, last);
  if (ok) {
    Rows *first = to->rows;
    put_before(first->a.tensor, a.tensor, !first->follows);
    if (b.obj) put_before(first->b.tensor, b.tensor, true);
    first->room -= a.tensor->shape[0];
    *last = (Gathered){a.tensor, first->a.tensor, first->room};
  }
  obj_drop(&s->store, a.obj);
  if (b.obj) obj_drop(&s->store, b.obj);
  return ok;
}
