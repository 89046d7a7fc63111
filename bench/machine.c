/* What one core of the machine can do: fused multiply-adds, copies within the
 * second- and third-level caches, reads from the third.  One source is built
 * for each instruction set.
 *
 * These are the ceilings that kernels are compared with (the roofline model:
 * Williams, Waterman and Patterson 2009): arithmetic is bounded by the rate of
 * multiply-adds, everything else by the rate at which bytes move. */
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/bench.h"

enum {
  CHAINS = 12, /* independent sums, enough to hide an fma's latency */
  ROUNDS = 2000000,
  L2_BYTES = 256 << 10, /* bytes of each of two buffers */
  L3_BYTES = 4 << 20,
  TRIES = 25,
};

/* Receives a value that depends on every result, so that none is optimised
 * away. */
static volatile float sink;

typedef struct Kernels {
  int width; /* floats in a vector */
  void (*fma)(long rounds);
  void (*read)(const float *data, size_t count);
} Kernels;

/* FMA(a, x, y) is a * x + y on vectors V.  The factor below 1 keeps the sums
 * finite and different starts keep them apart.  Reading takes CHAINS vectors at
 * a time and leaves out the rest.  CHAINS sums are independent of each other:
 * an fma takes 4 cycles and two can start in each, so 8 must be under way to
 * keep the units busy, and 12 leave some room. */
#define KERNELS(ISA, TARGET, V, FMA)                                          \
  TARGET static void fma_##ISA(long rounds) {                                 \
    V sum[CHAINS], x = (V){0} + 0.5f, y = (V){0} + 1.5f;                      \
    for (int i = 0; i < CHAINS; i++) sum[i] = (V){0} + (float)i;              \
    for (; rounds > 0; rounds--)                                              \
      for (int i = 0; i < CHAINS; i++) sum[i] = FMA(sum[i], x, y);            \
    for (int i = 0; i < CHAINS; i++) sink += sum[i][0];                       \
  }                                                                           \
  TARGET static void read_##ISA(const float *data, size_t count) {            \
    const V *p = (const V *)data;                                             \
    const V *end = p + count * sizeof *data / sizeof(V);                      \
    V sum[CHAINS] = {{0}};                                                    \
    for (; end - p >= CHAINS; p += CHAINS)                                    \
      for (int i = 0; i < CHAINS; i++) sum[i] += p[i];                        \
    for (int i = 0; i < CHAINS; i++) sink += sum[i][0];                       \
  }                                                                           \
  static const Kernels kernels_##ISA = {sizeof(V) / sizeof(float), fma_##ISA, \
                                        read_##ISA};

typedef float Float4 __attribute__((vector_size(16)));
#define MULTIPLY_ADD(a, x, y) ((a) * (x) + (y))
KERNELS(generic, , Float4, MULTIPLY_ADD)

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
KERNELS(avx2, AVX2, __m256, _mm256_fmadd_ps)
KERNELS(avx512, AVX512, __m512, _mm512_fmadd_ps)
#endif

/* The widest that this processor has. */
static const Kernels *best_kernels(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return &kernels_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &kernels_avx2;
#endif
  return &kernels_generic;
}

/* `amount` per nanosecond since `start`. */
static double rate(double amount, double start) {
  return amount / (bench_now() - start) * 1e-9;
}

/* Two operations, a product and a sum, for each element. */
static double fma_rate(const Kernels *k) {
  double best = 0, flops = 2.0 * CHAINS * k->width * ROUNDS;
  for (int i = 0; i < TRIES; i++) {
    double start = bench_now();
    k->fma(ROUNDS);
    double now = rate(flops, start);
    if (now > best) best = now;
  }
  return best;
}

enum { ROUNDS_A_RUN = 1000 };

/* For bench.c: a run of fixed length, as a work beside ours. */
double machine_fma_flops(void) {
  return 2.0 * CHAINS * best_kernels()->width * ROUNDS_A_RUN;
}

void machine_fma(void *unused) {
  (void)unused;
  best_kernels()->fma(ROUNDS_A_RUN);
}

/* Bytes passed over in a try, so that it takes milliseconds. */
enum { PASSED_BYTES = 256 << 20 };

/* The empty asm tells the compiler that both buffers may be read and written,
 * so no pass is left out.  A copy counts its bytes twice, read and written. */
static double copy_rate(char *to, const char *from, size_t bytes) {
  double best = 0;
  int passes = (int)(PASSED_BYTES / bytes);
  for (int i = 0; i < TRIES; i++) {
    double start = bench_now();
    for (int pass = 0; pass < passes; pass++) {
      memcpy(to, from, bytes);
      __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
    }
    double now = rate(2.0 * (double)bytes * passes, start);
    if (now > best) best = now;
  }
  return best;
}

/* 4 MB lie in the third-level cache of every machine that this is meant for,
 * and in the second of few. */
static double read_rate(const Kernels *k, const float *data, size_t bytes) {
  double best = 0;
  int passes = (int)(PASSED_BYTES / bytes);
  for (int i = 0; i < TRIES; i++) {
    double start = bench_now();
    for (int pass = 0; pass < passes; pass++)
      k->read(data, bytes / sizeof *data);
    double now = rate((double)bytes * passes, start);
    if (now > best) best = now;
  }
  return best;
}

void bench_machine(Bench *b) {
  const Kernels *k = best_kernels();
  char *from = aligned_alloc(64, L3_BYTES), *to = aligned_alloc(64, L3_BYTES);
  b->failed |= !from || !to;
  if (from && to) {
    memset(from, 0, L3_BYTES);
    bench_print("machine.fma_f32", fma_rate(k), "GFLOP/s");
    bench_print("machine.copy_l2", copy_rate(to, from, L2_BYTES), "GB/s");
    bench_print("machine.copy_l3", copy_rate(to, from, L3_BYTES), "GB/s");
    bench_print("machine.read_l3", read_rate(k, (float *)from, L3_BYTES),
                "GB/s");
  }
  free(from);
  free(to);
}
