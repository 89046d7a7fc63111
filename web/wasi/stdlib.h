/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_STDLIB_H
#define WEB_WASI_STDLIB_H

#include_next <stdlib.h>

char *realpath(const char *path, char *resolved);
int mkstemp(char *path);
int mkstemps(char *path, int suffix);
char *mkdtemp(char *path);
int system(const char *command);

#endif
