/* rly opt --bisect: which pass, and which rewrite of it, changed what the
 * program does (opt_behave.c).
 *
 * The passes run one after the other until the first version that does
 * something else.  Then the pass that made it runs again, each time from the
 * text of the file, with a bound on its rewrites (pass_may_rewrite, or
 * RLY_REWRITES for a command): with none the program does what it did, with all
 * it does not, and halving the distance finds two neighbours, one on each side.
 * The command shows what the second of them changed. */
#include <inttypes.h>
#include <string.h>

#include "repl/opt_command.h"

typedef struct Bisect {
  Opt *o;
  const char *path, *text; /* of the file, as checked */
  size_t len;
  Version first; /* which says what is called */
  Behaviour wanted;
} Bisect;

/* Appends the text after the first `count` passes, of which the last makes at
 * most `most` rewrites.  *made: so many; *at: the place of the last. */
static bool text_after(Bisect *b, int count, uint64_t most, StrBuf *out,
                       uint64_t *made, Span *at) {
  Opt *o = b->o;
  Version v;
  VEC_CLEAR(out);
  if (!version_of_text(o->h, b->path, b->text, b->len, &v)) return false;
  for (int i = 0; i < count; i++) {
    OptPass pass = o->passes[i];
    if (i + 1 == count) pass.call.most_rewrites = most;
    if (!opt_run_pass(o->h, &v, &pass)) return false;
    *made = pass.call.rewrites;
    *at = pass.call.last_rewrite;
  }
  version_print(&v, out);
  version_done(o->h, &v);
  return true;
}

static bool does_the_same(Bisect *b, const StrBuf *text, bool *same,
                          Behaviour *found) {
  bool ok =
      behaviour_of(b->o->h, &b->first, strbuf_text(text), text->len, found);
  *same = behaviour_same(&b->wanted, found);
  return ok;
}

/* The number of rewrites of a command is not told: the least power of two after
 * which it makes the same text as without a bound. */
static bool count_rewrites(Bisect *b, int count, const StrBuf *all,
                           uint64_t *total) {
  StrBuf text;
  uint64_t made;
  Span at;
  bool ok = true, same = false;
  strbuf_init(&text, all->mem);
  for (*total = 1; ok && !same && *total < (uint64_t)1 << 40; *total *= 2) {
    ok = text_after(b, count, *total, &text, &made, &at);
    same = ok && text.len == all->len &&
           !memcmp(strbuf_text(&text), strbuf_text(all), all->len);
    if (same) break;
  }
  strbuf_done(&text);
  return ok;
}

/* `good` rewrites keep what the program does, `bad` do not. */
static bool halve(Bisect *b, int count, uint64_t good, uint64_t *bad) {
  StrBuf text;
  bool ok = true, same;
  strbuf_init(&text, b->o->out.mem);
  while (ok && *bad - good > 1) {
    uint64_t middle = good + (*bad - good) / 2, made;
    Behaviour found = {0};
    Span at;
    ok = text_after(b, count, middle, &text, &made, &at) &&
         does_the_same(b, &text, &same, &found);
    if (ok && same) good = middle;
    else if (ok) *bad = middle;
    behaviour_done(&found);
  }
  strbuf_done(&text);
  return ok;
}

static void put_place(Opt *o, Span at) {
  Place place = sources_place(o->h->program->ir->sources, at);
  if (place.file)
    strbuf_addf(&o->out, " at %s:%u:%u", place.file->path, place.line,
                place.column);
}

/* What the rewrite changed. */
static bool put_rewrite(Bisect *b, int count, uint64_t bad) {
  Opt *o = b->o;
  StrBuf was, is;
  uint64_t made;
  Span at = SPAN_NONE;
  strbuf_init(&was, o->out.mem);
  strbuf_init(&is, o->out.mem);
  bool ok = text_after(b, count, bad - 1, &was, &made, &at) &&
            text_after(b, count, bad, &is, &made, &at);
  if (ok) {
    strbuf_addf(&o->out, "pass %d, ", count);
    opt_pass_print(&o->passes[count - 1], &o->out);
    strbuf_addf(&o->out, ": rewrite %" PRIu64 "", bad);
    put_place(o, at);
    strbuf_add(&o->out, " changed what the program does\n");
    diff_print(&o->out, strbuf_text(&was), strbuf_text(&is),
               use_color(o->h->cli, stdout));
  }
  strbuf_done(&was);
  strbuf_done(&is);
  return ok;
}

/* The pass that is to blame is the last of `count`; `all` is what it made. */
static bool find_rewrite(Bisect *b, int count, uint64_t total,
                         const StrBuf *all) {
  StrBuf none;
  Behaviour found = {0};
  uint64_t made;
  Span at;
  bool same = false, exec = b->o->passes[count - 1].exec;
  strbuf_init(&none, all->mem);
  bool ok = text_after(b, count, 0, &none, &made, &at) &&
            does_the_same(b, &none, &same, &found);
  strbuf_done(&none);
  behaviour_done(&found);
  if (!ok) return false;
  if (!same) {
    strbuf_addf(&b->o->out, "pass %d, ", count);
    opt_pass_print(&b->o->passes[count - 1], &b->o->out);
    strbuf_addf(&b->o->out, " changed what the program does%s\n",
                exec ? " (it does not heed RLY_REWRITES)" : "");
    return true;
  }
  if (exec && !count_rewrites(b, count, all, &total)) return false;
  return halve(b, count, 0, &total) && put_rewrite(b, count, total);
}

/* One pass more each time: *found when it did something else. */
static bool try_pass(Bisect *b, int count, bool *found) {
  StrBuf text;
  Behaviour does = {0};
  uint64_t made = 0;
  Span at;
  bool same = true;
  strbuf_init(&text, b->o->out.mem);
  bool ok = text_after(b, count, UINT64_MAX, &text, &made, &at) &&
            does_the_same(b, &text, &same, &does);
  *found = ok && !same;
  if (*found) ok = find_rewrite(b, count, made, &text);
  behaviour_done(&does);
  strbuf_done(&text);
  return ok;
}

bool opt_bisect(Opt *o, Version *v, bool *found) {
  StrBuf text;
  strbuf_init(&text, o->out.mem);
  version_print(v, &text);
  Bisect b = {.o = o, .path = o->h->cli->words.items[0], .first = *v};
  *v = (Version){0};
  b.text = strbuf_text(&text);
  b.len = text.len;
  bool ok = behaviour_of(o->h, &b.first, b.text, b.len, &b.wanted);
  *found = false;
  for (int i = 1; ok && !*found && i <= o->count; i++)
    ok = try_pass(&b, i, found);
  if (ok && !*found)
    strbuf_add(&o->out, "no pass changed what the program does\n");
  behaviour_done(&b.wanted);
  version_done(o->h, &b.first);
  strbuf_done(&text);
  return ok;
}
