/* Nodes from tokens and parts: what the grammar's actions call, one function a
 * construct.  build_type.c has types, dimensions and items.
 *
 * Sugar is undone here and marked on the node, so that later phases know fewer
 * constructs and the printer can restore what was written:
 *
 *   a + b        add(a, b)                     SUGAR_INFIX
 *   -a, !a       negative(a), logical_not(a)   SUGAR_NEGATE, SUGAR_NOT
 *   a && b       if (a) {b} else {False}       SUGAR_AND
 *   a |> f(b)    f(a, b)                       SUGAR_PIPE_CALL
 *   a; b;        { a; b; () }                  SUGAR_UNIT
 *
 * Nodes live in the unit's arena, as long as the unit.  Lists under
 * construction, and records that are copied into arrays at the end of a list
 * (arms, bindings, attributes), live in b->scratch, which goes when parsing
 * ends.
 *
 * No name is looked up here, and no type: a mistake found in this file is one
 * of a token's text or of nesting. */
#include "parser/build.h"

#include <string.h>

#include "base/split.h"
#include "parser/grammar.h"
#include "parser/literal.h"

/* --- Nesting ------------------------------------------------------------ */

/* Only the first level that the stack has no room for reports.  The tree is
 * still built, but no later phase sees it, for a text with an error gives no
 * unit. */
int nesting_over(Builder *b, const char *what, Span span, int inner) {
  if (split_levels(b->program->mem, (size_t)inner + 1)) return inner + 1;
  if (inner == NESTING_MAX && !mem_exhausted(b->program->mem))
    diag_error(b->program->diags, E0006, span,
               "this %s is nested too deeply: more than %d levels", what,
               NESTING_MAX);
  return inner + 1;
}

/* --- Lists -------------------------------------------------------------- */

List list_of(Builder *b, void *item) { return list_add(b, LIST_EMPTY, item); }

/* A list knows its last cell, so left-recursive rules add in constant time. */
List list_add(Builder *b, List list, void *item) {
  Cell *cell = ARENA_NEW(&b->scratch, Cell);
  cell->item = item;
  return list_join(list, (List){cell, cell, 1});
}

List list_join(List a, List z) {
  if (!a.first) return z;
  if (!z.first) return a;
  a.last->next = z.first;
  return (List){a.first, z.last, a.count + z.count};
}

/* Room for the list.  When memory ran out the list is cut to nothing; the
 * driver then gives up.  Callers take the length from list_count, which answers
 * 0 for the missing array. */
static void *list_room(Builder *b, List *list, size_t size) {
  void *room =
      list->count ? arena_array(b->arena, (size_t)list->count, size) : NULL;
  if (!room) *list = LIST_EMPTY;
  return room;
}

void *list_pointers(Builder *b, List list) {
  void **out = list_room(b, &list, sizeof *out);
  size_t i = 0;
  for (Cell *c = list.first; c; c = c->next) out[i++] = c->item;
  return out;
}

void *list_structs(Builder *b, List list, size_t size) {
  char *out = list_room(b, &list, size);
  size_t at = 0;
  for (Cell *c = list.first; c; c = c->next, at += size)
    memcpy(out + at, c->item, size);
  return out;
}

int list_count(List list, const void *array) { return array ? list.count : 0; }

/* --- Tokens ------------------------------------------------------------- */

const char *token_text(const Builder *b, Token t, uint32_t *len) {
  const SourceFile *source = b->unit->source;
  *len = t.span.hi - t.span.lo;
  return source->text + (t.span.lo - source->base);
}

static Span span_of(Token first, Token last) {
  return span_join(first.span, last.span);
}

/* `nn.dense` is three tokens, since `%t.0` has the same dot; the grammar joins
 * them. */
static Token token_joined(Builder *b, Token left, const char *text, size_t len,
                          Token right) {
  size_t head = left.name->len, whole = head + 1 + len;
  char *joined = arena_alloc(&b->scratch, whole);
  if (!joined) return left;
  memcpy(joined, left.name->text, head);
  joined[head] = '.';
  memcpy(joined + head + 1, text, len);
  return (Token){left.kind, span_of(left, right),
                 name_intern(b->program->names, joined, whole)};
}

Token token_dotted(Builder *b, Token left, Token right) {
  return token_joined(b, left, right.name->text, right.name->len, right);
}

