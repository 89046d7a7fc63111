"""Prints what PyTorch, in float64, makes of some phrases with the weights of
trees.safetensors.

    python3 examples/trees/check.py
"""
import os
import sys

import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from networks import weights  # noqa: E402

WORDS = "the movie was good great bad awful not very and".split()
net = weights(os.path.join(FOLDER, "trees.safetensors"))


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


not_bad = (("the", "movie"), ("was", ("not", "bad")))
for phrase in ("good", ("very", "awful"), ("not", ("very", "good")),
               not_bad, (not_bad, ("and", ("not", ("not", "awful"))))):
    print(phrase, (net["out"] @ read(phrase)[0]).sigmoid().item())
