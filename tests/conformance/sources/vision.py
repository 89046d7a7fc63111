"""Operators that detect objects: vision.*, but what reads images by boxes
(images.py)."""
import math

import numpy as np

from case_files import attributes, case, tolerance

rng = np.random.default_rng(1717)


def call(op, names, pairs):
    return 'vision.%s(%s%s)' % (op, ', '.join('%' + n for n in names),
                                attributes(pairs))


# --- vision.multibox_prior ----------------------------------------------------

def prior_case(name, shape, sizes=None, ratios=None, steps=None, offsets=None,
               clip=False, dtype='float32', dims={}):
    """Every width and height in turn, then every centre."""
    height, width = shape[2:]
    s, r = sizes or [1.0], ratios or [1.0]
    half = [(size * height / width, size) for size in s] + \
        [(s[0] * height / width * math.sqrt(q), s[0] / math.sqrt(q))
         for q in r[1:]]
    dy, dx = steps or (-1, -1)
    dy, dx = dy if dy > 0 else 1 / height, dx if dx > 0 else 1 / width
    oy, ox = offsets or (0.5, 0.5)
    centres = [((j + ox) * dx, (i + oy) * dy)
               for i in range(height) for j in range(width)]
    boxes = [[x - w / 2, y - h / 2, x + w / 2, y + h / 2]
             for x, y in centres for w, h in half]
    out = np.array(boxes, 'float64').reshape(1, -1, 4)
    if clip:
        out = np.clip(out, 0, 1)
    pairs = {k: v for k, v in [('sizes', sizes), ('ratios', ratios),
                               ('steps', steps), ('offsets', offsets)] if v}
    if clip:
        pairs['clip'] = True
    t = tolerance(dtype)
    case('vision.multibox_prior__' + name, call('multibox_prior', 'x', pairs),
         [('x', np.zeros(shape, dtype))], out.astype(dtype), t, t, dims)


prior_case('plain', (1, 3, 2, 4))
prior_case('sizes', (2, 1, 3, 2), sizes=[0.5, 0.25, 1.0])
prior_case('ratios', (1, 1, 2, 3), sizes=[0.75], ratios=[1.0, 2.0, 0.5])
prior_case('both', (1, 2, 3, 5), sizes=[0.25, 0.5], ratios=[4.0, 0.5, 3.0])
prior_case('steps', (1, 1, 2, 2), steps=[0.25, 0.125], offsets=[0.0, 0.75])
prior_case('one_step', (1, 1, 2, 3), sizes=[0.5], steps=[-1.0, 0.25])
prior_case('clipped', (1, 1, 3, 3), sizes=[1.5, 0.5], clip=True)
prior_case('f64', (1, 1, 3, 2), sizes=[0.3125], ratios=[1.0, 3.0],
           dtype='float64')
prior_case('any', (1, 1, 2, 2), dims={'x': '11?2'})


# --- vision.multibox_transform_loc --------------------------------------------

