/* The numbers of a value, as the drawings need them: tensors, lists of tensors
 * over time, tuples of either.
 *
 *   Tensor[(n)]                  a vector
 *   Tensor[(m, n)]               m vectors, or a matrix
 *   List[float32]                a vector over time
 *   List[Tensor[(m)]]            m vectors over time, a matrix of m rows
 *   List[(Tensor[(m)], ...)]     several such, one for each field
 *   (a, b, ...)                  what a, b ... are
 *
 * Anything right-recursive counts as a list, as in the display of values.  All
 * elements are copied, so there may be ELEMENTS_MOST. */
#include "repl/series.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MOST = 1 << 26, LABEL_MOST = 64 };

static bool refuse(SeriesList *to, const char *why) {
  if (!*to->why) snprintf(to->why, sizeof to->why, "%s", why);
  return false;
}

/* --- Words ---------------------------------------------------------------- */

/* The length of the text up to a comma outside of brackets and strings. */
static size_t part_length(const char *text, size_t len) {
  int deep = 0;
  for (size_t i = 0; i < len; i++) {
    if (text[i] == '"')
      for (i++; i < len && text[i] != '"'; i++) i += text[i] == '\\';
    else if (strchr("([{", text[i])) deep++;
    else if (strchr(")]}", text[i])) deep--;
    else if (text[i] == ',' && deep <= 0) return i;
  }
  return len;
}

char *series_expression(const char *words) {
  size_t len = strlen(words);
  char *text = NULL;
  if (part_length(words, len) == len) return strdup(words);
  return asprintf(&text, "(%s)", words) < 0 ? NULL : text;
}

/* Part `i` of `a, b, c` or `(a, b, c)`, if it has `count` of them; or NULL. */
static char *part_label(const char *words, int i, int count) {
  size_t len = strlen(words);
  bool whole = len > 1 && *words == '(' && words[len - 1] == ')' &&
               part_length(words, len) == len;
  const char *at = words + whole, *end = words + len - whole, *found = NULL;
  size_t size = 0;
  int n = 0;
  for (; at < end; n++) {
    size_t k = part_length(at, (size_t)(end - at));
    size_t blank = strspn(at, " \t");
    if (n == i && blank <= k) found = at + blank, size = k - blank;
    at += k + 1;
  }
  return n == count && size && size < LABEL_MOST ? strndup(found, size) : NULL;
}

/* --- Series --------------------------------------------------------------- */

/* A series of so many elements, all to be set; NULL: it cannot be had. */
static Series *add(SeriesList *to, const char *label, int64_t rows,
                   int64_t columns) {
  if (rows < 1 || columns < 1) {
    refuse(to, "there are no elements");
    return NULL;
  }
  if (to->count == SERIES_MOST) {
    refuse(to, "these are more than eight; a part of it, or :heat, shows them");
    return NULL;
  }
  if (rows > ELEMENTS_MOST / columns) {
    refuse(to, "these are too many elements to draw; take a part of them");
    return NULL;
  }
  Series *s = &to->items[to->count];
  *s = (Series){.rows = rows, .columns = columns};
  s->at = malloc((size_t)rows * (size_t)columns * sizeof *s->at);
  s->label = strdup(label);
  to->count++;
  if (s->at && s->label) return s;
  refuse(to, "out of memory");
  return NULL;
}

static void measure(Series *s) {
  s->min = DBL_MAX;
  s->max = -DBL_MAX;
  s->odd = 0;
  for (int64_t i = 0; i < s->rows * s->columns; i++) {
    double x = s->at[i];
    s->odd += !isfinite(x);
    if (isfinite(x) && x < s->min) s->min = x;
    if (isfinite(x) && x > s->max) s->max = x;
  }
}

/* The axes that are longer than 1, at most two of them; false: there are
 * more.  A vector is one row, so a (1, 100) tensor is a vector, too. */
static bool matrix_shape(const Tensor *t, int64_t dims[2]) {
  int rank = 0;
  dims[0] = dims[1] = 1;
  for (int i = 0; i < t->rank; i++) {
    if (t->shape[i] == 1) continue;
    if (rank == 2) return false;
    dims[rank++] = t->shape[i];
  }
  if (rank == 1) {
    bool column = t->rank == 2 && t->shape[1] == 1;
    if (!column) dims[1] = dims[0], dims[0] = 1;
  }
  return true;
}

