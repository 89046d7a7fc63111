/* Registers: every virtual register lives from its first to its last mention
 * in the list, and gets the lowest real register that is free that long, or
 * the one it would have to be moved to.  An instruction reads before it
 * writes, so its result may take an operand's place, unless it is EARLY.
 *
 * One thing is looked at more closely: a number that becomes a parameter at a
 * self tail call gets that parameter's register as soon as nobody reads the old
 * one on this path, though another path, which stands behind, still does. */
#include <string.h>

#include "interp/lower/lower.h"

enum { REGS_MAX = UINT16_MAX };

typedef struct Assign {
  Lower *l;
  uint32_t *far_at; /* label -> first index of its drops; 0: none */
  Reg *expiring;    /* position -> the first register that ends there */
  Reg *next_expiring;
  uint32_t expired; /* positions below this have been looked at */
  uint64_t *used;   /* a bit a real register */
  uint32_t words, high;
  uint64_t *needed;    /* index -> which numbers among the first parameters are
                          read there or behind; NULL: there is no loop */
  uint64_t *needed_at; /* likewise, by label */
  uint32_t lent[64];   /* up to which position a parameter's is another's */
} Assign;

typedef void (*TouchFn)(Assign *a, Reg r, uint32_t position);

/* Reads stand at 2p, writes at 2p + 1. */
static void touch_ins(Assign *a, size_t p, TouchFn touch) {
  const Lower *l = a->l;
  const Ins *i = &l->list.data[p];
  const char *modes = i->op < INS_COUNT ? ins_info[i->op].operands : "...";
  uint32_t at = (uint32_t)(2 * p);
  bool early = i->op < INS_COUNT && ins_info[i->op].flags & EARLY;
  for (int k = 2; k >= 0; k--) {
    bool sets = modes[k] == 'd' || modes[k] == 'w';
    if (strchr("dwuvm", modes[k])) touch(a, i->arg[k], at + (sets && !early));
  }
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = l->listed.data[i->list + k];
    if (item.mode == 'j') continue;
    bool sets = item.mode == 'd' || item.mode == 'w';
    touch(a, item.reg, at + (sets && !early));
  }
}

static void touch_far(Assign *a, Label label, size_t p, TouchFn touch) {
  const Lower *l = a->l;
  if (a->far_at[label] == 0) return;
  for (size_t k = a->far_at[label]; l->list.data[k].op != INS_jump; k++)
    touch(a, l->list.data[k].arg[0], (uint32_t)(2 * p));
}

/* The drops on the edges that leave here count as here. */
static void touch_edges(Assign *a, size_t p, TouchFn touch) {
  const Lower *l = a->l;
  const Ins *i = &l->list.data[p];
  if (i->op < INS_COUNT && ins_info[i->op].operands[2] == 'j')
    touch_far(a, i->arg[2], p, touch);
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = l->listed.data[i->list + k];
    if (item.mode == 'j') touch_far(a, item.reg, p, touch);
  }
}

static void touch_at(Assign *a, size_t p, TouchFn touch) {
  touch_ins(a, p, touch);
  touch_edges(a, p, touch);
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
  return REGS_MAX;
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

/* What is needed where a jump goes; far drops are of counted values only. */
static uint64_t needed_there(const Assign *a, Label to) {
  const Lower *l = a->l;
  size_t k = a->far_at[to];
  while (k && l->list.data[k].op != INS_jump) k++;
  return a->needed_at[k ? l->list.data[k].arg[1] : to];
}

static void need_operand(const Assign *a, char mode, uint32_t arg,
                         uint64_t *sets, uint64_t *reads) {
  if (mode == 'd' || mode == 'w') *sets |= param_bit(a, arg);
  if (mode == 'u' || mode == 'v' || mode == 'm') *reads |= param_bit(a, arg);
}

/* `needed` before the instruction, given that behind it. */
static uint64_t needed_before(const Assign *a, const Ins *i, uint64_t needed) {
  bool real = i->op < INS_COUNT;
  const char *modes = real ? ins_info[i->op].operands : "...";
  uint64_t sets = 0, reads = 0;
  if (i->op == PSEUDO_SELF || (real && ins_info[i->op].flags & END)) needed = 0;
  if (i->op == INS_jump) needed = needed_there(a, i->arg[1]);
  if (modes[2] == 'j') needed |= needed_there(a, i->arg[2]);
  for (int k = 0; k < 3; k++)
    need_operand(a, modes[k], i->arg[k], &sets, &reads);
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = a->l->listed.data[i->list + k];
    if (item.mode == 'j') needed |= needed_there(a, item.reg);
    need_operand(a, item.mode, item.reg, &sets, &reads);
  }
  return (needed & ~sets) | reads;
}

