/* The last phase: the list becomes units, with real registers and distances of
 * jumps, and the tables of spans and of live registers beside them.
 *
 * On the way a peephole looks at each instruction and the next: pairs that are
 * frequent become one superinstruction (Proebsting, "Optimizing an ANSI C
 * Interpreter with Superoperators", 1995), and the end of a loop repeats the
 * conditional jump at the loop's head, so that a turn takes one jump instead of
 * two. */
#include <string.h>

#include "bytecode/lower/lower.h"

/* A conditional jump has 16 bits for its distance.  In a function of more
 * units than this, all of them go by a long jump that follows. */
enum { NEAR_UNITS = 60000 };
enum { NOWHERE = UINT32_MAX }; /* a label that has not come yet */

typedef enum FixupKind { FIX_SHORT, FIX_LONG, FIX_WORD } FixupKind;
typedef struct Fixup {
  FixupKind kind;
  uint32_t at, from; /* the unit to patch; what it counts from */
  Label to;
} Fixup;

typedef struct Emit {
  Lower *l;
  VEC(Word) units;
  VEC(Span) spans;
  VEC(uint8_t) counts; /* is what the instruction sets counted? */
  VEC(Fixup) fixups;
  VEC(LiveAt) live_at;
  VEC(uint16_t) live;
  uint32_t *labels, head;
  bool far;
} Emit;

/* Arguments of calls have their places after all other registers of the
 * frame. */
static uint16_t real(const Emit *e, Reg r) {
  const RegInfo *info = &e->l->regs.data[r];
  if (info->out >= 0) return (uint16_t)(e->l->window + (uint32_t)info->out);
  return info->real;
}

static uint32_t unit(Emit *e, Word u, Span span) {
  VEC_PUSH(&e->units, u);
  VEC_PUSH(&e->spans, span);
  VEC_PUSH(&e->counts, 0);
  return (uint32_t)e->units.len - 1;
}

static void fix(Emit *e, FixupKind kind, uint32_t at, uint32_t from, Label to) {
  VEC_PUSH(&e->fixups, (Fixup){kind, at, from, to});
}

/* --- Parts of an instruction -------------------------------------------- */

static uint16_t operand(const Emit *e, char mode, uint32_t arg) {
  if (operand_role(mode) & REGISTER) return real(e, arg);
  if (mode == 'o') return (uint16_t)(e->l->window + arg);
  bool number = mode == 'i' || mode == 'n' || mode == 't';
  return number ? (uint16_t)arg : 0;
}

/* The row says which letters its list has.  Operands with other letters were
 * listed for the phases before. */
static bool is_written(const Ins *i, const Operand *item) {
  const char *list = ins_row(i)->list;
  return *list && (item->mode == list[1] || item->mode == list[3]);
}

/* Four registers to a unit, the rest of the last one zero. */
static void emit_list(Emit *e, const Ins *i) {
  Word packed = {.word = 0};
  uint32_t n = 0;
  for (uint32_t k = 0; k < i->list_count; k++) {
    const Operand *item = &e->l->listed.data[i->list + k];
    if (!is_written(i, item)) continue;
    packed.regs[n++ % 4] = real(e, item->reg);
    if (n % 4) continue;
    unit(e, packed, i->span);
    packed.word = 0;
  }
  if (n % 4) unit(e, packed, i->span);
}

/* A switch has a word for each of its ways, which counts from the switch
 * itself. */
static void emit_targets(Emit *e, const Ins *i, uint32_t from) {
  for (uint32_t k = 0; k < i->list_count; k++) {
    Operand item = e->l->listed.data[i->list + k];
    if (item.mode != 'j') continue;
    uint32_t at = unit(e, (Word){.word = 0}, i->span);
    fix(e, FIX_WORD, at, from, item.reg);
  }
}

static void emit_jump(Emit *e, const Ins *i, Label to) {
  uint32_t at = unit(e, (Word){.jump_op = INS_jump}, i->span);
  fix(e, FIX_LONG, at, at, to);
}

/* Notes where the conditional jump at `at` goes.  In a long function it
 * jumps over the next unit, which goes on, to a long jump. */
static void emit_condition(Emit *e, const Ins *i, uint32_t at) {
  if (!e->far) {
    fix(e, FIX_SHORT, at, at, i->arg[2]);
    return;
  }
  e->units.data[at].c = 2;
  unit(e, (Word){.jump_op = INS_jump, .jump = 2}, i->span);
  emit_jump(e, i, i->arg[2]);
}

