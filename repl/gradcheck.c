/* rly gradcheck: are the derivatives of a program's functions those of their
 * values?
 *
 * The program is read as one that computes in float64 (passes/float64.c).  For
 * each function arguments x are drawn, and with them a direction u and an
 * adjoint v of the value:
 *
 *   v . (f(x + h e) - f(x - h e)) / 2h = (vjp(f, x)(v)) . e   for elements e
 *       (f(x + h u) - f(x - h u)) / 2h = jvp(f, x, u)
 *   v . jvp(f, x, u)                   = vjp(f, x)(v) . u     the dot test
 *
 * At a kink or a jump the differences to both sides disagree, and tell nothing:
 * such an element is passed over, and where all are, another point is drawn.
 * So is one where f fails or gives no number.  Each evaluation is a text of its
 * own; what a function writes into cells is put back after it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl/cli.h"
#include "repl/gradpoint.h"

/* The steps of a difference, and what is right: its error is about h^2 times
 * the third derivative, that of the dot test is rounding alone. */
static const double steps[] = {1e-5, 1e-6}, near = 1e-6, nearer = 1e-9;
enum { POINTS_MOST = 8, ELEMENTS_MOST = 100 };
/* Bounds of a value.  Where parts are shared, there may be more of them than
 * memory could hold. */
enum { DEPTH_MOST = 500, PARTS_MOST = 100000 };
/* Seconds for an evaluation, where the user does not say: a number that was
 * drawn may be one that a loop never meets. */
enum { PATIENCE = 5 };

/* Where points are drawn, one after the other: many functions are defined for
 * positive numbers only, or below 1. */
static const double ranges[POINTS_MOST][2] = {
    {-1, 1},     {0.1, 0.9}, {-2, 2},     {0.5, 2},
    {-0.5, 0.5}, {0.2, 0.8}, {-1.5, 1.5}, {1, 3},
};

typedef VEC(double) Numbers;

typedef struct Check {
  Host *h;
  rly_session *s;
  const Global *g;
  const Fn *written; /* as its text has it: g may be a call of that */
  const Unit *last;  /* of the program itself */
  FILE *sink;        /* what programs print goes there */
  Point point;
  rly_value *value; /* of the text that was evaluated */
  StrBuf text;      /* that is being made */
  StrBuf said;      /* why there is no verdict, or what is wrong */
  Numbers y, seeds, up, down, gradient, forward, tangent;
  double step;   /* of differences */
  double size;   /* of the value, at most 1 */
  Numbers bends; /* of the value's elements, at the larger step */
  int parts;     /* of the value, met so far */
  int elements, kinks;
  double largest; /* difference, relative */
  bool refused;   /* there is no derivative, and it is said why */
  bool limit;     /* time or memory is over */
} Check;

typedef enum Verdict { RIGHT, WRONG, PASSED_OVER, NARROW, AGAIN } Verdict;
static const char *const verdicts[] = {[RIGHT] = "right",
                                       [WRONG] = "wrong",
                                       [PASSED_OVER] = "passed over",
                                       [NARROW] = "not checked"};

/* What a program of float64 cannot have. */
typedef struct Narrow {
  rly_program *written;
  PtrMap names; /* of its definitions: name -> itself, or what it mentions */
} Narrow;

/* --- Values as numbers --------------------------------------------------- */

static bool is_wide(const rly_value *v) {
  const char *dtype = rly_value_dtype(v);
  return dtype && !strcmp(dtype, "float64");
}

/* Field i, owned; NULL: memory ran out, which ends the command. */
static rly_value *field_of(Check *c, rly_value *v, int i) {
  rly_value *field = rly_value_field(v, i);
  if (!field) c->limit = true;
  return field;
}

/* The floats of a value in order; false, with the reason said, where it is too
 * large. */
static bool flatten(Check *c, rly_value *v, Numbers *out, int depth) {
  if (depth > DEPTH_MOST || ++c->parts > PARTS_MOST) {
    VEC_CLEAR(&c->said);
    strbuf_add(&c->said, "its value has too many parts to compare");
    return false;
  }
  const double *elements = is_wide(v) ? rly_value_elements(v) : NULL;
  if (is_wide(v) && !elements && rly_value_count(v)) c->limit = true;
  for (int64_t i = 0; elements && i < rly_value_count(v); i++)
    VEC_PUSH(out, elements[i]);
  bool data = rly_value_kind(v) == RLY_TUPLE || rly_value_constructor(v);
  bool ok = true;
  for (int i = 0; data && ok && i < rly_value_field_count(v); i++) {
    rly_value *field = field_of(c, v, i);
    ok = field && flatten(c, field, out, depth + 1);
    rly_value_free(field);
  }
  return ok;
}

