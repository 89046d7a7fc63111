/* Files with expectations in comments, as `rly test` runs them.
 *
 *   1 + 1;
 *   // expect: 2
 *   [1f, 2f] + [1f, 2f, 3f];
 *   // expect error[E0203]: do not broadcast
 *   @hd(Nil);
 *   // expect runtime error: no arm
 *   sqrt(2f);
 *   // expect ~1e-6: 1.4142135f
 *   print("x");
 *   // expect output: ...
 *
 * A longer text goes on in comment lines that begin with three blanks.
 *
 * Lines of a doc comment with five blanks or more after `///` are examples,
 * which run after all of the file:
 *
 *   /// Twice as much.
 *   ///
 *   ///     @twice(3)
 *   ///     // expect: 6
 *   def @twice(%n: int32) -> int32 { %n * 2 }
 *
 * In Markdown the fenced `rly` blocks are one such file.  A fenced `console`
 * block shows commands after `$ `, or entries at the prompt after `rly> `
 * and `  ... `, each followed by what it prints; a line of three dots stands
 * for any lines.  The entries of a file are one session.  Exercises are told of
 * in lesson.h. */
#ifndef REPL_TEST_FILE_H
#define REPL_TEST_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum ExpectKind {
  EXPECT_NOTHING, /* the rest of a file: it must run */
  EXPECT_VALUE,   /* of the last item shown */
  EXPECT_OUTPUT,  /* all that was printed and shown */
  EXPECT_ERROR,   /* refused */
  EXPECT_RUNTIME, /* a run-time error, or a limit */
  EXPECT_COMMAND, /* what a shell's command prints */
  EXPECT_SESSION, /* what entries at the prompt print */
} ExpectKind;

/* The lines between one expectation and the next, and what is expected. */
typedef struct TestLines {
  char *text; /* each with its newline; NULL: none */
  size_t len, room;
} TestLines;

typedef struct TestCase {
  int first_line; /* of `text`, from 1 */
  TestLines text;
  ExpectKind kind;
  char code[8];     /* "E0203", or "" */
  double tolerance; /* relative and absolute; 0: exact */
  TestLines expected;
  int expect_line, expect_count; /* its lines in the file */
  bool example;                  /* of a doc comment */
  char *found; /* lines to be written in place of those; NULL: they stay */
} TestCase;

typedef struct TestFile {
  char **lines; /* without their newlines */
  int line_count;
  TestCase *cases;
  int case_count;
} TestFile;

bool test_file_is_markdown(const char *path);
/* False when memory runs out. */
bool test_file_read(TestFile *f, const char *path, const char *text);
void test_file_free(TestFile *f);

/* Does `found` say what the case expects?  Blanks compare as one, with a
 * tolerance numbers by value; of commands and sessions, lines. */
bool test_matches(const TestCase *c, const char *found);

#endif
