/* A model to the text of a program.
 *
 *   graph  def @main[batch: Dim](%x: Tensor[(batch, 3), float32], ...)
 *   node   let %y = @onnx_conv(%x, @conv1.weight, strides=[2, 2]);
 *
 * What a node means is a function of the library (stdlib/onnx/) or an operator,
 * which ops.def names; nothing is computed here, and no shape is inferred: the
 * checker does that.  Names are names.c's, types and constants text.c's, calls
 * call.c's, graphs within nodes control.c's. */
#include "onnx/import.h"

#include <string.h>

enum {
  NEWEST = 27,     /* the last operator set that ops.def knows */
  DEPTH_MOST = 40, /* graphs and functions within each other */
  NODES_MOST = 1 << 20
};

/* --- Nodes ---------------------------------------------------------------- */

static bool is_default(const char *domain) {
  return !domain || !*domain || !strcmp(domain, "ai.onnx");
}

/* 0: the model does not say it, of ONNX's own operators. */
static int64_t version_of(Import *im, const char *domain) {
  size_t n = im->model->n_opset_import;
  Onnx__OperatorSetIdProto **sets = im->model->opset_import;
  if (im->frame && im->frame->function->n_opset_import) {
    n = im->frame->function->n_opset_import;
    sets = im->frame->function->opset_import;
  }
  for (size_t i = 0; i < n; i++) {
    const char *d = sets[i]->domain;
    if (is_default(domain) ? is_default(d) : d && !strcmp(d, domain))
      return sets[i]->version;
  }
  return is_default(domain) ? 0 : 1;
}

static const Onnx__FunctionProto *function_of(Import *im,
                                              const Onnx__NodeProto *n) {
  for (size_t i = 0; i < im->model->n_functions; i++) {
    const Onnx__FunctionProto *f = im->model->functions[i];
    const char *a = f->domain ? f->domain : "";
    const char *b = n->domain ? n->domain : "";
    if (f->name && n->op_type && !strcmp(f->name, n->op_type) && !strcmp(a, b))
      return f;
  }
  return NULL;
}

static bool emit_node(Import *im, const Onnx__NodeProto *n);

/* The names of the values that a graph or a function has so far: a graph gives
 * each of its values once.  False: it has one of that name. */
static bool give(Import *im, PtrMap *given, const char *name) {
  const Name *key = name_of(im->names, name ? name : "");
  if (ptrmap_has(given, key)) return false;
  ptrmap_put(given, key, (void *)key);
  return true;
}

static bool emit_nodes(Import *im, size_t count, Onnx__NodeProto **nodes,
                       PtrMap *given) {
  for (size_t k = 0; k < count; k++) {
    const Onnx__NodeProto *n = nodes[k];
    for (size_t i = 0; i < n->n_output; i++)
      if (*n->output[i] && !give(im, given, n->output[i]))
        return node_error(im, n, E0804, "its output `%s` is given above, too",
                          shown(im, n->output[i]));
    if (!emit_node(im, n)) return false;
  }
  return true;
}

/* A function of the model is its nodes, once for each call. */
static bool emit_function(Import *im, const Onnx__NodeProto *n,
                          const Onnx__FunctionProto *f) {
  if (im->depth >= DEPTH_MOST)
    return node_error(im, n, E0804, "functions nest more than %d deep",
                      DEPTH_MOST);
  bool failed = false;
  size_t mark = graph_begin(im);
  VEC(const char *) texts;
  VEC_INIT(&texts, im->mem);
  for (size_t i = 0; i < f->n_input; i++)
    VEC_PUSH(&texts, input_text(im, n, i, &failed));
  for (size_t i = 0; i < f->n_input && i < texts.len; i++)
    bind_text(im, f->input[i], texts.data[i]);
  PtrMap given;
  ptrmap_init(&given, im->mem);
  for (size_t i = 0; i < f->n_input; i++) give(im, &given, f->input[i]);
  CallFrame frame = {n, f, im->frame};
  im->frame = &frame;
  im->depth++;
  bool fine = !failed && emit_nodes(im, f->n_node, f->node, &given);
  im->depth--;
  ptrmap_done(&given);
  im->frame = frame.up;
  VEC_CLEAR(&texts);
  for (size_t i = 0; i < f->n_output && fine; i++) {
    const char *text = value_text(im, f->output[i]);
    if (!text && i < n->n_output && *n->output[i])
      fine = node_error(im, n, E0803, "its function gives no `%s`",
                        shown(im, f->output[i]));
    VEC_PUSH(&texts, text);
  }
  graph_end(im, mark);
  for (size_t i = 0; fine && i < n->n_output && i < texts.len; i++)
    if (*n->output[i]) bind_text(im, n->output[i], texts.data[i]);
  VEC_DONE(&texts);
  return fine;
}

