/* Reads programs by tree-sitter's library and the parser that
 * editors/tree-sitter/generate writes.  Paths come on stdin, and each gives a
 * line:
 *
 *   read errors               `ok`, or LINE:COLUMN of what is refused
 *   read tree                 the tree, as tree-sitter writes it
 *   read classes QUERY        a letter for each byte: tests/lexers/classes.py
 *   read edits SEED           `ok` when each of 40 edits by chance, told to the
 *                             parser, gives the tree of a text read anew */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_rly(void);

typedef struct Text {
  char *bytes;
  uint32_t len;
} Text;

static Text read_file(const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in) {
    perror(path);
    exit(2);
  }
  Text t = {malloc(1 << 16), 0};
  size_t room = 1 << 16, n;
  while ((n = fread(t.bytes + t.len, 1, room - t.len, in)) > 0) {
    t.len += (uint32_t)n;
    if (t.len == room) t.bytes = realloc(t.bytes, room *= 2);
  }
  fclose(in);
  return t;
}

/* The first node that is wrong, in the order of the text. */
static TSNode first_error(TSNode node) {
  while (ts_node_has_error(node) && !ts_node_is_missing(node) &&
         strcmp(ts_node_type(node), "ERROR") != 0) {
    uint32_t i = 0, count = ts_node_child_count(node);
    while (i < count && !ts_node_has_error(ts_node_child(node, i))) i++;
    if (i == count) return node;
    node = ts_node_child(node, i);
  }
  return node;
}

static void say_errors(TSTree *tree) {
  TSNode root = ts_tree_root_node(tree);
  if (!ts_node_has_error(root)) {
    puts("ok");
    return;
  }
  TSPoint at = ts_node_start_point(first_error(root));
  printf("%u:%u\n", at.row + 1, at.column + 1);
}

/* --- Classes -------------------------------------------------------------- */

/* The letter of a capture; 0: the capture is none of these. */
static char letter_of(const char *capture) {
  static const struct {
    const char *prefix;
    char letter;
  } letters[] = {{"keyword", 'K'}, {"conditional", 'K'}, {"include", 'K'},
                 {"number", 'N'},  {"boolean", 'N'},     {"string", 'S'},
                 {"comment", 'C'}, {"preproc", 'C'}};
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
    if (!strncmp(capture, letters[i].prefix, strlen(letters[i].prefix)))
      return letters[i].letter;
  return '.';
}

static TSQuery *query_of(const char *path) {
  Text t = read_file(path);
  uint32_t at;
  TSQueryError error;
  TSQuery *q = ts_query_new(tree_sitter_rly(), t.bytes, t.len, &at, &error);
  free(t.bytes);
  if (q) return q;
  fprintf(stderr, "%s: byte %u: mistake %d\n", path, at, error);
  exit(2);
}

/* Later patterns of the query win, as in an editor. */
static void say_classes(TSTree *tree, const TSQuery *q, Text t) {
  char *line = malloc(t.len + 1);
  memset(line, '.', t.len);
  line[t.len] = '\0';
  TSQueryCursor *cursor = ts_query_cursor_new();
  ts_query_cursor_exec(cursor, q, ts_tree_root_node(tree));
  TSQueryMatch match;
  for (uint32_t i; ts_query_cursor_next_capture(cursor, &match, &i);) {
    uint32_t len;
    TSQueryCapture c = match.captures[i];
    const char *name = ts_query_capture_name_for_id(q, c.index, &len);
    uint32_t lo = ts_node_start_byte(c.node);
    memset(line + lo, letter_of(name), ts_node_end_byte(c.node) - lo);
  }
  ts_query_cursor_delete(cursor);
  puts(line);
  free(line);
}

/* --- Edits ---------------------------------------------------------------- */

static uint32_t draw(uint64_t *seed, uint32_t below) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return below ? (uint32_t)(*seed >> 33) % below : 0;
}

static TSPoint point_at(Text t, uint32_t at) {
  TSPoint p = {0, 0};
  for (uint32_t i = 0; i < at; i++)
    if (t.bytes[i] == '\n') p = (TSPoint){p.row + 1, 0};
    else p.column++;
  return p;
}

/* Takes out some bytes and puts in others, which are a piece of the text or a
 * mark. */
static TSInputEdit change(Text *t, uint64_t *seed) {
  static const char marks[] = "(){}[],;:.=>%@\"/*- \n#1a";
  uint32_t at = draw(seed, t->len + 1);
  uint32_t out = draw(seed, 8);
  if (out > t->len - at) out = t->len - at;
  char piece[16];
  uint32_t in = draw(seed, 2) ? 1 : draw(seed, sizeof piece);
  if (in > t->len) in = t->len;
  if (in == 1) piece[0] = marks[draw(seed, sizeof marks - 1)];
  else memcpy(piece, t->bytes + draw(seed, t->len - in + 1), in);
  TSInputEdit e = {
      at, at + out, at + in, point_at(*t, at), point_at(*t, at + out), {0, 0}};
  char *bytes = malloc(t->len - out + in + 1);
  memcpy(bytes, t->bytes, at);
  memcpy(bytes + at, piece, in);
  memcpy(bytes + at + in, t->bytes + at + out, t->len - at - out);
  free(t->bytes);
  *t = (Text){bytes, t->len - out + in};
  e.new_end_point = point_at(*t, at + in);
  return e;
}

static bool same_tree(TSTree *a, TSTree *b) {
  char *x = ts_node_string(ts_tree_root_node(a));
  char *y = ts_node_string(ts_tree_root_node(b));
  bool same = !strcmp(x, y);
  free(x);
  free(y);
  return same;
}

/* Where a text has mistakes, how it is mended may depend on what was read
 * before: only a text without one has one tree. */
static void try_edits(TSParser *parser, TSTree **tree, Text *t, uint64_t seed) {
  for (int i = 0; i < 40; i++) {
    TSInputEdit e = change(t, &seed);
    ts_tree_edit(*tree, &e);
    TSTree *next = ts_parser_parse_string(parser, *tree, t->bytes, t->len);
    TSTree *anew = ts_parser_parse_string(parser, NULL, t->bytes, t->len);
    bool right = ts_node_has_error(ts_tree_root_node(anew))
                     ? ts_node_has_error(ts_tree_root_node(next))
                     : same_tree(next, anew);
    ts_tree_delete(anew);
    ts_tree_delete(*tree);
    *tree = next;
    if (right) continue;
    printf("edit %d\n", i + 1);
    return;
  }
  puts("ok");
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  TSParser *parser = ts_parser_new();
  if (!ts_parser_set_language(parser, tree_sitter_rly())) {
    fputs("the parser's version is another\n", stderr);
    return 2;
  }
  TSQuery *query = !strcmp(how, "classes") ? query_of(argv[2]) : NULL;
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = '\0';
    Text t = read_file(path);
    TSTree *tree = ts_parser_parse_string(parser, NULL, t.bytes, t.len);
    if (query) say_classes(tree, query, t);
    else if (!strcmp(how, "edits"))
      try_edits(parser, &tree, &t, strtoull(argv[2], NULL, 10));
    else if (!strcmp(how, "tree")) {
      char *text = ts_node_string(ts_tree_root_node(tree));
      puts(text);
      free(text);
    } else say_errors(tree);
    ts_tree_delete(tree);
    free(t.bytes);
  }
  if (query) ts_query_delete(query);
  ts_parser_delete(parser);
}
