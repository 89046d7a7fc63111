/* Sorting the positions of one line by its elements, included by sort.c
 * through each_*.h. */

/* Does x come before y?  NaN comes last in either direction. */
ALWAYS_INLINE bool FN(before)(C x, C y, bool descend) {
#if IS_FLOAT
  if (x != x || y != y) return x == x;
#endif
  return descend ? x > y : x < y;
}

/* Merges order[from..middle) and order[middle..to) into `out`; of equal
 * elements the left one comes first. */
static void FN(merge)(const Line *line, StopFlag *stop, const int64_t *order,
                      int64_t *out, int64_t from, int64_t middle, int64_t to) {
  const T *x = (const T *)line->data;
  int64_t left = from, right = middle;
  BLOCKS(stop, to - from)
  for (int64_t i = from + at; i < from + end; i++) {
    bool take_right =
        left == middle ||
        (right < to &&
         FN(before)(LOAD(x[order[right] * line->step]),
                    LOAD(x[order[left] * line->step]), line->descend));
    out[i] = order[take_right ? right++ : left++];
  }
}

/* Binary search: the number of elements less than `v`, or, on the right, not
 * greater. */
static int64_t FN(search)(const Line *line, const char *value, bool right) {
  const T *x = (const T *)line->data;
  C v = LOAD(*(const T *)value);
  int64_t low = 0, high = line->n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    C at = LOAD(x[middle * line->step]);
    bool before = right ? !FN(before)(v, at, false) : FN(before)(at, v, false);
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}
