"""Numbers of a few bits, and sparse weights of convolutions: nn.bitpack,
nn.bitserial_*, nn.sparse_conv2d, nn.internal.sparse_dense_padded."""
import numpy as np

from case_files import attributes, case, tolerance

rng = np.random.default_rng(424)


# --- nn.bitpack ---------------------------------------------------------------

def packed(x, bits, axis, bit_axis, dtype):
    """By NumPy's packbits, which also puts the first element highest."""
    width = np.dtype(dtype).itemsize
    planes = []
    for b in range(bits):
        plane = np.packbits((x.astype('int64') >> b & 1).astype('uint8'), axis)
        plane = np.moveaxis(plane, axis, -1)
        words = plane.reshape(plane.shape[:-1] + (-1, width)).astype('uint64')
        word = np.zeros(words.shape[:-1], 'uint64')
        for k in range(width):
            word = (word << np.uint64(8)) | words[..., k]
        planes.append(np.moveaxis(word, -1, axis))
    return np.stack(planes, bit_axis).astype(dtype)


def pack_case(name, shape, bits, axis, bit_axis, dtype, source='int32',
              written=True, dims={}):
    x = rng.integers(0, 2 ** bits, shape).astype(source)
    pairs = {'bits': bits, 'pack_axis': axis, 'bit_axis': bit_axis}
    if written:
        pairs['pack_type'] = dtype
    case('nn.bitpack__' + name, 'nn.bitpack(%x' + attributes(pairs) + ')',
         [('x', x)], packed(x, bits, axis, bit_axis, dtype), dims=dims)


pack_case('uint8', (2, 16, 3), 1, 1, 3, 'uint8')
pack_case('uint16', (1, 32, 2, 2), 2, 1, 2, 'uint16')
pack_case('uint32', (64, 3), 3, 0, 0, 'uint32', source='uint8')
pack_case('uint64', (2, 64), 2, 1, 1, 'uint64', source='int64')
pack_case('eight_bits', (8, 5), 8, 0, 2, 'uint8', source='uint8')
pack_case('default', (1, 64, 2), 2, 1, 3, 'uint32', written=False)
pack_case('last', (2, 2, 8), 2, 2, 1, 'uint8', source='int8')
pack_case('any', (2, 8), 1, 1, 2, 'uint8', dims={'x': '??'})
x = np.array([[3, -2, -1, 5, 4, 7, 0, 1]], 'int32')
case('nn.bitpack__negative', 'nn.bitpack(%x, bits=2, pack_axis=1, bit_axis=2, '
     'pack_type="uint8")', [('x', x)], packed(x, 2, 1, 2, 'uint8'))


# --- nn.bitserial_dense, nn.bitserial_conv2d ----------------------------------

def few_bits(shape, bits, dtype):
    """Bits above the lowest do not count: some are set."""
    high = rng.integers(0, 2, shape) * 2 ** bits if bits < 6 else 0
    return (rng.integers(0, 2 ** bits, shape) + high).astype(dtype)


def meant(x, bits, signs=False):
    x = x.astype('int64') % 2 ** bits
    if not signs:
        return x
    planes = [(1 if b else -1) * 2 ** k
              for k in range(bits) for b in (0, 1)]
    value = np.zeros_like(x)
    for k in range(bits):
        value += np.where(x >> k & 1, planes[2 * k + 1], planes[2 * k])
    return value


def dense_case(name, m, k, n, a=1, w=1, unipolar=True, pack=None, source='int8',
               out=None, dims={}):
    x, weight = few_bits((m, k), a, source), few_bits((n, k), w, source)
    result = meant(x, a) @ meant(weight, w, unipolar).T
    given = packed(weight % 2 ** w, w, 1, 1, pack) if pack else weight
    pairs = {'units': n, 'data_bits': a, 'weight_bits': w}
    if out:
        pairs['out_dtype'] = out
    if pack:
        pairs['pack_dtype'] = pack
    if not unipolar:
        pairs['unipolar'] = False
    case('nn.bitserial_dense__' + name,
         'nn.bitserial_dense(%x, %w' + attributes(pairs) + ')',
         [('x', x), ('w', given)], result.astype(out or source), dims=dims)


