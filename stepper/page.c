/* Steps for other programs: a self-contained page in HTML (page_parts.c), and
 * lines of JSON.
 *
 *   <article id="step-12" data-kinds="names" data-file="m.rly" data-line="3">
 *     <h2> number, rule, place     <pre> text with <mark class="redex">
 *     <p class="names"> ...        <p class="says"> the sentence
 *     <pre> what becomes of it, with <mark class="contractum">
 *     <div class="side"> calls, names, cells
 *
 * Everything that comes from the program goes through html_add() or
 * strbuf_add_escaped(): names and strings of a source are not trusted.  All
 * parts of a step are of bounded length, and so is the page. */
#include "stepper/page.h"

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

/* What stands in the redex's place after the rule. */
static void add_contractum(Stepper *s, StrBuf *out) {
  StepText t = {.lo = 0};
  StrBuf inside;
  strbuf_init(&t.text, s->mem);
  strbuf_init(&inside, s->mem);
  stepper_becomes(s, &t, &inside);
  if (stepper_at(s) == STEP_RULE)
    add_string(out, "contractum", strbuf_text(&t.text) + t.lo, t.hi - t.lo);
  strbuf_done(&t.text);
  strbuf_done(&inside);
}

/* The keys are those that docs/STEPPER.md lists; `before`, `redex` and `after`
 * put together are the text. */
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
  const StepText *t = &v.now;
  const char *text = strbuf_text(&t->text);
  add_string(out, "before", text, t->lo);
  add_string(out, "redex", text + t->lo, t->hi - t->lo);
  add_string(out, "after", text + t->hi, t->text.len - t->hi);
  add_text(out, "where", &v.names);
  add_text(out, "says", &v.says);
  add_text(out, "cells", &v.cells);
  add_contractum(s, out);
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

enum { PART_MOST = 4000 /* bytes of a sentence */ };

static void add_element(StrBuf *out, const char *class, const char *before,
                        const StrBuf *text) {
  if (!text->len) return;
  strbuf_addf(out, "<p class=\"%s\">%s", class, before);
  html_add_cut(out, text, PART_MOST);
  strbuf_add(out, "</p>\n");
}

StepPage *stepper_page_new(Stepper *s, const char *title) {
  StepPage *p = mem_alloc_zeroed(s->mem, sizeof *p);
  if (!p) return NULL;
  p->stepper = s;
  p->mem = s->mem;
  strbuf_init(&p->text, p->mem);
  VEC_INIT(&p->lines, p->mem);
  heats_init(&p->heats, p->mem, &s->machine->heap);
  page_begin(&p->text, title);
  page_begin_steps(&p->text, "evaluated");
  page_begin_folds(&p->text);
  for (int i = 0; i < FOLD_COUNT; i++)
    page_add_fold(&p->text, step_fold_info[i].name, step_fold_info[i].help);
  page_end_folds(&p->text);
  return p;
}

void stepper_page_free(StepPage *p) {
  if (!p) return;
  strbuf_done(&p->text);
  VEC_DONE(&p->lines);
  heats_done(&p->heats);
  mem_free(p->mem, p, sizeof *p);
}

/* --- A step -------------------------------------------------------------- */

static void add_heading(StrBuf *out, const StepView *v) {
  strbuf_addf(out, "<h2>%llu <b>%s</b>", (unsigned long long)v->number,
              v->rule);
  if (v->place.file) {
    strbuf_add(out, "<small>");
    html_add(out, v->place.file->path, strlen(v->place.file->path));
    strbuf_addf(out, ":%u:%u</small>", v->place.line, v->place.column);
  }
  if (v->inside.len) {
    strbuf_add(out, "<small>in ");
    html_add_cut(out, &v->inside, PAGE_TITLE_MOST);
    strbuf_add(out, "</small>");
  }
  strbuf_add(out, "</h2>\n");
}

