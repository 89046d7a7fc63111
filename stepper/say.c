/* Describes a step in a sentence: the rule, the values that take part, their
 * types and shapes.  Also lists the cells and how they changed.
 *
 * A function for each rule (the table `rules`), which finds what it speaks of
 * in the step's redex and in the state after it:
 *
 *   operator   "`add` of 1 (int32) and 2 (int32) gives 3 (int32)."
 *   match      "Cons(1, Nil) (List[int32]) is taken by arm 2 of 2,
 *              `Cons(%h, %t)`, with %h = 1 (int32), ...: its body is left."
 *
 * The sentences are read by learners, so they name things as the text does and
 * say what is left of the expression.  A rule that is added to step.def needs
 * an entry in the table. */
#include "stepper/inside.h"

enum { CELL_WIDTH = 40, CELLS_MOST = 12 };

typedef struct Say {
  Stepper *s;
  StrBuf *out;
  const StepEntry *e;
  Redex redex;
} Say;

static void text(Say *w, const char *t) { strbuf_add(w->out, t); }

static void value(Say *w, const StepObj *v, const Type *type) {
  brief_typed(w->s, w->out, v, type);
}

/* The text itself between quotation marks, without parentheses around it. */
static void source(Say *w, Span span) {
  uint32_t len = 0;
  const char *t = sources_text(w->s->program->sources, span, &len);
  bool parens = len > 1 && t[0] == '(' && t[len - 1] == ')';
  strbuf_add_char(w->out, '`');
  strbuf_add_len(w->out, t ? t + parens : "", t ? len - 2 * parens : 0);
  strbuf_add_char(w->out, '`');
}

static const Type *result_type(const Say *w) {
  return w->redex.expr ? w->redex.expr->type : NULL;
}

/* --- Names -------------------------------------------------------------- */

static bool is_function(const StepObj *v) {
  return v->kind == V_CLOSURE || v->kind == V_OP || v->kind == V_CTOR ||
         v->kind == V_FORM;
}

/* A name may stand for a value or, as Nil does in a polymorphic definition, for
 * an expression that is to be evaluated. */
static void say_name(Say *w) {
  const StepObj *v = w->e->after.value;
  source(w, w->e->span);
  if (w->e->after.expr) {
    text(w, " is ");
    source(w, w->e->after.expr->span);
    text(w, ".");
    return;
  }
  text(w, is_function(v) ? " is a function: " : " is ");
  if (is_function(v))
    type_print(w->s->program->types, w->out, result_type(w), STEP_TYPE_WIDTH);
  else value(w, v, result_type(w));
  text(w, ".");
}

/* Either a use of the node, or a function that captures it. */
static void say_demand(Say *w) {
  source(w, w->e->span);
  text(w, " is needed: what it stands for is evaluated now.");
}

static void say_force(Say *w) {
  if (w->redex.expr->kind != EX_VAR) {
    text(w, "A function is made that captures a graph node");
  } else {
    source(w, w->e->span);
    text(w, " is needed: its graph node");
  }
  text(w, ", which had waited, is evaluated now.");
}

/* Names the variables that were bound; the environment has the last one first.
 * A chain of n entries is walked n times; few names are bound at a time. */
static void say_bound(Say *w, const StepObj *env, const StepObj *outer) {
  int n = 0;
  for (const StepObj *at = env; at && at != outer; at = at->fields[OUTER]) n++;
  for (int i = 0; i < n; i++) {
    const StepObj *at = env;
    for (int k = i + 1; k < n; k++) at = at->fields[OUTER];
    const Var *var = at->key;
    strbuf_addf(w->out, "%s%%%s = ", i ? ", " : "", var->name->text);
    value(w, at->fields[BOUND], var->type);
  }
}

/* --- Calls -------------------------------------------------------------- */

/* What the call says is called: of a form that calls its operand, the operand.
 */
static const Expr *called(const Say *w) {
  const Expr *e = w->redex.expr;
  return e->call.callee->kind == EX_OP ? e->args[0] : e->call.callee;
}

/* By the global that it is, or by the name at the call; a function that was
 * computed has none. */
static void say_function(Say *w, const StepObj *f) {
  const Expr *callee = called(w);
  const Global *g = brief_global(w->s, f->expr);
  if (g) strbuf_addf(w->out, "`@%s`", g->name->text);
  else if (text_is_name(callee, f)) source(w, callee->span);
  else text(w, "A function");
}

