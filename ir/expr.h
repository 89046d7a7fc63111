/* Expressions: the one program representation.
 *
 * The parser builds them from text with names in them; types/resolve maps them
 * to bound form (Var, Global, Ctor, operator) without graph variables; passes
 * map bound form to bound form; the printer writes both.  Nodes live in
 * arenas and are immutable once built, except for what the checker fills in:
 * `type`, `targs`, `call.bound`, a Fn's and a Var's `effects`.
 *
 * A chain of lets, sequence items and graph bindings is one Block with an
 * array of bindings, so 100,000 lets are not 100,000 deep.  Flat operator
 * chains (a + b + c ...) are left-deep: walk `args[0]` in a loop or with an
 * explicit stack. */
#ifndef IR_EXPR_H
#define IR_EXPR_H

#include "ir/type.h"

typedef enum ExprKind {
  /* Only before resolution: */
  EX_LOCAL,   /* %x           name */
  EX_GRAPH,   /* %3           index */
  EX_IDENT,   /* Cons, nn.relu: a constructor, operator or named dim; name */
  EX_META,    /* meta[key][n] name, index */
  EX_STRING,  /* "text"       text: uint8 UTF-8 vector */
  EX_BRACKET, /* [a, [b, c]]  args: a tensor literal or a stack */
  /* Before the types are known: */
  EX_FIELD, /* a.weight     args[0], field */
  /* In every form: */
  EX_CONST,  /* a tensor     constant */
  EX_GLOBAL, /* @f           name, then global */
  EX_TUPLE,  /* (a, b)       args */
  EX_LIST,   /* List[a, b]   args, list */
  EX_PROJ,   /* a.0          args[0], index */
  EX_CALL,   /* f(a, key=v)  callee, args, attrs */
  EX_FN,     /* fn (..) {..} fn */
  EX_BLOCK,  /* {..; e}      block */
  EX_IF,     /* args: condition, then, else */
  EX_MATCH,  /* match        args[0] the scrutinee, match */
  EX_REF,    /* ref(a) */
  EX_READ,   /* ref_read(r) */
  EX_WRITE,  /* ref_write(r, v) */
  /* Only after resolution: */
  EX_VAR,   /* a bound local  var */
  EX_CTOR,  /* a constructor as a value or callee  ctor */
  EX_OP,    /* an operator as a value or callee  op */
  EX_DIM,   /* a named dimension's value, int32  dim_var */
  EX_ERROR, /* stands for what was reported */
} ExprKind;

/* How a desugared node was written, so that it prints back the same way. */
typedef enum Sugar {
  SUGAR_NONE,
  SUGAR_INFIX,     /* a + b as call add(a, b) */
  SUGAR_NEGATE,    /* -a as negative(a) */
  SUGAR_NOT,       /* !a as logical_not(a) */
  SUGAR_AND,       /* a && b as if (a) {b} else {False} */
  SUGAR_OR,        /* a || b as if (a) {True} else {b} */
  SUGAR_ELSE_IF,   /* this if stands after `else` without braces */
  SUGAR_UNIT,      /* the () that a `;` after the last item gives */
  SUGAR_CTOR,      /* Nil written for Nil() */
  SUGAR_BRACES,    /* a block that was written with braces of its own */
  SUGAR_GRAPH,     /* a let made from a graph variable */
  SUGAR_BRACKET,   /* [a, b] as stack((a, b)) */
  SUGAR_LIST,      /* the same of an attribute's list: n=[a, 2] */
  SUGAR_SPLAT,     /* the name of a shape, s..., in an attribute's list */
  SUGAR_PIPE,      /* a |> f as call f(a) */
  SUGAR_PIPE_CALL, /* a |> f(b) as call f(a, b) */
  SUGAR_WITH,      /* {a with f = b} as call C(a, f=b) of the constructor that
                      a has, which is NULL until the types are known */
  SUGAR_WHERE,     /* conditions of an `op`, as assertions, then its body */
  SUGAR_GRADIENT,  /* with_vjp(f, g) of an `op`, g being its `gradient` */
  SUGAR_DEFAULT, /* a let for a parameter of an inlined function, which the call
                    leaves at its default */
} Sugar;

