/* One function: its parameters, what it captured, its body, then the phases
 * that turn the list into code.
 *
 *   registers   0 .. n-1        parameters, in their order
 *               then            self (the running closure), if it captures
 *               then            root and hole, in a trmc instance
 *               then            what the prologue reads from the closure
 *   head        where a self tail call comes back to; what the prologue has
 *               read is carried along
 *   body        with DST_TAIL
 *
 * function_lower() is called under the code's lock, when the function is first
 * entered.  Its scratch lies in an arena of its own, and what is kept in the
 * code's arena.  If memory runs out, functions that were made on the way are
 * forgotten again, since the calls that were to use them are gone. */
#include <string.h>

#include "bytecode/lower/lower.h"

/* --- What callers must know --------------------------------------------- */

static int param_count(const Function *f) {
  switch (f->key.kind) {
    case FUNCTION_FN: return f->key.expr->fn->param_count;
    case FUNCTION_CTOR: return f->key.ctor->field_count;
    case FUNCTION_OP: return f->key.expr->type->count;
    case FUNCTION_FORM: return form_param_count(f->key.expr);
    case FUNCTION_PLAIN: return plain_type(f)->count;
    case FUNCTION_STEP: break;
  }
  return 0;
}

static const Type *param_type(const Function *f, int i) {
  switch (f->key.kind) {
    case FUNCTION_FN: return f->key.expr->fn->params[i]->type;
    case FUNCTION_CTOR: return f->key.ctor->fields[i];
    case FUNCTION_FORM: return form_param_type(f->key.expr, i);
    case FUNCTION_PLAIN: return plain_type(f)->args[i];
    default: return f->key.expr->type->args[i];
  }
}

/* A closure that captures nothing is immortal and need not be passed. */
static bool has_self(const Function *f) {
  return f->key.group && f->key.group->capture_count > 0;
}

static void set_unboxed_results(Function *f) {
  const Type *result = f->key.expr->fn->body->type;
  f->result_count = (uint32_t)result->count;
  for (int i = 0; i < result->count; i++)
    f->result_counted[i] = env_counted(f->key.env, result->args[i]);
}

/* Asked for when a Function is made, before it is lowered, for callers lay out
 * their arguments by it. */
void function_params(Code *c, Function *f) {
  int n = param_count(f);
  const bool *borrowed = f->key.borrows ? fn_borrowed(c, f->key.expr) : NULL;
  ParamMode *params = ARENA_ARRAY(&c->arena, ParamMode, (size_t)n + 4);
  if (!params) return;
  for (int i = 0; i < n; i++) {
    params[i] = !env_counted(f->key.env, param_type(f, i)) ? PARAM_BITS
                : borrowed && borrowed[i]                  ? PARAM_BORROWED
                                                           : PARAM_OWNED;
  }
  if (has_self(f)) params[n++] = PARAM_OWNED;
  if (f->key.trmc) {
    params[n++] = PARAM_OWNED;
    params[n++] = PARAM_BITS;
  }
  f->nparams = (uint32_t)n;
  f->params = params;
  if (f->key.unboxed) set_unboxed_results(f);
}

/* --- The prologue ------------------------------------------------------- */

static void bind_params(Lower *l) {
  const Function *f = l->fn;
  for (uint32_t i = 0; i < f->nparams; i++) {
    Reg r = reg_new(l, f->params[i] != PARAM_BITS);
    if (f->params[i] == PARAM_BORROWED) reg_borrow(l, r);
  }
  if (has_self(f)) l->self = f->nparams - 1;
  if (f->key.trmc) {
    l->root = f->nparams - 2;
    l->hole = f->nparams - 1;
  }
  if (f->key.kind != FUNCTION_FN) return;
  const Fn *fn = f->key.expr->fn;
  for (int i = 0; i < fn->param_count; i++) {
    Local *param = local_put(l, fn->params[i], LOCAL_REG);
    param->reg = (Reg)i;
    param->pinned = f->key.callees ? f->key.callees[i] : NULL;
  }
}

