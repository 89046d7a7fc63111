/* Zip archives of arrays, through libzip.  npy_header.c reads and writes the
 * headers of the arrays.
 *
 * Reading goes in two passes.  The first goes through the directory and refuses
 * what cannot be read or cannot be true, before memory is allocated for any of
 * it: encryption, unknown methods, and sizes beyond what deflate can give.  An
 * archive of a few KB could otherwise claim terabytes (a zip bomb), also by
 * entries that overlap.  The second reads each entry into a buffer of its
 * claimed size, and refuses one that is shorter or longer.
 *
 * Elements are copied, as they are compressed or lie wherever the archive has
 * them. */
#include "io/npz.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "io/libzip.h"
#include "io/npy_header.h"

/* --- Reading ------------------------------------------------------------- */

enum {
  ARCHIVE_LEAST = 22,  /* size of an empty archive */
  DEFLATE_MOST = 1032, /* deflate's largest ratio of compression */
};

/* An entry in the archive's directory; its name is in file->tensors. */
typedef struct Entry {
  uint64_t index, size;
} Entry;

/* Lives on the stack of npz_read(), which frees all of it but `file`. */
typedef struct Reader {
  const char *path;
  Libzip *zip;
  zip_t *archive;
  uint64_t unclaimed; /* bytes of the archive not yet claimed by an entry */
  char *header;       /* room for NPY_HEADER_MOST bytes */
  TensorFile *file;
  VEC(Entry) entries;
  Diags *diags;
} Reader;

#define invalid(r, ...) file_invalid((r)->diags, (r)->path, "npz", __VA_ARGS__)

static bool out_of_memory(const Reader *r) {
  return file_out_of_memory(r->diags, r->path);
}

/* Is the entry's claimed size possible?  Deflate bounds the ratio.  Entries
 * that overlap, as in zip bombs, would together claim more bytes than the
 * archive has.  DEFLATE_MOST is the largest ratio that deflate's format can
 * have: 258 bytes from 2 bits, so 1032 to 1.  An entry is allowed a size that
 * is large, as long as it is possible: zeros do deflate well, and a network's
 * first weights may be zeros. */
static bool check_sizes(Reader *r, const zip_stat_t *info) {
  uint64_t most = info->comp_size;
  if (info->comp_method == ZIP_CM_DEFLATE &&
      __builtin_mul_overflow(most, DEFLATE_MOST, &most))
    most = UINT64_MAX;
  if (info->comp_size > r->unclaimed)
    return invalid(r, "entry `%s` takes %llu bytes, but only %llu are left",
                   info->name, (unsigned long long)info->comp_size,
                   (unsigned long long)r->unclaimed);
  r->unclaimed -= info->comp_size;
  if (info->size > most || info->size > SIZE_MAX)
    return invalid(r, "entry `%s` cannot hold the %llu bytes that it claims",
                   info->name, (unsigned long long)info->size);
  return info->size >= NPY_PREFIX ||
         invalid(r, "entry `%s` is too short", info->name);
}

static bool check_method(Reader *r, const zip_stat_t *info) {
  if (info->encryption_method != ZIP_EM_NONE)
    return invalid(r, "entry `%s` is encrypted", info->name);
  return info->comp_method == ZIP_CM_STORE ||
         info->comp_method == ZIP_CM_DEFLATE ||
         invalid(r,
                 "entry `%s` is compressed by method %d; only stored and "
                 "deflated ones are read",
                 info->name, info->comp_method);
}

/* Adds the array's name: the entry's without .npy.  Names become names of
 * params, so they must be texts. */
static bool add_name(Reader *r, const char *name) {
  size_t len = strlen(name);
  if (len < 5 || strcmp(name + len - 4, ".npy"))
    return invalid(r, "entry `%s` is no .npy file", name);
  if (utf8_check(name, len) != len)
    return invalid(r, "an entry's name is not UTF-8");
  return tensor_file_add_name(r->file, name, len - 4) || out_of_memory(r);
}

