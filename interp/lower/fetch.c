/* Constants and global values that are fetched between products are fetched
 * before them, so that the products stand side by side and the machine may
 * let the second go first (interp/vm_op.c).  What is fetched was computed
 * before, or never will be, so it does not matter when. */
#include "interp/lower/lower.h"

static bool is_fetch(const Ins *i) {
  return i->op == INS_constant || i->op == INS_global;
}

static bool is_product(const Ins *i) {
  if (i->op != INS_op) return false;
  const OpSite *site = (const OpSite *)(uintptr_t)i->words[0];
  return site->op == op_info(OP_NN_DENSE) || site->op == op_info(OP_NN_MATMUL);
}

static bool has_listed(const Lower *l, const Ins *i, Reg r) {
  for (uint32_t k = 0; k < i->list_count; k++)
    if (l->listed.data[i->list + k].reg == r) return true;
  return false;
}

/* Is nothing but what is fetched between instruction `at` and a product? */
static bool leads_to_product(const Lower *l, size_t at) {
  while (at < l->list.len && is_fetch(&l->list.data[at])) at++;
  return at < l->list.len && is_product(&l->list.data[at]);
}

void fetch_pass(Lower *l) {
  for (size_t at = 1; at < l->list.len; at++) {
    Ins *i = &l->list.data[at];
    if (!is_fetch(i) || !leads_to_product(l, at)) continue;
    for (; i > l->list.data && is_product(i - 1); i--) {
      if (has_listed(l, i - 1, i->arg[0])) break;
      Ins product = i[-1];
      i[-1] = *i;
      *i = product;
    }
  }
}
