/* The prompt's commands that show what a name stands for: :type, :kind,
 * :effects, :info, :bytecode, :apropos.
 *
 * They look at the program and evaluate nothing.  The library's definitions are
 * linked only once a text mentions them, so a name is looked up in two steps: a
 * small text that mentions it is checked (reach, reach_adt), whose mistakes
 * nobody sees; then the scope is asked. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/inside.h"
#include "repl/repl.h"

/* --- Names -------------------------------------------------------------- */

/* The first character says which scope; a name without one is no global's. */
static const Global *find_global(const Program *p, const char *name) {
  const Name *bare = name_of(p->names, name + 1);
  if (*name == '%') return scope_local(&p->user, bare);
  return *name == '@' ? scope_global(&p->user, bare) : NULL;
}

/* Links a name of the library by checking a text that mentions it.  A `%x` is
 * always the user's own, so it is in scope or nowhere. */
static void reach(Repl *r, const char *name) {
  rly_program *p = r->host->program;
  char *text = *name == '@' ? rly_program_type_of(p, name, strlen(name)) : NULL;
  rly_text_free(r->host->cx, text);
  rly_diagnostics_clear(r->host->cx);
}

static const Global *global_of(Repl *r, const char *name) {
  const Program *p = r->host->program->ir;
  reach(r, name);
  return find_global(p, name);
}

/* Takes the text. */
static void put_text(Repl *r, StrBuf *out) {
  host_write(r->host, strbuf_text(out), out->len);
  strbuf_done(out);
}

/* --- :type, :effects ---------------------------------------------------- */

static void say_type_of_global(Repl *r, const Global *g) {
  const Program *p = r->host->program->ir;
  StrBuf out;
  strbuf_init(&out, p->mem);
  global_type_print(p, g, &out);
  strbuf_add_char(&out, '\n');
  put_text(r, &out);
}

/* As an expression, the name of an operator, or of a function whose shapes the
 * call decides, has no type.  What is declared is told then. */
static bool say_declared_type(Repl *r, const char *name) {
  const Global *g = find_global(r->host->program->ir, name);
  bool dyn;
  OpId op = op_find(name, &dyn);
  if (!g && op == OP_COUNT) return false;
  if (g) say_type_of_global(r, g);
  else operator_put_type(stdout, op_info((int)op));
  rly_diagnostics_clear(r->host->cx);
  return true;
}

void inspect_type(Repl *r, const char *expr) {
  Host *h = r->host;
  char *text = rly_program_type_of(h->program, expr, strlen(expr));
  if (!text && say_declared_type(r, expr)) return;
  host_report(h);
  if (text) repl_say(r, "%s\n", text);
  rly_text_free(h->cx, text);
}

/* Prints the effects of evaluating an expression and, if its value is a
 * function, the effects of calling it.  The effects of a name itself are none,
 * so for a name of a function only the call is worth telling. */
static void say_effects(void *repl, const Expr *e) {
  Repl *r = repl;
  const Program *p = r->host->program->ir;
  bool is_name = e->kind == EX_GLOBAL && e->type->kind == TY_FN;
  StrBuf out;
  strbuf_init(&out, p->mem);
  if (is_name) strbuf_add(&out, "a call: ");
  effects_print(&out, is_name ? e->g.global->effects : expr_effects(p, e));
  strbuf_add_char(&out, '\n');
  put_text(r, &out);
}

void inspect_effects(Repl *r, const char *expr) {
  program_look_at(r->host->program, expr, strlen(expr), say_effects, r);
  host_report(r->host);
}

/* --- :info -------------------------------------------------------------- */

static void add_place(const Program *p, StrBuf *out, Span span) {
  Place at = sources_place(p->sources, span);
  if (at.file)
    strbuf_addf(out, "  defined at %s:%u:%u\n", at.file->path, at.line,
                at.column);
}

/* Prints the facts of a tensor that the session holds.  A definition is a
 * function, and what a param is bound to belongs to the program: neither has a
 * value in the session.  `v` is a handle on the stack that borrows the value;
 * it is never freed. */
