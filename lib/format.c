/* Formatting that loses nothing, for our own tools and for hosts.
 *
 * A formatter that overwrites files must not lose a program.  So the text is
 * read back before it is used, and must be equal to what was read at first.
 * Comments are part of the parsed unit. */
#include "lib/format.h"

#include "ir/print.h"

const Unit *unit_format(rly_program *p, const char *path, const Unit *unit,
                        StrBuf *out) {
  size_t from = out->len;
  unit_print(p->ir, unit, out);
  if (mem_exhausted(p->mem)) return NULL;
  Unit *again =
      program_parse_text(p, path, strbuf_text(out) + from, out->len - from);
  if (again && unit_equal(p->ir->mem, unit, again)) return again;
  if (mem_exhausted(p->mem)) return NULL;
  diag_error(p->ir->diags, E0507, SPAN_NONE,
             "%s would be another program in the text that rly made of it",
             path);
  return NULL;
}

/* --- For hosts ------------------------------------------------------------ */

typedef struct Formatting {
  rly_program *p;
  const char *path, *text;
  size_t len;
  StrBuf out;
} Formatting;

static bool format(Formatting *f) {
  const Unit *unit = program_parse_text(f->p, f->path, f->text, f->len);
  return unit && unit_format(f->p, f->path, unit, &f->out);
}

/* A source map keeps every text for as long as it lives.  So the texts go to
 * one that ends here, and nothing is reported, for a report would point into
 * it. */
static bool format_apart(Formatting *f) {
  Program *ir = f->p->ir;
  SourceMap *sources = ir->sources, own;
  Diags *diags = ir->diags, unheard;
  sources_init(&own, f->p->mem);
  own.file_host = sources->file_host;
  ir->sources = &own;
  ir->diags = &unheard;
  bool fine = diags_init(&unheard, f->p->mem) && format(f);
  ir->sources = sources;
  ir->diags = diags;
  diags_done(&unheard);
  sources_done(&own);
  return fine;
}

/* A text that was refused is read once more, for its diagnostics. */
static rly_status format_or_tell(Formatting *f) {
  Deadline deadline;
  program_deadline_start(f->p, &deadline);
  bool fine = format_apart(f);
  if (!fine && !mem_exhausted(f->p->mem)) {
    strbuf_done(&f->out);
    strbuf_init(&f->out, f->p->mem);
    fine = format(f);
  }
  rly_status status = fine ? RLY_OK : program_failed(f->p, RLY_REFUSED);
  program_deadline_end(f->p, &deadline);
  return status;
}

/* The program is empty: as in `rly fmt`, nothing is in scope or checked.  It
 * takes the units with it, whose source map has gone by then. */
rly_status rly_text_format(rly_context *cx, const char *path, const char *text,
                           size_t len, char **formatted) {
  if (!require(cx, "the context is NULL") ||
      !require(path, "the path is NULL") ||
      !require(text || !len, "the text is NULL") ||
      !require(formatted, "the place of the result is NULL"))
    return RLY_MISUSE;
  rly_program *p = rly_program_new(cx);
  if (!p) return RLY_LIMIT;
  Formatting f = {.p = p, .path = path, .text = text ? text : "", .len = len};
  strbuf_init(&f.out, p->mem);
  rly_status status = RLY_MISUSE;
  if (program_enter(p)) {
    status = format_or_tell(&f);
    program_leave(p);
  }
  char *copy = status == RLY_OK ? text_take(cx, &f.out) : NULL;
  if (status != RLY_OK) strbuf_done(&f.out);
  if (status == RLY_OK && !copy) status = status_of_failure(cx, RLY_LIMIT);
  rly_program_free(p);
  if (copy) *formatted = copy;
  return status;
}
