/* The verifier of bytecode (bytecode/verify.h) on small functions: sound ones,
 * and each again with one mistake, which it must find and name.
 *
 * The verifier guards against mistakes of the code generator, so its tests are
 * such mistakes: a reference dropped twice or never, a register read before it
 * is set, a jump into the middle of an instruction.  Each sound function
 * passes; each unsound one differs from a sound one in a single place, so that
 * nothing else can be what was found. */
#include "bytecode/verify.h"
#include "tests/unit/unit.h"

/* --- Writing code ------------------------------------------------------- */

#define I(name, x, y, z) \
  { .op = INS_##name, .a = (x), .b = (y), .c = (z) }
#define J(name, x, distance) \
  { .jump_op = INS_##name, .jump_a = (x), .jump = (distance) }
#define DATA(p) \
  { .data = (p) }
#define REGS(...)           \
  {                         \
    .regs = { __VA_ARGS__ } \
  }

/* A cell's header, as a unit. */
static Word header(unsigned size, unsigned mask) {
  Obj obj = {.count = 1,
             .size = (uint16_t)(size & SIZE_BITS),
             .mask = (uint16_t)(mask & MASK_BITS)};
  Word w;
  memcpy(&w, &obj, sizeof w);
  return w;
}

enum { UNITS = 16, LIVE = 4, NONE = NO_FLAW_REG };

/* A function, with what failing at unit `fails` would drop: `live`. */
typedef struct Sample {
  uint32_t count, nregs, nparams;
  ParamMode params[2];
  uint32_t result_count;
  bool result_counted[RESULTS_MOST];
  Word units[UNITS];
  uint8_t counts[UNITS];
  LiveAt live_at[LIVE];
  uint32_t live_at_count;
  uint16_t live[LIVE];
} Sample;

static bool verify_within(const Sample *s, Mem *mem, Flaw *flaw) {
  Listing l = {.units = s->units,
               .count = s->count,
               .nregs = s->nregs,
               .nparams = s->nparams,
               .params = s->params,
               .result_count = s->result_count,
               .result_counted = s->result_counted,
               .counts = s->counts,
               .live_at = s->live_at,
               .live_at_count = s->live_at_count,
               .live = s->live};
  return code_verify(&l, mem, flaw);
}

static bool verify(const Sample *s, Flaw *flaw) {
  Mem mem;
  assert_true(mem_init(&mem, SIZE_MAX));
  bool sound = verify_within(s, &mem, flaw);
  assert_int_equal(mem.live, 0);
  mem_done(&mem);
  return sound;
}

static void is_sound(const Sample *s) {
  Flaw flaw;
  if (!verify(s, &flaw))
    fail_msg("unit %u, r%u: %s", flaw.at, flaw.reg, flaw.rule);
}

static void is_flawed(const Sample *s, uint32_t reg, const char *rule) {
  Flaw flaw;
  assert_false(verify(s, &flaw));
  assert_string_equal(flaw.rule, rule);
  assert_int_equal(flaw.reg, reg);
}

/* Another unit in one place. */
typedef struct Spoilt {
  uint32_t at;
  Word unit;
  uint32_t reg;
  const char *rule;
} Spoilt;

static void each_is_flawed(const Sample *sound, const Spoilt *list, size_t n) {
  is_sound(sound);
  for (size_t i = 0; i < n; i++) {
    Sample s = *sound;
    s.units[list[i].at] = list[i].unit;
    is_flawed(&s, list[i].reg, list[i].rule);
  }
}

/* --- A loop over a list ------------------------------------------------- */

static Sample sum(void) {
  return (Sample){
      .count = 9,
      .nregs = 4,
      .nparams = 2,
      .params = {PARAM_OWNED, PARAM_BITS},
      .units = {I(unless_tag, 0, 0, 7), /* to the drop */
                I(field, 2, 0, 0), I(field, 3, 0, 1), I(open1, 0, 3, 0),
                I(add_i32, 1, 1, 2), I(move, 0, 3, 0), J(loop, 0, -6),
                I(drop, 0, 0, 0), I(ret, 1, 0, 0)},
      .counts = {[2] = true},
      .live_at = {{6, 0, 1}},
      .live_at_count = 1,
      .live = {0}};
}

static void test_instructions(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {1, I(field, 2, 9, 0), 9, "is not in the window"},
      {4, {.op = INS_COUNT}, NONE, "there is no such instruction"},
      {8, I(constant, 1, 0, 0), NONE, "the instruction is cut off"},
      {8, I(add_i32, 1, 1, 1), NONE, "the code has no end"},
      {8, I(halt, 0, 0, 0), NONE, "this instruction belongs to no function"},
  };
  Sample s = sum();
  each_is_flawed(&s, list, LENGTH(list));
  s.count = 0;
  is_flawed(&s, NONE, "the code has no end");
}

static void test_jumps(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {0, I(unless_tag, 0, 0, 20), NONE, "a jump lands on no instruction"},
      {6, J(loop, 0, 1), NONE, "a loop starts nowhere"},
      {6, J(loop, 0, -7), NONE, "a loop starts nowhere"},
      {6, J(jump, 0, -6), NONE, "paths come back to where they were"},
      {7, J(loop, 0, -3), NONE, "there are two loops"},
  };
  Sample s = sum();
  each_is_flawed(&s, list, LENGTH(list));
  /* Into the middle of one. */
  s.count = 3;
  s.units[0] = (Word)I(unless, 1, 0, 2);
  s.units[1] = (Word)I(constant, 2, 0, 0);
  is_flawed(&s, NONE, "a jump lands on no instruction");
}

