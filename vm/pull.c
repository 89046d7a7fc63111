/* The reverse sweep: from a tape and the adjoint of its value to the adjoints
 * of its inputs.
 *
 *   seed      the adjoint's tensors go to the records of the value's
 *   sweep     records in the reverse order of making: the operator's rule, a
 *             function of the language, gives what is added to the adjoints of
 *             its operands
 *   collect   the inputs, with adjoints in the places of tensors
 *
 * Adjoints are added in the order in which the sweep meets them, which the
 * program alone decides.  The adjoint of a weight is a sum of products a' b,
 * one for each step: their rows wait, and one product sums over all of them,
 * upward in the order of making, as in a product over the whole sequence.
 *
 * In differentiated code rules are differentiated code, too, so that the sweep
 * is recorded at the outer levels. */
#include "vm/checkpoint.h"

#include <string.h>

/* --- Rules -------------------------------------------------------------- */

static const Type *shape_type(Code *c, Value v) {
  const Tensor *t = value_tensor(v);
  Dim dims[RANK_MAX];
  for (int i = 0; i < t->rank; i++) dims[i] = DIM_ANY;
  if (first_dim(t) >= 0) dims[0] = dim_of(first_dim(t));
  return type_tensor(c->program->types, (DType)t->dtype, t->rank, dims);
}

static const Type *tuple_of(Code *c, int n, const Value *v) {
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)n + 1);
  for (int i = 0; types && i < n; i++) types[i] = shape_type(c, v[i]);
  return type_tuple(c->program->types, types ? n : 0, types);
}

static void make_functions(Code *c, struct Derivative *d, const Global *g) {
  Env *plain = ARENA_NEW(&c->arena, Env);
  *plain = (Env){0};
  Function *f = code_global(c, g, plain, false);
  d->plain = code_owning(c, f);
  d->dual = code_owning(c, code_dual(c, f));
  d->result = g->type->result;
}

struct Derivative *derivative_make(Code *c, const OpSite *site, int n,
                                   const Value *args, int m,
                                   const Value *outs) {
  struct Derivative *d = ARENA_NEW(&c->arena, struct Derivative);
  int count;
  int *groups = site_groups(&c->arena, site, &count);
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)n + 3);
  bool *kept = ARENA_ARRAY(&c->arena, bool, (size_t)n + 1);
  uint32_t *kinds = ARENA_ARRAY(&c->arena, uint32_t, (size_t)n + 1);
  if (!groups || !types || !kept || !kinds) return NULL;
  *d = (struct Derivative){
      .kept = kept, .kinds = kinds, .group_count = count, .groups = groups};
  for (int i = 0; i < n; i++) kinds[i] = operand_kind(args[i]);
  for (int i = 0, at = 0; i < count; at += group_fields(groups[i++]))
    types[i] = groups[i] == GROUP_SINGLE ? shape_type(c, args[at])
                                         : tuple_of(c, groups[i], args + at);
  types[count] = m == 1 && !site->gives_tuple ? shape_type(c, outs[0])
                                              : tuple_of(c, m, outs);
  Gradient g;
  d->status = types_gradient(c->program, site->attrs, count + 1, types, &g);
  if (mem_exhausted(c->program->mem)) return NULL;
  if (d->status == GRADIENT_OK) {
    d->uses = g.uses;
    d->keeps_value = g.uses >> count & 1;
    for (int i = 0, at = 0; i < count; i++)
      for (int k = group_fields(groups[i]); k-- > 0;)
        kept[at++] = g.uses >> i & 1;
    make_functions(c, d, g.function);
  }
  d->next = atomic_load(&site->derivatives);
  atomic_store(&((OpSite *)site)->derivatives, d);
  return d;
}

/* --- Seeds -------------------------------------------------------------- */

static void fault_other_shape(Session *s, const char *what, const Tensor *value,
                              const Tensor *g) {
  StrBuf text;
  strbuf_init(&text, s->mem);
  strbuf_addf(&text, "%s has its shape, ", what);
  shape_print(&text, value->rank, value->shape);
  strbuf_add(&text, ": this one has ");
  shape_print(&text, g->rank, g->shape);
  vm_fault(s, E0612, "%s", strbuf_text(&text));
  strbuf_done(&text);
}

