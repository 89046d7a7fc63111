"""Trains the transducer of transducer.rly on symbols that last some frames, in
noise, and prints what PyTorch, in float64, makes of two inputs: greedily, and
for the short one the best of all paths (brute force).

    python3 examples/transducer/make.py
"""
import itertools
import os
import sys

import numpy
import torch
from torch.nn import functional

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402

BLANK, MOST = 0, 2
random = numpy.random.RandomState(11)
torch.manual_seed(11)
torch.set_default_dtype(torch.float64)

encoder = torch.nn.LSTM(6, 16)
predictor = torch.nn.GRU(8, 12)
embedding = torch.nn.Parameter(torch.randn(6, 8) * 0.5)
w_joint = torch.nn.Parameter(torch.randn(16, 28) * 0.2)
w_out = torch.nn.Parameter(torch.randn(6, 16) * 0.3)
parameters = [*encoder.parameters(), *predictor.parameters(),
              embedding, w_joint, w_out]
SHAPES = numpy.eye(6)[1:]  # a feature for each symbol


def sound(symbols, frames):
    """The symbols one after the other, each two frames and a pause."""
    x = random.randn(frames, 6) * 0.25
    at = random.randint(0, frames - 3 * len(symbols) + 1)
    for s in symbols:
        x[at:at + 2] += SHAPES[s - 1]
        at += 3
    return x


def log_p(x, symbols):
    """(T, U + 1, B, 6) for features (T, B, 6) and symbols (U, B)."""
    heard, _ = encoder(x)
    start = torch.full((1, x.shape[1]), BLANK)
    written, _ = predictor(embedding[torch.cat([start, symbols])])
    t, u = heard.shape[0], written.shape[0]
    both = torch.cat([heard[:, None].expand(t, u, -1, -1),
                      written[None].expand(t, u, -1, -1)], 3)
    return functional.log_softmax((both @ w_joint.T).tanh() @ w_out.T, 3)


def loss_of(x, symbols):
    """-log of the sum over all paths."""
    p = log_p(x, symbols)
    frames, length = p.shape[0], symbols.shape[0]
    columns = torch.arange(x.shape[1])
    alpha = {(0, 0): torch.zeros(x.shape[1])}
    for t, u in itertools.product(range(frames), range(length + 1)):
        ways = []
        if t > 0:
            ways.append(alpha[t - 1, u] + p[t - 1, u, :, BLANK])
        if u > 0:
            ways.append(alpha[t, u - 1] + p[t, u - 1, columns, symbols[u - 1]])
        if ways:
            alpha[t, u] = ways[0] if len(ways) == 1 else \
                torch.logaddexp(*ways)
    last = alpha[frames - 1, length] + p[frames - 1, length, :, BLANK]
    return -last.mean()


adam = torch.optim.Adam(parameters, lr=0.02)
for step in range(250):
    length = 1 + random.randint(3)
    symbols = random.randint(1, 6, (length, 24))
    x = numpy.stack([sound(s, 11) for s in symbols.T], 1)
    loss = loss_of(torch.tensor(x), torch.tensor(symbols))
    adam.zero_grad()
    loss.backward()
    adam.step()
print("loss", loss.item())


def greedy(x):
    output, t, here, score = [], 0, 0, 0.0
    while t < len(x):
        p = log_p(x[:, None], torch.tensor(output, dtype=int)[:, None])
        p = p[t, len(output), 0]
        symbol = p.argmax().item()
        if symbol == BLANK or here == MOST:
            t, here = t + 1, 0
        else:
            output.append(symbol)
            here += 1
    return output


def path_score(x, symbols):
    """The best single path that writes these symbols, MOST in a frame."""
    p = log_p(x[:, None], torch.tensor(symbols, dtype=int)[:, None])[:, :, 0]
    best = {0: 0.0}  # by symbols written, at the start of a frame
    for t in range(len(x)):
        after = {}
        for u, s in best.items():
            for n in range(MOST + 1):
                if u + n <= len(symbols):
                    cost = s + sum(p[t, u + i, symbols[u + i]].item()
                                   for i in range(n))
                    cost += p[t, u + n, BLANK].item()
                    after[u + n] = max(after.get(u + n, -1e9), cost)
        best = after
    return best.get(len(symbols), -1e9)


with torch.no_grad():
    for p in parameters:
        p.copy_(p.float().double())
    random.seed(1)
    inputs = {"long": sound([3, 1, 4], 14), "short": sound([2, 5], 6)}
    for name, x in inputs.items():
        x = inputs[name] = x.astype("float32")
        print(name, "greedily", greedy(torch.tensor(x).double()))
    x = torch.tensor(inputs["short"]).double()
    print("short, best of all paths", *max(
        (path_score(x, o), o) for k in range(5)
        for o in itertools.product(range(1, 6), repeat=k)))

names = {"w_ih": "weight_ih_l0", "w_hh": "weight_hh_l0",
         "b_ih": "bias_ih_l0", "b_hh": "bias_hh_l0"}
tensors = {"embedding": embedding, "w_joint": w_joint, "w_out": w_out,
           **{"enc_" + k: getattr(encoder, v) for k, v in names.items()},
           **{"pre_" + k: getattr(predictor, v) for k, v in names.items()}}
save(os.path.join(FOLDER, "transducer.safetensors"),
     {k: t.detach().numpy().astype("float32") for k, t in tensors.items()})
for name, x in inputs.items():
    save(os.path.join(FOLDER, name + ".safetensors"), {"frames": x})
