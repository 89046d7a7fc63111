/* Where the parts of a document stood in the text that it was made of.
 *
 * The document becomes a text, which is parsed; so what the parser makes has
 * the places of that text.  The tree that was read and the tree that was parsed
 * are the same program: walked in one order they meet the same nodes, and each
 * node's span becomes the origin of its place (SourceOrigin, base/source.h). An
 * item whose trees differ keeps the places before the difference. */
#include <string.h>

#include "data/json_read.h"
#include "ir/walk.h"

enum { ITEM = -1, PART = -2 }; /* in the place of a kind */

/* Of an item, then of its nodes in the order of the walk, each followed by
 * those of its parts that are no nodes: parameters, bindings, arms; and
 * constructors, of an item. */
typedef struct Entry {
  int kind;
  SourceOrigin origin; /* `path` is NULL: the document does not say */
  size_t end;          /* of the entries of the node and of what is in it */
} Entry;

struct JsonPlaces {
  Mem *mem;
  Arena arena; /* of the paths */
  VEC(Entry) entries;
};

/* --- Of the document ------------------------------------------------------ */

/* A path is shown as it stands: one that a terminal would not show is none. */
static bool is_shown(const char *path) {
  size_t len = strlen(path);
  if (!len || utf8_check(path, len) != len) return false;
  for (; *path; path++)
    if ((unsigned char)*path < ' ' || *path == 0x7F) return false;
  return true;
}

static const char **read_paths(const Reader *r, JsonPlaces *places) {
  const json_t *files = json_object_get(r->document, "files");
  size_t n = json_array_size(files);
  const char **paths = ARENA_ARRAY(&places->arena, const char *, n);
  for (size_t i = 0; paths && i < n; i++) {
    const json_t *path = json_object_get(json_array_get(files, i), "path");
    const char *text = json_string_value(path);
    if (text && is_shown(text))
      paths[i] = arena_strndup(&places->arena, text, strlen(text));
  }
  return paths;
}

/* A member of a span; 0: it is none. */
static uint32_t number(const json_t *span, size_t i) {
  json_int_t n = json_integer_value(json_array_get(span, i));
  return n > 0 && n < UINT32_MAX ? (uint32_t)n : 0;
}

static SourceOrigin origin_of(const Reader *r, const char *const *paths,
                              const json_t *row) {
  const json_t *span = json_object_get(row, "span");
  const json_t *files = json_object_get(r->document, "files");
  size_t file = number(span, 0);
  if (json_array_size(span) != 5 || file >= json_array_size(files))
    return (SourceOrigin){0};
  SourceOrigin o = {.path = paths[file],
                    .line = number(span, 1),
                    .column = number(span, 2),
                    .end_line = number(span, 3),
                    .end_column = number(span, 4)};
  return o.line && o.column ? o : (SourceOrigin){0};
}

typedef struct Collect {
  const Reader *r;
  JsonPlaces *places;
  const char *const *paths;
  PtrMap rows;      /* node -> its row in the document */
  PtrMap lists;     /* nodes that the text has no node for */
  VEC(size_t) open; /* entries of the nodes around */
} Collect;

/* An attribute that is a list of computed values is, as a node, a `stack` of a
 * tuple; the parser has its elements as parts of the attribute. */
static bool is_list(Collect *c, const ExprWalk *w) {
  bool inside = w->parent && ptrmap_has(&c->lists, w->parent);
  bool call = w->at->kind == EX_CALL && w->at->sugar == SUGAR_LIST;
  bool part = inside && w->parent->kind == EX_CALL; /* its tuple, its callee */
  if (!part && !(call && (inside || w->role == ROLE_ATTR))) return false;
  ptrmap_put(&c->lists, w->at, c);
  return true;
}

static void add_entry(Collect *c, int kind, const json_t *row) {
  size_t next = c->places->entries.len + 1;
  SourceOrigin o = origin_of(c->r, c->paths, row);
  VEC_PUSH(&c->places->entries, (Entry){kind, o, next});
}

static void add_parts(Collect *c, const json_t *parts) {
  for (size_t i = 0; i < json_array_size(parts); i++)
    add_entry(c, PART, json_array_get(parts, i));
}

static void collect_item(Collect *c, const json_t *row, const Expr *e) {
  add_entry(c, ITEM, row);
  add_parts(c, json_object_get(row, "constructors"));
  ExprWalk w;
  expr_walk_start(&w, c->r->mem, WALK_ENTER | WALK_LEAVE, e);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER ? is_list(c, &w) : ptrmap_has(&c->lists, w.at))
      continue;
    if (w.event == WALK_ENTER) {
      row = ptrmap_get(&c->rows, w.at);
      VEC_PUSH(&c->open, c->places->entries.len);
      add_entry(c, (int)w.at->kind, row);
      if (w.at->kind == EX_FN) add_parts(c, json_object_get(row, "params"));
      if (w.at->kind == EX_BLOCK)
        add_parts(c, json_object_get(row, "bindings"));
      if (w.at->kind == EX_MATCH) add_parts(c, json_object_get(row, "arms"));
    } else if (c->open.len && !mem_exhausted(c->r->mem)) {
      size_t at = VEC_POP(&c->open);
      c->places->entries.data[at].end = c->places->entries.len;
    }
  }
  expr_walk_end(&w);
}

