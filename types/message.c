/* Messages about types: what was expected and what was found, the part that
 * differs, where each side comes from, and what would mend it.
 *
 *   error[E0201]: argument 1 of `@f`: expected ..., found ...    subject
 *     2 | @f((1, 2))
 *       |    ^^^^^^ (int32, int32)                  caption: what was found
 *     1 | def @f(%t: (int32, bool)) -> ...
 *       |        ----------------- the parameter    the other side
 *   note: expected (int32, bool)                   the part that differs
 *                          ^^^^
 *            found (int32, int32)
 *                          ^^^^^
 *   note: int32 does not fit bool                  the innermost conflict
 *   help: ...                                      a remedy, if one is likely
 *
 * Each reason (Why) has a subject and the name of its other side here.  A
 * reason is reported once: dims_finish may meet it again for each dimension.
 *
 * Types print as far as they are known, with `_` for the rest. */
#include "types/infer.h"

#include <ctype.h>
#include <string.h>

/* --- Mismatches ---------------------------------------------------------- */

static const char *of_name(Infer *in, const Why *why, const char *what) {
  return why->name ? arena_printf(in->arena, "%s of `%s%s`", what,
                                  why->sigil ? why->sigil : "", why->name->text)
                   : what;
}

/* What the expectation is about. */
static const char *subject(Infer *in, const Why *why) {
  switch (why->kind) {
    case WHY_ARGUMENT:
      return of_name(
          in, why,
          why->label
              ? arena_printf(in->arena, "the field `%s`", why->label->text)
              : arena_printf(in->arena, "argument %d", why->index + 1));
    case WHY_ANNOTATION: return of_name(in, why, "the value");
    case WHY_RESULT: return of_name(in, why, "the result");
    case WHY_BRANCHES: return "the branches of an `if` have one type";
    case WHY_ARMS: return "the arms of a `match` have one type";
    case WHY_ELEMENT: return "the elements of a list have one type";
    case WHY_CONDITION: return "a condition is a bool scalar";
    case WHY_LOGICAL: return "`&&` and `||` join bool scalars";
    case WHY_CELL: return "a cell keeps its content's type";
    case WHY_READ: return "only cells can be read and written";
    case WHY_PATTERN: return "the pattern does not fit the value";
    case WHY_CALLEE: return "the function called";
    case WHY_OPERATOR: return "the operator's result";
    case WHY_ADJOINT:
      return of_name(
          in, why,
          why->label
              ? arena_printf(in->arena, "the adjoint of the operand `%%%s`",
                             why->label->text)
              : "the tuple of adjoints");
  }
  return "types do not match";
}

static const char *const other_side[] = {
    [WHY_ARGUMENT] = "the parameter", [WHY_ANNOTATION] = "declared here",
    [WHY_RESULT] = "declared here",   [WHY_BRANCHES] = "the other branch",
    [WHY_ARMS] = "the first arm",     [WHY_ELEMENT] = "the first element",
    [WHY_CELL] = "the cell",          [WHY_OPERATOR] = NULL,
    [WHY_ADJOINT] = "the operand",
};

/* A text where a number is wanted. */
static bool hint_quotes(Diag *d, const char *text, uint32_t len) {
  uint32_t digits = 1;
  while (digits < len && strchr("-.0123456789", text[digits])) digits++;
  bool number = len > 2 && digits == len - 1;
  if (len < 2 || *text != '"' || text[len - 1] != '"') return false;
  if (d && number)
    diag_hint(d, "without quotes it is a number: %.*s", (int)len - 2, text + 1);
  else if (d)
    diag_hint(d, "a text in quotes is a vector of its bytes, not a number");
  return true;
}

/* Of what a literal of the dtype is made, but for its suffix. */
static const char *digits_of(DType dtype) {
  if (dtype == DT_BOOL) return "";
  return dtype_is_float(dtype) ? "-0123456789." : "-0123456789";
}

static const char *suffix_of(DType dtype) {
  return dtype == DT_FLOAT32 ? "f" : dtype_info[dtype].suffix;
}

/* [1, 2] where floats are wanted is [1f, 2f]: says so of a list of literals at
 * `span` that fits a line. */
