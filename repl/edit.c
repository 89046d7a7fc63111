/* See edit.h.
 *
 * Readline keeps a text with newlines in it, and its commands for characters,
 * words, the kill ring, undo, searches and the history work on such a text.
 * What it has no notion of is lines: its drawing breaks down once a text is
 * taller than the screen, Up leaves the entry, Enter ends it, and a paste is
 * one piece.  Those parts are replaced, each by the hook that readline has for
 * it: the drawing (rl_redisplay_function), the list of completions, and,
 * wherever the user's inputrc has bound them, the functions that move between
 * lines or end one.  Everything else stays readline's. */
#include "repl/edit.h"

#if RLY_READLINE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/line.h"
#include "repl/paste.h"
#include "repl/readline.h"
#include "repl/screen.h"
#include "repl/words.h"

enum { INDENT = 2, BELOW_MOST = 64 };

/* Readline's hooks take no argument, so the editor's state is kept here. */
static struct {
  const Repl *repl;
  bool (*pressed)(void);
  bool whole;         /* entries are read; otherwise lines */
  const char *prompt; /* of the entry */
  char *pasted;       /* what is left of a paste; or NULL */
  Layout layout;
  size_t column; /* at which Up and Down stay */
  /* Rows shown below the entry until the next key: completions, or the
   * signature of the call that is being written. */
  char *below[BELOW_MOST];
  size_t below_count;
  bool below_seen, below_dim;
} edit;

/* --- Drawing -------------------------------------------------------------- */

static bool make_layout(const char *text, size_t len, const char *prompt) {
  size_t rows, columns, width = utf8_width(prompt, strlen(prompt));
  screen_size(&rows, &columns);
  if (width > columns / 2) width = columns / 2;
  return layout_make(&edit.layout, text, len, columns, width);
}

static void forget_below(void) {
  while (edit.below_count) free(edit.below[--edit.below_count]);
  edit.below_seen = false;
}

static View view(void) {
  return (View){
      .entry = &edit.layout,
      .prompt = *rl.display_prompt ? *rl.display_prompt : edit.prompt,
      .cursor = (size_t)*rl.point,
      .colour = use_color(edit.repl->host->cli, stdout),
      .below = edit.below,
      .below_count = edit.below_count,
      .below_dim = edit.below_dim,
  };
}

