/* Expressions of any type: variables in scope, the productions for every type
 * (branches, blocks, matches, calls, projections, reads), and those of its own.
 *
 * Generation is directed by types, as in Palka et al., "Testing an optimising
 * compiler by generating random lambda terms" (2011): to make an expression of
 * type t, choose a production that can give a t, and make its parts of the
 * types that it needs.  So programs are well typed by construction, but for
 * inference, which may find less than the generator knows.
 *
 * Size is bounded by a budget of nodes, which each expression hands on to its
 * parts, and by depth.  At the end of either there is a leaf: a variable, a
 * literal, or the plainest value of the type. */
#include "fuzz/gen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"

enum { DEPTH_MAX = 14, LEAF_DEPTH = 18 };

/* --- Chance -------------------------------------------------------------- */

/* Not rand(), which differs from system to system: a seed that was reported on
 * one machine has to give the same program on another. */
uint64_t gen_next(Gen *g) { return splitmix64(&g->random); }

/* Chooses by weight, and again where the production does not apply; NULL after
 * twelve tries, then a leaf serves.  Asking each production first whether it
 * applies would need the same tests twice, and they would come to differ. */
GenNode *gen_pick(Gen *g, const GenType *t, const GenRow *rows, size_t count) {
  int total = 0;
  for (size_t i = 0; i < count; i++) total += rows[i].weight;
  GenNode *made = NULL;
  for (int tries = 0; tries < 12 && !made; tries++) {
    int at = gen_below(g, total);
    const GenRow *row = rows;
    while (at >= row->weight) at -= row++->weight;
    made = row->make(g, t);
  }
  return made;
}

/* --- Nodes -------------------------------------------------------------- */

/* The list's nodes are copied, so the list may be on the stack. */
GenNode *gen_node_of(Gen *g, const GenType *t, const char *text,
                     const GenList *children) {
  GenNode *n = ARENA_NEW(g->arena, GenNode);
  n->type = t;
  n->text = text;
  n->count = children->count;
  n->children = arena_copy(g->arena, children->items,
                           sizeof(GenNode *) * (size_t)children->count);
  return n;
}

GenNode *gen_node(Gen *g, const GenType *t, const char *text, int count, ...) {
  GenList children = {0};
  va_list args;
  va_start(args, count);
  for (int i = 0; i < count; i++) gen_add(&children, va_arg(args, GenNode *));
  va_end(args);
  return gen_node_of(g, t, text, &children);
}

char *gen_textf(Gen *g, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = arena_vprintf(g->arena, format, args);
  va_end(args);
  return text;
}

const char *gen_name(Gen *g, const char *prefix) {
  return gen_textf(g, "%s%d", prefix, g->next_name++);
}

const char *gen_type_name(Gen *g, const GenType *t) {
  StrBuf text;
  strbuf_init(&text, g->mem);
  gen_type_text(&text, t);
  const char *name = gen_textf(g, "%s", strbuf_text(&text));
  strbuf_done(&text);
  return name;
}

/* --- Scope -------------------------------------------------------------- */

size_t gen_mark(const Gen *g) { return g->vars.len; }
void gen_bind(Gen *g, GenVar v) { VEC_PUSH(&g->vars, v); }
void gen_unbind(Gen *g, size_t mark) { g->vars.len = mark; }

/* A later variable of the same name shadows it. */
static bool is_hidden(const Gen *g, size_t i) {
  for (size_t k = i + 1; k < g->vars.len; k++)
    if (!strcmp(g->vars.data[k].text, g->vars.data[i].text)) return true;
  return false;
}

/* Polymorphic ones at an instance. */
static bool serves(const GenVar *v, const GenType *t) {
  const GenType *to[GEN_PARAMS] = {NULL};
  return gen_unify(v->type, t, to);
}

/* Can a call of this give a `t`? */
static bool can_call(const Gen *g, const GenVar *v, const GenType *t) {
  const GenType *to[GEN_PARAMS] = {NULL};
  if (v->type->kind != G_FN || (v->once && g->calls <= 0)) return false;
  return gen_unify(v->type->args[v->type->count - 1], t, to);
}

typedef bool (*Suits)(const Gen *g, const GenVar *v, const GenType *t);

static bool suits_as_value(const Gen *g, const GenVar *v, const GenType *t) {
  (void)g;
  return serves(v, t);
}

/* A random one of the variables that suit; NULL when none does.  Reservoir
 * sampling: the n-th that suits is taken with probability 1/n, so all are
 * equally likely after one pass. */
static const GenVar *choose(Gen *g, const GenType *t, Suits suits) {
  const GenVar *chosen = NULL;
  int found = 0;
  for (size_t i = 0; i < g->vars.len; i++) {
    const GenVar *v = &g->vars.data[i];
    if (!suits(g, v, t) || is_hidden(g, i)) continue;
    if (gen_below(g, ++found) == 0) chosen = v;
  }
  return chosen;
}

