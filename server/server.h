/* The language server: the protocol of editors (LSP 3.17) over two
 * descriptors. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "include/rly.h"

/* Serves one client until it says `exit` or goes.  The limits of `options` hold
 * for each check of a text, and the one of memory for the texts themselves.
 * Returns the exit status: 0 after `shutdown` and `exit`, 1 otherwise, 3 when
 * not even the server's own tables can be had. */
int server_run(const rly_options *options, int in, int out);

#endif
