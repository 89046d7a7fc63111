/* Layout of blocks, functions, matches and patterns, which the printer puts
 * line by line.
 *
 * In a parsed program variables print as written.  In a resolved one a binder
 * is given a name first (print_bind), and scopes are left as they are in the
 * text, so the order of the calls here is the order of scopes: parameters
 * before the body, a let's variable before its value where the value may name
 * it.
 *
 * Comments are added as the printer comes by their places: print_comments
 * before a part, and before a closing bracket, so a comment at the end of a
 * list stays inside of it. */
#include "ir/printer.h"

/* --- Lists in brackets ---------------------------------------------------- */

void print_list_open(Printer *p, const char *bracket) {
  doc_open(&p->doc);
  doc_text(&p->doc, bracket);
  doc_indent(&p->doc);
  doc_line_opening(&p->doc, LINE_SOFT);
}

/* The comma goes before each item but the first, so that a list needs no look
 * ahead. */
void print_comma(Printer *p, bool first) {
  if (first) return;
  doc_text(&p->doc, ",");
  doc_line(&p->doc, LINE_SPACE);
}

void print_list_close(Printer *p, const char *bracket, uint32_t end) {
  if (end) print_comments(p, end);
  doc_dedent(&p->doc);
  doc_line_closing(&p->doc, LINE_SOFT);
  doc_text(&p->doc, bracket);
  doc_close(&p->doc);
}

void print_semicolon(Printer *p, Span span) {
  print_comments(p, print_find(p, span.hi, UINT32_MAX, ';'));
  doc_text(&p->doc, ";");
}

static LineKind braces_line(int count) {
  return count > 0 ? LINE_SPACE : LINE_SOFT;
}

void print_braces_open(Printer *p, int count) {
  doc_space(&p->doc);
  doc_text(&p->doc, "{");
  doc_indent(&p->doc);
  doc_line_opening(&p->doc, braces_line(count));
}

/* A broken list ends in a comma: adding an item then changes one line. */
void print_braces_close(Printer *p, int count, uint32_t end) {
  if (count > 0) doc_text_if_broken(&p->doc, ",");
  print_comments(p, end);
  doc_dedent(&p->doc);
  doc_line_closing(&p->doc, braces_line(count));
  doc_text(&p->doc, "}");
}

/* --- Blocks --------------------------------------------------------------- */

void print_bound(Printer *p, const Expr *value) {
  doc_word(&p->doc, "=");
  doc_hang(&p->doc);
  print_expr(p, value);
  doc_unhang(&p->doc);
}

/* A value has a type with parameters by itself: as an annotation that type may
 * ask for more. */
void print_let_type(Printer *p, const TypeExpr *written, const Type *found,
                    const Expr *value) {
  bool quantified = found && found->kind == TY_FN && found->param_count > 0;
  if (quantified && value) found = NULL;
  print_annotation(p, written, found);
}

static void print_let(Printer *p, const char *keyword, const Binding *b) {
  doc_word(&p->doc, keyword);
  print_var(p, b->var);
  print_let_type(p, b->var->annotation, b->var->type, b->value);
  print_bound(p, b->value);
}

static void print_graph(Printer *p, const Binding *b) {
  print_var(p, b->var);
  print_bound(p, b->value);
}

/* A group's members stand on lines of their own, with one semicolon after the
 * last. */
static void print_binding(Printer *p, const Binding *b) {
  switch (b->kind) {
    case BIND_LET:
      if (print_is_graph(p, b)) print_graph(p, b);
      else print_let(p, "let", b);
      break;
    case BIND_AND: print_let(p, "and", b); break;
    case BIND_ITEM: print_expr(p, b->value); break;
    case BIND_GRAPH:
      doc_textf(&p->doc, "%%%lld", (long long)b->index);
      print_bound(p, b->value);
      break;
    case BIND_FREE:
      doc_word(&p->doc, "free_var");
      print_var(p, b->var);
      print_annotation(p, b->var->annotation, b->var->type);
      break;
  }
}

static bool continues(const Block *b, int i) {
  return i < b->count && b->bindings[i].kind == BIND_AND;
}

/* Brings the variables of a group of lets into scope.  A value that may not
 * name them may see them all the same: their names are free around the
 * group. */
