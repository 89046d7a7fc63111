/* Numbers of boxes in the type C (float or double) named ID: what the kernels
 * of nms_body.h and anchors_body.h share. */

static C FN(least)(C a, C b) { return a < b ? a : b; }
static C FN(most)(C a, C b) { return a > b ? a : b; }

/* All elements of a tensor, in the call's arena.  NULL with the fault set, or
 * when the call was asked to stop. */
static C *FN(numbers)(OpCall *call, const Tensor *t) {
  int64_t n = tensor_count(t);
  C *to = arena_array(call->arena, (size_t)n + 1, sizeof *to);
  if (!to) return op_out_of_memory(call), NULL;
  BLOCKS(call->stop, n)
  for (int64_t i = at; i < end; i++) to[i] = (C)tensor_f64_at(t, i);
  return op_stopped(call) ? NULL : to;
}

/* Stores n numbers from element `first` of a contiguous result on. */
static void FN(put)(Tensor *out, int64_t first, const C *from, int64_t n) {
  int64_t size = (int64_t)dtype_size(out->dtype);
  for (int64_t i = 0; i < n; i++)
    bits_store(out->dtype, out->data + (first + i) * size,
               bits_from_f64(out->dtype, (double)from[i]));
}

/* The positions of n scores, the highest first; equal ones stay in order.
 * `room` has room for 2 * n.  NULL when the call was asked to stop. */
static int64_t *FN(ranked)(const OpCall *call, const C *scores, int64_t step,
                           int64_t n, int64_t *room) {
  Line line = {.dtype = sizeof(C) == sizeof(float) ? DT_FLOAT32 : DT_FLOAT64,
               .data = (const char *)scores,
               .step = step,
               .n = n,
               .descend = true};
  return line_sort(call, &line, room, room + n);
}