Token token_indexed(Builder *b, Token name, Token index) {
  uint32_t len;
  const char *digits = token_text(b, index, &len);
  return token_joined(b, name, digits, len, index);
}

/* --- Literals ----------------------------------------------------------- */

/* At most 40 bytes of the number are shown: it may be as long as the text.  The
 * list of suffixes is made from the table of dtypes, so it cannot miss one. */
static void report_number(Builder *b, Token t, LiteralStatus status,
                          DType dtype) {
  uint32_t len;
  const char *text = token_text(b, t, &len);
  uint32_t suffix = literal_suffix(text, len);
  int shown = len < 40 ? (int)len : 40, left = (int)(len - suffix);
  Diags *diags = b->program->diags;
  static const char suffixes[] =
#define SUFFIX_B(suffix)
#define SUFFIX_I(suffix) " " #suffix
#define SUFFIX_U SUFFIX_I
#define SUFFIX_F SUFFIX_I
#define DTYPE(id, suffix, T, class, ...) SUFFIX_##class(suffix)
#include "tensor/dtype.def"
#undef DTYPE
      ;
  switch (status) {
    case LITERAL_OK: return;
    case LITERAL_NO_SUCH_SUFFIX:
      diag_hint(diag_error(diags, E0003, t.span,
                           "`%.*s` is no number: there is no suffix `%.*s`",
                           shown, text, left < 40 ? left : 40, text + suffix),
                "the suffixes are f i%s", suffixes);
      return;
    case LITERAL_NOT_AN_INTEGER:
      diag_error(diags, E0003, t.span,
                 "`%.*s` has an integer's suffix and is no integer", shown,
                 text);
      return;
    case LITERAL_OUT_OF_RANGE:
      diag_error(diags, E0003, t.span, "`%.*s` does not fit %s", shown, text,
                 dtype_name(dtype));
      return;
  }
}

/* The token's value; after reporting, an int32 zero. */
static Literal read_number(Builder *b, Token t) {
  uint32_t len;
  const char *text = token_text(b, t, &len);
  Literal number;
  LiteralStatus status = literal_number(text, len, &number);
  if (status == LITERAL_OK) return number;
  report_number(b, t, status, number.dtype);
  return (Literal){DT_INT32, {0}};
}

int64_t token_integer(Builder *b, Token t) {
  Literal number = read_number(b, t);
  if (dtype_is_int(number.dtype)) return bits_to_i64(number.dtype, number.bits);
  diag_error(b->program->diags, E0003, t.span, "expected an integer");
  return 0;
}

/* The digits of a projection or a graph variable.  Digits alone, without sign
 * or suffix, from byte `skip` on. */
static int64_t read_index(Builder *b, Token t, uint32_t skip) {
  uint32_t len;
  const char *text = token_text(b, t, &len);
  int64_t value = 0;
  for (uint32_t i = skip; i < len; i++) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text[i] - '0', &value)) {
      diag_error(b->program->diags, E0003, t.span, "index out of range");
      return 0;
    }
  }
  return value;
}

static Expr *build_scalar(Builder *b, Span span, Literal value) {
  return expr_const(b->arena, span,
                    program_scalar(b->program, value.dtype, value.bits));
}

static Expr *build_truth(Builder *b, Span span, bool value) {
  return build_scalar(b, span, (Literal){DT_BOOL, {.bits = value}});
}

Expr *build_number(Builder *b, Token number) {
  return build_scalar(b, number.span, read_number(b, number));
}

Expr *build_bool(Builder *b, Token word) {
  return build_truth(b, word.span, word.kind == TK_TRUE);
}

/* No escape is longer decoded than written, so the token's own length, which
 * includes both quotes, is room enough for the text and the NUL after it. */
char *token_string(Builder *b, Token t, size_t *size) {
  uint32_t len, bad;
  const char *text = token_text(b, t, &len);
  char *out = arena_alloc(b->arena, len);
  if (!out) return *size = 0, "";
  *size = literal_string(text + 1, len - 2, out, &bad);
  if (bad < len - 2) {
    Span escape = {t.span.lo + 1 + bad, t.span.lo + 3 + bad};
    diag_error(b->program->diags, E0008, escape,
               "there is no such escape in a string");
  }
  return out;
}

