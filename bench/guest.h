/* A program in this process, whose functions are called again and again. */
#ifndef BENCH_GUEST_H
#define BENCH_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/rly.h"

enum { GUEST_ARGS = 10, GUEST_RANK = 3 };

typedef struct Guest {
  rly_context *cx;
  rly_program *program;
  rly_session *session;
  const char *entry;
  int count;
  rly_value *args[GUEST_ARGS];
  bool failed;
  _Atomic bool printed; /* by a call under way; limits.c takes it back */
} Guest;

/* Loads a file.  False, with the reason on stderr, when it is refused; in any
 * case guest_end() is due. */
bool guest_start(Guest *g, const char *file, const char *entry);
void guest_end(Guest *g);

/* The next argument: an int32; numbers around 0 in a shape that ends with its
 * first 0. */
void guest_int(Guest *g, int32_t value);
void guest_tensor(Guest *g, const int64_t shape[GUEST_RANK]);

/* One call; `guest` is a Guest, so that it may be a Work. */
void guest_call(void *guest);

/* How often memory was asked for so far. */
size_t guest_allocations(const Guest *g);

#endif