/* What unwinding has to drop if the run ends at this instruction. */
static void record_live(Emit *e, const Ins *i, uint32_t at) {
  const Lower *l = e->l;
  if (i->live_count == 0) return;
  LiveAt entry = {at, (uint32_t)e->live.len, i->live_count};
  for (uint32_t k = 0; k < i->live_count; k++)
    VEC_PUSH(&e->live, real(e, l->live.data[i->live + k]));
  VEC_PUSH(&e->live_at, entry);
}

/* --- Back to the head --------------------------------------------------- */

typedef struct Move {
  uint16_t to, from;
} Move;

static void emit_move(Emit *e, Move m, Span span) {
  unit(e, (Word){.op = INS_move, .a = m.to, .b = m.from}, span);
}

static bool is_source(const Move *moves, int n, uint16_t reg) {
  for (int i = 0; i < n; i++)
    if (moves[i].from == reg) return true;
  return false;
}

/* Puts moves that happen at once in an order: a move whose target is no
 * source of another goes first.  When only cycles are left, one register of
 * a cycle is saved in the outgoing area, which nobody uses here. */
static void emit_moves(Emit *e, Move *moves, int n, Span span) {
  while (n > 0) {
    int i = 0;
    while (i < n && is_source(moves, n, moves[i].to)) i++;
    if (i < n) {
      emit_move(e, moves[i], span);
      moves[i] = moves[--n];
      continue;
    }
    /* Only cycles are left: break one by saving a register that is about to be
     * overwritten. */
    uint16_t spare = (uint16_t)e->l->window;
    emit_move(e, (Move){spare, moves[0].to}, span);
    for (int k = 0; k < n; k++)
      if (moves[k].from == moves[0].to) moves[k].from = spare;
  }
}

/* Is this end of the loop on the way that the head's jump takes?  It is if
 * the label that the head jumps to has been passed already: then `target` is
 * where. */
static bool head_is_taken(const Emit *e, uint32_t *target) {
  for (size_t k = 0; k < e->fixups.len; k++) {
    const Fixup *f = &e->fixups.data[k];
    if (f->kind != FIX_SHORT || f->at != e->head) continue;
    if (e->labels[f->to] == NOWHERE) return false;
    *target = e->labels[f->to];
    return true;
  }
  return false;
}

/* Puts the head's condition in front of `loop`.  Where it says that the loop
 * goes on, the run skips the head; else `loop` takes it there, and the head
 * leaves the loop. */
static void emit_back(Emit *e, Span span) {
  if (e->far || e->head >= e->units.len) return;
  Word head = e->units.data[e->head];
  const InsInfo *row = &ins_info[head.op];
  if (!row->opposite) return;
  uint32_t to = e->head + 1;
  bool taken = head_is_taken(e, &to), swapped = !taken && row->swapped;
  unit(e,
       (Word){.op = taken ? ins_back(head.op) : row->opposite,
              .a = swapped ? head.b : head.a,
              .b = swapped ? head.a : head.b,
              .c = (uint16_t)(e->units.len - to)},
       span);
}

/* The parameters are all set at once from values that may be other parameters:
 * a parallel move. */
static void emit_self(Emit *e, const Ins *i) {
  Lower *l = e->l;
  uint32_t n = i->arg[0];
  Move *moves = ARENA_ARRAY(l->arena, Move, (size_t)n + 1);
  if (!moves) return;
  int count = 0;
  for (uint32_t k = 0; k < n; k++) {
    uint16_t from = real(e, l->listed.data[i->list + k].reg);
    if (from != k) moves[count++] = (Move){(uint16_t)k, from};
  }
  emit_moves(e, moves, count, i->span);
  emit_back(e, i->span);
  uint32_t at = unit(e, (Word){.jump_op = INS_loop}, i->span);
  e->units.data[at].jump = (int32_t)e->head - (int32_t)at;
  record_live(e, i, at);
}

/* --- The list ----------------------------------------------------------- */

/* Which of the registers that it sets are counted: a bit for operand a, which
 * is the only one but where two instructions have become one. */
static bool sets_counted(const Emit *e, const Ins *i) {
  return operand_role(ins_row(i)->operands[0]) & SETS &&
         e->l->regs.data[i->arg[0]].counted;
}

/* Is it a call of the running function, whose start is near enough for a
 * distance in 16 bits?  Such a call needs no word for the function: it is the
 * running one. */
