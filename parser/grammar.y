// The grammar, for lemon (D. R. Hipp's parser generator): LALR(1), one
// constructor call a rule (build.c).  The driver (parse.c) feeds tokens; before
// each it asks grammar_accepts, so lemon's own error handling is never reached.
//
// Lists are left-recursive, so that a list of a million items needs no more of
// the parser's stack than one of two.  A trailing comma is allowed wherever a
// list ends (`comma`).
//
// The language has no separators between a sequence's bindings and its result,
// and lets may stand where an expression is wanted.  That makes three kinds of
// non-terminals of what reads like one:
//
//   seq      bindings and an expression, in braces or parentheses
//   value    an expression, or a let that reaches as far as it can
//   expr     an expression that operators can take as an operand
//
// Values of non-terminals live in scratch memory (lists, arms, bindings) or in
// the unit's arena (nodes); none has a destructor, since both go as a whole.

%include {
/* Tracing would be mutable global state; errors are found before feeding. */
#undef NDEBUG
#define NDEBUG
#define YYNOERRORRECOVERY
#include <limits.h>
#include <stdlib.h>

#include "parser/parse.h"
/* grammar_feed grows the stack, by the program's Mem; lemon's own way is left
 * without memory. */
#define malloc(size) NULL
#define realloc(old, size) NULL
/* lemon's own loop, in whose place grammar_feed stands. */
static void lemon_grammar(void *, int, Token) __attribute__((unused));
/* grammar_feed calls it, once for each rule that reduces, and nobody else does;
 * gcc finds it too large to inline unasked.  It returns a YYACTIONTYPE. */
struct yyParser;
static inline unsigned short yy_reduce(struct yyParser *, unsigned, int, Token,
                                       Parse *) __attribute__((always_inline));
}

%name          lemon_grammar
%token_prefix  TK_
%token_type    {Token}
%extra_context {Parse *p}
%stack_size    0
%start_symbol  file

%type version {int}
%type items {int}
%type last {int}
%type comma {int}
%type braces {int}
%default_type {List}
%type call_args {Args}
%type params {Args}
%type expr {Expr *}
%type tail {Expr *}
%type value {Expr *}
%type seq {Expr *}
%type operand {Expr *}
%type block {Expr *}
%type match {Expr *}
%type fnrest {Expr *}
%type opname {Token}
%type type {TypeExpr *}
%type annotation {TypeExpr *}
%type result {TypeExpr *}
%type dim {DimExpr *}
%type splat {DimExpr *}
%type sum {DimExpr *}
%type term {DimExpr *}
%type targ {TypeExpr *}
%type pattern {Pattern *}
%type plain {Pattern *}
%type guard {Expr *}
%type when {Expr *}
%type grade {RuleGrade}
%type condition {Binding *}
%type arm {Arm *}
%type attr {Attr *}
%type param {Var *}
%type tparam {TypeParam *}
%type ctor {CtorDecl *}
%type ctor_field {Field *}
%type part {Pattern *}

// Words that are keywords only where the grammar wants them.  Elsewhere lemon
// takes them as IDENT, so operators and constructors may have these names.
%fallback IDENT AND PARAM IMPORT GRADIENT RULE WHEN TENSOR WITH OP WHERE.

// From loose to tight.  TAIL: what ends an expression; ARM: what ends an arm.
// The last line continues whatever can be continued: after an operand, `(`
// makes a call, and the rules marked TAIL lose to it.  An arm's block ends the
// arm (ARM is tighter than TAIL): `(` after it begins the next pattern.
%left BAR.
%nonassoc TAIL.
%nonassoc ARM.
%left PIPE.
%left OROR.
%left ANDAND.
%left EQEQ NE.
%left LT LE GT GE.
%left PLUS MINUS.
%left STAR SLASH.
%right BANG.
%nonassoc IDENT LOCAL UNDERSCORE LPAREN LBRACE LBRACKET DOT NUMBER TRUE FALSE.

// --- Files -------------------------------------------------------------------

file ::= version items last.
version ::= .
version ::= VERSION(V). { parse_version(p, V); }
items ::= .
items ::= items item(I). { build_add_items(&p->builder, I); }
last ::= .
last ::= open(I). { build_add_items(&p->builder, I); }

