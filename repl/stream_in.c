/* Inputs of a stream: which file feeds which input, and frames from files and
 * pipes.
 *
 * A frame is --frame rows of axis 0; the next begins --hop rows later:
 *
 *   rows                0  1  2  3  4  5  6  7  8
 *   --frame 4 --hop 2  [0  1  2  3]
 *                            [2  3  4  5]
 *                                  [4  5  6  7]
 *   --frame 2 --hop 3  [0  1]    [3  4]    [6  7]
 *
 * The window holds one frame.  Of its rows `have` are read, and of these
 * `unseen` have been in no frame yet: when the input ends, they are the tail
 * that --tail decides about (padded with zeros, dropped, or as a short frame).
 *
 * Each input has a window of its own, so their frames may differ in size; what
 * they must have in common is the number of frames. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/stream.h"

/* --- Names --------------------------------------------------------------- */

static bool has_name(const char *text, const char *name) {
  size_t len;
  named_value(text, &len);
  return len && strlen(name) == len && !strncmp(text, name, len);
}

const char *value_for(const TextList *list, const char *name) {
  size_t len;
  const char *plain = NULL;
  for (int i = list->count; i-- > 0;) {
    const char *value = named_value(list->items[i], &len);
    if (has_name(list->items[i], name)) return value;
    if (!len && !plain) plain = value;
  }
  return plain;
}

static int unknown_name(const NameList *names, const char *flag,
                        const char *text, size_t len) {
  char known[300] = "";
  size_t at = 0;
  for (size_t i = 0; i < names->count && at < sizeof known - 1; i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s`%s`",
                           i ? ", " : "", names->name(names->data, i));
  if (!names->count)
    return host_usage(names->h, "%s %s: the step has no %s", flag, text,
                      names->what);
  if (!len)
    return host_usage(names->h,
                      "%s %s: say for which %s, as NAME=%s; the step has %s",
                      flag, text, names->what, text, known);
  return host_usage(names->h,
                    "%s %s: the step has no %s `%.*s`; it has %s (a file of "
                    "such a name is written ./%s)",
                    flag, text, names->what, (int)len, text, known, text);
}

bool is_archive(const char *path) {
  return ends_in(path, ".npz") || ends_in(path, ".safetensors") ||
         ends_in(path, ".params");
}

int check_names(const NameList *names, const char *flag, const TextList *list,
                bool for_all) {
  for (int i = 0; i < list->count; i++) {
    const char *text = list->items[i];
    size_t len, k = 0;
    named_value(text, &len);
    while (len && k < names->count &&
           !has_name(text, names->name(names->data, k)))
      k++;
    if (len ? k == names->count
            : names->count != 1 && !for_all && !is_archive(text))
      return unknown_name(names, flag, text, len);
    for (int j = 0; j < i; j++) {
      size_t other;
      named_value(list->items[j], &other);
      if (len ? has_name(list->items[j], names->name(names->data, k)) : !other)
        return host_usage(names->h, "%s %s: this %s is given twice", flag, text,
                          names->what);
    }
  }
  return 0;
}

/* --- Files --------------------------------------------------------------- */

bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n >= m && !strcmp(path + n - m, end);
}

/* --- Frames -------------------------------------------------------------- */

static int refuse(Feed *f, const char *why) {
  return host_usage(f->h, "the step's input `%s` %s", f->name, why);
}

/* The window is memory of the command, not of a session, so it is compared with
 * the limit here. */
static int make_window(Feed *f) {
  char frame[SIZE_TEXT], most[SIZE_TEXT], message[300];
  size_t bytes;
  bool fits = size_mul((size_t)f->frame, f->shape.row, &bytes);
  if (fits && bytes <= f->h->max_memory) f->window = malloc(bytes);
  if (f->window) return 0;
  snprintf(message, sizeof message,
           "out of memory: a frame of `%.80s`, %lld rows, takes %s, and the "
           "limit is %s",
           f->name, (long long)f->frame,
           fits ? size_text(bytes, frame) : "more than there is",
           size_text(f->h->max_memory, most));
  rly_diagnostic_add(f->h->cx, "E0701", message);
  return EXIT_LIMIT;
}