static void add_value_facts(Repl *r, StrBuf *out, const Global *g) {
  rly_value v = {.session = r->session, .type = g->type};
  Display d = repl_display(r);
  if (g->kind == GLOBAL_DEF || g->kind == GLOBAL_PARAM) return;
  if (session_value(r->session->vm, g, &v.value)) display_facts(&d, out, &v);
}

static void add_global(Repl *r, StrBuf *out, const char *name,
                       const Global *g) {
  const Program *p = r->host->program->ir;
  strbuf_addf(out, "%s : ", name);
  global_type_print(p, g, out);
  strbuf_add_char(out, '\n');
  if (g->scheme || g->type->kind == TY_FN) {
    strbuf_add(out, "  effects: ");
    effects_print(out, g->effects);
    strbuf_add_char(out, '\n');
  }
  add_value_facts(r, out, g);
  /* It does not fit the new definition of `stale`, so it goes on with the
   * earlier one (RLY_RECHECK). */
  if (g->stale)
    strbuf_addf(out, "  stale: made with an earlier `%s`\n", g->stale);
  add_place(p, out, g->span);
}

static void add_adt(const Program *p, StrBuf *out, const Adt *adt) {
  strbuf_addf(out, "type %s", adt->name->text);
  for (int i = 0; i < adt->param_count; i++) {
    const char *kind = kind_info[adt->params[i]->kind].word;
    strbuf_addf(out, "%s%s%s%s", i ? ", " : "[", adt->params[i]->name->text,
                *kind ? ": " : "", kind);
  }
  strbuf_add(out, adt->param_count ? "] {\n" : " {\n");
  for (int i = 0; i < adt->ctor_count; i++) {
    strbuf_addf(out, "  %s", adt->ctors[i].name->text);
    for (int k = 0; k < adt->ctors[i].field_count; k++) {
      const FieldName *labels = adt->ctors[i].labels;
      strbuf_add(out, k ? ", " : "(");
      if (labels) strbuf_addf(out, "%s: ", labels[k].name->text);
      const Type *field = adt->is_generic ? NULL : adt->ctors[i].fields[k];
      if (field) type_print(p->types, out, field, TYPE_TEXT_MOST);
      else type_expr_print(out, adt->decl->ctors[i].fields[k]);
    }
    strbuf_add(out, adt->ctors[i].field_count ? "),\n" : ",\n");
  }
  strbuf_add(out, "}\n");
  add_place(p, out, adt->span);
}

/* Links a type of the library, or the type of a constructor, by mentioning it
 * with `_` for each parameter.  How many parameters the type has is not known
 * yet, so every number up to three is tried.  A constructor is mentioned as an
 * expression. */
static void reach_adt(Repl *r, const char *name) {
  static const char *const uses[] = {"%s", "fn (%%_: %s) { () }",
                                     "fn (%%_: %s[_]) { () }",
                                     "fn (%%_: %s[_, _]) { () }"};
  for (int i = 0; i < 4; i++) {
    char text[256];
    int n = snprintf(text, sizeof text, uses[i], name);
    if (n >= (int)sizeof text) return;
    rly_text_free(r->host->cx,
                  rly_program_type_of(r->host->program, text, (size_t)n));
    rly_diagnostics_clear(r->host->cx);
  }
}

/* Only letters, digits and `_` go into the text that is checked: a user's word
 * must not become syntax. */
