/* Values for params, from the prompt: :param, :params, and the words after the
 * file of :load.
 *
 * A param that has a value already is declared again (`param @w: T;`), as if
 * the user had typed that, so that what uses it is checked and evaluated with
 * the new one and what was evaluated before keeps the old one.  A value that
 * code was made with cannot be exchanged.
 *
 * Binding goes in three steps: the binding is added (rly_program_bind_...),
 * compared with the declarations (fit, which takes it back where it does not
 * fit), and then the params that it concerns are declared again. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/repl.h"

/* --- Again -------------------------------------------------------------- */

static void declare_again(Repl *r, const Global *g) {
  const Program *ir = r->host->program->ir;
  StrBuf text;
  strbuf_init(&text, ir->mem);
  strbuf_add(&text, "param @");
  strbuf_add(&text, g->name->text);
  strbuf_add(&text, ": ");
  /* The type must come out whole, for it is read back. */
  type_print(ir->types, &text, g->type, TYPE_TEXT_MOST);
  strbuf_add(&text, ";");
  repl_submit(r, strbuf_text(&text));
  strbuf_done(&text);
}

static bool is_newest(const Program *ir, const Global *g) {
  return scope_global(&ir->user, g->name) == g;
}

/* The params that had another value before binding number `from`.  `count` is
 * taken before the loop, because declaring again adds params, which have no
 * need of it. */
static void declare_changed(Repl *r, size_t from) {
  const rly_program *p = r->host->program;
  size_t count = p->ir->params.len;
  for (size_t i = 0; i < count; i++) {
    const Global *g = p->ir->params.data[i];
    if (is_newest(p->ir, g) && param_is_given(p, g) &&
        param_bound_since(r->host->program, g, from))
      declare_again(r, g);
  }
}

/* --- Binding ------------------------------------------------------------ */

/* program_enter() is what keeps a session from running meanwhile. */
static bool fit(rly_program *p, size_t from) {
  if (!program_enter(p)) return false;
  bool ok = bindings_fit(p, from);
  program_leave(p);
  return ok;
}

/* `how` is one of the API's functions that bind; the bindings it adds are those
 * from `before` on. */
static bool bind(Repl *r, rly_status (*how)(rly_program *, const char *),
                 const char *argument) {
  rly_program *p = r->host->program;
  size_t before = p->bound.len;
  bool ok = how(p, argument) == RLY_OK && fit(p, before);
  host_report(r->host);
  if (ok) declare_changed(r, before);
  return ok;
}

/* The length of NAME in `NAME = VALUE`, and where VALUE begins; 0: it is none.
 * A name is written without its sigil and may hold dots and slashes, as names
 * in files of weights do; it begins with a letter or `_`. */
static size_t split(const char *text, const char **value) {
  size_t n = 0;
  while (isalnum((unsigned char)text[n]) || (n && strchr("_./", text[n])) ||
         text[n] == '_')
    if (!text[n++]) return 0;
  const char *at = text + n + strspn(text + n, " \t");
  if (isdigit((unsigned char)*text) || *at != '=') return 0;
  *value = at + 1 + strspn(at + 1, " \t");
  return n;
}

/* Binds what NAME = VALUE says, a text of that length.  A value that begins
 * with `@` names a file, so it needs the right to read files. */
static bool bind_one(Repl *r, const char *text, size_t len) {
  const char *value;
  char *argument = NULL;
  size_t n = split(text, &value);
  if (*value == '@' && !repl_may(r, "param", "files")) return false;
  int value_len = (int)(text + len - value);
  if (asprintf(&argument, "%.*s=%.*s", (int)n, text, value_len, value) < 0)
    return fputs("rly: out of memory\n", stderr), false;
  bool ok = bind(r, rly_program_bind_text, argument);
  free(argument);
  return ok;
}

void params_run_one(Repl *r, const char *rest) {
  const char *value, *text = *rest == '@' ? rest + 1 : rest;
  if (split(text, &value) && *value) bind_one(r, text, strlen(text));
  else repl_refuse("param", "takes NAME = VALUE, or NAME = @FILE.npy");
}

void params_run_file(Repl *r, const char *path) {
  if (repl_may(r, "params", "files")) bind(r, rly_program_bind_file, path);
}

/* --- After a file ------------------------------------------------------ */

/* Where the next NAME=VALUE begins after white space outside of brackets; the
 * end: there is none.  Values may hold blanks: `x = [1, 2]`.  So a blank ends a
 * word only outside of brackets and where NAME= follows. */
static const char *next_word(const char *text) {
  const char *value;
  int depth = 0;
  for (; *text; text++) {
    depth += (*text == '[' || *text == '(') - (*text == ']' || *text == ')');
    if (depth <= 0 && isspace((unsigned char)*text) && split(text + 1, &value))
      break;
  }
  return text;
}

size_t params_behind(const char *rest) {
  size_t n = (size_t)(next_word(rest) - rest);
  while (n && isspace((unsigned char)rest[n - 1])) n--;
  return n;
}

bool params_bind_words(Repl *r, const char *words) {
  bool ok = true;
  for (const char *at = next_word(words); ok && *at;) {
    const char *word = at + 1;
    at = next_word(word);
    ok = bind_one(r, word, (size_t)(at - word));
  }
  return ok;
}
