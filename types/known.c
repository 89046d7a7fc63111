/* Values that are known before the program runs, for the rules: what an
 * attribute that is an expression will be, and what decides an `if`.
 *
 *   def @f[n: Dim](%x: Tensor[(n, 6), float32]) {
 *     let %k = shape_of(%x);                        [n, 6]
 *     reshape(%x, newshape=concatenate((%k, [-1]))) (n, 6, 1)
 *   }
 *
 * A value is a vector of Dims (ops/known.h).  Its elements are dimensions of
 * the dataflow in dims.c, so they may still rise: to a rule that looks at one,
 * a value is as an operand's dimension, and the rule runs again.
 *
 * A value is computed when it is asked for, by evaluating
 * the expression as far as it is known, by need, through names, tuples,
 * branches and calls.  What an environment says of a variable is an expression
 * with the environment that it stands in.  Calls find the variables around a
 * function by searching the environments of the calls under way; that is right
 * because only functions that are called by their names are entered (so the
 * innermost call of an enclosing function is the one meant).  Each question has
 * so many steps; beyond them the answer is that nothing is known.  So questions
 * take linear time altogether, and a recursion that does not end is not entered
 * for long.  Within one question the value of a variable is computed once: the
 * condition and a branch of an `if` may both ask for it, and so may those of
 * the call that gives it, which would double the steps at each call.  While
 * types are inferred nothing is kept from one question to the next, since
 * dimensions rise; of a checked program a Knowing keeps what it found. */
#include <string.h>

#include "types/infer.h"

enum {
  STEPS = 1000, /* of one question: nodes, and parameters of calls */
  NESTED = 40,  /* operators and branches within each other */
  FIELDS = 64,  /* of a tuple */
  FINDINGS = 64,
};

/* What a parameter is in a call under way. */
typedef struct Frame {
  const Var *var;
  const Expr *arg;
  const struct Frame *env; /* in which `arg` stands */
  const struct Frame *up;
} Frame;

/* What was found of a variable in an environment. */
typedef struct Finding {
  const Var *var;
  const Frame *env;
  const Known *value; /* NULL: unknown, to whoever asks at `depth` or below */
  int depth;
} Finding;

/* The findings of variables outside calls, of a checked program. */
struct Knowing {
  Checker checker;
  Infer in;
  PtrMap found; /* Var -> Finding */
  Arena kept;   /* the findings and their values */
};

typedef struct Look {
  Infer *in;
  Knowing *keeper;     /* keeps what is found; NULL: nothing is kept */
  Constraint *watcher; /* runs again when a dimension that was seen rises */
  bool firm;           /* only dimensions that cannot rise count */
  bool shapes;         /* has the shape of a tensor been looked at? */
  bool values;         /* the length of a known value counts as known */
  int steps;
  int found_count;
  Finding *found; /* the first FINDINGS variables that were asked for */
} Look;

/* A node and the environment it stands in. */
typedef struct Spot {
  const Expr *e;
  const Frame *env;
} Spot;

static const Known *value_of(Look *k, Spot at, int depth);

/* From a parameter of a call under way to its argument. */
static bool step_param(Look *k, Spot *at) {
  for (const Frame *f = at->env; f; f = f->up) {
    if (k->steps-- <= 0) return false;
    if (f->var != at->e->var) continue;
    *at = (Spot){f->arg, f->env};
    return true;
  }
  return false;
}

/* --- Dimensions of types -------------------------------------------------- */

/* Names that a function declares mean something else to its caller. */
static Dim named(Spot at, Dim d) {
  return at.env && dim_is_form(d) ? DIM_ANY : d;
}

static Dim slot_dim(Look *k, Spot at, Slot *s) {
  s = slot_root(s);
  if (k->firm && !s->fixed) return DIM_ANY;
  if (k->watcher && !dim_is_any(s->value)) slot_watch(k->in, s, k->watcher);
  return named(at, s->value);
}

