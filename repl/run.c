/* rly run FILE [ARGS], rly -e ITEMS: scripts and entries.  Also what other
 * commands need for the same first steps: reading the program, finding the
 * entry, binding values.
 *
 *   host_add_program    reads, parses and checks the text
 *   host_find_entry     @main, --entry, or the items themselves
 *   host_bind           gives params their values, from files and words
 *   run_repeated        makes a session for each run, runs it and shows values
 *
 * Each phase begins only where the one before succeeded, so a program that does
 * not check reads no files of weights.  Reading, binding and the writing of
 * outputs are under guard (guard.h), for they do not look at a stop flag;
 * running has a limit of its own.
 *
 * With --repeat every run has a new session: cells begin anew and no value of
 * one run is seen by the next. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"
#include "repl/guard.h"
#include "repl/opt.h"

/* --- Reading and binding ------------------------------------------------ */

enum { TEXT_MOST = 1 << 30 };

/* NULL where memory runs out, or when the text takes more than `most` bytes.
 * The buffer doubles, so copying is linear in all; `most` is compared before
 * doubling, which so cannot overflow. */
static char *read_stream(FILE *f, size_t most, size_t *len) {
  size_t cap = 1 << 16;
  char *text = malloc(cap);
  *len = 0;
  for (size_t n; text && (n = fread(text + *len, 1, cap - *len, f)) > 0;) {
    *len += n;
    bool full = *len == cap;
    if (full && cap > most / 2) {
      free(text);
      return NULL;
    }
    char *more = full ? realloc(text, cap *= 2) : text;
    if (!more) free(text);
    text = more;
  }
  return text;
}

/* The bound of read_stream() keeps a pipe without end from taking all memory
 * before the first look at a limit. */
char *host_stdin(Host *h, size_t *len) {
  /* The text lies beside the copy that the program makes of it. */
  size_t most = h->max_memory / 2 < TEXT_MOST ? h->max_memory / 2 : TEXT_MOST;
  char *text = read_stream(stdin, most, len);
  if (!text)
    rly_diagnostic_add(h->cx, "E0010", "standard input holds more than fits");
  return text;
}

static rly_status add_stdin(Host *h) {
  size_t len;
  char *text = host_stdin(h, &len);
  if (!text) return RLY_LIMIT;
  rly_status status = rly_program_add_text(h->program, "<stdin>", text, len, 0);
  free(text);
  return status;
}

/* Adds the text that passes made of the file.  Spans refer to that text, which
 * passes have laid out anew. */
static rly_status add_optimised(Host *h, const char *path, Version *v) {
  const char *passes = h->cli->passes;
  StrBuf text, name;
  strbuf_init(&text, h->program->mem);
  strbuf_init(&name, h->program->mem);
  rly_status status = RLY_REFUSED;
  if (opt_run_pipeline(h, v, h->versions)) {
    if (passes) strbuf_addf(&name, "%s after %s", path, passes);
    else strbuf_addf(&name, "%s at -O%d", path, cli_level(h->cli, 0));
    version_print(v, &text);
    Diags *diags = h->program->ir->diags;
    DiagsMark mark = diags_mark(diags);
    status = rly_program_add_text(h->program, strbuf_text(&name),
                                  strbuf_text(&text), text.len, 0);
    if (status == RLY_OK) diags_return(diags, mark);
    version_done(h, v);
  }
  if (mem_exhausted(text.mem)) status = RLY_LIMIT;
  strbuf_done(&name);
  strbuf_done(&text);
  return status;
}

rly_status host_add_file(Host *h, const char *path) {
  guard_begin(h->cli, "reading the program");
  rly_status status = strcmp(path, "-")
                          ? rly_program_add_file(h->program, path, 0)
                          : add_stdin(h);
  guard_end();
  return status;
}

static rly_status add_after_passes(Host *h) {
  const Cli *cli = h->cli;
  const char *path = cli->words.count ? cli->words.items[0] : "-";
  Version v;
  if (cli->eval) path = "<command line>";
  bool read = cli->eval
                  ? version_of_text(h, path, cli->eval, strlen(cli->eval), &v)
                  : version_of_file(h, path, &v);
  if (!read) return mem_exhausted(h->program->mem) ? RLY_LIMIT : RLY_REFUSED;
  return add_optimised(h, strcmp(path, "-") ? path : "<stdin>", &v);
}

static rly_status add_program(Host *h, int *args) {
  const Cli *cli = h->cli;
  *args = !cli->eval && cli->words.count > 0;
  if (cli_has_passes(cli)) return add_after_passes(h);
  if (cli->eval)
    return rly_program_add_text(h->program, "<command line>", cli->eval,
                                strlen(cli->eval), 0);
  return *args ? host_add_file(h, cli->words.items[0]) : add_stdin(h);
}

rly_status host_add_program(Host *h, int *args) {
  guard_begin(h->cli, "reading the program");
  rly_status status = add_program(h, args);
  guard_end();
  return status;
}