def transform_case(name, b, c, n, clip=None, threshold=None, variances=None,
                   background=False, dtype='float32', dims={}, ties=1):
    """`ties`: how many scores share a value."""
    p = rng.permutation(b * c * n).reshape(b, c, n) // ties / (b * c * n)
    p = p.astype(dtype)
    loc = rng.uniform(-2, 2, (b, 4 * n)).astype(dtype)
    corner = rng.uniform(-0.2, 0.8, (n, 2))
    anchor = np.concatenate([corner, corner + rng.uniform(0.1, 0.5, (n, 2))], 1)
    anchor = anchor.reshape(1, n, 4).astype(dtype)
    v = np.array(variances or [0.1, 0.1, 0.2, 0.2])
    out, counts = np.full((b, n, 6), -1.0), np.zeros(b, 'int32')
    first = 0 if background else 1
    for i in range(b):
        best = p[i, first:].argmax(0) + first
        score = p[i, first:].max(0)
        best[score < (0.01 if threshold is None else threshold)] = 0
        kept = np.ones(n, bool) if background else best > 0
        a = anchor[0].astype('float64')
        d = loc[i].reshape(n, 4).astype('float64') * v
        side, centre = a[:, 2:] - a[:, :2], (a[:, :2] + a[:, 2:]) / 2
        centre = d[:, :2] * side + centre
        side = np.exp(d[:, 2:]) * side
        box = np.concatenate([centre - side / 2, centre + side / 2], 1)
        if clip is not False:
            box = np.clip(box, 0, 1)
        rows = np.concatenate([(best - first)[:, None], score[:, None], box], 1)
        counts[i] = kept.sum()
        out[i, :counts[i]] = rows[kept]
    pairs = {}
    if clip is not None:
        pairs['clip'] = clip
    if threshold is not None:
        pairs['threshold'] = threshold
    if variances:
        pairs['variances'] = variances
    if background:
        pairs['keep_background'] = True
    t = tolerance(dtype)
    case('vision.multibox_transform_loc__' + name,
         call('multibox_transform_loc', ['p', 'loc', 'anchor'], pairs),
         [('p', p), ('loc', loc), ('anchor', anchor)],
         [out.astype(dtype), counts], t, t, dims)


transform_case('plain', 1, 3, 5)
transform_case('batch', 3, 4, 6, threshold=0.75)
transform_case('unclipped', 2, 2, 4, clip=False, threshold=0.5)
transform_case('variances', 1, 5, 7, clip=False,
               variances=[0.25, 0.5, 0.75, 0.125])
transform_case('background', 2, 3, 5, background=True, threshold=0.8)
transform_case('f64', 1, 3, 4, threshold=0.4, dtype='float64',
               variances=[0.5, 0.5, 0.25, 0.25])
transform_case('any', 2, 3, 4, dims={'p': ['?', 3, 4], 'loc': ['?', 16]})


# --- vision.get_valid_counts --------------------------------------------------

def valid_case(name, shape, threshold, pairs={}, dtype='float32', dims={},
               edges=False):
    x = rng.permutation(int(np.prod(shape))).reshape(shape) - 20.0
    x = (x / 8).astype(dtype)
    if edges:  # scores and classes at their thresholds, and not numbers
        x[:, ::2, pairs.get('score_index', 1)] = threshold
        x[:, 1::3, pairs.get('score_index', 1)] = np.nan
        x[:, 3, pairs.get('score_index', 1)] = np.inf
        x[:, 3:, pairs.get('id_index', 0)] = -0.0
    score = x[:, :, pairs.get('score_index', 1)]
    kept = score > np.dtype(dtype).type(threshold)
    if pairs.get('id_index', 0) >= 0:
        kept &= x[:, :, pairs.get('id_index', 0)] >= 0
    out, places = np.full(shape, -1, dtype), np.full(shape[:2], -1, 'int32')
    for b, row in enumerate(kept):
        out[b, :row.sum()] = x[b, row]
        places[b, :row.sum()] = np.flatnonzero(row)
    case('vision.get_valid_counts__' + name,
         call('get_valid_counts', ['x', 's'], pairs),
         [('x', x), ('s', np.array(threshold, dtype))],
         [kept.sum(1).astype('int32'), out, places], dims=dims)


valid_case('plain', (1, 6, 6), 1.0)
valid_case('batch', (3, 5, 6), 3.5)
valid_case('no_class', (2, 7, 5), 0.5, {'id_index': -1, 'score_index': 0})
valid_case('places', (2, 4, 7), -1.0, {'id_index': 6, 'score_index': 3})
valid_case('none', (1, 4, 6), 1000.0)
valid_case('f64', (1, 5, 3), 0.0, {'id_index': 2}, dtype='float64')
valid_case('any', (2, 3, 6), 1.0, dims={'x': ['?', '?', 6]})
valid_case('no_boxes', (2, 0, 6), 1.0)


# --- Overlap ------------------------------------------------------------------