static bool seed_leaf(Sweep *w, const Seeded *at) {
  Session *s = w->s;
  if (!type_is_float(at->type) || at->v_bits) return true;
  Value v = dual_upto(at->v, w->level), g = at->g;
  if (!is_dual(v) || dual_level(v) != w->level) return true;
  if (!at->g_bits) obj_keep(g.obj);
  else g.tensor = tensor_from_bits(&s->store.heap, (DType)at->type->dtype, g);
  if (!g.obj) return vm_out_of_memory(s);
  if (!shapes_equal(value_tensor(g), value_tensor(v))) {
    fault_other_shape(s, at->what, value_tensor(v), value_tensor(g));
    obj_drop(&s->store, g.obj);
    return false;
  }
  if (!w->forward)
    return sweep_add(w, dual_record(v), dual_index(v), g, (Value){.bits = 0});
  set_field(dual_record(v), RECORD_ARGS + (int)dual_index(v), g);
  return true;
}

bool sweep_seed(Sweep *w, Seeded root) {
  Session *s = w->s;
  VEC(Seeded) todo;
  VEC_INIT(&todo, s->mem);
  VEC_PUSH(&todo, root);
  bool ok = true;
  while (ok && todo.len && !mem_exhausted(s->mem)) {
    Seeded at = VEC_POP(&todo);
    if (at.type->kind != TY_TUPLE && at.type->kind != TY_ADT) {
      ok = seed_leaf(w, &at);
      continue;
    }
    if (at.v.obj->tag != at.g.obj->tag) {
      ok = vm_fault(s, E0612,
                    "%s has its structure: this one has another constructor",
                    at.what);
      break;
    }
    int n = (int)cell_count(at.v.cell);
    for (int i = n; i-- > 0;) {
      Seeded part = {at.what,
                     part_type(s, at.type, at.v.cell, i),
                     cell_fields(at.v.cell)[i],
                     cell_fields(at.g.cell)[i],
                     !cell_field_counted(at.v.cell, (uint64_t)i),
                     !cell_field_counted(at.g.cell, (uint64_t)i)};
      if (part.type->kind == TY_ERROR) ok = vm_out_of_memory(s);
      VEC_PUSH(&todo, part);
    }
  }
  ok = ok && (!mem_exhausted(s->mem) || vm_out_of_memory(s));
  VEC_DONE(&todo);
  return ok;
}

/* --- Rules -------------------------------------------------------------- */

Value sweep_argument(Sweep *w, const Type *type, Value v) {
  Session *s = w->s;
  if (!w->dual && is_dual(v)) {
    Value tensor = {.tensor = value_tensor(v)};
    obj_keep(tensor.obj);
    obj_drop(&s->store, v.obj);
    v = tensor;
  }
  if (type_is_object_in(type, w->dual)) return v;
  Value bits = tensor_bits_at(v.tensor, 0);
  tensor_drop(&s->store.heap, v.tensor);
  return bits;
}

/* As a session's entry, for a tuple that is returned unboxed. */
static const UnboxedCode unboxed_entry[2] = UNBOXED_TO_LEFT(INS_halt);

bool sweep_invoke(Sweep *w, Function *f, Value *window) {
  return sweep_enter(
      w, f, window,
      f->result_count ? unboxed_code(unboxed_entry, f) : w->s->entry);
}

/* Each loop within a loop takes some of the C stack, at most 2 KB. */
enum { LOOPS_MOST = 500 };

bool sweep_enter(Sweep *w, Function *f, Value *window, const Word *entry) {
  Session *s = w->s;
  Value *regs = s->regs;
  if (s->loop_depth >= LOOPS_MOST) {
    vm_fault(s, E0702, "recursion too deep: %d sweeps within one another",
             LOOPS_MOST);
    return sweep_drop_arguments(s, f, window, (int)f->nparams);
  }
  if (w->under) swept_calls(w, f);
  *s->frame_top++ = (Frame){w->pc + 2, regs};
  s->regs = s->left;
  if (!vm_call(s, f, window, entry + 2)) {
    s->frame_top--;
    s->regs = regs;
    s->pc = w->pc;
    return false;
  }
  s->loop_depth++;
  if (!session_loop(s)) return false;
  s->loop_depth--;
  s->frame_top--;
  s->regs = regs;
  s->pc = w->pc;
  return true;
}