item(A) ::= open(I) SEMI. { A = I; }
item(A) ::= DEF(K) GLOBAL(N) fnrest(F). {
  A = list_of(&p->builder, build_def(&p->builder, K, N, F));
}
// How an operator is differentiated: its operands, then the value and the
// adjoint of the value.
item(A) ::= GRADIENT(K) GLOBAL(N) LPAREN params(P) RPAREN arrow
            LPAREN param(Y) COMMA param(G) comma RPAREN
            LBRACE seq(E) RBRACE(Z). {
  Item *item = build_gradient(&p->builder, K, N, P, Y, G, E, Z);
  item->own = true;
  A = list_of(&p->builder, item);
}
item(A) ::= GRADIENT(K) opname(N) LPAREN params(P) RPAREN arrow
            LPAREN param(Y) COMMA param(G) comma RPAREN
            LBRACE seq(E) RBRACE(Z). {
  A = list_of(&p->builder, build_gradient(&p->builder, K, N, P, Y, G, E, Z));
}
// What may stand for what: pattern variables, the grade of the equation, the
// condition under which it holds, and its two sides.
item(A) ::= RULE(K) GLOBAL(N) tparams(T) LPAREN params(P) RPAREN grade(G)
            when(W) LBRACE seq(L) RBRACE FATARROW LBRACE seq(R) RBRACE(Z). {
  Expr *sides = build_sides(&p->builder, L, R, W);
  Expr *fn = build_fn(&p->builder, T, P, NULL, sides, Z);
  A = list_of(&p->builder, build_rule(&p->builder, K, N, G, fn));
}
grade(A) ::= . { A = (RuleGrade){.kind = GRADE_BITS}; }
grade(A) ::= COLON IDENT(G). { A = build_grade(&p->builder, G, NULL); }
grade(A) ::= COLON IDENT(G) LPAREN NUMBER(N) RPAREN. {
  A = build_grade(&p->builder, G, &N);
}
when(A) ::= . { A = NULL; }
when(A) ::= WHEN expr(E). { A = E; }
item(A) ::= TYPE(K) IDENT(N) tparams(P). [TAIL] {
  A = list_of(&p->builder, build_adt(&p->builder, K, N, P, NULL, N));
}
item(A) ::= TYPE(K) IDENT(N) tparams(P) LBRACE ctors(C) RBRACE(Z). {
  A = list_of(&p->builder, build_adt(&p->builder, K, N, P, &C, Z));
}
item(A) ::= EXTERN(K) TYPE IDENT(N) tparams(P). {
  A = list_of(&p->builder, build_adt(&p->builder, K, N, P, NULL, N));
}

// What a semicolon ends, unless it is the last of the text.  Lets at top level
// are items of their own and no bindings: their names outlive the item.
open(A) ::= let_group(L). { A = build_local_lets(&p->builder, L); }
open(A) ::= LET(K) GLOBAL(N) annotation(T) EQ value(E). {
  A = list_of(&p->builder, build_global_let(&p->builder, K, N, T, E));
}
open(A) ::= TYPE(K) IDENT(N) tparams(P) EQ type(T). {
  A = list_of(&p->builder, build_alias(&p->builder, K, N, P, T));
}
// An operator of one's own: its type, the conditions that its arguments have to
// meet, and its meaning.
open(A) ::= OP(K) GLOBAL(N) tparams(T) LPAREN params(P) RPAREN arrow type(R)
            conditions(W) EQ LBRACE seq(E) RBRACE(Z). {
  Expr *body = build_conditions(&p->builder, W, E);
  Expr *fn = build_fn(&p->builder, T, P, R, body, Z);
  A = list_of(&p->builder, build_op(&p->builder, K, N, fn));
}
conditions(A) ::= . { A = LIST_EMPTY; }
conditions(A) ::= WHERE condition_list(L). { A = L; }
condition_list(A) ::= condition(C). { A = list_of(&p->builder, C); }
condition_list(A) ::= condition_list(L) COMMA condition(C). {
  A = list_add(&p->builder, L, C);
}
condition(A) ::= expr(E) COLON STRING(S). {
  A = build_condition(&p->builder, E, S);
}
open(A) ::= PARAM(K) GLOBAL(N) COLON type(T). {
  A = list_of(&p->builder, build_input(&p->builder, K, N, T, NULL));
}
open(A) ::= PARAM(K) GLOBAL(N) COLON type(T) EQ value(E). {
  A = list_of(&p->builder, build_input(&p->builder, K, N, T, E));
}
open(A) ::= IMPORT(K) STRING(S). {
  A = list_of(&p->builder, build_import(&p->builder, K, S));
}
open(A) ::= expr(E). {
  A = list_of(&p->builder, build_expr_item(&p->builder, E));
}
open(A) ::= graph_bindings(B) expr(E). {
  Expr *whole = build_sequence(&p->builder, B, E);
  A = list_of(&p->builder, build_expr_item(&p->builder, whole));
}
graph_bindings(A) ::= graph_binding(B). { A = B; }
graph_bindings(A) ::= graph_bindings(L) binding(B). { A = list_join(L, B); }

