/* Control flow: graphs within nodes.
 *
 *   If     let %y = if (%c) { ...; %a } else { ...; %b };
 *   Loop   let %loop = fn (%i: int64, %go: bool, %v, ..., %rows, ...) {
 *            if (%i < %m && %go) { ...; %loop(%i + 1i64, %c, %w, ...) }
 *            else { (%v, ..., %rows, ...) }
 *          };
 *   Scan   the same over the rows of its inputs
 *
 * A call in tail position takes no stack, so a loop runs as long as it likes.
 * Rows that a loop gives are collected in a list, the last one first, and
 * become a tensor at the end. */
#include <string.h>

#include "onnx/import.h"

static const Onnx__GraphProto *graph_of(Import *im, const Onnx__NodeProto *n,
                                        const char *name) {
  const Onnx__AttributeProto *a = node_attr(im, n, name);
  if (a && a->g) return a->g;
  node_error(im, n, E0804, "it has no graph `%s`", name);
  return NULL;
}

static const Onnx__TypeProto__Tensor *tensor_of(const Onnx__ValueInfoProto *v) {
  return v->type ? v->type->tensor_type : NULL;
}

/* Do the branches say that output i has different ranks in them? */
static bool ranks_differ(const Onnx__GraphProto *a, const Onnx__GraphProto *b,
                         size_t i) {
  if (i >= a->n_output || i >= b->n_output) return false;
  const Onnx__TypeProto__Tensor *x = tensor_of(a->output[i]);
  const Onnx__TypeProto__Tensor *y = tensor_of(b->output[i]);
  return x && y && x->shape && y->shape && x->shape->n_dim != y->shape->n_dim;
}

/* `types`: of the outputs, NULL for a tensor.  `other`: the other branch. */
static bool emit_branch(Import *im, const Onnx__NodeProto *n, const char *name,
                        const char *other, const OnnxType **types) {
  const Onnx__GraphProto *g = graph_of(im, n, name);
  const Onnx__GraphProto *beside = g ? graph_of(im, n, other) : NULL;
  if (!beside) return false;
  if (g->n_output != n->n_output)
    return node_error(im, n, E0804, "its graph `%s` has %zu outputs, not %zu",
                      name, g->n_output, n->n_output);
  size_t mark = graph_begin(im);
  im->indent++;
  bool fine = emit_graph(im, g);
  StrBuf b;
  strbuf_init(&b, im->mem);
  for (size_t i = 0; i < g->n_output && fine; i++) {
    const char *text = graph_results(im, n, g, i, i + 1);
    fine = text != NULL;
    if (!fine) break;
    types[i] = type_of(im, value_text(im, g->output[i]->name));
    strbuf_addf(&b, ranks_differ(g, beside, i) ? "%s@onnx_any(%s)" : "%s%s",
                i ? ", " : "", text);
  }
  if (fine) line(im, g->n_output == 1 ? "%s" : "(%s)", strbuf_text(&b));
  strbuf_done(&b);
  im->indent--;
  graph_end(im, mark);
  return fine;
}

/* `let NAME = HEAD` begins what emit_results will take apart. */
bool emit_if(Import *im, const Onnx__NodeProto *n) {
  bool failed = false;
  const char *c = input_text(im, n, 0, &failed);
  if (!c)
    return failed ? false : node_error(im, n, E0804, "it has no condition");
  const OnnxType **types =
      ARENA_ARRAY(im->arena, const OnnxType *, n->n_output + 1);
  if (!types) return false;
  const char *whole = fresh_local(im, "branch");
  line(im, "let %s = if (%s) {", whole, as_condition(im, c));
  if (!emit_branch(im, n, "then_branch", "else_branch", types)) return false;
  line(im, "} else {");
  if (!emit_branch(im, n, "else_branch", "then_branch", types)) return false;
  line(im, "};");
  emit_results(im, n, whole, n->n_output > 1);
  for (size_t i = 0; i < n->n_output; i++) set_output_type(im, n, i, types[i]);
  return true;
}

typedef VEC(const char *) Texts;

static void add_list(StrBuf *b, const Texts *texts) {
  for (size_t i = 0; i < texts->len; i++)
    strbuf_addf(b, "%s%s", b->len ? ", " : "", texts->data[i]);
}

/* A loop under way: its function, and what it hands from step to step. */
typedef struct Looping {
  Import *im;
  const Onnx__NodeProto *n;
  const Onnx__GraphProto *g;
  const char *fn;
  Texts state, rows, starts;
  bool sequences; /* its rows are sequences, and stay so */
  /* Of the tensors of its rows: along which axis, and is the last one first? */
  const Onnx__AttributeProto *axes, *directions;
} Looping;