def overlap(p, q):
    p, q = (np.sort(np.array(r, 'float64').reshape(2, 2), axis=0)
            for r in (p, q))
    sides = np.minimum(p[1], q[1]) - np.maximum(p[0], q[0])
    shared = np.prod(np.maximum(sides, 0))
    both = np.prod(p[1] - p[0]) + np.prod(q[1] - q[0]) - shared
    return shared / both if both > 0 else 0.0


def boxes_of(n, flipped=False):
    """Boxes that overlap often; some with the corners swapped."""
    low = rng.uniform(0, 8, (n, 2))
    high = low + rng.uniform(1, 8, (n, 2))
    box = np.concatenate([low, high], 1).astype('float32')
    if flipped:
        turn = rng.random(n) < 0.5
        box[turn] = box[turn][:, [2, 3, 0, 1]]
    return box


def clear(value, threshold):
    """At the threshold or above it, where no rounding decides: far from it, or
    exactly at it."""
    assert abs(value - threshold) > 1e-5 or value == threshold, 'a close call'
    return value >= threshold


# --- vision.non_max_suppression -----------------------------------------------

def nms_rows(x, valid, threshold, most, pairs):
    """For each row of the result, the row of the data, or None."""
    get = {'force_suppress': False, 'top_k': -1, 'coord_start': 2,
           'score_index': 1, 'id_index': 0, **pairs}.get
    n, rows = len(x), []
    if threshold <= 0:
        return [i if i < valid else None for i in range(n)]
    ranked = sorted(range(valid), key=lambda i: -x[i, get('score_index')])
    if get('top_k') > 0:
        ranked = ranked[:get('top_k')]
    kept = []
    for i in ranked:
        corner = slice(get('coord_start'), get('coord_start') + 4)
        id = get('id_index')
        if len(kept) == most:
            rows.append(None)
        elif x[i, get('score_index')] <= 0:
            rows.append(i)
        else:
            rivals = [k for k in kept if id < 0 or
                      (x[k, id] >= 0 and
                       (get('force_suppress') or x[k, id] == x[i, id]))]
            hidden = any(clear(overlap(x[i, corner], x[k, corner]), threshold)
                         for k in rivals)
            rows.append(None if hidden else i)
            if not hidden:
                kept.append(i)
    return rows + [None] * (n - len(rows))


