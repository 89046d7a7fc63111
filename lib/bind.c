/* Binds values by name to `param`s and to an entry's parameters.  Every binding
 * is checked before anything runs, and one message lists all that is
 * missing. */
#include <string.h>

#include "bytecode/code.h"
#include "io/npy.h"
#include "lib/handles.h"

/* --- Collecting --------------------------------------------------------- */

static void bind(rly_program *p, Bound b) {
  if (b.name) b.name = arena_strndup(&p->arena, b.name, strlen(b.name));
  if (b.text) b.text = arena_strndup(&p->arena, b.text, strlen(b.text));
  VEC_PUSH(&p->bound, b);
}

static rly_status bind_file(rly_program *p, const char *path) {
  TensorFile *file = tensors_read(p->cx, path);
  if (!file) return program_failed(p, RLY_REFUSED);
  for (size_t i = 0; i < file->tensors.len; i++)
    bind(p, (Bound){.name = file->tensors.data[i].name,
                    .tensor = tensor_keep(file->tensors.data[i].tensor)});
  tensor_file_free(file);
  return RLY_OK;
}

rly_status rly_program_bind_file(rly_program *p, const char *path) {
  if (!path || !program_enter(p)) return RLY_MISUSE;
  rly_status status = bind_file(p, path);
  program_leave(p);
  return status;
}

static rly_status bind_tensor(rly_program *p, const char *name,
                              const Tensor *t) {
  Tensor *view = tensor_view(&p->cx->heap, t, t->rank, t->shape, t->strides, 0);
  if (!view) {
    mem_raise_exhausted(p->mem);
    return program_failed(p, RLY_LIMIT);
  }
  bind(p, (Bound){.name = name, .tensor = view, .strict = true});
  return RLY_OK;
}

rly_status rly_program_bind_tensor(rly_program *p, const char *name,
                                   const rly_tensor *t) {
  if (!name || !t || !p || t->cx != p->cx || !program_enter(p))
    return RLY_MISUSE;
  rly_status status = bind_tensor(p, name, &t->tensor);
  program_leave(p);
  return status;
}

/* The length of NAME in `NAME=VALUE`; 0 for a bare value. */
static size_t name_length(const char *argument) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (!*argument || !strchr(letters, *argument)) return 0;
  size_t n = strspn(argument,
                    "abcdefghijklmnopqrstuvwxyz"
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_/.0123456789");
  return argument[n] == '=' ? n : 0;
}

static rly_status bind_text(rly_program *p, const char *argument) {
  size_t n = name_length(argument);
  Bound b = {.strict = true, .text = argument};
  if (n) {
    b.name = arena_strndup(&p->arena, argument, n);
    b.text = argument + n + 1;
  }
  if (b.text[0] == '@') {
    b.tensor = npy_read(b.text + 1, &p->cx->heap, &p->cx->diags);
    if (!b.tensor) return program_failed(p, RLY_REFUSED);
    b.text = NULL;
  }
  bind(p, b);
  return RLY_OK;
}

rly_status rly_program_bind_text(rly_program *p, const char *argument) {
  if (!argument || !program_enter(p)) return RLY_MISUSE;
  rly_status status = bind_text(p, argument);
  program_leave(p);
  return status;
}

/* --- Looking up --------------------------------------------------------- */

static Bound *find_bound(rly_program *p, const char *name) {
  for (size_t i = p->bound.len; i-- > 0;) {
    Bound *b = &p->bound.data[i];
    if (b->name && !strcmp(b->name, name)) return b;
  }
  return NULL;
}

static bool fits(const Tensor *t, const Type *declared) {
  if (declared->kind != TY_TENSOR || t->dtype != declared->dtype ||
      t->rank != declared->rank)
    return false;
  for (int i = 0; i < t->rank; i++)
    if (dim_is_number(declared->dims[i]) &&
        !dim_is(declared->dims[i], t->shape[i]))
      return false;
  return true;
}

static void report_misfit(rly_program *p, const char *name, const Tensor *t,
                          const Type *declared, Span at) {
  StrBuf given, wanted;
  strbuf_init(&given, p->ir->mem);
  strbuf_init(&wanted, p->ir->mem);
  tensor_print_type(&given, t);
  type_print(p->ir->types, &wanted, declared, 2000);
  Diag *d = diag_error(p->ir->diags, E0504, SPAN_NONE,
                       "`%s` is declared as %s, but the value given is %s",
                       name, strbuf_text(&wanted), strbuf_text(&given));
  if (span_exists(at)) diag_note(d, at, "declared here");
  strbuf_done(&given);
  strbuf_done(&wanted);
}

