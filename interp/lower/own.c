/* Ownership: one backward walk over the list finds, for every use of a counted
 * value, whether it is the last.
 *
 *   moves (m)   the last one takes the reference along; before any other a
 *               `keep` is put
 *               what is borrowed is kept before any
 *   uses (u)    after the last one a `drop` is put, unless the instruction
 *               takes it over
 *   branches    what only one way needs is dropped on the other
 *   open        fields taken out of a cell: with the cell's last reference
 *               they move out and the cell is freed without any counting
 *
 * Jumps go forward, so at a branch the needs of its target are known.  What
 * may fail gets a list of what to drop when it does.  Pure instructions whose
 * result nobody reads are left out. */
#include <string.h>

#include "interp/lower/lower.h"

typedef struct LabelInfo {
  uint32_t preds;
  uint32_t live, live_count;  /* in `saved` */
  uint32_t drops, drop_count; /* in `saved`: what to drop on arrival */
} LabelInfo;

typedef struct Own {
  Lower *l;
  VEC(Ins) out; /* backward */
  VEC(Ins) far; /* drops on edges, behind the end of the function */
  VEC(Reg) saved;
  LabelInfo *labels;
  /* The set of registers that are needed further on: a sparse set. */
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

static const char *operands_of(const Ins *i) {
  return i->op < INS_COUNT ? ins_info[i->op].operands : "...";
}

static unsigned flags_of(const Ins *i) {
  return i->op < INS_COUNT ? ins_info[i->op].flags : 0;
}

/* Calls `f` for each register operand, with its mode. */
typedef void (*OperandFn)(Own *o, const Ins *i, char mode, Reg r);
static void each_operand(Own *o, const Ins *i, OperandFn f) {
  const char *modes = operands_of(i);
  for (int k = 0; k < 3; k++)
    if (strchr("dwuvm", modes[k])) f(o, i, modes[k], i->arg[k]);
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = o->l->listed.data[i->list + k];
    if (item.mode != 'j') f(o, i, item.mode, item.reg);
  }
}

static void define(Own *o, const Ins *i, char mode, Reg r) {
  if (mode != 'd' && mode != 'w') return;
  bool unread = mode == 'd' && counted(o, r) && !is_live(o, r);
  if (unread && !(flags_of(i) & END)) out_count(o, INS_drop, r, i->span);
  live_remove(o, r);
}

/* Operands of its list that an instruction reads last and drops itself: it may
 * give their elements to its results. */
static void take_over(Own *o, Ins *i) {
  if (!(flags_of(i) & TAKES)) return;
  for (uint32_t k = 0; k < i->list_count && k < TAKES_MAX; k++) {
    Listed item = o->l->listed.data[i->list + k];
    if (item.mode != 'u' || !counted(o, item.reg) || is_live(o, item.reg))
      continue;
    i->arg[0] |= 1u << k;
    live_add(o, item.reg);
  }
}

/* The last use of a register that stays as it was. */
static void use(Own *o, const Ins *i, char mode, Reg r) {
  if (mode == 'v') o->l->regs.data[r].read = true;
  if (mode != 'u') return;
  bool last = counted(o, r) && !is_live(o, r);
  if (last && !(flags_of(i) & END)) out_count(o, INS_drop, r, i->span);
  live_add(o, r);
}

/* Runs behind the instruction in the output, so a keep stands before it. */
static void move_out(Own *o, const Ins *i, char mode, Reg r) {
  if (mode != 'm') return;
  bool lent = reg_is_borrowed(o->l, r);
  if (lent || (counted(o, r) && is_live(o, r)))
    out_count(o, INS_keep, r, i->span);
  live_add(o, r);
}

/* Is it pure, and nobody reads what it sets? */
static bool is_dead(const Own *o, const Ins *i) {
  if (!(flags_of(i) & PURE)) return false;
  Reg r = i->arg[0];
  bool view = i->op == INS_field && o->l->regs.data[r].counted;
  return view ? !o->l->regs.data[r].read : !is_live(o, r);
}

/* --- What to drop when an instruction fails ----------------------------- */

static void add_moved(Own *o, const Ins *i, char mode, Reg r) {
  (void)i;
  if (mode == 'm' && counted(o, r)) VEC_PUSH(&o->l->live, r);
}

bool may_stop(const Lower *l, int op) {
  return op < INS_COUNT &&
         (ins_info[op].flags & FAIL || l->code->stops_anywhere);
}

/* Called when what is needed behind the instruction and what it uses are in
 * the set, and what it moves is not yet. */
static void record_live(Own *o, Ins *i) {
  Lower *l = o->l;
  i->live = (uint32_t)l->live.len;
  for (uint32_t k = 0; k < o->live_count; k++)
    if (counted(o, o->live[k])) VEC_PUSH(&l->live, o->live[k]);
  if (!(flags_of(i) & CALL)) each_operand(o, i, add_moved);
  i->live_count = (uint32_t)l->live.len - i->live;
}

/* --- Branches ----------------------------------------------------------- */

static void live_set(Own *o, const LabelInfo *t) {
  o->live_count = 0;
  for (uint32_t k = 0; k < t->live_count; k++)
    live_add(o, o->saved.data[t->live + k]);
}

