/* Calls.  Arguments are computed straight into the outgoing area, which the
 * callee's window lies over; a call in a tail position takes over the frame,
 * and one of the function itself is a jump. */
#include <string.h>

#include "bytecode/lower/lower.h"
#include "ir/walk.h"

/* --- What is called ----------------------------------------------------- */

static Function *known_global(Lower *l, const Expr *use, bool value) {
  const Global *g = use->g.global;
  if (g->kind == GLOBAL_PARAM || g->value->kind != EX_FN) return NULL;
  const Env *env = env_bind(l, NULL, g->param_count, g->params, use->targs,
                            env_needs_types(l, g->effects));
  bool checks = value ? value_checks(l, use, g->value->fn) : use_checks(l, use);
  return code_global(l->code, g, env, checks);
}

Function *global_function(Lower *l, const Expr *use) {
  bool poly = use->type->kind == TY_FN && use->type->param_count > 0;
  Function *f = poly ? NULL : known_global(l, use, true);
  return f ? code_owning(l->code, f) : NULL;
}

/* The one function that a callee can be, or NULL.  `self` receives the closure
 * to pass along, or NO_REG. */
static Function *known_callee(Lower *l, const Expr *callee, Reg *self) {
  *self = NO_REG;
  if (callee->kind == EX_GLOBAL) return known_global(l, callee, false);
  if (callee->kind != EX_VAR) return NULL;
  Local *v = local_get(l, callee->var);
  if (!v) return NULL;
  if (v->kind == LOCAL_MEMBER) {
    *self = l->self;
    return member_function(l, callee);
  }
  if (v->kind == LOCAL_REG && v->pinned) return v->pinned;
  if (v->kind == LOCAL_REG && v->callee) *self = v->reg;
  return v->kind == LOCAL_REG || v->kind == LOCAL_CONST ? v->callee : NULL;
}

/* --- Known functions as arguments --------------------------------------- */

/* The function that an argument always is, when it captures nothing. */
static Function *argument_function(Lower *l, const Expr *e) {
  if (e->type->kind != TY_FN || e->type->param_count > 0) return NULL;
  if (e->kind == EX_GLOBAL) return global_function(l, e);
  if (e->kind == EX_FN) return fn_without_captures(l, e);
  if (e->kind != EX_VAR || e->targ_count > 0) return NULL;
  const Local *v = local_get(l, e->var);
  if (v && v->kind == LOCAL_REG) return v->pinned;
  bool constant = v && v->kind == LOCAL_CONST && v->callee;
  return constant ? function_as_value(l, v->callee) : NULL;
}

/* Specialises a global function for the functions that this call passes to it,
 * so that it calls them directly, or inlines them. */
static Function *specialised(Lower *l, const Expr *e, Function *f) {
  if (e->call.callee->kind != EX_GLOBAL) return f;
  Function **callees =
      ARENA_ARRAY(&l->code->arena, Function *, (size_t)e->count + 1);
  if (!callees) return f;
  bool any = false;
  for (int i = 0; i < e->count; i++) {
    const Type *param = f->key.expr->fn->params[i]->type;
    if (param->kind != TY_FN || param->param_count > 0) continue;
    callees[i] = argument_function(l, e->args[i]);
    any |= callees[i] != NULL;
  }
  return any ? code_specialised(l->code, f, callees) : f;
}

/* The callee, in the instance that this call wants. */
static Function *callee_of(Lower *l, const Expr *e, Reg *self) {
  Function *f = known_callee(l, e->call.callee, self);
  return f ? specialised(l, e, f) : NULL;
}

/* --- Arguments ---------------------------------------------------------- */

/* The type of parameter `i`. */
static const Type *wanted(const Expr *e, int i) {
  const Type *fn = e->call.callee->type;
  return fn->kind == TY_FN ? fn->args[i] : NULL;
}

