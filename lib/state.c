/* A session's state as hosts list, read, write, remember and copy it.  state/
 * does the work; here are handles, locks and messages.
 *
 * A list and a snapshot hold cells and values of the session, so they keep it
 * alive, and freeing them takes its lock.  Each call first evaluates what is
 * pending (begin): the cells that a text makes are there when one asks for
 * them.
 *
 * A path names a cell by where it can be reached from, like `@acc` or `%m.0`,
 * as the prompt's :state shows it.  It is the only name that a cell has which
 * means something in another session, and so also the name under which a file
 * keeps it. */
#include <string.h>

#include "lib/handles.h"

/* Takes the session and evaluates what its program was given since; false, with
 * *status, when that cannot be. */
static bool begin_for(const char *function, rly_session *s,
                      rly_status *status) {
  *status = RLY_MISUSE;
  if (!session_enter_for(function, s)) return false;
  *status = session_start(s, true);
  if (*status == RLY_OK) return true;
  session_leave(s);
  return false;
}
#define begin(s, status) begin_for(__func__, s, status)

/* A call that was not carried out, because the session was told to stop or
 * because memory ran out. */
static rly_status unfinished(rly_session *s) {
  if (!store_should_stop(store_of(s))) mem_raise_exhausted(s->mem);
  return stopped_or(s, RLY_LIMIT);
}

/* --- The list ----------------------------------------------------------- */

/* state_list_done() is due whether or not the list is whole. */
static rly_state *state_new(rly_session *s) {
  rly_state *st = mem_alloc(s->mem, sizeof *st);
  if (!st) {
    unfinished(s);
    return NULL;
  }
  st->session = s;
  if (state_list(s->vm, true, &st->list)) {
    session_keep(s);
    return st;
  }
  state_list_done(&st->list);
  mem_free(s->mem, st, sizeof *st);
  unfinished(s);
  return NULL;
}

rly_state *rly_session_state(rly_session *s) {
  rly_status status;
  if (!begin(s, &status)) return NULL;
  rly_state *st = state_new(s);
  session_leave(s);
  return st;
}

/* Waits for a call that is under way elsewhere. */
void rly_state_free(rly_state *st) {
  if (!st) return;
  rly_session *s = st->session;
  if (!session_wait(s)) return;
  state_list_done(&st->list);
  pthread_mutex_unlock(&s->lock);
  mem_free(s->mem, st, sizeof *st);
  session_drop(s);
}

size_t rly_state_count(const rly_state *st) {
  return st ? st->list.cells.len : 0;
}

const char *rly_state_path(const rly_state *st, size_t i) {
  return i < rly_state_count(st) ? st->list.cells.data[i].path : NULL;
}

