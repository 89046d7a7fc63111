/* The texts that the editor has open, each with its analyses. */
#ifndef SERVER_DOCUMENT_H
#define SERVER_DOCUMENT_H

#include "lib/inside.h"
#include "server/pieces.h"

/* A checked text, in a context of its own.  Items with mistakes are replaced by
 * blanks before the check (check.c). */
typedef struct Analysis {
  int refs;
  rly_context *cx;
  rly_program *program;
  const SourceFile *source; /* the text as it was checked */
  bool whole;               /* nothing was left out */
  Uses uses;
} Analysis;

/* A diagnostic of the text, and what may stand in a place instead. */
typedef struct Fix {
  size_t lo, hi;
  char *text; /* owned */
} Fix;
typedef struct Problem {
  json_t *json; /* a Diagnostic, owned */
  size_t lo, hi;
  Fix fix; /* its text is NULL: there is none */
} Problem;
typedef VEC(Problem) Problems;

typedef struct Document {
  char *uri, *path; /* owned */
  json_int_t version;
  Text text;
  Tokens tokens;
  Pieces pieces;
  bool checked; /* what follows is of the text as it is */
  bool published;
  Problems problems;
  Analysis *now;  /* what checks of the text; NULL: nothing does */
  Analysis *good; /* the last text that checked whole; or NULL */
  struct Document *next;
} Document;

/* The URI of a file; owned, NULL when memory runs out. */
char *uri_of_path(const char *path);
/* A Location in a text, by its own lines; `utf8` as in Text.  Owned. */
json_t *location_in(Mem *mem, bool utf8, const SourceFile *f, const char *uri,
                    Span span);

/* NULL when memory runs out.  `utf8` as in Text. */
Document *document_new(Mem *mem, const char *uri, bool utf8);
void document_free(Document *d);
/* The text has changed. */
void document_touch(Document *d);

/* Checks the text, unless that was done.  The limits are `options`'. */
void document_check(Document *d, const rly_options *options);
/* The number of errors in a text; SIZE_MAX where nothing can be said. */
size_t check_errors(const rly_options *options, const char *path,
                    const char *text, size_t len);
/* What checks of a text, or NULL; to be dropped. */
Analysis *analysis_of(const rly_options *options, const char *path,
                      const char *text, size_t len);
void analysis_drop(Analysis *a);

/* A place in the text and what is known there: an analysis and the byte in its
 * source map.  The text's own is asked first, then the last good one, if the
 * place lies outside of what has changed since.  `k` is 0 or 1; false: there is
 * no k-th. */
bool document_look(const Document *d, size_t offset, int k, Analysis **out,
                   uint32_t *at);
/* The byte of the text for a place of the analysis of the same text; false: it
 * is no place in the text. */
bool analysis_offset(const Analysis *a, Span span, size_t *lo, size_t *hi);

#endif
