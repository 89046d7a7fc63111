/* Types: as written (TypeExpr, with spans) and as meant (Type, interned: equal
 * types are one pointer).  types/ turns the first into the second. */
#ifndef IR_TYPE_H
#define IR_TYPE_H

#include "base/source.h"
#include "base/vec.h"
#include "ir/kind.h"
#include "tensor/dim.h"
#include "tensor/tensor.h"

struct Adt;

/* --- As written --------------------------------------------------------- */

typedef enum DimExprKind {
  DX_NUMBER, /* 3 */
  DX_ANY,    /* ? */
  DX_NAME,   /* n */
  DX_ADD,
  DX_SUB,
  DX_MUL,
  DX_DIV,
  DX_META,  /* meta[tir.SizeVar][0]: a name without one, or `?` */
  DX_SPLAT, /* s...: the dimensions of a shape; ?s...: as many unknown ones */
} DimExprKind;

typedef struct DimExpr {
  DimExprKind kind;
  Span span;
  int64_t number;   /* DX_NUMBER; the index of DX_META */
  const Name *name; /* DX_NAME, DX_SPLAT; the key of DX_META */
  bool any;         /* DX_SPLAT: ?s... */
  const struct DimExpr *left, *right; /* of an operator; else NULL */
} DimExpr;

/* Appends the nodes of `d` in postfix order: `left`, `right`, operator.  An
 * expression may be as deep as its text is long, so nothing recurses over it.
 * False when memory runs out. */
typedef VEC(const DimExpr *) DimExprs;
bool dim_expr_postfix(const DimExpr *d, DimExprs *out);

typedef enum TypeExprKind {
  TX_TENSOR, /* Tensor[(2, ?), float32]; rank 0 when `scalar` is set */
  TX_TUPLE,  /* (A, B) */
  TX_FN,     /* fn [A, n: Dim](B) -> C */
  TX_REF,    /* Ref[A], ref(A) */
  TX_NAME,   /* a type variable, or an ADT applied to arguments */
  TX_HOLE,   /* _ */
  TX_DIM,    /* 4, n + 1: a dimension, as an argument of a data type */
} TypeExprKind;

/* A declared parameter: `A`, or `n: Dim`. */
typedef struct TypeParam {
  const Name *name;
  Span span;
  ParamKind kind;
} TypeParam;

typedef struct TypeExpr {
  TypeExprKind kind;
  Span span;
  int height;  /* levels of types within it */
  bool scalar; /* TX_TENSOR written as a bare dtype */
  DType dtype; /* TX_TENSOR */
  const Name
      *dtype_name; /* TX_TENSOR: a parameter that is its dtype, or NULL */
  Span dtype_span; /* of that name */
  bool whole; /* written Tensor[s, d] or Tensor[?, d]: a DX_SPLAT, DX_ANY */
  int dim_count;
  const DimExpr *const *dims;
  const Name *name; /* TX_NAME */
  bool brackets;    /* TX_NAME written with [...], even empty */
  /* Tuple fields, function arguments, ADT arguments, the ref's content. */
  int arg_count;
  const struct TypeExpr *const *args;
  const struct TypeExpr *result; /* TX_FN */
  int param_count;
  const TypeParam *params; /* TX_FN */
} TypeExpr;

/* `t` with an argument in the place of each parameter: a type, a dimension, a
 * shape (a tuple of dimensions, or a name), or a dtype (a scalar type, or a
 * name).  Shares with `t` what does not change. */
const TypeExpr *type_expr_put(Mem *mem, Arena *arena, const TypeExpr *t,
                              int count, const TypeParam *params,
                              const TypeExpr *const *args);

/* --- As meant ----------------------------------------------------------- */

typedef enum TypeKind {
  TY_TENSOR,
  TY_TUPLE,
  TY_FN,
  TY_REF,
  TY_ADT,
  TY_VAR,   /* a declared or generalised type parameter */
  TY_ERROR, /* unifies with everything, after a reported mistake */
  TY_META,  /* an inference variable; none is left after checking */
  TY_DIM,   /* a dimension that is an argument of a data type, no type */
} TypeKind;

/* A type parameter: identity is the pointer. */
typedef struct TypeVar {
  const Name *name;
  Span span;
  ParamKind kind;
  struct Var *number; /* of a function's Dim parameter: stands for its value
                         while the program runs, an int64 */
  /* The argument, in an instance: of a Shape `rank` dimensions, of a kind of
   * dtypes the dtype. */
  DType dtype;
  int rank;
  const struct TypeVar *const *axes;
} TypeVar;

typedef struct Type {
  TypeKind kind;
  uint8_t rank;  /* TY_TENSOR; 1 of a TY_DIM */
  bool any_rank; /* TY_TENSOR: Tensor[?, t], where rank is 1 and dims are (?) */
  uint8_t dtype; /* TY_TENSOR: a DType */
  bool has_var;  /* mentions a TypeVar that is free in it */
  bool has_meta; /* mentions an inference variable: not interned */
  uint32_t id;   /* dense, by order of creation */
  uint32_t size; /* nodes in the type as a tree, saturating */
  int count;     /* tuple fields, fn or ADT arguments; 1 for a ref */
  const struct Type *const *args;
  const Dim *dims;           /* TY_TENSOR, TY_DIM: `rank` of them */
  const struct Type *result; /* TY_FN */
  int param_count;           /* TY_FN: quantified parameters */
  uint32_t depth;            /* of nesting */
  const TypeVar *const *params;
  const struct Adt *adt; /* TY_ADT */
  const TypeVar *var;    /* TY_VAR */
  void *meta;            /* TY_META: types/ knows */
} Type;