/* A constant of a few characters stands where it is used: exporters make one
 * for each axis, and their names say nothing. */
static void bind_constant(Import *im, const char *name, const char *text) {
  if (strlen(text) <= 24)
    bind_text(im, name, arena_strndup(im->arena, text, strlen(text)));
  else line(im, "let %s = %s;", bind_local(im, name), text);
}

/* The value of a Constant.  One that no tensor can be made of matters only to
 * who reads it, as an initializer's (emit_initializer). */
static bool emit_constant(Import *im, const Onnx__NodeProto *n) {
  if (n->n_output != 1 || n->n_attribute != 1)
    return node_error(im, n, E0804,
                      "it must have one attribute and one output");
  const Onnx__AttributeProto *a = attr_meant(im, n->attribute[0]);
  if (!a) return node_error(im, n, E0804, "it has no value");
  bool unread = !is_read(im, n->output[0]);
  if (a->t && unread && !onnx_tensor_fits(a->t)) return true;
  if (a->t) {
    Tensor *t = onnx_tensor(im->heap, a->t, im->path, shown(im, n->output[0]),
                            im->diags);
    if (!t) return false;
    bool small = is_literal(t);
    if (small) bind_constant(im, n->output[0], literal(im, t));
    if (small) tensor_drop(im->heap, t);
    else if (!emit_constant_take(im, n->output[0], t)) return false;
    set_format(im, value_text(im, n->output[0]),
               onnx_dtype_format(a->t->data_type));
    return true;
  }
  StrBuf b;
  strbuf_init(&b, im->mem);
  int type = attr_type(a);
  bool fine = true;
  if (type == IS_INT) strbuf_addf(&b, "%lldi64", (long long)a->i);
  else if (type == IS_INTS && a->n_ints) {
    for (size_t i = 0; i < a->n_ints; i++)
      strbuf_addf(&b, "%s%lldi64", i ? ", " : "[", (long long)a->ints[i]);
    strbuf_add_char(&b, ']');
  } else if (type == IS_INTS)
    strbuf_add(&b, "zeros(shape=[0], dtype=\"int64\")");
  else if (type == IS_FLOAT || type == IS_FLOATS)
    fine = add_attr(im, n, a, 0, &b);
  else
    fine = unread || node_error(im, n, E0804,
                                "its value is of a kind that is none "
                                "here");
  if (fine && b.len) bind_constant(im, n->output[0], strbuf_text(&b));
  strbuf_done(&b);
  return fine;
}

static bool emit_known(Import *im, const Onnx__NodeProto *n) {
  const char *type = n->op_type ? n->op_type : "";
  const Onnx__FunctionProto *f = function_of(im, n);
  if (f) return emit_function(im, n, f);
  if (is_default(n->domain) && !strcmp(type, "Constant"))
    return emit_constant(im, n);
  bool known;
  int64_t version = version_of(im, n->domain);
  const char *domain = is_default(n->domain) ? NULL : n->domain;
  const OnnxOp *op = onnx_op_find(domain, type, version, &known);
  if (!domain && !version)
    return node_error(im, n, E0804,
                      "the model names no operator set of ONNX, so the "
                      "meaning of its nodes is not known");
  if (!domain && version > NEWEST)
    return node_error(im, n, E0805,
                      "operator set %lld is newer than %d, the last one that "
                      "is known here",
                      (long long)version, NEWEST);
  if (op && op->why_not) return node_error(im, n, E0805, "%s", op->why_not);
  if (op) return op->emit ? op->emit(im, n) : emit_call(im, n, op);
  if (known)
    return node_error(im, n, E0805,
                      "version %lld of this operator is not imported",
                      (long long)version);
  return node_error(im, n, E0805, "operator `%s`%s%s is not imported",
                    shown(im, type), domain ? " of " : "",
                    domain ? shown(im, domain) : "");
}

