/* Hints for a text that does not parse: words and pairs of tokens that other
 * languages have, and what the grammar wants at this place.  The first that
 * fits is given.
 *
 * A hint is a guess at what was meant, so it must be right nearly always or not
 * be given.  What it may look at is small on purpose: the token that does not
 * fit, the two before it, the innermost open bracket, and, through
 * grammar_expects, which tokens could stand here.  The latter tells places
 * apart without a copy of the grammar:
 *
 *   an expression may begin     expects NUMBER, not QUESTION
 *   an operand has ended        expects PLUS
 *   in a function's parameters  expects EQ and DOT, not PLUS
 *   before a body               expects LBRACE, not NUMBER
 *
 * The order of the tables is that of how sure they are. */
#include <ctype.h>
#include <string.h>

#include "ir/foreign.h"
#include "parser/parse.h"

/* --- Kinds of tokens ------------------------------------------------------ */

/* What mistake.c folds into "an expression", and what may follow a name on its
 * line where a call was meant. */
bool token_begins_operand(int kind) {
  static const int kinds[] = {
      TK_NUMBER,   TK_IF,        TK_TRUE,     TK_FALSE,         TK_FN,
      TK_IDENT,    TK_LOCAL,     TK_GLOBAL,   TK_GRAPH,         TK_META,
      TK_STRING,   TK_LPAREN,    TK_LBRACKET, TK_LBRACE,        TK_REF,
      TK_REF_READ, TK_REF_WRITE, TK_MATCH,    TK_MATCH_PARTIAL, TK_BANG,
      TK_MINUS,
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i] == kind) return true;
  return false;
}

static bool ends_operand(int kind) {
  static const int kinds[] = {
      TK_NUMBER, TK_TRUE,   TK_FALSE,  TK_IDENT,    TK_LOCAL,  TK_GLOBAL,
      TK_GRAPH,  TK_STRING, TK_RPAREN, TK_RBRACKET, TK_RBRACE, TK_INDEX,
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i] == kind) return true;
  return false;
}

static bool is_literal(int kind) {
  return kind == TK_NUMBER || kind == TK_TRUE || kind == TK_FALSE ||
         kind == TK_STRING;
}

static bool is_word(int kind) { return kind == TK_IDENT || kind == TK_AND; }

/* --- Words of other languages --------------------------------------------- */

/* Words such as `return`, `while` and `lambda` stand in ir/foreign.def with
 * what they are here. */
static const char *keyword_hint(Parse *p, Token t) {
  if (!is_word(t.kind)) return NULL;
  uint32_t len;
  const char *text = token_text(&p->builder, t, &len);
  return foreign_hint(text, len, FOREIGN_KEYWORD);
}

/* Dimensions begin with numbers, too, and are told apart by the `?`. */
static bool begins_expression(const Parse *p) {
  return !ends_operand(p->previous.kind) &&
         grammar_expects(p->grammar, TK_NUMBER) &&
         !grammar_expects(p->grammar, TK_QUESTION);
}

/* Does a word of another language begin an expression here?  Programs repeat
 * their words, so those that are in no table are remembered.  The cache is
 * indexed by the name's hash and holds one name a place; names are interned, so
 * comparing pointers is comparing names. */
static bool is_foreign(Parse *p, Token t) {
  const Name **plain = &p->plain[t.name->hash % PLAIN_MAX];
  if (*plain == t.name || !begins_expression(p)) return false;
  if (keyword_hint(p, t)) return true;
  *plain = t.name;
  return false;
}

void hint_watch(Parse *p) {
  int kind = p->token.kind;
  if (kind == TK_SEMI || kind == TK_COMMA || kind == TK_RBRACE)
    p->foreign.kind = TK_END;
  else if (kind == TK_IDENT && is_foreign(p, p->token)) p->foreign = p->token;
}

const char *hint_foreign(Parse *p, Token *word) {
  *word = p->foreign;
  return keyword_hint(p, p->foreign);
}

/* --- Pairs of tokens ------------------------------------------------------ */

enum { OPERAND = -1 }; /* a token that ends an operand */

