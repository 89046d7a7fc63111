/* Messages about text that does not parse: the mistakes that the driver finds,
 * with exact lists of the tokens that could have stood there.
 *
 *   expected `,`, `)` or an operator, found `;`
 *
 * The list comes from the grammar itself: each kind of token is asked for
 * (grammar_expects), and sets of kinds that always come together get one name.
 * So it cannot disagree with what the parser takes.
 *
 * What is reported, in this order:
 *
 *   1. a word of another language that began what is under way
 *   2. a parameter without its `%`
 *   3. a bracket that is never closed, if the token shows it
 *   4. the token, with what could stand in its place, and a hint (hint.c) */
#include <string.h>

#include "parser/parse.h"

/* --- Names of tokens ---------------------------------------------------- */

/* In the order in which a message lists them. */
static const struct TokenName {
  int kind;
  const char *name;
} token_names[] = {
    {TK_SEMI, "`;`"},
    {TK_COMMA, "`,`"},
    {TK_RPAREN, "`)`"},
    {TK_RBRACKET, "`]`"},
    {TK_RBRACE, "`}`"},
    {TK_COLON, "`:`"},
    {TK_EQ, "`=`"},
    {TK_ARROW, "`->`"},
    {TK_FATARROW, "`=>`"},
    {TK_BAR, "`|`"},
    {TK_LPAREN, "`(`"},
    {TK_LBRACKET, "`[`"},
    {TK_LBRACE, "`{`"},
    {TK_DOT, "`.`"},
    {TK_LET, "`let`"},
    {TK_AND, "`and`"},
    {TK_ELSE, "`else`"},
    {TK_IF, "`if`"},
    {TK_FN, "`fn`"},
    {TK_DEF, "`def`"},
    {TK_TYPE, "`type`"},
    {TK_TENSOR, "`Tensor`"},
    {TK_REF, "`ref`"},
    {TK_UNDERSCORE, "`_`"},
    {TK_QUESTION, "`?`"},
    {TK_LOCAL, "a variable `%x`"},
    {TK_GLOBAL, "a global name `@f`"},
    {TK_GRAPH, "a graph variable `%0`"},
    {TK_IDENT, "a name"},
    {TK_NUMBER, "a number"},
    {TK_INDEX, "a field's number"},
    {TK_STRING, "a string"},
    {TK_META, "`meta[...]`"},
    {TK_ELLIPSIS, "`...`"},
    {TK_PLUS, "`+`"},
    {TK_MINUS, "`-`"},
    {TK_STAR, "`*`"},
    {TK_SLASH, "`/`"},
    {TK_GT, "`>`"},
};

/* Sets of tokens that get one name when all of them are possible.  Tokens that
 * are possible whenever the set is are not listed. */
enum { SET_MAX = 24 };
static const struct TokenSet {
  const char *name;
  int all[6];
  int also[SET_MAX];
} token_sets[] = {
    {"a definition, a `let` or an expression",
     {TK_DEF, TK_TYPE, TK_PARAM, TK_LET, TK_NUMBER},
     {TK_DEF, TK_TYPE, TK_EXTERN, TK_PARAM, TK_IMPORT, TK_LET, TK_FREE_VAR,
      TK_VERSION, TK_UNDERSCORE}},
    {"an expression",
     {TK_NUMBER, TK_IF, TK_TRUE, TK_FN},
     {TK_LET, TK_FREE_VAR, TK_UNDERSCORE}},
    {"a type",
     {TK_TENSOR, TK_UNDERSCORE, TK_FN},
     {TK_TENSOR, TK_UNDERSCORE, TK_FN, TK_IDENT, TK_LPAREN, TK_REF, TK_META}},
    {"a pattern",
     {TK_UNDERSCORE, TK_LOCAL, TK_IDENT, TK_LPAREN},
     {TK_UNDERSCORE, TK_LOCAL, TK_IDENT, TK_LPAREN, TK_NUMBER}},
    {"a dimension",
     {TK_QUESTION, TK_NUMBER, TK_IDENT},
     {TK_QUESTION, TK_NUMBER, TK_IDENT, TK_META, TK_LPAREN}},
    {"an operator",
     {TK_STAR, TK_LT, TK_ANDAND},
     {TK_PIPE, TK_OROR, TK_ANDAND, TK_EQEQ, TK_NE, TK_LT, TK_LE, TK_GT, TK_GE,
      TK_PLUS, TK_MINUS, TK_STAR, TK_SLASH, TK_LPAREN, TK_DOT}},
};

/* --- What could stand here ---------------------------------------------- */

enum { KINDS = TK_SIGNED, EXPECTED_MAX = 16 };

typedef struct Expected {
  bool can[KINDS];
  const char *names[EXPECTED_MAX];
  int count;
} Expected;