/* The text lives in the list's arena. */
const char *rly_state_type(rly_state *st, size_t i) {
  const Type *type =
      i < rly_state_count(st) ? st->list.cells.data[i].type : NULL;
  if (!type || !session_hold(st->session)) return NULL;
  Mem mem = mem_local(st->session->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  type_print(st->session->program->ir->types, &out, type, TYPE_TEXT_MOST);
  const char *text = arena_strndup(&st->list.arena, strbuf_text(&out), out.len);
  strbuf_done(&out);
  session_release(st->session);
  return text;
}

/* Aliases are few, so they are one list for all cells, gone through each
 * time. */
size_t rly_state_alias_count(const rly_state *st, size_t i) {
  size_t count = 0;
  for (size_t k = 0; st && k < st->list.aliases.len; k++)
    count += st->list.aliases.data[k].cell == i;
  return count;
}

/* Counts k down through the aliases of cell i. */
const char *rly_state_alias(const rly_state *st, size_t i, size_t k) {
  for (size_t n = 0; st && n < st->list.aliases.len; n++)
    if (st->list.aliases.data[n].cell == i && !k--)
      return st->list.aliases.data[n].path;
  return NULL;
}

/* --- One cell ----------------------------------------------------------- */

static rly_status refuse(rly_session *s, const char *path, const char *why) {
  diag_error(&s->diags, E0504, SPAN_NONE, "`%s`: %s", path, why);
  return RLY_REFUSED;
}

/* The cell of a path, of known type; NULL after reporting. */
static const StateCell *find(rly_session *s, const StateList *list,
                             const char *path) {
  const StateCell *cell = state_find(list, path);
  if (!cell) refuse(s, path, "the state has no such cell");
  else if (!cell->type || cell->type->args[0]->has_var)
    refuse(s, path,
           "a polymorphic function made this cell, so its type is "
           "not known");
  else return cell;
  return NULL;
}

/* The value gets a reference of its own: the cell may be written while the host
 * has it. */
static rly_value *get(rly_session *s, const StateList *list, const char *path) {
  const StateCell *cell = find(s, list, path);
  if (!cell) return NULL;
  const Type *type = cell->type->args[0];
  value_keep(type, cell->cell->content);
  rly_value *v = value_handle_take(s, type, cell->cell->content);
  if (!v) unfinished(s);
  return v;
}

/* The list is made for one lookup and freed: paths are names for people, not
 * handles. */
rly_value *rly_session_get(rly_session *s, const char *path) {
  rly_status status;
  if (!require(path, "the path is NULL") || !begin(s, &status)) return NULL;
  StateList list;
  rly_value *v = NULL;
  if (state_list(s->vm, true, &list)) v = get(s, &list, path);
  else unfinished(s);
  state_list_done(&list);
  session_leave(s);
  return v;
}

static rly_status refuse_type(rly_session *s, const char *path,
                              const Type *cell, const rly_value *v) {
  const TypeTable *types = s->program->ir->types;
  StrBuf why;
  strbuf_init(&why, s->mem);
  strbuf_add(&why, "the cell holds ");
  type_print(types, &why, cell, TYPE_TEXT_LINE);
  strbuf_add(&why, ", the value is ");
  if (v->type->kind == TY_TENSOR && v->type->rank)
    tensor_print_type(&why, v->value.tensor);
  else type_print(types, &why, v->type, TYPE_TEXT_LINE);
  rly_status status = refuse(s, path, strbuf_text(&why));
  strbuf_done(&why);
  return status;
}

/* Types are compared first, then lengths that the type leaves open in one and
 * not in the other. */
static rly_status set(rly_session *s, const StateList *list, const char *path,
                      const rly_value *v) {
  const StateCell *cell = find(s, list, path);
  if (!cell) return RLY_REFUSED;
  const Type *type = cell->type->args[0];
  if (!passes_as(v->type, type) || !value_fits(type, v->value))
    return refuse_type(s, path, type, v);
  value_keep(type, v->value);
  cell_set_take(s->vm, cell->cell, v->value);
  return RLY_OK;
}

rly_status rly_session_set(rly_session *s, const char *path, rly_value *v) {
  rly_status status;
  if (!require(path, "the path is NULL") || !require(v, "the value is NULL") ||
      !require(v->session == s, "the value is another session's"))
    return RLY_MISUSE;
  if (!begin(s, &status)) return status;
  StateList list;
  if (state_list(s->vm, true, &list)) status = set(s, &list, path, v);
  else status = unfinished(s);
  state_list_done(&list);
  session_leave(s);
  return status;
}

/* The paths of a file stand in lines, with blanks after them, and `^` means
 * what a cell holds. */
static bool is_cell_name(const char *name) {
  size_t n = strspn(name,
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                    "0123456789_.");
  return n && !name[n];
}

static rly_status add_cell(rly_session *s, const char *text, rly_value *v) {
  rly_program *p = s->program;
  SharedValues *shared = store_of(s)->shared;
  context_lock(p->cx);
  const Name *name = name_of(p->ir->names, text);
  context_unlock(p->cx);
  pthread_mutex_lock(shared->lock);
  const Type *type = name ? type_ref(shared->types, v->type) : NULL;
  pthread_mutex_unlock(shared->lock);
  if (name && state_has_cell(s->vm, name))
    return refuse(s, text, "the state has such a cell already");
  if (type && state_add_cell(s->vm, name, type, v->value)) return RLY_OK;
  return unfinished(s);
}

rly_status rly_session_add_cell(rly_session *s, const char *name,
                                rly_value *v) {
  rly_status status;
  if (!require(name, "the name is NULL") || !require(v, "the value is NULL") ||
      !require(is_cell_name(name), "a name has letters, digits, `_` and `.`") ||
      !require(v->session == s, "the value is another session's"))
    return RLY_MISUSE;
  if (!begin(s, &status)) return status;
  status = add_cell(s, name, v);
  session_leave(s);
  return status;
}

/* --- Snapshots ---------------------------------------------------------- */

static rly_snapshot *snapshot_new(rly_session *s) {
  rly_snapshot *handle = mem_alloc(s->mem, sizeof *handle);
  Snapshot *snapshot = handle ? session_snapshot(s->vm) : NULL;
  if (snapshot) {
    *handle = (rly_snapshot){s, snapshot};
    session_keep(s);
    return handle;
  }
  if (handle) mem_free(s->mem, handle, sizeof *handle);
  unfinished(s);
  return NULL;
}

rly_snapshot *rly_session_snapshot(rly_session *s) {
  rly_status status;
  if (!begin(s, &status)) return NULL;
  rly_snapshot *handle = snapshot_new(s);
  session_leave(s);
  return handle;
}

/* Nothing is evaluated before: the snapshot's cells are those of its own time.
 * Evaluating the pending `let`s would also be wrong as such: they may fail, and
 * going back has to be possible just then. */
rly_status rly_session_restore(rly_session *s, const rly_snapshot *snapshot) {
  if (!require(snapshot, "the snapshot is NULL") ||
      !require(snapshot->session == s, "the snapshot is another session's") ||
      !session_enter(s))
    return RLY_MISUSE;
  session_restore(s->vm, snapshot->snapshot);
  session_leave(s);
  return RLY_OK;
}

/* Waits for a call that is under way elsewhere. */
void rly_snapshot_free(rly_snapshot *snapshot) {
  if (!snapshot) return;
  rly_session *s = snapshot->session;
  if (!session_wait(s)) return;
  snapshot_free(s->vm, snapshot->snapshot);
  pthread_mutex_unlock(&s->lock);
  mem_free(s->mem, snapshot, sizeof *snapshot);
  session_drop(s);
}

/* --- Copies ------------------------------------------------------------- */

/* The copy is as far as the original: what that has evaluated is not evaluated
 * again. */
static rly_session *fork_of(rly_session *s,
                            const rly_session_options *options) {
  rly_session *to = session_shell(s->program, options);
  if (!to) return NULL;
  to->vm = session_fork(s->vm, to->mem, session_limits(s->vm),
                        session_hooks(&to->options), &to->diags);
  to->last_run = s->last_run;
  if (to->vm && session_observed(to)) return to;
  rly_session_free(to);
  return NULL;
}

rly_session *session_copy(rly_session *s) {
  if (!session_enter(s)) return NULL;
  rly_session_options options = {.width = s->options.width};
  rly_session *to = fork_of(s, &options);
  if (!to) session_failed(s, RLY_LIMIT);
  session_leave(s);
  return to;
}

/* What the host frees is independent of the original. */
rly_session *rly_session_fork(rly_session *s,
                              const rly_session_options *options) {
  rly_status status;
  if (!begin(s, &status)) return NULL;
  rly_session *to = fork_of(s, options);
  if (!to) unfinished(s);
  session_leave(s);
  return to;
}

static RunStatus evaluate_lets(const rly_session *s, Session *aside) {
  for (const Unit *u = s->program->ir->units; u; u = u->next)
    for (int i = 0; i < u->step_count; i++) {
      RunStatus status = u->steps[i].kind == STEP_EXPR
                             ? RUN_OK
                             : session_step(aside, &u->steps[i], NULL);
      if (status != RUN_OK) return status;
    }
  return RUN_OK;
}

/* Cells get their first contents by evaluating the `let`s once more in the
 * session's aside, which prints nothing and for which the session's limits and
 * interrupts hold.  The contents are moved over by path, so that cells keep
 * their identity: whoever holds one sees the new content. */
static rly_status reset(rly_session *s) {
  Session *aside = session_aside(s->vm);
  if (!aside) return unfinished(s);
  rly_status status = status_of_run(evaluate_lets(s, aside));
  if (status == RLY_OK && !state_transplant(aside, s->vm))
    status = unfinished(s);
  session_forget(aside);
  return status;
}

rly_status rly_session_reset(rly_session *s) {
  rly_status status;
  if (!begin(s, &status)) return status;
  status = reset(s);
  session_leave(s);
  return status;
}
