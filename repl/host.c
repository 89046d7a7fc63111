/* What every command needs around a context: limits from the machine, output
 * that notices failure, diagnostics, Ctrl-C.
 *
 *   command_x(cli)
 *     host_run(cli, work)
 *       host_init     a context with its limits, a program
 *       work(h)       adds texts, makes sessions, writes; gives a status
 *       host_finish   flushes stdout; a failed write becomes the status
 *       host_done
 *
 * The commands decide nothing about exit statuses but which rly_status a
 * failure has; exit_status() and host_finish() make the number of it.
 *
 * Output goes through host_write(), which flushes each time: what a program
 * prints is visible while it runs, and a reader that has gone is noticed at
 * once instead of after much was computed for nobody. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"
#include "repl/pager.h"

/* --- Limits ------------------------------------------------------------- */

/* The memory limit of the process's control group, or SIZE_MAX.  The first path
 * is of cgroup v2, the second of v1.  In a group without a limit the file holds
 * "max", which is no number. */
static size_t cgroup_memory(void) {
  static const char *const paths[] = {
      "/sys/fs/cgroup/memory.max",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes",
  };
  for (int i = 0; i < 2; i++) {
    FILE *f = fopen(paths[i], "r");
    unsigned long long bytes;
    bool found = f && fscanf(f, "%llu", &bytes) == 1;
    if (f) fclose(f);
    if (found) return (size_t)bytes;
  }
  return SIZE_MAX;
}

/* Three quarters of the memory that this process may use, so that a program
 * which takes too much is stopped by rly, with a place in the source, and not
 * by the kernel's out-of-memory killer. */
static size_t default_memory(void) {
  size_t machine =
      (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  size_t group = cgroup_memory();
  return (group < machine ? group : machine) / 4 * 3;
}

void host_give(const Host *h, rly_program *p) {
  const Cli *cli = h->cli;
  p->given = (GivenTexts){.entry = cli->entry,
                          .shape_count = cli->bind_shape.count,
                          .file_count = cli->bind.count,
                          .shapes = cli->bind_shape.items,
                          .files = cli->bind.items};
}

/* Bytes of a gradient's tape, where --tape-memory says nothing. */
enum { TAPE_MEMORY = 1 << 30 };

/* The flags' own values come first; what was not given gets a default. */
rly_options host_limits(const Cli *cli) {
  rly_options options = cli->limits;
  if (!options.max_memory) options.max_memory = default_memory();
  if (!options.tape_memory) options.tape_memory = TAPE_MEMORY;
  limits_plain(&options);
  return options;
}

bool host_init(Host *h, const Cli *cli) {
  rly_options options = host_limits(cli);
  if (!options.threads) options.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  *h = (Host){.cli = cli,
              .max_memory = options.max_memory ? options.max_memory : SIZE_MAX};
  h->cx = rly_context_new(&options);
  if (h->cx) h->cx->sources.notes_read = true; /* files.h */
  h->program = h->cx ? rly_program_new(h->cx) : NULL;
  if (h->program) host_give(h, h->program);
  if (h->program) return true;
  fputs("rly: out of memory\n", stderr);
  rly_context_free(h->cx);
  h->cx = NULL; /* host_done() may follow */
  return false;
}

void host_program_free(Host *h, rly_program *p) {
  if (!p || mem_exhausted(p->mem)) mem_raise_exhausted(h->program->mem);
  rly_program_free(p);
}

void host_done(Host *h) {
  rly_program_free(h->program);
  rly_context_free(h->cx);
}

/* --- Interrupts --------------------------------------------------------- */

/* State of the signal handler, which gets no argument.  A pointer's load and
 * store are single instructions where rly runs, and rly_session_interrupt() may
 * be called from a handler (rly.h). */
static rly_session *volatile interruptible;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal) {
  (void)signal;
  rly_session *s = interruptible;
  interrupted = 1;
  if (s) rly_session_interrupt(s);
}

static void host_print(void *host, const char *text, size_t len);

static rly_session_options session_options(Host *h) {
  return (rly_session_options){
      .write = host_print, .data = h, .width = terminal_width()};
}

rly_session *host_fork(Host *h, rly_session *s) {
  rly_session_options options = session_options(h);
  return rly_session_fork(s, &options);
}

void host_session_use(Host *h, rly_session *s) {
  h->session = interruptible = s;
}

/* The handler is installed here, for the first session and each later one: a
 * command that runs nothing is ended by Ctrl-C as any program is. */
