/* Programs: parsed units (a file, the library, one REPL entry) and the
 * definitions in scope.  A program only grows: a unit is added, checked, and
 * from then on immutable. */
#ifndef IR_PROGRAM_H
#define IR_PROGRAM_H

#include "base/diag.h"
#include "ir/expr.h"

/* --- A unit as parsed --------------------------------------------------- */

typedef enum ItemKind {
  ITEM_DEF,        /* def @f ...            name, expr (an EX_FN) */
  ITEM_TYPE,       /* type T[A] { ... }     adt */
  ITEM_PARAM,      /* param @w: T = e;      name, annotation, expr or NULL */
  ITEM_LET_GLOBAL, /* let @x: T = e;        name, annotation, expr */
  ITEM_LET_LOCAL,  /* let %x: T = e;        name, annotation, expr */
  ITEM_EXPR,       /* e;                    expr */
  ITEM_IMPORT,     /* import "p.rly";       path */
  ITEM_GRADIENT,   /* gradient op(...) ...  name, expr: an EX_FN of operands,
                      the value and its adjoint; its attrs bind `$name`s */
  ITEM_RULE,       /* rule @r(...) ...      name, rule, expr: an EX_FN of the
                      pattern variables, whose body is a tuple: the left side,
                      the right one and, where there is one, the condition */
} ItemKind;

/* How equal the sides of a rule are: to the bit, all NaNs alike; within so many
 * units in the last place; or as real numbers. */
typedef enum GradeKind {
  GRADE_BITS,
  GRADE_ULP,
  GRADE_REAL,
  GRADE_COUNT,
} GradeKind;
const char *grade_word(GradeKind kind); /* "bits" */
GradeKind grade_find(const char *word); /* GRADE_COUNT: it is none */
typedef struct RuleGrade {
  GradeKind kind;
  int64_t ulps; /* GRADE_ULP */
  bool written; /* without one a rule is GRADE_BITS */
  Span span;
} RuleGrade;

/* A field's name where it is declared. */
typedef struct FieldName {
  const Name *name;
  Span span;
} FieldName;

typedef struct CtorDecl {
  const Name *name;
  Span span;
  bool parens; /* written with (...) */
  int field_count;
  const TypeExpr *const *fields;
  const FieldName *labels; /* of all fields; NULL: they have no names */
} CtorDecl;

typedef struct AdtDecl {
  const TypeExpr *meaning; /* type T = ...: an alias; NULL: a data type */
  const Name *name;
  Span span; /* of the name */
  bool is_extern, braces;
  int param_count;
  const TypeParam *params;
  int ctor_count;
  const CtorDecl *ctors;
} AdtDecl;

/* What a rule has beside its sides. */
typedef struct RuleFacts {
  RuleGrade grade;
  /* The definitions of the operators `@f` that it calls, with those that they
   * use; by the checker. */
  int used_count;
  const struct Item *const *used;
} RuleFacts;

/* Small, as a text may have a million. */
typedef struct Item {
  ItemKind kind;
  Span span; /* the whole item */
  Span name_span;
  bool continues; /* LET: joined to the item before it by `and` */
  bool own;       /* DEF: of an operator, `op @f`; GRADIENT: of such a one */
  bool linked;    /* a pass made it, or took it from another text */
  const Name *name;
  const TypeExpr *annotation;
  const Expr *expr;
  const AdtDecl *adt;
  const char *path;
  RuleFacts *rule; /* RULE; else NULL */
} Item;

/* Is the item evaluated by a step? */
bool item_is_step(const Item *item);
/* Is it the definition of @main? */
bool item_is_main(const Item *item);
/* Does it say what an @name is? */
bool item_is_global(const Item *item);

typedef struct Comment {
  Span span; /* with its delimiters */
} Comment;

/* An entry of the metadata section: a decoded tensor, an attribute record, or
 * a list of numbers or text.  See parser/metadata. */
typedef enum MetaKind {
  META_CONSTANT,
  META_RECORD,
  META_SIZE_VAR,
  META_OTHER,
} MetaKind;
typedef struct MetaEntry {
  const Name *key; /* "relay.Constant", "relay.attrs.ScanopAttrs" */
  int64_t index;
  MetaKind kind;
  struct Tensor *constant; /* META_CONSTANT */
  int attr_count;
  const Attr *attrs; /* META_RECORD, META_SIZE_VAR's name: as written */
} MetaEntry;

