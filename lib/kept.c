/* Runs that evaluate only what an edit has changed.
 *
 * For each step the text of a run has a record under the step's key
 * (depends.h): the values that it showed, as lines, and what it printed.
 *
 *   rly kept: 2 of 5 steps ran
 *   5a0c1e7f00c0ffee 9            key, length of the record
 *   v 2                           a value, length
 *   42
 *   p 1                           printed text, length
 *   !
 *
 * A step whose key has a record is not evaluated: the record says what it would
 * say.  A step without one is, and with it what it needs: the values that it
 * reaches, and the steps before it that made its cells what they are.  Those
 * say what their records say once more, for the language is deterministic.
 * Values are not kept, so a value is computed again for a step that has changed
 * and reaches it.
 *
 * A run that fails leaves the records of the run before, too: what was not
 * reached this time may be there again when the mistake is mended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/depends.h"
#include "lib/kept.h"

enum { KEPT_MOST = 16 << 20 }; /* bytes of records */

typedef struct Record {
  uint64_t key;
  const char *text;
  size_t len;
  bool used; /* it stands in the new text */
} Record;

typedef struct Keeper {
  rly_session *session;
  KeptRun *run;
  Depends depends;
  VEC(Record) records; /* of the last run, by key */
  StrBuf now;          /* records of this run */
  StrBuf record;       /* of the step at hand */
  SessionHooks hooks;  /* the session's own */
} Keeper;

/* --- Reading -------------------------------------------------------------- */

/* Cuts `WORD LENGTH\n`, LENGTH bytes and a newline off the text. */
static bool next_part(const char **at, const char *end, const char **word,
                      const char **text, size_t *len) {
  const char *line = memchr(*at, '\n', (size_t)(end - *at));
  const char *blank = line ? memchr(*at, ' ', (size_t)(line - *at)) : NULL;
  if (!blank) return false;
  char *stop;
  unsigned long n = strtoul(blank + 1, &stop, 10);
  if (stop != line || n >= (size_t)(end - line - 1) || line[1 + n] != '\n')
    return false;
  *word = *at;
  *text = line + 1;
  *len = n;
  *at = line + 1 + n + 1;
  return true;
}

