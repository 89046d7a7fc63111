/* Products over panels, in float32 and in 32-bit integers: the driver around
 * the tiles of the table in use, after Goto and van de Geijn, "Anatomy of
 * high-performance matrix multiplication" (2008).  From the outside in:
 *
 *   regions   threads take panels of b; where there are few, rows of a
 *   panels    64 columns of b, one after the other         (run_by_panels)
 *   parts     128 rows of a panel: 32 KiB, the first-level cache
 *   tiles     up to 6 rows of a by the part, sums in registers
 *
 * A part stays in the cache while every row of a is multiplied by it.  The
 * result holds the sums between parts, and each tile goes on from there, so
 * blocking changes no bit: a sum is one chain over k, however it is cut.
 *
 * The right operand comes from packed panels (kernels/pack.h), which are read
 * from end to end, or is copied part by part to a panel on the stack.  While a
 * part of packed panels is multiplied, the tiles fetch the next part into the
 * second-level cache.  Without that the first tile of each part would wait for
 * memory: for 32 rows one tile of six.
 *
 * Results that do not fill whole groups of 16 columns, or are strided, are
 * summed in a small copy.  Other dtypes are converted on the way in and out. */
#include "kernels/drive/product.h"

#include "kernels/drive/move.h"
#include "kernels/kernel.h"
#include "kernels/pack.h"
#include "kernels/parallel.h"
#include "kernels/ref/tile.h"

#include <string.h>

enum {
  BLOCK = 128,       /* rows of b in a part: 32 KiB with PANEL columns */
  BLOCK_LONG = 1024, /* in a long part: 256 KiB, the second level */
  ROWS_NEAR = 192,   /* rows of a, BLOCK_LONG wide, that fit beside it */
  ROWS_FAR = 1024,   /* the same in the third level */
  /* elements of a that may stay in the second: 256 KiB */
  ELEMENTS_NEAR = 1 << 16,
};

/* --- Copying panels from a matrix ---------------------------------------- */

/* For operands that are float or uint32_t, as `own` ones are. */
static float *element(const Matrix *x, int64_t row, int64_t column) {
  return (float *)x->data + row * x->row_step + column * x->column_step;
}

/* TILE_F32 for floats, TILE_U32 for all other dtypes. */
static TileType type_of(DType dtype) {
  return dtype_is_float(dtype) ? TILE_F32 : TILE_U32;
}

/* Is the dtype the type that sums are accumulated in? */
static bool is_own(DType dtype) {
  return dtype_info[dtype].form == FORM_PLAIN && dtype_size(dtype) == 4;
}

static char *address(const Matrix *x, int64_t row, int64_t column) {
  return x->data + (row * x->row_step + column * x->column_step) *
                       (int64_t)dtype_size(x->dtype);
}

static void load_run(DType dtype, const char *from, int64_t step, int64_t n,
                     float *to) {
  if (type_of(dtype) == TILE_F32) tile_load_f32(dtype, from, step, n, to);
  else tile_load_u32(dtype, from, step, n, (uint32_t *)to);
}

/* Converts a panel, running along b's contiguous axis if it has one.  Columns
 * go through `run`, since the panel's rows are contiguous, not its columns. */
static void convert_panel(const Matrix *b, int64_t k, int rows, int64_t n,
                          int columns, float *panel, int width) {
  float run[BLOCK];
  if (b->row_step != 1 || rows > BLOCK) {
    for (int i = 0; i < rows; i++)
      load_run(b->dtype, address(b, k + i, n), b->column_step, columns,
               panel + i * width);
    return;
  }
  for (int j = 0; j < columns; j++) {
    load_run(b->dtype, address(b, k, n + j), 1, rows, run);
    for (int i = 0; i < rows; i++)
      memcpy(panel + i * width + j, &run[i], sizeof *run);
  }
}

/* The rows of a wide matrix lie on as many pages, beyond which the processor
 * fetches nothing by itself, so each row is fetched before it is copied. */
