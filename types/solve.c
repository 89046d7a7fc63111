/* Constraints: operators' rules, fields of tuples whose type is not known yet,
 * dimensions of instantiated signatures.  A worklist runs each when it is made,
 * and again whenever a type that it depends on becomes better known (a monotone
 * dataflow problem; Kildall, 1973).
 *
 *   made --> queued --> run --+-- ok ----> solved, watches its dimensions
 *               ^             +-- wait --> linked to the variable it lacks
 *               |             +-- error -> failing, judged at the end
 *               +-- woken by the variable or by a dimension that rose
 *
 * The list runs dry.  A rule never fails on incomplete input, its answers only
 * rise in the lattice of dims.c, and a variable is bound at most once; so each
 * variable and each slot wakes a constraint a bounded number of times.
 *
 * An error is not reported at once, for two reasons: a dimension that rises to
 * `?` may make the operands fit after all, and the first error that a user
 * reads should be the one that the others follow from.  Mistakes are reported
 * at the end of a component, when nothing changes any more; each poisons its
 * types, and solving goes on.
 *
 * Constraints live in the arena of inference.  A rule's view of its operands
 * lives in in->asked, which the next rule's view overwrites. */
#include "types/infer.h"

enum {
  NEVER_RANKS = 6,
  SHOWN_MAX = 100000, /* fields that a rule is shown; no operator takes more */
};

Constraint *constraint_new(Infer *in, ConstraintKind kind, const Expr *e) {
  Constraint *c = ARENA_NEW(in->arena, Constraint);
  c->kind = kind;
  c->e = (Expr *)e;
  if (e) c->span = e->span;
  c->patient = in->patient;
  return c;
}

/* The queue holds each constraint at most once.  One that was reported, or that
 * has nothing left to say, never enters it again. */
void constraint_wake(Infer *in, Constraint *c) {
  if (c->queued || c->gone) return;
  c->queued = true;
  VEC_PUSH(&in->queue, c);
}

void wake_waiting(Infer *in, Link *rules) {
  for (Link *l = rules; l; l = l->next) constraint_wake(in, l->item);
}

/* Hangs the constraint on the variable; unify.c wakes it when the variable is
 * bound, and carries it over when two variables become one. */
void constraint_wait(Infer *in, Ty *meta, Constraint *c) {
  Link *l = ARENA_NEW(in->arena, Link);
  *l = (Link){c, meta->rules};
  meta->rules = l;
}

/* --- What a rule sees ---------------------------------------------------- */

static void show(Infer *in, Constraint *c, Ty *t, RuleType *out, int inside);

/* A rule that looked at a dimension runs again when the dimension rises.  Once
 * all operands are tensors or tuples the links exist (`watching`), and later
 * runs add none. */
static void show_tensor(Infer *in, Constraint *c, const Ty *t, RuleType *out) {
  out->kind = RT_TENSOR;
  out->dtype = (DType)t->dtype;
  out->rank = t->any_rank ? RANK_ANY : t->rank;
  for (int i = 0; i < t->rank; i++) {
    out->dims[i] = slot_root(t->dims[i])->value;
    if (!c->watching) slot_watch(in, t->dims[i], c);
  }
}

/* A type whose parts are shared is exponential as a tree.  Beyond the limit a
 * rule sees an opaque tuple.  An operand's own fields are as many as its type
 * has, so those do not count. */
static void show_tuple(Infer *in, Constraint *c, const Ty *t, RuleType *out,
                       int inside) {
  if (inside) in->shown += t->count;
  if (in->shown > SHOWN_MAX) return;
  out->fields = ARENA_ARRAY(&in->asked, RuleType, (size_t)t->count);
  out->kind = RT_TUPLE;
  out->count = out->fields ? t->count : 0;
  for (int i = 0; i < out->count; i++)
    show(in, c, t->args[i], &out->fields[i], inside + 1);
}

static void show(Infer *in, Constraint *c, Ty *t, RuleType *out, int inside) {
  t = ty_head(t);
  *out = (RuleType){.kind = RT_OTHER, .dtype = DTYPE_NONE, .rank = -1};
  switch (t->kind) {
    case K_TENSOR: show_tensor(in, c, t, out); break;
    case K_TUPLE: show_tuple(in, c, t, out, inside); break;
    case K_META:
      out->kind = RT_UNKNOWN;
      constraint_wait(in, t, c);
      break;
    default: break;
  }
}

