/* Graphs to a file of protocol buffers.
 *
 * While a graph is built its parts are linked lists in the arena.  At the end
 * they become the messages of protobuf-c, which are packed straight into the
 * file: a tensor's bytes are never copied.  A reader of protocol buffers takes
 * 2 GB at most, so a larger model needs its tensors in a file beside it. */
#include "onnx/write.h"

#include <string.h>

#include "io/file.h"
#include "onnx/import.h"

enum {
  EXTERNAL_LEAST = 1024, /* bytes of a tensor that goes to the file beside */
  EXTERNAL_ALIGN = 4096, /* so that it can be mapped */
};
static const size_t PROTOBUF_MOST = (size_t)INT32_MAX;

/* --- Building ------------------------------------------------------------- */

typedef struct Link {
  struct Link *next;
  void *item;
} Link;

/* In order; `last` is where the next link is hung. */
typedef struct Chain {
  Link *first, **last;
  size_t count;
} Chain;

struct OnnxAttr {
  Onnx__AttributeProto proto;
  OnnxGraph *graph;
};

struct OnnxNode {
  const char *domain, *op;
  Chain inputs, outputs; /* of names */
  Chain attrs;           /* of OnnxAttrs */
  int least;             /* outputs after these may be left out; 0: none may */
  bool needed;
};

typedef struct Port {
  const char *name;
  bool typed;
  OnnxValueType type;
} Port;

typedef struct Initializer {
  const char *name;
  const Tensor *tensor;
} Initializer;

struct OnnxGraph {
  const char *name;
  Chain nodes, inputs, outputs, initializers;
};

static void chain_add(OnnxWriter *w, Chain *c, void *item) {
  Link *link = ARENA_NEW(&w->arena, Link);
  link->item = item;
  if (!c->last) c->last = &c->first;
  *c->last = link;
  c->last = &link->next;
  c->count++;
}

OnnxWriter *onnx_writer_new(Mem *mem, Diags *diags, int64_t opset) {
  OnnxWriter *w = mem_alloc_zeroed(mem, sizeof *w);
  if (!w) return NULL;
  w->mem = mem;
  w->diags = diags;
  w->opset = opset;
  arena_init(&w->arena, mem);
  names_init(&w->table, mem);
  ptrmap_init(&w->names, mem);
  VEC_INIT(&w->domains, mem);
  return w;
}

void onnx_writer_free(OnnxWriter *w) {
  if (!w) return;
  VEC_DONE(&w->domains);
  ptrmap_done(&w->names);
  names_done(&w->table);
  arena_done(&w->arena);
  mem_free(w->mem, w, sizeof *w);
}

void onnx_writer_domain(OnnxWriter *w, const char *name, int64_t version) {
  for (size_t i = 0; i < w->domains.len; i++)
    if (!strcmp(w->domains.data[i].name, name)) return;
  VEC_PUSH(&w->domains, (struct OnnxDomain){name, version});
}

const char *onnx_name(OnnxWriter *w, const char *wanted) {
  const Name *name = name_of(&w->table, wanted);
  uintptr_t uses = (uintptr_t)ptrmap_get(&w->names, name);
  ptrmap_put(&w->names, name, (void *)(uses + 1));
  if (!uses) return name->text;
  return onnx_name(w, arena_printf(&w->arena, "%s_%zu", wanted, (size_t)uses));
}

OnnxGraph *onnx_graph_new(OnnxWriter *w, const char *name) {
  OnnxGraph *g = ARENA_NEW(&w->arena, OnnxGraph);
  g->name = name;
  return g;
}

static void add_port(OnnxWriter *w, Chain *to, const char *name,
                     const OnnxValueType *type) {
  Port *port = ARENA_NEW(&w->arena, Port);
  port->name = name;
  port->typed = type != NULL;
  if (type) port->type = *type;
  chain_add(w, to, port);
}

void onnx_graph_input(OnnxWriter *w, OnnxGraph *g, const char *name,
                      const OnnxValueType *type) {
  add_port(w, &g->inputs, name, type);
}

void onnx_graph_output(OnnxWriter *w, OnnxGraph *g, const char *name,
                       const OnnxValueType *type) {
  add_port(w, &g->outputs, name, type);
}

void onnx_graph_initializer(OnnxWriter *w, OnnxGraph *g, const char *name,
                            const Tensor *t) {
  Initializer *i = ARENA_NEW(&w->arena, Initializer);
  *i = (Initializer){name, t};
  chain_add(w, &g->initializers, i);
}

