/* The header of a .npy array.  The format is described in NumPy's
 * numpy/lib/format.py.  npy.c and npz.c read what follows it.
 *
 *   \x93NUMPY  major minor  length    {'descr': '<f4', ...}      \n
 *   6 bytes    1     1      2 or 4    the text of a Python dict, padded
 *
 * The dict is a Python literal; what NumPy writes of that is little, so a
 * scanner for strings, words, numbers and tuples of numbers reads it.  Each of
 * the three keys must be there once, in any order, and nothing else may.
 *
 * Files are not trusted: every number is bounded before it is used, and the
 * size of the elements must be exactly what follows the header. */
#include "io/npy_header.h"

#include <string.h>

#define MAGIC "\x93NUMPY"
enum {
  MAGIC_SIZE = 6,
  VERSION_SIZE = 2,
  DATA_ALIGNMENT = 64,
};

/* --- The header's text --------------------------------------------------- */

/* A position in the dict's text.  Every scan_ function advances it, or returns
 * false when the text is something else. */
typedef struct Scan {
  const char *at, *end;
} Scan;

/* A slice of the text. */
typedef struct Piece {
  const char *text;
  size_t len;
} Piece;

/* strchr() also finds the NUL that ends its list, hence the second test. */
static void skip_blanks(Scan *s) {
  while (s->at < s->end && strchr(" \t\n\r", *s->at) && *s->at) s->at++;
}

/* Blanks before the character are skipped, so "( 2 , 3 )" is read like "(2,
 * 3)". */
static bool scan_char(Scan *s, char c) {
  skip_blanks(s);
  if (s->at == s->end || *s->at != c) return false;
  s->at++;
  return true;
}

/* No escapes: no dtype or key has one. */
static bool scan_string(Scan *s, Piece *piece) {
  skip_blanks(s);
  if (s->at == s->end || (*s->at != '\'' && *s->at != '"')) return false;
  const char *start = s->at + 1;
  const char *close = memchr(start, *s->at, (size_t)(s->end - start));
  if (!close) return false;
  *piece = (Piece){start, (size_t)(close - start)};
  s->at = close + 1;
  return true;
}

static bool scan_word(Scan *s, const char *word) {
  size_t len = strlen(word);
  skip_blanks(s);
  if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len)) return false;
  s->at += len;
  return true;
}

/* Overflow is refused rather than wrapped; a shape is never negative. */
static bool scan_size(Scan *s, int64_t *n) {
  skip_blanks(s);
  const char *start = s->at;
  *n = 0;
  for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
    if (__builtin_mul_overflow(*n, 10, n) ||
        __builtin_add_overflow(*n, *s->at - '0', n))
      return false;
  scan_char(s, 'L'); /* the suffix of Python 2's long integers */
  return s->at > start;
}

/* (), (3,), (2, 3): a comma may end it, as it must for one size. */
static bool scan_shape(Scan *s, NpyHeader *h) {
  if (!scan_char(s, '(')) return false;
  for (h->rank = 0; !scan_char(s, ')'); h->rank++) {
    if (h->rank == RANK_MAX || !scan_size(s, &h->shape[h->rank])) return false;
    if (!scan_char(s, ',')) {
      h->rank++;
      return scan_char(s, ')');
    }
  }
  return true;
}

static bool is_text(Piece piece, const char *text) {
  return strlen(text) == piece.len && !memcmp(text, piece.text, piece.len);
}

/* NumPy writes '|' as the byte order of one-byte types; '<' is accepted, too.
 * Big-endian arrays (`>`) are refused. */
static bool scan_dtype(Scan *s, NpyHeader *h) {
  Piece piece;
  if (!scan_string(s, &piece) || piece.len < 2) return false;
  int i = 0;
  for (; i < DTYPE_COUNT; i++) {
    Piece kind = {piece.text + 1, piece.len - 1};
    const char *npy = dtype_info[i].npy;
    if (!npy) continue;
    bool order = piece.text[0] == '<' || piece.text[0] == npy[0];
    if (order && is_text(kind, npy + 1)) break;
  }
  h->dtype = (DType)i;
  return h->dtype != DTYPE_NONE;
}

static bool scan_order(Scan *s, NpyHeader *h) {
  h->fortran = scan_word(s, "True");
  return h->fortran || scan_word(s, "False");
}

const char npy_other_dtype[] = "its descr is not a little-endian dtype of rly";

