/* Attributes of operators: what a row of ops.def declares (AttrSpec), and the
 * record a call carries (Attrs).
 *
 * An attribute of numbers or bools may be an expression.  Then the value is an
 * extra operand of the call, and the record says which; the parts that are
 * known before the program runs are in the record, the others are DIM_ANY.
 * While the program is checked, a rule that answers for DIM_ANY (`symbolic`) is
 * asked once, any other for several values (trial.c).  Before a rule or kernel
 * runs, attrs_complete() fills the values in, so kernels only ever see complete
 * records. */
#ifndef OPS_ATTR_H
#define OPS_ATTR_H

#include "base/source.h"
#include "ops/words.h"
#include "tensor/dim.h"
#include "tensor/tensor.h"

typedef enum AttrName {
  ATTR_NONE,
#define ATTR(name) ATTR_##name,
#include "ops/attrs.def"
#undef ATTR
  ATTR_COUNT
} AttrName;

typedef enum AttrType {
  AT_INT,
  AT_FLOAT, /* an integer literal is accepted, too */
  AT_BOOL,  /* likewise 0 and 1 */
  AT_STRING,
  AT_DTYPE,       /* a string that names a dtype */
  AT_INTS,        /* [1, 2] */
  AT_INT_OR_INTS, /* 2, or [1, 2] */
  AT_LISTS,       /* [[0, 1], [2, 3]] */
  AT_FLOATS,      /* [0.5f, 2] */
  AT_IGNORED,     /* any value, not recorded: what Relay repeats */
} AttrType;

typedef struct AttrSpec {
  AttrName name;
  AttrType type;
  bool required;    /* no default */
  bool optional;    /* None is a value (and the default, unless given) */
  bool symbolic;    /* the rule answers where the value is not known */
  bool takes_float; /* which may have whole numbers of a float dtype; the part
                       after the point of a scalar does not count */
  /* The default: */
  int64_t integer; /* AT_INT, AT_BOOL */
  double real;
  const char *text;  /* AT_STRING; AT_DTYPE ("" : DTYPE_NONE) */
  const char *words; /* AT_STRING: what it may be, "a|b|c"; NULL: anything */
  int count;         /* AT_INTS, AT_FLOATS */
  union {
    int64_t ints[4];
    Dim dims[4]; /* the same, as a record has them */
    double reals[4];
  };
} AttrSpec;

enum { ATTRS_MAX = 16 };

typedef enum AttrState { AV_NONE, AV_SET } AttrState;

typedef struct AttrValue {
  AttrState state;
  Dim integer;      /* AT_INT, AT_BOOL; AT_INT_OR_INTS when count is -1 */
  double real;      /* AT_FLOAT */
  const char *text; /* AT_STRING */
  DType dtype;      /* AT_DTYPE */
  int count;        /* items of ints, lists or reals; COUNT_UNKNOWN */
  const Dim *ints;  /* AT_INTS, AT_INT_OR_INTS */
  const struct AttrValue *lists; /* AT_LISTS: `count` values of AT_INTS */
  const double *reals;           /* AT_FLOATS */
  int operand; /* which operand holds the value at run time; -1: none */
  Span at;     /* where the text of the call has it, for messages */
  bool known;  /* AT_FLOAT, AT_FLOATS: the operand is a constant, whose value
                  stands here too */
} AttrValue;

enum { COUNT_SCALAR = -1, COUNT_UNKNOWN = -2 };

struct OpInfo;
typedef struct Attrs {
  const struct OpInfo *op;
  AttrValue values[ATTRS_MAX]; /* in the order of op->attrs */
} Attrs;

/* The row's defaults. */
void attrs_defaults(const struct OpInfo *op, Attrs *attrs);
/* The same in an arena, with room for the row's attributes and no more: such
 * a record is not copied by assignment. */
Attrs *attrs_new(Arena *arena, const struct OpInfo *op);

/* The defaults of another row, and what `from` says under the same names: the
 * record of an operator that works inside of another.  It may be written by
 * the functions below. */
