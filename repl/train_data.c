/* What a run of `rly train` reads: tensors in values, and checksums of the
 * params and examples, by which a run that goes on knows those that it began
 * with. */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "repl/guard.h"
#include "repl/train.h"

/* --- Tensors in values --------------------------------------------------- */

bool train_push(TrainValues *all, rly_value *v) {
  if (v && VEC_RESERVE(all, 1)) {
    VEC_PUSH(all, v);
    return true;
  }
  rly_value_free(v);
  return false;
}

void train_drop(TrainValues *all) {
  while (all->len) rly_value_free(VEC_POP(all));
  VEC_DONE(all);
}

/* The fields of a value are taken from the stack's top, so that a list needs no
 * more room than one of its items. */
bool train_each_tensor(const Training *t, rly_value *v,
                       bool (*see)(void *data, rly_value *tensor), void *data) {
  TrainValues all;
  VEC_INIT(&all, t->h->program->mem);
  bool ok = train_push(&all, rly_value_keep(v));
  while (ok && all.len) {
    rly_value *top = VEC_POP(&all);
    if (rly_value_kind(top) == RLY_TENSOR) ok = see(data, top);
    else
      for (int i = rly_value_field_count(top) - 1; ok && i >= 0; i--)
        ok = train_push(&all, rly_value_field(top, i));
    rly_value_free(top);
  }
  train_drop(&all);
  return ok;
}

/* --- Checksums ----------------------------------------------------------- */

/* The dtype, the shape and the elements. */
static bool see_sum(void *data, rly_value *tensor) {
  XXH3_state_t *sum = data;
  const char *dtype = rly_value_dtype(tensor);
  const void *elements = rly_value_elements(tensor);
  if (!dtype || !elements) return false;
  XXH3_64bits_update(sum, dtype, strlen(dtype) + 1);
  for (int i = 0; i < rly_value_rank(tensor); i++) {
    int64_t dim = rly_value_dim(tensor, i);
    XXH3_64bits_update(sum, &dim, sizeof dim);
  }
  int size = dtype_size(dtype_find(dtype, strlen(dtype)));
  XXH3_64bits_update(sum, elements,
                     (size_t)rly_value_count(tensor) * (size_t)size);
  return true;
}

static bool add_sum(Training *t, const char *name, size_t len, rly_value *v) {
  XXH3_state_t sum;
  XXH3_64bits_reset(&sum);
  if (!v || !train_each_tensor(t, v, see_sum, &sum)) return false;
  strbuf_addf(&t->sums, "%.*s %016llx\n", (int)len, name,
              (unsigned long long)XXH3_64bits_digest(&sum));
  return true;
}

int train_sum_inputs(Training *t) {
  rly_value *all;
  rly_status status =
      rly_session_call(t->session, "train.inputs", 0, NULL, &all);
  if (status != RLY_OK) return exit_status(status);
  bool ok = true;
  guard_begin(t->h->cli, "reading the examples");
  const char *name = strbuf_text(&t->inputs);
  for (int i = 0; ok && *name; i++) {
    size_t len = strcspn(name, "\n");
    rly_value *v = rly_value_field(all, i);
    ok = add_sum(t, name, len, v);
    rly_value_free(v);
    name += len + 1;
  }
  guard_end();
  rly_value_free(all);
  return ok ? 0 : host_out_of_memory(t->h);
}
