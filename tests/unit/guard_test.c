/* Nothing is read or written outside a tensor, and the law holds.  Here every
 * buffer, and every packed form of one, ends, or begins, at a page that may not
 * be touched: the Makefile has the linker put __wrap_buffer_new in place of
 * buffer_new, and so on.  On such buffers run the example of each row of the
 * operator table and every conformance case of operators, with each instruction
 * set; __wrap_op_finish runs each operator again and otherwise, and compares
 * bits.  What the results should be, others check.
 *
 * Why so: a read beyond a tensor gives the right result nearly always, and the
 * address sanitizer does not see it where the bytes belong to another live
 * block.  A page that may not be touched ends the process at the very
 * instruction.  Both ends are tried, in two runs, since a buffer can only lie
 * against one page. */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "include/rly.h"
#include "kernels/isa.h"
#include "tests/unit/ops.h"

static bool at_start;       /* of the pages; else their end */
static const char *running; /* what a fault would be blamed on */
static const char *isa;     /* the instruction set in use */

/* --- Buffers ----------------------------------------------------------------
 * A page that says how long the mapping is, a guard, the elements, a guard. */

typedef struct Mapping {
  size_t whole;
  struct Mapping *next;
} Mapping;

/* Free mappings with one page of elements, which most are: to map and to unmap
 * one takes longer than what is tried in it.  So this test does not see what
 * reads a buffer after its end, which the address sanitizer does elsewhere. */
static _Thread_local Mapping *kept;

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void unmap(void *base) {
  Mapping *m = base;
  if (m->whole == 4 * page_size()) {
    m->next = kept;
    kept = m;
  } else {
    munmap(m, m->whole);
  }
}

static char *map_guarded(size_t size) {
  size_t page = page_size(), room = (size + page - 1) / page * page;
  size_t whole = room + 3 * page;
  Mapping *m = kept;
  if (m && m->whole == whole) {
    kept = m->next;
    return (char *)m;
  }
  char *base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  mprotect(base, page, PROT_READ | PROT_WRITE);
  mprotect(base + 2 * page, room, PROT_READ | PROT_WRITE);
  *(Mapping *)base = (Mapping){.whole = whole};
  return base;
}

Buffer *__wrap_buffer_new(Heap *h, size_t size);
Buffer *__wrap_buffer_new(Heap *h, size_t size) {
  char *base = size < SIZE_MAX / 2 ? map_guarded(size) : NULL;
  if (!base) return NULL;
  size_t page = page_size(), rest = (page - size % page) % page;
  char *data = base + 2 * page + (at_start ? 0 : rest);
  Buffer *b = buffer_borrow(h, data, size, unmap, base);
  if (b) b->flags = BUFFER_FOREIGN;
  else unmap(base);
  return b;
}

/* Packed panels; a multiple of 64 bytes. */
void *__wrap_mem_alloc_aligned(Mem *m, size_t size);
void *__wrap_mem_alloc_aligned(Mem *m, size_t size) {
  (void)m;
  size_t page = page_size(), whole = (size + 63) / 64 * 64;
  char *base = map_guarded(whole);
  if (!base) return NULL;
  return base + 2 * page + (at_start ? 0 : (page - whole % page) % page);
}

void __wrap_mem_free_aligned(Mem *m, void *p, size_t size);
void __wrap_mem_free_aligned(Mem *m, void *p, size_t size) {
  (void)m, (void)size;
  size_t page = page_size();
  if (p) unmap((char *)((uintptr_t)p / page * page) - 2 * page);
}

/* --- The same operator again --------------------------------------------- */

enum { GUARD_ARGS = 64 };

/* Repeating the call on these operands gives the same results. */
static void run_again(const OpCall *before, const Tensor *const *args,
                      const OpCall *expected, const char *how) {
  OpCall again = *before;
  again.args = args;
  again.ending = 0;
  if (!op_run(&again))
    fail_msg("%s, %s: %s", running, how, again.fault.message);
  assert_int_equal(again.out_count, expected->out_count);
  for (int i = 0; i < again.out_count; i++) {
    if (!tensor_same(again.outs[i], expected->outs[i]))
      fail_msg("%s, %s: `%s` differs on %s", running, isa, before->op->name,
               how);
    tensor_drop(before->heap, again.outs[i]);
  }
}

static void run_laid_out(const OpCall *before, Tensor *const *copies,
                         const OpCall *expected, const Layout *layout) {
  Tensor *args[GUARD_ARGS];
  for (int i = 0; i < before->arg_count; i++)
    args[i] = layout->lay(before->heap, copies[i]);
  run_again(before, (const Tensor *const *)args, expected, layout->name);
  for (int i = 0; i < before->arg_count; i++)
    tensor_drop(before->heap, args[i]);
}

/* A weight is packed when it comes a second time. */
static void run_otherwise(const OpCall *before, Tensor *const *copies,
                          const OpCall *expected) {
  const Tensor *const *args = (const Tensor *const *)copies;
  for (int i = 0; i < 2; i++)
    run_again(before, args, expected, "the same operands");
  for (size_t i = 0; i < LENGTH(layouts); i++)
    run_laid_out(before, copies, expected, &layouts[i]);
  isa_select("reference");
  run_again(before, args, expected, "the reference kernels");
  isa_select(isa);
}

bool __real_op_finish(OpCall *call);
bool __wrap_op_finish(OpCall *call);

