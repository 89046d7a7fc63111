/* Cuts a file into test cases, and compares what was found with what is
 * expected.  test_file.h shows the notation.
 *
 * The file is cut twice, by two readers that look at different lines:
 * expectations in comments (cut_cases) and, in Markdown, blocks of `console`
 * (cut_consoles).  Then the cases are sorted by their places.  Lines that are
 * not a reader's own count as empty for it, so line numbers in messages are
 * those of the file.
 *
 * All texts are owned by the TestFile.  A failed allocation makes the functions
 * give false, -1 or NULL; what was made so far is freed by test_file_free(). */
#include "repl/test_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Lines -------------------------------------------------------------- */

/* A last line without a newline is a line, too. */
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

/* The kind of case that a line belongs to. */
typedef enum Block { BLOCK_NONE, BLOCK_RLY, BLOCK_CONSOLE } Block;

static Block block_of(const char *fence) {
  if (!strcmp(fence, "```rly")) return BLOCK_RLY;
  return strcmp(fence, "```console") ? BLOCK_NONE : BLOCK_CONSOLE;
}

bool test_file_is_markdown(const char *path) {
  size_t n = strlen(path);
  return n > 3 && !strcmp(path + n - 3, ".md");
}

/* Sets the kind of every line.  In Markdown, only fenced lines count.  A fence
 * that is not closed reaches to the end of the file, as Markdown has it. */
static Block *blocks_of_lines(const TestFile *f, const char *path) {
  bool markdown = test_file_is_markdown(path), inside = false;
  Block *blocks = calloc((size_t)f->line_count + 1, sizeof *blocks);
  Block block = markdown ? BLOCK_NONE : BLOCK_RLY;
  for (int i = 0; blocks && i < f->line_count; i++) {
    bool fence = markdown && !strncmp(f->lines[i], "```", 3);
    if (fence) {
      block = inside ? BLOCK_NONE : block_of(f->lines[i]);
      inside = !inside;
    }
    blocks[i] = fence ? BLOCK_NONE : block;
  }
  return blocks;
}

/* --- Expectations ------------------------------------------------------- */

static const char *after(const char *text, const char *prefix) {
  size_t n = strlen(prefix);
  return text && !strncmp(text, prefix, n) ? text + n : NULL;
}

static const char *expectation(const char *line) {
  return after(line + strspn(line, " "), "// expect");
}

/* Reads `[E0203]`, if it stands here.  A text that is longer than any code is
 * passed over, and then every code matches. */
static const char *read_code(TestCase *c, const char *p) {
  if (*p != '[') return p;
  size_t n = strcspn(p, "]");
  if (n < sizeof c->code + 1)
    snprintf(c->code, sizeof c->code, "%.*s", (int)n - 1, p + 1);
  return p + n + (p[n] == ']');
}

/* Reads the head, `error[E0203]: `, and returns the text after it.  `~` without
 * a number is a tolerance of 1e-5. */