static void copy_rows(const Matrix *b, int64_t k, int rows, int64_t n,
                      int columns, float *panel, int width) {
  enum { LATER = 8 }; /* rows from the one that is copied */
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns && i + LATER < rows; j += GROUP)
      __builtin_prefetch(element(b, k + i + LATER, n + j));
    memcpy(panel + i * width, element(b, k + i, n),
           (size_t)columns * sizeof *panel);
  }
}

static void copy_panel(const Matrix *b, int64_t k, int rows, int64_t n,
                       int columns, float *panel, int width) {
  if (b->column_step == 1) {
    copy_rows(b, k, rows, n, columns, panel, width);
    return;
  }
  int64_t shape[] = {rows, columns};
  Tensor from = tensor_on_data(DT_FLOAT32, 2, shape, element(b, k, n));
  from.strides[0] = b->row_step;
  from.strides[1] = b->column_step;
  Tensor to = tensor_on_data(DT_FLOAT32, 2, shape, panel);
  to.strides[0] = width;
  tensor_copy_into(&to, &from);
}

/* The columns that fill up the last group are 0: their sums are computed and
 * not stored. */
static void fill_from_matrix(const void *source, int64_t k, int rows, int64_t n,
                             int columns, float *panel) {
  const Matrix *b = source;
  int width = panel_width(columns);
  (is_own(b->dtype) ? copy_panel : convert_panel)(b, k, rows, n, columns, panel,
                                                  width);
  for (int i = 0; i < rows && columns < width; i++)
    memset(panel + i * width + columns, 0,
           (size_t)(width - columns) * sizeof *panel);
}

Panels panels_of_matrix(const Matrix *b) {
  return (Panels){.fill = fill_from_matrix, .source = b};
}

static int64_t at_most(int64_t a, int64_t most) { return a < most ? a : most; }

/* --- One part of a panel by all rows of a -------------------------------- */

/* One part: columns n .. n + columns of the result, rows k .. k + block.k of
 * b. */
typedef struct Part {
  const Tiles *tiles;
  const Product *p;
  int64_t k, n;
  int columns;
  int64_t depth;  /* rows of b in a part */
  float *scratch; /* room for a part of a panel that is not packed */
  /* what is read after this part, if that is packed; else both NULL */
  const float *next, *next_end;
  bool fetches; /* a tile's results, and not `next`, while it is summed */
  ProductBlock block;
} Part;

/* Results that are strided, or not whole groups of columns, are summed in a
 * copy; this copies to or from it.  The results are at most TILE_ROWS by PANEL:
 * making Tensors of them would take longer than copying them. */
static void copy_results(const Part *part, int64_t row, int rows, float *sums,
                         bool back) {
  const Matrix *out = &part->p->out;
  size_t bytes = (size_t)part->columns * sizeof *sums;
  for (int i = 0; i < rows; i++, sums += PANEL) {
    float *to = element(out, row + i, part->n);
    if (out->column_step == 1) {
      memcpy(back ? to : sums, back ? sums : to, bytes);
      continue;
    }
    for (int j = 0; j < part->columns; j++, to += out->column_step)
      if (back) *to = sums[j];
      else sums[j] = *to;
  }
}

/* Up to TILE_ROWS rows of a by the part.  The tile adds to c when `more` is
 * set, so a copy of the sums must be loaded first. */
static void run_rows(const Part *part, int64_t row, int rows,
                     const float *ahead) {
  const Matrix *a = &part->p->a, *out = &part->p->out;
  BlockFn *tile = part->tiles->tile[rows - 1];
  ProductBlock b = part->block;
  b.groups = panel_width(part->columns) / GROUP;
  b.a = element(a, row, part->k);
  b.c = element(out, row, part->n);
  b.c_row = out->row_step;
  b.ahead = part->fetches ? b.c : ahead;
  b.ahead_row = part->fetches ? b.c_row : PANEL;
  if (out->column_step == 1 && part->columns % GROUP == 0) {
    tile(&b);
    return;
  }
  float sums[TILE_ROWS * PANEL];
  if (b.more) copy_results(part, row, rows, sums, false);
  b.c = sums;
  b.c_row = PANEL;
  tile(&b);
  copy_results(part, row, rows, sums, true);
}