static void looping_init(Looping *l, Import *im, const Onnx__NodeProto *n,
                         const Onnx__GraphProto *g, const char *base) {
  *l = (Looping){.im = im, .n = n, .g = g, .fn = fresh_local(im, base)};
  VEC_INIT(&l->state, im->mem);
  VEC_INIT(&l->rows, im->mem);
  VEC_INIT(&l->starts, im->mem);
}

static void looping_done(Looping *l) {
  VEC_DONE(&l->state);
  VEC_DONE(&l->rows);
  VEC_DONE(&l->starts);
}

static const char *input_name(const Onnx__GraphProto *g, size_t i) {
  return i < g->n_input && g->input[i]->name ? g->input[i]->name : "";
}

/* Number k of an attribute that is a list; 0 where it is missing or ends
 * before. */
static long long ints_at(const Onnx__AttributeProto *a, size_t k) {
  return a && k < a->n_ints ? (long long)a->ints[k] : 0;
}

/* The loop's function up to its body, which runs while `condition` holds. */
static void open_loop(Looping *l, const char *params, const char *condition) {
  line(l->im, "let %s = fn (%s) {", l->fn, params);
  l->im->indent++;
  line(l->im, "if (%s) {", condition);
  l->im->indent++;
}

/* After the body's nodes: the call of the next step, with the graph's outputs
 * from `first` on, then the results of the last step, the first call, with
 * `starts`, and the results of the node. */
static bool close_loop(Looping *l, const char *next, size_t first,
                       const char *starts) {
  Import *im = l->im;
  StrBuf b;
  strbuf_init(&b, im->mem);
  bool fine = true;
  for (size_t i = 0; i < l->state.len + l->rows.len && fine; i++) {
    size_t k = first + i;
    fine = k < l->g->n_output && graph_results(im, l->n, l->g, k, k + 1);
    if (!fine) break;
    const char *text = value_text(im, l->g->output[k]->name);
    if (i < l->state.len)
      strbuf_addf(&b, ", %s", as_type(im, text, type_of(im, l->state.data[i])));
    else
      strbuf_addf(&b,
                  l->sequences ? ", Cons(@onnx_any(%s), %s)" : ", Cons(%s, %s)",
                  text, l->rows.data[i - l->state.len]);
  }
  if (fine) line(im, "%s(%s%s)", l->fn, next, strbuf_text(&b));
  VEC_CLEAR(&b);
  add_list(&b, &l->state);
  for (size_t i = 0; i < l->rows.len; i++)
    strbuf_addf(&b, "%s%s", b.len ? ", " : "", l->rows.data[i]);
  im->indent--;
  line(im, "} else {");
  line(im, "  (%s,)", b.len ? strbuf_text(&b) : "()");
  line(im, "}");
  im->indent--;
  line(im, "};");
  VEC_CLEAR(&b);
  add_list(&b, &l->starts);
  for (size_t i = 0; i < l->rows.len; i++)
    strbuf_add(&b, b.len ? ", Nil" : "Nil");
  const char *end = fresh_local(im, "end");
  line(im, "let %s = %s(%s%s%s);", end, l->fn, starts, b.len ? ", " : "",
       strbuf_text(&b));
  for (size_t i = 0; i < l->n->n_output && fine; i++) {
    if (!*l->n->output[i]) continue;
    const char *out = bind_local(im, l->n->output[i]);
    size_t row = i - l->state.len;
    if (i < l->state.len) line(im, "let %s = %s.%zu;", out, end, i);
    else if (l->sequences) line(im, "let %s = @rev(%s.%zu);", out, end, i);
    else {
      line(im,
           ints_at(l->directions, row) ? "let %s = @onnx_rows(@rev(%s.%zu));"
                                       : "let %s = @onnx_rows(%s.%zu);",
           out, end, i);
      long long axis = ints_at(l->axes, row);
      if (axis) {
        const char *moved = bind_local(im, l->n->output[i]);
        line(im, "let %s = @onnx_first_to(%s, %lld);", moved, out, axis);
      }
    }
    if (i < l->state.len) set_type(im, out, type_of(im, l->state.data[i]));
    else if (l->sequences) set_type(im, out, onnx_sequence_type());
  }
  strbuf_done(&b);
  return fine;
}

