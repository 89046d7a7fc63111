/* Registers: linear scan (Poletto & Sarkar, "Linear Scan Register Allocation",
 * 1999).  The list has no backward jump but the last, so the lifetime of a
 * virtual register is one interval, from its first to its last mention.  In the
 * order of where they start, intervals get the lowest real register that is
 * free until they end.  A frame has as many registers as it needs; what has to
 * be spilled is no longer a register here (spill.c).
 *
 * Moves are coalesced: a register that would be moved to another takes that
 * one's place if it is free (`hint`).  An instruction reads before it writes,
 * so its result may take the place of an operand that ends there, unless it is
 * EARLY.
 *
 * An interval says too much of a loop's parameters: it lasts as long as any
 * path in the list needs the parameter.  So one thing is looked at more
 * closely.  A number that becomes a parameter at a self tail call is computed
 * in that parameter's register as soon as nobody on this path reads the old
 * one, though another path, which stands later in the list, still does. */
#include "bytecode/lower/lower.h"

static const char too_many[] = "this function needs more than 65,535 registers";

typedef struct Assign {
  Lower *l;
  uint32_t *far_at; /* label -> first index of its drops; 0: none */
  Reg *expiring;    /* position -> the first register that ends there */
  Reg *next_expiring;
  uint32_t expired; /* positions below this have been looked at */
  uint64_t *used;   /* a bit a real register */
  uint32_t words, high;
  uint64_t *live;    /* index -> which numbers among the first 64 parameters
                        are live there; NULL: there is no loop */
  uint64_t *live_at; /* likewise, by label */
  uint32_t lent[64]; /* parameter -> up to where another has its register */
} Assign;

typedef void (*MentionFn)(Assign *a, Reg r, uint32_t position);

/* Calls `mention` for each register that instruction `p` has, reads first.
 * Reads are at position 2p and writes at 2p + 1, so that a result may take the
 * register of an operand that ends there.  The drops on edges to other blocks
 * count as reads of the jump, though they stand after the main list (own.c).
 */
static void each_mention(Assign *a, size_t p, MentionFn mention) {
  const Lower *l = a->l;
  const Ins *i = &l->list.data[p];
  uint32_t read = (uint32_t)(2 * p),
           write = read + !(ins_row(i)->flags & EARLY);
  for (OperandWalk w = ins_operands(l, i); operand_next(&w);)
    if (w.role & USES) mention(a, w.now.reg, read);
  for (OperandWalk w = ins_operands(l, i); operand_next(&w);)
    if (w.role & SETS) mention(a, w.now.reg, write);
  for (OperandWalk w = ins_operands(l, i); operand_next(&w);) {
    size_t k = w.role & JUMPS ? a->far_at[w.now.reg] : 0;
    for (; k && l->list.data[k].op != INS_jump; k++)
      mention(a, l->list.data[k].arg[0], read);
  }
}

static void extend(Assign *a, Reg r, uint32_t position) {
  RegInfo *info = &a->l->regs.data[r];
  if (position < info->start) info->start = position;
  if (position > info->end) info->end = position;
}

/* --- Free registers ----------------------------------------------------- */

static bool is_free(const Assign *a, uint32_t real) {
  return !(a->used[real / 64] >> (real % 64) & 1);
}

static void take(Assign *a, RegInfo *info, uint32_t real) {
  a->used[real / 64] |= (uint64_t)1 << (real % 64);
  if (real >= a->high) a->high = real + 1;
  info->real = (uint16_t)real;
}

static uint32_t lowest_free(const Assign *a) {
  for (uint32_t w = 0; w < a->words; w++)
    if (~a->used[w]) return w * 64 + (uint32_t)__builtin_ctzll(~a->used[w]);
  return REGISTERS_MAX;
}

/* Frees what ended before `position`. */
static void expire(Assign *a, uint32_t position) {
  for (; a->expired < position; a->expired++) {
    Reg r = a->expiring[a->expired];
    for (; r != NO_REG; r = a->next_expiring[r]) {
      uint16_t real = a->l->regs.data[r].real;
      a->used[real / 64] &= ~((uint64_t)1 << (real % 64));
    }
  }
}

static void ends_at(Assign *a, Reg r, uint32_t position) {
  a->next_expiring[r] = a->expiring[position];
  a->expiring[position] = r;
}

/* --- Numbers that are parameters of loops ------------------------------- */

static uint64_t param_bit(const Assign *a, Reg r) {
  bool one = r < a->l->fn->nparams && r < 64 && !a->l->regs.data[r].counted;
  return one ? (uint64_t)1 << r : 0;
}

/* The parameters that are live where a jump goes.  On the way there may be
 * drops, which are of counted values only. */
static uint64_t live_there(const Assign *a, Label to) {
  const Lower *l = a->l;
  size_t k = a->far_at[to];
  while (k && l->list.data[k].op != INS_jump) k++;
  return a->live_at[k ? l->list.data[k].arg[1] : to];
}

/* Which parameters are live at each instruction: a backward walk, as in own.c,
 * with a word for a set.  Jumps go forward, so their targets are known. */
