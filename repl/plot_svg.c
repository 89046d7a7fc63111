/* Drawings as SVG files. */
#include <math.h>

#include "repl/plot.h"

enum {
  SVG_WIDTH = 640,
  SVG_HEIGHT = 320,
  SVG_EDGE = 48,
  SVG_CELLS = 256,
  SVG_LINE = 16, /* of a legend */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static const char *const colours[SERIES_MOST] = {
    "#1f77b4", "#ff7f0e", "#9467bd", "#2ca02c",
    "#17becf", "#d62728", "#8c564b", "#e377c2"};

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

/* A text of the program. */
static void svg_name(StrBuf *out, int x, int y, const char *colour,
                     const char *name) {
  strbuf_addf(out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">", x, y, colour);
  html_add(out, name, strlen(name));
  strbuf_add(out, "</text>\n");
}

/* Draws one path, which is interrupted where no element is finite.  A column
 * that is a range is drawn as a vertical stroke from its least to its greatest
 * value; `down` says whether the pen is on the paper. */
static void svg_line(StrBuf *out, const SeriesList *l, int i) {
  int wide = SVG_WIDTH - 2 * SVG_EDGE, high = SVG_HEIGHT - 2 * SVG_EDGE;
  const Series *g = &l->items[i];
  int room = plot_columns(l, g, wide), n = (int)least(g->columns, room);
  bool down = false;
  strbuf_addf(out, "<path fill=\"none\" stroke=\"%s\" d=\"", colours[i]);
  for (int x = 0; x < n; x++) {
    Range r = plot_column(g, x, n);
    bool none = r.lo > r.hi;
    double share = n > 1 ? (double)x / (n - 1) : 0;
    double at = room == wide ? share * wide : share * (room - 1);
    for (int end = 0; end < 2 && !none; end++, down = true)
      if (!end || r.hi > r.lo)
        strbuf_addf(out, "%c%.2f %.2f ", down ? 'L' : 'M', SVG_EDGE + at,
                    SVG_EDGE + (1 - plot_share(g, end ? r.hi : r.lo)) * high);
    if (none) down = false;
  }
  strbuf_add(out, "\"/>\n");
}

void plot_svg_lines(StrBuf *out, const SeriesList *l) {
  int right = SVG_WIDTH - SVG_EDGE, low = SVG_HEIGHT - SVG_EDGE;
  int names = l->count > 1 ? l->count : 0;
  int64_t longest = 0;
  svg_begin(out, SVG_WIDTH, SVG_HEIGHT + names * SVG_LINE);
  strbuf_addf(out,
              "<path fill=\"none\" stroke=\"#888\" d=\"M%d %d V%d H%d\"/>"
              "\n",
              SVG_EDGE, SVG_EDGE, low, right);
  for (int i = 0; i < l->count; i++) {
    svg_line(out, l, i);
    if (l->items[i].columns > longest) longest = l->items[i].columns;
  }
  for (int i = 0; i < names; i++)
    svg_name(out, SVG_EDGE, low + 32 + i * SVG_LINE, colours[i],
             l->items[i].label);
  svg_text(out, SVG_EDGE - 4, SVG_EDGE + 4, "end", l->items[0].max);
  svg_text(out, SVG_EDGE - 4, low, "end", l->items[0].min);
  svg_text(out, SVG_EDGE, low + 16, "middle", 0);
  svg_text(out, right, low + 16, "middle", (double)(longest - 1));
  strbuf_add(out, "</svg>\n");
}

/* Five colours of viridis, interpolated linearly.  The stops are at 0, 1/4,
 * 1/2, 3/4 and 1. */
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

/* A matrix beyond SVG_CELLS rows or columns is averaged, for each cell is a
 * <rect> of some 60 bytes. */
typedef struct MapSize {
  int w, h, side, above; /* above: the room for its name */
} MapSize;

static MapSize map_size(const SeriesList *l, const Series *g) {
  MapSize m = {.w = (int)least(g->columns, SVG_CELLS),
               .h = (int)least(g->rows, SVG_CELLS),
               .above = l->count > 1 ? 20 : 0};
  int most = m.w > m.h ? m.w : m.h;
  m.side = SVG_WIDTH / most ? SVG_WIDTH / most : 1;
  return m;
}

static void svg_map(StrBuf *out, const Series *g, MapSize m, int top) {
  for (int y = 0; y < m.h; y++)
    for (int x = 0; x < m.w; x++) {
      double mean = plot_cell(g, y, m.h, x, m.w);
      strbuf_addf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                  "fill=\"",
                  x * m.side, top + y * m.side, m.side, m.side);
      svg_colour(out, isnan(mean) ? NAN : plot_share(g, mean));
      strbuf_add(out, "\"/>\n");
    }
  if (g->min > g->max) return;
  svg_text(out, 0, top + m.h * m.side + 16, "start", g->min);
  svg_text(out, m.w * m.side, top + m.h * m.side + 16, "end", g->max);
}

/* One below the other. */
void plot_svg_maps(StrBuf *out, const SeriesList *l) {
  int width = 0, height = 0;
  for (int i = 0; i < l->count; i++) {
    MapSize m = map_size(l, &l->items[i]);
    if (m.w * m.side > width) width = m.w * m.side;
    height += m.above + m.h * m.side + 24;
  }
  svg_begin(out, width, height);
  for (int i = 0, top = 0; i < l->count; i++) {
    MapSize m = map_size(l, &l->items[i]);
    if (m.above) svg_name(out, 0, top + 14, "black", l->items[i].label);
    svg_map(out, &l->items[i], m, top + m.above);
    top += m.above + m.h * m.side + 24;
  }
  strbuf_add(out, "</svg>\n");
}

/* --- Histograms ----------------------------------------------------------- */

static void svg_bars(StrBuf *out, const Series *g, const char *colour,
                     int top) {
  Bins b = plot_bins(g, plot_is_whole(g));
  int wide = SVG_WIDTH - 2 * SVG_EDGE, high = SVG_HEIGHT - 2 * SVG_EDGE;
  int low = top + SVG_HEIGHT - SVG_EDGE;
  for (int i = 0; i < b.count; i++) {
    double share = (double)b.in[i] / (double)b.most;
    strbuf_addf(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                "height=\"%.2f\" fill=\"%s\" stroke=\"white\"/>\n",
                SVG_EDGE + (double)i * wide / b.count, low - share * high,
                (double)wide / b.count, share * high, colour);
  }
  if (!b.count) return;
  svg_text(out, SVG_EDGE - 4, low - high + 4, "end", (double)b.most);
  svg_text(out, SVG_EDGE, low + 16, "middle", g->min);
  svg_text(out, SVG_WIDTH - SVG_EDGE, low + 16, "middle", g->max);
}

void plot_svg_bars(StrBuf *out, const SeriesList *l) {
  svg_begin(out, SVG_WIDTH, SVG_HEIGHT * l->count);
  for (int i = 0; i < l->count; i++) {
    if (l->count > 1)
      svg_name(out, SVG_EDGE, SVG_HEIGHT * i + 24, colours[i],
               l->items[i].label);
    svg_bars(out, &l->items[i], colours[i], SVG_HEIGHT * i);
  }
  strbuf_add(out, "</svg>\n");
}
