/* The stepper: the small-step machine (smallstep/step.h) at work, as rewriting
 * of the program's text.
 *
 *   Stepper *s = stepper_new(program, host);
 *   stepper_add(s, &unit->steps[0]);
 *   while ((stop = stepper_move(s, MOVE_STEP)) == STOP_STEP) {
 *     stepper_view(s, &view); ...
 *   }
 *
 * Where it stands is a step: the state in which a rule applies, the rule, what
 * came of it; or the value of what was added; or an error.  It goes forth and,
 * as far as the machine's record reaches, back.  Steps may be folded: they are
 * passed over and counted.
 *
 *   stepper.c  moves           select.c  what is folded, where it stops
 *   text.c     program text    brief.c   values and types, in brief
 *   say.c      a sentence      view.c    all of that of a step
 *   tree.c     parts and their values      frames.c  functions under way
 *   page.c     steps as an HTML page, as JSON (page.h)
 *   rewrites.c rewrites by passes as such a page
 *   versions.c the versions of a program between passes, side by side */
#ifndef STEPPER_STEPPER_H
#define STEPPER_STEPPER_H

#include "smallstep/step.h"

typedef struct Stepper Stepper;

/* --- Life --------------------------------------------------------------- */

/* NULL when memory runs out.  The program must outlive the stepper. */
Stepper *stepper_new(Program *p, StepHost host);
void stepper_free(Stepper *s);

/* Add what is evaluated next: a step of a unit, or the call of a function with
 * the arguments that step_arguments made (NULL: none). */
void stepper_add(Stepper *s, const Step *step);
void stepper_add_call(Stepper *s, const Global *g, const StepValue *args);

StepMachine *stepper_machine(Stepper *s);

/* --- Folding (select.c) ------------------------------------------------- */

typedef enum StepFold {
#define FOLD(id, ...) FOLD_##id,
#include "stepper/fold.def"
#undef FOLD
  FOLD_COUNT
} StepFold;

typedef struct StepFoldInfo {
  const char *name, *help;
} StepFoldInfo;
extern const StepFoldInfo step_fold_info[FOLD_COUNT];

/* Folds or unfolds one kind, or `all`.  Returns false for an unknown kind. */
bool stepper_fold(Stepper *s, const char *name, bool on);
bool stepper_folds(const Stepper *s, StepFold kind);

/* --- Breakpoints (select.c) --------------------------------------------- */

/* Adds a breakpoint: `%x` and `@x` stop where the name is bound or called, `(2,
 * 3)` where an operator gives a tensor of this shape, `nan` where an operator
 * gives a NaN and was given none, an operator's name where it is applied, and
 * `FILE:LINE` where evaluation comes to that line.  ` if EXPR` may follow; it
 * is asked by stepper_when_it_holds.  Returns false for any other text. */
bool stepper_break(Stepper *s, const char *text);
/* The EXPR of such a text; NULL: it has none. */
const char *stepper_condition(const char *text);
/* The text of breakpoint `n`, counted from 1; NULL: there are fewer. */
const char *stepper_break_text(const Stepper *s, size_t n);
void stepper_break_remove(Stepper *s, size_t n);

/* --- Moves -------------------------------------------------------------- */

typedef enum StepMove {
  MOVE_STEP, /* to the next step that is not folded */
  MOVE_OVER, /* to the value of the redex */
  MOVE_OUT,  /* to the result of the current function */
  MOVE_RUN,  /* to a breakpoint */
  MOVE_BACK, /* to the step before */
} StepMove;

typedef enum StepStop {
  STOP_STEP,  /* at a step */
  STOP_BREAK, /* at a step, because of a breakpoint: stepper_stopped_by */
  STOP_VALUE, /* at the value of an added item */
  STOP_ERROR, /* at a run-time error */
  STOP_LIMIT, /* memory, depth or time ran out */
  STOP_ASKED, /* at a step, because the host asked for it */
  STOP_END,   /* at the end; it did not move */
  STOP_START, /* at the beginning of the record; it did not move */
} StepStop;

StepStop stepper_move(Stepper *s, StepMove move);

