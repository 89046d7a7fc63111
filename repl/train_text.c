/* The program that trains: what stands beside the user's file, as text.
 *
 * A file that can be trained has
 *
 *   @loss(weights, examples...) -> loss, or (loss, how much it counts)
 *   @init(key) -> weights, or a param of the weights' type
 *   @batch(key, n) -> examples, or @data() -> all of them along axis 0, or
 *   nothing: then the loss' other parameters are params
 *
 * and may have @validation() -> examples, @order(key, n, size) -> an order.
 * The text keeps all that a run needs to go on in cells, and gives
 *
 *   @train.step()       a step: (loss, norm, rate, examples, their count)
 *   @train.batch(step)  what its examples are made from; with more shards than
 *                       one, @train.shards(batch) says how many it has,
 *                       @train.shard(batch, k) gives one's part of the sum, and
 *                       @train.apply(sum, batch) is the step with the sum
 *   @train.look()       the loss of the step to come and its gradient, not yet
 *                       summed over the shards
 *   @train.seen()       what that step reads: (weights, examples, their rows in
 *                       the data; or ())
 *   @train.order.bounds()
 *                       of the epoch's order, where the file has @order: how
 *                       many rows, the least and the greatest, and how many
 *                       examples an epoch has
 *   @train.epoch()      the end of an epoch: (loss, validation, best, without,
 *                       how much validation counts)
 *   @train.checks()     how many parts validation has; 0: there is none
 *   @train.check(k)     one's part of its sum
 *   @train.end(sum)     the end of an epoch with that sum
 *   @train.per_epoch()  how many steps that is
 *   @train.total()      how many examples there are, those held out, too; where
 *                       @batch draws them there is no such function
 *   @train.examples.counts(), @train.checked.counts()
 *                       how many each tensor of the data, and of @validation(),
 *                       has: it must be one number
 *   @train.without()    epochs since the best one
 *   @train.learned()    the weights
 *   @train.inputs()     what the run reads: params and examples
 *
 * `rly train --print` prints it, so that it can be read, and changed. */
#include <stdlib.h>
#include <string.h>

#include "repl/train_plan.h"

/* --- Text ---------------------------------------------------------------- */

/* The shortest decimal that is this number, as a literal. */
static void put_number(StrBuf *out, double x) {
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  strbuf_addf(out, "%sf64", text);
}

/* The data's parts, `%b.0, %b.1`. */
static void put_parts(Plan *p, const char *from) {
  for (int i = 0; i < p->inputs; i++)
    strbuf_addf(&p->t->text, ", %s%d", from, i);
}

/* What a function gives, as a tuple, though it be one tensor. */
static void put_tuple(Plan *p, const rly_function *f, const char *call) {
  bool tuple = rly_type_kind(rly_function_result_type(f)) == RLY_TUPLE;
  strbuf_addf(&p->t->text, tuple ? "%s" : "(%s,)", call);
}

static void put_type(Plan *p, const rly_type *t, const char *form) {
  char *text = rly_type_text(p->p, t);
  if (!text) mem_raise_exhausted(p->p->mem);
  strbuf_addf(&p->t->text, form, text ? text : "");
  rly_text_free(p->t->h->cx, text);
}

/* The type of what @train.batch gives: what was drawn, or rows of the data. */
static void put_batch_type(Plan *p) {
  const rly_type *t = p->batch ? rly_function_result_type(p->batch) : NULL;
  if (!t) strbuf_add(&p->t->text, "Tensor[(?), int32]");
  else put_type(p, t, rly_type_kind(t) == RLY_TUPLE ? "%s" : "(%s,)");
}

/* All examples of a batch %b. */
static const char *whole(const Plan *p) {
  return p->batch ? "%b" : "@train.rows(%b)";
}

static bool has_param(const Plan *p, const char *name) {
  bool there = false;
  for (int i = 0; i < rly_program_param_count(p->p); i++)
    there |= !strcmp(rly_program_param_name(p->p, i), name);
  return there;
}

