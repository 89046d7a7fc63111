/* The text of a flag as a source of its own, so that messages show it. */
#include "passes/flag_text.h"

#include <string.h>

bool flag_open(FlagText *t, Program *p, const char *where, const char *text,
               DiagCode code, const char *written) {
  *t = (FlagText){.p = p, .code = code, .written = written};
  t->source = sources_add(p->sources, where, text, strlen(text), false);
  if (!t->source) return false;
  t->at = t->source->text;
  flag_skip_blanks(t);
  return true;
}

Span flag_span(const FlagText *t, const char *from, const char *to) {
  uint32_t base = t->source->base;
  return (Span){base + (uint32_t)(from - t->source->text),
                base + (uint32_t)(to - t->source->text)};
}

void flag_skip_blanks(FlagText *t) { t->at += strspn(t->at, " \t\n"); }

bool flag_accept(FlagText *t, char c) {
  flag_skip_blanks(t);
  if (*t->at != c) return false;
  t->at++;
  flag_skip_blanks(t);
  return true;
}

bool flag_expected(FlagText *t, const char *what) {
  Span here = flag_span(t, t->at, t->at + (*t->at != 0));
  Diag *d = diag_error(t->p->diags, t->code, here, "expected %s", what);
  diag_hint(d, "%s", t->written);
  return false;
}