dense_case('one_bit', 3, 8, 4)
dense_case('bits', 2, 16, 3, a=2, w=3, source='int32', out='int16')
dense_case('plain', 4, 7, 2, a=3, w=2, unipolar=False, out='int32')
dense_case('packed', 2, 32, 5, a=2, w=2, pack='uint32', out='int16')
dense_case('packed_uint8', 3, 24, 2, a=1, w=3, pack='uint8', source='uint8',
           out='int32')
dense_case('packed_plain', 1, 64, 3, a=2, w=1, unipolar=False, pack='uint64',
           out='int64')
dense_case('wraps', 2, 40, 3, a=5, w=4, source='uint8', out='int8')
dense_case('any', 2, 8, 3, source='int32', dims={'x': '??'})


def conv_case(name, shape, kernel, a=1, w=1, strides=(1, 1), padding=(0, 0),
              layout='NCHW', unipolar=True, pack=None, source='int8', out=None,
              dims={}):
    """`shape` is NCHW, `kernel` OIHW."""
    x, weight = few_bits(shape, a, source), few_bits(kernel, w, source)
    top, left = padding[:2]
    bottom, right = padding[-2:]
    wide = np.pad(meant(x, a), [(0, 0), (0, 0), (top, bottom), (left, right)])
    height = (wide.shape[2] - kernel[2]) // strides[0] + 1
    width = (wide.shape[3] - kernel[3]) // strides[1] + 1
    result = np.zeros((shape[0], kernel[0], height, width), 'int64')
    for i, j in np.ndindex(height, width):
        y, z = i * strides[0], j * strides[1]
        window = wide[:, :, y:y + kernel[2], z:z + kernel[3]]
        result[:, :, i, j] = np.einsum('nchw,ochw->no', window,
                                       meant(weight, w, unipolar))
    last = layout == 'NHWC'
    order = (2, 3, 1, 0) if last else (0, 1, 2, 3)
    given = weight.transpose(order)
    if pack:
        given = packed(given % 2 ** w, w, 2 if last else 1, 4, pack)
    data = x.transpose(0, 2, 3, 1) if last else x
    result = result.transpose(0, 2, 3, 1) if last else result
    pairs = {'strides': list(strides), 'padding': list(padding),
             'channels': kernel[0], 'kernel_size': list(kernel[2:]),
             'activation_bits': a, 'weight_bits': w}
    if last:
        pairs.update(data_layout='NHWC', kernel_layout='HWIO')
    if pack:
        pairs['pack_dtype'] = pack
    if out:
        pairs['out_dtype'] = out
    if not unipolar:
        pairs['unipolar'] = False
    case('nn.bitserial_conv2d__' + name,
         'nn.bitserial_conv2d(%x, %w' + attributes(pairs) + ')',
         [('x', np.ascontiguousarray(data)),
          ('w', np.ascontiguousarray(given))],
         np.ascontiguousarray(result).astype(out or 'int16'), dims=dims)


conv_case('one_bit', (1, 8, 4, 4), (2, 8, 3, 3))
conv_case('bits', (2, 4, 5, 3), (3, 4, 2, 2), a=2, w=3, source='uint8')
conv_case('plain', (1, 3, 4, 5), (2, 3, 3, 3), a=3, w=2, unipolar=False,
          padding=(1, 1), out='int32')
conv_case('strides', (1, 8, 6, 7), (2, 8, 3, 2), a=2, w=1, strides=(2, 3),
          padding=(1, 0, 2, 1))
conv_case('nhwc', (1, 8, 4, 3), (4, 8, 3, 3), a=1, w=2, padding=(1, 1),
          layout='NHWC')
conv_case('packed', (1, 32, 3, 3), (2, 32, 3, 3), a=2, w=2, padding=(1, 1),
          pack='uint32')
conv_case('packed_nhwc', (2, 16, 3, 4), (3, 16, 1, 2), a=1, w=3, pack='uint8',
          layout='NHWC', out='int32')
conv_case('wraps', (1, 16, 3, 3), (1, 16, 3, 3), a=5, w=4, source='uint8',
          out='int8')
conv_case('any', (2, 4, 4, 4), (2, 4, 3, 3), dims={'x': '?4??'})


# --- Sparse weights -----------------------------------------------------------

