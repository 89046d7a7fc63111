/* The stepper: the small-step machine (interp/step.h) at work, as rewriting of
 * the program's text.
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
 *   bound.c    names and what they got
 *   page.c     steps as an HTML page, as JSON */
#ifndef STEPPER_STEPPER_H
#define STEPPER_STEPPER_H

#include "interp/step.h"

typedef struct Stepper Stepper;

/* --- Life --------------------------------------------------------------- */

/* NULL when memory runs out.  The program must outlive the stepper. */
Stepper *stepper_new(Program *p, StepHost host);
void stepper_free(Stepper *s);

/* What is evaluated, in order: a unit's step; the call of a function, with what
 * step_arguments gave, or NULL. */
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

/* Names one kind, or `all`; false: there is no such. */
bool stepper_fold(Stepper *s, const char *name, bool on);
bool stepper_folds(const Stepper *s, StepFold kind);

/* --- Breakpoints (select.c) --------------------------------------------- */

/* `%x` and `@x`: where that is bound or called; `(2, 3)`: where an operator
 * gives a tensor of this shape; `nan`: where one gives a NaN that it was not
 * given; else an operator's name.  False: it is none of those. */
bool stepper_break(Stepper *s, const char *text);
/* Number `n`, from 1; NULL: there are fewer. */
const char *stepper_break_text(const Stepper *s, size_t n);
void stepper_break_remove(Stepper *s, size_t n);

/* --- Moves -------------------------------------------------------------- */

typedef enum StepMove {
  MOVE_STEP, /* to the next step that is not folded */
  MOVE_OVER, /* to where what is marked has its value */
  MOVE_OUT,  /* to where the function that is under way has its value */
  MOVE_RUN,  /* to a breakpoint */
  MOVE_BACK, /* to the step before */
} StepMove;

typedef enum StepStop {
  STOP_STEP,  /* at a step */
  STOP_BREAK, /* at a step, for a breakpoint: stepper_stopped_by */
  STOP_VALUE, /* at the value of what was added */
  STOP_ERROR, /* at a run-time error */
  STOP_LIMIT, /* memory, depth or time ran out */
  STOP_ASKED, /* at a step, for the host asked for it */
  STOP_END,   /* there is nothing further; where it stood */
  STOP_START, /* the record begins here; where it stood */
} StepStop;

StepStop stepper_move(Stepper *s, StepMove move);

/* Of the last move: the breakpoint's text; steps passed over, and of those the
 * ones folded for this. */
const char *stepper_stopped_by(const Stepper *s);
uint64_t stepper_passed(const Stepper *s);
uint64_t stepper_folded(const Stepper *s, StepFold kind);

/* Asked every so many steps of a move; true ends it with STOP_ASKED. */
void stepper_when_to_stop(Stepper *s, bool (*asked)(void *data), void *data);
/* More frames than this are STOP_LIMIT. */
void stepper_max_depth(Stepper *s, uint64_t depth);

/* What it stands at: a rule's application or an outcome of another kind. */
bool stepper_stands(const Stepper *s); /* false: before the first */
StepOutcome stepper_at(const Stepper *s);
uint64_t stepper_number(const Stepper *s);
/* Is there nothing further? */
bool stepper_ended(const Stepper *s);
/* Steps that the record can go back by. */
uint64_t stepper_reach(const Stepper *s);

/* --- What there is to see ------------------------------------------------ */

typedef struct StepView {
  StrBuf text;        /* of the function under way, rewritten so far */
  size_t lo, hi;      /* what is marked in it */
  StrBuf names;       /* "%n = 3, %acc = [1, 2]": those that it mentions */
  StrBuf inside;      /* "@fact"; "" at the top level */
  VEC(StrBuf) around; /* the calls around it, `_` for it; the innermost first */
  uint64_t outer;     /* how many calls there are around those */
  const char *rule;   /* its name; "value", "error" */
  StrBuf says;        /* a sentence, with types and shapes */
  StrBuf cells;       /* "cell#1 = 5 -> 6, cell#2 = 0"; "" where none changes */
  Place place;
  uint64_t number;
} StepView;

void stepper_view_init(StepView *v, Mem *mem);
void stepper_view_done(StepView *v);
/* Of where it stands. */
void stepper_view(Stepper *s, StepView *v);
/* All cells that the state leads to, one a line. */
void stepper_cells(Stepper *s, StrBuf *out);
/* The text is cut to `lines` around the mark; how many lines are left out
 * before and behind. */
typedef struct StepCut {
  size_t from, to;       /* bytes of the text */
  size_t before, behind; /* lines */
} StepCut;
StepCut stepper_cut(const StepView *v, size_t lines);

/* --- Names (bound.c) ------------------------------------------------------ */

/* A let, a graph node or a definition that has its value. */
typedef struct StepBound {
  const char *sigil, *name;
  const Type *type;
  const StepValue *value;
  Span span;
  bool library;   /* it stands in the library */
  uint32_t depth; /* of the frame that waited for the value */
} StepBound;

/* Those of the step that it has just come to; each step is to be asked. */
void stepper_each_bound(Stepper *s,
                        void (*visit)(void *data, const StepBound *b),
                        void *data);
/* "%x : Tensor[(2), float32] = [1.0, 3.0]  2 elements, 1.0 to 3.0, mean 2" */
void stepper_print_bound(Stepper *s, const StepBound *b, StrBuf *out);
/* How many frames there are; and the least number of them that was come back to
 * on the way to this step (UINT32_MAX: none was left). */
uint32_t stepper_depth(const Stepper *s);
uint32_t stepper_low(const Stepper *s);

/* --- Pages (page.c) ------------------------------------------------------ */

/* The page up to its first step; a step, as the stepper stands; the end, with
 * why there are no more. */
void stepper_page_begin(StrBuf *out, const char *title);
void stepper_page_step(Stepper *s, StrBuf *out);
void stepper_page_end(StrBuf *out, const char *why);

/* The step as one line of JSON, with its newline. */
void stepper_json(Stepper *s, StrBuf *out);

#endif
