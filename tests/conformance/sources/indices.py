"""Operators that choose elements, or move them: by indices, diagonals, blocks,
sequences.  Dims of 0 and 1, repeated indices, indices beyond the end."""
import numpy as np

from case_files import attributes, case

rng = np.random.default_rng(2240)


def values(*shape, dtype='float32'):
    low = 0 if 'uint' in dtype else -99
    return rng.integers(low, 100, shape).astype(dtype)


def call(op, names, **pairs):
    return '%s(%s%s)' % (op, ', '.join('%' + n for n in names),
                         attributes(pairs))


# --- matrix_set_diag: row k2 - k of the diagonals is diagonal k ----------------

def set_diag(name, shape, k1, k2, over=True, under=False, dtype='float32',
             dims={}):
    x = values(*shape, dtype=dtype)
    m, n = shape[-2:]
    length = {k: min(m + min(k, 0), n - max(k, 0)) for k in range(k1, k2 + 1)}
    longest = max(length.values())
    rows = (k2 - k1 + 1,) if k1 < k2 else ()
    d = values(*shape[:-2], *rows, longest, dtype=dtype)
    out = x.copy()
    for k, n in length.items():
        line = d[..., k2 - k, :] if rows else d
        right = rows and (over if k >= 0 else under)
        for j in range(n):
            out[..., j - min(k, 0), j + max(k, 0)] = \
                line[..., j + (longest - n if right else 0)]
    case('matrix_set_diag__' + name,
         call('matrix_set_diag', 'xd', k1=k1, k2=k2,
              super_diag_right_align=over, sub_diag_right_align=under),
         [('x', x), ('d', d)], out, dims=dims)


for over, under in np.ndindex(2, 2):
    set_diag('3x5_wide_%d%d' % (over, under), (3, 5), -2, 4, bool(over),
             bool(under))
    set_diag('2x5x2_tall_%d%d' % (over, under), (2, 5, 2), -4, 1, bool(over),
             bool(under), dtype='int8')
set_diag('1x1', (1, 1), 0, 0, dtype='float64')
set_diag('above_main', (4, 6), 2, 5)
set_diag('below_main_any', (6, 4), -5, -3, under=True, dims={'x': '??'})
set_diag('no_matrices', (0, 3, 3), -1, 1)


# --- Scatter, gather ------------------------------------------------------------

JOIN = {'update': lambda a, b: b, 'add': lambda a, b: a + b,
        'mul': lambda a, b: a * b, 'min': min, 'max': max,
        'mean': lambda a, b: (a + b) / 2}


def scatter_nd(name, x, at, updates, mode):
    out = x.copy()
    for i in np.ndindex(at.shape[1:]):
        to = tuple(at[(slice(None),) + i])
        for j in np.ndindex(out[to].shape):
            out[to + j] = JOIN[mode](out[to + j], updates[i + j])
    case('scatter_nd__' + name, 'scatter_nd(%%x, %%i, %%u, mode="%s", '
         'attrs_type_key="relay.attrs.ScatterNDAttrs")' % mode,
         [('x', x), ('i', at), ('u', updates)], out)


for mode in 'add', 'mul', 'min', 'max', 'update':
    at = np.array([[2, 0, 2, 2]]) if mode != 'update' else \
        np.array([[2, 0, 3, 1]])
    scatter_nd('repeated_i32_' + mode, values(4, 3, dtype='int32'), at,
               values(4, 3, dtype='int32'), mode)
scatter_nd('whole_index', values(2, 3, dtype='uint8'),
           np.array([[0, 1, 1], [2, 0, 2]], 'int32'),
           values(3, dtype='uint8'), 'update')
scatter_nd('no_updates', values(3, 2), np.zeros((2, 0), 'int32'), values(0),
           'add')
scatter_nd('one_place', values(3), np.array([[1]]), values(1), 'add')


def scatter_elements(name, x, at, updates, axis, mode):
    out = x.copy()
    for i in np.ndindex(at.shape):
        to = list(i)
        to[axis] = at[i]
        out[tuple(to)] = JOIN[mode](out[tuple(to)], updates[i])
    case('scatter_elements__' + name,
         call('scatter_elements', 'xiu', axis=axis, reduction=mode),
         [('x', x), ('i', at), ('u', updates)], out)


for mode in 'add', 'mul', 'min', 'max', 'mean':
    scatter_elements('repeated_f64_' + mode, values(3, 4, dtype='float64'),
                     rng.integers(0, 3, (5, 2)), values(5, 2, dtype='float64'),
                     0, mode)
scatter_elements('no_updates', values(2, 2), np.zeros((0, 2), 'int64'),
                 values(0, 2), 0, 'add')


