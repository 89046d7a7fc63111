/* What the files of `rly train` share: train.c goes on step by step,
 * train_text.c writes the program that does the steps, train_team.c does them
 * in several processes, train_data.c looks through the data, train_keep.c keeps
 * runs in files, train_show.c tells how it goes. */
#ifndef REPL_TRAIN_H
#define REPL_TRAIN_H

#include "lib/inside.h"
#include "repl/cli.h"
#include "team/team.h"

/* What a step gave (@train.step). */
typedef struct StepReport {
  double loss, norm, rate;
  int64_t examples;
  double count; /* how much they count */
  double seconds;
} StepReport;

/* What the end of an epoch gave (@train.epoch). */
typedef struct EpochReport {
  double loss, validation;
  bool validated; /* else `validation` is none */
  bool best;
  int64_t without; /* epochs since the best one */
  double count;    /* how much the examples of the validation count */
} EpochReport;

/* A sum over parts that the processes of a team share out. */
typedef struct Shared {
  const char *part; /* the function that gives part k */
  TeamSum *sum;     /* over the parts of all */
  TeamPart *parts;  /* what its bytes are */
  rly_value *form;  /* a value such as the sum is to be */
} Shared;

typedef enum TrainEnd {
  TRAIN_DONE,
  TRAIN_PATIENCE, /* before its last step */
  TRAIN_TIME,
  TRAIN_INTERRUPTED,
  TRAIN_CUT,       /* interrupted within a step */
  TRAIN_FAILED,    /* by an error */
  TRAIN_NO_NUMBER, /* in the loss or its gradient */
} TrainEnd;

typedef struct Training {
  Host *h;
  const char *file, *folder; /* of the run */
  char *made;                /* memory of `folder`, where it is not given */
  int lock;                  /* the folder, locked; -1: not open */
  StrBuf text;               /* the program beside the file */
  StrBuf settings;           /* what a run that goes on must share */
  StrBuf
      inputs;  /* a line for each field that @train.inputs() gives: its name */
  StrBuf sums; /* likewise: its name, a blank and its checksum */
  const char *loss;    /* the function that is made small */
  const char *weights; /* the param whose paths name them; "": none */
  rly_session *session;
  int64_t step, steps, per_epoch, epochs;
  rly_snapshot *before; /* the state with which the step under way began, */
  int64_t before_step;  /* which is the one after so many steps */
  int64_t saved;        /* the step of the last checkpoint; -1: none */
  double smooth;        /* loss, over some 20 steps; NaN: none yet */
  VEC(double) curve;    /* the mean losses of the epochs since `begun` */
  double begun;         /* when this process began */
  int64_t first;        /* the step it began at */
  int64_t seen;         /* examples since then */
  double shown;         /* when the last line was written */
  FILE *log;
  int log_error;    /* the first errno of a line that was not written; or 0 */
  const Team *team; /* of several processes; NULL: this one alone */
  bool agreed;      /* All processes know that it ends. */
  Shared shards;    /* of a step */
  Shared checks;    /* of validation */
} Training;

/* --- train_team.c --------------------------------------------------------- */

/* Joins the processes that mpirun started, if it did; 0 or an exit status. */
int train_join(Training *t);
/* Has each process a shard?  0 or an exit status. */
int train_check_team(const Training *t);
/* Do all processes train the same, with the same settings, program, examples
 * and weights?  0, or the same exit status in all. */
int train_check_alike(Training *t);
/* Shows this process how it goes, and keeps the run? */
bool train_leads(const Training *t);
/* The largest of what the processes say, to all; alone: one's own. */
int64_t train_agree(const Training *t, int64_t mine);
/* What @train.step() does, together. */
rly_status train_team_step(Training *t, rly_value **out);
/* What @train.epoch() does, together: `checks` as @train.checks() has it. */
rly_status train_team_epoch(Training *t, int64_t checks, rly_value **out);
/* Leaves the team.  Where not all have agreed to end, this ends the others. */
void train_leave(Training *t, int code);

/* --- train_data.c --------------------------------------------------------- */

/* Values that are still to be visited, or made, owned. */
typedef VEC(rly_value *) TrainValues;

/* Takes the value; false: it is NULL, or memory is out. */
bool train_values_push(TrainValues *all, rly_value *v);
void train_values_free(TrainValues *all);
/* Visits the tensors of a value in order; false: memory is out, or `see` says
 * so. */
bool train_each_tensor(const Training *t, rly_value *v,
                       bool (*see)(void *data, rly_value *tensor), void *data);
/* Computes t->sums; 0 or an exit status. */
int train_sum_inputs(Training *t);
/* Adds a line for the weights to t->sums; 0 or an exit status. */
int train_sum_weights(Training *t);
/* Says where the examples of the step to come hold a NaN, or, unless `nan`, an
 * infinity; if they do not, whether the weights hold one.  False: neither does,
 * or the session of the program failed. */
bool train_say_no_number(const Training *t, rly_program *p, rly_session *s,
                         bool nan);

/* --- train_text.c --------------------------------------------------------- */

/* Writes the program beside the file into t->text, and adds it to the file's;
 * writes t->settings and t->inputs.  0, or an exit status after reporting what
 * the file lacks. */
int train_write(Training *t);

/* --- train_keep.c --------------------------------------------------------- */

/* Finds the run's folder and what it holds, and goes on with that if --resume
 * says so. */
int train_open(Training *t);
/* Loads the state after this step, without asking whose it is. */
rly_status train_load(Training *t, rly_session *s, int64_t step);
/* Writes the state and drops the older ones; 0 or an exit status. */
int train_keep(Training *t);
/* Writes the weights to NAME.safetensors of the folder. */
int train_write_weights(Training *t, const char *name);

/* --- train_show.c --------------------------------------------------------- */

int train_log_open(Training *t);
/* The exit status: `status`, or 2 where that is 0 and a line is missing. */
int train_log_close(Training *t, int status);
void train_show_begin(const Training *t);
void train_show_step(Training *t, const StepReport *r);
void train_show_epoch(Training *t, const StepReport *r, const EpochReport *e);
/* Leaves the line that is drawn again and again. */
void train_show_end(const Training *t);
/* Why the run is over, and where the weights are. */
void train_show_why(const Training *t, TrainEnd end);

#endif
