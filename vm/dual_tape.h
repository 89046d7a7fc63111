/* What the files on differentiation share: records, rules, walks. */
#ifndef VM_DUAL_TAPE_H
#define VM_DUAL_TAPE_H

#include "types/gradient.h"
#include "vm/dual.h"

/* --- Orders ------------------------------------------------------------- */

/* A record's order is a number: its level in the high bits, below it how many
 * records the run had made. */
enum { ORDER_NUMBER_BITS = 48 };

static inline uint64_t order_at(int level, uint64_t number) {
  return (uint64_t)level << ORDER_NUMBER_BITS | number;
}
static inline uint64_t order_number(uint64_t order) {
  return order & (((uint64_t)1 << ORDER_NUMBER_BITS) - 1);
}
static inline int order_level(uint64_t order) {
  return (int)(order >> ORDER_NUMBER_BITS);
}

/* --- Runs --------------------------------------------------------------- */

/* What a tape says of its run: the number, the level, whether the code that
 * began it is dual itself.  Runs are numbered across all sessions, since tapes
 * go from one to another.  The numbers of forward runs are odd. */
enum { RUN_LEVEL_BITS = 15 };
/* Begins a run within those under way.  False after a fault: too many. */
bool level_begin(Session *s, bool forward);
/* Is the run of this level, which is under way, a forward one? */
static inline bool level_is_forward(const Session *s, int level) {
  return s->runs[level] & 1;
}

static inline Value tape_of_run(uint64_t run, int level, bool dual) {
  return (Value){.bits =
                     run << (RUN_LEVEL_BITS + 1) | (uint64_t)level << 1 | dual};
}
static inline bool tape_is_dual(Cell *tape) {
  return cell_fields(tape)[TAPE_RUN].bits & 1;
}
static inline int tape_level(Cell *tape) {
  return (int)(cell_fields(tape)[TAPE_RUN].bits >> 1 &
               (((uint64_t)1 << RUN_LEVEL_BITS) - 1));
}
static inline uint64_t tape_run(Cell *tape) {
  return cell_fields(tape)[TAPE_RUN].bits >> (RUN_LEVEL_BITS + 1);
}
/* The highest level below the tape's whose run was under way when the tape was
 * made and still is.  What its records keep of later levels is of runs that
 * have ended, although others of these levels may be under way: a rule of
 * with_vjp is called when its run has ended, maybe with a tape that it
 * captured, and may begin runs. */
static inline int tape_known(const Session *s, Cell *tape) {
  int level = 0, below = tape_level(tape) - 1;
  while (level < below && level < s->level &&
         s->runs[level + 1] < tape_run(tape))
    level++;
  return level;
}

/* --- Duals -------------------------------------------------------------- */

static inline bool is_dual(Value v) { return v.obj->size != SIZE_TENSOR; }
/* Its fields; the place is of which level the record is, and which of its
 * results. */
enum { DUAL_PRIMAL, DUAL_RECORD, DUAL_PLACE, DUAL_FIELDS };

static inline Value dual_primal(Value v) { return v.cell->fields[DUAL_PRIMAL]; }
static inline Cell *dual_record(Value v) {
  return v.cell->fields[DUAL_RECORD].cell;
}
static inline int dual_level(Value v) {
  return order_level(v.cell->fields[DUAL_PLACE].bits);
}
static inline uint64_t dual_index(Value v) {
  return order_number(v.cell->fields[DUAL_PLACE].bits);
}
/* Takes `primal`, unless memory runs out. */
bool dual_new(Session *s, Value primal, Cell *record, int index, Value *out);
/* As cell_alloc; the fields are zeros. */
Cell *blank_cell(Session *s, int tag, int n);
/* The same for a tuple, which has no cell of its own where n is 0. */
Cell *blank_tuple(Session *s, int n);
/* Says of fields that they are counted, or are no more: `mask` has a bit for
 * each, from field `at` on.  In a big cell the bits of all its fields are
 * words, of which the mask lies in one or two. */
