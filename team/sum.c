/* The sum over shards, as a tree over processes (team.h).
 *
 * Node `at` of level l adds the shards from at * 2^l on, 2^l of them or as many
 * as there are.  Neighbours are added, and one without a neighbour is passed on
 * as it is: @tree_sum of the library does the same.
 *
 * A process' shards lie side by side, so that it finishes few nodes: at most
 * two of each level.  They are found by a stack, on which the newest node is
 * merged with the one below as long as that is its left neighbour; slices of
 * other processes' nodes are then added on such a stack, too. */
#include <stdlib.h>
#include <string.h>

#include "team/team.h"
#include "tensor/half.h"

/* Levels of a tree over as many shards as an int64_t counts. */
enum { LEVELS = 64, NODES = 2 * LEVELS };

typedef struct Node {
  int level;
  int64_t at;
  uint8_t *bytes; /* the sum's, or those of one slice */
} Node;

typedef struct Stack {
  Node nodes[NODES];
  int count;
} Stack;

struct TeamSum {
  const Team *team;
  const TeamPart *parts;
  size_t part_count, bytes;
  int64_t shards, from, to, next; /* of this sum; mine; the shard to come */
  Stack mine;
  int sent;        /* of `mine`, from the bottom */
  uint8_t **rooms; /* of `bytes` each */
  int room_count;
  /* This process' slice of each node of the others.  Piece i of the n-th of
   * these is received by call number n * pieces() + i (team.h). */
  uint8_t *slices;
  size_t slice_room;
  uint8_t *total;
};

/* --- Shapes -------------------------------------------------------------- */

static int64_t first_of(const TeamSum *s, int rank) {
  int size = s->team->size;
  /* rank * shards / size, where the product may be too large. */
  return s->shards / size * rank + s->shards % size * rank / size;
}

/* Slice `rank` of the elements: from a multiple of TEAM_ALIGN on. */
static size_t slice_begin(const TeamSum *s, int rank) {
  size_t lines = (s->bytes + TEAM_ALIGN - 1) / TEAM_ALIGN;
  size_t size = (size_t)s->team->size, r = (size_t)rank;
  size_t at = (lines / size * r + lines % size * r / size) * TEAM_ALIGN;
  return at < s->bytes ? at : s->bytes;
}

static size_t slice_size(const TeamSum *s, int rank) {
  return slice_begin(s, rank + 1) - slice_begin(s, rank);
}

/* How many pieces a slice travels in, and the bytes of one of them. */
static size_t pieces(const TeamSum *s, int rank) {
  return (slice_size(s, rank) + s->team->piece - 1) / s->team->piece;
}

static size_t piece_size(const TeamSum *s, int rank, size_t i) {
  size_t left = slice_size(s, rank) - i * s->team->piece;
  return left < s->team->piece ? left : s->team->piece;
}

/* Begins to send process `to` its slice. */
static void send_slice(const TeamSum *s, int to, int tag,
                       const uint8_t *slice) {
  for (size_t i = 0; i < pieces(s, to); i++)
    s->team->send(to, tag, slice + i * s->team->piece, piece_size(s, to, i));
}

/* Begins to receive the slice of process `rank`. */
static void receive_slice(const TeamSum *s, int rank, int from, int tag,
                          uint8_t *slice) {
  for (size_t i = 0; i < pieces(s, rank); i++)
    s->team->receive(from, tag, slice + i * s->team->piece,
                     piece_size(s, rank, i));
}

/* --- Adding -------------------------------------------------------------- */

#define ADD(T, SUM)                             \
  do {                                          \
    T *to = (T *)out;                           \
    const T *a = (const T *)x;                  \
    const T *b = (const T *)y;                  \
    for (size_t i = 0; i < n; i++) to[i] = SUM; \
  } while (0)

/* `out` may be `x`. */
static void add_numbers(DType dtype, uint8_t *out, const uint8_t *x,
                        const uint8_t *y, size_t n) {
  switch (dtype) {
    case DT_FLOAT64: ADD(double, a[i] + b[i]); break;
    case DT_FLOAT32: ADD(float, a[i] + b[i]); break;
    case DT_FLOAT16:
      ADD(uint16_t, f32_to_f16(f16_to_f32(a[i]) + f16_to_f32(b[i])));
      break;
    case DT_BFLOAT16:
      ADD(uint16_t, f32_to_bf16(bf16_to_f32(a[i]) + bf16_to_f32(b[i])));
      break;
    default: break; /* A part is of a float (team.h). */
  }
}

