"""Written by scripts/stubs/write.py from the op table; do not edit."""
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc, override"

from typing import NamedTuple

from ._tensor import Tensor


class _linalg_det_result_LU_pivots(NamedTuple):
    result: Tensor
    LU: Tensor
    pivots: Tensor

class _linalg_eigh_eigenvalues_eigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _linalg_slogdet_sign_logabsdet_LU_pivots(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
    LU: Tensor
    pivots: Tensor

class _linalg_solve_ex_result_LU_pivots_info(NamedTuple):
    result: Tensor
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _linalg_svd_U_S_Vh(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _scaled_dot_product_flash_attention_for_cpu_backward_grad_query_grad_key_grad_value(NamedTuple):
    grad_query: Tensor
    grad_key: Tensor
    grad_value: Tensor

class _scaled_dot_product_flash_attention_for_cpu_output_logsumexp(NamedTuple):
    output: Tensor
    logsumexp: Tensor

class aminmax_min_max(NamedTuple):
    min: Tensor
    max: Tensor

class cholesky_ex_L_info(NamedTuple):
    L: Tensor
    info: Tensor

class cummax_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class eig_eigenvalues_eigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class eigh_eigenvalues_eigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class frexp_mantissa_exponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class geqrf_a_tau(NamedTuple):
    a: Tensor
    tau: Tensor

class histogram_hist_bin_edges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class inv_ex_inverse_info(NamedTuple):
    inverse: Tensor
    info: Tensor

class kthvalue_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class ldl_factor_LD_pivots(NamedTuple):
    LD: Tensor
    pivots: Tensor

class ldl_factor_ex_LD_pivots_info(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class log_sigmoid_forward_output_buffer(NamedTuple):
    output: Tensor
    buffer: Tensor

class lstsq_solution_residuals_rank_singular_values(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class lu_P_L_U(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class lu_factor_LU_pivots(NamedTuple):
    LU: Tensor
    pivots: Tensor

class lu_factor_ex_LU_pivots_info(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class lu_unpack_P_L_U(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class max_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class median_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class min_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class mode_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class multilabel_margin_loss_forward_output_is_target(NamedTuple):
    output: Tensor
    is_target: Tensor

class nanmedian_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class nll_loss2d_forward_output_total_weight(NamedTuple):
    output: Tensor
    total_weight: Tensor

class nll_loss_forward_output_total_weight(NamedTuple):
    output: Tensor
    total_weight: Tensor

class qr_Q_R(NamedTuple):
    Q: Tensor
    R: Tensor

class slogdet_sign_logabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class solve_ex_result_info(NamedTuple):
    result: Tensor
    info: Tensor

class sort_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class svd_U_S_V(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class svd_U_S_Vh(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class topk_values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class triangular_solve_solution_cloned_coefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor
