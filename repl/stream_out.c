/* Results of a stream: writes them, looks for NaNs, compares them with expected
 * results, and reports how long steps took.
 *
 * Raw results are written and flushed at each step, so that a program behind a
 * pipe can work on them at once.  A .npy file begins with its shape, which is
 * known only at the end; its rows are gathered in a temporary file and copied
 * after the header (rly_tensors_write).  In both cases memory does not grow
 * with the stream.
 *
 * Elements are looked at as bit patterns, for all dtypes alike: the table of
 * dtypes says how many bits the exponent and the fraction have. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/stream.h"

/* --- Elements ----------------------------------------------------------- */

/* For floats the bits of the exponent and of the fraction; else 0.  A NaN has
 * all bits of the exponent and one of the fraction; an infinity none of the
 * fraction.  Where there are no infinities a NaN has all bits of both. */
typedef struct Kind {
  const char *dtype;
  size_t bytes;
  bool finite;
  uint64_t exponent, fraction;
} Kind;

/* Bits of a float: sign | exponent | fraction.  An integer has neither, so its
 * masks are 0. */
static Kind kind_of(const char *dtype) {
  const DTypeInfo *info = &dtype_info[dtype_find(dtype, strlen(dtype))];
  int magnitude = info->exponent_bits + info->fraction_bits;
  uint64_t fraction = ((uint64_t)1 << info->fraction_bits) - 1;
  uint64_t all = ((uint64_t)1 << magnitude) - 1;
  return (Kind){.dtype = dtype,
                .bytes = info->size,
                .finite = info->form == FORM_FINITE,
                .exponent = all & ~fraction,
                .fraction = fraction};
}

size_t dtype_bytes(const char *dtype) { return kind_of(dtype).bytes; }

/* memcpy() because elements may lie at any address.  On a little-endian machine
 * the bytes are the low ones of the word. */
static uint64_t element(const Kind *k, const char *data, size_t i) {
  uint64_t bits = 0;
  memcpy(&bits, data + i * k->bytes, k->bytes);
  return bits;
}

static bool is_odd(const Kind *k, uint64_t bits) {
  return k->exponent && (bits & k->exponent) == k->exponent;
}

static bool is_nan(const Kind *k, uint64_t bits) {
  uint64_t fraction = bits & k->fraction;
  return is_odd(k, bits) && (k->finite ? fraction == k->fraction : fraction);
}

static bool is_infinite(const Kind *k, uint64_t bits) {
  return is_odd(k, bits) && !k->finite && !(bits & k->fraction);
}

bool is_float(const char *dtype) { return kind_of(dtype).exponent; }

bool elements_are(const char *dtype, const char *data, size_t n,
                  const void *wanted) {
  Kind k = kind_of(dtype);
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = element(&k, data, i);
    if (wanted ? bits != element(&k, wanted, 0) : !is_nan(&k, bits))
      return false;
  }
  return true;
}

static void count_odd(Sink *s, const Kind *k, const char *data, size_t n) {
  if (!k->exponent) return;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = element(k, data, i);
    s->nans += is_nan(k, bits);
    s->infinities += is_infinite(k, bits);
  }
}

/* --- Opening ------------------------------------------------------------ */

static int unwritable(Sink *s) {
  char message[512];
  s->h->write_told |= s->stream == stdout;
  snprintf(message, sizeof message, "cannot write %s: %s", s->path,
           strerror(errno));
  rly_diagnostic_add(s->h->cx, "E0507", message);
  return EXIT_RUNTIME;
}

static int open_expected(Sink *s, const char *path) {
  rly_status status = rly_tensors_read(s->h->cx, path, &s->file);
  if (status != RLY_OK) return exit_status(status);
  s->expected = rly_tensors_get(s->file, rly_tensors_name(s->file, 0));
  return s->expected ? 0 : host_usage(s->h, "%s holds no tensor", path);
}

