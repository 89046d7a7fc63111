/* The prompt's commands for the session's state: cells, snapshots and forks.
 *
 *   :state, :set, :reset     cells by their paths (state/state.h)
 *   :snapshot, :restore      the cells' contents, in memory by name or number,
 *                            or in a file where the name ends in .safetensors
 *   :fork                    a copy of the session, by name; `main` is first
 *
 * A snapshot belongs to the session that it was made in; restoring one in
 * another session would put values into cells that are not there.  A fork
 * shares the program: what is entered in one fork is added to the program of
 * all, but is evaluated in that one alone, and the others skip it
 * (state_others_skip).
 *
 * The lists are arrays of fixed length: a person keeps few names, and the
 * oldest snapshot goes when there are KEPT_MAX. */
#include <stdlib.h>
#include <string.h>

#include "repl/repl.h"

/* --- The list ----------------------------------------------------------- */

/* Prints the content of a cell, or nothing if its type is not known.  The
 * diagnostics are cleared because "the type is not known" is no answer that
 * anyone asked for here. */
static void say_content(Repl *r, const char *path) {
  rly_value *v = rly_session_get(r->session, path);
  Display d = repl_display(r);
  char *text = v ? display_text(&d, v) : NULL;
  rly_session_diagnostics_clear(r->session);
  repl_say(r, text ? " = %s" : "\n", text);
  rly_text_free(r->host->cx, text);
  rly_value_free(v);
}

/* "@net.w : ref(Tensor[(2), float32]) = ...", and below it the other paths that
 * lead to the same cell. */
static void say_cell(Repl *r, rly_state *st, size_t i) {
  const char *type = rly_state_type(st, i);
  repl_say(r, "%s : %s", rly_state_path(st, i), type ? type : "ref(?)");
  say_content(r, rly_state_path(st, i));
  for (size_t k = 0; k < rly_state_alias_count(st, i); k++)
    repl_say(r, "  also %s\n", rly_state_alias(st, i, k));
}

/* Lists all cells, or those whose paths begin with `path`. */
void state_run_list(Repl *r, const char *path) {
  rly_state *st = rly_session_state(r->session);
  size_t shown = 0;
  for (size_t i = 0; i < rly_state_count(st); i++) {
    if (strncmp(rly_state_path(st, i), path, strlen(path))) continue;
    say_cell(r, st, i);
    shown++;
  }
  if (st && !shown && *path) repl_refuse("state", "no cell `%s`", path);
  else if (st && !shown) repl_say(r, "no cells\n");
  rly_state_free(st);
  host_report(r->host);
}

/* The path ends at the first blank; the expression is the rest. */
void state_run_set(Repl *r, const char *rest) {
  size_t n = strcspn(rest, " \t");
  const char *expr = rest + n + strspn(rest + n, " \t");
  char *path = strndup(rest, n);
  if (!n || !*expr) {
    repl_refuse("set", "takes a cell's path and an expression");
  } else if (path) {
    rly_value *v = repl_value(r, expr);
    if (v) rly_session_set(r->session, path, v);
    rly_value_free(v);
    host_report(r->host);
  }
  free(path);
}

void state_run_reset(Repl *r, const char *rest) {
  (void)rest;
  rly_session_reset(r->session);
  host_report(r->host);
}

/* --- Snapshots ---------------------------------------------------------- */

/* A name of nothing but the extension is no file's. */
static bool is_file(const char *name) {
  static const char end[] = ".safetensors";
  size_t n = strlen(name);
  return n >= sizeof end && !strcmp(name + n - (sizeof end - 1), end);
}

/* The session's snapshot of that name, or its newest snapshot if `name` is
 * empty; NULL: there is none.  From the newest to the oldest. */
static Kept *find_kept(Repl *r, const char *name) {
  for (int i = r->kept_count; i-- > 0;) {
    Kept *k = &r->kept[i];
    if (k->session == r->session && (!*name || !strcmp(k->name, name)))
      return k;
  }
  return NULL;
}

