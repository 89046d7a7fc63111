/* Names of locals, definitions and graph variables in plain Relay.
 *
 * TVM lets the first `let` of a chain leak out of its scope, where it hides the
 * wrong variables, so a name is bound once in a definition.  TVM's keywords are
 * no names even after a `%`, and its graph variables share one table for the
 * whole text.
 *
 *   let %x = 1; let %x = %x + 1; %x      let %x = 1; let %x_1 = %x + 1; %x_1
 *   %ref, %fc.weight                     %ref_1, %fc_weight
 *
 * `locals` maps a name of the text to its name now; leaving a scope puts back
 * what the name meant before, from the stack `hidden`.  `taken` only grows
 * within a definition, so a name is never used again, also after its scope. */
#include <string.h>

#include "passes/relay_map.h"

static const char *const keywords[] = {
    "def", "else",  "extern", "fn",       "free_var",  "if",
    "let", "match", "ref",    "ref_read", "ref_write", "type",
};

static bool is_keyword(const Name *name) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strcmp(keywords[i], name->text) == 0) return true;
  return false;
}

/* graph_count stays: numbers of graph variables are those of the whole text. */
void relay_names_reset(Relay *r) {
  PtrMap *const maps[] = {&r->locals, &r->taken, &r->suffixes, &r->dims,
                          &r->graph};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
    ptrmap_done(maps[i]);
    ptrmap_init(maps[i], r->p->mem);
  }
  VEC_CLEAR(&r->hidden);
  VEC_CLEAR(&r->hidden_dims);
  VEC_CLEAR(&r->brackets);
}

/* TVM reads `%fc.weight` as a projection.  The name is one of the table, also
 * where relay_own_name made it. */
static const Name *without_dots(Relay *r, const Name *name) {
  char *text = arena_strndup(r->arena, name->text, name->len);
  for (char *dot = text; dot && (dot = strchr(dot, '.'));) *dot = '_';
  return text ? name_of(r->p->names, text) : name;
}

/* The last suffix of each name is remembered, so that a name bound a thousand
 * times is not tried a thousand times at each. */
static const Name *fresh(Relay *r, const Name *name) {
  name = without_dots(r, name);
  const Name *made = name;
  intptr_t suffix = (intptr_t)ptrmap_get(&r->suffixes, name);
  while (is_keyword(made) || ptrmap_has(&r->taken, made)) {
    if (mem_exhausted(r->p->mem)) return name;
    made = name_of(r->p->names,
                   arena_printf(r->arena, "%s_%d", name->text, (int)++suffix));
  }
  ptrmap_put(&r->suffixes, name, (void *)suffix);
  ptrmap_put(&r->taken, made, (void *)made);
  return made;
}

/* The annotation is mapped here, too, as it belongs to the binder. */
Var *relay_bind(Relay *r, const Var *v) {
  Var *made = ARENA_NEW(r->arena, Var);
  *made = *v;
  made->name = fresh(r, v->name);
  made->annotation = relay_annotation(r, v->annotation);
  VEC_PUSH(&r->hidden,
           (Hidden){v->name, ptrmap_get(&r->locals, v->name), made});
  ptrmap_put(&r->locals, v->name, (void *)made->name);
  return made;
}

const Name *relay_local(const Relay *r, const Name *name) {
  const Name *now = ptrmap_get(&r->locals, name);
  return now ? now : name;
}

/* A copy of the name has an address of its own, and addresses are what the maps
 * compare: so it is another name that is spelt the same. */
const Name *relay_own_name(Relay *r, const char *text) {
  const Name *like = name_of(r->p->names, text);
  return arena_copy(r->arena, like, sizeof *like + like->len + 1);
}

void relay_leave(Relay *r, size_t scope) {
  while (r->hidden.len > scope) {
    Hidden h = VEC_POP(&r->hidden);
    ptrmap_put(&r->locals, h.name, h.meant);
  }
}

/* Numbers are given in the order in which the text is mapped.  Keys and values
 * are shifted by one, since the map knows no NULL. */
int64_t relay_graph(Relay *r, int64_t index) {
  const void *key = (const void *)(intptr_t)(index + 1);
  intptr_t number = (intptr_t)ptrmap_get(&r->graph, key);
  if (number == 0) {
    number = (intptr_t)++r->graph_count;
    ptrmap_put(&r->graph, key, (void *)number);
  }
  return (int64_t)number - 1;
}

static bool is_defined(const Relay *r, const Name *name) {
  return ptrmap_has(&r->by_name, name) || ptrmap_has(&r->library, name);
}

/* A definition of the text keeps its name; a library definition of that name
 * gets another. */
const Name *relay_global_name(Relay *r, const Needs *n) {
  const Name *name = n->item->name, *made = name;
  const Needs *own = ptrmap_get(&r->by_name, name);
  bool hidden = n->used && own && own != n;
  if (strchr(name->text, '.')) {
    name = made = without_dots(r, name);
    hidden = is_defined(r, made);
  }
  for (int suffix = 1; hidden || is_keyword(made); suffix++) {
    made = name_of(r->p->names,
                   arena_printf(r->arena, "%s_%d", name->text, suffix));
    hidden = is_defined(r, made);
  }
  return made;
}

const Name *relay_fresh(Relay *r, const char *name) {
  return fresh(r, name_of(r->p->names, name));
}