/* The params that the examples are, where the file does not say it.  An error
 * shows the line, so it tells a user what to do. */
static void put_params(Plan *p) {
  StrBuf *out = &p->t->text;
  for (int i = 0; !p->data && !p->batch && i < p->inputs; i++) {
    const rly_type *t = rly_function_param_type(p->loss_fn, i + 1);
    const char *name = rly_function_param_name(p->loss_fn, i + 1);
    if (has_param(p, name) || rly_type_kind(t) != RLY_TENSOR) continue;
    strbuf_addf(out, "param @%s: Tensor[(?", name);
    for (int k = 1; k < rly_type_rank(t); k++) {
      int64_t dim = rly_type_dim(t, k);
      strbuf_add(out, ", ");
      if (dim < 0) strbuf_add_char(out, '?');
      else strbuf_addf(out, "%lld", (long long)dim);
    }
    strbuf_addf(out, "), %s];  // examples: %s=@FILE.npy, or define @data()\n",
                rly_type_dtype(t), name);
  }
}

static void put_state(Plan *p) {
  StrBuf *out = &p->t->text;
  const Optimiser *o = optimiser_named(p->optimizer);
  unsigned long long seed = p->cli->seed;
  strbuf_addf(out, "let @train.key = random.threefry_key(%llu%s);\n", seed,
              seed > INT64_MAX ? "u64" : "");
  strbuf_add(out, "let @train.weights = ref(");
  plan_put_weights(p, "@train.key", out);
  strbuf_add(out, ");\n");
  strbuf_addf(out,
              "let @train.optimiser = ref(@%s(ref_read(@train.weights)));\n",
              o ? o->begin : p->optimizer + 1);
  strbuf_addf(out,
              "let @train.steps = ref(0);\n"
              "let @train.sum = ref((0f64, 0f64));\n"
              "let @train.best = ref((%s, 0));\n"
              "let @train.settings: Ref[Tensor[(?), uint8]] =\n  ref(\"",
              "cast(inff, dtype=\"float64\")");
  for (size_t i = 0; i < p->t->settings.len; i++) {
    char c = p->t->settings.data[i];
    if (c == '"' || c == '\\') strbuf_add_char(out, '\\');
    strbuf_add_char(out, c);
  }
  strbuf_add(out, "\");\n\n");
}

/* (take(FROM.0, %rows, axis=0), ...) */
static void put_taken(Plan *p, const char *from) {
  StrBuf *out = &p->t->text;
  strbuf_add_char(out, '(');
  for (int i = 0; i < p->inputs; i++)
    strbuf_addf(out, "%stake(%s.%d, %%rows, axis=0)", i ? ",\n   " : "", from,
                i);
  strbuf_add(out, p->inputs == 1 ? ",)" : ")");
}

/* How many batches so many examples are.  The sum before the division may be
 * more than an int32 holds. */
static void put_batch_count(Plan *p) {
  unsigned long long size = p->size;
  strbuf_addf(&p->t->text,
              "def @train.batches(%%n: int32) -> int32 {\n"
              "  cast((cast(%%n, dtype=\"int64\") + %llui64) / %llui64, "
              "dtype=\"int32\")\n}\n",
              size - 1, size);
}

/* How many examples each tensor of the tuple FROM has along axis 0. */
static void put_counts(Plan *p, const char *from) {
  StrBuf *out = &p->t->text;
  strbuf_addf(out, "def %s.counts() { (", from);
  for (int i = 0; i < p->inputs; i++)
    strbuf_addf(out, "%stake(shape_of(%s.%d), 0)", i ? ", " : "", from, i);
  strbuf_add(out, p->inputs == 1 ? ",) }\n" : ") }\n");
}

/* Of an epoch whose examples are drawn. */
static unsigned long long epoch_steps(const Cli *cli) {
  return cli->epoch_steps ? cli->epoch_steps : 100;
}

