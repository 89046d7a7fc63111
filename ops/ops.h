/* The operator table.  Everything the project knows of an operator stands in
 * its row of ops.def, but for the kernel that runs it, which is bound to the
 * row in kernels/kernels.def. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include <string.h>

#include "ops/id.h"
#include "ops/known.h"

/* How results come to be. */
typedef enum OpStorage {
  STORE_FILL,    /* the caller allocates by the rule, contiguous; the kernel
                    fills */
  STORE_VIEW,    /* the kernel makes a view of operand 0 where strides allow */
  STORE_MAKE,    /* the kernel allocates: the shape depends on the data */
  STORE_SPECIAL, /* no kernel: the machine does what OpSpecial says */
} OpStorage;

/* Which elements of the operands one element of a result depends on. */
typedef enum OpReads {
  READS_ANY,     /* nothing is said */
  READS_NONE,    /* none: shapes and attributes tell it */
  READS_SAME,    /* those at its index, the operands broadcast: the operator is
                    element-wise */
  READS_CHANNEL, /* that at its index, and further operands' at its index
                    along the axis that an attribute names */
  READS_ONE,     /* one, at an index that shapes and attributes tell */
  READS_INDEXED, /* those that the values of other operands choose */
  READS_AXES,    /* all along the axes that the result lacks: a reduction */
  READS_BEFORE,  /* along `axis`, those up to its index: a scan */
  READS_LINE,    /* all along axes that the result keeps */
  READS_INNER,   /* lines of the operands, of which it sums the products */
  READS_WINDOW,  /* a window of the axes after the channels */
} OpReads;

/* How an operator becomes a step of a chain of element-wise operators
 * (bytecode/lower/chain.c), which writes no tensor between its steps. */
typedef enum OpFusion {
  FUSION_NONE,
  FUSION_STEP,   /* operands of one dtype; `params` are constants of the step */
  FUSION_CAST,   /* the result's dtype is another than the operand's */
  FUSION_CHOICE, /* operand 0 is bool and chooses between the others */
  FUSION_BIAS,   /* as `fused_as`, where attribute `axis` is the last one */
} OpFusion;

/* The operations on numbers that a call amounts to (ops/cost.h). */
typedef enum OpFlops {
  FLOPS_NONE,     /* elements are moved, or nobody can say */
  FLOPS_ELEMENT,  /* one for each element read or made, whichever are more */
  FLOPS_FUNCTION, /* likewise, but each takes as long as some ten sums */
  FLOPS_PRODUCT,  /* two for each multiply-add of a matrix product */
  FLOPS_CONV,     /* two for each weight that a result sums */
  FLOPS_CONV_TRANSPOSE, /* two for each weight that an element goes to */
} OpFlops;

/* Why a call may fail although its operands have the right types. */
typedef enum OpFails {
  FAILS_NEVER,
  FAILS_DIVISOR, /* an integer in operand 1 is 0 */
  FAILS_EMPTY,   /* an axis of operand 0 has no elements */
  FAILS_INDEX,   /* likewise; or an index is out of range, unless attribute
                    `mode` says to clip or wrap it */
  FAILS_DATA,    /* for what operands hold, otherwise */
} OpFails;

/* What a view shows, for those who read through it instead of making it. */
typedef enum OpView {
  VIEW_OTHER,   /* see the kernel; or none (OpStorage) */
  VIEW_RESHAPE, /* the elements in order, under another shape */
  VIEW_AXES,    /* axes of length 1 put in, the first at attribute `axis` */
  VIEW_PARTS,   /* parts along `axis`: each result shows one */
  VIEW_ROW,     /* along `axis`, what lies at an index: operand 1 */
} OpView;

/* In which of its operands an operator is linear, so that it gives the tangents
 * of its results itself: op_linear() tells it of a call. */
typedef enum OpLinear {
  LINEAR_NOT,      /* or forward runs do not ask */
  LINEAR_FIRST,    /* in the first, of any dtype; the results hold no numbers
                      of the others, which are indices or shapes: op(x', i) */
  LINEAR_TOGETHER, /* in all of floats at once: op(x', y') */
  LINEAR_ROWS, /* likewise, unless attribute `mode` combines what is set with
                  what was there otherwise than by a sum */
  LINEAR_EACH, /* in each of floats while the others stay: op(x', y) + op(x, y')
                */
} OpLinear;

