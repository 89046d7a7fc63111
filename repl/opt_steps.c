/* rly opt --rewrites: a page on which each rewrite is a step (stepper.h).
 *
 * A pass is run once more for each of its rewrites, from the text that it was
 * given, with a bound on how many it may make (pass_may_rewrite): after k of
 * them it says what it would rewrite next, and after k + 1 what came of that.
 *
 *   k = 0   abs(abs(%x)) + 0     would rewrite abs(abs(%x))      the redex
 *   k = 1   abs(%x) + 0          has made abs(%x)                the contractum
 *
 * A pass that says which node it replaces (pass_may_replace) has that node
 * marked.  Of a pass that says only the place, the innermost expression there
 * is marked that holds all differences of the two texts; if there is none, the
 * differences are marked.  A command is one step. */
#include <inttypes.h>
#include <string.h>

#include "repl/opt_command.h"

enum { STEPS_MOST = 1000 /* of a page */ };

struct OptSteps {
  RewritePage *page;
  uint64_t count;
  bool full;
};

/* The program after so many rewrites of a pass. */
typedef struct Shot {
  StrBuf text;
  DocRanges found;        /* of MADE and NEXT */
  PassRewrite made, next; /* the last rewrite, and the one that would follow */
  bool has_next;
  StrBuf name, rule; /* of the rule of `next` */
} Shot;
enum { MADE, NEXT };

static void shot_init(Shot *s, Mem *mem) {
  *s = (Shot){.has_next = false};
  strbuf_init(&s->text, mem);
  strbuf_init(&s->name, mem);
  strbuf_init(&s->rule, mem);
  VEC_INIT(&s->found, mem);
}

static void shot_done(Shot *s) {
  strbuf_done(&s->text);
  strbuf_done(&s->name);
  strbuf_done(&s->rule);
  VEC_DONE(&s->found);
}

/* The rule may be of a program that is gone after the shot. */
static void look(void *shot, const Program *p, const PassRewrite *r) {
  Shot *s = shot;
  if (r->allowed) s->made = *r;
  if (r->allowed || s->has_next) return;
  s->has_next = true;
  s->next = *r;
  if (!r->rule) return;
  strbuf_addf(&s->name, "@%s", r->rule->name->text);
  Unit alone = {.items = (Item *)r->rule, .item_count = 1};
  unit_print(p, &alone, &s->rule);
}

static bool shoot(Opt *o, const StrBuf *was, const OptPass *pass, uint64_t most,
                  Shot *s) {
  Version v;
  PassCall call = pass->call;
  call.most_rewrites = most;
  call.rewrites = 0;
  call.rewrote = look;
  call.rewrote_data = s;
  if (!version_of_text(o->h, o->h->cli->words.items[0], strbuf_text(was),
                       was->len, &v))
    return false;
  v.unit = pass_call(v.program->ir, v.unit, &call);
  bool ok = v.unit != NULL;
  if (ok) {
    PrintWanted wanted[] = {[MADE] = {s->made.made, s->made.at},
                            [NEXT] = {s->next.was, s->next.at}};
    PrintMarks marks = {s->has_next ? 2 : 1, wanted, &s->found};
    unit_print_marked(v.program->ir, v.unit, &marks, &s->text);
  }
  version_done(o->h, &v);
  return ok && !mem_exhausted(o->out.mem);
}

/* --- What is marked ------------------------------------------------------- */

