/* OpenBLAS, loaded at run time when it is installed (openblas.h).
 *
 * Its header is not needed: three functions and two constants of CBLAS are
 * declared there.  One thread, as our kernels are measured with one. */
#include "bench/openblas.h"

#include <dlfcn.h>
#include <stdio.h>

bool openblas_load(OpenBlas *blas, const char *group) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s: no libopenblas.so.0, peers skipped\n", group);
    return false;
  }
  *(void **)&blas->sgemm = dlsym(library, "cblas_sgemm");
  *(void **)&blas->sgemv = dlsym(library, "cblas_sgemv");
  *(void **)&blas->set_threads = dlsym(library, "openblas_set_num_threads");
  if (!blas->sgemm || !blas->sgemv || !blas->set_threads) return false;
  blas->set_threads(1);
  return true;
}
