/* :plot draws a series as a line and :heat a matrix by shades, in the terminal
 * or as an SVG file.  If there are more elements than columns, a column of a
 * line shows the range of its elements, and a cell of a matrix their mean. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"
#include "repl/display.h"
#include "repl/repl.h"

enum {
  PLOT_ROWS = 12,
  HEAT_ROWS = 32,
  LABEL = 11, /* in the terminal */
  SVG_WIDTH = 640,
  SVG_HEIGHT = 320,
  SVG_EDGE = 48,
  SVG_CELLS = 256,
};

/* A series (one row) or a matrix, as doubles. */
typedef struct Grid {
  double *at;
  int64_t rows, columns;
  double min, max; /* of the finite elements; min > max: there are none */
} Grid;

typedef struct Range {
  double lo, hi; /* lo > hi: there is no finite element */
} Range;

/* --- Values --------------------------------------------------------------- */

static void widen(Range *r, double x) {
  if (!isfinite(x)) return;
  if (x < r->lo) r->lo = x;
  if (x > r->hi) r->hi = x;
}

static const Range nothing = {DBL_MAX, -DBL_MAX};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Drops the axes of length 1.  Returns false if too many axes remain. */
static bool grid_shape(const Tensor *t, int most, Grid *g) {
  int64_t dims[2] = {1, 1};
  int rank = 0;
  for (int i = 0; i < t->rank; i++) {
    if (t->shape[i] == 1 && t->rank > most) continue;
    if (rank == most) return false;
    dims[rank++] = t->shape[i];
  }
  g->rows = most == 1 ? 1 : dims[0];
  g->columns = most == 1 ? dims[0] : dims[1];
  return rank > 0 && g->rows > 0 && g->columns > 0;
}

static bool grid_of(const rly_value *v, int most, Grid *g) {
  bool fits = v->type->kind == TY_TENSOR && v->type->rank > 0 &&
              grid_shape(v->value.tensor, most, g);
  if (!fits) return false;
  int64_t count = g->rows * g->columns;
  g->at = malloc((size_t)count * sizeof *g->at);
  Range all = nothing;
  for (int64_t i = 0; g->at && i < count; i++)
    widen(&all, g->at[i] = tensor_f64_at(v->value.tensor, i));
  g->min = all.lo;
  g->max = all.hi;
  return g->at;
}

/* The position of x between the minimum and the maximum, from 0 to 1. */
static double share(const Grid *g, double x) {
  if (g->max <= g->min) return 0.5;
  double half = x / 2 - g->min / 2; /* the difference may overflow */
  return half / (g->max / 2 - g->min / 2);
}

/* --- Series --------------------------------------------------------------- */

/* The value of a short series in column `k` of `n`, by linear interpolation
 * between the two nearest elements. */
static double between(const Grid *g, int64_t k, int64_t n) {
  double columns = (double)(n - 1), last = (double)(g->columns - 1);
  double at = n > 1 ? (double)k * last / columns : 0;
  int64_t nearest = (int64_t)(at + 0.5), i = (int64_t)at;
  double rest = at - (double)i;
  if (fabs(at - (double)nearest) * columns <= 0.5 * last || rest == 0)
    return g->at[nearest];
  return g->at[i] * (1 - rest) + g->at[i + 1] * rest;
}

/* The range of values in column `k` of `n`.  For a long series, the range of
 * the elements that fall into the column. */
static Range column(const Grid *g, int64_t k, int64_t n) {
  Range r = nothing;
  int64_t count = g->columns;
  if (count <= n) {
    widen(&r, between(g, k, n));
    return r;
  }
  int64_t end = (int64_t)((double)(k + 1) * (double)count / (double)n);
  for (int64_t i = (int64_t)((double)k * (double)count / (double)n);
       i < end && i < count; i++)
    widen(&r, g->at[i]);
  return r;
}

/* The same range, extended to meet the column before it, so that the line has
 * no gaps. */
