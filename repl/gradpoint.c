/* Values of a type by chance.  Of a data type a constructor is drawn, the same
 * on one level of all arguments, so that lists have one length, and from the
 * third level on one that does not lead back to the type.  Names of
 * dimensions are 2 and 3 by turns, and what is not known is 2. */
#include "repl/gradpoint.h"

#include <stdio.h>
#include <string.h>

enum {
  SLOTS_MOST = 10000,
  PIECES_MOST = 10 * SLOTS_MOST,
  LEVELS_DRAWN = 3,
  LEVELS_MOST = 60
};

double point_chance(Point *pt, double low, double high) {
  return low + (high - low) * (double)(splitmix64(&pt->chance) >> 11) * 0x1p-53;
}

void put_number(StrBuf *out, double x) {
  if (x < 0) strbuf_addf(out, "(%.17gf64)", x);
  else strbuf_addf(out, "%.17gf64", x);
}

static bool refuse(Point *pt, const char *why) {
  if (!pt->refused)
    pt->refused = arena_printf(&pt->arena, "`%s` %s", pt->path, why);
  return false;
}

static void put(Point *pt, const char *text) {
  VEC_PUSH(&pt->pieces, (Piece){.kind = PIECE_TEXT, .text = text});
}

/* --- Tensors ------------------------------------------------------------- */

/* The size of a dimension: names have one each. */
static int64_t size_of(Point *pt, const Type *fn, Dim d) {
  if (dim_is_number(d)) return dim_value(d);
  size_t n = (size_t)fn->param_count;
  const void **keys = ARENA_ARRAY(&pt->arena, const void *, n + 1);
  Dim *to = ARENA_ARRAY(&pt->arena, Dim, n + 1);
  if (!keys || !to || !dim_is_form(d)) return 2;
  for (size_t i = 0; i < n; i++) {
    keys[i] = fn->params[i];
    to[i] = dim_of(2 + (int64_t)(i % 2));
  }
  d = dim_substitute(types_dims(pt->p->types), d, (int)n, keys, to);
  return dim_is_number(d) ? dim_value(d) : 2;
}

static void put_element(Point *pt, DType dtype, const char *path) {
  if (dtype_is_float(dtype)) {
    PointSlot slot = {path, point_chance(pt, pt->low, pt->high)};
    VEC_PUSH(&pt->pieces, (Piece){.kind = PIECE_SLOT, .slot = pt->slots.len});
    VEC_PUSH(&pt->slots, slot);
  } else if (dtype == DT_BOOL) {
    put(pt, splitmix64(&pt->chance) & 1 ? "True" : "False");
  } else {
    put(pt,
        arena_printf(&pt->arena, "%d", (int)(splitmix64(&pt->chance) % 2) + 1));
  }
}

/* Rows of axis `axis`, whose elements have the path so far. */
static void put_rows(Point *pt, const Type *t, const int64_t *shape, int axis,
                     const char *index) {
  if (axis == t->rank) {
    const char *path = t->rank
                           ? arena_printf(&pt->arena, "%s[%s]", pt->path, index)
                           : pt->path;
    put_element(pt, (DType)t->dtype, path);
    return;
  }
  put(pt, "[");
  for (int64_t i = 0; i < shape[axis]; i++) {
    if (i) put(pt, ", ");
    put_rows(pt, t, shape, axis + 1,
             arena_printf(&pt->arena, "%s%s%lld", index, axis ? ", " : "",
                          (long long)i));
  }
  put(pt, "]");
}

