/* rly dump and rly graph: the checked program, or its instructions, for people
 * and tools that look at what the checker and the code generator made of a
 * text.
 *
 *   dump --format text   a program again (--ir): types and attributes are
 * written out, names are resolved, and reading it back gives the same program
 * (the conformance runner's mode dump/lang) dump --format json   the same as
 * tables (docs/DATA.md), which read back, too dump --bytecode      the listing
 * of its instructions, for reading only graph                what flows where,
 * and in what order effects happen, for Graphviz, as a page or as JSON; for
 * reading only */
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/guard.h"

typedef void (*PutFn)(const Program *p, const Unit *u, const Global *entry,
                      StrBuf *out);

static void put_text(const Program *p, const Unit *u, const Global *entry,
                     StrBuf *out) {
  (void)entry;
  unit_print_checked(p, u, out);
}

static void put_json(const Program *p, const Unit *u, const Global *entry,
                     StrBuf *out) {
  (void)entry;
  unit_json(p, u, out);
}

/* What a format is in each of the commands; the first that a command has is
 * what it prints by itself. */
static const struct Format {
  const char *name;
  PutFn dump, graph;
} formats[] = {
    {"text", put_text, NULL},
    {"json", put_json, graph_json},
    {"dot", graph_dot, graph_dot},
    {"html", graph_page, graph_page},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static PutFn put_of(const struct Format *f, bool graph) {
  return graph ? f->graph : f->dump;
}

/* NULL after reporting. */
static PutFn find_format(Host *h, const char *name, bool graph) {
  StrBuf known;
  strbuf_init(&known, h->program->ir->mem);
  PutFn found = NULL;
  for (int i = 0; i < FORMATS && !found; i++) {
    PutFn put = put_of(&formats[i], graph);
    if (put && !strcmp(formats[i].name, name)) found = put;
    if (put)
      strbuf_addf(&known, "%s%s", known.len ? ", " : "", formats[i].name);
  }
  if (!found) host_usage(h, "no format `%s`: %s", name, strbuf_text(&known));
  strbuf_done(&known);
  return found;
}

static int write_whole(Host *h, StrBuf *out, bool made) {
  bool whole = made && !mem_exhausted(out->mem);
  if (whole) host_write(h, strbuf_text(out), out->len);
  strbuf_done(out);
  return whole ? 0 : host_out_of_memory(h);
}

/* The status of the file that the command names. */
static int add_file(Host *h, const char *command) {
  const Cli *cli = h->cli;
  if (cli->words.count != 1) return host_usage(h, "%s needs one file", command);
  rly_status status = host_add_file(h, cli->words.items[0]);
  host_report(h);
  return exit_status(status);
}

/* The listing compiles all of the user's functions, which takes memory in
 * proportion to the program.  Nothing is written unless all of it could be
 * made. */
static int dump_named(Host *h) {
  const Cli *cli = h->cli;
  const char *format = cli->format ? cli->format : "text";
  PutFn put = find_format(h, format, false);
  int status = put ? add_file(h, "dump") : 1;
  if (status) return status;
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  if (cli->ir || cli->format || !cli->bytecode)
    put(h->program->ir, h->program->newest, NULL, &out);
  bool coded = !cli->bytecode || code_dump(h->program->code, &out, NULL);
  return write_whole(h, &out, coded);
}

static int graph_named(Host *h) {
  const Cli *cli = h->cli;
  PutFn put = find_format(h, cli->format ? cli->format : "dot", true);
  int status = put ? add_file(h, "graph") : 1;
  if (status) return status;
  const rly_function *entry;
  bool found = host_find_entry(h, &entry);
  host_report(h);
  if (!found) return 1;
  if (!cli->entry) entry = NULL; /* that is @main, where there is one */
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  put(h->program->ir, h->program->newest, (const Global *)entry, &out);
  return write_whole(h, &out, true);
}

static int graph_file(Host *h) {
  guard_begin(h->cli, "drawing the program");
  int status = graph_named(h);
  guard_end();
  return status;
}

int command_graph(const Cli *cli) { return host_run(cli, graph_file); }

/* Printing and compiling do not look at a stop flag, so --timeout is kept by
 * the guard (guard.h). */
static int dump_file(Host *h) {
  guard_begin(h->cli, "listing the program");
  int status = dump_named(h);
  guard_end();
  return status;
}

int command_dump(const Cli *cli) { return host_run(cli, dump_file); }