/* A node says each of its attributes once. */
static bool says_once(Import *im, const Onnx__NodeProto *n) {
  void *here = (void *)(uintptr_t)im->nodes;
  for (size_t i = 0; i < n->n_attribute; i++) {
    const char *name = n->attribute[i]->name ? n->attribute[i]->name : "";
    const Name *key = name_of(im->names, name);
    if (ptrmap_get(&im->said, key) == here)
      return node_error(im, n, E0804, "its attribute `%s` is there twice",
                        shown(im, name));
    ptrmap_put(&im->said, key, here);
  }
  return true;
}

static bool emit_node(Import *im, const Onnx__NodeProto *n) {
  /* Functions that call others twice each make a program of any size. */
  if (im->nodes++ >= NODES_MOST)
    return node_error(im, n, E0804, "the program would have more than %d nodes",
                      NODES_MOST);
  if (mem_exhausted(im->mem) || !says_once(im, n) || !emit_known(im, n))
    return false;
  pass_on_loose(im, n);
  return true;
}

/* Notes the name of an initializer. */
static bool give_initializer(Import *im, PtrMap *given, const char *name) {
  if (give(im, given, name)) return true;
  diag_error(im->diags, E0804, SPAN_NONE, "%s: two initializers are named `%s`",
             im->path, shown(im, name ? name : ""));
  return false;
}

/* Passes a sparse one over where nothing reads it.  Its values have its name:
 * without them nothing tells who reads it. */
static bool pass_sparse(Import *im, PtrMap *given,
                        const Onnx__SparseTensorProto *s) {
  const char *name = s->values ? s->values->name : NULL;
  if (name && !is_read(im, name)) return give_initializer(im, given, name);
  diag_error(im->diags, E0802, SPAN_NONE,
             "%s: tensor `%s`: sparse initializers are not imported", im->path,
             shown(im, name ? name : ""));
  return false;
}

bool emit_graph(Import *im, const Onnx__GraphProto *g) {
  if (im->depth >= DEPTH_MOST) {
    diag_error(im->diags, E0804, SPAN_NONE, "%s: graphs nest more than %d deep",
               im->path, DEPTH_MOST);
    return false;
  }
  bool fine = true;
  im->depth++;
  PtrMap given;
  ptrmap_init(&given, im->mem);
  for (size_t i = 0; i < g->n_sparse_initializer && fine; i++)
    fine = pass_sparse(im, &given, g->sparse_initializer[i]);
  for (size_t i = 0; i < g->n_initializer && fine; i++)
    fine = give_initializer(im, &given, g->initializer[i]->name) &&
           emit_initializer(im, g->initializer[i]);
  for (size_t i = 0; i < g->n_input; i++) give(im, &given, g->input[i]->name);
  fine = fine && emit_nodes(im, g->n_node, g->node, &given);
  ptrmap_done(&given);
  im->depth--;
  return fine && !mem_exhausted(im->mem);
}

const char *graph_results(Import *im, const Onnx__NodeProto *n,
                          const Onnx__GraphProto *g, size_t from, size_t to) {
  StrBuf b;
  strbuf_init(&b, im->mem);
  bool fine = true;
  for (size_t i = from; i < to && i < g->n_output && fine; i++) {
    const char *name = g->output[i]->name ? g->output[i]->name : "";
    const char *text = value_text(im, name);
    if (!text) {
      fine = false;
      if (n)
        node_error(im, n, E0803, "its graph gives no `%s`", shown(im, name));
      else
        diag_error(im->diags, E0803, SPAN_NONE,
                   "%s: the output `%s` is given by no node", im->path,
                   shown(im, name));
    } else {
      if (!n) text = as_type(im, text, &im->out->outputs[i].type);
      strbuf_addf(&b, "%s%s", i > from ? ", " : "", text);
    }
  }
  const char *text =
      fine ? arena_strndup(im->arena, strbuf_text(&b), b.len) : NULL;
  strbuf_done(&b);
  return text;
}

/* --- The model ------------------------------------------------------------ */