static void stamp_target(Own *o, const LabelInfo *t) {
  o->stamps++;
  for (uint32_t k = 0; k < t->live_count; k++)
    o->stamp[o->saved.data[t->live + k]] = o->stamps;
}

/* The drops an edge to `to` needs: what is in the set and not needed there.
 * Gives the label to jump to, a place of its own when others arrive, too. */
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
  VEC_PUSH(&o->far, (Ins){.op = PSEUDO_LABEL, .arg = {at}, .span = span});
  for (uint32_t k = first; k < first + n; k++)
    VEC_PUSH(&o->far, count_ins(o, INS_drop, o->saved.data[k], span));
  VEC_PUSH(&o->far, (Ins){.op = INS_jump, .arg = {0, to}, .span = span});
  return at;
}

static void add_use(Own *o, const Ins *i, char mode, Reg r) {
  (void)i;
  if (mode == 'u') live_add(o, r);
  if (mode == 'v') o->l->regs.data[r].read = true;
}

/* A conditional branch: falls through or goes to arg[2]. */
static void own_branch(Own *o, Ins i) {
  LabelInfo *t = &o->labels[i.arg[2]];
  uint32_t before = o->live_count;
  for (uint32_t k = 0; k < t->live_count; k++)
    live_add(o, o->saved.data[t->live + k]);
  each_operand(o, &i, add_use);
  for (uint32_t k = before; k < o->live_count; k++)
    if (counted(o, o->live[k])) out_count(o, INS_drop, o->live[k], i.span);
  i.arg[2] = edge(o, i.arg[2], i.span);
  VEC_PUSH(&o->out, i);
}

static void own_switch(Own *o, Ins i) {
  o->live_count = 0;
  Listed *items = &o->l->listed.data[i.list];
  for (uint32_t k = 0; k < i.list_count; k++) {
    if (items[k].mode != 'j') continue;
    LabelInfo *t = &o->labels[items[k].reg];
    for (uint32_t n = 0; n < t->live_count; n++)
      live_add(o, o->saved.data[t->live + n]);
  }
  each_operand(o, &i, add_use);
  for (uint32_t k = 0; k < i.list_count; k++)
    if (items[k].mode == 'j') items[k].reg = edge(o, items[k].reg, i.span);
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

/* What a borrowed parameter becomes is as borrowed as it was. */
static void self_modes(Own *o, const Ins *i) {
  for (Reg r = 0; r < i->arg[0]; r++) {
    if (!reg_is_borrowed(o->l, r)) continue;
    Listed *item = &o->l->listed.data[i->list + r];
    assert(reg_is_borrowed(o->l, item->reg));
    item->mode = 'u';
  }
}

/* Back to the head: the listed values move to the parameters. */
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
  self_modes(o, &i);
  each_operand(o, &i, move_out);
  each_operand(o, &i, add_use);
}

/* Puts what ends the cell's last reference: `open`, `open1`, `open2`, or, when
 * its memory is wanted, `spare0` to `spare2` and `spare`. */
static void out_open(Own *o, const Ins *i, const Reg *live, uint32_t n,
                     uint64_t mask, Reg memory) {
  static const uint16_t few[2][3] = {{INS_free_cell, INS_open1, INS_open2},
                                     {INS_spare0, INS_spare1, INS_spare2}};
  Lower *l = o->l;
  bool spares = memory != NO_REG, all = n == i->arg[1] && n <= 2;
  Ins ins = {.op = spares ? INS_spare : INS_open,
             .arg = {i->arg[0], n},
             .span = i->span,
             .list = (uint32_t)l->listed.len};
  if (all) {
    ins.op = few[spares][n];
    for (uint32_t k = 0; k < n; k++) ins.arg[1 + k] = live[k];
  } else {
    ins.words[0] = mask;
    for (uint32_t k = 0; k < n; k++)
      VEC_PUSH(&l->listed, (Listed){.mode = 'v', .reg = live[k]});
    ins.list_count = n;
  }
  if (ins.op == INS_spare2) {
    VEC_PUSH(&l->listed, (Listed){.mode = 'd', .reg = memory});
    ins.list_count = 1;
  } else if (spares) {
    ins.arg[all ? 1 + n : 2] = memory;
  }
  VEC_PUSH(&o->out, ins);
}

/* Which listed fields are needed; they become owned here.  Gives their mask. */
static uint64_t taken_fields(Own *o, const Ins *i, Reg *live, uint32_t *n) {
  uint64_t mask = 0;
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = o->l->listed.data[i->list + k];
    if (!is_live(o, item.reg)) continue;
    live[(*n)++] = item.reg;
    mask |= (uint64_t)1 << (item.field & 63);
    live_remove(o, item.reg);
  }
  return mask;
}

/* The register for the cell's memory, if a cell is built in it further on; when
 * this is not the cell's end, it gets null. */
