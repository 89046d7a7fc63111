/* A sorted array, searched by halving. */
#include "tests/conformance/ratchet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of the first name not before `name`. */
static size_t place_of(const Ratchet *r, const char *name) {
  size_t lo = 0, hi = r->count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (strcmp(r->names[mid], name) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

bool ratchet_holds(const Ratchet *r, const char *name) {
  size_t at = place_of(r, name);
  return at < r->count && !strcmp(r->names[at], name);
}

void ratchet_add(Ratchet *r, const char *name) {
  if (ratchet_holds(r, name)) return;
  size_t at = place_of(r, name);
  char **names = realloc(r->names, (r->count + 1) * sizeof *names);
  if (!names) return;
  memmove(names + at + 1, names + at, (r->count - at) * sizeof *names);
  names[at] = strdup(name);
  r->names = names;
  r->count++;
}

void ratchet_load(Ratchet *r, const char *path) {
  *r = (Ratchet){0};
  FILE *f = fopen(path, "re");
  char name[256];
  while (f && fscanf(f, "%255s", name) == 1) ratchet_add(r, name);
  if (f) fclose(f);
}

bool ratchet_save(const Ratchet *r, const char *path) {
  FILE *f = fopen(path, "we");
  if (!f) return false;
  for (size_t i = 0; i < r->count; i++) fprintf(f, "%s\n", r->names[i]);
  return fclose(f) == 0;
}

void ratchet_free(Ratchet *r) {
  for (size_t i = 0; i < r->count; i++) free(r->names[i]);
  free(r->names);
}
