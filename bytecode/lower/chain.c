/* Operator fusion: element-wise operators of a block become one instruction, a
 * chain, and no tensor lies between them (kernels/fuse.h runs it).
 *
 * A group collects members while instructions pass that do not concern it; the
 * chain stands where the group ends.  Members are put off until then, and that
 * must not show: an instruction that reads a member's result, jumps, or has an
 * effect ends the group; and of two operators that may fail, the first stays
 * the first.
 *
 * A concatenation of the chain's results that is their only reader joins the
 * chain, which then writes them where they stand in the concatenation's result.
 *
 * Two kinds of views of a tensor can be absorbed: an even `split`, and the
 * `take` of one row.  If only members read the view, it is not made, and the
 * chain reads its elements where they are. */
#include <string.h>

#include "bytecode/lower/lower.h"

typedef struct RegUse {
  uint32_t reads; /* in the whole list */
  uint32_t group; /* the last group that knows it; then: */
  bool is_read;   /* by the group, as its input */
  int member;     /* whose result it is; -1: of none */
  int view, part; /* which part of which view it is; -1: of none */
} RegUse;

/* A split or take that is not made if the group absorbs it. */
typedef struct View {
  size_t at;         /* in `out` */
  Reg source, index; /* NO_REG: a split */
  const OpSite *site;
  uint32_t reads; /* of results, by members */
  uint32_t all_reads;
} View;

enum { VIEWS = 8 };

typedef struct Group {
  int count;
  bool may_fail, divides;
  Ins members[FUSE_STEPS];
  int view_count;
  View views[VIEWS];
} Group;

typedef struct Chains {
  Lower *l;
  VEC(Ins) out;
  RegUse *uses;
  uint32_t groups; /* the number of the current one */
  Group group;
} Chains;

/* --- Operands ----------------------------------------------------------- */

static const OpSite *site_of(const Ins *i) { return ins_op_site(i); }

static Reg listed(const Chains *c, const Ins *i, int k) {
  return c->l->listed.data[i->list + (uint32_t)k].reg;
}

/* What the group knows of a register.  Entries of an earlier group are stale
 * and are reset when they are met: no group has to clear the table. */
static RegUse *use_of(Chains *c, Reg r) {
  RegUse *u = &c->uses[r];
  if (u->group != c->groups) {
    u->group = c->groups;
    u->is_read = false;
    u->member = u->view = -1;
  }
  return u;
}

/* --- Members ------------------------------------------------------------ */

/* A step of the member's own operator. */
static int add_own(Fuse *f, const OpSite *site, DType dtype,
                   const int *operands) {
  const OpInfo *op = site->op;
  double params[OP_PARAMS_MAX] = {0};
  if (!op->params[0]) return fuse_add(f, op_id(op), dtype, operands);
  for (int i = 0; i < OP_PARAMS_MAX && op->params[i]; i++)
    params[i] = attr_real(site->attrs, op->params[i]);
  return fuse_add_params(f, op_id(op), dtype, operands[0], params);
}

/* Adds the operator as a step of `f`; gives its number, or -1 when the
 * kernels have no such step. */
static int add_step(Fuse *f, const OpSite *site, const int *operands) {
  DType dtype = site->sources[0].type->dtype;
  switch (site->op->fusion) {
    case FUSION_NONE: return -1;
    case FUSION_STEP: return add_own(f, site, dtype, operands);
    case FUSION_CAST:
      return fuse_add_cast(f, dtype, (DType)site->out_types[0]->dtype,
                           operands[0]);
    case FUSION_CHOICE:
      if (dtype != DT_BOOL) return -1;
      return add_own(f, site, (DType)site->sources[1].type->dtype, operands);
    case FUSION_BIAS:
      return fuse_add(f, op_id(site->op->fused_as), dtype, operands);
  }
  return -1;
}

/* There a vector broadcasts by itself. */
bool adds_to_last_axis(const Attrs *attrs, int rank) {
  return attr_axis(attrs, ATTR_axis, rank) == rank - 1;
}

static bool is_plain_tensor(const OpSource *s) {
  return s->kind != FROM_TUPLE && s->type->kind == TY_TENSOR;
}

