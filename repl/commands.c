/* The prompt's commands: a table row and a function each.
 *
 * A row holds all that is known of its command: the name, the letter, what it
 * takes, the function and the sentence of `:help`.  Completion and the messages
 * about unknown commands read the same table, so a command is added by its row
 * and its function and nowhere else.
 *
 * `args` is shown as it stands, and its first character is read: a command
 * whose args begin with a letter refuses to run without any; `[` says that they
 * may be left out; "" that the command takes none.
 *
 * What a command does to the program or to the session is in other files
 * (inspect.c, state.c, measure.c, ...); here are those about files, the editor
 * and leaving. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/abbrev.h"
#include "repl/repl.h"

typedef struct ReplCommand {
  const char *name;
  char letter; /* a second name of one letter; 0: none */
  const char *args;
  void (*run)(Repl *r, const char *rest);
  const char *help;
} ReplCommand;

static void run_help(Repl *r, const char *rest);

static void run_ops(Repl *r, const char *rest) {
  (void)r, (void)rest;
  ops_list("");
}

static void run_doc(Repl *r, const char *rest) {
  (void)r;
  ops_explain(rest);
}

/* --- Files -------------------------------------------------------------- */

static bool load(Repl *r, const char *path) {
  rly_status status = rly_program_add_file(r->host->program, path, RLY_RECHECK);
  host_report(r->host);
  if (status != RLY_OK || !repl_evaluate(r)) return false;
  transcript_add_file(r, path);
  return true;
}

/* The words are kept whole, with the values for params, so that :reload repeats
 * all of the command and not the path alone.  They are kept before loading: a
 * file with a mistake is the one that the user mends and loads again. */
static void run_load(Repl *r, const char *rest) {
  char *path = strdup(rest);
  if (!path) return;
  free(r->loaded);
  r->loaded = path;
  load(r, path);
}

static void run_reload(Repl *r, const char *rest) {
  (void)rest;
  if (r->loaded) load(r, r->loaded);
  else fputs("nothing was loaded; :load FILE does\n", stderr);
}

static void run_params(Repl *r, const char *rest) {
  rly_program_bind_file(r->host->program, rest);
  host_report(r->host);
}

/* Refuses to overwrite a file that exists. */
static void run_save(Repl *r, const char *rest) {
  if (!transcript_save(r, rest)) perror(*rest ? rest : ":save FILE");
}

/* Reads a whole file.  The caller frees the text. */
static char *read_file(const char *path) {
  FILE *in = fopen(path, "r");
  char *text = NULL;
  size_t cap = 0;
  if (in && getdelim(&text, &cap, '\0', in) < 0) {
    free(text);
    text = NULL;
  }
  if (in) fclose(in);
  return text;
}

/* Takes an entry from the user's editor, which starts with the text of the last
 * entry. */
static void run_edit(Repl *r, const char *rest) {
  (void)rest;
  char path[] = "/tmp/rly-edit-XXXXXX.rly";
  int fd = mkstemps(path, 4);
  if (fd < 0) {
    perror(":edit");
    return;
  }
  const char *last = r->last ? r->last : "";
  bool ok = write(fd, last, strlen(last)) == (ssize_t)strlen(last);
  close(fd);
  const char *editor = getenv("VISUAL");
  if (!editor || !*editor) editor = getenv("EDITOR");
  if (!editor || !*editor) editor = "vi";
  char command[4200];
  int n = snprintf(command, sizeof command, "%s '%s'", editor, path);
  ok = ok && n < (int)sizeof command && system(command) == 0;
  char *text = ok ? read_file(path) : NULL;
  unlink(path);
  if (!ok) repl_refuse("edit", "the editor failed, so nothing is entered");
  if (text && strspn(text, " \t\r\n") < strlen(text)) repl_submit(r, text);
  free(text);
}

/* --- Leaving ------------------------------------------------------------ */

static void run_quit(Repl *r, const char *rest) {
  (void)rest;
  r->quit = true;
}