/* The order that the file's @order gave for the epoch; of no row the bounds are
 * 0 and -1. */
static void put_order_bounds(Plan *p) {
  strbuf_add(&p->t->text,
             "def @train.order.bounds() -> (int32, int32, int32, int32) {\n"
             "  let %order = ref_read(@train.order);\n"
             "  let %n = take(shape_of(%order), 0);\n"
             "  if (%n == 0) { (0, 0, -1, @train.count) }\n"
             "  else { (%n, min(%order), max(%order), @train.count) }\n"
             "}\n");
}

/* What the examples of a step are made from: drawn ones, or the rows that come
 * in the order of the epoch; and how many they are. */
static void put_batches(Plan *p) {
  StrBuf *out = &p->t->text;
  unsigned long long size = p->size;
  if (p->batch) {
    strbuf_addf(out, "def @train.per_epoch() -> int32 { %llu }\n",
                epoch_steps(p->cli));
    strbuf_add(out,
               "def @train.batch(%step: int32) {\n"
               "  let %key = @subkey(@subkey(@train.key, 1), %step);\n  ");
    char call[64];
    snprintf(call, sizeof call, "@batch(%%key, %llu)", size);
    put_tuple(p, p->batch, call);
    strbuf_add(out, "\n}\n\ndef @train.size(%b: ");
    put_batch_type(p);
    strbuf_add(out, ") -> int32 { take(shape_of(%b.0), 0) }\n\n");
    return;
  }
  strbuf_add(out, "let @train.examples = ");
  if (p->data) put_tuple(p, p->data, "@data()");
  else {
    strbuf_add_char(out, '(');
    for (int i = 0; i < p->inputs; i++)
      strbuf_addf(out, "%s@%s", i ? ", " : "",
                  rly_function_param_name(p->loss_fn, i + 1));
    strbuf_add(out, p->inputs == 1 ? ",)" : ")");
  }
  strbuf_add(out, ";\n");
  put_counts(p, "@train.examples");
  strbuf_add(out, "let @train.all = take(shape_of(@train.examples.0), 0);\n");
  if (p->cli->validate > 0) {
    strbuf_add(out, "let @train.count = @train.all - cast(");
    put_number(out, p->cli->validate);
    strbuf_add(out,
               " * cast(@train.all, dtype=\"float64\"), "
               "dtype=\"int32\");\n");
  } else strbuf_add(out, "let @train.count = @train.all;\n");
  strbuf_add(out, "def @train.total() -> int32 { @train.all }\n");
  strbuf_addf(
      out,
      "let @train.order: Ref[Tensor[(?), int32]] = ref([0]);\n"
      "def @train.per_epoch() -> int32 { @train.batches(@train.count) }\n"
      "def @train.rows(%%rows: Tensor[(?), int32]) {\n  ");
  put_taken(p, "@train.examples");
  char shuffled[64];
  if (p->order)
    snprintf(shuffled, sizeof shuffled, "@order(%%key, @train.count, %llu)",
             size);
  else snprintf(shuffled, sizeof shuffled, "@shuffled(%%key, @train.count)");
  strbuf_addf(out,
              "\n}\n"
              "def @train.batch(%%step: int32) -> Tensor[(?), int32] {\n"
              "  let %%epoch = %%step / @train.per_epoch();\n"
              "  let %%at = (%%step - %%epoch * @train.per_epoch()) * %llu;\n"
              "  if (%%at == 0) {\n"
              "    let %%key = @subkey(@subkey(@train.key, 1), %%epoch);\n"
              "    ref_write(@train.order, %s)\n"
              "  } else { () };\n"
              "  let %%end = %%at + minimum(%llu, @train.count - %%at);\n"
              "  strided_slice(ref_read(@train.order), begin=[%%at], "
              "end=[%%end])\n"
              "}\n\n"
              "def @train.size(%%b: Tensor[(?), int32]) -> int32 {\n"
              "  take(shape_of(%%b), 0)\n"
              "}\n\n",
              size, shuffled, size);
  if (p->order) put_order_bounds(p);
}

