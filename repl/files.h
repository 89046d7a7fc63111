/* Files that a command reads and writes: none is written over that it reads. */
#ifndef REPL_FILES_H
#define REPL_FILES_H

#include <sys/stat.h>

#include "lib/inside.h"
#include "repl/cli.h"

/* Which file a path leads to, whether it is there already or not. */
typedef struct FileEnd {
  const char *path, *what; /* as the messages call it: "an input" */
  bool known, written;
  struct stat info; /* of the file, or of the folder that it will be in */
  const char *base; /* its name there; NULL: it exists */
} FileEnd;

enum { FILES_MAX = 3 * WORDS_MAX };
typedef struct Files {
  FileEnd *all;
  size_t count;
} Files;

/* Notes that the command reads or writes the file.  0, or an exit status after
 * reporting that it cannot while it does what was noted before: of two ends of
 * one file at least one is in the way, unless both read a regular file. */
int files_add(Files *p, Host *h, const char *path, const char *what,
              bool written);
void files_done(Files *p);

/* 0, or an exit status after reporting that a flag of any command would have a
 * file written over that the command reads. */
int files_check(Host *h);

#endif
