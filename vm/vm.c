/* The dispatch loop.  Handlers have a few lines; longer ones, and those that
 * allocate in bulk or ask for types, are functions of vm_slow.c, vm_op.c and
 * vm_chain.c.
 *
 * A register machine (bytecode/code.def has its instructions).  Three locals
 * are all of its state:
 *
 *   pc   the instruction at hand: four 16-bit parts op, a, b, c, then data
 *   R    the running function's registers, a window of the value stack
 *   fp   after the last frame in use
 *
 *   value stack     [caller's registers | outgoing area ............]
 *                                         [callee's registers | ...]
 *                                         R
 *   frames          ... {return address, caller's R}  fp
 *
 * The caller puts a call's arguments into its outgoing area, where they are the
 * callee's first registers.  The frame has no place for the result: the return
 * address is after the call, so the call itself stands at pc[-2], and its
 * operand a names the register (ret).
 *
 * Dispatch is threaded code (Bell 1973; Ertl and Gregg 2003): each handler ends
 * in its own indirect jump, so the processor predicts it by the handler that it
 * ends.  The labels come from the same list as the opcodes (code.ids), so a
 * missing handler does not compile.
 *
 * Values carry no tags.  Which registers hold counted references is known where
 * code is made, and written into it: keep, drop, open, and the lists of what is
 * live where an instruction may fail (LiveAt).  So the loop itself never asks
 * for the type of a value.
 *
 * Faults: a handler that fails saves the state and goes to `fault`, where
 * vm_unwind() drops what every frame owns.  The state is in the session only
 * when the loop is left or a function that needs it is called (SAVE, LOAD); in
 * between it is in registers of the processor. */
#include "vm/dual.h"

/* Computed goto where the compiler has it. */
#if defined(__GNUC__) && !defined(RLY_SWITCH)
#define GO() goto *labels[pc->op]
#define CASE(name) L_##name
#else
#define GO() goto dispatch
#define CASE(name) case INS_##name
#endif

/* The loop is compiled twice (observed.c). */
#ifdef VM_OBSERVED
#define vm_run vm_run_observed
#define DISPATCH()                          \
  do {                                      \
    if (!observe(s, pc, R, fp)) goto fault; \
    GO();                                   \
  } while (0)
#else
#define DISPATCH() GO()
#endif

/* Goes on with the instruction that many units from this one: the one after
 * it, of which this is the length, or the target of a jump. */
#define NEXT(units) \
  do {              \
    pc += (units);  \
    DISPATCH();     \
  } while (0)
#define RARELY(condition) __builtin_expect((condition), 0)

/* The length of an instruction with a site, and a list of its registers.  The
 * same as ins_length(), without the walk over the row: tensor operators are
 * frequent. */
#define SITE_UNITS(Site)                                                    \
  (2 + register_units((unsigned)(((const Site *)pc[1].data)->source_count + \
                                 ((const Site *)pc[1].data)->out_count)))

/* The loop's state goes to the session and comes back.  SLOW is for calls that
 * may fail; they are given all three, because a fault needs them for its place
 * and its trace. */
#define SAVE() (s->pc = pc, s->regs = R, s->frame_top = fp)
#define LOAD() (pc = s->pc, R = s->regs, fp = s->frame_top)
#define SLOW(call)           \
  do {                       \
    SAVE();                  \
    if (!(call)) goto fault; \
  } while (0)

/* The operands as registers, and c as a signed number. */
#define A R[pc->a]
#define B R[pc->b]
#define C R[pc->c]
#define IMM ((int16_t)pc->c)

/* Scalars as values: the bits, with the bytes that are not used zero, so that
 * two equal scalars are equal words. */
static inline Value of_u32(uint32_t v) { return (Value){.bits = v}; }
static inline Value of_i32(int32_t v) { return (Value){.bits = (uint32_t)v}; }
static inline Value of_i64(int64_t v) { return (Value){.i64 = v}; }
static inline Value of_bool(bool v) { return (Value){.bits = v}; }
static inline Value of_f64(double v) { return (Value){.f64 = v}; }
static inline Value of_f32(float v) {
  union {
    float f;
    uint32_t bits;
  } u = {.f = v};
  return (Value){.bits = u.bits};
}

