/* The server: one message after the other, by a table of methods.
 *
 * Texts are checked when a request needs what is known of them, or when no
 * further message waits: a burst of keystrokes costs one check.  Requests are
 * served in the order in which they come, so nothing is left to cancel. */
#include "server/server.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

/* --- Answers -------------------------------------------------------------- */

json_t *fail(Failure *f, int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  f->code = code;
  vsnprintf(f->message, sizeof f->message, format, args);
  va_end(args);
  return NULL;
}

/* Takes the message; NULL: memory ran out while it was made. */
static bool post(Server *s, json_t *message) {
  char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
  json_decref(message);
  bool sent = !text || wire_write(&s->wire, text, strlen(text));
  free(text);
  return sent;
}

static bool notify(Server *s, const char *method, json_t *params) {
  return post(s, json_pack("{ssssso}", "jsonrpc", "2.0", "method", method,
                           "params", params));
}

/* `id` is borrowed, and null where none could be read. */
static bool answer_failure(Server *s, json_t *id, const Failure *f) {
  json_t *text = json_string(f->message);
  if (!text) text = json_string("the message is no text");
  return post(s, json_pack("{sssOs{siso}}", "jsonrpc", "2.0", "id", id, "error",
                           "code", f->code, "message", text));
}

static bool answer(Server *s, json_t *id, json_t *result, const Failure *f) {
  Failure out = {FAIL_INTERNAL, "out of memory"};
  if (!result) return answer_failure(s, id, f->code ? f : &out);
  return post(
      s, json_pack("{sssOso}", "jsonrpc", "2.0", "id", id, "result", result));
}

/* --- Documents ----------------------------------------------------------- */

/* The string; NULL: none, or one with a NUL, where C would see its end. */
static const char *whole_string(const json_t *string) {
  const char *text = json_string_value(string);
  return text && strlen(text) == json_string_length(string) ? text : NULL;
}

static const char *uri_in(const json_t *params) {
  return whole_string(
      json_object_get(json_object_get(params, "textDocument"), "uri"));
}

static Document **find_document(Server *s, const char *uri) {
  Document **at = &s->documents;
  while (*at && strcmp((*at)->uri, uri)) at = &(*at)->next;
  return at;
}

Document *document_unchecked(Server *s, const json_t *params, Failure *f) {
  const char *uri = uri_in(params);
  Document *d = uri ? *find_document(s, uri) : NULL;
  if (!d) fail(f, FAIL_PARAMS, "no such text is open: %s", uri ? uri : "");
  return d;
}

Document *document_of(Server *s, const json_t *params, Failure *f) {
  Document *d = document_unchecked(s, params, f);
  if (d) document_check(d, &s->options);
  return d;
}

Document *place_of(Server *s, const json_t *params, size_t *offset,
                   Failure *f) {
  Document *d = document_of(s, params, f);
  if (d && !text_find(&d->text, json_object_get(params, "position"), offset)) {
    fail(f, FAIL_PARAMS, "`position` is none");
    return NULL;
  }
  return d;
}

Document *range_of(Server *s, const json_t *params, size_t *lo, size_t *hi,
                   Failure *f) {
  Document *d = document_of(s, params, f);
  if (d &&
      !text_find_range(&d->text, json_object_get(params, "range"), lo, hi)) {
    fail(f, FAIL_PARAMS, "`range` is none");
    return NULL;
  }
  return d;
}

rly_program *program_for(Server *s, const Document *d) {
  if (d->now) return d->now->program;
  return d->good ? d->good->program : s->program;
}

const Use *use_at(const Document *d, size_t offset, Analysis **a) {
  uint32_t at;
  for (int k = 0; k < 2; k++) {
    const Use *use =
        document_look(d, offset, k, a, &at) ? names_at(&(*a)->uses, at) : NULL;
    if (use) return use;
  }
  return NULL;
}

static void publish(Server *s, Document *d) {
  document_check(d, &s->options);
  d->published = true;
  json_t *all = json_array();
  for (size_t i = 0; i < d->problems.len; i++)
    json_array_append(all, d->problems.data[i].json);
  notify(s, "textDocument/publishDiagnostics",
         json_pack("{sssIso}", "uri", d->uri, "version", d->version,
                   "diagnostics", all));
}

static void publish_all(Server *s) {
  for (Document *d = s->documents; d; d = d->next)
    if (!d->published) publish(s, d);
}

static void close_document(Server *s, const char *uri) {
  Document **at = find_document(s, uri), *d = *at;
  if (!d) return;
  *at = d->next;
  document_free(d);
}

/* A text that is another than the editor's is not served.  A notification has
 * no answer, so the user is told. */
