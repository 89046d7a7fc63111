/* parser/: what is accepted and as which tree, what is refused and where, what
 * is merely incomplete, and that printing loses nothing.  Expected trees and
 * places are written by hand from the description of the language; the arrays
 * of metadata tables come from an independent encoder.
 *
 * Three oracles: trees written by hand; a property, that printing a tree and
 * parsing the text gives an equal tree, for the conformance programs and for
 * random ones made of templates; and texts cut anywhere, which may be refused
 * or incomplete but do no harm. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/print.h"
#include "parser/literal.h"
#include "parser/parser.h"
#include "tests/unit/program.h"

static ParseStatus parse_len(World *w, const char *text, size_t len,
                             bool interactive, Unit **unit) {
  SourceFile *source = sources_add(&w->sources, "t.rly", text, len, false);
  *unit = NULL;
  if (!source) return PARSE_ERRORS;
  return parse_unit(w->program, source, (ParseOptions){interactive}, unit);
}

static Unit *parse_ok(World *w, const char *text) {
  Unit *u;
  ParseStatus status = parse_len(w, text, strlen(text), false, &u);
  if (status == PARSE_OK) return u;
  diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
  fail_msg("%s\n%s", text, strbuf_text(&w->out));
  return NULL;
}

/* --- Trees -------------------------------------------------------------- */

static void dump(StrBuf *out, const Expr *e);

static void dump_list(StrBuf *out, const char *head, const Expr *e) {
  strbuf_addf(out, "(%s", head);
  for (int i = 0; i < e->count; i++) {
    strbuf_add_char(out, ' ');
    dump(out, e->args[i]);
  }
  strbuf_add_char(out, ')');
}

static void dump_attr(StrBuf *out, const AttrExpr *x) {
  switch (x->kind) {
    case AX_INT: strbuf_addf(out, "%lld", (long long)x->integer); break;
    case AX_FLOAT: strbuf_addf(out, "%gf", x->real); break;
    case AX_BOOL: strbuf_add(out, x->integer ? "T" : "F"); break;
    case AX_STRING: strbuf_addf(out, "'%.*s'", x->count, x->text); break;
    case AX_NONE: strbuf_add(out, "none"); break;
    case AX_META:
      strbuf_addf(out, "%s#%lld", x->text, (long long)x->integer);
      break;
    case AX_EXPR: dump(out, x->expr); break;
    case AX_LIST:
      strbuf_add_char(out, '[');
      for (int i = 0; i < x->count; i++) {
        if (i) strbuf_add_char(out, ' ');
        dump_attr(out, x->items[i]);
      }
      strbuf_add_char(out, ']');
  }
}

static void dump_call(StrBuf *out, const Expr *e) {
  strbuf_add(out, "(");
  dump(out, e->call.callee);
  for (int i = 0; i < e->count; i++) {
    strbuf_add_char(out, ' ');
    dump(out, e->args[i]);
  }
  for (int i = 0; i < e->call.attr_count; i++) {
    const Attr *a = &e->call.attrs[i];
    strbuf_addf(out, " %s=", a->name ? a->name->text : "*");
    dump_attr(out, a->value);
  }
  strbuf_add(out, ")");
}

static void dump_block(StrBuf *out, const Block *b) {
  static const char *const kinds[] = {
      [BIND_LET] = "let",     [BIND_AND] = "and",   [BIND_ITEM] = "do",
      [BIND_GRAPH] = "graph", [BIND_FREE] = "free",
  };
  strbuf_add_char(out, '{');
  for (int i = 0; i < b->count; i++) {
    strbuf_add(out, kinds[b->bindings[i].kind]);
    strbuf_add_char(out, ' ');
    if (b->bindings[i].value) dump(out, b->bindings[i].value);
    strbuf_add(out, "; ");
  }
  dump(out, b->result);
  strbuf_add_char(out, '}');
}

static void dump_pattern(StrBuf *out, const Pattern *p) {
  if (p->label) strbuf_addf(out, "%s=", p->label->text);
  switch (p->kind) {
    case PT_WILD: strbuf_add_char(out, '_'); return;
    case PT_VAR: strbuf_addf(out, "%%%s", p->var->name->text); return;
    case PT_CTOR: strbuf_add(out, p->name->text); break;
    case PT_LITERAL: strbuf_add(out, "literal"); return;
    case PT_OR: strbuf_add(out, "or"); break;
    case PT_TUPLE: break;
  }
  if (p->kind == PT_CTOR && !p->parens) return;
  for (int i = 0; i < p->count; i++) {
    strbuf_add_char(out, i ? ' ' : '(');
    dump_pattern(out, p->fields[i]);
  }
  strbuf_add(out, p->count ? ")" : "()");
}

static void dump_match(StrBuf *out, const Expr *e) {
  strbuf_add(out, e->match->partial ? "(match? " : "(match ");
  dump(out, e->args[0]);
  for (int i = 0; i < e->match->arm_count; i++) {
    strbuf_add(out, " | ");
    dump_pattern(out, e->match->arms[i].pattern);
    strbuf_add(out, " ");
    dump(out, e->match->arms[i].body);
  }
  strbuf_add(out, ")");
}

static void dump_fn(StrBuf *out, const Fn *fn) {
  strbuf_add(out, "(fn");
  for (int i = 0; i < fn->param_count; i++)
    strbuf_addf(out, " %%%s", fn->params[i]->name->text);
  strbuf_add(out, " ");
  dump(out, fn->body);
  strbuf_add(out, ")");
}

