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
typedef struct CellHistory {
  Span place; /* in the user's text, where the cell is made */
  const Type *type;
  uint64_t count, every;
  size_t kept;
  Content values[VALUES_MOST], last;
} CellHistory;

/* From now on the contents of new cells are kept.  Returns false when memory
 * runs out. */
bool session_follow_cells(Session *s);
/* The cells by their places: of each place the first few, and with the last of
 * these how many more it has made. */
void session_each_cell(Session *s,
                       void (*show)(void *data, const CellHistory *h,
                                    size_t more),
                       void *data);

/* Writes the instructions of one function, or of all of the user's functions
 * (NULL), each with its source line.  Returns false after reporting that a
 * function has no code. */
bool code_dump(Code *c, StrBuf *out, const Global *only);

#endif
