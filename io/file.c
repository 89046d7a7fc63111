/* Mapping files and replacing files, over POSIX.
 *
 * A file that is replaced is whole at every moment, for every reader and after
 * every crash:
 *
 *   1. NAME.DIGITS.tmp is created in the same folder (O_EXCL) and locked
 *   2. the bytes are written to it
 *   3. fsync: they are on the disk
 *   4. rename over NAME: one step, old or new
 *   5. fsync of the folder: the new name is on the disk
 *
 * Without 3, a crash after 4 could leave a new name with nothing in it.  The
 * temporary file lies in the same folder because rename() works within one file
 * system only.
 *
 * A run that was killed leaves its temporary file behind.  The next writer of
 * the same file removes it: the lock says whether somebody still writes it, as
 * it ends with the process, however that ends. */
#include "io/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"

/* --- Reading ------------------------------------------------------------- */

static void report_unreadable(Diags *diags, const char *path, const char *why) {
  diag_error(diags, E0501, SPAN_NONE, "cannot read %s: %s", path, why);
}

/* Maps an open file; NULL with errno set.  An empty file, which mmap() refuses,
 * maps to "".  What another process writes later may or may not show. */
static const char *map_bytes(int fd, size_t size) {
  if (size == 0) return "";
  void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  return data == MAP_FAILED ? NULL : data;
}

/* Sets data and size, or returns the reason for a failure.  O_NONBLOCK: opening
 * a pipe would wait for a writer; it is then refused as no regular file. */
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
  if (map->size)
    map->mapping = mapping_new(map->mem, map->data, map->size, path);
  close(fd);
  return why;
}

FileFrom file_given(const Diags *diags, const char *path, FileBytes *out) {
  const FileHost *host = diags->sources ? diags->sources->file_host : NULL;
  *out = (FileBytes){0};
  if (!host || !host->read) return FILE_OF_SYSTEM;
  return host->read(host->data, path, out);
}

void file_note_read(const Diags *diags, const char *path) {
  if (diags->sources) sources_note_read(diags->sources, path);
}

void file_bytes_release(const FileBytes *bytes) {
  if (bytes->release) bytes->release(bytes->owner);
}

/* The bytes of the file, from the host or from the system; or the reason for a
 * failure. */
static const char *find_file(FileMap *map, const char *path,
                             const Diags *diags) {
  FileBytes bytes;
  FileFrom from = file_given(diags, path, &bytes);
  if (from == FILE_OF_SYSTEM) {
    file_note_read(diags, path);
    return map_file(map, path);
  }
  if (from == FILE_NONE) return strerror(ENOENT);
  map->given = true;
  map->data = bytes.data ? bytes.data : "";
  map->size = bytes.data ? bytes.size : 0;
  map->release = bytes.release;
  map->owner = bytes.owner;
  return NULL;
}

/* The path may be a user's, so every failure is a diagnostic. */
FileMap *file_map(Mem *mem, const char *path, Diags *diags) {
  FileMap *map = mem_alloc(mem, sizeof *map);
  if (!map) {
    mem_raise_exhausted(mem);
    report_unreadable(diags, path, strerror(ENOMEM));
    return NULL;
  }
  *map = (FileMap){.count = 1, .mem = mem};
  const char *why = find_file(map, path, diags);
  if (!why) return map;
  report_unreadable(diags, path, why);
  mem_free(mem, map, sizeof *map);
  return NULL;
}

/* One more reference needs no order; the last drop must see what all others did
 * before theirs (acq_rel). */
void file_map_keep(FileMap *map) {
  atomic_fetch_add_explicit(&map->count, 1, memory_order_relaxed);
}

void file_map_drop(void *of) {
  FileMap *map = of;
  if (atomic_fetch_sub_explicit(&map->count, 1, memory_order_acq_rel) > 1)
    return;
  if (map->release) map->release(map->owner);
  mapping_free(map->mapping);
  if (map->size && !map->given) munmap((void *)map->data, map->size);
  mem_free(map->mem, map, sizeof *map);
}