static bool hint_literals(Infer *in, Diag *d, Span span, DType wanted) {
  enum { LENGTH_MOST = 40 };
  uint32_t len;
  const char *text = sources_text(in->p->sources, span, &len);
  const char *digits = digits_of(wanted);
  if (len < 3 || len > LENGTH_MOST || *text != '[') return false;
  StrBuf out;
  strbuf_init(&out, in->p->mem);
  bool all = true;
  char before = '['; /* the last that is no blank */
  for (uint32_t i = 0; all && i < len; i++) {
    bool digit = strchr(digits, text[i]), minus = text[i] == '-';
    all = text[i] && (digit || strchr("[], ", text[i])) &&
          (!minus || before == '[' || before == ',');
    if (text[i] != ' ') before = text[i];
    strbuf_add_char(&out, text[i]);
    if (digit && !strchr(digits, text[i + 1]))
      strbuf_add(&out, suffix_of(wanted));
  }
  if (all) diag_hint(d, "write `%s`", strbuf_text(&out));
  strbuf_done(&out);
  return all;
}

/* `1` where a float is wanted is `1f`, and "1" is no number: says so of a
 * literal at `span`.  With `d` NULL it only answers whether it would.  A
 * literal that is too long to be one number is left alone, as is one with a
 * suffix. */
static bool hint_literal(Infer *in, Diag *d, Span span, DType wanted) {
  uint32_t len;
  const char *text = sources_text(in->p->sources, span, &len);
  if (hint_quotes(d, text, len)) return true;
  bool digits = len > 0 && len < 20;
  for (uint32_t i = 0; digits && i < len; i++)
    digits = text[i] && strchr(digits_of(wanted), text[i]) != NULL;
  if (d && digits)
    diag_hint(d, "write `%.*s%s`", (int)len, text, suffix_of(wanted));
  return digits;
}

static bool is_number(const Ty *t) {
  return t->kind == K_TENSOR && t->rank == 0 && t->dtype != DT_BOOL;
}

/* Looks at the text itself: the parser has turned the `;` into `()`. */
static bool ends_in_semicolon(Infer *in, Span span) {
  uint32_t len;
  Span after = {span.hi, span.hi + 1};
  const char *text = sources_text(in->p->sources, after, &len);
  while (len > 0 && *text && strchr(" \t\r\n", *text)) text++;
  return len > 0 && *text == ';';
}

bool hint_semicolon(Infer *in, Diag *d, const Ty *found, Span span) {
  bool nothing = found->kind == K_TUPLE && found->count == 0;
  if (!nothing || !ends_in_semicolon(in, span)) return false;
  diag_hint(d,
            "a `;` after the last expression makes the value `()`: leave it "
            "out");
  return true;
}

/* The remedy where a bool scalar is wanted. */
static bool hint_truth(Diag *d, const Why *why, const Ty *found) {
  bool logical = why->kind == WHY_LOGICAL;
  if ((!logical && why->kind != WHY_CONDITION) || found->kind != K_TENSOR)
    return false;
  if (is_number(found)) {
    diag_hint(d, "a number is compared to make a bool: %%x != 0");
  } else if (logical) {
    diag_hint(d,
              "element by element it is logical_and(%%a, %%b) or "
              "logical_or(%%a, %%b), of tensors of bool");
  } else {
    diag_hint(d, "a tensor of bool gives one by all(%%x) or any(%%x)");
  }
  return true;
}

/* The remedy where a list is wanted and a tensor is there.  Some functions of
 * the library do for lists what operators of their names do for tensors. */
static bool hint_list(Diag *d, const Why *why, const Ty *found,
                      const Ty *wanted) {
  bool dyn;
  if (found->kind != K_TENSOR || wanted->kind != K_ADT ||
      strcmp(wanted->adt->name->text, "List") != 0)
    return false;
  bool callee = why->kind == WHY_ARGUMENT && why->sigil && *why->sigil == '@';
  if (callee && op_find(why->name->text, &dyn) != OP_COUNT)
    diag_hint(d, "for tensors there is the operator, without `@`: %s(%%x)",
              why->name->text);
  else diag_hint(d, "a tensor is no list; a list is written Cons(1, Nil)");
  return true;
}