typedef struct Unit {
  SourceFile *source;
  Arena arena; /* owns every node of the unit, in every form */
  bool version_header;
  bool has_graph; /* graph variables are bound in it */
  bool plain;     /* the relay pass made it: printed for TVM */
  unsigned facts; /* what passes have found of it (passes/pass.h) */
  int item_count;
  const Item *items;
  int meta_count;
  const MetaEntry *meta;
  Span meta_span;             /* the section's text, for printing it back */
  const char *meta_text;      /* or one that the relay pass made; or NULL */
  int entry_count;            /* functions that a host asks a pass for: */
  const Name *const *entries; /* none: those that fit */
  bool loses_cell;     /* `functional` cannot follow its cells: `stores` does */
  bool loses_function; /* nor who is called: `Defunctionalization` says it */
  int unsaid_count;    /* annotations that the relay pass left out, since */
  const Span *unsaid;  /* plain Relay has no words for their types */
  int comment_count;
  const Comment *comments;
  /* After checking: what to evaluate, in order. */
  int step_count;
  struct Step *steps;
  const struct Unit *importer; /* NULL: it was not imported */
  Span import;                 /* of the importer's item; passes copy items */
  struct Unit *next;
} Unit;

/* --- Definitions -------------------------------------------------------- */

typedef struct Ctor {
  const Name *name;
  Span span;
  const struct Adt *adt;
  int tag; /* its index among the ADT's constructors */
  int field_count;
  const FieldName *labels;      /* of the fields; NULL: they have no names */
  const Type *const *fields;    /* over the ADT's parameters */
  const Type *type;             /* fn [A..](fields) -> T[A..] */
  const TypeExpr *scheme;       /* of a generic type, as written; or NULL */
  const struct Tensor *literal; /* the value that a literal pattern takes */
} Ctor;

/* A data type, an alias of a type, or the literals of one dtype in a match:
 * False and True, or numbers, of which the first stands for all others. */

typedef struct Adt {
  const Name *name;
  Span span;
  bool is_extern, library;
  bool literals; /* the constructors are literals */
  bool open;     /* of numbers: the first constructor is any other number */
  bool is_alias;
  const Type *meaning; /* of an alias, over its parameters; NULL: not resolved
                          yet, and `pending` says what it is */
  const void *pending; /* types/'s */
  const AdtDecl *decl; /* its text */
  int param_count;
  const TypeVar *const *params;
  int ctor_count;
  Ctor *ctors;
  /* A data type or an alias with parameters that are solved by instance
   * (ir/kind.def) is generic: its constructors have names, labels and schemes
   * only.  Each combination of ranks and dtypes that is used is an instance, in
   * no scope, with a Dim parameter for each axis of a shape. */
  bool is_generic;
  Unit *unit;                    /* of a generic one: it has the text */
  struct Adt *instances;         /* the same; the newest first */
  struct Adt *next_instance;     /* of the same generic type */
  const struct Adt *instance_of; /* or NULL */
  const KindArg *kind_args;      /* of an instance: by the text's parameters */
} Adt;

typedef enum GlobalKind {
  GLOBAL_DEF,   /* a function */
  GLOBAL_PARAM, /* an input of the program */
  GLOBAL_VALUE, /* let @x: a session's value */
  GLOBAL_LOCAL, /* let %x at top level: a session's value */
} GlobalKind;

/* What evaluating something can do; a set of EFFECT_ bits. */
typedef uint16_t Effects;
enum {
  EFFECT_READ = 1, /* reads state */
  EFFECT_WRITE = 2,
  EFFECT_ALLOC = 4,   /* evaluates `ref` */
  EFFECT_DIVERGE = 8, /* reaches a recursive component */
  EFFECT_FAIL = 16,
  EFFECT_PRINT = 32,
  EFFECT_PARAM = 64,  /* calls functions it was given: theirs, too */
  EFFECT_ALL = 63,    /* of a function that nothing is known of */
  EFFECT_KNOWN = 128, /* in Var and Fn: the others have been found */
  /* The code, or that of a function that it makes, depends on the types of its
   * values, not on their representations alone: it prints them, shows them in
   * a message, differentiates at them, or writes them to a cell. */
  EFFECT_TYPED = 256,
  /* It matters when it is called, and how often. */
  EFFECT_TIMED = EFFECT_READ | EFFECT_WRITE | EFFECT_PRINT | EFFECT_PARAM,
};
/* Is it the same, whenever and however often it is called? */
static inline bool fn_is_timeless(const Fn *fn) {
  return fn->effects & EFFECT_KNOWN && !(fn->effects & EFFECT_TIMED);
}