static Range joined(Range now, Range before) {
  if (now.lo > now.hi || before.lo > before.hi) return now;
  if (now.lo > before.hi) now.lo = before.hi;
  if (now.hi < before.lo) now.hi = before.lo;
  return now;
}

/* A bitmap of dots in cells of `wide` x `high` dots. */
typedef struct Canvas {
  uint8_t *cells;
  int columns, wide, high;
} Canvas;

/* The bits of Braille's dots (U+2800 and on) by column and row. */
static const uint8_t dots[2][4] = {{1, 2, 4, 64}, {8, 16, 32, 128}};

static void set_dot(Canvas *c, int x, int y) {
  uint8_t *cell = &c->cells[y / c->high * c->columns + x / c->wide];
  *cell |= dots[x % c->wide][y % c->high];
}

static int row_of(const Grid *g, double x, int rows) {
  int from_below = (int)(share(g, x) * (rows - 1) + 0.5);
  return rows - 1 - from_below;
}

static void draw(const Grid *g, Canvas *c) {
  int n = c->columns * c->wide, rows = PLOT_ROWS * c->high;
  Range before = nothing;
  for (int x = 0; x < n; x++) {
    Range own = column(g, x, n), r = joined(own, before);
    before = own;
    if (r.lo > r.hi) continue;
    for (int y = row_of(g, r.hi, rows); y <= row_of(g, r.lo, rows); y++)
      set_dot(c, x, y);
  }
}

static void add_label(StrBuf *out, bool shown, double x) {
  char text[32] = "";
  if (shown) snprintf(text, sizeof text, "%.4g", x);
  strbuf_addf(out, "%*s ", LABEL - 1, text);
}

static void add_canvas(const Display *d, StrBuf *out, const Grid *g,
                       const Canvas *c) {
  for (int y = 0; y < PLOT_ROWS; y++) {
    bool end = y == 0 || y == PLOT_ROWS - 1;
    add_label(out, end, y ? g->min : g->max);
    strbuf_add(out, !d->unicode ? "|" : end ? "\u2524" : "\u2502");
    if (d->colour) strbuf_add(out, "\033[36m");
    for (int x = 0; x < c->columns; x++) {
      uint8_t cell = c->cells[y * c->columns + x];
      if (!d->unicode || !cell) strbuf_add_char(out, cell ? '*' : ' ');
      else strbuf_add_code_point(out, 0x2800 + cell);
    }
    strbuf_add(out, d->colour ? "\033[0m\n" : "\n");
  }
  strbuf_addf(out, "%*s 0%*lld\n", LABEL, "", c->columns - 1,
              (long long)g->columns - 1);
}

static void plot(const Display *d, StrBuf *out, const Grid *g) {
  Canvas c = {.columns = d->width - LABEL - 2,
              .wide = d->unicode ? 2 : 1,
              .high = d->unicode ? 4 : 1};
  if (c.columns > 120) c.columns = 120;
  if (c.columns < 2) c.columns = 2;
  c.cells = calloc(PLOT_ROWS, (size_t)c.columns);
  if (!c.cells) return;
  draw(g, &c);
  add_canvas(d, out, g, &c);
  free(c.cells);
}

/* --- Matrices ------------------------------------------------------------- */

/* The mean of the finite elements of cell (y, x) of h x w; NaN if there are
 * none. */
static double cell_mean(const Grid *g, int64_t y, int64_t h, int64_t x,
                        int64_t w) {
  double sum = 0;
  int64_t n = 0;
  for (int64_t i = y * g->rows / h; i < (y + 1) * g->rows / h; i++)
    for (int64_t k = x * g->columns / w; k < (x + 1) * g->columns / w; k++) {
      double v = g->at[i * g->columns + k];
      if (isfinite(v)) sum += v, n++;
    }
  return n ? sum / (double)n : NAN;
}

/* From dark blue through green to yellow, in the 256-colour palette. */
static const uint8_t ramp[] = {17, 18, 19,  25,  31,  37,  36,
                               35, 71, 107, 143, 185, 221, 227};
