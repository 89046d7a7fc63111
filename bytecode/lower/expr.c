/* Expressions.  A value is lowered to where it is wanted:
 *
 *   DST_ANY     wherever it is already, or in a new register
 *   a register  in that one: the branches of an `if` share one
 *   DST_TAIL    out of the function; a call there reuses the frame
 *
 * So a value is not moved about: each expression decides at its end
 * (lower_finish) whether a move or a return is due.
 *
 * Nesting is recursion on a split stack (base/split.h); chains of lets are one
 * Block, chains of `else if` and of operators are loops.
 *
 * Cells are made by one function (lower_cell), which knows the three forms of a
 * cell: none for constructors without fields, which are shared; small ones,
 * whose header is one word of the instruction; big ones.  Whether a field's
 * value is moved or kept is not decided here: own.c does, when it knows who
 * reads it next. */
#include "bytecode/lower/lower.h"

/* --- Results ------------------------------------------------------------ */

static void put_results(Lower *l, const Reg *fields) {
  uint32_t n = l->fn->result_count;
  if (n == 2) {
    put(l, INS_ret2, fields[0], fields[1], 0);
    return;
  }
  put(l, INS_ret_unboxed, 0, n, 0);
  for (uint32_t i = 0; i < n; i++) put_listed(l, 'p', fields[i]);
}

/* Returns the fields of the tuple in `from`.  Counted fields are read as views
 * first; opening the tuple then makes them owned, without counting where nobody
 * else holds the tuple.  Fields of a borrowed tuple are borrowed, too, and are
 * kept by the return. */
static void return_fields(Lower *l, Reg from) {
  const Function *f = l->fn;
  Reg parts[RESULTS_MOST];
  uint32_t counted = 0;
  for (uint32_t i = 0; i < f->result_count; i++) {
    counted += f->result_counted[i];
    parts[i] = reg_new(l, f->result_counted[i]);
    if (lower_is_dual(l)) {
      lower_part(l, parts[i], from, i, f->key.expr->fn->body->type->args[i]);
      continue;
    }
    if (reg_is_borrowed(l, from)) reg_borrow(l, parts[i]);
    put(l, INS_field, parts[i], from, i);
    put_listed(l, 'u', from);
  }
  if (!reg_is_borrowed(l, from) && !lower_is_dual(l)) {
    put(l, PSEUDO_open, from, counted, f->result_count);
    for (uint32_t i = 0; i < f->result_count; i++) {
      if (!f->result_counted[i]) continue;
      put_listed(l, 'd', parts[i]);
      VEC_LAST(&l->listed).field = (uint16_t)i;
    }
  }
  put_results(l, parts);
}

/* In a trmc instance a result does not leave as a value: it fills the hole of
 * what has been built, whose root is returned. */
Reg lower_finish(Lower *l, Reg from, Reg dst) {
  if (dst == DST_ANY || dst == from) return from;
  if (dst == DST_TAIL && l->fn->result_count) {
    return_fields(l, from);
    return NO_REG;
  }
  if (dst == DST_TAIL && l->fn->key.trmc) {
    put(l, INS_ret_fill, l->root, l->hole, from);
    return NO_REG;
  }
  if (dst == DST_TAIL) {
    put(l, INS_ret, from, 0, 0);
    return NO_REG;
  }
  put(l, INS_move, dst, from, 0);
  return dst;
}

Reg lower_target(Lower *l, const Type *type, Reg dst) {
  return dst == DST_ANY || dst == DST_TAIL ? reg_of_type(l, type) : dst;
}

/* --- Leaves ------------------------------------------------------------- */

/* A scalar is bits in the instruction; a tensor is immortal, so its address
 * is. */
