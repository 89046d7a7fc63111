/* Attributes as written to the record that rules and kernels read: defaults,
 * conversion by the kind that the row declares, and shape-like attributes that
 * are expressions, which become operands.
 *
 *   written            record (AttrValue)
 *   axis=1             state SET, integer 1
 *   newshape=[2, %n]   state SET, ints [2, ?], operand 1: stack((2, %n))
 *   axis=None          state NONE
 *   not written        the row's default
 *
 * Inference writes what is known of an expression into the record beside it, so
 * that rules can tell ranks and dimensions before the program runs (known.c).
 *
 * `dtype` DTYPE_NONE in an AttrExpr marks an integer of a metadata section,
 * whose records hold numbers and indices alike. */
#include "types/resolve.h"

#include <string.h>

#include "ir/foreign.h"

const MetaEntry *find_meta(const Unit *unit, const char *key, int64_t index) {
  for (int i = 0; i < unit->meta_count; i++) {
    const MetaEntry *m = &unit->meta[i];
    if (m->index == index && strcmp(m->key->text, key) == 0) return m;
  }
  return NULL;
}

/* --- Conversion -------------------------------------------------------------
 * Each answers whether the written value is of its kind. */

static bool read_int(Arena *arena, const AttrExpr *x, AttrValue *v) {
  (void)arena;
  v->integer = dim_of(x->integer);
  return x->kind == AX_INT && dim_is_number(v->integer);
}

/* An integer is a number, too: alpha=1. */
static bool read_float(Arena *arena, const AttrExpr *x, AttrValue *v) {
  (void)arena;
  v->real = x->kind == AX_FLOAT ? x->real : (double)x->integer;
  return x->kind == AX_FLOAT || x->kind == AX_INT;
}

/* 0 and 1 stand for False and True in metadata and in TVM's text. */
static bool read_bool(Arena *arena, const AttrExpr *x, AttrValue *v) {
  (void)arena;
  v->integer = dim_of(x->integer != 0);
  return x->kind == AX_BOOL ||
         (x->kind == AX_INT && (x->integer == 0 || x->integer == 1));
}

static bool read_string(Arena *arena, const AttrExpr *x, AttrValue *v) {
  if (x->kind != AX_STRING) return false;
  v->text = arena_strndup(arena, x->text, (size_t)x->count);
  return true;
}

/* The empty string names none; lacks_dtype says where it may stand. */
static bool read_dtype(Arena *arena, const AttrExpr *x, AttrValue *v) {
  (void)arena;
  if (x->kind != AX_STRING) return false;
  v->dtype = dtype_find(x->text, (size_t)x->count);
  return v->dtype != DTYPE_NONE || x->count == 0;
}

static bool read_ints(Arena *arena, const AttrExpr *x, AttrValue *v) {
  if (x->kind != AX_LIST) return false;
  Dim *ints = ARENA_ARRAY(arena, Dim, (size_t)x->count);
  v->count = ints ? x->count : 0;
  v->ints = ints;
  for (int i = 0; i < v->count; i++) {
    AttrValue item;
    if (!read_int(arena, x->items[i], &item)) return false;
    ints[i] = item.integer;
  }
  return true;
}

static bool read_int_or_ints(Arena *arena, const AttrExpr *x, AttrValue *v) {
  v->count = COUNT_SCALAR;
  return x->kind == AX_LIST ? read_ints(arena, x, v) : read_int(arena, x, v);
}

/* A list of lists, such as pad_width=[[0, 0], [1, 1]]. */
static bool read_lists(Arena *arena, const AttrExpr *x, AttrValue *v) {
  if (x->kind != AX_LIST) return false;
  AttrValue *lists = ARENA_ARRAY(arena, AttrValue, (size_t)x->count);
  v->count = lists ? x->count : 0;
  v->lists = lists;
  for (int i = 0; i < v->count; i++) {
    lists[i] = (AttrValue){.state = AV_SET, .operand = -1};
    if (!read_ints(arena, x->items[i], &lists[i])) return false;
  }
  return true;
}

static bool read_floats(Arena *arena, const AttrExpr *x, AttrValue *v) {
  if (x->kind != AX_LIST) return false;
  double *reals = ARENA_ARRAY(arena, double, (size_t)x->count);
  v->count = reals ? x->count : 0;
  v->reals = reals;
  for (int i = 0; i < v->count; i++) {
    AttrValue item;
    if (!read_float(arena, x->items[i], &item)) return false;
    reals[i] = item.real;
  }
  return true;
}

