/* See settings.h. */
#include "repl/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row for each setting: the numbers that it takes, and the words, which
 * stand for 0 and 1. */
static const struct Setting {
  const char *name;
  size_t at;
  int least, most; /* most 0: it takes no number */
  const char *words[2];
  const char *about;
} table[] = {
    {.name = "depth",
     .at = offsetof(Settings, depth),
     .least = 1,
     .most = 20,
     .about = "levels of a tree"},
    {.name = "rows",
     .at = offsetof(Settings, rows),
     .least = 4,
     .most = 100000,
     .about = "rows of a value"},
    {.name = "width",
     .at = offsetof(Settings, width),
     .least = 20,
     .most = 1000,
     .words = {"auto"},
     .about = "columns of a value; auto: the terminal's"},
    {.name = "precision",
     .at = offsetof(Settings, precision),
     .least = 1,
     .most = 17,
     .words = {"all"},
     .about = "significant digits of floats"},
    {.name = "pager",
     .at = offsetof(Settings, pager),
     .words = {"off", "on"},
     .about = "for what is longer than the screen"},
};
enum { COUNT = sizeof table / sizeof *table };

const Settings settings_initial = {.depth = 12, .rows = 64, .pager = 1};

static int *value_of(Settings *s, const struct Setting *row) {
  return (int *)((char *)s + row->at);
}

/* "width takes 20 to 1000, or auto", "pager takes off or on". */
static void say_takes(const struct Setting *row, char why[SETTINGS_WHY]) {
  char numbers[32] = "";
  const char *first = row->words[0], *second = row->words[1];
  if (row->most)
    snprintf(numbers, sizeof numbers, "%d to %d%s", row->least, row->most,
             first ? ", or " : "");
  snprintf(why, SETTINGS_WHY, "%s takes %s%s%s%s", row->name, numbers,
           first ? first : "", second ? " or " : "", second ? second : "");
}

/* "takes depth, rows, ...", all that can be set. */
static void say_names(char why[SETTINGS_WHY]) {
  size_t n = (size_t)snprintf(why, SETTINGS_WHY, "takes ");
  for (int i = 0; i < COUNT; i++)
    n += (size_t)snprintf(why + n, SETTINGS_WHY - n, "%s%s",
                          i == 0          ? ""
                          : i < COUNT - 1 ? ", "
                                          : " or ",
                          table[i].name);
  snprintf(why + n, SETTINGS_WHY - n, ", or a cell's path and a value");
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

bool settings_change(Settings *s, const char *words, char why[SETTINGS_WHY]) {
  size_t n = strcspn(words, " =");
  const char *value = words + n + strspn(words + n, " =");
  for (int i = 0; i < COUNT; i++) {
    const struct Setting *row = &table[i];
    if (strlen(row->name) != n || strncmp(row->name, words, n)) continue;
    say_takes(row, why);
    return read_value(row, value, value_of(s, row));
  }
  say_names(why);
  return false;
}

const char *settings_name(int i) { return i < COUNT ? table[i].name : NULL; }

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