typedef struct Expr Expr;

/* A local variable: parameter, let, pattern variable.  Identity is the
 * pointer. */
typedef struct Var {
  const Name *name;
  Span span;
  const TypeExpr *annotation; /* NULL: none */
  const Type *declared;       /* the annotation's meaning; NULL: none */
  const Type *type;
  const struct Expr *value; /* a let's, once it was met by inference */
  int param_count;          /* a generalised let's parameters */
  const TypeVar *const *params;
  uint32_t id; /* unique in the program */
  bool lazy;   /* a graph node that may only fail or diverge: evaluated at the
                  first use that is reached (docs/LANGUAGE.md) */
  uint16_t effects; /* a function's: what calling it can do, with EFFECT_KNOWN
                      (program.h); 0: not known, so anything */
  bool is_dim;      /* a named dimension that a function reads as a value */
} Var;

/* --- Attributes as written ---------------------------------------------- */

typedef enum AttrExprKind {
  AX_INT,
  AX_FLOAT,
  AX_BOOL,
  AX_STRING,
  AX_NONE,
  AX_LIST,
  AX_META,
  AX_EXPR,
} AttrExprKind;

typedef struct AttrExpr {
  AttrExprKind kind;
  Span span;
  DType dtype;      /* of AX_INT, AX_FLOAT as written */
  int64_t integer;  /* AX_INT, AX_BOOL; the index of AX_META */
  double real;      /* AX_FLOAT */
  const char *text; /* AX_STRING: `count` bytes; the key of AX_META */
  int count;        /* AX_LIST: items; AX_STRING: bytes */
  const struct AttrExpr *const *items;
  const Expr *expr; /* AX_EXPR */
} AttrExpr;
/* Does it refer to the metadata section, which neither a resolved program nor a
 * document has? */
bool attr_expr_is_of_metadata(const AttrExpr *x);

typedef struct Attr {
  const Name *name; /* dotted names are one Name, "relay.reshape_only";
                       NULL: a whole record, meta[relay.attrs.X][n] */
  Span span;
  const AttrExpr *value;
} Attr;

/* --- Patterns, arms, bindings ------------------------------------------- */

typedef enum PatternKind {
  PT_WILD,
  PT_VAR,
  PT_CTOR,
  PT_TUPLE,
  PT_LITERAL, /* 0, True: what equals it */
  PT_OR,      /* p | q: what one of `fields` takes; only before resolution */
} PatternKind;

typedef struct Pattern {
  PatternKind kind;
  Span span;
  Var *var;                /* PT_VAR */
  const Name *name;        /* PT_CTOR, as written */
  const struct Ctor *ctor; /* PT_CTOR and PT_LITERAL, once resolved */
  struct Tensor *constant; /* PT_LITERAL: a scalar */
  bool parens;             /* PT_CTOR written with (...) */
  bool has_or;             /* is or holds a PT_OR */
  bool again;              /* PT_VAR that an alternative before has bound */
  const Name *label;       /* C(label=p): the field that it takes, before
                              resolution; NULL: by position */
  int height;              /* levels of patterns within it */
  int count;
  const struct Pattern *const *fields;
  const Type *type; /* filled in by the checker */
} Pattern;

/* The patterns without PT_OR that a parsed one stands for, in order.  False:
 * they are too many, and there are more than those in `out`. */
typedef VEC(const Pattern *) Patterns;
bool pattern_alternatives(Mem *mem, Arena *arena, const Pattern *whole,
                          Patterns *out);

/* Once resolved, each alternative of an or-pattern is an arm of its own, and
 * those that follow the first share its guard, body and variables. */
typedef struct Arm {
  Span span;
  const Pattern *pattern;
  const Expr *guard; /* a bool scalar; NULL: none */
  const Expr *body;
  bool braces;
  bool shares; /* an alternative: the body is that of the arm before it */
} Arm;