static bool can_be_member(const OpSite *site) {
  if (!site || site->out_count != 1 || site->source_count > 3) return false;
  if (site->op->fusion == FUSION_NONE) return false;
  if (site->open) return false;
  if (type_is_scalar(site->out_types[0])) return false;
  for (int i = 0; i < site->source_count; i++)
    if (!is_plain_tensor(&site->sources[i])) return false;
  if (site->op->fusion == FUSION_BIAS &&
      !adds_to_last_axis(site->attrs, site->sources[0].type->rank))
    return false;
  Fuse trial;
  fuse_init(&trial, 3);
  static const int inputs[] = {FUSE_INPUT(0), FUSE_INPUT(1), FUSE_INPUT(2)};
  return add_step(&trial, site, inputs) >= 0;
}

/* --- Can it fail? ------------------------------------------------------- */

static bool divides_integers(const OpSite *site) {
  return site->op->fails == FAILS_DIVISOR &&
         !dtype_is_float((DType)site->out_types[0]->dtype);
}

/* Dimension `i` from the right; 1 where there is none. */
static Dim dim_from_right(const Type *t, int i) {
  return i < t->rank ? t->dims[t->rank - 1 - i] : dim_of(1);
}

bool types_broadcast(const Type *result, int count, const Type *const *types) {
  for (int i = 0; i < result->rank; i++) {
    Dim common = dim_of(1);
    for (int k = 0; k < count; k++) {
      Dim d = dim_from_right(types[k], i);
      if (dim_is(d, 1)) continue;
      if (!dim_is(common, 1) && (!dim_same(d, common) || dim_is_any(d)))
        return false;
      common = d;
    }
  }
  return true;
}

static bool member_may_fail(const OpSite *site) {
  const Type *types[3];
  for (int i = 0; i < site->source_count; i++) types[i] = site->sources[i].type;
  return divides_integers(site) ||
         !types_broadcast(site->out_types[0], site->source_count, types);
}

/* --- Making chains ------------------------------------------------------ */

/* One chain under construction, of members [from, to). */
typedef struct Making {
  int from, to;
  Fuse fuse;
  ChainInput inputs[FUSE_INPUTS];
  int source_count;
  Reg source_regs[FUSE_INPUTS];
  OpSource sources[FUSE_INPUTS];
  uint32_t inner_reads[FUSE_STEPS];
} Making;

/* Each register is read once, whatever number of members read it. */
static int source_number(Making *m, Reg r, const OpSource *source) {
  for (int i = 0; i < m->source_count; i++)
    if (m->source_regs[i] == r) return i;
  if (m->source_count == FUSE_INPUTS) return -1;
  m->source_regs[m->source_count] = r;
  m->sources[m->source_count] = *source;
  return m->source_count++;
}

static bool same_input(ChainInput a, ChainInput b) {
  return a.view == b.view && a.source == b.source && a.part == b.part;
}

/* Two members that read the same part of a source share an input. */
static int input_number(Making *m, ChainInput input) {
  for (int i = 0; i < m->fuse.inputs; i++)
    if (same_input(m->inputs[i], input)) return FUSE_INPUT(i);
  if (m->fuse.inputs == FUSE_INPUTS) return -1;
  m->inputs[m->fuse.inputs] = input;
  return FUSE_INPUT(m->fuse.inputs++);
}

static bool is_absorbed(const View *v) { return v->reads == v->all_reads; }

static int split_parts(const OpSite *site) {
  return (int)attr_number(site->attrs, ATTR_indices_or_sections);
}

static int view_axis(const OpSite *site) {
  return attr_axis(site->attrs, ATTR_axis, site->sources[0].type->rank);
}

/* The input that is part `part` of a view; -1: there is no room for it. */
static int view_number(Making *m, const View *v, int part) {
  int source = source_number(m, v->source, &v->site->sources[0]);
  int index =
      v->index == NO_REG ? 0 : source_number(m, v->index, &v->site->sources[1]);
  if (source < 0 || index < 0) return -1;
  ChainInput input = {
      .view = v->site,
      .source = (uint8_t)source,
      .axis = (uint8_t)view_axis(v->site),
      .part = (uint8_t)part,
      .parts = v->index == NO_REG ? (uint8_t)split_parts(v->site) : 0,
      .index = (uint8_t)index};
  return input_number(m, input);
}

/* The input or step that register `r` is for the chain; -1: there is no
 * room. */
static int operand_number(Chains *c, Making *m, Reg r, const OpSource *source) {
  const RegUse *u = use_of(c, r);
  if (u->member >= m->from && u->member < m->to) {
    m->inner_reads[u->member - m->from]++;
    return u->member - m->from;
  }
  if (u->view >= 0 && is_absorbed(&c->group.views[u->view]))
    return view_number(m, &c->group.views[u->view], u->part);
  int number = source_number(m, r, source);
  if (number < 0) return -1;
  return input_number(m, (ChainInput){.source = (uint8_t)number});
}

