/* Blocks: lets, recursive functions, graph variables, effects in sequence; and
 * matches, which bind as well.
 *
 * A production makes the bound value first, then puts the name into scope and
 * makes the rest of the block, then takes the name out again: mark, bind,
 * unbind.  So every name that is used is in scope, by construction.
 *
 * Recursion ends by fuel: a function of a group has an int32 in front, returns
 * its base case at 0, and in every call inside passes one less.  `calls` bounds
 * how many such calls a body holds, so the number of calls at run time is
 * bounded, too. */
#include "fuzz/gen.h"

#include <string.h>

static const GenType *unit(Gen *g) {
  return gen_compound(g->arena, G_TUPLE, 0, NULL);
}

/* --- Lets --------------------------------------------------------------- */

/* A new name, or now and then one that shadows another.  Shadowing is where a
 * compiler that keeps variables by name goes wrong. */
static const char *variable_name(Gen *g) {
  if (g->vars.len && gen_chance(g, 10)) {
    const GenVar *v = &g->vars.data[gen_below(g, (int)g->vars.len)];
    if (!strncmp(v->text, "%x", 2)) return v->text;
  }
  return gen_name(g, "%x");
}

/* A bound value with a share of the budget; later bindings get the rest.  A
 * block of k forced bindings gives each about 1/(k + 1) of what is left. */
static GenNode *value_of(Gen *g, const GenType *t) {
  int kept = g->budget - g->budget / (g->forced + 1);
  g->budget -= kept;
  GenNode *value = gen_expr(g, t);
  g->budget += kept;
  return value;
}

/* What follows a binding, with its name in scope. */
static GenNode *rest_with(Gen *g, const GenType *t, GenVar v) {
  size_t mark = gen_mark(g);
  gen_bind(g, v);
  GenNode *rest = gen_body(g, t);
  gen_unbind(g, mark);
  return rest;
}

/* The annotation is sometimes left out, so that inference has something to
 * do. */
static GenNode *make_let(Gen *g, const GenType *t) {
  const GenType *type = gen_random_type(g, 2);
  GenNode *value = value_of(g, type);
  const char *name = variable_name(g);
  bool declares = gen_chance(g, 40) || g->annotates;
  const char *declared = declares ? gen_type_name(g, type) : NULL;
  GenNode *rest = rest_with(g, t, (GenVar){.text = name, .type = type});
  return gen_node(g, t,
                  gen_textf(g, "let %s%s%s = $;\n$", name, declared ? ": " : "",
                            declared ? declared : ""),
                  2, value, rest);
}

/* %3 = e;  a graph variable, as Relay's text has them. */
static GenNode *make_graph(Gen *g, const GenType *t) {
  const GenType *type = gen_random_type(g, 2);
  GenNode *value = value_of(g, type);
  const char *name = gen_name(g, "%");
  GenNode *rest = rest_with(g, t, (GenVar){.text = name, .type = type});
  return gen_node(g, t, gen_textf(g, "%s = $;\n$", name), 2, value, rest);
}

/* A graph variable that fails when evaluated, which happens only at a use that
 * is reached.  The rest is a branch as often as possible, so that the value is
 * used on one path and not on another: there the two machines must agree on
 * when it is evaluated. */
static GenNode *make_delayed(Gen *g, const GenType *t) {
  static const GenRow rests[] = {{4, gen_if}, {4, gen_match}, {2, gen_body}};
  const GenType *number = gen_scalar(g->arena, "int32");
  GenNode *a = gen_leaf(g, number), *b = gen_leaf(g, number);
  GenNode *value = gen_node(g, number, "($ / $)", 2, a, b);
  const char *name = gen_name(g, "%");
  size_t mark = gen_mark(g);
  gen_bind(g, (GenVar){.text = name, .type = number});
  GenNode *rest = gen_pick(g, t, rests, sizeof rests / sizeof *rests);
  gen_unbind(g, mark);
  if (!rest) return NULL;
  return gen_node(g, t, gen_textf(g, "%s = $;\n$", name), 2, value, rest);
}

/* Functions that the checker generalises.  Their types have parameters (G_VAR),
 * so each use may be at another type. */
