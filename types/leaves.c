/* Calls of `map_leaves`, typed and written out.
 *
 *   v1 : T, ..., vn : T    f : fn(L, ..., L) -> L for each float tensor L in T
 *   ---------------------------------------------------------------------------
 *   map_leaves(f, v1, ..., vn) : T
 *
 * Once T is known the call becomes what it means: f once for each L, a function
 * for each data type that T reaches and that holds floats, and the value that
 * they build of v1, ..., vn.  For a tuple of a matrix and a list,
 *
 *   { let %leaf1 = f; let %leaf2 = f;
 *     same_structure(%a, %b);
 *     let %like2 = %b;
 *     let %map1 = fn (%x, %y) {
 *       match? ((%x, %y)) {
 *         (Cons(%p, %q), Cons(%r, %s)) => Cons(%leaf2(%p, %r), %map1(%q, %s)),
 *         (Nil, Nil) => Nil
 *       }
 *     };
 *     (%leaf1(%a.0, %like2.0), %map1(%a.1, %like2.1)) }
 *
 * So the machines, derivatives and passes need to know nothing of it. */
#include "types/infer.h"
#include "types/resolve.h"

#include <string.h>

/* A type may hold ever larger ones, without end, and be small as a graph where
 * it is large as a tree: so many parts are looked at. */
enum { PARTS_MOST = 1 << 18 };

/* A type of float tensors, and f at it. */
typedef struct Leaf {
  Ty *type;
  Var *fn;
} Leaf;

/* A data type, and the function that maps its values. */
typedef struct Map {
  Ty *type;
  Ty **ctors; /* the constructors' types there */
  Var *fn;
  bool floats; /* there are some in it */
} Map;

typedef struct Mapping {
  Infer *in;
  Constraint *c;
  Arena *arena; /* of the program */
  Span span;
  int n;        /* values */
  int parts;    /* of types, looked at so far */
  Ty *unknown;  /* a part that inference will find; or NULL */
  Ty *rigid;    /* a part that only a caller knows; or NULL */
  bool refused; /* the function is none for the leaves, which was reported */
  VEC(Leaf) leaves;
  VEC(Map) maps;
} Mapping;

static bool is_endless(const Mapping *m) { return m->parts > PARTS_MOST; }

static bool is_float(const Ty *t) {
  return t->kind == K_TENSOR && dtype_is_float((DType)t->dtype);
}

/* --- What the type holds -------------------------------------------------- */

static bool same_slots(const Ty *a, const Ty *b) {
  for (int i = 0; i < a->rank; i++) {
    const Slot *x = slot_root(a->dims[i]), *y = slot_root(b->dims[i]);
    if (x != y && (dim_is_hole(x->value) || !dim_same(x->value, y->value)))
      return false;
  }
  return true;
}

static bool same_parts(Mapping *m, const Ty *a, const Ty *b);

/* Are they the same for f and for the functions that are made here? */
static bool same(Mapping *m, Ty *a, Ty *b) {
  a = ty_head(a);
  b = ty_head(b);
  if (a == b || ++m->parts > PARTS_MOST) return true;
  if (a->kind != b->kind || !infer_enter(m->in)) return false;
  bool found = same_parts(m, a, b);
  m->in->depth--;
  return found;
}

static bool same_parts(Mapping *m, const Ty *a, const Ty *b) {
  switch (a->kind) {
    case K_TENSOR:
      return a->dtype == b->dtype && a->rank == b->rank &&
             a->any_rank == b->any_rank && same_slots(a, b);
    case K_DIM: return same_slots(a, b);
    case K_ADT:
      if (a->adt != b->adt) return false;
      break;
    case K_TUPLE:
    case K_REF:
    case K_FN: break;
    default: return false;
  }
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++)
    if (!same(m, a->args[i], b->args[i])) return false;
  return a->kind != K_FN || same(m, a->result, b->result);
}

