/* What the commands of the program share: the parsed command line, and a host:
 * one context with its output, signals and exit statuses. */
#ifndef REPL_CLI_H
#define REPL_CLI_H

#include <stdio.h>

#include "include/rly.h"

typedef struct TextList {
  const char **items; /* room for all words of the command line */
  int count;
} TextList;

/* Exit statuses, on which scripts depend; 0: all went well. */
typedef enum ExitStatus {
  EXIT_REFUSED = 1,      /* of the program or of the command line; or what was
                            to be checked does not hold */
  EXIT_RUNTIME = 2,      /* a run-time error, or output that was not written */
  EXIT_LIMIT = 3,        /* a limit was hit, such as that of memory */
  EXIT_INTERRUPTED = 130 /* as a shell says it: 128 + SIGINT */
} ExitStatus;

/* The words of --color and --cost, in the order that flags.def has. */
enum { COLOR_AUTO = 1, COLOR_ALWAYS, COLOR_NEVER };
enum { COST_ROWS = 1, COST_MEASURED };

/* One field for each flag; flags.def has the rows. */
typedef struct Cli {
  int command; /* its set of one (IN_RUN and so on) */
  rly_options limits;
  int color;
  bool json, help, version;
  TextList words; /* the words that are not flags: files, arguments */
  /* of several commands */
  const char *entry, *eval, *output_path, *html;
  const char *passes;
  const char *level; /* "-O2": the last one given; NULL: none */
  int format;
  uint64_t seed;
  bool stateful, markdown;
  TextList params, inputs, plugin, bind_shape, bind, rule;
  /* of run and repl */
  const char *outputs, *trace, *startup;
  uint64_t repeat;
  bool time, stats, profile, interactive, no_startup;
  /* of check */
  bool types, effects, statics, tail_calls;
  /* of fmt */
  bool write, relay, functional;
  const char *pass;
  TextList entries;
  /* of dump */
  bool ir, bytecode;
  /* of import */
  bool import_test;
  TextList state;
  /* of export */
  bool external;
  uint64_t opset;
  /* of opt */
  const char *print_before, *print_after, *reduce, *rewrites;
  int cost;
  bool saturate, fast_math, verify, bisect;
  bool dump_pipeline, print_changed, time_passes;
  double trial_timeout;
  TextList exec, rules;
  /* of verify */
  uint64_t trials;
  double budget;
  /* of test */
  bool promote, shell;
  /* of train */
  uint64_t epochs, batch, epoch_steps, shards, warm_up, save_every, keep,
      patience;
  double lr, clip, validate;
  const char *loss, *optimizer, *schedule, *log;
  bool resume, quiet, print;
  /* of step */
  const char *strategy, *fold;
  uint64_t steps;
  TextList breaks;
  /* of stream */
  const char *step, *init, *save_state, *load_state, *carry, *reset_on;
  int tail;
  TextList input, output, expect, frame, hop;
  /* of watch */
  bool once, cells;
  const char *kept;
  double keep_over;
  /* of serve-docs */
  uint64_t port;
} Cli;

static inline int cli_level(const Cli *cli, int otherwise) {
  return cli->level ? cli->level[2] - '0' : otherwise;
}

/* Do passes go over the program before it runs? */
static inline bool cli_has_passes(const Cli *cli) {
  return cli->passes || cli_level(cli, 0) > 0;
}

/* --- Commands: a row each of commands.def --------------------------------- */

/* command_run() and so on; each gives the exit status. */
#define COMMAND(id, function, ...) int command_##function(const Cli *cli);
#include "repl/commands.def"
#undef COMMAND

enum {
#define COMMAND(id, ...) CMD_##id,
#include "repl/commands.def"
#undef COMMAND
  COMMAND_COUNT
};

/* The commands that take a flag are a set of these. */
enum {
#define COMMAND(id, ...) IN_##id = 1 << CMD_##id,
#include "repl/commands.def"
#undef COMMAND
  IN_ALL = (1 << COMMAND_COUNT) - 1
};

/* --- Flags and limits --------------------------------------------------- */

/* Returns false, and leaves *out unspecified, for a text that is no count. */
bool read_count(const char *text, uint64_t *out);

/* A limit of runs, as `:limit` has it: `memory` is that of --max-memory, `tape`
 * that of --tape-memory. */