/* Looks one level into tuples, which is where operators such as concatenate
 * have their operands. */
static bool has_error(const Ty *t) {
  t = ty_head((Ty *)t);
  if (t->kind == K_ERROR) return true;
  for (int i = 0; t->kind == K_TUPLE && i < t->count; i++)
    if (ty_head(t->args[i])->kind == K_ERROR) return true;
  return false;
}

/* An attribute that is one expression takes its rank and length from the type
 * of that operand. */
static RuleStatus bind_whole(Infer *in, const Constraint *c, RuleCall *call,
                             int i) {
  AttrValue *v = &c->attrs->values[i];
  int operand = v->operand;
  const RuleType *t = &call->args[operand];
  const AttrSpec *spec = &c->op->attrs[i];
  bool fits = t->kind == RT_TENSOR &&
              attr_bind_operand(spec, operand, t->dtype, t->rank, t->dims,
                                &in->p->arena, v);
  v->operand = operand;
  if (fits && spec->takes_float && dtype_is_float(t->dtype))
    rule_warn(call, "`%s` is %s and is read as an integer, as in Relay",
              attr_name_text(spec->name), dtype_name(t->dtype));
  if (fits) return RULE_OK;
  const char *name = attr_name_text(spec->name);
  rule_error(call, E0111, operand, "`%s` cannot be a %s", name,
             ty_text(in, c->args[operand]));
  return rule_hint(call,
                   t->kind == RT_TUPLE
                       ? "a list stands in brackets, as in %s=[1, 2]"
                       : "what `%s` is computed from is an integer "
                         "or a tensor of integers",
                   name);
}

/* False while a dimension in it is not inferred. */
static bool bind_value(Infer *in, Constraint *c, int i) {
  const AttrSpec *spec = &c->op->attrs[i];
  AttrValue *v = &c->attrs->values[i];
  const Expr *e = c->operands[v->operand];
  const Tensor *constant = known_constant(in, e, c);
  bool real = spec->type == AT_FLOAT || spec->type == AT_FLOATS;
  if (constant && (real || dtype_is_float((DType)constant->dtype))) {
    attr_set_constant(spec, constant, &in->p->arena, v);
    return true;
  }
  if (spec->type != AT_LISTS) {
    const Known *known = known_value(in, e, c);
    if (known && known_has_hole(known)) return false;
    if (known) attr_set_known(spec, known, &in->p->arena, v);
    return true;
  }
  AttrValue *rows =
      arena_copy(&in->p->arena, v->lists,
                 (size_t)(v->count > 0 ? v->count : 0) * sizeof *rows);
  for (int k = 0; rows && k < v->count; k++) {
    const Known *known = known_row(in, e, k, c);
    if (known && known_has_hole(known)) return false;
    if (known)
      attr_set_known(&(AttrSpec){.type = AT_INTS}, known, &in->p->arena,
                     &rows[k]);
  }
  if (rows) v->lists = rows;
  return true;
}

/* Attributes that operands hold.  The record is rewritten at each run, from
 * what is known of the operands then. */
static RuleStatus bind_computed(Infer *in, Constraint *c, RuleCall *call) {
  for (int i = 0; c->written && i < c->op->attr_count; i++) {
    if (!(c->computed >> i & 1)) continue;
    AttrValue *v = &c->attrs->values[i];
    *v = c->written[i];
    if (call->args[v->operand].kind == RT_UNKNOWN) return RULE_WAIT;
    if (c->whole >> i & 1) {
      RuleStatus status = bind_whole(in, c, call, i);
      if (status != RULE_OK) return status;
    }
    if (!bind_value(in, c, i)) return RULE_WAIT;
  }
  return RULE_OK;
}

/* Operands whose values a rule looks at; false while a dimension in one is not
 * inferred. */
static bool show_values(Infer *in, Constraint *c, RuleCall *call) {
  for (int i = 0; i < c->count; i++) {
    const Known *known = known_value(in, c->operands[i], c);
    if (known && known_has_hole(known)) return false;
    call->args[i].value = known;
  }
  return true;
}

static bool holds_attribute(const Constraint *c, int operand) {
  for (int i = 0; i < c->op->attr_count; i++)
    if (c->attrs->values[i].operand == operand) return true;
  return false;
}

