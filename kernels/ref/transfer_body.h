/* Loading and storing runs of one dtype as another type, included by tile.c
 * through each_*.h.  The run of step 1 has a loop of its own when loading,
 * which the compiler makes into vectors. */

#define TRANSFER(To, name)                                               \
  static void FN(load_##name)(const char *from, int64_t step, int64_t n, \
                              To *to) {                                  \
    const T *x = (const T *)from;                                        \
    if (step == 1)                                                       \
      for (int64_t i = 0; i < n; i++) to[i] = (To)LOAD(x[i]);            \
    else                                                                 \
      for (int64_t i = 0; i < n; i++) to[i] = (To)LOAD(x[i * step]);     \
  }                                                                      \
  static void FN(store_##name)(char *to, int64_t step, int64_t n,        \
                               const To *from) {                         \
    T *out = (T *)to;                                                    \
    for (int64_t i = 0; i < n; i++) out[i * step] = STORE((C)from[i]);   \
  }

#if IS_FLOAT
TRANSFER(float, f32)
TRANSFER(double, f64)
#else
TRANSFER(uint32_t, u32)
TRANSFER(uint64_t, u64)
#endif
#undef TRANSFER