/* The call itself may write its result over an operand. */
bool __wrap_op_finish(OpCall *call) {
  OpCall before = *call;
  Tensor *copies[GUARD_ARGS];
  assert_true(call->arg_count <= GUARD_ARGS);
  for (int i = 0; i < call->arg_count; i++)
    copies[i] = tensor_copy(call->heap, call->args[i]);
  bool ok = __real_op_finish(call);
  if (ok) run_otherwise(&before, copies, call);
  for (int i = 0; i < before.arg_count; i++)
    tensor_drop(before.heap, copies[i]);
  return ok;
}

/* --- Running ------------------------------------------------------------- */

typedef struct Run {
  rly_context *cx;
  rly_program *program;
  rly_session *session;
} Run;

static Run run_open(const char *what) {
  Run r = {.cx = rly_context_new(NULL)};
  running = what;
  r.program = rly_program_new(r.cx);
  assert_non_null(r.program);
  return r;
}

static void run_close(Run *r) {
  rly_session_free(r->session);
  rly_program_free(r->program);
  rly_context_free(r->cx);
}

static void must(Run *r, rly_status status) {
  if (status == RLY_OK) return;
  fail_msg("%s: %s", running, rly_session_diagnostics_text(r->session, false));
}

static void run_example(const OpInfo *op) {
  char text[512];
  int n = snprintf(text, sizeof text, "%s;", op->example);
  assert_true(n < (int)sizeof text);
  Run r = run_open(op->name);
  must(&r, rly_program_add_text(r.program, "example", text, (size_t)n, 0));
  r.session = rly_session_new(r.program, NULL);
  must(&r, rly_session_run(r.session, NULL, NULL));
  run_close(&r);
}

/* Binds a copy of the file's tensor of that name. */
static void bind_copy(Run *r, const rly_tensors *file, const char *name) {
  rly_tensor *t = rly_tensors_get(file, name);
  assert_non_null(t);
  int64_t shape[RANK_MAX];
  int rank = rly_tensor_rank(t);
  for (int i = 0; i < rank; i++) shape[i] = rly_tensor_dim(t, i);
  rly_tensor *copy = rly_tensor_new(r->cx, rly_tensor_dtype(t), rank, shape,
                                    rly_tensor_data(t));
  must(r, rly_program_bind_tensor(r->program, name, copy));
  rly_tensor_free(copy);
  rly_tensor_free(t);
}

static void bind_file(Run *r, const rly_function *f, const char *program) {
  char path[256];
  int stem = (int)(strrchr(program, '.') - program);
  snprintf(path, sizeof path, "%.*s.safetensors", stem, program);
  rly_tensors *file;
  must(r, rly_tensors_read(r->cx, path, &file));
  for (int i = 0; i < rly_function_param_count(f); i++)
    bind_copy(r, file, rly_function_param_name(f, i));
  rly_tensors_free(file);
}

static void run_case(const char *path) {
  Run r = run_open(path);
  must(&r, rly_program_add_file(r.program, path, 0));
  const rly_function *f = rly_program_function(r.program, "main");
  bind_file(&r, f, path);
  r.session = rly_session_new(r.program, NULL);
  rly_value *result;
  must(&r, rly_session_call_bound(r.session, f, &result));
  rly_value_free(result);
  run_close(&r);
}

/* Under the address sanitizer, which takes ten times as long and sees most of
 * the same, only every eighth case runs. */
enum { CASE_STRIDE = SANITIZER_ADDRESS ? 8 : 1 };

static void run_all(void) {
  for (int i = 0; i < OP_COUNT; i++) run_example(op_info(i));
  glob_t cases;
  assert_int_equal(glob("tests/conformance/ops/*.rly", 0, NULL, &cases), 0);
  for (size_t i = 0; i < cases.gl_pathc; i += CASE_STRIDE)
    run_case(cases.gl_pathv[i]);
  globfree(&cases);
}

/* --- Tests --------------------------------------------------------------- */

/* May a byte be read?  The system says so without a fault. */
static bool readable(const char *byte) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  bool can = write(ends[1], byte, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return can;
}

static void tensors_are_guarded(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  for (int64_t n = 1; n < 70; n += 17) {
    float elements[70] = {0};
    rly_tensor *t = rly_tensor_new(cx, "float32", 1, &n, elements);
    const char *data = rly_tensor_data(t), *end = data + 4 * n;
    assert_true(readable(data) && readable(end - 1));
    assert_false(readable(at_start ? data - 1 : end));
    rly_tensor_free(t);
  }
  rly_context_free(cx);
}

/* Names the culprit, then faults again. */
static void blame(int signal) {
  (void)signal;
  ssize_t ignored = write(STDERR_FILENO, running, strlen(running));
  ignored += write(STDERR_FILENO, ": outside a tensor\n", 19);
  (void)ignored;
}

static void on_each_instruction_set(void **state) {
  static const char *const names[] = {"reference", "generic", "avx2", "avx512",
                                      "neon"};
  struct sigaction act = {.sa_handler = blame, .sa_flags = SA_RESETHAND};
  sigaction(SIGSEGV, &act, NULL);
  for (size_t i = 0; i < LENGTH(names); i++)
    if (rly_instruction_set(isa = names[i])) {
      tensors_are_guarded(state);
      run_all();
    }
}

static void ends_are_kept(void **state) {
  at_start = false;
  on_each_instruction_set(state);
}

static void beginnings_are_kept(void **state) {
  at_start = true;
  on_each_instruction_set(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_are_kept),
      cmocka_unit_test(beginnings_are_kept),
  };
  return RUN_TESTS(tests);
}
