"""Writes tests/train/{optimisers,losses,schedules}.rly: what NumPy computes by
the formulas in PyTorch's documentation, in float64.

    python3 tests/reference/train.py
"""
import itertools
import numpy as np

# --- Optimisers: 100 steps down mean((tanh(x w' + b) - y)^2) -----------------

x = np.sin(np.arange(24.0)).reshape(8, 3)
y = np.cos(np.arange(16.0) * 0.7).reshape(8, 2) * 0.5
first = [np.cos(np.arange(6.0)).reshape(2, 3), np.array([0.25, -0.5])]


def gradient(p):
    a = np.tanh(x @ p[0].T + p[1])
    d = 2 * (a - y) / a.size * (1 - a * a)
    return [d.T @ x, d.sum(0)]


def sgd(lr, momentum=0, dampening=0, weight_decay=0, nesterov=False):
    p, b = [w.copy() for w in first], [None, None]
    for t in range(100):
        for i, g in enumerate(gradient(p)):
            g = g + weight_decay * p[i]
            if momentum:
                b[i] = g if t == 0 else momentum * b[i] + (1 - dampening) * g
                g = g + momentum * b[i] if nesterov else b[i]
            p[i] = p[i] - lr * g
    return p


def adam(lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0, decoupled=False):
    p = [w.copy() for w in first]
    m, v = [0 * w for w in first], [0 * w for w in first]
    for t in range(1, 101):
        for i, g in enumerate(gradient(p)):
            if decoupled:
                p[i] = p[i] - lr * weight_decay * p[i]
            else:
                g = g + weight_decay * p[i]
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g**2
            mh, vh = m[i] / (1 - b1**t), v[i] / (1 - b2**t)
            p[i] = p[i] - lr * mh / (np.sqrt(vh) + eps)
    return p


def adagrad(lr=1e-2, lr_decay=0, weight_decay=0, eps=1e-10):
    p, s = [w.copy() for w in first], [0 * w for w in first]
    for t in range(1, 101):
        for i, g in enumerate(gradient(p)):
            g = g + weight_decay * p[i]
            s[i] = s[i] + g**2
            rate = lr / (1 + (t - 1) * lr_decay)
            p[i] = p[i] - rate * g / (np.sqrt(s[i]) + eps)
    return p


def rmsprop(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
            centered=False):
    p = [w.copy() for w in first]
    v, b, a = ([0 * w for w in first] for _ in range(3))
    for t in range(100):
        for i, g in enumerate(gradient(p)):
            g = g + weight_decay * p[i]
            v[i] = alpha * v[i] + (1 - alpha) * g**2
            square = v[i]
            if centered:
                a[i] = a[i] * alpha + (1 - alpha) * g
                square = v[i] - a[i] ** 2
            b[i] = momentum * b[i] + g / (np.sqrt(square) + eps)
            p[i] = p[i] - lr * b[i]
    return p


def text(a, suffix="float64"):
    a = np.asarray(a)
    number = lambda t: t if any(c in t for c in ".en") else t + ".0"
    row = lambda r: (number(repr(float(r))) if r.ndim == 0 else
                     "[" + ", ".join(row(q) for q in r) + "]")
    dims = ", ".join(map(str, a.shape))
    if a.ndim == 0:
        return row(a) + "f64"
    return f"Tensor[({dims}), {suffix}] {row(a)}"


def weights(p):
    return f"Net({text(p[0])}, {text(p[1])})"


# (what is written after the weights and the gradient, the result, its state)
steps = [
    ("sgd", "rate=0.5f64", sgd(0.5)),
    ("sgd", "rate=0.1f64, momentum=0.9f64", sgd(0.1, 0.9)),
    ("sgd", "rate=0.1f64, momentum=0.9f64, dampening=0.5f64, "
     "weight_decay=0.01f64", sgd(0.1, 0.9, 0.5, 0.01)),
    ("sgd", "rate=0.1f64, momentum=0.9f64, weight_decay=0.01f64, "
     "nesterov=True", sgd(0.1, 0.9, 0, 0.01, True)),
    ("adam", "", adam()),
    ("adam", "rate=0.05f64, beta1=0.8f64, beta2=0.99f64, "
     "weight_decay=0.1f64", adam(0.05, 0.8, 0.99, weight_decay=0.1)),
    ("adamw", "rate=0.05f64", adam(0.05, weight_decay=0.01, decoupled=True)),
    ("adamw", "rate=0.05f64, weight_decay=0.5f64, epsilon=0.001f64",
     adam(0.05, eps=1e-3, weight_decay=0.5, decoupled=True)),
    ("adagrad", "", adagrad()),
    ("adagrad", "rate=0.3f64, rate_decay=0.05f64, weight_decay=0.01f64",
     adagrad(0.3, 0.05, 0.01)),
    ("rmsprop", "", rmsprop()),
    ("rmsprop", "rate=0.01f64, alpha=0.9f64, weight_decay=0.01f64, "
     "momentum=0.5f64, centered=True", rmsprop(0.01, 0.9, 1e-8, 0.01, 0.5,
                                               True)),
]
begin = {"adamw": "adam"}
state = {"sgd": "Sgd", "adam": "Adam", "adamw": "Adam", "adagrad": "Adagrad",
         "rmsprop": "Rmsprop"}

