/* See settings.h. */
#include "repl/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row for each setting; `words` are its values by name, from 0 on. */
static const struct Setting {
  const char *name;
  size_t at;
  int least, most;
  const char *words[2];
  const char *takes, *about;
} table[] = {
    {"depth",
     offsetof(Settings, depth),
     1,
     20,
     {NULL, NULL},
     "depth takes 1 to 20",
     "levels of a tree"},
    {"rows",
     offsetof(Settings, rows),
     4,
     100000,
     {NULL, NULL},
     "rows takes 4 to 100000",
     "rows of a value"},
    {"width",
     offsetof(Settings, width),
     20,
     1000,
     {"auto", NULL},
     "width takes 20 to 1000, or auto: the terminal's",
     "columns of a value"},
    {"precision",
     offsetof(Settings, precision),
     1,
     17,
     {"all", NULL},
     "precision takes 1 to 17, or all",
     "significant digits of floats"},
    {"pager",
     offsetof(Settings, pager),
     0,
     -1,
     {"off", "on"},
     "pager takes on or off",
     "for what is longer than the screen"},
};
enum { COUNT = sizeof table / sizeof *table };

const Settings settings_initial = {.depth = 12, .rows = 64, .pager = 1};

static int *value_of(Settings *s, const struct Setting *row) {
  return (int *)((char *)s + row->at);
}

/* Reads a value; false: it is none. */
static bool read_value(const struct Setting *row, const char *text, int *out) {
  for (int i = 0; i < 2; i++)
    if (row->words[i] && !strcmp(row->words[i], text)) return *out = i, true;
  char *end;
  long n = strtol(text, &end, 10);
  if (end == text || *end || n < row->least || n > row->most) return false;
  *out = (int)n;
  return true;
}

bool settings_change(Settings *s, const char *words, const char **why) {
  size_t n = strcspn(words, " =");
  const char *value = words + n + strspn(words + n, " =");
  *why =
      "takes depth, rows, width, precision or pager, or a cell's path and a "
      "value";
  for (int i = 0; i < COUNT; i++) {
    const struct Setting *row = &table[i];
    if (strlen(row->name) != n || strncmp(row->name, words, n)) continue;
    *why = row->takes;
    return read_value(row, value, value_of(s, row));
  }
  return false;
}

bool settings_line(const Settings *s, int i, char line[80]) {
  if (i >= COUNT) return false;
  const struct Setting *row = &table[i];
  int value = *value_of((Settings *)s, row);
  const char *word = value < 2 ? row->words[value] : NULL;
  char number[16];
  snprintf(number, sizeof number, "%d", value);
  snprintf(line, 80, "%-10s %-7s %s", row->name, word ? word : number,
           row->about);
  return true;
}
