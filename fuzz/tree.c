/* Types and trees of generated programs.  Their depth is bounded by the
 * generator, so recursion is safe.
 *
 * A program is a tree of texts: "if ($) { $ } else { $ }" with three children.
 * So the printer knows no syntax, and the reducer can exchange any child for
 * another of the same type.
 *
 *   text       if ($) { $ } else { $ }
 *   children   ($ < $)   1   %x3        whose own texts are filled in */
#include "fuzz/tree.h"

#include <string.h>

/* --- Types -------------------------------------------------------------- */

/* Everything but the arguments. */
static bool same_head(const GenType *a, const GenType *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  switch (a->kind) {
    case G_TENSOR:
      return a->rank == b->rank && !strcmp(a->name, b->name) &&
             !memcmp(a->dims, b->dims, sizeof(int) * (size_t)a->rank);
    case G_ADT: return a->adt == b->adt;
    case G_RIGID: return !strcmp(a->name, b->name);
    case G_VAR: return a->index == b->index;
    default: return true;
  }
}

bool gen_same(const GenType *a, const GenType *b) {
  bool same = same_head(a, b);
  for (int i = 0; same && i < a->count; i++)
    same = gen_same(a->args[i], b->args[i]);
  return same;
}

static void args_text(StrBuf *out, const GenType *t, int count,
                      const char *open, const char *close) {
  strbuf_add(out, open);
  for (int i = 0; i < count; i++) {
    if (i) strbuf_add(out, ", ");
    gen_type_text(out, t->args[i]);
  }
  strbuf_add(out, close);
}

static void tensor_text(StrBuf *out, const GenType *t) {
  if (t->rank == 0) {
    strbuf_add(out, t->name);
    return;
  }
  strbuf_add(out, "Tensor[(");
  for (int i = 0; i < t->rank; i++) {
    if (i) strbuf_add(out, ", ");
    if (t->dims[i] == GEN_ANY) strbuf_add_char(out, '?');
    else strbuf_addf(out, "%d", t->dims[i]);
  }
  strbuf_addf(out, "), %s]", t->name);
}

void gen_type_text(StrBuf *out, const GenType *t) {
  switch (t->kind) {
    case G_TENSOR: tensor_text(out, t); break;
    case G_TUPLE: args_text(out, t, t->count, "(", ")"); break;
    case G_FN:
      args_text(out, t, t->count - 1, "fn (", ") -> ");
      gen_type_text(out, t->args[t->count - 1]);
      break;
    case G_REF: args_text(out, t, 1, "Ref[", "]"); break;
    case G_ADT:
      strbuf_add(out, t->adt->name);
      if (t->count) args_text(out, t, t->count, "[", "]");
      break;
    case G_RIGID: strbuf_add(out, t->name); break;
    case G_VAR: strbuf_addf(out, "%c", 'A' + t->index); break;
  }
}

/* Types without arguments are shared and not copied. */
const GenType *gen_substitute(Arena *a, const GenType *t,
                              const GenType *const *to) {
  if (t->kind == G_VAR) return to[t->index];
  if (t->count == 0) return t;
  GenType *made = ARENA_NEW(a, GenType);
  *made = *t;
  for (int i = 0; i < t->count; i++)
    made->args[i] = gen_substitute(a, t->args[i], to);
  return made;
}

/* One-sided: only the pattern has variables.  So the type of @map's result,
 * List[B], against List[bool] sets B; the argument's A stays open, and whoever
 * calls chooses it. */
bool gen_unify(const GenType *pattern, const GenType *t, const GenType **to) {
  if (pattern->kind == G_VAR) {
    const GenType *known = to[pattern->index];
    if (!known) to[pattern->index] = t;
    return !known || gen_same(known, t);
  }
  bool fits = same_head(pattern, t);
  for (int i = 0; fits && i < t->count; i++)
    fits = gen_unify(pattern->args[i], t->args[i], to);
  return fits;
}

/* --- Nodes -------------------------------------------------------------- */

/* The i-th `$` is the i-th child. */
void gen_print(StrBuf *out, const GenNode *n) {
  int next = 0;
  for (const char *c = n->text; *c; c++)
    if (*c == '$') gen_print(out, n->children[next++]);
    else strbuf_add_char(out, *c);
}

/* The measure by which the reducer tells a simplification.  Nodes and not
 * characters, since a long name is no harder to read than a short one. */
size_t gen_size(const GenNode *n) {
  size_t size = 1;
  for (int i = 0; i < n->count; i++) size += gen_size(n->children[i]);
  return size;
}