JsonPlaces *json_places_of(Reader *r, const Unit *read) {
  JsonPlaces *places = mem_alloc(r->mem, sizeof *places);
  if (!places) return NULL;
  *places = (JsonPlaces){.mem = r->mem};
  arena_init(&places->arena, r->mem);
  VEC_INIT(&places->entries, r->mem);
  Collect c = {.r = r, .places = places, .paths = read_paths(r, places)};
  const json_t *nodes = json_object_get(r->document, "nodes");
  const json_t *items = json_object_get(r->document, "items");
  ptrmap_init(&c.rows, r->mem);
  ptrmap_init(&c.lists, r->mem);
  VEC_INIT(&c.open, r->mem);
  for (size_t i = 0; c.paths && i < r->read; i++)
    ptrmap_put(&c.rows, r->nodes[i], json_array_get(nodes, i));
  for (int i = 0; c.paths && i < read->item_count; i++)
    collect_item(&c, json_array_get(items, (size_t)i), read->items[i].expr);
  VEC_DONE(&c.open);
  ptrmap_done(&c.rows);
  ptrmap_done(&c.lists);
  return places;
}

void json_places_free(JsonPlaces *places) {
  if (!places) return;
  VEC_DONE(&places->entries);
  arena_done(&places->arena);
  mem_free(places->mem, places, sizeof *places);
}

/* --- Of the parsed text --------------------------------------------------- */

typedef VEC(SourceOrigin) Origins;

static void add_origin(Origins *out, const SourceFile *source, Span span,
                       SourceOrigin o) {
  if (!o.path || !span_exists(span)) return;
  o.lo = span.lo - source->base;
  o.hi = span.hi - source->base;
  VEC_PUSH(out, o);
}

/* The parts of a node that are no nodes; `i` of them is at hand. */
static int part_count(const Expr *e) {
  switch (e->kind) {
    case EX_FN: return e->fn->param_count;
    case EX_BLOCK: return e->block->count;
    case EX_MATCH: return e->match->arm_count;
    default: return 0;
  }
}

static Span part_span(const Expr *e, int i) {
  switch (e->kind) {
    case EX_FN: return e->fn->params[i]->span;
    case EX_BLOCK: return e->block->bindings[i].span;
    default: return e->match->arms[i].span;
  }
}

static size_t parts_end(const JsonPlaces *places, size_t at) {
  while (at < places->entries.len && places->entries.data[at].kind == PART)
    at++;
  return at;
}

/* Adds an origin for each part of `e`, if the entries from `at` on are as many.
 * Returns the index after them. */
static size_t add_node_parts(const JsonPlaces *places, size_t at, const Expr *e,
                             const SourceFile *source, Origins *out) {
  size_t end = parts_end(places, at);
  int count = part_count(e);
  for (int i = 0; i < count && end - at == (size_t)count; i++)
    add_origin(out, source, part_span(e, i),
               places->entries.data[at + (size_t)i].origin);
  return end;
}

/* The same of an item's constructors. */
static size_t add_ctors(const JsonPlaces *places, size_t at, const Item *item,
                        const SourceFile *source, Origins *out) {
  size_t end = parts_end(places, at);
  int count = item->adt ? item->adt->ctor_count : 0;
  for (int i = 0; i < count && end - at == (size_t)count; i++)
    add_origin(out, source, item->adt->ctors[i].span,
               places->entries.data[at + (size_t)i].origin);
  return end;
}

/* A node that is written as one of another kind, as a constant of several
 * elements is, has its place; what is in it has not. */
static void add_nodes(const JsonPlaces *places, size_t at, const Expr *root,
                      const SourceFile *source, Origins *out) {
  ExprWalk w;
  expr_walk_start(&w, places->mem, WALK_ENTER, root);
  while (at < places->entries.len && expr_walk_next(&w)) {
    const Entry *e = &places->entries.data[at++];
    if (e->kind == ITEM || e->kind == PART) break;
    add_origin(out, source, w.at->span, e->origin);
    if (e->kind == (int)w.at->kind) {
      at = add_node_parts(places, at, w.at, source, out);
    } else {
      expr_walk_skip(&w);
      at = e->end;
    }
  }
  expr_walk_end(&w);
}

void json_places_put(Program *p, const JsonPlaces *places, const Unit *parsed) {
  if (!places) return;
  Origins origins;
  VEC_INIT(&origins, p->mem);
  size_t at = 0, count = places->entries.len;
  for (int i = 0; i < parsed->item_count && at < count; i++) {
    const Item *item = &parsed->items[i];
    add_origin(&origins, parsed->source, item->span,
               places->entries.data[at++].origin);
    at = add_ctors(places, at, item, parsed->source, &origins);
    add_nodes(places, at, item->expr, parsed->source, &origins);
    while (at < count && places->entries.data[at].kind != ITEM) at++;
  }
  if (origins.len)
    sources_set_origins(p->sources, parsed->source, origins.data, origins.len);
  VEC_DONE(&origins);
}
