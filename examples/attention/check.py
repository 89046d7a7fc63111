"""Prints what PyTorch, in float64, makes of some rows with the weights of
attention.safetensors: greedily, and the best of all outputs there can be, by
trying each (brute force).

    python3 examples/attention/check.py
"""
import itertools
import os
import sys

import torch
from torch.nn import functional

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from networks import recurrent, weights  # noqa: E402

END = 10
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
net = weights(os.path.join(FOLDER, "attention.safetensors"))
encoder = recurrent(torch.nn.GRU(16, 24), net, "enc_")
decoder = recurrent(torch.nn.GRU(16, 24), net, "dec_")


def log_p(digits, written):
    """Of the symbol after each of `written`, the first of which is the end;
    batches are columns."""
    said, h = encoder(net["embedding"][digits])
    h2, _ = decoder(net["embedding"][written], h)
    look = torch.einsum("ubi,ij,tbj->ubt", h2, net["w_look"].T, said).softmax(2)
    seen = torch.einsum("ubt,tbj->ubj", look, said)
    return functional.log_softmax(torch.cat([h2, seen], 2) @ net["w_out"].T, 2)


def score(digits, output):
    scores = log_p(torch.tensor(digits)[:, None],
                   torch.tensor([END, *output[:-1]])[:, None])[:, 0]
    return sum(s[o].item() for s, o in zip(scores, output))


def greedy(digits):
    output = []
    for _ in range(len(digits) + 2):
        scores = log_p(torch.tensor(digits)[:, None],
                       torch.tensor([END, *output])[:, None])[-1, 0]
        if scores.argmax() == END:
            break
        output.append(scores.argmax().item())
    return output


def best(digits):
    """Of all outputs of at most len + 2 symbols, cut there if they go on."""
    n = len(digits) + 2
    outputs = [(*o, END) for k in range(n) for o in
               itertools.product(range(10), repeat=k)]
    outputs += list(itertools.product(range(10), repeat=n))
    return max((score(digits, o), o) for o in outputs)


for digits in ([3, 1, 4, 1, 5], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8]):
    output = greedy(digits)
    print(digits, "greedily", output, score(digits, [*output, END]))
for digits in ([9], [4, 4]):
    print(digits, "best of all", *best(digits))
