/* From names to where they are declared and used, and other names for them.
 *
 * Every text has a program of its own, so one thing has several
 * representations: things are the same if they are declared in the same place
 * of the same file. */
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

/* --- Places in any file -------------------------------------------------- */

typedef struct Declared {
  const char *path;
  uint32_t lo;
} Declared;

/* False: in no file of the user's. */
static bool declared(const Analysis *a, Span span, Declared *out) {
  SourceFile *f = sources_file(&a->cx->sources, span);
  if (!f || f->library) return false;
  *out = (Declared){f->path, span.lo - f->base};
  return true;
}

static Document *document_with(Server *s, const char *path) {
  Document *d = s->documents;
  while (d && strcmp(d->path, path)) d = d->next;
  return d;
}

/* A Location; of an open text by its own lines. */
static json_t *location(Server *s, const Analysis *a, Span span) {
  SourceFile *f = sources_file(&a->cx->sources, span);
  if (!f || f->library) return json_null();
  Document *d = document_with(s, f->path);
  char *uri = d ? strdup(d->uri) : uri_of_path(f->path);
  json_t *place = location_in(&s->mem, s->utf8, f, uri, span);
  free(uri);
  return place;
}

/* As long as the name: a declaration's span may have its sigil or not. */
static Span name_span(const Analysis *a, Span span) {
  const Use *use = names_at(&a->uses, span.lo);
  return use && use->declares ? use->span : span;
}

json_t *serve_definition(Server *s, const json_t *params, Failure *f) {
  size_t offset;
  Analysis *a;
  Document *d = place_of(s, params, &offset, f);
  if (!d) return NULL;
  const Use *use = use_at(d, offset, &a);
  Span span = use ? name_declaration(use) : SPAN_NONE;
  return span_exists(span) ? location(s, a, name_span(a, span)) : json_null();
}

/* --- References ---------------------------------------------------------- */

static bool same_thing(const Analysis *a, const Use *use, NameKind kind,
                       Declared wanted) {
  Declared at;
  return use->kind == kind && declared(a, name_declaration(use), &at) &&
         at.lo == wanted.lo && !strcmp(at.path, wanted.path);
}

typedef struct Search {
  Server *server;
  NameKind kind;
  Declared thing;
  const OpInfo *op; /* or an operator, in the text itself */
  bool declarations;
  void (*visit)(struct Search *search, const Analysis *a, const Use *use);
  json_t *out;
} Search;

/* Visits what a text knows of the thing: in itself, and in files that it
 * imports and that are not open. */
static void search_text(Search *q, const Document *d) {
  const Analysis *a = d->now;
  for (size_t i = 0; a && i < a->uses.len; i++) {
    const Use *use = &a->uses.data[i];
    bool same = q->op ? use->kind == NAME_OPERATOR && use->what == q->op
                      : same_thing(a, use, q->kind, q->thing);
    if (!same || (use->declares && !q->declarations)) continue;
    SourceFile *f = sources_file(&a->cx->sources, use->span);
    Document *open = document_with(q->server, f->path);
    if (open == d || !open) q->visit(q, a, use);
  }
}

static bool begin_search(Search *q, const Analysis *a, const Use *use) {
  q->kind = use->kind;
  q->op = use->kind == NAME_OPERATOR ? use->what : NULL;
  return q->op || declared(a, name_declaration(use), &q->thing);
}

static void search_all(Search *q, Document *first) {
  search_text(q, first);
  if (q->op || q->kind == NAME_VAR) return;
  for (Document *d = q->server->documents; d; d = d->next) {
    document_check(d, &q->server->options);
    if (d != first) search_text(q, d);
  }
}

static void add_location(Search *q, const Analysis *a, const Use *use) {
  json_t *place = location(q->server, a, use->span);
  size_t i;
  json_t *other;
  json_array_foreach(q->out, i, other) /* two texts may import one file */
      if (json_equal(other, place)) {
    json_decref(place);
    return;
  }
  json_array_append_new(q->out, place);
}

