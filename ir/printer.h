/* What the files of the printer share.  print_unit.c lays out items,
 * print_expr.c expressions, print_block.c what stands in braces, print_type.c
 * types and attributes, print_comment.c puts comments back, print_name.c finds
 * names for the variables of resolved programs; they all add to one document
 * (doc.h). */
#ifndef IR_PRINTER_H
#define IR_PRINTER_H

#include "base/split.h"
#include "ir/doc.h"
#include "ir/print.h"

/* An expression whose text is a range of the document. */
typedef struct PrintMark {
  const Expr *expr;
  size_t range;
} PrintMark;

typedef struct Printer {
  Doc doc;
  Mem *mem;
  const Program *program;   /* NULL for types alone */
  const SourceFile *source; /* NULL: nothing to take comments and blanks from */
  const Comment *comments;
  int comment_count, next_comment;
  int all_comments;   /* comment_count may be less: see print_window */
  bool plain;         /* comments as TVM reads them */
  int run_end;        /* a run of comments on one line ends before it, */
  bool run_ends_line; /* and it is the end of the line */
  bool resolved;      /* variables are named by print_name.c, and binders
                         show the types that were found */
  bool lets;          /* graph variables that are evaluated where they stand
                         print as lets */
  bool beside_locals; /* a session's values are in scope: their names are
                         taken */
  const PrintMarks *marks; /* NULL: no expression is looked for */
  VEC(PrintMark) marking;  /* those of them that are being printed */
  SplitStack stack;        /* of the recursion over expressions */
  int type_levels; /* of a type that are still shown; below them `...` */
  VEC(const Expr *) spine; /* scratch of the loops over left-deep chains */
  PtrMap names;            /* Var -> the Name it prints as */
  PtrMap in_scope;         /* Name -> itself, for names that are taken */
  PtrMap suffixes;         /* Name -> the last suffix that it was given */
  VEC(const Name *) scope; /* the same, to leave scopes again */
  PtrMap type_vars;        /* Name -> the TypeVar that it means here */
} Printer;

void printer_init(Printer *p, Mem *mem, const Program *program);
void printer_done(Printer *p);

/* --- Lists in brackets ---------------------------------------------------- */

/* A group: bracket, items that break all or none, bracket.  print_comma goes
 * before every item but the first; `end` is where the closing bracket stands
 * in the source (0: unknown). */
void print_list_open(Printer *p, const char *bracket);
void print_comma(Printer *p, bool first);
void print_list_close(Printer *p, const char *bracket, uint32_t end);

/* ` { a, b }` of `count` items separated by print_comma, with a comma after the
 * last where they stand on lines of their own; in the caller's group. */
void print_braces_open(Printer *p, int count);
void print_braces_close(Printer *p, int count, uint32_t end);

/* The semicolon after what stands at `span`, and the comments before it. */
void print_semicolon(Printer *p, Span span);

/* --- Parts of programs ---------------------------------------------------- */

void print_type_expr(Printer *p, const TypeExpr *t);
void print_type_params(Printer *p, int count, const TypeParam *params);
void print_type(Printer *p, const Type *t);
/* `: T`: the annotation, or in a resolved program the type that was found. */
void print_annotation(Printer *p, const TypeExpr *written, const Type *found);
/* The same of what a let binds to `value`. */
void print_let_type(Printer *p, const TypeExpr *written, const Type *found,
                    const Expr *value);
/* `sign` stands between the name and the value. */
void print_attr(Printer *p, const Attr *attr, const char *sign);
void print_string(Printer *p, const char *bytes, size_t len);
void print_meta(Printer *p, const char *key, int64_t index);
void print_constant(Printer *p, const struct Tensor *t);

/* What a call says between its parentheses: a resolved call of an operator has
 * its attributes in its record.  The number of attributes; the first
 * `*operands` arguments are positional. */
int print_attrs_of(Printer *p, const Expr *call, const Attr **attrs,
                   int *operands);
/* The first binding that is printed.  Those before it read named dimensions,
 * which the text names themselves. */
int print_first_shown(const Block *b);
/* What the item that is an import brought in; NULL: an earlier one had done so.
 */
const Unit *unit_imported_by(const Program *program, const Item *item);

void print_expr(Printer *p, const Expr *e);
/* The text of an expression begins and ends here: for those that are looked
 * for, a range of the document.  Nested, as the expressions are. */
void print_mark_begin(Printer *p, const Expr *e);
void print_mark_end(Printer *p, const Expr *e);
void print_pattern(Printer *p, const Pattern *pattern);

/* `{ body }`; `end` is the place of the closing brace (0: unknown). */
void print_braced(Printer *p, const Expr *body, uint32_t end);
/* The bindings and the result of a block, without braces; on one line where
 * they may be and have room. */
void print_block(Printer *p, const Block *b, bool one_line);
/* ` = value`, the value on a line of its own where its beginning does not
 * fit. */
void print_bound(Printer *p, const Expr *value);
/* Everything of a function after `def @name` or `fn `: a part of the caller's
 * group. */
void print_fn_rest(Printer *p, const Expr *e, uint32_t end);
/* The same of an `op`: its conditions, `=` and the body. */
void print_operator_rest(Printer *p, const Expr *e, uint32_t end);
/* Everything of a rule of rewriting after its name. */
void print_sides(Printer *p, const Item *item, uint32_t end);
/* Everything of a rule of differentiation after its operator. */
void print_rule_rest(Printer *p, const Expr *e, uint32_t end);
void print_match(Printer *p, const Expr *e);

/* --- Comments and blank lines --------------------------------------------- */

/* Adds the comments that stand before the place `at` in the source. */
void print_comments(Printer *p, uint32_t at);
/* A line between two items, the second at `at`: an empty one when the source
 * had one there (comments between them bring their own). */
void print_line_between(Printer *p, uint32_t at);
/* The first token at or after `at` that is no opening parenthesis. */
uint32_t print_first_token(const Printer *p, uint32_t at);
/* Where `c` first stands outside comments at or after `from` and before `end`;
 * `from` when it does not. */
uint32_t print_find(const Printer *p, uint32_t from, uint32_t end, char c);
/* Only the comments of the lines from the one after `lo` to that of `hi`, but
 * none after `next`, are printed from now on. */
void print_window(Printer *p, uint32_t lo, uint32_t hi, uint32_t next);

/* --- Names of resolved variables ------------------------------------------ */

/* Gives a variable a name that nothing in scope has. */
void print_bind(Printer *p, const Var *v);
/* The number of names in scope now, and the return to that number. */
size_t print_scope(const Printer *p);
void print_leave(Printer *p, size_t scope);
/* What the variable is called, and `%x` of it. */
const Name *print_name_of(const Printer *p, const Var *v);
void print_var(Printer *p, const Var *v);
/* A graph variable, of which the resolved program has made a let. */
bool print_is_graph(const Printer *p, const Binding *b);

/* Brings type parameters into scope; `hidden` has room for what their names
 * meant before, to which print_leave_types goes back.  NULL: there was no
 * memory for it. */
void print_bind_types(Printer *p, int count, const TypeVar *const *vars,
                      const TypeVar **hidden);
void print_leave_types(Printer *p, int count, const TypeVar *const *vars,
                       const TypeVar *const *hidden);
/* Does the text of the type mean that type here?  All names in it are in scope,
 * and the parser reads types as deep. */
bool print_can_say(Printer *p, const Type *t);

#endif
