"""`torch.distributed.elastic.utils.data`: data for jobs that go on where they stopped."""

from __future__ import annotations

from .elastic_distributed_sampler import ElasticDistributedSampler

__all__ = ["ElasticDistributedSampler"]
