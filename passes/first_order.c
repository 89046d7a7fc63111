/* FirstOrderGradient: `grad` of a function that only calls operators becomes a
 * function that computes the value and then the gradient, by the library's
 * rules, and `jvp` of one the value and then its tangent.
 *
 *   grad(fn (%x: float32) { tanh(%x) * %x })
 *
 *     ==>   fn (%x: float32) {
 *             let %v = tanh(%x);
 *             let %d = 1f * %x;
 *             let %d1 = 1f * %v + %d * (1f - %v * %v);
 *             (%v * %x, (%d1,))
 *           }
 *
 * The function's body is taken in A-normal form.  Operators of which an operand
 * depends on a float parameter are a stretch, as the machine records it, and
 * types/stretch.h writes the same sweep for it, or the same tangents, so the
 * bits are those of `grad`.  Whatever else the body computes is a constant for
 * the sweep and may be anything.  A branch, a call, a function or a cell that
 * depends on a parameter leaves `grad` as it is, and W0008 says so (Inline,
 * Unroll and PartialEval take some of these away). */
#include "passes/first_order.h"

#include "passes/calls.h"
#include "types/types.h"

enum { NUMBER_ZERO = 1 << 30 }; /* no entry of a map is NULL */

static const char no_text[] =
    "the derivative of this cannot be written as text";

/* Notes the first reason for which the derivative stays; gives false. */
static bool stays(FirstOrder *f, Span at, const char *why) {
  if (!f->stays) f->stays = why, f->stays_at = at;
  return false;
}

static void keep_number(FirstOrder *f, const Var *var, int number) {
  ptrmap_put(&f->numbers, var, (void *)(intptr_t)(NUMBER_ZERO + number));
}

static int number_kept(const FirstOrder *f, const Var *var) {
  return (int)((intptr_t)ptrmap_get(&f->numbers, var) - NUMBER_ZERO);
}

static bool is_plain_tensor(const Type *t) {
  return t && t->kind == TY_TENSOR && !t->any_rank;
}

static bool is_float_tensor(const Type *t) {
  return is_plain_tensor(t) && dtype_is_float((DType)t->dtype);
}

static bool mentions_varying(const FirstOrder *f, const Expr *e) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, f->p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_VAR && ptrmap_has(&f->varies, w.at->var);
  expr_walk_end(&w);
  return found;
}

static int add_input(FirstOrder *f, const Expr *e) {
  VEC_PUSH(&f->inputs, e);
  return (int)f->inputs.len - 1;
}

/* The number of a tensor: of a name, a field of one, or a constant. */
static int number_of(FirstOrder *f, const Expr *leaf) {
  const Expr *of = leaf->kind == EX_PROJ ? leaf->args[0] : leaf;
  if (of->kind == EX_VAR && ptrmap_has(&f->numbers, of->var))
    return number_kept(f, of->var) -
           (leaf->kind == EX_PROJ ? (int)leaf->index : 0);
  int number = add_input(f, leaf);
  if (leaf->kind == EX_VAR) keep_number(f, leaf->var, number);
  return number;
}

/* --- Operators ------------------------------------------------------------ */

/* Operands as a stretch has them: tuples flattened. */
typedef struct Operands {
  VEC(int) values;
  int *groups;
} Operands;

static bool add_operand(FirstOrder *f, Operands *o, const Expr *leaf) {
  if (!is_plain_tensor(leaf->type))
    return stays(f, leaf->span, "this is no tensor of known rank");
  VEC_PUSH(&o->values, number_of(f, leaf));
  return true;
}

/* The fields of a tuple, which is written out or has one name. */
static bool add_fields(FirstOrder *f, Operands *o, const Expr *tuple) {
  for (int i = 0; i < tuple->type->count; i++) {
    const Expr *field = tuple->kind == EX_TUPLE
                            ? tuple->args[i]
                            : expr_field(f->arena, tuple->span, tuple, i);
    if (!field || !add_operand(f, o, field)) return false;
  }
  return true;
}

static bool add_operands(FirstOrder *f, Operands *o, const Expr *call) {
  o->groups = ARENA_ARRAY(f->arena, int, (size_t)call->count + 1);
  if (!o->groups) return false;
  for (int i = 0; i < call->count; i++) {
    const Expr *e = first_order_name(f, call->args[i]);
    bool tuple = e->type && e->type->kind == TY_TUPLE;
    o->groups[i] = tuple ? e->type->count : -1;
    if (!(tuple ? add_fields(f, o, e) : add_operand(f, o, e))) return false;
  }
  return true;
}

