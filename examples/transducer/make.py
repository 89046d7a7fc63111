"""Makes the two inputs of transducer.rly, and prints what PyTorch, in float64,
makes of them with the weights of transducer.safetensors: greedily, and for the
short one the best of all paths (brute force).

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
from networks import recurrent, weights  # noqa: E402
from tensors import save  # noqa: E402

BLANK, MOST = 0, 2
random = numpy.random.RandomState(1)
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)

net = weights(os.path.join(FOLDER, "transducer.safetensors"))
encoder = recurrent(torch.nn.LSTM(6, 16), net, "enc_")
predictor = recurrent(torch.nn.GRU(8, 12), net, "pre_")
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
    written, _ = predictor(net["embedding"][torch.cat([start, symbols])])
    t, u = heard.shape[0], written.shape[0]
    both = torch.cat([heard[:, None].expand(t, u, -1, -1),
                      written[None].expand(t, u, -1, -1)], 3)
    joint = (both @ net["w_joint"].T).tanh()
    return functional.log_softmax(joint @ net["w_out"].T, 3)


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


inputs = {"long": sound([3, 1, 4], 14), "short": sound([2, 5], 6)}
for name, x in inputs.items():
    x = x.astype("float32")
    save(os.path.join(FOLDER, name + ".safetensors"), {"frames": x})
    x = inputs[name] = torch.tensor(x).double()
    print(name, "greedily", greedy(x))
print("short, best of all paths", *max(
    (path_score(inputs["short"], o), o) for k in range(5)
    for o in itertools.product(range(1, 6), repeat=k)))