Expr *build_string(Builder *b, Token string) {
  Expr *e = expr_new(b->arena, EX_STRING, string.span);
  e->text.bytes = token_string(b, string, &e->text.len);
  return e;
}

/* --- Names -------------------------------------------------------------- */

Expr *build_name(Builder *b, ExprKind kind, Token name) {
  Expr *e = expr_new(b->arena, kind, name.span);
  if (kind == EX_GLOBAL) e->g.name = name.name;
  else e->name = name.name;
  return e;
}

Expr *build_graph_ref(Builder *b, Token graph) {
  Expr *e = expr_new(b->arena, EX_GRAPH, graph.span);
  e->index = read_index(b, graph, 1);
  return e;
}

Expr *build_meta(Builder *b, Token key, Token index, Token close) {
  Expr *e = expr_new(b->arena, EX_META, span_of(key, close));
  e->meta.name = key.name;
  e->meta.index = token_integer(b, index);
  return e;
}

/* --- Operators ---------------------------------------------------------- */

/* The operators' names, by token; a rule of the grammar admits no other tokens
 * here. */
static const char *const infix_names[] = {
    [TK_PLUS] = "add",     [TK_MINUS] = "subtract",   [TK_STAR] = "multiply",
    [TK_LT] = "less",      [TK_LE] = "less_equal",    [TK_SLASH] = "divide",
    [TK_GT] = "greater",   [TK_GE] = "greater_equal", [TK_EQEQ] = "equal",
    [TK_NE] = "not_equal",
};

/* A call of the operator that `op` stands for. */
static Expr *build_operator(Builder *b, Token op, const char *name, Span span,
                            List operands, Sugar sugar) {
  op.name = name_of(b->program->names, name);
  Expr *e = expr_call(b->arena, span, build_name(b, EX_IDENT, op),
                      operands.count, list_pointers(b, operands));
  e->sugar = (uint8_t)sugar;
  return e;
}

/* a && b is if (a) {b} else {False}; a || b is if (a) {True} else {b}. */
static Expr *build_short_circuit(Builder *b, Token op, Expr *left, Expr *right,
                                 Span span) {
  bool is_and = op.kind == TK_ANDAND;
  Expr *known = build_truth(b, op.span, !is_and);
  Expr *e = expr_if(b->arena, span, left, is_and ? right : known,
                    is_and ? known : right);
  e->sugar = is_and ? SUGAR_AND : SUGAR_OR;
  return e;
}

/* The span runs from the left operand to the right one; messages about the
 * operator alone have that of the callee, which is the token. */
Expr *build_infix(Builder *b, Token op, Expr *left, Expr *right) {
  Span span = span_join(left->span, right->span);
  if (op.kind == TK_ANDAND || op.kind == TK_OROR)
    return build_short_circuit(b, op, left, right, span);
  List operands = list_add(b, list_of(b, left), right);
  return build_operator(b, op, infix_names[op.kind], span, operands,
                        SUGAR_INFIX);
}

/* The value goes before the arguments of a call that stands on the right by
 * itself; anything else is a function, which is called with it.  The grammar
 * takes any expression on the right, since its own rule would only say
 * "expected"; this says why `|> %x + 1` is refused.  A `fn` is marked as being
 * in parentheses, which the printer needs to write it as a callee. */
Expr *build_pipe(Builder *b, Token op, Expr *left, Expr *right) {
  Span span = span_join(left->span, right->span);
  bool call = right->kind == EX_CALL && !right->parens && !right->sugar;
  bool takes = right->parens || right->kind == EX_IDENT ||
               right->kind == EX_LOCAL || right->kind == EX_GLOBAL ||
               right->kind == EX_GRAPH || right->kind == EX_FN ||
               right->kind == EX_PROJ || right->kind == EX_BLOCK ||
               right->kind == EX_READ;
  if (!call && !takes) {
    Diag *d = diag_error(b->program->diags, E0011, right->span,
                         "`|>` passes a value to a function, and this is none");
    diag_note(d, op.span, "this `|>` reaches as far right as it can");
    diag_hint(d, right->sugar ? "put what comes before it in parentheses: "
                                "(%%x |> @f) + 1"
                              : "write a function or a call of one: "
                                "%%x |> @f, %%x |> nn.softmax(axis=1)");
    return left;
  }
  if (right->kind == EX_FN) right->parens = true;
  List args = list_of(b, left);
  for (int i = 0; call && i < right->count; i++)
    args = list_add(b, args, (void *)right->args[i]);
  const void *list = list_pointers(b, args);
  Expr *e = expr_call(b->arena, span, call ? right->call.callee : right,
                      list_count(args, list), list);
  if (call) {
    e->call.attrs = right->call.attrs;
    e->call.attr_count = right->call.attr_count;
  }
  e->sugar = call ? SUGAR_PIPE_CALL : SUGAR_PIPE;
  return e;
}

