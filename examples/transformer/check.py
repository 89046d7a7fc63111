"""Prints what PyTorch, in float64, makes of two prompts with the weights of
transformer.safetensors.

    python3 examples/transformer/check.py
"""
import os
import sys

import torch
from torch.nn import functional

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from networks import weights  # noqa: E402

net = weights(os.path.join(FOLDER, "transformer.safetensors"))


def tokens(text):
    return [0 if c == " " else ord(c) - 96 for c in text]


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
    seen = scores.masked_fill(back < 0, -torch.inf).softmax(2)
    x = x + (seen @ v).transpose(0, 1).reshape(n, 32) @ net["w_out"].T
    up = functional.gelu(norm(x, 1) @ net["w_up"].T + net["b_up"])
    return norm(x + up @ net["w_down"].T, 2) @ net["embedding"].T


t = tokens("one two")
print("logits after 'one two':", logits(torch.tensor(t))[-1][:4].tolist())
for prompt in ("one two", "nine"):
    t = tokens(prompt)
    for _ in range(40):
        t.append(logits(torch.tensor(t))[-1].argmax().item())
    print("".join(" " if c == 0 else chr(c + 96) for c in t))
