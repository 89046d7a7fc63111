/* Named dimensions: polynomials over names with integer coefficients, kept in a
 * normal form and interned (hash consing), so that two dimensions with the same
 * normal form are the same word, and equality costs one comparison.
 *
 * A polynomial is a sum of monomials in graded lexicographic order: higher
 * degree first, then by names in the order of their first appearance.
 * Multiplication preserves that order, as long division requires.  With n named
 * before m:
 *
 *   (n + 2) * (m + 1)      n * m + n + m * 2 + 2
 *   (n * n - 1) / (n - 1)  n + 1, by long division
 *   n / 2                  a quotient: a name of its own, printed "n / 2"
 *   2 * (n / 2)            n, by reduction
 *
 * An exact division that leaves a remainder becomes a new name, the quotient of
 * two forms.  It has a value only where the division is exact, which is what
 * the operators that divide (reshape, split) ask for; so multiplying by the
 * divisor gives the dividend back.
 *
 * Forms are bounded, because each occurs in the types of a whole program and a
 * hostile one could make them grow with each layer.  One that exceeds the
 * bounds, or overflows, becomes `?`: the checker then knows less, but what it
 * knows stays true.  Memory that runs out gives `?` as well.
 *
 * The table owns its forms (in an arena) and lives as long as the types that
 * mention them. */
#include "tensor/dim.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

enum {
  FACTORS_MAX = 6,
  TERMS_MAX = 16,
  POWER_MAX = 64,
  QUOTIENT_DEPTH_MAX = 8, /* nesting of quotients in quotients */
  REDUCTIONS_MAX = 64,
};

/* name^power; names count from 1, unused factors are {0, 0}. */
typedef struct Factor {
  uint32_t name, power;
} Factor;

/* The coefficient is never INT64_MIN, so it can be negated. */
typedef struct Monomial {
  int64_t coefficient;
  Factor factors[FACTORS_MAX]; /* by ascending names */
} Monomial;

typedef struct Poly {
  int len;
  Monomial terms[TERMS_MAX];
} Poly;

/* An interned polynomial. */
typedef struct Form {
  uint32_t hash;
  int len;
  Monomial terms[];
} Form;

/* Either a variable of the program, or a quotient.  A quotient's operands are
 * Dims, at least one of them a form, so names and forms refer to each other;
 * `depth` counts the nesting and bounds every recursion over it. */
typedef struct DimName {
  const void *key;
  const Name *name; /* NULL for a quotient, which is over / under */
  Dim over, under;
  uint32_t next; /* next quotient with this dividend; 0 for none */
  int depth;
} DimName;

struct DimTable {
  Mem *mem;
  Arena arena;
  VEC(DimName) names;      /* name number i is at i - 1 */
  VEC(const Form *) forms; /* form i has the handle DIM_FORM + i */
  PtrMap ids;              /* key -> name number */
  PtrMap quotients;        /* form -> its first quotient */
  uint32_t *slots;         /* open addressing; a form's number plus 1, or 0 */
  size_t cap;
};

DimTable *dims_new(Mem *mem) {
  DimTable *t = mem_alloc_zeroed(mem, sizeof *t);
  if (!t) return NULL;
  t->mem = mem;
  arena_init(&t->arena, mem);
  VEC_INIT(&t->names, mem);
  VEC_INIT(&t->forms, mem);
  ptrmap_init(&t->ids, mem);
  ptrmap_init(&t->quotients, mem);
  return t;
}

void dims_free(DimTable *t) {
  if (!t) return;
  VEC_DONE(&t->names);
  VEC_DONE(&t->forms);
  ptrmap_done(&t->ids);
  ptrmap_done(&t->quotients);
  mem_free(t->mem, t->slots, t->cap * sizeof *t->slots);
  arena_done(&t->arena);
  mem_free(t->mem, t, sizeof *t);
}

/* --- Monomials ----------------------------------------------------------- */

