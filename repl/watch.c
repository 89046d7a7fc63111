/* :watch shows an expression again whenever something that it depends on has
 * been defined anew, and values in between are computed again for it.
 *
 *   rly> let %w = 2;  let %y = %w * 10;
 *   rly> :watch %y + 1                 21
 *   rly> let %w = 3;                   `let %y = %w * 10` is entered again; 31
 *
 * What an expression depends on are the definitions that it names, those which
 * these name, and so on.  A definition that is entered anew is another Global,
 * so the set of them is compared (by a hash) with the one that was shown.  A
 * value is old if its text names something that has been replaced.  The oldest
 * such value is entered again until none is left.
 *
 * Where the expression reads cells, any entry may change it; it is evaluated
 * after each, and shown if its text differs. */
#include <stdlib.h>
#include <string.h>

#include "repl/series.h"

enum { REDONE_MOST = 100 };

/* --- What an expression depends on ---------------------------------------- */

typedef struct Needs {
  const Program *p;
  VEC(const Global *) found; /* the user's, each once */
  PtrMap seen;
  uint64_t hash;
  Effects effects; /* of the expression */
  bool checked;
} Needs;

/* An instance of a function stands for the function. */
static const Global *written(const Global *g) {
  return g->instance_of ? g->instance_of : g;
}

/* The newest definition of the name. */
static const Global *current(const Program *p, const Global *g) {
  bool local = *global_sigil(g) == '%';
  const Global *now = local ? scope_local(&p->user, written(g)->name)
                            : scope_global(&p->user, written(g)->name);
  return now ? now : written(g);
}

static void add_named(Needs *n, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, n->p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w)) {
    if (w.at->kind != EX_GLOBAL || w.at->g.global->library) continue;
    const Global *g = current(n->p, w.at->g.global);
    if (ptrmap_has(&n->seen, g)) continue;
    ptrmap_put(&n->seen, g, (void *)g);
    VEC_PUSH(&n->found, g);
    n->hash = (n->hash ^ (uintptr_t)g) * 0x100000001b3u; /* FNV-1a */
  }
  expr_walk_end(&w);
}

static void add_all(Needs *n, const Expr *e) {
  add_named(n, e);
  for (size_t i = 0; i < n->found.len; i++)
    if (n->found.data[i]->value) add_named(n, n->found.data[i]->value);
}

static void look(void *needs, const Expr *e) {
  Needs *n = needs;
  n->checked = true;
  n->effects = expr_effects(n->p, e);
  add_all(n, e);
}

static void needs_init(Needs *n, const Program *p) {
  *n = (Needs){.p = p, .hash = 0xcbf29ce484222325u};
  VEC_INIT(&n->found, p->mem);
  ptrmap_init(&n->seen, p->mem);
}

static void needs_done(Needs *n) {
  VEC_DONE(&n->found);
  ptrmap_done(&n->seen);
}

/* False after reporting; needs_done() is due in any case. */
static bool needs_of(Repl *r, const char *expr, Needs *n) {
  rly_program *p = r->host->program;
  needs_init(n, p->ir);
  program_look_at(p, expr, strlen(expr), look, n);
  host_report(r->host);
  return n->checked;
}

/* --- Values that are old -------------------------------------------------- */

/* Does the value's text name something that has been replaced? */
static bool is_old(const Program *p, const Global *g) {
  bool old = false;
  ExprWalk w;
  if (!g->value || (g->kind != GLOBAL_VALUE && g->kind != GLOBAL_LOCAL))
    return false;
  expr_walk_start(&w, p->mem, WALK_ENTER, g->value);
  while (!old && expr_walk_next(&w)) {
    const Global *h = w.at->kind == EX_GLOBAL ? w.at->g.global : NULL;
    old = h && !h->library && current(p, h) != written(h);
  }
  expr_walk_end(&w);
  return old;
}

/* Does the value depend on one of its own name?  To enter it again would then
 * give another value each time. */
static bool is_circular(const Program *p, const Global *g) {
  Needs n;
  needs_init(&n, p);
  add_all(&n, g->value);
  bool circular = ptrmap_has(&n.seen, g);
  needs_done(&n);
  return circular;
}

static bool is_among(const Name *const *names, int count, const Name *name) {
  for (int i = 0; i < count; i++)
    if (names[i] == name) return true;
  return false;
}

/* Of the old values that were not entered again, the one entered first; NULL:
 * there is none.  What writes or prints is left as it is, and so is what makes
 * cells, whose contents would be lost. */
static const Global *oldest(const Needs *n, const Name *const *done,
                            int done_count) {
  const Global *first = NULL;
  for (size_t i = 0; i < n->found.len; i++) {
    const Global *g = n->found.data[i];
    if (is_among(done, done_count, g->name) || !is_old(n->p, g)) continue;
    if (expr_effects(n->p, g->value) &
        (EFFECT_WRITE | EFFECT_PRINT | EFFECT_ALLOC))
      continue;
    if (is_circular(n->p, g)) continue;
    if (!first || g->span.lo < first->span.lo) first = g;
  }
  return first;
}

/* Enters the text of a definition again.  It is not what :edit edits. */
static bool enter_again(Repl *r, const Global *g) {
  DefinitionText d;
  char *name = NULL, *text = NULL, *last = r->last;
  if (asprintf(&name, "%s%s", global_sigil(g), g->name->text) < 0) return false;
  bool ok = program_definition(r->host->program, name, &d) &&
            (text = strndup(d.text, d.len));
  r->last = NULL;
  ok = ok && repl_submit(r, text);
  free(r->last);
  r->last = last;
  free(text);
  free(name);
  return ok;
}

