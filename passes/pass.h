/* Passes: from a unit to a unit, by a table (passes.def) and a runner that sees
 * to what each of them needs.
 *
 * A unit carries the set of facts that hold of it.  A pass that needs one which
 * the unit lacks has the rows above it run first; one that breaks a fact takes
 * it out of the set.  So a host asks for the pass that it wants, and not for an
 * order.
 *
 * A pipeline of passes over the checked form goes on in memory, where a text
 * between two of them would have told all facts anew.  A pass keeps names and
 * types itself: it gives each node that it makes a type.  It breaks effects,
 * since what it takes away may be all that a function did; the row `effects`
 * finds them again before the next pass that asks, over the tree as it is, with
 * the values of `let`s (types/reanalyse.c).  Matches stay covered.  A pass that
 * breaks types is followed by a text (repl/opt_run.c), and so is every pass
 * under rly opt --verify, which compares. */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "ir/program.h"

/* What is known of a unit (Unit.facts). */
enum {
  FACT_NAMES = 1,   /* its steps and definitions are in bound form */
  FACT_TYPES = 2,   /* every expression has its type */
  FACT_MATCHES = 4, /* a match has an arm for every value */
  FACT_EFFECTS = 8, /* what calling each function can do */
  FACT_SHAPES = 16, /* no shape depends on a value */
  FACT_PLAIN = 32,  /* nothing in it that TVM does not read */
};

/* A pass's function, which its own file declares by this type, and the table
 * again: no file but the table's is compiled anew for a row. */
typedef Unit *Pass(Program *p, Unit *unit);
/* The function of a pass that maps each expression of the checked form by
 * itself: makes one from another, with types; NULL when memory runs out. */
typedef const Expr *Rewrite(Program *p, Arena *arena, const Expr *e);

/* An argument of a pass, which a pipeline gives by its name: FoldConstant(
 * elements=4), ToMixedPrecision(dtype=bfloat16).  A word is kept as its place
 * among `words`, from `least`, 0, to `most`. */
typedef struct PassArg {
  const char *name;    /* NULL: the row has no more */
  const char *meaning; /* in a few words */
  int64_t least, most, standard;
  const char *const *words; /* NULL: it is a whole number */
} PassArg;
enum { PASS_ARGS_MAX = 4 };

typedef struct PassInfo {
  const char *name, *also;       /* `also`: its second name, or NULL */
  unsigned needs, gives, breaks; /* FACT_ */
  bool entries;                  /* it looks at those of the unit */
  bool lets;   /* it may want lets in the place of graph variables */
  bool stores; /* it may want what the pass `stores` makes */
  const char *sentence;
  bool bound; /* it maps the checked form */
  PassArg args[PASS_ARGS_MAX];
  Pass *run;        /* NULL: the pass is `rewrite` */
  Rewrite *rewrite; /* applied by unit_rewrite (passes/rewrite.h) */
} PassInfo;
extern const PassInfo pass_info[];
extern const int pass_count;

/* Rules that a pass applies.  They may be of another program over the same
 * names. */
typedef struct RuleList {
  int count;
  const Item *const *items; /* ITEM_RULEs, checked */
} RuleList;

/* What a checked call of an operator, of the table or of a text's own, takes on
 * such operands, tuples flattened, in nanoseconds; below 0: that cannot be
 * measured. */
struct Tensor;
typedef double CallCost(void *data, const Program *p, const Expr *call,
                        int count, const struct Tensor *args);

/* A rewrite that a pass makes, or would make if it were allowed one more. */
typedef struct PassRewrite {
  bool allowed;
  Span at;
  const Item *rule; /* that is applied; NULL: the rewrite is written in C */
  const Expr *was;  /* a node of the program; NULL: only the place is known */
  const Expr *made; /* what takes its place; NULL: not known, or nothing */
} PassRewrite;

/* A pass as it is called: with its arguments, and what its caller allows and
 * counts. */