/* Connectives, which lowering turns into jumps. */
typedef enum OpLogic { LOGIC_NONE, LOGIC_AND, LOGIC_OR, LOGIC_NOT } OpLogic;

/* What plain Relay's text, for TVM, has of a call beyond ours. */
typedef enum OpRelay {
  RELAY_SAME,
  RELAY_DTYPE,   /* attribute `dtype`, without which the result has none */
  RELAY_REPEATS, /* attributes that repeat the operands */
} OpRelay;

/* An operand that Relay casts to the dtype of another, where it differs.  The
 * checker does, and warns (W0004).  Operand 0 stands for none. */
typedef struct OpCast {
  int8_t operand, like;
} OpCast;

/* What the machine itself does. */
typedef enum OpSpecial {
  SPECIAL_NONE,
  SPECIAL_PRINT,
  SPECIAL_PRINT_TEXT,
  SPECIAL_ASSERT,
  SPECIAL_FAIL,
  SPECIAL_SAME_STRUCTURE,
  /* The forms: op_is_form. */
  SPECIAL_MAP_LEAVES,
  SPECIAL_GRAD,
  SPECIAL_VJP,
  SPECIAL_JVP,
  SPECIAL_STOP_GRADIENT,
  SPECIAL_CHECKPOINT,
  SPECIAL_WITH_VJP,
  /* op_is_lowered: */
  SPECIAL_CALL_LOWERED,
  SPECIAL_INVOKE,
  SPECIAL_ALLOC_STORAGE,
  SPECIAL_ALLOC_TENSOR,
  SPECIAL_KILL,
  SPECIAL_COUNT
} OpSpecial;

enum { OP_ARGS_MAX = 10, OP_PARAMS_MAX = 2 };

/* Properties of an operator, each a bool of OpInfo. */
#define OP_PROPERTIES(IS)                                              \
  /* Operands 0 and 1 in the other order give the same bits, any NaN   \
   * being like any other. */                                          \
  IS(commutes)                                                         \
  /* Out may be operand 0 itself; of an element-wise operator any      \
   * operand, whether or not this is set. */                           \
  IS(in_place)                                                         \
  /* An effect: it writes. */                                          \
  IS(prints)                                                           \
  /* Out is operand 0. */                                              \
  IS(identity)                                                         \
  /* Operands need not be tensors. */                                  \
  IS(takes_any)                                                        \
  /* Operands beyond those of `args`, values of any type, stand for    \
   * the `{}` of attribute `message`. */                               \
  IS(fills)                                                            \
  /* The last operand may be repeated. */                              \
  IS(many)                                                             \
  /* The rule fills in operands after the first. */                    \
  IS(infers)                                                           \
  /* The operands one after the other along `axis`. */                 \
  IS(joins)                                                            \
  /* Every element is 0, in the shape of operand 0. */                 \
  IS(all_zero)                                                         \
  /* The elements of operand 0 in the shape of operand 1, unless       \
   * attributes tell of parts of the shapes. */                        \
  IS(takes_shape)                                                      \
  /* With one index, a copy of a row of operand 0. */                  \
  IS(gets_rows)                                                        \
  /* With one index, a copy of operand 0 in which operand 2 replaces a \
   * row, unless attribute `mode` combines them. */                    \
  IS(sets_rows)                                                        \
  /* Operand 1 is a matrix that its buffer keeps packed. */            \
  IS(packs)                                                            \
  /* Draws from a key: equal keys give equal results. */               \
  IS(random)                                                           \
  /* A result of 16 bits loses what sums, powers and exponentials      \
   * need: mixed precision leaves it float32. */                       \
  IS(wide)                                                             \
  /* Time grows faster than operands and results do. */                \
  IS(long_running)                                                     \
  /* No result varies with an operand: the derivative is zero wherever \
   * there is one, or operands are integers. */                        \
  IS(flat)

