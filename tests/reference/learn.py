"""Writes tests/train/learn.tsv: the losses of the first steps of the programs of
examples/train/, by NumPy in float64 on a tape, after PyTorch's formulas of LSTM,
GRU, cross entropy and Adam.  The first weights and the examples are drawn by rly,
which prints them.

    python3 tests/reference/learn.py build/release/rly
"""
import json
import struct
import subprocess
import sys
import tempfile
import numpy as np

rly, folder = sys.argv[1], tempfile.mkdtemp()


# --- Tape ---------------------------------------------------------------------
class Node:
    tape = []

    def __init__(self, value, back=None):
        self.value, self.back = np.asarray(value), back
        self.grad = 0
        Node.tape.append(self)


def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.sum(i, keepdims=True)
    return g


def add(a, b):
    def back(g):
        a.grad = a.grad + unbroadcast(g, a.value.shape)
        b.grad = b.grad + unbroadcast(g, b.value.shape)
    return Node(a.value + b.value, back)


def mul(a, b):
    def back(g):
        a.grad = a.grad + unbroadcast(g * b.value, a.value.shape)
        b.grad = b.grad + unbroadcast(g * a.value, b.value.shape)
    return Node(a.value * b.value, back)


def dense(x, w):
    """x w'"""
    def back(g):
        x.grad = x.grad + g @ w.value
        w.grad = w.grad + g.T @ x.value
    return Node(x.value @ w.value.T, back)


def tanh(a):
    y = np.tanh(a.value)
    def back(g):
        a.grad = a.grad + g * (1 - y * y)
    return Node(y, back)


def sigmoid(a):
    y = 1 / (1 + np.exp(-a.value))
    def back(g):
        a.grad = a.grad + g * y * (1 - y)
    return Node(y, back)


def part(a, k, n):
    """Part k of n along the last axis."""
    size = a.value.shape[-1] // n
    at = slice(k * size, (k + 1) * size)
    def back(g):
        whole = np.zeros_like(a.value)
        whole[..., at] = g
        a.grad = a.grad + whole
    return Node(a.value[..., at], back)


def rows(table, ids):
    def back(g):
        whole = np.zeros_like(table.value)
        np.add.at(whole, ids, g)
        table.grad = table.grad + whole
    return Node(table.value[ids], back)


def cross_entropy(logits, target, weight):
    """The sum of weight * -log softmax(logits)[target]."""
    e = np.exp(logits.value - logits.value.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    at = np.arange(len(target))
    def back(g):
        d = p.copy()
        d[at, target] -= 1
        logits.grad = logits.grad + g * weight[:, None] * d
    return Node((-np.log(p[at, target]) * weight).sum(), back)


def square_error(a, target):
    def back(g):
        a.grad = a.grad + g * 2 * (a.value - target)
    return Node(((a.value - target) ** 2).sum(), back)


def total(parts, scale):
    def back(g):
        for p in parts:
            p.grad = p.grad + g * scale
    return Node(sum(p.value for p in parts) * scale, back)


# --- Layers ---------------------------------------------------------------------
def gru_step(x, h, w_ih, w_hh, b_ih, b_hh):
    i, j = add(dense(x, w_ih), b_ih), add(dense(h, w_hh), b_hh)
    r = sigmoid(add(part(i, 0, 3), part(j, 0, 3)))
    z = sigmoid(add(part(i, 1, 3), part(j, 1, 3)))
    n = tanh(add(part(i, 2, 3), mul(r, part(j, 2, 3))))
    return add(mul(add(Node(1.0), mul(Node(-1.0), z)), n), mul(z, h))


def lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh):
    a = add(add(dense(x, w_ih), b_ih), add(dense(h, w_hh), b_hh))
    i, f = sigmoid(part(a, 0, 4)), sigmoid(part(a, 1, 4))
    g, o = tanh(part(a, 2, 4)), sigmoid(part(a, 3, 4))
    c = add(mul(f, c), mul(i, g))
    return mul(o, tanh(c)), c


