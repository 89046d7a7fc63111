/* A model whose state lies in cells: `--stateful` and `--state in=out`.
 *
 *   let @h: Ref[Tensor[(1, 1, 8), float32]] = ref(zeros(...));
 *   def @step_pure(%x: ..., %h: ...) -> (..., ...) { the graph }
 *   def @step(%x: ...) {
 *     let %h_kept = ref_read(@h);
 *     let %r = @step_pure(%x, %h_kept);
 *     ref_write(@h, %r.1);
 *     %r.0
 *   }
 *   def @reset() -> () { ref_write(@h, zeros(...)); }
 *
 * An input and an output are a pair where they are named, or where they are the
 * initial and the last state of the same recurrent nodes.
 *
 * A state begins with zeros.  Of its dimensions without a number,
 *
 *   one that another input names has that input's length, so the first state is
 *   made in the first step: the cell holds an option;
 *   one of which the output tells a number has that;
 *   one that the output names otherwise grows (a decoder's cache), from 0;
 *   any other is 1: one stream. */
#include <stdlib.h>
#include <string.h>

#include "onnx/import.h"

typedef struct Pair {
  int in, out;              /* of the model's ports */
  const char *cell, *local; /* @h, and %h_kept */
  const char *held;         /* the type of the cell's contents */
  const char *first, *type; /* the value that the cell begins with; its type */
  bool late;                /* `first` is computed in the first step */
} Pair;

typedef struct Stating {
  Import *im;
  const Onnx__GraphProto *g;
  VEC(Pair) pairs;
  bool *is_in, *is_out; /* of a pair, by the number of the port */
} Stating;

static bool state_error(Import *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool state_error(Import *im, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *why = arena_vprintf(im->arena, format, args);
  va_end(args);
  diag_error(im->diags, E0808, SPAN_NONE, "%s: %s", im->path, why);
  return false;
}

static const Onnx__ValueInfoProto *value_info(size_t n,
                                              Onnx__ValueInfoProto **list,
                                              const char *name) {
  for (size_t i = 0; i < n; i++)
    if (list[i]->name && !strcmp(list[i]->name, name)) return list[i];
  return NULL;
}

static bool add_pair(Stating *s, int in, int out) {
  const OnnxModel *model = s->im->out;
  const char *a = model->inputs[in].label, *b = model->outputs[out].label;
  if (s->is_in[in] || s->is_out[out])
    return state_error(s->im, "`%s=%s`: one of them is of another pair",
                       shown(s->im, a), shown(s->im, b));
  VEC_PUSH(&s->pairs, (Pair){.in = in, .out = out});
  s->is_in[in] = s->is_out[out] = true;
  return true;
}

/* --- Pairs that are named ------------------------------------------------- */

static int port_named(const OnnxPort *ports, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(ports[i].label, name)) return i;
  return -1;
}

/* What the star of the pattern stands for in the name; false: it does not fit.
 * A pattern without a star is the name itself. */
static bool star_of(const char *pattern, const char *name, const char **at,
                    size_t *len) {
  const char *star = strchr(pattern, '*');
  size_t n = strlen(name), front = star ? (size_t)(star - pattern) : n;
  size_t back = star ? strlen(star + 1) : 0;
  if (!star) return !strcmp(pattern, name);
  *at = name + front;
  *len = n - front - back;
  return n >= front + back && !strncmp(pattern, name, front) &&
         !strcmp(name + n - back, star + 1);
}

/* "in=out", where a star in both stands for the same. */
static bool add_named(Stating *s, const char *text) {
  Import *im = s->im;
  const OnnxModel *model = im->out;
  const char *equals = strchr(text, '=');
  if (!equals || strchr(equals + 1, '='))
    return state_error(im, "`%s` names no pair, as in h0=hn", shown(im, text));
  const char *in = arena_strndup(im->arena, text, (size_t)(equals - text));
  const char *out = equals + 1, *star = strchr(out, '*');
  if (!in || !strchr(in, '*') != !star)
    return state_error(im, "`%s`: a star stands on both sides or on none",
                       shown(im, text));
  size_t before = s->pairs.len;
  for (int i = 0; i < model->input_count; i++) {
    const char *at = "", *wanted = out;
    size_t len = 0;
    if (!star_of(in, model->inputs[i].label, &at, &len)) continue;
    if (star)
      wanted = arena_printf(im->arena, "%.*s%.*s%s", (int)(star - out), out,
                            (int)len, at, star + 1);
    int k =
        wanted ? port_named(model->outputs, model->output_count, wanted) : -1;
    if (k < 0)
      return state_error(im, "`%s`: the model has no output `%s`",
                         shown(im, text), shown(im, wanted ? wanted : ""));
    if (!add_pair(s, i, k)) return false;
  }
  if (s->pairs.len > before) return true;
  return state_error(im, "`%s`: the model has no input `%s`", shown(im, text),
                     shown(im, in));
}

