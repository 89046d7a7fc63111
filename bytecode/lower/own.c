/* Ownership: where references move, are kept (one more) and dropped (one less).
 *
 * One backward walk over the list computes liveness, and with it for every use
 * of a counted value whether it is the last.  Counting is precise: a reference
 * ends at the last use of its register, not at the end of a scope (as in
 * Perceus: Reinking, Xie, de Moura & Leijen, PLDI 2021).
 *
 *   moves     the last use hands the reference over; before any other use, and
 *             before every move of a borrowed value, a `keep` is put
 *   reads     a `drop` is put after the last use, unless the instruction drops
 *             the operand itself
 *   branches  what only one way needs is dropped at the start of the other
 *   cells     a `match` reads fields as views, without references.  Where the
 *             cell's last reference ends, fields that are used further on move
 *             out of it and the cell is freed: nothing is counted.  Elsewhere
 *             these fields are kept.
 *
 * All jumps go forward but the one of a self tail call, after which nothing
 * but parameters is live; so one walk does, and what the target of a jump needs
 * is known when the jump is reached.  Every instruction that may fail gets the
 * list of the registers to drop then.  Pure instructions whose result nobody
 * reads are left out: dead code. */
#include <string.h>

#include "bytecode/lower/lower.h"

typedef struct LabelInfo {
  uint32_t preds;
  uint32_t live, live_count;  /* in `saved` */
  uint32_t drops, drop_count; /* in `saved`: what to drop on arrival */
} LabelInfo;

typedef struct Own {
  Lower *l;
  VEC(Ins) out; /* backward */
  VEC(Ins) far; /* drops on edges, after the end of the function */
  VEC(Reg) saved;
  LabelInfo *labels;
  /* The registers that are live: a sparse set (Briggs & Torczon 1993), which is
   * emptied in constant time. */
  Reg *live;
  uint32_t *place; /* reg -> its index in `live`, if there */
  uint32_t live_count;
  uint32_t *stamp; /* reg -> the last branch that needs it */
  uint32_t stamps;
} Own;

/* --- The set ------------------------------------------------------------ */

static bool is_live(const Own *o, Reg r) {
  return o->place[r] < o->live_count && o->live[o->place[r]] == r;
}

static void live_add(Own *o, Reg r) {
  o->l->regs.data[r].read = true;
  if (is_live(o, r)) return;
  o->place[r] = o->live_count;
  o->live[o->live_count++] = r;
}

static void live_remove(Own *o, Reg r) {
  if (!is_live(o, r)) return;
  Reg last = o->live[--o->live_count];
  o->live[o->place[r]] = last;
  o->place[last] = o->place[r];
}

/* Does it hold references of its own? */
static bool counted(const Own *o, Reg r) {
  return o->l->regs.data[r].counted && !o->l->regs.data[r].borrowed;
}

static uint32_t save(Own *o, Reg r) {
  VEC_PUSH(&o->saved, r);
  return (uint32_t)o->saved.len;
}

/* --- Output, from the end ----------------------------------------------- */

static Ins count_ins(const Own *o, int op, Reg r, Span span) {
  if (op == INS_drop && o->l->regs.data[r].nullable) op = INS_drop_maybe;
  return (Ins){.op = (uint16_t)op, .arg = {r}, .span = span};
}

static void out_count(Own *o, int op, Reg r, Span span) {
  VEC_PUSH(&o->out, count_ins(o, op, r, span));
}

/* --- Operands ----------------------------------------------------------- */

/* What it sets ends above it, and is dropped at once when nobody reads it. */
static void define_operands(Own *o, const Ins *i) {
  bool goes_on = !(ins_row(i)->flags & END);
  for (OperandWalk w = ins_operands(o->l, i); operand_next(&w);) {
    Reg r = w.now.reg;
    if (!(w.role & SETS)) continue;
    bool unread = w.role & DEFINES && counted(o, r) && !is_live(o, r);
    if (unread && goes_on) out_count(o, INS_drop, r, i->span);
    live_remove(o, r);
  }
}

/* Operands of which this is the last use are left to the instruction to drop,
 * if it can: an operator may write its result over them. */
