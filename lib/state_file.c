/* State in files, and from one version of a program to the next.
 *
 * A state file is safetensors:
 *
 *   metadata  format      "4"
 *             program     the signature: each global value with its type
 *             types       a line for each cell, in order: path, blank, type
 *             skeletons   likewise: path, blank, skeleton (state/state.h)
 *             shared      a line for each skeleton that others lead to
 *             fields      a line for each constructor that a skeleton names:
 *                         type, dot, constructor, blank, its fields
 *             narrow      a line for each tensor of int4 or uint4, which are
 *                         stored as int8 or uint8: dtype, blank, name
 *             checksum    of all of these and the tensors
 *   tensors   those of the skeletons, by their names
 *
 * A text that is too long for a header is a tensor of bytes of its name; no
 * cell's path is one of these names.  Read, too, are format 3, which does not
 * tell how data types were declared, format 2, whose checksum is slower, and
 * format 1, where nothing is shared.
 *
 * Saving packs the cells (state_pack) and writes; loading reads, compares and
 * unpacks (state_unpack), which sets all cells or none.  To carry a state over
 * to a changed program is the same without the file: what is packed from one
 * session is unpacked in the other, leniently, with a report.
 *
 * Files are not trusted: the checksum tells damage, and everything after it is
 * read as if it could be anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash.h"
#include "base/stop.h"
#include "io/safetensors.h"
#include "lib/handles.h"
#include "lib/inside.h"

static const char format[] = "4";

static bool sums_slowly(const char *version) {
  return !strcmp(version, "1") || !strcmp(version, "2");
}

static bool is_known(const char *version) {
  return sums_slowly(version) || !strcmp(version, "3") ||
         !strcmp(version, format);
}

/* --- Sums --------------------------------------------------------------- */

static uint64_t add_text(uint64_t hash, const char *text) {
  return hash_add(hash, text, strlen(text) + 1);
}

/* FNV-1a goes byte by byte, which takes a second for 256 MB: of elements it has
 * been replaced by XXH3, which is as fast as memory. */
static uint64_t add_elements(uint64_t hash, StopFlag *stop, const Tensor *t,
                             bool slow) {
  XXH3_state_t sum;
  XXH3_64bits_reset(&sum);
  BLOCKS(stop, (int64_t)tensor_bytes(t)) {
    size_t size = (size_t)(end - at);
    if (slow) hash = hash_add(hash, t->data + at, size);
    else XXH3_64bits_update(&sum, t->data + at, size);
  }
  return slow ? hash : hash_add_word(hash, XXH3_64bits_digest(&sum));
}

static uint64_t add_tensor(uint64_t hash, StopFlag *stop,
                           const NamedTensor *entry, bool slow) {
  const Tensor *t = entry->tensor;
  hash = add_text(hash, entry->name);
  hash = add_text(hash, dtype_name((DType)t->dtype));
  for (int i = 0; i < t->rank; i++)
    hash = hash_add(hash, &t->shape[i], sizeof t->shape[i]);
  return add_elements(hash, stop, t, slow);
}

/* Of everything but the checksum; tensors by name, whatever their order.  The
 * sums of the tensors are added, which no order changes.  They find damage, not
 * malice.  Of no use where the heap is told to stop meanwhile. */
static void checksum(const TensorFile *f, char text[17]) {
  static const char *const keys[] = {"format", "program", "types", "skeletons"};
  const char *shared = tensor_file_metadata(f, "shared");
  const char *narrow = tensor_file_metadata(f, "narrow");
  const char *fields = tensor_file_metadata(f, "fields");
  const char *version = tensor_file_metadata(f, "format");
  bool slow = version && sums_slowly(version);
  uint64_t sum = HASH_EMPTY, tensors = 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *value = tensor_file_metadata(f, keys[i]);
    sum = add_text(sum, value ? value : "");
  }
  if (shared) sum = add_text(sum, shared); /* format 1 has none */
  if (narrow) sum = add_text(sum, narrow);
  if (fields) sum = add_text(sum, fields);
  for (size_t i = 0; i < f->tensors.len; i++)
    tensors += add_tensor(HASH_EMPTY, f->heap->stop, &f->tensors.data[i], slow);
  sum = hash_add(sum, &tensors, sizeof tensors);
  snprintf(text, 17, "%016llx", (unsigned long long)sum);
}

/* --- Packing ------------------------------------------------------------ */

typedef struct Pack {
  rly_session *session;
  TensorFile *file;
  StatePacker packer;
} Pack;