json_t *serve_references(Server *s, const json_t *params, Failure *f) {
  size_t offset;
  Analysis *a;
  Document *d = place_of(s, params, &offset, f);
  if (!d) return NULL;
  const json_t *context = json_object_get(params, "context");
  Search q = {
      .server = s,
      .visit = add_location,
      .declarations =
          json_is_true(json_object_get(context, "includeDeclaration")),
      .out = json_array(),
  };
  const Use *use = use_at(d, offset, &a);
  if (use && begin_search(&q, a, use)) search_all(&q, d);
  return q.out;
}

static void add_highlight(Search *q, const Analysis *a, const Use *use) {
  json_t *place = location(q->server, a, use->span);
  json_array_append_new(
      q->out, json_pack("{sO}", "range", json_object_get(place, "range")));
  json_decref(place);
}

json_t *serve_highlight(Server *s, const json_t *params, Failure *f) {
  size_t offset;
  Analysis *a;
  Document *d = place_of(s, params, &offset, f);
  if (!d) return NULL;
  Search q = {.server = s,
              .visit = add_highlight,
              .declarations = true,
              .out = json_array()};
  const Use *use = use_at(d, offset, &a);
  if (use && a == d->now && begin_search(&q, a, use)) search_text(&q, d);
  return q.out;
}

/* --- Another name -------------------------------------------------------- */

/* The name under the cursor, if it may have another: it is the user's, and what
 * it means is known of the text as it is. */
static const Use *renamed(Server *s, const json_t *params, Document **d,
                          Failure *f) {
  size_t offset;
  Analysis *a;
  Declared at;
  if (!(*d = place_of(s, params, &offset, f))) return NULL;
  if (!(*d)->now || !(*d)->now->whole) {
    fail(f, FAIL_REFUSED,
         "a new name is checked: mend the text's errors first");
    return NULL;
  }
  const Use *use = use_at(*d, offset, &a);
  if (use && declared(a, name_declaration(use), &at)) return use;
  fail(f, FAIL_REFUSED,
       use ? "this name is not declared in your texts" : "no name stands here");
  return NULL;
}

json_t *serve_prepare_rename(Server *s, const json_t *params, Failure *f) {
  Document *d;
  size_t lo, hi;
  const Use *use = renamed(s, params, &d, f);
  if (!use || !analysis_offset(d->now, use->span, &lo, &hi)) return NULL;
  const char *text = strbuf_text(&d->text.bytes) + lo;
  return json_pack("{soss%}", "range", text_range(&d->text, lo, hi),
                   "placeholder", text, hi - lo);
}

/* What a rename replaces: the places, by texts and from the first to the
 * last. */
typedef struct Renaming {
  Search search;
  const char *name; /* with its sigil */
  size_t from;      /* in search.out: where the text at hand begins */
} Renaming;

static void add_edit(Search *q, const Analysis *a, const Use *use) {
  Renaming *r = (Renaming *)q;
  json_t *place = location(q->server, a, use->span);
  const char *uri = json_string_value(json_object_get(place, "uri"));
  json_t *edits = json_object_get(q->out, uri), *other;
  json_t *edit = json_pack("{sOss}", "range", json_object_get(place, "range"),
                           "newText", r->name);
  if (!edits) json_object_set_new(q->out, uri, edits = json_array());
  size_t i;
  bool known = false;
  json_array_foreach(edits, i, other) known |= json_equal(other, edit);
  if (!known) json_array_append(edits, edit);
  json_decref(edit);
  json_decref(place);
}

/* The text with the edits, which go from the first place to the last. */
static void apply(const Document *d, const json_t *edits, Text *out) {
  text_set(out, strbuf_text(&d->text.bytes), d->text.bytes.len);
  for (size_t i = json_array_size(edits); i-- > 0;) {
    const json_t *edit = json_array_get(edits, i);
    const char *name = json_string_value(json_object_get(edit, "newText"));
    size_t lo, hi;
    if (text_find_range(&d->text, json_object_get(edit, "range"), &lo, &hi))
      text_replace(out, lo, hi, name, strlen(name));
  }
}