/* At most FACTORS_MAX * POWER_MAX; monomial_mul() refuses to go beyond
 * POWER_MAX in total. */
static uint32_t degree(const Monomial *m) {
  uint32_t sum = 0;
  for (int i = 0; i < FACTORS_MAX; i++) sum += m->factors[i].power;
  return sum;
}

/* Graded lexicographic order.  Positive when `a` comes before `b`; 0 when they
 * differ only in coefficients.  Where one has a name that the other lacks, the
 * smaller name number comes first; an unused factor has number 0, but cannot
 * meet a used one here, since the degrees are equal. */
static int compare_monomials(const Monomial *a, const Monomial *b) {
  uint32_t a_degree = degree(a), b_degree = degree(b);
  if (a_degree != b_degree) return a_degree > b_degree ? 1 : -1;
  for (int i = 0; i < FACTORS_MAX; i++) {
    Factor x = a->factors[i], y = b->factors[i];
    if (x.name != y.name) return x.name < y.name ? 1 : -1;
    if (x.power != y.power) return x.power > y.power ? 1 : -1;
  }
  return 0;
}

/* Merges two sorted lists of factors; the powers of a common name add up.
 * False when the product has too many names, too high a degree, or a
 * coefficient that overflows. */
static bool monomial_mul(const Monomial *a, const Monomial *b, Monomial *out) {
  Factor merged[2 * FACTORS_MAX + 1] = {0};
  int i = 0, j = 0, n = 0;
  while (i < FACTORS_MAX || j < FACTORS_MAX) {
    Factor x = i < FACTORS_MAX ? a->factors[i] : (Factor){0};
    Factor y = j < FACTORS_MAX ? b->factors[j] : (Factor){0};
    if (!x.name && !y.name) break;
    bool take_x = x.name && (!y.name || x.name <= y.name);
    bool take_y = y.name && (!x.name || y.name <= x.name);
    merged[n].name = take_x ? x.name : y.name;
    merged[n++].power = (take_x ? x.power : 0) + (take_y ? y.power : 0);
    i += take_x;
    j += take_y;
  }
  *out = (Monomial){0};
  if (n > FACTORS_MAX) return false;
  memcpy(out->factors, merged, sizeof out->factors);
  return degree(out) <= POWER_MAX &&
         !__builtin_mul_overflow(a->coefficient, b->coefficient,
                                 &out->coefficient) &&
         out->coefficient != INT64_MIN;
}

/* The exponent of a name in a monomial. */
static uint32_t power_of(const Monomial *m, uint32_t name) {
  for (int i = 0; i < FACTORS_MAX; i++)
    if (m->factors[i].name == name) return m->factors[i].power;
  return 0;
}

/* a / b, false when b does not divide a: neither the coefficient nor each
 * name's power may leave a remainder.  A name of b that a lacks shows in the
 * last line, where not all of b's degree was cancelled. */
static bool monomial_div(const Monomial *a, const Monomial *b, Monomial *out) {
  *out = (Monomial){0};
  if (a->coefficient == INT64_MIN || a->coefficient % b->coefficient)
    return false;
  out->coefficient = a->coefficient / b->coefficient;
  uint32_t cancelled = 0;
  for (int i = 0, n = 0; i < FACTORS_MAX && a->factors[i].name; i++) {
    Factor f = a->factors[i];
    uint32_t less = power_of(b, f.name);
    if (less > f.power) return false;
    cancelled += less;
    if (f.power > less) out->factors[n++] = (Factor){f.name, f.power - less};
  }
  return cancelled == degree(b);
}

/* --- Polynomials: false when a bound is passed --------------------------- */

/* Adds one monomial to p: finds its place in the order, joins it with an equal
 * one, and drops the sum where it is 0, since a normal form has no zero
 * terms. */