static void expect(Expected *x, const char *name) {
  if (x->count < EXPECTED_MAX) x->names[x->count++] = name;
}

/* Only kinds that a message names are asked for: each question is a replay. */
static void find_expected(const Parse *p, Expected *x) {
  *x = (Expected){0};
  for (size_t i = 0; i < sizeof token_names / sizeof *token_names; i++) {
    int kind = token_names[i].kind;
    x->can[kind] = grammar_expects(p->grammar, kind);
  }
  for (size_t i = 0; i < sizeof token_sets / sizeof *token_sets; i++)
    for (const int *k = token_sets[i].all; *k; k++)
      x->can[*k] = grammar_expects(p->grammar, *k);
}

static bool has_all(const Expected *x, const struct TokenSet *set) {
  for (const int *k = set->all; *k; k++)
    if (!x->can[*k]) return false;
  return true;
}

/* Puts one name for each set that is possible as a whole.  A larger set comes
 * first in the table and takes away the members of the smaller ones.  What
 * begins an operand is part of each set with expressions, and of no other. */
static void fold_sets(Expected *x, const char **folded, int *count) {
  for (size_t i = 0; i < sizeof token_sets / sizeof *token_sets; i++) {
    const struct TokenSet *set = &token_sets[i];
    if (!has_all(x, set)) continue;
    folded[(*count)++] = set->name;
    bool starts_expression = x->can[TK_IF];
    for (const int *k = set->also; *k; k++) x->can[*k] = false;
    if (!starts_expression) continue;
    for (int k = 0; k < KINDS; k++)
      if (token_begins_operand(k)) x->can[k] = false;
  }
}

/* Separators and closers first, then the sets. */
static void list_expected(const Parse *p, Expected *x) {
  const char *folded[EXPECTED_MAX];
  int count = 0;
  find_expected(p, x);
  fold_sets(x, folded, &count);
  for (size_t i = 0; i < sizeof token_names / sizeof *token_names; i++)
    if (x->can[token_names[i].kind]) expect(x, token_names[i].name);
  for (int i = 0; i < count; i++) expect(x, folded[i]);
}

/* "`,`, `)` or an operator"  The last two are joined by "or". */
static void expected_text(const Expected *x, StrBuf *out) {
  for (int i = 0; i < x->count; i++) {
    if (i > 0) strbuf_add(out, i + 1 < x->count ? ", " : " or ");
    strbuf_add(out, x->names[i]);
  }
}

/* --- Reports ------------------------------------------------------------ */

enum { FOUND_MAX = 40 };

/* The first line of the token, at most FOUND_MAX bytes of it. */
static void found_text(const Parse *p, Token t, StrBuf *out) {
  uint32_t len;
  const char *text = token_text(&p->builder, t, &len);
  if (t.kind == TK_END) {
    strbuf_add(out, "the end of the text");
    return;
  }
  const char *newline = memchr(text, '\n', len);
  uint32_t shown = newline ? (uint32_t)(newline - text) : len;
  bool cut = shown < len || shown > FOUND_MAX;
  if (shown > FOUND_MAX) shown = FOUND_MAX;
  strbuf_addf(out, "`%.*s%s`", (int)shown, text, cut ? "..." : "");
}

/* Where a missing token is reported: after the last token, when the text has
 * ended, and not on some empty line after it. */
static Span place_of(const Parse *p) {
  bool behind = p->token.kind == TK_END && p->previous.kind != TK_END;
  uint32_t at = p->previous.span.hi;
  return behind ? (Span){at, at} : p->token.span;
}

static bool closes(int kind) {
  return kind == TK_RPAREN || kind == TK_RBRACKET || kind == TK_RBRACE;
}

static int closer_of(int opener) {
  return opener == TK_LPAREN     ? TK_RPAREN
         : opener == TK_LBRACKET ? TK_RBRACKET
                                 : TK_RBRACE;
}

bool closes_open(const Parse *p, int kind) {
  for (size_t i = 0; closes(kind) && i < p->open.len; i++)
    if (closer_of(p->open.data[i].kind) == kind) return true;
  return false;
}

/* The innermost bracket that is never closed, as the unexpected token shows:
 * the text ends inside it, another kind of bracket closes, or a definition
 * begins.  A closing bracket of the right kind that just does not fit here says
 * nothing of the kind. */
static const Token *never_closed(const Parse *p) {
  if (p->open.len == 0) return NULL;
  const Token *opener = &VEC_LAST(&p->open);
  int kind = p->token.kind;
  bool other = closes_open(p, kind) && kind != closer_of(opener->kind);
  return p->item_inside || kind == TK_END || other ? opener : NULL;
}

