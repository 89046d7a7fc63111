#!/usr/bin/env python3
"""Writes tests/onnx/operators.rly: operators of ONNX and com.microsoft on small
tensors, and what NumPy computes by the operators' definitions, element by
element where that is plainest.

    tests/onnx/operators.py > tests/onnx/operators.rly
"""
import itertools
import numpy as np

rng = np.random.default_rng(22)


def values(*shape, dtype=np.float32):
    return np.round(rng.uniform(-2, 2, shape), 2).astype(dtype)


SUFFIX = {"float32": "f", "float16": "f16", "int64": "i64", "int32": "i32",
          "uint8": "u8", "int8": "i8"}


lets = []


def text(a):
    """An array as an argument: the name of a let."""
    lets.append(literal(a))
    return f"%a{len(lets)}"


def literal(a):
    a = np.asarray(a)
    if a.dtype == np.float64:
        a = a.astype(np.float32)
    if a.dtype == np.bool_:
        leaf = lambda v: "True" if v else "False"
    elif a.dtype.kind == "f":
        leaf = lambda v: f"{a.dtype.type(v)!s}{SUFFIX[str(a.dtype)]}"
    else:
        leaf = lambda v: f"{int(v)}{SUFFIX[str(a.dtype)]}"
    def part(v):
        return (leaf(v) if np.ndim(v) == 0
                else "[" + ", ".join(part(w) for w in v) + "]")
    return part(a)


def case(title, call, want, near=1e-5):
    want = np.asarray(want)
    dims = ", ".join(map(str, want.shape))
    print(f"\n// {title}")
    for i, value in enumerate(lets, 1):
        print(f"let %a{i} = {value};")
    lets.clear()
    print(f"let %r = {call};")
    print(f"(shape_of(%r), max(abs(cast(%r, dtype=\"float64\") - "
          f"cast({literal(want)}, dtype=\"float64\"))) <= {near}f64);")
    print(f"// expect: (Tensor[({want.ndim}), int32] [{dims}], True)")


def softmax(x):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def erf_gelu(x):
    from math import erf
    return np.array([0.5 * v * (1 + erf(v / 2 ** 0.5)) for v in x.ravel()],
                    np.float32).reshape(x.shape)


print("// Operators of ONNX and com.microsoft, with what NumPy computes.  "
      "Written by\n// tests/onnx/operators.py.")

# --- Transformers -------------------------------------------------------------

q, k, v = values(1, 4, 2, 3), values(1, 2, 3, 3), values(1, 2, 3, 2)
past_k, past_v = values(1, 2, 1, 3), values(1, 2, 1, 2)
keys = np.repeat(np.concatenate([past_k, k], 2), 2, 1)
held = np.repeat(np.concatenate([past_v, v], 2), 2, 1)
score = q @ keys.swapaxes(2, 3) / np.sqrt(3)
seen = np.arange(4)[None] <= np.arange(2)[:, None] + 1
case("Attention with groups of heads, a past, no look ahead",
     f"@onnx_attention({text(q)}, {text(k)}, {text(v)}, "
     f"past_key={text(past_k)}, past_value={text(past_v)}, is_causal=1).0",
     softmax(np.where(seen, score, -np.inf)) @ held)

q, k, v = values(2, 2, 4), values(2, 3, 4), values(2, 3, 4)
mask = np.array([[True, False, True], [False, False, False]])
heads = lambda x: x.reshape(2, -1, 2, 2).swapaxes(1, 2)
score = 1.5 * np.tanh(0.7 * heads(q) @ heads(k).swapaxes(2, 3) / 1.5)
p = np.nan_to_num(softmax(np.where(mask, score, -np.inf)))
case("Attention of three axes, capped; a query that sees no key gives 0",
     f"@onnx_attention({text(q)}, {text(k)}, {text(v)}, attn_mask={text(mask)}, "
     "kv_num_heads=2, q_num_heads=2, scale=0.7f, softcap=1.5f).0",
     (p @ heads(v)).swapaxes(1, 2).reshape(2, 2, 4))
