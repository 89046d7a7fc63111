/* An `if` whose condition the shapes decide is decided while checking, and only
 * the branch that is taken has to fit.  The node becomes that branch:
 *
 *   def @total[s: Shape](%x: Tensor[s, float32]) -> float32 {
 *     if (take(shape_of(shape_of(%x)), 0) == 0) { %x } else { sum(%x) }
 *   }
 *
 * What decides may not change while inference goes on.  Dimensions that flow
 * may still rise to `?` (dims.c), so they do not decide; named dimensions, the
 * numbers of written types, and ranks do.  A condition without a shape in it,
 * such as True, is left to the run; in a function that is inlined it decides as
 * well, for there it asks what the call has said (resolve_inline.c). */
#include "types/infer.h"

bool infer_decided(Infer *in, const Expr *e) {
  bool known = e->branch.known;
  if (!known && (e->sugar == SUGAR_AND || e->sugar == SUGAR_OR)) return false;
  Truth t = known_truth(in, e->args[0], !known);
  bool decided = t != MAYBE;
  Expr *parsed = (Expr *)e->branch.parsed;
  if (parsed)
    parsed->branch.seen |= !decided   ? BRANCH_BOTH
                           : t == YES ? BRANCH_THEN
                                      : BRANCH_ELSE;
  if (decided) *(Expr *)e = *e->args[t == YES ? 1 : 2];
  return decided;
}