OnnxNode *onnx_node_loose(OnnxWriter *w, const char *domain, const char *op) {
  OnnxNode *n = ARENA_NEW(&w->arena, OnnxNode);
  n->domain = domain;
  n->op = op;
  return n;
}

void onnx_graph_node(OnnxWriter *w, OnnxGraph *g, OnnxNode *n) {
  chain_add(w, &g->nodes, n);
}

OnnxNode *onnx_node_new(OnnxWriter *w, OnnxGraph *g, const char *domain,
                        const char *op) {
  OnnxNode *n = onnx_node_loose(w, domain, op);
  onnx_graph_node(w, g, n);
  return n;
}

void onnx_node_least(OnnxNode *n, int least) { n->least = least; }

void onnx_node_input(OnnxWriter *w, OnnxNode *n, const char *name) {
  chain_add(w, &n->inputs, (void *)name);
}

const char *onnx_node_output(OnnxWriter *w, OnnxNode *n, const char *name) {
  chain_add(w, &n->outputs, (void *)name);
  return name;
}

/* --- Attributes ----------------------------------------------------------- */

static Onnx__AttributeProto *attr_new(OnnxWriter *w, OnnxNode *n,
                                      const char *name, int type) {
  OnnxAttr *a = ARENA_NEW(&w->arena, OnnxAttr);
  onnx__attribute_proto__init(&a->proto);
  a->proto.name = (char *)name;
  a->proto.has_type = true;
  a->proto.type = type;
  chain_add(w, &n->attrs, a);
  return &a->proto;
}

void onnx_attr_int(OnnxWriter *w, OnnxNode *n, const char *name, int64_t i) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_INT);
  a->has_i = true;
  a->i = i;
}

void onnx_attr_float(OnnxWriter *w, OnnxNode *n, const char *name, double f) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_FLOAT);
  a->has_f = true;
  a->f = (float)f;
}

static ProtobufCBinaryData bytes_of(const char *text) {
  return (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

void onnx_attr_text(OnnxWriter *w, OnnxNode *n, const char *name,
                    const char *text) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_STRING);
  a->has_s = true;
  a->s = bytes_of(text);
}

void onnx_attr_graph(OnnxWriter *w, OnnxNode *n, const char *name,
                     OnnxGraph *g) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_GRAPH);
  ((OnnxAttr *)a)->graph = g;
}

void onnx_attr_ints(OnnxWriter *w, OnnxNode *n, const char *name, int count,
                    const int64_t *ints) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_INTS);
  a->ints = arena_copy(&w->arena, ints, (size_t)count * sizeof *ints);
  a->n_ints = a->ints ? (size_t)count : 0;
}

void onnx_attr_floats(OnnxWriter *w, OnnxNode *n, const char *name, int count,
                      const float *floats) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_FLOATS);
  a->floats = arena_copy(&w->arena, floats, (size_t)count * sizeof *floats);
  a->n_floats = a->floats ? (size_t)count : 0;
}

void onnx_attr_texts(OnnxWriter *w, OnnxNode *n, const char *name, int count,
                     const char *const *texts) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_STRINGS);
  a->strings = ARENA_ARRAY(&w->arena, ProtobufCBinaryData, (size_t)count);
  for (int i = 0; a->strings && i < count; i++)
    a->strings[a->n_strings++] = bytes_of(texts[i]);
}

/* --- What is needed ------------------------------------------------------- */

/* A node is needed where an output of it is: of the names that were met after
 * it in `used`.  A graph within a node is looked at when the node is needed;
 * graphs nest at most ONNX_GRAPHS_MOST deep. */
static void mark_needed(OnnxWriter *w, OnnxGraph *g, PtrMap *used) {
  size_t count = g->nodes.count;
  OnnxNode **nodes = ARENA_ARRAY(&w->arena, OnnxNode *, count + 1);
  if (!nodes) return;
  size_t at = 0;
  for (Link *l = g->nodes.first; l; l = l->next) nodes[at++] = l->item;
  for (Link *l = g->outputs.first; l; l = l->next)
    ptrmap_put(used, ((Port *)l->item)->name, w);
  while (at-- > 0) {
    OnnxNode *n = nodes[at];
    for (Link *l = n->outputs.first; l && !n->needed; l = l->next)
      n->needed = ptrmap_has(used, l->item);
    if (!n->needed) continue;
    int i = 0;
    for (Link *l = n->outputs.first; l; l = l->next, i++)
      if (n->least && i >= n->least && !ptrmap_has(used, l->item))
        l->item = (void *)"";
    for (Link *l = n->inputs.first; l; l = l->next)
      ptrmap_put(used, l->item, w);
    for (Link *l = n->attrs.first; l; l = l->next) {
      OnnxAttr *a = l->item;
      if (a->graph) mark_needed(w, a->graph, used);
    }
  }
}