case("its probabilities",
     f"@onnx_attention({text(q)}, {text(k)}, {text(v)}, attn_mask={text(mask)}, "
     "kv_num_heads=2, q_num_heads=2, scale=0.7f, softcap=1.5f, "
     "qk_matmul_output_mode=3).3", p)

x, w = values(2, 3, 4), values(4)
case("RMSNormalization", f"@onnx_rms_normalization({text(x)}, {text(w)})",
     x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w)

x, cos, sin = values(1, 2, 3, 6), values(5, 2), values(5, 2)
at = np.array([[4, 0, 2]])
want = x.copy()
for h, t, i in itertools.product(range(2), range(3), range(2)):
    a, b = x[0, h, t, 2 * i], x[0, h, t, 2 * i + 1]
    c, s = cos[at[0, t], i], sin[at[0, t], i]
    want[0, h, t, 2 * i], want[0, h, t, 2 * i + 1] = c * a - s * b, s * a + c * b
case("RotaryEmbedding of neighbours, of a part of each head",
     f"@onnx_rotary_embedding({text(x)}, {text(cos)}, {text(sin)}, "
     f"position_ids={text(at)}, interleaved=1, rotary_embedding_dim=4)", want)

x, w, b = values(2, 4, 3), values(4), values(4)
g = x.reshape(2, 2, 6)
n = (g - g.mean(-1, keepdims=True)) / np.sqrt(g.var(-1, keepdims=True) + 1e-3)
case("GroupNormalization", f"@onnx_group_normalization({text(x)}, {text(w)}, "
     f"{text(b)}, epsilon=0.001f, num_groups=2)",
     n.reshape(2, 4, 3) * w[:, None] + b[:, None])
case("of version 18, by groups",
     f"@onnx_group_normalization_18({text(x)}, {text(w[:2])}, {text(b[:2])}, "
     "epsilon=0.001f, num_groups=2)",
     n.reshape(2, 4, 3) * np.repeat(w[:2], 2)[:, None]
     + np.repeat(b[:2], 2)[:, None])

# --- Windows ------------------------------------------------------------------

def places(out, kernel, strides, dilations, pads):
    """For each window and element, its coordinates."""
    for o in itertools.product(*map(range, out)):
        for e in itertools.product(*map(range, kernel)):
            yield o, e, tuple(a * s + b * d - p for a, b, s, d, p in
                              zip(o, e, strides, dilations, pads))


def inside(at, shape):
    return all(0 <= a < n for a, n in zip(at, shape))


shape, kernel, out = (4, 5), (2, 2), (3, 2)
x = values(1, 2 * 4, 6)
want = np.zeros((1, 2) + shape, np.float32)
for o, e, at in places(out, kernel, (2, 3), (2, 1), (1, 0)):
    if inside(at, shape):
        for c in range(2):
            want[0, c][at] += x[0, c * 4 + e[0] * 2 + e[1], o[0] * 2 + o[1]]
case("Col2Im", f"@onnx_col2im({text(x)}, [4i64, 5i64], [2i64, 2i64], "
     "dilations=[2, 1], pads=[1, 0, 2, 0], strides=[2, 3])", want)

x = values(1, 2, 4, 5)
largest = np.full((1, 2, 2, 3), -np.inf, np.float32)
rows, columns = np.zeros((2, 1, 2, 2, 3), np.int64)
for c in range(2):
    for o, e, at in places((2, 3), (2, 3), (2, 2), (1, 1), (0, 1)):
        if inside(at, (4, 5)) and x[0, c][at] > largest[0, c][o]:
            largest[0, c][o] = x[0, c][at]
            rows[0, c][o] = c * 20 + at[0] * 5 + at[1]
            columns[0, c][o] = c * 20 + at[1] * 4 + at[0]
pool = lambda more: (f"@onnx_max_pool_at({text(x)}, kernel_shape=[2, 3], "
                     f"pads=[0, 1, 0, 1], strides=[2, 2]{more}")
case("MaxPool", pool(").0"), largest)
case("where the maxima are", pool(").1"), rows)
case("by columns", pool(", storage_order=1).1"), columns)