/* --- Watches -------------------------------------------------------------- */

/* `:plot` and the like in front of the expression; NULL: it is shown. */
static char *command_of(const char *words, const char **rest) {
  size_t n = *words == ':' ? strcspn(words + 1, " \t") : 0;
  *rest = words;
  if (!n) return NULL;
  *rest = words + 1 + n + strspn(words + 1 + n, " \t");
  return strndup(words + 1, n);
}

static char *value_text(Repl *r, const char *expr) {
  Display d = repl_display(r);
  rly_value *v = repl_value(r, expr);
  char *made = NULL, *text = NULL;
  if (v && r->host->cli->json) made = rly_value_json(v);
  else if (v) made = display_text(&d, v);
  if (made) text = strdup(made);
  rly_text_free(r->host->cx, made);
  rly_value_free(v);
  host_report(r->host);
  return text;
}

static char *drawn_text(Repl *r, const char *command, const char *expr) {
  StrBuf out;
  strbuf_init(&out, &r->host->cx->mem);
  char *text = NULL;
  if (plot_text(r, command, expr, &out)) text = strdup(strbuf_text(&out));
  host_report(r->host);
  strbuf_done(&out);
  return text;
}

/* Shows the watch, if it must be or its text differs. */
static void show(Repl *r, int i, bool always) {
  Watch *w = &r->watches[i];
  const char *expr;
  char *command = command_of(w->words, &expr);
  char *text = command ? drawn_text(r, command, expr) : value_text(r, expr);
  free(command);
  if (text && (always || !w->shown || strcmp(text, w->shown)))
    repl_say(r, "watch %d: %s\n%s%s", i + 1, w->words, text,
             *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
  free(w->shown);
  w->shown = text;
}

/* Enters old values again and then shows the expression, where something has
 * changed.  True: it has entered some. */
static bool look_after(Repl *r, int i, bool always) {
  Watch *w = &r->watches[i];
  const Name *done[REDONE_MOST];
  const Global *g = NULL;
  int count = 0;
  Needs n;
  const char *rest;
  char *command = command_of(w->words, &rest);
  char *expr = series_expression(rest);
  free(command);
  bool ok = expr && needs_of(r, expr, &n);
  bool changed = !ok || n.hash != w->hash;
  while (ok && changed && !always && count < REDONE_MOST &&
         (g = oldest(&n, done, count))) {
    done[count++] = g->name;
    ok = enter_again(r, g);
    needs_done(&n);
    ok = needs_of(r, expr, &n) && ok;
  }
  bool reads = n.effects & EFFECT_READ;
  w->hash = n.hash;
  if (expr) needs_done(&n);
  free(expr);
  if (ok && (changed || always || reads)) show(r, i, changed || always);
  return count > 0;
}

/* A value that is entered again for one watch may be used by one above it. */
void watch_look(Repl *r) {
  bool again = !r->frames.stepper && !r->startup;
  for (int pass = 0; again && pass < 2; pass++) {
    again = false;
    for (int i = 0; i < r->watch_count; i++) again |= look_after(r, i, false);
  }
}

/* --- Commands ------------------------------------------------------------- */

/* It is evaluated any number of times, so it may not change anything. */
static bool may_be_watched(Repl *r, const char *words) {
  const char *rest;
  Needs n;
  char *command = command_of(words, &rest);
  bool drawn = !command || plot_draws(command);
  char *expr = series_expression(rest);
  free(command);
  if (!drawn || !*rest) {
    repl_refuse("watch",
                "takes an expression, or :plot, :heat or :hist of "
                "one");
    free(expr);
    return false;
  }
  if (!expr) return false;
  bool ok = needs_of(r, expr, &n);
  if (ok && n.effects & (EFFECT_WRITE | EFFECT_PRINT)) {
    repl_refuse("watch", "this writes or prints, each time it is evaluated");
    ok = false;
  }
  needs_done(&n);
  free(expr);
  return ok;
}

static void list(Repl *r) {
  for (int i = 0; i < r->watch_count; i++)
    repl_say(r, "%d  %s\n", i + 1, r->watches[i].words);
  if (!r->watch_count) repl_say(r, "nothing is watched\n");
}

void watch_run(Repl *r, const char *words) {
  if (!*words) {
    list(r);
    return;
  }
  if (!may_be_watched(r, words)) return;
  char *copy = r->watch_count < WATCHES_MAX ? strdup(words) : NULL;
  if (!copy) {
    repl_refuse("watch", "%d are watched, which is as many as there can be",
                r->watch_count);
    return;
  }
  r->watches[r->watch_count++] = (Watch){.words = copy};
  look_after(r, r->watch_count - 1, true);
}

static void stop(Repl *r, int i) {
  free(r->watches[i].words);
  free(r->watches[i].shown);
  r->watch_count--;
  memmove(r->watches + i, r->watches + i + 1,
          (size_t)(r->watch_count - i) * sizeof *r->watches);
}

void watch_run_stop(Repl *r, const char *rest) {
  uint64_t n;
  if (!*rest) watch_clear(r);
  else if (read_count(rest, &n) && n && n <= (uint64_t)r->watch_count)
    stop(r, (int)n - 1);
  else repl_refuse("unwatch", "there is no watch `%s`", rest);
}

void watch_clear(Repl *r) {
  while (r->watch_count) stop(r, r->watch_count - 1);
}
