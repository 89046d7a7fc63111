/* Types, dimensions and top-level items from tokens and parts; build.c has the
 * rest of build.h.
 *
 * Nothing is resolved yet: a name in a type stays a name, except those of
 * dtypes, which are fixed words.  So `int32` is the tensor type of rank 0 from
 * here on, and a program cannot define a type of that name.
 *
 * Types recurse in later phases, on the C stack, so their nesting is bounded
 * here (with_height).  Dimensions need no bound: they are sums and products
 * that later phases evaluate on stacks of their own. */
#include <string.h>

#include "ir/foreign.h"
#include "parser/build.h"
#include "parser/grammar.h"

/* --- Types -------------------------------------------------------------- */

static TypeExpr *type_new(Builder *b, TypeExprKind kind, Span span) {
  TypeExpr *t = ARENA_NEW(b->arena, TypeExpr);
  t->kind = kind;
  t->span = span;
  return t;
}

static void type_args(Builder *b, TypeExpr *t, List args) {
  t->args = list_pointers(b, args);
  t->arg_count = list_count(args, t->args);
}

/* The height of a type is one more than that of its highest part; a leaf has
 * none. */
static TypeExpr *with_height(Builder *b, TypeExpr *t) {
  if (!t->result && t->arg_count == 0) return t;
  int inner = t->result ? t->result->height : 0;
  for (int i = 0; i < t->arg_count; i++)
    if (t->args[i]->height > inner) inner = t->args[i]->height;
  t->height = nesting_over(b, "type", t->span, inner);
  return t;
}

TypeExpr *build_type(Builder *b, TypeExprKind kind, Token open, List args,
                     Token close) {
  TypeExpr *t = type_new(b, kind, span_join(open.span, close.span));
  type_args(b, t, args);
  return with_height(b, t);
}

/* Whether a parameter of that name is in scope is resolution's business. */
static bool may_be_parameter(const Builder *b, const Name *name) {
  const Cell *at = b->dtypes.first;
  while (at && at->item != name) at = at->next;
  return at;
}

/* The best hint that there is: why this dtype is left out, what another
 * system's name for it is here, and else the nearest name. */
static void unknown_dtype(Builder *b, Token dtype) {
  Diag *d = diag_error(b->program->diags, E0104, dtype.span,
                       "`%s` is no element type", dtype.name->text);
  Suggestion s = suggestion_for(dtype.name->text);
  for (int i = 0; i < DTYPE_COUNT; i++) suggestion_offer(&s, dtype_name(i));
  const char *hint =
      foreign_hint(dtype.name->text, strlen(dtype.name->text), FOREIGN_TYPE);
  const char *refusal = dtype_refusal(dtype.name->text, dtype.name->len);
  if (refusal) diag_hint(d, "%s", refusal);
  else if (hint) diag_hint(d, "%s", hint);
  else if (s.best) diag_hint(d, "did you mean `%s`?", s.best);
}

Token token_custom(Builder *b, Token word, Token name, Token bits) {
  uint32_t len;
  const char *digits = token_text(b, bits, &len);
  const char *text = arena_printf(&b->scratch, "%s[%s]%.*s", word.name->text,
                                  name.name->text, (int)len, digits);
  return (Token){word.kind, span_join(word.span, bits.span),
                 name_of(b->program->names, text)};
}

/* A tensor of an unknown dtype stays in the tree, with DTYPE_NONE: the report
 * keeps the text from giving a unit. */
TypeExpr *build_tensor_type(Builder *b, Token open, List dims, Token dtype,
                            Token close) {
  TypeExpr *t = type_new(b, TX_TENSOR, span_join(open.span, close.span));
  t->dims = list_pointers(b, dims);
  t->dim_count = list_count(dims, t->dims);
  t->dtype = dtype_find(dtype.name->text, dtype.name->len);
  if (t->dtype != DTYPE_NONE) return t;
  t->dtype_name = dtype.name;
  t->dtype_span = dtype.span;
  if (!may_be_parameter(b, dtype.name)) unknown_dtype(b, dtype);
  return t;
}

TypeExpr *build_tensor_of(Builder *b, Token open, DimExprKind kind, Token shape,
                          Token dtype, Token close) {
  List dims = list_of(b, build_dim(b, kind, shape));
  TypeExpr *t = build_tensor_type(b, open, dims, dtype, close);
  t->whole = t->dim_count == 1;
  return t;
}

TypeExpr *build_fn_type(Builder *b, Token keyword, List params, List args,
                        TypeExpr *result) {
  TypeExpr *t = type_new(b, TX_FN, span_join(keyword.span, result->span));
  t->params = list_structs(b, params, sizeof(TypeParam));
  t->param_count = list_count(params, t->params);
  type_args(b, t, args);
  t->result = result;
  return with_height(b, t);
}

