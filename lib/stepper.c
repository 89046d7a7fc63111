/* Steppers over what a session would run, with the values that it has.
 *
 * The stepper gets the program, the params' tensors and the session as a source
 * of values; it copies what it needs of these when it needs it
 * (smallstep/step_import.c) and changes none.  Output goes where the session's
 * would go.
 *
 * A call of the entry is the last job, after the steps that are pending: its
 * arguments are made by the session and copied into the machine. */
#include <string.h>

#include "bytecode/code.h"
#include "lib/handles.h"
#include "types/types.h"

static void add_steps(Stepper *st, const Unit *from) {
  for (const Unit *u = from; u; u = u->next)
    for (int i = 0; i < u->step_count; i++) stepper_add(st, &u->steps[i]);
}

/* Params get their values first, as before a run. */
static Stepper *new_stepper(rly_session *s, const Unit *from, bool silent,
                            rly_status *status) {
  rly_program *p = s->program;
  Limits limits = session_limits(s->vm);
  rly_status ready = session_params(s, from, false, NULL);
  if (status) *status = ready == RLY_OK ? RLY_REFUSED : ready;
  if (ready != RLY_OK) return NULL;
  StepHost host = {
      .code = p->code,
      .session = s->vm,
      .write = silent ? NULL : s->options.write,
      .data = s->options.data,
      .width = s->options.width,
      .max_memory = limits.max_memory,
  };
  Stepper *st = stepper_new(p->ir, host);
  if (!st) {
    mem_raise_exhausted(s->mem);
    return NULL;
  }
  stepper_max_depth(st, limits.max_depth);
  return st;
}

Stepper *session_stepper(rly_session *s, rly_status *status) {
  const Unit *from = session_pending(s);
  Stepper *st = new_stepper(s, from, false, status);
  if (st) add_steps(st, from);
  return st;
}

/* What it prints was printed when the unit was evaluated. */
Stepper *session_stepper_of(rly_session *s, const Unit *unit) {
  Stepper *st = new_stepper(s, NULL, true, NULL);
  for (int i = 0; st && i < unit->step_count; i++)
    stepper_add(st, &unit->steps[i]);
  return st;
}

bool unit_writes(const rly_program *p, const Unit *unit) {
  bool writes = false;
  for (int i = 0; i < unit->step_count && !writes; i++)
    writes = expr_effects(p->ir, unit->steps[i].expr) & EFFECT_WRITE;
  return writes;
}

/* The arguments as a tuple of the machine's values. */
static StepValue *import_arguments(rly_session *s, Stepper *st, const Global *g,
                                   int count) {
  StepMachine *m = stepper_machine(st);
  StepValue *args = step_arguments(m, count);
  for (int i = 0; args && i < count; i++) {
    Value v;
    const Type *type = g->type->args[i];
    if (!session_argument(s, (const rly_function *)g, i, &v)) return NULL;
    if (!step_argument(m, args, i, s->vm, type, v)) args = NULL;
    value_drop(store_of(s), type, v);
  }
  if (!args) mem_raise_exhausted(s->mem);
  return args;
}

rly_status session_step_call(rly_session *s, Stepper *st,
                             const rly_function *f) {
  const Global *g = (const Global *)f;
  rly_status ready = session_params(s, NULL, false, g->value);
  if (ready != RLY_OK) return ready;
  StepValue *args = import_arguments(s, st, g, rly_function_param_count(f));
  if (!args) return session_failed(s, RLY_REFUSED);
  stepper_add_call(st, g, args);
  return RLY_OK;
}

/* --- Expressions among the variables of a function under way ------------- */

static bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c >= '0' && c <= '9');
}

/* Has the text named the variable before `at`? */
static bool is_named(const char *text, const char *at, size_t len) {
  for (const char *p = text; p < at; p++)
    if (*p == '%' && !strncmp(p + 1, at + 1, len) && !in_name(p[1 + len]))
      return true;
  return false;
}

/* What a function does with an expression. */
typedef struct Around {
  const char *before, *after;
} Around;

static const Around itself = {"{", "}"};
static const Around as_condition = {"{ if (", ") { True } else { False } }"};

/* The type of a variable; of one without a value there is none, and without a
 * stepper all variables are parameters whose types are to be found. */
static bool param_type(Stepper *st, size_t level, const char *name, size_t len,
                       StrBuf *type) {
  return !st || stepper_level_type(st, level, name, len, type);
}

