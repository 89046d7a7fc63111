/* An import under way, for the files of this room. */
#ifndef ONNX_IMPORT_H
#define ONNX_IMPORT_H

#include "onnx/onnx.h"
#include "onnx/ops.h"
#include "onnx/read.h"

/* A node that calls a function of the model: its attributes are those to which
 * the function's nodes refer. */
typedef struct CallFrame {
  const Onnx__NodeProto *node;
  const Onnx__FunctionProto *function;
  const struct CallFrame *up;
} CallFrame;

typedef struct Import {
  OnnxModel *out;
  Mem *mem;
  Arena *arena;
  Diags *diags;
  NameTable *names;
  Heap *heap;
  const char *path;
  const Onnx__ModelProto *model;
  const OnnxState *state;
  const CallFrame *frame; /* NULL: in no function */
  StrBuf items;           /* `param`s and `let`s at the top level */
  StrBuf body;
  int indent;
  PtrMap values; /* ONNX's Name -> its text, "%x" or "@w" */
  VEC(struct Shadowed {
    const Name *name;
    void *text;
  })
  shadowed;     /* undone where a graph ends */
  PtrMap types; /* the text of a sequence or an optional -> its OnnxType */
  PtrMap taken; /* Names of the program, to the last number after each */
  PtrMap dims;  /* Names that are dimensions */
  PtrMap loose; /* the texts of values whose rank is not known, since they come
                   from an element of a sequence */
  PtrMap read;  /* ONNX's Names of values that something in the model reads */
  PtrMap said;  /* ONNX's Names of attributes -> `nodes` at the last node that
                   has it */
  VEC(const Name *) dim_list;
  int depth; /* of graphs within graphs and functions */
  int nodes; /* written so far; a function's count at each call */
} Import;

/* --- names.c -------------------------------------------------------------- */