static Map *map_of(Mapping *m, Ty *t) {
  for (size_t i = 0; i < m->maps.len; i++)
    if (same(m, m->maps.data[i].type, t)) return &m->maps.data[i];
  return NULL;
}

static Leaf *leaf_of(Mapping *m, Ty *t) {
  for (size_t i = 0; i < m->leaves.len; i++)
    if (same(m, m->leaves.data[i].type, t)) return &m->leaves.data[i];
  return NULL;
}

/* Notes the leaves and data types in `t`, and what of it is not known. */
static void look(Mapping *m, Ty *t) {
  Infer *in = m->in;
  t = ty_head(t);
  if (++m->parts > PARTS_MOST) return;
  if (t->kind == K_META && !m->unknown) m->unknown = t;
  if (t->kind == K_RIGID && !m->rigid) m->rigid = t;
  if (is_float(t) && !leaf_of(m, t)) VEC_PUSH(&m->leaves, (Leaf){.type = t});
  bool data = t->kind == K_ADT && t->adt->ctor_count > 0;
  if (data && !map_of(m, t)) VEC_PUSH(&m->maps, (Map){.type = t});
  bool deep = t->kind == K_TUPLE || t->kind == K_ADT;
  if (!deep || !infer_enter(in)) return;
  for (int i = 0; t->kind == K_TUPLE && i < t->count; i++) look(m, t->args[i]);
  /* The fields' types depend on the arguments. */
  for (int i = 0; t->kind == K_ADT && i < t->count; i++) {
    const Ty *arg = ty_head(t->args[i]);
    if (arg->kind == K_META && !m->unknown) m->unknown = (Ty *)arg;
  }
  in->depth--;
}

/* The fields of each constructor at the type. */
static void look_into(Mapping *m, size_t at) {
  Infer *in = m->in;
  Ty *t = m->maps.data[at].type;
  const Adt *adt = t->adt;
  Ty **ctors = ty_array(in, adt->ctor_count);
  m->maps.data[at].ctors = ctors;
  for (int i = 0; ctors && i < adt->ctor_count; i++) {
    Ty **targs;
    ctors[i] = adt->ctors[i].type
                   ? ty_instantiate(in, ty_of_type(in, adt->ctors[i].type),
                                    adt->param_count, adt->params, &targs)
                   : in->error;
    if (ctors[i]->kind != K_FN) continue;
    ty_unify(in, ctors[i]->result, t, NULL);
    for (int k = 0; k < ctors[i]->count; k++) look(m, ctors[i]->args[k]);
  }
}

static bool has_floats(Mapping *m, Ty *t) {
  t = ty_head(t);
  if (is_float(t)) return true;
  if (t->kind == K_ADT) {
    const Map *map = map_of(m, t);
    return map && map->floats;
  }
  for (int i = 0; t->kind == K_TUPLE && i < t->count; i++)
    if (has_floats(m, t->args[i])) return true;
  return false;
}

static bool ctors_have_floats(Mapping *m, const Map *map) {
  for (int i = 0; i < map->type->adt->ctor_count; i++)
    for (int k = 0; map->ctors[i]->kind == K_FN && k < map->ctors[i]->count;
         k++)
      if (has_floats(m, map->ctors[i]->args[k])) return true;
  return false;
}

static void find_floats(Mapping *m) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < m->maps.len; i++) {
      Map *map = &m->maps.data[i];
      if (map->floats || !ctors_have_floats(m, map)) continue;
      map->floats = changed = true;
    }
  }
}

/* --- Expressions ---------------------------------------------------------- */

static const Expr *use_of(Mapping *m, Var *var) {
  Expr *e = expr_new(m->arena, EX_VAR, m->span);
  e->var = var;
  return e;
}

static const Expr *field(Mapping *m, const Expr *tuple, int i) {
  return expr_proj(m->arena, m->span, tuple, i);
}

