/* Rules of differentiation: from `gradient op(%x, a=$b) -> (%y, %g) {...}` to a
 * function for the types and attributes of one call.
 *
 *   gradient nn.softmax(%x, axis=$axis) -> (%y, %g) { E }
 *   nn.softmax(%x : Tensor[(n, 3), float32], axis=1)
 *   -------------------------------------------------------------------------
 *   def @.. (%y: Tensor[(?, 3), float32], %g: Tensor[(?, 3), float32])
 *     { E with 1 for $axis }
 *
 * Its parameters are those that E mentions, and %g: the reverse sweep keeps
 * nothing else.  It is checked as a text of the library of its own. */
#include "types/gradient_rule.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "ops/rules/einsum.h"
#include "ops/rules/slice.h"
#include "types/check.h"

/* --- Types as text -------------------------------------------------------- */

const TypeExpr *gradient_type(Arena *arena, const Type *t, Span span) {
  TypeExpr *x = ARENA_NEW(arena, TypeExpr);
  *x = (TypeExpr){.span = span, .dtype_span = span};
  if (t->kind == TY_TUPLE) {
    const TypeExpr **args =
        ARENA_ARRAY(arena, const TypeExpr *, (size_t)t->count + 1);
    for (int i = 0; args && i < t->count; i++)
      args[i] = gradient_type(arena, t->args[i], span);
    x->kind = TX_TUPLE;
    x->arg_count = args ? t->count : 0;
    x->args = args;
    x->height = 1;
    return x;
  }
  const DimExpr **dims =
      ARENA_ARRAY(arena, const DimExpr *, (size_t)t->rank + 1);
  for (int i = 0; dims && i < t->rank; i++) {
    DimExpr *d = ARENA_NEW(arena, DimExpr);
    bool number = dim_is_number(t->dims[i]);
    *d = (DimExpr){.kind = number ? DX_NUMBER : DX_ANY,
                   .span = span,
                   .number = number ? dim_value(t->dims[i]) : 0};
    dims[i] = d;
  }
  x->kind = TX_TENSOR;
  x->dtype = (DType)t->dtype;
  x->scalar = t->rank == 0;
  x->dim_count = dims ? t->rank : 0;
  x->dims = dims;
  return x;
}

/* --- Attributes ----------------------------------------------------------- */

/* The name that `x` is, if it is `$name`; or NULL. */
static const Name *variable(const Expr *e) {
  return e->kind == EX_IDENT && *e->name->text == '$' ? e->name : NULL;
}

/* Which attribute of the call the rule binds to that name; -1: none. */
static int bound_attr(const Making *m, const Name *name) {
  const Fn *fn = m->item->expr->fn;
  for (int i = 0; i < fn->attr_count; i++) {
    const AttrExpr *x = fn->attrs[i].value;
    if (x->kind != AX_EXPR || variable(x->expr) != name) continue;
    const OpInfo *op = m->attrs->op;
    for (int k = 0; k < op->attr_count; k++)
      if (!strcmp(attr_name_text(op->attrs[k].name), fn->attrs[i].name->text))
        return k;
  }
  return -1;
}

/* The name of the parameter that holds a computed attribute. */
static const Name *operand_name(const Making *m, int operand) {
  char name[24];
  snprintf(name, sizeof name, "operand%d", operand);
  return name_of(m->p->names, name);
}

/* A computed attribute is an operand of the call, and a parameter here. */
static const Expr *read_operand(Making *m, int operand, Span span) {
  Expr *e = expr_new(m->arena, EX_LOCAL, span);
  e->name = operand_name(m, operand);
  m->uses |= (uint32_t)1 << operand;
  return e;
}

static const AttrExpr *expr_attr(Making *m, const Expr *e) {
  AttrExpr *x = ARENA_NEW(m->arena, AttrExpr);
  *x = (AttrExpr){.kind = AX_EXPR, .span = e->span, .expr = e};
  return x;
}

static const AttrExpr *whole_attr(Making *m, int at, Span span) {
  const AttrValue *v = &m->attrs->values[at];
  if (v->operand >= 0) return expr_attr(m, read_operand(m, v->operand, span));
  return types_written_value(m->arena, &m->attrs->op->attrs[at], v);
}

