/* What the drawings in the terminal and those in files share. */
#ifndef REPL_PLOT_H
#define REPL_PLOT_H

#include "repl/series.h"

typedef struct Range {
  double lo, hi; /* lo > hi: there is no finite element */
} Range;

/* The position of x between the minimum and the maximum, from 0 to 1. */
double plot_share(const Series *g, double x);
/* The range of values in column `k` of `n`. */
Range plot_column(const Series *g, int64_t k, int64_t n);
/* How many of `n` columns the series takes beside the longest one. */
int plot_columns(const SeriesList *l, const Series *g, int n);
/* The mean of the finite elements of cell (y, x) of h x w; NaN if there are
 * none. */
double plot_cell(const Series *g, int64_t y, int64_t h, int64_t x, int64_t w);

enum { BINS_MOST = 16 };

/* How many elements lie in each of some intervals of the same width. */
typedef struct Bins {
  int count;
  double width; /* of whole numbers; others divide the range evenly */
  int64_t in[BINS_MOST], most;
} Bins;
Bins plot_bins(const Series *g, bool whole);
/* Are all elements whole numbers, and no more of them than can be told apart?
 */
bool plot_is_whole(const Series *g);

/* SVG files (plot_svg.c).  The series of `lines` have the same range. */
void plot_svg_lines(StrBuf *out, const SeriesList *lines);
void plot_svg_maps(StrBuf *out, const SeriesList *maps);
void plot_svg_bars(StrBuf *out, const SeriesList *bags);

#endif