static const char
    keeps[] = "a variable keeps its value: bind another, let %y = %x + 1;",
    choice[] = "a choice is written if (%c) { 1 } else { 2 }",
    element[] = "an element is take(%x, 0, axis=0), a tuple's field %t.0",
    tuple_let[] =
        "a let binds one variable; the fields of a tuple are %t.0, "
        "%t.1, or come by match (%t) { (%a, _) => %a }",
    fn_shape[] = "a function is written fn (%x: int32) { %x + 1 }",
    rule_shape[] = "a rule is written rule @r(%x: int32) { %x + 0 } => { %x }",
    remainder[] = "a remainder is written mod(%a, %b)",
    equality[] = "equality is written %a == %b",
    tensor_type[] = "a tensor's type is written Tensor[(2, 3), float32]";

/* The token that did not fit, after one that did.  `touching` keeps `a < <b>`
 * and the like out. */
static const struct Pair {
  int before, found;
  bool touching; /* no blank between them */
  const char *hint;
} pairs[] = {
    {TK_PLUS, TK_EQ, true, keeps},
    {TK_MINUS, TK_EQ, true, keeps},
    {TK_STAR, TK_EQ, true, keeps},
    {TK_SLASH, TK_EQ, true, keeps},
    {TK_PLUS, TK_PLUS, true, keeps},
    {TK_STAR, TK_STAR, true, "a power is written power(%a, %b)"},
    {TK_LT, TK_LT, true, "a shift is written left_shift(%a, %b)"},
    {TK_GT, TK_GT, true, "a shift is written right_shift(%a, %b)"},
    {TK_LT, TK_GT, true, "inequality is written %a != %b"},
    {TK_EQEQ, TK_EQ, true, equality},
    {TK_NE, TK_EQ, true, "inequality is written %a != %b"},
    {TK_SEMI, TK_SEMI, false, "there is nothing between the two `;`"},
    {TK_RBRACE, TK_SEMI, false, "a definition ends with its brace"},
    {TK_IMPORT, TK_IDENT, false, "a file is read by import \"path.rly\";"},
    {TK_GRADIENT, TK_LPAREN, false,
     "the gradient of a function is grad(@f)(%x).1"},
    {TK_FN, TK_LOCAL, false, fn_shape},
    {TK_FN, TK_IDENT, false, "a `fn` has no name: def @f(%x: int32) { %x }"},
    {TK_FN, TK_GLOBAL, false, "a `fn` has no name: def @f(%x: int32) { %x }"},
    {TK_ARROW, TK_LOCAL, false, fn_shape},
    {TK_ARROW, TK_LBRACE, false, fn_shape},
    {TK_LET, TK_LPAREN, false, tuple_let},
    {OPERAND, TK_BAR, false,
     "the operator is `||`, or logical_or and bitwise_or"},
    {OPERAND, TK_QUESTION, false, choice},
    {OPERAND, TK_IF, false, choice},
    {OPERAND, TK_LBRACKET, false, element},
};

static bool touches(Token left, Token right) {
  return left.span.hi == right.span.lo;
}

static const char *pair_hint(const Parse *p) {
  Token before = p->previous, found = p->token;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const struct Pair *pair = &pairs[i];
    bool fits = pair->before == OPERAND ? ends_operand(before.kind)
                                        : pair->before == before.kind;
    if (!fits || pair->found != found.kind) continue;
    if (!pair->touching || touches(before, found)) return pair->hint;
  }
  return NULL;
}

/* --- What the grammar wants ----------------------------------------------- */

static bool wants(const Parse *p, int kind) {
  return grammar_expects(p->grammar, kind);
}

static int innermost(const Parse *p) {
  return p->open.len ? VEC_LAST(&p->open).kind : TK_END;
}

/* Is there no newline between the last token and this one? */
static bool on_one_line(const Parse *p) {
  const SourceFile *source = p->builder.unit->source;
  const char *text = source->text - source->base;
  uint32_t lo = p->previous.span.hi, hi = p->token.span.lo;
  return !memchr(text + lo, '\n', hi - lo);
}

/* List<int32>, or List(int32). */
static const char *type_argument_hint(const Parse *p) {
  int found = p->token.kind;
  bool type = wants(p, TK_LBRACKET) && !wants(p, TK_LPAREN) &&
              !wants(p, TK_PLUS) && p->previous.kind == TK_IDENT;
  return type && (found == TK_LT || found == TK_LPAREN)
             ? "a type's arguments stand in brackets: List[int32]"
             : NULL;
}

/* Hints at what follows the parameters of a function, or `if` and its
 * condition. */