/* --- Writing ------------------------------------------------------------- */

/* A temporary file lies beside the real one as NAME.DIGITS.tmp: so many random
 * hexadecimal digits. */
enum { DIGITS = 16, NAMES_TRIED = 100 };

static bool report_unwritable(const FileOut *out, int error) {
  if (error == ENOMEM) mem_raise_exhausted(out->mem);
  diag_error(out->diags, E0507, SPAN_NONE, "cannot write %s: %s", out->path,
             strerror(error));
  return false;
}

static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* The target of a symbolic link: the target is replaced, not the link.  Where
 * there is no such file yet, the path stays as it was written. */
static const char *resolved(Arena *arena, const char *path) {
  char *real = realpath(path, NULL);
  const char *copy = real ? real : path;
  copy = arena_strndup(arena, copy, strlen(copy));
  free(real);
  return copy;
}

/* Is it `name`, then DIGITS digits between dots, then "tmp"? */
static bool is_temporary_of(const char *name, const char *entry) {
  size_t len = strlen(name);
  if (strncmp(entry, name, len) || entry[len] != '.') return false;
  const char *digits = entry + len + 1;
  return strspn(digits, "0123456789abcdef") == DIGITS &&
         !strcmp(digits + DIGITS, ".tmp");
}

/* Removes a temporary file that nobody writes any more.  Its writer holds a
 * lock on it, which ends with the process, however that ends.  O_NOFOLLOW and
 * O_NONBLOCK, as the entry may be anything by now. */
static void remove_left(int folder, const char *entry) {
  int fd =
      openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, entry, 0);
  close(fd);
}

/* The folder that a file lies in, to be read; -1 with errno set. */
static int open_folder(FileOut *out, const char **name) {
  const char *slash = strrchr(out->real, '/');
  *name = slash ? slash + 1 : out->real;
  size_t len = slash ? (size_t)(*name - out->real) : 1;
  const char *folder = arena_strndup(&out->arena, slash ? out->real : ".", len);
  return folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* What killed runs have left of this file. */
static void remove_left_ones(FileOut *out) {
  const char *name;
  int fd = open_folder(out, &name);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder && fd >= 0) close(fd);
  for (struct dirent *e; folder && (e = readdir(folder));)
    if (is_temporary_of(name, e->d_name)) remove_left(fd, e->d_name);
  if (folder) closedir(folder);
}

/* Has the file a name still?  Between its creation and its lock, another
 * process may have taken it for one that was left. */
static bool lock_own(int fd) {
  struct stat info;
  flock(fd, LOCK_EX); /* where a file system has no locks, nobody removes */
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

/* Opens a new file in the same folder; -1 with errno set.  64 random bits: two
 * runs do not meet, and nobody can lay a trap under a name that he knows
 * beforehand.  0666 is cut down by the umask, as for any new file. */
static int open_temporary(FileOut *out) {
  remove_left_ones(out);
  for (int i = 0; i < NAMES_TRIED; i++) {
    uint64_t draw;
    if (getentropy(&draw, sizeof draw) != 0) return -1;
    out->temporary = arena_printf(&out->arena, "%s.%016llx.tmp", out->real,
                                  (unsigned long long)draw);
    if (!out->temporary) break;
    int fd =
        open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && lock_own(fd)) return fd;
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd >= 0) close(fd);
  }
  errno = out->temporary ? EEXIST : ENOMEM;
  return -1;
}

/* Gives the new file the mode of the replaced one.  A read-only file is not
 * replaced.  rename() alone would replace a file that the user made read-only,
 * for it needs the right to write the folder only. */
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

/* A host that takes files is given the whole of one at its end. */
static bool open_for_host(FileOut *out) {
  const SourceMap *sources = out->diags->sources;
  if (!sources || !sources->file_host || !sources->file_host->write)
    return false;
  out->stream = open_memstream(&out->bytes, &out->size);
  out->for_host = out->stream != NULL;
  return out->for_host;
}