ctors(A) ::= . { A = LIST_EMPTY; }
ctors(A) ::= ctor_list(L) comma. { A = L; }
ctor_list(A) ::= ctor(C). { A = list_of(&p->builder, C); }
ctor_list(A) ::= ctor_list(L) COMMA ctor(C). {
  A = list_add(&p->builder, L, C);
}
ctor(A) ::= IDENT(N). { A = build_ctor(&p->builder, N, NULL); }
ctor(A) ::= IDENT(N) LPAREN ctor_fields(F) RPAREN. {
  A = build_ctor(&p->builder, N, &F);
}
ctor_fields(A) ::= . { A = LIST_EMPTY; }
ctor_fields(A) ::= ctor_field_list(L) comma. { A = L; }
ctor_field_list(A) ::= ctor_field(F). { A = list_of(&p->builder, F); }
ctor_field_list(A) ::= ctor_field_list(L) COMMA ctor_field(F). {
  A = list_add(&p->builder, L, F);
}
ctor_field(A) ::= type(T). { A = build_field(&p->builder, NULL, T); }
ctor_field(A) ::= IDENT(N) COLON type(T). {
  A = build_field(&p->builder, &N, T);
}

comma ::= .
comma ::= COMMA.

// --- Functions ---------------------------------------------------------------

// From the type parameters on: a `def` and a `fn` differ in what stands before.
fnrest(A) ::= tparams(T) LPAREN params(P) RPAREN result(R)
              LBRACE seq(E) RBRACE(Z). {
  A = build_fn(&p->builder, T, P, R, E, Z);
}

result(A) ::= . { A = NULL; }
result(A) ::= arrow type(T). { A = T; }
arrow ::= ARROW.
arrow ::= MINUS GT.

params(A) ::= . { A = (Args){LIST_EMPTY, LIST_EMPTY, LIST_EMPTY}; }
params(A) ::= param_list(L) comma. { A = (Args){L, LIST_EMPTY, LIST_EMPTY}; }
params(A) ::= attrs(B) comma. { A = (Args){LIST_EMPTY, B, LIST_EMPTY}; }
params(A) ::= param_list(L) COMMA attrs(B) comma. {
  A = (Args){L, B, LIST_EMPTY};
}
param_list(A) ::= param(V). { A = list_of(&p->builder, V); }
param_list(A) ::= param_list(L) COMMA param(V). {
  A = list_add(&p->builder, L, V);
}
param(A) ::= LOCAL(N) braces annotation(T). {
  A = build_var(&p->builder, N, T);
}
param(A) ::= LOCAL(N) DOT INDEX(I) annotation(T). {
  A = build_var(&p->builder, token_indexed(&p->builder, N, I), T);
}
braces ::= .
braces ::= LBRACE attrs comma RBRACE.

// Marked TAIL, so that a `[` that follows begins the parameters.
tparams(A) ::= . [TAIL] { A = LIST_EMPTY; }
tparams(A) ::= LBRACKET RBRACKET. { A = LIST_EMPTY; }
tparams(A) ::= LBRACKET tparam_list(L) comma RBRACKET. { A = L; }
tparam_list(A) ::= tparam(T). { A = list_of(&p->builder, T); }
tparam_list(A) ::= tparam_list(L) COMMA tparam(T). {
  A = list_add(&p->builder, L, T);
}
tparam(A) ::= IDENT(N). { A = build_type_param(&p->builder, N, NULL); }
tparam(A) ::= IDENT(N) COLON IDENT(K). {
  A = build_type_param(&p->builder, N, &K);
}

// --- Sequences and bindings --------------------------------------------------

// `lets` ends in a binding and needs an expression yet; `done` ends in an
// expression and its semicolon, and may be the whole: its value is then ().
//
//   let %x = 1; f(%x); %x     lets "let %x = 1;", done "... f(%x);", expr
//   f(%x);                    done
//   let %x = 1;               lets, which a closing brace does not fit
seq(A) ::= expr(E). { A = E; }
seq(A) ::= lets(L) expr(E). { A = build_sequence(&p->builder, L, E); }
seq(A) ::= done(L) expr(E). { A = build_sequence(&p->builder, L, E); }
seq(A) ::= done(L). [TAIL] { A = build_unit_sequence(&p->builder, L); }
lets(A) ::= binding(B). { A = B; }
lets(A) ::= lets(L) binding(B). { A = list_join(L, B); }
lets(A) ::= done(L) binding(B). { A = list_join(L, B); }
done(A) ::= expr(E) SEMI. {
  A = list_of(&p->builder, build_statement(&p->builder, E));
}
done(A) ::= lets(L) expr(E) SEMI. {
  A = list_add(&p->builder, L, build_statement(&p->builder, E));
}
done(A) ::= done(L) expr(E) SEMI. {
  A = list_add(&p->builder, L, build_statement(&p->builder, E));
}