/* A node is typed once, so each use of a value has nodes of its own. */
static const Expr *again(Mapping *m, const Expr *e) {
  if (e->kind == EX_PROJ) return field(m, again(m, e->args[0]), (int)e->index);
  Expr *copy = expr_new(m->arena, (ExprKind)e->kind, e->span);
  *copy = *e;
  return copy;
}

static const Expr *tuple_of(Mapping *m, int n, const Expr **fields) {
  Expr *e = expr_new(m->arena, EX_TUPLE, m->span);
  e->args = fields;
  e->count = fields ? n : 0;
  return e;
}

static const Expr *call_of(Mapping *m, Var *fn, const Expr **values) {
  for (int i = 0; values && i < m->n; i++) values[i] = again(m, values[i]);
  return expr_call(m->arena, m->span, use_of(m, fn), values ? m->n : 0, values);
}

/* The mapped value of type `t`, of expressions for the values there. */
static const Expr *mapped(Mapping *m, Ty *t, const Expr **values) {
  t = ty_head(t);
  if (!has_floats(m, t)) return again(m, values[0]);
  const Expr **parts = ARENA_ARRAY(m->arena, const Expr *, (size_t)m->n + 1);
  if (!parts) return values[0];
  if (t->kind != K_TUPLE) {
    memcpy(parts, values, (size_t)m->n * sizeof *parts);
    return call_of(m, is_float(t) ? leaf_of(m, t)->fn : map_of(m, t)->fn,
                   parts);
  }
  const Expr **fields =
      ARENA_ARRAY(m->arena, const Expr *, (size_t)t->count + 1);
  for (int i = 0; fields && i < t->count; i++) {
    for (int k = 0; k < m->n; k++) parts[k] = field(m, values[k], i);
    fields[i] = mapped(m, t->args[i], parts);
  }
  return tuple_of(m, t->count, fields);
}

static Var *var_named(Mapping *m, const char *what, int i) {
  const char *text = arena_printf(m->arena, "%s%d", what, i);
  return var_late(m->in, name_of(m->in->p->names, text), m->span);
}

static Pattern *pattern_new(Mapping *m, PatternKind kind, int count,
                            const Pattern **fields) {
  Pattern *p = ARENA_NEW(m->arena, Pattern);
  *p = (Pattern){.kind = kind,
                 .span = m->span,
                 .parens = count > 0,
                 .height = count > 0,
                 .count = count,
                 .fields = fields};
  return p;
}

/* (C(%p, ...), C(%q, ...)) => C(mapped, ...) */
static Arm arm_of(Mapping *m, const Map *map, int tag) {
  const Ctor *ctor = &map->type->adt->ctors[tag];
  int count = map->ctors[tag]->kind == K_FN ? ctor->field_count : 0;
  size_t room = (size_t)count + 1;
  const Pattern **ctors =
      ARENA_ARRAY(m->arena, const Pattern *, (size_t)m->n + 1);
  const Expr **fields = ARENA_ARRAY(m->arena, const Expr *, room);
  Var **vars = ARENA_ARRAY(m->in->arena, Var *, room * (size_t)m->n);
  const Expr **parts = ARENA_ARRAY(m->arena, const Expr *, (size_t)m->n + 1);
  if (!ctors || !fields || !vars || !parts) return (Arm){.span = m->span};
  for (int k = 0; k < m->n; k++) {
    const Pattern **of = ARENA_ARRAY(m->arena, const Pattern *, room);
    for (int i = 0; of && i < count; i++) {
      Pattern *p = pattern_new(m, PT_VAR, 0, NULL);
      p->var = vars[k * count + i] =
          var_named(m, k ? "other" : "part", k * count + i);
      of[i] = p;
    }
    Pattern *p = pattern_new(m, PT_CTOR, of ? count : 0, of);
    p->name = ctor->name;
    p->ctor = ctor;
    if (p->height) p->height = 1;
    ctors[k] = p;
  }
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < m->n; k++) parts[k] = use_of(m, vars[k * count + i]);
    fields[i] = mapped(m, map->ctors[tag]->args[i], parts);
  }
  Expr *callee = expr_new(m->arena, EX_CTOR, m->span);
  callee->ctor = ctor;
  Expr *made = expr_call(m->arena, m->span, callee, count, fields);
  if (count == 0) made->sugar = SUGAR_CTOR;
  Pattern *whole = (Pattern *)ctors[0];
  if (m->n > 1) {
    whole = pattern_new(m, PT_TUPLE, m->n, ctors);
    whole->height = 2;
  }
  return (Arm){.span = m->span, .pattern = whole, .body = made};
}