static bool poly_add_term(Poly *p, const Monomial *m) {
  int i = 0, order = 1;
  while (i < p->len && (order = compare_monomials(&p->terms[i], m)) > 0) i++;
  Monomial *at = &p->terms[i];
  size_t behind = (size_t)(p->len - i) * sizeof *at;
  if (i < p->len && order == 0) {
    if (__builtin_add_overflow(at->coefficient, m->coefficient,
                               &at->coefficient) ||
        at->coefficient == INT64_MIN)
      return false;
    if (at->coefficient) return true;
    p->len--;
    memmove(at, at + 1, behind - sizeof *at);
    return true;
  }
  if (m->coefficient == 0) return true;
  if (p->len == TERMS_MAX) return false;
  memmove(at + 1, at, behind);
  *at = *m;
  p->len++;
  return true;
}

static bool poly_add(Poly *p, const Poly *b) {
  for (int i = 0; i < b->len; i++)
    if (!poly_add_term(p, &b->terms[i])) return false;
  return true;
}

/* p += m * b */
static bool poly_add_multiple(Poly *p, const Monomial *m, const Poly *b) {
  Monomial product;
  for (int i = 0; i < b->len; i++)
    if (!monomial_mul(m, &b->terms[i], &product) || !poly_add_term(p, &product))
      return false;
  return true;
}

static bool poly_sub(Poly *p, const Poly *b) {
  return poly_add_multiple(p, &(Monomial){.coefficient = -1}, b);
}

static bool poly_mul(Poly *p, const Poly *b) {
  Poly a = *p;
  p->len = 0;
  for (int i = 0; i < a.len; i++)
    if (!poly_add_multiple(p, &a.terms[i], b)) return false;
  return true;
}

/* Polynomial long division; false on overflow and when a remainder is left.
 * Each round cancels the leading term of `rest`, and adds only terms that are
 * smaller in the order, so the division ends; when the leading term of b does
 * not divide that of `rest`, nothing later can cancel it. */
static bool poly_div(Poly *p, const Poly *b) {
  Poly rest = *p;
  p->len = 0;
  if (b->len == 0) return false;
  while (rest.len > 0) {
    Monomial quotient;
    if (!monomial_div(&rest.terms[0], &b->terms[0], &quotient) ||
        !poly_add_term(p, &quotient))
      return false;
    quotient.coefficient = -quotient.coefficient;
    if (!poly_add_multiple(&rest, &quotient, b)) return false;
  }
  return true;
}

/* --- Interning ----------------------------------------------------------- */

static const Form *form_of(const DimTable *t, Dim d) {
  return t->forms.data[d.word - DIM_FORM];
}

/* A number is a polynomial of one term without names, 0 one without terms. */
static Poly poly_of(const DimTable *t, Dim d) {
  Poly p = {0};
  if (dim_is_form(d)) {
    const Form *f = form_of(t, d);
    p.len = f->len;
    memcpy(p.terms, f->terms, (size_t)f->len * sizeof *f->terms);
  } else if (!dim_is(d, 0)) {
    p.len = 1;
    p.terms[0] = (Monomial){.coefficient = dim_value(d)};
  }
  return p;
}

static size_t terms_size(int len) { return (size_t)len * sizeof(Monomial); }

/* The slot of this form, or the empty slot where it belongs.  Linear probing;
 * the table is never more than three quarters full, so the search ends. */
static uint32_t *form_slot(const DimTable *t, const Monomial *terms, int len,
                           uint32_t hash) {
  size_t i = hash & (t->cap - 1);
  for (; t->slots[i]; i = (i + 1) & (t->cap - 1)) {
    const Form *f = t->forms.data[t->slots[i] - 1];
    if (f->hash == hash && f->len == len &&
        !memcmp(f->terms, terms, terms_size(len)))
      break;
  }
  return &t->slots[i];
}

/* Doubles the slots and enters all forms anew.  Forms are never removed, so
 * there are no deleted slots to skip. */