static const char *read_head(TestCase *c, const char *p) {
  const char *rest;
  c->kind = EXPECT_VALUE;
  p += strspn(p, " ");
  if ((rest = after(p, "error"))) c->kind = EXPECT_ERROR;
  else if ((rest = after(p, "runtime error"))) c->kind = EXPECT_RUNTIME;
  else if ((rest = after(p, "output"))) c->kind = EXPECT_OUTPUT;
  else rest = p;
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

/* Adds a line to what the case runs, or to what it expects.  Their lengths are
 * kept: a file of a million lines is one case. */
static bool append(TestLines *to, const char *more) {
  size_t len = strlen(more) + 1;
  if (to->room < to->len + len + 1) {
    size_t room = 2 * (to->len + len + 1);
    char *longer = realloc(to->text, room);
    if (!longer) return false;
    to->text = longer;
    to->room = room;
  }
  sprintf(to->text + to->len, "%s\n", more);
  to->len += len;
  return true;
}

/* --- Cases -------------------------------------------------------------- */

static TestCase *new_case(TestFile *f, int line) {
  TestCase *cases =
      realloc(f->cases, ((size_t)f->case_count + 1) * sizeof *cases);
  if (!cases) return NULL;
  f->cases = cases;
  cases[f->case_count] = (TestCase){.first_line = line + 1};
  return &cases[f->case_count++];
}

/* Reads the expectation at line `i`.  Returns the line after it, or -1 when out
 * of memory. */
static int read_expectation(TestFile *f, TestCase *c, int i) {
  c->expect_line = i;
  if (!append(&c->expected, read_head(c, expectation(f->lines[i])))) return -1;
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

/* What stands after the last expectation is a case without one: it must run.
 * Unless it is blank, in which case it is dropped. */
static bool cut_cases(TestFile *f, const Block *blocks) {
  TestCase *c = new_case(f, 0);
  for (int i = 0; c && i < f->line_count;) {
    if (blocks[i] != BLOCK_RLY) {
      if (!append(&c->text, "")) return false;
      i++;
    } else if (!expectation(f->lines[i])) {
      if (!append(&c->text, f->lines[i++])) return false;
    } else {
      i = read_expectation(f, c, i);
      if (i < 0 || !(c = new_case(f, i))) return false;
    }
  }
  if (c && is_blank(c->text.text)) {
    free(c->text.text);
    f->case_count--;
  }
  return c != NULL;
}

/* --- Examples of doc comments -------------------------------------------- */

static const char example_lead[] = "///     ";

/* Reads the example at line `i`, up to the end of its expectation or of the
 * example.  Returns the line after it, or -1. */
static int read_example(TestFile *f, const Block *blocks, int i) {
  TestCase *c = new_case(f, i);
  if (!c) return -1;
  c->example = true;
  for (; i < f->line_count && blocks[i] == BLOCK_RLY; i++) {
    const char *line = f->lines[i] + strspn(f->lines[i], " ");
    const char *text = after(line, example_lead), *more = NULL;
    if (!text) break;
    bool expects = expectation(text) != NULL;
    if (c->expected.text && expects) break;
    if (c->expected.text && !(more = after(text, "//   "))) break;
    if (expects) c->expect_line = i;
    if (!append(expects || c->expected.text ? &c->expected : &c->text,
                expects            ? read_head(c, expectation(text))
                : c->expected.text ? more
                                   : text))
      return -1;
  }
  if (c->expected.text) c->expect_count = i - c->expect_line;
  return i;
}

static bool cut_examples(TestFile *f, const Block *blocks) {
  for (int i = 0; i >= 0 && i < f->line_count;) {
    const char *line = f->lines[i] + strspn(f->lines[i], " ");
    bool begins = blocks[i] == BLOCK_RLY && after(line, example_lead);
    i = begins ? read_example(f, blocks, i) : i + 1;
    if (i < 0) return false;
  }
  return true;
}

/* --- Commands and sessions ---------------------------------------------- */

static const char *command_line(const char *line) { return after(line, "$ "); }

/* Recognises a line of an entry.  Its second and further lines may begin with
 * bare dots. */
static const char *entry_line(const char *line) {
  const char *text = after(line, "rly> ");
  if (!text) text = after(line, "  ... ");
  return text ? text : strcmp(line, "  ...") ? NULL : "";
}

static bool is_input(const char *line) {
  return command_line(line) || entry_line(line);
}

/* Reads the typed lines at `i` and the output below them.  A command whose line
 * ends in a backslash continues.  Returns the line after them, or -1.  The
 * output ends at the next input or at the end of the block; blank lines belong
 * to it. */
static int read_console(TestFile *f, const Block *blocks, int i) {
  bool command = command_line(f->lines[i]) != NULL, more = true;
  TestCase *c = new_case(f, i);
  if (!c) return -1;
  c->kind = command ? EXPECT_COMMAND : EXPECT_SESSION;
  for (; more && i < f->line_count && blocks[i] == BLOCK_CONSOLE; i++) {
    const char *line = f->lines[i];
    const char *text = command ? command_line(line) : entry_line(line);
    if (!append(&c->text, text ? text : line)) return -1;
    size_t n = strlen(line);
    more = command ? n && line[n - 1] == '\\'
                   : i + 1 < f->line_count && after(f->lines[i + 1], "  ...");
  }
  c->expect_line = i;
  for (; i < f->line_count && blocks[i] == BLOCK_CONSOLE &&
         !is_input(f->lines[i]);
       i++)
    if (!append(&c->expected, f->lines[i])) return -1;
  c->expect_count = i - c->expect_line;
  return i;
}

static bool cut_consoles(TestFile *f, const Block *blocks) {
  for (int i = 0; i >= 0 && i < f->line_count;) {
    bool typed = blocks[i] == BLOCK_CONSOLE && is_input(f->lines[i]);
    i = typed ? read_console(f, blocks, i) : i + 1;
    if (i < 0) return false;
  }
  return true;
}

/* The line that a result is reported at, which is the line of the
 * expectation. */
static int place(const TestCase *c) {
  return c->expect_line ? c->expect_line : c->first_line;
}

/* Examples come last: what they show may stand below them. */
static int by_place(const void *a, const void *b) {
  const TestCase *x = a, *y = b;
  if (x->example != y->example) return x->example - y->example;
  return place(x) - place(y);
}

bool test_file_read(TestFile *f, const char *path, const char *text) {
  *f = (TestFile){0};
  Block *blocks = split_lines(f, text) ? blocks_of_lines(f, path) : NULL;
  bool ok = blocks && cut_cases(f, blocks) && cut_examples(f, blocks) &&
            cut_consoles(f, blocks);
  free(blocks);
  if (ok) qsort(f->cases, (size_t)f->case_count, sizeof *f->cases, by_place);
  return ok;
}

void test_file_free(TestFile *f) {
  for (int i = 0; i < f->line_count; i++) free(f->lines[i]);
  for (int i = 0; i < f->case_count; i++) {
    free(f->cases[i].text.text);
    free(f->cases[i].expected.text);
    free(f->cases[i].found);
  }
  free(f->lines);
  free(f->cases);
}

/* --- Comparison --------------------------------------------------------- */

/* A number is compared as one only where both texts have one, so `inf` and
 * `nan` are compared by their letters. */
static bool number_at(const char *p, double *value, char **end) {
  bool starts =
      isdigit((unsigned char)*p) || (*p == '-' && isdigit((unsigned char)p[1]));
  if (!starts) return false;
  *value = strtod(p, end);
  return true;
}

/* A bound that is relative for large numbers and absolute for small ones. */
static bool close_to(double a, double b, double tolerance) {
  return fabs(a - b) <= tolerance * (1 + fabs(b));
}

/* White space between the characters does not count at all: the shape of a
 * printed block may change. */
static bool same_text(const char *a, const char *b, double tolerance) {
  for (;;) {
    a += strspn(a, " \n\r\t");
    b += strspn(b, " \n\r\t");
    double x, y;
    char *a_end, *b_end;
    if (tolerance > 0 && number_at(a, &x, &a_end) && number_at(b, &y, &b_end)) {
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

/* The text with each run of blanks replaced by one.  The caller frees it. */
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

/* Whether `found` has the lines of `expected`.  Blanks at the end of a line do
 * not count. */
static bool same_line(const char *a, const char *b) {
  size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
  while (n && isspace((unsigned char)a[n - 1])) n--;
  while (m && isspace((unsigned char)b[m - 1])) m--;
  return n == m && !strncmp(a, b, n);
}

static const char *next_line(const char *text) {
  text += strcspn(text, "\n");
  return text + (*text == '\n');
}

/* A line of three dots matches as few lines as possible.  That is the usual
 * matching of wildcards with one point to return to: a later line of dots makes
 * the earlier one final, because matching fewer lines there can never hurt.  In
 * the worst case it takes the product of the two lengths. */
static bool same_lines(const char *found, const char *expected) {
  const char *dots = NULL,
             *from = NULL; /* where to try again after a mismatch */
  while (*found) {
    if (*expected && same_line("...", expected)) {
      dots = expected = next_line(expected);
      from = found;
    } else if (*expected && same_line(found, expected)) {
      found = next_line(found);
      expected = next_line(expected);
    } else if (dots) {
      expected = dots;
      found = from = next_line(from);
    } else {
      return false;
    }
  }
  while (*expected && same_line("...", expected))
    expected = next_line(expected);
  return !*expected;
}

/* Errors are matched by their code and by a part of their text, so that an
 * expectation may give as much as matters. */
bool test_matches(const TestCase *c, const char *found) {
  if (c->kind == EXPECT_COMMAND || c->kind == EXPECT_SESSION)
    return same_lines(found, c->expected.text ? c->expected.text : "");
  if (c->kind == EXPECT_VALUE || c->kind == EXPECT_OUTPUT)
    return same_text(found, c->expected.text, c->tolerance);
  return strstr(found, c->code) && contains(found, c->expected.text);
}
