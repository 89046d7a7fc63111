/* And what wasi-libc lacks (posix.c). */
#ifndef WEB_WASI_UNISTD_H
#define WEB_WASI_UNISTD_H

#include_next <unistd.h>

int dup(int fd);
int dup2(int from, int to);
int pipe2(int fd[2], int flags);
pid_t fork(void);
int execl(const char *path, const char *word, ...);
/* The library's asks the host for more than this one has. */
int web_symlink(const char *to, const char *from);
#define symlink web_symlink
int setpgid(pid_t process, pid_t group);

#endif