static bool forms_grow(DimTable *t) {
  size_t cap = t->cap ? t->cap * 2 : 64;
  uint32_t *slots = mem_overdraw(t->mem, cap * sizeof *slots);
  if (!slots) return false;
  mem_free(t->mem, t->slots, t->cap * sizeof *slots);
  t->slots = slots;
  t->cap = cap;
  for (size_t i = 0; i < t->forms.len; i++) {
    const Form *f = t->forms.data[i];
    *form_slot(t, f->terms, f->len, f->hash) = (uint32_t)i + 1;
  }
  return true;
}

static const Form *form_new(DimTable *t, const Poly *p, uint32_t hash) {
  Form *f = arena_alloc(&t->arena, sizeof *f + terms_size(p->len));
  if (!f || !VEC_RESERVE(&t->forms, 1)) return NULL;
  f->hash = hash;
  f->len = p->len;
  memcpy(f->terms, p->terms, terms_size(p->len));
  VEC_PUSH(&t->forms, f);
  return f;
}

static bool is_constant(const Poly *p) {
  return p->len == 0 || (p->len == 1 && degree(&p->terms[0]) == 0);
}

/* A quotient a / k in the monomial, with a number k that divides the
 * coefficient, or NULL.  Its name number goes to *id. */
static const DimName *reducible(const DimTable *t, const Monomial *m,
                                uint32_t *id) {
  for (int i = 0; i < FACTORS_MAX && m->factors[i].name; i++) {
    const DimName *q = &t->names.data[m->factors[i].name - 1];
    if (q->name || !dim_is_number(q->under)) continue;
    *id = m->factors[i].name;
    if (m->coefficient % dim_value(q->under) == 0) return q;
  }
  return NULL;
}

/* Rewrites one k * (a / k) to a, wherever in the polynomial it stands:
 *
 *   c * k * (a / k) * rest  =  c * a * rest
 *
 * The term is taken out and c * rest times the polynomial a put in.  False when
 * there is none, or no room; the form then stays as it is, which is not wrong
 * but may hide an equality. */
static bool poly_reduce(const DimTable *t, Poly *p) {
  uint32_t id;
  for (int i = 0; i < p->len; i++) {
    const DimName *q = reducible(t, &p->terms[i], &id);
    if (!q) continue;
    Monomial whole = p->terms[i], rest;
    Monomial once = {.coefficient = dim_value(q->under), .factors[0] = {id, 1}};
    Poly over = poly_of(t, q->over), made = *p;
    whole.coefficient = -whole.coefficient;
    if (!poly_add_term(&made, &whole)) return false;
    whole.coefficient = -whole.coefficient;
    if (!monomial_div(&whole, &once, &rest)) return false;
    if (!poly_add_multiple(&made, &rest, &over)) return false;
    *p = made;
    return true;
  }
  return false;
}

/* The interned Dim of a polynomial; `?` when memory runs out.  A constant is a
 * plain number, so a form always has a name in it. */
static Dim dim_of_poly(DimTable *t, Poly *p) {
  for (int i = 0; i < REDUCTIONS_MAX && poly_reduce(t, p); i++) {
  }
  if (is_constant(p)) return dim_of(p->len ? p->terms[0].coefficient : 0);
  if (t->forms.len + 1 > t->cap / 4 * 3 && !forms_grow(t)) return DIM_ANY;
  uint32_t hash = hash_bytes(p->terms, terms_size(p->len));
  uint32_t *slot = form_slot(t, p->terms, p->len, hash);
  if (!*slot) {
    if (!form_new(t, p, hash)) return DIM_ANY;
    *slot = (uint32_t)t->forms.len;
  }
  return (Dim){DIM_FORM + (int64_t)(*slot - 1)};
}

/* The number of the name with this key, made if need be; 0 when memory runs
 * out. */
static uint32_t name_id(DimTable *t, const Name *name, const void *key) {
  uintptr_t id = (uintptr_t)ptrmap_get(&t->ids, key);
  if (id) return (uint32_t)id;
  if (!VEC_RESERVE(&t->names, 1)) return 0;
  VEC_PUSH(&t->names, (DimName){.key = key, .name = name});
  id = t->names.len;
  ptrmap_put(&t->ids, key, (void *)id);
  return (uint32_t)id;
}

