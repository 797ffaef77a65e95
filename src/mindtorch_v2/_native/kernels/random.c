/* Random numbers out of the words of the generator (_backends/cpu/generator_engine.py): uniform and normal ones, with
   the same bits as PyTorch's kernels for AVX2. See generator_normal.py, whose functions these are in one pass. */
#include "kernels.h"
#include "common/numpy_arrays.h"

#define BLOCK 16 /* normals that are made together: eight radii, eight angles */
#define HALF (BLOCK / 2)
#define GROUP 16 /* blocks of a loop */

typedef struct {
    const uint32_t *words;
    void *out;
    float mean, std;
    bool plain;
} Draw;

#define LOOPS "random.inc"
#include "each_type.h"

/* Whether a * b + c is rounded once, on which the last bits depend. */
static bool is_fused(void)
{
#if defined(MINDTORCH_X86)
    return machine != MACHINE_BASELINE;
#elif defined(__FP_FAST_FMAF)
    return true;
#else
    return false;
#endif
}

/* Numbers of a type, one for every `each` words. */
static PyObject *draw(PyObject *words, loop_function loop, Draw job, char type, Py_ssize_t each, Py_ssize_t block,
                      double cost)
{
    Arrays all = {.count = 0};
    Array given, out;
    PyObject *result = DECLINED;
    if (!array_has_known_layout(words)
        || ((const DescrFields *)((const ArrayFields *)words)->descr)->type != 'I') /* uint32 */
        return DECLINED;
    array_open(&all, &given, words, false);
    if (!all.failed && given.itemsize == 4 && given.contiguous && given.ndim == 1 && given.size > 0
        && given.size % block == 0) {
        Py_ssize_t size = given.size / each;
        result = array_new(&all, &out, 1, &size, type, false);
        if (result != NULL) {
            job.words = (const uint32_t *)given.data;
            job.out = out.data;
            run_loop(loop, &job, given.size / block, cost * (double)block);
        }
    }
    arrays_close(&all);
    return result;
}

/* normal_blocks(words, mean, std): float32, for whole blocks of words */
static PyObject *normal_blocks(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    double mean, std;
    if (!is_fused() || !as_double(args[1], &mean) || !as_double(args[2], &std))
        return DECLINED;
    Draw job = {.mean = (float)mean, .std = (float)std, .plain = mean == 0 && std == 1};
    return draw(args[0], PICK_MACHINE(normal_blocks_f), job, 'f', 1, BLOCK, 2);
}

/* uniforms(words): float32 in [0, 1) */
static PyObject *uniforms(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return draw(args[0], PICK_MACHINE(uniforms_f), (Draw){.plain = true}, 'f', 1, 1, 0.2);
}

/* wide_uniforms(words): float64 in [0, 1), from pairs of words */
static PyObject *wide_uniforms(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    return draw(args[0], PICK_MACHINE(uniforms_d), (Draw){.plain = true}, 'd', 2, 2, 0.3);
}

const KernelEntry RANDOM_KERNELS[] = {
    {"normal_blocks", normal_blocks, 3},
    {"uniforms", uniforms, 1},
    {"wide_uniforms", wide_uniforms, 1},
    {NULL, NULL, 0},
};
