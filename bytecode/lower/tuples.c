/* Scalar replacement of tuples: where all that is done to a tuple is to read
 * its fields, the cell is not made, and the registers that it would have been
 * made of stand for the fields.  So a let of an operator's tuple, of a
 * function's unboxed one, or of several values at once, costs nothing. */
#include <string.h>

#include "bytecode/lower/lower.h"

typedef struct RegUse {
  uint32_t defs, reads;
  uint32_t field_reads; /* reads of a field, or the cell's end */
  uint32_t views;       /* reads that do not keep the value alive */
  uint32_t cell;        /* the index of the cell made here, + 1 */
  bool blocked;         /* a field of it is read without keeping it alive */
} RegUse;

typedef struct Tuples {
  Lower *l;
  RegUse *uses;
  Reg *same_as; /* a field -> the register it was made of */
} Tuples;

static bool makes_cell(const Ins *i) { return ins_row(i)->words[0] == 'h'; }

static bool reads_field(const Ins *i) {
  return i->op == INS_field || i->op == INS_part;
}

/* The cell of which the instruction reads or ends the fields, or NO_REG. */
static Reg opened_cell(const Ins *i) {
  if (reads_field(i)) return i->arg[1];
  return i->op == PSEUDO_open ? i->arg[0] : NO_REG;
}

/* Is `r` among the operands that the instruction keeps alive? */
static bool holds(const Tuples *t, const Ins *i, Reg r) {
  for (OperandWalk w = ins_operands(t->l, i); operand_next(&w);)
    if (w.role & READS && w.now.reg == r) return true;
  return false;
}

/* --- Looking ------------------------------------------------------------ */

static void note_ins(Tuples *t, uint32_t at) {
  const Ins *i = &t->l->list.data[at];
  for (OperandWalk w = ins_operands(t->l, i); operand_next(&w);) {
    if (!(w.role & REGISTER)) continue;
    RegUse *u = &t->uses[w.now.reg];
    if (w.role & SETS) {
      u->defs += i->op != PSEUDO_open; /* that was set by its `field` */
    } else {
      u->reads++;
      u->field_reads += w.now.reg == opened_cell(i);
      u->views += w.now.mode == 'v' && !holds(t, i, w.now.reg);
    }
  }
  if (makes_cell(i)) t->uses[i->arg[0]].cell = at + 1;
}

static void look(Tuples *t) {
  const Lower *l = t->l;
  memset(t->uses, 0, l->regs.len * sizeof *t->uses);
  for (size_t k = 0; k < l->list.len; k++) note_ins(t, (uint32_t)k);
  for (size_t k = 0; k < l->list.len; k++) {
    const Ins *i = &l->list.data[k];
    if (i->op != INS_field) continue;
    t->uses[i->arg[1]].blocked |= t->uses[i->arg[0]].views > 0;
  }
}

/* --- Replacing ---------------------------------------------------------- */

static bool is_fixed(const Tuples *t, Reg r) {
  return t->uses[r].defs + (r < t->l->fn->nparams) <= 1 &&
         !t->l->regs.data[r].nullable && t->l->regs.data[r].out < 0;
}

/* Can the cell in `r` stay unbuilt?  It must be made once, of registers that
 * are never set again, and only its fields may be read. */
static bool may_go(const Tuples *t, Reg r) {
  const RegUse *u = &t->uses[r];
  if (u->cell == 0 || u->blocked || u->reads != u->field_reads ||
      !is_fixed(t, r))
    return false;
  Reg fields[SIZE_SMALL_MAX];
  int n = ins_cell_fields(t->l, &t->l->list.data[u->cell - 1], fields);
  for (int k = 0; k < n; k++)
    if (!is_fixed(t, fields[k])) return false;
  return true;
}

/* Renamings chain up when the fields of one tuple come from another's. */
static Reg find(const Tuples *t, Reg r) {
  while (t->same_as[r] != NO_REG) r = t->same_as[r];
  return r;
}

static void rename_operands(Tuples *t, Ins *i) {
  for (OperandWalk w = ins_operands(t->l, i); operand_next(&w);)
    if (w.role & REGISTER) *operand_place(t->l, i, w.at) = find(t, w.now.reg);
}

/* What the field is read into stands for the register from now on.  Where the
 * field's register is set at several places it cannot be renamed; it is moved
 * to instead. */
static void replace_field(Tuples *t, Ins *i) {
  const Ins *cell = &t->l->list.data[t->uses[i->arg[1]].cell - 1];
  Reg fields[SIZE_SMALL_MAX];
  ins_cell_fields(t->l, cell, fields);
  Reg from = find(t, fields[i->arg[2]]), to = i->arg[0];
  if (is_fixed(t, to)) {
    t->same_as[to] = from;
    i->op = PSEUDO_nothing;
  } else {
    *i = (Ins){.op = INS_move, .arg = {to, from}, .span = i->span};
  }
}

/* A cell that is not made leaves no reuse token. */
static void remove_open(Tuples *t, Ins *i) {
  if (i->words[0]) t->l->regs.data[i->words[0] - 1].missing = true;
  i->op = PSEUDO_nothing;
}

/* A cell that was to reuse the memory of one that is not made gets new
 * memory. */
static void build_anew(Tuples *t, Ins *i) {
  Reg token = makes_cell(i) ? ins_reuse_token(t->l, i) : NO_REG;
  if (token == NO_REG || !t->l->regs.data[token].missing) return;
  Reg fields[SIZE_SMALL_MAX];
  i->op = (uint16_t)ins_of_cell(ins_cell_fields(t->l, i, fields), false);
  i->list_count--;
}

/* Cells keep their place in the list until all fields were looked up there. */
static bool replace(Tuples *t) {
  Lower *l = t->l;
  bool changed = false;
  for (size_t k = 0; k < l->list.len; k++) {
    Ins *i = &l->list.data[k];
    Reg cell = opened_cell(i);
    if (cell == NO_REG || !may_go(t, cell)) {
      rename_operands(t, i);
      continue;
    }
    changed = true;
    if (reads_field(i)) replace_field(t, i);
    else remove_open(t, i);
  }
  for (size_t k = 0; k < l->list.len; k++) {
    Ins *i = &l->list.data[k];
    bool gone = makes_cell(i) && may_go(t, i->arg[0]) && changed;
    i->op = gone ? PSEUDO_nothing : i->op;
    build_anew(t, i);
  }
  put_away(l);
  return changed;
}

/* Once more for tuples within tuples. */
enum { ROUNDS = 4 };

void tuple_pass(Lower *l) {
  Tuples t = {.l = l};
  size_t n = l->regs.len + 1;
  t.uses = ARENA_ARRAY(l->arena, RegUse, n);
  t.same_as = ARENA_ARRAY(l->arena, Reg, n);
  if (!t.uses || !t.same_as) {
    l->failed = true;
    return;
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t r = 0; r < n; r++) t.same_as[r] = NO_REG;
    look(&t);
    if (!replace(&t)) break;
  }
}