/* The parameters of the function that was entered. */
static void say_params(Say *w, const Fn *fn) {
  for (int i = 0; i < fn->param_count; i++) {
    const Var *param = fn->params[i];
    const StepObj *v = step_lookup(w->s->machine, w->e->after.env, param);
    strbuf_addf(w->out, "%s%%%s = ", i ? ", " : " with ", param->name->text);
    value(w, v, param->type);
  }
}

static void say_entered(Say *w) {
  const StepObj *f = redex_callee(&w->redex);
  say_function(w, f);
  text(w, " is entered");
  say_params(w, f->expr->fn);
}

static void say_call(Say *w) {
  say_entered(w);
  text(w, ": its body replaces the call.");
}

static void say_derive(Say *w) {
  say_entered(w);
  text(w, ": what its operators do is recorded.");
}

static void say_construct(Say *w) {
  strbuf_addf(w->out, "`%s` makes ", w->e->after.value->ctor->name->text);
  value(w, w->e->after.value, result_type(w));
  text(w, ".");
}

static void say_operands(Say *w) {
  const Expr *e = w->redex.expr;
  for (int i = 0; i < e->count; i++) {
    text(w, i == 0 ? " of " : i + 1 < e->count ? ", " : " and ");
    value(w, redex_child(&w->redex, i), e->args[i]->type);
  }
}

static void say_operator(Say *w) {
  strbuf_addf(w->out, "`%s`", op_info(redex_operator(&w->redex)->op)->name);
  say_operands(w);
  text(w, " gives ");
  value(w, w->e->after.value, result_type(w));
  text(w, ".");
}

static void say_print(Say *w) {
  value(w, redex_child(&w->redex, 0), w->redex.expr->args[0]->type);
  text(w, " is printed; () is left.");
}

static void say_assert(Say *w) { text(w, "The assertion holds; () is left."); }

static void say_project(Say *w) {
  const Expr *e = w->redex.expr;
  strbuf_addf(w->out, "Field %lld of ", (long long)e->index);
  value(w, redex_child(&w->redex, 0), e->args[0]->type);
  text(w, " is ");
  value(w, w->e->after.value, e->type);
  text(w, ".");
}

/* --- Blocks ------------------------------------------------------------- */

/* The binding that a frame waited for, or the one that the block was looked at
 * for. */
static const Binding *binding(const Say *w) {
  const StepObj *f = w->redex.frame;
  int i = f ? (int)f->index : w->e->redex.at;
  return &w->redex.expr->block->bindings[i];
}

static void say_let(Say *w) {
  const Var *var = binding(w)->var;
  strbuf_addf(w->out, "`%%%s` is bound to ", var->name->text);
  value(w, w->redex.value, var->type);
  text(w, ".");
}

static void say_group(Say *w) {
  const Binding *b = binding(w);
  const StepObj *group = w->e->after.env;
  for (uint32_t i = 0; i < group->size; i++)
    strbuf_addf(w->out, "%s`%%%s`", i ? ", " : "", b[i].var->name->text);
  text(w, group->size == 1 ? " is bound to a function ("
                           : " are bound to functions (");
  for (uint32_t i = 0; i < group->size; i++) {
    if (i) text(w, "; ");
    type_print(w->s->program->types, w->out, b[i].value->type, TYPE_TEXT_LINE);
  }
  text(w, ").");
}

static void say_delay(Say *w) {
  strbuf_addf(w->out, "The graph node `%%%s` waits for its first use.",
              binding(w)->var->name->text);
}

static void say_suspend(Say *w) {
  strbuf_addf(w->out, "What `%%%s` stands for waits until it is used.",
              binding(w)->var->name->text);
}

static void say_item(Say *w) {
  value(w, w->redex.value, binding(w)->value->type);
  text(w, " is dropped: nothing is done with it.");
}

/* --- Derivatives --------------------------------------------------------- */

static const StepObj *sweep_of(const Say *w) {
  return redex_did(w->e)->fields[DONE];
}

