/* Shared by the tensor file formats: the table of results, tensors on mapped
 * files, and writing elements.
 *
 * A reader first lists all names with no tensors, then makes the tensors;
 * tensor_file_free() takes a table in any state.  Lookups by name are linear,
 * since a caller that looks up many sorts for itself (lib/state_file.c). */
#include "io/tensor_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

TensorFile *tensor_file_new(Heap *heap) {
  TensorFile *f = mem_alloc_zeroed(heap->mem, sizeof *f);
  if (!f) {
    mem_raise_exhausted(heap->mem);
    return NULL;
  }
  f->heap = heap;
  arena_init(&f->arena, heap->mem);
  VEC_INIT(&f->tensors, heap->mem);
  VEC_INIT(&f->left_out, heap->mem);
  VEC_INIT(&f->metadata, heap->mem);
  return f;
}

void tensor_file_free(TensorFile *f) {
  if (!f) return;
  for (size_t i = 0; i < f->tensors.len; i++)
    if (f->tensors.data[i].tensor)
      tensor_drop(f->heap, f->tensors.data[i].tensor);
  VEC_DONE(&f->tensors);
  VEC_DONE(&f->left_out);
  VEC_DONE(&f->metadata);
  arena_done(&f->arena);
  mem_free(f->heap->mem, f, sizeof *f);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const NamedTensor *)a)->name, ((const NamedTensor *)b)->name);
}

void named_tensors_sort(NamedTensor *tensors, size_t count) {
  if (count) qsort(tensors, count, sizeof *tensors, by_name);
}

Tensor *named_tensors_find(const NamedTensor *sorted, size_t count,
                           const char *name) {
  const NamedTensor key = {.name = name};
  const NamedTensor *found =
      count ? bsearch(&key, sorted, count, sizeof key, by_name) : NULL;
  return found ? found->tensor : NULL;
}

Tensor *tensor_file_find(const TensorFile *f, const char *name) {
  for (size_t i = 0; i < f->tensors.len; i++)
    if (!strcmp(f->tensors.data[i].name, name))
      return f->tensors.data[i].tensor;
  return NULL;
}

const char *tensor_file_metadata(const TensorFile *f, const char *key) {
  for (size_t i = 0; i < f->metadata.len; i++)
    if (!strcmp(f->metadata.data[i].key, key)) return f->metadata.data[i].value;
  return NULL;
}

/* --- Messages ------------------------------------------------------------ */

/* The one form of all messages about broken files. */
bool file_invalid(Diags *diags, const char *path, const char *format,
                  const char *why, ...) {
  StrBuf text;
  strbuf_init(&text, diags->arena.mem);
  va_list args;
  va_start(args, why);
  strbuf_addv(&text, why, args);
  va_end(args);
  diag_error(diags, E0502, SPAN_NONE, "%s is no valid %s file: %s", path,
             format, strbuf_text(&text));
  strbuf_done(&text);
  return false;
}

bool tensor_file_is_whole(const TensorFile *f, const char *path, Diags *diags) {
  size_t n = f->left_out.len;
  if (n == 0) return true;
  const LeftOut *first = &f->left_out.data[0];
  Diag *d = diag_error(diags, E0502, SPAN_NONE, "cannot read `%s` of %s: %s",
                       first->name, path, first->why);
  if (n > 1)
    diag_note(d, SPAN_NONE, "of its tensors %zu more cannot be read", n - 1);
  return false;
}

bool file_out_of_memory(Diags *diags, const char *path) {
  diag_error(diags, E0501, SPAN_NONE, "cannot read %s: out of memory", path);
  return false;
}

const char *text_quoted(Arena *arena, const char *text, size_t len) {
  enum { SHOWN = 80 };
  StrBuf out;
  strbuf_init(&out, arena->mem);
  size_t shown = len > SHOWN ? utf8_begin(text, SHOWN) : len;
  strbuf_add_escaped(&out, text, shown);
  if (shown < len) strbuf_add(&out, "...");
  const char *copy = mem_exhausted(arena->mem)
                         ? NULL
                         : arena_strndup(arena, strbuf_text(&out), out.len);
  strbuf_done(&out);
  return copy;
}

/* --- What is left out ----------------------------------------------------- */

bool tensor_file_leave_out(TensorFile *f, const char *name, const char *why) {
  if (!why || !VEC_RESERVE(&f->left_out, 1)) return false;
  VEC_PUSH(&f->left_out, (LeftOut){name, why});
  return true;
}

const char *misfit_of_dtype(Arena *arena, const char *dtype, size_t len) {
  const char *quoted = text_quoted(arena, dtype, len);
  return quoted ? arena_printf(arena, "its dtype is %s, which is none of rly's",
                               quoted)
                : NULL;
}

const char *misfit_of_rank(Arena *arena, size_t rank) {
  return arena_printf(arena, "its rank is %zu, and the most is %d", rank,
                      RANK_MAX);
}

void tensor_file_drop_left_out(TensorFile *f) {
  size_t n = 0;
  for (size_t i = 0; i < f->tensors.len; i++)
    if (f->tensors.data[i].tensor) f->tensors.data[n++] = f->tensors.data[i];
  f->tensors.len = n;
}

/* --- Names --------------------------------------------------------------- */

/* The tensor comes later; until then the entry's is NULL. */
bool tensor_file_add_name(TensorFile *f, const char *name, size_t len) {
  const char *copy = arena_strndup(&f->arena, name, len);
  if (!copy || !VEC_RESERVE(&f->tensors, 1)) return false;
  VEC_PUSH(&f->tensors, (NamedTensor){.name = copy});
  return true;
}