/* The tensor bound to `name`, converted to the declared type.  NULL after
 * reporting a value that does not fit, and NULL without a report when nothing
 * is bound to the name. */
static const Tensor *bound_tensor(rly_program *p, const char *name,
                                  const Type *declared, Span at) {
  Bound *b = find_bound(p, name);
  if (!b) return NULL;
  DType want =
      declared->kind == TY_TENSOR ? (DType)declared->dtype : DTYPE_NONE;
  if (!b->tensor) b->tensor = literal_read(p, name, b->text, want);
  if (!b->tensor) return NULL;
  if (fits(b->tensor, declared)) return b->tensor;
  report_misfit(p, name, b->tensor, declared, at);
  return NULL;
}

/* --- Params ------------------------------------------------------------- */

/* Collects the missing names for one message. */
typedef struct Missing {
  rly_program *p;
  Diag *diag;
} Missing;

static void report_missing(Missing *m, const char *name, const Type *type,
                           Span span) {
  /* a name may be lost, so any message could be wrong */
  if (mem_exhausted(m->p->ir->mem)) return;
  if (!m->diag)
    m->diag = diag_error(m->p->ir->diags, E0503, SPAN_NONE,
                         "the program needs values that were not given");
  StrBuf text;
  strbuf_init(&text, m->p->ir->mem);
  type_print(m->p->ir->types, &text, type, 200);
  diag_note(m->diag, span, "`%s`: %s", name, strbuf_text(&text));
  strbuf_done(&text);
}

/* Evaluates a param's default.  All sessions share the value. */
static Tensor *default_value(rly_program *p, const Global *g) {
  Session *vm = session_new(p->code, p->mem, limits_of(p->cx),
                            (SessionHooks){0}, p->ir->diags);
  Step step = {.kind = STEP_EXPR, .expr = g->value, .span = g->span};
  Value v;
  Tensor *t = NULL;
  if (vm && session_step(vm, &step, &v) == RUN_OK) {
    t = type_is_scalar(g->type)
            ? tensor_from_bits(p->ir->heap, g->type->dtype, v)
            : tensor_copy(p->ir->heap, v.tensor);
    value_drop(session_store(vm), g->type, v);
  }
  if (vm) session_free(vm);
  else mem_raise_exhausted(p->ir->mem);
  return t;
}

static bool set_param(rly_program *p, const Global *g, const Tensor *t) {
  Value v = type_is_scalar(g->type) ? tensor_bits_at(t, 0)
                                    : (Value){.tensor = (Tensor *)t};
  if (code_bind_param(p->code, g, v)) return true;
  mem_raise_exhausted(p->ir->mem);
  return false;
}

static bool give_param(rly_program *p, const Global *g, Missing *missing) {
  size_t errors = p->ir->diags->errors;
  const Tensor *t = bound_tensor(p, g->name->text, g->type, g->span);
  if (t) return set_param(p, g, t);
  if (p->ir->diags->errors != errors) return false;
  if (!g->value) {
    report_missing(missing, g->name->text, g->type, g->span);
    return false;
  }
  Tensor *made = default_value(p, g);
  if (!made) return false;
  bool ok = set_param(p, g, made);
  tensor_drop(p->ir->heap, made);
  return ok;
}

static bool give_params(rly_program *p, Missing *missing) {
  bool ok = true;
  for (size_t i = p->params_given; i < p->ir->params.len; i++)
    ok &= give_param(p, p->ir->params.data[i], missing);
  if (ok) p->params_given = p->ir->params.len;
  return ok;
}

bool params_complete(rly_program *p) {
  Missing missing = {.p = p};
  return give_params(p, &missing);
}

/* --- An entry's parameters ---------------------------------------------- */

/* Names the values given without a name: they go in order to the entry's
 * parameters that no NAME=VALUE mentions. */
