/* The heap of the small-step machine: a list of all objects, with mark and
 * sweep (McCarthy 1960) from the state when enough bytes are in use.
 *
 * Reference counts would not do: environments of the record, frames and cells
 * share freely and in cycles.  The roots are the state, the redex, the globals,
 * what came from a session, and the record.  Marking uses a vector as its
 * stack, so depth does not matter.
 *
 * A collection costs time in proportion to all objects; the next one comes when
 * twice as many bytes are in use as survived, and 4 MB more.  So the cost for
 * each byte that is allocated is constant on average.
 *
 * Nothing moves: an address is good for as long as the object is reachable. */
#include "smallstep/step_machine.h"

enum { THRESHOLD_LEAST = 4 << 20 };

/* --- Making ------------------------------------------------------------- */

static size_t obj_size(uint32_t count) {
  return sizeof(StepObj) + count * sizeof(StepObj *);
}

/* Fields are NULL before the object is in the list, so a collection may see it
 * at any time. */
StepObj *step_obj(StepMachine *m, StepObjKind kind, uint32_t count) {
  StepObj *o = pool_alloc(&m->heap.pool, obj_size(count));
  if (!o) return mem_raise_exhausted(m->mem), NULL;
  m->bytes += obj_size(count);
  *o = (StepObj){.older = m->objects, .kind = (uint8_t)kind, .count = count};
  for (uint32_t i = 0; i < count; i++) o->fields[i] = NULL;
  m->objects = o;
  return o;
}

/* The elements count in m->bytes, or a few large tensors would never start a
 * collection. */
StepObj *step_tensor_take(StepMachine *m, Tensor *t) {
  if (!t) return mem_raise_exhausted(m->mem), NULL;
  StepObj *o = step_obj(m, V_TENSOR, 1);
  if (!o) return tensor_drop(&m->heap, t), NULL;
  o->tensor = t;
  m->bytes += tensor_bytes(t);
  return o;
}

StepObj *step_unit(StepMachine *m) { return step_obj(m, V_TUPLE, 0); }

StepObj *step_closure(StepMachine *m, const Expr *fn, StepObj *env) {
  StepObj *o = step_obj(m, V_CLOSURE, 1);
  if (!o) return NULL;
  o->expr = fn;
  o->fields[ENV_OF] = env;
  return o;
}

/* An entry of an environment, or of a list of values. */
StepObj *step_pair(StepMachine *m, StepObjKind kind, const void *key,
                   StepObj *outer, StepObj *bound) {
  StepObj *o = step_obj(m, kind, 2);
  if (!o) return NULL;
  o->key = key;
  o->fields[OUTER] = outer;
  o->fields[BOUND] = bound;
  return o;
}

/* `depth` is the number of frames, so that the stepper can compare places in
 * the stack without walking it. */
void step_push(StepMachine *m, StepObjKind kind, const Expr *e, int index,
               StepObj *env, StepObj *done) {
  StepObj *o = step_obj(m, kind, FRAME_FIELDS);
  if (!o) return;
  o->expr = e;
  o->index = (uint32_t)index;
  o->depth = m->now.frames ? m->now.frames->depth + 1 : 1;
  o->fields[BELOW] = m->now.frames;
  o->fields[ENV] = env;
  o->fields[DONE] = done;
  m->now.frames = o;
}

/* The list has the last value first. */
StepObj *step_gather(StepMachine *m, StepObjKind kind, uint32_t n,
                     const StepObj *done) {
  StepObj *o = step_obj(m, kind, n);
  for (uint32_t i = n; o && i-- > 0; done = done->fields[OUTER])
    o->fields[i] = done->fields[BOUND];
  return o;
}

StepObj *step_slice(StepMachine *m, StepObjKind kind, const StepObj *of,
                    int first, int count) {
  StepObj *o = step_obj(m, kind, (uint32_t)count);
  for (int i = 0; o && i < count; i++) o->fields[i] = of->fields[first + i];
  return o;
}

/* --- Environments ------------------------------------------------------- */

/* A member of a group is a closure over the environment that binds the group,
 * so the members see one another and no object is cyclic.  Two lookups of one
 * member give two closures; nothing in the language can tell them apart. */
static StepObj *group_member(StepMachine *m, StepObj *env, const void *key) {
  for (uint32_t i = 0; i < env->size; i++) {
    const Binding *b = &env->bindings[i];
    if (b->var == key) return step_closure(m, b->value, env);
  }
  return NULL;
}

/* Linear in the number of names in scope.  Variables are compared as pointers:
 * the resolver gave each binding its own. */
