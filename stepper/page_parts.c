/* What pages of steps have in common: the head with its buttons, the text of a
 * program with what is marked in it, the end.
 *
 * A page is one file: the style and the script are embedded by the build, and
 * nothing is loaded.  Every step is an <article> in the text itself, so the
 * page can be read, searched and printed without the script, which shows one
 * step at a time, folds by `data-kinds`, finds words, moves the current source
 * to the step's side and draws tensors. */
#include <string.h>

#include "stepper/page.h"

enum {
  PAGE_LINES = 40,
  NEAR_MOST = 2000, /* bytes of text on each side of the mark */
  MARK_MOST = 4000, /* of what is marked */
};

static const char style[] =
#include "stepper/page.css.inc"
    ;
static const char script[] =
#include "stepper/page.js.inc"
    ;

/* --- The head ------------------------------------------------------------- */

void page_begin(StrBuf *out, const char *title, const char *what) {
  StrBuf text = {.data = (char *)title, .len = strlen(title)};
  strbuf_add(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>");
  html_add_cut(out, &text, PAGE_TITLE_MOST);
  strbuf_addf(out,
              "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
              "<header>\n<h1>",
              style);
  html_add_cut(out, &text, PAGE_TITLE_MOST);
  strbuf_addf(out,
              "</h1>\n<p>How it is %s: each step replaces "
              "<mark class=\"redex\">what is marked</mark> by "
              "<mark class=\"contractum\">what becomes of it</mark>.</p>\n"
              "</header>\n<nav hidden>\n"
              "<button id=\"back\">&#8592; back</button>\n"
              "<button id=\"forth\">step &#8594;</button>\n"
              "<input id=\"slider\" type=\"range\" min=\"0\" value=\"0\" "
              "aria-label=\"step\">\n<label id=\"count\"></label>\n"
              "<button id=\"list\"></button>\n"
              "<input id=\"search\" type=\"search\" "
              "placeholder=\"find, Enter\" aria-label=\"find\">\n",
              what);
}

void page_begin_folds(StrBuf *out) {
  strbuf_add(out, "<div class=\"folds\">fold:\n");
}

void page_add_fold(StrBuf *out, const char *name, const char *help) {
  strbuf_add(out, "<label title=\"");
  html_add(out, help, strlen(help));
  strbuf_add(out, "\"><input type=\"checkbox\" value=\"");
  html_add(out, name, strlen(name));
  strbuf_add(out, "\"> ");
  html_add(out, name, strlen(name));
  strbuf_add(out, "</label>\n");
}

void page_end_folds(StrBuf *out) {
  strbuf_add(out, "</div>\n</nav>\n<main>\n");
}

/* --- The text of a program ------------------------------------------------ */

static void add_left_out(StrBuf *out, size_t lines) {
  if (lines) {
    strbuf_addf(out, "<p class=\"left\">... %zu line%s</p>\n", lines,
                lines == 1 ? "" : "s");
  }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The end of the character that byte `at` belongs to, no further than `to`. */
static size_t whole(const char *text, size_t at, size_t to) {
  while (at < to && (text[at] & 0xC0) == 0x80) at++;
  return at;
}

/* The mark may reach beyond the lines that are shown; then it ends with
 * them. */
void page_add_program(StrBuf *out, const StepText *t, const char *class) {
  const char *text = strbuf_text(&t->text);
  StepCut cut = stepper_cut(t, PAGE_LINES);
  size_t from = cut.from, to = cut.to;
  if (t->lo > from + NEAR_MOST) from = whole(text, t->lo - NEAR_MOST, t->lo);
  size_t hi = least(t->hi, to);
  if (hi > t->lo + MARK_MOST) hi = whole(text, t->lo + MARK_MOST, hi);
  if (to > hi + NEAR_MOST) to = whole(text, hi + NEAR_MOST, to);
  add_left_out(out, cut.before);
  strbuf_addf(out, "<pre>%s", from > cut.from ? "... " : "");
  html_add(out, text + from, t->lo - from);
  strbuf_addf(out, "<mark class=\"%s\">", class);
  html_add(out, text + t->lo, hi - t->lo);
  strbuf_add(out, "</mark>");
  html_add(out, text + hi, to - hi);
  strbuf_addf(out, "%s</pre>\n", to < cut.to ? " ..." : "");
  add_left_out(out, cut.behind);
}

/* --- The end -------------------------------------------------------------- */

void page_end_steps(StrBuf *out, const char *why) {
  strbuf_add(out, "</main>\n<footer>");
  html_add(out, why, strlen(why));
  strbuf_add(out, "</footer>\n<div id=\"sources\">\n");
}

void page_end(StrBuf *out, const StrBuf *heats) {
  strbuf_add(out, "</div>\n<script type=\"application/json\" id=\"heats\">[\n");
  if (heats) strbuf_add_len(out, strbuf_text(heats), heats->len);
  strbuf_addf(out, "]</script>\n<script>\n%s</script>\n</body>\n</html>\n",
              script);
}