static const char *opener_text(int kind) {
  return kind == TK_LPAREN ? "(" : kind == TK_LBRACKET ? "[" : "{";
}

static const char *closer_text(int opener) {
  return opener == TK_LPAREN ? ")" : opener == TK_LBRACKET ? "]" : "}";
}

static void report_never_closed(const Parse *p, const Token *opener,
                                const char *expected, const char *found) {
  Diag *d =
      diag_error(p->builder.program->diags, E0004, opener->span,
                 "this `%s` is never closed: expected `%s` before %s",
                 opener_text(opener->kind), closer_text(opener->kind), found);
  diag_note(d, place_of(p), "here could stand %s", expected);
}

/* A block that is empty, or ends in a binding.  `{ }` and `{ let %x = 1; }`:
 * every block has a value. */
static bool lacks_value(const Parse *p) {
  int before = p->previous.kind;
  return p->token.kind == TK_RBRACE && p->open.len > 0 &&
         VEC_LAST(&p->open).kind == TK_LBRACE &&
         (before == TK_SEMI || before == TK_LBRACE);
}

/* The mistakes that any list or sequence can have. */
static const char *general_hint(const Parse *p) {
  const Grammar *g = p->grammar;
  bool operand = token_begins_operand(p->token.kind);
  if (operand && grammar_expects(g, TK_COMMA))
    return "items of a list are separated by `,`";
  int inside = p->open.len ? VEC_LAST(&p->open).kind : TK_END;
  bool sequence = operand || inside == TK_LBRACE || inside == TK_END;
  if (sequence && grammar_expects(g, TK_SEMI)) {
    return p->open.len ? "a `;` ends a let and each item of a sequence"
                       : "an item ends with `;`";
  }
  if (operand && p->previous.kind == TK_COMMA && grammar_expects(g, TK_IDENT) &&
      grammar_expects(g, TK_RPAREN))
    return "attributes and named fields, `name=value`, come last";
  return NULL;
}

/* A hint that knows the construct is better than the general ones. */
static void report_unexpected(Parse *p, const char *expected,
                              const char *found) {
  bool valueless = lacks_value(p);
  Diag *d = diag_error(p->builder.program->diags, valueless ? E0009 : E0004,
                       place_of(p), "expected %s, found %s", expected, found);
  if (valueless) {
    diag_hint(d,
              "a block ends in the expression that is its value; `()` is "
              "the empty one");
    return;
  }
  hint_add(p, d);
  const char *general = d->hint ? NULL : general_hint(p);
  if (general) diag_hint(d, "%s", general);
}

/* `x: int32` among the parameters of a definition: the name is amiss, not what
 * follows it.  A function's attributes stand there, too: x=1. */
static bool report_bare_parameter(Parse *p) {
  const Grammar *g = p->grammar;
  bool bare = p->previous.kind == TK_IDENT && p->token.kind != TK_LOCAL &&
              p->in_definition && grammar_expects(g, TK_EQ) &&
              grammar_expects(g, TK_DOT) && !grammar_expects(g, TK_PLUS);
  if (!bare) return false;
  uint32_t len;
  const char *text = token_text(&p->builder, p->previous, &len);
  Diag *d = diag_error(p->builder.program->diags, E0004, p->previous.span,
                       "expected a variable `%%%.*s`, found `%.*s`", (int)len,
                       text, (int)len, text);
  diag_hint(d, "a parameter is written %%%.*s, an attribute x=1", (int)len,
            text);
  return true;
}

/* A word such as `return` explains every mistake that follows from it. */
static bool report_foreign(Parse *p) {
  Token word;
  const char *hint = hint_foreign(p, &word);
  if (!hint) return false;
  uint32_t len;
  const char *text = token_text(&p->builder, word, &len);
  Diag *d = diag_error(p->builder.program->diags, E0004, word.span,
                       "there is no `%.*s` in this language", (int)len, text);
  diag_hint(d, "%s", hint);
  return true;
}

/* `@main = primfn(...)`: what TVM prints of a module that it has lowered.  The
 * token at fault is the `=`, so the word after it is read from the source. */
static bool report_tir(Parse *p) {
  static const char word[] = "primfn";
  if (p->token.kind != TK_EQ || p->previous.kind != TK_GLOBAL) return false;
  uint32_t len;
  const char *text = token_text(&p->builder, p->token, &len) + len;
  text += strspn(text, " \t\r\n");
  if (strncmp(text, word, strlen(word)) != 0) return false;
  const char *name = token_text(&p->builder, p->previous, &len);
  Diag *d =
      diag_error(p->builder.program->diags, E0004, p->previous.span,
                 "`%.*s` is a function of TIR, not of Relay", (int)len, name);
  diag_hint(d,
            "TIR is what TVM makes of Relay when it compiles: loops that write "
            "into buffers, which have no value here; give the module as it is "
            "before tvm.build or tvm.lower");
  return true;
}

