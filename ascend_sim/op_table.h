/* The operators: OP(name, unit, types of the first tensor, check, kernel, variant, roles of the arguments).
 *
 * Roles: i input, n optional input, o output, p optional output, m updated in place, k optional and updated in place;
 *        s scalar, z optional scalar; I ints, J optional ints, B bools, L tensors;
 *        l int64, u uint64, w int32, b int8, q bool, d double, f float, D data type.
 * Phase 1 of every row additionally takes (uint64_t *workspace, aclOpExecutor **executor). */

/* elementwise */
OP(Add, VECTOR, ANY, check_broadcast, run_elementwise, EW_ADD, i, i, s, o)
OP(Adds, VECTOR, ANY, check_broadcast, run_elementwise, EW_ADDS, i, s, s, o)
OP(Sub, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_SUB, i, i, s, o)
OP(Subs, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_SUBS, i, s, s, o)
OP(Mul, VECTOR, ANY, check_broadcast, run_elementwise, EW_MUL, i, i, o)
OP(Muls, VECTOR, ANY, check_broadcast, run_elementwise, EW_MULS, i, s, o)
OP(Div, VECTOR, ANY, check_broadcast, run_float_elementwise, EW_DIV, i, i, o)
OP(Divs, VECTOR, ANY, check_broadcast, run_float_elementwise, EW_DIVS, i, s, o)
OP(Neg, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_NEG, i, o)
OP(Exp, VECTOR, ANY, check_float_out, run_float_elementwise, EW_EXP, i, o)
OP(Log, VECTOR, ANY, check_float_out, run_float_elementwise, EW_LOG, i, o)
OP(Sqrt, VECTOR, ANY, check_float_out, run_float_elementwise, EW_SQRT, i, o)
OP(Rsqrt, VECTOR, ANY, check_float_out, run_float_elementwise, EW_RSQRT, i, o)
OP(Abs, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_ABS, i, o)
OP(Reciprocal, VECTOR, ANY, check_float_out, run_float_elementwise, EW_RECIPROCAL, i, o)
OP(PowTensorScalar, VECTOR, ANY, check_broadcast, run_elementwise, EW_POWS, i, s, o)
OP(Sin, VECTOR, ANY, check_float_out, run_float_elementwise, EW_SIN, i, o)
OP(Cos, VECTOR, ANY, check_float_out, run_float_elementwise, EW_COS, i, o)
OP(Erf, VECTOR, ANY, check_float_out, run_float_elementwise, EW_ERF, i, o)
OP(Tanh, VECTOR, ANY, check_float_out, run_float_elementwise, EW_TANH, i, o)
OP(TanhBackward, VECTOR, FLOATS, check_broadcast, run_elementwise, EW_TANH_GRAD, i, i, o)
OP(Sigmoid, VECTOR, ANY, check_float_out, run_float_elementwise, EW_SIGMOID, i, o)
OP(SigmoidBackward, VECTOR, FLOATS, check_broadcast, run_elementwise, EW_SIGMOID_GRAD, i, i, o)
OP(Relu, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_RELU, i, o)
OP(ThresholdBackward, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_THRESHOLD_GRAD, i, i, s, o)
OP(Gelu, VECTOR, FLOATS, check_broadcast, run_elementwise, EW_GELU, i, o)
OP(GeluBackward, VECTOR, FLOATS, check_broadcast, run_elementwise, EW_GELU_GRAD, i, i, o)
OP(Silu, VECTOR, FLOATS, check_broadcast, run_elementwise, EW_SILU, i, o)
OP(SiluBackward, VECTOR, FLOATS, check_broadcast, run_elementwise, EW_SILU_GRAD, i, i, o)
OP(Maximum, VECTOR, ANY, check_broadcast, run_elementwise, EW_MAXIMUM, i, i, o)
OP(Minimum, VECTOR, ANY, check_broadcast, run_elementwise, EW_MINIMUM, i, i, o)
OP(Clamp, VECTOR, NUMBERS, check_clamp, run_elementwise, EW_CLAMP, i, z, z, o)
OP(Addcmul, VECTOR, NUMBERS, check_broadcast, run_elementwise, EW_ADDCMUL, i, i, i, s, o)
OP(Addcdiv, VECTOR, FLOATS_D, check_broadcast, run_elementwise, EW_ADDCDIV, i, i, i, s, o)

/* comparison and selection */
OP(EqTensor, VECTOR, ANY, check_broadcast, run_compare, EW_EQ, i, i, o)
OP(EqScalar, VECTOR, ANY, check_broadcast, run_compare, EW_EQS, i, s, o)
OP(NeTensor, VECTOR, ANY, check_broadcast, run_compare, EW_NE, i, i, o)
OP(LtTensor, VECTOR, ANY, check_broadcast, run_compare, EW_LT, i, i, o)
OP(GtTensor, VECTOR, ANY, check_broadcast, run_compare, EW_GT, i, i, o)
OP(GtScalar, VECTOR, ANY, check_broadcast, run_compare, EW_GTS, i, s, o)
OP(SWhere, VECTOR, BIT(DT_BOOL) | BIT(DT_UINT8), check_broadcast, run_where, 0, i, i, i, o)
OP(InplaceMaskedFillTensor, VECTOR, ANY, check_masked_fill, run_masked_fill, 0, m, i, i)

