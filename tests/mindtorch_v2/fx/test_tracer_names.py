"""Tracers of libraries that are written with PyTorch's private names, as PyG's `to_hetero` is."""

from __future__ import annotations

import pickle

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.fx import _symbolic_trace as st


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x).relu()


def trace(module):
    class Tracer(fx.Tracer):
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root, concrete_args=None):
            self.root, function = root, type(root).forward
            assert isinstance(function, st.FunctionType)
            self.submodule_paths = {m: name for name, m in root.named_modules()}
            self.graph = fx.Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            assert not any(isinstance(v, st.ScriptObject) for v in root.__dict__.values())
            function, args = self.create_args_for_root(function, True, concrete_args)

            def call(mod, *args, **kwargs):
                def forward(*args, **kwargs):
                    return st._orig_module_call(mod, *args, **kwargs)

                st._autowrap_check(patcher, type(mod).forward.__globals__, self._autowrap_function_ids)
                return self.call_module(mod, forward, args, kwargs)

            with st._Patcher() as patcher:
                patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                for searched in self._autowrap_search:
                    st._autowrap_check(patcher, searched.__dict__, self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(function(*args)),), {})
            return self.graph

    return fx.GraphModule(module, Tracer().trace(module))


def test_such_a_tracer_traces_and_restores_what_it_patched():
    before = nn.Module.__call__
    model = Model()
    traced = trace(model)
    assert nn.Module.__call__ is before is st._orig_module_call
    assert [node.op for node in traced.graph.nodes] == ["placeholder", "call_module", "call_method", "output"]
    x = torch.randn(3, 2)
    assert torch.equal(traced(x), model(x))


def test_a_graph_of_a_local_tracer_can_be_pickled():
    traced = trace(Model())
    again = pickle.loads(pickle.dumps(traced))
    x = torch.randn(3, 2)
    assert torch.equal(again(x), traced(x))
