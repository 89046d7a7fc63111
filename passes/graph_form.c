/* ToGraphNormalForm: a `let` whose value is a call of an operator becomes a
 * graph variable, as Relay prints its dataflow graphs.
 *
 *   let %a = nn.relu(%x);          %0 = nn.relu(%x);
 *   let %b = %a * %a;       ==>    %1 = %0 * %0;
 *   if (%c) { %b } else { %x }     if (%c) { %1 } else { %x }
 *
 * A graph variable is evaluated before its first use, in the innermost scope
 * that holds all its uses, and not at all without uses.  So a `let` becomes one
 * only if its value is pure (TVM's pass moves reads of cells, too), and only
 * where the function around it uses the variable: in the body of a `fn` it
 * would be evaluated at each call.  A `let` whose value needs the annotation to
 * have a type, or has another type, stays. */
#include <stdlib.h>

#include "ops/ops.h"
#include "passes/rewrite.h"

typedef struct Graph {
  Program *p;
  Arena *arena;
  PtrMap level; /* Var -> how many functions are around it, and one */
  PtrMap used;  /* Vars that the function which binds them uses */
  long long next;
} Graph;

static bool is_tensors(const Type *t) {
  bool fits = t && (t->kind == TY_TENSOR || t->kind == TY_TUPLE);
  for (int i = 0; fits && t->kind == TY_TUPLE && i < t->count; i++)
    fits = t->args[i]->kind == TY_TENSOR;
  return fits;
}

static bool is_node(const Graph *g, const Block *block, const Binding *b) {
  return block_is_let(block, b) && !b->var->is_dim && !b->var->lazy &&
         (expr_operator(b->value) || b->value->kind == EX_PROJ ||
          b->value->kind == EX_TUPLE) &&
         b->value->type == b->var->type && is_tensors(b->value->type) &&
         ptrmap_has(&g->used, b->var) && expr_is_pure(g->p, b->value) &&
         !expr_has_adjoint(g->p, b->value);
}

/* Finds the variables that their own functions use, and the first number that
 * no graph variable has. */
static void look(Graph *g, const Expr *e) {
  ExprWalk w;
  intptr_t depth = 1;
  expr_walk_start(&w, g->p->mem, WALK_ENTER | WALK_LEAVE | WALK_BIND, e);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_BIND) {
      ptrmap_put(&g->level, w.var, (void *)depth);
      long long number = w.var->lazy ? atoll(w.var->name->text) : -1;
      if (number >= g->next) g->next = number + 1;
      continue;
    }
    if (w.at->kind == EX_FN) depth += w.event == WALK_ENTER ? 1 : -1;
    if (w.event == WALK_ENTER && w.at->kind == EX_VAR &&
        ptrmap_get(&g->level, w.at->var) == (void *)depth)
      ptrmap_put(&g->used, w.at->var, w.at->var);
  }
  expr_walk_end(&w);
}

static void number_nodes(Graph *g, ExprMap *m) {
  const Block *was = m->walk.at->block;
  for (int i = 0; i < was->count; i++) {
    const Binding *b = &was->bindings[i];
    if (b->sugar || !is_node(g, was, b) || !pass_may_rewrite(g->p, b->span))
      continue;
    Binding *nodes = expr_map_own_bindings(m);
    if (!nodes) return;
    nodes[i].sugar = SUGAR_GRAPH;
    nodes[i].var->name =
        name_of(g->p->names, arena_printf(g->arena, "%lld", g->next++));
  }
}

Rewrite pass_graph_form;

const Expr *pass_graph_form(Program *p, Arena *arena, const Expr *e) {
  Graph g = {.p = p, .arena = arena};
  ExprMap m;
  ptrmap_init(&g.level, p->mem);
  ptrmap_init(&g.used, p->mem);
  look(&g, e);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_LEAVE && m.made->kind == EX_BLOCK)
      number_nodes(&g, &m);
  ptrmap_done(&g.level);
  ptrmap_done(&g.used);
  return expr_map_end(&m);
}