/* Adds bytes `begin` to `end` of the sum, which lie at `x` and `y`. */
static void add_bytes(const TeamSum *s, size_t begin, size_t end, uint8_t *out,
                      const uint8_t *x, const uint8_t *y) {
  for (size_t i = 0; i < s->part_count; i++) {
    const TeamPart *p = &s->parts[i];
    size_t size = dtype_size(p->dtype), low = p->offset,
           high = p->offset + p->count * size;
    if (low < begin) low = begin;
    if (high > end) high = end;
    size_t at = low - begin;
    if (low < high)
      add_numbers(p->dtype, out + at, x + at, y + at, (high - low) / size);
  }
}

/* Puts a node on a stack, of the sum's bytes from `begin` to `end`, and merges
 * what the tree merges: a sum is written to where its left part is, but one
 * that contains shard 0 to `first`, unless that is NULL. */
static void push(const TeamSum *s, Stack *stack, Node node, size_t begin,
                 size_t end, uint8_t *first) {
  for (;;) {
    const Node *below = stack->count ? &stack->nodes[stack->count - 1] : NULL;
    bool left = node.at % 2 == 0, root = s->shards <= 1LL << node.level;
    if (root) break;
    /* Its right neighbour would begin after the last shard. */
    if (left && node.at + 1 <= (s->shards - 1) >> node.level) break;
    if (!left) {
      if (!below || below->level != node.level || below->at != node.at - 1)
        break;
      uint8_t *out = first && !below->at ? first : below->bytes;
      add_bytes(s, begin, end, out, below->bytes, node.bytes);
      node.bytes = out;
      stack->count--;
    }
    node.level++;
    node.at /= 2;
  }
  stack->nodes[stack->count++] = node;
}

/* --- What the others send ------------------------------------------------- */

static uint8_t *bytes_new(size_t n) {
  size_t lines = n / TEAM_ALIGN + 1;
  return n <= SIZE_MAX - TEAM_ALIGN
             ? aligned_alloc(TEAM_ALIGN, lines * TEAM_ALIGN)
             : NULL;
}

/* The nodes that a process finishes, without their bytes. */
static void find_nodes(const TeamSum *s, int rank, Stack *out) {
  out->count = 0;
  int64_t at = first_of(s, rank), end = first_of(s, rank + 1);
  while (at < end) {
    Node n = {0, at, NULL};
    for (int l = 1; l < LEVELS - 1; l++) {
      int64_t width = 1LL << l;
      int64_t last = s->shards - at < width ? s->shards : at + width;
      if (at % width || last > end || width / 2 >= s->shards) break;
      n = (Node){l, at >> l, NULL};
    }
    out->nodes[out->count++] = n;
    at = (n.at + 1) << n.level;
    if (at > s->shards) at = s->shards;
  }
}

/* The first of all nodes, which the others are added to, comes to where the
 * total is; each further one of the others has a room. */
static uint8_t *room_of_slice(TeamSum *s, int64_t shard, size_t *used) {
  size_t begin = slice_begin(s, s->team->rank);
  if (!shard) return s->total + begin;
  uint8_t *room = s->slices + *used;
  size_t size = slice_size(s, s->team->rank);
  *used += (size + TEAM_ALIGN - 1) / TEAM_ALIGN * TEAM_ALIGN;
  return room;
}

/* Makes room for my slice of each node of the others. */
static bool make_rooms(TeamSum *s) {
  size_t size = slice_size(s, s->team->rank), count = 0;
  size_t apart = (size + TEAM_ALIGN - 1) / TEAM_ALIGN * TEAM_ALIGN;
  Stack nodes;
  for (int r = 0; r < s->team->size; r++)
    if (r != s->team->rank) {
      find_nodes(s, r, &nodes);
      count += (size_t)nodes.count;
    }
  if (!s->total) {
    s->total = bytes_new(s->bytes);
    /* The bytes between the parts are sent, but nothing sets them. */
    if (s->total) memset(s->total, 0, s->bytes);
  }
  if (count * apart > s->slice_room || !s->slices) {
    free(s->slices);
    s->slices = bytes_new(count * apart);
    s->slice_room = s->slices ? count * apart : 0;
  }
  return s->total && s->slices;
}

static bool receive_slices(TeamSum *s) {
  size_t used = 0;
  int me = s->team->rank;
  if (!make_rooms(s)) return false;
  for (int r = 0; r < s->team->size; r++) {
    Stack nodes;
    find_nodes(s, r, &nodes);
    for (int k = 0; r != me && k < nodes.count; k++) {
      int64_t shard = nodes.nodes[k].at << nodes.nodes[k].level;
      receive_slice(s, me, r, k, room_of_slice(s, shard, &used));
    }
  }
  return true;
}

/* --- Sums of this process ------------------------------------------------ */

TeamSum *team_sum_new(const Team *team, const TeamPart *parts, size_t count,
                      size_t bytes) {
  TeamSum *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  *s = (TeamSum){
      .team = team, .parts = parts, .part_count = count, .bytes = bytes};
  return s;
}

