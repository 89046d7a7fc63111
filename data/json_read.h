/* What the files of the reader share.  json_read.c reads the document and its
 * items, json_node.c nodes, json_part.c types, constants, attributes and
 * patterns, json_place.c where all of it stood.
 *
 * The document comes from outside: every kind, index, name and size is looked
 * at here, and a mistake is told with its place in the document.  A row may use
 * only earlier rows, and a node has one user, so what is read is a tree. */
#ifndef DATA_JSON_READ_H
#define DATA_JSON_READ_H

#include <jansson.h>

#include "data/data.h"
#include "data/json.h"

/* A step into the document: a member, or an element where `key` is NULL. */
typedef struct PathStep {
  const char *key;
  size_t index;
} PathStep;

typedef struct TypeRow {
  TypeExpr *type;
  int height;
  uint32_t size; /* nodes as a tree, saturating */
} TypeRow;

typedef struct Reader {
  Program *program;
  Mem *mem;
  Arena arena; /* of the tree, until it is text */
  const SourceFile *source;
  json_t *document;
  size_t held; /* bytes entered for the document's tree */
  VEC(PathStep) path;
  VEC(struct Tensor *) constants;
  TypeRow *types;
  Expr **nodes;
  bool *used;              /* by node: it is part of another, or of an item */
  size_t types_read, read; /* rows so far */
  bool failed;
} Reader;

/* Reports what is wrong at the place at hand, or at a member of it (NULL: at
 * the place itself); the first mistake only.  NULL. */
void *data_wrong(Reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Every loop over the document ends when this is true. */
bool data_stopped(const Reader *r);

void data_enter(Reader *r, const char *key);
void data_enter_row(Reader *r, size_t index);
void data_leave(Reader *r);

/* --- Members -------------------------------------------------------------- */

enum { JSON_NEEDED = true, JSON_MAY_LACK = false };
const char *data_text(Reader *r, const json_t *from, const char *key,
                      bool needed);
/* A name that the scanner reads as one; of a variable or a definition it may
 * have parts (`fc.weight`). */
const Name *data_name(Reader *r, const json_t *from, const char *key);
/* A number from 0 to `most`; -1: there is none, which was reported if needed.
 */
int64_t data_index(Reader *r, const json_t *from, const char *key, int64_t most,
                   bool needed);
bool data_flag(Reader *r, const json_t *from, const char *key);
/* A list, empty when there is none; NULL after reporting. */
const json_t *data_list(Reader *r, const json_t *from, const char *key,
                        bool needed);
/* Does it have the member? */
static inline bool data_has(const json_t *from, const char *key) {
  return json_object_get(from, key) != NULL;
}

/* --- json_place.c --------------------------------------------------------- */

/* What `read` was made of tells where its parts stood; NULL without memory. */
JsonPlaces *json_places_of(Reader *r, const Unit *read);

/* --- json_part.c ---------------------------------------------------------- */

/* A row of the types. */
void data_read_type(Reader *r, const json_t *row);
/* The type that a member names, for a text; NULL: none, or after reporting. */
const TypeExpr *data_type_at(Reader *r, const json_t *from, const char *key);
const TypeExpr *const *data_types_at(Reader *r, const json_t *from,
                                     const char *key, int *count);
const TypeParam *data_read_params(Reader *r, const json_t *from,
                                  const char *key, int *count);
/* The tensor that a member is; the reader keeps it. */
struct Tensor *data_read_tensor(Reader *r, const json_t *from, const char *key);
/* The bytes of a text that is a member, in the arena. */
const char *data_read_bytes(Reader *r, const json_t *x, const char *key,
                            size_t *len);
const Attr *data_read_attrs(Reader *r, const json_t *from, int *count);
const Pattern *data_read_pattern(Reader *r, const json_t *from,
                                 const char *key);

/* --- json_node.c ---------------------------------------------------------- */

/* A row of the nodes; NULL after reporting. */
Expr *data_read_node(Reader *r, const json_t *row);
/* The node that a member names, which nothing else has; NULL after reporting.
 */
Expr *data_node_at(Reader *r, const json_t *from, const char *key);

#endif