/* A polymorphic one needs no mark: the checker finds the instance. */
static GenNode *make_variable(Gen *g, const GenType *t) {
  const GenVar *v = choose(g, t, suits_as_value);
  return v ? gen_node(g, t, v->text, 0) : NULL;
}

/* --- Calls -------------------------------------------------------------- */

/* The result's type decides some of the type parameters; the others are chosen.
 * `chosen` is copied, as making arguments may move the vector. */
GenNode *gen_call(Gen *g, const GenType *t) {
  const GenVar *chosen = choose(g, t, can_call);
  if (!chosen) return NULL;
  GenVar v = *chosen;
  const GenType *to[GEN_PARAMS] = {NULL}, *fn = v.type;
  gen_unify(fn->args[fn->count - 1], t, to);
  for (int i = 0; i < v.params; i++)
    if (!to[i]) to[i] = gen_random_type(g, 1);
  g->calls -= v.once;
  GenList args = {0};
  char *text = gen_textf(g, "%s(%s", v.text, v.fuel ? v.fuel : "");
  for (int i = v.fuel ? 1 : 0; i + 1 < fn->count; i++) {
    gen_add(&args, gen_expr(g, gen_substitute(g->arena, fn->args[i], to)));
    text = gen_textf(g, "%s%s$", text, i ? ", " : "");
  }
  return gen_node_of(g, t, gen_textf(g, "%s)", text), &args);
}

/* --- Functions ---------------------------------------------------------- */

/* Sometimes leaves an annotation to inference.  Not often, for a type may then
 * not be inferred at all (generate.h). */
static char *parameters(Gen *g, const GenType *t) {
  char *text = gen_textf(g, "%s", "");
  bool annotated = gen_chance(g, 95) || g->annotates;
  for (int i = 0; i + 1 < t->count; i++) {
    const char *name = gen_name(g, "%a");
    const char *type = gen_type_name(g, t->args[i]);
    text = gen_textf(g, "%s%s%s%s%s", text, i ? ", " : "", name,
                     annotated ? ": " : "", annotated ? type : "");
    gen_bind(g, (GenVar){.text = name, .type = t->args[i]});
  }
  return text;
}

/* It sees all that is in scope around it, so most are closures. */
GenNode *gen_fn(Gen *g, const GenType *t) {
  const GenType *result = t->args[t->count - 1];
  size_t mark = gen_mark(g);
  char *params = parameters(g, t);
  GenNode *body = gen_body(g, result);
  gen_unbind(g, mark);
  const char *type = gen_chance(g, 50) ? gen_type_name(g, result) : NULL;
  return gen_node(g, t,
                  gen_textf(g, "fn (%s)%s%s {\n$ }", params, type ? " -> " : "",
                            type ? type : ""),
                  1, body);
}

/* (fn (...) { ... })(...)  So a value gets into a function at once, which the
 * compiler may see through. */
static GenNode *make_applied(Gen *g, const GenType *t) {
  const GenType *args[] = {gen_random_type(g, 1), gen_random_type(g, 1), t};
  const GenType *fn = gen_compound(g->arena, G_FN, 3, args);
  GenNode *a = gen_expr(g, args[0]), *b = gen_expr(g, args[1]);
  return gen_node(g, t, "($)($, $)", 3, gen_fn(g, fn), a, b);
}

/* --- What every type has ------------------------------------------------ */

/* Both branches are bodies, so bindings end at their braces. */
GenNode *gen_if(Gen *g, const GenType *t) {
  GenNode *c = gen_expr(g, gen_scalar(g->arena, "bool"));
  GenNode *a = gen_body(g, t), *b = gen_body(g, t);
  return gen_node(g, t, "if ($) {\n$ } else {\n$ }", 3, c, a, b);
}

/* In braces or in parentheses, which both open a scope. */
static GenNode *make_block(Gen *g, const GenType *t) {
  return gen_node(g, t, gen_chance(g, 50) ? "{ $ }" : "($)", 1, gen_body(g, t));
}

/* Out of a tuple of two or three, at a random place. */
static GenNode *make_projection(Gen *g, const GenType *t) {
  const GenType *fields[3];
  int count = 2 + gen_below(g, 2), at = gen_below(g, count);
  for (int i = 0; i < count; i++)
    fields[i] = i == at ? t : gen_random_type(g, 1);
  GenNode *tuple = gen_expr(g, gen_compound(g->arena, G_TUPLE, count, fields));
  return gen_node(g, t, gen_textf(g, "($).%d", at), 1, tuple);
}

/* The cell is an expression like any other: mostly a variable, else one that is
 * made, read and lost. */
static GenNode *make_read(Gen *g, const GenType *t) {
  GenNode *ref = gen_expr(g, gen_compound(g->arena, G_REF, 1, &t));
  return gen_node(g, t, "ref_read($)", 1, ref);
}

