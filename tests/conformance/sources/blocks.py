"""Cases of blocked layouts: convolutions and poolings in NCHWc, dense layers
with packed weights, and what the machine of TVM calls reshapes.  Values are
small integers, so that float32 sums are exact."""
import itertools

import numpy as np

from case_files import case

rng = np.random.default_rng(1706)


def whole(*shape, dtype='float32'):
    return rng.integers(-4, 5, shape).astype(dtype)


def packed(x, axes, layout):
    """x, whose axes are called `axes`, in a layout such as NCHW4c."""
    outer, blocks, number = [], [], ''
    for ch in layout:
        if ch.isdigit():
            number += ch
        elif ch.islower():
            blocks.append((ch.upper(), int(number)))
            number = ''
        else:
            outer.append(ch)
    sizes = dict(zip(axes, x.shape))
    inside = dict(blocks)
    names, shape = [], []
    for a in axes:
        names.append(a)
        shape.append(sizes[a] // inside.get(a, 1))
        if a in inside:
            names.append(a.lower())
            shape.append(inside[a])
    order = outer + [b.lower() for b, _ in blocks]
    return np.ascontiguousarray(
        x.reshape(shape).transpose([names.index(n) for n in order]))


def conv(x, w, strides, pad, dilation, groups):
    n, c, h, wd = x.shape
    o, i, kh, kw = w.shape
    big = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad),
                                        (pad, pad)))
    oh = (h + 2 * pad - dilation * (kh - 1) - 1) // strides + 1
    ow = (wd + 2 * pad - dilation * (kw - 1) - 1) // strides + 1
    out = np.zeros((n, o, oh, ow))
    for b, oc, y, z in itertools.product(*map(range, out.shape)):
        first = oc // (o // groups) * i
        part = big[b, first:first + i,
                   y * strides:y * strides + dilation * (kh - 1) + 1:dilation,
                   z * strides:z * strides + dilation * (kw - 1) + 1:dilation]
        out[b, oc, y, z] = (part * w[oc]).sum()
    return out


