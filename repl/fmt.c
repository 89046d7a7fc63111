/* rly fmt: canonical text, to stdout or back into the file; with --relay, plain
 * Relay (passes/relay.h). */
#include "ir/print.h"
#include "lib/handles.h"
#include "passes/relay.h"
#include "repl/cli.h"

static bool put_text(Host *h, const char *path, const StrBuf *text) {
  if (h->cli->write) return file_replace(h->cx, path, text);
  host_write(h, strbuf_text(text), text->len);
  return true;
}

/* The text must read back as the same program.  It does, short of programs
 * nested so deeply that the printer's parentheses exceed the parser's limit. */
static bool reads_back(Host *h, const char *path, const Unit *unit,
                       const StrBuf *text) {
  Program *p = h->program->ir;
  Unit *again =
      program_parse_text(h->program, path, strbuf_text(text), text->len);
  if (again && unit_equal(p->mem, unit, again)) return true;
  diag_error(p->diags, E0006, SPAN_NONE,
             "%s is nested too deeply to be formatted", path);
  return false;
}

static int format_file(Host *h, const char *path) {
  const Unit *unit = program_parse_file(h->program, path);
  if (unit && h->cli->relay) unit = relay_unit(h->program->ir, unit);
  if (!unit) return 1;
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  unit_print(h->program->ir, unit, &out);
  int status = 1;
  if (reads_back(h, path, unit, &out)) status = put_text(h, path, &out) ? 0 : 2;
  strbuf_done(&out);
  return status;
}

static int format_files(Host *h) {
  const TextList *files = &h->cli->words;
  if (!files->count) return host_usage(h, "fmt needs a file");
  int status = 0;
  for (int i = 0; i < files->count && !status; i++)
    status = format_file(h, files->items[i]);
  host_report(h);
  return status;
}

int command_fmt(const Cli *cli) { return host_run(cli, format_files); }
