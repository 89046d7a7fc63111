/* The table of foreign words and its search.  The parser looks up each name of
 * a program once (parser/hint.c); other callers ask only after a mistake. */
#include "ir/foreign.h"

#include <stdbool.h>
#include <string.h>

static const struct Row {
  Foreign kind;
  const char *words, *hint;
} rows[] = {
#define FOREIGN(kind, words, hint) {FOREIGN_##kind, words, hint},
#include "ir/foreign.def"
#undef FOREIGN
};

/* Words in a row are separated by one blank. */
static bool among(const char *words, const char *word, size_t len) {
  for (const char *at = words; at; at = strchr(at, ' ')) {
    at += *at == ' ';
    if (*at == *word && !strncmp(at, word, len) && (at[len] == ' ' || !at[len]))
      return true;
  }
  return false;
}

const char *foreign_hint(const char *word, size_t len, unsigned kinds) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct Row *row = &rows[i];
    if ((row->kind & kinds) && among(row->words, word, len)) return row->hint;
  }
  return NULL;
}
