/* A program in this process whose functions are called repeatedly. */
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
  _Atomic bool printed; /* set by a call when it prints; limits.c clears it */
} Guest;

/* 0: as the library has it without a word. */
typedef struct GuestLimits {
  int threads;        /* for kernels */
  size_t tape_memory; /* bytes that the tape of a gradient may have */
} GuestLimits;

/* Loads a file; false after printing why it is refused.  guest_end() is due in
 * either case. */
bool guest_start(Guest *g, const char *file, const char *entry);
bool guest_start_within(Guest *g, const char *file, const char *entry,
                        GuestLimits limits);
void guest_end(Guest *g);

/* Adds an argument: an int32, or numbers around 0 in a shape that ends at its
 * first 0. */
void guest_int(Guest *g, int32_t value);
void guest_tensor(Guest *g, const int64_t shape[GUEST_RANK]);

/* Makes one call; `guest` is a Guest, typed for use as a Work. */
void guest_call(void *guest);

/* The number of allocations so far. */
size_t guest_allocations(const Guest *g);

#endif