/* Multiplies rows from .. to of a, split evenly into tiles of at most
 * TILE_ROWS: 7 rows are 3 and 4, not 6 and 1, because a tile of few rows has
 * too few sums to hide the latency of its multiply-adds.  Each tile fetches as
 * many lines of the next part as it has steps. */
static bool run_part(const OpCall *call, const Part *part, int64_t from,
                     int64_t to) {
  const float *ahead = part->next;
  int64_t tiles = (to - from + TILE_ROWS - 1) / TILE_ROWS;
  if (tiles == 0) return true;
  int rows = (int)((to - from) / tiles);
  int64_t longer = (to - from) % tiles; /* the last tiles: a row more */
  for (int64_t row = from; row < to; row += rows) {
    if (op_stopped(call)) return false;
    if (tiles-- == longer) rows++;
    run_rows(part, row, rows, ahead);
    if (ahead) ahead += part->block.k * GROUP;
    if (ahead >= part->next_end) ahead = NULL;
  }
  return true;
}

/* --- Whole products ------------------------------------------------------ */

/* The part of the result that one thread computes. */
typedef struct Region {
  int64_t row, rows_end, column, columns_end;
} Region;

static int64_t panels_of(const Region *r) {
  return (r->columns_end - r->column + PANEL - 1) / PANEL;
}

static int columns_from(const Region *r, int64_t n) {
  return (int)at_most(r->columns_end - n, PANEL);
}

/* Row k of the packed panel of column n, which begins at n times the rows of b,
 * since all panels before it are full. */
static const float *packed_at(const Part *part, const Panels *b, int64_t n,
                              int64_t k, int width) {
  return b->packed + n * part->p->k + k * width;
}

/* Points the part at its rows of b: in the packed panel, or in a copy made
 * now. */
static void find_panel(Part *part, const Panels *b) {
  int width = panel_width(part->columns);
  part->block.b_row = width;
  if (b->packed) {
    part->block.b = packed_at(part, b, part->n, part->k, width);
    return;
  }
  for (int64_t at = 0; at < part->block.k; at += BLOCK)
    b->fill(b->source, part->k + at, (int)at_most(part->block.k - at, BLOCK),
            part->n, part->columns, part->scratch + at * width);
  part->block.b = part->scratch;
}

/* Notes that the part at n, k comes next, for the tiles to fetch; nothing where
 * the region ends before it. */
static void note_next(Part *part, const Panels *b, const Region *r, int64_t n,
                      int64_t k) {
  part->next = part->next_end = NULL;
  if (!b->packed || n < r->column || n >= r->columns_end) return;
  int width = panel_width(columns_from(r, n));
  part->next = packed_at(part, b, n, k, width);
  part->next_end = part->next + at_most(part->p->k - k, part->depth) * width;
}

/* Computes the part at part->k, part->n for the region's rows. */
static bool run_piece(const OpCall *call, Part *part, const Panels *b,
                      const Region *r) {
  part->block.k = at_most(part->p->k - part->k, part->depth);
  part->block.more = part->p->more || part->k > 0;
  part->columns = columns_from(r, part->n);
  find_panel(part, b);
  return run_part(call, part, r->row, r->rows_end);
}

/* Panel by panel, each through all of k, so that its results stay in the cache.
 * For when the rows of a also fit.  The loop runs once for k = 0, so that the
 * sums are stored: then all are +0. */
static bool run_by_panels(const OpCall *call, Part *part, const Panels *b,
                          const Region *r) {
  int64_t panels = panels_of(r), step = b->backwards ? -PANEL : PANEL;
  part->n = r->column + (b->backwards ? (panels - 1) * PANEL : 0);
  for (; panels > 0; panels--, part->n += step) {
    part->k = 0;
    do {
      int64_t k = part->k + part->depth;
      if (k < part->p->k) note_next(part, b, r, part->n, k);
      else note_next(part, b, r, part->n + step, 0);
      if (!run_piece(call, part, b, r)) return false;
      part->k = k;
    } while (part->k < part->p->k);
  }
  return true;
}

