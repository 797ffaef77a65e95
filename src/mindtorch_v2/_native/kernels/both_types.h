/* Includes the file LOOPS for float and for double on one kind of machine; see each_type.h, which defines FUSED and
 * MACHINE. */
#if FUSED
#define MADD(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define MADD(a, b, c) ((a) * (b) + (c))
#endif
#define SINGLE 1
#define T float
#define F(name) MACHINE(name##_f)
#define BITS uint32_t
#define LANES 8
#include LOOPS
#undef SINGLE
#undef T
#undef F
#undef BITS
#undef LANES

#if FUSED
#undef MADD
#define MADD(a, b, c) __builtin_fma((a), (b), (c))
#endif
#define SINGLE 0
#define T double
#define F(name) MACHINE(name##_d)
#define BITS uint64_t
#define LANES 4
#include LOOPS
#undef SINGLE
#undef T
#undef F
#undef BITS
#undef LANES

#undef MADD
#undef FUSED
#undef MACHINE
