/* Build tool: turns the library's .rly files into the C tables of library.h.
 *
 *   embed OUT.c IN.rly...
 *
 * Files of rules come last, and are embedded as they are.
 *
 * A file whose first line is `// for D in float32 int8 ...` is a template: it
 * is embedded once for each word, with `$D` replaced by it.  Of a word `2:HW`
 * `$D` is what stands before the colon and `$E` what stands after.  The words
 * go on in lines that begin with `//     `, a word where it ends with a comma
 * or a colon. Definitions are found by their brackets alone; the parser meets
 * them when a program reaches them. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stdlib/library.h"

typedef struct Entry {
  char *name;
  char kind;
  int file;
  size_t offset, len, lines_before;
} Entry;

typedef struct File {
  const char *path;
  char *text;
} File;

enum { FILES_MAX = 256, ENTRIES_MAX = 4096 };
static File files[FILES_MAX];
static int file_count;
static int indexed; /* the file whose definitions are being indexed */
static Entry entries[ENTRIES_MAX];
static int entry_count;

static void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("embed: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  exit(1);
}

static void *need(void *p) {
  if (!p) die("out of memory");
  return p;
}

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) die("cannot read %s", path);
  size_t len = 0, cap = 1 << 16;
  char *text = need(malloc(cap));
  for (size_t n; (n = fread(text + len, 1, cap - len - 1, f)) > 0; len += n)
    if (cap - len - n < 2) text = need(realloc(text, cap *= 2));
  fclose(f);
  text[len] = '\0';
  return text;
}

/* --- Templates ---------------------------------------------------------- */

/* `text` with every `$D` and `$E` replaced by the parts of `word`. */
static char *expand(const char *text, const char *word) {
  size_t first = strcspn(word, ":"), whole = strlen(word);
  const char *second = word + first + (word[first] == ':');
  size_t cap = strlen(text) * 8 + 1, len = 0;
  char *out = need(malloc(cap));
  for (; *text; text++) {
    if (len + whole + 1 >= cap) die("template grows too large");
    int part = text[0] == '$' && (text[1] == 'D' || text[1] == 'E');
    const char *from = !part ? text : text[1] == 'D' ? word : second;
    size_t n = !part ? 1 : text[1] == 'D' ? first : strlen(second);
    memcpy(out + len, from, n);
    len += n;
    text += part;
  }
  out[len] = '\0';
  return out;
}

static void add_file(const char *path, char *text) {
  if (file_count == FILES_MAX) die("too many files");
  files[file_count++] = (File){path, text};
}

/* The words of a template, which begin at `p`, with blanks in between. */
static char *template_words(const char *p) {
  static const char more[] = "//     ";
  char *out = need(malloc(strlen(p) + 1));
  size_t len = 0;
  for (;;) {
    size_t n = strcspn(p, "\n");
    memcpy(out + len, p, n);
    len += n;
    p += n + (p[n] == '\n');
    if (strncmp(p, more, sizeof more - 1)) break;
    p += sizeof more - 1;
    if (!strchr(",:", out[len - 1])) out[len++] = ' ';
  }
  out[len] = '\0';
  return out;
}

static void add_path(const char *path) {
  char *text = read_file(path);
  static const char mark[] = "// for D in ";
  if (strncmp(text, mark, sizeof mark - 1)) {
    add_file(path, text);
    return;
  }
  char *words = template_words(text + sizeof mark - 1);
  for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
    add_file(path, expand(text, w));
  free(words);
  free(text);
}

/* --- Definitions -------------------------------------------------------- */

static int is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Past blanks, comments and `#[...]` lines. */
static const char *skip_blank(const char *p) {
  for (;;) {
    p += strspn(p, " \t\r\n");
    if (p[0] == '/' && p[1] == '/') p += strcspn(p, "\n");
    else if (p[0] == '/' && p[1] == '*') p = need(strstr(p, "*/")) + 2;
    else if (p[0] == '#') p += strcspn(p, "\n");
    else return p;
  }
}

static char *name_at(const char *p) {
  size_t n = 0;
  while (is_name(p[n])) n++;
  return need(strndup(p, n));
}

static void add_entry(char kind, char *name, const char *start,
                      const char *end) {
  const char *text = files[indexed].text;
  if (entry_count == ENTRIES_MAX) die("too many definitions");
  if (strlen(name) > LIBRARY_NAME_MAX) die("`%s` is too long a name", name);
  size_t lines = 0;
  for (const char *p = text; p < start; p++) lines += *p == '\n';
  entries[entry_count++] = (Entry){
      name, kind, indexed, (size_t)(start - text), (size_t)(end - start),
      lines};
}

/* Past the braces that open at or after `p`. */
static const char *past_braces(const char *p, const char *path) {
  int depth = 0;
  do {
    p = skip_blank(p);
    if (!*p) die("%s: unbalanced braces", path);
    if (*p == '"') p += strcspn(p + 1, "\"") + 1;
    depth += (*p == '{') - (*p == '}');
  } while (*p++ != '}' || depth > 0);
  return p;
}

