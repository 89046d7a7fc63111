/* Small refutations, and how they are shown. */
#include <string.h>

#include "repl/verify.h"

/* --- Shrinking ------------------------------------------------------------ */

enum {
  SMALLER_TRIES = 4000, /* draws of a smaller instance, */
  SMALLER_MOST = 100,   /* until so many were tried */
  FILLS = 40,           /* values of each */
  REFILLS = 1000,
  ELEMENTS_MOST = 64, /* that are made simpler one by one */
};

static bool refutes(Subject *s, const Instance *i, RuleGrade grade) {
  Distance d;
  return instance_run(s, i, &d) && !distance_keeps(&d, grade);
}

/* Is a value of the fill a refutation? */
static bool fill_refutes(Subject *s, const Instance *i, Rng *r,
                         RuleGrade grade) {
  if (!i->right) return true;
  for (int trial = 0; trial < FILLS; trial++) {
    instance_fill(i, r, trial);
    if (refutes(s, i, grade)) return true;
  }
  return false;
}

/* Fewer elements, then fewer numbers in the types and attributes. */
static int64_t size_of(const Draw *d) {
  int64_t size = d->elements * 16;
  for (int i = 0; i < d->bound.rule->fn->param_count; i++)
    size += d->vars[i].rank;
  return size;
}

/* Numbers in order of simplicity: the edges, then some of few digits, of which
 * sums and products round. */
static bool simple_value(DType t, int i, Value *out) {
  static const double few[] = {3, 0.1, 0.3, 10, 0.7, 1e8};
  int more = i - DRAW_EDGES;
  if (more >= (int)(sizeof few / sizeof *few)) return false;
  if (more >= 0 && !dtype_is_float(t)) return false;
  *out = more < 0 ? draw_edge(t, i) : bits_from_f64(t, few[more]);
  return true;
}

/* Each element gets the simplest value with which the sides still differ. */
static void simplify(Subject *s, Instance *i, RuleGrade grade) {
  for (int k = 0; k < s->rule.fn->param_count; k++) {
    const VarDraw *v = &i->draw.vars[k];
    size_t size = dtype_size(v->dtype);
    if (v->constant || v->count > ELEMENTS_MOST) continue;
    for (int64_t n = 0; n < v->count; n++) {
      char *at = (char *)i->elements[k] + (size_t)n * size;
      char was[8];
      memcpy(was, at, size);
      bool found = false;
      Value simple;
      for (int e = 0; !found && simple_value(v->dtype, e, &simple); e++) {
        memcpy(at, &simple, size);
        found = memcmp(was, at, size) == 0 || refutes(s, i, grade);
      }
      if (!found) memcpy(at, was, size);
      if (mem_exhausted(s->h->program->mem)) return;
    }
  }
}

bool instance_shrink(Subject *s, Instance *i, RuleGrade grade) {
  Origin best = i->origin;
  int64_t least = size_of(&i->draw);
  Rng r = {.state = best.rng.state ^ 0x5DEECE66D};
  for (int n = 0, tried = 0;
       n < SMALLER_TRIES && tried < SMALLER_MOST && least > 0; n++) {
    Origin origin = {{rng_next(&r)}, n % 4 ? DRAW_SMALL : DRAW_ALL, best.real};
    if (!instance_make(s, origin, i) || size_of(&i->draw) >= least) continue;
    Rng fills = origin.rng;
    tried++;
    if (!fill_refutes(s, i, &fills, grade)) continue;
    best = origin;
    least = size_of(&i->draw);
  }
  /* The instance is drawn again, and filled until it refutes as before. */
  Rng fills = best.rng;
  bool ok = instance_make(s, best, i), found = false;
  for (int n = 0; ok && !found && n < REFILLS; n++)
    found = fill_refutes(s, i, &fills, grade);
  if (found && i->right) simplify(s, i, grade);
  return ok && !mem_exhausted(s->h->program->mem);
}

/* --- Text ----------------------------------------------------------------- */

static void print_literal(Subject *s, const Instance *i, int var, StrBuf *out) {
  Program *p = s->h->program->ir;
  const VarDraw *v = &i->draw.vars[var];
  Tensor *t = program_tensor_new(p, v->dtype, v->rank, v->shape);
  if (!t) return;
  memcpy(t->data, i->elements[var], (size_t)v->count * dtype_size(v->dtype));
  if (!(t = program_constant_take(p, t))) return;
  Expr *e = expr_const(&s->arena, SPAN_NONE, t);
  StrBuf text;
  strbuf_init(&text, out->mem);
  expr_print(p, e, &text);
  strbuf_add(out, strbuf_text(&text));
  strbuf_done(&text);
}

static void print_side(Subject *s, const Instance *i, const Expr *side,
                       const char *name, StrBuf *out) {
  Program *p = s->h->program->ir;
  Item item = {.kind = ITEM_DEF,
               .linked = true,
               .name = name_of(p->names, name),
               .expr = rule_side(&i->draw.bound, side)};
  Unit unit = {.items = &item, .item_count = 1};
  StrBuf text;
  strbuf_init(&text, out->mem);
  if (item.expr) unit_print(p, &unit, &text);
  strbuf_add(out, strbuf_text(&text));
  strbuf_done(&text);
}

static void print_comment(StrBuf *out, const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    strbuf_addf(out, "// %.*s\n", (int)n, text);
    text += n + (text[n] == '\n');
  }
}

static void print_call(Subject *s, const Instance *i, const rly_function *f,
                       const char *name, StrBuf *out) {
  int n = s->rule.fn->param_count;
  rly_session *session = subject_bench(s, i->origin.real)->session;
  rly_value *args[RULE_PARAMS_MAX] = {0}, *result = NULL;
  strbuf_addf(out, "@%s(", name);
  for (int k = 0; k < n; k++) {
    const VarDraw *v = &i->draw.vars[k];
    strbuf_addf(out, "%s%%%s", k ? ", " : "",
                s->rule.fn->params[k]->name->text);
    args[k] = rly_value_of_elements(session, dtype_name(v->dtype), v->rank,
                                    v->shape, i->elements[k]);
  }
  strbuf_add(out, ");\n");
  rly_status status =
      f ? rly_session_call_function(session, f, n, args, &result) : RLY_REFUSED;
  if (status == RLY_OK) {
    char *text = rly_value_text(result);
    print_comment(out, text ? text : "");
    rly_text_free(s->h->cx, text);
  } else {
    rly_diagnostic d = {.code = "E0200", .message = "it has no type here"};
    if (f) rly_session_diagnostic_get(session, 0, &d);
    strbuf_addf(out, "// error[%s]: ", d.code);
    strbuf_add_visible(out, d.message, strlen(d.message));
    strbuf_add_char(out, '\n');
    rly_session_diagnostics_clear(session);
  }
  for (int k = 0; k < n; k++) rly_value_free(args[k]);
  rly_value_free(result);
}

void instance_print(Subject *s, const Instance *i, StrBuf *out) {
  subject_print_used(s, out);
  print_side(s, i, s->rule.left, s->left, out);
  print_side(s, i, s->rule.right, s->right, out);
  for (int k = 0; k < s->rule.fn->param_count; k++) {
    strbuf_addf(out, "let %%%s = ", s->rule.fn->params[k]->name->text);
    print_literal(s, i, k, out);
    strbuf_add(out, ";\n");
  }
  print_call(s, i, i->left, s->left, out);
  print_call(s, i, i->right, s->right, out);
}