// Where no sequence may stand, lets take one expression as their body.
value(A) ::= expr(E). { A = E; }
value(A) ::= tail(E). { A = E; }
tail(A) ::= bindings(L) expr(E). [TAIL] {
  A = build_sequence(&p->builder, L, E);
}
bindings(A) ::= binding(B). { A = B; }
bindings(A) ::= bindings(L) binding(B). { A = list_join(L, B); }

binding(A) ::= let_group(L) SEMI. { A = L; }
binding(A) ::= graph_binding(L). { A = L; }
let_group(A) ::= LET(K) LOCAL(N) annotation(T) EQ value(E). {
  A = list_of(&p->builder, build_let(&p->builder, BIND_LET, K, N, T, E));
}
let_group(A) ::= let_group(L) AND(K) LOCAL(N) annotation(T) EQ value(E). {
  A = list_add(&p->builder, L,
               build_let(&p->builder, BIND_AND, K, N, T, E));
}
graph_binding(A) ::= GRAPH(N) EQ value(E) SEMI. {
  A = list_of(&p->builder, build_graph_binding(&p->builder, N, E));
}
graph_binding(A) ::= FREE_VAR(K) LOCAL(N) DOT INDEX(I) annotation(T) SEMI. {
  Token name = token_indexed(&p->builder, N, I);
  A = list_of(&p->builder, build_free_var(&p->builder, K, name, T));
}
graph_binding(A) ::= FREE_VAR(K) LOCAL(N) annotation(T) SEMI. {
  A = list_of(&p->builder, build_free_var(&p->builder, K, N, T));
}

annotation(A) ::= . { A = NULL; }
annotation(A) ::= COLON type(T). { A = T; }

// --- Expressions -------------------------------------------------------------

// A prefix binds tighter than any infix: -a * b is (-a) * b.  Marks in brackets
// give a rule the precedence of its operators, as it has several.
expr(A) ::= operand(E). [TAIL] { A = E; }
expr(A) ::= BANG|MINUS(O) expr(E). [BANG] {
  A = build_prefix(&p->builder, O, E);
}
expr(A) ::= expr(L) PIPE(O) expr(R). {
  A = build_pipe(&p->builder, O, L, R);
}
expr(A) ::= expr(L) OROR(O) expr(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) ANDAND(O) expr(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) EQEQ|NE(O) expr(R). [EQEQ] {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) LT|LE|GT|GE(O) expr(R). [LT] {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) PLUS|MINUS(O) expr(R). [PLUS] {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) STAR|SLASH(O) expr(R). [STAR] {
  A = build_infix(&p->builder, O, L, R);
}
// A let as the last operand reaches as far as it can.
expr(A) ::= BANG|MINUS(O) tail(E). { A = build_prefix(&p->builder, O, E); }
expr(A) ::= expr(L) OROR(O) tail(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) ANDAND(O) tail(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) EQEQ|NE(O) tail(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) LT|LE|GT|GE(O) tail(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) PLUS|MINUS(O) tail(R). {
  A = build_infix(&p->builder, O, L, R);
}
expr(A) ::= expr(L) STAR|SLASH(O) tail(R). {
  A = build_infix(&p->builder, O, L, R);
}