bool sweep_drop_arguments(Session *s, const Function *f, Value *window,
                          int count) {
  for (int i = 0; i < count; i++)
    if (f->params[i] == PARAM_OWNED) obj_drop(&s->store, window[i].obj);
  return false;
}

/* Of what a rule's argument is made: values that a record keeps, or the
 * adjoints of its results, which are taken. */
typedef struct Operands {
  const Value *kept;
  Part *adjoints;
} Operands;

/* Operand i, owned.  What is kept is as it is for the sweep. */
static Value take_operand(const Sweep *w, Operands of, int i) {
  if (of.adjoints) {
    of.adjoints[i].form = SUM_ZERO;
    return of.adjoints[i].sum;
  }
  Value v = dual_upto(of.kept[i], w->known);
  obj_keep(v.obj);
  return v;
}

/* Adds the first operand to the arguments, or, where the rule takes a tuple,
 * the tuple of all; false without memory. */
static bool put_argument(Sweep *w, const Type *type, Operands of, Value *window,
                         int *count) {
  Value *to = &window[*count];
  if (type->kind != TY_TUPLE) {
    *to = sweep_argument(w, type, take_operand(w, of, 0));
  } else {
    int n = type->count;
    to->cell = blank_tuple(w->s, n);
    if (!to->cell) return vm_out_of_memory(w->s);
    for (int i = 0; i < n; i++) {
      const Type *part = type->args[i];
      dual_field(to->cell, i, part, w->dual,
                 sweep_argument(w, part, take_operand(w, of, i)));
    }
  }
  ++*count;
  return true;
}

/* Makes each adjoint an object: zeros of the result's shape where nothing
 * depends on it. */
static bool box_adjoints(Session *s, Part *adjoints, const Value *results,
                         int m) {
  for (int i = 0; i < m; i++) {
    Part *part = &adjoints[i];
    if (!part_box(s, part)) return false;
    if (part->form != SUM_ZERO) continue;
    const Tensor *t = value_tensor(results[i]);
    part->sum.tensor =
        tensor_zeros(&s->store.heap, (DType)t->dtype, t->rank, t->shape);
    if (!part->sum.tensor) return vm_out_of_memory(s);
    part->form = SUM_OBJECT;
  }
  return true;
}

/* The operands that the rule names and the adjoints of the m results, which it
 * takes, into the window; false without memory. */
static bool put_arguments(Sweep *w, Cell *record, int m, Part *adjoints,
                          const struct Derivative *d, Value *window,
                          int *count) {
  const Value *f = cell_fields(record);
  int n = (int)(f[RECORD_COUNTS].bits >> 32);
  const Value *operands = &f[RECORD_ARGS + 2 * n], *results = operands + n;
  const Type *const *types = d->plain->key.global->type->args;
  *count = 0;
  for (int i = 0, at = 0; i < d->group_count;
       at += group_fields(d->groups[i++]))
    if (d->uses >> i & 1 &&
        !put_argument(w, types[*count], (Operands){.kept = operands + at},
                      window, count))
      return false;
  if (d->keeps_value &&
      !put_argument(w, types[*count], (Operands){.kept = results}, window,
                    count))
    return false;
  return box_adjoints(w->s, adjoints, results, m) &&
         put_argument(w, types[*count], (Operands){.adjoints = adjoints},
                      window, count);
}

/* Field i of a rule's result as an object, kept; NULL without memory. */
static Value field_of(Session *s, const Cell *from, int i, const Type *type) {
  Value v = cell_fields((Cell *)from)[i];
  if (cell_field_counted(from, (uint64_t)i)) obj_keep(v.obj);
  else v.tensor = tensor_from_bits(&s->store.heap, (DType)type->dtype, v);
  return v;
}

/* Adds one field of the rule's result to the adjoint of flat operand `at`.  A
 * pair (a, b) stands for a' b, or where a is of integers for zeros with b added
 * to the rows a. */
