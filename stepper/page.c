/* Steps for other programs: a self-contained page in HTML, and lines of
 * JSON. */
#include "stepper/inside.h"

#include <string.h>

/* --- JSON --------------------------------------------------------------- */

/* The length is given, since a part of a text has no NUL. */
static void add_string(StrBuf *out, const char *key, const char *text,
                       size_t len) {
  strbuf_addf(out, ", \"%s\": \"", key);
  strbuf_add_escaped(out, text, len);
  strbuf_add_char(out, '"');
}

/* An empty text has no key. */
static void add_text(StrBuf *out, const char *key, const StrBuf *text) {
  if (text->len) add_string(out, key, strbuf_text(text), text->len);
}

void stepper_json(Stepper *s, StrBuf *out) {
  StepView v;
  stepper_view_init(&v, s->mem);
  stepper_view(s, &v);
  strbuf_addf(out, "{\"step\": %llu, \"rule\": \"%s\"",
              (unsigned long long)v.number, v.rule);
  const Place *p = &v.place;
  if (p->file) {
    add_string(out, "file", p->file->path, strlen(p->file->path));
    strbuf_addf(out, ", \"line\": %u, \"column\": %u", p->line, p->column);
  }
  add_text(out, "in", &v.inside);
  /* The text has three parts: before the redex, the redex, after it. */
  const char *text = strbuf_text(&v.text);
  add_string(out, "before", text, v.lo);
  add_string(out, "redex", text + v.lo, v.hi - v.lo);
  add_string(out, "after", text + v.hi, v.text.len - v.hi);
  add_text(out, "where", &v.names);
  add_text(out, "says", &v.says);
  add_text(out, "cells", &v.cells);
  if (stepper_passed(s)) {
    strbuf_addf(out, ", \"passed\": %llu",
                (unsigned long long)stepper_passed(s));
  }
  if (stepper_at(s) == STEP_VALUE) {
    strbuf_add(out, ", \"value\": ");
    step_print_json(s->machine, out, step_result(s->machine));
  }
  strbuf_add(out, "}\n");
  stepper_view_done(&v);
}

/* --- HTML --------------------------------------------------------------- */

enum { PAGE_LINES = 40 };

static const char style[] =
#include "stepper/page.css.inc"
    ;
static const char script[] =
#include "stepper/page.js.inc"
    ;

static void add_html(StrBuf *out, const char *text, size_t len) {
  for (size_t i = 0; i < len; i++) {
    switch (text[i]) {
      case '&': strbuf_add(out, "&amp;"); break;
      case '<': strbuf_add(out, "&lt;"); break;
      case '>': strbuf_add(out, "&gt;"); break;
      case '"': strbuf_add(out, "&quot;"); break;
      default: strbuf_add_char(out, text[i]); break;
    }
  }
}

static void add_element(StrBuf *out, const char *class, const char *before,
                        const StrBuf *text) {
  if (!text->len) return;
  strbuf_addf(out, "<p class=\"%s\">%s", class, before);
  add_html(out, strbuf_text(text), text->len);
  strbuf_add(out, "</p>\n");
}

static void add_folds(StrBuf *out) {
  strbuf_add(out, "<div class=\"folds\">fold:\n");
  for (int i = 0; i < FOLD_COUNT; i++) {
    const char *name = step_fold_info[i].name;
    strbuf_addf(out,
                "<label title=\"%s\"><input type=\"checkbox\" value=\"%s\"> "
                "%s</label>\n",
                step_fold_info[i].help, name, name);
  }
  strbuf_add(out, "</div>\n");
}

