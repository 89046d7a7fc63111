/* Losses in the type C (float or double) named ID; included by loss.c.  The
 * terms are stored in an array and summed like every reduction: term r goes to
 * partial sum r mod 16. */

/* -sum(log(p) * y) / batch; with `logits`, p is a logarithm already. */
static bool FN(cross_entropy)(OpCall *call, bool logits) {
  const Tensor *x = call->args[0], *y = call->args[1];
  int64_t n = tensor_count(x);
  C *terms = ARENA_ARRAY(call->arena, C, (size_t)n + 1);
  if (!terms) return op_out_of_memory(call);
  for (int64_t i = 0; i < n; i++) {
    C p = (C)tensor_f64_at(x, i);
    if (op_stopped(call)) return false;
    if (!logits) NAME_OF(ID, tile_log)(&p, 1);
    terms[i] = p * (C)tensor_f64_at(y, i);
  }
  C loss = -FN(partial_sum)(call->stop, terms, n) / (C)x->shape[0];
  NAME_OF(tile_store, ID)(x->dtype, call->outs[0]->data, 1, 1, &loss);
  return true;
}

/* Computes -weight * prediction, and the weight, of each target.  Predictions
 * are (N, classes, rest...), targets (N, rest...), so target i's prediction is
 * in another line for each class.  A target equal to ignore_index has weight
 * 0. */
static bool FN(nll_terms)(OpCall *call, C *terms, C *weights) {
  const Tensor *x = call->args[0], *y = call->args[1], *w = call->args[2];
  int64_t n = tensor_count(y), classes = x->shape[1];
  int64_t inner = x->shape[0] ? n / x->shape[0] : 0;
  int64_t ignored = attr_number(call->attrs, ATTR_ignore_index);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = tensor_i64_at(y, i);
    if (op_stopped(call)) return false;
    terms[i] = weights[i] = 0;
    if (at == ignored) continue;
    if (at < 0 || at >= classes)
      return op_fault(call, E0604, "class %lld of %lld", (long long)at,
                      (long long)classes);
    int64_t place = (i / inner * classes + at) * inner + i % inner;
    weights[i] = (C)tensor_f64_at(w, at);
    terms[i] = -weights[i] * (C)tensor_f64_at(x, place);
  }
  return true;
}

/* reduction none: the terms; sum: their sum; mean: the sum divided by the sum
 * of weights, which is NaN when all targets are ignored. */
static bool FN(nll)(OpCall *call) {
  int64_t n = tensor_count(call->args[1]);
  int how = attr_word(call->attrs, ATTR_reduction);
  Tensor *out = call->outs[0];
  C *terms = ARENA_ARRAY(call->arena, C, 2 * (size_t)n + 1);
  if (!terms) return op_out_of_memory(call);
  if (!FN(nll_terms)(call, terms, terms + n)) return false;
  C sum = FN(partial_sum)(call->stop, terms, n);
  if (how == LOSS_MEAN) sum /= FN(partial_sum)(call->stop, terms + n, n);
  if (how != LOSS_TERMS) {
    NAME_OF(tile_store, ID)(out->dtype, out->data, 1, 1, &sum);
    return true;
  }
  int64_t size = (int64_t)dtype_size(out->dtype);
  BLOCKS(call->stop, n)
  NAME_OF(tile_store, ID)
  (out->dtype, out->data + at * size, 1, end - at, terms + at);
  return true;
}

#undef ID
#undef C