with open("tests/train/optimisers.rly", "w") as f:
    f.write("""// Written by tests/reference/train.py, which computes the same with NumPy: 100
// steps of each optimiser down mean((tanh(x w' + b) - y)^2).
type Net { Net(w: Tensor[(2, 3), float64], b: Tensor[(2), float64]) }
let @x = reshape(sin(arange(0f64, 24f64, 1f64)), newshape=[8, 3]);
let @y = reshape(cos(arange(0f64, 16f64, 1f64) * 0.7f64), newshape=[8, 2]) *
         0.5f64;
def @loss(%p: Net) -> float64 {
  mean(@squared_error(tanh(nn.dense(@x, %p.w) + %p.b), @y))
}
let %first = Net(reshape(cos(arange(0f64, 6f64, 1f64)), newshape=[2, 3]),
                 [0.25f64, -0.5f64]);
""")
    for i, (name, given, p) in enumerate(steps):
        start = begin.get(name, name)
        rest = ", " + given if given else ""
        f.write(f"""
// {name} {given or "as by default"}
def @steps{i}(%n: int32, %s: {state[name]}[Net], %p: Net) -> Net {{
  if (%n == 0) {{ %p }} else {{
    let %r = @{name}_step(%s, %p, grad(@loss)(%p).1.0{rest});
    @steps{i}(%n - 1, %r.0, %r.1)
  }}
}}
@steps{i}(100, @{start}(%first), %first);
// expect ~1e-9: {weights(p)}
""")

# --- Losses ------------------------------------------------------------------

logits = np.sin(np.arange(12.0) * 1.3).reshape(4, 3) * 2
target = np.array([2, 0, 1, 1])
log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
picked = log_p[np.arange(4), target]
u, v = np.sin(np.arange(6.0)) * 3, np.cos(np.arange(6.0)) * 2
probs = np.array([0.1, 0.0, 0.6, 0.3])
found = np.log(np.array([0.25, 0.25, 0.4, 0.1]))
mean, dev = logits, np.cos(np.arange(12.0)).reshape(4, 3) * 0.5


def huber(e, delta):
    return np.where(np.abs(e) <= delta, e * e / 2,
                    delta * (np.abs(e) - delta / 2))


