/* Polymorphism: quantifying variables, and replacing what is quantified by new
 * variables at each use.
 *
 *   ty_generalise    a -> a           ~> forall A. A -> A
 *   ty_instantiate   forall A. A -> A ~> b -> b, b new
 *   ty_skolemise     forall A. A -> A ~> K -> K, K new and rigid
 *
 * Which variables may be quantified is told by levels (Remy, "Extension of ML
 * type system with a sorted equational theory on types", 1992).  A variable has
 * the level of the let in whose value it was made, and unification lowers it
 * where it meets an outer variable (unify.c).  When the let is done, the
 * variables of a deeper level than the current one are those that the
 * environment does not mention, and nobody has to look through the environment
 * to know.
 *
 * Copies share what they do not change: closed parts and parts without a
 * quantified parameter are taken as they are, and a part that occurs twice in a
 * type occurs twice in the copy.  Types are graphs, and as trees they may be
 * exponential. */
#include "types/infer.h"

/* --- Instances ----------------------------------------------------------- */

typedef struct Copying {
  Infer *in;
  int count;
  const TypeVar *const *params;
  Ty **targs;   /* of type parameters */
  Slot **slots; /* of Dim parameters */
} Copying;

static Ty *copy(Copying *s, Ty *t);

/* A linear search: functions have few parameters. */
static int param_index(const Copying *s, const TypeVar *var) {
  for (int i = 0; i < s->count; i++)
    if (s->params[i] == var) return i;
  return -1;
}

/* The names of a form that are replaced. */
typedef struct FormNames {
  const Copying *instance;
  int count;
  int indices[FORM_NAMES_MAX];
} FormNames;

static void find_name(void *data, const void *key, const Name *name) {
  (void)name;
  FormNames *f = data;
  int i = param_index(f->instance, key);
  if (i >= 0 && f->count < FORM_NAMES_MAX) f->indices[f->count++] = i;
}

/* A slot whose value follows from those of the names.  The constraint writes
 * into a slot of its own, which flows to the one that is given out.  Values
 * thus meet the form's result on an edge with the reason of the use, and a
 * dimension that does not fit is reported there. */
static Slot *form_slot(Copying *s, Dim form, const FormNames *f) {
  Infer *in = s->in;
  Constraint *c = constraint_new(in, C_FORM, NULL);
  c->names = ARENA_ARRAY(in->arena, const void *, (size_t)f->count);
  c->values = ARENA_ARRAY(in->arena, Slot *, (size_t)f->count);
  c->name_count = f->count;
  c->form = form;
  if (in->use) c->span = in->use->span;
  c->slot = slot_new(in, DIM_HOLE, false, SPAN_NONE);
  for (int i = 0; i < f->count; i++) {
    c->names[i] = s->params[f->indices[i]];
    c->values[i] = s->slots[f->indices[i]];
    slot_watch(in, c->values[i], c);
  }
  Slot *out = slot_new(in, DIM_HOLE, false, SPAN_NONE);
  slot_flow(in, c->slot, out, in->use);
  constraint_wake(in, c);
  return out;
}

/* Three cases: a dimension without a replaced name is shared with the
 * signature, a name alone is the slot that stands for the name, and a form such
 * as n + 1 gets a constraint. */
static Slot *copy_slot(Copying *s, Slot *slot) {
  slot = slot_root(slot);
  if (!dim_is_form(slot->value)) return slot;
  DimTable *dims = types_dims(s->in->types);
  FormNames f = {.instance = s};
  dim_names(dims, slot->value, find_name, &f);
  if (f.count == 0) return slot;
  const TypeVar *first = s->params[f.indices[0]];
  if (dim_same(slot->value, dim_named(dims, first->name, first)))
    return s->slots[f.indices[0]];
  return form_slot(s, slot->value, &f);
}

static Ty *copy_tensor(Copying *s, Ty *t) {
  Slot **dims = ty_dims(s->in, t->rank);
  bool same = true;
  for (int i = 0; i < t->rank; i++) {
    dims[i] = copy_slot(s, t->dims[i]);
    same &= dims[i] == slot_root(t->dims[i]);
  }
  if (same) return t;
  return t->kind == K_DIM ? ty_dim(s->in, dims[0])
                          : ty_tensor(s->in, (DType)t->dtype, t->rank, dims);
}

/* The notes that walks leave in a node belong to the old one and are cleared in
 * the copy. */
