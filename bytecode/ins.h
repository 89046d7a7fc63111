/* Instructions: their rows, the units they are made of, and the one walk over
 * their operands that lowering, the dump and the verifier share. */
#ifndef BYTECODE_INS_H
#define BYTECODE_INS_H

#include "ops/ops.h"
#include "tensor/object.h"

/* --- Rows --------------------------------------------------------------- */

/* The opcodes, then what only lowering has in its list. */
typedef enum InsCode {
#define ID(name) INS_##name,
#include "bytecode/code.ids"
#undef ID
  INS_COUNT,
  INS_LAST = INS_COUNT - 1, /* so that the next one is INS_COUNT */
#define ID(name) PSEUDO_##name,
#include "bytecode/pseudo.ids"
#undef ID
  INS_ROWS
} InsCode;

/* Flags of a row; code.def explains them. */
enum {
  FAIL = 1,
  ALLOC = 2,
  CALL = 4,
  RET = 8,
  END = 16,
  JOIN = 32,
  EARLY = 64,
  QUIET = 128,
  PURE = 256 | QUIET,
  LOOP = 512,
};
enum { TAKES_MAX = 16 }; /* the bits of operand a */

/* The columns of code.def. */
typedef struct InsInfo {
  const char *name;
  char operands[4], list[5], words[3];
  uint8_t word_count;
  uint16_t flags;
  const char *meaning;
  bool scalar; /* then: */
  uint16_t op; /* an OpId */
  DType dtype, result;
  uint16_t opposite; /* an InsCode; 0: it is no jump with an opposite */
  bool swapped;
} InsInfo;
extern const InsInfo ins_info[INS_ROWS];

/* The instruction that computes operator `op` on scalars of this dtype and has
 * operands of these letters; INS_COUNT: there is none. */
InsCode ins_scalar(OpId op, DType dtype, const char *operands);

/* The instruction that stands after the conditional jump `head` in the table:
 * it goes back where `head` would go on. */
static inline uint16_t ins_back(uint16_t head) { return head + 1; }

/* --- Units -------------------------------------------------------------- */

typedef union Word {
  struct {
    uint16_t op, a, b, c;
  };
  struct {
    uint16_t jump_op, jump_a;
    int32_t jump;
  };
  uint16_t regs[4];
  uint64_t word;
  Value value;
  struct Function *function;
  const void *data;
} Word;

/* The units that a list of `n` registers takes: four registers to a unit. */
static inline unsigned register_units(unsigned n) { return (n + 3) / 4; }
/* The units of an instruction, its list included. */
uint32_t ins_length(const Word *at);
/* Its list: how many operands, and the first when they are registers. */
uint32_t ins_list_count(const Word *at);
static inline const uint16_t *ins_list(const Word *at) {
  return at[1 + ins_info[at->op].word_count].regs;
}
/* The unit of data that has this letter; NULL: none has. */
const Word *ins_word(const Word *at, char letter);

/* --- Operands ----------------------------------------------------------- */

/* What the letter of an operand says that it does. */
enum {
  DEFINES = 1, /* d c b y D: sets a register, which owns what it gets */
  BORROWS = 2, /* w l: sets it to a view */
  READS = 4,   /* u: reads it */
  LOOKS = 8,   /* v e f a: likewise, without keeping its value alive */
  MOVES = 16,  /* m x p: takes its value away */
  JUMPS = 32,  /* j J */
  SETS = DEFINES | BORROWS,
  USES = READS | LOOKS | MOVES,
  REGISTER = SETS | USES,
};
extern const uint8_t operand_roles[128];
static inline unsigned operand_role(char mode) {
  return operand_roles[(unsigned char)mode];
}

/* One operand: its letter, and the register, label, distance or number. */
typedef struct Operand {
  char mode;
  uint16_t field; /* of a cell, in a list: which word after its header */
  uint32_t reg;
} Operand;

/* A walk over the operands of an instruction: a, b and c, then the list.
 *
 *   for (OperandWalk o = word_operands(at); operand_next(&o);)
 *     if (o.role & SETS) ... o.now.reg ...
 */
typedef struct OperandWalk {
  Operand now;
  unsigned role; /* of `now` */
  uint32_t at;   /* its index; from 3 on in the list */
  uint32_t next;
  const InsInfo *info;
  uint32_t args[3];
  uint32_t list_count;
  const Operand *listed; /* in lowering: each has its own letter */
  const Word *word;      /* in code: their letters stand in the row */
} OperandWalk;

OperandWalk word_operands(const Word *at);
/* Operand k of the list in code. */
Operand word_listed(const OperandWalk *o, uint32_t k);

/* Goes on to the next operand that is used; false: there is none. */
static inline bool operand_next(OperandWalk *o) {
  while (o->next < 3) {
    uint32_t k = o->at = o->next++;
    char mode = o->info->operands[k];
    if (mode == '.') continue;
    o->now = (Operand){.mode = mode, .reg = o->args[k]};
    o->role = operand_role(mode);
    return true;
  }
  uint32_t k = o->next - 3;
  if (k >= o->list_count) return false;
  o->at = o->next++;
  o->now = o->listed ? o->listed[k] : word_listed(o, k);
  o->role = operand_role(o->now.mode);
  return true;
}

#endif