want = np.zeros((1, 1, 3, 4), np.float32)
want.ravel()[[5, 7]] = 3, 4
case("MaxUnpool", "@onnx_max_unpool([[[[3f, 4f]]]], [[[[5i64, 7i64]]]], "
     "output_shape=[1i64, 1i64, 3i64, 4i64], kernel_shape=[2, 2], "
     "strides=[2, 2])", np.pad([[[[0, 0, 0, 0], [0, 3, 0, 4]]]],
                               [(0, 0), (0, 0), (0, 1), (0, 0)]))

x, w, b = values(1, 2, 3, 4), values(2, 1, 2, 2), values(2)
offset, mask = 0.7 * values(1, 2 * 4 * 2, 2, 3), values(1, 2 * 4, 2, 3)
offset = offset.astype(np.float32)
want = np.zeros((1, 2, 2, 3))
def between(image, y, x):
    total, top, left = 0, int(np.floor(y)), int(np.floor(x))
    for i, j in itertools.product((top, top + 1), (left, left + 1)):
        if inside((i, j), image.shape):
            total += image[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total
for c in range(2):
    for o, e, at in places((2, 3), (2, 2), (1, 1), (1, 1), (0, 0)):
        i = (c * 4 + e[0] * 2 + e[1])
        dy, dx = offset[0, 2 * i][o], offset[0, 2 * i + 1][o]
        want[0, c][o] += (between(x[0, c], at[0] + dy, at[1] + dx)
                          * w[c, 0][e] * mask[0, i][o])
case("DeformConv, in groups, with a mask",
     f"@onnx_deform_conv({text(x)}, {text(w)}, {text(offset)}, b={text(b)}, "
     f"mask={text(mask)}, group=2, offset_group=2)",
     (want + b[:, None, None]))

x = values(1, 1, 7)
windows = [[0, 2], [3, 5], [6]]
case("LpPool with holes, rounded up",
     f"@onnx_lp_pool({text(x)}, ceil_mode=True, dilations=[2], "
     "kernel_shape=[2], p=3, strides=[3])",
     [[[(np.abs(x[0, 0, w]) ** 3).sum() ** (1 / 3) for w in windows]]])
x = values(1, 1, 4)
case("AveragePool, whose last window would begin in the margin",
     f"@onnx_average_pool({text(x)}, ceil_mode=True, kernel_shape=[1], "
     "pads=[0, 1], strides=[4])", x[:, :, :1])

x = values(3, 5)
want = np.zeros((4, 2), np.float32)
want[:3] = x[:, 1:3]
case("CenterCropPad", f"@onnx_center_crop_pad({text(x)}, [2i64, 4i64], "
     "axes=[-1, 0])", want)

theta = values(2, 3, 4)
line = lambda n: (2 * np.arange(n) + 1) / n - 1
grid = np.stack([*np.meshgrid(line(2), line(3), line(2), indexing="ij")][::-1]
                + [np.ones((2, 3, 2))], -1)
case("AffineGrid of a volume",
     f"@onnx_affine_grid({text(theta)}, [2i64, 1i64, 2i64, 3i64, 2i64])",
     np.einsum("dhwk,nik->ndhwi", grid, theta))

# --- Numbers ------------------------------------------------------------------

x = values(2, 5, 2)
c = x[..., 0] + 1j * x[..., 1]
case("DFT, inverse of one side",
     f"@onnx_dft({text(x)}, axis=1, inverse=True, onesided=True)",
     np.fft.irfft(c, axis=1)[..., None].astype(np.float32))
case("of an odd length",
     f"@onnx_dft({text(x)}, dft_length=7i64, axis=1, inverse=True, "
     "onesided=True)",
     np.fft.irfft(c, 7, axis=1)[..., None].astype(np.float32))

x, scale = 40 * values(2, 5), np.array([[0.5, 0.3, 1], [2, 0.7, 4]], np.float32)
zero = np.array([[1, -2, 3], [0, 5, -6]], np.int8)
spread = lambda a: np.repeat(a, 2, 1)[:, :5]
whole = np.clip(np.rint(x / spread(scale)) + spread(zero), -128, 127)
case("QuantizeLinear by blocks",
     f"@onnx_quantize_linear({text(x)}, {text(scale)}, "
     f"y_zero_point={text(zero)}, block_size=2)", whole.astype(np.int8), 0)
case("DequantizeLinear by blocks",
     f"@onnx_dequantize_linear({text(whole.astype(np.int8))}, {text(scale)}, "
     f"x_zero_point={text(zero)}, block_size=2)",
     ((whole - spread(zero)) * spread(scale)))

x = values(2, 3)
case("CumProd", f"@onnx_cum_prod({text(x)}, -1i64, reverse=1)",
     np.cumprod(x[:, ::-1], 1)[:, ::-1])
case("Swish", f"@onnx_swish({text(x)}, alpha=0.5f)", x / (1 + np.exp(-x / 2)))
case("LpNormalization, of a row of 0 too",
     "@onnx_lp_normalization([[0f, 0f], [3f, -4f]], axis=1)",
     np.array([[0, 0], [0.6, -0.8]], np.float32))
case("Cast saturates",
     'cast(@onnx_cast_like_19([1e9f, -500f, 448f, 0.3f], '
     'cast(0, dtype="e4m3_float8")), dtype="float32")',
     np.array([448, -448, 448, 0.3125], np.float32), 0)
case("to the other dtype, too",
     'cast(@onnx_cast_like_19([-inff, 60000f, 1.1f], '
     'cast(0, dtype="e5m2_float8")), dtype="float32")',
     np.array([-57344, 57344, 1], np.float32), 0)
x = values(2, 4, 3)
up = values(2, 2, 3)
want = x.copy()
for n, from_ in enumerate((3, 1)):
    for i in range(2):
        want[n, (from_ + i) % 4] = up[n, i]
case("TensorScatter, around", f"@onnx_tensor_scatter({text(x)}, {text(up)}, "
     'write_indices=[3i64, 1i64], mode="circular")', want, 0)

# --- com.microsoft ------------------------------------------------------------

a, b = values(2, 3, 2), values(2, 4, 3)
case("FusedMatMul", f"@onnx_fused_mat_mul({text(a)}, {text(b)}, alpha=0.5f, "
     "transA=True, transB=True)",
     0.5 * a.swapaxes(1, 2) @ b.swapaxes(1, 2))
x, y = values(3, 2), values(2)
case("BiasGelu", f"@onnx_bias_gelu({text(x)}, {text(y)})", erf_gelu(x + y), 1e-6)
s = x + y
case("FastGelu", f"@onnx_fast_gelu({text(x)}, bias={text(y)})",
     0.5 * s * (1 + np.tanh(np.sqrt(2 / np.pi) * (s + 0.044715 * s ** 3))), 1e-6)
x, y, g, b, c = values(1, 2, 4), values(1, 2, 4), values(4), values(4), values(4)
s = x + y + c
case("SkipLayerNormalization",
     f"@onnx_skip_layer_normalization({text(x)}, {text(y)}, {text(g)}, "
     f"beta={text(b)}, bias={text(c)}, epsilon=0.01f).0",
     (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 0.01)
     * g + b)

x, w, b = values(2, 3, 4), values(4, 12), values(12)
past = values(2, 2, 2, 1, 2)
lengths = np.array([[1, 1, 0, 1], [1, 0, 1, 1]], np.int32)
parts = np.split(x @ w + b, 3, 2)
q, k, v = [t.reshape(2, 3, 2, 2).swapaxes(1, 2) for t in parts]
k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
score = q @ k.swapaxes(2, 3) / np.sqrt(2)
score = score + np.where(lengths[:, None, None], 0, -10000)
score = score + np.where(np.arange(4)[None] <= np.arange(3)[:, None] + 1, 0,
                         -10000)
case("Attention of com.microsoft, with a mask of keys, a past, no look ahead",
     f"@onnx_attention_of({text(x)}, {text(w)}, bias={text(b)}, "
     f"mask_index={text(lengths)}, past={text(past)}, num_heads=2, "
     "unidirectional=1).0",
     (softmax(score) @ v).swapaxes(1, 2).reshape(2, 3, 4))

q, k, v, b = values(1, 2, 4), values(1, 3, 4), values(1, 3, 4), values(12)
heads = lambda t: t.reshape(1, -1, 2, 2).swapaxes(1, 2)
score = (heads(q + b[:4]) @ heads(k + b[4:8]).swapaxes(2, 3) * 0.3
         + np.array([0, 0, -10000]))
case("MultiHeadAttention, of the first keys",
     f"@onnx_multi_head_attention({text(q)}, {text(k)}, {text(v)}, "
     f"bias={text(b)}, key_padding_mask=[2], num_heads=2, scale=0.3f).0",
     (softmax(score) @ heads(v + b[8:])).swapaxes(1, 2).reshape(1, 2, 4))

ids, words, where_ = np.array([[2, 0]]), values(3, 4), values(5, 4)
kinds, g, b = values(2, 4), values(4), values(4)
s = words[ids] + where_[None, :2] + kinds[[[1, 0]]]
case("EmbedLayerNormalization",
     f"@onnx_embed_layer_normalization({text(ids)}, {text(words)}, "
     f"{text(where_)}, {text(g)}, {text(b)}, segment_ids=[[1, 0]], "
     f"segment={text(kinds)}).0",
     (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True)) * g + b)

