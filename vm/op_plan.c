/* What a session remembers of the sites of tensor operators (op_plan.h): a key,
 * which is compared with the operands, and what followed from it. */
#include "vm/op_plan.h"

#include <string.h>

/* --- Values --------------------------------------------------------------
 * Of operands that are short: as long at most as a value that the checker knows
 * (ops/known.h), and in one piece.  Each starts at a word. */

/* The bytes of its elements; -1: it is not short. */
static int short_bytes(const Tensor *t) {
  int64_t n = t->rank ? t->shape[0] : 1;
  bool dense = t->rank == 0 || t->strides[0] == 1 || n <= 1;
  if (t->rank > 1) {
    n = tensor_count(t);
    dense = tensor_is_contiguous(t);
  }
  return dense && n <= KNOWN_MAX ? (int)n * (int)dtype_size(t->dtype) : -1;
}

static int words_of(int bytes) {
  return (bytes + (int)sizeof(int64_t) - 1) / (int)sizeof(int64_t);
}

/* The words that the operands of the set take; -1: one of them is not short. */
static int values_length(const Tensor *const *args, uint32_t set) {
  int length = 0;
  for (; set; set &= set - 1) {
    int bytes = short_bytes(args[__builtin_ctz(set)]);
    if (bytes < 0) return -1;
    length += words_of(bytes);
  }
  return length;
}

static int64_t *values_write(const Tensor *const *args, uint32_t set,
                             int64_t *to) {
  for (; set; set &= set - 1) {
    const Tensor *t = args[__builtin_ctz(set)];
    int bytes = short_bytes(t);
    memcpy(to, t->data, (size_t)bytes);
    to += words_of(bytes);
  }
  return to;
}

/* Are the elements those that were written of operands of the same shapes? */
static bool values_are(const Tensor *const *args, uint32_t set,
                       const int64_t *values) {
  for (; set; set &= set - 1) {
    const Tensor *t = args[__builtin_ctz(set)];
    int bytes = short_bytes(t);
    if (bytes < 0 || memcmp(t->data, values, (size_t)bytes)) return false;
    values += words_of(bytes);
  }
  return true;
}

/* --- Shapes --------------------------------------------------------------- */

static size_t shapes_length(int count, const Tensor *const *args) {
  size_t n = 0;
  for (int i = 0; i < count; i++) n += 1 + (size_t)args[i]->rank;
  return n;
}

static int64_t *shapes_write(int count, const Tensor *const *args,
                             int64_t *to) {
  for (int i = 0; i < count; i++) {
    const Tensor *t = args[i];
    *to++ = t->rank;
    for (int k = 0; k < t->rank; k++) *to++ = t->shape[k];
  }
  return to;
}

/* --- Plans ---------------------------------------------------------------- */

bool op_plan_has_values(const OpSite *site, const Tensor *const *args,
                        const int64_t *values) {
  return values_are(args, site->by_value, values);
}

/* Some values differ each time, as the index of a loop does.  After TRUSTED
 * values in a row that did not come again, each PROBED-th is remembered. */
enum { TRUSTED = 8, PROBED = 32 };

static bool is_worthwhile(int *misses) {
  ++*misses;
  return *misses < TRUSTED || *misses % PROBED == 0;
}

/* A plan is one block: after its key stand room for the values that a kept
 * result depends on, the fields of a tuple's type, and the record that operands
 * completed.  result.value, which points into the rule's own memory, is not
 * kept. */
static OpPlan *plan_make(Plans *p, const OpSite *site,
                         const Tensor *const *args, const OpCall *call) {
  const RuleType *result = call->result;
  bool completed = call->attrs != site->attrs;
  int by_value = values_length(args, site->by_value);
  int kept_by = site->keeps ? values_length(args, site->kept_by) : -1;
  if (by_value < 0) return NULL;
  size_t words = shapes_length(site->arg_count, args) + (size_t)by_value;
  words += kept_by > 0 ? (size_t)kept_by : 0;
  size_t fields = result->kind == RT_TUPLE ? (size_t)result->count : 0;
  size_t record = completed ? attrs_pack(site->attrs, call->attrs, NULL) : 0;
  OpPlan *plan = (OpPlan *)plan_renew(p, site->number,
                                      sizeof *plan + words * sizeof *plan->key +
                                          fields * sizeof *result + record);
  if (!plan) return NULL;
  int64_t *end = shapes_write(site->arg_count, args, plan->key);
  end = values_write(args, site->by_value, end);
  if (kept_by >= 0) plan->values = end;
  plan->result = *result;
  plan->result.value = NULL;
  plan->result.fields = (RuleType *)(plan->key + words);
  for (size_t i = 0; i < fields; i++)
    plan->result.fields[i] = result->fields[i];
  void *copy = plan->result.fields + fields;
  if (completed) attrs_pack(site->attrs, call->attrs, copy);
  plan->attrs = completed ? copy : site->attrs;
  plan->held = site->arg_count - call->arg_count;
  return plan;
}

OpPlan *op_plan_keep(Plans *p, const OpSite *site, const Tensor *const *args,
                     const OpCall *call) {
  if (site->number == NO_PLAN) return NULL;
  Plan *before = plan_find(p, site->number);
  if (before && site->by_value && !is_worthwhile(&before->misses)) return NULL;
  return plan_make(p, site, args, call);
}

static void replace_kept(Plans *p, OpPlan *plan, Tensor *by) {
  if (plan->plan.kept) tensor_drop(p->heap, plan->plan.kept);
  plan->plan.kept = by;
}

Tensor *op_plan_result(Plans *p, OpPlan *plan, const OpSite *site,
                       const Tensor *const *args) {
  if (values_are(args, site->kept_by, plan->values)) {
    plan->misses = 0;
    return tensor_keep(plan->plan.kept);
  }
  if (plan->misses >= TRUSTED) replace_kept(p, plan, NULL);
  return NULL;
}

/* The largest buffer, in bytes, of a result that is kept: each site may keep
 * one until its session ends. */
enum { KEPT_MOST = 4096 };

/* A result that is a part of a large buffer is not kept, since it would keep
 * the buffer alive. */
void op_plan_keep_result(Plans *p, OpPlan *plan, const OpSite *site,
                         const Tensor *const *args, Tensor *t) {
  if (!is_worthwhile(&plan->misses)) return;
  if (values_length(args, site->kept_by) < 0 || t->buffer->size > KEPT_MOST)
    return;
  replace_kept(p, plan, tensor_keep(t));
  values_write(args, site->kept_by, plan->values);
}
