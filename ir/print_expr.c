/* The printer's expressions.  Sugar comes back as it was written, parentheses
 * where precedence asks for them: an operand is put in parentheses when it
 * holds together less tightly than its place demands.
 *
 *   (a + b) * c      the place wants LEVEL_MULTIPLY, a + b is LEVEL_ADD
 *   a - (b - c)      the right of `-` wants one level more than `-` has
 *
 * Chains that grow to the left (operators, calls, projections) and chains of
 * signs are loops, with p->spine as their stack; other nesting is recursion on
 * a split stack. */
#include <string.h>

#include "ir/printer.h"

/* How tightly an expression holds together, loosest first. */
enum {
  LEVEL_LOOSE, /* blocks, if, match, fn: in parentheses as an operand */
  LEVEL_PIPE,
  LEVEL_OR,
  LEVEL_AND,
  LEVEL_EQUAL,
  LEVEL_COMPARE,
  LEVEL_ADD,
  LEVEL_MULTIPLY,
  LEVEL_UNARY,
  LEVEL_POSTFIX,
};

static const struct Operator {
  const char *name, *token;
  int level;
} operators[] = {
    {"multiply", "*", LEVEL_MULTIPLY}, {"divide", "/", LEVEL_MULTIPLY},
    {"add", "+", LEVEL_ADD},           {"subtract", "-", LEVEL_ADD},
    {"less", "<", LEVEL_COMPARE},      {"less_equal", "<=", LEVEL_COMPARE},
    {"greater", ">", LEVEL_COMPARE},   {"greater_equal", ">=", LEVEL_COMPARE},
    {"equal", "==", LEVEL_EQUAL},      {"not_equal", "!=", LEVEL_EQUAL},
};

static const char *op_name(const Printer *p, int op) {
  const char *name = p->program->op_name ? p->program->op_name(op) : NULL;
  return name ? name : "?";
}

/* --- Operators ------------------------------------------------------------ */

/* The operator of an expression that is written infix. */
typedef struct Infix {
  const char *token; /* NULL: it is none */
  int level;
  const Expr *left, *right;
} Infix;

/* A call that was written infix and has since been given attributes is written
 * as a call. */
static Infix infix_call(const Printer *p, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (e->count != 2 || e->call.attr_count > 0) return (Infix){0};
  const char *name = callee->kind == EX_IDENT ? callee->name->text
                     : callee->kind == EX_OP  ? op_name(p, callee->op)
                                              : "";
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const struct Operator *op = &operators[i];
    if (strcmp(op->name, name) == 0)
      return (Infix){op->token, op->level, e->args[0], e->args[1]};
  }
  return (Infix){0};
}

/* A pass may have removed all arguments of a call that was written as a pipe;
 * then there is nothing to write before `|>`. */
static bool is_pipe(const Expr *e) {
  return (e->sugar == SUGAR_PIPE || e->sugar == SUGAR_PIPE_CALL) &&
         e->count > 0;
}

static Infix as_infix(const Printer *p, const Expr *e) {
  if (is_pipe(e)) return (Infix){"|>", LEVEL_PIPE, e->args[0], e->call.callee};
  switch (e->sugar) {
    case SUGAR_INFIX: return infix_call(p, e);
    case SUGAR_AND: return (Infix){"&&", LEVEL_AND, e->args[0], e->args[1]};
    case SUGAR_OR: return (Infix){"||", LEVEL_OR, e->args[0], e->args[2]};
    default: return (Infix){0};
  }
}

static const char *prefix_of(const Expr *e) {
  return e->sugar == SUGAR_NEGATE ? "-" : e->sugar == SUGAR_NOT ? "!" : NULL;
}

/* What ends in braces could be an operand by the grammar, but reads badly, so
 * it gets parentheses. */
static int level_of(const Printer *p, const Expr *e) {
  Infix infix = as_infix(p, e);
  if (infix.token) return infix.level;
  if (prefix_of(e)) return LEVEL_UNARY;
  switch (e->kind) {
    case EX_BLOCK:
    case EX_IF:
    case EX_MATCH:
    case EX_FN: return LEVEL_LOOSE;
    default: return LEVEL_POSTFIX;
  }
}

static bool is_bare_block(const Expr *e) {
  return e->kind == EX_BLOCK && e->sugar != SUGAR_BRACES;
}

/* A sequence in parentheses breaks like a list. */
static void print_in_parens(Printer *p, const Expr *e) {
  if (is_bare_block(e)) {
    print_list_open(p, "(");
    print_block(p, e->block, true);
    print_list_close(p, ")", e->span.hi);
  } else {
    doc_text(&p->doc, "(");
    print_expr(p, e);
    doc_text(&p->doc, ")");
  }
}

