/* rly ops --json: the rows of the operator table with all their fields, for
 * tests and tools.
 *
 * What a word means stands at its enum in ops/ops.h.  No switch has a default,
 * so that the compiler names what a new enumerator lacks; NULL becomes null,
 * which says that the field does not apply.  Tests read the keys
 * (tests/t/operators.t, defaults.t, rules.t).
 *
 * The array is written a row to a line, which diff and grep like. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"

/* --- Words ---------------------------------------------------------------- */

/* How the result comes to its memory. */
static const char *storage_word(OpStorage storage) {
  switch (storage) {
    case STORE_FILL: return "fill";
    case STORE_VIEW: return "view";
    case STORE_MAKE: return "make";
    case STORE_SPECIAL: return "special";
  }
  return NULL;
}

/* Which elements of an operand one element of the result depends on. */
static const char *reads_word(OpReads reads) {
  switch (reads) {
    case READS_ANY: return "any";
    case READS_NONE: return "none";
    case READS_SAME: return "same";
    case READS_CHANNEL: return "channel";
    case READS_ONE: return "one";
    case READS_INDEXED: return "indexed";
    case READS_AXES: return "axes";
    case READS_BEFORE: return "before";
    case READS_LINE: return "line";
    case READS_INNER: return "inner";
    case READS_WINDOW: return "window";
  }
  return NULL;
}

/* Whether the operator may be a step of a chain. */
static const char *fusion_word(OpFusion fusion) {
  switch (fusion) {
    case FUSION_NONE: return NULL;
    case FUSION_STEP: return "step";
    case FUSION_CAST: return "cast";
    case FUSION_CHOICE: return "choice";
    case FUSION_BIAS: return "bias";
  }
  return NULL;
}

/* How op_cost() counts its operations. */
static const char *flops_word(OpFlops flops) {
  switch (flops) {
    case FLOPS_NONE: return NULL;
    case FLOPS_ELEMENT: return "element";
    case FLOPS_FUNCTION: return "function";
    case FLOPS_PRODUCT: return "product";
    case FLOPS_CONV: return "conv";
    case FLOPS_CONV_TRANSPOSE: return "conv_transpose";
  }
  return NULL;
}

/* The bytes that op_cost() counts.  An operator that gives a view moves
 * nothing. */
static const char *bytes_word(const OpInfo *op) {
  if (op->storage == STORE_VIEW || op->storage == STORE_SPECIAL) return NULL;
  return op->reads == READS_NONE ? "results" : "operands and results";
}

static const char *view_word(OpView view) {
  switch (view) {
    case VIEW_OTHER: return NULL;
    case VIEW_RESHAPE: return "reshape";
    case VIEW_AXES: return "axes";
    case VIEW_PARTS: return "parts";
    case VIEW_ROW: return "row";
  }
  return NULL;
}

static const char *logic_word(OpLogic logic) {
  switch (logic) {
    case LOGIC_NONE: return NULL;
    case LOGIC_AND: return "and";
    case LOGIC_OR: return "or";
    case LOGIC_NOT: return "not";
  }
  return NULL;
}

static const char *relay_word(OpRelay relay) {
  switch (relay) {
    case RELAY_SAME: return NULL;
    case RELAY_DTYPE: return "dtype";
    case RELAY_REPEATS: return "repeats";
  }
  return NULL;
}

static const char *special_word(OpSpecial special) {
  switch (special) {
    case SPECIAL_PRINT: return "print";
    case SPECIAL_PRINT_TEXT: return "print_text";
    case SPECIAL_ASSERT: return "assert";
    case SPECIAL_FAIL: return "fail";
    case SPECIAL_SAME_STRUCTURE: return "same_structure";
    case SPECIAL_CALL_LOWERED:
    case SPECIAL_INVOKE:
    case SPECIAL_ALLOC_STORAGE:
    case SPECIAL_ALLOC_TENSOR:
    case SPECIAL_KILL: return "lowered";
    case SPECIAL_NONE:
    case SPECIAL_COUNT: return NULL;
    default: return "form";
  }
  return NULL;
}

/* The dtypes that its rule accepts. */
static const char *takes_word(TypeClass takes) {
  switch (takes) {
    case TAKES_ANY: return "any";
    case TAKES_FLOAT: return "float";
    case TAKES_INT: return "int";
    case TAKES_BITS: return "bits";
    case TAKES_BOOL: return "bool";
    case TAKES_NUMBER: return "number";
    case TAKES_SIGNED: return "signed";
  }
  return NULL;
}