static void drop(Server *s, Document *d, const char *why) {
  notify(s, "window/showMessage",
         json_pack("{siss}", "type", 1, "message", why));
  close_document(s, d->uri);
}

static void drop_if_exhausted(Server *s, Document *d) {
  if (!mem_exhausted(&s->mem)) return;
  mem_clear_exhausted(&s->mem);
  drop(s, d, "rly: the text exceeds the limit of memory and is not looked at");
}

static json_t *serve_open(Server *s, const json_t *params, Failure *f) {
  const json_t *item = json_object_get(params, "textDocument");
  const json_t *text = json_object_get(item, "text");
  const char *uri = uri_in(params);
  if (!uri || !json_is_string(text))
    return fail(f, FAIL_PARAMS, "didOpen needs a uri and a text");
  close_document(s, uri);
  Document *d = document_new(&s->mem, uri, s->utf8);
  if (!d) return NULL;
  d->version = json_integer_value(json_object_get(item, "version"));
  d->next = s->documents;
  s->documents = d;
  text_set(&d->text, json_string_value(text), json_string_length(text));
  document_touch(d);
  drop_if_exhausted(s, d);
  return json_null();
}

/* False: the change is none of this text. */
static bool change_text(Text *t, const json_t *change) {
  const json_t *text = json_object_get(change, "text");
  const json_t *range = json_object_get(change, "range");
  size_t lo, hi;
  if (!json_is_string(text)) return false;
  if (!range) {
    text_set(t, json_string_value(text), json_string_length(text));
    return true;
  }
  if (!text_find_range(t, range, &lo, &hi)) return false;
  text_replace(t, lo, hi, json_string_value(text), json_string_length(text));
  return true;
}

/* Changes are applied in order; each is of the text that those before it
 * left. */
static json_t *serve_change(Server *s, const json_t *params, Failure *f) {
  Document *d = document_unchecked(s, params, f);
  const json_t *changes = json_object_get(params, "contentChanges");
  bool fits = json_is_array(changes);
  if (!d) return NULL;
  for (size_t i = 0; fits && i < json_array_size(changes); i++)
    fits = change_text(&d->text, json_array_get(changes, i));
  if (!fits && !mem_exhausted(&s->mem)) {
    drop(s, d,
         "rly: a change does not fit the text, which is not looked at "
         "until it is opened again");
    return json_null();
  }
  d->version = json_integer_value(
      json_object_get(json_object_get(params, "textDocument"), "version"));
  document_touch(d);
  drop_if_exhausted(s, d);
  return json_null();
}

/* Other open texts may import what was saved. */
static json_t *serve_save(Server *s, const json_t *params, Failure *f) {
  if (!document_unchecked(s, params, f)) return NULL;
  for (Document *d = s->documents; d; d = d->next) document_touch(d);
  return json_null();
}

static json_t *serve_close(Server *s, const json_t *params, Failure *f) {
  Document *d = document_unchecked(s, params, f);
  if (!d) return NULL;
  notify(s, "textDocument/publishDiagnostics",
         json_pack("{sss[]}", "uri", d->uri, "diagnostics"));
  close_document(s, d->uri);
  return json_null();
}

/* --- Life ---------------------------------------------------------------- */

static json_t *serve_initialize(Server *s, const json_t *params, Failure *f);

static json_t *serve_nothing(Server *s, const json_t *params, Failure *f) {
  (void)s, (void)params, (void)f;
  return json_null();
}

static json_t *serve_shutdown(Server *s, const json_t *params, Failure *f) {
  (void)params, (void)f;
  s->state = SHUT_DOWN;
  return json_null();
}

static json_t *serve_exit(Server *s, const json_t *params, Failure *f) {
  (void)params, (void)f;
  s->exit_fine = s->state == SHUT_DOWN;
  s->state = ENDED;
  return json_null();
}

enum { TELLS = true, ASKS = false };

