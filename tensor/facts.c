/* A tensor's summary in one line, for the prompt and the stepper: "6 elements,
 * -1 to 2.5, mean 0.5, 1 NaN".  One pass over the elements, in row-major order,
 * with a sum in double; so the facts cost as much as one read of what is in
 * memory: a view that repeats its elements is read as if it did not.
 * The mean is for the eye: it may differ in its last digits from what an
 * operator would compute in the tensor's own dtype. */
#include "tensor/facts.h"

#include <math.h>

/* Compares two elements that are numbers, not NaN.  Integers are compared as
 * integers, so those beyond 2^53, which double cannot tell apart, compare
 * exactly. */
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

/* The same for a run of float32, which most tensors are of, without the
 * conversions: a page of the stepper asks for facts at every step. */
static void take_floats(TensorFacts *f, const Runs *r, double *sum) {
  const float *data = (const float *)r->data;
  float least = f->ordered ? f->least.f32 : INFINITY;
  float most = f->ordered ? f->most.f32 : -INFINITY;
  int64_t nans = 0;
  for (int64_t i = 0; i < r->count; i++) {
    float x = data[i * r->stride];
    nans += isnan(x) != 0;
    f->infinities += isinf(x) != 0;
    f->trues += !isnan(x) && x != 0;
    if (isfinite(x)) *sum += (double)x;
    if (x < least) least = x;
    if (x > most) most = x;
  }
  f->nans += nans;
  f->ordered |= nans < r->count;
  f->least = (Value){.f32 = least};
  f->most = (Value){.f32 = most};
}

/* The tensor without the axes of stride 0, each of which is one long instead,
 * so that a broadcast view of 10^12 elements takes no longer to look at than
 * what it repeats.  Returns how often each element is repeated. */
static int64_t repeats(const Tensor *t, Tensor *once) {
  int64_t times = 1;
  *once = *t;
  for (int i = 0; i < t->rank; i++) {
    if (t->strides[i] || t->shape[i] < 2) continue;
    times *= t->shape[i];
    once->shape[i] = 1;
  }
  return times;
}

/* The row-major index in `t` of an element that has index 0 on all axes that
 * `once` lacks. */
static int64_t index_in(const Tensor *t, const Tensor *once, int64_t at) {
  int64_t index = 0, step = 1;
  for (int i = t->rank; i-- > 0;) {
    index += at % once->shape[i] * step;
    at /= once->shape[i];
    step *= t->shape[i];
  }
  return index;
}

/* Watching a run for NaN asks this of every result, so contiguous float32, the
 * common case, has a loop without conversions. */
int64_t tensor_first_nan(const Tensor *t) {
  if (!dtype_is_float((DType)t->dtype)) return -1;
  int64_t n = tensor_count(t);
  if (t->dtype == DT_FLOAT32 && tensor_is_contiguous(t)) {
    const float *f = (const float *)t->data;
    for (int64_t i = 0; i < n; i++)
      if (isnan(f[i])) return i;
    return -1;
  }
  Tensor once;
  if (n) n /= repeats(t, &once);
  for (int64_t i = 0; i < n; i++)
    if (isnan(tensor_f64_at(&once, i))) return index_in(t, &once, i);
  return -1;
}

TensorFacts tensor_facts(const Tensor *t) {
  TensorFacts f = {.count = tensor_count(t)};
  DType dtype = (DType)t->dtype;
  int64_t size = (int64_t)dtype_size(dtype);
  double sum = 0;
  if (f.count == 0) return f;
  Tensor once;
  int64_t times = repeats(t, &once);
  for (Runs r = runs_over(&once); runs_next(&r);) {
    if (dtype == DT_FLOAT32) take_floats(&f, &r, &sum);
    else
      for (int64_t i = 0; i < r.count; i++)
        take(&f, dtype, bits_load(dtype, r.data + i * r.stride * size), &sum);
  }
  int64_t finite = f.count / times - f.nans - f.infinities;
  f.mean = finite ? sum / (double)finite : 0;
  f.nans *= times, f.infinities *= times, f.trues *= times;
  f.finite = finite * times;
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