/* Of the last move: the text of its breakpoint, the number of steps it passed,
 * and how many of those were folded. */
const char *stepper_stopped_by(const Stepper *s);
uint64_t stepper_passed(const Stepper *s);
uint64_t stepper_folded(const Stepper *s, StepFold kind);

/* Sets a function that is called every few steps of a move; if it returns true,
 * the move ends with STOP_ASKED. */
void stepper_when_to_stop(Stepper *s, bool (*asked)(void *data), void *data);
/* Does a condition hold?  A breakpoint whose condition is none is taken away.
 */
typedef enum StepTruth { STEP_FALSE, STEP_TRUE, STEP_NO_CONDITION } StepTruth;
/* Sets a function that says of the text of a breakpoint whether its condition
 * holds in the innermost function; without one it does. */
void stepper_when_it_holds(Stepper *s,
                           StepTruth (*holds)(void *data, const char *text),
                           void *data);
/* With more frames than this a move ends with STOP_LIMIT. */
void stepper_max_depth(Stepper *s, uint64_t depth);

/* The place the stepper has reached: a rule's application, or another
 * outcome. */
bool stepper_stands(const Stepper *s); /* false: before the first step */
StepOutcome stepper_at(const Stepper *s);
uint64_t stepper_number(const Stepper *s);
/* Whether nothing further is to be evaluated. */
bool stepper_ended(const Stepper *s);

/* --- What there is to see ------------------------------------------------ */

/* The body of a function, rewritten so far, and what is marked in it. */
typedef struct StepText {
  StrBuf text;
  size_t lo, hi;
} StepText;

typedef struct StepView {
  StepText now;  /* marks the redex */
  StrBuf names;  /* "%n = 3, %acc = [1, 2]": the variables in the text */
  StrBuf inside; /* "@fact"; "" at the top level */
  VEC(StrBuf)
  around; /* the calls around it, with `_` in its place; the innermost first */
  uint64_t outer;   /* the number of further calls around those */
  const char *rule; /* the rule's name; "value", "error" */
  StrBuf says;      /* a sentence, with types and shapes */
  StrBuf cells;     /* "cell#1 = 5 -> 6, cell#2 = 0"; "" if no cell changes */
  Place place;
  uint64_t number;
} StepView;

void stepper_view_init(StepView *v, Mem *mem);
void stepper_view_done(StepView *v);
/* Fills in the view of the current step. */
void stepper_view(Stepper *s, StepView *v);
/* All cells that the state reaches, one on each line. */
void stepper_cells(Stepper *s, StrBuf *out);
/* What the rule made of it: marks the contractum, all that stands in the
 * redex's place, and says in which function ("@fact").  Empty where nothing is
 * left or no rule was applied. */
void stepper_becomes(Stepper *s, StepText *out, StrBuf *inside);
/* Cuts the text to `lines` lines around the mark.  Returns how many lines are
 * left out before and after. */
typedef struct StepCut {
  size_t from, to;       /* bytes of the text */
  size_t before, behind; /* lines */
} StepCut;
StepCut stepper_cut(const StepText *t, size_t lines);

/* --- Functions under way (frames.c) -------------------------------------- */

/* How many there are at the step or the error at hand; 0 is the innermost. */
size_t stepper_level_count(Stepper *s);
/* "@f at model.rly:5:3" and, on lines of their own, the parameters' values, or
 * with `all` those of all variables.  False: there is no such level. */
bool stepper_level_print(Stepper *s, size_t level, bool all, StrBuf *out);
/* The type of a variable's value at the level; nothing is added where the value
 * does not tell.  False: there is no such variable. */
bool stepper_level_type(Stepper *s, size_t level, const char *name, size_t len,
                        StrBuf *out);
/* Evaluates the body of a checked EX_FN whose parameters are variables of the
 * level.  The steps are not recorded, and the machine then stands where it
 * stood; what it writes to cells stays written.  False, with the reason in
 * `why`, when it fails. */
