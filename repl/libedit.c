/* See libedit.h.
 *
 * libedit draws for itself and has no hook for that.  So it is given a stream
 * to nowhere to draw on, and here what is to be seen is drawn before each key
 * is read: by edit.c where the terminal's cursor can move up, and otherwise in
 * one row, by draw_row() below.
 *
 * Text goes both ways between libedit's wide characters and UTF-8, whatever the
 * locale; `rl_line_buffer` is a copy of the line that take_line() makes.  A
 * command may change the copy's cursor, which put_point() gives back.
 *
 * libedit has no brackets around pastes, so they are asked for here.  It shows
 * what a search of the history looks for in the line itself, after a newline;
 * take_line() makes readline's prompt of that. */
#if RLY_READLINE == 2
#include <dlfcn.h>
#include <histedit.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/readline.h"
#include "repl/screen.h"

/* --- The library ---------------------------------------------------------- */

#define LIBEDIT_NAMES(ROW)          \
  ROW(init_fd, el_init_fd)          \
  ROW(set, el_set)                  \
  ROW(get, el_get)                  \
  ROW(wset, el_wset)                \
  ROW(source, el_source)            \
  ROW(wgets, el_wgets)              \
  ROW(wline, el_wline)              \
  ROW(winsertstr, el_winsertstr)    \
  ROW(deletestr, el_deletestr)      \
  ROW(cursor, el_cursor)            \
  ROW(history_winit, history_winit) \
  ROW(history_w, history_w)

static struct {
#define ROW(here, there) __typeof__(there) *here;
  LIBEDIT_NAMES(ROW)
#undef ROW
} lib;

static bool library_load(void) {
  static const char *const names[] = {
#define ROW(here, there) #there,
      LIBEDIT_NAMES(ROW)
#undef ROW
  };
  void *places[sizeof names / sizeof *names], *file = NULL;
  /* Debian counts otherwise than the others. */
  static const char *const files[] = {SYSTEM_LIBRARY("libedit", "2"),
                                      SYSTEM_LIBRARY("libedit", "0"),
                                      SYSTEM_LIBRARY("libedit", "3")};
  for (size_t i = 0; !file && i < sizeof files / sizeof *files; i++)
    file = dlopen(files[i], RTLD_LAZY | RTLD_LOCAL);
  if (!file) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(places[i] = dlsym(file, names[i]))) return false;
  _Static_assert(sizeof lib == sizeof places, "a pointer for each name");
  memcpy(&lib, places, sizeof lib);
  return true;
}

Readline rl;

bool readline_load(void) {
  if (!library_load()) return false;
#define ROW(here, there) rl.here = &there;
  READLINE_NAMES(ROW)
#undef ROW
  return true;
}

/* --- State ---------------------------------------------------------------- */

char *rl_line_buffer, *rl_display_prompt;
int rl_point, rl_end, rl_catch_signals, rl_catch_sigwinch;
unsigned long rl_readline_state;
rl_command_func_t *rl_last_func;
const char *rl_readline_name;
int (*rl_getc_function)(FILE *in);
int (*rl_startup_hook)(void);
void (*rl_redisplay_function)(void);

static EditLine *el;
static char *killed;             /* what Ctrl-Y puts back */
static bool begun;               /* the startup hook has run */
static bool ended;               /* the command has ended the line */
static bool may_search;          /* Ctrl-R or Ctrl-S was pressed */
static int point_then, end_then; /* after the last command of ours */
static char search_prompt[256];

/* --- Text ----------------------------------------------------------------- */

static wchar_t *widen(const char *text, size_t len) {
  wchar_t *wide = malloc((len + 1) * sizeof *wide);
  size_t n = 0, size;
  for (size_t i = 0; wide && i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    wide[n++] = c == UTF8_INVALID ? 0xFFFD : (wchar_t)c;
  }
  if (wide) wide[n] = L'\0';
  return wide;
}