/* The address of a hole as a value, and back. */
static inline Value of_place(Value *at) {
  return (Value){.bits = (uint64_t)(uintptr_t)at};
}
static inline Value *value_at(Value place) {
  return (Value *)(uintptr_t)place.bits;
}

/* Two's complement: a division by -1 wraps, and its remainder is 0.  a / -1 is
 * computed as 0 - a without sign, for INT_MIN / -1 traps on x86 and is
 * undefined in C.  A division by 0 is caught before. */
static inline int32_t div_i32(int32_t a, int32_t b) {
  return b == -1 ? (int32_t) - (uint32_t)a : a / b;
}
static inline int32_t mod_i32(int32_t a, int32_t b) {
  return b == -1 ? 0 : a % b;
}
static inline int64_t div_i64(int64_t a, int64_t b) {
  return b == -1 ? (int64_t) - (uint64_t)a : a / b;
}
static inline int64_t mod_i64(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}

/* Another session may be lowering this function: its code is published by a
 * store with release order after its registers' number, so who sees the new
 * code and then reads that number sees the new one.  The frame limit and the
 * stop flag are polled and need no order. */
static inline const Word *function_code(const Function *f) {
  return atomic_load_explicit(&f->code, memory_order_acquire);
}
static inline uint32_t function_regs(const Function *f) {
  return atomic_load_explicit(&f->nregs, memory_order_relaxed);
}
static inline Frame *frame_limit(Session *s) {
  return atomic_load_explicit(&s->frame_limit, memory_order_relaxed);
}
static inline bool is_stopped(Session *s) {
  return atomic_load_explicit(&s->store.stop, memory_order_relaxed);
}

static inline void cell_release(Session *s, Cell *c, size_t fields) {
  pool_free(&s->store.heap.pool, c, sizeof(Cell) + fields * sizeof(Value));
}

/* Takes one reference off a cell, whatever its fields; was it the last?  An
 * immortal cell (count < 0) never dies. */
static inline bool cell_dies(Cell *c) {
  if (obj_unshared(&c->obj)) return true;
  if (c->obj.count > 0) c->obj.count--;
  return false;
}
/* Likewise; then the cell becomes a reuse token, which has no counted fields.
 * The counted fields have been taken over by whoever opened the cell; the size
 * stays, for freeing. */
static inline bool cell_token(Cell *c) {
  if (!cell_dies(c)) return false;
  c->obj = (Obj){.count = 1, .size = c->obj.size};
  return true;
}

/* A cell of `n` fields with this header; NULL when memory runs out.  The header
 * is a word of the instruction: count 1, tag, size and mask, put together when
 * the code was made. */
static inline Cell *cell_new(Session *s, uint64_t header, size_t n) {
  Cell *c = pool_alloc(&s->store.heap.pool, sizeof(Cell) + n * sizeof(Value));
  if (c) *(uint64_t *)c = header;
  return c;
}

/* Likewise, in the memory of a reuse token if it is not null.  Reuse as in
 * Perceus (Reinking, Xie, de Moura and Leijen 2021): where a cell dies and one
 * of the same size is made on the same path, the memory goes from one to the
 * other. */
static inline Cell *cell_in(Session *s, Cell *token, uint64_t header,
                            size_t n) {
  if (!token) return cell_new(s, header, n);
  s->stats.reused++;
  *(uint64_t *)token = header;
  return token;
}

/* Integers wrap: the arithmetic is done without sign, where overflow is
 * defined, and converted back.  For floats `unsigned_type` is the type
 * itself. */
