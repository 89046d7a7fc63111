"""What the reference takes although it looks like a mistake: floats where
integers are due, shorter bounds, more updates than indices, coordinates
outside a shape."""
import numpy as np

from case_files import case

rng = np.random.default_rng(175)


def ints(*shape):
    return rng.integers(-9, 10, shape).astype('int32')


def floats(*shape):
    return rng.standard_normal(shape).astype('float32')


def sequence_mask(name, x, n, axis, value):
    index = np.arange(x.shape[axis]).astype(n.dtype)
    below = ~(index[:, None] >= n[None, :])  # NaN masks nothing
    below = below if axis == 0 else below.T
    mask = below.reshape(below.shape + (1,) * (x.ndim - 2))
    out = np.where(mask, x, x.dtype.type(value))
    case(name, 'sequence_mask(%%x, %%n, mask_value=%sf, axis=%d)' %
         (value, axis), [('x', x), ('n', n)], out)


sequence_mask('sequence_mask__5x4_f32_lengths', floats(5, 4),
              np.array([0.5, -3, 4.0, 2.0001], 'float32'), 0, -1.5)
sequence_mask('sequence_mask__3x6x2_f64_lengths_ax1', floats(3, 6, 2),
              np.array([np.nan, np.inf, 1e-9]), 1, 7)
sequence_mask('sequence_mask__i32_3x3_f16_lengths', ints(3, 3),
              np.array([1, 2.5, -np.inf], 'float16'), 0, 2)


def strided_set(name, x, begin, end, strides):
    """Axes without a bound are whole; without a stride, it is 1."""
    part = []
    for i in range(x.ndim):
        step = strides[i] if i < len(strides) else 1
        low = begin[i] if i < len(begin) else None
        high = end[i] if i < len(end) else None
        part.append(slice(low, high, step))
    part = tuple(part)
    v = floats(*x[part].shape)
    out = x.copy()
    out[part] = v
    lists = [('b', begin), ('e', end), ('s', strides)]
    case(name, 'strided_set(%x, %v, %b, %e, %s)',
         [('x', x), ('v', v)] + [(n, np.array(a, 'int32')) for n, a in lists],
         out)


strided_set('strided_set__5x4x3_1_of_3', floats(5, 4, 3), [1], [4], [2])
strided_set('strided_set__5x4_no_strides', floats(5, 4), [1, 1], [4, 3], [])
strided_set('strided_set__5x4_no_begin', floats(5, 4), [], [3, 2], [1])


def scatter_add(name, x, at, updates, axis):
    out = x.copy()
    for i in np.ndindex(at.shape):
        to = list(i)
        to[axis] = at[i]
        out[tuple(to)] += updates[i]
    case(name, 'scatter_add(%%x, %%i, %%u, axis=%d)' % axis,
         [('x', x), ('i', at), ('u', updates)], out)


scatter_add('scatter_add__i32_7_3_of_5', ints(7),
            np.array([2, 6, 2], 'int32'), ints(5), 0)
scatter_add('scatter_add__i32_4x5_2x3_of_3x4_ax1', ints(4, 5),
            rng.integers(0, 5, (2, 3)), ints(3, 4), 1)
scatter_add('scatter_add__i32_4x5_2x3_of_2x3_ax0', ints(4, 5),
            rng.integers(0, 4, (2, 3)), ints(2, 3), 0)


def sparse_reshape(name, at, old, new):
    """Quotients and remainders of the row-major position, rounded down."""
    old, new = np.array(old), np.array(new)
    if list(old) == list(new):
        out = at
    else:
        position = at @ np.array([old[i + 1:].prod() for i in range(len(old))])
        out = np.zeros((len(at), len(new)), 'int64')
        for j in range(len(new)):
            size = int(new[j + 1:].prod())
            out[:, j], position = position // size, position % size
    case(name, 'sparse_reshape(%i, %o, %n)',
         [('i', at), ('o', old), ('n', new)], [out, new])


