/* Text of programs in HTML. */
#include "base/html.h"

#include "base/utf8.h"

/* U+202A to U+202E and U+2066 to U+2069 change the order in which the text
 * after them is shown (CVE-2021-42574). */
static bool is_hidden(uint32_t c) {
  bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F ||
                 (c >= 0x80 && c < 0xA0);
  bool bidi = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || bidi || c == UTF8_INVALID;
}

void html_add(StrBuf *out, const char *text, size_t len) {
  size_t size;
  for (size_t i = 0; i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    switch (c) {
      case '&': strbuf_add(out, "&amp;"); break;
      case '<': strbuf_add(out, "&lt;"); break;
      case '>': strbuf_add(out, "&gt;"); break;
      case '"': strbuf_add(out, "&quot;"); break;
      default:
        if (is_hidden(c)) strbuf_add(out, UTF8_REPLACEMENT);
        else strbuf_add_len(out, text + i, size);
    }
  }
}

void html_add_cut(StrBuf *out, const StrBuf *text, size_t most) {
  const char *t = strbuf_text(text);
  size_t len = text->len > most ? utf8_begin(t, most) : text->len;
  html_add(out, t, len);
  if (len < text->len) strbuf_add(out, " ...");
}