static bool same_length(const Onnx__TensorShapeProto__Dimension *a,
                        const Onnx__TensorShapeProto__Dimension *b) {
  if (a->has_dim_value || b->has_dim_value)
    return a->has_dim_value && b->has_dim_value && a->dim_value == b->dim_value;
  return a->dim_param && b->dim_param && !strcmp(a->dim_param, b->dim_param);
}

/* ": Tensor[(?, 4), int64]" for a value of which a step changes lengths, as the
 * body's types say; "" where it changes none, or nothing is said. */
static const char *growing_type(Import *im, const Onnx__ValueInfoProto *in,
                                const Onnx__ValueInfoProto *out) {
  const Onnx__TypeProto__Tensor *a = tensor_of(in), *b = tensor_of(out);
  const char *name;
  DType dtype = a ? onnx_dtype(a->elem_type, &name) : DTYPE_NONE;
  if (dtype == DTYPE_NONE || !b || !a->shape || !b->shape) return "";
  if (a->shape->n_dim != b->shape->n_dim)
    return arena_printf(im->arena, ": Tensor[?, %s]", dtype_name(dtype));
  bool grows = false;
  StrBuf text;
  strbuf_init(&text, im->mem);
  for (size_t i = 0; i < a->shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *d = a->shape->dim[i];
    bool same = same_length(d, b->shape->dim[i]);
    grows |= !same;
    strbuf_add(&text, i ? ", " : "");
    if (same && d->has_dim_value && d->dim_value >= 0)
      strbuf_addf(&text, "%lld", (long long)d->dim_value);
    else strbuf_add(&text, "?");
  }
  const char *type = grows ? arena_printf(im->arena, ": Tensor[(%s), %s]",
                                          strbuf_text(&text), dtype_name(dtype))
                           : "";
  strbuf_done(&text);
  return type ? type : "";
}

bool emit_loop(Import *im, const Onnx__NodeProto *n) {
  const Onnx__GraphProto *g = graph_of(im, n, "body");
  if (!g) return false;
  size_t states = n->n_input > 2 ? n->n_input - 2 : 0;
  if (g->n_input != states + 2 || g->n_output < states + 1 ||
      n->n_output > g->n_output - 1)
    return node_error(im, n, E0804,
                      "its body has %zu inputs and %zu outputs for %zu values",
                      g->n_input, g->n_output, states);
  bool failed = false;
  const char *m = input_text(im, n, 0, &failed);
  const char *go = input_text(im, n, 1, &failed);
  Looping l;
  looping_init(&l, im, n, g, "loop");
  for (size_t i = 0; i < states; i++) {
    const char *text = input_text(im, n, i + 2, &failed);
    VEC_PUSH(&l.starts, text ? text : "()");
  }
  const char *i = bind_local(im, input_name(g, 0));
  const char *on = bind_local(im, input_name(g, 1));
  for (size_t k = 0; k < states; k++) {
    const char *text = bind_local(im, input_name(g, k + 2));
    set_type(im, text, type_of(im, l.starts.data[k]));
    VEC_PUSH(&l.state, text);
  }
  for (size_t k = states + 1; k < g->n_output; k++)
    VEC_PUSH(&l.rows, fresh_local(im, "rows"));
  StrBuf b;
  strbuf_init(&b, im->mem);
  strbuf_addf(&b, "%s: int64, %s: bool", i, on);
  for (size_t k = 0; k < states; k++)
    strbuf_addf(&b, ", %s%s", l.state.data[k],
                growing_type(im, g->input[k + 2], g->output[k + 1]));
  add_list(&b, &l.rows);
  open_loop(&l, strbuf_text(&b),
            m ? arena_printf(im->arena, "%s < @onnx_scalar(%s) && %s", i, m, on)
              : on);
  strbuf_done(&b);
  bool fine = !failed && emit_graph(im, g);
  const char *cond = fine ? graph_results(im, n, g, 0, 1) : NULL;
  fine = cond != NULL;
  if (fine) {
    cond = as_condition(im, value_text(im, g->output[0]->name));
    const char *next = arena_printf(im->arena, "%s + 1i64, %s", i, cond);
    const char *start =
        go ? arena_printf(im->arena, "0i64, %s", as_condition(im, go))
           : "0i64, True";
    fine = close_loop(&l, next, 1, start);
  }
  looping_done(&l);
  return fine;
}