/* Shows the rule the operand that Relay casts with the dtype of the cast.
 * Nothing is cast here: the rule merely sees what it will get, and zonk.c puts
 * the cast into the tree if the call still needs it when all is known. */
static void cast_operand(Constraint *c, RuleCall *call) {
  int i = c->op->cast.operand;
  c->casts = false;
  if (i == 0 || i >= c->count || !c->operands || holds_attribute(c, i)) return;
  RuleType *x = &call->args[i];
  DType to = call->args[c->op->cast.like].dtype;
  if (x->kind != RT_TENSOR || to == DTYPE_NONE || x->dtype == to) return;
  OpArg arg = op_arg(c->op, i);
  rule_warn(call, "`%.*s` is %s and is cast to %s, as in Relay", arg.len,
            arg.name, dtype_name(x->dtype), dtype_name(to));
  x->dtype = to;
  c->casts = true;
}

/* What the rule gets and gives lives until the next rule is asked. */
static RuleStatus ask(Infer *in, Constraint *c, RuleCall *call) {
  arena_reset(&in->asked);
  in->shown = 0;
  *call = (RuleCall){.op = c->op,
                     .attrs = c->attrs,
                     .count = c->count,
                     .dims = types_dims(in->types),
                     .arena = &in->asked,
                     .list = is_list(c),
                     .culprit = -1,
                     .other = -1,
                     .field = -1};
  /* Showing an operand links the constraint to what is unknown in it. */
  call->args = ARENA_ARRAY(&in->asked, RuleType, (size_t)c->count);
  bool known = true;
  for (int i = 0; i < c->count; i++) {
    show(in, c, c->args[i], &call->args[i], 0);
    known &= call->args[i].kind != RT_UNKNOWN;
  }
  c->watching |= known;
  cast_operand(c, call);
  if (op_rule(c->op)->values && c->operands && !show_values(in, c, call))
    return RULE_WAIT;
  RuleStatus status = c->computed ? bind_computed(in, c, call) : RULE_OK;
  return status == RULE_OK ? rule_try(call) : status;
}

/* --- What a rule answers ------------------------------------------------- */

static Ty *made_type(Infer *in, const Constraint *c, const RuleType *t);

static Ty *made_tuple(Infer *in, const Constraint *c, const RuleType *t) {
  Ty **fields = ty_array(in, t->count);
  for (int i = 0; fields && i < t->count; i++)
    fields[i] = made_type(in, c, &t->fields[i]);
  return ty_tuple(in, t->count, fields);
}

static Ty *made_type(Infer *in, const Constraint *c, const RuleType *t) {
  if (t->kind == RT_TUPLE) return made_tuple(in, c, t);
  if (t->kind != RT_TENSOR) return ty_meta(in);
  if (t->rank == RANK_ANY) return ty_any_rank(in, t->dtype);
  Slot **dims = ty_dims(in, t->rank);
  for (int i = 0; i < t->rank; i++)
    dims[i] = slot_new(in, t->dims[i], false, c->span);
  return ty_tensor(in, t->dtype, t->rank, dims);
}

/* The rule ran again: its dimensions are joined with those it gave before.  A
 * rank that differs stays, and the machine compares it. */
static void join_made(Infer *in, const Constraint *c, Ty *t,
                      const RuleType *now) {
  t = ty_head(t);
  if (t->kind == K_TUPLE && now->kind == RT_TUPLE && t->count == now->count)
    for (int i = 0; i < t->count; i++)
      join_made(in, c, t->args[i], &now->fields[i]);
  if (t->kind != K_TENSOR || now->kind != RT_TENSOR || t->any_rank ||
      t->rank != now->rank)
    return;
  for (int i = 0; i < t->rank; i++)
    slot_join(in, t->dims[i], now->dims[i], c->span);
}

/* Types of operands that follow from the others, such as the shapes of weights.
 * An operand without a type receives the whole type, one with a structure only
 * the dimensions that it lacks: what was written is never overwritten. */
static void fill_operands(Infer *in, Constraint *c, const RuleCall *call) {
  if (!c->op->infers) return;
  Why why = {.kind = WHY_OPERATOR, .span = c->span};
  for (int i = 1; i < c->count; i++) {
    Ty *t = ty_head(c->args[i]);
    const RuleType *now = &call->args[i];
    if (now->kind != RT_TENSOR || now->rank < 0) continue;
    if (t->kind == K_META) {
      require_flow(in, t, made_type(in, c, now), why);
      continue;
    }
    for (int k = 0; t->kind == K_TENSOR && k < t->rank; k++) {
      if (!dim_is_hole(slot_root(t->dims[k])->value)) continue;
      slot_join(in, t->dims[k], now->dims[k], c->span);
    }
  }
}

