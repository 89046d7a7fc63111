/* State in files, and from one version of a program to the next.
 *
 * A state file is safetensors.  Its metadata: `format` is 1; `program` the
 * signature, each global that is a value with its type; `types` and `skeletons`
 * have a line for each cell, in order, its path, a blank and its type or
 * skeleton (interp/state.h); `checksum` covers all of these and the tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "io/safetensors.h"
#include "lib/handles.h"

static const char format[] = "1";

/* --- Sums --------------------------------------------------------------- */

static uint64_t add_text(uint64_t hash, const char *text) {
  return hash_add(hash, text, strlen(text) + 1);
}

static uint64_t add_tensor(uint64_t hash, const NamedTensor *entry) {
  const Tensor *t = entry->tensor;
  hash = add_text(hash, entry->name);
  hash = add_text(hash, dtype_name((DType)t->dtype));
  for (int i = 0; i < t->rank; i++)
    hash = hash_add(hash, &t->shape[i], sizeof t->shape[i]);
  return hash_add(hash, t->data, tensor_bytes(t));
}

/* Of everything but the checksum; tensors by name, whatever their order. */
static void checksum(const TensorFile *f, char text[17]) {
  static const char *const keys[] = {"format", "program", "types", "skeletons"};
  uint64_t sum = HASH_EMPTY, tensors = 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *value = tensor_file_metadata(f, keys[i]);
    sum = add_text(sum, value ? value : "");
  }
  for (size_t i = 0; i < f->tensors.len; i++)
    tensors += add_tensor(HASH_EMPTY, &f->tensors.data[i]);
  sum = hash_add(sum, &tensors, sizeof tensors);
  snprintf(text, 17, "%016llx", (unsigned long long)sum);
}

/* --- Packing ------------------------------------------------------------ */

typedef struct Pack {
  rly_session *session;
  TensorFile *file;
  StatePacker packer;
} Pack;

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

/* The session's cells as a table of tensors and texts; false after
 * reporting. */
static bool pack(Pack *p, rly_session *s, bool lenient) {
  *p = (Pack){.session = s, .file = tensor_file_new(session_heap(s->vm))};
  if (!p->file) {
    mem_raise_exhausted(&s->program->cx->mem);
    return false;
  }
  p->packer = (StatePacker){
      .session = s->vm,
      .diags = &s->diags,
      .arena = &p->file->arena,
      .tensor = take_tensor,
      .data = p->file,
      .lenient = lenient,
  };
  VEC_INIT(&p->packer.cells, &s->program->cx->mem);
  return state_pack(&p->packer);
}

static void pack_done(Pack *p) {
  if (!p->file) return;
  VEC_DONE(&p->packer.cells);
  tensor_file_free(p->file);
}

/* --- Writing ------------------------------------------------------------ */

static void add_metadata(TensorFile *f, const char *key, const char *value) {
  MetaPair pair = {key, arena_strndup(&f->arena, value, strlen(value))};
  VEC_PUSH(&f->metadata, pair);
}

static void add_signature(Pack *p, StrBuf *out) {
  const Program *ir = p->session->program->ir;
  VEC_CLEAR(out);
  for (size_t i = 0; i < ir->values.len; i++) {
    const Global *g = ir->values.data[i];
    strbuf_addf(out, "%c%s ", g->kind == GLOBAL_LOCAL ? '%' : '@',
                g->name->text);
    type_print(ir->types, out, g->type, 0);
    strbuf_add_char(out, '\n');
  }
  add_metadata(p->file, "program", strbuf_text(out));
}

static void add_lines(Pack *p, StrBuf *out, const char *key, bool types) {
  VEC_CLEAR(out);
  for (size_t i = 0; i < p->packer.cells.len; i++) {
    const PackedCell *c = &p->packer.cells.data[i];
    strbuf_addf(out, "%s ", c->path);
    strbuf_add(out, types ? c->type : c->skeleton);
    strbuf_add_char(out, '\n');
  }
  add_metadata(p->file, key, strbuf_text(out));
}

static rly_status write_pack(Pack *p, const char *path) {
  rly_session *s = p->session;
  TensorFile *f = p->file;
  StrBuf text;
  char sum[17];
  strbuf_init(&text, &s->program->cx->mem);
  add_metadata(f, "format", format);
  add_signature(p, &text);
  add_lines(p, &text, "types", true);
  add_lines(p, &text, "skeletons", false);
  strbuf_done(&text);
  if (mem_exhausted(&s->program->cx->mem)) return session_failed(s, RLY_LIMIT);
  checksum(f, sum);
  add_metadata(f, "checksum", sum);
  bool written =
      safetensors_write(path, f->tensors.data, f->tensors.len, f->metadata.data,
                        f->metadata.len, f->heap->mem, &s->diags);
  return written ? RLY_OK : session_failed(s, RLY_RUNTIME);
}

static rly_status save(rly_session *s, const char *path) {
  rly_status status = session_start(s, true);
  if (status != RLY_OK) return status;
  Pack p;
  bool packed = pack(&p, s, false);
  status = packed ? write_pack(&p, path) : session_failed(s, RLY_REFUSED);
  pack_done(&p);
  return status;
}

rly_status rly_session_save(rly_session *s, const char *path) {
  if (!path || !session_enter(s)) return RLY_MISUSE;
  rly_status status = save(s, path);
  session_leave(s);
  return status;
}

/* --- Reading ------------------------------------------------------------ */

/* Tensors by name: sorted once. */
typedef struct Source {
  TensorFile *file;
  const NamedTensor **sorted;
  VEC(PackedCell) cells;
} Source;