/* %loss and %g of the examples %x, and %m, how much they count. */
static void put_gradient(Plan *p) {
  StrBuf *out = &p->t->text;
  strbuf_addf(out, "  let %%r = %s(fn (%%w) { @%s(%%w",
              p->weighted ? "vjp" : "grad", p->loss);
  put_parts(p, "%x.");
  strbuf_addf(out, ") }%s%%w);\n", p->weighted ? ", " : ")(");
  if (p->weighted)
    strbuf_add(out,
               "  let %l = %r.0;\n"
               "  let %loss = cast(%l.0, dtype=\"float64\");\n"
               "  let %m = cast(%l.1, dtype=\"float64\");\n"
               "  let %g = (%r.1((ones_like(%l.0), zeros_like(%l.1)))).0;\n");
  else
    strbuf_add(out,
               "  let %loss = cast(%r.0, dtype=\"float64\");\n"
               "  let %m = cast(take(shape_of(%x.0), 0), dtype=\"float64\");\n"
               "  let %g = %r.1.0;\n");
}

/* A shard of a batch, and how many a batch has. */
static void put_shard(Plan *p) {
  StrBuf *out = &p->t->text;
  strbuf_add(out, "def @train.shards(%b: ");
  put_batch_type(p);
  strbuf_addf(out,
              ") -> int32 { maximum(1, minimum(%llu, @train.size(%%b))) }\n"
              "def @train.shard(%%b: ",
              (unsigned long long)p->shards);
  put_batch_type(p);
  strbuf_add(out,
             ", %k: int32) {\n"
             "  let %w = ref_read(@train.weights);\n"
             "  let %n = cast(@train.size(%b), dtype=\"int64\");\n"
             "  let %shards = cast(@train.shards(%b), dtype=\"int64\");\n"
             "  let %at = cast(%k, dtype=\"int64\");\n"
             "  let %from = %at * %n / %shards;\n"
             "  let %to = (%at + 1i64) * %n / %shards;\n"
             "  let %x = ");
  if (!p->batch)
    strbuf_add(out, "@train.rows(strided_slice(%b, begin=[%from], end=[%to]))");
  for (int i = 0; p->batch && i < p->inputs; i++)
    strbuf_addf(out,
                "%sstrided_slice(%%b.%d, begin=[%%from], end=[%%to], "
                "axes=[0])%s",
                i ? ",\n   " : "(", i,
                i + 1 < p->inputs ? ""
                : p->inputs == 1  ? ",)"
                                  : ")");
  strbuf_add(out, ";\n");
  put_gradient(p);
  strbuf_add(out,
             "  (%loss * %m, map_leaves(fn (%g) { cast_like(%m, %g) * %g }, "
             "%g), %m)\n}\n\n");
}

/* What @train.shard() gives of each shard of %b. */
#define ALL_SHARDS                                \
  "@map(fn (%k: int32) { @train.shard(%b, %k) }," \
  "\n                    @range(@train.shards(%b)))"

/* The sum over the shards is a fixed tree: its bits do not depend on where they
 * are computed. */
static void put_sum(Plan *p) {
  StrBuf *out = &p->t->text;
  strbuf_add(out,
             "def @train.step() "
             "-> (float64, float64, float64, int32, float64) {\n"
             "  let %b = @train.batch(ref_read(@train.steps));\n"
             "  let %parts = " ALL_SHARDS
             ";\n"
             "  @train.apply(@tree_sum(fn (%a, %b) {\n"
             "    match (%a, %b) {\n"
             "      ((%l, %g, %m), (%k, %f, %n)) =>\n"
             "        (%l + %k, map_leaves(fn (%g, %f) { %g + %f }, %g, %f), "
             "%m + %n)\n"
             "    }\n"
             "  }, %parts), %b)\n"
             "}\n\n");
}

