/* The prompt.  It reads an entry, adds it to the program, evaluates it and
 * shows the values.  No error ends the session.
 *
 * An entry may take several lines; the parser says when it is complete:
 *
 *   "let %x = ("          RLY_INCOMPLETE: ask for another line
 *   "let %x = (\n1)"      RLY_OK or a mistake: the entry is finished
 *
 * The text so far is parsed anew with each line.  That is quadratic in the
 * lines of an entry, and far below what a person notices; in return nothing but
 * rly_program_add_text() knows what an unfinished text is.
 *
 * A line that begins with `:` is a command (commands.c), unless an entry has
 * been begun: then it belongs to the entry.  The start-up file is read by the
 * same function (take_line) as typed lines are.
 *
 *   struct Repl     lives on the stack of repl_loop(), which frees all of it
 *   host, session   are the caller's; further sessions are forks (state.c) */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/cli.h"
#include "repl/guard.h"
#include "repl/line.h"
#include "repl/pager.h"
#include "repl/repl.h"
#include "repl/user.h"

/* --- Entries ------------------------------------------------------------ */

static bool entry_append(Entry *e, const char *line) {
  size_t n = strlen(line);
  char *text = realloc(e->text, e->len + n + 2);
  if (!text) return false;
  e->text = text;
  memcpy(text + e->len, line, n);
  e->len += n;
  text[e->len++] = '\n';
  text[e->len] = '\0';
  return true;
}

static void entry_clear(Entry *e) {
  free(e->text);
  *e = (Entry){.number = e->number};
}

/* --- Evaluation --------------------------------------------------------- */

Display repl_display(const Repl *r) {
  const Settings *set = &r->settings;
  return (Display){.width = set->width ? set->width : terminal_width(),
                   .depth = set->depth,
                   .rows = set->rows,
                   .digits = set->precision,
                   .colour = use_color(r->host->cli, stdout),
                   .unicode = display_unicode()};
}

/* The run that calls this sees that it was stopped.  A text that could not be
 * made (NULL) shows nothing: display_text() was stopped, which the run
 * reports. */
static void repl_show(void *repl, rly_value *v) {
  Repl *r = repl;
  char *text = NULL;
  Display d = repl_display(r);
  if (r->host->cli->json) host_put(r->host, v);
  else text = display_text(&d, v);
  bool paged = text && pager_begin(r->settings.pager);
  if (text) repl_say(r, "%s", text);
  if (paged) pager_end();
  rly_text_free(r->host->cx, text);
}

/* After a failure the rest of the text is skipped, in this session and in the
 * forks, which never evaluate what was entered here. */
static rly_status run(Repl *r, void (*show)(void *, rly_value *), void *data) {
  rly_status status = rly_session_run(r->session, show, data);
  if (status != RLY_OK) rly_session_skip(r->session);
  host_report(r->host);
  state_others_skip(r);
  return status;
}

bool repl_evaluate(Repl *r) {
  frames_prepare(r);
  if (!step_breaks(r)) return false;
  rly_status status = run(r, repl_show, r);
  r->host->known = 0;
  if (status == RLY_RUNTIME) frames_failed(r);
  return status == RLY_OK;
}

/* A short text is formatted on the stack; a longer one is formatted once more,
 * on the heap, since vsnprintf() tells its length only afterwards. */
void repl_say(Repl *r, const char *format, ...) {
  char text[1024], *all = text;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(text, sizeof text, format, args);
  if (n >= (int)sizeof text && vasprintf(&all, format, again) < 0) n = -1;
  va_end(again);
  va_end(args);
  if (n < 0) return;
  host_write(r->host, all, (size_t)n);
  if (all != text) free(all);
}

void repl_refuse(const char *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, ":%s: ", command);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}

bool repl_may(Repl *r, const char *command, const char *what) {
  bool may = !r->host->cli->limits.safe || r->tty || r->startup;
  if (!may)
    repl_refuse(command, "--safe: no %s, where input is no terminal", what);
  return may;
}

static void keep_shown(void *value, rly_value *shown) {
  rly_value **kept = value;
  rly_value_free(*kept);
  *kept = rly_value_keep(shown);
}

rly_value *repl_value(Repl *r, const char *text) {
  rly_value *v = NULL;
  rly_status status = program_add_expression(r->host->program, text);
  if (status == RLY_OK) status = run(r, keep_shown, &v);
  else host_report(r->host);
  if (status == RLY_OK) return v;
  rly_value_free(v);
  return NULL;
}

/* Adds an entry of the start-up file, after as many empty lines as precede it,
 * so that messages show the file's lines. */
static rly_status add_startup(Repl *r, const char *text, unsigned flags) {
  size_t above = (size_t)r->line, len = strlen(text);
  char *padded = malloc(above + len + 1);
  if (!padded) return RLY_LIMIT;
  memset(padded, '\n', above);
  memcpy(padded + above, text, len + 1);
  rly_status status = rly_program_add_text(r->host->program, r->startup, padded,
                                           above + len, flags);
  free(padded);
  return status;
}