static void dump(StrBuf *out, const Expr *e) {
  const Tensor *t = e->kind == EX_CONST ? e->constant : NULL;
  switch (e->kind) {
    case EX_LOCAL: strbuf_addf(out, "%%%s", e->name->text); break;
    case EX_GRAPH: strbuf_addf(out, "%%%lld", (long long)e->index); break;
    case EX_IDENT: strbuf_add(out, e->name->text); break;
    case EX_META:
      strbuf_addf(out, "%s#%lld", e->meta.name->text, (long long)e->meta.index);
      break;
    case EX_STRING:
      strbuf_addf(out, "'%.*s'", (int)e->text.len, e->text.bytes);
      break;
    case EX_BRACKET: dump_list(out, "bracket", e); break;
    case EX_CONST:
      scalar_print_literal(out, (DType)t->dtype, tensor_bits_at(t, 0));
      break;
    case EX_GLOBAL: strbuf_addf(out, "@%s", e->g.name->text); break;
    case EX_TUPLE: dump_list(out, "tuple", e); break;
    case EX_PROJ:
      strbuf_addf(out, "(%lld ", (long long)e->index);
      dump(out, e->args[0]);
      strbuf_add(out, ")");
      break;
    case EX_FIELD:
      strbuf_add(out, "(field ");
      dump(out, e->args[0]);
      strbuf_addf(out, " %s)", e->field.name->text);
      break;
    case EX_CTOR: strbuf_add(out, "with"); break;
    case EX_CALL: dump_call(out, e); break;
    case EX_FN: dump_fn(out, e->fn); break;
    case EX_BLOCK: dump_block(out, e->block); break;
    case EX_IF: dump_list(out, "if", e); break;
    case EX_MATCH: dump_match(out, e); break;
    case EX_REF: dump_list(out, "ref", e); break;
    case EX_READ: dump_list(out, "read", e); break;
    case EX_WRITE: dump_list(out, "write", e); break;
    default: strbuf_add(out, "?");
  }
}

static const struct {
  const char *text, *tree;
} trees[] = {
    /* Signs and numbers. */
    {"-5", "-5"},
    {"--10", "10"},
    {"---10", "-10"},
    {"- 5", "(negative 5)"},
    {"-(5)", "(negative 5)"},
    {"-%x", "(negative %x)"},
    {"--%x", "(negative (negative %x))"},
    {"1-1", "(subtract 1 1)"},
    {"1 -1", "(subtract 1 1)"},
    {"1 --1", "(subtract 1 -1)"},
    {"%x-5", "(subtract %x 5)"},
    {"f(-1)(2)-3", "(subtract ((f -1) 2) 3)"},
    {"(1)-1", "(subtract 1 1)"},
    {"{1}-1", "(subtract {1} 1)"},
    {"1f+2f", "(add 1f 2f)"},
    {"-inff", "-inff"},
    {"-inffer", "(negative inffer)"},
    {"inff/2f", "(divide inff 2f)"},
    {"-9223372036854775808", "-9223372036854775808i64"},
    {"-2147483648", "-2147483648"},
    {"2147483648", "2147483648i64"},
    /* Projections, names and slashes. */
    {"%t.0.1", "(1 (0 %t))"},
    {"%t.0+1", "(add (0 %t) 1)"},
    {"%0.1", "(1 %0)"},
    {"f(%x).0(1).2", "(2 ((0 (f %x)) 1))"},
    {"nn . relu(%x)", "(nn.relu %x)"},
    {"Unit.0", "(0 Unit)"},
    {"%x/2", "%x/2"},
    {"%x/%y", "(divide %x %y)"},
    {"%a/b/c", "%a/b/c"},
    {"%x/*c*/", "%x"},
    {"%x//c", "%x"},
    {"(%ref, %match, @def, %_, %True)", "(tuple %ref %match @def %_ %True)"},
    {"(and, param, import, Tensor)", "(tuple and param import Tensor)"},
    /* Precedence. */
    {"1 + 2 * 3 - 4", "(subtract (add 1 (multiply 2 3)) 4)"},
    {"%a < %b == %c > %d", "(equal (less %a %b) (greater %c %d))"},
    {"%a || %b && !%c", "(if %a True (if %b (logical_not %c) False))"},
    {"-%x.0 * 2", "(multiply (negative (0 %x)) 2)"},
    {"!f(%x)", "(logical_not (f %x))"},
    /* Calls apply to the whole of what stands before them. */
    {"fn (%x) { %x }(3)", "((fn %x %x) 3)"},
    {"if (%c) { %f } else { %g } (3)", "((if %c %f %g) 3)"},
    {"ref_read(%r)(3)", "((read %r) 3)"},
    {"if (%a) {1} else if (%b) {2} else {3}", "(if %a 1 (if %b 2 3))"},
    /* Sequences, lets and blocks. */
    {"{ 1; 2 }", "{do 1; 2}"},
    {"{ 1; }", "{do 1; (tuple)}"},
    {"{ let %x = 1; %x; 3 }", "{let 1; do %x; 3}"},
    {"f(1; 2, 3)", "(f {do 1; 2} 3)"},
    {"1 + let %x = 2; %x * 3", "(add 1 {let 2; (multiply %x 3)})"},
    {"{ let %b = let %t = 1; %t; let %c = %b; %c }",
     "{let {let 1; %t}; let %b; %c}"},
    {"{ let %f = fn () { %g() } and %g = fn () { %f() }; %f }",
     "{let (fn (%g)); and (fn (%f)); %f}"},
    {"{ %0 = 1; free_var %z: int32; %0 }", "{graph 1; free ; %0}"},
    {"%0 = 1; let %x = %0; %x", "{graph 1; let %0; %x}"},
    {"(1,)", "(tuple 1)"},
    {"()", "(tuple)"},
    {"(1, 2,)", "(tuple 1 2)"},
    {"ref_write(ref(1), 2)", "(write (ref 1) 2)"},
    {"[[1, 2], [-3]]", "(bracket (bracket 1 2) (bracket -3))"},
    /* Match. */
    {"match %x { A => 1, B(%y, _) => { 2 } }", "(match %x | A 1 | B(%y _) 2)"},
    {"match? (%a, %b) { (%x, C()) => 1; 2, (_,) => 3, }",
     "(match? (tuple %a %b) | (%x C()) {do 1; 2} | (_) 3)"},
    {"match %x { A => { 1 } (B, C) => 2 D => 3 }",
     "(match %x | A 1 | (B C) 2 | D 3)"},
    {"match %x { A => match %y { _ => 1 } (%p, %q) => 2 }",
     "(match %x | A (match %y | _ 1) | (%p %q) 2)"},
    {"match %x { A => { 1 } + 2 }", "(match %x | A (add {1} 2))"},
    /* Attributes. */
    {"f(%x, a=1, b.c=-2f, d=True, e=\"s\", f=None, g=nullptr)",
     "(f %x a=1 b.c=-2f d=T e='s' f=none g=none)"},
    {"f(a.b=[1, [2], %x], c=(3), d=%x + 1, e=None(1))",
     "(f a.b=[1 [2] %x] c=3 d=(add %x 1) e=(None 1))"},
    {"f(%x, meta[relay.attrs.X][2])", "(f %x *=relay.attrs.X#2)"},
    {"f(meta[relay.Constant][0], k=meta[tir.Y][1])",
     "(f relay.Constant#0 k=tir.Y#1)"},
    {"fn (%x {virtual_device=meta[VirtualDevice][0]}: int32, A=1) { %x }",
     "(fn %x %x)"},
    /* Strings and comments. */
    {"\"a\\x41\\101\\u00e9\\\"\"", "'aAA\xC3\xA9\"'"},
    {"/** x **/ 1 /* /* y */ */ // z", "1"},
    {"\xEF\xBB\xBF"
     "1 +\r\n 2",
     "(add 1 2)"},
};

