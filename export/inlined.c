/* Calls of the library's functions for ONNX's operators (stdlib/onnx/), which
 * import writes: each is the node again that it was made of, by the row of
 * onnx/ops.def that made it.  The checker has put the function's body in the
 * place of the call; where no row says the call, the body is evaluated. */
#include <string.h>

#include "export/say.h"

/* An import's call, to be a node again. */
typedef struct Inlined {
  Export *x;
  const Expr *e;
  const Fn *fn; /* its declaration */
  Frame *frame; /* with its parameters */
  const OnnxOp *row;
  OnnxNode *node;
} Inlined;

static const Binding *parameter(const Inlined *in, const char *name) {
  const Block *b = in->e->block;
  for (int i = 0; i < b->count; i++)
    if (b->bindings[i].var && !strcmp(b->bindings[i].var->name->text, name))
      return &b->bindings[i];
  return NULL;
}

static Val *parameter_value(const Inlined *in, const Binding *b) {
  Frame *outer = in->x->frame;
  const char *hint = in->x->hint;
  in->x->frame = in->frame;
  Val *v = frame_value(in->x, b->var, in->e->span);
  in->x->hint = hint;
  in->x->frame = outer;
  return v;
}

static bool starts_float(const Inlined *in, const char *name) {
  for (int i = 0; i < in->fn->attr_count; i++)
    if (!strcmp(in->fn->attrs[i].name->text, name))
      return in->fn->attrs[i].value->kind == AX_FLOAT;
  return false;
}

static const char *text_of(Export *x, const Tensor *t) {
  StrBuf b;
  strbuf_init(&b, x->mem);
  for (int64_t i = 0, n = tensor_count(t); i < n; i++)
    strbuf_add_char(&b, (char)tensor_i64_at(t, i));
  const char *text = arena_strndup(x->arena, strbuf_text(&b), b.len);
  strbuf_done(&b);
  return text;
}

static const char *mode_text(int64_t mode) {
  static const char *const modes[] = {ONNX_TREE_MODES};
  int count = sizeof modes / sizeof *modes;
  return mode >= 0 && mode < count ? modes[mode] : "LEAF";
}

static void put_list(const Inlined *in, const OnnxAttrWord *w,
                     const Tensor *t) {
  Export *x = in->x;
  int count = (int)tensor_count(t);
  if (w->flag == '~') {
    const char **texts = ARENA_ARRAY(x->arena, const char *, (size_t)count + 1);
    for (int i = 0; texts && i < count; i++)
      texts[i] = mode_text(tensor_i64_at(t, i));
    if (texts) onnx_attr_texts(x->w, in->node, w->theirs, count, texts);
  } else if (dtype_is_float((DType)t->dtype)) {
    float *floats = ARENA_ARRAY(x->arena, float, (size_t)count + 1);
    for (int i = 0; floats && i < count; i++)
      floats[i] = (float)tensor_f64_at(t, i);
    if (floats) onnx_attr_floats(x->w, in->node, w->theirs, count, floats);
  } else {
    int64_t *ints = ARENA_ARRAY(x->arena, int64_t, (size_t)count + 1);
    for (int i = 0; ints && i < count; i++) ints[i] = tensor_i64_at(t, i);
    if (ints) onnx_attr_ints(x->w, in->node, w->theirs, count, ints);
  }
}

/* The kind of the attribute follows from the value, as on import the value from
 * the kind (onnx/call.c). */
static void put_constant(const Inlined *in, const OnnxAttrWord *w,
                         const Tensor *t) {
  Export *x = in->x;
  DType dtype = (DType)t->dtype;
  if (w->flag == '!')
    onnx_attr_int(x->w, in->node, w->theirs, onnx_dtype_number(dtype));
  else if (w->flag == '^' || t->rank > 1)
    onnx_attr_tensor(x->w, in->node, w->theirs, t);
  else if (dtype == DT_UINT8 && t->rank == 1)
    onnx_attr_text(x->w, in->node, w->theirs, text_of(x, t));
  else if (t->rank == 1) put_list(in, w, t);
  else if (dtype_is_float(dtype) || starts_float(in, w->ours))
    onnx_attr_float(x->w, in->node, w->theirs, tensor_f64_at(t, 0));
  else onnx_attr_int(x->w, in->node, w->theirs, tensor_i64_at(t, 0));
}

static bool put_texts(const Inlined *in, const OnnxAttrWord *w, const Val *v) {
  Export *x = in->x;
  size_t count = (size_t)v->count;
  const char **texts = ARENA_ARRAY(x->arena, const char *, count + 1);
  for (int i = 0; texts && i < v->count; i++) {
    if (!v->items[i]->constant) return false;
    texts[i] = text_of(x, v->items[i]->constant);
  }
  if (texts) onnx_attr_texts(x->w, in->node, w->theirs, v->count, texts);
  return true;
}