static int by_name(const void *a, const void *b) {
  return strcmp((*(const NamedTensor *const *)a)->name,
                (*(const NamedTensor *const *)b)->name);
}

static bool sort_tensors(Source *src) {
  size_t n = src->file->tensors.len;
  src->sorted = arena_array(&src->file->arena, n + 1, sizeof *src->sorted);
  if (!src->sorted) return false;
  for (size_t i = 0; i < n; i++) src->sorted[i] = &src->file->tensors.data[i];
  qsort(src->sorted, n, sizeof *src->sorted, by_name);
  return true;
}

static const Tensor *find_tensor(void *data, const char *name) {
  const Source *src = data;
  NamedTensor key = {.name = name};
  const NamedTensor *p = &key;
  const NamedTensor **found = bsearch(&p, src->sorted, src->file->tensors.len,
                                      sizeof *src->sorted, by_name);
  return found ? (*found)->tensor : NULL;
}

static bool invalid(rly_session *s, const char *path, const char *why) {
  diag_error(&s->diags, E0502, SPAN_NONE, "%s is no valid state file: %s", path,
             why);
  return false;
}

/* The next line, cut into what stands before its first blank and the rest. */
static bool next_line(Arena *a, const char **at, const char **path,
                      const char **rest) {
  const char *end = strchr(*at, '\n');
  const char *blank = end ? memchr(*at, ' ', (size_t)(end - *at)) : NULL;
  if (!blank) return false;
  *path = arena_strndup(a, *at, (size_t)(blank - *at));
  *rest = arena_strndup(a, blank + 1, (size_t)(end - blank - 1));
  *at = end + 1;
  return *path && *rest;
}

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

static bool read_source(Source *src, rly_session *s, const char *path) {
  const TensorFile *f = src->file;
  const char *version = tensor_file_metadata(f, "format");
  const char *types = tensor_file_metadata(f, "types");
  const char *skeletons = tensor_file_metadata(f, "skeletons");
  const char *sum = tensor_file_metadata(f, "checksum");
  if (!version || !types || !skeletons || !sum)
    return invalid(s, path, "it holds tensors, but no session's state");
  if (strcmp(version, format))
    return invalid(s, path, "its format is another than 1");
  char found[17];
  checksum(f, found);
  if (strcmp(sum, found))
    return invalid(s, path, "its checksum says that it is damaged");
  if (!read_cells(src, types, skeletons))
    return invalid(s, path, "its lists of cells differ");
  return sort_tensors(src);
}

static bool unpack(rly_session *s, Source *src, const char *label,
                   StrBuf *report) {
  StateUnpacker u = {
      .session = s->vm,
      .diags = &s->diags,
      .label = label,
      .count = src->cells.len,
      .cells = src->cells.data,
      .tensor = find_tensor,
      .data = src,
      .report = report,
  };
  return state_unpack(&u);
}

static rly_status load(rly_session *s, const char *path, StrBuf *report) {
  rly_status status = session_start(s, true);
  if (status != RLY_OK) return status;
  Source src = {.file = safetensors_read(path, session_heap(s->vm), &s->diags)};
  if (!src.file) return session_failed(s, RLY_REFUSED);
  VEC_INIT(&src.cells, &s->program->cx->mem);
  bool ok = read_source(&src, s, path) && unpack(s, &src, path, report);
  VEC_DONE(&src.cells);
  tensor_file_free(src.file);
  return ok ? RLY_OK : session_failed(s, RLY_REFUSED);
}

rly_status rly_session_load(rly_session *s, const char *path) {
  if (!path || !session_enter(s)) return RLY_MISUSE;
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
    if (!copy) mem_raise_exhausted(&s->program->cx->mem);
    if (!copy) return session_failed(s, RLY_LIMIT);
    *report = copy;
    return RLY_OK;
  }
  strbuf_done(text);
  return status;
}

static rly_status carry(rly_session *from, rly_session *to, StrBuf *report) {
  rly_status status = session_start(from, true);
  if (status == RLY_OK) status = session_start(to, true);
  if (status != RLY_OK) return status;
  Pack p;
  bool packed = pack(&p, from, true);
  status = packed ? RLY_OK : session_failed(from, RLY_REFUSED);
  if (packed) {
    Source src = {.file = p.file};
    VEC_INIT(&src.cells, &to->program->cx->mem);
    for (size_t i = 0; i < p.packer.cells.len; i++)
      VEC_PUSH(&src.cells, p.packer.cells.data[i]);
    if (!sort_tensors(&src) || !unpack(to, &src, "the state", report))
      status = session_failed(to, RLY_REFUSED);
    VEC_DONE(&src.cells);
  }
  pack_done(&p);
  return status;
}

rly_status rly_session_carry(rly_session *from, rly_session *to,
                             char **report) {
  if (!from || from == to || !session_enter(from)) return RLY_MISUSE;
  if (!session_enter(to)) {
    session_leave(from);
    return RLY_MISUSE;
  }
  StrBuf text;
  strbuf_init(&text, &to->program->cx->mem);
  rly_status status = carry(from, to, &text);
  status = give_report(to, status, &text, report);
  session_leave(to);
  session_leave(from);
  return status;
}

rly_status rly_session_carry_file(rly_session *to, const char *path,
                                  char **report) {
  if (!path || !session_enter(to)) return RLY_MISUSE;
  StrBuf text;
  strbuf_init(&text, &to->program->cx->mem);
  rly_status status = load(to, path, &text);
  status = give_report(to, status, &text, report);
  session_leave(to);
  return status;
}