static bool all_finite(const Numbers *n) {
  for (size_t i = 0; i < n->len; i++)
    if (!isfinite(n->data[i])) return false;
  return true;
}

static double dot(const Numbers *a, const Numbers *b) {
  double sum = 0;
  for (size_t i = 0; i < a->len && i < b->len; i++)
    sum += a->data[i] * b->data[i];
  return sum;
}

/* --- Evaluation ---------------------------------------------------------- */

static void keep(void *data, rly_value *v) {
  Check *c = data;
  rly_value_free(c->value);
  c->value = rly_value_keep(v);
  if (!c->value) c->limit = true;
}

/* Notes what was reported, as one line.  A limit ends the command, which then
 * shows the report; that an evaluation takes too long here does not. */
static void note_failure(Check *c, rly_status status, bool run) {
  rly_diagnostic d;
  bool any = run ? rly_session_diagnostic_get(c->s, 0, &d)
                 : rly_diagnostic_get(c->h->cx, 0, &d);
  bool late = any && !c->h->cli->limits.timeout && !strcmp(d.code, "E0703");
  c->limit |= exit_status(status) > 2 && !late;
  if (c->limit) return;
  if (any && !c->said.len) diag_add_short(&c->said, d.code, d.message);
  c->refused |= any && !strcmp(d.code, "E0609");
  rly_session_diagnostics_clear(c->s);
  rly_diagnostics_clear(c->h->cx);
}

/* Evaluates c->text, an expression; false after an error.  The cells hold again
 * what they held before. */
static bool evaluate(Check *c, Numbers *out) {
  rly_value_free(c->value);
  c->value = NULL;
  strbuf_add_char(&c->text, ';');
  bool writes = c->g->effects & EFFECT_WRITE;
  rly_snapshot *before = writes ? rly_session_snapshot(c->s) : NULL;
  if (writes && !before) {
    c->limit = true;
    return false;
  }
  rly_status status = rly_program_add_text(
      c->h->program, "<gradcheck>", strbuf_text(&c->text), c->text.len, 0);
  bool run = status == RLY_OK;
  c->h->print_to = c->sink;
  if (run) status = rly_session_run(c->s, keep, c);
  c->h->print_to = NULL;
  if (before && rly_session_restore(c->s, before) != RLY_OK) c->limit = true;
  rly_snapshot_free(before);
  if (c->limit) return false;
  if (status != RLY_OK) {
    note_failure(c, status, run);
    return false;
  }
  rly_diagnostics_clear(c->h->cx);
  VEC_CLEAR(&c->text);
  if (!out) return c->value;
  VEC_CLEAR(out);
  c->parts = 0;
  return c->value && flatten(c, c->value, out, 0);
}

/* @f(x) */
static bool call_at(Check *c, const double *at, Numbers *out) {
  VEC_CLEAR(&c->text);
  strbuf_addf(&c->text, "@%s(", c->g->name->text);
  point_put(&c->point, at, false, &c->text);
  strbuf_add_char(&c->text, ')');
  return evaluate(c, out);
}

/* --- Adjoints of the value ----------------------------------------------- */

static void put_shape(Check *c, const rly_value *v) {
  for (int i = 0; i < rly_value_rank(v); i++)
    strbuf_addf(&c->text, "%s%lld", i ? ", " : "",
                (long long)rly_value_dim(v, i));
}

static void put_seed_tensor(Check *c, rly_value *v) {
  const char *dtype = rly_value_dtype(v);
  int rank = rly_value_rank(v);
  int64_t n = rly_value_count(v);
  if (!is_wide(v) || n == 0) {
    strbuf_add(&c->text, "zeros(shape=[");
    put_shape(c, v);
    strbuf_addf(&c->text, "], dtype=\"%s\")", dtype);
    return;
  }
  if (rank) strbuf_add(&c->text, "reshape([");
  for (int64_t i = 0; i < n; i++) {
    double x = point_chance(&c->point, -1, 1);
    VEC_PUSH(&c->seeds, x);
    if (i) strbuf_add(&c->text, ", ");
    put_number(&c->text, x);
  }
  if (!rank) return;
  strbuf_add(&c->text, "], newshape=[");
  put_shape(c, v);
  strbuf_add(&c->text, "])");
}

