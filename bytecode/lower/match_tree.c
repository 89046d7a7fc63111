/* Matches become decision trees (Maranget, "Compiling Pattern Matching to Good
 * Decision Trees", 2008): each constructor is tested at most once on a path.
 * The next to be tested is always the first that the first row still has to
 * test, so fields are looked at from left to right and from the outside in, as
 * a reader expects and as the small-step machine does.
 *
 * A part is a piece of the scrutinee; a row is an arm with what is left to test
 * of it.  The rows that are left when a part is known to be some constructor
 * are those of a specialised matrix, in Maranget's terms. */
#include "bytecode/lower/match.h"

#include "base/hash.h"
#include "base/split.h"

/* A tree may have so many nodes, their rows counted, and so many more for each
 * node of the patterns; and be so deep on a stack that does not grow. */
enum { NODES_LEAST = 1 << 18, NODES_EACH = 16, DEPTH_MOST = 4000 };

/* The fields of a part when it is this constructor; NULL: a tuple. */
typedef struct FieldParts {
  const Part *of;
  const Ctor *ctor;
  Part **parts;
  struct FieldParts *next; /* whose key has the same hash */
} FieldParts;

typedef struct Test {
  Part *part;
  const Pattern *pattern; /* a PT_CTOR or PT_LITERAL */
} Test;

typedef struct Row {
  int arm, count;
  Test *tests;
} Row;

/* --- Places ------------------------------------------------------------- */

Part *part_root(Matcher *m, Reg reg) {
  Part *p = ARENA_NEW(m->l->arena, Part);
  *p = (Part){.reg = reg, .root = p, .loaded = true};
  return p;
}

static Part *part_child(Matcher *m, Part *parent, int word, const Type *type) {
  Part *p = ARENA_NEW(m->l->arena, Part);
  *p = (Part){.reg = reg_of_type(m->l, type),
              .root = parent->root,
              .parent = parent,
              .word = word,
              .owned = word > UINT16_MAX};
  if (!lower_is_dual(m->l) && !p->owned && reg_is_borrowed(m->l, p->root->reg))
    reg_borrow(m->l, p->reg);
  p->type = type;
  return p;
}

/* Where the map has the fields of a part: no NULL. */
static const void *slot_of(const Part *p, const Ctor *ctor) {
  uint64_t hash = hash_add_pointer(hash_add_pointer(HASH_EMPTY, p), ctor);
  return (const void *)(uintptr_t)(hash | 1);
}

Part **field_parts(Matcher *m, Part *p, const Pattern *pattern) {
  const Ctor *ctor = pattern->kind == PT_CTOR ? pattern->ctor : NULL;
  const void *slot = slot_of(p, ctor);
  FieldParts *first = ptrmap_get(&m->fields, slot);
  for (FieldParts *f = first; f; f = f->next)
    if (f->of == p && f->ctor == ctor) return f->parts;
  FieldParts *f = ARENA_NEW(m->l->arena, FieldParts);
  *f = (FieldParts){.of = p, .ctor = ctor, .next = first};
  f->parts = ARENA_ARRAY(m->l->arena, Part *, (size_t)pattern->count + 1);
  ptrmap_put(&m->fields, slot, f);
  for (int i = 0; f->parts && i < pattern->count; i++) {
    f->parts[i] = part_child(m, p, cell_offset(pattern->count) + i,
                             pattern->fields[i]->type);
  }
  return f->parts;
}

/* --- Building the tree -------------------------------------------------- */

/* How many tests a pattern makes at its part.  As each level asks this of the
 * levels within it, answers are kept (Matcher.tests). */
static int test_count(Matcher *m, const Pattern *p) {
  if (p->kind == PT_CTOR || p->kind == PT_LITERAL) return 1;
  if (p->kind != PT_TUPLE) return 0;
  bool deep = p->height > 1;
  if (deep && ptrmap_has(&m->tests, p))
    return (int)(intptr_t)ptrmap_get(&m->tests, p);
  int n = 0;
  for (int i = 0; i < p->count; i++) n += test_count(m, p->fields[i]);
  if (deep) ptrmap_put(&m->tests, p, (void *)(intptr_t)n);
  return n;
}

/* The tests of a pattern at a part: those of a tuple are its fields'. */
static void add_tests(Matcher *m, Row *row, Part *p, const Pattern *pattern) {
  if (pattern->kind == PT_CTOR || pattern->kind == PT_LITERAL) {
    row->tests[row->count++] = (Test){p, pattern};
  } else if (pattern->kind == PT_TUPLE && test_count(m, pattern) > 0) {
    Part **fields = field_parts(m, p, pattern);
    for (int i = 0; fields && i < pattern->count; i++)
      add_tests(m, row, fields[i], pattern->fields[i]);
  }
}

static const Test *find_test(const Row *row, const Part *p) {
  for (int i = 0; i < row->count; i++)
    if (row->tests[i].part == p) return &row->tests[i];
  return NULL;
}