/* The type under construction of a variable, a global or an operand of a call;
 * NULL: there is none. */
static Ty *type_under_way(Look *k, Spot at) {
  Infer *in = k->in;
  const Expr *e = at.e;
  if (e->kind == EX_VAR && e->var->id >= in->first_var)
    return var_info(in, e->var)->type;
  if (e->kind == EX_GLOBAL && e->g.global->definition)
    return e->g.global->definition->type;
  return ptrmap_get(&in->sized, e);
}

static const Type *type_finished(Spot at) {
  const Expr *e = at.e;
  return e->kind == EX_VAR      ? e->var->type
         : e->kind == EX_GLOBAL ? e->g.global->type
                                : e->type;
}

/* From a parameter of an inlined function, which inference has not met yet, to
 * its argument: conditions are asked before they are inferred. */
static bool step_unmet(Look *k, Spot *at) {
  const Var *var = at->e->var;
  if (!k->values || !var->value || var->type || type_under_way(k, *at))
    return false;
  at->e = var->value;
  return k->steps-- > 0;
}

/* The shape of what an expression gives. */
static void show_shape(Look *k, Spot at, RuleType *out, int depth) {
  while (at.e->kind == EX_VAR && (step_param(k, &at) || step_unmet(k, &at)))
    continue;
  if (k->values) {
    const Known *known = value_of(k, at, depth);
    if (known) {
      out->kind = RT_TENSOR;
      out->dtype = known->dtype;
      out->rank = known->rank;
      out->dims[0] = dim_of(known->count);
      k->shapes = true;
      return;
    }
  }
  Ty *t = type_under_way(k, at);
  t = t ? ty_head(t) : NULL;
  const Type *done = t ? NULL : type_finished(at);
  const Known *value = NULL;
  if ((t && t->any_rank) || (done && done->any_rank)) return;
  if (t && t->kind == K_TENSOR) {
    out->dtype = (DType)t->dtype;
    out->rank = t->rank;
    for (int i = 0; i < t->rank; i++)
      out->dims[i] = slot_dim(k, at, t->dims[i]);
  } else if (done && done->kind == TY_TENSOR) {
    out->dtype = (DType)done->dtype;
    out->rank = done->rank;
    for (int i = 0; i < done->rank; i++)
      out->dims[i] = named(at, done->dims[i]);
  } else if (at.e->kind == EX_CONST) {
    out->dtype = (DType)at.e->constant->dtype;
    out->rank = at.e->constant->rank;
    dims_of_shape(out->rank, at.e->constant->shape, out->dims);
  } else if ((value = value_of(k, at, depth))) {
    out->dtype = value->dtype;
    out->rank = value->rank;
    out->dims[0] = dim_of(value->count);
  } else {
    return;
  }
  out->kind = RT_TENSOR;
  k->shapes = true;
}

/* --- Names, tuples, branches, calls --------------------------------------- */

/* The function that a callee names; NULL: that cannot be told, or the function
 * is given as a value. */
static const Expr *function_named(const Expr *callee) {
  const Expr *value = callee;
  if (callee->kind == EX_VAR) {
    value = callee->var->value;
  } else if (callee->kind == EX_GLOBAL) {
    const Global *g = callee->g.global;
    if (g->kind == GLOBAL_PARAM) return NULL;
    value = g->definition ? g->definition->value : g->value;
  }
  return value && value->kind == EX_FN ? value : NULL;
}

/* Enters the body of a function; false when it is not known which. */
static bool enter_call(Look *k, Spot *at) {
  const Expr *call = at->e, *fn = function_named(call->call.callee);
  if (!fn || fn->fn->param_count != call->count) return false;
  const Frame *env = at->env;
  for (int i = 0; i < call->count; i++) {
    Frame *frame = ARENA_NEW(&k->in->asked, Frame);
    if (!frame || k->steps-- <= 0) return false;
    *frame = (Frame){fn->fn->params[i], call->args[i], at->env, env};
    env = frame;
  }
  *at = (Spot){fn->fn->body, env};
  return true;
}

