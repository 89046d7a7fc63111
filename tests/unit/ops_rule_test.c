/* The typing rules on what a checker knows: numbers, `?`, names, holes, and on
 * mistakes.  Types are written "f32(2, ?, n)", "_" is a hole; a call is an
 * operator, operands and attributes:
 *
 *   {"nn.dense", "f32(2, n) f32(4, n)", "units=4", "f32(2, 4)"}
 *
 * The rows are taken from the tables of docs/TYPES.md, so the document and the
 * rules are held together. */
#include "tests/unit/ops.h"

typedef struct RuleBench {
  Mem mem;
  Arena arena;
  NameTable names;
  DimTable *dims;
} RuleBench;

static void open_bench(RuleBench *b) {
  arena_init(&b->arena, unit_mem(&b->mem));
  names_init(&b->names, &b->mem);
  b->dims = dims_new(&b->mem);
}

static void close_bench(RuleBench *b) {
  dims_free(b->dims);
  names_done(&b->names);
  arena_done(&b->arena);
  unit_mem_done(&b->mem);
}

/* --- Reading types and attributes ---------------------------------------- */

static const struct {
  const char *name;
  DType dtype;
} short_names[] = {
    {"f32", DT_FLOAT32}, {"f64", DT_FLOAT64}, {"f16", DT_FLOAT16},
    {"i32", DT_INT32},   {"i64", DT_INT64},   {"i8", DT_INT8},
    {"u64", DT_UINT64},  {"bool", DT_BOOL},
};

static Dim read_dim(void *bench, const char **p) {
  RuleBench *b = bench;
  if (**p == '?') return (*p)++, DIM_ANY;
  if (**p == '_') return (*p)++, DIM_HOLE;
  if (isalpha((unsigned char)**p)) {
    const Name *name = name_intern(&b->names, (*p)++, 1);
    return dim_named(b->dims, name, name);
  }
  char *end;
  Dim d = dim_of(strtoll(*p, &end, 10));
  assert_true(end > *p);
  *p = end;
  return d;
}

static RuleType read_tensor(RuleBench *b, const char **p) {
  RuleType t = {.kind = RT_TENSOR, .dtype = DTYPE_NONE, .rank = -1};
  if (**p == '_') return ++*p, (RuleType){.dtype = DTYPE_NONE, .rank = -1};
  for (size_t i = 0; i < LENGTH(short_names); i++) {
    size_t len = strlen(short_names[i].name);
    if (strncmp(*p, short_names[i].name, len)) continue;
    t.dtype = short_names[i].dtype;
    *p += len;
    break;
  }
  AttrReader r = {&b->arena, read_dim, b};
  if (**p == '(') t.rank = read_dims(&r, p, t.dims);
  return t;
}

/* Tensors separated by blanks; "{...}" is a tuple of them. */
static int read_types(RuleBench *b, const char *p, RuleType *types) {
  int n = 0;
  for (p = past_blanks(p); *p; p = past_blanks(p)) {
    if (*p != '{') {
      types[n++] = read_tensor(b, &p);
      continue;
    }
    RuleType *fields = ARENA_ARRAY(&b->arena, RuleType, 8);
    int count = 0;
    for (p = past_blanks(p + 1); *p != '}'; p = past_blanks(p))
      fields[count++] = read_tensor(b, &p);
    p++;
    types[n++] = (RuleType){.kind = RT_TUPLE,
                            .count = count,
                            .rank = -1,
                            .dtype = DTYPE_NONE,
                            .fields = fields};
  }
  return n;
}

static void print_type(RuleBench *b, StrBuf *out, const RuleType *t) {
  if (t->kind == RT_TUPLE) {
    strbuf_add(out, "{");
    for (int i = 0; i < t->count; i++) {
      if (i > 0) strbuf_add(out, " ");
      print_type(b, out, &t->fields[i]);
    }
    strbuf_add(out, "}");
    return;
  }
  for (size_t i = 0; i < LENGTH(short_names); i++)
    if (t->dtype == short_names[i].dtype) strbuf_add(out, short_names[i].name);
  dims_print(b->dims, out, t->rank, t->dims);
}

