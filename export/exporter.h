/* An export under way, for the files of this room.
 *
 * The program is evaluated with names of a graph in the place of tensors.  What
 * is known while that is done leaves no trace in the graph: tuples, records,
 * closures, calls, a `match` on a constructor that is known.  What is left is
 * nodes. */
#ifndef EXPORT_EXPORTER_H
#define EXPORT_EXPORTER_H

#include "base/split.h"
#include "export/export.h"
#include "onnx/ops.h"
#include "onnx/write.h"
#include "ops/ops.h"

/* --- Values --------------------------------------------------------------- */

typedef enum ValKind {
  VAL_TENSOR,   /* a value of the graph, or a constant that may become one */
  VAL_SEQUENCE, /* a List of tensors, as a value of the graph */
  VAL_OPTIONAL, /* an Option of one or of a tensor, likewise */
  VAL_TUPLE,
  VAL_DATA, /* a constructor and its fields */
  VAL_FN,   /* a function and the frame that it was made in */
} ValKind;

typedef struct Frame Frame;

typedef struct Val {
  ValKind kind;
  const Type *type; /* without parameters of the functions under way */
  const char *name; /* of those three; NULL: no node has needed the constant
                       yet */
  const OnnxGraph *graph; /* which has the name */
  bool made;              /* by a node: not an input, not a constant */
  const Tensor *constant; /* VAL_TENSOR: its value; NULL: not known */
  const char *reserved;   /* of a constant: the name of the initializer that it
                             becomes when a node first needs it; NULL: any */
  const Ctor *ctor;       /* VAL_DATA */
  int count;              /* VAL_TUPLE, VAL_DATA */
  struct Val *const *items;
  const Expr *fn;  /* VAL_FN: an EX_FN, EX_GLOBAL, EX_OP or EX_CTOR */
  const Var *self; /* the local name of a recursive one; or NULL */
  Frame *frame;
  const struct Val *tail_of; /* VAL_SEQUENCE: the one without its first element;
                                or NULL */
} Val;

/* A variable's value, which is found when it is first asked for. */
typedef struct Bound {
  Val *val;
  const Expr *value; /* to be evaluated in `frame`, `graph` */
  Frame *frame;
  OnnxGraph *graph;
  const Var *var;
  bool anew; /* in each graph that asks: the variable is lazy */
  bool busy;
} Bound;

/* The variables of a block, an arm or a call, and what a call's type parameters
 * stand for. */
struct Frame {
  PtrMap vars; /* Var -> Bound */
  Frame *outer;
  const Fn *fn; /* a call's function; NULL: no call */
  int type_count;
  const TypeVar *const *type_vars;
  const Type *const *types;
};

/* --- The export ----------------------------------------------------------- */

/* A recursive function that is being exported. */
typedef struct Active {
  const Fn *fn;
  const OnnxGraph *graph; /* in which it is written out; NULL: it is a Loop */
  const struct Active *up;
} Active;

/* A recursive function goes on after a call of itself, which gave the result
 * (loop.c). */
typedef struct Resumed {
  const struct Self *self;
  Val *result;
  const struct Resumed *up;
} Resumed;

/* A call that is under way. */
typedef struct CallSite {
  Span at;
  const struct CallSite *up;
} CallSite;

typedef struct Export {
  Program *p;
  Mem *mem;
  Arena *arena; /* the writer's */
  OnnxWriter *w;
  OnnxGraph *root, *graph; /* the model's, and the one at hand */
  Frame *frame;
  const ExportWish *wish;
  SplitStack stack;
  PtrMap globals;      /* Global -> Val */
  PtrMap given;        /* names that are outputs of a graph */
  VEC(Frame *) frames; /* to be freed */
  PtrMap circles;      /* Fn -> Circle, or the export itself: it has none */
  const Active *active;
  const Resumed *resumed; /* the innermost */
  const CallSite *site;   /* likewise */
  const char *hint; /* what the next node's output is to be called; or NULL */
  int calls;        /* under way, within each other */
  int graphs;       /* likewise */
  int64_t unrolled; /* calls of recursive functions so far */
  bool by_data;     /* a choice was made by a constructor that is known */
} Export;

/* Reports what ONNX cannot say, at the user's own call of what the library says
 * so; NULL. */