static void take_over(Own *o, Ins *i) {
  if (ins_row(i)->operands[0] != 't') return;
  for (uint32_t k = 0; k < i->list_count && k < TAKES_MAX; k++) {
    Operand item = o->l->listed.data[i->list + k];
    if (item.mode != 'u' || !counted(o, item.reg) || is_live(o, item.reg))
      continue;
    i->arg[0] |= 1u << k;
    live_add(o, item.reg);
  }
}

/* The last use of a register that stays as it was. */
static void use_operands(Own *o, const Ins *i) {
  bool goes_on = !(ins_row(i)->flags & END);
  for (OperandWalk w = ins_operands(o->l, i); operand_next(&w);) {
    Reg r = w.now.reg;
    if (w.role & LOOKS) o->l->regs.data[r].read = true;
    if (!(w.role & READS)) continue;
    bool last = counted(o, r) && !is_live(o, r);
    if (last && goes_on) out_count(o, INS_drop, r, i->span);
    live_add(o, r);
  }
}

/* Likewise of an instruction after which nothing may be put. */
static void need_operands(Own *o, const Ins *i) {
  for (OperandWalk w = ins_operands(o->l, i); operand_next(&w);) {
    if (w.role & LOOKS) o->l->regs.data[w.now.reg].read = true;
    if (w.role & READS) live_add(o, w.now.reg);
  }
}

/* Called when the instruction is in the output, which is backward: what is put
 * now stands before it. */
static void move_operands(Own *o, const Ins *i) {
  for (OperandWalk w = ins_operands(o->l, i); operand_next(&w);) {
    Reg r = w.now.reg;
    if (!(w.role & MOVES)) continue;
    bool lent = reg_is_borrowed(o->l, r);
    if (lent || (counted(o, r) && is_live(o, r)))
      out_count(o, INS_keep, r, i->span);
    live_add(o, r);
  }
}

/* Is it pure, and nobody reads what it sets?  A view is no reference, so others
 * may look at it while it is not live. */
static bool is_dead(const Own *o, const Ins *i) {
  if ((ins_row(i)->flags & PURE) != PURE) return false;
  Reg r = i->arg[0];
  bool view = ins_row(i)->operands[0] == 'w' && o->l->regs.data[r].counted;
  return view ? !o->l->regs.data[r].read : !is_live(o, r);
}

/* --- What to drop when an instruction fails ----------------------------- */

bool may_stop(const Lower *l, int op) {
  return op < INS_COUNT &&
         (ins_info[op].flags & (FAIL | ALLOC) || l->fn->key.stops);
}

/* Called when the set has what is live after the instruction and what it
 * reads. What it moves still belongs to the function if it fails, unless a call
 * has handed it over by then; of a borrowed value it is the reference that was
 * kept to be moved. */
static void record_live(Own *o, Ins *i) {
  Lower *l = o->l;
  i->live = (uint32_t)l->live.len;
  for (uint32_t k = 0; k < o->live_count; k++)
    if (counted(o, o->live[k])) VEC_PUSH(&l->live, o->live[k]);
  if (!(ins_row(i)->flags & CALL))
    for (OperandWalk w = ins_operands(l, i); operand_next(&w);)
      if (w.role & MOVES && l->regs.data[w.now.reg].counted)
        VEC_PUSH(&l->live, w.now.reg);
  i->live_count = (uint32_t)l->live.len - i->live;
}

/* --- Branches ----------------------------------------------------------- */

static void stamp_target(Own *o, const LabelInfo *t) {
  o->stamps++;
  for (uint32_t k = 0; k < t->live_count; k++)
    o->stamp[o->saved.data[t->live + k]] = o->stamps;
}

/* The drops that an edge to `to` needs: of what is in the set and not live
 * there. Where no other edge arrives they stand after the label.  Otherwise
 * the edge is critical and is split: the drops get a label of their own
 * after the function's end, and a jump on to `to`.  Gives the label to jump to.
 */
static Label edge(Own *o, Label to, Span span) {
  LabelInfo *t = &o->labels[to];
  stamp_target(o, t);
  uint32_t first = (uint32_t)o->saved.len;
  for (uint32_t k = 0; k < o->live_count; k++) {
    Reg r = o->live[k];
    if (counted(o, r) && o->stamp[r] != o->stamps) save(o, r);
  }
  uint32_t n = (uint32_t)o->saved.len - first;
  if (n == 0) return to;
  if (t->preds == 1) {
    t->drops = first;
    t->drop_count = n;
    return to;
  }
  Label at = label_new(o->l);
  VEC_PUSH(&o->far, (Ins){.op = PSEUDO_label, .arg = {at}, .span = span});
  for (uint32_t k = first; k < first + n; k++)
    VEC_PUSH(&o->far, count_ins(o, INS_drop, o->saved.data[k], span));
  VEC_PUSH(&o->far, (Ins){.op = INS_jump, .arg = {0, to}, .span = span});
  return at;
}

