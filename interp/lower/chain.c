/* Chains: element-wise operators of a block become one instruction, so that
 * no tensor lies between them.
 *
 * A group collects members while instructions that do not concern it pass;
 * the chain stands where the last of them was.  What is put off must not be
 * missed: whoever reads a member's result, jumps, or has an effect ends the
 * group; and a member that can fail does not wait behind something else that
 * can, so the first failure stays the first.  An even `split`, or the `take`
 * of a row, that only members read is not run: they read what it would show
 * where it is. */
#include <string.h>

#include "interp/lower/lower.h"

typedef struct RegUse {
  uint32_t reads; /* in the whole list */
  uint32_t group; /* the last group that knows it; then: */
  bool is_read;   /* by the group, as its input */
  int member;     /* whose result it is; -1: of none */
  int view, part; /* which part of which view it is; -1: of none */
} RegUse;

/* A split or take that may not have to run. */
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

static const char *operands_of(const Ins *i) {
  return i->op < INS_COUNT ? ins_info[i->op].operands : "...";
}

typedef void (*OperandFn)(Chains *c, char mode, Reg r);
static void each_operand(Chains *c, const Ins *i, OperandFn f) {
  const char *modes = operands_of(i);
  for (int k = 0; k < 3; k++)
    if (strchr("dwuvm", modes[k])) f(c, modes[k], i->arg[k]);
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = c->l->listed.data[i->list + k];
    if (item.mode != 'j') f(c, item.mode, item.reg);
  }
}

static void count_read(Chains *c, char mode, Reg r) {
  if (mode != 'd' && mode != 'w') c->uses[r].reads++;
}

static const OpSite *site_of(const Ins *i) {
  return i->op == INS_op ? (const OpSite *)(uintptr_t)i->words[0] : NULL;
}

static Reg listed(const Chains *c, const Ins *i, int k) {
  return c->l->listed.data[i->list + (uint32_t)k].reg;
}

/* What the group knows of a register. */
static RegUse *known(Chains *c, Reg r) {
  RegUse *u = &c->uses[r];
  if (u->group != c->groups) {
    u->group = c->groups;
    u->is_read = false;
    u->member = u->view = -1;
  }
  return u;
}

/* --- Members ------------------------------------------------------------ */

static int add_params(Fuse *f, const OpSite *site, DType dtype, int operand) {
  bool clip = site->op == op_info(OP_CLIP);
  double params[2] = {attr_real(site->attrs, clip ? ATTR_a_min : ATTR_alpha),
                      clip ? attr_real(site->attrs, ATTR_a_max) : 0};
  return fuse_add_params(f, (OpId)(site->op - op_table), dtype, operand,
                         params);
}

/* Adds the member's step; -1 when it cannot be one. */
static int add_step(Fuse *f, const OpSite *site, const int *operands) {
  OpId op = (OpId)(site->op - op_table);
  DType dtype = site->sources[0].type->dtype;
  DType to = (DType)site->out_types[0]->dtype;
  switch (op) {
    case OP_CAST: return fuse_add_cast(f, dtype, to, operands[0]);
    case OP_CLIP:
    case OP_NN_LEAKY_RELU: return add_params(f, site, dtype, operands[0]);
    case OP_NN_BIAS_ADD: return fuse_add(f, OP_ADD, dtype, operands);
    case OP_WHERE:
      if (dtype != DT_BOOL) return -1;
      return fuse_add(f, op, (DType)site->sources[1].type->dtype, operands);
    default: return fuse_add(f, op, dtype, operands);
  }
}

/* The vector lies along the last axis, as it would for `add`. */
static bool adds_to_last_axis(const OpSite *site) {
  Dim axis = attr_int(site->attrs, ATTR_axis);
  return axis == -1 || axis == site->sources[0].type->rank - 1;
}

static bool is_plain_tensor(const OpSource *s) {
  return s->kind != FROM_TUPLE && s->type->kind == TY_TENSOR;
}

static bool can_be_member(const OpSite *site) {
  if (!site || site->out_count != 1 || site->source_count > 3) return false;
  bool biased = site->op == op_info(OP_NN_BIAS_ADD);
  if (!biased && !(site->op->flags & OP_ELEMENTWISE)) return false;
  if (biased && !adds_to_last_axis(site)) return false;
  if (type_is_scalar(site->out_types[0])) return false;
  for (int i = 0; i < site->source_count; i++)
    if (!is_plain_tensor(&site->sources[i])) return false;
  Fuse trial;
  fuse_init(&trial, 3);
  static const int inputs[] = {FUSE_INPUT(0), FUSE_INPUT(1), FUSE_INPUT(2)};
  return add_step(&trial, site, inputs) >= 0;
}