static GenNode *make_general(Gen *g, const GenType *t) {
  static const struct {
    const char *text;
    int params, args;
  } all[] = {
      {"fn (%p) { %p }", 1, 1},
      {"fn [A](%p: A) -> A { %p }", 1, 1},
      {"fn (%p, %q) { %q }", 2, 2},
      {"fn (%p) { let %k = ref(%p);\nref_read(%k) }", 1, 1},
      {"fn (%p, %q) { (fn () { %q })() }", 2, 2},
  };
  int which = gen_below(g, sizeof all / sizeof *all);
  const char *name = gen_name(g, "%x");
  const GenType *args[3];
  for (int i = 0; i <= all[which].args; i++) {
    GenType *v = ARENA_NEW(g->arena, GenType);
    *v = (GenType){.kind = G_VAR,
                   .index = i < all[which].params ? i : all[which].params - 1};
    args[i] = v;
  }
  const GenType *fn = gen_compound(g->arena, G_FN, all[which].args + 1, args);
  GenNode *rest = rest_with(
      g, t, (GenVar){.text = name, .type = fn, .params = all[which].params});
  return gen_node(g, t, gen_textf(g, "let %s = %s;\n$", name, all[which].text),
                  1, rest);
}

/* --- Functions that recur ----------------------------------------------- */

/* A member of a group: its name, its type with fuel first. */
typedef struct Member {
  const char *name;
  const GenType *type;
} Member;

/* (int32, T) -> R, the int32 being the fuel. */
static Member random_member(Gen *g) {
  const GenType *args[] = {gen_scalar(g->arena, "int32"), gen_random_type(g, 1),
                           gen_random_type(g, 2)};
  return (Member){gen_name(g, "%x"), gen_compound(g->arena, G_FN, 3, args)};
}

static void bind_members(Gen *g, const Member *m, int count, const char *fuel) {
  for (int i = 0; i < count; i++) {
    gen_bind(
        g,
        (GenVar){
            .text = m[i].name, .type = m[i].type, .fuel = fuel, .once = true});
  }
}

/* fn (%n: int32, %a: T) -> R { if (%n <= 0) { base } else { ... } }  The base
 * case is made with no calls allowed, and before the group is in scope. */
static GenNode *member_fn(Gen *g, const Member *m, int count, int i) {
  const GenType *param = m[i].type->args[1], *result = m[i].type->args[2];
  const char *n = gen_name(g, "%n"), *a = gen_name(g, "%a");
  size_t mark = gen_mark(g);
  int calls = g->calls, forced = g->forced;
  int kept = g->budget - g->budget / (forced + 1);
  g->budget -= kept;
  g->forced = 0;
  gen_bind(g, (GenVar){.text = n, .type = m[i].type->args[0]});
  gen_bind(g, (GenVar){.text = a, .type = param});
  g->calls = 0;
  GenNode *base = gen_expr(g, result);
  g->calls = 2;
  bind_members(g, m, count, gen_textf(g, "%s - 1", n));
  GenNode *more = gen_body(g, result);
  g->calls = calls;
  g->forced = forced;
  g->budget += kept;
  gen_unbind(g, mark);
  const char *text = gen_textf(
      g, "fn (%s: int32, %s: %s) -> %s {\nif (%s <= 0) { $ } else {\n$ } }", n,
      a, gen_type_name(g, param), gen_type_name(g, result), n);
  return gen_node(g, m[i].type, text, 2, base, more);
}

/* One function, or two that call each other.  For a group of two, where b and m
 * are expressions and $ marks what is made:
 *
 *   let %x1 = fn (%n2: int32, %a3: T) -> R {
 *       if (%n2 <= 0) { b } else { m, may call %x1 and %x4 with %n2 - 1 } }
 *   and %x4 = fn (%n5: int32, %a6: U) -> S { likewise };
 *   rest, may call both with a number below 4 */