static const struct Field {
  const char *key;
  bool (*scan)(Scan *s, NpyHeader *h);
  const char *what;
} fields[] = {
    {"descr", scan_dtype, npy_other_dtype},
    {"fortran_order", scan_order, "its fortran_order is not a bool"},
    {"shape", scan_shape, "its shape is not a tuple of at most 8 sizes"},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Reads one `key: value`; NULL, or the reason why it is invalid.  `seen` has a
 * bit for each key. */
static const char *scan_field(Scan *s, NpyHeader *h, unsigned *seen) {
  Piece key;
  if (!scan_string(s, &key) || !scan_char(s, ':'))
    return "its header is not a dict";
  for (int i = 0; i < FIELDS; i++)
    if (is_text(key, fields[i].key) && !(*seen & 1u << i)) {
      *seen |= 1u << i;
      return fields[i].scan(s, h) ? NULL : fields[i].what;
    }
  return "its header has an unknown or repeated key";
}

static const char *scan_dict(Scan *s, NpyHeader *h) {
  unsigned seen = 0;
  const char *why = NULL;
  if (!scan_char(s, '{')) return "its header is not a dict";
  while (!scan_char(s, '}')) {
    why = scan_field(s, h, &seen);
    if (why) return why;
    if (scan_char(s, ',')) continue;
    if (!scan_char(s, '}')) return "its header is not a dict";
    break;
  }
  skip_blanks(s);
  if (s->at != s->end) return "text follows the dict of its header";
  return seen == (1u << FIELDS) - 1 ? NULL : "its header is incomplete";
}

/* --- Reading ------------------------------------------------------------- */

/* The length field has two bytes in version 1 and four in later ones.  The
 * result counts from the beginning of the file; it is not compared with
 * anything yet. */
size_t npy_header_size(const char *prefix) {
  const unsigned char *bytes = (const unsigned char *)prefix;
  if (memcmp(bytes, MAGIC, MAGIC_SIZE)) return 0;
  int version = bytes[MAGIC_SIZE];
  if (version < 1 || version > 3) return 0;
  const unsigned char *at = bytes + MAGIC_SIZE + VERSION_SIZE;
  size_t len = at[0] | (size_t)at[1] << 8;
  if (version == 1) return len + MAGIC_SIZE + VERSION_SIZE + 2;
  len |= (size_t)at[2] << 16 | (size_t)at[3] << 24;
  return len + NPY_PREFIX;
}

static const char *check_elements(NpyHeader *h, uint64_t available) {
  int64_t count;
  if (!shape_size(h->dtype, h->rank, h->shape, &count, &h->bytes))
    return "its shape is larger than memory";
  return h->bytes == available
             ? NULL
             : "its size is not what its shape and dtype need";
}

/* In elements: for Fortran order the first axis moves fastest. */
static void set_strides(NpyHeader *h) {
  int64_t stride = 1;
  for (int i = 0; i < h->rank; i++) {
    h->strides[i] = stride;
    stride *= h->shape[i];
  }
  if (!h->fortran) strides_row_major(h->rank, h->shape, h->strides);
}

/* `bytes` may end before the header does, as npz.c reads it in two steps. */
const char *npy_header_read(const char *bytes, size_t size, uint64_t total,
                            NpyHeader *h) {
  *h = (NpyHeader){.size = size < NPY_PREFIX ? 0 : npy_header_size(bytes)};
  if (!h->size || h->size > size || h->size > NPY_HEADER_MOST)
    return "it does not begin as one";
  size_t prefix = bytes[MAGIC_SIZE] == 1 ? NPY_PREFIX - 2 : NPY_PREFIX;
  Scan scan = {bytes + prefix, bytes + h->size};
  const char *why = scan_dict(&scan, h);
  if (!why) why = check_elements(h, total - h->size);
  if (!why) set_strides(h);
  return why;
}

/* --- Writing ------------------------------------------------------------- */

/* Adds the dict, then blanks and a newline that align the data.  -(n + 1) % 64
 * in unsigned arithmetic is how many blanks are missing to a multiple of 64,
 * the newline counted. */
static void add_dict(StrBuf *out, const Tensor *t) {
  strbuf_addf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (",
              dtype_info[t->dtype].npy);
  for (int i = 0; i < t->rank; i++)
    strbuf_addf(out, i + 1 < t->rank ? "%lld, " : "%lld",
                (long long)t->shape[i]);
  strbuf_add(out, t->rank == 1 ? ",), }" : "), }");
  strbuf_add_repeat(out, ' ', -(out->len + 1) % DATA_ALIGNMENT);
  strbuf_add_char(out, '\n');
}

/* The length is written last, into the place that was left for it. */
void npy_header_add(StrBuf *out, const Tensor *t) {
  size_t length_at = MAGIC_SIZE + VERSION_SIZE;
  strbuf_add_len(out, MAGIC "\1\0\0\0", length_at + 2);
  add_dict(out, t);
  if (mem_exhausted(out->mem)) return;
  size_t len = out->len - length_at - 2;
  out->data[length_at] = (char)(len & 0xFF);
  out->data[length_at + 1] = (char)(len >> 8);
}
