/* What a program does, as a transcript that two versions are compared by.
 *
 * The text runs in a context of its own: its expressions in order, up to an
 * error.  Then each function of the text `like` is called on sample arguments
 * by expressions that are added to the program, one text each:
 *
 *   def @f(%x: Tensor[(2, ?), float32], %n: int32)
 *   { let %a0 = cast(0.37f64 * cast(mod(reshape(arange(0, 6, 1), newshape=[2,
 *       3]) * 5, 11) - 4, dtype="float64"), dtype="float32");
 *     let %a1 = cast(3, dtype="int32");
 *     let %r = @f(%a0, %a1); %r };
 *
 * With cells among the arguments the value is %r and what they hold afterwards.
 *
 * A named dimension has one size in all arguments.  Of a data type the first
 * constructor is drawn whose fields have samples, of fewer levels each time.
 * Functions whose arguments have no samples (polymorphic ones, for one) are
 * only seen through others.  Values are compared as JSON, which shows every
 * bit but that of a NaN's payload.  Errors are compared by code and message
 * without their places, which passes move. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repl/opt.h"

enum {
  SAMPLES = 3, /* calls of a function */
  LEVELS = 4,  /* of constructors and types within a sample */
  ELEMENTS_MAX = 4096,
  STEPS_MAX = 3000000, /* instructions of a run */
  SECONDS = 10,
  SECTION = 1, /* the character before each sample */
};
/* Of a sample that the program does not take: passes drop functions, and make
 * new ones. */
#define GONE "gone\n"

/* --- Samples -------------------------------------------------------------- */

typedef struct Sample {
  const Program *p;
  StrBuf *out;
  int seed; /* of the call */
  int drawn;
} Sample;

/* Dimensions without a number: those of one name are equal. */
static int64_t drawn_dim(const Sample *s, Dim d) {
  if (dim_is_number(d)) return dim_value(d);
  return dim_is_any(d) ? 2 + s->seed % 2 : 2 + s->seed;
}

static int next(Sample *s) { return s->seed * 7 + s->drawn++ * 3; }

static void sample_scalar(Sample *s, DType dtype) {
  int n = next(s) % 9 - 2;
  if (dtype == DT_BOOL) strbuf_add(s->out, n % 2 ? "True" : "False");
  else if (dtype_is_int(dtype))
    strbuf_addf(s->out, "cast(%d, dtype=\"%s\")", n < 0 ? 5 : n,
                dtype_name(dtype));
  else
    strbuf_addf(s->out, "cast(%d.37f64, dtype=\"%s\")", n, dtype_name(dtype));
}

/* Small numbers, whole ones for integers, which say nothing of their order. */
static bool sample_tensor(Sample *s, const Type *t) {
  DType dtype = (DType)t->dtype;
  int64_t count = 1;
  int n = next(s) % 5 + 2;
  if (t->rank == 0) {
    sample_scalar(s, dtype);
    return true;
  }
  for (int i = 0; i < t->rank; i++) {
    int64_t dim = drawn_dim(s, t->dims[i]);
    if (dim < 0 || (dim && count > ELEMENTS_MAX / dim)) return false;
    count *= dim;
  }
  bool whole = dtype == DT_BOOL || dtype_is_int(dtype);
  strbuf_addf(s->out,
              "cast(%smod(reshape(arange(0, %" PRId64 ", 1), newshape=[",
              whole ? "" : "0.37f64 * cast(", count);
  for (int i = 0; i < t->rank; i++)
    strbuf_addf(s->out, "%s%" PRId64, i ? ", " : "", drawn_dim(s, t->dims[i]));
  strbuf_addf(s->out, "]) * %d, %d)", n, dtype == DT_BOOL ? 2 : 11);
  if (!whole) strbuf_add(s->out, " - 4, dtype=\"float64\")");
  strbuf_addf(s->out, ", dtype=\"%s\")", dtype_name(dtype));
  return true;
}

static bool sample(Sample *s, const Type *t, int levels);

static bool sample_list(Sample *s, const Type *const *types, int count,
                        int levels) {
  for (int i = 0; i < count; i++) {
    if (i) strbuf_add(s->out, ", ");
    if (!sample(s, types[i], levels)) return false;
  }
  return true;
}

/* What was written of a constructor that has no sample is taken back. */
static bool sample_ctor(Sample *s, const Type *t, const Ctor *c, int levels) {
  size_t before = s->out->len;
  strbuf_add(s->out, c->name->text);
  bool ok = true;
  if (c->field_count > 0) strbuf_add(s->out, "(");
  for (int i = 0; i < c->field_count && ok; i++) {
    if (i) strbuf_add(s->out, ", ");
    const Type *field =
        type_substitute(s->p->types, c->fields[i], t->adt->param_count,
                        t->adt->params, t->args, NULL);
    ok = sample(s, field, levels);
  }
  if (c->field_count > 0) strbuf_add(s->out, ")");
  if (!ok) s->out->len = before;
  return ok;
}