// What stands alone, or is closed by its own brackets, and what follows it
// directly: calls and projections.
operand(A) ::= NUMBER(T). { A = build_number(&p->builder, T); }
operand(A) ::= TRUE|FALSE(T). { A = build_bool(&p->builder, T); }
operand(A) ::= STRING(T). { A = build_string(&p->builder, T); }
operand(A) ::= UNDERSCORE(N). {
  A = build_name(&p->builder, EX_IDENT, N);
}
operand(A) ::= LOCAL(N). { A = build_name(&p->builder, EX_LOCAL, N); }
operand(A) ::= GLOBAL(N). { A = build_name(&p->builder, EX_GLOBAL, N); }
operand(A) ::= GRAPH(N). { A = build_graph_ref(&p->builder, N); }
operand(A) ::= opname(N). [TAIL] {
  A = build_name(&p->builder, EX_IDENT, N);
}
operand(A) ::= IDENT(N) ELLIPSIS. {
  A = build_name(&p->builder, EX_IDENT, N);
  A->sugar = SUGAR_SPLAT;
}
operand(A) ::= META(K) LBRACKET NUMBER(I) RBRACKET(Z). {
  A = build_meta(&p->builder, K, I, Z);
}
operand(A) ::= LBRACKET(O) elements(L) RBRACKET(Z). {
  A = build_over(&p->builder, EX_BRACKET, O, L, Z);
}
operand(A) ::= opname(N) LBRACKET elements(L) RBRACKET(Z). {
  A = build_list(&p->builder, N, L, Z);
}
operand(A) ::= LPAREN(O) RPAREN(Z). {
  A = build_over(&p->builder, EX_TUPLE, O, LIST_EMPTY, Z);
}
operand(A) ::= LPAREN(O) seq(E) RPAREN(Z). { A = build_parens(O, E, Z); }
operand(A) ::= LPAREN(O) seq(E) COMMA RPAREN(Z). {
  List one = list_of(&p->builder, E);
  A = build_over(&p->builder, EX_TUPLE, O, one, Z);
}
operand(A) ::= LPAREN(O) seq(E) COMMA seqs(L) comma RPAREN(Z). {
  List all = list_join(list_of(&p->builder, E), L);
  A = build_over(&p->builder, EX_TUPLE, O, all, Z);
}
operand(A) ::= REF(K) LPAREN seq(E) RPAREN(Z). {
  A = build_over(&p->builder, EX_REF, K, list_of(&p->builder, E), Z);
}
operand(A) ::= REF_READ(K) LPAREN seq(E) RPAREN(Z). {
  A = build_over(&p->builder, EX_READ, K, list_of(&p->builder, E), Z);
}
operand(A) ::= REF_WRITE(K) LPAREN seq(R) COMMA seq(E) RPAREN(Z). {
  List both = list_add(&p->builder, list_of(&p->builder, R), E);
  A = build_over(&p->builder, EX_WRITE, K, both, Z);
}
operand(A) ::= FN(K) fnrest(F). {
  F->span = span_join(K.span, F->span);
  A = F;
}
operand(A) ::= branches(L) ELSE LBRACE seq(E) RBRACE(Z). {
  A = build_if(&p->builder, L, E, Z);
}
operand(A) ::= block(E). [TAIL] { A = E; }
operand(A) ::= match(E). [TAIL] { A = E; }
operand(A) ::= operand(F) LPAREN call_args(X) RPAREN(Z). {
  A = build_call(&p->builder, F, X, Z);
}
operand(A) ::= operand(E) DOT INDEX(I). {
  A = build_projection(&p->builder, E, I);
}
operand(A) ::= operand(E) DOT IDENT(N). {
  A = build_field_of(&p->builder, E, N);
}
operand(A) ::= LBRACE(O) expr(E) WITH(K) attrs(B) comma RBRACE(Z). {
  A = build_with(&p->builder, O, E, K, B, Z);
}
operand(A) ::= opname(N) DOT INDEX(I). {
  Expr *name = build_name(&p->builder, EX_IDENT, N);
  A = build_projection(&p->builder, name, I);
}

// nn.dense; the scanner makes the dots tokens of their own, as of %t.0.
opname(A) ::= IDENT(N). { A = N; }
opname(A) ::= opname(L) DOT IDENT(R). {
  A = token_dotted(&p->builder, L, R);
}

elements(A) ::= . { A = LIST_EMPTY; }
elements(A) ::= seqs(L) comma. { A = L; }
seqs(A) ::= seq(E). { A = list_of(&p->builder, E); }
seqs(A) ::= seqs(L) COMMA seq(E). { A = list_add(&p->builder, L, E); }

call_args(A) ::= . { A = (Args){LIST_EMPTY, LIST_EMPTY, LIST_EMPTY}; }
call_args(A) ::= seqs(L) comma. { A = (Args){L, LIST_EMPTY, LIST_EMPTY}; }
call_args(A) ::= attrs(B) comma. { A = (Args){LIST_EMPTY, B, LIST_EMPTY}; }
call_args(A) ::= attrs(B) COMMA seqs(V) comma. {
  A = (Args){LIST_EMPTY, B, V};
}
call_args(A) ::= seqs(L) COMMA attrs(B) comma. { A = (Args){L, B, LIST_EMPTY}; }
call_args(A) ::= seqs(L) COMMA attrs(B) COMMA seqs(V) comma. {
  A = (Args){L, B, V};
}
attrs(A) ::= attr(X). { A = list_of(&p->builder, X); }
attrs(A) ::= attrs(L) COMMA attr(X). { A = list_add(&p->builder, L, X); }
attr(A) ::= opname(N) EQ value(E). { A = build_attr(&p->builder, N, E); }

// A block is no `seq` in braces of an `if` or a function: it has a mark, by
// which the printer writes it again.
block(A) ::= LBRACE(O) seq(E) RBRACE(Z). {
  A = build_block(&p->builder, O, E, Z);
}

branches(A) ::= IF(K) LPAREN seq(C) RPAREN LBRACE seq(E) RBRACE. {
  A = list_of(&p->builder, build_branch(&p->builder, K, C, E));
}
branches(A) ::= branches(L) ELSE IF(K) LPAREN seq(C) RPAREN
                LBRACE seq(E) RBRACE. {
  A = list_add(&p->builder, L, build_branch(&p->builder, K, C, E));
}