/* When the rule can answer without knowing all dimensions. */
static const char *fits_word(RuleFits fits) {
  switch (fits) {
    case FITS_KNOWN: return "known";
    case FITS_BROADCAST: return "broadcast";
    case FITS_UNBATCHED: return "unbatched";
    case FITS_ALWAYS: return "always";
  }
  return NULL;
}

/* --- Values --------------------------------------------------------------- */

/* `"key": `, after a comma unless it is the first of an object.  The last
 * character written tells whether this is the first, so no caller has to
 * count. */
static void add_key(StrBuf *out, const char *key) {
  char last = out->data[out->len - 1];
  strbuf_addf(out, "%s\"%s\": ", last == '{' ? "" : ", ", key);
}

static void add_string(StrBuf *out, const char *text, size_t len) {
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, text, len);
  strbuf_add_char(out, '"');
}

static void add_text(StrBuf *out, const char *key, const char *text) {
  add_key(out, key);
  if (text) add_string(out, text, strlen(text));
  else strbuf_add(out, "null");
}

static void add_bool(StrBuf *out, const char *key, bool value) {
  add_key(out, key);
  strbuf_add(out, value ? "true" : "false");
}

/* The parts of a text between separators, as an array; NULL: of none.  Used for
 * aliases ("a b") and words ("a|b"). */
static void add_list(StrBuf *out, const char *key, const char *text, char by) {
  const char separators[] = {by, '\0'};
  bool first = true;
  add_key(out, key);
  strbuf_add_char(out, '[');
  for (const char *p = text; p && *p;) {
    size_t len = strcspn(p, separators);
    if (!first) strbuf_add(out, ", ");
    add_string(out, p, len);
    first = false;
    p += len + (p[len] == by);
  }
  strbuf_add_char(out, ']');
}

/* --- A row ---------------------------------------------------------------- */

