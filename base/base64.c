/* Base64, as RFC 4648 has it: without line breaks, padded. */
#include "base/base64.h"

static int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t base64_decode(const char *text, size_t len, uint8_t *out) {
  size_t n = 0;
  uint32_t bits = 0;
  int held = 0;
  if (len % 4) return SIZE_MAX;
  while (len > 0 && text[len - 1] == '=') len--;
  for (size_t i = 0; i < len; i++) {
    int digit = digit_of(text[i]);
    if (digit < 0) return SIZE_MAX;
    bits = bits << 6 | (uint32_t)digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[n++] = (uint8_t)(bits >> held);
  }
  return n;
}

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes are four digits; what lacks at the end is padded. */
void base64_add(StrBuf *out, const void *data, size_t size) {
  const uint8_t *bytes = data;
  for (size_t i = 0; i < size && !mem_exhausted(out->mem); i += 3) {
    size_t n = size - i < 3 ? size - i : 3;
    uint32_t bits = (uint32_t)bytes[i] << 16;
    if (n > 1) bits |= (uint32_t)bytes[i + 1] << 8;
    if (n > 2) bits |= bytes[i + 2];
    char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                    n > 1 ? digits[bits >> 6 & 63] : '=',
                    n > 2 ? digits[bits & 63] : '='};
    strbuf_add_len(out, text, sizeof text);
  }
}
