/* Handles: reference counts, locks, and release.  The rest of lib/ is built on
 * this file.
 *
 * A handle lives until the last handle that depends on it is freed, so hosts
 * may free in any order: each holds one reference to the one that it depends
 * on.
 *
 *   context  <-  program  <-  session  <-  value, snapshot, state
 *            <-  tensor, tensors
 *
 * Three locks keep threads apart, and are always taken in this order:
 *
 *   session   rly_session.lock    the whole session; trylock, so that a second
 *                                 thread is refused instead of waiting
 *   program   rly_program.holders no mutex but a count: n sessions run on it,
 *                                 or -1: it is being changed
 *   context   rly_context.lock    names, sources, diagnostics, the heap
 *
 * So a program is like a lock for readers and one writer: to run a session on
 * it (session_hold) is to read, to add a text to it (program_enter) is to
 * write.  A writer that finds readers is refused (RLY_MISUSE); a reader that
 * finds a writer waits for it, for a change takes a bounded time.
 *
 * Mutexes are recursive, since a callback of a run (write, show) may ask for
 * values of its own session. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/split.h"
#include "bytecode/code.h"
#include "lib/handles.h"
#include "lib/redefine.h"

/* --- What the host is told ---------------------------------------------- */

rly_status status_of_run(RunStatus status) {
  static const rly_status of[] = {
      [RUN_OK] = RLY_OK,
      [RUN_ERROR] = RLY_RUNTIME,
      [RUN_LIMIT] = RLY_LIMIT,
      [RUN_INTERRUPTED] = RLY_INTERRUPTED,
  };
  return of[status];
}

Limits limits_of(const rly_context *cx) {
  return (Limits){
      .max_memory = cx->options.max_memory,
      .max_depth = cx->options.max_depth,
      .max_steps = cx->options.max_steps,
      .timeout = cx->options.timeout,
      .tape_memory = cx->options.tape_memory,
      .threads = cx->options.threads ? cx->options.threads : 1,
  };
}

/* The parser and the checker know one reason to end early, that memory is
 * exhausted; a deadline raises the same flag (program.c), and `late` tells the
 * two apart. */
rly_status status_of_failure(rly_context *cx, rly_status failed) {
  if (!mem_exhausted(&cx->mem)) return failed;
  if (atomic_load(&cx->late))
    diag_error(&cx->diags, E0703, SPAN_NONE, "time limit of %g s reached",
               cx->options.timeout);
  else diag_error(&cx->diags, E0701, SPAN_NONE, "out of memory");
  /* the report itself may have been refused memory */
  mem_clear_exhausted(&cx->mem);
  return RLY_LIMIT;
}

/* A program has a Mem of its own, and its type table has another; where any was
 * refused, the report is the context's. */
rly_status program_failed(rly_program *p, rly_status failed) {
  if (!mem_exhausted(p->mem)) return failed;
  mem_clear_exhausted(p->mem);
  mem_clear_exhausted(p->ir->tables);
  mem_raise_exhausted(&p->cx->mem);
  return status_of_failure(p->cx, failed);
}

rly_status session_failed(rly_session *s, rly_status failed) {
  if (!mem_exhausted(s->mem)) return failed;
  diag_error(&s->diags, E0701, SPAN_NONE, "out of memory");
  /* the report itself may have been refused memory */
  mem_clear_exhausted(s->mem);
  return RLY_LIMIT;
}

rly_status session_out_of_memory(rly_session *s) {
  mem_raise_exhausted(s->mem);
  return session_failed(s, RLY_LIMIT);
}

rly_status stopped_or(rly_session *s, rly_status failed) {
  if (mem_exhausted(s->mem)) return session_failed(s, failed);
  RunStatus stopped = session_stopped(s->vm, SPAN_NONE);
  return stopped == RUN_OK ? failed : status_of_run(stopped);
}

/* The host frees with a size that follows from the text, so the copy is exactly
 * as long as that. */
char *text_take(rly_context *cx, StrBuf *text) {
  bool whole = !mem_exhausted(text->mem);
  char *copy = whole ? mem_alloc(&cx->mem, text->len + 1) : NULL;
  if (copy) memcpy(copy, strbuf_text(text), text->len + 1);
  strbuf_done(text);
  return copy;
}

/* --- Contexts ----------------------------------------------------------- */

void context_keep(rly_context *cx) { atomic_fetch_add(&cx->refs, 1); }

/* The last one takes everything down.  The assertion finds a leak of the
 * library itself. */
void context_drop(rly_context *cx) {
  if (atomic_fetch_sub(&cx->refs, 1) > 1) return;
  heap_done(&cx->heap);
  diags_done(&cx->diags);
  sources_done(&cx->sources);
  names_done(&cx->names);
  fork_guard_done(&cx->guard);
  split_settle(&cx->mem);
  assert(atomic_load(&cx->mem.live) == 0);
  mem_done(&cx->mem);
  free(cx);
}

void context_lock(rly_context *cx) {
  pthread_mutex_lock(&cx->lock);
  cx->deep++;
}

void context_unlock(rly_context *cx) {
  if (cx->deep == 1 && cx->log.write)
    cx->told = log_new(cx, &cx->diags, cx->told);
  cx->deep--;
  pthread_mutex_unlock(&cx->lock);
}

/* --- Programs ----------------------------------------------------------- */

