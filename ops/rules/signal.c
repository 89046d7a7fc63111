/* Rules of Fourier transforms, quantization, and drawing by weight. */
#include "ops/rules/support.h"

/*   re, im : (d..., n, t)    t floating-point
 *   ------------------------------------------
 *   dft(re, im) : ((d..., n, t), (d..., n, t))                              */
RULE(dft, "2 times (d..., n, t) -> 2 times (d..., n, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_dft(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_min_rank(c, 0, 1) ||
      !rule_same_dtype(c, 0, 1) ||
      !rule_fits(c, 1, c->args[0].rank, c->args[0].dims))
    return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = fields[1] = c->args[0];
  return RULE_OK;
}

/*   x : (b, n, t) or (n, t)    window : (win_length, t)
 *   -----------------------------------------------------------------------
 *   stft(x, window) : (b, n_fft / 2 + 1 or n_fft, frames, 2, t), without b
 *   for a vector; frames = (n - n_fft) / hop_length + 1                     */
RULE(stft,
     "(b, n, t), (win_length, t) -> (b, frequencies, frames, 2, t), t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_stft(RuleCall *c) {
  RuleType x = c->args[0];
  int64_t n, hop;
  Dim width = attr_int(c->attrs, ATTR_win_length);
  if (!rule_number(c, ATTR_n_fft, 1, STEP_MOST, &n) ||
      !rule_number(c, ATTR_hop_length, 1, STEP_MOST, &hop) ||
      !rule_in_range(c, ATTR_win_length, width, 1, n))
    return RULE_ERROR;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !rule_fits(c, 1, 1, &width))
    return RULE_ERROR;
  if (x.rank < 1 || x.rank > 2)
    return rule_error(c, E0303, 0, "takes 1 or 2 dims, not data %s",
                      rule_shape(c, 0));
  Dim room = dim_sub(c->dims, x.dims[x.rank - 1], dim_of(n));
  if (dim_below(room, 0))
    return rule_error(c, E0209, 0, "data %s is shorter than n_fft",
                      rule_shape(c, 0));
  bool onesided = attr_bool(c->attrs, ATTR_onesided);
  Dim dims[4] = {x.dims[0]};
  int rank = x.rank - 1;
  Dim frames = dim_div_floor(c->dims, room, hop);
  dims[rank++] = dim_of(onesided ? n / 2 + 1 : n);
  dims[rank++] = dim_add(c->dims, frames, dim_of(1));
  dims[rank++] = dim_of(2);
  return rule_result(c, x.dtype, rank, dims);
}
