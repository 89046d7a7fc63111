/* And what wasi-libc lacks (posix.c).  Nobody sends a module signals. */
#ifndef WEB_WASI_SIGNAL_H
#define WEB_WASI_SIGNAL_H

#include_next <signal.h>

#include <sys/types.h>

typedef unsigned id_t;
typedef struct siginfo_t {
  id_t si_pid;
  void *si_addr;
} siginfo_t;
struct sigaction {
  void (*sa_handler)(int);
  void (*sa_sigaction)(int number, siginfo_t *info, void *context);
  sigset_t sa_mask;
  int sa_flags;
};
enum { SA_SIGINFO = 4 };
enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
int sigaction(int number, const struct sigaction *now, struct sigaction *was);
int sigemptyset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
int sigdelset(sigset_t *set, int number);
int sigprocmask(int how, const sigset_t *now, sigset_t *was);
int kill(pid_t process, int number);

#endif