/* `scalar` remembers that the type was written as `float32` and not as
 * Tensor[(), float32]. */
TypeExpr *build_named_type(Builder *b, Token name) {
  TypeExpr *t = type_new(b, TX_NAME, name.span);
  t->name = name.name;
  t->dtype = dtype_find(name.name->text, name.name->len);
  t->scalar = t->dtype != DTYPE_NONE;
  if (t->scalar) t->kind = TX_TENSOR;
  return t;
}

/* Ref[T] keeps its name, for a program may have an ADT called Ref. */
TypeExpr *build_applied_type(Builder *b, Token name, List args, Token close) {
  TypeExpr *t = type_new(b, TX_NAME, span_join(name.span, close.span));
  t->name = name.name;
  t->brackets = true;
  type_args(b, t, args);
  if (t->arg_count == 1 && !strcmp(name.name->text, "Ref")) t->kind = TX_REF;
  return with_height(b, t);
}

TypeExpr *build_dim_arg(Builder *b, DimExpr *dim) {
  TypeExpr *t = type_new(b, TX_DIM, dim->span);
  t->dims = list_pointers(b, list_of(b, dim));
  t->dim_count = t->dims ? 1 : 0;
  return t;
}

TypeExpr *build_meta_type(Builder *b, Token key, Token close) {
  static const char *const keys[] = {"IncompleteType", "relay.IncompleteType"};
  Span span = span_join(key.span, close.span);
  const char *text = key.name->text;
  if (strcmp(text, keys[0]) && strcmp(text, keys[1])) {
    Diag *d = diag_error(b->program->diags, E0004, span,
                         "expected a type, found `meta[%s]`", text);
    diag_hint(d,
              "of the metadata section only meta[%s][0] may stand for a type",
              keys[0]);
  }
  return type_new(b, TX_HOLE, span);
}

static void unknown_kind(Builder *b, TypeParam *param, const Token *kind) {
  param->kind = KIND_TYPE;
  Diag *d = diag_error(b->program->diags, E0004, kind->span,
                       "expected the kind of a parameter, such as `Dim`, found "
                       "`%s`",
                       kind->name->text);
  Suggestion s = suggestion_for(kind->name->text);
  for (int i = 0; i < KIND_COUNT; i++) suggestion_offer(&s, kind_info[i].word);
  if (s.best) diag_hint(d, "did you mean `%s`?", s.best);
}

/* `A` is a type; what follows a colon is a kind of ir/kind.def. */
TypeParam *build_type_param(Builder *b, Token name, const Token *kind) {
  TypeParam *param = ARENA_NEW(&b->scratch, TypeParam);
  *param = (TypeParam){name.name, name.span, KIND_TYPE};
  if (!kind) return param;
  param->kind = kind_find(kind->name->text);
  if (param->kind == KIND_COUNT) unknown_kind(b, param, kind);
  if (kind_info[param->kind].member)
    b->dtypes = list_add(b, b->dtypes, (void *)name.name);
  return param;
}

/* --- Dimensions --------------------------------------------------------- */

DimExpr *build_dim(Builder *b, DimExprKind kind, Token token) {
  DimExpr *d = ARENA_NEW(b->arena, DimExpr);
  *d = (DimExpr){.kind = kind, .span = token.span, .name = token.name};
  return d;
}

/* ?s... */
DimExpr *build_dim_any(Builder *b, Token question, Token shape) {
  DimExpr *d = build_dim(b, DX_SPLAT, shape);
  d->span = span_join(question.span, shape.span);
  d->any = true;
  return d;
}

/* The scanner takes a sign into the number where one may stand, so a negative
 * one gets here. */
DimExpr *build_dim_number(Builder *b, Token number) {
  DimExpr *d = build_dim(b, DX_NUMBER, number);
  d->number = token_integer(b, number);
  if (d->number < 0) {
    diag_error(b->program->diags, E0115, number.span,
               "a dimension cannot be negative");
    d->number = 0;
  }
  return d;
}

DimExpr *build_dim_meta(Builder *b, Token key, Token index, Token close) {
  DimExpr *d = build_dim(b, DX_META, key);
  d->span = span_join(key.span, close.span);
  d->number = token_integer(b, index);
  return d;
}

DimExpr *build_dim_infix(Builder *b, Token op, DimExpr *left, DimExpr *right) {
  static const DimExprKind kinds[] = {
      [TK_PLUS] = DX_ADD,
      [TK_MINUS] = DX_SUB,
      [TK_STAR] = DX_MUL,
      [TK_SLASH] = DX_DIV,
  };
  DimExpr *d = build_dim(b, kinds[op.kind], op);
  d->span = span_join(left->span, right->span);
  d->left = left;
  d->right = right;
  return d;
}