/* Names that the callee itself binds are its own affair. */
Reg lower_argument(Lower *l, const Expr *e, int i, Reg dst) {
  Reg r = lower_as(l, e->args[i], wanted(e, i), dst);
  if (e->call.callee->type->param_count == 0)
    lower_check(l, r, e->args[i]->type, wanted(e, i), "argument",
                expr_parameter(e->call.callee, i));
  return r;
}

/* Is `e` a value that our caller holds, so that a callee which takes over the
 * frame may borrow it as well? */
static bool is_lent(Lower *l, const Expr *e) {
  if (e->type->kind == TY_FN && e->type->param_count > 0) return false;
  while (e->kind == EX_PROJ && e->targ_count == 0) e = e->args[0];
  if (e->kind != EX_VAR || e->targ_count > 0) return false;
  const Local *v = local_get(l, e->var);
  return v && v->kind == LOCAL_REG && reg_is_borrowed(l, v->reg);
}

/* Does the callee (NULL: a closure) borrow that parameter?  One without memory
 * for its parameters has none. */
static bool lends(const Function *f, int i) {
  return f && f->params && f->params[i] == PARAM_BORROWED;
}

/* The instance for a tail call: one that borrows only what our caller holds,
 * since nothing can be dropped when the frame is gone. */
static Function *tail_callee(Lower *l, const Expr *e, Function *f) {
  if (l->wide) return code_owning(l->code, f);
  if (function_same(f, l->fn) && !l->fn->key.borrows)
    return code_owning(l->code, f);
  for (int i = 0; f->key.borrows && i < e->count; i++)
    if (lends(f, i) && !is_lent(l, e->args[i])) return code_owning(l->code, f);
  return f;
}

/* Is it needed no more after a call that it is an argument of? */
static bool is_fresh(const Expr *e) {
  return e->kind != EX_VAR && e->kind != EX_PROJ && e->kind != EX_BLOCK;
}

/* The instance for any other call: one that owns its parameters when they are
 * all made for it (own.c sees which variables end here). */
static Function *other_callee(Lower *l, const Expr *e, Function *f) {
  for (int i = 0; i < e->count && !l->wide; i++)
    if (lends(f, i) && !is_fresh(e->args[i])) return f;
  return code_owning(l->code, f);
}

/* Argument `i` into its place of the outgoing area. */
static Reg argument(Lower *l, const Expr *e, int i, int place) {
  Reg r = reg_out(l, place, is_counted(l, e->args[i]->type));
  lower_argument(l, e, i, r);
  return r;
}

/* Where an argument is passed, and, when the callee borrows it, where it
 * stays. */
typedef struct Argument {
  Reg at, from;
} Argument;

static Argument lent_argument(Lower *l, const Expr *e, int i, int place) {
  Reg from = lower_argument(l, e, i, DST_ANY);
  Reg r = reg_out(l, place, false);
  put(l, PSEUDO_pass, r, 0, 0);
  put_listed(l, 'u', from);
  return (Argument){r, from};
}

/* Calls within the arguments of others then need no more of the outgoing area
 * than one. */
static void wide_arguments(Lower *l, const Expr *e, int base, Argument *args) {
  int room = l->out;
  l->out = base;
  for (int i = 0; i < e->count; i++)
    args[i] = (Argument){lower_argument(l, e, i, DST_ANY), NO_REG};
  l->out = room;
  for (int i = 0; i < e->count; i++) {
    Reg at = reg_out(l, base + i, l->regs.data[args[i].at].counted);
    put(l, INS_move, at, args[i].at, 0);
    args[i].at = at;
  }
}

/* Into places `base`, `base + 1`, ... of the outgoing area, with room for two
 * more; NULL where memory runs out. */