typedef struct Global {
  GlobalKind kind;
  const Name *name; /* without the sigil */
  Span span;        /* of the name */
  bool library;
  bool op; /* DEF: it is an operator of a text's own */
  const TypeExpr *annotation;
  const Expr *value; /* resolved; EX_FN for a def; NULL: a param, no default */
  const Type *type;  /* a generalised value's parameters are below */
  int param_count;
  const TypeVar *const *params;
  /* A function with parameters that are solved by instance (ir/kind.def) has
   * neither value nor type, but a scheme, its type as written, and instances,
   * which have both and are in no scope. */
  const TypeExpr *scheme;           /* NULL: it is no such function */
  struct Global *instances;         /* the newest first */
  struct Global *next_instance;     /* of the same function */
  const struct Global *instance_of; /* or NULL */
  struct Generic *generic;          /* types/'s, of such a function */
  /* A function of the library whose parameters have no types has neither value
   * nor type either, but a scheme with holes: each call is its body
   * (types/resolve_inline.c). */
  const Item *inlined; /* NULL: it is no such function */
  Unit *inlined_unit;
  struct Instance *instance; /* types/'s, of an instance */
  Effects effects;           /* of calling it (def, function value) */
  int slot; /* PARAM: index among the program's params; VALUE, LOCAL:
               index among a session's values; DEF: -1 */
  struct Definition *definition; /* the checker's, while it is checked */
  const char *stale; /* what it uses and has since been defined anew, as it is
                        written; NULL: nothing */
  void *code;        /* bytecode/'s, by instantiation */
} Global;

/* A Global or an Adt. */
typedef struct Named {
  const Name *name;
  const void *what;
  bool is_type;
} Named;

typedef enum StepKind { STEP_LET, STEP_EXPR } StepKind;
typedef struct Step {
  StepKind kind;
  Global *global;   /* STEP_LET: whose slot receives the value; STEP_EXPR:
                       that, too, when results have names, or NULL */
  const Expr *expr; /* resolved and typed */
  Span span;
} Step;

/* Names in scope.  The library is the outer scope of every file. */
typedef struct Scope {
  struct Scope *outer;
  PtrMap globals; /* name -> Global: @name */
  PtrMap locals;  /* name -> Global of kind LOCAL: top-level %name */
  PtrMap adts;    /* name -> Adt */
  PtrMap ctors;   /* name -> Ctor */
} Scope;

struct OpInfo;
struct Attrs;

typedef struct Program {
  Mem *mem;    /* of the units and names; whoever changes them has it */
  Mem *tables; /* of the types and the code, below that: sessions complete both
                  while they run, in turns */
  NameTable *names;
  SourceMap *sources;
  TypeTable *types;
  Diags *diags;
  Heap *heap;  /* constants' headers and buffers */
  Arena arena; /* definitions */
  Unit *units, *last_unit;
  Scope user, library;
  bool float64;      /* texts compute in float64 (passes/float64.c), */
  PtrMap *left_out;  /* without the definitions of these names and without
                        expressions; NULL: whole */
  bool name_results; /* of expressions: %_1, %_2 ... */
  int result_count;  /* of those named; of the entry, where it has a number */
  int entry;         /* the number of the entry that is added; 0: none */
  uint32_t lines_before; /* the next text, in the file that it is a part of */
  VEC(Global *) params;  /* by slot */
  VEC(Global *) values;  /* by slot */
  VEC(struct Tensor *) constants; /* what program_constant_take was given */
  /* What lost its name to a later text of the user, the latest last, until
   * lib/redefine.c has looked at who uses it. */
  VEC(Named) replaced;
  uint32_t next_var_id;
  /* The type of a container or function was used at one with other dimensions:
   * types do not tell what comes out of one (types/crossing.c). */
  bool loose;
  bool has_operators; /* a text has an `op` */
  /* Parses the library's definition of a name (and what its text defines
   * with it) as a unit of its own; NULL when the library has none.  Set by
   * lib/; `kind` is '@', 'T' (type), 'C' (constructor), 'G' (operator: how it
   * is differentiated) or 'R' (pass: its rules). */
  Unit *(*find_in_library)(struct Program *p, char kind, const Name *name);
  /* Offers the library's names of that kind.  Set by lib/. */
  void (*offer_library)(char kind, Suggestion *s);
  /* Reads and parses an imported file; NULL after reporting.  Set by lib/. */
  Unit *(*import)(struct Program *p, const Unit *from, const Item *item);
  void *host;                  /* lib/'s, for the two above */
  const struct HostOps *hosts; /* operators of the host (kernels/call.h) */
  /* Keeps other threads from the names and sources, which programs of one
   * context share.  Who parses or checks a text while sessions run calls it,
   * before it takes any other lock.  Set by lib/. */
  void (*hold_shared)(struct Program *p, bool hold);
  struct PassCall *passing; /* passes/'s: the pass under way; or NULL */
  /* The spelling of an OpId, for printing resolved programs.  Set by lib/. */
  const char *(*op_name)(int op);
  /* The attributes of a checked call of an operator, as they would be written,
   * without those at their defaults.  The first `*operands` arguments of the
   * call are positional; the others are values of attributes.  Set by lib/. */
  int (*attrs_written)(Arena *arena, NameTable *names, const Expr *call,
                       const Attr **attrs, int *operands);
  /* What a call of an operator without effects gives on constants, tuples
   * flattened: one tensor of the heap, owned.  NULL: it fails, or gives
   * several.  Set by lib/. */
  struct Tensor *(*constant_of_call)(struct Program *p, const struct OpInfo *op,
                                     const struct Attrs *attrs, int count,
                                     const struct Tensor *const *args);
} Program;

