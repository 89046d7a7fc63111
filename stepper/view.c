/* Everything that a step shows, in one struct: what the terminal, the page and
 * JSON lay out in their own ways.
 *
 * The texts are made by text.c and say.c; here they are put together, and long
 * ones are cut.  A view owns its texts and is made anew for each step. */
#include "stepper/inside.h"

typedef struct Texts {
  StrBuf *of[5];
} Texts;

static Texts texts_of(StepView *v) {
  return (Texts){{&v->now.text, &v->names, &v->inside, &v->says, &v->cells}};
}

void stepper_view_init(StepView *v, Mem *mem) {
  *v = (StepView){.rule = ""};
  Texts texts = texts_of(v);
  for (int i = 0; i < 5; i++) strbuf_init(texts.of[i], mem);
  VEC_INIT(&v->around, mem);
}

void stepper_view_done(StepView *v) {
  Texts texts = texts_of(v);
  for (int i = 0; i < 5; i++) strbuf_done(texts.of[i]);
  for (size_t i = 0; i < v->around.len; i++) strbuf_done(&v->around.data[i]);
  VEC_DONE(&v->around);
}

/* A step that ended in an error has applied no rule. */
static const char *rule_of(const StepEntry *e) {
  switch (e->outcome) {
    case STEP_RULE: return step_rule_info[e->rule].name;
    case STEP_VALUE: return "value";
    case STEP_ERROR: return "error";
    default: return "limit";
  }
}

/* The place of an error is the fault's, which may lie inside of the redex. */
void stepper_view(Stepper *s, StepView *v) {
  Mem *mem = s->mem;
  const StepEntry *e = stepper_entry(s);
  stepper_view_done(v);
  stepper_view_init(v, mem);
  if (!e) return;
  text_view(s, e, v);
  say_step(s, e, &v->says);
  say_cells(s, e, &v->cells);
  v->rule = rule_of(e);
  v->number = e->count;
  Span span = e->outcome == STEP_ERROR ? step_fault(s->machine)->span : e->span;
  v->place = sources_place(s->program->sources, span);
}

void stepper_becomes(Stepper *s, StepText *out, StrBuf *inside) {
  const StepEntry *e = stepper_entry(s);
  if (e) text_becomes(s, e, out, inside);
}

/* --- Long texts --------------------------------------------------------- */

static size_t line_start(const char *text, size_t at) {
  while (at > 0 && text[at - 1] != '\n') at--;
  return at;
}

static size_t line_end(const StepText *t, size_t at) {
  const char *text = strbuf_text(&t->text);
  while (at < t->text.len && text[at] != '\n') at++;
  return at;
}

static size_t count_lines(const char *text, size_t from, size_t to) {
  size_t n = 0;
  for (; from < to; from++) n += text[from] == '\n';
  return n;
}

/* A third of the lines stand before the mark.  The window ends at the last line
 * if the text is shorter; a mark that is longer than the window shows its
 * beginning. */
StepCut stepper_cut(const StepText *t, size_t lines) {
  const char *text = strbuf_text(&t->text);
  StepCut c = {.from = line_start(text, t->lo)};
  for (size_t i = 0; i < lines / 3 && c.from > 0; i++)
    c.from = line_start(text, c.from - 1);
  c.to = line_end(t, c.from);
  for (size_t i = 1; i < lines && c.to < t->text.len; i++)
    c.to = line_end(t, c.to + 1);
  c.before = count_lines(text, 0, c.from);
  c.behind = count_lines(text, c.to, t->text.len);
  return c;
}
