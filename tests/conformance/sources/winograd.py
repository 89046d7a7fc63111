"""Convolutions with transformed weights: nn.contrib_conv2d_winograd_*,
nn.contrib_conv3d_winograd_*, nn.contrib_conv2d_gemm_*.  The matrix G is found
here from what it is for: with Fractions, as the one whose products give the
coefficients of a product of polynomials at the interpolation points."""
import itertools
from fractions import Fraction as F

import numpy as np

from case_files import attributes, case, tolerance

rng = np.random.default_rng(2024)

# Interpolation points for tiles of m and kernels of r, by m + r - 2.
POINTS = {3: '0 -1 1', 4: '0 -1 1 1/2', 5: '0 -1 1 1/2 -2',
          6: '0 -1 1 1/2 -2 -1/2', 7: '0 -1 1 1/2 -1/2 2 -2',
          8: '0 -1 1 1/2 -1/2 2 -2 -1/4', 9: '0 -1 1 1/2 -1/2 2 -2 -1/4 4',
          10: '0 -1 1 1/2 -1/2 2 -2 -1/4 3/4 -4/3',
          11: '0 -1 1 1/2 -1/2 2 -2 -1/4 4 3/4 -4/3',
          13: '0 -1 1 1/2 -1/2 2 -2 -1/4 4 1/4 -3/4 4/3 -4'}


def matrix(m, r):
    """Row i evaluates a polynomial of r coefficients at point i and divides by
    the derivative of the product of all (x - point) there."""
    points = [F(p) for p in POINTS[m + r - 2].split()]
    rows = []
    for p in points:
        slope = F(1)
        for q in points:
            slope *= p - q if q != p else 1
        if p == 0:
            slope = abs(slope)
        rows.append([float(p ** k / slope) for k in range(r)])
    rows.append([0.0] * (r - 1) + [1.0])
    return np.array(rows)


def transformed(w, tile):
    """(O, I, H, W) or (O, I, D, H, W); a depth of 3 to 7 takes part."""
    g, spatial = matrix(tile, w.shape[-1]), w.ndim - 2
    w = w.astype('float64')
    if spatial == 2:
        return np.einsum('ah,bw,oihw->aboi', g, g, w)
    if 3 <= w.shape[2] <= 7:
        return np.einsum('cd,ah,bw,oidhw->caboi', g, g, g, w)
    return np.einsum('ah,bw,oidhw->abdoi', g, g, w)


def weight_case(name, shape, tile, dtype='float32', dims={}):
    w = rng.uniform(-2, 2, shape).astype(dtype)
    t = tolerance(dtype)
    op = 'nn.contrib_conv%dd_winograd_weight_transform' % (len(shape) - 2)
    case(op + '__' + name, op + '(%w' + attributes({'tile_size': tile}) + ')',
         [('w', w)], transformed(w, tile).astype(dtype), t, t, dims)


weight_case('tile2', (3, 2, 3, 3), 2)
weight_case('tile4', (2, 3, 3, 3), 4)
weight_case('tile6', (2, 1, 3, 3), 6)
weight_case('kernel5', (1, 2, 5, 5), 4)
weight_case('kernel7', (1, 1, 7, 7), 8)
weight_case('kernel4', (2, 2, 4, 4), 8)
weight_case('f64', (2, 2, 3, 3), 4, dtype='float64')
weight_case('f16', (1, 2, 3, 3), 2, dtype='float16')
weight_case('any', (2, 2, 3, 3), 3, dims={'w': '??33'})
weight_case('cube', (2, 1, 3, 3, 3), 2)
weight_case('cube4', (1, 2, 3, 3, 3), 4)
weight_case('cube5', (1, 1, 5, 5, 5), 2)
weight_case('flat', (2, 2, 1, 3, 3), 2)
weight_case('two_deep', (1, 2, 2, 3, 3), 4)
weight_case('deep', (1, 1, 8, 3, 3), 3)
weight_case('cube_f64', (1, 2, 3, 3, 3), 2, dtype='float64')


