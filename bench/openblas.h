/* OpenBLAS, loaded at run time when it is installed.
 *
 * Not linked, since the benchmarks must also run where it is missing, and then
 * print our own figures without the peer's.  The declarations are written out
 * here, as its headers need not be there either. */
#ifndef BENCH_OPENBLAS_H
#define BENCH_OPENBLAS_H

#include <stdbool.h>

enum { ROW_MAJOR = 101, PLAIN = 111 };

typedef struct OpenBlas {
  void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha,
                const float *a, int lda, const float *b, int ldb, float beta,
                float *c, int ldc);
  void (*sgemv)(int order, int t, int m, int n, float alpha, const float *a,
                int lda, const float *x, int incx, float beta, float *y,
                int incy);
  void (*set_threads)(int n);
} OpenBlas;

/* Loads it for one thread.  False when it is missing, after saying so on stderr
 * under `group`. */
bool openblas_load(OpenBlas *blas, const char *group);

#endif
