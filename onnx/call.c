/* A node as a call, by its operator's row of ops.def. */
#include <string.h>

#include "onnx/import.h"

/* --- Attributes ----------------------------------------------------------- */

int attr_type(const Onnx__AttributeProto *a) {
  if (a->has_type && a->type) return a->type;
  return a->has_f       ? IS_FLOAT
         : a->has_i     ? IS_INT
         : a->has_s     ? IS_STRING
         : a->t         ? IS_TENSOR
         : a->g         ? IS_GRAPH
         : a->n_ints    ? IS_INTS
         : a->n_floats  ? IS_FLOATS
         : a->n_strings ? IS_STRINGS
                        : IS_INTS;
}

/* The types of attributes, which go by their names in all operators, but for a
 * few that have two.  Others are INT. */
static const struct {
  int type;
  const char *names;
} types_of_names[] = {
    {IS_FLOAT,
     "alpha beta bias clip cubic_coeff_a decay_factor default_float epsilon "
     "extrapolation_value gamma lambd mask_filter_value max min momentum "
     "norm_coefficient norm_coefficient_post p replaced_value_float scale "
     "softcap spatial_scale threshold value"},
    {IS_FLOATS,
     "activation_alpha activation_beta base_values class_weights coefficients "
     "imputed_value_floats intercepts kernel_params keys_floats nodes_values "
     "offset prob_a prob_b rho scale scales support_vectors target_weights "
     "values_floats weights"},
    {IS_INT, "aggregate_function p post_transform"},
    {IS_INTS,
     "axes class_ids class_nodeids class_treeids classlabels_int64s "
     "classlabels_ints dilations ends kernel_shape keys_int64s leaf_targetids "
     "ngram_counts ngram_indexes nodes_falseleafs nodes_falsenodeids "
     "nodes_featureids nodes_missing_value_tracks_true nodes_nodeids "
     "nodes_treeids nodes_trueleafs nodes_truenodeids output_padding "
     "output_shape pads perm pool_int64s pooled_shape qkv_hidden_sizes split "
     "starts strides target_ids target_nodeids target_treeids tree_roots "
     "values_int64s vectors_per_class"},
    {IS_STRING,
     "activation aggregate_function approximate auto_pad case_change_action "
     "coordinate_transformation_mode default_string delimiter direction "
     "equation keep_aspect_ratio_policy kernel_type mode nearest_mode norm "
     "padding_mode post_transform reduction update_rule"},
    {IS_STRINGS,
     "activations classlabels_strings keys_strings nodes_modes stopwords "
     "values_strings"},
    {IS_TENSOR,
     "default_tensor keys_tensor leaf_weights membership_values nodes_modes "
     "nodes_splits value values_tensor"},
};
enum { TYPES = sizeof types_of_names / sizeof *types_of_names };

static const char *type_name(int type) {
  static const char *const names[] = {
      [IS_FLOAT] = "FLOAT",   [IS_INT] = "INT",         [IS_STRING] = "STRING",
      [IS_TENSOR] = "TENSOR", [IS_GRAPH] = "GRAPH",     [IS_FLOATS] = "FLOATS",
      [IS_INTS] = "INTS",     [IS_STRINGS] = "STRINGS", [IS_TYPE] = "TYPE"};
  bool known = type > 0 && type <= IS_TYPE && names[type];
  return known ? names[type] : "of no known type";
}

/* The next word of a list in a row; false at its end. */
static bool next_word(const char **at, const char **word, size_t *len) {
  *at += strspn(*at, " ");
  *word = *at;
  *len = strcspn(*at, " ");
  *at += *len;
  return *len > 0;
}

static bool lists(const char *names, const char *name) {
  size_t len;
  for (const char *word; next_word(&names, &word, &len);)
    if (len == strlen(name) && !memcmp(word, name, len)) return true;
  return false;
}

/* Has it a type that attributes of the name have?  An empty list that does not
 * say its type may be any.  False after reporting. */
