/* Changes to a text: its canonical layout, and what mends a mistake. */
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

/* --- Layout -------------------------------------------------------------- */

/* A text as parsed and laid out, in a context of its own. */
typedef struct Layout {
  rly_context *cx;
  rly_program *program;
  const Unit *was, *is;
  StrBuf text;
} Layout;

static void layout_done(Layout *l) {
  if (l->program) strbuf_done(&l->text);
  rly_program_free(l->program);
  rly_context_free(l->cx);
}

/* False after fail(). */
static bool lay_out(Server *s, const Document *d, Layout *l, Failure *f) {
  *l = (Layout){.cx = rly_context_new(&s->options)};
  l->program = l->cx ? rly_program_new(l->cx) : NULL;
  if (!l->program) return false;
  strbuf_init(&l->text, l->program->mem);
  l->was = program_parse_text(l->program, d->path, strbuf_text(&d->text.bytes),
                              d->text.bytes.len);
  if (l->was) l->is = unit_format(l->program, d->path, l->was, &l->text);
  if (l->is && !mem_exhausted(l->program->mem)) return true;
  rly_diagnostic first;
  bool told = rly_diagnostic_get(l->cx, 0, &first);
  fail(f, FAIL_REFUSED, "%s", told ? first.message : "out of memory");
  return false;
}

/* One edit from the first line that differs to the last. */
json_t *serve_format(Server *s, const json_t *params, Failure *f) {
  Document *d = document_unchecked(s, params, f);
  Layout l;
  if (!d) return NULL;
  json_t *edits = NULL;
  if (lay_out(s, d, &l, f)) {
    const char *was = strbuf_text(&d->text.bytes), *is = strbuf_text(&l.text);
    size_t n = d->text.bytes.len, m = l.text.len, same = 0, tail = 0;
    size_t most = n < m ? n : m;
    while (same < most && was[same] == is[same]) same++;
    while (same && was[same - 1] != '\n') same--;
    while (tail < most - same && was[n - 1 - tail] == is[m - 1 - tail]) tail++;
    while (tail && was[n - tail - 1] != '\n') tail--;
    edits = json_array();
    if (n != m || same < n)
      json_array_append_new(edits, text_edit(&d->text, same, n - tail,
                                             is + same, m - tail - same));
  }
  layout_done(&l);
  return edits;
}

/* Each item that has a part in the range is laid out; the items of both texts
 * are the same. */
json_t *serve_format_range(Server *s, const json_t *params, Failure *f) {
  size_t from, to;
  Layout l;
  Document *d = range_of(s, params, &from, &to, f);
  if (!d) return NULL;
  json_t *edits = NULL;
  if (lay_out(s, d, &l, f)) {
    edits = json_array();
    for (int i = 0; i < l.was->item_count && i < l.is->item_count; i++) {
      Span was = l.was->items[i].span, is = l.is->items[i].span;
      size_t lo = was.lo - l.was->source->base;
      size_t hi = was.hi - l.was->source->base;
      const char *text = l.is->source->text + (is.lo - l.is->source->base);
      size_t len = is.hi - is.lo;
      bool same = len == hi - lo &&
                  !memcmp(text, strbuf_text(&d->text.bytes) + lo, len);
      if (hi < from || lo > to || same) continue;
      json_array_append_new(edits, text_edit(&d->text, lo, hi, text, len));
    }
  }
  layout_done(&l);
  return edits;
}

/* --- Mending ------------------------------------------------------------- */

/* With the fix the text has fewer errors.  A hint is a guess. */
static bool mends(Server *s, const Document *d, const Problem *p) {
  Text text;
  text_init(&text, &s->mem, s->utf8);
  text_set(&text, strbuf_text(&d->text.bytes), d->text.bytes.len);
  size_t before = check_errors(&s->options, d->path, strbuf_text(&text.bytes),
                               text.bytes.len);
  text_replace(&text, p->fix.lo, p->fix.hi, p->fix.text, strlen(p->fix.text));
  size_t after = check_errors(&s->options, d->path, strbuf_text(&text.bytes),
                              text.bytes.len);
  text_done(&text);
  return after < before;
}

static json_t *action_of(const Document *d, const Problem *p) {
  char title[256];
  snprintf(title, sizeof title, "replace by `%s`", p->fix.text);
  json_t *edit = text_edit(&d->text, p->fix.lo, p->fix.hi, p->fix.text,
                           strlen(p->fix.text));
  json_t *changes = json_object(), *edits = json_array();
  json_array_append_new(edits, edit);
  json_object_set_new(changes, d->uri, edits);
  return json_pack("{sssss[O]sbs{so}}", "title", title, "kind", "quickfix",
                   "diagnostics", p->json, "isPreferred", true, "edit",
                   "changes", changes);
}

json_t *serve_actions(Server *s, const json_t *params, Failure *f) {
  size_t lo, hi;
  Document *d = range_of(s, params, &lo, &hi, f);
  if (!d) return NULL;
  json_t *all = json_array();
  for (size_t i = 0; i < d->problems.len; i++) {
    const Problem *p = &d->problems.data[i];
    if (!p->fix.text || p->hi < lo || p->lo > hi || !mends(s, d, p)) continue;
    json_array_append_new(all, action_of(d, p));
  }
  return all;
}
