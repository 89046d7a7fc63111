/* Which of a command's files are one and the same: by device and inode, so that
 * neither another spelling of the path nor a link hides it.
 *
 * Which flags name files, their rows say (flags.def).  Which files were read,
 * the source map knows (sources_note_read): program, imports, values, the parts
 * of a model. */
#include "repl/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is not there yet is known by its folder and its name. */
static FileEnd end_of(const char *path, const char *what, bool written) {
  FileEnd p = {.path = path, .written = written};
  snprintf(p.what, sizeof p.what, "%s", what);
  if (!strcmp(path, "-")) {
    p.known = !fstat(written ? STDOUT_FILENO : STDIN_FILENO, &p.info);
    return p;
  }
  p.known = !stat(path, &p.info);
  if (p.known) return p;
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
  p.known = !stat(folder ? folder : ".", &p.info);
  p.base = slash ? slash + 1 : path;
  free(folder);
  return p;
}

/* Terminals and /dev/null can be read and written at once. */
static bool same_file(const FileEnd *a, const FileEnd *b) {
  if (!a->known || !b->known || a->info.st_dev != b->info.st_dev ||
      a->info.st_ino != b->info.st_ino || !a->base != !b->base)
    return false;
  if (a->base) return !strcmp(a->base, b->base);
  return !S_ISCHR(a->info.st_mode);
}

/* Why a command cannot do both; NULL: it can. */
static const char *conflict(const FileEnd *a, const FileEnd *b) {
  bool both_read = !a->written && !b->written;
  if (both_read && !strcmp(a->path, "-") && !strcmp(b->path, "-"))
    return "each would get a part of what the pipe holds";
  if (!same_file(a, b)) return NULL;
  if (both_read)
    return S_ISREG(b->info.st_mode)
               ? NULL
               : "each would get a part of what the pipe holds";
  if (a->written && b->written) return "each would overwrite the other";
  return a->state && b->state ? NULL : "it would be overwritten";
}

static int add(Files *p, Host *h, FileEnd next) {
  if (p->count == p->room) {
    size_t room = 2 * p->room + 8;
    FileEnd *all = realloc(p->all, room * sizeof *all);
    if (!all) {
      mem_raise_exhausted(h->program->mem);
      return EXIT_LIMIT;
    }
    p->all = all;
    p->room = room;
  }
  for (size_t i = 0; i < p->count; i++) {
    const FileEnd *old = &p->all[i];
    const char *why = conflict(old, &next);
    if (why)
      return host_usage(h, "%s is %s and %s: %s", next.path, old->what,
                        next.what, why);
  }
  p->all[p->count++] = next;
  return 0;
}

int files_add(Files *p, Host *h, const char *path, const char *what,
              bool written) {
  return add(p, h, end_of(path, what, written));
}

void files_done(Files *p) { free(p->all); }

/* --- Of all commands ------------------------------------------------------ */

typedef struct Adding {
  Files *files;
  Host *host;
  bool all; /* or only what is written */
} Adding;

static int add_flag(void *adding, const FlagFile *file) {
  const Adding *a = adding;
  if (!a->all && !file->written) return 0;
  FileEnd next = end_of(file->path, "", file->written);
  snprintf(next.what, sizeof next.what, "the file of %s", file->flag);
  next.state = file->state;
  return add(a->files, a->host, next);
}

int files_add_written(Files *p, Host *h) {
  return flags_files(h->cli, add_flag, &(Adding){p, h, false});
}

int files_check(Host *h) {
  const Cli *cli = h->cli;
  Files files = {0};
  int status = 0;
  if (!cli->eval && cli->words.count)
    status = files_add(&files, h, cli->words.items[0], "the program", false);
  if (!status) status = flags_files(cli, add_flag, &(Adding){&files, h, true});
  files_done(&files);
  return status;
}

static int add_read(Files *p, Host *h) {
  const SourceMap *sources = &h->cx->sources;
  int status = 0;
  for (size_t i = 0; !status && i < sources->read.len; i++)
    status =
        files_add(p, h, sources->read.data[i], "a file that is read", false);
  return status;
}

int files_check_read(Host *h) {
  Files files = {0};
  int status = files_add_written(&files, h);
  if (!status && files.count) status = add_read(&files, h);
  files_done(&files);
  return status;
}

int files_check_output(Host *h, const char *path, const char *what) {
  Files files = {0};
  int status = files_add(&files, h, path, what, true);
  if (!status) status = add_read(&files, h);
  files_done(&files);
  return status;
}