/* The message names what is wanted by the same row that reads it. */
static const struct {
  bool (*read)(Arena *arena, const AttrExpr *x, AttrValue *v);
  const char *wanted;
} readers[] = {
    [AT_INT] = {read_int, "an integer"},
    [AT_FLOAT] = {read_float, "a number"},
    [AT_BOOL] = {read_bool, "True or False"},
    [AT_STRING] = {read_string, "a string"},
    [AT_DTYPE] = {read_dtype, "a dtype such as \"float32\""},
    [AT_INTS] = {read_ints, "a list of integers such as [1, 2]"},
    [AT_INT_OR_INTS] = {read_int_or_ints, "an integer or a list of integers"},
    [AT_LISTS] = {read_lists, "a list of lists of integers"},
    [AT_FLOATS] = {read_floats, "a list of numbers such as [0.5, 1]"},
};

bool types_read_value(Arena *arena, const AttrSpec *spec, const AttrExpr *x,
                      AttrValue *v) {
  *v = (AttrValue){.state = x->kind == AX_NONE ? AV_NONE : AV_SET,
                   .operand = -1,
                   .dtype = DTYPE_NONE,
                   .count = COUNT_SCALAR};
  if (x->kind == AX_NONE) return spec->optional;
  return spec->type != AT_IGNORED && readers[spec->type].read(arena, x, v);
}

/* Does the value hold an integer that fits no attribute? */
static bool is_too_low(const AttrExpr *x) {
  if (x->kind == AX_INT) return x->integer < DIM_LEAST;
  for (int i = 0; x->kind == AX_LIST && i < x->count; i++)
    if (is_too_low(x->items[i])) return true;
  return false;
}

/* Is the text the name of a parameter that is a dtype? */
static bool names_dtype(Resolver *r, const AttrExpr *x) {
  if (x->kind != AX_STRING) return false;
  const TypeVar *var = ptrmap_get(&r->type_vars, name_of(r->p->names, x->text));
  return var && kind_info[var->kind].member;
}

/* What was probably meant by a value of the wrong kind. */
static void hint_kind(Resolver *r, Diag *d, const AttrSpec *spec,
                      const AttrExpr *x) {
  bool ints = spec->type == AT_INTS || spec->type == AT_INT_OR_INTS;
  const Expr *e = x->kind == AX_EXPR ? x->expr : NULL;
  if (is_too_low(x)) {
    diag_hint(d, "an attribute's integers are at least %lld",
              (long long)DIM_LEAST);
  } else if (ints && x->kind == AX_INT) {
    diag_hint(d, "a list of one is written [%lld]", (long long)x->integer);
  } else if (ints && e && e->kind == EX_TUPLE) {
    diag_hint(d, "a list stands in brackets, as in [1, 2]");
  } else if (spec->type == AT_DTYPE && e && e->kind == EX_IDENT) {
    diag_hint(d, "a dtype stands in quotes: \"%s\"", e->name->text);
  } else if (spec->type == AT_STRING && e && e->kind == EX_IDENT) {
    diag_hint(d, "a string stands in quotes: \"%s\"", e->name->text);
  } else if (spec->type == AT_DTYPE && names_dtype(r, x)) {
    diag_hint(d, "the name of a parameter stands without quotes: write %s=%s",
              attr_name_text(spec->name), x->text);
  } else if (spec->type == AT_DTYPE && x->kind == AX_STRING) {
    Suggestion s = suggestion_for(x->text);
    for (int i = 0; i < DTYPE_COUNT; i++) suggestion_offer(&s, dtype_name(i));
    const char *hint = foreign_hint(x->text, strlen(x->text), FOREIGN_TYPE);
    const char *refusal = dtype_refusal(x->text, (size_t)x->count);
    if (refusal) diag_hint(d, "%s", refusal);
    else if (s.best) diag_hint(d, "did you mean \"%s\"?", s.best);
    else if (hint) diag_hint(d, "%s", hint);
  } else if (e && !attr_may_be_computed(spec->type)) {
    diag_hint(d,
              "`%s` is fixed when the program is written; its value cannot "
              "be computed",
              attr_name_text(spec->name));
  }
}

