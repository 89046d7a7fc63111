/* Imports: which file an item means, whether the program has that file already,
 * and whether the importing file may have it.  program.c reads it. */
#include "lib/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/handles.h"

/* Resolves `path` against the folder of the file `from`.  A path that is
 * absolute stays; a file without a folder imports from where the program
 * runs. */
static const char *path_from(Arena *a, const char *from, const char *path) {
  const char *slash = strrchr(from, '/');
  if (path[0] == '/' || !slash) return path;
  return arena_printf(a, "%.*s/%s", (int)(slash - from), from, path);
}

/* `path` without `.`, and with `..` only at its beginning.  By this path the
 * host is asked for a file; for the system's files realpath() finds one. */
static const char *plain_path(Arena *a, const char *path) {
  char *plain = arena_alloc(a, strlen(path) + 2), *end = plain;
  if (!plain) return NULL;
  if (*path == '/') *end++ = '/';
  const char *first = end; /* what `..` may not take away begins before it */
  for (size_t n; *path; path += n) {
    n = strcspn(path, "/");
    bool up = n == 2 && !strncmp(path, "..", 2);
    if (up && end > first) {
      end--;
      while (end > first && end[-1] != '/') end--;
    } else if (n && !(n == 1 && *path == '.')) {
      end = (char *)memcpy(end, path, n) + n;
      *end++ = '/';
      if (up) first = end;
    }
    n += path[n] == '/';
  }
  if (end > plain + 1 && end[-1] == '/') end--;
  *end = '\0';
  return plain;
}

/* A file to be imported. */
typedef struct Import {
  const char *path; /* by which it is read */
  const char *real; /* the same for all paths to it; NULL: there is no file */
  char *resolved;   /* `real` of the system's file, from malloc; or NULL */
  bool of_host;
} Import;

/* Asks the host first.  realpath() fails for a file that is not there, which is
 * the usual mistake; its errno is the message. */
static Import import_find(Program *p, const char *path) {
  rly_context *cx = ((rly_program *)p->host)->cx;
  const char *plain = cx->files.read ? plain_path(&p->arena, path) : NULL;
  FileBytes bytes;
  FileFrom from =
      plain ? file_given(&cx->diags, plain, &bytes) : FILE_OF_SYSTEM;
  if (from == FILE_DONE) {
    file_bytes_release(&bytes);
    return (Import){.path = plain, .real = plain, .of_host = true};
  }
  if (from == FILE_NONE) {
    errno = ENOENT;
    return (Import){.path = path};
  }
  char *real = realpath(path, NULL);
  return (Import){.path = path, .real = real, .resolved = real};
}

/* Was the unit read from the file?  Real paths are compared, so links and `..`
 * do not make one file two. */
static bool is_of_file(Program *p, const Unit *u, const Import *file) {
  char *resolved = file->of_host ? NULL : realpath(u->source->path, NULL);
  const char *path =
      file->of_host ? plain_path(&p->arena, u->source->path) : resolved;
  bool same = path && !strcmp(path, file->real);
  free(resolved);
  return same;
}

/* --safe: a file may import only from its own folder and those below it.  What
 * the path says is looked at first, so that nothing is told of files outside,
 * not even whether they are there; then where links lead.  depth counts folders
 * below the importing one; where it would become negative, the path has left
 * it: a/../../b does. */
static bool says_outside(const char *path) {
  if (*path == '/') return true;
  int depth = 0;
  for (const char *at = path; depth >= 0 && *at;) {
    size_t n = strcspn(at, "/");
    if (n == 2 && !strncmp(at, "..", 2)) depth--;
    else if (n && !(n == 1 && *at == '.')) depth++;
    at += n + (at[n] == '/');
  }
  return depth < 0;
}

/* The prefix ends at a slash, so /home/a is not below /home/ab. */
static bool lies_below(const char *real, const char *from) {
  char *base = realpath(from, NULL);
  const char *slash = base ? strrchr(base, '/') : NULL;
  bool below = slash && !strncmp(real, base, (size_t)(slash - base) + 1);
  free(base);
  return below;
}

/* Of a path that leads nowhere: is one of its folders, or the file, a link out
 * of the importing folder, or to nothing?  That the rest is not there would
 * tell of what lies outside. */
static bool leads_outside(Arena *a, const char *path, const char *from) {
  const char *slash = strrchr(from, '/');
  for (size_t n = slash ? (size_t)(slash - from) + 1 : 0; path[n];) {
    n += strcspn(path + n, "/");
    const char *part = arena_strndup(a, path, n);
    struct stat is;
    if (!part || lstat(part, &is)) return false;
    char *real = S_ISLNK(is.st_mode) ? realpath(part, NULL) : NULL;
    bool outside = S_ISLNK(is.st_mode) && (!real || !lies_below(real, from));
    free(real);
    if (outside) return true;
    n += path[n] == '/';
  }
  return false;
}

static const char *refused(Program *p, const Item *item, const char *why) {
  diag_error(p->diags, E0112, item->span, "cannot import \"%s\": %s",
             item->path, why);
  return NULL;
}

static const char outside[] = "it lies outside the importing folder";

/* Why the file cannot be read, as far as that shows without opening it: a pipe
 * may keep the reader waiting, and a device may have no end. */
static const char *why_unreadable(const Import *file) {
  struct stat is;
  if (file->of_host || stat(file->real, &is)) return NULL;
  if (S_ISDIR(is.st_mode)) return strerror(EISDIR);
  if (!S_ISREG(is.st_mode)) return "it is not a regular file";
  return access(file->real, R_OK) ? strerror(errno) : NULL;
}

/* The reason why `from` may not import the file, or NULL. */
static const char *import_objection(Program *p, const Unit *from,
                                    const Import *file) {
  struct rly_program *host = p->host;
  if (host->cx->options.safe && !file->of_host &&
      !lies_below(file->real, from->source->path))
    return outside;
  const char *why = why_unreadable(file);
  if (why) return why;
  int depth = 0;
  for (const Unit *u = from; u; u = u->importer) {
    if (is_of_file(p, u, file)) return "it imports itself";
    if (++depth > IMPORT_DEPTH_MAX) return "imports nest too deep";
  }
  return NULL;
}

/* A file that several import is part of the program once.  Two files that both
 * import a third is the usual case; added twice, its types would be two types
 * of one name, and a value made by the one file would not fit the other. */
static bool is_imported(Program *p, const Import *file) {
  const Unit *u = p->units;
  while (u && (u->source->library || !is_of_file(p, u, file))) u = u->next;
  return u;
}

const char *import_path(Program *p, const Unit *from, const Item *item) {
  const rly_program *host = p->host;
  if (host->cx->options.safe && says_outside(item->path))
    return refused(p, item, outside);
  const char *path = path_from(&p->arena, from->source->path, item->path);
  Import file = path ? import_find(p, path) : (Import){0};
  if (!file.real) {
    const char *why = strerror(errno);
    bool told = path && host->cx->options.safe &&
                leads_outside(&p->arena, path, from->source->path);
    return refused(p, item, told ? outside : why);
  }
  const char *why = import_objection(p, from, &file);
  bool done = !why && is_imported(p, &file);
  free(file.resolved);
  if (why) return refused(p, item, why);
  return done ? NULL : file.path;
}
