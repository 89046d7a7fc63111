/* Doc comments are no part of the program's tree: they are read from the text
 * above a definition, whether it is the user's or the library's.
 *
 * A definition has no field for its doc comment, which costs nothing where
 * nobody asks for it.  To find it is to walk back from the definition's first
 * byte, line by line, as long as lines begin with `///`.
 *
 * Nothing is copied: a DefinitionText points into the source map or into the
 * embedded library. */
#include "lib/doc.h"

#include <stdlib.h>
#include <string.h>

#include "ir/walk.h"
#include "rules/rule.h"
#include "stdlib/library.h"

/* --- The comment above a definition --------------------------------------- */

/* Blanks before the slashes do not count. */
static bool is_doc_line(const char *line, const char *end) {
  while (line < end && (*line == ' ' || *line == '\t')) line++;
  return end - line >= 3 && !strncmp(line, "///", 3);
}

/* Finds the lines of `///` that end right above the line of `at`.  A definition
 * that does not begin its line has none. */
static void find_doc(const char *text, const char *at, DefinitionText *out) {
  const char *end = at;
  while (end > text && (end[-1] == ' ' || end[-1] == '\t')) end--;
  const char *from = end;
  while (from > text && from[-1] == '\n') {
    const char *line = from - 1;
    while (line > text && line[-1] != '\n') line--;
    if (!is_doc_line(line, from - 1)) break;
    from = line;
  }
  out->doc = from;
  out->doc_len = (size_t)(end - from);
}

/* --- The user's definitions ---------------------------------------------- */

static bool declares_ctor(const AdtDecl *adt, const char *name) {
  for (int i = 0; i < adt->ctor_count; i++)
    if (!strcmp(adt->ctors[i].name->text, name)) return true;
  return false;
}

/* `name` has its sigil; a constructor is found by its type, which documents
 * it. */
static bool item_defines(const Item *item, const char *name) {
  bool global = *name == '@', local = *name == '%';
  switch (item->kind) {
    case ITEM_DEF:
    case ITEM_PARAM:
    case ITEM_LET_GLOBAL: return global && !strcmp(item->name->text, name + 1);
    case ITEM_LET_LOCAL: return local && !strcmp(item->name->text, name + 1);
    case ITEM_TYPE:
      return !strcmp(item->adt->name->text, name) ||
             declares_ctor(item->adt, name);
    default: return false;
  }
}

static void from_item(rly_program *p, const Unit *u, const Item *item,
                      const char *name, DefinitionText *out) {
  const SourceFile *f = u->source;
  const char *at = f->text + (item->span.lo - f->base);
  bool sigil = *name == '@' || *name == '%';
  *out = (DefinitionText){
      .sigil = *name == '@' ? "@"
               : sigil      ? "%"
                            : "",
      .name = item->adt ? item->adt->name->text : item->name->text,
      .text = at,
      .len = item->span.hi - item->span.lo,
      .path = f->path,
      .line = sources_place(p->ir->sources, item->span).line,
  };
  /* the signature alone: its host has written no body */
  size_t meaning = strlen(HOST_MEANING);
  bool host = f->host && out->len > meaning;
  if (host && !memcmp(at + out->len - meaning, HOST_MEANING, meaning))
    out->len -= meaning;
  find_doc(f->text, at, out);
}

/* All units are gone through, since the newest definition of a name is the
 * last. */
static bool find_in_units(rly_program *p, const char *name,
                          DefinitionText *out) {
  bool found = false;
  for (const Unit *u = p->ir->units; u; u = u->next) {
    if (!u->source || u->source->library) continue;
    for (int i = 0; i < u->item_count; i++) {
      if (!item_defines(&u->items[i], name)) continue;
      if (out) from_item(p, u, &u->items[i], name, out);
      found = true;
    }
  }
  return found;
}

/* --- The library's ------------------------------------------------------- */

