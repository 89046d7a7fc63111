"""Convolutions and poolings of any rank where a window reaches far, or there
is little to see: padding wider than the data, dilations beyond it, kernels of
one element, groups of one channel, no images, integers of all widths."""
import itertools

import numpy as np

from case_files import attributes, case, tolerance

rng = np.random.default_rng(2210)
AXES = {1: 'W', 2: 'HW', 3: 'DHW'}


def whole(shape, dtype):
    low = 0 if 'uint' in dtype else -9
    return rng.integers(low, 10, shape).astype(dtype)


def padded(x, before, after, fill=0):
    return np.pad(x, ((0, 0), (0, 0)) + tuple(zip(before, after)),
                  constant_values=fill)


def lengths(n, reach, stride):
    return [(a - r) // s + 1 for a, r, s in zip(n, reach, stride)]


def places(shape, strides, dilations, kernel):
    """For each element of a kernel, the slice of what it is multiplied by."""
    for k in np.ndindex(*kernel):
        yield k, (slice(None), slice(None)) + tuple(
            slice(i * d, i * d + (n - 1) * s + 1, s) if n > 0 else slice(0, 0)
            for i, d, n, s in zip(k, dilations, shape, strides))


def conv(x, w, strides, before, after, dilations, groups):
    big = padded(x, before, after)
    kernel = w.shape[2:]
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
    n = lengths(big.shape[2:], reach, strides)
    out = np.zeros((x.shape[0], w.shape[0]) + tuple(n), x.dtype)
    per, own = w.shape[0] // groups, w.shape[1]
    for k, at in places(n, strides, dilations, kernel):
        part = big[at]
        for g in range(groups):
            out[:, g * per:(g + 1) * per] += np.einsum(
                'nc...,oc->no...', part[:, g * own:(g + 1) * own],
                w[(slice(g * per, (g + 1) * per), slice(None)) + k])
    return out


def conv_case(name, rank, shape, weight, strides=1, before=0, after=None,
              dilation=1, groups=1, layout=None, kernel_layout=None,
              dtype='float32', out=None, dims={}):
    every = lambda v: [v] * rank if np.ndim(v) == 0 else list(v)
    strides, before, dilation = map(every, (strides, before, dilation))
    after = before if after is None else every(after)
    x, w = whole(shape, dtype), whole(weight, dtype.replace('uint', 'int'))
    y = conv(x.astype('float64'), w.astype('float64'), strides, before, after,
             dilation, groups)
    axes = AXES[rank]
    pairs = {'strides': strides, 'padding': before + after,
             'dilation': dilation, 'groups': groups, 'channels': weight[0],
             'kernel_size': list(weight[2:])}
    put = lambda v, plain, to: np.ascontiguousarray(
        v.transpose([plain.index(l) for l in to or plain]))
    if layout:
        pairs['data_layout'] = layout
    if kernel_layout:
        pairs['kernel_layout'] = kernel_layout
    if out:
        pairs['out_dtype'] = out
    case('nn.conv%dd__%s' % (rank, name),
         'nn.conv%dd(%%x, %%w%s)' % (rank, attributes(pairs)),
         [('x', put(x, 'NC' + axes, layout)),
          ('w', put(w, 'OI' + axes, kernel_layout))],
         put(y.astype(out or dtype), 'NC' + axes, layout), dims=dims)


for rank in 1, 2, 3:
    ones = (1,) * rank
    conv_case('no_images', rank, (0, 2) + (3,) * rank, (4, 2) + (2,) * rank)
    conv_case('reach', rank, (1, 2) + (2,) * rank, (1, 2) + (2,) * rank,
              before=4, dilation=7)
    conv_case('one_element', rank, (2, 1) + ones, (3, 1) + (3,) * rank,
              before=1)
    conv_case('far_strides', rank, (1, 1) + (4,) * rank, (2, 1) + ones,
              strides=9)
    conv_case('padding_only', rank, (1, 1) + ones, (1, 1) + ones, before=2,
              after=1, strides=2)
    conv_case('multiplier', rank, (1, 3) + (3,) * rank, (6, 1) + (2,) * rank,
              groups=3)
    conv_case('f64_groups', rank, (2, 4) + (3,) * rank, (2, 2) + (2,) * rank,
              groups=2, before=1, strides=2, dtype='float64')
    conv_case('f16', rank, (1, 2) + (4,) * rank, (2, 2) + (2,) * rank,
              dtype='float16')
    conv_case('i8_i32_depthwise', rank, (1, 4) + (3,) * rank,
              (4, 1) + (2,) * rank, groups=4, before=1, dtype='int8',
              out='int32')
    conv_case('i16_i64_any', rank, (2, 2) + (4,) * rank, (3, 2) + (3,) * rank,
              dtype='int16', out='int64', dims={'x': '?' * (rank + 2)})
    last = AXES[rank]
    conv_case('channels_last_groups', rank, (1, 4) + (3,) * rank,
              (4, 2) + (2,) * rank, groups=2, layout='N' + last + 'C',
              kernel_layout=last + 'IO')
    conv_case('i32_uneven', rank, (1, 2) + (5,) * rank, (2, 2) + (2,) * rank,
              strides=2, before=0, after=1, dilation=3, dtype='int32')


def pool_case(op, name, rank, shape, size, strides=1, before=0, after=None,
              dilation=1, count=False, layout=None, dtype='float32', dims={}):
    every = lambda v: [v] * rank if np.ndim(v) == 0 else list(v)
    size, strides, before, dilation = map(every, (size, strides, before,
                                                  dilation))
    after = before if after is None else every(after)
    x = whole(shape, dtype)
    is_max = op == 'max'
    big = padded(x.astype('float64'), before, after, np.nan)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, size)]
    n = lengths(big.shape[2:], reach, strides)
    parts = np.stack([big[at] for _, at in places(n, strides, dilation, size)])
    if is_max:
        y = np.nanmax(parts, 0)
    else:
        y = np.nansum(parts, 0)
        y /= len(parts) if count else (~np.isnan(parts)).sum(0)
    if 'int' in dtype:
        y = np.trunc(y)
    pairs = {'pool_size': size, 'strides': strides, 'dilation': dilation,
             'padding': before + after}
    if count:
        pairs['count_include_pad'] = True
    plain = 'NC' + AXES[rank]
    put = lambda v: np.ascontiguousarray(
        v.transpose([plain.index(l) for l in layout or plain]))
    if layout:
        pairs['layout'] = layout
    t = 0 if is_max or 'int' in dtype else tolerance(dtype)
    case('nn.%s_pool%dd__%s' % (op, rank, name),
         'nn.%s_pool%dd(%%x%s)' % (op, rank, attributes(pairs)),
         [('x', put(x))], put(y.astype(dtype)), t, t, dims)