static Argument *outgoing(Lower *l, const Expr *e, const Function *f,
                          int base) {
  Argument *args = ARENA_ARRAY(l->arena, Argument, (size_t)e->count + 2);
  if (args && l->wide) wide_arguments(l, e, base, args);
  for (int i = 0; args && !l->wide && i < e->count; i++) {
    args[i] = lends(f, i) ? lent_argument(l, e, i, base + i)
                          : (Argument){argument(l, e, i, base + i), NO_REG};
  }
  return args;
}

static void put_arguments(Lower *l, const Argument *args, int n) {
  for (int i = 0; i < n; i++) {
    put_listed(l, args[i].from == NO_REG ? 'm' : 'a', args[i].at);
    if (args[i].from != NO_REG) put_listed(l, 'u', args[i].from);
  }
}

/* Calls the function, or with NULL the closure in the last of `args`. */
static Reg put_call(Lower *l, Function *f, int base, const Argument *args,
                    int n, const Type *type, Reg dst) {
  bool dual = lower_is_dual(l);
  int op = f ? INS_call : dual ? INS_dual_apply : INS_apply;
  Reg r = NO_REG;
  if (dst == DST_TAIL) {
    int tail = f ? INS_tail : dual ? INS_dual_tail : INS_tail_apply;
    put_word(l, tail, 0, (uint32_t)base, (uint32_t)n, f);
  } else {
    r = lower_target(l, type, dst);
    put_word(l, op, r, (uint32_t)base, (uint32_t)n, f);
  }
  put_arguments(l, args, n);
  return r;
}

/* Likewise a function that returns a tuple unboxed.  The tuple is made here;
 * tuples.c removes it where only its fields are read. */
static Reg put_call_unboxed(Lower *l, Function *f, int base,
                            const Argument *args, int n, Reg dst) {
  Reg fields[RESULTS_MOST];
  put_word(l, INS_call_unboxed, 0, (uint32_t)base, f->result_count, f);
  put_arguments(l, args, n);
  for (uint32_t i = 0; i < f->result_count; i++) {
    fields[i] = reg_new(l, f->result_counted[i]);
    put_listed(l, 'd', fields[i]);
  }
  return lower_new_tuple(l, (int)f->result_count, fields, dst);
}

/* The result may need a look; that of a tail call is the caller's affair. */
Reg lower_call_result(Lower *l, const Expr *e, Reg r) {
  const Type *fn = e->call.callee->type;
  if (fn->kind == TY_FN && fn->param_count == 0)
    lower_check_out(l, r, fn->result, e->type, "result", e->call.callee->span);
  return r;
}

static bool result_checked(const Expr *e) {
  const Type *fn = e->call.callee->type;
  return fn->kind == TY_FN && types_need_check(fn->result, e->type);
}

static Reg call_known(Lower *l, const Expr *e, Function *f, Reg self, Reg dst) {
  int base = l->out, n = e->count + (self != NO_REG);
  l->out += n;
  Argument *args = outgoing(l, e, f, base);
  if (!args) return lower_failed(l);
  l->span = e->span;
  if (self != NO_REG) {
    args[e->count] = (Argument){reg_out(l, base + e->count, true), NO_REG};
    put(l, INS_move, args[e->count].at, self, 0);
  }
  bool unboxed = f->result_count > 0 && dst != DST_TAIL;
  Reg r = unboxed ? put_call_unboxed(l, f, base, args, n, dst)
                  : put_call(l, f, base, args, n, e->type, dst);
  l->out = base;
  return r;
}

static Reg call_unknown(Lower *l, const Expr *e, Reg dst) {
  int base = l->out, n = e->count + 1;
  l->out += n;
  Argument *args = outgoing(l, e, NULL, base);
  if (!args) return lower_failed(l);
  args[e->count] = (Argument){reg_out(l, base + e->count, true), NO_REG};
  lower_expr(l, e->call.callee, args[e->count].at);
  l->span = e->span;
  Reg r = put_call(l, NULL, base, args, n, e->type, dst);
  l->out = base;
  return r;
}