static bool add_rows(SeriesList *to, const Tensor *t, int64_t rows,
                     int64_t columns, const char *label) {
  char name[LABEL_MOST + 24];
  for (int64_t r = 0; r < rows; r++) {
    snprintf(name, sizeof name, "%s[%lld]", label, (long long)r);
    Series *s = add(to, rows > 1 ? name : label, 1, columns);
    if (!s) return false;
    for (int64_t i = 0; i < columns; i++)
      s->at[i] = tensor_f64_at(t, r * columns + i);
  }
  return true;
}

static bool add_tensor(SeriesList *to, const Tensor *t, const char *label) {
  int64_t dims[2], count = tensor_count(t);
  if (to->form == SERIES_BAGS) return add_rows(to, t, 1, count, label);
  if (!matrix_shape(t, dims))
    return refuse(to,
                  "a tensor of more than two axes has no one drawing; "
                  "take a part of it");
  if (to->form == SERIES_MAPS) {
    Series *s = add(to, label, dims[0], dims[1]);
    for (int64_t i = 0; s && i < count; i++) s->at[i] = tensor_f64_at(t, i);
    return s;
  }
  if (dims[1] == 1) dims[1] = dims[0], dims[0] = 1;
  if (dims[0] > SERIES_MOST - to->count)
    return refuse(to, "takes a vector, or a few of them; :heat shows a matrix");
  return add_rows(to, t, dims[0], dims[1], label);
}

/* --- Lists ---------------------------------------------------------------- */

/* The tensors of an element: itself, or the fields of a tuple of such. */
typedef struct Leaf {
  const Tensor *tensor; /* NULL: a number, which has no tensor of its own */
  double number;
} Leaf;

typedef struct Leaves {
  Leaf at[SERIES_MOST];
  int count;
} Leaves;

static int64_t leaf_count(const Leaf *l) {
  return l->tensor ? tensor_count(l->tensor) : 1;
}

static bool add_leaves(Leaves *to, rly_value *v) {
  if (v->type->kind == TY_TENSOR) {
    if (to->count == SERIES_MOST) return false;
    DType dtype = (DType)v->type->dtype;
    if (v->type->rank) to->at[to->count++] = (Leaf){v->value.tensor, 0};
    else to->at[to->count++] = (Leaf){NULL, bits_to_f64(dtype, v->value)};
    return true;
  }
  bool ok = v->type->kind == TY_TUPLE;
  for (int i = 0; ok && i < rly_value_field_count(v); i++) {
    rly_value *f = rly_value_field(v, i);
    ok = f && add_leaves(to, f);
    rly_value_free(f); /* the tuple holds the tensor */
  }
  return ok;
}

/* Calls `visit` with the number of each element, until it returns false. */
static bool each_element(rly_value *list,
                         bool (*visit)(void *data, int64_t i, rly_value *v),
                         void *data) {
  rly_value *at = rly_value_keep(list);
  bool ok = true;
  int64_t i = 0;
  for (int rest; ok && at && (rest = display_rest_field(at)) == 1;) {
    rly_value *v = rly_value_field(at, 0), *next = rly_value_field(at, rest);
    ok =
        v && !store_should_stop(store_of(list->session)) && visit(data, i++, v);
    rly_value_free(v);
    rly_value_free(at);
    at = next;
  }
  rly_value_free(at);
  return ok;
}

typedef struct Timeline {
  SeriesList *to;
  int64_t length, units[SERIES_MOST];
  int count; /* tensors of an element */
  Series *of[SERIES_MOST];
} Timeline;

/* All elements have as many tensors, of as many elements each, as the first. */
static bool survey(void *timeline, int64_t i, rly_value *v) {
  Timeline *t = timeline;
  Leaves l = {.count = 0};
  if (!add_leaves(&l, v) || !l.count)
    return refuse(t->to,
                  "the elements are no numbers, tensors or tuples of "
                  "up to eight of them");
  for (int k = 0; k < l.count; k++) {
    int64_t n = leaf_count(&l.at[k]);
    if (i && (l.count != t->count || n != t->units[k]))
      return refuse(t->to, "the elements differ in their sizes");
    t->units[k] = n;
  }
  t->count = l.count;
  t->length = i + 1;
  return true;
}