for bits, zeros in ((4, True), (8, False)):
    per = 8 // bits
    q = rng.integers(0, 2 ** bits, (3, 2, 4)).astype(np.uint8)
    low = rng.integers(0, 2 ** bits, (3, 2)).astype(np.uint8)
    pack = lambda t: sum(t[..., i::per].astype(np.int64) << (bits * i)
                         for i in range(per)).astype(np.uint8)
    scale, a = 0.1 * values(3, 2), values(2, 7)
    scale = scale.astype(np.float32)
    zero = low if zeros else np.full((3, 2), 2 ** (bits - 1))
    w = ((q - zero[..., None].astype(np.int64)) * scale[..., None])
    more = f", zero_points={text(pack(low).ravel())}" if zeros else ""
    case(f"MatMulNBits of {bits}",
         f"@onnx_mat_mul_n_bits({text(a)}, {text(pack(q))}, "
         f"{text(scale.ravel())}, K=7, N=3, bits={bits}, block_size=4{more})",
         (a @ w.reshape(3, 8)[:, :7].T), 1e-4)

# --- ai.onnx.ml ---------------------------------------------------------------

TESTS = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal,
         np.not_equal]


def forest(trees, features, ids):
    """Random trees as lists of nodes, whose numbers are in no order, and of
    weights at their leaves."""
    nodes, leaves = [], []
    for tree in range(trees):
        numbers = list(rng.permutation(40))
        def grow(depth):
            n = int(numbers.pop())
            if depth == 3 or (depth and rng.random() < 0.3):
                nodes.append((tree, n, 6, 0, 0, 0, 0, 0))
                for k in rng.choice(ids, 2, replace=False) if ids > 1 else [0]:
                    leaves.append((tree, n, int(k), float(values())))
                return n
            at = len(nodes)
            nodes.append(None)
            yes, no = grow(depth + 1), grow(depth + 1)
            nodes[at] = (tree, n, int(rng.integers(0, 4)),
                         int(rng.integers(features)), float(values()),
                         int(rng.integers(2)), yes, no)
            return n
        grow(0)
    return nodes, leaves


