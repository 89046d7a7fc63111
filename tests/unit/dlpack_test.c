/* Tensors of other libraries (rly_value_of_dlpack and its neighbours): what
 * goes in and out shares its memory, strided as it is; each deleter is called
 * once; what cannot be taken is told and stays its owner's.  python/tests
 * compares with torch and numpy.
 *
 * The structure is written here once more, from DLPack's specification, so that
 * a mistake in lib/dlpack.c's would show. */
#include <stdlib.h>

#include "tests/unit/host.h"

typedef struct DLManagedTensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DL;

static int deleted;

static void on_delete(DL *t) {
  (void)t;
  deleted++;
}

static int64_t shape[] = {2, 3}, down[] = {1, 2};

/* Of float32 on the CPU, 2 by 3. */
static DL matrix(float *data, int64_t *strides) {
  return (DL){.data = data,
              .device_type = 1,
              .ndim = 2,
              .code = 2,
              .bits = 32,
              .lanes = 1,
              .shape = shape,
              .strides = strides,
              .deleter = on_delete};
}

/* --- In ------------------------------------------------------------------- */

/* Column by column: 1 3 5 / 2 4 6. */
static void test_value_in(void **state) {
  (void)state;
  Host h = host_open(
      "def @f(%x: Tensor[(?, ?), float32]) { %x }\n"
      "def @g(%x: Tensor[(?, ?), float32]) { sum(%x * "
      "[[0f, 0f, 0f], [1f, 1f, 1f]]) }\n");
  float data[] = {0, 1, 2, 3, 4, 5, 6};
  DL t = matrix(data, down);
  t.byte_offset = sizeof *data;
  deleted = 0;
  rly_value *v = rly_value_of_dlpack(h.s, &t, false), *y, *z;
  rly_array a;
  assert_true(rly_value_array(v, &a));
  assert_ptr_equal(a.data, data + 1);
  assert_true(a.strided && a.strides[0] == 1 && a.strides[1] == 2);
  assert_int_equal(rly_session_call(h.s, "g", 1, &v, &y), RLY_OK);
  assert_true(*(const float *)rly_value_elements(y) == 12);
  assert_int_equal(rly_session_call(h.s, "f", 1, &v, &z), RLY_OK);
  rly_value_free(v);
  assert_int_equal(deleted, 0);
  rly_value_free(z);
  assert_int_equal(deleted, 1);
  rly_value_free(y);
  /* copied: the memory is free for others at once */
  v = rly_value_of_dlpack(h.s, &t, true);
  assert_int_equal(deleted, 2);
  data[4] = 100;
  char *text = rly_value_text(v);
  assert_string_equal(
      text, "Tensor[(2, 3), float32]\n[[1.0, 3.0, 5.0],\n [2.0, 4.0, 6.0]]");
  rly_text_free(h.cx, text);
  rly_value_free(v);
  host_close(&h);
  assert_int_equal(deleted, 2);
}

/* A scalar is read at once; no deleter and no elements are allowed; elements
 * that are not aligned are copied. */
static void test_odd_ones(void **state) {
  (void)state;
  Host h = host_open("");
  float data[3] = {7, 8, 9};
  DL t = matrix(data, NULL);
  deleted = 0;
  t.ndim = 0;
  rly_value *v = rly_value_of_dlpack(h.s, &t, false);
  assert_int_equal(deleted, 1);
  assert_true(*(const float *)rly_value_elements(v) == 7);
  rly_value_free(v);
  int64_t none[] = {0, 3};
  t = matrix(NULL, down);
  t.shape = none;
  v = rly_value_of_dlpack(h.s, &t, false);
  assert_int_equal(rly_value_count(v), 0);
  rly_value_free(v);
  rly_tensor *w = rly_tensor_of_dlpack(h.cx, &t, false);
  assert_int_equal(rly_tensor_count(w), 0);
  rly_tensor_free(w);
  assert_int_equal(deleted, 3);
  char bytes[16] = {0};
  memcpy(bytes + 1, data, sizeof data);
  int64_t three[] = {3};
  t = matrix((float *)(bytes + 1), NULL);
  t.ndim = 1;
  t.shape = three;
  t.deleter = NULL;
  v = rly_value_of_dlpack(h.s, &t, false);
  bytes[1] = 1;
  assert_true(((const float *)rly_value_elements(v))[2] == 9);
  rly_value_free(v);
  host_close(&h);
}

static void assert_refused(Host *h, DL t, const char *why) {
  deleted = 0;
  assert_null(rly_value_of_dlpack(h->s, &t, false));
  assert_null(rly_value_of_dlpack(h->s, &t, true));
  assert_non_null(strstr(rly_misuse(), why));
  assert_ptr_equal(strstr(rly_misuse(), "rly_value_of_dlpack: "), rly_misuse());
  assert_null(rly_tensor_of_dlpack(h->cx, &t, false));
  assert_null(rly_tensor_of_dlpack(h->cx, &t, true));
  assert_ptr_equal(strstr(rly_misuse(), "rly_tensor_of_dlpack: "),
                   rly_misuse());
  assert_int_equal(deleted, 0);
}