def normal(z, m, s):
    return np.exp(-0.5 * ((z - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))


def ctc(probs, labels):
    """By the sum over all paths."""
    total = 0
    for path in itertools.product(range(probs.shape[1]), repeat=len(probs)):
        told = [c for c, _ in itertools.groupby(path) if c != 0]
        if told == labels:
            total += np.prod([probs[t, c] for t, c in enumerate(path)])
    return -np.log(total)


def transducer(log_p, labels, frames):
    """By the sum over the frames at which each label may be told."""
    total = 0
    for told in itertools.combinations_with_replacement(range(frames),
                                                        len(labels)):
        u = [sum(f <= t for f in told) for t in range(frames)]
        way = sum(log_p[t, u[t], 0] for t in range(frames))
        way += sum(log_p[t, i, labels[i]] for i, t in enumerate(told))
        total += np.exp(way)
    return -np.log(total)


times = np.cos(np.arange(15.0) * 0.9).reshape(5, 3)
times_p = np.exp(times) / np.exp(times).sum(1, keepdims=True)
mix = np.exp(log_p) * normal(u[:4, None], mean, np.exp(dev))
lattice = np.sin(np.arange(144.0) * 0.7).reshape(3, 4, 3, 4) * 2
lattice -= np.log(np.exp(lattice).sum(-1, keepdims=True))
cases = [
    ("@cross_entropy(%logits, %target)", -picked),
    ("@smoothed_cross_entropy(%logits, %target, 0.2f64)",
     -0.8 * picked - 0.2 * log_p.mean(1)),
    ("@squared_error(%u, %v)", (u - v) ** 2),
    ("@huber(%u, %v, 1.5f64)", huber(u - v, 1.5)),
    ("@binary_cross_entropy(%u, sigmoid(%v))",
     -(1 / (1 + np.exp(-v)) * np.log(1 / (1 + np.exp(-u))) +
       (1 - 1 / (1 + np.exp(-v))) * np.log(1 - 1 / (1 + np.exp(-u))))),
    ("@kl_divergence(%found, [0.1f64, 0f64, 0.6f64, 0.3f64])",
     np.where(probs > 0, probs * (np.log(np.maximum(probs, 1e-300)) - found),
              0)),
    ("@gaussian_nll(%logits, reverse(%logits, axis=0), %deviation)",
     -np.log(normal(logits, logits[::-1], np.exp(dev)))),
    ("@mixture_nll(take(%u, [0, 1, 2, 3]), %logits, %logits, %deviation)",
     -np.log(mix.sum(1))),
    ("@masked_mean(%u, [1, 0, 2, 0, 0, 1])", (u[0] + 2 * u[2] + u[5]) / 4),
] + [(f"@ctc(nn.log_softmax(%times), {labels}, 0)", ctc(times_p, labels))
     for labels in ([1], [1, 2], [1, 1], [2, 1, 2], [1, 1, 2])] + [
    ("@transducer(nn.log_softmax(%lattice), [[1, 2], [3, 3], [2, 0]], "
     "[4, 3, 2], [2, 2, 1], 0)",
     np.array([transducer(lattice[0], [1, 2], 4),
               transducer(lattice[1], [3, 3], 3),
               transducer(lattice[2], [2], 2)])),
    ("@transducer(nn.log_softmax(take(%lattice, [0], axis=0)), [[1, 2]], [1], "
     "[0], 0)", np.array([transducer(lattice[0], [], 1)]))]

with open("tests/train/losses.rly", "w") as f:
    f.write("""// Written by tests/reference/train.py, which computes the same with NumPy; CTC and
// the transducer's loss by the sum over all paths.
let %logits = reshape(sin(arange(0f64, 12f64, 1f64) * 1.3f64), newshape=[4, 3]) *
              2f64;
let %target = [2, 0, 1, 1];
let %u = sin(arange(0f64, 6f64, 1f64)) * 3f64;
let %v = cos(arange(0f64, 6f64, 1f64)) * 2f64;
let %found = log([0.25f64, 0.25f64, 0.4f64, 0.1f64]);
let %deviation = reshape(cos(arange(0f64, 12f64, 1f64)), newshape=[4, 3]) *
                 0.5f64;
let %times = reshape(cos(arange(0f64, 15f64, 1f64) * 0.9f64), newshape=[5, 3]);
let %lattice = reshape(sin(arange(0f64, 144f64, 1f64) * 0.7f64),
                       newshape=[3, 4, 3, 4]) * 2f64;
""")
    for call, value in cases:
        f.write(f"{call};\n// expect ~1e-9: {text(value)}\n")

# --- Schedules ---------------------------------------------------------------


def anneal(start, end, part):
    return end + (start - end) / 2 * (1 + np.cos(np.pi * part))


def one_cycle(step, total, most):
    start, least = most / 25, most / 25 / 1e4
    top = 0.3 * total - 1
    if step <= top:
        return anneal(start, most, step / top)
    return anneal(most, least, (step - top) / (total - 1 - top))


def cosine(step, steps, most, least):
    """The recursion of CosineAnnealingLR, which its closed form solves."""
    rate = most
    for t in range(1, step + 1):
        rate = (1 + np.cos(np.pi * t / steps)) / \
            (1 + np.cos(np.pi * (t - 1) / steps)) * (rate - least) + least
    return rate


def step_lr(step, rate, every, factor):
    for t in range(1, step + 1):
        if t % every == 0:
            rate *= factor
    return rate


with open("tests/train/schedules.rly", "w") as f:
    f.write("// Written by tests/reference/train.py, which computes the same "
            "with NumPy.\n")
    for step in (0, 1, 7, 13, 14, 30, 49):
        f.write(f"@one_cycle_rate({step}, 50, 0.1f64);\n"
                f"// expect ~1e-9: {text(one_cycle(step, 50, 0.1))}\n"
                f"@cosine_rate({step}, 50, 0.1f64, 0.01f64);\n"
                f"// expect ~1e-9: {text(cosine(step, 50, 0.1, 0.01))}\n"
                f"@step_rate({step}, 0.1f64, 7, 0.3f64);\n"
                f"// expect ~1e-9: {text(step_lr(step, 0.1, 7, 0.3))}\n")