static void trees_have_their_shape(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(trees); i++) {
    Unit *u = parse_ok(w, trees[i].text);
    assert_int_equal(u->item_count, 1);
    assert_int_equal(u->items[0].kind, ITEM_EXPR);
    VEC_CLEAR(&w->out);
    dump(&w->out, u->items[0].expr);
    assert_string_equal(strbuf_text(&w->out), trees[i].tree);
  }
}

/* --- Literals ----------------------------------------------------------- */

static const struct {
  const char *text;
  DType dtype;
  double value;
} numbers[] = {
    {"7", DT_INT32, 7},
    {"007", DT_INT32, 7},
    {"-05", DT_INT32, -5},
    {"2147483647", DT_INT32, 2147483647},
    {"2147483648", DT_INT64, 2147483648.0},
    {"-2147483649", DT_INT64, -2147483649.0},
    {"-9223372036854775808", DT_INT64, -0x1p63},
    {"6i", DT_INT32, 6},
    {"-128i8", DT_INT8, -128},
    {"-32768i16", DT_INT16, -32768},
    {"5i64", DT_INT64, 5},
    {"255u8", DT_UINT8, 255},
    {"65535u16", DT_UINT16, 65535},
    {"4294967295u32", DT_UINT32, 4294967295.0},
    {"18446744073709551615u64", DT_UINT64, 0x1p64},
    {"1f", DT_FLOAT32, 1},
    {"5.f", DT_FLOAT32, 5},
    {"1.0", DT_FLOAT32, 1},
    {"1e5", DT_FLOAT32, 1e5},
    {"1E+1f", DT_FLOAT32, 10},
    {"3.0e-5f64", DT_FLOAT64, 3.0e-5},
    {"0.1f", DT_FLOAT32, 0x1.99999ap-4},
    {"0.1f64", DT_FLOAT64, 0.1},
    {"1e-310f64", DT_FLOAT64, 1e-310},
    {"16777217f", DT_FLOAT32, 16777216},
    {"3.4028235e+38f", DT_FLOAT32, 0x1.fffffep127},
    {"65504f16", DT_FLOAT16, 65504},
    {"0.5f16", DT_FLOAT16, 0.5},
    {"1.5bf16", DT_BFLOAT16, 1.5},
    {"-inff", DT_FLOAT32, -__builtin_inf()},
    {"--inff64", DT_FLOAT64, __builtin_inf()},
    {"inff16", DT_FLOAT16, __builtin_inf()},
    {"infbf16", DT_BFLOAT16, __builtin_inf()},
};

static const Tensor *constant(World *w, const char *text) {
  const Expr *e = parse_ok(w, text)->items[0].expr;
  assert_int_equal(e->kind, EX_CONST);
  assert_int_equal(e->constant->obj.count, COUNT_IMMORTAL);
  return e->constant;
}

static void numbers_have_their_values(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(numbers); i++) {
    const Tensor *t = constant(w, numbers[i].text);
    assert_int_equal(t->dtype, numbers[i].dtype);
    assert_true(tensor_f64_at(t, 0) == numbers[i].value);
  }
  double nan = tensor_f64_at(constant(w, "nanf16"), 0);
  assert_true(nan != nan);
}

/* --- Items and types ---------------------------------------------------- */

/* Printed canonically, each of these is what it was: one item a line. */
static const char items_text[] =
    "#[version = \"0.0.5\"]\n"
    "import \"a\\tb.rly\";\n"
    "type List[A] { Cons(A, List[A]), Nil() }\n"
    "type None0\n"
    "type Empty {}\n"
    "extern type Storage\n"
    "param @w: Tensor[(2), float32] = [1, 2];\n"
    "param @v: int32;\n"
    "let @g: (int32,) = (1,);\n"
    "let %f = fn () { %g() } and %g: _ = fn () { %f() };\n"
    "def @f[A, n: Dim](%x: Tensor[(n * (4 + ?), 2i64), float32], %y: Ref[A],\n"
    "  %z: ref(A), %g: fn [B](B) -> B, %h: bool, a.b=1) - > nat[] { 1 }\n"
    "@f(1)";

static void items_have_their_parts(void **state) {
  World *w = *state;
  Unit *u = parse_ok(w, items_text);
  static const ItemKind kinds[] = {
      ITEM_IMPORT,    ITEM_TYPE,      ITEM_TYPE,  ITEM_TYPE,
      ITEM_TYPE,      ITEM_PARAM,     ITEM_PARAM, ITEM_LET_GLOBAL,
      ITEM_LET_LOCAL, ITEM_LET_LOCAL, ITEM_DEF,   ITEM_EXPR,
  };
  assert_true(u->version_header);
  assert_int_equal(u->item_count, LENGTH(kinds));
  for (size_t i = 0; i < LENGTH(kinds); i++)
    assert_int_equal(u->items[i].kind, kinds[i]);
  assert_string_equal(u->items[0].path, "a\tb.rly");
  assert_int_equal(u->items[1].adt->ctor_count, 2);
  assert_true(u->items[1].adt->ctors[1].parens);
  assert_false(u->items[2].adt->braces);
  assert_true(u->items[3].adt->braces);
  assert_true(u->items[4].adt->is_extern);
  assert_non_null(u->items[5].expr);
  assert_null(u->items[6].expr);
  assert_false(u->items[8].continues);
  assert_true(u->items[9].continues);
}