static bool has_rule(const Expr *call) {
  const OpInfo *op = expr_operator(call);
  return op && (op->flat || op_has_gradient(op)) && call->call.bound &&
         !attrs_have_operands(call->call.bound);
}

/* The results get numbers, as the fields of the variable or as the variable. */
static bool add_results(FirstOrder *f, Var *var, const Expr *call, int *count) {
  bool tuple = call->type->kind == TY_TUPLE;
  const Expr *use = expr_use(f->arena, call->span, var);
  *count = tuple ? call->type->count : 1;
  keep_number(f, var, -1 - (int)f->results.len);
  for (int i = 0; use && i < *count; i++) {
    const Expr *e = tuple ? expr_field(f->arena, call->span, use, i) : use;
    if (!e) return false;
    if (!is_plain_tensor(e->type))
      return stays(f, call->span, "this is no tensor of known rank");
    VEC_PUSH(&f->results, e);
  }
  return use && *count > 0;
}

static bool add_call(FirstOrder *f, Var *var, const Expr *call) {
  Operands o;
  StretchOp op = {.attrs = call->call.bound,
                  .group_count = call->count,
                  .first = (int)f->results.len,
                  .gives_tuple = call->type->kind == TY_TUPLE};
  if (!expr_operator(call))
    return stays(f, call->span,
                 "this depends on a parameter and is no operator");
  if (!has_rule(call)) return stays(f, call->span, no_text);
  VEC_INIT(&o.values, f->p->mem);
  bool ok =
      add_operands(f, &o, call) && add_results(f, var, call, &op.out_count);
  op.groups = o.groups;
  op.operand_count = (int)o.values.len;
  op.operands = VEC_TO_ARENA(&o.values, f->arena);
  VEC_DONE(&o.values);
  if (ok) VEC_PUSH(&f->ops, op);
  if (ok && !expr_operator(call)->flat) ptrmap_put(&f->varies, var, f);
  return ok;
}

/* --- The body ------------------------------------------------------------- */

static bool is_constant(const FirstOrder *f, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  return (op && op->special == SPECIAL_STOP_GRADIENT) ||
         !mentions_varying(f, e);
}

static bool add_binding(FirstOrder *f, const Block *block, int i) {
  const Binding *b = &block->bindings[i];
  bool constant = !b->value || is_constant(f, b->value);
  if (!block_is_let(block, b) || b->var->lazy)
    return constant ||
           stays(f, b->span, "this depends on a parameter and is no operator");
  const Expr *means = first_order_meaning(f, b->value);
  bool renames = means && means->type == b->var->type;
  if (renames) ptrmap_put(&f->means, b->var, (void *)means);
  if (constant) return true;
  if (renames) ptrmap_put(&f->varies, b->var, f);
  if (means && !renames)
    return stays(f, b->span, "this has another type than its value");
  return renames || add_call(f, b->var, b->value);
}

static int renumbered(const FirstOrder *f, int number) {
  return number < 0 ? (int)f->inputs.len - 1 - number : number;
}

/* The stretch; `result` is the number of its value. */
static bool make_stretch(FirstOrder *f, int result, Stretch *out) {
  int inputs = (int)f->inputs.len, count = inputs + (int)f->results.len;
  const Type **types = ARENA_ARRAY(f->arena, const Type *, (size_t)count + 1);
  int *outs = ARENA_ARRAY(f->arena, int, 1);
  if (!types || !outs) return false;
  for (int i = 0; i < count; i++)
    types[i] = i < inputs ? f->inputs.data[i]->type
                          : f->results.data[i - inputs]->type;
  for (size_t k = 0; k < f->ops.len; k++) {
    StretchOp *op = &f->ops.data[k];
    int *operands = (int *)op->operands;
    for (int i = 0; i < op->operand_count; i++)
      operands[i] = renumbered(f, operands[i]);
    op->first += inputs;
  }
  outs[0] = renumbered(f, result);
  *out = (Stretch){.inputs = inputs,
                   .value_count = count,
                   .op_count = (int)f->ops.len,
                   .out_count = 1,
                   .types = types,
                   .ops = f->ops.data,
                   .outs = outs};
  return true;
}