static const Method methods[] = {
    {"initialize", serve_initialize, ASKS, NULL, NULL},
    {"initialized", serve_nothing, TELLS, NULL, NULL},
    {"shutdown", serve_shutdown, ASKS, NULL, NULL},
    {"exit", serve_exit, TELLS, NULL, NULL},
    {"textDocument/didOpen", serve_open, TELLS, "textDocumentSync",
     "{\"openClose\": true, \"change\": 2, \"save\": true}"},
    {"textDocument/didChange", serve_change, TELLS, NULL, NULL},
    {"textDocument/didSave", serve_save, TELLS, NULL, NULL},
    {"textDocument/didClose", serve_close, TELLS, NULL, NULL},
    {"textDocument/hover", serve_hover, ASKS, "hoverProvider", "true"},
    {"textDocument/signatureHelp", serve_signature, ASKS,
     "signatureHelpProvider", "{\"triggerCharacters\": [\"(\", \",\"]}"},
    {"textDocument/completion", serve_completion, ASKS, "completionProvider",
     "{\"triggerCharacters\": [\"@\", \"%\", \".\", \"=\", \"\\\"\"],"
     " \"resolveProvider\": true}"},
    {"completionItem/resolve", serve_resolve, ASKS, NULL, NULL},
    {"textDocument/definition", serve_definition, ASKS, "definitionProvider",
     "true"},
    {"textDocument/references", serve_references, ASKS, "referencesProvider",
     "true"},
    {"textDocument/documentHighlight", serve_highlight, ASKS,
     "documentHighlightProvider", "true"},
    {"textDocument/rename", serve_rename, ASKS, "renameProvider",
     "{\"prepareProvider\": true}"},
    {"textDocument/prepareRename", serve_prepare_rename, ASKS, NULL, NULL},
    {"textDocument/documentSymbol", serve_symbols, ASKS,
     "documentSymbolProvider", "true"},
    {"workspace/symbol", serve_workspace_symbols, ASKS,
     "workspaceSymbolProvider", "true"},
    {"textDocument/foldingRange", serve_folding, ASKS, "foldingRangeProvider",
     "true"},
    {"textDocument/formatting", serve_format, ASKS,
     "documentFormattingProvider", "true"},
    {"textDocument/rangeFormatting", serve_format_range, ASKS,
     "documentRangeFormattingProvider", "true"},
    {"textDocument/codeAction", serve_actions, ASKS, "codeActionProvider",
     "{\"codeActionKinds\": [\"quickfix\"]}"},
    {"textDocument/semanticTokens/full", serve_tokens, ASKS,
     "semanticTokensProvider",
     "{\"full\": true, \"legend\": {\"tokenTypes\": [\"keyword\","
     " \"variable\", \"parameter\", \"function\", \"type\", \"enumMember\","
     " \"property\", \"number\", \"string\", \"comment\", \"operator\"],"
     " \"tokenModifiers\": [\"declaration\", \"defaultLibrary\"]}}"},
    {"textDocument/inlayHint", serve_hints, ASKS, "inlayHintProvider", "true"},
    {"textDocument/codeLens", serve_lenses, ASKS, "codeLensProvider", "{}"},
};
enum { METHOD_COUNT = sizeof methods / sizeof *methods };

static const Method *find_method(const char *name) {
  for (int i = 0; i < METHOD_COUNT; i++)
    if (!strcmp(methods[i].name, name)) return &methods[i];
  return NULL;
}

/* UTF-16 is what every client knows; bytes are what this one would rather
 * have. */
static bool offers_utf8(const json_t *params) {
  const json_t *general =
      json_object_get(json_object_get(params, "capabilities"), "general");
  size_t i;
  json_t *encoding;
  json_array_foreach(
      json_object_get(general, "positionEncodings"), i,
      encoding) if (json_is_string(encoding) &&
                    !strcmp(json_string_value(encoding), "utf-8")) return true;
  return false;
}

static json_t *serve_initialize(Server *s, const json_t *params, Failure *f) {
  if (s->state != BEFORE) return fail(f, FAIL_REQUEST, "initialized before");
  s->state = SERVING;
  s->utf8 = offers_utf8(params);
  json_t *can =
      json_pack("{ss}", "positionEncoding", s->utf8 ? "utf-8" : "utf-16");
  for (int i = 0; i < METHOD_COUNT; i++)
    if (methods[i].capability)
      json_object_set_new(can, methods[i].capability,
                          json_loads(methods[i].value, JSON_DECODE_ANY, NULL));
  return json_pack("{sos{ssss}}", "capabilities", can, "serverInfo", "name",
                   "rly", "version", rly_version());
}

/* --- Messages ------------------------------------------------------------ */

/* Is it the method's time?  Only `exit` always is. */
static bool is_due(const Server *s, const Method *m, Failure *f) {
  if (m->serve == serve_exit) return true;
  if (s->state == BEFORE && m->serve != serve_initialize)
    fail(f, FAIL_NOT_INITIALIZED, "the first request is `initialize`");
  if (s->state == SHUT_DOWN)
    fail(f, FAIL_REQUEST, "after `shutdown` there is only `exit`");
  return !f->code;
}

static json_t *serve(Server *s, const char *name, const json_t *params,
                     bool asks, Failure *f) {
  const Method *m = find_method(name);
  if (!m) return fail(f, FAIL_METHOD, "there is no method %.150s", name);
  if (m->notification == asks)
    return fail(f, FAIL_REQUEST, "%s is %s", name,
                asks ? "a notification" : "a request");
  return is_due(s, m, f) ? m->serve(s, params, f) : NULL;
}

