/* See paste.h. */
#include "repl/paste.h"

#include <stdlib.h>
#include <string.h>

#include "include/rly.h"

/* --- Prompts -------------------------------------------------------------- */

static bool begins(const char *line, size_t len, const char *with) {
  size_t n = strlen(with);
  return len >= n && !memcmp(line, with, n);
}

/* The length of the prompt in front of a line; 0: there is none.  An editor may
 * have removed the blank after the prompt of an empty line. */
static size_t prompt_length(const char *line, size_t len, const char *prompt) {
  const char *const prompts[] = {prompt, "rly> "};
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(prompts[i]);
    if (begins(line, len, prompts[i])) return n;
    if (len == n - 1 && !memcmp(line, prompts[i], len)) return len;
  }
  bool open = len && *line && strchr(" ({[/\"", *line);
  if (open && begins(line + 1, len - 1, " ... ")) return strlen("  ... ");
  return open && len == 5 && begins(line + 1, len - 1, " ...") ? len : 0;
}

/* A line of a text and what follows. */
typedef struct Line {
  const char *at;
  size_t len; /* without the line's end */
  bool ends;  /* with a newline */
} Line;

/* The next line, which a terminal may end with a carriage return, after *at;
 * false: there is none. */
static bool next_line(const char **at, const char *end, Line *line) {
  if (*at == end) return false;
  const char *p = *at;
  while (p < end && *p != '\r' && *p != '\n') p++;
  *line = (Line){*at, (size_t)(p - *at), p < end};
  if (p + 1 < end && p[0] == '\r' && p[1] == '\n') p++;
  *at = p < end ? p + 1 : p;
  return true;
}

char *paste_clean(const char *text, size_t len, const char *prompt) {
  char *clean = malloc(len + 1), *to = clean;
  if (!clean) return NULL;
  const char *end = text + len, *at = text;
  bool session = false, first = true;
  Line line;
  while (next_line(&at, end, &line))
    session = session || begins(line.at, line.len, "rly> ") ||
              begins(line.at, line.len, prompt);
  for (at = text; next_line(&at, end, &line); first = false) {
    size_t skip = prompt_length(line.at, line.len, prompt);
    if (session && !skip && !first) continue;
    for (size_t i = skip; i < line.len; i++)
      if (line.at[i]) *to++ = line.at[i];
    if (line.ends) *to++ = '\n';
  }
  *to = '\0';
  return clean;
}

/* --- Entries -------------------------------------------------------------- */

/* Calls a function on the first `len` bytes of a text that can be written. */
static bool is_unfinished(char *text, size_t len,
                          bool (*unfinished)(const char *text)) {
  char kept = text[len];
  text[len] = '\0';
  bool answer = unfinished(text);
  text[len] = kept;
  return answer;
}

static bool is_open(char *text, size_t len) {
  char kept = text[len];
  text[len] = '\0';
  bool open = rly_text_open(text, len, NULL) > 0;
  text[len] = kept;
  return open;
}

static size_t line_end(const char *text, size_t from) {
  const char *end = strchr(text + from, '\n');
  return end ? (size_t)(end - text) + 1 : 0;
}

static size_t entry_length(char *text, bool (*unfinished)(const char *text)) {
  size_t len = line_end(text, 0);
  while (len && is_unfinished(text, len, unfinished)) len = line_end(text, len);
  if (!len || text[strspn(text, " ")] == ':') return len;
  for (size_t more = len; more; more = line_end(text, more))
    if (!is_open(text, more)) return more;
  return len;
}

size_t paste_entry(const char *text, bool (*unfinished)(const char *text)) {
  char *copy = strdup(text);
  size_t len = copy ? entry_length(copy, unfinished) : 0;
  free(copy);
  return len;
}
