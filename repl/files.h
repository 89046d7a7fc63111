/* Files that a command reads and writes: none is written over that it reads. */
#ifndef REPL_FILES_H
#define REPL_FILES_H

#include <sys/stat.h>

#include "lib/inside.h"
#include "repl/cli.h"

/* Which file a path leads to, whether it is there already or not. */
typedef struct FileEnd {
  const char *path;
  char what[32]; /* as the messages call it: "the program" */
  bool known, written;
  bool state;       /* a state may be written over the state that was read */
  struct stat info; /* of the file, or of the folder that it will be in */
  const char *base; /* its name there; NULL: it exists */
} FileEnd;

typedef struct Files {
  FileEnd *all;
  size_t count, room;
} Files;

/* Notes that the command reads or writes the file.  0, or an exit status after
 * reporting that it cannot while it does what was noted before: of two ends of
 * one file at least one is in the way, unless both read a regular file. */
int files_add(Files *p, Host *h, const char *path, const char *what,
              bool written);
/* Notes all files that flags have written. */
int files_add_written(Files *p, Host *h);
void files_done(Files *p);

/* 0, or an exit status after reporting that a file would be written over that
 * the command reads.  The first looks at what the command line names, before
 * anything is read; the second at all that was read, imports included, before
 * anything is written. */
int files_check(Host *h);
int files_check_read(Host *h);
/* The same as files_check_read() of a file that no flag names. */
int files_check_output(Host *h, const char *path, const char *what);

#endif