rly_session *host_session(Host *h, bool observed) {
  const Cli *cli = h->cli;
  rly_session_options options = session_options(h);
  options.count = observed && cli->stats;
  options.profile = observed && cli->profile;
  options.trace = observed ? cli->trace : NULL;
  rly_session *s = rly_session_new(h->program, &options);
  if (!s) return NULL;
  host_session_use(h, s);
  interrupted = 0;
  struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, NULL);
  return s;
}

void host_listen(Host *h) {
  interrupted = 0;
  session_listen(h->session->vm);
}

/* Reading and clearing are two steps: a press that falls between them is not
 * seen here, but has interrupted the session. */
bool host_was_interrupted(void) {
  bool was = interrupted;
  interrupted = 0;
  return was;
}

/* The report comes first, because it may be about this session; then nothing
 * refers to it any more, least of all the signal handler. */
rly_status host_session_free(Host *h, rly_session *s) {
  host_report(h);
  if (interruptible == s) interruptible = NULL;
  if (h->session == s) h->session = NULL;
  rly_session_free(s);
  return rly_diagnostic_count(h->cx) ? RLY_RUNTIME : RLY_OK;
}

/* --- Output ------------------------------------------------------------- */

static int stdout_fd = STDOUT_FILENO;

void host_stdout_leads_to(int fd) { stdout_fd = fd; }

static int descriptor_of(FILE *stream) {
  return stream == stdout ? stdout_fd : fileno(stream);
}

bool is_terminal(FILE *stream) { return isatty(descriptor_of(stream)); }

enum { WIDTH_LEAST = 20, WIDTH = 80 };

/* The columns of a terminal; 0: the stream is none, or does not
 * know them. */