static Reg captures_reg(Lower *l, const FnGroup *g) {
  if (!captures_packed(g)) return l->self;
  Reg tuple = reg_new(l, true);
  if (lower_is_dual(l)) {
    put_word(l, INS_part, tuple, l->self, CLOSURE_CAPTURES,
             type_unit(l->code->program->types));
    return tuple;
  }
  put(l, INS_field, tuple, l->self, CLOSURE_CAPTURES);
  put(l, PSEUDO_open, l->self, 1, 2);
  put_listed(l, 'd', tuple);
  VEC_LAST(&l->listed).field = CLOSURE_CAPTURES;
  return tuple;
}

/* In a wide function each use reads them from the tuple. */
static void bind_far_captures(Lower *l, const FnGroup *g, Reg tuple) {
  int word = cell_offset(g->capture_count);
  for (int i = 0; i < g->free_count; i++) {
    if (!g->free[i].captured) continue;
    Local *local = local_put(l, g->free[i].var, LOCAL_CAPTURED);
    local->reg = tuple;
    local->size = word++;
  }
  VEC_PUSH(&l->carried, tuple);
  VEC_PUSH(&l->carried, l->self);
}

/* Captured values are read from the closure once, before the head.  Reading
 * them once makes them registers like others; opening the closure then owns its
 * fields where nobody else holds it. */
static void bind_captures(Lower *l, const FnGroup *g) {
  Reg cell = captures_reg(l, g);
  if (l->wide && captures_packed(g) && !lower_is_dual(l) &&
      l->fn->key.kind == FUNCTION_FN) {
    bind_far_captures(l, g, cell);
    return;
  }
  int n = g->capture_count, at = captures_first(g), counted = 0;
  int skip = captures_packed(g) ? cell_offset(n) : 0;
  size_t first = l->carried.len;
  for (int i = 0; i < g->free_count; i++) {
    const FreeVar *v = &g->free[i];
    if (!v->captured) continue;
    Reg r = reg_of_type(l, v->var->type);
    if (lower_is_dual(l)) {
      lower_part(l, r, cell, (uint32_t)(skip + at++), v->var->type);
    } else {
      put(l, INS_field, r, cell, (uint32_t)(skip + at++));
      put_listed(l, 'u', cell);
    }
    Local *local = local_put(l, v->var, LOCAL_REG);
    local->reg = r;
    local->callee = lower_callee(l, v->callee);
    counted += v->counted;
    VEC_PUSH(&l->carried, r);
  }
  if (lower_is_dual(l)) {
    VEC_PUSH(&l->carried, l->self);
    return;
  }
  put(l, PSEUDO_open, cell, (uint32_t)counted,
      (uint32_t)(captures_packed(g) ? n : n + 1));
  at = captures_first(g);
  for (size_t k = first; k < l->carried.len; k++, at++) {
    if (!l->regs.data[l->carried.data[k]].counted) continue;
    put_listed(l, 'd', l->carried.data[k]);
    VEC_LAST(&l->listed).field = (uint16_t)at;
  }
  VEC_PUSH(&l->carried, l->self);
}

/* What is not captured needs no register: members of the group, closures that
 * capture nothing, generalised values. */
static void bind_free(Lower *l) {
  const FnGroup *g = l->fn->key.group;
  if (!g) return;
  for (int i = 0; i < g->count; i++)
    if (g->vars[i]) local_put(l, g->vars[i], LOCAL_MEMBER);
  for (int i = 0; i < g->free_count; i++) {
    const FreeVar *v = &g->free[i];
    if (v->captured) continue;
    Local *local =
        local_put(l, v->var, v->general ? LOCAL_GENERAL : LOCAL_CONST);
    local->value = v->general;
    local->callee = lower_callee(l, v->callee);
  }
  if (g->capture_count > 0) bind_captures(l, g);
}