/* Takes `t`.  Elements are made contiguous, as the format wants them. */
static bool take_tensor(void *data, const char *name, Tensor *t) {
  TensorFile *f = data;
  Tensor *whole = tensor_contiguous(f->heap, t);
  tensor_drop(f->heap, t);
  if (whole && tensor_file_add_name(f, name, strlen(name))) {
    VEC_LAST(&f->tensors).tensor = whole;
    return true;
  }
  if (whole) tensor_drop(f->heap, whole);
  mem_raise_exhausted(f->heap->mem);
  return false;
}

/* The session's cells as a table of tensors and texts; false after reporting.
 * The tensors of the table are references to the session's. */
static bool pack(Pack *p, rly_session *s, bool lenient) {
  *p = (Pack){.session = s, .file = tensor_file_new(&store_of(s)->heap)};
  if (!p->file) {
    mem_raise_exhausted(s->mem);
    return false;
  }
  p->packer = (StatePacker){
      .session = s->vm,
      .mem = s->mem,
      .diags = &s->diags,
      .arena = &p->file->arena,
      .tensor = take_tensor,
      .data = p->file,
      .lenient = lenient,
  };
  VEC_INIT(&p->packer.cells, s->mem);
  VEC_INIT(&p->packer.shared, s->mem);
  VEC_INIT(&p->packer.ctors, s->mem);
  return state_pack(&p->packer);
}

static void pack_done(Pack *p) {
  if (!p->file) return;
  VEC_DONE(&p->packer.cells);
  VEC_DONE(&p->packer.shared);
  VEC_DONE(&p->packer.ctors);
  tensor_file_free(p->file);
}

/* --- Writing ------------------------------------------------------------ */

static void add_metadata(TensorFile *f, const char *key, const char *value) {
  MetaPair pair = {key, arena_strndup(&f->arena, value, strlen(value))};
  VEC_PUSH(&f->metadata, pair);
}

/* For people who look into a file; loading compares cell by cell. */
static void add_signature(Pack *p, StrBuf *out) {
  const Program *ir = p->session->program->ir;
  VEC_CLEAR(out);
  for (size_t i = 0; i < ir->values.len; i++) {
    const Global *g = ir->values.data[i];
    strbuf_addf(out, "%c%s ", g->kind == GLOBAL_LOCAL ? '%' : '@',
                g->name->text);
    type_print(ir->types, out, g->type, TYPE_TEXT_MOST);
    strbuf_add_char(out, '\n');
  }
  add_metadata(p->file, "program", strbuf_text(out));
}

enum { METADATA_MOST = 1 << 20 }; /* longer texts are tensors */

/* A header of safetensors is read whole and as JSON, so it should stay
 * small. */
static void add_bytes(TensorFile *f, const char *name, const StrBuf *text) {
  int64_t size = (int64_t)text->len;
  Tensor *t = tensor_new(f->heap, DT_UINT8, 1, &size);
  if (t) memcpy(t->data, text->data, text->len);
  if (t && tensor_file_add_name(f, name, strlen(name))) {
    VEC_LAST(&f->tensors).tensor = t;
    return;
  }
  if (t) tensor_drop(f->heap, t);
  mem_raise_exhausted(f->heap->mem);
}

static void add_named(TensorFile *f, const char *name, const StrBuf *text) {
  if (text->len > METADATA_MOST) add_bytes(f, name, text);
  else add_metadata(f, name, strbuf_text(text));
}

/* A path has no blank and no newline, a skeleton and a type have no newline. */
static void add_lines(Pack *p, StrBuf *out, const char *name, bool types) {
  VEC_CLEAR(out);
  for (size_t i = 0; i < p->packer.cells.len; i++) {
    const PackedCell *c = &p->packer.cells.data[i];
    strbuf_addf(out, "%s ", c->path);
    strbuf_add(out, types ? c->type : c->skeleton);
    strbuf_add_char(out, '\n');
  }
  add_named(p->file, name, out);
}

/* Absent where nothing is shared, so that such files are as they were in format
 * 1 but for the number. */
static void add_shared(Pack *p, StrBuf *out) {
  VEC_CLEAR(out);
  for (size_t i = 0; i < p->packer.shared.len; i++) {
    strbuf_add(out, p->packer.shared.data[i]);
    strbuf_add_char(out, '\n');
  }
  if (out->len) add_named(p->file, "shared", out);
}