static Ty *copy_parts(Copying *s, Ty *t) {
  Ty **args = ty_array(s->in, t->count);
  if (!args) return s->in->error;
  bool same = true;
  for (int i = 0; i < t->count; i++) {
    args[i] = copy(s, t->args[i]);
    same &= args[i] == t->args[i];
  }
  Ty *result = t->kind == K_FN ? copy(s, t->result) : NULL;
  if (same && (!result || result == t->result)) return t;
  Ty *made = ARENA_NEW(s->in->arena, Ty);
  *made = *t;
  made->args = args;
  made->copy = NULL;
  made->done = NULL;
  made->agreed = NULL;
  if (result) made->result = result;
  ty_settle(made);
  return made;
}

static Ty *copy_node(Copying *s, Ty *t) {
  switch (t->kind) {
    case K_META:
    case K_ERROR: return t;
    case K_DIM:
    case K_TENSOR: return copy_tensor(s, t);
    case K_RIGID: {
      int i = param_index(s, t->var);
      return i < 0 ? t : s->targs[i];
    }
    default: return copy_parts(s, t);
  }
}

typedef struct CopyCall {
  Copying *s;
  Ty *t, *made;
} CopyCall;

static void run_copy(void *call) {
  CopyCall *c = call;
  c->made = copy(c->s, c->t);
}

/* What is shared stays shared: the copy of a node is kept in it for the time of
 * this walk.  A mark tells copies of this walk from those of earlier ones. */
static Ty *copy(Copying *s, Ty *t) {
  t = ty_head(t);
  if (t->closed) return t;
  if (t->mark == s->in->mark && t->copy) return t->copy;
  if (split_is_used_up(&s->in->stack)) {
    CopyCall call = {s, t, s->in->error};
    split_call(&s->in->stack, run_copy, &call);
    return call.made;
  }
  if (!infer_enter(s->in)) return s->in->error;
  Ty *made = copy_node(s, t);
  s->in->depth--;
  t->mark = s->in->mark;
  t->copy = made;
  return made;
}

/* The type itself, for a polymorphic function what it quantifies over.  Its
 * outermost node is copied even if nothing below it changes, since it loses its
 * quantifier. */
static Ty *copy_body(Copying *s, Ty *t) {
  s->in->mark++;
  t = ty_head(t);
  if (!ty_is_poly(t)) return copy(s, t);
  Ty *made = copy_parts(s, t);
  if (made == t) {
    made = ARENA_NEW(s->in->arena, Ty);
    *made = *t;
  }
  made->param_count = 0;
  made->params = NULL;
  ty_settle(made);
  return made;
}

/* A Dim parameter is a slot that starts as a hole and takes what flows in; its
 * place among the type arguments is filled with the unit type, so that the
 * arguments still go by the parameters' indices. */
Ty *ty_instantiate(Infer *in, Ty *t, int count, const TypeVar *const *params,
                   Ty ***targs) {
  Copying s = {.in = in, .count = count, .params = params};
  s.targs = ty_array(in, count);
  s.slots = ARENA_ARRAY(in->arena, Slot *, (size_t)count);
  if (!s.targs || (count > 0 && !s.slots)) return in->error;
  for (int i = 0; i < count; i++) {
    if (params[i]->kind == KIND_DIM) {
      s.slots[i] = slot_new(in, DIM_HOLE, false, SPAN_NONE);
      s.targs[i] = in->unit;
    } else {
      s.targs[i] = ty_meta(in);
    }
  }
  *targs = s.targs;
  return copy_body(&s, t);
}

/* The body of `t` for new parameters like its own; `level` is that of the scope
 * that they may not leave, 0 for none. */
static Ty *rename_params(Infer *in, Ty *t, int level, const TypeVar **params,
                         Ty ***rigid) {
  Copying s = {.in = in, .count = t->param_count, .params = t->params};
  s.targs = ty_array(in, s.count);
  s.slots = ARENA_ARRAY(in->arena, Slot *, (size_t)s.count);
  if (!s.targs || !s.slots) return in->error;
  for (int i = 0; i < s.count; i++) {
    const TypeVar *old = t->params[i];
    params[i] = typevar_new(in->types, old->name, old->span, old->kind);
    if (level)
      ptrmap_put(&in->rigid_levels, params[i], (void *)(uintptr_t)level);
    s.targs[i] = ty_rigid(in, params[i]);
    Dim dim = old->kind == KIND_DIM
                  ? dim_named(types_dims(in->types), old->name, params[i])
                  : DIM_ANY;
    s.slots[i] = slot_new(in, dim, true, old->span);
  }
  *rigid = s.targs;
  return copy_body(&s, t);
}

static const TypeVar **param_array(Infer *in, int count) {
  return ARENA_ARRAY(&in->p->arena, const TypeVar *, (size_t)count);
}

