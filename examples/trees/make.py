"""Trains the Tree-LSTM of trees.rly on phrases whose meaning is known (good or
bad; `not` turns, `very` keeps, `and` takes the worse), writes its weights and
prints what PyTorch, in float64, makes of some phrases.

    python3 examples/trees/make.py
"""
import os
import sys

import numpy
import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402

WORDS = "the movie was good great bad awful not very and".split()
random = numpy.random.RandomState(3)
torch.manual_seed(3)


def opinion(depth):
    """A random phrase and whether it is praise."""
    kind = random.randint(4) if depth else 0
    if kind == 0:
        word = random.choice(["good", "great", "bad", "awful"])
        return word, word in ("good", "great")
    if kind == 3:
        (a, x), (b, y) = opinion(depth - 1), opinion(depth - 1)
        return (a, ("and", b)), x and y
    phrase, praise = opinion(depth - 1)
    return (("not", phrase), not praise) if kind == 1 else \
           (("very", phrase), praise)


def sentence(depth):
    phrase, praise = opinion(depth)
    if random.randint(2):
        phrase = (("the", "movie"), ("was", phrase))
    return phrase, praise


shapes = {"words": (10, 6), "w": (40, 6), "u_left": (40, 8),
          "u_right": (40, 8), "b": (40,), "out": (1, 8)}
net = {name: (torch.randn(shape, dtype=torch.float64) * 0.3).requires_grad_()
       for name, shape in shapes.items()}


def cell(sums, left, right):
    i, o, u, f, g = (sums + net["b"]).split(8)
    c = i.sigmoid() * u.tanh() + f.sigmoid() * left + g.sigmoid() * right
    return o.sigmoid() * c.tanh(), c


def read(phrase):
    if isinstance(phrase, str):
        zero = torch.zeros(8, dtype=torch.float64)
        return cell(net["w"] @ net["words"][WORDS.index(phrase)], zero, zero)
    (h, c), (k, d) = read(phrase[0]), read(phrase[1])
    return cell(net["u_left"] @ h + net["u_right"] @ k, c, d)


def praise(phrase):
    return (net["out"] @ read(phrase)[0]).sigmoid()[0]


adam = torch.optim.Adam(net.values(), lr=0.02)
for step in range(400):
    adam.zero_grad()
    loss = 0
    for _ in range(8):
        phrase, label = sentence(random.randint(5))
        p = praise(phrase)
        loss = loss - torch.log(p if label else 1 - p)
    loss.backward()
    adam.step()

with torch.no_grad():
    for name in net:
        net[name].copy_(net[name].float().double())
    right = sum((praise(p) > 0.5).item() == label
                for p, label in (sentence(4) for _ in range(500)))
    print(f"{right} of 500 new phrases right")
    not_bad = (("the", "movie"), ("was", ("not", "bad")))
    for phrase in ("good", ("very", "awful"), ("not", ("very", "good")),
                   not_bad, (not_bad, ("and", ("not", ("not", "awful"))))):
        print(phrase, praise(phrase).item())

save(os.path.join(FOLDER, "trees.safetensors"),
     {"vocabulary": numpy.frombuffer(b"".join(w.encode() + b" " for w in WORDS),
                                     "uint8"),
      **{name: t.detach().numpy().astype("float32")
         for name, t in net.items()}})
