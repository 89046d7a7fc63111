/* Steppers over what a session would run, with the values that it has. */
#include "bytecode/code.h"
#include "lib/handles.h"
#include "stepper/stepper.h"

static void add_steps(Stepper *st, const Unit *from) {
  for (const Unit *u = from; u; u = u->next)
    for (int i = 0; i < u->step_count; i++) stepper_add(st, &u->steps[i]);
}

Stepper *session_stepper(rly_session *s) {
  rly_program *p = s->program;
  Limits limits = session_limits(s->vm);
  const Unit *from = session_pending(s);
  if (session_params(s, from, false, NULL) != RLY_OK) return NULL;
  StepHost host = {
      .code = p->code,
      .session = s->vm,
      .write = s->options.write,
      .data = s->options.data,
      .width = s->options.width,
      .max_memory = limits.max_memory,
  };
  Stepper *st = stepper_new(p->ir, host);
  if (!st) {
    session_failed(s, RLY_LIMIT);
    return NULL;
  }
  stepper_max_depth(st, limits.max_depth);
  add_steps(st, from);
  return st;
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
  return args;
}

bool session_step_call(rly_session *s, Stepper *st, const rly_function *f) {
  const Global *g = (const Global *)f;
  if (session_params(s, NULL, false, g->value) != RLY_OK) return false;
  StepValue *args = import_arguments(s, st, g, rly_function_param_count(f));
  if (args) stepper_add_call(st, g, args);
  return args;
}
