/* Names for the variables of resolved programs.  There identity is the Var and
 * several in scope may share a spelling, so a binder gets the first of x, x1,
 * x2, ... that is free.
 *
 *   let %x = 1; let %x = %x + 1; %x       as parsed
 *   let %x = 1; let %x1 = %x + 1; %x1     as resolved
 *
 * A name is free again where its scope ends.  A type is printed where its text
 * means that type: its names are in scope.  Names print as parsed in parsed
 * programs. */
#include <limits.h>

#include "ir/printer.h"

void printer_init(Printer *p, Mem *mem, const Program *program) {
  *p = (Printer){.mem = mem, .program = program, .type_levels = INT_MAX};
  doc_init(&p->doc, mem);
  VEC_INIT(&p->marking, mem);
  split_start(&p->stack, mem);
  VEC_INIT(&p->spine, mem);
  VEC_INIT(&p->scope, mem);
  ptrmap_init(&p->names, mem);
  ptrmap_init(&p->in_scope, mem);
  ptrmap_init(&p->suffixes, mem);
  ptrmap_init(&p->type_vars, mem);
}

void printer_done(Printer *p) {
  doc_done(&p->doc);
  split_end(&p->stack);
  VEC_DONE(&p->spine);
  VEC_DONE(&p->marking);
  VEC_DONE(&p->scope);
  ptrmap_done(&p->names);
  ptrmap_done(&p->in_scope);
  ptrmap_done(&p->suffixes);
  ptrmap_done(&p->type_vars);
}

/* The name of a binder, or the name with the suffix `n`. */
static const Name *spelling(const Printer *p, const Name *name, uintptr_t n) {
  if (n == 0) return name;
  StrBuf text;
  strbuf_init(&text, p->mem);
  strbuf_addf(&text, "%s%ju", name->text, (uintmax_t)n);
  const Name *made = name_of(p->program->names, strbuf_text(&text));
  strbuf_done(&text);
  return made;
}

/* A session's values are not copied into in_scope: each item of a checked
 * program has a printer of its own, and all of the values in its scope. */
static bool is_taken(const Printer *p, const Name *name) {
  return ptrmap_has(&p->in_scope, name) ||
         (p->beside_locals && ptrmap_has(&p->program->user.locals, name));
}

/* Suffixes only grow, so that a hundred thousand variables of one name take
 * linear time. */
static const Name *free_name(Printer *p, const Name *name) {
  const Name *found = spelling(p, name, 0);
  if (!is_taken(p, found)) return found;
  uintptr_t n = (uintptr_t)ptrmap_get(&p->suffixes, name);
  do {
    found = spelling(p, name, ++n);
  } while (is_taken(p, found) && !mem_exhausted(p->mem));
  ptrmap_put(&p->suffixes, name, (void *)n);
  return found;
}

/* A graph variable keeps its number, which is its own in the definition. */
static bool is_number(const Name *name) {
  return name->text[0] >= '0' && name->text[0] <= '9';
}

static bool keeps_number(const Printer *p, const Var *v) {
  return is_number(v->name) && (!p->lets || v->lazy);
}

static bool is_blank(const Name *name) {
  return name->text[0] == '_' && !name->text[1];
}

bool print_is_graph(const Printer *p, const Binding *b) {
  return p->resolved && b->sugar == SUGAR_GRAPH && keeps_number(p, b->var);
}

/* Named dimensions and graph variables keep their spelling: the text binds them
 * in its own way.  Of two variables of one name in a list the second has a Name
 * of its own (parser/build.c), which is spelt alike: a pass may make `let`s of
 * both, where the second would hide the first. */
void print_bind(Printer *p, const Var *v) {
  if (!p->resolved || v->is_dim || keeps_number(p, v)) return;
  const Name *like = v->name;
  if (is_number(like)) like = name_of(p->program->names, "node");
  else if (!is_blank(like)) like = name_of(p->program->names, like->text);
  const Name *name = free_name(p, like);
  ptrmap_put(&p->names, v, (void *)name);
  ptrmap_put(&p->in_scope, name, (void *)name);
  VEC_PUSH(&p->scope, name);
}