/* Nothing is left behind when this fails. */
static bool open_of_system(FileOut *out) {
  out->real = resolved(&out->arena, out->path);
  if (!out->real) out->real = out->path;
  int fd = is_special(out->real) ? open(out->real, O_WRONLY | O_CLOEXEC)
                                 : open_replacement(out);
  out->stream = fd < 0 ? NULL : fdopen(fd, "wb");
  if (out->stream) return true;
  report_unwritable(out, errno);
  if (fd >= 0) close(fd);
  return false;
}

bool file_out_open(FileOut *out, Mem *mem, const char *path, Diags *diags) {
  *out = (FileOut){.path = path, .mem = mem, .diags = diags};
  arena_init(&out->arena, mem);
  const char *copy = arena_strndup(&out->arena, path, strlen(path));
  if (!copy) report_unwritable(out, ENOMEM);
  else out->path = copy;
  if (copy && (open_for_host(out) || open_of_system(out))) return true;
  arena_done(&out->arena);
  return false;
}

/* Flushes to the disk; true when that succeeded. */
static bool flushed(const FileOut *out) {
  if (fflush(out->stream) != 0 || ferror(out->stream)) return false;
  return !out->temporary || fsync(fileno(out->stream)) == 0;
}

/* A file's new name lasts once its folder is on the disk.  Not every file
 * system can be asked for that. */
static void sync_folder(FileOut *out) {
  const char *name;
  int fd = open_folder(out, &name);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

/* The stream, and with it the lock, is closed last.  An error of fclose()
 * counts, too: it may be the first to tell of a full disk. */
static bool close_of_system(FileOut *out, bool fine) {
  bool written = fine && flushed(out), kept = written;
  if (kept && out->temporary)
    kept = written = rename(out->temporary, out->real) == 0;
  int error = errno;
  if (!kept && out->temporary) unlink(out->temporary);
  if (kept && out->temporary) sync_folder(out);
  if (fclose(out->stream) != 0 && written)
    kept = written = false, error = errno;
  if (fine && !written) report_unwritable(out, error);
  return kept;
}

/* Hands the bytes to the host.  One that does not want them leaves them to the
 * system's file, and so does one that takes no files any more. */
static bool close_for_host(FileOut *out, bool fine) {
  const FileHost *host = out->diags->sources->file_host;
  bool whole = !ferror(out->stream);
  whole = fclose(out->stream) == 0 && whole;
  FileFrom from = FILE_NONE;
  if (fine && !whole) report_unwritable(out, ENOMEM);
  else if (fine && (!host || !host->write)) from = FILE_OF_SYSTEM;
  else if (fine)
    from = host->write(host->data, out->path, out->bytes, out->size);
  bool written = from == FILE_DONE;
  if (from == FILE_OF_SYSTEM && open_of_system(out)) {
    fwrite(out->bytes, 1, out->size, out->stream);
    written = close_of_system(out, true);
  } else if (fine && whole && from == FILE_NONE) {
    report_unwritable(out, EACCES);
  }
  free(out->bytes);
  return written;
}

void file_out_wrote(FileOut *out, const FileMap *from) {
  const char *cut = mapping_cut(from->mapping);
  if (!cut || out->cut) return;
  out->cut = arena_strndup(&out->arena, cut, strlen(cut));
  if (!out->cut) out->cut = "a file";
}

static bool report_cut(const FileOut *out) {
  diag_error(out->diags, E0507, SPAN_NONE,
             "cannot write %s: what it is to hold is lost, since %s has become "
             "shorter",
             out->path, out->cut);
  return false;
}

bool file_out_close(FileOut *out, bool fine) {
  if (fine && out->cut) fine = report_cut(out);
  bool kept =
      out->for_host ? close_for_host(out, fine) : close_of_system(out, fine);
  arena_done(&out->arena);
  return kept;
}

/* Neither its mode nor that of its folder tells whether a disk takes writes. */
bool file_out_try(Mem *mem, const char *path, Diags *diags) {
  FileOut out;
  struct stat info;
  if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)) return true;
  if (!file_out_open(&out, mem, path, diags)) return false;
  file_out_close(&out, false);
  return true;
}
