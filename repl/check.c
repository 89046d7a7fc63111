/* rly check: parses and checks without running.
 *
 * Each file is a program of its own: it gets a host, hence a context, of its
 * own, and nothing that one file defines is visible to the next.  That also
 * keeps the diagnostics of a file together and lets `rly check *.rly` report
 * all of them; the exit status is the worst one.
 *
 * With --types, --effects or --json the definitions of the user's texts follow,
 * in the order of the text.  The library's are left out: only those that a
 * program uses are linked, so they would make the list depend on that.
 * --tail-calls adds a line for each recursive call; as JSON they come before
 * the definitions, with which that output ends. */
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/guard.h"

/* Prints `@name : type`; with --effects, `@name : type ! effects`.  The sigil
 * is printed because `@x` and `%x` may both be defined. */
static void print_line(Host *h, const Global *g, StrBuf *out) {
  Program *p = h->program->ir;
  strbuf_addf(out, "%s%s", global_sigil(g), g->name->text);
  if (h->cli->types) {
    strbuf_add(out, " : ");
    global_type_print(p, g, out);
  }
  if (h->cli->effects) {
    strbuf_add(out, " ! ");
    effects_print(out, g->effects);
  }
  strbuf_add_char(out, '\n');
}

/* One object of the array `definitions`.  A type or a name may contain any
 * character that the source may, so both texts are escaped; effects are words
 * of a fixed set and need none. */
static void print_json(Host *h, const Global *g, StrBuf *out, bool first) {
  StrBuf text;
  strbuf_init(&text, out->mem);
  global_type_print(h->program->ir, g, &text);
  strbuf_addf(out, "%s{\"name\": \"%s%s\", \"type\": \"", first ? "" : ", ",
              global_sigil(g), g->name->text);
  strbuf_add_escaped(out, strbuf_text(&text), text.len);
  VEC_CLEAR(&text);
  effects_print(&text, g->effects);
  strbuf_addf(out, "\", \"effects\": \"%s\"}", strbuf_text(&text));
  strbuf_done(&text);
}

/* Prints the definitions of the user's own texts in their order.  Nothing is
 * written before the whole text is there: where memory runs out half-way,
 * stdout stays empty instead of receiving JSON that no tool can read. */
static void print_definitions(Host *h) {
  Program *p = h->program->ir;
  StrBuf out;
  strbuf_init(&out, p->mem);
  bool first = true;
  if (h->cli->json) strbuf_add(&out, "{\"definitions\": [");
  for (const Unit *u = p->units; u; u = u->next) {
    if (u->source->library) continue;
    for (int i = 0; i < u->item_count; i++) {
      const Global *g = item_global(p, &u->items[i]);
      if (!g) continue;
      if (mem_exhausted(p->mem)) break;
      if (h->cli->json) print_json(h, g, &out, first);
      else print_line(h, g, &out);
      first = false;
    }
  }
  if (h->cli->json) strbuf_add(&out, "]}\n");
  if (!mem_exhausted(out.mem)) host_write(h, strbuf_text(&out), out.len);
  strbuf_done(&out);
}

/* What becomes of the frame, as a word for tools and as a sentence. */
static const struct {
  const char *word, *sentence;
} tails[] = {
    [TAIL_END] = {"tail", "a tail call, constant stack"},
    [TAIL_CONS] = {"constructor", "the last field of a result, constant stack"},
    [TAIL_INNER] = {"inner", "a tail call of a `fn` that others call"},
    [TAIL_BEFORE] = {"frame", "a frame each"},
};

/* `FILE:LINE:COLUMN: @f calls @g: ` and what becomes of the frame. */
static void print_tail_call(const TailCall *c, Place at, Place waits,
                            StrBuf *out) {
  strbuf_addf(out, "%s:%u:%u: %s%scalls %s: %s", at.file->path, at.line,
              at.column, c->caller, *c->caller ? " " : "", c->callee,
              tails[c->kind].sentence);
  if (c->kind == TAIL_BEFORE) strbuf_addf(out, ", %s waits", c->between);
  if (c->kind == TAIL_BEFORE && waits.file)
    strbuf_addf(out, " (%u:%u)", waits.line, waits.column);
  strbuf_add_char(out, '\n');
}

