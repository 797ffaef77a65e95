/* Checks, kernels and variants named by op_table_torch_npu.h; included by kernels.h. */
enum {
    CLIENT_MAXS,
    CLIENT_MINS,
    CLIENT_CELU,
    CLIENT_LOG_SIGMOID,
    CLIENT_LOG_ADD_EXP,
    CLIENT_LOG_ADD_EXP2,
    CLIENT_LEFT_SHIFT,
    CLIENT_LEFT_SHIFTS,
    CLIENT_RIGHT_SHIFT,
    CLIENT_SIGNBIT,
    CLIENT_POSITIVE_INFINITY,
    CLIENT_NEGATIVE_INFINITY,
    CLIENT_SINC,
    CLIENT_LERP,
    CLIENT_NAN_TO_NUM,
    CLIENT_CLAMP,
};
enum { CLIENT_NORM, CLIENT_LOG_SUM_EXP, CLIENT_NANSUM, CLIENT_AMINMAX };
enum { CLIENT_MEDIAN_ALL, CLIENT_MEDIAN_DIM, CLIENT_KTHVALUE };
enum { CLIENT_REPEAT_FLAT = 1 };
enum { CLIENT_MV, CLIENT_DOT, CLIENT_ADDMV, CLIENT_ADDR, CLIENT_ADDBMM };
enum { CLIENT_LSTM, CLIENT_LSTM_BACKWARD, CLIENT_GRU, CLIENT_GRU_BACKWARD };
enum { CLIENT_L1, CLIENT_KL, CLIENT_SOFT_MARGIN, CLIENT_BCE_LOGITS };

typedef struct {
    double *v;
    void *owned;
    const Tensor *t;
} Values;                                                       /* a whole operand as doubles */
double random_unit(uint64_t seed, uint64_t offset, int64_t at); /* in [0, 1) */
Values values_of(const Tensor *t);
Values values_for(const Tensor *t);    /* to be filled, then values_done */
Values values_zeroed(const Tensor *t); /* the same, with zeros in it */
void values_free(Values *v);
void values_done(Values *v);

KERNEL(run_client_map);
KERNEL(check_log_sigmoid);
KERNEL(run_log_sigmoid);
KERNEL(check_log_sigmoid_backward);
KERNEL(run_log_sigmoid_backward);
KERNEL(run_fill_tensor);
KERNEL(check_prelu);
KERNEL(run_prelu);
KERNEL(run_prelu_backward);
KERNEL(run_foreach_limit);
KERNEL(run_foreach_copy);
KERNEL(run_foreach_zero);
KERNEL(run_foreach_norm);
KERNEL(run_unscale);
KERNEL(run_update_scale);
KERNEL(run_copy_to);
KERNEL(run_client_reduce);
KERNEL(run_cumulative_extreme);
KERNEL(run_median);
KERNEL(run_trace);
KERNEL(run_renorm);
KERNEL(run_bincount);
KERNEL(run_histc);
KERNEL(check_unique);
KERNEL(run_unique);
KERNEL(run_constant_pad);
KERNEL(run_roll);
KERNEL(run_repeat_interleave);
KERNEL(run_repeat_interleave_backward);
KERNEL(run_one_hot);
KERNEL(run_take);
KERNEL(run_index_fill);
KERNEL(run_index_copy);
KERNEL(run_channel_shuffle);
KERNEL(run_cross);
KERNEL(run_glu);
KERNEL(run_glu_backward);
KERNEL(run_client_product);
KERNEL(run_cdist);
KERNEL(run_client_loss);
KERNEL(run_client_loss_backward);
KERNEL(run_bernoulli);
KERNEL(run_normal_of);
KERNEL(run_embedding_bag);
KERNEL(check_attention);
KERNEL(run_attention);
KERNEL(run_attention_backward);
KERNEL(check_recurrent);
KERNEL(run_recurrent);
KERNEL(run_recurrent_backward);
KERNEL(check_lstm_cell);
KERNEL(run_lstm_cell);
KERNEL(check_lstm_cell_backward);
KERNEL(run_lstm_cell_backward);
KERNEL(check_rms_norm);
KERNEL(check_add_rms_norm);
KERNEL(run_rms_norm);
KERNEL(run_add_rms_norm);
KERNEL(check_rms_norm_grad);
KERNEL(run_rms_norm_grad);
KERNEL(check_swiglu);
KERNEL(check_swiglu_grad);
KERNEL(run_swiglu);
KERNEL(run_swiglu_grad);
KERNEL(run_fast_gelu);
KERNEL(run_fast_gelu_backward);
KERNEL(check_masked_softmax);
KERNEL(run_masked_softmax);
KERNEL(run_masked_softmax_backward);
KERNEL(check_masked_softmax_backward);
KERNEL(check_group_norm_silu);
KERNEL(run_group_norm_silu);
KERNEL(check_grid_sampler);
KERNEL(run_grid_sampler);
KERNEL(run_grid_sampler_backward);
KERNEL(check_affine_grid);
KERNEL(run_affine_grid);
KERNEL(run_logspace);
KERNEL(run_round_decimals);
KERNEL(check_ctc);
KERNEL(check_ctc_backward);
KERNEL(run_ctc);
KERNEL(run_ctc_backward);
KERNEL(check_put);
KERNEL(run_put);
KERNEL(check_fill_diagonal);
KERNEL(run_fill_diagonal);
KERNEL(check_embedding_renorm);
KERNEL(run_embedding_renorm);
KERNEL(run_angle);
KERNEL(check_triangular);
KERNEL(run_triangular);
KERNEL(check_unique_dim);
KERNEL(run_unique_dim);
