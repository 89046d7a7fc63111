/* einsum: its equations, and its rule.
 *
 * An equation is parsed into numbers: the letters of the result are 0, 1, ...
 * in its order, the summed letters come after them, in the order in which they
 * come up.  An operand is then a list of letter numbers.  For operands of ranks
 * 2 and 2:
 *
 *   "ij,jk->ik"    letters i 0, k 1, j 2    axes (0, 2), (2, 1)   rank 2
 *
 * Without "->" the result has the letters that occur once, in the order of the
 * alphabet, as in NumPy.  "..." stands for the axes that an operand has beyond
 * its letters, aligned at the last; they are letters of their own, numbered
 * from the last, so that those of different operands meet and broadcast.
 *
 * The order of the letters fixes the order of the sum (kernels/drive/einsum.c),
 * so the parser is part of the law. */
#include "ops/rules/einsum.h"

#include "ops/rules/support.h"

#include <ctype.h>
#include <string.h>

/* The letters of the operands and of the result, without blanks.  REST stands
 * for "..."; then, in its place, the number of each of its axes, 1 being the
 * last. */
enum { REST = '.' };
typedef struct Terms {
  char operands[EINSUM_MAX][RANK_MAX + 1];
  char result[RANK_MAX + 1];
  int count;
  bool has_result;
} Terms;

/* Terms are arrays of RANK_MAX + 1 characters, cleared, so they stay
 * terminated. */
static bool append(char *term, char letter) {
  size_t len = strlen(term);
  if (len == RANK_MAX) return false;
  term[len] = letter;
  return true;
}

/* False for anything but letters, blanks, commas between operands, one "->" and
 * one "..." a term. */
static bool read_terms(const char *p, Terms *t) {
  *t = (Terms){.count = 1};
  for (; *p; p++) {
    char *term = t->has_result ? t->result : t->operands[t->count - 1];
    if (*p == ' ') continue;
    if (*p == ',' && !t->has_result && t->count < EINSUM_MAX) {
      t->count++;
    } else if (*p == '-' && p[1] == '>' && !t->has_result) {
      t->has_result = true;
      p++;
    } else if (strncmp(p, "...", 3) == 0 && !strchr(term, REST)) {
      if (!append(term, REST)) return false;
      p += 2;
    } else if (!isalpha((unsigned char)*p) || !append(term, *p)) {
      return false;
    }
  }
  return true;
}

/* Puts the numbers of `n` axes where the term has REST: n, ..., 2, 1, of which
 * 1 is the last axis. */
static bool expand(char *term, int n) {
  char *rest = strchr(term, REST), tail[RANK_MAX + 1];
  if (!rest) return true;
  strcpy(tail, rest + 1);
  memset(rest, 0, strlen(rest));
  for (; n > 0; n--)
    if (!append(term, (char)n)) return false;
  for (const char *p = tail; *p; p++)
    if (!append(term, *p)) return false;
  return true;
}

/* Each operand by its own number of axes, the result by the largest.  A result
 * that is not written begins with them. */
static bool expand_all(Terms *t, const int *ranks) {
  int most = 0;
  for (int i = 0; i < t->count; i++) {
    bool has_rest = strchr(t->operands[i], REST);
    int n = ranks[i] - ((int)strlen(t->operands[i]) - has_rest);
    if (has_rest && n > most) most = n;
    if (!expand(t->operands[i], n)) return false;
  }
  if (!t->has_result && !append(t->result, REST)) return false;
  return expand(t->result, most);
}

static int occurrences(const Terms *t, char letter) {
  int n = 0;
  for (int i = 0; i < t->count; i++)
    for (const char *p = t->operands[i]; *p; p++) n += *p == letter;
  return n;
}

static bool implicit_result(Terms *t) {
  for (int letter = 'A'; letter <= 'z'; letter++)
    if (isalpha(letter) && occurrences(t, (char)letter) == 1 &&
        !append(t->result, (char)letter))
      return false;
  return true;
}

