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
#include "ir/printer.h"

void printer_init(Printer *p, Mem *mem, const Program *program) {
  *p = (Printer){.mem = mem, .program = program};
  doc_init(&p->doc, mem);
  split_start(&p->stack, mem);
  VEC_INIT(&p->spine, mem);
  VEC_INIT(&p->scope, mem);
  ptrmap_init(&p->names, mem);
  ptrmap_init(&p->in_scope, mem);
  ptrmap_init(&p->suffixes, mem);
}

void printer_done(Printer *p) {
  doc_done(&p->doc);
  split_end(&p->stack);
  VEC_DONE(&p->spine);
  VEC_DONE(&p->scope);
  ptrmap_done(&p->names);
  ptrmap_done(&p->in_scope);
  ptrmap_done(&p->suffixes);
}

/* The name of a binder, or the name with the suffix `n`.  The number of a graph
 * variable cannot name a let, so a letter is put before it. */
static const Name *spelling(const Printer *p, const Name *name, uintptr_t n) {
  bool digit = name->text[0] >= '0' && name->text[0] <= '9';
  if (n == 0 && !digit) return name;
  StrBuf text;
  strbuf_init(&text, p->mem);
  strbuf_addf(&text, "%s%s", digit ? "v" : "", name->text);
  if (n > 0) strbuf_addf(&text, "%s%ju", digit ? "_" : "", (uintmax_t)n);
  const Name *made = name_of(p->program->names, strbuf_text(&text));
  strbuf_done(&text);
  return made;
}

/* Suffixes only grow, so that a hundred thousand variables of one name take
 * linear time. */
static const Name *free_name(Printer *p, const Name *name) {
  const Name *found = spelling(p, name, 0);
  if (!ptrmap_has(&p->in_scope, found)) return found;
  uintptr_t n = (uintptr_t)ptrmap_get(&p->suffixes, name);
  do {
    found = spelling(p, name, ++n);
  } while (ptrmap_has(&p->in_scope, found) && !mem_exhausted(p->mem));
  ptrmap_put(&p->suffixes, name, (void *)n);
  return found;
}

void print_bind(Printer *p, const Var *v) {
  if (!p->resolved) return;
  const Name *name = free_name(p, v->name);
  ptrmap_put(&p->names, v, (void *)name);
  ptrmap_put(&p->in_scope, name, (void *)name);
  VEC_PUSH(&p->scope, name);
}

size_t print_scope(const Printer *p) { return p->scope.len; }

void print_leave(Printer *p, size_t scope) {
  while (p->scope.len > scope) ptrmap_remove(&p->in_scope, VEC_POP(&p->scope));
}

void print_var(Printer *p, const Var *v) {
  const Name *name = ptrmap_get(&p->names, v);
  doc_textf(&p->doc, "%%%s", (name ? name : v->name)->text);
}
