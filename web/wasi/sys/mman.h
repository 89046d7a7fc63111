/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_MMAN_H
#define WEB_WASI_MMAN_H

#include_next <sys/mman.h>

int madvise(void *at, size_t size, int advice);
int memfd_create(const char *name, unsigned flags);

#endif