/* --- The sweep ------------------------------------------------------------ */

/* What the text of a value and its derivative is made of. */
typedef struct Derived {
  int params;
  const Block *block; /* computes the value; its result is a name */
  const Expr *value;
  Stretch stretch;
  StretchSweep sweep;       /* of grad and vjp, or: */
  StretchTangents tangents; /* of jvp */
} Derived;

/* The body of the stretch's function `fn` over the values that the block has
 * computed, of those that `reads` marks, and `count` more. */
static const Expr *call_over(FirstOrder *f, const Derived *d, const Expr *fn,
                             const bool *reads, int count,
                             const Expr *const *more) {
  int inputs = d->stretch.inputs, n = 0;
  const Expr **args =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)fn->fn->param_count + 1);
  if (!args) return NULL;
  for (int i = 0; i < d->stretch.value_count; i++)
    if (reads[i])
      args[n++] = i < inputs ? f->inputs.data[i] : f->results.data[i - inputs];
  for (int i = 0; i < count; i++) args[n++] = more[i];
  Expr *call = expr_call(f->arena, d->value->span, fn, n, args);
  call->type = fn->type->result;
  return call_inlined(f->p, f->arena, call, fn);
}

/* Field i of a tuple, which may be written out. */
static const Expr *field_of(FirstOrder *f, const Expr *tuple, int i) {
  return tuple->kind == EX_TUPLE ? tuple->args[i]
                                 : expr_field(f->arena, tuple->span, tuple, i);
}

/* The gradient of parameter `i`: its part of the sweep's tuple, or zeros. */
static const Expr *gradient_of(FirstOrder *f, const Derived *d,
                               const Expr *parts, int i) {
  const Expr *param = f->inputs.data[i];
  for (int k = 0; parts && k < d->sweep.part_count; k++)
    if (d->sweep.parts[k].input == i) return field_of(f, parts, k);
  return EXPR_APPLY(f->p, f->arena, param->span, OP_ZEROS_LIKE, NULL, param);
}

/* The gradients of all parameters, after bindings of what they are made of. */
static const Expr *gradients(FirstOrder *f, const Derived *d,
                             const Expr *adjoint, Bindings *out) {
  const Expr **parts =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)d->params + 1);
  const Expr *swept = NULL;
  if (d->sweep.function) {
    swept = adjoint ? call_over(f, d, d->sweep.function->value, d->sweep.reads,
                                1, &adjoint)
                    : NULL;
    if (swept) swept = first_order_sweep(f, out, swept);
    if (!swept) return NULL;
  }
  for (int i = 0; parts && i < d->params; i++)
    if (!(parts[i] = gradient_of(f, d, swept, i))) return NULL;
  return parts ? expr_tuple(f->p, f->arena, d->value->span, d->params, parts)
               : NULL;
}

/* The value's tangent, likewise, from those of all parameters; zeros where it
 * depends on none. */
static const Expr *tangent(FirstOrder *f, const Derived *d, Var *const *of,
                           Bindings *out) {
  const Expr *more[STRETCH_INPUTS];
  int n = 0;
  if (!d->tangents.function)
    return EXPR_APPLY(f->p, f->arena, d->value->span, OP_ZEROS_LIKE, NULL,
                      d->value);
  for (int i = 0; i < d->params; i++)
    if (is_float_tensor(of[i]->type))
      more[n++] = expr_use(f->arena, d->value->span, of[i]);
  const Expr *given =
      call_over(f, d, d->tangents.function->value, d->tangents.reads, n, more);
  if (given) given = first_order_sweep(f, out, given);
  return given ? field_of(f, given, 0) : NULL;
}

/* --- The body as a stretch ------------------------------------------------ */

/* The body as a block whose result is a name or a constant. */
static const Block *named_result(FirstOrder *f, const Expr *body) {
  Bindings all;
  Block *block = ARENA_NEW(f->arena, Block);
  VEC_INIT(&all, f->p->mem);
  const Expr *value = first_order_named(f, &all, expr_opened(body, &all));
  Binding *bindings = VEC_TO_ARENA(&all, f->arena);
  if (block) *block = (Block){(int)all.len, bindings, value};
  VEC_DONE(&all);
  return bindings || !block || !block->count ? block : NULL;
}

