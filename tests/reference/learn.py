"""Writes tests/train/learn.tsv: the losses of the first steps of the programs of
examples/train/, by NumPy in float64 on a tape, after PyTorch's formulas of LSTM,
GRU, cross entropy and Adam, Tai's of the Tree-LSTM, Vaswani's of attention and
Joulin's of the stack.  The first weights and the examples are drawn by rly,
which prints them.

    python3 tests/reference/learn.py build/release/rly
"""
import json
import math
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
    """x w', of the rows along x's last axis."""
    def back(g):
        x.grad = x.grad + g @ w.value
        n, m = w.value.shape
        w.grad = w.grad + g.reshape(-1, n).T @ x.value.reshape(-1, m)
    return Node(x.value @ w.value.T, back)


def product(a, b):
    """Of matrices along the last two axes."""
    def back(g):
        a.grad = a.grad + g @ b.value.swapaxes(-1, -2)
        b.grad = b.grad + a.value.swapaxes(-1, -2) @ g
    return Node(a.value @ b.value, back)


def shaped(a, shape, axes=None):
    """a in another shape, then its axes in another order."""
    def back(g):
        h = g.transpose(np.argsort(axes)) if axes else g
        a.grad = a.grad + h.reshape(a.value.shape)
    y = a.value.reshape(shape)
    return Node(y.transpose(axes) if axes else y, back)


def joined(parts, axis):
    def back(g):
        ends = np.cumsum([p.value.shape[axis] for p in parts])[:-1]
        for p, h in zip(parts, np.split(g, ends, axis)):
            p.grad = p.grad + h
    return Node(np.concatenate([p.value for p in parts], axis), back)


def at(a, index):
    def back(g):
        whole = np.zeros_like(a.value)
        whole[index] = g
        a.grad = a.grad + whole
    return Node(a.value[index], back)


def softmax(a):
    e = np.exp(a.value - a.value.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)
    def back(g):
        a.grad = a.grad + y * (g - (g * y).sum(-1, keepdims=True))
    return Node(y, back)


def gelu(a):
    """x P(X <= x) of a standard normal X."""
    x = a.value
    p = np.vectorize(math.erf)(x / np.sqrt(2)) / 2 + 0.5
    def back(g):
        density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        a.grad = a.grad + g * (p + x * density)
    return Node(x * p, back)


def standard(a):
    """(x - mean) / sqrt(variance + 1e-5) along the last axis."""
    x = a.value - a.value.mean(-1, keepdims=True)
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    y = x * r
    def back(g):
        a.grad = a.grad + r * (g - g.mean(-1, keepdims=True) -
                               y * (g * y).mean(-1, keepdims=True))
    return Node(y, back)


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


def log_softmax(a):
    x = a.value - a.value.max(-1, keepdims=True)
    y = x - np.log(np.exp(x).sum(-1, keepdims=True))
    def back(g):
        a.grad = a.grad + g - np.exp(y) * g.sum(-1, keepdims=True)
    return Node(y, back)


def transducer(log_p, labels):
    """The sum of -log P(labels) over a batch, 0 is the blank; its derivative by
    forward and backward probabilities (Graves 2012, 2.4)."""
    y = log_p.value
    n, frames, states, _ = y.shape
    d, whole = np.zeros_like(y), 0.0
    for b in range(n):
        blank = y[b, :, :, 0]
        said = np.full((frames, states), -np.inf)
        for u in range(states - 1):
            said[:, u] = y[b, :, u, labels[b, u]]
        alpha = np.full((frames, states), -np.inf)
        beta = np.full((frames + 1, states + 1), -np.inf)
        for t in range(frames):
            for u in range(states):
                ways = [0.0] if t == u == 0 else []
                if t: ways.append(alpha[t - 1, u] + blank[t - 1, u])
                if u: ways.append(alpha[t, u - 1] + said[t, u - 1])
                alpha[t, u] = np.logaddexp.reduce(ways)
        beta[frames, states - 1] = 0
        for t in reversed(range(frames)):
            for u in reversed(range(states)):
                beta[t, u] = np.logaddexp(beta[t + 1, u] + blank[t, u],
                                          beta[t, u + 1] + said[t, u])
        p = beta[0, 0]
        whole -= p
        d[b, :, :, 0] -= np.exp(alpha + blank + beta[1:, :states] - p)
        for u in range(states - 1):
            d[b, :, u, labels[b, u]] -= np.exp(
                alpha[:, u] + said[:, u] + beta[:frames, u + 1] - p)
    def back(g):
        log_p.grad = log_p.grad + g * d
    return Node(whole, back)


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