/* One hint at most, the most specific first. */
static void hint_remedy(Infer *in, Diag *d, const Why *why) {
  const Ty *found = ty_head(why->found), *wanted = ty_head(why->expected);
  if (hint_truth(d, why, found)) return;
  if (why->kind == WHY_READ) {
    diag_hint(d, "a cell is made by let %%r = ref(1);");
    return;
  }
  if (hint_semicolon(in, d, found, why->span)) return;
  if (hint_list(d, why, found, wanted)) return;
  if (why->kind == WHY_ADJOINT && found->kind == K_TUPLE && found->count == 0 &&
      wanted->kind == K_TENSOR) {
    diag_hint(d,
              "`()` is the adjoint of a function or a cell; what has no "
              "derivative has zeros: zeros_like(%%%s)",
              why->label->text);
    return;
  }
  if (found->kind == K_TUPLE && found->count == 1 && wanted->kind == K_TENSOR) {
    diag_hint(d, "a tuple of one part is not that part: x, not (x,)");
    return;
  }
  if (wanted->kind == K_TUPLE && wanted->count == 1 && found->kind != K_TUPLE) {
    diag_hint(d, "a tuple of one part has a comma: (x,)");
    return;
  }
  if (wanted->kind == K_TUPLE && wanted->count > 1 && found->kind != K_TUPLE) {
    diag_hint(d, "a tuple is written in parentheses of its own: (%s)",
              wanted->count == 2 ? "x, y" : "x, y, ...");
    return;
  }
  if (found->kind != K_TENSOR || wanted->kind != K_TENSOR) return;
  if (found->dtype == wanted->dtype) return;
  bool literal = found->rank == 0 || found->dtype == DT_UINT8; /* or a text */
  if (literal && wanted->rank == 0 &&
      hint_literal(in, d, why->span, (DType)wanted->dtype))
    return;
  if (found->rank != 0 && found->dtype == DT_INT32 &&
      hint_literals(in, d, why->span, (DType)wanted->dtype))
    return;
  diag_hint(d, "dtypes never convert by themselves: cast(x, dtype=\"%s\")",
            dtype_name(wanted->dtype));
}

/* The code says what kind of mistake it is, which docs/DIAGNOSTICS.md explains:
 * endless and escaping types first, then conditions, type parameters, ranks,
 * and all others. */
static DiagCode code_of(const Infer *in, const Why *why) {
  const Conflict *c = &in->conflict;
  if (c->kind == INFINITE) return E0210;
  if (c->kind == ESCAPES) return E0211;
  if (why->kind == WHY_CONDITION || why->kind == WHY_LOGICAL) return E0213;
  const Ty *found = ty_head(c->found), *expected = ty_head(c->expected);
  if (found->kind == K_RIGID || expected->kind == K_RIGID) return E0211;
  if (found->kind != K_TENSOR || expected->kind != K_TENSOR) return E0201;
  return found->rank != expected->rank && found->dtype == expected->dtype
             ? E0208
             : E0201;
}

/* Two types of one name: a text that was entered later has taken it. */
static void note_namesakes(Diag *d, const Adt *a, const Adt *b) {
  if (adt_of_text(a) == adt_of_text(b) || a->name != b->name) return;
  const Adt *old = a->span.lo < b->span.lo ? a : b;
  diag_note(d, old->span, "the %s was made with this `%s`",
            old == a ? "value" : "other side", a->name->text);
  diag_note(d, (old == a ? b : a)->span, "which was entered anew here");
}

/* The conflict holds the innermost parts that do not fit.  They are worth a
 * line when they are not the whole types. */
static void note_difference(Infer *in, Diag *d, const Why *why) {
  const Conflict *c = &in->conflict;
  if (c->kind == INFINITE) {
    diag_note(d, SPAN_NONE, "the type would contain itself");
  } else if (c->kind == ESCAPES) {
    diag_note(d, SPAN_NONE, "the type parameter `%s` is not known there",
              ty_text(in, c->found));
  } else if (ty_head(c->found)->kind == K_ADT &&
             ty_head(c->expected)->kind == K_ADT &&
             ty_head(c->found)->adt->name == ty_head(c->expected)->adt->name) {
    note_namesakes(d, ty_head(c->found)->adt, ty_head(c->expected)->adt);
  } else if (ty_head(c->found) != ty_head(why->found)) {
    diag_note(d, SPAN_NONE, "%s does not fit %s", ty_text(in, c->found),
              ty_text(in, c->expected));
  }
}

