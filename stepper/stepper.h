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
 *   bound.c    names and what they got
 *   page.c     steps as an HTML page, as JSON */
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
 * gives a NaN and was given none, and an operator's name where it is
 * applied.  Returns false for any other text. */
bool stepper_break(Stepper *s, const char *text);
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
/* With more frames than this a move ends with STOP_LIMIT. */
void stepper_max_depth(Stepper *s, uint64_t depth);

/* The place the stepper has reached: a rule's application, or another
 * outcome. */
bool stepper_stands(const Stepper *s); /* false: before the first step */
StepOutcome stepper_at(const Stepper *s);
uint64_t stepper_number(const Stepper *s);
/* Whether nothing further is to be evaluated. */
bool stepper_ended(const Stepper *s);
/* The number of steps that the record can go back by. */
uint64_t stepper_reach(const Stepper *s);

/* --- What there is to see ------------------------------------------------ */

typedef struct StepView {
  StrBuf text;   /* the body of the current function, rewritten so far */
  size_t lo, hi; /* the redex in it */
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
/* Cuts the text to `lines` lines around the mark.  Returns how many lines are
 * left out before and after. */
typedef struct StepCut {
  size_t from, to;       /* bytes of the text */
  size_t before, behind; /* lines */
} StepCut;
StepCut stepper_cut(const StepView *v, size_t lines);

/* --- Names (bound.c) ------------------------------------------------------ */

/* A let, a graph node or a definition that has received its value. */
typedef struct StepBound {
  const char *sigil, *name;
  const Type *type;
  const StepValue *value;
  Span span;
  bool library;   /* whether it stands in the library */
  uint32_t depth; /* depth of the frame that waited for the value */
} StepBound;

/* The bindings of the step just reached.  They must be asked for at every
 * step. */
void stepper_each_bound(Stepper *s,
                        void (*visit)(void *data, const StepBound *b),
                        void *data);
/* "%x : Tensor[(2), float32] = [1.0, 3.0]  2 elements, 1.0 to 3.0, mean 2" */
void stepper_print_bound(Stepper *s, const StepBound *b, StrBuf *out);
/* The number of frames, and the least number of frames since the step before
 * (UINT32_MAX: no frame was left). */
uint32_t stepper_depth(const Stepper *s);
uint32_t stepper_low(const Stepper *s);

/* --- Pages (page.c) ------------------------------------------------------ */

/* The beginning of the page; the current step; the end of the page, which says
 * why there are no more steps. */
void stepper_page_begin(StrBuf *out, const char *title);
void stepper_page_step(Stepper *s, StrBuf *out);
void stepper_page_end(StrBuf *out, const char *why);

/* The current step as one line of JSON with its newline. */
void stepper_json(Stepper *s, StrBuf *out);

#endif