static void test_reading(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {3, I(drop, 0, 0, 0), 3, "is read where it has no value"},
      {3, I(open1, 0, 2, 0), 2, "is no field of the cell that ends"},
      {4, I(add_i32, 1, 1, 0), 0, "is read where it has no value"},
      {7, I(add_i32, 1, 2, 1), 2, "is read where it has no value"},
      {8, I(ret, 2, 0, 0), 2, "moves where it has no value"},
  };
  Sample s = sum();
  each_is_flawed(&s, list, LENGTH(list));
}

static void test_references(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {4, I(add_i32, 3, 1, 2), 3, "is set and loses a reference"},
      {4, I(keep, 1, 0, 0), 1, "is kept and holds nothing to keep"},
      {7, I(keep, 0, 0, 0), NONE, "a reference is lost at the end"},
      {7, I(drop, 1, 0, 0), 1, "gives a reference that it lacks"},
  };
  Sample s = sum();
  each_is_flawed(&s, list, LENGTH(list));
}

static void test_loops(void **state) {
  (void)state;
  Sample s = sum();
  s.units[5] = (Word)I(move, 0, 2, 0); /* the rest of the list stays behind */
  s.live[0] = 3;
  is_flawed(&s, 0, "is held on one way only");
  s = sum();
  s.units[4] = (Word)I(move, 1, 3, 0);
  s.units[5] = (Word)I(move, 0, 1, 0);
  is_flawed(&s, 1, "has no value when the loop comes back");
}

/* Likewise, with a way back past the head. */
static Sample sum_back(void) {
  Sample s = sum();
  memmove(&s.units[7], &s.units[6], 3 * sizeof s.units[0]);
  s.units[0].c = 8;
  s.units[6] = (Word)I(back_if_tag, 0, 0, 5);
  s.units[7].jump = -7;
  s.live_at[0].at = 7;
  s.count = 10;
  return s;
}

static void test_ways_back(void **state) {
  (void)state;
  static const char not_its[] = "a way back is not the head's";
  static const Spoilt list[] = {
      {6, I(back_if_tag, 0, 0, 6), NONE, not_its},
      {6, I(back_if_tag, 0, 0, 4), NONE, not_its},
      {6, I(back_if_tag, 0, 1, 5), NONE, not_its},
      {6, I(back_if_tag, 3, 0, 5), NONE, not_its},
      {6, I(back_unless_tag, 0, 0, 5), NONE, not_its},
      {6, I(back_if_true, 0, 0, 5), NONE, not_its},
      {7, J(loop, 0, -6), NONE, not_its},
      {5, I(back_if_tag, 0, 0, 4), NONE, "a way back is no loop's"},
      {7, J(jump, 0, 1), NONE, "a way back is no loop's"},
      {7, J(loop, 0, -8), NONE, "a way back is no loop's"},
  };
  Sample s = sum_back();
  each_is_flawed(&s, list, LENGTH(list));
}