/* --- Messages ------------------------------------------------------------- */

/* A model on its way to the file. */
typedef struct Packing {
  OnnxWriter *w;
  PtrMap used;
  const char *beside; /* the file of large tensors; NULL: they stay within */
  uint64_t offset;    /* in it, after the last one */
  Chain external;     /* of Initializers, in order */
} Packing;

#define LIST(w, type, n) ARENA_ARRAY(&(w)->arena, type *, (n) + 1)

static Onnx__StringStringEntryProto *entry(OnnxWriter *w, const char *key,
                                           const char *value) {
  Onnx__StringStringEntryProto *e =
      ARENA_NEW(&w->arena, Onnx__StringStringEntryProto);
  onnx__string_string_entry_proto__init(e);
  e->key = (char *)key;
  e->value = (char *)value;
  return e;
}

/* Two elements of 4 bits share a byte, the first in its low half. */
static ProtobufCBinaryData raw_bytes(OnnxWriter *w, const Tensor *t) {
  size_t size = tensor_bytes(t);
  if (dtype_info[t->dtype].form != FORM_NARROW)
    return (ProtobufCBinaryData){size, (uint8_t *)t->data};
  uint8_t *half = arena_alloc(&w->arena, size / 2 + 1);
  if (!half) return (ProtobufCBinaryData){0, NULL};
  memset(half, 0, size / 2 + 1);
  for (size_t i = 0; i < size; i++)
    half[i / 2] |= (uint8_t)((t->data[i] & 15) << 4 * (i & 1));
  return (ProtobufCBinaryData){(size + 1) / 2, half};
}

static const char *number_text(OnnxWriter *w, uint64_t n) {
  return arena_printf(&w->arena, "%llu", (unsigned long long)n);
}

static void put_beside(Packing *p, Onnx__TensorProto *proto) {
  OnnxWriter *w = p->w;
  size_t size = proto->raw_data.len;
  p->offset =
      (p->offset + EXTERNAL_ALIGN - 1) / EXTERNAL_ALIGN * EXTERNAL_ALIGN;
  proto->external_data = LIST(w, Onnx__StringStringEntryProto, 3);
  if (!proto->external_data) return;
  const char *slash = strrchr(p->beside, '/');
  proto->external_data[0] = entry(w, "location", slash ? slash + 1 : p->beside);
  proto->external_data[1] = entry(w, "offset", number_text(w, p->offset));
  proto->external_data[2] = entry(w, "length", number_text(w, size));
  proto->n_external_data = 3;
  proto->has_data_location = true;
  proto->data_location = 1;
  p->offset += size;
  ProtobufCBinaryData *bytes =
      arena_copy(&w->arena, &proto->raw_data, sizeof *bytes);
  if (bytes) chain_add(w, &p->external, bytes);
  proto->has_raw_data = false;
}

static Onnx__TensorProto *tensor_proto(Packing *p, const char *name,
                                       const Tensor *t) {
  OnnxWriter *w = p->w;
  Onnx__TensorProto *proto = ARENA_NEW(&w->arena, Onnx__TensorProto);
  onnx__tensor_proto__init(proto);
  proto->name = (char *)name;
  proto->n_dims = t->rank;
  proto->dims = arena_copy(&w->arena, t->shape, t->rank * sizeof *t->shape);
  proto->has_data_type = true;
  proto->data_type = onnx_dtype_number((DType)t->dtype);
  proto->has_raw_data = true;
  proto->raw_data = raw_bytes(w, t);
  if (p->beside && name && proto->raw_data.len >= EXTERNAL_LEAST)
    put_beside(p, proto);
  return proto;
}

static Onnx__TypeProto *type_new(OnnxWriter *w) {
  Onnx__TypeProto *t = ARENA_NEW(&w->arena, Onnx__TypeProto);
  onnx__type_proto__init(t);
  return t;
}

static Onnx__TensorShapeProto *shape_proto(OnnxWriter *w,
                                           const OnnxValueType *type) {
  Onnx__TensorShapeProto *shape = ARENA_NEW(&w->arena, Onnx__TensorShapeProto);
  onnx__tensor_shape_proto__init(shape);
  shape->dim = LIST(w, Onnx__TensorShapeProto__Dimension, (size_t)type->rank);
  for (int i = 0; shape->dim && i < type->rank; i++) {
    Onnx__TensorShapeProto__Dimension *d =
        ARENA_NEW(&w->arena, Onnx__TensorShapeProto__Dimension);
    onnx__tensor_shape_proto__dimension__init(d);
    d->has_dim_value = type->dims[i] >= 0;
    d->dim_value = type->dims[i];
    if (!d->has_dim_value) d->dim_param = (char *)type->params[i];
    shape->dim[shape->n_dim++] = d;
  }
  return shape;
}