/* Where the sweep has come to, and why the rule is entered there. */
static void say_place(Say *w, const StepObj *record) {
  SweepKind kind = (SweepKind)sweep_of(w)->sweep;
  bool along = kind == SWEEP_ALONG || kind == SWEEP_BACK;
  text(w, along ? "Tangents have come to " : "The sweep comes back to ");
  if (record->kind == R_CUSTOM) text(w, "a function with a rule of its own");
  else strbuf_addf(w->out, "`%s`", record->site->attrs->op->name);
  if (kind == SWEEP_ALONG)
    text(w, ", whose rule takes them in the place of the adjoint: it");
  else if (kind == SWEEP_BACK)
    text(w,
         ", whose rule is linear in the adjoint, so that its own derivative "
         "takes them: it");
  else text(w, ": its rule");
}

/* What an operator's rule is entered with is all that its environment has. */
static void say_rule(Say *w) {
  const StepObj *record = sweep_of(w)->fields[SWEEP_DID]->fields[DID_AT];
  say_place(w, record);
  text(w, " is entered");
  if (record->kind == R_OPERATOR) {
    text(w, " with ");
    say_bound(w, w->e->after.env, NULL);
  } else {
    const StepObj *f = step_entered(record->fields[RECORD_REVERSE]);
    if (f->kind == V_CLOSURE) say_params(w, f->expr->fn);
  }
  text(w, ".");
}

/* "the adjoint of `%x`" */
static void say_adjoint_of(Say *w) {
  const StepObj *did = sweep_of(w)->fields[SWEEP_DID];
  const StepObj *record = did->fields[DID_AT], *of = did->fields[DID_OF];
  const StepObj *origin = of->kind == V_TENSOR ? of->fields[ORIGIN] : NULL;
  bool along = sweep_of(w)->sweep == SWEEP_ALONG;
  const Expr *operand;
  text_swept(w->e, &operand);
  strbuf_addf(w->out, "the %s of ", along ? "tangent" : "adjoint");
  if (operand) source(w, operand->span);
  else if (origin && origin->kind == R_INPUT && origin->key)
    strbuf_addf(w->out, "`%%%s`", ((const Var *)origin->key)->name->text);
  else if (record && record->fields[RECORD_VALUE] == of) text(w, "the value");
  else text(w, "an input");
}

static unsigned count_waiting(const StepObj *list) {
  unsigned n = 0;
  for (; list; list = list->fields[OUTER]) n++;
  return n;
}

static void say_waiting(Say *w, const StepObj *list, const char *what) {
  unsigned n = count_waiting(list);
  if (n == 1) strbuf_addf(w->out, "The %s that waited for ", what);
  else strbuf_addf(w->out, "The %u %ss that waited for ", n, what);
  say_adjoint_of(w);
  text(w, n == 1 ? " is computed: " : " are computed as one: ");
}

static void say_linear(Say *w, const StepObj *record) {
  const Attrs *attrs = record->site->attrs;
  bool each = op_linear(attrs) == LINEAR_EACH;
  strbuf_addf(w->out, "`%s` is linear%s: from the tangent%s it gives %s: ",
              attrs->op->name, each ? " in each operand" : "",
              each ? " of one" : "s of its operands",
              each ? "a part of the value's" : "the value's");
}

static void say_adjoint(Say *w) {
  const StepObj *did = sweep_of(w)->fields[SWEEP_DID];
  const StepObj *from = did->fields[DID_FROM];
  switch ((StepDid)did->what) {
    case DID_PRODUCTS: say_waiting(w, from, "product"); break;
    case DID_ROWS: say_waiting(w, from, "row"); break;
    case DID_TANGENT: say_linear(w, did->fields[DID_AT]); break;
    case DID_BROADCAST:
      text(w, "A part of ");
      say_adjoint_of(w);
      text(w, " is summed over what was broadcast: ");
      break;
    default:
      value(w, from, NULL);
      text(w, " is added to ");
      say_adjoint_of(w);
      text(w, did->what == DID_IN_ROWS ? ", in some rows: " : ": ");
      break;
  }
  value(w, w->e->after.value, NULL);
  text(w, ".");
}

/* The sweep of a rule gives no value of the call's type. */
static void say_gradient(Say *w) {
  const StepObj *f = w->redex.frame;
  SweepKind kind = f->kind == K_SWEEP       ? (SweepKind)f->fields[DONE]->sweep
                   : f->index == RUN_OF_JVP ? SWEEP_ALONG
                                            : SWEEP_GRAD;
  text(w, kind == SWEEP_ALONG ? "All tangents are found; "
                              : "The sweep has ended; ");
  value(w, w->e->after.value, kind == SWEEP_FOUND ? NULL : result_type(w));
  text(w, " is left.");
}