/* The head's jump is the way on, or its operands stand the other way round. */
static void test_ways_of_comparisons(void **state) {
  (void)state;
  Sample s = {
      .count = 5,
      .nregs = 2,
      .nparams = 2,
      .params = {PARAM_BITS, PARAM_BITS},
      .units = {I(if_lt_i32, 0, 1, 2), I(ret, 0, 0, 0), I(add_i32_imm, 0, 0, 1),
                I(back_if_lt_i32, 0, 1, 1), J(loop, 0, -4)}};
  is_sound(&s);
  s.units[3] = (Word)I(back_if_lt_i32, 0, 1, 2);
  is_flawed(&s, NONE, "a way back is not the head's");
  s.units[0] = (Word)I(if_lt_i32, 0, 1, 4);
  s.units[1] = (Word)I(add_i32_imm, 0, 0, 1);
  s.units[2] = (Word)I(back_if_le_i32, 1, 0, 1);
  s.units[3] = (Word)J(loop, 0, -3);
  s.units[4] = (Word)I(ret, 0, 0, 0);
  is_sound(&s);
  s.units[2] = (Word)I(back_if_le_i32, 0, 1, 1);
  is_flawed(&s, NONE, "a way back is not the head's");
}

static void test_failing(void **state) {
  (void)state;
  Sample s = sum();
  s.live[0] = 1;
  is_flawed(&s, 1, "would be dropped and is not held");
  s.live[0] = 77;
  is_flawed(&s, 77, "would be dropped and is not held");
  s.live_at_count = 0;
  is_flawed(&s, NONE, "failing would lose a reference");
  s = sum();
  s.live_at[0].count = 2;
  s.live[1] = 0;
  is_flawed(&s, 0, "would be dropped and is not held");
}

/* --- Cells and calls ---------------------------------------------------- */

static const ParamMode owned[] = {PARAM_OWNED}, lent[] = {PARAM_BORROWED};
static const ParamMode number[] = {PARAM_BITS};
static Function takes = {.nparams = 1, .params = owned};
static Function looks = {.nparams = 1, .params = lent};
static Function counts = {.nparams = 1, .params = number};
static Function alone = {.nparams = 0};

static Sample calls(void) {
  Sample s = {.count = 11,
              .nregs = 5,
              .nparams = 1,
              .params = {PARAM_OWNED},
              .units = {I(keep, 0, 0, 0),
                        I(move, 4, 0, 0),
                        I(call, 1, 4, 0),
                        {.function = &takes},
                        I(cell2, 2, 1, 0),
                        header(2, 3),
                        I(borrow, 4, 2, 0),
                        I(call, 3, 4, 0),
                        {.function = &looks},
                        I(drop, 2, 0, 0),
                        I(ret, 3, 0, 0)},
              .counts = {[2] = true, [4] = true},
              .live_at = {{2, 0, 1}, {4, 0, 2}, {7, 2, 1}},
              .live_at_count = 3,
              .live = {0, 1, 2}};
  return s;
}

static void test_calls(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {0, I(imm, 3, 0, 0), 0, "would be dropped and is not held"},
      {1, I(imm, 4, 1, 0), 4, "gives a reference that it lacks"},
      {2, I(call, 1, 5, 0), 5, "is not in the window"},
      {2, I(call_self, 1, 4, 1), NONE, "a call of itself starts elsewhere"},
      {3,
       {.function = &counts},
       4,
       "is not the number that the callee expects"},
      {3, {.function = &alone}, 4, "is lost under the callee"},
      {6, I(move, 4, 2, 0), 4, "is not held while the callee borrows it"},
      {6, I(imm, 4, 1, 0), 4, "is not held while the callee borrows it"},
      {6, I(borrow, 4, 0, 0), 0, "is read where it has no value"},
  };
  Sample s = calls();
  each_is_flawed(&s, list, LENGTH(list));
}

static void test_headers(void **state) {
  (void)state;
  const Spoilt list[] = {
      {5, header(3, 3), NONE, "the header is of another cell"},
      {5, header(2, 7), NONE, "the header is of another cell"},
      {5, header(2, 1), 0, "is counted in the cell's header or here, not both"},
  };
  Sample s = calls();
  each_is_flawed(&s, list, LENGTH(list));
  s.units[3].function = &takes;
  s.counts[2] = false; /* the field is a number */
  s.live_at[1].count = 1;
  s.live[1] = 0;
  s.live_at[1].first = 1;
  is_flawed(&s, 1, "is counted in the cell's header or here, not both");
}