static Onnx__TypeProto *type_proto(OnnxWriter *w, const OnnxValueType *type) {
  Onnx__TypeProto__Tensor *tensor =
      ARENA_NEW(&w->arena, Onnx__TypeProto__Tensor);
  onnx__type_proto__tensor__init(tensor);
  tensor->has_elem_type = true;
  tensor->elem_type = onnx_dtype_number(type->dtype);
  if (!type->any_rank) tensor->shape = shape_proto(w, type);
  Onnx__TypeProto *t = type_new(w);
  t->tensor_type = tensor;
  if (type->sequence) {
    Onnx__TypeProto__Sequence *s =
        ARENA_NEW(&w->arena, Onnx__TypeProto__Sequence);
    onnx__type_proto__sequence__init(s);
    s->elem_type = t;
    t = type_new(w);
    t->sequence_type = s;
  }
  if (type->optional) {
    Onnx__TypeProto__Optional *o =
        ARENA_NEW(&w->arena, Onnx__TypeProto__Optional);
    onnx__type_proto__optional__init(o);
    o->elem_type = t;
    t = type_new(w);
    t->optional_type = o;
  }
  return t;
}

static Onnx__ValueInfoProto *value_info(OnnxWriter *w, const Port *port) {
  Onnx__ValueInfoProto *v = ARENA_NEW(&w->arena, Onnx__ValueInfoProto);
  onnx__value_info_proto__init(v);
  v->name = (char *)port->name;
  if (port->typed) v->type = type_proto(w, &port->type);
  return v;
}

static Onnx__GraphProto *graph_proto(Packing *p, OnnxGraph *g);

static Onnx__AttributeProto *attr_proto(Packing *p, OnnxAttr *a) {
  if (a->graph) a->proto.g = graph_proto(p, a->graph);
  return &a->proto;
}

static char **names_of(OnnxWriter *w, const Chain *c, size_t *count) {
  char **names = LIST(w, char, c->count);
  *count = 0;
  for (Link *l = c->first; names && l; l = l->next) names[(*count)++] = l->item;
  return names;
}

static Onnx__NodeProto *node_proto(Packing *p, const OnnxNode *n) {
  OnnxWriter *w = p->w;
  Onnx__NodeProto *proto = ARENA_NEW(&w->arena, Onnx__NodeProto);
  onnx__node_proto__init(proto);
  proto->op_type = (char *)n->op;
  if (*n->domain) proto->domain = (char *)n->domain;
  proto->input = names_of(w, &n->inputs, &proto->n_input);
  proto->output = names_of(w, &n->outputs, &proto->n_output);
  /* What is left out at the end is not written at all. */
  while (proto->n_input && !*proto->input[proto->n_input - 1]) proto->n_input--;
  while (n->least && proto->n_output && !*proto->output[proto->n_output - 1])
    proto->n_output--;
  if (proto->n_output == 1) proto->name = proto->output[0];
  proto->attribute = LIST(w, Onnx__AttributeProto, n->attrs.count);
  for (Link *l = n->attrs.first; proto->attribute && l; l = l->next)
    proto->attribute[proto->n_attribute++] = attr_proto(p, l->item);
  return proto;
}

static Onnx__GraphProto *graph_proto(Packing *p, OnnxGraph *g) {
  OnnxWriter *w = p->w;
  Onnx__GraphProto *proto = ARENA_NEW(&w->arena, Onnx__GraphProto);
  onnx__graph_proto__init(proto);
  proto->name = (char *)g->name;
  proto->node = LIST(w, Onnx__NodeProto, g->nodes.count);
  for (Link *l = g->nodes.first; proto->node && l; l = l->next)
    if (((OnnxNode *)l->item)->needed)
      proto->node[proto->n_node++] = node_proto(p, l->item);
  proto->input = LIST(w, Onnx__ValueInfoProto, g->inputs.count);
  for (Link *l = g->inputs.first; proto->input && l; l = l->next)
    proto->input[proto->n_input++] = value_info(w, l->item);
  proto->output = LIST(w, Onnx__ValueInfoProto, g->outputs.count);
  for (Link *l = g->outputs.first; proto->output && l; l = l->next)
    proto->output[proto->n_output++] = value_info(w, l->item);
  proto->initializer = LIST(w, Onnx__TensorProto, g->initializers.count);
  for (Link *l = g->initializers.first; proto->initializer && l; l = l->next) {
    const Initializer *i = l->item;
    if (ptrmap_has(&p->used, i->name))
      proto->initializer[proto->n_initializer++] =
          tensor_proto(p, i->name, i->tensor);
  }
  return proto;
}

