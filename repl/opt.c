/* rly opt: what passes make of a program, as text.
 *
 * Each pass gets a program of its own, which has read the text that the pass
 * before has made: so whatever stands between two passes is a text that anyone
 * can look at (--print-after), and the checker has found its types anew.  A
 * pass whose text the checker refuses has a mistake of ours in it, and the
 * command says so (E0507) and prints nothing. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/guard.h"
#include "repl/passes.h"

enum { PASSES_MAX = 256 };

/* What the levels stand for. */
static const char level_1[] =
    "FoldConstant,DynamicToStatic,EliminateCommonSubexpr,"
    "DeadCodeElimination,RemoveUnusedFunctions";
static const char level_2[] =
    "FoldConstant,DynamicToStatic,ToANormalForm,EliminateCommonSubexpr,"
    "DeadCodeElimination,RemoveUnusedFunctions";

typedef struct Opt {
  Host *h;
  const PassInfo *passes[PASSES_MAX];
  int count;
  StrBuf out;
  bool before_all, after_all;
  const PassInfo *before, *after;
} Opt;

/* --- The pipeline --------------------------------------------------------- */

static bool add_pass(Opt *o, const char *name) {
  const PassInfo *pass = named_pass(o->h, name);
  if (!pass) return false;
  if (!pass->bound) {
    host_usage(o->h, "`%s` is no pass of rly opt: rly fmt --pass %s", name,
               name);
    return false;
  }
  if (o->count == PASSES_MAX) {
    host_usage(o->h, "more than %d passes", PASSES_MAX);
    return false;
  }
  o->passes[o->count++] = pass;
  return true;
}

static bool read_pipeline(Opt *o, const char *text) {
  bool ok = true;
  while (ok && *text) {
    size_t len = strcspn(text, ",");
    char *name = strndup(text, len);
    ok = name && add_pass(o, name);
    free(name);
    text += len;
    if (*text == ',') text++;
  }
  return ok;
}

/* "all", or the name of one; true when it is in order. */
static bool read_print(Opt *o, const char *name, bool *all,
                       const PassInfo **one) {
  if (!name) return true;
  *all = strcmp(name, "all") == 0;
  *one = *all ? NULL : named_pass(o->h, name);
  return *all || *one;
}

static bool read_flags(Opt *o) {
  const Cli *cli = o->h->cli;
  const char *pipeline = cli->passes   ? cli->passes
                         : cli->level2 ? level_2
                         : cli->level0 ? ""
                                       : level_1;
  return read_pipeline(o, pipeline) &&
         read_print(o, cli->print_before, &o->before_all, &o->before) &&
         read_print(o, cli->print_after, &o->after_all, &o->after);
}

/* --- What is shown -------------------------------------------------------- */

static void show_text(Opt *o, const char *when, const PassInfo *pass,
                      const char *text) {
  strbuf_addf(&o->out, "// --- %s %s\n%s", when, pass->name, text);
}

static size_t line_length(const char *text) {
  size_t n = strcspn(text, "\n");
  return text[n] ? n + 1 : n;
}

static void show_lines(Opt *o, char sign, const char *from, const char *to) {
  bool colour = use_color(o->h->cli, stdout);
  while (from < to) {
    size_t n = line_length(from), bare = strcspn(from, "\n");
    if (colour) strbuf_add(&o->out, sign == '-' ? "\033[31m" : "\033[32m");
    strbuf_addf(&o->out, "%c %.*s", sign, (int)bare, from);
    if (colour) strbuf_add(&o->out, "\033[0m");
    strbuf_add(&o->out, "\n");
    from += n;
  }
}

/* The lines between what both texts begin and end with. */
static void show_changed(Opt *o, const PassInfo *pass, const char *was,
                         const char *is) {
  if (strcmp(was, is) == 0) return;
  const char *a = was, *b = is;
  while (*a && line_length(a) == line_length(b) &&
         strncmp(a, b, line_length(a)) == 0)
    a += line_length(a), b += line_length(b);
  const char *a_end = was + strlen(was), *b_end = is + strlen(is);
  while (a_end > a && b_end > b) {
    const char *p = a_end - 1, *q = b_end - 1;
    while (p > a && p[-1] != '\n') p--;
    while (q > b && q[-1] != '\n') q--;
    if (a_end - p != b_end - q || memcmp(p, q, (size_t)(a_end - p)) != 0) break;
    a_end = p;
    b_end = q;
  }
  strbuf_addf(&o->out, "// --- %s\n", pass->name);
  show_lines(o, '-', a, a_end);
  show_lines(o, '+', b, b_end);
}