static bool is_initializer(const Onnx__GraphProto *g, const char *name) {
  for (size_t i = 0; i < g->n_initializer; i++)
    if (g->initializer[i]->name && !strcmp(g->initializer[i]->name, name))
      return true;
  return false;
}

/* Up to IR version 3 an initializer is an input as well, which nobody gives. */
static bool declare_inputs(Import *im, const Onnx__GraphProto *g) {
  OnnxModel *out = im->out;
  out->inputs = ARENA_ARRAY(im->arena, OnnxPort, g->n_input + 1);
  if (!out->inputs) return false;
  for (size_t i = 0; i < g->n_input; i++) {
    const Onnx__ValueInfoProto *v = g->input[i];
    const char *name = v->name ? v->name : "";
    if (is_initializer(g, name)) continue;
    if (value_text(im, name)) {
      diag_error(im->diags, E0804, SPAN_NONE, "%s: two inputs are named `%s`",
                 im->path, shown(im, name));
      return false;
    }
    OnnxPort *port = &out->inputs[out->input_count];
    if (!type_text(im, name, v->type, true, &port->type)) return false;
    const char *text = bind_local(im, name);
    set_type(im, text, &port->type);
    port->name = text + 1;
    port->label = arena_strndup(im->arena, name, strlen(name));
    out->input_count++;
  }
  return true;
}

static bool declare_outputs(Import *im, const Onnx__GraphProto *g) {
  OnnxModel *out = im->out;
  out->outputs = ARENA_ARRAY(im->arena, OnnxPort, g->n_output + 1);
  if (!out->outputs) return false;
  for (size_t i = 0; i < g->n_output; i++) {
    const Onnx__ValueInfoProto *v = g->output[i];
    OnnxPort *port = &out->outputs[out->output_count++];
    const char *name = v->name ? v->name : "";
    port->name = port->label = arena_strndup(im->arena, name, strlen(name));
    if (!type_text(im, name, v->type, false, &port->type)) return false;
  }
  return true;
}

static void write_program(Import *im, const char *results) {
  const Onnx__ModelProto *m = im->model;
  OnnxModel *out = im->out;
  StrBuf *t = &out->text;
  const char *slash = strrchr(im->path, '/');
  strbuf_addf(t, "// %s", shown(im, slash ? slash + 1 : im->path));
  if (m->graph->name && *m->graph->name)
    strbuf_addf(t, ": %s", shown(im, m->graph->name));
  if (version_of(im, NULL))
    strbuf_addf(t, ONNX_TEXT_SAYS "%lld", (long long)version_of(im, NULL));
  if (m->producer_name && *m->producer_name)
    strbuf_addf(t, ", by %s", shown(im, m->producer_name));
  strbuf_add(t, "\n");
  strbuf_add_len(t, strbuf_text(&im->items), im->items.len);
  strbuf_addf(t, "\ndef @%s", im->state ? "step_pure" : "main");
  for (size_t i = 0; i < im->dim_list.len; i++)
    strbuf_addf(t, "%s%s: Dim", i ? ", " : "[", im->dim_list.data[i]->text);
  strbuf_add(t, im->dim_list.len ? "](" : "(");
  for (int i = 0; i < out->input_count; i++)
    strbuf_addf(t, "%s%%%s: %s", i ? ", " : "", out->inputs[i].name,
                out->inputs[i].type.text);
  strbuf_add(t, out->output_count == 1 ? ") -> " : ") -> (");
  for (int i = 0; i < out->output_count; i++)
    strbuf_addf(t, "%s%s", i ? ", " : "", out->outputs[i].type.text);
  strbuf_add(t, out->output_count == 1 ? " {\n" : ") {\n");
  strbuf_add_len(t, strbuf_text(&im->body), im->body.len);
  strbuf_addf(t, out->output_count == 1 ? "  %s\n}\n" : "  (%s)\n}\n", results);
}