/* --- Pairs of recurrent nodes --------------------------------------------- */

/* A state of a node: number `slot` of those that it begins and ends with. */
typedef struct Slot {
  size_t node;
  int slot;
} Slot;
typedef VEC(Slot) Slots;

/* Which state of the node the input i begins, or the output i ends; -1: none.
 */
static int slot_of(Import *im, const Onnx__NodeProto *n, size_t i, bool out) {
  const char *op = n->op_type ? n->op_type : "";
  if (!strcmp(op, "Scan")) {
    int64_t scanned = node_int(im, n, "num_scan_inputs", 0);
    bool fits = scanned > 0 && (uint64_t)scanned <= n->n_input;
    size_t states = fits ? n->n_input - (size_t)scanned : 0;
    return i < states && i < 1000 ? (int)i : -1;
  }
  if (strcmp(op, "LSTM") && strcmp(op, "GRU") && strcmp(op, "RNN")) return -1;
  size_t first = out ? 1 : 5;
  return i == first ? 0 : i == first + 1 && *op == 'L' ? 1 : -1;
}

/* Operators that give parts of their first input, or all, in another form. */
static bool moves_only(const char *op) {
  static const char *const movers[] = {
      "Identity", "Slice",     "Split", "Squeeze", "Unsqueeze",
      "Reshape",  "Transpose", "Cast",  "Gather",  "Concat"};
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (!strcmp(op, movers[i])) return true;
  return false;
}

/* The values that are parts of one, by their names. */
typedef struct Parts {
  NameTable *names;
  PtrMap set;
  size_t count;
} Parts;

static void parts_init(Parts *p, Import *im) {
  *p = (Parts){.names = im->names};
  ptrmap_init(&p->set, im->mem);
}

static bool is_part(const Parts *p, const char *name) {
  return *name && ptrmap_has(&p->set, name_of(p->names, name));
}

static void add_part(Parts *p, const char *name) {
  const Name *key = name_of(p->names, name);
  if (!*name || ptrmap_has(&p->set, key)) return;
  ptrmap_put(&p->set, key, (void *)key);
  p->count++;
}

/* Follows what an input becomes.  True where it is nothing but initial states,
 * whose slots are added. */
static bool slots_begun(Stating *s, const char *input, Slots *slots) {
  Parts parts;
  parts_init(&parts, s->im);
  add_part(&parts, input);
  bool fine = true;
  for (size_t k = 0; k < s->g->n_node && fine; k++) {
    const Onnx__NodeProto *n = s->g->node[k];
    const char *op = n->op_type ? n->op_type : "";
    for (size_t i = 0; i < n->n_input && fine; i++) {
      if (!is_part(&parts, n->input[i])) continue;
      int slot = slot_of(s->im, n, i, false);
      if (slot >= 0) VEC_PUSH(slots, (Slot){k, slot});
      else if (moves_only(op) && i == 0)
        for (size_t o = 0; o < n->n_output; o++) add_part(&parts, n->output[o]);
      else fine = !strcmp(op, "Shape");
    }
  }
  ptrmap_done(&parts.set);
  return fine && slots->len;
}

/* Follows where an output comes from, the same way. */
static bool slots_ended(Stating *s, const char *output, Slots *slots) {
  Parts parts;
  parts_init(&parts, s->im);
  add_part(&parts, output);
  size_t given = 0; /* of the parts, by nodes */
  bool fine = true;
  for (size_t k = s->g->n_node; k-- > 0 && fine;) {
    const Onnx__NodeProto *n = s->g->node[k];
    const char *op = n->op_type ? n->op_type : "";
    size_t moved = 0;
    for (size_t o = 0; o < n->n_output && fine; o++) {
      if (!is_part(&parts, n->output[o])) continue;
      int slot = slot_of(s->im, n, o, true);
      given++;
      if (slot >= 0) VEC_PUSH(slots, (Slot){k, slot});
      else fine = moves_only(op) && ++moved;
    }
    size_t from = !moved ? 0 : strcmp(op, "Concat") ? 1 : n->n_input;
    for (size_t i = 0; i < from && i < n->n_input; i++)
      add_part(&parts, n->input[i]);
  }
  fine = fine && given == parts.count && slots->len;
  ptrmap_done(&parts.set);
  return fine;
}

