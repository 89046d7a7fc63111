/* What the names in a checked text mean. */
#ifndef LIB_NAMES_H
#define LIB_NAMES_H

#include "ir/program.h"
#include "ops/ops.h"

typedef enum NameKind {
  NAME_VAR,      /* a Var */
  NAME_GLOBAL,   /* a Global */
  NAME_TYPE,     /* an Adt */
  NAME_CTOR,     /* a Ctor */
  NAME_OPERATOR, /* an OpInfo */
} NameKind;

/* A name where it stands in a text of the user's. */
typedef struct Use {
  Span span;
  NameKind kind;
  const void *what;
  const Type *type; /* of a variable, or of a global at this use; or NULL */
  bool declares;
  bool param;    /* a variable that is a parameter */
  bool inferred; /* it declares a let or parameter without an annotation */
} Use;
typedef VEC(Use) Uses;

/* Adds the names in all texts of the user's, or in one of them, by their
 * places. */
void names_find(Program *p, Uses *out);
void names_find_in(Program *p, const Unit *u, Uses *out);
/* The name that the byte of the map lies in or directly after; or NULL. */
const Use *names_at(const Uses *uses, uint32_t at);
/* Where it is declared; SPAN_NONE: it is an operator. */
Span name_declaration(const Use *use);
/* The innermost expression of the text that holds the byte, with its type; or
 * NULL. */
const Expr *expr_at(Program *p, uint32_t at);

#endif
