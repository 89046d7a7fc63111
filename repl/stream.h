/* What the files of `rly stream` share: stream.c runs the steps, stream_in.c
 * reads frames, stream_out.c writes and measures results. */
#ifndef REPL_STREAM_H
#define REPL_STREAM_H

#include <signal.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"

/* --- Names --------------------------------------------------------------- */

/* The value of --input and its like (named_value) for the input or output, or
 * NULL; plain ones are for all. */
const char *value_for(const TextList *list, const char *name);
/* Inputs or outputs as names; `what` is "input" or "output". */
typedef struct NameList {
  Host *h;
  const char *what;
  size_t count;
  const char *(*name)(const void *data, size_t i);
  const void *data;
} NameList;
/* Does each value of the flag name one, and no two the same?  A plain value is
 * for the only one, unless it is a file of several tensors or, `for_all`, meant
 * for all.  0, or an exit status after reporting. */
int check_names(const NameList *names, const char *flag, const TextList *list,
                bool for_all);

/* --- Files --------------------------------------------------------------- */

bool ends_in(const char *path, const char *end);
/* Is it a file of several tensors? */
bool is_archive(const char *path);

/* --- Inputs -------------------------------------------------------------- */

/* The words of --tail, in the order that flags.def has. */
typedef enum Tail { TAIL_PAD = 1, TAIL_DROP, TAIL_SHORT } Tail;

/* The layout of a frame.  A rank-0 x is a row of one element. */
typedef struct Shape {
  const char *dtype;
  int rank;
  int64_t dims[8]; /* of x; dims[0] is set at each call */
  size_t row;      /* bytes of one row of axis 0 */
  bool open;       /* whether axis 0 may have any length */
} Shape;

/* How much of a frame there is. */
typedef enum Filled { FRAME_WHOLE, FRAME_PART, FRAME_NONE } Filled;

/* One input.  A file descriptor or memory: a .npy file is mapped, and reading
 * it copies from the mapping. */
typedef struct Feed {
  Host *h;
  const char *name, *path; /* path NULL: nothing is fed to this option */
  bool optional;
  Shape shape;
  int64_t frame, hop;
  int fd;           /* -1: `data` */
  const char *data; /* of a file that was mapped */
  size_t left;      /* bytes of it */
  rly_tensors *file;
  rly_tensor *tensor;
  char *window; /* room for `frame` rows */
  /* rows in the window; of these, rows that no frame has had */
  int64_t have, unseen;
  bool ended;
  Filled filled;
  uint64_t frames; /* that were given */
  size_t read;     /* bytes */
} Feed;

/* How many signals asked for an end. */
extern volatile sig_atomic_t stream_asked;

/* The frame's layout from the type of the step's input, and from the flags.  0,
 * or an exit status after reporting. */
int feed_shape(Feed *f, const rly_type *t);
/* The same of one byte a frame. */
int feed_track(Feed *f);
int feed_open(Feed *f);
void feed_close(Feed *f);
/* Reads until the window holds a frame, or the input ends. */
rly_status feed_fill(Feed *f, Tail tail);
/* The frame as a value; NULL, after reporting, unless RLY_OK. */
rly_status feed_value(Feed *f, rly_session *s, Tail tail, rly_value **x);
/* Is every element of the frame this one; NULL: NaN? */
bool feed_holds(const Feed *f, const void *element);
/* Moves the window on to the next frame. */
rly_status feed_advance(Feed *f);
/* An error of the input, with its name and file. */
rly_status feed_bad(Feed *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- Results ------------------------------------------------------------- */

/* Bytes of an element. */
size_t dtype_bytes(const char *dtype);
bool is_float(const char *dtype);
/* Are all `n` elements this one, bit by bit; NULL: a NaN? */
bool elements_are(const char *dtype, const char *data, size_t n,
                  const void *element);

/* Where the results of one output go. */
typedef struct Sink {
  Host *h;
  const char *path;     /* NULL: nowhere */
  const rly_type *type; /* of a result */
  FILE *stream;
  bool npy;  /* gathered, and written when all is known */
  bool gone; /* nobody reads it, or the disk is full */
  char dtype[16];
  int rank;
  int64_t dims[8]; /* dims[0]: of all results together */
  bool varied;     /* results differ in more than their number of rows */
  uint64_t nans, infinities;
  /* What is expected; `seen` elements have been compared with it. */
  const char *name;
  rly_tensors *file;
  rly_tensor *expected;
  uint64_t seen, differences, first;
} Sink;

/* For results of that type; `output` and `expect` may be NULL.  0, or an exit
 * status after reporting. */
int sink_open(Sink *k, Host *h, const rly_type *type, const char *output,
              const char *expect);
rly_status sink_put(Sink *k, rly_value *y);
/* Completes what is written, unless not `fine`.  RLY_REFUSED, after reporting
 * where, when it is not what was expected. */
rly_status sink_close(Sink *k, bool fine);

/* How long steps take: a histogram with 32 boxes an octave. */
enum { PULSE_OCTAVE = 32, PULSE_BOXES = 40 * PULSE_OCTAVE };
typedef struct Pulse {
  uint64_t steps, boxes[PULSE_BOXES];
  double max;                    /* seconds */
  uint64_t settled, allocations; /* after two steps; now */
  uint64_t since, resets;        /* steps since the last reset; how many */
} Pulse;
void pulse_beat(Pulse *p, double seconds, uint64_t allocations);
void pulse_reset(Pulse *p);
/* On stderr. */
void pulse_report(const Pulse *p, const Sink *sinks, size_t count, bool json);

#endif
