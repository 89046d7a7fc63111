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

#include "io/tensor_file.h"

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

static bool at_quote(const Scan *s) {
  return s->at < s->end && (*s->at == '\'' || *s->at == '"');
}

/* The piece is what stands between the quotes, escapes as they are: no dtype or
 * key has one. */
static bool scan_string(Scan *s, Piece *piece) {
  skip_blanks(s);
  if (!at_quote(s)) return false;
  const char *start = s->at + 1, *at = start;
  while (at < s->end && *at != *s->at) at += *at == '\\' ? 2 : 1;
  if (at >= s->end) return false;
  *piece = (Piece){start, (size_t)(at - start)};
  s->at = at + 1;
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
  while (!scan_char(s, ')')) {
    int64_t size;
    if (!scan_size(s, &size)) return false;
    if (!extent_grow(&h->extent, size)) h->too_large = true;
    if (h->rank < RANK_MAX) h->shape[h->rank] = size;
    h->rank++;
    if (!scan_char(s, ',')) return scan_char(s, ')');
  }
  return true;
}

static bool is_text(Piece piece, const char *text) {
  return strlen(text) == piece.len && !memcmp(text, piece.text, piece.len);
}

/* NumPy writes '|' as the byte order of one-byte types; '<' is accepted, too.
 * DTYPE_NONE is that of any other text, such as those of big-endian arrays. */
static DType dtype_of(Piece descr) {
  int i = 0;
  for (; descr.len && i < DTYPE_COUNT; i++) {
    Piece kind = {descr.text + 1, descr.len - 1};
    const char *npy = dtype_info[i].npy;
    if (!npy) continue;
    bool order = descr.text[0] == '<' || descr.text[0] == npy[0];
    if (order && is_text(kind, npy + 1)) return (DType)i;
  }
  return DTYPE_NONE;
}

/* A text, or a list in which brackets and texts describe the fields of an
 * element. */
static bool scan_descr(Scan *s, NpyHeader *h) {
  Piece text = {"", 0};
  int depth = 0;
  skip_blanks(s);
  h->descr = s->at;
  if (s->at == s->end || (!at_quote(s) && *s->at != '[')) return false;
  do {
    if (at_quote(s)) {
      if (!scan_string(s, &text)) return false;
    } else {
      depth +=
          (*s->at == '[' || *s->at == '(') - (*s->at == ']' || *s->at == ')');
      s->at++;
    }
  } while (depth > 0 && s->at < s->end);
  h->descr_len = (size_t)(s->at - h->descr);
  h->dtype = *h->descr == '[' ? DTYPE_NONE : dtype_of(text);
  return depth == 0;
}

static bool scan_order(Scan *s, NpyHeader *h) {
  h->fortran = scan_word(s, "True");
  return h->fortran || scan_word(s, "False");
}

static const struct Field {
  const char *key;
  bool (*scan)(Scan *s, NpyHeader *h);
  const char *what;
} fields[] = {
    {"descr", scan_descr, "its descr is no dtype"},
    {"fortran_order", scan_order, "its fortran_order is not a bool"},
    {"shape", scan_shape, "its shape is not a tuple of sizes"},
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

/* The bytes of an element, as far as the descr says them: '>f4' has 4, '<U5' as
 * many characters of 4 bytes.  What objects and fields take is not known. */
static bool element_size(const NpyHeader *h, size_t *size) {
  Scan s = {h->descr + 1, h->descr + h->descr_len};
  int64_t count;
  if (h->dtype != DTYPE_NONE) {
    *size = dtype_size(h->dtype);
    return true;
  }
  s.at += s.at < s.end && *s.at && strchr("<>|=", *s.at);
  if (s.at == s.end || !*s.at || !strchr("biufcmMSaVU", *s.at)) return false;
  size_t each = *s.at++ == 'U' ? 4 : 1;
  return scan_size(&s, &count) && !__builtin_mul_overflow(count, each, size);
}

static const char *check_elements(NpyHeader *h, uint64_t available) {
  size_t each = 0;
  bool known = element_size(h, &each);
  if (h->too_large || (known && !extent_bytes(&h->extent, each, &h->bytes)))
    return "its shape is larger than memory";
  return !known || h->bytes == available
             ? NULL
             : "its size is not what its shape and dtype need";
}

/* In elements: for Fortran order the first axis moves fastest. */
static void set_strides(NpyHeader *h) {
  int64_t stride = 1;
  int rank = (int)h->rank;
  for (int i = 0; i < rank; i++) {
    h->strides[i] = stride;
    stride *= h->shape[i];
  }
  if (!h->fortran) strides_row_major(rank, h->shape, h->strides);
}

/* `bytes` may end before the header does, as npz.c reads it in two steps. */
const char *npy_header_read(const char *bytes, size_t size, uint64_t total,
                            NpyHeader *h) {
  *h = (NpyHeader){.size = size < NPY_PREFIX ? 0 : npy_header_size(bytes),
                   .extent = EXTENT_NONE};
  if (!h->size || h->size > size || h->size > NPY_HEADER_MOST)
    return "it does not begin as one";
  size_t prefix = bytes[MAGIC_SIZE] == 1 ? NPY_PREFIX - 2 : NPY_PREFIX;
  Scan scan = {bytes + prefix, bytes + h->size};
  const char *why = scan_dict(&scan, h);
  if (!why) why = check_elements(h, total - h->size);
  if (!why && npy_fits(h)) set_strides(h);
  return why;
}

const char *npy_misfit(const NpyHeader *h, Arena *arena) {
  if (h->dtype != DTYPE_NONE) return misfit_of_rank(arena, h->rank);
  const char *descr = text_quoted(arena, h->descr, h->descr_len);
  return descr ? arena_printf(arena,
                              "its descr %s is no little-endian dtype of rly",
                              descr)
               : NULL;
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
