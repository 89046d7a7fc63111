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
order = np.argsort(x, axis=0)
case('dyn.topk__f64_k_of_all', 'dyn.topk(%x, %k, axis=0, is_ascend=True)',
     [('x', x), ('k', np.array([0.75]))],
     [np.take_along_axis(x, order, 0), order.astype('int32')],
     dims={'x': '?6'})
x = rng.permutation(9).astype('float64')
case('dyn.topk__f16_k_scalar', 'dyn.topk(%x, %k, ret_type="values")',
     [('x', x), ('k', np.array(4, 'float16'))], np.sort(x)[:4:-1])
x = rng.permutation(12).astype('uint8').reshape(3, 4)
order = np.argsort(-x.astype(int), axis=1)[:, :2]
case('topk__f32_k', 'topk(%x, k=%k, ret_type="indices", dtype="int64")',
     [('x', x), ('k', np.array(2.99, 'float32'))], order)
x = ints(2, 1, 3)
case('dyn.tile__f64_reps_more', 'dyn.tile(%x, %r, reps=[])',
     [('x', x), ('r', np.array([2.0, 1.0, 3.0, 0.0]))],
     np.tile(x, (2, 1, 3, 0)))
case('dyn.tile__f16_reps_fewer', 'dyn.tile(%x, %r, reps=[])',
     [('x', x), ('r', np.array([3.0], 'float16'))], np.tile(x, 3),
     dims={'x': '???'})
case('tile__f32_reps', 'tile(%x, reps=%r)',
     [('x', x), ('r', np.array([2, 2, 1], 'float32'))], np.tile(x, (2, 2, 1)))


def conv2d_transpose(x, w, stride, pad, groups):
    """A weight (in, out / groups, ...): each element of the data adds its
    multiple of the kernel to the result."""
    n, c, h, wd = x.shape
    per, k, m = w.shape[1], w.shape[2], w.shape[3]
    out = np.zeros((n, per * groups, (h - 1) * stride + k,
                    (wd - 1) * stride + m))
    for b, i, y, z in np.ndindex(*x.shape):
        first = i // (c // groups) * per
        out[b, first:first + per, y * stride:y * stride + k,
            z * stride:z * stride + m] += float(x[b, i, y, z]) * w[i]
    return out[:, :, pad:out.shape[2] - pad, pad:out.shape[3] - pad]


def unlabelled(name, x, w, stride=1, pad=0, groups=1, turned=False,
               attrs='', dims={}):
    """Without kernel_layout: IOHW, but OIHW (`turned`) if that alone fits."""
    plain = w.transpose(1, 0, 2, 3) if turned else w
    out = conv2d_transpose(x, plain, stride, pad, groups)
    case('nn.conv2d_transpose__' + name,
         'nn.conv2d_transpose(%%x, %%w, strides=[%d, %d], padding=[%d, %d]%s)'
         % (stride, stride, pad, pad, attrs), [('x', x), ('w', w)],
         out.astype(x.dtype), 1e-5, 1e-5, dims)


unlabelled('unlabelled_iohw', floats(1, 2, 3, 4), floats(2, 5, 3, 2), 2,
           attrs=', channels=5, kernel_size=[3, 2]')
unlabelled('unlabelled_oihw', floats(2, 3, 4, 3), floats(4, 3, 2, 3), 1, 1,
           turned=True, attrs=', channels=4, kernel_size=[2, 3]')
unlabelled('unlabelled_oihw_bare', floats(1, 2, 3, 3), floats(3, 2, 3, 3), 2,
           turned=True)
unlabelled('unlabelled_iohw_bare', floats(1, 3, 2, 3), floats(3, 1, 1, 4), 3)
unlabelled('unlabelled_square', floats(1, 3, 3, 3), floats(3, 3, 2, 2),
           attrs=', channels=3')
unlabelled('unlabelled_groups', floats(1, 4, 3, 3), floats(4, 3, 2, 2), 2, 1,
           groups=2, attrs=', groups=2, channels=6')
unlabelled('unlabelled_any_weight', floats(1, 2, 3, 3), floats(4, 2, 2, 2),
           turned=True, attrs=', channels=4, kernel_size=[2, 2]',
           dims={'w': ['?', '?', 2, 2]})


def filled(name, op, x, value, widths, inputs):
    """The fill value is cast to the data's dtype."""
    out = np.pad(x, widths, constant_values=np.asarray(value).astype(x.dtype))
    case(name, op, inputs, out)