static Binding binding(Mapping *m, BindingKind kind, Var *var,
                       const Expr *value) {
  return (Binding){.kind = kind, .span = m->span, .var = var, .value = value};
}

/* let %map1 = fn (%part, %other) { match? (...) { arms } } */
static Binding let_map(Mapping *m, const Map *map, bool first) {
  int count = map->type->adt->ctor_count;
  Fn *fn = ARENA_NEW(m->arena, Fn);
  Match *match = ARENA_NEW(m->arena, Match);
  Arm *arms = ARENA_ARRAY(m->arena, Arm, (size_t)count);
  Var **params = ARENA_ARRAY(m->arena, Var *, (size_t)m->n);
  const Expr **uses = ARENA_ARRAY(m->arena, const Expr *, (size_t)m->n + 1);
  const Expr **scrutinee = ARENA_ARRAY(m->arena, const Expr *, 1);
  Expr *e = expr_new(m->arena, EX_MATCH, m->span);
  Expr *literal = expr_new(m->arena, EX_FN, m->span);
  literal->fn = fn;
  if (!arms || !params || !uses || !scrutinee)
    return binding(m, BIND_LET, map->fn, expr_new(m->arena, EX_ERROR, m->span));
  for (int k = 0; k < m->n; k++) {
    params[k] = var_named(m, k ? "with" : "of", k);
    uses[k] = use_of(m, params[k]);
  }
  for (int i = 0; i < count; i++) arms[i] = arm_of(m, map, i);
  *match = (Match){
      .partial = m->n > 1 && count > 1, .arm_count = count, .arms = arms};
  scrutinee[0] = m->n > 1 ? tuple_of(m, m->n, uses) : uses[0];
  e->args = scrutinee;
  e->count = 1;
  e->match = match;
  *fn = (Fn){.param_count = m->n, .params = params, .body = e};
  return binding(m, first ? BIND_LET : BIND_AND, map->fn, literal);
}

/* --- The call ------------------------------------------------------------- */

static Why argument(Mapping *m, int i) {
  return (Why){.kind = WHY_ARGUMENT,
               .name = name_of(m->in->p->names, m->c->op->name),
               .index = i,
               .span = m->c->e->args[i]->span};
}

static const LeafText *text_of(const Mapping *m) {
  const Checker *c = m->in->c;
  for (size_t i = 0; i < c->leaf_texts.len; i++)
    if (c->leaf_texts.data[i]->call == m->c->e) return c->leaf_texts.data[i];
  return NULL;
}

/* The function once more, and its type, which should be `wanted`: for the first
 * leaf it is the argument itself, unless that is a literal of kinds. */
static const Expr *function_again(Mapping *m, size_t leaf, Ty *wanted,
                                  Ty **type) {
  Infer *in = m->in;
  const Expr *e = m->c->e->args[0];
  const LeafText *text = text_of(m);
  const Expr *made = NULL;
  const Fn *literal = text ? text->text->fn : NULL;
  const KindArg *args = NULL;
  *type = m->c->args[0];
  if (literal &&
      params_generic(literal->type_param_count, literal->type_params)) {
    args = m->refused ? NULL : literal_args(in, text->text, wanted);
    m->refused = !args;
    if (!args) return e;
  } else if (leaf == 0) return e;
  if (text) made = resolve_leaf_again(in->c, text, args, leaf == 0);
  infer_grow_vars(in);
  Expr *node = made ? (Expr *)made : (Expr *)again(m, e);
  if (e->kind == EX_GLOBAL && e->g.global->instance_of)
    node->g.global = (Global *)e->g.global->instance_of;
  *type = infer_expr(in, node);
  return node;
}

