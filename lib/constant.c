/* Operators on constants, for the passes: the kernels say which bits a float
 * has, so a pass that writes a value in the place of a call asks them. */
#include "kernels/call.h"
#include "lib/handles.h"

/* A call that the time limit ends fails, as others do; memory that ran out is
 * raised, so that the program is not taken for one with nothing to fold. */
Tensor *constant_of_call(Program *p, const OpInfo *op, const Attrs *attrs,
                         int count, const Tensor *const *args) {
  const rly_program *program = p->host;
  Arena scratch;
  arena_init(&scratch, p->mem);
  OpCall call = {.op = op,
                 .attrs = attrs,
                 .arg_count = count,
                 .args = args,
                 .heap = p->heap,
                 .arena = &scratch,
                 .stop = &program->cx->late,
                 .threads = 1};
  Tensor *made = NULL;
  if (op_run(&call)) {
    if (call.out_count == 1 && call.result->kind == RT_TENSOR)
      made = call.outs[0];
    for (int i = made ? 1 : 0; i < call.out_count; i++)
      tensor_drop(p->heap, call.outs[i]);
  } else if (call.fault.code == E0701) {
    mem_raise_exhausted(p->mem);
  }
  arena_done(&scratch);
  return made;
}
