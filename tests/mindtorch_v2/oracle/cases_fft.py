"""Oracle cases: Fourier transforms, short-time transforms, windows."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
C64, C128, F64 = "complex64", "complex128", "float64"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def fails(id: str, code: str, **inputs: In) -> None:
    case(f"error_{id}", code, grad=False, **inputs)


# --- one dimension
for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _real_only = _name in ("rfft", "ihfft")
    for _type in ("float32", F64) if _real_only else ("float32", F64, C64, C128):
        case(f"{_name}_{_type}", f"torch.fft.{_name}(a)", a=In((3, 6), _type))
    _kind = F64 if _real_only else C128
    for _norm in ("backward", "ortho", "forward"):
        case(f"{_name}_{_norm}", f"torch.fft.{_name}(a, norm='{_norm}')", a=In((5,), _kind))
    for _n in (4, 5, 9):
        case(f"{_name}_n{_n}", f"torch.fft.{_name}(a, {_n})", a=In((2, 6), _kind))
    case(f"{_name}_dim", f"torch.fft.{_name}(a, dim=1)", a=In((2, 5, 3), _kind))
    case(f"{_name}_first_dim", f"torch.fft.{_name}(a, 4, 0, 'ortho')", a=In((5, 2, 3), _kind))
    case(f"{_name}_transposed", f"torch.fft.{_name}(a)", a=In((3, 5), _kind, layout="transposed"))
    case(f"{_name}_integers", f"torch.fft.{_name}(a)", a=In((6,), "int64"))
    case(
        f"{_name}_second",
        f"g, = torch.autograd.grad(torch.fft.{_name}(a).abs().pow(2).sum(), a, create_graph=True); g * 1",
        a=In((5,), _kind),
    )
    case(
        f"{_name}_out",
        f"o = torch.empty(0, dtype=torch.{F64 if _name in ('irfft', 'hfft') else C128})\ntorch.fft.{_name}(a, "
        "out=o)\no",
        grad=False,
        a=In((6,), _kind),
    )
    fails(f"{_name}_n", f"torch.fft.{_name}(a, 0)", a=In((3,), _kind))
    fails(f"{_name}_dim", f"torch.fft.{_name}(a, dim=2)", a=In((3,), _kind))
    fails(f"{_name}_norm", f"torch.fft.{_name}(a, norm='none')", a=In((3,), _kind))
    fails(f"{_name}_scalar", f"torch.fft.{_name}(a)", a=In((), _kind))
    if _real_only:
        fails(f"{_name}_complex", f"torch.fft.{_name}(a)", a=In((3,), C64))
case("fft_bool", "torch.fft.fft(a)", a=In((4,), "bool"))
fails("fft_half", "torch.fft.fft(a)", a=In((4,), "float16"))
fails("irfft_one_point", "torch.fft.irfft(a)", a=In((4, 1), C64))
fails("fft_out_real", "torch.fft.fft(a, out=torch.empty(0))", a=In((4,)))

# --- several dimensions
for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _kind = F64 if _name in ("rfft", "ihfft") else C128
    case(f"{_name}2", f"torch.fft.{_name}2(a)", a=In((2, 4, 5), _kind))
    case(f"{_name}2_sizes", f"torch.fft.{_name}2(a, s=(3, 6), norm='ortho')", a=In((4, 5), _kind))
    case(f"{_name}2_dims", f"torch.fft.{_name}2(a, dim=(2, 0))", a=In((3, 4, 5), _kind))
    case(f"{_name}n", f"torch.fft.{_name}n(a)", a=In((3, 4, 5), _kind))
    case(f"{_name}n_sizes", f"torch.fft.{_name}n(a, s=(-1, 7), norm='forward')", a=In((3, 4, 5), _kind))
    case(f"{_name}n_dims", f"torch.fft.{_name}n(a, dim=(0, 1))", a=In((2, 3, 4), _kind))
    case(f"{_name}n_one", f"torch.fft.{_name}n(a, dim=1)", a=In((2, 5), _kind))
    case(f"{_name}n_single", f"torch.fft.{_name}n(a)", a=In((3, 4), "float32" if _kind == F64 else C64))
    fails(f"{_name}n_dims", f"torch.fft.{_name}n(a, dim=(0, 0))", a=In((2, 3), _kind))
    fails(f"{_name}n_lengths", f"torch.fft.{_name}n(a, s=(2,), dim=(0, 1))", a=In((2, 3), _kind))
    fails(f"{_name}n_too_many", f"torch.fft.{_name}n(a, s=(2, 2, 2))", a=In((2, 3), _kind))
    fails(f"{_name}n_zero", f"torch.fft.{_name}n(a, s=(2, 0))", a=In((2, 3), _kind))
    fails(f"{_name}n_none", f"torch.fft.{_name}n(a, dim=())", a=In((2, 3), _kind))
case("fftn_real", "torch.fft.fftn(a)", a=In((3, 4), F64))
fails("rfftn_complex", "torch.fft.rfftn(a)", a=In((3, 4), C64))
fails("ihfftn_complex", "torch.fft.ihfftn(a)", a=In((3, 4), C64))

# --- frequencies
for _n in (1, 4, 5):
    case(f"fftfreq_{_n}", f"torch.fft.fftfreq({_n}, 0.25)")
    case(f"rfftfreq_{_n}", f"torch.fft.rfftfreq({_n}, d=0.5, dtype=torch.float64)")
fails("fftfreq_integers", "torch.fft.fftfreq(4, dtype=torch.int64)")
for _name in ("fftshift", "ifftshift"):
    case(_name, f"torch.fft.{_name}(a)", a=In((3, 4)))
    case(f"{_name}_dim", f"torch.fft.{_name}(a, dim=1)", a=In((3, 5), C64))
    case(f"{_name}_dims", f"torch.fft.{_name}(a, (0, 1))", a=In((3, 5)))

# --- short-time transforms
case("stft", "torch.stft(a, 8, return_complex=True)", a=In((40,)))
case("stft_batch", "torch.stft(a, 8, 3, window=w, return_complex=True)", a=In((2, 40), F64), w=In((8,), F64, low=0.5))
case(
    "stft_short_window",
    "torch.stft(a, 8, 3, 6, w, normalized=True, return_complex=True)",
    a=In((30,), F64),
    w=In((6,), F64),
)
case("stft_not_centered", "torch.stft(a, 8, center=False, onesided=False, return_complex=True)", a=In((2, 20), F64))
case("stft_constant", "torch.stft(a, 7, 2, pad_mode='constant', return_complex=True)", a=In((20,), F64))
case("stft_complex", "torch.stft(a, 8)", a=In((20,), C128))
case("stft_as_real", "torch.stft(a, 8, return_complex=False)", a=In((20,), F64))
case("stft_method", "a.stft(8, 2, return_complex=True)", a=In((20,), F64))
fails("stft_complex_asked", "torch.stft(a, 8)", a=In((20,)))
fails("stft_hop", "torch.stft(a, 8, 0, return_complex=True)", a=In((20,)))
fails("stft_short", "torch.stft(a, 8, center=False, return_complex=True)", a=In((5,)))
fails("stft_window", "torch.stft(a, 8, window=w, return_complex=True)", a=In((20,)), w=In((5,)))
fails("stft_win_length", "torch.stft(a, 8, win_length=9, return_complex=True)", a=In((20,)))
fails("stft_dims", "torch.stft(a, 8, center=False, return_complex=True)", a=In((2, 2, 20)))
fails("stft_integers", "torch.stft(a, 8, return_complex=True)", a=In((20,), "int64"))
case("istft", "torch.istft(a, 8)", a=In((5, 6), C128), strides=False)
case("istft_batch", "torch.istft(a, 8, 2, window=w)", a=In((2, 5, 6), C128), w=In((8,), F64, low=0.5), strides=False)
case("istft_length", "torch.istft(a, 8, length=11)", a=In((5, 6), C128), strides=False)
case("istft_longer", "torch.istft(a, 8, length=30)", a=In((5, 6), C128), strides=False)
case(
    "istft_not_centered",
    "torch.istft(a, 8, 3, 8, w, center=False, normalized=True)",
    a=In((8, 5), C128),
    w=In((8,), F64, low=0.5),
    strides=False,
)
case("istft_complex", "torch.istft(a, 8, onesided=False, return_complex=True)", a=In((8, 5), C128), strides=False)
case(
    "istft_back",
    "torch.istft(torch.stft(a, 8, window=torch.hann_window(8), return_complex=True), 8, window=torch.hann_window(8))",
    a=In((2, 32)),
    strides=False,
)
for _id, _code in (
    ("real", "torch.istft(a.real, 8)"),
    ("bins", "torch.istft(a[:4], 8)"),
    ("hop", "torch.istft(a, 8, 9)"),
    ("window", "torch.istft(a, 8, window=torch.ones(3))"),
    ("zeros", "torch.istft(a, 8, window=torch.zeros(8))"),
    ("empty", "torch.istft(a[:, :0], 8)"),
    ("dims", "torch.istft(a[None, None], 8)"),
):
    fails(f"istft_{_id}", _code, a=In((5, 6), C64))

# --- windows
for _name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    for _n in (0, 1, 2, 7):
        case(f"{_name}_window_{_n}", f"torch.{_name}_window({_n})")
        case(f"{_name}_window_{_n}_symmetric", f"torch.{_name}_window({_n}, periodic=False, dtype=torch.float64)")
    fails(f"{_name}_window_negative", f"torch.{_name}_window(-1)")
    fails(f"{_name}_window_integers", f"torch.{_name}_window(5, dtype=torch.int64)")
case("hamming_window_alpha", "torch.hamming_window(6, True, 0.5)")
case("hamming_window_beta", "torch.hamming_window(6, True, 0.5, 0.4)")
case("kaiser_window_beta", "torch.kaiser_window(6, True, 3.0)")
for _name, _more in (
    ("bartlett", ""),
    ("blackman", ""),
    ("cosine", ""),
    ("exponential", ", tau=2.0"),
    ("gaussian", ", std=1.5"),
    ("hamming", ""),
    ("hann", ""),
    ("kaiser", ", beta=6.0"),
    ("nuttall", ""),
    ("general_hamming", ", alpha=0.6"),
    ("general_cosine", ", a=[0.5, 0.3, 0.2]"),
):
    for _n in (0, 1, 2, 7):
        for _sym in (True, False):
            case(
                f"signal_{_name}_{_n}_{_sym}",
                f"torch.signal.windows.{_name}({_n}{_more}, sym={_sym}, dtype=torch.float64)",
            )
    fails(f"signal_{_name}_negative", f"torch.signal.windows.{_name}(-1{_more})")
    fails(f"signal_{_name}_integers", f"torch.signal.windows.{_name}(5{_more}, dtype=torch.int64)")
case("signal_exponential_center", "torch.signal.windows.exponential(6, center=1, sym=False)")
fails("signal_exponential_center", "torch.signal.windows.exponential(6, center=1)")
fails("signal_exponential_tau", "torch.signal.windows.exponential(6, tau=-1)")
fails("signal_gaussian_std", "torch.signal.windows.gaussian(6, std=0)")
fails("signal_kaiser_beta", "torch.signal.windows.kaiser(6, beta=-1)")
fails("signal_cosine_none", "torch.signal.windows.general_cosine(6, a=[])")
fails("signal_cosine_number", "torch.signal.windows.general_cosine(6, a=3)")
