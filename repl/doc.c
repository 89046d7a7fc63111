/* What is written about a name: :doc, :source, :names and :explain at the
 * prompt, and rly doc, which prints the library's doc comments as a list or as
 * the page docs/library.md.
 *
 * A name is an operator, a definition or a type.  Operators are documented by
 * their rows (ops.c), definitions by the lines of `///` above them (lib/doc.h);
 * both answer to `:doc`.  The texts are those of the sources: nothing is kept
 * twice, and a definition that was entered a moment ago has its doc comment at
 * once.
 *
 * Texts are built whole and then written (put), so that an interrupt or a lack
 * of memory leaves no half of one. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/repl.h"

/* --- Names --------------------------------------------------------------- */

/* A name as it was typed, or the function of that name whose `@` was left out.
 * People write `:doc map` as readily as `:doc @map`; an operator of that name
 * goes before (explain_name). */
static bool find_definition(rly_program *p, const char *name,
                            DefinitionText *out) {
  char global[256];
  if (program_definition(p, name, out)) return true;
  int n = snprintf(global, sizeof global, "@%s", name);
  return *name != '@' && *name != '%' && n < (int)sizeof global &&
         program_definition(p, global, out);
}

static void say_unknown(rly_program *p, const char *name);

/* Writes the text and frees it. */
static void put(Host *h, StrBuf *out) {
  host_write(h, strbuf_text(out), out->len);
  strbuf_done(out);
}

/* Is the definition shown by its type instead of its text?  A value's text may
 * be long. */
static bool is_value(const DefinitionText *d) {
  return *d->sigil == '%' || !strncmp(d->text, "let", 3);
}

/* Errors while the type is found are thrown away: the user asked for the doc
 * comment, not for errors. */
static void add_head(rly_program *p, StrBuf *out, const DefinitionText *d) {
  char name[256];
  snprintf(name, sizeof name, "%s%s", d->sigil, d->name);
  char *type = is_value(d) ? rly_program_type_of(p, name, strlen(name)) : NULL;
  if (type) strbuf_addf(out, "%s : %s", name, type);
  else definition_print_head(out, d);
  strbuf_add_char(out, '\n');
  rly_text_free(p->cx, type);
  rly_diagnostics_clear(p->cx);
}

/* A definition without a doc comment says how it would get one. */
static void explain_definition(Host *h, const DefinitionText *d) {
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  add_head(h->program, &out, d);
  doc_print(&out, d, "  ");
  if (!d->doc_len)
    strbuf_addf(&out,
                "  no doc comment: lines of `///` above the definition, "
                "%s:%u, are one\n",
                d->path, d->line);
  if (*d->sigil == '@') {
    char name[256];
    snprintf(name, sizeof name, "@%s", d->name);
    program_print_rules(h->program, &out, name, "  ");
  }
  put(h, &out);
}

/* The row, then what the program's own rules do with it. */
static void explain_operator(Host *h, const OpInfo *op) {
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  operator_put(stdout, op);
  program_print_rules(h->program, &out, op->name, "  ");
  put(h, &out);
}

static bool explain_name(Host *h, const char *name) {
  DefinitionText d;
  const OpInfo *op = *name == '@' || *name == '%' ? NULL : ops_find(name);
  if (op) {
    explain_operator(h, op);
    return true;
  }
  if (!find_definition(h->program, name, &d)) {
    say_unknown(h->program, name);
    return false;
  }
  explain_definition(h, &d);
  return true;
}

typedef struct Nearest {
  Suggestion near;
  char best[256]; /* a copy: an offered name lives as long as the offer */
} Nearest;

/* Copies a name exactly when it becomes the nearest. */
static void offer_name(void *nearest, const char *name) {
  Nearest *n = nearest;
  size_t before = n->near.distance;
  suggestion_offer(&n->near, name);
  if (n->near.distance < before) snprintf(n->best, sizeof n->best, "%s", name);
}

/* Every name in scope is a candidate, the library's included. */
static void say_unknown(rly_program *p, const char *name) {
  Nearest n = {.near = suggestion_for(name)};
  rly_program_each_name(p, offer_name, &n);
  if (*n.best)
    complain("nothing is called `%s` here; did you mean `%s`?", name, n.best);
  else complain("nothing is called `%s` here", name);
}

/* --- Commands ------------------------------------------------------------ */

void doc_run(Repl *r, const char *name) { explain_name(r->host, name); }

