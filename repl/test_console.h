/* Commands and prompts of a page, run as a reader of it would. */
#ifndef REPL_TEST_CONSOLE_H
#define REPL_TEST_CONSOLE_H

/* What a command of the shell prints, on stdout or stderr; `rly` is this very
 * program, stdin is empty.  A command that takes longer than `timeout` seconds
 * (0: no limit) is ended with the processes that it started, and its text says
 * so.  To be freed; NULL when it cannot be run. */
char *console_command(const char *command, double timeout);

/* What the prompt prints when it is fed `entries`, in the same way. */
char *console_session(const char *entries, double timeout);

#endif
