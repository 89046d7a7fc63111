"""Operators that read images between their elements, or by windows."""
import itertools
import math

import numpy as np

from case_files import attributes, case, tolerance

rng = np.random.default_rng(176)


def moved(x, layout):
    """From NCHW (or NCDHW, OIHW, IHW) to a layout of the same letters."""
    plain = {'3': 'IHW', '4': 'OIHW' if 'O' in layout else 'NCHW',
             '5': 'NCDHW'}[str(x.ndim)]
    return np.ascontiguousarray(x.transpose([plain.index(l) for l in layout]))


def linear(image, point):
    """Multilinear interpolation; what is outside of the image is 0."""
    total, low = 0.0, [math.floor(p) for p in point]
    for corner in itertools.product((0, 1), repeat=len(point)):
        at = tuple(a + b for a, b in zip(low, corner))
        weight = 1.0
        for p, a, b in zip(point, low, corner):
            weight *= p - a if b else 1 - (p - a)
        if all(0 <= a < n for a, n in zip(at, image.shape)):
            total += weight * image[at]
    return total


# --- image.crop_and_resize ----------------------------------------------------

def crop_case(name, shape, boxes, images, size, layout='NCHW',
              method='bilinear', outside=0.0, dtype='float32', out=None,
              dims={}):
    x = rng.uniform(-3, 3, shape) if 'float' in dtype else \
        rng.integers(0, 100, shape)
    x, boxes = x.astype(dtype), np.array(boxes, 'float32')
    images = np.array(images, 'int32')
    result = np.zeros((len(boxes), shape[1]) + tuple(size))
    f32 = np.float32

    def place(a, b, o, n, length):
        if n == 1:
            return (a + b) / f32(2) * f32(length - 1)
        return a * f32(length - 1) + \
            (b - a) * f32(length - 1) / f32(n - 1) * f32(o)

    for m, (top, left, bottom, right) in enumerate(boxes):
        for i, j in np.ndindex(*size):
            y = place(top, bottom, i, size[0], shape[2])
            z = place(left, right, j, size[1], shape[3])
            if not (0 <= y <= shape[2] - 1 and 0 <= z <= shape[3] - 1):
                result[m, :, i, j] = outside
                continue
            for c in range(shape[1]):
                image = x[images[m], c].astype('float64')
                if method == 'bilinear':
                    result[m, c, i, j] = linear(image, (float(y), float(z)))
                else:
                    result[m, c, i, j] = image[math.floor(y + 0.5),
                                               math.floor(z + 0.5)]
    if 'int' in (out or dtype):
        result = np.trunc(result)
    result = result.astype(out or dtype)
    pairs = {'crop_size': list(size)}
    if layout != 'NCHW':
        pairs['layout'] = layout
    if method != 'bilinear':
        pairs['method'] = method
    if outside:
        pairs['extrapolation_value'] = outside
    if out:
        pairs['out_dtype'] = out
    t = max(tolerance(dtype), tolerance(out or dtype))
    case('image.crop_and_resize__' + name,
         'image.crop_and_resize(%x, %boxes, %images' + attributes(pairs) + ')',
         [('x', moved(x, layout)), ('boxes', boxes), ('images', images)],
         moved(result, layout), t, t, dims)


whole = [0, 0, 1, 1]
crop_case('whole', (1, 2, 4, 5), [whole], [0], (3, 4))
crop_case('boxes', (2, 3, 5, 6), [[0.1, 0.2, 0.8, 0.7], [0, 0, 0.5, 1],
                                  [0.4, 0.3, 0.4, 0.3]], [1, 0, 1], (3, 5))
crop_case('outside', (1, 1, 4, 4), [[-0.5, -0.25, 1.5, 1.25]], [0], (5, 6),
          outside=-1.5)
crop_case('backwards', (1, 2, 5, 4), [[0.9, 1, 0.1, 0]], [0], (4, 3))
crop_case('one_row', (1, 1, 5, 5), [[0.2, 0, 0.6, 1]], [0], (1, 3))
crop_case('nhwc', (2, 2, 4, 3), [whole, [0.25, 0.1, 0.75, 0.9]], [1, 0],
          (4, 4), layout='NHWC')
crop_case('nearest', (1, 2, 6, 5), [[0.1, 0.15, 0.9, 0.95]], [0], (4, 7),
          method='nearest_neighbor')