static GenNode *make_group(Gen *g, const GenType *t) {
  if (g->budget < 12) return NULL;
  int count = 1 + gen_below(g, 2);
  Member members[2] = {random_member(g), random_member(g)};
  GenList parts = {0};
  char *text = gen_textf(g, "%s", "");
  for (int i = 0; i < count; i++) {
    gen_add(&parts, member_fn(g, members, count, i));
    text = gen_textf(g, "%s%s%s = $", text, i ? "\nand " : "let ",
                     members[i].name);
  }
  size_t mark = gen_mark(g);
  bind_members(g, members, count, gen_textf(g, "%d", gen_below(g, 4)));
  gen_add(&parts, gen_body(g, t));
  gen_unbind(g, mark);
  return gen_node_of(g, t, gen_textf(g, "%s;\n$", text), &parts);
}

/* --- Effects ------------------------------------------------------------ */

/* What is printed is compared, so a print is what shows in which order things
 * were evaluated. */
static GenNode *print_effect(Gen *g) {
  GenNode *v = value_of(g, gen_chance(g, 50) ? gen_scalar(g->arena, "int32")
                                             : gen_random_tensor(g));
  return gen_node(g, unit(g), "print($)", 1, v);
}

/* Prefers the type of a cell that is in scope, so that a write is seen by a
 * later read. */
static GenNode *write_effect(Gen *g) {
  const GenType *content = gen_random_type(g, 1);
  for (size_t i = 0; i < g->vars.len; i++) {
    const GenType *type = g->vars.data[i].type;
    if (type->kind == G_REF && gen_chance(g, 60)) content = type->args[0];
  }
  const GenType *ref = gen_compound(g->arena, G_REF, 1, &content);
  GenNode *r = value_of(g, ref), *v = value_of(g, content);
  return gen_node(g, unit(g), "ref_write($, $)", 2, r, v);
}

/* An assertion is rare, for most fail and end the program. */
static GenNode *gen_effect(Gen *g) {
  int kind = gen_below(g, 10);
  if (kind < 4) return print_effect(g);
  if (kind < 8) return write_effect(g);
  if (kind < 9 && gen_chance(g, 50)) {
    GenNode *c = gen_expr(g, gen_scalar(g->arena, "bool"));
    return gen_node(g, unit(g), "assert($, message=\"no\")", 1, c);
  }
  return value_of(g, gen_random_type(g, 1));
}

static GenNode *make_sequence(Gen *g, const GenType *t) {
  GenNode *first = gen_effect(g);
  return gen_node(g, t, "$;\n$", 2, first, gen_body(g, t));
}

/* --- Bodies ------------------------------------------------------------- */

static const GenRow bindings[] = {
    {10, make_let},  {6, make_graph},    {5, make_delayed},
    {3, make_group}, {7, make_sequence}, {2, make_general},
};

/* A third of the bodies ends here, unless bindings are still forced.  Forced
 * ones stand one after the other and do not count as nesting. */
GenNode *gen_body(Gen *g, const GenType *t) {
  bool more = g->forced > 0 || !gen_chance(g, 35);
  if (g->budget <= 4 || g->depth > 10 || !more) return gen_expr(g, t);
  bool nests = g->forced == 0;
  g->forced -= !nests;
  g->budget--;
  g->depth += nests;
  GenNode *n = gen_pick(g, t, bindings, sizeof bindings / sizeof *bindings);
  g->depth -= nests;
  return n ? n : gen_expr(g, t);
}

/* Two to eight bindings, so that registers, liveness and reuse of memory come
 * under strain. */
GenNode *gen_long_body(Gen *g, const GenType *t) {
  g->forced = 2 + gen_below(g, 7);
  GenNode *body = gen_body(g, t);
  g->forced = 0;
  return body;
}

/* --- Matches ------------------------------------------------------------ */

static void add_pattern(Gen *g, StrBuf *out, const GenType *t, int depth,
                        bool refutable);

static void add_fields(Gen *g, StrBuf *out, const GenType *t, const GenCtor *c,
                       int depth, bool refutable) {
  int count = c ? c->count : t->count;
  for (int i = 0; i < count; i++) {
    if (i) strbuf_add(out, ", ");
    add_pattern(g, out, c ? gen_field(g, c, i, t) : t->args[i], depth,
                refutable);
  }
}