static StretchKey key_of(const FirstOrder *f, int params) {
  StretchKey key = {.outs = 1, .whole = true};
  for (int i = 0; i < params; i++)
    if (is_float_tensor(f->inputs.data[i]->type))
      key.varies |= (uint32_t)1 << i;
  return key;
}

/* Does each name of a definition in `e` mean the same in the program?  The
 * program may have a definition of its own by the name of one of the library's.
 */
static bool may_be_printed(FirstOrder *f, const Expr *e) {
  ExprWalk w;
  const Global *other = NULL;
  expr_walk_start(&w, f->p->mem, WALK_ENTER, e);
  while (!other && expr_walk_next(&w)) {
    if (w.at->kind != EX_GLOBAL) continue;
    const Global *g = global_of_text(w.at->g.global),
                 *named = scope_global(&f->p->user, g->name);
    if (named != g) other = named;
  }
  expr_walk_end(&w);
  return !other || stays(f, other->span,
                         "the derivative calls the library's function of this "
                         "name");
}

/* False: the body is no list of operators. */
static bool body_is_stretch(FirstOrder *f, int params, const Expr *body,
                            Derived *d) {
  const Block *block = body ? named_result(f, body) : NULL;
  if (!block) return false;
  for (int i = 0; i < block->count; i++)
    if (!add_binding(f, block, i)) return false;
  const Expr *value = first_order_name(f, block->result);
  *d = (Derived){.params = params, .block = block, .value = value};
  if (!is_float_tensor(value->type))
    return stays(f, body->span, "the value is no float tensor");
  return make_stretch(f, number_of(f, value), &d->stretch);
}

static bool make_sweep(FirstOrder *f, Derived *d) {
  DiagsMark mark = diags_mark(f->p->diags);
  bool ok = types_stretch(f->p, f->arena, &d->stretch, key_of(f, d->params),
                          &d->sweep);
  if (!ok) diags_return(f->p->diags, mark);
  const Global *sweep = ok ? d->sweep.function : NULL;
  if (!ok) return stays(f, d->value->span, no_text);
  return !sweep || may_be_printed(f, sweep->value);
}

static bool make_tangents(FirstOrder *f, Derived *d) {
  StretchTangents *t = &d->tangents;
  if (!types_stretch_tangents(f->p, f->arena, &d->stretch,
                              key_of(f, d->params).varies, t))
    return false;
  if (t->without)
    return stays(f,
                 f->results.data[t->without->first - d->stretch.inputs]->span,
                 "the tangent of this cannot be written as text");
  return t->function ? may_be_printed(f, t->function->value) : !t->outs;
}

/* --- Functions ------------------------------------------------------------ */

static void first_order_start(FirstOrder *f, Program *p, Arena *arena) {
  *f = (FirstOrder){.p = p, .arena = arena};
  ptrmap_init(&f->means, p->mem);
  ptrmap_init(&f->numbers, p->mem);
  ptrmap_init(&f->varies, p->mem);
  VEC_INIT(&f->inputs, p->mem);
  VEC_INIT(&f->results, p->mem);
  VEC_INIT(&f->ops, p->mem);
}

static void first_order_end(FirstOrder *f) {
  ptrmap_done(&f->means);
  ptrmap_done(&f->numbers);
  ptrmap_done(&f->varies);
  VEC_DONE(&f->inputs);
  VEC_DONE(&f->results);
  VEC_DONE(&f->ops);
}

/* A function whose text is there; NULL: there is none. */
static const Expr *function_of(FirstOrder *f, const Expr *e) {
  const Expr *fn = e;
  if (e->kind == EX_GLOBAL) {
    const Global *g = e->g.global;
    fn = g->kind == GLOBAL_DEF && !g->library && !g->instance_of ? g->value
                                                                 : NULL;
  }
  if (!fn || fn->kind != EX_FN)
    return stays(f, e->span, "the text of this function is not here"), NULL;
  if (fn->fn->param_count > STRETCH_INPUTS)
    return stays(f, e->span, "this function has too many parameters"), NULL;
  return fn;
}

static Var *var_of(FirstOrder *f, const Name *name, Span span,
                   const Type *type) {
  Var *var = var_new(f->arena, name, span, NULL);
  var->id = f->p->next_var_id++;
  var->type = type;
  return var;
}