Expr *build_prefix(Builder *b, Token op, Expr *operand) {
  Span span = span_join(op.span, operand->span);
  bool is_not = op.kind == TK_BANG;
  return build_operator(b, op, is_not ? "logical_not" : "negative", span,
                        list_of(b, operand), is_not ? SUGAR_NOT : SUGAR_NEGATE);
}

/* --- Calls -------------------------------------------------------------- */

static const AttrExpr *attr_value(Builder *b, const Expr *e, int depth);

/* A last argument such as meta[relay.attrs.Conv2DAttrs][0] is the call's whole
 * record; only a constant is an argument. */
static bool is_record(const Expr *e) {
  return e->kind == EX_META && strcmp(e->meta.name->text, "relay.Constant");
}

/* The record is taken off the arguments and put before the written attributes,
 * where it fills the call's record first. */
static List take_record(Builder *b, Expr *e, int *count, const void **args) {
  if (*count == 0) return LIST_EMPTY;
  const Expr *last = args[*count - 1];
  if (!is_record(last)) return LIST_EMPTY;
  Attr *attr = ARENA_NEW(&b->scratch, Attr);
  *attr = (Attr){.span = last->span, .value = attr_value(b, last, 0)};
  e->count = --*count;
  return list_of(b, attr);
}

Expr *build_call(Builder *b, Expr *callee, Args args, Token close) {
  int late = args.values.count;
  List all = list_join(args.list, args.values);
  const void **list = list_pointers(b, all);
  int count = list_count(all, list);
  Expr *e = expr_call(b->arena, span_join(callee->span, close.span), callee,
                      count, (const Expr *const *)list);
  e->call.late = count ? late : 0;
  List record = late ? LIST_EMPTY : take_record(b, e, &count, list);
  List attrs = list_join(record, args.attrs);
  e->call.attrs = list_structs(b, attrs, sizeof(Attr));
  e->call.attr_count = list_count(attrs, e->call.attrs);
  return e;
}

Expr *build_projection(Builder *b, Expr *operand, Token index) {
  Expr *e = expr_new(b->arena, EX_PROJ, span_join(operand->span, index.span));
  List one = list_of(b, operand);
  e->args = list_pointers(b, one);
  e->count = 1;
  e->index = read_index(b, index, 0);
  return e;
}

Expr *build_field_of(Builder *b, Expr *operand, Token name) {
  Expr *e = expr_new(b->arena, EX_FIELD, span_join(operand->span, name.span));
  e->args = list_pointers(b, list_of(b, operand));
  e->count = 1;
  e->field.name = name.name;
  e->field.span = name.span;
  return e;
}

Expr *build_with(Builder *b, Token open, Expr *value, Token keyword, List attrs,
                 Token close) {
  Expr *callee = expr_new(b->arena, EX_CTOR, keyword.span);
  List one = list_of(b, value);
  Expr *e = expr_call(b->arena, span_of(open, close), callee, one.count,
                      list_pointers(b, one));
  e->call.attrs = list_structs(b, attrs, sizeof(Attr));
  e->call.attr_count = list_count(attrs, e->call.attrs);
  e->sugar = SUGAR_WITH;
  return e;
}

Expr *build_over(Builder *b, ExprKind kind, Token open, List args,
                 Token close) {
  Expr *e = expr_new(b->arena, kind, span_of(open, close));
  e->args = list_pointers(b, args);
  e->count = list_count(args, e->args);
  return e;
}

Expr *build_list(Builder *b, Token name, List elements, Token close) {
  Expr *e = build_over(b, EX_LIST, name, elements, close);
  e->list.head = build_name(b, EX_IDENT, name);
  return e;
}

/* Parentheses are a mark on the node inside and widen its span; they make no
 * node. */
