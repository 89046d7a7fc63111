/* The search for values that no arm takes, and for arms that take nothing.
 *
 * It walks the decision tree of a match, depth first.  A node is a matrix: the
 * arms that may still take the value, in order, each as the list of tests that
 * its pattern leaves to be made.  Wildcards, variables and tuples are no
 * tests, so wide tuples cost nothing where an arm does not look.  A step picks
 * a place and branches on the constructors that rows ask for there; those that
 * none asks for share one branch.  Where the first row has no test left it
 * takes every value, and is useful; where no row is left, nothing takes them.
 *
 * Matrices, tests and places are stacks cut back when a branch is done, so
 * memory is that of one path; the path is a stack, too, so length costs no C
 * stack.  Trees may be exponential: the search gives up beyond WORK_MAX.
 *
 * exhaust.c reports what is found. */
#include <stdlib.h>

#include "types/exhaust.h"

enum {
  WORK_MAX = 1 << 24, /* rows and tests looked at */
  LOOK_MAX = 64,      /* a row's tests that a choice of place looks at */
};

#define NONE UINT32_MAX

/* Where a part of the value lies. */
typedef struct Part {
  const Ctor *ctor; /* what the current branch takes it to be, or NULL */
  bool tuple;
  int count;       /* of its fields */
  uint32_t fields; /* the place of the first; NONE: nothing is known there */
  uint32_t asked;  /* rows that test it; see choose_place */
} Part;

/* "Is what lies at the place made by the pattern's constructor?" */
typedef struct Test {
  uint32_t place;
  uint32_t next; /* of the same row, or NONE */
  const Pattern *pattern;
} Test;

/* A row whose arm has a guard is useful where it may take a value, but ends
 * no matrix: the guard may refuse. */
typedef struct Row {
  uint32_t arm;
  uint32_t tests;
} Row;

/* How long the stacks are. */
typedef struct Marks {
  size_t rows, tests, places, keys;
} Marks;

/* A node of the tree that is being branched on. */
typedef struct Node {
  uint32_t place;
  const Adt *adt;
  Marks marks; /* to cut back to before each branch */
  size_t rows; /* where its matrix begins; it ends at marks.rows */
  /* A key for each row, see key_of: first those without a test of the place,
   * then those of each constructor. */
  size_t keys, asking, next;
  int seen;  /* constructors that rows ask for */
  bool rest; /* the branch of the others has begun */
} Node;

typedef struct Search {
  const Match *match;
  Coverage *found;
  Arena *arena;
  VEC(Part) places;
  VEC(Test) tests;
  VEC(Row) rows;
  VEC(uint64_t) keys;
  VEC(Node) path;
  StrBuf text;
  size_t work;
  bool stopped; /* memory ran out, or the patterns make no sense */
} Search;

/* --- Places and tests --------------------------------------------------- */

static uint32_t new_places(Search *s, int count) {
  if (!VEC_RESERVE(&s->places, count)) {
    s->stopped = true;
    return 0;
  }
  uint32_t first = (uint32_t)s->places.len;
  for (int i = 0; i < count; i++) VEC_PUSH(&s->places, (Part){.count = 0});
  return first;
}

/* The tests of a row under construction. */
typedef struct TestList {
  uint32_t first, last;
} TestList;

static void add_test(Search *s, TestList *list, uint32_t place,
                     const Pattern *pattern) {
  if (!VEC_RESERVE(&s->tests, 1)) {
    s->stopped = true;
    return;
  }
  uint32_t added = (uint32_t)s->tests.len;
  VEC_PUSH(&s->tests, (Test){place, NONE, pattern});
  if (list->last == NONE) list->first = added;
  else s->tests.data[list->last].next = added;
  list->last = added;
}

/* Makes the place a tuple's, unless an earlier row did. */
static bool open_tuple(Search *s, uint32_t place, int count) {
  if (!s->places.data[place].tuple) {
    uint32_t fields = new_places(s, count);
    Part *p = &s->places.data[place];
    p->tuple = true;
    p->count = count;
    p->fields = fields;
  }
  if (s->places.data[place].count != count) s->stopped = true;
  return !s->stopped;
}

/* Adds the tests of a pattern; patterns nest no deeper than the parser lets
 * them. */
