/* Stretches: operators of differentiated code that stand one after the other
 * run as in other code, without records between them, and are recorded as one.
 *
 *   dual_op multiply | x y a         fits = stretch_fits | x y
 *   dual_op tanh | a b               unless fits ->slow
 *                                    r = stretch_in | x y, x' y'
 *                                    op multiply | x' y' a'
 *                                    op tanh | a' b'
 *                                    stretch_out r | x' y' b', b' -> b
 *                                    jump ->end
 *                              slow: the operators as they were
 *                               end:
 *
 * So what lies between them is fused, planned and reused as elsewhere; the
 * record keeps the values that the reverse sweep of the whole reads, and the
 * sweep is one function (types/stretch.h).  The slow way is taken where an
 * operand is differentiated at several levels, or two operands are one.
 *
 * A group collects members while instructions pass that do not concern it, as
 * one of a chain does (chain.c). */
#include <string.h>

#include "bytecode/lower/lower.h"

enum { MEMBERS = 64 };

typedef struct RegUse {
  uint32_t reads; /* in the whole list */
  uint32_t group; /* the last group that knows it; then: */
  int value;      /* its number, or -1 */
  bool result;    /* of a member */
  uint32_t inner; /* reads by members */
} RegUse;

typedef struct Group {
  int count;
  Ins members[MEMBERS];
  VEC(Reg) inputs; /* the registers of values: first inputs that may vary, */
  VEC(Reg) others; /* then other inputs, */
  VEC(Reg) results;
} Group;

typedef struct Stretches {
  Lower *l;
  VEC(Ins) list; /* as it was */
  RegUse *uses;
  uint32_t groups;
  Group g;
} Stretches;

static RegUse *use_of(Stretches *s, Reg r) {
  RegUse *u = &s->uses[r];
  if (u->group != s->groups) {
    u->group = s->groups;
    u->value = -1;
    u->result = false;
    u->inner = 0;
  }
  return u;
}

static Reg listed(const Stretches *s, const Ins *i, int k) {
  return s->l->listed.data[i->list + (uint32_t)k].reg;
}

static const OpSite *site_of(const Ins *i) {
  return (const OpSite *)(uintptr_t)i->words[0];
}

static void put_again(Stretches *s, const Ins *i) { VEC_PUSH(&s->l->list, *i); }

/* --- Members -------------------------------------------------------------- */

static bool is_plain_type(const Type *t) {
  return t->kind == TY_TENSOR && !t->any_rank;
}

/* An operator that is recorded, of tensors whose ranks are known; or one that
 * makes a scalar in a register a tensor, such as the number of a row.  The
 * sweep makes that tensor again, so only the scalar is saved. */
static bool can_be_member(const Ins *i) {
  if (i->op == INS_op && is_scalar_view(site_of(i))) return true;
  if (i->op != INS_dual_op) return false;
  const OpSite *site = site_of(i);
  if (site->places || site->open || site->out_count == 0) return false;
  if (!site->op->flat && !op_has_gradient(site->op)) return false;
  for (int k = 0; k < site->source_count; k++)
    if (site->sources[k].kind == FROM_TUPLE ||
        !is_plain_type(site->sources[k].type))
      return false;
  for (int k = 0; k < site->out_count; k++)
    if (!is_plain_type(site->out_types[k])) return false;
  return true;
}

static bool is_float_source(const OpSource *source) {
  return dtype_is_float((DType)source->type->dtype);
}

static void add_member(Stretches *s, const Ins *i) {
  Group *g = &s->g;
  const OpSite *site = site_of(i);
  for (int k = 0; k < site->source_count; k++) {
    Reg r = listed(s, i, k);
    RegUse *u = use_of(s, r);
    u->inner++;
    if (u->value >= 0) continue;
    u->value = 0; /* until the group ends */
    if (is_float_source(&site->sources[k])) VEC_PUSH(&g->inputs, r);
    else VEC_PUSH(&g->others, r);
  }
  for (int k = 0; k < site->out_count; k++) {
    Reg r = listed(s, i, site->source_count + k);
    RegUse *u = use_of(s, r);
    u->value = 0;
    u->result = true;
    VEC_PUSH(&g->results, r);
  }
  g->members[g->count++] = *i;
}

