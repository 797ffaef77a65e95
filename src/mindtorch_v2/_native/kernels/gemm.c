/* Matrix products for machines with AVX-512. OpenBLAS chooses its kernels when it is loaded, and takes those for AVX2
   where the environment says so or it does not know the processor; small products it packs more slowly.

   Blocks of both matrices are packed into panels, so that the innermost loop reads them in order: ROWS rows of one,
   LINE columns of the other, whose sums stay in registers. A block of `a` fits into the cache of the second level, one
   of `b` into that of the third, a panel of `b` into that of the first. */
#include "blas.h"

#include <strings.h>

#define DEPTH_BLOCK 256
#define COLUMN_BLOCK 1024
#define LINE_BYTES 128 /* of a row of a panel of `b`: two vectors */

#define B_BLOCK_BYTES (1 << 20) /* more of a packed `b` than the cache of the second level holds */
#define FEW_ROWS 512            /* of `a`, for which packing `b` counts */
#define LARGE_SINGLE 3.2e8      /* multiplications of a product */
#define LARGE_DOUBLE 2e9

bool core_is_wide(const char *core)
{
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    for (size_t i = 0; core != NULL && i < sizeof names / sizeof *names; i++)
        if (strcasecmp(core, names[i]) == 0) /* builds for one processor alone write capitals */
            return true;
    return false;
}

/* Measured on a processor of AMD's family 26 (1 MB of second-level cache a core) against OpenBLAS 0.3.31 as SkylakeX.
   OpenBLAS takes 0.5 to 1 of the time where columns are few and fill no panel, 0.4 to 1 where the packed block of `b`
   comes from the third level for few rows (float64 alone: blocks of float32 fit), and 0.8 to 1 for large products. */
bool blas_is_faster(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, size_t itemsize)
{
    size_t line = LINE_BYTES / itemsize, columns = (size_t)(n < COLUMN_BLOCK ? n : COLUMN_BLOCK);
    size_t padded = ((size_t)n + line - 1) / line * line, depth = (size_t)(k < DEPTH_BLOCK ? k : DEPTH_BLOCK);
    bool large = (double)m * (double)n * (double)k > (itemsize == sizeof(float) ? LARGE_SINGLE : LARGE_DOUBLE);
    return large || 4 * padded > 5 * (size_t)n || (m <= FEW_ROWS && columns * depth * itemsize > B_BLOCK_BYTES);
}

#ifdef MINDTORCH_X86
#include <immintrin.h>
#include <stdlib.h>

#define ROWS 8
#define LEAST_ROWS 8 /* of both matrices: below, packing costs more than it saves */
#define ROW_BLOCK 128
#define A_BYTES (ROW_BLOCK * DEPTH_BLOCK * sizeof(double))
#define B_BYTES (COLUMN_BLOCK * DEPTH_BLOCK * sizeof(double))

/* Memory for packed blocks, one piece a thread, kept for the next product. */
static void *scratch_memory(void)
{
    static _Thread_local void *memory;
    if (memory == NULL)
        memory = aligned_alloc(64, A_BYTES + B_BYTES);
    return memory;
}

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"))),                   \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")
#endif

/* out = the transpose of 8x8 elements. */
INLINE void transpose_block(const float *from, Py_ssize_t ld, float *out, Py_ssize_t out_ld)
{
    __m256 rows[8], pairs[8], quads[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; r++)
        rows[r] = _mm256_loadu_ps(from + r * ld);
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
        pairs[r] = _mm256_unpacklo_ps(rows[r], rows[r + 1]);
        pairs[r + 1] = _mm256_unpackhi_ps(rows[r], rows[r + 1]);
    }
#pragma GCC unroll 2
    for (int r = 0; r < 8; r += 4) {
        quads[r] = _mm256_shuffle_ps(pairs[r], pairs[r + 2], 0x44);
        quads[r + 1] = _mm256_shuffle_ps(pairs[r], pairs[r + 2], 0xee);
        quads[r + 2] = _mm256_shuffle_ps(pairs[r + 1], pairs[r + 3], 0x44);
        quads[r + 3] = _mm256_shuffle_ps(pairs[r + 1], pairs[r + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
        _mm256_storeu_ps(out + r * out_ld, _mm256_permute2f128_ps(quads[r], quads[r + 4], 0x20));
        _mm256_storeu_ps(out + (r + 4) * out_ld, _mm256_permute2f128_ps(quads[r], quads[r + 4], 0x31));
    }
}

#define SINGLE 1
#define T float
#define F(name) name##_f
#define LINE (LINE_BYTES / (Py_ssize_t)sizeof(T))
#define WIDE __m512
#define WIDE_MASK __mmask16
#define WIDE_OF _mm512_set1_ps
#define WIDE_LOAD _mm512_loadu_ps
#define WIDE_MADD _mm512_fmadd_ps
#define WIDE_TIMES _mm512_mul_ps
#define WIDE_LOAD_SOME _mm512_maskz_loadu_ps
#define WIDE_PUT_SOME _mm512_mask_storeu_ps
#include "gemm.inc"
#undef SINGLE
#undef T
#undef F
#undef LINE
#undef WIDE
#undef WIDE_MASK
#undef WIDE_OF
#undef WIDE_LOAD
#undef WIDE_MADD
#undef WIDE_TIMES
#undef WIDE_LOAD_SOME
#undef WIDE_PUT_SOME

#define SINGLE 0
#define T double
#define F(name) name##_d
#define LINE (LINE_BYTES / (Py_ssize_t)sizeof(T))
#define WIDE __m512d
#define WIDE_MASK __mmask8
#define WIDE_OF _mm512_set1_pd
#define WIDE_LOAD _mm512_loadu_pd
#define WIDE_MADD _mm512_fmadd_pd
#define WIDE_TIMES _mm512_mul_pd
#define WIDE_LOAD_SOME _mm512_maskz_loadu_pd
#define WIDE_PUT_SOME _mm512_mask_storeu_pd
#include "gemm.inc"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
