/* Running checked programs: code, sessions, calls.
 *
 * A program's code is shared and completed on demand; a session holds the
 * values of `let @x` and `let %x`, the heap, the stack of frames, limits.
 * Nothing here recurses on the C stack over the program's data or calls. */
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H

#include <pthread.h>

#include "interp/value.h"
#include "types/types.h"

/* The code of a program: instructions of every function reached so far, one
 * instance per combination of representations of its type parameters. */
typedef struct Code Code;
Code *code_new(Program *p);
void code_free(Code *c);
/* Binds a param's value (one reference is kept) before any session starts. */
bool code_bind_param(Code *c, const Global *param, Tensor *value);
const Tensor *code_param(const Code *c, const Global *param); /* or NULL */

/* Instructions as text, each with its source line; from the VM's own table. */
void code_dump(Code *c, StrBuf *out, const Global *only);

typedef struct Limits {
  size_t max_memory;  /* bytes of program and sessions; 0: as it was */
  uint64_t max_depth; /* calls; 0: the default of 10,000,000 */
  double timeout;     /* seconds for one run; 0: none */
  int threads;
} Limits;

/* Why a run ended. */
typedef enum RunStatus {
  RUN_OK,
  RUN_ERROR, /* a located run-time error, in the session's diags */
  RUN_LIMIT, /* likewise: memory, depth, time */
  RUN_INTERRUPTED,
} RunStatus;

typedef struct SessionHooks {
  /* Where print and print_text go; `data` is passed through. */
  void (*write)(void *data, const char *text, size_t len);
  void *data;
  int width; /* of the display form */
} SessionHooks;

/* NULL when memory runs out.  Diagnostics of its runs go to `diags`. */
Session *session_new(Code *code, Limits limits, SessionHooks hooks,
                     Diags *diags);
void session_free(Session *s);
Heap *session_heap(Session *s);
Mem *session_mem(Session *s);
/* Held while types are looked up or made: a program's sessions share them. */
pthread_mutex_t *session_types_lock(Session *s);
void session_set_limits(Session *s, Limits limits);
Limits session_limits(const Session *s);

/* Makes the steps and calls up to session_end() one run: its time is counted
 * in one, and a request to stop between two of them is not forgotten. */
void session_begin(Session *s);
void session_end(Session *s);

/* Asks a running session to stop, from a signal handler or another thread. */
void session_interrupt(Session *s);

bool session_in_run(const Session *s);

/* Is long work on values to be given up: interrupted, out of time or memory?
 * session_stopped() then reports it at `span` and gives the status. */
bool session_should_stop(const Session *s);
RunStatus session_stopped(Session *s, Span span);

/* Evaluates one step of a checked unit: stores a let's value in its slot, or
 * gives an expression's value as an owned result of type step->expr->type. */
RunStatus session_step(Session *s, const Step *step, Value *result);

/* Calls a global function.  Arguments are borrowed; the result is owned. */
RunStatus session_call(Session *s, const Global *g, int count,
                       const Value *args, Value *result);
/* Calls a function value of a monomorphic type. */
RunStatus session_apply(Session *s, const Type *fn_type, Value fn, int count,
                        const Value *args, Value *result);

/* A session's value of `let @x` (borrowed); false before it was evaluated. */
bool session_value(const Session *s, const Global *g, Value *out);

/* What is looked at while a session runs.  Nothing of it changes a result. */
typedef struct Observe {
  bool count;   /* instructions, for session_stats() */
  bool profile; /* for session_profile() */
  bool nans;    /* E0608 at the first; needs code_stop_at_nans() */
  /* Receives, in pieces, a file of Chrome's trace events; its end from
   * session_free().  NULL: there is none. */
  void (*trace)(void *data, const char *text, size_t len);
  void *data;
} Observe;

/* Before the first run.  False when memory runs out. */
bool session_observe(Session *s, const Observe *what);
/* Between two runs: begins a new profile or ends the one there is; other
 * observation goes on. */
bool session_set_profile(Session *s, bool on);
/* Before any code is made: runs may end at any instruction. */
void code_stop_at_nans(Code *c);
/* Looks whether the code made from now on is sound (verify.h), as debug builds
 * do anyway; a function whose code is not ends the run with E0706. */
void code_verify_all(Code *c);
/* Calls, time, bytes and operations by source line, by operator. */
void session_profile(Session *s, StrBuf *out);

typedef struct SessionStats {
  uint64_t instructions, cells, reused, tensors, buffers, checks;
  size_t live_bytes, peak_bytes;
} SessionStats;
SessionStats session_stats(const Session *s);

#endif