/* `row` when `p` is known to be the constructor of `test`.  The new tests come
 * before the others of the row, so fields are looked at from the outside in. */
static Row specialise(Matcher *m, const Row *row, const Test *test) {
  const Pattern *pattern = test ? test->pattern : NULL;
  size_t n = (size_t)row->count;
  for (int i = 0; pattern && i < pattern->count; i++)
    n += (size_t)test_count(m, pattern->fields[i]);
  Row to = {.arm = row->arm, .tests = ARENA_ARRAY(m->l->arena, Test, n + 1)};
  m->nodes += n;
  if (!to.tests) return m->l->failed = true, to;
  if (pattern && n > (size_t)row->count) {
    Part **fields = field_parts(m, test->part, pattern);
    for (int i = 0; fields && i < pattern->count; i++)
      add_tests(m, &to, fields[i], pattern->fields[i]);
  }
  for (int i = 0; i < row->count; i++)
    if (&row->tests[i] != test) to.tests[to.count++] = row->tests[i];
  return to;
}

static Node *build(Matcher *m, int n, const Row *rows, int depth);

/* Which rows ask for which constructor of one part.  Rows are chained, so that
 * a case costs as much as the rows that remain of it, and not all of them: a
 * match of 20,000 arms on as many constructors is one pass.  A chain is named
 * by its first row. */
typedef struct Chains {
  const Part *part;
  PtrMap heads; /* constructor -> the first row that asks for it */
  int open;     /* the first that does not ask, or -1 */
  int *next;    /* row -> the next of its chain, or -1 */
  int *last;    /* head -> the last row of its chain */
} Chains;

static void chain_add(Chains *c, int head, int row) {
  if (row != head) c->next[c->last[head]] = row;
  c->last[head] = row;
  c->next[row] = -1;
}

/* False where memory runs out. */
static bool chain_rows(Matcher *m, Chains *c, int n, const Row *rows) {
  Arena *arena = m->l->arena;
  c->next = ARENA_ARRAY(arena, int, (size_t)n + 1);
  c->last = ARENA_ARRAY(arena, int, (size_t)n + 1);
  for (int i = 0; c->next && c->last && i < n; i++) {
    const Test *test = find_test(&rows[i], c->part);
    const Ctor *ctor = test ? test->pattern->ctor : NULL;
    const Row *head = ctor ? ptrmap_get(&c->heads, ctor) : NULL;
    if (!ctor && c->open < 0) c->open = i;
    if (ctor && !head) ptrmap_put(&c->heads, ctor, (void *)(head = &rows[i]));
    chain_add(c, ctor ? (int)(head - rows) : c->open, i);
  }
  return c->next && c->last && !mem_exhausted(m->l->code->mem);
}

static size_t chain_length(const Chains *c, int head) {
  size_t n = 0;
  for (int i = head; i >= 0; i = c->next[i]) n++;
  return n;
}

/* The rows that remain when the part is the constructor whose chain begins at
 * `asking`, or with -1 one nobody names: those that ask for it and those that
 * do not ask, in their order. */
static Node *build_case(Matcher *m, const Chains *c, const Row *rows,
                        int asking, int depth) {
  int open = c->open, count = 0;
  size_t n = chain_length(c, asking) + chain_length(c, open);
  Row *left = ARENA_ARRAY(m->l->arena, Row, n + 1);
  m->l->failed |= !left;
  while (!m->l->failed && (asking >= 0 || open >= 0)) {
    bool asks = asking >= 0 && (open < 0 || asking < open);
    const Row *row = &rows[asks ? asking : open];
    left[count++] = asks ? specialise(m, row, find_test(row, c->part)) : *row;
    if (asks) asking = c->next[asking];
    else open = c->next[open];
  }
  return build(m, count, left, depth + 1);
}

/* The cases stand in the order in which the rows name them. */
static void build_cases(Matcher *m, Node *node, int n, const Row *rows,
                        Chains *c, int depth) {
  for (int i = 0; i < n && !m->l->failed; i++) {
    const Test *test = find_test(&rows[i], node->part);
    const Ctor *ctor = test ? test->pattern->ctor : NULL;
    if (!ctor || ptrmap_get(&c->heads, ctor) != &rows[i]) continue;
    node->ctors[node->case_count] = ctor;
    node->cases[node->case_count++] = build_case(m, c, rows, i, depth);
  }
  if (node->case_count < node->adt->ctor_count)
    node->otherwise = build_case(m, c, rows, -1, depth);
}

static void build_test(Matcher *m, Node *node, int n, const Row *rows,
                       int depth) {
  Arena *arena = m->l->arena;
  node->kind = NODE_TEST;
  node->part = rows[0].tests[0].part;
  node->adt = rows[0].tests[0].pattern->ctor->adt;
  node->ctors = ARENA_ARRAY(arena, const Ctor *, (size_t)n + 1);
  node->cases = ARENA_ARRAY(arena, Node *, (size_t)n + 1);
  Chains chains = {.part = node->part, .open = -1};
  ptrmap_init(&chains.heads, m->l->code->mem);
  if (node->ctors && node->cases && chain_rows(m, &chains, n, rows))
    build_cases(m, node, n, rows, &chains, depth);
  else m->l->failed = true;
  ptrmap_done(&chains.heads);
}