/* inverse($axes): the axes that undo a transposition; None undoes itself. */
static const AttrExpr *put_inverse(Making *m, int at, const Expr *call) {
  (void)call;
  AttrValue v = m->attrs->values[at];
  m->unknown |= v.operand >= 0;
  Dim *axes =
      ARENA_ARRAY(m->arena, Dim, (size_t)(v.count > 0 ? v.count : 0) + 1);
  for (int i = 0; axes && v.state == AV_SET && i < v.count; i++) {
    int64_t axis = dim_is_number(v.ints[i]) ? dim_value(v.ints[i]) : 0;
    axis += axis < 0 ? v.count : 0;
    if (axis >= 0 && axis < v.count) axes[axis] = dim_of(i);
  }
  if (axes && v.state == AV_SET && v.count > 0) v.ints = axes;
  return types_written_value(m->arena, &m->attrs->op->attrs[at], &v);
}

/* The number that a literal of a rule is; -1: it is none. */
static int64_t literal(const Expr *e) {
  if (e->kind != EX_CONST || e->constant->rank != 0) return -1;
  return tensor_bits_at(e->constant, 0).i32;
}

/* take(%list, i, mode="wrap") */
static const AttrExpr *take_item(Making *m, const Expr *list, const Expr *i) {
  Expr *take = expr_new(m->arena, EX_IDENT, i->span);
  take->name = name_of(m->p->names, "take");
  const Expr **args = ARENA_ARRAY(m->arena, const Expr *, 2);
  AttrExpr *wrap = ARENA_NEW(m->arena, AttrExpr);
  Attr *mode = ARENA_NEW(m->arena, Attr);
  *wrap = (AttrExpr){
      .kind = AX_STRING, .span = i->span, .text = "wrap", .count = 4};
  *mode = (Attr){name_of(m->p->names, "mode"), i->span, wrap};
  if (args) args[0] = list, args[1] = i;
  Expr *e = expr_call(m->arena, i->span, take, args ? 2 : 0, args);
  e->call.attrs = mode;
  e->call.attr_count = 1;
  return expr_attr(m, e);
}

/* item($list, i): number i of a list that is repeated to be long enough. */
static const AttrExpr *put_item(Making *m, int at, const Expr *call) {
  const AttrValue *v = &m->attrs->values[at];
  int64_t i = call->count == 2 ? literal(call->args[1]) : -1;
  if (v->operand >= 0 && i >= 0)
    return take_item(m, read_operand(m, v->operand, call->span), call->args[1]);
  AttrExpr *x = ARENA_NEW(m->arena, AttrExpr);
  *x = (AttrExpr){.kind = AX_INT, .dtype = DTYPE_NONE};
  if (v->operand >= 0 || v->count <= 0 || i < 0 ||
      !dim_is_number(v->ints[i % v->count]))
    m->unknown = true;
  else x->integer = dim_value(v->ints[i % v->count]);
  return x;
}

/* either($a, $b): the word $a, or $b where that is empty. */
static const AttrExpr *put_either(Making *m, int at, const Expr *call) {
  const char *text = m->attrs->values[at].text;
  int other = call->count == 2 && variable(call->args[1])
                  ? bound_attr(m, variable(call->args[1]))
                  : -1;
  bool empty = !text || !*text;
  return whole_attr(m, empty && other >= 0 ? other : at, call->span);
}

/* "..." in an equation: the axes that an operand has beyond its letters. */
enum { REST = '.' };

/* Is it a letter that the term has before? */
static bool is_again(const char *term, size_t i) {
  return term[i] != ' ' && term[i] != REST && memchr(term, term[i], i);
}

/* The result of an equation without one: "..." where an operand has it, then
 * the letters that stand once, in the alphabet's order. */
static void add_implied(StrBuf *out, const char *equation, size_t n) {
  if (memchr(equation, REST, n)) strbuf_add(out, "...");
  for (int letter = 'A'; letter <= 'z'; letter++) {
    int times = 0;
    for (size_t i = 0; i < n; i++) times += equation[i] == letter;
    bool is_letter = (letter <= 'Z' || letter >= 'a');
    if (is_letter && times == 1) strbuf_add_char(out, (char)letter);
  }
}

