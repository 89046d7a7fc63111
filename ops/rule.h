/* Operators' rules: operand types to result types, written once.
 *
 * The checker runs a rule on what it knows so far (a rank may be missing, a
 * dim may be a hole, `?` or a named form) and runs it again when it learns
 * more; the interpreter runs the same rule on what is, to find the result's
 * shape and to refuse operands that do not fit.  A rule never fails on
 * incomplete input: it answers RULE_WAIT. */
#ifndef OPS_RULE_H
#define OPS_RULE_H

#include "base/diag.h"
#include "ops/attr.h"

typedef enum RuleKind {
  RT_UNKNOWN, /* nothing known yet */
  RT_TENSOR,
  RT_TUPLE,
  RT_OTHER, /* a function, ADT, ref: no operator takes one */
} RuleKind;

/* The rank of Tensor[?, t].  rule_try runs rules for ranks in its place. */
enum { RANK_ANY = -2 };

typedef struct RuleType {
  RuleKind kind;
  DType dtype; /* DTYPE_NONE: not known */
  int rank;    /* -1: not known */
  Dim dims[RANK_MAX];
  int count; /* RT_TUPLE */
  struct RuleType *fields;
  const struct Known *value; /* ops/known.h; NULL: it is not known */
} RuleType;

typedef enum RuleStatus { RULE_OK, RULE_WAIT, RULE_ERROR } RuleStatus;

typedef struct RuleCall {
  const struct OpInfo *op;
  const struct OpInfo *named; /* what messages name; NULL: op */
  const Attrs *attrs;
  DimTable *dims; /* NULL at run time */
  Arena *arena;   /* for result.fields and the error's text */
  int count;      /* operands; those that hold attributes come last */
  bool list;      /* written in brackets, [a, b]: messages speak of elements */
  RuleType *args; /* a rule may fill in what is missing (weights' shapes) */
  RuleType result;
  /* With RULE_ERROR: what is wrong, which operands it concerns (-1: none). */
  DiagCode code;
  const char *message;
  const char *hint;
  int culprit, other;
  int field;           /* of a culprit that is a list: the element; -1: all */
  AttrName about;      /* the attribute that it concerns; ATTR_NONE: none */
  const char *warning; /* with RULE_OK: what the reader should know, or NULL */
} RuleCall;

typedef RuleStatus (*RuleFn)(RuleCall *call);

/* Reports a mistake; returns RULE_ERROR. */
RuleStatus rule_error(RuleCall *c, DiagCode code, int culprit,
                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));
RuleStatus rule_hint(RuleCall *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of the value of an attribute. */
RuleStatus rule_attr_error(RuleCall *c, DiagCode code, AttrName name,
                           const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The attribute of a failed call whose value is to blame, of a record as the
 * call has it; -1: a mistake of another kind, or none alone. */
int rule_blamed(const RuleCall *call, const Attrs *written);

/* Has the checker warn (W0004), in case the call is right. */
void rule_warn(RuleCall *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports for `c` what a rule has reported that was run for it on another call:
 * its error or its warning. */
void rule_adopt(RuleCall *c, const RuleCall *inner);

/* Runs an operator's rule.  The message names the operator and shows operand
 * types as types print: (2, 3), (4). */
RuleStatus rule_run(RuleCall *call);

/* The same while the program is checked, where the values of some attributes
 * may not be known: the rule of such a call is run for several values, and the
 * answer holds for each of them. */
RuleStatus rule_try(RuleCall *call);

/* --- The table ------------------------------------------------------------ */

/* The dtypes that operands may have: of the `t` in a rule's text. */
typedef enum TypeClass {
  TAKES_ANY,
  TAKES_FLOAT,
  TAKES_INT,
  TAKES_BITS, /* integer or bool */
  TAKES_BOOL,
  TAKES_NUMBER, /* all but bool */
  TAKES_SIGNED  /* those with negative numbers */
} TypeClass;
bool dtype_is_in(DType dtype, TypeClass class);

/* When a rule that let unknown dimensions pass holds at run time, too. */
typedef enum RuleFits {
  FITS_KNOWN,     /* where all dimensions are known */
  FITS_BROADCAST, /* where any two operands surely broadcast */
  FITS_UNBATCHED, /* where attribute `batch_dims` is 0 */
  FITS_ALWAYS,
} RuleFits;

typedef struct RuleInfo {
  const char *name;
  RuleFn run;
  const char *text; /* operands -> results, for documentation */
  TypeClass takes;
  RuleFits fits;
  bool gives_bool; /* the result is bool, whatever the operands are */
  bool values;     /* it looks at the values of operands */
} RuleInfo;

typedef enum RuleId {
#define ID(id) RULE_##id,
#include "ops/rules.ids"
#undef ID
  RULE_COUNT
} RuleId;

extern const RuleInfo *const rule_table[RULE_COUNT];

#define ID(id) extern const RuleInfo rule_info_##id;
#include "ops/rules.ids"
#undef ID

#endif
