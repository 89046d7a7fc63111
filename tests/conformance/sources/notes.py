"""Operators that are notes to Relay's compiler or debugger: each gives what it
is given.  And scatter, which 0.18 calls scatter_elements."""
import numpy as np

from case_files import attributes, case

rng = np.random.default_rng(1806)


def values(*shape, dtype='float32'):
    x = 100 * rng.standard_normal(shape)
    return x.astype(dtype) if 'float' in dtype else \
        np.floor(x).astype('int64').astype(dtype)


# Each with the attributes that the reference's printer writes.
NOTES = [('annotation.bitpack_start', {}), ('annotation.bitpack_end', {}),
         ('annotation.cast_hint', {'dtype': 'int8'}),
         ('annotation.checkpoint', {}),
         ('annotation.compiler_begin', {'compiler': 'dnnl'}),
         ('annotation.compiler_end', {'compiler': 'dnnl'}),
         ('annotation.stop_fusion', {}), ('debug', {}),
         ('device_copy', {'src_dev_type': 1, 'dst_dev_type': 2}),
         ('on_device', {'constrain_result': False, 'constrain_body': True}),
         ('annotation.with_funcid', {'funcid': 3})]
SPECIAL = np.array([np.nan, -0.0, np.inf, -np.inf, 1e-45, 3e38], 'float32')

for op, pairs in NOTES:
    note = '%s(%%s%s)' % (op, attributes(pairs))
    case(op + '__special', note % '%x', [('x', SPECIAL)], SPECIAL)
    x = values(0, 3, dtype='int8')
    case(op + '__i8_0x3', note % '%x', [('x', x)], x, dims={'x': '??'})
    x = values(2, 2, dtype='int32')
    case(op + '__i32_within', 'add(%s, %s)' % (note % 'negative(%x)', '%x'),
         [('x', x)], np.zeros_like(x))
    x, y = values(3), np.array(True)
    case(op + '__tuple', note % '(%x, (%y, %x))', [('x', x), ('y', y)],
         [x, y, x])


def scatter(name, x, at, updates, axis):
    """Negative indices count from the end."""
    out = x.copy()
    for i in np.ndindex(at.shape):
        to = list(i)
        to[axis] = at[i]
        out[tuple(to)] = updates[i]
    case('scatter__' + name, 'scatter(%%x, %%i, %%u, axis=%d)' % axis,
         [('x', x), ('i', at), ('u', updates)], out)


scatter('f32_7_i32_3', values(7), np.array([6, 0, -3], 'int32'), values(3), 0)
scatter('i8_3x5_i64_2x5_ax0', values(3, 5, dtype='int8'),
        np.array([[0, 1, 2, -1, -3], [2, 0, 1, 1, 1]]),
        values(2, 5, dtype='int8'), 0)
scatter('f64_2x3x4_i64_2x3x2_axm1', values(2, 3, 4, dtype='float64'),
        np.stack([rng.permutation(4)[:2] for _ in range(6)]).reshape(2, 3, 2),
        values(2, 3, 2, dtype='float64'), -1)
scatter('f16_1x2x1x3_i32_ax1', values(1, 2, 1, 3, dtype='float16'),
        np.array([[[[1, 0, -1]]]], 'int32'),
        values(1, 1, 1, 3, dtype='float16'), 1)
scatter('i32_4_i32_0', values(4, dtype='int32'), np.zeros(0, 'int32'),
        values(0, dtype='int32'), 0)