// --- Match -------------------------------------------------------------------

// Arms need no commas between them, which is why what ends an arm has rules of
// its own.
match(A) ::= MATCH|MATCH_PARTIAL(K) expr(E) LBRACE arms(L) RBRACE(Z). {
  A = build_match(&p->builder, K, E, L, Z);
}
arms(A) ::= . { A = LIST_EMPTY; }
arms(A) ::= arm_list(L) comma. { A = L; }
arm_list(A) ::= arm(X). { A = list_of(&p->builder, X); }
arm_list(A) ::= arm_list(L) arm(X). { A = list_add(&p->builder, L, X); }
arm_list(A) ::= arm_list(L) COMMA arm(X). {
  A = list_add(&p->builder, L, X);
}
arm(A) ::= pattern(P) guard(G) FATARROW seq(E). {
  A = build_arm(&p->builder, P, G, E, false);
}
// A tuple pattern may follow these two: it is not taken for a call.
arm(A) ::= pattern(P) guard(G) FATARROW block(E). [ARM] {
  A = build_arm(&p->builder, P, G, E, true);
}
arm(A) ::= pattern(P) guard(G) FATARROW match(E). [ARM] {
  A = build_arm(&p->builder, P, G, E, false);
}
guard(A) ::= . { A = NULL; }
guard(A) ::= IF expr(E). { A = E; }

// Alternatives are one list and not a tree, as an or-pattern has no inside.
pattern(A) ::= plain(P). { A = P; }
pattern(A) ::= alternatives(L). { A = build_or_pattern(&p->builder, L); }
alternatives(A) ::= plain(L) BAR plain(R). {
  A = list_add(&p->builder, list_of(&p->builder, L), R);
}
alternatives(A) ::= alternatives(L) BAR plain(R). {
  A = list_add(&p->builder, L, R);
}
plain(A) ::= UNDERSCORE(T). { A = build_wildcard(&p->builder, T); }
plain(A) ::= LOCAL(N) annotation(T). {
  A = build_pattern_var(&p->builder, N, T);
}
plain(A) ::= NUMBER(T). {
  A = build_literal_pattern(&p->builder, T, build_number(&p->builder, T));
}
plain(A) ::= TRUE|FALSE(T). {
  A = build_literal_pattern(&p->builder, T, build_bool(&p->builder, T));
}
plain(A) ::= IDENT(N). { A = build_ctor_pattern(&p->builder, N); }
plain(A) ::= IDENT(N) LPAREN parts(L) RPAREN(Z). {
  A = build_ctor_fields(&p->builder, N, L, Z);
}
plain(A) ::= LPAREN(O) patterns(L) RPAREN(Z). {
  A = build_tuple_pattern(&p->builder, O, L, Z);
}
patterns(A) ::= . { A = LIST_EMPTY; }
patterns(A) ::= pattern_list(L) comma. { A = L; }
pattern_list(A) ::= pattern(P). { A = list_of(&p->builder, P); }
pattern_list(A) ::= pattern_list(L) COMMA pattern(P). {
  A = list_add(&p->builder, L, P);
}

// The fields of a constructor, by position or by name.
parts(A) ::= . { A = LIST_EMPTY; }
parts(A) ::= part_list(L) comma. { A = L; }
part_list(A) ::= part(P). { A = list_of(&p->builder, P); }
part_list(A) ::= part_list(L) COMMA part(P). {
  A = list_add(&p->builder, L, P);
}
part(A) ::= pattern(P). { A = P; }
part(A) ::= IDENT(N) EQ pattern(P). {
  A = build_labelled_pattern(&p->builder, N, P);
}

// --- Types -------------------------------------------------------------------