static void types_have_their_parts(void **state) {
  World *w = *state;
  const Item *def = &parse_ok(w, items_text)->items[10];
  const Fn *fn = def->expr->fn;
  assert_int_equal(fn->type_param_count, 2);
  assert_int_equal(fn->type_params[0].kind, KIND_TYPE);
  assert_int_equal(fn->type_params[1].kind, KIND_DIM);
  assert_int_equal(fn->attr_count, 1);
  assert_string_equal(fn->attrs[0].name->text, "a.b");
  static const TypeExprKind kinds[] = {TX_TENSOR, TX_REF, TX_REF, TX_FN,
                                       TX_TENSOR};
  assert_int_equal(fn->param_count, LENGTH(kinds));
  for (size_t i = 0; i < LENGTH(kinds); i++)
    assert_int_equal(fn->params[i]->annotation->kind, kinds[i]);
  const TypeExpr *tensor = fn->params[0]->annotation;
  assert_int_equal(tensor->dim_count, 2);
  assert_int_equal(tensor->dims[0]->kind, DX_MUL);
  assert_int_equal(tensor->dims[0]->right->kind, DX_ADD);
  assert_int_equal(tensor->dims[0]->right->right->kind, DX_ANY);
  assert_int_equal(tensor->dims[1]->number, 2);
  assert_true(fn->params[4]->annotation->scalar);
  assert_int_equal(fn->result->kind, TX_NAME);
  assert_true(fn->result->brackets);
}

static void comments_are_kept_in_order(void **state) {
  World *w = *state;
  Unit *u = parse_ok(w, "// a\n1 /* b /* c */ */; // d");
  static const char *const wanted[] = {"// a", "/* b /* c */ */", "// d"};
  assert_int_equal(u->comment_count, LENGTH(wanted));
  for (size_t i = 0; i < LENGTH(wanted); i++) {
    uint32_t len;
    const char *text = sources_text(&w->sources, u->comments[i].span, &len);
    assert_int_equal(len, strlen(wanted[i]));
    assert_memory_equal(text, wanted[i], len);
  }
}

/* --- Mistakes ----------------------------------------------------------- */

/* Each text has one mistake, and one message with these words at this place. */
static const struct {
  const char *text;
  DiagCode code;
  uint32_t line, column;
  const char *words;
} mistakes[] = {
    {"1 +\n\n", E0004, 1, 4, "expected an expression, found the end"},
    {"f(1, 2 3)", E0004, 1, 8, "expected `;`, `,`, `)` or an operator"},
    {"{ let %x = 1 %x }", E0004, 1, 14,
     "expected `;`, `and` or an operator, found `%x`"},
    {"def @f(%x: ) { 1 }", E0004, 1, 12, "expected a type, found `)`"},
    {"match %x { 1 + 2 => 3 }", E0004, 1, 14, "expected"},
    {"match %x { A -> 1 }", E0004, 1, 14, "expected `=>`, `|`, `(` or `if`"},
    {"fn (%x: Tensor[(%y), bool]) {1}", E0004, 1, 17,
     "expected `)` or a dimension"},
    {"f(a=1, 2, b=3)", E0004, 1, 12, "expected"},
    {";", E0004, 1, 1, "expected a definition, a `let` or an expression"},
    {"if (%c) {1}", E0004, 1, 12, "expected `else`"},
    {"1 2", E0004, 1, 3, "expected `;`"},
    {"(1, 2).(", E0004, 1, 8, "expected a name or a field's number"},
    {"type P { P(a: bool, int32) }", E0012, 1, 21, "has no name"},
    {"{%p with}", E0004, 1, 9, "expected a name"},
    {"1.2.3f", E0004, 1, 5, "found `3f`"},
    /* An unclosed bracket is reported where it opens. */
    {"def @f() {\n  g(1,\n 2\n}", E0004, 2, 4, "`(` is never closed"},
    {"def @f() {\n 1\ndef @g() { 2 }", E0004, 1, 10, "`{` is never closed"},
    {"[1,\n2", E0004, 1, 1, "expected `]` before the end"},
    {"1 /* a /* b */", E0002, 1, 3, "comment"},
    {"f(a=\"b)\n\n", E0002, 1, 5, "string"},
    {"{}", E0009, 1, 2, "expected an expression, found `}`"},
    {"{ let %x = 1;\n}", E0009, 2, 1, "expected an expression, found `}`"},
    {"%a & %b", E0001, 1, 4, "`&`"},
    {"1 +\r 2", E0001, 1, 4, "\\x0d"},
    {"1 \xC2\xA0+ 2", E0001, 1, 3, "\xC2\xA0"},
    {"7i12", E0003, 1, 1, "`i12`"},
    {"1 + 0x10", E0003, 1, 5, "`x10`"},
    {"1_000", E0003, 1, 1, "`_000`"},
    {"1ff", E0003, 1, 1, "`ff`"},
    {"1.5i32", E0003, 1, 1, "no integer"},
    {"32768i16", E0003, 1, 1, "does not fit int16"},
    {"-1u8", E0003, 1, 1, "does not fit uint8"},
    {"9223372036854775808", E0003, 1, 1, "does not fit int64"},
    {"18446744073709551616u64", E0003, 1, 1, "does not fit uint64"},
    {"65505f16", E0003, 1, 1, "does not fit float16"},
    {"3.40283e+38f32", E0003, 1, 1, "does not fit float32"},
    {"1e400f64", E0003, 1, 1, "does not fit float64"},
    {"%t.99999999999999999999", E0003, 1, 4, "out of range"},
    {"meta[a][1f]", E0003, 1, 9, "integer"},
    {"\"a\\q\"", E0008, 1, 3, "escape"},
    {"\"\\ud800\"", E0008, 1, 2, "escape"},
    {"#[version = \"0.0.4\"] 1", E0005, 1, 1,
     "the version of Relay's text is 0.0.5"},
    {"#[fast] 1", E0005, 1, 1, "#[fast]"},
    {"fn (%x: Tensor[(-2), bool]) {1}", E0115, 1, 17, "negative"},
    {"fn (%x: Tensor[(2), real]) {1}", E0104, 1, 21, "`real`"},
    {"fn [n: Size]() {1}", E0004, 1, 8, "`Dim`"},
    {"1\n#[metadata]\n{", E0007, 3, 2, "JSON"},
};