static bool add_part(Sweep *w, Cell *r, int n, int at, const Type *type,
                     const Cell *from, int i) {
  Session *s = w->s;
  Value *f = cell_fields(r);
  Cell *input = f[RECORD_ARGS + at].cell;
  uint64_t index = f[RECORD_ARGS + n + at].bits;
  if (!input) return true;
  if (type->kind == TY_TUPLE) {
    const Cell *pair = cell_fields((Cell *)from)[i].cell;
    Value a = field_of(s, pair, 0, type->args[0]);
    Value b = field_of(s, pair, 1, type->args[1]);
    if (dtype_is_float((DType)type->args[0]->dtype))
      return sweep_add_product(w, input, index, a, b);
    return sweep_add_rows(w, input, index, a, b, f[RECORD_ARGS + 2 * n + at]);
  }
  Value v = field_of(s, from, i, type);
  if (!v.obj) return vm_out_of_memory(s);
  return sweep_add(w, input, index, v, f[RECORD_ARGS + 2 * n + at]);
}

/* A field of the rule's result for each operand; () where it has no adjoint.
 * Operands that hold attributes have no field. */
static bool add_parts(Sweep *w, Cell *r, const struct Derivative *d,
                      const Cell *result) {
  int n = (int)(cell_fields(r)[RECORD_COUNTS].bits >> 32), at = 0;
  for (int i = 0; i < d->group_count; i++) {
    bool tuple = d->groups[i] != GROUP_SINGLE;
    int fields = group_fields(d->groups[i]);
    const Type *type = i < d->result->count ? d->result->args[i] : NULL;
    bool none = !type || (type->kind == TY_TUPLE && type->count == 0);
    const Cell *from =
        tuple && !none ? cell_fields((Cell *)result)[i].cell : result;
    for (int k = 0; !none && k < fields; k++)
      if (!add_part(w, r, n, at + k, tuple ? type->args[k] : type, from,
                    tuple ? k : i))
        return false;
    at += fields;
  }
  return true;
}

/* --- Rules of one's own ------------------------------------------------- */

/* The adjoint of a value, leaf by leaf; `data` is where the next stands. */
typedef struct Next {
  Adjoint *of;
  int at;
} Next;

static bool leaf_given(Walk *walk, const Type *type, Value v, bool bits,
                       Value *out) {
  Next *next = walk->data;
  Session *s = walk->s;
  Part *part = &next->of->of[next->at++];
  (void)type;
  (void)bits;
  if (!part_box(s, part)) return false;
  if (part->form == SUM_OBJECT) {
    obj_keep(part->sum.obj);
    *out = part->sum;
    return true;
  }
  const Tensor *t = value_tensor(v);
  out->tensor =
      tensor_zeros(&s->store.heap, (DType)t->dtype, t->rank, t->shape);
  return out->tensor || vm_out_of_memory(s);
}

/* After a fault in what a rule of the program's own gave: points at the rule.
 * Always false. */
static bool blame_rule(Session *s, const Function *rule) {
  const Expr *fn = rule->key.expr;
  if (fn && s->fault && s->status == RUN_ERROR)
    diag_note(s->fault, fn->span, "this rule gives it");
  return false;
}

/* The rule runs as differentiated code, whatever the sweep does: its closure
 * may have been made in such code.  What it captured there are constants now.
 * Else a run that the rule begins, which has the level that the ended run had,
 * would take that run's Duals for its own, and its sweep their records. */
static bool sweep_custom(Sweep *w, Adjoint *a) {
  Session *s = w->s;
  Value *f = cell_fields(a->record), *kept = &f[RECORD_ARGS];
  const Type *type = (const Type *)(uintptr_t)f[RECORD_RULE].bits;
  int n = type->count, made = 0;
  Function *rule = vm_dual_function(s, kept[0].cell);
  Value *window = w->window;
  if (window + n + 4 >= s->stack_end)
    return vm_fault(s, E0702, "recursion too deep: no room for a rule");
  bool ok = true;
  for (; ok && made <= n; made++) {
    const Type *t = made < n ? type->args[made] : type->result;
    Value v = kept[made + 1];
    if (!type_is_object(t)) window[made] = v;
    else ok = dual_freeze(s, v, w->known, &window[made]);
  }
  Next next = {.of = a};
  Walk walk = {.s = s, .leaf = leaf_given, .dual = true, .data = &next};
  int given = ok ? made : made - 1;
  if (ok)
    ok = walk_copy(&walk, type->result, kept[n + 1], false, &window[made]);
  if (!ok) return sweep_drop_arguments(s, rule, window, given);
  window[++made] = kept[0];
  if (rule->nparams > (uint32_t)made &&
      !dual_freeze(s, kept[0], w->known, &window[made]))
    return sweep_drop_arguments(s, rule, window, made);
  if (!sweep_invoke(w, rule, window)) return false;
  Value result = s->left[0];
  for (int i = 0; ok && i < n; i++) {
    const Type *t = type->args[i];
    if (!type_is_object(t) || t->kind == TY_FN || t->kind == TY_REF) continue;
    Seeded both = {"the adjoint of an input",
                   t,
                   kept[i + 1],
                   cell_fields(result.cell)[i],
                   false,
                   !cell_field_counted(result.cell, (uint64_t)i)};
    ok = sweep_seed(w, both) || blame_rule(s, rule);
  }
  obj_drop(&s->store, result.obj);
  return ok;
}