def convolutions():
    for name, c, o, k, st, pad, dil, g, dl, kl, ol, dims in [
            ('nn.contrib_conv2d_NCHWc__4_4', 8, 12, 3, 1, 1, 1, 1, 'NCHW4c',
             'OIHW4i4o', 'NCHW4c', None),
            ('nn.contrib_conv2d_NCHWc__2_8', 6, 16, 3, 2, 1, 1, 1, 'NCHW2c',
             'OIHW2i8o', 'NCHW8c', None),
            ('nn.contrib_conv2d_NCHWc__one_by_one', 4, 4, 1, 1, 0, 1, 1,
             'NCHW2c', 'OIHW2i2o', 'NCHW2c', None),
            ('nn.contrib_conv2d_NCHWc__dilation', 4, 6, 2, 1, 2, 2, 1, 'NCHW4c',
             'OIHW4i3o', 'NCHW3c', None),
            ('nn.contrib_conv2d_NCHWc__default_out', 4, 8, 3, 1, 1, 1, 1,
             'NCHW4c', 'OIHW4i4o', '', None),
            ('nn.contrib_conv2d_NCHWc__groups', 8, 8, 3, 1, 0, 1, 2, 'NCHW4c',
             'OIHW4i4o', 'NCHW4c', None),
            ('nn.contrib_conv2d_NCHWc__any', 8, 4, 3, 1, 1, 1, 1, 'NCHW4c',
             'OIHW4i4o', 'NCHW4c', ['?', 2, '?', '?', 4]),
            ('nn.contrib_depthwise_conv2d_NCHWc__4', 8, 8, 3, 1, 1, 1, 8,
             'NCHW4c', 'OIHW1i4o', 'NCHW4c', None),
            ('nn.contrib_depthwise_conv2d_NCHWc__strides', 8, 8, 3, 2, 1, 1, 8,
             'NCHW2c', 'OIHW1i2o', 'NCHW2c', None),
            ('nn.contrib_depthwise_conv2d_NCHWc__dilation', 4, 4, 2, 1, 2, 2, 4,
             'NCHW4c', 'OIHW1i4o', 'NCHW4c', None),
            ('nn.contrib_depthwise_conv2d_NCHWc__eight', 16, 16, 3, 1, 1, 1, 16,
             'NCHW8c', 'OIHW1i8o', 'NCHW8c', None),
            ('nn.contrib_depthwise_conv2d_NCHWc__one', 2, 2, 3, 1, 1, 1, 2,
             'NCHW1c', 'OIHW1i1o', 'NCHW1c', None),
            ('nn.contrib_depthwise_conv2d_NCHWc__any', 8, 8, 3, 1, 1, 1, 8,
             'NCHW4c', 'OIHW1i4o', 'NCHW4c', ['?', 2, 5, 6, 4]),
            ('nn.conv2d__blocked_data', 4, 6, 3, 1, 1, 1, 1, 'NCHW2c', 'OIHW',
             'NCHW', None),
            ('nn.conv2d__blocked_weight', 4, 6, 3, 1, 1, 1, 1, 'NHWC',
             'HWIO2i3o', 'NHWC', None),
            ('nn.conv2d__blocked_result', 4, 6, 3, 1, 1, 1, 1, 'NCHW', 'OIHW',
             'NCHW3c', None)]:
        x, w = whole(2, c, 5, 6), whole(o, c // g, k, k)
        out = conv(x, w, st, pad, dil, g).astype('float32')
        text = ('%s(%%x, %%w, strides=[%d, %d], padding=[%d, %d, %d, %d], '
                'dilation=[%d, %d], groups=%d, channels=%d, '
                'kernel_size=[%d, %d], data_layout="%s", kernel_layout="%s"%s)'
                % (name.split('__')[0], st, st, pad, pad, pad, pad, dil, dil, g,
                   o, k, k, dl, kl,
                   ', out_layout="%s"' % ol if ol else ''))
        case(name, text,
             [('x', packed(x, 'NCHW', dl)), ('w', packed(w, 'OIHW', kl))],
             packed(out, 'NCHW', ol or dl), dims={'x': dims} if dims else {})


def poolings():
    for name, fn, dl, k, st in [
            ('nn.max_pool2d__blocked', np.max, 'NCHW4c', 2, 2),
            ('nn.max_pool2d__blocked_strides', np.max, 'NCHW2c', 3, 1),
            ('nn.avg_pool2d__blocked', np.mean, 'NCHW4c', 2, 2),
            ('nn.global_avg_pool2d__blocked', np.mean, 'NCHW4c', 0, 1),
            ('nn.global_max_pool2d__blocked', np.max, 'NCHW8c', 0, 1),
            ('nn.adaptive_avg_pool2d__blocked', np.mean, 'NCHW2c', 4, 4)]:
        x = 4 * whole(2, 8, 8, 8)
        size, step = (k, st) if k else (8, 8)
        n = (8 - size) // step + 1
        out = np.empty((2, 8, n, n), 'float32')
        for y, z in itertools.product(range(n), range(n)):
            out[:, :, y, z] = fn(x[:, :, y * step:y * step + size,
                                   z * step:z * step + size], axis=(2, 3))
        op = name.split('__')[0]
        extra = ''
        if 'adaptive' in op:
            extra = 'output_size=[%d, %d], ' % (n, n)
        elif 'global' not in op:
            extra = 'pool_size=[%d, %d], strides=[%d, %d], ' % (k, k, st, st)
        case(name, '%s(%%x, %slayout="%s")' % (op, extra, dl),
             [('x', packed(x, 'NCHW', dl))], packed(out, 'NCHW', dl))


def dense():
    for tag, m, n, k, layout, dims in [
            ('8n', 3, 16, 5, 'NC8n', None), ('1n', 2, 3, 4, 'NC1n', None),
            ('both', 2, 8, 6, 'NC4n3c', None), ('swapped', 3, 4, 6, 'CN2n', None),
            ('long', 1, 4, 300, 'NC4n', None),
            ('any', 3, 8, 5, 'NC4n', ['?', 5])]:
        if tag == 'swapped':
            layout = 'NC2c4n'
        x, w = whole(m, k), whole(n, k)
        case('nn.contrib_dense_pack__' + tag,
             'nn.contrib_dense_pack(%%x, %%w, units=%d, weight_layout="%s")'
             % (n, layout), [('x', x), ('w', packed(w, 'NC', layout))],
             (x @ w.T).astype('float32'), dims={'x': dims} if dims else {})
    for tag, zx, zw, dx, dw, layout, dims in [
            ('hexagon', 11, 3, 'uint8', 'int8', 'NC8n4c', None),
            ('no_zero_points', 0, 0, 'int8', 'int8', 'NC4n4c', None),
            ('only_data', 200, 0, 'uint8', 'int8', 'NC4n', None),
            ('only_weight', 0, 100, 'uint8', 'uint8', 'NC2n', None),
            ('channels', 7, np.arange(8, dtype=np.int32), 'uint8', 'int8',
             'NC4n', None),
            ('any', 7, 3, 'uint8', 'int8', 'NC4n', ['?', 12])]:
        low = {'uint8': (0, 256), 'int8': (-128, 128)}
        x = rng.integers(*low[dx], (3, 12)).astype(dx)
        w = rng.integers(*low[dw], (8, 12)).astype(dw)
        X, W = x.astype(np.int64), w.astype(np.int64)
        out = (X @ W.T - np.asarray(zw) * X.sum(1)[:, None] - zx * W.sum(1)
               + 12 * zx * np.asarray(zw))
        inputs = [('x', x), ('w', packed(w, 'NC', layout))]
        if isinstance(zw, np.ndarray):
            inputs.append(('z', zw))
        case('qnn.contrib_dense_pack__' + tag,
             'qnn.contrib_dense_pack(%%x, %%w, %d, %s, 0.5f, 0.25f, units=8, '
             'out_dtype="int32", weight_layout="%s")'
             % (zx, '%z' if isinstance(zw, np.ndarray) else zw, layout),
             inputs, out.astype(np.int32), dims={'x': dims} if dims else {})


def layouts():
    for tag, shape, axes, frm, to in [
            ('nchw4c', (2, 8, 3, 5), 'NCHW', 'NCHW', 'NCHW4c'),
            ('nchw4c_back', (2, 8, 3, 5), 'NCHW', 'NCHW4c', 'NCHW'),
            ('nchw4c_to_8c', (2, 16, 3, 2), 'NCHW', 'NCHW4c', 'NCHW8c'),
            ('oihw4i4o', (8, 4, 3, 3), 'OIHW', 'OIHW', 'OIHW4i4o'),
            ('hwio_to_oihw4i4o', (8, 4, 3, 2), 'OIHW', 'HWIO', 'OIHW4i4o'),
            ('oihw1i4o', (8, 1, 3, 3), 'OIHW', 'OIHW', 'OIHW1i4o'),
            ('blocked_nhwc', (2, 8, 3, 5), 'NCHW', 'NHWC', 'NCHW2c')]:
        x = whole(*shape)
        case('layout_transform__blocks_' + tag,
             'layout_transform(%%x, src_layout="%s", dst_layout="%s")'
             % (frm, to), [('x', packed(x, axes, frm))], packed(x, axes, to))


def machine():
    for tag, shape, to in [('flat', (2, 3), (6,)), ('split', (6,), (2, 3)),
                           ('scalar', (1, 1), ()), ('empty', (0, 3), (3, 0)),
                           ('same', (2, 3), (2, 3)),
                           ('ranks', (4, 6), (2, 2, 3, 2))]:
        x = whole(*shape)
        case('vm.reshape_tensor__' + tag,
             'vm.reshape_tensor(%%x, %%s, newshape=%s)' % list(to),
             [('x', x), ('s', np.array(to, np.int64))], x.reshape(to))
    for tag, shape, dims in [('2x3', (2, 3), None), ('scalar', (), None),
                             ('empty', (0, 4), None), ('any', (2, 3),
                                                       ['?', '?'])]:
        case('vm.shape_of__' + tag, 'vm.shape_of(%x, dtype="int64")',
             [('x', whole(*shape))], np.array(shape, np.int64),
             dims={'x': dims} if dims else {})
    for tag, x in [('f32', whole(2, 3)), ('i8', whole(4, dtype='int8'))]:
        case('annotation.with_funcid__' + tag,
             'annotation.with_funcid(%x, funcid=7)', [('x', x)], x)


if __name__ == '__main__':
    convolutions()
    poolings()
    dense()
    layouts()
    machine()
