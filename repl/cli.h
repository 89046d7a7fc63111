/* What the commands of the program share: the parsed command line, and a host
 * around one context that owns output, signals and exit statuses. */
#ifndef REPL_CLI_H
#define REPL_CLI_H

#include <stdio.h>

#include "include/rly.h"

enum { LIST_MAX = 1024 };

typedef struct TextList {
  const char *items[LIST_MAX];
  int count;
} TextList;

typedef enum ColorMode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } ColorMode;

/* One field a flag; flags.def says which. */
typedef struct Cli {
  rly_options limits;
  ColorMode color;
  bool json, types, effects, statics, write, relay, ir, bytecode, time, stats;
  bool profile;
  bool interactive, no_startup, promote, markdown, help, version;
  const char *entry, *outputs, *eval, *trace, *startup;
  const char *step, *init, *input, *tail, *output, *expect;
  const char *save_state, *load_state;
  const char *fold, *html;
  uint64_t frame, hop;
  uint64_t repeat, steps;
  TextList params, inputs, breaks;
  TextList words; /* what is no flag: files, arguments */
} Cli;

/* The commands, as a set for flags. */
enum {
  IN_RUN = 1,
  IN_CHECK = 2,
  IN_FMT = 4,
  IN_DUMP = 8,
  IN_TEST = 16,
  IN_OPS = 32,
  IN_REPL = 64,
  IN_HELP = 128,
  IN_EXPLAIN = 256,
  IN_STREAM = 512,
  IN_STEP = 1024,
  IN_ALL = 2047,
};

/* What flags and the prompt's `:limit` take: a count, bytes with a unit of K,
 * M, G or T, seconds.  False, and *out of no meaning, when it is none. */
bool read_count(const char *text, uint64_t *out);
bool read_size(const char *text, size_t *out);
bool read_seconds(const char *text, double *out);

/* Fills in `cli` from the words after the command's name.  False after
 * printing a usage error. */
bool flags_parse(int command, const char *name, int argc, char **argv,
                 Cli *cli);
/* The flags of a command, one a line, for help texts. */
void flags_print(FILE *out, int command);

typedef struct Host {
  const Cli *cli;
  rly_context *cx;
  rly_program *program;
  rly_session *session; /* whose diagnostics are reported, too; or NULL */
  FILE *print_to;       /* what programs print; NULL: stdout */
  size_t printed;       /* bytes that programs have printed */
  size_t known;         /* of what they print next, what is not shown again */
  int write_error;      /* errno of stdout (closed pipe, full disk); 0: none */
} Host;

/* What a command does with a host of its own; `work` gives the exit status,
 * which may become another when stdout fails. */
int host_run(const Cli *cli, int (*work)(Host *h));
/* The same in parts.  False after saying why; the status is then 3. */
bool host_init(Host *h, const Cli *cli);
void host_done(Host *h);

/* The exit status that stands for how something ended. */
int exit_status(rly_status status);
/* Prints and clears the context's and the session's diagnostics (stderr, or
 * JSON on stdout). */
void host_report(Host *h);
/* The same on stderr in any case: warnings beside a result that stdout
 * carries. */
void host_report_aside(Host *h);
/* Reports a usage error; returns the exit status 1. */
int host_usage(Host *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds the program's text: -e, a file, or stdin; *args is the first word behind
 * it. */
rly_status host_add_program(Host *h, int *args);
/* The function to call; NULL for a script.  False after reporting. */
bool host_find_entry(Host *h, const rly_function **entry);
/* Binds the files of --params and --inputs, then the words from `first` on;
 * each wins over those before. */
rly_status host_bind(Host *h, int first, const rly_function *entry);
/* What programs print. */
void host_print(void *host, const char *text, size_t len);
/* A session whose print goes to stdout; Ctrl-C interrupts it from now on.  One
 * that is `observed` is looked at as the flags say. */
rly_session *host_session(Host *h, bool observed);
/* A copy of one, which goes on on its own. */
rly_session *host_fork(Host *h, rly_session *s);
/* Has this one interrupted and reported from now on. */
void host_session_use(Host *h, rly_session *s);
/* Has Ctrl-C been pressed since this was asked last? */
bool host_was_interrupted(void);
/* Reports what it has to say, and frees it. */
void host_session_free(Host *h, rly_session *s);
/* Writes to stdout, remembering failure. */
void host_write(void *host, const char *text, size_t len);
/* Prints a value as --json or its display form; () prints only as JSON.  Not
 * RLY_OK, after reporting, when that was stopped. */
rly_status host_put(Host *h, rly_value *value);
/* The same within a run, which reports. */
void host_show(void *host, rly_value *value);
/* Flushes stdout: `status`, or 2 when output could not be written. */
int host_finish(Host *h, int status);
bool use_color(const Cli *cli, FILE *stream);
/* The width of the terminal, or 80. */
int terminal_width(void);

/* --- Commands --------------------------------------------------------------
 * Each returns the exit status. */
int command_run(const Cli *cli);
int command_check(const Cli *cli);
int command_fmt(const Cli *cli);
int command_dump(const Cli *cli);
int command_ops(const Cli *cli);
int command_explain(const Cli *cli);
int command_test(const Cli *cli);
int command_repl(const Cli *cli);
int command_stream(const Cli *cli);
int command_step(const Cli *cli);
int command_help(const Cli *cli);

/* What `rly ops` and the prompt show: an operator (false: there is none of that
 * name, which has been said), and the list of all. */
bool ops_explain(const char *name);
void ops_list(void);

/* The prompt on a program and its session, which ran a script (rly run -i) or
 * is new. */
int repl_loop(Host *h, rly_session *s, bool script);

#endif