// A dtype is an IDENT here: build_named_type tells it from other names.
type(A) ::= UNDERSCORE(T). {
  A = build_type(&p->builder, TX_HOLE, T, LIST_EMPTY, T);
}
type(A) ::= META(K) LBRACKET NUMBER RBRACKET(Z). {
  A = build_meta_type(&p->builder, K, Z);
}
// A tuple, or the shape (s..., 2) as an argument of a data type.
type(A) ::= LPAREN(O) targs(L) RPAREN(Z). {
  A = build_type(&p->builder, TX_TUPLE, O, L, Z);
}
type(A) ::= REF(K) LPAREN type(T) RPAREN(Z). {
  A = build_type(&p->builder, TX_REF, K, list_of(&p->builder, T), Z);
}
type(A) ::= FN(K) tparams(P) LPAREN types(L) RPAREN arrow type(R). {
  A = build_fn_type(&p->builder, K, P, L, R);
}
type(A) ::= TENSOR(K) LBRACKET LPAREN dims(D) RPAREN COMMA IDENT(T)
            RBRACKET(Z). {
  A = build_tensor_type(&p->builder, K, D, T, Z);
}
type(A) ::= TENSOR(K) LBRACKET IDENT(S) COMMA IDENT(T) RBRACKET(Z). {
  A = build_tensor_of(&p->builder, K, DX_SPLAT, S, T, Z);
}
type(A) ::= TENSOR(K) LBRACKET QUESTION(S) COMMA IDENT(T) RBRACKET(Z). {
  A = build_tensor_of(&p->builder, K, DX_ANY, S, T, Z);
}
type(A) ::= TENSOR(K) LBRACKET LPAREN dims(D) RPAREN COMMA IDENT(T)
            LBRACKET IDENT(C) RBRACKET NUMBER(B) RBRACKET(Z). {
  Token dtype = token_custom(&p->builder, T, C, B);
  A = build_tensor_type(&p->builder, K, D, dtype, Z);
}
type(A) ::= IDENT(N). { A = build_named_type(&p->builder, N); }
type(A) ::= IDENT(N) LBRACKET targs(L) RBRACKET(Z). {
  A = build_applied_type(&p->builder, N, L, Z);
}
// Arguments of a data type: types, dtypes, dimensions and shapes.  A name alone
// is read as a type, and a shape as a tuple; what they are, the declaration of
// the data type says.
targs(A) ::= . { A = LIST_EMPTY; }
targs(A) ::= targ_list(L) comma. { A = L; }
targ_list(A) ::= targ(T). { A = list_of(&p->builder, T); }
targ_list(A) ::= targ_list(L) COMMA targ(T). {
  A = list_add(&p->builder, L, T);
}
targ(A) ::= type(T). { A = T; }
targ(A) ::= NUMBER(T). {
  A = build_dim_arg(&p->builder, build_dim_number(&p->builder, T));
}
targ(A) ::= QUESTION(T). {
  A = build_dim_arg(&p->builder, build_dim(&p->builder, DX_ANY, T));
}
targ(A) ::= splat(D). { A = build_dim_arg(&p->builder, D); }
targ(A) ::= sum(D). { A = build_dim_arg(&p->builder, D); }
sum(A) ::= term(L) PLUS|MINUS(O) dim(R). [PLUS] {
  A = build_dim_infix(&p->builder, O, L, R);
}
sum(A) ::= term(L) STAR|SLASH(O) dim(R). [STAR] {
  A = build_dim_infix(&p->builder, O, L, R);
}
term(A) ::= sum(D). { A = D; }
term(A) ::= NUMBER(T). { A = build_dim_number(&p->builder, T); }
term(A) ::= IDENT(N). { A = build_dim(&p->builder, DX_NAME, N); }
types(A) ::= . { A = LIST_EMPTY; }
types(A) ::= type_list(L) comma. { A = L; }
type_list(A) ::= type(T). { A = list_of(&p->builder, T); }
type_list(A) ::= type_list(L) COMMA type(T). {
  A = list_add(&p->builder, L, T);
}

dims(A) ::= . { A = LIST_EMPTY; }
dims(A) ::= dim_list(L) comma. { A = L; }
dim_list(A) ::= dim(D). { A = list_of(&p->builder, D); }
dim_list(A) ::= dim_list(L) COMMA dim(D). {
  A = list_add(&p->builder, L, D);
}
dim_list(A) ::= splat(D). { A = list_of(&p->builder, D); }
dim_list(A) ::= dim_list(L) COMMA splat(D). {
  A = list_add(&p->builder, L, D);
}
splat(A) ::= IDENT(N) ELLIPSIS. {
  A = build_dim(&p->builder, DX_SPLAT, N);
}
splat(A) ::= QUESTION(Q) IDENT(N) ELLIPSIS. {
  A = build_dim_any(&p->builder, Q, N);
}
dim(A) ::= NUMBER(T). { A = build_dim_number(&p->builder, T); }
dim(A) ::= QUESTION(T). { A = build_dim(&p->builder, DX_ANY, T); }
dim(A) ::= IDENT(N). { A = build_dim(&p->builder, DX_NAME, N); }
dim(A) ::= META(K) LBRACKET NUMBER(I) RBRACKET(Z). {
  A = build_dim_meta(&p->builder, K, I, Z);
}
dim(A) ::= dim(L) PLUS|MINUS(O) dim(R). [PLUS] {
  A = build_dim_infix(&p->builder, O, L, R);
}
dim(A) ::= dim(L) STAR|SLASH(O) dim(R). [STAR] {
  A = build_dim_infix(&p->builder, O, L, R);
}
dim(A) ::= LPAREN(O) dim(D) RPAREN(Z). {
  D->span = span_join(O.span, Z.span);
  A = D;
}

