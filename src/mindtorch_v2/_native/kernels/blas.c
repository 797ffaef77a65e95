/* The matrix products of numpy's OpenBLAS, found in the loaded library by name; see blas.h. */
#include "blas.h"

#include <dlfcn.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* The library's integers are 64 bits wide in numpy's wheels (names end in 64_) and 32 bits in most other builds. */
typedef void (*gemm_f_64)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *,
                          int64_t, float, float *, int64_t);
typedef void (*gemm_d_64)(int, int, int, int64_t, int64_t, int64_t, double, const double *, int64_t, const double *,
                          int64_t, double, double *, int64_t);
typedef void (*gemm_f_32)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                          int);
typedef void (*gemm_d_32)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                          double *, int);

static const struct {
    const char *sgemm, *dgemm, *set_threads, *core;
    bool wide;
} NAMES[] = {
    {"scipy_cblas_sgemm64_", "scipy_cblas_dgemm64_", "scipy_openblas_set_num_threads64_",
     "scipy_openblas_get_corename64_", true},
    {"cblas_sgemm64_", "cblas_dgemm64_", "openblas_set_num_threads64_", "openblas_get_corename64_", true},
    {"scipy_cblas_sgemm", "scipy_cblas_dgemm", "scipy_openblas_set_num_threads", "scipy_openblas_get_corename", false},
    {"cblas_sgemm", "cblas_dgemm", "openblas_set_num_threads", "openblas_get_corename", false},
};

static struct {
    void *sgemm, *dgemm;
    bool wide;
    bool wide_core; /* its kernels use AVX-512 */
} blas;

static void *symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

/* Whether the library, asked by the function of this name if it has one, has chosen kernels for AVX-512. */
static bool has_wide_core(void *library, const char *name)
{
    void *found = symbol(library, name);
    const char *(*core)(void);
    memcpy(&core, &found, sizeof found);
    return found != NULL && core_is_wide(core());
}

bool blas_load(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL)
        return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        void *sgemm = symbol(library, NAMES[i].sgemm), *dgemm = symbol(library, NAMES[i].dgemm);
        void *set = symbol(library, NAMES[i].set_threads);
        if (sgemm == NULL || dgemm == NULL || set == NULL)
            continue;
        blas.wide = NAMES[i].wide;
        blas.wide_core = has_wide_core(library, NAMES[i].core);
        blas.dgemm = dgemm;
        blas.sgemm = sgemm;
        void (*set_threads)(int);
        memcpy(&set_threads, &set, sizeof set);
        set_threads(1);
        return true; /* the library stays open: numpy uses it as long as the process lives */
    }
    dlclose(library);
    return false;
}

bool blas_ready(void)
{
    return blas.sgemm != NULL;
}

#ifdef MINDTORCH_X86
#define TRY_WIDE(own)                                                                                                  \
    if (machine == MACHINE_AVX512 && !(blas.wide_core && blas_is_faster(m, n, k, sizeof *a))                           \
        && own(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))                                                  \
        return;
#else
#define TRY_WIDE(own)
#endif

#define GEMM(name, T, own, pointer, wide_type, narrow_type)                                                            \
    void name(bool ta, bool tb, Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, T alpha, const T *a, Py_ssize_t lda,         \
              const T *b, Py_ssize_t ldb, T beta, T *c, Py_ssize_t ldc)                                                \
    {                                                                                                                  \
        TRY_WIDE(own)                                                                                                  \
        int op_a = ta ? TRANSPOSED : PLAIN, op_b = tb ? TRANSPOSED : PLAIN;                                            \
        if (blas.wide) {                                                                                               \
            wide_type call;                                                                                            \
            memcpy(&call, &pointer, sizeof call);                                                                      \
            call(ROW_MAJOR, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                 \
        } else {                                                                                                       \
            narrow_type call;                                                                                          \
            memcpy(&call, &pointer, sizeof call);                                                                      \
            call(ROW_MAJOR, op_a, op_b, (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);   \
        }                                                                                                              \
    }

GEMM(gemm_f, float, wide_gemm_f, blas.sgemm, gemm_f_64, gemm_f_32)
GEMM(gemm_d, double, wide_gemm_d, blas.dgemm, gemm_d_64, gemm_d_32)