/* The first answer makes the result's type; later ones only raise its
 * dimensions, since kind, dtype and rank never change between answers of one
 * rule.  A result without a type is one that is never reached, as that of
 * `fail`. */
static void settle_rule(Infer *in, Constraint *c, const RuleCall *call) {
  fill_operands(in, c, call);
  if (c->made) {
    join_made(in, c, c->made, &call->result);
    return;
  }
  c->solved = true;
  if (call->result.kind == RT_UNKNOWN) {
    Ty *result = ty_head(c->result);
    if (result->kind == K_META) result->never = true;
    return;
  }
  c->made = made_type(in, c, &call->result);
  require_flow(in, c->made, c->result,
               (Why){.kind = WHY_OPERATOR, .span = c->span});
}

/* The result after a report, or of an operand that was reported. */
static void give_up(Infer *in, Constraint *c) {
  c->gone = true;
  Why why = {.kind = WHY_OPERATOR, .span = c->span};
  if (c->result && !c->made) require_flow(in, in->error, c->result, why);
  for (int i = 0; i < c->count; i++)
    require_flow(in, in->error, c->args[i], why);
}

/* An operand with an error has been reported, so the call is dropped without a
 * word.  A failure is only noted: report_failing asks again at the end. */
static void run_rule(Infer *in, Constraint *c) {
  for (int i = 0; i < c->count; i++) {
    if (!has_error(c->args[i])) continue;
    give_up(in, c);
    return;
  }
  RuleCall call;
  RuleStatus status = ask(in, c, &call);
  bool failed = status == RULE_ERROR;
  if (failed && !c->failed) VEC_PUSH(&in->failing, c);
  c->failed = failed;
  if (status != RULE_OK) return;
  if (call.warning && !c->warned) VEC_PUSH(&in->warning, c);
  c->warned |= call.warning != NULL;
  settle_rule(in, c, &call);
}

/* --- Other constraints --------------------------------------------------- */

/* Runs when the tuple's type is known, at the latest when its component
 * ends. */
static void run_projection(Infer *in, Constraint *c) {
  Ty *t = ty_head(c->args[0]);
  if (t->kind == K_META) {
    constraint_wait(in, t, c);
    return;
  }
  c->solved = c->gone = true;
  require_flow(in, infer_projection(in, c->e, t), c->result,
               (Why){.kind = WHY_OPERATOR, .span = c->span, .exact = true});
}

static void run_field(Infer *in, Constraint *c) {
  Ty *t = ty_head(c->args[0]);
  if (t->kind == K_META) {
    constraint_wait(in, t, c);
    return;
  }
  c->solved = c->gone = true;
  require_flow(in, infer_known_field(in, c->e, t), c->result,
               (Why){.kind = WHY_OPERATOR, .span = c->span, .exact = true});
}

/* An operator as a value: a rule over its function type's parts. */
static void run_op_value(Infer *in, Constraint *c) {
  Ty *t = ty_head(c->args[0]);
  if (t->kind == K_META) {
    constraint_wait(in, t, c);
    return;
  }
  if (t->kind == K_ERROR || !op_value_fits(in, c, t)) {
    c->gone = true;
    return;
  }
  c->kind = C_RULE;
  c->count = t->count;
  c->args = t->args;
  c->result = t->result;
  run_rule(in, c);
}

/* A division with a remainder, or a negative result, is no dimension.  Only
 * numbers decide: with a name in it a form may still turn out to be exact. */
static bool is_impossible(const Constraint *c, const Dim *values, Dim d) {
  for (int i = 0; i < c->name_count; i++)
    if (!dim_is_number(values[i])) return false;
  return !dim_is_number(d) || dim_below(d, 0);
}

/*   slot = form[v1/n1, ..., vk/nk], as soon as no vi is a hole
 *
 * A signature such as fn [n: Dim](Tensor[(n), t]) -> Tensor[(n + 1), t] makes
 * one of these at each use; `?` for a name gives `?`. */