Expr *build_parens(Token open, Expr *inside, Token close) {
  inside->parens = true;
  inside->span = span_of(open, close);
  return inside;
}

/* --- Functions, match, if ----------------------------------------------- */

/* Of two variables of one name in a list Relay means the first.  The second
 * keeps its spelling, but gets a Name of its own, which no use has: so it hides
 * the first from nobody who goes by names. */
static void bind_apart(Builder *b, PtrMap *bound, Var *var) {
  const Name *name = var->name;
  if (!ptrmap_has(bound, name)) {
    ptrmap_put(bound, name, var);
    return;
  }
  Name *own = arena_copy(b->arena, name, sizeof *name + name->len + 1);
  if (own) var->name = own;
}

/* The variables of a pattern of any depth, from left to right. */
static void pattern_apart(Builder *b, PtrMap *bound, const Pattern *root) {
  VEC(const Pattern *) todo;
  VEC_INIT(&todo, b->program->mem);
  VEC_PUSH(&todo, root);
  while (todo.len) {
    const Pattern *p = VEC_POP(&todo);
    if (p->var) bind_apart(b, bound, p->var);
    for (int i = p->count; i-- > 0;) VEC_PUSH(&todo, p->fields[i]);
  }
  VEC_DONE(&todo);
}

/* The span begins at the body here; the rule that knows the keyword widens it
 * (grammar.y, build_def). */
Expr *build_fn(Builder *b, List type_params, Args params,
               const TypeExpr *result, Expr *body, Token close) {
  Fn *fn = ARENA_NEW(b->arena, Fn);
  fn->type_params = list_structs(b, type_params, sizeof(TypeParam));
  fn->type_param_count = list_count(type_params, fn->type_params);
  fn->params = list_pointers(b, params.list);
  fn->param_count = list_count(params.list, fn->params);
  PtrMap bound;
  ptrmap_init(&bound, b->program->mem);
  for (int i = 0; fn->param_count > 1 && i < fn->param_count; i++)
    bind_apart(b, &bound, fn->params[i]);
  ptrmap_done(&bound);
  fn->attrs = list_structs(b, params.attrs, sizeof(Attr));
  fn->attr_count = list_count(params.attrs, fn->attrs);
  fn->result = result;
  fn->body = body;
  Expr *e = expr_new(b->arena, EX_FN, span_join(body->span, close.span));
  e->fn = fn;
  return e;
}

Expr *build_match(Builder *b, Token keyword, Expr *scrutinee, List arms,
                  Token close) {
  Match *match = ARENA_NEW(b->arena, Match);
  match->partial = keyword.kind == TK_MATCH_PARTIAL;
  match->arms = list_structs(b, arms, sizeof(Arm));
  match->arm_count = list_count(arms, match->arms);
  Expr *e = expr_new(b->arena, EX_MATCH, span_of(keyword, close));
  e->args = list_pointers(b, list_of(b, scrutinee));
  e->count = 1;
  e->match = match;
  return e;
}

/* The inside of a block whose braces belong to the arm. */
static const Expr *without_braces(Expr *block) {
  if (block->block->count == 0) return block->block->result;
  block->sugar = SUGAR_NONE;
  return block;
}

Arm *build_arm(Builder *b, const Pattern *pattern, Expr *guard, Expr *body,
               bool braces) {
  Arm *arm = ARENA_NEW(&b->scratch, Arm);
  PtrMap bound;
  ptrmap_init(&bound, b->program->mem);
  if (!pattern->has_or) pattern_apart(b, &bound, pattern);
  ptrmap_done(&bound);
  *arm = (Arm){.span = span_join(pattern->span, body->span),
               .pattern = pattern,
               .guard = guard,
               .body = braces ? without_braces(body) : body,
               .braces = braces};
  return arm;
}

Branch *build_branch(Builder *b, Token keyword, Expr *condition, Expr *then) {
  Branch *branch = ARENA_NEW(&b->scratch, Branch);
  *branch = (Branch){keyword.span, condition, then};
  return branch;
}

/* From the last branch to the first: each is the else branch of the one before
 * it. */
Expr *build_if(Builder *b, List branches, Expr *otherwise, Token close) {
  Branch *array = list_structs(b, branches, sizeof(Branch));
  Expr *e = otherwise;
  for (int i = list_count(branches, array); i-- > 0;) {
    e = expr_if(b->arena, span_join(array[i].span, close.span),
                array[i].condition, array[i].then, e);
    e->sugar = i > 0 ? SUGAR_ELSE_IF : SUGAR_NONE;
  }
  return e;
}