/* --- Running a row ------------------------------------------------------- */

typedef struct Row {
  const char *op, *operands, *attrs;
  const char *expected; /* a type; "wait"; or "! words of the message" */
} Row;

static void check_row(const Row *row) {
  RuleBench b;
  open_bench(&b);
  bool dyn;
  const OpInfo *op = op_info(op_find(row->op, &dyn));
  Attrs *attrs = ARENA_NEW(&b.arena, Attrs);
  RuleType types[12] = {0};
  attrs_defaults(op, attrs);
  read_attrs(&(AttrReader){&b.arena, read_dim, &b}, row->attrs, attrs);
  RuleCall c = {.op = op,
                .attrs = attrs,
                .dims = b.dims,
                .arena = &b.arena,
                .args = types};
  c.count = read_types(&b, row->operands, types);
  RuleStatus status = rule_run(&c);
  StrBuf got;
  strbuf_init(&got, &b.mem);
  if (status == RULE_OK) print_type(&b, &got, &c.result);
  else strbuf_add(&got, status == RULE_WAIT ? "wait" : c.message);
  bool is_error = row->expected[0] == '!';
  bool good = is_error ? status == RULE_ERROR &&
                             strstr(strbuf_text(&got), row->expected + 2)
                       : strcmp(strbuf_text(&got), row->expected) == 0;
  char text[200];
  snprintf(text, sizeof text, "%s", strbuf_text(&got));
  strbuf_done(&got);
  close_bench(&b);
  if (!good)
    fail_msg("%s(%s) %s: %s, not %s", row->op, row->operands, row->attrs, text,
             row->expected);
}

#define CHECK_ROWS(rows) \
  for (size_t i = 0; i < LENGTH(rows); i++) check_row(&(rows)[i])

/* --- Rows: docs/TYPES.md ------------------------------------------------- */

static void broadcasting(void **state) {
  (void)state;
  static const Row rows[] = {
      {"add", "f32(2, 3) f32(3)", "", "f32(2, 3)"},
      {"add", "f32(?) f32(1)", "", "f32(?)"},
      {"add", "f32(?) f32(3)", "", "f32(3)"},
      {"add", "f32(2, ?) f32(?)", "", "f32(2, ?)"},
      {"add", "f32(n, 1) f32(4)", "", "f32(n, 4)"},
      {"add", "f32(n) f32(n)", "", "f32(n)"},
      {"add", "f32(n) f32(3)", "", "f32(3)"},
      {"add", "f32(_) f32(1)", "", "f32(_)"},
      {"add", "_ f32(1)", "", "wait"},
      {"add", "f32 f32(1)", "", "wait"},
      {"add", "f32() f32(0, 3)", "", "f32(0, 3)"},
      {"less", "i32(2) i32(2)", "", "bool(2)"},
      {"add", "f32(2, 3) f32(4)", "", "! do not broadcast: (2, 3) and (4)"},
      {"add", "f32(2) i32(2)", "", "! float32 and int32"},
      {"add", "{f32(2)} f32(2)", "", "! must be a tensor"},
      {"power", "i32() i32()", "", "! floating-point"},
      {"where", "bool(3, 1) f32(5) f32()", "", "f32(3, 5)"},
      {"where", "bool(3) f32(5) f32()", "", "! (3)"},
      {"exp", "i32(2)", "", "! floating-point"},
      {"cast", "f32(n, ?)", "dtype=int8", "i8(n, ?)"},
  };
  CHECK_ROWS(rows);
}

