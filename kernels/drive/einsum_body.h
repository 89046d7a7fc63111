/* einsum in the accumulator type C, named ID; included by einsum.c.  Over the
 * summed letters, row-major: acc = fma(x1 * x2 * ..., xn, acc) from +0, the
 * product of the first operands being rounded at each step. */

/* Adds the product at one index of all letters to `acc`. */
static C FN(add_term)(const EinsumCall *e, const int64_t *index, C acc) {
  C product = 1, x = 1;
  for (int i = 0; i < e->plan.operands; i++) {
    int64_t offset = 0;
    for (int k = 0; k < e->plan.letters; k++)
      offset += index[k] * e->steps[i][k];
    if (i > 0) product = (C)(product * x);
    const Tensor *t = e->args[i];
    LOAD_TILE(t->dtype, t->data + offset * (int64_t)dtype_size(t->dtype), 1, 1,
              &x);
  }
  return MULTIPLY_ADD(product, x, acc);
}

/* The index goes through the summed letters and is back at 0 after the last,
 * ready for the next element.  An empty sum is 0. */
static bool FN(run)(OpCall *call, const EinsumCall *e) {
  Tensor *out = call->outs[0];
  int64_t index[EINSUM_LETTERS] = {0};
  int64_t n = tensor_count(out), size = (int64_t)dtype_size(out->dtype);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    C acc = 0;
    if (!e->empty) do
        acc = FN(add_term)(e, index, acc);
      while (next_index(e, e->plan.rank, e->plan.letters, index) &&
             !op_stopped(call));
    STORE_TILE(out->dtype, out->data + i * size, 1, 1, &acc);
    next_index(e, 0, e->plan.rank, index);
  }
  return true;
}