crop_case('u8_f32', (2, 1, 4, 4), [whole, [0.1, 0, 0.6, 0.4]], [0, 1], (3, 3),
          dtype='uint8', out='float32')
crop_case('f16', (1, 1, 4, 4), [[0, 0.25, 1, 0.75]], [0], (3, 3),
          dtype='float16')
crop_case('any', (1, 1, 4, 4), [whole, whole], [0, 0], (2, 3),
          dims={'boxes': '?4', 'images': '?', 'x': '?1?4'})
crop_case('none', (1, 2, 4, 4), np.zeros((0, 4)), np.zeros(0), (2, 2))


# --- image.affine_grid --------------------------------------------------------

def affine_case(name, n, size, dtype='float32', dims={}):
    m = rng.uniform(-2, 2, (n, 2, 3)).astype(dtype)
    step = [(2.0 - 1e-7) / (k - 1) for k in size]
    y, x = np.meshgrid(-1 + np.arange(size[0]) * step[0],
                       -1 + np.arange(size[1]) * step[1], indexing='ij')
    points = np.stack([x, y, np.ones(size)])
    out = np.einsum('nij,jhw->nihw', m.astype('float64'), points)
    t = tolerance(dtype)
    case('image.affine_grid__' + name,
         'image.affine_grid(%m' + attributes({'target_shape': list(size)})
         + ')', [('m', m)], out.astype(dtype), t, t, dims)


affine_case('one', 1, (3, 4))
affine_case('smallest', 2, (2, 2))
affine_case('long', 1, (2, 17))
affine_case('f64', 2, (5, 3), 'float64')
affine_case('f16', 1, (4, 4), 'float16')
affine_case('any', 3, (2, 5), dims={'m': '?23'})


# --- image.grid_sample --------------------------------------------------------

def mirrored(x, low, high):
    """By the triangle wave between two ends."""
    span = high - low
    if span == 0:
        return 0.0
    away = (x - low) % (2 * span)
    return low + (away if away <= span else 2 * span - away)


def bend(x, n, padding, corners):
    if padding == 'zeros':
        return x
    if padding == 'reflection':
        x = mirrored(x, 0, n - 1) if corners else mirrored(x, -0.5, n - 0.5)
    return min(max(x, 0), n - 1)


def cubic_weight(d):
    a, d = -0.75, abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def cubic(image, point, padding, corners):
    total, low = 0.0, [math.floor(p) for p in point]
    for step in itertools.product(range(-1, 3), repeat=2):
        weight, at = 1.0, []
        for p, a, b, n in zip(point, low, step, image.shape):
            weight *= cubic_weight(p - (a + b))
            at.append(int(bend(a + b, n, padding, corners)))
        if all(0 <= a < n for a, n in zip(at, image.shape)):
            total += weight * image[tuple(at)]
    return total


def grid_case(name, shape, size, method='bilinear', padding='zeros',
              corners=True, layout=None, dtype='float32', grid=None,
              spread=1.0, dims={}):
    spatial = len(size)
    x = rng.uniform(-3, 3, shape).astype(dtype)
    if grid is None:
        grid = rng.uniform(-spread, spread, (shape[0], spatial) + tuple(size))
    grid = np.asarray(grid).astype(dtype)
    out = np.zeros(shape[:2] + tuple(size))
    for at in np.ndindex(*out.shape):
        point = []
        for k in range(spatial):
            g = float(grid[(at[0], spatial - 1 - k) + at[2:]])
            n = shape[2 + k]
            if math.isnan(g):  # before the first element, outside of the data
                g = -1e9 if padding == 'zeros' else -1.0
            point.append((g + 1) * (n - 1) / 2 if corners
                         else -0.5 + (g + 1) * n / 2)
        image = x[at[0], at[1]].astype('float64')
        if method == 'bicubic':
            out[at] = cubic(image, point, padding, corners)
            continue
        point = [bend(p, n, padding, corners)
                 for p, n in zip(point, image.shape)]
        if method == 'bilinear':
            out[at] = linear(image, point)
        else:
            near = tuple(int(np.rint(p)) for p in point)
            if all(0 <= a < n for a, n in zip(near, image.shape)):
                out[at] = image[near]
    pairs = {}
    if method != 'bilinear':
        pairs['method'] = method
    plain = 'NCHW' if spatial == 2 else 'NCDHW'
    if (layout or plain) != 'NCHW':
        pairs['layout'] = layout or plain
    if padding != 'zeros':
        pairs['padding_mode'] = padding
    if not corners:
        pairs['align_corners'] = False
    t = 0 if method == 'nearest' else tolerance(dtype) * 10
    case('image.grid_sample__' + name,
         'image.grid_sample(%x, %grid' + attributes(pairs) + ')',
         [('x', moved(x, layout or plain)), ('grid', grid)],
         moved(out.astype(dtype), layout or plain), t, t, dims)


