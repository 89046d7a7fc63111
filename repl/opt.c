/* rly opt: what passes make of a program, as text.
 *
 *   opt_run.c      one pass over one version of the program
 *   opt_exec.c     commands as passes
 *   opt_behave.c   what a version does, for --verify, --bisect, --reduce
 *   opt_verify.c   --verify
 *   opt_bisect.c   --bisect
 *   opt_reduce.c   --reduce
 *   opt_steps.c    --rewrites
 *
 * Here are the flags, the way through the pipeline, and what is shown of it.
 * Output is made before any is written: where a pass fails, none is. */
#include <inttypes.h>
#include <string.h>

#include "repl/files.h"
#include "repl/guard.h"
#include "repl/opt_command.h"
#include "repl/passes.h"
#include "repl/rules.h"

/* --- Flags ---------------------------------------------------------------- */

static bool prints(const OptPass *pass, bool all, const PassInfo *one) {
  return all || (one && !pass->exec && one == pass->call.pass);
}

/* "all", or the name of one that runs; true when it is in order. */
static bool read_print(Opt *o, const char *name, bool *all,
                       const PassInfo **one) {
  if (!name) return true;
  *all = strcmp(name, "all") == 0;
  *one = *all ? NULL : named_pass(o->h, name, PASSES_OF_OPT);
  bool runs = *all;
  for (int i = 0; *one && i < o->count; i++)
    runs |= prints(&o->passes[i], false, *one);
  if (*one && !runs)
    host_usage(o->h, "`%s` does not run here; --dump-pipeline says what does",
               name);
  return runs;
}

/* --- Rules ---------------------------------------------------------------- */

static bool is_wanted(const Cli *cli, const Item *item) {
  if (item->kind != ITEM_RULE) return false;
  if (cli->rule.count) return rule_is_named(cli, item);
  return item->rule->grade.kind == GRADE_BITS || cli->fast_math;
}

/* Warns where rules were given and none of them is applied. */
static bool check_wanted(Opt *o, size_t found, size_t wanted) {
  Diags *diags = o->h->program->ir->diags;
  const TextList *files = &o->h->cli->rules;
  if (files->count && !found) {
    diag_error(diags, E0520, SPAN_NONE, "%s has no rules", files->items[0]);
    return false;
  }
  if (found && !wanted) {
    Diag *d = diag_warning(diags, W0006, SPAN_NONE,
                           "no rule is applied: none has grade bits");
    diag_hint(d, "--fast-math applies the others as well, --rule NAME one");
  }
  return true;
}

/* The rules belong to the host's program. */
static bool read_rules(Opt *o, RuleList *rules) {
  const Cli *cli = o->h->cli;
  VEC(const Item *) found, wanted;
  VEC_INIT(&found, o->arena.mem);
  VEC_INIT(&wanted, o->arena.mem);
  bool ok = true;
  for (int i = 0; ok && i < cli->rules.count; i++) {
    Unit *u = program_parse_file(o->h->program, cli->rules.items[i]);
    ok = u && unit_check(o->h->program->ir, u);
    for (int k = 0; ok && k < u->item_count; k++) {
      if (u->items[k].kind != ITEM_RULE) continue;
      VEC_PUSH(&found, &u->items[k]);
      if (is_wanted(cli, &u->items[k])) VEC_PUSH(&wanted, &u->items[k]);
    }
  }
  *rules = (RuleList){(int)wanted.len, VEC_TO_ARENA(&wanted, &o->arena)};
  ok = ok && rules->items && rules_are_there(o->h, found.len, found.data) &&
       check_wanted(o, found.len, wanted.len);
  VEC_DONE(&found);
  VEC_DONE(&wanted);
  return ok;
}

/* --cost measured. */
static void set_cost(Opt *o, PassCall *call) {
  if (!o->measurer) return;
  call->measure = measurer_cost;
  call->measure_data = o->measurer;
}

