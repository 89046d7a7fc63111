/* rly fmt: canonical text, to stdout or back into the file; with --pass, of
 * what a pass makes of the program.
 *
 * A formatter that overwrites files must not lose a program.  So the text is
 * read back before it is used (lib/format.c), and it replaces the file by a
 * rename, which happens whole or not at all.
 *
 * --relay, --functional and --stateful are passes under the names that people
 * look for.  After `functional` comes `relay`, over the text that the first has
 * made: a program of its own, with names and types of its own. */
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/guard.h"
#include "repl/passes.h"

/* False after reporting; the exit status is then 2, or 3 where memory ran
 * out. */
static bool put_text(Host *h, const char *path, const StrBuf *text) {
  if (h->cli->write) return file_replace(h->cx, path, text);
  host_write(h, strbuf_text(text), text->len);
  return true;
}

/* RLY_OK, RLY_REFUSED or RLY_LIMIT, with the diagnostics.  The text is checked
 * in a program of its own, so that nothing that was formatted before is visible
 * to it; the names of its diagnostics are those of the file. */
static rly_status check_text(Host *h, const char *path, const char *text,
                             size_t len) {
  rly_program *p = host_program_new(h, h->cx);
  rly_status status =
      p ? rly_program_add_text(p, path, text, len, 0) : RLY_LIMIT;
  host_program_free(h, p);
  return status;
}

/* Plain Relay has no words for the types of cells and of polymorphic functions.
 * The relay pass leaves such an annotation out, for it may be inferred: without
 * it, a program that checks must still do so; else this is RLY_REFUSED.  Only
 * where the pass left out something is the question asked, for it costs two
 * runs of the checker.  A program that did not check before is not blamed on
 * the pass.  RLY_LIMIT: memory or time ended the checker. */
static rly_status checks_back(Host *h, const char *path, const Unit *unit,
                              const StrBuf *text) {
  const SourceFile *source = unit->source;
  if (!unit->unsaid_count) return RLY_OK;
  rly_status after = check_text(h, path, strbuf_text(text), text->len);
  if (after != RLY_REFUSED) return after;
  rly_status before = check_text(h, path, source->text, source->len);
  if (before != RLY_OK) return before == RLY_REFUSED ? RLY_OK : before;
  Diags *diags = h->program->ir->diags;
  diags_clear(diags);
  for (int i = 0; i < unit->unsaid_count; i++) {
    Diag *d = diag_error(diags, E0508, unit->unsaid[i],
                         "plain Relay cannot express this type");
    diag_hint(d, "without %s, the program does not check",
              unit->unsaid_count == 1 ? "it" : "these types");
  }
  return RLY_REFUSED;
}

/* `-` is the text on stdin, which --write cannot put back. */
static Unit *parse_stdin(Host *h) {
  size_t len;
  if (h->cli->write) {
    rly_diagnostic_add(h->cx, "E0501", "--write needs a file, and - is stdin");
    return NULL;
  }
  char *text = host_stdin(h, &len);
  Unit *unit =
      text ? program_parse_text(h->program, "<stdin>", text, len) : NULL;
  free(text);
  return unit;
}

/* The exit status.  1: the text was refused; 2: it could not be written; 3: a
 * limit ended the checker. */
static int format_unit(Host *h, const char *path, const Unit *unit) {
  StrBuf out;
  strbuf_init(&out, h->program->ir->mem);
  rly_status said = unit_format(h->program, path, unit, &out)
                        ? checks_back(h, path, unit, &out)
                        : RLY_REFUSED;
  int status = exit_status(said);
  if (said == RLY_OK && !put_text(h, path, &out)) status = EXIT_RUNTIME;
  strbuf_done(&out);
  return status;
}

/* From here on the host works on a second program; false: there was no memory
 * for it, which has been reported. */
static bool second_begin(Host *h, rly_program **first) {
  rly_program *second = host_program_new(h, h->cx);
  *first = h->program;
  if (second) h->program = second;
  else host_program_free(h, NULL);
  return second != NULL;
}

static void second_end(Host *h, rly_program *first) {
  rly_program *second = h->program;
  h->program = first;
  host_program_free(h, second);
}

/* What `relay` makes of the unit's text, in a program of its own, which has not
 * seen the definitions that the text replaces.  Places in the text are no
 * places in the file, so it goes by another name. */
static int format_functional(Host *h, const char *path, const Unit *unit) {
  rly_program *first;
  if (!second_begin(h, &first)) return EXIT_REFUSED;
  StrBuf text;
  strbuf_init(&text, first->ir->mem);
  unit_print(first->ir, unit, &text);
  unit = program_parse_text(h->program, "<functional>", strbuf_text(&text),
                            text.len);
  if (unit) unit = pass_run(h->program->ir, (Unit *)unit, pass_find("relay"));
  int status = unit ? format_unit(h, path, unit) : EXIT_REFUSED;
  strbuf_done(&text);
  second_end(h, first);
  return status;
}

/* As in `rly run`, without the sigil; with it, it is the same function. */
static void name_entries(Host *h, Unit *unit) {
  const TextList *entries = &h->cli->entries;
  const Name **names =
      ARENA_ARRAY(&unit->arena, const Name *, (size_t)entries->count);
  for (int i = 0; names && i < entries->count; i++) {
    const char *text = entries->items[i];
    names[i] = name_of(h->program->ir->names, text + (*text == '@'));
  }
  unit->entries = names;
  unit->entry_count = names ? entries->count : 0;
}

static int format_passed(Host *h, const char *path, const Unit *unit) {
  return h->cli->functional ? format_functional(h, path, unit)
                            : format_unit(h, path, unit);
}