/* An adjoint of the value, drawn.  False where it holds a function or a cell.
 */
static bool put_seed(Check *c, rly_value *v, int depth) {
  if (depth > DEPTH_MOST) return false;
  const char *ctor = rly_value_constructor(v);
  if (rly_value_dtype(v)) {
    put_seed_tensor(c, v);
    return true;
  }
  if (!ctor && rly_value_kind(v) != RLY_TUPLE) return false;
  int n = rly_value_field_count(v);
  if (ctor) strbuf_add(&c->text, ctor);
  if (!ctor || n) strbuf_add_char(&c->text, '(');
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    rly_value *field = field_of(c, v, i);
    if (i) strbuf_add(&c->text, ", ");
    ok = field && put_seed(c, field, depth + 1);
    rly_value_free(field);
  }
  if (!ctor && n == 1) strbuf_add_char(&c->text, ',');
  if (!ctor || n) strbuf_add_char(&c->text, ')');
  return ok;
}

/* vjp(@f, x).1(v) */
static bool reverse(Check *c, rly_value *y, const double *at) {
  VEC_CLEAR(&c->text);
  VEC_CLEAR(&c->seeds);
  strbuf_addf(&c->text, "vjp(@%s, ", c->g->name->text);
  point_put(&c->point, at, false, &c->text);
  strbuf_add(&c->text, ").1(");
  if (!put_seed(c, y, 0)) {
    strbuf_add(&c->said, "its value holds a function or a cell");
    c->refused = true;
    return false;
  }
  strbuf_add_char(&c->text, ')');
  return evaluate(c, &c->gradient);
}

/* jvp(@f, (x,), (u,)).1 */
static bool forward(Check *c, const double *at) {
  VEC_CLEAR(&c->text);
  const char *comma = c->g->type->count == 1 ? "," : "";
  strbuf_addf(&c->text, "jvp(@%s, (", c->g->name->text);
  point_put(&c->point, at, false, &c->text);
  strbuf_addf(&c->text, "%s), (", comma);
  point_put(&c->point, c->tangent.data, true, &c->text);
  strbuf_addf(&c->text, "%s)).1", comma);
  return evaluate(c, &c->forward);
}

/* --- Comparing ----------------------------------------------------------- */

/* Is `found` the derivative that was expected, but for rounding, relative to
 * the derivatives and to `size`? */
static bool agrees(Check *c, double expected, double found, double size,
                   double most) {
  size += fabs(expected) + fabs(found);
  double off = fabs(expected - found) / size;
  if (!(off <= c->largest)) c->largest = off;
  return off <= most;
}

/* The size of the value, which rounding is relative to.  Where the value is a
 * small difference of large numbers, their rounding is larger: hence LEAST. */
static double size_of(const Numbers *y) {
  const double least = 1e-3;
  double size = least;
  for (size_t i = 0; i < y->len; i++) size = fmax(size, fabs(y->data[i]));
  return fmin(size, 1);
}

/* How far the differences to both sides disagree. */
static double bend_of(const Check *c, double up, double y, double down) {
  return fabs(up - y + (down - y)) / c->step;
}

/* Is there a derivative?  `before` is the bend at a step ten times as long, or
 * 0: it gets smaller with the step, unless there is a kink or a jump. */
static bool is_smooth(double bend, double slope, double before) {
  return bend <= 1e-3 * (1 + fabs(slope)) || bend < before / 4;
}

/* The values a step of `along` up and down. */
static bool differences(Check *c, const double *x, double *moved,
                        const double *along, size_t only) {
  size_t n = c->point.slots.len;
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (size_t i = 0; i < n; i++) {
      double by = along ? along[i] : i == only;
      moved[i] = x[i] + sign * c->step * by;
    }
    Numbers *out = sign > 0 ? &c->up : &c->down;
    if (!call_at(c, moved, out)) return false;
    if (out->len != c->y.len || !all_finite(out)) return false;
  }
  return true;
}

/* v . f along element i against the gradient's.  `*bend` is that of the step
 * before, or 0, and then of this one. */
