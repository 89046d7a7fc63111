"""Cases of quantized operators.  Everything is computed as Relay's own lowering
describes it: products by their four terms on the stored integers, sums by
requantized operands, ratios by a 31-bit factor and a shift, in Python's
unbounded integers.  Functions of real numbers are computed in float64, and
inputs whose result lies near a tie are refused."""
import itertools
import math

import numpy as np

from case_files import case

rng = np.random.default_rng(176)
f32 = np.float32
RANGE = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max))
         for d in ("int8", "uint8", "int16", "uint16", "int32")}


def write(name, body, inputs, outputs, dims=None):
    case(name, body, [(k, np.asarray(v)) for k, v in inputs.items()], outputs,
         dims=dims or {})


def stored(shape, dtype, least=None, most=None):
    low, high = RANGE[dtype]
    low = low if least is None else least
    high = high if most is None else most
    return rng.integers(low, high + 1, shape).astype(dtype)


def clipped(values, dtype):
    low, high = RANGE[dtype]
    flat = [min(max(int(v), low), high) for v in np.asarray(values).ravel()]
    return np.array(flat, dtype=object).astype(dtype).reshape(
        np.asarray(values).shape)


def factor_and_shift(ratio):
    if ratio == 0:
        return 0, 0
    fraction, exponent = math.frexp(ratio)
    factor = int(math.floor(abs(fraction) * 2**31 + 0.5))
    factor = factor if fraction > 0 else -factor
    if factor == 2**31:
        factor, exponent = 2**30, exponent + 1
    return factor, exponent


def scaled(x, ratio):
    """x times a ratio in fixed point, halves up."""
    factor, shift = factor_and_shift(ratio)
    return fixed(x, factor, shift)


def fixed(x, factor, shift):
    right = 31 - shift if shift < 0 else 31
    left = shift if shift > 0 else 0
    return ((int(x) << left) * int(factor) + (1 << (right - 1))) >> right


def per_axis(values, shape, axis):
    """One value for each element, along an axis."""
    values = np.asarray(values)
    if values.ndim == 0:
        return np.full(shape, values)
    view = [1] * len(shape)
    view[axis] = len(values)
    return np.broadcast_to(values.reshape(view), shape)


def requantize(x, s1, z1, s2, z2, axis=-1):
    x = np.asarray(x)
    s, z = per_axis(f32(s1), x.shape, axis), per_axis(z1, x.shape, axis)
    out = [scaled(int(v) - int(zero), float(scale) / float(f32(s2))) + z2
           for v, scale, zero in zip(x.ravel(), s.ravel(), z.ravel())]
    return np.array(out, dtype=object).reshape(x.shape)


def lit(v):
    return "%sf" % repr(float(f32(v))) if isinstance(v, float) else str(v)


# --- Functions of one tensor -------------------------------------------------


def quantized_real(values, scale, zero, dtype):
    """round(v / scale) + zero, of float64 values far from ties."""
    q = np.asarray(values, np.float64) / float(f32(scale))
    away = np.abs(np.abs(q) % 1 - 0.5)
    assert np.all(away[np.isfinite(q) & (np.abs(q) < 1e6)] > 1e-3), away.min()
    low, high = RANGE[dtype]
    r = np.sign(q) * np.floor(np.abs(q) + 0.5) + zero
    r = np.where(np.isnan(r), high, r)
    return np.clip(r, low, high).astype(dtype)


def far_from_ties(x, fn, s1, z1, s2):
    with np.errstate(all="ignore"):
        real = (x.astype(np.float64) - z1) * float(f32(s1))
        q = fn(real) / float(f32(s2))
        return ~(np.abs(np.abs(q) % 1 - 0.5) <= 2e-3)


erf = np.vectorize(math.erf, otypes=[np.float64])
UNARY = {
    "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt,
    "rsqrt": lambda v: 1 / np.sqrt(v), "erf": erf,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "log": np.log, "abs": np.abs,
    "hardswish": lambda v: v * np.clip(v + 3, 0, 6) / 6,
}


def unary_cases():
    positive = ("sqrt", "rsqrt", "log")
    for name, fn in UNARY.items():
        pos = name in positive
        for i, (tag, dtype, shape, s1, z1, s2, z2, dims) in enumerate([
                ("i8", "int8", (4, 9), 0.03, -128 if pos else 3, 0.02, -7, None),
                ("u8", "uint8", (3, 11), 0.017, 0 if pos else 120, 0.011, 9,
                 None),
                ("saturates", "int8", (40,), 0.11, -128 if pos else 0, 0.003,
                 5, None),
                ("u8_3d", "uint8", (2, 3, 5), 0.05, 0 if pos else 131, 0.04,
                 128, None),
                ("scalar", "int8", (), 0.07, -20, 0.013, 1, None),
                ("any", "uint8", (5, 4), 0.021, 0 if pos else 77, 0.03, 100,
                 ["?", "4"])]):
            low = z1 + 1 if pos and name != "sqrt" else None
            x = stored(shape, dtype, low if not pos or shape else 1)
            for _ in range(200):
                bad = ~far_from_ties(x, fn, s1, z1, s2)
                if not bad.any():
                    break
                x = np.where(bad, stored(shape, dtype, low if not pos or shape
                                         else 1), x).astype(dtype)
            with np.errstate(all="ignore"):
                real = fn((x.astype(np.float64) - z1) * float(f32(s1)))
                out = quantized_real(real, s2, z2, dtype)
            write("qnn.%s__%s" % (name, tag),
                  "qnn.%s(%%x, %s, %d, %s, %d)" % (name, lit(s1), z1, lit(s2),
                                                  z2),
                  {"x": x}, [out], dims={"x": dims} if dims else None)