static void add_fields(Pack *p, StrBuf *out) {
  VEC_CLEAR(out);
  for (size_t i = 0; i < p->packer.ctors.len; i++) {
    const PackedCtor *c = &p->packer.ctors.data[i];
    strbuf_addf(out, "%s ", c->name);
    strbuf_add(out, c->fields);
    strbuf_add_char(out, '\n');
  }
  if (out->len) add_named(p->file, "fields", out);
}

/* safetensors has no name for narrow integers: their tensors are written as the
 * dtype of the same bytes. */
static void widen_narrow(Pack *p, StrBuf *out) {
  TensorFile *f = p->file;
  VEC_CLEAR(out);
  for (size_t i = 0; i < f->tensors.len; i++) {
    NamedTensor *entry = &f->tensors.data[i];
    const Tensor *t = entry->tensor;
    DType dtype = (DType)t->dtype, kept = dtype_kept_as(dtype);
    if (kept == dtype) continue;
    Tensor *view = tensor_view(f->heap, t, t->rank, t->shape, t->strides, 0);
    if (!view) {
      mem_raise_exhausted(f->heap->mem);
      return;
    }
    view->dtype = (uint8_t)kept;
    tensor_drop(f->heap, entry->tensor);
    entry->tensor = view;
    strbuf_addf(out, "%s %s\n", dtype_name(dtype), entry->name);
  }
  if (out->len) add_named(f, "narrow", out);
}

/* The checksum is the last key, as it covers the others. */
static rly_status write_pack(Pack *p, const char *path) {
  rly_session *s = p->session;
  TensorFile *f = p->file;
  StrBuf text;
  char sum[17];
  strbuf_init(&text, s->mem);
  add_metadata(f, "format", format);
  add_signature(p, &text);
  add_lines(p, &text, "types", true);
  add_lines(p, &text, "skeletons", false);
  add_shared(p, &text);
  add_fields(p, &text);
  widen_narrow(p, &text);
  strbuf_done(&text);
  checksum(f, sum);
  if (store_should_stop(store_of(s))) return stopped_or(s, RLY_LIMIT);
  add_metadata(f, "checksum", sum);
  bool written =
      safetensors_write(path, f->tensors.data, f->tensors.len, f->metadata.data,
                        f->metadata.len, f->heap->mem, &s->diags);
  if (!written) return session_failed(s, RLY_RUNTIME);
  log_info(s->program->cx, "saved %s: %zu tensors", path, f->tensors.len);
  return RLY_OK;
}

static rly_status save(rly_session *s, const char *path) {
  rly_status status = session_start(s, true);
  if (status != RLY_OK) return status;
  if (!path_takes_state(path, &s->diags)) return session_failed(s, RLY_RUNTIME);
  Pack p;
  bool packed = pack(&p, s, false);
  status = packed ? write_pack(&p, path) : stopped_or(s, RLY_REFUSED);
  pack_done(&p);
  return status;
}

rly_status rly_session_save(rly_session *s, const char *path) {
  if (!require(path, "the path is NULL") || !session_enter(s))
    return RLY_MISUSE;
  rly_status status = save(s, path);
  session_leave(s);
  return status;
}

/* --- Reading ------------------------------------------------------------ */

typedef struct Source {
  TensorFile *file; /* its tensors are sorted by name */
  VEC(PackedCell) cells;
  VEC(const char *) shared;
  VEC(PackedCtor) ctors;
} Source;

static void source_init(Source *src, TensorFile *file, Mem *mem) {
  *src = (Source){.file = file};
  VEC_INIT(&src->cells, mem);
  VEC_INIT(&src->shared, mem);
  VEC_INIT(&src->ctors, mem);
}

/* The file is left. */
static void source_done(Source *src) {
  VEC_DONE(&src->cells);
  VEC_DONE(&src->shared);
  VEC_DONE(&src->ctors);
}

/* Skeletons name many tensors. */
static void sort_tensors(Source *src) {
  named_tensors_sort(src->file->tensors.data, src->file->tensors.len);
}

static Tensor *tensor_named(const Source *src, const char *name) {
  return named_tensors_find(src->file->tensors.data, src->file->tensors.len,
                            name);
}

static const Tensor *find_tensor(void *data, const char *name) {
  return tensor_named(data, name);
}

/* A file that was not looked at to its end is not called invalid. */
static bool invalid(rly_session *s, const char *path, const char *why) {
  if (!store_should_stop(store_of(s)))
    diag_error(&s->diags, E0502, SPAN_NONE, "%s is no valid state file: %s",
               path, why);
  return false;
}