static bool put_tensor(Point *pt, const Type *fn, const Type *t) {
  int64_t shape[RANK_MAX], count = 1;
  for (int i = 0; i < t->rank; i++) {
    shape[i] = size_of(pt, fn, t->dims[i]);
    if (shape[i] > SLOTS_MOST || (count *= shape[i]) > SLOTS_MOST)
      return refuse(pt, "is too large to be drawn");
  }
  const char *name = dtype_name((DType)t->dtype);
  bool cast = t->dtype != DT_FLOAT64 && t->dtype != DT_BOOL;
  if (count == 0) {
    StrBuf text;
    strbuf_init(&text, pt->p->mem);
    for (int i = 0; i < t->rank; i++)
      strbuf_addf(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    put(pt, arena_printf(&pt->arena, "zeros(shape=[%s], dtype=\"%s\")",
                         strbuf_text(&text), name));
    strbuf_done(&text);
    return true;
  }
  if (cast) put(pt, "cast(");
  put_rows(pt, t, shape, 0, "");
  if (cast) put(pt, arena_printf(&pt->arena, ", dtype=\"%s\")", name));
  return true;
}

/* --- Other values -------------------------------------------------------- */

static bool put_value(Point *pt, const Type *fn, const Type *t, int level);

static bool put_field(Point *pt, const Type *fn, const Type *t, int level,
                      const char *field) {
  const char *path = pt->path;
  pt->path = arena_printf(&pt->arena, "%s.%s", path, field);
  bool ok = put_value(pt, fn, t, level + 1);
  pt->path = path;
  return ok;
}

static bool leads_back(const Ctor *ctor) {
  for (int i = 0; i < ctor->field_count; i++) {
    const Type *t = ctor->fields[i];
    if (t->kind == TY_ADT) return true;
    for (int k = 0; k < t->count; k++)
      if (t->args[k]->kind == TY_ADT) return true;
  }
  return false;
}

static const Ctor *draw_ctor(Point *pt, const Adt *adt, int level) {
  uint64_t level_draws = pt->seed * 64 + (uint64_t)level;
  int first = (int)(splitmix64(&level_draws) % (uint64_t)adt->ctor_count);
  for (int i = 0; level >= LEVELS_DRAWN && i < adt->ctor_count; i++) {
    const Ctor *ctor = &adt->ctors[(first + i) % adt->ctor_count];
    if (!leads_back(ctor)) return ctor;
  }
  /* At the top, avoid a constructor without fields: it has no derivative. */
  if (level == 0 && adt->ctors[first].field_count == 0)
    first = (first + 1) % adt->ctor_count;
  return &adt->ctors[first];
}

static bool put_data(Point *pt, const Type *fn, const Type *t, int level) {
  if (t->adt->ctor_count == 0)
    return refuse(pt, "has a type without constructors");
  const Ctor *ctor = draw_ctor(pt, t->adt, level);
  put(pt, ctor->name->text);
  if (ctor->field_count) put(pt, "(");
  for (int i = 0; i < ctor->field_count; i++) {
    const Type *field =
        type_substitute(pt->p->types, ctor->fields[i], t->adt->param_count,
                        t->adt->params, t->args, NULL);
    const char *label = ctor->labels && ctor->labels[i].name
                            ? ctor->labels[i].name->text
                            : arena_printf(&pt->arena, "%d", i);
    if (i) put(pt, ", ");
    if (!put_field(pt, fn, field, level, label)) return false;
  }
  if (ctor->field_count) put(pt, ")");
  return true;
}

/* What a cell holds is a constant. */
static bool put_cell(Point *pt, const Type *fn, const Type *t, int level) {
  if (level > 0) return refuse(pt, "is a cell inside an argument");
  VEC_PUSH(&pt->pieces, (Piece){.kind = PIECE_CELL});
  put(pt, "ref(");
  size_t first = pt->pieces.len, slots = pt->slots.len;
  if (!put_value(pt, fn, t->args[0], 1)) return false;
  for (size_t i = first; i < pt->pieces.len; i++) {
    Piece *piece = &pt->pieces.data[i];
    if (piece->kind != PIECE_SLOT) continue;
    *piece = (Piece){.kind = PIECE_TEXT,
                     .text = arena_printf(&pt->arena, "(%.17gf64)",
                                          pt->slots.data[piece->slot].value)};
  }
  pt->slots.len = slots;
  put(pt, ")");
  VEC_PUSH(&pt->pieces, (Piece){.kind = PIECE_CELL_END});
  return true;
}

static bool put_value(Point *pt, const Type *fn, const Type *t, int level) {
  if (level > LEVELS_MOST) return refuse(pt, "nests too deep to be drawn");
  if (pt->slots.len > SLOTS_MOST || pt->pieces.len > PIECES_MOST)
    return refuse(pt, "is too large to be drawn");
  switch (t->kind) {
    case TY_TENSOR: return put_tensor(pt, fn, t);
    case TY_ADT: return put_data(pt, fn, t, level);
    case TY_REF: return put_cell(pt, fn, t, level);
    case TY_VAR: put_element(pt, DT_FLOAT64, pt->path); return true;
    case TY_FN: return refuse(pt, "is a function");
    case TY_TUPLE: break;
    default: return refuse(pt, "has a type that is not known");
  }
  put(pt, "(");
  for (int i = 0; i < t->count; i++) {
    if (i) put(pt, ", ");
    const char *field = arena_printf(&pt->arena, "%d", i);
    if (!put_field(pt, fn, t->args[i], level, field)) return false;
  }
  put(pt, t->count == 1 ? ",)" : ")");
  return true;
}

/* --- Functions of any shape ---------------------------------------------- */

static const TypeExpr *dim_argument(Arena *a, int64_t size) {
  DimExpr *d = ARENA_NEW(a, DimExpr);
  const DimExpr **dims = ARENA_ARRAY(a, const DimExpr *, 1);
  TypeExpr *t = ARENA_NEW(a, TypeExpr);
  *d = (DimExpr){.kind = DX_NUMBER, .number = size};
  if (dims) dims[0] = d;
  *t = (TypeExpr){.kind = TX_DIM, .dim_count = dims != NULL, .dims = dims};
  return t;
}

/* A dimension of 2, a shape (2, 3, 2, ...), float64 or int32. */
static const TypeExpr *argument_of(Arena *a, ParamKind kind, int rank) {
  if (kind == KIND_DIM) return dim_argument(a, 2);
  TypeExpr *t = ARENA_NEW(a, TypeExpr);
  *t = (TypeExpr){.kind = TX_TENSOR,
                  .dtype = kind == KIND_INT ? DT_INT32 : DT_FLOAT64,
                  .scalar = true};
  if (kind != KIND_SHAPE) return t;
  const TypeExpr **dims = ARENA_ARRAY(a, const TypeExpr *, (size_t)rank + 1);
  for (int i = 0; dims && i < rank; i++) dims[i] = dim_argument(a, 2 + i % 2);
  *t = (TypeExpr){.kind = TX_TUPLE,
                  .arg_count = dims ? rank : 0,
                  .args = dims,
                  .height = 1};
  return t;
}

void put_instance(Program *p, const Global *f, const char *name, int rank,
                  StrBuf *out) {
  const TypeExpr *scheme = f->scheme;
  Arena a;
  arena_init(&a, p->mem);
  size_t n = (size_t)scheme->param_count;
  const TypeExpr **args = ARENA_ARRAY(&a, const TypeExpr *, n + 1);
  for (size_t i = 0; args && i < n; i++)
    args[i] = argument_of(&a, scheme->params[i].kind, rank);
  strbuf_addf(out, "def @%s(", name);
  for (int i = 0; args && i < scheme->arg_count; i++) {
    const TypeExpr *t = type_expr_put(p->mem, &a, scheme->args[i], (int)n,
                                      scheme->params, args);
    strbuf_addf(out, "%s%%a%d: ", i ? ", " : "", i);
    if (t) type_expr_print(out, t);
  }
  strbuf_addf(out, ") { @%s(", f->name->text);
  for (int i = 0; i < scheme->arg_count; i++)
    strbuf_addf(out, "%s%%a%d", i ? ", " : "", i);
  strbuf_add(out, ") }");
  arena_done(&a);
}

/* --- Points -------------------------------------------------------------- */

static void start(Point *pt, Program *p, uint64_t seed, double low,
                  double high) {
  *pt = (Point){.p = p, .seed = seed, .chance = seed, .low = low, .high = high};
  arena_init(&pt->arena, p->mem);
  VEC_INIT(&pt->pieces, p->mem);
  VEC_INIT(&pt->slots, p->mem);
}

void put_drawn_param(Program *p, const char *path, const Type *type,
                     uint64_t seed, StrBuf *out) {
  static const Type none = {.kind = TY_TUPLE};
  Point pt;
  int64_t shape[RANK_MAX];
  start(&pt, p, seed, 0.1, 0.9);
  pt.path = path;
  for (int i = 0; i < type->rank; i++)
    shape[i] = size_of(&pt, &none, type->dims[i]);
  put_rows(&pt, type, shape, 0, "");
  strbuf_addf(out, "%s=", path);
  for (size_t i = 0; i < pt.pieces.len; i++) {
    const Piece *piece = &pt.pieces.data[i];
    if (piece->kind == PIECE_TEXT) strbuf_add(out, piece->text);
    else put_number(out, pt.slots.data[piece->slot].value);
  }
  point_done(&pt);
}

bool point_draw(Point *pt, Program *p, const Type *fn, const Fn *names,
                uint64_t seed, double low, double high) {
  start(pt, p, seed, low, high);
  for (int i = 0; i < fn->count; i++) {
    const char *name =
        i < names->param_count ? names->params[i]->name->text : "";
    pt->path = arena_printf(&pt->arena, "%%%s", name);
    if (i) put(pt, ", ");
    if (!put_value(pt, fn, fn->args[i], 0)) return false;
  }
  return true;
}

void point_done(Point *pt) {
  VEC_DONE(&pt->pieces);
  VEC_DONE(&pt->slots);
  arena_done(&pt->arena);
}

void point_put(const Point *pt, const double *at, bool tangents, StrBuf *out) {
  bool inside = false;
  for (size_t i = 0; i < pt->pieces.len; i++) {
    const Piece *piece = &pt->pieces.data[i];
    if (piece->kind == PIECE_CELL && tangents) inside = true;
    if (piece->kind == PIECE_TEXT && !inside) strbuf_add(out, piece->text);
    if (piece->kind == PIECE_SLOT && !inside) put_number(out, at[piece->slot]);
    if (piece->kind == PIECE_CELL_END && tangents) {
      strbuf_add(out, "()");
      inside = false;
    }
  }
}