static rly_status bind_files(Host *h, const TextList *files) {
  rly_status status = RLY_OK;
  for (int i = 0; i < files->count && status == RLY_OK; i++)
    status = rly_program_bind_file(h->program, files->items[i]);
  return status;
}

/* The length of `NAME=`, if a word before this one has it, too; else 0.  The
 * name ends at `=`; a `[` or a quotation mark before it belongs to a value
 * without a name.  Names are compared with their `=`, so `x` is not taken for
 * the beginning of `xs`. */
static size_t given_before(const Cli *cli, int first, int i) {
  const char *word = cli->words.items[i];
  size_t n = strcspn(word, "=[\"") + 1;
  if (word[n - 1] != '=') return 0;
  for (int k = first; k < i; k++)
    if (!strncmp(cli->words.items[k], word, n)) return n;
  return 0;
}

/* Between files the later binding wins, because files are layered on purpose;
 * that a word is given twice is a slip of the hand. */
static rly_status bind_word(Host *h, int first, int i) {
  const char *word = h->cli->words.items[i];
  size_t twice = given_before(h->cli, first, i);
  if (!twice) return rly_program_bind_text(h->program, word);
  char text[120];
  snprintf(text, sizeof text, "`%.*s` is given twice",
           (int)(twice > 80 ? 80 : twice - 1), word);
  rly_diagnostic_add(h->cx, "E0505", text);
  return RLY_REFUSED;
}

/* The order of binding is the order of precedence, from the lowest: --params,
 * --inputs, words.  By now everything that a command reads before its work has
 * been read. */
rly_status host_bind_given(Host *h, int first) {
  rly_status status = bind_files(h, &h->cli->params);
  if (status == RLY_OK) status = bind_files(h, &h->cli->inputs);
  for (int i = first; i < h->cli->words.count && status == RLY_OK; i++)
    status = bind_word(h, first, i);
  int refused = status == RLY_OK ? files_check_read(h) : 0;
  if (refused) status = refused == EXIT_LIMIT ? RLY_LIMIT : RLY_REFUSED;
  const char *outputs = h->cli->outputs;
  if (status == RLY_OK && outputs &&
      !path_takes_tensors(outputs, &h->cx->diags))
    status = RLY_RUNTIME;
  return status;
}

rly_status host_bind(Host *h, int first, const rly_function *entry) {
  guard_begin(h->cli, "loading");
  rly_status status = host_bind_given(h, first);
  if (status == RLY_OK) status = rly_program_bindings_check(h->program, entry);
  guard_end();
  return status;
}

static rly_status write_outputs(Host *h, rly_value *value) {
  guard_begin(h->cli, "writing the outputs");
  rly_status status = rly_value_write(value, h->cli->outputs);
  guard_end();
  return status;
}

/* A host calls a function at one type. */
static bool says_no_type(const Program *p, const char *name) {
  const Global *g = scope_global(&p->user, name_of(p->names, name));
  if (!g || !g->scheme) return false;
  Diag *d = diag_error(p->diags, E0113, g->span,
                       "`@%s` is a function for each shape and dtype, and "
                       "nothing says which one to run",
                       name);
  diag_hint(d,
            "write out the types of a function that calls it, or give it "
            "values by `rly opt --bind`");
  return true;
}

/* A text with expressions at its top level is a script and is run as such;
 * without any, it is a module whose @main is meant.  The prompt (-i) may follow
 * a text that has neither. */
bool host_find_entry(Host *h, const rly_function **entry) {
  const char *name = h->cli->entry;
  *entry = NULL;
  if (!name && rly_program_has_expressions(h->program)) return true;
  *entry = rly_program_function(h->program, name ? name : "main");
  if (*entry || (!name && h->cli->interactive)) return true;
  if (says_no_type(h->program->ir, name ? name : "main")) return false;
  if (name) program_no_function(h->program->ir, NULL, name);
  else
    rly_diagnostic_add(h->cx, "E0113",
                       "nothing to run: no expression and no `@main`");
  return false;
}

/* --- Running ------------------------------------------------------------ */

static rly_status call_entry(Host *h, rly_session *s, const rly_function *entry,
                             bool show) {
  rly_value *result;
  rly_status status = rly_session_call_bound(s, entry, &result);
  if (status != RLY_OK) return status;
  if (show && h->cli->outputs) status = write_outputs(h, result);
  else if (show) status = host_put(h, result);
  rly_value_free(result);
  return status;
}

typedef struct Shown {
  Host *host;
  rly_value *last;
} Shown;

static void show_and_keep(void *data, rly_value *value) {
  Shown *shown = data;
  host_show(shown->host, value);
  rly_value_free(shown->last);
  shown->last = rly_value_keep(value);
}

/* Runs the items of the text.  Each expression's value is printed in its turn;
 * --outputs writes the value of the last one.  The last value is kept by a
 * reference of its own, for the run drops each value after it was shown. */
