/* What an answer to an exercise may be made of.
 *
 * A page's block `rly allowed` lists words: operators, library functions
 * (`@map`) and the words `if`, `match`, `ref`, `ref_read`, `ref_write`, `grad`.
 * What is written by signs is always allowed, as are numbers, names of the
 * answer's own, constructors and attributes. A function that calls itself needs
 * the word `recursion`. Without such a block all is allowed.
 *
 * The answer is looked at as it was parsed, so that `a + b` is a sign, and
 * `add(a, b)` an operator that has to be listed. */
#include <stdio.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/lesson.h"

typedef struct Look {
  Part list;        /* the words */
  const Unit *unit; /* the answer */
  int item;         /* the one that is looked at */
  char **why;       /* set when something is not allowed */
} Look;

/* `sigil` stands before the word in the list: "@" or nothing. */
static bool is_listed(const Look *l, const char *sigil, const char *word) {
  size_t lead = strlen(sigil), size = lead + strlen(word), at = 0;
  while (at < l->list.len) {
    const char *text = l->list.text + at;
    size_t n = 0;
    while (at + n < l->list.len && !strchr(" \n", text[n])) n++;
    if (n == size && !memcmp(text, sigil, lead) &&
        !memcmp(text + lead, word, n - lead))
      return true;
    at += n + 1;
  }
  return false;
}

static bool listed_or_refuse(const Look *l, const char *sigil,
                             const char *word) {
  if (is_listed(l, sigil, word)) return true;
  if (asprintf(l->why, "`%s%s` is not among the words that are allowed", sigil,
               word) < 0)
    *l->why = NULL;
  return false;
}

static bool loop_or_refuse(const Look *l, const char *sigil, const char *name) {
  if (is_listed(l, "", "recursion")) return true;
  if (asprintf(l->why, "`%s%s` calls itself, which is not allowed", sigil,
               name) < 0)
    *l->why = NULL;
  return false;
}

/* A function of the answer may call those above it. */
static bool global_is_allowed(const Look *l, const char *name) {
  for (int i = 0; i < l->unit->item_count; i++) {
    const Item *item = &l->unit->items[i];
    if (item->kind != ITEM_DEF || strcmp(item->name->text, name)) continue;
    return i < l->item || loop_or_refuse(l, "@", name);
  }
  return listed_or_refuse(l, "@", name);
}

/* Does the function use the name, which a let gives it? */
static bool uses_itself(Mem *mem, const Expr *fn, const Name *name) {
  ExprWalk w;
  int hidden = 0; /* by how many variables of that name */
  bool found = false;
  expr_walk_start(&w, mem, WALK_ENTER | WALK_BIND | WALK_UNBIND, fn);
  while (!found && expr_walk_next(&w)) {
    bool same = w.event != WALK_ENTER && w.var && w.var->name == name;
    if (same) hidden += w.event == WALK_BIND ? 1 : -1;
    if (w.event == WALK_ENTER)
      found = !hidden && w.at->kind == EX_LOCAL && w.at->name == name;
  }
  return expr_walk_end(&w) && found;
}

/* A let of a function sees itself, and so do those of a group each other. */
static bool lets_are_allowed(const Look *l, Mem *mem, const Block *b) {
  for (int i = 0, first = 0; i < b->count; i++) {
    const Binding *own = &b->bindings[i];
    if (own->kind != BIND_AND) first = i;
    if (!own->value || own->value->kind != EX_FN) continue;
    for (int k = first;
         k < b->count && (k <= i || b->bindings[k].kind == BIND_AND); k++)
      if (b->bindings[k].var &&
          uses_itself(mem, own->value, b->bindings[k].var->name))
        return loop_or_refuse(l, "%", b->bindings[k].var->name->text);
  }
  return true;
}

/* Is it the callee of a call that was written as a sign? */
static bool is_sign(const Expr *parent, WalkRole role) {
  return parent && role == ROLE_CALLEE &&
         (parent->sugar == SUGAR_INFIX || parent->sugar == SUGAR_NEGATE ||
          parent->sugar == SUGAR_NOT);
}

static bool node_is_allowed(const Look *l, const ExprWalk *w) {
  const Expr *e = w->at;
  bool dyn;
  switch (e->kind) {
    case EX_GLOBAL: return global_is_allowed(l, e->g.name->text);
    case EX_IDENT:
      return op_find(e->name->text, &dyn) == OP_COUNT ||
             is_sign(w->parent, w->role) ||
             listed_or_refuse(l, "", e->name->text);
    case EX_IF:
      return e->sugar == SUGAR_AND || e->sugar == SUGAR_OR ||
             listed_or_refuse(l, "", "if");
    case EX_MATCH: return listed_or_refuse(l, "", "match");
    case EX_REF: return listed_or_refuse(l, "", "ref");
    case EX_READ: return listed_or_refuse(l, "", "ref_read");
    case EX_WRITE: return listed_or_refuse(l, "", "ref_write");
    case EX_BLOCK: return lets_are_allowed(l, w->mem, e->block);
    default: return true;
  }
}

static bool item_is_allowed(const Look *l, Mem *mem) {
  ExprWalk w;
  bool allowed = true;
  expr_walk_start(&w, mem, WALK_ENTER, l->unit->items[l->item].expr);
  while (allowed && expr_walk_next(&w)) allowed = node_is_allowed(l, &w);
  return expr_walk_end(&w) && allowed;
}

bool exercise_allows(Host *h, const Exercise *e, Part answer, char **why) {
  *why = NULL;
  if (!e->allowed.text) return true;
  rly_program *p = rly_program_new(h->cx);
  const Unit *unit =
      p ? program_parse_text(p, "<answer>", answer.text, answer.len) : NULL;
  Look l = {.list = e->allowed, .unit = unit, .why = why};
  bool allowed = unit != NULL;
  for (; allowed && l.item < unit->item_count; l.item++)
    if (unit->items[l.item].expr) allowed = item_is_allowed(&l, p->ir->mem);
  rly_program_free(p);
  rly_diagnostics_clear(h->cx);
  return allowed;
}
