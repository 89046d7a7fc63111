/* Attribute records: defaults, look-up by name, and the values that are known
 * only when the program runs.  What a row declares is in ops.def; how a call is
 * turned into a record is the checker's (types/).
 *
 * A record has one value for each attribute of its row, in the row's order, and
 * lives in an arena.  An attribute that the call gives as an expression goes
 * through three states:
 *
 *   attrs_defaults      the row's default
 *   attr_bind_operand   operand k holds it: what k's type tells is there (the
 *                       number of items), the items themselves are `?`
 *   attrs_complete      a copy in which the items are numbers
 *   attrs_pack          such a copy in one block, to be kept (vm/op_plan.c)
 *
 * The checker runs rules on the second kind, the machine on the third.  So a
 * rule is written once: where it meets `?` it answers with what it can. */
#include "ops/ops.h"

#include <assert.h>
#include <string.h>

static const char *const attr_names[ATTR_COUNT] = {
#define ATTR(name) [ATTR_##name] = #name,
#include "ops/attrs.def"
#undef ATTR
};

const char *attr_name_text(AttrName name) { return attr_names[name]; }

/* A linear search: names are looked up once for each attribute in a text. */
AttrName attr_name_find(const char *text) {
  for (int i = ATTR_NONE + 1; i < ATTR_COUNT; i++)
    if (strcmp(attr_names[i], text) == 0) return (AttrName)i;
  return ATTR_COUNT;
}

/* --- Defaults ------------------------------------------------------------ */

/* The row's initialisers tell the default.  Optional attributes are None unless
 * the row gives a default that is not 0. */
static AttrValue default_value(const AttrSpec *spec) {
  AttrValue v = {.state = AV_SET, .operand = -1, .count = COUNT_SCALAR};
  bool is_list = spec->type == AT_INTS || spec->type == AT_LISTS ||
                 spec->type == AT_FLOATS;
  bool absent = spec->optional && !spec->integer && !spec->count;
  if (absent || spec->required) v.state = AV_NONE;
  v.integer = dim_of(spec->integer);
  v.real = spec->real;
  v.text = spec->text;
  v.dtype = DTYPE_NONE;
  if (spec->type == AT_DTYPE && spec->text && *spec->text)
    v.dtype = dtype_find(spec->text, strlen(spec->text));
  if (is_list || spec->count) {
    v.count = spec->count;
    if (spec->type == AT_FLOATS) v.reals = spec->reals;
    else v.ints = spec->dims;
  }
  return v;
}

void attrs_defaults(const OpInfo *op, Attrs *attrs) {
  attrs->op = op;
  for (int i = 0; i < op->attr_count; i++)
    attrs->values[i] = default_value(&op->attrs[i]);
}

/* The record without the values that the row has no attributes for: most rows
 * have a few of the ATTRS_MAX. */
static size_t record_size(const OpInfo *op) {
  return offsetof(Attrs, values) + (size_t)op->attr_count * sizeof(AttrValue);
}

Attrs *attrs_new(Arena *arena, const OpInfo *op) {
  Attrs *attrs = arena_alloc(arena, record_size(op));
  attrs_defaults(op, attrs);
  return attrs;
}

bool attrs_have(const Attrs *attrs, AttrName name) {
  for (int i = 0; i < attrs->op->attr_count; i++)
    if (attrs->op->attrs[i].name == name) return true;
  return false;
}

Attrs *attrs_shared(Arena *arena, const OpInfo *op, const Attrs *from) {
  Attrs *attrs = attrs_new(arena, op);
  for (int i = 0; i < op->attr_count; i++)
    if (attrs_have(from, op->attrs[i].name))
      attrs->values[i] = *attr_get(from, op->attrs[i].name);
  return attrs;
}

/* A value to be written: it is set, and no operand's any more. */
static AttrValue *settable(Attrs *attrs, AttrName name) {
  AttrValue *v = &attrs->values[attr_get(attrs, name) - attrs->values];
  v->state = AV_SET;
  v->operand = -1;
  return v;
}

