/* Calls that TVM's compiler leaves in a program that it has lowered, as what
 * they mean where tensors are values:
 *
 *   call_lowered(@f, (%x, %y))                  @f(%x, %y)
 *   memory.alloc_storage(%size, %alignment)     Storage
 *   memory.alloc_tensor(%storage, 0, %shape)    dyn.zeros(%shape)
 *   memory.kill(%x)                             ()
 *
 *   let %_ = vm.invoke_tvm_op(@f, (%x,), (%out,));   let %out = @f(%x);
 *   ...                                              let %_ = (); ...
 *
 * The last one writes into tensors.  Each is a variable of `alloc_tensor`: from
 * the call on its name means what was written.  That is the same program only
 * where nothing has looked at the tensor before, and nothing outside of the
 * block can, so both are checked: a Room is such a variable until it is
 * written. */
#include <string.h>

#include "types/resolve.h"

/* --- Parts ---------------------------------------------------------------- */

static Var *bind(Resolver *r, Bindings *out, const Name *name,
                 const Expr *value) {
  Var *var = var_new(r->arena, name, value->span, NULL);
  var->id = r->p->next_var_id++;
  VEC_PUSH(out, binding_let(value->span, var, value));
  return var;
}

/* Evaluates an operand that the result does not hold.  `text` is the type that
 * it has to have; NULL: any. */
static void evaluate(Resolver *r, Bindings *out, const char *operand,
                     const Expr *value, const TypeExpr *text) {
  if (!text && value->kind == EX_VAR) return;
  Var *var = bind(r, out, name_of(r->p->names, operand), value);
  if (!text) return;
  TypeExpr *annotation = arena_copy(r->arena, text, sizeof *text);
  if (!annotation) return;
  annotation->span = value->span;
  var->annotation = annotation;
  var->declared = resolve_type(r, annotation);
}

static const Expr *unit_value(Resolver *r, Span span) {
  return expr_new(r->arena, EX_TUPLE, span);
}

/* What the notes `on_device(x)` and the like are about. */
static const Expr *without_notes(const Expr *e) {
  bool dyn;
  while (e->kind == EX_CALL && e->count == 1 &&
         e->call.callee->kind == EX_IDENT) {
    OpId op = op_find(e->call.callee->name->text, &dyn);
    if (op == OP_COUNT || !op_is_note(op_info(op))) break;
    e = e->args[0];
  }
  return e;
}

/* The expression itself, or what the graph variable stands for. */
static const Expr *meant(Resolver *r, const Expr *e) {
  for (e = without_notes(e); e->kind == EX_GRAPH;) {
    const GraphNode *node = homes_node(r->homes, e);
    if (!node) break;
    e = without_notes(node->binding->value);
  }
  return e;
}

/* The function's text; NULL where the text does not say which it is. */
static const Fn *known_function(Resolver *r, const Expr *e) {
  e = meant(r, e);
  if (e->kind == EX_FN) return e->fn;
  const Global *g = e->kind == EX_GLOBAL ? find_global(r, e->g.name) : NULL;
  if (!g) return NULL;
  const Expr *value = g->definition ? g->definition->item->expr : g->value;
  return value && value->kind == EX_FN ? value->fn : NULL;
}

static bool gives_tuple(const Fn *fn) {
  if (fn->result) return fn->result->kind == TX_TUPLE;
  return expr_result(fn->body)->kind == EX_TUPLE;
}

/* The call of function `f`, given its arguments in a tuple. */
static const Expr *call_with(Resolver *r, const Expr *e, const Expr *f,
                             const Expr *tuple, Bindings *out) {
  const Expr *text = meant(r, tuple);
  const Fn *fn = known_function(r, f);
  bool literal = text->kind == EX_TUPLE;
  if (!fn && !literal) {
    Diag *d = diag_error(r->p->diags, E0123, tuple->span,
                         "how many arguments this is does not show");
    diag_hint(d, "write them in a tuple: `(%%x, %%y)`");
    return resolve_error(r, e->span);
  }
  int n = literal ? text->count : fn->param_count;
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)n);
  if (!args) return resolve_error(r, e->span);
  const Expr *callee = resolve_expr(r, f);
  Var *whole = NULL;
  if (text != tuple || !literal)
    whole = bind(r, out, name_of(r->p->names, "args"), resolve_expr(r, tuple));
  for (int i = 0; i < n; i++)
    args[i] = whole ? expr_proj(r->arena, tuple->span,
                                resolve_var_use(r, tuple->span, whole), i)
                    : resolve_expr(r, text->args[i]);
  return expr_call(r->arena, e->span, callee, n, args);
}