def convolved(x, w, strides, padding):
    """(N, C, D..) with (O, C, K..)."""
    spatial = x.ndim - 2
    x = np.pad(x.astype('float64'),
               [(0, 0), (0, 0)] + [(p, p) for p in padding])
    size = [(n - k) // s + 1
            for n, k, s in zip(x.shape[2:], w.shape[2:], strides)]
    out = np.zeros([x.shape[0], w.shape[0]] + size)
    letters = 'dhw'[-spatial:]
    for at in itertools.product(*map(range, size)):
        window = x[(slice(None), slice(None)) + tuple(
            slice(a * s, a * s + k)
            for a, s, k in zip(at, strides, w.shape[2:]))]
        out[(slice(None), slice(None)) + at] = np.einsum(
            'nc%s,oc%s->no' % (letters, letters), window, w.astype('float64'))
    return out


def conv_case(name, shape, kernel, tile, strides=None, padding=None,
              layout=None, dtype='float32', dims={}):
    spatial = len(shape) - 2
    strides, padding = strides or [1] * spatial, padding or [0] * spatial
    x = rng.uniform(-2, 2, shape).astype(dtype)
    w = rng.uniform(-2, 2, kernel).astype(dtype)
    given, result = transformed(w, tile), convolved(x, w, strides, padding)
    if layout == 'NHWC':
        x, result = x.transpose(0, 2, 3, 1), result.transpose(0, 2, 3, 1)
    pairs = {'tile_size': tile, 'strides': strides, 'padding': padding,
             'channels': kernel[0], 'kernel_size': list(kernel[2:])}
    if layout:
        pairs['data_layout'] = layout
    t = tolerance(dtype) * 20
    op = 'nn.contrib_conv%dd_winograd_without_weight_transform' % spatial
    case(op + '__' + name, op + '(%x, %w' + attributes(pairs) + ')',
         [('x', np.ascontiguousarray(x)), ('w', given.astype(dtype))],
         np.ascontiguousarray(result).astype(dtype), t, t, dims)


conv_case('tile2', (1, 2, 6, 7), (3, 2, 3, 3), 2, padding=[1, 1])
conv_case('tile4', (2, 3, 7, 6), (2, 3, 3, 3), 4)
conv_case('tile6', (1, 1, 8, 8), (2, 1, 3, 3), 6, padding=[1, 1])
conv_case('kernel5', (1, 2, 8, 9), (2, 2, 5, 5), 4, padding=[2, 2])
conv_case('kernel7', (1, 1, 9, 8), (1, 1, 7, 7), 2, padding=[3, 3])
conv_case('strides', (1, 2, 7, 7), (2, 2, 3, 3), 4, strides=[2, 1])
conv_case('nhwc', (1, 3, 5, 4), (2, 3, 3, 3), 4, layout='NHWC')
conv_case('f64', (1, 2, 5, 5), (2, 2, 3, 3), 4, dtype='float64')
conv_case('any', (2, 2, 5, 5), (2, 2, 3, 3), 2, dims={'x': '?2??'})
conv_case('cube', (1, 2, 5, 5, 6), (2, 2, 3, 3, 3), 2, padding=[1, 1, 1])
conv_case('cube4', (1, 1, 6, 5, 6), (2, 1, 3, 3, 3), 4)
conv_case('cube5', (1, 1, 6, 6, 6), (1, 1, 5, 5, 5), 2)
conv_case('flat', (2, 2, 3, 5, 5), (2, 2, 1, 3, 3), 4)
conv_case('two_deep', (1, 2, 4, 6, 5), (2, 2, 2, 3, 3), 2,
          padding=[0, 1, 1])
conv_case('strides', (1, 1, 5, 6, 7), (2, 1, 3, 3, 3), 2, strides=[1, 2, 2])
conv_case('cube_f64', (1, 1, 4, 4, 4), (1, 1, 3, 3, 3), 4, dtype='float64')


