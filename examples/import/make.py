#!/usr/bin/env python3
"""Makes the models of this folder with PyTorch 1.13, and what they give.

    python3 examples/import/make.py

Each model is exported to NAME.onnx, with dynamic axes, and run by PyTorch on
inputs of other lengths than it was exported with: these and what it gives are in
NAME_check.safetensors.
"""
import os
import sys
import warnings

import torch
from torch import nn
from torch.ao import quantization
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402

warnings.filterwarnings("ignore")
torch.manual_seed(22)


def export(name, model, example, axes, outputs, other):
    """`axes`: the dynamic ones of inputs and outputs, in their order."""
    path = os.path.join(FOLDER, name)
    inputs = list(axes)[:len(example)]
    model.eval()
    torch.onnx.export(model, example, path + ".onnx", input_names=inputs,
                      output_names=outputs, opset_version=17,
                      dynamic_axes={k: v for k, v in axes.items() if v})
    with torch.no_grad():
        given = model(*other)
    given = given if isinstance(given, tuple) else (given,)
    save(path + "_check.safetensors",
         {k: t.numpy() for k, t in zip(inputs + outputs, other + given)})


class Tagger(nn.Module):
    """Two bidirectional LSTM layers, and a tag for each step."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
        self.tag = nn.Linear(8, 5)

    def forward(self, x):
        return self.tag(self.lstm(x)[0]).log_softmax(-1)


class Reader(nn.Module):
    """A GRU over sequences of several lengths."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 4, batch_first=True)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        first = torch.zeros(1, x.shape[0], 4)  # tracing keeps no other batch
        y, h = self.gru(packed, first)
        return pad_packed_sequence(y, batch_first=True)[0], h


class Beams(nn.Module):
    """A beam search over the steps of a sequence: a loop with a growing list."""

    def __init__(self, beams: int, words: int):
        super().__init__()
        self.beams = beams
        self.words = words
        self.next = nn.Parameter(torch.randn(words, words).log_softmax(-1))

    def forward(self, steps: torch.Tensor, first: torch.Tensor):
        score = torch.zeros(1)
        last = first.reshape(1)
        taken = first.reshape(1, 1).repeat(1, 1)
        for _ in range(int(steps)):
            every = score.unsqueeze(1) + self.next[last]
            score, best = every.reshape(-1).topk(self.beams)
            row = torch.div(best, self.words, rounding_mode="floor")
            last = best - row * self.words
            taken = torch.cat((taken[row], last.unsqueeze(1)), 1)
        return score, taken


class Encoder(nn.Module):
    """A small BERT-like encoder."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(12, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu",
                                           batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.pool = nn.Linear(8, 8)

    def forward(self, ids):
        at = torch.arange(ids.shape[1])
        x = self.layers(self.words(ids) + self.places(at))
        return x, self.pool(x[:, 0]).tanh()


class Block(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.way = nn.Sequential(
            nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b),
            nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b))
        self.short = nn.Conv2d(a, b, 1, stride)

    def forward(self, x):
        return torch.relu(self.way(x) + self.short(x))


class Causal(nn.Module):
    """A layer of a decoder, which looks back by keys and values it is given."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.before, self.between = nn.LayerNorm(8), nn.LayerNorm(8)
        self.wide = nn.Sequential(nn.Linear(8, 16), nn.GELU(),
                                  nn.Linear(16, 8))

    def forward(self, x, keys, values):
        batch, steps, _ = x.shape
        q, k, v = [t.view(batch, steps, 2, 4).transpose(1, 2)
                   for t in self.qkv(self.before(x)).chunk(3, -1)]
        keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        length = keys.shape[2]
        seen = torch.ones(length, length).tril()[length - steps:] > 0
        score = (q @ keys.transpose(2, 3) / 2).masked_fill(~seen, -torch.inf)
        mixed = (score.softmax(-1) @ values).transpose(1, 2)
        x = x + self.out(mixed.reshape(batch, steps, 8))
        return x + self.wide(self.between(x)), keys, values


class Decoder(nn.Module):
    """A small GPT with a cache: what it saw is `past`, then `present`."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8), nn.Embedding(32, 8)
        self.first, self.second = Causal(), Causal()
        self.head = nn.Linear(8, 11)

    def forward(self, ids, k0, v0, k1, v1):
        past = k0.shape[2]
        x = self.words(ids)
        x = x + self.places(torch.arange(past, past + ids.shape[1]))
        x, k0, v0 = self.first(x, k0, v0)
        x, k1, v1 = self.second(x, k1, v1)
        return self.head(x), k0, v0, k1, v1


export("tagger", Tagger(), (torch.randn(5, 2, 3),),
       {"x": {0: "time", 1: "batch"}, "tags": {0: "time", 1: "batch"}},
       ["tags"], (torch.randn(7, 3, 3),))
export("reader", Reader(), (torch.randn(2, 5, 3), torch.tensor([5, 3])),
       {"x": {0: "batch", 1: "time"}, "lengths": {0: "batch"},
        "y": {0: "batch", 1: "time"}, "h": {1: "batch"}},
       ["y", "h"], (torch.randn(3, 6, 3), torch.tensor([6, 4, 1])))
export("beams", torch.jit.script(Beams(3, 6)),
       (torch.tensor(4), torch.tensor(2)),
       {"steps": {}, "first": {}, "score": {0: "beams"},
        "taken": {0: "beams", 1: "length"}},
       ["score", "taken"], (torch.tensor(7), torch.tensor(1)))
export("encoder", Encoder(), (torch.randint(0, 20, (2, 6)),),
       {"ids": {0: "batch", 1: "length"},
        "states": {0: "batch", 1: "length"}, "pooled": {0: "batch"}},
       ["states", "pooled"], (torch.randint(0, 20, (3, 9)),))
net = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1), Block(4, 6, 2), Block(6, 8, 2),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
net(torch.randn(8, 3, 12, 12))  # gives the norms statistics of their own
export("resnet", net, (torch.randn(2, 3, 12, 12),),
       {"image": {0: "batch"}, "classes": {0: "batch"}}, ["classes"],
       (torch.randn(3, 3, 12, 12),))
caches = ["0.key", "0.value", "1.key", "1.value"]
axes = {"ids": {0: "batch", 1: "steps"}}
axes.update({"past." + n: {0: "batch", 2: "past"} for n in caches})
axes["logits"] = {0: "batch", 1: "steps"}
axes.update({"present." + n: {0: "batch", 2: "present"} for n in caches})
some, none = torch.randn(2, 2, 3, 4), torch.zeros(3, 2, 0, 4)
export("decoder", Decoder(),
       (torch.randint(0, 11, (2, 4)), some, some, some, some), axes,
       ["logits"] + ["present." + n for n in caches],
       (torch.randint(0, 11, (3, 7)), none, none, none, none))


class Quantized(nn.Module):
    """A net whose numbers are integers of 8 bits within."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = quantization.QuantStub(), \
            quantization.DeQuantStub()
        self.conv, self.relu = nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU()
        self.line = nn.Linear(64, 5)

    def forward(self, x):
        y = self.relu(self.conv(self.enter(x)))
        return self.leave(self.line(y.flatten(1)))


torch.backends.quantized.engine = "qnnpack"
net = Quantized().eval()
net.qconfig = quantization.get_default_qconfig("qnnpack")
net = quantization.fuse_modules(net, [["conv", "relu"]])
net = quantization.prepare(net)
net(torch.randn(32, 3, 8, 8))  # shows the ranges
image = torch.randn(4, 3, 8, 8)
export("quantized", quantization.convert(net), (image,),
       {"image": {}, "classes": {}}, ["classes"], (image,))