void *refuse(Export *x, Span at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- value.c -------------------------------------------------------------- */

Frame *frame_new(Export *x, Frame *outer);
void frame_bind(Export *x, Frame *f, const Var *var, Val *val);
void frame_bind_later(Export *x, Frame *f, const Var *var, const Expr *value);
/* A variable's value; NULL after reporting. */
Val *frame_value(Export *x, const Var *var, Span at);
/* The type without the parameters of functions under way. */
const Type *type_here(Export *x, const Type *t);

Val *val_tensor(Export *x, const Type *type, const char *name);
Val *val_constant(Export *x, const Tensor *t);
/* A constant that becomes an initializer of this name, or of one like it where
 * that is taken. */
Val *val_initializer(Export *x, const char *name, const Tensor *t);
Val *val_tuple(Export *x, const Type *type, int count, Val *const *items);
/* Constants: a scalar, a vector of int64, a scalar of a float dtype. */
Val *val_number(Export *x, DType dtype, int64_t n);
Val *val_real(Export *x, DType dtype, double v);
Val *val_ints(Export *x, int count, const int64_t *ints);

/* The name that the value has in the graph; NULL after reporting that it is no
 * tensor, no list and no Option. */
const char *val_name(Export *x, Val *v, Span at);
DType val_dtype(const Val *v);
/* False, after reporting: the rank is not known. */
bool val_rank(Export *x, const Val *v, Span at, int *rank);

/* What a list of tensors has as elements; NULL: it is no such type. */
const Type *list_element(Export *x, const Type *t);
/* The constructor of an element, where it is a list of anything; or NULL. */
const Ctor *list_cons(const Type *t);
/* What an Option of a tensor or of a list of them may hold; NULL: it is no such
 * type. */
const Type *option_element(Export *x, const Type *t);

/* Is it one value of a graph?  A list of tensors and an Option are, whatever is
 * known of them. */
bool val_is_slot(Export *x, const Val *v);
/* The tensors and sequences in a value, in order.  False after reporting that
 * there is a function in it. */
typedef VEC(Val *) Vals;
bool val_flatten(Export *x, Val *v, Vals *out, Span at);
/* The same value with others in their places, from `*next` on; a list of
 * tensors is one of them. */
Val *val_rebuild(Export *x, const Val *v, Val *const **next);
/* Have the two the same tuples and constructors?  False after reporting. */
bool val_agree(Export *x, const Val *a, const Val *b, Span at);

/* --- Nodes ---------------------------------------------------------------- */

OnnxNode *node_new(Export *x, const char *op);
/* False after reporting that the value has no name in the graph. */
bool node_in(Export *x, OnnxNode *n, Val *v, Span at);
Val *node_out(Export *x, OnnxNode *n, const Type *type);
/* A graph within a node to come, which is the one at hand from then on; NULL
 * after reporting that graphs nest too deep.  graph_leave goes back to the one
 * that it was before. */
OnnxGraph *graph_enter(Export *x, const char *name, Span at);
void graph_leave(Export *x, OnnxGraph *outer);
/* A node of one output over values that are tensors. */
Val *node_of(Export *x, const char *op, const Type *type, int count,
             Val *const *in);
const Type *tensor_type(Export *x, DType dtype, int rank, const Dim *dims);
/* Of lengths that nobody asks for. */
const Type *type_of_rank(Export *x, DType dtype, int rank);
Val *cast_to(Export *x, Val *v, DType dtype);

/* --- eval.c --------------------------------------------------------------- */

/* The value of an expression; NULL after reporting. */
Val *eval(Export *x, const Expr *e);
/* Binds a block's lets in a frame of its own, which is the one at hand from
 * then on.  False after reporting an item, which has an effect. */
bool block_enter(Export *x, const Block *b);
Val *call_value(Export *x, Val *fn, int count, Val *const *args,
                const Expr *at);

/* --- choose.c ------------------------------------------------------------- */

/* What is asked of the end of a recursive function's body (loop.c); of any
 * other expression it is the value. */
typedef enum Ask {
  ASK_VALUE,  /* of the end that is no call of itself */
  ASK_STEP,   /* the arguments of the call of itself; () for one that stays */
  ASK_MORE,   /* is the end a call of itself? */
  ASK_RESUME, /* the value of the end that is a call or has one, where that call
                 gave x->resumed */
} Ask;

typedef struct Circle Circle;

typedef struct Self {
  const Var *var; /* one of the two */
  const Global *global;
  const bool *changed;  /* which parameters some call of itself changes */
  const PtrMap *notes;  /* where ends may have their call within them (ends.c);
                           NULL: an end is the call, or has none */
  const Circle *circle; /* instead of both: any member of a circle */
} Self;

/* Which ends an expression has. */
enum { ENDS_VALUE = 1, ENDS_CALL = 2 };

Val *ask(Export *x, const Expr *e, Ask what, const Self *self);
/* Adds an output to a graph, of a type that is said where it is given. */
bool graph_gives(Export *x, OnnxGraph *g, Val *v, const OnnxValueType *type);
/* Is the expression a call of it? */
bool is_self_call(const Expr *e, const Self *self);

/* `ask` of the body of a circle's member: the one of number `which`, with these
 * arguments; `outer` is the frame around the functions. */
Val *ask_circle(Export *x, const Circle *c, Val *which, Val *const *args,
                Frame *outer, Ask what, const Self *self);

/* --- circle.c ------------------------------------------------------------- */

typedef struct Member {
  const Global *global; /* one of the two */
  const Var *var;
  const Fn *fn;
} Member;

/* Functions that call each other at their ends. */
struct Circle {
  int count;
  const Member *members;
  const Fn *fn; /* the function that stands for all: of a member's number and
                   the members' parameters, without a body.  NULL: the members'
                   parameters have different types */
};

/* The circle of a function, a global one or a local one of the frame's block;
 * NULL: it is in none. */
const Circle *circle_of(Export *x, const Global *global, const Var *local,
                        Frame *frame);
/* The number of a call's function in it; -1: it is none of them. */
int circle_member(const Circle *c, const Expr *callee);
/* A call of the function that the circle was found by. */
Val *circle_call(Export *x, const Circle *c, Frame *outer, Val *const *args,
                 const Expr *at);

/* --- ends.c --------------------------------------------------------------- */

/* Notes for each node of a body which ends it has.  False: no end has work left
 * after its call, or one has two calls, or a call in a branch or function. */
bool ends_noted(Export *x, const Fn *fn, const Self *self, PtrMap *notes);
/* The ends of an expression of the body; is it one itself? */
unsigned ends_known(const PtrMap *notes, const Expr *e, bool *end);
/* The arguments of the call that an end has or is; () for one that no call
 * changes. */
Val *step_args(Export *x, const Expr *end, const Self *self);
/* What the call has given, where the body around it is resumed (ASK_RESUME);
 * NULL: it is another call. */
Val *resumed_value(Export *x, const Expr *call);

/* --- loop.c --------------------------------------------------------------- */

/* The call of a function that mentions itself; `fn` is its EX_FN, the frame at
 * hand has its parameters. */
Val *loop_call(Export *x, const Fn *fn, const Self *self, Frame *frame,
               const Expr *at);
bool fn_mentions(Export *x, const Fn *fn, const Self *self);
/* The values of the function's parameters; NULL: memory ran out. */
Val **frame_args(Export *x, const Frame *f, const Fn *fn);
/* The same for a function all of whose calls of itself are tail calls. */
Val *loop_once(Export *x, const Fn *fn, const Self *self, Frame *frame,
               const Expr *at);

/* --- model.c -------------------------------------------------------------- */

/* The type of a tensor or a list of tensors, for a graph's border. */
OnnxValueType value_type(Export *x, const Type *t);

/* --- op.c ----------------------------------------------------------------- */

/* A call of an operator, for the functions of rows. */
typedef struct Said {
  Export *x;
  const Expr *e;
  const OpInfo *op;
  const Attrs *attrs;
  const Type *type;
  int count;        /* of operands that are no attributes */
  Val *const *args; /* of the call */
} Said;

typedef Val *SayFn(const Said *s);

Val *say_call(Export *x, const Expr *e);
/* A call of an operator that is a value; `at` has the type. */
Val *say_operator(Export *x, int op, int count, Val *const *args,
                  const Expr *at);
/* Attributes.  A number that has to be known; false after reporting. */
bool said_int(const Said *s, AttrName name, int64_t *out);
double said_real(const Said *s, AttrName name);
bool said_set(const Said *s, AttrName name);
/* Integers that have to be known; at most `most`.  -1 after reporting. */
int said_ints(const Said *s, AttrName name, int most, int64_t *out);
/* The same as a value, a vector of int64, which a node may compute. */
Val *said_vector(const Said *s, AttrName name);
/* The rank of operand i; -1 after reporting. */
int said_rank(const Said *s, int i);
/* False after reporting: the attribute must have its default. */
bool said_default(const Said *s, AttrName name);
void *said_refuse(const Said *s, const char *why);
/* The node's output, of the call's type. */
Val *said_out(const Said *s, OnnxNode *n);
OnnxNode *said_node(const Said *s, const char *op); /* over all operands */

/* --- inlined.c ------------------------------------------------------------ */

/* A call of an inlined function of the library, whose operator ONNX has. False:
 * it has none, or not for these arguments. */
bool say_inlined(Export *x, const Expr *e, Val **out);

/* --- library.c ------------------------------------------------------------ */

/* A call of a function of the library that ONNX has an operator for.  False: it
 * has none. */
bool say_library(Export *x, const Global *g, const Expr *e, int count,
                 Val *const *args, Val **out);

#endif
