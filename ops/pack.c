/* See pack.h.  What hangs on a buffer is NULL, then a mark that it was used,
 * then a list of packed forms that only grows, at its head. */
#include "ops/pack.h"

#include "ops/simd/product.h"

typedef struct Packed {
  BufferExtra extra;
  struct Packed *next;  /* NULL: the last */
  const char *data;     /* the geometry */
  DType dtype;
  int64_t k, n, row_step, column_step;
  float *panels;
  size_t bytes;
} Packed;

/* --- Release ------------------------------------------------------------- */

static void packed_free(Packed *p, Mem *mem) {
  mem_free_aligned(mem, p->panels, p->bytes);
  mem_free(mem, p, sizeof *p);
}

static void release_list(BufferExtra *extra, Mem *mem) {
  for (Packed *p = (Packed *)extra, *next; p; p = next) {
    next = p->next;
    packed_free(p, mem);
  }
}

static void release_nothing(BufferExtra *extra, Mem *mem) {
  (void)extra, (void)mem;
}

/* The mark of a buffer that was used once. */
static const BufferExtra used = {release_nothing};

/* --- Packing ------------------------------------------------------------- */

static bool same_geometry(const Packed *p, const Matrix *b, int64_t k,
                          int64_t n) {
  return p->data == b->data && p->dtype == b->dtype && p->k == k && p->n == n &&
         p->row_step == b->row_step && p->column_step == b->column_step;
}

/* Bytes of the panels; false when b repeats elements of a smaller buffer. */
static bool bytes_of(const Buffer *buffer, const Matrix *b, int64_t k,
                     int64_t n, size_t *bytes) {
  size_t elements;
  if (!size_mul((size_t)k, (size_t)n, &elements) ||
      elements > buffer->size / dtype_size(b->dtype))
    return false;
  size_t width = ((size_t)n + GROUP - 1) / GROUP * GROUP;
  return size_mul((size_t)k * sizeof(float), width, bytes);
}

/* False when `stop` was seen. */
static bool fill_panels(const Matrix *b, int64_t k, int64_t n, float *panels,
                        const _Atomic int *stop) {
  Panels from = panels_of_matrix(b);
  for (int64_t column = 0; column < n; column += PANEL) {
    if (stop && atomic_load_explicit(stop, memory_order_relaxed)) return false;
    int columns = n - column < PANEL ? (int)(n - column) : PANEL;
    int width = panel_width(columns);
    for (int64_t row = 0; row < k; row += PANEL) {
      int rows = k - row < PANEL ? (int)(k - row) : PANEL;
      from.fill(from.source, row, rows, column, columns,
                panels + column * k + row * width);
    }
  }
  return true;
}

static Packed *packed_new(const Buffer *buffer, const Matrix *b, int64_t k,
                          int64_t n, Mem *mem, const _Atomic int *stop) {
  size_t bytes;
  if (!bytes_of(buffer, b, k, n, &bytes)) return NULL;
  Packed *p = mem_alloc(mem, sizeof *p);
  if (!p) return NULL;
  *p = (Packed){.extra = {release_list}, .data = b->data,
                .dtype = b->dtype, .k = k, .n = n, .row_step = b->row_step,
                .column_step = b->column_step,
                .panels = mem_alloc_aligned(mem, bytes), .bytes = bytes};
  if (!p->panels) return mem_free(mem, p, sizeof *p), NULL;
  if (fill_panels(b, k, n, p->panels, stop)) return p;
  return packed_free(p, mem), NULL;
}

/* --- The list on the buffer ---------------------------------------------- */

static Packed *find(void *head, const Matrix *b, int64_t k, int64_t n) {
  Packed *p = head == (void *)&used ? NULL : head;
  while (p && !same_geometry(p, b, k, n)) p = p->next;
  return p;
}

/* Puts `own` at the head, unless another thread was faster with the same. */
static const Packed *publish(Buffer *buffer, Packed *own, void *head,
                             const Matrix *b, Mem *mem) {
  for (;;) {
    Packed *other = find(head, b, own->k, own->n);
    if (other) return packed_free(own, mem), other;
    own->next = head == (void *)&used ? NULL : head;
    if (atomic_compare_exchange_weak(&buffer->packed, &head, own)) return own;
  }
}

const float *pack_find(Buffer *buffer, const Matrix *b, int64_t k, int64_t n,
                       Mem *mem, const _Atomic int *stop) {
  void *head = atomic_load(&buffer->packed);
  if (!head &&
      atomic_compare_exchange_strong(&buffer->packed, &head, (void *)&used))
    return NULL;
  const Packed *p = find(head, b, k, n);
  if (p) return p->panels;
  Packed *own = packed_new(buffer, b, k, n, mem, stop);
  return own ? publish(buffer, own, head, b, mem)->panels : NULL;
}

void ops_pack(const Tensor *t) {
  void *none = NULL;
  if (t->buffer)
    atomic_compare_exchange_strong(&t->buffer->packed, &none, (void *)&used);
}