/* Prints the definition as a text that could be entered again, with its place
 * as a comment. */
void doc_source(Repl *r, const char *name) {
  DefinitionText d;
  if (!find_definition(r->host->program, name, &d)) {
    if (ops_find(name))
      fprintf(stderr, "`%s` is an operator; :doc %s says what it does\n", name,
              name);
    else say_unknown(r->host->program, name);
    return;
  }
  StrBuf out;
  strbuf_init(&out, r->host->program->ir->mem);
  strbuf_addf(&out, "// %s:%u\n", d.path, d.line);
  strbuf_add_len(&out, d.doc, d.doc_len);
  strbuf_add_len(&out, d.text, d.len);
  strbuf_add_char(&out, '\n');
  put(r->host, &out);
}

/* --- :names -------------------------------------------------------------- */

typedef struct Listed {
  const char *sigil;
  const Name *name;
  const Global *global; /* NULL: a type */
} Listed;

typedef struct Listing {
  const char *pattern;
  VEC(Listed) names;
} Listing;

/* A pattern with `*`, `?` or `[` is the shell's; any other is a part.  `*`
 * matches with or without the sigil, so `:names f*` finds @f1. */
static bool matches(const char *pattern, const char *sigil, const char *name) {
  char text[256];
  int n = snprintf(text, sizeof text, "%s%s", sigil, name);
  if (n >= (int)sizeof text) return false;
  if (!strpbrk(pattern, "*?[")) return strstr(text, pattern) != NULL;
  return !fnmatch(pattern, text, 0) || !fnmatch(pattern, name, 0);
}

/* Did the prompt give the name to a result: %_1, %it?  Such names are shown
 * only when a pattern asks for them. */
static bool is_result(const Listed *x) {
  const char *name = x->name->text;
  return *x->sigil == '%' && (!strcmp(name, "it") ||
                              (*name == '_' && strspn(name + 1, "0123456789")));
}

/* Visits the user's scope: the newest definition of each name. */
static void list(Listing *l, const char *sigil, const PtrMap *map) {
  for (size_t i = 0; i < map->cap; i++) {
    const Name *name = map->slots[i].key;
    if (!name || !map->slots[i].value) continue;
    Listed x = {sigil, name, *sigil ? map->slots[i].value : NULL};
    bool shown =
        *l->pattern ? matches(l->pattern, sigil, name->text) : !is_result(&x);
    if (shown) VEC_PUSH(&l->names, x);
  }
}

/* Types first, as they have no sigil; then %, then @. */
static int by_name(const void *a, const void *b) {
  const Listed *x = a, *y = b;
  int order = strcmp(x->sigil, y->sigil);
  return order ? order : strcmp(x->name->text, y->name->text);
}

enum { TYPE_SHOWN = 2000 };

void doc_names(Repl *r, const char *pattern) {
  const Program *p = r->host->program->ir;
  Listing l = {.pattern = pattern};
  VEC_INIT(&l.names, p->mem);
  list(&l, "", &p->user.adts);
  list(&l, "%", &p->user.locals);
  list(&l, "@", &p->user.globals);
  if (l.names.len)
    qsort(l.names.data, l.names.len, sizeof *l.names.data, by_name);
  StrBuf out;
  strbuf_init(&out, p->mem);
  for (size_t i = 0; i < l.names.len; i++) {
    const Listed *x = &l.names.data[i];
    strbuf_addf(&out, "%s%s%s", x->global ? "" : "type ", x->sigil,
                x->name->text);
    if (x->global) strbuf_add(&out, " : ");
    if (x->global) type_print(p->types, &out, x->global->type, TYPE_SHOWN);
    strbuf_add_char(&out, '\n');
  }
  if (!l.names.len)
    fprintf(stderr,
            *pattern ? "nothing of yours is called `%s`\n"
                     : "nothing is defined yet\n",
            pattern);
  put(r->host, &out);
  VEC_DONE(&l.names);
}

/* --- :explain ------------------------------------------------------------ */

/* Explains a code; without one, the code of the last error that was shown. */
void doc_explain(Repl *r, const char *code) {
  if (*code) explain(code);
  else if (*r->host->last_code) explain(r->host->last_code);
  else fputs("there was no error yet; :explain CODE explains one\n", stderr);
}

/* --- rly doc ------------------------------------------------------------- */