void team_sum_free(TeamSum *s) {
  if (!s) return;
  for (int i = 0; i < s->room_count; i++) free(s->rooms[i]);
  free(s->rooms);
  free(s->slices);
  free(s->total);
  free(s);
}

bool team_sum_begin(TeamSum *s, int64_t shards, int64_t *from, int64_t *to) {
  s->shards = shards;
  *from = s->next = s->from = first_of(s, s->team->rank);
  *to = s->to = first_of(s, s->team->rank + 1);
  s->mine.count = s->sent = 0;
  return receive_slices(s);
}

/* A room that no node on the stack has: after a merge, the upper one's. */
static uint8_t *free_room(TeamSum *s) {
  for (int i = 0; i < s->room_count; i++) {
    bool used = false;
    for (int k = 0; k < s->mine.count; k++)
      used |= s->mine.nodes[k].bytes == s->rooms[i];
    if (!used) return s->rooms[i];
  }
  size_t count = (size_t)s->room_count + 1;
  uint8_t **more = realloc(s->rooms, count * sizeof *more);
  if (!more) return NULL;
  s->rooms = more;
  uint8_t *room = bytes_new(s->bytes);
  if (room) s->rooms[s->room_count++] = room;
  return room;
}

uint8_t *team_sum_room(TeamSum *s) { return free_room(s); }

/* The shards of a node's parent are all this process'. */
static bool goes_on(const TeamSum *s, const Node *n) {
  int64_t first = n->at / 2 << (n->level + 1);
  int64_t last = (n->at / 2 + 1) << (n->level + 1);
  return first >= s->from && (last < s->shards ? last : s->shards) <= s->to;
}

/* Sends a finished node: to each process its slice. */
static void send_node(TeamSum *s, int k) {
  for (int r = 0; r < s->team->size; r++)
    if (r != s->team->rank)
      send_slice(s, r, k, s->mine.nodes[k].bytes + slice_begin(s, r));
}

void team_sum_add(TeamSum *s) {
  push(s, &s->mine, (Node){0, s->next++, free_room(s)}, 0, s->bytes, NULL);
  while (s->sent < s->mine.count && !goes_on(s, &s->mine.nodes[s->sent]))
    send_node(s, s->sent++);
  s->team->progress();
}

/* --- The sum of all ------------------------------------------------------ */

/* The total of a piece of my slice: all nodes in the order of their shards, as
 * soon as the piece of each is there. */
static void add_piece(TeamSum *s, size_t i) {
  const Team *team = s->team;
  size_t at = i * team->piece, size = piece_size(s, team->rank, i);
  size_t begin = slice_begin(s, team->rank) + at, used = 0;
  size_t number = i; /* of the call that receives this piece of the next node */
  uint8_t *total = s->total + begin;
  Stack all = {.count = 0}, nodes;
  for (int r = 0; r < team->size; r++) {
    find_nodes(s, r, &nodes);
    for (int k = 0; k < nodes.count; k++) {
      Node n = nodes.nodes[k];
      if (r == team->rank) {
        n.bytes = s->mine.nodes[k].bytes + begin;
      } else {
        n.bytes = room_of_slice(s, n.at << n.level, &used) + at;
        team->wait_for((int)number);
        number += pieces(s, team->rank);
      }
      push(s, &all, n, begin, begin + size, total);
    }
  }
  if (all.nodes[0].bytes != total) memcpy(total, all.nodes[0].bytes, size);
}

static void send_total(const TeamSum *s, size_t i) {
  int me = s->team->rank;
  const uint8_t *piece = s->total + slice_begin(s, me) + i * s->team->piece;
  for (int r = 0; r < s->team->size; r++)
    if (r != me) s->team->send(r, 0, piece, piece_size(s, me, i));
}

const uint8_t *team_sum_end(TeamSum *s) {
  const Team *team = s->team;
  while (s->sent < s->mine.count) send_node(s, s->sent++);
  for (int r = 0; r < team->size; r++)
    if (r != team->rank)
      receive_slice(s, r, r, 0, s->total + slice_begin(s, r));
  for (size_t i = 0; i < pieces(s, team->rank); i++) {
    add_piece(s, i);
    send_total(s, i);
  }
  team->wait();
  return s->total;
}

/* --- What all know ------------------------------------------------------- */

int64_t team_most(const Team *team, int64_t mine) {
  /* Process 0 finds it and tells the others. */
  int64_t most = mine;
  if (team->rank) {
    team->send(0, 0, &mine, sizeof mine);
    team->wait();
    team->receive(0, 0, &most, sizeof most);
    team->wait();
    return most;
  }
  for (int r = 1; r < team->size; r++) {
    int64_t said;
    team->receive(r, 0, &said, sizeof said);
    team->wait();
    if (said > most) most = said;
  }
  for (int r = 1; r < team->size; r++) team->send(r, 0, &most, sizeof most);
  team->wait();
  return most;
}