/* creation and movement */
OP(InplaceCopy, VECTOR, ANY, check_broadcast, run_copy, 0, m, i)
OP(Cast, VECTOR, ANY, check_cast, run_copy, 1, i, D, o)
OP(Permute, VECTOR, ANY, check_permute, run_permute, 0, i, I, o)
OP(Cat, VECTOR, ANY, check_cat, run_cat, 0, L, l, o)
OP(InplaceFillScalar, VECTOR, ANY, check_none, run_fill, 2, m, s)
OP(InplaceZero, VECTOR, ANY, check_none, run_fill, 0, m)
OP(InplaceOne, VECTOR, ANY, check_none, run_fill, 1, m)
OP(Arange, VECTOR, NUMBERS, check_arange, run_arange, 0, s, s, s, o)
OP(Tril, VECTOR, ANY, check_triangle, run_triangle, 0, i, l, o)
OP(Triu, VECTOR, ANY, check_triangle, run_triangle, 1, i, l, o)

/* reduction */
OP(ReduceSum, VECTOR, ANY, check_reduce_typed, run_reduce, RED_SUM, i, I, q, D, o)
OP(Mean, VECTOR, ANY, check_reduce_typed, run_reduce, RED_MEAN, i, I, q, D, o)
OP(Amax, VECTOR, ANY, check_reduce, run_reduce, RED_MAX, i, I, q, o)
OP(MaxDim, VECTOR, ANY, check_reduce_dim, run_extreme_dim, 0, i, l, q, o, o)
OP(ArgMax, VECTOR, NUMBERS, check_reduce_dim, run_extreme_dim, 1, i, l, q, o)
OP(Softmax, VECTOR, FLOATS_D, check_softmax, run_softmax, 0, i, l, o)
OP(SoftmaxBackward, VECTOR, FLOATS_D, check_softmax, run_softmax_backward, 0, i, i, l, o)
OP(LogSoftmax, VECTOR, FLOATS_D, check_softmax, run_softmax, 1, i, l, o)
OP(LogSoftmaxBackward, VECTOR, FLOATS_D, check_softmax, run_softmax_backward, 1, i, i, l, o)

/* matrix products */
OP(Mm, CUBE, FLOATS, check_matmul, run_matmul, MM_MM, i, i, o, b)
OP(Matmul, CUBE, FLOATS, check_matmul, run_matmul, MM_MATMUL, i, i, o, b)
OP(BatchMatMul, CUBE, FLOATS, check_matmul, run_matmul, MM_BMM, i, i, o, b)
OP(Addmm, CUBE, FLOATS, check_matmul, run_matmul, MM_ADDMM, i, i, i, s, s, o, b)
OP(Baddbmm, CUBE, FLOATS, check_matmul, run_matmul, MM_BADDBMM, i, i, i, s, s, o, b)

/* convolution and pooling */
OP(Convolution, CUBE, FLOATS, check_convolution, run_convolution, 0, i, i, n, I, I, I, q, I, l, o, b)
OP(ConvolutionBackward, CUBE, FLOATS, check_convolution_backward, run_convolution_backward, 0,
   i, i, i, J, I, I, I, q, I, w, B, b, p, p, p)
OP(MaxPool2dWithIndices, VECTOR, FLOATS, check_max_pool, run_max_pool, 0, i, I, I, I, I, q, o, o)
OP(MaxPool2dWithIndicesBackward, VECTOR, FLOATS, check_max_pool_backward, run_max_pool_backward, 0,
   i, i, i, I, I, I, I, q, o)

/* normalization */
OP(LayerNorm, VECTOR, FLOATS, check_layer_norm, run_layer_norm, 0, i, I, n, n, d, o, p, p)
OP(LayerNormBackward, VECTOR, FLOATS, check_layer_norm_backward, run_layer_norm_backward, 0,
   i, i, I, i, i, n, n, B, p, p, p)
OP(BatchNorm, VECTOR, FLOATS, check_batch_norm, run_batch_norm, 0, i, n, n, k, k, q, d, d, o, p, p)
OP(BatchNormBackward, VECTOR, FLOATS, check_batch_norm_backward, run_batch_norm_backward, 0,
   i, i, n, n, n, n, n, q, d, B, p, p, p)

/* indexing and losses */
OP(Embedding, VECTOR, ANY, check_embedding, run_embedding, 0, i, i, o)
OP(EmbeddingDenseBackward, VECTOR, FLOATS, check_embedding_backward, run_embedding_backward, 0, i, i, u, u, q, o)
OP(IndexSelect, VECTOR, ANY, check_index_select, run_index_select, 0, i, l, i, o)
OP(Gather, VECTOR, ANY, check_gather, run_gather, 0, i, l, i, o)
OP(ScatterAdd, VECTOR, ANY, check_scatter_add, run_scatter_add, 0, i, l, i, i, o)
OP(NLLLoss, VECTOR, FLOATS, check_nll_loss, run_nll_loss, 0, i, i, i, l, l, o, o)
OP(NLLLossBackward, VECTOR, FLOATS, check_nll_loss_backward, run_nll_loss_backward, 0, i, i, i, i, l, l, i, o)

/* random */
OP(DropoutGenMask, VECTOR, BIT(DT_UINT8), check_dropout_mask, run_dropout_gen_mask, 0, I, d, l, l, o)
OP(DropoutDoMask, VECTOR, FLOATS, check_dropout_do_mask, run_dropout_do_mask, 0, i, i, d, o)
OP(InplaceNormal, VECTOR, FLOATS_D, check_none, run_normal, 0, m, f, f, l, l)
OP(InplaceUniform, VECTOR, FLOATS_D, check_none, run_uniform, 0, m, d, d, u, u)

/* optimizer */
OP(ApplyAdamWV2, VECTOR, FLOATS, check_adamw, run_adamw, 0, m, m, m, k, i, i, f, f, f, f, f, q, q)
