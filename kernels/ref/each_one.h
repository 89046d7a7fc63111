/* One row of dtype.def: BODY for its dtype, then the slate wiped.  The build
 * writes kernels/ref/each.inc, which includes this for each row and says of it
 *
 *   ID, T, BITS, SUFFIX            FLOAT16, uint16_t, 5, f16
 *   ROW_F, ROW_CODED, ROW_F32,     defined as 1; so columns class, form, in
 *   ROW_REFERENCE                  and loops
 *
 * It includes BODY, if the class is asked for by EACH_BOOL, EACH_INT or
 * EACH_FLOAT, with
 *
 *   ID           the dtype's name: INT8
 *   T, C         the type of an element in memory, and to compute with
 *   W            of integers: an unsigned type that wraps as T does, free of
 *                promotion
 *   R            of floats: f32 or f64, which of our elementary functions
 *   LOAD, STORE  from T to C and back; coded floats are rounded when stored,
 *                narrow integers wrap
 *   LEAST, MOST  the range of C: of floats the infinities
 *   FN(name)     name_INT8
 *   WIDE, IS_FLOAT, IS_SIGNED, IS_BOOL   0 or 1; WIDE: computed in 64 bits
 *
 * With OVERLAID_ALONE for those dtypes only that are worth a build for each
 * instruction set. */
#if (EACH_BOOL && ROW_B) || (EACH_INT && (ROW_I || ROW_U)) || \
    (EACH_FLOAT && ROW_F)
#if !(OVERLAID_ALONE && ROW_REFERENCE)

#if ROW_F
#define IS_FLOAT 1
#else
#define IS_FLOAT 0
#endif
#if ROW_B
#define IS_BOOL 1
#else
#define IS_BOOL 0
#endif
#if ROW_F || ROW_I
#define IS_SIGNED 1
#else
#define IS_SIGNED 0
#endif
#if ROW_F64 || ROW_U64
#define WIDE 1
#else
#define WIDE 0
#endif

#if ROW_F && WIDE
#define C double
#define R f64
#elif ROW_F
#define C float
#define R f32
#else
#define C T
#if WIDE
#define W uint64_t
#else
#define W uint32_t
#endif
#endif

#if ROW_F
#define LEAST (-(C)INFINITY)
#define MOST ((C)INFINITY)
#elif ROW_NARROW && ROW_I
#define LEAST (-(1 << (BITS - 1)))
#define MOST ((1 << (BITS - 1)) - 1)
#elif ROW_NARROW
#define LEAST 0
#define MOST ((1 << BITS) - 1)
#elif ROW_I
#define LEAST NAME_OF(ID, MIN)
#define MOST NAME_OF(ID, MAX)
#elif ROW_U
#define LEAST 0
#define MOST NAME_OF(ID, MAX)
#else
#define LEAST 0
#define MOST 1
#endif

#if ROW_CODED || ROW_FINITE
#define LOAD(x) NAME_OF(SUFFIX, to_f32)(x)
#define STORE(x) NAME_OF(f32_to, SUFFIX)(x)
#elif ROW_NARROW && ROW_I
#define LOAD(x) (x)
#define STORE(x) ((T)low_signed((uint64_t)(x), BITS))
#elif ROW_NARROW
#define LOAD(x) (x)
#define STORE(x) ((T)low_unsigned((uint64_t)(x), BITS))
#else
#define LOAD(x) (x)
#define STORE(x) (x)
#endif

#include BODY

#undef IS_FLOAT
#undef IS_BOOL
#undef IS_SIGNED
#undef WIDE
#undef C
#undef R
#undef W
#undef LEAST
#undef MOST
#undef LOAD
#undef STORE
#endif
#endif