outside = np.array([[0, 5, 1], [-1, 0, 0], [7, -2, 9], [1, 2, 3]])
sparse_reshape('sparse_reshape__2x3x4_to_6x4_outside', outside, [2, 3, 4],
               [6, 4])
sparse_reshape('sparse_reshape__2x3x4_to_2x2x6_outside', outside, [2, 3, 4],
               [2, 2, 6])
sparse_reshape('sparse_reshape__2x3x4_to_itself_outside', outside, [2, 3, 4],
               [2, 3, 4])


def conv1d_transpose(x, w, stride, extra):
    n, c, t = x.shape
    k = w.shape[2]
    out = np.zeros((n, w.shape[1], (t - 1) * stride + k + extra))
    for p in range(t):
        out[:, :, p * stride:p * stride + k] += np.einsum(
            'nc,cok->nok', x[:, :, p].astype('float64'), w.astype('float64'))
    return out.astype('float32')


x, w = floats(1, 2, 4), floats(2, 3, 3)
case('nn.conv1d_transpose__1x2x4_op_1x5',
     'nn.conv1d_transpose(%x, %w, strides=[2], output_padding=[1, 5], '
     'kernel_layout="IOW", channels=3, kernel_size=[3])',
     [('x', x), ('w', w)], conv1d_transpose(x, w, 2, 1), 1e-5, 1e-6)


def avg_pool2d_grad(name, grad, shape, k, stride, pad, count_pad):
    """Each window adds its share, truncated, to its elements."""
    out = np.zeros(shape, grad.dtype)
    for n, c, i, j in np.ndindex(grad.shape):
        cells = [(a, b) for a in range(i * stride - pad, i * stride - pad + k)
                 for b in range(j * stride - pad, j * stride - pad + k)
                 if 0 <= a < shape[2] and 0 <= b < shape[3]]
        count = k * k if count_pad else len(cells)
        share = int(abs(int(grad[n, c, i, j])) // count)
        for a, b in cells:
            out[n, c, a, b] += share if grad[n, c, i, j] >= 0 else -share
    case(name, 'nn.avg_pool2d_grad(%%g, %%x, pool_size=[%d, %d], strides='
         '[%d, %d], padding=[%d, %d, %d, %d], count_include_pad=%s)' %
         (k, k, stride, stride, pad, pad, pad, pad, count_pad),
         [('g', grad), ('x', np.zeros(shape, grad.dtype))], out)


avg_pool2d_grad('nn.avg_pool2d_grad__i32_1x2x4x4_k2_s2_p0',
                rng.integers(-99, 100, (1, 2, 2, 2)).astype('int32'),
                (1, 2, 4, 4), 2, 2, 0, False)
avg_pool2d_grad('nn.avg_pool2d_grad__i32_1x1x5x5_k3_s2_p1',
                rng.integers(-99, 100, (1, 1, 3, 3)).astype('int32'),
                (1, 1, 5, 5), 3, 2, 1, False)
avg_pool2d_grad('nn.avg_pool2d_grad__i32_1x1x5x5_k3_s2_p1_all',
                rng.integers(-99, 100, (1, 1, 3, 3)).astype('int32'),
                (1, 1, 5, 5), 3, 2, 1, True)

x = ints(2, 3)
case('dyn.tile__f32_reps', 'dyn.tile(%x, %r, reps=[])',
     [('x', x), ('r', np.array([2, 3], 'float32'))], np.tile(x, (2, 3)))
x = rng.permutation(12).astype('int32').reshape(2, 6)
order = np.argsort(-x, axis=1)[:, :3]
case('dyn.topk__f32_k', 'dyn.topk(%x, %k, axis=1, dtype="int32")',
     [('x', x), ('k', np.array([3.5], 'float32'))],
     [np.take_along_axis(x, order, 1), order.astype('int32')])