/* With levels left the last constructor first, which is the recursive one of
 * most lists; then the first. */
static bool sample_adt(Sample *s, const Type *t, int levels) {
  const Adt *adt = t->adt;
  if (adt->is_extern || adt->literals) return false;
  bool last = (s->seed + s->drawn) % 2 && levels > LEVELS / 2;
  for (int i = 0; i < adt->ctor_count; i++)
    if (sample_ctor(s, t, &adt->ctors[last ? adt->ctor_count - 1 - i : i],
                    levels))
      return true;
  return false;
}

static bool sample(Sample *s, const Type *t, int levels) {
  if (levels == 0) return false;
  switch (t->kind) {
    case TY_TENSOR: return sample_tensor(s, t);
    case TY_TUPLE: {
      strbuf_add(s->out, "(");
      bool ok = sample_list(s, t->args, t->count, levels);
      strbuf_add(s->out, t->count == 1 ? ",)" : ")");
      return ok;
    }
    case TY_REF: {
      strbuf_add(s->out, "ref(");
      bool ok = sample(s, t->args[0], levels - 1);
      strbuf_add(s->out, ")");
      return ok;
    }
    case TY_ADT: return sample_adt(s, t, levels - 1);
    default: return false;
  }
}

/* Type parameters that are no dimensions have no samples. */
static bool can_be_called(const Global *g) {
  if (!g || g->kind != GLOBAL_DEF || g->scheme || !g->type ||
      g->type->kind != TY_FN)
    return false;
  for (int i = 0; i < g->type->param_count; i++)
    if (g->type->params[i]->kind != KIND_DIM) return false;
  return true;
}

static bool sample_call(const Program *p, const Global *g, int seed,
                        StrBuf *out) {
  Sample s = {.p = p, .out = out, .seed = seed};
  const Type *const *args = g->type->args;
  int count = g->type->count;
  bool ok = true;
  VEC_CLEAR(out);
  strbuf_add(out, "{ ");
  for (int i = 0; i < count && ok; i++) {
    strbuf_addf(out, "let %%a%d = ", i);
    ok = sample(&s, args[i], LEVELS);
    strbuf_add(out, "; ");
  }
  strbuf_addf(out, "let %%r = @%s(", g->name->text);
  for (int i = 0; i < count; i++) strbuf_addf(out, "%s%%a%d", i ? ", " : "", i);
  strbuf_add(out, "); ");
  int cells = 0;
  for (int i = 0; i < count; i++)
    if (args[i]->kind == TY_REF)
      strbuf_addf(out, "%s ref_read(%%a%d)", cells++ ? "," : "(%r,", i);
  strbuf_add(out, cells ? ") };" : "%r };");
  return ok;
}

/* --- A run ---------------------------------------------------------------- */

static void write_to(void *behaviour, const char *text, size_t len) {
  strbuf_add_len(&((Behaviour *)behaviour)->text, text, len);
}

static void add_value(void *behaviour, rly_value *v) {
  StrBuf *out = &((Behaviour *)behaviour)->text;
  char *text = rly_value_json(v);
  strbuf_add(out, text ? text : "no value");
  strbuf_add_char(out, '\n');
  rly_text_free(v->session->program->cx, text);
}

typedef struct Run {
  rly_context *cx;
  rly_program *p;
  rly_session *s;
  Behaviour *out;
} Run;

/* False: the run ended at a limit, and no more is known. */
static bool run_new(Run *r) {
  rly_status status = rly_session_run(r->s, add_value, r->out);
  r->out->cut |= status == RLY_LIMIT || status == RLY_INTERRUPTED;
  if (status == RLY_OK || r->out->cut) return !r->out->cut;
  rly_diagnostic d;
  size_t count = rly_session_diagnostic_count(r->s);
  if (count > 0 && rly_session_diagnostic_get(r->s, count - 1, &d)) {
    diag_add_short(&r->out->text, d.code, d.message);
    strbuf_add_char(&r->out->text, '\n');
  }
  rly_session_diagnostics_clear(r->s);
  rly_session_skip(r->s);
  return true;
}

/* A `param` without a default holds small whole numbers. */
static bool bind_params(Run *r) {
  Program *p = r->p->ir;
  for (size_t i = 0; i < p->params.len; i++) {
    const Global *g = p->params.data[i];
    const Type *t = g->type;
    if (g->value || t->kind != TY_TENSOR) continue;
    int64_t shape[RANK_MAX], count = 1;
    Sample s = {.p = p, .seed = 1};
    for (int k = 0; k < t->rank; k++) {
      shape[k] = drawn_dim(&s, t->dims[k]);
      if (shape[k] && count > ((int64_t)1 << 24) / shape[k]) return false;
      count *= shape[k];
    }
    size_t size = (size_t)dtype_size((DType)t->dtype);
    char *data = calloc((size_t)count + 1, size);
    for (int64_t k = 0; data && k < count; k++)
      bits_store((DType)t->dtype, data + (size_t)k * size,
                 bits_from_i64((DType)t->dtype,
                               t->dtype == DT_BOOL ? k % 2 : k * 5 % 11));
    rly_tensor *made = data ? rly_tensor_new(r->cx, dtype_name((DType)t->dtype),
                                             t->rank, shape, data)
                            : NULL;
    bool ok =
        made && rly_program_bind_tensor(r->p, g->name->text, made) == RLY_OK;
    rly_tensor_free(made);
    free(data);
    if (!ok) return false;
  }
  return true;
}

