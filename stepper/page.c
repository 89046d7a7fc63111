/* Steps for other eyes: a page in HTML, that needs nothing but itself, and
 * lines of JSON. */
#include "stepper/inside.h"

#include <string.h>

/* --- JSON --------------------------------------------------------------- */

static void add_string(StrBuf *out, const char *key, const char *text,
                       size_t len) {
  strbuf_addf(out, ", \"%s\": \"", key);
  strbuf_add_escaped(out, text, len);
  strbuf_add_char(out, '"');
}

static void add_text(StrBuf *out, const char *key, const StrBuf *text) {
  if (text->len) add_string(out, key, strbuf_text(text), text->len);
}

static void add_place(StrBuf *out, const Place *p) {
  if (!p->file) return;
  add_string(out, "file", p->file->path, strlen(p->file->path));
  strbuf_addf(out, ", \"line\": %u, \"column\": %u", p->line, p->column);
}

/* The text in three parts, so that nobody has to count. */
static void add_marked(StrBuf *out, const StepView *v) {
  const char *text = strbuf_text(&v->text);
  add_string(out, "before", text, v->lo);
  add_string(out, "redex", text + v->lo, v->hi - v->lo);
  add_string(out, "after", text + v->hi, v->text.len - v->hi);
}

void stepper_json(Stepper *s, StrBuf *out) {
  StepView v;
  stepper_view_init(&v, s->mem);
  stepper_view(s, &v);
  strbuf_addf(out, "{\"step\": %llu, \"rule\": \"%s\"",
              (unsigned long long)v.number, v.rule);
  add_place(out, &v.place);
  add_text(out, "in", &v.inside);
  add_marked(out, &v);
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
