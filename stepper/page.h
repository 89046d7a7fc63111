/* The inside of pages: what their files share.
 *
 *   page.c        an <article> for each step of the machine
 *   rewrites.c    an <article> for each rewrite by a pass
 *   versions.c    an <article> for each pass of a pipeline
 *   page_parts.c  what these have in common
 *   panel.c       what stands beside a step: calls, names, cells
 *   heat.c        larger tensors, to be opened and drawn
 *   html.c        the sources */
#ifndef STEPPER_PAGE_H
#define STEPPER_PAGE_H

#include "base/html.h"
#include "stepper/inside.h"

/* A line of a file in which a step stands. */
typedef struct PageLine {
  const SourceFile *file;
  uint32_t line;
} PageLine;
typedef VEC(PageLine) PageLines;

/* --- page_parts.c --------------------------------------------------------- */

enum {
  PAGE_TITLE_MOST = 200, /* bytes */
  PAGE_MOST = 64 << 20,
};

/* Cuts the text at `most` bytes. */
void page_add_cut(StrBuf *out, const char *text, size_t most);

/* A page has views, of which one is shown at a time.  The class and the title
 * of a view is a word, "steps" or "versions"; its script runs at its end. */
void page_begin(StrBuf *out, const char *title);
void page_begin_view(StrBuf *out, const char *title);
void page_end_view(StrBuf *out, const char *script);
void page_end(StrBuf *out);

/* The head of a view of steps.  `what` says what the steps do with the program:
 * "evaluated" or "rewritten".  After the head come the kinds of steps that can
 * be folded. */
void page_begin_steps(StrBuf *out, const char *what);
void page_begin_folds(StrBuf *out);
void page_add_fold(StrBuf *out, const char *name, const char *help);
void page_end_folds(StrBuf *out);
/* The lines around the mark, as a <pre> in which it is a <mark> of the class.
 */
void page_add_program(StrBuf *out, const StepText *t, const char *class);
/* After the last step: why there are no more, the sources around `lines` and
 * the tensors that can be drawn (NULL: none), and the end of the view. */
void page_end_steps(StrBuf *out, const char *why, PageLines *lines,
                    const StrBuf *heats);

/* --- versions.c ----------------------------------------------------------- */

/* Adds the versions as a view. */
void versions_add_view(StrBuf *out, Versions *v);

/* --- html.c -------------------------------------------------------------- */

/* Adds the lines around `lines`, file by file; sorts them. */
void html_add_sources(StrBuf *out, PageLines *lines);

/* --- heat.c -------------------------------------------------------------- */

/* The tensors that the page can draw, each once. */
typedef struct Heats {
  Heap *heap;
  VEC(Tensor *) kept; /* one reference each, so that no other takes its place */
  VEC(StrBuf) captions; /* theirs, as far as asked for */
  PtrMap numbers;       /* tensor -> its number, from 1 */
  StrBuf text;          /* their elements, a JSON object each */
  size_t bytes;         /* of the tensors kept */
} Heats;

void heats_init(Heats *h, Mem *mem, Heap *heap);
void heats_done(Heats *h);
/* Adds figures for the larger tensors in a value, each named by the way to it
 * (".0").  Returns how many. */
int heats_add_figures(Heats *h, StrBuf *out, const StepObj *v);

/* --- panel.c ------------------------------------------------------------- */

/* The page under construction (stepper.h). */
struct StepPage {
  Stepper *stepper;
  Mem *mem;
  StrBuf text;
  Heats heats;
  PageLines lines;
  uint32_t articles;
};

/* Adds all of the panels of the step at hand. */
void panel_add(StepPage *p, const StepEntry *e);

#endif