/* --- Can it fail? ------------------------------------------------------- */

static bool divides_integers(const OpSite *site) {
  return (site->op->flags & OP_MAY_FAIL) &&
         !dtype_is_float((DType)site->out_types[0]->dtype);
}

/* Dimension `i` from the right; 1 where there is none. */
static Dim dim_from_right(const Type *t, int i) {
  return i < t->rank ? t->dims[t->rank - 1 - i] : 1;
}

/* Do operands of these types broadcast whatever the unknown dims are? */
static bool surely_broadcasts(const OpSite *site) {
  for (int i = 0; i < site->out_types[0]->rank; i++) {
    Dim common = 1;
    for (int k = 0; k < site->source_count; k++) {
      Dim d = dim_from_right(site->sources[k].type, i);
      if (d == 1) continue;
      if (common != 1 && (d != common || dim_is_any(d))) return false;
      common = d;
    }
  }
  return true;
}

static bool member_may_fail(const OpSite *site) {
  return divides_integers(site) || !surely_broadcasts(site);
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

static int input_number(Making *m, ChainInput input) {
  for (int i = 0; i < m->fuse.inputs; i++)
    if (same_input(m->inputs[i], input)) return FUSE_INPUT(i);
  if (m->fuse.inputs == FUSE_INPUTS) return -1;
  m->inputs[m->fuse.inputs] = input;
  return FUSE_INPUT(m->fuse.inputs++);
}

static bool is_absorbed(const View *v) { return v->reads == v->all_reads; }

static int split_parts(const OpSite *site) {
  return (int)attr_get(site->attrs, ATTR_indices_or_sections)->integer;
}

static int view_axis(const OpSite *site) {
  Dim axis = attr_int(site->attrs, ATTR_axis);
  return (int)(axis < 0 ? axis + site->sources[0].type->rank : axis);
}

/* Part number `part` of what a view would show; -1: no room. */
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

/* What names operand register `r` in the program; -1: no room. */
static int operand_number(Chains *c, Making *m, Reg r, const OpSource *source) {
  const RegUse *u = known(c, r);
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

/* Is the member's result read outside of [from, to)?  What nobody reads comes
 * out, too, and is dropped. */
static bool is_output(const Chains *c, const Making *m, int member) {
  uint32_t inner = m->inner_reads[member - m->from];
  return inner == 0 || c->uses[result_of(c, member)].reads > inner;
}

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

static const Type *const *chain_types(Chains *c, const Making *m) {
  const Fuse *f = &m->fuse;
  const Type **types =
      ARENA_ARRAY(&c->l->code->arena, const Type *, (size_t)f->outputs + 1);
  for (int i = 0; i < f->outputs; i++) {
    int step = m->from + f->output_step[i];
    types[i] = site_of(&c->group.members[step])->out_types[0];
  }
  return types;
}

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
    VEC_PUSH(&l->listed, (Listed){.mode = 'u', .reg = m->source_regs[i]});
  for (int i = 0; i < f->outputs; i++) {
    Reg r = result_of(c, m->from + f->output_step[i]);
    VEC_PUSH(&l->listed, (Listed){.mode = 'd', .reg = r});
  }
  put_out(c, &ins);
}

/* Members [from, to) as one chain; as two when they are too many values. */
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

static void group_end(Chains *c) {
  Group *g = &c->group;
  for (int i = 0; i < g->view_count; i++) {
    View *v = &g->views[i];
    if (v->reads > 0 && is_absorbed(v) && v->at < c->out.len)
      c->out.data[v->at].op = PSEUDO_NOTHING;
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
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

/* Where dimensions are unknown, only what reads the group's results is likely
 * to have their shape. */
static bool has_unknown(const Type *t) {
  for (int i = 0; i < t->rank; i++)
    if (!dim_is_number(t->dims[i]) && !dim_is_form(t->dims[i])) return true;
  return false;
}

static bool reads_member(Chains *c, const Ins *i, const OpSite *site) {
  for (int k = 0; k < site->source_count; k++)
    if (known(c, listed(c, i, k))->member >= 0) return true;
  return false;
}

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
  if (!joins(c, i, site) || known(c, result)->is_read ||
      known(c, result)->member >= 0)
    group_end(c);
  for (int k = 0; k < site->source_count; k++) {
    RegUse *u = known(c, listed(c, i, k));
    if (u->view >= 0) c->group.views[u->view].reads++;
    if (u->member < 0) u->is_read = true;
  }
  g->may_fail |= member_may_fail(site);
  g->divides |= divides_integers(site);
  known(c, result)->member = g->count;
  g->members[g->count++] = *i;
}

/* A split into even parts that cannot fail. */
static bool is_even_split(const OpSite *site) {
  if (!site || site->op != op_info(OP_SPLIT)) return false;
  const AttrValue *v = attr_get(site->attrs, ATTR_indices_or_sections);
  const AttrValue *axis = attr_get(site->attrs, ATTR_axis);
  if (v->count != COUNT_SCALAR || v->operand >= 0 || axis->operand >= 0 ||
      site->source_count != 1 || !is_plain_tensor(&site->sources[0]))
    return false;
  return site->out_count == split_parts(site) && site->out_count <= 16 &&
         !has_unknown(site->sources[0].type) &&
         !has_unknown(site->out_types[0]);
}

/* A row of a tensor, by a number that is clipped: fails on none. */
static bool is_row(const OpSite *site) {
  if (!site || site->op != op_info(OP_TAKE) || site->source_count != 2)
    return false;
  const AttrValue *axis = attr_get(site->attrs, ATTR_axis);
  return axis->state == AV_SET && axis->operand < 0 &&
         !strcmp(attr_text(site->attrs, ATTR_mode), "clip") &&
         site->sources[0].kind == FROM_TENSOR &&
         site->sources[0].type->rank > 1 && site->sources[1].kind == FROM_BITS;
}

/* Is put out where it stands; taken back when only members read it. */
static void add_view(Chains *c, const Ins *i, const OpSite *site) {
  Group *g = &c->group;
  bool row = is_row(site);
  bool fails = row && has_unknown(site->sources[0].type);
  if (known(c, listed(c, i, 0))->member >= 0 || g->view_count == VIEWS ||
      (fails && g->may_fail))
    group_end(c);
  g->may_fail |= fails;
  View *v = &g->views[g->view_count];
  *v = (View){.at = c->out.len,
              .source = listed(c, i, 0),
              .index = row ? listed(c, i, 1) : NO_REG,
              .site = site};
  known(c, v->source)->is_read = true;
  if (row) known(c, v->index)->is_read = true;
  for (int k = 0; k < site->out_count; k++) {
    Reg part = listed(c, i, site->source_count + k);
    RegUse *u = known(c, part);
    u->view = g->view_count;
    u->part = k;
    v->all_reads += c->uses[part].reads;
  }
  g->view_count++;
  put_out(c, i);
}

/* --- What passes -------------------------------------------------------- */

static void check_operand(Chains *c, char mode, Reg r) {
  const RegUse *u = known(c, r);
  bool sets = mode == 'd' || mode == 'w';
  if (u->member >= 0 || (sets && (u->is_read || u->view >= 0))) group_end(c);
}

/* May an operator fail that the checker let pass?  Not when it knew all. */
static bool op_may_fail(const OpSite *site) {
  if (site->number == NO_PLAN || site->op->flags & OP_MAY_FAIL) return true;
  for (int i = 0; i < site->source_count; i++) {
    const Type *t = site->sources[i].type;
    if (t->kind != TY_TENSOR || has_unknown(t)) return true;
  }
  return false;
}

/* Makes a value and has no effect that anyone sees: but does it fail? */
static bool is_quiet(const Ins *i, bool *fails) {
  *fails = false;
  switch (i->op) {
    case PSEUDO_OPEN:
    case PSEUDO_NOTHING:
    case INS_cell1:
    case INS_cell2:
    case INS_cell:
    case INS_big_cell:
    case INS_cell1_in:
    case INS_cell2_in:
    case INS_cell_in:
    case INS_field:
    case INS_ref_read: return true;
    case INS_op: return *fails = op_may_fail(site_of(i)), true;
    case INS_check:
    case INS_scalar1:
    case INS_scalar2:
    case INS_scalar3:
    case INS_div_i32:
    case INS_mod_i32:
    case INS_div_i64:
    case INS_mod_i64: return *fails = true;
    default: return i->op < INS_COUNT && ins_info[i->op].flags & PURE;
  }
}

static void add_other(Chains *c, const Ins *i) {
  bool fails;
  if (!is_quiet(i, &fails) || (fails && c->group.may_fail)) group_end(c);
  each_operand(c, i, check_operand);
  put_out(c, i);
}

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
    if (c->out.data[k].op != PSEUDO_NOTHING) VEC_PUSH(&l->list, c->out.data[k]);
}

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
    each_operand(c, &l->list.data[k], count_read);
  for (size_t k = 0; k < l->list.len; k++) add_ins(c, &l->list.data[k]);
  group_end(c);
  write_back(c);
  l->failed |= mem_exhausted(l->code->mem);
  VEC_DONE(&c->out);
}