static Verdict element_by_step(Check *c, const double *x, double *moved,
                               size_t i, double *bend) {
  if (!differences(c, x, moved, NULL, i)) return c->limit ? AGAIN : PASSED_OVER;
  double up = dot(&c->seeds, &c->up), y = dot(&c->seeds, &c->y),
         down = dot(&c->seeds, &c->down);
  double slope = (up - down) / (2 * c->step), found = c->gradient.data[i];
  double before = *bend;
  *bend = bend_of(c, up, y, down);
  if (!is_smooth(*bend, slope, before)) return PASSED_OVER;
  if (agrees(c, slope, found, c->size, near)) return RIGHT;
  VEC_CLEAR(&c->said);
  strbuf_addf(&c->said, "at %s: differences %.8g, vjp %.8g",
              c->point.slots.data[i].path, slope, found);
  return WRONG;
}

/* A derivative that is wrong is so for a smaller step, too; where only the
 * third derivative is large, the differences come nearer, and where only the
 * second is, those to both sides. */
static Verdict check_element(Check *c, const double *x, double *moved,
                             size_t i) {
  double largest = c->largest, bend = 0;
  c->step = steps[0];
  Verdict v = element_by_step(c, x, moved, i, &bend);
  if (v == WRONG || (v == PASSED_OVER && bend > 0)) {
    c->largest = largest;
    c->step = steps[1];
    v = element_by_step(c, x, moved, i, &bend);
  }
  c->elements += v == RIGHT || v == WRONG;
  return v;
}

/* Each element of the value along u against jvp's; `*kinks`: how many were
 * passed over. */
static Verdict forward_by_step(Check *c, const double *x, double *moved,
                               int *kinks) {
  if (!differences(c, x, moved, c->tangent.data, 0)) return AGAIN;
  *kinks = 0;
  for (size_t i = 0; i < c->y.len; i++) {
    double up = c->up.data[i], y = c->y.data[i], down = c->down.data[i];
    double slope = (up - down) / (2 * c->step), found = c->forward.data[i];
    double before = c->bends.data[i];
    c->bends.data[i] = bend_of(c, up, y, down);
    bool smooth = is_smooth(c->bends.data[i], slope, before);
    *kinks += !smooth;
    if (!smooth || agrees(c, slope, found, c->size, near)) continue;
    VEC_CLEAR(&c->said);
    strbuf_addf(&c->said,
                "element %zu of the value: differences %.8g, jvp %.8g", i,
                slope, found);
    return WRONG;
  }
  return RIGHT;
}

/* The derivative was not computed. */
static Verdict without_derivative(const Check *c) {
  return c->refused ? PASSED_OVER : c->said.len ? WRONG : AGAIN;
}

static Verdict check_forward(Check *c, const double *x, double *moved) {
  if (!forward(c, x) || c->forward.len != c->y.len)
    return without_derivative(c);
  double back = dot(&c->gradient, &c->tangent),
         there = dot(&c->seeds, &c->forward);
  if (!agrees(c, there, back, 1, nearer)) {
    VEC_CLEAR(&c->said);
    strbuf_addf(&c->said,
                "the dot test: v . jvp(u) = %.12g, vjp(v) . u = %.12g", there,
                back);
    return WRONG;
  }
  double largest = c->largest;
  int kinks = 0;
  VEC_CLEAR(&c->bends);
  for (size_t i = 0; i < c->y.len; i++) VEC_PUSH(&c->bends, 0);
  c->step = steps[0];
  Verdict v = forward_by_step(c, x, moved, &kinks);
  if (v == WRONG || kinks) {
    c->largest = largest;
    c->step = steps[1];
    v = forward_by_step(c, x, moved, &kinks);
  }
  c->kinks += kinks;
  return v;
}

/* --- One function -------------------------------------------------------- */

static Verdict pass_over(Check *c, const char *why) {
  VEC_CLEAR(&c->said);
  strbuf_add(&c->said, why);
  return PASSED_OVER;
}