/* --frame is needed only where axis 0 is open; elsewhere it may repeat what the
 * type says. */
static int find_frame(Feed *f) {
  const Cli *cli = f->h->cli;
  const char *frame = value_for(&cli->frame, f->name);
  const char *hop = value_for(&cli->hop, f->name);
  uint64_t n = f->shape.open ? 1 : (uint64_t)f->shape.dims[0], m;
  if (frame && (!read_count(frame, &n) || n < 1 || n > INT64_MAX))
    return host_usage(f->h, "--frame takes a whole number, 1 or more, not %s",
                      frame);
  m = n;
  if (hop && (!read_count(hop, &m) || m < 1 || m > INT64_MAX))
    return host_usage(f->h, "--hop takes a whole number, 1 or more, not %s",
                      hop);
  f->frame = (int64_t)n;
  f->hop = (int64_t)m;
  if (f->frame < 1 || (!f->shape.open && f->frame != f->shape.dims[0]))
    return refuse(f, "takes another number of rows than --frame says");
  return make_window(f);
}

/* Sets the frame's layout from the type.  The size of a row is a product of
 * what the user wrote, so it is checked for overflow; a row of 0 bytes would
 * never end. */
int feed_shape(Feed *f, const rly_type *x) {
  Shape *s = &f->shape;
  *s = (Shape){.dtype = rly_type_dtype(x), .rank = rly_type_rank(x)};
  s->row = dtype_bytes(s->dtype);
  for (int i = 0; i < s->rank; i++) {
    s->dims[i] = rly_type_dim(x, i);
    if (i && s->dims[i] < 0)
      return refuse(f,
                    "must say how large a row is: only its first "
                    "dimension may be open");
    if (i && __builtin_mul_overflow(s->row, (size_t)s->dims[i], &s->row))
      return refuse(f, "has rows larger than memory");
  }
  s->open = s->rank && s->dims[0] < 0;
  if (!s->rank) s->dims[0] = 1;
  return s->row ? find_frame(f) : refuse(f, "has rows without elements");
}

int feed_track(Feed *f) {
  f->shape = (Shape){.dtype = "uint8", .row = 1, .dims = {1}};
  f->frame = f->hop = 1;
  return make_window(f);
}

/* --- Opening ------------------------------------------------------------- */

/* "float32 (50, 2)", of `rank` dimensions; -1 is open. */
static void shape_text(char *text, size_t size, const char *dtype, int rank,
                       const int64_t *dims) {
  size_t at = (size_t)snprintf(text, size, "%s (", dtype);
  for (int i = 0; i < rank && at < size; i++)
    at += (size_t)(dims[i] < 0
                       ? snprintf(text + at, size - at, "%s?", i ? ", " : "")
                       : snprintf(text + at, size - at, "%s%lld", i ? ", " : "",
                                  (long long)dims[i]));
  if (at < size) snprintf(text + at, size - at, ")");
}

/* Decides whether the input's tensors are the frame's rows or whole frames.  A
 * tensor of x's rank is a sequence of rows; one of a rank more is a sequence of
 * frames, whose elements lie in the same order.  Dimensions from `first` on
 * must agree, the number of rows or frames need not. */
static bool rows_fit(const Feed *f, const rly_tensor *t) {
  const Shape *s = &f->shape;
  int rank = rly_tensor_rank(t), first = rank == s->rank + 1 ? 0 : 1;
  if (strcmp(rly_tensor_dtype(t), s->dtype)) return false;
  if (!s->rank) return rank == 1;
  if (rank != s->rank && first) return false;
  for (int i = first; i < s->rank; i++)
    if (rly_tensor_dim(t, i + 1 - first) != (i ? s->dims[i] : f->frame))
      return false;
  return true;
}