/* --- Branches ----------------------------------------------------------- */

static void say_if(Say *w) {
  text(w, w->e->rule == REDUCE_IF_TRUE
              ? "The condition is True: the first branch is left."
              : "The condition is False: the second branch is left.");
}

/* The number of arms as written: alternatives are one arm.  The parser makes an
 * arm of each alternative in `A | B => e`; all but the first `share` its
 * body. */
static int written_arms(const Match *m, int count) {
  int n = 0;
  for (int i = 0; i < count; i++) n += !m->arms[i].shares;
  return n;
}

/* The arm is found by its body, which the state after the step looks at; after
 * a guard the frame has its number. */
static void say_match(Say *w) {
  const Expr *e = w->redex.expr;
  const Match *m = e->match;
  const StepObj *frame = w->redex.frame;
  int i = 0;
  while (i + 1 < m->arm_count && m->arms[i].body != w->e->after.expr) i++;
  if (frame && frame->kind == K_GUARD) i = (int)frame->index;
  value(w, redex_child(&w->redex, 0), e->args[0]->type);
  strbuf_addf(w->out, " is taken by arm %d of %d, ", written_arms(m, i + 1),
              written_arms(m, m->arm_count));
  Span pattern = m->arms[i].pattern->span;
  for (; i + 1 < m->arm_count && m->arms[i + 1].shares; i++)
    pattern = span_join(pattern, m->arms[i + 1].pattern->span);
  source(w, pattern);
  if (w->e->after.env != w->redex.env) {
    text(w, ", with ");
    say_bound(w, w->e->after.env, w->redex.env);
  }
  text(w, ": its body is left.");
}

static void say_guard(Say *w) {
  const Match *m = w->redex.expr->match;
  const Arm *arm = &m->arms[w->redex.frame->index];
  text(w, "The guard ");
  source(w, arm->guard->span);
  strbuf_addf(w->out, " of arm %d does not hold: the arms below it are tried.",
              written_arms(m, (int)w->redex.frame->index + 1));
}

/* --- Cells -------------------------------------------------------------- */

static void say_ref(Say *w) {
  const StepObj *cell = w->e->after.value;
  strbuf_addf(w->out, "cell#%u is new and holds ", cell->serial);
  value(w, redex_child(&w->redex, 0), w->redex.expr->args[0]->type);
  text(w, ".");
}

static void say_read(Say *w) {
  strbuf_addf(w->out, "cell#%u holds ", redex_child(&w->redex, 0)->serial);
  value(w, w->e->after.value, result_type(w));
  text(w, ".");
}

/* The change that the entry made last; NULL: none.  It is this step's own, as a
 * write changes exactly one cell. */
static const StepChange *last_change(const Stepper *s, const StepEntry *e) {
  return e->changes ? &s->machine->changes.data[e->changes - 1] : NULL;
}

static void say_write(Say *w) {
  const Type *type = w->redex.expr->args[1]->type;
  strbuf_addf(w->out, "cell#%u held ", redex_child(&w->redex, 0)->serial);
  value(w, last_change(w->s, w->e)->was, type);
  text(w, " and now holds ");
  value(w, redex_child(&w->redex, 1), type);
  text(w, "; () is left.");
}

static void say_define(Say *w) {
  const Global *g = w->redex.frame->global;
  strbuf_addf(w->out, "`%s%s` is defined as ", global_sigil(g), g->name->text);
  value(w, w->redex.value, g->type);
  text(w, ".");
}

/* --- All rules ---------------------------------------------------------- */