static void add_pattern(Search *s, TestList *list, uint32_t place,
                        const Pattern *p) {
  if (s->stopped) return;
  if (p->kind == PT_CTOR || p->kind == PT_LITERAL) add_test(s, list, place, p);
  if (p->kind != PT_TUPLE || !open_tuple(s, place, p->count)) return;
  uint32_t fields = s->places.data[place].fields;
  for (int i = 0; i < p->count; i++)
    add_pattern(s, list, fields + (uint32_t)i, p->fields[i]);
}

/* The row's test of a place, or NONE. */
static uint32_t find_test(Search *s, const Row *row, uint32_t place) {
  uint32_t t = row->tests;
  while (t != NONE && s->tests.data[t].place != place) {
    t = s->tests.data[t].next;
    s->work++;
  }
  return t;
}

/* The row where the place is what the row asks for: that test is replaced by
 * those of the constructor's fields. */
static Row row_past(Search *s, Row row, uint32_t place) {
  TestList list = {NONE, NONE};
  uint32_t t = row.tests;
  for (; s->tests.data[t].place != place; t = s->tests.data[t].next) {
    Test kept = s->tests.data[t];
    add_test(s, &list, kept.place, kept.pattern);
  }
  Test met = s->tests.data[t];
  uint32_t fields = s->places.data[place].fields;
  for (int i = 0; i < met.pattern->count; i++)
    add_pattern(s, &list, fields + (uint32_t)i, met.pattern->fields[i]);
  if (list.last == NONE) return (Row){row.arm, met.next};
  s->tests.data[list.last].next = met.next;
  return (Row){row.arm, list.first};
}

/* --- Values that no arm takes ------------------------------------------- */

static void print_place(Search *s, const Part *p);

static void print_field(Search *s, const Part *p, int i) {
  if (p->fields == NONE) strbuf_add_char(&s->text, '_');
  else print_place(s, &s->places.data[p->fields + (uint32_t)i]);
}

/* Recurses as deep as the patterns are. */
static void print_place(Search *s, const Part *p) {
  if (!p->ctor && !p->tuple) {
    strbuf_add_char(&s->text, '_');
    return;
  }
  if (p->ctor) strbuf_add(&s->text, p->ctor->name->text);
  if (p->ctor && p->count == 0) return;
  strbuf_add_char(&s->text, '(');
  for (int i = 0; i < p->count; i++) {
    if (i) strbuf_add(&s->text, ", ");
    if (s->text.len > MISSING_TEXT_MAX) {
      strbuf_add(&s->text, "...");
      break;
    }
    print_field(s, p, i);
  }
  strbuf_add(&s->text, p->tuple && p->count == 1 ? ",)" : ")");
}

static int tag_of(uint64_t key) { return (int)(key >> 32) - 1; }

/* The first constructor from `tag` on that no row asks for; NULL: none. */
static const Ctor *unasked_from(Search *s, const Node *n, int tag) {
  for (size_t i = n->asking; i < n->marks.keys; i++)
    tag += tag_of(s->keys.data[i]) == tag;
  if (n->adt->open && tag > 0) return NULL; /* one stands for all numbers */
  return tag < n->adt->ctor_count ? &n->adt->ctors[tag] : NULL;
}

/* Takes what the node tests to be made by a constructor; NULL: by any. */
static void assume(Search *s, const Node *n, const Ctor *ctor,
                   uint32_t fields) {
  Part *p = &s->places.data[n->place];
  p->ctor = ctor;
  p->count = ctor ? ctor->field_count : 0;
  p->fields = fields;
}

/* Does the row's arm take every value that is left? */
static bool takes_all(const Search *s, Row row) {
  return row.tests == NONE && !s->match->arms[row.arm].guard;
}

/* The next choice of constructors for the places that are left open, counted
 * like an odometer.  False: the last choice has been made. */
static bool next_unasked(Search *s) {
  for (size_t i = s->path.len; i-- > 0;) {
    const Node *n = &s->path.data[i];
    if (!n->rest) continue;
    const Ctor *at = s->places.data[n->place].ctor;
    const Ctor *next = unasked_from(s, n, at->tag + 1);
    assume(s, n, next ? next : unasked_from(s, n, 0), NONE);
    if (next) return true;
  }
  return false;
}