static void live_add_all(Own *o, const LabelInfo *t) {
  for (uint32_t k = 0; k < t->live_count; k++)
    live_add(o, o->saved.data[t->live + k]);
}

/* A conditional branch: falls through or goes to `to`. */
static void own_branch(Own *o, Ins i, Label to) {
  uint32_t before = o->live_count;
  live_add_all(o, &o->labels[to]);
  need_operands(o, &i);
  for (uint32_t k = before; k < o->live_count; k++)
    if (counted(o, o->live[k])) out_count(o, INS_drop, o->live[k], i.span);
  *ins_target(&i) = edge(o, to, i.span);
  VEC_PUSH(&o->out, i);
}

/* A branch to one of the labels in its list. */
static void own_switch(Own *o, Ins i) {
  Lower *l = o->l;
  o->live_count = 0;
  for (OperandWalk w = ins_operands(l, &i); operand_next(&w);)
    if (w.role & JUMPS) live_add_all(o, &o->labels[w.now.reg]);
  need_operands(o, &i);
  for (OperandWalk w = ins_operands(l, &i); operand_next(&w);)
    if (w.role & JUMPS)
      *operand_place(l, &i, w.at) = edge(o, w.now.reg, i.span);
  VEC_PUSH(&o->out, i);
}

/* --- Pseudo-instructions ------------------------------------------------ */

static void own_label(Own *o, Ins i) {
  LabelInfo *t = &o->labels[i.arg[0]];
  t->live = (uint32_t)o->saved.len;
  for (uint32_t k = 0; k < o->live_count; k++) save(o, o->live[k]);
  t->live_count = (uint32_t)o->saved.len - t->live;
  VEC_PUSH(&o->out, i);
}

/* Parameters nobody needs are dropped at the head. */
static void own_head(Own *o, Ins i) {
  for (Reg r = 0; r < o->l->fn->nparams; r++) {
    if (r == o->l->self) continue;
    if (counted(o, r) && !is_live(o, r)) out_count(o, INS_drop, r, i.span);
    live_add(o, r);
  }
  VEC_PUSH(&o->out, i);
}

/* Back to the head: the listed values move to the parameters.  When the run is
 * stopped there, they are the parameters already. */
static void own_self(Own *o, Ins i) {
  Lower *l = o->l;
  o->live_count = 0;
  i.live = (uint32_t)l->live.len;
  for (Reg r = 0; r < i.arg[0]; r++)
    if (counted(o, r)) VEC_PUSH(&l->live, r);
  for (size_t k = 0; k < l->carried.len; k++)
    if (counted(o, l->carried.data[k])) VEC_PUSH(&l->live, l->carried.data[k]);
  i.live_count = (uint32_t)l->live.len - i.live;
  VEC_PUSH(&o->out, i);
  /* What becomes a borrowed parameter is borrowed, too, and does not move. */
  for (Reg r = 0; r < i.arg[0]; r++) {
    if (!reg_is_borrowed(l, r)) continue;
    Operand *item = &l->listed.data[i.list + r];
    assert(reg_is_borrowed(l, item->reg));
    item->mode = 'u';
  }
  move_operands(o, &i);
  need_operands(o, &i);
}

/* Puts the instruction with which the last reference of cell `i->arg[0]` ends:
 * `open` frees it, `reuse` makes a token of it.  The `n` fields in `live` stay;
 * where they are all that the cell has, and at most two, a short form will do,
 * and else `mask` says which they are, so that the others are dropped. */