for op, rank in itertools.product(('max', 'avg'), (1, 2, 3)):
    pool_case(op, 'no_images', rank, (0, 2) + (3,) * rank, 2)
    pool_case(op, 'no_channels', rank, (1, 0) + (3,) * rank, 2)
    pool_case(op, 'one_element', rank, (2, 1) + (1,) * rank, 1)
    pool_case(op, 'dilation_padding', rank, (1, 2) + (5,) * rank, 2, before=1,
              dilation=3)
    pool_case(op, 'i32_negative', rank, (1, 2) + (4,) * rank, 2, strides=2,
              dtype='int32')
    pool_case(op, 'i8_padding', rank, (1, 1) + (3,) * rank, 2, before=1,
              after=0, dtype='int8')
    pool_case(op, 'u8', rank, (1, 2) + (3,) * rank, 3, dtype='uint8')
    pool_case(op, 'f16_any', rank, (2, 2) + (3,) * rank, 2, dtype='float16',
              dims={'x': '?' * (rank + 2)})
    pool_case(op, 'f64_channels_last', rank, (1, 3) + (4,) * rank, 3, before=1,
              strides=2, layout='N' + AXES[rank] + 'C', dtype='float64')
for rank in 1, 2, 3:
    pool_case('avg', 'padding_counts', rank, (1, 2) + (3,) * rank, 2, before=1,
              after=0, count=True)
