/* Long constants go to the metadata section, as TVM's own printer puts them:
 * nobody reads a stack of many numbers.  A text that has a section keeps it as
 * it is, and its literals stay stacks.
 *
 *   [1f, 2f, ...]      meta[relay.Constant][0], and in the section
 *
 *   nodes: 0 null, 1 the map {"relay.Constant": 2}, 2 the list [3, 4, ...],
 *          3... the constants, then their device and an empty string
 *   b64ndarrays: for each constant TVM's array format in base64
 *
 * parser/metadata.c reads the same.  The constants are owned by the Relay while
 * it maps, and dropped with it: the text has their bytes. */
#include <string.h>

#include "passes/relay_map.h"
#include "tensor/ndarray.h"

/* A literal of this many elements is long. */
enum { LONG_LITERAL = 32 };

/* --- The constants -------------------------------------------------------- */

/* A vector that could not grow has not taken the tensor over. */
static const Expr *constant_ref_take(Relay *r, Span span, Tensor *t) {
  Expr *e = expr_new(r->arena, EX_META, span);
  e->meta.name = name_of(r->p->names, "relay.Constant");
  size_t index = r->constants.len;
  e->meta.index = (int64_t)index;
  VEC_PUSH(&r->constants, t);
  if (r->constants.len == index) tensor_drop(r->p->heap, t);
  return e;
}

/* --- Brackets ------------------------------------------------------------- */

/* The shape that its first items have; false: it is short, or too deep.  Only
 * the first item at each depth is looked at; fill compares the others. */
static bool find_shape(const Expr *e, int *rank, int64_t *shape) {
  int64_t count;
  for (*rank = 0; e->kind == EX_BRACKET; e = e->args[0]) {
    if (*rank == RANK_MAX || e->count == 0) return false;
    shape[(*rank)++] = e->count;
  }
  return shape_count(*rank, shape, &count) && count >= LONG_LITERAL;
}

typedef struct Filling {
  Relay *r;
  Tensor *to;
  char *at;
} Filling;

/* False where an item is no number of the dtype, or has another shape.  As
 * deep as a tensor has axes. */
static bool fill(Filling *f, const Expr *e, int axis) {
  if (axis == f->to->rank) {
    Value bits;
    DType dtype = (DType)f->to->dtype;
    if (!relay_number(f->r, e, dtype, &bits)) return false;
    bits_store(dtype, f->at, bits);
    f->at += dtype_size(dtype);
    return true;
  }
  bool same = e->kind == EX_BRACKET && e->count == f->to->shape[axis];
  for (int i = 0; same && i < e->count; i++)
    same = fill(f, e->args[i], axis + 1);
  return same;
}

const Expr *relay_long_bracket(Relay *r, const Expr *e, DType dtype) {
  int rank;
  int64_t shape[RANK_MAX];
  bool free = !span_exists(r->unit->meta_span);
  if (!free || !find_shape(e, &rank, shape)) return NULL;
  Tensor *t = program_tensor_new(r->p, dtype, rank, shape);
  if (!t) return NULL;
  Filling f = {r, t, t->data};
  if (fill(&f, e, 0)) return constant_ref_take(r, e->span, t);
  tensor_drop(r->p->heap, t);
  return NULL;
}

const Expr *relay_long_string(Relay *r, const Expr *e) {
  int64_t len = (int64_t)e->text.len;
  if (len < LONG_LITERAL || span_exists(r->unit->meta_span)) return NULL;
  Tensor *t = program_tensor_new(r->p, DT_UINT8, 1, &len);
  if (!t) return NULL;
  memcpy(t->data, e->text.bytes, e->text.len);
  return constant_ref_take(r, e->span, t);
}

/* --- The section ---------------------------------------------------------- */

/* RFC 4648; `k > n` puts the padding: n bytes are n + 1 digits. */
static void add_base64(StrBuf *out, const unsigned char *bytes, size_t len) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
      "abcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < len; i += 3) {
    size_t n = len - i < 3 ? len - i : 3;
    uint32_t bits = (uint32_t)bytes[i] << 16;
    if (n > 1) bits |= (uint32_t)bytes[i + 1] << 8;
    if (n > 2) bits |= bytes[i + 2];
    for (size_t k = 0; k < 4; k++)
      strbuf_add_char(out, k > n ? '=' : digits[bits >> (18 - 6 * k) & 63]);
  }
}

static void add_array(StrBuf *out, const Tensor *t) {
  StrBuf bytes;
  strbuf_init(&bytes, out->mem);
  ndarray_add(&bytes, t);
  strbuf_add(out, "\"");
  add_base64(out, (const unsigned char *)bytes.data, bytes.len);
  strbuf_add(out, "\"");
  strbuf_done(&bytes);
}

/* The nodes: null, the map of keys, the list of constants, the constants, and
 * what they say of a device. */
static void add_section(StrBuf *out, const Relay *r) {
  size_t n = r->constants.len, first = 3;
  strbuf_add(out,
             "#[metadata]\n{\n  \"root\": 1,\n  \"nodes\": [\n"
             "    {\"type_key\": \"\"},\n"
             "    {\"type_key\": \"Map\", \"keys\": [\"relay.Constant\"], "
             "\"data\": [2]},\n    {\"type_key\": \"Array\", \"data\": [");
  for (size_t i = 0; i < n; i++)
    strbuf_addf(out, "%s%zu", i ? ", " : "", first + i);
  strbuf_add(out, "]},\n");
  for (size_t i = 0; i < n; i++)
    strbuf_addf(out,
                "    {\"type_key\": \"relay.Constant\", \"attrs\": "
                "{\"_checked_type_\": \"0\", \"data\": \"%zu\", "
                "\"span\": \"0\", \"virtual_device_\": \"%zu\"}},\n",
                i, first + n);
  strbuf_addf(out,
              "    {\"type_key\": \"VirtualDevice\", \"attrs\": "
              "{\"device_type_int\": \"-1\", \"memory_scope\": \"%zu\", "
              "\"target\": \"0\", \"virtual_device_id\": \"-1\"}},\n"
              "    {\"type_key\": \"runtime.String\"}\n"
              "  ],\n  \"b64ndarrays\": [",
              first + n + 1);
  for (size_t i = 0; i < n; i++) {
    strbuf_add(out, i ? ",\n    " : "\n    ");
    add_array(out, r->constants.data[i]);
  }
  strbuf_add(out, "\n  ],\n  \"attrs\": {\"tvm_version\": \"0.9.0\"}\n}");
}

const char *relay_section(Relay *r) {
  if (!r->constants.len) return NULL;
  StrBuf text;
  strbuf_init(&text, r->p->mem);
  add_section(&text, r);
  const char *kept = arena_copy(r->arena, strbuf_text(&text), text.len + 1);
  strbuf_done(&text);
  return kept;
}