static void out_open(Own *o, const Ins *i, const Reg *live, uint32_t n,
                     uint64_t mask, Reg token) {
  static const uint16_t few[2][3] = {{INS_free_cell, INS_open1, INS_open2},
                                     {INS_reuse0, INS_reuse1, INS_reuse2}};
  Lower *l = o->l;
  bool reuses = token != NO_REG, all = n == i->arg[1] && n <= 2;
  Ins ins = {.op = reuses ? INS_reuse : INS_open,
             .arg = {i->arg[0], n},
             .span = i->span,
             .list = (uint32_t)l->listed.len};
  if (all) {
    ins.op = few[reuses][n];
    for (uint32_t k = 0; k < n; k++) ins.arg[1 + k] = live[k];
  } else {
    ins.words[0] = mask;
    for (uint32_t k = 0; k < n; k++)
      VEC_PUSH(&l->listed, (Operand){.mode = 'f', .reg = live[k]});
    ins.list_count = n;
  }
  if (ins.op == INS_reuse2) {
    VEC_PUSH(&l->listed, (Operand){.mode = 'y', .reg = token});
    ins.list_count = 1;
  } else if (reuses) {
    ins.arg[all ? 1 + n : 2] = token;
  }
  VEC_PUSH(&o->out, ins);
}

static void own_open(Own *o, Ins i) {
  Reg cell = i.arg[0];
  /* Fields that are used further on are views no more: they become owned here.
   */
  uint32_t n = 0;
  uint64_t mask = 0;
  Reg *live = ARENA_ARRAY(o->l->arena, Reg, (size_t)i.list_count + 1);
  if (!live) return;
  for (uint32_t k = 0; k < i.list_count; k++) {
    Operand item = o->l->listed.data[i.list + k];
    if (!is_live(o, item.reg)) continue;
    live[n++] = item.reg;
    mask |= (uint64_t)1 << (item.field & 63);
    live_remove(o, item.reg);
  }
  /* A reuse token is set here if a cell takes it further on: to the memory if
   * this is the cell's end, else to null. */
  bool last = counted(o, cell) && !is_live(o, cell);
  Reg token = i.words[0] ? (Reg)i.words[0] - 1 : NO_REG;
  if (token != NO_REG && !is_live(o, token)) token = NO_REG;
  if (token != NO_REG) {
    live_remove(o, token);
    Ins null = {.op = INS_imm, .arg = {token}, .span = i.span};
    if (!last) VEC_PUSH(&o->out, null);
    if (!last) token = NO_REG;
  }
  /* A cell of which no field stays, but some are counted, is freed by an
   * ordinary `drop`; so is a big one, whose mask has no room in an instruction.
   */
  bool big = i.arg[2] > SIZE_SMALL_MAX;
  if (last && !big && (n > 0 || token != NO_REG || i.arg[1] == 0)) {
    out_open(o, &i, live, n, mask, token);
  } else {
    if (last) out_count(o, INS_drop, cell, i.span);
    for (uint32_t k = 0; k < n; k++) out_count(o, INS_keep, live[k], i.span);
  }
  live_add(o, cell);
}

/* --- Calls -------------------------------------------------------------- */

/* The next argument that a call would borrow, from item `k` of its list on; the
 * value that it is a view of is listed after it. */
static uint32_t next_lent(const Own *o, const Ins *i, uint32_t k) {
  const Operand *items = &o->l->listed.data[i->list];
  while (k < i->list_count && items[k].mode != 'a') k++;
  return k;
}

/* Are there such arguments, and are all their values our own and not live? */
static bool gives_all(const Own *o, const Ins *i) {
  const Operand *items = &o->l->listed.data[i->list];
  uint32_t k = next_lent(o, i, 0);
  if (k == i->list_count) return false;
  for (; k < i->list_count; k = next_lent(o, i, k + 2)) {
    Reg value = items[k + 1].reg;
    if (!counted(o, value) || is_live(o, value)) return false;
  }
  return true;
}

/* A call that lends values which nobody needs any more gives them away instead,
 * to the instance that owns its parameters: it can free or reuse them as it
 * goes. */
static void own_call(Own *o, Ins *i) {
  if (!gives_all(o, i)) return;
  Lower *l = o->l;
  Operand *items = &l->listed.data[i->list];
  for (uint32_t k = next_lent(o, i, 0); k < i->list_count;
       k = next_lent(o, i, k + 2)) {
    l->regs.data[items[k].reg].counted = true;
    items[k].mode = 'm';
    items[k + 1] = (Operand){.mode = 'v', .reg = items[k].reg};
  }
  Function *f = (Function *)(uintptr_t)i->words[0];
  i->words[0] = (uint64_t)(uintptr_t)code_owning(l->code, f);
}

