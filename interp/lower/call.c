/* Calls.  Arguments are computed straight into the outgoing area, which the
 * callee's window lies over; a call in a tail position takes over the frame,
 * and one of the function itself is a jump. */
#include "interp/lower/lower.h"

/* --- What is called ----------------------------------------------------- */

static Function *known_global(Lower *l, const Expr *use, bool value) {
  const Global *g = use->g.global;
  if (g->kind == GLOBAL_PARAM || g->value->kind != EX_FN) return NULL;
  const Env *env = env_bind(l, NULL, g->param_count, g->params, use->targs,
                            g->effects & EFFECT_PRINT);
  bool checks = value ? value_checks(l, use, g->value->fn)
                      : use_checks(l, use);
  return code_global(l->code, g, env, checks);
}

Function *global_function(Lower *l, const Expr *use) {
  bool whole = use->type->kind == TY_FN && use->type->param_count > 0;
  Function *f = whole ? NULL : known_global(l, use, true);
  return f ? code_owning(l->code, f) : NULL;
}

Function *known_callee(Lower *l, const Expr *callee, Reg *self) {
  *self = NO_REG;
  if (callee->kind == EX_GLOBAL) return known_global(l, callee, false);
  if (callee->kind != EX_VAR) return NULL;
  Local *v = local_get(l, callee->var);
  if (!v) return NULL;
  if (v->kind == LOCAL_MEMBER) {
    *self = l->self;
    return member_function(l, callee);
  }
  if (v->kind == LOCAL_REG && v->known) *self = v->reg;
  return v->kind == LOCAL_REG || v->kind == LOCAL_CONST ? v->known : NULL;
}

/* --- Arguments ---------------------------------------------------------- */

/* The type of parameter `i`. */
static const Type *wanted(const Expr *e, int i) {
  const Type *fn = e->call.callee->type;
  return fn->kind == TY_FN ? fn->args[i] : NULL;
}

