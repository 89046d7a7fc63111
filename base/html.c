/* Text of programs in HTML. */
#include "base/html.h"

#include "base/utf8.h"

static bool is_hidden(uint32_t c) {
  bool blank = c == '\n' || c == '\t';
  return (utf8_is_obeyed(c) && !blank) || c == UTF8_INVALID;
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
