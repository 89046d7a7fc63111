/* rly verify: tries to refute rules by experiment.
 *
 *   verify_run.c     instances of a rule as functions; both sides run, and the
 *                    distance of their results
 *   verify_shrink.c  smaller refutations, and their text
 *
 * For each rule, shapes, dtypes and attributes are drawn that satisfy its types
 * and condition.  Both sides, as functions of the variables, are compiled once
 * for each of these instances and called with many values, edges first. */
#include <inttypes.h>
#include <string.h>

#include "repl/guard.h"
#include "repl/rules.h"
#include "repl/verify.h"

enum {
  TRIALS = 4096, /* unless --trials says otherwise */
  A_TIME = 16,   /* trials of an instance, at most */
  FILLS = 64,    /* of which the edges come in turn */
  DRAWS_MOST = 20000,
  SHAPES_MOST = 512,
  SECONDS = 10, /* of a rule, unless --budget says otherwise */
};

typedef struct Verify {
  Host *h;
  uint64_t trials, seed;
  double budget;
  StrBuf out;
  VEC(const Item *) met; /* all rules of the files so far */
  int refuted;
  bool stopped;
} Verify;

/* What was found of one rule at one grade. */
typedef struct Finding {
  uint64_t trials;
  int instances;
  int shape_count;
  uint64_t shapes[SHAPES_MOST]; /* hashes of those seen */
  uint64_t dtypes;              /* bits */
  uint64_t ulps;                /* the most that was met */
  bool apart;                   /* more than that was */
  bool refuted, late;
} Finding;

/* --- Trials --------------------------------------------------------------- */

static void note_shapes(Finding *f, const Instance *i) {
  uint64_t hash = 1;
  for (int k = 0; k < i->draw.bound.rule->fn->param_count; k++) {
    const VarDraw *v = &i->draw.vars[k];
    f->dtypes |= (uint64_t)1 << v->dtype;
    hash = (hash ^ (uint64_t)v->rank) * 0x9E3779B97F4A7C15u;
    for (int n = 0; n < v->rank; n++)
      hash = (hash ^ (uint64_t)v->shape[n]) * 0x9E3779B97F4A7C15u;
  }
  for (int k = 0; k < f->shape_count; k++)
    if (f->shapes[k] == hash) return;
  if (f->shape_count < SHAPES_MOST) f->shapes[f->shape_count++] = hash;
}

/* Few trials are spread over several instances. */
static int trials_of_instance(const Verify *v) {
  uint64_t n = v->trials / A_TIME;
  return n < 4 ? 4 : n < A_TIME ? (int)n : A_TIME;
}

/* Runs trials until one refutes the grade, which is left in `i`; `all`: goes
 * on, to see how far apart the sides come. */
static void try_rule(Verify *v, Subject *s, RuleGrade grade, bool all,
                     Instance *i, Finding *f) {
  double start = clock_seconds();
  Rng r = {.state = v->seed};
  bool real = grade.kind == GRADE_REAL;
  *f = (Finding){0};
  for (int n = 0; n < DRAWS_MOST && f->trials < v->trials && !f->late; n++) {
    Origin origin = {{rng_next(&r)}, n % 4 == 0 ? DRAW_SMALL : DRAW_ALL, real};
    f->late = (n & 15) == 15 && clock_seconds() - start > v->budget;
    if (mem_exhausted(v->h->program->mem)) return;
    if (!instance_make(s, origin, i)) continue;
    f->instances++;
    note_shapes(f, i);
    Rng values = origin.rng;
    int most = i->draw.elements == 0 ? 1 : trials_of_instance(v);
    for (int t = 0; t < most && f->trials < v->trials; t++) {
      Distance d;
      instance_fill(i, &values, (int)(f->trials % FILLS));
      f->trials++;
      if (!i->right) d = (Distance){.apart = true};
      else if (!instance_run(s, i, &d)) {
        v->stopped = true;
        return;
      }
      if (d.late) {
        f->late = true;
        f->trials--;
        break;
      }
      if (d.ulps > f->ulps) f->ulps = d.ulps;
      f->apart |= d.apart;
      if (distance_keeps(&d, grade)) continue;
      f->refuted = true;
      if (!all) return;
    }
    if (all && f->apart) return;
  }
}

/* The highest grade below the rule's own that holds: "ulp(3)", "real"; NULL:
 * none does. */
static const char *grade_that_holds(Verify *v, Subject *s, RuleGrade refuted,
                                    char text[32]) {
  Finding f;
  Instance i;
  if (refuted.kind != GRADE_REAL) {
    try_rule(v, s, (RuleGrade){.kind = GRADE_BITS}, true, &i, &f);
    if (!f.apart && f.instances > 0 && f.ulps <= 1024) {
      snprintf(text, 32, "ulp(%" PRIu64 ")", f.ulps);
      return text;
    }
    try_rule(v, s, (RuleGrade){.kind = GRADE_REAL}, false, &i, &f);
    if (!f.refuted && f.instances > 0) return "real";
  }
  return NULL;
}