typedef struct TypeTable TypeTable;
TypeTable *types_new(Mem *mem);
void types_free(TypeTable *t);
/* Is it one of the table's?  A type with metas is not in it. */
bool types_have(const TypeTable *t, const Type *type);
DimTable *types_dims(TypeTable *t); /* the normal forms of named dims */
/* Was a type asked for, since the last call, that is deeper than the stack has
 * room for?  The error type was made in its place. */
bool types_too_deep(TypeTable *t);

/* Constructors.  Arrays are copied; results live as long as the table.  With
 * arguments that have metas the result is fresh, else interned. */
const Type *type_tensor(TypeTable *t, DType dtype, int rank, const Dim *dims);
const Type *type_scalar(TypeTable *t, DType dtype);
/* Tensor[?, t].  Its values are counted, those of rank 0 as well.  What does
 * not ask for `any_rank` takes the type for Tensor[(?), t]. */
const Type *type_any_rank(TypeTable *t, DType dtype);
const Type *type_tuple(TypeTable *t, int count, const Type *const *fields);
const Type *type_unit(TypeTable *t);
const Type *type_fn(TypeTable *t, int param_count, const TypeVar *const *params,
                    int arg_count, const Type *const *args, const Type *result);
const Type *type_ref(TypeTable *t, const Type *content);
const Type *type_adt(TypeTable *t, const struct Adt *adt, int count,
                     const Type *const *args);
const Type *type_var(TypeTable *t, const TypeVar *var);
const Type *type_dim(TypeTable *t, Dim dim);
/* The parameter as an argument of its own. */
const Type *type_param(TypeTable *t, const TypeVar *var);
const Type *type_error(TypeTable *t);
const Type *type_meta(TypeTable *t, void *meta);
TypeVar *typevar_new(TypeTable *t, const Name *name, Span span, ParamKind kind);
Mem *types_mem(const TypeTable *t);

/* Does one of `vars` occur free in `type`?  With n = 0: does any variable? */
bool type_mentions(TypeTable *t, const Type *type, int n,
                   const TypeVar *const *vars);

/* `type` with `vars[i]` replaced by `to[i]` (entries that are Dim parameters
 * are replaced by `dims[i]`, or where `dims` is NULL by the TY_DIM that to[i]
 * is).  Linear in the type as a DAG; captures nothing:
 * quantified parameters that `to` or `dims` mention are renamed.  Inference
 * variables stay, so resolve solved ones first.  Where quantifiers clash more
 * than a hundred deep, or memory is exhausted, the result is the error type. */
const Type *type_substitute(TypeTable *t, const Type *type, int n,
                            const TypeVar *const *vars, const Type *const *to,
                            const Dim *dims);

static inline bool type_is_scalar(const Type *t) {
  return t->kind == TY_TENSOR && t->rank == 0;
}
/* Is every dimension known to be 1? */
static inline bool type_has_one_element(const Type *t) {
  if (t->kind != TY_TENSOR || t->any_rank) return false;
  for (int i = 0; i < t->rank; i++)
    if (!dim_is(t->dims[i], 1)) return false;
  return true;
}
static inline bool type_is_unit(const Type *t) {
  return t->kind == TY_TUPLE && t->count == 0;
}
/* Is a value of this type a counted pointer?  (A TypeVar's answer comes from
 * its instantiation; asking is our own mistake.) */
static inline bool type_is_counted(const Type *t) { return !type_is_scalar(t); }

/* As Relay prints types: `fn (int32) -> List[Tensor[(2, ?), float32]]`,
 * `ref(int32)`, `nat[]`, `(int32,)`.  Beyond `limit` characters (0: none) the
 * rest is elided as `...`. */
void type_print(const TypeTable *t, StrBuf *out, const Type *type,
                size_t limit);

/* The limit where a type is to be whole.  A few lines of text make one whose
 * tree has 2^1000 parts, for it is small as a DAG. */
enum { TYPE_TEXT_MOST = 1 << 20 };
/* The limits of a type in a sentence or a row, and of one that stands alone. */
enum { TYPE_TEXT_LINE = 200, TYPE_TEXT_PAGE = 2000 };
/* To be read by people: what lies more levels within the type, or beyond so
 * many bytes of its text, is `...`.  In a list of values each of which holds
 * the one before, the text would have quadratic length; where each holds it
 * twice, soon every line would reach TYPE_TEXT_MOST. */
enum { TYPE_LEVELS_SHOWN = 100, TYPE_BRIEF_MOST = 1 << 14 };
void type_print_brief(const TypeTable *t, StrBuf *out, const Type *type);
/* Cuts a type's text back to `limit` bytes and says so. */
void type_text_elide(StrBuf *out, size_t limit);

#endif