def compressed(rows, columns, r, c, density=0.5, pad=1):
    """A random matrix in blocks: dense, and (values, columns, row starts), the
    rows padded with blocks of 0 to a multiple of `pad`."""
    dense = np.zeros((rows, columns))
    values, places, starts = [], [], [0]
    for i in range(rows // r):
        for j in range(columns // c):
            if rng.random() < density:
                block = rng.uniform(-2, 2, (r, c))
                dense[i * r:i * r + r, j * c:j * c + c] = block
                values.append(block)
                places.append(j)
        while len(values) - starts[-1] & (pad - 1):
            values.append(np.zeros((r, c)))
            places.append(0)
        starts.append(len(values))
    return (dense, np.array(values).reshape(-1, r, c),
            np.array(places, 'int32'), np.array(starts, 'int32'))


def sparse_conv_case(name, shape, n, r, c=1, side=1, layout='NHWC', rank=3,
                     dtype='float32', dims={}):
    """`shape` is NHWC."""
    k = shape[3]
    dense, values, places, starts = compressed(n, side * side * k, r, c)
    x = rng.uniform(-2, 2, shape).astype(dtype)
    values = values.astype(dtype).reshape(values.shape[:rank])
    if layout == 'NHWC':
        weight = dense.reshape(n, side, side, k)
    else:
        weight = dense.reshape(n, k, side, side).transpose(0, 2, 3, 1)
    weight = weight.astype(dtype).astype('float64')
    h = side // 2
    wide = np.pad(x.astype('float64'), [(0, 0), (h, h), (h, h), (0, 0)])
    result = np.zeros(shape[:3] + (n,))
    for i, j in np.ndindex(*shape[1:3]):
        result[:, i, j] = np.einsum('bhwc,nhwc->bn',
                                    wide[:, i:i + side, j:j + side], weight)
    if layout == 'NCHW':
        x, result = x.transpose(0, 3, 1, 2), result.transpose(0, 3, 1, 2)
    t = tolerance(dtype)
    case('nn.sparse_conv2d__' + name, 'nn.sparse_conv2d(%x, %v, %c, %s'
         + attributes({'layout': layout, 'kernel_size': [side, side]}) + ')',
         [('x', np.ascontiguousarray(x)), ('v', values), ('c', places),
          ('s', starts)], np.ascontiguousarray(result).astype(dtype), t, t,
         dims)


sparse_conv_case('nhwc', (1, 3, 4, 6), 4, 2, 3)
sparse_conv_case('nchw', (2, 3, 2, 4), 6, 3, 2, layout='NCHW')
sparse_conv_case('columns', (1, 2, 3, 5), 8, 4, rank=2)
sparse_conv_case('columns_nchw', (1, 4, 2, 6), 4, 2, rank=2, layout='NCHW')
sparse_conv_case('three', (1, 4, 5, 4), 4, 2, 2, side=3)
sparse_conv_case('three_nchw', (2, 3, 4, 3), 4, 2, 1, side=3, layout='NCHW')
sparse_conv_case('f64', (1, 2, 2, 4), 3, 1, 4, dtype='float64')
sparse_conv_case('any', (2, 3, 3, 4), 4, 2, 2, dims={'x': '???4'})


def padded_case(name, m, k, n, r, c, pad=32, csr=False, dtype='float32'):
    dense, values, places, starts = compressed(n, k, r, c, pad=pad)
    x, values = rng.uniform(-2, 2, (m, k)).astype(dtype), values.astype(dtype)
    result = x.astype('float64') @ dense.astype(dtype).astype('float64').T
    t = tolerance(dtype)
    case('nn.internal.sparse_dense_padded__' + name,
         'nn.internal.sparse_dense_padded(%x, %v, %c, %s)',
         [('x', x), ('v', values.reshape(-1) if csr else values),
          ('c', places), ('s', starts)], result.astype(dtype), t, t)


padded_case('csr', 3, 10, 4, 1, 1, csr=True)
padded_case('csr_wide', 2, 70, 3, 1, 1, csr=True)
padded_case('blocks', 2, 12, 8, 4, 3)
padded_case('small_pad', 4, 6, 6, 2, 2, pad=4)
padded_case('one_row', 1, 8, 4, 4, 1)
padded_case('f64', 2, 9, 6, 3, 3, dtype='float64')