static void products(void **state) {
  (void)state;
  static const Row rows[] = {
      {"nn.dense", "f32(2, n) f32(4, n)", "units=4", "f32(2, 4)"},
      {"nn.dense", "f32(2, 3) _", "units=4", "f32(2, 4)"},
      {"nn.dense", "f32(?, 5, 3) f32(4, ?)", "", "f32(?, 5, 4)"},
      {"nn.dense", "i8(2, 3) i8(4, 3)", "out_dtype=int32", "i32(2, 4)"},
      {"nn.dense", "f32(2, 3) f32(4, 5)", "units=4", "! not (4, 5)"},
      {"nn.dense", "f32(2, 3) f64(4, 3)", "", "! float64"},
      {"nn.dense", "i8(2, 3) i8(4, 3)", "out_dtype=float32", "! float32"},
      {"nn.dense", "f32(2, 13) f32(4, 14)", "units=4", "! (2, 13)"},
      {"nn.matmul", "f32(3, 7) f32(7, n)", "", "f32(3, n)"},
      {"nn.matmul", "f32(7, 3) f32(5, 7)", "transpose_a=1 transpose_b=1",
       "f32(3, 5)"},
      {"nn.batch_matmul", "f32(1, 3, 5) f32(n, 5, 2)", "", "f32(n, 3, 2)"},
      {"nn.batch_matmul", "f32(1, 3, 5) f32(2, 4, 2)", "", "! 5 and 4"},
      {"nn.bias_add", "f32(2, ?) f32(4)", "", "f32(2, 4)"},
      {"nn.bias_add", "f32(2, 3) f32(4)", "", "! (3), not (4)"},
  };
  CHECK_ROWS(rows);
}

static void reductions(void **state) {
  (void)state;
  static const Row rows[] = {
      {"sum", "f32(2, n, 4)", "axis=[1]", "f32(2, 4)"},
      {"sum", "f32(2, n, 4)", "axis=[-1] keepdims=1", "f32(2, n, 1)"},
      {"sum", "f32(2, 3, 4)", "axis=[0] exclude=1", "f32(2)"},
      {"sum", "f32(2, 3)", "", "f32()"},
      {"sum", "f32(2, 3)", "axis=[2]", "! axis 2 is out of range for rank 2"},
      {"sum", "f32(2, 3)", "axis=[1, -1]", "! twice"},
      {"all", "i32(2)", "", "! bool"},
      {"argmax", "f32(2, 3)", "axis=[1]", "i32(2)"},
      {"cumsum", "f32(2, n)", "", "f32(n * 2)"},
      {"cumsum", "i8(2, 3)", "axis=-1 dtype=int64", "i64(2, 3)"},
  };
  CHECK_ROWS(rows);
}

