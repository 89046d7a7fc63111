/* Programs as text.  Canonical: what is printed parses back to an equal
 * program, and printing that gives the same text.  Sugar and comments of
 * parsed units are kept; resolved programs print too (for `dump --ir`). */
#ifndef IR_PRINT_H
#define IR_PRINT_H

#include "ir/program.h"

enum { PRINT_WIDTH = 80 };

/* The unit as parsed, in canonical layout. */
void unit_print(const Program *p, const Unit *u, StrBuf *out);
/* A resolved definition, with types on binders where known. */
void global_print(const Program *p, const Global *g, StrBuf *out);
void expr_print(const Program *p, const Expr *e, StrBuf *out);
void pattern_print(const Program *p, const Pattern *pattern, StrBuf *out);
void type_expr_print(StrBuf *out, const TypeExpr *t);

/* Equal as programs: items in order, names of definitions, types, and
 * expressions up to renaming. */
bool unit_equal(Mem *mem, const Unit *a, const Unit *b);

#endif