/* Operand i's term of an equation whose operands' terms have n letters. */
static const char *term_of(const char *equation, size_t n, int64_t i,
                           size_t *len) {
  const char *from = equation, *end = equation + n;
  while (i-- > 0 && from < end) from += strcspn(from, ",") + 1;
  *len = from < end ? strcspn(from, ",-") : 0;
  return from < end ? from : end;
}

static size_t terms_length(const char *equation) {
  const char *arrow = strstr(equation, "->");
  return arrow ? (size_t)(arrow - equation) : strlen(equation);
}

/* The term where each letter that comes again is another one, which the
 * equation does not have: "iji" becomes "ija". */
static void add_apart(StrBuf *out, const char *equation, const char *term,
                      size_t len) {
  char next = 'A';
  for (size_t i = 0; i < len; i++) {
    bool again = is_again(term, i);
    while (again && next < 'z' && (next == '[' || strchr(equation, next)))
      next = next == '[' ? 'a' : (char)(next + 1);
    strbuf_add_char(out, again ? next++ : term[i]);
  }
}

/* adjoint($equation, i): "a,b->c" becomes "a,b,c->b" for operand 1.  Letters
 * that stand twice in its term are taken apart, since a result has each letter
 * once: "ii->i" becomes "iA,i->iA". */
static const AttrExpr *put_adjoint(Making *m, int at, const Expr *call) {
  const char *text = m->attrs->values[at].text;
  int64_t which = call->count == 2 ? literal(call->args[1]) : -1;
  size_t n = terms_length(text), len;
  const char *term = term_of(text, n, which, &len);
  StrBuf out;
  strbuf_init(&out, m->p->mem);
  strbuf_add_len(&out, text, (size_t)(term - text));
  add_apart(&out, text, term, len);
  strbuf_add_len(&out, term + len, (size_t)(text + n - term) - len);
  strbuf_add_char(&out, ',');
  if (text[n]) strbuf_add(&out, text + n + 2);
  else add_implied(&out, text, n);
  strbuf_add(&out, "->");
  add_apart(&out, text, term, len);
  AttrExpr *x = ARENA_NEW(m->arena, AttrExpr);
  char *copy = arena_copy(m->arena, strbuf_text(&out), out.len + 1);
  *x = (AttrExpr){.kind = AX_STRING,
                  .span = call->span,
                  .text = copy ? copy : "",
                  .count = copy ? (int)out.len : 0};
  strbuf_done(&out);
  return x;
}

/* The functions that stand in the place of an attribute. */
static const struct AttrFunction {
  const char *name;
  const AttrExpr *(*put)(Making *m, int at, const Expr *call);
} attr_functions[] = {{"inverse", put_inverse},
                      {"item", put_item},
                      {"either", put_either},
                      {"adjoint", put_adjoint}};

/* Is it a call of what has this name and is no operator? */
static bool calls(const Expr *e, const char *name) {
  return e->kind == EX_CALL && e->call.callee->kind == EX_IDENT &&
         !strcmp(e->call.callee->name->text, name);
}

static const AttrExpr *put_function(Making *m, const Expr *e) {
  if (e->kind != EX_CALL || e->count == 0 || !variable(e->args[0])) return NULL;
  int at = bound_attr(m, variable(e->args[0]));
  for (size_t i = 0;
       at >= 0 && i < sizeof attr_functions / sizeof *attr_functions; i++)
    if (calls(e, attr_functions[i].name))
      return attr_functions[i].put(m, at, e);
  return NULL;
}

/* `was` as the rule has it, `made` with its expressions mapped. */
static const AttrExpr *put_attr(Making *m, const AttrExpr *was,
                                const AttrExpr *made) {
  if (was->kind == AX_LIST) {
    const AttrExpr **items =
        ARENA_ARRAY(m->arena, const AttrExpr *, (size_t)was->count + 1);
    AttrExpr *list = ARENA_NEW(m->arena, AttrExpr);
    *list = *was;
    for (int i = 0; items && i < was->count; i++)
      items[i] = put_attr(m, was->items[i], made->items[i]);
    list->items = items;
    return list;
  }
  if (was->kind != AX_EXPR) return was;
  const AttrExpr *given = put_function(m, was->expr);
  if (given) return given;
  int i = variable(was->expr) ? bound_attr(m, variable(was->expr)) : -1;
  return i < 0 ? made : whole_attr(m, i, was->span);
}