static bool has_its_type(Import *im, const Onnx__NodeProto *n,
                         const Onnx__AttributeProto *a, const char *name) {
  int type = attr_type(a);
  bool any = !(a->has_type && a->type) && type == IS_INTS && !a->n_ints;
  const char *wanted = NULL;
  for (int i = 0; i < TYPES; i++) {
    int one = types_of_names[i].type;
    if (!lists(types_of_names[i].names, name)) continue;
    if (type == one || (any && one >= IS_FLOATS && one <= IS_STRINGS))
      return true;
    wanted = wanted
                 ? arena_printf(im->arena, "%s or %s", wanted, type_name(one))
                 : type_name(one);
  }
  if (!wanted && type == IS_INT) return true;
  return node_error(im, n, E0804, "its attribute `%s` is %s, not %s", name,
                    any ? "empty" : type_name(type), wanted ? wanted : "INT");
}

static const Onnx__AttributeProto *attr_of(size_t n,
                                           Onnx__AttributeProto **attrs,
                                           const char *name) {
  for (size_t i = 0; i < n; i++)
    if (attrs[i]->name && !strcmp(attrs[i]->name, name)) return attrs[i];
  return NULL;
}

/* An attribute that refers to one of the function that is called. */
const Onnx__AttributeProto *attr_meant(Import *im,
                                       const Onnx__AttributeProto *a) {
  const CallFrame *f = im->frame;
  while (a && a->ref_attr_name && *a->ref_attr_name && f) {
    const char *name = a->ref_attr_name;
    const Onnx__FunctionProto *fn = f->function;
    a = attr_of(f->node->n_attribute, f->node->attribute, name);
    if (!a) return attr_of(fn->n_attribute_proto, fn->attribute_proto, name);
    f = f->up;
  }
  return a;
}

const Onnx__AttributeProto *node_attr(Import *im, const Onnx__NodeProto *n,
                                      const char *name) {
  return attr_meant(im, attr_of(n->n_attribute, n->attribute, name));
}

int64_t node_int(Import *im, const Onnx__NodeProto *n, const char *name,
                 int64_t otherwise) {
  const Onnx__AttributeProto *a = node_attr(im, n, name);
  return a ? a->i : otherwise;
}

/* Strings as a matrix of their bytes (tensor.c). */
static void add_strings(StrBuf *out, size_t n, const ProtobufCBinaryData *s) {
  size_t longest = 1;
  for (size_t i = 0; i < n; i++)
    if (s[i].len > longest) longest = s[i].len;
  if (!n) strbuf_add(out, "zeros(shape=[0, 1], dtype=\"uint8\")");
  for (size_t i = 0; i < n; i++) {
    strbuf_add(out, i ? ", \"" : "[\"");
    strbuf_add_escaped(out, (const char *)s[i].data, s[i].len);
    for (size_t k = s[i].len; k < longest; k++) strbuf_add(out, "\\0");
    strbuf_add_char(out, '"');
  }
  if (n) strbuf_add_char(out, ']');
}

static void add_bytes(StrBuf *out, ProtobufCBinaryData s) {
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, (const char *)s.data, s.len);
  strbuf_add_char(out, '"');
}

/* Numbers of attributes are axes, lengths and counts, which int32 holds.  Those
 * of slices may lie beyond it, which is where a slice ends.  False after
 * reporting. */
static bool add_int(Import *im, const Onnx__NodeProto *n,
                    const Onnx__AttributeProto *a, char flag, int64_t i,
                    StrBuf *out) {
  bool beyond = i <= INT32_MIN || i > INT32_MAX;
  if (beyond && flag != '#' && flag != '<')
    return node_error(im, n, E0804, "its attribute `%s` is %lld, beyond int32",
                      shown(im, a->name), (long long)i);
  if (beyond && flag == '<') i = i < 0 ? INT32_MIN + 1 : INT32_MAX;
  strbuf_addf(out, flag == '#' ? "%lldi64" : "%lld", (long long)i);
  return true;
}

