/* Running checked programs: sessions, steps, calls.
 *
 * A program's code is shared and completed on demand; a session holds the
 * values of `let @x` and `let %x`, the heap, the stack of frames, limits.
 * Nothing here recurses on the C stack over the program's data or calls. */
#ifndef VM_SESSION_H
#define VM_SESSION_H

#include "value/value.h"

typedef struct Limits {
  size_t max_memory;  /* bytes of the session; 0: its Mem's parent decides */
  uint64_t max_depth; /* calls; 0: the default of 10,000,000 */
  uint64_t max_steps; /* instructions of one run; 0: no limit */
  double timeout;     /* seconds for one run; 0: none */
  size_t tape_memory; /* bytes that a differentiated run should keep at most, by
                         computing parts again; 0: no limit */
  int threads;
} Limits;

/* Why a run ended. */
typedef enum RunStatus {
  RUN_OK,
  RUN_ERROR, /* a located run-time error, in the session's diags */
  RUN_LIMIT, /* likewise: memory, depth, steps, time */
  RUN_INTERRUPTED,
} RunStatus;

typedef struct SessionHooks {
  /* Where print and print_text go; `data` is passed through. */
  void (*write)(void *data, const char *text, size_t len);
  void *data;
  int width; /* of the display form */
} SessionHooks;

typedef struct Session Session;
typedef struct Code Code; /* bytecode/code.h */

/* On a Mem of its own, which gets the limit.  NULL when memory runs out.
 * Diagnostics of its runs go to `diags`. */
Session *session_new(Code *code, Mem *mem, Limits limits, SessionHooks hooks,
                     Diags *diags);
void session_free(Session *s);
/* A session for what `s` needs evaluated apart from its own values.  It lives
 * as long as `s`, takes from its Mem, and what stops `s` stops it: the limit of
 * time, an interrupt.  Its steps are of the same run.  Nothing is written. NULL
 * when memory runs out. */
Session *session_aside(Session *s);
/* Drops the values of its `let`s and the cells that its host added. */
void session_forget(Session *s);
/* What its values live in. */
Store *session_store(Session *s);
void session_set_limits(Session *s, Limits limits);
Limits session_limits(const Session *s);
/* Replaces the session's hooks; returns the old ones. */
SessionHooks session_swap_hooks(Session *s, SessionHooks hooks);

/* Makes the steps and calls up to session_end() one run: its time and its
 * instructions are counted in one, and a request to stop between two of them is
 * not forgotten. */
void session_begin(Session *s);
void session_end(Session *s);

/* Asks a running session to stop, from a signal handler or another thread. */
void session_interrupt(Session *s);
/* For a prompt, whose user may press Ctrl-C before anything runs: forgets an
 * earlier interrupt.  From now on one that comes between runs stops the next
 * run, of the session or of its aside. */
void session_listen(Session *s);

bool session_in_run(const Session *s);

/* After long work on values that was given up (store_should_stop): reports at
 * `span` why, and gives the status. */
RunStatus session_stopped(Session *s, Span span);

/* Evaluates one step of a checked unit: stores a let's value in its slot, or
 * gives an expression's value as an owned result of type step->expr->type. */
RunStatus session_step(Session *s, const Step *step, Value *result);

/* Calls a global function.  Arguments are borrowed; the result is owned. */
RunStatus session_call(Session *s, const Global *g, int count,
                       const Value *args, Value *result);
/* Calls a function value of a monomorphic type. */
RunStatus session_apply(Session *s, Value fn, int count, const Value *args,
                        Value *result);

/* A global function as a value, whose instance owns its arguments and checks
 * them; an owned reference.  False when memory runs out. */
bool session_function(Session *s, const Global *g, Value *out);

/* A session's value of `let @x` (borrowed); false before it was evaluated. */
bool session_value(const Session *s, const Global *g, Value *out);
/* Sets that value to `v`, which is consumed; false when memory runs out. */
bool session_define_take(Session *s, const Global *g, Value v);

typedef struct SessionStats {
  uint64_t instructions, cells, reused, tensors, buffers, checks;
  size_t live_bytes, peak_bytes, tape_bytes;
  uint64_t records, recomputed; /* of tapes; made again by their sweeps */
} SessionStats;
SessionStats session_stats(const Session *s);

#endif
