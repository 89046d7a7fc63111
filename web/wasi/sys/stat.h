/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_STAT_H
#define WEB_WASI_STAT_H

#include_next <sys/stat.h>

int fchmod(int fd, mode_t mode);

#endif