static void from_entry(const LibraryEntry *e, DefinitionText *out) {
  LibraryFile f = library_file(e->file);
  *out = (DefinitionText){
      .sigil = e->kind == '@' ? "@" : "",
      .name = e->name,
      .text = f.text + e->offset,
      .len = e->len,
      .path = f.path,
      .line = e->lines_before + 1,
      .library = true,
  };
  find_doc(f.text, out->text, out);
}

/* The table is sorted by name, but one lookup for a person may take its
 * time. */
static bool find_in_library(const char *name, DefinitionText *out) {
  bool global = *name == '@';
  for (size_t i = 0; i < library_entry_count; i++) {
    const LibraryEntry *e = &library_entries[i];
    if (e->kind == 'G' || (e->kind == '@') != global ||
        strcmp(e->name, name + global))
      continue;
    if (out) from_entry(e, out);
    return true;
  }
  return false;
}

bool library_gradient(const char *op, DefinitionText *out) {
  for (size_t i = 0; i < library_entry_count; i++) {
    const LibraryEntry *e = &library_entries[i];
    if (e->kind != 'G' || strcmp(e->name, op)) continue;
    from_entry(e, out);
    return true;
  }
  return false;
}

/* --- What is said of an operator ------------------------------------------ */

/* An operator of a text's own, or of the table. */
typedef struct Called {
  const Global *own; /* NULL: it is one of the table */
  const OpInfo *op;  /* NULL: it is one of a text */
} Called;

static Called called_of(rly_program *p, const char *name) {
  bool dyn;
  Called c = {0};
  if (*name == '@') {
    const Scope *user = &p->ir->user;
    c.own = scope_global(user, name_of(p->ir->names, name + 1));
    if (c.own && !c.own->op) c.own = NULL;
  } else {
    OpId id = op_find(name, &dyn);
    c.op = id == OP_COUNT ? NULL : op_info(id);
  }
  return c;
}

/* Is it called by a side of the rule? */
static bool rule_calls(rly_program *p, const Item *item, Called of) {
  const Rule rule = rule_of(p->ir->mem, item);
  bool calls = false;
  ExprWalk w;
  expr_walk_start(&w, p->ir->mem, WALK_ENTER, rule.left);
  expr_walk_add(&w, rule.right);
  while (!calls && expr_walk_next(&w)) {
    const Global *own = rule_callee(w.at);
    calls =
        of.own ? own && global_of_text(own) == of.own : rule_op(w.at) == of.op;
  }
  return expr_walk_end(&w) && calls;
}

/* A gradient stands in the text that has the operator. */
static bool says_of(rly_program *p, const Item *item, Called of,
                    bool has_operator) {
  if (item->kind == ITEM_RULE) return rule_calls(p, item, of);
  return item->kind == ITEM_GRADIENT && has_operator &&
         item->name == of.own->name;
}

/* The newest text that defines the operator; NULL: it is one of the table. */
static const Unit *unit_of(const rly_program *p, Called of) {
  const Unit *found = NULL;
  for (const Unit *u = p->ir->units; u && of.own; u = u->next)
    for (int i = 0; i < u->item_count; i++)
      if (u->items[i].kind == ITEM_DEF && u->items[i].name == of.own->name)
        found = u;
  return found;
}

/* A line of the text after the other, each after `indent`. */
static void print_lines(StrBuf *out, const char *text, size_t len,
                        const char *indent) {
  const char *end = text + len;
  while (text < end) {
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    size_t n = (size_t)((line_end ? line_end : end) - text);
    if (n) strbuf_add(out, indent);
    strbuf_add_len(out, text, n);
    strbuf_add_char(out, '\n');
    text += n + 1;
  }
}