/* --- Self tail calls ---------------------------------------------------- */

/* Arguments whose order is chosen; more come as they are written. */
enum { ORDERED_MOST = 12 };

/* Back to the head; the arguments become the parameters.  A trmc instance hands
 * on its root and the hole. */
static void put_self(Lower *l, const Reg *regs, int n) {
  bool trmc = l->fn->key.trmc;
  put(l, PSEUDO_self, (uint32_t)n + (trmc ? 2 : 0), 0, 0);
  for (int i = 0; i < n; i++) put_listed(l, 'm', regs[i]);
  if (trmc) put_listed(l, 'm', l->root);
  if (trmc) put_listed(l, 'm', l->hole);
  for (size_t i = 0; i < l->carried.len; i++)
    put_listed(l, 'm', l->carried.data[i]);
}

/* Does argument `i`, among those that are left, become a parameter that another
 * still reads? */
static bool is_read_yet(const Lower *l, const Expr *e, const int *left, int n,
                        int i) {
  const Var *param = l->fn->key.expr->fn->params[i];
  bool found = false;
  ExprWalk w;
  expr_walk_start(&w, l->code->mem, WALK_ENTER, NULL);
  for (int k = 0; k < n; k++)
    if (left[k] != i) expr_walk_add(&w, e->args[left[k]]);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_VAR && w.at->var == param;
  expr_walk_end(&w);
  return found;
}

/* In which order the arguments of a self tail call are computed: what has an
 * effect or may fail as it is written, then the others, each when nobody reads
 * any more the parameter that it becomes, so that it is computed in place.
 * NULL where memory runs out. */
static int *self_order(Lower *l, const Expr *e) {
  int *order = ARENA_ARRAY(l->arena, int, 2 * (size_t)e->count + 1);
  if (!order) return NULL;
  int *left = order + e->count, n = 0, at = 0;
  bool own = l->fn->key.kind == FUNCTION_FN;
  for (int i = 0; i < e->count; i++)
    if (own && expr_is_plain(e->args[i])) left[n++] = i;
    else order[at++] = i;
  while (n > 0) {
    int k = 0;
    while (k < n && n <= ORDERED_MOST && is_read_yet(l, e, left, n, left[k]))
      k++;
    if (k == n || n > ORDERED_MOST) k = 0;
    order[at++] = left[k];
    memmove(left + k, left + k + 1, (size_t)(--n - k) * sizeof *left);
  }
  return order;
}

/* NULL where memory runs out. */
static Reg *self_arguments(Lower *l, const Expr *e) {
  Reg *regs = ARENA_ARRAY(l->arena, Reg, (size_t)e->count + 1);
  const int *order = self_order(l, e);
  if (!regs || !order) return NULL;
  for (int k = 0; k < e->count; k++) {
    size_t before = l->regs.len;
    int i = order[k];
    regs[i] = lower_argument(l, e, i, DST_ANY);
    if (regs[i] >= before) l->regs.data[regs[i]].hint = (Reg)i;
  }
  return regs;
}

static void call_self(Lower *l, const Expr *e) {
  Reg *regs = self_arguments(l, e);
  if (!regs) return;
  l->span = e->span;
  put_self(l, regs, e->count);
}

/* --- Tail recursion modulo cons ------------------------------------------ */

/* A call of the running function is a tail call, too, if it is the last field
 * to be evaluated of a constructor that is the result: the cell is made first,
 * with a hole for that field, and the callee fills the hole (Friedman & Wise,
 * "Unwinding Structured Recursions into Iterations", 1975; Leijen &
 * Lorenzen, "Tail Recursion Modulo Context", 2023).  So @map takes no frames,
 * however long the list is.
 *
 * The callee is an instance (`trmc`) with two parameters more: the root, which
 * is the first cell made and what the outermost call returns, and the address
 * of the hole.  Until it is filled, the hole is null, which freeing passes
 * over; a run that fails there drops the root, and with it all that has been
 * built. */