/* No arm takes the values of this branch. */
static void add_missing(Search *s) {
  Coverage *c = s->found;
  if (s->match->partial || c->more) return;
  do {
    if (c->missing_count == MISSING_MAX) {
      c->more = true;
      return;
    }
    VEC_CLEAR(&s->text);
    print_place(s, &s->places.data[0]);
    c->missing[c->missing_count++] =
        arena_strndup(s->arena, strbuf_text(&s->text), s->text.len);
  } while (next_unasked(s));
}

/* --- The tree ----------------------------------------------------------- */

static Marks marks_of(const Search *s) {
  return (Marks){s->rows.len, s->tests.len, s->places.len, s->keys.len};
}

static void cut_back(Search *s, const Marks *m) {
  s->rows.len = m->rows;
  s->tests.len = m->tests;
  s->places.len = m->places;
  s->keys.len = m->keys;
}

/* Counts, at each place, the rows that test it among their first tests. */
static void count_askers(Search *s, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    uint32_t t = s->rows.data[i].tests;
    for (int n = 0; t != NONE && n < LOOK_MAX; n++, s->work++) {
      s->places.data[s->tests.data[t].place].asked++;
      t = s->tests.data[t].next;
    }
  }
}

/* The place that most rows test, of those that the first row does: then each
 * step decides something of the first row, and few rows go to several
 * branches. */
static uint32_t choose_place(Search *s, size_t from, size_t to) {
  uint32_t first = s->rows.data[from].tests, t = first;
  for (int n = 0; t != NONE && n < LOOK_MAX; n++) {
    s->places.data[s->tests.data[t].place].asked = 0;
    t = s->tests.data[t].next;
  }
  uint32_t end = t;
  count_askers(s, from, to);
  uint32_t best = s->tests.data[first].place;
  for (t = first; t != end; t = s->tests.data[t].next) {
    uint32_t place = s->tests.data[t].place;
    if (s->places.data[place].asked > s->places.data[best].asked) best = place;
  }
  return best;
}

/* Keys sort rows by the constructor that they ask for (none comes first), then
 * in their order. */