static Reg result_of(const Chains *c, int member) {
  const Ins *i = &c->group.members[member];
  return listed(c, i, site_of(i)->source_count);
}

/* Is the member's result read outside of [from, to)?  A result that nobody
 * reads is an output, too, and is dropped after the chain. */
static bool is_output(const Chains *c, const Making *m, int member) {
  uint32_t inner = m->inner_reads[member - m->from];
  return inner == 0 || c->uses[result_of(c, member)].reads > inner;
}

/* Operands are numbered while steps are added, so each member's inputs are
 * known when its step is; outputs come last, when all inner reads have been
 * counted. */
static bool make_fuse(Chains *c, Making *m) {
  fuse_init(&m->fuse, 0);
  m->source_count = 0;
  memset(m->inner_reads, 0, sizeof m->inner_reads);
  for (int i = m->from; i < m->to; i++) {
    const Ins *ins = &c->group.members[i];
    const OpSite *site = site_of(ins);
    int operands[3] = {-1, -1, -1};
    for (int k = 0; k < site->source_count; k++) {
      operands[k] = operand_number(c, m, listed(c, ins, k), &site->sources[k]);
      if (operands[k] < 0) return false;
    }
    if (add_step(&m->fuse, site, operands) < 0) return false;
  }
  for (int i = m->from; i < m->to; i++)
    if (is_output(c, m, i) && !fuse_output(&m->fuse, i - m->from)) return false;
  return fuse_finish(&m->fuse);
}

static const OpSite *const *copy_members(Chains *c, const Making *m) {
  const OpSite *sites[FUSE_STEPS];
  for (int i = m->from; i < m->to; i++)
    sites[i - m->from] = site_of(&c->group.members[i]);
  return arena_copy(&c->l->code->arena, sites,
                    (size_t)(m->to - m->from) * sizeof *sites);
}

static void put_out(Chains *c, const Ins *i) { VEC_PUSH(&c->out, *i); }

/* Those of the members whose results leave the chain. */
static const Type *const *chain_types(Chains *c, const Making *m) {
  const Fuse *f = &m->fuse;
  const Type **types =
      ARENA_ARRAY(&c->l->code->arena, const Type *, (size_t)f->outputs + 1);
  for (int i = 0; types && i < f->outputs; i++) {
    int step = m->from + f->output_step[i];
    types[i] = site_of(&c->group.members[step])->out_types[0];
  }
  return types;
}

/* The name that traces and profiles show, as a chain has no place of its own in
 * the text. */
static const char *chain_name(Chains *c, const Making *m) {
  StrBuf name;
  strbuf_init(&name, c->l->code->mem);
  for (int i = m->from; i < m->to; i++) {
    strbuf_addf(&name, "%s%s", i > m->from ? "+" : "",
                site_of(&c->group.members[i])->op->name);
  }
  const char *text =
      arena_strndup(&c->l->code->arena, strbuf_text(&name), name.len);
  strbuf_done(&name);
  return text;
}

/* The chain stands where the last member stood; its sources are read and its
 * outputs defined there. */
static void put_chain(Chains *c, const Making *m) {
  Lower *l = c->l;
  Arena *arena = &l->code->arena;
  const Fuse *f = &m->fuse;
  ChainSite *site = ARENA_NEW(arena, ChainSite);
  *site = (ChainSite){
      .fuse = arena_copy(arena, f, fuse_size(f)),
      .number = l->code->plan_count++,
      .source_count = m->source_count,
      .sources = arena_copy(arena, m->sources,
                            (size_t)m->source_count * sizeof *m->sources),
      .inputs =
          arena_copy(arena, m->inputs, (size_t)f->inputs * sizeof *m->inputs),
      .members = copy_members(c, m),
      .out_types = chain_types(c, m),
      .out_count = f->outputs,
      .name = chain_name(c, m)};
  Ins ins = {.op = INS_chain,
             .words = {(uint64_t)(uintptr_t)site},
             .list = (uint32_t)l->listed.len,
             .list_count = (uint32_t)(m->source_count + f->outputs),
             .span = c->group.members[m->to - 1].span};
  for (int i = 0; i < m->source_count; i++)
    VEC_PUSH(&l->listed, (Operand){.mode = 'u', .reg = m->source_regs[i]});
  for (int i = 0; i < f->outputs; i++) {
    Reg r = result_of(c, m->from + f->output_step[i]);
    VEC_PUSH(&l->listed, (Operand){.mode = 'd', .reg = r});
  }
  put_out(c, &ins);
}

