/* rly export: a function of a program as an ONNX model.
 *
 *   rly export FILE.rly --entry f -o MODEL.onnx [--params WEIGHTS] [--opset 17]
 *
 * The params that the function reaches are its initialisers; --external puts
 * large ones into MODEL.onnx.data. */
#include <string.h>

#include "lib/inside.h"
#include "repl/cli.h"
#include "repl/files.h"
#include "repl/guard.h"

static const char *model_name(Host *h, const char *file) {
  const Cli *cli = h->cli;
  if (cli->import_as) return cli->import_as;
  size_t stem = strlen(file);
  if (stem > 4 && !strcmp(file + stem - 4, ".rly")) stem -= 4;
  return arena_printf(&h->program->arena, "%.*s.onnx", (int)stem, file);
}

/* What is read is not written over.  0 or an exit status. */
static int check_files(Host *h, const char *program, const char *model) {
  const TextList *params = &h->cli->params;
  Files files = {0};
  int status = files_add(&files, h, program, "the program", false);
  for (int i = 0; !status && i < params->count; i++)
    status = files_add(&files, h, params->items[i], "weights", false);
  if (!status) status = files_add(&files, h, model, "the model", true);
  files_done(&files);
  return status;
}

static int export_file(Host *h) {
  const Cli *cli = h->cli;
  if (cli->words.count != 1) return host_usage(h, "export needs one program");
  uint64_t opset = cli->opset ? cli->opset : EXPORT_OPSET_LEAST;
  if (opset < EXPORT_OPSET_LEAST || opset > EXPORT_OPSET_MOST)
    return host_usage(h, "--opset is from %d to %d", EXPORT_OPSET_LEAST,
                      EXPORT_OPSET_MOST);
  const char *file = cli->words.items[0];
  const char *entry = cli->entry ? cli->entry : "main";
  int refused = check_files(h, file, model_name(h, file));
  if (refused) return refused;
  guard_begin(cli, "exporting");
  rly_status status = host_add_file(h, file);
  for (int i = 0; status == RLY_OK && i < cli->params.count; i++)
    status = rly_program_bind_file(h->program, cli->params.items[i]);
  if (status == RLY_OK &&
      !program_write_model(h->program, entry, (int64_t)opset, cli->external,
                           model_name(h, file)))
    status = RLY_REFUSED;
  guard_end();
  if (mem_exhausted(h->program->ir->mem)) return host_out_of_memory(h);
  host_report(h);
  return exit_status(status);
}

int command_export(const Cli *cli) { return host_run(cli, export_file); }
