/* The #[metadata] section.  TVM writes a graph of nodes as a JSON array; a
 * node's `data` lists indices of other nodes, its `attrs` map field names to
 * text.
 *
 *   {"root": 1, "nodes": [
 *      {"type_key": ""},                                       node 0: null
 *      {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
 *      {"type_key": "Array", "data": [3]},                     its entries
 *      {"type_key": "relay.Constant", "attrs": {"data": "0"}}],
 *    "b64ndarrays": ["..."]}                                   array 0
 *
 * The root is a map from keys to arrays of entries, and meta[key][n] in the
 * text is entry n of the key's array.
 *
 * The text comes from outside: every index and size is checked, and the work is
 * bounded.  jansson does not take memory from the program's Mem, so the size of
 * its tree is bounded from the text and entered there beforehand (load).
 * metadata.h says how numbers in records are read. */
#include "base/base64.h"
#include "base/json.h"
#include "parser/metadata.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "parser/literal.h"
#include "tensor/ndarray.h"

typedef struct Reader {
  Program *program;
  Unit *unit;
  json_t *nodes, *arrays; /* JSON arrays */
  bool *listed;           /* by node: a member of some list */
  size_t node_count;
  int values; /* decoded so far */
  bool failed;
  size_t held; /* bytes entered for the document's tree */
} Reader;

/* When memory runs out the text is not blamed: the parser gives up. */
static void *fail(Reader *r, const char *what) {
  if (!r->failed && !mem_exhausted(r->program->mem)) {
    diag_error(r->program->diags, E0007, r->unit->meta_span,
               "the metadata section is damaged: %s", what);
  }
  r->failed = true;
  return NULL;
}

/* Reports that memory ran out.  To be called where an array's text and size
 * have been checked, so that only an allocation can have failed. */
static void *no_memory(Reader *r) {
  mem_raise_exhausted(r->program->mem);
  r->failed = true;
  return NULL;
}

/* Every loop over the section ends when memory runs out. */
static bool stopped(const Reader *r) {
  return r->failed || mem_exhausted(r->program->mem);
}

/* --- Nodes -------------------------------------------------------------- */

/* NULL for an index that no node has; jansson's getters take a NULL object and
 * answer NULL, so chains of them need no checks between. */
static json_t *node_at(const Reader *r, int64_t index) {
  bool valid = index >= 0 && (size_t)index < r->node_count;
  return valid ? json_array_get(r->nodes, (size_t)index) : NULL;
}

static const char *node_key(const json_t *node) {
  const char *key = json_string_value(json_object_get(node, "type_key"));
  return key ? key : "";
}

static bool node_is(const json_t *node, const char *key) {
  return strcmp(node_key(node), key) == 0;
}

static const char *node_attr(const json_t *node, const char *name) {
  return json_string_value(
      json_object_get(json_object_get(node, "attrs"), name));
}

/* Entry i of a node's `data`: the index of another node, or -1. */
static int64_t node_child(const json_t *node, size_t i) {
  const json_t *entry = json_array_get(json_object_get(node, "data"), i);
  return json_is_integer(entry) ? json_integer_value(entry) : -1;
}

static size_t node_children(const json_t *node) {
  return json_array_size(json_object_get(node, "data"));
}

static bool read_int(const char *text, int64_t *out) {
  char *end;
  bool number = (*text >= '0' && *text <= '9') ||
                (*text == '-' && text[1] >= '0' && text[1] <= '9');
  if (!number) return false;
  *out = strtoll(text, &end, 10);
  return *end == '\0';
}

/* A number in a record that is also a member of some list is most likely not
 * that record's: see read_field. */
static void mark_listed(Reader *r) {
  for (size_t i = 0; i < r->node_count; i++) {
    const json_t *node = json_array_get(r->nodes, i);
    for (size_t k = 0; k < node_children(node); k++) {
      int64_t child = node_child(node, k);
      if (node_at(r, child)) r->listed[child] = true;
    }
  }
}

/* --- Tensors ------------------------------------------------------------ */

/* The array's own header says rank, shape and dtype (tensor/ndarray.h); it must
 * account for all the bytes. */
static Tensor *constant_of(Reader *r, const uint8_t *bytes, size_t size) {
  NdArray a;
  const char *problem = ndarray_read(bytes, size, &a);
  if (!problem) problem = ndarray_misfit(&a);
  if (problem) return fail(r, problem);
  if ((const uint8_t *)a.data + a.size != bytes + size)
    return fail(r, "an array's size does not fit its shape");
  Program *p = r->program;
  Tensor *t = tensor_new(p->heap, a.dtype, a.rank, a.shape);
  if (!t) return no_memory(r);
  ndarray_copy_elements(t->data, &a);
  t = program_constant_take(p, t);
  return t ? t : no_memory(r);
}

