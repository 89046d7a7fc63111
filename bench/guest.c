/* A program in this process whose functions are called repeatedly (guest.h).
 *
 * Calls through rly.h instead of whole processes, so that a figure has neither
 * start-up nor compilation in it: the first call makes the code, before the
 * time counts (bench.c warms up). */
#include "bench/guest.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/handles.h"

/* Whoever refused, context or session, has the message; the guest is of no use
 * from then on. */
static bool refused(Guest *g) {
  char *text = rly_diagnostic_count(g->cx)
                   ? rly_diagnostics_text(g->cx, false)
                   : rly_session_diagnostics_text(g->session, false);
  fprintf(stderr, "%s: %s\n", g->entry, text ? text : "refused");
  rly_text_free(g->cx, text);
  rly_diagnostics_clear(g->cx);
  rly_session_diagnostics_clear(g->session);
  g->failed = true;
  return false;
}

/* What a program prints is not shown; that it printed is a signal
 * (limits.c). */
static void note_print(void *data, const char *text, size_t len) {
  (void)text, (void)len;
  ((Guest *)data)->printed = true;
}

bool guest_start(Guest *g, const char *file, const char *entry) {
  return guest_start_within(g, file, entry, (GuestLimits){0});
}

bool guest_start_within(Guest *g, const char *file, const char *entry,
                        GuestLimits limits) {
  const rly_options options = {.size = sizeof options,
                               .threads = limits.threads,
                               .tape_memory = limits.tape_memory};
  *g = (Guest){.cx = rly_context_new(&options), .entry = entry};
  if (!g->cx) return false;
  g->program = rly_program_new(g->cx);
  if (rly_program_add_file(g->program, file, 0) != RLY_OK) return refused(g);
  rly_session_options printing = {.write = note_print, .data = g};
  g->session = rly_session_new(g->program, &printing);
  return g->session || refused(g);
}

void guest_end(Guest *g) {
  for (int i = 0; i < g->count; i++) rly_value_free(g->args[i]);
  rly_session_free(g->session);
  rly_program_free(g->program);
  rly_context_free(g->cx);
}

/* The handle's tensor is kept by the value. */
static void add(Guest *g, rly_tensor *t) {
  g->args[g->count++] = rly_value_of_tensor(g->session, t);
  rly_tensor_free(t);
}

void guest_int(Guest *g, int32_t value) {
  add(g, rly_tensor_new(g->cx, "int32", 0, NULL, &value));
}

/* Numbers between -2^-4 and 2^-4, by multiplication with a constant (Knuth's
 * multiplicative hash): recurrent networks stay in the range where their
 * functions curve.  The same numbers each time, so that a figure of today can
 * be compared with one of last month. */
void guest_tensor(Guest *g, const int64_t shape[GUEST_RANK]) {
  int rank = 0;
  size_t n = 1;
  while (rank < GUEST_RANK && shape[rank]) n *= (size_t)shape[rank++];
  float *elements = malloc(n * sizeof *elements);
  for (size_t i = 0; elements && i < n; i++)
    elements[i] = ((float)(i * 2654435761 % 65536) - 32768) * 0x1p-19f;
  add(g, rly_tensor_new(g->cx, "float32", rank, shape, elements));
  free(elements);
}

/* A call that failed once is not repeated, or its message would be. */
void guest_call(void *guest) {
  Guest *g = guest;
  rly_value *result = NULL;
  if (g->failed) return;
  if (rly_session_call(g->session, g->entry, g->count, g->args, &result) !=
      RLY_OK)
    refused(g);
  rly_value_free(result);
}

size_t guest_allocations(const Guest *g) {
  return atomic_load(&g->cx->mem.count);
}
