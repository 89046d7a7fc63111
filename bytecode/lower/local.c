/* Variables in scope.  Among them are lazy ones: graph nodes that may fail
 * or diverge, and do nothing else, are evaluated where they are first
 * needed.  On one path that is known when code is made; after a join of
 * paths that differ, a flag says at run time whether the value is there. */
#include "bytecode/lower/lower.h"

Local *local_get(Lower *l, const Var *v) { return ptrmap_get(&l->locals, v); }

/* A binder that is lowered twice, in a generalised value, puts a new entry in
 * the place of the old. */
Local *local_put(Lower *l, const Var *v, LocalKind kind) {
  Local *local = ARENA_NEW(l->arena, Local);
  *local = (Local){.kind = kind, .reg = NO_REG};
  ptrmap_put(&l->locals, v, local);
  return local;
}

/* Every change goes to the undo log, by which branches take it back. */
static void lazy_set(Lower *l, Local *v, LazyState state) {
  VEC_PUSH(&l->lazies, (LazyChange){v, v->lazy});
  v->lazy = state;
}

static void lazy_evaluate(Lower *l, Local *v) {
  lower_expr(l, v->value, v->reg);
  put_bits(l, v->flag, 1);
}

/*   DONE      the register has it on every path to here
 *   PENDING   no path has evaluated it: evaluate, set the flag
 *   MAYBE     some have: test the flag, evaluate if it is not set */
static Reg lazy_reg(Lower *l, Local *v) {
  if (v->lazy == LAZY_DONE) return v->reg;
  if (v->lazy == LAZY_PENDING) {
    lazy_evaluate(l, v);
  } else {
    Label known = label_new(l);
    put(l, INS_if_true, v->flag, 0, known);
    size_t mark = lazy_mark(l);
    lazy_evaluate(l, v);
    lazy_branch_done(l, mark);
    lazy_join(l, mark);
    put_label(l, known);
  }
  lazy_set(l, v, LAZY_DONE);
  return v->reg;
}

Reg local_reg(Lower *l, const Var *var, Span span) {
  Local *v = local_get(l, var);
  l->span = span;
  if (!v) {
    assert(mem_exhausted(l->code->mem) && "a variable in scope");
    return reg_new(l, is_counted(l, var->type));
  }
  switch (v->kind) {
    case LOCAL_REG: return v->reg;
    case LOCAL_CAPTURED: {
      Reg r = reg_of_type(l, var->type);
      put_far_get(l, r, v->reg, v->reg, (uint32_t)v->size);
      return r;
    }
    case LOCAL_MEMBER: return lower_own_member(l, var);
    case LOCAL_CONST:
      return lower_function_value(l, function_as_value(l, v->callee), DST_ANY);
    case LOCAL_LAZY: return lazy_reg(l, v);
    case LOCAL_TOKEN:
    case LOCAL_GENERAL: break;
  }
  return lower_general(l, var, v->value, DST_ANY);
}

/* --- Reuse tokens -------------------------------------------------------- */

/* Where a match ends a cell, the memory is at hand for a cell of the same size
 * that is made on the way down from there (Reinking, Xie, de Moura & Leijen,
 * "Perceus", 2021).  The token is a value like others: a dead cell without
 * counted fields, or null when the cell was shared, so that paths that make no
 * cell, and runs that fail, free it by dropping it. */

Reg token_put(Lower *l, int size) {
  Local *m = ARENA_NEW(l->arena, Local);
  *m = (Local){.kind = LOCAL_TOKEN, .reg = reg_new(l, true), .size = size};
  if (m->reg < l->regs.len) l->regs.data[m->reg].nullable = true;
  VEC_PUSH(&l->tokens, m);
  return m->reg;
}

/* The innermost first.  Taking is a change like those of lazy variables, so
 * each branch may take the token anew. */
Reg token_take(Lower *l, int size) {
  for (size_t i = l->tokens.len; i-- > 0;) {
    Local *m = l->tokens.data[i];
    if (m->size != size || m->lazy != LAZY_PENDING) continue;
    lazy_set(l, m, LAZY_DONE);
    return m->reg;
  }
  return NO_REG;
}

/* After the arm no new cell may take its token: another arm has not set the
 * register. */
void token_leave(Lower *l, size_t mark) {
  while (l->tokens.len > mark) (void)VEC_POP(&l->tokens);
}

/* --- Branches ----------------------------------------------------------- */

size_t lazy_mark(const Lower *l) { return l->lazies.len; }

void lazy_branch_done(Lower *l, size_t mark) {
  for (size_t i = l->lazies.len; i-- > mark;)
    l->lazies.data[i].local->lazy = l->lazies.data[i].former;
}

/* After a join of branches that may differ, all that any of them changed is
 * perhaps done. */
void lazy_join(Lower *l, size_t mark) {
  for (size_t i = mark; i < l->lazies.len; i++)
    l->lazies.data[i].local->lazy = LAZY_MAYBE;
}