/* Adds the pass that applies them, unless --passes says where it stands. */
static bool add_rules(Opt *o) {
  RuleList rules;
  bool saturates = o->h->cli->saturate;
  const PassInfo *apply = pass_find(saturates ? "Saturate" : "ApplyRules");
  const PassInfo *greedy = pass_find("ApplyRules");
  bool placed = false;
  if (!read_rules(o, &rules)) return false;
  for (int i = 0; i < o->count; i++) {
    const PassInfo *pass = o->passes[i].exec ? NULL : o->passes[i].call.pass;
    if (!pass ||
        (pass != apply && pass != greedy && pass != pass_find("Saturate")))
      continue;
    o->passes[i].call.rules = rules;
    set_cost(o, &o->passes[i].call);
    placed = true;
  }
  if (placed || !o->h->cli->rules.count) return true;
  OptPass *pass = &o->passes[o->count++];
  *pass = (OptPass){.call = pass_call_of(apply)};
  pass->call.rules = rules;
  set_cost(o, &pass->call);
  return true;
}

/* The passes of the table, then the commands, then the rules. */
static bool read_passes(Opt *o) {
  const Cli *cli = o->h->cli;
  Pipeline *pipeline = arena_alloc(&o->arena, sizeof *pipeline);
  int level = cli_level(cli, 1);
  if (!pipeline) return false;
  pipeline->count = 0;
  const char *text = cli->passes ? cli->passes
                     : cli->exec.count + cli->rules.count == 0
                         ? pipeline_level(level)
                     : cli->level ? pipeline_level(level)
                                  : "";
  if (!pipeline_read(o->h->program->ir, "--passes", text, pipeline))
    return false;
  size_t count = (size_t)pipeline->count + (size_t)cli->exec.count;
  o->passes = ARENA_ARRAY(&o->arena, OptPass, count + 2);
  if (!o->passes) return false;
  for (int i = 0; i < pipeline->count; i++) {
    o->passes[i] = (OptPass){.call = pipeline->calls[i]};
    o->passes[i].call.fast_math = cli->fast_math;
  }
  o->count = pipeline->count;
  for (int i = 0; i < cli->exec.count; i++)
    o->passes[o->count++] =
        (OptPass){.exec = cli->exec.items[i], .call.most_rewrites = UINT64_MAX};
  return add_rules(o);
}

/* Says which flags do not go together; NULL: they all do. */
static const char *find_clash(const Cli *cli) {
  if (cli->limits.safe && cli->exec.count)
    return "--safe runs no commands: --exec";
  if (cli->limits.safe && cli->reduce)
    return "--safe runs no commands: --reduce";
  if (cli->json &&
      (cli->print_before || cli->print_after || cli->print_changed))
    return "--json has the text in it: without --print-before, --print-after "
           "and --print-changed";
  if ((cli->html || cli->rewrites) && (cli->reduce || cli->bisect))
    return "--html and --rewrites show what passes change: without --reduce "
           "and --bisect";
  return NULL;
}

static bool read_flags(Opt *o) {
  const Cli *cli = o->h->cli;
  const char *clash = find_clash(cli);
  if (clash) {
    host_usage(o->h, "%s", clash);
    return false;
  }
  if (cli->cost == COST_MEASURED &&
      !(o->measurer = measurer_new(o->h->program))) {
    mem_raise_exhausted(o->h->program->mem);
    return false;
  }
  return read_passes(o) &&
         read_print(o, cli->print_before, &o->before_all, &o->before) &&
         read_print(o, cli->print_after, &o->after_all, &o->after);
}

/* --- What is shown -------------------------------------------------------- */

static void put_heading(Opt *o, const char *when, const OptPass *pass) {
  strbuf_addf(&o->out, "// --- %s", when);
  opt_pass_print(pass, &o->out);
  strbuf_add_char(&o->out, '\n');
}

/* The printer begins a text: what stands before would count to it. */
static void put_version(Opt *o, const Version *v) {
  StrBuf text;
  strbuf_init(&text, o->out.mem);
  version_print(v, &text);
  strbuf_add_len(&o->out, strbuf_text(&text), text.len);
  strbuf_done(&text);
}

static void put_json_text(StrBuf *out, const StrBuf *text) {
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, strbuf_text(text), text->len);
  strbuf_add_char(out, '"');
}

