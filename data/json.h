/* What the files of the JSON form share: the words of its tables, and the
 * writer.  json_write.c writes units, json_expr.c expressions, json_value.c
 * types, constants and attributes; json_read.c and its neighbours read them. */
#ifndef DATA_JSON_H
#define DATA_JSON_H

#include "data/data.h"
#include "ir/printer.h"

enum { JSON_VERSION = 1 };

/* The words for Sugar, by its values; NULL: nothing is said of it. */
extern const char *const data_sugar[];
enum { JSON_SUGARS = SUGAR_WHERE + 1 };
/* The words for BindingKind, by its values up to BIND_FREE. */
extern const char *const data_binding_kinds[];

/* The tables of a document under way.  A row refers to earlier rows by their
 * index, so that nothing nests and what is shared is written once. */
typedef struct Json {
  const Program *program;
  Mem *mem;
  Printer p; /* of the item at hand: names, and what types can say */
  StrBuf files, types, nodes, items;
  int file_count, type_count, node_count, item_count;
  PtrMap file_at; /* SourceFile -> its index + 1 */
  PtrMap type_at; /* Type or TypeExpr -> its index + 1 */
  VEC(int) parts; /* indices of nodes that are parts of those under way */
} Json;

/* --- json_value.c --------------------------------------------------------- */

void data_string(StrBuf *out, const char *text);
/* `, "key": ` */
void data_key(StrBuf *out, const char *key);
void data_member(StrBuf *out, const char *key, const char *text);
void data_number(StrBuf *out, const char *key, int64_t number);
/* `, "key": [0, 1]`: indices of rows. */
void data_indices(StrBuf *out, const char *key, int count, const int *indices);
/* A text of bytes: a string where it is one, else {"base64": ...}. */
void data_bytes(StrBuf *out, const char *bytes, size_t len);
/* NaNs, infinities and integers beyond int64 are strings. */
void data_scalar(StrBuf *out, DType dtype, Value bits);
/* {"dtype": ..., "shape": [...], "data": [...]}, of a large one "base64". */
void data_tensor(StrBuf *out, const struct Tensor *t);
/* The index of the type among the types; -1: there is none. */
int data_type(Json *j, const Type *t);
/* Writes a part, on a further piece of stack where the first is used up. */
typedef int DataWrite(Json *j, const void *part);
int data_split(Json *j, DataWrite *write, const void *part);
int data_type_expr(Json *j, const TypeExpr *t);
/* The annotation of a binder, as the printer would choose it; -1: none. */
int data_annotation(Json *j, const TypeExpr *written, const Type *found);
/* The rows of a list of parameters. */
void data_type_params(StrBuf *out, int count, const TypeParam *params);
void data_effects(StrBuf *out, Effects e);
/* `, "span": [file, line, column, end line, end column]`, or nothing. */
void data_span(Json *j, StrBuf *out, Span span);

/* --- json_expr.c ---------------------------------------------------------- */

/* Adds the expression's nodes; gives the index of the last, which is its own.
 */
int data_expr(Json *j, const Expr *e);

#endif