static void bind_group(Printer *p, const Block *b, int i) {
  if (b->bindings[i].var && b->bindings[i].kind != BIND_AND) {
    print_bind(p, b->bindings[i].var);
    for (i++; continues(b, i); i++) print_bind(p, b->bindings[i].var);
  }
}

int print_first_shown(const Block *b) {
  int i = 0;
  while (i < b->count && b->bindings[i].var && b->bindings[i].var->is_dim) i++;
  return i;
}

/* A let always stands on a line of its own. */
static bool has_lets(const Block *b) {
  for (int i = print_first_shown(b); i < b->count; i++)
    if (b->bindings[i].kind != BIND_ITEM) return true;
  return false;
}

static void print_block_line(Printer *p, Span next, bool one_line) {
  if (one_line) doc_line(&p->doc, LINE_SPACE);
  else print_line_between(p, next.lo);
}

/* A sequence that ends in `;` has () as its result, which is not written. */
void print_block(Printer *p, const Block *b, bool one_line) {
  size_t scope = print_scope(p);
  one_line = one_line && !has_lets(b);
  int first = print_first_shown(b);
  for (int i = first; i < b->count && !mem_exhausted(p->mem); i++) {
    const Binding *binding = &b->bindings[i];
    if (i > first) print_block_line(p, binding->span, one_line);
    print_comments(p, binding->span.lo);
    bind_group(p, b, i);
    print_binding(p, binding);
    if (!continues(b, i + 1)) print_semicolon(p, binding->span);
  }
  if (b->result->sugar != SUGAR_UNIT) {
    if (b->count > first) print_block_line(p, b->result->span, one_line);
    print_expr(p, b->result);
  }
  print_leave(p, scope);
}

/* A block whose items stand on lines of their own. */
static bool has_items(const Expr *e) {
  return e->kind == EX_BLOCK && e->block->count > print_first_shown(e->block);
}

/* A block of braces or of named dimensions alone. */
static bool is_mere_braces(const Expr *e) {
  return e->kind == EX_BLOCK && !has_items(e) &&
         (e->sugar == SUGAR_BRACES || e->block->count > 0);
}

/* Braces of braces are written once: the parser drops what they would say. */
void print_braced(Printer *p, const Expr *body, uint32_t end) {
  while (is_mere_braces(body)) body = body->block->result;
  LineKind line = has_items(body) ? LINE_HARD : LINE_SPACE;
  doc_word(&p->doc, "{");
  doc_indent(&p->doc);
  doc_line_opening(&p->doc, line);
  if (has_items(body)) print_block(p, body->block, false);
  else print_expr(p, body);
  if (end) print_comments(p, end);
  doc_dedent(&p->doc);
  doc_line_closing(&p->doc, line);
  doc_text(&p->doc, "}");
}

/* --- Functions ------------------------------------------------------------ */

/* Parameters are bound here, for the body and for the parameters to the
 * right. */
static void print_param(Printer *p, const Var *v, bool first) {
  print_comma(p, first);
  print_comments(p, v->span.lo);
  print_bind(p, v);
  print_var(p, v);
  print_annotation(p, v->annotation, v->type);
}

/* The first `count` of them, and the attributes. */
static void print_params(Printer *p, const Fn *fn, int count) {
  print_list_open(p, "(");
  for (int i = 0; i < count; i++) print_param(p, fn->params[i], i == 0);
  int before = count;
  for (int i = 0; i < fn->attr_count; i++) {
    /* It may go: a function's attributes have no effect. */
    if (p->resolved && attr_expr_is_of_metadata(fn->attrs[i].value)) continue;
    print_comma(p, before++ == 0);
    print_attr(p, &fn->attrs[i], "=");
  }
  print_list_close(p, ")", 0);
}

static void print_result(Printer *p, const Expr *e) {
  const Type *found =
      e->type && e->type->kind == TY_FN ? e->type->result : NULL;
  if (p->resolved && found && print_can_say(p, found)) {
    doc_word(&p->doc, "->");
    print_type(p, found);
  } else if (e->fn->result) {
    doc_word(&p->doc, "->");
    print_type_expr(p, e->fn->result);
  }
}