/* --- The body ----------------------------------------------------------- */

/* A result that has to be checked is no tail call: the check comes after
 * it. */
static void lower_checked(Lower *l, const Expr *body, const Type *declared,
                          Span span) {
  if (!declared) declared = body->type;
  if (!types_need_check(body->type, declared)) {
    lower_as(l, body, declared, DST_TAIL);
    return;
  }
  Reg r = lower_as(l, body, declared, DST_ANY);
  l->span = body->span;
  lower_check(l, r, body->type, declared, "result", span);
  lower_finish(l, r, DST_TAIL);
}

static Span result_span(const Fn *fn, const Expr *e) {
  return fn->result ? fn->result->span : e->span;
}

static void lower_ctor_body(Lower *l) {
  int n = l->fn->key.ctor->field_count;
  Reg *fields = ARENA_ARRAY(l->arena, Reg, (size_t)n + 1);
  if (!fields) return;
  for (int i = 0; i < n; i++) {
    fields[i] = (Reg)i;
    if (!l->fn->key.checks) continue;
    lower_entry_param(l, fields[i], l->fn->key.ctor->fields[i],
                      l->fn->key.ctor->span);
  }
  lower_cell(l, (uint16_t)l->fn->key.ctor->tag, n, fields, DST_TAIL);
}

/* A step is never left by a tail call, so traces end at the top level. */
static void lower_step(Lower *l) {
  const Function *f = l->fn;
  const Type *type = f->key.global ? f->key.global->type : f->key.expr->type;
  Reg r = lower_as(l, f->key.expr, type, DST_ANY);
  l->span = f->key.expr->span;
  lower_check(l, r, f->key.expr->type, type, "annotation", f->key.expr->span);
  lower_finish(l, r, DST_TAIL);
}

static void lower_body(Lower *l) {
  const Function *f = l->fn;
  bind_params(l);
  bind_free(l);
  put(l, PSEUDO_head, 0, 0, 0);
  switch (f->key.kind) {
    case FUNCTION_FN: {
      const Fn *fn = f->key.expr->fn;
      lower_entry(l, fn);
      lower_checked(l, fn->body, fn->declared_result,
                    result_span(fn, f->key.expr));
      break;
    }
    case FUNCTION_CTOR: lower_ctor_body(l); break;
    case FUNCTION_OP: lower_op_body(l, f->key.expr); break;
    case FUNCTION_STEP: lower_step(l); break;
    case FUNCTION_FORM: lower_form_body(l); break;
    case FUNCTION_PLAIN: lower_plain_body(l); break;
  }
}

/* --- Constructors as values --------------------------------------------- */

Reg lower_ctor(Lower *l, const Expr *e, Reg dst) {
  if (e->ctor->field_count == 0 && e->type->kind != TY_FN)
    return lower_cell(l, (uint16_t)e->ctor->tag, 0, NULL, dst);
  const Adt *adt = e->ctor->adt;
  const Env *env =
      env_bind(l, NULL, adt->param_count, adt->params, e->targs, false);
  Function *f =
      code_instance(l->code, (InstanceKey){.kind = FUNCTION_CTOR,
                                           .ctor = e->ctor,
                                           .env = env,
                                           .checks = l->fn->key.loose});
  return lower_function_value(l, f, dst);
}

/* --- The driver --------------------------------------------------------- */

static void lower_init(Lower *l, Code *c, Function *f, Arena *arena,
                       Diags *diags) {
  *l = (Lower){.code = c,
               .fn = f,
               .arena = arena,
               .diags = diags,
               .env = f->key.env,
               .self = NO_REG,
               .root = NO_REG,
               .hole = NO_REG};
  VEC_INIT(&l->list, c->mem);
  VEC_INIT(&l->listed, c->mem);
  VEC_INIT(&l->regs, c->mem);
  VEC_INIT(&l->lazies, c->mem);
  VEC_INIT(&l->tokens, c->mem);
  VEC_INIT(&l->carried, c->mem);
  VEC_INIT(&l->live, c->mem);
  split_start(&l->stack, c->mem);
  ptrmap_init(&l->locals, c->mem);
}

