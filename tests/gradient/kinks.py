#!/usr/bin/env python3
"""Derivatives at kinks as PyTorch has them: writes tests/gradient/kinks.rly.

    tests/gradient/kinks.py > tests/gradient/kinks.rly

A kink is a point where the derivative from the left is not that from the right,
or where a formula meets 0 * inf.  Each row below says a function in the
language and in PyTorch, and inputs at its kinks.  What PyTorch's autograd gives
for the sum of the results, weighed by 1, 2, 3, ..., is what the tests expect.
Needs PyTorch (Debian: python3-torch); the tests themselves do not.
"""
import torch
import torch.nn.functional as F

INF, NAN = float("inf"), float("nan")

# What it is; the function here; the function there; the inputs.
ROWS = [
    ("abs", "abs(%x)", torch.abs, [[-2, 0, 3]]),
    ("sign", "sign(%x) * %x", lambda x: torch.sign(x) * x, [[-2, 0, 3]]),
    ("round", "round(%x) * %x", lambda x: torch.round(x) * x, [[0.25, 2, -3]]),
    ("floor", "floor(%x) * %x", lambda x: torch.floor(x) * x, [[2, -3, 0]]),
    ("ceil", "ceil(%x) * %x", lambda x: torch.ceil(x) * x, [[2, -3, 0]]),
    ("trunc", "trunc(%x) * %x", lambda x: torch.trunc(x) * x, [[2, -3, 0]]),
    ("remainder of a division that rounds down", "floor_mod(%x, %y)",
     torch.remainder, [[6, 7, -6, -7], [2, 2, 2, 2]]),
    ("remainder of a division that truncates", "trunc_mod(%x, %y)",
     torch.fmod, [[6, 7, -6, -7], [2, 2, 2, 2]]),
    ("quotients that are rounded up to a whole number", "floor_mod(%x, %y)",
     torch.remainder, [[1, 0.6, 3.3, -1, 1, -1],
                       [0.1, 0.1, 1.1, 0.1, -0.1, -0.1]]),
    ("remainder by infinity", "floor_mod(%x, %y)", torch.remainder,
     [[5, -5, 5, -5], [INF, INF, -INF, -INF]]),
    ("remainder too small to be told from 0", "floor_mod(%x, %y)",
     torch.remainder, [[-1e-20, 1e-20], [1, -1]]),
    ("the greater of equals", "maximum(%x, %y)", torch.maximum,
     [[1, 2, 1], [1, 1, 2]]),
    ("the smaller of equals", "minimum(%x, %y)", torch.minimum,
     [[1, 2, 1], [1, 1, 2]]),
    ("the greater of infinities", "maximum(%x, %y)", torch.maximum,
     [[-INF, INF], [-INF, INF]]),
    ("the bounds of clip", "clip(%x, a_min=-1f64, a_max=1f64)",
     lambda x: torch.clamp(x, -1, 1), [[-2, -1, 0, 1, 2]]),
    ("bounds of clip that are one", "clip(%x, a_min=1f64, a_max=1f64)",
     lambda x: torch.clamp(x, 1, 1), [[0, 1, 2]]),
    ("sqrt", "sqrt(%x)", torch.sqrt, [[0, 4]]),
    ("sqrt of a product with 0", "sqrt(%x * 0f64)",
     lambda x: torch.sqrt(x * 0), [[1, 4]]),
    ("rsqrt", "rsqrt(%x)", torch.rsqrt, [[0, 4]]),
    ("log", "log(%x)", torch.log, [[0, 2]]),
    ("log2", "log2(%x)", torch.log2, [[0, 2]]),
    ("log10", "log10(%x)", torch.log10, [[0, 2]]),
    ("asin at the ends", "asin(%x)", torch.asin, [[-1, 0, 1]]),
    ("acos at the ends", "acos(%x)", torch.acos, [[-1, 0, 1]]),
    ("acosh at its end", "acosh(%x)", torch.acosh, [[1, 2]]),
    ("atanh at the ends", "atanh(%x)", torch.atanh, [[-1, 0, 1]]),
    ("powers of 0", "power(%x, %y)", torch.pow,
     [[0, 0, 0, 0], [0, 1, 2, 3]]),
    ("roots and reciprocals of 0", "power(%x, %y)", torch.pow,
     [[0, 0], [0.5, -1]]),
    ("powers of a negative number", "power(%x, %y)", torch.pow,
     [[-2, -2, -2], [0, 1, 2]]),
    ("a quotient by 0", "%x / %y", torch.div, [[1, 0, -1], [0, 0, 0]]),
    ("exp at infinities", "exp(%x)", torch.exp, [[-INF, 0, INF]]),
    ("tanh at infinities", "tanh(%x)", torch.tanh, [[-INF, 0, INF]]),
    ("sigmoid at infinities", "sigmoid(%x)", torch.sigmoid, [[-INF, 0, INF]]),
    ("erf at infinities", "erf(%x)", torch.erf, [[-INF, 0, INF]]),
    ("atan at infinities", "atan(%x)", torch.atan, [[-INF, 0, INF]]),
    ("relu", "nn.relu(%x)", torch.relu, [[-1, 0, 2]]),
    ("relu cut at 6", "clip(%x, a_min=0f64, a_max=6f64)", F.relu6,
     [[-1, 0.5, 7]]),
    ("leaky_relu", "nn.leaky_relu(%x, alpha=0.25)",
     lambda x: F.leaky_relu(x, 0.25), [[-1, 0, 2]]),
    ("prelu", "nn.prelu(%x, %y)", F.prelu, [[[0, -1], [2, 0]], [0.25, 0.5]]),
    ("softplus far out", "@softplus(%x)", F.softplus, [[-800, 0, 800]]),
    ("the norm of 0", "sqrt(sum(%x * %x))",
     lambda x: torch.sqrt(torch.sum(x * x)), [[0, 0]]),
    ("reduced by max, ties", "max(%x)", torch.amax, [[1, 3, 3, 2]]),
    ("reduced by max along an axis", "max(%x, axis=[1])",
     lambda x: torch.amax(x, 1), [[[1, 1, 1], [0, 2, 2]]]),
    ("reduced by min, ties", "min(%x)", torch.amin, [[1, 3, 1, 2]]),
    ("product with one 0", "prod(%x)", torch.prod, [[0, 2, 3]]),
    ("product with two", "prod(%x)", torch.prod, [[0, 2, 0]]),
    ("cumulative product with 0", "cumprod(%x, axis=0)",
     lambda x: torch.cumprod(x, 0), [[2, 0, 3, 0]]),
    ("longer cumulative product with 0", "cumprod(%x, axis=0)",
     lambda x: torch.cumprod(x, 0), [[2, 3, 0, 3, -1, 0.5, 0, 4, 2]]),
    ("cumulative products along an axis", "cumprod(%x, axis=1)",
     lambda x: torch.cumprod(x, 1),
     [[[[1, 2], [0, 3], [3, 0]], [[-1, 0], [2, 0], [4, 5]]]]),
    ("variance of equals", "variance(%x, mean(%x, keepdims=True))",
     lambda x: torch.var(x, unbiased=False), [[2, 2, 2]]),
    ("sort with ties", "sort(%x)",
     lambda x: torch.sort(x, stable=True).values, [[2, 1, 1, 3]]),
    ("topk without ties at its end", "topk(%x, k=2, ret_type=\"values\")",
     lambda x: torch.topk(x, 2).values, [[2, 1, 5, 3]]),
    ("max pooling, ties", "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])",
     lambda x: F.max_pool2d(x, 2), [[[[[5, 5, 1, 2], [5, 5, 2, 2]]]]]),
    ("max pooling that overlaps", "nn.max_pool1d(%x, pool_size=[2])",
     lambda x: F.max_pool1d(x, 2, 1), [[[[5, 5, 5, 2]]]]),
    ("adaptive max pooling, ties",
     "nn.adaptive_max_pool1d(%x, output_size=[2])",
     lambda x: F.adaptive_max_pool1d(x, 2), [[[[5, 5, 1, 1]]]]),
    ("softmax with -inf", "nn.softmax(%x)", lambda x: torch.softmax(x, -1),
     [[1, -INF, 2]]),
    ("log_softmax with -inf left out", "take(nn.log_softmax(%x), [0, 2])",
     lambda x: torch.log_softmax(x, -1)[[0, 2]], [[1, -INF, 2]]),
    ("NaN in the branch that is not taken",
     "where(%x > 0f64, %x, %x * %y)",
     lambda x, y: torch.where(x > 0, x, x * y), [[1, -2], [NAN, 3]]),
    ("inf in the branch that is not taken",
     "where(%x > 0f64, log(where(%x > 0f64, %x, ones_like(%x))), %x)",
     lambda x: torch.where(x > 0, torch.log(torch.where(x > 0, x,
                                                        torch.ones_like(x))),
                           x), [[0, 2]]),
    ("inf in the branch that is not guarded",
     "where(%x > 0f64, log(%x), %x)",
     lambda x: torch.where(x > 0, torch.log(x), x), [[0, 2]]),
    ("normalised 0", "nn.l2_normalize(%x, eps=0.0625, axis=[1])",
     lambda x: F.normalize(x, dim=1, eps=0.25), [[[0, 0], [3, 4]]]),
    ("nearest of two pixels that are as near",
     "image.resize1d(%x, size=[2], method=\"nearest_neighbor\", "
     "coordinate_transformation_mode=\"asymmetric\", "
     "rounding_method=\"floor\")",
     lambda x: F.interpolate(x, size=2, mode="nearest"), [[[[1, 2, 3, 4]]]]),
    ("indices that repeat", "take(%x, [1, 1, 0])",
     lambda x: torch.take(x, torch.tensor([1, 1, 0])), [[1, 2, 3]]),
    ("the entropy of a certain thing",
     "negative(where(%x > 0f64, %x * log(%x), zeros_like(%x)))",
     torch.special.entr, [[0.5, 1]]),
]


