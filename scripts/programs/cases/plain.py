"""Programs in the manner of PyTorch's examples: they need nothing but torch."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def train(model, batches, loss_of, optimizer, steps=4):
    losses = []
    for _, batch in zip(range(steps), batches):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def endless(make):
    while True:
        yield make()


def mnist_cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(8 * 13 * 13, 10),
        nn.LogSoftmax(dim=1),
    )
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
    losses = train(
        model,
        endless(lambda: (torch.rand(16, 1, 28, 28), torch.randint(10, (16,)))),
        lambda m, b: F.nll_loss(m(b[0]), b[1]),
        optimizer,
    )
    scheduler.step()
    return {"losses": losses, "lr": scheduler.get_last_lr()}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


def char_gpt():
    text = "to be, or not to be, that is the question. " * 20
    chars = sorted(set(text))
    data = torch.tensor([chars.index(c) for c in text])
    model = nn.Sequential(
        nn.Embedding(len(chars), 32), Block(32, 4), Block(32, 4), nn.LayerNorm(32), nn.Linear(32, len(chars))
    )

    def batch():
        i = torch.randint(len(data) - 17, (8,))
        return torch.stack([data[j : j + 16] for j in i]), torch.stack([data[j + 1 : j + 17] for j in i])

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = train(
        model, endless(batch), lambda m, b: F.cross_entropy(m(b[0]).flatten(0, 1), b[1].flatten()), optimizer, 8
    )
    return {"losses": losses}


def vae():
    encoder, mu, logvar = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4)
    decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 20), nn.Sigmoid())
    model = nn.ModuleList([encoder, mu, logvar, decoder])

    def loss(m, x):
        h = F.relu(encoder(x))
        m_, l_ = mu(h), logvar(h)
        z = m_ + torch.randn_like(m_) * torch.exp(0.5 * l_)
        return F.binary_cross_entropy(decoder(z), x, reduction="sum") - 0.5 * torch.sum(1 + l_ - m_.pow(2) - l_.exp())

    return {
        "losses": train(model, endless(lambda: torch.rand(8, 20)), loss, torch.optim.Adam(model.parameters(), lr=1e-3))
    }


def dcgan():
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4), nn.BatchNorm2d(16), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Tanh()
    )
    critic = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 4), nn.Flatten(0))
    first, second = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (generator, critic))
    losses = []
    for _ in range(3):
        noise, real = torch.randn(4, 8, 1, 1), torch.rand(4, 1, 8, 8)
        fake = generator(noise)
        second.zero_grad()
        d = F.binary_cross_entropy_with_logits(critic(real), torch.ones(4)) + F.binary_cross_entropy_with_logits(
            critic(fake.detach()), torch.zeros(4)
        )
        d.backward()
        second.step()
        first.zero_grad()
        g = F.binary_cross_entropy_with_logits(critic(fake), torch.ones(4))
        g.backward()
        first.step()
        losses += [d.item(), g.item()]
    return {"losses": losses}


def actor_critic():
    from torch.distributions import Categorical

    body, actor, value = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)
    model = nn.ModuleList([body, actor, value])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    losses, actions = [], []
    for _ in range(4):
        saved, rewards, state = [], [], torch.rand(4)
        for _ in range(6):
            h = F.relu(body(state))
            choice = Categorical(F.softmax(actor(h), dim=-1))
            action = choice.sample()
            actions.append(action.item())
            saved.append((choice.log_prob(action), value(h)))
            rewards.append(1.0 + action.item())
            state = torch.rand(4)
        returns, total = [], 0.0
        for reward in reversed(rewards):
            total = reward + 0.99 * total
            returns.insert(0, total)
        target = torch.tensor(returns)
        target = (target - target.mean()) / (target.std() + 1e-8)
        loss = (
            torch.stack([-p * (r - v.item()) for (p, v), r in zip(saved, target)]).sum()
            + torch.stack([F.smooth_l1_loss(v, r.view(1)) for (_, v), r in zip(saved, target)]).sum()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "actions": actions}


def word_lstm():
    embed, lstm, head = nn.Embedding(50, 16), nn.LSTM(16, 16, 2, dropout=0.2), nn.Linear(16, 50)
    model = nn.ModuleList([embed, lstm, head])
    hidden = None
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=1.0), []
    for _ in range(4):
        data = torch.randint(50, (9, 4))
        hidden = None if hidden is None else tuple(h.detach() for h in hidden)
        out, hidden = lstm(embed(data[:-1]), hidden)
        loss = F.cross_entropy(head(out).flatten(0, 1), data[1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        losses += [loss.item(), norm.item()]
    return {"losses": losses}


def super_resolution():
    model = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 4, 3, padding=1), nn.PixelShuffle(2))
    return {
        "losses": train(
            model,
            endless(lambda: torch.rand(2, 1, 8, 8)),
            lambda m, x: F.mse_loss(m(x), F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)),
            torch.optim.Adam(model.parameters(), lr=1e-3),
        )
    }


def siamese_and_triplet():
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    loss = nn.TripletMarginLoss(margin=1.0)
    return {
        "losses": train(
            net,
            endless(lambda: torch.rand(3, 6, 8)),
            lambda m, b: loss(m(b[0]), m(b[1]), m(b[2])),
            torch.optim.RMSprop(net.parameters(), lr=1e-2),
        )
    }


def resnet_block_with_amp():
    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(c, c, 3, padding=1, bias=False),
                nn.BatchNorm2d(c),
                nn.ReLU(inplace=True),
                nn.Conv2d(c, c, 3, padding=1, bias=False),
                nn.BatchNorm2d(c),
            )

        def forward(self, x):
            return F.relu(self.body(x) + x)

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)
    )

    def loss(m, b):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(m(b[0]).float(), b[1])

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    return {
        "coarse_losses": train(
            model, endless(lambda: (torch.rand(4, 3, 8, 8), torch.randint(5, (4,)))), loss, optimizer
        )
    }


def time_sequence_lbfgs():
    x = torch.linspace(0, 4 * math.pi, 40, dtype=torch.float64)
    data = torch.sin(x).view(1, -1, 1)
    gru, head = nn.GRU(1, 8, batch_first=True).double(), nn.Linear(8, 1).double()
    optimizer = torch.optim.LBFGS([*gru.parameters(), *head.parameters()], lr=0.5, max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(head(gru(data[:, :-1])[0]), data[:, 1:])
        loss.backward()
        return loss

    return {"losses": [optimizer.step(closure).item() for _ in range(3)]}


def data_loader_and_checkpoint():
    import io

    from torch.utils.data import DataLoader, TensorDataset, random_split

    x = torch.randn(40, 3)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    first, second = random_split(data, [32, 8])
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for a, b in DataLoader(first, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(model(a), b).backward()
        optimizer.step()
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    buffer.seek(0)
    other = nn.Linear(3, 1)
    other.load_state_dict(torch.load(buffer)["model"])
    loss = sum(F.mse_loss(other(a), b, reduction="sum").item() for a, b in DataLoader(second, batch_size=4))
    return {"loss": loss}


def transformer_translation():
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    embed, head = nn.Embedding(20, 16), nn.Linear(16, 20)
    parameters = [*model.parameters(), *embed.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    losses = []
    for _ in range(3):
        source, target = torch.randint(1, 20, (4, 6)), torch.randint(1, 20, (4, 5))
        mask = nn.Transformer.generate_square_subsequent_mask(4)
        out = model(embed(source), embed(target[:, :-1]), tgt_mask=mask, src_key_padding_mask=source == 19)
        loss = F.cross_entropy(head(out).flatten(0, 1), target[:, 1:].flatten(), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}


PROGRAMS = [
    mnist_cnn,
    char_gpt,
    vae,
    dcgan,
    actor_critic,
    word_lstm,
    super_resolution,
    siamese_and_triplet,
    resnet_block_with_amp,
    time_sequence_lbfgs,
    data_loader_and_checkpoint,
    transformer_translation,
]