static void put_rate(Plan *p) {
  StrBuf *out = &p->t->text;
  const Schedule *known = schedule_named(p->schedule);
  strbuf_addf(out,
              "  let %%total = %llu * @train.per_epoch();\n  let %%rate = ",
              (unsigned long long)p->epochs);
  if (p->cli->warm_up)
    strbuf_addf(out, "@warm_up(%%step, %llu) * ",
                (unsigned long long)p->cli->warm_up);
  if (known) strbuf_add(out, known->before);
  else strbuf_addf(out, "cast(%s(%%step, %%total, ", p->schedule);
  put_number(out, p->lr);
  strbuf_add(out, known ? known->after : "), dtype=\"float64\")");
  strbuf_add(out, ";\n");
}

/* The step: with one shard, of the batch; else of the sum over them. */
static void put_step(Plan *p) {
  StrBuf *out = &p->t->text;
  bool summed = p->shards > 1;
  if (summed) {
    put_shard(p);
    strbuf_add(out, "def @train.apply(%sum: (float64, ");
    put_type(p, p->weights, "%s, float64), %%b: ");
    put_batch_type(p);
    strbuf_add(out, ")");
  } else strbuf_add(out, "def @train.step()");
  strbuf_add(out,
             " -> (float64, float64, float64, int32, float64) {\n"
             "  let %step = ref_read(@train.steps);\n");
  put_rate(p);
  strbuf_add(out, "  let %w = ref_read(@train.weights);\n");
  if (summed)
    strbuf_add(out,
               "  let %m = %sum.2;\n"
               "  let %loss = %sum.0 / %m;\n"
               "  let %g = map_leaves(fn (%g) { %g / cast_like(%m, %g) }, "
               "%sum.1);\n");
  else {
    strbuf_addf(out, "  let %%b = @train.batch(%%step);\n  let %%x = %s;\n",
                whole(p));
    put_gradient(p);
  }
  if (p->cli->clip > 0) {
    strbuf_add(out, "  let %c = @clip_norm(%g, ");
    put_number(out, p->cli->clip);
    strbuf_add(out, ");\n");
  } else strbuf_add(out, "  let %c = (%g, sqrt(@sum_of_squares(%g)));\n");
  bool own = *p->optimizer == '@';
  strbuf_addf(out,
              "  if (isfinite(%%loss) && isfinite(%%c.1)%s) {\n"
              "    let %%s = ref_read(@train.optimiser);\n"
              "    let %%u = @%s_step(%%s, %%w, %%c.0, %s%%rate%s%s);\n",
              p->weighted ? " && isfinite(%m) && %m > 0f64" : "",
              own ? p->optimizer + 1 : p->optimizer,
              own ? "" : "rate=", *p->given ? ", " : "", p->given);
  strbuf_add(out,
             "    ref_write(@train.optimiser, %u.0);\n"
             "    ref_write(@train.weights, %u.1);\n"
             "    ref_write(@train.steps, %step + 1);\n"
             "    let %sum = ref_read(@train.sum);\n"
             "    ref_write(@train.sum, (%sum.0 + %loss * %m, "
             "%sum.1 + %m))\n"
             "  } else { () };\n"
             "  (%loss, %c.1, %rate, @train.size(%b), %m)\n"
             "}\n\n");
  if (summed) put_sum(p);
}

/* The step to come up to its gradients, which are neither clipped nor applied.
 */
static void put_look(Plan *p) {
  StrBuf *out = &p->t->text;
  strbuf_add(out,
             "def @train.look() {\n"
             "  let %b = @train.batch(ref_read(@train.steps));\n");
  if (p->shards > 1) {
    strbuf_add(out, "  let %parts = " ALL_SHARDS ";\n  %parts\n}\n\n");
    return;
  }
  strbuf_addf(out,
              "  let %%w = ref_read(@train.weights);\n"
              "  let %%x = %s;\n",
              whole(p));
  put_gradient(p);
  strbuf_add(out, "  (%loss, %g)\n}\n\n");
}

