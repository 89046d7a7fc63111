/* Documents: text that does not know its line breaks yet (after Wadler's "A
 * prettier printer", as a flat sequence of tokens).
 *
 *   doc_open(d); doc_text(d, "f(");
 *   doc_indent(d); doc_line(d, LINE_SOFT); doc_text(d, "x"); doc_dedent(d);
 *   doc_line(d, LINE_SOFT); doc_text(d, ")"); doc_close(d);
 *
 * A group (open ... close) whose text fits on the rest of the line is laid
 * flat; else each line that belongs to it, and not to a group inside, breaks.
 * Lines that follow one another merge into the strongest of them.  Rendering
 * takes linear time and no recursion. */
#ifndef IR_DOC_H
#define IR_DOC_H

#include "base/strbuf.h"

typedef enum LineKind {
  LINE_SOFT,  /* flat: nothing */
  LINE_SPACE, /* flat: a blank */
  LINE_FILL,  /* a blank, or a break if what follows up to the next line does
                 not fit: whatever the group does */
  LINE_HARD,  /* always breaks, and so do the groups around it */
  LINE_BLANK, /* the same, leaving an empty line */
} LineKind;

typedef struct DocToken {
  uint8_t kind; /* DOC_..., see doc.c */
  uint8_t line; /* DOC_LINE: a LineKind */
  bool firm;    /* DOC_OPEN: what is before it on its line breaks first */
  bool opening; /* DOC_LINE after a bracket: never an empty line */
  bool hangs;   /* DOC_LINE: from here on a hanging text is indented, if it
                   breaks */
  uint32_t len;
  const char *text;
} DocToken;

/* A part of a document, and where it came to stand: bytes of what was added. */
typedef struct DocRange {
  uint32_t of; /* what the caller says it is */
  size_t lo, hi;
} DocRange;
typedef VEC(DocRange) DocRanges;

typedef struct Doc {
  Arena arena; /* texts that the document owns */
  VEC(DocToken) tokens;
  size_t line;  /* index of the line that nothing follows yet, or NO_LINE */
  char last;    /* the last character of text; 0: none yet */
  bool space;   /* a blank is due before the next text */
  bool ended;   /* nothing may be added to the line that is open */
  bool hanging; /* no text of what hangs has come yet */
  DocRanges *ranges; /* NULL: nobody asks where something stands */
} Doc;

void doc_init(Doc *d, Mem *mem);
void doc_done(Doc *d);

void doc_open(Doc *d);
void doc_open_firm(Doc *d);
void doc_close(Doc *d);
void doc_indent(Doc *d); /* lines that break here start two columns further */
void doc_dedent(Doc *d);

/* Text is borrowed until rendering; doc_textf keeps its own. */
void doc_text(Doc *d, const char *text);
void doc_text_len(Doc *d, const char *text, size_t len);
void doc_textf(Doc *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Text that appears only where the group around it is broken. */
void doc_text_if_broken(Doc *d, const char *text);
/* A blank before the next text, unless a line or closing bracket follows; and
 * a text with blanks of this kind around it. */
void doc_space(Doc *d);
void doc_word(Doc *d, const char *text);

void doc_line(Doc *d, LineKind kind);
/* The line after an opening bracket, where no empty line is kept, and the one
 * before a closing bracket, which takes an empty line away. */
void doc_line_opening(Doc *d, LineKind kind);
void doc_line_closing(Doc *d, LineKind kind);
/* A line after which a text hangs, such as the value after `=`, up to
 * doc_unhang: it breaks as LINE_FILL does.  Where it breaks, or a line after a
 * comment before the text does, what follows is indented. */
void doc_hang(Doc *d);
void doc_unhang(Doc *d);
/* What is added between the two is a range of the document, from its first text
 * to its last.  doc_mark gives the number that doc_unmark takes; there must be
 * `ranges`. */
size_t doc_mark(Doc *d, uint32_t of);
void doc_unmark(Doc *d, size_t range);
/* A comment: lines before what hangs may come after it, too. */
void doc_comment(Doc *d, const char *text, size_t len);
/* Text at the end of the line that is open: before the line token that has been
 * added since, which becomes hard. */
void doc_trailing(Doc *d, const char *text, size_t len);
/* The last text, such as a comment, extends to the end of its line: a hard
 * line, and nothing is trailing on it any more. */
void doc_end_line(Doc *d);

/* Lays the document out to `width` columns (0: no limit) and adds it to `out`.
 * A document that ends with a line ends with a newline. */
void doc_render(const Doc *d, size_t width, StrBuf *out);

#endif