x = ints(2, 3)
half = np.array(-1.75, 'float32')
filled('nn.pad__i32_f32_value', 'nn.pad(%x, %v, pad_width=[[1, 0], [0, 2]])',
       x, half, ((1, 0), (0, 2)), [('x', x), ('v', half)])
x = floats(3, 1)
big = np.array(2**24 + 1, 'int32')
filled('nn.pad__f32_i32_value', 'nn.pad(%x, %v, pad_width=[[0, 1], [1, 1]])',
       x, big, ((0, 1), (1, 1)), [('x', x), ('v', big)])
x = rng.integers(0, 256, (2, 2)).astype('uint8')
high = np.array(300, 'int64')
filled('nn.pad__u8_i64_value_wraps',
       'nn.pad(%x, %v, pad_width=[[1, 1], [0, 1]])', x, high,
       ((1, 1), (0, 1)), [('x', x), ('v', high)])
x = ints(3)
filled('dyn.nn.pad__i32_f32_value', 'dyn.nn.pad(%x, %w, %v, pad_width=[])', x,
       half, ((2, 1),), [('x', x), ('w', np.array([[2, 1]])), ('v', half)])
at, values = np.array([[0, 1], [2, 0]]), ints(2)
dense = np.full((3, 2), 7, 'int32')
dense[tuple(at.T)] = values
case('sparse_to_dense__i32_f32_value',
     'sparse_to_dense(%i, %v, %d, output_shape=[3, 2])',
     [('i', at), ('v', values), ('d', np.array(7.5, 'float32'))], dense)
case('dyn.sparse_to_dense__i32_f64_value', 'dyn.sparse_to_dense(%i, %v, %d, '
     '%s)', [('i', at), ('v', values), ('d', np.array(7.25)),
             ('s', np.array([3, 2]))], dense)


def fill_empty_rows(name, at, values, shape, default, scalar=(1,), dims={}):
    """Rows in order; an empty one gets the default in its first column."""
    rows = [[(tuple(i), v) for i, v in zip(at, values) if i[0] == r]
            for r in range(shape[0])]
    empty = np.array([not row for row in rows], 'int64')
    full = [row or [((r,) + (0,) * (len(shape) - 1), default)]
            for r, row in enumerate(rows)]
    cells = [cell for row in full for cell in row]
    case('sparse_fill_empty_rows__' + name,
         'sparse_fill_empty_rows(%i, %v, %s, %d)',
         [('i', np.array(at, 'int64').reshape(-1, len(shape))),
          ('v', values), ('s', np.array(shape, 'int64')),
          ('d', np.full(scalar, default, values.dtype))],
         [np.array([c[0] for c in cells], 'int64'),
          np.array([c[1] for c in cells], values.dtype), empty], dims=dims)


fill_empty_rows('any_default', [[0, 1], [0, 3], [3, 0]], ints(3), (5, 4), -8,
                dims={'d': '?'})
fill_empty_rows('one_default', [[1, 2]], floats(1), (3, 3), 0.5)
fill_empty_rows('none_empty', [[0, 0], [1, 1]], ints(2), (2, 2), 4,
                dims={'d': '?'})
fill_empty_rows('all_empty', np.zeros((0, 3)), ints(0), (4, 2, 3), 6,
                scalar=())

x = floats(2, 11)
window = rng.integers(-3, 4, 5).astype('int32')
parts = np.stack([x[:, i:i + 5] for i in range(0, 7, 3)], 2).astype('float64')
spectrum = np.fft.rfft(parts * window[:, None], axis=1)
case('stft__2x11_i32_window', 'stft(%x, %w, n_fft=5, hop_length=3, '
     'win_length=5, attrs_type_key="relay.attrs.StftAttrs")',
     [('x', x), ('w', window)],
     np.stack([spectrum.real, spectrum.imag], 3).astype('float32'), 1e-5, 1e-4)
sequence_mask('sequence_mask__u8_2x5_f64_lengths_ax1',
              rng.integers(0, 256, (2, 5)).astype('uint8'),
              np.array([1.5, 1e300]), 1, 9)
sequence_mask('sequence_mask__0x3_f32_lengths', floats(0, 3),
              np.array([0, 1, 2], 'float32'), 0, 1)

x = floats(2, 3, 4)
case('nn.bias_add__any_of_one', 'nn.bias_add(%x, %b)',
     [('x', x), ('b', np.array([2.5], 'float32'))], x + np.float32(2.5),
     dims={'b': '?'})
