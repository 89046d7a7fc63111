/* The operator table in memory: ops.def as rows, and the index that finds a row
 * by name.  Rules are in ops/rules/.
 *
 * The table is a constant of the program.  ATTRS counts its own arguments, so
 * that a row cannot disagree with its number of attributes; a field that a row
 * does not set is 0, which is the most frequent value of each.  Rows refer to
 * each other by address (.swapped, .real), so no name is looked up for that. */
#include "ops/ops.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/hash.h"

#define A(attr, kind, ...) \
  { .name = ATTR_##attr, .type = AT_##kind, __VA_ARGS__ }
#define REDUCED_AXES \
  A(axis, INTS, .optional = true), A(keepdims, BOOL), A(exclude, BOOL)
#define ATTRS(...)                          \
  .attrs = (const AttrSpec[]){__VA_ARGS__}, \
  .attr_count = sizeof((AttrSpec[]){__VA_ARGS__}) / sizeof(AttrSpec)

#define ELEMENTWISE \
  .reads = READS_SAME, .fusion = FUSION_STEP, .flops = FLOPS_ELEMENT
#define FUNCTION \
  .reads = READS_SAME, .fusion = FUSION_STEP, .flops = FLOPS_FUNCTION

const RuleInfo *const rule_table[RULE_COUNT] = {
#define ID(id) &rule_info_##id,
#include "ops/rules.ids"
#undef ID
};

/* What both rows of a host's operators say: the operator's number among the
 * program's, and its result, in which -1 stands for `?`; of several results,
 * the shapes are one list, and `fields` has the rest of their types
 * (ops/rules/host.c). */
#define HOST                                                  \
  .name = "host", .args = "operands*", .rule = RULE_host,     \
  .storage = STORE_MAKE, .fails = FAILS_DATA,                 \
  ATTRS(A(operator, INT, .required = true),                   \
        A(shape, INTS, .required = true, .symbolic = true),   \
        A(dtype, DTYPE, .text = "float32"), A(fields, INTS)), \
  .no_gradient =                                              \
      "the host computes it; gradient @f(...) beside its "    \
      "signature states one",                                 \
  .doc = "An operator of the host."

const OpInfo op_table[OP_ROWS] = {
#define OP(id, ...) [OP_##id] = {__VA_ARGS__},
#include "ops/ops.def"
#undef OP
    [OP_HOST] = {HOST},
    [OP_HOST_EFFECT] = {HOST, .prints = true},
};

int op_attr_count(const OpInfo *op) { return op->attr_count; }

/* --- Arguments: "data weight bias?", "data*" ----------------------------- */

/* The end of a word that ends at a blank or with the text. */
static const char *word_end(const char *p) {
  while (*p && *p != ' ') p++;
  return p;
}

static const char *next_word(const char *p) {
  while (*p == ' ') p++;
  return p;
}

/* Counted each time, from a text of a few words: a row has no number that could
 * disagree with it. */
int op_arg_count(const OpInfo *op) {
  int n = 0;
  for (const char *p = op->args; *(p = next_word(p)); p = word_end(p)) n++;
  return n;
}

/* The name points into the row's text and is not terminated; its mark, `*` or
 * `?`, is not part of it. */
OpArg op_arg(const OpInfo *op, int i) {
  const char *p = next_word(op->args);
  for (; i > 0; i--) p = next_word(word_end(p));
  const char *end = word_end(p);
  assert(end > p);
  char last = end[-1];
  OpArg arg = {.name = p, .len = (int)(end - p)};
  arg.tuple = last == '*';
  arg.optional = last == '?';
  arg.len -= arg.tuple || arg.optional;
  return arg;
}

/* --- Finding a row ----------------------------------------------------------
 * The index is a constant that is computed on first use: an open-addressing
 * table of names and aliases. */

enum { INDEX_SIZE = 1024 };

typedef struct IndexEntry {
  const char *name;
  uint16_t len, op;
} IndexEntry;

static IndexEntry op_index[INDEX_SIZE];
static pthread_once_t op_index_once = PTHREAD_ONCE_INIT;

/* The entry of a name, or the free one where it would stand.  Linear probing;
 * the index is less than a third full, so a free entry is soon found. */
static IndexEntry *index_slot(const char *name, size_t len) {
  uint32_t i = hash_bytes(name, len) % INDEX_SIZE;
  for (;; i = (i + 1) % INDEX_SIZE) {
    IndexEntry *e = &op_index[i];
    if (!e->name) return e;
    if (e->len == len && memcmp(e->name, name, len) == 0) return e;
  }
}

static void index_add(const char *name, size_t len, int op) {
  IndexEntry *e = index_slot(name, len);
  assert(!e->name && "two operators of one name");
  *e = (IndexEntry){name, (uint16_t)len, (uint16_t)op};
}

/* Runs once, before the first look-up, whichever thread makes it
 * (pthread_once); afterwards the index is only read. */
static void index_build(void) {
  for (int op = 0; op < OP_COUNT; op++) {
    index_add(op_table[op].name, strlen(op_table[op].name), op);
    const char *p = op_table[op].aliases;
    while (p && *(p = next_word(p))) {
      const char *end = word_end(p);
      index_add(p, (size_t)(end - p), op);
      p = end;
    }
  }
}

/* Linear, since it is asked only when a program is wrong already. */
const char *op_refused(const char *name) {
  static const struct {
    const char *names, *why;
  } rows[] = {
#define REFUSED(names, why) {names, why},
#include "ops/refused.def"
#undef REFUSED
  };
  size_t len = strlen(name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (const char *p = rows[i].names; *(p = next_word(p)); p = word_end(p))
      if ((size_t)(word_end(p) - p) == len && memcmp(p, name, len) == 0)
        return rows[i].why;
  return NULL;
}

/* "dyn.reshape" is the row of "reshape" under its spelling with positional
 * arguments, which only some rows have.  OP_COUNT when there is none. */
OpId op_find(const char *name, bool *dyn) {
  pthread_once(&op_index_once, index_build);
  *dyn = strncmp(name, "dyn.", 4) == 0;
  if (*dyn) name += 4;
  const IndexEntry *e = index_slot(name, strlen(name));
  if (!e->name || (*dyn && !op_table[e->op].dyn)) return OP_COUNT;
  return (OpId)e->op;
}

OpLinear op_linear(const Attrs *attrs) {
  OpLinear linear = attrs->op->linear;
  if (linear != LINEAR_ROWS) return linear;
  int mode = attr_word(attrs, ATTR_mode);
  bool linear_mode = mode == SCATTER_UPDATE || mode == SCATTER_ADD;
  return linear_mode ? LINEAR_TOGETHER : LINEAR_NOT;
}
