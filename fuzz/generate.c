/* Programs: data types, functions, global values, and what is evaluated.
 *
 *   type D0[A] { ... }                      up to two
 *   def @d1[n: Dim](...) { ... }            sometimes: named dimensions
 *   def @f2[A](%fuel: int32, ...) { ... }   up to four, calling each other
 *   def @main() { ... }   or a script       evaluates something
 *
 * The size is shared out among the items; random numbers come from one state
 * (splitmix64), so a seed is a program.
 *
 * One of size 20, with its first function left out (--print --seed 3):
 *
 *   def @main() {
 *     let %x7 = fn [A](%p: A) -> A { %p };
 *     %8 = (-2f * 0.5f);
 *     let %x9 = fn () -> Option[int32] { (fn () -> Option[int32] { None })() };
 *     ref_write(ref(zeros(shape=[2, 2], dtype="int32")), [[5, 0], [-1, -2]]);
 *     if (where(False, True, True)) { [[2, 2147483647], [1, 2]] }
 *     else { [[2147483647, 2], [-1, 7]] } }
 *
 * Nobody would write it, which is the point: a function that nothing calls, a
 * cell that is written and lost, a value never asked for.  A compiler that
 * leaves out, moves or shares any of them must do so without a trace. */
#include "fuzz/gen.h"

/* --- Types in short --------------------------------------------------------
 * i int32, b bool, u (), A B C parameters, La a list, Oa an option, Ra a ref,
 * Tnab.. a tuple of n, Fnab..r a function (n counts its result). */

/* "F3F2ABLALB" is (fn (A) -> B, List[A]) -> List[B], the type of @map. */
static const GenType *read_type(Gen *g, const char **at) {
  char c = *(*at)++;
  const GenType *args[GEN_ARGS];
  if (c == 'i') return gen_scalar(g->arena, "int32");
  if (c == 'b') return gen_scalar(g->arena, "bool");
  if (c >= 'A' && c <= 'C') {
    GenType *v = ARENA_NEW(g->arena, GenType);
    *v = (GenType){.kind = G_VAR, .index = c - 'A'};
    return v;
  }
  bool counted = c == 'T' || c == 'F';
  int count = counted ? *(*at)++ - '0' : c == 'u' ? 0 : 1;
  for (int i = 0; i < count; i++) args[i] = read_type(g, at);
  if (c == 'L') return gen_adt_of(g->arena, g->adts.data[0], args);
  if (c == 'O') return gen_adt_of(g->arena, g->adts.data[1], args);
  return gen_compound(g->arena,
                      c == 'F'   ? G_FN
                      : c == 'R' ? G_REF
                                 : G_TUPLE,
                      count, args);
}

static const GenType *type_of(Gen *g, const char *text) {
  return read_type(g, &text);
}

/* --- The library -------------------------------------------------------- */

static GenAdt *adt_new(Gen *g, const char *name, int params) {
  GenAdt *adt = ARENA_NEW(g->arena, GenAdt);
  adt->name = name;
  adt->params = params;
  VEC_PUSH(&g->adts, adt);
  return adt;
}

static GenCtor *ctor_new(GenAdt *adt, const char *name) {
  GenCtor *c = &adt->ctors[adt->count++];
  c->name = name;
  return c;
}

/* The library's own data types, with the constructors in its order. */
static void library_types(Gen *g) {
  GenAdt *list = adt_new(g, "List", 1), *option = adt_new(g, "Option", 1);
  ctor_new(list, "Nil");
  GenCtor *cons = ctor_new(list, "Cons");
  cons->fields[0] = type_of(g, "A");
  cons->fields[1] = type_of(g, "LA");
  cons->count = 2;
  ctor_new(option, "None");
  GenCtor *some = ctor_new(option, "Some");
  some->fields[0] = type_of(g, "A");
  some->count = 1;
}

/* Polymorphic functions of higher order, which are hardest on instances.  They
 * are called with functions that the generator makes, which print and write
 * cells; so the library's order of evaluation is compared as well. */