// --- Asking before feeding ---------------------------------------------------
//
// Before an LALR parser shifts a token it may reduce by several rules, and some
// of them by default, without having looked at the token.  When it then finds
// that the token cannot be shifted, the state that knew what could follow is
// gone.  So the reductions are replayed first, on states alone:
//
//   stack     s0 s1 s2 s3        reduce by a rule of two symbols
//   overlay   s0 s1 | t          s2 and s3 popped by moving `base`, t pushed
//
// Nothing is copied but what is pushed, and that is little: a rule pushes one
// state and pops as many as it has symbols, so only empty rules add to it.

%code {

/* The grammar has no run of empty rules longer than this. */
enum { REPLAY_MAX = 8 };

size_t grammar_size(void) { return sizeof(yyParser); }

void grammar_start(Grammar *g, Parse *p) { lemon_grammarInit(g, p); }

/* Keeps the stack's memory. */
void grammar_reset(Grammar *g) {
  yyParser *y = (yyParser *)g;
  y->yytos = y->yystack;
}

void grammar_end(Grammar *g) {
  yyParser *y = (yyParser *)g;
  size_t size = (size_t)y->yystksz * sizeof *y->yystack;
  if (y->yystack == &y->yystk0) return;
  mem_free(y->p->builder.program->mem, y->yystack, size);
}

/* Room for what one token can push: itself, and what empty rules make. */
static bool make_room(yyParser *y) {
  int used = (int)(y->yytos - y->yystack) + 1, size = y->yystksz;
  if (size - used > REPLAY_MAX) return true;
  bool first = y->yystack == &y->yystk0, fits = size < INT_MAX / 4;
  int grown = fits ? 2 * size + 4 * REPLAY_MAX : size;
  Mem *mem = y->p->builder.program->mem;
  yyStackEntry *stack = NULL;
  if (fits)
    stack = mem_resize(mem, first ? NULL : y->yystack,
                       first ? 0 : (size_t)size * sizeof *stack,
                       (size_t)grown * sizeof *stack);
  if (!stack) {
    mem_raise_exhausted(mem);
    return false;
  }
  if (first) stack[0] = y->yystk0;
  y->yystack = stack;
  y->yytos = stack + used - 1;
  y->yystksz = grown;
  return true;
}

/* Replays the reductions that `kind` would cause, on an overlay of the state
 * stack: states below `base` are the parser's own, those above in `pushed`. */
bool grammar_plan(const Grammar *g, int kind, GrammarPlan *plan) {
  const yyStackEntry *base = ((const yyParser *)g)->yytos;
  YYACTIONTYPE pushed[REPLAY_MAX], state = base->stateno, action;
  int count = 0, rules = 0;
  for (;;) {
    action = yy_find_shift_action((YYCODETYPE)kind, state);
    if (action < YY_MIN_REDUCE) break;
    int rule = action - YY_MIN_REDUCE, pops = -yyRuleInfoNRhs[rule];
    if (rules < PLAN_MAX) plan->rules[rules] = (uint16_t)rule;
    rules++;
    int own = pops < count ? pops : count;
    count -= own;
    base -= pops - own;
    state = count ? pushed[count - 1] : base->stateno;
    state = yy_find_reduce_action(state, yyRuleInfoLhs[rule]);
    assert(count < REPLAY_MAX);
    pushed[count++] = state;
  }
  plan->rule_count = rules;
  plan->state = state;
  plan->action = action;
  return action <= YY_MAX_SHIFTREDUCE || action == YY_ACCEPT_ACTION;
}

/* In the place of lemon's own loop, which would look up once more what the
 * replay has found.  Only rules that the plan had no room for are looked up
 * here. */
void grammar_feed(Grammar *g, const Token *token, const GrammarPlan *plan) {
  yyParser *y = (yyParser *)g;
  YYCODETYPE kind = (YYCODETYPE)token->kind;
  if (!make_room(y)) return;
  for (int i = 0; i < plan->rule_count; i++) {
    YYACTIONTYPE rule =
        i < PLAN_MAX ? plan->rules[i]
                     : yy_find_shift_action(kind, y->yytos->stateno) -
                           YY_MIN_REDUCE;
    yy_reduce(y, rule, kind, *token, y->p);
  }
  if (plan->action == YY_ACCEPT_ACTION) y->yytos--;
  else yy_shift(y, (YYACTIONTYPE)plan->action, kind, *token);
}

bool grammar_accepts(const Grammar *g, int kind) {
  GrammarPlan plan;
  return grammar_plan(g, kind, &plan);
}

bool grammar_expects(const Grammar *g, int kind) {
  GrammarPlan plan;
  if (!grammar_plan(g, kind, &plan)) return false;
  bool accepted = plan.state > YY_MAX_SHIFT;
  return accepted || yy_lookahead[yy_shift_ofst[plan.state] + kind] == kind;
}

}
