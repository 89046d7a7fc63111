"""Trains the encoder and decoder of attention.rly to turn digits round, and
prints what PyTorch, in float64, makes of some rows: greedily, and the best of
all outputs there can be, by trying each (brute force).

    python3 examples/attention/make.py
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

END = 10
random = numpy.random.RandomState(7)
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)

encoder = torch.nn.GRU(16, 24)
decoder = torch.nn.GRU(16, 24)
embedding = torch.nn.Parameter(torch.randn(11, 16) * 0.5)
w_look = torch.nn.Parameter(torch.randn(24, 24) * 0.2)
w_out = torch.nn.Parameter(torch.randn(11, 48) * 0.2)
parameters = [*encoder.parameters(), *decoder.parameters(),
              embedding, w_look, w_out]


def log_p(digits, written):
    """Of the symbol after each of `written`, the first of which is the end;
    batches are columns."""
    said, h = encoder(embedding[digits])
    h2, _ = decoder(embedding[written], h)
    look = torch.einsum("ubi,ij,tbj->ubt", h2, w_look.T, said).softmax(2)
    seen = torch.einsum("ubt,tbj->ubj", look, said)
    return functional.log_softmax(torch.cat([h2, seen], 2) @ w_out.T, 2)


adam = torch.optim.Adam(parameters, lr=0.01)
for step in range(900):
    digits = torch.tensor(random.randint(0, 10, (1 + random.randint(6), 32)))
    turned = digits.flip(0)
    end = torch.full((1, 32), END)
    scores = log_p(digits, torch.cat([end, turned]))
    loss = functional.nll_loss(scores.reshape(-1, 11),
                               torch.cat([turned, end]).reshape(-1))
    adam.zero_grad()
    loss.backward()
    adam.step()
print("loss", loss.item())


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


with torch.no_grad():
    for p in parameters:
        p.copy_(p.float().double())
    for digits in ([3, 1, 4, 1, 5], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8]):
        output = greedy(digits)
        print(digits, "greedily", output, score(digits, [*output, END]))
    for digits in ([9], [4, 4]):
        print(digits, "best of all", *best(digits))

names = {"w_ih": "weight_ih_l0", "w_hh": "weight_hh_l0",
         "b_ih": "bias_ih_l0", "b_hh": "bias_hh_l0"}
tensors = {"embedding": embedding, "w_look": w_look, "w_out": w_out,
           **{"enc_" + k: getattr(encoder, v) for k, v in names.items()},
           **{"dec_" + k: getattr(decoder, v) for k, v in names.items()}}
save(os.path.join(FOLDER, "attention.safetensors"),
     {k: t.detach().numpy().astype("float32") for k, t in tensors.items()})