/* What the text calls: an operator of the host has a name of its own. */
static const char *name_of_call(Session *s, const OpSite *site) {
  const HostOps *hosts = s->code->program->hosts;
  if (!hosts || !attrs_have(site->attrs, ATTR_operator)) return site->op->name;
  int64_t number = dim_value(attr_int(site->attrs, ATTR_operator));
  const char *name =
      arena_printf(&s->scratch, "@%s", hosts->items[number]->name);
  return name ? name : site->op->name;
}

/* Limits and interrupts are no operator's fault. */
bool sweep_blame(Session *s, const OpSite *site) {
  if (!site || !span_exists(site->span)) return false;
  if (!s->fault || s->status != RUN_ERROR) return false;
  Span span = sources_called(s->code->program->sources, site->span);
  diag_note(s->fault, span, "in the derivative of `%s` here",
            name_of_call(s, site));
  return false;
}

/* Where the operator stands that has no rule here.  Always false. */
static bool no_rule(Session *s, const OpSite *site, GradientStatus status) {
  vm_fault_at(
      s, site->span, E0609, "%s",
      gradient_refusal(&s->scratch, name_of_call(s, site), site->op, status));
  diag_hint(s->fault,
            status == GRADIENT_UNKNOWN
                ? "write a literal; where there are several, an `if` chooses "
                  "the call"
                : "where no gradient is wanted: stop_gradient(...)");
  return false;
}

/* The computed attribute of a record's operator that depends on what is
 * differentiated, of which rules say nothing; or NULL. */
static const AttrSpec *varying_attr(const Value *record, const OpSite *site,
                                    const struct Derivative *d) {
  const OpInfo *op = site->op;
  for (int k = 0; site->places && k < op->attr_count; k++) {
    int operand = site->attrs->values[k].operand, at = RECORD_ARGS;
    for (int i = 0; i < operand; i++) at += group_fields(d->groups[i]);
    if (operand >= 0 && record[at].cell) return &op->attrs[k];
  }
  return NULL;
}

static const struct Derivative *derivative_in(Cell *record) {
  uint64_t rule = cell_fields(record)[RECORD_RULE].bits;
  return (const struct Derivative *)(uintptr_t)rule;
}

bool sweep_can(Cell *record) {
  const Value *f = cell_fields(record);
  const OpSite *site = (const OpSite *)(uintptr_t)f[RECORD_SITE].bits;
  const struct Derivative *d = derivative_in(record);
  return d->status == GRADIENT_OK && !varying_attr(f, site, d);
}

bool sweep_refuses(Session *s, Cell *record) {
  const Value *f = cell_fields(record);
  const OpSite *site = (const OpSite *)(uintptr_t)f[RECORD_SITE].bits;
  const struct Derivative *d = derivative_in(record);
  if (d->status != GRADIENT_OK) return no_rule(s, site, d->status);
  const AttrSpec *attr = varying_attr(f, site, d);
  vm_fault_at(s, site->span, E0609,
              "`%s` has no derivative with respect to its attribute `%s`",
              site->op->name, attr_name_text(attr->name));
  diag_hint(s->fault,
            "where the value is meant as a constant: stop_gradient(...)");
  return false;
}

