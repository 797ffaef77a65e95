/* Matrix products inside native loops: on machines with AVX-512 those of gemm.c, but for the sizes at which a BLAS
   library that uses AVX-512 as well is faster; else those of the BLAS library that numpy has already loaded into the
   process.

   Row-major throughout. A kernel that needs products declines where `blas_ready()` is false. */
#ifndef MINDTORCH_BLAS_H
#define MINDTORCH_BLAS_H

#include "kernels.h"

/* Looks for the functions of an OpenBLAS in the shared library at `path`, which must be loaded already, and has the
   library work on one thread from then on: products are shared by the threads of this module (products.c), and its own
   would compete with those. */
bool blas_load(const char *path);
bool blas_ready(void);

/* c = alpha * op(a) @ op(b) + beta * c, where op(a) is (m, k), op(b) is (k, n) and c is (m, n); op transposes where
   asked. lda, ldb and ldc are the distances between rows, in elements. */
void gemm_f(bool transpose_a, bool transpose_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, float alpha, const float *a,
            Py_ssize_t lda, const float *b, Py_ssize_t ldb, float beta, float *c, Py_ssize_t ldc);
void gemm_d(bool transpose_a, bool transpose_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, double alpha, const double *a,
            Py_ssize_t lda, const double *b, Py_ssize_t ldb, double beta, double *c, Py_ssize_t ldc);

/* The same on a machine with AVX-512, without the library; false, with nothing done, for what this is not made for. */
bool wide_gemm_f(bool transpose_a, bool transpose_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, float alpha,
                 const float *a, Py_ssize_t lda, const float *b, Py_ssize_t ldb, float beta, float *c, Py_ssize_t ldc);
bool wide_gemm_d(bool transpose_a, bool transpose_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, double alpha,
                 const double *a, Py_ssize_t lda, const double *b, Py_ssize_t ldb, double beta, double *c,
                 Py_ssize_t ldc);

/* Whether OpenBLAS's kernels of this name (NULL: not known) use AVX-512. Its "Zen" ones do not. */
bool core_is_wide(const char *core);

/* Whether such kernels take less time for a product of (m, k) by (k, n) than those above. */
bool blas_is_faster(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, size_t itemsize);

#endif