void attr_set_number(Attrs *attrs, AttrName name, int64_t value) {
  settable(attrs, name)->integer = dim_of(value);
}
void attr_set_real(Attrs *attrs, AttrName name, double value) {
  settable(attrs, name)->real = value;
}
void attr_set_dtype(Attrs *attrs, AttrName name, DType value) {
  settable(attrs, name)->dtype = value;
}

void attr_set_text(Attrs *attrs, AttrName name, const char *value) {
  settable(attrs, name)->text = value;
}

void attr_set_list(Arena *arena, Attrs *attrs, AttrName name, int count,
                   const Dim *items) {
  AttrValue *v = settable(attrs, name);
  v->ints = arena_copy(arena, items, (size_t)count * sizeof *items);
  v->count = v->ints ? count : 0;
}

/* A linear search over a few values; a name that the row lacks is a mistake of
 * ours. */
const AttrValue *attr_get(const Attrs *attrs, AttrName name) {
  int i = 0;
  while (attrs->op->attrs[i].name != name) {
    i++;
    assert(i < attrs->op->attr_count);
  }
  return &attrs->values[i];
}

bool attr_is_text(const Attrs *attrs, AttrName name, const char *text) {
  return !attrs_have(attrs, name) || strcmp(attr_text(attrs, name), text) == 0;
}

/* `words` is "a|b|c"; the answer is the position of the attribute's text in it,
 * so a kernel can name the words by an enum in the same order. */
int attr_word(const Attrs *attrs, AttrName name) {
  const AttrValue *v = attr_get(attrs, name);
  const char *p = attrs->op->attrs[v - attrs->values].words;
  for (int i = 0;; i++) {
    const char *text = v->text;
    while (*text && *text == *p) text++, p++;
    if (!*text && (!*p || *p == '|')) return i;
    while (*p && *p != '|') p++;
    if (!*p++) return -1;
  }
}

/* --- Values from operands ------------------------------------------------ */

bool attr_may_be_computed(AttrType type) {
  switch (type) {
    case AT_INT:
    case AT_FLOAT:
    case AT_BOOL:
    case AT_INTS:
    case AT_INT_OR_INTS:
    case AT_LISTS:
    case AT_FLOATS: return true;
    case AT_STRING:
    case AT_DTYPE:
    case AT_IGNORED: return false;
  }
  return false;
}

bool attrs_have_operands(const Attrs *attrs) {
  for (int i = 0; i < attrs->op->attr_count; i++)
    if (attrs->values[i].operand >= 0) return true;
  return false;
}

int attrs_operand_count(const Attrs *attrs) {
  int count = 0;
  for (int i = 0; i < attrs->op->attr_count; i++)
    count += attrs->values[i].operand >= 0;
  return count;
}

bool attrs_have_operand(const Attrs *attrs, int i) {
  for (int k = 0; k < attrs->op->attr_count; k++)
    if (attrs->values[k].operand == i) return true;
  return false;
}

/* n values that only the run will know; NULL when memory runs out. */
static const Dim *unknown_dims(Arena *arena, int64_t n) {
  Dim *dims = ARENA_ARRAY(arena, Dim, (size_t)n);
  for (int64_t i = 0; dims && i < n; i++) dims[i] = DIM_ANY;
  return dims;
}

/* The number of items that a dimension tells.  A hostile one of 2^40 must not
 * make a list that long: beyond ATTR_ITEMS_MAX it counts as unknown, and the
 * run refuses it. */
static int list_count(Dim n) {
  bool known =
      dim_is_number(n) && !dim_below(n, 0) && !dim_above(n, ATTR_ITEMS_MAX);
  return known ? (int)dim_value(n) : COUNT_UNKNOWN;
}

/* A vector, or a single number; its length is the number of items. */
static bool bind_ints(int rank, const Dim *dims, Arena *arena, AttrValue *v) {
  v->count = rank == 0 ? 1 : list_count(dims[0]);
  if (v->count > 0 && !(v->ints = unknown_dims(arena, v->count))) v->count = 0;
  return rank <= 1;
}

/* Floats have no `?`: until the run each stands as 0. */
static bool bind_floats(int rank, const Dim *dims, Arena *arena, AttrValue *v) {
  if (rank != 1) return false;
  v->count = list_count(dims[0]);
  if (v->count <= 0) return true;
  double *reals = ARENA_ARRAY(arena, double, (size_t)v->count);
  if (!reals) v->count = 0;
  for (int i = 0; i < v->count; i++) reals[i] = 0;
  v->reals = reals;
  return true;
}

