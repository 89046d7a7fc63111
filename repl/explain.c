/* rly explain [CODE | WORD] explains a diagnostic, or lists those about a word.
 *
 * The text is the code's section of docs/DIAGNOSTICS.md, which the build embeds
 * as one string.  So the page in the repository and the answer at the terminal
 * are one text; a test compares its headings with base/diag.def.
 *
 * A word is looked for in three ways, from the narrow to the wide: as a code
 * (E0203, e0203, 203); in the headings; in the sections' text.  One hit is
 * shown whole, several are listed, none gives the code whose spelling is
 * nearest. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/inside.h"
#include "repl/cli.h"

enum { CODE_LEN = 5 };

/* The page as one string, made from the file by the Makefile. */
static const char page[] =
#include "repl/diagnostics.inc"
    ;

/* --- Sections ----------------------------------------------------------- */

/* The code after the next "## ", or NULL after the last section.  Sections are
 * found by scanning: the page has some 40 KB and is read once in a process. */
static const char *next_section(const char *p) {
  p = strstr(p, "\n## ");
  return p ? p + 4 : NULL;
}

/* A heading of the first or second level ends a section; deeper ones belong to
 * it. */
static bool is_heading(const char *line) {
  return !strncmp(line, "# ", 2) || !strncmp(line, "## ", 3);
}

/* A code is compared by its length only, because a heading goes on with the
 * title. */
static const char *find_section(const char *code) {
  const char *p = next_section(page);
  while (p && strncmp(p, code, CODE_LEN)) p = next_section(p);
  return p;
}

/* In how many places the two codes agree: 4 for E0302 and E0312.  Among equals
 * the first of the page is taken. */
static int likeness(const char *section, const char *code) {
  int n = 0;
  for (int i = 0; i < CODE_LEN && code[i]; i++) n += section[i] == code[i];
  return n;
}

static const char *nearest_section(const char *code) {
  const char *best = next_section(page);
  for (const char *p = best; p; p = next_section(p))
    if (likeness(p, code) > likeness(best, code)) best = p;
  return best;
}

/* --- Printing ----------------------------------------------------------- */

static size_t line_length(const char *line) { return strcspn(line, "\n"); }

static void print_line(const char *line) {
  printf("%.*s\n", (int)line_length(line), line);
}

/* Prints up to the next heading.  Fenced blocks are indented instead of fenced.
 * `gap` delays an empty line until a line follows it, so that an empty line at
 * the end of a section is not printed. */
static void print_section(const char *line) {
  bool fenced = false, gap = false;
  do {
    bool fence = !strncmp(line, "```", 3), blank = *line == '\n';
    fenced ^= fence;
    if (!fence && !blank) {
      printf("%s%s", gap ? "\n" : "", fenced ? "    " : "");
      print_line(line);
    }
    gap = fence || blank;
    line += line_length(line) + 1;
  } while (*line && (fenced || !is_heading(line)));
}

/* Lists the titles of base/diag.def; a test compares the page's headings with
 * them. */
static int list_codes(void) {
  for (int i = 0; i < DIAG_CODE_COUNT; i++)
    printf("%s %s\n", diag_code_text((DiagCode)i),
           diag_code_title((DiagCode)i));
  return 0;
}

/* Accepts `e0203` and `203` for E0203.  Longer words are cut, since no code is
 * longer; find_section() is not asked for them. */
static void read_code(const char *word, char code[CODE_LEN + 1]) {
  size_t digits = strspn(word, "0123456789");
  if (digits && digits < CODE_LEN && !word[digits]) {
    snprintf(code, CODE_LEN + 1, "E%04d", atoi(word));
    return;
  }
  int n = 0;
  while (n < CODE_LEN && word[n]) {
    code[n] = (char)toupper((unsigned char)word[n]);
    n++;
  }
  code[n] = '\0';
}

/* --- Words -------------------------------------------------------------- */

static bool mentions(const char *text, size_t len, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; n && i + n <= len; i++)
    if (!strncasecmp(text + i, word, n)) return true;
  return false;
}

static size_t section_length(const char *section) {
  const char *next = next_section(section);
  return next ? (size_t)(next - 4 - section) : strlen(section);
}

/* Lists the sections whose title, or else whose text, has the word; how many
 * there are.  `*only` is the last of them.  Two passes, because one hit is to
 * be shown and several are to be listed: how many there are is known only after
 * the first. */
static int list_mentions(const char *word, bool titles, const char **only) {
  int count = 0;
  for (const char *p = next_section(page); p; p = next_section(p)) {
    size_t len = titles ? line_length(p) : section_length(p);
    if (!mentions(p, len, word)) continue;
    *only = p;
    count++;
  }
  for (const char *p = next_section(page); p && count > 1; p = next_section(p))
    if (mentions(p, titles ? line_length(p) : section_length(p), word))
      print_line(p);
  return count;
}

static bool explain_word(const char *word) {
  const char *only = NULL;
  int count = list_mentions(word, true, &only);
  if (!count) count = list_mentions(word, false, &only);
  if (count == 1) print_section(only);
  return count;
}

bool explain(const char *word) {
  char code[CODE_LEN + 1];
  read_code(word, code);
  const char *section = strlen(word) <= CODE_LEN ? find_section(code) : NULL;
  if (section) {
    print_section(section);
    return true;
  }
  if (!strpbrk(word, "0123456789") && explain_word(word)) return true;
  complain("rly: no diagnostic `%s`; did you mean %.*s?", word, CODE_LEN,
           nearest_section(code));
  return false;
}

int command_explain(const Cli *cli) {
  if (!cli->words.count) return list_codes();
  return explain(cli->words.items[0]) ? 0 : EXIT_REFUSED;
}
