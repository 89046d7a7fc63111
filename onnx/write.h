/* ONNX models as they are written: graphs of nodes, node by node, then a file.
 *
 *   OnnxWriter *w = onnx_writer_new(mem, diags, 17);
 *   OnnxGraph *g = onnx_graph_new(w, "main");
 *   OnnxNode *n = onnx_node_new(w, g, "", "Relu");
 *   onnx_node_input(w, n, x);
 *   const char *y = onnx_node_output(w, n, onnx_name(w, "y"));
 *   onnx_graph_output(w, g, y, &type);
 *   onnx_model_write(w, g, &wish, "m.onnx");
 *   onnx_writer_free(w);
 *
 * A value is its name, and a name is one pointer: every use of a value passes
 * the pointer that its maker got.  All lies in the writer's arena.  Tensors are
 * borrowed until the model has been written. */
#ifndef ONNX_WRITE_H
#define ONNX_WRITE_H

#include "base/diag.h"
#include "base/name.h"
#include "tensor/tensor.h"

/* Readers of protocol buffers take messages that nest up to 100 deep; a graph
 * within a graph's node is three more. */
enum { ONNX_GRAPHS_MOST = 30 };

typedef struct OnnxGraph OnnxGraph;
typedef struct OnnxNode OnnxNode;
typedef struct OnnxAttr OnnxAttr;

typedef struct OnnxWriter {
  Mem *mem;
  Arena arena;
  Diags *diags;
  int64_t opset;
  PtrMap names;    /* of the NameTable below: Name -> number of uses */
  NameTable table; /* of names of values */
  /* The domains that nodes come from beside ONNX's own, and their versions. */
  VEC(struct OnnxDomain {
    const char *name;
    int64_t version;
  })
  domains;
} OnnxWriter;

/* NULL when memory runs out. */
OnnxWriter *onnx_writer_new(Mem *mem, Diags *diags, int64_t opset);
void onnx_writer_free(OnnxWriter *w);
/* A model that has nodes of another domain says which version it means. */
void onnx_writer_domain(OnnxWriter *w, const char *name, int64_t version);

/* The number of a dtype in TensorProto.DataType, where each has one. */
int32_t onnx_dtype_number(DType dtype);

/* A name that no value of the model has yet: this one, or with a number. */
const char *onnx_name(OnnxWriter *w, const char *wanted);

/* The type of a value at a graph's border. */
typedef struct OnnxValueType {
  DType dtype;
  bool sequence; /* of such tensors */
  bool optional; /* one of that, or none */
  bool any_rank; /* no shape is said */
  int rank;
  const int64_t *dims;       /* -1: see `params` */
  const char *const *params; /* dim_params; NULL: not known */
} OnnxValueType;

OnnxGraph *onnx_graph_new(OnnxWriter *w, const char *name);
void onnx_graph_input(OnnxWriter *w, OnnxGraph *g, const char *name,
                      const OnnxValueType *type);
/* NULL: the type is not said, as a graph within a node may leave it. */
void onnx_graph_output(OnnxWriter *w, OnnxGraph *g, const char *name,
                       const OnnxValueType *type);
/* `t` is contiguous. */
void onnx_graph_initializer(OnnxWriter *w, OnnxGraph *g, const char *name,
                            const Tensor *t);

/* A new node, the last of the graph. */
OnnxNode *onnx_node_new(OnnxWriter *w, OnnxGraph *g, const char *domain,
                        const char *op);
/* A new node in no graph; the second function adds it to one, as the last. */
OnnxNode *onnx_node_loose(OnnxWriter *w, const char *domain, const char *op);
void onnx_graph_node(OnnxWriter *w, OnnxGraph *g, OnnxNode *n);
/* The first `least` outputs are always written, later ones only if used. */
void onnx_node_least(OnnxNode *n, int least);
void onnx_node_input(OnnxWriter *w, OnnxNode *n, const char *name); /* or "" */
const char *onnx_node_output(OnnxWriter *w, OnnxNode *n, const char *name);

void onnx_attr_int(OnnxWriter *w, OnnxNode *n, const char *name, int64_t i);
void onnx_attr_float(OnnxWriter *w, OnnxNode *n, const char *name, double f);
void onnx_attr_text(OnnxWriter *w, OnnxNode *n, const char *name,
                    const char *text);
void onnx_attr_tensor(OnnxWriter *w, OnnxNode *n, const char *name,
                      const Tensor *t);
void onnx_attr_type(OnnxWriter *w, OnnxNode *n, const char *name,
                    const OnnxValueType *type);
void onnx_attr_graph(OnnxWriter *w, OnnxNode *n, const char *name,
                     OnnxGraph *g);
/* Lists; the arrays are copied. */
void onnx_attr_ints(OnnxWriter *w, OnnxNode *n, const char *name, int count,
                    const int64_t *ints);
void onnx_attr_floats(OnnxWriter *w, OnnxNode *n, const char *name, int count,
                      const float *floats);
void onnx_attr_texts(OnnxWriter *w, OnnxNode *n, const char *name, int count,
                     const char *const *texts);

typedef struct OnnxWish {
  bool external; /* large tensors go to a file beside the model, PATH.data */
} OnnxWish;

/* Leaves out what no output needs, and writes the file, and the one beside it.
 * False after reporting. */
bool onnx_model_write(OnnxWriter *w, OnnxGraph *g, const OnnxWish *wish,
                      const char *path);

#endif