/* --- The walk ----------------------------------------------------------- */

static void own_plain(Own *o, Ins i) {
  const Label *to = ins_target(&i);
  if (ins_row(&i)->flags & END) o->live_count = 0;
  if (to) live_add_all(o, &o->labels[*to]);
  if (is_dead(o, &i)) return;
  define_operands(o, &i);
  take_over(o, &i);
  use_operands(o, &i);
  if (may_stop(o->l, i.op)) record_live(o, &i);
  VEC_PUSH(&o->out, i);
  move_operands(o, &i);
}

/* An argument becomes a view of the value, unless own_call() gave it away. */
static void own_argument(Own *o, Ins i) {
  i.op = counted(o, i.arg[0]) ? INS_move : INS_borrow;
  i.arg[1] = o->l->listed.data[i.list].reg;
  i.list_count = 0;
  own_plain(o, i);
}

static void own_ins(Own *o, Ins i) {
  const InsInfo *row = ins_row(&i);
  switch (i.op) {
    case PSEUDO_label: own_label(o, i); return;
    case PSEUDO_head: own_head(o, i); return;
    case PSEUDO_self: own_self(o, i); return;
    case PSEUDO_open: own_open(o, i); return;
    case PSEUDO_pass: own_argument(o, i); return;
    default: break;
  }
  const Label *to = ins_target(&i);
  if (row->list[1] == 'j') {
    own_switch(o, i);
  } else if (to && !(row->flags & END)) {
    own_branch(o, i, *to);
  } else {
    if (row->flags & CALL && row->words[0] == 'f') own_call(o, &i);
    own_plain(o, i);
  }
}

/* How many ways lead to each label. */
static void count_preds(Own *o) {
  const Lower *l = o->l;
  bool falls = true;
  for (size_t k = 0; k < l->list.len; k++) {
    const Ins *i = &l->list.data[k];
    if (i->op == PSEUDO_label) o->labels[i->arg[0]].preds += falls;
    for (OperandWalk w = ins_operands(l, i); operand_next(&w);)
      if (w.role & JUMPS) o->labels[w.now.reg].preds++;
    falls = !(ins_row(i)->flags & END);
  }
}

/* The output, forward again, with the drops of labels in their place. */
static void write_back(Own *o) {
  Lower *l = o->l;
  VEC_CLEAR(&l->list);
  while (o->out.len) {
    Ins i = VEC_POP(&o->out);
    VEC_PUSH(&l->list, i);
    if (i.op != PSEUDO_label) continue;
    const LabelInfo *t = &o->labels[i.arg[0]];
    for (uint32_t k = 0; k < t->drop_count; k++) {
      VEC_PUSH(&l->list,
               count_ins(o, INS_drop, o->saved.data[t->drops + k], i.span));
    }
  }
  l->main_len = l->list.len;
  for (size_t k = 0; k < o->far.len; k++) VEC_PUSH(&l->list, o->far.data[k]);
}

static bool own_init(Own *o, Lower *l) {
  *o = (Own){.l = l};
  VEC_INIT(&o->out, l->code->mem);
  VEC_INIT(&o->far, l->code->mem);
  VEC_INIT(&o->saved, l->code->mem);
  size_t n = l->regs.len + 1;
  o->labels = ARENA_ARRAY(l->arena, LabelInfo, (size_t)l->label_count + 1);
  o->live = ARENA_ARRAY(l->arena, Reg, n);
  o->place = ARENA_ARRAY(l->arena, uint32_t, n);
  o->stamp = ARENA_ARRAY(l->arena, uint32_t, n);
  return o->labels && o->live && o->place && o->stamp;
}

void own_pass(Lower *l) {
  Own o;
  if (own_init(&o, l)) {
    count_preds(&o);
    for (size_t k = l->list.len; k-- > 0;) own_ins(&o, l->list.data[k]);
    if (l->self != NO_REG && !is_live(&o, l->self))
      out_count(&o, INS_drop, l->self, l->span);
    write_back(&o);
  } else {
    l->failed = true;
  }
  VEC_DONE(&o.out);
  VEC_DONE(&o.far);
  VEC_DONE(&o.saved);
}