/* Texts of messages are built in the program's Mem and freed here; diagnostics
 * keep copies. */
void mistake_unexpected(Parse *p) {
  StrBuf expected, found;
  Mem *mem = p->builder.program->mem;
  if (report_foreign(p) || report_bare_parameter(p) || report_tir(p)) return;
  strbuf_init(&expected, mem);
  strbuf_init(&found, mem);
  Expected x;
  list_expected(p, &x);
  expected_text(&x, &expected);
  found_text(p, p->token, &found);
  const Token *opener = never_closed(p);
  if (opener)
    report_never_closed(p, opener, strbuf_text(&expected), strbuf_text(&found));
  else report_unexpected(p, strbuf_text(&expected), strbuf_text(&found));
  strbuf_done(&expected);
  strbuf_done(&found);
}

/* A hint for a character that no token begins with. */
static const struct Meant {
  char character;
  const char *hint;
} meant[] = {
    {'&', "the operator is `&&`, or logical_and and bitwise_and"},
    {'%', "a variable is written %x, a remainder mod(%a, %b)"},
    {'^', "a power is written power(%a, %b), exclusive or bitwise_xor(%a, %b)"},
    {'~', "a complement is written bitwise_not(%a)"},
    {'@', "a matrix product is written nn.matmul(%a, %b)"},
    {'\\', "a function is written fn (%x: int32) { %x + 1 }"},
    {'$', "a variable is written %x"},
    {'`', "strings stand in double quotes"},
    {'\'', "strings stand in double quotes"},
    {'#', "comments begin with //"},
    {'\r', "a carriage return stands only before a newline"},
};

static bool beyond_ascii(char c) { return (unsigned char)c >= 0x80; }

/* The token of a bad character is one whole UTF-8 sequence, so that it prints.
 * Control characters are shown as numbers: a terminal would obey them. */
static void report_bad_character(Parse *p) {
  uint32_t len;
  const char *text = token_text(&p->builder, p->token, &len);
  unsigned char c = (unsigned char)*text;
  Diags *diags = p->builder.program->diags;
  Diag *d = c < ' ' ? diag_error(diags, E0001, p->token.span,
                                 "unexpected character \\x%02x", c)
                    : diag_error(diags, E0001, p->token.span,
                                 "unexpected character `%.*s`", (int)len, text);
  if (beyond_ascii(text[0]) || beyond_ascii(text[len])) {
    diag_hint(d,
              "a program is in ASCII; other characters stand in strings and "
              "comments only");
    return;
  }
  for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
    if (meant[i].character == *text) diag_hint(d, "%s", meant[i].hint);
}

/* An open comment or string reaches to the end of the text, so its beginning is
 * shown. */
void mistake_unreadable(Parse *p) {
  Span opener = {p->token.span.lo, p->token.span.lo + 1};
  Diags *diags = p->builder.program->diags;
  switch (p->token.kind) {
    case TK_OPEN_COMMENT:
      opener.hi++;
      diag_error(diags, E0002, opener, "this comment is never closed");
      return;
    case TK_OPEN_STRING:
      diag_error(diags, E0002, opener, "this string is never closed");
      return;
    default: report_bad_character(p);
  }
}

/* --- The version header ------------------------------------------------- */

/* Blanks may stand before each part of the header. */
static bool skip_text(const char **at, const char *wanted) {
  while (**at == ' ' || **at == '\t') ++*at;
  size_t len = strlen(wanted);
  if (strncmp(*at, wanted, len)) return false;
  *at += len;
  return true;
}

/* The scanner takes any `#[...]` for a header; the only one that Relay's text
 * has is its version. */
void parse_version(Parse *p, Token header) {
  uint32_t len;
  const char *at = token_text(&p->builder, header, &len);
  Diags *diags = p->builder.program->diags;
  p->builder.unit->version_header = true;
  if (!skip_text(&at, "#[") || !skip_text(&at, "version")) {
    diag_error(diags, E0005, header.span, "unknown attribute `%.*s`",
               (int)(len < FOUND_MAX ? len : FOUND_MAX),
               token_text(&p->builder, header, &len));
    return;
  }
  if (skip_text(&at, "=") && skip_text(&at, "\"0.0.5\"") && skip_text(&at, "]"))
    return;
  diag_error(diags, E0005, header.span,
             "the version of Relay's text is 0.0.5: expected "
             "`#[version = \"0.0.5\"]`, found `%.*s`",
             (int)(len < FOUND_MAX ? len : FOUND_MAX),
             token_text(&p->builder, header, &len));
}