/* Block by block of k, each through all panels.  For when the rows of a do not
 * fit in the cache. */
static bool run_by_blocks(const OpCall *call, Part *part, const Panels *b,
                          const Region *r) {
  for (part->k = 0; part->k < part->p->k; part->k += part->depth)
    for (part->n = r->column; part->n < r->columns_end; part->n += PANEL) {
      note_next(part, b, r, part->n + PANEL, part->k);
      if (!run_piece(call, part, b, r)) return false;
    }
  return true;
}

/* Multiplies one row by the packed panel at part->n; when it and the next one
 * are whole, by both at once: one row by one panel would be too few chains. */
static bool run_pair(const OpCall *call, Part *part, const Panels *b,
                     const Region *r) {
  const Matrix *out = &part->p->out;
  if (r->columns_end - part->n >= 2 * PANEL && out->column_step == 1) {
    if (op_stopped(call)) return false;
    part->block.b = b->packed + part->n * part->p->k;
    part->block.b_row = PANEL;
    part->block.c = element(out, 0, part->n);
    part->tiles->row_pair(&part->block);
    return true;
  }
  for (int i = 0; i < 2 && part->n < r->columns_end; i++, part->n += PANEL) {
    part->columns = columns_from(r, part->n);
    find_panel(part, b);
    if (!run_part(call, part, 0, 1)) return false;
  }
  return true;
}

/* Multiplies one row by packed panels, each read from end to end.  Such a
 * product is bound by memory, so the panels are read in order, every second
 * product backwards (pack_backwards). */
static bool run_vector(const OpCall *call, Part *part, const Panels *b,
                       const Region *r) {
  ProductBlock *block = &part->block;
  block->k = part->p->k;
  block->a = element(&part->p->a, 0, 0);
  block->b_next = PANEL * block->k;
  int64_t pairs = (panels_of(r) + 1) / 2;
  for (int64_t i = 0; i < pairs; i++) {
    part->n = r->column + 2 * PANEL * (b->backwards ? pairs - 1 - i : i);
    if (!run_pair(call, part, b, r)) return false;
  }
  return true;
}

/* Takes as many rows of a at a time as stay in the cache. */
static bool run_rows_near(const OpCall *call, Part *part, const Panels *b,
                          const Region *r, int64_t step) {
  Region near = *r;
  for (; near.row < r->rows_end; near.row = near.rows_end) {
    near.rows_end = at_most(near.row + step, r->rows_end);
    bool few = (near.rows_end - near.row) * part->p->k <= ELEMENTS_NEAR;
    if (!(few ? run_by_panels : run_by_blocks)(call, part, b, &near))
      return false;
  }
  return true;
}

/* Uses long parts of panels when so many rows of a meet each part that adding
 * to the results between parts takes noticeable time.  Uses short parts when
 * there is no memory for a long one. */
static bool run_long(const OpCall *call, Part *part, const Panels *b,
                     const Region *r) {
  enum { BYTES = BLOCK_LONG * PANEL * sizeof(float) };
  Mem *mem = call->heap->mem;
  float *room = b->packed ? NULL : mem_alloc_aligned(mem, BYTES);
  if (room) part->scratch = room;
  if (room || b->packed) part->depth = BLOCK_LONG;
  bool ok = run_rows_near(call, part, b, r, b->packed ? ROWS_NEAR : ROWS_FAR);
  mem_free_aligned(mem, room, BYTES);
  return ok;
}

/* A store to a line that is not in the cache has to read it first.  That takes
 * noticeable time where there are more results than the second-level cache
 * holds and the sums are short: a weight's gradient for a batch is such a
 * product.  The shortest sums end before the lines come. */
static bool is_worth_fetching(const Product *p) {
  enum { LEAST = 32 };
  return !p->more && p->k >= LEAST && p->k <= BLOCK &&
         p->m * p->n > ELEMENTS_NEAR;
}