/* Which of the words of the row, "update|add", a text is. */
static int word_number(const AttrSpec *spec, const char *text) {
  int n = 0;
  size_t length = text ? strlen(text) : 0;
  for (const char *at = spec->words; at && *at; n++) {
    size_t size = strcspn(at, "|");
    if (size == length && !strncmp(at, text, size)) return n;
    at += size + (at[size] == '|');
  }
  return -1;
}

/* A number or a truth value, where an expression stands; None is the least
 * number, a word its number among the row's. */
static const Expr *put_value(Making *m, const Expr *e) {
  int i = bound_attr(m, variable(e));
  if (i < 0) return e;
  const AttrSpec *spec = &m->attrs->op->attrs[i];
  const AttrValue *v = &m->attrs->values[i];
  Value bits = {.bits = 0};
  DType dtype = DT_INT32;
  if (v->operand >= 0) return read_operand(m, v->operand, e->span);
  if (spec->type == AT_FLOAT) dtype = DT_FLOAT64, bits.f64 = v->real;
  else if (spec->type == AT_BOOL)
    dtype = DT_BOOL, bits.b = !dim_is(v->integer, 0);
  else if (v->state == AV_NONE) bits.bits = (uint32_t)INT32_MIN;
  else if (spec->type == AT_STRING)
    bits.bits = (uint32_t)word_number(spec, v->text);
  else if (dim_is_number(v->integer))
    bits.bits = (uint32_t)(int32_t)dim_value(v->integer);
  struct Tensor *t = program_scalar(m->p, dtype, bits);
  return t ? expr_const(m->arena, e->span, t) : e;
}

static const Expr *put_attrs(Making *m, const Expr *body) {
  ExprMap map;
  expr_map_start(&map, m->p->mem, m->arena, body);
  while (expr_map_next(&map)) {
    const Expr *e = map.walk.at;
    if (map.walk.event == WALK_ENTER && variable(e) &&
        map.walk.role != ROLE_ATTR)
      expr_map_put(&map, put_value(m, e));
    if (map.walk.event != WALK_LEAVE || e->kind != EX_CALL ||
        e->call.attr_count == 0)
      continue;
    Expr *made = expr_map_own(&map);
    size_t n = (size_t)made->call.attr_count;
    Attr *attrs =
        arena_copy(m->arena, made->call.attrs, n * sizeof *made->call.attrs);
    for (size_t i = 0; attrs && i < n; i++)
      attrs[i].value = put_attr(m, e->call.attrs[i].value, attrs[i].value);
    if (attrs) made->call.attrs = attrs;
  }
  return expr_map_end(&map);
}

/* --- What a rule writes for all types ----------------------------------------
 *
 *   each(%x, %z, E)      (E with %x.0, %z.0, 0 for %x, %z, $each; ...), one for
 *                        each field of operand %x
 *   put(%x, i, E, F...)  the tuple %x, E in the place of field i, then F...
 *   first(%g)            %g, or its first field where it is a tuple
 *   wide(%g)             %g, as float32 where it is of narrower floats or of
 *                        integers
 *   narrow(E, %x)        E, as %x's dtype where that is of narrower floats
 *   number($list, i)     number i of a list that is repeated to be long enough
 *   diagonals($equation, i)
 *                        a number that tells the letters that stand twice in
 *                        operand i's term
 *   if (rank_is(%x, n)) {E} else {F}
 *                        E or F, without a look at the other one; likewise
 *                        is($a, "word"), is($a, 1): has the attribute this
 *                        value?  Where the program computes it, the rule does
 *                        not fit.  is_written($a): is it a literal?
 *                        is_written($a, 1): a literal of this value?
 *                        has_diagonals($equation, i); and slices_rows(%x): does
 *                        strided_slice cut %x along axis 0 alone?
 *   is_one_index(%i, E)  a condition: does the type of %i tell that it names
 *                        one part, as gather_nd reads it?  If so, it is decided
 *                        like those; else it is E
 */

