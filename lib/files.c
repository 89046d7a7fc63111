/* Files of tensors: chooses the format by the path, and gives hosts the tensors
 * by name.  io/ reads and writes the formats themselves.
 *
 * A format is a row: its extension, the bytes that its files begin with, and
 * two functions.  When reading, the extension decides, and the first bytes only
 * where it says nothing; when writing, the extension or the first row.
 *
 * Handles (rly_tensors) own a TensorFile; each tensor that is given out is a
 * handle of its own that shares the elements.
 *
 * So `w.npz` is read as an archive whatever it holds, and when it holds
 * something else, the message says that this is no archive.  A file named
 * `weights`, or `weights.bin`, is looked into: PK at its beginning makes it an
 * archive.  Believing the bytes more than the name would be kinder to files
 * that are named wrongly, but then a damaged archive, whose first bytes are
 * damaged, would be refused as a bad safetensors file, and its owner would look
 * in the wrong place. */
#include <string.h>

#include "base/utf8.h"
#include "io/gguf.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/params.h"
#include "io/safetensors.h"
#include "io/shards.h"
#include "lib/handles.h"

/* --- Formats ------------------------------------------------------------ */

/* A .npy file holds one tensor without a name; the file's name serves.  The
 * extension is cut off, unless it is all there is (".npy"). */
static TensorFile *read_npy(const char *path, Heap *heap, Diags *diags) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  size_t stem = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  Tensor *t = npy_read(path, heap, diags);
  TensorFile *f = t ? tensor_file_new(heap) : NULL;
  if (f && tensor_file_add_name(f, base, stem)) {
    f->tensors.data[0].tensor = t;
    return f;
  }
  if (t) file_out_of_memory(diags, path);
  if (t) tensor_drop(heap, t);
  tensor_file_free(f);
  return NULL;
}

/* A file that cannot hold all of the tensors is refused before anything is
 * written. */
static bool write_npy(const TensorFile *f, const char *path, Diags *diags) {
  if (f->tensors.len == 1)
    return npy_write(path, f->tensors.data[0].tensor, f->heap->mem, diags);
  diag_error(diags, E0507, SPAN_NONE,
             "cannot write %s: a .npy file holds one tensor, not %zu", path,
             f->tensors.len);
  return false;
}

static bool write_npz(const TensorFile *f, const char *path, Diags *diags) {
  return npz_write(path, f->tensors.data, f->tensors.len, f->heap->mem, diags);
}

static bool write_params(const TensorFile *f, const char *path, Diags *diags) {
  return params_write(path, f->tensors.data, f->tensors.len, f->heap->mem,
                      diags);
}

static bool write_safetensors(const TensorFile *f, const char *path,
                              Diags *diags) {
  return safetensors_write(path, f->tensors.data, f->tensors.len,
                           f->metadata.data, f->metadata.len, f->heap->mem,
                           diags);
}

static bool write_none(const TensorFile *f, const char *path, Diags *diags) {
  (void)f;
  diag_error(diags, E0507, SPAN_NONE,
             "cannot write %s: files of this kind are only read", path);
  return false;
}

typedef struct Format {
  const char *extension;
  const char *magic; /* the bytes that such a file begins with; NULL where they
                      * do not tell it from others */
  size_t magic_size;
  TensorFile *(*read)(const char *path, Heap *heap, Diags *diags);
  bool (*write)(const TensorFile *f, const char *path, Diags *diags);
} Format;

/* The first row is the default, for a path that fits no other row.  Its magic
 * is empty, so it also fits every file that no other row fits; reading it then
 * says what is wrong. */