grid_case('bilinear', (1, 2, 4, 5), (3, 3))
grid_case('bilinear_outside', (2, 1, 3, 4), (4, 3), spread=1.6)
grid_case('bilinear_border', (1, 2, 4, 3), (3, 4), padding='border',
          corners=False, spread=2.5)
grid_case('bilinear_reflection', (1, 1, 4, 5), (5, 5), padding='reflection',
          spread=5)
grid_case('bilinear_reflection_edges', (1, 2, 5, 3), (4, 4),
          padding='reflection', corners=False, spread=4)
grid_case('nearest', (1, 2, 5, 4), (4, 4), method='nearest', spread=1.4)
grid_case('nearest_even', (1, 1, 4, 4), (1, 3), method='nearest',
          corners=False, grid=[[[[-0.5, 0.0, 0.5]], [[0.25, 0.25, 0.25]]]])
grid_case('bicubic', (1, 1, 5, 6), (3, 4), method='bicubic', dtype='float64')
grid_case('bicubic_border', (1, 2, 4, 4), (4, 4), method='bicubic',
          padding='border', spread=1.7)
grid_case('bicubic_reflection', (1, 1, 4, 5), (4, 4), method='bicubic',
          padding='reflection', corners=False, spread=2)
grid_case('trilinear', (1, 2, 3, 4, 3), (2, 3, 3))
grid_case('trilinear_ndhwc_border', (1, 2, 3, 2, 4), (2, 2, 3),
          layout='NDHWC', padding='border', corners=False, spread=1.5)
grid_case('nearest_3d', (1, 1, 3, 4, 5), (3, 2, 2), method='nearest',
          padding='reflection', spread=3)
grid_case('far', (1, 1, 3, 3), (1, 4), grid=[[[[1e30, -1e30, 0, 7.0]],
                                             [[0.0, 0.0, 1e20, 0.0]]]])
grid_case('nhwc_f16', (1, 3, 4, 4), (2, 3), layout='NHWC', dtype='float16')
grid_case('any', (2, 1, 3, 3), (2, 2), dims={'x': '?1?3', 'grid': '?2??'})


# --- image.dilation2d ---------------------------------------------------------

def pad4(padding):
    p = list(padding)
    return p * 4 if len(p) == 1 else p * 2 if len(p) == 2 else p


def dilation_case(name, shape, kernel, strides=(1, 1), padding=(0, 0),
                  dilations=(1, 1), layouts=('NCHW', 'IHW'), dtype='float32',
                  out=None, dims={}):
    if 'float' in dtype:
        x, w = rng.uniform(-3, 3, shape), rng.uniform(-2, 2, kernel)
    else:
        x, w = rng.integers(-100, 100, shape), rng.integers(-100, 100, kernel)
    x, w = x.astype(dtype), w.astype(dtype)
    to = np.dtype(out or dtype)
    top, left, bottom, right = pad4(padding)
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel[1:])]
    size = [(n - r) // s + 1 for n, r, s in
            zip(padded.shape[2:], reach, strides)]
    y = np.zeros(shape[:2] + tuple(size), to)
    for n, c, i, j in np.ndindex(*y.shape):
        a, b = i * strides[0], j * strides[1]
        window = padded[n, c, a:a + reach[0]:dilations[0],
                        b:b + reach[1]:dilations[1]]
        y[n, c, i, j] = (window.astype(to) + w[c].astype(to)).max()
    pairs = {}
    for key, value, default in (
            ('strides', strides, (1, 1)), ('padding', padding, (0, 0)),
            ('dilations', dilations, (1, 1)), ('data_layout', layouts[0],
                                               'NCHW'),
            ('kernel_layout', layouts[1], 'IHW'), ('out_dtype', out, None)):
        if value != default:
            pairs[key] = value
    case('image.dilation2d__' + name,
         'image.dilation2d(%x, %w' + attributes(pairs) + ')',
         [('x', moved(x, layouts[0])), ('w', moved(w, layouts[1]))],
         moved(y, layouts[0]), 0, 0, dims)