static void test_refused(void **state) {
  (void)state;
  Host h = host_open("");
  float data[6] = {0};
  DL t = matrix(data, NULL);
  t.device_type = 2;
  assert_refused(&h, t, "device of type 2");
  t = matrix(data, NULL), t.code = 5;
  assert_refused(&h, t, "code 5, 32 bits");
  t = matrix(data, NULL), t.lanes = 4;
  assert_refused(&h, t, "4 lanes");
  t = matrix(data, NULL), t.code = 0, t.bits = 4;
  assert_refused(&h, t, "code 0, 4 bits");
  t = matrix(data, NULL), t.code = 1, t.bits = 1;
  assert_refused(&h, t, "code 1, 1 bits");
  t = matrix(data, NULL), t.ndim = 9;
  assert_refused(&h, t, "rank is 9");
  t = matrix(NULL, NULL);
  assert_refused(&h, t, "elements are NULL");
  int64_t large[] = {INT64_MAX, 3}, far[] = {INT64_MAX, 1}, minus[] = {-1, 3};
  t = matrix(data, NULL), t.shape = large;
  assert_refused(&h, t, "too many elements");
  int64_t wide[] = {(int64_t)1 << 32, (int64_t)1 << 32, 2};
  int64_t apart[] = {(int64_t)1 << 33, 2, 1}; /* their product overflows */
  t = matrix(data, apart), t.ndim = 3, t.shape = wide;
  assert_refused(&h, t, "too many elements");
  t = matrix(data, NULL), t.shape = minus;
  assert_refused(&h, t, "negative dimension");
  t = matrix(data, far);
  assert_refused(&h, t, "strides are too large");
  uint8_t two[] = {0, 1, 2, 0, 1, 1};
  t = matrix((float *)two, NULL), t.code = 6, t.bits = 8;
  assert_refused(&h, t, "an element is none of the dtype");
  assert_null(rly_value_of_dlpack(h.s, NULL, false));
  assert_null(rly_value_of_dlpack(NULL, &t, false));
  host_close(&h);
}

/* --- Out ------------------------------------------------------------------ */

static void give_back(DL *t) { t->deleter(t); }

/* It outlives its value, its session, its program and its context. */
static void test_value_out(void **state) {
  (void)state;
  Host h = host_open(
      "def @f() { transpose([[1f, 2f, 3f], [4f, 5f, 6f]]) }\n"
      "def @one() { 7i64 }\n"
      "def @yes() { [True, False] }\n"
      "def @four() { [1i4] }\ndef @pair() { (1, 2) }\n");
  rly_value *v;
  assert_int_equal(rly_session_call(h.s, "f", 0, NULL, &v), RLY_OK);
  rly_array a;
  assert_true(rly_value_array(v, &a));
  DL *t = rly_value_dlpack(v);
  assert_ptr_equal((char *)t->data + t->byte_offset, a.data);
  assert_int_equal(t->device_type, 1);
  assert_int_equal(t->ndim, 2);
  assert_true(t->code == 2 && t->bits == 32 && t->lanes == 1);
  assert_true(t->shape[0] == 3 && t->shape[1] == 2);
  const float *x = (const float *)((char *)t->data + t->byte_offset);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++)
      assert_true(x[i * t->strides[0] + k * t->strides[1]] ==
                  (float)(3 * k + i + 1));
  rly_value_free(v);
  rly_value *again = rly_value_of_dlpack(h.s, t, false);
  rly_value_free(again); /* which gives it back */
  assert_int_equal(rly_session_call(h.s, "one", 0, NULL, &v), RLY_OK);
  t = rly_value_dlpack(v);
  rly_value_free(v);
  assert_true(t->ndim == 0 && t->code == 0 && t->bits == 64 &&
              *(int64_t *)t->data == 7);
  give_back(t);
  assert_int_equal(rly_session_call(h.s, "four", 0, NULL, &v), RLY_OK);
  assert_null(rly_value_dlpack(v));
  assert_non_null(strstr(rly_misuse(), "packs the elements of int4"));
  rly_value_free(v);
  assert_int_equal(rly_session_call(h.s, "pair", 0, NULL, &v), RLY_OK);
  assert_null(rly_value_dlpack(v));
  rly_value_free(v);
  assert_null(rly_value_dlpack(NULL));
  assert_int_equal(rly_session_call(h.s, "yes", 0, NULL, &v), RLY_OK);
  t = rly_value_dlpack(v);
  rly_value_free(v);
  host_close(&h);
  assert_true(t->code == 6 && t->bits == 8 && ((uint8_t *)t->data)[0] == 1);
  give_back(t);
}

/* --- Params --------------------------------------------------------------- */

static void test_tensors(void **state) {
  (void)state;
  Host h = host_open("");
  float data[] = {1, 2, 3, 4, 5, 6};
  DL t = matrix(data, NULL);
  deleted = 0;
  rly_tensor *w = rly_tensor_of_dlpack(h.cx, &t, false);
  assert_ptr_equal(rly_tensor_data(w), data);
  DL *out = rly_tensor_dlpack(w);
  assert_ptr_equal(out->data, data);
  rly_tensor_free(w);
  assert_int_equal(deleted, 0);
  give_back(out);
  assert_int_equal(deleted, 1);
  t = matrix(data, down);
  w = rly_tensor_of_dlpack(h.cx, &t, false);
  assert_int_equal(deleted, 2);
  assert_memory_equal(rly_tensor_data(w), ((float[]){1, 3, 5, 2, 4, 6}), 24);
  rly_tensor_free(w);
  t = matrix(data, NULL);
  w = rly_tensor_of_dlpack(h.cx, &t, true);
  assert_int_equal(deleted, 3);
  data[0] = 0;
  assert_true(((const float *)rly_tensor_data(w))[0] == 1);
  rly_tensor_free(w);
  assert_null(rly_tensor_dlpack(NULL));
  host_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_value_in), cmocka_unit_test(test_odd_ones),
      cmocka_unit_test(test_refused),  cmocka_unit_test(test_value_out),
      cmocka_unit_test(test_tensors),
  };
  return RUN_TESTS(tests);
}
