/* :find TYPE searches the functions in scope and those of the library by type,
 * as Hoogle does for Haskell: first those of that type up to the names of its
 * parameters, then more general ones, then those that fit where the type is
 * instantiated, too.  For a type that is no function's it finds the functions
 * that give such a value.  A function with parameters of kinds (Shape, Float)
 * has a type for each rank and dtype: whether one fits is tried. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/repl.h"

enum { SHOWN_MOST = 30, PARAMS_MOST = 16 };

/* --- The type that is looked for ----------------------------------------- */

/* The names of a written type that nothing declares: `A` and, within a shape,
 * `n`. */
typedef struct Params {
  struct {
    const char *name;
    size_t len;
    bool dim;
  } at[PARAMS_MOST];
  int count;
} Params;

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void add_param(Params *p, const char *name, size_t len, bool dim) {
  for (int i = 0; i < p->count; i++)
    if (p->at[i].len == len && !strncmp(p->at[i].name, name, len)) return;
  if (p->count == PARAMS_MOST) return;
  p->at[p->count].name = name;
  p->at[p->count].len = len;
  p->at[p->count++].dim = dim;
}

/* A capital letter, perhaps with digits, that names no type. */
static bool is_type_param(rly_program *p, const char *word, size_t len) {
  char text[64];
  if (len >= sizeof text || !isupper((unsigned char)*word)) return false;
  for (size_t i = 1; i < len; i++)
    if (!isdigit((unsigned char)word[i])) return false;
  snprintf(text, sizeof text, "%.*s", (int)len, word);
  return !program_definition(p, text, NULL);
}

static void find_params(rly_program *p, const char *type, Params *out) {
  bool tensor = false;
  int shape = 0; /* brackets open within a shape */
  for (const char *at = type; *at;) {
    size_t n = 0;
    while (is_name(at[n])) n++;
    if (shape && (*at == '(' || *at == ')')) shape += *at == '(' ? 1 : -1;
    else if (tensor && *at == '(') shape = 1;
    if (n && !isdigit((unsigned char)*at)) {
      if (shape) add_param(out, at, n, true);
      else if (is_type_param(p, at, n)) add_param(out, at, n, false);
    }
    tensor =
        n ? n == 6 && !strncmp(at, "Tensor", 6) : tensor && strchr("[ ", *at);
    at += n ? n : 1;
  }
}

static bool is_fn(const char *type) {
  return !strncmp(type, "fn", 2) && !is_name(type[2]);
}

/* A function's type after `fn`; another type as it is. */
static const char *behind_fn(const char *type) {
  return is_fn(type) ? type + 2 + strspn(type + 2, " ") : type;
}

/* [A, n: Dim] */
static void add_params(StrBuf *out, const Params *params) {
  for (int i = 0; i < params->count; i++)
    strbuf_addf(out, "%s%.*s%s", i ? ", " : "[", (int)params->at[i].len,
                params->at[i].name, params->at[i].dim ? ": Dim" : "");
  if (params->count) strbuf_add_char(out, ']');
}

/* `fn (List[A]) -> A` as `fn [A](List[A]) -> A`; a type that is no function's
 * as the result of one.  What was typed begins the second line, for that is the
 * first one of which a message tells (read_wanted); where the parameters stand
 * between `fn` and the rest, blanks take the place of `fn` there. */
static void add_wanted(StrBuf *out, const char *type, const Params *params) {
  const char *rest = behind_fn(type);
  bool inside = is_fn(type) && *rest != '[' && params->count;
  if (inside || !is_fn(type)) strbuf_add(out, "fn ");
  if (inside || !is_fn(type)) add_params(out, params);
  strbuf_add(out, is_fn(type) ? "\n" : "() ->\n");
  if (inside) strbuf_add_repeat(out, ' ', (size_t)(rest - type));
  strbuf_add(out, inside ? rest : type);
  strbuf_add_char(out, '\n');
}

typedef struct Wanted {
  const char *text;
  Params params;
  const Type *type; /* a function's, with its parameters */
  bool result;      /* only its result is looked for */
} Wanted;

static void take_type(void *wanted, const Expr *e) {
  Wanted *w = wanted;
  if (e->type->kind == TY_FN && e->type->count == 1) w->type = e->type->args[0];
}

static bool read_wanted(Repl *r, const char *type, Wanted *out) {
  rly_program *p = r->host->program;
  Params params = {.count = 0};
  StrBuf text;
  strbuf_init(&text, p->ir->mem);
  find_params(p, type, &params);
  strbuf_add(&text, "fn (%_: ");
  add_wanted(&text, type, &params);
  strbuf_add(&text, ") { () }");
  *out = (Wanted){.text = type, .params = params, .result = !is_fn(type)};
  p->ir->lines_before = (uint32_t)-1; /* what was typed begins in line 1 */
  program_look_at(p, strbuf_text(&text), text.len, take_type, out);
  host_report(r->host);
  strbuf_done(&text);
  return out->type && out->type->kind == TY_FN;
}

/* --- The functions that fit ----------------------------------------------- */

typedef struct Candidate {
  const Global *global;
  TypeFit fit;
} Candidate;

typedef struct Finds {
  Repl *repl;
  Wanted wanted;
  VEC(Candidate) found;
  VEC(const Global *) of_kinds; /* to be tried */
} Finds;

