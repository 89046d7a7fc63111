/* The versions of a program between passes: each pass has the program before it
 * on the left and the program after it on the right, line beside line.  Lines
 * that stay are folded, but for some around each change.
 *
 * The versions are a view of a page (page_parts.c): all of it, for rly opt, or
 * beside the steps of the last version, for rly step.  Every pass is an
 * <article>, so the page can be read, searched and printed without the script,
 * which shows one pass at a time.
 *
 *   <article id="pass-2" class="changed">
 *     <h2> number, pass, what it did
 *     <details> <summary>17 lines stay</summary> pairs </details>
 *     <div class="pair gone new"> number, <code>left</code>, number,
 *                                 <code>right</code> </div>
 *
 * The text comes from a program and goes through html_add(). */
#include <string.h>

#include "base/diff.h"
#include "stepper/page.h"

enum {
  AROUND = 3,       /* lines that stay, shown around a change */
  LINE_MOST = 1000, /* bytes of a line */
};

static const char script[] =
#include "stepper/versions.js.inc"
    ;

typedef struct Pair {
  const char *left, *right; /* as from diff_rows() */
  size_t numbers[2];
} Pair;

struct Versions {
  Mem *mem;
  StrBuf first, last; /* programs */
  StrBuf articles;
  StrBuf page; /* of versions_page() */
  int passes;
  VEC(Pair) stay; /* pairs of equal lines, since the last change */
  size_t numbers[2];
  bool changed;
};

/* --- Pairs of lines ------------------------------------------------------- */

static void add_side(StrBuf *out, size_t number, const char *text) {
  if (text) strbuf_addf(out, "<i>%zu</i><code>", number);
  else strbuf_add(out, "<i></i><code>");
  if (text) page_add_cut(out, text, LINE_MOST);
  strbuf_add(out, "</code>");
}

static void add_pair(StrBuf *out, const Pair *r) {
  bool stays = r->left == r->right;
  strbuf_addf(out, "<div class=\"pair%s%s\">", stays || !r->left ? "" : " gone",
              stays || !r->right ? "" : " new");
  add_side(out, r->numbers[0], r->left);
  add_side(out, r->numbers[1], r->right);
  strbuf_add(out, "</div>\n");
}

/* Pairs that stay: those within AROUND of a change are shown, before it and
 * after it; what lies between is folded, where that hides two lines or more.
 */
static void add_stay(Versions *v, bool after, bool before) {
  StrBuf *out = &v->articles;
  size_t n = v->stay.len, from = after ? AROUND : 0;
  size_t to = before ? n < AROUND ? 0 : n - AROUND : n;
  bool folds = to > from + 1;
  for (size_t i = 0; i < n; i++) {
    if (folds && i == from)
      strbuf_addf(out, "<details><summary>%zu lines stay</summary>\n",
                  to - from);
    add_pair(out, &v->stay.data[i]);
    if (folds && i + 1 == to) strbuf_add(out, "</details>\n");
  }
  VEC_CLEAR(&v->stay);
}

static void take_pair(void *data, const char *left, const char *right) {
  Versions *v = data;
  if (!left && !right) {
    add_stay(v, v->changed, false);
    return;
  }
  Pair r = {left, right, {v->numbers[0] += !!left, v->numbers[1] += !!right}};
  if (left == right) {
    VEC_PUSH(&v->stay, r);
    return;
  }
  add_stay(v, v->changed, true);
  add_pair(&v->articles, &r);
  v->changed = true;
}

static void add_pairs(Versions *v, const char *was, const char *is) {
  v->numbers[0] = v->numbers[1] = 0;
  v->changed = false;
  diff_rows(v->mem, was, is, take_pair, v);
}

/* --- Passes --------------------------------------------------------------- */

Versions *versions_new(Mem *mem) {
  Versions *v = mem_alloc(mem, sizeof *v);
  if (!v) return NULL;
  *v = (Versions){.mem = mem};
  strbuf_init(&v->first, mem);
  strbuf_init(&v->last, mem);
  strbuf_init(&v->articles, mem);
  strbuf_init(&v->page, mem);
  VEC_INIT(&v->stay, mem);
  return v;
}

void versions_free(Versions *v) {
  if (!v) return;
  strbuf_done(&v->first);
  strbuf_done(&v->last);
  strbuf_done(&v->articles);
  strbuf_done(&v->page);
  VEC_DONE(&v->stay);
  mem_free(v->mem, v, sizeof *v);
}

static void add_article(Versions *v, const char *id, const char *name,
                        const char *did, const char *was, const char *is) {
  StrBuf *out = &v->articles;
  bool same = strcmp(was, is) == 0;
  strbuf_addf(out, "<article id=\"%s\"%s>\n<h2>", id,
              same ? "" : " class=\"changed\"");
  html_add(out, name, strlen(name));
  if (*did) {
    strbuf_add(out, "<small>");
    html_add(out, did, strlen(did));
    strbuf_add(out, "</small>");
  }
  strbuf_addf(out, "%s</h2>\n", same ? "<small>changes nothing</small>" : "");
  add_pairs(v, was, is);
  strbuf_add(out, "</article>\n");
}

static void put_text(StrBuf *to, const StrBuf *text) {
  strbuf_done(to);
  strbuf_init(to, text->mem);
  strbuf_add_len(to, strbuf_text(text), text->len);
}

void versions_begin(Versions *v, const StrBuf *text) {
  put_text(&v->first, text);
  put_text(&v->last, text);
}

bool versions_pass(Versions *v, const char *pass, const char *did,
                   const StrBuf *text) {
  StrBuf name, id;
  strbuf_init(&name, v->mem);
  strbuf_init(&id, v->mem);
  strbuf_addf(&name, "%d. %s", ++v->passes, pass);
  strbuf_addf(&id, "pass-%d", v->passes);
  add_article(v, strbuf_text(&id), strbuf_text(&name), did,
              strbuf_text(&v->last), strbuf_text(text));
  put_text(&v->last, text);
  strbuf_done(&name);
  strbuf_done(&id);
  return v->articles.len <= PAGE_MOST && !mem_exhausted(v->mem);
}

/* --- The view ------------------------------------------------------------- */

void versions_add_view(StrBuf *out, Versions *v) {
  if (v->passes != 1)
    add_article(v, "all", "All passes", "", strbuf_text(&v->first),
                strbuf_text(&v->last));
  page_begin_view(out, "versions");
  strbuf_add(out,
             "<p>What each pass makes of the program: "
             "<mark class=\"gone\">before</mark> on the left, "
             "<mark class=\"new\">after</mark> on the right.</p>\n"
             "<nav hidden>\n<button class=\"back\">&#8592; back</button>\n"
             "<button class=\"forth\">pass &#8594;</button>\n"
             "<select aria-label=\"pass\"></select>\n"
             "<button class=\"list\"></button>\n"
             "<button class=\"unfold\"></button>\n</nav>\n");
  strbuf_add_len(out, strbuf_text(&v->articles), v->articles.len);
  page_end_view(out, script);
}

const StrBuf *versions_page(Versions *v, const char *title) {
  page_begin(&v->page, title);
  versions_add_view(&v->page, v);
  page_end(&v->page);
  return &v->page;
}
