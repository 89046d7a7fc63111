/* An operator's row as text: its signature, and all of it in two layouts, for a
 * terminal (`rly ops NAME`, `:doc NAME`) and in Markdown (docs/operators.md, an
 * editor's hover).  Both are made of the same facts, so they cannot tell
 * different things.
 *
 * The texts are those of ops/ops.def and ops/rules/; nothing about an operator
 * is written here. */
#include "lib/op_text.h"

#include <stdlib.h>
#include <string.h>

#include "lib/doc.h"

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

bool operator_default_is_none(const AttrSpec *a) {
  bool unsaid = a->optional && !a->count && !a->integer && !a->text;
  return !a->required && (unsaid || a->type == AT_IGNORED);
}

/* A required attribute has no default; an optional one without a value is None.
 * Floats get the suffix `f` of the language's literals. */
void operator_put_default(FILE *out, const AttrSpec *a) {
  static const char *const bools[] = {"False", "True"};
  if (a->required) return;
  if (operator_default_is_none(a)) {
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
    case AT_IGNORED: return;
  }
}

void operator_put_signature(FILE *out, const OpInfo *op) {
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
    operator_put_default(out, &op->attrs[i]);
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
void operator_put_kind(FILE *out, const AttrSpec *a) {
  if (!a->words) fputs(kinds[a->type], out);
  for (const char *p = a->words; p && *p;) {
    size_t len = strcspn(p, "|");
    fwrite(p, 1, len, out);
    if (len > 0 && p[len]) fputs(" | ", out);
    p += len + (p[len] == '|');
  }
  if (a->optional) fputs(" or None", out);
}

/* --- Words --------------------------------------------------------------- */

const char *operator_fails_word(OpFails fails) {
  switch (fails) {
    case FAILS_NEVER: return NULL;
    case FAILS_DIVISOR: return "divisor";
    case FAILS_EMPTY: return "empty";
    case FAILS_INDEX: return "index";
    case FAILS_DATA: return "data";
  }
  return NULL;
}

const char *operator_attribute_word(AttrType type) {
  switch (type) {
    case AT_INT: return "int";
    case AT_FLOAT: return "float";
    case AT_BOOL: return "bool";
    case AT_STRING: return "string";
    case AT_DTYPE: return "dtype";
    case AT_INTS: return "ints";
    case AT_INT_OR_INTS: return "int or ints";
    case AT_LISTS: return "lists";
    case AT_FLOATS: return "floats";
    case AT_IGNORED: return "ignored";
  }
  return NULL;
}

/* --- Texts --------------------------------------------------------------- */

enum { COLUMNS = 79 };

/* Prints the words of `text` from this column on, with `indent` before each
 * further line.  Words are not cut, so a word longer than the line stands alone
 * on one. */
static void print_wrapped(FILE *out, int column, const char *text,
                          const char *indent) {
  for (bool first = true; *text; first = false) {
    int n = (int)strcspn(text, " ");
    if (!first && column + 1 + n > COLUMNS) {
      column = fprintf(out, "\n%s", indent) - 1;
      first = true;
    }
    column += fprintf(out, "%s%.*s", first ? "" : " ", n, text);
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

static void print_fact(FILE *out, const Style *s, const char *label,
                       const char *text) {
  if (!text) return;
  int column = fprintf(out, "%s%s: %s", s->bullet, label, s->quote);
  print_wrapped(out, column, text, s->indent);
  fprintf(out, "%s\n", s->quote);
}

/* dyn.topk(data, k)  Relay's dynamic variant takes attributes of the static one
 * as operands. */
static void print_dyn(FILE *out, const Style *s, const OpInfo *op) {
  if (!op->dyn) return;
  fprintf(out, "%salso: %sdyn.%s(", s->bullet, s->quote, op->name);
  for (const char *p = op->dyn; *p; p++)
    fprintf(out, "%s%c", *p == ' ' ? "," : "", *p);
  fprintf(out, ")%s\n", s->quote);
}

/* Prints the result of the example; a row may leave it out. */
static void print_shows(FILE *out, const char *before, const char *indent,
                        const char *text) {
  if (!text) return;
  print_wrapped(out, fprintf(out, "%s", before), text, indent);
  fputs("\n", out);
}

static void print_attributes(FILE *out, const Style *s, const OpInfo *op) {
  char *text = NULL;
  size_t len;
  FILE *list = op->attr_count ? open_memstream(&text, &len) : NULL;
  if (!list) return;
  for (int i = 0; i < op->attr_count; i++) {
    fprintf(list, "%s%s ", i ? ", " : "", attr_name_text(op->attrs[i].name));
    operator_put_kind(list, &op->attrs[i]);
  }
  if (!fclose(list)) print_fact(out, s, "attributes", text);
  free(text);
}

const char *operator_gradient_word(const OpInfo *op) {
  if (op_has_gradient(op)) return "rule";
  if (op->no_gradient) return "none";
  return op->special == SPECIAL_NONE ? "zero" : NULL;
}

static void print_gradient(FILE *out, const Style *s, const OpInfo *op) {
  if (op->no_gradient) {
    int column = fprintf(out, "%sgradient: none, because ", s->bullet);
    print_wrapped(out, column, op->no_gradient, s->indent);
    fputs("\n", out);
    return;
  }
  const char *word = operator_gradient_word(op);
  if (word) fprintf(out, "%sgradient: %s\n", s->bullet, word);
}

static void print_facts(FILE *out, const Style *s, const OpInfo *op) {
  print_fact(out, s, "type", op_rule(op)->text);
  print_attributes(out, s, op);
  print_fact(out, s, "formula", op->formula);
  print_fact(out, s, "also", op->aliases);
  print_dyn(out, s, op);
  print_gradient(out, s, op);
}

void operator_put_type(FILE *out, const OpInfo *op) {
  operator_put_signature(out, op);
  fputc('\n', out);
  print_fact(out, &terminal, "type", op_rule(op)->text);
}

/* The operators whose names end as this one's. */
static void print_namesakes(FILE *out, const OpInfo *op) {
  const char *label = "  see also: ";
  for (int i = 0; i < OP_COUNT; i++) {
    const OpInfo *other = op_info(i);
    if (other == op ||
        strcmp(op_last_part(other->name), op_last_part(op->name)))
      continue;
    fprintf(out, "%s%s", label, other->name);
    label = ", ";
  }
  if (*label == ',') fputc('\n', out);
}

/* The rule of differentiation, as the library has it. */
static void print_rule(FILE *out, const OpInfo *op) {
  DefinitionText rule;
  if (!op_has_gradient(op) || !library_gradient(op->name, &rule)) return;
  const char *end = rule.text + rule.len;
  for (const char *line = rule.text; line < end;) {
    int n = (int)strcspn(line, "\n");
    if (line + n > end) n = (int)(end - line);
    fprintf(out, n ? "    %.*s\n" : "\n", n, line);
    line += n + 1;
  }
}

void operator_put(FILE *out, const OpInfo *op) {
  operator_put_signature(out, op);
  fprintf(out, "\n  ");
  print_wrapped(out, 2, op->doc, "  ");
  fputs("\n", out);
  print_facts(out, &terminal, op);
  print_rule(out, op);
  fprintf(out, "  example: %s\n", op->example);
  print_shows(out, "    ", "    ", op->shows);
  print_namesakes(out, op);
}

/* The example is a code block with its expectation, in the form that `rly test`
 * reads. */
void operator_put_entry(FILE *out, const OpInfo *op) {
  fputc('`', out);
  operator_put_signature(out, op);
  fprintf(out, "`\n\n");
  print_wrapped(out, 0, op->doc, "");
  fprintf(out, "\n\n");
  print_facts(out, &markdown, op);
  fprintf(out, "\n```rly\n%s;\n", op->example);
  bool prints = op->prints;
  const char *what = prints ? "// expect output: " : "// expect: ";
  print_shows(out, what, "//    ", op->shows);
  fputs("```\n", out);
}
