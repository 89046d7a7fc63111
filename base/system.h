/* What POSIX leaves to each system, or what some systems lack of it.  A system
 * has one file: system_linux.c for Linux with any C library and for
 * WebAssembly, system_macos.c, and system_freebsd.c, which holds what FreeBSD
 * does in another way than Linux.  Nothing else may use a name that only some
 * systems have (tests/t/system.t). */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* strtod_l() and newlocale() stand there where the C library has that header,
 * as those of macOS and FreeBSD do, and else in stdlib.h and locale.h. */
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif

/* getentropy() stands in unistd.h elsewhere. */
#ifdef __APPLE__
#include <sys/random.h>
#endif

/* The file of a shared library of this version. */
#ifdef __APPLE__
#define SYSTEM_LIBRARY(name, version) name "." version ".dylib"
#else
#define SYSTEM_LIBRARY(name, version) name ".so." version
#endif

/* A pipe whose ends are closed by exec(). */
bool system_pipe(int ends[2]);

/* A file without a name, in memory where the system has such files; closed by
 * exec().  -1 with errno set. */
int system_file(void);

/* The path of the program that runs; false when the system does not tell it, or
 * when it is longer. */
bool system_program(char *path, size_t size);

/* Waits until the file can be read, with the signals of `mask` blocked
 * meanwhile; both begin in one step.  Above 0: there is something to read. */
int system_wait(int file, const sigset_t *mask);

/* Makes a condition variable; the clock that its waits are measured by is the
 * result, one that nobody sets where the system allows that. */
clockid_t system_cond_init(pthread_cond_t *made);

/* Room for so many bytes, which take memory as they are touched; NULL when
 * there is none.  munmap() gives it back. */
void *system_reserve(size_t size);

#endif