def nms_case(name, b, n, valid, threshold, most=-1, pairs={}, classes=2,
             columns=6, flipped=False, low=0, dtype='float32', dims={},
             index_dtype='int32', scalar=(), ties=1, grid=False):
    """`ties`: how many scores share a value; `grid`: boxes with whole ends."""
    get = {'coord_start': 2, 'score_index': 1, 'id_index': 0, **pairs}.get
    x = np.zeros((b, n, columns), dtype)
    for i in range(b):
        x[i] = rng.random((n, columns)).round(3)
        x[i, :, get('coord_start'):get('coord_start') + 4] = \
            boxes_of(n, flipped)
        if get('id_index') >= 0:
            x[i, :, get('id_index')] = rng.integers(low, classes, n)
        x[i, :, get('score_index')] = \
            (rng.permutation(n) // ties - max(0, -low)) / max(n, 1)
        if grid:
            x[i] = np.round(x[i] * (1 << 20)) / (1 << 20)
            corner = slice(get('coord_start'), get('coord_start') + 4)
            x[i, :, corner] = GRID[:n]
    valid = np.array(valid, 'int32')
    index = np.array([rng.permutation(n) for _ in range(b)]).reshape(b, n)
    index = index.astype(index_dtype)
    out = np.full((b, n, columns), -1, dtype)
    numbers, counts = np.full((b, n), -1, 'int32'), np.zeros((b, 1), 'int32')
    for i in range(b):
        rows = nms_rows(x[i], valid[i], threshold, most, pairs)
        if pairs.get('invalid_to_bottom'):
            rows = [r for r in rows if r is not None and x[i, r, 0] >= 0]
        for k, r in enumerate(rows):
            if r is not None:
                out[i, k] = x[i, r]
        found = [index[i, r] for r in rows if r is not None]
        numbers[i, :len(found)] = found
        counts[i] = len(found)
    results = [numbers, counts] if pairs.get('return_indices', True) else out
    case('vision.non_max_suppression__' + name,
         call('non_max_suppression', ['x', 'v', 'i', 'm', 'o'], pairs),
         [('x', x), ('v', valid), ('i', index),
          ('m', np.full(scalar, most, 'int32')),
          ('o', np.full(scalar, threshold, 'float32'))], results, dims=dims)


# Pairs whose overlap is exactly a half, or a quarter, or nothing.
GRID = np.array([[0, 0, 2, 1], [0, 0, 1, 1], [0, 0, 4, 1], [2, 0, 4, 1],
                 [4, 0, 5, 1], [0, 1, 4, 2], [3, 1, 4, 2], [0, 0, 0, 0]])
boxes = {'return_indices': False}
nms_case('indices', 1, 8, [8], 0.3)
nms_case('batch', 3, 9, [9, 4, 0], 0.2)
nms_case('boxes', 2, 8, [8, 6], 0.25, pairs=boxes)
nms_case('bottom', 2, 8, [8, 5], 0.15,
         pairs={**boxes, 'invalid_to_bottom': True})
nms_case('force', 1, 10, [9], 0.2, pairs={'force_suppress': True}, classes=4)
nms_case('top', 1, 10, [10], 0.4, pairs={**boxes, 'top_k': 4})
nms_case('most', 2, 10, [10, 7], 0.6, most=3)
nms_case('no_class', 1, 9, [9], 0.3, columns=5,
         pairs={'id_index': -1, 'score_index': 0, 'coord_start': 1})
nms_case('places', 1, 9, [8], 0.3, columns=9, flipped=True,
         pairs={**boxes, 'id_index': 8, 'score_index': 7, 'coord_start': 2})
nms_case('not_positive', 1, 9, [9], 0.2, low=-3, pairs=boxes)
nms_case('without_threshold', 2, 6, [6, 3], 0.0)
nms_case('f64', 1, 8, [8], 0.35, dtype='float64', pairs=boxes)
nms_case('vectors', 1, 8, [8], 0.35, scalar=(1,), index_dtype='int64')
nms_case('any', 2, 7, [7, 5], 0.3, dims={'x': ['?', '?', 6], 'i': '??'})


# --- vision.all_class_non_max_suppression -------------------------------------

def all_class_case(name, b, c, n, threshold, floor, most=-1, tensorflow=False,
                   flipped=False, dtype='float32', dims={}, ties=1, grid=False):
    x = np.stack([GRID[:n] if grid else boxes_of(n, flipped)
                  for _ in range(b)]).astype(dtype)
    s = rng.permutation(b * c * n).reshape(b, c, n) // ties / max(b * c * n, 1)
    s = s.astype(dtype)
    found = []
    for i in range(b):
        for k in range(c):
            kept = []
            for j in sorted(range(n), key=lambda j: -s[i, k, j]):
                if threshold > 0 and s[i, k, j] > floor and \
                        (most < 1 or len(kept) < most) and \
                        not any(clear(overlap(x[i, j], x[i, q]), threshold)
                                for q in kept):
                    kept.append(j)
            found += [(i, k, j) for j in kept]
    if tensorflow:
        index, scores = np.zeros((b, c * n, 2), 'int64'), np.zeros((b, c * n))
        counts = np.zeros(b, 'int64')
        for i, k, j in found:
            index[i, counts[i]] = k, j
            scores[i, counts[i]] = s[i, k, j]
            counts[i] += 1
        results = [index, scores.astype('float32'), counts]
    else:
        index = np.zeros((b * c * n, 3), 'int64')
        index[:len(found)] = np.array(found).reshape(-1, 3)
        results = [index, np.array([len(found)])]
    pairs = {'output_format': 'tensorflow'} if tensorflow else {}
    case('vision.all_class_non_max_suppression__' + name,
         call('all_class_non_max_suppression', ['x', 's', 'm', 'o', 'l'],
              pairs),
         [('x', x), ('s', s), ('m', np.array(most, 'int32')),
          ('o', np.array(threshold, 'float32')),
          ('l', np.array(floor, 'float32'))], results, dims=dims)


all_class_case('onnx', 1, 2, 8, 0.3, 0.1)
all_class_case('batch', 2, 3, 7, 0.2, 0.4)
all_class_case('most', 2, 2, 8, 0.6, 0.0, most=2)
all_class_case('corners', 1, 2, 9, 0.3, 0.2, flipped=True)
all_class_case('tensorflow', 2, 3, 6, 0.25, 0.3, tensorflow=True)
all_class_case('tensorflow_most', 3, 2, 7, 0.5, 0.1, most=3, tensorflow=True)
all_class_case('no_threshold', 1, 2, 4, 0.0, 0.1)
all_class_case('f64', 1, 1, 9, 0.35, 0.1, dtype='float64')
all_class_case('any', 2, 2, 5, 0.3, 0.2, dims={'x': ['?', '?', 4],
                                               's': ['?', 2, '?']})


# --- vision.regular_non_max_suppression ---------------------------------------

def regular_case(name, b, n, c, classes, per_class, most, threshold, floor,
                 dtype='float32', dims={}, ties=1, grid=False):
    x = np.stack([GRID[:n] if grid else boxes_of(n)
                  for _ in range(b)]).astype(dtype)
    s = rng.permutation(b * c * n).reshape(b, n, c) // ties / max(b * c * n, 1)
    s = s.astype(dtype)
    boxes, ids = np.zeros((b, most, 4), 'float32'), np.zeros((b, most))
    scores, counts = np.zeros((b, most)), np.zeros(b, 'int32')
    for i in range(b):
        found = []
        for k in range(classes):
            kept, of = [], s[i, :, c - classes + k]
            for j in sorted(range(n), key=lambda j: -of[j]):
                if of[j] >= floor and len(kept) < per_class and \
                        not any(clear(overlap(x[i, j], x[i, q]), threshold)
                                and overlap(x[i, j], x[i, q]) > threshold
                                for q in kept):
                    kept.append(j)
            found += [(of[j], k, j) for j in kept]
        found = sorted(found, key=lambda f: -f[0])[:most]
        counts[i] = len(found)
        for m, (score, k, j) in enumerate(found):
            boxes[i, m], ids[i, m], scores[i, m] = x[i, j], k, score
    case('vision.regular_non_max_suppression__' + name,
         call('regular_non_max_suppression', ['x', 's'],
              {'max_detections_per_class': per_class, 'max_detections': most,
               'num_classes': classes, 'iou_threshold': threshold,
               'score_threshold': floor}),
         [('x', x), ('s', s)],
         [boxes, ids.astype('float32'), scores.astype('float32'), counts],
         dims=dims)


regular_case('plain', 1, 6, 2, 2, 10, 8, 0.5, 0.25)
regular_case('background', 1, 7, 4, 3, 10, 30, 0.3, 0.1)
regular_case('batch', 3, 5, 3, 2, 4, 6, 0.4, 0.2)
regular_case('of_class', 1, 8, 2, 2, 2, 6, 0.9, 0.0)
regular_case('most', 2, 8, 3, 3, 5, 4, 0.6, 0.1)
regular_case('none', 1, 4, 2, 1, 5, 3, 0.5, 2.0)
regular_case('f64', 1, 6, 2, 2, 6, 6, 0.35, 0.2, dtype='float64')
regular_case('any', 2, 5, 2, 2, 5, 4, 0.45, 0.2,
             dims={'x': ['?', 5, 4], 's': ['?', 5, 2]})


# --- vision.proposal ----------------------------------------------------------

def pixel_overlap(p, q):
    sides = [min(p[2 + k], q[2 + k]) - max(p[k], q[k]) + 1 for k in (0, 1)]
    shared = max(sides[0], 0) * max(sides[1], 0)
    area = [(r[2] - r[0] + 1) * (r[3] - r[1] + 1) for r in (p, q)]
    return shared / (sum(area) - shared)


def proposal_case(name, b, h, w, image, scales, ratios, stride=4,
                  threshold=0.7, before=50, after=6, least=1, shifts=False,
                  scale=1.0, dtype='float32', dims={}):
    a = len(scales) * len(ratios)
    p = rng.permutation(b * 2 * a * h * w).reshape(b, 2 * a, h, w)
    p = (p / p.size).astype(dtype)
    d = rng.uniform(-0.4, 0.4, (b, 4 * a, h, w))
    d = (d * 20 if shifts else d).astype(dtype)
    info = np.array([[image[0], image[1], scale]] * b, dtype)
    out = np.zeros((b * after, 5))
    for i in range(b):
        boxes = []
        for y, x, k in np.ndindex(h, w, a):
            ratio, s = ratios[k // len(scales)], scales[k % len(scales)]
            width = math.floor(math.sqrt(stride * stride // ratio) + 0.5)
            sides = np.array([width * s, math.floor(width * ratio + 0.5) * s])
            centre = np.array([x, y]) * stride + (stride - 1) / 2
            by = d[i, 4 * k:4 * k + 4, y, x].astype('float64')
            low, high = centre - (sides - 1) / 2, centre + (sides - 1) / 2
            if shifts:
                low, high = low + by[:2], high + by[2:]
            else:
                centre = by[:2] * sides + centre
                sides = np.exp(by[2:]) * sides
                low, high = centre - (sides - 1) / 2, centre + (sides - 1) / 2
            last = np.array([image[1], image[0]]) - 1
            low = np.maximum(np.minimum(low, last), 0)
            high = np.maximum(np.minimum(high, last), 0)
            score = p[i, a + k, y, x]
            if y >= image[0] // stride or x >= image[1] // stride:
                score = -1
            small = scale * least
            if min(high - low + 1) < small:
                low, high, score = low - small / 2, high + small / 2, -1
            boxes.append((score, [*low, *high]))
        ranked = sorted(boxes, key=lambda q: -q[0])
        ranked = [q for _, q in ranked[:before if before > 0 else None]]
        kept = []
        for q in ranked:
            if not any(clear(pixel_overlap(q, r), threshold) for r in kept):
                kept.append(q)
        for m in range(after):
            out[i * after + m] = [i] + kept[m % len(kept)]
    t = tolerance(dtype) * 10
    case('vision.proposal__' + name,
         call('proposal', ['p', 'd', 'i'],
              {'scales': scales, 'ratios': ratios, 'feature_stride': stride,
               'threshold': threshold, 'rpn_pre_nms_top_n': before,
               'rpn_post_nms_top_n': after, 'rpn_min_size': least,
               **({'iou_loss': True} if shifts else {})}),
         [('p', p), ('d', d), ('i', info)], out.astype(dtype), t, t, dims)


proposal_case('one', 1, 2, 3, (12, 16), [2.0], [1.0], after=3)
proposal_case('anchors', 1, 3, 3, (20, 20), [1.0, 2.0, 3.0], [0.5, 1.0, 2.0],
              after=10)
proposal_case('batch', 3, 2, 2, (10, 12), [2.0, 4.0], [1.0, 2.0],
              threshold=0.5)
proposal_case('repeated', 1, 1, 2, (8, 8), [1.0], [1.0], after=7,
              threshold=0.3)
proposal_case('before', 1, 3, 4, (16, 16), [2.0], [0.5, 1.0], before=5,
              threshold=0.4)
proposal_case('small', 1, 3, 3, (14, 10), [1.0, 2.0], [1.0], least=5,
              scale=1.5)
proposal_case('shifts', 2, 2, 3, (16, 16), [2.0], [1.0, 0.5], shifts=True)
proposal_case('all', 1, 2, 2, (9, 9), [1.5], [1.0, 3.0], before=-1, stride=3)
proposal_case('f64', 1, 2, 2, (12, 12), [2.0, 3.0], [1.0], dtype='float64')
proposal_case('any', 2, 2, 2, (12, 12), [2.0], [1.0],
              dims={'p': '?222', 'd': '?422', 'i': '?3'})


# --- vision.yolo_reorg --------------------------------------------------------

def reorg_case(name, shape, stride, dtype='float32', dims={}):
    """Darknet's reorg, element by element, over each image."""
    n, c, h, w = shape
    x = rng.permutation(n * c * h * w).reshape(shape).astype(dtype)
    out = []
    for image in x:
        flat = image.reshape(-1)
        channels = c // stride ** 2
        for k, i, j in np.ndindex(c, h, w):
            at = k // channels
            y, z = i * stride + at // stride, j * stride + at % stride
            out.append(flat[z + w * stride * (y + h * stride * (k % channels))])
    out = np.array(out, dtype).reshape(n, c * stride ** 2, h // stride,
                                       w // stride)
    case('vision.yolo_reorg__' + name,
         call('yolo_reorg', 'x', {'stride': stride}), [('x', x)], out,
         dims=dims)


reorg_case('one', (1, 3, 2, 5), 1)
reorg_case('two', (1, 4, 6, 6), 2)
reorg_case('channels', (1, 12, 4, 2), 2)
reorg_case('three', (1, 18, 3, 6), 3, dtype='int32')
reorg_case('batch', (3, 8, 2, 4), 2, dtype='float16')
reorg_case('ten', (1, 100, 20, 20), 10, dtype='int16')
reorg_case('any', (2, 4, 2, 2), 2, dims={'x': '????'})


# --- Ties, thresholds met exactly, nothing to choose from ---------------------

transform_case('ties', 2, 4, 5, threshold=0.25, ties=5)
transform_case('at_threshold', 1, 2, 8, threshold=0.5, clip=False)
transform_case('only_background', 1, 1, 3, background=True)
valid_case('edges', (2, 7, 6), 1.0, edges=True)
valid_case('f16', (1, 6, 6), 0.5, dtype='float16', edges=True)
valid_case('no_images', (0, 3, 6), 1.0)
nms_case('ties', 2, 9, [9, 6], 0.3, ties=3)
nms_case('ties_top', 1, 10, [10], 0.3, pairs={**boxes, 'top_k': 5}, ties=4)
nms_case('at_threshold', 1, 8, [8], 0.5, grid=True, classes=1)
nms_case('at_threshold_boxes', 2, 8, [8, 5], 0.25, grid=True, classes=1,
         pairs=boxes, ties=2)
nms_case('whole_overlap', 1, 8, [8], 1.0, grid=True, classes=1)
nms_case('bottom_invalid', 1, 10, [9], 0.2, low=-3,
         pairs={**boxes, 'invalid_to_bottom': True})
nms_case('none_wanted', 1, 4, [4], 0.5, most=0)
nms_case('no_boxes', 2, 0, [0, 0], 0.5)
nms_case('no_images', 0, 3, [], 0.5, pairs=boxes)
all_class_case('ties', 2, 2, 8, 0.3, 0.1, ties=4)
all_class_case('at_threshold', 1, 2, 8, 0.5, 0.25, grid=True, ties=2)
all_class_case('no_boxes', 2, 3, 0, 0.5, 0.0)
all_class_case('tensorflow_none', 1, 2, 5, 0.5, 2.0, tensorflow=True)
regular_case('ties', 2, 8, 2, 2, 5, 6, 0.3, 0.1, ties=4)
regular_case('at_threshold', 1, 8, 2, 2, 8, 12, 0.5, 0.25, grid=True)
regular_case('no_boxes', 2, 0, 2, 2, 3, 4, 0.5, 0.1)
