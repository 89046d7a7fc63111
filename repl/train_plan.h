/* What a file that is trained has, and what the command line says of it:
 * train_plan.c finds it, train_text.c writes the program. */
#ifndef REPL_TRAIN_PLAN_H
#define REPL_TRAIN_PLAN_H

#include "repl/train.h"

typedef struct Plan {
  Training *t;
  const Cli *cli;
  rly_program *p;
  const char *loss;
  const rly_function *loss_fn;
  const rly_type *weights; /* their type */
  bool weighted;           /* the loss is (loss, how much it counts) */
  int inputs;              /* of the loss beside the weights */
  const rly_function *init, *batch, *data, *validation, *order;
  const char *param; /* of the weights; NULL: none */
  double lr;
  uint64_t size, shards, epochs;
  const char *optimizer; /* its name, without what stands in brackets */
  const char *given;     /* "beta1=0.8f64"; "" */
  const char *schedule;  /* its name */
} Plan;

/* An optimiser of the library: NAME(weights) begins, NAME_step goes on. */
typedef struct Optimiser {
  const char *name, *begin;
  double rate; /* PyTorch's default */
} Optimiser;

/* A schedule of the library: the rate of a step, as the text before and after
 * the rate that --lr gives.  The text reads %step and, the number of all steps,
 * %total. */
typedef struct Schedule {
  const char *name, *before, *after;
  bool total; /* rates depend on the number of all steps */
} Schedule;

/* NULL: the library has none of that name. */
const Optimiser *optimiser_named(const char *name);
const Schedule *schedule_named(const char *name);
/* An exit status after reporting that memory is out; 0: it is not. */
int plan_if_out(const Plan *p);
/* Writes the expression of the weights before the first step. */
void plan_put_weights(const Plan *p, const char *key, StrBuf *out);
/* Finds all of it; 0, or an exit status after reporting what is missing. */
int plan_find(Plan *p);

#endif