static const char *body_hint(const Parse *p) {
  int found = p->token.kind;
  if (found == TK_LT && p->previous.kind == TK_IDENT)
    return type_argument_hint(p);
  if (found == TK_EQ && wants(p, TK_ARROW) && !wants(p, TK_LBRACE))
    return "an operator says what its result is: "
           "op @f(%x: int32) -> int32 = { %x };";
  if (!wants(p, TK_LBRACE) || wants(p, TK_NUMBER)) return NULL;
  if (wants(p, TK_ARROW) && found == TK_COLON)
    return "the type of the result follows `->`";
  return "the body of a function and the branches of an `if` stand in braces";
}

/* The first character after the token that is no blank. */
static char char_after(const Parse *p) {
  const SourceFile *source = p->builder.unit->source;
  const char *at = source->text + (p->token.span.hi - source->base);
  return at[strspn(at, " \t\r\n")];
}

/* A condition of an operator, `where n > 1: "n is above 1"`, ends without what
 * it says. */
static const char *condition_hint(const Parse *p) {
  int found = p->token.kind;
  bool ends = found == TK_COMMA || found == TK_LBRACE ||
              (found == TK_EQ && char_after(p) == '{');
  bool condition = wants(p, TK_COLON) && wants(p, TK_PLUS) && !p->open.len;
  return ends && condition
             ? "a condition has a message: where n > 1: \"n is above 1\""
             : NULL;
}

/* Hints at what follows the name of a type that is declared, or of one of its
 * constructors. */
static const char *definition_hint(const Parse *p) {
  int found = p->token.kind;
  bool alias = wants(p, TK_SEMI) && (found == TK_LPAREN || found == TK_BAR);
  if (p->open.len == 0 && (found == TK_EQ || alias))
    return "constructors stand in braces: type Shape { Disc(float32), Empty }";
  if (p->open.len != 1 || innermost(p) != TK_LBRACE) return NULL;
  if (found == TK_BAR && wants(p, TK_COMMA))
    return "constructors are separated by `,`: { Disc(float32), Empty }";
  bool fields = found == TK_LBRACE || found == TK_LBRACKET || found == TK_COLON;
  if (fields && p->previous.kind == TK_IDENT && wants(p, TK_LPAREN) &&
      !wants(p, TK_FATARROW))
    return "a constructor's fields stand in parentheses: Disc(radius: float32)";
  return NULL;
}

static const char *type_hint(const Parse *p) {
  int before = p->previous.kind, found = p->token.kind;
  if (before == TK_TENSOR && wants(p, TK_LBRACKET)) return tensor_type;
  bool shape = before == TK_LBRACKET && wants(p, TK_LPAREN) &&
               !wants(p, TK_NUMBER) && !wants(p, TK_UNDERSCORE);
  bool dtype = before == TK_RPAREN && found == TK_RBRACKET &&
               wants(p, TK_COMMA) && !wants(p, TK_PLUS);
  if (shape || dtype) return tensor_type;
  if (found == TK_LBRACKET && wants(p, TK_TENSOR) && wants(p, TK_UNDERSCORE))
    return "a list's type is written List[int32], a tensor's "
           "Tensor[(2, 3), float32]";
  const char *hint = p->in_definition ? definition_hint(p) : NULL;
  return hint || found != TK_LPAREN ? hint : type_argument_hint(p);
}

/* Hints for places among parameters, where a bare name begins an attribute. */
static const char *parameter_hint(const Parse *p) {
  int before = p->previous.kind, found = p->token.kind;
  if (before == TK_GLOBAL && p->earlier.kind == TK_DEF && found == TK_LT)
    return "type parameters stand in brackets: def @f[T](%x: T) { %x }";
  if (before == TK_GLOBAL && p->earlier.kind == TK_DEF)
    return "the parameters of a function stand in parentheses: (%x: int32)";
  if (before == TK_LOCAL && found == TK_IDENT && wants(p, TK_COLON))
    return "a type follows a `:`, as in %x: int32";
  if (found == TK_EQ && wants(p, TK_RPAREN) && !wants(p, TK_PLUS))
    return "a parameter has no default value";
  bool operands = p->earlier.kind == TK_LPAREN || p->earlier.kind == TK_COMMA;
  if (found == TK_EQ && before == TK_LOCAL && operands &&
      innermost(p) == TK_LPAREN && wants(p, TK_COMMA)) {
    return "arguments go by their place; an attribute is written x=1, without "
           "a `%`";
  }
  if (p->previous.kind != TK_IDENT || !wants(p, TK_EQ) || !wants(p, TK_DOT) ||
      wants(p, TK_PLUS))
    return NULL;
  if (innermost(p) == TK_LBRACE)
    return "a changed copy is written {%x with field = value}";
  return p->token.kind == TK_LOCAL
             ? "the type of a parameter follows it: %x: int32"
             : "a parameter is written %x, an attribute x=1";
}

