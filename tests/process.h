/* Programs run as subprocesses, with what they print captured. */
#ifndef TESTS_PROCESS_H
#define TESTS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes with a NUL after the last, so that text is a C string too. */
typedef struct Text {
  char *data;
  size_t len;
} Text;

enum { STATUS_STOPPED = -1, STATUS_NOT_STARTED = -2 };

typedef struct Outcome {
  int status; /* of exit, 128 + the signal's number, or one of the above */
  Text out, err;
} Outcome;

/* Runs argv[0] (NULL ends argv) on an empty stdin.  It is stopped when it
 * takes more than `seconds` or prints without end. */
Outcome process_run(const char *const argv[], double seconds);
void outcome_free(Outcome *o);

/* A file as a whole; false when it cannot be read or written. */
bool text_read_file(Text *text, const char *path);
bool text_write_file(const Text *text, const char *path);
void text_free(Text *text);

#endif