typedef struct Limit {
  char name[16];
  const char *takes; /* BYTES, N or SECONDS */
  char value[32];    /* as text that `:limit` reads */
} Limit;
/* Limit number i, from 0 on, and what it is in `of`; false: there are no
 * more. */
bool limit_at(int i, const rly_options *of, Limit *out);
/* Sets the limit of `:limit NAME VALUE`, which takes what its flag takes;
 * NAME may be the flag's, as `max-memory` is.  False: there is no such limit,
 * or it takes no such value. */
bool read_limit(const char *name, const char *value, rly_options *to);
/* Makes of limits that came from flags those that the library takes, where 0 is
 * none. */
void limits_plain(rly_options *o);

/* A command line of `argc` words, still to be read; free() it.  NULL when
 * memory runs out. */
Cli *cli_new(int argc);
/* How many words at the beginning are flags and their values, whoever takes
 * them. */
int flags_before(int argc, char **argv);
/* Fills `cli` from the words after the command's name.  Returns false after
 * printing a usage error. */
bool flags_parse(int command, const char *name, int argc, char **argv,
                 Cli *cli);
/* Is a flag given without another one that it needs, or with one that takes its
 * effect?  `why` then says so. */
bool flags_misfit(int command, const Cli *cli, char *why, size_t size);
/* The flags of a command, for help texts. */
void flags_print(FILE *out, int command);
/* A value of --input, --bind and their like is `NAME=VALUE` or plain.  The
 * value behind a name, which is `*len` bytes long; a name has only letters,
 * digits, `_` and `.`, and begins with no `.`. */
const char *named_value(const char *text, size_t *len);
/* A file that a flag names. */
typedef struct FlagFile {
  const char *flag, *path;
  bool written;
  bool state; /* what is read may be replaced by what is written */
} FlagFile;
/* Calls `visit` for each, until it gives something else than 0: that, or 0. */
int flags_files(const Cli *cli, int (*visit)(void *data, const FlagFile *file),
                void *data);
/* What a usage means, from a column on: beside a usage that took `printed`
 * columns, or below one that is too long for that. */
void help_print(FILE *out, int printed, int column, const char *help);

typedef struct Host {
  size_t max_memory; /* bytes; never 0 */
  const Cli *cli;
  rly_context *cx;
  rly_program *program;
  rly_session *session; /* its diagnostics are reported as well; or NULL */
  FILE *print_to;       /* what programs print; NULL: stdout */
  size_t printed;       /* bytes that programs have printed so far */
  size_t known; /* how many of the next bytes are not shown, because they were
                   shown before */
  struct Versions *versions; /* of a page: what passes make of the program that
                                is added is shown there; or NULL */
  bool said;                 /* something was reported */
  bool unwritten;            /* ... of it, that a file could not be written */
  char last_code[8]; /* of the last error that was reported; "" for none */
  int write_error;   /* errno of stdout (closed pipe, full disk); 0: none */
  bool write_told;   /* that was reported already */
} Host;

/* Runs a command with a host of its own.  `work` returns the exit status, which
 * is replaced if stdout fails. */
int host_run(const Cli *cli, int (*work)(Host *h));
/* What limits a host has: those of the flags, and for memory always one. */
rly_options host_limits(const Cli *cli);
/* The two ends of host_run().  host_init() returns false after saying why; the
 * exit status is then EXIT_LIMIT. */
bool host_init(Host *h, const Cli *cli);
void host_done(Host *h);
/* Loads the files of --plugin (plugin.c); false after reporting. */
bool host_plugins(Host *h);
/* Another program, with the operators of --plugin, for a text that is read once
 * more; NULL: memory ran out, or a plugin failed. */
rly_program *host_program_new(Host *h, rly_context *cx);

/* The texts that are added to the program are made for what --bind-shape and
 * --bind give. */
void host_give(const Host *h, rly_program *p);

/* Frees a second program of the host's context.  What its memory could not
 * hold, the command could not do: so if it ran out, or `p` is NULL, the host's
 * program is out of memory. */
void host_program_free(Host *h, rly_program *p);

/* Memory ran out while something was made of the program: reports it;
 * EXIT_LIMIT. */
