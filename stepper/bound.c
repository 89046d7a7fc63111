/* Finds what a step binds to a name: lets, graph nodes, definitions. */
#include "stepper/inside.h"

#include "tensor/facts.h"

typedef struct Bounds {
  Stepper *s;
  const StepEntry *e;
  void (*visit)(void *data, const StepBound *b);
  void *data;
} Bounds;

static void tell(Bounds *w, StepBound b) {
  const SourceFile *f = sources_file(w->s->program->sources, b.span);
  b.library = f && f->library;
  w->visit(w->data, &b);
}

static void tell_let(Bounds *w) {
  const StepObj *frame = w->e->redex.frames;
  const Binding *b = &frame->expr->block->bindings[frame->index];
  tell(w, (StepBound){.sigil = "%",
                      .name = b->var->name->text,
                      .type = b->var->type,
                      .value = w->e->redex.value,
                      .depth = frame->depth,
                      .span = b->span});
}

static void tell_definition(Bounds *w) {
  const StepObj *frame = w->e->redex.frames;
  const Global *g = frame->global;
  tell(w, (StepBound){.sigil = global_sigil(g),
                      .name = g->name->text,
                      .type = g->type,
                      .value = w->e->redex.value,
                      .depth = frame->depth,
                      .span = g->span});
}

/* Reports the delayed graph nodes that this step gave their values. */
static void tell_nodes(Bounds *w) {
  const StepMachine *m = w->s->machine;
  size_t from = m->entry > 1 ? m->entries.data[m->entry - 2].changes : 0;
  for (size_t i = from; i < w->e->changes; i++) {
    const StepChange *c = &m->changes.data[i];
    if (!c->of || c->of->kind != V_PROMISE) continue;
    const Binding *b = ptrmap_get(&w->s->delayed, c->of->expr);
    if (!b) continue;
    tell(w, (StepBound){.sigil = "%",
                        .name = b->var->name->text,
                        .type = b->var->type,
                        .value = c->is,
                        .depth = w->e->low + 1,
                        .span = b->span});
  }
}

void stepper_each_bound(Stepper *s,
                        void (*visit)(void *data, const StepBound *b),
                        void *data) {
  Bounds w = {s, stepper_entry(s), visit, data};
  if (!w.e) return;
  tell_nodes(&w);
  if (w.e->outcome != STEP_RULE) return;
  if (w.e->rule == REDUCE_LET) tell_let(&w);
  if (w.e->rule == REDUCE_DEFINE) tell_definition(&w);
  if (w.e->rule != REDUCE_DELAY) return;
  /* A delayed graph node is reported when it has its value. */
  const Binding *b = &w.e->redex.expr->block->bindings[w.e->redex.at];
  ptrmap_put(&s->delayed, b->value, (void *)b);
}

uint32_t stepper_low(const Stepper *s) { return stepper_entry(s)->low; }

uint32_t stepper_depth(const Stepper *s) {
  const StepObj *top = stepper_entry(s)->after.frames;
  return top ? top->depth : 0;
}

/* --- As text ------------------------------------------------------------ */

enum { BRIEF_WIDTH = 40, TYPE_WIDTH = 100000 };

static const Tensor *as_tensor(const StepObj *v) {
  return v->kind == V_TENSOR && v->tensor->rank > 0 ? v->tensor : NULL;
}

/* Adds the elements, unless they do not fit on a line. */
static void add_brief(Stepper *s, StrBuf *out, const StepObj *v) {
  size_t len = out->len;
  strbuf_add(out, " = ");
  size_t from = out->len;
  if (v->kind == V_CELL) {
    strbuf_add(out, "ref(");
    brief_value(s, out, v->fields[CONTENT], BRIEF_WIDTH);
    strbuf_add_char(out, ')');
    return;
  }
  brief_value(s, out, v, BRIEF_WIDTH);
  bool type = from < out->len && out->data[from] == 'T';
  if (as_tensor(v) && type) brief_cut(out, len);
}

void stepper_print_bound(Stepper *s, const StepBound *b, StrBuf *out) {
  const Tensor *t = as_tensor(b->value);
  strbuf_addf(out, "%s%s : ", b->sigil, b->name);
  if (t) tensor_print_type(out, t);
  else type_print(s->program->types, out, b->type, TYPE_WIDTH);
  if (b->value->kind != V_CLOSURE) add_brief(s, out, b->value);
  if (!t) return;
  strbuf_add(out, "  ");
  tensor_print_facts(out, t);
}
