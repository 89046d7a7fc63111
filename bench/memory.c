/* Memory that a value, a recursion, another session and a long chunk take.
 *
 * Figures are differences of what the context's Mem counts, so they are exact
 * and the same on every machine: no process size, no page.  Everything is
 * called once before, with a small argument, because the first call makes
 * code. */
#include "bench/bench.h"
#include "bench/guest.h"

enum { MILLION = 1000000, OUTPUT_T10000 = 10000 * 64 * sizeof(float) };

/* Bytes in use now, by all that the context has. */
static size_t live(const Guest *g) {
  return rly_session_stats(g->session).live_bytes;
}

static void print(const char *name, size_t bytes) {
  bench_print(name, (double)bytes * 1e-6, "MB");
}

/* The peak of a call beyond what lived before it and what it is known to
 * return. A smaller call before it has compiled its code. */
static bool peak(const char *name, Guest *g, size_t given) {
  size_t before = live(g);
  guest_call(g);
  size_t most = rly_session_stats(g->session).peak_bytes;
  if (!g->failed) print(name, most - before - given);
  return !g->failed;
}

/* Exchanges the first argument with the one after the last: a small and a
 * large one for the same parameter.  Both are made before anything is measured,
 * so neither is in a figure. */
static void swap_first(Guest *g) {
  rly_value *first = g->args[0];
  g->args[0] = g->args[g->count];
  g->args[g->count] = first;
}

/* A list of a million cells, or a million calls on the stack: bytes for each
 * are the figure's, in MB. */
static bool recursion(const char *name, const char *entry) {
  Guest g;
  bool ok = guest_start(&g, "bench/memory.rly", entry);
  if (ok) {
    guest_int(&g, MILLION);
    guest_int(&g, 1);
    g.count--;
    swap_first(&g);
    guest_call(&g);
    swap_first(&g);
    ok = peak(name, &g, 0);
    g.count++;
  }
  guest_end(&g);
  return ok;
}

/* A long sequence (T = 10,000) through an LSTM layer, without its result: what
 * the layer needs for itself must not grow with T. */
static bool layer(void) {
  static const int64_t shapes[][GUEST_RANK] = {
      {10000, 1, 40}, {1, 64}, {1, 64}, {256, 40},
      {256, 64},      {256},   {256},   {2, 1, 40}};
  Guest g;
  bool ok = guest_start(&g, "bench/memory.rly", "layer");
  if (ok) {
    for (int i = 0; i < 8; i++) guest_tensor(&g, shapes[i]);
    g.count--;
    swap_first(&g);
    guest_call(&g);
    guest_call(&g);
    swap_first(&g);
    ok = peak("memory.lstm_layer_T10000", &g, OUTPUT_T10000);
    g.count++;
  }
  guest_end(&g);
  return ok;
}

/* The second session of a program, after a call.  Its input is not counted.  A
 * server has one program and a session for each client, so it needs this figure
 * once for each of them. */
static bool session(void) {
  static const int64_t row[GUEST_RANK] = {1, 512};
  Guest g, one_more;
  bool ok = guest_start(&g, "bench/memory.rly", "step");
  if (ok) {
    guest_tensor(&g, row);
    guest_call(&g);
    guest_call(&g);
    size_t before = live(&g);
    one_more = (Guest){.cx = g.cx, .program = g.program, .entry = g.entry};
    one_more.session = rly_session_new(g.program, NULL);
    guest_tensor(&one_more, row);
    size_t with_input = 512 * sizeof(float);
    guest_call(&one_more);
    guest_call(&one_more);
    ok = !g.failed && !one_more.failed;
    if (ok) print("memory.session", live(&g) - before - with_input);
    rly_value_free(one_more.args[0]);
    rly_session_free(one_more.session);
  }
  guest_end(&g);
  return ok;
}

void bench_memory(Bench *b) {
  b->failed |= !recursion("memory.list_1M", "list");
  b->failed |= !recursion("memory.recursion_1M", "deep");
  b->failed |= !session();
  b->failed |= !layer();
}