static bool sweep_record(Sweep *w, Adjoint *a, bool last) {
  Session *s = w->s;
  Value *f = cell_fields(a->record);
  w->site = NULL;
  if (a->record->obj.tag == RECORD_OF_STRETCH) return sweep_stretch(w, a, last);
  const OpSite *site = (const OpSite *)(uintptr_t)f[RECORD_SITE].bits;
  if (!site) return !f[RECORD_RULE].bits || sweep_custom(w, a);
  int count;
  const struct Derivative *d = derivative_in(a->record);
  if (!sweep_can(a->record)) return sweep_refuses(s, a->record);
  Function *rule = w->dual ? d->dual : d->plain;
  Value *window = w->window;
  if (!put_arguments(w, a->record, a->count, a->of, d, window, &count))
    return sweep_drop_arguments(s, rule, window, count);
  w->site = site;
  if (!sweep_invoke(w, rule, window)) return sweep_blame(s, site);
  Value result = s->left[0];
  bool ok = add_parts(w, a->record, d, result.cell) || sweep_blame(s, site);
  obj_drop(&s->store, result.obj);
  return ok;
}

bool sweep_operand(Sweep *w, Cell *record, int i, Value g, Value *out) {
  Session *s = w->s;
  const OpSite *site =
      (const OpSite *)(uintptr_t)cell_fields(record)[RECORD_SITE].bits;
  const struct Derivative *d = derivative_in(record);
  Function *rule = w->dual ? d->dual : d->plain;
  Part adjoint = {.form = SUM_OBJECT, .sum = g};
  int count;
  out->obj = NULL;
  if (!put_arguments(w, record, 1, &adjoint, d, w->window, &count)) {
    part_clear(s, &adjoint);
    return sweep_drop_arguments(s, rule, w->window, count);
  }
  if (!sweep_invoke(w, rule, w->window)) return sweep_blame(s, site);
  Value result = s->left[0];
  const Type *type = i < d->result->count ? d->result->args[i] : NULL;
  bool none = !type || type->kind == TY_TUPLE;
  if (!none) *out = field_of(s, result.cell, i, type);
  obj_drop(&s->store, result.obj);
  return none || out->obj || vm_out_of_memory(s);
}

/* --- Collecting --------------------------------------------------------- */

/* What the sweep has found for a Dual of its level; NULL: nothing. */
static bool adjoint_found(const Sweep *w, Value v, Value *g) {
  Adjoint *a = adjoint_known(w, dual_record(v));
  Part *part = a ? &a->of[dual_index(v)] : NULL;
  if (part && !part_box(w->s, part)) return false;
  if (part && part->form == SUM_OBJECT) *g = part->sum;
  return true;
}

bool sweep_leaf(Walk *walk, const Type *type, Value v, bool bits, Value *out) {
  const Sweep *w = walk->data;
  Session *s = w->s;
  if (type->kind == TY_FN || type->kind == TY_REF)
    return vm_fault(s, E0612, "a %s has no place for the %s inside this %s",
                    w->forward ? "tangent" : "gradient",
                    type->kind == TY_FN ? "function" : "cell",
                    w->forward ? "value" : "argument");
  Value g = {.bits = 0};
  bool varies = type_is_float(type);
  if (varies && !bits && is_dual(v) && dual_level(v) == w->level &&
      !(w->forward ? forward_tangent(s, v, &g) : adjoint_found(w, v, &g)))
    return false;
  bool as_bits = type_is_scalar(type) && !(walk->dual && varies);
  if (g.obj) {
    Value shown = g;
    if (!walk->dual) shown.tensor = value_tensor(g);
    if (!as_bits) obj_keep(shown.obj);
    *out = as_bits ? tensor_bits_at(shown.tensor, 0) : shown;
    return true;
  }
  if (as_bits) {
    out->bits = 0;
    return true;
  }
  const Tensor *t = bits ? NULL : value_tensor(v);
  out->tensor = tensor_zeros(&s->store.heap, (DType)type->dtype,
                             t ? t->rank : 0, t ? t->shape : NULL);
  return out->tensor || vm_out_of_memory(s);
}