static void shapes(void **state) {
  (void)state;
  static const Row rows[] = {
      {"reshape", "f32(2, 3, 4)", "newshape=[-1, 4]", "f32(6, 4)"},
      {"reshape", "f32(2, 3, 4)", "newshape=[0, -1]", "f32(2, 12)"},
      {"reshape", "f32(2, 3, 4)", "newshape=[-3, -2]", "f32(6, 4)"},
      {"reshape", "f32(2, 6)", "newshape=[-2, -4, 3, -1]", "! more dimensions"},
      {"reshape", "f32(2, 6)", "newshape=[0, -4, 3, -1]", "f32(2, 3, 2)"},
      {"reshape", "f32(n, 4)", "newshape=[-1]", "f32(n * 4)"},
      {"reshape", "f32(?, 4)", "newshape=[2, -1]", "f32(2, ?)"},
      {"reshape", "f32(2, 3)", "newshape=[?, ?]", "f32(?, ?)"},
      {"reshape", "f32(2, 3)", "newshape=[4, 2]", "! (2, 3)"},
      {"reshape", "f32(2, 3)", "newshape=[4, -1]", "! (4, -1)"},
      {"reshape", "f32(0, 3)", "newshape=[0, -1] allowzero=1", "f32(0, 0)"},
      {"transpose", "f32(2, n, 4)", "axes=[-1, 0, 1]", "f32(4, 2, n)"},
      {"transpose", "f32(2, 3)", "axes=[0]", "! permute"},
      {"squeeze", "f32(1, ?, 1)", "axis=[0, 1]", "f32(1)"},
      {"squeeze", "f32(1, 2)", "", "f32(2)"},
      {"squeeze", "f32(1, ?)", "", "! name them"},
      {"squeeze", "f32(2, 2)", "axis=[0]", "! is not 1"},
      {"expand_dims", "f32(2)", "axis=-1 num_newaxis=2", "f32(2, 1, 1)"},
      {"broadcast_to", "f32(1, 3)", "shape=[n, 3]", "f32(n, 3)"},
      {"broadcast_to", "f32(2)", "shape=[3]", "! (2) does not broadcast"},
      {"concatenate", "{f32(2, n) f32(3, n)}", "", "f32(5, n)"},
      {"concatenate", "{f32(4, ?) f32(4, 3)}", "axis=1", "f32(4, ?)"},
      {"concatenate", "{f32(4, 2) f32(4, 3)}", "axis=0", "! (4, 3)"},
      {"concatenate", "f32(4, 2)", "", "! tuple"},
      {"stack", "{f32(2) f32(?)}", "axis=1", "f32(2, 2)"},
      {"split", "f32(6, n)", "indices_or_sections=2", "{f32(3, n) f32(3, n)}"},
      {"split", "f32(6)", "indices_or_sections=[1, 4]",
       "{f32(1) f32(3) f32(2)}"},
      {"split", "f32(7)", "indices_or_sections=2", "! equal parts"},
      {"split", "f32(n)", "indices_or_sections=[1]", "{f32(1) f32(n - 1)}"},
      {"strided_slice", "f32(5, n)", "begin=[1] end=[-1]", "f32(3, n)"},
      {"strided_slice", "f32(9)", "begin=[8] end=[-20] strides=[-3]", "f32(3)"},
      {"strided_slice", "f32(9)", "begin=[3] end=[2]", "! ends before"},
      {"strided_slice", "f32(?)", "begin=[1] end=[3]", "f32(?)"},
      {"tile", "f32(n, 2)", "reps=[2, 1, 3]", "f32(2, n, 6)"},
      {"repeat", "f32(n)", "repeats=3 axis=0", "f32(n * 3)"},
      {"reverse", "f32(2)", "axis=1", "! axis 1 is out of range"},
  };
  CHECK_ROWS(rows);
}

static void making_and_looking_up(void **state) {
  (void)state;
  static const Row rows[] = {
      {"zeros", "", "shape=[2, n] dtype=int8", "i8(2, n)"},
      {"zeros", "", "shape=[2, -3]", "! negative"},
      {"zeros", "", "shape=[3037000500, 3037000500, 9]", "! too large"},
      {"full", "f64()", "shape=[2]", "f64(2)"},
      {"arange", "i32() i32() i32()", "", "i32(?)"},
      {"arange", "i32() f32()", "", "! int32 and float32"},
      {"shape_of", "f32(n, 2, ?)", "", "i32(3)"},
      {"shape_of", "f32()", "dtype=int64", "i64(0)"},
      {"one_hot", "i32(2, n) f32() f32()", "depth=5 axis=0", "f32(5, 2, n)"},
      {"take", "f32(5, n) i32(2, 3)", "axis=0", "f32(2, 3, n)"},
      {"take", "f32(5, n) i32()", "axis=1", "f32(5)"},
      {"take", "f32(5, n) f32()", "axis=1", "! integer"},
      {"gather", "f32(3, 4) i64(3, 2)", "axis=1", "f32(3, 2)"},
      {"gather_nd", "f32(3, 4, n) i32(2, 7)", "", "f32(7, n)"},
      {"gather_nd", "f32(3, 4) i32(3, 7)", "", "! more axes"},
      {"argwhere", "f32(2, 3)", "", "i32(?, 2)"},
      {"topk", "f32(3, n)", "k=2", "{f32(3, 2) i32(3, 2)}"},
      {"topk", "f32(3, 4)", "k=5", "! shorter"},
      {"random.threefry_generate", "u64(10)", "out_shape=[4]",
       "{u64(10) u64(4)}"},
      {"random.threefry_generate", "u64(9)", "out_shape=[4]", "! (10)"},
  };
  CHECK_ROWS(rows);
}

