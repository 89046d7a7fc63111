/* Calls on other stacks (base/stack.h), for each way of base/switch.h to make
 * them: tests/t/switch.t compiles this file for each machine and C library that
 * it finds.  Prints what is wrong, and nothing otherwise. */
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stack.h"
#include "base/switch.h"

enum { SIZE = 64 << 10, DEPTH = 200 };

static int failures;

static void check(bool right, const char *what) {
  if (right) return;
  failures++;
  puts(what);
}

int main(void);

/* --- Where a debugger looks ----------------------------------------------- */

/* gcc's unwinder is built for one C library, and musl-gcc links glibc's. */
#ifdef NO_UNWINDER
static bool sees_main(void) { return true; }
#else
#include <unwind.h>

static _Unwind_Reason_Code look(struct _Unwind_Context *at, void *found) {
  void *function = _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(at));
  if (function != (void *)main) return _URC_NO_REASON;
  *(bool *)found = true;
  return _URC_END_OF_STACK;
}

static bool sees_main(void) {
  bool found = false;
  _Unwind_Backtrace(look, &found);
  return found;
}
#endif

/* --- Calls ---------------------------------------------------------------- */

typedef struct Level {
  SplitPiece *stack;
  int left;   /* levels below this one */
  double sum; /* of what they were given */
} Level;

/* So that the compiler keeps what is needed after the call in registers that a
 * called function must save: more of them than there are. */
static double mix(const double *x, int n) {
  double a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, i = 8, j = 9;
  for (int k = 0; k < n; k++) {
    a += x[k], b += a, c += b, d += c, e += d;
    f += e, g += f, h += g, i += h, j += i;
  }
  return a + b + c + d + e + f + g + h + i + j;
}

static void descend(void *arg) {
  Level *l = arg;
  char here[64] __attribute__((aligned(16)));
  uintptr_t at = (uintptr_t)here;
  check(at > stack_low(l->stack) && at < stack_high(l->stack),
        "a frame lies on the stack that was asked for");
  volatile uintptr_t low_bits = at & 15;
  check(low_bits == 0, "the stack is aligned");
  if (l->left == 0) {
    if (!SWITCH_BY_UCONTEXT) check(sees_main(), "the caller can be found");
    l->sum = 0;
    return;
  }
  double numbers[] = {l->left, 0.5, -3, 7};
  double before = mix(numbers, 4);
  void *memory = malloc(SIZE);
  Level next = {stack_in(memory, SIZE), l->left - 1, -1};
  if (stack_call(next.stack, descend, &next)) l->sum = next.sum + l->left;
  check(mix(numbers, 4) == before, "the caller's numbers stay");
  free(memory);
}

static void deep(void *arg) {
  volatile char room[4 << 20];
  for (size_t i = 0; i < sizeof room; i += 1000) room[i] = 1;
  *(int *)arg = room[3000];
}

/* The rounding mode is the thread's, and not the stack's. */
static void round_up(void *arg) {
  (void)arg;
  fesetround(FE_UPWARD);
}

int main(void) {
  void *memory = malloc(SIZE);
  Level first = {stack_in(memory, SIZE), DEPTH, 0};
  check(stack_call(first.stack, descend, &first), "a stack can be called on");
  check(first.sum == DEPTH * (DEPTH + 1) / 2, "each level was there once");

  SplitPiece *large = stack_deep_new();
  int touched = 0;
  check(large && stack_call(large, deep, &touched) && touched == 1,
        "a deep stack holds 4 MB");
  if (large) stack_deep_free(large);

  if (!SWITCH_BY_UCONTEXT) {
    stack_call(first.stack, round_up, NULL);
    check(fegetround() == FE_UPWARD, "a call changes nothing by itself");
  }
  free(memory);
  return failures != 0;
}
