/* rly opt --html: a page in which each pass has the program before it on the
 * left and the program after it on the right, line beside line.  Lines that
 * stay are folded, but for some around each change.
 *
 * The page is one file, with its style and script, and loads nothing.  Every
 * pass is an <article>, so the page can be read, searched and printed without
 * the script, which shows one pass at a time.
 *
 *   <article id="pass-2" class="changed">
 *     <h2> number, pass, what it did
 *     <details> <summary>17 lines stay</summary> rows </details>
 *     <div class="row gone new"> number, <code>left</code>, number,
 *                                <code>right</code> </div>
 *
 * The text comes from a program and goes through html_add(). */
#include <string.h>

#include "repl/diff.h"
#include "repl/opt_command.h"

enum {
  AROUND = 3,       /* lines that stay, shown around a change */
  LINE_MOST = 1000, /* bytes of a line */
  TITLE_MOST = 200,
  PAGE_MOST = 64 << 20,
};

static const char style[] =
#include "repl/opt_page.css.inc"
    ;
static const char script[] =
#include "repl/opt_page.js.inc"
    ;

typedef struct Row {
  const char *left, *right; /* as from diff_rows() */
  size_t numbers[2];
} Row;

struct OptPage {
  Mem *mem;
  StrBuf text;
  int passes;
  VEC(Row) stay; /* rows of equal lines, since the last change */
  size_t numbers[2];
  bool changed;
};

/* --- Rows ----------------------------------------------------------------- */

static void add_cut(StrBuf *out, const char *text, size_t most) {
  StrBuf whole = {.data = (char *)text, .len = strlen(text)};
  html_add_cut(out, &whole, most);
}

static void add_side(StrBuf *out, size_t number, const char *text) {
  if (text) strbuf_addf(out, "<i>%zu</i><code>", number);
  else strbuf_add(out, "<i></i><code>");
  if (text) add_cut(out, text, LINE_MOST);
  strbuf_add(out, "</code>");
}

static void add_row(StrBuf *out, const Row *r) {
  bool stays = r->left == r->right;
  strbuf_addf(out, "<div class=\"row%s%s\">", stays || !r->left ? "" : " gone",
              stays || !r->right ? "" : " new");
  add_side(out, r->numbers[0], r->left);
  add_side(out, r->numbers[1], r->right);
  strbuf_add(out, "</div>\n");
}

/* Rows that stay: those within AROUND of a change are shown, before it and
 * after it; what lies between is folded, where that hides two lines or more.
 */
static void add_stay(OptPage *p, bool behind, bool before) {
  size_t n = p->stay.len, from = behind ? AROUND : 0;
  size_t to = before ? n < AROUND ? 0 : n - AROUND : n;
  bool folds = to > from + 1;
  for (size_t i = 0; i < n; i++) {
    if (folds && i == from)
      strbuf_addf(&p->text, "<details><summary>%zu lines stay</summary>\n",
                  to - from);
    add_row(&p->text, &p->stay.data[i]);
    if (folds && i + 1 == to) strbuf_add(&p->text, "</details>\n");
  }
  VEC_CLEAR(&p->stay);
}

static void take_row(void *data, const char *left, const char *right) {
  OptPage *p = data;
  if (!left && !right) {
    add_stay(p, p->changed, false);
    return;
  }
  Row r = {left, right, {p->numbers[0] += !!left, p->numbers[1] += !!right}};
  if (left == right) {
    VEC_PUSH(&p->stay, r);
    return;
  }
  add_stay(p, p->changed, true);
  add_row(&p->text, &r);
  p->changed = true;
}

static void add_sides(OptPage *p, const char *was, const char *is) {
  p->numbers[0] = p->numbers[1] = 0;
  p->changed = false;
  diff_rows(p->mem, was, is, take_row, p);
}

/* --- The page ------------------------------------------------------------- */

OptPage *opt_page_new(Mem *mem, const char *title) {
  OptPage *p = mem_alloc(mem, sizeof *p);
  if (!p) return NULL;
  *p = (OptPage){.mem = mem};
  strbuf_init(&p->text, mem);
  VEC_INIT(&p->stay, mem);
  strbuf_add(&p->text,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>");
  add_cut(&p->text, title, TITLE_MOST);
  strbuf_addf(&p->text,
              "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<h1>",
              style);
  add_cut(&p->text, title, TITLE_MOST);
  strbuf_add(&p->text,
             "</h1>\n<p>What each pass makes of the program: "
             "<mark class=\"gone\">before</mark> on the left, "
             "<mark class=\"new\">after</mark> on the right.</p>\n</header>\n"
             "<nav hidden>\n<button id=\"back\">&#8592; back</button>\n"
             "<button id=\"forth\">pass &#8594;</button>\n"
             "<select id=\"which\" aria-label=\"pass\"></select>\n"
             "<button id=\"list\"></button>\n<button id=\"folds\"></button>\n"
             "</nav>\n<main>\n");
  return p;
}

void opt_page_free(OptPage *p) {
  if (!p) return;
  strbuf_done(&p->text);
  VEC_DONE(&p->stay);
  mem_free(p->mem, p, sizeof *p);
}

static void add_article(OptPage *p, const char *id, const char *name,
                        const char *did, const char *was, const char *is) {
  StrBuf *out = &p->text;
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
  add_sides(p, was, is);
  strbuf_add(out, "</article>\n");
}

bool opt_page_pass(OptPage *p, const char *pass, const char *did,
                   const char *was, const char *is) {
  StrBuf name, id;
  strbuf_init(&name, p->mem);
  strbuf_init(&id, p->mem);
  strbuf_addf(&name, "%d. %s", ++p->passes, pass);
  strbuf_addf(&id, "pass-%d", p->passes);
  add_article(p, strbuf_text(&id), strbuf_text(&name), did, was, is);
  strbuf_done(&name);
  strbuf_done(&id);
  return p->text.len <= PAGE_MOST && !mem_exhausted(p->mem);
}

const StrBuf *opt_page_end(OptPage *p, const char *first, const char *last) {
  if (p->passes != 1) add_article(p, "all", "All passes", "", first, last);
  strbuf_addf(&p->text, "</main>\n<script>\n%s</script>\n</body>\n</html>\n",
              script);
  return &p->text;
}