int host_out_of_memory(Host *h);
/* The exit status for a result of the API. */
int exit_status(rly_status status);
/* Prints the diagnostics of the context and the session to stderr, or as JSON
 * to stdout, and clears them. */
void host_report(Host *h);
/* The same, but always to stderr: warnings beside a result on stdout. */
void host_report_aside(Host *h);
/* Reports that the program has no such function; EXIT_REFUSED. */
int host_no_function(Host *h, const char *name);
/* Reports a usage error; EXIT_REFUSED. */
int host_usage(Host *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports that a file or folder cannot be written; EXIT_RUNTIME. */
int host_unwritable(Host *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says what is no diagnostic on stderr, in one line that is as safe to send to
 * a terminal as one. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The whole of stdin, owned; NULL after reporting. */
char *host_stdin(Host *h, size_t *len);
/* Adds a file's text; `-` is stdin. */
rly_status host_add_file(Host *h, const char *path);
/* Adds the program's text from -e, a file or stdin, or what the passes of
 * --passes or of a level make of it. *args is the index of the
 * first word after it. */
rly_status host_add_program(Host *h, int *args);
/* The function to call, or NULL for a script.  Returns false after
 * reporting. */
bool host_find_entry(Host *h, const rly_function **entry);
/* Binds the files of --params and --inputs, then the words from `first` on.  A
 * later binding of a name replaces an earlier one.  `host_bind` looks at once
 * whether all has a value that the program or the entry needs. */
rly_status host_bind_given(Host *h, int first);
rly_status host_bind(Host *h, int first, const rly_function *entry);
/* A session that prints to stdout and that Ctrl-C interrupts from now on.  If
 * `observed`, the flags for profiles, traces and NaNs apply to it. */
rly_session *host_session(Host *h, bool observed);
/* A fork of a session. */
rly_session *host_fork(Host *h, rly_session *s);
/* Makes this session the one that Ctrl-C interrupts and that is reported. */
void host_session_use(Host *h, rly_session *s);
/* For a prompt: Ctrl-C before this is forgotten, and later it stops whatever
 * is under way or comes next. */
void host_listen(Host *h);
/* Whether Ctrl-C was pressed since the last call. */
bool host_was_interrupted(void);
/* Reports the session's observations and frees it; RLY_RUNTIME where it could
 * not write what it owed, such as the end of a trace. */
rly_status host_session_free(Host *h, rly_session *s);
/* Writes to stdout and remembers a failure. */
void host_write(void *host, const char *text, size_t len);
/* Prints a value as --json or in its display form; () is printed only as
 * JSON.  On an interrupt it reports and returns the status. */
rly_status host_put(Host *h, rly_value *value);
/* The same within a run, which does the reporting. */
void host_show(void *host, rly_value *value);
/* Flushes stdout: `status`, or EXIT_RUNTIME when output could not be written.
 */
int host_finish(Host *h, int status);
/* Says that the write which failed with this errno was to stdout. */
void host_say_unwritten(int error);
/* Is the stream a terminal?  Stdout is, while the pager has redirected it. */
bool is_terminal(FILE *stream);
/* Stdout is redirected, but meant for this descriptor. */
void host_stdout_leads_to(int fd);
bool use_color(const Cli *cli, FILE *stream);
/* The width of the terminal, or 80. */
int terminal_width(void);

/* --- What several commands print ------------------------------------------ */

/* Sorts what each of n runs took, the fastest first. */
void sort_times(size_t n, double *times);
/* Prints an operator (false after saying that there is none of that name), and
 * the list of operators: those whose name or alias has this beginning, or else
 * this part; "": all.  False after saying that there are none. */
bool ops_explain(const char *name);
bool ops_list(const char *part);
/* The operator of that name, or the one whose name ends so; NULL: none. */
const struct OpInfo *ops_find(const char *name);
/* Prints what a diagnostic's code means, or lists those about a word.  False
 * after saying that there is none. */
bool explain(const char *word);
/* Rows [from, to) of the table, as a JSON array of objects. */
void ops_print_json(int from, int to);

/* The prompt on a program and its session, which either ran a script (rly run
 * -i) or is new.  In a lesson (NULL: none) it goes on until that is over. */
struct Lesson;
int repl_loop(Host *h, rly_session *s, bool script, struct Lesson *lesson);

#endif