static void check_mistake(World *w, size_t i) {
  Unit *u;
  diags_clear(&w->diags);
  ParseStatus status =
      parse_len(w, mistakes[i].text, strlen(mistakes[i].text), false, &u);
  assert_int_equal(status, PARSE_ERRORS);
  assert_null(u);
  VEC_CLEAR(&w->out);
  diags_render(&w->diags, &w->sources, (DiagLook){0}, &w->out);
  if (w->diags.errors != 1) fail_msg("%s", strbuf_text(&w->out));
  const Diag *d = w->diags.list.data[0];
  Place place = sources_place(&w->sources, d->span);
  bool right = d->code == mistakes[i].code && place.line == mistakes[i].line &&
               place.column == mistakes[i].column &&
               strstr(d->message, mistakes[i].words);
  if (!right) fail_msg("%s", strbuf_text(&w->out));
}

static void mistakes_are_reported_once(void **state) {
  for (size_t i = 0; i < LENGTH(mistakes); i++) check_mistake(*state, i);
}

static void bytes_that_are_no_text_are_refused(void **state) {
  World *w = *state;
  Unit *u;
  assert_int_equal(parse_len(w, "1 +\0 2", 6, false, &u), PARSE_ERRORS);
  assert_int_equal(parse_len(w, "1 + \xFF", 5, false, &u), PARSE_ERRORS);
  assert_non_null(strstr(w->diags.list.data[0]->message, "byte 3"));
  assert_non_null(strstr(w->diags.list.data[1]->message, "byte 4"));
}

/* After a mistake the parser goes on at the next item, and only there. */
static const struct {
  const char *text;
  uint32_t lines[6];
} recoveries[] = {
    {"1 2;\n3 4;\n5", {1, 2}},
    {"def @f() { (1 2) }\ndef @g() { 3 }\nf oo;", {1, 3}},
    {"def @f() { if (%c) {1} }\n1 1;\n2", {1, 2}},
    {"let @x = (1;\nlet @y = ];\n@x", {1, 2}},
    {"f(1,\nimport \"x\";\n1 1;\nparam", {1, 3, 4}},
    {"def @f( {\n}\ntype 1 { A }\nparam 3;\nimport 4;\nlet @z = 1",
     {1, 3, 4, 5}},
    {"$ $ $ ;\n1", {1}},
};

static void parsing_goes_on_at_the_next_item(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(recoveries); i++) {
    Unit *u;
    diags_clear(&w->diags);
    const char *text = recoveries[i].text;
    parse_len(w, text, strlen(text), false, &u);
    size_t wanted = 0;
    while (recoveries[i].lines[wanted]) wanted++;
    assert_int_equal(w->diags.errors, wanted);
    for (size_t k = 0; k < wanted; k++) {
      Place place = sources_place(&w->sources, w->diags.list.data[k]->span);
      assert_int_equal(place.line, recoveries[i].lines[k]);
    }
  }
}

/* --- The prompt --------------------------------------------------------- */

static const struct {
  const char *text;
  ParseStatus status;
} prompts[] = {
    {"", PARSE_OK},
    {"1 + 2", PARSE_OK},
    {"let %x = 1", PARSE_OK},
    {"// only this", PARSE_OK},
    {"def @f() { 1 }", PARSE_OK},
    {"type T", PARSE_OK},
    {"1 +", PARSE_INCOMPLETE},
    {"def @f(", PARSE_INCOMPLETE},
    {"let", PARSE_INCOMPLETE},
    {"if (%c) { 1 }", PARSE_INCOMPLETE},
    {"f(1, /* ", PARSE_INCOMPLETE},
    {"\"abc", PARSE_INCOMPLETE},
    {"match %x {", PARSE_INCOMPLETE},
    {"{ let %x = 1;", PARSE_INCOMPLETE},
    {"nn.", PARSE_INCOMPLETE},
    {"let @x: Tensor[(2,", PARSE_INCOMPLETE},
    {"1 + )", PARSE_ERRORS},
    {"f(1 2", PARSE_ERRORS},
    {"7i12 +", PARSE_ERRORS},
    {"def @f(] (", PARSE_ERRORS},
};

static void incomplete_is_told_from_wrong(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(prompts); i++) {
    Unit *u;
    const char *text = prompts[i].text;
    diags_clear(&w->diags);
    ParseStatus status = parse_len(w, text, strlen(text), true, &u);
    assert_int_equal(status, prompts[i].status);
    assert_int_equal(w->diags.errors > 0, status == PARSE_ERRORS);
    assert_int_equal(u != NULL, status == PARSE_OK);
  }
}

static void check_open(const char *text, int depth, const char *innermost) {
  const char *found;
  assert_int_equal(parse_open_brackets(text, (uint32_t)strlen(text), &found),
                   depth);
  assert_string_equal(found, innermost);
}

static void open_brackets_are_known(void **state) {
  (void)state;
  check_open("f(1) + {2}", 0, "");
  check_open("f(1)) + 2", 0, "");
  check_open("def @f() { g([1], fn (%x", 3, "(");
  check_open("{ /* ( ", 2, "/*");
  check_open("{ /* /* */ ( ", 2, "/*");
  check_open("f(\"(\", [1, // (\n", 2, "[");
  check_open("[ \"{", 2, "\"");
  char many[1001] = {0};
  memset(many, '(', sizeof many - 1);
  check_open(many, 1000, "");
}

/* --- Size --------------------------------------------------------------- */

static char *repeat(World *w, const char *before, const char *text, size_t n,
                    const char *after) {
  VEC_CLEAR(&w->out);
  strbuf_add(&w->out, before);
  for (size_t i = 0; i < n; i++) strbuf_add(&w->out, text);
  strbuf_add(&w->out, after);
  return strdup(strbuf_text(&w->out));
}

static void check_length(World *w, const char *before, const char *text,
                         const char *after) {
  char *program = repeat(w, before, text, 100000, after);
  parse_ok(w, program);
  free(program);
}

static void length_is_not_limited(void **state) {
  World *w = *state;
  check_length(w, "1", " + 1", "");
  check_length(w, "%a", " && %a", "");
  check_length(w, "%f", "(1)", "");
  check_length(w, "%t", ".0", "");
  check_length(w, "{ ", "let %x = 1; ", "%x }");
  check_length(w, "{ ", "f(); ", "1 }");
  check_length(w, "", "if (%c) {1} else ", "{2}");
  check_length(w, "", "def @f() { 1 } ", "");
  check_length(w, "[", "1, ", "]");
  check_length(w, "match %x { ", "A => 1, ", "}");
  check_length(w, "", "-", "1");
}

