/* Programs between passes: what rly opt and the prompt's :opt share. */
#ifndef REPL_OPT_H
#define REPL_OPT_H

#include "lib/inside.h"
#include "repl/cli.h"

/* A pass of the table, or a program of someone else's. */
typedef struct OptPass {
  const char *exec; /* a command from text to text; NULL: `call` */
  PassCall call;
} OptPass;
/* As in a pipeline; of a command, the command. */
void opt_pass_print(const OptPass *pass, StrBuf *out);

/* A checked program. */
typedef struct Version {
  rly_program *program; /* owned; NULL: nothing */
  Unit *unit;
} Version;

/* Each is false after reporting, and then `v` holds nothing. */
bool version_of_file(Host *h, const char *path, Version *v);
/* Without the warnings: those of the file were given. */
bool version_of_text(Host *h, const char *path, const char *text, size_t len,
                     Version *v);
void version_done(Host *h, Version *v);
/* Appends the checked program, as text. */
void version_print(const Version *v, StrBuf *out);

/* The version that the pass makes takes the place of the one that it is given.
 * On false `v` holds nothing, and why was reported. */
bool opt_run_pass(Host *h, Version *v, OptPass *pass);

/* Shows what a pass has made; of negative seconds nothing is said.  False after
 * reporting, when that is too long to be read. */
bool opt_show_version(Host *h, Versions *versions, const OptPass *pass,
                      double seconds, const StrBuf *text);

/* The passes of --passes, or else of the level, in the same way.  The program
 * before and after each is shown in `versions`, unless that is NULL. */
bool opt_run_pipeline(Host *h, Version *v, Versions *versions);

/* Runs a command of the shell's over a text.  False after reporting: it could
 * not be run, did not end with status 0, or hit a limit. */
bool exec_filter(Host *h, const char *command, const char *text, size_t len,
                 uint64_t most_rewrites, StrBuf *out);
/* Reports that --timeout ended the command. */
Diag *exec_late(Host *h, const char *command);
/* The exit status of a command of the shell's, with stdout and stderr thrown
 * away; EXEC_LATE: it ran out of time: of `seconds`, if that is not 0, or of
 * --timeout; EXEC_FAILED: it could not be run, or a signal ended it. */
enum { EXEC_FAILED = -1, EXEC_LATE = -2 };
int exec_status(Host *h, const char *command, double seconds);

/* What a program does: the values of its expressions, what it prints, the
 * errors it ends in; and of each function, on sample arguments that are drawn
 * by their types. */
typedef struct Behaviour {
  StrBuf text;
  bool cut;  /* a limit was hit: what comes then is not known */
  bool near; /* under --fast-math numbers may differ by rounding */
} Behaviour;
/* `like` says which functions are called, and how: of two versions that are
 * compared, the same one.  False when memory runs out. */
bool behaviour_of(Host *h, const Version *like, const char *text, size_t len,
                  Behaviour *out);
void behaviour_done(Behaviour *b);
bool behaviour_same(const Behaviour *a, const Behaviour *b);

#endif
