/* Matches become decision trees (Maranget, "Compiling Pattern Matching to Good
 * Decision Trees", 2008): each constructor is tested at most once on a path.
 * The next to be tested is always the first that the first row still has to
 * test, so fields are looked at from left to right and from the outside in, as
 * a reader expects and as the small-step machine does.
 *
 * A part is a piece of the scrutinee; a row is an arm with what is left to test
 * of it.  The rows that are left when a part is known to be some constructor
 * are those of a specialised matrix, in Maranget's terms.  Parts are read as
 * views on the way down; at a leaf the arm is certain, and its cells are
 * opened, so that what its variables name moves out of a scrutinee that nobody
 * else holds.
 *
 * The tree is built first and then emitted: the code of an arm with one leaf
 * stands at that leaf, and only arms with more are jumped to. */
#include <string.h>

#include "base/hash.h"
#include "base/split.h"
#include "bytecode/lower/lower.h"

typedef struct Part {
  Reg reg;
  const struct Part *root; /* whose register is owned */
  struct Part *parent;
  int word;         /* which one behind the parent's header */
  bool loaded;      /* on the path that is being emitted */
  const Type *type; /* NULL: of a root */
} Part;

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

typedef struct Node {
  enum { NODE_LEAF, NODE_GUARD, NODE_TEST, NODE_FAIL } kind;
  int arm;
  Part *part;
  const Adt *adt;
  int case_count;
  const Ctor **ctors;
  struct Node **cases;
  struct Node *otherwise; /* NULL: the cases are all there are; of a guard:
                             where it does not hold */
} Node;

typedef struct ArmInfo {
  int leaves;
  Label label;
  int head;   /* the first of the alternatives that it is one of */
  int group;  /* of a head: leaves of alternatives that bind variables */
  Label body; /* of a head with such: where the body stands */
} ArmInfo;

typedef struct Matcher {
  Lower *l;
  const Match *match;
  const Type *type; /* of the scrutinee */
  const Type *result;
  Reg dst;
  Label end;
  ArmInfo *arms;
  VEC(Part *) loaded; /* on this path */
  PtrMap fields;      /* the hash of a part and a constructor -> the first
                         FieldParts */
  size_t lazy, nodes;
  bool guarded;   /* some arm has a guard */
  PtrMap binding; /* a pattern of more than one level -> NULL: binds nothing */
  PtrMap shared;  /* a variable of alternatives -> Reg */
  Part *first;    /* shown when nothing matches */
  Span keyword;   /* blamed then */
} Matcher;

/* --- Places ------------------------------------------------------------- */

static Part *part_root(Matcher *m, Reg reg) {
  Part *p = ARENA_NEW(m->l->arena, Part);
  *p = (Part){.reg = reg, .root = p, .loaded = true};
  return p;
}

static Part *part_child(Matcher *m, Part *parent, int word, const Type *type) {
  Part *p = ARENA_NEW(m->l->arena, Part);
  *p = (Part){.reg = reg_of_type(m->l, type),
              .root = parent->root,
              .parent = parent,
              .word = word};
  if (!lower_is_dual(m->l) && reg_is_borrowed(m->l, p->root->reg))
    reg_borrow(m->l, p->reg);
  p->type = type;
  return p;
}

/* Where the map has the fields of a part: no NULL. */
static const void *slot_of(const Part *p, const Ctor *ctor) {
  uint64_t hash = hash_add_pointer(hash_add_pointer(HASH_EMPTY, p), ctor);
  return (const void *)(uintptr_t)(hash | 1);
}

/* The parts of a constructor's or tuple's fields, the same for all arms; NULL
 * where memory runs out. */