/* The constructors of `{ A(T), B, }`; `p` is at the brace. */
static void add_ctors(const char *p, const char *start, const char *end) {
  int depth = 0, fresh = 0;
  for (p = skip_blank(p); p < end; p = skip_blank(p)) {
    if (fresh && depth == 1 && is_name(*p)) {
      char *name = name_at(p);
      p += strlen(name);
      add_entry('C', name, start, end);
      fresh = 0;
      continue;
    }
    depth += strchr("{([", *p) != NULL;
    depth -= strchr("})]", *p) != NULL;
    if (*p == '{' || (*p == ',' && depth == 1)) fresh = 1;
    p++;
  }
}

static const char *word_after(const char *p, const char *word) {
  size_t n = strlen(word);
  return !strncmp(p, word, n) && !is_name(p[n]) ? skip_blank(p + n) : NULL;
}

/* Indexes the definition at `p`; returns its end. */
static const char *add_definition(const char *p, const char *path) {
  const char *start = p, *next;
  if ((next = word_after(p, "def")) && *next == '@') {
    p = past_braces(next, path);
    add_entry('@', name_at(next + 1), start, p);
    return p;
  }
  if ((next = word_after(p, "gradient"))) {
    size_t n = strcspn(next, "(");
    p = past_braces(next, path);
    add_entry('G', need(strndup(next, n)), start, p);
    return p;
  }
  int is_extern = (next = word_after(p, "extern")) != NULL;
  next = word_after(is_extern ? next : p, "type");
  if (!next) die("%s: expected a definition at `%.20s`", path, p);
  char *name = name_at(next);
  p = next + strlen(name);
  if (!is_extern) p = past_braces(p, path);
  add_entry('T', name, start, p);
  if (!is_extern) add_ctors(next + strcspn(next, "{"), start, p);
  return p;
}

/* "SimplifyExpr.rly" of the rules of a pass, which are no definitions and are
 * embedded as a whole; NULL: it has definitions. */
static const char *rules_of(const File *f) {
  static const char folder[] = "stdlib/rules/";
  size_t len = sizeof folder - 1;
  return strncmp(f->path, folder, len) ? NULL : f->path + len;
}

static void index_file(void) {
  const File *f = &files[indexed];
  if (rules_of(f)) return;
  for (const char *p = skip_blank(f->text); *p; p = skip_blank(p))
    p = add_definition(p, f->path);
}

/* --- Output ------------------------------------------------------------- */

static int entry_order(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : x->kind - y->kind;
}

static void check_unique(void) {
  for (int i = 1; i < entry_count; i++)
    if (!entry_order(&entries[i - 1], &entries[i]))
      die("`%s` is defined twice", entries[i].name);
}

static void write_text(FILE *out, const char *text) {
  fputs("   \"", out);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    if (*text == '\n') fputs("\\n\"\n   \"", out);
    else if (*text != '\r') fputc(*text, out);
  }
  fputs("\"", out);
}

static void write_rules(FILE *out) {
  fputs("const char *library_rules(const char *pass, const char **path) {\n",
        out);
  for (int i = 0; i < file_count; i++) {
    const char *name = rules_of(&files[i]);
    if (!name) continue;
    fprintf(out, "  if (!strcmp(pass, \"%.*s\")) {\n", (int)strcspn(name, "."),
            name);
    fprintf(out, "    *path = \"%s\";\n    return\n", files[i].path);
    write_text(out, files[i].text);
    fputs(";\n  }\n", out);
  }
  fputs("  return NULL;\n}\n", out);
}

/* A function for each file, so that a text goes where its function does. */
static void write_files(FILE *out) {
  for (int i = 0; i < file_count; i++) {
    if (rules_of(&files[i])) continue;
    fprintf(out,
            "static __attribute__((noinline)) LibraryFile file_%d(void) {\n"
            "  return (LibraryFile){\"%s\",\n",
            i, files[i].path);
    write_text(out, files[i].text);
    fputs("};\n}\n\n", out);
  }
  fputs("LibraryFile library_file(size_t number) {\n  switch (number) {\n",
        out);
  for (int i = 0; i < file_count; i++)
    if (!rules_of(&files[i]))
      fprintf(out, "    case %d: return file_%d();\n", i, i);
  fputs("  }\n  return (LibraryFile){NULL, NULL};\n}\n\n", out);
}

static void write_tables(FILE *out) {
  fputs("const LibraryEntry library_entries[] = {\n", out);
  for (int i = 0; i < entry_count; i++) {
    const Entry *e = &entries[i];
    fprintf(out, "  {\"%s\", '%c', %d, %zu, %zu, %zu},\n", e->name, e->kind,
            e->file, e->offset, e->len, e->lines_before);
  }
  fprintf(out, "};\nconst size_t library_entry_count = %d;\n", entry_count);
}

int main(int argc, char **argv) {
  if (argc < 3) die("usage: embed OUT.c IN.rly...");
  for (int i = 2; i < argc; i++) add_path(argv[i]);
  for (; indexed < file_count; indexed++) index_file();
  qsort(entries, (size_t)entry_count, sizeof *entries, entry_order);
  check_unique();
  FILE *out = fopen(argv[1], "w");
  if (!out) die("cannot write %s", argv[1]);
  fputs("#include <string.h>\n\n#include \"stdlib/library.h\"\n\n", out);
  write_files(out);
  write_tables(out);
  write_rules(out);
  if (fclose(out)) die("cannot write %s", argv[1]);
  return 0;
}
