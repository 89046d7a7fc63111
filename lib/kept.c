/* Runs that evaluate only what an edit has changed.
 *
 * For each step the text of a run has a record under the step's key
 * (depends.h): the values that it showed, as lines, what it printed, and what
 * it did to cells.
 *
 *   rly kept: 2 of 5 steps ran, sum 9f0c3e...   of the version and what follows
 *   5a0c1e7f00c0ffee 35           key, length of the record
 *   v 2                           a value, length
 *   42
 *   p 1                           printed text, length
 *   !
 *   m 9                           a place that made cells, length
 *   1 0 5 6 1
 *   c 9                           a cell, length
 *   0 1 2 1
 *   7
 *   8
 *   b 11                          the step's own value (kept_text.h), length
 *   s 4
 *   #2a
 *
 * A step whose key has a record is not evaluated: the record says what it would
 * say.  A step without one is, and with it what it needs: the values that it
 * reaches, and the steps before it that made its cells what they are.  Those
 * say what their records say once more, for the language is deterministic.
 *
 * The value of a step is kept where it is data and took long.  It is fetched
 * for a step that has changed and reaches it; any other is computed again.
 *
 * A run that fails leaves the records of the run before, too: what was not
 * reached this time may be there again when the mistake is mended. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/version.h"
#include "lib/depends.h"
#include "lib/kept.h"
#include "lib/kept_text.h"
#include "observe/observe.h"
#include "types/types.h"

enum { KEPT_SUM = 16 };                   /* its digits */
static const size_t KEPT_MOST = 16 << 20; /* bytes of records */

typedef struct Record {
  uint64_t key;
  const char *text;
  size_t len;
  bool used; /* it stands in the new text */
} Record;

/* Records have a Mem of their own.  Where it is exhausted, nothing is kept; the
 * session's Mem is not, so the run itself goes on. */
typedef struct Keeper {
  rly_session *session;
  KeptRun *run;
  Mem mem;
  size_t most; /* bytes of records */
  bool known;  /* the keys tell all, so that records are of use */
  Depends depends;
  VEC(Record) records; /* of the last run, by key */
  StrBuf now;          /* records of this run */
  StrBuf record;       /* of the step at hand */
  SessionHooks hooks;  /* the session's own */
} Keeper;

/* --- Reading -------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
  const Record *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

/* Tells damage, another version of rly, which may compute otherwise, and values
 * in the other form. */
static uint64_t sum_of(const KeptRun *run, const char *records, size_t len) {
  uint64_t sum =
      hash_add(HASH_EMPTY, RLY_VERSION_TEXT, sizeof RLY_VERSION_TEXT);
  if (run->json) sum = hash_add(sum, "json", 4);
  return hash_add(sum, records, len);
}

/* The records after the head, if they are as they were left; else NULL: all
 * steps run. */
static const char *sound_records(const KeptRun *run) {
  const char *text = run->was;
  const char *line = text ? memchr(text, '\n', run->was_len) : NULL;
  if (!line || line - text < KEPT_SUM) return NULL;
  const char *digits = line - KEPT_SUM, *records = line + 1;
  char *stop;
  uint64_t sum = strtoull(digits, &stop, 16);
  size_t size = run->was_len - (size_t)(records - text);
  return stop == line && sum == sum_of(run, records, size) ? records : NULL;
}