/* Does it set a register that the group knows? */
static bool sets_known(Stretches *s, const Ins *i) {
  for (OperandWalk w = ins_operands(s->l, i); operand_next(&w);)
    if (w.role & SETS && use_of(s, w.now.reg)->value >= 0) return true;
  return false;
}

static bool reads_result(Stretches *s, const Ins *i) {
  for (OperandWalk w = ins_operands(s->l, i); operand_next(&w);)
    if (w.role & USES && use_of(s, w.now.reg)->result) return true;
  return false;
}

/* --- The stretch ---------------------------------------------------------- */

/* One that is being made: everything in it is in the code's arena. */
typedef struct Making {
  Stretch stretch;
  StretchSite *site;
  Reg *regs; /* of values, in the list as it was */
} Making;

static int number_values(Stretches *s, Reg *regs, const Type **types) {
  Group *g = &s->g;
  int n = 0;
  for (size_t k = 0; k < g->inputs.len; k++) regs[n++] = g->inputs.data[k];
  for (size_t k = 0; k < g->others.len; k++) regs[n++] = g->others.data[k];
  for (size_t k = 0; k < g->results.len; k++) regs[n++] = g->results.data[k];
  for (int v = 0; v < n; v++) use_of(s, regs[v])->value = v;
  for (int m = 0; m < g->count; m++) {
    const OpSite *site = site_of(&g->members[m]);
    for (int k = 0; k < site->source_count; k++)
      types[use_of(s, listed(s, &g->members[m], k))->value] =
          site->sources[k].type;
    for (int k = 0; k < site->out_count; k++)
      types[use_of(s, listed(s, &g->members[m], site->source_count + k))
                ->value] = site->out_types[k];
  }
  return n;
}

static bool fill_op(Stretches *s, Arena *arena, const Ins *i, StretchOp *op) {
  const OpSite *site = site_of(i);
  int groups, *of = site_groups(arena, site, &groups);
  int *operands = ARENA_ARRAY(arena, int, (size_t)site->source_count + 1);
  if (!of || !operands) return false;
  for (int k = 0; k < site->source_count; k++)
    operands[k] = use_of(s, listed(s, i, k))->value;
  *op = (StretchOp){.attrs = site->attrs,
                    .operand_count = site->source_count,
                    .operands = operands,
                    .group_count = groups,
                    .groups = of,
                    .first = use_of(s, listed(s, i, site->source_count))->value,
                    .out_count = site->out_count,
                    .gives_tuple = site->gives_tuple};
  return true;
}

static StretchKey whole_key(const Making *m) {
  return (StretchKey){
      .varies = (uint32_t)(((uint64_t)1 << m->site->input_count) - 1),
      .outs = (uint32_t)(((uint64_t)1 << m->stretch.out_count) - 1)};
}

/* The values that the sweep reads whichever of the results have adjoints: what
 * it reads for several is what it reads for one of them. */
static bool find_saved(Stretches *s, Making *m) {
  Code *c = s->l->code;
  const Stretch *stretch = &m->stretch;
  size_t n = (size_t)stretch->value_count;
  bool *reads = ARENA_ARRAY(s->l->arena, bool, n + 1);
  int *saved = ARENA_ARRAY(&c->arena, int, n + 1);
  if (!reads || !saved) return false;
  for (int i = 0; i < stretch->out_count; i++) {
    StretchKey key = whole_key(m);
    key.outs = (uint32_t)1 << i;
    if (!types_stretch_reads(c->program, stretch, key, reads)) return false;
  }
  for (int v = 0; v < stretch->value_count; v++)
    if (reads[v]) saved[m->site->saved_count++] = v;
  m->site->saved = saved;
  for (int i = 0; i < m->site->saved_count && i < RULE_ARGS_MOST; i++)
    if (!type_is_scalar(stretch->types[saved[i]]))
      m->site->saved_objects |= (uint64_t)1 << i;
  return m->site->saved_count + stretch->out_count + m->site->input_count <=
         RULE_ARGS_MOST;
}

static bool is_read(const Stretch *s, int v) {
  for (int i = 0; i < s->op_count; i++)
    for (int k = 0; k < s->ops[i].operand_count; k++)
      if (s->ops[i].operands[k] == v) return true;
  return false;
}