/* Evaluating it does nothing, so it may happen before a call to its left. */
static bool is_settled(Lower *l, const Expr *e) {
  if (e->kind == EX_CONST) return true;
  if (e->kind != EX_VAR || e->targ_count > 0) return false;
  const Local *v = local_get(l, e->var);
  return v && v->kind == LOCAL_REG;
}

/* The running function, in some instance, if that is what `e` calls. */
static Function *called_self(Lower *l, const Expr *e) {
  if (e->kind != EX_CALL || e->call.callee->kind != EX_GLOBAL ||
      l->fn->key.kind != FUNCTION_FN || !l->fn->key.global || result_checked(e))
    return NULL;
  Reg self;
  Function *f = callee_of(l, e, &self);
  return f && function_same(f, l->fn) ? f : NULL;
}

/* Which field of this constructor can be a hole; -1: none. */
static int hole_of(Lower *l, const Expr *e) {
  const Type *ctor = e->call.callee->type;
  int i = e->count - 1;
  while (i >= 0 && is_settled(l, e->args[i])) i--;
  if (i < 0 || e->count > SIZE_SMALL_MAX || ctor->kind != TY_FN ||
      types_need_check(e->args[i]->type, ctor->args[i]) ||
      !called_self(l, e->args[i]))
    return -1;
  return i;
}

/* The constructor's cell, with null in field `hole`.  What is to the right of
 * the hole is evaluated before the call, which is_settled() allows. */
static Reg put_cell_with_hole(Lower *l, const Expr *e, Reg *fields, int hole) {
  for (int i = hole + 1; i < e->count; i++)
    fields[i] = lower_ctor_field(l, e, i);
  fields[hole] = reg_new(l, true);
  if (fields[hole] < l->regs.len) l->regs.data[fields[hole]].nullable = true;
  l->span = e->span;
  put_bits(l, fields[hole], 0);
  return lower_cell(l, (uint16_t)e->call.callee->ctor->tag, e->count, fields,
                    DST_ANY);
}

/* Links a new cell to what has been built, and puts the address of its hole
 * into `to`.  Gives the root: outside of a trmc instance it is this cell;
 * inside, the cell fills the hole that the instance was given. */
static Reg put_link(Lower *l, Reg cell, int hole, Reg to) {
  if (!l->fn->key.trmc) {
    put(l, INS_hole, to, cell, (uint32_t)hole);
    return cell;
  }
  put(l, INS_fill_hole, to, l->hole, cell)->words[0] = (uint64_t)hole;
  return l->root;
}

/* As the running instance itself: a jump to its head, the new hole in the
 * parameter of the old one. */
static void trmc_loop(Lower *l, const Expr *e, Reg *fields, int hole) {
  const Expr *call = e->args[hole];
  Reg *regs = self_arguments(l, call);
  if (!regs) return;
  Reg cell = put_cell_with_hole(l, e, fields, hole);
  put_link(l, cell, hole, l->hole);
  l->span = call->span;
  put_self(l, regs, call->count);
}

/* Goes on as trmc instance `f`.  With `e`, the constructor around the call, its
 * cell is made first; with NULL the hole at hand is the callee's to fill. */
static void trmc_call(Lower *l, const Expr *call, Function *f, const Expr *e,
                      Reg *fields, int hole) {
  int base = l->out, n = call->count;
  l->out += n + 2;
  Argument *args = outgoing(l, call, f, base);
  if (!args) return;
  args[n] = (Argument){reg_out(l, base + n, true), NO_REG};
  args[n + 1] = (Argument){reg_out(l, base + n + 1, false), NO_REG};
  Reg root = l->root;
  if (e) {
    Reg cell = put_cell_with_hole(l, e, fields, hole);
    root = put_link(l, cell, hole, args[n + 1].at);
  } else {
    put(l, INS_move, args[n + 1].at, l->hole, 0);
  }
  put(l, INS_move, args[n].at, root, 0);
  l->span = call->span;
  put_call(l, f, base, args, n + 2, call->type, DST_TAIL);
  l->out = base;
}