static bool find_live(Assign *a) {
  Lower *l = a->l;
  bool loops = false;
  for (size_t p = 0; p < l->main_len; p++)
    loops |= l->list.data[p].op == PSEUDO_self;
  if (!loops) return true;
  a->live = ARENA_ARRAY(l->arena, uint64_t, l->main_len + 1);
  a->live_at = ARENA_ARRAY(l->arena, uint64_t, (size_t)l->label_count + 1);
  if (!a->live || !a->live_at) return false;
  uint64_t live = 0;
  for (size_t p = l->main_len; p-- > 0;) {
    const Ins *i = &l->list.data[p];
    uint64_t sets = 0, reads = 0;
    if (i->op == PSEUDO_label) a->live_at[i->arg[0]] = live;
    if (ins_row(i)->flags & END) live = 0;
    for (OperandWalk w = ins_operands(l, i); operand_next(&w);) {
      if (w.role & JUMPS) live |= live_there(a, w.now.reg);
      if (w.role & SETS) sets |= param_bit(a, w.now.reg);
      if (w.role & USES) reads |= param_bit(a, w.now.reg);
    }
    a->live[p] = live = (live & ~sets) | reads;
  }
  return true;
}

/* May `r` have the register of the parameter that it becomes, from `position`
 * to its own end?  If the parameter is not live in between, and no other
 * register has been promised its place there. */
static bool takes_param(Assign *a, Reg r, uint32_t position) {
  Lower *l = a->l;
  const RegInfo *info = &l->regs.data[r];
  Reg param = info->hint;
  if (!a->live || param == NO_REG || param_bit(a, param) == 0 ||
      info->counted || l->regs.data[param].end < info->end ||
      a->lent[param] > position)
    return false;
  for (uint32_t p = (position + 1) / 2; p <= info->end / 2; p++)
    if (a->live[p] & param_bit(a, param)) return false;
  a->lent[param] = info->end + 1;
  return true;
}

/* At a register's first mention. */
static void assign(Assign *a, Reg r, uint32_t position) {
  RegInfo *info = &a->l->regs.data[r];
  if (info->out >= 0 || info->real != REGISTERS_MAX) return;
  expire(a, position);
  if (takes_param(a, r, position)) {
    info->real = (uint16_t)info->hint;
    return;
  }
  uint32_t real = lowest_free(a);
  if (info->hint != NO_REG) {
    uint32_t wanted = a->l->regs.data[info->hint].real;
    if (wanted != REGISTERS_MAX && is_free(a, wanted)) real = wanted;
  }
  if (real >= REGISTERS_MAX - 1) {
    a->l->too_large = too_many;
    return;
  }
  take(a, info, real);
  ends_at(a, r, info->end);
}

/* --- The phases --------------------------------------------------------- */

static void find_far(Assign *a) {
  const Lower *l = a->l;
  for (size_t k = l->main_len; k < l->list.len; k++) {
    const Ins *i = &l->list.data[k];
    if (i->op == PSEUDO_label) a->far_at[i->arg[0]] = (uint32_t)k + 1;
  }
}

static void intervals(Assign *a) {
  Lower *l = a->l;
  for (size_t r = 0; r < l->regs.len; r++) {
    l->regs.data[r].start = UINT32_MAX;
    l->regs.data[r].end = 0;
    l->regs.data[r].real = REGISTERS_MAX;
  }
  for (size_t p = 0; p < l->main_len; p++) {
    each_mention(a, p, extend);
    if (l->list.data[p].op != PSEUDO_head) continue;
    for (Reg r = 0; r < l->fn->nparams; r++)
      extend(a, r, (uint32_t)(2 * p + 1));
  }
}

/* Coalescing: what is moved had best be where it is moved to from the start. */
static void hint_moves(Lower *l) {
  for (size_t p = 0; p < l->main_len; p++) {
    const Ins *i = &l->list.data[p];
    if (i->op != INS_move) continue;
    RegInfo *to = &l->regs.data[i->arg[0]];
    if (to->hint == NO_REG && l->regs.data[i->arg[1]].out < 0)
      to->hint = i->arg[1];
  }
}

static bool assign_init(Assign *a, Lower *l) {
  *a = (Assign){.l = l, .words = (uint32_t)(l->regs.len / 64 + 2)};
  if (a->words > REGISTERS_MAX / 64 + 1) a->words = REGISTERS_MAX / 64 + 1;
  size_t positions = 2 * l->list.len + 2;
  a->far_at = ARENA_ARRAY(l->arena, uint32_t, (size_t)l->label_count + 1);
  a->expiring = ARENA_ARRAY(l->arena, Reg, positions);
  a->next_expiring = ARENA_ARRAY(l->arena, Reg, l->regs.len + 1);
  a->used = ARENA_ARRAY(l->arena, uint64_t, a->words);
  if (!a->far_at || !a->expiring || !a->next_expiring || !a->used) return false;
  for (size_t i = 0; i < positions; i++) a->expiring[i] = NO_REG;
  return true;
}

bool regs_assign(Lower *l) {
  Assign a;
  if (l->fn->nparams >= REGISTERS_MAX) l->too_large = too_many;
  if (l->too_large || !assign_init(&a, l)) return false;
  find_far(&a);
  intervals(&a);
  hint_moves(l);
  if (!find_live(&a)) return false;
  for (Reg r = 0; r < l->fn->nparams; r++) {
    take(&a, &l->regs.data[r], r);
    ends_at(&a, r, l->regs.data[r].end);
  }
  for (size_t p = 0; p < l->main_len; p++) each_mention(&a, p, assign);
  l->window = a.high;
  if (a.high + (uint32_t)l->max_out + 1 >= REGISTERS_MAX)
    l->too_large = too_many;
  return !l->too_large;
}
