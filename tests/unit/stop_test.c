/* Kernels that were asked to stop before they began: each operator of the law's
 * table, with operands of several blocks, gives up, leaves nothing behind, and
 * has not written all of its results.  tests/late measures how long kernels go
 * on when asked later.
 *
 * A kernel that never looks at the flag makes Ctrl-C wait for it, however long
 * it runs; here only that it looks is under test, so no clock is needed. */
#include "tests/unit/ops_long.h"

#include "base/stop.h"

enum { ELEMENTS = 4 * STOP_BLOCK, UNTOUCHED = 0x5A };

static _Atomic int up = 1;

/* Results as the interpreter makes them, filled with a pattern. */
static void make_results(Trial *t, Call *c) {
  c->op.out_count = c->op.result->kind == RT_TUPLE ? c->op.result->count : 1;
  c->op.outs = ARENA_ARRAY(&t->b->arena, Tensor *, (size_t)c->op.out_count + 1);
  for (int i = 0; i < c->op.out_count; i++) {
    const RuleType *f = result_field(&c->op, i);
    int64_t shape[RANK_MAX];
    shape_of_dims(f->rank, f->dims, shape);
    c->op.outs[i] = tensor_of(t->b, f->dtype, f->rank, shape);
    memset(c->op.outs[i]->data, UNTOUCHED, tensor_bytes(c->op.outs[i]));
  }
}

static void end_is_untouched(const Trial *t, const Tensor *out) {
  size_t bytes = tensor_bytes(out), size = dtype_size(out->dtype);
  if (tensor_count(out) < 2 * STOP_BLOCK) return;
  for (size_t i = bytes - size; i < bytes; i++)
    if (out->data[i] != UNTOUCHED)
      fail_msg("%s(%s) %s went on to the end", t->op->name, t->law->operands,
               t->law->attrs);
}

static void gives_up(Trial *t) {
  Call c;
  long_call(t, &c);
  c.op.stop = &up;
  if (op_run(&c.op))
    fail_msg("%s(%s) %s: did not stop", t->op->name, t->law->operands,
             t->law->attrs);
  if (t->op->storage != STORE_FILL) return;
  make_results(t, &c);
  op_kernel(t->op)(&c.op);
  for (int i = 0; i < c.op.out_count; i++) end_is_untouched(t, c.op.outs[i]);
}

static void visit(const Law *law, const OpInfo *op) {
  for (int batch = 0; batch < 2; batch++) {
    Bench b;
    Trial t = {.law = law,
               .op = op,
               .threads = 1,
               .isa = "",
               .b = &b,
               .dtype = law->only ? law->only : DT_FLOAT32,
               .make = in_blocks};
    if (!grow(&t, batch, ELEMENTS)) continue;
    bench_open(&b);
    gives_up(&t);
    bench_close(&b);
  }
}

static void all_of_them(void **state) {
  (void)state;
  each_long_law(visit);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_them)};
  return RUN_TESTS(tests);
}
