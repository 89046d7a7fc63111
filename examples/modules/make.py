"""Makes modules.safetensors, which holds what torch.save would write of the
state_dict of

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 4)
            self.lstm = nn.LSTM(4, 5)
            self.norms = nn.ModuleList([nn.LayerNorm(5), nn.LayerNorm(5)])
            self.head = nn.Sequential(nn.Linear(5, 4), nn.ReLU(),
                                      nn.Linear(4, 3, bias=False))

with PyTorch's names, and prints the scores of a sentence, computed by numpy.

    python3 examples/modules/make.py
"""
import os
import sys

import numpy

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402

random = numpy.random.RandomState(17)


def values(*shape):
    return random.uniform(-0.8, 0.8, shape).astype("float32")


state = {
    "embed.weight": values(6, 4),
    "lstm.weight_ih_l0": values(20, 4),
    "lstm.weight_hh_l0": values(20, 5),
    "lstm.bias_ih_l0": values(20),
    "lstm.bias_hh_l0": values(20),
    "norms.0.weight": values(5),
    "norms.0.bias": values(5),
    "norms.1.weight": values(5),
    "norms.1.bias": values(5),
    "head.0.weight": values(4, 5),
    "head.0.bias": values(4),
    "head.2.weight": values(3, 4),
}
save(os.path.join(FOLDER, "modules.safetensors"), state)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def norm(x, weight, bias):
    centred = x - x.mean()
    return centred / numpy.sqrt(x.var() + 1e-5) * weight + bias


w = {name: value.astype("float64") for name, value in state.items()}
h, c = numpy.zeros(5), numpy.zeros(5)
for word in (3, 1, 4, 1, 5):
    x = w["embed.weight"][word]
    gates = (w["lstm.weight_ih_l0"] @ x + w["lstm.bias_ih_l0"] +
             w["lstm.weight_hh_l0"] @ h + w["lstm.bias_hh_l0"])
    i, f, g, o = numpy.split(gates, 4)
    c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
    h = sigmoid(o) * numpy.tanh(c)
for n in range(2):
    h = norm(h, w["norms.%d.weight" % n], w["norms.%d.bias" % n])
h = numpy.maximum(w["head.0.weight"] @ h + w["head.0.bias"], 0)
print(numpy.round(w["head.2.weight"] @ h, 4))