def add_digits(w, batch):
    w_ih, w_hh, b_ih, b_hh, out, bias = w
    pairs, n = batch[0], len(batch[0])
    h, c, parts = Node(np.zeros((n, 32))), Node(np.zeros((n, 32))), []
    carry = np.zeros(n, "i4")
    for t in range(8):
        a, b = pairs[:, 0, t], pairs[:, 1, t]
        x = Node(np.concatenate([np.eye(10)[a], np.eye(10)[b]], 1))
        h, c = lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh)
        carry, digit = np.divmod(a + b + carry, 10)
        parts.append(cross_entropy(add(dense(h, out), bias), digit,
                                   np.ones(n)))
    return total(parts, 1 / (8 * n))


def stack(w, batch):
    w_h, b_h, act, put, out, bias = w
    words, n = batch[0], len(batch[0])
    h, parts = Node(np.zeros((n, 16))), []
    # A list, its top first; words of 16 brackets never reach its end.
    held = [Node(np.zeros((n, 4))) for _ in range(20)]
    for t in range(15):
        x = Node(np.eye(4)[words[:, t]])
        h = tanh(add(dense(joined([x, held[0], h], 1), w_h), b_h))
        a = softmax(dense(h, act))
        push, pop = part(a, 0, 2), part(a, 1, 2)
        above = [sigmoid(dense(h, put))] + held[:-1]
        below = held[1:] + [Node(np.zeros((n, 4)))]
        held = [add(mul(push, u), mul(pop, v)) for u, v in zip(above, below)]
        closes = (words[:, t + 1] > 1).astype(float)
        logits = add(dense(joined([h, held[0]], 1), out), bias)
        parts.append(cross_entropy(logits, words[:, t + 1], closes))
    return total(parts, 1 / (words[:, 1:] > 1).sum())


def phrases(w, batch):
    symbols, w_iou, u_iou, b_iou, w_f, u_f, b_f, out, bias = w

    def node(row):
        """The first phrase of the symbols: h, c, its worth, what is left."""
        first, rest = row[0], row[1:]
        children = []
        for _ in range(max(0, first - 11)):
            child = node(rest)
            children.append(child)
            rest = child[3]
        x = rows(symbols, [first])
        worth = ([1] * 4 + [-1] * 4 + [0] * 4)[first] if first < 12 else \
            (-1 if first == 12 else 1) * sum(c[2] for c in children)
        h = Node(np.zeros((1, 24)))
        for child in children:
            h = add(h, child[0])
        iou = add(add(dense(x, w_iou), b_iou), dense(h, u_iou))
        c = mul(sigmoid(part(iou, 0, 3)), tanh(part(iou, 2, 3)))
        for child in children:
            f = sigmoid(add(add(dense(x, w_f), b_f), dense(child[0], u_f)))
            c = add(c, mul(f, child[1]))
        return mul(sigmoid(part(iou, 1, 3)), tanh(c)), c, worth, rest

    parts = []
    for row in batch[0]:
        h, _, worth, _ = node([int(k) for k in row])
        mood = np.array([np.sign(worth) + 1])
        parts.append(cross_entropy(add(dense(h, out), bias), mood, np.ones(1)))
    return total(parts, 1 / len(batch[0]))


def sort(w, batch):
    symbols, places, *blocks, last, out, bias = w
    digits, n = batch[0], len(batch[0])

    def norm(x, p):
        return add(mul(standard(x), at(p, 0)), at(p, 1))

    # (B, T, 32), where the program has places first.
    x = add(rows(symbols, digits[:, :16]), places)
    mask = Node(np.where(np.tri(16) > 0, 0, -np.inf))
    for i in range(2):
        n1, qkv, mix, n2, up, b_up, down, b_down = blocks[8 * i:8 * i + 8]
        y = dense(norm(x, n1), qkv)
        q, k, v = [shaped(part(y, j, 3), (n, 16, 2, 16), (0, 2, 1, 3))
                   for j in range(3)]
        kt = shaped(k, k.value.shape, (0, 1, 3, 2))
        a = softmax(add(mul(product(q, kt), Node(0.25)), mask))
        mixed = shaped(shaped(product(a, v), (n, 2, 16, 16), (0, 2, 1, 3)),
                       (n, 16, 32))
        x = add(x, dense(mixed, mix))
        y = gelu(add(dense(norm(x, n2), up), b_up))
        x = add(x, add(dense(y, down), b_down))
    logits = add(dense(norm(x, last), out), bias)
    flat = shaped(at(logits, np.s_[:, 8:16]), (n * 8, 10))
    right = np.sort(digits[:, :8], 1).reshape(-1)
    return total([cross_entropy(flat, right, np.ones(n * 8))], 1 / (8 * n))