/* Names that the callee itself binds are its own affair. */
static void check_argument(Lower *l, const Expr *e, int i, Reg r) {
  if (e->call.callee->type->param_count > 0) return;
  lower_check(l, r, e->args[i]->type, wanted(e, i), "argument",
              e->call.callee->span);
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

/* The instance for a tail call: one that borrows only what our caller holds,
 * since nothing can be dropped when the frame is gone. */
static Function *tail_callee(Lower *l, const Expr *e, Function *f) {
  if (f->borrows && code_owning(l->code, f) == l->fn) return l->fn;
  for (int i = 0; f->borrows && i < e->count; i++) {
    if (f->params[i] == PARAM_BORROWED && !is_lent(l, e->args[i])) {
      return code_owning(l->code, f);
    }
  }
  return f;
}

/* Is it needed no more after a call that it is an argument of? */
static bool is_fresh(const Expr *e) {
  return e->kind != EX_VAR && e->kind != EX_PROJ && e->kind != EX_BLOCK;
}

/* The instance for any other call: one that owns its parameters when they are
 * all made for it (own.c sees which variables end here). */
static Function *other_callee(Lower *l, const Expr *e, Function *f) {
  for (int i = 0; i < e->count; i++) {
    if (f->params[i] == PARAM_BORROWED && !is_fresh(e->args[i])) return f;
  }
  return code_owning(l->code, f);
}

/* Argument `i` into its place of the outgoing area. */
static Reg argument(Lower *l, const Expr *e, int i, int place) {
  Reg r = reg_out(l, place, is_counted(l, e->args[i]->type));
  lower_as(l, e->args[i], wanted(e, i), r);
  check_argument(l, e, i, r);
  return r;
}

static bool lends(const Function *f, int i) {
  return f && f->params[i] == PARAM_BORROWED;
}

/* Where an argument is passed, and, when the callee borrows it, where it
 * stays. */
typedef struct Argument {
  Reg at, from;
} Argument;

static Argument lent_argument(Lower *l, const Expr *e, int i, int place) {
  Reg from = lower_as(l, e->args[i], wanted(e, i), DST_ANY);
  check_argument(l, e, i, from);
  Reg r = reg_out(l, place, false);
  put(l, PSEUDO_PASS, r, 0, 0);
  put_listed(l, 'u', from);
  return (Argument){r, from};
}

/* Into places `base`, `base + 1`, ... of the outgoing area. */
static Argument *outgoing(Lower *l, const Expr *e, const Function *f,
                          int base) {
  Argument *args = ARENA_ARRAY(l->arena, Argument, (size_t)e->count + 2);
  for (int i = 0; i < e->count; i++) {
    args[i] = lends(f, i) ? lent_argument(l, e, i, base + i)
                          : (Argument){argument(l, e, i, base + i), NO_REG};
  }
  return args;
}

static void put_arguments(Lower *l, const Argument *args, int n) {
  for (int i = 0; i < n; i++) {
    put_listed(l, args[i].from == NO_REG ? 'm' : 'b', args[i].at);
    if (args[i].from != NO_REG) put_listed(l, 'u', args[i].from);
  }
}

/* Calls the function, or with NULL the closure in the last of `args`. */
static Reg put_call(Lower *l, Function *f, int base, const Argument *args,
                    int n, const Type *type, Reg dst) {
  int op = f ? INS_call : INS_apply;
  Reg r = NO_REG;
  if (dst == DST_TAIL) {
    put_word(l, f ? INS_tail : INS_tail_apply, 0, (uint32_t)base, (uint32_t)n,
             f);
  } else {
    r = lower_target(l, type, dst);
    put_word(l, op, r, (uint32_t)base, (uint32_t)n - !f, f);
  }
  put_arguments(l, args, n);
  return r;
}

/* The result may need a look; that of a tail call is the caller's affair. */
static Reg call_result(Lower *l, const Expr *e, Reg r) {
  const Type *fn = e->call.callee->type;
  if (fn->kind == TY_FN && fn->param_count == 0) {
    lower_check_out(l, r, fn->result, e->type, "result",
                    e->call.callee->span);
  }
  return r;
}

static bool result_checked(const Expr *e) {
  const Type *fn = e->call.callee->type;
  return fn->kind == TY_FN && types_need_check(fn->result, e->type);
}

static Reg call_known(Lower *l, const Expr *e, Function *f, Reg self,
                      Reg dst) {
  int base = l->out, n = e->count + (self != NO_REG);
  l->out += n;
  Argument *args = outgoing(l, e, f, base);
  l->span = e->span;
  if (self != NO_REG) {
    args[e->count] = (Argument){reg_out(l, base + e->count, true), NO_REG};
    put(l, INS_move, args[e->count].at, self, 0);
  }
  Reg r = put_call(l, f, base, args, n, e->type, dst);
  l->out = base;
  return r;
}

static Reg call_unknown(Lower *l, const Expr *e, Reg dst) {
  int base = l->out, n = e->count + 1;
  l->out += n;
  Argument *args = outgoing(l, e, NULL, base);
  args[e->count] = (Argument){reg_out(l, base + e->count, true), NO_REG};
  lower_expr(l, e->call.callee, args[e->count].at);
  l->span = e->span;
  Reg r = put_call(l, NULL, base, args, n, e->type, dst);
  l->out = base;
  return r;
}

/* Back to the head; the arguments become the parameters. */
static void call_self(Lower *l, const Expr *e) {
  Reg *regs = ARENA_ARRAY(l->arena, Reg, (size_t)e->count + 1);
  for (int i = 0; i < e->count; i++) {
    size_t before = l->regs.len;
    regs[i] = lower_as(l, e->args[i], wanted(e, i), DST_ANY);
    check_argument(l, e, i, regs[i]);
    if (regs[i] >= before) l->regs.data[regs[i]].hint = (Reg)i;
  }
  l->span = e->span;
  put(l, PSEUDO_SELF, (uint32_t)e->count, 0, 0);
  for (int i = 0; i < e->count; i++) put_listed(l, 'm', regs[i]);
  for (size_t i = 0; i < l->carried.len; i++) {
    put_listed(l, 'm', l->carried.data[i]);
  }
}

Reg lower_call(Lower *l, const Expr *e, Reg dst) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) return lower_op(l, e, dst);
  if (callee->kind == EX_CTOR) {
    return lower_fields(l, (uint16_t)callee->ctor->tag, e, dst);
  }
  Reg self;
  Function *f = known_callee(l, callee, &self);
  Reg at = dst == DST_TAIL && result_checked(e) ? DST_ANY : dst;
  if (f && dst == DST_TAIL && tail_callee(l, e, f) == l->fn) {
    call_self(l, e);
    return NO_REG;
  }
  if (f) f = (at == DST_TAIL ? tail_callee : other_callee)(l, e, f);
  Reg r = f ? call_known(l, e, f, self, at) : call_unknown(l, e, at);
  return at == DST_TAIL ? NO_REG : lower_finish(l, call_result(l, e, r), dst);
}
