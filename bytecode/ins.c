/* The table of instructions, and what follows from a row for an instruction:
 * its length, its list, its operands.
 *
 *   unit 0     op | a | b | c             four parts of 16 bits
 *   unit 1..   a word for each letter of the row's `words`
 *   then       the list: four registers a unit, or a unit for each jump
 *
 * The dump, the verifier, the linear scan and the ownership pass all walk
 * operands by the rows' letters, so an instruction that is added needs a row
 * and a handler, and nothing else has to learn of it. */
#include <string.h>

#include "bytecode/code.h"

#define ROW(spelled, letters, variable, numbers, bits, says, ...)             \
  {                                                                           \
    .name = spelled, .operands = letters, .list = variable, .words = numbers, \
    .word_count = sizeof(numbers) - 1, .flags = bits, .meaning = says,        \
    __VA_ARGS__                                                               \
  }

const InsInfo ins_info[INS_ROWS] = {
#define INS(name, ...) [INS_##name] = ROW(#name, __VA_ARGS__),
#include "bytecode/code.def"
#undef INS
#define INS(name, ...) [PSEUDO_##name] = ROW(#name, __VA_ARGS__),
#include "bytecode/pseudo.def"
#undef INS
};

/* A search of the whole table: lowering asks once for each operator that it
 * meets. */
InsCode ins_scalar(OpId op, DType dtype, const char *operands) {
  for (int i = 0; i < INS_COUNT; i++) {
    const InsInfo *row = &ins_info[i];
    if (row->scalar && row->op == op && row->dtype == dtype &&
        !strcmp(row->operands, operands))
      return (InsCode)i;
  }
  return INS_COUNT;
}

/* --- Units -------------------------------------------------------------- */

const Word *ins_word(const Word *at, char letter) {
  const char *words = ins_info[at->op].words;
  const char *found = strchr(words, letter);
  return found ? at + 1 + (found - words) : NULL;
}

/* What a count in the column `list` stands for.  A count that stands in neither
 * operand nor row is that of the site in the word. */
static uint32_t list_count(const Word *at, char count) {
  const Word *op = ins_word(at, 'q'), *chain = ins_word(at, 'Q');
  switch (count) {
    case '\0': return 0;
    case 'b': return at->b;
    case 'c': return at->c;
    case 's':
      return (uint32_t)(op ? ((const OpSite *)op->data)->source_count
                           : ((const ChainSite *)chain->data)->source_count);
    case 'r':
      return (uint32_t)(op ? ((const OpSite *)op->data)->out_count
                           : ((const ChainSite *)chain->data)->out_count);
    default: return (uint32_t)(count - '0');
  }
}

uint32_t ins_list_count(const Word *at) {
  const char *list = ins_info[at->op].list;
  if (!*list) return 0;
  return list_count(at, list[0]) + (list[2] ? list_count(at, list[2]) : 0);
}

uint32_t ins_length(const Word *at) {
  const InsInfo *info = &ins_info[at->op];
  uint32_t n = ins_list_count(at);
  return 1u + info->word_count + (info->list[1] == 'j' ? n : register_units(n));
}

/* --- Operands ----------------------------------------------------------- */

const uint8_t operand_roles[128] = {
    ['d'] = DEFINES, ['c'] = DEFINES, ['b'] = DEFINES, ['y'] = DEFINES,
    ['D'] = DEFINES, ['w'] = BORROWS, ['l'] = BORROWS, ['u'] = READS,
    ['v'] = LOOKS,   ['e'] = LOOKS,   ['f'] = LOOKS,   ['a'] = LOOKS,
    ['m'] = MOVES,   ['x'] = MOVES,   ['p'] = MOVES,   ['j'] = JUMPS,
    ['J'] = JUMPS,
};

/* A jump over b and c is one operand of 32 bits. */
OperandWalk word_operands(const Word *at) {
  const InsInfo *info = &ins_info[at->op];
  bool far = info->operands[1] == 'J' || info->operands[1] == 'L';
  return (OperandWalk){.info = info,
                       .args = {at->a, far ? (uint32_t)at->jump : at->b, at->c},
                       .list_count = ins_list_count(at),
                       .word = at};
}

Operand word_listed(const OperandWalk *o, uint32_t k) {
  const char *list = o->info->list;
  char mode = k < list_count(o->word, list[0]) ? list[1] : list[3];
  const Word *first = o->word + 1 + o->info->word_count;
  uint32_t reg =
      mode == 'j' ? (uint32_t)first[k].word : first[k / 4].regs[k % 4];
  return (Operand){.mode = mode, .reg = reg};
}
