/* What the fixed order of the sum costs, beside MPI's own sum of the same bytes
 * in whatever order it likes (`make bench-mpi`).
 *
 * Each process has one shard, as MPI_Allreduce has one part of each.  The two
 * take turns; the least time of each counts, in which a round takes as long as
 * its slowest process. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "team/team.h"

TeamJoin rly_team;

enum { ROUNDS = 100 };

static double slowest(double seconds) {
  double most;
  MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static double of_tree(TeamSum *s, const Team *team, const float *x, size_t n) {
  int64_t from, to;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  team_sum_begin(s, team->size, &from, &to);
  memcpy(team_sum_room(s), x, n * sizeof *x);
  team_sum_add(s);
  team_sum_end(s);
  return slowest(MPI_Wtime() - start);
}

/* With the copy that leaves the parts as they are, as above. */
static double of_mpi(const float *x, float *y, size_t n) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  MPI_Allreduce(x, y, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return slowest(MPI_Wtime() - start);
}

static void measure(const Team *team, size_t n) {
  float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
  TeamPart part = {0, n, DT_FLOAT32};
  TeamSum *s = team_sum_new(team, &part, 1, n * sizeof *x);
  if (!x || !y || !s) team->abort(3);
  for (size_t i = 0; i < n; i++) x[i] = (float)(i % 997);
  double tree = 1e9, mpi = 1e9;
  for (int k = 0; k < ROUNDS; k++) {
    double a = of_tree(s, team, x, n), b = of_mpi(x, y, n);
    if (a < tree) tree = a;
    if (b < mpi) mpi = b;
  }
  if (!team->rank)
    printf("%9zu KiB  fixed %8.3f ms  allreduce %8.3f ms  ratio %.2f\n",
           n * sizeof *x / 1024, tree * 1e3, mpi * 1e3, tree / mpi);
  team_sum_free(s);
  free(x);
  free(y);
}

int main(void) {
  const Team *team = rly_team();
  for (size_t n = 1 << 14; team && n <= 1 << 23; n *= 8) measure(team, n);
  if (team) team->leave();
  return team ? 0 : 1;
}