/* Members [from, to) as one chain; as two when one would have too many
 * inputs. */
static void make_chain(Chains *c, int from, int to) {
  Making m = {.from = from, .to = to};
  if (make_fuse(c, &m)) {
    put_chain(c, &m);
  } else if (to - from > 1) {
    int middle = from + (to - from) / 2;
    make_chain(c, from, middle);
    make_chain(c, middle, to);
  } else {
    put_out(c, &c->group.members[from]);
  }
}

/* --- Groups ------------------------------------------------------------- */

/* A view that others read, too, stays where it was put, and is read like any
 * tensor. */
static void group_end(Chains *c) {
  Group *g = &c->group;
  for (int i = 0; i < g->view_count; i++) {
    View *v = &g->views[i];
    if (v->reads > 0 && is_absorbed(v) && v->at < c->out.len)
      c->out.data[v->at].op = PSEUDO_nothing;
    else v->all_reads = UINT32_MAX;
  }
  if (g->count > 0) make_chain(c, 0, g->count);
  c->groups++;
  g->count = g->view_count = 0;
  g->may_fail = g->divides = false;
}

static bool same_shape(const Type *a, const Type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (!dim_same(a->dims[i], b->dims[i])) return false;
  return true;
}

/* Has the type unknown dimensions?  Two such types are likely to be of one
 * shape only if one operator reads the other's result. */
static bool has_unknown(const Type *t) {
  for (int i = 0; i < t->rank; i++)
    if (!dim_is_number(t->dims[i]) && !dim_is_form(t->dims[i])) return true;
  return false;
}

static bool reads_member(Chains *c, const Ins *i, const OpSite *site) {
  for (int k = 0; k < site->source_count; k++)
    if (use_of(c, listed(c, i, k))->member >= 0) return true;
  return false;
}

/* All members have one shape, so that one loop runs them; of two that may
 * divide by zero only one joins, so that the first to fail is known. */
static bool joins(Chains *c, const Ins *i, const OpSite *site) {
  const Group *g = &c->group;
  if (g->count == 0) return true;
  const Type *shape = site_of(&g->members[0])->out_types[0];
  if (g->count == FUSE_STEPS || !same_shape(shape, site->out_types[0]))
    return false;
  if (g->divides && divides_integers(site)) return false;
  return !has_unknown(shape) || reads_member(c, i, site);
}

static void add_member(Chains *c, const Ins *i, const OpSite *site) {
  Group *g = &c->group;
  Reg result = listed(c, i, site->source_count);
  if (!joins(c, i, site) || use_of(c, result)->is_read ||
      use_of(c, result)->member >= 0)
    group_end(c);
  for (int k = 0; k < site->source_count; k++) {
    RegUse *u = use_of(c, listed(c, i, k));
    if (u->view >= 0) c->group.views[u->view].reads++;
    if (u->member < 0) u->is_read = true;
  }
  g->may_fail |= member_may_fail(site);
  g->divides |= divides_integers(site);
  use_of(c, result)->member = g->count;
  g->members[g->count++] = *i;
}

/* A split into even parts, along a known axis: it cannot fail. */
static bool is_even_split(const OpSite *site) {
  if (!site || site->op->view != VIEW_PARTS) return false;
  const AttrValue *v = attr_get(site->attrs, ATTR_indices_or_sections);
  const AttrValue *axis = attr_get(site->attrs, ATTR_axis);
  if (v->count != COUNT_SCALAR || v->operand >= 0 || axis->operand >= 0 ||
      site->source_count != 1 || !is_plain_tensor(&site->sources[0]))
    return false;
  return site->out_count == split_parts(site) && site->out_count <= 16 &&
         !has_unknown(site->sources[0].type) &&
         !has_unknown(site->out_types[0]);
}

/* One row of a tensor, by a number that is clipped: it cannot fail for its
 * number. */
static bool is_row(const OpSite *site) {
  if (!site || site->op->view != VIEW_ROW || site->source_count != 2)
    return false;
  const AttrValue *axis = attr_get(site->attrs, ATTR_axis);
  return axis->state == AV_SET && axis->operand < 0 &&
         attr_word(site->attrs, ATTR_mode) == TAKE_CLIP &&
         site->sources[0].kind == FROM_TENSOR &&
         site->sources[0].type->rank > 1 && site->sources[1].kind == FROM_BITS;
}