static int misfit(Feed *f, const rly_tensor *t) {
  char given[300], wanted[300];
  int64_t dims[8];
  int rank = rly_tensor_rank(t);
  for (int i = 0; i < rank; i++) dims[i] = rly_tensor_dim(t, i);
  shape_text(given, sizeof given, rly_tensor_dtype(t), rank, dims);
  dims[0] = -1;
  for (int i = 1; i < f->shape.rank; i++) dims[i] = f->shape.dims[i];
  shape_text(wanted, sizeof wanted, f->shape.dtype,
             f->shape.rank ? f->shape.rank : 1, dims);
  return host_usage(f->h, "%s holds %s, but input `%s` takes other rows: %s",
                    f->path, given, f->name, wanted);
}

/* A .npy, or the tensor of the input's name in a file of several.  The handle
 * of the tensor keeps the mapping. */
static int open_tensor(Feed *f) {
  rly_status status = rly_tensors_read(f->h->cx, f->path, &f->file);
  if (status != RLY_OK) return exit_status(status);
  f->tensor = rly_tensors_get(
      f->file, is_archive(f->path) ? f->name : rly_tensors_name(f->file, 0));
  if (!f->tensor)
    return host_usage(f->h, "%s holds no tensor named `%s`", f->path, f->name);
  if (!rows_fit(f, f->tensor)) return misfit(f, f->tensor);
  f->data = rly_tensor_data(f->tensor);
  f->left = (size_t)rly_tensor_count(f->tensor) * dtype_bytes(f->shape.dtype);
  return 0;
}

