/* Includes the file LOOPS for float and for double; on x86-64 for every machine, for those with AVX2 and FMA, and for
   those with AVX-512. Inside it, T is the type, F(name) the function's name for this type and machine, MADD(a, b, c) is
   a * b + c with one rounding where the machine can, BITS an unsigned integer of the size of T, LANES how many T fill
   32 bytes. */
#ifndef LOOPS
#error "define LOOPS, the file to include"
#endif

#define FUSED 0
#define MACHINE(name) name
#include "kernels/both_types.h"

#ifdef MINDTORCH_X86
#define FUSED 1
#define MACHINE(name) name##_avx2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#include "kernels/both_types.h"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#include "kernels/both_types.h"
#pragma GCC pop_options
#endif

#define FUSED 1
#define MACHINE(name) name##_avx512
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"))),                   \
                             apply_to = function)
#include "kernels/both_types.h"
#pragma clang attribute pop
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")
#include "kernels/both_types.h"
#pragma GCC pop_options
#endif
#endif

#undef LOOPS