/* The next line's length; false: there is none. */
static bool find_line(const char *at, size_t *len) {
  const char *end = strchr(at, '\n');
  if (end) *len = (size_t)(end - at);
  return end;
}

/* The next line, cut into what stands before its first blank and the rest.
 * Types and skeletons have blanks; paths have none. */
static bool next_line(Arena *a, const char **at, const char **path,
                      const char **rest) {
  size_t len;
  const char *blank = find_line(*at, &len) ? memchr(*at, ' ', len) : NULL;
  if (!blank) return false;
  const char *end = *at + len;
  *path = arena_strndup(a, *at, (size_t)(blank - *at));
  *rest = arena_strndup(a, blank + 1, (size_t)(end - blank - 1));
  *at = end + 1;
  return *path && *rest;
}

/* Both lists name the same cells in the same order. */
static bool read_cells(Source *src, const char *types, const char *skeletons) {
  Arena *a = &src->file->arena;
  while (*types) {
    PackedCell cell;
    const char *path;
    if (!next_line(a, &types, &cell.path, &cell.type) ||
        !next_line(a, &skeletons, &path, &cell.skeleton) ||
        strcmp(path, cell.path))
      return false;
    VEC_PUSH(&src->cells, cell);
  }
  return !*skeletons;
}

static bool read_shared(Source *src, const char *at) {
  for (size_t len; find_line(at, &len); at += len + 1) {
    const char *line = arena_strndup(&src->file->arena, at, len);
    if (!line) return false;
    VEC_PUSH(&src->shared, line);
  }
  return !*at;
}

static bool read_fields(Source *src, const char *at) {
  Arena *a = &src->file->arena;
  while (*at) {
    PackedCtor c;
    if (!next_line(a, &at, &c.name, &c.fields)) return false;
    VEC_PUSH(&src->ctors, c);
  }
  return true;
}

/* Gives tensors the narrow dtypes back that the lines name. */
static bool read_narrow(Source *src, const char *at) {
  Arena *a = &src->file->arena;
  for (const char *name, *rest; *at;) {
    if (!next_line(a, &at, &name, &rest)) return false;
    DType dtype = dtype_find(name, strlen(name));
    Tensor *t = dtype == DTYPE_NONE ? NULL : tensor_named(src, rest);
    if (!t || t->dtype != dtype_kept_as(dtype) ||
        !elements_are_valid(src->file->heap->stop, dtype, t->data,
                            tensor_bytes(t)))
      return false;
    t->dtype = (uint8_t)dtype;
  }
  return true;
}

/* One of the texts; NULL: there is none.  A tensor of bytes stands for a text
 * that was too long for the header. */
static const char *text_named(Source *src, const char *name) {
  const char *text = tensor_file_metadata(src->file, name);
  const Tensor *t = text ? NULL : find_tensor(src, name);
  if (!t || t->dtype != DT_UINT8 || t->rank != 1) return text;
  return arena_strndup(&src->file->arena, t->data, (size_t)t->shape[0]);
}

/* What is wrong with the file; NULL: nothing.  It is asked in this order: is it
 * a state at all, is its format known, is it undamaged? */
static const char *fault_of(const TensorFile *f) {
  const char *version = tensor_file_metadata(f, "format");
  const char *sum = tensor_file_metadata(f, "checksum");
  if (!version || !sum) return "it holds tensors, but no session's state";
  if (!is_known(version)) return "its format is another than 1 to 4";
  char found[17];
  checksum(f, found);
  return strcmp(sum, found) ? "its checksum says that it is damaged" : NULL;
}

const char *tensors_state_fault(const rly_tensors *ts) {
  context_lock(ts->cx);
  const char *fault = fault_of(ts->file);
  context_unlock(ts->cx);
  return fault;
}

/* Reads what stands beside the tensors; false after reporting that the file is
 * no state, a damaged one, or one that contradicts itself. */
static bool read_source(Source *src, rly_session *s, const char *path) {
  const char *fault = fault_of(src->file);
  if (fault) return invalid(s, path, fault);
  sort_tensors(src);
  const char *types = text_named(src, "types");
  const char *skeletons = text_named(src, "skeletons");
  const char *shared = text_named(src, "shared");
  const char *narrow = text_named(src, "narrow");
  const char *fields = text_named(src, "fields");
  if (!types || !skeletons)
    return invalid(s, path, "it holds tensors, but no session's state");
  if (!read_cells(src, types, skeletons) ||
      (shared && !read_shared(src, shared)))
    return invalid(s, path, "its lists of cells differ");
  if (fields && !read_fields(src, fields))
    return invalid(s, path, "its list of constructors is none");
  return !narrow || read_narrow(src, narrow) ||
         invalid(s, path, "its list of narrow integers does not fit");
}

