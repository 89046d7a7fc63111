/* The prompt's commands: a table row and a function each. */
#include <string.h>

#include "repl/repl.h"

typedef struct ReplCommand {
  const char *name, *args;
  void (*run)(Repl *r, const char *rest);
  const char *help;
} ReplCommand;

static void run_help(Repl *r, const char *rest);

static void run_type(Repl *r, const char *rest) {
  Host *h = r->host;
  char *text = rly_program_type_of(h->program, rest, strlen(rest));
  host_report(h);
  if (!text) return;
  host_write(h, text, strlen(text));
  host_write(h, "\n", 1);
  rly_text_free(h->cx, text);
}

static void run_ops(Repl *r, const char *rest) {
  (void)r, (void)rest;
  ops_list();
}

static void run_doc(Repl *r, const char *rest) {
  (void)r;
  ops_explain(rest);
}

static void run_load(Repl *r, const char *rest) {
  rly_status status = rly_program_add_file(r->host->program, rest, 0);
  host_report(r->host);
  if (status == RLY_OK) repl_evaluate(r);
}

static void run_quit(Repl *r, const char *rest) {
  (void)rest;
  r->quit = true;
}

static const ReplCommand table[] = {
    {"help", "", run_help, "this list"},
    {"ops", "", run_ops, "the operators"},
    {"doc", "NAME", run_doc, "what an operator does"},
    {"type", "EXPR", run_type, "the type of an expression, not evaluated"},
    {"load", "FILE", run_load, "add a file's definitions and run its items"},
    {"quit", "", run_quit, "leave"},
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

static void run_help(Repl *r, const char *rest) {
  (void)r, (void)rest;
  for (int i = 0; i < TABLE_COUNT; i++) {
    int n = printf(":%s %s", table[i].name, table[i].args);
    printf("%*s%s\n", n < 16 ? 16 - n : 1, "", table[i].help);
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

/* A command may be shortened to any beginning. */
void repl_command(Repl *r, const char *line) {
  size_t n = strcspn(line, " \t");
  const char *rest = line + n + strspn(line + n, " \t");
  for (int i = 0; i < TABLE_COUNT && n; i++)
    if (!strncmp(table[i].name, line, n)) {
      table[i].run(r, rest);
      return;
    }
  fprintf(stderr, "no command `:%.*s`; :help lists them\n", (int)n, line);
}