Ty *ty_skolemise(Infer *in, Ty *t, Ty ***rigid) {
  const TypeVar **params = param_array(in, t->param_count);
  if (!params) return in->error;
  return rename_params(in, t, in->level, params, rigid);
}

/* The parameters are renamed without a level: an alias of the literal's type
 * may then stand outside the scope of the literal's own parameters. */
Ty *ty_leave_scope(Infer *in, Ty *t) {
  const TypeVar **params = param_array(in, t->param_count);
  if (!params) return in->error;
  Ty **rigid;
  Ty *body = rename_params(in, t, 0, params, &rigid);
  if (body->kind != K_FN) return body;
  Ty *made = ARENA_NEW(in->arena, Ty);
  *made = *body;
  made->param_count = t->param_count;
  made->params = params;
  made->closed = false;
  return made;
}

/* --- Quantifying --------------------------------------------------------- */

typedef struct Quantify {
  Infer *in;
  VEC(const TypeVar *) params;
} Quantify;

/* A, B, ..., Z, A1, B1, ... */
static const Name *next_name(Infer *in) {
  int n = in->names++;
  const char *text =
      n < 26 ? arena_printf(in->arena, "%c", 'A' + n)
             : arena_printf(in->arena, "%c%d", 'A' + n % 26, n / 26);
  return name_of(in->p->names, text);
}

/* A constraint that has not run may still bind the variable to something; what
 * it gives at one use cannot differ from what it gives at another. */
static bool is_waited_for(const Ty *meta) {
  for (const Link *l = meta->rules; l; l = l->next) {
    const Constraint *c = l->item;
    if (!c->solved && !c->gone) return true;
  }
  return false;
}

static void quantify(Quantify *q, Ty *t);

typedef struct QuantifyCall {
  Quantify *q;
  Ty *t;
} QuantifyCall;

static void run_quantify(void *call) {
  QuantifyCall *c = call;
  quantify(c->q, c->t);
}

/* Binds each variable of a deeper level to a rigid type over a new parameter.
 * Binding it is what quantifies: the type is not copied, and every other type
 * that mentions the variable sees the parameter, too.  Parameters come in the
 * order of their first mention, by which instances are written. */
static void quantify(Quantify *q, Ty *t) {
  Infer *in = q->in;
  if (split_is_used_up(&in->stack)) {
    split_call(&in->stack, run_quantify, &(QuantifyCall){q, t});
    return;
  }
  t = ty_shorten(t);
  if (t->closed || t->mark == in->mark) return;
  t->mark = in->mark;
  if (t->kind == K_META) {
    if (t->level <= in->level || is_waited_for(t)) return;
    TypeVar *var = typevar_new(in->types, next_name(in), SPAN_NONE, KIND_TYPE);
    t->link = ty_rigid(in, var);
    VEC_PUSH(&q->params, var);
    return;
  }
  if (!infer_enter(in)) return;
  for (int i = 0; i < t->count; i++) quantify(q, t->args[i]);
  if (t->kind == K_FN) quantify(q, t->result);
  in->depth--;
}

int ty_generalise(Infer *in, Ty *t, const TypeVar *const **params) {
  Quantify q = {.in = in};
  VEC_INIT(&q.params, in->mem);
  in->mark++;
  in->names = 0;
  quantify(&q, t);
  int count = (int)q.params.len;
  *params = count ? VEC_TO_ARENA(&q.params, &in->p->arena) : NULL;
  VEC_DONE(&q.params);
  return *params ? count : 0;
}

/* --- What is not determined ---------------------------------------------- */

/* A walk to the variables that are not known. */
typedef struct Openness {
  Infer *in;
  bool found;
  uint32_t level; /* to give; 0: none */
} Openness;

/* Stops at nothing, so that all the open variables of a type receive the
 * level. */
static void look(Openness *o, Ty *t) {
  t = ty_shorten(t);
  if (t->closed || t->mark == o->in->mark) return;
  t->mark = o->in->mark;
  if (t->kind == K_META) {
    o->found = true;
    if (o->level) t->level = o->level;
    return;
  }
  if (!infer_enter(o->in)) return;
  for (int i = 0; i < t->count; i++) look(o, t->args[i]);
  if (t->kind == K_FN) look(o, t->result);
  o->in->depth--;
}

bool ty_is_open(Infer *in, Ty *t) {
  Openness o = {.in = in};
  in->mark++;
  look(&o, t);
  return o.found;
}

void ty_keep_open(Infer *in, Ty *t) {
  Openness o = {.in = in, .level = 1};
  in->mark++;
  look(&o, t);
}