/* --- Expressions ---------------------------------------------------------- */

static const Expr *call_lowered(Resolver *r, const Expr *e,
                                const Expr *const *args, Bindings *out) {
  (void)args;
  return call_with(r, e, e->args[0], e->args[1], out);
}

/* (size, alignment) until 0.9, (size, shape, alignment) after. */
static const Expr *alloc_storage(Resolver *r, const Expr *e,
                                 const Expr *const *args, Bindings *out) {
  static const TypeExpr number = {
      .kind = TX_TENSOR, .scalar = true, .dtype = DT_INT64};
  evaluate(r, out, "size", args[0], &number);
  if (e->count == 3) evaluate(r, out, "shape", args[1], NULL);
  evaluate(r, out, "alignment", args[e->count - 1], &number);
  const Ctor *ctor = find_ctor(r, name_of(r->p->names, "Storage"));
  if (!ctor) return resolve_error(r, e->span);
  Expr *head = expr_new(r->arena, EX_CTOR, e->span);
  head->ctor = ctor;
  Expr *call = expr_call(r->arena, e->span, head, 0, NULL);
  call->sugar = SUGAR_CTOR;
  return call;
}

/* The shape that is allocated is an operand; `const_shape` and `assert_shape`
 * say the same to TVM's typing. */
static const Expr *alloc_tensor(Resolver *r, const Expr *e,
                                const Expr *const *args, Bindings *out) {
  const TypeExpr storage = {.kind = TX_NAME,
                            .name = name_of(r->p->names, "Storage"),
                            .brackets = true};
  evaluate(r, out, "storage", args[0], &storage);
  evaluate(r, out, "offset", args[1], NULL);
  Expr *text = expr_new(r->arena, EX_CALL, e->span);
  Attr *attrs = ARENA_ARRAY(r->arena, Attr, (size_t)e->call.attr_count);
  if (!attrs) return resolve_error(r, e->span);
  text->call = e->call;
  text->call.attrs = attrs;
  text->call.attr_count = 0;
  const Name *dtype = name_of(r->p->names, "dtype");
  for (int i = 0; i < e->call.attr_count; i++)
    if (e->call.attrs[i].name == dtype)
      attrs[text->call.attr_count++] = e->call.attrs[i];
  return resolve_operator(r, text, OP_ZEROS, true, 1, args + 2);
}

static const Expr *kill(Resolver *r, const Expr *e, const Expr *const *args,
                        Bindings *out) {
  evaluate(r, out, "to_free", args[0], NULL);
  return unit_value(r, e->span);
}

static const Expr *misplaced_write(Resolver *r, const Expr *e,
                                   const Expr *const *args, Bindings *out) {
  (void)args, (void)out;
  Diag *d = diag_error(r->p->diags, E0123, e->span,
                       "this writes into its last operands, so it stands in a "
                       "`let` of the block that made them");
  diag_hint(d, "write let %%_ = vm.invoke_tvm_op(@f, (%%x,), (%%out,));");
  return resolve_error(r, e->span);
}

/* What a call means.  `args` are resolved but where the row is about a function
 * and its arguments. */
typedef const Expr *Meaning(Resolver *r, const Expr *e, const Expr *const *args,
                            Bindings *out);

static const struct {
  Meaning *meaning;
  bool unresolved;
} meanings[SPECIAL_COUNT] = {
    [SPECIAL_CALL_LOWERED] = {call_lowered, true},
    [SPECIAL_INVOKE] = {misplaced_write, true},
    [SPECIAL_ALLOC_STORAGE] = {alloc_storage, false},
    [SPECIAL_ALLOC_TENSOR] = {alloc_tensor, false},
    [SPECIAL_KILL] = {kill, false},
};

/* Attributes are those of the row; what they say is for a compiler. */
static bool attrs_fit(Resolver *r, const Expr *e, const OpInfo *op) {
  Attrs *attrs = attrs_new(r->arena, op);
  Operands none = {
      .items = ARENA_ARRAY(r->arena, const Expr *, (size_t)op->attr_count)};
  return attrs && none.items && resolve_attrs(r, e, op, attrs, &none);
}

const Expr *resolve_lowered(Resolver *r, const Expr *e, OpId id,
                            const Expr *head) {
  const OpInfo *op = op_info(id);
  const Expr **args = ARENA_ARRAY(r->arena, const Expr *, (size_t)e->count);
  if (!args || !attrs_fit(r, e, op)) return resolve_error(r, e->span);
  for (int i = 0; i < e->count && !meanings[op->special].unresolved; i++)
    args[i] = i == 0 && head ? head : resolve_expr(r, e->args[i]);
  Bindings lets;
  VEC_INIT(&lets, r->c->mem);
  const Expr *made = meanings[op->special].meaning(r, e, args, &lets);
  made = expr_after(r->arena, e->span, lets.len, lets.data, made);
  VEC_DONE(&lets);
  return made;
}