static void lower_trmc(Lower *l, const Expr *e, int hole) {
  const Expr *call = e->args[hole];
  Reg *fields = ARENA_ARRAY(l->arena, Reg, (size_t)e->count + 1);
  for (int i = 0; fields && i < hole; i++)
    fields[i] = lower_ctor_field(l, e, i);
  Function *f = called_self(l, call);
  if (!fields || !f) { /* memory ran out since hole_of() asked */
    lower_failed(l);
    return;
  }
  f = code_trmc(l->code, tail_callee(l, call, f));
  if (f == l->fn) trmc_loop(l, e, fields, hole);
  else trmc_call(l, call, f, e, fields, hole);
}

static Reg lower_built(Lower *l, const Expr *e, Reg dst) {
  int hole = dst == DST_TAIL ? hole_of(l, e) : -1;
  if (hole < 0)
    return lower_fields(l, (uint16_t)e->call.callee->ctor->tag, e, dst);
  lower_trmc(l, e, hole);
  return NO_REG;
}

/* --- Any call ----------------------------------------------------------- */

/* A tail call of the running function: a jump, unless another instance fits
 * the arguments. */
static void tail_self(Lower *l, const Expr *e, Function *f, Reg self) {
  if (l->fn->key.trmc) f = code_trmc(l->code, f);
  if (f == l->fn) call_self(l, e);
  else if (f->key.trmc) trmc_call(l, e, f, NULL, NULL, 0);
  else call_known(l, e, f, self, DST_TAIL);
}

/* The instance that returns its tuple as this call wants it.  One that takes
 * over the frame returns to our caller, so it does as the running function
 * does; elsewhere unboxed, if the callee would only build the tuple to return
 * it. */
static Function *result_callee(Lower *l, Function *f, bool tail) {
  bool unboxed = tail ? l->fn->result_count > 0 : fn_builds_tuple(l->code, f);
  return unboxed ? code_unboxed(l->code, f) : f;
}

/* An operator of the host calls nothing, so it needs no tail call, by which the
 * place of a call that fails would be lost. */
static bool is_of_host(const Lower *l, const Function *f) {
  if (!f || f->key.kind != FUNCTION_FN) return false;
  SourceMap *sources = l->code->program->sources;
  const SourceFile *file = sources_file(sources, f->key.expr->span);
  return file && file->host;
}

Reg lower_call(Lower *l, const Expr *e, Reg dst) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP && op_is_form(op_info(callee->op)))
    return lower_form(l, e, dst);
  if (callee->kind == EX_OP) return lower_op(l, e, dst);
  if (callee->kind == EX_CTOR) return lower_built(l, e, dst);
  Reg self;
  Function *f = callee_of(l, e, &self);
  const Fn *inlined = fn_inlined(l, e, f);
  if (inlined) return lower_inlined(l, e, inlined, dst);
  bool same = dst == DST_TAIL && f && function_same(f, l->fn);
  bool tail = dst == DST_TAIL && !result_checked(e) && !l->fn->key.trmc &&
              !is_of_host(l, f);
  if (f) f = result_callee(l, f, same || tail);
  if (same) {
    tail_self(l, e, tail_callee(l, e, f), self);
    return NO_REG;
  }
  tail &= (f ? f->result_count : 0) == l->fn->result_count;
  Reg at = tail || dst != DST_TAIL ? dst : DST_ANY;
  if (f) f = (tail ? tail_callee : other_callee)(l, e, f);
  Reg r = f ? call_known(l, e, f, self, at) : call_unknown(l, e, at);
  return tail ? NO_REG : lower_finish(l, lower_call_result(l, e, r), dst);
}