/* Fields that the directory does not have (info.valid) are not guessed. */
static bool list_entry(Reader *r, uint64_t index) {
  const uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                          ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t info;
  if (r->zip->stat_index(r->archive, index, 0, &info) != 0 ||
      (info.valid & needed) != needed)
    return invalid(r, "its directory is damaged");
  if (!check_method(r, &info) || !check_sizes(r, &info) ||
      !add_name(r, info.name))
    return false;
  if (!VEC_RESERVE(&r->entries, 1)) return out_of_memory(r);
  VEC_PUSH(&r->entries, (Entry){.index = index, .size = info.size});
  return true;
}

/* Names must differ, or an array could not be asked for. */
static bool list_entries(Reader *r) {
  zip_int64_t n = r->zip->get_num_entries(r->archive, 0);
  for (zip_int64_t i = 0; i < n; i++)
    if (!list_entry(r, (uint64_t)i)) return false;
  return tensor_file_check_names(r->file, r->path, "npz", r->diags);
}

/* The bytes of an entry while they are read. */
typedef struct Stream {
  Reader *reader;
  const char *name; /* the array's */
  uint64_t size;
  zip_file_t *file;
} Stream;

static bool stream_damaged(Stream *s) {
  zip_error_t *error = s->reader->zip->file_get_error(s->file);
  const char *why = s->reader->zip->error_strerror(error);
  return invalid(s->reader, "entry `%s` is damaged: %s", s->name, why);
}

/* libzip may give less than was asked for. */
static bool stream_read(Stream *s, char *to, size_t size) {
  while (size > 0) {
    zip_int64_t n = s->reader->zip->fread(s->file, to, size);
    if (n < 0) return stream_damaged(s);
    if (n == 0) return invalid(s->reader, "entry `%s` ends early", s->name);
    to += n;
    size -= (size_t)n;
  }
  return true;
}

/* The entry must end here.  At its end libzip compares the checksum. */
static bool stream_ends(Stream *s) {
  char byte;
  zip_int64_t n = s->reader->zip->fread(s->file, &byte, 1);
  if (n < 0) return stream_damaged(s);
  return n == 0 ||
         invalid(s->reader, "entry `%s` is longer than it claims", s->name);
}

/* The rest is read all the same, as it may show that the entry is damaged.
 * False: there is nothing to read, for one reason or another. */
static bool leave_out(Stream *s, const NpyHeader *h) {
  Reader *r = s->reader;
  const char *why = npy_misfit(h, &r->file->arena);
  for (uint64_t left = s->size - h->size; left > 0;) {
    size_t size = left < NPY_HEADER_MOST ? (size_t)left : NPY_HEADER_MOST;
    if (stop_seen(r->file->heap->stop) || !stream_read(s, r->header, size))
      return false;
    left -= size;
  }
  if (stream_ends(s) && !tensor_file_leave_out(r->file, s->name, why))
    out_of_memory(r);
  return false;
}

/* First the prefix, which says how long the header is; then the rest of it.
 * False: there is nothing to read, for one reason or another. */
static bool read_header(Stream *s, NpyHeader *h) {
  char *bytes = s->reader->header;
  if (!stream_read(s, bytes, NPY_PREFIX)) return false;
  size_t size = npy_header_size(bytes), known = NPY_PREFIX;
  if (size > known && size <= NPY_HEADER_MOST && size <= s->size) {
    if (!stream_read(s, bytes + known, size - known)) return false;
    known = size;
  }
  const char *why = npy_header_read(bytes, known, s->size, h);
  if (why)
    return invalid(s->reader, "entry `%s` is no valid npy file: %s", s->name,
                   why);
  return npy_fits(h) || leave_out(s, h);
}

/* A bool that is neither 0 nor 1 would break kernels. */
static bool read_elements(Stream *s, const NpyHeader *h, char *data) {
  if (!stream_read(s, data, h->bytes) || !stream_ends(s)) return false;
  return elements_are_valid(NULL, h->dtype, data, h->bytes) ||
         invalid(s->reader, "entry `%s` holds an element that is no %s",
                 s->name, dtype_name(h->dtype));
}