x = rng.integers(-9, 10, (1, 5)).astype('int8')
case('nn.bias_add__i8_any_of_one_axm1', 'nn.bias_add(%x, %b, axis=-1)',
     [('x', x), ('b', np.array([-7], 'int8'))], x - np.int8(7),
     dims={'b': '?', 'x': '??'})
x = floats(3, 2, 2)
case('nn.prelu__any_of_one', 'nn.prelu(%x, %a)',
     [('x', x), ('a', np.array([0.25], 'float32'))],
     np.where(x > 0, x, x * np.float32(0.25)), dims={'a': '?'})

strided_set('strided_set__5x4_nothing_said', floats(5, 4), [], [], [])
strided_set('strided_set__6x3_no_end', floats(6, 3), [4], [], [])
strided_set('strided_set__4x1_back', floats(4, 1), [3], [0], [-2])


def channels_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, 3))


def depth_to_space(x, b, rows_first):
    """rows_first: the channel counts the block's places before its own (DCR);
    otherwise its own before those (CRD)."""
    n, c, h, w = x.shape
    k = c // (b * b)
    shape = (n, b, b, k, h, w) if rows_first else (n, k, b, b, h, w)
    order = (0, 3, 4, 1, 5, 2) if rows_first else (0, 1, 4, 2, 5, 3)
    return x.reshape(shape).transpose(order).reshape(n, k, h * b, w * b)


def space_to_depth(x, b):
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // b, b, w // b, b)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b,
                                                     w // b)


x = ints(1, 8, 2, 3)
for tag, attrs, y in [
        ('i32_mode_cdr', 'mode="CDR"', depth_to_space(x, 2, False)),
        ('i32_mode_empty', 'mode=""', depth_to_space(x, 2, False)),
        ('i32_dcr', 'mode="DCR"', depth_to_space(x, 2, True))]:
    case('nn.depth_to_space__' + tag,
         'nn.depth_to_space(%x, block_size=2, ' + attrs + ')', [('x', x)], y)
case('nn.depth_to_space__i32_mode_dcr_nhwc', 'nn.depth_to_space(%x, '
     'block_size=2, layout="NHWC", mode="dcr")', [('x', channels_last(x))],
     channels_last(depth_to_space(x, 2, False)))
x = rng.integers(-9, 10, (2, 1, 6, 3)).astype('int8')
case('nn.space_to_depth__i8_mode_crd', 'nn.space_to_depth(%x, block_size=3, '
     'mode="CRD")', [('x', x)], space_to_depth(x, 3))

x, w = floats(1, 1, 3), floats(1, 2, 2)
case('nn.conv1d_transpose__1x1x3_op_2x0',
     'nn.conv1d_transpose(%x, %w, strides=[3], output_padding=[2, 0], '
     'kernel_layout="IOW", channels=2, kernel_size=[2])',
     [('x', x), ('w', w)], conv1d_transpose(x, w, 3, 2), 1e-5, 1e-6)

avg_pool2d_grad('nn.avg_pool2d_grad__i64_2x1x3x5_k3_s1_p2',
                rng.integers(-99, 100, (2, 1, 5, 7)), (2, 1, 3, 5), 3, 1, 2,
                False)
avg_pool2d_grad('nn.avg_pool2d_grad__i8_1x1x4x4_k4_s1_p0',
                np.array([[[[-127]]]], 'int8'), (1, 1, 4, 4), 4, 1, 0, True)
x = rng.permutation(36).astype('int32').reshape(1, 1, 6, 6)
grad, out = ints(1, 1, 2, 2), np.zeros_like(x)
for i, j in np.ndindex(2, 2):
    a, b = divmod(int(x[0, 0, 3 * i:3 * i + 3, 3 * j:3 * j + 3].argmax()), 3)
    out[0, 0, 3 * i + a, 3 * j + b] += grad[0, 0, i, j]
case('nn.max_pool2d_grad__i32_1x1x6x6_k3_s3_p0',
     'nn.max_pool2d_grad(%g, %x, pool_size=[3, 3], strides=[3, 3])',
     [('g', grad), ('x', x)], out)
scatter_add('scatter_add__i32_3x2x2_1x2x0_of_3x2x2_ax2', ints(3, 2, 2),
            np.zeros((1, 2, 0), 'int32'), ints(3, 2, 2), 2)
scatter_add('scatter_add__i32_6_4_of_9_duplicates', ints(6),
            np.array([3, 3, 3, 0], 'int32'), ints(9), 0)
sparse_reshape('sparse_reshape__5_to_5x1_outside', np.array([[7], [-3], [4]]),
               [5], [5, 1])