/* In the order of a call. */
static void add_operands(StrBuf *out, const OpInfo *op) {
  add_key(out, "operands");
  strbuf_add_char(out, '[');
  for (int i = 0; i < op_arg_count(op); i++) {
    OpArg arg = op_arg(op, i);
    strbuf_add(out, i ? ", {" : "{");
    add_key(out, "name");
    add_string(out, arg.name, (size_t)arg.len);
    add_bool(out, "tuple", arg.tuple);
    add_bool(out, "optional", arg.optional);
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

static void add_ints(StrBuf *out, const AttrSpec *a) {
  strbuf_add_char(out, '[');
  for (int i = 0; i < a->count; i++)
    strbuf_addf(out, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
  strbuf_add_char(out, ']');
}

/* Each is a float32, in the fewest digits that give it back. */
static void add_reals(StrBuf *out, const AttrSpec *a) {
  strbuf_add_char(out, '[');
  for (int i = 0; i < a->count; i++) {
    char text[32];
    int digits = 1;
    do snprintf(text, sizeof text, "%.*g", digits, a->reals[i]);
    while (strtof(text, NULL) != (float)a->reals[i] && digits++ < 9);
    strbuf_addf(out, "%s%s", i ? ", " : "", text);
  }
  strbuf_add_char(out, ']');
}

/* None is null.  %.17g gives every double back exactly.  A required attribute
 * has no key `default` at all. */
static void add_default(StrBuf *out, const AttrSpec *a) {
  if (a->required) return;
  add_key(out, "default");
  if (operator_default_is_none(a)) {
    strbuf_add(out, "null");
    return;
  }
  switch (a->type) {
    case AT_INT:
    case AT_INT_OR_INTS: strbuf_addf(out, "%lld", (long long)a->integer); break;
    case AT_FLOAT: strbuf_addf(out, "%.17g", a->real); break;
    case AT_BOOL: strbuf_add(out, a->integer ? "true" : "false"); break;
    case AT_STRING:
    case AT_DTYPE:
      add_string(out, a->text ? a->text : "", a->text ? strlen(a->text) : 0);
      break;
    case AT_INTS:
    case AT_LISTS: add_ints(out, a); break;
    case AT_FLOATS: add_reals(out, a); break;
    case AT_IGNORED: break;
  }
}

/* `type` is what kind of literal it takes; `words` the literals, where they are
 * a closed set. */
static void add_attributes(StrBuf *out, const OpInfo *op) {
  add_key(out, "attributes");
  strbuf_add_char(out, '[');
  for (int i = 0; i < op->attr_count; i++) {
    const AttrSpec *a = &op->attrs[i];
    strbuf_add(out, i ? ", {" : "{");
    add_text(out, "name", attr_name_text(a->name));
    add_text(out, "type", operator_attribute_word(a->type));
    add_bool(out, "required", a->required);
    add_bool(out, "optional", a->optional);
    add_bool(out, "expression", attr_may_be_computed(a->type));
    add_default(out, a);
    add_list(out, "words", a->words, '|');
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

/* `text` is the rule as a person reads it. */
static void add_rule(StrBuf *out, const RuleInfo *rule) {
  add_key(out, "rule");
  strbuf_add_char(out, '{');
  add_text(out, "name", rule->name);
  add_text(out, "text", rule->text);
  add_text(out, "takes", takes_word(rule->takes));
  add_text(out, "fits", fits_word(rule->fits));
  add_bool(out, "gives_bool", rule->gives_bool);
  strbuf_add_char(out, '}');
}

/* Attributes that the kernel of an element-wise operator takes as numbers, in
 * the order in which it takes them. */
static void add_params(StrBuf *out, const OpInfo *op) {
  add_key(out, "params");
  strbuf_add_char(out, '[');
  for (int i = 0; i < OP_PARAMS_MAX && op->params[i]; i++) {
    const char *name = attr_name_text(op->params[i]);
    if (i) strbuf_add(out, ", ");
    add_string(out, name, strlen(name));
  }
  strbuf_add_char(out, ']');
}

static void add_operand_name(StrBuf *out, const OpInfo *op, int i) {
  OpArg arg = op_arg(op, i);
  add_string(out, arg.name, (size_t)arg.len);
}

/* Operand 0 is the one that others are cast like, so 0 as `operand` means
 * none. */
static void add_cast(StrBuf *out, const OpInfo *op) {
  add_key(out, "cast");
  if (op->cast.operand == 0) {
    strbuf_add(out, "null");
    return;
  }
  strbuf_add(out, "{\"operand\": ");
  add_operand_name(out, op, op->cast.operand);
  strbuf_add(out, ", \"like\": ");
  add_operand_name(out, op, op->cast.like);
  strbuf_add_char(out, '}');
}

/* Every field of the row, in the order of OpInfo's topics. */
static void add_row(StrBuf *out, const OpInfo *op) {
  strbuf_add_char(out, '{');
  add_text(out, "name", op->name);
  add_list(out, "aliases", op->aliases, ' ');
  add_operands(out, op);
  add_attributes(out, op);
  add_list(out, "dyn", op->dyn, ' ');
  add_rule(out, op_rule(op));
  add_text(out, "storage", storage_word(op->storage));
  add_text(out, "reads", reads_word(op->reads));
  add_text(out, "fusion", fusion_word(op->fusion));
  add_params(out, op);
  add_text(out, "flops", flops_word(op->flops));
  add_text(out, "bytes", bytes_word(op));
  add_text(out, "fails", operator_fails_word(op->fails));
  add_text(out, "view", view_word(op->view));
  add_text(out, "logic", logic_word(op->logic));
  add_text(out, "special", special_word(op->special));
  add_text(out, "relay", relay_word(op->relay));
  add_cast(out, op);
  add_text(out, "swapped", op->swapped ? op->swapped->name : NULL);
  add_text(out, "negated", op->negated ? op->negated->name : NULL);
  add_text(out, "fused_as", op->fused_as ? op->fused_as->name : NULL);
  add_text(out, "real", op->real ? op->real->name : NULL);
  add_bool(out, "on_dimensions", op->dim != NULL);
  add_bool(out, "known", op->known != NULL);
#define ADD_PROPERTY(name) add_bool(out, #name, op->name);
  OP_PROPERTIES(ADD_PROPERTY)
#undef ADD_PROPERTY
  add_text(out, "gradient", operator_gradient_word(op));
  add_text(out, "no_gradient", op->no_gradient);
  add_text(out, "doc", op->doc);
  add_text(out, "formula", op->formula);
  add_text(out, "example", op->example);
  add_text(out, "shows", op->shows);
  strbuf_add_char(out, '}');
}

/* A Mem of its own, without a limit, as in ops.c: there may be no context. */
void ops_print_json(int from, int to) {
  Mem mem;
  StrBuf out;
  if (!mem_init(&mem, SIZE_MAX)) return;
  strbuf_init(&out, &mem);
  strbuf_add_char(&out, '[');
  for (int i = from; i < to; i++) {
    if (i > from) strbuf_add(&out, ",\n");
    add_row(&out, op_info(i));
  }
  strbuf_add_char(&out, ']');
  puts(strbuf_text(&out));
  strbuf_done(&out);
  mem_done(&mem);
}