static void (*const rules[REDUCE_COUNT])(Say *w) = {
    [REDUCE_VAR] = say_name,          [REDUCE_FORCE] = say_force,
    [REDUCE_GLOBAL] = say_name,       [REDUCE_DIM] = say_name,
    [REDUCE_CALL] = say_call,         [REDUCE_CONSTRUCT] = say_construct,
    [REDUCE_DERIVE] = say_derive,     [REDUCE_RULE] = say_rule,
    [REDUCE_ADJOINT] = say_adjoint,   [REDUCE_TANGENT] = say_adjoint,
    [REDUCE_GRADIENT] = say_gradient, [REDUCE_OPERATOR] = say_operator,
    [REDUCE_PRINT] = say_print,       [REDUCE_ASSERT] = say_assert,
    [REDUCE_PROJECT] = say_project,   [REDUCE_LET] = say_let,
    [REDUCE_GROUP] = say_group,       [REDUCE_SUSPEND] = say_suspend,
    [REDUCE_DEMAND] = say_demand,     [REDUCE_DELAY] = say_delay,
    [REDUCE_ITEM] = say_item,         [REDUCE_IF_TRUE] = say_if,
    [REDUCE_IF_FALSE] = say_if,       [REDUCE_MATCH] = say_match,
    [REDUCE_GUARD] = say_guard,       [REDUCE_REF] = say_ref,
    [REDUCE_READ] = say_read,         [REDUCE_WRITE] = say_write,
    [REDUCE_DEFINE] = say_define,
};

/* An entry that is no rule's is a value or an error. */
void say_step(Stepper *s, const StepEntry *e, StrBuf *out) {
  Say w = {.s = s, .out = out, .e = e, .redex = redex_of(e)};
  if (e->outcome == STEP_RULE) {
    rules[e->rule](&w);
  } else if (e->outcome == STEP_VALUE) {
    const Job *job = &s->jobs.data[e->job - 1];
    const Type *type =
        job->step ? job->step->expr->type : job->entry->value->fn->body->type;
    text(&w, "The value is ");
    value(&w, e->after.value, type);
    text(&w, ".");
  } else {
    const StepFault *fault = step_fault(s->machine);
    diag_add_short(out, diag_code_text(fault->code), fault->message);
  }
}

/* --- Cells -------------------------------------------------------------- */

typedef VEC(const StepObj *) Cells;

static void take_cell(void *cells, const StepObj *cell) {
  VEC_PUSH((Cells *)cells, cell);
}

/* They come from the newest to the oldest and are popped from the end. */
uint64_t say_each_cell(Stepper *s, const StepObj *changed, uint64_t most,
                       CellVisit *visit, void *data) {
  uint64_t shown = 0, left = 0;
  Cells cells;
  VEC_INIT(&cells, s->mem);
  step_each_cell(s->machine, take_cell, &cells);
  while (cells.len) {
    const StepObj *cell = VEC_POP(&cells);
    if (shown < most || cell == changed) visit(data, cell, shown++);
    else left++;
  }
  VEC_DONE(&cells);
  return left;
}

typedef struct CellList {
  Stepper *s;
  StrBuf *out;
  const char *between;
  const StepObj *changed, *was; /* the content before this step; NULL: the cell
                                   is new or unchanged */
} CellList;

static void add_cell(void *data, const StepObj *cell, uint64_t before) {
  const CellList *l = data;
  if (before) strbuf_add(l->out, l->between);
  strbuf_addf(l->out, "cell#%u = ", cell->serial);
  if (cell == l->changed && l->was) {
    brief_value(l->s, l->out, l->was, CELL_WIDTH);
    strbuf_add(l->out, " -> ");
  }
  brief_value(l->s, l->out, cell->fields[CONTENT], CELL_WIDTH);
  if (cell == l->changed && !l->was) strbuf_add(l->out, " (new)");
}

const StepObj *say_changed(const Stepper *s, const StepEntry *e,
                           const StepObj **was) {
  *was = NULL;
  if (e->outcome != STEP_RULE) return NULL;
  if (e->rule == REDUCE_REF) return e->after.value;
  if (e->rule != REDUCE_WRITE) return NULL;
  const StepChange *c = last_change(s, e);
  *was = c->was;
  return c->of;
}

/* Only where this step made or changed one. */
void say_cells(Stepper *s, const StepEntry *e, StrBuf *out) {
  CellList l = {.s = s, .out = out, .between = ", "};
  l.changed = say_changed(s, e, &l.was);
  if (!l.changed) return;
  uint64_t left = say_each_cell(s, l.changed, CELLS_MOST, add_cell, &l);
  if (left) strbuf_addf(out, ", and %llu more", (unsigned long long)left);
}

void stepper_cells(Stepper *s, StrBuf *out) {
  CellList l = {.s = s, .out = out, .between = "\n"};
  say_each_cell(s, NULL, UINT64_MAX, add_cell, &l);
}