/* Each level of a pattern asks this of the levels within it, so the answer is
 * kept where more than one level is within. */
bool binds(Matcher *m, const Pattern *p) {
  if (p->kind == PT_VAR) return true;
  bool deep = p->height > 1;
  if (deep && ptrmap_has(&m->binding, p)) return ptrmap_get(&m->binding, p);
  bool any = false;
  for (int i = 0; i < p->count && !any; i++) any = binds(m, p->fields[i]);
  if (deep) ptrmap_put(&m->binding, p, any ? m : NULL);
  return any;
}

/* The first row takes the value, unless its guard refuses.  Alternatives that
 * bind nothing are the same arm. */
static void build_leaf(Matcher *m, Node *node, int n, const Row *rows,
                       int depth) {
  int arm = rows[0].arm, head = m->arms[arm].head;
  bool grouped = head != arm || (arm + 1 < m->match->arm_count &&
                                 m->match->arms[arm + 1].shares);
  bool named = binds(m, m->match->arms[arm].pattern);
  node->kind = m->match->arms[arm].guard ? NODE_GUARD : NODE_LEAF;
  node->arm = grouped && !named ? head : arm;
  m->arms[node->arm].leaves++;
  if (grouped && named) m->arms[head].group++;
  if (node->kind == NODE_GUARD)
    node->otherwise = build(m, n - 1, rows + 1, depth + 1);
}

/* A tree that is too deep or too large is given up; the nodes made so far are
 * dropped with the arena. */
static Node *build(Matcher *m, int n, const Row *rows, int depth) {
  Node *node = ARENA_NEW(m->l->arena, Node);
  m->nodes += (size_t)n + 1;
  m->l->failed |= mem_exhausted(m->l->code->mem);
  m->too_many |=
      (depth > DEPTH_MOST && !split_levels(m->l->code->mem, (size_t)depth)) ||
      m->nodes > m->nodes_most;
  if (n == 0 || m->too_many || m->l->failed) node->kind = NODE_FAIL;
  else if (rows[0].count == 0) build_leaf(m, node, n, rows, depth);
  else build_test(m, node, n, rows, depth);
  return node;
}

/* --- Arms in turn --------------------------------------------------------- */

static size_t pattern_size(const Pattern *p) {
  size_t n = 1;
  for (int i = 0; i < p->count; i++) n += pattern_size(p->fields[i]);
  return n;
}

/* Patterns of which each tests other parts make an exponential tree, since a
 * tree tests a part once on each path.  Then the arms are tried in turn, by
 * code as long as the patterns: a backtracking automaton (Augustsson,
 * "Compiling pattern matching", 1985). */
static Node *build_turns(Matcher *m, int n, const Row *rows) {
  Node *node = ARENA_NEW(m->l->arena, Node);
  *node = (Node){.kind = NODE_TURNS,
                 .case_count = n,
                 .cases = ARENA_ARRAY(m->l->arena, Node *, (size_t)n + 1)};
  m->l->failed |= !node->cases;
  for (int i = 0; i < n; i++) m->arms[i].leaves = m->arms[i].group = 0;
  for (int i = 0; i < n && !m->l->failed; i++) {
    node->cases[i] = ARENA_NEW(m->l->arena, Node);
    build_leaf(m, node->cases[i], 1, &rows[i], 0);
  }
  return node;
}

/* NULL where memory runs out. */
static Row *first_rows(Matcher *m, const Roots *roots) {
  Lower *l = m->l;
  int n = m->match->arm_count;
  Row *rows = ARENA_ARRAY(l->arena, Row, (size_t)n + 1);
  for (int i = 0; rows && i < n; i++) {
    const Pattern *pattern = m->match->arms[i].pattern;
    rows[i].arm = i;
    rows[i].tests =
        ARENA_ARRAY(l->arena, Test, (size_t)test_count(m, pattern) + 1);
    if (!rows[i].tests) return NULL;
    if (roots->count < 0) {
      add_tests(m, &rows[i], roots->parts[0], pattern);
      continue;
    }
    for (int k = 0; pattern->kind == PT_TUPLE && k < roots->count; k++)
      add_tests(m, &rows[i], roots->parts[k], pattern->fields[k]);
  }
  return rows;
}

Node *match_tree(Matcher *m, const Roots *roots) {
  int n = m->match->arm_count;
  size_t size = 0;
  for (int i = 0; i < n; i++) size += pattern_size(m->match->arms[i].pattern);
  m->nodes_most = NODES_LEAST + NODES_EACH * size;
  Row *rows = roots->parts ? first_rows(m, roots) : NULL;
  if (!rows) m->l->failed = true;
  Node *tree = build(m, n, rows, 0);
  return m->too_many && !m->l->failed ? build_turns(m, n, rows) : tree;
}
