/* See layout.h.  A layout's text has a letter for each axis, upper case outside
 * and lower case for a block, whose length stands before it: NCHW4c,
 * OIHW16i16o. */
#include "ops/rules/layout.h"

#include <ctype.h>
#include <string.h>

static int find(const Layout *l, char primal, bool block) {
  for (int i = 0; i < l->rank; i++)
    if (l->axes[i].primal == primal && (l->axes[i].block > 0) == block)
      return i;
  return -1;
}

int layout_axis(const Layout *l, char primal) { return find(l, primal, false); }
int layout_block(const Layout *l, char primal) { return find(l, primal, true); }

/* Each letter once outside; a block has a length and its letter outside. */
static bool layout_add(Layout *l, char letter, int64_t number) {
  bool block = islower((unsigned char)letter);
  char primal = (char)toupper((unsigned char)letter);
  if (l->rank == RANK_MAX || block != (number > 0)) return false;
  if (find(l, primal, block) >= 0) return false;
  l->axes[l->rank].primal = primal;
  l->axes[l->rank++].block = number;
  return true;
}

/* False for what is no layout: a letter twice, a block without its axis or its
 * length, a number at the end or a very large one, more than RANK_MAX axes. */
bool layout_parse(const char *text, Layout *l) {
  int64_t number = 0;
  *l = (Layout){0};
  for (const char *p = text; *p; p++) {
    if (isdigit((unsigned char)*p) && number < 1 << 20) {
      number = 10 * number + (*p - '0');
      continue;
    }
    if (!isalpha((unsigned char)*p) || !layout_add(l, *p, number)) return false;
    number = 0;
  }
  for (int i = 0; i < l->rank; i++)
    if (find(l, l->axes[i].primal, false) < 0) return false;
  return number == 0 && l->rank > 0;
}