/* The next parameter by position, `*at` of them being taken. */
static const Binding *positional(const Inlined *in, int *at) {
  if (*at >= in->fn->param_count) return NULL;
  return parameter(in, in->fn->params[(*at)++]->name->text);
}

/* The inputs, each a value or NULL for one that is left out.  False: this call
 * is none that the row makes. */
static bool inlined_inputs(const Inlined *in, int *taken, Vals *out) {
  const char *at = in->row->inputs;
  while (*(at += strspn(at, " "))) {
    size_t len = strcspn(at, " ");
    bool optional = *at == '?';
    const char *name =
        arena_strndup(in->x->arena, at + optional, len - (size_t)optional);
    char end = at[len - 1];
    at += len;
    const Binding *b = optional ? parameter(in, name) : positional(in, taken);
    if (!b || end == '+') return false;
    if (optional && b->sugar == SUGAR_DEFAULT) {
      VEC_PUSH(out, NULL);
      continue;
    }
    Val *v = parameter_value(in, b);
    if (!v) return false;
    while (end == ']' && v->kind == VAL_DATA && v->count == 2) {
      VEC_PUSH(out, v->items[0]);
      v = v->items[1];
    }
    if (end == ']') return v->kind == VAL_DATA;
    if (v->kind != VAL_TUPLE) VEC_PUSH(out, v);
    for (int i = 0; v->kind == VAL_TUPLE && i < v->count; i++)
      VEC_PUSH(out, v->items[i]);
  }
  return true;
}

static bool inlined_attrs(const Inlined *in, int taken) {
  const char *at = in->row->attrs;
  for (OnnxAttrWord w; onnx_attr_word(in->x->arena, &at, &w);) {
    if (w.flag == '-') continue;
    const Binding *b = *w.ours ? parameter(in, w.ours) : positional(in, &taken);
    if (!b) return false;
    if (b->sugar == SUGAR_DEFAULT && !w.needed) continue;
    Val *v = parameter_value(in, b);
    if (!v) return false;
    if (v->kind == VAL_TUPLE) {
      if (!put_texts(in, &w, v)) return false;
    } else if (!v->constant) {
      return false;
    } else {
      put_constant(in, &w, v->constant);
    }
  }
  return true;
}

/* Of a function that stands for the first output alone, that one. */
static Val *inlined_outputs(const Inlined *in, bool alone) {
  Export *x = in->x;
  const Type *type = type_here(x, in->e->type);
  int results = in->row->results ? in->row->results : 1;
  if (alone || results == 1) return node_out(x, in->node, type);
  onnx_node_least(in->node, in->row->needs ? in->row->needs : 1);
  return outputs_of(x, in->node, type);
}

static bool try_row(Inlined *in, bool alone, Val **out) {
  Export *x = in->x;
  int taken = 0;
  Vals inputs;
  VEC_INIT(&inputs, x->mem);
  size_t errors = x->p->diags->errors;
  const char *hint = x->hint;
  x->hint = NULL;
  bool fine = inlined_inputs(in, &taken, &inputs);
  for (size_t i = 0; fine && i < inputs.len; i++)
    fine = !inputs.data[i] || val_name(x, inputs.data[i], in->e->span) != NULL;
  if (fine) {
    in->node = onnx_node_loose(x->w, in->row->domain ? in->row->domain : "",
                               in->row->name);
    for (size_t i = 0; i < inputs.len; i++)
      onnx_node_input(x->w, in->node,
                      inputs.data[i] ? inputs.data[i]->name : "");
    fine = inlined_attrs(in, taken);
  }
  VEC_DONE(&inputs);
  x->hint = hint;
  *out = NULL;
  if (!fine) return x->p->diags->errors > errors;
  onnx_graph_node(x->w, x->graph, in->node);
  if (in->row->domain)
    onnx_writer_domain(x->w, in->row->domain,
                       onnx_domain_version(in->row->domain));
  *out = inlined_outputs(in, alone);
  return true;
}

bool say_inlined(Export *x, const Expr *e, Val **out) {
  const Global *g = e->inlined;
  const char *name = arena_printf(x->arena, "@%s", g->name->text);
  OnnxOpSearch search = {.calls = name, .opset = x->w->opset};
  Inlined in = {.x = x, .e = e, .fn = g->inlined->expr->fn};
  for (const OnnxOp *row; (row = onnx_op_saying(&search));) {
    if (!*row->calls || row->results < 0 || row->fold_end) continue;
    /* Strings are numbers here (onnx/tensor.c). */
    if (row->strings && !*row->strings) continue;
    bool alone = row->alone && !strcmp(row->alone, name);
    if (!in.frame) {
      Frame *outer = x->frame;
      if (!block_enter(x, e->block)) return false;
      in.frame = x->frame;
      x->frame = outer;
    }
    in.row = row;
    if (try_row(&in, alone, out)) return true;
  }
  return false;
}