/* NULL: no operand, value or adjoint has this name. */
static const Type *type_of(const Making *m, const Expr *e) {
  const Fn *rule = m->item->expr->fn;
  for (int i = 0; e->kind == EX_LOCAL && i < rule->param_count; i++) {
    if (rule->params[i]->name != e->name) continue;
    int behind = rule->param_count - i; /* 2: the value, 1: its adjoint */
    if (behind <= 2) return m->types[m->count];
    return i < m->own ? m->types[i] : NULL;
  }
  return NULL;
}

const Expr *gradient_field(Arena *arena, const Expr *tuple, int i) {
  return expr_proj(arena, tuple->span, tuple, i);
}

const Expr *gradient_tuple(Arena *arena, Span span, int n,
                           const Expr **fields) {
  Expr *e = expr_new(arena, EX_TUPLE, span);
  e->args = fields;
  e->count = fields ? n : 0;
  return e;
}

/* The body of `each` for field i.  The tuple of `put` stays whole. */
static const Expr *one_of(Making *m, const Expr *each, int i) {
  ExprMap map;
  const Expr *whole = NULL;
  expr_map_start(&map, m->p->mem, m->arena, each->args[each->count - 1]);
  while (expr_map_next(&map)) {
    const Expr *e = map.walk.at;
    if (map.walk.event != WALK_ENTER) continue;
    if (calls(e, "put") && e->count) whole = e->args[0];
    if (e == whole) continue;
    for (int k = 0; e->kind == EX_LOCAL && k + 1 < each->count; k++)
      if (each->args[k]->kind == EX_LOCAL && each->args[k]->name == e->name)
        expr_map_put(&map, gradient_field(m->arena, e, i));
    if (variable(e) && !strcmp(e->name->text, "$each")) {
      struct Tensor *t =
          program_scalar(m->p, DT_INT32, (Value){.bits = (uint32_t)i});
      if (t) expr_map_put(&map, expr_const(m->arena, e->span, t));
    }
  }
  return expr_map_end(&map);
}

static const Expr *put_each(Making *m, const Expr *e) {
  const Type *t = e->count ? type_of(m, e->args[0]) : NULL;
  if (!t || t->kind != TY_TUPLE) return NULL;
  const Expr **fields =
      ARENA_ARRAY(m->arena, const Expr *, (size_t)t->count + 1);
  for (int i = 0; fields && i < t->count; i++) fields[i] = one_of(m, e, i);
  return gradient_tuple(m->arena, e->span, t->count, fields);
}

static const Expr *put_put(Making *m, const Expr *e) {
  const Type *t = e->count >= 3 ? type_of(m, e->args[0]) : NULL;
  if (!t || t->kind != TY_TUPLE) return NULL;
  int n = t->count, more = e->count - 3;
  const Expr **fields =
      ARENA_ARRAY(m->arena, const Expr *, (size_t)(n + more) + 1);
  for (int i = 0; fields && i < n; i++)
    fields[i] = literal(e->args[1]) == i
                    ? e->args[2]
                    : gradient_field(m->arena, e->args[0], i);
  for (int i = 0; fields && i < more; i++) fields[n + i] = e->args[3 + i];
  return gradient_tuple(m->arena, e->span, n + more, fields);
}

/* diagonals($equation, i): the first axis of the letter of each axis of field i
 * of the operand, as digits of base 8 from the last axis to the first; -1: no
 * letter stands twice. */
static int diagonals(Making *m, const Expr *e) {
  int at = e->count == 2 && variable(e->args[0])
               ? bound_attr(m, variable(e->args[0]))
               : -1;
  const char *text = at < 0 ? NULL : m->attrs->values[at].text;
  const Type *x = m->types[0];
  int64_t field = literal(e->args[1]);
  int ranks[EINSUM_MAX];
  Einsum of;
  if (!text || x->count > EINSUM_MAX || field < 0 || field >= x->count)
    return -1;
  for (int i = 0; i < x->count; i++) ranks[i] = x->args[i]->rank;
  if (!einsum_parse(text, x->count, ranks, &of)) return -1;
  const int *letters = of.axes[field];
  int axes = 0;
  bool again = false;
  for (int i = ranks[field]; i-- > 0;) {
    int first = 0;
    while (letters[first] != letters[i]) first++;
    again |= first < i;
    axes = axes * 8 + first;
  }
  return again ? axes : -1;
}