/* Rare: what follows it is never reached. */
static GenNode *make_fail(Gen *g, const GenType *t) {
  if (!gen_chance(g, 2)) return NULL;
  const char *text = gen_textf(g, "fail(message=\"%s\")", gen_name(g, "f"));
  return gen_node(g, t, gen_ascribed(g->arena, t, text), 0);
}

/* --- What is a type's own ----------------------------------------------- */

static GenNode *make_tuple(Gen *g, const GenType *t) {
  static const char *const texts[] = {
      "()", "($,)", "($, $)", "($, $, $)", "($, $, $, $)", "($, $, $, $, $)"};
  GenList fields = {0};
  for (int i = 0; i < t->count; i++) gen_add(&fields, gen_expr(g, t->args[i]));
  return gen_node_of(g, t, texts[t->count], &fields);
}

/* Prefers the last constructor, which may be recursive.  The first constructor
 * is not recursive (tree.h), so values end. */
static GenNode *make_data(Gen *g, const GenType *t) {
  int which = gen_below(g, t->adt->count);
  if (gen_chance(g, 50)) which = t->adt->count - 1;
  const GenCtor *c = &t->adt->ctors[which];
  GenList fields = {0};
  for (int i = 0; i < c->count; i++)
    gen_add(&fields, gen_expr(g, gen_field(g, c, i, t)));
  return gen_node_of(g, t, gen_ctor_text(g->arena, t, c), &fields);
}

/* A constructor of exactly this type, as a function. */
static GenNode *make_ctor_value(Gen *g, const GenType *t) {
  const GenType *result = t->args[t->count - 1];
  if (result->kind != G_ADT) return NULL;
  for (int i = 0; i < result->adt->count; i++) {
    const GenCtor *c = &result->adt->ctors[i];
    bool fits = c->count > 0 && c->count == t->count - 1;
    for (int k = 0; fits && k < c->count; k++)
      fits = gen_same(gen_field(g, c, k, result), t->args[k]);
    if (fits) return gen_node(g, t, c->name, 0);
  }
  return NULL;
}

/* A rigid type parameter has no values of its own: only variables. */
static GenNode *make_own(Gen *g, const GenType *t) {
  switch (t->kind) {
    case G_TENSOR: return gen_tensor(g, t);
    case G_TUPLE: return make_tuple(g, t);
    case G_REF: return gen_node(g, t, "ref($)", 1, gen_expr(g, t->args[0]));
    case G_ADT: return make_data(g, t);
    case G_FN: {
      GenNode *ctor = gen_chance(g, 40) ? make_ctor_value(g, t) : NULL;
      return ctor ? ctor : gen_fn(g, t);
    }
    default: return NULL;
  }
}

/* --- All ---------------------------------------------------------------- */

static const GenRow rows[] = {
    {30, make_variable}, {34, make_own}, {7, gen_if},          {7, make_block},
    {6, gen_match},      {12, gen_call}, {3, make_projection}, {3, make_read},
    {3, make_applied},   {2, make_fail},
};

/* A constructor applied to leaves.  Recursion ends by chance.  LEAF_DEPTH is
 * deeper than DEPTH_MAX, so leaves may still nest a little. */
static GenNode *leaf_data(Gen *g, const GenType *t) {
  const GenCtor *c = &t->adt->ctors[gen_below(g, t->adt->count)];
  GenList fields = {0};
  g->depth++;
  for (int i = 0; i < c->count; i++)
    gen_add(&fields, gen_leaf(g, gen_field(g, c, i, t)));
  g->depth--;
  return gen_node_of(g, t, gen_ctor_text(g->arena, t, c), &fields);
}

/* What serves when the budget or the depth is used up; it needs no budget
 * itself.  A variable is preferred: a program of literals computes nothing that
 * depends on anything. */
GenNode *gen_leaf(Gen *g, const GenType *t) {
  bool named = gen_chance(g, 70) || t->kind == G_RIGID;
  GenNode *v = named ? make_variable(g, t) : NULL;
  if (v) return v;
  if (t->kind == G_TENSOR) return gen_literal(g, t);
  if (t->kind == G_ADT && g->depth < LEAF_DEPTH) return leaf_data(g, t);
  return gen_plain(g->arena, t);
}

/* A third is kept at each level; without that, the first operand of the first
 * operator would use up the whole budget, and its neighbour be a leaf. */
GenNode *gen_expr(Gen *g, const GenType *t) {
  if (g->budget <= 0 || g->depth >= DEPTH_MAX) return gen_leaf(g, t);
  /* Keeps a third of the budget for what follows this expression. */
  int kept = g->budget / 3, forced = g->forced;
  g->budget -= kept + 1;
  g->forced = 0;
  g->depth++;
  GenNode *n = gen_pick(g, t, rows, sizeof rows / sizeof *rows);
  g->depth--;
  g->budget += kept;
  g->forced = forced;
  return n ? n : gen_leaf(g, t);
}
