/* Reading an index of safetensors files, as Hugging Face's libraries write it:
 *
 *   {"metadata": {...}, "weight_map": {"w": "model-00001-of-00002.safetensors",
 *                                      "b":
 * "model-00002-of-00002.safetensors"}}
 *
 * A tensor of a file that the index looks for in another one is passed over:
 * that is how tied weights are written twice.  One that the index does not know
 * at all shows that index and files do not belong together. */
#include "io/shards.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "io/safetensors.h"

typedef struct Reader {
  const char *path;
  FileMap *map;
  json_t *index;
  json_t *weight_map; /* borrowed; null for each tensor that was found */
  size_t held;        /* bytes entered for the index's tree */
  VEC(const char *) shards;
  TensorFile *file;
  Diags *diags;
} Reader;

#define invalid(r, ...) \
  file_invalid((r)->diags, (r)->path, "index", __VA_ARGS__)

static bool out_of_memory(const Reader *r) {
  return file_out_of_memory(r->diags, r->path);
}

static bool parse_index(Reader *r) {
  const char *text = r->map->data;
  size_t len = r->map->size;
  if (len > HEADER_MAX)
    return invalid(r, "it is larger than %d bytes", HEADER_MAX);
  size_t size = json_tree_size(text, len);
  if (!mem_hold(r->map->mem, size)) return out_of_memory(r);
  r->held = size;
  json_error_t error;
  r->index = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
  if (!r->index)
    return invalid(r, "it is not JSON, or names one thing twice (line %d)",
                   error.line);
  r->weight_map = json_object_get(r->index, "weight_map");
  return json_is_object(r->weight_map) ||
         invalid(r, "it has no table `weight_map`");
}

/* The files, each once.  A name with a slash would lead out of the folder. */
static bool list_shards(Reader *r) {
  const char *name;
  json_t *value;
  if (!VEC_RESERVE(&r->shards, json_object_size(r->weight_map)))
    return out_of_memory(r);
  json_object_foreach(r->weight_map, name, value) {
    const char *shard = json_string_value(value);
    if (!shard || !*shard || strchr(shard, '/'))
      return invalid(r, "tensor `%s` is said to be in no file of its folder",
                     name);
    const char *copy = arena_strndup(&r->file->arena, shard, strlen(shard));
    if (!copy) return out_of_memory(r);
    VEC_PUSH(&r->shards, copy);
  }
  size_t n = 0;
  if (r->shards.len)
    qsort(r->shards.data, r->shards.len, sizeof *r->shards.data,
          tensor_file_by_name);
  for (size_t i = 0; i < r->shards.len; i++)
    if (!n || strcmp(r->shards.data[n - 1], r->shards.data[i]))
      r->shards.data[n++] = r->shards.data[i];
  r->shards.len = n;
  return true;
}

/* Does the index say that a tensor is in this shard, in which it was found?
 * *here is the answer; false after reporting. */
static bool belongs(Reader *r, const char *shard, const char *name,
                    bool *here) {
  json_t *entry = json_object_get(r->weight_map, name);
  if (!entry)
    return invalid(r, "it does not name `%s`, a tensor of %s", name, shard);
  const char *where = json_string_value(entry);
  *here = where && !strcmp(where, shard);
  if (*here && json_object_set_new(r->weight_map, name, json_null()))
    return out_of_memory(r);
  return true;
}

/* Moves the tensors that belong here out of a shard. */
static bool take_tensors(Reader *r, const char *shard, TensorFile *from) {
  bool here;
  for (size_t i = 0; i < from->tensors.len; i++) {
    NamedTensor *t = &from->tensors.data[i];
    if (!belongs(r, shard, t->name, &here)) return false;
    if (!here) continue;
    if (!tensor_file_add_name(r->file, t->name, strlen(t->name)))
      return out_of_memory(r);
    VEC_LAST(&r->file->tensors).tensor = t->tensor;
    t->tensor = NULL;
  }
  return true;
}

static bool take_left_out(Reader *r, const char *shard, TensorFile *from) {
  Arena *arena = &r->file->arena;
  bool here;
  for (size_t i = 0; i < from->left_out.len; i++) {
    LeftOut t = from->left_out.data[i];
    if (!belongs(r, shard, t.name, &here)) return false;
    if (!here) continue;
    t.name = arena_strndup(arena, t.name, strlen(t.name));
    t.why = arena_strndup(arena, t.why, strlen(t.why));
    if (!t.name || !tensor_file_leave_out(r->file, t.name, t.why))
      return out_of_memory(r);
  }
  return true;
}

static bool read_shard(Reader *r, const char *shard) {
  const char *slash = strrchr(r->path, '/');
  int folder = slash ? (int)(slash + 1 - r->path) : 0;
  const char *path =
      arena_printf(&r->file->arena, "%.*s%s", folder, r->path, shard);
  if (!path) return out_of_memory(r);
  TensorFile *from = safetensors_read(path, r->file->heap, r->diags);
  if (!from) return false;
  bool fine = take_tensors(r, shard, from) && take_left_out(r, shard, from);
  tensor_file_free(from);
  return fine;
}

static bool read_shards(Reader *r) {
  for (size_t i = 0; i < r->shards.len; i++)
    if (!read_shard(r, r->shards.data[i])) return false;
  const char *name;
  json_t *entry;
  json_object_foreach(r->weight_map, name, entry) if (
      json_is_string(entry)) return invalid(r, "tensor `%s` is not in %s", name,
                                            json_string_value(entry));
  return true;
}

/* One way out, which frees everything but the result. */
TensorFile *shards_read(const char *path, Heap *heap, Diags *diags) {
  Reader r = {.path = path, .diags = diags};
  r.map = file_map(heap->mem, path, diags);
  if (!r.map) return NULL;
  r.file = tensor_file_new(heap);
  VEC_INIT(&r.shards, heap->mem);
  bool fine = r.file ? parse_index(&r) && list_shards(&r) && read_shards(&r)
                     : out_of_memory(&r);
  if (!fine) {
    tensor_file_free(r.file);
    r.file = NULL;
  }
  VEC_DONE(&r.shards);
  json_decref(r.index);
  mem_let_go(heap->mem, r.held);
  file_map_drop(r.map);
  return r.file;
}
