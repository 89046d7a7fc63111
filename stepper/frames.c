/* The functions under way: which they are, what their variables are, and
 * expressions evaluated among those variables.
 *
 * A function's frames are those of its own text (text_boundary); its
 * environment is that of the innermost of them. */
#include "stepper/inside.h"

#include <string.h>

enum { ARGS_MOST = 8, ASK_EVERY = 256 };

/* --- Levels -------------------------------------------------------------- */

/* A step that binds names has been taken: they are seen, in the function that
 * was entered. */
static const StepState *state_of(const StepEntry *e) {
  bool binds = e->outcome == STEP_RULE && e->after.expr &&
               step_rule_has(e->rule, STEP_BINDS);
  return binds ? &e->after : &e->redex;
}

static StepLevel innermost(const Stepper *s, const StepEntry *e) {
  const StepState *at = state_of(e);
  if (at == &e->after) return (StepLevel){at->env, at->expr, at->expr->span};
  if (e->outcome == STEP_RULE && select_sweeps(e)) { /* its names are gone */
    const Expr *operand, *swept = text_swept(e, &operand);
    return (StepLevel){NULL, swept, swept->span};
  }
  Redex r = redex_of(e);
  const StepFault *f = step_fault(s->machine);
  bool failed = e->outcome == STEP_ERROR && span_exists(f->span);
  return (StepLevel){r.env, r.expr, failed ? f->span : e->span};
}

bool frames_level(Stepper *s, size_t n, StepLevel *out) {
  const StepEntry *e = stepper_entry(s);
  if (!e || e->outcome == STEP_VALUE) return false;
  *out = innermost(s, e);
  const StepObj *f = n ? text_boundary(state_of(e)) : NULL;
  for (size_t i = 1; f && i < n; i++) f = text_behind(f);
  if (!n) return true;
  if (!f || f->kind == K_DEFINE) return false;
  const Expr *call = text_awaited(f);
  *out =
      (StepLevel){f->fields[ENV], f->expr, call ? call->span : f->expr->span};
  return true;
}

size_t stepper_level_count(Stepper *s) {
  const StepEntry *e = stepper_entry(s);
  if (!e || e->outcome == STEP_VALUE) return 0;
  size_t n = 1;
  const StepObj *f = text_boundary(state_of(e));
  for (; f && f->kind != K_DEFINE; f = text_behind(f)) n++;
  return n;
}

/* --- Variables ----------------------------------------------------------- */

/* The value that a variable of the environment has now; NULL: none yet. */
static const StepObj *value_of(const StepObj *bound) {
  if (bound && bound->kind == V_PROMISE)
    return bound->evaluated ? bound->fields[CONTENT] : NULL;
  return bound && bound->kind != V_NUMBER ? bound : NULL;
}

void frames_each_var(Stepper *s, StepObj *env,
                     bool (*visit)(void *data, const Var *var,
                                   const StepObj *value),
                     void *data) {
  PtrMap seen;
  bool more = true;
  ptrmap_init(&seen, s->mem);
  for (; env && more; env = env->fields[OUTER]) {
    uint32_t n = env->kind == E_GROUP ? env->size : 1;
    for (uint32_t i = 0; i < n && more; i++) {
      bool group = env->kind == E_GROUP;
      if (!group && env->fields[BOUND] && env->fields[BOUND]->kind == V_NUMBER)
        continue;
      const Var *var = group ? env->bindings[i].var : env->key;
      if (ptrmap_has(&seen, var->name)) continue;
      ptrmap_put(&seen, var->name, (void *)var);
      const StepObj *v = group ? step_lookup(s->machine, env, var)
                               : value_of(env->fields[BOUND]);
      if (v) more = visit(data, var, v);
    }
  }
  ptrmap_done(&seen);
}

typedef struct Args {
  Stepper *s;
  StrBuf *out;
  const Fn *fn; /* only its parameters; NULL: all variables */
  int count;
} Args;

static bool is_param(const Fn *fn, const Var *var) {
  for (int i = 0; i < fn->param_count; i++)
    if (fn->params[i] == var) return true;
  return false;
}

static bool add_arg(void *args, const Var *var, const StepObj *v) {
  Args *a = args;
  if (a->fn && !is_param(a->fn, var)) return true;
  strbuf_addf(a->out, "\n      %%%s = ", var->name->text);
  brief_typed(a->s, a->out, v, var->type);
  return ++a->count < ARGS_MOST;
}

