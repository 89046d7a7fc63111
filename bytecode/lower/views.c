/* Views are made on the C stack by the operators that read them: a tensor with
 * axes of length 1 more (expand_dims), which one operator reads; a scalar as a
 * tensor of one element (reshape); zeros (zeros_like) that a row is set to.
 * None can fail, so it does not matter when they are made. */
#include "bytecode/lower/lower.h"

typedef struct RegUse {
  uint32_t reads;
  uint32_t last_read; /* where, + 1 */
  uint32_t set;       /* where last, + 1 */
  uint32_t view;      /* the index of the view made there, + 1 */
} RegUse;

typedef struct Views {
  Lower *l;
  RegUse *uses;
  uint32_t block; /* where it starts */
} Views;

static Operand *item(const Views *v, const Ins *i, int k) {
  return &v->l->listed.data[i->list + (uint32_t)k];
}

/* --- Which are views ---------------------------------------------------- */

bool is_scalar_view(const OpSite *site) {
  return site && !site->open && site->source_count == 1 &&
         site->op->view == VIEW_RESHAPE && site->sources[0].kind == FROM_BITS &&
         site->out_types[0]->rank > 0 &&
         type_has_one_element(site->out_types[0]);
}

static bool is_whole_tensor(const OpSource *source) {
  return source->kind == FROM_TENSOR && source->view.rank == 0;
}

static bool is_view(const OpSite *site) {
  if (is_scalar_view(site)) return true;
  if (!site || site->open || site->source_count != 1) return false;
  return (site->op->view == VIEW_AXES || site->op->all_zero) &&
         is_whole_tensor(&site->sources[0]);
}

/* The axes that are put in: `count` from `axis` on. */
static SourceView view_of(const OpSite *site) {
  int rank = site->out_types[0]->rank;
  if (site->op->all_zero)
    return (SourceView){.rank = (uint8_t)rank, .zeros = true};
  if (site->sources[0].kind == FROM_BITS)
    return (SourceView){.rank = (uint8_t)rank, .count = (uint8_t)rank};
  int count = rank - site->sources[0].type->rank;
  int axis = attr_axis(site->attrs, ATTR_axis, rank - count + 1);
  return (SourceView){
      .rank = (uint8_t)rank, .axis = (uint8_t)axis, .count = (uint8_t)count};
}

/* --- The walk ----------------------------------------------------------- */

/* The instruction that makes the view in `r`, if it stands in this block and
 * the view's source has not been set since; else NULL.  A view of a tensor must
 * have a single reader, since that reader may then take the tensor over; a
 * scalar is not owned. */
static const Ins *view_in(const Views *v, Reg r) {
  const RegUse *u = &v->uses[r];
  if (u->view == 0 || u->view != u->set || u->view <= v->block) return NULL;
  const Ins *i = &v->l->list.data[u->view - 1];
  if (u->reads != 1 && !is_scalar_view(ins_op_site(i))) return NULL;
  return v->uses[item(v, i, 0)->reg].set < u->view ? i : NULL;
}

static void read_through(Views *v, Ins *i, OpSite *site, int k) {
  Operand *operand = item(v, i, k);
  Ins *view = (Ins *)view_in(v, operand->reg);
  OpSource *sources = (OpSource *)site->sources;
  const OpSite *from = ins_op_site(view);
  sources[k] = from->sources[0];
  sources[k].view = view_of(from);
  if (--v->uses[operand->reg].reads == 0) view->op = PSEUDO_nothing;
  operand->reg = item(v, view, 0)->reg;
}

/* Is source k of the instruction a view?  Zeros are left to clear_row(). */
static bool reads_view(const Views *v, const Ins *i, int k) {
  const Ins *view = view_in(v, item(v, i, k)->reg);
  return view && !ins_op_site(view)->op->all_zero;
}

static bool reads_views(const Views *v, const Ins *i, const OpSite *site) {
  for (int k = 0; k < site->source_count; k++)
    if (reads_view(v, i, k)) return true;
  return false;
}

/* Is the source (1, ...), or seen as that? */
static bool is_one_row(const OpSource *row) {
  if (row->kind != FROM_TENSOR) return false;
  if (row->view.rank > 0) return row->view.axis == 0 && row->view.count == 1;
  return row->type->rank > 0 && dim_is(row->type->dims[0], 1);
}

/* Is it y[i], y[i] = row, or y[i] += row, where the rank of y is known?  Then
 * the index is a scalar seen as [1, 1], and the row is (1, ...). */