Dim dim_named(DimTable *t, const Name *name, const void *key) {
  uint32_t id = name_id(t, name, key);
  if (!id) return DIM_ANY;
  Poly p = {.len = 1, .terms[0] = {1, {{id, 1}}}};
  return dim_of_poly(t, &p);
}

/* --- Quotients ----------------------------------------------------------- */

static int quotient_depth(const DimTable *t, Dim d) {
  int depth = 0;
  Poly p = poly_of(t, d);
  for (int i = 0; i < p.len; i++)
    for (int k = 0; k < FACTORS_MAX && p.terms[i].factors[k].name; k++) {
      int of = t->names.data[p.terms[i].factors[k].name - 1].depth;
      if (of > depth) depth = of;
    }
  return depth;
}

/* The number of the quotient a / b, made if need be, where a or b is a form; 0
 * when it nests too deep or memory runs out.  The quotients of one dividend
 * (or, for a number over a form, of one divisor) hang in a list, since hardly
 * any has more than one or two. */
static uint32_t quotient_id(DimTable *t, Dim a, Dim b) {
  const Form *key = form_of(t, dim_is_form(a) ? a : b);
  uint32_t first = (uint32_t)(uintptr_t)ptrmap_get(&t->quotients, key);
  for (uint32_t id = first; id; id = t->names.data[id - 1].next) {
    const DimName *q = &t->names.data[id - 1];
    if (dim_same(q->over, a) && dim_same(q->under, b)) return id;
  }
  int over = quotient_depth(t, a), under = quotient_depth(t, b);
  int depth = 1 + (over > under ? over : under);
  if (depth > QUOTIENT_DEPTH_MAX || !VEC_RESERVE(&t->names, 1)) return 0;
  VEC_PUSH(&t->names,
           (DimName){.over = a, .under = b, .next = first, .depth = depth});
  ptrmap_put(&t->quotients, key, (void *)(uintptr_t)t->names.len);
  return (uint32_t)t->names.len;
}

/* a / b, exact by definition, when neither long division nor integer division
 * gives a result. */
static Dim dim_quotient(DimTable *t, Dim a, Dim b) {
  uint32_t id = quotient_id(t, a, b);
  if (!id) return DIM_ANY;
  Poly p = {.len = 1, .terms[0] = {1, {{id, 1}}}};
  return dim_of_poly(t, &p);
}

/* --- Arithmetic ---------------------------------------------------------- */

typedef bool PolyOp(Poly *p, const Poly *b);

/* Arithmetic where at least one operand is no number.  What is least known
 * wins, in this order: a hole (it may still become anything), an overflow,
 * `?`. */
static Dim dim_symbolic(DimTable *t, Dim a, Dim b, PolyOp *op) {
  if (dim_is_hole(a) || dim_is_hole(b)) return DIM_HOLE;
  if (dim_is_huge(a) || dim_is_huge(b)) return DIM_HUGE;
  if (dim_is_any(a) || dim_is_any(b)) return DIM_ANY;
  assert(t);
  Poly p = poly_of(t, a), q = poly_of(t, b);
  return op(&p, &q) ? dim_of_poly(t, &p) : DIM_ANY;
}

static bool both_numbers(Dim a, Dim b) {
  return dim_is_number(a) && dim_is_number(b);
}

static Dim number_or_huge(bool overflow, int64_t n) {
  return overflow ? DIM_HUGE : dim_of(n);
}

Dim dim_add(DimTable *t, Dim a, Dim b) {
  int64_t sum;
  if (!both_numbers(a, b)) return dim_symbolic(t, a, b, poly_add);
  bool overflow = __builtin_add_overflow(a.word, b.word, &sum);
  return number_or_huge(overflow, sum);
}

