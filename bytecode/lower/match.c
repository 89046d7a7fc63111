/* Code of matches, by decision trees (match_tree.c).  Parts are read as views
 * on the way down; at a leaf the arm is certain, and its cells are opened, so
 * that what its variables name moves out of a scrutinee that nobody else holds.
 *
 * The tree is built first and then emitted: the code of an arm with one leaf
 * stands at that leaf, and only arms with more are jumped to. */
#include <string.h>

#include "bytecode/lower/match.h"

/* --- Places ------------------------------------------------------------- */

/* Reads a part, and what it is a part of, unless this path has. */
static void load(Matcher *m, Part *p) {
  Lower *l = m->l;
  if (p->loaded) return;
  load(m, p->parent);
  if (lower_is_dual(l)) {
    lower_part(l, p->reg, p->parent->reg, (uint32_t)p->word, p->type);
  } else if (p->owned) {
    put_far_get(l, p->reg, p->parent->reg, p->root->reg, (uint32_t)p->word);
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

/* --- Arms --------------------------------------------------------------- */

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
static void bind_var(Matcher *m, Reg reg, const Pattern *pattern) {
  Lower *l = m->l;
  l->span = pattern->span;
  lower_check_out(l, reg, pattern->type, pattern->var->type, "pattern",
                  pattern->var->span);
  local_put(l, pattern->var, LOCAL_REG)->reg = reg;
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
    bool listed = l->regs.data[fields[i]->reg].counted && !fields[i]->owned &&
                  binds(m, pattern->fields[i]);
    if (!listed) continue;
    put_listed(l, 'd', fields[i]->reg);
    VEC_LAST(&l->listed).field = (uint16_t)fields[i]->word;
  }
}

/* Opens the cells of a pattern from the outside in, and binds variables.  The
 * fields of what is borrowed are, too. */
static void open_pattern(Matcher *m, Part *p, const Pattern *pattern) {
  if (pattern->kind == PT_VAR) bind_var(m, p->reg, pattern);
  if (pattern->kind == PT_VAR || !binds(m, pattern)) return;
  Part **fields = field_parts(m, p, pattern);
  if (!fields) return;
  if (!reg_is_borrowed(m->l, p->reg) && !lower_is_dual(m->l))
    put_open(m, p, pattern, fields);
  for (int i = 0; i < pattern->count; i++)
    open_pattern(m, fields[i], pattern->fields[i]);
}

/* In a wide function each variable is read as an owned value, one after the
 * other, and nothing is opened. */
static void take_var(Matcher *m, Part *p, const Pattern *pattern) {
  Lower *l = m->l;
  Reg r = reg_of_type(l, pattern->type);
  if (p->parent && !lower_is_dual(l)) {
    load(m, p->parent);
    put_far_get(l, r, p->parent->reg, p->root->reg, (uint32_t)p->word);
  } else {
    load(m, p);
    lower_finish(l, p->reg, r);
  }
  bind_var(m, r, pattern);
}

static void take_pattern(Matcher *m, Part *p, const Pattern *pattern) {
  if (!binds(m, pattern)) return;
  if (pattern->kind == PT_VAR) {
    take_var(m, p, pattern);
    return;
  }
  load(m, p);
  Part **fields = field_parts(m, p, pattern);
  for (int i = 0; fields && i < pattern->count; i++)
    take_pattern(m, fields[i], pattern->fields[i]);
}

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

static void take_shared(Matcher *m, Var *var) {
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
  size_t tokens = l->tokens.len, mark = m->loaded.len;
  each_root(m, roots, a->pattern, l->wide ? take_pattern : open_pattern);
  if (leaves_group(m, arm)) {
    each_var(m, a->pattern, leave_var);
    put_jump(l, m->arms[m->arms[arm].head].body);
  } else {
    emit_body(m, arm);
  }
  unload(m, mark);
  token_leave(l, tokens);
  lazy_branch_done(l, m->lazy);
}

/* --- Emitting the tree -------------------------------------------------- */

static void emit_node(Matcher *m, const Roots *roots, const Node *node);
static void emit_case(Matcher *m, const Roots *roots, const Node *node);

static void emit_leaf(Matcher *m, const Roots *roots, int arm) {
  if (!m->l->wide) each_root(m, roots, m->match->arms[arm].pattern, load_bound);
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
  if (p->parent && !p->owned && l->regs.data[reg].counted &&
      !lower_is_dual(l)) {
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

/* What the guard evaluates of lazy variables is there on both ways after it,
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
  Lower *l = m->l;
  l->span = m->keyword;
  put_word(l, INS_no_match, m->first->reg, is_counted(l, m->type), 0, m->type);
  put_listed(l, 'u', m->first->reg);
}

/* One case on its path: what it reads is not read for its siblings. */
static void emit_case(Matcher *m, const Roots *roots, const Node *node) {
  size_t mark = m->loaded.len;
  emit_node(m, roots, node);
  unload(m, mark);
}

/* Goes on with the next instruction if the part is this constructor or literal,
 * else at `otherwise`. */
static void put_test(Matcher *m, const Part *p, const Ctor *ctor,
                     Label otherwise) {
  Lower *l = m->l;
  if (!ctor->adt->literals) {
    put(l, INS_unless_tag, p->reg, (uint32_t)ctor->tag, otherwise);
    put_listed(l, 'u', p->root->reg);
  } else if (!ctor->adt->open) {
    put(l, ctor->tag ? INS_unless : INS_if_true, p->reg, 0, otherwise);
  } else {
    DType dtype = (DType)ctor->literal->dtype;
    bool plain = lower_is_dual(l) && dtype_is_float(dtype);
    Reg bits = plain ? lower_plain(
                           l, p->reg,
                           type_tensor(l->code->program->types, dtype, 0, NULL))
                     : p->reg;
    lower_unless_literal(l, bits, ctor->literal, otherwise);
  }
}

/* Two ways: if not the one, the other.  A switch on two constructors is one
 * jump. */
static void emit_two(Matcher *m, const Roots *roots, const Node *node) {
  const Node *other = node->otherwise ? node->otherwise : node->cases[1];
  Label next = label_new(m->l);
  put_test(m, node->part, node->ctors[0], next);
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
  for (int i = 0; i < node->case_count; i++) {
    bool last = i + 1 == node->case_count && !node->otherwise;
    Label next = label_new(m->l);
    if (!last) put_test(m, node->part, node->ctors[i], next);
    emit_case(m, roots, node->cases[i]);
    put_label(m->l, next);
  }
  if (node->otherwise) emit_case(m, roots, node->otherwise);
}

/* --- Arms in turn -------------------------------------------------------- */

/* A constructor that has no sibling needs no test. */
static void test_pattern(Matcher *m, Part *p, const Pattern *pattern,
                         Label otherwise) {
  const Ctor *ctor = pattern->ctor;
  if (pattern->kind == PT_LITERAL ||
      (pattern->kind == PT_CTOR && ctor->adt->ctor_count > 1)) {
    load(m, p);
    put_test(m, p, ctor, otherwise);
  }
  if (pattern->count == 0) return;
  Part **fields = field_parts(m, p, pattern);
  for (int i = 0; fields && i < pattern->count; i++)
    test_pattern(m, fields[i], pattern->fields[i], otherwise);
}

static void test_arm(Matcher *m, const Roots *roots, int arm, Label otherwise) {
  const Pattern *pattern = m->match->arms[arm].pattern;
  if (roots->count < 0) test_pattern(m, roots->parts[0], pattern, otherwise);
  for (int i = 0; pattern->kind == PT_TUPLE && i < roots->count; i++)
    test_pattern(m, roots->parts[i], pattern->fields[i], otherwise);
}

/* Each arm begins with the tests of its whole pattern; where one fails, the
 * next arm follows.  What a guard has evaluated of lazy variables is there on
 * one of the ways that lead to the next. */
static void emit_turns(Matcher *m, const Roots *roots, const Node *node) {
  Lower *l = m->l;
  for (int i = 0; i < node->case_count; i++) {
    Node next = {.kind = NODE_GOTO, .to = label_new(l)};
    size_t mark = m->loaded.len, lazy = lazy_mark(l);
    test_arm(m, roots, i, next.to);
    node->cases[i]->otherwise = &next;
    emit_case(m, roots, node->cases[i]);
    unload(m, mark);
    lazy_branch_done(l, lazy);
    put_label(l, next.to);
    if (m->guarded) lazy_join(l, lazy);
  }
  emit_fail(m);
}

static void emit_node(Matcher *m, const Roots *roots, const Node *node) {
  if (node->kind == NODE_GUARD) {
    emit_guard(m, roots, node);
  } else if (node->kind == NODE_LEAF) {
    emit_leaf(m, roots, node->arm);
  } else if (node->kind == NODE_FAIL) {
    emit_fail(m);
  } else if (node->kind == NODE_TURNS) {
    emit_turns(m, roots, node);
  } else if (node->kind == NODE_GOTO) {
    put_jump(m->l, node->to);
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
    each_var(m, m->match->arms[i].pattern, take_shared);
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
  ptrmap_init(&m.tests, l->code->mem);
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
  if (!m.arms) l->failed = true;
  m.dst = dst == DST_TAIL ? DST_TAIL : lower_target(l, e->type, dst);
  m.lazy = lazy_mark(l);
  Node *tree = l->failed ? NULL : match_tree(&m, &roots);
  l->span = e->span;
  if (!l->failed) {
    emit_node(&m, &roots, tree);
    emit_shared_arms(&m, &roots);
  }
  VEC_DONE(&m.loaded);
  ptrmap_done(&m.fields);
  ptrmap_done(&m.binding);
  ptrmap_done(&m.tests);
  ptrmap_done(&m.shared);
  if (dst == DST_TAIL) return NO_REG;
  lazy_join(l, m.lazy);
  put_label(l, m.end);
  return m.dst;
}