/* The view is put out where it stands, and taken away at the end of the
 * group if only members have read it. */
static void add_view(Chains *c, const Ins *i, const OpSite *site) {
  Group *g = &c->group;
  bool row = is_row(site);
  bool fails = row && has_unknown(site->sources[0].type);
  if (use_of(c, listed(c, i, 0))->member >= 0 || g->view_count == VIEWS ||
      (fails && g->may_fail))
    group_end(c);
  g->may_fail |= fails;
  View *v = &g->views[g->view_count];
  *v = (View){.at = c->out.len,
              .source = listed(c, i, 0),
              .index = row ? listed(c, i, 1) : NO_REG,
              .site = site};
  use_of(c, v->source)->is_read = true;
  if (row) use_of(c, v->index)->is_read = true;
  for (int k = 0; k < site->out_count; k++) {
    Reg part = listed(c, i, site->source_count + k);
    RegUse *u = use_of(c, part);
    u->view = g->view_count;
    u->part = k;
    v->all_reads += c->uses[part].reads;
  }
  g->view_count++;
  put_out(c, i);
}

/* --- Concatenations ----------------------------------------------------- */

/* Which output of the chain is in the register; -1: none is. */
static int output_in(const Chains *c, const Ins *chain, const ChainSite *site,
                     Reg r) {
  for (int o = 0; o < site->out_count; o++)
    if (listed(c, chain, site->source_count + o) == r) return o;
  return -1;
}

/* Notes in `parts` which operand of the concatenation each output of the chain
 * is.  False unless all operands are outputs, each another one, that nothing
 * else outside of the chain reads. */
static bool find_parts(const Chains *c, const Ins *chain, const ChainSite *site,
                       const Ins *join, uint8_t *parts) {
  const OpSite *of = site_of(join);
  for (int k = 0; k < of->source_count; k++) {
    Reg r = listed(c, join, k);
    int o = output_in(c, chain, site, r);
    if (o < 0 || parts[o]) return false;
    int inner = fuse_reads(site->fuse, site->fuse->output_step[o]);
    if (c->uses[r].reads != (uint32_t)inner + 1) return false;
    parts[o] = (uint8_t)(k + 1);
  }
  return true;
}

static bool is_concatenation(const OpSite *site) {
  return site && site->op->joins && !site->open && site->source_count > 1 &&
         attr_get(site->attrs, ATTR_axis)->operand < 0;
}

/* Makes the outputs that are no parts the results of the chain, and after them
 * that of the concatenation. */
static void set_results(Chains *c, Ins *chain, ChainSite *site,
                        const Ins *join) {
  Lower *l = c->l;
  const OpSite *of = site->join;
  int outputs = site->out_count, n = 0;
  Operand *to = &l->listed.data[chain->list + (uint32_t)site->source_count];
  const Type **types =
      ARENA_ARRAY(&l->code->arena, const Type *, (size_t)outputs + 1);
  for (int o = 0; types && o < outputs; o++) {
    if (site->parts[o]) continue;
    types[n] = site->out_types[o];
    to[n++] = to[o];
  }
  if (!types) {
    l->failed = true;
    return;
  }
  types[n] = of->out_types[0];
  to[n++] = (Operand){.mode = 'd', .reg = listed(c, join, of->source_count)};
  site->out_types = types;
  site->out_count = n;
  chain->list_count = (uint32_t)(site->source_count + n);
}

static bool mentions(const Chains *c, const Ins *i, Reg r) {
  for (OperandWalk w = ins_operands(c->l, i); operand_next(&w);)
    if (w.role & REGISTER && w.now.reg == r) return true;
  return false;
}

static bool may_fail(const Ins *i) {
  const OpSite *site = site_of(i);
  return site ? site_may_fail(site) : ins_row(i)->flags & FAIL;
}

/* May the concatenation `join` run before this instruction?  Not where that
 * sets or reads its result; nor, where it may fail, before what may fail or has
 * an effect, which must come first. */
static bool may_precede(const Chains *c, const Ins *join, Ins *i) {
  const OpSite *of = site_of(join);
  bool quiet = ins_row(i)->flags & QUIET && !may_fail(i);
  return !ins_ends_block(i) &&
         !mentions(c, i, listed(c, join, of->source_count)) &&
         (quiet || !site_may_fail(of));
}

/* The chain of this block that gives the concatenation's first operand, if the
 * concatenation may run right after it; else NULL.  It is not looked for
 * further than BETWEEN instructions back: a block may have any number. */