static void wrong_kind(Resolver *r, const OpInfo *op, const AttrSpec *spec,
                       const AttrExpr *x) {
  Diag *d = diag_error(
      r->p->diags, E0111, x->span, "attribute `%s` of `%s` must be %s",
      attr_name_text(spec->name), op->name, readers[spec->type].wanted);
  hint_kind(r, d, spec, x);
}

/* --- Expressions --------------------------------------------------------- */

/* The operand's number is its index among the call's operands; bind_whole
 * (solve.c) reads rank and length from its type. */
void attr_bind_expr(const OpInfo *op, int i, const Expr *value, Attrs *attrs,
                    Operands *operands) {
  AttrType type = op->attrs[i].type;
  bool scalar = type == AT_INT || type == AT_FLOAT || type == AT_BOOL;
  attrs->values[i] =
      (AttrValue){.state = AV_SET,
                  .operand = operands->count,
                  .integer = DIM_ANY,
                  .count = scalar ? COUNT_SCALAR : COUNT_UNKNOWN};
  operands->items[operands->count++] = value;
}

/* Lists nest no deeper than the parser lets them. */
static bool holds_expr(const AttrExpr *x) {
  if (x->kind != AX_LIST) return x->kind == AX_EXPR;
  for (int i = 0; i < x->count; i++)
    if (holds_expr(x->items[i])) return true;
  return false;
}

/* The parameter that a name means; NULL: none. */
static const TypeVar *named_param(const Resolver *r, const AttrExpr *x) {
  const Expr *e = x->kind == AX_EXPR ? x->expr : NULL;
  if (!e || e->kind != EX_IDENT) return NULL;
  return ptrmap_get(&r->type_vars, e->name);
}

/* The shape that stands for a whole list, `s`, or for items of one, `s...`. */
static const TypeVar *named_shape(const Resolver *r, const AttrExpr *x,
                                  bool item) {
  const TypeVar *var = named_param(r, x);
  if (!var || var->kind != KIND_SHAPE) return NULL;
  return (x->expr->sugar == SUGAR_SPLAT) == item ? var : NULL;
}

/* The items of a list under construction: what is computed, and what is known
 * of it, which is the literals. */
typedef VEC(const Expr *) Exprs;
typedef struct Items {
  Exprs exprs;
  VEC(Dim) known;
} Items;

static void add_item(Items *list, const Expr *e, Dim known) {
  VEC_PUSH(&list->exprs, e);
  VEC_PUSH(&list->known, known);
}

/* The instance has as many items as the shape has axes, also where no value
 * tells how long one is. */
static void add_axes(Resolver *r, Items *list, Span span,
                     const TypeVar *shape) {
  for (int i = 0; i < shape->rank; i++) {
    const Expr *axis = resolve_dim_value(r, span, shape->axes[i]);
    if (!axis) report_no_axis(r, span, shape);
    add_item(list, axis ? axis : resolve_error(r, span), DIM_ANY);
  }
}

static bool add_items(Resolver *r, Items *list, const AttrExpr *item) {
  const TypeVar *shape = named_shape(r, item, true);
  if (shape) {
    add_axes(r, list, item->span, shape);
    return true;
  }
  if (item->kind == AX_INT) {
    /* A metadata section tells no dtype. */
    DType dtype = item->dtype == DTYPE_NONE ? DT_INT32 : item->dtype;
    add_item(list, resolve_int(r, item->span, dtype, item->integer),
             dim_of(item->integer));
  } else if (item->kind == AX_EXPR) {
    add_item(list, resolve_expr(r, item->expr), DIM_ANY);
  }
  return item->kind == AX_INT || item->kind == AX_EXPR;
}

/* The operand of a list in brackets. */
static const Expr *stack_of(Resolver *r, Span span, Exprs *items) {
  Expr *tuple = expr_new(r->arena, EX_TUPLE, span);
  int count = (int)items->len;
  tuple->args = VEC_TO_ARENA(items, r->arena);
  tuple->count = tuple->args ? count : 0;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  args[0] = tuple;
  Expr *stack = resolve_op_call(r, span, OP_STACK, 1, args);
  stack->sugar = SUGAR_LIST;
  return stack;
}

