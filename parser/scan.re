/* The scanner's rules, for re2c: one block per mode (ordinary tokens, what
 * follows a dot or a minus sign, comments, strings).  The text ends with a
 * NUL that only marks its end.  literal.c decodes numbers and strings. */
#include "parser/scan.h"

#include "base/utf8.h"
#include "tensor/dtype.h"

#include <string.h>

/*!re2c
  re2c:define:YYCTYPE = "unsigned char";
  re2c:define:YYCURSOR = "s->cur";
  re2c:define:YYLIMIT = "s->end";
  re2c:yyfill:enable = 0;
  re2c:eof = 0;

  digit  = [0-9];
  letter = [A-Za-z_];
  alnum  = letter | digit;
  // A slash belongs to a name, except directly before one of % @ / and *.
  word   = letter (alnum | "/" alnum)*;
  plain  = [^%@/*\x00];
  // A name after a sigil may have parts: `fc.weight`, `layers.0.b`.  A number
  // that no word follows is a projection.
  part   = ("." digit+)* "." word;
  number = digit+ ("." digit*)? ([eE] [+-]? digit+)? (letter alnum*)?;
*/

Scanner scanner_over(const char *text, uint32_t len) {
  bool bom = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
  const char *start = bom ? text + 3 : text;
  return (Scanner){text, text + len, start, start, text, false};
}

/* How many bytes of `text` spell inff, nanf or one of their other widths as a
 * word of its own; 0 when they do not. */
static uint32_t scan_special_float(const char *text, uint32_t len) {
  if (len < 4 || (memcmp(text, "inf", 3) && memcmp(text, "nan", 3))) return 0;
  const char *slash = memchr(text, '/', len);
  uint32_t size = slash ? (uint32_t)(slash - text) : len;
  if (size == 4 && text[3] == 'f') return size;
  for (int i = 0; i < DTYPE_COUNT; i++) {
    const char *suffix = dtype_info[i].suffix;
    if (!dtype_is_float((DType)i)) continue;
    if (size == 3 + strlen(suffix) && !memcmp(text + 3, suffix, size - 3))
      return size;
  }
  return 0;
}

/* After the opener of a comment; comments nest. */
static int scan_comment(Scanner *s) {
  const char *YYMARKER;
  for (int depth = 1; depth > 0;) {
    /*!re2c
      "/" "*" { depth++; continue; }
      "*" "/" { depth--; continue; }
      $       { return TK_OPEN_COMMENT; }
      *       { continue; }
    */
  }
  return TK_COMMENT;
}

/* After the opening quote. */
static int scan_string(Scanner *s) {
  const char *YYMARKER;
  for (;;) {
    /*!re2c
      ["]          { return TK_STRING; }
      "\\" [^\x00] { continue; }
      $            { return TK_OPEN_STRING; }
      *            { continue; }
    */
  }
}

/* After a dot: digits are a field's index, and a word is a name, even if it is
 * a keyword elsewhere.  TK_END: neither stands here. */
static int scan_index(Scanner *s) {
  const char *YYMARKER, *YYCTXMARKER;
  /*!re2c
    digit+        { return TK_INDEX; }
    digit+ alnum+ { return TK_NUMBER; }
    word          { return TK_IDENT; }
    word "/" / plain { return TK_IDENT; }
    $             { return TK_END; }
    *             { s->cur = s->lo; return TK_END; }
  */
}

/* A name that was read; but inff and its like end at a slash. */
static int scan_word(Scanner *s) {
  uint32_t size = scan_special_float(s->lo, (uint32_t)(s->cur - s->lo));
  if (size == 0) return TK_IDENT;
  s->cur = s->lo + size;
  return TK_NUMBER;
}

/* After a run of minus signs: does a number follow? */
static bool scan_magnitude(Scanner *s) {
  const char *start = s->cur, *YYMARKER;
  uint32_t size;
  /*!re2c
    number { return true; }
    word   { size = scan_special_float(start, (uint32_t)(s->cur - start));
             s->cur = start + size;
             return size > 0; }
    $      { return false; }
    *      { return false; }
  */
}

/* After a minus sign.  The end of its run is remembered, so that a run that
 * is taken sign by sign is measured once. */
static int scan_minus(Scanner *s) {
  if (s->minus_end <= s->lo) s->minus_end = s->lo + strspn(s->lo, "-");
  s->cur = s->minus_end;
  return scan_magnitude(s) ? TK_SIGNED : scan_split_sign(s);
}

int scan_split_sign(Scanner *s) {
  s->cur = s->lo + 1;
  return TK_MINUS;
}

static int scan_metadata(Scanner *s) {
  s->cur = s->end;
  return TK_METADATA;
}

