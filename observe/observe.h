/* Observation of a running session: counts of instructions, times and sizes of
 * operators, traces of calls, the first NaN, contents of cells; and code as
 * text. */
#ifndef OBSERVE_OBSERVE_H
#define OBSERVE_OBSERVE_H

#include "vm/session.h"

/* What is observed.  Observation changes no result. */
typedef struct Observe {
  bool count;   /* instructions, for session_stats() */
  bool profile; /* for session_profile() */
  bool nans;    /* E0608 at the first; needs code_stop_at_nans() */
  /* Receives, in pieces, a file of Chrome's trace events. session_free() sends
   * the end of the file.  NULL: no trace. */
  void (*trace)(void *data, const char *text, size_t len);
  void *data;
} Observe;

/* Starts observation.  To be called before the first run; returns false when
 * memory runs out. */
bool session_observe(Session *s, const Observe *what);
/* Starts a new profile or ends the current one, between two runs.  Other
 * observation continues. */
bool session_set_profile(Session *s, bool on);
/* The profile: calls, time, bytes and operations by source line and by
 * operator. */
void session_profile(Session *s, StrBuf *out);

/* What a cell has held, from its first content on: of each `every` contents the
 * first, as texts in one line, and the last of all. */
enum { CONTENT_MOST = 60, CONTENT_BYTES = 4 * CONTENT_MOST, VALUES_MOST = 128 };
typedef struct Content {
  char text[CONTENT_BYTES + 4]; /* "..." after one that is cut */
} Content;
typedef struct CellMaker CellMaker;
typedef struct CellHistory {
  const CellMaker *maker;
  const Type *type;
  uint64_t count, every;
  VEC(Content) values;
  Content last;
  size_t number;   /* among the cells that steps of its family made; from 0 */
  uint64_t before; /* `count` when the step at hand began */
  bool noted;      /* the step at hand made or changed it */
} CellHistory;

/* A place of the user's text that makes cells. */
struct CellMaker {
  Span place;
  uint64_t count; /* of its cells, also those that are not followed */
  VEC(CellHistory *) cells;
  uint64_t made; /* by the step at hand */
};

/* From now on the contents of new cells are kept.  Returns false when memory
 * runs out. */
bool session_follow_cells(Session *s);
/* The cells by their places: of each place the first few, and with the last of
 * these how many more it has made.  Returns false, and shows none, when memory
 * ran out while they were followed. */
bool session_each_cell(Session *s,
                       void (*show)(void *data, const CellHistory *h,
                                    uint64_t more),
                       void *data);

/* --- Cells step by step, where session_follow_cells() has been called -------
 *
 * Steps that may share cells are a family: no step changes a cell that a step
 * of another family made. */

/* What the step at hand has done: the places at which it made cells and the
 * cells that it made or changed, in this order. */
typedef struct StepCells {
  VEC(CellMaker *) makers;
  VEC(CellHistory *) cells;
} StepCells;

/* A step of this family begins. */
void session_cells_begin(Session *s, size_t family);
/* Returns NULL when memory ran out while cells were followed. */
const StepCells *session_step_cells(const Session *s);

/* For a step that is not evaluated: says that it made `count` cells at the
 * place.  NULL when memory runs out. */
CellMaker *session_cells_made(Session *s, Span place, uint64_t count);
/* The cell of this number in the family of the step: one that is there, or with
 * a maker the next, which it has made.  NULL: there is none. */
CellHistory *session_cell(Session *s, CellMaker *maker, size_t number);
/* Says that the cell has held `count` contents by now, of which one in `every`
 * is kept.  The lines are the contents that the step gave the cell and that are
 * kept, then the last content of all.  Lines that cannot be so are ignored, as
 * another program may have written them. */
void session_cell_held(Session *s, CellHistory *h, uint64_t count,
                       uint64_t every, const char *lines, size_t len);

/* Writes the instructions of one function, or of all of the user's functions
 * (NULL), each with its source line.  Returns false after reporting that a
 * function has no code. */
bool code_dump(Code *c, StrBuf *out, const Global *only);

#endif