/* BEFORE, then OPEN n times, MIDDLE, CLOSE n times, AFTER. */
static char *nested(World *w, const char *const parts[5], size_t n) {
  char *left = repeat(w, parts[0], parts[1], n, parts[2]);
  char *whole = repeat(w, left, parts[3], n, parts[4]);
  free(left);
  return whole;
}

static void check_depth(World *w, const char *open, const char *middle,
                        const char *close) {
  char *whole =
      nested(w, (const char *const[]){"", open, middle, close, ""}, 100000);
  parse_ok(w, whole);
  free(whole);
}

/* A thousand levels are accepted, one more is one error, and so are a hundred
 * thousand. */
static void check_limited_depth(World *w, const char *before, const char *open,
                                const char *middle, const char *close,
                                const char *after) {
  static const size_t depths[] = {1000, 1001, 100000};
  for (int i = 0; i < 3; i++) {
    char *whole =
        nested(w, (const char *const[]){before, open, middle, close, after},
               depths[i]);
    Unit *u;
    diags_clear(&w->diags);
    ParseStatus status = parse_len(w, whole, strlen(whole), false, &u);
    assert_int_equal(status, i == 0 ? PARSE_OK : PARSE_ERRORS);
    assert_int_equal(w->diags.errors, i == 0 ? 0 : 1);
    if (i > 0) assert_int_equal(w->diags.list.data[0]->code, E0006);
    free(whole);
  }
}

/* The end of the text is what is wrong, however deep it stands. */
static void check_open_depth(World *w, const char *text) {
  char *whole = repeat(w, "", text, 1000000, "");
  Unit *u;
  diags_clear(&w->diags);
  assert_int_equal(parse_len(w, whole, strlen(whole), false, &u), PARSE_ERRORS);
  assert_int_equal(w->diags.list.data[0]->code, E0004);
  assert_int_equal(w->diags.errors, 1);
  free(whole);
}

/* Hostile texts whose tokens could be scanned again and again. */
static void scanning_is_linear(void **state) {
  World *w = *state;
  static const char *const texts[] = {"#[",     "meta[", "-1",   "--",
                                      "let /*", "a/",    "let ", "\"\\",
                                      "/",      "'",     "%x/"};
  for (size_t i = 0; i < LENGTH(texts); i++) {
    char *whole = repeat(w, "1 1 ", texts[i], 500000, "");
    Unit *u;
    diags_clear(&w->diags);
    parse_len(w, whole, strlen(whole), false, &u);
    assert_int_equal(w->diags.errors, 1);
    free(whole);
  }
}

static void depth_is_not_limited(void **state) {
  World *w = *state;
  check_depth(w, "(", "1", ")");
  check_depth(w, "[", "1", "]");
  check_depth(w, "{", "1", "}");
  check_depth(w, "!", "%x", "");
  check_depth(w, "- ", "%x", "");
  check_depth(w, "if (%c) { ", "1", " } else { 2 }");
  check_depth(w, "match %x { _ => ", "1", " }");
  check_depth(w, "let %x = ", "1", "; %x");
  check_open_depth(w, "f(");
  check_open_depth(w, "!");
  check_open_depth(w, "-");
  check_open_depth(w, "match ");
  check_open_depth(w, "let %x = ");
  check_open_depth(w, "1 + let %x = 1; ");
}

static void depth_of_types_is_limited(void **state) {
  World *w = *state;
  check_limited_depth(w, "fn (%x: ", "(", "_", ",)", ") { 1 }");
  check_limited_depth(w, "fn (%x: ", "List[", "_", "]", ") { 1 }");
  check_limited_depth(w, "fn (%x: ", "fn () -> ", "_", "", ") { 1 }");
  check_limited_depth(w, "match %x { ", "(", "_", ",)", " => 1 }");
  check_limited_depth(w, "match %x { ", "S(", "_", ")", " => 1 }");
  check_limited_depth(w, "f(%x, axis=", "[", "1", "]", ")");
}

/* --- Metadata ----------------------------------------------------------- */

static const char metadata_text[] =
    "cumsum(%x, meta[relay.attrs.ScanopAttrs][0])\n#[metadata]\n"
    "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"},"
    " {\"type_key\": \"Map\", \"keys\": [\"relay.Constant\","
    "  \"relay.attrs.ScanopAttrs\"], \"data\": [2, 3]},"
    " {\"type_key\": \"Array\", \"data\": [4, 5]},"
    " {\"type_key\": \"Array\", \"data\": [6]},"
    " {\"type_key\": \"relay.Constant\", \"attrs\": {\"data\": \"0\"}},"
    " {\"type_key\": \"relay.Constant\", \"attrs\": {\"data\": \"1\"}},"
    " {\"type_key\": \"relay.attrs.ScanopAttrs\", \"attrs\": {"
    "  \"axis\": \"7\", \"dtype\": \"int64\", \"exclusive\": \"0\","
    "  \"pads\": \"8\", \"layout\": \"10\", \"epsilon\": \"1e-05\","
    "  \"groups\": \"9\"}},"
    " {\"type_key\": \"IntImm\", \"attrs\": {\"dtype\": \"int32\","
    "  \"value\": \"-1\"}},"
    " {\"type_key\": \"Array\", \"data\": [9]},"
    " {\"type_key\": \"FloatImm\", \"attrs\": {\"dtype\": \"float64\","
    "  \"value\": \"0.5\"}},"
    " {\"type_key\": \"runtime.String\", \"repr_str\": \"NCHW\"}],"
    "\"b64ndarrays\": ["
    "\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAAAAPwAA"
    "gL8=\","
    "\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEBAQABAAAAAAAAAAI=\"]}";

static const AttrExpr *field(const MetaEntry *entry, const char *name) {
  for (int i = 0; i < entry->attr_count; i++) {
    const Attr *a = &entry->attrs[i];
    if (!strcmp(a->name->text, name)) return a->value;
  }
  fail_msg("no field %s", name);
  return NULL;
}

