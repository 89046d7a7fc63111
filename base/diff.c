/* A patience diff (Bram Cohen): the lines that stand once in each of two texts
 * are matched where they are in the same order in both, the longest such
 * sequence of them; between two of these, what both stretches begin and end
 * with is matched, and then the same is done within.  What has no line of its
 * own in common is replaced as a whole.  So a definition that stays is never
 * taken for a part of another, and the time is n log n.
 *
 * Lines are compared by number: equal lines have one number. */
#include "base/diff.h"

#include <string.h>

#include "base/name.h"

enum { AROUND = 3 };

typedef struct Line {
  const Name *text;
  size_t count[2]; /* how often it stands in the stretch of each text */
  size_t at[2];    /* where it does, the last time */
} Line;

typedef VEC(Line *) Lines;

typedef struct Stretch {
  size_t from[2], to[2];
} Stretch;

typedef struct Diff {
  Arena arena;
  NameTable names;
  PtrMap by_name; /* Name -> Line */
  Lines lines[2];
  VEC(bool) kept[2]; /* lines that stand in both texts, in order */
  VEC(Stretch) todo;
  VEC(Line *) tops; /* patience sorting: the top of each pile */
  PtrMap before;    /* Line -> the top of the pile to the left, back then */
} Diff;

static void split(Diff *d, int side, const char *text) {
  while (*text) {
    size_t len = strcspn(text, "\n");
    const Name *name = name_intern(&d->names, text, len);
    Line *line = ptrmap_get(&d->by_name, name);
    if (!line && (line = ARENA_NEW(&d->arena, Line))) {
      *line = (Line){.text = name};
      ptrmap_put(&d->by_name, name, line);
    }
    VEC_PUSH(&d->lines[side], line);
    VEC_PUSH(&d->kept[side], false);
    text += len + (text[len] == '\n');
  }
}

static void keep(Diff *d, size_t a, size_t b) {
  d->kept[0].data[a] = d->kept[1].data[b] = true;
}

static bool same(const Diff *d, size_t a, size_t b) {
  return d->lines[0].data[a] == d->lines[1].data[b];
}

/* What both begin and end with. */
static void trim(Diff *d, Stretch *s) {
  while (s->from[0] < s->to[0] && s->from[1] < s->to[1] &&
         same(d, s->from[0], s->from[1]))
    keep(d, s->from[0]++, s->from[1]++);
  while (s->from[0] < s->to[0] && s->from[1] < s->to[1] &&
         same(d, s->to[0] - 1, s->to[1] - 1))
    keep(d, --s->to[0], --s->to[1]);
}

static void count_lines(Diff *d, const Stretch *s) {
  for (int side = 0; side < 2; side++)
    for (size_t i = s->from[side]; i < s->to[side]; i++) {
      Line *line = d->lines[side].data[i];
      line->count[side]++;
      line->at[side] = i;
    }
}

static void forget_lines(Diff *d, const Stretch *s) {
  for (int side = 0; side < 2; side++)
    for (size_t i = s->from[side]; i < s->to[side]; i++)
      d->lines[side].data[i]->count[side] = 0;
}