/* The rest of the character whose first byte was read. */
static int scan_bad_character(Scanner *s) {
  while (utf8_continues(*s->cur)) s->cur++;
  return TK_BAD_CHARACTER;
}

/* Words, names and numbers.  TK_END: none begins here. */
static int scan_name(Scanner *s) {
  const char *YYMARKER, *YYCTXMARKER;
  /*!re2c
    "let"       { return TK_LET; }
    "fn"        { return TK_FN; }
    "def"       { return TK_DEF; }
    "if"        { return TK_IF; }
    "else"      { return TK_ELSE; }
    "type"      { return TK_TYPE; }
    "match"     { return TK_MATCH; }
    "match?"    { return TK_MATCH_PARTIAL; }
    "extern"    { return TK_EXTERN; }
    "free_var"  { return TK_FREE_VAR; }
    "ref"       { return TK_REF; }
    "ref_read"  { return TK_REF_READ; }
    "ref_write" { return TK_REF_WRITE; }
    "and"       { return TK_AND; }
    "param"     { return TK_PARAM; }
    "import"    { return TK_IMPORT; }
    "gradient"  { return TK_GRADIENT; }
    "op"        { return TK_OP; }
    "where"     { return TK_WHERE; }
    "rule"      { return TK_RULE; }
    "when"      { return TK_WHEN; }
    "with"      { return TK_WITH; }
    "True"      { return TK_TRUE; }
    "False"     { return TK_FALSE; }
    "Tensor"    { return TK_TENSOR; }
    "_"         { return TK_UNDERSCORE; }

    "$" word                  { return TK_IDENT; }
    word                      { return scan_word(s); }
    word "/" / plain          { return scan_word(s); }
    "%" word part*            { return TK_LOCAL; }
    "%" word part* "/" / plain { return TK_LOCAL; }
    "@" word part*            { return TK_GLOBAL; }
    "@" word part* "/" / plain { return TK_GLOBAL; }
    "%" digit+                { return TK_GRAPH; }
    "meta[" [^[\]\n\x00]* "]" { return TK_META; }
    number                    { return TK_NUMBER; }
    $                         { return TK_END; }
    *                         { s->cur = s->lo; return TK_END; }
  */
}

/* Everything else. */
static int scan_mark(Scanner *s) {
  const char *YYMARKER;
  /*!re2c
    "-"  { return scan_minus(s); }
    "("  { return TK_LPAREN; }
    ")"  { return TK_RPAREN; }
    "["  { return TK_LBRACKET; }
    "]"  { return TK_RBRACKET; }
    "{"  { return TK_LBRACE; }
    "}"  { return TK_RBRACE; }
    ","  { return TK_COMMA; }
    ";"  { return TK_SEMI; }
    ":"  { return TK_COLON; }
    "."  { return TK_DOT; }
    "..." { return TK_ELLIPSIS; }
    "?"  { return TK_QUESTION; }
    "="  { return TK_EQ; }
    "->" { return TK_ARROW; }
    "=>" { return TK_FATARROW; }
    "+"  { return TK_PLUS; }
    "*"  { return TK_STAR; }
    "/"  { return TK_SLASH; }
    "<"  { return TK_LT; }
    "<=" { return TK_LE; }
    ">"  { return TK_GT; }
    ">=" { return TK_GE; }
    "==" { return TK_EQEQ; }
    "!=" { return TK_NE; }
    "&&" { return TK_ANDAND; }
    "||" { return TK_OROR; }
    "!"  { return TK_BANG; }
    "|"  { return TK_BAR; }
    "|>" { return TK_PIPE; }

    ["]                               { return scan_string(s); }
    "//" [^\n\x00]*                   { return TK_COMMENT; }
    "/" "*"                           { return scan_comment(s); }
    "#[" [ \t]* "metadata" [ \t]* "]" { return scan_metadata(s); }
    "#[" [^[\]\n\x00]* "]"            { return TK_VERSION; }
    $                                 { return TK_END; }
    *                                 { return scan_bad_character(s); }
  */
}

/* A carriage return is a blank only before a newline. */
static const char *skip_blanks(const char *at) {
  for (;; at++) {
    bool crlf = at[0] == '\r' && at[1] == '\n';
    if (*at != ' ' && *at != '\t' && *at != '\n' && !crlf) return at;
  }
}

int scan_next(Scanner *s) {
  s->cur = s->lo = skip_blanks(s->cur);
  int kind = s->after_dot ? scan_index(s) : TK_END;
  if (kind == TK_END) kind = scan_name(s);
  if (kind == TK_END) kind = scan_mark(s);
  if (kind != TK_COMMENT) s->after_dot = kind == TK_DOT;
  return kind;
}
