/* Operators of the host: rly_operator_add.
 *
 *   signature  op @fft[n: Dim](%x: Tensor[(n), float32])
 *              -> Tensor[(n), float32]
 *   added      op @fft[n: Dim](%x: ...) -> ... = {
 *                host((%x,), operator=0, shape=[n], dtype="float32")
 *              };
 *
 * Several results are a tuple, whose shapes follow one another in `shape`;
 * `fields` tells where each begins (ops/rules/host.c).
 *
 * So the type, conditions and derivative of such an operator are those of any
 * `op` of a text, and only its meaning is a call that no text can write: of
 * OP_HOST, whose kernel finds the function by its number (HostOps). */
#include <string.h>

#include "kernels/kernel.h"
#include "lib/handles.h"
#include "ops/known.h"
#include "rules/condition.h"

enum {
  SIGNATURE_MOST = 1 << 14,
  RESULTS_MAX = KNOWN_MAX / RANK_MAX, /* the checker knows the values of a list
                                         of so many shapes */
};
_Static_assert(RESULTS_MAX == 8, "as a message and rly.h say");

typedef struct Operator {
  HostOp host; /* first: the kernel is given its address */
  rly_operator is;
} Operator;

struct Operators {
  HostOps table; /* `items` are those of `list` */
  VEC(const HostOp *) list;
};

/* --- A call --------------------------------------------------------------- */

typedef struct Calling {
  rly_operator_call call; /* first: the host is given its address */
  const Operator *op;
  OpCall *of;
  bool failed;
  const RuleType *types; /* of the results */
  rly_operand results[RESULTS_MAX];
  int64_t shapes[RESULTS_MAX * RANK_MAX]; /* one after another */
} Calling;

bool rly_operator_fail(rly_operator_call *call, const char *message) {
  Calling *c = (Calling *)call;
  if (!call) return false;
  c->failed = true;
  OpFault *fault = &c->of->fault;
  *fault = (OpFault){
      .code = E0606,
      .message = arena_printf(c->of->arena, "`@%s`: %s", c->op->host.name,
                              message ? message : "failed")};
  return false;
}

bool rly_operator_stopped(const rly_operator_call *call) {
  return call && op_stopped(((const Calling *)call)->of);
}

/* Operands are contiguous for the host: others are copied. */
static bool set_operand(OpCall *of, const Tensor *t, rly_operand *out,
                        Tensor **copy) {
  *copy = tensor_contiguous(of->heap, (Tensor *)t);
  if (!*copy) return op_out_of_memory(of);
  *out = (rly_operand){.dtype = dtype_name((DType)t->dtype),
                       .rank = t->rank,
                       .shape = (*copy)->shape,
                       .count = tensor_count(t),
                       .data = (*copy)->data};
  return true;
}

/* Describes the results in the call: dtypes and shapes, and no elements yet. */
static void show_results(Calling *c) {
  int64_t *shape = c->shapes;
  for (int i = 0; i < c->call.result_count; i++) {
    const RuleType *t = &c->types[i];
    c->results[i] = (rly_operand){
        .dtype = dtype_name(t->dtype), .rank = t->rank, .shape = shape};
    shape += t->rank;
  }
  c->call.result = c->results[0];
}

/* Finds the shapes of the results.  The host is asked for dimensions that the
 * signature leaves open. */
static bool find_shapes(Calling *c) {
  int64_t known[RESULTS_MAX * RANK_MAX];
  int n = 0;
  bool open = false;
  for (int i = 0; i < c->call.result_count; i++)
    for (int k = 0; k < c->types[i].rank; k++) {
      Dim d = c->types[i].dims[k];
      known[n] = c->shapes[n] = dim_is_number(d) ? dim_value(d) : -1;
      open |= known[n++] < 0;
    }
  show_results(c);
  if (!open) return true;
  const rly_operator *op = &c->op->is;
  if (!op->shape) /* nothing is `?`: n - 5, where n is less */
    return rly_operator_fail(&c->call, "a dimension of its result is below 0");
  if (!op->shape(op->data, &c->call, c->shapes))
    return c->failed ? false : rly_operator_fail(&c->call, NULL);
  for (int i = 0; i < n; i++) {
    bool kept = known[i] < 0 || known[i] == c->shapes[i];
    if (c->shapes[i] < 0 || !kept)
      return rly_operator_fail(&c->call,
                               "its host gave a shape that the "
                               "signature does not allow");
  }
  return true;
}