/* --- Passes --------------------------------------------------------------- */

/* The first program reads the file, later ones the text of a pass. */
static Unit *read_unit(Host *h, const char *path, const StrBuf *text) {
  size_t len;
  if (text)
    return program_parse_text(h->program, path, strbuf_text(text), text->len);
  if (strcmp(path, "-") != 0) return program_parse_file(h->program, path);
  char *input = host_stdin(h, &len);
  Unit *unit =
      input ? program_parse_text(h->program, "<stdin>", input, len) : NULL;
  free(input);
  return unit;
}

/* The text of what the pass (NULL: none) makes of a text (NULL: the file's).
 * The program is the host's for as long, since that is what reports. */
static bool run_pass(Host *h, const char *path, const StrBuf *text,
                     const PassInfo *pass, StrBuf *made) {
  rly_program *first = h->program, *own = rly_program_new(h->cx);
  if (!own) return false;
  h->program = own;
  Unit *unit = read_unit(h, path, text);
  if (unit) unit = pass_run(own->ir, unit, pass ? pass : pass_find("check"));
  if (unit) unit_print_checked(own->ir, unit, made);
  bool ok = unit && !mem_exhausted(own->mem) && !mem_exhausted(made->mem);
  h->program = first;
  rly_program_free(own);
  return ok;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* `text` is replaced by each pass's, and is whole after each. */
static bool run_passes(Opt *o, const char *path, StrBuf *text) {
  Host *h = o->h;
  if (!run_pass(h, path, NULL, NULL, text)) return false;
  for (int i = 0; i < o->count; i++) {
    const PassInfo *pass = o->passes[i];
    if (o->before_all || o->before == pass)
      show_text(o, "before", pass, strbuf_text(text));
    double start = now();
    StrBuf made, again;
    strbuf_init(&made, text->mem);
    strbuf_init(&again, text->mem);
    bool ok = run_pass(h, path, text, pass, &made);
    if (ok && !run_pass(h, pass->name, &made, NULL, &again)) {
      rly_diagnostic_add(h->cx, "E0507",
                         "the text that this pass made is refused: a mistake "
                         "of rly's");
      ok = false;
    }
    if (ok && h->cli->time_passes)
      fprintf(stderr, "%8.3f ms  %s\n", (now() - start) * 1e3, pass->name);
    if (ok && h->cli->print_changed)
      show_changed(o, pass, strbuf_text(text), strbuf_text(&again));
    if (ok && (o->after_all || o->after == pass))
      show_text(o, "after", pass, strbuf_text(&again));
    strbuf_done(&made);
    strbuf_done(text);
    *text = again;
    if (!ok) return false;
  }
  return true;
}

/* What --print-changed and its like show stands instead of the result. */
static int opt_file(Opt *o) {
  const Cli *cli = o->h->cli;
  if (cli->words.count != 1) return host_usage(o->h, "opt needs one file");
  StrBuf text;
  strbuf_init(&text, o->out.mem);
  guard_begin(cli, "optimising");
  bool ok = run_passes(o, cli->words.items[0], &text);
  guard_end();
  bool shows = cli->print_changed || cli->print_before || cli->print_after;
  if (ok && !shows) strbuf_add_len(&o->out, strbuf_text(&text), text.len);
  strbuf_done(&text);
  if (mem_exhausted(o->out.mem)) return host_out_of_memory(o->h);
  if (ok) host_write(o->h, strbuf_text(&o->out), o->out.len);
  host_report(o->h);
  return ok ? 0 : 1;
}

static int opt_main(Host *h) {
  Opt o = {.h = h};
  int status = 1;
  strbuf_init(&o.out, h->program->ir->mem);
  if (read_flags(&o)) {
    if (h->cli->dump_pipeline) {
      for (int i = 0; i < o.count; i++)
        strbuf_addf(&o.out, "%s\n", o.passes[i]->name);
      host_write(h, strbuf_text(&o.out), o.out.len);
      status = 0;
    } else {
      status = opt_file(&o);
    }
  }
  strbuf_done(&o.out);
  return status;
}

int command_opt(const Cli *cli) { return host_run(cli, opt_main); }
