/* Calls of operators: positional arguments to the operands of the row, in
 * either spelling, and literals: of tensors, which may be calls of `stack`, of
 * lists and of strings.
 *
 * An operator is written in one of two ways,
 *
 *   reshape(%x, newshape=[2, -1])      operands, then attributes
 *   dyn.reshape(%x, %shape)            attributes among the arguments
 *
 * and both become one record: the operands in the order of the row, an Attrs
 * with its defaults filled in, and after the operands those expressions that
 * hold an attribute's value at run time (resolve_attr.c).
 *
 * A tensor literal is folded to a constant if nothing but literals is in it.
 * That costs one pass for the shape and one for the elements, and no tree of
 * its elements is kept. */
#include "ir/foreign.h"
#include "types/resolve.h"

#include <limits.h>
#include <string.h>

/* --- Calls --------------------------------------------------------------- */

Expr *resolve_op_call(Resolver *r, Span span, OpId op, int count,
                      const Expr *const *args) {
  Expr *callee = expr_new(r->arena, EX_OP, span);
  callee->op = op;
  Expr *call = expr_call(r->arena, span, callee, count, args);
  call->call.bound = attrs_new(r->arena, op_info(op));
  return call;
}

/* The row's `dyn` lists the parameters of the dyn. spelling, between spaces. */
static int word_count(const char *text) {
  int n = 0;
  for (size_t at = 0; text[at]; n++) {
    at += strcspn(text + at, " ");
    at += strspn(text + at, " ");
  }
  return n;
}

/* How many of the operator's `count` arguments a call cannot leave out. */
static int required_args(const OpInfo *op, int count) {
  int n = count;
  for (const char *p = op->args; (p = strchr(p, '?')); p++) n--;
  return n;
}

/* "reshape(data, newshape=...)": operands and the attributes that are needed,
 * or one that is not, to show how they are written. */
static const char *signature(Resolver *r, const OpInfo *op) {
  const char *text = op->name, *comma = "(";
  int count = op_arg_count(op);
  for (int i = 0; i < count; i++) {
    OpArg arg = op_arg(op, i);
    bool repeats = op->many && i == count - 1;
    if (arg.optional && !repeats) continue;
    text = arg.tuple ? arena_printf(r->arena, "%s%s(a, b)", text, comma)
                     : arena_printf(r->arena, "%s%s%.*s%s", text, comma,
                                    arg.len, arg.name, repeats ? "..." : "");
    comma = ", ";
  }
  bool needed = false;
  for (int i = 0; i < op->attr_count; i++) needed |= op->attrs[i].required;
  for (int i = 0; i < op->attr_count; i++) {
    const AttrSpec *spec = &op->attrs[i];
    if (spec->type == AT_IGNORED || (needed && !spec->required)) continue;
    text = arena_printf(r->arena, "%s%s%s=...", text, comma,
                        attr_name_text(spec->name));
    comma = ", ";
    if (!needed) break;
  }
  return arena_printf(r->arena, "%s%s)", text, *comma == '(' ? "(" : "");
}

static void wrong_count(Resolver *r, const Expr *e, const OpInfo *op, int least,
                        int most) {
  Span span = e->call.callee->span;
  const char *few = e->count < least ? "few" : "many";
  const char *wanted = least == most ? arena_printf(r->arena, "%d", most)
                       : most == INT_MAX
                           ? arena_printf(r->arena, "%d or more", least)
                           : arena_printf(r->arena, "%d to %d", least, most);
  Diag *d = diag_error(r->p->diags, E0204, span,
                       "too %s arguments for `%s`: expected %s, found %d", few,
                       op->name, wanted, e->count);
  const char *also =
      e->count > most ? foreign_hint(op->name, strlen(op->name), FOREIGN_COUNT)
                      : NULL;
  diag_hint(d, "it is written %s%s%s", signature(r, op), also ? "; " : "",
            also ? also : "");
}

bool check_operator_arity(Resolver *r, const Expr *e, OpId id, bool dyn) {
  const OpInfo *op = op_info(id);
  int count = op_arg_count(op), least = required_args(op, count);
  int most = dyn                     ? word_count(op->dyn)
             : op->fills || op->many ? INT_MAX
                                     : count;
  if (least <= e->count && e->count <= most) return true;
  wrong_count(r, e, op, least, most);
  return false;
}

/* --- The dyn. spelling --------------------------------------------------- */

static bool same_word(const char *text, const char *word, int len) {
  return strlen(text) == (size_t)len && strncmp(text, word, (size_t)len) == 0;
}

/* The attribute of this name; -1: it is an operand, as nn.pad's pad_value is,
 * which is an attribute, too. */