static const Format formats[] = {
    {".safetensors", "", 0, safetensors_read, write_safetensors},
    {".npy", "\x93NUMPY", 6, read_npy, write_npy},
    {".npz", "PK", 2, npz_read, write_npz},
    {".params", "\xB7\x9C\x04\x05\x4F\x8D\xE5\xF7", 8, params_read,
     write_params},
    {".gguf", "GGUF", 4, gguf_read, write_none},
    {".json", NULL, 0, shards_read, write_none},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const Format *format_by_extension(const char *path) {
  const char *dot = strrchr(path, '.');
  for (int i = 0; dot && i < FORMATS; i++)
    if (!strcmp(dot, formats[i].extension)) return &formats[i];
  return NULL;
}

/* The format by the first bytes of the file; NULL after reporting when the file
 * cannot be read.  From the last row to the first. */
static const Format *format_by_magic(rly_context *cx, const char *path) {
  FileMap *map = file_map(&cx->mem, path, &cx->diags);
  if (!map) return NULL;
  int i = FORMATS - 1;
  while (i > 0 && (!formats[i].magic || map->size < formats[i].magic_size ||
                   memcmp(map->data, formats[i].magic, formats[i].magic_size)))
    i--;
  file_map_drop(map);
  return &formats[i];
}

/* The extension is believed when it is a known one; the file is then refused by
 * its reader, which can say what is wrong with it. */
TensorFile *tensors_read(rly_context *cx, const char *path) {
  const Format *format = format_by_extension(path);
  if (!format) format = format_by_magic(cx, path);
  double since = log_clock(cx);
  TensorFile *f = format ? format->read(path, &cx->heap, &cx->diags) : NULL;
  if (f && !files_whole(&cx->diags)) {
    tensor_file_free(f);
    f = NULL;
  }
  if (f)
    log_info(cx, "read %s: %zu tensors, %.3f ms", path, f->tensors.len,
             1e3 * (log_clock(cx) - since));
  return f;
}

/* An array where the extension or the first bytes say so; the bytes of any
 * other file. */
Tensor *array_read(rly_context *cx, const char *path) {
  const Format *format = format_by_extension(path);
  if (!format) format = format_by_magic(cx, path);
  if (!format) return NULL;
  Tensor *t = format->read == read_npy
                  ? npy_read(path, &cx->heap, &cx->diags)
                  : bytes_read(path, &cx->heap, &cx->diags);
  if (!t || files_whole(&cx->diags)) return t;
  tensor_drop(&cx->heap, t);
  return NULL;
}

bool path_takes_state(const char *path, Diags *diags) {
  const Format *format = format_by_extension(path);
  if (!format || format == formats) return true;
  diag_error(diags, E0507, SPAN_NONE,
             "cannot write %s: a state is written as %s, not as %s", path,
             formats->extension, format->extension);
  return false;
}

/* With its dot; NULL: the name has none, or is nothing else. */
static const char *extension_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return dot && dot != base && dot[1] ? dot : NULL;
}

bool path_takes_tensors(const char *path, Diags *diags) {
  const Format *format = format_by_extension(path);
  if (format && format->write == write_none)
    return write_none(NULL, path, diags);
  if (format || !extension_of(path)) return true;
  StrBuf known;
  strbuf_init(&known, diags->arena.mem);
  for (int i = 0; i < FORMATS; i++)
    if (formats[i].write != write_none)
      strbuf_addf(&known, "%s, ", formats[i].extension);
  diag_error(diags, E0507, SPAN_NONE,
             "cannot write %s: tensors are written as %snot as %s", path,
             strbuf_text(&known), extension_of(path));
  strbuf_done(&known);
  return false;
}

/* A path without a known extension is written as safetensors. */
bool tensors_write(rly_context *cx, const TensorFile *f, const char *path,
                   Diags *diags) {
  const Format *format = format_by_extension(path);
  if (!format) format = formats;
  if (!format->write(f, path, diags)) return false;
  log_info(cx, "wrote %s: %zu tensors", path, f->tensors.len);
  return true;
}

/* --- Tensors by name ---------------------------------------------------- */

/* Takes the file. */
static rly_tensors *tensors_take(rly_context *cx, TensorFile *f) {
  rly_tensors *ts = f ? mem_alloc(&cx->mem, sizeof *ts) : NULL;
  if (ts) *ts = (rly_tensors){.cx = cx, .file = f};
  if (ts) context_keep(cx);
  if (!ts) tensor_file_free(f);
  return ts;
}

rly_tensors *rly_tensors_new(rly_context *cx) {
  if (!require(cx, "the context is NULL")) return NULL;
  context_lock(cx);
  rly_tensors *ts = tensors_take(cx, tensor_file_new(&cx->heap));
  context_unlock(cx);
  return ts;
}

void rly_tensors_free(rly_tensors *ts) {
  if (!ts) return;
  rly_context *cx = ts->cx;
  context_lock(cx);
  tensor_file_free(ts->file);
  mem_free(&cx->mem, ts, sizeof *ts);
  context_unlock(cx);
  context_drop(cx);
}

static rly_status read_tensors(rly_context *cx, const char *path,
                               rly_tensors **out) {
  TensorFile *f = tensors_read(cx, path);
  if (f && !tensor_file_is_whole(f, path, &cx->diags)) {
    tensor_file_free(f);
    f = NULL;
  }
  if (!f) return status_of_failure(cx, RLY_REFUSED);
  rly_tensors *ts = tensors_take(cx, f);
  if (!ts) return RLY_LIMIT;
  *out = ts;
  return RLY_OK;
}

