/* Mapping files and replacing files, over POSIX. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Reading ------------------------------------------------------------- */

static void report_unreadable(Diags *diags, const char *path, const char *why) {
  diag_error(diags, E0501, SPAN_NONE, "cannot read %s: %s", path, why);
}

/* Maps an open file; NULL with errno set.  An empty file maps to "". */
static const char *map_bytes(int fd, size_t size) {
  if (size == 0) return "";
  void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  return data == MAP_FAILED ? NULL : data;
}

/* Sets data and size, or returns the reason for a failure. */
static const char *map_file(FileMap *map, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return strerror(errno);
  struct stat info;
  const char *why = NULL;
  if (fstat(fd, &info) != 0) why = strerror(errno);
  else if (!S_ISREG(info.st_mode)) why = "not a regular file";
  else if (!(map->data = map_bytes(fd, (size_t)info.st_size)))
    why = strerror(errno);
  else map->size = (size_t)info.st_size;
  close(fd);
  return why;
}

FileMap *file_map(Mem *mem, const char *path, Diags *diags) {
  FileMap *map = mem_alloc(mem, sizeof *map);
  if (!map) {
    report_unreadable(diags, path, strerror(ENOMEM));
    return NULL;
  }
  *map = (FileMap){.count = 1, .mem = mem};
  const char *why = map_file(map, path);
  if (!why) return map;
  report_unreadable(diags, path, why);
  mem_free(mem, map, sizeof *map);
  return NULL;
}

void file_map_keep(FileMap *map) {
  atomic_fetch_add_explicit(&map->count, 1, memory_order_relaxed);
}

void file_map_drop(void *of) {
  FileMap *map = of;
  if (atomic_fetch_sub_explicit(&map->count, 1, memory_order_acq_rel) > 1)
    return;
  if (map->size) munmap((void *)map->data, map->size);
  mem_free(map->mem, map, sizeof *map);
}

/* --- Writing ------------------------------------------------------------- */

enum { NAMES_TRIED = 100 };

static bool report_unwritable(const FileOut *out, int error) {
  diag_error(out->diags, E0507, SPAN_NONE, "cannot write %s: %s", out->path,
             strerror(error));
  return false;
}

static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* The target of a symbolic link: the target is replaced, not the link. */
static const char *resolved(Arena *arena, const char *path) {
  char *real = realpath(path, NULL);
  const char *copy = real ? real : path;
  copy = arena_strndup(arena, copy, strlen(copy));
  free(real);
  return copy;
}

/* Opens a new file in the same folder; -1 with errno set. */
static int open_temporary(FileOut *out) {
  for (int i = 0; i < NAMES_TRIED; i++) {
    out->temporary = arena_printf(&out->arena, "%s.%ld.%d.tmp", out->real,
                                  (long)getpid(), i);
    if (!out->temporary) break;
    int fd =
        open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Gives the new file the mode of the replaced one.  A read-only file is not
 * replaced. */
static bool keep_mode(int fd, const char *real) {
  struct stat info;
  if (stat(real, &info) != 0) return true;
  return access(real, W_OK) == 0 && fchmod(fd, info.st_mode & 07777) == 0;
}

static int open_replacement(FileOut *out) {
  int fd = open_temporary(out);
  if (fd < 0 || keep_mode(fd, out->real)) return fd;
  int error = errno;
  close(fd);
  unlink(out->temporary);
  errno = error;
  return -1;
}

bool file_out_open(FileOut *out, Mem *mem, const char *path, Diags *diags) {
  *out = (FileOut){.path = path, .diags = diags};
  arena_init(&out->arena, mem);
  out->real = resolved(&out->arena, path);
  if (!out->real) out->real = path;
  int fd = is_special(out->real) ? open(out->real, O_WRONLY | O_CLOEXEC)
                                 : open_replacement(out);
  out->stream = fd < 0 ? NULL : fdopen(fd, "wb");
  if (out->stream) return true;
  report_unwritable(out, errno);
  if (fd >= 0) close(fd);
  arena_done(&out->arena);
  return false;
}

/* Flushes to the disk and closes the stream in any case; true when both
 * succeeded. */
static bool flush_and_close(const FileOut *out) {
  bool fine = fflush(out->stream) == 0 && !ferror(out->stream);
  if (fine && out->temporary) fine = fsync(fileno(out->stream)) == 0;
  int error = errno;
  if (fclose(out->stream) != 0 && fine) return false;
  errno = error;
  return fine;
}

bool file_out_close(FileOut *out, bool fine) {
  bool written = flush_and_close(out);
  bool kept = fine && written;
  if (kept && out->temporary)
    kept = written = rename(out->temporary, out->real) == 0;
  if (fine && !written) report_unwritable(out, errno);
  if (!kept && out->temporary) unlink(out->temporary);
  arena_done(&out->arena);
  return kept;
}