/* --- The table ----------------------------------------------------------- */

static void names_and_arguments(void **state) {
  (void)state;
  bool dyn;
  assert_int_equal(op_find("nn.dense", &dyn), OP_NN_DENSE);
  assert_false(dyn);
  assert_int_equal(op_find("dyn.reshape", &dyn), OP_RESHAPE);
  assert_true(dyn);
  assert_int_equal(op_find("dyn.exp", &dyn), OP_COUNT);
  assert_int_equal(op_find("no.such", &dyn), OP_COUNT);
  const OpInfo *pad = op_info(OP_NN_PAD);
  assert_int_equal(op_arg_count(pad), 2);
  OpArg value = op_arg(pad, 1);
  assert_memory_equal(value.name, "pad_value", (size_t)value.len);
  assert_true(value.optional);
  assert_true(op_arg(op_info(OP_CONCATENATE), 0).tuple);
  assert_int_equal(op_arg_count(op_info(OP_ZEROS)), 0);
}

/* Every row is complete, and found by its name. */
static void rows_are_complete(void **state) {
  (void)state;
  for (int i = 0; i < OP_COUNT; i++) {
    const OpInfo *op = op_info(i);
    bool dyn;
    assert_int_equal(op_find(op->name, &dyn), i);
    assert_non_null(op_rule(op)->run);
    assert_non_null(op->doc);
    assert_non_null(op->formula);
    assert_non_null(op->example);
    assert_int_equal(!op_kernel(op), op->storage == STORE_SPECIAL);
    assert_int_equal(op->special != SPECIAL_NONE, op->storage == STORE_SPECIAL);
    if (op->view) assert_int_equal(op->storage, STORE_VIEW);
    if (op->params[0]) assert_int_equal(op->fusion, FUSION_STEP);
    assert_true(op_arg_count(op) <= OP_ARGS_MAX);
    assert_true(op_attr_count(op) <= ATTRS_MAX);
  }
}

/* --- Trials -------------------------------------------------------------- */

/* A call of `transpose` with an operand of unknown rank and a list of unknown
 * length: many trials, each of which releases what it allocated.  Where memory
 * or time has run out (lib/program.c), there are none. */
static void trials_end_and_take_no_memory(void **state) {
  (void)state;
  RuleBench b;
  open_bench(&b);
  Attrs *attrs = attrs_new(&b.arena, op_info(OP_TRANSPOSE));
  AttrValue *axes = (AttrValue *)attr_get(attrs, ATTR_axes);
  *axes = (AttrValue){.state = AV_SET, .operand = 1, .count = COUNT_UNKNOWN};
  RuleType args[] = {
      {.kind = RT_TENSOR, .dtype = DT_FLOAT32, .rank = RANK_ANY},
      {.kind = RT_TENSOR, .dtype = DT_INT64, .rank = 1, .dims = {DIM_ANY}}};
  RuleCall c = {.op = op_info(OP_TRANSPOSE),
                .attrs = attrs,
                .count = 2,
                .args = args,
                .dims = b.dims,
                .arena = &b.arena};
  RuleCall again = c;
  size_t before = b.mem.live;
  assert_int_equal(rule_try(&c), RULE_OK);
  assert_int_equal(c.result.rank, RANK_ANY);
  assert_true(b.mem.live - before < 1 << 20);
  mem_raise_exhausted(&b.mem);
  assert_int_equal(rule_try(&again), RULE_WAIT);
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broadcasting),
      cmocka_unit_test(products),
      cmocka_unit_test(reductions),
      cmocka_unit_test(shapes),
      cmocka_unit_test(making_and_looking_up),
      cmocka_unit_test(names_and_arguments),
      cmocka_unit_test(rows_are_complete),
      cmocka_unit_test(trials_end_and_take_no_memory),
  };
  return RUN_TESTS(tests);
}
