/* Types as text, in Relay's own spelling.  Iterative: what is still to be
 * written waits on a stack, so neither the depth of a type nor its size as a
 * tree matters when there is a limit. */
#include <limits.h>

#include "ir/program.h"

/* A piece of text, or a type, that is still to be written. */
typedef struct Pending {
  const char *text; /* when `type` is NULL */
  const Type *type;
  int levels; /* of the type that are shown */
} Pending;

typedef struct Printer {
  const TypeTable *types;
  StrBuf *out;
  VEC(Pending) stack; /* next on top */
  int levels;         /* within the type at hand that are shown */
} Printer;

static void later_text(Printer *p, const char *text) {
  VEC_PUSH(&p->stack, (Pending){.text = text});
}

static void later_type(Printer *p, const Type *t) {
  VEC_PUSH(&p->stack, (Pending){.type = t, .levels = p->levels});
}

/* `open`, the types separated by commas, `close`; put on the stack. */
static void later_list(Printer *p, const char *open, int count,
                       const Type *const *types, const char *close) {
  later_text(p, close);
  for (int i = count - 1; i >= 0; i--) {
    later_type(p, types[i]);
    if (i > 0) later_text(p, ", ");
  }
  later_text(p, open);
}

static void print_tensor(Printer *p, const Type *t) {
  if (t->rank == 0) {
    strbuf_add(p->out, dtype_name(t->dtype));
    return;
  }
  strbuf_add(p->out, "Tensor[");
  if (t->any_rank) strbuf_add_char(p->out, '?');
  else dims_print(types_dims((TypeTable *)p->types), p->out, t->rank, t->dims);
  strbuf_addf(p->out, ", %s]", dtype_name(t->dtype));
}

static void print_params(Printer *p, const Type *fn) {
  for (int i = 0; i < fn->param_count; i++) {
    const TypeVar *v = fn->params[i];
    const char *kind = kind_info[v->kind].word;
    strbuf_addf(p->out, "%s%s%s%s", i ? ", " : "[", v->name->text,
                *kind ? ": " : "", kind);
  }
  if (fn->param_count > 0) strbuf_add_char(p->out, ']');
}

/* Layer[(2, n), float32]: an instance as its text names it.  From the last
 * argument to the first, as the stack wants them; `at` counts down the
 * instance's own arguments. */
static void later_instance(Printer *p, const Type *t) {
  const Adt *generic = t->adt->instance_of;
  int at = t->count;
  later_text(p, "]");
  for (int i = generic->param_count - 1; i >= 0; i--) {
    const KindArg *arg = &t->adt->kind_args[i];
    const KindInfo *kind = &kind_info[generic->params[i]->kind];
    if (kind->member) later_text(p, dtype_name(arg->dtype));
    if (kind->solve == SOLVE_INSTANCE && !kind->member) {
      at -= arg->rank;
      later_list(p, "(", arg->rank, t->args + at, ")");
    }
    if (kind->solve != SOLVE_INSTANCE) later_type(p, t->args[--at]);
    if (i > 0) later_text(p, ", ");
  }
  later_text(p, "[");
}

static void print_fn(Printer *p, const Type *fn) {
  strbuf_add(p->out, "fn ");
  print_params(p, fn);
  later_type(p, fn->result);
  later_list(p, "(", fn->count, fn->args, ") -> ");
}

/* Writes the head of a type and puts its parts on the stack.  A type's text is
 * written as far as its first part; the rest is pushed from the last to the
 * first. */
static void print_node(Printer *p, const Type *t) {
  switch (t->kind) {
    case TY_TENSOR: print_tensor(p, t); break;
    case TY_TUPLE:
      later_list(p, "(", t->count, t->args, t->count == 1 ? ",)" : ")");
      break;
    case TY_FN: print_fn(p, t); break;
    case TY_REF: later_list(p, "ref(", t->count, t->args, ")"); break;
    case TY_ADT:
      strbuf_add(p->out, t->adt->name->text);
      if (t->adt->instance_of) later_instance(p, t);
      else later_list(p, "[", t->count, t->args, "]");
      break;
    case TY_VAR: strbuf_add(p->out, t->var->name->text); break;
    case TY_DIM:
      dim_print(types_dims((TypeTable *)p->types), p->out, t->dims[0]);
      break;
    case TY_ERROR:
    case TY_META: strbuf_add_char(p->out, '_'); break;
  }
}

void type_text_elide(StrBuf *out, size_t limit) {
  while (out->len > limit) out->data[--out->len] = '\0';
  strbuf_add(out, "...");
}

static void print_within(const TypeTable *t, StrBuf *out, const Type *type,
                         size_t limit, int levels) {
  Printer p = {.types = t, .out = out, .levels = levels};
  VEC_INIT(&p.stack, types_mem(t));
  later_type(&p, type);
  size_t end = limit ? out->len + limit : SIZE_MAX;
  while (p.stack.len > 0 && out->len <= end && !mem_exhausted(out->mem)) {
    Pending next = VEC_POP(&p.stack);
    p.levels = next.levels - 1;
    if (!next.type) strbuf_add(out, next.text);
    else if (next.levels > 0) print_node(&p, next.type);
    else strbuf_add(out, "...");
  }
  if (out->len > end) type_text_elide(out, end);
  VEC_DONE(&p.stack);
}

void type_print(const TypeTable *t, StrBuf *out, const Type *type,
                size_t limit) {
  print_within(t, out, type, limit, INT_MAX);
}

void type_print_brief(const TypeTable *t, StrBuf *out, const Type *type) {
  print_within(t, out, type, TYPE_BRIEF_MOST, TYPE_LEVELS_SHOWN);
}
