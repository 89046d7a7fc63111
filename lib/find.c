/* What stands at a place of a text, for hosts that show texts.
 *
 * A name is looked for in the text's definitions as they were checked
 * (names.h), which are gone through at each question: an editor asks where
 * somebody points, not at every letter. */
#include <string.h>

#include "ir/print.h"
#include "lib/handles.h"
#include "lib/names.h"
#include "types/types.h"

/* The newest text of the path that has the place: the cells of a notebook are
 * parts of one. */
static const Unit *unit_with(rly_program *p, const char *path, unsigned line,
                             unsigned column, uint32_t *at) {
  const Unit *found = NULL;
  for (const Unit *u = p->ir->units; u; u = u->next) {
    SourceFile *f = u->source;
    uint32_t offset;
    if (!f || f->library || strcmp(f->path, path) ||
        !source_offset(f, line, column, &offset))
      continue;
    found = u;
    *at = offset;
  }
  return found;
}

/* The name as rly_program_doc takes it; it lives as long as the context. */
static const char *full_name(rly_program *p, const char *sigil,
                             const char *name) {
  StrBuf out;
  strbuf_init(&out, p->mem);
  strbuf_addf(&out, "%s%s", sigil, name);
  const Name *known =
      mem_exhausted(p->mem)
          ? NULL
          : name_intern(p->ir->names, strbuf_text(&out), out.len);
  strbuf_done(&out);
  return known ? known->text : NULL;
}

/* How its kind is told, and the definition's name. */
static void give_name(rly_program *p, const Use *use, rly_found *out) {
  const void *what = use->what;
  switch (use->kind) {
    case NAME_VAR:
      out->kind = RLY_FOUND_VARIABLE;
      out->name = full_name(p, "%", ((const Var *)what)->name->text);
      return;
    case NAME_GLOBAL:
      out->kind = RLY_FOUND_GLOBAL;
      out->name =
          full_name(p, global_sigil(what), ((const Global *)what)->name->text);
      return;
    case NAME_TYPE:
      out->kind = RLY_FOUND_TYPE;
      out->name = ((const Adt *)what)->name->text;
      return;
    case NAME_CTOR:
      out->kind = RLY_FOUND_CONSTRUCTOR;
      out->name = ((const Ctor *)what)->name->text;
      return;
    case NAME_OPERATOR:
      out->kind = RLY_FOUND_OPERATOR;
      out->name = ((const OpInfo *)what)->name;
      return;
  }
}

/* A polymorphic function where it is declared has no one type. */
static void print_type(rly_program *p, const Use *use, StrBuf *out) {
  if (use->kind == NAME_OPERATOR)
    strbuf_add(out, op_rule((const OpInfo *)use->what)->text);
  else if (use->kind == NAME_GLOBAL && (use->declares || !use->type))
    global_type_print(p->ir, use->what, out);
  else if (use->type) type_print(p->ir->types, out, use->type, TYPE_TEXT_MOST);
}

/* A declaration's span may have its sigil or not: the name as it stands there
 * is found among the names of its text. */
static Span declared_at(rly_program *p, const Use *use) {
  Span span = name_declaration(use);
  SourceFile *f = sources_file(p->ir->sources, span);
  if (!f || f->library) return span;
  for (const Unit *u = p->ir->units; u; u = u->next) {
    if (u->source != f) continue;
    Uses uses;
    VEC_INIT(&uses, p->mem);
    names_find_in(p->ir, u, &uses);
    const Use *there = names_at(&uses, span.lo);
    if (there && there->declares) span = there->span;
    VEC_DONE(&uses);
    break;
  }
  return span;
}

/* `type` receives the text of a type; it stays empty where there is none. */
static bool find(rly_program *p, const Unit *u, uint32_t at, rly_found *out,
                 StrBuf *type) {
  Uses uses;
  VEC_INIT(&uses, p->mem);
  names_find_in(p->ir, u, &uses);
  const Use *use = names_at(&uses, at);
  const Expr *e = use ? NULL : expr_at(p->ir, at);
  if (use) {
    give_name(p, use, out);
    print_type(p, use, type);
    place_give(p->cx, use->span, &out->place);
    place_give(p->cx, declared_at(p, use), &out->declared);
  } else if (e) {
    out->kind = RLY_FOUND_EXPRESSION;
    type_print(p->ir->types, type, e->type, TYPE_TEXT_MOST);
    place_give(p->cx, e->span, &out->place);
  }
  VEC_DONE(&uses);
  return use || e;
}

bool rly_program_find(rly_program *p, const char *path, unsigned line,
                      unsigned column, rly_found *out, char **type) {
  if (!require(path, "the path is NULL") ||
      !require(out, "the result is NULL") || !program_enter(p))
    return false;
  rly_found found = {0};
  StrBuf text;
  strbuf_init(&text, p->mem);
  uint32_t at;
  const Unit *u = unit_with(p, path, line, column, &at);
  bool fine = u && find(p, u, at, &found, &text);
  if (mem_exhausted(p->mem)) fine = false;
  if (fine && type) {
    *type = text.len ? text_take(p->cx, &text) : NULL;
    fine = *type || !text.len;
  } else strbuf_done(&text);
  if (fine) *out = found;
  program_failed(p, RLY_OK);
  program_leave(p);
  return fine;
}