static int attr_index(const OpInfo *op, const char *word, int len) {
  for (int i = 0; i < op_arg_count(op); i++) {
    OpArg arg = op_arg(op, i);
    if (arg.len == len && strncmp(arg.name, word, (size_t)len) == 0) return -1;
  }
  for (int i = 0; i < op->attr_count; i++)
    if (same_word(attr_name_text(op->attrs[i].name), word, len)) return i;
  return -1;
}

/* dyn.X(data, newshape): positional arguments are operands and attributes; the
 * operands of the call come first.  Two passes: operands must have their final
 * numbers before an attribute's value is appended after them. */
static void bind_dyn(const OpInfo *op, int count, const Expr *const *args,
                     Attrs *attrs, Operands *out) {
  for (int pass = 0; pass < 2; pass++) {
    const char *word = op->dyn;
    for (int i = 0; i < count; i++) {
      int len = (int)strcspn(word, " ");
      int attr = attr_index(op, word, len);
      if (pass == 0 && attr < 0) out->items[out->count++] = args[i];
      if (pass == 1 && attr >= 0) attr_bind_expr(op, attr, args[i], attrs, out);
      word += len;
      word += strspn(word, " ");
    }
  }
}

/* The call keeps the places of the text for messages: its own span, and the
 * operator's name as that of the callee. */
const Expr *resolve_operator(Resolver *r, const Expr *e, OpId id, bool dyn,
                             int count, const Expr *const *args) {
  const OpInfo *op = op_info(id);
  Expr *call = resolve_op_call(r, e->span, id, 0, NULL);
  ((Expr *)call->call.callee)->span = e->call.callee->span;
  call->sugar = e->sugar;
  call->parens = e->parens;
  call->call.late = e->call.late;
  Attrs *attrs = (Attrs *)call->call.bound;
  Operands operands = {.count = 0};
  operands.items =
      ARENA_ARRAY(r->arena, const Expr *, (size_t)(count + op->attr_count));
  if (!attrs || !operands.items) return resolve_error(r, e->span);
  if (dyn) bind_dyn(op, count, args, attrs, &operands);
  for (int i = 0; !dyn && i < count; i++)
    operands.items[operands.count++] = args[i];
  if (!resolve_attrs(r, e, op, attrs, &operands))
    return resolve_error(r, e->span);
  call->count = operands.count;
  call->args = operands.items;
  return call;
}

/* --- Tensor literals --------------------------------------------------------
 * Only literals decide the dtype: if one in the whole bracket has a suffix or
 * a point, those without take its dtype; else all are int32, or int64 where
 * one does not fit. */

typedef struct Literals {
  Resolver *r;
  DType dtype;       /* of those with a suffix; DTYPE_NONE: there is none */
  bool wide;         /* an unsuffixed one needs int64 */
  const Expr *plain; /* the first unsuffixed one, and a bool; or NULL */
  const Expr *truth;
  bool all; /* nothing else is in the bracket */
  int rank;
  int64_t shape[RANK_MAX];
  Tensor *tensor;
  char *next; /* where the next element goes */
  bool failed;
} Literals;

static bool is_literal(const Expr *e) {
  return e->kind == EX_CONST && e->constant->rank == 0;
}

/* One literal of the first pass: which dtypes are there, and the first of each
 * kind for messages.  Int64 is not a dtype that was written, only one that a
 * large number needs. */
static void scan_literal(Literals *l, const Expr *e) {
  DType dtype = (DType)e->constant->dtype;
  if (dtype == DT_BOOL && !l->truth) l->truth = e;
  if (literal_is_plain(l->r->p, e)) {
    l->wide |= dtype == DT_INT64;
    if (!l->plain) l->plain = e;
  } else if (l->dtype == DTYPE_NONE) {
    l->dtype = dtype;
  } else if (l->dtype != dtype) {
    diag_error(l->r->p->diags, E0207, e->span,
               "this element is %s, others are %s", dtype_name(dtype),
               dtype_name(l->dtype));
    l->failed = true;
  }
}

/* A number is no bool, though it has no suffix. */
static void refuse_mixed(Literals *l) {
  if (!l->plain || !l->truth || l->failed) return;
  Diag *d = diag_error(l->r->p->diags, E0207, l->plain->span,
                       "this element is a number, others are bool");
  diag_note(d, l->truth->span, "as this one");
  diag_hint(d, "write True or False, or 1 and 0 for all of them");
  l->failed = true;
}

/* Every row at one depth has the length of the first.  C recurses no deeper
 * than RANK_MAX.  `rank` is found at the first way down; `depth + 1 < rank` at
 * an element then means that rows and elements stand side by side. */