static bool step_var(Look *k, Spot *at) {
  const Var *var = at->e->var;
  if (step_param(k, at)) return true;
  if (ptrmap_has(&k->in->c->dim_vars, var) || !var->value) return false;
  at->e = var->value;
  return true;
}

static bool step_global(Spot *at) {
  const Global *g = at->e->g.global;
  if (g->kind != GLOBAL_VALUE && g->kind != GLOBAL_LOCAL) return false;
  const Expr *value = g->definition ? g->definition->value : g->value;
  if (value) *at = (Spot){value, NULL};
  return value != NULL;
}

/* The branch that is taken. */
static bool step_if(Look *k, Spot *at, int depth) {
  const Known *c = value_of(k, (Spot){at->e->args[0], at->env}, depth + 1);
  if (!c || c->rank != 0 || !dim_is_number(c->items[0])) return false;
  at->e = at->e->args[dim_is(c->items[0], 0) ? 2 : 1];
  return true;
}

static void follow(Look *k, Spot *at, int depth);

static bool step_field(Look *k, Spot *at, int depth) {
  Spot tuple = {at->e->args[0], at->env};
  int64_t index = at->e->index;
  if (depth >= NESTED) return false;
  follow(k, &tuple, depth + 1);
  if (tuple.e->kind != EX_TUPLE || index < 0 || index >= tuple.e->count)
    return false;
  *at = (Spot){tuple.e->args[index], tuple.env};
  return true;
}

/* Goes on to the expression that gives the value, as far as that is known. */
static void follow(Look *k, Spot *at, int depth) {
  for (bool on = true; on && k->steps-- > 0;) {
    const Expr *e = at->e;
    switch (e->kind) {
      case EX_VAR: on = step_var(k, at); break;
      case EX_GLOBAL: on = step_global(at); break;
      case EX_BLOCK: at->e = e->block->result; break;
      case EX_PROJ: on = step_field(k, at, depth); break;
      case EX_IF: on = step_if(k, at, depth); break;
      case EX_CALL:
        if (e->sugar == SUGAR_WITH) return;
        if (e->call.callee->kind != EX_OP) on = enter_call(k, at);
        else if ((on = op_info(e->call.callee->op)->identity && e->count == 1))
          at->e = e->args[0];
        break;
      default: return;
    }
  }
}

/* --- Values --------------------------------------------------------------- */

static Dim *new_value(Look *k, Known *out, DType dtype, int rank,
                      int64_t count) {
  if (rank > 1 || count > KNOWN_MAX ||
      (dtype != DT_BOOL && !dtype_is_int(dtype)))
    return NULL;
  Dim *items = ARENA_ARRAY(&k->in->asked, Dim, (size_t)count + 1);
  *out = (Known){dtype, rank, (int)count, items};
  return items;
}

/* `?` for a number beyond those that dimensions have. */
static Dim constant_item(const Tensor *t, int64_t i) {
  Dim d = dim_of(tensor_i64_at(t, i));
  bool fits = dim_is_number(d) && (t->dtype != DT_UINT64 || !dim_below(d, 0));
  return fits ? d : DIM_ANY;
}

static bool value_of_constant(Look *k, const Tensor *t, Known *out) {
  int64_t count = t->rank == 1 ? t->shape[0] : 1;
  Dim *items = new_value(k, out, (DType)t->dtype, t->rank, count);
  for (int i = 0; items && i < count; i++) items[i] = constant_item(t, i);
  return items != NULL;
}

/* A variable that holds a dimension of the function at hand. */
static bool value_of_dim(Look *k, Spot at, Known *out) {
  const TypeVar *var = ptrmap_get(&k->in->c->dim_vars, at.e->var);
  Dim *items = var && !at.env ? new_value(k, out, DT_INT32, 0, 1) : NULL;
  if (!items) return false;
  items[0] = dim_named(types_dims(k->in->types), var->name, var);
  k->shapes = true;
  return true;
}