dilation_case('one', (1, 1, 4, 4), (1, 2, 2))
dilation_case('strides', (2, 3, 7, 6), (3, 3, 2), strides=(2, 3))
dilation_case('padding', (1, 2, 4, 5), (2, 3, 3), padding=(1, 1))
dilation_case('padding_four', (1, 1, 3, 4), (1, 2, 3), padding=(0, 2, 1, 1))
dilation_case('dilations', (1, 2, 7, 8), (2, 3, 3), dilations=(2, 3))
dilation_case('nhwc', (1, 3, 5, 4), (3, 2, 2), layouts=('NHWC', 'HWI'))
dilation_case('f16', (1, 2, 4, 4), (2, 2, 2), dtype='float16')
dilation_case('i32', (1, 2, 4, 4), (2, 2, 3), dtype='int32')
dilation_case('i8_i32', (1, 1, 4, 4), (1, 3, 3), dtype='int8', out='int32')
dilation_case('i8_wraps', (1, 1, 3, 3), (1, 2, 2), dtype='int8')
dilation_case('any', (1, 2, 4, 4), (2, 2, 2), dims={'x': '?2?4'})


# --- nn.correlation -----------------------------------------------------------

def correlation_case(name, shape, kernel=1, most=1, stride1=1, stride2=1,
                     padding=(0, 0), multiply=True, dtype='float32', dims={}):
    x, y = (rng.uniform(-2, 2, shape).astype(dtype) for _ in range(2))
    top, left, bottom, right = pad4(padding)
    a, b = (np.pad(v.astype('float64'),
                   ((0, 0), (0, 0), (top, bottom), (left, right)))
            for v in (x, y))
    border = 2 * (most + (kernel - 1) // 2)
    size = [-(-(n - border) // stride1) for n in a.shape[2:]]
    steps = range(-(most // stride2), most // stride2 + 1)
    out = []
    for dy, dx in itertools.product(steps, steps):
        plane = np.zeros((shape[0],) + tuple(size))
        for n, i, j in np.ndindex(*plane.shape):
            r, c = i * stride1 + most, j * stride1 + most
            u, v = r + dy * stride2, c + dx * stride2
            p = a[n, :, r:r + kernel, c:c + kernel]
            q = b[n, :, u:u + kernel, v:v + kernel]
            plane[n, i, j] = (p * q if multiply else abs(p - q)).mean()
        out.append(plane)
    pairs = {}
    for key, value, default in (
            ('kernel_size', kernel, 1), ('max_displacement', most, 1),
            ('stride1', stride1, 1), ('stride2', stride2, 1),
            ('padding', padding, (0, 0)), ('is_multiply', multiply, True)):
        if value != default:
            pairs[key] = value
    t = tolerance(dtype)
    case('nn.correlation__' + name,
         'nn.correlation(%x, %y' + attributes(pairs) + ')',
         [('x', x), ('y', y)], np.stack(out, 1).astype(dtype), t, t, dims)


correlation_case('one', (1, 2, 4, 4))
correlation_case('kernel', (1, 3, 7, 8), kernel=3)
correlation_case('displacement', (2, 2, 7, 7), most=2, stride2=2)
correlation_case('strides', (1, 2, 9, 8), kernel=3, most=2, stride1=2)
correlation_case('padding', (1, 1, 4, 5), most=2, padding=(2, 1))
correlation_case('padding_four', (1, 2, 3, 4), padding=(1, 0, 2, 3))
correlation_case('distance', (1, 2, 5, 5), kernel=3, multiply=False,
                 padding=(1,))
correlation_case('still', (1, 4, 3, 3), most=0)
correlation_case('f64', (1, 2, 5, 4), dtype='float64')
correlation_case('f16', (1, 2, 4, 4), dtype='float16')
correlation_case('any', (1, 2, 4, 4), dims={'x': '?2?4', 'y': '?2?4'})


# --- vision.roi_align, vision.roi_pool ----------------------------------------

def roi_align(x, rois, size, scale, ratio, mode, f):
    out = np.zeros((len(rois), x.shape[1]) + tuple(size))
    height, width = x.shape[2:]

    def axis(a, b, n):
        a, b = f(f(a) * f(scale)), f(f(b) * f(scale))
        bin_size = f(max(f(b - a), f(1)) / f(n))
        count = ratio if ratio > 0 else math.ceil(bin_size)
        return [[float(a) + i * float(bin_size) +
                 (k + 0.5) * float(bin_size) / count for k in range(count)]
                for i in range(n)]

    for m, (image, left, top, right, bottom) in enumerate(rois):
        rows, columns = axis(top, bottom, size[0]), axis(left, right, size[1])
        for c, i, j in np.ndindex(*out.shape[1:]):
            values = []
            for y, z in itertools.product(rows[i], columns[j]):
                if y < -1 or z < -1 or y > height or z > width:
                    values.append(0.0)
                    continue
                y = min(max(y, 0), height - 1)
                z = min(max(z, 0), width - 1)
                values.append(linear(x[int(image), c].astype('float64'),
                                     (y, z)))
            out[m, c, i, j] = np.mean(values) if mode == 'avg' else max(values)
    return out


def roi_pool(x, rois, size, scale, f):
    out = np.zeros((len(rois), x.shape[1]) + tuple(size))

    def axis(a, b, n, length):
        a, b = (int(np.sign(v) * math.floor(abs(v) + 0.5))
                for v in (f(a) * f(scale), f(b) * f(scale)))
        bin_size = max(b - a + 1, 1) / n
        return [(min(max(math.floor(i * bin_size + 1e-5) + a, 0), length),
                 min(max(math.ceil((i + 1) * bin_size - 1e-5) + a, 0), length))
                for i in range(n)]

    for m, (image, left, top, right, bottom) in enumerate(rois):
        rows = axis(top, bottom, size[0], x.shape[2])
        columns = axis(left, right, size[1], x.shape[3])
        for c, i, j in np.ndindex(*out.shape[1:]):
            part = x[int(image), c, slice(*rows[i]), slice(*columns[j])]
            out[m, c, i, j] = part.max() if part.size else 0
    return out


def roi_case(op, name, shape, rois, size, scale=1.0, ratio=-1, layout='NCHW',
             mode='avg', dtype='float32', dims={}):
    x = rng.uniform(-3, 3, shape).astype(dtype)
    rois = np.array(rois).astype(dtype)
    f = np.dtype('float64' if dtype == 'float64' else 'float32').type
    pairs = {'pooled_size': list(size), 'spatial_scale': float(scale)}
    if op == 'roi_align':
        y = roi_align(x, rois, size, scale, ratio, mode, f)
        if ratio != -1:
            pairs['sample_ratio'] = ratio
    else:
        y = roi_pool(x, rois, size, scale, f)
    if layout != 'NCHW':
        pairs['layout'] = layout
    if mode != 'avg':
        pairs['mode'] = mode
    t = tolerance(dtype) if op == 'roi_align' else 0
    case('vision.%s__%s' % (op, name),
         'vision.%s(%%x, %%rois' % op + attributes(pairs) + ')',
         [('x', moved(x, layout)), ('rois', rois)],
         moved(y.astype(dtype), layout), t, t, dims)


some = [[0, 1.2, 0.7, 6.1, 5.3], [1, 0, 0, 3, 7.5], [0, 4, 4, 4.5, 4.25]]
for op in 'roi_align', 'roi_pool':
    roi_case(op, 'boxes', (2, 3, 8, 8), some, (3, 3))
    roi_case(op, 'scale', (2, 2, 6, 7), np.multiply(some, [1, 2, 2, 2, 2]),
             (2, 4), scale=0.5)
    roi_case(op, 'nhwc', (2, 3, 8, 7), some, (2, 2), layout='NHWC')
    roi_case(op, 'outside', (1, 2, 5, 5),
             [[0, -4, -3, 2, 1], [0, 3, 3, 9, 9], [0, 20, 20, 30, 30]], (3, 2))
    roi_case(op, 'inside_out', (1, 1, 6, 6), [[0, 4, 5, 1, 2]], (2, 2))
    roi_case(op, 'one_bin', (1, 2, 6, 6), [[0, 1, 1, 4, 4]], (1, 1))
    roi_case(op, 'f64', (2, 1, 8, 8), some, (2, 3), dtype='float64')
    roi_case(op, 'f16', (1, 2, 6, 6), [[0, 1, 0.5, 4, 4.5]], (2, 2),
             dtype='float16')
    roi_case(op, 'any', (2, 2, 8, 8), some, (2, 2),
             dims={'x': '??8?', 'rois': '?5'})
    roi_case(op, 'none', (1, 2, 4, 4), np.zeros((0, 5)), (2, 2))
roi_case('roi_align', 'ratio', (2, 2, 8, 8), some, (3, 2), ratio=2)
roi_case('roi_align', 'ratio_max', (2, 2, 8, 8), some, (2, 3), ratio=3,
         mode='max')
roi_case('roi_align', 'max_nhwc', (2, 2, 8, 8), some, (2, 2), mode='max',
         layout='NHWC')


# --- nn.deformable_conv2d -----------------------------------------------------

def deformable_case(name, shape, outputs, kernel, strides=(1, 1),
                    padding=(0, 0), dilation=(1, 1), shared=1, groups=1,
                    layouts=('NCHW', 'OIHW'), dtype='float32', out=None,
                    spread=1.5, named=False, dims={}):
    x = rng.uniform(-2, 2, shape).astype(dtype)
    w = rng.uniform(-1, 1, (outputs, shape[1] // groups) + kernel)
    w = w.astype(dtype)
    top, left, bottom, right = pad4(padding)
    size = [(n + p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(
        shape[2:], (top + bottom, left + right), dilation, kernel, strides)]
    offset = rng.uniform(-spread, spread, (
        shape[0], 2 * shared * kernel[0] * kernel[1]) + tuple(size))
    offset = offset.astype(dtype)
    y = np.zeros((shape[0], outputs) + tuple(size))
    per, own = shape[1] // shared, shape[1] // groups
    for n, o, i, j in np.ndindex(*y.shape):
        for c, a, b in np.ndindex(*w.shape[1:]):
            channel = o // (outputs // groups) * own + c
            k = (channel // per * kernel[0] * kernel[1] +
                 a * kernel[1] + b) * 2
            p = i * strides[0] - top + a * dilation[0] + \
                float(offset[n, k, i, j])
            q = j * strides[1] - left + b * dilation[1] + \
                float(offset[n, k + 1, i, j])
            if 0 <= p < shape[2] and 0 <= q < shape[3]:
                y[n, o, i, j] += float(w[o, c, a, b]) * linear(
                    x[n, channel].astype('float64'), (p, q))
    pairs = {}
    for key, value, default in (
            ('strides', strides, (1, 1)), ('padding', padding, (0, 0)),
            ('dilation', dilation, (1, 1)), ('deformable_groups', shared, 1),
            ('groups', groups, 1), ('data_layout', layouts[0], 'NCHW'),
            ('kernel_layout', layouts[1], 'OIHW'), ('out_dtype', out, None)):
        if value != default:
            pairs[key] = value
    if named:
        pairs.update(channels=outputs, kernel_size=list(kernel))
    t = max(tolerance(dtype), tolerance(out or dtype))
    case('nn.deformable_conv2d__' + name,
         'nn.deformable_conv2d(%x, %offset, %w' + attributes(pairs) + ')',
         [('x', moved(x, layouts[0])), ('offset', moved(offset, layouts[0])),
          ('w', moved(w, layouts[1]))],
         moved(y.astype(out or dtype), layouts[0]), t, t, dims)


deformable_case('one', (1, 1, 4, 4), 1, (1, 1))
deformable_case('kernel', (1, 3, 5, 6), 2, (3, 3), padding=(1, 1))
deformable_case('strides', (2, 2, 7, 6), 3, (3, 2), strides=(2, 2),
                padding=(0, 1, 1, 0))
deformable_case('dilation', (1, 2, 7, 7), 2, (2, 3), dilation=(3, 2))
deformable_case('shared', (1, 4, 4, 5), 2, (2, 2), shared=2)
deformable_case('groups', (1, 4, 4, 4), 4, (2, 2), groups=2)
deformable_case('still', (1, 2, 4, 4), 2, (3, 3), spread=0.0)
deformable_case('nhwc', (1, 3, 5, 4), 2, (2, 2), layouts=('NHWC', 'HWIO'))
deformable_case('far', (1, 1, 4, 4), 1, (2, 2), spread=30.0)
deformable_case('named', (1, 2, 4, 4), 3, (3, 3), padding=(1, 1), named=True)
deformable_case('f64', (1, 2, 4, 4), 2, (2, 2), dtype='float64')
deformable_case('f16_f32', (1, 2, 4, 4), 2, (2, 2), dtype='float16',
                out='float32')


# --- Edges, single elements, nothing at all -----------------------------------

corners = [[[-1.0, 1.0, -1.0, 1.0, 0.0]], [[-1.0, -1.0, 1.0, 1.0, 1.0]]]
nans = [[[0.5, math.nan, math.nan, 0.0]], [[math.nan, 0.0, math.nan, 0.25]]]
for method in 'bilinear', 'nearest':
    grid_case(method + '_corners', (1, 2, 3, 4), (1, 5), method=method,
              grid=[corners])
    grid_case(method + '_edges', (1, 2, 4, 4), (1, 5), method=method,
              corners=False, grid=[corners], padding='border')
    grid_case(method + '_nan', (1, 1, 3, 3), (1, 4), method=method, grid=[nans])
grid_case('bicubic_corners', (1, 1, 4, 3), (1, 5), method='bicubic',
          grid=[corners])
grid_case('bilinear_nan_border', (1, 2, 3, 3), (1, 4), grid=[nans],
          padding='border')
grid_case('one_pixel', (2, 1, 1, 1), (2, 3), spread=1.5)
grid_case('one_pixel_edges', (1, 1, 1, 1), (2, 3), corners=False, spread=1.5,
          padding='reflection')
grid_case('one_row_bicubic', (1, 1, 1, 5), (2, 2), method='bicubic',
          corners=False, padding='border')
grid_case('infinite', (1, 1, 3, 3), (1, 3), padding='border', grid=[
    [[[math.inf, -math.inf, 0.0]], [[0.0, 0.5, -math.inf]]]])
grid_case('no_images', (0, 2, 3, 3), (2, 2))
grid_case('no_points', (1, 2, 3, 3), (0, 4))
grid_case('no_channels', (1, 0, 3, 3), (2, 2), padding='border')

crop_case('edge', (1, 1, 3, 4), [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 1]],
          [0, 0, 0], (2, 2))
crop_case('one_pixel', (1, 2, 1, 1), [whole, [0.3, 0.3, 0.3, 0.3]], [0, 0],
          (2, 3), method='nearest_neighbor')
crop_case('just_outside', (1, 1, 3, 3), [[-1e-3, 0, 1, 1.001]], [0], (3, 3),
          outside=7.0)
affine_case('none', 0, (2, 3))

border = [[0, -1, -1, 1, 1], [0, 4, 4, 6, 6], [0, 5, 5, 5, 5],
          [0, -2, 2, 0, 3]]
for op in 'roi_align', 'roi_pool':
    roi_case(op, 'border', (1, 2, 5, 5), border, (2, 2))
    roi_case(op, 'border_nhwc_f64', (1, 1, 5, 6), border, (1, 3),
             layout='NHWC', dtype='float64')
    roi_case(op, 'halves', (1, 1, 6, 6), [[0, 0.5, 1.5, 2.5, 3.5],
                                          [0, -0.5, -1.5, 4.5, 0.5]], (2, 2))
    roi_case(op, 'one_pixel', (1, 1, 1, 1), [[0, 0, 0, 0, 0],
                                             [0, -3, -3, 3, 3]], (2, 2))
    roi_case(op, 'more_bins', (1, 1, 3, 3), [[0, 0, 0, 1, 1]], (5, 4))
roi_case('roi_align', 'border_ratio_max', (1, 2, 5, 5), border, (2, 2),
         ratio=1, mode='max')

dilation_case('reach', (1, 2, 3, 3), (2, 2, 2), dilations=(4, 4),
              padding=(2, 2))
dilation_case('no_images', (0, 2, 4, 4), (2, 2, 2))
dilation_case('u8', (2, 1, 3, 5), (1, 1, 3), strides=(1, 2), dtype='uint8')
correlation_case('one_pixel', (2, 3, 1, 1), padding=(1, 1))
correlation_case('beyond', (1, 1, 3, 4), most=3, stride2=2, padding=(3, 3))
deformable_case('reach', (1, 1, 3, 3), 1, (2, 2), dilation=(5, 5),
                padding=(3, 3))
deformable_case('one_pixel', (2, 1, 1, 1), 2, (1, 1), spread=0.75)
