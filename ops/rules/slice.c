/* See slice.h.  Slices are Python's: negative bounds count from the end, bounds
 * beyond the ends are clipped, and a negative step goes down.
 *
 *   [0 1 2 3 4]   1:4        1 2 3
 *                 -3:        2 3 4
 *                 ::2        0 2 4
 *                 4:0:-1     4 3 2 1
 *                 ::-1       4 3 2 1 0   the end is -length - 1 */
#include "ops/rules/slice.h"

#include <string.h>

/* A bound counted from the end, then cut to what may be reached. */
static int64_t clipped(int64_t at, int64_t length, int64_t low, int64_t high) {
  if (at < 0) at += length;
  return at < low ? low : at > high ? high : at;
}

/* Going up, bounds lie in 0 .. length; going down in -1 .. length - 1, where -1
 * is the place before the first element.  The count is ceil(span / |step|), in
 * unsigned arithmetic, so that the least int64 as a step is no overflow.  False
 * when the slice goes backwards. */
bool slice_bounds(int64_t length, int64_t begin, int64_t end, int64_t step,
                  Slice *slice) {
  bool down = step < 0;
  int64_t low = down ? -1 : 0, high = down ? length - 1 : length;
  begin = clipped(begin, length, low, high);
  end = clipped(end, length, low, high);
  uint64_t span = (uint64_t)(down ? begin - end : end - begin);
  uint64_t stride = down ? 0 - (uint64_t)step : (uint64_t)step;
  bool backwards = (int64_t)span < 0;
  slice->first = begin;
  slice->step = step;
  slice->count =
      backwards || span == 0 ? 0 : (int64_t)((span - 1) / stride + 1);
  return !backwards;
}

/* Item i of a list that may be shorter, or not given. */
static Dim item(const Attrs *attrs, AttrName name, int i, Dim otherwise) {
  const AttrValue *v = attr_get(attrs, name);
  if (v->count == COUNT_UNKNOWN) return DIM_ANY;
  return v->state == AV_SET && i < v->count ? v->ints[i] : otherwise;
}

/* The end of a slice that goes down to the first element: -length - 1. */
static Dim before_first(Dim length) {
  return dim_sub(NULL, dim_of(-1), length);
}

/* begin + size; sizes beyond any length go as far as there is something. */
static Dim end_of(Dim begin, Dim size) {
  Dim end = dim_add(NULL, begin, size);
  return dim_is_huge(end) ? dim_of(INT64_MAX) : end;
}

/* With slice_mode="size", `end` holds lengths, -1 meaning all the rest, and
 * strides do not count. */
static SliceSpec sized_spec(SliceSpec s, Dim length) {
  s.step = dim_of(1);
  if (!dim_is_number(s.end) || !dim_is_number(s.begin)) s.end = DIM_ANY;
  else if (dim_below(s.end, 0)) s.end = length;
  else if (!dim_below(s.begin, 0)) s.end = end_of(s.begin, s.end);
  else if (!dim_is_number(length)) s.end = DIM_ANY;
  else s.end = end_of(dim_add(NULL, s.begin, length), s.end);
  return s;
}

/* Begin, end and step of item i, with the defaults of a slice that goes up or
 * down.  `?` where an item or the length is needed and not known. */
SliceSpec slice_spec(const Attrs *attrs, int i, Dim length) {
  bool sizes = attr_word(attrs, ATTR_slice_mode) == SLICE_SIZE;
  SliceSpec s = {.step = item(attrs, ATTR_strides, i, dim_of(1))};
  bool down = !sizes && dim_below(s.step, 0);
  s.begin = item(attrs, ATTR_begin, i, down ? length : dim_of(0));
  Dim last = length;
  if (down) last = dim_is_number(length) ? before_first(length) : DIM_ANY;
  s.end = item(attrs, ATTR_end, i, sizes ? dim_of(-1) : last);
  return sizes ? sized_spec(s, length) : s;
}

/* How many axes are sliced: those named, else as many as the longest list has;
 * all of them when a list's length is not known. */
int slice_count(const Attrs *attrs, int rank) {
  static const AttrName lists[] = {ATTR_begin, ATTR_end, ATTR_strides};
  const AttrValue *axes = attr_get(attrs, ATTR_axes);
  if (axes->state == AV_SET && axes->count > 0) return axes->count;
  int count = 0;
  for (int i = 0; i < 3; i++) {
    const AttrValue *v = attr_get(attrs, lists[i]);
    if (v->state == AV_NONE) continue;
    int n = v->count == COUNT_UNKNOWN ? rank : v->count;
    if (n > count) count = n;
  }
  return count;
}

Dim slice_axis(const Attrs *attrs, int i) {
  const AttrValue *axes = attr_get(attrs, ATTR_axes);
  return axes->state == AV_SET && axes->count > 0 ? axes->ints[i] : dim_of(i);
}

void slices_of(const Attrs *attrs, int rank, const int64_t *shape,
               Slice *slices) {
  for (int i = 0; i < rank; i++) slices[i] = (Slice){0, 1, shape[i]};
  int count = slice_count(attrs, rank);
  for (int i = 0; i < count; i++) {
    int axis = axis_from(dim_value(slice_axis(attrs, i)), rank);
    SliceSpec s = slice_spec(attrs, i, dim_of(shape[axis]));
    slice_bounds(shape[axis], dim_value(s.begin), dim_value(s.end),
                 dim_value(s.step), &slices[axis]);
  }
}