/* Maps each thing that the text declares to the number, from 1, of the use that
 * declares it. */
static void find_declaring(const Analysis *a, PtrMap *declaring) {
  for (size_t i = 0; i < a->uses.len; i++) {
    const Use *use = &a->uses.data[i];
    if (use->declares && !ptrmap_has(declaring, use->what))
      ptrmap_put(declaring, use->what, (void *)(uintptr_t)(i + 1));
  }
}

/* Does every name still mean what it did?  A name that was in use already would
 * capture others, and the text might check nevertheless. */
static bool same_meanings(Mem *mem, const Analysis *before,
                          const Analysis *after) {
  PtrMap was, is;
  ptrmap_init(&was, mem);
  ptrmap_init(&is, mem);
  find_declaring(before, &was);
  find_declaring(after, &is);
  bool same = before->uses.len == after->uses.len;
  for (size_t i = 0; same && i < before->uses.len; i++) {
    const Use *x = &before->uses.data[i], *y = &after->uses.data[i];
    same = x->kind == y->kind && x->declares == y->declares &&
           ptrmap_get(&was, x->what) == ptrmap_get(&is, y->what);
  }
  same &= !mem_exhausted(mem);
  ptrmap_done(&was);
  ptrmap_done(&is);
  return same;
}

static bool still_checks(Server *s, const Document *d, const json_t *edits) {
  Text text;
  text_init(&text, &s->mem, s->utf8);
  apply(d, edits, &text);
  Analysis *after = analysis_of(&s->options, d->path, strbuf_text(&text.bytes),
                                text.bytes.len);
  bool same = after && same_meanings(&s->mem, d->now, after);
  analysis_drop(after);
  text_done(&text);
  return same;
}

/* A name with the sigil that the old one has, whether it was typed or not. */
static bool new_name(const Use *use, const char *typed, char out[128]) {
  const char *sigil = use->kind == NAME_VAR      ? "%"
                      : use->kind == NAME_GLOBAL ? global_sigil(use->what)
                                                 : "";
  size_t skip = *sigil && *typed == *sigil;
  const char *name = typed + skip;
  bool is_name = *name && !(*name >= '0' && *name <= '9');
  for (const char *c = name; *c; c++)
    is_name &= (*c >= '0' && *c <= '9') || *c == '_' ||
               ((*c | 32) >= 'a' && (*c | 32) <= 'z');
  return snprintf(out, 128, "%s%s", sigil, name) < 128 && is_name;
}

json_t *serve_rename(Server *s, const json_t *params, Failure *f) {
  Document *d;
  char name[128];
  const Use *use = renamed(s, params, &d, f);
  const char *typed = json_string_value(json_object_get(params, "newName"));
  if (!use) return NULL;
  if (!typed || !new_name(use, typed, name))
    return fail(f, FAIL_PARAMS, "`%.60s` is no name", typed ? typed : "");
  Renaming r = {.search = {.server = s,
                           .visit = add_edit,
                           .declarations = true,
                           .out = json_object()},
                .name = name};
  if (begin_search(&r.search, d->now, use)) search_all(&r.search, d);
  const char *uri;
  json_t *edits;
  json_object_foreach(r.search.out, uri, edits) {
    Document *changed = s->documents;
    while (changed && strcmp(changed->uri, uri)) changed = changed->next;
    if (!changed || !changed->now || !changed->now->whole) continue;
    if (changed->good != changed->now || still_checks(s, changed, edits))
      continue;
    json_decref(r.search.out);
    return fail(f, FAIL_REFUSED,
                "with the name %s the program would be wrong, or another",
                name);
  }
  return json_pack("{so}", "changes", r.search.out);
}
