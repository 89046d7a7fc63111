/* Completion.  What may stand at the cursor lib/complete.h knows, for the
 * prompt as well; local variables are those that the item has so far. */
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

typedef struct Offers {
  Server *server;
  const Document *d;
  size_t lo, hi; /* the word begun */
  PtrMap known;  /* names that were offered */
  json_t *out;
} Offers;

/* Kinds of the protocol's. */
enum { FUNCTION = 3, VARIABLE = 6, CLASS = 7, VALUE = 12, FIELD = 5 };

static int kind_of(const Offers *o, const char *word) {
  bool dyn;
  if (*word == '%') return VARIABLE;
  if (*word == '@') return FUNCTION;
  if (word[strcspn(word, "=")]) return FIELD;
  if (op_find(word, &dyn) != OP_COUNT) return FUNCTION;
  rly_program *p = program_for(o->server, o->d);
  return program_definition(p, word, NULL) ? CLASS : VALUE;
}

static void take_offer(void *offers, const char *word) {
  Offers *o = offers;
  rly_program *p = program_for(o->server, o->d);
  const Name *name = name_of(p->ir->names, word);
  if (ptrmap_has(&o->known, name)) return;
  ptrmap_put(&o->known, name, o);
  json_array_append_new(
      o->out,
      json_pack("{sssiso s{ssss}}", "label", word, "kind", kind_of(o, word),
                "textEdit",
                text_edit(&o->d->text, o->lo, o->hi, word, strlen(word)),
                "data", "uri", o->d->uri, "name", word));
}

/* Where the word begins: after a character that is part of none. */
static size_t word_begin(const Text *t, size_t offset) {
  const char *s = strbuf_text(&t->bytes);
  while (offset && !strchr(" \t\r\n(){}[],;=<>+*/!&|\"", s[offset - 1]))
    offset--;
  return offset;
}

static void offer_locals(Offers *o) {
  const Piece *p = piece_at(&o->d->pieces, o->lo);
  const char *s = strbuf_text(&o->d->text.bytes);
  for (size_t i = p ? p->first : 0; p && i < p->end; i++) {
    const Token *t = &o->d->tokens.data[i];
    size_t n = t->hi - t->lo, begun = o->hi - o->lo;
    char word[128];
    if (t->look != LOOK_LOCAL || t->hi >= o->hi || n >= sizeof word) continue;
    if (n < begun || memcmp(s + t->lo, s + o->lo, begun)) continue;
    memcpy(word, s + t->lo, n);
    word[n] = '\0';
    take_offer(o, word);
  }
}

json_t *serve_completion(Server *s, const json_t *params, Failure *f) {
  size_t offset;
  Document *d = place_of(s, params, &offset, f);
  if (!d) return NULL;
  Offers o = {.server = s, .d = d, .hi = offset, .out = json_array()};
  o.lo = word_begin(&d->text, offset);
  ptrmap_init(&o.known, &s->mem);
  char *text = strndup(strbuf_text(&d->text.bytes), offset);
  Cursor at = {text, o.lo};
  if (text && !complete_files(&at)) {
    if (!complete_in_string(&at)) offer_locals(&o);
    complete_words(program_for(s, d), &at, take_offer, &o);
  }
  free(text);
  ptrmap_done(&o.known);
  return o.out;
}

/* --- What is said of an offer -------------------------------------------- */

static void put_operator(json_t *item, Mem *mem, const OpInfo *op) {
  char *text = NULL;
  size_t len;
  StrBuf doc;
  strbuf_init(&doc, mem);
  FILE *out = open_memstream(&text, &len);
  if (!out) return;
  operator_put_signature(out, op);
  if (!fclose(out)) json_object_set_new(item, "detail", json_string(text));
  free(text);
  if (!(out = open_memstream(&text, &len))) return;
  operator_put_entry(out, op);
  if (!fclose(out)) strbuf_add_len(&doc, text, len);
  free(text);
  json_object_set_new(item, "documentation", markdown(&doc));
  strbuf_done(&doc);
}

static void put_definition(json_t *item, Mem *mem, const DefinitionText *d) {
  StrBuf head, doc;
  strbuf_init(&head, mem);
  strbuf_init(&doc, mem);
  definition_print_head(&head, d);
  doc_print(&doc, d, "");
  json_object_set_new(item, "detail",
                      json_stringn(strbuf_text(&head), head.len));
  if (doc.len) json_object_set_new(item, "documentation", markdown(&doc));
  strbuf_done(&head);
  strbuf_done(&doc);
}

/* The client sends an item back, to learn more of it. */
json_t *serve_resolve(Server *s, const json_t *params, Failure *f) {
  const json_t *data = json_object_get(params, "data");
  const char *uri = json_string_value(json_object_get(data, "uri"));
  const char *name = json_string_value(json_object_get(data, "name"));
  if (!uri || !name) return fail(f, FAIL_PARAMS, "the item is none of rly's");
  Document *d = s->documents;
  while (d && strcmp(d->uri, uri)) d = d->next;
  if (d) document_check(d, &s->options);
  json_t *item = json_copy((json_t *)params);
  DefinitionText text;
  bool dyn;
  OpId id = op_find(name, &dyn);
  if (id != OP_COUNT) put_operator(item, &s->mem, op_info(id));
  else if (program_definition(d ? program_for(s, d) : s->program, name, &text))
    put_definition(item, &s->mem, &text);
  return item;
}