/* The first pile whose top comes later in the second text. */
static size_t find_pile(const Diff *d, size_t at) {
  size_t lo = 0, hi = d->tops.len;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (d->tops.data[mid]->at[1] < at) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* The longest sequence of lines of their own, the last one; NULL: none. */
static Line *longest(Diff *d, const Stretch *s) {
  VEC_CLEAR(&d->tops);
  for (size_t i = s->from[0]; i < s->to[0]; i++) {
    Line *line = d->lines[0].data[i];
    if (line->count[0] != 1 || line->count[1] != 1) continue;
    size_t pile = find_pile(d, line->at[1]);
    ptrmap_put(&d->before, line, pile ? d->tops.data[pile - 1] : NULL);
    if (pile == d->tops.len) VEC_PUSH(&d->tops, line);
    else d->tops.data[pile] = line;
  }
  return d->tops.len ? VEC_LAST(&d->tops) : NULL;
}

/* From the last matched line to the first: what lies between two of them is
 * still to be looked at. */
static void match(Diff *d, Stretch s) {
  trim(d, &s);
  if (s.from[0] == s.to[0] || s.from[1] == s.to[1]) return;
  count_lines(d, &s);
  Line *line = longest(d, &s);
  Stretch left = s;
  for (bool any = line; any;) {
    Stretch right = left;
    if (line) {
      keep(d, line->at[0], line->at[1]);
      for (int side = 0; side < 2; side++) {
        right.from[side] = line->at[side] + 1;
        left.to[side] = line->at[side];
      }
    }
    VEC_PUSH(&d->todo, right);
    any = line;
    if (line) line = ptrmap_get(&d->before, line);
  }
  forget_lines(d, &s);
}

/* --- What is shown -------------------------------------------------------- */

static void put_line(StrBuf *out, bool colour, char sign, const Line *line) {
  const char *paint = sign == '-' ? "\033[31m" : sign == '+' ? "\033[32m" : "";
  bool painted = colour && *paint;
  strbuf_addf(out, "%s%c %s%s\n", painted ? paint : "", sign, line->text->text,
              painted ? "\033[0m" : "");
}

typedef struct Hunk {
  size_t from[2], to[2];
} Hunk;

static bool kept_at(const Diff *d, int side, size_t i) {
  return i < d->lines[side].len && d->kept[side].data[i];
}

/* Both sides stand at the same kept line, or at the end. */
static bool at_change(const Diff *d, size_t a, size_t b) {
  return (a < d->lines[0].len && !d->kept[0].data[a]) ||
         (b < d->lines[1].len && !d->kept[1].data[b]);
}

static void put_hunk(const Diff *d, StrBuf *out, bool colour, const Hunk *h) {
  strbuf_addf(out, "%s@@ -%zu,%zu +%zu,%zu @@%s\n", colour ? "\033[36m" : "",
              h->from[0] + 1, h->to[0] - h->from[0], h->from[1] + 1,
              h->to[1] - h->from[1], colour ? "\033[0m" : "");
  size_t a = h->from[0], b = h->from[1];
  while (a < h->to[0] || b < h->to[1]) {
    if (a < h->to[0] && !d->kept[0].data[a]) {
      put_line(out, colour, '-', d->lines[0].data[a++]);
    } else if (b < h->to[1] && !d->kept[1].data[b]) {
      put_line(out, colour, '+', d->lines[1].data[b++]);
    } else {
      put_line(out, colour, ' ', d->lines[0].data[a++]);
      b++;
    }
  }
}

/* A hunk goes on while fewer kept lines lie between two changes than stand
 * around them. */
static void put_hunks(const Diff *d, StrBuf *out, bool colour) {
  size_t a = 0, b = 0;
  while (a < d->lines[0].len || b < d->lines[1].len) {
    if (!at_change(d, a, b)) {
      a++, b++;
      continue;
    }
    size_t around = a < AROUND ? a : AROUND;
    if (b < around) around = b;
    Hunk h = {{a - around, b - around}, {a, b}};
    for (size_t since = 0; since <= 2 * AROUND;) {
      if (a >= d->lines[0].len && b >= d->lines[1].len) break;
      since = at_change(d, a, b) ? 0 : since + 1;
      bool both = since > 0;
      if (both || (a < d->lines[0].len && !kept_at(d, 0, a))) a++;
      else b++;
      if (both) b++;
      if (since <= AROUND) h.to[0] = a, h.to[1] = b;
    }
    put_hunk(d, out, colour, &h);
  }
}

/* Replaced lines beside each other, then those that are left over. */
static void give_rows(const Diff *d, DiffRow *row, void *data) {
  size_t at[2] = {0, 0};
  for (;;) {
    const char *text[2] = {NULL, NULL};
    for (int side = 0; side < 2; side++)
      if (at[side] < d->lines[side].len && !d->kept[side].data[at[side]])
        text[side] = d->lines[side].data[at[side]++]->text->text;
    if (!text[0] && !text[1]) {
      if (at[0] >= d->lines[0].len) break;
      text[0] = text[1] = d->lines[0].data[at[0]]->text->text;
      at[0]++, at[1]++;
    }
    row(data, text[0], text[1]);
  }
  row(data, NULL, NULL);
}

/* --- Two texts ------------------------------------------------------------ */

/* False when memory runs out. */
static bool compare(Diff *d, Mem *mem, const char *was, const char *is) {
  arena_init(&d->arena, mem);
  names_init(&d->names, mem);
  ptrmap_init(&d->by_name, mem);
  ptrmap_init(&d->before, mem);
  VEC_INIT(&d->todo, mem);
  VEC_INIT(&d->tops, mem);
  for (int side = 0; side < 2; side++) {
    VEC_INIT(&d->lines[side], mem);
    VEC_INIT(&d->kept[side], mem);
    split(d, side, side ? is : was);
  }
  Stretch all = {{0, 0}, {d->lines[0].len, d->lines[1].len}};
  if (!mem_exhausted(mem)) VEC_PUSH(&d->todo, all);
  while (d->todo.len > 0 && !mem_exhausted(mem)) match(d, VEC_POP(&d->todo));
  return !mem_exhausted(mem);
}

static void forget(Diff *d) {
  for (int side = 0; side < 2; side++) {
    VEC_DONE(&d->lines[side]);
    VEC_DONE(&d->kept[side]);
  }
  VEC_DONE(&d->tops);
  VEC_DONE(&d->todo);
  ptrmap_done(&d->before);
  ptrmap_done(&d->by_name);
  names_done(&d->names);
  arena_done(&d->arena);
}

void diff_print(StrBuf *out, const char *was, const char *is, bool colour) {
  Diff d;
  if (compare(&d, out->mem, was, is)) put_hunks(&d, out, colour);
  forget(&d);
}

void diff_rows(Mem *mem, const char *was, const char *is, DiffRow *row,
               void *data) {
  Diff d;
  if (compare(&d, mem, was, is)) give_rows(&d, row, data);
  forget(&d);
}
