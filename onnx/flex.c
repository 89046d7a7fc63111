/* FlexAttention: attention whose scores, and the probabilities that a softmax
 * makes of them, go through graphs of the node.
 *
 *   let %scores = @onnx_flex_scores(%q, %k, scale=0.5f);
 *   ...                                          the nodes of score_mod
 *   let %probs = nn.softmax(%changed, axis=-1);
 *   ...                                          the nodes of prob_mod
 *   let %y = @onnx_flex_values(%weights, %v);                              */
#include "onnx/import.h"

/* The value after the graph's nodes; the value itself where the node has no
 * such graph.  NULL after reporting. */
static const char *through(Import *im, const Onnx__NodeProto *n,
                           const char *graph, const char *text) {
  const Onnx__AttributeProto *a = node_attr(im, n, graph);
  if (!a) return text;
  if (!a->g || a->g->n_input != 1 || a->g->n_output != 1) {
    node_error(im, n, E0804, "its `%s` is no graph of one value to one", graph);
    return NULL;
  }
  size_t mark = graph_begin(im);
  bind_text(im, a->g->input[0]->name ? a->g->input[0]->name : "", text);
  const char *out =
      emit_graph(im, a->g) ? graph_results(im, n, a->g, 0, 1) : NULL;
  graph_end(im, mark);
  return out;
}

bool emit_flex(Import *im, const Onnx__NodeProto *n) {
  static const OnnxOp scores = {
      .inputs = "Q K",
      .calls = "@onnx_flex_scores",
      .attrs = "scale !softmax_precision -score_mod -prob_mod"};
  if (n->n_input != 3 || n->n_output != 1 || !*n->output[0])
    return node_error(im, n, E0804, "it has three inputs and one output");
  bool failed = false;
  const char *v = input_text(im, n, 2, &failed);
  if (!v) return failed ? false : node_error(im, n, E0804, "it has no values");
  char name[] = "scores";
  Onnx__NodeProto first = *n;
  first.n_input = 2;
  first.output = (char *[]){name};
  size_t mark = graph_begin(im);
  const char *text =
      emit_call(im, &first, &scores) ? value_text(im, name) : NULL;
  graph_end(im, mark);
  text = text ? through(im, n, "score_mod", text) : NULL;
  if (!text) return false;
  const char *probs = fresh_local(im, "probs");
  line(im, "let %s = nn.softmax(%s, axis=-1);", probs, text);
  text = through(im, n, "prob_mod", probs);
  if (!text) return false;
  line(im, "let %s = @onnx_flex_values(%s, %s);", bind_local(im, n->output[0]),
       text, v);
  return true;
}