static void print_operand(Printer *p, const Expr *e, int level) {
  if (level_of(p, e) < level) print_in_parens(p, e);
  else print_expr(p, e);
}

int print_attrs_of(Printer *p, const Expr *call, const Attr **attrs,
                   int *operands) {
  const Program *program = p->program;
  *attrs = call->call.attrs;
  *operands = call->count;
  if (!p->resolved || !call->call.bound || !program->attrs_written)
    return call->call.attr_count;
  return program->attrs_written(&p->doc.arena, program->names, call, attrs,
                                operands);
}

/* `name=b` in a call, `name = b` after `with`. */
static void print_arguments(Printer *p, const Expr *call) {
  const Attr *attrs;
  int operands, attr_count = print_attrs_of(p, call, &attrs, &operands);
  int first = is_pipe(call) && call->sugar == SUGAR_PIPE_CALL;
  int early = operands - call->call.late;
  print_list_open(p, "(");
  for (int i = first; i < early; i++) {
    print_comma(p, i == first);
    print_expr(p, call->args[i]);
  }
  for (int i = 0; i < attr_count; i++) {
    print_comma(p, early + i == first);
    print_attr(p, &attrs[i], "=");
  }
  for (int i = early; i < operands; i++) {
    print_comma(p, false);
    print_expr(p, call->args[i]);
  }
  print_list_close(p, ")", call->span.hi);
}

/* The right side of `|>`, whose arguments lack the first. */
static void print_pipe_target(Printer *p, const Expr *e) {
  const Expr *callee = e->call.callee;
  bool call = e->sugar == SUGAR_PIPE_CALL;
  bool chain = callee->kind == EX_CALL || callee->kind == EX_PROJ;
  bool bare = callee->kind == EX_PROJ || callee->kind == EX_READ;
  if (level_of(p, callee) < LEVEL_POSTFIX || (!call && chain && !bare))
    print_in_parens(p, callee);
  else print_expr(p, callee);
  if (call) print_arguments(p, e);
}

/* The operators of one level in a row: a + b - c.  They break all or none,
 * after the operator; `|>` begins its line. */
static void print_infix(Printer *p, const Expr *e, int level) {
  size_t base = p->spine.len;
  Infix infix = as_infix(p, e);
  while (infix.token && infix.level == level) {
    if (p->spine.len > base) print_mark_begin(p, e);
    VEC_PUSH(&p->spine, e);
    e = infix.left;
    infix = as_infix(p, e);
  }
  doc_open(&p->doc);
  print_operand(p, e, level);
  doc_indent(&p->doc);
  while (p->spine.len > base) {
    const Expr *link = VEC_POP(&p->spine);
    infix = as_infix(p, link);
    if (level == LEVEL_PIPE) {
      doc_line(&p->doc, LINE_SPACE);
      doc_word(&p->doc, infix.token);
      print_pipe_target(p, link);
    } else {
      doc_word(&p->doc, infix.token);
      doc_line(&p->doc, LINE_SPACE);
      print_operand(p, infix.right, level + 1);
    }
    if (p->spine.len > base) print_mark_end(p, link);
  }
  doc_dedent(&p->doc);
  doc_close(&p->doc);
}

/* The bracket whose elements the call stacks; NULL: it was written as a call.
 */
static const Expr *bracket_of(const Expr *e) {
  bool bracket = e->sugar == SUGAR_BRACKET || e->sugar == SUGAR_LIST;
  return bracket ? e->args[0] : NULL;
}

static bool is_postfix(const Printer *p, const Expr *e) {
  return (e->kind == EX_CALL && !as_infix(p, e).token && !prefix_of(e) &&
          !bracket_of(e) && e->sugar != SUGAR_WITH) ||
         e->kind == EX_PROJ || e->kind == EX_FIELD;
}

static bool is_number(const Expr *e) {
  return e->kind == EX_CONST && e->constant->rank == 0 &&
         e->constant->dtype != DT_BOOL;
}

/* Does the text of a postfix expression begin with a number?  A sign before it
 * would be read as the number's. */
static bool begins_with_number(const Printer *p, const Expr *e) {
  const Expr *link = NULL;
  while (is_postfix(p, e)) {
    link = e;
    e = e->kind == EX_CALL ? e->call.callee : e->args[0];
  }
  return is_number(e) && !(link && link->kind == EX_PROJ);
}

