/* Whether an instruction set gives the bits that the others give: float32
   operators of one operand, and conversions from float32, on all floats.

     same                   TAP: a sparse sweep, each set within one test
     same STRIDE [ISA...]   every STRIDE-th float, in those sets or in all;
                            with 1 all 2^32, which takes an hour

   Each set is compared with the widest of them. A NaN is the same
   as any other. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"
#include "kernels/isa.h"

enum { BLOCK = 4096, SPARSE_STRIDE = 10007, WIDEST_ELEMENT = 8 };

/* --- What is compared -----------------------------------------------------*/

/* An operator, or a conversion if op is OP_CAST. */
typedef struct {
  OpId op;
  DType to;
} Function;

static StripFn strip_of(const Isa *isa, Function f) {
  return f.op == OP_CAST ? isa->casts[DT_FLOAT32][f.to]
                         : isa->strips[DT_FLOAT32][f.op];
}

static const char *function_name(Function f) {
  return f.op == OP_CAST ? dtype_name(f.to) : op_info((int)f.op)->name;
}

static int is_same_float(const void *a, const void *b) {
  float x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return memcmp(a, b, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* --- The sweep ------------------------------------------------------------*/

typedef struct {
  uint64_t count;
  float at; /* the first */
} Differences;

static size_t fill(float *x, uint64_t *bits, uint64_t stride) {
  size_t count = 0;
  for (; count < BLOCK && *bits < 1ull << 32; *bits += stride) {
    uint32_t word = (uint32_t)*bits;
    memcpy(&x[count++], &word, sizeof word);
  }
  return count;
}

/* Clipping and slopes take parameters: 1/4 and 7. */
static void run(StripFn function, const float *x, char *y, size_t n) {
  Strip s = {.n = (int64_t)n,
             .out = y,
             .out_step = 1,
             .in = {(const char *)x},
             .step = {1},
             .params = {bits_from_f64(DT_FLOAT32, 0.25),
                        bits_from_f64(DT_FLOAT32, 7)}};
  function(&s);
}

static void compare(const char *a, const char *b, const float *x, size_t n,
                    DType dtype, Differences *found) {
  size_t size = dtype_size(dtype);
  if (memcmp(a, b, n * size) == 0) return;
  for (size_t i = 0; i < n; i++, a += size, b += size) {
    int same =
        dtype == DT_FLOAT32 ? is_same_float(a, b) : memcmp(a, b, size) == 0;
    if (!same && found->count++ == 0) found->at = x[i];
  }
}

static Differences sweep(StripFn a, StripFn b, DType to, uint64_t stride) {
  static float x[BLOCK];
  static char y[2][BLOCK * WIDEST_ELEMENT];
  Differences found = {0, 0};
  for (uint64_t bits = 0; bits < 1ull << 32;) {
    size_t n = fill(x, &bits, stride);
    run(a, x, y[0], n);
    run(b, x, y[1], n);
    compare(y[0], y[1], x, n, to, &found);
  }
  return found;
}

/* --- All of them ----------------------------------------------------------*/

typedef struct {
  const Isa *const *sets;
  int count;
  uint64_t stride;
  int tests; /* 0: reports as it goes; else the number of the last one */
} Sweeps;

/* Every set but the last against that. */
static int compare_sets(Sweeps *all, Function f) {
  const Isa *last = all->sets[all->count - 1];
  StripFn expected = strip_of(last, f);
  int failures = 0;
  for (int i = 0; expected && i < all->count - 1; i++) {
    Differences d =
        sweep(strip_of(all->sets[i], f), expected, f.to, all->stride);
    printf("%sok %d - %s: %s as %s", d.count ? "not " : "", ++all->tests,
           function_name(f), all->sets[i]->name, last->name);
    if (d.count)
      printf(", but for %llu, the first of %a", (unsigned long long)d.count,
             (double)d.at);
    printf("\n");
    fflush(stdout);
    failures += d.count != 0;
  }
  return failures;
}

static int compare_all(Sweeps *all) {
  int failures = 0;
  for (int op = 0; op < OP_COUNT; op++) {
    DType to = op_rule(op_info(op))->gives_bool ? DT_BOOL : DT_FLOAT32;
    if (op_info(op)->fusion != FUSION_CAST && op_arg_count(op_info(op)) == 1)
      failures += compare_sets(all, (Function){(OpId)op, to});
  }
  for (int to = 0; to < DTYPE_COUNT; to++)
    failures += compare_sets(all, (Function){OP_CAST, (DType)to});
  printf("1..%d\n", all->tests);
  return failures != 0;
}

static int is_wanted(const char *isa, char **names) {
  for (char **n = names; *n; n++)
    if (strcmp(*n, isa) == 0) return 1;
  return *names == NULL;
}

int main(int argc, char **argv) {
  const Isa *found[ISA_MAX];
  int available = isa_available(found), count = 0;
  uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 0) : SPARSE_STRIDE;
  if (stride == 0) {
    fputs("same: STRIDE is a number from 1 on\n", stderr);
    return 2;
  }
  for (int i = 0; i < available; i++)
    if (is_wanted(found[i]->name, argv + (argc > 1 ? 2 : 1)))
      found[count++] = found[i];
  return compare_all(&(Sweeps){found, count, stride, 0});
}