/* What both branches agree in. */
static bool value_of_either(Look *k, Spot at, Known *out, int depth) {
  const Known *a = value_of(k, (Spot){at.e->args[1], at.env}, depth + 1);
  const Known *b =
      a ? value_of(k, (Spot){at.e->args[2], at.env}, depth + 1) : NULL;
  if (!b || a->dtype != b->dtype || a->rank != b->rank || a->count != b->count)
    return false;
  Dim *items = new_value(k, out, a->dtype, a->rank, a->count);
  for (int i = 0; items && i < a->count; i++)
    items[i] = dim_same(a->items[i], b->items[i]) ? a->items[i] : DIM_ANY;
  return items != NULL;
}

static void show_value(Look *k, Spot at, RuleType *out, int depth) {
  out->value = value_of(k, at, depth);
  if (!out->value) return;
  out->kind = RT_TENSOR;
  out->dtype = out->value->dtype;
  out->rank = out->value->rank;
  out->dims[0] = dim_of(out->value->count);
}

static void show_fields(Look *k, Spot at, RuleType *out, int depth) {
  follow(k, &at, depth);
  if (at.e->kind != EX_TUPLE || at.e->count > FIELDS) return;
  out->fields = ARENA_ARRAY(&k->in->asked, RuleType, (size_t)at.e->count + 1);
  if (!out->fields) return;
  out->kind = RT_TUPLE;
  out->count = at.e->count;
  for (int i = 0; i < out->count; i++) {
    out->fields[i] = (RuleType){.dtype = DTYPE_NONE, .rank = -1};
    show_value(k, (Spot){at.e->args[i], at.env}, &out->fields[i], depth);
  }
}

/* The record with the values of attributes that are operands; false when one
 * is not known. */
static bool complete(Look *k, Spot at, RuleCall *call, int depth) {
  Attrs *made = attrs_shared(&k->in->asked, call->op, call->attrs);
  for (int i = 0; i < call->op->attr_count; i++) {
    AttrValue *v = &made->values[i];
    if (v->operand < 0) continue;
    const Known *known =
        value_of(k, (Spot){at.e->args[v->operand], at.env}, depth + 1);
    if (!known) return false;
    attr_set_known(&call->op->attrs[i], known, &k->in->asked, v);
    v->operand = -1;
  }
  call->attrs = made;
  return true;
}

static bool value_of_call(Look *k, Spot at, Known *out, int depth) {
  const Expr *e = at.e;
  if (e->call.callee->kind != EX_OP) return false;
  const OpInfo *op = op_info(e->call.callee->op);
  if ((!op->known && !op->dim) || !e->call.bound) return false;
  RuleCall call = {
      .op = op,
      .attrs = e->call.bound,
      .dims = types_dims(k->in->types),
      .arena = &k->in->asked,
      .count = op_arg_count(op) < e->count ? op_arg_count(op) : e->count,
      .culprit = -1,
      .other = -1};
  if (attrs_have_operands(call.attrs) && !complete(k, at, &call, depth))
    return false;
  call.args = ARENA_ARRAY(&k->in->asked, RuleType, (size_t)call.count + 1);
  for (int i = 0; call.args && i < call.count; i++) {
    RuleType *arg = &call.args[i];
    Spot operand = {e->args[i], at.env};
    *arg = (RuleType){.dtype = DTYPE_NONE, .rank = -1};
    if (op->reads == READS_NONE) show_shape(k, operand, arg, depth + 1);
    else if (strchr(op->args, '*')) show_fields(k, operand, arg, depth + 1);
    else show_value(k, operand, arg, depth + 1);
    if (arg->kind == RT_UNKNOWN) return false;
  }
  return call.args && op_known(&call, out);
}