static void put_json_pass(Opt *o, int i, double seconds, bool changed) {
  const OptPass *pass = &o->passes[i];
  StrBuf name;
  strbuf_init(&name, o->out.mem);
  opt_pass_print(pass, &name);
  strbuf_add(&o->out, i ? ",\n  {\"pass\": " : "\n  {\"pass\": ");
  put_json_text(&o->out, &name);
  strbuf_done(&name);
  strbuf_addf(&o->out, ", \"changed\": %s", changed ? "true" : "false");
  if (!pass->exec)
    strbuf_addf(&o->out, ", \"rewrites\": %" PRIu64, pass->call.rewrites);
  if (o->h->cli->time_passes)
    strbuf_addf(&o->out, ", \"milliseconds\": %.3f", seconds * 1e3);
  strbuf_add(&o->out, "}");
}

/* --- Rewrites ------------------------------------------------------------ */

enum { LINE_MOST = 200 }; /* bytes of an expression that are shown */

static void add_on_a_line(StrBuf *out, const Program *p, const Expr *e) {
  StrBuf text;
  strbuf_init(&text, out->mem);
  expr_print(p, e, &text);
  const char *at = strbuf_text(&text);
  size_t shown = 0;
  bool blank = false;
  strbuf_add(out, "⟦");
  for (; *at && shown < LINE_MOST; at++) {
    bool space = *at == '\n' || *at == ' ';
    if (space && blank) continue;
    strbuf_add_char(out, space ? ' ' : *at);
    blank = space;
    shown++;
  }
  strbuf_add(out, *at ? " ...⟧" : "⟧");
  strbuf_done(&text);
}

/* "// @add_zero at f.rly:2:3: ⟦%a + 0⟧ -> ⟦%a⟧": redex and contractum. */
static void note_rewrite(void *data, const Program *p, const PassRewrite *r) {
  Opt *o = data;
  StrBuf *out = &o->rewrites;
  if (!r->rule || !r->allowed) return;
  Place place = sources_place(p->sources, r->at);
  strbuf_addf(out, "// @%s", r->rule->name->text);
  if (place.file)
    strbuf_addf(out, " at %s:%u:%u", place.file->path, place.line,
                place.column);
  strbuf_add(out, ": ");
  add_on_a_line(out, p, r->was);
  strbuf_add(out, " -> ");
  add_on_a_line(out, p, r->made);
  strbuf_add_char(out, '\n');
}

/* --- The pipeline --------------------------------------------------------- */

/* A text of the version between two passes is made only where something wants
 * to see it. */
static bool run_pass(Opt *o, Version *v, int i, StrBuf *was) {
  const Cli *cli = o->h->cli;
  OptPass *pass = &o->passes[i];
  if (cli->print_changed) {
    pass->call.rewrote = note_rewrite;
    pass->call.rewrote_data = o;
    VEC_CLEAR(&o->rewrites);
  }
  bool texts = o->texts;
  if (prints(pass, o->before_all, o->before)) {
    put_heading(o, "before ", pass);
    put_version(o, v);
  }
  StrBuf is;
  strbuf_init(&is, o->out.mem);
  double start = clock_seconds();
  bool ok = opt_run_pass(o->h, v, pass);
  double seconds = clock_seconds() - start;
  if (ok && texts) version_print(v, &is);
  if (ok && cli->verify) ok = opt_verify(o, v, was, &is, pass);
  if (ok && cli->time_passes && !cli->json) {
    fprintf(stderr, "%8.3f ms  ", seconds * 1e3);
    StrBuf name;
    strbuf_init(&name, o->out.mem);
    opt_pass_print(pass, &name);
    fprintf(stderr, "%s", strbuf_text(&name));
    strbuf_done(&name);
    if (pass->exec) fputc('\n', stderr);
    else fprintf(stderr, "  (%" PRIu64 " rewrites)\n", pass->call.rewrites);
  }
  bool changed =
      texts && (was->len != is.len ||
                memcmp(strbuf_text(was), strbuf_text(&is), is.len) != 0);
  if (ok && o->versions)
    ok = opt_show_version(o->h, o->versions, pass,
                          cli->time_passes ? seconds : -1, &is);
  if (ok && o->steps) ok = opt_steps_pass(o, pass, was, &is);
  if (ok && cli->json) put_json_pass(o, i, seconds, changed);
  if (ok && cli->print_changed && changed) {
    put_heading(o, "", pass);
    strbuf_add(&o->out, strbuf_text(&o->rewrites));
    diff_print(&o->out, strbuf_text(was), strbuf_text(&is),
               use_color(cli, stdout));
  }
  if (ok && prints(pass, o->after_all, o->after)) {
    put_heading(o, "after ", pass);
    put_version(o, v);
  }
  strbuf_done(was);
  *was = is;
  return ok;
}