/* A closure, then a tail call that borrows on. */
static Sample goes_on(void) {
  return (Sample){.count = 9,
                  .nregs = 5,
                  .nparams = 1,
                  .params = {PARAM_BORROWED},
                  .units = {I(keep, 0, 0, 0),
                            I(move, 2, 0, 0),
                            I(constant, 3, 0, 0),
                            DATA(&takes),
                            I(apply, 1, 2, 2),
                            DATA(0),
                            I(borrow, 2, 0, 0),
                            I(tail, 0, 2, 1),
                            {.function = &looks}},
                  .counts = {[2] = true}};
}

static void test_closures(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {1, I(borrow, 2, 0, 0), 2, "gives a reference that it lacks"},
      {7, I(tail, 0, 2, 2), NONE, "the callee takes another number"},
      {8, {.function = &takes}, 2, "gives a reference that it lacks"},
  };
  Sample s = goes_on();
  each_is_flawed(&s, list, LENGTH(list));
  s.counts[2] = false;
  is_flawed(&s, 3, "is called and no closure");
  s = goes_on();
  s.units[4] = (Word)I(apply, 1, 4, 2);
  is_flawed(&s, 4, "is not in the window");
}

/* A tail call may borrow only what outlives the frame. */
static void test_lent_too_long(void **state) {
  (void)state;
  Sample s = {.count = 4,
              .nregs = 3,
              .nparams = 1,
              .params = {PARAM_OWNED},
              .units = {I(borrow, 1, 0, 0),
                        I(tail, 0, 1, 1),
                        {.function = &looks},
                        I(ret, 0, 0, 0)}};
  is_flawed(&s, NONE, "failing would lose a reference");
  s.units[1] = (Word)I(drop, 0, 0, 0);
  s.units[2] = (Word)I(ret, 1, 0, 0);
  s.count = 3;
  is_flawed(&s, 1, "moves where it has no value");
}

/* --- Two as one --------------------------------------------------------- */

/* A cell's two fields, passed on to a function of two. */
static const ParamMode both[] = {PARAM_BITS, PARAM_BORROWED};
static Function looks_on = {.nparams = 2, .params = both};

static Sample pairs(void) {
  return (Sample){.count = 7,
                  .nregs = 5,
                  .nparams = 1,
                  .params = {PARAM_OWNED},
                  .units = {I(fields, 1, 0, 2),
                            I(move2, 3, 1, 2),
                            I(call, 1, 3, 0),
                            {.function = &looks_on},
                            I(drop, 0, 0, 0),
                            I(ret_imm, 7, 0, 0)},
                  .counts = {2},
                  .live_at = {{2, 0, 1}},
                  .live_at_count = 1,
                  .live = {0}};
}

static void test_pairs(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {0, I(fields, 0, 0, 2), 0, "is read where it has no value"},
      {0, I(fields, 1, 5, 2), 5, "is not in the window"},
      {0, I(fields, 1, 0, 3), 2, "moves where it has no value"},
      {1, I(move2, 4, 1, 2), 5, "is not in the window"},
      {1, I(move2, 3, 2, 1), 3, "is not the number that the callee expects"},
      {1, I(move2, 3, 1, 0), 4, "is not held while the callee borrows it"},
      {4, I(imm, 1, 0, 0), NONE, "a reference is lost at the end"},
  };
  Sample s = pairs();
  s.count = 6;
  each_is_flawed(&s, list, LENGTH(list));
  s.counts[0] = 0;
  is_flawed(&s, 4, "is not held while the callee borrows it");
  s.result_count = 2;
  s.counts[0] = 2;
  is_flawed(&s, NONE, "callers expect another number of results");
}

/* --- Unboxed results ---------------------------------------------------- */

static Function gives2 = {.result_count = 2, .result_counted = {true, false}};
static Function gives3 = {.result_count = 3,
                          .result_counted = {false, true, true}};

