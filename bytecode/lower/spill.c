/* Functions that hold very many values at a time.
 *
 * An operand names one of 65,535 registers, and what each instruction has to
 * drop when it fails is written down for each, so code for a hundred thousand
 * values would be quadratic, too.  Such a function, and no other, is lowered
 * again as a `wide` one, in which
 *
 *   variables   are used by copies, so that the register of a variable is only
 *               set, read and moved
 *   arguments   are computed before the first of them goes to the outgoing
 *               area, and are owned by the callee
 *   patterns    read fields as owned values and open nothing (match.c)
 *   captures    are read where they are used (function.c)
 *   big cells   are filled field by field
 *
 * Then whatever outlives FAR_LEAST instructions is kept in a cell instead of a
 * register (spilling; here everywhere, as there is no loop in the list): put
 * there where it is set, and read from there before each use.  A null field is
 * one that has not been set on this path; dropping the cell passes over it. */
#include "bytecode/lower/lower.h"

#include <string.h>

enum { WIDE_LEAST = 4096, FAR_LEAST = 256 };

typedef struct Life {
  uint32_t first, last; /* of its mentions, in the list */
  bool near;            /* it has to be in a register */
  uint32_t slot;        /* 1 + its field; 0: none */
} Life;

typedef struct Mention {
  uint32_t at; /* which operand */
  Reg reg;
} Mention;

typedef struct Spill {
  Lower *l;
  Life *lives;
  uint32_t slots;
  size_t offset; /* words of the cell before its fields */
  Reg cell;
  VEC(Ins) out;
  VEC(Mention) used, set; /* of the instruction at hand, and far */
} Spill;

static bool may_be_far(const Lower *l, const Ins *i, const Operand *operand) {
  const RegInfo *info = &l->regs.data[operand->reg];
  bool filled = i->op == INS_far_put && operand->mode == 'u';
  return i->op < INS_COUNT && strchr("dcbump", operand->mode) && !filled &&
         operand->reg >= l->fn->nparams && info->out < 0 && !info->borrowed &&
         !info->nullable;
}

/* What is set before the head outlives the list: it is carried back. */
static Life *find_lives(Lower *l) {
  Life *lives = ARENA_ARRAY(l->arena, Life, l->regs.len + 2);
  bool loops = true;
  for (size_t p = 0; lives && p < l->list.len; p++) {
    const Ins *i = &l->list.data[p];
    if (i->op == PSEUDO_head) loops = false;
    for (OperandWalk w = ins_operands(l, i); operand_next(&w);) {
      if (!(w.role & REGISTER)) continue;
      Life *life = &lives[w.now.reg];
      if (!life->last) life->first = (uint32_t)p;
      life->last = (uint32_t)p + 1;
      life->near |= loops || !may_be_far(l, i, &w.now);
    }
  }
  return lives;
}

bool lower_is_wide(Lower *l) {
  if (l->regs.len <= WIDE_LEAST) return false;
  Life *lives = find_lives(l);
  int32_t *change = ARENA_ARRAY(l->arena, int32_t, l->list.len + 1);
  int32_t now = 0, most = 0;
  if (!lives || !change) return false;
  for (size_t r = 0; r < l->regs.len; r++) {
    change[lives[r].first]++;
    change[lives[r].last]--;
  }
  for (size_t p = 0; p < l->list.len; p++)
    if ((now += change[p]) > most) most = now;
  return most > WIDE_LEAST;
}

/* --- The cell ------------------------------------------------------------- */

static void choose(Spill *s) {
  for (size_t r = 0; r < s->l->regs.len; r++) {
    Life *life = &s->lives[r];
    if (!life->near && life->last - life->first > FAR_LEAST)
      life->slot = ++s->slots;
  }
  s->offset = cell_big_offset_of(s->slots);
}

/* The words before the fields, after the cell's header. */
static const uint64_t *far_header(Spill *s) {
  const RegInfo *regs = s->l->regs.data;
  uint64_t *words = lower_big_header(s->l, 0, s->slots);
  for (size_t r = 0; words && r < s->l->regs.len; r++) {
    uint32_t slot = s->lives[r].slot;
    if (slot && regs[r].counted) lower_count_field(words, slot - 1);
  }
  return words;
}

/* --- The list ------------------------------------------------------------- */

static void out_put(Spill *s, int op, Reg a, Reg b, uint32_t c, uint64_t word,
                    Span span) {
  VEC_PUSH(&s->out, (Ins){.op = (uint16_t)op,
                          .arg = {a, b, c},
                          .words = {word},
                          .list = (uint32_t)s->l->listed.len,
                          .span = span});
}

static uint64_t place_of(const Spill *s, Reg r) {
  return s->offset + s->lives[r].slot - 1;
}

static void find_mentions(Spill *s, const Ins *i) {
  VEC_CLEAR(&s->used);
  VEC_CLEAR(&s->set);
  for (OperandWalk w = ins_operands(s->l, i); operand_next(&w);) {
    if (!(w.role & REGISTER) || !s->lives[w.now.reg].slot) continue;
    Mention m = {w.at, w.now.reg};
    if (w.role & USES) VEC_PUSH(&s->used, m);
    else VEC_PUSH(&s->set, m);
  }
}

/* A register for this one mention. */
static Reg near_reg(Spill *s, Ins *i, Mention m) {
  Reg r = reg_new(s->l, s->l->regs.data[m.reg].counted);
  *operand_place(s->l, i, m.at) = r;
  return r;
}

static void rewrite(Spill *s, Ins i) {
  Lower *l = s->l;
  find_mentions(s, &i);
  for (size_t k = 0; k < s->used.len; k++) {
    Mention m = s->used.data[k];
    Reg r = near_reg(s, &i, m);
    out_put(s, INS_far_get, r, s->cell, l->regs.data[r].counted,
            place_of(s, m.reg), i.span);
    VEC_PUSH(&l->listed, (Operand){.mode = 'u', .reg = s->cell});
    if (s->out.len) VEC_LAST(&s->out).list_count = 1;
  }
  for (size_t k = 0; k < s->set.len; k++) near_reg(s, &i, s->set.data[k]);
  VEC_PUSH(&s->out, i);
  if (i.op == PSEUDO_head)
    out_put(s, INS_far_cell, s->cell, 0, 0, (uintptr_t)far_header(s), i.span);
  for (size_t k = 0; k < s->set.len; k++) {
    Mention m = s->set.data[k];
    out_put(s, INS_far_put, s->cell, *operand_place(l, &i, m.at), 0,
            place_of(s, m.reg), i.span);
  }
}

void spill_pass(Lower *l) {
  Spill s = {.l = l};
  if (!l->wide) return;
  VEC_INIT(&s.out, l->code->mem);
  VEC_INIT(&s.used, l->code->mem);
  VEC_INIT(&s.set, l->code->mem);
  s.lives = find_lives(l);
  if (s.lives) choose(&s);
  else l->failed = true;
  if (s.slots) {
    s.cell = reg_new(l, true); /* the last of those that `lives` has */
    for (size_t p = 0; p < l->list.len && !l->failed; p++)
      rewrite(&s, l->list.data[p]);
    VEC_CLEAR(&l->list);
    for (size_t p = 0; p < s.out.len; p++) VEC_PUSH(&l->list, s.out.data[p]);
  }
  VEC_DONE(&s.out);
  VEC_DONE(&s.used);
  VEC_DONE(&s.set);
}
