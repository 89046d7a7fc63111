/* What the grammar's actions call: one function a construct, from tokens and
 * parts to nodes.  Nodes live in the unit's arena; lists under construction in
 * a scratch arena that goes when parsing ends.
 *
 * None of these fails: a mistake is reported, and a node comes back that later
 * rules can build on.  When memory runs out, lists become empty and the driver
 * gives up.  Parts that are handed over belong to the new node. */
#ifndef PARSER_BUILD_H
#define PARSER_BUILD_H

#include "ir/program.h"

typedef struct Token {
  int kind; /* TK_... */
  Span span;
  const Name *name; /* of names, without sigil; NULL otherwise */
} Token;

/* A list being read, in order; lists of lists are joined in O(1). */
typedef struct Cell {
  void *item;
  struct Cell *next;
} Cell;
typedef struct List {
  Cell *first, *last;
  int count;
} List;

/* Positional arguments or parameters, then attributes, then what fills in the
 * message that stands among the attributes. */
typedef struct Args {
  List list, attrs, values;
} Args;

typedef struct Builder {
  Program *program;
  Unit *unit;
  Arena *arena; /* the unit's */
  Arena scratch;
  List items;
  List dtypes; /* Names of parameters that are dtypes, in the text so far */
} Builder;

/* Types, patterns and lists of attributes are recursed over, here and in what
 * follows, so the stack must have room for each level.  Expressions nest as
 * deep as memory goes (base/split.h).
 *
 * The height over parts of height `inner`; reports the first that the stack has
 * no room for. */
int nesting_over(Builder *b, const char *what, Span span, int inner);

/* --- Lists -------------------------------------------------------------- */

static const List LIST_EMPTY = {NULL, NULL, 0};
List list_of(Builder *b, void *item);
List list_add(Builder *b, List list, void *item);
List list_join(List a, List z);
/* The items as an array of pointers, or of what they point to. */
void *list_pointers(Builder *b, List list);
void *list_structs(Builder *b, List list, size_t size);
/* How many items the array has: none when there was no memory for it. */
int list_count(List list, const void *array);

/* --- Tokens ------------------------------------------------------------- */

const char *token_text(const Builder *b, Token t, uint32_t *len);
Token token_dotted(Builder *b, Token left, Token right);
/* custom[posit]32, a dtype. */
Token token_custom(Builder *b, Token word, Token name, Token bits);
/* `%input.1` where a name is bound. */
Token token_indexed(Builder *b, Token name, Token index);
/* A number that must be an integer; after reporting, 0. */
int64_t token_integer(Builder *b, Token number);
/* The decoded text of a string, with a NUL after it. */
char *token_string(Builder *b, Token string, size_t *size);

/* --- Expressions -------------------------------------------------------- */

/* A name as it is used: EX_LOCAL, EX_GLOBAL or EX_IDENT, without its sigil. */
Expr *build_name(Builder *b, ExprKind kind, Token name);
Expr *build_number(Builder *b, Token number);
Expr *build_bool(Builder *b, Token word);
Expr *build_string(Builder *b, Token string);
/* `%3`, and below it meta[key][index]. */
Expr *build_graph_ref(Builder *b, Token graph);
Expr *build_meta(Builder *b, Token key, Token index, Token close);
/* A call of the operator that the token stands for; `&&` and `||` become an
 * `if`. */
Expr *build_infix(Builder *b, Token op, Expr *left, Expr *right);
/* `a |> f` and `a |> f(b)`: f(a) and f(a, b). */
Expr *build_pipe(Builder *b, Token op, Expr *left, Expr *right);
Expr *build_prefix(Builder *b, Token op, Expr *operand);
Expr *build_call(Builder *b, Expr *callee, Args args, Token close);
/* `operand.index`; the index is the token's digits. */
Expr *build_projection(Builder *b, Expr *operand, Token index);
Expr *build_field_of(Builder *b, Expr *operand, Token name);
/* `{a with f = b}`: a copy of `a` with other fields. */
Expr *build_with(Builder *b, Token open, Expr *value, Token keyword, List attrs,
                 Token close);
/* A node of that kind over its arguments: tuples, brackets, ref and so on. */
Expr *build_over(Builder *b, ExprKind kind, Token open, List args, Token close);
/* `List[a, b]`. */
Expr *build_list(Builder *b, Token name, List elements, Token close);
/* Marks the node and widens its span; parentheses make no node. */
Expr *build_parens(Token open, Expr *inside, Token close);
/* `params` holds the parameters and, after them, the attributes.  The span is
 * that from the body on: the caller widens it. */
Expr *build_fn(Builder *b, List type_params, Args params,
               const TypeExpr *result, Expr *body, Token close);
Expr *build_match(Builder *b, Token keyword, Expr *scrutinee, List arms,
                  Token close);
/* A guard may be NULL: there is none. */
Arm *build_arm(Builder *b, const Pattern *pattern, Expr *guard, Expr *body,
               bool braces);

/* `if (c) {a} else if (d) {b} else {z}`: the list holds conditions and branches
 * in turn, and the last branch. */
typedef struct Branch {
  Span span;
  Expr *condition, *then;
} Branch;
Branch *build_branch(Builder *b, Token keyword, Expr *condition, Expr *then);
Expr *build_if(Builder *b, List branches, Expr *otherwise, Token close);

/* --- Bindings and blocks ------------------------------------------------ */

/* Variables are new for each place that binds one; uses find them by name
 * later. */
Var *build_var(Builder *b, Token name, const TypeExpr *annotation);
Binding *build_let(Builder *b, BindingKind kind, Token keyword, Token name,
                   const TypeExpr *annotation, Expr *value);