def spot(w, batch):
    w_ih, w_hh, b_ih, b_hh, out, bias = w
    audio, kind = batch
    n = len(audio)
    window = 0.5 - 0.5 * np.cos(np.arange(64) * 2 * np.pi / 64)
    waves = np.fft.rfft(audio.reshape(n, 16, 64) * window)
    loud = np.log(1 + np.abs(waves[:, :, 1:17]) ** 2)
    h = Node(np.zeros((n, 24)))
    for t in range(16):
        h = gru_step(Node(loud[:, t]), h, w_ih, w_hh, b_ih, b_hh)
    return total([cross_entropy(add(dense(h, out), bias), kind, np.ones(n))],
                 1 / n)


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
    batch = "@train.batch({})"
    if "@train.rows(" in text:  # of data, a batch is the numbers of its rows
        batch = f"@train.rows({batch})"
    batches = ", ".join(batch.format(i) for i in range(steps))
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


def transcribe(w, batch):
    (w_ih, w_hh, b_ih, b_hh, said_ih, said_hh, said_b, said_c, out, bias) = w
    frames, letters = batch
    n = len(frames)
    heard, said = [], []
    h = Node(np.zeros((n, 24)))
    for t in range(16):
        h = gru_step(Node(frames[:, t]), h, w_ih, w_hh, b_ih, b_hh)
        heard.append(shaped(h, (n, 1, 1, 24)))
    h = Node(np.zeros((n, 24)))
    for u in range(5):
        before = letters[:, u - 1] if u else np.zeros(n, int)
        h = gru_step(Node(np.eye(8)[before]), h, said_ih, said_hh, said_b,
                     said_c)
        said.append(shaped(h, (n, 1, 1, 24)))
    both = tanh(add(joined(heard, 1), joined(said, 2)))
    logits = add(dense(shaped(both, (n * 80, 24)), out), bias)
    log_p = log_softmax(shaped(logits, (n, 16, 5, 8)))
    return total([transducer(log_p, letters)], 1 / n)


def losses(name, loss, rate, flags, words, steps, tensors_each):
    found = drawn(name, flags, words, steps)
    count = len(found) - steps * tensors_each
    p = [w.astype("f8") for w in found[:count]]
    m, v = [0 * w for w in p], [0 * w for w in p]
    told = []
    for t in range(1, steps + 1):
        Node.tape = []
        w = [Node(a) for a in p]
        first = count + (t - 1) * tensors_each
        batch = [b.astype("f8") if b.dtype.kind == "f" else b
                 for b in found[first:first + tensors_each]]
        l = loss(w, batch)
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


def drawn_steps(n):
    return ["--epochs", "1", "--epoch-steps", str(n)]


# Name, loss, rate, flags, bindings, steps, tensors of a batch.
with open("tests/train/learn.tsv", "w") as f:
    for name, loss, rate, flags, words, steps, tensors_each in [
            ("sine", sine, 0.01, drawn_steps(50), [], 50, 1),
            ("dyck", dyck, 0.01, drawn_steps(20), [], 20, 1),
            ("chars", chars, 0.005, ["--epochs", "1", "--batch", "16"],
             ["text=@LICENSE"], 12, 1),
            ("add", add_digits, 0.01, drawn_steps(30), [], 30, 1),
            ("stack", stack, 0.01, drawn_steps(20), [], 20, 1),
            ("phrases", phrases, 0.01, drawn_steps(10), [], 10, 1),
            ("sort", sort, 0.003, drawn_steps(10), [], 10, 1),
            ("spot", spot, 0.01, drawn_steps(10), [], 10, 2),
            ("transcribe", transcribe, 0.01, drawn_steps(10), [], 10, 2)]:
        flags = flags + ["--lr", str(rate)]
        told = losses(name, loss, rate, flags, words, steps, tensors_each)
        f.write("\t".join([name, " ".join(flags + words)]
                          + [f"{x:.9g}" for x in told]) + "\n")