/* The shape decides: one row by packed panels; long parts where the sums would
 * be loaded and stored too often; else short ones. */
static bool run_region(const OpCall *call, const Product *p, const Panels *b,
                       const Region *r) {
  float scratch[BLOCK * PANEL] __attribute__((aligned(64)));
  int64_t rows = r->rows_end - r->row;
  /* Set field by field: a literal clears all of it first, which takes time in
   * small products. */
  Part part;
  part.tiles = isa_in_use()->tiles[type_of(p->a.dtype)];
  part.p = p;
  part.k = 0;
  part.depth = BLOCK;
  part.scratch = scratch;
  part.next = part.next_end = NULL;
  part.fetches = is_worth_fetching(p);
  part.block.a_row = p->a.row_step;
  part.block.a_step = p->a.column_step;
  part.block.offsets = NULL;
  part.block.more = p->more;
  part.block.ahead = NULL;
  part.block.ahead_row = 0;
  if (b->packed && p->m == 1 && p->k <= STOP_BLOCK && !p->more)
    return run_vector(call, &part, b, r);
  if (p->k > BLOCK && rows * p->k > ELEMENTS_NEAR)
    return run_long(call, &part, b, r);
  return run_rows_near(call, &part, b, r, b->packed ? ROWS_NEAR : rows);
}

/* --- Threads -------------------------------------------------------------
 * Each takes some of the panels, which are so copied but once; where there are
 * few of them, some of the rows.  No sum is split. */

typedef struct Shared {
  const OpCall *call;
  const Product *p;
  const Panels *b;
  int64_t parts; /* into which the rows are divided */
} Shared;

static int64_t pairs_of(const Product *p) {
  return (p->n + 2 * PANEL - 1) / (2 * PANEL);
}

/* Pieces are pairs of panels, so that run_pair() finds whole ones. */
static bool run_columns(const void *data, const Share *share) {
  const Shared *s = data;
  bool back = s->b->backwards;
  int64_t from = back ? pairs_of(s->p) - share->to : share->from;
  int64_t to = from + share->to - share->from;
  return run_region(s->call, s->p, s->b,
                    &(Region){0, s->p->m, from * 2 * PANEL,
                              at_most(to * 2 * PANEL, s->p->n)});
}

static bool run_some_rows(const void *data, const Share *share) {
  const Shared *s = data;
  int64_t tiles = (s->p->m + TILE_ROWS - 1) / TILE_ROWS;
  int64_t from = tiles * share->from / s->parts * TILE_ROWS;
  int64_t to = tiles * share->to / s->parts * TILE_ROWS;
  return run_region(s->call, s->p, s->b,
                    &(Region){from, at_most(to, s->p->m), 0, s->p->n});
}

/* Each thread copies the panels that it needs.  By columns every panel is
 * copied once; by rows, once for each thread, but then there are few panels. */
bool product_of_panels(const OpCall *call, const Product *p, const Panels *b) {
  int64_t pairs = pairs_of(p);
  int64_t rows = p->m / (2 * TILE_ROWS);
  int threads =
      parallel_threads(call, pairs > rows ? pairs : rows, product_time(p));
  Shared shared = {call, p, b, threads};
  if (threads > 1 && pairs < 2 * threads)
    return parallel_run(call, threads, threads, run_some_rows, &shared);
  return parallel_run(call, threads, pairs, run_columns, &shared);
}

/* --- Products of matrices ------------------------------------------------ */

static Product turned(const Product *p) {
  return (Product){.m = p->n,
                   .n = p->m,
                   .k = p->k,
                   .a = matrix_transposed(p->b),
                   .b = matrix_transposed(p->a),
                   .out = matrix_transposed(p->out)};
}

/* Operands of another dtype are converted first, and the results at the end. */
static void load_matrix(StopFlag *stop, const Matrix *from, int64_t rows,
                        int64_t columns, float *to) {
  for (int64_t i = 0; i < rows; i++, to += columns) BLOCKS(stop, columns)
  load_run(from->dtype, address(from, i, at), from->column_step, end - at,
           to + at);
}

