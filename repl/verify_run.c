/* Instances of a rule as functions of a program, and runs of both sides. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "repl/verify.h"

/* --- Programs ------------------------------------------------------------- */

/* The types of all texts come along: what a definition matches is of one. */
static bool is_used(const Subject *s, const Unit *u, const Item *item) {
  if (item->kind == ITEM_TYPE) return !u->source || !u->source->library;
  for (int i = 0; i < s->rule.item->rule->used_count; i++)
    if (s->rule.item->rule->used[i] == item) return true;
  return false;
}

/* Each program has the operators in C from the start. */
static bool is_of_host(const Unit *u) { return u->source && u->source->host; }

static bool uses_host(const Subject *s) {
  for (const Unit *u = s->h->program->ir->units; u; u = u->next)
    for (int i = 0; is_of_host(u) && i < u->item_count; i++)
      if (is_used(s, u, &u->items[i])) return true;
  return false;
}

void subject_print_used(const Subject *s, StrBuf *out) {
  const Program *p = s->h->program->ir;
  VEC(Item) items;
  VEC_INIT(&items, out->mem);
  for (const Unit *u = p->units; u; u = u->next)
    for (int i = 0; s->rule.item->rule->used_count && i < u->item_count; i++) {
      const Item *item = &u->items[i];
      if (!is_used(s, u, item) || is_of_host(u)) continue;
      VEC_PUSH(&items, *item);
      if (items.len) items.data[items.len - 1].linked = true;
    }
  Unit unit = {.items = items.data, .item_count = (int)items.len};
  StrBuf text;
  strbuf_init(&text, out->mem);
  if (items.len) unit_print(p, &unit, &text);
  strbuf_add(out, strbuf_text(&text));
  strbuf_done(&text);
  VEC_DONE(&items);
}

/* Evaluates the values among these definitions, too. */
static bool add_used(Subject *s, Bench *b) {
  StrBuf text;
  strbuf_init(&text, s->h->program->mem);
  subject_print_used(s, &text);
  rly_status status = RLY_OK;
  if (text.len)
    status = rly_program_add_text(b->program, "<rule>", strbuf_text(&text),
                                  text.len, 0);
  if (text.len && status == RLY_OK)
    status = rly_session_run(b->session, NULL, NULL);
  strbuf_done(&text);
  return status != RLY_LIMIT;
}

static bool is_wide(const Subject *s, bool real) { return real && !s->in_c; }

static void set_patience(rly_session *session, double seconds) {
  rly_options limits = {0};
  rly_session_limits(session, &limits);
  limits.timeout = seconds;
  rly_session_set_limits(session, &limits);
}

Bench *subject_bench(Subject *s, bool real) {
  bool wide = is_wide(s, real) && s->rule.item->rule->used_count > 0;
  Bench *b = wide ? &s->wide : &s->narrow;
  if (b->session) return b;
  b->program = host_program_new(s->h, s->h->cx);
  if (b->program) b->program->ir->float64 = b == &s->wide;
  b->session = b->program ? rly_session_new(b->program, NULL) : NULL;
  /* Operators of the table end, and a clock for each run is half as dear again
   * as the runs. */
  if (b->session && s->rule.item->rule->used_count)
    set_patience(b->session, s->budget);
  if (b->session && add_used(s, b)) return b;
  mem_raise_exhausted(s->h->program->mem);
  return NULL;
}

/* The first of `word`, `word_`, `word__`, ... with which no name begins that
 * the rule uses. */
static const char *free_name(const Subject *s, const char *word) {
  const RuleFacts *rule = s->rule.item->rule;
  const Name *name = name_of(s->h->program->ir->names, word);
  for (int i = 0; i < rule->used_count; i++) {
    char longer[64];
    if (strncmp(rule->used[i]->name->text, word, strlen(word)) != 0) continue;
    int n = snprintf(longer, sizeof longer, "%s_", word);
    return n < (int)sizeof longer ? free_name(s, longer) : word;
  }
  return name ? name->text : word;
}