Binding *build_graph_binding(Builder *b, Token graph, Expr *value);
Binding *build_free_var(Builder *b, Token keyword, Token name,
                        const TypeExpr *annotation);
/* `e;` in a sequence: evaluated for its effects. */
Binding *build_statement(Builder *b, Expr *value);
/* A sequence; without bindings its result as it is. */
Expr *build_sequence(Builder *b, List bindings, Expr *result);
/* A sequence that ends in `;`: its value is (). */
Expr *build_unit_sequence(Builder *b, List bindings);
/* Braces of their own around a sequence, not those of an `if` or a function. */
Expr *build_block(Builder *b, Token open, Expr *inside, Token close);

/* --- Attributes --------------------------------------------------------- */

/* `key=value`; the value is kept as written where it is a literal, a list, None
 * or metadata. */
Attr *build_attr(Builder *b, Token key, Expr *value);

/* --- Patterns ----------------------------------------------------------- */

Pattern *build_wildcard(Builder *b, Token token);
Pattern *build_pattern_var(Builder *b, Token name, const TypeExpr *annotation);
Pattern *build_literal_pattern(Builder *b, Token token, const Expr *literal);
/* `p | q | ...` */
Pattern *build_or_pattern(Builder *b, List alternatives);
/* `Nil`, and below it `Cons(p, q)`. */
Pattern *build_ctor_pattern(Builder *b, Token name);
Pattern *build_ctor_fields(Builder *b, Token name, List fields, Token close);
/* `name=p` among the fields of a constructor. */
Pattern *build_labelled_pattern(Builder *b, Token name, Pattern *pattern);
Pattern *build_tuple_pattern(Builder *b, Token open, List fields, Token close);

/* --- Types -------------------------------------------------------------- */

TypeExpr *build_type(Builder *b, TypeExprKind kind, Token open, List args,
                     Token close);
TypeExpr *build_tensor_type(Builder *b, Token open, List dims, Token dtype,
                            Token close);
/* Tensor[s, d] */
TypeExpr *build_tensor_of(Builder *b, Token open, DimExprKind kind, Token shape,
                          Token dtype, Token close);
TypeExpr *build_fn_type(Builder *b, Token keyword, List params, List args,
                        TypeExpr *result);
/* A name that is not applied: a scalar, a variable or an ADT. */
TypeExpr *build_named_type(Builder *b, Token name);
TypeExpr *build_applied_type(Builder *b, Token name, List args, Token close);
/* A dimension as an argument of a data type: Layer[4, n + 1]. */
TypeExpr *build_dim_arg(Builder *b, DimExpr *dim);
/* meta[IncompleteType][n]: what the reference did not infer. */
TypeExpr *build_meta_type(Builder *b, Token key, Token close);
TypeParam *build_type_param(Builder *b, Token name, const Token *kind);
/* A dimension's literal; a negative one is reported and becomes 0. */
DimExpr *build_dim_number(Builder *b, Token number);
DimExpr *build_dim(Builder *b, DimExprKind kind, Token token);
DimExpr *build_dim_any(Builder *b, Token question, Token shape);
DimExpr *build_dim_meta(Builder *b, Token key, Token index, Token close);
DimExpr *build_dim_infix(Builder *b, Token op, DimExpr *left, DimExpr *right);

/* --- Items -------------------------------------------------------------- */

Item *build_def(Builder *b, Token keyword, Token name, Expr *fn);
/* `op`: the same, of an operator. */
Item *build_op(Builder *b, Token keyword, Token name, Expr *fn);
/* `E : "text"` of a `where`: assert(E, message="text"). */
Binding *build_condition(Builder *b, Expr *condition, Token message);
/* The body after its conditions, of which there may be none. */
Expr *build_conditions(Builder *b, List conditions, Expr *body);
/* The two sides of a rule, and its condition (NULL: none), as one expression.
 */
Expr *build_sides(Builder *b, Expr *left, Expr *right, Expr *when);
/* `bits`, `real`, or `ulp(N)`; `number` NULL: there are no parentheses. */
RuleGrade build_grade(Builder *b, Token word, const Token *number);
Item *build_rule(Builder *b, Token keyword, Token name, RuleGrade grade,
                 Expr *fn);
/* A rule of differentiation is a function of the operands and, after them, of
 * the value and its adjoint. */
Item *build_gradient(Builder *b, Token keyword, Token op, Args params,
                     Var *value, Var *adjoint, Expr *body, Token close);
Item *build_adt(Builder *b, Token keyword, Token name, List params,
                const List *ctors, Token last);
Item *build_alias(Builder *b, Token keyword, Token name, List params,
                  const TypeExpr *meaning);
/* A constructor's field; `name` NULL: it has none. */
typedef struct Field {
  FieldName label;
  const TypeExpr *type;
} Field;
Field *build_field(Builder *b, const Token *name, const TypeExpr *type);
/* Of a list of Fields; NULL: it was written without parentheses. */
CtorDecl *build_ctor(Builder *b, Token name, const List *fields);
Item *build_input(Builder *b, Token keyword, Token name,
                  const TypeExpr *annotation, Expr *value);
Item *build_global_let(Builder *b, Token keyword, Token name,
                       const TypeExpr *annotation, Expr *value);
Item *build_import(Builder *b, Token keyword, Token path);
Item *build_expr_item(Builder *b, Expr *value);
/* The items of a let group at top level. */
List build_local_lets(Builder *b, List bindings);
void build_add_items(Builder *b, List items);

#endif