static Reg wanted_memory(Own *o, const Ins *i, bool last) {
  if (i->words[0] == 0) return NO_REG;
  Reg memory = (Reg)i->words[0] - 1;
  if (!is_live(o, memory)) return NO_REG;
  live_remove(o, memory);
  if (last) return memory;
  VEC_PUSH(&o->out, (Ins){.op = INS_imm, .arg = {memory}, .span = i->span});
  return NO_REG;
}

static void own_open(Own *o, Ins i) {
  Reg cell = i.arg[0];
  uint32_t n = 0;
  Reg *live = ARENA_ARRAY(o->l->arena, Reg, (size_t)i.list_count + 1);
  uint64_t mask = taken_fields(o, &i, live, &n);
  bool last = counted(o, cell) && !is_live(o, cell);
  bool big = i.arg[2] > SIZE_SMALL_MAX;
  Reg memory = wanted_memory(o, &i, last);
  bool apart = n > 0 || memory != NO_REG || i.arg[1] == 0;
  if (last && !big && apart) {
    out_open(o, &i, live, n, mask, memory);
  } else {
    if (last) out_count(o, INS_drop, cell, i.span);
    for (uint32_t k = 0; k < n; k++) out_count(o, INS_keep, live[k], i.span);
  }
  live_add(o, cell);
}

/* --- Calls -------------------------------------------------------------- */

/* The next argument that a call would borrow, from item `k` on; the value it
 * is a view of is listed behind it. */
static uint32_t next_lent(const Own *o, const Ins *i, uint32_t k) {
  const Listed *items = &o->l->listed.data[i->list];
  while (k < i->list_count && items[k].mode != 'b') k++;
  return k;
}

/* Are they all our own, and needed no more? */
static bool gives_all(const Own *o, const Ins *i) {
  const Listed *items = &o->l->listed.data[i->list];
  uint32_t k = next_lent(o, i, 0);
  if (k == i->list_count) return false;
  for (; k < i->list_count; k = next_lent(o, i, k + 2)) {
    Reg value = items[k + 1].reg;
    if (!counted(o, value) || is_live(o, value)) return false;
  }
  return true;
}

/* What nobody needs any more is given away, to the instance that owns its
 * parameters: it can free or reuse them as it goes. */
static void own_call(Own *o, Ins *i) {
  if (!gives_all(o, i)) return;
  Lower *l = o->l;
  Listed *items = &l->listed.data[i->list];
  for (uint32_t k = next_lent(o, i, 0); k < i->list_count;
       k = next_lent(o, i, k + 2)) {
    l->regs.data[items[k].reg].counted = true;
    items[k].mode = 'm';
    items[k + 1] = (Listed){.mode = 'v', .reg = items[k].reg};
  }
  Function *f = (Function *)(uintptr_t)i->words[0];
  i->words[0] = (uint64_t)(uintptr_t)code_owning(l->code, f);
}

/* --- The walk ----------------------------------------------------------- */

static void own_plain(Own *o, Ins i) {
  if (flags_of(&i) & END) o->live_count = 0;
  if (i.op == INS_jump) live_set(o, &o->labels[i.arg[1]]);
  if (is_dead(o, &i)) return;
  each_operand(o, &i, define);
  take_over(o, &i);
  each_operand(o, &i, use);
  if (may_stop(o->l, i.op)) record_live(o, &i);
  VEC_PUSH(&o->out, i);
  each_operand(o, &i, move_out);
}

static void own_ins(Own *o, Ins i) {
  switch (i.op) {
    case PSEUDO_LABEL: own_label(o, i); return;
    case PSEUDO_HEAD: own_head(o, i); return;
    case PSEUDO_SELF: own_self(o, i); return;
    case PSEUDO_OPEN: own_open(o, i); return;
    case INS_switch_tag: own_switch(o, i); return;
    case INS_call:
    case INS_call_parts:
    case INS_tail: own_call(o, &i); break;
    case PSEUDO_PASS:
      i.op = counted(o, i.arg[0]) ? INS_move : INS_borrow;
      i.arg[1] = o->l->listed.data[i.list].reg;
      i.list_count = 0;
      break;
    default: break;
  }
  if (operands_of(&i)[2] == 'j') own_branch(o, i);
  else own_plain(o, i);
}

static void count_preds(Own *o) {
  const Lower *l = o->l;
  bool falls = true;
  for (size_t k = 0; k < l->list.len; k++) {
    const Ins *i = &l->list.data[k];
    if (i->op == PSEUDO_LABEL) o->labels[i->arg[0]].preds += falls;
    if (i->op == INS_jump) o->labels[i->arg[1]].preds++;
    if (operands_of(i)[2] == 'j') o->labels[i->arg[2]].preds++;
    for (uint32_t n = 0; n < i->list_count; n++) {
      Listed item = l->listed.data[i->list + n];
      if (item.mode == 'j') o->labels[item.reg].preds++;
    }
    falls = i->op != PSEUDO_SELF && !(flags_of(i) & END);
  }
}

/* The output, forward again, with the drops of labels in their place. */
static void write_back(Own *o) {
  Lower *l = o->l;
  VEC_CLEAR(&l->list);
  while (o->out.len) {
    Ins i = VEC_POP(&o->out);
    VEC_PUSH(&l->list, i);
    if (i.op != PSEUDO_LABEL) continue;
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