/* The results that operators of the stretch read and for which rows may wait:
 * these come after what those operators add to the adjoint.  None where the
 * function would have too many parameters. */
static void find_own(Making *m) {
  const Stretch *s = &m->stretch;
  int args = m->site->saved_count + s->out_count + m->site->input_count;
  uint32_t own = 0;
  for (int i = 0; i < s->out_count; i++) {
    const Type *type = s->types[s->outs[i]];
    bool waits = type->rank == 1 || type->rank == 2;
    if (!waits || !dtype_is_float((DType)type->dtype)) continue;
    if (!is_read(s, s->outs[i])) continue;
    own |= (uint32_t)1 << i;
    args += type->rank;
  }
  if (args <= RULE_ARGS_MOST) m->site->own = own;
}

/* False: these members are no stretch. */
static bool make(Stretches *s, Making *m) {
  Code *c = s->l->code;
  Group *g = &s->g;
  size_t most = g->inputs.len + g->others.len + g->results.len;
  m->regs = ARENA_ARRAY(s->l->arena, Reg, most + 1);
  const Type **types = ARENA_ARRAY(&c->arena, const Type *, most + 1);
  StretchOp *ops = ARENA_ARRAY(&c->arena, StretchOp, (size_t)g->count + 1);
  int *outs = ARENA_ARRAY(&c->arena, int, g->results.len + 1), count = 0;
  Stretch *stretch = ARENA_NEW(&c->arena, Stretch);
  m->site = ARENA_NEW(&c->arena, StretchSite);
  if (!m->regs || !types || !ops || !outs) return false;
  int values = number_values(s, m->regs, types);
  for (int i = 0; i < g->count; i++)
    if (!fill_op(s, &c->arena, &g->members[i], &ops[i])) return false;
  for (int v = values - (int)g->results.len; v < values; v++) {
    RegUse *u = use_of(s, m->regs[v]);
    if (u->reads > u->inner) outs[count++] = v;
  }
  m->stretch = *stretch =
      (Stretch){.inputs = (int)(g->inputs.len + g->others.len),
                .value_count = values,
                .op_count = g->count,
                .out_count = count,
                .types = types,
                .ops = ops,
                .outs = outs};
  *m->site = (StretchSite){.stretch = stretch,
                           .input_count = (int)g->inputs.len,
                           .none = shared_nullary(&c->shared, 0),
                           .span = g->members[0].span};
  if (count == 0 || count > STRETCH_OUTS || m->site->input_count == 0 ||
      m->site->input_count > STRETCH_INPUTS)
    return false;
  DiagsMark mark = diags_mark(c->program->diags);
  bool ok = find_saved(s, m) && stretch_rule(c, m->site, whole_key(m));
  find_own(m);
  if (!ok) diags_return(c->program->diags, mark);
  return ok;
}

/* --- Code ----------------------------------------------------------------- */

static bool is_bits(const Type *t) { return type_is_scalar(t); }

/* The member as in other code. */
static void put_member(Stretches *s, const Ins *i, const Reg *inner) {
  Lower *l = s->l;
  const OpSite *site = site_of(i);
  Reg operands[OP_ARGS_MAX + 1] = {0};
  int n = site->source_count;
  l->span = i->span;
  for (int k = 0; k < n && k <= OP_ARGS_MAX; k++)
    operands[k] = inner[use_of(s, listed(s, i, k))->value];
  Reg first = inner[use_of(s, listed(s, i, n))->value];
  if (lower_scalar_site(l, site, operands, first)) return;
  OpSite *plain = arena_copy(&l->code->arena, site, sizeof *site);
  OpSource *sources =
      arena_copy(&l->code->arena, site->sources, (size_t)n * sizeof *sources);
  if (!plain || !sources) {
    l->failed = true;
    return;
  }
  plain->sources = sources;
  for (int k = 0; k < n; k++)
    if (is_bits(sources[k].type)) sources[k].kind = FROM_BITS;
  put_word(l, INS_op, 0, 0, 0, plain);
  for (int k = 0; k < n; k++)
    put_listed(l, 'u', inner[use_of(s, listed(s, i, k))->value]);
  for (int k = 0; k < site->out_count; k++)
    put_listed(l, 'd', inner[use_of(s, listed(s, i, n + k))->value]);
}

