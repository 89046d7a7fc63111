"""Derivatives as PyTorch has them, written as tests (kinks.py, sample.py).

A row says what it is, a function in the language and in PyTorch, and inputs, in
float64.  What PyTorch's autograd gives for the sum of the results, weighed by
1, 2, 3, ..., is what the tests expect.  Needs PyTorch (Debian: python3-torch);
the tests themselves do not.
"""
import torch

INF, NAN = float("inf"), float("nan")
SHOWN = 12  # so many elements of a value are shown whole; more are subtracted


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
                       for n, t in zip("xyz", tensors))
    given = ", ".join(written(t.tolist(), "f64") for t in tensors)
    seed = written(weights.tolist(), "f64")
    head = f"// {name[0].upper()}{name[1:]}.\n"
    call = f"vjp(fn ({params}) {{ {here} }}, {given}).1({seed})"
    if max(t.numel() for t in tensors) > SHOWN:
        return head + f"let %d = {call};\n" + "".join(
            f"max(abs(%d.{i} - {written(t.grad.tolist(), 'f64')}));\n"
            "// expect ~1e-12: 0f64\n" for i, t in enumerate(tensors))
    parts = ", ".join(expected(t.grad) for t in tensors)
    comma = "," if len(tensors) == 1 else ""
    return f"{head}{call};\n// expect ~1e-12: ({parts}{comma})\n"


def write(what, program, rows):
    version = torch.__version__.split("a")[0]
    print(f"""// {what}: the values are those of PyTorch {version}, which
// tests/gradient/{program} asked for them.  Change that program, not this file.
""" + "".join(row(*r) for r in rows), end="")
