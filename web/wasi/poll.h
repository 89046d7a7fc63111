/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_POLL_H
#define WEB_WASI_POLL_H

#include_next <poll.h>

#include <signal.h>
#include <time.h>

int ppoll(struct pollfd *of, nfds_t count, const struct timespec *longest,
          const sigset_t *mask);

#endif