/* The sequences are walked together; what is no sequence stays as it is.
 *
 *   let %map = fn (%i: int64, %rest, %rows) {
 *     if (%i < %count) {
 *       let %a = @hd(%rest); ...; %map(%i + 1i64, @tl(%rest), Cons(%b, %rows))
 *     } else { (%rows,) }
 *   }; */
bool emit_sequence_map(Import *im, const Onnx__NodeProto *n) {
  const Onnx__GraphProto *g = graph_of(im, n, "body");
  if (!g) return false;
  if (g->n_input != n->n_input || g->n_output != n->n_output || !n->n_input)
    return node_error(im, n, E0804, "its body and its inputs do not fit");
  Looping l;
  looping_init(&l, im, n, g, "map");
  l.sequences = true;
  const char *i = fresh_local(im, "i"), *count = fresh_local(im, "count");
  StrBuf params, next, starts, lets;
  strbuf_init(&params, im->mem);
  strbuf_init(&next, im->mem);
  strbuf_init(&starts, im->mem);
  strbuf_init(&lets, im->mem);
  strbuf_addf(&params, "%s: int64", i);
  strbuf_addf(&next, "%s + 1i64", i);
  strbuf_add(&starts, "0i64");
  bool failed = false;
  for (size_t k = 0; k < n->n_input && !failed; k++) {
    const char *text = input_text(im, n, k, &failed);
    if (!text) failed = failed || !node_error(im, n, E0804, "input is missing");
    if (failed) break;
    bool walked = k == 0 || type_of(im, text);
    const char *rest = walked ? fresh_local(im, "rest") : text;
    if (k == 0) line(im, "let %s = @onnx_sequence_length(%s);", count, text);
    strbuf_addf(&lets, walked ? "let %s = @hd(%s);\n" : "let %s = %s;\n",
                bind_local(im, input_name(g, k)), rest);
    if (!walked) continue;
    strbuf_addf(&params, ", %s", rest);
    strbuf_addf(&next, ", @tl(%s)", rest);
    strbuf_addf(&starts, ", %s", text);
  }
  for (size_t k = 0; k < g->n_output; k++)
    VEC_PUSH(&l.rows, fresh_local(im, "rows"));
  add_list(&params, &l.rows);
  open_loop(&l, strbuf_text(&params),
            arena_printf(im->arena, "%s < %s", i, count));
  line(im, "%s", strbuf_text(&lets));
  bool fine = !failed && emit_graph(im, g) &&
              close_loop(&l, strbuf_text(&next), 0, strbuf_text(&starts));
  strbuf_done(&params);
  strbuf_done(&next);
  strbuf_done(&starts);
  strbuf_done(&lets);
  looping_done(&l);
  return fine;
}

/* A state of a Scan keeps its type: where the body does not say which it is,
 * the value that it begins with does. */
static void type_states(Looping *l) {
  for (size_t k = 0; k < l->state.len; k++) {
    const Onnx__TypeProto__Tensor *t = tensor_of(l->g->input[k]);
    if (t && t->shape) continue;
    line(l->im, "let %s = @onnx_like(%s, %s);",
         bind_local(l->im, input_name(l->g, k)), l->state.data[k],
         l->starts.data[k]);
  }
}