/* An empty program over what the caller owns and keeps alive; NULL when memory
 * runs out.  The names, sources, diagnostics and heap outlive the program. */
Program *program_new(Mem *mem, NameTable *names, SourceMap *sources,
                     Diags *diags, Heap *heap);
void program_free(Program *p);
/* A new, empty unit at the end of the program's list; never NULL while the
 * arena's promise holds (see mem.h). */
Unit *unit_new(Program *p, SourceFile *source);
/* Puts the text of `from`, as parsed, into an empty unit, of another program,
 * too.  The nodes stay those of `from`, which has to live as long. */
void unit_share(Unit *u, const Unit *from);
/* Removes and frees the newest unit (it was refused). */
void program_drop_unit(Program *p, Unit *u);

/* Relay's text of a lone expression becomes the function @main whose parameters
 * are its free variables (ir/fragment.c). */
void fragment_to_main(Program *p, Unit *u);

void scope_init(Scope *s, Scope *outer, Mem *mem);
void scope_done(Scope *s);
Global *scope_global(const Scope *s, const Name *name); /* outward; or NULL */
Global *scope_local(const Scope *s, const Name *name);
Adt *scope_adt(const Scope *s, const Name *name);
Ctor *scope_ctor(const Scope *s, const Name *name);

/* Reports that no text of the user's defines this function; `in`: that this one
 * does not. */
void program_no_function(Program *p, const Unit *in, const char *name);

/* What an item of the user's own texts defines; NULL when it is no value. */
Global *item_global(const Program *p, const Item *item);
/* The reverse; NULL: it is of the library, or a pass made it. */
const Item *global_item_of(const Program *p, const Global *g);
/* Its value; of a function with instances, that of one of them: they differ in
 * their types only. */
const Expr *global_body(const Global *g);
/* The type that a text means: of an instance, its generic type. */
static inline const Adt *adt_of_text(const Adt *adt) {
  return adt->instance_of ? adt->instance_of : adt;
}
/* The definition that a text means: of an instance, its function. */
const Global *global_of_text(const Global *g);
/* One of these names of the user's that a resolved expression mentions; NULL:
 * none, or memory ran out. */
const Name *program_mentions(const Program *p, const Expr *e,
                             const PtrMap *names);
const char *global_sigil(const Global *g); /* "%" of a session's value */

/* The expression that an attribute's value was written as, for the field of a
 * constructor. */
const Expr *attr_as_expr(Program *p, Arena *a, const AttrExpr *x);

/* Is the scalar literal written as digits alone, perhaps with signs, without a
 * suffix or a point?  In a bracket it takes the dtype of the other literals. */
bool literal_is_plain(const Program *p, const Expr *e);

/* An immortal constant of the program, from raw bits or from a tensor of its
 * heap that becomes the program's; freed with the program.  NULL, with the
 * tensor dropped and `exhausted` raised, when memory runs out. */
struct Tensor *program_scalar(Program *p, DType dtype, Value bits);
struct Tensor *program_constant_take(Program *p, struct Tensor *t);
/* A tensor to be filled and taken, owned until then; NULL as above. */
struct Tensor *program_tensor_new(Program *p, DType dtype, int rank,
                                  const int64_t *shape);

#endif