static void read_records(Keeper *k) {
  const char *end = k->run->was + k->run->was_len;
  const char *at = sound_records(k->run);
  if (!at) return;
  const char *word;
  for (Record r = {0}; kept_next_part(&at, end, &word, &r.text, &r.len);) {
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

static void keep(Keeper *k, uint64_t key, const char *text, size_t len) {
  char word[17];
  snprintf(word, sizeof word, "%016llx", (unsigned long long)key);
  if (k->now.len + len < k->most) kept_add_part(&k->now, word, text, len);
}

static void keep_unused(Keeper *k) {
  for (size_t i = 0; i < k->records.len; i++) {
    const Record *r = &k->records.data[i];
    if (!r->used) keep(k, r->key, r->text, r->len);
  }
}

#define KEPT_WORDS "rly kept: "

bool kept_begins(const char *text, size_t len) {
  size_t words = strlen(KEPT_WORDS);
  return !memcmp(text, KEPT_WORDS, len < words ? len : words);
}

static void leave(Keeper *k) {
  char head[KEPT_HEAD];
  uint64_t sum = sum_of(k->run, strbuf_text(&k->now), k->now.len);
  int n = snprintf(head, sizeof head,
                   KEPT_WORDS "%zu of %zu steps ran, sum %0*" PRIx64 "\n",
                   k->run->run, k->run->steps, KEPT_SUM, sum);
  size_t len = (size_t)n + k->now.len;
  char *now = mem_exhausted(&k->mem) ? NULL : malloc(len + 1);
  if (now) {
    memcpy(now, head, (size_t)n);
    memcpy(now + n, strbuf_text(&k->now), k->now.len);
    now[len] = '\0';
  }
  k->run->now = now;
  k->run->now_len = now ? len : 0;
}

/* --- Cells ---------------------------------------------------------------- */

/* Where a place stands, in words that mean the same to each step of the same
 * key: in which of the texts of which step, counted back along `before`.  So it
 * is found again when lines above it have come and gone.
 *
 *   def @new(%x: int32) { ref(%x) }
 *   let %f = fn () { @new(1) };    ref(%x) is 0 1 22 6: the second of its texts
 *   %f();                          ... 1 1 22 6: that of the step before */
typedef struct PlaceWords {
  uint64_t back, text, from, len;
} PlaceWords;

static bool stands_in(Span place, Span text) {
  return text.lo <= place.lo && place.hi <= text.hi;
}

/* Reads `count` numbers with blanks between them.  Returns what stands after
 * them, or NULL. */
static const char *read_numbers(const char *text, size_t count, uint64_t *to) {
  for (size_t i = 0; i < count; i++) {
    char *end;
    to[i] = strtoull(text, &end, 10);
    if (end == text) return NULL;
    text = end;
  }
  return text;
}

/* False where the place stands in none of these texts, as one in a `gradient`
 * of the program does. */
static bool words_of(const Depends *d, int step, Span place, PlaceWords *w) {
  for (w->back = 0; step != NO_STEP; step = d->steps.data[step].before) {
    const StepNeeds *needs = &d->steps.data[step];
    for (w->text = 0; w->text < needs->texts.len; w->text++) {
      Span text = needs->texts.data[w->text];
      w->from = place.lo - text.lo;
      w->len = place.hi - place.lo;
      if (stands_in(place, text)) return true;
    }
    w->back++;
  }
  return false;
}

static Span place_of(const Depends *d, int step, PlaceWords w) {
  for (; w.back && step != NO_STEP; w.back--) step = d->steps.data[step].before;
  if (step == NO_STEP || w.text >= d->steps.data[step].texts.len)
    return SPAN_NONE;
  Span text = d->steps.data[step].texts.data[w.text];
  if (w.from > text.hi - text.lo || w.len > text.hi - text.lo - w.from)
    return SPAN_NONE;
  return (Span){text.lo + (uint32_t)w.from,
                text.lo + (uint32_t)(w.from + w.len)};
}

/* The part `m` of a record: a place, and how many cells the step made there.
 * False where words_of() does not find the place. */
static bool keep_maker(Keeper *k, int step, const CellMaker *m, StrBuf *part) {
  PlaceWords w;
  if (!words_of(&k->depends, step, m->place, &w)) return false;
  VEC_CLEAR(part);
  strbuf_addf(part, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
              w.back, w.text, w.from, w.len, m->made);
  kept_add_part(&k->record, "m", strbuf_text(part), part->len);
  return true;
}

/* The number, from 1, of the step's place that made the cell; 0 if the cell was
 * there before the step. */
static size_t maker_number(const StepCells *cells, const CellHistory *h) {
  for (size_t i = 0; !h->before && i < cells->makers.len; i++)
    if (cells->makers.data[i] == h->maker) return i + 1;
  return 0;
}

/* The part `c`: the cell's number in its family, the number of the place that
 * made it, the count of its contents after the step, one in how many of them is
 * kept; then, a line each, those kept of the step, and the last content. */
static void keep_cell(Keeper *k, const StepCells *cells, const CellHistory *h,
                      StrBuf *part) {
  VEC_CLEAR(part);
  strbuf_addf(part, "%zu %zu %" PRIu64 " %" PRIu64 "\n", h->number,
              maker_number(cells, h), h->count, h->every);
  for (size_t i = 0; i < h->values.len; i++)
    if (i * h->every >= h->before)
      strbuf_addf(part, "%s\n", h->values.data[i].text);
  if (h->count) strbuf_addf(part, "%s\n", h->last.text);
  kept_add_part(&k->record, "c", strbuf_text(part), part->len);
}

static bool keep_cells(Keeper *k, int step) {
  const StepCells *cells = session_step_cells(k->session->vm);
  if (!cells) return false;
  StrBuf part;
  strbuf_init(&part, k->now.mem);
  bool found = true;
  for (size_t i = 0; i < cells->makers.len && found; i++)
    found = keep_maker(k, step, cells->makers.data[i], &part);
  for (size_t i = 0; i < cells->cells.len && found; i++)
    keep_cell(k, cells, cells->cells.data[i], &part);
  strbuf_done(&part);
  return found;
}

/* Tells the session what a part `m` says.  Another program may have written it,
 * so it may say anything. */
static void say_maker(Keeper *k, int step, const char *text) {
  uint64_t n[5];
  if (!read_numbers(text, 5, n)) return;
  Span place =
      place_of(&k->depends, step, (PlaceWords){n[0], n[1], n[2], n[3]});
  if (span_exists(place)) session_cells_made(k->session->vm, place, n[4]);
}

/* Likewise a part `c`. */
static void say_cell(Keeper *k, const char *text, size_t len) {
  Session *vm = k->session->vm;
  const StepCells *cells = session_step_cells(vm);
  uint64_t n[4]; /* number, maker, count, every */
  const char *lines = read_numbers(text, 4, n);
  if (!cells || !lines || *lines++ != '\n' || n[1] > cells->makers.len) return;
  CellMaker *maker = n[1] ? cells->makers.data[n[1] - 1] : NULL;
  CellHistory *h = session_cell(vm, maker, n[0]);
  if (h)
    session_cell_held(vm, h, n[2], n[3], lines, len - (size_t)(lines - text));
}

/* --- One step ------------------------------------------------------------- */

static void print_and_keep(void *keeper, const char *text, size_t len) {
  Keeper *k = keeper;
  kept_add_part(&k->record, "p", text, len);
  if (k->hooks.write) k->hooks.write(k->hooks.data, text, len);
}

static void show_and_keep(Keeper *k, Span place, rly_value *v) {
  bool json = k->run->json;
  if (!json && rly_value_is_unit(v)) return;
  char *text = json ? rly_value_json(v) : rly_value_text(v);
  if (!text) return;
  StrBuf line;
  strbuf_init(&line, k->session->mem);
  strbuf_add_line(&line, text);
  kept_add_part(&k->record, "v", strbuf_text(&line), line.len);
  k->run->value(k->run->data, place, strbuf_text(&line));
  strbuf_done(&line);
  rly_text_free(k->session->program->cx, text);
}

/* Adds the part `b` to the record.  One value takes at most half of the bytes
 * that a run may leave, and all values three quarters, so that there is room
 * for what other steps said. */
static void keep_value(Keeper *k, const Global *g) {
  Value v;
  size_t used = k->now.len + k->record.len, room = k->most / 4 * 3;
  if (!k->known || used > room || !type_is_data(g->type, k->session->mem) ||
      !session_value(k->session->vm, g, &v))
    return;
  size_t most = room - used < k->most / 2 ? room - used : k->most / 2;
  StrBuf part;
  strbuf_init(&part, &k->mem);
  if (kept_add_value(k->session, g->type, v, most, &part))
    kept_add_part(&k->record, "b", strbuf_text(&part), part.len);
  strbuf_done(&part);
}

static rly_status evaluate_step(Keeper *k, const Step *step) {
  rly_session *s = k->session;
  rly_value v = {.session = s};
  const Global *g = step->global;
  double began = clock_seconds();
  double least = k->run->keep_over > 0 ? k->run->keep_over : KEEP_OVER;
  RunStatus ended = session_step(s->vm, step, &v.value);
  RunStatus status = run_trusted(s, ended);
  if (ended == RUN_OK && status != RUN_OK && step->kind == STEP_EXPR)
    value_drop(store_of(s), step->expr->type, v.value);
  if (status != RUN_OK) return status_of_run(status);
  if (g && !g->param_count && clock_seconds() - began > least) keep_value(k, g);
  if (step->kind != STEP_EXPR) return RLY_OK;
  v.type = step->expr->type;
  show_and_keep(k, step->span, &v);
  value_drop(store_of(s), v.type, v.value);
  return status_of_run(session_stopped(s->vm, step->span));
}

static rly_status call_entry(Keeper *k) {
  rly_value *v;
  const rly_function *entry = k->run->entry;
  rly_status status = session_call_bound(k->session, entry, &v);
  if (status != RLY_OK) return status;
  Span place = ((const Global *)entry)->span;
  show_and_keep(k, place, v);
  rly_value_free(v);
  return status_of_run(session_stopped(k->session->vm, place));
}

/* Where the value of a step, or of the entry, is shown. */
static Span place_shown(const Keeper *k, int at) {
  const Step *step = k->depends.steps.data[at].step;
  return step ? step->span : ((const Global *)k->run->entry)->span;
}

/* Says what the record says. */
static rly_status say(Keeper *k, int at, const Record *r) {
  const char *from = r->text, *end = from + r->len, *word, *text;
  Span place = place_shown(k, at);
  StrBuf part;
  strbuf_init(&part, k->session->mem);
  for (size_t len; kept_next_part(&from, end, &word, &text, &len);) {
    if (*word == 'b') continue; /* a value is not said, and may be long */
    VEC_CLEAR(&part);
    strbuf_add_len(&part, text, len);
    text = strbuf_text(&part);
    if (*word == 'v') k->run->value(k->run->data, place, text);
    else if (*word == 'm' && k->run->cells) say_maker(k, at, text);
    else if (*word == 'c' && k->run->cells) say_cell(k, text, part.len);
    else if (*word == 'p' && k->hooks.write)
      k->hooks.write(k->hooks.data, text, part.len);
  }
  strbuf_done(&part);
  strbuf_add_len(&k->record, r->text, r->len);
  return status_of_run(session_stopped(k->session->vm, place));
}

static rly_status evaluate(Keeper *k, const Step *step) {
  return step ? evaluate_step(k, step) : call_entry(k);
}

static rly_status run_step(Keeper *k, int at, bool runs) {
  const StepNeeds *needs = &k->depends.steps.data[at];
  Record *r = record_of(k, needs->key);
  VEC_CLEAR(&k->record);
  if (k->run->cells) session_cells_begin(k->session->vm, (size_t)needs->family);
  k->run->run += runs;
  rly_status status = runs ? evaluate(k, needs->step) : say(k, at, r);
  if (status != RLY_OK) return status;
  if (runs && k->run->cells && !keep_cells(k, at)) return RLY_OK;
  keep(k, needs->key, strbuf_text(&k->record), k->record.len);
  if (r) r->used = true;
  return RLY_OK;
}

/* --- All steps ------------------------------------------------------------ */

/* The part `b` of a record; false: it has none. */
static bool find_value(const Record *r, const char **text, size_t *len) {
  const char *at = r->text, *end = at + r->len, *word;
  while (kept_next_part(&at, end, &word, text, len))
    if (*word == 'b') return true;
  return false;
}

/* Sets the value of a step to the one that is kept. */
static bool fetch(Keeper *k, const StepNeeds *needs) {
  const Global *g = needs->step->global;
  const char *text;
  size_t len;
  Value v;
  return find_value(record_of(k, needs->key), &text, &len) &&
         type_is_data(g->type, k->session->mem) &&
         kept_value(k->session, g->type, text, len, &v) &&
         session_define_take(k->session->vm, g, v);
}

static StepPlan first_plan(const Keeper *k, const StepNeeds *needs) {
  const Record *r = record_of(k, needs->key);
  const char *text;
  size_t len;
  if (!r) return PLAN_RUN;
  bool has_value = needs->step && needs->step->global;
  return has_value && find_value(r, &text, &len) ? PLAN_HAVE : PLAN_SAY;
}

/* Fetches the values that are wanted.  Where one cannot be fetched its step is
 * to run; true: there was such a step. */
static bool fetch_all(Keeper *k, StepPlan *plan) {
  const Depends *d = &k->depends;
  bool more = false;
  for (size_t i = 0; i < d->steps.len; i++) {
    if (plan[i] != PLAN_FETCH) continue;
    bool there = fetch(k, &d->steps.data[i]);
    plan[i] = there ? PLAN_FETCHED : PLAN_RUN;
    more |= !there;
  }
  return more;
}

/* Without the memory to know which steps are to run, all do. */
static void choose(Keeper *k, StepPlan *plan) {
  const Depends *d = &k->depends;
  for (size_t i = 0; i < d->steps.len; i++)
    plan[i] = first_plan(k, &d->steps.data[i]);
  do depends_demand(d, plan);
  while (fetch_all(k, plan));
  for (size_t i = 0; i < d->steps.len && mem_exhausted(d->mem); i++)
    plan[i] = PLAN_RUN;
}

static rly_status run_steps(Keeper *k) {
  const Depends *d = &k->depends;
  rly_status status = RLY_OK;
  StepPlan *plan = calloc(d->steps.len + 1, sizeof *plan);
  if (!plan) return RLY_LIMIT;
  choose(k, plan);
  Session *vm = k->session->vm;
  SessionHooks keeping = session_hooks(&k->session->options);
  keeping.write = print_and_keep;
  keeping.data = k;
  k->hooks = session_swap_hooks(vm, keeping);
  for (size_t i = 0; i < d->steps.len && status == RLY_OK; i++)
    status = run_step(k, (int)i, plan[i] == PLAN_RUN);
  session_swap_hooks(vm, k->hooks);
  free(plan);
  return status;
}

size_t kept_most(const rly_session *s) {
  size_t most = KEPT_MOST;
  for (const Mem *m = s->mem; m; m = m->parent)
    if (atomic_load(&m->limit) / 8 < most) most = atomic_load(&m->limit) / 8;
  return most;
}

/* Keys that do not tell all have no records. */
static rly_status run_kept(rly_session *s, KeptRun *run) {
  rly_program *p = s->program;
  Keeper k = {
      .session = s, .run = run, .mem = mem_local(s->mem), .most = kept_most(s)};
  const Global *entry = (const Global *)run->entry;
  rly_status status =
      session_params(s, session_pending(s), entry != NULL, NULL);
  s->last_run = p->ir->last_unit;
  if (status != RLY_OK) return status;
  VEC_INIT(&k.records, &k.mem);
  strbuf_init(&k.now, &k.mem);
  strbuf_init(&k.record, &k.mem);
  k.known = depends_find(s, entry, run->cells, &k.depends) &&
            !session_limits(s->vm).max_steps;
  run->steps = k.depends.steps.len;
  if (k.known) read_records(&k);
  status = run_steps(&k);
  if (status != RLY_OK) keep_unused(&k);
  if (!k.known) VEC_CLEAR(&k.now);
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