static const Expr *put_diagonals(Making *m, const Expr *e) {
  Value axes = {.bits = (uint32_t)diagonals(m, e)};
  struct Tensor *t = program_scalar(m->p, DT_INT32, axes);
  return t ? expr_const(m->arena, e->span, t) : NULL;
}

/* number($list, i): item(), where no attribute stands. */
static const Expr *put_number(Making *m, const Expr *e) {
  const Name *name = e->count == 2 ? variable(e->args[0]) : NULL;
  int at = name ? bound_attr(m, name) : -1;
  if (at < 0) return NULL;
  const AttrExpr *x = put_item(m, at, e);
  if (x->kind == AX_EXPR) return x->expr;
  struct Tensor *t =
      program_scalar(m->p, DT_INT32, (Value){.i32 = (int32_t)x->integer});
  return t ? expr_const(m->arena, e->span, t) : NULL;
}

static const Expr *put_first(Making *m, const Expr *e) {
  const Type *t = e->count == 1 ? type_of(m, e->args[0]) : NULL;
  if (!t) return NULL;
  return t->kind == TY_TUPLE ? gradient_field(m->arena, e->args[0], 0)
                             : e->args[0];
}

/* wide(%g) and narrow(E, %x): the first argument, or cast_like of it.  Integers
 * have no width of floats: they become float32 alone. */
static const Expr *put_width(Making *m, const Expr *e) {
  const Type *t = e->count ? type_of(m, e->args[e->count - 1]) : NULL;
  if (!t || t->kind != TY_TENSOR) return NULL;
  DType dtype = (DType)t->dtype;
  bool widens = e->count == 1;
  if (dtype_is_float(dtype) ? dtype_size(dtype) >= dtype_size(DT_FLOAT32)
                            : !widens)
    return e->args[0];
  struct Tensor *like =
      program_scalar(m->p, widens ? DT_FLOAT32 : dtype, (Value){.bits = 0});
  Expr *cast = expr_new(m->arena, EX_IDENT, e->span);
  const Expr **args = ARENA_ARRAY(m->arena, const Expr *, 2);
  if (!like || !args) return NULL;
  cast->name = name_of(m->p->names, "cast_like");
  args[0] = e->args[0];
  args[1] = expr_const(m->arena, e->span, like);
  return expr_call(m->arena, e->span, cast, 2, args);
}

/* slices_rows(%x).  A list whose length only the run knows may be as long as %x
 * has axes. */
static bool slices_rows(Making *m, const Expr *e) {
  const Type *x = e->count == 1 ? type_of(m, e->args[0]) : NULL;
  return x && slice_count(m->attrs, x->rank) == 1 &&
         axis_from(dim_value(slice_axis(m->attrs, 0)), x->rank) == 0;
}

/* is_one_index(%i, E).  Where operators are differentiated one by one the
 * dimensions are not known. */
static bool is_one_index(Making *m, const Expr *e) {
  const Type *t = e->count == 2 ? type_of(m, e->args[0]) : NULL;
  for (int i = 1; t && i < t->rank; i++)
    if (!dim_is(t->dims[i], 1)) return false;
  return t && t->rank > 0;
}