static void run_form(Infer *in, Constraint *c) {
  Dim values[FORM_NAMES_MAX];
  for (int i = 0; i < c->name_count; i++) {
    values[i] = slot_root(c->values[i])->value;
    if (dim_is_hole(values[i])) return;
  }
  Dim d = dim_substitute(types_dims(in->types), c->form, c->name_count,
                         c->names, values);
  c->solved = true;
  bool failed = is_impossible(c, values, d);
  if (failed && !c->failed) VEC_PUSH(&in->failing, c);
  c->failed = failed;
  slot_join(in, c->slot, d, c->span);
}

static void run(Infer *in, Constraint *c) {
  static void (*const runners[])(Infer *, Constraint *) = {
      [C_RULE] = run_rule,       [C_OP_VALUE] = run_op_value,
      [C_PROJ] = run_projection, [C_FIELD] = run_field,
      [C_FORM] = run_form,       [C_INSTANCE] = run_instance,
      [C_FORM_OF] = run_form_of, [C_PATTERN] = run_pattern,
      [C_LEAVES] = run_leaves,
  };
  c->queued = false;
  if (!c->gone) runners[c->kind](in, c);
}

/* Dimensions go first, as the next rule should see them as far up as they are
 * known.  The queue is a list with a head, not a ring: its memory is that of
 * one call of solve. */
void solve(Infer *in) {
  while (in->head < in->queue.len || in->dirty.len > 0) {
    if (mem_exhausted(in->mem)) return;
    dims_propagate(in);
    if (in->head < in->queue.len) run(in, in->queue.data[in->head++]);
  }
  VEC_CLEAR(&in->queue);
  in->head = 0;
}

/* A constraint that could not run is linked to its own result, too.  That does
 * not help it, but keeps ty_generalise from quantifying a variable that the
 * constraint will determine. */
void constraint_start(Infer *in, Constraint *c) {
  constraint_wake(in, c);
  solve(in);
  if (c->solved || c->gone) return;
  VEC_PUSH(&in->pending, c);
  Ty *result = c->result ? ty_head(c->result) : NULL;
  if (result && result->kind == K_META) constraint_wait(in, result, c);
}

/* --- The end of a component ---------------------------------------------- */

/* The dimension of the signature that no argument could satisfy. */
static void report_form(Infer *in, Constraint *c) {
  Dim values[FORM_NAMES_MAX];
  for (int i = 0; i < c->name_count; i++)
    values[i] = slot_root(c->values[i])->value;
  StrBuf text;
  strbuf_init(&text, in->mem);
  const DimTable *dims = types_dims(in->types);
  dim_print(dims, &text, c->form);
  dims_where(dims, &text, 1, &c->form,
             (DimValues){c->name_count, c->names, values});
  diag_error(in->p->diags, E0115, c->span, "no dimension is %s",
             strbuf_text(&text));
  strbuf_done(&text);
  c->gone = true;
}

static bool report_failing(Infer *in) {
  bool any = false;
  for (size_t i = 0; i < in->failing.len; i++) {
    Constraint *c = in->failing.data[i];
    if (c->gone || !c->failed) continue;
    if (c->kind == C_FORM) {
      report_form(in, c);
      any = true;
      continue;
    }
    RuleCall call;
    if (ask(in, c, &call) != RULE_ERROR) continue;
    report_rule(in, c, &call);
    give_up(in, c);
    any = true;
  }
  VEC_CLEAR(&in->failing);
  return any;
}

/* Does it wait for a global value that later text may determine? */
static bool waits_for_value(const Constraint *c) {
  if (c->patient) return true;
  for (int i = 0; i < c->count; i++) {
    const Ty *t = ty_head(c->args[i]);
    if (t->kind == K_META && t->level <= 1) return true;
  }
  return false;
}

/* The dtype of an operand that is known. */
static DType some_dtype(const Constraint *c) {
  for (int i = 0; i < c->count; i++) {
    const Ty *t = ty_head(c->args[i]);
    if (t->kind == K_TENSOR) return (DType)t->dtype;
  }
  return DT_FLOAT32;
}

/* Its dimensions are `?`: nobody will ever see the tensor. */
static Ty *tensor_of_rank(Infer *in, DType dtype, int rank) {
  Slot **dims = ty_dims(in, rank);
  for (int i = 0; i < rank; i++)
    dims[i] = slot_new(in, DIM_ANY, false, SPAN_NONE);
  return ty_tensor(in, dtype, rank, dims);
}