/* --- The part that differs ----------------------------------------------- */

/* Bytes `from` .. `to` - 1 of a type's text. */
typedef struct Part {
  size_t from, to;
} Part;

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* What is left of `text` without `before` and `after` bytes that another text
 * shares, in whole words.  Cutting through `float32` and `float64` would mark
 * "32" and "64". */
static Part part_of(const char *text, size_t before, size_t after) {
  Part p = {before, strlen(text) - after};
  while (p.from && in_word(text[p.from - 1]) && in_word(text[p.from])) p.from--;
  while (text[p.to] && p.to && in_word(text[p.to - 1]) && in_word(text[p.to]))
    p.to++;
  return p;
}

enum { AROUND = 24 }; /* what is shown on each side of the part */

/* `LABEL TEXT` and a line of carets below the part.  The width of the prefix
 * that the note gets when it is printed is counted in, so the carets stand
 * under the text. */
static void add_marked(StrBuf *out, const char *label, const char *text,
                       Part p) {
  size_t n = strlen(text), from = p.from > AROUND ? p.from - AROUND : 0;
  size_t to = n - p.to > AROUND ? p.to + AROUND : n;
  const char *cut = from ? "..." : "";
  strbuf_addf(out, "%s %s%.*s%s\n", label, cut, (int)(to - from), text + from,
              to < n ? "..." : "");
  strbuf_add_repeat(out, ' ',
                    strlen("  note: expected ") + strlen(cut) + p.from - from);
  strbuf_add_repeat(out, '^', p.to > p.from ? p.to - p.from : 1);
}

/* Shows both types with the part marked in which they differ, unless they
 * differ as a whole.  The two texts are compared from both ends; what is
 * between is the part. */
static void note_parts(Infer *in, Diag *d, const Why *why, const char *a) {
  const char *b = ty_text(in, why->found);
  size_t before = 0, after = 0, n = strlen(a), m = strlen(b);
  while (a[before] && a[before] == b[before]) before++;
  while (after < n - before && after < m - before &&
         a[n - after - 1] == b[m - after - 1])
    after++;
  Part wanted = part_of(a, before, after), found = part_of(b, before, after);
  if (!wanted.from || (before == n && before == m)) return;
  StrBuf out;
  strbuf_init(&out, in->mem);
  add_marked(&out, "expected", a, wanted);
  add_marked(&out, "\n           found", b, found);
  diag_drawing(d, strbuf_text(&out));
  strbuf_done(&out);
}

/* What was found, and where the other side comes from. */
static void note_sides(Infer *in, Diag *d, Why *why, const char *expected) {
  why->reported = true;
  diag_caption(d, "%s", ty_text(in, why->found));
  const char *side = other_side[why->kind];
  if (side && span_exists(why->other))
    diag_note(d, why->other, "%s: %s", side, expected);
}

/* The other way round: what is matched is what the pattern has to fit. */
static void report_pattern(Infer *in, Why *why) {
  why->reported = true;
  Diag *d = diag_error(in->p->diags, E0403, why->span,
                       "a pattern for %s does not fit %s",
                       ty_text(in, why->expected), ty_text(in, why->found));
  if (span_exists(why->other)) {
    diag_note(d, why->other, "this is what is matched: %s",
              ty_text(in, why->found));
  }
  const Ty *found = ty_head(why->found), *wanted = ty_head(why->expected);
  if (found->kind == K_ADT && wanted->kind == K_ADT)
    note_namesakes(d, found->adt, wanted->adt);
  if (found->kind != K_TENSOR || wanted->kind != K_TENSOR) return;
  if (found->rank > 0)
    diag_hint(d,
              "only a scalar is compared with a literal: ask of a tensor in "
              "a guard, `%%x if all(%%x == ...) => ...`");
  else if (found->dtype != wanted->dtype)
    hint_literal(in, d, why->span, (DType)found->dtype);
}

void report_mismatch(Infer *in, Why *why) {
  if (why->kind == WHY_PATTERN) {
    report_pattern(in, why);
    return;
  }
  const char *expected = ty_text(in, why->expected);
  Diag *d = diag_error(in->p->diags, code_of(in, why), why->span,
                       "%s: expected %s, found %s", subject(in, why), expected,
                       ty_text(in, why->found));
  note_sides(in, d, why, expected);
  note_parts(in, d, why, expected);
  note_difference(in, d, why);
  hint_remedy(in, d, why);
}