/* The body of a call of `fn` with new parameters, in A-normal form. */
static const Expr *body_of(FirstOrder *f, const Expr *function, const Expr *fn,
                           Var **params) {
  int n = fn->fn->param_count;
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, (size_t)n + 1);
  if (!args) return NULL;
  for (int i = 0; i < n; i++) {
    const Var *was = fn->fn->params[i];
    if (!is_plain_tensor(was->type))
      return stays(f, was->span, "this is no tensor of known rank"), NULL;
    params[i] = var_of(f, was->name, was->span, was->type);
    args[i] = expr_use(f->arena, was->span, params[i]);
    keep_number(f, params[i], add_input(f, args[i]));
    if (is_float_tensor(was->type)) ptrmap_put(&f->varies, params[i], f);
  }
  Expr *call = expr_call(f->arena, fn->span, function, n, args);
  call->type = fn->type->kind == TY_FN ? fn->type->result : NULL;
  if (!call_is_plain(f->p, call, fn))
    return stays(f, fn->span,
                 "a call of this is more than its body: it has attributes or "
                 "type parameters, or looks at shapes when it runs"),
           NULL;
  const Expr *body = call_inlined(f->p, f->arena, call, fn);
  return body ? expr_normal_form(f->p, f->arena, body) : NULL;
}

static const Expr *after(FirstOrder *f, const Bindings *all,
                         const Expr *result) {
  return result
             ? expr_after(f->arena, result->span, all->len, all->data, result)
             : NULL;
}

static const Expr *fn_of(FirstOrder *f, Span span, const Type *type, int count,
                         Var **params, const Expr *body) {
  Fn *fn = body ? ARENA_NEW(f->arena, Fn) : NULL;
  if (!fn) return NULL;
  *fn = (Fn){.param_count = count, .params = params, .body = body};
  Expr *e = expr_new(f->arena, EX_FN, span);
  e->fn = fn;
  e->type = type;
  return e;
}

static const Expr *pair_of(FirstOrder *f, const Expr *a, const Expr *b) {
  const Expr *both[2] = {a, b};
  return b ? expr_tuple(f->p, f->arena, a->span, 2, both) : NULL;
}

/* --- grad, vjp and jvp ---------------------------------------------------- */

static void bind_to(Bindings *all, Var *var, const Expr *value) {
  VEC_PUSH(all, binding_let(value->span, var, value));
}

/* grad(f): a function of the value and the gradient. */
static const Expr *grad_written(FirstOrder *f, const Expr *e, const Derived *d,
                                Var **params, Bindings *all) {
  const Expr *one =
      expr_number(f->p, f->arena, e->span, (DType)d->value->type->dtype, 1);
  first_order_forward(f, all, d->block);
  const Expr *parts = gradients(f, d, one, all);
  const Expr *pair = pair_of(f, d->value, parts);
  return fn_of(f, e->span, e->type, d->params, params, after(f, all, pair));
}

/* Gives the parameter its argument; false: its shape is looked at when the
 * program runs. */
static bool bind_param(FirstOrder *f, Bindings *all, Var *param,
                       const Expr *argument) {
  if (types_need_check(argument->type, param->type))
    return stays(f, argument->span,
                 "the shape of this is looked at when the program runs");
  bind_to(all, param, argument);
  return true;
}

/* vjp(f, x...): the value, and a function of its adjoint.  That the adjoint has
 * the value's shape is known of a shape that is. */
static const Expr *vjp_written(FirstOrder *f, const Expr *e, const Derived *d,
                               Var **params, Bindings *all) {
  const Type *type = d->value->type, *fn = e->type->args[1];
  Bindings own;
  if (!type_is_static(type) || fn->args[0] != type)
    return stays(f, d->value->span,
                 "the adjoint must have the shape of this, which is known only "
                 "when the program runs"),
           NULL;
  for (int i = 0; i < d->params; i++)
    if (!bind_param(f, all, params[i], e->args[i + 1])) return NULL;
  Var **adjoint = ARENA_ARRAY(f->arena, Var *, 1);
  if (!adjoint) return NULL;
  adjoint[0] = var_of(f, name_of(f->p->names, "g"), e->span, type);
  first_order_forward(f, all, d->block);
  VEC_INIT(&own, f->p->mem);
  const Expr *parts =
      gradients(f, d, expr_use(f->arena, e->span, adjoint[0]), &own);
  const Expr *back = fn_of(f, e->span, fn, 1, adjoint, after(f, &own, parts));
  VEC_DONE(&own);
  return after(f, all, pair_of(f, d->value, back));
}