static size_t narrow(char *to, const wchar_t *from, const wchar_t *end) {
  size_t n = 0;
  for (; from < end; from++) n += utf8_encode(*from, to + n);
  to[n] = '\0';
  return n;
}

/* A search stands at the end of the line: "\nbck:what", or "\nbck?what" where
 * nothing is found. */
static void take_search(void) {
  char *row = strrchr(rl_line_buffer, '\n');
  bool back = row && !strncmp(row + 1, "bck", 3);
  bool searches = may_search && row && strlen(row) > 4 &&
                  (back || !strncmp(row + 1, "fwd", 3)) &&
                  (row[4] == ':' || row[4] == '?');
  rl_readline_state &= ~(unsigned long)RL_STATE_ISEARCH;
  rl_display_prompt = NULL;
  if (!searches) return;
  rl_readline_state |= RL_STATE_ISEARCH;
  snprintf(search_prompt, sizeof search_prompt,
           "(%s%si-search)`%s': ", row[4] == '?' ? "failed " : "",
           back ? "reverse-" : "", row + 5);
  rl_display_prompt = search_prompt;
  *row = '\0';
  rl_end = (int)(row - rl_line_buffer);
  if (rl_point > rl_end) rl_point = rl_end;
}

static void take_line(void) {
  static size_t room;
  const LineInfoW *line = lib.wline(el);
  size_t need = (size_t)(line->lastchar - line->buffer) * 4 + 1;
  if (need > room) {
    char *larger = realloc(rl_line_buffer, 2 * need);
    if (!larger) return; /* as it was */
    rl_line_buffer = larger;
    room = 2 * need;
  }
  rl_point = (int)narrow(rl_line_buffer, line->buffer, line->cursor);
  rl_end = rl_point +
           (int)narrow(rl_line_buffer + rl_point, line->cursor, line->lastchar);
  take_search();
}

static void put_point(void) {
  const LineInfoW *line = lib.wline(el);
  int now = (int)(line->cursor - line->buffer);
  lib.cursor(el, (int)utf8_count(rl_line_buffer, (size_t)rl_point) - now);
}

int rl_insert_text(const char *text) {
  wchar_t *wide = widen(text, strlen(text));
  if (!wide) return 0;
  put_point();
  lib.winsertstr(el, wide);
  free(wide);
  take_line();
  return (int)strlen(text);
}

int rl_delete_text(int from, int to) {
  int point = rl_point;
  rl_point = to;
  put_point();
  lib.deletestr(el,
                (int)utf8_count(rl_line_buffer + from, (size_t)(to - from)));
  take_line();
  rl_point = point > to ? point - (to - from) : point > from ? from : point;
  return to - from;
}

int rl_kill_text(int from, int to) {
  if (from > to) return rl_kill_text(to, from);
  if (from == to) return 0;
  free(killed);
  killed = strndup(rl_line_buffer + from, (size_t)(to - from));
  rl_delete_text(from, to);
  return 0;
}

/* libedit's undo knows one step, and no groups. */
int rl_begin_undo_group(void) { return 0; }
int rl_end_undo_group(void) { return 0; }

/* --- A terminal whose cursor cannot move up ------------------------------- */

static const char *line_prompt;

/* What is on the row, and at which of its bytes the cursor is. */
static char shown[1024];
static size_t shown_at;

void libedit_row_lost(void) { *shown = '\0', shown_at = 0; }

static void go_back(size_t n) {
  while (n--) putchar('\b');
}

/* The prompt and the text, with control characters as readline writes them:
 * "^J".  *cursor receives the place of the cursor. */