Dim dim_sub(DimTable *t, Dim a, Dim b) {
  int64_t difference;
  if (!both_numbers(a, b)) return dim_symbolic(t, a, b, poly_sub);
  bool overflow = __builtin_sub_overflow(a.word, b.word, &difference);
  return number_or_huge(overflow, difference);
}

Dim dim_mul(DimTable *t, Dim a, Dim b) {
  int64_t product;
  if (!both_numbers(a, b)) return dim_symbolic(t, a, b, poly_mul);
  bool overflow = __builtin_mul_overflow(a.word, b.word, &product);
  return number_or_huge(overflow, product);
}

/* Two numbers: an exact quotient or `?`.  Otherwise long division, and where it
 * fails a quotient; `?` over or under anything stays `?`, and so does a
 * division by 0, which no value of the names can make right. */
Dim dim_div_exact(DimTable *t, Dim a, Dim b, bool *inexact) {
  if (!both_numbers(a, b)) {
    bool zero = dim_is(b, 0);
    Dim d = zero ? DIM_ANY : dim_symbolic(t, a, b, poly_div);
    if (!dim_is_any(d) || dim_is_any(a) || dim_is_any(b) || zero) return d;
    return dim_quotient(t, a, b);
  }
  if (!dim_is(b, 0) && a.word % b.word == 0) return dim_of(a.word / b.word);
  if (inexact) *inexact = true;
  return DIM_ANY;
}

/* C's division truncates towards 0, so a negative remainder calls for one less.
 * floor and ceil of a form are known only where the division is exact. */
Dim dim_div_floor(DimTable *t, Dim a, int64_t b) {
  assert(b > 0);
  if (!dim_is_number(a)) return dim_symbolic(t, a, dim_of(b), poly_div);
  return dim_of(a.word / b - (a.word % b < 0));
}

Dim dim_div_ceil(DimTable *t, Dim a, int64_t b) {
  assert(b > 0);
  if (!dim_is_number(a)) return dim_symbolic(t, a, dim_of(b), poly_div);
  return dim_of(a.word / b + (a.word % b > 0));
}

Dim dim_product(DimTable *t, int n, const Dim *dims) {
  Dim product = dim_of(1);
  for (int i = 0; i < n; i++) product = dim_mul(t, product, dims[i]);
  return product;
}

/* Forms that differ may be equal for some values of their names: MAYBE. */
Truth dim_equal(Dim a, Dim b) {
  if (both_numbers(a, b)) return dim_same(a, b) ? YES : NO;
  bool overflowed = (dim_is_huge(a) && dim_is_number(b)) ||
                    (dim_is_huge(b) && dim_is_number(a));
  if (overflowed) return NO;
  return dim_same(a, b) && dim_is_form(a) ? YES : MAYBE;
}

/* A number and a form join to `?` although the form might equal the number: the
 * join must not depend on values that only the run will know. */
Dim dim_join(Dim a, Dim b, bool *clash) {
  if (dim_same(a, b) || dim_is_hole(b)) return a;
  if (dim_is_hole(a)) return b;
  if (both_numbers(a, b)) *clash = true;
  return DIM_ANY;
}

/* --- Names --------------------------------------------------------------- */

/* Simultaneous: `to` is not substituted into again, so names may be swapped. */
typedef struct Substitution {
  int n;
  const void *const *keys;
  const Dim *to;
} Substitution;

/* Recurses over nested quotients, at most QUOTIENT_DEPTH_MAX deep. */
static Dim substitute_name(DimTable *t, uint32_t id, const Substitution *s) {
  DimName name = t->names.data[id - 1];
  if (!name.name) {
    Dim over = dim_substitute(t, name.over, s->n, s->keys, s->to);
    Dim under = dim_substitute(t, name.under, s->n, s->keys, s->to);
    return dim_div_exact(t, over, under, NULL);
  }
  for (int i = 0; i < s->n; i++)
    if (s->keys[i] == name.key) return s->to[i];
  return dim_named(t, name.name, name.key);
}