static bool import_model(Import *im) {
  const Onnx__GraphProto *g = im->model->graph;
  if (!g || !im->model->has_ir_version) {
    diag_error(im->diags, E0502, SPAN_NONE,
               "%s is no valid ONNX file: it holds no %s", im->path,
               g ? "version" : "graph");
    return false;
  }
  static const char *const ours[] = {"main", "step", "step_pure", "reset"};
  for (size_t i = 0; i < (im->state ? 4 : 1); i++) {
    const Name *name = name_of(im->names, ours[i]);
    ptrmap_put(&im->taken, name, (void *)(uintptr_t)1);
  }
  im->indent = 1;
  note_read(im, im->model);
  if (!declare_inputs(im, g) || !emit_graph(im, g) || !declare_outputs(im, g))
    return false;
  const char *results = graph_results(im, NULL, g, 0, g->n_output);
  if (!results) return false;
  write_program(im, results);
  if (im->state && !write_state(im, im->state)) return false;
  return !mem_exhausted(im->mem);
}

OnnxModel *onnx_model_read(const char *path, const OnnxState *state, Heap *heap,
                           NameTable *names, Diags *diags) {
  Mem *mem = heap->mem;
  OnnxModel *out = mem_alloc_zeroed(mem, sizeof *out);
  if (!out) return NULL;
  out->mem = mem;
  arena_init(&out->arena, mem);
  strbuf_init(&out->text, mem);
  out->weights = tensor_file_new(heap);
  Onnx__ModelProto *model =
      out->weights ? (Onnx__ModelProto *)onnx_message_read(
                         mem, path, &onnx__model_proto__descriptor, diags)
                   : NULL;
  Import im = {.out = out,
               .mem = mem,
               .arena = &out->arena,
               .diags = diags,
               .names = names,
               .heap = heap,
               .path = path,
               .model = model,
               .state = state};
  strbuf_init(&im.items, mem);
  strbuf_init(&im.body, mem);
  ptrmap_init(&im.values, mem);
  ptrmap_init(&im.types, mem);
  ptrmap_init(&im.taken, mem);
  ptrmap_init(&im.dims, mem);
  ptrmap_init(&im.loose, mem);
  ptrmap_init(&im.read, mem);
  ptrmap_init(&im.said, mem);
  VEC_INIT(&im.dim_list, mem);
  VEC_INIT(&im.shadowed, mem);
  bool fine = model && import_model(&im);
  strbuf_done(&im.items);
  strbuf_done(&im.body);
  ptrmap_done(&im.values);
  ptrmap_done(&im.types);
  ptrmap_done(&im.taken);
  ptrmap_done(&im.dims);
  ptrmap_done(&im.loose);
  ptrmap_done(&im.read);
  ptrmap_done(&im.said);
  VEC_DONE(&im.dim_list);
  VEC_DONE(&im.shadowed);
  if (model) onnx_message_free(mem, &model->base);
  if (fine) return out;
  onnx_model_free(out);
  return NULL;
}

void onnx_model_free(OnnxModel *m) {
  if (!m) return;
  tensor_file_free(m->weights);
  strbuf_done(&m->text);
  arena_done(&m->arena);
  mem_free(m->mem, m, sizeof *m);
}

/* --- Operators of a model ----------------------------------------------- */

/* The reader has bounded how deep graphs nest. */
static void visit_ops(const Onnx__GraphProto *g, NameTable *names, PtrMap *seen,
                      void (*visit)(void *data, const char *name), void *data) {
  for (size_t i = 0; g && i < g->n_node; i++) {
    const Onnx__NodeProto *n = g->node[i];
    const Name *name = name_of(names, n->op_type ? n->op_type : "");
    if (!ptrmap_has(seen, name)) visit(data, name->text);
    ptrmap_put(seen, name, (void *)name);
    for (size_t k = 0; k < n->n_attribute; k++)
      visit_ops(n->attribute[k]->g, names, seen, visit, data);
  }
}

void onnx_each_op(const char *path, Mem *mem, Diags *diags,
                  void (*visit)(void *data, const char *name), void *data) {
  Onnx__ModelProto *m = (Onnx__ModelProto *)onnx_message_read(
      mem, path, &onnx__model_proto__descriptor, diags);
  if (!m) return;
  NameTable names;
  PtrMap seen;
  names_init(&names, mem);
  ptrmap_init(&seen, mem);
  visit_ops(m->graph, &names, &seen, visit, data);
  ptrmap_done(&seen);
  names_done(&names);
  onnx_message_free(mem, &m->base);
}