bool subject_start(Subject *s, Host *h, const Item *item, double budget) {
  *s = (Subject){
      .h = h, .rule = rule_of(h->program->mem, item), .budget = budget};
  s->left = free_name(s, "left");
  s->right = free_name(s, "right");
  arena_init(&s->arena, h->program->mem);
  s->in_c = uses_host(s);
  return subject_bench(s, false) != NULL;
}

static void bench_end(Host *h, Bench *b) {
  rly_session_free(b->session);
  if (b->program) host_program_free(h, b->program);
}

void subject_end(Subject *s) {
  bench_end(s->h, &s->narrow);
  bench_end(s->h, &s->wide);
  arena_done(&s->arena);
}

/* --- Instances ------------------------------------------------------------ */

/* Adds a side to the program; NULL: it has no type, which is not reported. */
static const rly_function *add_side(Subject *s, Bench *b, const Expr *fn,
                                    const char *name) {
  Program *p = s->h->program->ir;
  Item item = {.kind = ITEM_DEF,
               .linked = true,
               .name = name_of(p->names, name),
               .expr = fn};
  Unit unit = {.items = &item, .item_count = 1};
  StrBuf text;
  strbuf_init(&text, p->mem);
  unit_print(p, &unit, &text);
  DiagsMark mark = diags_mark(p->diags);
  rly_status status = rly_program_add_text(b->program, "<rule>",
                                           strbuf_text(&text), text.len, 0);
  strbuf_done(&text);
  diags_return(p->diags, mark);
  if (status == RLY_LIMIT) mem_raise_exhausted(p->mem);
  return status == RLY_OK ? rly_program_function(b->program, name) : NULL;
}

bool instance_make(Subject *s, Origin origin, Instance *out) {
  char left[80], right[80];
  *out = (Instance){.origin = origin};
  arena_reset(&s->arena);
  Rng r = origin.rng;
  Program *p = s->h->program->ir;
  bool drawn =
      is_wide(s, origin.real)
          ? rule_draw_wide(p, &s->arena, &s->rule, &r, origin.size, &out->draw)
          : rule_draw(p, &s->arena, &s->rule, &r, origin.size, &out->draw);
  if (!drawn) return false;
  snprintf(left, sizeof left, "%s%d", s->left, s->made);
  snprintf(right, sizeof right, "%s%d", s->right, s->made++);
  const Expr *was = rule_side(&out->draw.bound, s->rule.left);
  const Expr *is = rule_side(&out->draw.bound, s->rule.right);
  Bench *b = subject_bench(s, origin.real);
  out->left = b && was && is ? add_side(s, b, was, left) : NULL;
  if (!out->left) return false;
  out->right = add_side(s, b, is, right);
  int n = s->rule.fn->param_count;
  out->elements = ARENA_ARRAY(&s->arena, void *, (size_t)n + 1);
  for (int i = 0; out->elements && i < n; i++) {
    const VarDraw *v = &out->draw.vars[i];
    if (!v->tensor) return false;
    size_t size = (size_t)v->count * dtype_size(v->dtype);
    if (!(out->elements[i] = arena_alloc(&s->arena, size + 8))) return false;
  }
  return out->elements != NULL;
}

/* Edges first, one and the same for all elements of a variable.  Sums and
 * products of ordinary numbers are exact to a few digits, so that `real` can
 * be told from wrong. */
static DrawFill fill_of(const Instance *i, int trial) {
  if (i->origin.real) return trial % 4 == 0 ? FILL_WHOLE : FILL_PLAIN;
  return trial < DRAW_EDGES ? FILL_EDGE
         : trial % 4 == 0   ? FILL_EDGES
         : trial % 4 == 1   ? FILL_PLAIN
         : trial % 4 == 2   ? FILL_WHOLE
                            : FILL_MIXED;
}

static Value constant_bits(DType t, const AttrExpr *x) {
  return x->kind == AX_FLOAT ? bits_from_f64(t, x->real)
                             : bits_from_i64(t, x->integer);
}

void instance_fill(const Instance *i, Rng *r, int trial) {
  const Rule *rule = i->draw.bound.rule;
  for (int k = 0; k < rule->fn->param_count; k++) {
    const VarDraw *v = &i->draw.vars[k];
    int turn = k == 0 || rng_below(r, 2) ? trial : rng_below(r, DRAW_EDGES);
    if (!v->constant) {
      draw_values(r, v->dtype, fill_of(i, trial), turn, v->count,
                  i->elements[k]);
      continue;
    }
    Value bits = constant_bits(v->dtype, v->constant);
    size_t size = dtype_size(v->dtype);
    for (int64_t n = 0; n < v->count; n++)
      memcpy((char *)i->elements[k] + (size_t)n * size, &bits, size);
  }
}

/* --- Distances ------------------------------------------------------------ */

/* Floats in order as integers, 0 and -0 alike (Dawson, "Comparing floating
 * point numbers").  `bits` wide. */
static int64_t ordinal(uint64_t x, unsigned bits) {
  uint64_t sign = (uint64_t)1 << (bits - 1);
  return x & sign ? -(int64_t)(x & (sign - 1)) : (int64_t)x;
}

static uint64_t bits_at(const void *elements, size_t size, int64_t i) {
  uint64_t x = 0;
  memcpy(&x, (const char *)elements + (size_t)i * size, size);
  return x;
}

static uint64_t gap(int64_t a, int64_t b) {
  return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static void compare_element(Distance *d, DType t, uint64_t a, uint64_t b,
                            int64_t at) {
  bool real = dtype_is_float(t);
  double x = real ? bits_to_f64(t, (Value){.bits = a}) : 0;
  double y = real ? bits_to_f64(t, (Value){.bits = b}) : 0;
  if (real && !isfinite(x)) d->undefined = true;
  if (a == b || (real && isnan(x) && isnan(y))) return;
  if (d->at < 0) d->at = at;
  if (!real || isnan(x) || isnan(y)) {
    d->apart = true;
    return;
  }
  unsigned bits = (unsigned)dtype_size(t) * 8;
  uint64_t ulps = gap(ordinal(a, bits), ordinal(b, bits));
  if (ulps > d->ulps) d->ulps = ulps;
}

/* Of two tensors; the relative distance is by the greatest element of the left
 * one, since sums of many terms cancel. */
static void compare_tensors(Distance *d, rly_value *a, rly_value *b) {
  int rank = rly_value_rank(a);
  const char *name = rly_value_dtype(a);
  bool same = rank == rly_value_rank(b) && !strcmp(name, rly_value_dtype(b));
  for (int i = 0; same && i < rank; i++)
    same = rly_value_dim(a, i) == rly_value_dim(b, i);
  const char *x = rly_value_elements(a), *y = rly_value_elements(b);
  if (!same || !x || !y) {
    d->apart = true;
    return;
  }
  DType t = dtype_find(name, strlen(name));
  size_t size = dtype_size(t);
  int64_t count = rly_value_count(a);
  double most = 1, gap_most = 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t p = bits_at(x, size, i), q = bits_at(y, size, i);
    compare_element(d, t, p, q, i);
    if (!dtype_is_float(t)) continue;
    double u = bits_to_f64(t, (Value){.bits = p});
    double v = bits_to_f64(t, (Value){.bits = q});
    if (fabs(u) > most && isfinite(u)) most = fabs(u);
    if (fabs(u - v) > gap_most) gap_most = fabs(u - v);
  }
  if (gap_most / most > d->relative) d->relative = gap_most / most;
}

