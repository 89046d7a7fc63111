/* The sources of a page, of bounded length.
 *
 * They stand in the page once.  Of each file there are the lines near
 * the steps of the page, so that a step in a large file costs no more than one
 * in a small one:
 *
 *   <section class="file" data-file="model.rly">
 *     <pre> <span data-line="12">...</span> ... */
#include <stdlib.h>
#include <string.h>

#include "base/html.h"
#include "stepper/page.h"

enum { NEAR_LINES = 20, LINE_MOST = 1000 };

/* --- Sources -------------------------------------------------------------- */

static int by_file(const void *a, const void *b) {
  const PageLine *x = a, *y = b;
  if (x->file != y->file)
    return (x->file->base > y->file->base) - (x->file->base < y->file->base);
  return (x->line > y->line) - (x->line < y->line);
}

/* Cut as html_add_cut cuts. */
static void add_line(StrBuf *out, const SourceFile *f, uint32_t line) {
  uint32_t len;
  const char *text = source_line((SourceFile *)f, line, &len);
  StrBuf whole = {.data = (char *)text, .len = len};
  strbuf_addf(out, "<span data-line=\"%u\">", line);
  html_add_cut(out, &whole, LINE_MOST);
  strbuf_add(out, "</span>\n");
}

/* The lines of one file; `next` is the first that was not added yet. */
static void add_lines(StrBuf *out, const PageLine *l, size_t count) {
  const SourceFile *f = l->file;
  uint32_t first = f->lines_before + 1, next = first, last = first;
  for (const char *c = f->text; c < f->text + f->len - (f->len > 0); c++)
    last += *c == '\n';
  for (size_t i = 0; i < count; i++) {
    uint32_t line = l[i].line;
    uint32_t from = line > first + NEAR_LINES ? line - NEAR_LINES : first;
    if (from > next) strbuf_addf(out, "<i>%u lines</i>\n", from - next);
    if (from > next) next = from;
    for (; next <= last && next <= line + NEAR_LINES; next++)
      add_line(out, f, next);
  }
  if (next <= last) strbuf_addf(out, "<i>%u lines</i>\n", last + 1 - next);
}

void html_add_sources(StrBuf *out, PageLines *lines) {
  if (lines->len) qsort(lines->data, lines->len, sizeof *lines->data, by_file);
  for (size_t i = 0, end; i < lines->len; i = end) {
    const PageLine *l = &lines->data[i];
    for (end = i; end < lines->len && lines->data[end].file == l->file;) end++;
    const char *path = l->file->path;
    strbuf_add(out, "<section class=\"file\" data-file=\"");
    html_add(out, path, strlen(path));
    strbuf_add(out, "\">\n<h3>");
    html_add(out, path, strlen(path));
    strbuf_add(out, "</h3>\n<pre>");
    add_lines(out, l, end - i);
    strbuf_add(out, "</pre>\n</section>\n");
  }
}
