/* UTF-8, as strict as RFC 3629: no overlong forms, no surrogates.  File readers
 * check their text with utf8_check; all other code tolerates invalid bytes. */
#include "base/utf8.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "base/system.h"

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
    if (!utf8_continues(text[i])) return UTF8_INVALID;
    c = c << 6 | (s[i] & 0x3F);
  }
  bool surrogate = c >= 0xD800 && c < 0xE000;
  if (c < least[n] || c > 0x10FFFF || surrogate) return UTF8_INVALID;
  *size = n;
  return c;
}

size_t utf8_begin(const char *text, size_t at) {
  while (at > 0 && utf8_continues(text[at])) at--;
  return at;
}

size_t utf8_next(const char *text, size_t at, size_t len) {
  while (at < len && utf8_continues(text[at])) at++;
  return at;
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

/* Eight bytes of ASCII without a NUL?  A byte's high bit shows in `word` when
 * it is no ASCII, and is borrowed in the difference when it is 0 (Hacker's
 * Delight, 6-1). */
static bool is_ascii(const char *text) {
  const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
  uint64_t word;
  memcpy(&word, text, sizeof word);
  return !((word | (word - ones)) & highs);
}

/* A NUL is refused as well: texts are C strings in many places. */
size_t utf8_check(const char *text, size_t len) {
  size_t i = 0, size;
  for (; i < len; i += size) {
    if (len - i >= 8 && is_ascii(text + i)) {
      size = 8;
      continue;
    }
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

/* --- Widths --------------------------------------------------------------
 * The C library keeps Unicode's tables of widths, by which terminals and other
 * programs on the machine count as well, so that columns agree.  wcwidth reads
 * them only in a UTF-8 locale, which the host's need not be: C.UTF-8 is chosen
 * for the calling thread and for the time of one text. */

static locale_t utf8_locale;
static pthread_once_t utf8_locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void) {
  utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* What is obeyed and invalid bytes, which are shown as U+FFFD, count as 1. */
static size_t code_point_width(uint32_t c) {
  bool hidden = c == UTF8_INVALID || utf8_is_obeyed(c);
  int width = hidden ? 1 : wcwidth((wchar_t)c);
  return width < 0 ? 1 : (size_t)width;
}

/* Every character counts as 1 where the C library has no UTF-8 locale. */
static size_t width_by_table(const char *text, size_t len) {
  pthread_once(&utf8_locale_once, make_locale);
  if (!utf8_locale) return utf8_count(text, len);
  locale_t before = uselocale(utf8_locale);
  size_t width = 0, size;
  for (size_t i = 0; i < len; i += size)
    width += code_point_width(utf8_decode(text + i, len - i, &size));
  uselocale(before);
  return width;
}

size_t utf8_width(const char *text, size_t len) {
  for (size_t i = 0; i < len; i++)
    if ((unsigned char)text[i] >= 0x80)
      return i + width_by_table(text + i, len - i);
  return len;
}

size_t utf8_fit(const char *text, size_t len, size_t columns) {
  size_t at = 0, size;
  for (; at < len; at += size) {
    utf8_decode(text + at, len - at, &size);
    size_t width = utf8_width(text + at, size);
    if (width > columns) break;
    columns -= width;
  }
  return at;
}
