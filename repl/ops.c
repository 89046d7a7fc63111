/* rly ops: the operator table as documentation, for a terminal and as the page
 * docs/operators.md.
 *
 * The texts are those of ops/ops.def and ops/rules/; nothing about an operator
 * is written here.  `rly ops NAME`, `:doc NAME` and the page are three layouts
 * of the same facts (struct Style), so they cannot tell different things.  The
 * examples of the page are run by `rly test`. */
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/ops.h"

/* --- Signatures ---------------------------------------------------------- */

/* A default of integers, as an attribute is written. */
static void put_ints(FILE *out, const AttrSpec *a) {
  fputs("=[", out);
  for (int i = 0; i < a->count; i++)
    fprintf(out, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
  fputc(']', out);
}

static void put_reals(FILE *out, const AttrSpec *a) {
  fputs("=[", out);
  for (int i = 0; i < a->count; i++)
    fprintf(out, "%s%gf", i ? ", " : "", a->reals[i]);
  fputc(']', out);
}

/* A required attribute has no default; an optional one without a value is None.
 * Floats get the suffix `f` of the language's literals. */
void ops_put_default(FILE *out, const AttrSpec *a) {
  static const char *const bools[] = {"False", "True"};
  if (a->required) return;
  if (a->optional && !a->count && !a->integer && !a->text) {
    fputs("=None", out);
    return;
  }
  switch (a->type) {
    case AT_INT:
    case AT_INT_OR_INTS: fprintf(out, "=%lld", (long long)a->integer); return;
    case AT_FLOAT: fprintf(out, "=%gf", a->real); return;
    case AT_BOOL: fprintf(out, "=%s", bools[a->integer != 0]); return;
    case AT_STRING:
    case AT_DTYPE: fprintf(out, "=\"%s\"", a->text ? a->text : ""); return;
    case AT_INTS:
    case AT_LISTS: put_ints(out, a); return;
    case AT_FLOATS: put_reals(out, a); return;
    case AT_IGNORED: fputs("=None", out); return;
  }
}

void ops_put_signature(FILE *out, const OpInfo *op) {
  fprintf(out, "%s(", op->name);
  int n = op_arg_count(op);
  for (int i = 0; i < n; i++) {
    OpArg arg = op_arg(op, i);
    fprintf(out, "%s%.*s%s", i ? ", " : "", arg.len, arg.name,
            arg.tuple || (op->many && i == n - 1) ? "..."
            : arg.optional                        ? "?"
                                                  : "");
  }
  for (int i = 0; i < op_attr_count(op); i++) {
    fprintf(out, "%s%s", n || i ? ", " : "", attr_name_text(op->attrs[i].name));
    ops_put_default(out, &op->attrs[i]);
  }
  if (op->fills) fputs(", values...", out);
  fputc(')', out);
}

static const char *const kinds[] = {
    [AT_INT] = "integer",
    [AT_FLOAT] = "float",
    [AT_BOOL] = "bool",
    [AT_STRING] = "string",
    [AT_DTYPE] = "dtype",
    [AT_INTS] = "integers",
    [AT_INT_OR_INTS] = "integer or integers",
    [AT_LISTS] = "lists of integers",
    [AT_FLOATS] = "floats",
    [AT_IGNORED] = "not read",
};

/* An attribute with a closed set of words shows them; the words of a row are
 * separated by `|`, and an empty one, which stands for leaving the attribute
 * out, is passed over. */
void ops_put_kind(FILE *out, const AttrSpec *a) {
  if (!a->words) fputs(kinds[a->type], out);
  for (const char *p = a->words; p && *p;) {
    size_t len = strcspn(p, "|");
    fwrite(p, 1, len, out);
    if (len > 0 && p[len]) fputs(" | ", out);
    p += len + (p[len] == '|');
  }
  if (a->optional) fputs(" or None", out);
}

/* --- Texts --------------------------------------------------------------- */

enum { COLUMNS = 79 };

/* Prints the words of `text` from this column on, with `indent` before each
 * further line.  Words are not cut, so a word longer than the line stands alone
 * on one. */
static void print_wrapped(int column, const char *text, const char *indent) {
  for (bool first = true; *text; first = false) {
    int n = (int)strcspn(text, " ");
    if (!first && column + 1 + n > COLUMNS) {
      column = printf("\n%s", indent) - 1;
      first = true;
    }
    column += printf("%s%.*s", first ? "" : " ", n, text);
    text += n + (text[n] == ' ');
  }
}

/* --- An operator --------------------------------------------------------- */

typedef struct Style {
  const char *bullet, *indent;
  const char *quote; /* the mark around text that is code */
} Style;

static const Style terminal = {"  ", "    ", ""};
static const Style markdown = {"- ", "  ", "`"};

static void print_fact(const Style *s, const char *label, const char *text) {
  if (!text) return;
  int column = printf("%s%s: %s", s->bullet, label, s->quote);
  print_wrapped(column, text, s->indent);
  printf("%s\n", s->quote);
}

/* dyn.topk(data, k)  Relay's dynamic variant takes attributes of the static one
 * as operands. */
static void print_dyn(const Style *s, const OpInfo *op) {
  if (!op->dyn) return;
  printf("%salso: %sdyn.%s(", s->bullet, s->quote, op->name);
  for (const char *p = op->dyn; *p; p++)
    printf("%s%c", *p == ' ' ? "," : "", *p);
  printf(")%s\n", s->quote);
}

/* Prints the result of the example; a row may leave it out. */
static void print_shows(const char *before, const char *indent,
                        const char *text) {
  if (!text) return;
  print_wrapped(printf("%s", before), text, indent);
  puts("");
}

static void print_attributes(const Style *s, const OpInfo *op) {
  char *text = NULL;
  size_t len;
  FILE *out = op->attr_count ? open_memstream(&text, &len) : NULL;
  if (!out) return;
  for (int i = 0; i < op->attr_count; i++) {
    fprintf(out, "%s%s ", i ? ", " : "", attr_name_text(op->attrs[i].name));
    ops_put_kind(out, &op->attrs[i]);
  }
  if (!fclose(out)) print_fact(s, "attributes", text);
  free(text);
}

const char *ops_gradient_word(const OpInfo *op) {
  if (op_has_gradient(op)) return "rule";
  if (op->no_gradient) return "none";
  return op->special == SPECIAL_NONE && !op_is_note(op) ? "zero" : NULL;
}

static void print_gradient(const Style *s, const OpInfo *op) {
  if (op->no_gradient) {
    int column = printf("%sgradient: none, because ", s->bullet);
    print_wrapped(column, op->no_gradient, s->indent);
    puts("");
    return;
  }
  const char *word = ops_gradient_word(op);
  if (word) printf("%sgradient: %s\n", s->bullet, word);
}

static void print_facts(const Style *s, const OpInfo *op) {
  print_fact(s, "type", op_rule(op)->text);
  print_attributes(s, op);
  print_fact(s, "formula", op->formula);
  print_fact(s, "also", op->aliases);
  print_dyn(s, op);
  print_gradient(s, op);
}

/* `softmax` is nn.softmax: of the operators that end so the one of the shortest
 * name.  So people find an operator by the name it has in other libraries. */
static OpId operator_ending_in(const char *name) {
  OpId found = OP_COUNT;
  for (int i = 0; i < OP_COUNT; i++) {
    const char *full = op_info(i)->name;
    if (strcmp(op_last_part(full), name)) continue;
    if (found == OP_COUNT || strlen(full) < strlen(op_info(found)->name))
      found = (OpId)i;
  }
  return found;
}

/* The operators whose names end as this one's. */
static void print_namesakes(const OpInfo *op) {
  const char *label = "  see also: ";
  for (int i = 0; i < OP_COUNT; i++) {
    const OpInfo *other = op_info(i);
    if (other == op ||
        strcmp(op_last_part(other->name), op_last_part(op->name)))
      continue;
    printf("%s%s", label, other->name);
    label = ", ";
  }
  if (*label == ',') putchar('\n');
}

/* In order: one that Relay has and rly refuses, with the reason; a definition's
 * name, which is no operator's; a misspelt one. */
static void report_unknown(const char *name) {
  const char *why = op_refused(name);
  if (why) {
    fprintf(stderr, "rly: Relay's operator `%s` is not here: %s\n", name, why);
    return;
  }
  fprintf(stderr, "rly: no operator `%s`", name);
  Suggestion near = suggestion_for(name);
  for (int i = 0; i < OP_COUNT; i++) suggestion_offer(&near, op_info(i)->name);
  if (*name == '@' || *name == '%')
    fputs("; at the prompt, :info tells of definitions", stderr);
  else if (near.best) fprintf(stderr, "; did you mean `%s`?", near.best);
  fputc('\n', stderr);
}

/* OP_COUNT after a report. */
static OpId operator_of(const char *name) {
  bool dyn;
  OpId id = op_find(name, &dyn);
  if (id == OP_COUNT) id = operator_ending_in(name);
  if (id == OP_COUNT) report_unknown(name);
  return id;
}

/* The rule of differentiation, as the library has it. */
static void print_rule(const OpInfo *op) {
  DefinitionText rule;
  if (!op_has_gradient(op) || !library_gradient(op->name, &rule)) return;
  const char *end = rule.text + rule.len;
  for (const char *line = rule.text; line < end;) {
    int n = (int)strcspn(line, "\n");
    if (line + n > end) n = (int)(end - line);
    printf(n ? "    %.*s\n" : "\n", n, line);
    line += n + 1;
  }
}

/* Everything of the row: signature, sentence, facts, example, namesakes. */
bool ops_explain(const char *name) {
  OpId id = operator_of(name);
  if (id == OP_COUNT) return false;
  const OpInfo *op = op_info(id);
  ops_put_signature(stdout, op);
  printf("\n  ");
  print_wrapped(2, op->doc, "  ");
  puts("");
  print_facts(&terminal, op);
  print_rule(op);
  printf("  example: %s\n", op->example);
  print_shows("    ", "    ", op->shows);
  print_namesakes(op);
  return true;
}

bool ops_has(const char *name) {
  bool dyn;
  return op_find(name, &dyn) != OP_COUNT ||
         operator_ending_in(name) != OP_COUNT;
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
  fprintf(stderr, "rly: no operator's name has `%s` in it\n", part);
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
/* The example is a code block with its expectation, in the form that `rly test`
 * reads. */
static void print_entry(const OpInfo *op) {
  printf("\n## %s\n\n`", op->name);
  ops_put_signature(stdout, op);
  printf("`\n\n");
  print_wrapped(0, op->doc, "");
  printf("\n\n");
  print_facts(&markdown, op);
  printf("\n```rly\n%s;\n", op->example);
  bool prints = op->prints;
  const char *what = prints ? "// expect output: " : "// expect: ";
  print_shows(what, "//    ", op->shows);
  puts("```");
}

/* Entries in the order of the table, which is by topic. */
static void print_page(void) {
  printf("%s", page_head);
  const char *comma = "\n";
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (!dtype_is_float((DType)i)) continue;
    printf("%s%s", comma, dtype_name((DType)i));
    comma = ", ";
  }
  puts(".");
  for (int i = 0; i < OP_COUNT; i++) print_entry(op_info(i));
}

static int print_json(const Cli *cli) {
  int from = cli->words.count ? (int)operator_of(cli->words.items[0]) : 0;
  if (from == OP_COUNT) return 1;
  ops_print_json(from, cli->words.count ? from + 1 : OP_COUNT);
  return 0;
}

/* --- Operators of a text -------------------------------------------------- */

static void print_own(Host *h, const Item *item) {
  char name[256];
  DefinitionText d;
  StrBuf out;
  snprintf(name, sizeof name, "@%s", item->name->text);
  if (!program_definition(h->program, name, &d)) return;
  strbuf_init(&out, h->program->mem);
  definition_print_head(&out, &d);
  strbuf_add_char(&out, '\n');
  doc_print(&out, &d, "  ");
  host_write(h, strbuf_text(&out), out.len);
  strbuf_done(&out);
}

/* Those that the first file defines. */
static int list_own(Host *h) {
  Unit *u = program_parse_file(h->program, h->cli->words.items[0]);
  bool ok = u && unit_check(h->program->ir, u);
  for (int i = 0; ok && i < u->item_count; i++)
    if (u->items[i].kind == ITEM_DEF && u->items[i].own)
      print_own(h, &u->items[i]);
  host_report(h);
  return ok ? 0 : 1;
}

static bool is_file(const char *word) {
  size_t n = strlen(word);
  return n > 4 && !strcmp(word + n - 4, ".rly");
}

int command_ops(const Cli *cli) {
  if (cli->words.count && is_file(cli->words.items[0]))
    return host_run(cli, list_own);
  if (cli->json) return print_json(cli);
  if (cli->words.count) return !ops_explain(cli->words.items[0]);
  if (cli->markdown) print_page();
  else ops_list("");
  return 0;
}
