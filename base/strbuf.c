/* Growing text on top of vec.h.  A NUL always follows the last character, so
 * every write reserves one byte more than it adds.
 *
 * Where memory runs out, a write is dropped and `exhausted` is raised in the
 * Mem; who uses the text asks for that once, at its end, instead of after each
 * write. */
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void strbuf_init(StrBuf *b, Mem *mem) { VEC_INIT(b, mem); }
void strbuf_done(StrBuf *b) { VEC_DONE(b); }

const char *strbuf_text(const StrBuf *b) { return b->len ? b->data : ""; }

void strbuf_add_len(StrBuf *b, const char *text, size_t len) {
  if (len == SIZE_MAX || !VEC_RESERVE(b, len + 1)) return;
  if (len) memcpy(b->data + b->len, text, len);
  b->len += len;
  b->data[b->len] = '\0';
}

void strbuf_add(StrBuf *b, const char *text) {
  strbuf_add_len(b, text, strlen(text));
}

void strbuf_add_char(StrBuf *b, char c) { strbuf_add_len(b, &c, 1); }

void strbuf_add_repeat(StrBuf *b, char c, size_t n) {
  if (n == SIZE_MAX || !VEC_RESERVE(b, n + 1)) return;
  memset(b->data + b->len, c, n);
  b->len += n;
  b->data[b->len] = '\0';
}

void strbuf_addf(StrBuf *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  strbuf_addv(b, format, args);
  va_end(args);
}

/* Formats twice, for the length and then in place. */
void strbuf_addv(StrBuf *b, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int len = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (len < 0 || !VEC_RESERVE(b, (size_t)len + 1)) return;
  vsnprintf(b->data + b->len, (size_t)len + 1, format, args);
  b->len += (size_t)len;
}

void strbuf_add_line(StrBuf *b, const char *text) {
  for (size_t n; *text; text += n + strspn(text + n, "\n ")) {
    n = strcspn(text, "\n");
    strbuf_add_len(b, text, n);
    if (text[n]) strbuf_add_char(b, ' ');
  }
}

void strbuf_add_code_point(StrBuf *b, int64_t c) {
  char bytes[4];
  strbuf_add_len(b, bytes, utf8_encode(c, bytes));
}

/* The letter of C's short escape for `c`, or 0. */
static char short_escape(uint32_t c) {
  static const char letters[128] = {
      ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n',  ['\r'] = 'r',
      ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\',
  };
  return c < sizeof letters ? letters[c] : 0;
}

static void add_escape(StrBuf *b, uint32_t c) {
  char letter = short_escape(c);
  if (letter) strbuf_addf(b, "\\%c", letter);
  else strbuf_addf(b, "\\u%04x", (unsigned)c);
}

/* The text may hold NULs and invalid bytes; what comes out is ASCII but for
 * valid code points beyond it. */
void strbuf_add_escaped(StrBuf *b, const char *text, size_t len) {
  for (size_t i = 0, size; i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    if (short_escape(c) || utf8_is_obeyed(c)) add_escape(b, c);
    else if (c == UTF8_INVALID) strbuf_add(b, UTF8_REPLACEMENT);
    else strbuf_add_len(b, text + i, size);
  }
}

void strbuf_add_visible(StrBuf *b, const char *text, size_t len) {
  for (size_t i = 0, size; i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    if (utf8_is_obeyed(c)) add_escape(b, c);
    else if (c == UTF8_INVALID) strbuf_add(b, UTF8_REPLACEMENT);
    else strbuf_add_len(b, text + i, size);
  }
}
