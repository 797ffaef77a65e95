"""Lightning, PyG, GPyTorch, BoTorch, Pyro, zuko, torchmetrics, einops, skorch, captum, ignite, linear_operator."""

import torch
from torch import nn


def lightning_fit():
    import lightning as L
    from torch.utils.data import DataLoader, TensorDataset

    class Regression(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.losses = nn.Linear(3, 1), []

        def training_step(self, batch, index):
            loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    x = torch.rand(12, 3)
    model = Regression()
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4))
    return {"losses": model.losses}


def _graph():
    return torch.rand(6, 8), torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]])


def _conv(name, **options):
    from torch_geometric import nn as gnn

    x, edges = _graph()
    x.requires_grad_()
    layer = getattr(gnn, name)(8, 4, **options)
    out = layer(x, edges)
    out.pow(2).sum().backward()
    return {"out": out.flatten()[:6].tolist(), "grad": x.grad.norm().item()}


def pyg_gcn():
    return _conv("GCNConv")


def pyg_gat():
    return _conv("GATConv", heads=2)


def pyg_sage():
    return _conv("SAGEConv")


def pyg_pooling_and_batches():
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import global_mean_pool

    x, edges = _graph()
    batch = Batch.from_data_list([Data(x=x, edge_index=edges), Data(x=x * 2, edge_index=edges)])
    return {"pooled": global_mean_pool(batch.x, batch.batch).flatten()[:6].tolist(), "edges": batch.num_edges}


def gpytorch_regression():
    import gpytorch

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.linspace(0, 1, 12)
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        mean = likelihood(model(torch.tensor([0.25, 0.75]))).mean
    return {"losses": losses, "mean": mean.tolist()}


def linear_operators():
    from linear_operator import to_linear_operator
    from linear_operator.operators import DiagLinearOperator

    root = torch.rand(5, 5, dtype=torch.float64)
    a = to_linear_operator(root @ root.T) + DiagLinearOperator(torch.ones(5, dtype=torch.float64))
    b = torch.rand(5, 2, dtype=torch.float64)
    return {
        "solve": torch.linalg.solve(a, b).flatten().tolist(),
        "logdet": torch.logdet(a).item(),
        "product": (a @ b).sum().item(),
    }


def botorch_acquisition():
    from botorch.acquisition import LogExpectedImprovement
    from botorch.models import SingleTaskGP

    x = torch.linspace(0, 1, 6, dtype=torch.float64).view(-1, 1)
    model = SingleTaskGP(x, torch.sin(6 * x))
    value = LogExpectedImprovement(model, best_f=0.5)(torch.tensor([[[0.3]], [[0.9]]], dtype=torch.float64))
    return {"value": value.tolist()}


def pyro_svi():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, Trace_ELBO
    from pyro.infer.autoguide import AutoNormal

    data = torch.randn(20) + 3.0

    def model():
        loc = pyro.sample("loc", dist.Normal(0.0, 10.0))
        with pyro.plate("data", 20):
            pyro.sample("obs", dist.Normal(loc, 1.0), obs=data)

    pyro.clear_param_store()
    svi = SVI(model, AutoNormal(model), pyro.optim.Adam({"lr": 0.1}), Trace_ELBO())
    return {"losses": [svi.step() for _ in range(5)]}


def zuko_flow():
    import zuko

    flow = zuko.flows.NSF(features=3, transforms=1, hidden_features=(16,))
    x = torch.randn(8, 3)
    loss = -flow().log_prob(x).mean()
    loss.backward()
    norm = sum(p.grad.double().pow(2).sum().item() for p in flow.parameters() if p.grad is not None) ** 0.5
    return {"loss": loss.item(), "grad_norm": norm}


def metrics():
    import torchmetrics

    predicted, target = torch.rand(20, 3).softmax(-1), torch.randint(3, (20,))
    made = {}
    for name, metric in (
        ("accuracy", torchmetrics.Accuracy("multiclass", num_classes=3)),
        ("f1", torchmetrics.F1Score("multiclass", num_classes=3, average="macro")),
        ("auroc", torchmetrics.AUROC("multiclass", num_classes=3)),
    ):
        metric.update(predicted[:10], target[:10])
        metric.update(predicted[10:], target[10:])
        made[name] = metric.compute().item()
    made["mse"] = torchmetrics.MeanSquaredError()(predicted[:, 0], predicted[:, 1]).item()
    return made


def einops_layers():
    from einops import rearrange, reduce, repeat
    from einops.layers.torch import Rearrange, Reduce

    x = torch.rand(2, 3, 8, 8)
    model = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4), nn.Linear(48, 6), Reduce("b n d -> b d", "mean")
    )
    return {
        "out": model(x).flatten().tolist(),
        "pooled": reduce(x, "b c (h 4) (w 4) -> b c h w", "max").sum().item(),
        "wide": repeat(rearrange(x, "b c h w -> b h w c"), "b h w c -> b h (w r) c", r=2).shape[2],
    }


def skorch_classifier():
    import numpy as np
    from skorch import NeuralNetClassifier

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(dim=-1))

        def forward(self, x):
            return self.body(x)

    generator = np.random.default_rng(0)
    x = generator.random((40, 4)).astype(np.float32)
    net = NeuralNetClassifier(Net, max_epochs=3, lr=0.1, verbose=0, train_split=None)
    net.fit(x, (x.sum(1) > 2).astype(np.int64))
    return {
        "losses": [float(row["train_loss"]) for row in net.history],
        "probability": net.predict_proba(x[:2]).ravel().tolist(),
    }


def captum_attributions():
    from captum.attr import DeepLift, IntegratedGradients, Saliency

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x = torch.rand(3, 4)
    return {
        "integrated": IntegratedGradients(model).attribute(x, target=1).flatten().tolist(),
        "saliency": Saliency(model).attribute(x.clone(), target=0).flatten().tolist(),
        "deep_lift": DeepLift(model).attribute(x, target=1).flatten().tolist(),
    }


def ignite_engine():
    from ignite.engine import Engine, Events

    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []

    def step(engine, batch):
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(batch), batch.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        return loss.item()

    trainer = Engine(step)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda e: losses.append(e.state.output))
    trainer.run([torch.rand(4, 3) for _ in range(3)], max_epochs=2)
    return {"losses": losses}


def kornia_filters():
    import kornia

    x = torch.rand(1, 3, 12, 12, requires_grad=True)
    made = kornia.filters.gaussian_blur2d(kornia.color.rgb_to_grayscale(x), (3, 3), (1.0, 1.0))
    made.sum().backward()
    return {"out": made.flatten()[:6].tolist(), "grad": x.grad.norm().item()}


PROGRAMS = [
    lightning_fit,
    pyg_gcn,
    pyg_gat,
    pyg_sage,
    pyg_pooling_and_batches,
    gpytorch_regression,
    linear_operators,
    botorch_acquisition,
    pyro_svi,
    zuko_flow,
    metrics,
    einops_layers,
    skorch_classifier,
    captum_attributions,
    ignite_engine,
    kornia_filters,
]