/* Moves the later ones down, so that the order stays that of making. */
static void forget_kept(Repl *r, Kept *k) {
  free(k->name);
  rly_snapshot_free(k->snapshot);
  memmove(k, k + 1, (size_t)(r->kept + r->kept_count - k - 1) * sizeof *k);
  r->kept_count--;
}

/* Adds a snapshot.  It replaces one of the same name; without a name it gets
 * the next number.  Takes the snapshot.  The name is copied before anything is
 * dropped: without memory for it the old one of that name stays. */
static void keep(Repl *r, const char *name, rly_snapshot *snapshot) {
  char count[16];
  snprintf(count, sizeof count, "%d", r->kept_count + 1);
  if (!*name) name = count;
  char *copy = strdup(name);
  if (!copy) {
    rly_snapshot_free(snapshot);
    return;
  }
  Kept *old = find_kept(r, name);
  if (old) forget_kept(r, old);
  if (r->kept_count == KEPT_MAX) forget_kept(r, &r->kept[0]);
  r->kept[r->kept_count++] = (Kept){copy, r->session, snapshot};
  repl_say(r, "snapshot %s\n", name);
}

void state_run_snapshot(Repl *r, const char *name) {
  if (is_file(name)) {
    if (repl_may(r, "snapshot", "files")) rly_session_save(r->session, name);
  } else {
    rly_snapshot *snapshot = rly_session_snapshot(r->session);
    if (snapshot) keep(r, name, snapshot);
  }
  host_report(r->host);
}

/* One format for both messages: `name` is "" where there is none to quote. */
void state_run_restore(Repl *r, const char *name) {
  Kept *k = find_kept(r, name);
  if (is_file(name) && !repl_may(r, "restore", "files")) return;
  if (is_file(name)) rly_session_load(r->session, name);
  else if (k) rly_session_restore(r->session, k->snapshot);
  else
    repl_refuse("restore",
                *name ? "this session has no snapshot `%s`"
                      : "this session has no snapshot%s",
                name);
  host_report(r->host);
}

/* --- Copies ------------------------------------------------------------- */

static int find_fork(const Repl *r, const char *name) {
  for (int i = 0; i < r->fork_count; i++)
    if (!strcmp(r->forks[i].name, name)) return i;
  return -1;
}

static void use_fork(Repl *r, int i) {
  r->current = i;
  r->session = r->forks[i].session;
  host_session_use(r->host, r->session);
}

static void say_forks(Repl *r) {
  for (int i = 0; i < r->fork_count; i++)
    repl_say(r, "%s%s\n", r->forks[i].name, i == r->current ? " *" : "");
}

/* The fork becomes the current one, as `git checkout -b` does. */
static void new_fork(Repl *r, const char *name) {
  if (r->fork_count == FORKS_MAX) {
    repl_refuse("fork", "%d sessions are the most there can be", FORKS_MAX);
    return;
  }
  Fork f = {strdup(name), host_fork(r->host, r->session)};
  if (f.name && f.session) {
    r->forks[r->fork_count] = f;
    use_fork(r, r->fork_count++);
  } else {
    free(f.name);
    rly_session_free(f.session);
  }
}

/* Leaves an entry of another fork out of this one: evaluating it again could
 * change the state. */
void state_run_fork(Repl *r, const char *name) {
  int known = find_fork(r, name);
  if (!*name) say_forks(r);
  else if (known >= 0) use_fork(r, known);
  else new_fork(r, name);
  host_report(r->host);
}

void state_others_skip(Repl *r) {
  for (int i = 0; i < r->fork_count; i++)
    if (i != r->current) rly_session_skip(r->forks[i].session);
}

bool state_begin(Repl *r, rly_session *s) {
  r->forks[0] = (Fork){strdup("main"), s};
  r->fork_count = 1;
  r->session = s;
  return r->forks[0].name;
}

/* Snapshots first, since they refer to sessions; then the forks.  forks[0] is
 * the caller's session. */
void state_end(Repl *r) {
  while (r->kept_count) forget_kept(r, &r->kept[0]);
  use_fork(r, 0);
  for (int i = r->fork_count; i-- > 0;) {
    if (i) rly_session_free(r->forks[i].session);
    free(r->forks[i].name);
  }
}