# --- Tiles --------------------------------------------------------------------

def tiles(w, n, k, old=False):
    """Of (H, W, I, O), by padding and transposing axes."""
    turned = old or w.dtype.itemsize == 1
    rows = w.reshape(-1, w.shape[3])
    by = k if old else 4 * k
    rows = np.pad(rows, [(0, -rows.shape[0] % by), (0, -rows.shape[1] % n)])
    parts = rows.reshape(rows.shape[0] // k, k, rows.shape[1] // n, n)
    return parts.transpose((2, 0, 3, 1) if turned else (2, 0, 1, 3)).copy()


def numbers(shape, dtype):
    if 'float' in dtype:
        return rng.uniform(-2, 2, shape).astype(dtype)
    return rng.integers(0 if dtype[0] == 'u' else -90, 90, shape).astype(dtype)


def tiles_case(name, shape, n, k, dtype='float32', old=False, dims={}):
    w = numbers(shape, dtype)
    op = 'nn.contrib_conv2d_gemm_weight_transform'
    pairs = {'tile_rows': n, 'tile_cols': k} if old else \
        {'tile_N': n, 'tile_K': k}
    case(op + '__' + name, op + '(%w' + attributes(pairs) + ')', [('w', w)],
         tiles(w, n, k, old), dims=dims)


tiles_case('int8', (3, 3, 5, 6), 4, 16, dtype='int8')
tiles_case('uint8', (1, 2, 3, 4), 4, 4, dtype='uint8')
tiles_case('f32', (3, 3, 2, 5), 4, 8)
tiles_case('f16', (2, 1, 4, 3), 2, 1, dtype='float16')
tiles_case('old_int8', (3, 3, 5, 6), 4, 16, dtype='int8', old=True)
tiles_case('old_f32', (2, 2, 3, 5), 2, 5, old=True)
tiles_case('exact', (2, 2, 4, 4), 4, 4, dtype='int32')
tiles_case('any', (2, 2, 3, 4), 3, 2, dims={'w': '??3?'})


def gemm_case(name, shape, kernel, n, k, strides=(1, 1), padding=(0, 0),
              dtype='float32', out=None, old=False, dims={}):
    """`shape` is NHWC, `kernel` HWIO."""
    x, w = numbers(shape, dtype), numbers(kernel, dtype)
    result = convolved(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1),
                       strides, padding).transpose(0, 2, 3, 1)
    pairs = {'strides': list(strides), 'padding': list(padding),
             'channels': kernel[3], 'kernel_size': list(kernel[:2]),
             'data_layout': 'NHWC', 'kernel_layout': 'HWIO'}
    if out:
        pairs['out_dtype'] = out
    t = tolerance(dtype) if 'float' in dtype else 0
    op = 'nn.contrib_conv2d_gemm_without_weight_transform'
    case(op + '__' + name, op + '(%x, %w' + attributes(pairs) + ')',
         [('x', x), ('w', tiles(w, n, k, old))],
         np.ascontiguousarray(result).astype(out or dtype), t, t, dims)


gemm_case('int8', (1, 5, 4, 3), (3, 3, 3, 5), 4, 16, dtype='int8', out='int32')
gemm_case('uint8', (2, 4, 4, 2), (1, 2, 2, 4), 4, 4, dtype='uint8',
          out='int32')
gemm_case('old_int8', (1, 4, 5, 4), (3, 3, 4, 6), 4, 16, padding=(1, 1),
          dtype='int8', out='int32', old=True)
gemm_case('f32', (1, 6, 5, 3), (3, 3, 3, 4), 4, 8, padding=(1, 1))
gemm_case('strides', (2, 7, 6, 2), (3, 2, 2, 3), 2, 3, strides=(2, 3))
gemm_case('f64', (1, 4, 4, 2), (2, 2, 2, 3), 4, 4, dtype='float64')
gemm_case('any', (2, 4, 4, 3), (3, 3, 3, 2), 2, 2, dims={'x': '???3'})