static void put_stretch(Stretches *s, const Making *m) {
  Lower *l = s->l;
  const Stretch *stretch = &m->stretch;
  const StretchSite *site = m->site;
  int n = site->input_count;
  Reg *inner = ARENA_ARRAY(l->arena, Reg, (size_t)stretch->value_count + 1);
  if (!inner) {
    l->failed = true;
    return;
  }
  for (int v = 0; v < stretch->value_count; v++) {
    bool other = v >= n && v < stretch->inputs;
    inner[v] = other ? m->regs[v] : reg_new(l, !is_bits(stretch->types[v]));
  }
  l->span = site->span;
  Label slow = label_new(l), end = label_new(l);
  Reg fits = reg_new(l, false), record = reg_new(l, true);
  put_word(l, INS_stretch_fits, fits, (uint32_t)n, 0, site);
  for (int v = 0; v < n; v++) put_listed(l, 'u', m->regs[v]);
  put(l, INS_unless, fits, 0, slow);
  put_word(l, INS_stretch_in, record, (uint32_t)n, (uint32_t)n, site);
  for (int v = 0; v < n; v++) put_listed(l, 'm', m->regs[v]);
  for (int v = 0; v < n; v++) put_listed(l, 'd', inner[v]);
  for (int i = 0; i < s->g.count; i++) put_member(s, &s->g.members[i], inner);
  put_word(l, INS_stretch_out, record,
           (uint32_t)(site->saved_count + stretch->out_count),
           (uint32_t)stretch->out_count, site);
  for (int k = 0; k < site->saved_count; k++)
    put_listed(l, 'm', inner[site->saved[k]]);
  for (int k = 0; k < stretch->out_count; k++)
    put_listed(l, 'm', inner[stretch->outs[k]]);
  for (int k = 0; k < stretch->out_count; k++)
    put_listed(l, 'd', m->regs[stretch->outs[k]]);
  put_jump(l, end);
  put_label(l, slow);
  for (int i = 0; i < s->g.count; i++) put_again(s, &s->g.members[i]);
  put_label(l, end);
}

static void group_end(Stretches *s) {
  Group *g = &s->g;
  if (g->count > 0) {
    Making m = {0};
    if (make(s, &m)) put_stretch(s, &m);
    else
      for (int i = 0; i < g->count; i++) put_again(s, &g->members[i]);
  }
  s->groups++;
  g->count = 0;
  VEC_CLEAR(&g->inputs);
  VEC_CLEAR(&g->others);
  VEC_CLEAR(&g->results);
}

/* --- The walk ------------------------------------------------------------- */

static bool is_full(const Group *g) {
  return g->count == MEMBERS || g->inputs.len + OP_ARGS_MAX > STRETCH_INPUTS ||
         g->results.len + OP_ARGS_MAX > 4 * MEMBERS;
}

/* An instruction that is no member goes before the group, unless it must not:
 * if others see what it does, it reads what a member gives, or may fail. */
static void add_other(Stretches *s, const Ins *i) {
  if (s->g.count > 0) {
    const InsInfo *row = ins_row(i);
    const OpSite *site = ins_op_site(i);
    bool fails = site ? site_may_fail(site) : row->flags & FAIL;
    if (!(row->flags & QUIET) || fails || reads_result(s, i) ||
        sets_known(s, i))
      group_end(s);
  }
  put_again(s, i);
}

static void add_ins(Stretches *s, const Ins *i) {
  if (!can_be_member(i)) {
    add_other(s, i);
    return;
  }
  if (is_full(&s->g) || sets_known(s, i)) group_end(s);
  add_member(s, i);
}

void stretch_pass(Lower *l) {
  Stretches *s = ARENA_NEW(l->arena, Stretches);
  size_t n = l->list.len;
  bool any = false;
  for (size_t k = 0; k < n; k++) any |= can_be_member(&l->list.data[k]);
  if (!any) return;
  *s = (Stretches){.l = l, .groups = 1};
  s->uses = ARENA_ARRAY(l->arena, RegUse, l->regs.len + 1);
  if (!s->uses) {
    l->failed = true;
    return;
  }
  VEC_INIT(&s->list, l->code->mem);
  VEC_INIT(&s->g.inputs, l->code->mem);
  VEC_INIT(&s->g.others, l->code->mem);
  VEC_INIT(&s->g.results, l->code->mem);
  for (size_t k = 0; k < n; k++) {
    VEC_PUSH(&s->list, l->list.data[k]);
    for (OperandWalk w = ins_operands(l, &l->list.data[k]); operand_next(&w);)
      if (w.role & USES) s->uses[w.now.reg].reads++;
  }
  VEC_CLEAR(&l->list);
  for (size_t k = 0; k < s->list.len; k++) add_ins(s, &s->list.data[k]);
  group_end(s);
  l->failed |= mem_exhausted(l->code->mem);
  VEC_DONE(&s->list);
  VEC_DONE(&s->g.inputs);
  VEC_DONE(&s->g.others);
  VEC_DONE(&s->g.results);
}