static bool is_word(const char *name) {
  return *name && !name[strspn(name,
                               "abcdefghijklmnopqrstuvwxyz_0123456789"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

static const Adt *find_adt(Repl *r, const char *name) {
  const Program *p = r->host->program->ir;
  const Name *n = name_of(p->names, name);
  if (!is_word(name)) return NULL;
  if (!scope_adt(&p->user, n)) reach_adt(r, name);
  const Ctor *c = scope_ctor(&p->user, n);
  return c ? c->adt : scope_adt(&p->user, n);
}

/* A type that needs arguments has a kind that is a function.  Tensor and ref
 * are of the language, the others are declared. */
static bool say_constructor_kind(Repl *r, const char *name) {
  if (!strcmp(name, "Tensor")) {
    repl_say(r, "Tensor : fn (Shape, DType) -> Type\n");
    return true;
  }
  if (!strcmp(name, "ref")) {
    repl_say(r, "ref : fn (Type) -> Type\n");
    return true;
  }
  const Adt *adt = find_adt(r, name);
  if (!adt || strcmp(adt->name->text, name)) return false;
  repl_say(r, "%s : %s", name, adt->param_count ? "fn (" : "");
  for (int i = 0; i < adt->param_count; i++) {
    const char *kind = kind_info[adt->params[i]->kind].word;
    repl_say(r, "%s%s", i ? ", " : "", *kind ? kind : "Type");
  }
  repl_say(r, adt->param_count ? ") -> Type\n" : "Type\n");
  return true;
}

/* Accepts anything that may be written as the type of a parameter.  A type that
 * needs no arguments is checked as a parameter's annotation, which accepts
 * every type and evaluates nothing; its mistakes are then told with their
 * place, on a line of its own. */
void inspect_kind(Repl *r, const char *type) {
  rly_program *p = r->host->program;
  size_t len = strlen(type) + 24;
  char *text = malloc(len), *shown = NULL;
  if (!text || say_constructor_kind(r, type)) {
    free(text);
    return;
  }
  snprintf(text, len, "fn (%%_:\n%s\n) { () }", type);
  p->ir->lines_before = (uint32_t)-1; /* what was typed begins in line 1 */
  shown = rly_program_type_of(p, text, strlen(text));
  host_report(r->host);
  if (shown) repl_say(r, "%s : Type\n", type);
  rly_text_free(r->host->cx, shown);
  free(text);
}

/* Scopes are asked before operators: a name with a sigil is never an
 * operator's, and a type hides none. */
void inspect_info(Repl *r, const char *name) {
  const Program *p = r->host->program->ir;
  const Global *g = global_of(r, name);
  const Adt *adt = g || *name == '@' || *name == '%' ? NULL : find_adt(r, name);
  bool dyn;
  if (!g && !adt && op_find(name, &dyn) != OP_COUNT) {
    ops_explain(name);
    return;
  }
  StrBuf out;
  strbuf_init(&out, p->mem);
  if (g) add_global(r, &out, name, g);
  else if (adt) add_adt(p, &out, adt);
  else fprintf(stderr, "nothing is called `%s` here\n", name);
  put_text(r, &out);
}

/* --- :bytecode ---------------------------------------------------------- */

void inspect_bytecode(Repl *r, const char *name) {
  const Global *g = global_of(r, name);
  if (!g) {
    fprintf(stderr, "no function is called `%s` here\n", name);
    return;
  }
  StrBuf out;
  strbuf_init(&out, r->host->program->ir->mem);
  code_dump(r->host->program->code, &out, g);
  if (!out.len)
    fprintf(stderr,
            g->scheme || g->type->kind == TY_FN
                ? "`%s` has instructions only for the types of a call: ask for "
                  "a function that calls it\n"
                : "`%s` is no function\n",
            name);
  put_text(r, &out);
}

/* --- :apropos ----------------------------------------------------------- */

typedef struct Search {
  const char *word;
  int found;
} Search;

/* Looks for the word anywhere in the text, whatever the case of its letters. */
static bool mentions(const char *text, const char *word) {
  size_t n = strlen(word);
  for (; text && *text; text++)
    if (!strncasecmp(text, word, n)) return true;
  return false;
}

static void show_name(void *data, const char *name) {
  Search *s = data;
  if (!mentions(name, s->word)) return;
  printf("%s\n", name);
  s->found++;
}

/* Operators are searched with their sentence and their aliases, definitions by
 * name only.  `show_name` is called for names that are in scope or that the
 * library would link. */
void inspect_apropos(Repl *r, const char *word) {
  Search s = {.word = word};
  for (int i = 0; i < OP_COUNT && *word; i++) {
    const OpInfo *op = op_info(i);
    if (!mentions(op->name, word) && !mentions(op->doc, word) &&
        !mentions(op->aliases, word))
      continue;
    int n = printf("%s", op->name);
    printf("%*s%s\n", n < 26 ? 26 - n : 1, "", op->doc);
    s.found++;
  }
  if (*word) rly_program_each_name(r->host->program, show_name, &s);
  if (!s.found) fprintf(stderr, "nothing mentions `%s`\n", word);
}