def weights_of(nodes, leaves, row):
    """(id, weight) of each leaf that the row comes to."""
    at = {(t, n): rest for t, n, *rest in nodes}
    first = {}
    for t, n, *_ in nodes:
        first.setdefault(t, n)
    for t, n in first.items():
        while at[t, n][0] != 6:
            mode, feature, value, missing, yes, no = at[t, n]
            v = row[feature]
            true = (np.isnan(v) and missing) or TESTS[mode](v, np.float32(value))
            n = yes if true else no
        yield from ((k, w) for u, m, k, w in leaves if (u, m) == (t, n))


def attributes(nodes, leaves, what):
    names = ("treeids nodeids modes featureids values "
             "missing_value_tracks_true truenodeids falsenodeids").split()
    parts = [f"nodes_{name}={text(np.array(column, np.float32 if name == 'values' else np.int32))}"
             for name, column in zip(names, zip(*nodes))]
    names = ["treeids", "nodeids", "ids", "weights"]
    parts += [f"{what}_{name}={text(np.array(column, np.float32 if name == 'weights' else np.int32))}"
              for name, column in zip(names, zip(*leaves))]
    return ", ".join(parts)


x = values(5, 3)
x[1, 1] = x[2, 0] = np.nan
rows = f"where({text(np.isnan(x))}, nanf, {text(np.nan_to_num(x))})"
nodes, leaves = forest(4, 3, 3)
for name, start, join in (("SUM", 0, lambda a, b: a + b),
                          ("MIN", np.inf, min), ("AVERAGE", 0, lambda a, b: a + b / 4)):
    want = np.full((5, 3), start, np.float64)
    for i in range(5):
        for k, w in weights_of(nodes, leaves, x[i]):
            want[i, k] = join(want[i, k], w)
    want = np.where(np.isinf(want), 1e30, want)
    rows = f"where({text(np.isnan(x))}, nanf, {text(np.nan_to_num(x))})"
    call = (f"@onnx_tree_ensemble_regressor({rows}, n_targets=3, "
            f'aggregate_function="{name}", {attributes(nodes, leaves, "target")})')
    case(f"TreeEnsembleRegressor, {name}", f"minimum({call}, 1e30f)", want, 1e-4)

