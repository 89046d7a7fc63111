/* What is said of values that a program needs and was not given: one message,
 * with what the files hold that might have been meant.  Names of weights differ
 * between a file and a program more often by a prefix than by anything else. */
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "lib/handles.h"

/* Does `name` end in `end`, as model.w in w, whatever the case?  The character
 * before must be a separator, or `w` would be found at the end of `draw`. */
static bool ends_in(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  if (n < m || strcasecmp(name + n - m, end)) return false;
  return n == m || strchr("./_", name[n - m - 1]);
}

/* The tensor of a file that was probably meant, which is none that a param
 * takes; or NULL.  First a name that is the other's end, then one that is spelt
 * alike.  Params are asked last, as there may be as many as tensors. */
static const Bound *near_miss(rly_program *p, const char *name) {
  Suggestion near = suggestion_for(name);
  const Bound *best = NULL;
  for (size_t i = 0; i < p->bound.len; i++) {
    const Bound *b = &p->bound.data[i];
    if (!b->file || !b->name) continue;
    bool ends = ends_in(b->name, name) || ends_in(name, b->name);
    Suggestion with = near;
    if (!ends) suggestion_offer(&with, b->name);
    if ((!ends && with.best == near.best) || name_is_param(p, b->name))
      continue;
    best = b;
    if (ends) break;
    near = with;
  }
  return best;
}

/* Says once what is in the files, and that it is of no use where a program can
 * have none of it, as of a model whose weights are all quantized. */
static void note_files(Missing *m) {
  enum { NAMES = 8 };
  const rly_program *p = m->p;
  StrBuf names;
  strbuf_init(&names, p->ir->mem);
  size_t count = 0, unread = 0;
  const Bound *first = NULL;
  for (size_t i = 0; i < p->bound.len; i++) {
    const Bound *b = &p->bound.data[i];
    if (!b->file || !b->name) continue;
    if (++count <= NAMES)
      strbuf_addf(&names, "%s%s", count > 1 ? ", " : "", b->name);
    if (b->left_out && !unread++) first = b;
  }
  if (count > NAMES) strbuf_addf(&names, " and %zu more", count - NAMES);
  if (count)
    diag_note(m->diag, SPAN_NONE, "the files hold %s", strbuf_text(&names));
  if (count && unread == count)
    diag_note(m->diag, SPAN_NONE, "none of these can be read; `%s`: %s",
              first->name, first->left_out);
  m->files_told = true;
  strbuf_done(&names);
}

/* What the files hold in place of a name. */
static void note_near(Missing *m, const char *name) {
  rly_program *p = m->p;
  const Bound *near = near_miss(p, name);
  if (near && near->left_out) {
    diag_note(m->diag, SPAN_NONE, "%s holds `%s`, but %s", near->file,
              near->name, near->left_out);
  } else if (near) {
    StrBuf type;
    strbuf_init(&type, p->ir->mem);
    tensor_print_type(&type, near->tensor);
    diag_note(m->diag, SPAN_NONE, "%s holds `%s`: %s", near->file, near->name,
              strbuf_text(&type));
    strbuf_done(&type);
  } else if (!m->files_told) {
    note_files(m);
  }
}

void report_missing(Missing *m, const char *name, const Type *type, Span span) {
  /* a name may be lost, so any message could be wrong */
  if (mem_exhausted(m->p->ir->mem)) return;
  if (!m->diag) {
    m->diag = diag_error(m->p->ir->diags, E0503, SPAN_NONE,
                         "the program needs values that were not given");
    diag_hint(m->diag,
              "write %s=VALUE after the program, --params FILE, or "
              "`:param %s = VALUE` at the prompt",
              name, name);
  }
  if (m->count++ >= MISSING_MOST) return;
  StrBuf text;
  strbuf_init(&text, m->p->ir->mem);
  type_print(m->p->ir->types, &text, type, TYPE_TEXT_LINE);
  diag_note(m->diag, span, "`%s`: %s", name, strbuf_text(&text));
  strbuf_done(&text);
  note_near(m, name);
}

void missing_end(const Missing *m) {
  if (m->diag && m->count > MISSING_MOST)
    diag_note(m->diag, SPAN_NONE, "%zu more have no value",
              m->count - MISSING_MOST);
}
