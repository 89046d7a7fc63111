/* The prompt's commands that show what a name stands for. */
#include <string.h>
#include <strings.h>

#include "ir/print.h"
#include "lib/handles.h"
#include "ops/ops.h"
#include "repl/repl.h"

/* --- Names -------------------------------------------------------------- */

static const Global *find_global(const Program *p, const char *name) {
  const Name *bare = name_of(p->names, name + 1);
  if (*name == '%') return scope_local(&p->user, bare);
  return *name == '@' ? scope_global(&p->user, bare) : NULL;
}

/* Links a library's name by checking a text that mentions it. */
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

static void put_text(Repl *r, StrBuf *out) {
  host_write(r->host, strbuf_text(out), out->len);
  strbuf_done(out);
}

/* --- :info -------------------------------------------------------------- */

static void add_place(const Program *p, StrBuf *out, Span span) {
  Place at = sources_place(p->sources, span);
  if (at.file)
    strbuf_addf(out, "  defined at %s:%u:%u\n", at.file->path, at.line,
                at.column);
}

static void add_global(const Program *p, StrBuf *out, const char *name,
                       const Global *g) {
  strbuf_addf(out, "%s : ", name);
  type_print(p->types, out, g->type, 0);
  strbuf_add_char(out, '\n');
  if (g->type->kind == TY_FN) {
    strbuf_add(out, "  effects: ");
    effects_print(out, g->effects);
    strbuf_add_char(out, '\n');
  }
  add_place(p, out, g->span);
}

static void add_adt(const Program *p, StrBuf *out, const Adt *adt) {
  strbuf_addf(out, "type %s", adt->name->text);
  for (int i = 0; i < adt->param_count; i++)
    strbuf_addf(out, "%s%s", i ? ", " : "[", adt->params[i]->name->text);
  strbuf_add(out, adt->param_count ? "] {\n" : " {\n");
  for (int i = 0; i < adt->ctor_count; i++) {
    strbuf_addf(out, "  %s", adt->ctors[i].name->text);
    for (int k = 0; k < adt->ctors[i].field_count; k++) {
      strbuf_add(out, k ? ", " : "(");
      type_print(p->types, out, adt->ctors[i].fields[k], 0);
    }
    strbuf_add(out, adt->ctors[i].field_count ? "),\n" : ",\n");
  }
  strbuf_add(out, "}\n");
  add_place(p, out, adt->span);
}

static const Adt *find_adt(Repl *r, const char *name) {
  const Program *p = r->host->program->ir;
  const Name *n = name_of(p->names, name);
  rly_text_free(r->host->cx, rly_program_type_of(r->host->program, name,
                                                 strlen(name)));
  rly_diagnostics_clear(r->host->cx);
  const Ctor *c = scope_ctor(&p->user, n);
  return c ? c->adt : scope_adt(&p->user, n);
}

void inspect_info(Repl *r, const char *name) {
  const Program *p = r->host->program->ir;
  const Global *g = global_of(r, name);
  const Adt *adt = g || *name == '@' || *name == '%' ? NULL
                                                      : find_adt(r, name);
  bool dyn;
  if (!g && !adt && op_find(name, &dyn) != OP_COUNT) {
    ops_explain(name);
    return;
  }
  StrBuf out;
  strbuf_init(&out, p->mem);
  if (g) add_global(p, &out, name, g);
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
  put_text(r, &out);
}

/* --- :apropos ----------------------------------------------------------- */

typedef struct Search {
  const char *word;
  int found;
} Search;

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