/* f : fn(L, ..., L) -> L */
static Binding let_leaf(Mapping *m, size_t i) {
  Infer *in = m->in;
  Leaf *leaf = &m->leaves.data[i];
  Ty *type, **params = ty_array(in, m->n);
  leaf->fn = var_named(m, "leaf", (int)i + 1);
  for (int k = 0; params && k < m->n; k++) params[k] = leaf->type;
  Ty *wanted = params ? ty_fn(in, m->n, params, leaf->type) : in->error;
  const Expr *f = function_again(m, i, wanted, &type);
  require_same(in, type, wanted, argument(m, 0));
  var_info(in, leaf->fn)->type = wanted;
  leaf->fn->value = f;
  return binding(m, BIND_LET, leaf->fn, f);
}

static const Expr *structure_check(Mapping *m) {
  const Expr **values = ARENA_ARRAY(m->arena, const Expr *, (size_t)m->n + 1);
  for (int i = 0; values && i < m->n; i++)
    values[i] = again(m, m->c->e->args[i + 1]);
  Expr *callee = expr_new(m->arena, EX_OP, m->span);
  callee->op = OP_SAME_STRUCTURE;
  Expr *call = expr_call(m->arena, m->span, callee, values ? m->n : 0, values);
  call->call.bound = attrs_new(m->arena, op_info(OP_SAME_STRUCTURE));
  return call;
}

/* { let %map1 = ...; value }, or the value where no functions are needed. */
static const Expr *value_of(Mapping *m, Ty *type, const Expr **values) {
  size_t n = m->maps.len;
  Binding *bound = ARENA_ARRAY(m->arena, Binding, n + 1);
  int count = 0;
  if (!bound) return m->c->e;
  for (size_t i = 0; i < n; i++)
    m->maps.data[i].fn = var_named(m, "map", (int)i + 1);
  for (size_t i = 0; i < n; i++) {
    if (!m->maps.data[i].floats) continue;
    bound[count] = let_map(m, &m->maps.data[i], count == 0);
    count++;
  }
  const Expr *value = mapped(m, type, values);
  return count ? expr_block(m->arena, m->span, count, bound, value) : value;
}

/* A value that has the structure of the first has its type, too. */
static Binding let_value(Mapping *m, int i, Ty *type, const Expr **use) {
  const Expr *e = m->c->e->args[i + 1];
  Var *var = var_named(m, "like", i + 1);
  infer_expr(m->in, e);
  var_info(m->in, var)->type = type;
  *use = use_of(m, var);
  return binding(m, BIND_LET, var, e);
}

/* The call becomes a block.  Its parts are typed as they are made. */
static void write_out(Mapping *m, Ty *type) {
  Infer *in = m->in;
  size_t room = m->leaves.len + (size_t)m->n + 1;
  Binding *bound = ARENA_ARRAY(m->arena, Binding, room);
  const Expr **values = ARENA_ARRAY(m->arena, const Expr *, (size_t)m->n + 1);
  int count = 0;
  if (!bound || !values) return;
  for (size_t i = 0; i < m->leaves.len; i++) bound[count++] = let_leaf(m, i);
  values[0] = m->c->e->args[1];
  if (m->n > 1) {
    bound[count] = binding(m, BIND_ITEM, NULL, structure_check(m));
    infer_expr(in, bound[count++].value);
  }
  for (int i = 1; i < m->n; i++)
    bound[count++] = let_value(m, i, type, &values[i]);
  const Expr *value = value_of(m, type, values);
  const Expr *block = expr_block(m->arena, m->span, count, bound, value);
  Ty *made = infer_expr(in, value);
  Expr *e = (Expr *)m->c->e;
  e->kind = EX_BLOCK;
  e->sugar = SUGAR_NONE;
  e->count = 0;
  e->args = NULL;
  e->block = block->block;
  require_flow(in, made, m->c->result,
               (Why){.kind = WHY_OPERATOR, .span = m->span});
}

