/* UTF-8, as strict as RFC 3629: no overlong forms, no surrogates.  File readers
 * check their text with utf8_check; all other code tolerates invalid bytes. */
#include "base/utf8.h"

#include <stdbool.h>

/*   bytes   first     payload bits   least code point
 *   1       00..7F    7
 *   2       C2..DF    11             80
 *   3       E0..EF    16             800
 *   4       F0..F4    21             10000
 *
 * A form is refused when it is cut short, when a byte does not continue it
 * (10xxxxxx), when a shorter form exists, and for surrogates and numbers beyond
 * 10FFFF.  Then one byte is passed over, so decoding always goes on. */
uint32_t utf8_decode(const char *text, size_t len, size_t *size) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *s = (const unsigned char *)text;
  *size = 1;
  if (s[0] < 0x80) return s[0];
  size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
  if (s[0] < 0xC2 || s[0] > 0xF4 || n > len) return UTF8_INVALID;
  uint32_t c = s[0] & (0x7Fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((s[i] & 0xC0) != 0x80) return UTF8_INVALID;
    c = c << 6 | (s[i] & 0x3F);
  }
  bool surrogate = c >= 0xD800 && c < 0xE000;
  if (c < least[n] || c > 0x10FFFF || surrogate) return UTF8_INVALID;
  *size = n;
  return c;
}

/* `more` is how many bytes follow the first, six bits each. */
size_t utf8_encode(int64_t c, char out[4]) {
  static const uint32_t limits[] = {0x80, 0x800, 0x10000};
  static const uint8_t leads[] = {0, 0xC0, 0xE0, 0xF0};
  bool valid = c >= 0 && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
  uint32_t u = valid ? (uint32_t)c : 0xFFFD;
  size_t more = 0;
  while (more < 3 && u >= limits[more]) more++;
  out[0] = (char)(leads[more] | u >> 6 * more);
  for (size_t i = 1; i <= more; i++)
    out[i] = (char)(0x80 | (u >> 6 * (more - i) & 63));
  return more + 1;
}

size_t utf8_check(const char *text, size_t len) {
  size_t i = 0, size;
  for (; i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    if (c == 0 || c == UTF8_INVALID) return i;
  }
  return i;
}

size_t utf8_count(const char *text, size_t len) {
  size_t count = 0, size;
  for (size_t i = 0; i < len; i += size) {
    utf8_decode(text + i, len - i, &size);
    count++;
  }
  return count;
}

/* The ranges in use from Unicode's EastAsianWidth.txt, and the combining marks,
 * in ascending order. */
static const struct WidthRange {
  uint32_t first, last;
  size_t width;
} width_ranges[] = {
    {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x200B, 0x200F, 0},
    {0x20D0, 0x20FF, 0},   {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},
    {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},
    {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
    {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
};

static size_t code_point_width(uint32_t c) {
  size_t n = sizeof width_ranges / sizeof *width_ranges;
  if (c == UTF8_INVALID) return 1;
  for (size_t i = 0; i < n && width_ranges[i].first <= c; i++)
    if (c <= width_ranges[i].last) return width_ranges[i].width;
  return 1;
}

size_t utf8_width(const char *text, size_t len) {
  size_t width = 0, size;
  for (size_t i = 0; i < len; i += size)
    width += code_point_width(utf8_decode(text + i, len - i, &size));
  return width;
}