static Ins *chain_before(const Chains *c, const Ins *join) {
  enum { BETWEEN = 64 };
  Reg part = listed(c, join, 0);
  size_t k = c->out.len, first = k > BETWEEN ? k - BETWEEN : 0;
  while (k-- > first) {
    Ins *i = &c->out.data[k];
    const ChainSite *site = (const ChainSite *)(uintptr_t)i->words[0];
    if (i->op == INS_chain && output_in(c, i, site, part) >= 0) return i;
    if (!may_precede(c, join, i)) return NULL;
  }
  return NULL;
}

/* If the instruction is a concatenation of results of a chain that may do it,
 * lets it join the chain; false: it stays an instruction. */
static bool join_chain(Chains *c, const Ins *join) {
  Arena *arena = &c->l->code->arena;
  const OpSite *of = site_of(join);
  uint8_t parts[FUSE_OUTPUTS] = {0};
  if (!is_concatenation(of)) return false;
  Ins *chain = chain_before(c, join);
  if (!chain) return false;
  ChainSite *site = (ChainSite *)(uintptr_t)chain->words[0];
  if (site->join || !find_parts(c, chain, site, join, parts)) return false;
  site->join = of;
  site->parts = arena_copy(arena, parts, sizeof parts);
  site->name = arena_printf(arena, "%s+%s", site->name, of->op->name);
  if (site->parts && site->name) set_results(c, chain, site, join);
  else c->l->failed = true;
  return true;
}

/* --- What passes -------------------------------------------------------- */

/* May this operator fail at run time?  Not where the checker knew all
 * dimensions. */
bool site_may_fail(const OpSite *site) {
  if (site->open || site->op->fails) return true;
  for (int i = 0; i < site->source_count; i++) {
    const Type *t = site->sources[i].type;
    if (t->kind != TY_TENSOR || has_unknown(t)) return true;
  }
  return false;
}

/* An instruction that is no member.  It ends the group if the group cannot
 * be put off after it: if it has an effect that others see, reads a
 * member's result or sets a member's operand, or may fail when a member may. */
static void add_other(Chains *c, const Ins *i) {
  bool quiet = ins_row(i)->flags & QUIET;
  if (!quiet || (c->group.may_fail && may_fail(i))) group_end(c);
  bool touches = false;
  for (OperandWalk w = ins_operands(c->l, i); operand_next(&w);) {
    if (!(w.role & REGISTER)) continue;
    const RegUse *u = use_of(c, w.now.reg);
    touches |= u->member >= 0;
    touches |= w.role & SETS && (u->is_read || u->view >= 0);
  }
  /* Not within the walk: ending a group adds to the lists that are walked. */
  if (touches) group_end(c);
  if (!join_chain(c, i)) put_out(c, i);
}

/* Each instruction is one of three: a member, a view that may be absorbed, or
 * one that the group has to let pass. */
static void add_ins(Chains *c, const Ins *i) {
  const OpSite *site = site_of(i);
  if (can_be_member(site)) add_member(c, i, site);
  else if (is_even_split(site) || is_row(site)) add_view(c, i, site);
  else add_other(c, i);
}

/* --- The walk ----------------------------------------------------------- */

static void write_back(Chains *c) {
  Lower *l = c->l;
  VEC_CLEAR(&l->list);
  for (size_t k = 0; k < c->out.len; k++)
    if (c->out.data[k].op != PSEUDO_nothing) VEC_PUSH(&l->list, c->out.data[k]);
}

/* Registers are read throughout the list before groups are made, to know which
 * results nobody else needs. */
void chain_pass(Lower *l) {
  Chains *c = ARENA_NEW(l->arena, Chains);
  if (c) c->uses = ARENA_ARRAY(l->arena, RegUse, l->regs.len + 1);
  if (!c || !c->uses) {
    l->failed = true;
    return;
  }
  c->l = l;
  c->groups = 1;
  VEC_INIT(&c->out, l->code->mem);
  for (size_t k = 0; k < l->list.len; k++)
    for (OperandWalk w = ins_operands(l, &l->list.data[k]); operand_next(&w);)
      if (w.role & USES) c->uses[w.now.reg].reads++;
  for (size_t k = 0; k < l->list.len; k++) add_ins(c, &l->list.data[k]);
  group_end(c);
  write_back(c);
  l->failed |= mem_exhausted(l->code->mem);
  VEC_DONE(&c->out);
}