/* Allocates the results, filled with 0.  When it fails, `outs` holds those that
 * were allocated. */
static bool make_results(Calling *c, Tensor **outs) {
  OpCall *of = c->of;
  for (int i = 0; i < c->call.result_count; i++) {
    rly_operand *r = &c->results[i];
    Tensor *t = tensor_new(of->heap, c->types[i].dtype, r->rank, r->shape);
    if (!t) return op_out_of_memory(of);
    outs[i] = t;
    r->shape = t->shape;
    r->count = tensor_count(t);
    r->data = t->data;
    memset(t->data, 0, tensor_bytes(t));
  }
  c->call.result = c->results[0];
  return true;
}

/* Kernels rely on bools being 0 or 1, and on int4 being -8 to 7. */
static bool results_are_valid(Calling *c, Tensor *const *outs) {
  OpCall *of = c->of;
  for (int i = 0; i < c->call.result_count; i++) {
    const Tensor *t = outs[i];
    DType dtype = (DType)t->dtype;
    if (!elements_are_valid(of->heap->stop, dtype, t->data, tensor_bytes(t)))
      return !op_stopped(of) &&
             rly_operator_fail(
                 &c->call,
                 arena_printf(of->arena, "an element of its result is no %s",
                              dtype_name(dtype)));
  }
  return true;
}

static bool run(Calling *c) {
  OpCall *of = c->of;
  Tensor *outs[RESULTS_MAX] = {0};
  if (!find_shapes(c)) return false;
  bool made = make_results(c, outs);
  bool done = made && c->op->is.run(c->op->is.data, &c->call) && !c->failed &&
              results_are_valid(c, outs);
  if (made && !done && !c->failed && !op_stopped(of))
    rly_operator_fail(&c->call, NULL);
  for (int i = 0; i < c->call.result_count; i++)
    if (done) of->outs[i] = outs[i];
    else if (outs[i]) tensor_drop(of->heap, outs[i]);
  return done;
}

static bool run_host(const HostOp *host, OpCall *of) {
  int n = of->arg_count;
  bool several = of->result->kind == RT_TUPLE;
  Calling c = {.op = (const Operator *)host, .of = of};
  c.types = several ? of->result->fields : of->result;
  rly_operand *operands = ARENA_ARRAY(of->arena, rly_operand, (size_t)n + 1);
  Tensor **copies = ARENA_ARRAY(of->arena, Tensor *, (size_t)n + 1);
  if (!operands || !copies) return op_out_of_memory(of);
  bool ok = true;
  int made = 0;
  while (ok && made < n) {
    ok = set_operand(of, of->args[made], &operands[made], &copies[made]);
    made += ok;
  }
  c.call = (rly_operator_call){.count = n,
                               .operands = operands,
                               .threads = of->threads,
                               .result_count = several ? of->result->count : 1,
                               .results = c.results};
  ok = ok && run(&c);
  for (int i = 0; i < made; i++) tensor_drop(of->heap, copies[i]);
  return ok;
}

/* --- The text ------------------------------------------------------------- */

static bool refuse(rly_program *p, Span span, const char *text) {
  diag_error(p->ir->diags, E0908, span, "%s", text);
  return false;
}

/* A dimension as an expression; NULL: `?`.  The signature is short. */
static const Expr *dim_value_of(rly_program *p, Arena *a, const DimExpr *d) {
  static const char *const names[] = {[DX_ADD] = "add",
                                      [DX_SUB] = "subtract",
                                      [DX_MUL] = "multiply",
                                      [DX_DIV] = "divide"};
  if (d->kind == DX_NUMBER) {
    Value bits = {.bits = (uint32_t)(int32_t)d->number};
    struct Tensor *t = program_scalar(p->ir, DT_INT32, bits);
    return t ? expr_const(a, d->span, t) : NULL;
  }
  Expr *name = expr_new(a, EX_IDENT, d->span);
  if (d->kind == DX_NAME || d->kind == DX_SPLAT) {
    name->name = d->name;
    name->sugar = d->kind == DX_SPLAT ? SUGAR_SPLAT : SUGAR_NONE;
    return name;
  }
  if (d->kind < DX_ADD || d->kind > DX_DIV) return NULL;
  const Expr **args = ARENA_ARRAY(a, const Expr *, 2);
  if (!args) return NULL;
  args[0] = dim_value_of(p, a, d->left);
  args[1] = dim_value_of(p, a, d->right);
  if (!args[0] || !args[1]) return NULL;
  name->name = name_of(p->ir->names, names[d->kind]);
  return expr_call(a, d->span, name, 2, args);
}

