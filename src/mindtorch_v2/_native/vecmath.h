/* Functions that the compiler turns into vector instructions when they stand in a loop: no branches, no calls, no tables.
   Errors are below 1.5 units in the last place; NaN, infinities and subnormal results are right.

   exp(x) = 2^n * exp(r) with n = round(x / ln 2) and |r| <= ln(2) / 2. The polynomials for (exp(r) - 1 - r) / r^2 were fitted
   for this package (Chebyshev nodes, 60 digits). n is found by adding a number so large that the sum has no fraction: the low
   bits of the sum are n. 2^n is multiplied in two halves, since 2^n itself may not be a normal number. */
#ifndef MINDTORCH_VECMATH_H
#define MINDTORCH_VECMATH_H

#include "kernels.h"

INLINE float bits_to_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE uint32_t float_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

INLINE double bits_to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE uint64_t double_to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

INLINE float exp_f(float x)
{
    const float round = 12582912.0f; /* 1.5 * 2^23 */
    x = x > 89.0f ? 89.0f : x;       /* exp(89) is infinite, exp(-104) is 0; NaN passes */
    x = x < -104.0f ? -104.0f : x;
    float sum = x * 1.44269504f + round;
    float n = sum - round;
    float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 0.001392632562f;
    p = p * r + 0.008363292753f;
    p = p * r + 0.04166655376f;
    p = p * r + 0.1666657631f;
    p = p * r + 0.5f;
    p = 1.0f + (r + r * r * p);
    uint32_t k = float_to_bits(sum) - 0x4b400000u + 512u; /* n + 512 */
    uint32_t half = k >> 1;
    return p * bits_to_float((half - 256u + 127u) << 23) * bits_to_float((k - half - 256u + 127u) << 23);
}

INLINE double exp_d(double x)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52 */
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    double sum = x * 1.4426950408889634 + round;
    double n = sum - round;
    double r = x - n * 0x1.62e42fee00000p-1 - n * 1.9082149292705877e-10;
    double p = 2.09148313513804106e-9;
    p = p * r + 2.51054191920163364e-8;
    p = p * r + 2.75572732955397243e-7;
    p = p * r + 2.7557254913486702e-6;
    p = p * r + 2.48015873258222821e-5;
    p = p * r + 1.98412698752050768e-4;
    p = p * r + 1.38888888888836696e-3;
    p = p * r + 8.33333333332602495e-3;
    p = p * r + 4.16666666666666698e-2;
    p = p * r + 1.66666666666666711e-1;
    p = p * r + 0.5;
    p = 1.0 + (r + r * r * p);
    uint64_t k = double_to_bits(sum) - 0x4338000000000000u + 4096u; /* n + 4096 */
    uint64_t half = k >> 1;
    return p * bits_to_double((half - 2048u + 1023u) << 52) * bits_to_double((k - half - 2048u + 1023u) << 52);
}

/* The exponent of Phi(x) = 1 / (1 + exp(gelu_exponent(x))), the normal distribution function, to 1e-7. */
INLINE float gelu_exponent_f(float x)
{
    float z = x * x;
    float p = -2.0f * 1.41847255e-7f * 0.011048543456f;
    p = p * z + -2.0f * -5.66838236e-6f * 0.022097086912f;
    p = p * z + -2.0f * 8.76367133e-5f * 0.044194173824f;
    p = p * z + -2.0f * -6.19782904e-4f * 0.088388347648f;
    p = p * z + -2.0f * -1.91832984e-4f * 0.17677669530f;
    p = p * z + -2.0f * 1.02769057e-1f * 0.35355339059f;
    p = p * z + -2.0f * 1.12837927f * 0.70710678119f;
    return p * x;
}

/* Phi(x), the normal distribution function. */
INLINE float phi_f(float x) { return 1.0f / (1.0f + exp_f(gelu_exponent_f(x))); }
INLINE double phi_d(double x) { return 0.5 * (1.0 + erf(x * 0.70710678118654752440)); }

INLINE float gelu_f(float x) { return x / (1.0f + exp_f(gelu_exponent_f(x))); }
INLINE double gelu_d(double x) { return x * phi_d(x); }

#endif
