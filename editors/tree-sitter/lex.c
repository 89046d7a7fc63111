/* Characters to tokens, as parser/scan.re does it, over tree-sitter's lexer.
 *
 * `generate` puts this after the tables of words and marks that it makes of
 * scan.re, and of what a state takes: bits of its `state`. */

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

static bool is_alnum(int32_t c) {
  return is_digit(c) || c == '_' || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z');
}

static bool is_letter(int32_t c) { return is_alnum(c) && !is_digit(c); }

static void take(TSLexer *l) { l->advance(l, false); }

static bool ends_in(TSLexer *l, TSSymbol symbol) {
  l->mark_end(l);
  l->result_symbol = symbol;
  return true;
}

/* A token whose end was marked. */
static bool is_token(TSLexer *l, TSSymbol symbol) {
  l->result_symbol = symbol;
  return true;
}

/* A text as far as a word of the tables is long. */
typedef struct Text {
  char bytes[LONGEST_TEXT + 2];
  unsigned len;
} Text;

static void take_into(TSLexer *l, Text *t) {
  if (t->len < sizeof t->bytes - 1) t->bytes[t->len++] = (char)l->lookahead;
  t->bytes[t->len] = '\0';
  take(l);
}

static TSSymbol find(const Spelling *table, const char *text) {
  for (; table->text; table++)
    if (!strcmp(table->text, text)) return table->symbol;
  return 0;
}

/* --- Words and names ------------------------------------------------------ */

/* A slash belongs to a name, except directly before one of % @ / and *.  The
 * part before the first slash is `first`. */
static void take_word(TSLexer *l, Text *first) {
  Text rest = {"", 0};
  for (Text *t = first;; t = &rest) {
    while (is_alnum(l->lookahead)) take_into(l, t);
    l->mark_end(l);
    if (find(specials, first->bytes) || l->lookahead != '/') return;
    take(l);
    if (is_alnum(l->lookahead)) {
      first->len = LONGEST_TEXT; /* no word of the tables has a slash */
      first->bytes[0] = '/';
      continue;
    }
    if (!l->eof(l) && !strchr("%@/*", l->lookahead)) {
      first->bytes[0] = '/';
      l->mark_end(l);
    }
    return;
  }
}

/* `layers.0.b` after a sigil: a number is a part of the name when a word
 * follows. */
static bool take_name(TSLexer *l, TSSymbol symbol) {
  for (;;) {
    Text word = {"", 0};
    take_word(l, &word);
    do {
      if (l->lookahead != '.') return is_token(l, symbol);
      take(l);
      if (is_digit(l->lookahead))
        while (is_digit(l->lookahead)) take(l);
      else if (!is_letter(l->lookahead)) return is_token(l, symbol);
    } while (!is_letter(l->lookahead));
  }
}

static bool take_sigil(TSLexer *l, TSSymbol symbol) {
  take(l);
  if (is_letter(l->lookahead)) return take_name(l, symbol);
  if (symbol != sym_LOCAL || !is_digit(l->lookahead)) return false;
  while (is_digit(l->lookahead)) take(l);
  return ends_in(l, sym_GRAPH);
}

/* meta[relay.Constant], of which `meta` has been taken. */
static bool take_meta(TSLexer *l) {
  if (l->lookahead == '[') {
    take(l);
    while (!l->eof(l) && !strchr("[]\n", l->lookahead)) take(l);
    if (l->lookahead == ']') {
      take(l);
      return ends_in(l, sym_META);
    }
  }
  return is_token(l, sym_IDENT);
}

static bool take_any_word(TSLexer *l) {
  Text word = {"", 0};
  take_word(l, &word);
  if (find(specials, word.bytes)) return is_token(l, sym_NUMBER);
  if (!strcmp(word.bytes, "meta")) return take_meta(l);
  TSSymbol symbol = find(words, word.bytes);
  if (l->lookahead == '?' && word.len < LONGEST_TEXT) {
    take_into(l, &word);
    TSSymbol longer = find(words, word.bytes);
    if (longer) return ends_in(l, longer);
  }
  return is_token(l, symbol ? symbol : sym_IDENT);
}

/* --- Numbers, strings, comments ------------------------------------------- */

static bool take_number(TSLexer *l) {
  while (is_digit(l->lookahead)) take(l);
  if (l->lookahead == '.') {
    take(l);
    while (is_digit(l->lookahead)) take(l);
  }
  l->mark_end(l);
  bool power = l->lookahead == 'e' || l->lookahead == 'E';
  if (power) {
    take(l);
    l->mark_end(l);
  }
  if (power && (l->lookahead == '+' || l->lookahead == '-')) {
    take(l);
    if (!is_digit(l->lookahead)) return is_token(l, sym_NUMBER);
  }
  while (is_alnum(l->lookahead)) take(l);
  return ends_in(l, sym_NUMBER);
}

