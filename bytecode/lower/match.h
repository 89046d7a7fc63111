/* Matches in lowering: what the decision tree is made of (match_tree.c), and
 * what its code is made by (match.c). */
#ifndef BYTECODE_LOWER_MATCH_H
#define BYTECODE_LOWER_MATCH_H

#include "bytecode/lower/lower.h"

/* A piece of the scrutinee. */
typedef struct Part {
  Reg reg;
  const struct Part *root; /* whose register is owned */
  struct Part *parent;
  int word;         /* which one after the parent's header */
  bool owned;       /* `reg` holds it itself: it is far after the header */
  bool loaded;      /* on the path that is being emitted */
  const Type *type; /* NULL: of a root */
} Part;

typedef struct Node {
  enum {
    NODE_LEAF,
    NODE_GUARD,
    NODE_TEST,
    NODE_FAIL,
    NODE_TURNS, /* the arms in turn: `cases` has a leaf or a guard for each */
    NODE_GOTO
  } kind;
  int arm;
  Label to; /* of NODE_GOTO */
  Part *part;
  const Adt *adt;
  int case_count;
  const Ctor **ctors;
  struct Node **cases;
  struct Node *otherwise; /* NULL: the cases are all there are; of a guard:
                             where it does not hold */
} Node;

typedef struct ArmInfo {
  int leaves;
  Label label;
  int head;   /* the first of the alternatives that it is one of */
  int group;  /* of a head: leaves of alternatives that bind variables */
  Label body; /* of a head with such: where the body stands */
} ArmInfo;

typedef struct Matcher {
  Lower *l;
  const Match *match;
  const Type *type; /* of the scrutinee */
  const Type *result;
  Reg dst;
  Label end;
  ArmInfo *arms;
  VEC(Part *) loaded; /* on this path */
  PtrMap fields;      /* the hash of a part and a constructor -> the first
                         FieldParts (match_tree.c) */
  size_t lazy;
  size_t nodes, nodes_most; /* of the tree; more: the arms are tried in turn */
  bool too_many;
  bool guarded; /* some arm has a guard */
  /* For patterns of more than one level: */
  PtrMap binding; /* a pattern -> NULL: it binds nothing */
  PtrMap tests;   /* a pattern -> how many tests it makes */
  PtrMap shared;  /* a variable of alternatives -> Reg */
  Part *first;    /* shown when nothing matches */
  Span keyword;   /* blamed then */
} Matcher;

/* The roots an arm's pattern stands for: one, or the fields of a tuple that
 * is matched without being built. */
typedef struct Roots {
  int count; /* -1: the whole */
  Part **parts;
} Roots;

/* --- The tree ------------------------------------------------------------ */

Part *part_root(Matcher *m, Reg reg);
/* The parts of a constructor's or tuple's fields, the same for all arms; NULL
 * where memory runs out. */
Part **field_parts(Matcher *m, Part *p, const Pattern *pattern);
/* Does a pattern bind variables? */
bool binds(Matcher *m, const Pattern *p);
/* What is to be done with the value in `roots`. */
Node *match_tree(Matcher *m, const Roots *roots);

#endif