static bool calls_self(const Emit *e, const Ins *i) {
  return i->op == INS_call && !e->far && i->words[0] == (uintptr_t)e->l->fn;
}

static void emit_plain(Emit *e, const Ins *i) {
  const InsInfo *info = &ins_info[i->op];
  Word u = {.op = i->op,
            .a = operand(e, info->operands[0], i->arg[0]),
            .b = operand(e, info->operands[1], i->arg[1]),
            .c = operand(e, info->operands[2], i->arg[2])};
  if (i->op == INS_move && u.a == u.b) return;
  if (calls_self(e, i)) {
    u.op = INS_call_self;
    u.c = (uint16_t)e->units.len;
  }
  uint32_t at = unit(e, u, i->span);
  if (at < e->counts.len) e->counts.data[at] = sets_counted(e, i);
  for (int k = 0; k < info->word_count; k++)
    unit(e, (Word){.word = i->words[k]}, i->span);
  if (info->operands[2] == 'j') emit_condition(e, i, at);
  if (info->list[1] == 'j') emit_targets(e, i, at);
  else if (*info->list) emit_list(e, i);
  if (may_stop(e->l, i->op)) record_live(e, i, at);
}

/* --- Two as one --------------------------------------------------------- */

static bool holds_counted(const Emit *e, Reg r) {
  return e->l->regs.data[r].counted;
}

/* Do they read words 0 and 1 of one cell?  The first may not overwrite the
 * cell. */
static bool reads_two(const Emit *e, const Ins *i, const Ins *next) {
  return i->op == INS_field && next->op == INS_field && i->arg[2] == 0 &&
         next->arg[2] == 1 && real(e, i->arg[1]) == real(e, next->arg[1]) &&
         real(e, i->arg[0]) != real(e, i->arg[1]);
}

/* Do they move values to neighbouring registers, such as two arguments?  The
 * second may not read what the first sets, and neither may be a move to
 * itself, which is left out. */
static bool moves_two(const Emit *e, const Ins *i, const Ins *next) {
  if (i->op != INS_move || next->op != INS_move) return false;
  uint16_t to = real(e, i->arg[0]), from = real(e, next->arg[1]);
  return real(e, next->arg[0]) == to + 1 && from != to && from != to + 1 &&
         real(e, i->arg[1]) != to;
}

/* The superinstruction for the two, in `u`, and which of the registers that
 * it sets are counted; false: there is none. */
static bool fuse(const Emit *e, const Ins *i, const Ins *next, Word *u,
                 uint8_t *counts) {
  *u = (Word){.a = real(e, i->arg[0])};
  *counts = 0;
  if (reads_two(e, i, next)) {
    u->op = INS_fields;
    u->b = real(e, i->arg[1]);
    u->c = real(e, next->arg[0]);
    *counts = (uint8_t)(holds_counted(e, i->arg[0]) |
                        holds_counted(e, next->arg[0]) << 1);
    return true;
  }
  if (moves_two(e, i, next)) {
    u->op = INS_move2;
    u->b = real(e, i->arg[1]);
    u->c = real(e, next->arg[1]);
    return true;
  }
  u->op = INS_ret_imm;
  u->a = (uint16_t)i->arg[1];
  return i->op == INS_imm && next->op == INS_ret && i->arg[0] == next->arg[0] &&
         !holds_counted(e, i->arg[0]);
}

/* Emits instruction `k` together with the next.  Not where a run may end at
 * any instruction: it could end between them. */
static bool emit_two(Emit *e, size_t k) {
  const Lower *l = e->l;
  if (k + 1 >= l->list.len || l->fn->key.stops) return false;
  const Ins *i = &l->list.data[k], *next = i + 1;
  if (i->op != INS_field && i->op != INS_move && i->op != INS_imm) return false;
  Word u;
  uint8_t counts;
  if (!fuse(e, i, next, &u, &counts)) return false;
  uint32_t at = unit(e, u, i->span);
  if (at < e->counts.len) e->counts.data[at] = counts;
  return true;
}

/* Labels and the head are places and no units. */
static void emit_ins(Emit *e, const Ins *i) {
  switch (i->op) {
    case PSEUDO_label: e->labels[i->arg[0]] = (uint32_t)e->units.len; break;
    case PSEUDO_head: e->head = (uint32_t)e->units.len; break;
    case PSEUDO_self: emit_self(e, i); break;
    case INS_jump: emit_jump(e, i, i->arg[1]); break;
    default: emit_plain(e, i); break;
  }
}