bool stepper_evaluate(Stepper *s, size_t level, const Expr *fn,
                      void (*take)(void *data, const StepValue *v), void *data,
                      StrBuf *why);

/* --- Trees (tree.c) ------------------------------------------------------ */

/* The parts of an item as they are evaluated, for :dbg.  It watches the
 * machine until it is freed, so the stepper must outlive it. */
typedef struct StepTree StepTree;

/* A line of the tree, in the order of evaluation, a part before its own parts.
 * The texts are valid until the tree changes. */
typedef struct StepPart {
  int level;           /* 0: the item itself */
  bool last;           /* no further part of the same whole follows */
  const char *label;   /* program text, on one line */
  const char *value;   /* NULL: it has none, or none yet */
  const char *effects; /* "reads, writes"; "" */
  const char *note;    /* what is left out; "" */
  double seconds;      /* from its beginning to its value */
  bool failed;         /* here evaluation ended, without a value */
} StepPart;

/* Lines of at most about `width` columns.  NULL when memory runs out. */
StepTree *stepper_tree_new(Stepper *s, int width);
void stepper_tree_free(StepTree *t);
/* Makes a step; what it evaluates becomes part of the tree. */
StepStop stepper_tree_step(StepTree *t);
void stepper_tree_each(StepTree *t,
                       void (*visit)(void *data, const StepPart *p),
                       void *data);
/* Forgets all parts, before the next item. */
void stepper_tree_clear(StepTree *t);

/* --- Versions (versions.c) ----------------------------------------------- */

/* What the passes of a pipeline make of a program, one after the other. */
typedef struct Versions Versions;

Versions *versions_new(Mem *mem); /* NULL: out of memory */
void versions_free(Versions *v);
/* The program before all passes. */
void versions_begin(Versions *v, const StrBuf *text);
/* The program after the next pass, with a few words on what the pass did.
 * False: the page is full. */
bool versions_pass(Versions *v, const char *pass, const char *did,
                   const StrBuf *text);
/* A page of nothing else: for each pass the program before it and after it,
 * and at last the first beside the last.  The text is the versions' own. */
const StrBuf *versions_page(Versions *v, const char *title);

/* --- Pages (page.c) ------------------------------------------------------ */

typedef struct StepPage StepPage;

/* A page that tells of the steps it is given; NULL when memory runs out.  To be
 * freed before its stepper. */
StepPage *stepper_page_new(Stepper *s, const char *title);
void stepper_page_free(StepPage *p);
/* Adds the current step.  False: the page is as long as a page may be. */
bool stepper_page_step(StepPage *p);
/* Ends the page, which says why there are no more steps, and returns its text:
 * the page's own.  The versions of the program that was stepped through (NULL:
 * none) are a view beside the steps. */
const StrBuf *stepper_page_end(StepPage *p, const char *why,
                               Versions *versions);

/* --- Pages of rewrites (rewrites.c) --------------------------------------- */

typedef struct RewritePage RewritePage;

/* A program that a pass rewrites, before and after one rewrite. */
typedef struct RewriteStep {
  const char *pass;   /* as the pipeline has it */
  const char *name;   /* of the rule, or of the pass */
  uint64_t number;    /* of the rewrite, in its pass */
  StepText was, is;   /* marked: the redex, what became of it */
  const char *says;   /* what the pass does, in a sentence; or "" */
  const StrBuf *rule; /* its text; NULL: none */
} RewriteStep;

/* A page on which each rewrite is a step, as those of the machine are.  NULL
 * when memory runs out. */
RewritePage *rewrite_page_new(Mem *mem, const char *title);
void rewrite_page_free(RewritePage *p);
/* A pass whose steps may be folded; before all steps. */
void rewrite_page_pass(RewritePage *p, const char *pass, const char *help);
/* False: the page is as long as a page may be. */
bool rewrite_page_step(RewritePage *p, const RewriteStep *r);
const StrBuf *rewrite_page_end(RewritePage *p, const char *why);

/* --- JSON (page.c) -------------------------------------------------------- */

/* The current step as one line of JSON with its newline. */
void stepper_json(Stepper *s, StrBuf *out);

#endif