static bool in_word(char c) {
  return c == '_' || c == '%' || c == '@' || c == '.' ||
         (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static StepText without_blanks(const StepText *t, size_t lo, size_t hi) {
  const char *text = strbuf_text(&t->text);
  while (hi > lo && (text[hi - 1] == ' ' || text[hi - 1] == '\n')) hi--;
  return (StepText){t->text, lo, hi};
}

/* Marks in each text what the other does not have, in whole words. */
static void mark_difference(StepText *a, StepText *b) {
  const char *x = strbuf_text(&a->text), *y = strbuf_text(&b->text);
  size_t m = a->text.len, n = b->text.len, lo = 0, same = 0;
  while (lo < m && lo < n && x[lo] == y[lo]) lo++;
  while (same < m - lo && same < n - lo && x[m - 1 - same] == y[n - 1 - same])
    same++;
  while (lo > 0 && in_word(x[lo - 1]) && (in_word(x[lo]) || in_word(y[lo])))
    lo--;
  while (same > 0 && in_word(x[m - same]) &&
         ((m > same && in_word(x[m - same - 1])) ||
          (n > same && in_word(y[n - same - 1]))))
    same--;
  *a = without_blanks(a, lo, m - same);
  *b = without_blanks(b, lo, n - same);
}

/* How far a range is from what differs. */
static size_t distance(const DocRange *r, size_t lo, size_t hi) {
  return r->lo > hi ? r->lo - hi : lo > r->hi ? lo - r->hi : 0;
}

/* Marks an expression in the place of what differs.  A node that stands in
 * several places is marked in the nearest.  Of the nodes at one place the
 * innermost is marked that holds all that differs. */
static void mark_expression(StepText *t, const DocRanges *found, uint32_t of,
                            bool node) {
  size_t lo = t->lo, hi = t->hi, least = node ? SIZE_MAX : 0;
  for (size_t i = 0; i < found->len; i++) {
    const DocRange *r = &found->data[i];
    bool fits = node || (r->lo <= lo && hi <= r->hi);
    if (r->of != of || r->hi <= r->lo || !fits || distance(r, lo, hi) > least)
      continue;
    least = distance(r, lo, hi);
    *t = (StepText){t->text, r->lo, r->hi};
  }
}

/* Where a `let` is dropped, no expression is left to be marked, so the
 * difference stays marked. */
static void mark(const Shot *was, const Shot *is, StepText *a, StepText *b) {
  *a = (StepText){.text = was->text};
  *b = (StepText){.text = is->text};
  mark_difference(a, b);
  if (was->next.was && !was->next.made) return;
  mark_expression(a, &was->found, NEXT, was->next.was != NULL);
  mark_expression(b, &is->found, MADE, is->made.made != NULL);
}

/* --- Steps ---------------------------------------------------------------- */

static bool add_step(Opt *o, const OptPass *pass, uint64_t number,
                     const Shot *was, const Shot *is) {
  StrBuf name;
  RewriteStep r = {
      .number = number,
      .says = pass->exec ? "A command of --exec." : pass->call.pass->sentence};
  mark(was, is, &r.was, &r.is);
  strbuf_init(&name, o->out.mem);
  opt_pass_print(pass, &name);
  r.pass = strbuf_text(&name);
  r.name = was->name.len ? strbuf_text(&was->name)
           : pass->exec  ? r.pass
                         : pass->call.pass->name;
  r.rule = was->rule.len ? &was->rule : NULL;
  bool fits = rewrite_page_step(o->steps->page, &r);
  o->steps->full = !fits || ++o->steps->count >= STEPS_MOST;
  strbuf_done(&name);
  return fits || !mem_exhausted(o->out.mem);
}

static bool add_command(Opt *o, const OptPass *pass, const StrBuf *was,
                        const StrBuf *is) {
  Shot a, b;
  if (was->len == is->len &&
      !memcmp(strbuf_text(was), strbuf_text(is), is->len))
    return true;
  shot_init(&a, o->out.mem);
  shot_init(&b, o->out.mem);
  strbuf_add_len(&a.text, strbuf_text(was), was->len);
  strbuf_add_len(&b.text, strbuf_text(is), is->len);
  bool ok = add_step(o, pass, 1, &a, &b);
  shot_done(&a);
  shot_done(&b);
  return ok;
}

bool opt_steps_pass(Opt *o, const OptPass *pass, const StrBuf *was,
                    const StrBuf *is) {
  if (pass->exec) return o->steps->full || add_command(o, pass, was, is);
  Shot before;
  shot_init(&before, o->out.mem);
  bool ok = o->steps->full || shoot(o, was, pass, 0, &before);
  for (uint64_t k = 1; ok && before.has_next && !o->steps->full; k++) {
    Shot after;
    shot_init(&after, o->out.mem);
    ok =
        shoot(o, was, pass, k, &after) && add_step(o, pass, k, &before, &after);
    shot_done(&before);
    before = after;
  }
  shot_done(&before);
  return ok;
}

/* --- The page ------------------------------------------------------------- */

bool opt_steps_begin(Opt *o) {
  Mem *mem = o->out.mem;
  o->steps = ARENA_NEW(&o->arena, OptSteps);
  if (!o->steps) return false;
  *o->steps =
      (OptSteps){.page = rewrite_page_new(mem, o->h->cli->words.items[0])};
  if (!o->steps->page) {
    mem_raise_exhausted(mem);
    return false;
  }
  for (int i = 0; i < o->count; i++) {
    const OptPass *pass = &o->passes[i];
    StrBuf name;
    strbuf_init(&name, mem);
    opt_pass_print(pass, &name);
    rewrite_page_pass(o->steps->page, strbuf_text(&name),
                      pass->exec ? "a command" : pass->call.pass->sentence);
    strbuf_done(&name);
  }
  return true;
}

const StrBuf *opt_steps_end(Opt *o) {
  const OptSteps *s = o->steps;
  StrBuf why;
  strbuf_init(&why, o->out.mem);
  if (s->full)
    strbuf_addf(&why,
                "More rewrites may follow: a page ends after %" PRIu64 ".",
                s->count);
  else if (s->count == 0) strbuf_add(&why, "No pass rewrites anything.");
  else strbuf_add(&why, "Here the passes end.");
  const StrBuf *text = rewrite_page_end(s->page, strbuf_text(&why));
  strbuf_done(&why);
  return text;
}

void opt_steps_done(Opt *o) {
  if (o->steps) rewrite_page_free(o->steps->page);
}