static void library_functions(Gen *g) {
  static const struct {
    const char *name, *type;
    int params;
  } all[] = {
      {"@id", "F2AA", 1},           {"@length", "F2LAi", 1},
      {"@rev", "F2LALA", 1},        {"@concat", "F3LALALA", 1},
      {"@map", "F3F2ABLALB", 2},    {"@filter", "F3F2AbLALA", 1},
      {"@foldl", "F4F3BABBLAB", 2}, {"@foldr", "F4F3ABBBLAB", 2},
      {"@zip", "F3LALBLT2AB", 2},   {"@compose", "F3F2BCF2ABF2AC", 3},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gen_bind(g, (GenVar){.text = all[i].name,
                         .type = type_of(g, all[i].type),
                         .params = all[i].params});
  }
}

/* --- Items -------------------------------------------------------------- */

static void add_item(Gen *g, GenNode *n) { VEC_PUSH(&g->out->items, n); }

/* A parameter, the type itself, or any type. */
static const GenType *field_type(Gen *g, GenAdt *adt, bool may_recur) {
  GenType *v = ARENA_NEW(g->arena, GenType);
  if (adt->params && gen_chance(g, 45)) {
    *v = (GenType){.kind = G_VAR, .index = gen_below(g, adt->params)};
    return v;
  }
  if (!may_recur || !gen_chance(g, 50)) return gen_random_type(g, 1);
  const GenType *args[GEN_ARGS];
  for (int i = 0; i < adt->params; i++) {
    GenType *arg = ARENA_NEW(g->arena, GenType);
    *arg = (GenType){.kind = G_VAR, .index = i};
    args[i] = arg;
  }
  return gen_adt_of(g->arena, adt, args);
}

static char *type_params(Gen *g, int count) {
  static const char *const texts[] = {"", "[A]", "[A, B]", "[A, B, C]"};
  return gen_textf(g, "%s", texts[count]);
}

/* Makes an ADT.  Its fields are made before it enters scope, so only direct
 * recursion occurs.  The first constructor's fields do not mention it, so each
 * type has finite values. */
static void add_type(Gen *g) {
  GenAdt *adt = ARENA_NEW(g->arena, GenAdt);
  adt->name = gen_name(g, "D");
  adt->params = gen_below(g, 3);
  char *text =
      gen_textf(g, "type %s%s {\n", adt->name, type_params(g, adt->params));
  for (int i = 1 + gen_below(g, GEN_CTORS); i > 0; i--) {
    GenCtor *c = ctor_new(adt, gen_name(g, "K"));
    c->count = gen_below(g, 4);
    text = gen_textf(g, "%s%s", text, c->name);
    for (int k = 0; k < c->count; k++) {
      c->fields[k] = field_type(g, adt, adt->count > 1);
      text = gen_textf(g, "%s%s%s", text, k ? ", " : "(",
                       gen_type_name(g, c->fields[k]));
    }
    text = gen_textf(g, "%s%s,\n", text, c->count ? ")" : "");
  }
  VEC_PUSH(&g->adts, adt);
  add_item(g, gen_node(g, NULL, gen_textf(g, "%s}", text), 0));
}

/* A function's name and type, made before its body. */
typedef struct Signature {
  const char *name;
  int params;
  const GenType *type; /* parameters are rigid; fuel comes first */
} Signature;

static const char *const rigid_names[GEN_PARAMS] = {"A", "B", "C"};

/* count 0 closes them again. */
static void open_rigid(Gen *g, int count) {
  g->rigid_count = count;
  for (int i = 0; i < count; i++) {
    GenType *t = ARENA_NEW(g->arena, GenType);
    *t = (GenType){.kind = G_RIGID, .name = rigid_names[i]};
    g->rigid[i] = t;
  }
}

/* Replaces rigid parameters by G_VARs: the type as callers see it.  Inside its
 * body a parameter is one unknown type (rigid); to its callers it is any. */
static const GenType *generalise(Gen *g, const GenType *t) {
  GenType *made = ARENA_NEW(g->arena, GenType);
  *made = *t;
  for (int i = 0; t->kind == G_RIGID && i < GEN_PARAMS; i++)
    if (t->name[0] == rigid_names[i][0])
      *made = (GenType){.kind = G_VAR, .index = i};
  for (int i = 0; i < t->count; i++) made->args[i] = generalise(g, t->args[i]);
  return made;
}

/* Signatures of all functions are made before the first body, so they can call
 * each other.  Parameters of a type parameter's type come first, since without
 * one the body would have no value of that type at all. */