/* --- Rules ---------------------------------------------------------------- */

int *site_groups(Arena *arena, const OpSite *site, int *count) {
  int rows = op_arg_count(site->op), computed = 0, n = 0, at = 0;
  int *groups = ARENA_ARRAY(arena, int, (size_t)site->arg_count + 2);
  for (int i = 0; i < site->op->attr_count; i++)
    computed += site->attrs->values[i].operand >= 0;
  int sources = site->source_count - computed;
  for (int i = 0; groups && i < rows; i++) {
    if (!op_arg(site->op, i).tuple) {
      if (at == sources) break; /* the rest is left out */
      groups[n++] = GROUP_SINGLE;
      at++;
    } else if (at < sources && site->sources[at].kind == FROM_TUPLE) {
      groups[n++] = site->sources[at++].type->count;
    } else {
      groups[n] = sources - at - (rows - i - 1);
      at += groups[n++];
    }
  }
  for (int i = 0; groups && i < computed; i++) groups[n++] = GROUP_SINGLE;
  *count = n;
  return groups;
}

static bool same_key(StretchKey a, StretchKey b) {
  return a.varies == b.varies && a.outs == b.outs && a.late == b.late &&
         a.sums == b.sums;
}

const StretchRule *stretch_rule(Code *c, StretchSite *site, StretchKey key) {
  StretchRule *rule = atomic_load(&site->rules);
  for (; rule; rule = rule->next)
    if (same_key(rule->key, key)) return rule;
  rule = ARENA_NEW(&c->arena, StretchRule);
  *rule = (StretchRule){.key = key, .next = atomic_load(&site->rules)};
  if (!types_stretch(c->program, &c->arena, site->stretch, key, &rule->sweep))
    return NULL;
  if (rule->sweep.function) {
    Env *plain = ARENA_NEW(&c->arena, Env);
    *plain = (Env){0};
    Function *f = code_global(c, rule->sweep.function, plain, false);
    rule->plain = code_unboxed(c, code_owning(c, f));
    rule->dual = code_owning(c, code_dual(c, f));
  }
  if (mem_exhausted(c->program->mem) || mem_exhausted(c->mem)) return NULL;
  atomic_store(&site->rules, rule);
  return rule;
}

/* Does a record keep all that the function reads? */
static bool is_saved(const StretchSite *site, const bool *reads) {
  const Stretch *s = site->stretch;
  int at = 0;
  for (int v = 0; v < s->value_count; v++) {
    bool saved = at < site->saved_count && site->saved[at] == v;
    if (reads[v] && !saved) return false;
    at += saved;
  }
  return true;
}

const StretchForward *stretch_forward(Code *c, StretchSite *site,
                                      uint32_t varies) {
  StretchForward *f = atomic_load(&site->forwards);
  for (; f; f = f->next)
    if (f->varies == varies) return f;
  f = ARENA_NEW(&c->arena, StretchForward);
  *f = (StretchForward){.varies = varies, .next = atomic_load(&site->forwards)};
  StretchTangents *t = &f->tangents;
  if (!types_stretch_tangents(c->program, &c->arena, site->stretch, varies, t))
    return NULL;
  if (t->function && is_saved(site, t->reads)) {
    Env *plain = ARENA_NEW(&c->arena, Env);
    *plain = (Env){0};
    Function *of = code_global(c, t->function, plain, false);
    f->plain = code_unboxed(c, code_owning(c, of));
  }
  if (mem_exhausted(c->program->mem) || mem_exhausted(c->mem)) return NULL;
  atomic_store(&site->forwards, f);
  return f;
}
