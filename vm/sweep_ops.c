/* The operators that the reverse sweep applies itself, beside those of rules
 * (sweep.h).  Their sites belong to the code, which all sessions share, and are
 * made when first used. */
#include "vm/sweep.h"

static_assert(ADJOINT_JOIN + JOIN_MOST - 1 == DUAL_SITES,
              "a place for each site");

/* On n tensors, which ADJOINT_JOIN takes as a tuple; NULL: memory ran out. */
static OpSite *make_site(Code *c, AdjointOp which, int n) {
  static const OpSource single[3] = {
      {.kind = FROM_TENSOR}, {.kind = FROM_TENSOR}, {.kind = FROM_TENSOR}};
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)n + 1);
  if (!types) return NULL;
  const Attrs *attrs = adjoint_op(&c->arena, which);
  OpSource *tuple = ARENA_NEW(&c->arena, OpSource);
  OpSite *site = ARENA_NEW(&c->arena, OpSite);
  bool joins = which == ADJOINT_JOIN;
  for (int i = 0; i < n; i++) types[i] = type_unit(c->program->types);
  tuple->kind = FROM_TUPLE;
  if (joins) tuple->type = type_tuple(c->program->types, n, types);
  *site = (OpSite){.op = attrs->op,
                   .attrs = attrs,
                   .span = SPAN_NONE,
                   .number = NO_PLAN,
                   .source_count = joins ? 1 : n,
                   .sources = joins ? tuple : single,
                   .arg_count = n,
                   .out_count = 1,
                   .out_types = types};
  return site;
}

bool sweep_apply(Session *s, AdjointOp which, int n, const Value *args,
                 uint32_t ending, Value *out) {
  Code *c = s->code;
  int number = which == ADJOINT_JOIN ? ADJOINT_JOIN + n - 2 : (int)which;
  OpSite **site = &c->dual_sites[number];
  pthread_mutex_lock(&c->lock);
  if (!*site) *site = make_site(c, which, n);
  pthread_mutex_unlock(&c->lock);
  if (!*site) return vm_out_of_memory(s);
  bool ok = dual_apply(s, *site, n, args, ending, 1, out);
  arena_reset(&s->scratch);
  return ok;
}
