/* Layouts: strings such as NCHW, and NCHW4c where axis C is split into C
 * outside and blocks of 4 inside.  Blocks may be split again: in OIHW2i16o4i
 * input channel (a, b, c) is number (a * 2 + b) * 4 + c. */
#ifndef OPS_RULES_LAYOUT_H
#define OPS_RULES_LAYOUT_H

#include "tensor/tensor.h"

typedef struct Layout {
  int rank;
  struct LayoutAxis {
    char primal;   /* the letter, upper case */
    int64_t block; /* an inner axis: its length; 0: an outer axis */
  } axes[RANK_MAX];
} Layout;

bool layout_parse(const char *text, Layout *layout);
/* Where a letter stands (outer axes; -1: nowhere). */
int layout_axis(const Layout *layout, char primal);
/* How many elements a letter's blocks have, all of them multiplied; 1 where it
 * has none. */
int64_t layout_inside(const Layout *layout, char primal);
/* The same of the blocks after one: how far its elements are apart where the
 * letter's axis is whole. */
int64_t layout_behind(const Layout *layout, int block);

#endif
