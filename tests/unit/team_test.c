/* The sum over shards, in a team of threads: for any number of shards and of
 * processes it has the bits of the tree that adds neighbours, level by level.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

#include "team/team.h"
#include "tensor/half.h"

/* --- A team of threads ---------------------------------------------------- */

typedef struct Message {
  int from, to, tag;
  size_t bytes;
  void *copy;   /* of one that is sent */
  void *target; /* of one that is expected, */
  int number;   /* and of the call */
  struct Message *next;
} Message;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Message *sent;            /* in their order */
static __thread Message *wanted; /* by this thread, in their order */
static __thread int calls_made;
static __thread const Team *me;

static void append(Message **list, Message m) {
  Message *copy = malloc(sizeof *copy);
  *copy = m;
  copy->next = NULL;
  while (*list) list = &(*list)->next;
  *list = copy;
}

static void send_to(int to, int tag, const void *data, size_t bytes) {
  void *copy = malloc(bytes + 1);
  memcpy(copy, data, bytes);
  pthread_mutex_lock(&lock);
  append(&sent, (Message){me->rank, to, tag, bytes, copy, NULL, 0, NULL});
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  calls_made++;
}

static void receive(int from, int tag, void *data, size_t bytes) {
  append(&wanted,
         (Message){from, me->rank, tag, bytes, NULL, data, calls_made++, NULL});
}

/* Takes the message that `w` expects, if it has been sent. */
static bool take(const Message *w) {
  for (Message **at = &sent; *at; at = &(*at)->next) {
    Message *m = *at;
    if (m->from != w->from || m->to != w->to || m->tag != w->tag) continue;
    if (m->bytes != w->bytes) abort();
    memcpy(w->target, m->copy, m->bytes);
    *at = m->next;
    free(m->copy);
    free(m);
    return true;
  }
  return false;
}

static void wait_for(int number) {
  Message **at = &wanted;
  while (*at && (*at)->number != number) at = &(*at)->next;
  Message *w = *at;
  if (!w) return; /* it has been waited for */
  pthread_mutex_lock(&lock);
  while (!take(w)) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  *at = w->next;
  free(w);
}

static void wait_all(void) {
  while (wanted) wait_for(wanted->number);
  calls_made = 0;
}

static void nothing(void) {}
static void stop(int status) { exit(status); }

/* A piece is a fifth of all bytes. */
static const Team calls = {.piece = TEAM_ALIGN,
                           .send = send_to,
                           .receive = receive,
                           .progress = nothing,
                           .wait_for = wait_for,
                           .wait = wait_all,
                           .abort = stop,
                           .leave = nothing};

/* --- The sum ------------------------------------------------------------- */

/* Parts of several dtypes, so that slices begin within them. */
enum { SINGLES = 37, HALVES = 21, BRAINS = 5, BYTES = 64 * 5 };
static const TeamPart parts[] = {{0, SINGLES, DT_FLOAT32},
                                 {192, 1, DT_FLOAT64},
                                 {192 + 64, HALVES, DT_FLOAT16},
                                 {192 + 64 + 48, BRAINS, DT_BFLOAT16}};
enum { PARTS = sizeof parts / sizeof *parts };

/* Numbers whose sum depends on the order. */
static double number(int64_t shard, size_t i) {
  return ((double)(shard * 7919 + (int64_t)i * 104729 % 9973) - 5000) / 3.0;
}

static void fill(uint8_t *to, int64_t shard) {
  float *singles = (float *)to;
  for (size_t i = 0; i < SINGLES; i++) singles[i] = (float)number(shard, i);
  *(double *)(to + parts[1].offset) = number(shard, 99);
  uint16_t *halves = (uint16_t *)(to + parts[2].offset);
  for (size_t i = 0; i < HALVES; i++)
    halves[i] = f32_to_f16((float)number(shard, i) / 64);
  uint16_t *brains = (uint16_t *)(to + parts[3].offset);
  for (size_t i = 0; i < BRAINS; i++)
    brains[i] = f32_to_bf16((float)number(shard, i));
}