/* A shape that has no dimensions is a literal. */
static void set_list(Resolver *r, Span span, Items *list, AttrValue *v,
                     Operands *operands) {
  int count = (int)list->exprs.len;
  *v = (AttrValue){.state = AV_SET,
                   .operand = count ? operands->count : -1,
                   .dtype = DTYPE_NONE,
                   .integer = DIM_ANY,
                   .count = count,
                   .ints = VEC_TO_ARENA(&list->known, r->arena)};
  if (!v->ints) v->count = 0;
  if (count > 0)
    operands->items[operands->count++] = stack_of(r, span, &list->exprs);
}

/* [%t, 0, n]: the operand is the stack of all; literals stand in the record,
 * too.  `s` alone is the list of its dimensions. */
static bool bind_list(Resolver *r, const AttrExpr *x, AttrValue *v,
                      Operands *operands) {
  Items list;
  VEC_INIT(&list.exprs, r->c->mem);
  VEC_INIT(&list.known, r->c->mem);
  bool fits = true;
  const TypeVar *shape = named_shape(r, x, false);
  if (shape) add_axes(r, &list, x->span, shape);
  for (int i = 0; !shape && fits && i < x->count; i++)
    fits = add_items(r, &list, x->items[i]);
  if (fits) set_list(r, x->span, &list, v, operands);
  VEC_DONE(&list.exprs);
  VEC_DONE(&list.known);
  return fits;
}

static void items_clear(Items *list) {
  VEC_CLEAR(&list->exprs);
  VEC_CLEAR(&list->known);
}

/* One row of a list of lists: its stack goes to `rows`, and what is known of it
 * to the record. */
static bool bind_row(Resolver *r, const AttrExpr *x, Items *row, Exprs *rows,
                     AttrValue *v) {
  items_clear(row);
  for (int i = 0; i < x->count; i++)
    if (!add_items(r, row, x->items[i])) return false;
  *v = (AttrValue){.state = AV_SET, .operand = -1, .count = x->count};
  v->ints = VEC_TO_ARENA(&row->known, r->arena);
  VEC_PUSH(rows, stack_of(r, x->span, &row->exprs));
  return v->ints != NULL;
}

/* [[%k, 0], [0, %k]]: the operand is the matrix, so rows are of one length. */
static bool bind_lists(Resolver *r, const AttrExpr *x, AttrValue *v,
                       Operands *operands) {
  int count = x->kind == AX_LIST ? x->count : 0;
  for (int i = 0; i < count; i++)
    if (x->items[i]->kind != AX_LIST || x->items[i]->count == 0 ||
        x->items[i]->count != x->items[0]->count)
      return false;
  AttrValue *lists = ARENA_ARRAY(r->arena, AttrValue, (size_t)count);
  Items row;
  Exprs rows;
  VEC_INIT(&row.exprs, r->c->mem);
  VEC_INIT(&row.known, r->c->mem);
  VEC_INIT(&rows, r->c->mem);
  bool fits = lists && count > 0;
  for (int i = 0; fits && i < count; i++)
    fits = bind_row(r, x->items[i], &row, &rows, &lists[i]);
  *v = (AttrValue){.state = AV_SET,
                   .operand = operands->count,
                   .dtype = DTYPE_NONE,
                   .integer = DIM_ANY,
                   .count = fits ? count : 0,
                   .lists = lists};
  if (fits) operands->items[operands->count++] = stack_of(r, x->span, &rows);
  VEC_DONE(&row.exprs);
  VEC_DONE(&row.known);
  VEC_DONE(&rows);
  return fits;
}

/* An expression where the row takes none is a mistake of kind, as is a list for
 * an attribute that is one number. */
static void bind_expr_attr(Resolver *r, const OpInfo *op, int i,
                           const AttrExpr *x, Attrs *attrs,
                           Operands *operands) {
  const AttrSpec *spec = &op->attrs[i];
  bool list = spec->type == AT_INTS || spec->type == AT_INT_OR_INTS;
  bool lists = spec->type == AT_LISTS;
  if (!attr_may_be_computed(spec->type) ||
      (x->kind == AX_LIST && !list && !lists)) {
    wrong_kind(r, op, spec, x);
  } else if (x->kind == AX_EXPR && !(list && named_shape(r, x, false))) {
    const Expr *value = resolve_expr(r, x->expr);
    attr_bind_expr(op, i, value, attrs, operands);
  } else if (!(lists ? bind_lists : bind_list)(r, x, &attrs->values[i],
                                               operands)) {
    wrong_kind(r, op, spec, x);
  }
}