/* --- Writes --------------------------------------------------------------- */

/* Every `let` asks this, so it compares names and looks up no operator. */
static bool calls(const Expr *e, OpId op) {
  return e->kind == EX_CALL && e->call.callee->kind == EX_IDENT &&
         strcmp(e->call.callee->name->text, op_info(op)->name) == 0;
}

void room_bind(Resolver *r, const Expr *value, const Var *var) {
  if (!calls(without_notes(value), OP_ALLOC_TENSOR)) return;
  Room *room = ARENA_NEW(&r->c->arena, Room);
  *room = (Room){.block = r->block};
  ptrmap_put(&r->rooms, var, room);
}

void room_use(Resolver *r, const Var *var, const Expr *use) {
  Room *room = ptrmap_get(&r->rooms, var);
  if (!room) return;
  if (room->use && room->use != use) room->read = room->use;
  room->use = use;
}

/* Can output `e` be written?  A use in the tuple of outputs itself is none. */
static bool can_write(Resolver *r, const Expr *e) {
  const Var *var = e->kind == EX_LOCAL ? ptrmap_get(&r->vars, e->name) : NULL;
  const Room *room = var ? ptrmap_get(&r->rooms, var) : NULL;
  if (!room || room->block != r->block) {
    Diag *d = diag_error(r->p->diags, E0123, e->span,
                         "this is no tensor that can be written here");
    diag_hint(d,
              "an output is a variable that memory.alloc_tensor gives in "
              "the same block, written once");
    return false;
  }
  const Expr *read = room->use != e ? room->use : room->read;
  if (!read) return true;
  Diag *d =
      diag_error(r->p->diags, E0108, read->span,
                 "`%%%s` is looked at before it is written", e->name->text);
  diag_note(d, e->span, "it is written here");
  return false;
}

/* From here on the names of the outputs mean what was written; a graph variable
 * that holds them does, too. */
static void write_outputs(Resolver *r, const Expr *call, const Expr *outputs,
                          Var *written, bool tuple, Bindings *out) {
  const Expr *place = without_notes(call->args[2]);
  const Expr **uses =
      ARENA_ARRAY(r->arena, const Expr *, (size_t)outputs->count);
  for (int i = 0; uses && i < outputs->count; i++) {
    const Expr *value = resolve_var_use(r, call->span, written);
    if (tuple) value = expr_proj(r->arena, call->span, value, i);
    Var *var = bind(r, out, without_notes(outputs->args[i])->name, value);
    scope_bind(r, &r->vars, var->name, var);
    uses[i] = resolve_var_use(r, call->span, var);
  }
  GraphNode *node =
      place->kind == EX_GRAPH ? homes_node(r->homes, place) : NULL;
  if (!node || !uses) return;
  Expr *now = expr_new(r->arena, EX_TUPLE, call->span);
  now->args = uses;
  now->count = outputs->count;
  node->var = bind(r, out, name_of(r->p->names, "outs"), now);
}

const Expr *resolve_write(Resolver *r, const Expr *e, Bindings *out) {
  const Expr *call = without_notes(e);
  if (!calls(call, OP_INVOKE_TVM_OP)) return NULL;
  if (!check_operator_arity(r, call, OP_INVOKE_TVM_OP, false) ||
      !attrs_fit(r, call, op_info(OP_INVOKE_TVM_OP)))
    return resolve_error(r, e->span);
  const Expr *outputs = meant(r, call->args[2]);
  if (outputs->kind != EX_TUPLE) {
    diag_error(r->p->diags, E0123, call->args[2]->span,
               "what is written stands in a tuple: `(%%out,)`");
    return resolve_error(r, e->span);
  }
  for (int i = 0; i < outputs->count; i++)
    if (!can_write(r, without_notes(outputs->args[i])))
      return resolve_error(r, e->span);
  const Expr *value = call_with(r, call, call->args[0], call->args[1], out);
  Var *written = bind(r, out, name_of(r->p->names, "written"), value);
  const Fn *fn = known_function(r, call->args[0]);
  bool tuple = outputs->count != 1 || (fn && gives_tuple(fn));
  write_outputs(r, call, outputs, written, tuple, out);
  return unit_value(r, e->span);
}