static const char *dim_text(Infer *in, Dim d) {
  StrBuf text;
  strbuf_init(&text, in->mem);
  dim_print(types_dims(in->types), &text, d);
  const char *copy = arena_strndup(in->arena, strbuf_text(&text), text.len);
  strbuf_done(&text);
  return copy;
}

/* The value that gave the dimension first, unless it is shown already. */
static void note_first(Infer *in, Diag *d, const Why *why, const Slot *slot) {
  Span at = slot->seen_at;
  if (!span_exists(at) || slot->fixed) return;
  if (at.lo == why->span.lo || at.lo == why->other.lo) return;
  diag_note(d, at, "this dimension, %s, comes from here",
            dim_text(in, slot->seen));
}

/* Weights of the layout that other systems keep: (inputs, outputs).  Both sizes
 * must be known, and each must be the other's: (3, 4) for (4, 3). */
static void hint_transposed(Diag *d, const Why *why) {
  const Ty *found = ty_head(why->found), *wanted = ty_head(why->expected);
  if (found->kind != K_TENSOR || wanted->kind != K_TENSOR) return;
  if (found->rank != 2 || wanted->rank != 2) return;
  for (int i = 0; i < 2; i++) {
    Dim d = slot_root(found->dims[i])->value;
    Dim other = slot_first(slot_root(wanted->dims[1 - i]));
    if (dim_equal(d, other) != YES) return;
  }
  diag_hint(d, "it looks transposed: write transpose(...)");
}

static void hint_result_type(Diag *d, const Why *why) {
  diag_hint(d,
            "write the result type of `%s%s`: a function whose types are all "
            "written may call itself at other dimensions",
            why->sigil, why->name ? why->name->text : "fn");
}

/* A reason without types is that of an instance, for a named dimension that
 * received two numbers; then there are only the numbers to show. */
void report_dims(Infer *in, Why *why, Dim from, Dim to, const Slot *slot) {
  if (!why || why->reported) return;
  if (!why->found) {
    why->reported = true;
    diag_error(in->p->diags, E0209, why->span, "dimensions differ: %s and %s",
               dim_text(in, to), dim_text(in, from));
    return;
  }
  const char *expected = ty_text_narrow(in, why->expected);
  Diag *d =
      diag_error(in->p->diags, E0209, why->span, "%s: expected %s, found %s",
                 subject(in, why), expected, ty_text(in, why->found));
  note_sides(in, d, why, expected);
  note_first(in, d, why, slot);
  note_parts(in, d, why, expected);
  diag_note(d, SPAN_NONE, "dimensions %s and %s differ", dim_text(in, to),
            dim_text(in, from));
  if (why->recursive) hint_result_type(d, why);
  else hint_transposed(d, why);
}

/* --- Operators ----------------------------------------------------------- */

/* Shows where an operand that is a variable got its type. */
static void note_operand(Infer *in, Diag *d, const Constraint *c, int i) {
  const Expr *e = c->operands[i];
  if (e->kind != EX_VAR) return;
  diag_note(d, e->var->span, "`%%%s` is %s", e->var->name->text,
            ty_text(in, c->args[i]));
}

/* Of operands of two dtypes, is `i` a literal that may take the dtype of `k`?
 * Then `d`, if it is not NULL, says how. */
static bool may_follow(Infer *in, Diag *d, const Constraint *c,
                       const RuleCall *call, int i, int k) {
  if (call->code != E0207 || !c->operands || i < 0 || k < 0) return false;
  return hint_literal(in, d, c->operands[i]->span, call->args[k].dtype);
}

bool hint_inside(Diag *d, Ty *t) {
  switch (ty_head(t)->kind) {
    case K_TENSOR:
      if (ty_head(t)->rank == 0) return false;
      diag_hint(d, "an element is take(%%x, 0, axis=0)");
      break;
    case K_REF: diag_hint(d, "what a cell holds is ref_read(%%r)"); break;
    case K_FN: diag_hint(d, "a function is called: %%f(%%x)"); break;
    case K_ADT:
      diag_hint(d, "what is in it comes by match (%%x) { ... }");
      break;
    case K_TUPLE:
      if (ty_head(t)->count == 0) return false;
      diag_hint(d, "a tuple's fields are %%t.0, %%t.1 and so on");
      break;
    default: return false;
  }
  return true;
}

