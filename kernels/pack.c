/* Packed forms of products' right operands; pack.h says what they are.
 *
 * They hang on the buffer that holds the matrix, in its field `packed`:
 *
 *   NULL  --first use-->  &used  --second use-->  Form --> Form --> NULL
 *                         (a mark)                one for each geometry
 *
 * The second use is the test because packing costs about as much as a product
 * of one row: a matrix that is used once would never earn it back.  The list
 * only grows, at its head and by compare-and-swap, so readers need no lock;
 * forms are freed with the buffer, when nobody reads any more.  Two threads
 * that pack the same geometry at once both pack it, and the second to publish
 * frees its own.
 *
 * A buffer with packed forms is no longer writable (buffer_writable), so a form
 * never gets stale. */
#include "kernels/pack.h"

#include "kernels/drive/product.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"

typedef struct Form {
  BufferExtra extra;
  Mem *mem;          /* of the session that packed it */
  struct Form *next; /* NULL for the last */
  const char *data;  /* the geometry that was packed */
  DType dtype;
  int64_t k, n, row_step, column_step;
  Packed packed;
} Form;

/* --- Release ------------------------------------------------------------- */

/* A form's memory is counted by the session that packed it, but the form may be
 * freed by another: a Mem outlives its owner as long as it has blocks
 * (mem_leave). */
static void form_free(Form *f) {
  mem_free_aligned(f->mem, f->packed.panels, f->packed.bytes);
  mem_free(f->mem, f, sizeof *f);
}

static void release_list(BufferExtra *extra) {
  for (Form *f = (Form *)extra, *next; f; f = next) {
    next = f->next;
    form_free(f);
  }
}

static void release_nothing(BufferExtra *extra) { (void)extra; }

/* Marks a buffer that was used once. */
static const BufferExtra used = {release_nothing};

/* --- Packing ------------------------------------------------------------- */

static bool same_geometry(const Form *f, const Matrix *b, int64_t k,
                          int64_t n) {
  return f->data == b->data && f->dtype == b->dtype && f->k == k && f->n == n &&
         f->row_step == b->row_step && f->column_step == b->column_step;
}

/* Bytes of the panels; false when b is broadcast, so that packing would take
 * much more memory than the buffer, or when the size overflows.  The last panel
 * is rounded up to whole groups. */
static bool bytes_of(const Buffer *buffer, const Matrix *b, int64_t k,
                     int64_t n, size_t *bytes) {
  size_t elements;
  if (!size_mul((size_t)k, (size_t)n, &elements) ||
      elements > buffer->size / dtype_size(b->dtype))
    return false;
  size_t width = ((size_t)n + GROUP - 1) / GROUP * GROUP;
  return size_mul((size_t)k * sizeof(float), width, bytes);
}

/* The copy of b[k, n] into panels under way. */
typedef struct Filling {
  const OpCall *call;
  const Matrix *b;
  int64_t k, n;
  float *panels;
} Filling;

/* Copies b into panels.  Panel p starts at element p * PANEL * k, and has k
 * rows of the panel's width:
 *
 *   b[k, n]      columns 0..63 | 64..127 | the rest, in whole groups of 16
 *   panels       k x 64        | k x 64  | k x width
 *
 * so a product reads all of it in ascending order.  Copied in squares of PANEL
 * x PANEL, since a source with long strides would else lose each cache line
 * before it is used up.  A share is of whole panels. */
static bool fill_share(const void *data, const Share *share) {
  const Filling *f = data;
  Panels from = panels_of_matrix(f->b);
  for (int64_t i = share->from; i < share->to; i++) {
    if (op_stopped(f->call)) return false;
    int64_t column = i * PANEL, left = f->n - column;
    int columns = left < PANEL ? (int)left : PANEL;
    int width = panel_width(columns);
    for (int64_t row = 0; row < f->k; row += PANEL) {
      int rows = f->k - row < PANEL ? (int)(f->k - row) : PANEL;
      from.fill(from.source, row, rows, column, columns,
                f->panels + column * f->k + row * width);
    }
  }
  return true;
}

/* Fills in all panels.  False when `stop` was set. */
static bool fill_panels(const OpCall *call, const Matrix *b, int64_t k,
                        int64_t n, float *panels) {
  enum { PICOSECONDS = 500 }; /* for an element */
  double time = 1e-3 * PICOSECONDS * (double)k * (double)n;
  int64_t count = (n + PANEL - 1) / PANEL;
  return parallel_run(call, parallel_threads(call, count, time), count,
                      fill_share, &(Filling){call, b, k, n, panels});
}

static Form *form_new(const OpCall *call, const Buffer *buffer, const Matrix *b,
                      int64_t k, int64_t n) {
  Mem *mem = call->heap->mem;
  size_t bytes;
  if (!bytes_of(buffer, b, k, n, &bytes)) return NULL;
  Form *f = mem_alloc(mem, sizeof *f);
  if (!f) return NULL;
  *f = (Form){.extra = {release_list},
              .mem = mem,
              .data = b->data,
              .dtype = b->dtype,
              .k = k,
              .n = n,
              .row_step = b->row_step,
              .column_step = b->column_step,
              .packed = {mem_alloc_aligned(mem, bytes), bytes, false}};
  if (!f->packed.panels) return mem_free(mem, f, sizeof *f), NULL;
  if (fill_panels(call, b, k, n, f->packed.panels)) return f;
  return form_free(f), NULL;
}

/* --- The list on the buffer ---------------------------------------------- */

static Form *find(void *head, const Matrix *b, int64_t k, int64_t n) {
  Form *f = head == (void *)&used ? NULL : head;
  while (f && !same_geometry(f, b, k, n)) f = f->next;
  return f;
}

/* Adds `own` to the list, unless another thread has added the same geometry
 * first. */
static Form *publish(Buffer *buffer, Form *own, void *head, const Matrix *b) {
  for (;;) {
    Form *other = find(head, b, own->k, own->n);
    if (other) return form_free(own), other;
    own->next = head == (void *)&used ? NULL : head;
    if (atomic_compare_exchange_weak(&buffer->packed, &head, own)) return own;
  }
}

Packed *pack_find(const OpCall *call, Buffer *buffer, const Matrix *b,
                  int64_t k, int64_t n) {
  void *head = atomic_load(&buffer->packed);
  if (!head &&
      atomic_compare_exchange_strong(&buffer->packed, &head, (void *)&used))
    return NULL;
  Form *f = find(head, b, k, n);
  if (f) return &f->packed;
  Form *own = form_new(call, buffer, b, k, n);
  return own ? &publish(buffer, own, head, b)->packed : NULL;
}

/* Leaves the mark, unless a mark or a list is there. */
void ops_pack(const Tensor *t) {
  void *none = NULL;
  if (t->buffer)
    atomic_compare_exchange_strong(&t->buffer->packed, &none, (void *)&used);
}

enum {
  BYTES_NEAREST = 3 << 13
}; /* bytes that stay in the first-level cache in either order */

/* Threads that ask at the same time may get equal answers, which does no
 * harm. */
bool pack_backwards(Packed *p) {
  if (p->bytes <= BYTES_NEAREST) return false;
  bool now = atomic_load_explicit(&p->backwards, memory_order_relaxed);
  atomic_store_explicit(&p->backwards, !now, memory_order_relaxed);
  return now;
}
