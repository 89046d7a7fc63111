/* What a stream writes and measures, between stream.c and stream_out.c. */
#ifndef REPL_STREAM_H
#define REPL_STREAM_H

#include "repl/cli.h"

/* Bytes of an element. */
size_t dtype_bytes(const char *dtype);

/* Where results go. */
typedef struct Sink {
  Host *h;
  const char *path; /* NULL: nowhere */
  FILE *stream;
  bool npy;  /* gathered, and written when all is known */
  bool gone; /* nobody reads it, or the disk is full */
  char dtype[16];
  int rank;
  int64_t dims[8]; /* dims[0]: of all results together */
  uint64_t nans, infinities;
  /* What is expected; `seen` bytes of it have been compared. */
  rly_tensors *file;
  rly_tensor *expected;
  uint64_t seen, differences, first;
} Sink;

/* `output` and `expect` may be NULL.  0, or an exit status after reporting. */
int sink_open(Sink *k, Host *h, const char *output, const char *expect);
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
} Pulse;
void pulse_beat(Pulse *p, double seconds, uint64_t allocations);
/* On stderr. */
void pulse_report(const Pulse *p, const Sink *k, bool json);

#endif