/* 1 or 0; -1: the condition is none of those that are decided here. */
static int decided(Making *m, const Expr *e) {
  if (calls(e, "rank_is") && e->count == 2) {
    const Type *t = type_of(m, e->args[0]);
    return t ? t->rank == literal(e->args[1]) : -1;
  }
  if (calls(e, "has_diagonals")) return diagonals(m, e) >= 0;
  if (calls(e, "slices_rows")) return slices_rows(m, e);
  if (calls(e, "is_one_index")) return is_one_index(m, e) ? 1 : -1;
  bool written = calls(e, "is_written") && e->count > 0;
  bool is = (written || calls(e, "is")) && e->count == 2;
  const Name *name = variable(is || written ? e->args[0] : e);
  int at = name ? bound_attr(m, name) : -1;
  if (at < 0) return -1;
  const AttrValue *v = &m->attrs->values[at];
  bool truth = m->attrs->op->attrs[at].type == AT_BOOL;
  bool computed = v->operand >= 0;
  if (written && (computed || !is)) return !computed;
  if (!is && (!truth || computed)) return -1;
  m->unknown |= computed;
  if (!is) return !dim_is(v->integer, 0);
  if (e->args[1]->kind != EX_STRING)
    return v->state == AV_SET && dim_is(v->integer, literal(e->args[1]));
  size_t n = e->args[1]->text.len;
  const char *text = m->attrs->op->attrs[at].type != AT_DTYPE ? v->text
                     : v->dtype == DTYPE_NONE                 ? ""
                                              : dtype_name(v->dtype);
  return text && strlen(text) == n && !memcmp(text, e->args[1]->text.bytes, n);
}

/* NULL: it is written for these types already. */
static const Expr *expanded(Making *m, const Expr *e) {
  if (e->kind == EX_IF) {
    int way = decided(m, e->args[0]);
    return way < 0 ? NULL : e->args[way ? 1 : 2];
  }
  if (calls(e, "is_one_index") && e->count == 2) return e->args[1];
  if (calls(e, "each")) return put_each(m, e);
  if (calls(e, "put")) return put_put(m, e);
  if (calls(e, "diagonals")) return put_diagonals(m, e);
  if (calls(e, "number")) return put_number(m, e);
  if (calls(e, "wide") || calls(e, "narrow")) return put_width(m, e);
  return calls(e, "first") ? put_first(m, e) : NULL;
}

/* An expansion may hold forms that must be expanded, so this repeats until
 * nothing changes. */
static const Expr *expand(Making *m, const Expr *body) {
  for (bool again = true; body && again;) {
    ExprMap map;
    again = false;
    expr_map_start(&map, m->p->mem, m->arena, body);
    while (expr_map_next(&map)) {
      const Expr *e =
          map.walk.event == WALK_ENTER ? expanded(m, map.walk.at) : NULL;
      if (e) expr_map_put(&map, e);
      again |= e != NULL;
    }
    body = expr_map_end(&map);
  }
  return body;
}

const Expr *gradient_body(Making *m) {
  const Expr *body = expand(m, m->item->expr->fn->body);
  return body ? put_attrs(m, body) : NULL;
}

/* --- The function ------------------------------------------------------- */

bool gradient_mentions(Mem *mem, const Expr *body, const Name *name) {
  bool found = false;
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, body);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_LOCAL && w.at->name == name;
  expr_walk_end(&w);
  return found;
}

const Item *gradient_rule(Program *p, const OpInfo *op) {
  Unit *rule = p->find_in_library
                   ? p->find_in_library(p, 'G', name_of(p->names, op->name))
                   : NULL;
  return rule && rule->item_count == 1 ? rule->items : NULL;
}

bool gradient_check(Program *p, Unit *unit, Span rule) {
  unit->source = sources_file(p->sources, rule);
  return types_check(p, unit);
}

static void add_param(Making *m, Fn *fn, Var **params, const Name *name,
                      Span span, const Type *type) {
  params[fn->param_count++] =
      var_new(m->arena, name, span, gradient_type(m->arena, type, span));
}

/* The parameters that the body mentions, with their types.  The operands that
 * the call leaves out are none. */
static Fn *make_fn(Making *m, const Expr *body, uint32_t *uses) {
  const Fn *rule = m->item->expr->fn;
  int n = m->count, named = rule->param_count - 2;
  Fn *fn = ARENA_NEW(m->arena, Fn);
  Var **params = ARENA_ARRAY(m->arena, Var *, (size_t)n + 2);
  if (!params) return NULL;
  *fn = (Fn){.body = body, .params = params};
  *uses = 0;
  for (int i = 0; i < n + 2; i++) {
    bool computed = i >= m->own && i < n;
    const Var *v = rule->params[computed ? 0 : i < n ? i : named + i - n];
    bool used = computed
                    ? m->uses >> i & 1
                    : i == n + 1 || gradient_mentions(m->p->mem, body, v->name);
    if (!used) continue;
    *uses |= (uint32_t)1 << i;
    add_param(m, fn, params, computed ? operand_name(m, i) : v->name, v->span,
              m->types[i]);
  }
  return fn;
}