rly_status rly_tensors_read(rly_context *cx, const char *path,
                            rly_tensors **out) {
  if (!require(cx, "the context is NULL") ||
      !require(path, "the path is NULL") || !require(out, "the result is NULL"))
    return RLY_MISUSE;
  context_lock(cx);
  rly_status status = read_tensors(cx, path, out);
  context_unlock(cx);
  return status;
}

rly_status rly_tensors_write(const rly_tensors *ts, const char *path) {
  if (!require(ts, "the list of tensors is NULL") ||
      !require(path, "the path is NULL"))
    return RLY_MISUSE;
  context_lock(ts->cx);
  rly_status status = tensors_write(ts->cx, ts->file, path, &ts->cx->diags)
                          ? RLY_OK
                          : status_of_failure(ts->cx, RLY_RUNTIME);
  context_unlock(ts->cx);
  return status;
}

size_t rly_tensors_count(const rly_tensors *ts) {
  return ts ? ts->file->tensors.len : 0;
}

const char *rly_tensors_name(const rly_tensors *ts, size_t i) {
  return i < rly_tensors_count(ts) ? ts->file->tensors.data[i].name : NULL;
}

/* A handle of its own, which outlives the table. */
rly_tensor *rly_tensors_get(const rly_tensors *ts, const char *name) {
  if (!require(ts, "the list of tensors is NULL") ||
      !require(name, "the name is NULL"))
    return NULL;
  Tensor *t = tensor_file_find(ts->file, name);
  return t ? tensor_handle(ts->cx, t) : NULL;
}

/* The name is added first, and gets its tensor when both could be made.  In
 * this order a failure leaves the table as it was, and never with a name that
 * has no tensor. */
static rly_status add_tensor(rly_tensors *ts, const char *name,
                             const Tensor *t) {
  Tensor *view =
      tensor_view(&ts->cx->heap, t, t->rank, t->shape, t->strides, 0);
  if (!view) mem_raise_exhausted(&ts->cx->mem);
  if (view && tensor_file_add_name(ts->file, name, strlen(name))) {
    VEC_LAST(&ts->file->tensors).tensor = view;
    return RLY_OK;
  }
  if (view) tensor_drop(&ts->cx->heap, view);
  return status_of_failure(ts->cx, RLY_LIMIT);
}

/* Does a name read back as it was written?  JSON is UTF-8, and safetensors has
 * a name of its own for text.  A NUL cannot occur, since names are C strings
 * here. */
static bool is_writable(const char *name) {
  size_t len = strlen(name);
  return utf8_check(name, len) == len && strcmp(name, "__metadata__");
}

/* A name may occur once: the formats are tables by name. */
rly_status rly_tensors_add(rly_tensors *ts, const char *name,
                           const rly_tensor *t) {
  if (!require(ts, "the list of tensors is NULL") ||
      !require(name, "the name is NULL") || !require(t, "the tensor is NULL") ||
      !require(t->cx == ts->cx, "the tensor is of another context") ||
      !require(*name && is_writable(name), "the name is none of a tensor") ||
      !require(!tensor_file_find(ts->file, name), "the name is there already"))
    return RLY_MISUSE;
  context_lock(ts->cx);
  rly_status status = add_tensor(ts, name, &t->tensor);
  context_unlock(ts->cx);
  return status;
}

/* --- Text that goes with them ------------------------------------------- */

const char *rly_tensors_metadata(const rly_tensors *ts, const char *key) {
  return ts && key ? tensor_file_metadata(ts->file, key) : NULL;
}

static bool is_utf8(const char *text) {
  return utf8_check(text, strlen(text)) == strlen(text);
}

/* Only safetensors has a place for such texts; other formats leave them out. */
rly_status rly_tensors_add_metadata(rly_tensors *ts, const char *key,
                                    const char *value) {
  if (!require(ts, "the list of tensors is NULL") ||
      !require(key, "the key is NULL") ||
      !require(value, "the value is NULL") ||
      !require(is_utf8(key) && is_utf8(value), "the text is not UTF-8") ||
      !require(!tensor_file_metadata(ts->file, key),
               "the key is there already"))
    return RLY_MISUSE;
  Arena *arena = &ts->file->arena;
  MetaPair pair = {arena_strndup(arena, key, strlen(key)),
                   arena_strndup(arena, value, strlen(value))};
  if (!pair.key || !pair.value || !VEC_RESERVE(&ts->file->metadata, 1))
    return status_of_failure(ts->cx, RLY_LIMIT);
  VEC_PUSH(&ts->file->metadata, pair);
  return RLY_OK;
}