static const AttrExpr *dim_attr(rly_program *p, Arena *a, const DimExpr *d) {
  if (d->kind == DX_NUMBER) return attr_expr_int(a, d->number);
  const Expr *e = dim_value_of(p, a, d);
  if (!e) return attr_expr_int(a, -1);
  AttrExpr *x = ARENA_NEW(a, AttrExpr);
  *x = (AttrExpr){.kind = AX_EXPR, .span = d->span, .expr = e};
  return x;
}

/* The types of the results, which are tensors. */
static int results_of(const Fn *fn, const TypeExpr *const **types) {
  bool several = fn->result->kind == TX_TUPLE;
  *types = several ? fn->result->args : &fn->result;
  return several ? fn->result->arg_count : 1;
}

/* The dimensions of all results. */
static const AttrExpr *shape_attr(rly_program *p, Arena *a, const Fn *fn) {
  const TypeExpr *const *types;
  int n = results_of(fn, &types), count = 0, at = 0;
  for (int i = 0; i < n; i++) count += types[i]->dim_count;
  const AttrExpr **items;
  AttrExpr *list = attr_expr_list(a, count, &items);
  for (int i = 0; list->count && i < n; i++)
    for (int k = 0; k < types[i]->dim_count; k++)
      items[at++] = dim_attr(p, a, types[i]->dims[k]);
  return list;
}

/* --- Several results ------------------------------------------------------ */

typedef VEC(int64_t) Numbers;

/* The operand that has the dtype; -1: none. */
static int operand_of_dtype(const Fn *fn, const Name *name) {
  for (int i = 0; i < fn->param_count; i++)
    if (fn->params[i]->annotation->dtype_name == name) return i;
  return -1;
}

/* The operand whose rank tells that of the shape, since no other shape stands
 * in its type.  -1: there is none. */
static int operand_of_shape(const Fn *fn, const Name *name) {
  for (int i = 0; i < fn->param_count; i++) {
    const TypeExpr *t = fn->params[i]->annotation;
    int shapes = 0;
    bool found = false;
    for (int k = 0; k < t->dim_count; k++) {
      shapes += t->dims[k]->kind == DX_SPLAT;
      found |= t->dims[k]->kind == DX_SPLAT && t->dims[k]->name == name;
    }
    if (found && shapes == 1) return i;
  }
  return -1;
}

/* Appends to `out` what the rule reads of one result of several
 * (ops/rules/host.c).  False: no operand tells what `*unknown` is. */
static bool add_field(const Fn *fn, const TypeExpr *t, Numbers *out,
                      const Name **unknown) {
  int like = t->dtype_name ? operand_of_dtype(fn, t->dtype_name) : 0;
  *unknown = t->dtype_name;
  if (like < 0) return false;
  VEC_PUSH(out, t->dtype_name ? -1 - like : (int)t->dtype);
  size_t axes = out->len;
  VEC_PUSH(out, 0);
  VEC_PUSH(out, 0);
  for (int i = 0; i < t->dim_count && out->len > axes + 1; i++) {
    const DimExpr *d = t->dims[i];
    bool shape = d->kind == DX_SPLAT;
    int from = shape ? operand_of_shape(fn, d->name) : 0;
    *unknown = d->name;
    if (from < 0) return false;
    out->data[axes] += shape ? 1 - fn->params[from]->annotation->dim_count : 1;
    out->data[axes + 1] += shape;
    if (shape) VEC_PUSH(out, from);
  }
  return true;
}

/* The dtype's name, or the parameter that it is. */
static const AttrExpr *dtype_attr(Arena *a, const TypeExpr *t) {
  if (!t->dtype_name) return attr_expr_text(a, dtype_name(t->dtype));
  Expr *name = expr_new(a, EX_IDENT, t->dtype_span);
  AttrExpr *x = ARENA_NEW(a, AttrExpr);
  name->name = t->dtype_name;
  *x = (AttrExpr){.kind = AX_EXPR, .span = t->dtype_span, .expr = name};
  return x;
}

