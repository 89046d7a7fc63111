/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_FCNTL_H
#define WEB_WASI_FCNTL_H

#include_next <fcntl.h>

enum { F_DUPFD_CLOEXEC = 1030 };

#endif
