/* The prompt: an entry may take several lines (the parser says when it is
 * complete), is added to the program, evaluated and shown.  Errors never end
 * the session. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/cli.h"
#include "repl/line.h"
#include "repl/repl.h"

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

void repl_evaluate(Repl *r) {
  rly_status status = rly_session_run(r->session, host_show, r->host);
  host_report(r->host);
  if (status == RLY_INTERRUPTED) fputs("interrupted\n", stderr);
}

/* True when the entry is finished, whether it was right or not. */
static bool submit(Repl *r, bool at_end) {
  char path[32];
  snprintf(path, sizeof path, "<%d>", r->entry.number);
  rly_status status =
      rly_program_add_text(r->host->program, path, r->entry.text,
                           r->entry.len, at_end ? 0 : RLY_INTERACTIVE);
  if (status == RLY_INCOMPLETE) return false;
  host_report(r->host);
  if (status == RLY_OK) repl_evaluate(r);
  return true;
}

static bool is_blank(const char *text) {
  return text[strspn(text, " \t\r\n")] == '\0';
}

static void finish_entry(Repl *r) {
  r->entry.text[--r->entry.len] = '\0';
  if (r->tty) line_remember(r->entry.text);
  r->entry.number++;
  entry_clear(&r->entry);
}

static void take_line(Repl *r, const char *line) {
  bool fresh = r->entry.len == 0;
  if (fresh && is_blank(line)) return;
  if (fresh && line[strspn(line, " ")] == ':') {
    if (r->tty) line_remember(line);
    repl_command(r, line + strspn(line, " ") + 1);
    return;
  }
  if (!entry_append(&r->entry, line)) {
    fputs("rly: out of memory\n", stderr);
    entry_clear(&r->entry);
  } else if (submit(r, false)) {
    finish_entry(r);
  }
}

/* --- The loop ----------------------------------------------------------- */

static const char *prompt_of(const Repl *r) {
  if (!r->tty) return "";
  return r->entry.len ? "  ... " : "rly> ";
}

static void greet(const Repl *r) {
  if (r->tty)
    printf("rly %s.  :help lists the commands, :quit or Ctrl-D leaves.\n",
           rly_version());
}

int repl_loop(Host *h, rly_session *s) {
  Repl r = {.host = h, .session = s, .entry.number = 1,
            .tty = isatty(STDIN_FILENO)};
  line_init();
  greet(&r);
  while (!r.quit && !h->write_failed) {
    bool interrupted;
    char *line = line_read(prompt_of(&r), &interrupted);
    if (interrupted) {
      entry_clear(&r.entry);
      if (r.tty) putchar('\n');
      free(line);
      continue;
    }
    if (!line) break;
    take_line(&r, line);
    free(line);
  }
  if (r.entry.len) submit(&r, true);
  if (r.tty && !r.quit) putchar('\n');
  entry_clear(&r.entry);
  return 0;
}

static rly_status bind_params(Host *h) {
  rly_status status = RLY_OK;
  for (int i = 0; i < h->cli->params.count && status == RLY_OK; i++)
    status = rly_program_bind_file(h->program, h->cli->params.items[i]);
  return status;
}

int command_repl(const Cli *cli) {
  Host h;
  if (!host_init(&h, cli)) return 3;
  int status = exit_status(bind_params(&h));
  host_report(&h);
  rly_session *s = status ? NULL : host_session(&h);
  if (s) {
    status = repl_loop(&h, s);
    host_session_free(s);
  }
  status = host_finish(&h, status);
  host_done(&h);
  return status;
}