#define ARITHMETIC(t, type, member, unsigned_type)                             \
  CASE(add_##t)                                                                \
      : A = of_##t((type)((unsigned_type)B.member + (unsigned_type)C.member)); \
  NEXT(1);                                                                     \
  CASE(sub_##t)                                                                \
      : A = of_##t((type)((unsigned_type)B.member - (unsigned_type)C.member)); \
  NEXT(1);                                                                     \
  CASE(mul_##t)                                                                \
      : A = of_##t((type)((unsigned_type)B.member * (unsigned_type)C.member)); \
  NEXT(1);

/* A divisor in the instruction is neither 0 nor -1 (code.def), so it needs no
 * check. */
#define INT_ARITHMETIC(t, type, unsigned_type)                       \
  ARITHMETIC(t, type, t, unsigned_type)                              \
  CASE(div_##t) : if (RARELY(C.t == 0)) goto zero;                   \
  A = of_##t(div_##t(B.t, C.t));                                     \
  NEXT(1);                                                           \
  CASE(mod_##t) : if (RARELY(C.t == 0)) goto zero;                   \
  A = of_##t(mod_##t(B.t, C.t));                                     \
  NEXT(1);                                                           \
  CASE(add_##t##_imm)                                                \
      : A = of_##t((type)((unsigned_type)B.t + (unsigned_type)IMM)); \
  NEXT(1);                                                           \
  CASE(mul_##t##_imm)                                                \
      : A = of_##t((type)((unsigned_type)B.t * (unsigned_type)IMM)); \
  NEXT(1);                                                           \
  CASE(div_##t##_imm) : A = of_##t(B.t / IMM);                       \
  NEXT(1);                                                           \
  CASE(mod_##t##_imm) : A = of_##t(B.t % IMM);                       \
  NEXT(1);

#define COMPARISON(t)                     \
  CASE(lt_##t) : A = of_bool(B.t < C.t);  \
  NEXT(1);                                \
  CASE(le_##t) : A = of_bool(B.t <= C.t); \
  NEXT(1);                                \
  CASE(eq_##t) : A = of_bool(B.t == C.t); \
  NEXT(1);

/* At the end of a loop: goes where the head would go on.  Otherwise, and when
 * the run is to stop, the `loop` that follows goes to the head.  A loop so
 * takes one jump a round, and still sees the flag in every round. */
#define BACK(name, condition)                                               \
  CASE(back_##name) : if ((condition) && !is_stopped(s)) NEXT(-(int)pc->c); \
  NEXT(1);

/* Where the condition does not hold, the next instruction is one unit
 * further. */
#define BRANCH(name, condition)               \
  CASE(name) : NEXT((condition) ? pc->c : 1); \
  BACK(name, condition)

#define INT_BRANCHES(t)                          \
  BRANCH(if_lt_##t, A.t < B.t)                   \
  BRANCH(if_le_##t, A.t <= B.t)                  \
  BRANCH(if_eq_##t, A.t == B.t)                  \
  BRANCH(if_ne_##t, A.t != B.t)                  \
  BRANCH(if_lt_##t##_imm, A.t < (int16_t)pc->b)  \
  BRANCH(if_le_##t##_imm, A.t <= (int16_t)pc->b) \
  BRANCH(if_gt_##t##_imm, A.t > (int16_t)pc->b)  \
  BRANCH(if_ge_##t##_imm, A.t >= (int16_t)pc->b) \
  BRANCH(if_eq_##t##_imm, A.t == (int16_t)pc->b) \
  BRANCH(if_ne_##t##_imm, A.t != (int16_t)pc->b)

/* Comparisons with NaN are false, so "not a < b" is no "a >= b" and has an
 * instruction of its own. */
#define FLOAT_BRANCHES(t)              \
  BRANCH(if_lt_##t, A.t < B.t)         \
  BRANCH(if_le_##t, A.t <= B.t)        \
  BRANCH(if_eq_##t, A.t == B.t)        \
  BRANCH(unless_lt_##t, !(A.t < B.t))  \
  BRANCH(unless_le_##t, !(A.t <= B.t)) \
  BRANCH(unless_eq_##t, !(A.t == B.t))

/* Goes back to the caller's frame. */
#define LEAVE() (fp--, pc = fp->pc, R = fp->regs)

/* Calls `callee`, whose arguments stand at `at`, to return to `back`.  Two
 * comparisons decide: fp against the frame limit, which stands for three
 * questions at once (are the frames full, is the depth reached, was a stop
 * asked for: session_set_frame_limit), and the window against the end of the
 * segment.  Where either fails, vm_call() finds out which. */
#define ENTER(callee, at, back)                        \
  do {                                                 \
    Function *called = (callee);                       \
    ENTER_AT(called, function_code(called), at, back); \
  } while (0)
/* Likewise, from the instruction `start` of the callee. */
#define ENTER_AT(callee, start, at, back)                   \
  do {                                                      \
    Function *f = (callee);                                 \
    Value *window = (at);                                   \
    const Word *code = (start);                             \
    if (RARELY(fp >= frame_limit(s) ||                      \
               window + function_regs(f) > s->stack_end)) { \
      SLOW(vm_call(s, f, window, back));                    \
      LOAD();                                               \
      DISPATCH();                                           \
    }                                                       \
    *fp++ = (Frame){back, R};                               \
    R = window;                                             \
    pc = code;                                              \
    DISPATCH();                                             \
  } while (0)

/* A tail call: goes on as `callee`, with the c values at b as its arguments.
 * The arguments move down to the front of the window, from lower to higher
 * registers: b is at least as high as where they go, so none is overwritten
 * before it moved.  No frame is pushed, so the frame limit is not looked at;
 * the stop flag is. */
#define ENTER_TAIL(callee)                                              \
  do {                                                                  \
    Function *f = (callee);                                             \
    for (unsigned i = 0; i < pc->c; i++) R[i] = R[pc->b + i];           \
    SAVE();                                                             \
    pc = function_code(f);                                              \
    if (RARELY(is_stopped(s) || R + function_regs(f) > s->stack_end)) { \
      if (!vm_tail_call(s, f)) goto fault;                              \
      LOAD();                                                           \
    }                                                                   \
    DISPATCH();                                                         \
  } while (0)

#ifdef VM_OBSERVED
/* Is it one of the program's own?  Whether code is still to be made, and
 * whether a call returns from a segment of the stack, depends on earlier runs.
 */
static inline bool counted(const Word *pc) {
  return pc->op != INS_lower && pc->op != INS_leave;
}

/* The observer may look into the session, so the state is saved for it, except
 * for pc, which is passed: s->pc stays at what the last slow call saved. */
static inline bool observe(Session *s, const Word *pc, Value *regs,
                           Frame *top) {
  Observer *o = s->observer;
  s->stats.instructions += counted(pc);
  if (RARELY(s->stats.instructions > s->step_limit) &&
      ins_info[pc->op].flags & (CALL | LOOP))
    session_steps_spent(s);
  if (!o || !o->closely) return true;
  s->regs = regs;
  s->frame_top = top;
  return o->step(o, s, pc);
}

/* The cell has got the content that it holds now. */
static inline void cell_holds(Session *s, const Word *pc, Value *regs,
                              Frame *top, const RefCell *r) {
  Observer *o = s->observer;
  if (!o || !o->holds) return;
  s->regs = regs;
  s->frame_top = top;
  o->holds(o, s, pc, r);
}
#define HOLDS(v) cell_holds(s, pc, R, fp, (const RefCell *)(v).obj)
#else
#define HOLDS(v) ((void)0)
#endif

/* Compiled as vm_run and as vm_run_observed.  Returns false after a fault, with
 * every frame dropped. */
bool vm_run(Session *s) {
#if defined(__GNUC__) && !defined(RLY_SWITCH)
  static const void *const labels[INS_COUNT] = {
#define ID(name) &&L_##name,
#include "bytecode/code.ids"
#undef ID
  };
#endif
  const Word *pc;
  Value *R;
  Frame *fp;
  LOAD();
  DISPATCH();
#if !defined(__GNUC__) || defined(RLY_SWITCH)
dispatch:
  switch (pc->op) {
#endif

    /* --- Moving --- */
    CASE(move) : A = B;
    NEXT(1);
    CASE(move2) : {
      Value *to = &A;
      Value first = B, second = C;
      to[0] = first;
      to[1] = second;
      NEXT(1);
    }
    CASE(borrow) : A = B;
    NEXT(1);
    CASE(imm) : A = of_u32(pc->b);
    NEXT(1);
    CASE(constant) : A = pc[1].value;
    NEXT(2);
    CASE(keep) : obj_keep(A.obj);
    NEXT(1);
    CASE(drop) : obj_drop(&s->store, A.obj);
    NEXT(1);
    CASE(drop_maybe) : if (A.obj) obj_drop(&s->store, A.obj);
    NEXT(1);
    CASE(global) : SLOW(vm_global(s, pc));
    NEXT(2);

    /* --- Going on elsewhere --- */
    CASE(jump) : NEXT(pc->jump);
    CASE(loop) : if (RARELY(is_stopped(s))) SLOW(vm_stopped(s));
    NEXT(pc->jump);
    BRANCH(if_true, A.b)
    BRANCH(unless, !A.b)
    BRANCH(unless_tag, A.obj->tag != pc->b)
    BACK(if_tag, A.obj->tag == pc->b)
    CASE(switch_tag) : NEXT(pc[1 + A.obj->tag].word);
    CASE(no_match) : SLOW(vm_no_match(s, pc));
    NEXT(2);

    /* --- Calls --- */
    CASE(call) : CASE(call_unboxed) : ENTER(pc[1].function, R + pc->b, pc + 2);
    CASE(call_self) : ENTER_AT(pc[1].function, pc - pc->c, R + pc->b, pc + 2);
    CASE(apply)
        : ENTER(closure_function(R[pc->b + pc->c - 1].cell), R + pc->b, pc + 2);
    CASE(tail) : ENTER_TAIL(pc[1].function);
    CASE(tail_apply) : ENTER_TAIL(closure_function(R[pc->b + pc->c - 1].cell));
    CASE(ret) : {
      Value v = A;
      LEAVE();
      R[pc[-2].a] = v;
      DISPATCH();
    }
    CASE(ret_imm) : {
      Value v = of_u32(pc->a);
      LEAVE();
      R[pc[-2].a] = v;
      DISPATCH();
    }
    CASE(ret2) : {
      Value v = A, w = B;
      LEAVE();
      R[pc->regs[0]] = v;
      R[pc->regs[1]] = w;
      NEXT(1);
    }
    CASE(ret_unboxed) : {
      Value fields[RESULTS_MOST];
      unsigned n = pc->b;
      const uint16_t *list = pc[1].regs;
      for (unsigned i = 0; i < n; i++) fields[i] = R[list[i]];
      LEAVE();
      list = pc->regs;
      for (unsigned i = 0; i < n; i++) R[list[i]] = fields[i];
      NEXT(register_units(n));
    }
    CASE(ret_fill) : {
      Value v = A;
      *value_at(B) = C;
      LEAVE();
      R[pc[-2].a] = v;
      DISPATCH();
    }
    CASE(lower) : SLOW(vm_lower(s, pc[1].function));
    LOAD();
    DISPATCH();
    CASE(leave) : SAVE();
    vm_leave(s);
    LOAD();
    DISPATCH();
    CASE(halt) : SAVE();
    return true;

    /* --- Cells --- */
    CASE(cell1) : {
      Cell *c = cell_new(s, pc[1].word, 1);
      if (RARELY(!c)) goto no_memory;
      c->fields[0] = B;
      A.cell = c;
      NEXT(2);
    }
    CASE(cell2) : {
      Cell *c = cell_new(s, pc[1].word, 2);
      if (RARELY(!c)) goto no_memory;
      c->fields[0] = B;
      c->fields[1] = C;
      A.cell = c;
      NEXT(2);
    }
    CASE(cell) : SLOW(vm_cell(s, pc, NULL));
    NEXT(2 + register_units(pc->b));
    CASE(cell1_in) : {
      Cell *c = cell_in(s, R[pc[2].regs[0]].cell, pc[1].word, 1);
      if (RARELY(!c)) goto no_memory;
      c->fields[0] = B;
      A.cell = c;
      NEXT(3);
    }
    CASE(cell2_in) : {
      Cell *c = cell_in(s, R[pc[2].regs[0]].cell, pc[1].word, 2);
      if (RARELY(!c)) goto no_memory;
      c->fields[0] = B;
      c->fields[1] = C;
      A.cell = c;
      NEXT(3);
    }
    CASE(cell_in) : SLOW(vm_cell(s, pc, R[ins_list(pc)[pc->b]].cell));
    NEXT(2 + register_units(pc->b + 1u));
    CASE(big_cell) : SLOW(vm_big_cell(s, pc));
    NEXT(2 + register_units(pc->b));
    CASE(far_cell) : SLOW(vm_far_cell(s, pc));
    NEXT(2);
    CASE(far_get) : {
      Value v = B.cell->fields[pc[1].word];
      if (pc->c) obj_keep(v.obj);
      A = v;
      NEXT(2);
    }
    CASE(far_put) : A.cell->fields[pc[1].word] = B;
    NEXT(2);
    CASE(cells) : SLOW(vm_cells(s, pc));
    NEXT(3);
    CASE(closure) : SLOW(vm_closure(s, pc));
    NEXT(3 + register_units(pc->b));
    CASE(sibling) : SLOW(vm_sibling(s, pc));
    NEXT(2);
    CASE(hole) : A = of_place(&B.cell->fields[pc->c]);
    NEXT(1);
    CASE(fill_hole) : {
      Cell *c = C.cell;
      value_at(B)->cell = c;
      A = of_place(&c->fields[pc[1].word]);
      NEXT(2);
    }
    CASE(field) : A = B.cell->fields[pc->c];
    NEXT(1);
    CASE(fields) : {
      const Value *words = B.cell->fields;
      Value first = words[0], second = words[1];
      A = first;
      C = second;
      NEXT(1);
    }
    CASE(free_cell) : {
      Cell *c = A.cell;
      if (cell_dies(c)) cell_release(s, c, c->obj.size);
      NEXT(1);
    }
    CASE(open1) : {
      Cell *c = A.cell;
      if (cell_dies(c)) cell_release(s, c, c->obj.size);
      else obj_keep(B.obj);
      NEXT(1);
    }
    CASE(open2) : {
      Cell *c = A.cell;
      if (cell_dies(c)) {
        cell_release(s, c, c->obj.size);
      } else {
        obj_keep(B.obj);
        obj_keep(C.obj);
      }
      NEXT(1);
    }
    CASE(open) : SAVE();
    vm_open(s, pc, NULL);
    NEXT(2 + register_units(pc->b));
    CASE(reuse0) : {
      Cell *c = A.cell;
      B.cell = cell_token(c) ? c : NULL;
      NEXT(1);
    }
    CASE(reuse1) : {
      Cell *c = A.cell;
      bool unique = cell_token(c);
      if (!unique) obj_keep(B.obj);
      C.cell = unique ? c : NULL;
      NEXT(1);
    }
    CASE(reuse2) : {
      Cell *c = A.cell;
      bool unique = cell_token(c);
      if (!unique) obj_keep(B.obj);
      if (!unique) obj_keep(C.obj);
      R[pc[1].regs[0]].cell = unique ? c : NULL;
      NEXT(2);
    }
    CASE(reuse) : {
      Value token;
      SAVE();
      vm_open(s, pc, &token);
      C = token;
      NEXT(2 + register_units(pc->b));
    }

    /* --- What is differentiated --- */
    CASE(box) : SLOW(vm_box(s, pc));
    NEXT(2);
    CASE(plain) : SLOW(vm_plain(s, pc));
    NEXT(2);
    CASE(constant_of) : SLOW(vm_constant_of(s, pc));
    NEXT(2);
    CASE(given_out) : SLOW(vm_given_out(s, pc));
    NEXT(2);
    CASE(part) : SLOW(vm_part(s, pc));
    NEXT(2);
    CASE(dual_op) : SLOW(vm_dual_op(s, pc));
    fp = s->frame_top; /* rules of a forward run may have moved the frames */
    NEXT(SITE_UNITS(OpSite));
    CASE(stretch_fits) : A = of_bool(vm_stretch_fits(s, R, pc));
    NEXT(2 + register_units(pc->b));
    CASE(stretch_in) : SLOW(vm_stretch_in(s, pc));
    NEXT(2 + register_units((unsigned)pc->b + pc->c));
    CASE(stretch_out) : SLOW(vm_stretch_out(s, pc));
    fp = s->frame_top; /* likewise */
    NEXT(2 + register_units((unsigned)pc->b + pc->c));
    CASE(dual_apply) : {
      Function *callee = vm_dual_function(s, R[pc->b + pc->c - 1].cell);
      ENTER(callee, R + pc->b, pc + 2);
    }
    CASE(dual_tail)
        : ENTER_TAIL(vm_dual_function(s, R[pc->b + pc->c - 1].cell));
    CASE(dual_ref) : SLOW(vm_dual_ref(s, pc));
    NEXT(1);
    CASE(dual_read) : SLOW(vm_dual_read(s, pc));
    NEXT(2);
    CASE(dual_write) : SLOW(vm_dual_write(s, pc));
    HOLDS(A);
    NEXT(2);
    CASE(custom) : SLOW(vm_custom(s, pc));
    fp = s->frame_top; /* likewise */
    NEXT(ins_length(pc));
    CASE(again) : SLOW(vm_again(s, pc));
    NEXT(1);
    CASE(again_end) : vm_again_end(s, A.cell);
    NEXT(1);
    CASE(effect) : SLOW(vm_effect(s));
    NEXT(1);
    CASE(begin) : SLOW(vm_begin(s, pc));
    NEXT(ins_length(pc));
    CASE(along) : SLOW(vm_along(s, pc));
    NEXT(2);
    CASE(end) : SLOW(vm_end(s, pc));
    NEXT(2);
    CASE(tangent) : SLOW(vm_tangent(s, pc));
    NEXT(2);
    CASE(pull) : SLOW(vm_pull(s, pc));
    fp = s->frame_top; /* its loops may have moved the array of frames */
    NEXT(ins_length(pc));
    CASE(next_step) : {
      Value *at = vm_next_step(s, pc);
      if (!at) NEXT(2);
      const Word *back = pc - pc->a;
      ENTER(back[-1].function, at, back);
    }

    /* --- Mutable cells --- */
    CASE(ref) : SLOW(vm_ref(s, pc));
    HOLDS(A);
    NEXT(2);
    CASE(ref_read) : {
      RefCell *r = (RefCell *)B.obj;
      if (r->obj.mask & REF_COUNTED) obj_keep(r->content.obj);
      A = r->content;
      NEXT(1);
    }
    CASE(compact) : SLOW(vm_compact(s, pc));
    NEXT(1);
    CASE(ref_write) : {
      RefCell *r = (RefCell *)A.obj;
      Value old = r->content;
      r->content = B;
      if (r->obj.mask & REF_COUNTED) obj_drop(&s->store, old.obj);
      HOLDS(A);
      NEXT(1);
    }

    /* --- Tensors, whatever needs types --- */
    CASE(op) : SLOW(vm_op(s, pc));
    NEXT(SITE_UNITS(OpSite));
    CASE(chain) : SLOW(vm_chain(s, pc));
    NEXT(SITE_UNITS(ChainSite));
    CASE(special) : SLOW(vm_special(s, pc));
    NEXT(ins_length(pc));
    CASE(scalar1) : SLOW(vm_scalar(s, pc, 1));
    NEXT(2);
    CASE(scalar2) : SLOW(vm_scalar(s, pc, 2));
    NEXT(2);
    CASE(scalar3) : SLOW(vm_scalar(s, pc, 3));
    NEXT(3);
    CASE(check) : SLOW(vm_check(s, pc));
    NEXT(2 + register_units(pc->b));
    CASE(dim) : A = of_i64(B.tensor->shape[pc->c]);
    NEXT(1);

    /* --- Arithmetic on scalars --- */
    INT_ARITHMETIC(i32, int32_t, uint32_t)
    INT_ARITHMETIC(i64, int64_t, uint64_t)
    ARITHMETIC(f32, float, f32, float)
    ARITHMETIC(f64, double, f64, double)
    CASE(div_f32) : A = of_f32(B.f32 / C.f32);
    NEXT(1);
    CASE(div_f64) : A = of_f64(B.f64 / C.f64);
    NEXT(1);
    CASE(neg_f32) : A = of_f32(-B.f32);
    NEXT(1);
    CASE(neg_f64) : A = of_f64(-B.f64);
    NEXT(1);
    CASE(and_bool) : A = of_bool(B.b && C.b);
    NEXT(1);
    CASE(or_bool) : A = of_bool(B.b || C.b);
    NEXT(1);
    CASE(not_bool) : A = of_bool(!B.b);
    NEXT(1);

    /* --- Comparisons --- */
    COMPARISON(i32)
    COMPARISON(i64)
    COMPARISON(f32)
    COMPARISON(f64)
    INT_BRANCHES(i32)
    INT_BRANCHES(i64)
    FLOAT_BRANCHES(f32)
    FLOAT_BRANCHES(f64)
#if !defined(__GNUC__) || defined(RLY_SWITCH)
  }
#endif

zero:
  SAVE();
  vm_fault(s, E0602, "division by zero");
  goto fault;
no_memory:
  SAVE();
  vm_out_of_memory(s);
fault:
  vm_unwind(s);
  return false;
}