static void add_f32(StrBuf *out, float f) {
  scalar_print_literal(out, DT_FLOAT32, bits_from_f64(DT_FLOAT32, f));
}

/* The modes of a tree's nodes as numbers. */
static bool add_modes(Import *im, const Onnx__NodeProto *n,
                      const Onnx__AttributeProto *a, StrBuf *out) {
  static const char *const modes[] = {ONNX_TREE_MODES};
  enum { MODES = sizeof modes / sizeof *modes };
  if (!a->n_strings) return node_error(im, n, E0804, "it has no nodes");
  for (size_t i = 0; i < a->n_strings; i++) {
    const ProtobufCBinaryData *s = &a->strings[i];
    int k = 0;
    while (k < MODES &&
           (strlen(modes[k]) != s->len || memcmp(modes[k], s->data, s->len)))
      k++;
    if (k == MODES)
      return node_error(im, n, E0804, "a node has a mode that is not known");
    strbuf_addf(out, "%s%d", i ? ", " : "[", k);
  }
  strbuf_add_char(out, ']');
  return true;
}

/* The value as it stands in a call.  `flag`: '?' a bool, '!' a scalar of the
 * dtype that is meant, '$' the dtype's name, '#' integers of 64 bits, '<' those
 * of a slice, '~' modes of a tree's nodes as numbers, '@' strings as a tensor
 * of bytes. */
bool add_attr(Import *im, const Onnx__NodeProto *n,
              const Onnx__AttributeProto *a, char flag, StrBuf *out) {
  const char *name;
  switch (attr_type(a)) {
    case IS_FLOAT: add_f32(out, a->f); return true;
    case IS_INT:
      if (flag == '?') strbuf_add(out, a->i ? "True" : "False");
      else if (flag == '!' || flag == '$') {
        DType t = onnx_dtype((int32_t)a->i, &name);
        if (t == DTYPE_NONE)
          return node_error(im, n, E0802,
                            "there is no dtype here for ONNX's %s",
                            name ? name : "unknown one");
        if (flag == '$') strbuf_addf(out, "\"%s\"", dtype_name(t));
        else scalar_print_literal(out, t, bits_from_i64(t, 0));
      } else return add_int(im, n, a, flag, a->i, out);
      return true;
    case IS_STRING:
      if (flag == '@') add_strings(out, 1, &a->s);
      else add_bytes(out, a->s);
      return true;
    case IS_INTS:
      if (!a->n_ints) strbuf_add(out, "zeros(shape=[0], dtype=\"int32\")");
      for (size_t i = 0; i < a->n_ints; i++) {
        strbuf_add(out, i ? ", " : "[");
        if (!add_int(im, n, a, flag, a->ints[i], out)) return false;
      }
      if (a->n_ints) strbuf_add_char(out, ']');
      return true;
    case IS_FLOATS:
      if (!a->n_floats) strbuf_add(out, "zeros(shape=[0], dtype=\"float32\")");
      for (size_t i = 0; i < a->n_floats; i++) {
        strbuf_add(out, i ? ", " : "[");
        add_f32(out, a->floats[i]);
      }
      if (a->n_floats) strbuf_add_char(out, ']');
      return true;
    case IS_STRINGS:
      if (flag == '~') return add_modes(im, n, a, out);
      if (flag == '@') {
        add_strings(out, a->n_strings, a->strings);
        return true;
      }
      strbuf_add_char(out, '(');
      for (size_t i = 0; i < a->n_strings; i++) {
        add_bytes(out, a->strings[i]);
        strbuf_add(out, ", ");
      }
      strbuf_add_char(out, ')');
      return true;
    case IS_TENSOR: {
      Tensor *t = a->t ? onnx_tensor(im->heap, a->t, im->path,
                                     shown(im, a->name), im->diags)
                       : NULL;
      if (!t) return node_error(im, n, E0802, "its tensor cannot be read");
      strbuf_add(out, literal(im, t));
      tensor_drop(im->heap, t);
      return true;
    }
    default:
      return node_error(im, n, E0802,
                        "attribute `%s` is of a kind that is "
                        "none here",
                        shown(im, a->name));
  }
}

