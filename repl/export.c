/* rly export: a function of a program as an ONNX model.
 *
 *   rly export FILE.rly [NAME=VALUE...] --entry f -o MODEL.onnx
 *              [--params WEIGHTS] [--opset 17]
 *
 * The params that the function reaches are its initialisers; --external puts
 * large ones into MODEL.onnx.data.  Its parameters are the model's inputs,
 * which have no value here. */
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"
#include "repl/guard.h"

static const char *model_name(Host *h, const char *file) {
  const Cli *cli = h->cli;
  if (cli->output_path) return cli->output_path;
  size_t stem = strlen(file);
  if (stem > 4 && !strcmp(file + stem - 4, ".rly")) stem -= 4;
  return arena_printf(&h->program->arena, "%.*s.onnx", (int)stem, file);
}

/* What is read is not written over.  0 or an exit status. */
static int check_files(Host *h, const char *model) {
  int status = files_check_output(h, model, "the model");
  if (status || !h->cli->external) return status;
  const char *beside = arena_printf(&h->program->arena, "%s.data", model);
  return beside ? files_check_output(h, beside, "the file beside the model")
                : EXIT_LIMIT;
}

/* Is it one of the entry's parameters, or a part of one? */
static bool is_input(const Fn *f, const char *name) {
  for (int i = 0; f && i < f->param_count; i++) {
    const char *param = f->params[i]->name->text;
    size_t n = strlen(param);
    if (!strncmp(param, name, n) && (!name[n] || name[n] == '.')) return true;
  }
  return false;
}

/* Files hold more than a program needs, words name params. */
static bool words_fit(Host *h, const char *entry) {
  rly_program *p = h->program;
  const Global *g = scope_global(&p->ir->user, name_of(p->ir->names, entry));
  bool is_fn = g && g->value && g->value->kind == EX_FN;
  const Fn *f = is_fn ? g->value->fn : NULL;
  size_t files = 0;
  while (files < p->bound.len && p->bound.data[files].file) files++;
  for (size_t i = files; i < p->bound.len; i++) {
    const char *name = p->bound.data[i].name;
    if (name && !is_input(f, name)) continue;
    Diag *d = name ? diag_error(p->ir->diags, E0505, SPAN_NONE,
                                "`%s` is an input of the model, which has no "
                                "value before the model is run",
                                name)
                   : diag_error(p->ir->diags, E0505, SPAN_NONE,
                                "a value without a name after the program");
    diag_hint(d,
              "NAME=VALUE gives a value to a param; the parameters of `@%s` "
              "stay the model's inputs",
              entry);
    return false;
  }
  return bindings_fit(p, files);
}

static int export_file(Host *h) {
  const Cli *cli = h->cli;
  uint64_t opset = cli->opset ? cli->opset : EXPORT_OPSET_LEAST;
  if (opset < EXPORT_OPSET_LEAST || opset > EXPORT_OPSET_MOST)
    return host_usage(h, "--opset is from %d to %d", EXPORT_OPSET_LEAST,
                      EXPORT_OPSET_MOST);
  const char *file = cli->words.items[0];
  const char *entry = cli->entry ? cli->entry : "main";
  const char *model = model_name(h, file);
  guard_begin(cli, "exporting");
  rly_status status = host_add_file(h, file);
  if (status == RLY_OK) status = host_bind_given(h, 1);
  if (status == RLY_OK &&
      (check_files(h, model) || !words_fit(h, entry) ||
       !program_write_model(h->program, entry, (int64_t)opset, cli->external,
                            model)))
    status = RLY_REFUSED;
  guard_end();
  if (mem_exhausted(h->program->ir->mem)) return host_out_of_memory(h);
  host_report(h);
  return exit_status(status);
}

int command_export(const Cli *cli) { return host_run(cli, export_file); }