Attrs *attrs_shared(Arena *arena, const struct OpInfo *op, const Attrs *from);
void attr_set_number(Attrs *attrs, AttrName name, int64_t value);
void attr_set_real(Attrs *attrs, AttrName name, double value);
void attr_set_dtype(Attrs *attrs, AttrName name, DType value);
void attr_set_text(Attrs *attrs, AttrName name, const char *value);
void attr_set_list(Arena *arena, Attrs *attrs, AttrName name, int count,
                   const Dim *items);

/* Does the row declare the attribute? */
bool attrs_have(const Attrs *attrs, AttrName name);
/* The value of an attribute that the row declares (asking for another is our
 * own mistake). */
const AttrValue *attr_get(const Attrs *attrs, AttrName name);
static inline bool attr_is_set(const Attrs *attrs, AttrName name) {
  return attr_get(attrs, name)->state == AV_SET;
}
static inline Dim attr_int(const Attrs *attrs, AttrName name) {
  return attr_get(attrs, name)->integer;
}
static inline double attr_real(const Attrs *attrs, AttrName name) {
  return attr_get(attrs, name)->real;
}
static inline bool attr_bool(const Attrs *attrs, AttrName name) {
  return !dim_is(attr_get(attrs, name)->integer, 0);
}
static inline DType attr_dtype(const Attrs *attrs, AttrName name) {
  return attr_get(attrs, name)->dtype;
}
static inline const char *attr_text(const Attrs *attrs, AttrName name) {
  return attr_get(attrs, name)->text;
}

/* --- Integers as kernels read them -------------------------------------------
 * of a complete record that the rule has accepted.  Rules ask for integers
 * with the range they may have: rule_number and its like (rules/support.h). */

static inline int64_t attr_number(const Attrs *attrs, AttrName name) {
  return dim_value(attr_get(attrs, name)->integer);
}
/* Item i of a list, and item k of list i. */
static inline int64_t attr_item(const AttrValue *list, int i) {
  return dim_value(list->ints[i]);
}
static inline int64_t attr_item_of(const AttrValue *lists, int i, int k) {
  return attr_item(&lists->lists[i], k);
}
/* An axis of a tensor of that rank, negative values counting from its end. */
static inline int axis_from(int64_t value, int rank) {
  return (int)(value < 0 ? value + rank : value);
}
static inline int attr_axis(const Attrs *attrs, AttrName name, int rank) {
  return axis_from(attr_number(attrs, name), rank);
}

/* Does the record lack that attribute, or hold that text in it? */
bool attr_is_text(const Attrs *attrs, AttrName name, const char *text);
/* Which of the row's words the attribute is, from 0, as an enum of words.h; -1:
 * none of them. */
int attr_word(const Attrs *attrs, AttrName name);

/* Does operand i of the call hold an attribute? */
bool attrs_have_operand(const Attrs *attrs, int i);

const char *attr_name_text(AttrName name);
AttrName attr_name_find(const char *text); /* ATTR_COUNT: no such name */

/* May an attribute of this type be an expression?  A string or a dtype decides
 * what is computed, and never may. */
bool attr_may_be_computed(AttrType type);
/* Does an operand of the call hold an attribute?  And how many do. */
bool attrs_have_operands(const Attrs *attrs);
int attrs_operand_count(const Attrs *attrs);

/* The record of an attribute that is an expression: `operand` of the call, a
 * tensor of this type.  What its rank and dims tell stands in the record, the
 * values are DIM_ANY.  False when such a tensor cannot be this attribute. */
bool attr_bind_operand(const AttrSpec *spec, int operand, DType dtype, int rank,
                       const Dim *dims, Arena *arena, AttrValue *value);

/* Sets an attribute that an operand holds to the constant that the operand is.
 * What cannot be the attribute's value stays as it is. */
void attr_set_constant(const AttrSpec *spec, const struct Tensor *t,
                       Arena *arena, AttrValue *value);
/* The record with every run-time value read from its operand: itself, or a
 * copy in the arena, in which no value has an operand any more.  NULL when an
 * operand is not usable (its rank, or a value out of int64). */
const Attrs *attrs_complete(const Attrs *attrs, const Tensor *const *operands,
                            Arena *arena);
/* Copies such a record, which `written` was completed to, to one block of
 * memory at `to`, with the items that operands held; what `written` points to
 * is shared.  Returns the block's size in bytes; with `to` NULL copies nothing.
 */
size_t attrs_pack(const Attrs *written, const Attrs *complete, void *to);

#endif