/* --- Bindings and blocks ------------------------------------------------ */

Var *build_var(Builder *b, Token name, const TypeExpr *annotation) {
  return var_new(b->arena, name.name, name.span, annotation);
}

static Binding *build_binding(Builder *b, BindingKind kind, Span span, Var *var,
                              const Expr *value) {
  Binding *binding = ARENA_NEW(&b->scratch, Binding);
  *binding = (Binding){.kind = kind, .span = span, .var = var, .value = value};
  return binding;
}

Binding *build_let(Builder *b, BindingKind kind, Token keyword, Token name,
                   const TypeExpr *annotation, Expr *value) {
  return build_binding(b, kind, span_join(keyword.span, value->span),
                       build_var(b, name, annotation), value);
}

Binding *build_graph_binding(Builder *b, Token graph, Expr *value) {
  Binding *binding = build_binding(
      b, BIND_GRAPH, span_join(graph.span, value->span), NULL, value);
  binding->index = read_index(b, graph, 1);
  b->unit->has_graph = true;
  return binding;
}

Binding *build_free_var(Builder *b, Token keyword, Token name,
                        const TypeExpr *annotation) {
  Span end = annotation ? annotation->span : name.span;
  return build_binding(b, BIND_FREE, span_join(keyword.span, end),
                       build_var(b, name, annotation), NULL);
}

Binding *build_statement(Builder *b, Expr *value) {
  return build_binding(b, BIND_ITEM, value->span, NULL, value);
}

/* Never called without bindings: the grammar has a rule of its own for a
 * sequence that is one expression. */
Expr *build_sequence(Builder *b, List bindings, Expr *result) {
  const Binding *first = bindings.first->item;
  const Binding *array = list_structs(b, bindings, sizeof(Binding));
  return expr_block(b->arena, span_join(first->span, result->span),
                    list_count(bindings, array), array, result);
}

Expr *build_unit_sequence(Builder *b, List bindings) {
  const Binding *last = bindings.last->item;
  Expr *unit = expr_new(b->arena, EX_TUPLE, last->span);
  unit->sugar = SUGAR_UNIT;
  return build_sequence(b, bindings, unit);
}

/* A sequence of its own becomes the block; what was already in parentheses
 * or braces gets a block around it. */
Expr *build_block(Builder *b, Token open, Expr *inside, Token close) {
  bool bare = inside->kind == EX_BLOCK && !inside->parens &&
              inside->sugar == SUGAR_NONE;
  Expr *e = bare ? inside : expr_block(b->arena, SPAN_NONE, 0, NULL, inside);
  e->sugar = SUGAR_BRACES;
  e->span = span_of(open, close);
  return e;
}

/* --- Attributes --------------------------------------------------------- */

static bool is_none(const Expr *e) {
  return e->kind == EX_IDENT &&
         (!strcmp(e->name->text, "None") || !strcmp(e->name->text, "nullptr"));
}

static void attr_constant(AttrExpr *x, const Tensor *t) {
  x->dtype = (DType)t->dtype;
  Value bits = tensor_bits_at(t, 0);
  if (dtype_is_float(x->dtype)) {
    x->kind = AX_FLOAT;
    x->real = bits_to_f64(x->dtype, bits);
    return;
  }
  x->kind = x->dtype == DT_BOOL ? AX_BOOL : AX_INT;
  x->integer = bits_to_i64(x->dtype, bits);
}

static void attr_string(AttrExpr *x, const Expr *e) {
  x->kind = AX_STRING;
  x->text = e->text.bytes;
  x->count = (int)e->text.len;
}

static void attr_meta(AttrExpr *x, const Expr *e) {
  x->kind = AX_META;
  x->text = e->meta.name->text;
  x->integer = e->meta.index;
}

static void attr_list(Builder *b, AttrExpr *x, const Expr *e, int depth) {
  nesting_over(b, "list", e->span, depth);
  if (!split_levels(b->program->mem, (size_t)depth + 1)) return;
  List items = LIST_EMPTY;
  for (int i = 0; i < e->count; i++)
    items = list_add(b, items, (void *)attr_value(b, e->args[i], depth + 1));
  x->kind = AX_LIST;
  x->items = list_pointers(b, items);
  x->count = list_count(items, x->items);
}

