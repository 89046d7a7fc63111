"""image.resize3d and nn.upsampling3d, as products with matrices of weights.

Each axis has a matrix of weights, one row for each coordinate of the result;
the result is the data multiplied by the three of them."""
import math

import numpy as np

from case_files import case

rng = np.random.default_rng(173)


def coordinate(mode, o, n, length):
    if mode == 'align_corners':
        return o * (length - 1) / (n - 1) if n > 1 else 0.0
    if mode == 'asymmetric':
        return o * length / n
    if mode == 'tf_half_pixel_for_nn':
        return (o + 0.5) * length / n
    if mode == 'pytorch_half_pixel' and n == 1:
        return 0.0
    return (o + 0.5) * length / n - 0.5


def half_away(x):
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


ROUNDINGS = {'round': half_away,
             'round_prefer_floor': lambda x: math.ceil(x - 0.5),
             'round_prefer_ceil': lambda x: math.floor(x + 0.5),
             'floor': lambda x: math.floor(x + 1e-5),
             'ceil': lambda x: math.ceil(x - 1e-5)}


def keys_cubic(d, a):
    d = abs(d)
    if d < 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    if d < 2:
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return 0.0


def weights(length, n, method, mode, rounding, alpha, exclude):
    w = np.zeros((n, length))
    for o in range(n):
        x = coordinate(mode, o, n, length)
        if method == 'nearest_neighbor':
            w[o, min(max(ROUNDINGS[rounding](x), 0), length - 1)] = 1
            continue
        low, reach = math.floor(x), 2 if method == 'cubic' else 1
        taps = range(low - reach + 1, low + reach + 1)
        value = [keys_cubic(x - t, alpha) if method == 'cubic'
                 else 1 - abs(x - t) for t in taps]
        if exclude and method == 'cubic':
            value = [v if 0 <= t < length else 0 for v, t in zip(value, taps)]
            value = [v / sum(value) for v in value]
        for t, v in zip(taps, value):
            w[o, min(max(t, 0), length - 1)] += v
    return w


def resize(x, size, method='linear', mode='half_pixel', rounding='round',
           alpha=-0.5, exclude=0):
    m = [weights(x.shape[2 + k], size[k], method, mode, rounding, alpha,
                 exclude) for k in range(3)]
    return np.einsum('ncdhw,id,jh,kw->ncijk', x.astype('float64'), *m)


def attributes(size, method, mode, rounding, alpha, exclude, layout, out):
    text = 'size=[%d, %d, %d], roi=[0f, 0f, 0f, 0f, 0f, 0f]' % tuple(size)
    for name, value, default in (
            ('layout', layout, 'NCDHW'), ('method', method, 'linear'),
            ('coordinate_transformation_mode', mode, 'half_pixel'),
            ('rounding_method', rounding, 'round')):
        if value != default:
            text += ', %s="%s"' % (name, value)
    if alpha != -0.5:
        text += ', cubic_alpha=%sf' % alpha
    if exclude:
        text += ', cubic_exclude=1'
    if out:
        text += ', out_dtype="%s"' % out
    return text


def resize_case(name, shape, size, method='linear', mode='half_pixel',
                rounding='round', alpha=-0.5, exclude=0, layout='NCDHW',
                dtype='float32', out=None, dims=None):
    x = rng.uniform(-3, 3, shape)
    if 'int' in dtype:
        x = rng.integers(0, 200, shape)
    x = x.astype(dtype)
    y = resize(x, size, method, mode, rounding, alpha, exclude)
    if 'int' in (out or dtype):
        y = np.trunc(y)
    y = y.astype(out or dtype)
    if layout == 'NDHWC':
        x, y = (np.moveaxis(v, 1, 4) for v in (x, y))
    tolerance = 2e-3 if 'float16' in (dtype, out) else 2e-5
    exact = method == 'nearest_neighbor'
    case('image.resize3d__' + name, 'image.resize3d(%%x, %s)' % attributes(
        size, method, mode, rounding, alpha, exclude, layout, out),
         [('x', x)], y, 0 if exact else tolerance, 0 if exact else tolerance,
         {'x': dims} if dims else {})


resize_case('linear', (1, 2, 3, 4, 5), (5, 3, 7))
resize_case('linear_corners', (2, 1, 4, 3, 2), (7, 5, 1), mode='align_corners')
resize_case('linear_asymmetric_ndhwc', (1, 3, 2, 4, 3), (4, 4, 5),
            mode='asymmetric', layout='NDHWC')
resize_case('linear_pytorch', (1, 1, 3, 4, 5), (1, 6, 3),
            mode='pytorch_half_pixel')
resize_case('linear_any', (1, 1, 3, 4, 5), (2, 2, 2), dims='1?34?')
resize_case('linear_f16', (1, 2, 3, 3, 3), (4, 5, 2), dtype='float16')
resize_case('linear_u8_f32', (1, 1, 2, 3, 4), (3, 3, 3), dtype='uint8',
            out='float32')