static void add_below(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static void add_below(const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text;
  if (edit.below_count < BELOW_MOST && vasprintf(&text, format, args) >= 0)
    edit.below[edit.below_count++] = text;
  va_end(args);
}

/* Adds a text in rows that are broken between words. */
static void add_below_words(const char *text) {
  size_t rows, columns;
  screen_size(&rows, &columns);
  while (*text) {
    size_t line = strcspn(text, "\n");
    size_t n = utf8_fit(text, line, columns - 1), cut = n;
    while (n < line && cut && text[cut] != ' ') cut--;
    if (n < line && cut) n = cut;
    add_below("%.*s", (int)n, text);
    text += n;
    while (*text == ' ' || *text == '\n') text++;
  }
}

/* The signature of the call in which the cursor stands. */
static void add_signature(void) {
  if (!edit.whole || readline_is(RL_STATE_ISEARCH | RL_STATE_NSEARCH)) return;
  char *text = complete_signature(edit.repl->host->program, *rl.buffer,
                                  (size_t)*rl.point);
  if (text) add_below_words(text);
  edit.below_dim = text;
  free(text);
}

/* Readline calls this after each key.  What stands below is seen once. */
static void redisplay(void) {
  if (edit.below_seen) forget_below();
  if (!edit.below_count) add_signature();
  View v = view();
  if (make_layout(*rl.buffer, (size_t)*rl.end, v.prompt)) screen_draw(&v);
  edit.below_seen = edit.below_count > 0;
}

void edit_resized(void) {
  edit.below_seen = false;
  redisplay();
}

/* The shell has written below the rows, left the cursor in a new one, and set
 * the terminal as it was before.  readline prepares it anew only after it has
 * set it back itself. */
void edit_continued(void) {
  rl.deprep_terminal();
  rl.prep_terminal(1);
  screen_begin();
  edit_resized();
}

/* --- The end of an entry -------------------------------------------------- */

static bool is_unfinished(const char *text) {
  if (!edit.whole || text[strspn(text, " \t\n")] == ':') return false;
  char *ended; /* as it is submitted */
  int n = asprintf(&ended, "%s\n", text);
  if (n < 0) return false;
  rly_program *p = edit.repl->host->program;
  bool unfinished = rly_text_unfinished(p, ended, (size_t)n);
  free(ended);
  return unfinished;
}

static int accept(int key) {
  View v = view();
  forget_below();
  if (make_layout(*rl.buffer, (size_t)*rl.end, v.prompt)) screen_finish(&v);
  return rl.newline(1, key);
}

/* The layout of readline's text; false: out of memory. */
static bool lay_out(void) {
  return make_layout(*rl.buffer, (size_t)*rl.end, edit.prompt);
}

static bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

static void insert_blanks(size_t n) {
  while (n--) rl.insert_text(" ");
}

static int insert_newline(int count, int key) {
  (void)count, (void)key;
  const char *opened;
  size_t depth = 0;
  if (lay_out()) depth = layout_depth(&edit.layout, (size_t)*rl.point);
  char *before = strndup(*rl.buffer, (size_t)*rl.point);
  if (before) rly_text_open(before, (size_t)*rl.point, &opened);
  if (before && (*opened == '"' || *opened == '/')) depth = 0;
  free(before);
  rl.begin_undo_group();
  int blanks = (int)strspn(*rl.buffer + *rl.point, " ");
  if (blanks) rl.delete_text(*rl.point, *rl.point + blanks);
  if (depth && closes((*rl.buffer)[*rl.point])) depth--;
  rl.insert_text("\n");
  insert_blanks(INDENT * depth);
  rl.end_undo_group();
  return 0;
}

/* Enter ends the entry if the grammar says that it is whole, or that nothing
 * can make it right; otherwise a line is added. */
static int enter(int count, int key) {
  if (edit.pressed() || !is_unfinished(*rl.buffer)) return accept(key);
  return insert_newline(count, key);
}

/* --- Lines ---------------------------------------------------------------- */

static int line_start(void) {
  int at = *rl.point;
  while (at > 0 && (*rl.buffer)[at - 1] != '\n') at--;
  return at;
}

static int line_end(void) {
  int at = *rl.point;
  while (at < *rl.end && (*rl.buffer)[at] != '\n') at++;
  return at;
}

static int go_line_start(int count, int key) {
  (void)count, (void)key;
  *rl.point = line_start();
  return 0;
}

static int go_line_end(int count, int key) {
  (void)count, (void)key;
  *rl.point = line_end();
  return 0;
}

/* At a line's end the newline is killed, which joins the next line. */
static int kill_forward(int count, int key) {
  (void)count, (void)key;
  int end = line_end();
  if (end == *rl.point && end < *rl.end) end++;
  return rl.kill_text(*rl.point, end);
}

static int kill_backward(int count, int key) {
  (void)count, (void)key;
  int start = line_start();
  if (start == *rl.point && start > 0) start--;
  rl.kill_text(*rl.point, start);
  *rl.point = start;
  return 0;
}

static int go_up(int count, int key);
static int go_down(int count, int key);

/* Moves by a row.  The column stays that of the first of several moves, though
 * shorter rows stand between.  False: there is no such row. */
static bool move_row(int by) {
  if (!lay_out()) return false;
  const Layout *l = &edit.layout;
  size_t row = layout_row(l, (size_t)*rl.point);
  if (by < 0 ? row == 0 : row + 1 == l->row_count) return false;
  if (*rl.last_func != go_up && *rl.last_func != go_down)
    edit.column = layout_column(l, (size_t)*rl.point);
  *rl.point = (int)layout_at(l, by < 0 ? row - 1 : row + 1, edit.column);
  return true;
}

/* Recalls another entry, at the end of which the cursor stands then. */
static int recall(rl_command_func_t *entry, int count, int key) {
  int status = entry(count, key);
  if (lay_out()) edit.column = layout_column(&edit.layout, (size_t)*rl.point);
  return status;
}

static int go_up(int count, int key) {
  return move_row(-1) ? 0 : recall(rl.get_previous_history, count, key);
}

static int go_down(int count, int key) {
  return move_row(1) ? 0 : recall(rl.get_next_history, count, key);
}

/* A bracket that closes, as the first character of a line, goes back to where
 * its partner's line began to be indented. */
static int insert_closing(int count, int key) {
  int start = line_start(), blanks = *rl.point - start;
  bool first = (int)strspn(*rl.buffer + start, " ") >= blanks;
  if (!first || start == 0 || !lay_out()) return rl.insert(count, key);
  size_t depth = layout_depth(&edit.layout, (size_t)*rl.point);
  rl.begin_undo_group();
  rl.delete_text(start, *rl.point);
  *rl.point = start;
  insert_blanks(INDENT * (depth ? depth - 1 : 0));
  rl.insert(count, key);
  rl.end_undo_group();
  return 0;
}

static int clear_screen(int count, int key) {
  (void)count, (void)key;
  screen_clear();
  return 0;
}

/* --- Pastes --------------------------------------------------------------- */

/* Reads what a terminal sends of a paste, up to the sequence that ends it.  The
 * caller frees it; NULL: out of memory. */
static char *read_paste(size_t *len) {
  static const char end[] = "\033[201~";
  const size_t n = sizeof end - 1;
  char *text = NULL;
  FILE *out = open_memstream(&text, len);
  if (!out) return NULL;
  for (size_t found = 0; found < n && !edit.pressed();) {
    int c = rl.read_key();
    if (c == EOF) break;
    fputc(c, out);
    found = c == end[found] ? found + 1 : c == end[0];
  }
  if (fclose(out)) return NULL;
  if (*len >= n && !memcmp(text + *len - n, end, n)) *len -= n;
  return text;
}

void edit_drop_paste(void) {
  free(edit.pasted);
  edit.pasted = NULL;
}

/* At the end of the text a paste is entered as if it were typed: the first
 * entry at once, and what follows is kept for the next calls of edit_read.
 * Elsewhere it is inserted as it is. */
static int paste(int count, int key) {
  (void)count;
  size_t len;
  char *raw = read_paste(&len);
  char *clean = raw ? paste_clean(raw, len, edit.prompt) : NULL;
  free(raw);
  if (!clean) return 0;
  bool typed = *rl.point == *rl.end;
  rl.insert_text(clean);
  free(clean);
  if (!typed) return 0;
  size_t entry = paste_entry(*rl.buffer, is_unfinished);
  if (!entry) return 0;
  edit_drop_paste();
  edit.pasted = strdup(*rl.buffer + entry);
  rl.delete_text((int)entry - 1, *rl.end);
  *rl.point = *rl.end;
  return accept(key);
}

/* The next entry of a paste, drawn as if it had been typed; NULL: none of what
 * is left is whole. */
static char *next_pasted(void) {
  char *text = edit.pasted;
  if (!text) return NULL;
  for (size_t blank; text[blank = strspn(text, " \t")] == '\n';)
    memmove(text, text + blank + 1, strlen(text + blank + 1) + 1);
  size_t len = paste_entry(text, is_unfinished);
  char *entry = len ? strndup(text, len - 1) : NULL;
  if (!entry) return NULL;
  memmove(text, text + len, strlen(text + len) + 1);
  View v = {.entry = &edit.layout,
            .prompt = edit.prompt,
            .colour = use_color(edit.repl->host->cli, stdout)};
  if (make_layout(entry, len - 1, edit.prompt)) screen_finish(&v);
  return entry;
}

static int insert_pasted(void) {
  if (edit.pasted) rl.insert_text(edit.pasted);
  edit_drop_paste();
  return 0;
}

/* --- The list of completions ---------------------------------------------- */

/* What of a completion is listed: of a path, its last part. */
static const char *listed(const char *match) {
  const char *slash = *rl.filename_completion_desired ? strrchr(match, '/') : 0;
  return slash && slash[1] ? slash + 1 : match;
}

/* Lists completions of which something is to be said, one a row. */
static void list_with_text(char **matches, size_t n, size_t width,
                           const Cursor *at) {
  for (size_t i = 1; i <= n; i++) {
    char *about = complete_about(at, matches[i]);
    size_t w = utf8_width(matches[i], strlen(matches[i]));
    add_below("%s%*s%s", matches[i], (int)(width + 2 - w), "",
              about ? about : "");
    free(about);
  }
}

/* Lists completions in columns, as many as `most` rows have room for. */
static void list_in_columns(char **matches, size_t n, size_t width,
                            size_t columns, size_t most) {
  size_t across = (columns - 1) / (width + 2);
  if (!across) across = 1;
  size_t down = (n + across - 1) / across;
  bool all = down <= most;
  if (!all) down = most - 1;
  char line[1024];
  for (size_t y = 0; y < down; y++) {
    size_t len = 0;
    for (size_t i = y; i < down * across && i < n; i += down) {
      const char *word = listed(matches[i + 1]);
      size_t w = utf8_width(word, strlen(word)), left = sizeof line - len;
      int added =
          snprintf(line + len, left, "%s%*s", word, (int)(width + 2 - w), "");
      if (added < 0 || (size_t)added >= left) break;
      len += (size_t)added;
    }
    add_below("%.*s", (int)len, line);
  }
  if (!all) add_below("... %zu more", n - down * across);
}

/* Lists the completions below the entry, on at most half of the screen.
 * matches[0] is what all have in common. */
static void list_matches(char **matches, int count, int longest) {
  (void)longest;
  size_t rows, columns, width = 0, n = (size_t)count;
  screen_size(&rows, &columns);
  forget_below();
  edit.below_dim = false;
  for (size_t i = 1; i <= n; i++) {
    size_t w = utf8_width(listed(matches[i]), strlen(listed(matches[i])));
    if (w > width) width = w;
  }
  size_t most = rows / 2 < 2 ? 2 : rows / 2;
  if (most > BELOW_MOST) most = BELOW_MOST;
  char *text = strndup(*rl.buffer, (size_t)*rl.point);
  size_t common = strlen(matches[0]);
  Cursor at = {text, (size_t)*rl.point - common};
  char *about = text && common <= (size_t)*rl.point && n <= most
                    ? complete_about(&at, matches[1])
                    : NULL;
  if (about) list_with_text(matches, n, width, &at);
  else list_in_columns(matches, n, width, columns, most);
  free(about);
  free(text);
}

/* --- Keys ----------------------------------------------------------------- */

/* Puts our function wherever readline's is bound. */
static void replace(rl_command_func_t *theirs, rl_command_func_t *ours,
                    Keymap map) {
  char **keys = rl.invoking_keyseqs_in_map(theirs, map);
  for (char **key = keys; keys && *key; key++) {
    rl.bind_keyseq_in_map(*key, ours, map);
    free(*key);
  }
  free(keys);
}

static void replace_all(Keymap map) {
  replace(rl.newline, enter, map);
  replace(rl.get_previous_history, go_up, map);
  replace(rl.get_next_history, go_down, map);
  replace(rl.beg_of_line, go_line_start, map);
  replace(rl.end_of_line, go_line_end, map);
  replace(rl.kill_line, kill_forward, map);
  replace(rl.unix_line_discard, kill_backward, map);
  replace(rl.clear_screen, clear_screen, map);
  replace(rl.bracketed_paste_begin, paste, map);
}

/* Binds a key that does what readline binds it to by itself, or nothing. */
static void bind(const char *key, rl_command_func_t *theirs,
                 rl_command_func_t *ours, Keymap map) {
  rl_command_func_t *now = rl.function_of_keyseq(key, map, NULL);
  if (!now || now == theirs) rl.bind_keyseq_in_map(key, ours, map);
}

static void bind_keys(Keymap map) {
  replace_all(map);
  bind("}", rl.insert, insert_closing, map);
  bind(")", rl.insert, insert_closing, map);
  bind("]", rl.insert, insert_closing, map);
  bind("\\e[5~", NULL, rl.get_previous_history, map); /* Page Up and Down */
  bind("\\e[6~", NULL, rl.get_next_history, map);
}

/* Terminals that can move up and erase a line by ECMA-48's sequence have the
 * others that screen.c uses as well. */
static bool moves_up(void) {
  const char *erase = rl.get_termcap("ce");
  return rl.get_termcap("up") && erase && !strncmp(erase, "\033[", 2);
}

bool edit_init(const Repl *r, bool (*pressed)(void)) {
  edit.repl = r;
  edit.pressed = pressed;
  rl.variable_bind("show-all-if-ambiguous", "on");
  rl.initialize(); /* reads the user's inputrc, which is the last to say */
  if (!moves_up()) return false;
  *rl.catch_sigwinch = 0;
  *rl.redisplay_function = redisplay;
  *rl.completion_display_matches_hook = list_matches;
  *rl.startup_hook = insert_pasted;
  /* Otherwise the terminal's line-discard key is bound anew for each line. */
  rl.variable_bind("bind-tty-special-chars", "off");
  bind_keys(rl.get_keymap_by_name("emacs"));
  bind_keys(rl.get_keymap_by_name("vi-insert"));
  Keymap command = rl.get_keymap_by_name("vi-command");
  replace_all(command);
  bind("\\e\\C-m", rl.vi_editing_mode, insert_newline,
       rl.get_keymap_by_name("emacs")); /* Alt-Enter */
  return true;
}

void edit_for(const Repl *r) { edit.repl = r; }

char *edit_read(const char *prompt, bool whole) {
  edit.prompt = prompt;
  edit.whole = whole;
  char *entry = next_pasted();
  if (entry) return entry;
  screen_begin();
  return rl.line(prompt);
}

#else

bool edit_init(const Repl *r, bool (*pressed)(void)) {
  (void)r, (void)pressed;
  return false;
}

void edit_for(const Repl *r) { (void)r; }

char *edit_read(const char *prompt, bool whole) {
  (void)prompt, (void)whole;
  return NULL;
}

void edit_drop_paste(void) {}

void edit_resized(void) {}

void edit_continued(void) {}

#endif
