/* A tensor in a few words. */
#include "tensor/facts.h"

#include <math.h>

/* Of two elements, neither a NaN; integers beyond 2^53 are told apart, too. */
static bool is_less(const Tensor *t, int64_t a, int64_t b) {
  switch (dtype_info[t->dtype].class) {
    case CLASS_F: return tensor_f64_at(t, a) < tensor_f64_at(t, b);
    case CLASS_U: return tensor_bits_at(t, a).u64 < tensor_bits_at(t, b).u64;
    default: return tensor_i64_at(t, a) < tensor_i64_at(t, b);
  }
}

static void take(TensorFacts *f, const Tensor *t, int64_t i, double v) {
  if (f->least < 0 || is_less(t, i, f->least)) f->least = i;
  if (f->most < 0 || is_less(t, f->most, i)) f->most = i;
  if (isfinite(v)) f->mean += v;
  else f->infinities++;
}

TensorFacts tensor_facts(const Tensor *t) {
  TensorFacts f = {.count = tensor_count(t), .least = -1, .most = -1};
  for (int64_t i = 0; i < f.count; i++) {
    double v = tensor_f64_at(t, i);
    if (isnan(v)) f.nans++;
    else take(&f, t, i, v);
  }
  int64_t finite = f.count - f.nans - f.infinities;
  f.mean = finite ? f.mean / (double)finite : 0;
  return f;
}

/* An element without what tells its type. */
static void add_element(StrBuf *out, const Tensor *t, int64_t i) {
  DType dtype = (DType)t->dtype;
  Value bits = tensor_bits_at(t, i);
  switch (dtype_info[dtype].class) {
    case CLASS_F: float_print(out, dtype, bits, false); break;
    case CLASS_U: strbuf_addf(out, "%llu", (unsigned long long)bits.u64); break;
    default: strbuf_addf(out, "%lld", (long long)tensor_i64_at(t, i)); break;
  }
}

static void add_count(StrBuf *out, int64_t n, const char *what) {
  if (n) strbuf_addf(out, ", %lld %s", (long long)n, what);
}

static void print_bools(StrBuf *out, const TensorFacts *f) {
  int64_t set = (int64_t)(f->mean * (double)f->count + 0.5);
  strbuf_addf(out, "%lld True, %lld False", (long long)set,
              (long long)(f->count - set));
}

void tensor_print_facts(StrBuf *out, const Tensor *t) {
  TensorFacts f = tensor_facts(t);
  if (t->dtype == DT_BOOL) {
    print_bools(out, &f);
    return;
  }
  strbuf_addf(out, "%lld element%s", (long long)f.count,
              f.count == 1 ? "" : "s");
  if (f.least >= 0) {
    strbuf_add(out, ", ");
    add_element(out, t, f.least);
    strbuf_add(out, " to ");
    add_element(out, t, f.most);
  }
  if (f.count > f.nans + f.infinities) strbuf_addf(out, ", mean %.6g", f.mean);
  add_count(out, f.nans, "NaN");
  add_count(out, f.infinities, "inf");
}