/* The condition and the message of an assertion; false: it has a form that no
 * `where` has. */
static bool is_condition(Printer *p, const Binding *b, const AttrExpr **text) {
  const Expr *call = b->value;
  if (b->kind != BIND_ITEM || call->kind != EX_CALL) return false;
  const Attr *attrs;
  int operands, count = print_attrs_of(p, call, &attrs, &operands);
  *text = count == 1 ? attrs[0].value : NULL;
  return operands == 1 && count <= 1 && (!*text || (*text)->kind == AX_STRING);
}

/* The body of an operator after its conditions, which are printed. */
static const Expr *print_conditions(Printer *p, const Expr *body) {
  const Block *b =
      body->kind == EX_BLOCK && body->sugar == SUGAR_WHERE ? body->block : NULL;
  const AttrExpr *text;
  int first = b ? print_first_shown(b) : 0;
  bool fit = b && first < b->count;
  for (int i = first; fit && i < b->count; i++)
    fit = is_condition(p, &b->bindings[i], &text);
  if (!fit) return body;
  doc_indent(&p->doc);
  for (int i = first; i < b->count; i++) {
    is_condition(p, &b->bindings[i], &text);
    doc_line(&p->doc, LINE_SPACE);
    print_comments(p, b->bindings[i].span.lo);
    doc_text(&p->doc, i == first ? "where " : "      ");
    print_expr(p, b->bindings[i].value->args[0]);
    if (text) doc_text(&p->doc, ": ");
    if (text) print_string(p, text->text, (size_t)text->count);
    if (i + 1 < b->count) doc_text(&p->doc, ",");
  }
  doc_dedent(&p->doc);
  return b->result;
}

/* Type parameters are in scope before the parameters' annotations, which
 * mention them, and leave it last. */
static void print_function(Printer *p, const Expr *e, uint32_t end,
                           bool operator) {
  size_t scope = print_scope(p);
  int vars = p->resolved ? e->fn->type_param_count : 0;
  const TypeVar **hidden =
      ARENA_ARRAY(&p->doc.arena, const TypeVar *, (size_t)vars);
  print_bind_types(p, vars, e->fn->type_vars, hidden);
  print_type_params(p, e->fn->type_param_count, e->fn->type_params);
  print_params(p, e->fn, e->fn->param_count);
  print_result(p, e);
  const Expr *body = e->fn->body;
  if (operator) body = print_conditions(p, body);
  if (operator) doc_word(&p->doc, "=");
  print_braced(p, body, end);
  print_leave_types(p, vars, e->fn->type_vars, hidden);
  print_leave(p, scope);
}

void print_fn_rest(Printer *p, const Expr *e, uint32_t end) {
  print_function(p, e, end, false);
}

void print_operator_rest(Printer *p, const Expr *e, uint32_t end) {
  print_function(p, e, end, true);
}

void print_sides(Printer *p, const Item *item, uint32_t end) {
  const Fn *fn = item->expr->fn;
  const Expr *const *sides = fn->body->args;
  size_t scope = print_scope(p);
  print_type_params(p, fn->type_param_count, fn->type_params);
  print_params(p, fn, fn->param_count);
  if (item->rule->grade.written) {
    doc_word(&p->doc, ":");
    doc_text(&p->doc, grade_word(item->rule->grade.kind));
    if (item->rule->grade.kind == GRADE_ULP)
      doc_textf(&p->doc, "(%lld)", (long long)item->rule->grade.ulps);
  }
  if (fn->body->count == 3) {
    doc_indent(&p->doc);
    doc_line(&p->doc, LINE_SPACE);
    doc_text(&p->doc, "when ");
    print_expr(p, sides[2]);
    doc_dedent(&p->doc);
  }
  print_braced(p, sides[0], 0);
  doc_word(&p->doc, "=>");
  print_braced(p, sides[1], end);
  print_leave(p, scope);
}

void print_rule_rest(Printer *p, const Expr *e, uint32_t end) {
  size_t scope = print_scope(p);
  int operands = e->fn->param_count - 2;
  print_params(p, e->fn, operands);
  doc_word(&p->doc, "->");
  print_list_open(p, "(");
  print_param(p, e->fn->params[operands], true);
  print_param(p, e->fn->params[operands + 1], false);
  print_list_close(p, ")", 0);
  print_braced(p, e->fn->body, end);
  print_leave(p, scope);
}

