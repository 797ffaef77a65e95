"""A case of a layer: seeded weights, outputs, gradients, names, repr."""

from __future__ import annotations

from .harness import Case, In

X4 = In((3, 4))
SEQ = In((5, 2, 4))
IMG = In((2, 4, 4, 4))
LEN = In((2, 4, 7))
VOL = In((1, 2, 3, 4, 3))
_ANSWER = """
def flat(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, (list, tuple)):
        return [t for x in v for t in flat(x)]
    return []
outs = flat(out)
loss = sum(((t * t).sum() for t in outs if t.is_floating_point()), torch.zeros(()))
if loss.requires_grad:
    loss.backward()
{"out": [t.detach() for t in outs], "state": list(m.state_dict().items()), "grads": [p.grad for p in m.parameters()],
 "names": [n for n, _ in m.named_parameters()], "repr": repr(m), "inputs": [x.grad for x in inputs]}
"""


def layer(id: str, build: str, call: str = "m(x)", tail: str = "", **inputs: In) -> Case:
    """A seeded layer called on the inputs; the answer holds all there is to know of it."""
    inputs = inputs or {"x": X4}
    names = ", ".join(n for n, spec in inputs.items() if spec.dtype.startswith("float"))
    code = "\n".join(
        [
            "torch.manual_seed(5)",
            f"m = torch.nn.{build}",
            tail or "pass",
            f"inputs = [{names}]",
            f"out = {call}",
            *_ANSWER.strip().split("\n")[:-2],
            "answer = " + "".join(_ANSWER.strip().split("\n")[-2:]),
            "answer",
        ]
    )
    return Case(id, code, rtol=2e-4, atol=2e-5, strides=False, **inputs)
