/* rly ops: the operator table as documentation, for a terminal and as the page
 * docs/operators.md, whose examples `rly test` runs.  What is said of one
 * operator is made in lib/op_text.c. */
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"

/* `softmax` is nn.softmax: of the operators that end so the one of the shortest
 * name.  So people find an operator by the name it has in other libraries. */
static const OpInfo *operator_ending_in(const char *name) {
  const OpInfo *found = NULL;
  for (int i = 0; i < OP_COUNT; i++) {
    const OpInfo *op = op_info(i);
    if (strcmp(op_last_part(op->name), name)) continue;
    if (!found || strlen(op->name) < strlen(found->name)) found = op;
  }
  return found;
}

/* In order: one that Relay has and rly refuses, with the reason; a definition's
 * name, which is no operator's; a misspelt one. */
static void report_unknown(const char *name) {
  const char *why = op_refused(name);
  if (why) {
    complain("rly: Relay's operator `%s` is not here: %s", name, why);
    return;
  }
  Suggestion near = suggestion_for(name);
  for (int i = 0; i < OP_COUNT; i++) suggestion_offer(&near, op_info(i)->name);
  if (*name == '@' || *name == '%')
    complain("rly: no operator `%s`; at the prompt, :info tells of definitions",
             name);
  else if (near.best)
    complain("rly: no operator `%s`; did you mean `%s`?", name, near.best);
  else complain("rly: no operator `%s`", name);
}

const OpInfo *ops_find(const char *name) {
  bool dyn;
  OpId id = op_find(name, &dyn);
  return id == OP_COUNT ? operator_ending_in(name) : op_info(id);
}

/* NULL after a report. */
static const OpInfo *operator_of(const char *name) {
  const OpInfo *op = ops_find(name);
  if (!op) report_unknown(name);
  return op;
}

bool ops_explain(const char *name) {
  const OpInfo *op = operator_of(name);
  if (op) operator_put(stdout, op);
  return op != NULL;
}

static bool begins(const char *name, const char *part) {
  return !strncmp(name, part, strlen(part));
}

static bool has(const char *name, const char *part) {
  return strstr(name, part) != NULL;
}

/* Lists the operators whose names stand in that relation to `part`; how many
 * they are. */
static int list_where(bool (*fits)(const char *name, const char *part),
                      const char *part) {
  int count = 0;
  for (int i = 0; i < OP_COUNT; i++) {
    const OpInfo *op = op_info(i);
    if (!fits(op->name, part)) continue;
    int n = printf("%s", op->name);
    printf("%*s%s\n", n < 26 ? 26 - n : 1, "", op->doc);
    count++;
  }
  return count;
}

bool ops_list(const char *part) {
  if (list_where(begins, part) || list_where(has, part)) return true;
  complain("rly: no operator's name has `%s` in it", part);
  return false;
}

/* --- The page ------------------------------------------------------------ */

static const char page_head[] =
    "# Operators\n"
    "\n"
    "`make docs` writes this page from the table of operators, `ops/ops.def`;\n"
    "`rly ops NAME` and, at the prompt, `:doc NAME` show a part of it.\n"
    "\n"
    "A signature names the operands, then the attributes with their defaults;\n"
    "`x?` may be left out, `x...` is a tuple. An attribute that is a number,\n"
    "a bool or a list of them may be an expression, and so may an item of a\n"
    "list; strings and dtypes stand in the text. In types, `d...` is any\n"
    "number of dimensions, `a ^ b` what two shapes broadcast to, and `t` any "
    "dtype,\n"
    "or what is said of it: integer is int4 to int64 and uint4 to uint64;\n"
    "numeric all but bool; floating-point one of";
static const char page_head_end[] =
    ".\n"
    "`T` and `R` are any types, `T...` those of any number of values; `T'` is\n"
    "that of an adjoint or a tangent: `()` of a function or a cell, else "
    "`T`.\n";
/* Entries in the order of the table, which is by topic. */
static void print_page(void) {
  printf("%s", page_head);
  const char *comma = "\n";
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (!dtype_is_float((DType)i)) continue;
    printf("%s%s", comma, dtype_name((DType)i));
    comma = ", ";
  }
  fputs(page_head_end, stdout);
  for (int i = 0; i < OP_COUNT; i++) {
    printf("\n## %s\n\n", op_info(i)->name);
    operator_put_entry(stdout, op_info(i));
  }
}