/* The buffer is allocated here, after the sizes were found possible.  NULL
 * where it is left out, too. */
static Tensor *read_array(Stream *s) {
  Reader *r = s->reader;
  Heap *heap = r->file->heap;
  NpyHeader h;
  if (!read_header(s, &h)) return NULL;
  Buffer *buffer = buffer_new(heap, h.bytes);
  if (buffer && !read_elements(s, &h, buffer->data)) {
    buffer_drop(heap, buffer);
    return NULL;
  }
  Tensor *t = buffer ? tensor_on_buffer_take(heap, h.dtype, (int)h.rank,
                                             h.shape, h.strides, buffer)
                     : NULL;
  if (!t) out_of_memory(r);
  return t;
}

/* The tensor stays NULL where the array is left out. */
static bool read_entry(Reader *r, size_t i) {
  const Entry *e = &r->entries.data[i];
  NamedTensor *named = &r->file->tensors.data[i];
  Stream s = {.reader = r, .name = named->name, .size = e->size};
  s.file = r->zip->fopen_index(r->archive, e->index, 0);
  if (!s.file)
    return invalid(r, "entry `%s`: %s", named->name,
                   r->zip->strerror(r->archive));
  size_t left_out = r->file->left_out.len;
  named->tensor = read_array(&s);
  r->zip->fclose(s.file);
  return named->tensor || r->file->left_out.len > left_out;
}

static bool read_archive(Reader *r) {
  if (!list_entries(r)) return false;
  for (size_t i = 0; i < r->entries.len; i++)
    if (!read_entry(r, i)) return false;
  tensor_file_drop_left_out(r->file);
  return true;
}

/* Opens the archive on the mapping; discard closes it.  libzip would accept an
 * empty file as an archive.  On failure the source is still ours; afterwards it
 * is the archive's. */
static bool open_archive(Reader *r, const FileMap *map) {
  zip_error_t error;
  if (map->size < ARCHIVE_LEAST)
    return invalid(r, "it has only %zu bytes", map->size);
  r->zip->error_init(&error);
  zip_source_t *source =
      r->zip->source_buffer_create(map->data, map->size, 0, &error);
  if (source) r->archive = r->zip->open_from_source(source, ZIP_RDONLY, &error);
  if (source && !r->archive) r->zip->source_free(source);
  if (!r->archive) invalid(r, "%s", r->zip->error_strerror(&error));
  r->zip->error_fini(&error);
  return r->archive != NULL;
}

static bool read_mapped(Reader *r, Heap *heap, const FileMap *map) {
  r->unclaimed = map->size;
  r->file = tensor_file_new(heap);
  r->header = mem_alloc(heap->mem, NPY_HEADER_MOST);
  if (!r->file || !r->header) return out_of_memory(r);
  return open_archive(r, map) && read_archive(r);
}

/* Everything is taken down in the reverse order; the archive before the mapping
 * that it reads. */
TensorFile *npz_read(const char *path, Heap *heap, Diags *diags) {
  Libzip zip;
  Reader r = {.path = path, .zip = &zip, .diags = diags};
  FileMap *map = file_map(heap->mem, path, diags);
  if (!map || !libzip_load(&zip, path, E0501, diags)) {
    if (map) file_map_drop(map);
    return NULL;
  }
  VEC_INIT(&r.entries, heap->mem);
  if (!read_mapped(&r, heap, map)) {
    tensor_file_free(r.file);
    r.file = NULL;
  }
  if (r.archive) zip.discard(r.archive);
  mem_free(heap->mem, r.header, NPY_HEADER_MOST);
  VEC_DONE(&r.entries);
  libzip_unload(&zip);
  file_map_drop(map);
  return r.file;
}

/* --- The stream as libzip sees it ----------------------------------------- */