static char *one_row(const char *prompt, size_t *cursor) {
  char *row = malloc(strlen(prompt) + 2 * (size_t)rl_end + 1);
  if (!row) return NULL;
  size_t n = strlen(prompt);
  memcpy(row, prompt, n);
  *cursor = n;
  for (int i = 0; i < rl_end; i++) {
    unsigned char c = (unsigned char)rl_line_buffer[i];
    if (i == rl_point) *cursor = n;
    if (c < ' ') row[n++] = '^';
    row[n++] = (char)(c < ' ' ? c + '@' : c);
  }
  if (rl_point >= rl_end) *cursor = n;
  row[n] = '\0';
  return row;
}

/* Only what has changed is sent.  Of a row that is wider than the terminal the
 * part around the cursor is shown. */
static void draw_row(const char *prompt) {
  size_t rows, columns, cursor;
  char *row = one_row(prompt, &cursor);
  if (!row) return;
  screen_size(&rows, &columns);
  if (columns > sizeof shown) columns = sizeof shown;
  size_t wide = columns - 1, from = cursor < wide ? 0 : cursor - wide / 2;
  char *part = row + from;
  size_t len = strlen(part), before = strlen(shown), same = 0;
  if (len > wide) part[len = wide] = '\0';
  while (same < len && part[same] == shown[same]) same++;
  if (shown_at > same) go_back(shown_at - same);
  else fwrite(part + shown_at, 1, same - shown_at, stdout);
  fwrite(part + same, 1, len - same, stdout);
  for (size_t i = len; i < before; i++) putchar(' ');
  go_back((before > len ? before : len) - (cursor - from));
  fflush(stdout);
  memcpy(shown, part, len + 1);
  shown_at = cursor - from;
  free(row);
}

/* --- Keys ----------------------------------------------------------------- */

int rl_read_key(void) { return rl_getc_function(stdin); }

/* A character, of one byte or several. */
static int read_wide(EditLine *of, wchar_t *out) {
  (void)of;
  take_line();
  if (!begun && rl_startup_hook) rl_startup_hook();
  begun = true;
  if (rl_redisplay_function) rl_redisplay_function();
  else draw_row(rl_display_prompt ? rl_display_prompt : line_prompt);
  char bytes[4];
  int c = rl_read_key();
  if (c == EOF) return 0;
  size_t need = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4, n = 0, size;
  while (n < need && c != EOF) {
    bytes[n++] = (char)c;
    if (n < need) c = rl_read_key();
  }
  uint32_t point = utf8_decode(bytes, n, &size);
  *out = point == UTF8_INVALID ? 0xFFFD : (wchar_t)point;
  if (*out == 'R' - '@' || *out == 'S' - '@') may_search = true;
  return 1;
}

/* --- Commands ------------------------------------------------------------- */

/* libedit calls a command by its function alone, so each of ours has one. */
#define SLOTS(SLOT) \
  SLOT(0, slot_0)   \
  SLOT(1, slot_1)   \
  SLOT(2, slot_2)   \
  SLOT(3, slot_3)   \
  SLOT(4, slot_4)   \
  SLOT(5, slot_5)   \
  SLOT(6, slot_6)   \
  SLOT(7, slot_7)   \
  SLOT(8, slot_8)   \
  SLOT(9, slot_9)   \
  SLOT(10, slot_10) \
  SLOT(11, slot_11) \
  SLOT(12, slot_12) \
  SLOT(13, slot_13) \
  SLOT(14, slot_14) \
  SLOT(15, slot_15) \
  SLOT(16, slot_16) \
  SLOT(17, slot_17) \
  SLOT(18, slot_18) \
  SLOT(19, slot_19) \
  SLOT(20, slot_20) \
  SLOT(21, slot_21) \
  SLOT(22, slot_22) \
  SLOT(23, slot_23)

enum {
#define SLOT(n, name) +1
  SLOT_COUNT = SLOTS(SLOT)
#undef SLOT
};

static rl_command_func_t *commands[SLOT_COUNT];

