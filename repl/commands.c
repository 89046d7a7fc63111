/* The prompt's commands: a table row and a function each. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "repl/repl.h"

typedef struct ReplCommand {
  const char *name, *args;
  void (*run)(Repl *r, const char *rest);
  const char *help;
} ReplCommand;

static void run_help(Repl *r, const char *rest);

static void run_ops(Repl *r, const char *rest) {
  (void)r, (void)rest;
  ops_list();
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

/* A file that is there is not written over. */
static void run_save(Repl *r, const char *rest) {
  if (!transcript_save(r, rest)) perror(*rest ? rest : ":save FILE");
}

/* The whole of a file, to be freed. */
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

static bool run_editor(const char *path) {
  const char *editor = getenv("VISUAL");
  if (!editor || !*editor) editor = getenv("EDITOR");
  char command[4200];
  int n = snprintf(command, sizeof command, "%s '%s'",
                   editor && *editor ? editor : "vi", path);
  return n < (int)sizeof command && system(command) == 0;
}

/* An entry written in the user's editor; the last accepted ones are there to
 * begin with. */
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
  ok = ok && run_editor(path);
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
    {"help", "", run_help, "this list"},
    {"ops", "", run_ops, "the operators"},
    {"doc", "NAME", run_doc, "what an operator does"},
    {"apropos", "WORD", inspect_apropos, "operators and names about a word"},
    {"type", "EXPR", inspect_type, "the type of an expression, not evaluated"},
    {"kind", "TYPE", inspect_kind, "what a type is, or what it is applied to"},
    {"effects", "EXPR", inspect_effects, "what evaluating it, or a call, does"},
    {"info", "NAME", inspect_info, "a name's type, effects and place"},
    {"bytecode", "NAME", inspect_bytecode, "the instructions of a function"},
    {"load", "FILE", run_load, "add a file's definitions and run its items"},
    {"reload", "", run_reload, "load the last file again"},
    {"params", "FILE", run_params, "bind `param`s to a file's tensors"},
    {"save", "FILE", run_save, "write what was entered, to be run again"},
    {"edit", "", run_edit, "write an entry in $EDITOR"},
    {"state", "[PATH]", state_run_list, "the cells that the session remembers"},
    {"set", "PATH EXPR", state_run_set, "put a value into one"},
    {"snapshot", "[NAME]", state_run_snapshot, "remember the cells' values"},
    {"restore", "[NAME]", state_run_restore, "put them back"},
    {"fork", "[NAME]", state_run_fork, "go on in a copy, or go back: main"},
    {"reset", "", state_run_reset, "give every cell what it began with"},
    {"step", "ITEMS", step_run, "show how they are evaluated, step by step"},
    {"dbg", "ITEMS", dbg_run, "evaluate, and show what each name is bound to"},
    {"time", "ITEMS", measure_time, "evaluate, and say how long it took"},
    {"bench", "EXPR", measure_bench, "evaluate it, or call a function, often"},
    {"profile", "ITEMS", measure_profile, "evaluate, and say where time went"},
    {"cost", "EXPR", cost_run, "operations and bytes, before it runs"},
    {"plot", "[F.svg] EXPR", plot_run_plot, "draw a vector as a line"},
    {"heat", "[F.svg] EXPR", plot_run_heat, "draw a matrix by shades"},
    {"limit", "[WHAT N]", measure_limit, "bound memory, depth or timeout"},
    {"quit", "", run_quit, "leave"},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

static void run_help(Repl *r, const char *rest) {
  (void)r, (void)rest;
  for (int i = 0; i < TABLE_COUNT; i++) {
    int n = printf(":%s %s", table[i].name, table[i].args);
    printf("%*s%s\n", n < 20 ? 20 - n : 1, "", table[i].help);
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

static void run_command(Repl *r, const ReplCommand *c, const char *rest) {
  bool needs = *c->args && *c->args != '[';
  if (needs && !*rest) repl_refuse(c->name, "takes %s", c->args);
  else c->run(r, rest);
}

static void say_no_command(const char *line, int n) {
  char *word = strndup(line, (size_t)n);
  Suggestion near = suggestion_for(word ? word : "");
  for (int i = 0; i < TABLE_COUNT; i++) suggestion_offer(&near, table[i].name);
  fprintf(stderr, "no command `:%.*s`; ", n, line);
  if (near.best) fprintf(stderr, "did you mean `:%s`?\n", near.best);
  else fputs(":help lists them\n", stderr);
  free(word);
}

/* A command may be shortened to any beginning. */
void repl_command(Repl *r, const char *line) {
  size_t n = strcspn(line, " \t");
  const char *rest = line + n + strspn(line + n, " \t");
  for (int i = 0; i < TABLE_COUNT && n; i++)
    if (!strncmp(table[i].name, line, n)) {
      run_command(r, &table[i], rest);
      return;
    }
  say_no_command(line, (int)n);
}