/* The stream that libzip writes a new archive to.  A callback source, since
 * libzip is to write to the stream of file.c and not to a path of its own. */
typedef struct Target {
  FILE *stream;
  Libzip *zip;
  zip_error_t error;
} Target;

static zip_int64_t target_fail(Target *t, int error, int system_error) {
  t->zip->error_set(&t->error, error, system_error);
  return -1;
}

static zip_int64_t target_result(Target *t, bool fine, zip_int64_t result) {
  return fine ? result : target_fail(t, ZIP_ER_WRITE, errno);
}

static zip_int64_t target_seek(Target *t, void *data, zip_uint64_t len) {
  const zip_source_args_seek_t *to = data;
  if (len < sizeof *to) return target_fail(t, ZIP_ER_INVAL, 0);
  return target_result(t, fseeko(t->stream, to->offset, to->whence) == 0, 0);
}

static zip_int64_t target_stat(Target *t, void *data, zip_uint64_t len) {
  zip_stat_t *info = data;
  if (len < sizeof *info) return target_fail(t, ZIP_ER_INVAL, 0);
  *info = (zip_stat_t){.valid = ZIP_STAT_SIZE};
  return sizeof *info;
}

/* libzip's callback for writing.  The archive is new, so nothing is ever read.
 * The commands that are not listed are for reading, or say begin and commit,
 * which a stream needs not know. */
static zip_int64_t target_do(void *target, void *data, zip_uint64_t len,
                             zip_source_cmd_t command) {
  Target *t = target;
  switch (command) {
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT: return target_stat(t, data, len);
    case ZIP_SOURCE_ERROR: return t->zip->error_to_data(&t->error, data, len);
    case ZIP_SOURCE_WRITE: {
      bool fine = fwrite(data, 1, len, t->stream) == len;
      return target_result(t, fine, (zip_int64_t)len);
    }
    case ZIP_SOURCE_SEEK_WRITE: return target_seek(t, data, len);
    case ZIP_SOURCE_TELL_WRITE: {
      off_t at = ftello(t->stream);
      return target_result(t, at >= 0, at);
    }
    default: return 0;
  }
}

/* --- Writing ------------------------------------------------------------- */

typedef struct Writer {
  Libzip *zip;
  zip_t *archive;
  Arena arena; /* holds names, headers, and copies of strided elements */
} Writer;

/* The elements in row-major order, or NULL. */
static const char *contiguous_elements(Arena *arena, const Tensor *t) {
  if (tensor_is_contiguous(t)) return t->data;
  char *data = arena_alloc(arena, tensor_bytes(t));
  if (!data) return NULL;
  Tensor copy = tensor_on_data(t->dtype, t->rank, t->shape, data);
  tensor_copy_into(&copy, t);
  return data;
}

/* The bytes of the .npy file as a source for libzip, or NULL.  They must live
 * as long as the arena and the tensor.  Header and elements are two fragments:
 * the elements are not copied to be put after the header. */
static zip_source_t *array_source(Writer *w, const Tensor *t) {
  StrBuf header;
  strbuf_init(&header, w->arena.mem);
  npy_header_add(&header, t);
  const char *data = contiguous_elements(&w->arena, t);
  char *prefix = arena_copy(&w->arena, header.data, header.len);
  zip_buffer_fragment_t parts[] = {
      {(zip_uint8_t *)prefix, header.len},
      {(zip_uint8_t *)data, tensor_bytes(t)},
  };
  strbuf_done(&header);
  if (!prefix || !data || mem_exhausted(w->arena.mem)) return NULL;
  return w->zip->source_buffer_fragment_create(parts, 2, 0, NULL);
}

/* libzip takes the source when file_add() succeeds; until then it is ours to
 * free.  Arrays are stored, not deflated, as float weights hardly get smaller;
 * and all entries have the same date, so that the same tensors give the same
 * file, byte for byte, whenever they are written. */