/* The fields of a tuple get these names; false: one cannot. */
static bool bind_fields(FirstOrder *f, Bindings *all, const Expr *tuple,
                        int count, Var *const *vars) {
  if (tuple->type->kind != TY_TUPLE || tuple->type->count != count)
    return false;
  if (tuple->kind != EX_TUPLE) tuple = first_order_named(f, all, tuple);
  for (int i = 0; i < count; i++) {
    const Expr *field = field_of(f, tuple, i);
    if (!field || !bind_param(f, all, vars[i], field)) return false;
  }
  return true;
}

/* jvp(f, (x, ...), (x', ...)): the value and its tangent. */
static const Expr *jvp_written(FirstOrder *f, const Expr *e, const Derived *d,
                               Var **params, Bindings *all) {
  Var **own = ARENA_ARRAY(f->arena, Var *, (size_t)d->params + 1);
  for (int i = 0; own && i < d->params; i++)
    own[i] =
        var_of(f, name_of(f->p->names, "tangent"), e->span, params[i]->type);
  if (!own || !bind_fields(f, all, e->args[1], d->params, params) ||
      !bind_fields(f, all, e->args[2], d->params, own))
    return NULL;
  first_order_forward(f, all, d->block);
  return after(f, all, pair_of(f, d->value, tangent(f, d, own, all)));
}

/* How each form is written. */
static const struct Form {
  OpSpecial special;
  bool (*make)(FirstOrder *f, Derived *d);
  const Expr *(*write)(FirstOrder *f, const Expr *e, const Derived *d,
                       Var **params, Bindings *all);
} forms[] = {{SPECIAL_GRAD, make_sweep, grad_written},
             {SPECIAL_VJP, make_sweep, vjp_written},
             {SPECIAL_JVP, make_tangents, jvp_written}};

static const struct Form *form_of(const Expr *e) {
  const OpInfo *op = expr_operator(e);
  for (size_t i = 0; op && i < sizeof forms / sizeof *forms; i++)
    if (op->special == forms[i].special) return &forms[i];
  return NULL;
}

/* NULL: it stays. */
static const Expr *written(FirstOrder *f, const struct Form *form,
                           const Expr *e) {
  const Expr *fn = function_of(f, e->args[0]), *made = NULL;
  int n = fn ? fn->fn->param_count : 0;
  Var **params = ARENA_ARRAY(f->arena, Var *, (size_t)n + 1);
  bool whole = form->special != SPECIAL_VJP || e->count == n + 1;
  if (!fn || !params || !whole) return NULL;
  Derived d;
  Bindings all;
  VEC_INIT(&all, f->p->mem);
  f->listed = body_is_stretch(f, n, body_of(f, e->args[0], fn, params), &d);
  if (f->listed && form->make(f, &d))
    made = form->write(f, e, &d, params, &all);
  VEC_DONE(&all);
  return made;
}

static void say_that_it_stays(const FirstOrder *f, const Expr *e) {
  Diag *d = diag_warning(f->p->diags, W0008, e->span,
                         f->listed ? "`%s` stays as it is"
                                   : "`%s` stays: its function is no list of "
                                     "operators on tensors",
                         expr_operator(e)->name);
  if (f->stays) diag_note(d, f->stays_at, "%s", f->stays);
  if (f->listed) return;
  diag_hint(d,
            "Inline, PartialEval and Unroll, before this pass, make many "
            "functions such a list");
}

static const Expr *written_or_said(Program *p, Arena *arena,
                                   const struct Form *form, const Expr *e) {
  FirstOrder f;
  first_order_start(&f, p, arena);
  const Expr *made = written(&f, form, e);
  if (!made && !mem_exhausted(p->mem)) say_that_it_stays(&f, e);
  first_order_end(&f);
  return made;
}

static const Expr *first_order(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    const struct Form *form =
        m.walk.event == WALK_LEAVE ? form_of(m.made) : NULL;
    if (!form) continue;
    const Expr *made = written_or_said(p, arena, form, m.made);
    if (made && pass_may_replace(p, NULL, m.made, made)) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

Pass pass_first_order_gradient;

Unit *pass_first_order_gradient(Program *p, Unit *unit) {
  unit = unit_with_lets(p, unit);
  return unit ? unit_rewrite(p, unit, first_order) : NULL;
}