static void add(uint8_t *a, const uint8_t *b) {
  for (size_t i = 0; i < SINGLES; i++) ((float *)a)[i] += ((const float *)b)[i];
  *(double *)(a + parts[1].offset) += *(const double *)(b + parts[1].offset);
  uint16_t *x = (uint16_t *)(a + parts[2].offset);
  const uint16_t *y = (const uint16_t *)(b + parts[2].offset);
  for (size_t i = 0; i < HALVES; i++)
    x[i] = f32_to_f16(f16_to_f32(x[i]) + f16_to_f32(y[i]));
  x = (uint16_t *)(a + parts[3].offset);
  y = (const uint16_t *)(b + parts[3].offset);
  for (size_t i = 0; i < BRAINS; i++)
    x[i] = f32_to_bf16(bf16_to_f32(x[i]) + bf16_to_f32(y[i]));
}

/* As the library's @tree_sum says it. */
static void expect(int64_t shards, uint8_t *out) {
  uint8_t *all = calloc((size_t)shards, BYTES);
  assert_non_null(all);
  for (int64_t k = 0; k < shards; k++) fill(all + k * BYTES, k);
  for (int64_t n = shards; n > 1; n = (n + 1) / 2)
    for (int64_t k = 0; k < n; k += 2) {
      memmove(all + k / 2 * BYTES, all + k * BYTES, BYTES);
      if (k + 1 < n) add(all + k / 2 * BYTES, all + (k + 1) * BYTES);
    }
  memcpy(out, all, BYTES);
  free(all);
}

typedef struct Member {
  Team team;
  int64_t shards[2], had[2];
  uint8_t sums[2][BYTES];
  int64_t most;
} Member;

/* Two sums, one after the other: the rooms of the first serve the second. */
static void *run(void *data) {
  Member *m = data;
  me = &m->team;
  TeamSum *s = team_sum_new(me, parts, PARTS, BYTES);
  for (int i = 0; i < 2; i++) {
    int64_t from, to;
    if (!s || !team_sum_begin(s, m->shards[i], &from, &to)) abort();
    m->had[i] = to - from;
    for (int64_t k = from; k < to; k++) {
      uint8_t *room = team_sum_room(s);
      memset(room, 0, BYTES);
      fill(room, k);
      team_sum_add(s);
    }
    memcpy(m->sums[i], team_sum_end(s), BYTES);
    m->most = team_most(me, m->team.rank * 10);
  }
  team_sum_free(s);
  return NULL;
}

static void check_team(int size, int64_t shards) {
  Member *members = calloc((size_t)size, sizeof *members);
  pthread_t *threads = calloc((size_t)size, sizeof *threads);
  uint8_t right[2][BYTES];
  for (int i = 0; i < 2; i++) expect(shards + i, right[i]);
  for (int r = 0; r < size; r++) {
    members[r].team = calls;
    members[r].team.rank = r;
    members[r].team.size = size;
    members[r].shards[0] = shards;
    members[r].shards[1] = shards + 1;
    pthread_create(&threads[r], NULL, run, &members[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(threads[r], NULL);
  for (int i = 0; i < 2; i++) {
    int64_t had = 0;
    for (int r = 0; r < size; r++) {
      assert_memory_equal(members[r].sums[i], right[i], BYTES);
      assert_int_equal(members[r].most, (size - 1) * 10);
      had += members[r].had[i];
    }
    assert_int_equal(had, shards + i);
  }
  free(members);
  free(threads);
}

static void test_every_team(void **state) {
  (void)state;
  for (int size = 1; size <= 9; size++)
    for (int64_t shards = 1; shards <= 21; shards++) check_team(size, shards);
  check_team(3, 100);
}

/* The order matters, or the test above could not fail. */
static void test_the_order_matters(void **state) {
  (void)state;
  uint8_t tree[BYTES], line[BYTES] = {0}, next[BYTES] = {0};
  expect(9, tree);
  fill(line, 0);
  for (int k = 1; k < 9; k++) {
    fill(next, k);
    add(line, next);
  }
  assert_memory_not_equal(tree, line, BYTES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_team),
      cmocka_unit_test(test_the_order_matters),
  };
  return RUN_TESTS(tests);
}