/* Element `i` is column `i`.  Of lines, which have a row each, `of` is the
 * first. */
static bool fill(void *timeline, int64_t i, rly_value *v) {
  Timeline *t = timeline;
  Leaves l = {.count = 0};
  add_leaves(&l, v);
  for (int k = 0; k < t->count; k++)
    for (int64_t u = 0; u < t->units[k]; u++) {
      const Leaf *leaf = &l.at[k];
      double x = leaf->tensor ? tensor_f64_at(leaf->tensor, u) : leaf->number;
      bool lines = t->to->form == SERIES_LINES;
      if (lines) t->of[k][u].at[i] = x;
      else t->of[k]->at[u * t->length + i] = x;
    }
  return true;
}

static Series *begin_leaf(Timeline *t, int k, const char *label) {
  char name[LABEL_MOST + 48];
  int64_t units = t->units[k];
  int first = t->to->count;
  if (t->to->form != SERIES_LINES) return add(t->to, label, units, t->length);
  if (units > SERIES_MOST) {
    refuse(t->to,
           "takes vectors of up to eight elements over time; :heat "
           "shows longer ones");
    return NULL;
  }
  for (int64_t u = 0; u < units; u++) {
    snprintf(name, sizeof name, "%s[%lld]", label, (long long)u);
    if (!add(t->to, units > 1 ? name : label, 1, t->length)) return NULL;
  }
  return units ? &t->to->items[first] : NULL;
}

static bool add_list(SeriesList *to, rly_value *list, const char *label) {
  Timeline t = {.to = to};
  char name[LABEL_MOST + 24];
  if (!each_element(list, survey, &t)) return refuse(to, "interrupted");
  if (!t.length) return refuse(to, "there are no elements");
  for (int k = 0; k < t.count; k++) {
    snprintf(name, sizeof name, "%s.%d", label, k);
    t.of[k] = begin_leaf(&t, k, t.count > 1 ? name : label);
    if (!t.of[k]) return refuse(to, "there are no elements");
  }
  return each_element(list, fill, &t) || refuse(to, "interrupted");
}

/* --- Values --------------------------------------------------------------- */

static bool is_list(rly_value *v) {
  if (v->type->kind != TY_ADT) return false;
  return display_rest_field(v) == 1 || !rly_value_field_count(v);
}

enum { TUPLES_DEEP = 16 };

static bool collect(SeriesList *to, rly_value *v, const char *label,
                    const char *words, int deep) {
  int n = rly_value_field_count(v);
  char name[LABEL_MOST + 24];
  bool ok = true;
  if (v->type->kind == TY_TENSOR && !v->type->rank)
    return refuse(to, "a single number is no series");
  if (v->type->kind == TY_TENSOR) return add_tensor(to, v->value.tensor, label);
  if (is_list(v)) return add_list(to, v, label);
  bool parts = v->type->kind == TY_TUPLE || v->type->kind == TY_REF;
  if (!parts || deep == TUPLES_DEEP || !n)
    return refuse(to, "takes tensors, lists over time, or tuples of them");
  for (int i = 0; ok && i < n; i++) {
    rly_value *f = rly_value_field(v, i);
    char *own = words && n > 1 ? part_label(words, i, n) : NULL;
    snprintf(name, sizeof name, n > 1 ? "%.*s.%d" : "%.*s", LABEL_MOST, label,
             i);
    ok = f && collect(to, f, own ? own : name, NULL, deep + 1);
    free(own);
    rly_value_free(f);
  }
  return ok || refuse(to, "out of memory");
}

bool series_collect(SeriesList *to, rly_value *v, const char *words) {
  char label[LABEL_MOST];
  bool name = strchr("%@", *words) && !words[strcspn(words, " ,(+-*/")];
  snprintf(label, sizeof label, "%s",
           name && strlen(words) < LABEL_MOST ? words : "");
  *to->why = '\0';
  bool ok = collect(to, v, label, words, 0), finite = false;
  for (int i = 0; ok && i < to->count; i++) {
    measure(&to->items[i]);
    finite |= to->items[i].min <= to->items[i].max;
  }
  if (ok && !finite) return refuse(to, "no element is finite");
  return ok;
}

void series_free(SeriesList *l) {
  for (int i = 0; i < l->count; i++) {
    free(l->items[i].at);
    free(l->items[i].label);
  }
  l->count = 0;
}