def gather_nd(name, x, at, batch, dims={}):
    m, rest = at.shape[0], at.shape[1:]
    out = np.empty(rest + x.shape[batch + m:], x.dtype)
    for i in np.ndindex(*rest):
        out[i] = x[i[:batch] + tuple(at[(slice(None),) + i])]
    case('gather_nd__' + name, call('gather_nd', 'xi', batch_dims=batch),
         [('x', x), ('i', at)], out, dims=dims)


gather_nd('batch_f16', values(3, 4, 2, dtype='float16'),
          rng.integers(0, 4, (1, 3, 5)), 1)
gather_nd('two_batches', values(2, 3, 4, 2), np.stack(
    [rng.integers(0, 4, (2, 3, 2)), rng.integers(0, 2, (2, 3, 2))]), 2)
gather_nd('no_indices', values(3, 2), np.zeros((1, 0, 4), 'int32'), 0)
gather_nd('one_index_any', values(2, 2, dtype='int64'), np.array([[1], [0]]),
          0, dims={'x': '??'})
x, at = values(2, 3, 1, dtype='int8'), rng.integers(0, 3, (2, 5, 1))
case('gather__i8_axm2', 'gather(%x, %i, axis=-2)', [('x', x), ('i', at)],
     np.take_along_axis(x, at, 1))
x, at = values(4, 0), np.zeros((2, 0), 'int32')
case('gather__empty', 'gather(%x, %i, axis=0)', [('x', x), ('i', at)],
     values(2, 0))
x = values(3, 4, 2)
a, b = rng.integers(0, 3, (5, 1)), rng.integers(0, 4, (1, 3))
case('adv_index__broadcast', 'adv_index((%x, %a, %b))',
     [('x', x), ('a', a), ('b', b)], x[a, b])
case('adv_index__none', 'adv_index((%x, %a))',
     [('x', x), ('a', np.zeros((0, 2), 'int32'))], x[np.zeros((0, 2), int)])
x, at = values(5, 2, dtype='uint8'), np.array([[-7, -1, 0], [4, 5, 90]])
for mode, fixed in ('clip', np.clip(at, 0, 4)), ('wrap', at % 5):
    case('take__u8_outside_' + mode, call('take', 'xi', axis=0, mode=mode),
         [('x', x), ('i', at)], x[fixed])


# --- Positions --------------------------------------------------------------------

def one_hot(name, at, depth, axis, on, off, dtype):
    out = np.where(at[..., None] == np.arange(depth), on, off).astype(dtype)
    out = np.moveaxis(out, -1, axis)
    case('one_hot__' + name,
         call('one_hot', ['i', 'on', 'off'], depth=depth, axis=axis,
              dtype=dtype),
         [('i', at), ('on', np.array(on, dtype)),
          ('off', np.array(off, dtype))], np.ascontiguousarray(out))


one_hot('outside_i64', np.array([[-1, 0, 3], [2, 4, 9]]), 4, -1, 5, -5, 'int64')
one_hot('first_axis_f16', np.array([1, 0, 1], 'int32'), 2, 0, 0.5, 2, 'float16')
one_hot('middle_i8', rng.integers(0, 3, (2, 4)).astype('int32'), 3, 1, 1, 0,
        'int8')
one_hot('scalar', np.array(2, 'int32'), 3, -1, 1, 0, 'float32')
one_hot('none', np.zeros((0, 2), 'int32'), 2, -1, 1, 0, 'float32')
at = rng.integers(0, 24, (9,))
case('unravel_index__i64_9_in_4x1x6', 'unravel_index(%i, %s)',
     [('i', at), ('s', np.array([4, 1, 6]))],
     np.stack(np.unravel_index(at, (4, 1, 6))))
x, v = np.array([1, 1, 2, 2, 2, 5], 'int8'), np.array([0, 1, 2, 3, 5, 6],
                                                      'int8')
for right in False, True:
    case('searchsorted__i8_ties_%s' % ('right' if right else 'left'),
         call('searchsorted', 'xv', right=right, dtype='int64'),
         [('x', x), ('v', v)],
         np.searchsorted(x, v, 'right' if right else 'left'))
case('searchsorted__in_nothing', 'searchsorted(%x, %v)',
     [('x', np.zeros(0, 'float32')), ('v', values(3))], np.zeros(3, 'int32'))
for tag, c in [('rank3_i32', rng.integers(0, 2, (2, 1, 3)).astype('int32')),
               ('f32_nan', np.array([[0, -0.0], [np.nan, 1e-45]], 'float32')),
               ('none_true', np.zeros((2, 2), bool)),
               ('empty', np.zeros((0, 3), bool))]:
    case('argwhere__' + tag, 'argwhere(%x)', [('x', c)],
         np.argwhere(c).astype('int32'))


# --- Sequences, blocks, windows -----------------------------------------------------

def reverse_sequence(name, x, n, seq, batch):
    out = x.copy()
    for b in range(x.shape[batch]):
        part = [slice(None)] * x.ndim
        part[batch] = b
        line, to = (np.moveaxis(v[tuple(part)], seq - (batch < seq), 0)
                    for v in (x, out))
        to[:n[b]] = line[:n[b]][::-1]
    case('reverse_sequence__' + name,
         call('reverse_sequence', 'xn', seq_axis=seq, batch_axis=batch),
         [('x', x), ('n', n)], out)


