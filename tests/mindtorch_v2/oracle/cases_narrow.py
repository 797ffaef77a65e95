"""Types that are computed in a wider one: bfloat16 and float16 give PyTorch's numbers, forward and backward, to one unit in the last
place (sums and products are made in single precision in another order)."""
from __future__ import annotations

import re

from .harness import Case, In

_UNIT = {"bfloat16": 2.0**-7, "float16": 2.0**-10}

# One expression a line; inputs: a and b (3, 5), b positive; v (5,); c (2, 3, 6, 6); w (4, 3, 3, 3); i indices of rows.
_UNARY = ["exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "expm1", "log1p", "log2", "log10", "sinh", "cosh", "asinh", "atan", "exp2", "sinc", "square", "neg", "sign", "floor", "ceil", "round", "trunc", "frac", "digamma", "lgamma", "logit", "erfc", "abs"]
_EXPRESSIONS = [
    *(f"torch.{name}(b / 2.1)" if name == "logit" else f"torch.{name}(b)" for name in _UNARY),
    "a + b", "a - b * 1.0009765625", "a * b", "a / b", "a + 0.1", "a * 0.3", "0.7 / b", "torch.add(a, b, alpha=0.3)", "torch.pow(b, 2.5)",
    "b ** a", "torch.atan2(a, b)", "torch.maximum(a, b)", "torch.fmod(a, 0.7)", "torch.hypot(a, b)", "torch.lerp(a, b, 0.3)",
    "torch.addcmul(a, b, a, value=0.3)", "torch.addcdiv(a, a, b, value=0.3)", "torch.where(a > 0, a, b)", "a.clamp(-0.5, 0.5)",
    "(a > b, a == a, a <= 0.5)", "torch.logaddexp(a, b)", "torch.copysign(b, a)", "torch.xlogy(a, b)",
    "a.sum()", "a.sum(0)", "a.mean()", "a.mean(1, keepdim=True)", "b.prod()", "a.cumsum(1)", "a.var(1)", "a.std(0)", "a.norm()",
    "a.logsumexp(1)", "a.amax(1)", "a.max(1)", "a.argmax(1)", "a.sum(dtype=torch.float32)", "a.float().sum(dtype=a.dtype)", "a.median(1)",
    "torch.cdist(a, b)", "torch.softmax(a, 1)", "torch.log_softmax(a, 0)", "torch.softmax(a, 1, dtype=torch.float32)",
    "a @ b.t()", "torch.addmm(v, a, a.t() @ b)", "torch.bmm(c[0], c[1])", "a @ v", "v @ v", "torch.outer(v, v)", "torch.einsum('ij,kj->ik', a, b)",
    "F.linear(a, b, a[:, 0])", "F.conv2d(c, w, padding=1)", "F.conv2d(c, w, stride=2, dilation=2)", "F.conv_transpose2d(c, w.transpose(0, 1))",
    "F.max_pool2d(c, 2)", "F.avg_pool2d(c, 2)", "F.adaptive_avg_pool2d(c, 2)", "F.interpolate(c, scale_factor=2, mode='nearest')",
    "F.relu(a)", "F.gelu(a)", "F.silu(a)", "F.elu(a)", "F.leaky_relu(a)", "F.softplus(a)", "F.hardswish(a)", "F.mish(a)", "F.glu(c)",
    "F.layer_norm(a, (5,), v, v)", "F.layer_norm(a, (5,), v.float(), v.float())", "F.group_norm(c, 3)", "F.batch_norm(c, None, None, training=True)",
    "F.rms_norm(a, (5,), v)", "F.mse_loss(a, b)", "F.l1_loss(a, b)", "F.smooth_l1_loss(a, b)", "F.cross_entropy(a, i)", "F.nll_loss(a, i)",
    "F.binary_cross_entropy_with_logits(a, b)", "F.kl_div(a, b)", "F.cosine_similarity(a, b)", "F.normalize(a)", "F.pad(a, (1, 2))",
    "F.embedding(i, b)", "torch.cat([a, b])", "torch.stack([a, b], 1)", "a[i]", "a[:, 1:3] * 2", "a.gather(1, i[:, None])", "a.index_select(0, i)",
    "torch.zeros_like(a).index_add(0, i, b)", "torch.zeros_like(a).scatter_add(0, i[:, None].expand(3, 5), b)", "a.masked_fill(a > 0, 0.1)",
    "a.sort(1)", "a.topk(2)", "torch.flip(a, (0,))", "a.roll(1)", "a.tril()", "a.repeat(2, 1)", "torch.full_like(a, 0.1)", "a.clone().fill_(0.1)",
    "a.clone().add_(0.1).mul_(b).sub_(b, alpha=0.3)", "a.detach().clone().exp_()", "torch.arange(0, 1, 0.1, dtype=a.dtype)", "torch.linspace(0, 1, 7, dtype=a.dtype)",
    "torch.rand(7, dtype=a.dtype)", "torch.randn(20, dtype=a.dtype)", "torch.randint(0, 300, (7,), dtype=a.dtype)", "torch.bernoulli(b / 2)",
    "F.dropout(a, 0.5)", "a.float(), a.double(), a.int(), a.bool(), a.to(torch.complex64)", "a.double().to(a.dtype)", "a.view(torch.int16)",
    "(a + b.float()).dtype, (a + 1).dtype, (a * 1j).dtype, (a + i[0]).dtype, torch.result_type(a, b.float()), (a + torch.tensor(1.5)).dtype",
    "a + torch.tensor(0.1)", "torch.nn.Parameter(a.detach())", "a @ b.float().t()", "torch.linalg.inv(a[:3, :3])", "torch.linalg.vector_norm(a)",
    "a.numpy()", "a[0, 0].item()", "torch.isnan(a), torch.isfinite(a)", "torch.nan_to_num(a / 0)", "F.scaled_dot_product_attention(c, c, c)",
]


def _inputs(kind: str, code: str) -> dict[str, In]:
    """The inputs that an expression names."""
    known = {"a": In((3, 5), kind), "b": In((3, 5), kind, 0.5, 2.0), "v": In((5,), kind), "c": In((2, 3, 6, 6), kind),
             "w": In((4, 3, 3, 3), kind), "i": In((3,), "int64", 0, 2)}
    named = set(re.findall(r"(?<![\w.'])[abvcwi](?![\w'])", code))
    return {name: known[name] for name in known if name in named or name == "a"}


def _case(kind: str, unit: float, code: str) -> Case:
    slack = 16 if "conv" in code else 1     # there PyTorch rounds partial sums to float16, too
    return Case(f"{kind}: {code}", code, rtol=2 * slack * unit, atol=slack * unit / 4, strides=False, **_inputs(kind, code))


CASES = [_case(kind, unit, code) for kind, unit in _UNIT.items() for code in _EXPRESSIONS]