/* At the point that was drawn; AGAIN: another one may tell more. */
static Verdict check_here(Check *c, const double *x, double *moved) {
  size_t n = c->point.slots.len;
  if (!call_at(c, x, &c->y)) return AGAIN;
  if (c->y.len == 0) return pass_over(c, "its value holds no float");
  if (!all_finite(&c->y)) {
    VEC_CLEAR(&c->said);
    strbuf_add(&c->said, "its value is no number where it was tried");
    return AGAIN;
  }
  rly_value *y = c->value;
  c->value = NULL;
  c->size = size_of(&c->y);
  VEC_CLEAR(&c->said);
  bool ok = reverse(c, y, x);
  rly_value_free(y);
  if (ok && c->gradient.len != n)
    strbuf_addf(&c->said, "vjp has %zu numbers for %zu of the arguments",
                c->gradient.len, n);
  if (!ok || c->gradient.len != n) return without_derivative(c);
  VEC_CLEAR(&c->tangent);
  for (size_t i = 0; i < n; i++)
    VEC_PUSH(&c->tangent, point_chance(&c->point, -1, 1));
  Verdict worst = RIGHT;
  size_t every = n > ELEMENTS_MOST ? n / ELEMENTS_MOST + 1 : 1;
  for (size_t i = 0; worst == RIGHT && i < n; i += every) {
    Verdict v = check_element(c, x, moved, i);
    c->kinks += v == PASSED_OVER;
    if (v == WRONG || v == AGAIN) worst = v;
  }
  if (worst != RIGHT) return worst;
  if (c->elements == 0) {
    VEC_CLEAR(&c->said);
    strbuf_add(&c->said,
               "it has a kink or a jump at each point that was tried");
    return AGAIN;
  }
  return check_forward(c, x, moved);
}

static Verdict check_point(Check *c, int point) {
  const double *range = ranges[point];
  const Type *type = c->g->type;
  c->elements = c->kinks = 0;
  c->refused = false;
  c->largest = 0;
  bool drawn = point_draw(&c->point, c->h->program->ir, type, c->written,
                          (uint64_t)point + 1, range[0], range[1]);
  size_t n = c->point.slots.len;
  Verdict v = PASSED_OVER;
  double *x = malloc((2 * n + 1) * sizeof *x);
  if (!x) mem_raise_exhausted(c->h->program->ir->mem);
  for (size_t i = 0; x && i < n; i++) x[i] = c->point.slots.data[i].value;
  if (!drawn) pass_over(c, c->point.refused);
  else if (n == 0) pass_over(c, "its arguments hold no float"), v = AGAIN;
  else if (x) v = check_here(c, x, x + n);
  free(x);
  point_done(&c->point);
  return v;
}

/* A function that is checked by instance is called by another, at the first
 * rank that its text allows. */
static const Global *at_some_rank(Check *c, const Global *f) {
  static const int ranks[] = {2, 1, 3, 0, 4};
  Program *p = c->h->program->ir;
  StrBuf name, text;
  strbuf_init(&name, p->mem);
  strbuf_init(&text, p->mem);
  strbuf_addf(&name, "gradcheck_of_%s", f->name->text);
  rly_status status = RLY_REFUSED;
  for (size_t i = 0; status == RLY_REFUSED && i < sizeof ranks / sizeof *ranks;
       i++) {
    VEC_CLEAR(&text);
    put_instance(p, f, strbuf_text(&name), ranks[i], &text);
    c->limit |= mem_exhausted(p->mem);
    if (c->limit) break;
    status = rly_program_add_text(c->h->program, "<gradcheck>",
                                  strbuf_text(&text), text.len, 0);
    if (status != RLY_OK) note_failure(c, status, false);
  }
  const Global *g =
      status == RLY_OK
          ? scope_global(&p->user, name_of(p->names, strbuf_text(&name)))
          : NULL;
  strbuf_done(&name);
  strbuf_done(&text);
  return g;
}

static Verdict check_function(Check *c) {
  VEC_CLEAR(&c->said);
  if (c->g->generic) c->g = at_some_rank(c, c->g);
  if (!c->g || !c->g->type || c->g->type->kind != TY_FN)
    return pass_over(c, "it is not to be called at any rank from 0 to 4");
  Verdict v = AGAIN;
  for (int i = 0; v == AGAIN && i < POINTS_MOST && !c->limit; i++) {
    VEC_CLEAR(&c->said);
    v = check_point(c, i);
  }
  if (v != AGAIN) return v;
  if (!c->said.len)
    strbuf_add(&c->said,
               "it fails or is no number beside each point that was tried");
  return PASSED_OVER;
}

/* --- The command --------------------------------------------------------- */