/* What programs print goes to stderr where results have stdout. */
int sink_open(Sink *s, Host *h, const rly_type *type, const char *output,
              const char *expect) {
  *s = (Sink){.h = h, .path = output, .type = type};
  if (expect) {
    int status = open_expected(s, expect);
    if (status) return status;
  }
  if (!output) return 0;
  s->npy = ends_in(output, ".npy");
  if (is_archive(output))
    return host_usage(h, "%s: results are written raw or as .npy", output);
  if (s->npy && !file_may_be_replaced(h->cx, output)) return EXIT_RUNTIME;
  bool out = !strcmp(output, "-");
  s->stream = s->npy ? tmpfile() : out ? stdout : fopen(output, "wb");
  if (out) h->print_to = stderr;
  return s->stream ? 0 : unwritable(s);
}

/* --- Results ------------------------------------------------------------ */

/* Checks that the result has the type of the first result. */
static bool same_kind(Sink *s, rly_value *y) {
  bool same =
      !strcmp(s->dtype, rly_value_dtype(y)) && s->rank == rly_value_rank(y);
  for (int i = 1; same && i < s->rank; i++)
    same = s->dims[i] == rly_value_dim(y, i);
  return same;
}

/* In a .npy file results may differ in their number of rows and in nothing
 * else; raw ones may differ in everything. */
static rly_status note_kind(Sink *s, rly_value *y) {
  if (!*s->dtype) {
    snprintf(s->dtype, sizeof s->dtype, "%s", rly_value_dtype(y));
    s->rank = rly_value_rank(y);
    for (int i = 1; i < s->rank; i++) s->dims[i] = rly_value_dim(y, i);
  }
  s->varied |= !same_kind(s, y);
  if (s->npy && s->varied) {
    rly_diagnostic_add(s->h->cx, "E0507",
                       "results of different shapes make "
                       "no .npy file; write them raw");
    return RLY_RUNTIME;
  }
  s->dims[0] += s->rank ? rly_value_dim(y, 0) : 1;
  return RLY_OK;
}

/* All NaNs compare as equal.  What the sign and the payload of a NaN are is
 * left open by IEEE 754 for most operations.  Where the results are of another
 * dtype or more than what is expected, judge() says so. */
static void compare(Sink *s, const Kind *k, const char *data, size_t n) {
  const char *wanted = rly_tensor_data(s->expected);
  uint64_t count = (uint64_t)rly_tensor_count(s->expected);
  if (strcmp(rly_tensor_dtype(s->expected), k->dtype)) return;
  for (size_t i = 0; i < n && s->seen < count; i++, s->seen++) {
    uint64_t a = element(k, data, i), b = element(k, wanted, s->seen);
    bool same = a == b || (is_nan(k, a) && is_nan(k, b));
    if (!same && !s->differences++) s->first = s->seen;
  }
}

/* The comparison comes before the writing, so it says the same without
 * --output. */
rly_status sink_put(Sink *s, rly_value *y) {
  const char *data = rly_value_elements(y);
  size_t n = (size_t)rly_value_count(y);
  if (!data && n) return RLY_LIMIT;
  Kind kind = kind_of(rly_value_dtype(y)), *k = &kind;
  count_odd(s, k, data, n);
  if (s->expected) compare(s, k, data, n);
  if (!s->stream && !s->expected) return RLY_OK;
  rly_status status = note_kind(s, y);
  if (status != RLY_OK || !s->stream) return status;
  bool fine = fwrite(data, k->bytes, n, s->stream) == n &&
              (s->npy || !fflush(s->stream));
  if (fine) return RLY_OK;
  unwritable(s);
  s->gone = true;
  return RLY_RUNTIME;
}

/* --- Closing ------------------------------------------------------------ */

static rly_status write_tensor(Sink *s, const void *data) {
  rly_tensor *t = rly_tensor_borrow(s->h->cx, s->dtype, s->rank ? s->rank : 1,
                                    s->dims, data, NULL, NULL);
  rly_tensors *ts = t ? rly_tensors_new(s->h->cx) : NULL;
  rly_status status = ts ? rly_tensors_add(ts, "y", t) : RLY_LIMIT;
  if (status == RLY_OK) status = rly_tensors_write(ts, s->path);
  rly_tensors_free(ts);
  rly_tensor_free(t);
  return status;
}