static Signature random_signature(Gen *g) {
  const GenType *args[GEN_ARGS] = {gen_scalar(g->arena, "int32")};
  Signature s = {.name = gen_name(g, "@f"),
                 .params = gen_chance(g, 35) ? 1 + gen_below(g, 2) : 0};
  open_rigid(g, s.params);
  int count = 1;
  for (int i = 0; i < s.params; i++) args[count++] = g->rigid[i];
  if (count < 3) args[count++] = gen_random_type(g, 2);
  args[count++] = gen_random_type(g, 2);
  s.type = gen_compound(g->arena, G_FN, count, args);
  open_rigid(g, 0);
  return s;
}

/* `fuel` is what a caller passes first: a number, or the caller's own less
 * one. */
static void bind_signatures(Gen *g, const Signature *s, int count,
                            const char *fuel) {
  for (int i = 0; i < count; i++) {
    gen_bind(g, (GenVar){.text = s[i].name,
                         .type = generalise(g, s[i].type),
                         .params = s[i].params,
                         .fuel = fuel,
                         .once = true});
  }
}

/* def @f[A](%fuel: int32, %a: T, ...) -> R { ... }  As in gen_block.c, fuel
 * bounds recursion: the base case at 0, one less in every call. */
static void add_function(Gen *g, const Signature *s, int count, int i,
                         int budget) {
  const GenType *type = s[i].type, *result = type->args[type->count - 1];
  size_t mark = gen_mark(g);
  open_rigid(g, s[i].params);
  char *text = gen_textf(g, "def %s%s(%%fuel: int32", s[i].name,
                         type_params(g, s[i].params));
  gen_bind(g, (GenVar){.text = "%fuel", .type = type->args[0]});
  for (int k = 1; k + 1 < type->count; k++) {
    const char *name = gen_name(g, "%a");
    text =
        gen_textf(g, "%s, %s: %s", text, name, gen_type_name(g, type->args[k]));
    gen_bind(g, (GenVar){.text = name, .type = type->args[k]});
  }
  g->budget = budget / 4;
  g->calls = 0;
  GenNode *base = gen_expr(g, result);
  g->budget = budget;
  g->calls = 2;
  bind_signatures(g, s, count, "%fuel - 1");
  GenNode *more = gen_long_body(g, result);
  gen_unbind(g, mark);
  text = gen_textf(g, "%s) -> %s {\nif (%%fuel <= 0) {\n$ } else {\n$ } }",
                   text, gen_type_name(g, result));
  open_rigid(g, 0);
  add_item(g, gen_node(g, NULL, text, 2, base, more));
}

/* def @d[n: Dim](%a: Tensor[(n), D], %b: Tensor[(n), D]) -> Tensor[(n), D] {
 * (fn () -> Tensor[(?), D] { ... })() }: the body forgets that a dimension is
 * n, so its result is checked.  The length is 2, or `?`, for those who call it:
 * then the two arguments may have different lengths, and the call must be
 * refused during the run. */
static void add_dim_function(Gen *g, int budget) {
  static const char *const dtypes[] = {"int32", "float32", "bool"};
  const char *name = gen_name(g, "@d"), *dtype = dtypes[gen_below(g, 3)];
  const char *a = gen_name(g, "%a"), *b = gen_name(g, "%a");
  int any = GEN_ANY, length = gen_chance(g, 50) ? 2 : GEN_ANY;
  const GenType *open = gen_tensor_of(g->arena, dtype, 1, &any);
  size_t mark = gen_mark(g);
  gen_bind(g, (GenVar){.text = a, .type = open});
  gen_bind(g, (GenVar){.text = b, .type = open});
  gen_bind(g, (GenVar){.text = "n", .type = gen_scalar(g->arena, "int32")});
  g->budget = budget;
  g->calls = 0;
  GenNode *body = gen_long_body(g, open);
  gen_unbind(g, mark);
  add_item(g,
           gen_node(g, NULL,
                    gen_textf(g,
                              "def %s[n: Dim]"
                              "(%s: Tensor[(n), %s], %s: Tensor[(n), %s]) -> "
                              "Tensor[(n), %s] {\n"
                              "(fn () -> Tensor[(?), %s] {\n$ })() }",
                              name, a, dtype, b, dtype, dtype, dtype),
                    1, body));
  const GenType *used = gen_tensor_of(g->arena, dtype, 1, &length);
  const GenType *args[] = {used, used, used};
  gen_bind(
      g, (GenVar){.text = name, .type = gen_compound(g->arena, G_FN, 3, args)});
}