/* A jump to the next unit says nothing. */
static bool jumps_to_next(const Lower *l, size_t k) {
  const Ins *i = &l->list.data[k];
  if (i->op != INS_jump) return false;
  for (k++; k < l->list.len && l->list.data[k].op == PSEUDO_label; k++)
    if (l->list.data[k].arg[0] == i->arg[1]) return true;
  return false;
}

/* An instruction is one unit, at most two words, its list, and a long jump
 * that follows. */
static size_t units_at_most(const Lower *l) {
  size_t n = 0;
  for (size_t k = 0; k < l->list.len; k++) n += 6 + l->list.data[k].list_count;
  return n;
}

/* Distances are counted in units.  All are known now: every label has come. */
static void resolve(Emit *e) {
  for (size_t k = 0; k < e->fixups.len; k++) {
    Fixup f = e->fixups.data[k];
    Word *u = &e->units.data[f.at];
    int64_t distance = (int64_t)e->labels[f.to] - f.from;
    if (f.kind == FIX_SHORT) u->c = (uint16_t)distance;
    if (f.kind == FIX_LONG) u->jump = (int32_t)distance;
    if (f.kind == FIX_WORD) u->word = (uint64_t)distance;
  }
}

/* Is the code sound?  Asked in debug builds, and where the host wants to
 * know. */
static bool verify(const Emit *e) {
  Lower *l = e->l;
  Listing listing = {
      .units = e->units.data,
      .count = (uint32_t)e->units.len,
      .nregs = l->window + (uint32_t)l->max_out + 1,
      .nparams = l->fn->nparams,
      .params = l->fn->params,
      .result_count = l->fn->result_count,
      .result_counted = l->fn->result_counted,
      .counts = e->counts.data,
      .live_at = e->live_at.data,
      .live_at_count = (uint32_t)e->live_at.len,
      .live = e->live.data,
  };
  return !l->code->verifies || code_verify(&listing, l->code->mem, &l->flaw);
}

/* Hands the result over to the function.  The code is stored last: a thread
 * that sees it sees all that belongs to it. */
static bool publish(Emit *e) {
  Function *f = e->l->fn;
  Arena *arena = &e->l->code->arena;
  Word *units = VEC_TO_ARENA(&e->units, arena);
  f->spans = VEC_TO_ARENA(&e->spans, arena);
  f->live_at = VEC_TO_ARENA(&e->live_at, arena);
  f->live = VEC_TO_ARENA(&e->live, arena);
  if (!units || !f->spans) return false;
  f->live_at_count = (uint32_t)e->live_at.len;
  f->unit_count = (uint32_t)e->units.len;
  atomic_store(&f->nregs, e->l->window + (uint32_t)e->l->max_out + 1);
  atomic_store(&f->code, units);
  return true;
}

static void emit_init(Emit *e, Lower *l) {
  *e = (Emit){.l = l, .far = units_at_most(l) > NEAR_UNITS};
  VEC_INIT(&e->units, l->code->mem);
  VEC_INIT(&e->spans, l->code->mem);
  VEC_INIT(&e->counts, l->code->mem);
  VEC_INIT(&e->fixups, l->code->mem);
  VEC_INIT(&e->live_at, l->code->mem);
  VEC_INIT(&e->live, l->code->mem);
  e->labels = ARENA_ARRAY(l->arena, uint32_t, (size_t)l->label_count + 1);
  for (uint32_t i = 0; e->labels && i < l->label_count; i++)
    e->labels[i] = NOWHERE;
}

static void emit_done(Emit *e) {
  VEC_DONE(&e->units);
  VEC_DONE(&e->spans);
  VEC_DONE(&e->counts);
  VEC_DONE(&e->fixups);
  VEC_DONE(&e->live_at);
  VEC_DONE(&e->live);
}

/* Nothing is published if memory ran out or the code has a flaw: the function
 * keeps its stub. */
bool emit_code(Lower *l) {
  Emit e;
  emit_init(&e, l);
  for (size_t k = 0; e.labels && k < l->list.len; k++) {
    if (jumps_to_next(l, k)) continue;
    if (emit_two(&e, k)) k++;
    else emit_ins(&e, &l->list.data[k]);
  }
  bool ok = e.labels && !mem_exhausted(l->code->mem);
  if (ok) resolve(&e);
  ok = ok && verify(&e) && publish(&e);
  emit_done(&e);
  return ok;
}
