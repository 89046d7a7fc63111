/* A message is compared by its words: see message.h. */
#include "tests/conformance/message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

char *message_line(const Text *text, const char *start) {
  const char *at = text->data;
  while (at && *at && strncmp(at, start, strlen(start))) {
    at = strchr(at, '\n');
    if (at) at++;
  }
  return at ? strndup(at, strcspn(at, "\n")) : strdup("");
}

/* Appends `len` bytes, squeezed, at `to`; gives the new end. */
static char *squeeze(char *to, const char *from, size_t len) {
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)from[i];
    if (!isspace(c)) *to++ = (char)tolower(c);
  }
  return to;
}

char *message_squeeze(const char *text) {
  char *squeezed = calloc(strlen(text) + 1, 1);
  if (squeezed) squeeze(squeezed, text, strlen(text));
  return squeezed;
}

/* "   12 |   add(%x, %b)" quotes the program. */
static bool is_quotation(const char *line) {
  line += strspn(line, " ");
  size_t digits = strspn(line, "0123456789");
  return digits > 0 && !strncmp(line + digits, " |", 2);
}

/* What stands before the words: "model.rly:12:9:" and "in @f at model.rly". */
static const char *after_place(const char *line, const char *end) {
  static const char extension[] = ".rly:";
  const char *at =
      memmem(line, (size_t)(end - line), extension, sizeof extension - 1);
  if (!at) return line;
  at += sizeof extension - 1;
  return at + strspn(at, "0123456789:");
}

char *message_words(const Text *err) {
  char *words = calloc(err->len + 1, 1), *to = words;
  const char *line = err->data;
  while (words && line && *line) {
    const char *end = strchrnul(line, '\n');
    if (!is_quotation(line)) {
      const char *said = after_place(line, end);
      to = squeeze(to, said, (size_t)(end - said));
    }
    line = *end ? end + 1 : end;
  }
  return words;
}