int feed_open(Feed *f) {
  f->fd = -1;
  if (ends_in(f->path, ".npy") || is_archive(f->path)) return open_tensor(f);
  f->fd =
      strcmp(f->path, "-") ? open(f->path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  if (f->fd >= 0) return 0;
  char message[512];
  snprintf(message, sizeof message, "cannot read %s: %s", f->path,
           strerror(errno));
  rly_diagnostic_add(f->h->cx, "E0501", message);
  return EXIT_REFUSED;
}

void feed_close(Feed *f) {
  if (f->fd > STDIN_FILENO) close(f->fd);
  rly_tensor_free(f->tensor);
  rly_tensors_free(f->file);
  free(f->window);
}

/* --- Reading ------------------------------------------------------------- */

/* Reads some bytes: 0 at the end, -1 with errno on an error. */
static ssize_t read_some(Feed *f, char *to, size_t n) {
  if (f->fd >= 0) return read(f->fd, to, n);
  if (n > f->left) n = f->left;
  if (n) memcpy(to, f->data, n);
  f->data += n;
  f->left -= n;
  return (ssize_t)n;
}

/* Reads `n` bytes, or fewer if the input ends or a stop is requested; -1: it
 * cannot be read.  A pipe gives what it has, which is often less than was asked
 * for, so reading goes on until the rows are whole. */
static ssize_t read_all(Feed *f, char *to, size_t n) {
  size_t done = 0;
  while (done < n && !stream_asked) {
    ssize_t got = read_some(f, to + done, n - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  f->read += done;
  return (ssize_t)done;
}

rly_status feed_bad(Feed *f, const char *format, ...) {
  char message[1024];
  int n = snprintf(message, sizeof message, "input `%s` (%.300s): ", f->name,
                   strcmp(f->path, "-") ? f->path : "standard input");
  va_list args;
  va_start(args, format);
  if (n < (int)sizeof message)
    vsnprintf(message + n, sizeof message - (size_t)n, format, args);
  va_end(args);
  rly_diagnostic_add(f->h->cx, "E0502", message);
  return RLY_RUNTIME;
}

/* Does the input begin as a .npy does?  A file is known by its name, what comes
 * through a pipe is raw: its header would be taken for numbers. */
static bool is_headed(const Feed *f, ssize_t got) {
  static const char magic[] = "\x93NUMPY";
  ssize_t n = sizeof magic - 1;
  return f->fd >= 0 && f->read == (size_t)got && got >= n &&
         !memcmp(f->window, magic, (size_t)n);
}

/* Reads rows into the window after those in it.  *rows is less than `wanted` at
 * the end of the input.  A row that ends in the middle is an error of the
 * input, unless it was cut by a signal. */
static rly_status read_rows(Feed *f, int64_t wanted, int64_t *rows) {
  size_t row = f->shape.row;
  ssize_t got =
      read_all(f, f->window + (size_t)f->have * row, (size_t)wanted * row);
  if (got < 0) return feed_bad(f, "%s", strerror(errno));
  if (is_headed(f, got))
    return feed_bad(f,
                    "it begins as a .npy file does, and a pipe is read as raw "
                    "elements: give the file by its name");
  *rows = got / (ssize_t)row;
  if ((size_t)got % row && !stream_asked)
    return feed_bad(f,
                    "it ends within a row, at byte %zu: %zu of the row's %zu "
                    "bytes are there",
                    f->read, (size_t)got % row, row);
  return RLY_OK;
}

/* Rows that the last frame had already had are no tail. */
static Filled how_filled(const Feed *f, Tail tail) {
  if (f->have == f->frame) return FRAME_WHOLE;
  return f->unseen && tail != TAIL_DROP ? FRAME_PART : FRAME_NONE;
}

/* The end of the input is seen as fewer rows than were wanted. */
rly_status feed_fill(Feed *f, Tail tail) {
  f->filled = FRAME_NONE;
  if (!f->path) return RLY_OK;
  if (!f->ended) {
    int64_t rows, wanted = f->frame - f->have;
    rly_status status = read_rows(f, wanted, &rows);
    if (status != RLY_OK) return status;
    f->have += rows;
    f->unseen += rows;
    f->ended = rows < wanted;
  }
  f->filled = how_filled(f, tail);
  return RLY_OK;
}

/* The elements are copied into a tensor (rly_value_of_elements), so the window
 * can move on.  A bool must be 0 or 1, an int4 -8 to 7: other bytes are refused
 * rather than computed with.  Without a value the session has reported that
 * memory ran out. */
rly_status feed_value(Feed *f, rly_session *s, Tail tail, rly_value **x) {
  size_t row = f->shape.row;
  int64_t rows = f->frame;
  if (f->filled == FRAME_PART && tail == TAIL_SHORT) rows = f->have;
  if (rows > f->have)
    memset(f->window + (size_t)f->have * row, 0,
           (size_t)(rows - f->have) * row);
  if (f->shape.rank) f->shape.dims[0] = rows;
  if (!elements_are_of(f->shape.dtype, f->window, (size_t)rows * row))
    return feed_bad(f, "frame %llu: an element is no %s",
                    (unsigned long long)f->frames, f->shape.dtype);
  *x = rly_value_of_elements(s, f->shape.dtype, f->shape.rank, f->shape.dims,
                             f->window);
  return *x ? RLY_OK : RLY_LIMIT;
}

bool feed_holds(const Feed *f, const void *element) {
  size_t bytes = (size_t)f->frame * f->shape.row;
  return elements_are(f->shape.dtype, f->window,
                      bytes / dtype_bytes(f->shape.dtype), element);
}

/* Frames that overlap share rows, which move to the front.  Between frames that
 * do not, the rows are read into the window and forgotten: a pipe cannot be
 * sought. */
rly_status feed_advance(Feed *f) {
  size_t row = f->shape.row;
  f->frames += f->filled != FRAME_NONE;
  f->unseen = 0;
  if (f->ended) {
    f->have = 0;
    return RLY_OK;
  }
  if (f->hop < f->frame) {
    f->have = f->frame - f->hop;
    memmove(f->window, f->window + (size_t)f->hop * row, (size_t)f->have * row);
    return RLY_OK;
  }
  f->have = 0;
  for (int64_t gap = f->hop - f->frame; gap && !f->ended;) {
    int64_t wanted = gap < f->frame ? gap : f->frame, rows;
    rly_status status = read_rows(f, wanted, &rows);
    if (status != RLY_OK) return status;
    f->ended = rows < wanted;
    gap -= rows;
  }
  return RLY_OK;
}