static uint64_t key_of(Search *s, const Node *n, size_t row) {
  s->work++;
  uint64_t key = row - n->rows;
  uint32_t t = find_test(s, &s->rows.data[row], n->place);
  if (t == NONE) return key;
  const Ctor *ctor = s->tests.data[t].pattern->ctor;
  if (ctor->adt != n->adt) s->stopped = true;
  return key | (uint64_t)(ctor->tag + 1) << 32;
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Sorts the rows of a new node into branches. */
static void push_node(Search *s, size_t from, size_t to) {
  uint32_t place = choose_place(s, from, to);
  uint32_t t = find_test(s, &s->rows.data[from], place);
  Node n = {.place = place,
            .adt = s->tests.data[t].pattern->ctor->adt,
            .rows = from,
            .keys = s->keys.len};
  for (size_t i = from; i < to; i++) VEC_PUSH(&s->keys, key_of(s, &n, i));
  size_t count = s->keys.len - n.keys;
  if (count)
    qsort(s->keys.data + n.keys, count, sizeof *s->keys.data, compare_keys);
  n.marks = marks_of(s);
  n.asking = n.keys;
  while (n.asking < s->keys.len && tag_of(s->keys.data[n.asking]) < 0)
    n.asking++;
  n.next = n.asking;
  VEC_PUSH(&s->path, n);
}

/* Is the matrix decided?  A row without tests takes every value that is left,
 * and ends its matrix. */
static bool is_settled(const Search *s, size_t from, size_t to) {
  bool covered = takes_all(s, s->rows.data[to - 1]);
  if (!covered && !s->match->partial && !s->found->more) return false;
  for (size_t i = from; i < to; i++)
    if (!s->found->useful[s->rows.data[i].arm]) return false;
  return true;
}

/* Goes on with the matrix on top of the rows. */
static void enter(Search *s, size_t from) {
  size_t to = s->rows.len;
  if (s->stopped) return;
  while (from < to && s->rows.data[from].tests == NONE) {
    s->found->useful[s->rows.data[from].arm] = true;
    if (takes_all(s, s->rows.data[from])) return;
    from++; /* its guard may refuse */
  }
  if (from == to) add_missing(s);
  else if (!is_settled(s, from, to)) push_node(s, from, to);
}

/* Adds a row to a branch's matrix; false when it takes all that is left. */
static bool push_row(Search *s, Row row) {
  s->work++;
  VEC_PUSH(&s->rows, row);
  return !takes_all(s, row);
}

/* The branch of one constructor: the rows of keys [from, to) that ask for it,
 * merged with those that do not ask. */
static void branch_asked(Search *s, const Node *n, size_t from, size_t to) {
  size_t other = n->keys;
  for (bool more = true; more && !s->stopped;) {
    bool asks = from < to, waits = other < n->asking;
    if (!asks && !waits) break;
    uint32_t row = asks ? (uint32_t)s->keys.data[from] : NONE;
    if (waits && (uint32_t)s->keys.data[other] < row) {
      row = (uint32_t)s->keys.data[other++];
      more = push_row(s, s->rows.data[n->rows + row]);
    } else {
      from++;
      more = push_row(s, row_past(s, s->rows.data[n->rows + row], n->place));
    }
  }
}

/* The branch of the constructors that no row asks for. */
static void branch_rest(Search *s, const Node *n) {
  bool more = true;
  for (size_t i = n->keys; more && i < n->asking; i++) {
    uint32_t row = (uint32_t)s->keys.data[i];
    more = push_row(s, s->rows.data[n->rows + row]);
  }
}

/* Begins the branch of the next constructor that rows ask for. */
static void begin_asked(Search *s, Node *n) {
  size_t from = n->next;
  int tag = tag_of(s->keys.data[from]);
  while (n->next < n->marks.keys && tag_of(s->keys.data[n->next]) == tag)
    n->next++;
  n->seen++;
  const Ctor *ctor = &n->adt->ctors[tag];
  assume(s, n, ctor, new_places(s, ctor->field_count));
  branch_asked(s, n, from, n->next);
}

/* Begins the next branch of the innermost node; false: there is none. */
static bool next_branch(Search *s) {
  Node *n = &VEC_LAST(&s->path);
  cut_back(s, &n->marks);
  assume(s, n, NULL, NONE);
  if (n->next < n->marks.keys) {
    begin_asked(s, n);
  } else if (!n->rest && n->seen < n->adt->ctor_count) {
    n->rest = true;
    assume(s, n, unasked_from(s, n, 0), NONE);
    branch_rest(s, n);
  } else {
    return false;
  }
  return true;
}

static void walk_tree(Search *s, const Mem *mem) {
  enter(s, 0);
  while (s->path.len > 0 && !s->stopped) {
    if (next_branch(s)) enter(s, VEC_LAST(&s->path).marks.rows);
    else s->path.len--;
    s->stopped |= mem_exhausted(mem);
    s->found->too_complex = s->work > WORK_MAX;
    if (s->found->too_complex) return;
  }
}

/* --- Beginning and end -------------------------------------------------- */

/* A row for each arm, up to one that takes everything. */
static void first_matrix(Search *s) {
  new_places(s, 1);
  bool more = true;
  for (int i = 0; i < s->match->arm_count; i++)
    s->found->guarded |= s->match->arms[i].guard != NULL;
  for (int i = 0; i < s->match->arm_count && more && !s->stopped; i++) {
    TestList list = {NONE, NONE};
    add_pattern(s, &list, 0, s->match->arms[i].pattern);
    more = push_row(s, (Row){(uint32_t)i, list.first});
  }
}

static void search_init(Search *s, Mem *mem) {
  VEC_INIT(&s->places, mem);
  VEC_INIT(&s->tests, mem);
  VEC_INIT(&s->rows, mem);
  VEC_INIT(&s->keys, mem);
  VEC_INIT(&s->path, mem);
  strbuf_init(&s->text, mem);
}

static void search_done(Search *s) {
  VEC_DONE(&s->places);
  VEC_DONE(&s->tests);
  VEC_DONE(&s->rows);
  VEC_DONE(&s->keys);
  VEC_DONE(&s->path);
  strbuf_done(&s->text);
}

Coverage match_coverage(Mem *mem, Arena *arena, const Match *m) {
  Coverage found = {.useful = ARENA_ARRAY(arena, bool, (size_t)m->arm_count)};
  if (m->arm_count && !found.useful) return found;
  Search s = {.match = m, .found = &found, .arena = arena};
  search_init(&s, mem);
  first_matrix(&s);
  if (!s.stopped) walk_tree(&s, mem);
  found.known = !s.stopped && !mem_exhausted(mem);
  search_done(&s);
  return found;
}