static int by_slot(const void *a, const void *b) {
  const Slot *x = a, *y = b;
  return x->node != y->node   ? x->node < y->node ? -1 : 1
         : x->slot != y->slot ? x->slot < y->slot ? -1 : 1
                              : 0;
}

static void make_set(Slots *slots) {
  size_t kept = 0;
  if (slots->len) qsort(slots->data, slots->len, sizeof(Slot), by_slot);
  for (size_t i = 0; i < slots->len; i++)
    if (!kept || by_slot(&slots->data[kept - 1], &slots->data[i]))
      slots->data[kept++] = slots->data[i];
  slots->len = kept;
}

static bool same_set(const Slots *a, const Slots *b) {
  bool same = a->len == b->len;
  for (size_t i = 0; i < a->len && same; i++)
    same = !by_slot(&a->data[i], &b->data[i]);
  return same;
}

static bool add_recurrent(Stating *s) {
  const OnnxModel *model = s->im->out;
  size_t outputs = (size_t)model->output_count;
  Slots begun, *ended = ARENA_ARRAY(s->im->arena, Slots, outputs + 1);
  if (!ended) return false;
  VEC_INIT(&begun, s->im->mem);
  for (size_t k = 0; k < outputs; k++) {
    VEC_INIT(&ended[k], s->im->mem);
    if (!slots_ended(s, model->outputs[k].label, &ended[k]))
      VEC_CLEAR(&ended[k]);
    make_set(&ended[k]);
  }
  for (int i = 0; i < model->input_count; i++) {
    VEC_CLEAR(&begun);
    if (s->is_in[i] || !slots_begun(s, model->inputs[i].label, &begun))
      continue;
    make_set(&begun);
    for (int k = 0; k < model->output_count && !s->is_in[i]; k++)
      if (!s->is_out[k] && same_set(&begun, &ended[k])) add_pair(s, i, k);
  }
  for (size_t k = 0; k < outputs; k++) VEC_DONE(&ended[k]);
  VEC_DONE(&begun);
  return true;
}

/* --- Types and first states ----------------------------------------------- */

static const Onnx__TypeProto__Tensor *tensor_of(const Onnx__ValueInfoProto *v) {
  return v && v->type ? v->type->tensor_type : NULL;
}

/* Does an input that is no state name the dimension? */
static bool is_named(const Stating *s, const Name *dim) {
  const OnnxModel *model = s->im->out;
  for (int i = 0; dim && i < model->input_count; i++) {
    const Onnx__TypeProto__Tensor *t = tensor_of(
        value_info(s->g->n_input, s->g->input, model->inputs[i].label));
    if (s->is_in[i] || !t || !t->shape) continue;
    for (size_t k = 0; k < t->shape->n_dim; k++) {
      const char *param = t->shape->dim[k]->dim_param;
      if (param && dim_name(s->im, param, false) == dim) return true;
    }
  }
  return false;
}

/* May a value of the one length have the other? */
static bool fits(const Onnx__TensorShapeProto__Dimension *a,
                 const Onnx__TensorShapeProto__Dimension *b) {
  return !a->has_dim_value || !b->has_dim_value || a->dim_value == b->dim_value;
}

static bool same_dim(const Onnx__TensorShapeProto__Dimension *a,
                     const Onnx__TensorShapeProto__Dimension *b) {
  if (!a->dim_param || !b->dim_param) return a->dim_param == b->dim_param;
  return !strcmp(a->dim_param, b->dim_param);
}

/* May a step's last state be the next one's first?  The types are those that
 * the graph declares. */
