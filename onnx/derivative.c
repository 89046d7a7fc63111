/* Gradient, of ai.onnx.preview.training: the derivatives of a value of the
 * graph by others of it.
 *
 *   let %pull = vjp(fn (%x_2, %w_2) { ...; %y_2 }, %x, %w);
 *   let %adjoints = (%pull.1)(ones_like(%pull.0));
 *
 * The function has the nodes between the values once more; other values are
 * those of the graph around it.  The operator's inputs say at which values of
 * `xs`, and of what is held still (`zs`), the derivatives are taken. */
#include <string.h>

#include "onnx/import.h"

/* A name in the node's attribute; NULL: there is none. */
static const char *string_of(Import *im, const ProtobufCBinaryData *s) {
  return arena_strndup(im->arena, (const char *)s->data, s->len);
}

typedef struct Part {
  Import *im;
  PtrMap inside; /* Names that depend on the parameters */
  VEC(Onnx__NodeProto *) nodes;
} Part;

static bool is_inside(Part *p, const char *name) {
  return *name && ptrmap_get(&p->inside, name_of(p->im->names, name));
}

static void put_inside(Part *p, const char *name) {
  const Name *key = name_of(p->im->names, name);
  if (*name && key) ptrmap_put(&p->inside, key, (void *)key);
}

/* The nodes before `end` that depend on what is inside; false: `end` is no node
 * of the model's graph. */
static bool find_nodes(Part *p, const Onnx__NodeProto *end) {
  const Onnx__GraphProto *g = p->im->model->graph;
  for (size_t i = 0; i < g->n_node; i++) {
    Onnx__NodeProto *n = g->node[i];
    bool depends = false;
    if (n == end) return true;
    for (size_t k = 0; k < n->n_input; k++)
      depends |= is_inside(p, n->input[k]);
    if (!depends) continue;
    VEC_PUSH(&p->nodes, n);
    for (size_t k = 0; k < n->n_output; k++) put_inside(p, n->output[k]);
  }
  return false;
}

/* The names of the attribute's values, which are inputs from `from` on, as
 * parameters; and the inputs as arguments. */
static bool add_params(Part *p, const Onnx__NodeProto *n,
                       const Onnx__AttributeProto *a, size_t from,
                       StrBuf *params, StrBuf *args) {
  bool failed = false;
  for (size_t i = 0; a && i < a->n_strings; i++) {
    const char *arg = input_text(p->im, n, from + i, &failed);
    if (!arg)
      return failed ? false
                    : node_error(p->im, n, E0804, "it has too few inputs");
    strbuf_addf(args, ", %s", arg);
  }
  for (size_t i = 0; a && i < a->n_strings; i++) {
    const char *name = string_of(p->im, &a->strings[i]);
    if (!name) return false;
    put_inside(p, name);
    strbuf_addf(params, "%s%s", params->len ? ", " : "",
                bind_local(p->im, name));
  }
  return true;
}

/* `}, ARGUMENTS)`, and the derivatives by the first `count` of them. */
static void bind_adjoints(Import *im, const Onnx__NodeProto *n,
                          const char *pull, const char *args) {
  const char *adjoints = fresh_local(im, "adjoints");
  line(im, "}%s);", args);
  line(im, "let %s = (%s.1)(ones_like(%s.0));", adjoints, pull, pull);
  for (size_t i = 0; i < n->n_output; i++)
    if (*n->output[i])
      line(im, "let %s = %s.%zu;", bind_local(im, n->output[i]), adjoints, i);
}

static bool emit_part(Part *p, const Onnx__NodeProto *n, StrBuf *params,
                      StrBuf *args) {
  Import *im = p->im;
  const Onnx__AttributeProto *xs = node_attr(im, n, "xs");
  const Onnx__AttributeProto *zs = node_attr(im, n, "zs");
  const Onnx__AttributeProto *y = node_attr(im, n, "y");
  if (!xs || !y || n->n_output > xs->n_strings)
    return node_error(im, n, E0804,
                      "it has no `xs` and `y`, or fewer `xs` "
                      "than outputs");
  const char *pull = fresh_local(im, "pull"), *last = string_of(im, &y->s);
  size_t mark = graph_begin(im);
  bool fine = last && add_params(p, n, xs, 0, params, args) &&
              add_params(p, n, zs, xs->n_strings, params, args);
  if (fine && !find_nodes(p, n))
    fine = node_error(im, n, E0805,
                      "gradients within graphs of nodes and "
                      "functions are not imported");
  if (fine) {
    Onnx__GraphProto part = {.n_node = p->nodes.len, .node = p->nodes.data};
    line(im, "let %s = vjp(fn (%s) {", pull, strbuf_text(params));
    im->indent++;
    fine = emit_graph(im, &part);
    const char *text = fine ? value_text(im, last) : NULL;
    if (text) line(im, "%s", text);
    else if (fine)
      fine = node_error(im, n, E0803, "there is no `%s`", shown(im, last));
    im->indent--;
  }
  graph_end(im, mark);
  if (fine) bind_adjoints(im, n, pull, strbuf_text(args));
  return fine;
}

bool emit_gradient(Import *im, const Onnx__NodeProto *n) {
  Part p = {.im = im};
  StrBuf params, args;
  ptrmap_init(&p.inside, im->mem);
  VEC_INIT(&p.nodes, im->mem);
  strbuf_init(&params, im->mem);
  strbuf_init(&args, im->mem);
  bool fine = emit_part(&p, n, &params, &args);
  strbuf_done(&params);
  strbuf_done(&args);
  VEC_DONE(&p.nodes);
  ptrmap_done(&p.inside);
  return fine;
}