/* --- What is said --------------------------------------------------------- */

static void print_grade(StrBuf *out, RuleGrade grade) {
  strbuf_add(out, grade_word(grade.kind));
  if (grade.kind == GRADE_ULP) strbuf_addf(out, "(%" PRId64 ")", grade.ulps);
}

static void add_counts(Verify *v, const Finding *f) {
  int dtypes = __builtin_popcountll(f->dtypes);
  strbuf_addf(&v->out, "%" PRIu64 " trial%s, %d shape%s, %d dtype%s%s",
              f->trials, f->trials == 1 ? "" : "s", f->shape_count,
              f->shape_count == 1 ? "" : "s", dtypes, dtypes == 1 ? "" : "s",
              f->late ? ", out of time" : "");
}

/* "at [1, 0]": the place of an element in the tensor. */
static void add_place(StrBuf *out, int64_t at, int rank, const int64_t *shape) {
  int64_t index[RANK_MAX];
  for (int i = rank - 1; i >= 0; at /= shape[i] ? shape[i] : 1, i--)
    index[i] = shape[i] ? at % shape[i] : 0;
  strbuf_add(out, "[");
  for (int i = 0; i < rank; i++)
    strbuf_addf(out, "%s%" PRId64, i ? ", " : "", index[i]);
  strbuf_add(out, "]");
}

static const Type *tensor_field(const Type *t, int *field) {
  if (t->kind == TY_TENSOR) return (*field)-- == 0 ? t : NULL;
  const Type *found = NULL;
  for (int i = 0; t->kind == TY_TUPLE && i < t->count && !found; i++)
    found = tensor_field(t->args[i], field);
  return found;
}

/* The element of the left result that differs first. */
static void add_first(Verify *v, Subject *s, const Instance *i) {
  Distance d;
  if (!i->right || !instance_run(s, i, &d) || d.at < 0) return;
  const Type *t = (const Type *)rly_function_result_type(i->left);
  int field = d.field;
  int64_t shape[RANK_MAX];
  if (!(t = tensor_field(t, &field)) || t->any_rank) return;
  for (int k = 0; k < t->rank; k++) {
    if (!dim_is_number(t->dims[k])) return;
    shape[k] = dim_value(t->dims[k]);
  }
  if (t->rank == 0 && d.field == 0) return;
  strbuf_add(&v->out, "  the first element that differs: ");
  if (d.field) strbuf_addf(&v->out, "of tensor %d, ", d.field);
  add_place(&v->out, d.at, t->rank, shape);
  strbuf_add(&v->out, "\n");
}

static void add_indented(StrBuf *out, const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    if (n) strbuf_addf(out, "  %.*s", (int)n, text);
    strbuf_add(out, "\n");
    text += n + (text[n] == '\n');
  }
}

static void say_refuted(Verify *v, Subject *s, Instance *i, const Finding *f) {
  char text[32];
  RuleGrade grade = s->rule.item->rule->grade;
  StrBuf program, args;
  strbuf_init(&program, v->out.mem);
  strbuf_init(&args, v->out.mem);
  rule_print_args(&i->draw.bound, &args);
  instance_print(s, i, &program);
  if (v->h->cli->json) {
    strbuf_addf(&v->out,
                ", \"held\": false, \"trials\": %" PRIu64
                ", \"counterexample\": \"",
                f->trials);
    strbuf_add_escaped(&v->out, strbuf_text(&program), program.len);
    strbuf_add(&v->out, "\", \"at\": \"");
    strbuf_add_escaped(&v->out, strbuf_text(&args), args.len);
    const char *held = grade_that_holds(v, s, grade, text);
    if (held) strbuf_addf(&v->out, "\", \"holds_at\": \"%s\"}\n", held);
    else strbuf_add(&v->out, "\", \"holds_at\": null}\n");
  } else {
    strbuf_add(&v->out, "refuted at ");
    print_grade(&v->out, grade);
    if (args.len) strbuf_addf(&v->out, ", by %s", strbuf_text(&args));
    strbuf_add(&v->out, "\n");
    add_indented(&v->out, strbuf_text(&program));
    add_first(v, s, i);
    const char *held = grade_that_holds(v, s, grade, text);
    strbuf_addf(&v->out, "  it holds at %s\n", held ? held : "no grade");
  }
  strbuf_done(&program);
  strbuf_done(&args);
}

static void say_held(Verify *v, const Item *item, const Finding *f) {
  if (v->h->cli->json) {
    strbuf_addf(&v->out,
                ", \"held\": true, \"trials\": %" PRIu64
                ", \"shapes\": %d, \"dtypes\": %d}\n",
                f->trials, f->shape_count, __builtin_popcountll(f->dtypes));
    return;
  }
  strbuf_add(&v->out, "held at ");
  print_grade(&v->out, item->rule->grade);
  strbuf_add(&v->out, ": ");
  add_counts(v, f);
  strbuf_add(&v->out, "\n");
}