int tensor_file_by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Checked by sorting, in O(n log n): a hostile file can hold millions of
 * names. */
bool tensor_file_check_names(TensorFile *f, const char *path,
                             const char *format, Diags *diags) {
  VEC(const char *) names;
  VEC_INIT(&names, f->heap->mem);
  size_t n = f->tensors.len;
  if (!VEC_RESERVE(&names, n)) return file_out_of_memory(diags, path);
  for (size_t i = 0; i < n; i++) VEC_PUSH(&names, f->tensors.data[i].name);
  if (n) qsort(names.data, n, sizeof *names.data, tensor_file_by_name);
  bool differ = true;
  for (size_t i = 1; differ && i < n; i++)
    if (!strcmp(names.data[i - 1], names.data[i]))
      differ = file_invalid(diags, path, format,
                            "two of its tensors are named `%s`", names.data[i]);
  VEC_DONE(&names);
  return differ;
}

/* --- Tensors on mapped files --------------------------------------------- */

static void report_elements(const MappedElements *e, Diags *diags,
                            DiagCode code, const char *why) {
  const char *open = e->name ? ": tensor `" : "";
  const char *close = e->name ? "`" : "";
  diag_error(diags, code, SPAN_NONE, "%s%s%s%s: %s", e->path, open,
             e->name ? e->name : "", close, why);
}

/* A pass over the elements of dtypes that have fewer bits than their memory. */
bool elements_are_valid(StopFlag *stop, DType dtype, const char *data,
                        size_t size) {
  size_t width = dtype_size(dtype);
  if (dtype_info[dtype].bits == 8 * width) return true;
  int64_t count = (int64_t)(size / width);
  BLOCKS(stop, count)
  for (int64_t i = at; i < end; i++)
    if (!bits_are_valid(dtype, bits_load(dtype, data + (size_t)i * width)))
      return false;
  return !stop_seen(stop);
}

/* A buffer on the mapping, which holds a reference to it. */
static Buffer *borrow_elements(Heap *heap, const MappedElements *e) {
  const char *data = e->map->data + e->offset;
  file_map_keep(e->map);
  Buffer *b = buffer_borrow(heap, data, e->size, file_map_drop, e->map);
  if (!b) file_map_drop(e->map);
  return b;
}

/* For elements that the file does not align: kernels load them as their
 * type. */
static Buffer *copy_elements(Heap *heap, const MappedElements *e) {
  Buffer *b = buffer_new(heap, e->size);
  if (b && e->size) memcpy(b->data, e->map->data + e->offset, e->size);
  return b;
}

/* The kind of buffer is all that differs; both are released by dropping the
 * tensor.  Mostly they are borrowed: the formats pad their headers so that
 * elements are aligned, since others map them, too. */
Tensor *tensor_of_mapping(Heap *heap, const MappedElements *e, Diags *diags) {
  const char *data = e->map->data + e->offset;
  if (!elements_are_valid(heap->stop, e->dtype, data, e->size)) {
    char why[64];
    snprintf(why, sizeof why, "an element is no %s", dtype_name(e->dtype));
    if (!stop_seen(heap->stop)) report_elements(e, diags, E0502, why);
    return NULL;
  }
  bool aligned = (uintptr_t)data % dtype_size(e->dtype) == 0;
  Buffer *buffer = aligned ? borrow_elements(heap, e) : copy_elements(heap, e);
  Tensor *t = buffer ? tensor_on_buffer_take(heap, e->dtype, e->rank, e->shape,
                                             e->strides, buffer)
                     : NULL;
  if (t) return t;
  mem_raise_exhausted(heap->mem);
  report_elements(e, diags, E0501, "out of memory");
  return NULL;
}

Tensor *bytes_read(const char *path, Heap *heap, Diags *diags) {
  FileMap *map = file_map(heap->mem, path, diags);
  if (!map) return NULL;
  int64_t count = (int64_t)map->size;
  MappedElements e = {.map = map,
                      .path = path,
                      .size = map->size,
                      .dtype = DT_UINT8,
                      .rank = 1,
                      .shape = &count};
  Tensor *t = tensor_of_mapping(heap, &e, diags);
  file_map_drop(map);
  return t;
}

/* --- Writing ------------------------------------------------------------- */

bool dtype_has_name(const char *path, const char *name, DType dtype,
                    const char *file_name, Diags *diags) {
  if (file_name) return true;
  diag_hint(diag_error(diags, E0507, SPAN_NONE,
                       "cannot write %s: files of this kind have no name for "
                       "%s%s%s%s",
                       path, dtype_name(dtype), name ? ", the dtype of `" : "",
                       name ? name : "", name ? "`" : ""),
            "cast it to %s first", dtype_name(dtype_kept_as(dtype)));
  return false;
}

void tensor_was_written(FileOut *out, const Tensor *t) {
  const Buffer *b = t->buffer;
  if (b && b->release == file_map_drop) file_out_wrote(out, b->owner);
}

/* In the order of the indices, whatever the strides are.  Errors stay in the
 * stream. */
void tensor_write_elements(FileOut *out, const Tensor *t) {
  size_t size = dtype_size(t->dtype);
  if (tensor_is_contiguous(t)) {
    fwrite(t->data, size, (size_t)tensor_count(t), out->stream);
  } else {
    for (Runs r = runs_over(t); runs_next(&r);)
      for (int64_t i = 0; i < r.count; i++)
        fwrite(r.data + i * r.stride * (int64_t)size, size, 1, out->stream);
  }
  tensor_was_written(out, t);
}
