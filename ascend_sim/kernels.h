/* Checks (phase 1) and kernels (worker threads) named by op_table.h, and the variants they know. */
#ifndef ASCEND_SIM_KERNELS_H
#define ASCEND_SIM_KERNELS_H

#include "ops.h"

enum {
    EW_ADD,
    EW_ADDS,
    EW_SUB,
    EW_SUBS,
    EW_MUL,
    EW_MULS,
    EW_DIV,
    EW_DIVS,
    EW_NEG,
    EW_EXP,
    EW_LOG,
    EW_SQRT,
    EW_RSQRT,
    EW_ABS,
    EW_RECIPROCAL,
    EW_POWS,
    EW_POW,
    EW_SIN,
    EW_COS,
    EW_ERF,
    EW_TANH,
    EW_TANH_GRAD,
    EW_SIGMOID,
    EW_SIGMOID_GRAD,
    EW_RELU,
    EW_THRESHOLD_GRAD,
    EW_GELU,
    EW_GELU_GRAD,
    EW_SILU,
    EW_SILU_GRAD,
    EW_MAXIMUM,
    EW_MINIMUM,
    EW_CLAMP,
    EW_ADDCMUL,
    EW_ADDCDIV,
    EW_FLOOR,
    EW_CEIL,
    EW_SIGN,
    EW_LOG1P,
    EW_EXPM1,
    EW_LERPS,
    EW_LEAKY_RELU,
    EW_RSUB,
    EW_RSUBS,
    EW_BITAND,
    EW_BITOR,
    EW_BITANDS,
    EW_BITORS,
    EW_LEAKY_RELU_GRAD,
    EW_EQ,
    EW_EQS,
    EW_NE,
    EW_NES,
    EW_LT,
    EW_LTS,
    EW_LE,
    EW_LES,
    EW_GT,
    EW_GTS,
    EW_GE,
    EW_GES,
    EW_AND,
    EW_OR,
    EW_NOT,
    EW_ISFINITE,
    EW_ROUND,
    EW_TRUNC,
    EW_FRAC,
    EW_LOG2,
    EW_LOG10,
    EW_EXP2,
    EW_TAN,
    EW_ASIN,
    EW_ACOS,
    EW_ATAN,
    EW_SINH,
    EW_COSH,
    EW_ASINH,
    EW_ACOSH,
    EW_ATANH,
    EW_ERFC,
    EW_ERFINV,
    EW_ATAN2,
    EW_REMAINDER,
    EW_REMAINDERS,
    EW_FMOD,
    EW_FMODS,
    EW_FLOOR_DIV,
    EW_FLOOR_DIVS,
    EW_TRUNC_DIV,
    EW_TRUNC_DIVS,
    EW_RPOWS,
    EW_XLOGY,
    EW_XLOGYS,
    EW_RXLOGYS,
    EW_XOR,
    EW_BITXOR,
    EW_BITXORS,
    EW_BITNOT,
    EW_HARDSWISH,
    EW_HARDSWISH_GRAD,
    EW_HARDSIGMOID,
    EW_HARDSIGMOID_GRAD,
    EW_MISH,
    EW_MISH_GRAD,
    EW_SOFTPLUS,
    EW_SOFTPLUS_GRAD,
    EW_SOFTSHRINK,
    EW_HARDSHRINK,
    EW_SHRINK_GRAD,
    EW_THRESHOLD,
    EW_HARDTANH_GRAD,
    EW_ELU,
    EW_ELU_GRAD,
    EW_GELU_TANH,
    EW_GELU_TANH_GRAD,
    EW_CLAMP_TENSOR,
};

enum { STAT_VARIANCE, STAT_STD, STAT_NORM };
enum { RESIZE_NEAREST, RESIZE_NEAREST_EXACT, RESIZE_LINEAR, RESIZE_CUBIC };
enum { PAD_REFLECT, PAD_REPLICATE };
enum { LOSS_SMOOTH_L1, LOSS_BCE };
enum { RED_SUM, RED_MEAN, RED_MAX, RED_MIN, RED_ALL, RED_ANY };
enum { MM_MM, MM_MATMUL, MM_BMM, MM_ADDMM, MM_BADDBMM };

typedef struct { /* of one elementwise computation */
    int n_in, n_scalars;
    const Tensor *in[3];
    const Scalar *scalars[3];
    bool flag;
    const Tensor *out;
} Operands;

void elementwise_apply(int op, const Operands *operands);

/* An input with its reduced dimensions (a mask) moved last: rows of the result, each over `inner` elements. */
typedef struct {
    Tensor t;
    int64_t outer, inner;
    int kept;
} Rows;
Rows rows_of(const Tensor *in, uint32_t mask);
uint32_t reduced_dims(const Tensor *in, const IntArray *dims); /* as a mask; none stands for all */
int check_reduced_dims(Executor *e, const int64_t *dims, int n, bool keep,
                       const Tensor *out); /* of the first argument */