/* --- Calls ---------------------------------------------------------------- */

const char *needed_input(Import *im, const Onnx__NodeProto *n, size_t i) {
  bool failed = false;
  const char *text = input_text(im, n, i, &failed);
  if (!text && !failed) node_error(im, n, E0804, "input %zu is missing", i);
  return text;
}

/* a, b, c as add(add(a, b), c). */
static bool add_folded(Import *im, const Onnx__NodeProto *n, const char *calls,
                       StrBuf *out) {
  for (size_t i = 1; i < n->n_input; i++) strbuf_addf(out, "%s(", calls);
  for (size_t i = 0; i < n->n_input; i++) {
    const char *text = needed_input(im, n, i);
    if (!text) return false;
    strbuf_addf(out, i ? ", %s)" : "%s", text);
  }
  return true;
}

/* The inputs from `first` on as a tuple, or as a sequence. */
static bool add_all(Import *im, const Onnx__NodeProto *n, size_t first,
                    bool sequence, StrBuf *out) {
  strbuf_add(out, sequence ? "List[" : "(");
  for (size_t i = first; i < n->n_input; i++) {
    const char *text = needed_input(im, n, i);
    if (!text) return false;
    strbuf_addf(out, sequence ? "@onnx_any(%s)" : "%s", text);
    if (i + 1 < n->n_input) strbuf_add(out, ", ");
    else if (!sequence) strbuf_add(out, ",");
  }
  strbuf_add(out, sequence ? "]" : ")");
  return true;
}

/* The inputs by position, then those that may be missing by name. */
static bool add_inputs(Import *im, const Onnx__NodeProto *n, const OnnxOp *op,
                       StrBuf *out, bool *any) {
  size_t len, count = 0;
  for (int named = 0; named < 2; named++) {
    const char *at = op->inputs, *word;
    for (size_t i = 0; next_word(&at, &word, &len); i++) {
      bool failed = false, optional = *word == '?';
      if (strchr("*]", word[len - 1])) {
        if (*any) strbuf_add(out, ", ");
        *any = true;
        return add_all(im, n, i, word[len - 1] == ']', out);
      }
      count = i + 1;
      if (optional != (named == 1)) continue;
      const char *text = input_text(im, n, i, &failed);
      if (failed) return false;
      if (!text && !optional)
        return node_error(im, n, E0804, "its input `%.*s` is missing", (int)len,
                          word);
      if (!text) continue;
      strbuf_add(out, *any ? ", " : "");
      if (optional) strbuf_addf(out, "%.*s=", (int)len - 1, word + 1);
      strbuf_add(out, text);
      *any = true;
    }
  }
  if (count < n->n_input)
    return node_error(im, n, E0804, "it has %zu inputs, at most %zu are known",
                      n->n_input, count);
  return true;
}

/* Reports an attribute that no word of the row names; false. */
static bool unknown_attr(Import *im, const Onnx__NodeProto *n,
                         const OnnxOp *op) {
  for (size_t i = 0; i < n->n_attribute; i++) {
    const char *name = n->attribute[i]->name ? n->attribute[i]->name : "";
    const char *at = op->attrs;
    bool known = false;
    for (OnnxAttrWord w; !known && onnx_attr_word(im->arena, &at, &w);)
      known = !strcmp(w.theirs, name);
    if (!known)
      return node_error(im, n, E0804, "its attribute `%s` is not known here",
                        shown(im, name));
  }
  return false;
}