/* Literals, lists, None and metadata are kept as written; any other value is an
 * expression to be evaluated.  A value that is both, such as [1, %n], is a list
 * with an expression in it; resolve_attr.c makes an operand of it. */
static const AttrExpr *attr_value(Builder *b, const Expr *e, int depth) {
  AttrExpr *x = ARENA_NEW(b->arena, AttrExpr);
  x->span = e->span;
  x->kind = is_none(e) ? AX_NONE : AX_EXPR;
  x->expr = x->kind == AX_EXPR ? e : NULL;
  if (e->kind == EX_CONST) attr_constant(x, e->constant);
  if (e->kind == EX_STRING) attr_string(x, e);
  if (e->kind == EX_META) attr_meta(x, e);
  if (e->kind == EX_BRACKET) attr_list(b, x, e, depth);
  return x;
}

Attr *build_attr(Builder *b, Token key, Expr *value) {
  Attr *attr = ARENA_NEW(&b->scratch, Attr);
  *attr = (Attr){key.name, span_join(key.span, value->span),
                 attr_value(b, value, 0)};
  return attr;
}

/* --- Patterns ----------------------------------------------------------- */

static Pattern *pattern_new(Builder *b, PatternKind kind, Span span) {
  Pattern *pattern = ARENA_NEW(b->arena, Pattern);
  pattern->kind = kind;
  pattern->span = span;
  return pattern;
}

/* A pattern's height is one more than that of its highest field, and `has_or`
 * tells whether it has alternatives anywhere, so that most patterns need not be
 * searched for them. */
static Pattern *pattern_fields(Builder *b, Pattern *pattern, List fields) {
  pattern->fields = list_pointers(b, fields);
  pattern->count = list_count(fields, pattern->fields);
  if (pattern->count == 0) return pattern;
  pattern->has_or = pattern->kind == PT_OR;
  int inner = 0;
  for (int i = 0; i < pattern->count; i++)
    if (pattern->fields[i]->height > inner) inner = pattern->fields[i]->height;
  for (int i = 0; i < pattern->count; i++)
    pattern->has_or |= pattern->fields[i]->has_or;
  pattern->height = nesting_over(b, "pattern", pattern->span, inner);
  return pattern;
}

Pattern *build_wildcard(Builder *b, Token token) {
  return pattern_new(b, PT_WILD, token.span);
}

Pattern *build_pattern_var(Builder *b, Token name, const TypeExpr *annotation) {
  Span end = annotation ? annotation->span : name.span;
  Pattern *pattern = pattern_new(b, PT_VAR, span_join(name.span, end));
  pattern->var = build_var(b, name, annotation);
  return pattern;
}

Pattern *build_literal_pattern(Builder *b, Token token, const Expr *literal) {
  Pattern *pattern = pattern_new(b, PT_LITERAL, token.span);
  pattern->constant = literal->constant;
  return pattern;
}

Pattern *build_or_pattern(Builder *b, List alternatives) {
  Pattern * or = pattern_new(b, PT_OR, SPAN_NONE);
  pattern_fields(b, or, alternatives);
  if (or->count > 0)
    or->span = span_join(or->fields[0]->span, or->fields[or->count - 1]->span);
  return or ;
}

Pattern *build_ctor_pattern(Builder *b, Token name) {
  Pattern *pattern = pattern_new(b, PT_CTOR, name.span);
  pattern->name = name.name;
  return pattern;
}

Pattern *build_ctor_fields(Builder *b, Token name, List fields, Token close) {
  Pattern *pattern = build_ctor_pattern(b, name);
  pattern->span = span_of(name, close);
  pattern->parens = true;
  return pattern_fields(b, pattern, fields);
}

Pattern *build_labelled_pattern(Builder *b, Token name, Pattern *pattern) {
  (void)b;
  pattern->label = name.name;
  pattern->span = span_join(name.span, pattern->span);
  return pattern;
}

Pattern *build_tuple_pattern(Builder *b, Token open, List fields, Token close) {
  Pattern *pattern = pattern_new(b, PT_TUPLE, span_of(open, close));
  return pattern_fields(b, pattern, fields);
}