static void scan_rows(Literals *l, const Expr *e, int depth) {
  if (depth == RANK_MAX) {
    diag_error(l->r->p->diags, E0208, e->span,
               "a tensor has at most %d dimensions", RANK_MAX);
    l->failed = true;
    return;
  }
  if (depth == l->rank) l->shape[l->rank++] = e->count;
  if (l->shape[depth] != e->count) {
    diag_error(l->r->p->diags, E0209, e->span,
               "the rows of a tensor literal have one length: expected %lld, "
               "found %d",
               (long long)l->shape[depth], e->count);
    l->failed = true;
  }
  for (int i = 0; i < e->count && !l->failed; i++) {
    const Expr *item = e->args[i];
    if (item->kind == EX_BRACKET) scan_rows(l, item, depth + 1);
    if (is_literal(item)) scan_literal(l, item);
    if (item->kind != EX_BRACKET && !is_literal(item)) l->all = false;
    if (item->kind != EX_BRACKET && depth + 1 < l->rank) {
      diag_error(l->r->p->diags, E0208, item->span,
                 "expected a row, as the elements before it are");
      l->failed = true;
    }
  }
}

/* An unsuffixed literal takes the dtype of the others; scan_literal has refused
 * all other differences. */
static Value literal_bits(const Literals *l, const Expr *e) {
  const Tensor *t = e->constant;
  Value bits = tensor_bits_at(t, 0);
  if (t->dtype == l->dtype) return bits;
  return bits_from_i64(l->dtype, bits_to_i64((DType)t->dtype, bits));
}

static void fill(Literals *l, const Expr *e) {
  for (int i = 0; i < e->count; i++) {
    if (e->args[i]->kind == EX_BRACKET) {
      fill(l, e->args[i]);
    } else {
      bits_store(l->dtype, l->next, literal_bits(l, e->args[i]));
      l->next += dtype_size(l->dtype);
    }
  }
}

/* The program takes the new tensor over, for as long as it lives.  Memory may
 * run out at either step. */
static const Expr *fold(Literals *l, const Expr *e) {
  Program *p = l->r->p;
  l->tensor = program_tensor_new(p, l->dtype, l->rank, l->shape);
  if (l->tensor) {
    l->next = l->tensor->data;
    fill(l, e);
    l->tensor = program_constant_take(p, l->tensor);
  }
  if (l->tensor) return expr_const(l->r->arena, e->span, l->tensor);
  return resolve_error(l->r, e->span);
}

/* A bracket with other elements: stack((a, b, ...)).  Rows nest at most
 * RANK_MAX deep, which scan_rows has checked. */
static const Expr *stack_of(Literals *l, const Expr *e) {
  Resolver *r = l->r;
  const Expr **items = ARENA_ARRAY(r->arena, const Expr *, (size_t)e->count);
  if (!items) return resolve_error(r, e->span);
  for (int i = 0; i < e->count; i++) {
    const Expr *item = e->args[i];
    if (item->kind == EX_BRACKET) {
      items[i] = stack_of(l, item);
    } else if (is_literal(item)) {
      items[i] =
          expr_const(r->arena, item->span,
                     program_scalar(r->p, l->dtype, literal_bits(l, item)));
    } else {
      items[i] = resolve_expr(r, item);
    }
  }
  Expr *tuple = expr_new(r->arena, EX_TUPLE, e->span);
  tuple->args = items;
  tuple->count = e->count;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, 1);
  args[0] = tuple;
  Expr *stack = resolve_op_call(r, e->span, OP_STACK, 1, args);
  stack->sugar = SUGAR_BRACKET;
  return stack;
}

/* Looks at the first row only: rows of other lengths are reported by
 * scan_rows. */
static bool has_no_elements(const Expr *e) {
  while (e->kind == EX_BRACKET && e->count > 0) e = e->args[0];
  return e->kind == EX_BRACKET;
}

const Expr *resolve_bracket(Resolver *r, const Expr *e) {
  if (has_no_elements(e)) {
    Diag *d = diag_error(r->p->diags, E0202, e->span,
                         "an empty tensor literal has no dtype");
    diag_hint(d, "write zeros(shape=[0], dtype=\"float32\")");
    return resolve_error(r, e->span);
  }
  /* One look at the whole bracket decides shape and dtype; then it is folded or
   * stacked without looking back. */
  Literals l = {.r = r, .dtype = DTYPE_NONE, .all = true};
  scan_rows(&l, e, 0);
  refuse_mixed(&l);
  if (l.failed) return resolve_error(r, e->span);
  if (l.dtype == DTYPE_NONE) l.dtype = l.wide ? DT_INT64 : DT_INT32;
  return l.all ? fold(&l, e) : stack_of(&l, e);
}