static Onnx__OperatorSetIdProto *opset_proto(OnnxWriter *w, const char *domain,
                                             int64_t version) {
  Onnx__OperatorSetIdProto *o = ARENA_NEW(&w->arena, Onnx__OperatorSetIdProto);
  onnx__operator_set_id_proto__init(o);
  o->domain = (char *)domain;
  o->has_version = true;
  o->version = version;
  return o;
}

/* Of the first release of ONNX that knows the operator set. */
static int64_t ir_version(int64_t opset) {
  return opset < 19 ? 8 : opset < 21 ? 9 : opset < 23 ? 10 : 11;
}

static Onnx__ModelProto *model_proto(Packing *p, OnnxGraph *g) {
  OnnxWriter *w = p->w;
  Onnx__ModelProto *m = ARENA_NEW(&w->arena, Onnx__ModelProto);
  onnx__model_proto__init(m);
  m->has_ir_version = true;
  m->ir_version = ir_version(w->opset);
  m->producer_name = (char *)"rly";
  m->graph = graph_proto(p, g);
  m->opset_import = LIST(w, Onnx__OperatorSetIdProto, w->domains.len + 1);
  if (!m->opset_import) return m;
  m->opset_import[m->n_opset_import++] = opset_proto(w, "", w->opset);
  for (size_t i = 0; i < w->domains.len; i++)
    m->opset_import[m->n_opset_import++] =
        opset_proto(w, w->domains.data[i].name, w->domains.data[i].version);
  return m;
}

void onnx_attr_tensor(OnnxWriter *w, OnnxNode *n, const char *name,
                      const Tensor *t) {
  Onnx__AttributeProto *a = attr_new(w, n, name, IS_TENSOR);
  Packing p = {.w = w};
  a->t = tensor_proto(&p, NULL, t);
}

void onnx_attr_type(OnnxWriter *w, OnnxNode *n, const char *name,
                    const OnnxValueType *type) {
  attr_new(w, n, name, IS_TYPE)->tp = type_proto(w, type);
}

/* --- The files ------------------------------------------------------------ */

typedef struct FileBuffer {
  ProtobufCBuffer base;
  FILE *stream;
} FileBuffer;

static void append(ProtobufCBuffer *to, size_t len, const uint8_t *data) {
  fwrite(data, 1, len, ((FileBuffer *)to)->stream);
}

static bool write_model(Packing *p, const Onnx__ModelProto *m,
                        const char *path) {
  OnnxWriter *w = p->w;
  if (onnx__model_proto__get_packed_size(m) > PROTOBUF_MOST) {
    Diag *d = diag_error(w->diags, E0507, SPAN_NONE,
                         "cannot write %s: it would have more than 2 GB", path);
    diag_hint(d, "--external puts large tensors into a file beside it");
    return false;
  }
  FileOut out;
  if (!file_out_open(&out, w->mem, path, w->diags)) return false;
  FileBuffer to = {{append}, out.stream};
  onnx__model_proto__pack_to_buffer(m, &to.base);
  return file_out_close(&out, true);
}

static bool write_beside(Packing *p) {
  FileOut out;
  if (!file_out_open(&out, p->w->mem, p->beside, p->w->diags)) return false;
  uint64_t at = 0;
  for (Link *l = p->external.first; l; l = l->next) {
    const ProtobufCBinaryData *bytes = l->item;
    while (at % EXTERNAL_ALIGN && fputc(0, out.stream) != EOF) at++;
    fwrite(bytes->data, 1, bytes->len, out.stream);
    at += bytes->len;
  }
  return file_out_close(&out, true);
}

bool onnx_model_write(OnnxWriter *w, OnnxGraph *g, const OnnxWish *wish,
                      const char *path) {
  Packing p = {.w = w};
  ptrmap_init(&p.used, w->mem);
  if (wish->external) p.beside = arena_printf(&w->arena, "%s.data", path);
  mark_needed(w, g, &p.used);
  const Onnx__ModelProto *m = model_proto(&p, g);
  ptrmap_done(&p.used);
  /* The tensors first: a model whose tensors are missing is of no use. */
  return !mem_exhausted(w->mem) && (!p.external.count || write_beside(&p)) &&
         write_model(&p, m, path);
}
