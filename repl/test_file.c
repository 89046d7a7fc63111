/* Cutting a file into test cases. */
#include "repl/test_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Lines -------------------------------------------------------------- */

static bool split_lines(TestFile *f, const char *text) {
  int count = 1;
  for (const char *p = text; *p; p++) count += *p == '\n';
  f->lines = calloc((size_t)count, sizeof *f->lines);
  if (!f->lines) return false;
  while (*text) {
    size_t n = strcspn(text, "\n");
    f->lines[f->line_count] = strndup(text, n);
    if (!f->lines[f->line_count++]) return false;
    text += n + (text[n] == '\n');
  }
  return true;
}

/* In Markdown, only what stands in fences marked `rly` counts. */
static bool *lines_that_count(const TestFile *f, const char *path) {
  size_t n = strlen(path);
  bool markdown = n > 3 && !strcmp(path + n - 3, ".md"), inside = !markdown;
  bool *counts = calloc((size_t)f->line_count + 1, sizeof *counts);
  for (int i = 0; counts && i < f->line_count; i++) {
    bool fence = markdown && !strncmp(f->lines[i], "```", 3);
    if (fence) inside = !inside && !strcmp(f->lines[i], "```rly");
    counts[i] = inside && !fence;
  }
  return counts;
}

/* --- Expectations ------------------------------------------------------- */

static const char *after(const char *text, const char *prefix) {
  size_t n = strlen(prefix);
  return text && !strncmp(text, prefix, n) ? text + n : NULL;
}

static const char *expectation(const char *line) {
  return after(line + strspn(line, " "), "// expect");
}

/* `[E0203]`, if it stands here. */
static const char *read_code(TestCase *c, const char *p) {
  if (*p != '[') return p;
  size_t n = strcspn(p, "]");
  if (n < sizeof c->code + 1)
    snprintf(c->code, sizeof c->code, "%.*s", (int)n - 1, p + 1);
  return p + n + (p[n] == ']');
}

/* The head, `error[E0203]: `; returns what follows it. */
static const char *read_head(TestCase *c, const char *p) {
  const char *rest;
  c->kind = EXPECT_VALUE;
  p += strspn(p, " ");
  if ((rest = after(p, "error")))
    c->kind = EXPECT_ERROR;
  else if ((rest = after(p, "runtime error")))
    c->kind = EXPECT_RUNTIME;
  else if ((rest = after(p, "output")))
    c->kind = EXPECT_OUTPUT;
  else
    rest = p;
  if (*rest == '~') {
    char *end;
    c->tolerance = strtod(rest + 1, &end);
    rest = end;
    if (c->tolerance == 0) c->tolerance = 1e-5;
  }
  rest = read_code(c, rest);
  rest += *rest == ':';
  return rest + strspn(rest, " ");
}

static bool append(char **text, const char *more) {
  size_t old = *text ? strlen(*text) : 0;
  char *longer = realloc(*text, old + strlen(more) + 2);
  if (!longer) return false;
  *text = longer;
  sprintf(longer + old, "%s\n", more);
  return true;
}

/* --- Cases -------------------------------------------------------------- */

static TestCase *new_case(TestFile *f, int line) {
  TestCase *cases = realloc(f->cases, ((size_t)f->case_count + 1) *
                                          sizeof *cases);
  if (!cases) return NULL;
  f->cases = cases;
  cases[f->case_count] = (TestCase){.first_line = line + 1};
  return &cases[f->case_count++];
}

/* Reads the expectation at line `i`; returns the line after it, -1 when out
 * of memory. */
static int read_expectation(TestFile *f, TestCase *c, int i) {
  c->expect_line = i;
  if (!append(&c->expected, read_head(c, expectation(f->lines[i]))))
    return -1;
  const char *more;
  while (++i < f->line_count &&
         (more = after(f->lines[i] + strspn(f->lines[i], " "), "//   ")))
    if (!append(&c->expected, more)) return -1;
  c->expect_count = i - c->expect_line;
  return i;
}

static bool is_blank(const char *text) {
  return !text || text[strspn(text, " \t\r\n")] == '\0';
}

static bool cut_cases(TestFile *f, const bool *counts) {
  TestCase *c = new_case(f, 0);
  for (int i = 0; c && i < f->line_count;) {
    if (!counts[i]) {
      if (!append(&c->text, "")) return false;
      i++;
    } else if (!expectation(f->lines[i])) {
      if (!append(&c->text, f->lines[i++])) return false;
    } else {
      i = read_expectation(f, c, i);
      if (i < 0 || !(c = new_case(f, i))) return false;
    }
  }
  if (c && is_blank(c->text)) {
    free(c->text);
    f->case_count--;
  }
  return c != NULL;
}

bool test_file_read(TestFile *f, const char *path, const char *text) {
  *f = (TestFile){0};
  bool *counts = split_lines(f, text) ? lines_that_count(f, path) : NULL;
  bool ok = counts && cut_cases(f, counts);
  free(counts);
  return ok;
}

void test_file_free(TestFile *f) {
  for (int i = 0; i < f->line_count; i++) free(f->lines[i]);
  for (int i = 0; i < f->case_count; i++) {
    free(f->cases[i].text);
    free(f->cases[i].expected);
  }
  free(f->lines);
  free(f->cases);
}

/* --- Comparison --------------------------------------------------------- */

static bool number_at(const char *p, double *value, char **end) {
  bool starts = isdigit((unsigned char)*p) ||
                (*p == '-' && isdigit((unsigned char)p[1]));
  if (!starts) return false;
  *value = strtod(p, end);
  return true;
}

static bool close_to(double a, double b, double tolerance) {
  return fabs(a - b) <= tolerance * (1 + fabs(b));
}

static bool same_text(const char *a, const char *b, double tolerance) {
  for (;;) {
    a += strspn(a, " \n\r\t");
    b += strspn(b, " \n\r\t");
    double x, y;
    char *a_end, *b_end;
    if (tolerance > 0 && number_at(a, &x, &a_end) &&
        number_at(b, &y, &b_end)) {
      if (!close_to(x, y, tolerance)) return false;
      a = a_end;
      b = b_end;
      continue;
    }
    if (*a != *b) return false;
    if (!*a) return true;
    a++;
    b++;
  }
}

/* The text with every run of blanks as one; to be freed. */
static char *squeeze(const char *text) {
  char *out = malloc(strlen(text) + 1), *p = out;
  if (!out) return NULL;
  for (; *text; text++) {
    bool blank = isspace((unsigned char)*text);
    if (!blank) *p++ = *text;
    else if (p > out && p[-1] != ' ') *p++ = ' ';
  }
  while (p > out && p[-1] == ' ') p--;
  *p = '\0';
  return out;
}

static bool contains(const char *text, const char *part) {
  char *a = squeeze(text), *b = squeeze(part);
  bool found = a && b && strstr(a, b);
  free(a);
  free(b);
  return found;
}

bool test_matches(const TestCase *c, const char *found) {
  if (c->kind == EXPECT_VALUE || c->kind == EXPECT_OUTPUT)
    return same_text(found, c->expected, c->tolerance);
  return strstr(found, c->code) && contains(found, c->expected);
}