/* Hints for places among the types of a constructor's fields. */
static const char *field_hint(const Parse *p) {
  int before = p->previous.kind, found = p->token.kind;
  bool begins = before == TK_LPAREN || before == TK_COMMA;
  bool type = wants(p, TK_TENSOR) && wants(p, TK_UNDERSCORE);
  if (found == TK_LOCAL && begins && type && p->in_definition &&
      !wants(p, TK_LOCAL))
    return "the name of a field has no `%`: Disc(radius: float32)";
  bool types = wants(p, TK_COMMA) && wants(p, TK_COLON) && !wants(p, TK_PLUS);
  bool name = found == TK_LOCAL || found == TK_IDENT;
  return before == TK_IDENT && name && types
             ? "a field is written with its type: Disc(radius: float32)"
             : NULL;
}

static const char *copy_hint(const Parse *p) {
  return p->token.kind == TK_WITH
             ? "a changed copy has braces of its own: {%x with field = value}"
             : NULL;
}

static const char *match_hint(const Parse *p) {
  int found = p->token.kind;
  bool side = wants(p, TK_FATARROW) && !wants(p, TK_IF) && !wants(p, TK_PLUS);
  if (side) return rule_shape;
  if (wants(p, TK_FATARROW)) return "an arm is written Cons(%x, %rest) => %x";
  if (wants(p, TK_UNDERSCORE) && wants(p, TK_LOCAL) && !wants(p, TK_TENSOR) &&
      is_literal(found)) {
    return "a pattern is a constructor, a tuple, a number, a variable or `_`; "
           "what is in a tensor is asked by a guard, `%x if ... =>`";
  }
  return NULL;
}

/* Is the token the first one on its line? */
static bool begins_line(const Parse *p) {
  const SourceFile *source = p->builder.unit->source;
  const char *text = source->text;
  size_t at = p->token.span.lo - source->base;
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
  return at == 0 || text[at - 1] == '\n';
}

static const char *colon_hint(const Parse *p) {
  if (p->token.kind != TK_COLON) return NULL;
  const SourceFile *source = p->builder.unit->source;
  char after = source->text[p->token.span.hi - source->base];
  if (isalpha((unsigned char)after) && begins_line(p))
    return "commands such as :help are for the prompt: rly repl";
  if (!ends_operand(p->previous.kind)) return NULL;
  return after == ':'   ? "a list is written Cons(1, Cons(2, Nil))"
         : after == '=' ? "a variable is bound by let %x = 1; what a "
                          "cell holds is set by ref_write(%r, 1)"
         : p->previous.kind == TK_IDENT && wants(p, TK_EQ)
             ? "a named field or attribute is written x=1"
             : "a type stands where a name is bound: "
               "let %x: int32 = 1;";
}

/* Separators and brackets in places where they have no meaning. */
static const char *separator_hint(const Parse *p) {
  int found = p->token.kind;
  if (found == TK_SEMI && wants(p, TK_COMMA))
    return "items of a list are separated by `,`";
  if (found == TK_COMMA && p->previous.kind == TK_LOCAL &&
      p->earlier.kind == TK_LET)
    return tuple_let;
  if (found == TK_COMMA && innermost(p) != TK_LPAREN)
    return "a tuple stands in parentheses: (1, 2)";
  bool closes =
      found == TK_RPAREN || found == TK_RBRACKET || found == TK_RBRACE;
  if (closes && !closes_open(p, found))
    return "no bracket is open that it closes";
  return NULL;
}

static const char *operand_hint(const Parse *p) {
  bool follows = ends_operand(p->previous.kind) && on_one_line(p);
  if (follows && p->token.kind == TK_GRAPH && !wants(p, TK_COMMA))
    return remainder;
  bool arrow = p->token.kind == TK_FATARROW;
  if (follows && p->in_left_side && (arrow || p->token.kind == TK_EQ))
    return rule_shape;
  return follows && arrow ? fn_shape : NULL;
}

/* First what a single token decides; then the table, from constructs to mere
 * pairs. */