static Tensor *read_constant(Reader *r, const json_t *node) {
  int64_t index;
  const char *data = node_attr(node, "data");
  if (!data || !read_int(data, &index) || index < 0)
    return fail(r, "a constant without data");
  const json_t *text = json_array_get(r->arrays, (size_t)index);
  if (!json_is_string(text)) return fail(r, "an array is missing");
  size_t len = json_string_length(text), room = len / 4 * 3 + 3;
  uint8_t *bytes = mem_alloc(r->program->mem, room);
  if (!bytes) return no_memory(r);
  size_t size = base64_decode(json_string_value(text), len, bytes);
  Tensor *t = size == SIZE_MAX ? fail(r, "an array is no base64")
                               : constant_of(r, bytes, size);
  mem_free(r->program->mem, bytes, room);
  return t;
}

/* --- Values of records -------------------------------------------------- */

static const AttrExpr *read_node_value(Reader *r, int64_t index, int depth);

static const char *copy_text(Reader *r, const char *text) {
  const char *copy = arena_strndup(&r->unit->arena, text, strlen(text));
  return copy ? copy : "";
}

static void string_value(Reader *r, AttrExpr *x, const char *text) {
  x->kind = AX_STRING;
  x->text = copy_text(r, text ? text : "");
  x->count = (int)strlen(x->text);
}

/* An IntImm's dtype is that of the attribute; a bool is an IntImm there,
 * too. */
static void int_value(AttrExpr *x, const json_t *node) {
  const char *value = node_attr(node, "value");
  const char *dtype = node_attr(node, "dtype");
  x->dtype = dtype ? dtype_find(dtype, strlen(dtype)) : DTYPE_NONE;
  x->kind = x->dtype == DT_BOOL ? AX_BOOL : AX_INT;
  x->integer = value ? strtoll(value, NULL, 10) : 0;
}

static void float_value(AttrExpr *x, const json_t *node) {
  const char *value = node_attr(node, "value");
  const char *dtype = node_attr(node, "dtype");
  x->kind = AX_FLOAT;
  x->dtype = dtype ? dtype_find(dtype, strlen(dtype)) : DT_FLOAT64;
  x->real = value ? literal_f64(value, NULL) : 0;
}

static void list_value(Reader *r, AttrExpr *x, const json_t *node, int depth) {
  size_t n = node_children(node);
  const AttrExpr **items = ARENA_ARRAY(&r->unit->arena, const AttrExpr *, n);
  for (size_t i = 0; items && i < n && !stopped(r); i++)
    items[i] = read_node_value(r, node_child(node, i), depth + 1);
  x->kind = AX_LIST;
  x->items = items;
  x->count = items && !stopped(r) ? (int)n : 0;
}

static AttrExpr *value_new(Reader *r) {
  AttrExpr *x = ARENA_NEW(&r->unit->arena, AttrExpr);
  x->span = r->unit->meta_span;
  x->kind = AX_NONE;
  return x;
}

/* Bounds the depth and the number of values: shared parts multiply, and a
 * damaged section may contain itself. */
static const AttrExpr *read_node_value(Reader *r, int64_t index, int depth) {
  AttrExpr *x = value_new(r);
  const json_t *node = node_at(r, index);
  if (depth > METADATA_DEPTH_MAX || ++r->values > METADATA_VALUES_MAX) {
    fail(r, "a value is too large");
  } else if (!node) {
    fail(r, "a value is missing");
  } else if (node_is(node, "IntImm")) {
    int_value(x, node);
  } else if (node_is(node, "FloatImm")) {
    float_value(x, node);
  } else if (node_is(node, "Array")) {
    list_value(r, x, node, depth);
  } else if (node_is(node, "runtime.String")) {
    const char *text = json_string_value(json_object_get(node, "repr_str"));
    string_value(r, x, text);
  }
  return x;
}

/* Could a record's number be the index of this node? */
static bool is_value_node(const Reader *r, int64_t index) {
  static const char *const kinds[] = {"IntImm", "FloatImm", "Array",
                                      "runtime.String"};
  const json_t *node = node_at(r, index);
  if (!node || r->listed[index]) return false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (node_is(node, kinds[i])) return true;
  return false;
}

/* In this order: the index of a value, a plain integer, a float, and else a
 * string.  Plain integers have no dtype, by which resolve_attr.c can still take
 * 0 for None. */
static const AttrExpr *read_field(Reader *r, const char *text) {
  int64_t number;
  if (read_int(text, &number)) {
    if (is_value_node(r, number)) return read_node_value(r, number, 0);
    AttrExpr *x = value_new(r);
    x->kind = AX_INT;
    x->integer = number;
    x->dtype = DTYPE_NONE;
    return x;
  }
  AttrExpr *x = value_new(r);
  char *end;
  bool numeric = *text == '-' || (*text >= '0' && *text <= '9');
  double real = numeric ? literal_f64(text, &end) : 0;
  if (numeric && end != text && *end == '\0') {
    x->kind = AX_FLOAT;
    x->dtype = DT_FLOAT64;
    x->real = real;
  } else {
    string_value(r, x, text);
  }
  return x;
}