/* --- One attribute ------------------------------------------------------- */

/* In metadata an optional attribute is the index of a node; node 0 is None. */
static bool is_null_node(const AttrExpr *x) {
  return x->kind == AX_INT && x->dtype == DTYPE_NONE && x->integer == 0;
}

/* "" names no dtype; it is a value where it is the default. */
static bool lacks_dtype(const AttrSpec *spec, const AttrValue *v) {
  return spec->type == AT_DTYPE && v->dtype == DTYPE_NONE &&
         !(spec->text && !*spec->text);
}

/* The order matters: None and an ignored attribute are taken whatever their
 * kind, an expression goes to the operands, and only what is left is read by
 * its kind. */
static void bind_attr(Resolver *r, const OpInfo *op, int i, const AttrExpr *x,
                      Attrs *attrs, Operands *operands) {
  const AttrSpec *spec = &op->attrs[i];
  AttrValue *v = &attrs->values[i];
  if (spec->type == AT_IGNORED) return;
  if (x->kind == AX_NONE || (spec->optional && is_null_node(x))) {
    *v = (AttrValue){.state = AV_NONE, .operand = -1, .dtype = DTYPE_NONE};
    if (!spec->optional) wrong_kind(r, op, spec, x);
    return;
  }
  const TypeVar *param = named_param(r, x);
  if (spec->type == AT_DTYPE && param && kind_info[param->kind].member) {
    *v = (AttrValue){.state = AV_SET, .operand = -1, .dtype = param->dtype};
    return;
  }
  if (holds_expr(x)) {
    bind_expr_attr(r, op, i, x, attrs, operands);
    return;
  }
  *v = (AttrValue){.state = AV_SET,
                   .operand = -1,
                   .dtype = DTYPE_NONE,
                   .count = COUNT_SCALAR};
  if (!readers[spec->type].read(r->arena, x, v) || lacks_dtype(spec, v))
    wrong_kind(r, op, spec, x);
}

static int find_attr(const OpInfo *op, const Name *name) {
  for (int i = 0; i < op->attr_count; i++)
    if (strcmp(attr_name_text(op->attrs[i].name), name->text) == 0) return i;
  return -1;
}

/* "its attributes are `a`, `b`"  Those that are read for Relay's sake and
 * ignored are not offered. */
static const char *known_attrs(Resolver *r, const OpInfo *op) {
  const char *text = NULL;
  for (int i = 0; i < op->attr_count; i++) {
    if (op->attrs[i].type == AT_IGNORED) continue;
    const char *name = attr_name_text(op->attrs[i].name);
    text = text ? arena_printf(r->arena, "%s, `%s`", text, name)
                : arena_printf(r->arena, "its attributes are `%s`", name);
  }
  return text ? text : "it has none";
}

/* The nearest name, what a word of another language is here, or all names. */
static void unknown_attr(Resolver *r, const OpInfo *op, const Attr *attr) {
  Diag *d =
      diag_error(r->p->diags, E0109, attr->span, "`%s` has no attribute `%s`",
                 op->name, attr->name->text);
  Suggestion s = suggestion_for(attr->name->text);
  for (int i = 0; i < op->attr_count; i++)
    suggestion_offer(&s, attr_name_text(op->attrs[i].name));
  const char *word = attr->name->text;
  const char *hint = foreign_hint(word, strlen(word), FOREIGN_ATTR);
  if (s.best) diag_hint(d, "did you mean `%s`?", s.best);
  else diag_hint(d, "%s", hint ? hint : known_attrs(r, op));
}

/* --- The record ---------------------------------------------------------- */

/* Which attributes were written. */
typedef uint32_t Given;

/* What Relay writes for an attribute whose value is an argument. */
static bool holds_nothing(const AttrExpr *x) {
  return x->kind == AX_NONE || (x->kind == AX_LIST && x->count == 0) ||
         (x->kind == AX_INT && x->integer == 0) ||
         (x->kind == AX_FLOAT && x->real == 0);
}

/* The attribute has a value already.  A second value that equals the default is
 * accepted when the first is an argument of the dyn. spelling. */
