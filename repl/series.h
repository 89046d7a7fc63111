/* The numbers of a value, as the drawings need them. */
#ifndef REPL_SERIES_H
#define REPL_SERIES_H

#include "repl/repl.h"

enum { SERIES_MOST = 8 };

/* A vector (one row) or a matrix, as doubles. */
typedef struct Series {
  char *label;
  double *at;
  int64_t rows, columns;
  double min, max; /* of the finite elements; min > max: there are none */
  int64_t odd;     /* how many are not finite */
} Series;

/* What a drawing makes of a value. */
typedef enum SeriesForm {
  SERIES_LINES, /* vectors; a matrix is its rows */
  SERIES_MAPS,  /* matrices; a vector is one row */
  SERIES_BAGS,  /* elements in no order: one row */
} SeriesForm;

typedef struct SeriesList {
  SeriesForm form;
  Series items[SERIES_MOST];
  int count;
  char why[200]; /* why it failed */
} SeriesList;

/* Takes a tensor, a list of numbers or of vectors, which become the columns of
 * a matrix, or a tuple of such or a list of such tuples, which are several.
 * `words` is the text of the expression, after whose parts they are named.
 * False, with the reason in `why`; series_free() is due in any case. */
bool series_collect(SeriesList *to, rly_value *v, const char *words);
void series_free(SeriesList *l);

/* The words as one expression: where commas separate several, a tuple.  The
 * caller frees it. */
char *series_expression(const char *words);

#endif
