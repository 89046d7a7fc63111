/* Outlines: symbols of a text and of all open ones, and what can be folded.
 * They come from the tokens alone, so they are there for a text that does not
 * parse, too; the types are added where they are known. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/inside.h"

/* --- Symbols ------------------------------------------------------------- */

/* Kinds of the protocol's. */
enum { CLASS = 5, FUNCTION = 12, VARIABLE = 13, CONSTANT = 14, MEMBER = 22 };

static int kind_of(const Text *t, const Piece *p) {
  static const struct {
    const char *word;
    int kind;
  } kinds[] = {{"def", FUNCTION}, {"type", CLASS},    {"param", CONSTANT},
               {"let", VARIABLE}, {"rule", FUNCTION}, {"gradient", FUNCTION}};
  for (size_t i = 0; p->name && i < sizeof kinds / sizeof *kinds; i++)
    if (token_is(t, p->word, kinds[i].word)) return kinds[i].kind;
  return 0;
}

static json_t *name_of_token(const Text *t, const Token *token) {
  return json_stringn(t->bytes.data + token->lo, token->hi - token->lo);
}

enum { DETAIL_MOST = 1000 }; /* bytes of a type, which is one line's */

/* The type of what the name declares; NULL: not known. */
static json_t *type_at(const Document *d, const Token *name) {
  Analysis *a;
  const Use *use = use_at(d, name->lo, &a);
  if (!use || !use->declares || use->kind != NAME_GLOBAL) return NULL;
  StrBuf text;
  strbuf_init(&text, a->program->mem);
  global_type_print_within(a->program->ir, use->what, DETAIL_MOST, &text);
  json_t *json = json_stringn(strbuf_text(&text), text.len);
  strbuf_done(&text);
  return json;
}

/* The words that begin an item within the braces of a type. */
static json_t *constructors(const Document *d, const Piece *p) {
  const Text *t = &d->text;
  json_t *all = json_array();
  bool begins = false;
  int depth = 0;
  for (size_t i = p->first; i < p->end; i++) {
    const Token *token = &d->tokens.data[i];
    if (token->look == LOOK_COMMENT) continue;
    if (begins && depth == 1 && token->look == LOOK_WORD)
      json_array_append_new(
          all,
          json_pack("{sosisoso}", "name", name_of_token(t, token), "kind",
                    MEMBER, "range", text_range(t, token->lo, token->hi),
                    "selectionRange", text_range(t, token->lo, token->hi)));
    begins = (depth == 0 && token_is(t, token, "{")) ||
             (depth == 1 && token_is(t, token, ","));
    depth += (token->look == LOOK_OPEN) - (token->look == LOOK_CLOSE);
  }
  return all;
}

json_t *serve_symbols(Server *s, const json_t *params, Failure *f) {
  Document *d = document_of(s, params, f);
  if (!d) return NULL;
  const Text *t = &d->text;
  json_t *all = json_array();
  for (size_t i = 0; i < d->pieces.len; i++) {
    const Piece *p = &d->pieces.data[i];
    int kind = p->word ? kind_of(t, p) : 0;
    if (!kind) continue;
    json_t *symbol =
        json_pack("{sosisoso}", "name", name_of_token(t, p->name), "kind", kind,
                  "range", text_range(t, p->lo, p->hi), "selectionRange",
                  text_range(t, p->name->lo, p->name->hi));
    json_t *type = type_at(d, p->name);
    if (type) json_object_set_new(symbol, "detail", type);
    if (kind == CLASS)
      json_object_set_new(symbol, "children", constructors(d, p));
    json_array_append_new(all, symbol);
  }
  return all;
}

/* Does the name have the query in it, whatever the case of its letters? */
static bool has_part(const Text *t, const Token *name, const char *query) {
  size_t n = strlen(query);
  const char *s = t->bytes.data;
  for (size_t i = name->lo; i + n <= name->hi; i++)
    if (!strncasecmp(s + i, query, n)) return true;
  return false;
}

json_t *serve_workspace_symbols(Server *s, const json_t *params, Failure *f) {
  const char *query = json_string_value(json_object_get(params, "query"));
  if (!query) return fail(f, FAIL_PARAMS, "`query` is no text");
  json_t *all = json_array();
  for (const Document *d = s->documents; d; d = d->next) {
    for (size_t i = 0; i < d->pieces.len; i++) {
      const Piece *p = &d->pieces.data[i];
      int kind = p->word ? kind_of(&d->text, p) : 0;
      if (!kind || !has_part(&d->text, p->name, query)) continue;
      json_array_append_new(
          all,
          json_pack("{sosis{ssso}}", "name", name_of_token(&d->text, p->name),
                    "kind", kind, "location", "uri", d->uri, "range",
                    text_range(&d->text, p->lo, p->hi)));
    }
  }
  return all;
}

/* --- Folding ------------------------------------------------------------- */

/* Lines first .. last, if they are several. */
static void add_fold(json_t *all, size_t first, size_t last, const char *kind) {
  if (last <= first) return;
  json_t *fold = json_pack("{sIsI}", "startLine", (json_int_t)first, "endLine",
                           (json_int_t)last);
  if (kind) json_object_set_new(fold, "kind", json_string(kind));
  json_array_append_new(all, fold);
}

/* Brackets: the line of the closing one stays in sight. */
static void fold_brackets(const Document *d, json_t *all) {
  VEC(size_t) open;
  VEC_INIT(&open, d->tokens.mem);
  for (size_t i = 0; i < d->tokens.len; i++) {
    const Token *t = &d->tokens.data[i];
    if (t->look == LOOK_OPEN) VEC_PUSH(&open, text_line(&d->text, t->lo));
    if (t->look != LOOK_CLOSE || !open.len) continue;
    size_t last = text_line(&d->text, t->lo);
    add_fold(all, VEC_POP(&open), last ? last - 1 : 0, NULL);
  }
  VEC_DONE(&open);
}

/* Comments that follow one another line by line are one. */
static void fold_comments(const Document *d, json_t *all) {
  const Text *text = &d->text;
  for (size_t i = 0; i < d->tokens.len; i++) {
    const Token *t = &d->tokens.data[i];
    if (t->look != LOOK_COMMENT) continue;
    size_t first = text_line(text, t->lo), last = first;
    for (; i < d->tokens.len && d->tokens.data[i].look == LOOK_COMMENT; i++) {
      t = &d->tokens.data[i];
      if (text_line(text, t->lo) > last + 1) break;
      last = text_line(text, t->hi ? t->hi - 1 : 0);
    }
    i--;
    add_fold(all, first, last, "comment");
  }
}

static void fold_imports(const Document *d, json_t *all) {
  const Text *text = &d->text;
  size_t first = 0, last = 0;
  bool any = false;
  for (size_t i = 0; i <= d->pieces.len; i++) {
    const Piece *p = i < d->pieces.len ? &d->pieces.data[i] : NULL;
    bool import = p && p->word && token_is(text, p->word, "import");
    if (import && !any) first = text_line(text, p->lo);
    if (import) last = text_line(text, p->hi);
    if (!import && any) add_fold(all, first, last, "imports");
    any = import;
  }
}

json_t *serve_folding(Server *s, const json_t *params, Failure *f) {
  Document *d = document_unchecked(s, params, f);
  if (!d) return NULL;
  json_t *all = json_array();
  fold_brackets(d, all);
  fold_comments(d, all);
  fold_imports(d, all);
  return all;
}
