/* The choice among the program's commands, which commands.def lists.
 *
 *   rly WORD ...       the command of that name
 *   rly FILE ...       rly run FILE ...
 *   rly                the prompt, or the script on stdin (rly run decides)
 *   rly -e 'ITEMS'     rly run -e
 *
 * Flags may stand before the command's word, too.  A first word that is neither
 * a command nor an existing file but resembles a command is taken for a
 * misspelt one; anything else is a file, and `rly run` says what is wrong with
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/cli.h"

typedef struct Command {
  const char *name, *words;
  int bit, least, most; /* how many words it needs and takes */
  int (*run)(const Cli *cli);
  const char *help;
} Command;

enum { ANY = INT_MAX };

static const Command commands[] = {
#define COMMAND(id, function, word, least, most, arguments, help) \
  {word, arguments, IN_##id, least, most, command_##function, help},
#include "repl/commands.def"
#undef COMMAND
};

static const Command *find_command(const char *name) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (!strcmp(commands[i].name, name)) return &commands[i];
  return NULL;
}

/* Suggestions follow base/name.h: within a third of the letters. */
static const char *near_command(const char *word) {
  Suggestion near = suggestion_for(word);
  for (int i = 0; i < COMMAND_COUNT; i++)
    suggestion_offer(&near, commands[i].name);
  return near.best;
}

static void say_no_command(const char *word) {
  const char *near = near_command(word);
  if (near) complain("rly: no command `%s`; did you mean `%s`?", word, near);
  else complain("rly: no command `%s`", word);
}

/* --- Help --------------------------------------------------------------- */

/* The command's flags are those rows of flags.def that name its bit. */
static void help_on(const Command *c) {
  printf("rly %s %s - %s\n\n", c->name, c->words, c->help);
  flags_print(stdout, c->bit);
}

/* The exit statuses are said here because scripts depend on them. */
static void help_all(void) {
  puts(
      "rly: a typed functional tensor IR\n\n"
      "  rly                     the prompt, or the script on stdin\n"
      "  rly FILE.rly [ARGS...]  the same as rly run\n"
      "  rly -e 'ITEMS'          evaluate and print");
  for (int i = 0; i < COMMAND_COUNT; i++) {
    int n = printf("  rly %s %s", commands[i].name, commands[i].words);
    help_print(stdout, n, 26, commands[i].help);
  }
  puts(
      "\nExit status: 0 fine, 1 refused, 2 run-time error, 3 a limit, "
      "130 interrupted.");
}

int command_help(const Cli *cli) {
  if (!cli->words.count) {
    help_all();
    return 0;
  }
  const Command *c = find_command(cli->words.items[0]);
  if (c) help_on(c);
  else say_no_command(cli->words.items[0]);
  return c ? 0 : EXIT_REFUSED;
}

/* --- Dispatch ----------------------------------------------------------- */

/* Suggests a command for a word that is neither a command nor a file. */
static bool is_misspelt(const char *word) {
  return *word != '-' && !strpbrk(word, "./") && near_command(word) &&
         access(word, F_OK);
}

/* The command that the first word names which is no flag; NULL: that is a
 * misspelt one.  A word that names a command is taken out, so that the flags
 * before it and the words after it are all that is left. */
static const Command *choose(int *argc, char **argv, bool *named) {
  int at = flags_before(*argc, argv);
  const char *word = at < *argc ? argv[at] : NULL;
  const Command *c = word ? find_command(word) : NULL;
  *named = c != NULL;
  if (!c && word && is_misspelt(word)) {
    say_no_command(word);
    return NULL;
  }
  if (!c) return find_command("run");
  (*argc)--;
  memmove(argv + at, argv + at + 1, (size_t)(*argc - at) * sizeof *argv);
  return c;
}

/* Do the command's words and flags make sense together?  `why` says what does
 * not. */
static bool fits(const Command *c, const Cli *cli, char *why, size_t size) {
  int count = cli->words.count;
  if (count >= c->least && count <= c->most)
    return !flags_misfit(c->bit, cli, why, size);
  if (count < c->least) snprintf(why, size, "%s needs a file", c->name);
  else
    snprintf(why, size, "`%.500s` is a word too many: rly %s%s%s",
             cli->words.items[c->most], c->name, *c->words ? " " : "",
             c->words);
  return false;
}

/* With --json the refusal is a diagnostic as any other. */
static int refuse(const Cli *cli, const char *why) {
  Host h;
  if (!host_init(&h, cli)) return EXIT_LIMIT;
  int status = host_finish(&h, host_usage(&h, "%s", why));
  host_done(&h);
  return status;
}

static int run_command(const rly_stack *stack, const Command *c, bool named,
                       int argc, char **argv) {
  Cli *cli = cli_new(argc);
  if (!cli) {
    fputs("rly: out of memory\n", stderr);
    return EXIT_LIMIT;
  }
  cli->limits.stack = stack;
  int status = 0;
  char why[800];
  if (!flags_parse(c->bit, c->name, argc, argv, cli)) status = EXIT_REFUSED;
  else if (cli->version) printf("rly %s\n", rly_version());
  else if (cli->help) named ? help_on(c) : help_all();
  else if (!fits(c, cli, why, sizeof why)) status = refuse(cli, why);
  else status = c->run(cli);
  free(cli);
  return status;
}

/* RLY_ISA chooses the kernels' instruction set.  It is a variable and no flag
 * because it concerns the whole process, before any context exists, and because
 * tests set it for commands that they do not write. */
static bool choose_instruction_set(void) {
  const char *isa = getenv("RLY_ISA");
  if (!isa || !*isa || rly_instruction_set(isa)) return true;
  complain("rly: RLY_ISA=%s: this machine has no such instruction set", isa);
  return false;
}

/* Those after the program's name. */
typedef struct Words {
  int argc;
  char **argv;
  int status;
} Words;

static void run_words(const rly_stack *stack, void *data) {
  Words *w = data;
  bool named;
  const Command *c = choose(&w->argc, w->argv, &named);
  if (c) w->status = run_command(stack, c, named, w->argc, w->argv);
}

/* Opens something at the number of each standard stream that is closed.  The
 * next file would get that number otherwise, and output would be written into
 * it.  Using the stream fails as before: stdin is opened for writing, and the
 * other two lead to a folder, which cannot be written under the name
 * /dev/stdout either. */
static void occupy_closed_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      open(fd == STDIN_FILENO ? "/dev/null" : "/",
           fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* SIGPIPE would end the process without a word when a reader goes; ignored, the
 * write fails with EPIPE and host_finish() decides.  The last fflush() is for
 * output that was printed without a host, such as help; musl drops a line that
 * it could not write, of which ferror() alone tells. */
int main(int argc, char **argv) {
  heap_is_own();
  occupy_closed_streams();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a file too large is an error of the write */
  files_outlive_cuts();
  if (!choose_instruction_set()) return EXIT_REFUSED;
  Words words = {argc > 0 ? argc - 1 : 0, argv + 1, EXIT_REFUSED};
  rly_stack_run(run_words, &words);
  bool written = !fflush(stdout) && !ferror(stdout);
  if (written || words.status) return words.status;
  host_say_unwritten(errno);
  return EXIT_RUNTIME;
}