static int columns_of(FILE *stream) {
  struct winsize size;
  int fd = descriptor_of(stream);
  return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* Below 20 columns nothing can be laid out. */
int terminal_width(void) {
  int columns = columns_of(stdout);
  return columns < WIDTH_LEAST ? WIDTH : columns;
}

bool use_color(const Cli *cli, FILE *stream) {
  if (cli->color > COLOR_AUTO) return cli->color == COLOR_ALWAYS;
  const char *no = getenv("NO_COLOR"), *type = getenv("TERM");
  bool dumb = type && !strcmp(type, "dumb");
  return is_terminal(stream) && !(no && *no) && !dumb;
}

/* Stops the run if nobody can read its output any more.  errno of the first
 * failure is kept, since a later one may only follow from it. */
static void give_up_writing(Host *h) {
  if (h->write_error) return;
  h->write_error = errno ? errno : EIO;
  if (h->session) rly_session_interrupt(h->session);
}

void host_write(void *host, const char *text, size_t len) {
  Host *h = host;
  FILE *to = h->print_to ? h->print_to : stdout;
  errno = 0;
  if (fwrite(text, 1, len, to) != len || fflush(to)) give_up_writing(h);
}

/* Receives the output of programs.  Output that was already shown is left out:
 * :step shows what a stepper prints, and then the session evaluates the same
 * items once more. */
static void host_print(void *host, const char *text, size_t len) {
  Host *h = host;
  size_t skip = h->known < len ? h->known : len;
  if (skip < len) pager_stop();
  h->known -= skip;
  h->printed += len;
  if (skip < len) host_write(h, text + skip, len - skip);
}

rly_status host_put(Host *h, rly_value *value) {
  if (rly_value_is_unit(value) && !h->cli->json) return RLY_OK;
  char *text = h->cli->json ? rly_value_json(value) : rly_value_text(value);
  if (!text) return interrupted ? RLY_INTERRUPTED : RLY_LIMIT;
  host_write(h, text, strlen(text));
  host_write(h, "\n", 1);
  rly_text_free(h->cx, text);
  return RLY_OK;
}

/* The run that calls this sees that it was stopped. */
void host_show(void *host, rly_value *value) { host_put(host, value); }

/* A reader that left (`rly ... | head`) needs no message. */
void host_say_unwritten(int error) {
  if (error != EPIPE)
    fprintf(stderr, "rly: output could not be written: %s\n", strerror(error));
}

/* Reports a failure to write.  It decides the status, whether of a file (E0507)
 * or of the standard output, which may have had to show the diagnostics.  A
 * run-time error has the same status, and so has EXIT_INTERRUPTED where not the
 * user interrupted but give_up_writing(). */
int host_finish(Host *h, int status) {
  errno = 0;
  if (fflush(stdout) || ferror(stdout)) give_up_writing(h);
  bool stopped = status == EXIT_INTERRUPTED && !interrupted;
  if (h->write_error && (!status || stopped)) status = EXIT_RUNTIME;
  bool lost = h->unwritten || h->write_error;
  if (lost && (status == EXIT_REFUSED || status == EXIT_LIMIT))
    status = EXIT_RUNTIME;
  if (status == EXIT_LIMIT && !h->said) fputs("rly: out of memory\n", stderr);
  if (h->write_error && !h->write_told) host_say_unwritten(h->write_error);
  return status;
}

/* program_failed() reports E0701 with the sizes and clears `exhausted`. */
int host_out_of_memory(Host *h) {
  program_failed(h->program, RLY_OK);
  host_report(h);
  return EXIT_LIMIT;
}

int host_run(const Cli *cli, int (*work)(Host *h)) {
  Host h;
  if (!host_init(&h, cli)) return EXIT_LIMIT;
  int status = files_check(&h);
  if (!status) status = host_plugins(&h) ? work(&h) : EXIT_REFUSED;
  status = host_finish(&h, status);
  host_done(&h);
  return status;
}

/* --- Messages ------------------------------------------------------------ */

/* Commands complain before they have a context: the memory is their own. */
void complain(const char *format, ...) {
  Mem mem;
  StrBuf text, line;
  if (!mem_init(&mem, SIZE_MAX)) return;
  strbuf_init(&text, &mem);
  strbuf_init(&line, &mem);
  va_list args;
  va_start(args, format);
  strbuf_addv(&text, format, args);
  va_end(args);
  strbuf_add_visible(&line, strbuf_text(&text), text.len);
  fprintf(stderr, "%s\n", strbuf_text(&line));
  strbuf_done(&text);
  strbuf_done(&line);
  mem_done(&mem);
}

/* --- Diagnostics -------------------------------------------------------- */

int exit_status(rly_status status) {
  switch (status) {
    case RLY_OK: return 0;
    case RLY_RUNTIME: return EXIT_RUNTIME;
    case RLY_LIMIT: return EXIT_LIMIT;
    case RLY_INTERRUPTED: return EXIT_INTERRUPTED;
    default: return EXIT_REFUSED;
  }
}

static void put_report(Host *h, char *text, bool json) {
  if (text && json) host_write(h, text, strlen(text));
  else fputs(text ? text : "rly: out of memory\n", stderr);
  h->said = true;
  rly_text_free(h->cx, text);
}

/* Remembers the code for `:explain`, and for the exit status. */
static void note_code(Host *h, const rly_diagnostic *d) {
  if (d->severity == RLY_ERROR)
    snprintf(h->last_code, sizeof h->last_code, "%s", d->code);
  h->unwritten |= !strcmp(d->code, diag_code_text(E0507));
}

static void report_context(Host *h, bool json) {
  rly_diagnostic d;
  if (!rly_diagnostic_count(h->cx)) return;
  for (size_t i = 0; rly_diagnostic_get(h->cx, i, &d); i++) note_code(h, &d);
  put_report(h,
             json ? rly_diagnostics_json(h->cx)
                  : rly_diagnostics_text(h->cx, use_color(h->cli, stderr)),
             json);
  rly_diagnostics_clear(h->cx);
}

static void report_session(Host *h, bool json) {
  rly_session *s = h->session;
  if (!rly_session_diagnostic_count(s)) return;
  if (h->write_error &&
      !interrupted) { /* it carries the message that the run was stopped */
    rly_session_diagnostics_clear(s);
    return;
  }
  bool colour = use_color(h->cli, stderr);
  rly_diagnostic d;
  for (size_t i = 0; rly_session_diagnostic_get(s, i, &d); i++)
    note_code(h, &d);
  put_report(h,
             json ? rly_session_diagnostics_json(s)
                  : rly_session_diagnostics_text(s, colour),
             json);
  rly_session_diagnostics_clear(s);
}

static void report(Host *h, bool json) {
  rly_diagnostics_width(h->cx, columns_of(stderr));
  report_context(h, json);
  report_session(h, json);
}

void host_report(Host *h) { report(h, h->cli->json); }

void host_report_aside(Host *h) { report(h, false); }

int host_no_function(Host *h, const char *name) {
  program_no_function(h->program->ir, NULL, name);
  host_report(h);
  return EXIT_REFUSED;
}

static int refuse(Host *h, const char *code, int status, const char *format,
                  va_list args) {
  char message[1024];
  vsnprintf(message, sizeof message, format, args);
  rly_diagnostic_add(h->cx, code, message);
  host_report(h);
  return status;
}

int host_usage(Host *h, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int status = refuse(h, "E0506", EXIT_REFUSED, format, args);
  va_end(args);
  return status;
}

int host_unwritable(Host *h, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int status = refuse(h, "E0507", EXIT_RUNTIME, format, args);
  va_end(args);
  return status;
}
