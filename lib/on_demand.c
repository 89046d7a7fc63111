/* Definitions that the library makes for the name that asks for them: a dtype
 * and a shape stand in it, `tensor_take_float32_3_any`.  The templates are in
 * stdlib/static_tensor_array.rly, which says what stands for what; names are
 * those of `_get_name_static` in the reference's prelude.py. */
#include "lib/on_demand.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

enum { DIM_ANY = -1, DIM_MOST = 1000000000 };

/* What a name says after that of its template. */
typedef struct Wanted {
  DType dtype;
  bool batch; /* stacked by one */
  int rank;
  int dims[RANK_MAX];
  bool by_indices; /* `indices` is how many there are */
  int indices;
} Wanted;

/* --- Names ---------------------------------------------------------------- */

static bool skip(const char **at, const char *word) {
  size_t len = strlen(word);
  if (strncmp(*at, word, len)) return false;
  *at += len;
  return true;
}

/* As the reference writes it: without leading zeros. */
static bool read_dim(const char **at, int *dim) {
  *dim = DIM_ANY;
  if (skip(at, "any")) return true;
  if (!isdigit((unsigned char)**at)) return false;
  char *end;
  long n = strtol(*at, &end, 10);
  if (n > DIM_MOST || (**at == '0' && end - *at > 1)) return false;
  *at = end;
  *dim = (int)n;
  return true;
}

/* Dimensions, up to the first word that is none. */
static bool read_shape(const char **at, Wanted *w) {
  if (skip(at, "scalar")) return true;
  const char *next = *at;
  while (w->rank < RANK_MAX && read_dim(&next, &w->dims[w->rank])) {
    w->rank++;
    *at = next;
    if (!skip(&next, "_")) break;
  }
  return w->rank > 0;
}

/* float32_batch1_3_any_indices_4; of a type without the batch, and `_t`. */
static bool read_wanted(char kind, const char *at, Wanted *w) {
  size_t len = strcspn(at, "_");
  *w = (Wanted){.dtype = dtype_find(at, len)};
  if (w->dtype == DTYPE_NONE) return false;
  const char *dtype = dtype_name(w->dtype);
  if (strlen(dtype) != len || memcmp(dtype, at, len) || !at[len]) return false;
  at += len + 1;
  w->batch = kind == '@' && skip(&at, "batch1_");
  if (!read_shape(&at, w)) return false;
  w->by_indices = kind == '@' && skip(&at, "_indices_");
  if (w->by_indices && !read_dim(&at, &w->indices)) return false;
  return (kind != 'T' || skip(&at, "_t")) && !*at;
}

/* --- Texts ---------------------------------------------------------------- */

static void add_dim(StrBuf *text, int dim, const char *any) {
  if (dim == DIM_ANY) strbuf_add(text, any);
  else strbuf_addf(text, "%d", dim);
}

/* The shape that a letter stands for; false: a scalar has none like it. */
static bool other_shape(Wanted *w, char letter) {
  if (letter != 'e' && w->rank == 0) return false;
  if (letter == 'e' && w->rank == RANK_MAX) return false;
  switch (letter) {
    case 'e':
      memmove(w->dims + 1, w->dims, (size_t)w->rank++ * sizeof *w->dims);
      w->dims[0] = w->batch ? 1 : DIM_ANY;
      return true;
    case 'r': w->dims[0] = DIM_ANY; return true;
    case 'u':
      memmove(w->dims, w->dims + 1, (size_t)--w->rank * sizeof *w->dims);
      return true;
    default: return false;
  }
}

/* What the capital letter stands for. */
static bool add_part(StrBuf *text, const Wanted *w, char letter) {
  switch (letter) {
    case 'D': strbuf_add(text, dtype_name(w->dtype)); return true;
    case 'I':
      strbuf_add(text, "(");
      add_dim(text, w->by_indices ? w->indices : DIM_ANY, "?");
      strbuf_add(text, ")");
      return true;
    case 'S':
      strbuf_add(text, "(");
      for (int i = 0; i < w->rank; i++) {
        if (i) strbuf_add(text, ", ");
        add_dim(text, w->dims[i], "?");
      }
      strbuf_add(text, ")");
      return true;
    case 'T':
    case 'N':
    case 'F':
      strbuf_add(text, dtype_name(w->dtype));
      if (w->batch && letter != 'T') strbuf_add(text, "_batch1");
      if (w->rank == 0) strbuf_add(text, "_scalar");
      for (int i = 0; i < w->rank; i++) {
        strbuf_add(text, "_");
        add_dim(text, w->dims[i], "any");
      }
      if (!w->by_indices || letter != 'F') return true;
      strbuf_add(text, "_indices_");
      add_dim(text, w->indices, "any");
      return true;
    default: return false;
  }
}

/* False: there is no such definition for that shape. */
static bool fill_in(StrBuf *text, const char *from, size_t len,
                    const Wanted *w) {
  for (const char *at = from, *end = from + len; at < end;) {
    if (*at != '$') {
      size_t plain = strcspn(at, "$");
      if (plain > (size_t)(end - at)) plain = (size_t)(end - at);
      strbuf_add_len(text, at, plain);
      at += plain;
      continue;
    }
    char letter = at[1];
    at += 2;
    if (isdigit((unsigned char)letter)) {
      if ((letter == '1') != w->batch) at += strcspn(at, "\n");
    } else if (islower((unsigned char)letter)) {
      Wanted other = *w;
      if (!other_shape(&other, letter) || !add_part(text, &other, *at++))
        return false;
    } else if (!add_part(text, w, letter)) {
      return false;
    }
  }
  return true;
}

/* A template's name is what stands before the dtype, `tensor_take_`. */
const LibraryEntry *on_demand(char kind, const char *name, StrBuf *text) {
  char start[64];
  for (size_t i = strnlen(name, sizeof start - 1); i-- > 0;) {
    Wanted w;
    if (name[i] != '_' || !read_wanted(kind, name + i + 1, &w)) continue;
    memcpy(start, name, i + 1);
    start[i + 1] = '\0';
    const LibraryEntry *e = library_find(kind, start);
    if (!e) continue;
    const char *from = library_file(e->file).text + e->offset;
    return fill_in(text, from, e->len, &w) ? e : NULL;
  }
  return NULL;
}