/* Text of a file as a message can show it: a file may hold anything. */
const char *shown(Import *im, const char *text);
/* Reports against a node; false. */
bool node_error(Import *im, const Onnx__NodeProto *n, DiagCode code,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A new name of the program, with its characters as a name may have them. */
const Name *new_name(Import *im, const char *wanted);
/* Binds a value of the model to the text that stands for it. */
void bind_text(Import *im, const char *name, const char *text);

/* Between the two, what a graph binds is known. */
size_t graph_begin(Import *im);
void graph_end(Import *im, size_t mark);
/* The value of a name that a graph has given; NULL: it has given none. */
const char *value_text(Import *im, const char *name);
/* Notes the names that nodes and outputs read, before any text is made. */
void note_read(Import *im, const Onnx__ModelProto *m);
/* Does anything read a value of that name? */
bool is_read(Import *im, const char *name);
/* Has the node an output i, and does anything read it? */
bool output_is_read(Import *im, const Onnx__NodeProto *n, size_t i);
/* The text of input i, of type "%x" or "@w"; NULL: it is not given.  A name
 * without a value was reported where `*failed` is set. */
const char *input_text(Import *im, const Onnx__NodeProto *n, size_t i,
                       bool *failed);
/* A new local name for a value, which is bound to it; with its sigil. */
const char *bind_local(Import *im, const char *name);
/* A new local name that no value of the model has. */
const char *fresh_local(Import *im, const char *base);

/* The type of a value by its text, where it is no tensor: a sequence or an
 * optional.  NULL: a tensor. */
const OnnxType *type_of(Import *im, const char *text);
const OnnxType *onnx_sequence_type(void); /* of tensors */
void set_type(Import *im, const char *text, const OnnxType *type);
/* Of a tensor whose dtype in ONNX the language lacks, that one's name (read.h).
 * NULL: it has the dtype, or the importer has not seen that it lacks it. */
const char *format_of(Import *im, const char *text);
void set_format(Import *im, const char *text, const char *format);
/* Of the first output. */
void set_output_format(Import *im, const Onnx__NodeProto *n,
                       const char *format);
/* The name of a tensor's dtype, of inputs of the model; NULL: it is not known.
 */
const char *dtype_of(Import *im, const char *text);
bool is_string(Import *im, const char *text);
/* Notes the node's outputs as loose if one of its inputs is loose or is no
 * tensor. */
void pass_on_loose(Import *im, const Onnx__NodeProto *n);
/* A value of one element as a condition. */
const char *as_condition(Import *im, const char *text);
/* The value as one of the other type, which may be an optional of it or what
 * the value is an optional of. */
const char *as_type(Import *im, const char *text, const OnnxType *to);
/* Sets the type of an output that is bound, where it is no tensor. */
void set_output_type(Import *im, const Onnx__NodeProto *n, size_t i,
                     const OnnxType *type);

/* --- text.c --------------------------------------------------------------- */

/* A line of the body, indented. */
void line(Import *im, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The type's text, in the program's arena; NULL after reporting.  `declares`:
 * names of dimensions are made parameters of @main. */
const char *type_text(Import *im, const char *what, const Onnx__TypeProto *t,
                      bool declares, OnnxType *out);

/* The program's name for a dimension that the model names; NULL: it is no word,
 * or no parameter, unless `declares`. */
const Name *dim_name(Import *im, const char *param, bool declares);

/* The tensor in brackets. */
const char *literal(Import *im, const Tensor *t);
/* Is the tensor written where it is used, not kept beside the program? */
bool is_literal(const Tensor *t);
/* The param or the let of an initializer.  False after reporting. */
bool emit_initializer(Import *im, const Onnx__TensorProto *p);
/* A tensor of the model's, under a name at the top level.  Consumes it. */
bool emit_constant_take(Import *im, const char *name, Tensor *t);

/* --- call.c --------------------------------------------------------------- */

/* AttributeProto.AttributeType. */
enum {
  IS_FLOAT = 1,
  IS_INT = 2,
  IS_STRING = 3,
  IS_TENSOR = 4,
  IS_GRAPH = 5,
  IS_FLOATS = 6,
  IS_INTS = 7,
  IS_STRINGS = 8,
  IS_TYPE = 13
};
/* Files of IR version 1 leave the type out. */
int attr_type(const Onnx__AttributeProto *a);
/* The attribute, or where it refers to one of the function that is called, that
 * one. */
const Onnx__AttributeProto *attr_meant(Import *im,
                                       const Onnx__AttributeProto *a);
/* The node's attribute, looked up through the functions under way; NULL: it has
 * none. */
const Onnx__AttributeProto *node_attr(Import *im, const Onnx__NodeProto *n,
                                      const char *name);
int64_t node_int(Import *im, const Onnx__NodeProto *n, const char *name,
                 int64_t otherwise);

/* The value as it stands in a call.  `flag`: '?' a bool, '!' a scalar of the
 * dtype that is meant, '$' the dtype's name, '#' integers of 64 bits, '<' those
 * of a slice, '~' modes of a tree's nodes as numbers, '@' strings as a tensor
 * of bytes. */
bool add_attr(Import *im, const Onnx__NodeProto *n,
              const Onnx__AttributeProto *a, char flag, StrBuf *out);

/* The text of input i, which has to be there; NULL after reporting. */
const char *needed_input(Import *im, const Onnx__NodeProto *n, size_t i);

/* `let %y = CALL;`, or lets of the results of a tuple; binds the outputs. */
void emit_results(Import *im, const Onnx__NodeProto *n, const char *call,
                  bool tuple);

/* A node as its operator's row says. */
bool emit_call(Import *im, const Onnx__NodeProto *n, const OnnxOp *op);

/* --- state.c -------------------------------------------------------------- */

/* After the graph's function, `@step_pure`: the cells, `@step`, `@reset`.
 * False after reporting. */
bool write_state(Import *im, const OnnxState *wanted);

/* --- import.c ------------------------------------------------------------- */

/* Nodes and initializers of a graph; false after reporting. */
bool emit_graph(Import *im, const Onnx__GraphProto *g);
/* The outputs' texts, "%a, %b"; NULL after reporting. */
const char *graph_results(Import *im, const Onnx__NodeProto *n,
                          const Onnx__GraphProto *g, size_t from, size_t to);

#endif