/* Takes a pair unboxed and returns it as three values. */
static Sample parts(void) {
  return (Sample){.count = 6,
                  .nregs = 4,
                  .result_count = 3,
                  .result_counted = {false, true, true},
                  .units = {I(call_unboxed, 0, 3, 2),
                            {.function = &gives2},
                            REGS(1, 2),
                            I(keep, 1, 0, 0),
                            I(ret_unboxed, 0, 3, 0),
                            REGS(2, 1, 1)}};
}

static void test_results(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {0, I(call, 1, 3, 2), NONE, "the callee gives other results"},
      {0, I(call_unboxed, 0, 3, 3), NONE, "the callee gives other results"},
      {1, {.function = &gives3}, NONE, "the callee gives other results"},
      {2, REGS(1, 9), 9, "is not in the window"},
      {2, REGS(2, 1), 1, "is kept and holds nothing to keep"},
      {2, REGS(1, 1), 1, "is set and loses a reference"},
      {3, I(imm, 3, 0, 0), 1, "moves where it has no value"},
      {4, I(ret, 1, 0, 0), NONE, "callers expect another number of results"},
      {4, I(ret2, 1, 2, 0), NONE, "callers expect another number of results"},
      {4, I(ret_unboxed, 0, 2, 0), NONE,
       "callers expect another number of results"},
      {5, REGS(1, 1, 2), 1, "is a result of another kind than callers expect"},
      {5, REGS(2, 3, 1), 3, "moves where it has no value"},
  };
  Sample s = parts();
  each_is_flawed(&s, list, LENGTH(list));
  s.result_count = 0;
  is_flawed(&s, NONE, "callers expect another number of results");
}

/* A tail call returns what its caller's callers expect. */
static void test_results_of_tails(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {1, {.function = &alone}, NONE, "the callee gives other results"},
      {1, {.function = &gives3}, NONE, "the callee gives other results"},
      {0, I(tail_apply, 0, 1, 1), NONE, "a closure gives one result"},
  };
  Sample s = {.count = 2,
              .nregs = 2,
              .result_count = 2,
              .result_counted = {true, false},
              .units = {I(tail, 0, 1, 0), {.function = &gives2}}};
  each_is_flawed(&s, list, LENGTH(list));
  s.result_counted[1] = true;
  is_flawed(&s, NONE, "the callee gives other results");
  s.result_count = 0;
  is_flawed(&s, NONE, "the callee gives other results");
}

/* --- Where paths meet --------------------------------------------------- */

/* A cell's memory on one way, null on the other. */
static Sample meets(void) {
  return (Sample){
      .count = 10,
      .nregs = 3,
      .nparams = 1,
      .params = {PARAM_OWNED},
      .units = {I(unless_tag, 0, 0, 5), I(field, 1, 0, 1), I(reuse1, 0, 1, 2),
                I(drop, 1, 0, 0), J(jump, 0, 3), I(drop, 0, 0, 0),
                I(imm, 2, 0, 0), I(drop_maybe, 2, 0, 0), I(imm, 0, 1, 0),
                I(ret, 0, 0, 0)},
      .counts = {[1] = true, [6] = true}};
}

static void test_meeting(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {5, I(imm, 1, 1, 0), 0, "is held on one way only"},
      {6, I(imm, 1, 0, 0), 2, "is held on one way only"},
      {7, I(drop, 2, 0, 0), 2, "is dropped when null"},
      {7, I(imm, 1, 0, 0), NONE, "a reference is lost at the end"},
  };
  Sample s = meets();
  each_is_flawed(&s, list, LENGTH(list));
  s.units[7] = (Word)I(unless, 1, 0, 1);
  is_flawed(&s, 1, "is read where it has no value");
}

/* A moved register was required to be set before the move, so its new place is
 * set, too. */
static void test_moving(void **state) {
  (void)state;
  Sample s = meets();
  s.units[7] = (Word)I(move, 0, 2, 0);
  s.units[8] = (Word)I(drop, 0, 0, 0);
  s.units[9] = (Word)I(imm, 0, 1, 0);
  s.units[s.count++] = (Word)I(ret, 0, 0, 0);
  is_sound(&s);
  s.units[8] = (Word)I(drop, 2, 0, 0);
  is_flawed(&s, 2, "gives a reference that it lacks");
}

static void test_null(void **state) {
  (void)state;
  Sample s = {.count = 3,
              .nregs = 1,
              .units = {I(imm, 0, 0, 0), I(unless, 0, 0, 1), I(ret, 0, 0, 0)}};
  is_sound(&s);
  s.counts[0] = true;
  is_flawed(&s, 0, "is read and is null");
}