typedef struct PassCall {
  const PassInfo *pass;
  int64_t args[PASS_ARGS_MAX]; /* in the order of the row */
  bool fast_math;              /* may it change the bits of floats? */
  bool differentiates; /* the text does, and bits of adjoints are to stay */
  RuleList rules;      /* of ApplyRules and Saturate */
  /* What a call costs, for Saturate; NULL: what the rows say. */
  CallCost *measure;
  void *measure_data;
  /* Is told of each rewrite, and of each that is no longer allowed; NULL:
   * nobody wants to know. */
  void (*rewrote)(void *data, const Program *p, const PassRewrite *r);
  void *rewrote_data;
  const struct Global *within; /* the definition that is being rewritten; NULL:
                                  an expression of the text */
  uint64_t most_rewrites;      /* it stops after so many */
  uint64_t rewrites;           /* it has made so many */
  Span last_rewrite;           /* where it made the last of them */
} PassCall;
/* The call with every argument at its default, and all rewrites allowed. */
PassCall pass_call_of(const PassInfo *pass);

/* --- For the function of a pass ------------------------------------------- */

/* Argument `i` of its row; the word that it is. */
int64_t pass_arg(const Program *p, int i);
const char *pass_arg_word(const Program *p, int i);
/* May it rewrite by laws of the real numbers, which floats keep only nearly
 * (--fast-math)? */
bool pass_fast_math(const Program *p);
/* Asked before each rewrite of what stands at `at`: may the pass make it?  Each
 * one that it may is counted, so that rly opt --bisect can stop a pass after k
 * rewrites and say which one was wrong.  What a pass rewrites without asking
 * counts as one rewrite of the definition. */
bool pass_may_rewrite(Program *p, Span at);
/* The same for a pass that knows which node it replaces, and tells those who
 * watch the rewrites (PassCall.rewrote).  `rule` may be NULL; so may `made`,
 * where `was` is dropped. */
bool pass_may_replace(Program *p, const Item *rule, const Expr *was,
                      const Expr *made);

/* --- The table and its runner --------------------------------------------- */

/* A value as a pipeline gives it: `4`, `float16`. */
void pass_value_print(StrBuf *out, const PassArg *arg, int64_t value);
/* "a whole number from 1 to 16", "float16 or bfloat16". */
void pass_range_print(StrBuf *out, const PassArg *arg);

/* The pass of that name, its first or its second; NULL: there is none. */
const PassInfo *pass_find(const char *name);
/* The name that was probably meant where there is none: a similar one, else the
 * first that holds it, as FirstOrderGradient does `gradient`.  NULL: none is
 * near. */
typedef enum PassSet { PASSES_ALL, PASSES_OF_FMT, PASSES_OF_OPT } PassSet;
const char *pass_nearest(const char *name, PassSet among);
/* What a text defines under that name; NULL after reporting that an entry is
 * missing. */
const Item *pass_entry(Program *p, const Unit *unit, const Name *name);
/* "names, types", each in `quotes`: a set of facts. */
void facts_print(StrBuf *out, unsigned facts, const char *quotes);

/* Runs a pass, after those that give what it needs and the unit lacks.  NULL
 * after reporting what stood in the way. */
Unit *pass_run(Program *p, Unit *unit, const PassInfo *pass);
/* The same with arguments; `call` then says how many rewrites were made. */
Unit *pass_call(Program *p, Unit *unit, PassCall *call);

/* The one way of a parsed unit into a program: of a text that is loaded, an
 * entry of the prompt, definitions that are checked once more because something
 * they use was defined anew.  True when the unit's definitions are in scope. On
 * false the program is as before: the unit is gone, with those it imported, and
 * why stands in the program's diagnostics. */
bool unit_check(Program *p, Unit *unit);
/* The pass float64 on a parsed unit: false when memory ran out. */
bool unit_to_float64(Program *p, Unit *unit);
/* Is every shape in the program known?  Reports those that are not. */
bool unit_is_static(Program *p, Unit *unit);

#endif