static void consider(Finds *f, const Global *g) {
  TypeTable *types = f->repl->host->program->ir->types;
  const Type *t = g->type, *wanted = f->wanted.type;
  if (g->generic) VEC_PUSH(&f->of_kinds, g);
  if (!t || t->kind != TY_FN) return;
  if (f->wanted.result) {
    t = type_fn(types, 0, NULL, 0, NULL, t->result);
    /* A function that gives anything gives this, too, which tells nothing. */
    if (t->result->kind == TY_VAR) return;
  }
  TypeFit fit = types_fit(types, t, wanted);
  if (fit != FIT_NOT) VEC_PUSH(&f->found, ((Candidate){g, fit}));
}

static void consider_scope(Finds *f, const PtrMap *names) {
  for (size_t i = 0; i < names->cap; i++)
    if (names->slots[i].key && names->slots[i].value)
      consider(f, names->slots[i].value);
}

/* A place of the type that is wanted, where the function stands.  A parameter
 * binds each dimension, which is then any:
 *
 *   fn [n: Dim](%d0: Tensor[(n), int8]) {
 *     let %f: fn (Tensor[(n), float32]) -> float32 = @name;
 *     ()
 *   }                                                                        */
static void add_trial(StrBuf *out, const Wanted *w, const Global *g) {
  const char *rest = behind_fn(w->text);
  size_t bracket = *rest == '[' && !w->result ? strcspn(rest, "]") + 1 : 0;
  strbuf_add(out, "fn ");
  if (bracket) strbuf_add_len(out, rest, bracket);
  else add_params(out, &w->params);
  strbuf_add_char(out, '(');
  for (int i = 0, dims = 0; i < w->params.count; i++) {
    if (!w->params.at[i].dim) continue;
    strbuf_addf(out, "%s%%d%d: Tensor[(%.*s), int8]", dims ? ", " : "", dims,
                (int)w->params.at[i].len, w->params.at[i].name);
    dims++;
  }
  strbuf_add(out, ") { let %f: fn ");
  if (w->result) {
    for (int i = 0; i < g->scheme->arg_count; i++)
      strbuf_add(out, i ? ", _" : "(_");
    strbuf_add(out, g->scheme->arg_count ? ") -> " : "() -> ");
  }
  strbuf_addf(out, "%s = @%s; () }", rest + bracket, g->name->text);
}

static void ignore(void *data, const Expr *e) { (void)data, (void)e; }

/* One of the function's types fits if the checker takes it there. */
static void try_kinds(Finds *f, const Global *g) {
  rly_program *p = f->repl->host->program;
  StrBuf text;
  bool counts =
      f->wanted.result || g->scheme->arg_count == f->wanted.type->count;
  if (!counts || scope_global(&p->ir->user, g->name) != g) return;
  strbuf_init(&text, p->ir->mem);
  add_trial(&text, &f->wanted, g);
  if (program_look_at(p, strbuf_text(&text), text.len, ignore, NULL) == RLY_OK)
    VEC_PUSH(&f->found, ((Candidate){g, FIT_MORE}));
  rly_diagnostics_clear(f->repl->host->cx);
  strbuf_done(&text);
}

/* Checking a text that names a function of the library links it. */
static void link_function(void *finds, const DefinitionText *d) {
  Finds *f = finds;
  rly_program *p = f->repl->host->program;
  char name[128];
  int n = snprintf(name, sizeof name, "%s%s", d->sigil, d->name);
  if (*d->sigil != '@' || n >= (int)sizeof name) return;
  rly_text_free(p->cx, rly_program_type_of(p, name, (size_t)n));
}

static int by_fit(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  if (x->fit != y->fit) return x->fit > y->fit ? -1 : 1;
  if (x->global->library != y->global->library)
    return x->global->library - y->global->library;
  return strcmp(x->global->name->text, y->global->name->text);
}

static void say_matches(Repl *r, Finds *f) {
  static const char *const heads[] = {
      [FIT_PARTLY] = "of types that can be made to fit:\n",
      [FIT_MORE] = "more general:\n",
      [FIT_SAME] = "",
  };
  StrBuf out;
  TypeFit last = FIT_SAME;
  strbuf_init(&out, r->host->program->ir->mem);
  for (size_t i = 0; i < f->found.len && i < SHOWN_MOST; i++) {
    const Candidate *m = &f->found.data[i];
    if (m->fit != last) strbuf_add(&out, heads[m->fit]);
    last = m->fit;
    strbuf_addf(&out, "@%s : ", m->global->name->text);
    global_type_print(r->host->program->ir, m->global, &out);
    strbuf_add_char(&out, '\n');
  }
  if (f->found.len > SHOWN_MOST)
    strbuf_addf(&out, "... and %zu more\n", f->found.len - SHOWN_MOST);
  host_write(r->host, strbuf_text(&out), out.len);
  strbuf_done(&out);
}

void find_run(Repl *r, const char *type) {
  rly_program *p = r->host->program;
  Finds f = {.repl = r};
  if (!read_wanted(r, type, &f.wanted)) return;
  VEC_INIT(&f.found, p->ir->mem);
  VEC_INIT(&f.of_kinds, p->ir->mem);
  library_each_definition(p, false, link_function, &f);
  rly_diagnostics_clear(r->host->cx);
  consider_scope(&f, &p->ir->user.globals);
  consider_scope(&f, &p->ir->library.globals);
  for (size_t i = 0; i < f.of_kinds.len; i++) try_kinds(&f, f.of_kinds.data[i]);
  if (f.found.len)
    qsort(f.found.data, f.found.len, sizeof *f.found.data, by_fit);
  else fputs("no function has such a type\n", stderr);
  say_matches(r, &f);
  VEC_DONE(&f.found);
  VEC_DONE(&f.of_kinds);
}