nodes, leaves = forest(3, 3, 1)
score = np.array([sum(w for _, w in weights_of(nodes, leaves, r)) for r in x])
rows = f"where({text(np.isnan(x))}, nanf, {text(np.nan_to_num(x))})"
case("TreeEnsembleClassifier of two classes that have one score",
     f"@onnx_tree_ensemble_classifier({rows}, classlabels_int64s=[7i64, 9i64], "
     f'post_transform="LOGISTIC", {attributes(nodes, leaves, "class")}).1',
     1 / (1 + np.exp(np.stack([score, -score], 1))))

x, w, b = values(4, 3), values(3, 3), values(3)
score = x @ w.T + b
case("LinearClassifier, its labels",
     f"@onnx_linear_classifier({text(x)}, classlabels_ints=[5i64, 6i64, 9i64], "
     f"coefficients={text(w.ravel())}, intercepts={text(b)}).0",
     np.array([5, 6, 9])[score.argmax(1)], 0)
case("its scores", f"@onnx_linear_classifier({text(x)}, "
     f"classlabels_ints=[5i64, 6i64, 9i64], coefficients={text(w.ravel())}, "
     f'intercepts={text(b)}, post_transform="SOFTMAX").1', softmax(score))
v, c = values(5, 3), values(5)
far = ((x[:, None] - v[None]) ** 2).sum(-1)
case("SVMRegressor", f"@onnx_svm_regressor({text(x)}, coefficients={text(c)}, "
     'kernel_params=[0.5f, 0f, 3f], kernel_type="RBF", n_supports=5, '
     f"rho=[0.25f], support_vectors={text(v.ravel())})",
     (np.exp(-0.5 * far) @ c + 0.25)[:, None])
case("LinearClassifier, labels that are strings",
     f'@onnx_linear_classifier({text(x)}, classlabels_strings=["a\\0", "bc", '
     f'"d\\0"], coefficients={text(w.ravel())}, intercepts={text(b)}).0',
     np.array([[97, 0], [98, 99], [100, 0]])[score.argmax(1)], 0)
case("PROBIT, within a hundredth of the quantiles of the normal distribution",
     "@onnx_probit([0.5f, 0.84134475f, 0.15865525f, 0.9772499f])",
     [0, 1, -1, 2], 1e-2)


def kernel_of(name, x, v, gamma, coef, degree):
    dot = x @ v.T
    return {"LINEAR": dot, "POLY": (gamma * dot + coef) ** degree,
            "RBF": np.exp(-gamma * ((x[:, None] - v[None]) ** 2).sum(-1)),
            "SIGMOID": np.tanh(gamma * dot + coef)}[name]


