/* Processes that compute one thing together.
 *
 * What they send one another is a plug-in's (mpi/mpi.c); what they compute is
 * the same however many they are: the sum over shards below is a tree that only
 * the number of shards shapes.
 *
 *   shards   0   1   2   3   4   5        process 0 has 0, 1, 2; process 1 the
 *             \ /     \ /     \ /         others: it sends the node of 3 and
 *              .       .       .          that of 4 and 5
 *               \     /        |
 *                  .           |
 *                   \_________/
 *
 * Each node that a process can finish by itself goes out as soon as it is done,
 * while the process goes on with its next shard.  Of each, every process gets
 * one slice of the elements, adds that up the tree, and sends the sum to all:
 * so each sends and receives about twice what it has, as in an all-reduce.  A
 * slice is sent in pieces: each piece is added, and its sum sent on, while it
 * is still in the cache. */
#ifndef TEAM_TEAM_H
#define TEAM_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* --- A team, as a plug-in gives it ---------------------------------------- */

typedef struct Team {
  int rank, size; /* this process, of 0 to size - 1 */
  size_t piece;   /* the most bytes of a message, a multiple of TEAM_ALIGN */
  /* Begin to send to or receive from another process.  The bytes stay where
   * they are, and sent ones as they are, until wait() returns.  What meets is
   * of one `tag`, 0 or more, in the order of the calls.  The calls of both are
   * counted from 0 on, and from 0 again after wait(). */
  void (*send)(int to, int tag, const void *data, size_t bytes);
  void (*receive)(int from, int tag, void *data, size_t bytes);
  void (*progress)(void);       /* lets go on what was begun */
  void (*wait_for)(int number); /* until the call of this number is done */
  void (*wait)(void);           /* until all calls are done */
  /* Ends all processes of the team, also those that wait. */
  void (*abort)(int status);
  /* The last call, by each process. */
  void (*leave)(void);
} Team;

/* The only function of a plug-in, `rly_team`; NULL: it cannot start.  Where
 * something fails later, the plug-in ends the processes with a message. */
typedef const Team *TeamJoin(void);

/* --- What all know -------------------------------------------------------- */

/* The largest of what the processes say, which all are told. */
int64_t team_most(const Team *team, int64_t mine);

/* --- The sum over shards -------------------------------------------------- */

/* Numbers of one dtype, a float, at `offset` bytes from where they begin. */
typedef struct TeamPart {
  size_t offset, count;
  DType dtype;
} TeamPart;

typedef struct TeamSum TeamSum;

/* A sum of `bytes` bytes, of which the parts say what they are.  The parts are
 * borrowed, lie one after the other, and begin at multiples of TEAM_ALIGN.
 * NULL: memory is out. */
enum { TEAM_ALIGN = 64 };
TeamSum *team_sum_new(const Team *team, const TeamPart *parts, size_t count,
                      size_t bytes);
void team_sum_free(TeamSum *s);

/* Begins the sum of so many shards; those from *from to *to - 1 are this
 * process'.  False: memory is out. */
bool team_sum_begin(TeamSum *s, int64_t shards, int64_t *from, int64_t *to);
/* Where the next shard's numbers are to be written; NULL: memory is out. */
uint8_t *team_sum_room(TeamSum *s);
/* They are; its sums with those before it that the tree has go out. */
void team_sum_add(TeamSum *s);
/* The sum of all shards of all processes, as long as `s`, until the next
 * begins. */
const uint8_t *team_sum_end(TeamSum *s);

#endif