/* --- Items -------------------------------------------------------------- */

/* Items are made in the scratch arena: fill_unit copies all of them into the
 * unit's array. */
static Item *item_new(Builder *b, ItemKind kind, Token first, Span last,
                      Token name) {
  Item *item = ARENA_NEW(&b->scratch, Item);
  *item = (Item){.kind = kind,
                 .span = span_join(first.span, last),
                 .name_span = name.span,
                 .name = name.name};
  return item;
}

/* The function's span becomes the item's, so that a message about it shows its
 * name. */
Item *build_def(Builder *b, Token keyword, Token name, Expr *fn) {
  Item *item = item_new(b, ITEM_DEF, keyword, fn->span, name);
  item->expr = fn;
  fn->span = item->span;
  return item;
}

Item *build_op(Builder *b, Token keyword, Token name, Expr *fn) {
  Item *item = build_def(b, keyword, name, fn);
  item->own = true;
  return item;
}

Binding *build_condition(Builder *b, Expr *condition, Token message) {
  NameTable *names = b->program->names;
  Expr *callee = expr_new(b->arena, EX_IDENT, condition->span);
  callee->name = name_of(names, "assert");
  const Expr **args = ARENA_ARRAY(b->arena, const Expr *, 1);
  args[0] = condition;
  Span span = span_join(condition->span, message.span);
  Expr *call = expr_call(b->arena, span, callee, 1, args);
  Token key = {.kind = TK_IDENT,
               .span = message.span,
               .name = name_of(names, "message")};
  Attr *attr = build_attr(b, key, build_string(b, message));
  Attr *kept = arena_copy(b->arena, attr, sizeof *attr);
  call->call.attr_count = kept ? 1 : 0;
  call->call.attrs = kept;
  return build_statement(b, call);
}

Expr *build_conditions(Builder *b, List conditions, Expr *body) {
  if (!conditions.first) return body;
  Expr *e = build_sequence(b, conditions, body);
  e->sugar = SUGAR_WHERE;
  return e;
}

Item *build_gradient(Builder *b, Token keyword, Token op, Args params,
                     Var *value, Var *adjoint, Expr *body, Token close) {
  params.list = list_add(b, params.list, value);
  params.list = list_add(b, params.list, adjoint);
  Expr *fn = build_fn(b, LIST_EMPTY, params, NULL, body, close);
  Item *item = item_new(b, ITEM_GRADIENT, keyword, fn->span, op);
  item->expr = fn;
  fn->span = item->span;
  return item;
}

/* A tuple of two or three. */
Expr *build_sides(Builder *b, Expr *left, Expr *right, Expr *when) {
  Expr *sides =
      expr_new(b->arena, EX_TUPLE, span_join(left->span, right->span));
  const Expr **args = ARENA_ARRAY(b->arena, const Expr *, 3);
  args[0] = left;
  args[1] = right;
  args[2] = when;
  sides->args = args;
  sides->count = when ? 3 : 2;
  return sides;
}

RuleGrade build_grade(Builder *b, Token word, const Token *number) {
  RuleGrade grade = {
      .kind = grade_find(word.name->text), .written = true, .span = word.span};
  bool counted = grade.kind == GRADE_ULP;
  if (number && counted) grade.ulps = token_integer(b, *number);
  if (grade.kind != GRADE_COUNT && counted == (number != NULL) &&
      grade.ulps >= 0)
    return grade;
  Diag *d = diag_error(b->program->diags, E0901, word.span,
                       "`%s` is no grade of a rule", word.name->text);
  diag_hint(d,
            "a grade is bits (the same bits for every input), ulp(4) (at "
            "most 4 units in the last place apart) or real (equal as real "
            "numbers)");
  return (RuleGrade){.kind = GRADE_BITS};
}

Item *build_rule(Builder *b, Token keyword, Token name, RuleGrade grade,
                 Expr *fn) {
  Item *item = item_new(b, ITEM_RULE, keyword, fn->span, name);
  item->expr = fn;
  item->rule = ARENA_NEW(b->arena, RuleFacts);
  item->rule->grade = grade;
  fn->span = item->span;
  return item;
}

Field *build_field(Builder *b, const Token *name, const TypeExpr *type) {
  Field *field = ARENA_NEW(&b->scratch, Field);
  field->type = type;
  if (name) field->label = (FieldName){name->name, name->span};
  return field;
}