/* --- Matches -------------------------------------------------------------- */

static void print_fields(Printer *p, const Pattern *pattern,
                         const char *close) {
  print_list_open(p, "(");
  for (int i = 0; i < pattern->count; i++) {
    print_comma(p, i == 0);
    print_pattern(p, pattern->fields[i]);
  }
  print_list_close(p, close, 0);
}

/* A variable of a later alternative is one that the first has bound. */
void print_pattern(Printer *p, const Pattern *pattern) {
  print_comments(p, pattern->span.lo);
  if (pattern->label) doc_textf(&p->doc, "%s=", pattern->label->text);
  switch (pattern->kind) {
    case PT_WILD: doc_text(&p->doc, "_"); break;
    case PT_VAR:
      if (!pattern->again) print_bind(p, pattern->var);
      print_var(p, pattern->var);
      print_annotation(p, pattern->var->annotation, pattern->var->type);
      break;
    case PT_CTOR:
      doc_text(&p->doc, pattern->name->text);
      if (pattern->count > 0 || pattern->parens) print_fields(p, pattern, ")");
      break;
    case PT_TUPLE:
      print_fields(p, pattern, pattern->count == 1 ? ",)" : ")");
      break;
    case PT_LITERAL: print_constant(p, pattern->constant); break;
    case PT_OR:
      for (int i = 0; i < pattern->count; i++) {
        if (i > 0) doc_word(&p->doc, "|");
        if (i > 0) doc_line(&p->doc, LINE_SPACE);
        print_pattern(p, pattern->fields[i]);
      }
      break;
  }
}

/* Does the text end in braces?  Then it may begin on a line that is full. */
static bool ends_in_braces(const Expr *e) {
  return e->kind == EX_IF || e->kind == EX_MATCH || e->kind == EX_FN ||
         e->kind == EX_BLOCK;
}

static void print_arm_body(Printer *p, const Expr *body) {
  if (ends_in_braces(body) && !body->sugar) {
    print_expr(p, body);
    return;
  }
  doc_indent(&p->doc);
  doc_line(&p->doc, LINE_SPACE);
  print_expr(p, body);
  doc_dedent(&p->doc);
}

/* The alternatives that share the arm follow it. */
static void print_arm(Printer *p, const Match *m, int i) {
  const Arm *arm = &m->arms[i];
  size_t scope = print_scope(p);
  print_comments(p, arm->span.lo);
  doc_open(&p->doc);
  print_pattern(p, arm->pattern);
  for (i++; i < m->arm_count && m->arms[i].shares; i++) {
    doc_word(&p->doc, "|");
    doc_line(&p->doc, LINE_SPACE);
    print_pattern(p, m->arms[i].pattern);
  }
  if (arm->guard) {
    doc_word(&p->doc, "if");
    doc_space(&p->doc);
    print_expr(p, arm->guard);
  }
  doc_word(&p->doc, "=>");
  if (arm->braces || has_items(arm->body))
    print_braced(p, arm->body, arm->span.hi);
  else print_arm_body(p, arm->body);
  doc_close(&p->doc);
  print_leave(p, scope);
}

/* The scrutinee.  A tuple brings its own parentheses. */
static void print_scrutinee(Printer *p, const Expr *e) {
  bool tuple = e->kind == EX_TUPLE;
  if (!tuple) doc_text(&p->doc, "(");
  print_expr(p, e);
  if (!tuple) doc_text(&p->doc, ")");
}

void print_match(Printer *p, const Expr *e) {
  const Match *m = e->match;
  doc_open(&p->doc);
  doc_word(&p->doc, m->partial ? "match?" : "match");
  print_scrutinee(p, e->args[0]);
  print_braces_open(p, m->arm_count);
  for (int i = 0; i < m->arm_count; i++) {
    if (m->arms[i].shares) continue;
    print_comma(p, i == 0);
    print_arm(p, m, i);
  }
  print_braces_close(p, m->arm_count, e->span.hi);
  doc_close(&p->doc);
}