enum { RAMP = sizeof ramp };

/* `share` is from 0 to 1; 13.99, 4.99 and 9.99 make 1 the last shade rather
 * than the one behind it. */
static void add_shade(const Display *d, StrBuf *out, double share, int wide) {
  static const char *const blocks[] = {" ", "\u2591", "\u2592", "\u2593",
                                       "\u2588"};
  static const char ascii[] = " .:-=+*#%@";
  bool none = isnan(share);
  if (d->colour)
    strbuf_addf(out, "\033[48;5;%dm", none ? 160 : ramp[(int)(share * 13.99)]);
  for (int i = 0; i < wide; i++)
    if (none) strbuf_add_char(out, '?');
    else if (d->colour) strbuf_add_char(out, ' ');
    else if (d->unicode) strbuf_add(out, blocks[(int)(share * 4.99)]);
    else strbuf_add_char(out, ascii[(int)(share * 9.99)]);
}

/* Draws a legend: the shades between the minimum and the maximum. */
static void add_scale(const Display *d, StrBuf *out, const Grid *g) {
  strbuf_addf(out, "%.4g ", g->min);
  for (int i = 0; i < RAMP; i++) add_shade(d, out, i / (RAMP - 1.0), 1);
  if (d->colour) strbuf_add(out, "\033[0m");
  strbuf_addf(out, " %.4g\n", g->max);
}

static void heat(const Display *d, StrBuf *out, const Grid *g) {
  int wide = g->columns * 2 < d->width ? 2 : 1;
  int64_t w = least(g->columns, (d->width - 1) / wide);
  int64_t h = least(g->rows, HEAT_ROWS);
  for (int64_t y = 0; y < h; y++) {
    for (int64_t x = 0; x < w; x++) {
      double mean = cell_mean(g, y, h, x, w);
      add_shade(d, out, isnan(mean) ? NAN : share(g, mean), wide);
    }
    strbuf_add(out, d->colour ? "\033[0m\n" : "\n");
  }
  add_scale(d, out, g);
}

/* --- SVG ------------------------------------------------------------------ */

static void svg_begin(StrBuf *out, int width, int height) {
  strbuf_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
              "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
              "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
              width, height);
}

static void svg_text(StrBuf *out, int x, int y, const char *anchor,
                     double value) {
  strbuf_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%.4g</text>\n",
              x, y, anchor, value);
}

/* Draws one path, which is interrupted where no element is finite. */
static void svg_line(StrBuf *out, const Grid *g) {
  int wide = SVG_WIDTH - 2 * SVG_EDGE, high = SVG_HEIGHT - 2 * SVG_EDGE;
  int n = (int)least(g->columns, wide);
  bool down = false;
  strbuf_add(out, "<path fill=\"none\" stroke=\"#1f77b4\" d=\"");
  for (int x = 0; x < n; x++) {
    Range r = column(g, x, n);
    bool none = r.lo > r.hi;
    for (int end = 0; end < 2 && !none; end++, down = true)
      if (!end || r.hi > r.lo)
        strbuf_addf(out, "%c%.2f %.2f ", down ? 'L' : 'M',
                    SVG_EDGE + (n > 1 ? (double)x * wide / (n - 1) : 0),
                    SVG_EDGE + (1 - share(g, end ? r.hi : r.lo)) * high);
    if (none) down = false;
  }
  strbuf_add(out, "\"/>\n");
}

static void plot_svg(StrBuf *out, const Grid *g) {
  int right = SVG_WIDTH - SVG_EDGE, low = SVG_HEIGHT - SVG_EDGE;
  svg_begin(out, SVG_WIDTH, SVG_HEIGHT);
  strbuf_addf(out,
              "<path fill=\"none\" stroke=\"#888\" d=\"M%d %d V%d H%d\"/>"
              "\n",
              SVG_EDGE, SVG_EDGE, low, right);
  svg_line(out, g);
  svg_text(out, SVG_EDGE - 4, SVG_EDGE + 4, "end", g->max);
  svg_text(out, SVG_EDGE - 4, low, "end", g->min);
  svg_text(out, SVG_EDGE, low + 16, "middle", 0);
  svg_text(out, right, low + 16, "middle", (double)(g->columns - 1));
  strbuf_add(out, "</svg>\n");
}

