/* The stepper's moves over the machine and its record.
 *
 * The machine (smallstep/) knows one way forward: the next rule.  A stepper
 * adds a list of jobs (steps of units, calls) that it starts one after the
 * other, and moves of several steps with a reason to end:
 *
 *   MOVE_STEP   the first step that is not folded
 *   MOVE_OVER   the redex has its value
 *   MOVE_OUT    the function has its result
 *   MOVE_RUN    a breakpoint
 *   MOVE_BACK   the step before, from the record
 *
 * Going forward inside the record replays it; only after its end is anything
 * evaluated (step_next).  All of a move's questions are asked of the entry that
 * was reached, so they have the same answers on the way back and forth.
 *
 * Where it stands is always an entry of the record, of which KEPT_STEPS are
 * kept. */
#include "stepper/inside.h"

#include <stdlib.h>

enum { KEPT_STEPS = 20000, ASK_EVERY = 256 };

/* --- Life --------------------------------------------------------------- */

static void add_home(Stepper *s, const Global *g) {
  if (g && g->kind == GLOBAL_DEF && g->value)
    VEC_PUSH(&s->homes, (Home){g->value->span, g});
}

static int by_place(const void *a, const void *b) {
  const Home *x = a, *y = b;
  return (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
}

/* The functions of all units by their places, for "in @fact".  Definitions do
 * not change while a stepper lives, but rules of derivatives bring units of the
 * library. */
static void find_homes(Stepper *s) {
  const Program *p = s->program;
  if (s->last == p->last_unit) return;
  s->last = p->last_unit;
  VEC_CLEAR(&s->homes);
  for (const Unit *u = p->units; u; u = u->next) {
    const Scope *scope = u->source->library ? &p->library : &p->user;
    for (int i = 0; i < u->item_count; i++) {
      if (u->items[i].kind != ITEM_DEF) continue;
      add_home(s, scope_global(scope, u->items[i].name));
    }
  }
  if (s->homes.len)
    qsort(s->homes.data, s->homes.len, sizeof *s->homes.data, by_place);
}

size_t stepper_home_from(const Stepper *s, uint32_t place) {
  size_t lo = 0, hi = s->homes.len;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (s->homes.data[mid].span.lo < place) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* Without memory for all of it there is no stepper. */
Stepper *stepper_new(Program *p, StepHost host) {
  Stepper *s = mem_alloc_zeroed(p->mem, sizeof *s);
  if (!s) return NULL;
  s->program = p;
  s->mem = p->mem;
  VEC_INIT(&s->jobs, s->mem);
  VEC_INIT(&s->breaks, s->mem);
  VEC_INIT(&s->homes, s->mem);
  s->machine = step_new(p, host);
  find_homes(s);
  if (s->machine && !mem_exhausted(s->mem)) {
    step_keep(s->machine, KEPT_STEPS);
    return s;
  }
  stepper_free(s);
  return NULL;
}

void stepper_free(Stepper *s) {
  if (!s) return;
  while (s->breaks.len) stepper_break_remove(s, 1);
  step_free(s->machine);
  VEC_DONE(&s->jobs);
  VEC_DONE(&s->breaks);
  VEC_DONE(&s->homes);
  mem_free(s->mem, s, sizeof *s);
}

StepMachine *stepper_machine(Stepper *s) { return s->machine; }

void stepper_add(Stepper *s, const Step *step) {
  VEC_PUSH(&s->jobs, (Job){.step = step});
}

void stepper_add_call(Stepper *s, const Global *g, const StepValue *args) {
  VEC_PUSH(&s->jobs, (Job){.entry = g, .args = args});
}

void stepper_when_to_stop(Stepper *s, bool (*asked)(void *data), void *data) {
  s->asked = asked;
  s->asked_data = data;
}

void stepper_when_it_holds(Stepper *s,
                           StepTruth (*holds)(void *data, const char *text),
                           void *data) {
  s->holds = holds;
  s->holds_data = data;
}

void stepper_max_depth(Stepper *s, uint64_t depth) { s->max_depth = depth; }

/* --- Where it stands ---------------------------------------------------- */

const StepEntry *stepper_entry(const Stepper *s) {
  const StepMachine *m = s->machine;
  return m->entry ? &m->entries.data[m->entry - 1] : NULL;
}

bool stepper_stands(const Stepper *s) { return stepper_entry(s) != NULL; }

StepOutcome stepper_at(const Stepper *s) { return stepper_entry(s)->outcome; }

uint64_t stepper_number(const Stepper *s) {
  const StepEntry *e = stepper_entry(s);
  return e ? e->count : 0;
}

const char *stepper_stopped_by(const Stepper *s) {
  return s->hit ? s->hit->text : "";
}
uint64_t stepper_passed(const Stepper *s) { return s->passed; }
uint64_t stepper_folded(const Stepper *s, StepFold kind) {
  return s->folded[kind];
}

/* Reads from the state what the rule was applied to.  Either an expression was
 * looked at (a name, a block), or a frame received a value; then the frame says
 * which expression it belongs to and how many of its children have values. */
Redex redex_of(const StepEntry *e) {
  const StepState *at = &e->redex;
  if (at->expr) return (Redex){.expr = at->expr, .env = at->env};
  const StepObj *f = at->frames;
  Redex r = {.value = at->value, .frame = f};
  if (!f) return r;
  r.expr = f->kind == K_DEFINE ? NULL : f->expr;
  r.env = f->fields[ENV];
  if (f->kind == K_CHILD) r.count = step_turn(f->index) + 1;
  if (f->kind == K_ARMS) r.count = 1;
  if (f->kind == K_GUARD) r.count = 2; /* the scrutinee and the guard */
  return r;
}

/* The last child's value is the one that the frame received; the others are in
 * the frame's list, the last of them first. */
const StepObj *redex_child(const Redex *r, int i) {
  static const StepObj waiting = {.kind = V_PROMISE};
  if (r->frame->kind == K_CHILD) i = step_turn_of(r->expr, r->frame->index, i);
  if (i >= r->count) return &waiting; /* an argument that a strategy delays */
  if (i == r->count - 1) return r->value;
  const StepObj *list = r->frame->fields[DONE];
  for (int n = r->count - 2; n > i; n--) list = list->fields[OUTER];
  return list->fields[BOUND];
}

/* A callee that is a child is the last child, and has its value.  vjp and jvp
 * call their first operand. */
const StepObj *redex_callee(const Redex *r) {
  if (!r->frame || r->frame->kind != K_CHILD) return NULL;
  const Expr *e = r->expr;
  if (e->kind != EX_CALL) return NULL;
  int n = e->count;
  if (!step_child(e, n)) {
    bool form = e->call.callee->kind == EX_OP && n > 1 && r->count == n &&
                op_is_form(op_info(e->call.callee->op));
    return form ? step_entered(redex_child(r, 0)) : NULL;
  }
  if (step_turn_of(e, r->frame->index, n) >= r->count) return NULL;
  return step_entered(redex_child(r, n));
}

const StepObj *redex_did(const StepEntry *e) {
  const StepObj *f = e->after.frames;
  while (f && f->kind != K_SWEEP) f = f->fields[BELOW];
  return f;
}

const Expr *redex_operator(const Redex *r) {
  const Expr *e = r->expr;
  if (!e || e->kind != EX_CALL) return NULL;
  if (e->call.callee->kind == EX_OP) return e->call.callee;
  const StepObj *callee = redex_callee(r);
  return callee && callee->kind == V_OP ? callee->expr : NULL;
}

/* --- Moving ------------------------------------------------------------- */

/* Neither in the past, nor in the middle of a job, nor with jobs to do; or
 * after an error. */
bool stepper_ended(const Stepper *s) {
  const StepMachine *m = s->machine;
  if (step_is_behind(m) || m->outcome == STEP_RULE) return false;
  return m->outcome != STEP_VALUE || m->job == s->jobs.len;
}

/* Advances by one entry of the record.  Returns false if there is none.  m->job
 * counts the jobs that were started, so it is the index of the next. */
static bool next_entry(Stepper *s) {
  StepMachine *m = s->machine;
  if (stepper_ended(s)) return false;
  if (!step_is_behind(m) && m->outcome == STEP_VALUE) {
    const Job *job = &s->jobs.data[m->job];
    if (job->step) step_start(m, job->step);
    else step_start_call(m, job->entry, job->args);
  }
  step_next(m);
  find_homes(s);
  return true;
}

/* Each outcome of the machine as a reason to stop. */
static StepStop stop_of(StepOutcome outcome) {
  static const StepStop of[] = {[STEP_RULE] = STOP_STEP,
                                [STEP_VALUE] = STOP_VALUE,
                                [STEP_ERROR] = STOP_ERROR,
                                [STEP_LIMIT] = STOP_LIMIT};
  return of[outcome];
}

/* The value of a let is part of the step that defined the name. */
static bool is_silent(const Stepper *s) {
  const StepMachine *m = s->machine;
  if (m->outcome != STEP_VALUE) return false;
  const Job *job = &s->jobs.data[m->job - 1];
  return job->step && job->step->kind == STEP_LET;
}

/* A move ends at the first step at which fewer than `low` frames were left on
 * the way.  With `low` UINT32_MAX it ends at the first step that is not folded;
 * with `low` 0 it never ends by itself.  Each round: an entry; silent ones do
 * not count; values and errors end every move; then breakpoints, which count
 * before folding, so that a folded step can be stopped at; then the depth.
 *
 *   the move is over when the stack has been shallower than `low`
 *   (entry.low), which it is when the frame that waits for the redex
 *   has received a value
 *
 * A step that is passed over is counted, and every ASK_EVERY of them the host
 * is asked whether to go on. */
static StepStop forth(Stepper *s, uint32_t low, bool each) {
  StepMachine *m = s->machine;
  while (next_entry(s)) {
    if (is_silent(s)) continue;
    if (m->outcome != STEP_RULE) return stop_of(m->outcome);
    s->hit = select_break(s);
    const StepEntry *e = stepper_entry(s);
    if (s->hit) return STOP_BREAK;
    const StepObj *top = m->now.frames;
    if (s->max_depth && top && top->depth > s->max_depth) {
      step_fail(m, E0702, e->span, "more than %llu calls are under way",
                (unsigned long long)s->max_depth);
      m->outcome = STEP_LIMIT;
      return STOP_LIMIT;
    }
    StepFold fold = select_fold(s, e);
    if (fold < FOLD_COUNT) s->folded[fold]++;
    if (fold == FOLD_COUNT && (each || e->low < low)) return STOP_STEP;
    s->passed++;
    if (s->asked && s->passed % ASK_EVERY == 0 && s->asked(s->asked_data))
      return STOP_ASKED;
  }
  return STOP_END;
}

/* Breakpoints do not stop a way back. */
static StepStop back(Stepper *s) {
  StepMachine *m = s->machine;
  while (step_back(m)) {
    if (is_silent(s)) continue;
    if (m->outcome != STEP_RULE) return stop_of(m->outcome);
    StepFold fold = select_fold(s, stepper_entry(s));
    if (fold == FOLD_COUNT) return STOP_STEP;
    s->passed++;
    s->folded[fold]++;
  }
  return STOP_START;
}

static uint32_t depth_of(const StepObj *frame) {
  return frame ? frame->depth : 0;
}

/* The redex has its value when the frame below it has been left.  In a block
 * that frame stays, so the frame of the next binding is taken, and in a sweep
 * that of the next record.  For an
 * expression that frame is the top one now; for a frame that received a value,
 * the one below it. */
static uint32_t depth_over(const StepEntry *e) {
  const StepObj *frames = e->redex.frames;
  if (e->redex.expr)
    return depth_of(frames) + (e->redex.expr->kind == EX_BLOCK);
  if (!frames) return 0;
  bool stays = frames->kind == K_BINDING || select_sweeps(e);
  return frames->depth - 1 + stays;
}

static uint32_t depth_out(const StepEntry *e) {
  return depth_of(text_boundary(&e->redex));
}

/* Where it does not stand at a step (before the first one, at a value), over
 * and out are steps like any other. */
StepStop stepper_move(Stepper *s, StepMove move) {
  const StepEntry *e = stepper_entry(s);
  s->passed = 0;
  s->hit = NULL;
  for (int i = 0; i < FOLD_COUNT; i++) s->folded[i] = 0;
  bool stands = e && e->outcome == STEP_RULE;
  switch (move) {
    case MOVE_BACK: return back(s);
    case MOVE_OVER: return forth(s, stands ? depth_over(e) : 0, !stands);
    case MOVE_OUT: return forth(s, stands ? depth_out(e) : 0, !stands);
    case MOVE_RUN: return forth(s, 0, false);
    default: return forth(s, 0, true);
  }
}