static void metadata_is_decoded(void **state) {
  Unit *u = parse_ok(*state, metadata_text);
  assert_int_equal(u->meta_count, 3);
  const Tensor *a = u->meta[0].constant, *b = u->meta[1].constant;
  assert_int_equal(a->dtype, DT_FLOAT32);
  assert_int_equal(a->shape[0], 2);
  assert_true(tensor_f64_at(a, 0) == 0.5 && tensor_f64_at(a, 1) == -1);
  assert_int_equal(b->dtype, DT_BOOL);
  assert_int_equal(b->rank, 0);
  assert_int_equal(tensor_i64_at(b, 0), 1);
  assert_int_equal(a->obj.count, COUNT_IMMORTAL);
  assert_int_equal(u->meta[1].index, 1);
}

static void records_have_their_fields(void **state) {
  Unit *u = parse_ok(*state, metadata_text);
  const MetaEntry *entry = &u->meta[2];
  assert_int_equal(entry->kind, META_RECORD);
  assert_string_equal(entry->key->text, "relay.attrs.ScanopAttrs");
  assert_int_equal(field(entry, "axis")->integer, -1);
  assert_string_equal(field(entry, "dtype")->text, "int64");
  assert_int_equal(field(entry, "exclusive")->kind, AX_INT);
  assert_int_equal(field(entry, "exclusive")->dtype, DTYPE_NONE);
  const AttrExpr *pads = field(entry, "pads");
  assert_int_equal(pads->kind, AX_LIST);
  assert_int_equal(pads->count, 1);
  assert_true(pads->items[0]->real == 0.5);
  assert_string_equal(field(entry, "layout")->text, "NCHW");
  assert_true(field(entry, "epsilon")->real == 1e-05);
  /* Node 9 is a list's: the number is a number. */
  assert_int_equal(field(entry, "groups")->integer, 9);
}

/* Whichever byte is changed, the section is read or refused. */
static void damaged_metadata_does_no_harm(void **state) {
  World *w = *state;
  size_t len = sizeof metadata_text - 1, refused = 0;
  char *text = strdup(metadata_text);
  uint64_t seed = 1;
  for (size_t i = strstr(text, "{") - text; i < len; i++) {
    char was = text[i];
    text[i] = (char)(' ' + unit_random(&seed) % 95);
    Unit *u;
    diags_clear(&w->diags);
    ParseStatus status = parse_len(w, text, len, false, &u);
    refused += status == PARSE_ERRORS;
    assert_int_equal(w->diags.errors > 0, status == PARSE_ERRORS);
    text[i] = was;
  }
  free(text);
  assert_true(refused > 100);
}

/* --- Printing loses nothing --------------------------------------------- */

static void check_round_trip(World *w, const char *name, const Unit *u) {
  VEC_CLEAR(&w->out);
  unit_print(w->program, u, &w->out);
  char *text = strdup(strbuf_text(&w->out));
  Unit *again = parse_ok(w, text);
  if (!unit_equal(&w->mem, u, again)) fail_msg("%s became\n%s", name, text);
  VEC_CLEAR(&w->out);
  unit_print(w->program, again, &w->out);
  assert_string_equal(strbuf_text(&w->out), text);
  free(text);
}

static void trees_survive_printing(void **state) {
  World *w = *state;
  for (size_t i = 0; i < LENGTH(trees); i++)
    check_round_trip(w, trees[i].text, parse_ok(w, trees[i].text));
  check_round_trip(w, "items", parse_ok(w, items_text));
}

static char *read_file(const char *path, size_t *len) {
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  fseek(in, 0, SEEK_END);
  *len = (size_t)ftell(in);
  rewind(in);
  char *text = malloc(*len + 1);
  assert_int_equal(fread(text, 1, *len, in), *len);
  fclose(in);
  return text;
}

/* Each file in a world of its own; returns whether it parses. */
static bool file_survives_printing(const char *path) {
  World w = {0};
  unit_mem(&w.mem);
  world_open(&w);
  size_t len;
  char *text = read_file(path, &len);
  Unit *u;
  bool parsed = parse_len(&w, text, len, false, &u) == PARSE_OK;
  if (parsed) check_round_trip(&w, path, u);
  free(text);
  world_close(&w);
  unit_mem_done(&w.mem);
  return parsed;
}

/* Only texts named for their parse error may fail to parse. */
static void conformance_survives_printing(void **state) {
  (void)state;
  glob_t found;
  assert_int_equal(glob("tests/conformance/*/*.rly", 0, NULL, &found), 0);
  assert_true(found.gl_pathc > 1000);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    const char *path = found.gl_pathv[i];
    bool parsed = file_survives_printing(path);
    if (!parsed && !strstr(path, "/eparse_")) fail_msg("%s", path);
  }
  globfree(&found);
}

/* --- Random programs ---------------------------------------------------- */

typedef struct Random {
  uint64_t seed;
  StrBuf *out;
  int depth;
} Random;

static size_t pick(Random *r, size_t n) { return unit_random(&r->seed) % n; }

/* `$` in a template is an expression, `#` a pattern, `:` nothing or a type. */
static const char *const leaves[] = {
    "1",    "-2",    "3.5",     "True",
    "%x",   "%y",    "%0",      "@f",
    "Nil",  "()",    "nn.relu", "\"s\\n\"",
    "inff", "-7i64", "[]",      "meta[relay.Constant][0]",
};
static const char *const forms[] = {
    "$ + $",
    "$ - $",
    "$ * $",
    "$ / $",
    "$ < $",
    "$ == $",
    "$ && $",
    "$ || $",
    "-$",
    "!$",
    "- 1",
    "($)",
    "($,)",
    "($, $)",
    "[$, $]",
    "f($)",
    "$($)",
    "f($, a=1, b=[1, $], c=None)",
    "$.0",
    "$.1.2",
    "{ $ }",
    "{ $; $ }",
    "{ $; }",
    "{ let %x: = $; $ }",
    "{ %0 = $; $ }",
    "let %y = $; $",
    "{ let %x = let %y = $; $; $ }",
    "if ($) { $ } else { $ }",
    "if ($) { $ } else if ($) { $; } else { $ }",
    "fn (%x:) { $ }",
    "fn [A](%x, %y, Inline=1) -> A { $; $ }",
    "match $ { # => $, # => { $ } }",
    "match? ($, $) { (#, #) => let %x = $; $ }",
    "match $ {}",
    "ref($)",
    "ref_read($)",
    "ref_write($, $)",
    "f($; $)",
    "{ let %x = fn () { $ } and %y = fn () { $ }; $ }",
};
static const char *const patterns[] = {
    "_", "%x", "A", "B(#)", "C(#, #)", "(#,)", "()", "%x: int32",
};
static const char *const annotations[] = {
    "",          ": int32", ": Tensor[(2, ?), float32]",
    ": List[A]", ": (A,)",  ": fn (A) -> ref(B)",
    ": _",
};