static void lower_done(Lower *l) {
  VEC_DONE(&l->list);
  VEC_DONE(&l->listed);
  VEC_DONE(&l->regs);
  VEC_DONE(&l->lazies);
  VEC_DONE(&l->tokens);
  VEC_DONE(&l->carried);
  VEC_DONE(&l->live);
  split_end(&l->stack);
  ptrmap_done(&l->locals);
}

static bool report(Lower *l, DiagCode code, const char *why) {
  Span span = l->fn->key.expr ? l->fn->key.expr->span : SPAN_NONE;
  diag_new(l->diags, SEV_RUNTIME, code, span, "%s", why);
  return false;
}

static bool report_flaw(Lower *l) {
  const Flaw *f = &l->flaw;
  if (!f->rule) return report(l, E0701, "out of memory while making code");
  StrBuf why;
  strbuf_init(&why, l->code->mem);
  strbuf_addf(&why, "the code made for %s is not sound: at unit %u, ",
              l->fn->name, f->at);
  if (f->reg != NO_FLAW_REG) strbuf_addf(&why, "r%u ", f->reg);
  strbuf_add(&why, f->rule);
  report(l, E0706, strbuf_text(&why));
  strbuf_done(&why);
  return false;
}

static void join_stretches(Lower *l) {
  if (lower_is_dual(l) && !l->fn->key.stops) stretch_pass(l);
}

static void join_chains(Lower *l) {
  if (!l->fn->key.stops) chain_pass(l);
}

/* What is done to the list of instructions, in order.  One that was left
 * half-made for lack of memory is no input for the next.  Chains absorb some
 * views, so the others come after them; ownership comes last, as it must know
 * every read. */
static bool run_passes(Lower *l) {
  static void (*const passes[])(Lower * l) = {
      tuple_pass, join_stretches, join_chains, view_pass, spill_pass, own_pass,
  };
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    passes[i](l);
    if (l->failed || mem_exhausted(l->code->mem)) return false;
  }
  return true;
}

/* What runs is listed: else a fault would not find what is live in it. */
static bool lower_phases(Lower *l) {
  if (!code_list(l->code, l->fn))
    return report(l, E0701, "out of memory while making code");
  lower_body(l);
  if (!l->failed && !l->too_large && lower_is_wide(l)) {
    lower_done(l);
    lower_init(l, l->code, l->fn, l->arena, l->diags);
    l->wide = true;
    lower_body(l);
  }
  if (l->failed || mem_exhausted(l->code->mem))
    return report(l, E0701, "out of memory while making code");
  if (l->too_large) return report(l, E0705, l->too_large);
  if (l->unknown)
    return report(l, E0614,
                  "this function does not know the type at which it "
                  "differentiates: it stays polymorphic as a value, or the "
                  "type is too large");
  if (!run_passes(l))
    return report(l, E0701, "out of memory while making code");
  if (!regs_assign(l)) return report(l, E0705, l->too_large);
  return emit_code(l) || report_flaw(l);
}

/* What is reported is a run-time error of the session that came by. */
bool function_lower(Code *c, Function *f, Diags *diags) {
  Arena arena;
  Lower l;
  size_t known = c->functions.len;
  (void)code_refused(c); /* what another use of the lock has left */
  arena_init(&arena, c->mem);
  lower_init(&l, c, f, &arena, diags);
  f->lowered = lower_phases(&l);
  c->sorted = false;
  lower_done(&l);
  arena_done(&arena);
  if (!f->lowered && code_refused(c)) code_forget(c, known);
  return f->lowered;
}
