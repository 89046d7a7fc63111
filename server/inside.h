/* The server's state, and its rows: a method, what serves it, and what the
 * client is told of it. */
#ifndef SERVER_INSIDE_H
#define SERVER_INSIDE_H

#include "server/document.h"
#include "server/wire.h"

typedef struct Server {
  rly_options options;
  Mem mem; /* texts and messages */
  Wire wire;
  Document *documents;
  enum { BEFORE, SERVING, SHUT_DOWN, ENDED } state;
  bool utf8;       /* columns count bytes */
  bool exit_fine;  /* `shutdown` came before `exit` */
  rly_context *cx; /* an empty program, for texts of which nothing is known */
  rly_program *program;
} Server;

/* Why a request has no result. */
typedef struct Failure {
  int code; /* of JSON-RPC or LSP; 0: it has one */
  char message[256];
} Failure;
enum {
  FAIL_PARSE = -32700,
  FAIL_REQUEST = -32600,
  FAIL_METHOD = -32601,
  FAIL_PARAMS = -32602,
  FAIL_INTERNAL = -32603,
  FAIL_NOT_INITIALIZED = -32002,
  FAIL_REFUSED = -32803,
};
/* Returns NULL. */
__attribute__((format(printf, 3, 4))) json_t *fail(Failure *f, int code,
                                                   const char *format, ...);

/* Serves a request: the result, owned; NULL after fail(), or for memory that
 * ran out.  Of a notification the result is dropped. */
typedef json_t *Serve(Server *s, const json_t *params, Failure *f);

typedef struct Method {
  const char *name;
  Serve *serve;
  bool notification;
  /* The member of the server's capabilities that tells of it, and its value as
   * JSON; NULL: none does. */
  const char *capability, *value;
} Method;

/* --- What the parameters of requests name -------------------------------- */

/* The document that `textDocument` names, checked; NULL after fail(). */
Document *document_of(Server *s, const json_t *params, Failure *f);
/* The same as it is, without a check. */
Document *document_unchecked(Server *s, const json_t *params, Failure *f);
/* And the byte of its `position`. */
Document *place_of(Server *s, const json_t *params, size_t *offset, Failure *f);
/* And the bytes of its `range`. */
Document *range_of(Server *s, const json_t *params, size_t *lo, size_t *hi,
                   Failure *f);
/* A program in which the library and what checks of the text are in scope. */
rly_program *program_for(Server *s, const Document *d);
/* The name at a place of the document, and the analysis that knows it; NULL:
 * none does. */
const Use *use_at(const Document *d, size_t offset, Analysis **a);

json_t *markdown(const StrBuf *text);
/* {range, newText} */
json_t *text_edit(const Text *t, size_t lo, size_t hi, const char *text,
                  size_t len);

/* --- Methods, by file ---------------------------------------------------- */

Serve serve_hover, serve_signature, serve_hints, serve_lenses; /* show.c */
Serve serve_definition, serve_references, serve_rename, serve_prepare_rename,
    serve_highlight;                                         /* navigate.c */
Serve serve_completion, serve_resolve;                       /* offer.c */
Serve serve_symbols, serve_workspace_symbols, serve_folding; /* outline.c */
Serve serve_format, serve_format_range, serve_actions;       /* edit.c */
Serve serve_tokens;                                          /* colour.c */

#endif