static bool check_pair(Stating *s, const Pair *p,
                       const Onnx__TypeProto__Tensor *in,
                       const Onnx__TypeProto__Tensor *out) {
  Import *im = s->im;
  const char *label = shown(im, im->out->inputs[p->in].label);
  if (!in || !out || !in->shape)
    return state_error(im, "the state `%s` is no tensor of a known rank",
                       label);
  const Onnx__TensorShapeProto *a = in->shape, *b = out->shape;
  bool fine = in->elem_type == out->elem_type && (!b || a->n_dim == b->n_dim);
  for (size_t i = 0; fine && b && i < a->n_dim; i++)
    fine = fits(a->dim[i], b->dim[i]);
  return fine || state_error(im, "the state `%s` has another type than `%s`",
                             label, shown(im, im->out->outputs[p->out].label));
}

/* The dimensions in p->held, p->type and p->first, each as a list.  Where the
 * input has no number for one, the rules at the top of this file choose the
 * first length. */
static void shape_texts(Stating *s, Pair *p, const Onnx__TensorShapeProto *in,
                        const Onnx__TensorShapeProto *out, StrBuf *held,
                        StrBuf *type, StrBuf *first) {
  Import *im = s->im;
  for (size_t i = 0; i < in->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *d = in->dim[i];
    const char *comma = i ? ", " : "";
    if (d->has_dim_value) {
      strbuf_addf(held, "%s%lld", comma, (long long)d->dim_value);
      strbuf_addf(type, "%s%lld", comma, (long long)d->dim_value);
      strbuf_addf(first, "%s%lld", comma, (long long)d->dim_value);
      continue;
    }
    const Name *name = d->dim_param ? dim_name(im, d->dim_param, false) : NULL;
    bool named = is_named(s, name);
    const Onnx__TensorShapeProto__Dimension *end = out ? out->dim[i] : d;
    const char *length =
        named ? name->text
        : end->has_dim_value
            ? arena_printf(im->arena, "%lld", (long long)end->dim_value)
        : same_dim(d, end) ? "1"
                           : "0";
    p->late |= named;
    strbuf_addf(held, "%s?", comma);
    strbuf_addf(type, "%s%s", comma, named ? name->text : "?");
    strbuf_addf(first, "%s%s", comma, length);
  }
}

/* Fills in the texts of a pair; false after reporting that there can be no such
 * state. */
static bool describe(Stating *s, Pair *p) {
  Import *im = s->im;
  const OnnxPort *in = &im->out->inputs[p->in];
  const Onnx__TypeProto__Tensor *a =
      tensor_of(value_info(s->g->n_input, s->g->input, in->label));
  const Onnx__TypeProto__Tensor *b = tensor_of(
      value_info(s->g->n_output, s->g->output, im->out->outputs[p->out].label));
  if (!check_pair(s, p, a, b)) return false;
  StrBuf held, type, first;
  strbuf_init(&held, im->mem);
  strbuf_init(&type, im->mem);
  strbuf_init(&first, im->mem);
  shape_texts(s, p, a->shape, b->shape, &held, &type, &first);
  const char *dtype = in->type.dtype;
  p->held =
      arena_printf(im->arena, "Tensor[(%s), %s]", strbuf_text(&held), dtype);
  p->type =
      arena_printf(im->arena, "Tensor[(%s), %s]", strbuf_text(&type), dtype);
  /* A list without elements has no dtype of its own. */
  p->first = a->shape->n_dim
                 ? arena_printf(im->arena, "zeros(shape=[%s], dtype=\"%s\")",
                                strbuf_text(&first), dtype)
                 : arena_printf(im->arena,
                                "zeros(shape=zeros(shape=[0], "
                                "dtype=\"int32\"), dtype=\"%s\")",
                                dtype);
  p->cell = arena_printf(im->arena, "@%s", in->name);
  p->local = fresh_local(
      im, arena_printf(im->arena, "%s_kept", in->name ? in->name : ""));
  strbuf_done(&held);
  strbuf_done(&type);
  strbuf_done(&first);
  return true;
}

/* --- Text ----------------------------------------------------------------- */

static void write_cells(Stating *s, StrBuf *t) {
  for (size_t i = 0; i < s->pairs.len; i++) {
    const Pair *p = &s->pairs.data[i];
    if (p->late)
      strbuf_addf(t, "\nlet %s: Ref[Option[%s]] = ref(None);", p->cell,
                  p->held);
    else
      strbuf_addf(t, "\nlet %s: Ref[%s] = ref(%s);", p->cell, p->held,
                  p->first);
  }
}