/* The product over the factors, one multiplication for each power (at most
 * POWER_MAX).  Built from dim_mul(), so it ends in a number, a form or `?` by
 * the same rules as any other arithmetic. */
static Dim substitute_term(DimTable *t, const Monomial *m,
                           const Substitution *s) {
  Dim product = dim_of(m->coefficient);
  for (int i = 0; i < FACTORS_MAX && m->factors[i].name; i++) {
    Dim factor = substitute_name(t, m->factors[i].name, s);
    for (uint32_t k = 0; k < m->factors[i].power; k++)
      product = dim_mul(t, product, factor);
  }
  return product;
}

/* Number arithmetic that overflows gives DIM_HUGE, which no type may hold; the
 * substituted type says `?` instead. */
Dim dim_substitute(DimTable *t, Dim d, int n, const void *const *keys,
                   const Dim *to) {
  if (!dim_is_form(d)) return d;
  const Form *f = form_of(t, d);
  Substitution s = {n, keys, to};
  Dim sum = dim_of(0);
  for (int i = 0; i < f->len; i++)
    sum = dim_add(t, sum, substitute_term(t, &f->terms[i], &s));
  return dim_is_huge(sum) ? DIM_ANY : sum;
}

/* The names of a form, without repetition. */
typedef struct NameList {
  int count;
  uint32_t ids[TERMS_MAX * FACTORS_MAX];
} NameList;

/* A quotient's names may exceed the list's room; the names beyond it are not
 * visited. */
static void list_name(NameList *list, uint32_t id) {
  for (int i = 0; i < list->count; i++)
    if (list->ids[i] == id) return;
  if (list->count < TERMS_MAX * FACTORS_MAX) list->ids[list->count++] = id;
}

/* Recurses over nested quotients, at most QUOTIENT_DEPTH_MAX deep. */
static void list_names(const DimTable *t, Dim d, NameList *list) {
  if (!dim_is_form(d)) return;
  const Form *f = form_of(t, d);
  for (int i = 0; i < f->len; i++)
    for (int k = 0; k < FACTORS_MAX && f->terms[i].factors[k].name; k++) {
      uint32_t id = f->terms[i].factors[k].name;
      const DimName *name = &t->names.data[id - 1];
      if (name->name) {
        list_name(list, id);
      } else {
        list_names(t, name->over, list);
        list_names(t, name->under, list);
      }
    }
}

void dim_names(const DimTable *t, Dim d,
               void (*visit)(void *data, const void *key, const Name *name),
               void *data) {
  NameList list = {0};
  list_names(t, d, &list);
  for (int i = 0; i < list.count; i++) {
    DimName name = t->names.data[list.ids[i] - 1];
    visit(data, name.key, name.name);
  }
}

typedef struct Known {
  DimValues values;
  bool all;
} Known;

static void look_up(void *data, const void *key, const Name *name) {
  (void)name;
  Known *k = data;
  for (int i = 0; i < k->values.count; i++)
    if (k->values.keys[i] == key) return;
  k->all = false;
}

/* Every name has a value, or else the answer is a hole; so the substitution
 * computes with numbers only, and interns nothing. */
Dim dim_number(DimTable *t, Dim d, DimValues values) {
  if (dim_is_number(d)) return d;
  Known known = {values, dim_is_form(d)};
  dim_names(t, d, look_up, &known);
  if (!known.all) return DIM_HOLE;
  return dim_substitute(t, d, values.count, values.keys, values.to);
}

/* --- Text ---------------------------------------------------------------- */

/* Prints an operand of `/`: parentheses go around a divisor unless it is a
 * single factor, and around a dividend that is a sum. */
static void print_operand(const DimTable *t, StrBuf *out, Dim d, bool divisor) {
  const Form *f = dim_is_form(d) ? form_of(t, d) : NULL;
  bool product = f && f->len == 1 && f->terms[0].coefficient > 0;
  bool name = product && f->terms[0].coefficient == 1 &&
              degree(&f->terms[0]) == 1 &&
              t->names.data[f->terms[0].factors[0].name - 1].name;
  bool bare = f ? name || (product && !divisor) : !dim_below(d, 0);
  if (!bare) strbuf_add_char(out, '(');
  dim_print(t, out, d);
  if (!bare) strbuf_add_char(out, ')');
}

