/* A tensor's summary in one line, for the prompt and the stepper: "6 elements,
 * -1 to 2.5, mean 0.5, 1 NaN".  One pass over the elements, in row-major order,
 * with a sum in double; so the facts cost as much as one read of what is in
 * memory: a view that repeats its elements is read as if it did not.
 * The mean is for the eye: it may differ in its last digits from what an
 * operator would compute in the tensor's own dtype. */
#include "tensor/facts.h"

#include <math.h>

/* Compares two elements that are numbers, integers beyond 2^53 exactly. */
static bool is_less(DType dtype, Value a, Value b) {
  switch (dtype_info[dtype].class) {
    case CLASS_F: return bits_to_f64(dtype, a) < bits_to_f64(dtype, b);
    case CLASS_U:
    case CLASS_B: return a.u64 < b.u64;
    case CLASS_I: return bits_to_i64(dtype, a) < bits_to_i64(dtype, b);
  }
  return false;
}

/* Counts one element.  Infinities belong to the range, but not to the mean,
 * which they would swallow; NaN belongs to neither. */
static void take(TensorFacts *f, DType dtype, Value v, double *sum) {
  double x = bits_to_f64(dtype, v);
  if (isnan(x)) {
    f->nans++;
    return;
  }
  f->trues += x != 0;
  f->infinities += isinf(x) != 0;
  if (isfinite(x)) *sum += x;
  if (!f->ordered || is_less(dtype, v, f->least)) f->least = v;
  if (!f->ordered || is_less(dtype, f->most, v)) f->most = v;
  f->ordered = true;
}

int64_t tensor_first_nan(const Tensor *t) {
  if (!dtype_is_float((DType)t->dtype)) return -1;
  int64_t n = tensor_count(t);
  if (t->dtype == DT_FLOAT32 && tensor_is_contiguous(t)) {
    const float *f = (const float *)t->data;
    for (int64_t i = 0; i < n; i++)
      if (isnan(f[i])) return i;
    return -1;
  }
  for (int64_t i = 0; i < n; i++)
    if (isnan(tensor_f64_at(t, i))) return i;
  return -1;
}

TensorFacts tensor_facts(const Tensor *t) {
  TensorFacts f = {.count = tensor_count(t)};
  DType dtype = (DType)t->dtype;
  int64_t size = (int64_t)dtype_size(dtype);
  double sum = 0;
  for (Runs r = runs_over(t); runs_next(&r);)
    for (int64_t i = 0; i < r.count; i++)
      take(&f, dtype, bits_load(dtype, r.data + i * r.stride * size), &sum);
  f.finite = f.count - f.nans - f.infinities;
  f.mean = f.finite ? sum / (double)f.finite : 0;
  return f;
}

/* Prints an element without a suffix for its type. */
static void add_element(StrBuf *out, DType dtype, Value bits) {
  switch (dtype_info[dtype].class) {
    case CLASS_F: float_print(out, dtype, bits, false); break;
    case CLASS_U:
    case CLASS_B: strbuf_addf(out, "%llu", (unsigned long long)bits.u64); break;
    case CLASS_I:
      strbuf_addf(out, "%lld", (long long)bits_to_i64(dtype, bits));
      break;
  }
}

/* Zero is not worth a word. */
static void add_count(StrBuf *out, int64_t n, const char *what) {
  if (n) strbuf_addf(out, ", %lld %s", (long long)n, what);
}

void tensor_print_facts(StrBuf *out, const Tensor *t) {
  TensorFacts f = tensor_facts(t);
  if (t->dtype == DT_BOOL) {
    strbuf_addf(out, "%lld True, %lld False", (long long)f.trues,
                (long long)(f.count - f.trues));
    return;
  }
  strbuf_addf(out, "%lld element%s", (long long)f.count,
              f.count == 1 ? "" : "s");
  if (f.ordered) {
    strbuf_add(out, ", ");
    add_element(out, (DType)t->dtype, f.least);
    strbuf_add(out, " to ");
    add_element(out, (DType)t->dtype, f.most);
  }
  if (f.finite) strbuf_addf(out, ", mean %.6g", f.mean);
  add_count(out, f.nans, "NaN");
  add_count(out, f.infinities, "inf");
}