/* The operands that hold attributes come last. */
static int own_operands(const Attrs *attrs, int count) {
  int own = count;
  for (int i = 0; i < attrs->op->attr_count; i++) {
    int operand = attrs->values[i].operand;
    if (operand >= 0 && operand < own) own = operand;
  }
  return own;
}

GradientStatus types_gradient(Program *p, const Attrs *attrs, int count,
                              const Type *const *types, Gradient *out) {
  const Item *item = gradient_rule(p, attrs->op);
  int own = own_operands(attrs, count - 1);
  if (!item || item->expr->fn->param_count < own + 2) return GRADIENT_NONE;
  static const char mark[] = "'";
  char name[96];
  snprintf(name, sizeof name, "%s%s%u", attrs->op->name, mark, p->next_var_id);
  Unit *unit = unit_new(p, NULL);
  const Type **all = ARENA_ARRAY(&unit->arena, const Type *, (size_t)count + 2);
  for (int i = 0; all && i < count; i++) all[i] = types[i];
  if (all) all[count] = types[count - 1];
  Making m = {.p = p,
              .arena = &unit->arena,
              .item = item,
              .attrs = attrs,
              .count = count - 1,
              .own = own,
              .types = all};
  const Expr *body = all ? gradient_body(&m) : NULL;
  Fn *fn = body ? make_fn(&m, body, &out->uses) : NULL;
  Item *made = ARENA_NEW(m.arena, Item);
  Expr *e = expr_new(m.arena, EX_FN, item->expr->span);
  *made = *item;
  made->kind = ITEM_DEF;
  made->name = name_of(p->names, name);
  made->expr = e;
  e->fn = fn;
  unit->items = made;
  unit->item_count = 1;
  bool ok = fn && !m.unknown && gradient_check(p, unit, item->span);
  out->function = ok ? scope_global(&p->user, made->name) : NULL;
  if (out->function) return GRADIENT_OK;
  program_drop_unit(p, unit);
  return m.unknown ? GRADIENT_UNKNOWN : GRADIENT_FAILED;
}

/* --- Messages ------------------------------------------------------------- */

const char *gradient_refusal(Arena *arena, const char *name, const OpInfo *op,
                             GradientStatus status) {
  const char *text;
  if (status == GRADIENT_UNKNOWN)
    text = arena_printf(arena,
                        "`%s` cannot be differentiated here: an attribute that "
                        "its derivative needs must be a literal",
                        name);
  else if (status == GRADIENT_NONE)
    text = arena_printf(
        arena, "`%s` has no derivative, because %s", name,
        op->no_gradient ? op->no_gradient : "there is no rule for this call");
  else
    text = arena_printf(arena,
                        "the rule of differentiation of `%s` does not fit "
                        "these operands",
                        name);
  return text ? text : "this has no derivative";
}

/* --- The operators of a sweep -------------------------------------------- */

const Attrs *adjoint_op(Arena *arena, AdjointOp which) {
  static const OpId ids[] = {
      [ADJOINT_ADD] = OP_ADD,         [ADJOINT_COLLAPSE] = OP_COLLAPSE_SUM_LIKE,
      [ADJOINT_ROWS] = OP_SCATTER_ND, [ADJOINT_PRODUCT] = OP_NN_MATMUL,
      [ADJOINT_SUM] = OP_SUM,         [ADJOINT_JOIN] = OP_CONCATENATE};
  const Dim rows = dim_of(0);
  Attrs *attrs = attrs_new(arena, op_info(ids[which]));
  if (which == ADJOINT_PRODUCT) attr_set_number(attrs, ATTR_transpose_a, 1);
  if (which == ADJOINT_ROWS) attr_set_text(attrs, ATTR_mode, "add");
  if (which == ADJOINT_SUM) attr_set_list(arena, attrs, ATTR_axis, 1, &rows);
  return attrs;
}