/* Entries are called <1>, <2> and so on in messages.  Their results get the
 * same numbers as names (%_1, %_2; the newest is %it, too), and definitions
 * replace earlier ones. */
static rly_status add_text(Repl *r, const char *text, unsigned flags) {
  char path[32];
  if (r->startup) return add_startup(r, text, flags | RLY_RECHECK);
  flags |= RLY_NAME_RESULTS | RLY_RECHECK;
  rly_program_number(r->host->program, r->entry.number);
  snprintf(path, sizeof path, "<%d>", r->entry.number);
  return rly_program_add_text(r->host->program, path, text, strlen(text),
                              flags);
}

/* Does the newest entry, which succeeded or failed, take its number?  One that
 * failed does if it defines something, since messages show the place of a
 * definition. */
static bool takes_number(const Repl *r, bool ok) {
  const struct Unit *u = r->host->program->newest;
  if (ok) return true;
  for (int i = 0; i < u->item_count; i++)
    if (u->items[i].kind != ITEM_EXPR) return true;
  return false;
}

/* The last text is kept for :edit whether or not it was right: a mistake is
 * what one wants to edit.  An entry that failed and left nothing behind gives
 * its number to the next, so that numbers have no holes. */
static rly_status evaluate_text(Repl *r, const char *text, unsigned flags) {
  rly_status status = add_text(r, text, flags);
  if (status == RLY_INCOMPLETE) return status;
  free(r->last);
  r->last = strdup(text);
  host_report(r->host);
  r->fine = false;
  if (status == RLY_REFUSED) repl_hint_command(r, text);
  if (status != RLY_OK) return status;
  bool ok = r->fine = repl_evaluate(r);
  if (ok) transcript_add(r);
  if (!r->startup) r->entry.number += takes_number(r, ok);
  return status;
}

/* Returns true if the entry is finished, with or without a mistake.  At the end
 * of the input nothing more can come, so an unfinished entry is a mistake like
 * any other and is reported. */
static bool submit(Repl *r, bool at_end) {
  unsigned flags = at_end ? 0 : RLY_INTERACTIVE;
  if (frames_take(r, r->entry.text)) return true;
  return evaluate_text(r, r->entry.text, flags) != RLY_INCOMPLETE;
}

bool repl_submit(Repl *r, const char *text) {
  return evaluate_text(r, text, 0) == RLY_OK;
}

static bool is_blank(const char *text) {
  return text[strspn(text, " \t\r\n")] == '\0';
}

/* The newline that entry_append() put after the last line does not go into the
 * history. */
static void finish_entry(Repl *r) {
  r->entry.text[--r->entry.len] = '\0';
  if (r->tty && !r->startup) line_remember(r->entry.text);
  entry_clear(&r->entry);
}

/* An entry keeps empty lines inside; before it they are passed over, except
 * that Enter goes on in a lesson. */
static void take_line(Repl *r, const char *line) {
  bool fresh = r->entry.len == 0;
  if (fresh && is_blank(line)) {
    if (r->lesson && r->tty) learn_go_on(r);
    return;
  }
  if (fresh && line[strspn(line, " ")] == ':') {
    if (r->tty && !r->startup) line_remember(line);
    repl_command(r, line + strspn(line, " ") + 1);
    watch_look(r);
    return;
  }
  if (!entry_append(&r->entry, line)) {
    fputs("rly: out of memory\n", stderr);
    entry_clear(&r->entry);
  } else if (submit(r, false)) {
    finish_entry(r);
    watch_look(r);
    learn_look(r);
  }
}

/* --- The loop ----------------------------------------------------------- */

enum { INDENT = 2 };

static char *first_line(const Repl *r, bool *interrupted) {
  char prompt[64];
  const char *name = r->current ? r->forks[r->current].name : "rly";
  snprintf(prompt, sizeof prompt, "%.40s> ", name);
  if (r->frames.stepper) {
    char frame[48];
    frames_name(&r->frames, frame, sizeof frame);
    snprintf(prompt, sizeof prompt, "rly %s> ", *frame ? frame : "stopped");
  }
  return line_edits_entries() ? line_read_entry(prompt, interrupted)
                              : line_read(prompt, 0, interrupted);
}

/* Reads an entry, or the next line of one.  The first line's prompt is `rly> `,
 * or the name of the current fork; a further line shows the innermost open
 * bracket and is indented. */
static char *next_line(const Repl *r, bool *interrupted) {
  char prompt[] = "  ... ";
  const char *innermost;
  if (!r->tty) return line_read("", 0, interrupted);
  if (!r->entry.len) return first_line(r, interrupted);
  size_t depth = rly_text_open(r->entry.text, r->entry.len, &innermost);
  if (*innermost) prompt[0] = *innermost;
  return line_read(prompt, INDENT * (int)depth, interrupted);
}

