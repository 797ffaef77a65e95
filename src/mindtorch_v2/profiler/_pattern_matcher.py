"""`torch.profiler._pattern_matcher`: PyTorch's module for the search for habits that cost time."""

from .results.pattern import NamePattern, Pattern, input_dtypes, input_shapes, source_code_location
from .results.pattern_matcher import (
    Conv2dBiasFollowedByBatchNorm2dPattern,
    ExtraCUDACopyPattern,
    ForLoopIndexingPattern,
    FP32MatMulPattern,
    GradNotSetToNonePattern,
    MatMulDimInFP16Pattern,
    OptimizerSingleTensorPattern,
    SynchronizedDataLoaderPattern,
    report_all_anti_patterns,
)

__all__ = [
    "Conv2dBiasFollowedByBatchNorm2dPattern",
    "ExtraCUDACopyPattern",
    "FP32MatMulPattern",
    "ForLoopIndexingPattern",
    "GradNotSetToNonePattern",
    "MatMulDimInFP16Pattern",
    "NamePattern",
    "OptimizerSingleTensorPattern",
    "Pattern",
    "SynchronizedDataLoaderPattern",
    "input_dtypes",
    "input_shapes",
    "report_all_anti_patterns",
    "source_code_location",
]
