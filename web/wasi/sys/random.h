/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_RANDOM_H
#define WEB_WASI_RANDOM_H

#include_next <sys/random.h>

#include <sys/types.h>

ssize_t getrandom(void *bytes, size_t size, unsigned flags);

#endif
