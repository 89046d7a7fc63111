/* See layout.h.  A layout's text has a letter for each axis, upper case outside
 * and lower case for a block, whose length stands before it: NCHW4c,
 * OIHW16i16o. */
#include "ops/rules/layout.h"

#include <ctype.h>

/* The largest product of a letter's blocks. */
enum { BLOCKS_MOST = 1 << 24 };

int layout_axis(const Layout *l, char primal) {
  for (int i = 0; i < l->rank; i++)
    if (l->axes[i].primal == primal && l->axes[i].block == 0) return i;
  return -1;
}

static int64_t blocks_from(const Layout *l, int first, char primal) {
  int64_t product = 1;
  for (int i = first; i < l->rank; i++)
    if (l->axes[i].primal == primal && l->axes[i].block > 0)
      product *= l->axes[i].block;
  return product;
}

int64_t layout_inside(const Layout *l, char primal) {
  return blocks_from(l, 0, primal);
}

int64_t layout_behind(const Layout *l, int block) {
  return blocks_from(l, block + 1, l->axes[block].primal);
}

/* Each letter once outside; a block has a length, and its letter outside. */
static bool layout_add(Layout *l, char letter, int64_t number) {
  bool block = islower((unsigned char)letter);
  char primal = (char)toupper((unsigned char)letter);
  if (l->rank == RANK_MAX || block != (number > 0)) return false;
  if (!block && layout_axis(l, primal) >= 0) return false;
  if (block && number > BLOCKS_MOST / layout_inside(l, primal)) return false;
  l->axes[l->rank].primal = primal;
  l->axes[l->rank++].block = number;
  return true;
}

/* False for what is no layout: a letter twice, a block without its axis or its
 * length, a number at the end, blocks that are very large, more than RANK_MAX
 * axes. */
bool layout_parse(const char *text, Layout *l) {
  int64_t number = 0;
  *l = (Layout){0};
  for (const char *p = text; *p; p++) {
    if (isdigit((unsigned char)*p) && number <= BLOCKS_MOST) {
      number = 10 * number + (*p - '0');
      continue;
    }
    if (!isalpha((unsigned char)*p) || !layout_add(l, *p, number)) return false;
    number = 0;
  }
  for (int i = 0; i < l->rank; i++)
    if (layout_axis(l, l->axes[i].primal) < 0) return false;
  return number == 0 && l->rank > 0;
}
