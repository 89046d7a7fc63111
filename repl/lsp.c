/* rly lsp: the language server on stdin and stdout. */
#include <unistd.h>

#include "repl/cli.h"
#include "server/server.h"

int command_lsp(const Cli *cli) {
  return server_run(&cli->limits, STDIN_FILENO, STDOUT_FILENO);
}