typedef struct Match {
  bool partial; /* match? */
  int arm_count;
  const Arm *arms;
} Match;

typedef enum BindingKind {
  BIND_LET,   /* let %x = value; recursive when the value is an EX_FN */
  BIND_AND,   /* ... and %g = fn ...: continues the group before it */
  BIND_ITEM,  /* value; */
  BIND_GRAPH, /* %3 = value;          only before resolution */
  BIND_FREE,  /* free_var %x: T; */
} BindingKind;

typedef struct Binding {
  BindingKind kind;
  Span span;
  Var *var;          /* LET, AND, FREE */
  int64_t index;     /* GRAPH */
  const Expr *value; /* all but FREE */
  Sugar sugar;       /* SUGAR_GRAPH */
} Binding;
typedef VEC(Binding) Bindings;

typedef struct Block {
  int count;
  const Binding *bindings;
  const Expr *result;
} Block;

typedef struct Fn {
  int type_param_count;
  const TypeParam *type_params;
  const TypeVar *const *type_vars; /* once resolved */
  int param_count;
  Var *const *params;
  int attr_count;
  const Attr *attrs;      /* Primitive=1 and the like: kept, without effect */
  const TypeExpr *result; /* NULL: none */
  const Type *declared_result;
  const Expr *body;
  uint16_t effects; /* of calling it, as in Var; by the checker */
} Fn;

/* Which branches of an `if` may be taken, by each time that it was checked:
 * functions of shapes are, once for each instance (types/branch.c). */
enum { BRANCH_THEN = 1, BRANCH_ELSE = 2, BRANCH_BOTH = 4 };

/* --- Nodes -------------------------------------------------------------- */

struct Expr {
  uint8_t kind;  /* ExprKind */
  uint8_t sugar; /* Sugar */
  bool parens;   /* written in parentheses of its own */
  int count;     /* number of args */
  Span span;
  const Type *type; /* by the checker */
  const Expr *const *args;
  union {
    const Name *name;        /* LOCAL, IDENT, GLOBAL before, META */
    struct Tensor *constant; /* CONST: immortal, lives in the program */
    struct {
      const Name *name;
      struct Global *global;
      const struct Expr *parsed; /* of a resolved node: it is told `targs` */
    } g;                         /* GLOBAL */
    struct {
      const Name *name;
      int64_t index;
    } meta;        /* META */
    int64_t index; /* PROJ, GRAPH */
    struct {
      const Name *name;
      Span span;                 /* of the name */
      const struct Ctor *ctor;   /* whose field it is, by the checker */
      const struct Expr *parsed; /* of a resolved node: where it tells that */
    } field;                     /* FIELD */
    struct {
      const Type *type; /* of a parsed node: the cell's, by the checker; the
                           error type where it has several */
      const struct Expr *parsed; /* of a resolved node: where it tells that */
    } cell;                      /* REF, READ, WRITE */
    struct {
      const struct Expr *parsed; /* of a resolved node: where `seen` is told */
      uint8_t seen;              /* BRANCH_ bits, by the checker */
      bool known; /* what is known decides it, without a shape, too: it stands
                     in a function that is inlined (types/branch.c) */
    } branch;     /* IF */
    struct {
      const char *bytes;
      size_t len;
    } text; /* STRING */
    struct {
      const Expr *callee;
      int attr_count;
      int late; /* how many of the arguments stand after the attributes */
      const Attr *attrs;
      const struct Attrs *bound; /* an operator call's record (ops/attr.h) */
    } call;
    struct {
      const Expr *head;      /* the type's name; then its constructor of an
                                element and a list, an EX_CTOR */
      struct Tensor *packed; /* scalar literals: instead of args, a vector */
    } list;                  /* LIST */
    const Fn *fn;
    struct {
      const Block *block;
      /* The library's function that the block is a call of: its lets are the
       * parameters (types/resolve_inline.c).  NULL: it is no such call. */
      const struct Global *inlined;
    }; /* BLOCK */
    const Match *match;
    Var *var;
    const struct Ctor *ctor;
    int op; /* an OpId (ops/ops.h) */
    const TypeVar *dim_var;
  };
  /* What a use of something polymorphic was instantiated with, in the order
   * of its type parameters: VAR, GLOBAL, CTOR, and any expression of
   * polymorphic function type that is used at an instance.  NULL: nothing. */
  int targ_count;
  const Type *const *targs;
};