/* A step declares the dimensions that its inputs have. */
static void write_head(Stating *s, StrBuf *t) {
  const OnnxModel *model = s->im->out;
  strbuf_add(t, "\ndef @step");
  bool any = false;
  for (size_t i = 0; i < s->im->dim_list.len; i++) {
    const Name *dim = s->im->dim_list.data[i];
    if (!is_named(s, dim)) continue;
    strbuf_addf(t, "%s%s: Dim", any ? ", " : "[", dim->text);
    any = true;
  }
  strbuf_add(t, any ? "](" : "(");
  any = false;
  for (int i = 0; i < model->input_count; i++) {
    if (s->is_in[i]) continue;
    strbuf_addf(t, "%s%%%s: %s", any ? ", " : "", model->inputs[i].name,
                model->inputs[i].type.text);
    any = true;
  }
  strbuf_add(t, ") {\n");
}

static void write_call(Stating *s, StrBuf *t) {
  const OnnxModel *model = s->im->out;
  for (size_t i = 0; i < s->pairs.len; i++) {
    const Pair *p = &s->pairs.data[i];
    if (p->late)
      strbuf_addf(t,
                  "let %s: %s = match (ref_read(%s)) { Some(%%s) => %%s, "
                  "None => %s };\n",
                  p->local, p->type, p->cell, p->first);
    else strbuf_addf(t, "let %s = ref_read(%s);\n", p->local, p->cell);
  }
  const char *r = fresh_local(s->im, "r");
  strbuf_addf(t, "let %s = @step_pure(", r);
  for (int i = 0; i < model->input_count; i++) {
    const char *text =
        arena_printf(s->im->arena, "%%%s", model->inputs[i].name);
    for (size_t k = 0; k < s->pairs.len; k++)
      if (s->pairs.data[k].in == i) text = s->pairs.data[k].local;
    strbuf_addf(t, "%s%s", i ? ", " : "", text);
  }
  strbuf_add(t, ");\n");
  /* A function with one output gives no tuple. */
  bool tuple = model->output_count > 1;
  for (size_t i = 0; i < s->pairs.len; i++) {
    const Pair *p = &s->pairs.data[i];
    const char *new =
        tuple ? arena_printf(s->im->arena, "%s.%d", r, p->out) : r;
    strbuf_addf(t,
                p->late ? "ref_write(%s, Some(%s));\n" : "ref_write(%s, %s);\n",
                p->cell, new);
  }
  int left = model->output_count - (int)s->pairs.len, given = 0;
  if (left != 1) strbuf_add(t, "(");
  for (int i = 0; i < model->output_count; i++) {
    if (s->is_out[i]) continue;
    strbuf_add(t, given++ ? ", " : "");
    strbuf_addf(t, tuple ? "%s.%d" : "%s", r, i);
  }
  strbuf_add(t, left != 1 ? ")\n}\n" : "\n}\n");
}

static void write_reset(Stating *s, StrBuf *t) {
  strbuf_add(t, "\ndef @reset() -> () {\n");
  for (size_t i = 0; i < s->pairs.len; i++) {
    const Pair *p = &s->pairs.data[i];
    strbuf_addf(t, "%sref_write(%s, %s)", i ? ";\n" : "", p->cell,
                p->late ? "None" : p->first);
  }
  strbuf_add(t, "\n}\n");
}

bool write_state(Import *im, const OnnxState *wanted) {
  Stating s = {.im = im, .g = im->model->graph};
  VEC_INIT(&s.pairs, im->mem);
  s.is_in = ARENA_ARRAY(im->arena, bool, (size_t)im->out->input_count + 1);
  s.is_out = ARENA_ARRAY(im->arena, bool, (size_t)im->out->output_count + 1);
  bool fine = s.is_in && s.is_out;
  for (int i = 0; i < wanted->pair_count && fine; i++)
    fine = add_named(&s, wanted->pairs[i]);
  if (fine && wanted->recurrent) fine = add_recurrent(&s);
  if (fine && !s.pairs.len)
    fine = state_error(im,
                       "no input is the initial state of a recurrent layer "
                       "of which an output is the last; --state in=out "
                       "names a pair");
  for (size_t i = 0; i < s.pairs.len && fine; i++)
    fine = describe(&s, &s.pairs.data[i]);
  if (fine) {
    StrBuf *t = &im->out->text;
    write_cells(&s, t);
    write_head(&s, t);
    write_call(&s, t);
    write_reset(&s, t);
  }
  VEC_DONE(&s.pairs);
  return fine;
}