/* What was probably meant by an operand that is no tensor. */
static bool hint_no_tensor(Infer *in, Diag *d, Ty *t) {
  TyKind kind = ty_head(t)->kind;
  if (kind != K_RIGID) return kind != K_TENSOR && hint_inside(d, t);
  diag_hint(d,
            "`%s` may be any type: operators take parameters such as "
            "%%x: Tensor[(2, 3), float32]",
            ty_text(in, t));
  return true;
}

/* The place of the attribute that is to blame, else that of the call. */
static Span blamed_span(const Constraint *c, const RuleCall *call) {
  int attr = rule_blamed(call, c->attrs);
  if (attr < 0) return c->span;
  const AttrValue *v = &c->attrs->values[attr];
  if (v->operand >= 0 && c->operands) return c->operands[v->operand]->span;
  return span_exists(v->at) ? v->at : c->span;
}

/* The rule names a culprit and the operand that it clashes with.  If the other
 * one of the two is a literal that may follow, the message moves there: in `%x
 * + 1` the 1 is what the user will change. */
void report_rule(Infer *in, Constraint *c, const RuleCall *call) {
  int i = call->culprit, k = call->other;
  bool other = !may_follow(in, NULL, c, call, i, k) &&
               may_follow(in, NULL, c, call, k, i);
  if (other) i = call->other, k = call->culprit;
  bool shown = c->operands && i >= 0 && i < c->count;
  Span span = shown ? c->operands[i]->span : blamed_span(c, call);
  const Expr *tuple = shown && call->list ? c->operands[i] : NULL;
  Ty *type = shown ? c->args[i] : NULL;
  bool element = tuple && tuple->kind == EX_TUPLE && call->field >= 0 &&
                 call->field < tuple->count;
  if (element) {
    span = tuple->args[call->field]->span;
    type = ty_head(type)->args[call->field];
  }
  Diag *d = diag_error(in->p->diags, call->code, span, "%s", call->message);
  if (shown) {
    diag_caption(d, "%s", ty_text(in, type));
    note_operand(in, d, c, i);
  }
  if (element && call->code == E0207 &&
      hint_literal(in, d, span, call->args[i].fields[0].dtype))
    return;
  if (c->operands && k >= 0 && k < c->count) note_operand(in, d, c, k);
  if (may_follow(in, d, c, call, i, k)) return;
  bool no_tensor = call->code == E0212 && shown;
  if (no_tensor && is_list(c)) {
    diag_hint(d, "a list of what is no tensor is written List[...]");
    return;
  }
  if (no_tensor && hint_no_tensor(in, d, c->args[i])) return;
  if (call->hint) diag_hint(d, "%s", call->hint);
}

/* The first operand that is not known. */
static int unknown_operand(Infer *in, const Constraint *c) {
  for (int i = 0; i < c->count; i++)
    if (ty_is_open(in, c->args[i])) return i;
  return -1;
}

static const char *operand_types(Infer *in, const Constraint *c) {
  const char *text = "";
  for (int i = 0; i < c->count; i++) {
    text = arena_printf(in->arena, "%s%s%s", text, i ? ", " : "",
                        ty_text(in, c->args[i]));
  }
  return text;
}

/* The example is a type that can be copied: holes become float32, as most
 * numbers are. */
void hint_annotation(Infer *in, Diag *d, const char *sigil, const Name *name,
                     Ty *known) {
  StrBuf example;
  strbuf_init(&example, in->mem);
  for (const char *at = known ? ty_text(in, known) : "_"; *at; at++) {
    bool hole = *at == '_' && !in_word(at[1]) &&
                (example.len == 0 || !in_word(VEC_LAST(&example)));
    if (hole) strbuf_add(&example, "float32");
    else strbuf_add_char(&example, *at);
  }
  diag_hint(d, "annotate `%s%s`, as in %s%s: %s", sigil, name->text, sigil,
            name->text, strbuf_text(&example));
  strbuf_done(&example);
}

