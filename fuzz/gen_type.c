/* Types: their making, random ones, and the plainest value of each.
 *
 * Types are nodes of the program's arena, compared by structure (gen_same).
 * Random types come mostly from the program's palette, a few types that it uses
 * again and again: with types from all over, hardly any variable would ever
 * suit. */
#include "fuzz/gen.h"

#include <string.h>

/* --- Making ------------------------------------------------------------- */

const GenType *gen_tensor_of(Arena *a, const char *dtype, int rank,
                             const int *dims) {
  GenType *t = ARENA_NEW(a, GenType);
  *t = (GenType){.kind = G_TENSOR, .name = dtype, .rank = rank};
  for (int i = 0; i < rank; i++) t->dims[i] = dims[i];
  return t;
}

const GenType *gen_scalar(Arena *a, const char *dtype) {
  return gen_tensor_of(a, dtype, 0, NULL);
}

const GenType *gen_compound(Arena *a, GenKind kind, int count,
                            const GenType *const *args) {
  GenType *t = ARENA_NEW(a, GenType);
  *t = (GenType){.kind = kind, .count = count};
  for (int i = 0; i < count; i++) t->args[i] = args[i];
  return t;
}

const GenType *gen_adt_of(Arena *a, const GenAdt *adt,
                          const GenType *const *args) {
  GenType *t = (GenType *)gen_compound(a, G_ADT, adt->params, args);
  t->adt = adt;
  return t;
}

/* A type with `?` stands for many; this is one of them.  Tensor[(?, 2), int32]
 * may become (1, 2), (2, 2) or (3, 2): small, but not always the same, as a
 * check that every length passes tests nothing. */
const GenType *gen_concrete(Gen *g, const GenType *t) {
  GenType *made = ARENA_NEW(g->arena, GenType);
  *made = *t;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] == GEN_ANY) made->dims[i] = 1 + gen_below(g, 3);
  return made;
}

const GenType *gen_field(Gen *g, const GenCtor *c, int i, const GenType *adt) {
  return gen_substitute(g->arena, c->fields[i], adt->args);
}

/* --- Random types ------------------------------------------------------- */

/* Repeated names are weights.  int32 is what lengths, indices and fuel are, and
 * float32 what models are; the rest is there for the widths, one of them narrow
 * and without a sign. */
static const char *random_dtype(Gen *g) {
  static const char *const names[] = {"int32", "int32", "int32",   "bool",
                                      "int64", "uint8", "float32", "float32"};
  return names[gen_below(g, sizeof names / sizeof *names)];
}

/* One `?` in four axes: with more of them nearly everything would be checked
 * during the run, and little by the checker. */
const GenType *gen_random_tensor(Gen *g) {
  int rank = 1 + gen_below(g, 2), dims[GEN_RANK];
  for (int i = 0; i < rank; i++)
    dims[i] = gen_chance(g, 25) ? GEN_ANY : 1 + gen_below(g, 3);
  return gen_tensor_of(g->arena, random_dtype(g), rank, dims);
}

/* Parts have one level less to nest in. */
static const GenType *random_compound(Gen *g, GenKind kind, int count,
                                      int depth) {
  const GenType *args[GEN_ARGS];
  for (int i = 0; i < count; i++) args[i] = gen_random_type(g, depth - 1);
  return gen_compound(g->arena, kind, count, args);
}

/* The library's List and Option are among them, and as likely as the program's
 * own types. */
static const GenType *random_adt(Gen *g, int depth) {
  const GenAdt *adt = g->adts.data[gen_below(g, (int)g->adts.len)];
  const GenType *args[GEN_ARGS];
  for (int i = 0; i < adt->params; i++) args[i] = gen_random_type(g, depth - 1);
  return gen_adt_of(g->arena, adt, args);
}

/* `depth` is how deep compound types may still nest.  At the end of `depth`
 * only tensors and scalars are left (kinds below 10), so types are finite.
 * Inside a function with type parameters a quarter is one of those: a value of
 * an unknown type can only be passed on, and it is the passing on that is
 * tested. */
const GenType *gen_random_type(Gen *g, int depth) {
  if (g->rigid_count && gen_chance(g, 25))
    return g->rigid[gen_below(g, g->rigid_count)];
  if (g->palette_count && gen_chance(g, 65))
    return g->palette[gen_below(g, g->palette_count)];
  int kind = gen_below(g, depth > 0 ? 20 : 10);
  if (kind < 7) return gen_scalar(g->arena, random_dtype(g));
  if (kind < 10) return gen_random_tensor(g);
  if (kind < 13) return random_compound(g, G_TUPLE, 2 + gen_below(g, 2), depth);
  if (kind < 15) return random_compound(g, G_FN, 1 + gen_below(g, 3), depth);
  if (kind < 16) return random_compound(g, G_REF, 1, depth);
  return random_adt(g, depth);
}

/* --- Plain values ------------------------------------------------------- */

/* Room for one child more, as the arena has no empty arrays. */
static GenNode *plain_node(Arena *a, const GenType *t, const char *text,
                           int count) {
  GenNode *n = ARENA_NEW(a, GenNode);
  n->type = t;
  n->text = text;
  n->count = count;
  n->children = ARENA_ARRAY(a, GenNode *, (size_t)count + 1);
  return n;
}

