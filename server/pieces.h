/* A text cut into its items, right or wrong, by its tokens alone. */
#ifndef SERVER_PIECES_H
#define SERVER_PIECES_H

#include "server/text.h"

typedef struct Token {
  TokenLook look;
  size_t lo, hi;
} Token;
typedef VEC(Token) Tokens;

void tokens_read(const Text *t, Tokens *out);
bool token_is(const Text *t, const Token *token, const char *text);

/* An item: from its first token to the last.  A word of the language begins one
 * at the beginning of a line, too, so that brackets that are open in one item
 * do not take in all that follow. */
typedef struct Piece {
  size_t lo, hi;
  size_t first, end;        /* its tokens */
  const Token *word, *name; /* `def` and `@f`; NULL: none */
} Piece;
typedef VEC(Piece) Pieces;

void pieces_find(const Text *t, const Tokens *tokens, Pieces *out);
/* The piece that holds the byte, or ends before it and is the last that does;
 * NULL: there is none. */
const Piece *piece_at(const Pieces *all, size_t offset);

#endif