/* What the step to come reads.  The rows say where in the data the examples
 * are; drawn ones have none. */
static void put_seen(Plan *p) {
  strbuf_addf(&p->t->text,
              "def @train.seen() {\n"
              "  let %%b = @train.batch(ref_read(@train.steps));\n"
              "  (ref_read(@train.weights), %s, %s)\n}\n\n",
              whole(p), p->batch ? "()" : "%b");
}

/* The losses of examples that no step sees, a batch at a time, and how much
 * they count. */
static void put_validation(Plan *p) {
  StrBuf *out = &p->t->text;
  bool held = p->cli->validate > 0;
  if (p->validation && !held) {
    strbuf_add(out, "let @train.checked = ");
    put_tuple(p, p->validation, "@validation()");
    strbuf_add(out, ";\n");
    put_counts(p, "@train.checked");
  }
  const char *from = held ? "@train.examples" : "@train.checked";
  const char *first = held ? "@train.count" : "0";
  if (!held && !p->validation) {
    strbuf_add(out,
               "def @train.checks() -> int32 { 0 }\n"
               "def @train.check(%k: int32) { (0f64, 0f64) }\n\n");
    return;
  }
  unsigned long long size = p->size;
  strbuf_addf(out,
              "def @train.checks() -> int32 {\n"
              "  @train.batches(take(shape_of(%s.0), 0) - %s)\n"
              "}\n"
              "def @train.check(%%k: int32) -> (float64, float64) {\n"
              "  let %%from = %s + %%k * %llu;\n"
              "  let %%left = take(shape_of(%s.0), 0) - %%from;\n"
              "  let %%to = %%from + minimum(%llu, %%left);\n"
              "  let %%rows = arange(%%from, %%to, 1);\n"
              "  let %%b = ",
              from, first, first, size, from, size);
  put_taken(p, from);
  strbuf_addf(out, ";\n  let %%l = @%s(ref_read(@train.weights)", p->loss);
  put_parts(p, "%b.");
  strbuf_addf(out,
              ");\n"
              "  let %%m = cast(%s, dtype=\"float64\");\n"
              "  (cast(%s, dtype=\"float64\") * %%m, %%m)\n"
              "}\n\n",
              p->weighted ? "%l.1" : "take(shape_of(%rows), 0)",
              p->weighted ? "%l.0" : "%l");
}

/* The sum of validation is the tree that the sum over shards is.  Of nothing it
 * gives a NaN as the mean. */
static void put_epoch(Plan *p) {
  strbuf_add(&p->t->text,
             "def @train.epoch() "
             "-> (float64, float64, bool, int32, float64) {\n"
             "  @train.end(if (@train.checks() == 0) { (0f64, 0f64) } else {\n"
             "    @tree_sum(fn (%a, %b) { (%a.0 + %b.0, %a.1 + %b.1) },\n"
             "              @map(@train.check, @range(@train.checks())))\n"
             "  })\n"
             "}\n"
             "def @train.end(%v: (float64, float64)) -> "
             "(float64, float64, bool, int32, float64) {\n"
             "  let %sum = ref_read(@train.sum);\n"
             "  ref_write(@train.sum, (0f64, 0f64));\n"
             "  let %loss = %sum.0 / %sum.1;\n"
             "  let %checked = %v.0 / %v.1;\n"
             "  let %counts = if (@train.checks() == 0) { %loss } "
             "else { %checked };\n"
             "  let %best = ref_read(@train.best);\n"
             "  let %better = %counts < %best.0;\n"
             "  ref_write(@train.best, if (%better) { (%counts, 0) }\n"
             "                         else { (%best.0, %best.1 + 1) });\n"
             "  (%loss, %checked, %better, ref_read(@train.best).1, %v.1)\n"
             "}\n"
             "def @train.without() -> int32 { ref_read(@train.best).1 }\n"
             "def @train.learned() { ref_read(@train.weights) }\n");
}