/* A rule that binds a name at the end of a definition leaves no text at all. */
static void add_becomes(StepPage *p, const StepView *v) {
  StepText t = {.lo = 0};
  StrBuf inside;
  strbuf_init(&t.text, p->mem);
  strbuf_init(&inside, p->mem);
  stepper_becomes(p->stepper, &t, &inside);
  const char *now = strbuf_text(&inside);
  strbuf_add(&p->text, "<div class=\"becomes\"><p>and becomes");
  if (t.text.len && strcmp(now, strbuf_text(&v->inside))) {
    strbuf_add(&p->text, inside.len ? ", in " : ", outside of functions");
    html_add(&p->text, now, inside.len);
  }
  if (t.hi == t.lo)
    strbuf_addf(&p->text, ": nothing is left in its place%s",
                t.text.len ? ", what follows is" : "");
  strbuf_add(&p->text, "</p>\n");
  if (t.text.len) page_add_program(&p->text, &t, "contractum");
  strbuf_add(&p->text, "</div>\n");
  strbuf_done(&t.text);
  strbuf_done(&inside);
}

static void begin_article(StepPage *p, const StepEntry *e, const StepView *v) {
  StrBuf *out = &p->text;
  p->articles++;
  if (e->outcome == STEP_RULE)
    strbuf_addf(out, "<article id=\"step-%llu\"",
                (unsigned long long)v->number);
  else strbuf_addf(out, "<article id=\"end-%u\"", p->articles);
  strbuf_addf(out, " data-step=\"%llu\" data-kinds=\"",
              (unsigned long long)v->number);
  for (StepFold kind = 0; kind < FOLD_COUNT; kind++) {
    if (e->outcome != STEP_RULE || !select_takes(p->stepper, e, kind)) continue;
    strbuf_addf(out, "%s ", step_fold_info[kind].name);
  }
  strbuf_add_char(out, '"');
  const Place *at = &v->place;
  if (at->file) {
    strbuf_add(out, " data-file=\"");
    html_add(out, at->file->path, strlen(at->file->path));
    strbuf_addf(out, "\" data-line=\"%u\" data-from=\"%u\" data-to=\"%u\"",
                at->line, at->column,
                at->end_line == at->line ? at->end_column : 0);
    VEC_PUSH(&p->lines, (PageLine){at->file, at->line});
  }
  strbuf_addf(out, "%s>\n", e->outcome == STEP_ERROR ? " class=\"error\"" : "");
}

bool stepper_page_step(StepPage *p) {
  StrBuf *out = &p->text;
  const StepEntry *e = stepper_entry(p->stepper);
  StepView v;
  if (out->len + p->heats.text.len > PAGE_MOST) return false;
  stepper_view_init(&v, p->mem);
  stepper_view(p->stepper, &v);
  begin_article(p, e, &v);
  add_heading(out, &v);
  uint64_t passed = stepper_passed(p->stepper);
  if (passed)
    strbuf_addf(out, "<p class=\"left\">%llu step%s passed over</p>\n",
                (unsigned long long)passed, passed == 1 ? "" : "s");
  strbuf_add(out, "<div class=\"text\">\n");
  page_add_program(out, &v.now, "redex");
  add_element(out, "names", "where ", &v.names);
  for (size_t i = 0; i < v.around.len; i++)
    add_element(out, "around", "_ in: ", &v.around.data[i]);
  if (v.outer)
    strbuf_addf(out, "<p class=\"around\">and %llu more around that</p>\n",
                (unsigned long long)v.outer);
  add_element(out, "says", "", &v.says);
  if (e->outcome == STEP_RULE) add_becomes(p, &v);
  strbuf_add(out, "</div>\n");
  panel_add(p, e);
  strbuf_add(out, "</article>\n");
  stepper_view_done(&v);
  return true;
}

const StrBuf *stepper_page_end(StepPage *p, const char *why,
                               Versions *versions) {
  page_end_steps(&p->text, why, &p->lines, &p->heats.text);
  if (versions) versions_add_view(&p->text, versions);
  page_end(&p->text);
  return &p->text;
}