static unsigned char run_slot(int slot, int key) {
  take_line();
  if (rl_point != point_then || rl_end != end_then) rl_last_func = NULL;
  ended = may_search = false;
  commands[slot](1, key);
  rl_last_func = commands[slot];
  point_then = rl_point;
  end_then = rl_end;
  if (ended) rl_point = rl_end;
  put_point();
  /* libedit takes an empty line for the end of input */
  if (ended) lib.winsertstr(el, L"\n");
  return ended ? CC_NEWLINE : CC_REFRESH;
}

#define SLOT(n, name)                                \
  static unsigned char name(EditLine *of, int key) { \
    (void)of;                                        \
    return run_slot(n, key);                         \
  }
SLOTS(SLOT)
#undef SLOT

static unsigned char (*const slots[])(EditLine *, int) = {
#define SLOT(n, name) name,
    SLOTS(SLOT)
#undef SLOT
};

int rl_newline(int count, int key) {
  (void)count, (void)key;
  ended = true;
  if (!rl_redisplay_function) { /* a search may have ended with this key */
    draw_row(rl_display_prompt ? rl_display_prompt : line_prompt);
    putchar('\n');
  }
  fflush(stdout);
  return 0;
}

int rl_insert(int count, int key) {
  char text[5];
  text[utf8_encode(key, text)] = '\0';
  while (count-- > 0) rl_insert_text(text);
  return 0;
}

int rl_beg_of_line(int count, int key) {
  (void)count, (void)key;
  return rl_point = 0;
}

int rl_end_of_line(int count, int key) {
  (void)count, (void)key;
  rl_point = rl_end;
  return 0;
}

int rl_kill_line(int count, int key) {
  (void)count, (void)key;
  return rl_kill_text(rl_point, rl_end);
}

int rl_unix_line_discard(int count, int key) {
  (void)count, (void)key;
  return rl_kill_text(0, rl_point);
}

