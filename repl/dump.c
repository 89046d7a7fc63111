/* rly dump: the checked program, or its instructions, for people who look at
 * what the checker and the code generator made of a text.
 *
 * The text of --ir is a program again: types and attributes are written out,
 * names are resolved, and reading it back gives the same program (the
 * conformance runner's mode dump/lang holds this to be true).  The listing of
 * --bytecode is for reading only. */
#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/guard.h"

/* The listing compiles all of the user's functions, which takes memory in
 * proportion to the program.  Nothing is written unless all of it could be
 * made. */
static int dump_named(Host *h) {
  const Cli *cli = h->cli;
  if (cli->words.count != 1) return host_usage(h, "dump needs one file");
  rly_status status = rly_program_add_file(h->program, cli->words.items[0], 0);
  host_report(h);
  if (status != RLY_OK) return exit_status(status);
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  if (cli->ir || !cli->bytecode)
    unit_print_checked(h->program->ir, h->program->newest, &out);
  bool coded = !cli->bytecode || code_dump(h->program->code, &out, NULL);
  bool whole = coded && !mem_exhausted(out.mem);
  if (whole) host_write(h, strbuf_text(&out), out.len);
  strbuf_done(&out);
  return whole ? 0 : host_out_of_memory(h);
}

/* Printing and compiling do not look at a stop flag, so --timeout is kept by
 * the guard (guard.h). */
static int dump_file(Host *h) {
  guard_begin(h->cli, "listing the program");
  int status = dump_named(h);
  guard_end();
  return status;
}

int command_dump(const Cli *cli) { return host_run(cli, dump_file); }