static void print_verdict(Check *c, const char *name, Verdict v, bool first) {
  StrBuf out;
  strbuf_init(&out, c->h->program->ir->mem);
  if (c->h->cli->json) {
    strbuf_addf(&out, "%s{\"name\": \"@%s\", \"verdict\": \"%s\"",
                first ? "" : ", ", name, verdicts[v]);
    if (v == RIGHT)
      strbuf_addf(&out, ", \"elements\": %d, \"kinks\": %d, \"largest\": %.3g",
                  c->elements, c->kinks, c->largest);
    else {
      strbuf_add(&out, ", \"message\": \"");
      strbuf_add_escaped(&out, strbuf_text(&c->said), c->said.len);
      strbuf_add_char(&out, '"');
    }
    strbuf_add_char(&out, '}');
  } else if (v == RIGHT) {
    strbuf_addf(&out, "@%s: right at %d element%s, largest difference %.1e",
                name, c->elements, c->elements == 1 ? "" : "s", c->largest);
    if (c->kinks) strbuf_addf(&out, "; %d at kinks", c->kinks);
    strbuf_add_char(&out, '\n');
  } else {
    strbuf_addf(&out, "@%s: %s: %s\n", name, verdicts[v],
                strbuf_text(&c->said));
  }
  host_write(c->h, strbuf_text(&out), out.len);
  strbuf_done(&out);
}

static void check_start(Check *c, Host *h) {
  *c = (Check){.h = h,
               .s = h->session,
               .last = h->program->newest,
               .sink = fopen("/dev/null", "w")};
  Mem *mem = h->program->ir->mem;
  strbuf_init(&c->text, mem);
  strbuf_init(&c->said, mem);
  VEC_INIT(&c->y, mem);
  VEC_INIT(&c->seeds, mem);
  VEC_INIT(&c->up, mem);
  VEC_INIT(&c->down, mem);
  VEC_INIT(&c->gradient, mem);
  VEC_INIT(&c->forward, mem);
  VEC_INIT(&c->bends, mem);
  VEC_INIT(&c->tangent, mem);
}

static void check_end(Check *c) {
  if (c->sink) fclose(c->sink);
  rly_value_free(c->value);
  strbuf_done(&c->text);
  strbuf_done(&c->said);
  VEC_DONE(&c->y);
  VEC_DONE(&c->seeds);
  VEC_DONE(&c->up);
  VEC_DONE(&c->down);
  VEC_DONE(&c->gradient);
  VEC_DONE(&c->forward);
  VEC_DONE(&c->bends);
  VEC_DONE(&c->tangent);
}

static bool is_chosen(const Host *h, const Item *item, const Global *g) {
  const char *entry = h->cli->entry;
  return item->kind == ITEM_DEF && g &&
         (!entry || !strcmp(entry, g->name->text));
}

/* The functions that the program of float64 has not; are there any? */
static bool print_narrow(Check *c, const Narrow *n, bool *first) {
  const Host *h = c->h;
  const char *entry = h->cli->entry;
  bool any = false;
  for (const Unit *u = n->written->ir->units; u; u = u->next)
    for (int i = 0; !u->source->library && i < u->item_count; i++) {
      const Item *item = &u->items[i];
      const Name *needs = ptrmap_get(&n->names, item->name);
      if (item->kind != ITEM_DEF || !needs) continue;
      if (entry && strcmp(entry, item->name->text)) continue;
      VEC_CLEAR(&c->said);
      if (needs == item->name)
        strbuf_add(&c->said, "it cannot be computed in float64");
      else
        strbuf_addf(&c->said,
                    "it mentions `@%s`, which cannot be computed in "
                    "float64",
                    needs->text);
      print_verdict(c, item->name->text, NARROW, *first);
      *first = false;
      any = true;
    }
  return any;
}

/* The worst verdict as an exit status.  The texts that a check adds come after
 * the units that it goes over. */
static int check_all(Host *h, Check *c, const Narrow *narrow) {
  const Program *p = h->program->ir;
  int status = 0;
  bool first = true;
  if (h->cli->json) host_write(h, "{\"functions\": [", 15);
  for (const Unit *u = p->units; u && !c->limit;
       u = u == c->last ? NULL : u->next)
    for (int i = 0; !u->source->library && i < u->item_count && !c->limit;
         i++) {
      const Global *g = c->g = item_global(p, &u->items[i]);
      if (!is_chosen(h, &u->items[i], g)) continue;
      c->written = u->items[i].expr->fn;
      Verdict v = check_function(c);
      if (c->limit || mem_exhausted(p->mem)) break;
      print_verdict(c, g->name->text, v, first);
      first = false;
      if (v == WRONG || (v == PASSED_OVER && h->cli->entry))
        status = EXIT_REFUSED;
    }
  if (print_narrow(c, narrow, &first)) status = EXIT_REFUSED;
  if (h->cli->json) host_write(h, "]}\n", 3);
  if (mem_exhausted(p->mem) || (c->limit && !h->said))
    return host_out_of_memory(h);
  if (c->limit) return EXIT_LIMIT;
  if (first && h->cli->entry) return host_no_function(h, h->cli->entry);
  return status;
}