bool emit_scan(Import *im, const Onnx__NodeProto *n) {
  const Onnx__GraphProto *g = graph_of(im, n, "body");
  if (!g) return false;
  int64_t scanned = node_int(im, n, "num_scan_inputs", 0);
  if (scanned < 1 || (uint64_t)scanned > n->n_input ||
      g->n_input != n->n_input || g->n_output != n->n_output)
    return node_error(im, n, E0804, "its body and its inputs do not fit");
  size_t states = n->n_input - (size_t)scanned;
  if (g->n_output < states)
    return node_error(im, n, E0804, "its body gives too few values");
  const Onnx__AttributeProto *axes = node_attr(im, n, "scan_input_axes");
  const Onnx__AttributeProto *back = node_attr(im, n, "scan_input_directions");
  if (!back) back = node_attr(im, n, "directions"); /* of version 8 */
  bool failed = false;
  Looping l;
  looping_init(&l, im, n, g, "scan");
  l.axes = node_attr(im, n, "scan_output_axes");
  l.directions = node_attr(im, n, "scan_output_directions");
  Texts over;
  VEC_INIT(&over, im->mem);
  for (size_t i = 0; i < n->n_input; i++) {
    const char *text = input_text(im, n, i, &failed);
    if (i < states) VEC_PUSH(&l.starts, text ? text : "()");
    else VEC_PUSH(&over, text ? text : "()");
  }
  for (size_t k = 0; k < states; k++)
    VEC_PUSH(&l.state, bind_local(im, input_name(g, k)));
  for (size_t k = states; k < g->n_output; k++)
    VEC_PUSH(&l.rows, fresh_local(im, "rows"));
  const char *i = fresh_local(im, "i"), *count = fresh_local(im, "count");
  line(im, "let %s = take(shape_of(%s), %lld, mode=\"wrap\");", count,
       over.data[0], ints_at(axes, 0));
  StrBuf b;
  strbuf_init(&b, im->mem);
  strbuf_addf(&b, "%s: int32", i);
  add_list(&b, &l.state);
  add_list(&b, &l.rows);
  open_loop(&l, strbuf_text(&b), arena_printf(im->arena, "%s < %s", i, count));
  strbuf_done(&b);
  type_states(&l);
  for (size_t k = 0; k < over.len; k++) {
    const char *at =
        ints_at(back, k) ? arena_printf(im->arena, "%s - 1 - %s", count, i) : i;
    line(im, "let %s = take(%s, %s, axis=%lld);",
         bind_local(im, input_name(g, states + k)), over.data[k], at,
         ints_at(axes, k));
  }
  bool fine = !failed && emit_graph(im, g);
  if (fine) fine = close_loop(&l, arena_printf(im->arena, "%s + 1", i), 0, "0");
  VEC_DONE(&over);
  looping_done(&l);
  return fine;
}

/* The Scan of version 8 has a batch, the first axis of all that goes in and
 * out: for each member it is the Scan of version 9 over the member's part.
 *
 *   let %batch = fn (%b: int32, %rows, ...) {
 *     if (%b < %count) {
 *       let %x_1 = take(%x, %b, axis=0);
 *       ...                                                    the Scan
 *       %batch(%b + 1, Cons(%y, %rows), ...)
 *     } else { (%rows, ...) }
 *   }; */
bool emit_scan_8(Import *im, const Onnx__NodeProto *n) {
  if (n->n_input < 2 || n->n_output < 1)
    return node_error(im, n, E0804, "it has too few inputs or outputs");
  if (*n->input[0])
    return node_error(im, n, E0805,
                      "lengths of the sequences of a batch are "
                      "not imported");
  Onnx__NodeProto one = *n;
  one.input = n->input + 1;
  one.n_input = n->n_input - 1;
  const char *first = needed_input(im, &one, 0);
  if (!first) return false;
  Onnx__ValueInfoProto *outputs =
      ARENA_ARRAY(im->arena, Onnx__ValueInfoProto, n->n_output);
  Onnx__ValueInfoProto **places =
      ARENA_ARRAY(im->arena, Onnx__ValueInfoProto *, n->n_output);
  const char **made = ARENA_ARRAY(im->arena, const char *, n->n_output);
  if (!outputs || !places || !made) return false;
  Looping l;
  Onnx__GraphProto whole = {.n_output = n->n_output, .output = places};
  looping_init(&l, im, n, &whole, "batch");
  for (size_t k = 0; k < n->n_output; k++) {
    outputs[k].name = n->output[k];
    places[k] = &outputs[k];
    VEC_PUSH(&l.rows, fresh_local(im, "rows"));
  }
  bool given = true;
  size_t mark = graph_begin(im);
  const char *b = fresh_local(im, "b"), *count = fresh_local(im, "count");
  line(im, "let %s = take(shape_of(%s), 0);", count, first);
  StrBuf params;
  strbuf_init(&params, im->mem);
  strbuf_addf(&params, "%s: int32", b);
  add_list(&params, &l.rows);
  open_loop(&l, strbuf_text(&params),
            arena_printf(im->arena, "%s < %s", b, count));
  strbuf_done(&params);
  for (size_t k = 0; given && k < one.n_input; k++) {
    const char *text = needed_input(im, &one, k);
    given = text != NULL;
    if (given)
      line(im, "let %s = take(%s, %s, axis=0);", bind_local(im, one.input[k]),
           text, b);
  }
  bool fine = given && emit_scan(im, &one) &&
              close_loop(&l, arena_printf(im->arena, "%s + 1", b), 0, "0");
  looping_done(&l);
  for (size_t k = 0; k < n->n_output; k++)
    made[k] = fine ? value_text(im, n->output[k]) : NULL;
  graph_end(im, mark);
  for (size_t k = 0; k < n->n_output; k++)
    if (made[k]) bind_text(im, n->output[k], made[k]);
  return fine;
}