static bool is_word(char c) {
  return (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
         ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static int kill_word(int count, int key) {
  (void)count, (void)key;
  int to = rl_point;
  while (to < rl_end && !is_word(rl_line_buffer[to])) to++;
  while (to < rl_end && is_word(rl_line_buffer[to])) to++;
  return rl_kill_text(rl_point, to);
}

static int kill_word_before(int count, int key) {
  (void)count, (void)key;
  int from = rl_point;
  while (from > 0 && !is_word(rl_line_buffer[from - 1])) from--;
  while (from > 0 && is_word(rl_line_buffer[from - 1])) from--;
  return rl_kill_text(from, rl_point);
}

static int kill_to_blank(int count, int key) {
  (void)count, (void)key;
  int from = rl_point;
  while (from > 0 && strchr(" \t\n", rl_line_buffer[from - 1])) from--;
  while (from > 0 && !strchr(" \t\n", rl_line_buffer[from - 1])) from--;
  return rl_kill_text(from, rl_point);
}

static int yank(int count, int key) {
  (void)count, (void)key;
  return killed ? rl_insert_text(killed) : 0;
}

int rl_clear_screen(int count, int key) {
  (void)count, (void)key;
  libedit_row_lost();
  return 0;
}

int rl_vi_editing_mode(int count, int key) {
  (void)count, (void)key;
  return 0;
}

/* Inserts what the terminal sends up to the end of the paste. */
int rl_bracketed_paste_begin(int count, int key) {
  (void)count, (void)key;
  static const char end[] = "\033[201~";
  size_t room = 0, len = 0, found = 0;
  char *text = NULL;
  for (int c; found < sizeof end - 1 && (c = rl_read_key()) != EOF;) {
    if (len + 1 >= room) {
      char *larger = realloc(text, room = 2 * room + 64);
      if (!larger) break;
      text = larger;
    }
    text[len++] = (char)(c == '\r' ? '\n' : c);
    found = c == end[found] ? found + 1 : c == end[0];
  }
  if (found == sizeof end - 1) len -= found;
  if (text) text[len] = '\0';
  if (text) rl_insert_text(text);
  free(text);
  return 0;
}

/* --- The history ---------------------------------------------------------- */

static HIST_ENTRY *entries;
static HistoryW *searched; /* the same, for libedit's searches */
static int place;          /* of the entry that is shown, from 0 */
static char *written;      /* the line that Up left */
int history_base = 1, history_length;

void add_history(const char *line) {
  HIST_ENTRY *more =
      realloc(entries, ((size_t)history_length + 1) * sizeof *entries);
  if (!more) return;
  entries = more;
  if (!(entries[history_length].line = strdup(line))) return;
  history_length++;
  wchar_t *wide = widen(line, strlen(line));
  HistEventW event;
  if (wide && searched) lib.history_w(searched, &event, H_ENTER, wide);
  free(wide);
}

HIST_ENTRY *history_get(int number) {
  int i = number - history_base;
  return i >= 0 && i < history_length ? &entries[i] : NULL;
}

static void show(const char *line) {
  char *copy = strdup(line);
  if (!copy) return;
  rl_delete_text(0, rl_end);
  rl_point = 0;
  rl_insert_text(copy);
  free(copy);
}

int rl_get_previous_history(int count, int key) {
  (void)count, (void)key;
  if (place == 0) return 0;
  if (place == history_length) {
    free(written);
    written = strdup(rl_line_buffer);
  }
  show(entries[--place].line);
  return 0;
}

int rl_get_next_history(int count, int key) {
  (void)count, (void)key;
  if (place >= history_length) return 0;
  place++;
  show(place < history_length ? entries[place].line : written ? written : "");
  return 0;
}

/* --- Which key does what -------------------------------------------------- */

typedef struct LibeditKeys {
  rl_command_func_t *command;
  const char *keys[6];
} LibeditKeys;

/* As readline binds them. */
static LibeditKeys bindings[] = {
    {rl_newline, {"\r", "\n"}},
    {rl_get_previous_history, {"\033[A", "\033OA", "\020"}},
    {rl_get_next_history, {"\033[B", "\033OB", "\016"}},
    {rl_beg_of_line, {"\033[H", "\033OH", "\001", "\033[1~"}},
    {rl_end_of_line, {"\033[F", "\033OF", "\005", "\033[4~"}},
    {rl_kill_line, {"\013"}},
    {rl_unix_line_discard, {"\025"}},
    {rl_clear_screen, {"\014"}},
    {rl_bracketed_paste_begin, {"\033[200~"}},
    {rl_complete, {"\t"}},
    {yank, {"\031"}},
    {kill_word, {"\033d"}},
    {kill_word_before, {"\033\177"}},
    {kill_to_blank, {"\027"}},
};

/* libedit has one set of keys at a time: that of the user's ~/.editrc. */
Keymap rl_get_keymap_by_name(const char *name) {
  return strcmp(name, "emacs") ? NULL : bindings;
}

char **rl_invoking_keyseqs_in_map(rl_command_func_t *command, Keymap map) {
  char **keys = map ? calloc(7, sizeof *keys) : NULL;
  for (size_t i = 0; keys && i < sizeof bindings / sizeof *bindings; i++)
    for (size_t k = 0; k < 6 && bindings[i].keys[k]; k++)
      if (bindings[i].command == command) keys[k] = strdup(bindings[i].keys[k]);
  return keys;
}

/* What the user bound is not told by libedit; ours come first. */
rl_command_func_t *rl_function_of_keyseq(const char *keys, Keymap map,
                                         int *type) {
  (void)keys, (void)map, (void)type;
  return NULL;
}

static int slot_of(rl_command_func_t *command) {
  int slot = 0;
  while (slot < SLOT_COUNT && commands[slot] && commands[slot] != command)
    slot++;
  if (slot < SLOT_COUNT && !commands[slot]) {
    char name[16];
    snprintf(name, sizeof name, "rly-%d", slot);
    commands[slot] = command;
    lib.set(el, EL_ADDFN, name, "a command of rly's", slots[slot]);
  }
  return slot;
}

/* In readline's writing, "\e" and "\C-m", or as the bytes that are sent; for
 * libedit each is written in octal. */
int rl_bind_keyseq_in_map(const char *keys, rl_command_func_t *command,
                          Keymap map) {
  char sent[64], name[16];
  size_t n = 0;
  int slot = map ? slot_of(command) : SLOT_COUNT;
  if (slot == SLOT_COUNT) return -1;
  for (const char *p = keys; *p && n + 5 < sizeof sent; p++) {
    int c = (unsigned char)*p;
    if (!strncmp(p, "\\e", 2)) c = 033, p++;
    else if (!strncmp(p, "\\C-", 3)) c = p[3] & 31, p += 3;
    n += (size_t)snprintf(sent + n, sizeof sent - n, "\\%03o", (unsigned)c);
  }
  snprintf(name, sizeof name, "rly-%d", slot);
  return lib.set(el, EL_BIND, sent, name, NULL);
}

/* --- Lines ---------------------------------------------------------------- */

static wchar_t *no_prompt(EditLine *of) {
  (void)of;
  static wchar_t none[] = L"";
  return none;
}

static void say(const char *text) {
  fputs(text, stdout);
  fflush(stdout);
}

static void mark_pastes(void) { say("\033[?2004h"); }
static void leave_pastes(void) { say("\033[?2004l"); }

void rl_prep_terminal(int meta) {
  (void)meta;
  lib.wset(el, EL_PREP_TERM, 1);
  mark_pastes();
}

void rl_deprep_terminal(void) {
  leave_pastes();
  lib.wset(el, EL_PREP_TERM, 0);
}

/* libedit tells letters by the locale, and the numbers of a program are not to
 * be written by it: LC_CTYPE alone. */
int rl_initialize(void) {
  if (el) return 0;
  if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "");
  FILE *nowhere = fopen("/dev/null", "w");
  if (!nowhere) return -1;
  el = lib.init_fd(rl_readline_name, stdin, nowhere, nowhere, STDIN_FILENO,
                   STDOUT_FILENO, STDERR_FILENO);
  if (!el) return -1;
  HistEventW event;
  searched = lib.history_winit();
  if (searched) lib.history_w(searched, &event, H_SETSIZE, 1 << 30);
  if (searched) lib.wset(el, EL_HIST, lib.history_w, searched);
  for (int i = 0; searched && i < history_length; i++) {
    wchar_t *wide = widen(entries[i].line, strlen(entries[i].line));
    if (wide) lib.history_w(searched, &event, H_ENTER, wide);
    free(wide);
  }
  lib.wset(el, EL_PROMPT, no_prompt);
  lib.wset(el, EL_GETCFN, read_wide);
  lib.wset(el, EL_EDITOR, L"emacs");
  lib.source(el, NULL);
  for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++)
    for (size_t k = 0; k < 6 && bindings[i].keys[k]; k++)
      rl_bind_keyseq_in_map(bindings[i].keys[k], bindings[i].command, bindings);
  return 0;
}

/* Readline's variables are not libedit's. */
int rl_variable_bind(const char *name, const char *value) {
  (void)name, (void)value;
  return 0;
}

char *rl_get_termcap(const char *name) {
  char *value = NULL;
  if (!el || lib.get(el, EL_GETTC, name, &value) != 0) return NULL;
  return value;
}

char *readline(const char *prompt) {
  int n = 0;
  if (rl_initialize() != 0) return NULL;
  begun = may_search = false;
  place = history_length;
  line_prompt = prompt;
  libedit_row_lost();
  mark_pastes();
  const wchar_t *wide = lib.wgets(el, &n);
  leave_pastes();
  if (!wide || n <= 0) return NULL;
  if (wide[n - 1] == L'\n') n--;
  char *line = malloc((size_t)n * 4 + 1);
  if (line) narrow(line, wide, wide + n);
  return line;
}
#endif