/* No step gave a result: none of the type's, where a dimension that it leaves
 * open is 0. */
static void note_none(Sink *s) {
  snprintf(s->dtype, sizeof s->dtype, "%s", rly_type_dtype(s->type));
  s->rank = rly_type_rank(s->type);
  if (s->rank < 0) s->rank = 0;
  for (int i = 1; i < s->rank; i++) {
    int64_t n = rly_type_dim(s->type, i);
    s->dims[i] = n < 0 ? 0 : n;
  }
}

/* The results so far, read back from the temporary file.  Mapped rather than
 * read: the results may be larger than memory.  An empty file cannot be
 * mapped. */
static rly_status write_npy(Sink *s) {
  struct stat info;
  if (!*s->dtype) note_none(s);
  if (fflush(s->stream) || fstat(fileno(s->stream), &info)) {
    unwritable(s);
    return RLY_RUNTIME;
  }
  size_t size = (size_t)info.st_size;
  static const char none[64];
  const void *data =
      size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fileno(s->stream), 0)
           : none;
  if (data == MAP_FAILED) {
    unwritable(s);
    return RLY_RUNTIME;
  }
  rly_status status = write_tensor(s, data);
  if (size) munmap((void *)data, size);
  return status;
}

/* Are the results, one below the other, of the dtype and shape that is
 * expected? No results are of any. */
static bool is_of_kind(const Sink *s) {
  const rly_tensor *t = s->expected;
  if (!*s->dtype && !rly_tensor_count(t)) return true;
  bool same = !s->varied && !strcmp(rly_tensor_dtype(t), s->dtype) &&
              rly_tensor_rank(t) == (s->rank ? s->rank : 1);
  for (int i = 0; same && i < rly_tensor_rank(t); i++)
    same = rly_tensor_dim(t, i) == s->dims[i];
  return same;
}

static void add_kind(StrBuf *out, const char *dtype, int rank,
                     const int64_t *dims) {
  strbuf_add(out, "Tensor[");
  shape_print(out, rank, dims);
  strbuf_addf(out, ", %s]", dtype);
}

static void say_kinds(Sink *s, StrBuf *out) {
  int64_t dims[RANK_MAX];
  int rank = rly_tensor_rank(s->expected);
  for (int i = 0; i < rank; i++) dims[i] = rly_tensor_dim(s->expected, i);
  if (!*s->dtype) note_none(s);
  strbuf_add(out, "the results are ");
  if (s->varied) strbuf_add(out, "of different shapes");
  else add_kind(out, s->dtype, s->rank ? s->rank : 1, s->dims);
  strbuf_add(out, ", but ");
  add_kind(out, rly_tensor_dtype(s->expected), rank, dims);
  strbuf_add(out, " is expected");
}

/* Elements are counted only where each has its counterpart. */
static rly_status judge(Sink *s) {
  bool fits = is_of_kind(s);
  if (fits && !s->differences) return RLY_OK;
  StrBuf message;
  strbuf_init(&message, &s->h->cx->mem);
  strbuf_addf(&message, "%.60s: ", s->name);
  if (!fits) say_kinds(s, &message);
  else
    strbuf_addf(&message,
                "%llu of %lld elements are not as expected, the first of them "
                "element %llu",
                (unsigned long long)s->differences,
                (long long)rly_tensor_count(s->expected),
                (unsigned long long)s->first);
  rly_diagnostic_add(s->h->cx, "E0506", strbuf_text(&message));
  strbuf_done(&message);
  return RLY_REFUSED;
}

/* Everything is freed whether or not the stream was fine; a file that was
 * opened is closed, and its last error seen.  Results from before a failure are
 * written in either format. */