resize_case('cubic', (1, 1, 4, 5, 3), (6, 3, 5), method='cubic')
resize_case('cubic_alpha_exclude', (1, 2, 4, 4, 4), (7, 6, 3), method='cubic',
            alpha=-0.75, exclude=1)
resize_case('nearest_floor', (1, 2, 3, 4, 5), (6, 7, 3),
            method='nearest_neighbor', mode='asymmetric', rounding='floor')
resize_case('nearest_ceil_ndhwc', (1, 2, 4, 4, 3), (3, 6, 5),
            method='nearest_neighbor', rounding='ceil', layout='NDHWC')
resize_case('nearest_i32', (1, 1, 3, 5, 4), (4, 4, 6),
            method='nearest_neighbor', mode='tf_half_pixel_for_nn',
            rounding='round_prefer_floor', dtype='int32')


def upsample_case(name, shape, scales, method='nearest_neighbor',
                  mode='half_pixel', layout='NCDHW', dtype='float32',
                  dynamic=False, dims=None):
    x = rng.uniform(-3, 3, shape).astype(dtype)
    size = [half_away(n * s) for n, s in zip(shape[2:], scales)]
    plain = method.replace('tri', '')
    rounding = 'round' if mode == 'align_corners' else 'floor'
    y = resize(x, size, plain, mode, rounding).astype(dtype)
    if layout == 'NDHWC':
        x, y = (np.moveaxis(v, 1, 4) for v in (x, y))
    text = ''
    if not dynamic:
        text = ''.join(', scale_%s=%sf' % p for p in zip('dhw', scales))
    for key, value, default in (
            ('layout', layout, 'NCDHW'), ('method', method, 'nearest_neighbor'),
            ('coordinate_transformation_mode', mode, 'half_pixel')):
        if value != default:
            text += ', %s="%s"' % (key, value)
    inputs = [('x', x)]
    if dynamic:
        inputs += [('scale_' + k, np.array(s, 'float32'))
                   for k, s in zip('dhw', scales)]
    body = '%snn.upsampling3d(%s%s)' % (
        'dyn.' if dynamic else '', ', '.join('%' + n for n, _ in inputs), text)
    exact = plain == 'nearest_neighbor'
    case('%snn.upsampling3d__%s' % ('dyn.' if dynamic else '', name), body,
         inputs, y, 0 if exact else 2e-5, 0 if exact else 2e-5,
         {'x': dims} if dims else {})


upsample_case('nearest', (1, 2, 2, 3, 4), (2, 3, 1))
upsample_case('nearest_f64', (2, 1, 3, 2, 2), (1.5, 2, 2.5), dtype='float64')
upsample_case('nearest_corners', (1, 1, 3, 4, 2), (2, 1.25, 3),
              mode='align_corners')
upsample_case('trilinear', (1, 1, 3, 4, 2), (2, 2, 2), method='trilinear')
upsample_case('trilinear_corners_ndhwc', (1, 3, 2, 3, 2), (2, 3, 1.5),
              method='trilinear', mode='align_corners', layout='NDHWC')
upsample_case('trilinear_asymmetric', (1, 2, 2, 2, 3), (3, 2, 2),
              method='trilinear', mode='asymmetric')
upsample_case('tricubic', (1, 1, 3, 3, 4), (2, 2, 1.5), method='tricubic')
upsample_case('smaller', (1, 1, 4, 5, 6), (0.5, 0.6, 0.5), method='trilinear')
upsample_case('nearest', (1, 2, 2, 3, 4), (2, 3, 1), dynamic=True)
upsample_case('trilinear_any', (2, 1, 3, 2, 2), (1.5, 2, 3),
              method='trilinear', dynamic=True, dims='?1?22')
upsample_case('corners_one', (1, 2, 1, 1, 2), (3, 1, 2), method='trilinear',
              mode='align_corners', dynamic=True, dims='?????')
upsample_case('asymmetric_ndhwc', (1, 2, 3, 1, 2), (0.5, 3, 1.25),
              mode='asymmetric', layout='NDHWC', dynamic=True)
upsample_case('tricubic_f64', (1, 1, 2, 3, 2), (1.5, 1, 2), method='tricubic',
              dtype='float64', dynamic=True)
upsample_case('no_images', (0, 1, 2, 2, 2), (2, 2, 2), dynamic=True)
upsample_case('one_element', (1, 1, 1, 1, 1), (2, 3, 1), method='trilinear')
upsample_case('pytorch', (1, 1, 3, 2, 2), (0.34, 2, 1), method='trilinear',
              mode='pytorch_half_pixel')
resize_case('cubic_one_element', (1, 2, 1, 3, 1), (2, 2, 3), method='cubic',
            exclude=1)
resize_case('nearest_ties_floor', (1, 1, 2, 4, 3), (4, 8, 6),
            method='nearest_neighbor', rounding='round_prefer_floor')
resize_case('nearest_ties_ceil', (1, 1, 2, 4, 3), (4, 6, 2),
            method='nearest_neighbor', rounding='round_prefer_ceil')
resize_case('linear_i8', (1, 1, 2, 2, 3), (4, 4, 6), dtype='int8')  # exact