static inline void mark_fields(Cell *c, int at, uint64_t mask, bool counted) {
  if (c->obj.size != SIZE_BIG) {
    uint32_t bits = (uint32_t)(mask << at), old = c->obj.mask;
    c->obj.mask = (counted ? old | bits : old & ~bits) & MASK_BITS;
    return;
  }
  uint64_t *word = &c->fields[1 + at / 64].bits;
  int shift = at % 64;
  uint64_t low = mask << shift, high = shift ? mask >> (64 - shift) : 0;
  *word = counted ? *word | low : *word & ~low;
  if (!high) return;
  word = &c->fields[2 + at / 64].bits;
  *word = counted ? *word | high : *word & ~high;
}
/* Field i is counted, and `v`, whose reference it takes. */
static inline void set_field(Cell *c, int i, Value v) {
  mark_fields(c, i, 1, true);
  cell_fields(c)[i] = v;
}
/* Field i, which was counted, is no more, and 0: whoever calls has its
 * reference. */
static inline void clear_field(Cell *c, int i) {
  mark_fields(c, i, 1, false);
  cell_fields(c)[i].bits = 0;
}

/* Is a value of this type an object in differentiated code? */
static inline bool type_is_object(const Type *t) {
  return type_is_object_in(t, true);
}

/* --- Records ------------------------------------------------------------ */

/* After RECORD_ARGS, of n operands and m results: n records of operands, n
 * indices into those, n operands that are kept, m results that are.  Of a
 * stretch (the cell's tag): n records of inputs, their indices, four to a word
 * (stretch.h), then the values that its site says are saved, scalars as bits.
 * RECORD_ADJOINT is the sweep's. */
enum {
  RECORD_SITE,
  RECORD_RULE,
  RECORD_ORDER,
  RECORD_COUNTS,
  RECORD_ADJOINT,
  RECORD_ARGS
};
/* A blank has its region (checkpoint.h) in the place of all that.  An input has
 * neither site nor rule, and no operands; nor has a record of a forward run,
 * which keeps tangents in the place of results. */
enum { RECORD_OF_OP, RECORD_OF_STRETCH, RECORD_BLANK };

static inline uint64_t record_order(Cell *r) {
  return cell_fields(r)[RECORD_ORDER].bits;
}
static inline int record_level(Cell *r) { return order_level(record_order(r)); }

/* A record without operands: of inputs, or of results with their tangents.
 * NULL: memory ran out. */
Cell *record_of_inputs(Session *s, int level, int outs);
static inline bool record_is_input(Cell *r) {
  const Value *f = cell_fields(r);
  return !f[RECORD_SITE].bits && !f[RECORD_RULE].bits;
}

/* The cell of a Dual, but for the value below.  One without a record holds that
 * alone. */
static inline void dual_set(Cell *dual, Cell *record, int index) {
  int level = record ? record_level(record) : 0;
  dual->obj = (Obj){
      .count = 1, .tag = TAG_DUAL, .size = DUAL_FIELDS, .mask = record ? 3 : 1};
  dual->fields[DUAL_RECORD].cell = record;
  dual->fields[DUAL_PLACE].bits = order_at(level, (uint64_t)index);
}

/* `v` below the levels above `level`: borrowed. */
static inline Value dual_upto(Value v, int level) {
  while (is_dual(v) && dual_level(v) > level) v = dual_primal(v);
  return v;
}
/* What it is for the runs under way: borrowed. */
static inline Value dual_active(const Session *s, Value v) {
  return dual_upto(v, s->level);
}

/* Field i of a blank cell becomes `v`, which it takes; `dual`: scalars of
 * floats are objects in it. */
static inline void dual_field(Cell *c, int i, const Type *type, bool dual,
                              Value v) {
  if (type_is_object_in(type, dual)) set_field(c, i, v);
  else cell_fields(c)[i] = v;
}

/* --- Rules -------------------------------------------------------------- */