/* All that is known of an operator, but for its kernel. */
typedef struct OpInfo {
  const char *name;    /* "nn.dense" */
  const char *aliases; /* space-separated other names; NULL: none */
  const char *args;    /* "data weight"; "data*" is a tuple of tensors,
                          "x?" may be left out */
  const AttrSpec *attrs;
  int attr_count;  /* at most ATTRS_MAX */
  const char *dyn; /* the dyn. spelling's positional arguments in
                      order, operands and attributes: "data newshape";
                      NULL: there is no such spelling */
  RuleId rule;
  OpStorage storage;
  OpReads reads;
  OpFusion fusion;
  AttrName params[OP_PARAMS_MAX]; /* attributes that are constants of an
                                     element-wise function */
  OpFlops flops;
  OpFails fails;
  OpView view;
  OpLinear linear;
  OpLogic logic;
  OpSpecial special;
  OpRelay relay;
  OpCast cast;
  const struct OpInfo *swapped;  /* what it is with operands swapped; or NULL */
  const struct OpInfo *negated;  /* what it is on integers, with operand 1
                                    negated; or NULL */
  const struct OpInfo *fused_as; /* FUSION_BIAS: the step's operator */
  const struct OpInfo *real;     /* of a quantized operator: the one on the
                                    numbers that its operands stand for */
  Dim (*dim)(DimTable *table, Dim a, Dim b); /* the same on dimensions, for
                                                values that types mention */
  KnownFn *known; /* the same on values known before the program runs, where
                     `dim` does not tell it */
#define PROPERTY(name) bool name;
  OP_PROPERTIES(PROPERTY)
#undef PROPERTY
  const char *no_gradient; /* why the library has no rule of differentiation
                              for it: "... because ..." */
  const char *doc;         /* one line */
  const char *formula;
  const char *example; /* an expression of the language */
  const char *shows;   /* what that prints, on one line; or NULL */
} OpInfo;

extern const OpInfo op_table[OP_ROWS];

/* The operator of a name or alias, `*dyn` telling whether it was the dyn.
 * spelling; OP_COUNT when there is none. */
OpId op_find(const char *name, bool *dyn);
/* `softmax` of `nn.softmax`. */
static inline const char *op_last_part(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}
/* Why an operator of Relay is not in the table, and what to write instead
 * (refused.def); NULL: Relay has none of that name, or it is in the table. */
const char *op_refused(const char *name);
static inline const OpInfo *op_info(int id) { return &op_table[id]; }
/* As the row's `linear`, of a call with these attributes; never LINEAR_ROWS. */
OpLinear op_linear(const Attrs *attrs);
/* Is an operator that is LINEAR_FIRST or LINEAR_TOGETHER linear in operand `i`,
 * tuples flattened?  Then its tangent, or zeros, takes the operand's place. */
static inline bool op_linear_in(OpLinear linear, int i, bool is_float) {
  return linear == LINEAR_FIRST ? i == 0 : is_float;
}
static inline OpId op_id(const OpInfo *op) { return (OpId)(op - op_table); }
static inline const RuleInfo *op_rule(const OpInfo *op) {
  return rule_table[op->rule];
}
/* Gives whatever it is given, of any type: what Relay's compiler notes in a
 * program. */
static inline bool op_is_note(const OpInfo *op) {
  return op->identity && op->takes_any;
}
/* Takes functions, or is about derivatives: typed and lowered by itself. */
static inline bool op_is_form(const OpInfo *op) {
  return op->special >= SPECIAL_MAP_LEAVES;
}
/* Written by TVM's compiler: resolution puts what it means in its place
 * (types/resolve_lowered.c). */
static inline bool op_is_lowered(const OpInfo *op) {
  return op->special >= SPECIAL_CALL_LOWERED;
}
/* Has the library a rule of differentiation for it (stdlib/gradients/)? */
static inline bool op_has_gradient(const OpInfo *op) {
  TypeClass takes = op_rule(op)->takes;
  return !op->flat && !op->no_gradient && op->special == SPECIAL_NONE &&
         takes != TAKES_INT && takes != TAKES_BITS && takes != TAKES_BOOL;
}
/* Is it an operator of this language alone, which our machine executes without
 * a kernel?  Relay has none such: print, grad. */
static inline bool op_is_own(const OpInfo *op) {
  return op->special != SPECIAL_NONE && !op_is_lowered(op);
}
static inline bool op_is_elementwise(const OpInfo *op) {
  return op->reads == READS_SAME;
}
int op_attr_count(const OpInfo *op);
/* Operand `i` of the row: its name, and whether it is a tuple or optional. */
typedef struct OpArg {
  const char *name;
  int len;
  bool tuple, optional;
} OpArg;
int op_arg_count(const OpInfo *op);
OpArg op_arg(const OpInfo *op, int i);

#endif
