/* What the steps of a program depend on.
 *
 *   def @f(%x) { %x + 1 }       text, which the keys of its users have
 *   let %a = @f(1);             key: this text and that of @f
 *   let %c = ref(0);            key: this text
 *   ref_write(%c, %a);          key: this text, the keys of %a and %c
 *   ref_read(%c);               key: this text, the key of %c, and that of the
 *                               write, the step before of the same cells
 *
 * A step reaches what it names, what the definitions name that it reaches, and
 * so on.  Of definitions the texts are compared, with all that stands in them.
 * Values are not followed: the key of a value's step stands for them.
 *
 * Cells are reached through values alone.  So the values whose types may hold a
 * cell, or a function, which may have captured one, fall into classes: a step
 * that reaches two of them joins their classes, and with them the class of its
 * own value (union-find).  A step that may read, write or show a cell comes
 * after the step before it that may do so with a cell of the same class.
 *
 * What decides about all steps alike is in the key of each: the values bound to
 * params, aliases of types, gradients and rules of the text.  The call of the
 * entry comes last, and its key has its arguments. */
#include <string.h>

#include "base/hash.h"
#include "ir/walk.h"
#include "lib/depends.h"
#include "types/types.h"

typedef struct Finder {
  rly_session *session;
  Program *ir;
  const Global *entry; /* is called after the values; or NULL */
  Depends *d;
  PtrMap items;   /* the first byte of a name -> its Item */
  PtrMap step_of; /* a Global -> 1 + the number of the step of its value */
  VEC(int) root;  /* by step: one nearer to the root of its class, or itself */
  VEC(bool) touches; /* by step: may it read, write or show a cell? */
  uint64_t common;
  uint64_t arguments; /* a hash of what is bound to the entry's parameters */
  /* Of the step at hand: */
  int at;
  PtrMap seen; /* what it has reached */
  VEC(const Expr *) todo;
  uint64_t hash;
  bool unknown; /* it reaches what has no text */
} Finder;

/* --- Texts ---------------------------------------------------------------- */

static const void *first_byte(Span name) {
  return (const void *)(uintptr_t)name.lo;
}

static uint64_t add_text(const Finder *f, uint64_t hash, Span span) {
  uint32_t len;
  const char *text = sources_text(f->ir->sources, span, &len);
  return hash_add_word(hash_add(hash, text, len), len);
}

static bool first_time(Finder *f, const void *what) {
  if (ptrmap_has(&f->seen, what)) return false;
  ptrmap_put(&f->seen, what, f);
  return true;
}

/* A text that the key of the step at hand is a hash of. */
static void add_to_key(Finder *f, Span text) {
  f->hash = add_text(f, f->hash, text);
  VEC_PUSH(&f->d->steps.data[f->at].texts, text);
}

/* The text in which the name stands is the definition's. */
static void add_definition(Finder *f, Span name) {
  const Item *item = ptrmap_get(&f->items, first_byte(name));
  if (item) add_to_key(f, item->span);
  else f->unknown = true;
}

/* --- Classes of cells ----------------------------------------------------- */

static int root_of(Finder *f, int i) {
  int *root = f->root.data;
  while (root[i] != i) i = root[i] = root[root[i]];
  return i;
}

/* --- What a step reaches -------------------------------------------------- */

static void reach_type(Finder *f, const Type *t) {
  if (!t || !first_time(f, t)) return;
  for (int i = 0; i < t->count; i++) reach_type(f, t->args[i]);
  if (t->kind == TY_FN) reach_type(f, t->result);
  if (t->kind != TY_ADT) return;
  const Adt *adt = adt_of_text(t->adt);
  if (adt->library || adt->literals || !first_time(f, adt)) return;
  add_definition(f, adt->span);
  for (int i = 0; i < t->adt->ctor_count; i++)
    for (int k = 0; k < t->adt->ctors[i].field_count; k++)
      if (t->adt->ctors[i].fields) reach_type(f, t->adt->ctors[i].fields[k]);
}

/* A value that is evaluated later, as values that are joined by `and` may be,
 * has no key yet: its text is followed as a function's is. */
static void reach_value(Finder *f, const Global *g, int step) {
  StepNeeds *needs = &f->d->steps.data[f->at];
  VEC_PUSH(&needs->values, step);
  if (!type_is_data(g->type, f->d->mem))
    f->root.data[root_of(f, step)] = root_of(f, f->at);
  if (step < f->at) return;
  add_definition(f, g->span);
  if (g->value) VEC_PUSH(&f->todo, g->value);
}

static void reach_global(Finder *f, const Global *g) {
  if (g->library || !first_time(f, g)) return;
  uintptr_t step = (uintptr_t)ptrmap_get(&f->step_of, g);
  if (step) {
    if ((int)step - 1 != f->at) reach_value(f, g, (int)step - 1);
    return;
  }
  add_definition(f, g->span);
  const Expr *body = global_body(g);
  if (body) VEC_PUSH(&f->todo, body);
}