size_t print_scope(const Printer *p) { return p->scope.len; }

void print_leave(Printer *p, size_t scope) {
  while (p->scope.len > scope) ptrmap_remove(&p->in_scope, VEC_POP(&p->scope));
}

const Name *print_name_of(const Printer *p, const Var *v) {
  const Name *name = ptrmap_get(&p->names, v);
  return name ? name : v->name;
}

void print_var(Printer *p, const Var *v) {
  const char *sigil = v->is_dim ? "" : "%";
  doc_textf(&p->doc, "%s%s", sigil, print_name_of(p, v)->text);
}

/* --- Types ---------------------------------------------------------------- */

void print_bind_types(Printer *p, int count, const TypeVar *const *vars,
                      const TypeVar **hidden) {
  for (int i = 0; hidden && i < count; i++) {
    hidden[i] = ptrmap_get(&p->type_vars, vars[i]->name);
    ptrmap_put(&p->type_vars, vars[i]->name, (void *)vars[i]);
  }
}

/* Goes in the reverse order, as one name may be bound twice in a list. */
void print_leave_types(Printer *p, int count, const TypeVar *const *vars,
                       const TypeVar *const *hidden) {
  for (int i = hidden ? count : 0; i-- > 0;) {
    ptrmap_remove(&p->type_vars, vars[i]->name);
    if (hidden[i]) ptrmap_put(&p->type_vars, vars[i]->name, (void *)hidden[i]);
  }
}

/* The type of a binder is left out where it is larger or deeper. */
enum { SAID_PARTS_MOST = 1 << 14, SAID_DEPTH_MOST = 500 };

typedef struct Saying {
  Printer *p;
  bool known; /* every name means what the type means */
} Saying;

static void see_dim(void *data, const void *key, const Name *name) {
  Saying *s = data;
  s->known &= ptrmap_get(&s->p->type_vars, name) == key;
}

static bool can_say_dims(Printer *p, const Type *t) {
  Saying s = {p, true};
  for (int i = 0; i < t->rank; i++) {
    Dim d = t->dims[i];
    if (dim_is_form(d))
      dim_names(types_dims(p->program->types), d, see_dim, &s);
    else s.known &= dim_is_number(d) || dim_is_any(d);
  }
  return s.known;
}

static bool can_say(Printer *p, const Type *t, int depth);

static bool can_say_parts(Printer *p, const Type *t, int depth) {
  for (int i = 0; i < t->count; i++)
    if (!can_say(p, t->args[i], depth)) return false;
  return t->kind != TY_FN || can_say(p, t->result, depth);
}

/* A function type that declares parameters has them in scope. */
static bool can_say_fn(Printer *p, const Type *t, int depth) {
  const TypeVar **hidden =
      ARENA_ARRAY(&p->doc.arena, const TypeVar *, (size_t)t->param_count);
  print_bind_types(p, t->param_count, t->params, hidden);
  bool said = hidden && can_say_parts(p, t, depth);
  print_leave_types(p, t->param_count, t->params, hidden);
  return said;
}

/* The error type and inference variables have no text that would be read as
 * them. */
static bool can_say(Printer *p, const Type *t, int depth) {
  if (depth > SAID_DEPTH_MOST) return false;
  switch (t->kind) {
    case TY_DIM:
    case TY_TENSOR: return can_say_dims(p, t);
    case TY_FN: return can_say_fn(p, t, depth + 1);
    case TY_VAR: return ptrmap_get(&p->type_vars, t->var->name) == t->var;
    case TY_ADT:
      return scope_adt(&p->program->user, t->adt->name) ==
                 adt_of_text(t->adt) &&
             !ptrmap_has(&p->type_vars, t->adt->name) &&
             can_say_parts(p, t, depth + 1);
    case TY_TUPLE:
    case TY_REF: return can_say_parts(p, t, depth + 1);
    case TY_ERROR:
    case TY_META: break;
  }
  return false;
}

/* An annotation that would be read as another type, or not at all, is left out:
 * inference finds it again. */
bool print_can_say(Printer *p, const Type *t) {
  return t->size <= SAID_PARTS_MOST && can_say(p, t, 0);
}