def comparisons(kernel, coefs, counts, rho):
    """As libsvm has them: for i < j, the vectors of i weigh by row j - 1, those
    of j by row i."""
    start = np.concatenate([[0], np.cumsum(counts)])
    votes, scores = np.zeros((len(kernel), len(counts)), int), []
    for i, j in itertools.combinations(range(len(counts)), 2):
        a, b = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
        s = kernel[:, a] @ coefs[j - 1, a] + kernel[:, b] @ coefs[i, b]
        s = s + rho[len(scores)]
        votes[s > 0, i] += 1
        votes[s <= 0, j] += 1
        scores.append(s)
    return votes, np.stack(scores, 1)


def coupled(r):
    """The p of sum 1 for which sum_ij (r_ji p_i - r_ij p_j)^2 is least, from its
    linear equations, not by the iteration."""
    k = len(r)
    q = -r.T * r
    np.fill_diagonal(q, 0)
    for i in range(k):
        q[i, i] = sum(r[j, i] ** 2 for j in range(k) if j != i)
    whole = np.block([[q, np.ones((k, 1))], [np.ones((1, k)), 0]])
    return np.linalg.solve(whole, [0] * k + [1])[:k]


for name, counts in (("POLY", [2, 1, 3]), ("RBF", [1, 2, 2, 2]),
                     ("SIGMOID", [3, 2])):
    k, n = len(counts), sum(counts)
    pairs = k * (k - 1) // 2
    x, v, coefs = values(6, 3), values(n, 3), values(k - 1, n)
    rho, a, b = values(pairs), -np.abs(values(pairs)), values(pairs)
    votes, scores = comparisons(kernel_of(name, x, v, 0.5, 0.25, 2), coefs,
                                counts, rho)
    machine = lambda more: (
        f"@onnx_svm_classifier({text(x)}, classlabels_ints="
        f"{[f'{10 * c}i64' for c in range(k)]}, coefficients="
        f"{text(coefs.ravel())}, kernel_params=[0.5f, 0.25f, 2f], "
        f'kernel_type="{name}", rho={text(rho)}, support_vectors='
        f"{text(v.ravel())}, vectors_per_class={counts}{more})").replace("'", "")
    case(f"SVMClassifier, {name}, its labels", machine("") + ".0",
         10 * votes.argmax(1), 0)
    case("its scores", machine("") + ".1", scores if k > 2 else
         np.concatenate([-scores, scores], 1), 1e-4)
    r = np.zeros((6, k, k))
    for c, (i, j) in enumerate(itertools.combinations(range(k), 2)):
        r[:, i, j] = 1 - 1 / (1 + np.exp(-(scores[:, c] * a[c] + b[c])))
        r[:, j, i] = 1 - r[:, i, j]
    # The iteration ends within 0.005 / k of the equations' solution.
    case("its probabilities",
         machine(f", prob_a={text(a)}, prob_b={text(b)}") + ".1",
         [coupled(row) for row in r], 2e-2)

# --- Recurrent layers ---------------------------------------------------------

sigmoid = lambda t: 1 / (1 + np.exp(-t))


def lstm(x, product, back, bias, p, f, g, h, lens):
    """One direction: rows of x are steps, gates in the order i, o, f, c."""
    n, k = x.shape[1], len(p) // 3
    state, cell, out = np.zeros((n, k)), np.zeros((n, k)), []
    for t, inputs in enumerate(product(x)):
        i, o, forget, c = np.split(inputs + back(state) + bias, 4, 1)
        i, forget = f(i + p[:k] * cell), f(forget + p[2 * k:] * cell)
        new = forget * cell + i * g(c)
        row = f(o + p[k:2 * k] * new) * h(new)
        on = (t < lens)[:, None]
        state, cell = np.where(on, row, state), np.where(on, new, cell)
        out.append(np.where(on, row, 0))
    return np.stack(out), state, cell


x, w, r = values(3, 2, 2), values(1, 8, 2), values(1, 8, 2)
b, p, lens = values(1, 16), values(1, 6), np.array([3, 2], np.int32)
want = lstm(x, lambda t: t @ w[0].T, lambda t: t @ r[0].T, b[0, :8] + b[0, 8:],
            p[0], lambda t: np.clip(0.3 * t + 0.4, 0, 1),
            lambda t: np.where(t < 0, 0.1 * t, t), lambda t: 1.5 * np.tanh(0.5 * t),
            lens)
