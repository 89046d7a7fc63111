/* Commands and prompts of a page, run as a reader of it would. */
#ifndef REPL_TEST_CONSOLE_H
#define REPL_TEST_CONSOLE_H

/* A new folder with a link to each thing in the one where this program runs,
 * for all that follows of a page; NULL when it cannot be made. */
char *console_folder_new(void);
/* Removes it, with what commands have written into it. */
void console_folder_drop(char *folder);

/* What a command of the shell prints in the folder, on stdout or stderr; `rly`
 * is this very program, stdin is empty.  A command that takes longer than
 * `timeout` seconds (0: no limit) is ended with the processes that it started,
 * and its text says so.  To be freed; NULL when it cannot be run. */
char *console_command(const char *folder, const char *command, double timeout);

/* What the prompt prints when it is fed `entries`, in the same way. */
char *console_session(const char *folder, const char *entries, double timeout);

#endif