static const char *grammar_hint(const Parse *p) {
  static const char *(*const hints[])(const Parse *) = {
      body_hint,  condition_hint, type_hint,    copy_hint, match_hint,
      colon_hint, separator_hint, operand_hint, pair_hint,
  };
  if (wants(p, TK_ELSE)) {
    return "an `if` has a value and so an `else`; where there is nothing to "
           "do, else { () }";
  }
  if (p->token.kind == TK_ELSE)
    return "an `else` follows the brace of its `if`";
  if (p->previous.kind == TK_IF)
    return "a condition stands in parentheses: if (%c) { 1 } else { 2 }";
  if (wants(p, TK_INDEX))
    return "a tuple's fields are .0, .1 and so on, a constructor's have names";
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
    const char *hint = hints[i](p);
    if (hint) return hint;
  }
  return NULL;
}

/* --- Hints that name what was written ------------------------------------- */

static bool begins_item_or_line(const Parse *p) {
  int earlier = p->earlier.kind;
  return earlier == TK_END || earlier == TK_SEMI || earlier == TK_LBRACE ||
         earlier == TK_RBRACE;
}

/* `x = 1`: a let, or in an expression an equality. */
static bool hint_equals(Parse *p, Diag *d, const char *name, int len) {
  if (p->token.kind != TK_EQ || !ends_operand(p->previous.kind)) return false;
  int before = p->previous.kind;
  bool named = before == TK_LOCAL || before == TK_IDENT;
  bool binding = begins_item_or_line(p) && innermost(p) != TK_LPAREN;
  bool field = before == TK_LOCAL && memchr(name, '.', (size_t)len);
  if (field || p->earlier.kind == TK_DOT) {
    diag_hint(d, "a field is changed in a copy: let %%y = {%%x with f = 1};");
    return true;
  }
  if (named && binding)
    diag_hint(d, "a variable is bound by let %%%.*s = ...;", len, name);
  else if (before == TK_GLOBAL && binding)
    diag_hint(d, "a global value is bound by let %.*s = ...;", len, name);
  else diag_hint(d, "%s", equality);
  return true;
}

/* A name without its sigil, after `def` and `let`. */
static bool hint_sigil(Parse *p, Diag *d) {
  if (p->earlier.kind == TK_PARAM && p->token.kind != TK_COLON &&
      p->previous.kind == TK_GLOBAL) {
    diag_hint(d, "a param has a type: param @w: Tensor[(2, 3), float32];");
    return true;
  }
  uint32_t len;
  const char *name = token_text(&p->builder, p->token, &len);
  int before = p->previous.kind, found = p->token.kind;
  if (found == TK_LOCAL) name++, len--;
  bool name_follows = found == TK_IDENT || found == TK_LOCAL;
  if (before == TK_DEF && name_follows) {
    diag_hint(d, "the name of a function has an `@`: def @%.*s", (int)len,
              name);
  } else if (before == TK_LET && found == TK_IDENT) {
    diag_hint(d, "the name of a variable has a `%%`: let %%%.*s = ...;",
              (int)len, name);
  } else if (before == TK_PARAM && name_follows) {
    diag_hint(d, "the name of a param has an `@`: param @%.*s", (int)len, name);
  } else {
    return false;
  }
  return true;
}

/* `f x` on one line. */
static bool hint_call(const Parse *p, Diag *d, const char *name, int len) {
  int before = p->previous.kind;
  bool callee = before == TK_IDENT || before == TK_GLOBAL;
  bool operand = token_begins_operand(p->token.kind) &&
                 p->token.kind != TK_LBRACKET && p->token.kind != TK_IF;
  bool call = wants(p, TK_LPAREN) && wants(p, TK_PLUS);
  if (!callee || !operand || !call || !on_one_line(p)) return false;
  diag_hint(d, "arguments stand in parentheses: %.*s(...)", len, name);
  return true;
}

/* What names the user's own words comes before what speaks in general. */
void hint_add(Parse *p, Diag *d) {
  uint32_t len = 0;
  const char *name = "";
  if (ends_operand(p->previous.kind))
    name = token_text(&p->builder, p->previous, &len);
  if (p->previous.kind == TK_LOCAL) name++, len--;
  const char *word = parameter_hint(p);
  if (!word) word = field_hint(p);
  if (!word) word = keyword_hint(p, p->token);
  if (word) {
    diag_hint(d, "%s", word);
    return;
  }
  if (hint_sigil(p, d) || hint_call(p, d, name, (int)len)) return;
  const char *hint = grammar_hint(p);
  if (!hint && hint_equals(p, d, name, (int)len)) return;
  if (hint) diag_hint(d, "%s", hint);
}
