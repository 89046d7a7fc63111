/* A team by way of MPI: the plug-in rly-mpi.so.
 *
 * MPI ends all processes with a message where something fails, which is what a
 * team asks for (MPI_ERRORS_ARE_FATAL, its default). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "team/team.h"

/* Bytes.  Of sizes from 64 KB to 2 MB, sums took the least time with this one
 * (`make bench-mpi`). */
enum { PIECE = 1 << 20 };

static MPI_Request *begun;
static int count, room;

/* Room for one more request; without it nothing can go on. */
static MPI_Request *one_more(void) {
  if (count == room) {
    int wider = room ? 2 * room : 64;
    MPI_Request *more = realloc(begun, (size_t)wider * sizeof *more);
    if (!more) {
      fputs("rly: out of memory\n", stderr);
      MPI_Abort(MPI_COMM_WORLD, 3);
      exit(3);
    }
    begun = more;
    room = wider;
  }
  return &begun[count++];
}

static void send(int to, int tag, const void *data, size_t bytes) {
  MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, one_more());
}

static void receive(int from, int tag, void *data, size_t bytes) {
  MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, one_more());
}

/* Requests that are done keep their places until wait_all(), so that numbers of
 * calls are indices. */
static void progress(void) {
  int done;
  MPI_Testall(count, begun, &done, MPI_STATUSES_IGNORE);
}

static void wait_for(int number) {
  MPI_Wait(&begun[number], MPI_STATUS_IGNORE);
}

static void wait_all(void) {
  MPI_Waitall(count, begun, MPI_STATUSES_IGNORE);
  count = 0;
}

static void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

static void leave(void) {
  free(begun);
  begun = NULL;
  count = room = 0;
  MPI_Finalize();
}

TeamJoin rly_team; /* its prototype */

const Team *rly_team(void) {
  static Team team = {.piece = PIECE,
                      .send = send,
                      .receive = receive,
                      .progress = progress,
                      .wait_for = wait_for,
                      .wait = wait_all,
                      .abort = abort_all,
                      .leave = leave};
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &team.size);
  return &team;
}
