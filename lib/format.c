/* Formatting that loses nothing.
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