reverse_sequence('u8_lengths_0_to_all', values(4, 3, dtype='uint8'),
                 np.array([0, 1, 2, 3], 'int32'), 1, 0)
reverse_sequence('last_by_first', values(3, 2, 5), np.array([5, 4, 1]), 2, 0)
reverse_sequence('first_by_last', values(4, 1, 2, dtype='int64'),
                 np.array([3, 2], 'int32'), 0, 2)
x = values(2, 1, 3, dtype='int16')
for tag, n, axis in [('first', 2, 0), ('none', 0, 1), ('last', 3, -1)]:
    case('repeat__i16_' + tag, call('repeat', 'x', repeats=n, axis=axis),
         [('x', x)], np.repeat(x, n, axis))
x = values(2, 3, dtype='int8')
for tag, axis in ('flat', None), ('ax0', 0), ('axm1', -1):
    y = np.cumsum(x.astype('int32'), axis) if axis is not None else \
        np.cumsum(x.astype('int32').ravel())
    start = y - (x if axis is not None else x.ravel())
    case('cumsum__i8_exclusive_' + tag, 'cumsum(%%x, %sdtype="int32", '
         'exclusive=True, attrs_type_key="relay.attrs.ScanopAttrs")' %
         ('' if axis is None else 'axis=%d, ' % axis), [('x', x)],
         start.astype('int32'))
for mode in 'symmetric', 'reflect':
    x = values(1, 3, 4, dtype='int32')
    wide = ((0, 0), (2, 1), (2, 2)) if mode == 'reflect' else \
        ((1, 1), (3, 3), (0, 4))
    case('nn.mirror_pad__i32_' + mode,
         call('nn.mirror_pad', 'x', mode=mode.upper(), pad_width=wide),
         [('x', x)], np.pad(x, wide, mode=mode))


def to_batch(x, blocks, pads, fill):
    """Each place in a block is a batch of its own, in row-major order."""
    rest = [(0, 0)] * (x.ndim - 1 - len(blocks))
    big = np.pad(x, [(0, 0)] + list(pads) + rest, constant_values=fill)
    return np.concatenate([big[(slice(None),) + tuple(
        slice(i, None, b) for i, b in zip(at, blocks))]
        for at in np.ndindex(*blocks)])


def from_batch(x, blocks, crops):
    n = x.shape[0] // int(np.prod(blocks))
    out = np.empty((n,) + tuple(s * b for s, b in zip(x.shape[1:], blocks)) +
                   x.shape[1 + len(blocks):], x.dtype)
    for i, at in enumerate(np.ndindex(*blocks)):
        out[(slice(None),) + tuple(slice(j, None, b) for j, b in
                                   zip(at, blocks))] = x[i * n:(i + 1) * n]
    return out[(slice(None),) + tuple(slice(a, out.shape[1 + k] - b) for
                                      k, (a, b) in enumerate(crops))]


for tag, shape, blocks, pads, fill, dtype in [
        ('i8_batch', (2, 3, 4, 2), (3, 2), ((1, 2), (0, 2)), 7, 'int8'),
        ('f64_three', (1, 2, 2, 3), (2, 1, 3), ((0, 0), (1, 1), (3, 0)), 0.5,
         'float64'),
        ('no_images', (0, 4), (2,), ((0, 0),), 0, 'float32')]:
    x = values(*shape, dtype=dtype)
    case('nn.space_to_batch_nd__' + tag,
         call('nn.space_to_batch_nd', 'x', block_shape=blocks, paddings=pads,
              pad_value=float(fill)), [('x', x)],
         to_batch(x, blocks, pads, fill))
for tag, shape, blocks, crops, dtype in [
        ('i8_batch', (12, 2, 3, 2), (3, 2), ((1, 2), (0, 1)), 'int8'),
        ('f64_three', (6, 1, 2, 1, 2), (1, 3, 2), ((0, 0), (2, 2), (1, 0)),
         'float64'), ('all_cropped', (2, 1, 3), (2,), ((1, 1),), 'float32')]:
    x = values(*shape, dtype=dtype)
    case('nn.batch_to_space_nd__' + tag,
         call('nn.batch_to_space_nd', 'x', block_shape=blocks, crops=crops),
         [('x', x)], from_batch(x, blocks, crops))
x = values(2, 5, 4, dtype='uint8')
view = np.lib.stride_tricks.sliding_window_view(x, (2, 4), (1, 2))
case('sliding_window__u8_whole_axis', 'sliding_window(%x, axis=1, '
     'window_shape=[2, 4], strides=[3, 1])', [('x', x)],
     np.ascontiguousarray(view[:, ::3]))