/* Code before the program that it was made from. */
static void program_free_all(rly_program *p) {
  rly_context *cx = p->cx;
  if (p->code) code_free(p->code);
  uses_free(p->uses);
  if (p->ir) program_free(p->ir);
  if (p->operators_free) p->operators_free(p);
  for (size_t i = 0; i < p->bound.len; i++)
    if (p->bound.data[i].tensor)
      tensor_drop(&cx->heap, p->bound.data[i].tensor);
  VEC_DONE(&p->bound);
  ptrmap_done(&p->newest_bound);
  arena_done(&p->arena);
  mem_leave(p->mem);
  mem_free(&cx->mem, p, sizeof *p);
}

void program_drop(rly_program *p) {
  if (atomic_fetch_sub(&p->refs, 1) > 1) return;
  rly_context *cx = p->cx;
  context_lock(cx);
  program_free_all(p);
  context_unlock(cx);
  context_drop(cx);
}

/* 0 -> -1 in one step: fails when a session holds the program or when it is
 * being changed by this very thread, in a callback.  Other threads wait for the
 * context's lock. */
bool program_enter_for(const char *function, rly_program *p) {
  if (!p) return misuse(function, "the program is NULL"), false;
  context_lock(p->cx);
  int none = 0;
  if (!atomic_compare_exchange_strong(&p->holders, &none, -1)) {
    context_unlock(p->cx);
    misuse(function, "the program cannot be changed while %s",
           none < 0 ? "it is being changed" : "one of its sessions is at work");
    return false;
  }
  /* A failure that was never reported must not fail the next call. */
  Mem *used[] = {&p->cx->mem, p->ir->tables, p->mem};
  for (int i = 0; i < 3; i++)
    if (mem_exhausted(used[i])) mem_clear_exhausted(used[i]);
  return true;
}

void program_leave(rly_program *p) {
  atomic_store(&p->holders, 0);
  context_unlock(p->cx);
}

/* Holds the program as it is, so that no other thread changes it.  Waits for a
 * change that is under way: the thread that changes it has the context's lock
 * until it is done, so to take that lock is to wait. */
static void program_hold(rly_program *p) {
  int n = atomic_load(&p->holders);
  while (n < 0 || !atomic_compare_exchange_weak(&p->holders, &n, n + 1)) {
    if (n >= 0) continue;
    context_lock(p->cx); /* program_leave unlocks it after the change */
    context_unlock(p->cx);
    n = atomic_load(&p->holders);
  }
}

/* Ends one hold. */
static void program_release(rly_program *p) {
  atomic_fetch_sub(&p->holders, 1);
}

/* --- Sessions ----------------------------------------------------------- */

static void close_trace(rly_session *s) {
  if (!s->trace.stream) return; /* it may have failed to open */
  context_lock(s->program->cx);
  file_out_close(&s->trace, true);
  context_unlock(s->program->cx);
}

/* The program comes last, since the session's Mem belongs to its context. */
void session_shell_free(rly_session *s) {
  rly_program *p = s->program;
  diags_done(&s->diags);
  fork_guard_done(&s->guard);
  mem_leave(s->mem);
  mem_free(&p->cx->mem, s, sizeof *s);
  program_drop(p);
}

void session_keep(rly_session *s) { atomic_fetch_add(&s->refs, 1); }

/* The machine sends the end of a trace while it is freed, so the file is closed
 * after it. */
void session_drop(rly_session *s) {
  if (atomic_fetch_sub(&s->refs, 1) > 1) return;
  session_free(s->vm);
  close_trace(s);
  session_shell_free(s);
}

/* trylock: whoever comes while another thread has the session is refused.  The
 * same thread, in a callback, may enter again. */
bool session_hold_for(const char *function, rly_session *s) {
  if (!s) return misuse(function, "the session is NULL"), false;
  if (!fork_guard_try(&s->guard)) {
    misuse(function, "the session is at work in another thread%s",
           fork_lost(&s->guard) ? " of the process that was forked" : "");
    return false;
  }
  program_hold(s->program);
  return true;
}

bool session_wait(rly_session *s) {
  return !fork_lost(&s->guard) && !pthread_mutex_lock(&s->lock);
}

/* A callback of a run leaves what is reported by it to the end of the run. */
void session_release(rly_session *s) {
  rly_context *cx = s->program->cx;
  if (cx->log.write && !s->running &&
      s->told != s->diags.errors + s->diags.warnings) {
    context_lock(cx);
    s->told = log_new(cx, &s->diags, s->told);
    context_unlock(cx);
  }
  program_release(s->program);
  pthread_mutex_unlock(&s->lock);
}

/* `running` refuses a call from within a callback, which session_hold() lets
 * through: values may be looked at then, but nothing may be run. */
bool session_idle_for(const char *function, const rly_session *s) {
  if (!s->running && !s->freed) return true;
  misuse(function, "the session %s",
         s->freed ? "is freed" : "is at work: this is a callback of it");
  return false;
}

bool session_enter_for(const char *function, rly_session *s) {
  if (!session_hold_for(function, s)) return false;
  if (!session_idle_for(function, s)) return session_release(s), false;
  s->running = true;
  /* A failure that was never reported must not fail the next call. */
  if (mem_exhausted(s->mem)) mem_clear_exhausted(s->mem);
  session_begin(s->vm);
  return true;
}

/* In the reverse order.  A callback may have freed the handle during the call;
 * then its reference is dropped here.  Otherwise another thread may be waiting
 * to free the session, so `s` is not used once it is released. */
void session_leave(rly_session *s) {
  session_end(s->vm);
  s->running = false;
  bool gone = s->freed;
  session_release(s);
  if (gone) session_drop(s);
}
