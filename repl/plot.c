/* :plot draws series as lines, :heat matrices by shades, :hist how elements
 * are distributed, in the terminal or as an SVG file (plot_svg.c).
 *
 * If there are more elements than columns, a column of a line shows the range
 * of its elements, and a cell of a matrix their mean: a peak of one element
 * stays visible in a line of a million.  With fewer elements than columns a
 * line interpolates, linearly.
 *
 * In the terminal a line is drawn in Braille characters, each a cell of 2 x 4
 * dots; without UTF-8 in `*`, a cell of 1 x 1:
 *
 *   1 8      U+2800 + the sum of the bits that are set; so
 *   2 16     1 + 2 + 4 + 64 is the left column of dots
 *   4 32
 *   64 128
 *
 * Several lines differ in their colours; without colours each has a mark of its
 * own.  A matrix is drawn in the 256-colour palette, or in blocks of four
 * shades, or in ten ASCII characters.  Elements that are not finite take no
 * part in ranges and means; where there are only such, the line has a gap and
 * the cell a mark of its own.
 *
 * A drawing takes memory for all elements as doubles (series.h), and time in
 * proportion to them; the picture itself is of bounded size. */
#include "repl/plot.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  PLOT_ROWS = 12,
  HEAT_ROWS = 32,
  LABEL = 11, /* in the terminal */
  COLUMNS_MOST = 120
};
/* Whole numbers beyond that are no longer distinct. */
static const double WHOLE_MOST = 1e15;

/* --- Values --------------------------------------------------------------- */

static void widen(Range *r, double x) {
  if (!isfinite(x)) return;
  if (x < r->lo) r->lo = x;
  if (x > r->hi) r->hi = x;
}

static const Range nothing = {DBL_MAX, -DBL_MAX};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The position of x between the minimum and the maximum, from 0 to 1.  x / 2 -
 * min / 2, and not (x - min) / 2: with max = 1e308 and min = -1e308 the
 * difference is infinite.  A series of equal elements is drawn in the
 * middle. */
double plot_share(const Series *g, double x) {
  if (g->max <= g->min) return 0.5;
  double half = x / 2 - g->min / 2; /* the difference may overflow */
  return half / (g->max / 2 - g->min / 2);
}

/* --- Series --------------------------------------------------------------- */

/* The value of a short series in column `k` of `n`, by linear interpolation
 * between the two nearest elements.  Element i of n lies at column i * (columns
 * - 1) / (n - 1).  A column that lies nearest to an element shows that very
 * element, so that peaks keep their height although columns fall between
 * elements. */
static double between(const Series *g, int64_t k, int64_t n) {
  double columns = (double)(n - 1), last = (double)(g->columns - 1);
  double at = n > 1 ? (double)k * last / columns : 0;
  int64_t nearest = (int64_t)(at + 0.5), i = (int64_t)at;
  double rest = at - (double)i;
  if (fabs(at - (double)nearest) * columns <= 0.5 * last || rest == 0)
    return g->at[nearest];
  return g->at[i] * (1 - rest) + g->at[i + 1] * rest;
}

/* The range of values in column `k` of `n`.  For a long series, the range of
 * the elements that fall into the column.  Columns divide the elements evenly:
 * column k has the elements from k * count / n on, up to where column k + 1
 * begins. */