static void store_run(DType dtype, char *to, int64_t step, int64_t n,
                      const float *from) {
  if (type_of(dtype) == TILE_F32) tile_store_f32(dtype, to, step, n, from);
  else tile_store_u32(dtype, to, step, n, (const uint32_t *)from);
}

static void store_matrix(StopFlag *stop, const Matrix *to, int64_t rows,
                         int64_t columns, const float *from) {
  for (int64_t i = 0; i < rows; i++, from += columns) BLOCKS(stop, columns)
  store_run(to->dtype, address(to, i, at), to->column_step, end - at,
            from + at);
}

static Matrix own_matrix(DType dtype, float *data, int64_t columns) {
  DType own = type_of(dtype) == TILE_F32 ? DT_FLOAT32 : DT_UINT32;
  return (Matrix){own, (char *)data, columns, 1};
}

/* Rows of a transposed matrix lie side by side, and each step of k is another
 * line of memory, often in the same set of the cache. */
bool product_turns(const Product *p) {
  enum { APART = 256, ROWS = 32, MOST = 1 << 24 };
  return is_own(p->a.dtype) && p->a.row_step == 1 &&
         p->a.column_step >= APART && p->m >= ROWS && p->k >= ROWS &&
         p->n >= 2 * PANEL && p->m * p->k <= MOST;
}

/* With a copy of a whose rows are contiguous, where there is memory for one. */
static bool run_turned(OpCall *call, const Product *of, const Panels *b) {
  Product own = *of, *p = &own;
  size_t bytes = (size_t)(p->m * p->k) * sizeof(float);
  float *room = mem_alloc_aligned(call->heap->mem, bytes);
  bool ok = true;
  if (room) {
    int64_t shape[] = {p->m, p->k};
    Tensor from = tensor_on_data(DT_FLOAT32, 2, shape, p->a.data);
    from.strides[0] = p->a.row_step;
    from.strides[1] = p->a.column_step;
    Tensor to = tensor_on_data(DT_FLOAT32, 2, shape, room);
    ok = copy_into(call, &to, &from);
    p->a = own_matrix(p->a.dtype, room, p->k);
  }
  ok = ok && product_of_panels(call, p, b);
  if (room) mem_free_aligned(call->heap->mem, room, bytes);
  return ok;
}

/* An operand whose elements are of the own type is used as it is. */
static bool run_converted(OpCall *call, const Product *of, const Panels *b) {
  Product own = *of, *p = &own;
  Matrix a = p->a, out = p->out;
  size_t operand = is_own(a.dtype) ? 0 : (size_t)(p->m * p->k);
  size_t results = is_own(out.dtype) ? 0 : (size_t)(p->m * p->n);
  size_t bytes = (operand + results) * sizeof(float);
  float *room = mem_alloc_aligned(call->heap->mem, bytes);
  if (!room) return op_out_of_memory(call);
  if (operand) p->a = own_matrix(a.dtype, room, p->k);
  if (operand) load_matrix(call->stop, &a, p->m, p->k, room);
  if (results) p->out = own_matrix(out.dtype, room + operand, p->n);
  bool ok = product_of_panels(call, p, b);
  if (ok && results) store_matrix(call->stop, &out, p->m, p->n, room + operand);
  mem_free_aligned(call->heap->mem, room, bytes);
  return ok;
}

bool product_by_panels(OpCall *call, const Product *p) {
  Product own;
  if (p->n < COLUMNS_FEW && p->m > p->n) {
    own = turned(p);
    p = &own;
  }
  Panels panels = panels_of_matrix(&p->b);
  Packed *packed =
      p->weights ? pack_find(call, p->weights, &p->b, p->k, p->n) : NULL;
  if (packed) panels.packed = packed->panels;
  if (packed) panels.backwards = pack_backwards(packed);
  if (!is_own(p->a.dtype) || !is_own(p->out.dtype))
    return run_converted(call, p, &panels);
  if (product_turns(p)) return run_turned(call, p, &panels);
  return product_of_panels(call, p, &panels);
}