static bool add_array(Writer *w, const NamedTensor *array) {
  enum { JANUARY_1980 = 1 << 5 | 1 };
  const char *name = arena_printf(&w->arena, "%s.npy", array->name);
  zip_source_t *source = name ? array_source(w, array->tensor) : NULL;
  if (!source) {
    w->zip->error_set(w->zip->get_error(w->archive), ZIP_ER_MEMORY, 0);
    return false;
  }
  zip_int64_t at = w->zip->file_add(w->archive, name, source, ZIP_FL_ENC_UTF_8);
  if (at < 0) {
    w->zip->source_free(source);
    return false;
  }
  uint64_t index = (uint64_t)at;
  return w->zip->set_file_compression(w->archive, index, ZIP_CM_STORE, 0) ==
             0 &&
         w->zip->file_set_dostime(w->archive, index, 0, JANUARY_1980, 0) == 0;
}

static bool add_arrays(Writer *w, const NamedTensor *tensors, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!add_array(w, &tensors[i])) return false;
  return w->zip->close(w->archive) == 0;
}

/* libzip writes no archive without entries; such a file is only the end record.
 * The rest of the 22 bytes is zero: no entries, no comment. */
static bool write_empty(FILE *stream) {
  static const char end[ARCHIVE_LEAST] = "PK\5\6";
  fwrite(end, 1, sizeof end, stream);
  return true;
}

/* Closing the archive writes it; on a failure it is discarded instead, and
 * file.c removes the temporary file. */
static bool write_arrays(Libzip *zip, FileOut *out, const NamedTensor *tensors,
                         size_t n, Mem *mem) {
  if (n == 0) return write_empty(out->stream);
  Target target = {.stream = out->stream, .zip = zip};
  Writer w = {.zip = zip};
  zip->error_init(&target.error);
  arena_init(&w.arena, mem);
  zip_source_t *source =
      zip->source_function_create(target_do, &target, &target.error);
  if (source)
    w.archive =
        zip->open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &target.error);
  if (source && !w.archive) zip->source_free(source);
  bool fine = w.archive && add_arrays(&w, tensors, n);
  if (!fine)
    diag_error(out->diags, E0507, SPAN_NONE, "cannot write %s: %s", out->path,
               w.archive ? zip->strerror(w.archive)
                         : zip->error_strerror(&target.error));
  if (!fine && w.archive) zip->discard(w.archive);
  zip->error_fini(&target.error);
  arena_done(&w.arena);
  return fine;
}

/* An entry has 16 bits for the length of its name, which ends in .npy.  libzip
 * cuts a longer one without a word. */
static bool name_fits(const char *path, const char *name, Diags *diags) {
  enum { NAME_MOST = UINT16_MAX - 4 };
  size_t len = strlen(name);
  if (len <= NAME_MOST) return true;
  diag_error(diags, E0507, SPAN_NONE,
             "cannot write %s: a tensor's name has %zu bytes, but an archive "
             "has room for %d",
             path, len, NAME_MOST);
  return false;
}

/* libzip is loaded before the file is opened: without it nothing is touched. */
bool npz_write(const char *path, const NamedTensor *tensors, size_t n, Mem *mem,
               Diags *diags) {
  Libzip zip;
  FileOut out;
  for (size_t i = 0; i < n; i++) {
    DType dtype = (DType)tensors[i].tensor->dtype;
    if (!dtype_has_name(path, tensors[i].name, dtype, dtype_info[dtype].npy,
                        diags) ||
        !name_fits(path, tensors[i].name, diags))
      return false;
  }
  if (!libzip_load(&zip, path, E0507, diags)) return false;
  bool fine = file_out_open(&out, mem, path, diags);
  if (fine) {
    fine = write_arrays(&zip, &out, tensors, n, mem);
    for (size_t i = 0; i < n; i++) tensor_was_written(&out, tensors[i].tensor);
    fine = file_out_close(&out, fine);
  }
  libzip_unload(&zip);
  return fine;
}