/* Results of rules are tensors, and tuples of these as deep as written. */
static void compare(Distance *d, rly_value *a, rly_value *b) {
  if (rly_value_kind(a) != rly_value_kind(b)) {
    d->apart = true;
    return;
  }
  if (rly_value_kind(a) == RLY_TENSOR) {
    compare_tensors(d, a, b);
    if (d->at < 0) d->field++;
    return;
  }
  int n = rly_value_field_count(a);
  if (n != rly_value_field_count(b)) d->apart = true;
  for (int i = 0; i < n && !d->apart; i++) {
    rly_value *x = rly_value_field(a, i), *y = rly_value_field(b, i);
    if (x && y) compare(d, x, y);
    rly_value_free(x);
    rly_value_free(y);
  }
}

/* --- Runs ----------------------------------------------------------------- */

/* The code of the error that a run ended in; "" for none. */
static void take_error(rly_session *s, char code[8]) {
  rly_diagnostic d;
  code[0] = 0;
  if (rly_session_diagnostic_get(s, 0, &d)) snprintf(code, 8, "%.7s", d.code);
  rly_session_diagnostics_clear(s);
}

static bool is_memory(const char *code) { return !strcmp(code, "E0701"); }

/* Where one run did not end, others may not, and there are many to come when a
 * refutation is made smaller. */
enum { IMPATIENT = 1000 };

static bool is_late(const char *code) { return !strcmp(code, "E0703"); }

/* At grade real, of numbers near 1: in float64 what is left of some ten digits,
 * and of an operator in C in fewer digits as many as the coarsest dtype has
 * bits for. */
static double allowed(const Subject *s, const Instance *in) {
  size_t least = sizeof(double);
  for (int i = 0; s->in_c && i < s->rule.fn->param_count; i++) {
    DType t = in->draw.vars[i].dtype;
    if (dtype_is_float(t) && dtype_size(t) < least) least = dtype_size(t);
  }
  return least == 8 ? 1e-9 : least == 4 ? 1e-4 : 1e-1;
}

bool instance_run(Subject *s, const Instance *in, Distance *out) {
  int n = s->rule.fn->param_count;
  rly_session *session = subject_bench(s, in->origin.real)->session;
  rly_value *args[RULE_PARAMS_MAX] = {0}, *a = NULL, *b = NULL;
  char left_error[8] = "", right_error[8] = "";
  *out = (Distance){.at = -1, .allowed = allowed(s, in)};
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    const VarDraw *v = &in->draw.vars[i];
    args[i] = rly_value_of_elements(session, dtype_name(v->dtype), v->rank,
                                    v->shape, in->elements[i]);
    ok = args[i] != NULL;
  }
  rly_status left = RLY_MISUSE, right = RLY_MISUSE;
  if (ok) left = rly_session_call_function(session, in->left, n, args, &a);
  if (left != RLY_OK) take_error(session, left_error);
  out->late = is_late(left_error);
  if (ok && in->right && !out->late)
    right = rly_session_call_function(session, in->right, n, args, &b);
  if (right != RLY_OK) take_error(session, right_error);
  out->late |= is_late(right_error);
  if (out->late) set_patience(session, s->budget / IMPATIENT);
  ok = ok && !is_memory(left_error) && !is_memory(right_error);
  if (!ok) mem_raise_exhausted(s->h->program->mem);
  if (left == RLY_OK && right == RLY_OK) compare(out, a, b);
  else out->apart = left != right || strcmp(left_error, right_error) != 0;
  out->undefined |= left != RLY_OK;
  for (int i = 0; i < n; i++) rly_value_free(args[i]);
  rly_value_free(a);
  rly_value_free(b);
  return ok;
}

bool distance_keeps(const Distance *d, RuleGrade grade) {
  if (d->late) return true;
  switch (grade.kind) {
    case GRADE_BITS: return d->at < 0 && !d->apart;
    case GRADE_ULP: return !d->apart && d->ulps <= (uint64_t)grade.ulps;
    default: return d->undefined || (!d->apart && d->relative <= d->allowed);
  }
}