static void put_input(Plan *p, const char *value, const char *name) {
  strbuf_addf(&p->t->text, "%s, ", value);
  strbuf_addf(&p->t->inputs, "%s\n", name);
}

static void put_input_param(Plan *p, const char *name) {
  char *global = arena_printf(&p->p->arena, "@%s", name);
  if (global) put_input(p, global, global);
}

/* The params that steps and epochs read, and what @data and @validation give.
 * The param of the weights to begin with is left out: a run that goes on has
 * its weights from its state.  Written last, of the program with all the text
 * before. */
static void put_inputs(Plan *p) {
  StrBuf *out = &p->t->text;
  const rly_function *calls[] = {rly_program_function(p->p, "train.step"),
                                 rly_program_function(p->p, "train.epoch")};
  int count = rly_program_param_count(p->p);
  bool *read = ARENA_ARRAY(&p->p->arena, bool, (size_t)count + 1);
  if (!read || !params_reached(p->p, 2, calls, read)) return;
  strbuf_add(out, "def @train.inputs() { (");
  for (int i = 0; i < count; i++) {
    const char *name = rly_program_param_name(p->p, i);
    if (read[i] && (p->init || strcmp(name, p->param)))
      put_input_param(p, name);
  }
  if (p->data) put_input(p, "@train.examples", "@data()");
  if (p->validation && !(p->cli->validate > 0))
    put_input(p, "@train.checked", "@validation()");
  strbuf_add(out, ") }\n");
}

/* Adds the text from a place on to the program; 0 or an exit status. */
static int add_text(const Plan *p, size_t from) {
  const StrBuf *text = &p->t->text;
  int code = plan_if_out(p);
  if (code) return code;
  rly_status status = rly_program_add_text(
      p->p, "<train>", strbuf_text(text) + from, text->len - from, 0);
  host_report_aside(p->t->h);
  return exit_status(status);
}

/* What must be the same when a run goes on, or it would not be the same run. */
static void put_settings(Plan *p) {
  StrBuf *out = &p->t->settings;
  const Cli *cli = p->cli;
  const Schedule *schedule = schedule_named(p->schedule);
  strbuf_addf(out, "--loss %s --batch %llu --shards %llu --seed %llu", p->loss,
              (unsigned long long)p->size, (unsigned long long)p->shards,
              (unsigned long long)cli->seed);
  strbuf_addf(out, " --optimizer %s --lr %.17g --schedule %s",
              cli->optimizer ? cli->optimizer : "adam", p->lr, p->schedule);
  strbuf_addf(out, " --warm-up %llu --clip %.17g --validate %.17g",
              (unsigned long long)cli->warm_up, cli->clip, cli->validate);
  if (p->batch) strbuf_addf(out, " --epoch-steps %llu", epoch_steps(cli));
  if (!schedule || schedule->total)
    strbuf_addf(out, " --epochs %llu", (unsigned long long)p->epochs);
}

int train_write(Training *t) {
  const Cli *cli = t->h->cli;
  Plan p = {.t = t,
            .cli = cli,
            .p = t->h->program,
            .size = cli->batch,
            .shards = cli->shards,
            .epochs = cli->epochs};
  int status = plan_find(&p);
  if (status) return status;
  put_settings(&p);
  put_params(&p);
  put_state(&p);
  put_batch_count(&p);
  put_batches(&p);
  put_step(&p);
  put_look(&p);
  put_seen(&p);
  put_validation(&p);
  put_epoch(&p);
  status = add_text(&p, 0);
  if (status) return status;
  size_t from = t->text.len;
  put_inputs(&p);
  return add_text(&p, from);
}