/* Draws the tensors of a `param`.  One that is not made of a fixed number of
 * tensors is left: what needs it is passed over. */
static rly_status bind_param(Host *h, int param, uint64_t *seed) {
  Program *p = h->program->ir;
  rly_layout *parts = NULL;
  rly_status status = rly_layout_new(
      h->program, rly_program_param_type(h->program, param),
      rly_program_param_name(h->program, param), RLY_TENSORS, &parts);
  if (status == RLY_REFUSED) {
    rly_diagnostics_clear(h->cx);
    return RLY_OK;
  }
  StrBuf text;
  strbuf_init(&text, p->mem);
  for (size_t i = 0; i < rly_layout_count(parts) && status == RLY_OK; i++) {
    VEC_CLEAR(&text);
    put_drawn_param(p, rly_layout_path(parts, i),
                    (const Type *)rly_layout_type(parts, i), ++*seed, &text);
    status = rly_program_bind_text(h->program, strbuf_text(&text));
  }
  strbuf_done(&text);
  rly_layout_free(parts);
  return status;
}

/* Draws the program's `param`s that have no default. */
static rly_status bind_params(Host *h) {
  rly_status status = RLY_OK;
  uint64_t seed = 0;
  for (int i = 0; i < rly_program_param_count(h->program) && status == RLY_OK;
       i++)
    if (!rly_program_param_has_default(h->program, i))
      status = bind_param(h, i, &seed);
  return status;
}

/* The `let`s are evaluated, and no expression.  What programs print is not
 * shown. */
static rly_status begin(Host *h) {
  static const char none[] = "def @gradcheck_of() { () }";
  rly_options limits = {0};
  rly_session_limits(h->session, &limits);
  if (!limits.timeout) limits.timeout = PATIENCE;
  rly_session_set_limits(h->session, &limits);
  rly_status status =
      rly_program_add_text(h->program, "<gradcheck>", none, sizeof none - 1, 0);
  rly_value *unit = NULL;
  if (status == RLY_OK)
    status = rly_session_call(h->session, "gradcheck_of", 0, NULL, &unit);
  rly_value_free(unit);
  return status;
}

/* The program that is given, which is read twice.  Standard input can be read
 * but once, so its text is kept. */
typedef struct Given {
  const char *path;
  char *text; /* NULL: that of the file `path` */
  size_t len;
} Given;

static rly_status add_given(Host *h, const Given *given) {
  return given->text ? rly_program_add_text(h->program, "<stdin>", given->text,
                                            given->len, 0)
                     : host_add_file(h, given->path);
}

/* Says in each error that it is one of the program in float64, which nobody
 * wrote. */
static void explain_float64(Host *h) {
  for (size_t i = 0; i < diags_count(&h->cx->diags); i++) {
    Diag *d = diags_open(&h->cx->diags, i);
    diag_preface(d, "cannot be checked in float64: ");
    diag_hint(d,
              "`rly gradcheck` reads a program as one of float64 (`rly fmt "
              "--pass float64` shows it), since differences of narrower "
              "floats tell too little; what has to stay narrow can be kept "
              "in a file of its own");
  }
}

/* Has the function that is asked for, or any, no derivative to be checked? */
static bool concerns(const Host *h, const Narrow *n) {
  const char *entry = h->cli->entry;
  return n->names.len &&
         (!entry ||
          ptrmap_has(&n->names, name_of(n->written->ir->names, entry)));
}

/* Notes the definition of the user's that an error is in.  False: it is in
 * none, or that is noted already. */
static bool note_narrow(const Program *written, const Diag *d, PtrMap *narrow) {
  const SourceFile *in = sources_file(written->sources, d->span);
  for (const Unit *u = in ? written->units : NULL; u; u = u->next)
    for (int i = 0; !strcmp(u->source->path, in->path) && i < u->item_count;
         i++) {
      const Item *item = &u->items[i];
      uint32_t at = d->span.lo - in->base, lo = item->span.lo - u->source->base,
               hi = item->span.hi - u->source->base;
      if (at < lo || at >= hi) continue;
      if (item->kind == ITEM_EXPR || item->kind == ITEM_LET_LOCAL) return true;
      if (!item_is_global(item) || ptrmap_has(narrow, item->name)) return false;
      ptrmap_put(narrow, item->name, (void *)item->name);
      return true;
    }
  return false;
}