static int print_json(const Cli *cli) {
  const OpInfo *op = NULL;
  if (cli->words.count && !(op = operator_of(cli->words.items[0])))
    return EXIT_REFUSED;
  if (op) ops_print_json((int)op_id(op), (int)op_id(op) + 1);
  else ops_print_json(0, OP_COUNT);
  return 0;
}

/* --- Operators of a text, and of plugins ---------------------------------- */

typedef void PutOwn(Host *h, const DefinitionText *d, const char *name,
                    StrBuf *out);

static void put_own(Host *h, const DefinitionText *d, const char *name,
                    StrBuf *out) {
  definition_print_head(out, d);
  strbuf_add_char(out, '\n');
  doc_print(out, d, "  ");
  program_print_rules(h->program, out, name, "  ");
}

/* `, "key": "..."`, without the end of the last line; empties `text`. */
static void add_lines(StrBuf *out, const char *key, StrBuf *text) {
  if (text->len && text->data[text->len - 1] == '\n') text->len--;
  strbuf_addf(out, ", \"%s\": \"", key);
  strbuf_add_escaped(out, strbuf_text(text), text->len);
  strbuf_add_char(out, '"');
  VEC_CLEAR(text);
}

/* An object to a line; its texts are those that stand without --json. */
static void put_own_json(Host *h, const DefinitionText *d, const char *name,
                         StrBuf *out) {
  StrBuf text;
  strbuf_init(&text, out->mem);
  strbuf_addf(out, "%s{\"name\": \"%s\"", out->len > 1 ? ",\n" : "", name);
  definition_print_head(&text, d);
  add_lines(out, "definition", &text);
  doc_print(&text, d, "");
  add_lines(out, "doc", &text);
  program_print_rules(h->program, &text, name, "");
  add_lines(out, "rules", &text);
  strbuf_add_char(out, '}');
  strbuf_done(&text);
}

static bool is_file(const char *word) {
  size_t n = strlen(word);
  return n > 4 && !strcmp(word + n - 4, ".rly");
}

/* Adds the unit's operators, or where `name` is not NULL the one of that name;
 * gives how many were added. */
static int put_own_of(Host *h, const Unit *u, const char *name, StrBuf *out) {
  PutOwn *put = h->cli->json ? put_own_json : put_own;
  int n = 0;
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    if (item->kind != ITEM_DEF || !item->own) continue;
    if (name && strcmp(name, item->name->text)) continue;
    DefinitionText d;
    const char *own = arena_printf(&h->program->arena, "@%s", item->name->text);
    if (own && program_definition(h->program, own, &d)) put(h, &d, own, out);
    n++;
  }
  return n;
}

/* Lists the operators of a file, if the first word is one; else those of
 * --plugin, or the one that the word names. */
static int list_own(Host *h) {
  const Cli *cli = h->cli;
  const char *word = cli->words.count ? cli->words.items[0] : NULL;
  bool file = word && is_file(word);
  int found = 0;
  StrBuf out;
  strbuf_init(&out, h->program->mem);
  if (cli->json) strbuf_add_char(&out, '[');
  if (file) {
    Unit *u = program_parse_file(h->program, word);
    found = u && unit_check(h->program->ir, u);
    if (found) put_own_of(h, u, NULL, &out);
  } else {
    for (Unit *u = h->program->ir->units; u; u = u->next)
      if (!u->source->library)
        found += put_own_of(h, u, word ? word + (*word == '@') : NULL, &out);
    if (!found && word) complain("rly: no plugin has `%s`", word);
  }
  if (cli->json) strbuf_add(&out, "]\n");
  if (found && !mem_exhausted(out.mem))
    host_write(h, strbuf_text(&out), out.len);
  strbuf_done(&out);
  host_report(h);
  return found ? 0 : EXIT_REFUSED;
}

int command_ops(const Cli *cli) {
  if (cli->plugin.count || (cli->words.count && is_file(cli->words.items[0])))
    return host_run(cli, list_own);
  if (cli->json) return print_json(cli);
  if (cli->words.count) return !ops_explain(cli->words.items[0]);
  if (cli->markdown) print_page();
  else ops_list("");
  return 0;
}