static bool name_positional(rly_program *p, const rly_function *entry) {
  int next = 0, n = rly_function_param_count(entry);
  for (size_t i = 0; i < p->bound.len; i++) {
    Bound *b = &p->bound.data[i];
    if (b->name) continue;
    const char *name = NULL;
    for (; next < n && !name; next++) {
      const char *param = rly_function_param_name(entry, next);
      const Bound *other = find_bound(p, param);
      if (!other || !other->strict) name = param;
    }
    if (!name) {
      diag_error(p->ir->diags, E0505, SPAN_NONE,
                 "more arguments than the entry has parameters (%d)", n);
      return false;
    }
    b->name = name;
  }
  return true;
}

static bool check_entry_type(rly_program *p, const char *name, const Type *type,
                             Span span, Missing *missing) {
  if (type->kind == TY_TUPLE) {
    bool ok = true;
    for (int i = 0; i < type->count; i++)
      ok &= check_entry_type(p, arena_printf(&p->arena, "%s.%d", name, i),
                             type->args[i], span, missing);
    return ok;
  }
  size_t errors = p->ir->diags->errors;
  if (bound_tensor(p, name, type, span)) return true;
  if (p->ir->diags->errors == errors) report_missing(missing, name, type, span);
  return false;
}

/* Does the program have a param of this name, or the entry such a parameter
 * (or, after a dot, a field of one)?  Every name compared is offered to `near`,
 * for "did you mean". */
static bool known_name(rly_program *p, const rly_function *entry,
                       const char *name, Suggestion *near) {
  for (size_t i = 0; i < p->ir->params.len; i++) {
    const char *param = p->ir->params.data[i]->name->text;
    if (!strcmp(param, name)) return true;
    suggestion_offer(near, param);
  }
  size_t stem = strcspn(name, ".");
  for (int i = 0; i < rly_function_param_count(entry); i++) {
    const char *param = rly_function_param_name(entry, i);
    if (!strncmp(param, name, stem) && !param[stem]) return true;
    suggestion_offer(near, param);
  }
  return false;
}

static bool check_names(rly_program *p, const rly_function *entry) {
  bool ok = true;
  for (size_t i = 0; i < p->bound.len; i++) {
    const Bound *b = &p->bound.data[i];
    if (!b->strict || !b->name) continue;
    Suggestion near = suggestion_for(b->name);
    if (known_name(p, entry, b->name, &near)) continue;
    Diag *d = diag_error(p->ir->diags, E0505, SPAN_NONE,
                         "the program has nothing named `%s`", b->name);
    if (near.best) diag_hint(d, "did you mean `%s`?", near.best);
    ok = false;
  }
  return ok;
}

static rly_status check_bindings(rly_program *p, const rly_function *entry) {
  Missing missing = {.p = p};
  bool ok = name_positional(p, entry) && check_names(p, entry);
  ok &= give_params(p, &missing);
  const Global *g = (const Global *)entry;
  for (int i = 0; i < rly_function_param_count(entry); i++)
    ok &=
        check_entry_type(p, rly_function_param_name(entry, i), g->type->args[i],
                         g->value->fn->params[i]->span, &missing);
  return ok ? RLY_OK : program_failed(p, RLY_REFUSED);
}

rly_status rly_program_bindings_check(rly_program *p,
                                      const rly_function *entry) {
  if (!program_enter(p)) return RLY_MISUSE;
  rly_status status = check_bindings(p, entry);
  program_leave(p);
  return status;
}

/* --- Values ------------------------------------------------------------- */

static bool tuple_value(rly_session *s, const char *name, const Type *type,
                        Value *out) {
  Value fields[type->count + 1];
  for (int i = 0; i < type->count; i++) {
    const char *field = arena_printf(&s->program->arena, "%s.%d", name, i);
    if (bound_value(s, field, type->args[i], &fields[i])) continue;
    while (i-- > 0) value_drop(store_of(s), type->args[i], fields[i]);
    return false;
  }
  return value_tuple(store_of(s), type, fields, out);
}

bool bound_value(rly_session *s, const char *name, const Type *type,
                 Value *out) {
  if (type->kind == TY_TUPLE) return tuple_value(s, name, type, out);
  const Tensor *t = bound_tensor(s->program, name, type, SPAN_NONE);
  if (!t) return false;
  if (t->rank == 0) {
    *out = tensor_bits_at(t, 0);
    return true;
  }
  out->tensor =
      tensor_view(&store_of(s)->heap, t, t->rank, t->shape, t->strides, 0);
  if (!out->tensor) mem_raise_exhausted(s->mem);
  return out->tensor != NULL;
}