static void reach_from(Finder *f, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, f->d->mem, WALK_ENTER, root);
  while (expr_walk_next(&w)) {
    reach_type(f, w.at->type);
    if (w.at->kind == EX_GLOBAL) reach_global(f, w.at->g.global);
  }
  expr_walk_end(&w);
}

/* Results that hold cells are shown with what the cells hold. */
static bool may_touch(const Finder *f, const Step *step) {
  enum {
    TOUCH =
        EFFECT_READ | EFFECT_WRITE | EFFECT_ALLOC | EFFECT_PRINT | EFFECT_PARAM
  };
  return (expr_effects(f->ir, step->expr) & TOUCH) ||
         !type_is_data(step->expr->type, f->d->mem);
}

static void reach_step(Finder *f, const Step *step) {
  add_to_key(f, step->span);
  VEC_PUSH(&f->todo, step->expr);
  VEC_PUSH(&f->touches, may_touch(f, step));
}

/* The call of any entry counts as one that touches cells. */
static void reach_entry(Finder *f) {
  f->unknown |= f->entry->library;
  f->hash = hash_add_word(f->hash, f->arguments);
  reach_global(f, f->entry);
  VEC_PUSH(&f->touches, true);
}

static void reach(Finder *f, int at) {
  const Step *step = f->d->steps.data[at].step;
  StrBuf type;
  strbuf_init(&type, f->d->mem);
  type_print(f->ir->types, &type, step ? step->expr->type : f->entry->type,
             TYPE_TEXT_MOST);
  ptrmap_init(&f->seen, f->d->mem);
  f->at = at;
  f->hash = hash_add(f->common, strbuf_text(&type), type.len);
  if (step) reach_step(f, step);
  else reach_entry(f);
  while (f->todo.len) reach_from(f, VEC_POP(&f->todo));
  f->d->steps.data[at].key = f->hash;
  ptrmap_done(&f->seen);
  strbuf_done(&type);
}

/* --- Keys ----------------------------------------------------------------- */

/* The classes are whole now.  `last` has the last step of each, by its root. */
static void make_key(Finder *f, int at, int *last) {
  StepNeeds *needs = &f->d->steps.data[at];
  needs->family = root_of(f, at);
  for (size_t i = 0; i < needs->values.len; i++) {
    int value = needs->values.data[i];
    if (value < at)
      needs->key = hash_add_word(needs->key, f->d->steps.data[value].key);
  }
  if (!f->touches.data[at]) return;
  needs->before = last[needs->family];
  if (needs->before != NO_STEP)
    needs->key = hash_add_word(needs->key, f->d->steps.data[needs->before].key);
  last[needs->family] = at;
}

static void make_keys(Finder *f) {
  size_t n = f->d->steps.len;
  VEC(int) last;
  VEC_INIT(&last, f->d->mem);
  for (size_t i = 0; i < n; i++) VEC_PUSH(&last, NO_STEP);
  for (size_t i = 0; i < n && last.len == n; i++)
    make_key(f, (int)i, last.data);
  VEC_DONE(&last);
}

/* --- What all depend on --------------------------------------------------- */

static void add_word(Finder *f, uint64_t word) {
  f->common = hash_add_word(f->common, word);
}

static uint64_t add_string(uint64_t hash, const char *text) {
  hash = hash_add(hash, text, text ? strlen(text) + 1 : 0);
  return hash_add_word(hash, text != NULL);
}

static uint64_t add_tensor(Finder *f, uint64_t hash, Tensor *t) {
  Heap *heap = &store_of(f->session)->heap;
  Tensor *whole = tensor_contiguous(heap, t);
  hash = hash_add_word(hash, (uint64_t)t->dtype);
  for (int i = 0; i < t->rank; i++)
    hash = hash_add_word(hash, (uint64_t)t->shape[i]);
  if (!whole) f->unknown = true;
  if (whole) hash = hash_add(hash, whole->data, tensor_bytes(whole));
  if (whole) tensor_drop(heap, whole);
  return hash;
}

/* Is it an argument of the entry, and for no param?  What is bound to a param,
 * or to a part of one, has a name that begins with the param's. */
static bool is_argument(const Finder *f, const Bound *b) {
  const rly_function *entry = (const rly_function *)f->entry;
  for (size_t i = 0; i < f->ir->params.len; i++) {
    const Name *param = f->ir->params.data[i]->name;
    if (!strncmp(b->name, param->text, param->len)) return false;
  }
  for (int i = 0; entry && i < rly_function_param_count(entry); i++)
    if (!strcmp(rly_function_param_name(entry, i), b->name)) return true;
  return false;
}

