/* Building the list of instructions: registers, labels, the instructions
 * themselves.
 *
 * Registers are virtual and as many as are asked for, each with what later
 * phases must know of it (RegInfo).  Operands beyond three are listed after
 * the newest instruction, so they are put at once, before the next instruction.
 *
 * When memory runs out instructions are written to a sink and `failed` is set;
 * callers need not look at each result, and the driver looks at the end. */
#include "bytecode/lower/lower.h"

bool is_counted(const Lower *l, const Type *type) {
  return env_counted(l->env, type);
}

static Reg reg_add(Lower *l, RegInfo info) {
  VEC_PUSH(&l->regs, info);
  if (mem_exhausted(l->regs.mem)) l->failed = true;
  return l->regs.len ? (Reg)(l->regs.len - 1) : 0;
}

Reg reg_new(Lower *l, bool counted) {
  return reg_add(l, (RegInfo){.counted = counted, .out = -1, .hint = NO_REG});
}

Reg reg_of_type(Lower *l, const Type *type) {
  return reg_new(l, is_counted(l, type));
}

/* A register with a fixed place in the outgoing area, where a callee will find
 * its argument. */
Reg reg_out(Lower *l, int place, bool counted) {
  if (place >= l->max_out) l->max_out = place + 1;
  return reg_add(l,
                 (RegInfo){.counted = counted, .out = place, .hint = NO_REG});
}

void reg_borrow(Lower *l, Reg r) {
  if (r >= l->regs.len) return;
  if (l->regs.data[r].counted) l->regs.data[r].borrowed = true;
}

bool reg_is_borrowed(const Lower *l, Reg r) {
  return r < l->regs.len && l->regs.data[r].borrowed;
}

Reg lower_failed(Lower *l) {
  l->failed = true;
  return reg_new(l, true);
}

Label label_new(Lower *l) { return l->label_count++; }

Ins *put(Lower *l, int op, uint32_t a, uint32_t b, uint32_t c) {
  size_t len = l->list.len;
  VEC_PUSH(&l->list, (Ins){.op = (uint16_t)op,
                           .arg = {a, b, c},
                           .list = (uint32_t)l->listed.len,
                           .span = l->span});
  if (l->list.len > len) return &VEC_LAST(&l->list);
  l->failed = true;
  return &l->sink;
}

Ins *put_word(Lower *l, int op, uint32_t a, uint32_t b, uint32_t c,
              const void *word) {
  Ins *ins = put(l, op, a, b, c);
  ins->words[0] = (uint64_t)(uintptr_t)word;
  return ins;
}

void put_listed(Lower *l, char mode, uint32_t reg) {
  size_t len = l->listed.len;
  VEC_PUSH(&l->listed, (Operand){.mode = mode, .reg = reg});
  if (l->listed.len == len || l->list.len == 0) {
    l->failed = true;
    return;
  }
  VEC_LAST(&l->list).list_count++;
}

void put_label(Lower *l, Label at) { put(l, PSEUDO_label, at, 0, 0); }

void put_jump(Lower *l, Label to) { put(l, INS_jump, 0, to, 0); }

/* Phases mark instructions as nothing while they walk the list, and take them
 * out here, so that indices stay valid meanwhile. */
void put_away(Lower *l) {
  size_t kept = 0;
  for (size_t k = 0; k < l->list.len; k++) {
    if (l->list.data[k].op == PSEUDO_nothing) continue;
    l->list.data[kept++] = l->list.data[k];
  }
  l->list.len = kept;
}

/* Up to 16 bits stand in the instruction itself. */
void put_bits(Lower *l, Reg dst, uint64_t bits) {
  if (bits <= UINT16_MAX) put(l, INS_imm, dst, (uint32_t)bits, 0);
  else put(l, INS_constant, dst, 0, 0)->words[0] = bits;
}

/* --- Operands ----------------------------------------------------------- */

OperandWalk ins_operands(const Lower *l, const Ins *i) {
  return (OperandWalk){.info = ins_row(i),
                       .args = {i->arg[0], i->arg[1], i->arg[2]},
                       .list_count = i->list_count,
                       .listed = l->listed.data + i->list};
}

Reg *operand_place(Lower *l, Ins *i, uint32_t at) {
  return at < 3 ? &i->arg[at] : &l->listed.data[i->list + at - 3].reg;
}

/* A switch jumps by its list and has no target of this kind. */
Label *ins_target(Ins *i) {
  for (int k = 0; k < 3; k++)
    if (operand_role(ins_row(i)->operands[k]) & JUMPS) return &i->arg[k];
  return NULL;
}

bool ins_ends_block(Ins *i) {
  return ins_row(i)->flags & (END | JOIN) || ins_target(i);
}

const OpSite *ins_op_site(const Ins *i) {
  return i->op == INS_op ? (const OpSite *)(uintptr_t)i->words[0] : NULL;
}

/* An instruction that makes a small cell has its header in its first word. */
int ins_cell_fields(const Lower *l, const Ins *i, Reg *fields) {
  int n = 0;
  if (ins_row(i)->words[0] != 'h') return 0;
  for (OperandWalk o = ins_operands(l, i); operand_next(&o);)
    if (o.now.mode == 'm') fields[n++] = o.now.reg;
  return n;
}

Reg ins_reuse_token(const Lower *l, const Ins *i) {
  for (OperandWalk o = ins_operands(l, i); operand_next(&o);)
    if (o.now.mode == 'x') return o.now.reg;
  return NO_REG;
}

int ins_of_cell(int n, bool reuses) {
  static const uint16_t ops[3][2] = {{INS_cell, INS_cell_in},
                                     {INS_cell1, INS_cell1_in},
                                     {INS_cell2, INS_cell2_in}};
  return ops[n <= 2 ? n : 0][reuses];
}
