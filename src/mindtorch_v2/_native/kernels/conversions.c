/* float16 and bfloat16 into float32 and back. Kernels compute with such types in float32 (_dispatch/widening.py), so
   that every operator converts its arguments and its result; numpy and ml_dtypes convert one element at a time.

   The buffer protocol does not know bfloat16: arrays are read through numpy's published layout, which is checked. */
#include "kernels.h"
#include "common/numpy_arrays.h"

typedef struct {
    const void *from;
    void *to;
} Conversion;

#define LOOPS "conversions.inc"
#include "each_type.h"

#ifdef MINDTORCH_X86
#include <cpuid.h>
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif

static void widen_float16(const void *argument, Py_ssize_t begin, Py_ssize_t end)
{
    const Conversion *job = argument;
    const uint16_t *from = job->from;
    float *to = job->to;
    Py_ssize_t i = begin;
    for (; i + 8 <= end; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < end; i++)
        to[i] = _cvtsh_ss(from[i]);
}

static void narrow_float16(const void *argument, Py_ssize_t begin, Py_ssize_t end)
{
    const Conversion *job = argument;
    const float *from = job->from;
    uint16_t *to = job->to;
    Py_ssize_t i = begin;
    for (; i + 8 <= end; i += 8)
        _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < end; i++)
        to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

static bool converts_float16(void)
{
    static int known = -1;
    if (known < 0) {
        unsigned a, b, c = 0, d;
        known = machine != MACHINE_BASELINE && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    }
    return known;
}
#endif

/* 'f' float32, 'e' float16, 'E' bfloat16, 0 any other. Other types of ml_dtypes have letters of their own. */
static char type_of(const DescrFields *descr)
{
    static const PyTypeObject *bfloat16;
    if (descr->byteorder == '>')
        return 0;
    if (descr->type != 'E')
        return descr->type == 'f' || descr->type == 'e' ? descr->type : 0;
    if (bfloat16 == NULL) {
        const char *name = strrchr(descr->typeobj->tp_name, '.');
        if (strcmp(name ? name + 1 : descr->typeobj->tp_name, "bfloat16") == 0)
            bfloat16 = descr->typeobj; /* which lives as long as the process: numpy holds it */
    }
    return descr->typeobj == bfloat16 ? 'E' : 0;
}

static loop_function loop_between(char from, char to)
{
    if (from == 'E' && to == 'f')
        return PICK_MACHINE(widen_bfloat16_f);
    if (from == 'f' && to == 'E')
        return PICK_MACHINE(narrow_bfloat16_f);
#ifdef MINDTORCH_X86
    if (from == 'e' && to == 'f' && converts_float16())
        return widen_float16;
    if (from == 'f' && to == 'e' && converts_float16())
        return narrow_float16;
#endif
    return NULL;
}

static Py_ssize_t bytes_of(char type)
{
    return type == 'f' ? 4 : 2;
}

static bool is_usable(const ArrayFields *array)
{
    bool fits = (array->flags & ARRAY_ALIGNED) && array->nd > 0;
    for (int i = 0; fits && i < array->nd; i++)
        fits = array->dimensions[i] > 0 && array->strides[i] >= 0;
    return fits;
}

/* Whether two arrays of one shape lie in memory in the same order; `to` has no gaps. */
static bool in_one_order(const ArrayFields *from, const ArrayFields *to, Py_ssize_t from_bytes, Py_ssize_t to_bytes)
{
    for (int i = 0; i < from->nd; i++)
        if (from->dimensions[i] > 1 && from->strides[i] * to_bytes != to->strides[i] * from_bytes)
            return false;
    return true;
}

/* Row by row, where the elements of each row lie side by side in both. */
static void convert_rows(const ArrayFields *from, const ArrayFields *to, loop_function loop)
{
    Py_ssize_t length = from->dimensions[from->nd - 1], rows = 1;
    for (int i = 0; i < from->nd - 1; i++)
        rows *= from->dimensions[i];
    for (Py_ssize_t row = 0; row < rows; row++) {
        Py_ssize_t rest = row, in = 0, out = 0;
        for (int i = from->nd - 2; i >= 0; i--) {
            in += rest % from->dimensions[i] * from->strides[i];
            out += rest % from->dimensions[i] * to->strides[i];
            rest /= from->dimensions[i];
        }
        Conversion job = {from->data + in, to->data + out};
        loop(&job, 0, length);
    }
}

/* Fills `to`, new memory of the same shape; false where the elements lie in another order. */
static bool fill(const ArrayFields *from, const ArrayFields *to, char from_type, char to_type)
{
    Py_ssize_t from_bytes = bytes_of(from_type), to_bytes = bytes_of(to_type), size = 1;
    loop_function loop = loop_between(from_type, to_type);
    int last = from->nd - 1;
    if (in_one_order(from, to, from_bytes, to_bytes)) {
        Conversion job = {from->data, to->data};
        for (int i = 0; i <= last; i++)
            size *= from->dimensions[i];
        run_loop(loop, &job, size, 0.1);
        return true;
    }
    if (from->strides[last] != from_bytes || to->strides[last] != to_bytes || from->dimensions[last] < 8)
        return false;
    convert_rows(from, to, loop);
    return true;
}

/* convert(array, dtype): the values in another type of numpy, in new memory of the same order */
static PyObject *convert(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    if (!array_has_known_layout(args[0]) || !dtype_has_known_layout(args[1]))
        return DECLINED;
    const ArrayFields *from = (const ArrayFields *)args[0];
    char from_type = type_of((const DescrFields *)from->descr), to_type = type_of((const DescrFields *)args[1]);
    if (loop_between(from_type, to_type) == NULL || !is_usable(from))
        return DECLINED;
    PyObject *made = array_empty_like(args[0], args[1]);
    if (made != NULL && !fill(from, (const ArrayFields *)made, from_type, to_type)) {
        Py_DECREF(made);
        return DECLINED;
    }
    return made;
}

/* convert_into(target, source): both in one order in memory, without gaps, and with none of it in common */
static PyObject *convert_into(PyObject *const *args, Py_ssize_t count)
{
    (void)count;
    if (!array_has_known_layout(args[0]) || !array_has_known_layout(args[1]))
        return DECLINED;
    const ArrayFields *to = (const ArrayFields *)args[0], *from = (const ArrayFields *)args[1];
    char from_type = type_of((const DescrFields *)from->descr), to_type = type_of((const DescrFields *)to->descr);
    int needed = ARRAY_C_CONTIGUOUS | ARRAY_WRITEABLE;
    if (loop_between(from_type, to_type) == NULL || !is_usable(from) || !is_usable(to) || from->nd != to->nd
        || (to->flags & needed) != needed || !(from->flags & ARRAY_C_CONTIGUOUS)
        || memcmp(from->dimensions, to->dimensions, (size_t)from->nd * sizeof *from->dimensions) != 0)
        return DECLINED;
    Py_ssize_t size = 1;
    for (int i = 0; i < from->nd; i++)
        size *= from->dimensions[i];
    if (from->data + size * bytes_of(from_type) > to->data && to->data + size * bytes_of(to_type) > from->data)
        return DECLINED;
    fill(from, to, from_type, to_type);
    Py_RETURN_NONE;
}

const KernelEntry CONVERSION_KERNELS[] = {
    {"convert", convert, 2},
    {"convert_into", convert_into, 2},
    {NULL, NULL, 0},
};