/* --- What is evaluated -------------------------------------------------- */

/* Up to six calls of fueled functions. */
static void add_main(Gen *g, int budget) {
  const GenType *t = gen_random_type(g, 3);
  g->budget = budget;
  g->calls = 6;
  GenNode *body = gen_long_body(g, t);
  const char *type = gen_chance(g, 40) ? gen_type_name(g, t) : NULL;
  add_item(g, gen_node(g, NULL,
                       gen_textf(g, "def @main()%s%s {\n$ }",
                                 type ? " -> " : "", type ? type : ""),
                       1, body));
}

/* let @x = e;  let %x = e;  e; */
static void add_script_item(Gen *g, int budget) {
  const GenType *t = gen_random_type(g, 2);
  g->budget = budget;
  g->calls = 3;
  GenNode *value = gen_expr(g, t);
  int kind = gen_below(g, 3);
  if (kind == 0) {
    add_item(g, gen_node(g, NULL, "$;", 1, value));
    return;
  }
  const char *name = gen_name(g, kind == 1 ? "@x" : "%x");
  add_item(
      g, gen_node(g, NULL,
                  gen_textf(g, "let %s: %s = $;", name, gen_type_name(g, t)), 1,
                  value));
  gen_bind(g, (GenVar){.text = name, .type = t});
}

/* A script's last item is an expression, so that there is a value to compare.
 * Six in ten have a @main, as rly runs a file with one; the others are scripts,
 * whose items are evaluated one by one. */
static void add_evaluated(Gen *g, int budget) {
  if (gen_chance(g, 60)) {
    add_main(g, budget);
    return;
  }
  int count = 2 + gen_below(g, 4);
  for (int i = 0; i < count; i++) add_script_item(g, budget / count);
  add_item(g, gen_node(g, NULL, "$;", 1, gen_expr(g, gen_random_type(g, 1))));
}

/* --- Programs ----------------------------------------------------------- */

enum { SIGNATURES = 4 };

/* Scalars always; lists, refs, functions and pairs often.  With int32 always
 * among them, indices and lengths are never far; of the rest each program has
 * its own mixture. */
static void choose_palette(Gen *g) {
  static const char *const common[] = {"i", "i", "Li", "Ri", "F2ii", "T2ib"};
  for (int i = 0; i < GEN_PALETTE; i++) {
    g->palette[i] = i < 2 || gen_chance(g, 40) ? type_of(g, common[i])
                                               : gen_random_type(g, 2);
  }
  g->palette_count = GEN_PALETTE;
}

/* The order is that of scope: what is made later may use what is there. */
static void generate_all(Gen *g, int size) {
  library_types(g);
  library_functions(g);
  for (int i = gen_below(g, 3); i > 0; i--) add_type(g);
  choose_palette(g);
  if (gen_chance(g, 30)) add_dim_function(g, size / 4);
  Signature s[SIGNATURES] = {0};
  int count = gen_below(g, SIGNATURES + 1);
  for (int i = 0; i < count; i++) s[i] = random_signature(g);
  for (int i = 0; i < count; i++)
    add_function(g, s, count, i, size / (count + 1));
  bind_signatures(g, s, count, gen_textf(g, "%d", gen_below(g, 4)));
  add_evaluated(g, size / (count ? 2 : 1));
}

/* All that it makes lives in `a`; the vectors of the generator itself do not.
 * `size` is a budget of nodes, roughly; a few programs come out larger, since
 * what was begun is always finished. */
void generate(Arena *a, Mem *mem, uint64_t seed, int size, bool annotates,
              GenProgram *out) {
  VEC_INIT(&out->items, mem);
  Gen g = {.arena = a,
           .mem = mem,
           .random = seed,
           .out = out,
           .annotates = annotates};
  VEC_INIT(&g.vars, mem);
  VEC_INIT(&g.adts, mem);
  generate_all(&g, size);
  VEC_DONE(&g.vars);
  VEC_DONE(&g.adts);
}

void gen_program_done(GenProgram *p) { VEC_DONE(&p->items); }

/* Items one below the other. */
void gen_program_text(const GenProgram *p, StrBuf *out) {
  for (size_t i = 0; i < p->items.len; i++) {
    gen_print(out, p->items.data[i]);
    strbuf_add_char(out, '\n');
  }
}