/* Is the second of these letters a full stop, and no dot of `0 .. n`? */
static bool is_full_stop(const char *at) {
  return at[1] == '.' && !strchr(" .", at[0]) && strchr(" \n", at[2]);
}

/* The first sentence of a doc comment, up to its full stop.  A list or an empty
 * line ends it, too; a line break within it becomes a blank. */
static void add_sentence(Mem *mem, StrBuf *out, const DefinitionText *d) {
  StrBuf text;
  strbuf_init(&text, mem);
  doc_print(&text, d, "");
  const char *p = strbuf_text(&text), *end = p;
  while (*end && !(end > p && is_full_stop(end - 1)) &&
         strncmp(end, "\n\n", 2) && strncmp(end, "\n- ", 3))
    end++;
  for (; p < end; p++) strbuf_add_char(out, *p == '\n' ? ' ' : *p);
  strbuf_done(&text);
}

static void list_definition(void *host, const DefinitionText *d) {
  Host *h = host;
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  strbuf_addf(&out, "%s%s", d->sigil, d->name);
  strbuf_add_repeat(&out, ' ', out.len < 26 ? 26 - out.len : 1);
  add_sentence(h->program->ir->mem, &out, d);
  strbuf_add_char(&out, '\n');
  put(h, &out);
}

/* In Markdown examples are fenced, so that the page is a test.  Example lines
 * have four blanks in front, which the fence replaces. */
static void add_markdown(StrBuf *out, const char *doc) {
  bool code = false, gap = false;
  while (*doc) {
    size_t n = strcspn(doc, "\n");
    bool blank = !n, example = !strncmp(doc, "    ", 4);
    if (example != code && !blank) {
      strbuf_add(out, code ? "```\n" : "");
      strbuf_add(out, gap || example ? "\n" : "");
      strbuf_add(out, example ? "```rly\n" : "");
      code = example;
    } else if (gap && !blank) {
      strbuf_add_char(out, '\n');
    }
    strbuf_add_len(out, doc + (code ? 4 : 0), blank ? 0 : n - (code ? 4 : 0));
    if (!blank) strbuf_add_char(out, '\n');
    gap = blank;
    doc += n + (doc[n] == '\n');
  }
  if (code) strbuf_add(out, "```\n");
}

typedef struct Page {
  Host *h;
  const char *path; /* of the section at hand */
} Page;

/* A heading for each file of the library, when the first definition of it
 * comes. */
static void add_section(void *page, const DefinitionText *d) {
  Page *p = page;
  Mem *mem = p->h->program->ir->mem;
  StrBuf out, doc;
  strbuf_init(&out, mem);
  strbuf_init(&doc, mem);
  if (!p->path || strcmp(p->path, d->path))
    strbuf_addf(&out, "\n# %s\n", d->path);
  p->path = d->path;
  strbuf_addf(&out, "\n## %s%s\n\n", d->sigil, d->name);
  strbuf_add(&out, "```\n");
  definition_print_head(&out, d);
  strbuf_add(&out, "\n```\n\n");
  doc_print(&doc, d, "");
  add_markdown(&out, strbuf_text(&doc));
  strbuf_done(&doc);
  put(p->h, &out);
}

static const char page_head[] =
    "# The library\n"
    "\n"
    "`make docs` writes this page from the doc comments of `stdlib/`; `rly "
    "doc\n"
    "NAME` and, at the prompt, `:doc NAME` show a part of it. Tensor arrays\n"
    "exist for nine dtypes, of which the first is shown.\n";

/* Names are looked up one by one; an unknown one gives status 1 and does not
 * keep the others from being shown. */
static int doc(Host *h) {
  const TextList *names = &h->cli->words;
  Page page = {.h = h};
  if (h->cli->markdown && !names->count) {
    host_write(h, page_head, sizeof page_head - 1);
    library_each_definition(h->program, false, add_section, &page);
  } else if (!names->count) {
    library_each_definition(h->program, true, list_definition, h);
  }
  bool found = true;
  for (int i = 0; i < names->count; i++) {
    DefinitionText d;
    const char *name = names->items[i];
    if (!h->cli->markdown) found = explain_name(h, name) && found;
    else if (find_definition(h->program, name, &d)) add_section(&page, &d);
    else say_unknown(h->program, name), found = false;
  }
  return found ? 0 : EXIT_REFUSED;
}

int command_doc(const Cli *cli) { return host_run(cli, doc); }
