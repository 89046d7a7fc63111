"""Trains the transformer of transformer.rly on numbers in words, one after the
other, and prints what PyTorch, in float64, makes of a prompt.

    python3 examples/transformer/make.py
"""
import os
import sys

import numpy
import torch
from torch.nn import functional

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from tensors import save  # noqa: E402

WORDS = "one two three four five six seven eight nine ten".split()
random = numpy.random.RandomState(5)
torch.manual_seed(5)


def tokens(text):
    return [0 if c == " " else ord(c) - 96 for c in text]


def sample(length):
    start = random.randint(10)
    words = WORDS[start:] + WORDS * (length // 30 + 2)
    at = random.randint(4)
    return tokens(" ".join(words)[at:at + length])


def weights(*shape, scale):
    return (torch.randn(shape, dtype=torch.float64) * scale).requires_grad_()


ones_zeros = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
net = {"embedding": weights(27, 32, scale=0.3),
       "w_qkv": weights(96, 32, scale=0.18),
       "w_out": weights(32, 32, scale=0.18),
       "w_up": weights(64, 32, scale=0.18), "b_up": weights(64, scale=0.1),
       "w_down": weights(32, 64, scale=0.12),
       "norms": ones_zeros.expand(3, 2, 32).clone().requires_grad_()}


def norm(x, i):
    return functional.layer_norm(x, (32,), *net["norms"][i])


def logits(t):
    x = net["embedding"][t]
    n = len(t)
    qkv = (norm(x, 0) @ net["w_qkv"].T).view(n, 3, 2, 16)
    q, k, v = qkv.permute(1, 2, 0, 3)
    back = torch.arange(n)[:, None] - torch.arange(n)
    slopes = torch.tensor([2.0**-3, 2.0**-6]).view(2, 1, 1)
    scores = q @ k.transpose(1, 2) / 4 - back * slopes
    seen = scores.masked_fill(back < 0, -numpy.inf).softmax(2)
    x = x + (seen @ v).transpose(0, 1).reshape(n, 32) @ net["w_out"].T
    up = functional.gelu(norm(x, 1) @ net["w_up"].T + net["b_up"])
    return norm(x + up @ net["w_down"].T, 2) @ net["embedding"].T


adam = torch.optim.Adam(net.values(), lr=0.004)
for step in range(700):
    adam.zero_grad()
    loss = 0
    for _ in range(4):
        t = torch.tensor(sample(60))
        # Not the first few, which do not say where in the row they are.
        loss = loss + functional.cross_entropy(logits(t[:-1])[4:], t[5:])
    loss.backward()
    adam.step()
print("loss", loss.item() / 4)

with torch.no_grad():
    for name in net:
        net[name].copy_(net[name].float().double())
    t = tokens("one two")
    print("logits after 'one two':", logits(torch.tensor(t))[-1][:4].tolist())
    for prompt in ("one two", "nine"):
        t = tokens(prompt)
        for _ in range(40):
            t.append(logits(torch.tensor(t))[-1].argmax().item())
        print("".join(" " if c == 0 else chr(c + 96) for c in t))

save(os.path.join(FOLDER, "transformer.safetensors"),
     {name: t.detach().numpy().astype("float32") for name, t in net.items()})