static void run_samples(Run *r, const Version *like) {
  const Unit *u = like->unit;
  const Program *p = like->program->ir;
  StrBuf call;
  strbuf_init(&call, like->program->mem);
  for (int i = 0; i < u->item_count; i++) {
    const Global *g =
        u->items[i].kind == ITEM_DEF ? item_global(p, &u->items[i]) : NULL;
    for (int seed = 0; can_be_called(g) && seed < SAMPLES; seed++) {
      if (!sample_call(p, g, seed, &call)) break;
      strbuf_addf(&r->out->text, "%c@%s %d: ", SECTION, g->name->text, seed);
      rly_diagnostics_clear(r->cx);
      if (rly_program_add_text(r->p, "sample", strbuf_text(&call), call.len,
                               0) != RLY_OK)
        strbuf_add(&r->out->text, GONE);
      else if (!run_new(r)) i = u->item_count;
      if (i == u->item_count) break;
    }
  }
  strbuf_done(&call);
}

bool behaviour_of(Host *h, const Version *like, const char *text, size_t len,
                  Behaviour *out) {
  rly_options options = {.threads = 1,
                         .max_memory = h->max_memory / 2,
                         .max_steps = STEPS_MAX,
                         .timeout = SECONDS,
                         .safe = h->cli->limits.safe,
                         .stack = h->cli->limits.stack};
  Run r = {.out = out};
  *out = (Behaviour){.near = h->cli->fast_math};
  strbuf_init(&out->text, h->program->mem);
  r.cx = rly_context_new(&options);
  r.p = r.cx ? host_program_new(h, r.cx) : NULL;
  rly_session_options session = {.write = write_to, .data = out};
  if (r.p && rly_program_add_text(r.p, "text", text, len, 0) == RLY_OK) {
    r.s = bind_params(&r) ? rly_session_new(r.p, &session) : NULL;
    if (r.s && run_new(&r)) run_samples(&r, like);
    rly_session_free(r.s);
  } else {
    strbuf_add(&out->text, "refused\n");
  }
  rly_program_free(r.p);
  rly_context_free(r.cx);
  return !mem_exhausted(h->program->mem);
}

void behaviour_done(Behaviour *b) { strbuf_done(&b->text); }

/* The length of the section, up to the next one or the end. */
static size_t section(const char *text) {
  return 1 + strcspn(text + 1, (char[]){SECTION, 0});
}

static bool is_gone(const char *text, size_t len) {
  size_t n = strlen(GONE);
  return len > n && memcmp(text + len - n, GONE, n) == 0;
}

static bool begins_number(const char *at) {
  return (*at >= '0' && *at <= '9') || (*at == '-' && at[1] >= '0');
}

/* The largest number of a section, by its absolute value. */
static double largest(const char *text, size_t len) {
  double most = 0;
  for (const char *at = text; at < text + len;) {
    char *end = (char *)at + 1;
    double x = begins_number(at) ? fabs(strtod(at, &end)) : 0;
    most = isfinite(x) && x > most ? x : most;
    at = end;
  }
  return most;
}

/* Equal but for numbers, which differ by little beside the largest of the
 * section: what rounding in another order can do. */
static bool is_near(const char *x, size_t m, const char *y, size_t n) {
  const double PART = 1e-4;
  double most = PART * largest(x, m);
  const char *to = x + m, *end = y + n;
  while (x < to && y < end) {
    if (!begins_number(x) || !begins_number(y)) {
      if (*x++ != *y++) return false;
      continue;
    }
    char *p, *q;
    double a = strtod(x, &p), b = strtod(y, &q);
    if (!(fabs(a - b) <= most) && a != b) return false;
    x = p;
    y = q;
  }
  return x == to && y == end;
}

/* Section by section, up to the limit that one of them hit. */
bool behaviour_same(const Behaviour *a, const Behaviour *b) {
  const char *x = strbuf_text(&a->text), *y = strbuf_text(&b->text);
  while (*x && *y) {
    size_t m = section(x), n = section(y), least = m < n ? m : n;
    bool ends = (a->cut && !x[m]) || (b->cut && !y[n]);
    bool same = memcmp(x, y, least) == 0 && (m == n || ends);
    if (!is_gone(x, m) && !is_gone(y, n) && !same &&
        !(a->near && is_near(x, m, y, n)))
      return false;
    x += m;
    y += n;
  }
  return (!*x || b->cut) && (!*y || a->cut);
}
