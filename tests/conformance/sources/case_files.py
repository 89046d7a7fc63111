"""Writes cases of operators: a program, its inputs and its results."""
import json
import os
import struct

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ops')
NAMES = {'float64': 'F64', 'float32': 'F32', 'float16': 'F16', 'int64': 'I64',
         'int32': 'I32', 'int16': 'I16', 'int8': 'I8', 'uint64': 'U64',
         'uint32': 'U32', 'uint16': 'U16', 'uint8': 'U8', 'bool': 'BOOL'}


def type_text(x, dims=None):
    if x.ndim == 0:
        return str(x.dtype)
    dims = dims or x.shape
    return 'Tensor[(%s), %s]' % (', '.join(str(d) for d in dims), x.dtype)


def safetensors(path, tensors, metadata):
    header, data = {'__metadata__': metadata}, b''
    for name, x in tensors:
        raw = np.ascontiguousarray(x).tobytes()
        header[name] = {'dtype': NAMES[str(x.dtype)], 'shape': list(x.shape),
                        'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + data)


def case(name, body, inputs, outputs, rtol=0.0, atol=0.0, dims={}):
    """The program @main over the inputs (a list of pairs) is `body`; `dims`
    gives the dims of some parameters as the program knows them."""
    params = ', '.join('%%%s: %s' % (n, type_text(x, dims.get(n)))
                       for n, x in inputs)
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    path = os.path.join(HERE, name)
    with open(path + '.rly', 'w') as f:
        f.write('#[version = "0.0.5"]\ndef @main(%s) {\n  %s\n}\n'
                % (params, body))
    tensors = list(inputs) + [('out%d' % i, np.asarray(x))
                              for i, x in enumerate(outputs)]
    safetensors(path + '.safetensors', tensors,
                {'rtol': repr(float(rtol)), 'atol': repr(float(atol))})


def attributes(pairs):
    def text(v):
        if isinstance(v, str):
            return '"%s"' % v
        if isinstance(v, bool):
            return str(v)
        if isinstance(v, float):
            return '%rf' % v
        if isinstance(v, (list, tuple)):
            return '[%s]' % ', '.join(text(w) for w in v)
        return str(v)
    return ''.join(', %s=%s' % (k, text(v)) for k, v in pairs.items())


def tolerance(*dtypes):
    if 'float16' in dtypes:
        return 4e-3
    return 1e-11 if set(dtypes) == {'float64'} else 3e-5