def number(v):
    if v != v:
        return "nan"
    if v in (INF, -INF):
        return "-inf" if v < 0 else "inf"
    return repr(float(v))


def written(v, suffix):
    """Nested lists as text; literals of the language have a suffix."""
    if isinstance(v, list):
        return "[" + ", ".join(written(e, suffix) for e in v) + "]"
    text = number(v)
    return text + suffix if suffix else text


def shape_of(t):
    dims = ", ".join(str(n) for n in t.shape)
    return f"Tensor[({dims}), float64]" if t.dim() else "float64"


def expected(t):
    if t.dim() == 0:
        return number(float(t)) + "f64"
    return f"{shape_of(t)} {written(t.tolist(), '')}"


def row(name, here, there, inputs):
    tensors = [torch.tensor(v, dtype=torch.float64, requires_grad=True)
               for v in inputs]
    y = there(*tensors)
    weights = torch.arange(1, y.numel() + 1, dtype=torch.float64)
    weights = weights.reshape(y.shape)
    y.backward(weights)
    params = ", ".join(f"%{n}: {shape_of(t)}"
                       for n, t in zip("xy", tensors))
    given = ", ".join(written(t.tolist(), "f64") for t in tensors)
    seed = written(weights.tolist(), "f64")
    parts = ", ".join(expected(t.grad) for t in tensors)
    comma = "," if len(tensors) == 1 else ""
    return (f"// {name[0].upper()}{name[1:]}.\n"
            f"vjp(fn ({params}) {{ {here} }}, {given}).1({seed});\n"
            f"// expect ~1e-12: ({parts}{comma})\n")


version = torch.__version__.split("a")[0]
print(f"""// Derivatives at kinks: the values are those of PyTorch {version}, which
// tests/gradient/kinks.py asked for them.  Change that program, not this file.
""" + "".join(row(*r) for r in ROWS), end="")
