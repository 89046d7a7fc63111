/* The generator's parts as they see one another.
 *
 *   generate.c    items: data types, functions, lets, what is evaluated
 *   gen_type.c    random types, plainest values
 *   gen_expr.c    expressions of any type
 *   gen_tensor.c  tensors and scalars
 *   gen_block.c   bindings, effects, matches
 *
 * How an expression grows, for a budget of a few nodes and the type int32:
 *
 *   gen_expr(int32)       picks gen_if, by the weights of gen_expr.c
 *     gen_expr(bool)        make_own -> gen_tensor -> "($ < $)"
 *       gen_expr(int32)       make_variable -> "%x3"
 *       gen_expr(int32)       budget used up: gen_leaf -> "7"
 *     gen_body(int32)       make_let: a value, %x4 in scope, the rest
 *     gen_body(int32)       gen_call -> "@f1(2, $)"
 *   text                  if ((%x3 < 7)) {
 *                         let %x4 = ...; %x4 } else {
 *                         @f1(2, ...) }
 *
 * A node is made after its children, and its text has a `$` for each.  All
 * state is in Gen; nothing is undone but the scope (mark, unbind), so one state
 * of the random numbers is one program. */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H

#include "fuzz/generate.h"

/* A name in scope: a variable or a global function. */
typedef struct GenVar {
  const char *text;    /* %x3, @f1 */
  const GenType *type; /* type parameters are G_VARs */
  int params;
  /* the fuel to pass as first argument; NULL when it takes none */
  const char *fuel;
  bool once; /* a call of it costs one of g->calls */
} GenVar;

enum { GEN_PARAMS = 3, GEN_PALETTE = 6 };

typedef struct Gen {
  Arena *arena;
  Mem *mem;
  uint64_t random;
  GenProgram *out;
  VEC(GenVar) vars; /* in scope, innermost last */
  VEC(GenAdt *) adts;
  int budget; /* number of nodes left to make */
  int depth;  /* current depth of nesting */
  int forced; /* bindings still to be made in the current body */
  int calls;  /* calls of fueled functions left in this body */
  int next_name;
  bool annotates; /* every parameter, every let */
  /* The program prefers these types, so that bound values are also used. */
  const GenType *palette[GEN_PALETTE];
  int palette_count;
  const GenType *rigid[GEN_PARAMS];
  int rigid_count; /* type parameters in scope */
} Gen;

/* --- Chance ------------------------------------------------------------- */

uint64_t gen_next(Gen *g);
static inline int gen_below(Gen *g, int n) {
  return (int)(gen_next(g) % (uint64_t)n);
}
static inline bool gen_chance(Gen *g, int percent) {
  return gen_below(g, 100) < percent;
}

/* A production of the grammar; `make` returns NULL where it does not apply. */
typedef struct GenRow {
  int weight;
  GenNode *(*make)(Gen *g, const GenType *t);
} GenRow;
GenNode *gen_pick(Gen *g, const GenType *t, const GenRow *rows, size_t count);

/* --- Making nodes ------------------------------------------------------- */

/* A node whose children replace the `$`s in the text, in order. */
GenNode *gen_node(Gen *g, const GenType *t, const char *text, int count, ...);
/* A list of children under construction. */
enum { GEN_CHILDREN_MAX = 16 };
typedef struct GenList {
  int count;
  GenNode *items[GEN_CHILDREN_MAX];
} GenList;
GenNode *gen_node_of(Gen *g, const GenType *t, const char *text,
                     const GenList *children);
static inline void gen_add(GenList *l, GenNode *n) { l->items[l->count++] = n; }
const char *gen_name(Gen *g, const char *prefix);
char *gen_textf(Gen *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *gen_type_name(Gen *g, const GenType *t);

/* --- Types (gen_type.c) ------------------------------------------------- */

const GenType *gen_tensor_of(Arena *a, const char *dtype, int rank,
                             const int *dims);
const GenType *gen_scalar(Arena *a, const char *dtype);
const GenType *gen_compound(Arena *a, GenKind kind, int count,
                            const GenType *const *args);
const GenType *gen_adt_of(Arena *a, const GenAdt *adt,
                          const GenType *const *args);
const GenType *gen_random_type(Gen *g, int depth);
const GenType *gen_random_tensor(Gen *g);
/* The text of an expression with its type ascribed, for places where inference
 * may not find it.  The same for a constructor, with `$` for its fields. */
const char *gen_ascribed(Arena *a, const GenType *t, const char *text);
const char *gen_ctor_text(Arena *a, const GenType *t, const GenCtor *c);
/* The type with every `?` replaced by a number. */
const GenType *gen_concrete(Gen *g, const GenType *t);
/* The type of a constructor's field in an instance of its ADT. */
const GenType *gen_field(Gen *g, const GenCtor *c, int i, const GenType *adt);

/* --- Expressions -------------------------------------------------------- */

GenNode *gen_expr(Gen *g, const GenType *t);
/* a variable, or the plainest expression */
GenNode *gen_leaf(Gen *g, const GenType *t);
GenNode *gen_tensor(Gen *g, const GenType *t);
GenNode *gen_literal(Gen *g, const GenType *t);
/* Bindings and an expression, as they stand between braces. */
GenNode *gen_body(Gen *g, const GenType *t);
/* As gen_body with more bindings, for functions. */
GenNode *gen_long_body(Gen *g, const GenType *t);
GenNode *gen_if(Gen *g, const GenType *t);
GenNode *gen_match(Gen *g, const GenType *t);
/* A function literal `fn (...) -> T { ... }` of the type. */
GenNode *gen_fn(Gen *g, const GenType *t);
/* A call of something in scope that returns a `t`; NULL when there is
 * nothing. */
GenNode *gen_call(Gen *g, const GenType *t);

size_t gen_mark(const Gen *g);
void gen_bind(Gen *g, GenVar v);
void gen_unbind(Gen *g, size_t mark);

#endif