static Shortcut row_shortcut(const OpSite *site) {
  static const Shortcut by_mode[] = {
      [SCATTER_UPDATE] = ROW_SET, [SCATTER_ADD] = ROW_ADDED};
  const OpSource *index = &site->sources[1];
  if (!is_whole_tensor(&site->sources[0])) return SHORTCUT_NONE;
  if (index->kind != FROM_BITS || index->view.rank != 2) return SHORTCUT_NONE;
  if (site->op->gets_rows)
    return attr_number(site->attrs, ATTR_batch_dims) ? SHORTCUT_NONE : ROW_READ;
  size_t mode = (size_t)attr_word(site->attrs, ATTR_mode);
  bool known = mode < sizeof by_mode / sizeof *by_mode;
  return known && is_one_row(&site->sources[2]) ? by_mode[mode] : SHORTCUT_NONE;
}

/* Do all axes of both operands take part? */
static bool is_whole_range(const Attrs *attrs) {
  return dim_is(attr_int(attrs, ATTR_lhs_begin), 0) &&
         dim_is(attr_int(attrs, ATTR_rhs_begin), 0) &&
         !attr_is_set(attrs, ATTR_lhs_end) && !attr_is_set(attrs, ATTR_rhs_end);
}

static Shortcut shortcut_of(const OpSite *site) {
  const OpInfo *op = site->op;
  if (site->open) return SHORTCUT_NONE;
  if (op->gets_rows || op->sets_rows) return row_shortcut(site);
  bool given = op->takes_shape && is_whole_tensor(&site->sources[0]) &&
               is_whole_tensor(&site->sources[1]) &&
               is_whole_range(site->attrs) && site->out_types[0]->rank > 0;
  return given ? SHAPE_GIVEN : SHORTCUT_NONE;
}

/* A row that is set to zeros is cleared, and the zeros are not made, if nobody
 * else reads them and their operand is read later as well.  The operand may be
 * a view of the tensor whose row is set.  If it ended here, and no longer at
 * the zeros, then the tensor's buffer would have two holders, and each turn of
 * a loop would copy it. */
static void clear_row(Views *v, Ins *i, OpSite *site) {
  if (site->shortcut != ROW_SET || !is_whole_tensor(&site->sources[2])) return;
  const Ins *zeros = view_in(v, item(v, i, 2)->reg);
  if (!zeros || !ins_op_site(zeros)->op->all_zero) return;
  uint32_t here = (uint32_t)(i - v->l->list.data) + 1;
  if (v->uses[item(v, zeros, 0)->reg].last_read <= here) return;
  read_through(v, i, site, 2);
  site->shortcut = ROW_CLEARED;
}

/* Lets an operator make the views it reads, and the machine take its shortcut.
 * Its site is changed in a copy, for a chain may have the site as a member. */
static void add_op(Views *v, Ins *i) {
  const OpSite *old = ins_op_site(i);
  if (!reads_views(v, i, old) && shortcut_of(old) == SHORTCUT_NONE) return;
  Arena *arena = &v->l->code->arena;
  OpSite *site = arena_copy(arena, old, sizeof *old);
  OpSource *sources = arena_copy(
      arena, old->sources, (size_t)old->source_count * sizeof *old->sources);
  if (!site || !sources) return;
  site->sources = sources;
  for (int k = 0; k < site->source_count; k++)
    if (reads_view(v, i, k)) read_through(v, i, site, k);
  site->shortcut = shortcut_of(site);
  clear_row(v, i, site);
  i->words[0] = (uint64_t)(uintptr_t)site;
}

/* Views are followed within straight code: after a jump another path may have
 * set the source. */
static void add_ins(Views *v, uint32_t at) {
  Ins *i = &v->l->list.data[at];
  if (ins_ends_block(i)) v->block = at + 1;
  const OpSite *site = ins_op_site(i);
  if (site) add_op(v, i);
  for (OperandWalk w = ins_operands(v->l, i); operand_next(&w);)
    if (w.role & SETS) v->uses[w.now.reg].set = at + 1;
  if (is_view(ins_op_site(i))) v->uses[item(v, i, 1)->reg].view = at + 1;
}

/* Two walks: how often and where last registers are read, then which views are
 * read once. */
void view_pass(Lower *l) {
  Views v = {.l = l};
  v.uses = ARENA_ARRAY(l->arena, RegUse, l->regs.len + 1);
  if (!v.uses) {
    l->failed = true;
    return;
  }
  uint32_t n = (uint32_t)l->list.len;
  for (uint32_t k = 0; k < n; k++)
    for (OperandWalk w = ins_operands(l, &l->list.data[k]); operand_next(&w);) {
      if (!(w.role & USES)) continue;
      v.uses[w.now.reg].reads++;
      v.uses[w.now.reg].last_read = k + 1;
    }
  for (uint32_t k = 0; k < n; k++) add_ins(&v, k);
  put_away(l);
}