static rly_status run_items(Host *h, rly_session *s) {
  Shown shown = {.host = h};
  rly_status status = rly_session_run(s, show_and_keep, &shown);
  if (status == RLY_OK && h->cli->outputs && shown.last)
    status = write_outputs(h, shown.last);
  rly_value_free(shown.last);
  return status;
}

/* Runs the entry function or the items once in the given session. */
static rly_status run_once(Host *h, rly_session *s, const rly_function *entry,
                           bool show) {
  if (entry) return call_entry(h, s, entry, show);
  return show ? run_items(h, s) : rly_session_run(s, NULL, NULL);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void sort_times(size_t n, double *times) {
  qsort(times, n, sizeof *times, by_size);
}

/* Times go to stderr, so that stdout holds the program's output alone; the tab
 * between the columns is for cut(1) and awk(1). */
static void print_times(double *ms, uint64_t n) {
  sort_times(n, ms);
  fprintf(stderr, "min\t%.4f ms\nmedian\t%.4f ms\n", ms[0], ms[n / 2]);
}

static void print_stats(rly_session *s) {
  rly_stats t = rly_session_stats(s);
  const struct {
    const char *name;
    uint64_t value;
  } rows[] = {
      {"instructions", t.instructions},
      {"cells", t.cells},
      {"reused", t.reused},
      {"tensors", t.tensors},
      {"buffers", t.buffers},
      {"checks", t.checks},
      {"live bytes", t.live_bytes},
      {"peak bytes", t.peak_bytes},
      {"tape bytes", t.tape_bytes},
      {"tape records", t.records},
      {"recomputed", t.recomputed},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    fprintf(stderr, "%s\t%llu\n", rows[i].name,
            (unsigned long long)rows[i].value);
}

static void print_profile(Host *h, rly_session *s) {
  char *text = rly_session_profile(s);
  if (text) fputs(text, stderr);
  rly_text_free(h->cx, text);
}

/* Making and freeing the session is not part of the time; making code is part
 * of the first run's. */
static rly_status run_timed(Host *h, const rly_function *entry, bool show,
                            double *ms) {
  rly_session *s = host_session(h, show);
  if (!s) return RLY_LIMIT;
  double start = 1e3 * clock_seconds();
  rly_status status = run_once(h, s, entry, show);
  *ms = 1e3 * clock_seconds() - start;
  if (show && h->cli->stats) print_stats(s);
  if (show) print_profile(h, s);
  rly_status ended = host_session_free(h, s);
  return status == RLY_OK ? ended : status;
}

/* The first run prints; the others are only timed. */
static rly_status run_repeated(Host *h, const rly_function *entry) {
  uint64_t n = h->cli->repeat ? h->cli->repeat : 1;
  double *ms = calloc(n, sizeof *ms);
  rly_status status = ms ? RLY_OK : RLY_LIMIT;
  for (uint64_t i = 0; i < n && status == RLY_OK; i++)
    status = run_timed(h, entry, i == 0, &ms[i]);
  if (status == RLY_OK && h->cli->time) print_times(ms, n);
  free(ms);
  return status;
}

/* The prompt follows a program that has failed, too, for a look at what it had
 * computed; one of which a param has no value, where an entry that needs the
 * value is then refused; and one that was refused, which left no names.  What
 * the program ended with stays the exit status. */
static int run_interactive(Host *h, const rly_function *entry, bool whole,
                           bool bound) {
  rly_session *s = host_session(h, true);
  if (!s) return EXIT_LIMIT;
  rly_status status = whole ? RLY_OK : RLY_REFUSED;
  if (bound) status = run_once(h, s, entry, true);
  else rly_session_skip(s);
  host_report(h);
  int code = repl_loop(h, s, true, NULL);
  rly_status ended = host_session_free(h, s);
  if (status != RLY_OK) return exit_status(status);
  return code ? code : exit_status(ended);
}

/* Warnings are shown before the program prints anything.  `whole` says that the
 * text is a program, `bound` that it can run: the prompt needs the first
 * only. */
static int run_program(Host *h) {
  const rly_function *entry = NULL;
  int args;
  if (h->cli->startup && !h->cli->interactive)
    return host_usage(h, "--startup is read before a prompt: it needs -i");
  rly_status status = host_add_program(h, &args);
  if (status == RLY_OK && !host_find_entry(h, &entry)) status = RLY_REFUSED;
  bool whole = status == RLY_OK;
  if (whole) status = host_bind(h, args, entry);
  bool bound = status == RLY_OK;
  if (bound) host_report_aside(h);
  if (h->cli->interactive && (whole || status == RLY_REFUSED)) {
    host_report(h);
    return run_interactive(h, entry, whole, bound);
  }
  if (bound) status = run_repeated(h, entry);
  host_report(h);
  return exit_status(status);
}

/* Without a program, a user at a terminal gets the prompt. */
static bool wants_prompt(const Cli *cli) {
  return !cli->eval && !cli->words.count && isatty(STDIN_FILENO);
}

int command_run(const Cli *cli) {
  if (wants_prompt(cli)) return command_repl(cli);
  return host_run(cli, run_program);
}
