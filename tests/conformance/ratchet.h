/* The list of cases that passed once and may not fail again: passing.txt, one
 * name a line, sorted. */
#ifndef TESTS_CONFORMANCE_RATCHET_H
#define TESTS_CONFORMANCE_RATCHET_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Ratchet {
  char **names;
  size_t count;
} Ratchet;

/* An absent file is an empty list. */
void ratchet_load(Ratchet *r, const char *path);
void ratchet_free(Ratchet *r);

bool ratchet_holds(const Ratchet *r, const char *name);
/* Keeps the order; a name that is there already is not added again. */
void ratchet_add(Ratchet *r, const char *name);
bool ratchet_save(const Ratchet *r, const char *path);

#endif