/* Builders.  Arrays are used as they are (already in the arena). */
Expr *expr_new(Arena *a, ExprKind kind, Span span);
Expr *expr_const(Arena *a, Span span, struct Tensor *constant);
Expr *expr_call(Arena *a, Span span, const Expr *callee, int count,
                const Expr *const *args);
Expr *expr_if(Arena *a, Span span, const Expr *condition, const Expr *then,
              const Expr *otherwise);
/* It has the type of its result, which a parsed one lacks. */
Expr *expr_block(Arena *a, Span span, int count, const Binding *bindings,
                 const Expr *result);
/* The result, which may be NULL, after copies of these bindings, if there are
 * any.  Where memory runs out it stands alone, and the caller's phase gives
 * up. */
const Expr *expr_after(Arena *a, Span span, size_t count,
                       const Binding *bindings, const Expr *result);
/* let var = value */
static inline Binding binding_let(Span span, Var *var, const Expr *value) {
  return (Binding){.kind = BIND_LET, .span = span, .var = var, .value = value};
}
/* The reverse of expr_after: adds the bindings of `e` to `out`, and those of
 * the block that is its result, and so on; gives what comes after them. */
const Expr *expr_opened(const Expr *e, Bindings *out);
/* tuple.index, without a type. */
Expr *expr_proj(Arena *a, Span span, const Expr *tuple, int index);
Var *var_new(Arena *a, const Name *name, Span span, const TypeExpr *annotation);
/* The variable with its annotation. */
Span var_span(const Var *var);
/* The expression that gives the value: the result within all blocks. */
static inline const Expr *expr_result(const Expr *e) {
  while (e->kind == EX_BLOCK) e = e->block->result;
  return e;
}
/* Is it a `ref`, a `ref_read` or a `ref_write`? */
static inline bool expr_is_of_cell(const Expr *e) {
  return e->kind == EX_REF || e->kind == EX_READ || e->kind == EX_WRITE;
}
/* Is its value that of a part of it, as it is? */
static inline bool expr_has_tail(const Expr *e) {
  return e->kind == EX_IF || e->kind == EX_MATCH || e->kind == EX_BLOCK;
}
/* The name in `rank(s)`, which asks how many dimensions the shape `s` has;
 * NULL: the call is another. */
const Name *expr_rank_of(const Expr *call);
/* The index of the constructor's field of that name; -1: it has none. */
int ctor_field(const struct Ctor *ctor, const Name *name);
/* The constructor of a list literal's end: that of two which is not `cons`. */
const struct Ctor *ctor_nil(const struct Ctor *cons);
/* Where what `e` names is declared, and where the function that it names says
 * what argument `i` has to be; SPAN_NONE: it names nothing. */
Span expr_declaration(const Expr *e);
Span expr_parameter(const Expr *callee, int i);

/* The child along which chains grow without nesting: f of f(a)(b), a of a + b +
 * c and of a && b && c, the tuple of a projection.  NULL: none.  In every
 * form.  Walks follow it in a loop. */
const Expr *expr_spine(const Expr *e);
/* How many bindings `let ... and ...` joins, from `first` on. */
int block_group(const Block *b, int first);
/* Is the binding of that block a `let` that `and` joins to no other? */
bool block_is_let(const Block *block, const Binding *b);
/* Do the names of the group that begins there come before its values?  Those of
 * functions do, which may name themselves and one another. */
bool block_binds_first(const Block *b, int first);

/* Equal up to renaming of locals and numbering of graph variables; spans,
 * sugar, parentheses and types are ignored.  Explicit stack. */
bool expr_equal(Mem *mem, const Expr *a, const Expr *b);

#endif