static void print_prefix(Printer *p, const Expr *e) {
  const char *sign = prefix_of(e);
  for (; sign; sign = prefix_of(e)) {
    doc_text(&p->doc, sign);
    e = e->args[0];
    if (*sign == '-' && begins_with_number(p, e)) {
      print_in_parens(p, e);
      return;
    }
  }
  print_operand(p, e, LEVEL_UNARY);
}

/* --- Calls and projections ------------------------------------------------ */

/* (%t.0).weight: without the parentheses that is one name, and may be that of
 * a variable. */
static bool needs_parens(const Expr *link, const Expr *e) {
  if (link->kind != EX_FIELD) return false;
  while (e->kind == EX_PROJ) e = e->args[0];
  return e->kind == EX_LOCAL || e->kind == EX_GLOBAL;
}

/* f(a).0(b): the head, then one link after the other. */
static void print_postfix(Printer *p, const Expr *e) {
  size_t base = p->spine.len;
  bool parens = false;
  while (is_postfix(p, e) && !parens) {
    if (p->spine.len > base) print_mark_begin(p, e);
    VEC_PUSH(&p->spine, e);
    const Expr *link = e;
    e = e->kind == EX_CALL ? e->call.callee : e->args[0];
    parens = needs_parens(link, e);
  }
  const Expr *first = p->spine.len > base ? VEC_LAST(&p->spine) : NULL;
  bool number = first && first->kind == EX_PROJ && is_number(e);
  if (number || parens) print_in_parens(p, e);
  else print_operand(p, e, LEVEL_POSTFIX);
  while (p->spine.len > base) {
    const Expr *link = VEC_POP(&p->spine);
    bool last = p->spine.len == base;
    if (link->kind == EX_PROJ)
      doc_textf(&p->doc, ".%lld", (long long)link->index);
    else if (link->kind == EX_FIELD)
      doc_textf(&p->doc, ".%s", link->field.name->text);
    else if (link->sugar != SUGAR_CTOR || !last) print_arguments(p, link);
    if (!last) print_mark_end(p, link);
  }
}

/* {a with f = b}: the parts after `with` break all or none. */
static void print_with(Printer *p, const Expr *e) {
  print_list_open(p, "{");
  print_expr(p, e->args[0]);
  doc_word(&p->doc, "with");
  doc_indent(&p->doc);
  for (int i = 0; i < e->call.attr_count; i++) {
    if (i > 0) doc_text(&p->doc, ",");
    doc_line(&p->doc, LINE_SPACE);
    print_attr(p, &e->call.attrs[i], " = ");
  }
  doc_dedent(&p->doc);
  print_list_close(p, "}", e->span.hi);
}

/* --- Everything else ------------------------------------------------------ */

static void print_args(Printer *p, const char *open, const Expr *e,
                       const char *close) {
  print_list_open(p, open);
  for (int i = 0; i < e->count; i++) {
    print_comma(p, i == 0);
    print_expr(p, e->args[i]);
  }
  print_list_close(p, close, e->span.hi);
}

/* The rows of a literal break together, those that are the bytes of a string,
 * too; numbers fill their lines. */
static void print_bracket(Printer *p, const Expr *e) {
  print_list_open(p, "[");
  for (int i = 0; i < e->count; i++) {
    const Expr *item = e->args[i];
    bool fill = item->kind == EX_CONST && item->constant->rank == 0;
    if (i > 0) doc_text(&p->doc, ",");
    if (i > 0) doc_line(&p->doc, fill ? LINE_FILL : LINE_SPACE);
    print_expr(p, item);
  }
  print_list_close(p, "]", e->span.hi);
}

static void print_list(Printer *p, const Expr *e) {
  const Expr *head = e->list.head;
  bool resolved = head->kind == EX_CTOR;
  doc_text(&p->doc, (resolved ? head->ctor->adt->name : head->name)->text);
  if (e->list.packed) print_constant(p, e->list.packed);
  else print_bracket(p, e);
}

/* The closing brace of a branch.  A branch that a pass made may have none. */
static uint32_t branch_end(const Printer *p, const Expr *e,
                           const Expr *branch) {
  return print_find(p, branch->span.hi, e->span.hi, '}');
}

/* A chain of `else if` is a loop. */
static void print_if(Printer *p, const Expr *e) {
  doc_open(&p->doc);
  for (;;) {
    doc_word(&p->doc, "if");
    doc_text(&p->doc, "(");
    print_expr(p, e->args[0]);
    doc_text(&p->doc, ")");
    print_braced(p, e->args[1], branch_end(p, e, e->args[1]));
    doc_word(&p->doc, "else");
    if (e->args[2]->sugar != SUGAR_ELSE_IF) break;
    e = e->args[2];
  }
  print_braced(p, e->args[2], branch_end(p, e, e->args[2]));
  doc_close(&p->doc);
}