static bool has_open(const TypeExpr *t) {
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->kind == DX_ANY) return true;
  return false;
}

/* The types of several results, as the rule reads them; NULL after a report. */
static const AttrExpr *fields_attr(rly_program *p, Arena *a, const Fn *fn) {
  const TypeExpr *const *types;
  int n = results_of(fn, &types);
  const AttrExpr **items;
  AttrExpr *list = NULL;
  Numbers numbers;
  VEC_INIT(&numbers, p->mem);
  VEC_PUSH(&numbers, n);
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    const Name *unknown;
    ok = add_field(fn, types[i], &numbers, &unknown);
    if (ok) continue;
    Diag *d = diag_error(p->ir->diags, E0908, types[i]->span,
                         "no operand tells what `%s` is here", unknown->text);
    diag_hint(d,
              "with several results, a dtype parameter is the dtype of an "
              "operand, and a shape parameter the only shape in one's type");
  }
  if (ok) list = attr_expr_list(a, (int)numbers.len, &items);
  for (int i = 0; list && i < list->count; i++)
    items[i] = attr_expr_int(a, numbers.data[i]);
  VEC_DONE(&numbers);
  return list;
}

static bool gives_tensors(const Fn *fn) {
  const TypeExpr *const *types;
  int n = results_of(fn, &types);
  for (int i = 0; i < n; i++)
    if (types[i]->kind != TX_TENSOR) return false;
  return fn->result->kind == TX_TENSOR || (n >= 2 && n <= RESULTS_MAX);
}

/* The first result whose type has a `?`; NULL: none has one. */
static const TypeExpr *open_result(const Fn *fn) {
  const TypeExpr *const *types;
  int n = results_of(fn, &types);
  for (int i = 0; i < n; i++)
    if (has_open(types[i])) return types[i];
  return NULL;
}

typedef struct Adding {
  const rly_operator *op;
  int number;
  const Name *name; /* found */
} Adding;

/* `fields`: what the rule reads of several results. */
static const Expr *call_of_host(const Adding *adding, rly_program *p, Arena *a,
                                const Fn *fn, const AttrExpr *fields,
                                Span span) {
  size_t n = (size_t)fn->param_count;
  Expr *callee = expr_new(a, EX_OP, span), *all = expr_new(a, EX_TUPLE, span);
  const Expr **operands = ARENA_ARRAY(a, const Expr *, n + 1);
  const Expr **args = ARENA_ARRAY(a, const Expr *, 1);
  Attr *attrs = ARENA_ARRAY(a, Attr, 3);
  bool several = fn->result->kind == TX_TUPLE;
  if (!operands || !args || !attrs) return NULL;
  for (size_t i = 0; i < n; i++) {
    Expr *operand = expr_new(a, EX_LOCAL, span);
    operand->name = fn->params[i]->name;
    operands[i] = operand;
  }
  callee->op = adding->op->effect ? OP_HOST_EFFECT : OP_HOST;
  all->args = operands;
  all->count = (int)n;
  args[0] = all;
  NameTable *names = p->ir->names;
  attrs[0] = (Attr){name_of(names, "operator"), span,
                    attr_expr_int(a, adding->number)};
  attrs[1] = (Attr){name_of(names, "shape"), span, shape_attr(p, a, fn)};
  attrs[2] = several ? (Attr){name_of(names, "fields"), span, fields}
                     : (Attr){name_of(names, "dtype"), span,
                              dtype_attr(a, fn->result)};
  Expr *call = expr_call(a, span, callee, 1, args);
  call->call.attrs = attrs;
  call->call.attr_count = 3;
  return call;
}