static const Known *compute(Look *k, Spot at, int depth) {
  follow(k, &at, depth);
  if (k->steps <= 0) return NULL;
  Known *out = ARENA_NEW(&k->in->asked, Known);
  bool known = false;
  if (!out) return NULL;
  switch (at.e->kind) {
    case EX_CONST: known = value_of_constant(k, at.e->constant, out); break;
    case EX_VAR: known = value_of_dim(k, at, out); break;
    case EX_IF: known = value_of_either(k, at, out, depth); break;
    case EX_CALL: known = value_of_call(k, at, out, depth); break;
    default: break;
  }
  return known ? out : NULL;
}

/* --- What was found before ------------------------------------------------ */

static Finding *kept_finding(Knowing *keeper, const Var *var) {
  Finding *f = ptrmap_get(&keeper->found, var);
  if (f) return f;
  f = ARENA_NEW(&keeper->kept, Finding);
  if (!f) return NULL;
  *f = (Finding){var, NULL, NULL, NESTED};
  ptrmap_put(&keeper->found, var, f);
  return f;
}

/* The finding of a variable, a new one where there is none; NULL: no room. */
static Finding *finding_of(Look *k, Spot at) {
  const Var *var = at.e->var;
  if (k->keeper && !at.env) return kept_finding(k->keeper, var);
  for (int i = 0; i < k->found_count; i++)
    if (k->found[i].var == var && k->found[i].env == at.env)
      return &k->found[i];
  if (!k->found) k->found = ARENA_ARRAY(&k->in->asked, Finding, FINDINGS);
  if (!k->found || k->found_count == FINDINGS) return NULL;
  Finding *new = &k->found[k->found_count++];
  *new = (Finding){var, at.env, NULL, NESTED};
  return new;
}

/* A copy in another arena; NULL: memory ran out. */
static Known *known_copy(Arena *arena, const Known *known) {
  Known *made = arena_copy(arena, known, sizeof *known);
  size_t size = (size_t)known->count * sizeof *known->items;
  if (made) made->items = arena_copy(arena, known->items, size);
  return made && (made->items || !size) ? made : NULL;
}

/* A question that ran out of steps has not shown that a value is unknown to the
 * next one. */
static void note_finding(const Look *k, Finding *f, const Known *value,
                         int depth) {
  bool kept = k->keeper && !f->env;
  if (kept && !value && k->steps <= 0) return;
  if (kept && value) value = known_copy(&k->keeper->kept, value);
  f->value = value;
  f->depth = depth;
}

static const Known *value_of(Look *k, Spot at, int depth) {
  if (depth >= NESTED) return NULL;
  Finding *f = at.e->kind == EX_VAR ? finding_of(k, at) : NULL;
  if (f && (f->value || depth >= f->depth)) return f->value;
  const Known *value = compute(k, at, depth);
  if (f) note_finding(k, f, value, depth);
  return value;
}

/* --- The questions -------------------------------------------------------- */

bool known_has_hole(const Known *known) {
  for (int i = 0; i < known->count; i++)
    if (dim_is_hole(known->items[i])) return true;
  return false;
}

const Known *known_value(Infer *in, const Expr *e, Constraint *watcher) {
  Look k = {.in = in, .watcher = watcher, .steps = STEPS};
  return value_of(&k, (Spot){e, NULL}, 0);
}

const Tensor *known_constant(Infer *in, const Expr *e, Constraint *watcher) {
  Look k = {.in = in, .watcher = watcher, .steps = STEPS};
  Spot at = {e, NULL};
  follow(&k, &at, 0);
  return k.steps > 0 && at.e->kind == EX_CONST ? at.e->constant : NULL;
}

/* A row of a matrix that is a constant. */
static const Known *constant_row(Infer *in, const Tensor *t, int row) {
  if (!t || t->rank != 2 || row >= t->shape[0]) return NULL;
  Look k = {.in = in};
  Known *out = ARENA_NEW(&in->asked, Known);
  int64_t count = t->shape[1];
  Dim *items = out ? new_value(&k, out, (DType)t->dtype, 1, count) : NULL;
  for (int i = 0; items && i < count; i++)
    items[i] = constant_item(t, row * count + i);
  return items ? out : NULL;
}