/* A matrix: one list for each row, all of one length. */
static bool bind_lists(int rank, const Dim *dims, Arena *arena, AttrValue *v) {
  if (rank != 2) return false;
  v->count = list_count(dims[0]);
  int inner = list_count(dims[1]);
  if (v->count <= 0) return true;
  AttrValue *lists = ARENA_ARRAY(arena, AttrValue, (size_t)v->count);
  if (!lists) v->count = 0;
  for (int i = 0; i < v->count; i++) {
    lists[i] = (AttrValue){.state = AV_SET, .operand = -1, .count = inner};
    if (inner > 0 && !(lists[i].ints = unknown_dims(arena, inner)))
      lists[i].count = 0;
  }
  v->lists = lists;
  return true;
}

/* The dtypes whose values an attribute of this type can have.  An integer is a
 * number, too, as it is in a literal. */
static bool takes_dtype(const AttrSpec *spec, DType dtype) {
  switch (spec->type) {
    case AT_BOOL: return dtype == DT_BOOL;
    case AT_FLOAT:
    case AT_FLOATS: return dtype != DT_BOOL;
    default:
      return dtype_is_int(dtype) ||
             (spec->takes_float && dtype_is_float(dtype));
  }
}

/* The operand's type must be that of the attribute. */
bool attr_bind_operand(const AttrSpec *spec, int operand, DType dtype, int rank,
                       const Dim *dims, Arena *arena, AttrValue *value) {
  *value = (AttrValue){.state = AV_SET,
                       .operand = operand,
                       .integer = DIM_ANY,
                       .count = COUNT_SCALAR};
  if (spec->type == AT_IGNORED) return true;
  if (!takes_dtype(spec, dtype)) return false;
  switch (spec->type) {
    case AT_INT:
    case AT_FLOAT:
    case AT_BOOL:
      return rank == 0 || (rank == 1 && dim_equal(dims[0], dim_of(1)) != NO);
    case AT_INT_OR_INTS:
      return rank == 0 || bind_ints(rank, dims, arena, value);
    case AT_INTS: return bind_ints(rank, dims, arena, value);
    case AT_LISTS: return bind_lists(rank, dims, arena, value);
    case AT_FLOATS: return bind_floats(rank, dims, arena, value);
    default: return false;
  }
}

/* False where the value does not fit a Dim: unsigned beyond int64, and the most
 * negative numbers, which stand for `?` and forms. */
static bool read_int(const Tensor *t, int64_t i, Dim *out) {
  if (t->dtype == DT_UINT64 && tensor_bits_at(t, i).u64 > INT64_MAX)
    return false;
  *out = dim_of(tensor_i64_at(t, i));
  return dim_is_number(*out);
}

/* Items of a list given as floats must be whole.  A scalar is truncated, as the
 * reference does. */
static bool is_whole(const Tensor *t, int64_t i) {
  return !dtype_is_float((DType)t->dtype) ||
         tensor_f64_at(t, i) == (double)tensor_i64_at(t, i);
}

static bool read_ints(const Tensor *t, int64_t from, int n, Arena *arena,
                      AttrValue *v) {
  Dim *ints = ARENA_ARRAY(arena, Dim, (size_t)n);
  if (!ints) return false;
  for (int i = 0; i < n; i++)
    if (!read_int(t, from + i, &ints[i]) || !is_whole(t, from + i))
      return false;
  v->count = n;
  v->ints = ints;
  return true;
}

static bool read_floats(const Tensor *t, int n, Arena *arena, AttrValue *v) {
  double *reals = ARENA_ARRAY(arena, double, (size_t)n);
  if (!reals) return false;
  for (int i = 0; i < n; i++) reals[i] = tensor_f64_at(t, i);
  v->count = n;
  v->reals = reals;
  return true;
}