static const ReplCommand table[] = {
    {"help", 'h', "", run_help, "this list"},
    {"ops", 0, "", run_ops, "the operators"},
    {"doc", 'd', "NAME", run_doc, "what an operator does"},
    {"apropos", 0, "WORD", inspect_apropos, "operators and names about a word"},
    {"type", 't', "EXPR", inspect_type,
     "the type of an expression, not evaluated"},
    {"kind", 'k', "TYPE", inspect_kind,
     "what a type is, or what it is applied to"},
    {"effects", 0, "EXPR", inspect_effects,
     "what evaluating it, or a call, does"},
    {"info", 'i', "NAME", inspect_info, "a name's type, effects and place"},
    {"bytecode", 0, "NAME", inspect_bytecode, "the instructions of a function"},
    {"load", 'l', "FILE", run_load,
     "add a file's definitions and run its items"},
    {"reload", 'r', "", run_reload, "load the last file again"},
    {"params", 0, "FILE", run_params, "bind `param`s to a file's tensors"},
    {"save", 0, "FILE", run_save, "write what was entered, to be run again"},
    {"edit", 'e', "", run_edit, "write an entry in $EDITOR"},
    {"state", 0, "[PATH]", state_run_list,
     "the cells that the session remembers"},
    {"set", 0, "PATH EXPR", state_run_set, "put a value into one"},
    {"snapshot", 0, "[NAME]", state_run_snapshot, "remember the cells' values"},
    {"restore", 0, "[NAME]", state_run_restore, "put them back"},
    {"fork", 0, "[NAME]", state_run_fork, "go on in a copy, or go back: main"},
    {"reset", 0, "", state_run_reset, "give every cell what it began with"},
    {"step", 's', "ITEMS", step_run,
     "show how they are evaluated, step by step"},
    {"dbg", 0, "ITEMS", dbg_run,
     "evaluate, and show what each name is bound to"},
    {"time", 0, "ITEMS", measure_time, "evaluate, and say how long it took"},
    {"bench", 0, "EXPR", measure_bench,
     "evaluate it, or call a function, often"},
    {"profile", 0, "ITEMS", measure_profile,
     "evaluate, and say where time went"},
    {"cost", 0, "EXPR", cost_run, "operations and bytes, before it runs"},
    {"plot", 0, "[F.svg] EXPR", plot_run_plot, "draw a vector as a line"},
    {"heat", 0, "[F.svg] EXPR", plot_run_heat, "draw a matrix by shades"},
    {"limit", 0, "[WHAT N]", measure_limit, "bound memory, depth or timeout"},
    {"quit", 'q', "", run_quit, "leave"},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

static void run_help(Repl *r, const char *rest) {
  (void)r, (void)rest;
  for (int i = 0; i < TABLE_COUNT; i++) {
    char letter[] = {':', table[i].letter, '\0'};
    int n = printf(":%s %s", table[i].name, table[i].args);
    printf("%*s%-4s%s\n", n < 20 ? 20 - n : 1, "",
           table[i].letter ? letter : "", table[i].help);
  }
}

void repl_each_command(void (*visit)(void *data, const char *name),
                       void *data) {
  for (int i = 0; i < TABLE_COUNT; i++) {
    char name[32];
    snprintf(name, sizeof name, ":%s", table[i].name);
    visit(data, name);
  }
}

static CommandName name_at(int i) {
  return (CommandName){table[i].name, table[i].letter};
}

void repl_command(Repl *r, const char *line) {
  size_t n = strcspn(line, " \t");
  const char *rest = line + n + strspn(line + n, " \t");
  char *why;
  int at =
      command_find((CommandNames){":", TABLE_COUNT, name_at}, line, n, &why);
  const ReplCommand *c = at >= 0 ? &table[at] : NULL;
  if (!c) fprintf(stderr, "%s\n", why ? why : "rly: out of memory");
  else if (!*rest && *c->args && *c->args != '[')
    repl_refuse(c->name, "takes %s", c->args);
  else c->run(r, rest);
  free(why);
}
