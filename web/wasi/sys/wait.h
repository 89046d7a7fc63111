/* The status of other processes, of which there are none (posix.c). */
#ifndef WEB_WASI_WAIT_H
#define WEB_WASI_WAIT_H

#include <signal.h>
#include <sys/types.h>

enum { P_PID = 1, WEXITED = 4, WNOWAIT = 0x1000000 };
#define WEXITSTATUS(status) (((status) >> 8) & 255)
#define WTERMSIG(status) ((status)&127)
#define WIFEXITED(status) (WTERMSIG(status) == 0)
#define WIFSIGNALED(status) (WTERMSIG(status) != 0)

pid_t waitpid(pid_t process, int *status, int options);
int waitid(int of, id_t id, siginfo_t *info, int options);

#endif