static bool read_lists(const Tensor *t, Arena *arena, AttrValue *v) {
  int rows = (int)t->shape[0], columns = (int)t->shape[1];
  AttrValue *lists = ARENA_ARRAY(arena, AttrValue, (size_t)rows);
  if (!lists) return false;
  for (int i = 0; i < rows; i++) {
    lists[i] = (AttrValue){.state = AV_SET, .operand = -1};
    if (!read_ints(t, (int64_t)i * columns, columns, arena, &lists[i]))
      return false;
  }
  v->count = rows;
  v->lists = lists;
  return true;
}

/* The value of operand t for an attribute of this type; false when it cannot be
 * one.  ATTR_ITEMS_MAX bounds what a hostile operand makes us read. */
static bool read_operand(AttrType type, const Tensor *t, Arena *arena,
                         AttrValue *v) {
  int64_t n = tensor_count(t);
  if (n > ATTR_ITEMS_MAX) return false;
  switch (type) {
    case AT_INT:
    case AT_BOOL: return n == 1 && read_int(t, 0, &v->integer);
    case AT_FLOAT: return n == 1 && (v->real = tensor_f64_at(t, 0), true);
    case AT_INT_OR_INTS:
      if (t->rank == 0) return read_int(t, 0, &v->integer);
      return t->rank == 1 && read_ints(t, 0, (int)n, arena, v);
    case AT_INTS: return t->rank <= 1 && read_ints(t, 0, (int)n, arena, v);
    case AT_LISTS: return t->rank == 2 && read_lists(t, arena, v);
    case AT_FLOATS: return t->rank == 1 && read_floats(t, (int)n, arena, v);
    case AT_IGNORED: return true;
    default: return false;
  }
}

void attr_set_constant(const AttrSpec *spec, const Tensor *t, Arena *arena,
                       AttrValue *value) {
  AttrValue v = *value;
  if (!read_operand(spec->type, t, arena, &v)) return;
  v.known = true;
  *value = v;
}

/* Copies the record only when some attribute comes from an operand: for most
 * calls there is nothing to do. */
const Attrs *attrs_complete(const Attrs *attrs, const Tensor *const *operands,
                            Arena *arena) {
  const OpInfo *op = attrs->op;
  Attrs *copy = NULL;
  for (int i = 0; i < op->attr_count; i++) {
    int operand = attrs->values[i].operand;
    if (operand < 0) continue;
    if (!copy) copy = arena_copy(arena, attrs, record_size(op));
    AttrValue *v = &copy->values[i];
    v->operand = -1;
    if (!read_operand(op->attrs[i].type, operands[operand], arena, v))
      return NULL;
  }
  return copy ? copy : attrs;
}

/* --- A copy in one block -------------------------------------------------- */

typedef struct Block {
  char *to; /* NULL: the size alone is wanted */
  size_t size;
} Block;

/* Where the copy is; NULL without a block. */
static void *block_add(Block *b, const void *data, size_t size) {
  void *at = b->to ? b->to + b->size : NULL;
  if (at) memcpy(at, data, size);
  b->size += (size + 7) & ~(size_t)7;
  return at;
}

static void pack_ints(Block *b, const AttrValue *v, AttrValue *to) {
  if (!v->ints || v->count <= 0) return;
  const Dim *ints = block_add(b, v->ints, (size_t)v->count * sizeof *ints);
  if (to) to->ints = ints;
}

static void pack_value(Block *b, const AttrValue *v, AttrValue *to) {
  pack_ints(b, v, to);
  if (v->reals && v->count > 0) {
    size_t size = (size_t)v->count * sizeof *v->reals;
    const double *reals = block_add(b, v->reals, size);
    if (to) to->reals = reals;
  }
  if (!v->lists || v->count <= 0) return;
  size_t size = (size_t)v->count * sizeof *v->lists;
  AttrValue *lists = block_add(b, v->lists, size);
  for (int i = 0; i < v->count; i++)
    pack_ints(b, &v->lists[i], lists ? &lists[i] : NULL);
  if (to) to->lists = lists;
}

size_t attrs_pack(const Attrs *written, const Attrs *complete, void *to) {
  const OpInfo *op = written->op;
  Block b = {.to = to};
  Attrs *copy = block_add(&b, complete, record_size(op));
  for (int i = 0; i < op->attr_count; i++)
    if (written->values[i].operand >= 0)
      pack_value(&b, &complete->values[i], copy ? &copy->values[i] : NULL);
  return b.size;
}
