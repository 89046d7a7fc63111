/* rly passes: the table of passes (passes/), or one of them, as text or JSON.
 *
 * A pass is listed with its sentence and with the facts about a program that it
 * needs, gives and breaks: from these a user sees which pass may follow
 * which.  Its arguments stand below. */
#include "repl/passes.h"

#include <inttypes.h>
#include <string.h>

/* The flag that takes the pass. */
static const char *flag_of(const PassInfo *pass) {
  return pass->bound ? "rly opt --passes" : "rly fmt --pass";
}

/* A row for each kind of fact that the pass has; none where it has none. */
static void put_facts(StrBuf *out, const char *word, unsigned facts) {
  if (!facts) return;
  strbuf_addf(out, "  %-7s", word);
  facts_print(out, facts, "");
  strbuf_add(out, "\n");
}

/* An argument, with its default and the values that it may have. */
static void put_arg(StrBuf *out, const PassArg *arg) {
  strbuf_addf(out, "  %s=", arg->name);
  pass_value_print(out, arg, arg->standard);
  strbuf_addf(out, "  %s (", arg->meaning);
  pass_range_print(out, arg);
  strbuf_add(out, ")\n");
}

static void put_pass(StrBuf *out, const PassInfo *pass) {
  strbuf_addf(out, "%s - %s\n\n", pass->name, pass->sentence);
  strbuf_addf(out, "  by     %s %s\n", flag_of(pass), pass->name);
  put_facts(out, "needs", pass->needs);
  put_facts(out, "gives", pass->gives);
  put_facts(out, "breaks", pass->breaks);
  for (int i = 0; i < PASS_ARGS_MAX && pass->args[i].name; i++)
    put_arg(out, &pass->args[i]);
}

static void put_words(StrBuf *out, const PassArg *arg) {
  strbuf_add(out, "\"words\": [");
  for (int64_t i = 0; i <= arg->most; i++)
    strbuf_addf(out, "%s\"%s\"", i ? ", " : "", arg->words[i]);
  strbuf_addf(out, "], \"default\": \"%s\"}", arg->words[arg->standard]);
}

static void put_json(StrBuf *out, const PassInfo *pass) {
  strbuf_addf(out, "{\"name\": \"%s\", \"sentence\": \"", pass->name);
  strbuf_add_escaped(out, pass->sentence, strlen(pass->sentence));
  strbuf_addf(out, "\", \"by\": \"%s\", \"needs\": [", flag_of(pass));
  facts_print(out, pass->needs, "\"");
  strbuf_add(out, "], \"gives\": [");
  facts_print(out, pass->gives, "\"");
  strbuf_add(out, "], \"breaks\": [");
  facts_print(out, pass->breaks, "\"");
  strbuf_add(out, "], \"arguments\": [");
  for (int i = 0; i < PASS_ARGS_MAX && pass->args[i].name; i++) {
    const PassArg *arg = &pass->args[i];
    strbuf_addf(out, "%s{\"name\": \"%s\", \"meaning\": \"%s\", ",
                i ? ", " : "", arg->name, arg->meaning);
    if (arg->words) put_words(out, arg);
    else
      strbuf_addf(out,
                  "\"least\": %" PRId64 ", \"most\": %" PRId64
                  ", \"default\": %" PRId64 "}",
                  arg->least, arg->most, arg->standard);
  }
  strbuf_add(out, "]}");
}

/* A pass to a line in both forms.  A line begins with the name, which
 * completion reads. */
static void put_all(const Cli *cli, StrBuf *out) {
  for (int i = 0; i < pass_count; i++) {
    if (cli->json) {
      strbuf_add(out, i ? ",\n " : "[");
      put_json(out, &pass_info[i]);
    } else {
      strbuf_addf(out, "%-22s %s%s\n", pass_info[i].name, pass_info[i].sentence,
                  pass_info[i].bound ? "" : " (fmt)");
    }
  }
  if (cli->json) strbuf_add(out, "]\n");
}

/* An unknown name gets the same answer from all commands. */
const PassInfo *named_pass(Host *h, const char *name, PassSet among) {
  const PassInfo *pass = pass_find(name);
  if (pass) return pass;
  const char *near = pass_nearest(name, among);
  if (near) host_usage(h, "no pass `%s`; did you mean `%s`?", name, near);
  else host_usage(h, "no pass `%s`; rly passes lists them", name);
  return NULL;
}

/* All of the output is made before any is written: an unknown name among
 * several prints what came before it and gives status 1. */
static int show_passes(Host *h) {
  const TextList *names = &h->cli->words;
  StrBuf out;
  int status = 0;
  strbuf_init(&out, h->program->ir->mem);
  if (!names->count) put_all(h->cli, &out);
  for (int i = 0; i < names->count && !status; i++) {
    const PassInfo *pass = named_pass(h, names->items[i], PASSES_ALL);
    if (!pass) {
      status = EXIT_REFUSED;
    } else if (h->cli->json) {
      put_json(&out, pass);
      strbuf_add(&out, "\n");
    } else {
      put_pass(&out, pass);
    }
  }
  host_write(h, strbuf_text(&out), out.len);
  strbuf_done(&out);
  return status;
}

int command_passes(const Cli *cli) { return host_run(cli, show_passes); }