static bool write_page(Opt *o, const char *path, const StrBuf *page) {
  return page && !mem_exhausted(o->out.mem) &&
         file_replace(o->h->program->cx, path, page);
}

/* What --print-changed and its like show stands instead of the result. */
static bool run_passes(Opt *o, Version *v) {
  const Cli *cli = o->h->cli;
  bool shows = cli->print_changed || cli->print_before || cli->print_after;
  o->texts = cli->print_changed || cli->verify || cli->json || cli->html ||
             cli->rewrites;
  StrBuf text;
  strbuf_init(&text, o->out.mem);
  if (o->texts) version_print(v, &text);
  if (cli->html) {
    o->versions = versions_new(o->out.mem);
    if (o->versions) versions_begin(o->versions, &text);
    else mem_raise_exhausted(o->out.mem);
  }
  if (cli->json) strbuf_add(&o->out, "{\"passes\": [");
  bool ok = !cli->rewrites || opt_steps_begin(o);
  for (int i = 0; i < o->count && ok; i++) ok = run_pass(o, v, i, &text);
  if (ok && cli->json) {
    strbuf_add(&o->out, "],\n \"text\": ");
    put_json_text(&o->out, &text);
    strbuf_add(&o->out, "}\n");
  } else if (ok && !shows && !cli->html && !cli->rewrites) {
    put_version(o, v);
  }
  if (ok && o->versions)
    ok = write_page(o, cli->html,
                    versions_page(o->versions, cli->words.items[0]));
  if (ok && o->steps) ok = write_page(o, cli->rewrites, opt_steps_end(o));
  versions_free(o->versions);
  opt_steps_done(o);
  strbuf_done(&text);
  return ok;
}

static int opt_file(Opt *o) {
  const Cli *cli = o->h->cli;
  Version v;
  if (!cli->words.count) return host_usage(o->h, "opt needs a file");
  guard_begin(cli, "optimising");
  bool found = false;
  bool ok = version_of_file(o->h, cli->words.items[0], &v);
  if (ok) {
    ok = !files_check_read(o->h) && (cli->reduce   ? opt_reduce(o, &v)
                                     : cli->bisect ? opt_bisect(o, &v, &found)
                                                   : run_passes(o, &v));
    version_done(o->h, &v);
  }
  guard_end();
  if (mem_exhausted(o->out.mem)) return host_out_of_memory(o->h);
  if (ok) host_write(o->h, strbuf_text(&o->out), o->out.len);
  host_report(o->h);
  if (ok && !found) return 0;
  return strcmp(o->h->last_code, "E0703") ? EXIT_REFUSED : EXIT_LIMIT;
}

static int opt_main(Host *h) {
  Opt o = {.h = h};
  int status = EXIT_REFUSED;
  arena_init(&o.arena, h->program->mem);
  strbuf_init(&o.out, h->program->mem);
  strbuf_init(&o.rewrites, h->program->mem);
  if (!read_flags(&o)) {
    if (mem_exhausted(h->program->mem)) status = host_out_of_memory(h);
    host_report(h);
  } else if (h->cli->dump_pipeline) {
    for (int i = 0; i < o.count; i++) {
      opt_pass_print(&o.passes[i], &o.out);
      strbuf_add(&o.out, "\n");
    }
    host_write(h, strbuf_text(&o.out), o.out.len);
    status = 0;
  } else {
    status = opt_file(&o);
  }
  strbuf_done(&o.out);
  strbuf_done(&o.rewrites);
  measurer_free(o.measurer);
  arena_done(&o.arena);
  return status;
}

int command_opt(const Cli *cli) { return host_run(cli, opt_main); }
