"""Cases of blocked layouts: convolutions, poolings and resizing in NCHWc, dense
layers with packed weights, and what the machine of TVM calls reshapes.  Values are
small integers, so that float32 sums are exact."""
import itertools

import numpy as np

from case_files import case

rng = np.random.default_rng(1706)


def whole(*shape, dtype='float32'):
    return rng.integers(-4, 5, shape).astype(dtype)


def packed(x, axes, layout):
    """x, whose axes are called `axes`, in a layout such as NCHW4c.  The blocks
    of a letter split its axis from the outside to the inside."""
    order, sizes, number = [], {}, ''
    for ch in layout:
        if ch.isdigit():
            number += ch
            continue
        parts = sizes.setdefault(ch.upper(), [])
        if ch.islower():
            parts.append(int(number))
            number = ''
        order.append((ch.upper(), len(parts)))
    names, shape = [], []
    for a, n in zip(axes, x.shape):
        parts = sizes[a]
        names += [(a, k) for k in range(len(parts) + 1)]
        shape += [n // int(np.prod(parts))] + parts
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


def interpolated(x, axis, points):
    """x at points along an axis, linearly; outside of it, its ends."""
    known = np.arange(x.shape[axis])
    return np.apply_along_axis(lambda v: np.interp(points, known, v), axis,
                               x.astype(np.float64))


def resizing():
    half = lambda n, to: (np.arange(to) + 0.5) * n / to - 0.5
    x = whole(2, 8, 3, 4)
    twice = x.repeat(2, 2).repeat(3, 3)
    for tag, layout, dims in [
            ('nchw4c', 'NCHW4c', None), ('nchw8c', 'NCHW8c', None),
            ('nhwc2c', 'NHWC2c', None), ('nchw2n4c', 'NCHW2n4c', None),
            ('any', 'NCHW4c', ['?', 2, '?', 4, '?'])]:
        case('nn.upsampling__blocks_' + tag,
             'nn.upsampling(%%x, scale_h=2f, scale_w=3f, layout="%s")' % layout,
             [('x', packed(x, 'NCHW', layout))], packed(twice, 'NCHW', layout),
             dims={'x': dims} if dims else {})
    case('dyn.nn.upsampling__blocks_nchw4c',
         'dyn.nn.upsampling(%x, %h, %w, layout="NCHW4c")',
         [('x', packed(x, 'NCHW', 'NCHW4c')), ('h', np.array(2, 'float32')),
          ('w', np.array(3, 'float32'))], packed(twice, 'NCHW', 'NCHW4c'))
    y = interpolated(interpolated(x, 2, np.arange(6) / 2), 3, np.arange(6) / 1.5)
    case('nn.upsampling__blocks_bilinear', 'nn.upsampling(%x, scale_h=2f, '
         'scale_w=1.5f, layout="NCHW4c", method="bilinear")',
         [('x', packed(x, 'NCHW', 'NCHW4c'))],
         packed(y.astype('float32'), 'NCHW', 'NCHW4c'), 1e-5, 1e-5)
    y = interpolated(interpolated(x, 2, half(3, 5)), 3, half(4, 1))
    case('image.resize2d__blocks_linear', 'image.resize2d(%x, size=[5, 1], '
         'roi=[0f, 0f, 0f, 0f], layout="NCHW4c")',
         [('x', packed(x, 'NCHW', 'NCHW4c'))],
         packed(y.astype('float32'), 'NCHW', 'NCHW4c'), 1e-5, 1e-5)
    case('image.resize2d__blocks_one', 'image.resize2d(%x, size=[5, 1], '
         'roi=[0f, 0f, 0f, 0f], layout="NCHW1c", out_dtype="float64")',
         [('x', packed(x, 'NCHW', 'NCHW1c'))],
         packed(y, 'NCHW', 'NCHW1c'), 1e-5, 1e-5)
    x = whole(1, 6, 5, dtype='int32')
    nearest = x[:, :, np.floor(np.arange(8) * 5 / 8 + 1e-5).astype(int)]
    case('image.resize1d__blocks_nearest', 'image.resize1d(%x, size=[8], '
         'roi=[0f, 0f], layout="NCW3c", method="nearest_neighbor", '
         'coordinate_transformation_mode="asymmetric", '
         'rounding_method="floor")', [('x', packed(x, 'NCW', 'NCW3c'))],
         packed(nearest, 'NCW', 'NCW3c'))
    x = whole(1, 4, 2, 3, 2)
    y = interpolated(x, 2, half(2, 3))
    y = interpolated(interpolated(y, 3, half(3, 3)), 4, half(2, 4))
    case('image.resize3d__blocks_linear', 'image.resize3d(%x, size=[3, 3, 4], '
         'roi=[0f, 0f, 0f, 0f, 0f, 0f], layout="NCDHW2c")',
         [('x', packed(x, 'NCDHW', 'NCDHW2c'))],
         packed(y.astype('float32'), 'NCDHW', 'NCDHW2c'), 1e-5, 1e-5)
    case('nn.upsampling3d__blocks_nearest', 'nn.upsampling3d(%x, scale_d=1f, '
         'scale_h=2f, scale_w=2f, layout="NCDHW4c", '
         'coordinate_transformation_mode="asymmetric")',
         [('x', packed(x, 'NCDHW', 'NCDHW4c'))],
         packed(x.repeat(2, 3).repeat(2, 4), 'NCDHW', 'NCDHW4c'))


def padded_poolings():
    """Windows that reach into the padding, and other ranks."""
    x = 12 * whole(1, 4, 5, 4)
    big = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    parts = np.stack([big[:, :, i:i + 6:2, j:j + 5:2][:, :, :3, :2]
                      for i, j in itertools.product(range(3), range(3))])
    for name, attrs, y in [
            ('nn.max_pool2d__blocked_padding', '', np.nanmax(parts, 0)),
            ('nn.avg_pool2d__blocked_padding', '', np.nanmean(parts, 0)),
            ('nn.avg_pool2d__blocked_padding_counts',
             ', count_include_pad=True', np.nansum(parts, 0) / 9)]:
        case(name, '%s(%%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, '
             '1], layout="NCHW2c"%s)' % (name.split('__')[0], attrs),
             [('x', packed(x, 'NCHW', 'NCHW2c'))],
             packed(y.astype('float32'), 'NCHW', 'NCHW2c'), 1e-6, 1e-6)
    halves = x[:, :, :, 0::2], x[:, :, :, 1::2]
    case('nn.max_pool2d__blocked_out_layout', 'nn.max_pool2d(%x, pool_size='
         '[1, 2], strides=[1, 2], layout="NCHW4c", out_layout="NCHW4c")',
         [('x', packed(x, 'NCHW', 'NCHW4c'))],
         packed(np.maximum(*halves), 'NCHW', 'NCHW4c'))
    case('nn.adaptive_max_pool2d__blocked', 'nn.adaptive_max_pool2d(%x, '
         'output_size=[5, 2], layout="NCHW2c")',
         [('x', packed(x, 'NCHW', 'NCHW2c'))],
         packed(np.maximum(x, np.roll(x, -1, 3))[:, :, :, ::2], 'NCHW',
                'NCHW2c'))
    x = whole(2, 6, 4, dtype='int32')
    case('nn.max_pool1d__blocked_i32', 'nn.max_pool1d(%x, pool_size=[2], '
         'strides=[2], layout="NCW3c")', [('x', packed(x, 'NCW', 'NCW3c'))],
         packed(np.maximum(x[:, :, ::2], x[:, :, 1::2]), 'NCW', 'NCW3c'))
    x = 8 * whole(1, 4, 2, 4, 2)
    y = x.reshape(1, 4, 1, 2, 2, 2, 1, 2).mean((3, 5, 7))
    case('nn.avg_pool3d__blocked', 'nn.avg_pool3d(%x, pool_size=[2, 2, 2], '
         'strides=[2, 2, 2], layout="NCDHW4c")',
         [('x', packed(x, 'NCDHW', 'NCDHW4c'))],
         packed(y, 'NCDHW', 'NCDHW4c'))


def other_convolutions():
    """One and three spatial axes, integers, no images: sums are exact."""
    for tag, dtype, out, c, o, dl, kl in [
            ('i8_i32', 'int8', 'int32', 8, 4, 'NCHW8c', 'OIHW8i4o'),
            ('f64', 'float64', 'float64', 4, 4, 'NCHW2c', 'OIHW2i2o')]:
        x, w = abs(whole(1, c, 3, 4)).astype(dtype), whole(o, c, 2, 2)
        w = w.astype(dtype.replace('uint', 'int'))
        y = conv(x, w.astype(np.float64), 1, 0, 1, 1).astype(out)
        result = 'NCHW%dc' % o
        case('nn.contrib_conv2d_NCHWc__' + tag, 'nn.contrib_conv2d_NCHWc(%%x, '
             '%%w, channels=%d, kernel_size=[2, 2], data_layout="%s", '
             'kernel_layout="%s", out_layout="%s", out_dtype="%s")'
             % (o, dl, kl, result, out), [('x', packed(x, 'NCHW', dl)),
                                          ('w', packed(w, 'OIHW', kl))],
             packed(y, 'NCHW', result))
    x, w = whole(0, 4, 3, 3), whole(4, 4, 1, 1)
    case('nn.contrib_conv2d_NCHWc__no_images', 'nn.contrib_conv2d_NCHWc(%x, %w, '
         'channels=4, kernel_size=[1, 1], data_layout="NCHW4c", '
         'kernel_layout="OIHW4i4o", out_layout="NCHW4c")',
         [('x', packed(x, 'NCHW', 'NCHW4c')),
          ('w', packed(w, 'OIHW', 'OIHW4i4o'))], packed(x, 'NCHW', 'NCHW4c'))
    x, w = whole(2, 4, 7), whole(6, 4, 3)
    y = sum(np.einsum('nct,oc->not', x[:, :, k:k + 5], w[:, :, k])
            for k in range(3))
    case('nn.conv1d__blocks', 'nn.conv1d(%x, %w, channels=6, kernel_size=[3], '
         'data_layout="NCW2c", kernel_layout="OIW2i3o", out_layout="NCW3c")',
         [('x', packed(x, 'NCW', 'NCW2c')), ('w', packed(w, 'OIW', 'OIW2i3o'))],
         packed(y, 'NCW', 'NCW3c'))
    x, w = whole(1, 4, 2, 3, 3), whole(2, 4, 1, 2, 1)
    y = sum(np.einsum('ncdhw,oc->nodhw', x[:, :, :, k:k + 2], w[:, :, 0, k, 0])
            for k in range(2))
    case('nn.conv3d__blocks', 'nn.conv3d(%x, %w, channels=2, kernel_size=[1, 2, '
         '1], data_layout="NCDHW4c", kernel_layout="OIDHW4i2o", '
         'out_layout="NCDHW2c")',
         [('x', packed(x, 'NCDHW', 'NCDHW4c')),
          ('w', packed(w, 'OIDHW', 'OIDHW4i2o'))], packed(y, 'NCDHW', 'NCDHW2c'))


def other_layouts():
    for tag, shape, axes, frm, to, dtype in [
            ('i8_nchw2c_to_nhwc4c', (1, 8, 3, 2), 'NCHW', 'NCHW2c', 'NHWC4c',
             'int8'),
            ('u8_vta', (4, 6, 2, 3), 'NCHW', 'NCHW', 'NCHW2n3c', 'uint8'),
            ('f16_ncw', (2, 6, 5), 'NCW', 'NCW', 'NWC2c', 'float16'),
            ('i32_empty', (0, 4, 2, 1), 'NCHW', 'NCHW4c', 'NHWC', 'int32'),
            ('f64_ncdhw', (1, 4, 2, 1, 3), 'NCDHW', 'NCDHW', 'NDHWC4c',
             'float64'),
            ('bool_one', (1, 1, 1, 1), 'NCHW', 'NCHW', 'NCHW1c', 'bool'),
            ('unequal', (2, 12, 2, 2), 'NCHW', 'NCHW4c', 'NCHW6c', 'int32')]:
        x = whole(*shape).astype(dtype)
        case('layout_transform__blocks_' + tag,
             'layout_transform(%%x, src_layout="%s", dst_layout="%s")'
             % (frm, to), [('x', packed(x, axes, frm))], packed(x, axes, to))
    x = whole(2, 8, 3, 2)
    case('nn.softmax__blocked', 'nn.softmax(%x, axis=4)',
         [('x', packed(x, 'NCHW', 'NCHW4c'))],
         (lambda b: np.exp(b) / np.exp(b).sum(4, keepdims=True))(
             packed(x, 'NCHW', 'NCHW4c')), 1e-5, 1e-6)
    bias = whole(2, 1, 1, 4)
    case('add__blocked_bias', 'add(%x, %b)',
         [('x', packed(x, 'NCHW', 'NCHW4c')), ('b', bias)],
         packed(x, 'NCHW', 'NCHW4c') + bias)
    for tag, x, w, layout in [
            ('i8', whole(3, 6, dtype='int8'), whole(8, 6, dtype='int8'),
             'NC4n2c'),
            ('no_rows', whole(0, 4), whole(6, 4), 'NC3n'),
            ('f64', whole(2, 3, dtype='float64'),
             whole(4, 3, dtype='float64'), 'NC4n')]:
        out = 'int32' if tag == 'i8' else x.dtype
        case('nn.contrib_dense_pack__' + tag,
             'nn.contrib_dense_pack(%%x, %%w, units=%d, out_dtype="%s", '
             'weight_layout="%s")' % (len(w), out, layout),
             [('x', x), ('w', packed(w, 'NC', layout))],
             (x.astype(out) @ w.T.astype(out)))
    for tag, x, to in [('i8_infer', whole(2, 6, dtype='int8'), (4, 3)),
                       ('f16_any', whole(3, 1, 2, dtype='float16'), (6, 1)),
                       ('bool', whole(8).astype(bool), (2, 2, 2))]:
        case('vm.reshape_tensor__' + tag,
             'vm.reshape_tensor(%%x, %%s, newshape=%s)' % list(to),
             [('x', x), ('s', np.array(to, np.int64))], x.reshape(to),
             dims={'x': ['?'] * x.ndim} if 'any' in tag else {})
    case('vm.shape_of__i32_of_bool', 'vm.shape_of(%x, dtype="int32")',
         [('x', np.ones((1, 0, 2), bool))], np.array([1, 0, 2], 'int32'))


def split_twice():
    """As convolutions of bytes have it whose sums go by fours."""
    for tag, c, o, k, dl, kl, ol in [
            ('split_twice', 8, 16, (2, 2), 'NCHW8c', 'OIHW2i16o4i', 'NCHW16c'),
            ('split_in_three', 16, 4, (1, 3), 'NCHW16c', 'OIHW2i2i4o4i',
             'NCHW4c'),
            ('data_split_twice', 8, 4, (1, 1), 'NCHW2c2c', 'OIHW4i2o',
             'NCHW2c2c')]:
        x = whole(1, c, 3, 4, dtype='int8')
        w = whole(o, c, *k, dtype='int8')
        y = conv(x, w.astype(np.float64), 1, 0, 1, 1).astype('int32')
        case('nn.contrib_conv2d_NCHWc__' + tag, 'nn.contrib_conv2d_NCHWc(%%x, '
             '%%w, channels=%d, kernel_size=[%d, %d], data_layout="%s", '
             'kernel_layout="%s", out_layout="%s", out_dtype="int32")'
             % (o, *k, dl, kl, ol), [('x', packed(x, 'NCHW', dl)),
                                     ('w', packed(w, 'OIHW', kl))],
             packed(y, 'NCHW', ol))
    for tag, frm, to, dims in [
            ('split_twice', 'OIHW', 'OIHW2i8o4i', None),
            ('split_twice_back', 'OIHW2i8o4i', 'OIHW', None),
            ('split_twice_to_once', 'HWIO2i8o4i', 'OIHW4i4o', None),
            ('split_by_one', 'OIHW1i1i', 'OIHW1o8i', None),
            ('split_twice_any', 'OIHW', 'IOHW2o2i2o2i', ['?', 16, 1, '?'])]:
        x = whole(8, 16, 1, 2, dtype='int8')
        case('layout_transform__blocks_' + tag,
             'layout_transform(%%x, src_layout="%s", dst_layout="%s")'
             % (frm, to), [('x', packed(x, 'OIHW', frm))],
             packed(x, 'OIHW', to), dims={'x': dims} if dims else {})
    x, w = whole(2, 8), whole(4, 8)
    case('nn.contrib_dense_pack__split_twice', 'nn.contrib_dense_pack(%x, %w, '
         'units=4, weight_layout="NC2n2c2n2c")',
         [('x', x), ('w', packed(w, 'NC', 'NC2n2c2n2c'))], x @ w.T)


if __name__ == '__main__':
    convolutions()
    poolings()
    dense()
    layouts()
    machine()
    resizing()
    padded_poolings()
    other_convolutions()
    other_layouts()
    split_twice()
