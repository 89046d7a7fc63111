/* Items by tokens.  The parser gives no items of a text that does not parse;
 * their tokens serve for outlines, and to leave out items with mistakes. */
#include "server/pieces.h"

#include <string.h>

static void take_token(void *tokens, TokenLook look, size_t lo, size_t hi) {
  Tokens *out = tokens;
  VEC_PUSH(out, ((Token){look, lo, hi}));
}

void tokens_read(const Text *t, Tokens *out) {
  parse_each_token(strbuf_text(&t->bytes), (uint32_t)t->bytes.len, take_token,
                   out);
}

bool token_is(const Text *t, const Token *token, const char *text) {
  size_t n = token->hi - token->lo;
  return n == strlen(text) && !memcmp(t->bytes.data + token->lo, text, n);
}

/* The words that begin an item. */
static bool begins_item(const Text *t, const Token *token) {
  static const char *const words[] = {"def",    "type",     "let",  "param",
                                      "import", "gradient", "rule", "op"};
  if (token->look != LOOK_KEYWORD && token->look != LOOK_WORD) return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (token_is(t, token, words[i])) return true;
  return false;
}

static bool begins_line(const Text *t, const Token *token) {
  return !token->lo || t->bytes.data[token->lo - 1] == '\n';
}

/* Such items end with their closing brace; all others with a semicolon. */
static bool ends_with_brace(const Text *t, const Piece *p) {
  return p->word && !token_is(t, p->word, "let") &&
         !token_is(t, p->word, "param") && !token_is(t, p->word, "import");
}

static bool is_name(const Token *token) {
  return token->look == LOOK_LOCAL || token->look == LOOK_GLOBAL ||
         token->look == LOOK_WORD;
}

void pieces_find(const Text *t, const Tokens *tokens, Pieces *out) {
  Piece now = {0};
  bool open = false;
  int depth = 0;
  for (size_t i = 0; i < tokens->len; i++) {
    const Token *token = &tokens->data[i];
    if (token->look == LOOK_COMMENT) continue;
    bool begins = begins_item(t, token) && begins_line(t, token);
    if (open && begins) {
      VEC_PUSH(out, now);
      open = false;
    }
    if (!open) {
      bool item = begins_item(t, token);
      now = (Piece){.lo = token->lo, .first = i, .word = item ? token : NULL};
      depth = 0;
    } else if (now.word && now.first + 1 == i && is_name(token)) {
      now.name = token;
    }
    open = true;
    now.hi = token->hi;
    now.end = i + 1;
    depth += (token->look == LOOK_OPEN) - (token->look == LOOK_CLOSE);
    bool brace = token_is(t, token, "}") && ends_with_brace(t, &now);
    if (depth > 0 || !(brace || token_is(t, token, ";"))) continue;
    VEC_PUSH(out, now);
    open = false;
  }
  if (open) VEC_PUSH(out, now);
}

const Piece *piece_at(const Pieces *all, size_t offset) {
  const Piece *last = NULL;
  for (size_t i = 0; i < all->len && all->data[i].lo <= offset; i++)
    last = &all->data[i];
  return last;
}
