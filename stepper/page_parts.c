/* What pages have in common: the head, the views, and of a view of steps the
 * buttons, the text of a program with what is marked in it, the end.
 *
 *   <header> <h1> title
 *   <section class="view" data-title="steps">      nav, articles, sources
 *   <section class="view" data-title="versions">   nav, articles
 *
 * A page is one file: the style and the scripts are embedded by the build, and
 * nothing is loaded.  Every step is an <article> in the text itself, so the
 * page can be read, searched and printed without the scripts.  views.js shows
 * one view at a time; page.js, in a view of steps, shows one step at a time,
 * folds by `data-kinds`, finds words, moves the current source to the step's
 * side and draws tensors. */
#include <string.h>

#include "stepper/page.h"

enum {
  PAGE_LINES = 40,
  NEAR_MOST = 2000, /* bytes of text on each side of the mark */
  MARK_MOST = 4000, /* of what is marked */
};

static const char style[] =
#include "stepper/page.css.inc"
#include "stepper/versions.css.inc"
    ;
static const char views_script[] =
#include "stepper/views.js.inc"
    ;
static const char steps_script[] =
#include "stepper/page.js.inc"
    ;

void page_add_cut(StrBuf *out, const char *text, size_t most) {
  StrBuf whole = {.data = (char *)text, .len = strlen(text)};
  html_add_cut(out, &whole, most);
}

/* --- The page and its views ----------------------------------------------- */

void page_begin(StrBuf *out, const char *title) {
  strbuf_add(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>");
  page_add_cut(out, title, PAGE_TITLE_MOST);
  strbuf_addf(out,
              "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
              "<header>\n<h1>",
              style);
  page_add_cut(out, title, PAGE_TITLE_MOST);
  strbuf_add(out, "</h1>\n</header>\n");
}

void page_begin_view(StrBuf *out, const char *title) {
  strbuf_addf(out, "<section class=\"view %s\" data-title=\"%s\">\n", title,
              title);
}

void page_end_view(StrBuf *out, const char *script) {
  strbuf_addf(out, "<script>\n%s</script>\n</section>\n", script);
}

void page_end(StrBuf *out) {
  strbuf_addf(out, "<script>\n%s</script>\n</body>\n</html>\n", views_script);
}

/* --- The head of a view of steps ------------------------------------------ */

void page_begin_steps(StrBuf *out, const char *what) {
  page_begin_view(out, "steps");
  strbuf_addf(out,
              "<p>How it is %s: each step replaces "
              "<mark class=\"redex\">what is marked</mark> by "
              "<mark class=\"contractum\">what becomes of it</mark>.</p>\n"
              "<nav hidden>\n"
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

/* The mark may reach beyond the lines that are shown; then it ends with
 * them. */
void page_add_program(StrBuf *out, const StepText *t, const char *class) {
  const char *text = strbuf_text(&t->text);
  StepCut cut = stepper_cut(t, PAGE_LINES);
  size_t from = cut.from, to = cut.to;
  if (t->lo > from + NEAR_MOST)
    from = utf8_next(text, t->lo - NEAR_MOST, t->lo);
  size_t hi = least(t->hi, to);
  if (hi > t->lo + MARK_MOST) hi = utf8_next(text, t->lo + MARK_MOST, hi);
  if (to > hi + NEAR_MOST) to = utf8_next(text, hi + NEAR_MOST, to);
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

/* --- The end of a view of steps ------------------------------------------- */

void page_end_steps(StrBuf *out, const char *why, PageLines *lines,
                    const StrBuf *heats) {
  strbuf_add(out, "</main>\n<footer>");
  html_add(out, why, strlen(why));
  strbuf_add(out, "</footer>\n<div id=\"sources\">\n");
  if (lines) html_add_sources(out, lines);
  strbuf_add(out, "</div>\n<script type=\"application/json\" id=\"heats\">[\n");
  if (heats) strbuf_add_len(out, strbuf_text(heats), heats->len);
  strbuf_add(out, "]</script>\n");
  page_end_view(out, steps_script);
}
