/* Includes the file LOOPS for float and for double; on x86-64 once for every machine and once for those with AVX2 and FMA.
   Inside it, T is the type, F(name) the function's name for this type and machine, MADD(a, b, c) is a * b + c with one rounding
   where the machine can, BITS an unsigned integer of the size of T, LANES how many T fill 32 bytes. */
#ifndef LOOPS
#error "define LOOPS, the file to include"
#endif

#undef MADD
#define MADD(a, b, c) ((a) * (b) + (c))
#define SINGLE 1
#define T float
#define F(name) name##_f
#define BITS uint32_t
#define LANES 8
#include LOOPS
#undef SINGLE
#undef T
#undef F
#undef BITS
#undef LANES
#define SINGLE 0
#define T double
#define F(name) name##_d
#define BITS uint64_t
#define LANES 4
#include LOOPS
#undef F

#ifdef MINDTORCH_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#undef MADD
#define MADD(a, b, c) __builtin_fma((a), (b), (c))
#define F(name) name##_d_avx2
#include LOOPS
#undef SINGLE
#undef T
#undef F
#undef BITS
#undef LANES
#undef MADD
#define MADD(a, b, c) __builtin_fmaf((a), (b), (c))
#define SINGLE 1
#define T float
#define F(name) name##_f_avx2
#define BITS uint32_t
#define LANES 8
#include LOOPS
#undef F
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#undef SINGLE
#undef T
#undef BITS
#undef LANES
#undef MADD
#undef LOOPS
