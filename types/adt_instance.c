/* Data types and aliases that are resolved by instance:
 *
 *   type Layer[s: Shape, d: Float] { Layer(w: Tensor[(s..., 1), d]) }
 *   Layer[(2, n), float32]    the instance at s of rank 2, d = float32, which
 *                             has two Dim parameters, applied to 2 and n
 *
 * What instance.c does for functions, and for the same reason: rank and dtype
 * decide how a value lies in memory.  An instance is a data type like any
 * other, so nothing after the checker knows of this.  Its fields are resolved
 * from the text, in which the parameters mean the instance's ranks and dtypes.
 *
 * Which instance an annotation means, resolve_type.c finds; which one a use of
 * a constructor means, instance.c; a pattern's, pattern.c. */
#include "types/resolve.h"

enum { ADT_INSTANCES_MAX = 10000 };

bool params_generic(int count, const TypeParam *params) {
  for (int i = 0; i < count; i++)
    if (kind_info[params[i].kind].solve == SOLVE_INSTANCE) return true;
  return false;
}

bool same_kind_args(int count, const KindArg *a, const KindArg *b) {
  for (int i = 0; i < count; i++)
    if (a[i].rank != b[i].rank || a[i].dtype != b[i].dtype) return false;
  return true;
}

const char *kind_args_text(Arena *arena, int count, const TypeParam *params,
                           const KindArg *args) {
  const char *text = "";
  for (int i = 0; i < count; i++) {
    const TypeParam *p = &params[i];
    const char *between = *text ? ", " : "";
    if (kind_info[p->kind].solve != SOLVE_INSTANCE) continue;
    text = p->kind == KIND_SHAPE
               ? arena_printf(arena, "%s%s%s of rank %d", text, between,
                              p->name->text, args[i].rank)
               : arena_printf(arena, "%s%s%s = %s", text, between,
                              p->name->text, dtype_name(args[i].dtype));
  }
  return text;
}

void typevar_add_axes(Checker *c, Arena *arena, TypeVar *var,
                      const char *between) {
  const TypeVar **axes = ARENA_ARRAY(arena, const TypeVar *, (size_t)var->rank);
  if (!axes) var->rank = 0;
  for (int i = 0; i < var->rank; i++) {
    const char *text =
        arena_printf(&c->arena, "%s%s%d", var->name->text, between, i);
    axes[i] = typevar_new(c->p->types, name_of(c->p->names, text), var->span,
                          KIND_DIM);
  }
  var->axes = axes;
}

/* What the text's parameters mean, and the parameters that the instance has:
 * for each shape its axes, for a dtype none.  False when memory ran out. */
static bool make_params(Checker *c, Adt *made, AdtWork *work,
                        const KindArg *args) {
  const AdtDecl *text = work->decl;
  Arena *arena = &c->p->arena;
  size_t most = 0;
  for (int i = 0; i < text->param_count; i++) most += 1 + (size_t)args[i].rank;
  const TypeVar **vars =
      ARENA_ARRAY(&c->arena, const TypeVar *, (size_t)text->param_count);
  const TypeVar **params = ARENA_ARRAY(arena, const TypeVar *, most);
  if (!vars || !params) return false;
  for (int i = 0; i < text->param_count; i++) {
    const TypeParam *p = &text->params[i];
    TypeVar *var = typevar_new(c->p->types, p->name, p->span, p->kind);
    bool solved = kind_info[p->kind].solve == SOLVE_INSTANCE;
    vars[i] = var;
    if (!solved) params[made->param_count++] = var;
    var->dtype = solved ? args[i].dtype : DTYPE_NONE;
    var->rank = solved ? args[i].rank : 0;
    if (p->kind == KIND_SHAPE) typevar_add_axes(c, arena, var, ".");
    for (int k = 0; k < var->rank; k++)
      params[made->param_count++] = var->axes[k];
  }
  work->vars = vars;
  made->params = params;
  return true;
}

/* An earlier text's type is resolved among what that text's names mean now, not
 * what this text is about to define. */
static Scope *scope_of(Checker *c, const Adt *generic) {
  if (generic->library) return &c->p->library;
  bool here = ptrmap_get(&c->scope.adts, generic->name) == generic;
  return here ? &c->scope : &c->p->user;
}

static Adt *instance_new(Checker *c, Adt *generic, const KindArg *args) {
  Arena *arena = &c->p->arena;
  size_t count = (size_t)generic->param_count;
  Adt *made = ARENA_NEW(arena, Adt);
  AdtWork *work = ARENA_NEW(&c->arena, AdtWork);
  *made = *generic;
  *work = (AdtWork){.adt = made,
                    .decl = generic->decl,
                    .unit = generic->unit,
                    .scope = scope_of(c, generic)};
  made->is_generic = false;
  made->instances = NULL;
  made->instance_of = generic;
  made->next_instance = generic->instances;
  made->kind_args = arena_copy(arena, args, count * sizeof *args);
  made->param_count = 0;
  made->ctors = arena_copy(arena, generic->ctors,
                           (size_t)made->ctor_count * sizeof *made->ctors);
  if (!made->ctors) made->ctor_count = 0;
  for (int i = 0; i < made->ctor_count; i++) {
    made->ctors[i].adt = made;
    made->ctors[i].scheme = NULL;
  }
  if (!made->kind_args || !make_params(c, made, work, args)) return NULL;
  if (made->is_alias) made->pending = work;
  generic->instances = made;
  VEC_PUSH(&c->adt_instances, made);
  VEC_PUSH(&c->adts, work);
  return made;
}

Adt *adt_instance(Checker *c, Adt *generic, const KindArg *args, Span asked) {
  for (Adt *at = generic->instances; at; at = at->next_instance)
    if (same_kind_args(generic->param_count, at->kind_args, args)) return at;
  const Diags *diags = c->p->diags;
  size_t first = diags->list.len;
  if (c->adt_instances.len >= ADT_INSTANCES_MAX) {
    diag_error(c->p->diags, E0214, asked,
               "the program asks for more than %d instances of data types",
               ADT_INSTANCES_MAX);
    return NULL;
  }
  Adt *made = instance_new(c, generic, args);
  resolve_adts(c);
  for (size_t i = first; i < diags->list.len && span_exists(asked); i++)
    diag_note(diags->list.data[i], asked, "this asks for `%s` at %s",
              generic->name->text,
              kind_args_text(&c->arena, generic->param_count,
                             generic->decl->params, args));
  return made;
}

void adt_instances_forget(Checker *c, size_t first) {
  while (c->adt_instances.len > first) {
    Adt *made = VEC_POP(&c->adt_instances);
    ((Adt *)made->instance_of)->instances = made->next_instance;
  }
}

/* The least of each kind: what is wrong there is wrong in all instances. */
void check_generic_adts(Checker *c) {
  static const DType usual[] = {DT_FLOAT32, DT_INT32};
  for (size_t i = 0; i < c->generic_adts.len; i++) {
    Adt *generic = c->generic_adts.data[i];
    size_t count = (size_t)generic->param_count;
    KindArg *args = ARENA_ARRAY(&c->arena, KindArg, count);
    for (size_t k = 0; args && k < count; k++) {
      const KindInfo *kind = &kind_info[generic->params[k]->kind];
      args[k].dtype = DTYPE_NONE;
      if (kind->member) args[k].dtype = usual[!kind->member(usual[0])];
    }
    if (args) adt_instance(c, generic, args, SPAN_NONE);
  }
}
