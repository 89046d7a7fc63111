/* A function as a model: its parameters are the inputs of the graph, what it
 * gives is the outputs. */
#include "export/exporter.h"

static const char *dim_text(Export *x, Dim d) {
  StrBuf b;
  strbuf_init(&b, x->mem);
  dim_print(types_dims(x->p->types), &b, d);
  const char *text = arena_strndup(x->arena, strbuf_text(&b), b.len);
  strbuf_done(&b);
  return text;
}

OnnxValueType value_type(Export *x, const Type *t) {
  OnnxValueType v = {0};
  const Type *inner = option_element(x, t);
  v.optional = inner != NULL;
  if (inner) t = inner;
  inner = list_element(x, t);
  v.sequence = inner != NULL;
  if (inner) t = inner;
  v.dtype = (DType)t->dtype;
  v.any_rank = t->any_rank;
  v.rank = t->any_rank ? 0 : t->rank;
  int64_t *dims = ARENA_ARRAY(x->arena, int64_t, (size_t)v.rank + 1);
  const char **params = ARENA_ARRAY(x->arena, const char *, (size_t)v.rank + 1);
  for (int i = 0; dims && params && i < v.rank; i++) {
    Dim d = t->dims[i];
    dims[i] = dim_is_number(d) ? dim_value(d) : -1;
    params[i] = dim_is_form(d) ? dim_text(x, d) : NULL;
  }
  v.dims = dims;
  v.params = params;
  return v;
}

static bool is_port(Export *x, const Type *t) {
  return t->kind == TY_TENSOR || list_element(x, t) || option_element(x, t);
}

/* A tuple or a record is as many inputs as it has tensors in it, named by the
 * way there: %state.1. */
static Val *input(Export *x, const Type *t, const char *name, Span at) {
  if (is_port(x, t)) {
    Val *v = val_tensor(x, t, onnx_name(x->w, name));
    OnnxValueType type = value_type(x, t);
    onnx_graph_input(x->w, x->root, v->name, &type);
    return v;
  }
  bool record = t->kind == TY_ADT && t->adt->ctor_count == 1;
  if (t->kind != TY_TUPLE && !record)
    return refuse(x, at,
                  "an input is a tensor, a list or an Option of tensors, or a "
                  "tuple or record of them");
  const Ctor *ctor = record ? &t->adt->ctors[0] : NULL;
  int count = record ? ctor->field_count : t->count;
  Val **items = ARENA_ARRAY(x->arena, Val *, (size_t)count + 1);
  for (int i = 0; items && i < count; i++) {
    const Type *part =
        record ? type_substitute(x->p->types, ctor->fields[i], t->count,
                                 t->adt->params, t->args, NULL)
               : t->args[i];
    const char *label =
        record && ctor->labels
            ? arena_printf(x->arena, "%s.%s", name, ctor->labels[i].name->text)
            : arena_printf(x->arena, "%s.%d", name, i);
    if (!(items[i] = input(x, part, label, at))) return NULL;
  }
  Val *v = val_tuple(x, t, count, items);
  if (record) v->kind = VAL_DATA;
  v->ctor = ctor;
  return v;
}

static bool inputs(Export *x, const Fn *fn) {
  Frame *f = frame_new(x, NULL);
  f->fn = fn;
  x->frame = f;
  for (int i = 0; i < fn->param_count; i++) {
    const Var *var = fn->params[i];
    Val *v = input(x, var->type, var->name->text, var->span);
    if (!v) return false;
    frame_bind(x, f, var, v);
  }
  return true;
}

/* What is known of an output's type by its value, or where that leaves the rank
 * open, by the function's own. */
static const Type *output_type(const Val *v, const Type *declared) {
  bool better = v->type->kind == TY_TENSOR && v->type->any_rank && declared &&
                declared->kind == TY_TENSOR;
  return better ? declared : v->type;
}

static const Type *result_part(const Type *result, size_t count, size_t i) {
  if (count == 1 && result->kind == TY_TENSOR) return result;
  bool parts = result->kind == TY_TUPLE && (size_t)result->count == count;
  return parts ? result->args[i] : NULL;
}

/* The value of the body; the frame at hand has the parameters. */
static Val *result_of(Export *x, const Global *entry) {
  const Fn *fn = entry->value->fn;
  const Circle *circle = circle_of(x, entry, NULL, NULL);
  if (circle)
    return circle_call(x, circle, NULL, frame_args(x, x->frame, fn), fn->body);
  Self self = {.global = entry};
  return fn_mentions(x, fn, &self) ? loop_call(x, fn, &self, x->frame, fn->body)
                                   : eval(x, fn->body);
}

static bool outputs(Export *x, const Global *entry) {
  const Fn *fn = entry->value->fn;
  const Type *result = entry->type->result;
  Val *v = result_of(x, entry);
  Vals parts;
  VEC_INIT(&parts, x->mem);
  bool fine = v && val_flatten(x, v, &parts, fn->body->span);
  for (size_t i = 0; fine && i < parts.len; i++) {
    Val *part = parts.data[i];
    const Type *declared = result_part(result, parts.len, i);
    OnnxValueType type = value_type(x, output_type(part, declared));
    x->hint = "y";
    fine = graph_gives(x, x->root, part, &type);
  }
  VEC_DONE(&parts);
  return fine;
}

bool program_export(Program *p, const Global *entry, const ExportWish *wish,
                    const char *path) {
  const Expr *body = entry->value;
  if (!body || body->kind != EX_FN) {
    Diag *d =
        diag_error(p->diags, E0809, entry->span,
                   "`@%s` has no one type, and a graph has", entry->name->text);
    diag_hint(d, "write a function of that type which calls it");
    return false;
  }
  Export x = {.p = p, .mem = p->mem, .wish = wish};
  x.w = onnx_writer_new(p->mem, p->diags, wish->opset);
  if (!x.w) return mem_raise_exhausted(p->mem), false;
  x.arena = &x.w->arena;
  x.root = x.graph = onnx_graph_new(x.w, entry->name->text);
  ptrmap_init(&x.globals, x.mem);
  ptrmap_init(&x.given, x.mem);
  ptrmap_init(&x.circles, x.mem);
  VEC_INIT(&x.frames, x.mem);
  split_start(&x.stack, x.mem);
  bool fine = inputs(&x, body->fn) && outputs(&x, entry);
  split_end(&x.stack);
  fine = fine && !mem_exhausted(x.mem) &&
         onnx_model_write(x.w, x.root, &(OnnxWish){wish->external}, path);
  for (size_t i = 0; i < x.frames.len; i++)
    ptrmap_done(&x.frames.data[i]->vars);
  VEC_DONE(&x.frames);
  ptrmap_done(&x.circles);
  ptrmap_done(&x.given);
  ptrmap_done(&x.globals);
  onnx_writer_free(x.w);
  return fine;
}