/* Prints a name or a quotient; a quotient gets parentheses unless it stands
 * alone. */
static void print_factor(const DimTable *t, StrBuf *out, uint32_t id,
                         bool alone) {
  const DimName *name = &t->names.data[id - 1];
  if (name->name) {
    strbuf_add(out, name->name->text);
    return;
  }
  if (!alone) strbuf_add_char(out, '(');
  print_operand(t, out, name->over, false);
  strbuf_add(out, " / ");
  print_operand(t, out, name->under, true);
  if (!alone) strbuf_add_char(out, ')');
}

/* Prints "n * n * 4"; the caller has printed the sign. */
static void print_term(const DimTable *t, StrBuf *out, const Monomial *m) {
  uint64_t size =
      m->coefficient < 0 ? -(uint64_t)m->coefficient : (uint64_t)m->coefficient;
  bool first = true, alone = size == 1 && degree(m) == 1;
  for (int i = 0; i < FACTORS_MAX; i++)
    for (uint32_t k = 0; k < m->factors[i].power; k++, first = false) {
      if (!first) strbuf_add(out, " * ");
      print_factor(t, out, m->factors[i].name, alone);
    }
  if (first || size != 1)
    strbuf_addf(out, "%s%llu", first ? "" : " * ", (unsigned long long)size);
}

/* Prints the positive terms, then the negative ones: "n - 1", "4 - n", "0 - n".
 * The language has no sign before a dimension, so a form without positive terms
 * starts from 0, and the text can be read back. */
static void print_form(const DimTable *t, StrBuf *out, const Form *f) {
  bool first = true;
  for (int i = 0; i < f->len; i++) {
    if (f->terms[i].coefficient < 0) continue;
    if (!first) strbuf_add(out, " + ");
    print_term(t, out, &f->terms[i]);
    first = false;
  }
  if (first) strbuf_add_char(out, '0');
  for (int i = 0; i < f->len; i++) {
    if (f->terms[i].coefficient > 0) continue;
    strbuf_add(out, " - ");
    print_term(t, out, &f->terms[i]);
  }
}

void dim_print(const DimTable *t, StrBuf *out, Dim d) {
  if (dim_is_any(d)) strbuf_add_char(out, '?');
  else if (dim_is_hole(d)) strbuf_add_char(out, '_');
  else if (dim_is_huge(d)) strbuf_add(out, "overflow");
  else if (dim_is_form(d)) print_form(t, out, form_of(t, d));
  else strbuf_addf(out, "%lld", (long long)d.word);
}

void dims_print(const DimTable *t, StrBuf *out, int rank, const Dim *dims) {
  strbuf_add_char(out, '(');
  for (int i = 0; i < rank; i++) {
    if (i) strbuf_add(out, ", ");
    dim_print(t, out, dims[i]);
  }
  strbuf_add_char(out, ')');
}

/* What the names mean, as far as it is told. */
typedef struct Where {
  StrBuf *out;
  DimValues values;
  int said;
  bool seen[16];
} Where;

static void say_value(void *data, const void *key, const Name *name) {
  Where *w = data;
  for (int i = 0; i < w->values.count && i < 16; i++) {
    if (w->values.keys[i] != key || w->seen[i]) continue;
    w->seen[i] = true;
    strbuf_addf(w->out, "%s%s is %lld", w->said++ ? " and " : ", where ",
                name->text, (long long)dim_value(w->values.to[i]));
  }
}

void dims_where(const DimTable *t, StrBuf *out, int rank, const Dim *dims,
                DimValues values) {
  Where w = {.out = out, .values = values};
  for (int i = 0; i < rank; i++) dim_names(t, dims[i], say_value, &w);
}