static void add_ctor_pattern(Gen *g, StrBuf *out, const GenType *t,
                             const GenCtor *c, int depth, bool refutable) {
  strbuf_add(out, c->name);
  if (c->count == 0) return;
  strbuf_add_char(out, '(');
  add_fields(g, out, t, c, depth, refutable);
  strbuf_add_char(out, ')');
}

static void add_pattern(Gen *g, StrBuf *out, const GenType *t, int depth,
                        bool refutable) {
  if (t->kind == G_ADT && refutable && depth > 0 && gen_chance(g, 60)) {
    const GenCtor *c = &t->adt->ctors[gen_below(g, t->adt->count)];
    add_ctor_pattern(g, out, t, c, depth - 1, true);
  } else if (t->kind == G_TUPLE && t->count > 1 && depth > 0 &&
             gen_chance(g, 70)) {
    strbuf_add_char(out, '(');
    add_fields(g, out, t, NULL, depth - 1, refutable);
    strbuf_add_char(out, ')');
  } else if (gen_chance(g, 30)) {
    strbuf_add_char(out, '_');
  } else {
    const char *name = gen_name(g, "%x");
    strbuf_add(out, name);
    gen_bind(g, (GenVar){.text = name, .type = t});
  }
}

typedef struct Arms {
  Gen *g;
  const GenType *scrutinee, *result;
  StrBuf text;
  GenList children;
} Arms;

/* Adds an arm for the constructor, or for NULL an arm with any pattern. */
static void add_arm(Arms *a, const GenCtor *c, bool refutable) {
  Gen *g = a->g;
  size_t mark = gen_mark(g);
  if (c) add_ctor_pattern(g, &a->text, a->scrutinee, c, 1, refutable);
  else add_pattern(g, &a->text, a->scrutinee, 3, refutable);
  strbuf_add(&a->text, " => {\n$ },\n");
  gen_add(&a->children, gen_body(g, a->result));
  gen_unbind(g, mark);
}

/* Adds some specific arms, then arms that cover the rest (for `match?`, most of
 * it).  Constructors are covered one by one; a data type of one constructor, or
 * a value of another type, gets an arm with any pattern. */
static void add_arms(Arms *a, bool partial) {
  Gen *g = a->g;
  for (int i = gen_below(g, 3); i > 0; i--) add_arm(a, NULL, true);
  const GenAdt *adt = a->scrutinee->kind == G_ADT ? a->scrutinee->adt : NULL;
  for (int i = 0; adt && i < adt->count; i++) {
    if (partial && gen_chance(g, 40)) continue;
    add_arm(a, &adt->ctors[i], false);
  }
  if (!adt || a->children.count == 1) add_arm(a, NULL, false);
}

/* The type of something in scope, or a random one. */
static const GenType *scrutinee_type(Gen *g) {
  const GenType *found = NULL;
  for (size_t i = 0; i < g->vars.len; i++) {
    const GenVar *v = &g->vars.data[i];
    bool suits =
        v->params == 0 && (v->type->kind == G_ADT ||
                           (v->type->kind == G_TUPLE && v->type->count > 1));
    if (suits && gen_chance(g, 40)) found = v->type;
  }
  if (found) return found;
  const GenAdt *adt = g->adts.data[gen_below(g, (int)g->adts.len)];
  const GenType *args[GEN_ARGS];
  for (int i = 0; i < adt->params; i++) args[i] = gen_random_type(g, 1);
  return gen_adt_of(g->arena, adt, args);
}

/* A partial match may fail at run time; then both machines must fail alike. */
GenNode *gen_match(Gen *g, const GenType *t) {
  if (g->budget < 6) return NULL;
  Arms a = {.g = g, .scrutinee = scrutinee_type(g), .result = t};
  strbuf_init(&a.text, g->mem);
  bool partial = gen_chance(g, 6);
  gen_add(&a.children, gen_expr(g, a.scrutinee));
  add_arms(&a, partial);
  const char *text = gen_textf(g, "(match%s ($) {\n%s})", partial ? "?" : "",
                               strbuf_text(&a.text));
  strbuf_done(&a.text);
  return gen_node_of(g, t, text, &a.children);
}
