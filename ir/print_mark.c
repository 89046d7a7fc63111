/* Where expressions come to stand in the text (unit_print_marked). */
#include "ir/printer.h"

static bool is_wanted(const PrintWanted *w, const Expr *e) {
  if (w->expr) return w->expr == e;
  return span_exists(w->span) && w->span.lo == e->span.lo &&
         w->span.hi == e->span.hi;
}

void print_mark_begin(Printer *p, const Expr *e) {
  for (uint32_t i = 0; p->marks && i < p->marks->count; i++)
    if (is_wanted(&p->marks->wanted[i], e))
      VEC_PUSH(&p->marking, (PrintMark){e, doc_mark(&p->doc, i)});
}

void print_mark_end(Printer *p, const Expr *e) {
  while (p->marking.len > 0 && VEC_LAST(&p->marking).expr == e)
    doc_unmark(&p->doc, VEC_POP(&p->marking).range);
}