/* Puts the call into the place of the `()` that stands for the meaning. */
static bool put_meaning(void *data, rly_program *p, Unit *unit) {
  Adding *adding = data;
  unit->source->host = true;
  const Item *item = &unit->items[0];
  int others = 0;
  for (int i = 1; i < unit->item_count; i++)
    others += unit->items[i].kind != ITEM_GRADIENT;
  if (!unit->item_count || item->kind != ITEM_DEF || !item->own || others)
    return refuse(p, item->span,
                  "the signature of an operator is `op @f(...) "
                  "-> Tensor[...]`, and nothing else");
  const Fn *fn = item->expr->fn;
  if (!gives_tensors(fn) || !fn->param_count)
    return refuse(p, fn->result->span,
                  "an operator of the host takes tensors, "
                  "at least one, and gives a tensor, or a tuple of 2 to 8");
  for (int i = 0; i < fn->param_count; i++) {
    const TypeExpr *t = fn->params[i]->annotation;
    if (!t || t->kind != TX_TENSOR)
      return refuse(p, fn->params[i]->span,
                    "an operator of the host takes "
                    "tensors");
  }
  const TypeExpr *open = open_result(fn);
  if (open && !adding->op->shape)
    return refuse(p, open->span,
                  "the result has `?`, and no function "
                  "tells its shape");
  adding->name = item->name;
  const AttrExpr *fields = NULL;
  if (fn->result->kind == TX_TUPLE &&
      !(fields = fields_attr(p, &unit->arena, fn)))
    return false;
  const Expr *call =
      call_of_host(adding, p, &unit->arena, fn, fields, item->name_span);
  Fn *made = (Fn *)fn; /* parsed a moment ago, and nobody else has it yet */
  if (!call) return false;
  if (made->body->kind == EX_BLOCK && made->body->sugar == SUGAR_WHERE)
    ((Block *)made->body->block)->result = call;
  else made->body = call;
  return true;
}

/* --- The table ------------------------------------------------------------ */

/* With the program: tells the host. */
static void operators_free(rly_program *p) {
  struct Operators *o = p->operators;
  for (size_t i = 0; o && i < o->list.len; i++) {
    Operator *op = (Operator *)o->list.data[i];
    if (op->is.release) op->is.release(op->is.data);
    mem_free(p->mem, op, sizeof *op);
  }
  if (!o) return;
  VEC_DONE(&o->list);
  mem_free(p->mem, o, sizeof *o);
}

static struct Operators *table_of(rly_program *p) {
  if (p->operators) return p->operators;
  struct Operators *made = mem_alloc(p->mem, sizeof *made);
  if (!made) return NULL;
  *made = (struct Operators){.table = {0}};
  VEC_INIT(&made->list, p->mem);
  p->operators = made;
  p->operators_free = operators_free;
  p->ir->hosts = &made->table;
  return made;
}

static rly_status add(rly_program *p, const rly_operator *op) {
  struct Operators *all = table_of(p);
  Operator *made = all ? mem_alloc(p->mem, sizeof *made) : NULL;
  if (!made) {
    mem_raise_exhausted(p->mem);
    return program_failed(p, RLY_REFUSED);
  }
  *made = (Operator){.host = {.run = run_host}, .is = *op};
  StrBuf text;
  strbuf_init(&text, p->mem);
  strbuf_addf(&text, "%s" HOST_MEANING ";\n%s", op->signature,
              op->gradient ? op->gradient : "");
  Adding adding = {.op = op, .number = (int)all->list.len};
  VEC_PUSH(&all->list, &made->host);
  bool listed = all->list.len > (size_t)adding.number;
  rly_status status = listed
                          ? program_add_made(p, HOST_PATH, strbuf_text(&text),
                                             put_meaning, &adding)
                          : program_failed(p, RLY_REFUSED);
  strbuf_done(&text);
  if (status == RLY_OK) made->host.name = adding.name->text;
  else if (listed) all->list.len--;
  if (status != RLY_OK) mem_free(p->mem, made, sizeof *made);
  all->table = (HostOps){(int)all->list.len, all->list.data};
  return status;
}

rly_status rly_operator_add(rly_program *p, const rly_operator *op) {
  if (!op || !op->signature || !op->run) {
    misuse(__func__, "the operator has no %s",
           !op              ? "description"
           : !op->signature ? "signature"
                            : "function `run`");
    return RLY_MISUSE;
  }
  if (strlen(op->signature) > SIGNATURE_MOST) {
    misuse(__func__, "the signature has more than %d bytes", SIGNATURE_MOST);
    return RLY_MISUSE;
  }
  if (!program_enter(p)) return RLY_MISUSE;
  rly_status status = add(p, op);
  program_leave(p);
  return status;
}