def leaky_cases():
    for tag, dtype, shape, alpha, s1, z1, s2, z2, dims in [
            ("i8", "int8", (5, 7), 0.25, 0.1, 0, 0.1, 0, None),
            ("i8_zero_points", "int8", (5, 7), 0.1, 0.125, 10, 0.17, -20, None),
            ("u8", "uint8", (4, 9), 0.3, 0.125, 128, 0.17, 100, None),
            ("u8_saturates", "uint8", (64,), 0.9, 0.3, 90, 0.05, 30, None),
            ("negative_alpha", "int8", (30,), -0.5, 0.1, 3, 0.2, 4, None),
            ("alpha_zero", "int8", (30,), 0.0, 0.1, 3, 0.2, 4, None),
            ("alpha_two", "int8", (30,), 2.0, 0.1, -3, 0.2, 4, None),
            ("any", "uint8", (3, 4), 0.2, 0.1, 100, 0.2, 50, ["?", "?"])]:
        x = stored(shape, dtype)
        r = requantize(x, s1, z1, s2, z2)
        alpha = float(f32(alpha))  # as the literal has it
        rest = scaled(z2, 1 - alpha)
        out = [scaled(v, alpha) + rest if int(q) < z1 else v
               for q, v in zip(x.ravel(), r.ravel())]
        write("qnn.leaky_relu__" + tag,
              "qnn.leaky_relu(%%x, %s, %d, %s, %d, alpha=%sf)" % (
                  lit(s1), z1, lit(s2), z2, repr(f32(alpha).item())), {"x": x},
              [clipped(np.array(out, object).reshape(shape), dtype)],
              dims={"x": dims} if dims else None)


def wrap(v):
    return (int(v) + 2**31) % 2**32 - 2**31