/* All fields have names, or none has. */
static void check_labels(Builder *b, const Field *first, const Field *field) {
  if (!first->label.name == !field->label.name) return;
  bool named = field->label.name != NULL;
  Span span = named ? field->label.span : field->type->span;
  Diag *d = diag_error(b->program->diags, E0012, span,
                       named ? "this field has a name, the first has none"
                             : "this field has no name, the first has one");
  diag_hint(d,
            "name all fields of a constructor or none: "
            "Linear(weight: float32, bias: float32)");
}

static void ctor_fields(Builder *b, CtorDecl *ctor, List fields) {
  size_t count = (size_t)fields.count;
  const Field *first = fields.first ? fields.first->item : NULL;
  const TypeExpr **types = ARENA_ARRAY(b->arena, const TypeExpr *, count);
  FieldName *labels = ARENA_ARRAY(b->arena, FieldName, count);
  int n = 0;
  for (Cell *c = fields.first; types && labels && c; c = c->next) {
    const Field *field = c->item;
    check_labels(b, first, field);
    types[n] = field->type;
    labels[n++] = field->label;
  }
  ctor->fields = types;
  ctor->field_count = n;
  if (n > 0 && first->label.name) ctor->labels = labels;
}

CtorDecl *build_ctor(Builder *b, Token name, const List *fields) {
  CtorDecl *ctor = ARENA_NEW(&b->scratch, CtorDecl);
  *ctor = (CtorDecl){
      .name = name.name, .span = name.span, .parens = fields != NULL};
  if (fields) ctor_fields(b, ctor, *fields);
  return ctor;
}

/* `ctors` NULL and an empty list differ in the text, `type T` and `type T {}`,
 * and in the tree by `braces`. */
Item *build_adt(Builder *b, Token keyword, Token name, List params,
                const List *ctors, Token last) {
  AdtDecl *adt = ARENA_NEW(b->arena, AdtDecl);
  *adt = (AdtDecl){.name = name.name,
                   .span = name.span,
                   .is_extern = keyword.kind == TK_EXTERN,
                   .braces = ctors != NULL};
  adt->params = list_structs(b, params, sizeof(TypeParam));
  adt->param_count = list_count(params, adt->params);
  if (ctors) {
    adt->ctors = list_structs(b, *ctors, sizeof(CtorDecl));
    adt->ctor_count = list_count(*ctors, adt->ctors);
  }
  Item *item = item_new(b, ITEM_TYPE, keyword, last.span, name);
  item->adt = adt;
  return item;
}

Item *build_alias(Builder *b, Token keyword, Token name, List params,
                  const TypeExpr *meaning) {
  Item *item = build_adt(b, keyword, name, params, NULL, name);
  item->span = span_join(keyword.span, meaning->span);
  ((AdtDecl *)item->adt)->meaning = meaning;
  return item;
}

Item *build_input(Builder *b, Token keyword, Token name,
                  const TypeExpr *annotation, Expr *value) {
  Span last = value ? value->span : annotation->span;
  Item *item = item_new(b, ITEM_PARAM, keyword, last, name);
  item->annotation = annotation;
  item->expr = value;
  return item;
}

Item *build_global_let(Builder *b, Token keyword, Token name,
                       const TypeExpr *annotation, Expr *value) {
  Item *item = item_new(b, ITEM_LET_GLOBAL, keyword, value->span, name);
  item->annotation = annotation;
  item->expr = value;
  return item;
}

Item *build_import(Builder *b, Token keyword, Token path) {
  size_t size;
  Item *item = item_new(b, ITEM_IMPORT, keyword, path.span, path);
  item->path = token_string(b, path, &size);
  return item;
}

Item *build_expr_item(Builder *b, Expr *value) {
  Item *item = ARENA_NEW(&b->scratch, Item);
  *item = (Item){.kind = ITEM_EXPR, .span = value->span, .expr = value};
  return item;
}

/* A group `let %f = ... and %g = ...` becomes one item for each variable,
 * marked `continues`, so that items need no lists of their own. */
static Item *local_let(Builder *b, const Binding *binding) {
  Item *item = ARENA_NEW(&b->scratch, Item);
  *item = (Item){.kind = ITEM_LET_LOCAL,
                 .span = binding->span,
                 .name_span = binding->var->span,
                 .name = binding->var->name,
                 .annotation = binding->var->annotation,
                 .expr = binding->value,
                 .continues = binding->kind == BIND_AND};
  return item;
}

List build_local_lets(Builder *b, List bindings) {
  List items = LIST_EMPTY;
  for (Cell *c = bindings.first; c; c = c->next)
    items = list_add(b, items, local_let(b, c->item));
  return items;
}

void build_add_items(Builder *b, List items) {
  b->items = list_join(b->items, items);
}