/* The number of a letter, a new one when it comes up for the first time. */
static int letter_number(char *seen, int *count, char letter) {
  for (int i = 0; i < *count; i++)
    if (seen[i] == letter) return i;
  if (*count == EINSUM_LETTERS) return -1;
  seen[*count] = letter;
  return (*count)++;
}

/* False when the equation is none for operands of these ranks.  When only their
 * number differs the answer is true, with `operands` set, so that the rule can
 * say so.  Letters of the result are numbered first; each must be new, and
 * occur in an operand. */
bool einsum_parse(const char *equation, int count, const int *ranks,
                  Einsum *e) {
  Terms t;
  char seen[EINSUM_LETTERS];
  *e = (Einsum){0};
  if (!read_terms(equation, &t)) return false;
  e->operands = t.count;
  if (t.count != count) return true;
  if (!expand_all(&t, ranks)) return false;
  if (!t.has_result && !implicit_result(&t)) return false;
  for (const char *p = t.result; *p; p++, e->rank++)
    if (occurrences(&t, *p) == 0 ||
        letter_number(seen, &e->letters, *p) != e->rank)
      return false;
  for (int i = 0; i < t.count; i++)
    for (const char *p = t.operands[i]; *p; p++) {
      int number = letter_number(seen, &e->letters, *p);
      if (number < 0) return false;
      e->axes[i][e->ranks[i]++] = number;
    }
  return true;
}

/* A length, and another for the same letter: 1 goes with any.  The rules of
 * broadcasting decide, on types of rank 1. */
static bool same_letter(Dim *length, Dim other) {
  RuleType a = rule_tensor(DT_INT32, 1, length);
  RuleType b = rule_tensor(DT_INT32, 1, &other), both = a;
  if (dim_is_hole(*length)) return *length = other, true;
  if (!rule_broadcast_dims(&a, &b, &both)) return false;
  *length = both.dims[0];
  return true;
}

static RuleStatus einsum_operand(RuleCall *c, const Einsum *e, int i,
                                 Dim *lengths) {
  const RuleType *x = &c->args[0].fields[i];
  if (x->rank != e->ranks[i] || x->dtype != c->args[0].fields[0].dtype)
    return rule_error(c, E0208, 0,
                      "operand %d, %s %s, does not fit the "
                      "equation",
                      i, rule_dims_text(c, x->rank, x->dims),
                      dtype_name(x->dtype));
  for (int k = 0; k < x->rank; k++) {
    Dim *length = &lengths[e->axes[i][k]];
    if (!same_letter(length, x->dims[k]))
      return rule_error(c, E0209, 0, "one letter stands for lengths %s and %s",
                        rule_dim_text(c, *length),
                        rule_dim_text(c, x->dims[k]));
  }
  return RULE_OK;
}

/*   xi : one axis for each letter of its term, equal letters equally long, or 1
 *   -----------------------------------------------------------------------
 *   einsum((x1, ..., xn), equation) : the lengths of the result's letters   */
RULE(einsum, "shapes by letters -> the letters of the result");
static RuleStatus rule_einsum(RuleCall *c) {
  Einsum e;
  int ranks[EINSUM_MAX] = {0}, count = c->args[0].count;
  for (int i = 0; i < count && i < EINSUM_MAX; i++)
    ranks[i] = c->args[0].fields[i].rank;
  if (!einsum_parse(attr_text(c->attrs, ATTR_equation), count, ranks, &e))
    return rule_attr_error(c, E0303, ATTR_equation,
                           "\"%s\" is no equation such as \"ij,jk->ik\"",
                           attr_text(c->attrs, ATTR_equation));
  if (e.operands != count)
    return rule_error(c, E0204, 0, "%d operands for an equation of %d terms",
                      count, e.operands);
  Dim lengths[EINSUM_LETTERS];
  for (int i = 0; i < EINSUM_LETTERS; i++) lengths[i] = DIM_HOLE;
  for (int i = 0; i < e.operands; i++) {
    RuleStatus status = einsum_operand(c, &e, i, lengths);
    if (status != RULE_OK) return status;
  }
  return rule_result(c, c->args[0].fields[0].dtype, e.rank, lengths);
}