def softmax_line(line, scale, z, s2, z2):
    one = int(math.floor(float(f32(1) / f32(scale)) + 0.5))
    x = [int(v) - z for v in line]
    x = [v - max(x) for v in x]
    powers = [v + (v >> 1) - (v >> 4) for v in x]
    q = [min(max(-(-p // one) if p > 0 else (-p) // one, 0), 20)
         for p in powers]
    r = [p + k * one for p, k in zip(powers, q)]
    exps = [wrap(((v >> 1) + one) << (max(q) - k)) for v, k in zip(r, q)]
    share = (1 << 30) // wrap(sum(exps))
    out = [wrap(share * e) >> 23 for e in exps]
    return requantize(np.array(out, object), f32(1 / 128), 0, s2, z2)


def softmax_cases():
    for tag, shape, axis, s1, z1, s2, z2, dims in [
            ("last", (4, 6), -1, 0.125, 0, 0.0078125, 0, None),
            ("output_scale", (4, 6), 1, 0.25, 3, 0.00390625, -128, None),
            ("axis0", (5, 3), 0, 0.1, -4, 0.0078125, 0, None),
            ("middle", (2, 5, 3), 1, 0.07, 0, 0.01, -10, None),
            ("negative_axis", (2, 4, 3), -2, 0.5, 7, 0.00390625, -128, None),
            ("scale_one", (3, 4), -1, 1.0, 0, 0.0078125, 0, None),
            ("one_element", (3, 1), -1, 0.125, 0, 0.0078125, 0, None),
            ("any", (3, 4), -1, 0.03125, 0, 0.0078125, 0, ["?", "4"])]:
        x = stored(shape, "int8")
        if tag == "scale_one":
            x = stored(shape, "int8", -10, 2)
        out = np.apply_along_axis(
            lambda l: softmax_line(l, s1, z1, s2, z2), axis, x.astype(object))
        write("qnn.softmax__" + tag,
              "qnn.softmax(%%x, %s, %d, %s, %d, axis=%d)" % (
                  lit(s1), z1, lit(s2), z2, axis), {"x": x},
              [clipped(out, "int8")], dims={"x": dims} if dims else None)


def pool_cases():
    for tag, dtype, shape, layout, k, st, pad, inc, s1, z1, s2, z2 in [
            ("u8", "uint8", (1, 2, 5, 6), "NCHW", (2, 3), (1, 1), (0, 0), False,
             0.1, 5, 0.1, 5),
            ("i8", "int8", (2, 3, 6, 6), "NCHW", (3, 3), (2, 2), (0, 0), False,
             0.1, -5, 0.13, 7),
            ("nhwc", "uint8", (1, 5, 5, 3), "NHWC", (2, 2), (1, 2), (0, 0),
             False, 0.2, 128, 0.1, 3),
            ("padding", "uint8", (1, 2, 4, 4), "NCHW", (3, 3), (1, 1), (1, 1),
             False, 0.1, 9, 0.2, 4),
            ("padding_counts", "uint8", (1, 2, 4, 4), "NCHW", (3, 3), (1, 1),
             (1, 1), True, 0.1, 9, 0.2, 4),
            ("saturates", "int8", (1, 1, 4, 4), "NCHW", (2, 2), (1, 1), (0, 0),
             False, 1.0, 0, 0.25, 0),
            ("whole", "uint8", (1, 3, 3, 3), "NCHW", (3, 3), (1, 1), (0, 0),
             False, 0.07, 11, 0.07, 11)]:
        x = stored(shape, dtype)
        r = requantize(x, s1, z1, s2, z2)
        nchw = r if layout == "NCHW" else r.transpose(0, 3, 1, 2)
        n, c, h, w = nchw.shape
        oh = (h + 2 * pad[0] - k[0]) // st[0] + 1
        ow = (w + 2 * pad[1] - k[1]) // st[1] + 1
        out = np.empty((n, c, oh, ow), object)
        for b, i, y, z in itertools.product(*map(range, out.shape)):
            cells = [nchw[b, i, yy, zz]
                     for yy in range(y * st[0] - pad[0], y * st[0] - pad[0]
                                     + k[0])
                     for zz in range(z * st[1] - pad[1], z * st[1] - pad[1]
                                     + k[1])
                     if 0 <= yy < h and 0 <= zz < w]
            count = k[0] * k[1] if inc else len(cells)
            total = sum(cells)
            out[b, i, y, z] = abs(total) // count * (1 if total >= 0 else -1)
        if layout == "NHWC":
            out = out.transpose(0, 2, 3, 1)
        write("qnn.avg_pool2d__" + tag,
              "qnn.avg_pool2d(%%x, %s, %d, %s, %d, pool_size=[%d, %d], "
              "strides=[%d, %d], padding=[%d, %d]%s%s)" % (
                  lit(s1), z1, lit(s2), z2, *k, *st, *pad,
                  ', layout="NHWC"' if layout == "NHWC" else "",
                  ", count_include_pad=True" if inc else ""),
              {"x": x}, [clipped(out, dtype)])


# --- Functions of two tensors ------------------------------------------------


def binary_cases():
    vec = lambda *v: np.array(v, f32)
    zvec = lambda *v: np.array(v, np.int32)
    for op in ("add", "subtract", "mul"):
        for tag, dtype, a, b, s1, z1, s2, z2, s3, z3, la, ra, dims in [
                ("u8", "uint8", (3, 5), (3, 5), 0.1, 10, 0.2, 20, 0.3, 5, -1,
                 -1, None),
                ("i8", "int8", (3, 5), (3, 5), 0.1, -10, 0.07, 20, 0.05, 3, -1,
                 -1, None),
                ("same_scale", "uint8", (40,), (40,), 0.125, 0, 0.125, 0, 0.125,
                 0, -1, -1, None),
                ("broadcast", "int8", (2, 3, 4), (3, 1), 0.2, 1, 0.3, 2, 0.5,
                 -4, -1, -1, None),
                ("saturates", "int8", (50,), (50,), 1.0, 0, 0.9, 4, 0.2, 0, -1,
                 -1, None),
                ("scalar", "uint8", (6,), (), 0.1, 7, 0.9, 3, 0.4, 128, -1, -1,
                 None),
                ("i32", "int32", (20,), (20,), 0.1, 7, 0.9, 3, 0.4, 128, -1, -1,
                 None),
                ("channels", "uint8", (2, 3, 4), (2, 3, 4), vec(.1, .2, .3),
                 zvec(1, 2, 3), vec(.3, .1, .2), zvec(9, 8, 7), 0.4, 5, 1, 1,
                 None),
                ("channels_lhs", "int8", (4, 3), (4, 3), vec(.1, .2, .3),
                 zvec(0, -2, 3), 0.3, 4, 0.4, 5, -1, -1, None),
                ("any", "uint8", (3, 5), (3, 5), 0.1, 10, 0.2, 20, 0.3, 5, -1,
                 -1, ["?", "5"])]:
            wide = (-2000, 2000) if dtype == "int32" else (None, None)
            x, y = stored(a, dtype, *wide), stored(b, dtype, *wide)
            ia = la if len(a) > 1 else 0
            ib = ra if len(b) > 1 else 0
            if op == "mul":
                px = x.astype(object) - per_axis(z1, a, ia).astype(object)
                py = y.astype(object) - per_axis(z2, b, ib).astype(object)
                q = np.asarray(px * py, object)
                s = f32(s1) * f32(s2)
                out = requantize(q, s, 0, s3, z3, la)
            else:
                px = requantize(x, s1, z1, s3, z3, ia)
                py = requantize(y, s2, z2, s3, z3, ib)
                out = px + py - z3 if op == "add" else px - py + z3
                out = np.asarray(out, object)
            inputs = {"x": x, "y": y}
            text = []
            for key, v in (("s1", s1), ("z1", z1), ("s2", s2), ("z2", z2)):
                if isinstance(v, np.ndarray):
                    inputs[key] = v
                text.append("%" + key if isinstance(v, np.ndarray) else lit(v))
            write("qnn.%s__%s" % (op, tag),
                  "qnn.%s(%%x, %%y, %s, %s, %d%s)" % (
                      op, ", ".join(text), lit(s3), z3,
                      "" if (la, ra) == (-1, -1) else
                      ", lhs_axis=%d, rhs_axis=%d" % (la, ra)),
                  inputs, [clipped(out, dtype)],
                  dims={"x": dims, "y": dims} if dims else None)


def concatenate_cases():
    for tag, dtype, shapes, axis, s, z, s2, z2 in [
            ("u8", "uint8", [(2, 3), (2, 4)], 1, [0.1, 0.2], [3, 9], 0.2, 9),
            ("i8", "int8", [(2, 3), (1, 3)], 0, [0.1, 0.3], [-3, 9], 0.15, -1),
            ("negative_axis", "int8", [(2, 3), (2, 1)], -1, [0.1, 0.3], [-3, 9],
             0.15, -1),
            ("same", "uint8", [(2, 3), (2, 3)], 0, [0.1, 0.1], [7, 7], 0.1, 7),
            ("three", "uint8", [(2,), (3,), (1,)], 0, [0.1, 0.2, 0.7],
             [7, 0, 255], 0.3, 100),
            ("one", "int8", [(3, 2)], 0, [0.5], [0], 0.25, 0),
            ("saturates", "int8", [(9,), (9,)], 0, [1.0, 0.2], [0, 5], 0.1,
             4)]:
        parts = [stored(sh, dtype) for sh in shapes]
        out = np.concatenate([requantize(p, si, zi, s2, z2)
                              for p, si, zi in zip(parts, s, z)], axis)
        names = ["x%d" % i for i in range(len(parts))]
        comma = "," if len(parts) == 1 else ""
        write("qnn.concatenate__" + tag,
              "qnn.concatenate((%s%s), (%s%s), (%s%s), %s, %d, axis=%d)" % (
                  ", ".join("%" + n for n in names), comma,
                  ", ".join(map(lit, s)), comma, ", ".join(map(str, z)), comma,
                  lit(s2), z2, axis),
              dict(zip(names, parts)), [clipped(out, dtype)])


# --- Products, by their four terms -------------------------------------------


def dense_cases():
    for tag, dx, dw, a, n, zx, zw, out, dims in [
            ("u8_i8", "uint8", "int8", (3, 7), 4, 11, 5, "int32", None),
            ("no_zero_points", "int8", "int8", (3, 7), 4, 0, 0, "int32", None),
            ("only_data", "uint8", "uint8", (2, 5), 3, 128, 0, "int32", None),
            ("only_weight", "uint8", "uint8", (2, 5), 3, 0, 128, "int32", None),
            ("channels", "uint8", "int8", (3, 6), 4, 7,
             np.array([1, -2, 3, 0], np.int32), "int32", None),
            ("i16", "int16", "int8", (2, 6), 3, 100, 2, "int32", None),
            ("i64", "int16", "int8", (2, 40), 3, -30000, 2, "int64", None),
            ("rank1", "int8", "int8", (6,), 3, 1, 2, "int32", None),
            ("rank3", "uint8", "int8", (2, 3, 5), 4, 1, 2, "int32", None),
            ("long", "uint8", "uint8", (2, 700), 5, 255, 255, "int32", None),
            ("any", "uint8", "int8", (3, 4), 2, 9, -3, "int32", ["?", "4"])]:
        x, w = stored(a, dx), stored((n, a[-1]), dw)
        X, W = x.astype(object), w.astype(object)
        Zw = np.asarray(zw, object)
        terms = (X @ W.T - Zw * X.sum(-1, keepdims=True) - zx * W.sum(1)
                 + zx * Zw * a[-1])
        inputs = {"x": x, "w": w}
        zero = str(zw)
        if isinstance(zw, np.ndarray):
            inputs["zw"], zero = zw, "%zw"
        write("qnn.dense__" + tag,
              'qnn.dense(%%x, %%w, %d, %s, 0.1f, 0.2f, units=%d, '
              'out_dtype="%s")' % (zx, zero, n, out), inputs,
              [terms.astype(out)], dims={"x": dims} if dims else None)


def batch_matmul_cases():
    for tag, dx, dy, a, b, zx, zy, dims in [
            ("u8", "uint8", "uint8", (2, 3, 4), (2, 5, 4), 10, 20, None),
            ("i8_u8", "int8", "uint8", (2, 3, 4), (2, 5, 4), -10, 128, None),
            ("no_zero_points", "int8", "int8", (1, 3, 4), (1, 2, 4), 0, 0,
             None),
            ("only_x", "int8", "int8", (3, 1, 4), (3, 2, 4), 5, 0, None),
            ("only_y", "int8", "int8", (3, 1, 4), (3, 2, 4), 0, 5, None),
            ("broadcast", "uint8", "int8", (3, 2, 4), (1, 5, 4), 1, 2, None),
            ("any", "uint8", "int8", (3, 2, 4), (3, 5, 4), 1, 2,
             ["?", "2", "4"])]:
        x, y = stored(a, dx), stored(b, dy)
        X, Y = x.astype(np.int64), y.astype(np.int64)
        out = (np.einsum("bmk,bnk->bmn", *np.broadcast_arrays(X[:, :1] * 0, X)
                         [1:], np.broadcast_to(Y, (a[0],) + b[1:]))
               - zy * X.sum(2)[:, :, None]
               - zx * Y.sum(2)[:, None, :] + zx * zy * a[2])
        write("qnn.batch_matmul__" + tag,
              "qnn.batch_matmul(%%x, %%y, %d, %d, 0.5f, 0.25f, "
              'out_dtype="int32", transpose_b=True)' % (zx, zy),
              {"x": x, "y": y}, [out.astype(np.int32)],
              dims={"x": dims} if dims else None)


def conv_nchw(x, w, strides, padding, dilation, groups, fill):
    """Loops, on data padded by `fill`; object arithmetic."""
    n, c, h, width = x.shape
    o, i, kh, kw = w.shape
    t, l, b, r = padding
    big = np.full((n, c, h + t + b, width + l + r), fill, object)
    big[:, :, t:t + h, l:l + width] = x
    oh = (h + t + b - dilation[0] * (kh - 1) - 1) // strides[0] + 1
    ow = (width + l + r - dilation[1] * (kw - 1) - 1) // strides[1] + 1
    out = np.zeros((n, o, oh, ow), object)
    for oc in range(o):
        g = oc // (o // groups)
        for ic, y, z in itertools.product(range(i), range(kh), range(kw)):
            part = big[:, g * i + ic,
                       y * dilation[0]:y * dilation[0] + oh * strides[0]:
                       strides[0],
                       z * dilation[1]:z * dilation[1] + ow * strides[1]:
                       strides[1]][:, :oh, :ow]
            out[:, oc] += w[oc, ic, y, z] * part
    return out


def moved(array, frm, to):
    return array.transpose([frm.index(ch) for ch in to])


def conv_cases():
    zvec = lambda *v: np.array(v, np.int32)
    for (tag, dx, dw, c, o, k, st, pad, dil, groups, zx, zw, dl, kl, out,
         dims) in [
            ("u8_i8", "uint8", "int8", 3, 4, (3, 3), (1, 1), (0, 0, 0, 0),
             (1, 1), 1, 11, 3, "NCHW", "OIHW", "int32", None),
            ("no_zero_points", "int8", "int8", 3, 4, (3, 3), (1, 1),
             (1, 1, 1, 1), (1, 1), 1, 0, 0, "NCHW", "OIHW", "int32", None),
            ("only_data", "uint8", "int8", 2, 3, (2, 3), (2, 1), (1, 0, 1, 2),
             (1, 1), 1, 77, 0, "NCHW", "OIHW", "int32", None),
            ("only_weight", "uint8", "uint8", 2, 3, (2, 3), (1, 2),
             (1, 0, 1, 2), (1, 1), 1, 0, 99, "NCHW", "OIHW", "int32", None),
            ("padding", "uint8", "uint8", 2, 2, (3, 3), (1, 1), (2, 1, 0, 1),
             (1, 1), 1, 200, 100, "NCHW", "OIHW", "int32", None),
            ("dilation", "uint8", "int8", 2, 3, (2, 2), (1, 1), (1, 1, 1, 1),
             (2, 2), 1, 5, 7, "NCHW", "OIHW", "int32", None),
            ("nhwc", "uint8", "int8", 3, 4, (3, 2), (1, 1), (1, 1, 1, 1),
             (1, 1), 1, 11, 3, "NHWC", "HWIO", "int32", None),
            ("nhwc_ohwi", "int8", "int8", 3, 4, (3, 2), (1, 1), (0, 0, 0, 0),
             (1, 1), 1, -11, 3, "NHWC", "OHWI", "int32", None),
            ("groups", "uint8", "int8", 4, 6, (3, 3), (1, 1), (1, 1, 1, 1),
             (1, 1), 2, 9, 4, "NCHW", "OIHW", "int32", None),
            ("depthwise", "uint8", "uint8", 4, 4, (3, 3), (1, 1), (1, 1, 1, 1),
             (1, 1), 4, 9, 130, "NCHW", "OIHW", "int32", None),
            ("channels", "uint8", "int8", 3, 4, (3, 3), (1, 1), (1, 1, 1, 1),
             (1, 1), 1, 11, zvec(1, -2, 3, 0), "NCHW", "OIHW", "int32", None),
            ("channels_nhwc", "uint8", "int8", 3, 4, (3, 3), (1, 1),
             (1, 1, 1, 1), (1, 1), 1, 11, zvec(1, -2, 3, 0), "NHWC", "HWIO",
             "int32", None),
            ("i16_i64", "int16", "int8", 2, 3, (3, 3), (1, 1), (1, 1, 1, 1),
             (1, 1), 1, -3000, 3, "NCHW", "OIHW", "int64", None),
            ("out_i16", "int8", "int8", 2, 3, (2, 2), (1, 1), (0, 0, 0, 0),
             (1, 1), 1, 4, 3, "NCHW", "OIHW", "int16", None),
            ("one_by_one", "uint8", "int8", 5, 3, (1, 1), (2, 2), (0, 0, 0, 0),
             (1, 1), 1, 44, 3, "NCHW", "OIHW", "int32", None),
            ("any", "uint8", "int8", 3, 4, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1),
             1, 11, 3, "NCHW", "OIHW", "int32", ["?", "3", "?", "?"])]:
        x = stored((2, c, 6, 7), dx)
        w = stored((o, c // groups) + k, dw)
        X, W = x.astype(object), w.astype(object)
        per_output = np.full(o, zw, object) if not isinstance(
            zw, np.ndarray) else zw.astype(object)
        conv = lambda weight: conv_nchw(X, weight, st, pad, dil, groups, zx)
        ones = np.ones_like(W)
        area = (c // groups) * k[0] * k[1]
        shape = (1, o, 1, 1)
        total = (conv(W) - per_output.reshape(shape) * conv(ones)
                 - zx * W.reshape(o, -1).sum(1).reshape(shape)
                 + zx * per_output.reshape(shape) * area)
        total = np.array([(int(v) + 2**63) % 2**64 - 2**63
                          for v in total.ravel()]).reshape(total.shape)
        inputs = {"x": np.ascontiguousarray(moved(x, "NCHW", dl)),
                  "w": np.ascontiguousarray(moved(w, "OIHW", kl))}
        zero = str(zw)
        if isinstance(zw, np.ndarray):
            inputs["zw"], zero = zw, "%zw"
        layouts = "" if (dl, kl) == ("NCHW", "OIHW") else (
            ', data_layout="%s", kernel_layout="%s"' % (dl, kl))
        write("qnn.conv2d__" + tag,
              "qnn.conv2d(%%x, %%w, %d, %s, 0.5f, 0.25f, strides=%s, "
              "padding=%s, dilation=%s, groups=%d, channels=%d, "
              'kernel_size=%s%s, out_dtype="%s")' % (
                  zx, zero, list(st), list(pad), list(dil), groups, o, list(k),
                  layouts, out),
              inputs, [np.ascontiguousarray(moved(total, "NCHW", dl))
                       .astype(out)], dims={"x": dims} if dims else None)


def conv_transpose_cases():
    for tag, dx, dw, c, o, k, st, pad, extra, groups, zx, zw, kl, dims in [
            ("u8_i8", "uint8", "int8", 3, 2, (3, 3), (1, 1), (0, 0, 0, 0),
             (0, 0), 1, 11, 3, "IOHW", None),
            ("no_zero_points", "int8", "int8", 3, 2, (3, 3), (1, 1),
             (1, 1, 1, 1), (0, 0), 1, 0, 0, "IOHW", None),
            ("strides", "uint8", "int8", 2, 3, (3, 2), (2, 3), (0, 0, 0, 0),
             (0, 0), 1, 50, 3, "IOHW", None),
            ("padding", "uint8", "uint8", 2, 3, (3, 3), (2, 2), (1, 1, 1, 1),
             (0, 0), 1, 50, 130, "IOHW", None),
            ("output_padding", "uint8", "uint8", 2, 3, (3, 3), (2, 2),
             (1, 1, 1, 1), (1, 1), 1, 50, 130, "IOHW", None),
            ("oihw", "int8", "int8", 2, 3, (2, 2), (1, 1), (0, 0, 0, 0), (0, 0),
             1, -5, 4, "OIHW", None),
            ("groups", "int8", "int8", 4, 4, (2, 2), (2, 2), (0, 0, 0, 0),
             (0, 0), 2, -5, 4, "IOHW", None),
            ("any", "uint8", "int8", 3, 2, (3, 3), (1, 1), (0, 0, 0, 0), (0, 0),
             1, 11, 3, "IOHW", ["?", "3", "4", "5"])]:
        x = stored((2, c, 4, 5), dx)
        w = stored((c, o // groups) + k, dw)
        X, W = x.astype(object) - zx, w.astype(object) - zw
        n, _, h, width = x.shape
        full = np.zeros((n, o, (h - 1) * st[0] + k[0] + extra[0],
                         (width - 1) * st[1] + k[1] + extra[1]), object)
        og = o // groups
        for ic, oc, y, z in itertools.product(range(c), range(og), range(h),
                                              range(width)):
            g = ic // (c // groups)
            full[:, g * og + oc, y * st[0]:y * st[0] + k[0],
                 z * st[1]:z * st[1] + k[1]] += (
                X[:, ic, y, z][:, None, None] * W[ic, oc])
        t, l, b, r = pad
        out = full[:, :, t:full.shape[2] - b, l:full.shape[3] - r]
        write("qnn.conv2d_transpose__" + tag,
              "qnn.conv2d_transpose(%%x, %%w, %d, %d, 0.5f, 0.25f, strides=%s, "
              "padding=%s, output_padding=%s, groups=%d, channels=%d, "
              'kernel_size=%s, kernel_layout="%s", out_dtype="int32")' % (
                  zx, zw, list(st), list(pad), list(extra), groups, o, list(k),
                  kl),
              {"x": x, "w": np.ascontiguousarray(moved(w, "IOHW", kl))},
              [np.ascontiguousarray(out).astype(np.int32)],
              dims={"x": dims} if dims else None)


# --- Simulations, fixed point ------------------------------------------------


def simulated_cases():
    codes = {"off": 0, "int8": 1, "uint8": 2, "int32": 3}
    special = np.array([0, -0.0, 1e10, -1e10, np.inf, -np.inf, 0.5, 1.5, 2.5,
                        -0.5, -1.5], f32)
    for tag, kind, x, s, z, axis, dims in [
            ("int8", "int8", rng.normal(0, 8, (4, 6)), 0.1, 3, -1, None),
            ("uint8", "uint8", rng.normal(0, 8, (4, 6)), 0.1, 120, -1, None),
            ("int32", "int32", rng.normal(0, 8, (4, 6)), 0.01, -5, -1, None),
            ("off", "off", rng.normal(0, 8, (4, 6)), 0.1, 3, -1, None),
            ("ties", "int8", special, 1.0, 0, -1, None),
            ("channels", "int8", rng.normal(0, 8, (2, 3, 4)),
             np.array([.1, .2, .3], f32), np.array([1, 2, -3], np.int32), 1,
             None),
            ("last_axis", "uint8", rng.normal(0, 8, (4, 3)),
             np.array([.1, .2, .3], f32), np.array([100, 128, 0], np.int32), -1,
             None),
            ("any", "int8", rng.normal(0, 8, (4, 3)), 0.1, 3, -1, ["?", "?"])]:
        x = np.asarray(x, f32)
        S = per_axis(f32(s), x.shape, axis)
        Z = per_axis(z, x.shape, axis).astype(f32)
        q, d = x, x
        if kind != "off":
            low, high = RANGE[kind]
            v = x / S
            q = np.sign(v) * np.floor(np.abs(v).astype(np.float64) + 0.5)
            q = np.clip(q.astype(f32) + Z, f32(low), f32(high)).astype(f32)
            d = ((np.round(x) - Z) * S).astype(f32)
        inputs = {"x": x}
        text = [lit(s) if isinstance(s, float) else "%s",
                str(z) if isinstance(z, int) else "%z"]
        if not isinstance(s, float):
            inputs.update(s=s, z=z)
        for op, result, data in (("quantize", q, x),
                                 ("dequantize", d, np.round(x) if kind != "off"
                                  else x)):
            if op == "dequantize" and tag == "ties":
                continue
            inputs["x"] = data.astype(f32)
            write("qnn.simulated_%s__%s" % (op, tag),
                  "qnn.simulated_%s(%%x, %d, %s, %s, axis=%d)" % (
                      op, codes[kind], *text, axis), dict(inputs), [result],
                  dims={"x": dims} if dims else None)
    for tag, kind, x, s, low, high in [
            ("input", 1, rng.normal(0, 8, (4, 6)), 0.0625, -127.0, 127.0),
            ("weight", 2, rng.normal(0, 8, (4, 6)), 0.25, -8.0, 7.0),
            ("activation", 3, rng.normal(0, 8, (2, 3, 4)), 0.1, -10.0, 20.0),
            ("identity", 0, rng.normal(0, 8, (4,)), 0.1, -10.0, 20.0),
            ("ties", 1, np.array([0.5, 1.5, -0.5, -2.5, 3.5]), 1.0, -2.0, 3.0),
            ("scalar", 1, np.array(3.3), 0.5, -127.0, 127.0)]:
        x = np.asarray(x, f32)
        v = np.maximum(np.minimum(x / f32(s), f32(high)), f32(low))
        r = (np.sign(v) * np.floor(np.abs(v) + f32(0.5))).astype(f32)
        write("annotation.simulated_quantize__" + tag,
              "relay.op.annotation.simulated_quantize(%%x, %s, %s, %s, kind=%d)"
              % (lit(s), lit(low), lit(high), kind), {"x": x},
              [r * f32(s) if kind else x])


def fixed_cases():
    def wrapped(values, shape):
        return np.array([wrap(v) for v in values], np.int32).reshape(shape)
    any_int = lambda *shape: rng.integers(-2**31, 2**31, shape).astype(np.int32)
    small = lambda *shape: rng.integers(-1000, 1000, shape).astype(np.int32)
    for tag, x, m, shift, dims in [
            ("half", small(5, 6), 2**30, 0, None),
            ("twice", small(5, 6), 2**30, 2, None),
            ("third", small(4, 5), 1431655765, -1, None),
            ("negative", small(4, 5), -1431655765, 0, None),
            ("small", any_int(4, 5), 2147483647, -15, None),
            ("least_shift", any_int(4, 5), 2147483647, -31, None),
            ("overflows", any_int(4, 5), 1987654321, 9, None),
            ("zero", small(3), 0, 3, None),
            ("ties", np.arange(-7, 8).astype(np.int32), 2**30, -1, None),
            ("any", small(3, 2), 2**30 + 12345, 1, ["?", "?"])]:
        out = wrapped([fixed(v, m, shift) for v in x.ravel()], x.shape)
        write("fixed_point_multiply__" + tag,
              "fixed_point_multiply(%%x, multiplier=%d, shift=%d)" % (m, shift),
              {"x": x}, [out], dims={"x": dims} if dims else None)
    for tag, shape, axis, left, right, ul, ur, dims in [
            ("both", (4, 3), 1, [0, 1, 2], [3, 0, 1], True, True, None),
            ("left", (4, 3), 1, [0, 1, 2], [3, 0, 1], True, False, None),
            ("right", (4, 3), 1, [0, 1, 2], [3, 0, 1], False, True, None),
            ("none", (4, 3), 1, [0, 1, 2], [3, 0, 1], False, False, None),
            ("axis0", (3, 4), 0, [0, 1, 2], [0, 0, 4], True, True, None),
            ("middle", (2, 3, 4), 1, [0, 0, 2], [1, 9, 0], True, True, None),
            ("any", (2, 3, 4), 1, [0, 0, 2], [1, 9, 0], True, True,
             ["?", "3", "?"])]:
        x = small(*shape)
        m = rng.integers(2**30, 2**31, 3).astype(np.int32)
        l, r = np.array(left, np.int32), np.array(right, np.int32)
        rows = zip(x.ravel(), per_axis(m, shape, axis).ravel(),
                   per_axis(l, shape, axis).ravel(),
                   per_axis(r, shape, axis).ravel())
        out = []
        for v, f, a, b in rows:
            a, b = int(a) if ul else 0, int(b) if ur else 0
            out.append((((int(v) << a) * int(f)) + (1 << (30 + b)))
                       >> (31 + b))
        write("fixed_point_multiply_per_axis__" + tag,
              "fixed_point_multiply_per_axis(%%x, %%m, %%l, %%r, "
              "is_lshift_required=%s, is_rshift_required=%s, axes=[%d])" % (
                  ul, ur, axis), {"x": x, "m": m, "l": l, "r": r},
              [wrapped(out, shape)], dims={"x": dims} if dims else None)


# --- From and to real numbers ------------------------------------------------


def vectors(scale, zero):
    """Scales and zero points as inputs, where they are vectors, and as text."""
    inputs, text = {}, []
    for name, v in (("s", scale), ("z", zero)):
        if np.ndim(v):
            inputs[name] = np.asarray(v, f32 if name == "s" else np.int32)
            text.append("%" + name)
        else:
            text.append(lit(v))
    return inputs, ", ".join(text)


def quantize_cases():
    """round(x / scale) + zero, in float32, halves away from zero."""
    ties = np.arange(-9, 10, dtype=f32) / 4
    wide = np.array([[-1e9, -40.1, 0, 39.9], [3e38, 0.4, -0.4, -3e38],
                     [np.inf, -np.inf, 1e-40, -1e-40]], f32)
    for tag, x, s, z, axis, out, dims in [
            ("ties_i8", ties, 0.5, 0, -1, "int8", None),
            ("ties_low_zero", ties, 0.5, -128, -1, "int8", None),
            ("ties_high_zero", ties, 0.5, 255, -1, "uint8", None),
            ("saturates", wide, 0.3, 127, -1, "int8", None),
            ("saturates_u8", wide, 0.3, 0, -1, "uint8", None),
            ("i16", wide, 0.001, -32768, -1, "int16", None),
            ("channels_axis0", wide, [0.5, 1e36, 0.25], [-128, 127, 3], 0,
             "int8", None),
            ("scales_one_zero", ties.reshape(1, 19, 1)[:, :4],
             [0.5, 0.25, 1.0, 2.0], 7, 1, "uint8", None),
            ("scalar", f32(-1.75), 0.5, 3, -1, "int8", None),
            ("empty", ties.reshape(19, 1)[:0], 0.5, 0, -1, "uint8", None),
            ("any", wide[:2], [0.5, 2.0, 1.0, 0.5], [0, 10, -10, 4], -1, "int8",
             ["?", "?"])]:
        x = np.asarray(x, f32)
        with np.errstate(over="ignore"):
            q = (x / per_axis(np.asarray(s, f32), x.shape, axis)).astype(float)
        q = np.sign(q) * np.floor(np.abs(q) + 0.5)
        q = np.clip(q + per_axis(z, x.shape, axis), *RANGE[out]).astype(out)
        inputs, text = vectors(s, z)
        write("qnn.quantize__" + tag, 'qnn.quantize(%%x, %s, out_dtype="%s", '
              "axis=%d)" % (text, out, axis), {"x": x, **inputs}, [q],
              dims={"x": dims} if dims else None)


def dequantize_cases():
    """The exact difference, rounded to float32, times the scale."""
    for tag, dtype, shape, s, z, axis in [
            ("i8_low_zero", "int8", (5, 7), 0.3, -128, -1),
            ("i8_high_zero", "int8", (5, 7), 0.3, 127, -1),
            ("u8_high_zero", "uint8", (3, 5), 1e-3, 255, -1),
            ("i32", "int32", (9,), 0.7, 3, -1),
            ("i16_channels", "int16", (2, 3, 1, 2), [0.5, 3.0, 0.1],
             [-32768, 0, 32767], 1),
            ("u8_channels_axis0", "uint8", (2, 3), [0.25, 1e-30], [0, 255], 0),
            ("scalar", "int8", (), 0.125, -7, -1),
            ("empty", "uint8", (0, 3), [0.5, 1.0, 2.0], 1, 1)]:
        x = stored(shape, dtype, -2**23 if dtype == "int32" else None,
                   2**23 if dtype == "int32" else None)
        d = x.astype(np.int64) - per_axis(z, shape, axis)
        out = d.astype(f32) * per_axis(np.asarray(s, f32), shape, axis)
        inputs, text = vectors(s, z)
        write("qnn.dequantize__" + tag, "qnn.dequantize(%%x, %s, axis=%d)"
              % (text, axis), {"x": x, **inputs}, [out.astype(f32)])


def to_nearest(x, ratio):
    """x times a ratio in fixed point, halves away from zero."""
    factor, shift = factor_and_shift(ratio)
    right = 31 - min(shift, 0)
    product = (int(x) << max(shift, 0)) * factor
    return (product + (1 << (right - 1)) - (1 if x < 0 else 0)) >> right


def requantize_cases():
    odd = np.arange(-7, 9, dtype=np.int32)
    for tag, dtype, x, s1, z1, s2, z2, axis, rounding, out in [
            ("ties_upward", "int32", odd, 0.25, 0, 0.5, 0, -1, "UPWARD", "int8"),
            ("ties_tonearest", "int32", odd, 0.25, 0, 0.5, 0, -1, "TONEAREST",
             "int8"),
            ("ties_quarters", "int32", odd, 0.125, 1, 0.5, -128, -1,
             "TONEAREST", "int8"),
            ("same_scale", "uint8", (4, 6), 0.3, 255, 0.3, -128, -1, "UPWARD",
             "int8"),
            ("larger", "int8", (4, 6), 3.1, -128, 0.7, -100, -1, "UPWARD",
             "int16"),
            ("larger_tonearest", "int8", (4, 6), 3.1, 127, 0.7, 100, -1,
             "TONEAREST", "int8"),
            ("channels", "int32", (2, 3, 4), [0.1, 2.0, 0.5], [0, -9, 128], 0.5,
             3, 1, "UPWARD", "uint8"),
            ("channels_tonearest", "int32", (3, 4), [0.1, 0.25, 0.5], 0, 0.5,
             -1, 0, "TONEAREST", "int8"),
            ("channels_i32", "int8", (3, 5), [1.0, 0.3, 7.5, 0.001, 0.5], 7, 0.9,
             -1000, 1, "UPWARD", "int32"),
            ("scalar", "int32", np.int32(-5), 0.5, 0, 1.0, 255, -1, "UPWARD",
             "uint8"),
            ("empty", "int32", (0, 2), 0.5, 0, 1.0, 3, -1, "UPWARD", "int8")]:
        if isinstance(x, tuple):
            low = -1500 if dtype == "int32" else None
            x = stored(x, dtype, low, 1500 if low else None)
        x = np.asarray(x)
        s = per_axis(np.asarray(s1, f32), x.shape, axis)
        by = scaled if rounding == "UPWARD" else to_nearest
        q = [(int(v) - int(zero) if float(scale) == float(f32(s2)) else
              by(int(v) - int(zero), float(scale) / float(f32(s2)))) + z2
             for v, scale, zero in zip(x.ravel(), s.ravel(),
                                       per_axis(z1, x.shape, axis).ravel())]
        inputs, text = vectors(s1, z1)
        write("qnn.requantize__" + tag,
              'qnn.requantize(%%x, %s, %s, %d, axis=%d, rounding="%s", '
              'out_dtype="%s")' % (text, lit(s2), z2, axis, rounding, out),
              {"x": x, **inputs},
              [clipped(np.array(q, object).reshape(x.shape), out)])


def edge_cases():
    """The ends of the ranges, and nothing at all."""
    for tag, dtype, a, b, s, zs in [
            ("low_zeros", "int8", (3, 5), (3, 5), (0.1, 0.2, 0.15),
             (-128, -128, -128)),
            ("high_zeros", "uint8", (2, 1, 4), (3, 1), (0.1, 0.2, 0.15),
             (255, 255, 0))]:
        x, y = stored(a, dtype), stored(b, dtype)
        l = requantize(x, s[0], zs[0], s[2], zs[2])
        r = requantize(y, s[1], zs[1], s[2], zs[2])
        for name, out in (("add", l + r - zs[2]), ("subtract", l - r + zs[2])):
            write("qnn.%s__%s" % (name, tag),
                  "qnn.%s(%%x, %%y, %s)" % (name, ", ".join(
                      "%s, %d" % (lit(v), z) for v, z in zip(s, zs))),
                  {"x": x, "y": y}, [clipped(out, dtype)])
    for tag, rows, inner in [("no_rows", 0, 4), ("no_inner", 2, 0),
                             ("one", 1, 1)]:
        x, w = stored((rows, inner), "uint8"), stored((3, inner), "int8")
        terms = (x.astype(object) - 255) @ (w.astype(object) + 128).T
        write("qnn.dense__" + tag, "qnn.dense(%x, %w, 255, -128, 0.1f, 0.2f, "
              'units=3, out_dtype="int32")', {"x": x, "w": w},
              [np.asarray(terms + np.zeros((rows, 3), object)).astype("int32")])
    for tag, n, h, k, pad, dil, groups in [
            ("no_images", 0, 4, 2, 0, 1, 1), ("one_pixel", 1, 1, 3, 1, 1, 2),
            ("far_apart", 1, 3, 2, 3, 5, 2)]:
        x, w = stored((n, 4, h, h), "uint8"), stored((2, 4 // groups, k, k),
                                                     "int8")
        out = conv_nchw(x.astype(object) - 255, w.astype(object) + 128, (1, 1),
                        (pad,) * 4, (dil, dil), groups, 0)
        write("qnn.conv2d__" + tag, "qnn.conv2d(%%x, %%w, 255, -128, 0.5f, "
              "0.25f, padding=[%d, %d, %d, %d], dilation=[%d, %d], groups=%d, "
              'channels=2, kernel_size=[%d, %d], out_dtype="int32")' % (
                  pad, pad, pad, pad, dil, dil, groups, k, k),
              {"x": x, "w": w}, [out.astype(np.int32)])


if __name__ == "__main__":
    unary_cases()
    leaky_cases()
    softmax_cases()
    pool_cases()
    binary_cases()
    concatenate_cases()
    dense_cases()
    batch_matmul_cases()
    conv_cases()
    conv_transpose_cases()
    simulated_cases()
    fixed_cases()
    quantize_cases()
    dequantize_cases()
    requantize_cases()
    edge_cases()