static int by_key(const void *a, const void *b) {
  const Record *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

static void read_records(Keeper *k) {
  const char *at = k->run->was, *end = at + k->run->was_len;
  const char *line = at ? memchr(at, '\n', k->run->was_len) : NULL;
  if (!line) return;
  at = line + 1;
  const char *word;
  for (Record r = {0}; next_part(&at, end, &word, &r.text, &r.len);) {
    r.key = strtoull(word, NULL, 16);
    VEC_PUSH(&k->records, r);
  }
  if (k->records.len)
    qsort(k->records.data, k->records.len, sizeof *k->records.data, by_key);
}

static Record *record_of(const Keeper *k, uint64_t key) {
  Record wanted = {.key = key};
  if (!k->records.len) return NULL;
  return bsearch(&wanted, k->records.data, k->records.len, sizeof wanted,
                 by_key);
}

/* --- Writing -------------------------------------------------------------- */

static void add_part(StrBuf *out, const char *word, const char *text,
                     size_t len) {
  strbuf_addf(out, "%s %zu\n", word, len);
  strbuf_add_len(out, text, len);
  strbuf_add_char(out, '\n');
}

static void keep(Keeper *k, uint64_t key, const char *text, size_t len) {
  char word[17];
  snprintf(word, sizeof word, "%016llx", (unsigned long long)key);
  if (k->now.len + len < KEPT_MOST) add_part(&k->now, word, text, len);
}

static void keep_unused(Keeper *k) {
  for (size_t i = 0; i < k->records.len; i++) {
    const Record *r = &k->records.data[i];
    if (!r->used) keep(k, r->key, r->text, r->len);
  }
}

static void leave(Keeper *k) {
  char head[80];
  int n = snprintf(head, sizeof head, "rly kept: %zu of %zu steps ran\n",
                   k->run->run, k->run->steps);
  size_t len = (size_t)n + k->now.len;
  char *now = mem_exhausted(k->now.mem) ? NULL : malloc(len + 1);
  if (now) {
    memcpy(now, head, (size_t)n);
    memcpy(now + n, strbuf_text(&k->now), k->now.len);
    now[len] = '\0';
  }
  k->run->now = now;
  k->run->now_len = now ? len : 0;
}

/* --- One step ------------------------------------------------------------- */

static void print_and_keep(void *keeper, const char *text, size_t len) {
  Keeper *k = keeper;
  add_part(&k->record, "p", text, len);
  if (k->hooks.write) k->hooks.write(k->hooks.data, text, len);
}

/* Says what the record says. */
static void say(Keeper *k, const Step *step, const Record *r) {
  const char *at = r->text, *end = at + r->len, *word, *text;
  StrBuf line;
  strbuf_init(&line, k->now.mem);
  for (size_t len; next_part(&at, end, &word, &text, &len);) {
    VEC_CLEAR(&line);
    strbuf_add_len(&line, text, len);
    if (*word == 'v')
      k->run->value(k->run->data, step->span, strbuf_text(&line));
    else if (k->hooks.write) k->hooks.write(k->hooks.data, text, len);
  }
  strbuf_done(&line);
}

static void show_and_keep(Keeper *k, const Step *step, rly_value *v) {
  char *text = rly_value_is_unit(v) ? NULL : rly_value_text(v);
  if (!text) return;
  StrBuf line;
  strbuf_init(&line, k->now.mem);
  strbuf_add_line(&line, text);
  add_part(&k->record, "v", strbuf_text(&line), line.len);
  k->run->value(k->run->data, step->span, strbuf_text(&line));
  strbuf_done(&line);
  rly_text_free(k->session->program->cx, text);
}

static RunStatus evaluate(Keeper *k, const Step *step) {
  rly_session *s = k->session;
  rly_value v = {.session = s};
  RunStatus status = session_step(s->vm, step, &v.value);
  if (status != RUN_OK || step->kind != STEP_EXPR) return status;
  v.type = step->expr->type;
  show_and_keep(k, step, &v);
  value_drop(store_of(s), v.type, v.value);
  return session_stopped(s->vm, step->span);
}

static RunStatus run_step(Keeper *k, const StepNeeds *needs, bool runs) {
  Record *r = record_of(k, needs->key);
  VEC_CLEAR(&k->record);
  if (!runs) {
    say(k, needs->step, r);
    strbuf_add_len(&k->record, r->text, r->len);
  } else {
    k->run->run++;
    RunStatus status = evaluate(k, needs->step);
    if (status != RUN_OK) return status;
  }
  keep(k, needs->key, strbuf_text(&k->record), k->record.len);
  if (r) r->used = true;
  return RUN_OK;
}

/* --- All steps ------------------------------------------------------------ */

/* Which steps are to run; without the memory to know it, all. */
static void choose(const Keeper *k, bool *runs) {
  const Depends *d = &k->depends;
  for (size_t i = 0; i < d->steps.len; i++)
    runs[i] = !record_of(k, d->steps.data[i].key);
  depends_demand(d, runs);
  for (size_t i = 0; i < d->steps.len && mem_exhausted(d->mem); i++)
    runs[i] = true;
}

static rly_status run_steps(Keeper *k) {
  const Depends *d = &k->depends;
  RunStatus status = RUN_OK;
  bool *runs = calloc(d->steps.len + 1, sizeof *runs);
  if (!runs) return RLY_LIMIT;
  choose(k, runs);
  Session *vm = k->session->vm;
  SessionHooks keeping = session_hooks(&k->session->options);
  keeping.write = print_and_keep;
  keeping.data = k;
  k->hooks = session_swap_hooks(vm, keeping);
  for (size_t i = 0; i < d->steps.len && status == RUN_OK; i++)
    status = run_step(k, &d->steps.data[i], runs[i]);
  session_swap_hooks(vm, k->hooks);
  free(runs);
  return status_of_run(status);
}

/* Keys that do not tell all have no records. */
static rly_status run_kept(rly_session *s, KeptRun *run) {
  rly_program *p = s->program;
  Keeper k = {.session = s, .run = run};
  rly_status status = session_params(s, session_pending(s), false, NULL);
  s->last_run = p->ir->last_unit;
  if (status != RLY_OK) return status;
  VEC_INIT(&k.records, s->mem);
  strbuf_init(&k.now, s->mem);
  strbuf_init(&k.record, s->mem);
  bool known = depends_find(s, &k.depends) && !session_limits(s->vm).max_steps;
  run->steps = k.depends.steps.len;
  if (known) read_records(&k);
  status = run_steps(&k);
  if (status != RLY_OK) keep_unused(&k);
  if (!known) VEC_CLEAR(&k.now);
  leave(&k);
  depends_done(&k.depends);
  VEC_DONE(&k.records);
  strbuf_done(&k.now);
  strbuf_done(&k.record);
  return status;
}

rly_status session_run_kept(rly_session *s, KeptRun *run) {
  run->now = NULL;
  run->now_len = run->steps = run->run = 0;
  if (!session_enter(s)) return RLY_MISUSE;
  rly_status status = run_kept(s, run);
  session_leave(s);
  return status;
}