void program_print_rules(rly_program *p, StrBuf *out, const char *name,
                         const char *indent) {
  if (!program_enter(p)) return;
  Called of = called_of(p, name);
  const Unit *has = unit_of(p, of);
  for (const Unit *u = p->ir->units; u && (of.own || of.op); u = u->next) {
    if (!u->source || u->source->library) continue;
    for (int i = 0; i < u->item_count; i++) {
      DefinitionText d;
      if (!says_of(p, &u->items[i], of, u == has)) continue;
      from_item(p, u, &u->items[i], name, &d);
      print_lines(out, d.doc, d.doc_len, indent);
      print_lines(out, d.text, d.len, indent);
    }
  }
  program_leave(p);
}

/* The user's definitions go before the library's, as in the scope. */
bool program_definition_for(const char *function, rly_program *p,
                            const char *name, DefinitionText *out) {
  if (!program_enter_for(function, p)) return false;
  bool found = find_in_units(p, name, out) || find_in_library(name, out);
  program_leave(p);
  return found;
}

/* In the order of the files, in which related functions stand together. */
static int by_place(const void *a, const void *b) {
  const LibraryEntry *x = *(const LibraryEntry *const *)a;
  const LibraryEntry *y = *(const LibraryEntry *const *)b;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

/* A template's copies are files of one path, one after the other. */
static bool is_copy(const LibraryEntry *e) {
  return e->file > 0 &&
         !strcmp(library_file(e->file).path, library_file(e->file - 1u).path);
}

/* Constructors are left out, as their type's text has them, and rules of
 * operators, which are no names. */
void library_each_definition(rly_program *p, bool all,
                             void (*visit)(void *data, const DefinitionText *d),
                             void *data) {
  VEC(const LibraryEntry *) sorted;
  VEC_INIT(&sorted, p->mem);
  for (size_t i = 0; i < library_entry_count; i++) {
    const LibraryEntry *e = &library_entries[i];
    if (e->kind != 'C' && e->kind != 'G' && !library_is_template(i) &&
        (all || !is_copy(e)))
      VEC_PUSH(&sorted, e);
  }
  if (sorted.len) qsort(sorted.data, sorted.len, sizeof *sorted.data, by_place);
  for (size_t i = 0; i < sorted.len; i++) {
    DefinitionText d;
    from_entry(sorted.data[i], &d);
    visit(data, &d);
  }
  VEC_DONE(&sorted);
}

/* --- As text ------------------------------------------------------------- */

/* Takes off the slashes and one blank after them. */
void doc_print(StrBuf *out, const DefinitionText *d, const char *indent) {
  const char *end = d->doc + d->doc_len;
  for (const char *line = d->doc; line < end;) {
    size_t n = strcspn(line, "\n");
    const char *text = line + strspn(line, " \t") + 3;
    text += *text == ' ';
    size_t len = text < line + n ? (size_t)(line + n - text) : 0;
    if (len) strbuf_add(out, indent);
    strbuf_add_len(out, text, len);
    strbuf_add_char(out, '\n');
    line += n + 1;
  }
}

void definition_print_head(StrBuf *out, const DefinitionText *d) {
  size_t len = d->len;
  if (!strncmp(d->text, "def", 3)) {
    len = strcspn(d->text, "{");
    if (len > d->len) len = d->len;
  }
  while (len && strchr(" \t\r\n", d->text[len - 1])) len--;
  strbuf_add_len(out, d->text, len);
}

/* --- For hosts ------------------------------------------------------------ */

char *rly_program_doc(rly_program *p, const char *name) {
  if (!p || !name) {
    misuse(__func__, "the %s is NULL", p ? "name" : "program");
    return NULL;
  }
  DefinitionText d;
  bool dynamic, found = program_definition(p, name, &d);
  OpId op = found ? OP_COUNT : op_find(name, &dynamic);
  if (!found && op == OP_COUNT) return NULL;
  Mem mem = mem_local(&p->cx->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  if (!found) strbuf_add(&out, op_info(op)->doc);
  else {
    definition_print_head(&out, &d);
    if (d.doc_len) strbuf_add(&out, "\n\n");
    doc_print(&out, &d, "");
  }
  return text_take(p->cx, &out);
}