#define KERNEL(name) int name(Executor *e)
KERNEL(check_none);
KERNEL(check_broadcast);
KERNEL(check_float_out);
KERNEL(check_clamp);
KERNEL(check_cast);
KERNEL(run_elementwise);
KERNEL(run_float_elementwise);
KERNEL(run_compare);
KERNEL(check_foreach);
KERNEL(run_foreach);
KERNEL(run_where);
KERNEL(check_masked_fill);
KERNEL(run_masked_fill);
KERNEL(run_copy);
KERNEL(check_permute);
KERNEL(run_permute);
KERNEL(check_stack);
KERNEL(run_stack);
KERNEL(check_repeat);
KERNEL(run_repeat);
KERNEL(check_flip);
KERNEL(run_flip);
KERNEL(check_masked_fill_scalar);
KERNEL(run_masked_fill_scalar);
KERNEL(check_equal);
KERNEL(run_equal);
KERNEL(run_is_close);
KERNEL(check_mse_loss);
KERNEL(run_mse_loss);
KERNEL(check_index);
KERNEL(run_index);
KERNEL(check_scatter);
KERNEL(run_scatter);
KERNEL(check_max_pool_mask);
KERNEL(run_max_pool_mask);
KERNEL(check_max_pool_mask_backward);
KERNEL(run_max_pool_mask_backward);
KERNEL(check_mse_loss_backward);
KERNEL(run_mse_loss_backward);
KERNEL(check_cat);
KERNEL(run_cat);
KERNEL(run_fill);
KERNEL(check_arange);
KERNEL(run_arange);
KERNEL(check_triangle);
KERNEL(run_triangle);
KERNEL(check_reduce);
KERNEL(check_reduce_typed);
KERNEL(check_reduce_all);
KERNEL(check_cumsum);
KERNEL(run_cumsum);
KERNEL(run_reduce);
KERNEL(check_reduce_dim);
KERNEL(run_extreme_dim);
KERNEL(check_softmax);
KERNEL(run_softmax);
KERNEL(run_softmax_backward);
KERNEL(check_matmul);
KERNEL(run_matmul);
KERNEL(check_convolution);
KERNEL(run_convolution);
KERNEL(check_convolution_backward);
KERNEL(run_convolution_backward);
KERNEL(check_max_pool);
KERNEL(run_max_pool);
KERNEL(check_max_pool_backward);
KERNEL(run_max_pool_backward);
KERNEL(check_layer_norm);
KERNEL(run_layer_norm);
KERNEL(check_layer_norm_backward);
KERNEL(run_layer_norm_backward);
KERNEL(check_batch_norm);
KERNEL(run_batch_norm);
KERNEL(check_batch_norm_backward);
KERNEL(run_batch_norm_backward);
KERNEL(check_embedding);
KERNEL(run_embedding);
KERNEL(check_embedding_backward);
KERNEL(run_embedding_backward);
KERNEL(check_index_select);
KERNEL(run_index_select);
KERNEL(check_gather);
KERNEL(run_gather);
KERNEL(check_scatter_add);
KERNEL(run_scatter_add);
KERNEL(check_nll_loss);
KERNEL(run_nll_loss);
KERNEL(check_nll_loss_backward);
KERNEL(run_nll_loss_backward);
KERNEL(check_dropout_mask);
KERNEL(run_dropout_gen_mask);
KERNEL(check_dropout_do_mask);
KERNEL(run_dropout_do_mask);
KERNEL(run_bitwise_not);
KERNEL(check_clamp_tensor);
KERNEL(run_clamp_tensor);
KERNEL(check_div_mode);
KERNEL(run_div_mode);
KERNEL(check_gelu_mode);
KERNEL(run_gelu_mode);
KERNEL(check_avg_pool);
KERNEL(run_avg_pool);
KERNEL(check_avg_pool_backward);
KERNEL(run_avg_pool_backward);
KERNEL(check_adaptive_pool);
KERNEL(check_adaptive_pool_backward);
KERNEL(run_adaptive_avg_pool);
KERNEL(run_adaptive_avg_pool_backward);
KERNEL(run_adaptive_max_pool);
KERNEL(check_max_pool3d);
KERNEL(run_max_pool3d);
KERNEL(check_max_pool3d_backward);
KERNEL(run_max_pool_scatter);
KERNEL(check_resize);
KERNEL(run_resize);
KERNEL(check_pad);
KERNEL(run_pad);
KERNEL(check_columns);
KERNEL(run_columns);
KERNEL(check_sort);
KERNEL(run_sort);
KERNEL(check_topk);
KERNEL(run_topk);
KERNEL(check_search_sorted);
KERNEL(run_search_sorted);
KERNEL(check_nonzero);
KERNEL(run_nonzero);
KERNEL(check_masked_select);
KERNEL(run_masked_select);
KERNEL(check_masked_scatter);
KERNEL(run_masked_scatter);
KERNEL(check_index_add);
KERNEL(run_index_add);
KERNEL(check_prod);
KERNEL(run_prod);
KERNEL(check_variance);
KERNEL(check_vector_norm);
KERNEL(run_statistics);
KERNEL(check_group_norm);
KERNEL(run_group_norm);
KERNEL(check_group_norm_backward);
KERNEL(run_group_norm_backward);
KERNEL(check_pair_loss);
KERNEL(run_pair_loss);
KERNEL(check_pair_loss_backward);
KERNEL(run_pair_loss_backward);
KERNEL(check_linspace);
KERNEL(run_linspace);
KERNEL(check_eye);
KERNEL(run_eye);
KERNEL(check_random);
KERNEL(run_random);
KERNEL(check_randperm);
KERNEL(run_randperm);
KERNEL(check_multinomial);
KERNEL(run_multinomial);
KERNEL(run_normal);
KERNEL(run_uniform);
KERNEL(check_adamw);
KERNEL(run_adamw);

#include "kernels_torch_npu.h"

/* Blocked product of dense float32 matrices: c[m][n] = alpha * a[m][k] b[k][n] + beta * c; used by matmul and conv. */
void gemm_f32(int64_t m, int64_t n, int64_t k, float alpha, const float *a, const float *b, float beta, float *c);

#endif