static void hint_operand_type(Infer *in, Diag *d, const Expr *e) {
  if (e->kind != EX_VAR) return;
  hint_annotation(in, d, "%", e->var->name, NULL);
  diag_note(d, e->var->span, "nothing determines its type");
}

/* A type in scope that has the field. */
static const Adt *type_with_field(Infer *in, const Name *field) {
  for (const Scope *s = &in->c->scope; s; s = s->outer)
    for (size_t i = 0; i < s->adts.cap; i++) {
      const Adt *adt = s->adts.slots[i].key ? s->adts.slots[i].value : NULL;
      if (adt && adt->ctor_count == 1 && ctor_field(adt->ctors, field) >= 0)
        return adt;
    }
  return NULL;
}

static void hint_field_type(Infer *in, Diag *d, const Expr *field) {
  bool with = field->sugar == SUGAR_WITH;
  const Name *name = with ? field->call.attrs[0].name : field->field.name;
  const Adt *adt = type_with_field(in, name);
  const Expr *e = field->args[0];
  if (e->kind != EX_VAR || !adt) {
    hint_operand_type(in, d, e);
    return;
  }
  const char *var = e->var->name->text, *holes = "";
  for (int i = 0; i < adt->param_count; i++)
    holes = arena_printf(in->arena, "%s%s_", holes, i ? ", " : "");
  diag_hint(d,
            *holes ? "annotate `%%%s`, as in %%%s: %s[%s]"
                   : "annotate `%%%s`, as in %%%s: %s",
            var, var, adt->name->text, holes);
  diag_note(d, e->var->span, "nothing determines its type");
}

void report_form_value(Infer *in, const Constraint *c) {
  Diag *d = diag_error(in->p->diags, E0202, c->span,
                       "`%s` can only be called: it is a form, not a function "
                       "that can be passed on",
                       c->op->name);
  diag_hint(d, "write a `fn` that calls it: fn (...) { %s(...) }", c->op->name);
}

static void report_operands(Infer *in, const Constraint *c) {
  int i = unknown_operand(in, c);
  Diag *d =
      diag_error(in->p->diags, E0202, c->span,
                 "the operands of `%s` are not known well enough: (%s)",
                 is_list(c) ? "[...]" : c->op->name, operand_types(in, c));
  if (i >= 0 && c->operands) hint_operand_type(in, d, c->operands[i]);
}

void report_stuck(Infer *in, Constraint *c) {
  Diags *diags = in->p->diags;
  Diag *d;
  switch (c->kind) {
    case C_RULE: report_operands(in, c); return;
    case C_OP_VALUE:
      if (op_is_form(c->op)) {
        report_form_value(in, c);
        return;
      }
      d = diag_error(diags, E0202, c->span,
                     "the type at which `%s` is used as a value is not known",
                     c->op->name);
      diag_hint(d, "write a `fn` with annotated parameters");
      return;
    case C_PROJ:
      d = diag_error(diags, E0202, c->span,
                     "the type of this tuple is not known");
      hint_operand_type(in, d, c->e->args[0]);
      return;
    case C_FIELD:
      d = diag_error(diags, E0202, c->span,
                     "the type of the value whose field this is is not known");
      hint_field_type(in, d, c->e);
      return;
    case C_FORM: return; /* says nothing to a user: it becomes `?` */
    case C_INSTANCE: report_no_instance(in, c); return;
    case C_FORM_OF:
      d = diag_error(diags, E0202, c->span,
                     "the types of the function that `%s` differentiates are "
                     "not known",
                     c->op->name);
      diag_hint(d,
                "annotate its parameters and its result: "
                "fn (%%x: float32) -> float32 { ... }");
      return;
    case C_LEAVES:
      d = diag_error(diags, E0202, c->e->args[1]->span,
                     "`map_leaves` must know what this value holds");
      diag_hint(d, "annotate it: %%params: (Tensor[(3), float32], float32)");
      return;
    case C_PATTERN:
      d = diag_error(diags, E0202, c->pattern->span,
                     "what `%s` takes apart has a type that is not known",
                     c->pattern->ctor->name->text);
      diag_note(d, c->span, "this is what is matched");
      diag_hint(d, "annotate it: `%s` is another type for each shape and dtype",
                c->pattern->ctor->adt->name->text);
      return;
  }
}