/* The unit that a text is in the host's program, with its entries. */
static Unit *read_again(Host *h, const char *path, const StrBuf *text) {
  Unit *unit =
      program_parse_text(h->program, path, strbuf_text(text), text->len);
  if (unit) name_entries(h, unit);
  return unit;
}

/* Once more, over the checked text with lets in the place of graph variables,
 * in a program of its own.  What was reported since the mark is taken back if
 * that can be done, and otherwise said of the text as it is. */
static int format_lets(Host *h, const char *path, const Unit *unit,
                       const PassInfo *pass, DiagsMark before) {
  rly_program *first;
  if (!second_begin(h, &first)) return EXIT_REFUSED;
  DiagsMark after = diags_mark(first->ir->diags);
  StrBuf text;
  strbuf_init(&text, first->ir->mem);
  unit_print_lets(first->ir, unit, &text);
  Unit *lets = read_again(h, path, &text);
  if (lets) lets = pass_run(h->program->ir, lets, pass);
  diags_return(first->ir->diags, lets ? before : after);
  int status = lets ? format_passed(h, path, lets) : EXIT_REFUSED;
  strbuf_done(&text);
  second_end(h, first);
  return status;
}

/* What has been written otherwise already. */
typedef struct Tried {
  bool stores, data;
} Tried;

static int format_by(Host *h, const char *path, Unit *unit,
                     const PassInfo *pass, Tried tried);

/* Once more, over the text with data in the place of functions that are values,
 * as the text does not say which of those that use the state is called.  What
 * was reported since the mark is taken back if that can be done, and otherwise
 * said of the text as it is. */
static int format_data(Host *h, const char *path, Unit *unit,
                       const PassInfo *pass, DiagsMark before, Tried tried) {
  rly_program *first;
  if (!second_begin(h, &first)) return EXIT_REFUSED;
  DiagsMark after = diags_mark(first->ir->diags);
  StrBuf text;
  strbuf_init(&text, first->ir->mem);
  const Unit *data =
      pass_run(first->ir, unit, pass_find("Defunctionalization"));
  if (data) unit_print_checked(first->ir, data, &text);
  Unit *own = data ? read_again(h, path, &text) : NULL;
  tried.data = true;
  int status = own ? format_by(h, path, own, pass, tried) : EXIT_REFUSED;
  if (status < 2) diags_return(first->ir->diags, status ? after : before);
  strbuf_done(&text);
  second_end(h, first);
  return status;
}

/* Once more, over the text with numbers in the place of cells that could not be
 * followed, in a program of its own.  Its nodes are those of the source, and so
 * are the places of what is reported of it. */
static int format_stores(Host *h, const char *path, Unit *unit,
                         const PassInfo *pass, DiagsMark before, Tried tried) {
  rly_program *first;
  if (!second_begin(h, &first)) return EXIT_REFUSED;
  tried.stores = true;
  diags_return(first->ir->diags, before);
  const Unit *stored = pass_run(first->ir, unit, pass_find("stores"));
  Unit *own = stored ? unit_new(h->program->ir, unit->source) : NULL;
  if (own) unit_share(own, stored);
  int status = own ? format_by(h, path, own, pass, tried) : EXIT_REFUSED;
  second_end(h, first);
  return status;
}

/* By the pass; where it fails, as it may want the text written otherwise. */
static int format_by(Host *h, const char *path, Unit *unit,
                     const PassInfo *pass, Tried tried) {
  Program *p = h->program->ir;
  bool lets = pass->lets && unit->has_graph;
  if (lets && !unit_check(p, unit)) return EXIT_REFUSED;
  DiagsMark mark = diags_mark(p->diags);
  Unit *made = pass_run(p, unit, pass);
  if (made) return format_passed(h, path, made);
  if (pass->stores && unit->loses_cell && !tried.stores)
    return format_stores(h, path, unit, pass, mark, tried);
  if (pass->stores && unit->loses_function && !tried.data)
    return format_data(h, path, unit, pass, mark, tried);
  return lets ? format_lets(h, path, unit, pass, mark) : EXIT_REFUSED;
}

static int format_file(Host *h, const char *path, const PassInfo *pass) {
  bool named = strcmp(path, "-") != 0;
  Unit *unit = named ? program_parse_file(h->program, path) : parse_stdin(h);
  if (!unit) return EXIT_REFUSED;
  const char *form = path_is_model(path)                     ? "an ONNX model"
                     : unit_is_of_json(h->program->ir, unit) ? "JSON"
                                                             : NULL;
  if (h->cli->write && form)
    return host_usage(h, "fmt -w writes text, and %s is %s", path, form);
  if (!pass) return format_unit(h, path, unit);
  name_entries(h, unit);
  return format_by(h, path, unit, pass, (Tried){0});
}

/* The first file that fails ends the command: with -w, a user wants to see the
 * mistake before further files change. */
static int format_files(Host *h) {
  const TextList *files = &h->cli->words;
  const char *name = h->cli->relay        ? "relay"
                     : h->cli->functional ? "functional"
                     : h->cli->stateful   ? "stateful"
                                          : h->cli->pass;
  const PassInfo *pass = name ? named_pass(h, name, PASSES_OF_FMT) : NULL;
  if (name && !pass) return EXIT_REFUSED;
  if (h->cli->entries.count && !(pass && pass->entries))
    return host_usage(h, "--entry goes with --functional or --stateful");
  if (pass && pass->bound)
    return host_usage(h, "`%s` is a pass of rly opt --passes", name);
  int status = 0;
  for (int i = 0; i < files->count && !status; i++) {
    guard_begin(h->cli, "formatting");
    status = format_file(h, files->items[i], pass);
    guard_end();
  }
  if (mem_exhausted(h->program->mem)) return host_out_of_memory(h);
  host_report(h);
  return status;
}

int command_fmt(const Cli *cli) { return host_run(cli, format_files); }
