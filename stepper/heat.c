/* Larger tensors on the page: their elements once, as numbers that the page's
 * script draws in colours.
 *
 *   <figure data-heat="3">  the way to it, its type, its facts
 *
 *   {"rows": 2, "columns": 3, "of": [2, 3], "at": [1, 2, 3, 4, 5, 6]}
 *
 * The last axis is the columns, all axes before it together are the rows.  A
 * tensor with more than CELLS has fewer, larger cells, each the mean of its
 * finite elements, as `:heat` draws them.
 *
 * A page has a bound: no tensor is drawn whose memory, or whose numbers, would
 * exceed what all of them may have. */
#include <math.h>
#include <stdio.h>

#include "stepper/page.h"
#include "tensor/facts.h"

enum {
  DRAWN_LEAST = 9, /* elements; those with fewer are shown in the text */
  ROWS = 48,
  COLUMNS = 96,
  SERIES = 256, /* columns of a single row */
  ELEMENTS_MOST = 1 << 22,
  KEPT_MOST = 64 << 20, /* bytes */
  TEXT_MOST = 4 << 20,
  DEPTH_MOST = 4,
  FIGURES_MOST = 4,
  PARTS_MOST = 16,
};

void heats_init(Heats *h, Mem *mem, Heap *heap) {
  *h = (Heats){.heap = heap};
  VEC_INIT(&h->kept, mem);
  VEC_INIT(&h->captions, mem);
  ptrmap_init(&h->numbers, mem);
  strbuf_init(&h->text, mem);
}

void heats_done(Heats *h) {
  while (h->kept.len) tensor_drop(h->heap, VEC_POP(&h->kept));
  VEC_DONE(&h->kept);
  while (h->captions.len) {
    StrBuf text = VEC_POP(&h->captions);
    strbuf_done(&text);
  }
  VEC_DONE(&h->captions);
  ptrmap_done(&h->numbers);
  strbuf_done(&h->text);
}

/* --- Elements ------------------------------------------------------------- */

/* A tensor's elements as cells. */
typedef struct Cells {
  const Tensor *t;
  int64_t rows, columns;           /* of elements */
  int64_t cell_rows, cell_columns; /* of cells */
} Cells;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static Cells cells_of(const Tensor *t) {
  int64_t columns = t->shape[t->rank - 1], rows = tensor_count(t) / columns;
  return (Cells){t, rows, columns, least(rows, ROWS),
                 least(columns, rows == 1 ? SERIES : COLUMNS)};
}

static void add_number(StrBuf *out, double x) {
  if (isfinite(x)) strbuf_addf(out, "%.6g", x);
  else strbuf_add(out, isnan(x) ? "\"nan\"" : x > 0 ? "\"inf\"" : "\"-inf\"");
}

/* The element, or the mean of the finite ones in the cell; NaN without any. */
static double cell_at(const Cells *c, int64_t row, int64_t column) {
  int64_t y = row * c->rows / c->cell_rows;
  int64_t y_end = (row + 1) * c->rows / c->cell_rows;
  int64_t x_from = column * c->columns / c->cell_columns;
  int64_t x_end = (column + 1) * c->columns / c->cell_columns;
  if ((y_end - y) * (x_end - x_from) == 1)
    return tensor_f64_at(c->t, y * c->columns + x_from);
  double sum = 0, count = 0;
  for (; y < y_end; y++) {
    for (int64_t x = x_from; x < x_end; x++) {
      double v = tensor_f64_at(c->t, y * c->columns + x);
      if (!isfinite(v)) continue;
      sum += v;
      count++;
    }
  }
  return count > 0 ? sum / count : NAN;
}

static void add_elements(StrBuf *out, const Cells *c) {
  strbuf_addf(out,
              "{\"rows\": %lld, \"columns\": %lld, \"of\": [%lld, %lld], "
              "\"at\": [",
              (long long)c->cell_rows, (long long)c->cell_columns,
              (long long)c->rows, (long long)c->columns);
  for (int64_t y = 0; y < c->cell_rows; y++) {
    for (int64_t x = 0; x < c->cell_columns; x++) {
      if (x || y) strbuf_add_char(out, ',');
      add_number(out, cell_at(c, y, x));
    }
  }
  strbuf_add(out, "]}");
}

/* The tensor's number; 0: it is not drawn. */
static size_t number_of(Heats *h, const Tensor *t) {
  if (ptrmap_has(&h->numbers, t))
    return (size_t)(uintptr_t)ptrmap_get(&h->numbers, t);
  bool fits = tensor_count(t) <= ELEMENTS_MOST && h->text.len < TEXT_MOST &&
              tensor_bytes(t) <= KEPT_MOST - h->bytes &&
              VEC_RESERVE(&h->kept, 1);
  if (!fits) return 0;
  VEC_PUSH(&h->kept, tensor_keep((Tensor *)t));
  h->bytes += tensor_bytes(t);
  ptrmap_put(&h->numbers, t, (void *)(uintptr_t)h->kept.len);
  Cells c = cells_of(t);
  if (h->text.len) strbuf_add(&h->text, ",\n");
  add_elements(&h->text, &c);
  return h->kept.len;
}

/* --- Figures -------------------------------------------------------------- */

/* The type and the facts, which are asked for once, as they take all elements.
 */
static void add_caption(Heats *h, StrBuf *out, const Tensor *t, size_t number) {
  if (!number) {
    tensor_print_type(out, t);
    strbuf_add(out, ", too large for this page");
    return;
  }
  if (h->captions.len < number && VEC_RESERVE(&h->captions, 1)) {
    StrBuf text;
    strbuf_init(&text, h->captions.mem);
    tensor_print_type(&text, t);
    strbuf_add(&text, ", ");
    tensor_print_facts(&text, t);
    VEC_PUSH(&h->captions, text);
  }
  if (h->captions.len >= number)
    strbuf_add(out, strbuf_text(&h->captions.data[number - 1]));
}

static void add_figure(Heats *h, StrBuf *out, const Tensor *t,
                       const char *way) {
  size_t number = number_of(h, t);
  strbuf_addf(out, "<figure data-heat=\"%zu\"><figcaption>%s ", number, way);
  add_caption(h, out, t, number);
  strbuf_add(out, "</figcaption></figure>\n");
}

/* `way` has room for DEPTH_MOST more parts after `end`. */
static int add_figures(Heats *h, StrBuf *out, const StepObj *v, char *way,
                       int end, int most) {
  if (v->kind == V_TENSOR) {
    bool drawn = v->tensor->rank > 0 && tensor_count(v->tensor) >= DRAWN_LEAST;
    if (drawn) add_figure(h, out, v->tensor, way);
    return drawn;
  }
  enum { PART = 4 }; /* ".15" and the NUL */
  bool parts = v->kind == V_TUPLE || v->kind == V_DATA;
  int count = 0;
  if (!parts || end == DEPTH_MOST * (PART - 1)) return 0;
  for (uint32_t i = 0; i < v->count && i < PARTS_MOST && count < most; i++) {
    int len = snprintf(way + end, PART, ".%u", i);
    count += add_figures(h, out, v->fields[i], way,
                         end + (len < PART ? len : PART - 1), most - count);
  }
  way[end] = '\0';
  return count;
}

int heats_add_figures(Heats *h, StrBuf *out, const StepObj *v) {
  char way[64] = "";
  return add_figures(h, out, v, way, 0, FIGURES_MOST);
}