static void add_bound(Finder *f, const Bound *b) {
  uint64_t *hash = b->name && is_argument(f, b) ? &f->arguments : &f->common;
  *hash = add_string(add_string(*hash, b->name), b->text);
  if (b->tensor) *hash = add_tensor(f, *hash, b->tensor);
}

static void add_item(Finder *f, const Item *item) {
  bool type = item->kind == ITEM_TYPE;
  if (item->kind == ITEM_GRADIENT || item->kind == ITEM_RULE ||
      (type && item->adt->meaning))
    f->common = add_text(f, f->common, item->span);
  if (type || item->name)
    ptrmap_put(&f->items, first_byte(type ? item->adt->span : item->name_span),
               (void *)item);
}

static void add_step(Finder *f, const Step *step) {
  StepNeeds needs = {.step = step, .before = NO_STEP};
  VEC_INIT(&needs.texts, f->d->mem);
  VEC_INIT(&needs.values, f->d->mem);
  VEC_PUSH(&f->root, (int)f->d->steps.len);
  VEC_PUSH(&f->d->steps, needs);
}

static void add_unit(Finder *f, const Unit *u) {
  for (int i = 0; u->source && !u->source->library && i < u->item_count; i++)
    add_item(f, &u->items[i]);
  for (int i = 0; i < u->step_count; i++) {
    const Step *step = &u->steps[i];
    if (f->entry && step->kind == STEP_EXPR) continue;
    add_step(f, step);
    if (step->global && !step->global->param_count)
      ptrmap_put(&f->step_of, step->global, (void *)(uintptr_t)f->d->steps.len);
  }
}

static void find_common(Finder *f, bool cells) {
  const rly_program *p = f->session->program;
  f->arguments = HASH_EMPTY;
  f->common = add_string(HASH_EMPTY, rly_version());
  add_word(f, (uint64_t)f->session->options.width);
  add_word(f, f->ir->float64);
  add_word(f, f->ir->loose);
  add_word(f, cells);
  for (size_t i = 0; i < p->bound.len; i++) add_bound(f, &p->bound.data[i]);
  for (const Unit *u = f->ir->units; u; u = u->next) add_unit(f, u);
  if (f->entry) add_step(f, NULL);
}

bool depends_find(rly_session *s, const Global *entry, bool cells, Depends *d) {
  Program *ir = s->program->ir;
  Finder f = {.session = s, .ir = ir, .entry = entry, .d = d};
  *d = (Depends){.mem = s->mem};
  VEC_INIT(&d->steps, d->mem);
  VEC_INIT(&f.root, d->mem);
  VEC_INIT(&f.touches, d->mem);
  VEC_INIT(&f.todo, d->mem);
  ptrmap_init(&f.items, d->mem);
  ptrmap_init(&f.step_of, d->mem);
  find_common(&f, cells);
  for (size_t i = 0; i < d->steps.len && !mem_exhausted(d->mem); i++)
    reach(&f, (int)i);
  bool known = !f.unknown && !ir->hosts && !mem_exhausted(d->mem);
  if (known) make_keys(&f);
  VEC_DONE(&f.root);
  VEC_DONE(&f.touches);
  VEC_DONE(&f.todo);
  ptrmap_done(&f.items);
  ptrmap_done(&f.step_of);
  return known;
}

void depends_done(Depends *d) {
  for (size_t i = 0; i < d->steps.len; i++) {
    VEC_DONE(&d->steps.data[i].texts);
    VEC_DONE(&d->steps.data[i].values);
  }
  VEC_DONE(&d->steps);
}

/* --- Demand --------------------------------------------------------------- */

typedef VEC(int) Steps;

static void demand_run(Steps *todo, StepPlan *plan, int step) {
  if (step == NO_STEP || plan[step] == PLAN_RUN) return;
  plan[step] = PLAN_RUN;
  VEC_PUSH(todo, step);
}

static void demand_value(Steps *todo, StepPlan *plan, int step) {
  if (plan[step] == PLAN_HAVE) plan[step] = PLAN_FETCH;
  if (plan[step] == PLAN_SAY) demand_run(todo, plan, step);
}

void depends_demand(const Depends *d, StepPlan *plan) {
  Steps todo;
  VEC_INIT(&todo, d->mem);
  for (size_t i = 0; i < d->steps.len; i++)
    if (plan[i] == PLAN_RUN) VEC_PUSH(&todo, (int)i);
  while (todo.len) {
    const StepNeeds *needs = &d->steps.data[VEC_POP(&todo)];
    demand_run(&todo, plan, needs->before);
    for (size_t i = 0; i < needs->values.len; i++)
      demand_value(&todo, plan, needs->values.data[i]);
  }
  VEC_DONE(&todo);
}
