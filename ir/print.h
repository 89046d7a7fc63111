/* Programs as text.  Canonical: what is printed parses back to an equal
 * program, and printing that gives the same text.  Sugar and comments of
 * parsed units are kept; resolved programs print too (for `dump --ir`), and
 * read back. */
#ifndef IR_PRINT_H
#define IR_PRINT_H

#include "ir/doc.h"
#include "ir/program.h"

enum { PRINT_WIDTH = 80 };

/* The unit as parsed, in canonical layout. */
void unit_print(const Program *p, const Unit *u, StrBuf *out);
/* The unit as checked, of which nothing is left to be inferred where the
 * language has words for it: with types on binders, attributes as they were
 * bound, and the units that it imports in their places.  It reads back as the
 * same program. */
void unit_print_checked(const Program *p, const Unit *u, StrBuf *out);
/* The same with a `let` for each graph variable that is evaluated where it
 * stands: all but those that may fail. */
void unit_print_lets(const Program *p, const Unit *u, StrBuf *out);
/* What is looked for: this expression or, where `expr` is NULL, each one that
 * has the span. */
typedef struct PrintWanted {
  const Expr *expr;
  Span span;
} PrintWanted;
typedef struct PrintMarks {
  uint32_t count;
  const PrintWanted *wanted;
  DocRanges *found; /* in the order of the text, the outer before the inner */
} PrintMarks;
/* The same as unit_print_checked; adds to `found` where each wanted expression
 * stands in the text: its `of` is the index in `wanted`. */
void unit_print_marked(const Program *p, const Unit *u, const PrintMarks *marks,
                       StrBuf *out);
void expr_print(const Program *p, const Expr *e, StrBuf *out);
void pattern_print(const Program *p, const Pattern *pattern, StrBuf *out);
void type_expr_print(StrBuf *out, const TypeExpr *t);
/* To be read by people, as type_print_brief. */
void type_expr_print_brief(StrBuf *out, const TypeExpr *t, size_t limit);
void dim_expr_print(StrBuf *out, const DimExpr *d);
/* A definition's type, whole; as written where it has instances. */
void global_type_print(const Program *p, const Global *g, StrBuf *out);
/* The first so many bytes of such a text, then three dots. */
void global_type_print_within(const Program *p, const Global *g, size_t limit,
                              StrBuf *out);

/* Equal as programs: items in order, names of definitions, types, and
 * expressions up to renaming. */
bool unit_equal(Mem *mem, const Unit *a, const Unit *b);

#endif
