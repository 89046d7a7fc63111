/* Lessons: pages of Markdown with exercises that check themselves.
 *
 * An exercise begins with a heading and ends with the fold that holds its wrong
 * answers.  On a page it reads as one; `rly learn` asks it (learn.c), and
 * `rly test` sees that the solutions pass and the wrong answers do not:
 *
 *   ### Exercise: half
 *
 *   What to do.
 *
 *   ```rly given         what is defined for it first; may be missing
 *   let %n = 8;
 *   ```
 *
 *   ```rly start         what an answer may begin with; may be missing
 *   %n * 1
 *   ```
 *
 *   ```rly allowed       words that an answer may use (allowed.c); may be
 *   sum where            missing: all are
 *   ```
 *
 *   ```rly check         expressions, one a line, that must be True
 *   %it == 4
 *   ```
 *
 *   <details><summary>Hint</summary>      one, or several in their order
 *   ...
 *   </details>
 *   <details><summary>Solution</summary>
 *
 *   ```rly solution      one block an answer, here as below
 *   %n / 2
 *   ```
 *
 *   </details>
 *   <details><summary>Wrong answers, and why</summary>
 *
 *   Why not:             shown to whom gives this answer; may be missing
 *
 *   ```rly wrong
 *   %n
 *   ```
 *   ...
 *   </details>
 *
 * A block `rly hidden`, in a fold of its own before the wrong answers, has
 * further checks, which are shown when they fail. */
#ifndef REPL_LESSON_H
#define REPL_LESSON_H

#include <stdbool.h>
#include <stddef.h>

#include "repl/cli.h"

/* A stretch of the page's text, which owns it. */
typedef struct Part {
  const char *text;
  size_t len;
  int line; /* its first, from 1 */
} Part;

enum { PARTS_MAX = 8 };

typedef struct PartList {
  Part items[PARTS_MAX];
  int count;
} PartList;

typedef struct Exercise {
  Part title;
  Part task; /* from below the heading to the first fold */
  Part given, allowed, check, hidden;
  PartList hints, solutions, wrong;
  Part remarks[PARTS_MAX]; /* for each of `wrong`, without the colon */
} Exercise;

/* What is read at once: prose up to the end of a block of `console`, or an
 * exercise. */
typedef struct Piece {
  Part text;
  bool asks; /* there is an exercise */
  Exercise exercise;
} Piece;

typedef struct Page {
  Part title;
  Piece *pieces;
  int count, exercises;
} Page;

/* Cuts a page, which must outlive the pieces; false when memory runs out. */
bool page_read(Page *p, const char *text);
void page_free(Page *p);
/* What the exercise lacks, or has too much of; NULL: it is whole. */
const char *exercise_flaw(const Exercise *e);

/* The next line of a part, which is taken off it, without its newline; false at
 * the end. */
bool part_line(Part *rest, Part *line);
/* Does a line, or a part, begin so? */
bool part_begins(Part p, const char *prefix);

/* Adds a part to the program and runs it, showing nothing; false, with nothing
 * reported, when it is refused or fails. */
bool part_run(Host *h, rly_session *s, Part p);
/* Is the answer made of what the exercise allows?  If not, *why is the reason,
 * to be freed; NULL when memory ran out. */
bool exercise_allows(Host *h, const Exercise *e, Part answer, char **why);
/* Is the answer right, after it was run?  It is made of what is allowed, and
 * the checks are true now: they are asked of a copy of the session.  If not,
 * *why is the reason, as above. */
bool exercise_takes(Host *h, rly_session *s, const Exercise *e, Part answer,
                    char **why);
/* What the page says of this answer, if it is one of the wrong ones; else an
 * empty part.  Blanks, comments and the names of locals do not count. */
Part exercise_remark(Host *h, const Exercise *e, const char *answer);

#endif
