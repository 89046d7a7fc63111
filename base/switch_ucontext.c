/* See switch.h: the contexts of POSIX.
 *
 * getcontext() and makecontext() prepare a context on the other stack;
 * setcontext() goes there, and when `enter` returns, uc_link leads back to the
 * second getcontext(), which then returns a second time.  swapcontext() would
 * do both in one call, but the address sanitizer warns of every program that
 * calls it. */
#include "base/switch.h"

#if SWITCH_BY_UCONTEXT
#include <ucontext.h>

typedef struct Call {
  void (*run)(void *arg);
  void *arg;
} Call;

/* A context's function takes ints: the call's address comes in halves. */
static void enter(unsigned high, unsigned low) {
  const Call *call = (const Call *)(uintptr_t)((uint64_t)high << 32 | low);
  call->run(call->arg);
}

bool stack_switch(uintptr_t low, uintptr_t high, void (*run)(void *arg),
                  void *arg) {
  Call call = {run, arg};
  ucontext_t here, back;
  if (getcontext(&here) != 0) return false;
  here.uc_stack = (stack_t){.ss_sp = (void *)low, .ss_size = high - low};
  here.uc_link = &back;
  uint64_t at = (uintptr_t)&call;
  makecontext(&here, (void (*)(void))enter, 2, (unsigned)(at >> 32),
              (unsigned)at);
  volatile bool gone = false;
  if (getcontext(&back) != 0) return false;
  if (!gone) {
    gone = true;
    if (setcontext(&here) != 0) gone = false;
  }
  return gone;
}
#endif
