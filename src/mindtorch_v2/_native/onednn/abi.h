/* What this package uses of oneDNN's C interface, version 3: values, and the functions that library.c looks up by name.

   The interface is stable within the major version. Only the library's own handles pass through it, so all of them are
   void pointers here; a shape is an array of DIMS int64. */
#ifndef MINDTORCH_ONEDNN_ABI_H
#define MINDTORCH_ONEDNN_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { DIMS = 12 };
enum { ENGINE_CPU = 1, STREAM_IN_ORDER = 1, SCRATCHPAD_BY_USER = 1, FORMAT_ANY = 1 };
enum { TYPE_F16 = 1, TYPE_BF16 = 2, TYPE_F32 = 3, TYPE_U8 = 6 };
enum { QUERY_NAME = 8, QUERY_WORKSPACE = 135, QUERY_SCRATCHPAD = 136, QUERY_ARGUMENT = 255 };
enum { FORWARD_TRAINING = 64, FORWARD_INFERENCE = 96, BACKWARD = 128, BACKWARD_DATA = 160 };
enum {
    CONVOLUTION_DIRECT = 1,
    TANH = 33,
    SIGMOID = 41,
    GELU_TANH = 43,
    SWISH = 44,
    LOG = 45,
    GELU_ERF = 49,
    MISH = 51,
};
enum {
    ARG_SRC = 1,
    ARG_SRC_1 = 2,
    ARG_SRC_2 = 3,
    ARG_DST = 17,
    ARG_DST_1 = 18,
    ARG_DST_2 = 19,
    ARG_WEIGHTS = 33,
    ARG_WEIGHTS_1 = 34,
    ARG_BIAS = 41,
    ARG_MEAN = 49,
    ARG_VARIANCE = 50,
    ARG_SCALE = 51,
    ARG_SHIFT = 52,
    ARG_WORKSPACE = 64,
    ARG_SCRATCHPAD = 80,
    ARG_DIFF_SRC = 129,
    ARG_DIFF_SRC_1 = 130,
    ARG_DIFF_SRC_2 = 131,
    ARG_DIFF_DST = 145,
    ARG_DIFF_DST_1 = 146,
    ARG_DIFF_DST_2 = 147,
    ARG_DIFF_WEIGHTS = 161,
    ARG_DIFF_WEIGHTS_1 = 162,
    ARG_DIFF_BIAS = 169,
    ARG_DIFF_SCALE = 255,
    ARG_DIFF_SHIFT = 256,
};

typedef void *Handle;
typedef const int64_t *Sizes;

typedef struct {
    int argument;
    Handle memory;
} ExecArgument;

typedef struct {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} LibraryVersion;

/* FUNCTION(result, name, arguments): dnnl_<name>. Those that return int give a status, 0 for success, but for
 * memory_desc_equal. */
#define ONEDNN_FUNCTIONS(FUNCTION)                                                                                     \
    FUNCTION(const LibraryVersion *, version, (void))                                                                  \
    FUNCTION(int, engine_create, (Handle * engine, int kind, size_t index))                                            \
    FUNCTION(int, stream_create, (Handle * stream, Handle engine, unsigned flags))                                     \
    FUNCTION(int, memory_desc_create_with_strides, (Handle * made, int ndims, Sizes dims, int type, Sizes strides))    \
    FUNCTION(int, memory_desc_create_with_tag, (Handle * made, int ndims, Sizes dims, int type, int tag))              \
    FUNCTION(int, memory_desc_clone, (Handle * made, Handle existing))                                                 \
    FUNCTION(int, memory_desc_destroy, (Handle desc))                                                                  \
    FUNCTION(int, memory_desc_equal, (Handle left, Handle right))                                                      \
    FUNCTION(size_t, memory_desc_get_size, (Handle desc))                                                              \
    FUNCTION(int, memory_create, (Handle * memory, Handle desc, Handle engine, void *data))                            \
    FUNCTION(int, memory_destroy, (Handle memory))                                                                     \
    FUNCTION(int, primitive_attr_create, (Handle * attr))                                                              \
    FUNCTION(int, primitive_attr_destroy, (Handle attr))                                                               \
    FUNCTION(int, primitive_attr_set_scratchpad_mode, (Handle attr, int mode))                                         \
    FUNCTION(int, primitive_desc_query, (Handle desc, int what, int index, void *result))                              \
    FUNCTION(Handle, primitive_desc_query_md, (Handle desc, int what, int index))                                      \
    FUNCTION(int, primitive_desc_destroy, (Handle desc))                                                               \
    FUNCTION(int, primitive_create, (Handle * primitive, Handle desc))                                                 \
    FUNCTION(int, primitive_execute, (Handle primitive, Handle stream, int count, const ExecArgument *arguments))      \
    FUNCTION(int, primitive_destroy, (Handle primitive))                                                               \
    FUNCTION(int, reorder_primitive_desc_create,                                                                       \
             (Handle * made, Handle from, Handle from_engine, Handle to, Handle to_engine, Handle attr))               \
    FUNCTION(int, convolution_forward_primitive_desc_create,                                                           \
             (Handle * made, Handle engine, int kind, int algorithm, Handle src, Handle weights, Handle bias,          \
              Handle dst, Sizes strides, Sizes dilates, Sizes pad_left, Sizes pad_right, Handle attr))                 \
    FUNCTION(int, convolution_backward_data_primitive_desc_create,                                                     \
             (Handle * made, Handle engine, int algorithm, Handle diff_src, Handle weights, Handle diff_dst,           \
              Sizes strides, Sizes dilates, Sizes pad_left, Sizes pad_right, Handle forward, Handle attr))             \
    FUNCTION(int, convolution_backward_weights_primitive_desc_create,                                                  \
             (Handle * made, Handle engine, int algorithm, Handle src, Handle diff_weights, Handle diff_bias,          \
              Handle diff_dst, Sizes strides, Sizes dilates, Sizes pad_left, Sizes pad_right, Handle forward,          \
              Handle attr))                                                                                            \
    FUNCTION(int, matmul_primitive_desc_create,                                                                        \
             (Handle * made, Handle engine, Handle src, Handle weights, Handle bias, Handle dst, Handle attr))         \
    FUNCTION(int, eltwise_forward_primitive_desc_create,                                                               \
             (Handle * made, Handle engine, int kind, int algorithm, Handle src, Handle dst, float alpha, float beta,  \
              Handle attr))                                                                                            \
    FUNCTION(int, eltwise_backward_primitive_desc_create,                                                              \
             (Handle * made, Handle engine, int algorithm, Handle diff_src, Handle diff_dst, Handle data, float alpha, \
              float beta, Handle forward, Handle attr))

typedef struct {
#define FUNCTION(result, name, arguments) result(*name) arguments;
    ONEDNN_FUNCTIONS(FUNCTION)
#undef FUNCTION
} OneDnn;

#endif
