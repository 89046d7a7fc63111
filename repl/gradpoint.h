/* Points at which derivatives are checked: arguments for a function, drawn by
 * chance, as text with a place for each float that may move. */
#ifndef REPL_GRADPOINT_H
#define REPL_GRADPOINT_H

#include "lib/inside.h"

/* A float of an argument: `%w.layers[1, 2]`. */
typedef struct PointSlot {
  const char *path;
  double value;
} PointSlot;

typedef enum PieceKind {
  PIECE_TEXT,
  PIECE_SLOT,
  PIECE_CELL,     /* a cell begins, */
  PIECE_CELL_END, /* and ends: its tangent is () */
} PieceKind;

typedef struct Piece {
  PieceKind kind;
  const char *text;
  size_t slot;
} Piece;

typedef struct Point {
  Program *p;
  Arena arena;
  uint64_t seed, chance; /* of the draws, and their state */
  double low, high;
  const char *path;    /* of what is drawn */
  const char *refused; /* why there is none; or NULL */
  VEC(Piece) pieces;
  VEC(PointSlot) slots;
} Point;

/* Draws the arguments of a function of this type, whose parameters have these
 * names, each float from [low, high).  False, with `refused`, where there is no
 * drawing them. */
bool point_draw(Point *pt, Program *p, const Type *fn, const Fn *names,
                uint64_t seed, double low, double high);
void point_done(Point *pt);

/* "net.w=[[0.5f64, ...], ...]" for the tensor of that type at that path of a
 * `param`. */
void put_drawn_param(Program *p, const char *path, const Type *type,
                     uint64_t seed, StrBuf *out);
/* def @NAME(%a0: T0, ...) { @f(%a0, ...) }, for a function that is checked by
 * instance, with shapes of this rank and float64 for its parameters. */
void put_instance(Program *p, const Global *f, const char *name, int rank,
                  StrBuf *out);

double point_chance(Point *pt, double low, double high);
/* A float64 as a literal. */
void put_number(StrBuf *out, double x);
/* The arguments, with `at[i]` for slot i; as `tangents`, with () for cells. */
void point_put(const Point *pt, const double *at, bool tangents, StrBuf *out);

#endif