def sine(w, batch):
    w_ih, w_hh, b_ih, b_hh, out, bias = w
    waves = batch[0]
    h, parts = Node(np.zeros((len(waves), 32))), []
    for t in range(24):
        h = gru_step(Node(waves[:, t:t + 1]), h, w_ih, w_hh, b_ih, b_hh)
        y = add(dense(h, out), bias)
        parts.append(square_error(y, waves[:, t + 1:t + 2]))
    return total(parts, 1 / (24 * len(waves)))


def dyck(w, batch):
    w_ih, w_hh, b_ih, b_hh, out, bias = w
    words, n = batch[0], len(batch[0])
    h, c, parts = Node(np.zeros((n, 64))), Node(np.zeros((n, 64))), []
    for t in range(15):
        x = Node(np.eye(4)[words[:, t]])
        h, c = lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh)
        closes = (words[:, t + 1] > 1).astype(float)
        parts.append(cross_entropy(add(dense(h, out), bias), words[:, t + 1],
                                   closes))
    return total(parts, 1 / (words[:, 1:] > 1).sum())


def chars(w, batch):
    table, w_ih, w_hh, b_ih, b_hh, out, bias = w
    text, n = batch[0], len(batch[0])
    h, c, parts = Node(np.zeros((n, 160))), Node(np.zeros((n, 160))), []
    for t in range(64):
        h, c = lstm_step(rows(table, text[:, t]), h, c, w_ih, w_hh, b_ih, b_hh)
        parts.append(cross_entropy(add(dense(h, out), bias), text[:, t + 1],
                                   np.ones(n)))
    return total(parts, 1 / (64 * n))


# --- What rly draws ---------------------------------------------------------------
def tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    kinds = {"F32": "<f4", "I32": "<i4"}
    return {name: np.frombuffer(data[slice(*t["data_offsets"])],
                                kinds[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


def drawn(name, flags, words, steps):
    file = f"examples/train/{name}.rly"
    text = subprocess.check_output([rly, "train", file, "--print"] + flags,
                                   text=True)
    batches = ", ".join(f"@train.batch({i})" for i in range(steps))
    with open(f"{name}_draw.rly", "w") as f:
        f.write(text + f"(@train.learned(), {batches});\n")
    out = f"{folder}/{name}.safetensors"
    try:
        subprocess.check_call([rly, "run", f"{name}_draw.rly", "--outputs", out]
                              + words, stdout=subprocess.DEVNULL)
    finally:
        subprocess.call(["rm", f"{name}_draw.rly"])
    found = tensors(out)
    return [found[f"out{i}"] for i in range(len(found))]


def losses(name, loss, rate, flags, words, steps):
    found = drawn(name, flags, words, steps)
    count = len(found) - steps
    p = [w.astype("f8") for w in found[:count]]
    m, v = [0 * w for w in p], [0 * w for w in p]
    told = []
    for t in range(1, steps + 1):
        Node.tape = []
        w = [Node(a) for a in p]
        batch = found[count + t - 1]
        if batch.dtype.kind == "f":
            batch = batch.astype("f8")
        l = loss(w, [batch])
        l.grad = np.ones(())
        for node in reversed(Node.tape):
            if node.back and not isinstance(node.grad, int):
                node.back(node.grad)
        told.append(float(l.value))
        for i, g in enumerate(node.grad for node in w):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            mh, vh = m[i] / (1 - 0.9**t), v[i] / (1 - 0.999**t)
            p[i] = p[i] - rate * mh / (np.sqrt(vh) + 1e-8)
    return told


with open("tests/train/learn.tsv", "w") as f:
    for name, loss, rate, flags, words, steps in [
            ("sine", sine, 0.01, ["--epochs", "1", "--epoch-steps", "50"], [],
             50),
            ("dyck", dyck, 0.01, ["--epochs", "1", "--epoch-steps", "20"], [],
             20),
            ("chars", chars, 0.005, ["--epochs", "1", "--batch", "16"],
             ["text=@LICENSE"], 12)]:
        flags = flags + ["--lr", str(rate)]
        told = losses(name, loss, rate, flags, words, steps)
        f.write("\t".join([name, " ".join(flags + words)]
                          + [f"{x:.9g}" for x in told]) + "\n")