/* After a dot: a field's index, or a name, even if it is a word elsewhere. */
static bool take_index(TSLexer *l) {
  if (is_letter(l->lookahead)) {
    Text word = {"", 0};
    take_word(l, &word);
    return is_token(l, sym_IDENT);
  }
  while (is_digit(l->lookahead)) take(l);
  return ends_in(l, sym_INDEX);
}

static bool take_string(TSLexer *l) {
  take(l);
  for (; !l->eof(l); take(l)) {
    if (l->lookahead == '"') {
      take(l);
      return ends_in(l, sym_STRING);
    }
    if (l->lookahead == '\\') take(l);
  }
  return false;
}

/* After the slash and the star; comments nest. */
static bool take_comment(TSLexer *l) {
  for (int depth = 1, last = 0; !l->eof(l);) {
    int32_t c = l->lookahead;
    take(l);
    if (last == '/' && c == '*') depth++;
    else if (last == '*' && c == '/') depth--;
    else {
      last = c;
      continue;
    }
    if (depth == 0) return ends_in(l, sym_COMMENT);
    last = 0;
  }
  return false;
}

static bool take_slash(TSLexer *l) {
  take(l);
  if (l->lookahead == '/') {
    while (!l->eof(l) && l->lookahead != '\n') take(l);
    return ends_in(l, sym_COMMENT);
  }
  if (l->lookahead != '*') return ends_in(l, sym_SLASH);
  take(l);
  return take_comment(l);
}

/* #[version = "0.0.5"], or #[metadata] and all that follows. */
static bool take_header(TSLexer *l) {
  Text text = {"", 0};
  take(l);
  if (l->lookahead != '[') return false;
  take(l);
  while (!l->eof(l) && !strchr("[]\n", l->lookahead))
    if (l->lookahead == ' ' || l->lookahead == '\t') take(l);
    else take_into(l, &text);
  if (l->lookahead != ']') return false;
  take(l);
  if (strcmp(text.bytes, "metadata")) return ends_in(l, sym_VERSION);
  while (!l->eof(l)) take(l);
  return ends_in(l, sym_METADATA);
}

/* --- Marks ---------------------------------------------------------------- */

static bool begins_mark(const Text *t) {
  for (const Spelling *m = marks; m->text; m++)
    if (!strncmp(m->text, t->bytes, t->len)) return true;
  return false;
}

/* The longest mark that stands here.  A minus sign belongs to a number where
 * only a number may stand. */
static bool take_mark(TSLexer *l, TSStateId state) {
  Text text = {"", 0};
  TSSymbol found = 0;
  while (!l->eof(l) && l->lookahead < 128) {
    take_into(l, &text);
    if (!begins_mark(&text)) break;
    TSSymbol symbol = find(marks, text.bytes);
    if (!symbol) continue;
    found = symbol;
    l->mark_end(l);
    if (symbol == sym_MINUS && (state & TAKES_SIGN)) break;
  }
  if (found == sym_MINUS && (state & TAKES_SIGN)) {
    while (l->lookahead == '-') take(l);
    if (is_digit(l->lookahead)) return take_number(l);
    Text word = {"", 0};
    if (is_letter(l->lookahead)) take_word(l, &word);
    return is_token(l, sym_NUMBER) && find(specials, word.bytes);
  }
  return found ? is_token(l, found) : false;
}

static bool lex(TSLexer *l, TSStateId state) {
  for (;; l->advance(l, true)) {
    int32_t c = l->lookahead;
    if (l->eof(l)) return ends_in(l, ts_builtin_sym_end);
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != 0xFEFF) break;
  }
  int32_t c = l->lookahead;
  if ((state & TAKES_INDEX) && is_alnum(c)) return take_index(l);
  if (is_letter(c)) return take_any_word(l);
  if (is_digit(c)) return take_number(l);
  switch (c) {
    case '%': return take_sigil(l, sym_LOCAL);
    case '@': return take_sigil(l, sym_GLOBAL);
    case '"': return take_string(l);
    case '/': return take_slash(l);
    case '#': return take_header(l);
    case '$': take(l); return is_letter(l->lookahead) && take_index(l);
    default: return take_mark(l, state);
  }
}

/* A name that is a keyword where the grammar wants one. */
static bool lex_keyword(TSLexer *l, TSStateId state) {
  (void)state;
  Text word = {"", 0};
  take_word(l, &word);
  TSSymbol symbol = find(keywords, word.bytes);
  return symbol ? is_token(l, symbol) : false;
}