StepObj *step_lookup(StepMachine *m, StepObj *env, const void *key) {
  for (; env; env = env->fields[OUTER]) {
    StepObj *found = NULL;
    if (env->kind == E_GROUP) found = group_member(m, env, key);
    if (env->kind == E_BIND && env->key == key) found = env->fields[BOUND];
    if (found || mem_exhausted(m->mem)) return found;
  }
  return NULL;
}

/* In a function that came from a session, it is the value of a variable.
 * `var->number` is the variable that holds the dimension's number at run
 * time. */
int64_t step_lookup_dim(StepMachine *m, StepObj *env, const TypeVar *var) {
  const StepObj *n = step_lookup(m, env, var);
  if (n) return n->number;
  n = var->number ? step_lookup(m, env, var->number) : NULL;
  return n ? tensor_i64_at(n->tensor, 0) : -1;
}

/* --- Reclaiming --------------------------------------------------------- */

typedef VEC(StepObj *) Marks;

/* Marked when it is pushed, so an object is on the stack once. */
static void mark(Marks *todo, StepObj *o) {
  if (!o || o->marked) return;
  o->marked = true;
  VEC_PUSH(todo, o);
}

static void mark_state(Marks *todo, const StepState *state) {
  mark(todo, state->value);
  mark(todo, state->env);
  mark(todo, state->frames);
  mark(todo, state->along);
  mark(todo, state->customs);
}

static void mark_record(StepMachine *m, Marks *todo) {
  for (size_t i = 0; i < m->entries.len; i++) {
    mark_state(todo, &m->entries.data[i].redex);
    mark_state(todo, &m->entries.data[i].after);
  }
  for (size_t i = 0; i < m->changes.len; i++) {
    mark(todo, m->changes.data[i].of);
    mark(todo, m->changes.data[i].was);
    mark(todo, m->changes.data[i].is);
  }
}

static void mark_all(StepMachine *m, Marks *todo) {
  mark_state(todo, &m->now);
  mark_state(todo, &m->redex);
  for (size_t i = 0; i < m->globals.len; i++) mark(todo, m->globals.data[i]);
  for (size_t i = 0; i < m->kept.len; i++) mark(todo, m->kept.data[i]);
  while (todo->len) {
    StepObj *o = VEC_POP(todo);
    for (uint32_t i = 0; i < o->count; i++) mark(todo, o->fields[i]);
  }
}

/* Objects that it refers to are freed by the sweep itself, in any order. */
static void free_obj(StepMachine *m, StepObj *o) {
  m->bytes -= obj_size(o->count);
  if (o->kind == V_TENSOR) {
    m->bytes -= tensor_bytes(o->tensor);
    tensor_drop(&m->heap, o->tensor);
  }
  pool_free(&m->heap.pool, o, obj_size(o->count));
}

/* Unlinks and frees what is not marked, and takes the marks off again. */
static void sweep(StepMachine *m) {
  StepObj **link = &m->objects;
  while (*link) {
    StepObj *o = *link;
    if (o->marked) {
      o->marked = false;
      link = &o->older;
    } else {
      *link = o->older;
      free_obj(m, o);
    }
  }
}

/* Returns false if marking ran out of memory; unmarked objects may then be in
 * use.  Then the marks stay and the sweep is left out; step_next() ends the
 * run. */
static bool reclaim(StepMachine *m) {
  Marks todo;
  VEC_INIT(&todo, m->mem);
  mark_record(m, &todo);
  mark_all(m, &todo);
  VEC_DONE(&todo);
  if (mem_exhausted(m->mem)) return false;
  sweep(m);
  return true;
}

/* The record may hold a quarter of the memory limit.  When it holds more, the
 * older half goes, and again, until all fits or no record is left. */
void step_reclaim(StepMachine *m) {
  if (m->bytes < m->threshold) return;
  size_t most = m->mem->limit / 4;
  while (reclaim(m) && m->bytes > most && step_forget(m)) continue;
  m->threshold = 2 * m->bytes + THRESHOLD_LEAST;
}

/* --- Cells -------------------------------------------------------------- */

/* The marks of a walk that was no collection. */
static void unmark(StepMachine *m) {
  for (StepObj *o = m->objects; o; o = o->older) o->marked = false;
}

/* Marks as a collection would, but without the record: a cell that only an
 * older state reaches does not count. */
void step_each_cell(StepMachine *m,
                    void (*visit)(void *data, const StepObj *cell),
                    void *data) {
  Marks todo;
  VEC_INIT(&todo, m->mem);
  mark_all(m, &todo);
  VEC_DONE(&todo);
  for (const StepObj *o = m->objects; o; o = o->older)
    if (o->marked && o->kind == V_CELL) visit(data, o);
  unmark(m);
}

void step_free_all(StepMachine *m) {
  for (StepObj *o = m->objects, *older; o; o = older) {
    older = o->older;
    free_obj(m, o);
  }
  m->objects = NULL;
}