static bool add_attrs(Import *im, const Onnx__NodeProto *n, const OnnxOp *op,
                      StrBuf *out, bool *any) {
  const char *at = op->attrs;
  size_t found = 0;
  for (OnnxAttrWord w; onnx_attr_word(im->arena, &at, &w);) {
    const Onnx__AttributeProto *written =
        attr_of(n->n_attribute, n->attribute, w.theirs);
    const Onnx__AttributeProto *a = attr_meant(im, written);
    found += written != NULL;
    if (!a && w.needed)
      return node_error(im, n, E0804, "its attribute `%s` is missing",
                        w.theirs);
    if (w.flag == '-' || (!a && !w.text)) continue;
    if (a && !has_its_type(im, n, a, w.theirs)) return false;
    if (*any) strbuf_add(out, ", ");
    *any = true;
    if (*w.ours) strbuf_addf(out, "%s=", w.ours);
    if (!a) strbuf_add(out, w.text);
    else if (!add_attr(im, n, a, w.flag, out)) return false;
  }
  return found == n->n_attribute || unknown_attr(im, n, op);
}

/* Is the output named by its node?  PyTorch's exporter names the output
 * /fc/MatMul_output_0 of node /fc/MatMul. */
static bool shows_node(const Onnx__NodeProto *n, size_t i) {
  size_t len = n->name ? strlen(n->name) : 0;
  return len && !strncmp(n->output[i], n->name, len);
}

/* The local of a node's only output has the name of the node, where the output
 * has it and a number. */
static const char *bind_output(Import *im, const Onnx__NodeProto *n, size_t i) {
  const char *name = n->output[i];
  bool numbered =
      shows_node(n, i) && !strncmp(name + strlen(n->name), "_output_", 8);
  const char *text = fresh_local(im, numbered ? n->name : name);
  bind_text(im, name, text);
  return text;
}

void emit_results(Import *im, const Onnx__NodeProto *n, const char *call,
                  bool tuple) {
  size_t used = 0, last = 0;
  for (size_t i = 0; i < n->n_output; i++)
    if (output_is_read(im, n, i)) used++, last = i;
  for (size_t i = 0; !used && i < n->n_output; i++)
    if (*n->output[i]) used++, last = i;
  if (!used) return;
  bool shown_by_name = shows_node(n, last);
  if (n->name && *n->name && !shown_by_name)
    line(im, "// %s", shown(im, n->name));
  if (!tuple) {
    line(im, "let %s = %s;", bind_output(im, n, last), call);
  } else if (used == 1) {
    line(im, "let %s = %s.%zu;", bind_output(im, n, last), call, last);
  } else {
    const char *base =
        shown_by_name
            ? n->name
            : arena_printf(im->arena, "%s_results",
                           n->output[0][0] ? n->output[0] : n->output[last]);
    const char *whole = fresh_local(im, base);
    line(im, "let %s = %s;", whole, call);
    for (size_t i = 0; i < n->n_output; i++)
      if (output_is_read(im, n, i))
        line(im, "let %s = %s.%zu;", bind_local(im, n->output[i]), whole, i);
  }
}

/* The call as text; `part` is the number of the output that it gives, or -1. */
static const char *call_text(Import *im, const Onnx__NodeProto *n,
                             const OnnxOp *op, int part) {
  StrBuf b;
  strbuf_init(&b, im->mem);
  bool fine = true, any = false;
  size_t len = strlen(op->inputs);
  if (len && op->inputs[len - 1] == '+') {
    if (n->n_input == 0) fine = node_error(im, n, E0804, "it has no input");
    if (op->fold_end) strbuf_addf(&b, "%s(", op->fold_end);
    fine = fine && add_folded(im, n, op->calls, &b);
    if (op->fold_end) strbuf_addf(&b, ", %zu)", n->n_input);
  } else {
    strbuf_addf(&b, "%s(", op->calls);
    fine = add_inputs(im, n, op, &b, &any) && add_attrs(im, n, op, &b, &any);
    if (part >= 0)
      strbuf_addf(&b, "%si=%d, num=%zu", any ? ", " : "", part, n->n_output);
    strbuf_add_char(&b, ')');
  }
  const char *text =
      fine ? arena_strndup(im->arena, strbuf_text(&b), b.len) : NULL;
  strbuf_done(&b);
  return text;
}

