/* The graph of a checked program, between graph.c, which builds it, and
 * graph_write.c, which writes it as JSON, for Graphviz or as a page. */
#ifndef DATA_GRAPH_H
#define DATA_GRAPH_H

#include "data/data.h"

/* What a node is; graph.def has a row for each. */
typedef enum NodeKind {
#define NODE(id, ...) NODE_##id,
#include "data/graph.def"
#undef NODE
  NODE_KINDS
} NodeKind;

typedef struct NodeLook {
  const char *word;  /* in JSON, and as a class in the page */
  const char *shape; /* Graphviz's */
} NodeLook;
extern const NodeLook node_looks[NODE_KINDS];

/* A cluster: a definition, a function, a branch, an arm. */
typedef struct GraphRegion {
  int parent; /* -1: the whole */
  const char *kind, *label;
} GraphRegion;

typedef struct GraphNode {
  NodeKind kind;
  int region;
  const char *label;
  const char *detail; /* attributes, or NULL */
  const char *name;   /* of the variable that a let binds to it, or NULL */
  const Type *type;   /* of its value, or NULL */
  Effects effects;    /* of evaluating it */
  Span span;
} GraphNode;

typedef struct GraphEdge {
  int from, to;
  bool control;     /* `from` is evaluated before, whatever flows */
  const char *port; /* what it is to `to`: "then"; or NULL */
  const Type *type; /* of what flows; NULL of a control edge */
} GraphEdge;

typedef struct Graph {
  const Program *program;
  Mem *mem;
  Arena arena; /* of the texts */
  VEC(GraphRegion) regions;
  VEC(GraphNode) nodes;
  VEC(GraphEdge) edges;
} Graph;

/* The graph of the unit's items, or of `entry` (NULL: of all) and what it
 * reaches of them.  graph_done() is due in any case. */
void graph_build(Graph *g, const Program *p, const Unit *u,
                 const Global *entry);
void graph_done(Graph *g);

#endif