static Reg lower_const(Lower *l, const Expr *e, Reg dst) {
  Reg r = lower_target(l, e->type, dst);
  Tensor *t = e->constant;
  if (t->rank == 0 && !is_counted(l, e->type))
    put_bits(l, r, bits_load(t->dtype, t->data).bits);
  else put_word(l, INS_constant, r, 0, 0, t);
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

/* A param is bound before any session starts, so it is a constant. */
static void lower_param(Lower *l, const Global *g, Reg r) {
  const Value *v = code_param(l->code, g);
  if (v && is_counted(l, g->type) && type_is_scalar(g->type)) {
    Reg bits = reg_new(l, false);
    put_bits(l, bits, v->bits);
    put_word(l, INS_box, r, bits, 0, g->type);
    return;
  }
  if (v && type_is_scalar(g->type)) put_bits(l, r, v->bits);
  else put_word(l, INS_constant, r, 0, 0, v ? v->obj : NULL);
}

/* Three kinds: a definition is its closure, a generalised value is lowered anew
 * at each use in the use's environment, and all others are read from the
 * session's slot, or for params from the code. */
static Reg lower_global(Lower *l, const Expr *e, Reg dst) {
  const Global *g = e->g.global;
  Function *f = global_function(l, e);
  if (f) return lower_function_value(l, f, dst);
  if (g->param_count > 0 && g->kind != GLOBAL_PARAM) {
    const Env *outer = l->env;
    l->env = env_bind(l, NULL, g->param_count, g->params, e->targs,
                      env_needs_types(l, g->effects));
    bool poly = l->poly;
    l->poly |= use_checks(l, e);
    Reg r = lower_expr(l, g->value, dst);
    l->poly = poly;
    l->env = outer;
    return r;
  }
  Reg r = lower_target(l, e->type, dst);
  if (g->kind == GLOBAL_PARAM) {
    lower_param(l, g, r);
  } else {
    bool boxed = is_counted(l, g->type) && type_is_scalar(g->type);
    Reg from = boxed ? reg_new(l, false) : r;
    put(l, INS_global, from, !boxed && is_counted(l, g->type), 0)->words[0] =
        (uint64_t)g->slot;
    if (boxed) put_word(l, INS_box, r, from, 0, g->type);
  }
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

/* A field of an operator's tuple needs no tuple. */
static Reg lower_proj(Lower *l, const Expr *e, Reg dst) {
  const Expr *tuple = e->args[0];
  if (tuple->kind == EX_CALL && tuple->call.callee->kind == EX_OP &&
      op_info(tuple->call.callee->op)->storage != STORE_SPECIAL)
    return lower_op_field(l, tuple, (int)e->index, dst);
  Reg r = lower_expr(l, tuple, DST_ANY);
  l->span = e->span;
  Reg field = lower_field(l, r, tuple->type->count, (int)e->index, e->type,
                          dst == DST_TAIL ? DST_ANY : dst);
  return lower_finish(l, field, dst);
}

/* --- Cells -------------------------------------------------------------- */

void put_far_get(Lower *l, Reg dst, Reg r, Reg root, uint32_t word) {
  put(l, INS_far_get, dst, r, l->regs.data[dst].counted)->words[0] = word;
  put_listed(l, 'u', root);
}

/* A field is read as a view and then owned by opening the cell; of a borrowed
 * cell it stays a view. */
Reg lower_field(Lower *l, Reg r, int cell_size, int i, const Type *type,
                Reg dst) {
  Reg field = lower_target(l, type, dst);
  if (lower_is_dual(l)) {
    lower_part(l, field, r, (uint32_t)(cell_offset(cell_size) + i), type);
    return field;
  }
  int word = cell_offset(cell_size) + i;
  if (word > UINT16_MAX) {
    put_far_get(l, field, r, r, (uint32_t)word);
    return field;
  }
  bool fresh = dst == DST_ANY || dst == DST_TAIL;
  if (fresh && reg_is_borrowed(l, r)) reg_borrow(l, field);
  put(l, INS_field, field, r, (uint32_t)word);
  put_listed(l, 'u', r);
  if (!l->regs.data[field].counted || reg_is_borrowed(l, field)) return field;
  put(l, PSEUDO_open, r, UINT32_MAX, (uint32_t)cell_size);
  put_listed(l, 'd', field);
  VEC_LAST(&l->listed).field = (uint16_t)word;
  return field;
}

/* Which fields are counted is known here, so dropping the cell needs no
 * types. */
static uint64_t small_header(const Lower *l, uint16_t tag, int n,
                             const Reg *fields) {
  union {
    Obj obj;
    uint64_t word;
  } header = {.obj = {.count = 1, .tag = tag, .size = (uint16_t)n & SIZE_BITS}};
  unsigned mask = 0;
  for (int i = 0; i < n; i++)
    mask |= (unsigned)l->regs.data[fields[i]].counted << i;
  header.obj.mask = mask & MASK_BITS;
  return header.word;
}

uint64_t *lower_big_header(Lower *l, uint16_t tag, uint32_t n) {
  uint64_t *words =
      ARENA_ARRAY(&l->code->arena, uint64_t, cell_big_offset_of(n) + 1);
  union {
    Obj obj;
    uint64_t word;
  } header = {.obj = {.count = 1, .tag = tag, .size = SIZE_BIG}};
  if (!words) return NULL;
  words[0] = header.word;
  words[1] = n;
  return words;
}

void lower_count_field(uint64_t *header, uint32_t i) {
  header[2 + i / 64] |= (uint64_t)1 << (i % 64);
}

/* A cell of very many fields is filled one by one, so that they need not all be
 * in registers at once. */
static Reg lower_big_cell(Lower *l, uint16_t tag, int n, const Reg *fields,
                          Reg dst) {
  uint64_t *header = lower_big_header(l, tag, (uint32_t)n);
  for (int i = 0; header && i < n; i++)
    if (l->regs.data[fields[i]].counted) lower_count_field(header, (uint32_t)i);
  put_word(l, l->wide ? INS_far_cell : INS_big_cell, dst,
           l->wide ? 0 : (uint32_t)n, 0, header);
  for (int i = 0; i < n; i++)
    if (l->wide)
      put(l, INS_far_put, dst, fields[i], 0)->words[0] =
          (uint64_t)(cell_offset(n) + i);
    else put_listed(l, 'm', fields[i]);
  return dst;
}

/* Makes the cell in the memory of reuse token `token`, or with NO_REG in new
 * memory. */
static void put_small_cell(Lower *l, Reg r, uint64_t header, int n,
                           const Reg *fields, Reg token) {
  int op = ins_of_cell(n, token != NO_REG);
  if (n <= 2) {
    put(l, op, r, fields[0], n > 1 ? fields[1] : 0)->words[0] = header;
  } else {
    put(l, op, r, (uint32_t)n, 0)->words[0] = header;
    for (int i = 0; i < n; i++) put_listed(l, 'm', fields[i]);
  }
  if (token != NO_REG) put_listed(l, 'x', token);
}

/* A token of a dead cell of the same size is taken if there is one in scope
 * (local.c). */
Reg lower_cell(Lower *l, uint16_t tag, int n, const Reg *fields, Reg dst) {
  if (dst == DST_TAIL && l->fn->result_count) {
    put_results(l, fields);
    return NO_REG;
  }
  Reg r = dst == DST_ANY || dst == DST_TAIL ? reg_new(l, true) : dst;
  Reg end = dst == DST_TAIL ? DST_TAIL : r;
  if (n == 0) {
    put_word(l, INS_constant, r, 0, 0, shared_nullary(&l->code->shared, tag));
    return lower_finish(l, r, end);
  }
  if (n > SIZE_SMALL_MAX) {
    lower_big_cell(l, tag, n, fields, r);
    return lower_finish(l, r, end);
  }
  put_small_cell(l, r, small_header(l, tag, n, fields), n, fields,
                 token_take(l, n));
  return lower_finish(l, r, end);
}

Reg lower_new_tuple(Lower *l, int n, const Reg *fields, Reg dst) {
  Reg r = dst == DST_ANY ? reg_new(l, true) : dst;
  put_small_cell(l, r, small_header(l, 0, n, fields), n, fields, NO_REG);
  return r;
}

Reg lower_ctor_field(Lower *l, const Expr *e, int i) {
  const Type *wanted = e->call.callee->type->args[i];
  Reg r = lower_as(l, e->args[i], wanted, DST_ANY);
  lower_check(l, r, e->args[i]->type, wanted, "field",
              expr_declaration(e->call.callee));
  return r;
}

/* Constants come last, so that Cons(1, Cons(2, ...)) holds no more of them in
 * registers than are in one cell. */
Reg lower_fields(Lower *l, uint16_t tag, const Expr *e, Reg dst) {
  Reg *fields = ARENA_ARRAY(l->arena, Reg, (size_t)e->count + 1);
  if (!fields) return lower_failed(l);
  for (int late = 0; late < 2; late++) {
    for (int i = 0; i < e->count; i++) {
      if ((e->args[i]->kind == EX_CONST) != late) continue;
      fields[i] = e->kind == EX_CALL
                      ? lower_ctor_field(l, e, i)
                      : lower_as(l, e->args[i], e->type->args[i], DST_ANY);
    }
  }
  l->span = e->span;
  return lower_cell(l, tag, e->count, fields, dst);
}

/* --- Lists --------------------------------------------------------------- */

enum { ELEMENT, REST };

/* All in one instruction. */
static Reg lower_packed(Lower *l, const Expr *e, Reg nil) {
  const Ctor *cons = e->list.head->ctor;
  Reg fields[] = {[ELEMENT] = reg_new(l, false), [REST] = nil};
  Reg made = reg_new(l, true);
  Ins *i = put(l, INS_cells, made, nil, 0);
  i->words[0] = small_header(l, (uint16_t)cons->tag, 2, fields);
  i->words[1] = (uint64_t)(uintptr_t)e->list.packed;
  return made;
}

static Reg lower_element(Lower *l, const Expr *e, int i) {
  const Type *wanted = e->list.head->type->args[0];
  Reg r = lower_as(l, e->args[i], wanted, DST_ANY);
  lower_check(l, r, e->args[i]->type, wanted, "field",
              expr_declaration(e->list.head));
  return r;
}

/* A cell for each element as it is evaluated, with a hole that the next cell
 * fills, so that a long list takes no more registers than a short one. */
static Reg lower_elements(Lower *l, const Expr *e, Reg nil) {
  uint16_t tag = (uint16_t)e->list.head->ctor->tag;
  Reg first = nil, hole = NO_REG;
  for (int i = 0; i < e->count; i++) {
    Reg fields[] = {[ELEMENT] = lower_element(l, e, i), [REST] = nil};
    l->span = e->span;
    if (i + 1 < e->count) {
      fields[REST] = reg_new(l, true);
      l->regs.data[fields[REST]].nullable = true;
      put_bits(l, fields[REST], 0);
    }
    Reg cell = lower_cell(l, tag, 2, fields, DST_ANY);
    Reg next = reg_new(l, false);
    if (i == 0) put(l, INS_hole, next, cell, REST);
    else put(l, INS_fill_hole, next, hole, cell)->words[0] = REST;
    if (i == 0) first = cell;
    hole = next;
  }
  return first;
}

static Reg lower_list(Lower *l, const Expr *e, Reg dst) {
  uint16_t end = (uint16_t)ctor_nil(e->list.head->ctor)->tag;
  Reg nil = lower_cell(l, end, 0, NULL, DST_ANY);
  Reg list =
      e->list.packed ? lower_packed(l, e, nil) : lower_elements(l, e, nil);
  return lower_finish(l, list, dst);
}

/* --- Mutable cells ------------------------------------------------------ */

static Reg lower_unit(Lower *l, Reg dst) {
  return lower_cell(l, 0, 0, NULL, dst);
}

/* What a cell of `content` gets, by a ref or ref_write.  A view of little lets
 * go of its buffer.  A small view of a large tensor would keep the whole buffer
 * for as long as the cell lives. */
static Reg lower_content(Lower *l, const Expr *e, const Type *content) {
  const Expr *value = e->args[e->kind == EX_WRITE];
  Reg v = lower_as(l, value, content, DST_ANY);
  lower_check(l, v, value->type, content, "content",
              e->kind == EX_WRITE ? expr_declaration(e->args[0]) : SPAN_NONE);
  l->span = e->span;
  bool tensor = content->kind == TY_TENSOR || content->kind == TY_VAR;
  if (!tensor || !is_counted(l, content) || lower_is_dual(l)) return v;
  Reg kept = lower_target(l, content, DST_ANY);
  put(l, INS_compact, kept, v, 0);
  return kept;
}

/* Cells that can be part of a cycle are marked, for the collector of cycles. */
static Reg lower_ref(Lower *l, const Expr *e, Reg dst) {
  const Type *content = e->type->args[0];
  Reg v = lower_content(l, e, content);
  Reg r = lower_target(l, e->type, dst);
  uint32_t flags = is_counted(l, content) ? REF_COUNTED : 0;
  if (flags && type_may_cycle(content)) flags |= REF_CYCLIC;
  if (lower_is_dual(l) && flags) put(l, INS_dual_ref, r, v, flags);
  else put_word(l, INS_ref, r, v, flags, env_type(l->code, l->env, content));
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

static Reg lower_read(Lower *l, const Expr *e, Reg dst) {
  Reg ref = lower_expr(l, e->args[0], DST_ANY);
  l->span = e->span;
  Reg r = lower_target(l, e->type, dst);
  if (lower_is_dual(l)) put(l, INS_effect, 0, 0, 0);
  if (lower_is_dual(l) && is_counted(l, e->type))
    put_word(l, INS_dual_read, r, ref, 0,
             env_type(l->code, l->env, e->args[0]->type->args[0]));
  else put(l, INS_ref_read, r, ref, 0);
  lower_check_out(l, r, e->args[0]->type->args[0], e->type, "content",
                  expr_declaration(e->args[0]));
  return lower_finish(l, r, dst == DST_TAIL ? DST_TAIL : r);
}

/* The old content is dropped by the machine, after the store. */
static Reg lower_write(Lower *l, const Expr *e, Reg dst) {
  Reg ref = lower_expr(l, e->args[0], DST_ANY);
  const Type *content = e->args[0]->type->args[0];
  Reg v = lower_content(l, e, content);
  if (lower_is_dual(l)) put(l, INS_effect, 0, 0, 0);
  if (lower_is_dual(l) && is_counted(l, content))
    put_word(l, INS_dual_write, ref, v, type_is_known(l, content),
             env_type(l->code, l->env, content));
  else put(l, INS_ref_write, ref, v, 0);
  return lower_unit(l, dst);
}

/* --- Branches and blocks ------------------------------------------------ */

/* A chain of `else if` is walked, not recursed into. */
static Reg lower_if(Lower *l, const Expr *e, Reg dst) {
  bool tail = dst == DST_TAIL;
  const Type *type = e->type;
  Reg r = tail ? DST_TAIL : lower_target(l, type, dst);
  Label end = label_new(l);
  size_t first = SIZE_MAX;
  for (bool more = true; more; e = e->args[2]) {
    Label otherwise = label_new(l);
    lower_condition(l, e->args[0], otherwise);
    size_t mark = lazy_mark(l);
    if (first == SIZE_MAX) first = mark;
    lower_as(l, e->args[1], type, r);
    if (!tail) put_jump(l, end);
    lazy_branch_done(l, mark);
    put_label(l, otherwise);
    more = e->args[2]->kind == EX_IF;
  }
  lower_as(l, e, type, r);
  lazy_branch_done(l, first);
  if (tail) return NO_REG;
  lazy_join(l, first);
  put_label(l, end);
  return r;
}

static bool is_group_head(const Binding *b) {
  return b->kind == BIND_LET && b->value->kind == EX_FN && !b->var->lazy;
}

/* Null and a flag that says so: the value is made at its first use, wherever
 * that is (local.c). */
static void lower_lazy(Lower *l, const Binding *b) {
  Local *v = local_put(l, b->var, LOCAL_LAZY);
  v->value = b->value;
  v->lazy = LAZY_PENDING;
  v->reg = reg_of_type(l, b->var->type);
  l->regs.data[v->reg].nullable = true;
  put_bits(l, v->reg, 0);
  v->flag = reg_new(l, false);
  put_bits(l, v->flag, 0);
}

/* A let that binds a variable of several types has no value of its own. */
static void lower_let(Lower *l, const Binding *b) {
  if (b->var->lazy) {
    lower_lazy(l, b);
    return;
  }
  if (var_is_general(b->var, b->value)) {
    local_put(l, b->var, LOCAL_GENERAL)->value = b->value;
    return;
  }
  Reg r = lower_as(l, b->value, b->var->type, DST_ANY);
  l->span = b->span;
  bool written = b->var->annotation;
  lower_check(l, r, b->value->type, b->var->declared,
              written ? "annotation" : b->var->name->text,
              written ? b->var->span : SPAN_NONE);
  r = lower_ranked(l, r, b->value->type, b->var->type);
  local_put(l, b->var, LOCAL_REG)->reg = r;
}

/* Lowers bindings[i] and what it is grouped with; gives the next one. */
static int lower_binding(Lower *l, const Block *block, int i) {
  const Binding *b = &block->bindings[i];
  if (b->kind == BIND_ITEM) lower_expr(l, b->value, DST_ANY);
  if (b->kind != BIND_LET) return i + 1;
  int end = i + block_group(block, i);
  if (is_group_head(b)) lower_group(l, b, end - i);
  else lower_let(l, b);
  return end;
}

/* The bindings before the result are never in tail position. */
static Reg lower_block(Lower *l, const Expr *e, Reg dst) {
  const Block *block = e->block;
  for (int i = 0; i < block->count;) i = lower_binding(l, block, i);
  return lower_as(l, block->result, e->type, dst);
}

static Reg lower_var(Lower *l, const Expr *e, Reg dst) {
  Local *v = local_get(l, e->var);
  if (v && v->kind == LOCAL_GENERAL) {
    const Env *outer = l->env;
    bool poly = l->poly;
    l->env = env_of_use(l, e);
    l->poly |= use_checks(l, e);
    Reg r = lower_general(l, e->var, v->value, dst);
    l->poly = poly;
    l->env = outer;
    return r;
  }
  Reg r = v && v->kind == LOCAL_MEMBER ? lower_member(l, e)
                                       : local_reg(l, e->var, e->span);
  bool picks = v && e->targ_count > 0 &&
               (v->kind == LOCAL_REG || v->kind == LOCAL_CAPTURED);
  if (l->wide && dst == DST_ANY && !reg_is_borrowed(l, r))
    r = lower_finish(l, r, reg_new(l, l->regs.data[r].counted));
  return picks ? lower_pick(l, r, e, dst) : lower_finish(l, r, dst);
}

static Reg lower_node(Lower *l, const Expr *e, Reg dst) {
  l->span = e->span;
  switch ((ExprKind)e->kind) {
    case EX_CONST: return lower_const(l, e, dst);
    case EX_GLOBAL: return lower_global(l, e, dst);
    case EX_VAR: return lower_var(l, e, dst);
    case EX_TUPLE: return lower_fields(l, 0, e, dst);
    case EX_LIST: return lower_list(l, e, dst);
    case EX_PROJ: return lower_proj(l, e, dst);
    case EX_CALL: return lower_call(l, e, dst);
    case EX_FN: return lower_fn(l, e, dst);
    case EX_BLOCK: return lower_block(l, e, dst);
    case EX_IF: return lower_if(l, e, dst);
    case EX_MATCH: return lower_match(l, e, dst);
    case EX_REF: return lower_ref(l, e, dst);
    case EX_READ: return lower_read(l, e, dst);
    case EX_WRITE: return lower_write(l, e, dst);
    case EX_CTOR: return lower_ctor(l, e, dst);
    case EX_OP: return lower_op_value(l, e, dst);
    default: break;
  }
  assert(!"an expression that the checker lets pass");
  return NO_REG;
}

typedef struct LowerCall {
  Lower *l;
  const Expr *e;
  Reg dst, made;
} LowerCall;

static void run_lower(void *call) {
  LowerCall *c = call;
  c->made = lower_expr(c->l, c->e, c->dst);
}

/* A name that is used at an instance picks it by itself. */
Reg lower_expr(Lower *l, const Expr *e, Reg dst) {
  if (split_is_used_up(&l->stack)) {
    LowerCall call = {l, e, dst, NO_REG};
    if (split_call(&l->stack, run_lower, &call)) return call.made;
    l->failed = true;
    return dst == DST_TAIL ? NO_REG : reg_new(l, false);
  }
  /* A polymorphic value that comes out of a call, a tuple or a cell is a cell
   * of closures: the use takes the one of its instance. */
  bool picks = e->targ_count > 0 &&
               (e->kind == EX_CALL || e->kind == EX_PROJ || e->kind == EX_READ);
  if (!picks) return lower_node(l, e, dst);
  Reg poly = lower_node(l, e, DST_ANY);
  return lower_pick(l, poly, e, dst);
}