/* --- List literals ------------------------------------------------------- */

void report_no_list(Program *p, const Adt *adt, Span span) {
  Diag *d = diag_error(p->diags, E0117, span, "`%s` is no type of lists",
                       adt->name->text);
  diag_note(d, adt->span, "it is defined here");
  diag_hint(d, adt->is_alias
                   ? "a literal names the data type, no alias: List[1, 2]"
                   : "one has two constructors: of an element and a list, and "
                     "of nothing");
}

/* `x[1]` of a variable %x. */
static void report_index(Resolver *r, const Expr *head) {
  const char *name = head->name->text;
  Diag *d =
      diag_error(r->p->diags, E0104, head->span, "there is no type `%s`", name);
  diag_hint(d, "an element of `%%%s` is take(%%%s, 0, axis=0)", name, name);
}

/* `float32[1, 2]`. */
static void report_dtype_list(Resolver *r, const Expr *head) {
  Diag *d = diag_error(r->p->diags, E0117, head->span,
                       "`%s` is no type of lists", head->name->text);
  diag_hint(d,
            "a tensor is written [1, 2]; one of %s is "
            "cast([1, 2], dtype=\"%s\")",
            head->name->text, head->name->text);
}

/* What stands before `[` is no type of data. */
static void report_no_adt(Resolver *r, const Expr *head) {
  const Name *name = head->name;
  if (ptrmap_has(&r->vars, name)) report_index(r, head);
  else if (dtype_find(name->text, name->len) != DTYPE_NONE)
    report_dtype_list(r, head);
  else unknown_type(r, head->span, name);
}

/* The type's constructor of an element and a list; NULL after a report.  What
 * its fields are is looked at when they are resolved (infer.c).  Any type with
 * two constructors, one of two fields and one of none, can be written so:
 * List[1, 2], and a user's own lists. */
static const Ctor *list_ctor(Resolver *r, const Expr *head) {
  const Adt *adt = find_adt(r, head->name);
  if (!adt) {
    report_no_adt(r, head);
    return NULL;
  }
  for (int i = 0; adt->ctor_count == 2 && i < 2; i++)
    if (adt->ctors[i].field_count == 2 && adt->ctors[1 - i].field_count == 0)
      return &adt->ctors[i];
  report_no_list(r->p, adt, head->span);
  return NULL;
}

static bool are_scalars(const Expr *e) {
  for (int i = 0; i < e->count; i++)
    if (!is_literal(e->args[i]) ||
        e->args[i]->constant->dtype != e->args[0]->constant->dtype)
      return false;
  return e->count > 0;
}

/* Scalar literals of one dtype become one constant. */
static Tensor *packed_elements(Resolver *r, const Expr *e) {
  Literals l = {.r = r, .rank = 1, .shape = {e->count}};
  l.dtype = (DType)e->args[0]->constant->dtype;
  l.tensor = program_tensor_new(r->p, l.dtype, l.rank, l.shape);
  if (!l.tensor) return NULL;
  l.next = l.tensor->data;
  fill(&l, e);
  return program_constant_take(r->p, l.tensor);
}

/* A long list of numbers is one tensor until it is evaluated, so its elements
 * cost no nodes. */
const Expr *resolve_list(Resolver *r, const Expr *e) {
  const Ctor *cons = list_ctor(r, e->list.head);
  if (!cons) return resolve_error(r, e->span);
  Expr *head = expr_new(r->arena, EX_CTOR, e->list.head->span);
  head->ctor = cons;
  Expr *made = expr_new(r->arena, EX_LIST, e->span);
  made->parens = e->parens;
  made->list.head = head;
  if (are_scalars(e)) {
    made->list.packed = packed_elements(r, e);
    return made->list.packed ? made : resolve_error(r, e->span);
  }
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)e->count);
  for (int i = 0; args && i < e->count; i++)
    args[i] = resolve_expr(r, e->args[i]);
  made->args = args;
  made->count = args ? e->count : 0;
  return made;
}

/* A string is the uint8 vector of its bytes. */
const Expr *resolve_string(Resolver *r, const Expr *e) {
  int64_t n = (int64_t)e->text.len;
  Tensor *t = program_tensor_new(r->p, DT_UINT8, 1, &n);
  if (t) {
    memcpy(t->data, e->text.bytes, e->text.len);
    t = program_constant_take(r->p, t);
  }
  if (t) return expr_const(r->arena, e->span, t);
  return resolve_error(r, e->span);
}