/* `report` NULL means strict: every cell must fit. */
static bool unpack(rly_session *s, Source *src, const char *label,
                   StrBuf *report) {
  StateUnpacker u = {
      .session = s->vm,
      .mem = s->mem,
      .diags = &s->diags,
      .label = label,
      .count = src->cells.len,
      .cells = src->cells.data,
      .shared_count = src->shared.len,
      .shared = src->shared.data,
      .ctor_count = src->ctors.len,
      .ctors = src->ctors.data,
      .tensor = find_tensor,
      .data = src,
      .report = report,
  };
  return state_unpack(&u);
}

/* The file is read into the session's heap, and all of it is freed before the
 * answer, whatever that is. */
static rly_status load(rly_session *s, const char *path, StrBuf *report) {
  rly_status status = session_start(s, true);
  if (status != RLY_OK) return status;
  TensorFile *file = safetensors_read(path, &store_of(s)->heap, &s->diags);
  if (!file) return stopped_or(s, RLY_REFUSED);
  Source src;
  source_init(&src, file, s->mem);
  bool ok = tensor_file_is_whole(file, path, &s->diags) &&
            read_source(&src, s, path) && unpack(s, &src, path, report);
  source_done(&src);
  if (ok)
    log_info(s->program->cx, "loaded %s: %zu tensors", path, file->tensors.len);
  tensor_file_free(file);
  return ok ? RLY_OK : stopped_or(s, RLY_REFUSED);
}

rly_status rly_session_load(rly_session *s, const char *path) {
  if (!require(path, "the path is NULL") || !session_enter(s))
    return RLY_MISUSE;
  rly_status status = load(s, path, NULL);
  session_leave(s);
  return status;
}

/* --- Carrying over ------------------------------------------------------ */

/* Ends a report: hands its text out, if it is wanted and all went well. */
static rly_status give_report(rly_session *s, rly_status status, StrBuf *text,
                              char **report) {
  char *copy = NULL;
  if (status == RLY_OK && report) {
    copy = text_take(s->program->cx, text);
    if (!copy) return session_out_of_memory(s);
    *report = copy;
    return RLY_OK;
  }
  strbuf_done(text);
  return status;
}

/* Both sessions have been entered.  The tensors are shared between the two
 * sides; what is unpacked copies them. */
static rly_status carry(rly_session *from, rly_session *to, StrBuf *report) {
  rly_status status = session_start(from, true);
  if (status == RLY_OK) status = session_start(to, true);
  if (status != RLY_OK) return status;
  Pack p;
  bool packed = pack(&p, from, true);
  status = packed ? RLY_OK : stopped_or(from, RLY_REFUSED);
  if (packed) {
    Source src;
    source_init(&src, p.file, to->mem);
    for (size_t i = 0; i < p.packer.cells.len; i++)
      VEC_PUSH(&src.cells, p.packer.cells.data[i]);
    for (size_t i = 0; i < p.packer.shared.len; i++)
      VEC_PUSH(&src.shared, p.packer.shared.data[i]);
    for (size_t i = 0; i < p.packer.ctors.len; i++)
      VEC_PUSH(&src.ctors, p.packer.ctors.data[i]);
    sort_tensors(&src);
    if (!unpack(to, &src, "the state", report))
      status = stopped_or(to, RLY_REFUSED);
    source_done(&src);
  }
  pack_done(&p);
  return status;
}

/* `from` is taken first; when `to` is busy, it is let go again. */
rly_status rly_session_carry(rly_session *from, rly_session *to,
                             char **report) {
  if (!require(from != to, "it is one session") || !session_enter(from))
    return RLY_MISUSE;
  if (!session_enter(to)) {
    session_leave(from);
    return RLY_MISUSE;
  }
  StrBuf text;
  strbuf_init(&text, to->mem);
  rly_status status = carry(from, to, &text);
  status = give_report(to, status, &text, report);
  session_leave(to);
  session_leave(from);
  return status;
}

rly_status rly_session_carry_file(rly_session *to, const char *path,
                                  char **report) {
  if (!require(path, "the path is NULL") || !session_enter(to))
    return RLY_MISUSE;
  StrBuf text;
  strbuf_init(&text, to->mem);
  rly_status status = load(to, path, &text);
  status = give_report(to, status, &text, report);
  session_leave(to);
  return status;
}