/* Every dtype of random_dtype() must be here. */
static const char *zero_of(const char *dtype) {
  static const struct {
    const char *dtype, *text;
  } zeros[] = {
      {"int32", "0"},    {"int64", "0i64"}, {"uint8", "0u8"},
      {"float32", "0f"}, {"bool", "False"},
  };
  size_t i = 0;
  while (strcmp(zeros[i].dtype, dtype)) i++;
  return zeros[i].text;
}

/* (fn () -> T { e })(): the language has no other form of ascription for any
 * expression. */
const char *gen_ascribed(Arena *a, const GenType *t, const char *text) {
  StrBuf type;
  strbuf_init(&type, a->mem);
  gen_type_text(&type, t);
  text = arena_printf(a, "(fn () -> %s { %s })()", strbuf_text(&type), text);
  strbuf_done(&type);
  return text;
}

/* zeros(...), of length 1 where the type leaves it open.  The type is ascribed
 * there, or the checker would know the length 1 and the reducer would have
 * changed the type, and with it perhaps the mistake. */
static GenNode *plain_tensor(Arena *a, const GenType *t) {
  if (t->rank == 0) return plain_node(a, t, zero_of(t->name), 0);
  bool open = false;
  for (int i = 0; i < t->rank; i++) open |= t->dims[i] == GEN_ANY;
  char *dims = arena_printf(a, "%d", t->dims[0] < 0 ? 1 : t->dims[0]);
  for (int i = 1; i < t->rank; i++) {
    int d = t->dims[i] < 0 ? 1 : t->dims[i];
    dims = arena_printf(a, "%s, %d", dims, d);
  }
  const char *text =
      arena_printf(a, "zeros(shape=[%s], dtype=\"%s\")", dims, t->name);
  return plain_node(a, t, open ? gen_ascribed(a, t, text) : text, 0);
}

/* fn (%p0: T, ...) { plain }: parameters that nobody uses. */
static GenNode *plain_fn(Arena *a, const GenType *t) {
  char *params = arena_printf(a, "%s", "");
  StrBuf type;
  for (int i = 0; i + 1 < t->count; i++) {
    strbuf_init(&type, a->mem);
    gen_type_text(&type, t->args[i]);
    params = arena_printf(a, "%s%s%%p%d: %s", params, i ? ", " : "", i,
                          strbuf_text(&type));
    strbuf_done(&type);
  }
  GenNode *n = plain_node(a, t, arena_printf(a, "fn (%s) { $ }", params), 1);
  n->children[0] = gen_plain(a, t->args[t->count - 1]);
  return n;
}

/* Does the parameter occur in the type? */
static bool mentions(const GenType *t, int param) {
  bool found = t->kind == G_VAR && t->index == param;
  for (int i = 0; !found && i < t->count; i++)
    found = mentions(t->args[i], param);
  return found;
}

/* Do the constructor's fields determine all parameters of the ADT?  Nil does
 * not: its type has to be said. */
static bool determines(const GenAdt *adt, const GenCtor *c) {
  for (int i = 0; i < adt->params; i++) {
    bool found = false;
    for (int k = 0; !found && k < c->count; k++)
      found = mentions(c->fields[k], i);
    if (!found) return false;
  }
  return true;
}

/* Cons($, $), or with its type where the fields do not tell it. */
const char *gen_ctor_text(Arena *a, const GenType *t, const GenCtor *c) {
  char *text = arena_printf(a, "%s", c->name);
  for (int i = 0; i < c->count; i++)
    text = arena_printf(a, "%s%s$", text, i ? ", " : "(");
  if (c->count) text = arena_printf(a, "%s)", text);
  return determines(t->adt, c) ? text : gen_ascribed(a, t, text);
}

/* The first constructor, which does not contain its own type. */
static GenNode *plain_adt(Arena *a, const GenType *t) {
  const GenCtor *c = &t->adt->ctors[0];
  GenNode *n = plain_node(a, t, gen_ctor_text(a, t, c), c->count);
  for (int i = 0; i < c->count; i++)
    n->children[i] = gen_plain(a, gen_substitute(a, c->fields[i], t->args));
  return n;
}

static GenNode *plain_tuple(Arena *a, const GenType *t) {
  static const char *const texts[] = {
      "()", "($,)", "($, $)", "($, $, $)", "($, $, $, $)", "($, $, $, $, $)"};
  GenNode *n = plain_node(a, t, texts[t->count], t->count);
  for (int i = 0; i < t->count; i++) n->children[i] = gen_plain(a, t->args[i]);
  return n;
}

/* What the reducer puts in place of an expression.  It ends: the first
 * constructor of a data type is not recursive. */
GenNode *gen_plain(Arena *a, const GenType *t) {
  switch (t->kind) {
    case G_TENSOR: return plain_tensor(a, t);
    case G_TUPLE: return plain_tuple(a, t);
    case G_FN: return plain_fn(a, t);
    case G_ADT: return plain_adt(a, t);
    case G_REF: {
      GenNode *n = plain_node(a, t, "ref($)", 1);
      n->children[0] = gen_plain(a, t->args[0]);
      return n;
    }
    default:
      return plain_node(a, t, gen_ascribed(a, t, "fail(message=\"no value\")"),
                        0);
  }
}