static Part **field_parts(Matcher *m, Part *p, const Pattern *pattern) {
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

/* Reads a part, and what it is a part of, unless this path has. */
static void load(Matcher *m, Part *p) {
  Lower *l = m->l;
  if (p->loaded) return;
  load(m, p->parent);
  if (lower_is_dual(l)) {
    lower_part(l, p->reg, p->parent->reg, (uint32_t)p->word, p->type);
  } else {
    put(l, INS_field, p->reg, p->parent->reg, (uint32_t)p->word);
    put_listed(l, 'u', p->root->reg);
  }
  p->loaded = true;
  VEC_PUSH(&m->loaded, p);
}

static void unload(Matcher *m, size_t mark) {
  while (m->loaded.len > mark) VEC_POP(&m->loaded)->loaded = false;
}

/* --- Building the tree -------------------------------------------------- */

/* Patterns nest no deeper than the parser lets them. */
static int test_count(const Pattern *p) {
  if (p->kind == PT_CTOR || p->kind == PT_LITERAL) return 1;
  int n = 0;
  for (int i = 0; p->kind == PT_TUPLE && i < p->count; i++)
    n += test_count(p->fields[i]);
  return n;
}

/* The tests of a pattern at a part: those of a tuple are its fields'. */
static void add_tests(Matcher *m, Row *row, Part *p, const Pattern *pattern) {
  if (pattern->kind == PT_CTOR || pattern->kind == PT_LITERAL) {
    row->tests[row->count++] = (Test){p, pattern};
  } else if (pattern->kind == PT_TUPLE && test_count(pattern) > 0) {
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
    n += (size_t)test_count(pattern->fields[i]);
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

static bool binds(Matcher *m, const Pattern *p);

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

/* Too deep or too large a tree is reported as such (E0705); the nodes made so
 * far are dropped with the arena. */
static Node *build(Matcher *m, int n, const Row *rows, int depth) {
  Node *node = ARENA_NEW(m->l->arena, Node);
  m->nodes += (size_t)n + 1;
  m->l->failed |= mem_exhausted(m->l->code->mem);
  if ((depth > MATCH_DEPTH_MAX &&
       !split_levels(m->l->code->mem, (size_t)depth)) ||
      m->nodes > MATCH_TREE_MAX)
    m->l->too_large = "a match of this function is too large";
  if (n == 0 || m->l->too_large || m->l->failed) node->kind = NODE_FAIL;
  else if (rows[0].count == 0) build_leaf(m, node, n, rows, depth);
  else build_test(m, node, n, rows, depth);
  return node;
}

/* --- Arms --------------------------------------------------------------- */

/* Each level of a pattern asks this of the levels within it, so the answer is
 * kept where more than one level is within. */
static bool binds(Matcher *m, const Pattern *p) {
  if (p->kind == PT_VAR) return true;
  bool deep = p->height > 1;
  if (deep && ptrmap_has(&m->binding, p)) return ptrmap_get(&m->binding, p);
  bool any = false;
  for (int i = 0; i < p->count && !any; i++) any = binds(m, p->fields[i]);
  if (deep) ptrmap_put(&m->binding, p, any ? m : NULL);
  return any;
}

/* Fields are read before anything is opened: an opened cell may be gone. */
static void load_bound(Matcher *m, Part *p, const Pattern *pattern) {
  if (!binds(m, pattern)) return;
  load(m, p);
  if (pattern->kind == PT_VAR) return;
  Part **fields = field_parts(m, p, pattern);
  for (int i = 0; fields && i < pattern->count; i++)
    load_bound(m, fields[i], pattern->fields[i]);
}

/* A field that its constructor declares wider than the variable's type is
 * compared here. */
static void bind_var(Matcher *m, const Part *p, const Pattern *pattern) {
  Lower *l = m->l;
  l->span = pattern->span;
  lower_check_out(l, p->reg, pattern->type, pattern->var->type, "pattern",
                  pattern->var->span);
  local_put(l, pattern->var, LOCAL_REG)->reg = p->reg;
}

static void put_open(Matcher *m, const Part *p, const Pattern *pattern,
                     Part **fields) {
  Lower *l = m->l;
  uint32_t counted = 0;
  for (int i = 0; i < pattern->count; i++)
    counted += l->regs.data[fields[i]->reg].counted;
  bool small = pattern->count <= SIZE_SMALL_MAX;
  Reg token = small ? token_put(l, pattern->count) : NO_REG;
  put(l, PSEUDO_open, p->reg, counted, (uint32_t)pattern->count)->words[0] =
      small ? token + 1 : 0;
  for (int i = 0; i < pattern->count; i++) {
    bool listed =
        l->regs.data[fields[i]->reg].counted && binds(m, pattern->fields[i]);
    if (!listed) continue;
    put_listed(l, 'd', fields[i]->reg);
    VEC_LAST(&l->listed).field = (uint16_t)fields[i]->word;
  }
}

/* Opens the cells of a pattern from the outside in, and binds variables.  The
 * fields of what is borrowed are, too. */
static void open_pattern(Matcher *m, Part *p, const Pattern *pattern) {
  if (pattern->kind == PT_VAR) bind_var(m, p, pattern);
  if (pattern->kind == PT_VAR || !binds(m, pattern)) return;
  Part **fields = field_parts(m, p, pattern);
  if (!fields) return;
  if (!reg_is_borrowed(m->l, p->reg) && !lower_is_dual(m->l))
    put_open(m, p, pattern, fields);
  for (int i = 0; i < pattern->count; i++)
    open_pattern(m, fields[i], pattern->fields[i]);
}

/* The roots an arm's pattern stands for: one, or the fields of a tuple that
 * is matched without being built. */
typedef struct Roots {
  int count; /* -1: the whole */
  Part **parts;
} Roots;

typedef void (*ArmFn)(Matcher *m, Part *p, const Pattern *pattern);
static void each_root(Matcher *m, const Roots *r, const Pattern *pattern,
                      ArmFn f) {
  if (r->count < 0) {
    f(m, r->parts[0], pattern);
    return;
  }
  for (int i = 0; pattern->kind == PT_TUPLE && i < r->count; i++)
    f(m, r->parts[i], pattern->fields[i]);
}

static void emit_body(Matcher *m, int arm) {
  Lower *l = m->l;
  lower_as(l, m->match->arms[arm].body, m->result, m->dst);
  if (m->dst != DST_TAIL) put_jump(l, m->end);
}

/* Calls `visit` for each variable of a pattern, from left to right. */
static void each_var(Matcher *m, const Pattern *p,
                     void (*visit)(Matcher *m, Var *var)) {
  if (p->kind == PT_VAR) visit(m, p->var);
  for (int i = 0; i < p->count; i++) each_var(m, p->fields[i], visit);
}

/* The register in which every alternative leaves a variable for the body they
 * share.  Made when the first alternative that is emitted leaves its
 * variables. */
static Reg shared_reg(Matcher *m, const Var *var) {
  Reg *reg = ptrmap_get(&m->shared, var);
  if (reg) return *reg;
  reg = ARENA_NEW(m->l->arena, Reg);
  *reg = reg_of_type(m->l, var->type);
  ptrmap_put(&m->shared, var, reg);
  return *reg;
}

static void leave_var(Matcher *m, Var *var) {
  lower_finish(m->l, local_reg(m->l, var, var->span), shared_reg(m, var));
}

static void take_var(Matcher *m, Var *var) {
  local_put(m->l, var, LOCAL_REG)->reg = shared_reg(m, var);
}

/* An alternative whose variables others bind, too: the body stands at one
 * place. */
static bool leaves_group(Matcher *m, int arm) {
  const ArmInfo *head = &m->arms[m->arms[arm].head];
  return head->group > 1 && binds(m, m->match->arms[arm].pattern);
}

static void emit_arm(Matcher *m, const Roots *roots, int arm) {
  Lower *l = m->l;
  const Arm *a = &m->match->arms[arm];
  size_t tokens = l->tokens.len;
  each_root(m, roots, a->pattern, open_pattern);
  if (leaves_group(m, arm)) {
    each_var(m, a->pattern, leave_var);
    put_jump(l, m->arms[m->arms[arm].head].body);
  } else {
    emit_body(m, arm);
  }
  token_leave(l, tokens);
  lazy_branch_done(l, m->lazy);
}

/* --- Emitting the tree -------------------------------------------------- */

static void emit_node(Matcher *m, const Roots *roots, const Node *node);
static void emit_case(Matcher *m, const Roots *roots, const Node *node);

static void emit_leaf(Matcher *m, const Roots *roots, int arm) {
  each_root(m, roots, m->match->arms[arm].pattern, load_bound);
  if (m->arms[arm].leaves == 1) emit_arm(m, roots, arm);
  else put_jump(m->l, m->arms[arm].label);
}

/* --- Guards ------------------------------------------------------------- */

/* A variable during its guard: the arm is not certain, so nothing moves out of
 * a cell, and what the variable names is borrowed from it. */
static void lend_var(Matcher *m, Part *p, const Pattern *pattern) {
  Lower *l = m->l;
  Reg reg = p->reg;
  l->span = pattern->span;
  if (p->parent && l->regs.data[reg].counted && !lower_is_dual(l)) {
    load(m, p->parent);
    reg = reg_of_type(l, pattern->type);
    reg_borrow(l, reg);
    put(l, INS_field, reg, p->parent->reg, (uint32_t)p->word);
    put_listed(l, 'u', p->root->reg);
  } else {
    load(m, p);
  }
  lower_check_out(l, reg, pattern->type, pattern->var->type, "pattern",
                  pattern->var->span);
  local_put(l, pattern->var, LOCAL_REG)->reg = reg;
}

static void lend_pattern(Matcher *m, Part *p, const Pattern *pattern) {
  if (!binds(m, pattern)) return;
  if (pattern->kind == PT_VAR) {
    lend_var(m, p, pattern);
    return;
  }
  Part **fields = field_parts(m, p, pattern);
  for (int i = 0; fields && i < pattern->count; i++)
    lend_pattern(m, fields[i], pattern->fields[i]);
}

/* The roots outlive the guard, whose variables look into them. */
static void keep_roots(Matcher *m, const Roots *roots) {
  int n = roots->count < 0 ? 1 : roots->count;
  for (int i = 0; i < n; i++) put_listed(m->l, 'u', roots->parts[i]->reg);
}

/* What the guard evaluates of lazy variables is there on both ways behind it,
 * and not on the ways that do not lead by it. */
static void emit_guard(Matcher *m, const Roots *roots, const Node *node) {
  Lower *l = m->l;
  const Arm *arm = &m->match->arms[node->arm];
  Label refused = label_new(l);
  size_t outer = m->lazy;
  each_root(m, roots, arm->pattern, lend_pattern);
  Reg holds = lower_expr(l, arm->guard, DST_ANY);
  l->span = arm->guard->span;
  put(l, INS_unless, holds, 0, refused);
  keep_roots(m, roots);
  m->lazy = lazy_mark(l);
  size_t mark = m->loaded.len;
  emit_leaf(m, roots, node->arm);
  unload(m, mark);
  put_label(l, refused);
  emit_case(m, roots, node->otherwise);
  m->lazy = outer;
  lazy_branch_done(l, outer);
}

static void emit_fail(Matcher *m) {
  m->l->span = m->keyword;
  put_word(m->l, INS_no_match, m->first->reg, 0, 0, m->type);
  put_listed(m->l, 'u', m->first->reg);
}

/* One case on its path: what it reads is not read for its siblings. */
static void emit_case(Matcher *m, const Roots *roots, const Node *node) {
  size_t mark = m->loaded.len;
  emit_node(m, roots, node);
  unload(m, mark);
}

/* Two ways: if not the one, the other.  A switch on two constructors is one
 * jump. */
static void emit_two(Matcher *m, const Roots *roots, const Node *node) {
  const Node *other = node->otherwise ? node->otherwise : node->cases[1];
  Label next = label_new(m->l);
  put(m->l, INS_unless_tag, node->part->reg, (uint32_t)node->ctors[0]->tag,
      next);
  put_listed(m->l, 'u', node->part->root->reg);
  emit_case(m, roots, node->cases[0]);
  put_label(m->l, next);
  emit_case(m, roots, other);
}

/* Constructors that no case names share the way of `otherwise`. */
static void emit_switch(Matcher *m, const Roots *roots, const Node *node) {
  Lower *l = m->l;
  int n = node->adt->ctor_count, k = node->case_count;
  Label *labels = ARENA_ARRAY(l->arena, Label, (size_t)k + 1);
  Label *by_tag = ARENA_ARRAY(l->arena, Label, (size_t)n + 1);
  if (!labels || !by_tag) return;
  for (int i = 0; i <= k; i++) labels[i] = label_new(l);
  for (int tag = 0; tag < n; tag++) by_tag[tag] = labels[k];
  for (int i = 0; i < k; i++) by_tag[node->ctors[i]->tag] = labels[i];
  put(l, INS_switch_tag, node->part->reg, (uint32_t)n, 0);
  put_listed(l, 'u', node->part->root->reg);
  for (int tag = 0; tag < n; tag++) put_listed(l, 'j', by_tag[tag]);
  for (int i = 0; i < k; i++) {
    put_label(l, labels[i]);
    emit_case(m, roots, node->cases[i]);
  }
  if (!node->otherwise) return;
  put_label(l, labels[k]);
  emit_case(m, roots, node->otherwise);
}

/* Literals are compared with one after the other. */
static void emit_literals(Matcher *m, const Roots *roots, const Node *node) {
  Lower *l = m->l;
  const Part *p = node->part;
  bool is_bool = !node->adt->open;
  for (int i = 0; i < node->case_count; i++) {
    bool last = i + 1 == node->case_count && !node->otherwise;
    Label next = label_new(l);
    const Ctor *ctor = node->ctors[i];
    if (last) {
    } else if (is_bool) {
      put(l, ctor->tag ? INS_unless : INS_if_true, p->reg, 0, next);
    } else {
      Reg bits =
          lower_is_dual(l) && dtype_is_float(ctor->literal->dtype)
              ? lower_plain(l, p->reg,
                            type_tensor(l->code->program->types,
                                        (DType)ctor->literal->dtype, 0, NULL))
              : p->reg;
      lower_unless_literal(l, bits, ctor->literal, next);
    }
    emit_case(m, roots, node->cases[i]);
    put_label(l, next);
  }
  if (node->otherwise) emit_case(m, roots, node->otherwise);
}

static void emit_node(Matcher *m, const Roots *roots, const Node *node) {
  if (node->kind == NODE_GUARD) {
    emit_guard(m, roots, node);
  } else if (node->kind == NODE_LEAF) {
    emit_leaf(m, roots, node->arm);
  } else if (node->kind == NODE_FAIL) {
    emit_fail(m);
  } else {
    load(m, node->part);
    int ways = node->case_count + (node->otherwise != NULL);
    if (ways == 1) emit_node(m, roots, node->cases[0]);
    else if (node->adt->literals) emit_literals(m, roots, node);
    else if (ways == 2) emit_two(m, roots, node);
    else emit_switch(m, roots, node);
  }
}

/* Some of the ways that lead here may have evaluated lazy variables in a
 * guard. */
static void emit_shared_arms(Matcher *m, const Roots *roots) {
  for (int i = 0; i < m->match->arm_count; i++) {
    if (m->arms[i].leaves > 1) {
      put_label(m->l, m->arms[i].label);
      if (m->guarded) lazy_join(m->l, m->lazy);
      emit_arm(m, roots, i);
    }
  }
  for (int i = 0; i < m->match->arm_count; i++) {
    if (m->arms[i].group < 2) continue;
    put_label(m->l, m->arms[i].body);
    if (m->guarded) lazy_join(m->l, m->lazy);
    each_var(m, m->match->arms[i].pattern, take_var);
    emit_body(m, i);
    lazy_branch_done(m->l, m->lazy);
  }
}

/* --- The scrutinee ------------------------------------------------------ */

/* Does every arm match the fields of a tuple, or nothing of it? */
static bool matches_fields(const Match *m) {
  for (int i = 0; i < m->arm_count; i++) {
    PatternKind kind = m->arms[i].pattern->kind;
    if (kind != PT_TUPLE && kind != PT_WILD) return false;
  }
  return m->arm_count > 0;
}

/* A tuple of which every arm matches the fields need not be built. */
bool match_is_split(const Expr *e) {
  return e->args[0]->kind == EX_TUPLE && e->args[0]->count > 0 &&
         matches_fields(e->match);
}

static Roots split_scrutinee(Matcher *m, const Expr *tuple) {
  int n = tuple->count;
  Roots roots = {n, ARENA_ARRAY(m->l->arena, Part *, (size_t)n)};
  for (int i = 0; roots.parts && i < n; i++)
    roots.parts[i] = part_root(m, lower_expr(m->l, tuple->args[i], DST_ANY));
  m->type = tuple->args[0]->type;
  return roots;
}

/* The fields of a tuple that a call has returned unboxed, and that the newest
 * instruction has built: it is taken away again.  No arm can be missing, so no
 * message will want to show the tuple. */
static bool fresh_fields(Matcher *m, const Expr *value, Reg tuple,
                         Roots *roots) {
  Lower *l = m->l;
  const Ins *ins = l->list.len ? &VEC_LAST(&l->list) : &l->sink;
  Reg fields[SIZE_SMALL_MAX];
  if (value->kind != EX_CALL || m->match->partial ||
      !matches_fields(m->match) || ins->arg[0] != tuple ||
      ins_reuse_token(l, ins) != NO_REG)
    return false;
  roots->count = ins_cell_fields(l, ins, fields);
  if (roots->count < 2) return false;
  roots->parts = ARENA_ARRAY(l->arena, Part *, (size_t)roots->count);
  for (int i = 0; roots->parts && i < roots->count; i++)
    roots->parts[i] = part_root(m, fields[i]);
  l->list.len--;
  return true;
}

/* Without parts where memory runs out. */
static Roots scrutinee(Matcher *m, const Expr *e) {
  const Expr *value = e->args[0];
  Roots roots;
  if (match_is_split(e)) {
    roots = split_scrutinee(m, value);
  } else {
    Reg whole = lower_expr(m->l, value, DST_ANY);
    m->type = value->type;
    if (!fresh_fields(m, value, whole, &roots)) {
      roots = (Roots){-1, ARENA_NEW(m->l->arena, Part *)};
      if (roots.parts) roots.parts[0] = part_root(m, whole);
    }
  }
  if (roots.parts) m->first = roots.parts[0];
  return roots;
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
        ARENA_ARRAY(l->arena, Test, (size_t)test_count(pattern) + 1);
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

/* `match` or `match?`. */
static Span keyword_of(const Expr *e) {
  uint32_t len = (uint32_t)strlen(e->match->partial ? "match?" : "match");
  return (Span){e->span.lo, e->span.lo + len};
}

/* The tree is complete before the first instruction of it, since only then is
 * it known which arms have one leaf. */
Reg lower_match(Lower *l, const Expr *e, Reg dst) {
  Matcher m = {
      .l = l, .match = e->match, .result = e->type, .keyword = keyword_of(e)};
  VEC_INIT(&m.loaded, l->code->mem);
  ptrmap_init(&m.fields, l->code->mem);
  ptrmap_init(&m.binding, l->code->mem);
  ptrmap_init(&m.shared, l->code->mem);
  int n = e->match->arm_count;
  m.arms = ARENA_ARRAY(l->arena, ArmInfo, (size_t)n + 1);
  for (int i = 0; m.arms && i < n; i++) {
    const Arm *arm = &e->match->arms[i];
    m.arms[i].label = label_new(l);
    m.arms[i].head = arm->shares ? m.arms[i - 1].head : i;
    if (arm->shares && m.arms[i].head == i - 1)
      m.arms[i - 1].body = label_new(l);
    m.guarded |= arm->guard != NULL;
  }
  m.end = label_new(l);
  Roots roots = scrutinee(&m, e);
  Row *rows = roots.parts ? first_rows(&m, &roots) : NULL;
  if (!m.arms || !rows) l->failed = true;
  m.dst = dst == DST_TAIL ? DST_TAIL : lower_target(l, e->type, dst);
  m.lazy = lazy_mark(l);
  Node *tree = build(&m, n, rows, 0);
  l->span = e->span;
  if (!l->failed) {
    emit_node(&m, &roots, tree);
    emit_shared_arms(&m, &roots);
  }
  VEC_DONE(&m.loaded);
  ptrmap_done(&m.fields);
  ptrmap_done(&m.binding);
  ptrmap_done(&m.shared);
  if (dst == DST_TAIL) return NO_REG;
  lazy_join(l, m.lazy);
  put_label(l, m.end);
  return m.dst;
}