bool stepper_level_print(Stepper *s, size_t n, bool all, StrBuf *out) {
  StepLevel l;
  if (!frames_level(s, n, &l)) return false;
  const Global *g = l.at ? text_home(s, l.at) : NULL;
  Place p = sources_place(s->program->sources, l.span);
  if (g) text_add_function(out, g);
  else strbuf_add(out, "the entry");
  if (p.file) strbuf_addf(out, " at %s:%u:%u", p.file->path, p.line, p.column);
  Args a = {.s = s, .out = out, .fn = g && !all ? g->value->fn : NULL};
  frames_each_var(s, l.env, add_arg, &a);
  return true;
}

/* --- Types of variables, for an expression to be checked ----------------- */

typedef struct VarSearch {
  Stepper *s;
  const char *name;
  size_t len;
  const Var *var;
  const StepObj *value;
} VarSearch;

static bool is_wanted(void *search, const Var *var, const StepObj *v) {
  VarSearch *w = search;
  if (var->name->len != w->len || strncmp(var->name->text, w->name, w->len))
    return true;
  w->var = var;
  w->value = v;
  return false;
}

static bool find_var(VarSearch *w, size_t level) {
  StepLevel l;
  if (!frames_level(w->s, level, &l)) return false;
  frames_each_var(w->s, l.env, is_wanted, w);
  return w->var;
}

bool stepper_level_type(Stepper *s, size_t level, const char *name, size_t len,
                        StrBuf *out) {
  VarSearch w = {.s = s, .name = name, .len = len};
  if (!find_var(&w, level)) return false;
  bool cell = w.value->kind == V_CELL;
  const Type *t = brief_type(s, cell ? w.value->fields[CONTENT] : w.value);
  if (t && cell) t = type_ref(s->program->types, t);
  if (t) type_print(s->program->types, out, t, STEP_TYPE_WIDTH);
  return true;
}

/* --- Evaluation ---------------------------------------------------------- */

/* What the machine is to forget of an evaluation. */
typedef struct Pause {
  StepMachine machine;
  StrBuf message;
} Pause;

static void pause(StepMachine *m, Pause *p) {
  p->machine = *m;
  strbuf_init(&p->message, m->mem);
  strbuf_add_len(&p->message, m->message.data, m->message.len);
  m->keep = 0;
  m->entry = m->entries.len; /* it does not stand in the past */
  m->outcome = STEP_RULE;
  m->now = (StepState){.expr = NULL};
}

/* Objects and their bytes stay: the next collection takes them. */
static void go_on(StepMachine *m, Pause *p) {
  const StepMachine *was = &p->machine;
  size_t dropped = was->entries.len - m->entries.len;
  m->keep = was->keep;
  m->entry = was->entry > dropped ? was->entry - dropped : m->entries.len;
  m->now = was->now;
  m->redex = was->redex;
  m->rule = was->rule;
  m->span = was->span;
  m->applied = was->applied;
  m->count = was->count;
  m->outcome = was->outcome;
  m->cells = was->cells;
  m->low = was->low;
  m->job = was->job;
  m->fault = was->fault;
  VEC_CLEAR(&m->message);
  strbuf_add_len(&m->message, strbuf_text(&p->message), p->message.len);
  if (m->fault.message) m->fault.message = strbuf_text(&m->message);
  strbuf_done(&p->message);
}

/* The environment that binds the function's parameters to the level's variables
 * of those names. */
static StepObj *bind(Stepper *s, size_t level, const Fn *fn) {
  StepObj *env = NULL;
  for (int i = 0; i < fn->param_count; i++) {
    const Name *name = fn->params[i]->name;
    VarSearch w = {.s = s, .name = name->text, .len = name->len};
    if (!find_var(&w, level)) continue;
    env = step_pair(s->machine, E_BIND, fn->params[i], env, (StepObj *)w.value);
  }
  return env;
}

/* Nothing is collected between the search for the values and the state that
 * holds them. */
bool stepper_evaluate(Stepper *s, size_t level, const Expr *e,
                      void (*take)(void *data, const StepValue *v), void *data,
                      StrBuf *why) {
  StepMachine *m = s->machine;
  Pause p;
  StepObj *env = bind(s, level, e->fn);
  pause(m, &p);
  step_to_expr(m, e->fn->body, env);
  bool asked = false;
  for (uint64_t n = 1; !asked && step_next(m) == STEP_RULE; n++)
    asked = s->asked && n % ASK_EVERY == 0 && s->asked(s->asked_data);
  bool ok = m->outcome == STEP_VALUE;
  if (ok) take(data, m->now.value);
  else if (asked) strbuf_add(why, "interrupted");
  else diag_add_short(why, diag_code_text(m->fault.code), m->fault.message);
  go_on(m, &p);
  return ok;
}