/* Requests have an id and are answered; notifications have none, and what is
 * wrong with one nobody is told.  An answer of the client's has no method. */
static bool take_message(Server *s, json_t *message) {
  Failure f = {0};
  json_t *id = json_object_get(message, "id");
  json_t *method = json_object_get(message, "method");
  bool answers =
      json_is_object(message) && !method &&
      (json_object_get(message, "result") || json_object_get(message, "error"));
  if (answers) return true;
  if (id && !json_is_integer(id) && !json_is_string(id)) {
    fail(&f, FAIL_REQUEST, "an id is an integer or a string");
    return answer_failure(s, json_null(), &f);
  }
  const char *name = whole_string(method);
  if (!name) {
    fail(&f, FAIL_REQUEST, "a request is an object with a method");
    return answer_failure(s, id ? id : json_null(), &f);
  }
  json_t *result =
      serve(s, name, json_object_get(message, "params"), id != NULL, &f);
  if (id) return answer(s, id, result, &f);
  json_decref(result);
  return true;
}

/* Is this the escape of a surrogate, `\uD83D`, whose second digit is one of
 * these? */
static bool is_surrogate(const char *at, size_t len, const char *seconds) {
  return len >= 6 && at[0] == '\\' && at[1] == 'u' &&
         (at[2] == 'd' || at[2] == 'D') && at[3] && strchr(seconds, at[3]) &&
         isxdigit((unsigned char)at[4]) && isxdigit((unsigned char)at[5]);
}

/* Editors whose texts are UTF-16 may send a surrogate without its other half,
 * which JSON can say and UTF-8 cannot.  U+FFFD stands for it, as it will in the
 * file: one code unit as well, so that places in the text stay the editor's. */
static void replace_lone_surrogates(char *text, size_t len) {
  for (size_t i = 0, n; i < len; i += n) {
    bool high = is_surrogate(text + i, len - i, "89abAB");
    bool low = is_surrogate(text + i, len - i, "cdefCDEF");
    bool pair = high && is_surrogate(text + i + 6, len - i - 6, "cdefCDEF");
    n = pair ? 12 : high || low ? 6 : text[i] == '\\' ? 2 : 1;
    if (n == 6) memcpy(text + i, "\\ufffd", 6);
  }
}

/* jansson allocates by itself, so the memory that it will need is counted
 * before it parses. */
static bool take_text(Server *s, char *text, size_t len) {
  Failure f = {0};
  json_error_t error;
  size_t size = json_tree_size(text, len);
  if (!mem_hold(&s->mem, size)) {
    fail(&f, FAIL_REQUEST, "the message exceeds the limit of memory");
    return answer_failure(s, json_null(), &f);
  }
  replace_lone_surrogates(text, len);
  json_t *message = json_loadb(text, len, JSON_ALLOW_NUL, &error);
  bool sent;
  if (message) {
    sent = take_message(s, message);
  } else {
    fail(&f, FAIL_PARSE, "the message is no JSON: %.160s", error.text);
    sent = answer_failure(s, json_null(), &f);
  }
  json_decref(message);
  mem_let_go(&s->mem, size);
  return sent;
}

/* False when the conversation is over. */
static bool converse(Server *s) {
  char *text;
  size_t len;
  Failure f = {0};
  switch (wire_read(&s->wire, &text, &len)) {
    case WIRE_MESSAGE: return take_text(s, text, len) && s->state != ENDED;
    case WIRE_SKIPPED:
      fail(&f, FAIL_REQUEST, "the message exceeds the limit of memory");
      return answer_failure(s, json_null(), &f);
    case WIRE_BROKEN:
      fail(&f, FAIL_PARSE,
           "a message begins with `Content-Length: N` and an empty line, and "
           "has N bytes");
      answer_failure(s, json_null(), &f);
      return false;
    case WIRE_END: break;
  }
  return false;
}

int server_run(const rly_options *options, int in, int out) {
  Server s = {.options = *options};
  size_t limit = options->max_memory ? options->max_memory : SIZE_MAX;
  if (!mem_init(&s.mem, limit)) return 3;
  s.cx = rly_context_new(options);
  s.program = s.cx ? rly_program_new(s.cx) : NULL;
  wire_init(&s.wire, &s.mem, in, out);
  while (s.program && converse(&s))
    if (!wire_has_more(&s.wire)) publish_all(&s);
  int status = s.program ? !s.exit_fine : 3;
  while (s.documents) close_document(&s, s.documents->uri);
  wire_done(&s.wire);
  rly_program_free(s.program);
  rly_context_free(s.cx);
  mem_done(&s.mem);
  return status;
}
