/* Values in the JSON of `rly run --json`, compared as the suites ask. */
#ifndef TESTS_CONFORMANCE_VALUE_H
#define TESTS_CONFORMANCE_VALUE_H

#include <jansson.h>
#include <stdbool.h>

/* The innermost parts that differ; borrowed from what was compared. */
typedef struct Difference {
  const json_t *got, *want; /* NULL: absent */
} Difference;

/* Whether the values agree; otherwise `d` says where they do not. */
bool value_agrees(const json_t *got, const json_t *want, Difference *d);

/* Short text of a part, the caller's. */
char *difference_text(const json_t *part);

#endif
