/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_RESOURCE_H
#define WEB_WASI_RESOURCE_H

#include_next <sys/resource.h>

typedef unsigned long long rlim_t;
struct rlimit {
  rlim_t rlim_cur, rlim_max;
};
#define RLIM_INFINITY (~0ULL)
enum { RLIMIT_CPU = 0, RLIMIT_AS = 9 };
int getrlimit(int resource, struct rlimit *limit);
int setrlimit(int resource, const struct rlimit *limit);

#endif
