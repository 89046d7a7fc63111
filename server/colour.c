/* Semantic tokens: five numbers each, of which the first two are relative to
 * the token before. */
#include <string.h>

#include "server/inside.h"

/* In the order of the legend (server.c). */
enum {
  KEYWORD,
  VARIABLE,
  PARAMETER,
  FUNCTION,
  TYPE,
  MEMBER,
  PROPERTY,
  NUMBER,
  STRING,
  COMMENT,
  OPERATOR,
  NO_TOKEN = -1,
};
enum { DECLARATION = 1, LIBRARY = 2 };

typedef struct Colours {
  const Document *d;
  size_t line, column; /* of the last token */
  json_t *out;
} Colours;

static void add(Colours *c, size_t lo, size_t hi, int type, int modifiers) {
  const Text *t = &c->d->text;
  size_t line = text_line(t, lo), column = text_column(t, line, lo);
  size_t numbers[] = {
      line - c->line, line == c->line ? column - c->column : column,
      text_column(t, line, hi) - column, (size_t)type, (size_t)modifiers};
  for (int i = 0; i < 5; i++)
    json_array_append_new(c->out, json_integer((json_int_t)numbers[i]));
  c->line = line;
  c->column = column;
}

/* A token of several lines is one for each. */
static void add_lines(Colours *c, const Token *token, int type, int modifiers) {
  const Text *t = &c->d->text;
  const char *s = strbuf_text(&t->bytes);
  for (size_t lo = token->lo; lo < token->hi;) {
    size_t line = text_line(t, lo), end = token->hi;
    if (line + 1 < t->lines.len && t->lines.data[line + 1] < end)
      end = t->lines.data[line + 1];
    size_t hi = end;
    while (hi > lo && (s[hi - 1] == '\n' || s[hi - 1] == '\r')) hi--;
    if (hi > lo) add(c, lo, hi, type, modifiers);
    lo = end;
  }
}

/* What is known of the name; else what its spelling tells. */
static int type_of_use(const Use *use, int *modifiers) {
  if (use->declares) *modifiers |= DECLARATION;
  switch (use->kind) {
    case NAME_VAR: return use->param ? PARAMETER : VARIABLE;
    case NAME_GLOBAL: {
      const Global *g = use->what;
      if (g->library) *modifiers |= LIBRARY;
      bool function = g->kind == GLOBAL_DEF || g->scheme;
      return function ? FUNCTION : VARIABLE;
    }
    case NAME_TYPE: return TYPE;
    case NAME_CTOR: return MEMBER;
    case NAME_OPERATOR: *modifiers |= LIBRARY; return FUNCTION;
  }
  return NO_TOKEN;
}

static int type_of_look(const Document *d, const Token *token) {
  switch (token->look) {
    case LOOK_KEYWORD: return KEYWORD;
    case LOOK_LOCAL: return VARIABLE;
    case LOOK_GLOBAL: return FUNCTION;
    case LOOK_NUMBER: return NUMBER;
    case LOOK_STRING: return STRING;
    case LOOK_COMMENT: return COMMENT;
    case LOOK_WORD: {
      char first = d->text.bytes.data[token->lo];
      return first >= 'A' && first <= 'Z' ? TYPE : PROPERTY;
    }
    case LOOK_MARK: {
      char first = d->text.bytes.data[token->lo];
      return strchr("+-*/<>=!&|", first) ? OPERATOR : NO_TOKEN;
    }
    case LOOK_OPEN:
    case LOOK_CLOSE:
    case LOOK_BAD: break;
  }
  return NO_TOKEN;
}

static void add_token(Colours *c, const Token *token) {
  const Document *d = c->d;
  Analysis *a = d->now;
  int modifiers = 0, type = NO_TOKEN;
  bool named = token->look == LOOK_LOCAL || token->look == LOOK_GLOBAL ||
               token->look == LOOK_WORD;
  if (a && named) {
    uint32_t at = a->source->base + (uint32_t)token->lo;
    const Use *use = names_at(&a->uses, at);
    /* a dotted operator is several tokens */
    if (use && use->span.lo <= at && use->span.hi > at)
      type = type_of_use(use, &modifiers);
  }
  if (type == NO_TOKEN) type = type_of_look(d, token);
  if (type != NO_TOKEN) add_lines(c, token, type, modifiers);
}

json_t *serve_tokens(Server *s, const json_t *params, Failure *f) {
  Document *d = document_of(s, params, f);
  if (!d) return NULL;
  Colours c = {.d = d, .out = json_array()};
  for (size_t i = 0; i < d->tokens.len; i++) add_token(&c, &d->tokens.data[i]);
  return json_pack("{so}", "data", c.out);
}