/* One call for each member of the groups.  A node of its own stands for it,
 * with that member's inputs and outputs. */
static bool emit_grouped(Import *im, const Onnx__NodeProto *n,
                         const OnnxOp *op) {
  size_t groups = (size_t)op->groups, results = (size_t)op->results;
  size_t count = n->n_input < 2 ? 0 : (n->n_input - 2) / groups;
  if (!count || n->n_input != 2 + count * groups ||
      n->n_output != count * results)
    return node_error(im, n, E0804,
                      "its inputs or its outputs are not %zu and %zu for each "
                      "tensor",
                      groups, results);
  char *inputs[8], *outputs[8];
  bool fine = true;
  for (size_t k = 0; k < count && fine; k++) {
    Onnx__NodeProto one = *n;
    inputs[0] = n->input[0];
    inputs[1] = n->input[1];
    for (size_t g = 0; g < groups; g++)
      inputs[2 + g] = n->input[2 + g * count + k];
    for (size_t g = 0; g < results; g++) outputs[g] = n->output[g * count + k];
    one.input = inputs;
    one.n_input = 2 + groups;
    one.output = outputs;
    one.n_output = results;
    const char *call = call_text(im, &one, op, -1);
    fine = call != NULL;
    if (fine) emit_results(im, &one, call, true);
  }
  return fine;
}

/* Is an output from number i on read? */
static bool output_from(Import *im, const Onnx__NodeProto *n, size_t i) {
  while (i < n->n_output && !output_is_read(im, n, i)) i++;
  return i < n->n_output;
}

/* Is an input strings? */
static bool takes_strings(Import *im, const Onnx__NodeProto *n) {
  bool any = false;
  for (size_t i = 0; i < n->n_input; i++)
    any |= is_string(im, value_text(im, n->input[i]));
  return any;
}

bool emit_call(Import *im, const Onnx__NodeProto *n, const OnnxOp *op) {
  bool strings = takes_strings(im, n);
  if (strings && !op->strings)
    return node_error(im, n, E0805, "it is not imported for strings");
  OnnxOp first = *op;
  if (strings && *op->strings) first.calls = op->strings;
  if (op->groups) return emit_grouped(im, n, op);
  size_t results = op->results ? (size_t)op->results : 1;
  if (op->results < 0) {
    VEC(const char *) calls;
    VEC_INIT(&calls, im->mem);
    bool fine = true;
    for (size_t i = 0; i < n->n_output && fine; i++) {
      const char *call = call_text(im, n, op, (int)i);
      fine = call != NULL;
      VEC_PUSH(&calls, call);
    }
    for (size_t i = 0; i < n->n_output && fine && i < calls.len; i++)
      if (*n->output[i])
        line(im, "let %s = %s;", bind_local(im, n->output[i]), calls.data[i]);
    VEC_DONE(&calls);
    return fine;
  }
  if (n->n_output > results)
    return node_error(im, n, E0804, "it has %zu outputs, at most %zu are known",
                      n->n_output, results);
  if (op->alone && !output_from(im, n, 1)) {
    first.calls = op->alone;
    results = 1;
  }
  const char *call = call_text(im, n, &first, -1);
  if (!call) return false;
  emit_results(im, n, call, results > 1);
  if (op->gives == GIVES_SEQUENCE)
    set_output_type(im, n, 0, onnx_sequence_type());
  if (op->gives == GIVES_STRINGS ||
      (op->gives_by && node_attr(im, n, op->gives_by)))
    set_output_format(im, n, "STRING");
  return true;
}

bool emit_identity(Import *im, const Onnx__NodeProto *n) {
  if (n->n_output != 1) return node_error(im, n, E0804, "it has one output");
  const char *text = needed_input(im, n, 0);
  if (!text) return false;
  emit_results(im, n, text, false);
  set_output_type(im, n, 0, type_of(im, text));
  set_output_format(im, n, format_of(im, text));
  return true;
}
