/* rly ops: the operator table as documentation, for a terminal and as the page
 * docs/operators.md.  The texts are those of ops/ops.def and ops/rules/. */
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"

/* --- Signatures ---------------------------------------------------------- */

static void print_ints(const AttrSpec *a) {
  printf("=[");
  for (int i = 0; i < a->count; i++)
    printf("%s%lld", i ? ", " : "", (long long)a->ints[i]);
  printf("]");
}

static void print_reals(const AttrSpec *a) {
  printf("=[");
  for (int i = 0; i < a->count; i++)
    printf("%s%gf", i ? ", " : "", a->reals[i]);
  printf("]");
}

static void print_default(const AttrSpec *a) {
  static const char *const bools[] = {"False", "True"};
  if (a->required) return;
  if (a->optional && !a->count && !a->integer && !a->text) {
    printf("=None");
    return;
  }
  switch (a->type) {
    case AT_INT:
    case AT_INT_OR_INTS: printf("=%lld", (long long)a->integer); return;
    case AT_FLOAT: printf("=%gf", a->real); return;
    case AT_BOOL: printf("=%s", bools[a->integer != 0]); return;
    case AT_STRING:
    case AT_DTYPE: printf("=\"%s\"", a->text ? a->text : ""); return;
    case AT_INTS:
    case AT_LISTS: print_ints(a); return;
    case AT_FLOATS: print_reals(a); return;
    case AT_IGNORED: printf("=None"); return;
  }
}

static void print_signature(const OpInfo *op) {
  printf("%s(", op->name);
  int n = op_arg_count(op);
  for (int i = 0; i < n; i++) {
    OpArg arg = op_arg(op, i);
    printf("%s%.*s%s", i ? ", " : "", arg.len, arg.name,
           arg.tuple      ? "..."
           : arg.optional ? "?"
                          : "");
  }
  for (int i = 0; i < op_attr_count(op); i++) {
    printf("%s%s", n || i ? ", " : "", attr_name_text(op->attrs[i].name));
    print_default(&op->attrs[i]);
  }
  printf(")");
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

/* Describes the values of an attribute: its words, or its kind. */
static void print_kind(StrBuf *out, const AttrSpec *a) {
  strbuf_add(out, attr_name_text(a->name));
  strbuf_add(out, " ");
  if (!a->words) strbuf_add(out, kinds[a->type]);
  for (const char *p = a->words; p && *p;) {
    size_t len = strcspn(p, "|");
    strbuf_add_len(out, p, len);
    if (len > 0 && p[len]) strbuf_add(out, " | ");
    p += len + (p[len] == '|');
  }
  if (a->expression) strbuf_add(out, " or expression");
  if (a->optional) strbuf_add(out, " or None");
}

/* --- Texts --------------------------------------------------------------- */

enum { COLUMNS = 79 };

/* Prints the words of `text` from this column on, with `indent` before each
 * further line. */
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

/* dyn.topk(data, k) */
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
  Mem mem;
  StrBuf text;
  if (op->attr_count == 0 || !mem_init(&mem, SIZE_MAX)) return;
  strbuf_init(&text, &mem);
  for (int i = 0; i < op->attr_count; i++) {
    if (i > 0) strbuf_add(&text, ", ");
    print_kind(&text, &op->attrs[i]);
  }
  print_fact(s, "attributes", strbuf_text(&text));
  strbuf_done(&text);
  mem_done(&mem);
}

static void print_facts(const Style *s, const OpInfo *op) {
  print_fact(s, "type", op_rule(op)->text);
  print_attributes(s, op);
  print_fact(s, "formula", op->formula);
  print_fact(s, "also", op->aliases);
  print_dyn(s, op);
}

static void report_unknown(const char *name) {
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
  if (id == OP_COUNT) report_unknown(name);
  return id;
}

/* Everything of the row: signature, sentence, facts, example, namesakes. */
bool ops_explain(const char *name) {
  OpId id = operator_of(name);
  if (id == OP_COUNT) return false;
  const OpInfo *op = op_info(id);
  print_signature(op);
  printf("\n  ");
  print_wrapped(2, op->doc, "  ");
  puts("");
  print_facts(&terminal, op);
  printf("  example: %s\n", op->example);
  print_shows("    ", "    ", op->shows);
  return true;
}

void ops_list(void) {
  for (int i = 0; i < OP_COUNT; i++) {
    int n = printf("%s", op_info(i)->name);
    printf("%*s%s\n", n < 26 ? 26 - n : 1, "", op_info(i)->doc);
  }
}

/* --- The page ------------------------------------------------------------ */

static const char page_head[] =
    "# Operators\n"
    "\n"
    "`make docs` writes this page from the table of operators, `ops/ops.def`;\n"
    "`rly ops NAME` and, at the prompt, `:doc NAME` show a part of it.\n"
    "\n"
    "A signature names the operands, then the attributes with their defaults;\n"
    "`x?` may be left out, `x...` is a tuple. In types, `d...` is any number\n"
    "of dimensions, `a ^ b` what two shapes broadcast to, and `t` any dtype,\n"
    "or what is said of it: integer is int8 to int64 and uint8 to uint64;\n"
    "numeric all but bool; floating-point one of";

/* The example is a code block with its expectation, in the form that `rly test`
 * reads. */
static void print_entry(const OpInfo *op) {
  printf("\n## %s\n\n`", op->name);
  print_signature(op);
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

int command_ops(const Cli *cli) {
  if (cli->json) return print_json(cli);
  if (cli->words.count) return !ops_explain(cli->words.items[0]);
  if (cli->markdown) print_page();
  else ops_list();
  return 0;
}