static bool given_before(Resolver *r, const OpInfo *op, int i, const Attr *attr,
                         const Attrs *attrs, Given given) {
  bool named = given >> i & 1;
  if (!named && attrs->values[i].operand < 0) return false;
  if (!named && holds_nothing(attr->value)) return true;
  Diag *d = diag_error(r->p->diags, E0116, attr->span,
                       "`%s` has the attribute `%s` twice", op->name,
                       attr->name->text);
  if (!named) diag_hint(d, "its value is an argument of this spelling");
  return true;
}

static void bind_all(Resolver *r, const OpInfo *op, int count, const Attr *list,
                     Attrs *attrs, Operands *operands, Given *given);

/* meta[relay.attrs.X][n] stands for all the attributes of the record.  An entry
 * of the metadata section is looked up, not copied: several calls may name one
 * record. */
static void bind_record(Resolver *r, const OpInfo *op, const AttrExpr *x,
                        Attrs *attrs, Operands *operands, Given *given) {
  const MetaEntry *m =
      x->kind == AX_META ? find_meta(r->unit, x->text, x->integer) : NULL;
  if (m && m->kind == META_RECORD) {
    bind_all(r, op, m->attr_count, m->attrs, attrs, operands, given);
    return;
  }
  diag_error(r->p->diags, E0114, x->span,
             "there is no attribute record meta[%s][%lld]",
             x->kind == AX_META ? x->text : "?", (long long)x->integer);
}

/* `attrs_type_key` names the class of the record in TVM's text, and says
 * nothing that the operator does not. */
static void bind_all(Resolver *r, const OpInfo *op, int count, const Attr *list,
                     Attrs *attrs, Operands *operands, Given *given) {
  for (int k = 0; k < count; k++) {
    const Attr *attr = &list[k];
    if (!attr->name) {
      bind_record(r, op, attr->value, attrs, operands, given);
      continue;
    }
    int i = find_attr(op, attr->name);
    if (i >= 0) {
      if (!given_before(r, op, i, attr, attrs, *given))
        bind_attr(r, op, i, attr->value, attrs, operands);
      *given |= (Given)1 << i;
    } else if (strcmp(attr->name->text, "attrs_type_key") != 0) {
      unknown_attr(r, op, attr);
    }
  }
}

static const char *const shown_value[] = {
    [AT_INT] = "1",
    [AT_FLOAT] = "1f",
    [AT_BOOL] = "True",
    [AT_STRING] = "\"...\"",
    [AT_DTYPE] = "\"float32\"",
    [AT_INTS] = "[1, 2]",
    [AT_INT_OR_INTS] = "1",
    [AT_LISTS] = "[[1, 2]]",
    [AT_FLOATS] = "[0.5f, 1f]",
};

static void missing_attr(Resolver *r, const Expr *call, const OpInfo *op,
                         const AttrSpec *spec) {
  const char *name = attr_name_text(spec->name);
  Diag *d = diag_error(r->p->diags, E0110, call->call.callee->span,
                       "`%s` needs the attribute `%s`", op->name, name);
  diag_hint(d, "write it after the arguments, as in %s=%s", name,
            shown_value[spec->type]);
}

/* Where the values stand that the call gives; those of a record in the metadata
 * have the place of the call. */
static void note_places(const Expr *call, const OpInfo *op, Attrs *attrs) {
  for (int k = 0; k < call->call.attr_count; k++) {
    const Attr *attr = &call->call.attrs[k];
    int i = attr->name ? find_attr(op, attr->name) : -1;
    if (i >= 0) attrs->values[i].at = attr->value->span;
  }
}

/* Missing attributes are reported only if nothing else is wrong: a misspelt
 * name would be reported twice, as unknown and as missing. */
bool resolve_attrs(Resolver *r, const Expr *call, const OpInfo *op,
                   Attrs *attrs, Operands *operands) {
  Given given = 0;
  size_t errors = r->p->diags->errors;
  bind_all(r, op, call->call.attr_count, call->call.attrs, attrs, operands,
           &given);
  bool right = r->p->diags->errors == errors;
  note_places(call, op, attrs);
  for (int i = 0; right && i < op->attr_count; i++) {
    const AttrSpec *spec = &op->attrs[i];
    if (!spec->required || (given >> i & 1)) continue;
    if (attrs->values[i].operand >= 0) continue;
    missing_attr(r, call, op, spec);
  }
  return r->p->diags->errors == errors;
}