static void write_random(Random *r, const char *const *from, size_t n);

static void write_expr(Random *r) {
  bool leaf = r->depth > 6 || pick(r, 4) == 0;
  r->depth++;
  if (leaf) write_random(r, leaves, LENGTH(leaves));
  else write_random(r, forms, LENGTH(forms));
  r->depth--;
}

static void write_pattern(Random *r) {
  r->depth++;
  write_random(r, patterns, r->depth > 8 ? 3 : LENGTH(patterns));
  r->depth--;
}

static void write_random(Random *r, const char *const *from, size_t n) {
  for (const char *c = from[pick(r, n)]; *c; c++)
    if (*c == '$') write_expr(r);
    else if (*c == '#') write_pattern(r);
    else if (*c == ':' && from == forms)
      strbuf_add(r->out, annotations[pick(r, LENGTH(annotations))]);
    else strbuf_add_char(r->out, *c);
}

static void random_programs_survive_printing(void **state) {
  World *w = *state;
  StrBuf text;
  strbuf_init(&text, &w->mem);
  Random r = {42, &text, 0};
  size_t parsed = 0;
  for (int i = 0; i < 3000; i++) {
    Unit *u;
    VEC_CLEAR(&text);
    strbuf_add(&text, "def @m() { ");
    write_expr(&r);
    strbuf_add(&text, " }");
    if (parse_len(w, text.data, text.len, false, &u) == PARSE_OK) {
      parsed++;
      check_round_trip(w, strbuf_text(&text), u);
    }
  }
  assert_true(parsed > 2500);
  strbuf_done(&text);
}

/* Cut anywhere, a right text is complete, incomplete or wrong, never more. */
static void cut_texts_do_no_harm(void **state) {
  World *w = *state;
  size_t len = sizeof items_text - 1, incomplete = 0;
  for (size_t i = 0; i < len; i++) {
    Unit *u;
    diags_clear(&w->diags);
    ParseStatus status = parse_len(w, items_text, i, true, &u);
    incomplete += status == PARSE_INCOMPLETE;
    assert_int_equal(w->diags.errors > 0, status == PARSE_ERRORS);
  }
  assert_true(incomplete > len / 2);
}

/* --- Memory ------------------------------------------------------------- */

static void parse_in(Mem *m) {
  World w = {.mem = {0}};
  names_init(&w.names, m);
  sources_init(&w.sources, m);
  diags_init(&w.diags, m);
  heap_init(&w.heap, m);
  w.program = program_new(m, &w.names, &w.sources, &w.diags, &w.heap);
  Unit *u;
  if (w.program) {
    parse_len(&w, metadata_text, sizeof metadata_text - 1, false, &u);
    parse_len(&w, items_text, sizeof items_text - 1, false, &u);
    parse_len(&w, "1 2; {", 6, false, &u);
  }
  strbuf_init(&w.out, m);
  world_close(&w);
}

static void survives_every_failing_allocation(void **state) {
  (void)state;
  unit_walk_failures(parse_in);
}

static void reads_the_nearest(const char *digits, bool narrow) {
  char text[64];
  int n = snprintf(text, sizeof text, "%s%s", digits, narrow ? "f32" : "f64");
  Literal x;
  assert_int_equal(literal_number(text, (uint32_t)n, &x), LITERAL_OK);
  if (narrow) assert_true(x.bits.f32 == strtof(digits, NULL));
  else assert_true(x.bits.f64 == strtod(digits, NULL));
}

/* As strtof and strtod read them, which round correctly: at the edges of what
 * one division rounds, and drawn, with zeros in front. */
static void decimals_are_the_nearest(void **state) {
  (void)state;
  static const char *const edges[] = {
      "16777216",     "16777217",       "1.6777217",       "0.0000000001",
      "0.0000000003", "0.00000000003",  "0.00000000007",   "9007199254740993",
      "0.1",          "99999999999999", "999999999999999", "9.00719925474099",
  };
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    reads_the_nearest(edges[i], true);
    reads_the_nearest(edges[i], false);
  }
  uint64_t draw = 25;
  for (int i = 0; i < 200000; i++) {
    char text[32];
    int n = 1 + (int)(unit_random(&draw) % 19);
    int point = (int)(unit_random(&draw) % 20);
    int zeros = (int)(unit_random(&draw) % 24) - 12;
    for (int k = 0; k < n; k++) {
      int digit = k < zeros ? 0 : (int)(unit_random(&draw) % 10);
      text[k] = k > 0 && k == point ? '.' : (char)('0' + digit);
    }
    text[n] = 0;
    reads_the_nearest(text, i % 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WORLD_TEST(trees_have_their_shape),
      WORLD_TEST(numbers_have_their_values),
      cmocka_unit_test(decimals_are_the_nearest),
      WORLD_TEST(items_have_their_parts),
      WORLD_TEST(types_have_their_parts),
      WORLD_TEST(comments_are_kept_in_order),
      WORLD_TEST(mistakes_are_reported_once),
      WORLD_TEST(bytes_that_are_no_text_are_refused),
      WORLD_TEST(parsing_goes_on_at_the_next_item),
      WORLD_TEST(incomplete_is_told_from_wrong),
      WORLD_TEST(open_brackets_are_known),
      WORLD_TEST(length_is_not_limited),
      WORLD_TEST(scanning_is_linear),
      WORLD_TEST(depth_is_not_limited),
      WORLD_TEST(depth_of_types_is_limited),
      WORLD_TEST(metadata_is_decoded),
      WORLD_TEST(records_have_their_fields),
      WORLD_TEST(damaged_metadata_does_no_harm),
      WORLD_TEST(trees_survive_printing),
      cmocka_unit_test(conformance_survives_printing),
      WORLD_TEST(random_programs_survive_printing),
      WORLD_TEST(cut_texts_do_no_harm),
      cmocka_unit_test(survives_every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