/* --- Reports -------------------------------------------------------------- */

static void give_up(Mapping *m) {
  Why why = {.kind = WHY_OPERATOR, .span = m->span};
  require_flow(m->in, m->in->error, m->c->result, why);
  require_flow(m->in, m->in->error, m->c->args[0], why);
}

/* False after a report. */
static bool check_known(Mapping *m, Ty *type) {
  Infer *in = m->in;
  Span at = m->c->e->args[1]->span;
  if (is_endless(m)) {
    diag_error(in->p->diags, E0202, at,
               "`map_leaves` finds no end of the types in %s",
               ty_text(in, type));
    return false;
  }
  if (m->rigid) {
    Diag *d = diag_error(in->p->diags, E0202, at,
                         "`map_leaves` must know what %s holds: `%s` may be "
                         "any type",
                         ty_text(in, type), ty_text(in, m->rigid));
    diag_hint(d,
              "write the type itself for `%s`, or take the function that "
              "maps as a parameter",
              ty_text(in, m->rigid));
    return false;
  }
  if (m->leaves.len > 0) return true;
  Diag *d = diag_error(in->p->diags, E0201, at,
                       "`map_leaves` maps tensors of floats, and %s holds none",
                       ty_text(in, type));
  if (type->kind == K_REF) diag_hint(d, "ref_read gives what the cell holds");
  else if (type->kind != K_FN) diag_hint(d, "3f is a float, 3 is none");
  else if (ty_head(m->c->args[0])->kind != K_FN)
    diag_hint(d, "the function comes first");
  return false;
}

/* --- The constraint ------------------------------------------------------- */

static void run_mapping(Mapping *m) {
  Infer *in = m->in;
  Constraint *c = m->c;
  Ty *type = ty_head(c->args[1]);
  look(m, type);
  for (size_t i = 0; i < m->maps.len && !is_endless(m); i++)
    if (!m->unknown) look_into(m, i);
  if (m->unknown && !m->rigid) {
    constraint_wait(in, m->unknown, c);
    return;
  }
  c->solved = c->gone = true;
  if (type->kind == K_ERROR || !check_known(m, type)) {
    give_up(m);
    return;
  }
  find_floats(m);
  uint32_t level = in->level;
  Definition *home = in->home;
  in->level = c->level;
  in->home = c->home;
  write_out(m, type);
  in->level = level;
  in->home = home;
}

void run_leaves(Infer *in, Constraint *c) {
  Mapping m = {.in = in,
               .c = c,
               .arena = &in->p->arena,
               .span = c->span,
               .n = c->count - 1};
  VEC_INIT(&m.leaves, in->mem);
  VEC_INIT(&m.maps, in->mem);
  run_mapping(&m);
  VEC_DONE(&m.leaves);
  VEC_DONE(&m.maps);
}

/* Is the type known, and none of a function? */
static bool is_no_function(const Ty *t) {
  return t->kind != K_FN && t->kind != K_META && t->kind != K_ERROR;
}

Ty *infer_map_leaves(Infer *in, const Expr *e, Ty **args) {
  if (is_no_function(ty_head(args[0]))) {
    report_no_function(in, e, args);
    return in->error;
  }
  Constraint *c = constraint_new(in, C_LEAVES, e);
  c->op = op_info(e->call.callee->op);
  c->count = e->count;
  c->args = args;
  c->result = ty_meta(in);
  c->home = in->home;
  c->level = in->level;
  Mapping m = {.in = in, .c = c};
  for (int i = 2; i < e->count; i++)
    require_same(in, args[i], args[1], argument(&m, i));
  constraint_start(in, c);
  return c->result;
}