/* One object of the array `tail_calls`. */
static void json_tail_call(const TailCall *c, Place at, Place waits,
                           StrBuf *out) {
  strbuf_add(out, "{\"file\": \"");
  strbuf_add_escaped(out, at.file->path, strlen(at.file->path));
  strbuf_addf(out,
              "\", \"line\": %u, \"column\": %u, \"caller\": \"%s\", "
              "\"callee\": \"%s\", \"kind\": \"%s\", \"waits\": ",
              at.line, at.column, c->caller, c->callee, tails[c->kind].word);
  if (c->kind == TAIL_BEFORE) {
    strbuf_add(out, "{\"what\": \"");
    strbuf_add_escaped(out, c->between, strlen(c->between));
    strbuf_add_char(out, '"');
    if (waits.file)
      strbuf_addf(out, ", \"line\": %u, \"column\": %u", waits.line,
                  waits.column);
    strbuf_add_char(out, '}');
  } else {
    strbuf_add(out, "null");
  }
  strbuf_add_char(out, '}');
}

static void print_tail_calls(Host *h) {
  Program *p = h->program->ir;
  bool json = h->cli->json, first = true;
  StrBuf out;
  Arena arena;
  TailCalls calls;
  strbuf_init(&out, p->mem);
  arena_init(&arena, p->mem);
  VEC_INIT(&calls, p->mem);
  if (json) strbuf_add(&out, "{\"tail_calls\": [");
  if (tail_calls(p, h->program->newest, &arena, &calls))
    for (size_t i = 0; i < calls.len; i++) {
      const TailCall *c = &calls.data[i];
      Place at = sources_place(p->sources, c->at);
      Place waits = sources_place(p->sources, c->waits);
      if (!at.file) continue;
      if (json && !first) strbuf_add(&out, ", ");
      (json ? json_tail_call : print_tail_call)(c, at, waits, &out);
      first = false;
    }
  if (json) strbuf_add(&out, "]}\n");
  if (!mem_exhausted(p->mem)) host_write(h, strbuf_text(&out), out.len);
  VEC_DONE(&calls);
  arena_done(&arena);
  strbuf_done(&out);
}

/* --static asks one question more, after the file was found correct: is every
 * shape a number before the program runs?  Definitions are printed only for a
 * file that passed, for an incorrect one has types that nobody chose. */
static int check_guarded(Host *h, const char *path) {
  rly_status status = host_add_file(h, path);
  if (status == RLY_OK && h->cli->statics &&
      !unit_is_static(h->program->ir, h->program->newest))
    status = RLY_REFUSED;
  host_report(h);
  const Cli *cli = h->cli;
  bool listed = cli->types || cli->effects || cli->json;
  if (status == RLY_OK && cli->tail_calls && cli->json) print_tail_calls(h);
  if (status == RLY_OK && listed) print_definitions(h);
  if (status == RLY_OK && cli->tail_calls && !cli->json) print_tail_calls(h);
  if (mem_exhausted(h->program->mem)) return host_out_of_memory(h);
  return exit_status(status);
}

/* Types and effects are found and printed without a look at the clock. */
static int check_file(Host *h, const char *path) {
  guard_begin(h->cli, "checking");
  int status = check_guarded(h, path);
  guard_end();
  return status;
}

/* Checks one file as a program with diagnostics of its own.  Returns the exit
 * status. */
static int check_one(const Cli *cli, const char *path) {
  Host h;
  if (!host_init(&h, cli)) return EXIT_LIMIT;
  int status = host_plugins(&h) ? check_file(&h, path) : EXIT_REFUSED;
  status = host_finish(&h, status);
  host_done(&h);
  return status;
}

int command_check(const Cli *cli) {
  const TextList *files = &cli->words;
  int worst = 0;
  for (int i = 0; i < files->count; i++) {
    int status = check_one(cli, files->items[i]);
    if (status > worst) worst = status;
  }
  return worst;
}