/* The rows of a matrix: stack((stack((a, b)), ...)), which is how the resolver
 * writes a list of lists, or a constant that the expression names. */
const Known *known_row(Infer *in, const Expr *e, int row, Constraint *watcher) {
  bool rows = e->kind == EX_CALL && e->count == 1 && e->sugar == SUGAR_LIST &&
              e->args[0]->kind == EX_TUPLE && row < e->args[0]->count;
  if (rows) return known_value(in, e->args[0]->args[row], watcher);
  return constant_row(in, known_constant(in, e, watcher), row);
}

Truth known_truth(Infer *in, const Expr *condition, bool by_shapes) {
  arena_reset(&in->asked);
  Look k = {.in = in, .firm = true, .values = !by_shapes, .steps = STEPS};
  const Known *c = value_of(&k, (Spot){condition, NULL}, 0);
  if (!c || (by_shapes && !k.shapes) || c->rank != 0 ||
      !dim_is_number(c->items[0]))
    return MAYBE;
  return dim_is(c->items[0], 0) ? NO : YES;
}

/* --- Questions about a checked program ------------------------------------ */

/* There is no inference under way: types are finished, and a dimension's name
 * is no number. */
Knowing *knowing_new(Program *p) {
  Knowing *k = mem_overdraw(p->mem, sizeof *k);
  if (!k) return NULL;
  *k = (Knowing){
      .checker = {.p = p},
      .in = {
          .p = p, .types = p->types, .mem = p->mem, .first_var = UINT32_MAX}};
  k->in.c = &k->checker;
  ptrmap_init(&k->checker.dim_vars, p->mem);
  ptrmap_init(&k->in.sized, p->mem);
  ptrmap_init(&k->found, p->mem);
  arena_init(&k->in.asked, p->mem);
  arena_init(&k->kept, p->mem);
  return k;
}

void knowing_free(Knowing *k) {
  if (!k) return;
  arena_done(&k->kept);
  arena_done(&k->in.asked);
  ptrmap_done(&k->found);
  ptrmap_done(&k->in.sized);
  ptrmap_done(&k->checker.dim_vars);
  mem_free(k->in.mem, k, sizeof *k);
}

static bool all_numbers(const Known *known) {
  for (int i = 0; i < known->count; i++)
    if (!dim_is_number(known->items[i])) return false;
  return true;
}

static bool ask_within(Knowing *keeper, Arena *arena, const Expr *call,
                       const Expr *e, Known *out) {
  Look k = {.in = &keeper->in, .keeper = keeper, .steps = STEPS};
  Spot body = {call, NULL};
  bool entered = !call || enter_call(&k, &body);
  const Known *known = entered ? value_of(&k, (Spot){e, body.env}, 0) : NULL;
  if (known && !all_numbers(known)) known = NULL;
  if (known) known = known_copy(arena, known);
  if (known) *out = *known;
  arena_reset(&keeper->in.asked);
  return known != NULL;
}

bool knowing_ask(Knowing *keeper, Arena *arena, const Expr *e, Known *out) {
  return ask_within(keeper, arena, NULL, e, out);
}

static bool ask_once(Program *p, Arena *arena, const Expr *call, const Expr *e,
                     Known *out) {
  Knowing *keeper = knowing_new(p);
  bool known = keeper && ask_within(keeper, arena, call, e, out);
  knowing_free(keeper);
  return known;
}

bool types_known(Program *p, Arena *arena, const Expr *e, Known *out) {
  return ask_once(p, arena, NULL, e, out);
}

bool types_known_within(Program *p, Arena *arena, const Expr *call,
                        const Expr *e, Known *out) {
  return ask_once(p, arena, call, e, out);
}