/* `fn (%x: int32) {` and the expression on a line of its own, so that messages
 * show nothing else.  A variable without a value stays free. */
static void add_function(Stepper *st, size_t level, const char *text,
                         Around around, StrBuf *out) {
  const char *between = "";
  StrBuf type;
  strbuf_add(out, "fn (");
  for (const char *p = strchr(text, '%'); p; p = strchr(p + 1, '%')) {
    size_t n = 0;
    while (in_name(p[1 + n])) n++;
    strbuf_init(&type, out->mem);
    if (n && !is_named(text, p, n) && param_type(st, level, p + 1, n, &type)) {
      strbuf_addf(out, "%s%%%.*s", between, (int)n, p + 1);
      if (type.len) strbuf_addf(out, ": %s", strbuf_text(&type));
      between = ", ";
    }
    strbuf_done(&type);
  }
  strbuf_addf(out, ") %s\n%s\n%s", around.before, text, around.after);
}

typedef struct Look {
  rly_program *program;
  Stepper *stepper;
  size_t level;
  void (*take)(void *data, const StepValue *v);
  void *data;
  StrBuf *why;
  bool ok;
} Look;

static void evaluate_checked(void *look, const Expr *e) {
  Look *l = look;
  if (!l->stepper || e->kind != EX_FN) return;
  if (expr_effects(l->program->ir, e->fn->body) & EFFECT_WRITE)
    strbuf_add(l->why, "it would change a cell");
  else
    l->ok = stepper_evaluate(l->stepper, l->level, e, l->take, l->data, l->why);
}

/* Without a stepper the expression is only checked. */
static rly_status look(Look *l, const char *text, Around around) {
  rly_program *p = l->program;
  StrBuf whole;
  strbuf_init(&whole, p->mem);
  add_function(l->stepper, l->level, text, around, &whole);
  p->ir->lines_before = (uint32_t)-1; /* the head's line does not count */
  rly_status status =
      program_look_at(p, strbuf_text(&whole), whole.len, evaluate_checked, l);
  strbuf_done(&whole);
  return status;
}

bool session_step_evaluate(rly_session *s, Stepper *st, size_t level,
                           const char *text,
                           void (*take)(void *data, const StepValue *v),
                           void *data, StrBuf *why) {
  Look l = {s->program, st, level, take, data, why, false};
  look(&l, text, itself);
  return l.ok;
}

/* --- Conditions ---------------------------------------------------------- */

static void take_truth(void *truth, const StepValue *v) {
  *(StepTruth *)truth = step_is_false(v) ? STEP_FALSE : STEP_TRUE;
}

/* Is there an error since the mark whose code `is` accepts? */
static bool reported(const Diags *diags, DiagsMark since,
                     bool (*is)(DiagCode code)) {
  bool found = false;
  for (size_t i = since.count; i < diags_count(diags) && !found; i++) {
    const Diag *d = diags_at(diags, i);
    found = d->severity == SEV_ERROR && is(d->code);
  }
  return found;
}

static bool is_no_bool(DiagCode code) { return code == E0213; }

StepTruth session_step_holds(rly_session *s, Stepper *st, const char *condition,
                             StrBuf *why) {
  StepTruth truth = STEP_TRUE;
  const Diags *diags = s->program->ir->diags;
  DiagsMark mark = diags_mark(diags);
  Look l = {s->program, st, 0, take_truth, &truth, why, false};
  look(&l, condition, as_condition);
  if (l.ok || why->len) return truth;
  if (reported(diags, mark, is_no_bool)) return STEP_NO_CONDITION;
  strbuf_add(why, "it is no expression here");
  return truth;
}

/* A type may be known once the variables have values, and a name may be defined
 * later; what else is wrong stays so. */
static bool stays(DiagCode code) {
  return code != E0202 && code != E0102 && code != E0103 && code != E0104;
}

bool session_step_condition(rly_session *s, const char *condition) {
  Diags *diags = s->program->ir->diags;
  DiagsMark mark = diags_mark(diags);
  Look l = {.program = s->program};
  if (look(&l, condition, as_condition) == RLY_OK) return true;
  if (mem_exhausted(s->program->mem) || reported(diags, mark, stays))
    return false;
  diags_return(diags, mark);
  return true;
}