/* `span` and `_checked_type_` are of every node and no attributes. */
static void read_fields(Reader *r, const json_t *node, MetaEntry *entry) {
  json_t *fields = json_object_get(node, "attrs");
  size_t n = json_object_size(fields), i = 0;
  Attr *attrs = ARENA_ARRAY(&r->unit->arena, Attr, n);
  const char *name;
  json_t *value;
  if (!attrs) return;
  json_object_foreach(fields, name, value) {
    if (!json_is_string(value) || stopped(r)) continue;
    if (!strcmp(name, "span") || !strcmp(name, "_checked_type_")) continue;
    attrs[i++] = (Attr){name_of(r->program->names, name), r->unit->meta_span,
                        read_field(r, json_string_value(value))};
  }
  entry->attrs = attrs;
  entry->attr_count = (int)i;
}

/* --- Entries ------------------------------------------------------------ */

static MetaKind kind_of(const json_t *node) {
  const char *key = node_key(node);
  if (!strcmp(key, "relay.Constant")) return META_CONSTANT;
  if (!strcmp(key, "tir.SizeVar")) return META_SIZE_VAR;
  bool record = !strncmp(key, "relay.attrs.", strlen("relay.attrs."));
  return record ? META_RECORD : META_OTHER;
}

static void read_entry(Reader *r, const json_t *node, MetaEntry *entry) {
  entry->kind = kind_of(node);
  switch (entry->kind) {
    case META_CONSTANT: entry->constant = read_constant(r, node); break;
    case META_RECORD:
    case META_SIZE_VAR: read_fields(r, node, entry); break;
    case META_OTHER: break;
  }
}

/* The nodes of one key, in order.  `room` is what is left of the array for all
 * keys: a damaged map may list one node twice. */
static void read_key(Reader *r, const char *key, const json_t *list,
                     MetaEntry *entries, size_t room) {
  const Name *name = name_of(r->program->names, key);
  size_t n = node_children(list);
  if (n > room) {
    fail(r, "its map is larger than its nodes");
    return;
  }
  for (size_t i = 0; i < n && !stopped(r); i++) {
    const json_t *node = node_at(r, node_child(list, i));
    if (!node) {
      fail(r, "an entry is missing");
      return;
    }
    entries[i].key = name;
    entries[i].index = (int64_t)i;
    read_entry(r, node, &entries[i]);
  }
}

/* How many entries the map's lists hold in all. */
static size_t count_entries(const Reader *r, const json_t *map) {
  size_t n = 0;
  for (size_t i = 0; i < node_children(map); i++)
    n += node_children(node_at(r, node_child(map, i)));
  return n;
}

static void read_map(Reader *r, const json_t *map) {
  const json_t *keys = json_object_get(map, "keys");
  size_t total = count_entries(r, map), done = 0;
  MetaEntry *entries = ARENA_ARRAY(&r->unit->arena, MetaEntry, total);
  for (size_t i = 0; entries && i < node_children(map) && !stopped(r); i++) {
    const char *key = json_string_value(json_array_get(keys, i));
    const json_t *list = node_at(r, node_child(map, i));
    if (!key || !list) {
      fail(r, "its map is incomplete");
      return;
    }
    read_key(r, key, list, entries + done, total - done);
    done += node_children(list);
  }
  r->unit->meta = entries;
  r->unit->meta_count = entries ? (int)total : 0;
}

static void read_document(Reader *r, const json_t *document) {
  r->nodes = json_object_get(document, "nodes");
  r->arrays = json_object_get(document, "b64ndarrays");
  r->node_count = json_array_size(r->nodes);
  const json_t *root = json_object_get(document, "root");
  const json_t *map =
      json_is_integer(root) ? node_at(r, json_integer_value(root)) : NULL;
  if (!map) {
    fail(r, "it has no root");
    return;
  }
  r->listed = arena_alloc(&r->unit->arena, r->node_count);
  if (!r->listed) return;
  mark_listed(r);
  read_map(r, map);
}

/* The JSON text after the section's `#[metadata]`.  The parser found
 * `#[metadata]`, so there is a `]`. */
static json_t *load(Reader *r) {
  const SourceFile *source = r->unit->source;
  uint32_t start = r->unit->meta_span.lo - source->base;
  const char *text = strchr(source->text + start, ']') + 1;
  size_t len = source->len - (size_t)(text - source->text);
  size_t size = json_tree_size(text, len);
  if (!mem_hold(r->program->mem, size)) {
    mem_raise_exhausted(r->program->mem);
    return NULL;
  }
  r->held = size;
  json_error_t error;
  json_t *document = json_loadb(text, len, 0, &error);
  if (!document) {
    uint32_t at = source->base + (uint32_t)(text - source->text) +
                  (uint32_t)error.position;
    diag_error(r->program->diags, E0007, ((Span){at, at}),
               "the metadata section is no JSON: %s", error.text);
    r->failed = true;
  }
  return document;
}

bool metadata_read(Program *p, Unit *u) {
  Reader r = {.program = p, .unit = u};
  json_t *document = load(&r);
  if (document) read_document(&r, document);
  json_decref(document);
  mem_let_go(p->mem, r.held);
  return !stopped(&r);
}
