/* The operators that the reverse sweep applies itself, beside those of rules
 * (sweep.h).  Their sites belong to the code, which all sessions share, and are
 * made when first used. */
#include "vm/sweep.h"

static_assert(SITE_JOIN + JOIN_MOST - 1 == DUAL_SITES, "a place for each site");

/* The sum of rows. */
static void reduce_first_axis(Code *c, Attrs *attrs) {
  Dim *axis = ARENA_ARRAY(&c->arena, Dim, 1);
  for (int i = 0; axis && i < attrs->op->attr_count; i++) {
    if (attrs->op->attrs[i].name != ATTR_axis) continue;
    axis[0] = dim_of(0);
    attrs->values[i].state = AV_SET;
    attrs->values[i].count = 1;
    attrs->values[i].ints = axis;
  }
}

/* Joins `count` tensors, or takes so many operands. */
static OpSite *make_site(Code *c, OpId id, int count) {
  static const OpSource single[3] = {
      {.kind = FROM_TENSOR}, {.kind = FROM_TENSOR}, {.kind = FROM_TENSOR}};
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, (size_t)count + 1);
  Attrs *attrs = attrs_new(&c->arena, op_info(id));
  OpSource *tuple = ARENA_NEW(&c->arena, OpSource);
  OpSite *site = ARENA_NEW(&c->arena, OpSite);
  bool joins = id == OP_CONCATENATE;
  if (!types || !attrs) return site;
  for (int i = 0; i < count; i++) types[i] = type_unit(c->program->types);
  tuple->kind = FROM_TUPLE;
  if (joins) tuple->type = type_tuple(c->program->types, count, types);
  if (id == OP_NN_MATMUL) attr_set_number(attrs, ATTR_transpose_a, 1);
  if (id == OP_SUM) reduce_first_axis(c, attrs);
  if (id == OP_SCATTER_ND) attr_set_text(attrs, ATTR_mode, "add");
  *site = (OpSite){.op = op_info(id),
                   .attrs = attrs,
                   .span = SPAN_NONE,
                   .number = NO_PLAN,
                   .source_count = joins ? 1 : count,
                   .sources = joins ? tuple : single,
                   .arg_count = count,
                   .out_count = 1,
                   .out_types = types};
  return site;
}

bool sweep_apply(Session *s, int which, int n, const Value *args,
                 uint32_t ending, Value *out) {
  static const OpId ids[] = {OP_ADD,       OP_COLLAPSE_SUM_LIKE,
                             OP_NN_MATMUL, OP_SCATTER_ND,
                             OP_SUM,       OP_CONCATENATE};
  Code *c = s->code;
  pthread_mutex_lock(&c->lock);
  OpSite **site = &c->dual_sites[which];
  if (!*site)
    *site = make_site(c, ids[which < SITE_JOIN ? which : SITE_JOIN], n);
  pthread_mutex_unlock(&c->lock);
  bool ok = dual_apply(s, *site, n, args, ending, 1, out);
  arena_reset(&s->scratch);
  return ok;
}