Range plot_column(const Series *g, int64_t k, int64_t n) {
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

int plot_columns(const SeriesList *l, const Series *g, int n) {
  int64_t longest = 1;
  for (int i = 0; i < l->count; i++)
    if (l->items[i].columns > longest) longest = l->items[i].columns;
  if (g->columns == longest) return n;
  double share = (double)(g->columns - 1) / (double)(longest - 1);
  return (int)(share * (n - 1) + 0.5) + 1;
}

/* The same range, extended to meet the column before it, so that the line has
 * no gaps.  A column of a steep line may lie wholly above the one before; then
 * it is extended down to that one's highest dot. */
static Range joined(Range now, Range before) {
  if (now.lo > now.hi || before.lo > before.hi) return now;
  if (now.lo > before.hi) now.lo = before.hi;
  if (now.hi < before.lo) now.hi = before.lo;
  return now;
}

/* A bitmap of dots in cells of `wide` x `high` dots.  Of the lines that cross a
 * cell it shows the last one. */
typedef struct Canvas {
  uint8_t *cells, *owner;
  int columns, wide, high;
} Canvas;

/* The bits of Braille's dots (U+2800 and on) by column and row. */
static const uint8_t dots[2][4] = {{1, 2, 4, 64}, {8, 16, 32, 128}};

static void set_dot(Canvas *c, int x, int y, int owner) {
  int at = y / c->high * c->columns + x / c->wide;
  if (c->owner[at] != owner) c->cells[at] = 0;
  c->owner[at] = (uint8_t)owner;
  c->cells[at] |= dots[x % c->wide][y % c->high];
}

/* Row 0 is the highest. */
static int row_of(const Series *g, double x, int rows) {
  int from_below = (int)(plot_share(g, x) * (rows - 1) + 0.5);
  return rows - 1 - from_below;
}

/* The ranges that are joined are the columns' own, not the extended ones: else
 * a line would grow thicker from column to column. */
static void draw(const Series *g, int n, Canvas *c, int owner) {
  int rows = PLOT_ROWS * c->high;
  Range before = nothing;
  for (int x = 0; x < n; x++) {
    Range own = plot_column(g, x, n), r = joined(own, before);
    before = own;
    if (r.lo > r.hi) continue;
    for (int y = row_of(g, r.hi, rows); y <= row_of(g, r.lo, rows); y++)
      set_dot(c, x, y, owner);
  }
}

static void add_label(StrBuf *out, bool shown, double x) {
  char text[32] = "";
  int n = shown ? snprintf(text, sizeof text, "%.4g", x) : 0;
  if (n >= LABEL) snprintf(text, sizeof text, "%.3g", x);
  strbuf_addf(out, "%*s ", LABEL - 1, text);
}

/* How each line is told from the others. */
static const char *const colours[SERIES_MOST] = {
    "\033[36m", "\033[33m", "\033[35m", "\033[32m",
    "\033[34m", "\033[31m", "\033[96m", "\033[93m"};
static const char marks[] = "*+ox#@%=";

static bool has_dots(const Display *d, const SeriesList *l) {
  return d->unicode && (l->count == 1 || d->colour);
}

static void add_cell(const Display *d, StrBuf *out, const SeriesList *l,
                     const Canvas *c, int at) {
  uint8_t cell = c->cells[at], owner = c->owner[at];
  bool new_colour = d->colour && cell && l->count > 1;
  if (new_colour) strbuf_add(out, colours[owner]);
  if (!cell) strbuf_add_char(out, ' ');
  else if (has_dots(d, l)) strbuf_add_code_point(out, 0x2800 + cell);
  else strbuf_add_char(out, marks[owner]);
}

/* The axis has the greatest value at the first row, the least at the last;
 * below stand the first and the last index. */
static void add_canvas(const Display *d, StrBuf *out, const SeriesList *l,
                       const Canvas *c) {
  int64_t longest = 0;
  for (int i = 0; i < l->count; i++)
    if (l->items[i].columns > longest) longest = l->items[i].columns;
  for (int y = 0; y < PLOT_ROWS; y++) {
    bool end = y == 0 || y == PLOT_ROWS - 1;
    add_label(out, end, y ? l->items[0].min : l->items[0].max);
    strbuf_add(out, !d->unicode ? "|" : end ? "\u2524" : "\u2502");
    if (d->colour) strbuf_add(out, colours[0]);
    for (int x = 0; x < c->columns; x++)
      add_cell(d, out, l, c, y * c->columns + x);
    strbuf_add(out, d->colour ? "\033[0m\n" : "\n");
  }
  strbuf_addf(out, "%*s 0%*lld\n", LABEL, "", c->columns - 1,
              (long long)longest - 1);
}

/* A line for each series, with the range of its own. */
static void add_legend(const Display *d, StrBuf *out, const SeriesList *l,
                       const Range *own) {
  for (int i = 0; i < l->count; i++) {
    const Series *g = &l->items[i];
    char text[160];
    const char *line = d->unicode ? "\u2501\u2501" : "--";
    if (d->colour)
      strbuf_addf(out, "  %s%s\033[0m ", colours[i],
                  has_dots(d, l) ? line : (char[]){marks[i], '\0'});
    else strbuf_addf(out, "  %c ", marks[i]);
    int n = snprintf(text, sizeof text, "%s  min %.4g, max %.4g", g->label,
                     own[i].lo, own[i].hi);
    if (own[i].lo > own[i].hi)
      n = snprintf(text, sizeof text, "%s  nothing finite", g->label);
    else if (g->odd)
      snprintf(text + n, sizeof text - (size_t)n, ", %lld not finite",
               (long long)g->odd);
    strbuf_add_len(out, text,
                   utf8_fit(text, strlen(text),
                            (size_t)(d->width > 20 ? d->width - 6 : 14)));
    strbuf_add_char(out, '\n');
  }
}

/* All series get the range of all; `own` receives their own ones. */
static void join_ranges(SeriesList *l, Range own[SERIES_MOST]) {
  Range all = nothing;
  for (int i = 0; i < l->count; i++) {
    own[i] = (Range){l->items[i].min, l->items[i].max};
    if (own[i].lo > own[i].hi) continue;
    widen(&all, own[i].lo);
    widen(&all, own[i].hi);
  }
  for (int i = 0; i < l->count; i++) {
    l->items[i].min = all.lo;
    l->items[i].max = all.hi;
  }
}

static void plot(const Display *d, StrBuf *out, SeriesList *l) {
  bool fine = has_dots(d, l);
  Canvas c = {.columns = d->width - LABEL - 2,
              .wide = fine ? 2 : 1,
              .high = fine ? 4 : 1};
  Range own[SERIES_MOST];
  if (c.columns > COLUMNS_MOST) c.columns = COLUMNS_MOST;
  if (c.columns < 2) c.columns = 2;
  c.cells = calloc(2 * PLOT_ROWS, (size_t)c.columns);
  if (!c.cells) return;
  c.owner = c.cells + PLOT_ROWS * c.columns;
  join_ranges(l, own);
  for (int i = 0; i < l->count; i++) {
    const Series *g = &l->items[i];
    draw(g, plot_columns(l, g, c.columns * c.wide), &c, i);
  }
  add_canvas(d, out, l, &c);
  if (l->count > 1) add_legend(d, out, l, own);
  free(c.cells);
}

/* --- Matrices ------------------------------------------------------------- */

/* Rows y * rows / h up to (y + 1) * rows / h: each element belongs to
 * one cell, and none is empty, since h <= rows and w <= columns. */
double plot_cell(const Series *g, int64_t y, int64_t h, int64_t x, int64_t w) {
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
 * than the one after it. */
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
static void add_scale(const Display *d, StrBuf *out, const Series *g) {
  if (g->min > g->max) {
    strbuf_add(out, "nothing finite\n");
    return;
  }
  strbuf_addf(out, "%.4g ", g->min);
  for (int i = 0; i < RAMP; i++) add_shade(d, out, i / (RAMP - 1.0), 1);
  if (d->colour) strbuf_add(out, "\033[0m");
  strbuf_addf(out, " %.4g\n", g->max);
}

/* Where there are several drawings, each has its name above it. */
static void add_name(const Display *d, StrBuf *out, const SeriesList *l,
                     const Series *g) {
  if (l->count == 1) return;
  size_t n = utf8_fit(g->label, strlen(g->label), (size_t)d->width);
  display_styled(d, out, STYLE_NAME, g->label, n);
  strbuf_add_char(out, '\n');
}

/* A cell is two characters wide where there is room, so that it is about as
 * wide as it is high. */
static void add_map(const Display *d, StrBuf *out, const Series *g) {
  int wide = g->columns * 2 < d->width ? 2 : 1;
  int64_t w = least(g->columns, (d->width - 1) / wide);
  int64_t h = least(g->rows, HEAT_ROWS);
  for (int64_t y = 0; y < h; y++) {
    for (int64_t x = 0; x < w; x++) {
      double mean = plot_cell(g, y, h, x, w);
      add_shade(d, out, isnan(mean) ? NAN : plot_share(g, mean), wide);
    }
    strbuf_add(out, d->colour ? "\033[0m\n" : "\n");
  }
  add_scale(d, out, g);
}

static void heat(const Display *d, StrBuf *out, SeriesList *l) {
  for (int i = 0; i < l->count; i++) {
    add_name(d, out, l, &l->items[i]);
    add_map(d, out, &l->items[i]);
  }
}

/* --- Histograms ----------------------------------------------------------- */

bool plot_is_whole(const Series *g) {
  if (!(g->max - g->min < WHOLE_MOST)) return false;
  for (int64_t i = 0; i < g->columns; i++)
    if (isfinite(g->at[i]) && g->at[i] != floor(g->at[i])) return false;
  return true;
}

/* Intervals of a whole number's width where all elements are whole, so that
 * none has more of them than its neighbour.  The greatest element lies in the
 * last interval. */
Bins plot_bins(const Series *g, bool whole) {
  Bins b = {.count = BINS_MOST};
  double range = g->max - g->min; /* may overflow; only `whole` asks it */
  if (g->min > g->max) return (Bins){.count = 0};
  if (whole) b.width = ceil((range + 1) / BINS_MOST);
  if (whole) b.count = (int)ceil((range + 1) / b.width);
  if (g->min == g->max) b.count = 1;
  for (int64_t i = 0; i < g->columns; i++) {
    double x = g->at[i];
    if (!isfinite(x)) continue;
    double at = whole ? (x - g->min) / b.width : plot_share(g, x) * b.count;
    int k = at < b.count ? (int)at : b.count - 1;
    if (++b.in[k] > b.most) b.most = b.in[k];
  }
  return b;
}

/* A bar in eighths of a character, or in whole ones. */
static void add_bar(const Display *d, StrBuf *out, double share, int columns) {
  int eighths = (int)(share * columns * 8 + 0.5);
  if (share > 0 && !eighths) eighths = 1;
  if (d->colour) strbuf_add(out, colours[0]);
  for (; eighths >= 8; eighths -= 8)
    strbuf_add(out, d->unicode ? "\u2588" : "#");
  if (eighths && d->unicode) strbuf_add_code_point(out, 0x2590 - eighths);
  else if (eighths >= 4) strbuf_add_char(out, '#');
  if (d->colour) strbuf_add(out, "\033[0m");
}

/* Each line begins with where its interval does; the last interval ends at the
 * greatest element, which stands below it. */
static void add_bins(const Display *d, StrBuf *out, const Series *g) {
  bool whole = plot_is_whole(g);
  Bins b = plot_bins(g, whole);
  int columns = d->width - LABEL - 14;
  if (columns < 8) columns = 8;
  if (columns > COLUMNS_MOST / 2) columns = COLUMNS_MOST / 2;
  for (int i = 0; i < b.count; i++) {
    double share = (double)i / b.count;
    add_label(
        out, true,
        whole ? g->min + i * b.width : g->min * (1 - share) + g->max * share);
    strbuf_add(out, d->unicode ? "\u2502" : "|");
    add_bar(d, out, (double)b.in[i] / (double)b.most, columns);
    strbuf_addf(out, " %lld\n", (long long)b.in[i]);
  }
  if (!b.count) strbuf_add(out, "nothing finite\n");
  if (whole || b.count < 2) return;
  add_label(out, true, g->max);
  strbuf_add(out, d->unicode ? "\u2575\n" : "'\n");
}

static void hist(const Display *d, StrBuf *out, SeriesList *l) {
  for (int i = 0; i < l->count; i++) {
    add_name(d, out, l, &l->items[i]);
    add_bins(d, out, &l->items[i]);
  }
}

static void lines_svg(StrBuf *out, SeriesList *l) {
  Range own[SERIES_MOST];
  join_ranges(l, own);
  plot_svg_lines(out, l);
}

static void maps_svg(StrBuf *out, SeriesList *l) { plot_svg_maps(out, l); }
static void bars_svg(StrBuf *out, SeriesList *l) { plot_svg_bars(out, l); }

/* --- Commands ------------------------------------------------------------- */

typedef struct Drawing {
  const char *command;
  SeriesForm form;
  void (*terminal)(const Display *d, StrBuf *out, SeriesList *l);
  void (*svg)(StrBuf *out, SeriesList *l);
} Drawing;

static const Drawing drawings[] = {
    {"plot", SERIES_LINES, plot, lines_svg},
    {"heat", SERIES_MAPS, heat, maps_svg},
    {"hist", SERIES_BAGS, hist, bars_svg},
};
enum { DRAWING_COUNT = sizeof drawings / sizeof *drawings };

static const Drawing *find_drawing(const char *command) {
  for (int i = 0; i < DRAWING_COUNT; i++)
    if (!strcmp(drawings[i].command, command)) return &drawings[i];
  return NULL;
}

bool plot_draws(const char *command) { return find_drawing(command); }

/* The file name FILE.svg at the beginning of the words, or NULL; *expr is the
 * text after it.  The caller frees the name.  The extension is what tells a
 * file from an expression: no expression ends so. */
static char *svg_file(const char *words, const char **expr) {
  size_t n = strcspn(words, " \t");
  *expr = words;
  if (n < 5 || strncmp(words + n - 4, ".svg", 4)) return NULL;
  *expr = words + n + strspn(words + n, " \t");
  return strndup(words, n);
}

/* The facts of a tensor stand below its drawing; those of lines, in the
 * legend. */
static void add_drawing(Repl *r, const Drawing *how, rly_value *v,
                        SeriesList *l, StrBuf *out) {
  Display d = repl_display(r);
  how->terminal(&d, out, l);
  if (l->count == 1 || how->form != SERIES_LINES) display_facts(&d, out, v);
}

/* A file is replaced as a whole (file_replace), so a failed write leaves the
 * old drawing.  Everything that was taken is freed at the end. */
static bool draw_value(Repl *r, const Drawing *how, rly_value *v,
                       const char *words, const char *file, StrBuf *out) {
  SeriesList l = {.form = how->form};
  bool ok = series_collect(&l, v, words);
  if (!ok) repl_refuse(how->command, "%s", l.why);
  else if (file) {
    how->svg(out, &l);
    file_replace(r->host->cx, file, out);
  } else {
    add_drawing(r, how, v, &l, out);
  }
  series_free(&l);
  return ok;
}

bool plot_text(Repl *r, const char *command, const char *words, StrBuf *out) {
  char *expr = series_expression(words);
  rly_value *v = expr ? repl_value(r, expr) : NULL;
  bool ok = v && draw_value(r, find_drawing(command), v, words, NULL, out);
  rly_value_free(v);
  free(expr);
  return ok;
}

static void run_drawing(Repl *r, const char *command, const char *words) {
  const char *rest;
  char *file = svg_file(words, &rest);
  bool may = !file || repl_may(r, command, "files");
  char *expr = may ? series_expression(rest) : NULL;
  rly_value *v = expr ? repl_value(r, expr) : NULL;
  StrBuf out;
  strbuf_init(&out, &r->host->cx->mem);
  if (v) draw_value(r, find_drawing(command), v, rest, file, &out);
  if (!file) repl_say(r, "%s", strbuf_text(&out));
  strbuf_done(&out);
  host_report(r->host);
  rly_value_free(v);
  free(expr);
  free(file);
}

void plot_run_plot(Repl *r, const char *words) {
  run_drawing(r, "plot", words);
}

void plot_run_heat(Repl *r, const char *words) {
  run_drawing(r, "heat", words);
}

void plot_run_hist(Repl *r, const char *words) {
  run_drawing(r, "hist", words);
}
