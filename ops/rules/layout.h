/* Layouts: strings such as NCHW, and NCHW4c where axis C is split into C
 * outside and blocks of 4 inside. */
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
/* The axis of a letter's blocks; -1: it has none. */
int layout_block(const Layout *layout, char primal);

#endif