void stepper_page_begin(StrBuf *out, const char *title) {
  strbuf_add(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>");
  add_html(out, title, strlen(title));
  strbuf_addf(out,
              "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
              "<header>\n<h1>",
              style);
  add_html(out, title, strlen(title));
  strbuf_add(out,
             "</h1>\n<p>How it is evaluated: each step replaces what is "
             "marked.</p>\n</header>\n<nav hidden>\n"
             "<button id=\"back\">&#8592; back</button>\n"
             "<button id=\"forth\">step &#8594;</button>\n"
             "<input id=\"slider\" type=\"range\" min=\"0\" value=\"0\" "
             "aria-label=\"step\">\n<label id=\"count\"></label>\n"
             "<button id=\"list\"></button>\n"
             "<input id=\"search\" type=\"search\" "
             "placeholder=\"find, Enter\" aria-label=\"find\">\n");
  add_folds(out);
  strbuf_add(out, "</nav>\n<main>\n");
}

static void add_heading(StrBuf *out, const StepView *v) {
  strbuf_addf(out, "<h2>%llu <b>%s</b>", (unsigned long long)v->number,
              v->rule);
  if (v->place.file) {
    strbuf_add(out, "<small>");
    add_html(out, v->place.file->path, strlen(v->place.file->path));
    strbuf_addf(out, ":%u:%u</small>", v->place.line, v->place.column);
  }
  if (v->inside.len) {
    strbuf_add(out, "<small>in ");
    add_html(out, strbuf_text(&v->inside), v->inside.len);
    strbuf_add(out, "</small>");
  }
  strbuf_add(out, "</h2>\n");
}

static void add_left_out(StrBuf *out, size_t lines) {
  if (lines) {
    strbuf_addf(out, "<p class=\"left\">... %zu line%s</p>\n", lines,
                lines == 1 ? "" : "s");
  }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void add_program(StrBuf *out, const StepView *v) {
  const char *text = strbuf_text(&v->text);
  StepCut cut = stepper_cut(v, PAGE_LINES);
  size_t hi = least(v->hi, cut.to);
  add_left_out(out, cut.before);
  strbuf_add(out, "<pre>");
  add_html(out, text + cut.from, v->lo - cut.from);
  strbuf_add(out, "<mark>");
  add_html(out, text + v->lo, hi - v->lo);
  strbuf_add(out, "</mark>");
  add_html(out, text + hi, cut.to - hi);
  strbuf_add(out, "</pre>\n");
  add_left_out(out, cut.behind);
}

void stepper_page_step(Stepper *s, StrBuf *out) {
  const StepEntry *e = stepper_entry(s);
  StepView v;
  stepper_view_init(&v, s->mem);
  stepper_view(s, &v);
  strbuf_addf(out, "<article data-step=\"%llu\" data-kinds=\"",
              (unsigned long long)v.number);
  for (StepFold kind = 0; kind < FOLD_COUNT; kind++) {
    if (e->outcome != STEP_RULE || !select_takes(s, e, kind)) continue;
    strbuf_addf(out, "%s ", step_fold_info[kind].name);
  }
  strbuf_addf(out, "\"%s>\n",
              e->outcome == STEP_ERROR ? " class=\"error\"" : "");
  add_heading(out, &v);
  uint64_t passed = stepper_passed(s);
  if (passed)
    strbuf_addf(out, "<p class=\"left\">%llu step%s passed over</p>\n",
                (unsigned long long)passed, passed == 1 ? "" : "s");
  add_program(out, &v);
  add_element(out, "names", "where ", &v.names);
  for (size_t i = 0; i < v.around.len; i++)
    add_element(out, "around", "_ in: ", &v.around.data[i]);
  if (v.outer)
    strbuf_addf(out, "<p class=\"around\">and %llu more around that</p>\n",
                (unsigned long long)v.outer);
  add_element(out, "says", "", &v.says);
  add_element(out, "cells", "", &v.cells);
  strbuf_add(out, "</article>\n");
  stepper_view_done(&v);
}

void stepper_page_end(StrBuf *out, const char *why) {
  strbuf_add(out,
             "<article class=\"next\" id=\"becomes\" hidden>"
             "<p>and becomes</p><pre></pre></article>\n"
             "</main>\n<footer>");
  add_html(out, why, strlen(why));
  strbuf_addf(out, "</footer>\n<script>\n%s</script>\n</body>\n</html>\n",
              script);
}