/* Notes the definitions that mention what is noted, until there is no further
 * one: a function may stand before what it calls. */
static void note_users(const Program *written, PtrMap *narrow) {
  for (size_t before = 0; narrow->len > before;) {
    before = narrow->len;
    for (const Unit *u = written->units; u; u = u->next)
      for (int i = 0; !u->source->library && i < u->item_count; i++) {
        const Item *item = &u->items[i];
        if (!item_is_global(item) || ptrmap_has(narrow, item->name)) continue;
        const Global *g = item_global(written, item);
        const Name *needs =
            g && g->value ? program_mentions(written, g->value, narrow) : NULL;
        if (needs) ptrmap_put(narrow, item->name, (void *)needs);
      }
  }
}

/* Are all errors in definitions that can be left out? */
static bool note_all_narrow(Host *h, const Program *written, PtrMap *narrow) {
  bool all = true;
  for (size_t i = 0; i < diags_count(&h->cx->diags); i++) {
    const Diag *d = diags_at(&h->cx->diags, i);
    if (d->severity == SEV_ERROR) all &= note_narrow(written, d, narrow);
  }
  note_users(written, narrow);
  return all;
}

/* First as it is written, so that each mistake is told in the user's own
 * words, and then as a program of float64, on which the host works. */
static rly_status add_in_float64(Host *h, const Given *given, Narrow *narrow) {
  rly_program *written = h->program;
  rly_status status = add_given(h, given);
  if (status != RLY_OK) return status;
  narrow->written = written;
  /* of warnings: the second reading has them, too */
  rly_diagnostics_clear(h->cx);
  for (bool again = true, first = true; again; first = false) {
    rly_program *wide = host_program_new(h, h->cx), *before = h->program;
    size_t known = narrow->names.len;
    if (!wide) host_program_free(h, NULL); /* which tells that memory is out */
    if (!wide) return RLY_LIMIT;
    h->program = wide;
    if (before != written) host_program_free(h, before);
    wide->ir->float64 = true;
    wide->ir->left_out = first ? NULL : &narrow->names;
    status = add_given(h, given);
    wide->ir->left_out = NULL; /* what is added to check it is whole */
    again = status == RLY_REFUSED &&
            note_all_narrow(h, written->ir, &narrow->names) &&
            (first || narrow->names.len > known);
    if (mem_exhausted(&h->cx->mem) || mem_exhausted(written->mem)) {
      mem_raise_exhausted(wide->mem);
      rly_diagnostics_clear(h->cx);
      return RLY_LIMIT;
    }
    if (status == RLY_REFUSED) explain_float64(h);
    if (again && concerns(h, narrow)) host_report(h);
    if (again) rly_diagnostics_clear(h->cx);
  }
  return status;
}

static rly_status add_program(Host *h, Narrow *narrow) {
  Given given = {.path = h->cli->words.items[0]};
  bool piped = !strcmp(given.path, "-");
  if (piped) given.text = host_stdin(h, &given.len);
  if (piped && !given.text) return RLY_LIMIT;
  rly_status status = add_in_float64(h, &given, narrow);
  free(given.text);
  return status;
}

static int gradcheck(Host *h, Narrow *narrow) {
  rly_status status = add_program(h, narrow);
  if (status == RLY_OK) status = bind_params(h);
  rly_session *s = status == RLY_OK ? host_session(h, false) : NULL;
  if (!s) {
    host_report(h);
    return exit_status(status == RLY_OK ? RLY_LIMIT : status);
  }
  Check c;
  check_start(&c, h);
  h->print_to = c.sink;
  status = begin(h);
  h->print_to = NULL;
  int code = exit_status(status);
  if (status == RLY_OK) code = check_all(h, &c, narrow);
  check_end(&c);
  host_session_free(h, s);
  return code;
}

static int run_gradcheck(Host *h) {
  Narrow narrow = {.written = NULL};
  ptrmap_init(&narrow.names, &h->cx->mem);
  int code = gradcheck(h, &narrow);
  ptrmap_done(&narrow.names);
  if (narrow.written && narrow.written != h->program)
    host_program_free(h, narrow.written);
  return code;
}

int command_gradcheck(const Cli *cli) { return host_run(cli, run_gradcheck); }
