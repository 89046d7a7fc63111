/* rly dump and rly graph: the checked program, or its instructions, for people
 * and for tools.
 *
 *   dump --format text   a program again (--ir), which reads back as the same
 *   dump --format json   the same as tables (docs/DATA.md); reads back too
 *   dump --bytecode      a listing of instructions; for reading only
 *   graph                data flow and the order of effects, for Graphviz,
 *                        as a page or as JSON; for reading only */
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

/* What makes each format, in the order of the words of --format in flags.def,
 * of which the first is the default. */
static const PutFn dumps[] = {put_text, put_json, graph_dot, graph_page};
static const PutFn graphs[] = {graph_dot, graph_page, graph_json};

static PutFn put_of(const PutFn *formats, int format) {
  return formats[format ? format - 1 : 0];
}

static int write_whole(Host *h, StrBuf *out, bool made) {
  bool whole = made && !mem_exhausted(out->mem);
  if (whole) host_write(h, strbuf_text(out), out->len);
  strbuf_done(out);
  return whole ? 0 : host_out_of_memory(h);
}

/* The status of the file that the command names. */
static int add_file(Host *h) {
  rly_status status = host_add_file(h, h->cli->words.items[0]);
  host_report(h);
  return exit_status(status);
}

/* The listing compiles all of the user's functions, which takes memory in
 * proportion to the program.  Nothing is written unless all of it could be
 * made. */
static int dump_named(Host *h) {
  const Cli *cli = h->cli;
  int status = add_file(h);
  if (status) return status;
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  if (cli->ir || cli->format || !cli->bytecode)
    put_of(dumps, cli->format)(h->program->ir, h->program->newest, NULL, &out);
  bool coded = !cli->bytecode || code_dump(h->program->code, &out, NULL);
  return write_whole(h, &out, coded);
}

static int graph_named(Host *h) {
  const Cli *cli = h->cli;
  int status = add_file(h);
  if (status) return status;
  const rly_function *entry;
  bool found = host_find_entry(h, &entry);
  host_report(h);
  if (!found) return EXIT_REFUSED;
  if (!cli->entry) entry = NULL; /* that is @main, where there is one */
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  put_of(graphs, cli->format)(h->program->ir, h->program->newest,
                              (const Global *)entry, &out);
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