struct Derivative {
  struct Derivative *next;
  int group_count;
  int *groups; /* fields of each, or GROUP_SINGLE */
  GradientStatus status;
  Function *plain, *dual; /* of the rule */
  uint32_t uses;          /* as Gradient has it */
  const Type *result;     /* of the rule: a tuple */
  bool keeps_value;
  bool *kept;      /* of each operand, tuples flattened */
  uint32_t *kinds; /* likewise (operand_kind) */
};

/* The first dimension of integers, of which gather_nd and the like make ranks,
 * where it is small; -1: a rule is not told. */
static inline int first_dim(const Tensor *t) {
  bool told = !dtype_is_float((DType)t->dtype) && t->rank > 0 &&
              t->shape[0] <= RANK_MAX;
  return told ? (int)t->shape[0] : -1;
}

/* What a rule is made for: rank, dtype, first dimension. */
static inline uint32_t operand_kind(Value v) {
  const Tensor *t = value_tensor(v);
  return (uint32_t)t->rank | (uint32_t)t->dtype << 8 |
         (uint32_t)(first_dim(t) + 1) << 16;
}

/* Makes the rule for operands of these ranks, of which there is none, under the
 * code's lock; NULL: memory ran out. */
struct Derivative *derivative_make(Code *c, const OpSite *site, int n,
                                   const Value *args, int m, const Value *outs);

/* An operator on tensors and Duals; `outs` are owned.  Bit i of `ending`:
 * nobody reads operand i afterwards, so that a result may be written over it
 * where it is a tensor.  Uses the scratch arena. */
bool dual_apply(Session *s, const OpSite *site, int n, const Value *args,
                uint32_t ending, int m, Value *outs);

/* --- Forward runs (forward.c) ------------------------------------------- */

/* An operator of a forward run, at this level, whose operands are `own`, and
 * `under` below the level: makes the record of its m results' tangents, if that
 * needs no record of the operator.  *made is NULL after a fault. */
bool forward_directly(Session *s, const OpSite *site, int level, int n,
                      const Value *own, const Value *under, int m, Cell **made);
/* Likewise from that record, which it takes, and which may be of a rule of
 * one's own: n is 0 then.  NULL after a fault. */
Cell *forward_step(Session *s, Cell *record, int n, const Value *own, int m,
                   const Value *outs);
/* Has result i of the record of a forward run a tangent, or would have one if
 * the operator had a derivative? */
bool forward_varies(Cell *record, int i);
/* The tangent of a Dual of a forward run: borrowed.  False after a fault: an
 * operator that it depends on has no derivative. */
bool forward_tangent(Session *s, Value v, Value *t);

/* --- Walks -------------------------------------------------------------- */

/* Copies a value; `leaf` makes the copy of a tensor of floats, which is given
 * as bits or as an object, and with all_leaves that of functions and cells. */
typedef struct Walk Walk;
struct Walk {
  Session *s;
  bool (*leaf)(Walk *w, const Type *type, Value v, bool bits, Value *out);
  bool dual; /* scalars of floats are objects in the copy */
  bool all_leaves;
  void *data;
};
bool walk_copy(Walk *w, const Type *type, Value v, bool bits, Value *out);
/* The type of field i of the cell of a tuple or a data type. */
static inline const Type *part_type(Session *s, const Type *type, const Cell *c,
                                    int i) {
  return type->kind == TY_TUPLE
             ? type->args[i]
             : value_ctor_field(&s->store, type, c->obj.tag, i);
}

/* --- What leaves a run (leave.c) ---------------------------------------- */

/* Copies an object below the levels above `level`, and what functions in it
 * have captured and cells hold, so that it may be used after the runs of those
 * levels.  Scalars that are bits in it stay so. */
bool dual_freeze(Session *s, Value v, int level, Value *out);
/* Likewise below all levels, for code that is not differentiated; `known`: each
 * part of the type is. */
bool dual_give_out(Session *s, const Type *type, bool known, Value v,
                   Value *out);
/* False, after a fault: a function that stays polymorphic as a value does not
 * know the type of what `what` names. */
bool dual_type_unknown(Session *s, const char *what);

#endif