/* --- Operators ---------------------------------------------------------- */

static const Type vector = {.kind = TY_TENSOR, .rank = 1};
static const Type *const vectors[] = {&vector};
static const OpSite site = {
    .source_count = 1, .out_count = 1, .out_types = vectors};

static Sample operator(void) {
  return (Sample){
      .count = 4,
      .nregs = 2,
      .nparams = 1,
      .params = {PARAM_OWNED},
      .units = {I(op, 1, 0, 0), DATA(&site), REGS(0, 1), I(ret, 1, 0, 0)},
      .live_at = {{0, 0, 1}},
      .live_at_count = 1,
      .live = {0}};
}

static void test_operators(void **state) {
  (void)state;
  static const Spoilt list[] = {
      {0, I(op, 0, 0, 0), NONE, "a reference is lost at the end"},
      {0, I(op, 3, 0, 0), NONE, "an operand is taken that there is not"},
      {2, REGS(0, 0), 0, "is set while it is read"},
      {2, REGS(0, 5), 5, "is not in the window"},
  };
  Sample s = operator();
  each_is_flawed(&s, list, LENGTH(list));
}

static void test_sites(void **state) {
  (void)state;
  static const CheckSite two_names = {.name_count = 2};
  Sample s = {.count = 3,
              .nregs = 1,
              .nparams = 1,
              .params = {PARAM_BORROWED},
              .units = {I(check, 0, 0, 0), DATA(&two_names), J(loop, 0, -2)}};
  is_flawed(&s, NONE, "the check compares other names");
  static const Fuse fuse = {.inputs = 1};
  static const ChainInput input = {.source = 1};
  static const ChainSite chain = {.fuse = &fuse,
                                  .source_count = 1,
                                  .out_count = 1,
                                  .inputs = &input,
                                  .out_types = vectors};
  s = operator();
  s.units[0] = (Word)I(chain, 1, 0, 0);
  s.units[1] = (Word)DATA(&chain);
  is_flawed(&s, NONE, "the chain reads what it is not given");
  static const Fuse both = {.outputs = 2};
  static const OpSite join = {.source_count = 2};
  static const uint8_t first[] = {1, 0}, all[] = {2, 1};
  ChainSite joined = {.fuse = &both,
                      .source_count = 1,
                      .join = &join,
                      .parts = all,
                      .out_count = 1,
                      .out_types = vectors};
  s.units[1] = (Word)DATA(&joined);
  is_sound(&s);
  joined.parts = first;
  is_flawed(&s, NONE, "the chain joins what it does not give");
  joined.join = NULL;
  is_flawed(&s, NONE, "the chain gives another number of results");
}

/* --- Memory ------------------------------------------------------------- */

/* Whichever request is refused, the code is neither sound nor flawed, and
 * nothing stays behind. */
static void test_memory(void **state) {
  (void)state;
  Sample s = meets();
  size_t refused = 0;
  for (bool sound = false; !sound; refused++) {
    Mem mem;
    Flaw flaw = {.rule = "?"};
    assert_true(mem_init(&mem, SIZE_MAX));
    mem.fail_at = mem.count + refused + 1;
    sound = verify_within(&s, &mem, &flaw);
    if (!sound) assert_null(flaw.rule);
    assert_int_equal(mem.live, 0);
    mem_done(&mem);
  }
  assert_true(refused > 3);
}

/* --- All ---------------------------------------------------------------- */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instructions),
      cmocka_unit_test(test_jumps),
      cmocka_unit_test(test_reading),
      cmocka_unit_test(test_references),
      cmocka_unit_test(test_loops),
      cmocka_unit_test(test_ways_back),
      cmocka_unit_test(test_ways_of_comparisons),
      cmocka_unit_test(test_failing),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_headers),
      cmocka_unit_test(test_closures),
      cmocka_unit_test(test_lent_too_long),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_results),
      cmocka_unit_test(test_results_of_tails),
      cmocka_unit_test(test_meeting),
      cmocka_unit_test(test_moving),
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_operators),
      cmocka_unit_test(test_sites),
      cmocka_unit_test(test_memory),
  };
  return RUN_TESTS(tests);
}
