/* Which of a command's files are one and the same: by device and inode, so that
 * neither another spelling of the path nor a link hides it. */
#include "repl/files.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is not there yet is known by its folder and its name. */
static FileEnd end_of(const char *path, const char *what, bool written) {
  FileEnd p = {.path = path, .what = what, .written = written};
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

int files_add(Files *p, Host *h, const char *path, const char *what,
              bool written) {
  if (!p->all) p->all = calloc(FILES_MAX, sizeof *p->all);
  if (!p->all || p->count == FILES_MAX) return EXIT_LIMIT;
  FileEnd next = end_of(path, what, written);
  for (size_t i = 0; i < p->count; i++) {
    const FileEnd *old = &p->all[i];
    bool both = !written && !old->written;
    bool stdin_twice = both && !strcmp(path, "-") && !strcmp(old->path, "-");
    if (!stdin_twice && !same_file(old, &next)) continue;
    if (both && !stdin_twice && S_ISREG(next.info.st_mode)) continue;
    return host_usage(h, "%s is %s and %s: %s", path, old->what, next.what,
                      both ? "each would get a part of what the pipe holds"
                      : written && old->written
                          ? "each would overwrite the other"
                          : "it would be overwritten");
  }
  p->all[p->count++] = next;
  return 0;
}

void files_done(Files *p) { free(p->all); }

/* --- Of all commands ------------------------------------------------------ */

/* Flags whose value is a file that is written, never read. */
static const struct {
  size_t at; /* of the field in Cli */
  const char *what;
} written[] = {
    {offsetof(Cli, outputs), "the results"},
    {offsetof(Cli, trace), "the trace"},
    {offsetof(Cli, html), "the page"},
    {offsetof(Cli, rewrites), "the page of rewrites"},
    {offsetof(Cli, save_state), "the state to be saved"},
    {offsetof(Cli, kept), "what is kept"},
    {offsetof(Cli, log), "the log"},
};

/* The program, and the files of tensors. */
static int note_read(Files *files, Host *h) {
  const Cli *cli = h->cli;
  int status = 0;
  if (!cli->eval && cli->words.count)
    status = files_add(files, h, cli->words.items[0], "the program", false);
  for (int i = 0; !status && i < cli->params.count; i++)
    status =
        files_add(files, h, cli->params.items[i], "a file of params", false);
  for (int i = 0; !status && i < cli->inputs.count; i++)
    status =
        files_add(files, h, cli->inputs.items[i], "a file of inputs", false);
  return status;
}

int files_check(Host *h) {
  Files files = {0};
  int status = 0;
  bool any = false;
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
    const char *path =
        *(const char *const *)((const char *)h->cli + written[i].at);
    if (!path || status) continue;
    if (!any) status = note_read(&files, h);
    any = true;
    if (!status) status = files_add(&files, h, path, written[i].what, true);
  }
  files_done(&files);
  return status;
}