/* Would the rule, as far as its operands are known, give the wanted type? */
static bool would_fit(Infer *in, Constraint *c) {
  RuleCall call;
  RuleStatus status = ask(in, c, &call);
  const Ty *wanted = ty_head(c->result);
  if (status != RULE_OK || call.result.kind != RT_TENSOR ||
      wanted->kind != K_TENSOR)
    return status != RULE_ERROR;
  return call.result.rank == wanted->rank;
}

bool constraint_takes(Infer *in, Constraint *c, int i, Ty *t) {
  Ty *meta = ty_head(c->args[i]);
  RuleCall call;
  t = ty_head(t);
  if (meta == t) return false;
  if (meta->kind != K_META || t->kind == K_META) return true;
  meta->link = t;
  RuleStatus status = ask(in, c, &call);
  meta->link = NULL;
  const Ty *wanted = c->result ? ty_head(c->result) : meta;
  if (status != RULE_OK || call.result.kind != RT_TENSOR ||
      wanted->kind != K_TENSOR)
    return status != RULE_ERROR;
  return call.result.rank == wanted->rank &&
         call.result.dtype == (DType)wanted->dtype;
}

/* An operand that never has a value, as of `1 + fail()`, is a tensor of the
 * least rank that the rule lets pass.  Each rank is tried by linking the
 * variable for the length of one question; nothing is bound until a rank fits,
 * and nothing follows links with compression meanwhile (ty_shorten). */
static bool default_never(Infer *in, Constraint *c) {
  if (c->kind != C_RULE) return false;
  for (int i = 0; i < c->count; i++) {
    Ty *t = ty_head(c->args[i]);
    if (t->kind != K_META || !t->never) continue;
    for (int rank = 0; rank < NEVER_RANKS; rank++) {
      t->link = tensor_of_rank(in, some_dtype(c), rank);
      bool fits = would_fit(in, c);
      Ty *tensor = t->link;
      t->link = NULL;
      if (!fits) continue;
      require_flow(in, tensor, t, (Why){.kind = WHY_OPERATOR, .span = c->span});
      return true;
    }
  }
  return false;
}

/* Reports the first constraint that waits.  Errors that follow from it are not
 * reported.  Before the end of the unit (`last`) a constraint on a global value
 * is left alone: `let @cell = ref(Nil)` gets its element's type from a later
 * line. */
static bool report_waiting(Infer *in, bool last) {
  for (size_t i = 0; i < in->pending.len; i++) {
    Constraint *c = in->pending.data[i];
    if (c->solved || c->gone || (!last && waits_for_value(c))) continue;
    if (default_never(in, c)) return true;
    report_stuck(in, c);
    give_up(in, c);
    return true;
  }
  return false;
}

/* What a rule warns of, now that all is known that will be. */
static void report_warnings(Infer *in) {
  for (size_t i = 0; i < in->warning.len; i++) {
    Constraint *c = in->warning.data[i];
    RuleCall call;
    if (c->gone || ask(in, c, &call) != RULE_OK || !call.warning) continue;
    diag_warning(in->p->diags, W0004, c->span, "`%s`: %s", c->op->name,
                 call.warning);
    if (c->casts) VEC_PUSH(&in->casting, c);
  }
  VEC_CLEAR(&in->warning);
}

/* What is still pending waits for text to come; all else need not be looked at
 * again. */
static void forget_settled(Infer *in) {
  size_t kept = 0;
  for (size_t i = 0; i < in->pending.len; i++) {
    Constraint *c = in->pending.data[i];
    if (!c->solved && !c->gone) in->pending.data[kept++] = c;
  }
  in->pending.len = kept;
}

/* Order of the steps: definite failures first, since they explain the most;
 * then holes in dimensions, which may let rules run that waited for them; then
 * one constraint that waits, whose report may settle the others.  After each
 * step that did something everything is solved again.  Warnings come last,
 * because they depend on final types. */
void solve_finish(Infer *in, bool last) {
  do {
    solve(in);
    holes_finish(in);
    solve(in);
    if (mem_exhausted(in->mem)) return;
  } while (report_failing(in) || dims_fill_holes(in) ||
           report_waiting(in, last));
  report_warnings(in);
  forget_settled(in);
  dims_finish(in);
}