rly_status sink_close(Sink *s, bool fine) {
  rly_status status = RLY_OK;
  bool results = fine || (*s->dtype && !s->gone);
  if (s->npy && s->stream && results) status = write_npy(s);
  if (s->stream && s->stream != stdout && fclose(s->stream) && fine) {
    unwritable(s);
    status = RLY_RUNTIME;
  }
  if (s->expected && fine && status == RLY_OK) status = judge(s);
  rly_tensor_free(s->expected);
  rly_tensors_free(s->file);
  s->expected = NULL;
  s->file = NULL;
  return status;
}

/* --- The pulse ---------------------------------------------------------- */

/* Histogram boxes from 1 ns on, each 2^(1/32) times as wide as the one before.
 * 40 octaves reach 2^40 ns, 18 minutes; longer steps fall into the last box. */
static int box_of(double seconds) {
  double octaves = log2(seconds * 1e9);
  int box = octaves > 0 ? (int)(octaves * PULSE_OCTAVE) : 0;
  return box < PULSE_BOXES ? box : PULSE_BOXES - 1;
}

/* A constant amount of work and memory for each step, however many there are.
 * `settled` is the count of allocations after two steps: by then the code is
 * made and buffers have their sizes, so what comes later is the step's own. */
void pulse_beat(Pulse *p, double seconds, uint64_t allocations) {
  p->boxes[box_of(seconds)]++;
  if (seconds > p->max) p->max = seconds;
  p->allocations = allocations;
  p->since++;
  if (++p->steps == 2) p->settled = allocations;
}

void pulse_reset(Pulse *p) {
  p->since = 0;
  p->resets++;
}

/* The upper end, in microseconds, of the box in which the share is reached.  So
 * it is at most 2^(1/32) - 1 = 2.2 % too large, and never above the maximum. */
static double quantile(const Pulse *p, double share) {
  uint64_t below = 0;
  int box = 0;
  while (box < PULSE_BOXES - 1 &&
         (double)(below += p->boxes[box]) < share * (double)p->steps)
    box++;
  double end = exp2((double)(box + 1) / PULSE_OCTAVE) * 1e-3;
  return end < p->max * 1e6 ? end : p->max * 1e6;
}

typedef unsigned long long Number;

/* Quantiles are left out where no step was made: they have no value then. */
static void report_json(const Pulse *p, uint64_t nans, uint64_t infinities,
                        uint64_t fresh) {
  fprintf(stderr, "{\"steps\": %llu", (Number)p->steps);
  if (p->resets) fprintf(stderr, ", \"resets\": %llu", (Number)p->resets);
  if (p->steps)
    fprintf(stderr, ", \"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f",
            quantile(p, 0.5), quantile(p, 0.99), p->max * 1e6);
  fprintf(stderr,
          ", \"allocations\": %llu, \"nans\": %llu, "
          "\"infinities\": %llu}\n",
          (Number)fresh, (Number)nans, (Number)infinities);
}

static void report_text(const Pulse *p, uint64_t nans, uint64_t infinities,
                        uint64_t fresh) {
  fprintf(stderr, "steps since reset\t%llu\n", (Number)p->since);
  if (p->resets)
    fprintf(stderr, "steps\t%llu\nresets\t%llu\n", (Number)p->steps,
            (Number)p->resets);
  if (p->steps)
    fprintf(stderr, "p50\t%.1f us\np99\t%.1f us\nmax\t%.1f us\n",
            quantile(p, 0.5), quantile(p, 0.99), p->max * 1e6);
  fprintf(stderr, "allocations after two steps\t%llu\nNaN\t%llu\nInf\t%llu\n",
          (Number)fresh, (Number)nans, (Number)infinities);
}

void pulse_report(const Pulse *p, const Sink *sinks, size_t count, bool json) {
  uint64_t fresh = p->steps > 2 ? p->allocations - p->settled : 0;
  uint64_t nans = 0, infinities = 0;
  for (size_t i = 0; i < count; i++) {
    nans += sinks[i].nans;
    infinities += sinks[i].infinities;
  }
  (json ? report_json : report_text)(p, nans, infinities, fresh);
}