/* Five colours of viridis, interpolated linearly. */
static void svg_colour(StrBuf *out, double share) {
  static const uint8_t stops[5][3] = {{68, 1, 84},
                                      {59, 82, 139},
                                      {33, 145, 140},
                                      {94, 201, 98},
                                      {253, 231, 37}};
  if (isnan(share)) {
    strbuf_add(out, "#d00000");
    return;
  }
  int i = share < 1 ? (int)(share * 4) : 3;
  double rest = share * 4 - i;
  strbuf_add_char(out, '#');
  for (int k = 0; k < 3; k++)
    strbuf_addf(out, "%02x",
                (int)(stops[i][k] * (1 - rest) + stops[i + 1][k] * rest + 0.5));
}

static void heat_svg(StrBuf *out, const Grid *g) {
  int w = (int)least(g->columns, SVG_CELLS), h = (int)least(g->rows, SVG_CELLS);
  int most = w > h ? w : h, side = SVG_WIDTH / most ? SVG_WIDTH / most : 1;
  svg_begin(out, w * side, h * side + 24);
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      double mean = cell_mean(g, y, h, x, w);
      strbuf_addf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                  "fill=\"",
                  x * side, y * side, side, side);
      svg_colour(out, isnan(mean) ? NAN : share(g, mean));
      strbuf_add(out, "\"/>\n");
    }
  svg_text(out, 0, h * side + 16, "start", g->min);
  svg_text(out, w * side, h * side + 16, "end", g->max);
  strbuf_add(out, "</svg>\n");
}

/* --- Commands ------------------------------------------------------------- */

typedef struct Drawing {
  const char *command, *wants;
  int rank;
  void (*terminal)(const Display *d, StrBuf *out, const Grid *g);
  void (*svg)(StrBuf *out, const Grid *g);
} Drawing;

/* The file name FILE.svg at the beginning of the words, or NULL; *expr is the
 * text after it.  The caller frees the name. */
static char *svg_file(const char *words, const char **expr) {
  size_t n = strcspn(words, " \t");
  *expr = words;
  if (n < 5 || strncmp(words + n - 4, ".svg", 4)) return NULL;
  *expr = words + n + strspn(words + n, " \t");
  return strndup(words, n);
}

static void show_grid(Repl *r, const Drawing *how, rly_value *v, const Grid *g,
                      const char *file) {
  Display d = repl_display(r);
  StrBuf out;
  strbuf_init(&out, &r->host->cx->mem);
  if (file) {
    how->svg(&out, g);
    file_replace(r->host->cx, file, &out);
  } else {
    how->terminal(&d, &out, g);
    display_facts(&d, &out, v);
    repl_say(r, "%s", strbuf_text(&out));
  }
  strbuf_done(&out);
}

static void run_drawing(Repl *r, const Drawing *how, const char *words) {
  const char *expr;
  char *file = svg_file(words, &expr);
  rly_value *v = repl_value(r, expr);
  Grid g = {0};
  if (v && !grid_of(v, how->rank, &g))
    repl_refuse(how->command, "takes %s that is not empty", how->wants);
  else if (v && g.min > g.max)
    repl_refuse(how->command, "no element is finite");
  else if (v) show_grid(r, how, v, &g, file);
  host_report(r->host);
  free(g.at);
  rly_value_free(v);
  free(file);
}

void plot_run_plot(Repl *r, const char *words) {
  run_drawing(r, &(Drawing){"plot", "a vector", 1, plot, plot_svg}, words);
}

void plot_run_heat(Repl *r, const char *words) {
  run_drawing(r, &(Drawing){"heat", "a matrix", 2, heat, heat_svg}, words);
}
