/* Tuples that are taken apart where they were put together: the cell is not
 * made, its fields are the registers that it was made of.  So a let of an
 * operator's tuple, or of several values at once, costs nothing. */
#include <string.h>

#include "interp/lower/lower.h"

typedef struct RegUse {
  uint32_t defs, reads;
  uint32_t apart; /* reads that take a field, or end the cell */
  uint32_t views; /* reads that do not keep the value alive */
  uint32_t cell;  /* the index of the cell made here, + 1 */
  bool blocked;   /* a field of it is read without keeping it alive */
} RegUse;

typedef struct Tuples {
  Lower *l;
  RegUse *uses;
  Reg *same_as; /* a field -> the register it was made of */
} Tuples;

/* Is a cell built in the memory of another?  That is listed last. */
static bool is_in_memory(const Ins *i) {
  return i->op == INS_cell1_in || i->op == INS_cell2_in || i->op == INS_cell_in;
}

static bool makes_cell(const Ins *i) {
  return i->op == INS_cell1 || i->op == INS_cell2 || i->op == INS_cell ||
         is_in_memory(i);
}

/* The cell that the instruction takes apart, or NO_REG. */
static Reg taken_apart(const Ins *i) {
  if (i->op == INS_field) return i->arg[1];
  return i->op == PSEUDO_OPEN ? i->arg[0] : NO_REG;
}

static const Listed *items_of(const Tuples *t, const Ins *i) {
  return &t->l->listed.data[i->list];
}

static bool lists(const Tuples *t, const Ins *i, Reg r) {
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = items_of(t, i)[k];
    if (item.mode == 'u' && item.reg == r) return true;
  }
  return false;
}

/* --- Looking ------------------------------------------------------------ */

static void note(Tuples *t, const Ins *i, char mode, Reg r) {
  RegUse *u = &t->uses[r];
  bool opened = i->op == PSEUDO_OPEN && mode == 'd'; /* set by its field */
  if (mode == 'd' || mode == 'w') {
    u->defs += !opened;
  } else {
    u->reads++;
    u->apart += r == taken_apart(i);
    u->views += mode == 'v' && !lists(t, i, r);
  }
}

static void note_ins(Tuples *t, uint32_t at) {
  const Ins *i = &t->l->list.data[at];
  const char *modes = i->op < INS_COUNT ? ins_info[i->op].operands : "...";
  for (int k = 0; k < 3; k++)
    if (strchr("dwuvm", modes[k])) note(t, i, modes[k], i->arg[k]);
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed item = items_of(t, i)[k];
    if (item.mode != 'j') note(t, i, item.mode, item.reg);
  }
  if (i->op == PSEUDO_OPEN) note(t, i, 'u', i->arg[0]);
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

static bool lists_fields(const Ins *i) {
  return i->op == INS_cell || i->op == INS_cell_in;
}

static int cell_size(const Ins *i) {
  if (lists_fields(i)) return (int)i->arg[1];
  return i->op == INS_cell2 || i->op == INS_cell2_in ? 2 : 1;
}

static Reg cell_field(const Tuples *t, const Ins *i, int k) {
  return lists_fields(i) ? items_of(t, i)[k].reg : i->arg[1 + k];
}

static bool is_fixed(const Tuples *t, Reg r) {
  return t->uses[r].defs + (r < t->l->fn->nparams) <= 1 &&
         !t->l->regs.data[r].nullable && t->l->regs.data[r].out < 0;
}

/* Is it made once, of values that stay, and only taken apart? */
static bool may_go(const Tuples *t, Reg r) {
  const RegUse *u = &t->uses[r];
  if (u->cell == 0 || u->blocked || u->reads != u->apart || !is_fixed(t, r))
    return false;
  const Ins *cell = &t->l->list.data[u->cell - 1];
  for (int k = 0; k < cell_size(cell); k++)
    if (!is_fixed(t, cell_field(t, cell, k))) return false;
  return true;
}

static Reg find(const Tuples *t, Reg r) {
  while (t->same_as[r] != NO_REG) r = t->same_as[r];
  return r;
}

static void rename_operands(Tuples *t, Ins *i) {
  const char *modes = i->op < INS_COUNT ? ins_info[i->op].operands : "...";
  for (int k = 0; k < 3; k++)
    if (strchr("dwuvm", modes[k])) i->arg[k] = find(t, i->arg[k]);
  if (i->op == PSEUDO_OPEN) i->arg[0] = find(t, i->arg[0]);
  for (uint32_t k = 0; k < i->list_count; k++) {
    Listed *item = &t->l->listed.data[i->list + k];
    if (item->mode != 'j') item->reg = find(t, item->reg);
  }
}

/* What the field is read into stands for the register from now on. */
static void replace_field(Tuples *t, Ins *i) {
  const Ins *cell = &t->l->list.data[t->uses[i->arg[1]].cell - 1];
  Reg from = find(t, cell_field(t, cell, (int)i->arg[2]));
  Reg to = i->arg[0];
  if (is_fixed(t, to)) {
    t->same_as[to] = from;
    i->op = PSEUDO_NOTHING;
  } else {
    *i = (Ins){.op = INS_move, .arg = {to, from}, .span = i->span};
  }
}

/* A cell that is not made leaves no memory to build another in. */
static void remove_open(Tuples *t, Ins *i) {
  if (i->words[0]) t->l->regs.data[i->words[0] - 1].missing = true;
  i->op = PSEUDO_NOTHING;
}

static void build_anew(Tuples *t, Ins *i) {
  if (!is_in_memory(i)) return;
  Reg memory = items_of(t, i)[i->list_count - 1].reg;
  if (!t->l->regs.data[memory].missing) return;
  i->op = i->op == INS_cell_in    ? INS_cell
          : i->op == INS_cell1_in ? INS_cell1
                                  : INS_cell2;
  i->list_count--;
}

/* Cells keep their place in the list until all fields were looked up there. */
static bool replace(Tuples *t) {
  Lower *l = t->l;
  bool changed = false;
  for (size_t k = 0; k < l->list.len; k++) {
    Ins *i = &l->list.data[k];
    Reg apart = taken_apart(i);
    if (apart == NO_REG || !may_go(t, apart)) {
      rename_operands(t, i);
      continue;
    }
    changed = true;
    if (i->op == INS_field) replace_field(t, i);
    else remove_open(t, i);
  }
  for (size_t k = 0; k < l->list.len; k++) {
    Ins *i = &l->list.data[k];
    bool gone = makes_cell(i) && may_go(t, i->arg[0]) && changed;
    i->op = gone ? PSEUDO_NOTHING : i->op;
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