static void print_fn(Printer *p, const Expr *e) {
  doc_open(&p->doc);
  doc_word(&p->doc, "fn");
  print_fn_rest(p, e, e->span.hi);
  doc_close(&p->doc);
}

static void print_block_expr(Printer *p, const Expr *e) {
  if (is_bare_block(e)) {
    print_in_parens(p, e);
    return;
  }
  doc_open(&p->doc);
  print_braced(p, e, e->span.hi);
  doc_close(&p->doc);
}

static void print_global(Printer *p, const Expr *e) {
  const struct Global *global = e->g.global;
  bool local = p->resolved && global && global->kind == GLOBAL_LOCAL;
  doc_textf(&p->doc, "%c%s", local ? '%' : '@', e->g.name->text);
}

static void print_leaf(Printer *p, const Expr *e) {
  Doc *d = &p->doc;
  switch (e->kind) {
    case EX_LOCAL: doc_textf(d, "%%%s", e->name->text); break;
    case EX_GRAPH: doc_textf(d, "%%%lld", (long long)e->index); break;
    case EX_IDENT:
      doc_text(d, e->name->text);
      if (e->sugar == SUGAR_SPLAT) doc_text(d, "...");
      break;
    case EX_META: print_meta(p, e->meta.name->text, e->meta.index); break;
    case EX_STRING: print_string(p, e->text.bytes, e->text.len); break;
    case EX_CONST: print_constant(p, e->constant); break;
    case EX_GLOBAL: print_global(p, e); break;
    case EX_VAR: print_var(p, e->var); break;
    case EX_CTOR: doc_text(d, e->ctor->name->text); break;
    case EX_OP: doc_text(d, op_name(p, e->op)); break;
    case EX_DIM: doc_text(d, e->dim_var->name->text); break;
    default: doc_text(d, "_"); break;
  }
}

static void print_node(Printer *p, const Expr *e) {
  switch (e->kind) {
    case EX_BRACKET: print_bracket(p, e); break;
    case EX_LIST: print_list(p, e); break;
    case EX_TUPLE: print_args(p, "(", e, e->count == 1 ? ",)" : ")"); break;
    case EX_CALL:
    case EX_FIELD:
    case EX_PROJ: print_postfix(p, e); break;
    case EX_FN: print_fn(p, e); break;
    case EX_BLOCK: print_block_expr(p, e); break;
    case EX_IF: print_if(p, e); break;
    case EX_MATCH: print_match(p, e); break;
    case EX_REF: print_args(p, "ref(", e, ")"); break;
    case EX_READ: print_args(p, "ref_read(", e, ")"); break;
    case EX_WRITE: print_args(p, "ref_write(", e, ")"); break;
    default: print_leaf(p, e); break;
  }
}

/* The part of an expression that its text begins with; NULL: it begins with a
 * token of its own. */
static const Expr *left_of(const Printer *p, const Expr *e) {
  Infix infix = as_infix(p, e);
  if (infix.token) return infix.left;
  if (!is_postfix(p, e)) return NULL;
  return e->kind == EX_CALL ? e->call.callee : e->args[0];
}

/* The comments before its first token, outside of the groups that it opens.
 * Parentheses in the source count as blanks, for they need not come back. */
static void print_comments_before(Printer *p, const Expr *e) {
  uint32_t at = e->span.lo;
  bool parens = false;
  for (; e && !parens; e = left_of(p, e)) parens = e->parens;
  print_comments(p, parens ? print_first_token(p, at) : at);
}

typedef struct PrintCall {
  Printer *p;
  const Expr *e;
} PrintCall;

static void run_print(void *call) {
  PrintCall *c = call;
  print_expr(c->p, c->e);
}

void print_expr(Printer *p, const Expr *e) {
  if (mem_exhausted(p->mem)) return;
  if (split_is_used_up(&p->stack)) {
    split_call(&p->stack, run_print, &(PrintCall){p, e});
    return;
  }
  if (p->next_comment < p->comment_count) print_comments_before(p, e);
  print_mark_begin(p, e);
  Infix infix = as_infix(p, e);
  if (infix.token) print_infix(p, e, infix.level);
  else if (prefix_of(e)) print_prefix(p, e);
  else if (bracket_of(e)) print_bracket(p, bracket_of(e));
  else if (e->sugar == SUGAR_WITH) print_with(p, e);
  else print_node(p, e);
  print_mark_end(p, e);
}