/* What is given up by Ctrl-C can be recalled and finished. */
static void give_up(Repl *r, const char *line) {
  if (line && entry_append(&r->entry, line)) {
    r->entry.text[--r->entry.len] = '\0';
    if (!is_blank(r->entry.text)) line_remember(r->entry.text);
  }
  entry_clear(&r->entry);
}

static void greet(const Repl *r) {
  if (r->tty)
    printf("rly %s.  :help lists the commands, Ctrl-D leaves.\n",
           rly_version());
}

static int startup_unreadable(Repl *r, const char *path, int error) {
  char why[USER_PATH_MAX + 100];
  snprintf(why, sizeof why, "cannot read %s: %s", path, strerror(error));
  rly_diagnostic_add(r->host->cx, "E0501", why);
  host_report(r->host);
  return EXIT_REFUSED;
}

/* Evaluates the start-up file as if its lines were typed.  Mistakes are
 * reported, and reading continues.  The user's own file may be missing; a file
 * that --startup names may not.  0, or an exit status after reporting that the
 * file cannot be read. */
static int read_startup(Repl *r, const char *path) {
  FILE *in = fopen(path, "r");
  if (!in && errno == ENOENT && !r->host->cli->startup) return 0;
  if (!in) return startup_unreadable(r, path, errno);
  r->startup = path;
  for (int at = 0; !r->quit; at++) {
    errno = 0;
    char *line = line_of_file(in);
    if (!line) break;
    if (!r->entry.len) r->line = at;
    take_line(r, line);
    free(line);
  }
  int error = ferror(in) ? errno : 0;
  if (r->entry.len) submit(r, true);
  entry_clear(&r->entry);
  fclose(in);
  r->startup = NULL;
  return error ? startup_unreadable(r, path, error) : 0;
}

/* Reads the start-up file that --startup names; otherwise the user's own, but
 * only at a terminal and not on top of a script, whose names it could hide. */
static int start_up(Repl *r, bool script) {
  const Cli *cli = r->host->cli;
  char path[USER_PATH_MAX];
  if (cli->no_startup) return 0;
  if (cli->startup) return read_startup(r, cli->startup);
  if (!r->tty || script || !user_config_file("startup.rly", path)) return 0;
  return read_startup(r, path);
}

/* Ends at the end of the input, at :quit and when stdout cannot be written.
 * Ctrl-C gives up the entry that is being typed and nothing else.  An entry
 * that is unfinished at the end of a pipe is submitted, so that its mistake is
 * reported.  A start-up file that cannot be read is told at once, and by the
 * exit status. */
int repl_loop(Host *h, rly_session *s, bool script, struct Lesson *lesson) {
  Repl r = {.host = h,
            .lesson = lesson,
            .settings = settings_initial,
            .entry.number = 1,
            .tty = isatty(STDIN_FILENO)};
  if (!state_begin(&r, s)) return EXIT_LIMIT;
  line_init(&r);
  if (lesson) learn_begin(&r);
  else greet(&r);
  bool file = !h->cli->eval && h->cli->words.count;
  bool accepted = script && h->program->newest;
  if (accepted && file) transcript_add_file(&r, h->cli->words.items[0]);
  else if (accepted) transcript_add(&r);
  int status = lesson ? 0 : start_up(&r, script);
  while (!r.quit && !h->write_error) {
    bool interrupted;
    host_listen(h);
    char *line = next_line(&r, &interrupted);
    if (interrupted) {
      give_up(&r, line);
      free(line);
      continue;
    }
    if (!line) break;
    take_line(&r, line);
    free(line);
  }
  if (r.entry.len) {
    submit(&r, true);
    learn_look(&r);
  }
  /* After Ctrl-D the cursor still stands after the prompt. */
  if (r.tty && !r.quit) putchar('\n');
  entry_clear(&r.entry);
  transcript_clear(&r);
  frames_forget(&r);
  step_breaks_clear(&r);
  watch_clear(&r);
  state_end(&r);
  free(r.last);
  free(r.loaded);
  return status;
}

static rly_status bind_params(Host *h) {
  rly_status status = RLY_OK;
  guard_begin(h->cli, "loading");
  for (int i = 0; i < h->cli->params.count && status == RLY_OK; i++)
    status = rly_program_bind_file(h->program, h->cli->params.items[i]);
  guard_end();
  return status;
}

static int prompt(Host *h) {
  int status = exit_status(bind_params(h));
  host_report(h);
  rly_session *s = status ? NULL : host_session(h, false);
  if (!s) return status ? status : EXIT_LIMIT;
  status = repl_loop(h, s, false, NULL);
  host_session_free(h, s);
  return status;
}

int command_repl(const Cli *cli) { return host_run(cli, prompt); }