/* --- Rules ---------------------------------------------------------------- */

/* A rule that nothing satisfies says nothing. */
static bool report_unsatisfied(Verify *v, const Item *item) {
  Diag *d = diag_error(v->h->program->ir->diags, E0906, item->name_span,
                       "no instance of `@%s` that was drawn satisfies its "
                       "types and its condition",
                       item->name->text);
  diag_hint(d,
            "a condition that holds of rare arguments needs them in the "
            "types: Tensor[(n, n), d] for a square");
  return false;
}

static bool report_late(Verify *v, const Item *item) {
  Diag *d = diag_error(v->h->program->ir->diags, E0906, item->name_span,
                       "a side of `@%s` does not end within %g seconds",
                       item->name->text, v->budget);
  diag_hint(d, "--budget SECONDS allows more");
  return false;
}

/* Has the rule a variable that is a function? */
static bool has_function(const Item *item) {
  const Fn *fn = item->expr->fn;
  for (int i = 0; i < fn->param_count; i++)
    if (fn->params[i]->annotation->kind == TX_FN) return true;
  return false;
}

static bool verify_flat(Verify *v, const Item *item, bool last);

/* A variable that is a function stands for one after another. */
static bool verify_rule(Verify *v, const Item *item) {
  int choices = has_function(item) ? FLAT_CHOICES : 1, refuted = v->refuted;
  bool ok = true;
  Arena arena;
  arena_init(&arena, v->h->program->mem);
  for (int i = 0; i < choices && ok && v->refuted == refuted; i++) {
    const Item *flat = rule_flat(v->h->program->ir, &arena, item, i);
    ok = verify_flat(v, flat, i + 1 == choices);
  }
  arena_done(&arena);
  return ok;
}

/* `last`: where the rule holds, that is said. */
static bool verify_flat(Verify *v, const Item *item, bool last) {
  Subject s;
  Instance i;
  Finding f;
  bool ok = subject_start(&s, v->h, item, v->budget);
  if (ok) try_rule(v, &s, item->rule->grade, false, &i, &f);
  ok = ok && !mem_exhausted(v->h->program->mem);
  if (ok && f.refuted) ok = instance_shrink(&s, &i, item->rule->grade);
  if (ok && f.instances == 0) ok = report_unsatisfied(v, item);
  else if (ok && f.trials == 0) ok = report_late(v, item);
  else if (ok && (last || f.refuted)) {
    v->refuted += f.refuted;
    if (v->h->cli->json) {
      strbuf_addf(&v->out, "{\"rule\": \"%s\", \"grade\": \"",
                  item->name->text);
      print_grade(&v->out, item->rule->grade);
      strbuf_add(&v->out, "\"");
    } else {
      strbuf_addf(&v->out, "@%s: ", item->name->text);
    }
    if (f.refuted) say_refuted(v, &s, &i, &f);
    else say_held(v, item, &f);
  }
  subject_end(&s);
  host_write(v->h, strbuf_text(&v->out), v->out.len);
  VEC_CLEAR(&v->out);
  return ok && !v->stopped;
}

static bool verify_file(Verify *v, const char *path) {
  Host *h = v->h;
  Unit *u = program_parse_file(h->program, path);
  bool ok = u && unit_check(h->program->ir, u);
  size_t before = v->met.len;
  bool all = true;
  for (int i = 0; ok && i < u->item_count && !v->stopped; i++) {
    const Item *item = &u->items[i];
    if (item->kind != ITEM_RULE) continue;
    VEC_PUSH(&v->met, item);
    if (!h->cli->rule.count || rule_is_named(h->cli, item))
      all &= verify_rule(v, item);
  }
  if (ok && v->met.len == before) {
    diag_error(h->program->ir->diags, E0906, SPAN_NONE, "%s has no rules",
               path);
    ok = false;
  }
  v->stopped |= mem_exhausted(h->program->mem);
  if (!v->stopped) host_report(h);
  return ok && all;
}

static int verify_main(Host *h) {
  const Cli *cli = h->cli;
  Verify v = {.h = h,
              .trials = cli->trials ? cli->trials : TRIALS,
              .seed = cli->seed ? cli->seed : 1,
              .budget = cli->budget > 0 ? cli->budget : SECONDS};
  strbuf_init(&v.out, h->program->mem);
  VEC_INIT(&v.met, h->program->mem);
  bool ok = true;
  guard_begin(cli, "verifying");
  for (int i = 0; i < cli->words.count && !v.stopped; i++)
    ok &= verify_file(&v, cli->words.items[i]);
  guard_end();
  if (ok && !v.stopped) ok = rules_are_there(h, v.met.len, v.met.data);
  if (!v.stopped) host_report(h);
  VEC_DONE(&v.met);
  strbuf_done(&v.out);
  if (mem_exhausted(h->program->mem)) return host_out_of_memory(h);
  return ok && !v.refuted ? 0 : EXIT_REFUSED;
}

int command_verify(const Cli *cli) { return host_run(cli, verify_main); }