static bool collect(Sweep *w, const Type *type, Cell *tape, Value *out) {
  Session *s = w->s;
  int n = type->count;
  out->cell = blank_tuple(s, n);
  if (!out->cell) return vm_out_of_memory(s);
  Walk walk = {.s = s,
               .leaf = sweep_leaf,
               .dual = w->dual,
               .all_leaves = true,
               .data = w};
  for (int i = 0; i < n; i++) {
    const Type *t = type->args[i];
    int at = TAPE_INPUTS + i;
    Value v;
    if (t->kind == TY_FN || t->kind == TY_REF) {
      t = type_unit(s->code->program->types);
      v.cell = blank_tuple(s, 0);
    } else if (!walk_copy(&walk, t, cell_fields(tape)[at],
                          !cell_field_counted(tape, (uint64_t)at), &v)) {
      obj_drop(&s->store, out->obj);
      return false;
    }
    dual_field(out->cell, i, t, w->dual, v);
  }
  return true;
}

/* Drops what a record refers to, of a tape that will not be swept again: so
 * what the sweep has left behind is free while it goes on. */
static void release(Session *s, Cell *record) {
  Value *f = cell_fields(record);
  uint64_t n = cell_count(record);
  for (uint64_t i = RECORD_ARGS; i < n; i++) {
    if (!cell_field_counted(record, i)) continue;
    Obj *o = f[i].obj;
    clear_field(record, (int)i);
    obj_drop(&s->store, o);
  }
}

bool sweep_next(Sweep *w, bool last) {
  Session *s = w->s;
  if (w->under && swept_left(w) && !swept_end(w)) return false;
  if (record_is_blank(sweep_top(w)->record)) return sweep_again(w);
  if (!VEC_RESERVE(&w->inputs, 1)) return vm_out_of_memory(s);
  Adjoint *a = sweep_pop(w);
  bool ok = true;
  if (record_is_input(a->record)) {
    VEC_PUSH(&w->inputs, a);
    return true;
  }
  bool settles = a->record->obj.tag != RECORD_OF_STRETCH; /* or does itself */
  for (int k = 0; ok && settles && k < a->count; k++)
    ok = part_settle(s, &a->of[k]);
  ok = ok && sweep_record(w, a, last);
  if (ok && last) release(s, a->record);
  adjoint_done(w, a);
  return ok;
}

/* What waits for the inputs becomes part of their sums. */
static bool settle_inputs(Sweep *w) {
  Session *s = w->s;
  VEC(Part *) parts;
  VEC_INIT(&parts, s->mem);
  for (size_t i = 0; i < w->inputs.len; i++)
    for (int k = 0; k < w->inputs.data[i]->count; k++)
      if (w->inputs.data[i]->of[k].rows)
        VEC_PUSH(&parts, &w->inputs.data[i]->of[k]);
  bool ok = (!mem_exhausted(s->mem) || vm_out_of_memory(s)) &&
            parts_settle(s, parts.len, parts.data);
  VEC_DONE(&parts);
  return ok;
}

bool sweep_rest(Sweep *w, bool last) {
  bool ok = true;
  while (ok && w->heap.len) ok = sweep_next(w, last);
  return ok && settle_inputs(w);
}

/* A rule that fails unwinds all frames, those that hold the tape too: the sweep
 * has a reference of its own. */
bool vm_pull(Session *s, const Word *pc) {
  const Type *type = pc[1].data;
  const uint16_t *list = ins_list(pc);
  Cell *tape = s->regs[list[0]].cell;
  Value *t = cell_fields(tape);
  bool last = obj_unshared(&tape->obj);
  obj_keep(&tape->obj);
  Sweep w = {.s = s,
             .level = tape_level(tape),
             .run = tape_run(tape),
             .known = tape_known(s, tape),
             .dual = pc->b,
             .pc = pc,
             .window = pull_window(s, pc)};
  VEC_INIT(&w.heap, s->mem);
  VEC_INIT(&w.inputs, s->mem);
  const Type *r = type->result;
  bool varies = type_is_float_scalar(r);
  bool bits = type_is_scalar(r) && !(w.dual && varies);
  Seeded root = {
      "the adjoint of a value",     r,   t[TAPE_VALUE], s->regs[list[1]],
      type_is_scalar(r) && !varies, bits};
  bool ok = sweep_seed(&w, root) && sweep_rest(&w, last);
  Value result;
  if (ok) ok = collect(&w, type, tape, &result);
  sweep_done(&w);
  obj_drop(&s->store, &tape->obj);
  if (ok) s->regs[pc->a] = result;
  return ok;
}