layer = (f"@onnx_lstm({text(x)}, {text(w)}, {text(r)}, b={text(b)}, "
         f"sequence_lens={text(lens)}, p={text(p)}, "
         'activations=("HardSigmoid", "LeakyRelu", "ScaledTanh"), '
         "activation_alpha=[0.3f, 0.1f, 1.5f], activation_beta=[0.4f, 0.5f])")
case("LSTM, whose activations have numbers", layer + ".0", want[0][:, None])
for i, v in enumerate((x, w, r, b, lens, p)):
    text(v)
case("its last cell", layer + ".2", want[2][None])


def quantized(t):
    """As DynamicQuantizeLinear, of the whole tensor."""
    low, high = min(t.min(), 0), max(t.max(), 0)
    scale = np.float32((high - low) / 255) if high > low else np.float32(1)
    zero = np.rint(np.clip(-low / scale, 0, 255))
    return np.clip(np.rint(t / scale) + zero, 0, 255) - zero, scale


x = values(3, 2, 3)
w, r = [rng.integers(-99, 99, s).astype(np.int8) for s in ((2, 3, 8), (2, 2, 8))]
w_scale, r_scale = np.abs(values(2, 8)) / 60, np.abs(values(2)) / 60
w_scale, r_scale = w_scale.astype(np.float32), r_scale.astype(np.float32)
r_zero = np.array([3, -2], np.int8)
def times(m, scale, zero):
    def product(t):
        q, s = quantized(t.astype(np.float32))
        return q @ (m.astype(np.float64) - zero) * (s * scale)
    return product
ways = [lstm(x[::s], times(w[i], w_scale[i], 0),
             times(r[i], r_scale[i], r_zero[i]), 0, np.zeros(6), sigmoid,
             np.tanh, np.tanh, np.array([3, 3])) for i, s in enumerate((1, -1))]
layer = (f"@onnx_dynamic_quantize_lstm({text(x)}, {text(w)}, {text(r)}, "
         f"{text(w_scale)}, {text(np.zeros((2, 8), np.int8))}, "
         f"{text(r_scale)}, {text(r_zero)}, "
         'direction="bidirectional")')
case("DynamicQuantizeLSTM, both ways", layer + ".0",
     np.stack([ways[0][0], ways[1][0][::-1]], 1))

# --- Strings ------------------------------------------------------------------

def strings(words):
    """As a tensor of bytes."""
    rows = [w.encode() for w in words]
    longest = max([1] + [len(w) for w in rows])
    return np.array([list(w.ljust(longest, b"\0")) for w in rows], np.uint8)


letters = np.array(list("ab- "))
for delimiter, most in (("", -1), ("", 1), ("-", -1), ("ab", 2), ("aa", -1)):
    words = ["".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(6)]
    words += ["aaaaa", "-a-", "abbab-abab"]
    pieces = [w.split(delimiter or None, most) for w in words]
    count = max(map(len, pieces))
    table = strings([p for row in pieces for p in row + [""] * (count - len(row))])
    call = (f'@onnx_string_split({text(strings(words))}, '
            f'delimiter="{delimiter}", maxsplit={most})')
    case(f"StringSplit at `{delimiter}`, up to {most} times", call + ".0",
         table.reshape(len(words), count, -1), 0)
    text(strings(words))
    case("how many", call + ".1",
         np.array([len(p) for p in pieces]), 0)

words = ["1", "-2.5", "+.5", "6.02e23", "1E-7", "0.1", "123456.789", "-0",
         "3.40282347e+38", "00012.50", "0.0000000000000000123"]
ratios = lambda suffix: (
    f"@onnx_string_number({text(strings(words))}, 0{suffix}) / "
    f"[{', '.join(repr(float(w) or 1.0) + suffix for w in words)}]")
case("Cast of strings to float32", ratios("f"),
     [float(w) and 1 for w in words], 0)
case("to float64, within a unit of the last place", ratios("f64"),
     [float(w) and 1 for w in words], 2 ** -52)
words = ["1234567", "-9", "9007199254740993", "0"]
case("to int64", f"@onnx_string_number({text(strings(words))}, 0i64) - "
     f"[{', '.join(w + 'i64' for w in words)}]", [0] * 4, 0)