static bool has_loop(const Lower *l) {
  for (size_t p = 0; p < l->main_len; p++)
    if (l->list.data[p].op == PSEUDO_SELF) return true;
  return false;
}

/* Jumps go forward, so what is needed at their targets is known. */
static bool find_needed(Assign *a) {
  Lower *l = a->l;
  if (!has_loop(l)) return true;
  a->needed = ARENA_ARRAY(l->arena, uint64_t, l->main_len + 1);
  a->needed_at = ARENA_ARRAY(l->arena, uint64_t, (size_t)l->label_count + 1);
  if (!a->needed || !a->needed_at) return false;
  uint64_t needed = 0;
  for (size_t p = l->main_len; p-- > 0;) {
    const Ins *i = &l->list.data[p];
    if (i->op == PSEUDO_LABEL) a->needed_at[i->arg[0]] = needed;
    needed = needed_before(a, i, needed);
    a->needed[p] = needed;
  }
  return true;
}

/* May `r` have the register of the parameter that it becomes, from `position`
 * to its own end? */
static bool borrows_param(Assign *a, Reg r, uint32_t position) {
  Lower *l = a->l;
  const RegInfo *info = &l->regs.data[r];
  Reg param = info->hint;
  if (!a->needed || param == NO_REG || param_bit(a, param) == 0 ||
      info->counted || l->regs.data[param].end < info->end ||
      a->lent[param] > position)
    return false;
  for (uint32_t p = (position + 1) / 2; p <= info->end / 2; p++)
    if (a->needed[p] & param_bit(a, param)) return false;
  a->lent[param] = info->end + 1;
  return true;
}

/* At a register's first mention. */
static void assign(Assign *a, Reg r, uint32_t position) {
  RegInfo *info = &a->l->regs.data[r];
  if (info->out >= 0 || info->real != REGS_MAX) return;
  expire(a, position);
  if (borrows_param(a, r, position)) {
    info->real = (uint16_t)info->hint;
    return;
  }
  uint32_t real = lowest_free(a);
  if (info->hint != NO_REG) {
    uint32_t wanted = a->l->regs.data[info->hint].real;
    if (wanted != REGS_MAX && is_free(a, wanted)) real = wanted;
  }
  if (real >= REGS_MAX - 1) {
    a->l->too_large = true;
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
    if (i->op == PSEUDO_LABEL) a->far_at[i->arg[0]] = (uint32_t)k + 1;
  }
}

static void intervals(Assign *a) {
  Lower *l = a->l;
  for (size_t r = 0; r < l->regs.len; r++) {
    l->regs.data[r].start = UINT32_MAX;
    l->regs.data[r].end = 0;
    l->regs.data[r].real = REGS_MAX;
  }
  for (size_t p = 0; p < l->main_len; p++) {
    touch_at(a, p, extend);
    if (l->list.data[p].op != PSEUDO_HEAD) continue;
    for (Reg r = 0; r < l->fn->nparams; r++)
      extend(a, r, (uint32_t)(2 * p + 1));
  }
}

/* A move that could be left out is one from where its source ends. */
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
  if (a->words > REGS_MAX / 64 + 1) a->words = REGS_MAX / 64 + 1;
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
  if (!assign_init(&a, l)) return false;
  find_far(&a);
  intervals(&a);
  hint_moves(l);
  if (!find_needed(&a)) return false;
  for (Reg r = 0; r < l->fn->nparams; r++) {
    take(&a, &l->regs.data[r], r);
    ends_at(&a, r, l->regs.data[r].end);
  }
  for (size_t p = 0; p < l->main_len; p++) touch_at(&a, p, assign);
  l->window = a.high;
  return !l->too_large && a.high + (uint32_t)l->max_out + 1 < REGS_MAX;
}
