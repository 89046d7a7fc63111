/* io/: valid files, invalid files, and what happens to files when something
 * goes wrong.  The bytes of valid files are written by hand from the formats'
 * descriptions.
 *
 * A file is untrusted input, so most of these files lie: headers longer than
 * the file, offsets that overlap or leave gaps, lengths whose product
 * overflows.  Each must be refused with a message that names the file and the
 * reason.  Writing is tried where it cannot succeed (a full device, a folder
 * that is not there), and no temporary file may be left (desk.h). */
#include "tests/unit/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "io/npy.h"
#include "io/safetensors.h"
#include "io/text.h"

/* A safetensors file: the header's length, the header, `size` bytes. */
static void write_safetensors(const Desk *d, const char *header,
                              const void *data, size_t size) {
  char bytes[1000];
  uint64_t len = strlen(header);
  memcpy(bytes, &len, 8);
  memcpy(bytes + 8, header, len);
  memcpy(bytes + 8 + len, data, size);
  write_bytes(d, bytes, 8 + len + size);
}

/* --- safetensors --------------------------------------------------------- */

static void safetensors_by_hand(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  /* 144 bytes, so that the floats are aligned in the file. */
  const char *header =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"b\":{\"dtype\":\"I16\",\"shape\":[],\"data_offsets\":[24,26]},"
      "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}"
      "  ";
  float data[7] = {1, 2, 3, 4, 5, 6};
  int16_t scalar = -7;
  memcpy(data + 6, &scalar, 2);
  write_safetensors(&d, header, data, 26);
  TensorFile *f = safetensors_read(d.path, &d.heap, &d.diags);
  assert_non_null(f);
  assert_int_equal(f->tensors.len, 2);
  assert_string_equal(tensor_file_metadata(f, "format"), "pt");
  assert_null(tensor_file_metadata(f, "other"));
  assert_null(tensor_file_find(f, "nothing"));
  Tensor *w = tensor_file_find(f, "w"), *b = tensor_file_find(f, "b");
  assert_int_equal(b->dtype, DT_INT16);
  assert_int_equal(b->rank, 0);
  assert_int_equal(tensor_i64_at(b, 0), -7);
  assert_true(w->rank == 2 && w->shape[0] == 2 && w->shape[1] == 3);
  for (int i = 0; i < 6; i++) assert_true(tensor_f64_at(w, i) == i + 1);

  /* The mapping outlives the table and even the file's name. */
  assert_false(buffer_writable(w->buffer));
  tensor_keep(w);
  tensor_file_free(f);
  unlink(d.path);
  assert_true(tensor_f64_at(w, 5) == 6);
  tensor_drop(&d.heap, w);
  desk_close(&d);
}

static void misaligned_tensors_are_copied(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  const char *header =
      "{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]},"
      "\"b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[1,17]}}";
  char data[17] = {1};
  memcpy(data + 1, (double[]){0.5, -2}, 16);
  for (int blanks = 0; blanks < 8; blanks++) {
    char padded[200];
    sprintf(padded, "%s%*s", header, blanks, "");
    write_safetensors(&d, padded, data, sizeof data);
    TensorFile *f = safetensors_read(d.path, &d.heap, &d.diags);
    assert_non_null(f);
    Tensor *b = tensor_file_find(f, "b");
    assert_int_equal((uintptr_t)b->data % 8, 0);
    assert_true(tensor_f64_at(b, 0) == 0.5 && tensor_f64_at(b, 1) == -2);
    tensor_file_free(f);
  }
  desk_close(&d);
}

/* Each header goes with 8 bytes of data. */
static void lying_headers(void **state) {
  (void)state;
#define ENTRY(name, dtype, shape, offsets)                 \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape \
  ","                                                      \
  "\"data_offsets\":" offsets "}"
  static const struct {
    const char *header, *why;
  } rows[] = {
      {"{" ENTRY("t", "F32", "[2]", "[0,8]"), "not JSON"},
      {"[]", "not a JSON object"},
      {"{}", "last 8 bytes belong to no tensor"},
      {"{\"t\":5}", "has no dtype"},
      {"{" ENTRY("t", "F32", "2", "[0,8]") "}", "has no shape"},
      {"{" ENTRY("t", "F32", "[2.0]", "[0,8]") "}", "is no size"},
      {"{" ENTRY("t", "F32", "[-2]", "[0,8]") "}", "is no size"},
      {"{" ENTRY("t", "F33", "[2.0]", "[0,8]") "}", "is no size"},
      {"{" ENTRY("t", "F33", "[2]", "[0,12]") "}", "beyond the end"},
      {"{" ENTRY("t", "F33", "[2]", "[0,4]") "}", "last 4 bytes"},
      {"{" ENTRY("t", "F32", "[1,1,1,1,1,1,1,1,-2]", "[0,8]") "}",
       "is no size"},
      {"{" ENTRY("t", "F32", "[1,1,1,1,1,1,1,1,3]", "[0,8]") "}",
       "needs 12 bytes, but has 8"},
      {"{" ENTRY("t", "U8", "[1,1,1,1,1,1,1,4294967296,2147483648]",
                 "[0,8]") "}",
       "larger than memory"},
      {"{" ENTRY("t", "F33", "[4294967296,2147483648]", "[0,8]") "}",
       "larger than memory"},
      {"{" ENTRY("t", "F33", "[0,4294967296,2147483648]", "[0,8]") "}",
       "larger than memory"},
      {"{" ENTRY("t", "F32", "[2]", "[0]") "}", "no valid data_offsets"},
      {"{" ENTRY("t", "F32", "[2]", "[8,0]") "}", "no valid data_offsets"},
      {"{" ENTRY("t", "F32", "[2]", "[-8,0]") "}", "no valid data_offsets"},
      {"{" ENTRY("t", "F32", "[2]", "[0,8.5]") "}", "no valid data_offsets"},
      {"{" ENTRY("t", "F32", "[2]", "{}") "}", "no valid data_offsets"},
      {"{" ENTRY("t", "F32", "[3]", "[0,12]") "}", "beyond the end"},
      {"{" ENTRY("t", "F32", "[2]",
                 "[9223372036854775799,9223372036854775807]") "}",
       "beyond the end"},
      {"{" ENTRY("t", "F32", "[99999999999999999999]", "[0,8]") "}",
       "not JSON"},
      {"{" ENTRY("t", "F32", "[3]", "[0,8]") "}", "needs 12 bytes, but has 8"},
      {"{" ENTRY("t", "F64", "[4294967296,536870912]", "[0,8]") "}",
       "larger than memory"},
      {"{" ENTRY("t", "F64", "[4294967296,4294967297]", "[0,8]") "}",
       "larger than memory"},
      {"{" ENTRY("t", "F32", "[1]", "[0,4]") "}", "last 4 bytes"},
      {"{" ENTRY("t", "F32", "[1]", "[4,8]") "}", "bytes before tensor `t`"},
      {"{" ENTRY("t", "F32", "[2]", "[0,8]") "," ENTRY("u", "F32", "[1]",
                                                       "[4,8]") "}",
       "`u` overlaps"},
      {"{" ENTRY("t", "F32", "[2]", "[0,8]") "," ENTRY("t", "F32", "[2]",
                                                       "[0,8]") "}",
       "names one thing twice"},
      {"{\"__metadata__\":[]," ENTRY("t", "F32", "[2]", "[0,8]") "}",
       "__metadata__ is not"},
      {"{\"__metadata__\":{\"a\":1}," ENTRY("t", "F32", "[2]", "[0,8]") "}",
       "metadata `a` is not a string"},
      {"{" ENTRY("t", "BOOL", "[8]", "[0,8]") "}", "an element is no bool"},
  };
#undef ENTRY
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    write_safetensors(&d, rows[i].header, "\1\2\3\4\5\6\7\x8", 8);
    assert_null(safetensors_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, rows[i].why);
  }
  desk_close(&d);
}

/* What is none of rly's is left out of a sound file. */
static void safetensors_left_out(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  write_safetensors(
      &d,
      "{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,3]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]},"
      "\"c\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],"
      "\"data_offsets\":[7,8]}}",
      "\1\2\3\4\5\6\7\x8", 8);
  TensorFile *f = safetensors_read(d.path, &d.heap, &d.diags);
  assert_non_null(f);
  assert_int_equal(f->tensors.len, 1);
  assert_string_equal(f->tensors.data[0].name, "b");
  assert_memory_equal(f->tensors.data[0].tensor->data, "\4\5\6\7", 4);
  assert_int_equal(f->left_out.len, 2);
  assert_string_equal(f->left_out.data[0].name, "a");
  assert_string_equal(f->left_out.data[0].why,
                      "its dtype is F33, which is none of rly's");
  assert_string_equal(f->left_out.data[1].why,
                      "its rank is 9, and the most is 8");
  assert_false(tensor_file_is_whole(f, d.path, &d.diags));
  expect_error(&d, E0502, "cannot read `a` of");
  tensor_file_free(f);

  /* An empty one has no bytes; what the file calls a dtype is quoted. */
  write_safetensors(
      &d,
      "{\"a\":{\"dtype\":\"F\\n\\u001b[1m\",\"shape\":[0,9],"
      "\"data_offsets\":[0,0]},"
      "\"b\":{\"dtype\":\"F64\",\"shape\":[9,9,9,9,9,9,9,9,0],"
      "\"data_offsets\":[0,0]},"
      "\"c\":{\"dtype\":\"0123456789012345678901234567890123456789"
      "012345678901234567890123456789012345678\u00e9\",\"shape\":[],"
      "\"data_offsets\":[0,1]}}",
      "x", 1);
  f = safetensors_read(d.path, &d.heap, &d.diags);
  assert_non_null(f);
  assert_int_equal(f->left_out.len, 3);
  assert_string_equal(f->left_out.data[0].why,
                      "its dtype is F\\n\\u001b[1m, which is none of rly's");
  assert_string_equal(f->left_out.data[1].why,
                      "its rank is 9, and the most is 8");
  assert_non_null(strstr(f->left_out.data[2].why, "5678..., which"));
  tensor_file_free(f);
  desk_close(&d);
}

static void lying_lengths(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *why;
  } rows[] = {
      {"", 0, "only 0 bytes"},
      {"\2\0\0\0", 4, "only 4 bytes"},
      {"\3\0\0\0\0\0\0\0{}", 10, "would take 3 bytes, but 2 follow"},
      {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10, "18446744073709551615 bytes"},
      {"\0\0\0\0\0\0\0\0", 8, "not JSON"},
      {"\4\0\0\0\0\0\0\0{}\0\0", 12, "not JSON"},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    write_bytes(&d, rows[i].bytes, rows[i].size);
    assert_null(safetensors_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, rows[i].why);
  }
  write_bytes(&d, "\2\0\0\0\0\0\0\0{}", 10);
  TensorFile *f = safetensors_read(d.path, &d.heap, &d.diags);
  assert_non_null(f);
  assert_int_equal(f->tensors.len, 0);
  tensor_file_free(f);
  desk_close(&d);
}

static void safetensors_round_trip(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  NamedTensor tensors[DTYPE_COUNT];
  size_t n = fill_tensors(&d, tensors, false);
  MetaPair metadata[] = {{"format", "1"}, {"note", "line\nend"}};
  assert_true(
      safetensors_write(d.path, tensors, n, metadata, 2, &d.mem, &d.diags));
  TensorFile *f = safetensors_read(d.path, &d.heap, &d.diags);
  expect_tensors(f, tensors, n);
  assert_string_equal(tensor_file_metadata(f, "note"), "line\nend");
  tensor_file_free(f);
  drop_tensors(&d, tensors, n);
  desk_close(&d);
}

static void safetensors_bytes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {2};
  int16_t data[] = {1, -1};
  Tensor t = tensor_on_data(DT_INT16, 1, shape, data);
  NamedTensor named = {"t", &t};
  assert_true(safetensors_write(d.path, &named, 1, NULL, 0, &d.mem, &d.diags));
  const char *header =
      "{\"t\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]}}";
  char expected[68], bytes[100];
  memset(expected, ' ', 64);
  memcpy(expected, "\x38\0\0\0\0\0\0\0", 8);
  memcpy(expected + 8, header, strlen(header));
  memcpy(expected + 64, "\1\0\xFF\xFF", 4);
  assert_int_equal(read_bytes(&d, bytes, sizeof bytes), 68);
  assert_memory_equal(bytes, expected, 68);
  desk_close(&d);
}

/* --- npy ----------------------------------------------------------------- */

/* A file with this dict; `version` 1 has a length of two bytes, others four. */
static void write_npy(const Desk *d, int version, const char *dict,
                      const void *data, size_t size) {
  char bytes[1000] = "\x93NUMPY";
  size_t len = strlen(dict), at = version == 1 ? 10 : 12;
  bytes[6] = (char)version;
  bytes[8] = (char)len;
  memcpy(bytes + at, dict, len);
  memcpy(bytes + at + len, data, size);
  write_bytes(d, bytes, at + len + size);
}

static void npy_by_hand(void **state) {
  (void)state;
  static const int32_t data[] = {1, 2, 3, 4, 5, 6};
  static const struct {
    int version;
    const char *dict;
    const char *json;
  } rows[] = {
      {1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n",
       "{\"dtype\": \"int32\", \"shape\": [2, 3], "
       "\"data\": [1, 2, 3, 4, 5, 6]}"},
      {2, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), } \n",
       "{\"dtype\": \"int32\", \"shape\": [2, 3], "
       "\"data\": [1, 3, 5, 2, 4, 6]}"},
      {3, "{\"shape\":(6,),\"fortran_order\":False,\"descr\":\"<u4\"}",
       "{\"dtype\": \"uint32\", \"shape\": [6], "
       "\"data\": [1, 2, 3, 4, 5, 6]}"},
      {1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3L,)}",
       "{\"dtype\": \"int64\", \"shape\": [3], "
       "\"data\": [8589934593, 17179869187, 25769803781]}"},
  };
  Desk d;
  desk_open(&d);
  StrBuf out;
  strbuf_init(&out, &d.mem);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    write_npy(&d, rows[i].version, rows[i].dict, data, sizeof data);
    Tensor *t = npy_read(d.path, &d.heap, &d.diags);
    assert_non_null(t);
    VEC_CLEAR(&out);
    tensor_print_json(&out, t, NULL);
    assert_string_equal(strbuf_text(&out), rows[i].json);
    tensor_drop(&d.heap, t);
  }
  strbuf_done(&out);
  desk_close(&d);
}

/* Each dict goes with 8 bytes of data. */
static void lying_npy_headers(void **state) {
  (void)state;
  static const struct {
    const char *dict, *why;
  } rows[] = {
      {"", "not a dict"},
      {"{", "not a dict"},
      {"{}", "incomplete"},
      {"{'descr': '<f4', 'fortran_order': False}", "incomplete"},
      {"{'descr': '<f4', 'descr': '<f4'}", "unknown or repeated key"},
      {"{'other': 1}", "unknown or repeated key"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
       "its descr '>f4' is no little-endian dtype"},
      {"{'descr': 'O', 'fortran_order': False, 'shape': (2,)}",
       "its descr 'O' is no"},
      {"{'descr': '', 'fortran_order': False, 'shape': (2,)}",
       "its descr '' is no"},
      {"{'descr': [('a', '<f4', (1,)), ('b\\'', [('c', '<i4')])], "
       "'fortran_order': False, 'shape': (1,)}",
       "its descr [('a', '<f4', (1,)), ('b\\\\'', [('c', '<i4')])] is no"},
      {"{'descr': '|S8\x1B[1m\n', 'fortran_order': False, 'shape': (1,)}",
       "its descr '|S8\\u001b[1m\\n' is no"},
      {"{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}", "not a dict"},
      {"{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (2,)}",
       "its descr is no dtype"},
      {"{'descr': 4, 'fortran_order': False, 'shape': (2,)}",
       "its descr is no dtype"},
      {"{'descr': '>f4', 'fortran_order': False}", "incomplete"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", "its size"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "its size"},
      {"{'descr': '<U5', 'fortran_order': False, 'shape': (2,)}", "its size"},
      {"{'descr': '|S5', 'fortran_order': False, 'shape': (2,)}", "its size"},
      {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,)}",
       "its size"},
      {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}",
       "its descr '<M8[ns]' is no"},
      {"{'descr': 'O', 'fortran_order': False, "
       "'shape': (4294967296, 2147483648)}",
       "larger than memory"},
      {"{'descr': 'O', 'fortran_order': False, "
       "'shape': (0, 4294967296, 2147483648)}",
       "larger than memory"},
      {"{'descr': '|S4294967296', 'fortran_order': False, "
       "'shape': (2147483648,)}",
       "larger than memory"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "not a bool"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", "tuple"},
      {"{'descr': '<f4', 'fortran_order': False, "
       "'shape': (1,1,1,1,1,1,1,1,2)}",
       "its rank is 9, and the most is 8"},
      {"{'descr': '<f4', 'fortran_order': False, "
       "'shape': (1,1,1,1,1,1,1,1,3)}",
       "its size"},
      {"{'descr': '<f4', 'fortran_order': False, "
       "'shape': (1,1,1,1,1,1,1,4294967296,2147483648)}",
       "larger than memory"},
      {"{'descr': '<f4', 'fortran_order': False, "
       "'shape': (99999999999999999999,)}",
       "tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "its size"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "its size"},
      {"{'descr': '<f8', 'fortran_order': False, "
       "'shape': (4294967296, 4294967297)}",
       "larger than memory"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
       "text follows"},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (8,)}", "no bool"},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    write_npy(&d, 1, rows[i].dict, "\1\2\3\4\5\6\7\x8", 8);
    assert_null(npy_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, rows[i].why);
  }
  write_bytes(&d, "\x93NUMPY\1\0\xFF\xFF{}", 12);
  assert_null(npy_read(d.path, &d.heap, &d.diags));
  expect_error(&d, E0502, "does not begin as one");
  desk_close(&d);
}

static void npy_round_trip(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  NamedTensor tensors[DTYPE_COUNT];
  size_t n = fill_tensors(&d, tensors, false);
  for (size_t i = 0; i < n; i++) {
    assert_true(npy_write(d.path, tensors[i].tensor, &d.mem, &d.diags));
    Tensor *t = npy_read(d.path, &d.heap, &d.diags);
    assert_non_null(t);
    assert_int_equal((uintptr_t)t->data % 64, 0);
    assert_true(tensor_same(t, tensors[i].tensor));
    tensor_drop(&d.heap, t);
  }
  drop_tensors(&d, tensors, n);
  desk_close(&d);
}

static void npy_bytes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {2};
  uint8_t data[] = {5, 6};
  Tensor t = tensor_on_data(DT_UINT8, 1, shape, data);
  assert_true(npy_write(d.path, &t, &d.mem, &d.diags));
  const char *dict =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  char expected[130], bytes[200];
  memset(expected, ' ', 128);
  memcpy(expected, "\x93NUMPY\1\0\x76\0", 10);
  memcpy(expected + 10, dict, strlen(dict));
  memcpy(expected + 127, "\n\5\6", 3);
  assert_int_equal(read_bytes(&d, bytes, sizeof bytes), 130);
  assert_memory_equal(bytes, expected, 130);
  desk_close(&d);
}

/* --- Files --------------------------------------------------------------- */

static void text_files(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  static char bytes[200000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * i / 7);
  for (size_t size = 0; size <= sizeof bytes; size += 65536 / 2) {
    char *text;
    size_t len;
    write_bytes(&d, bytes, size);
    assert_true(text_read(&d.mem, d.path, &text, &len, &d.diags));
    assert_int_equal(len, size);
    assert_memory_equal(text, bytes, size);
    assert_int_equal(text[len], 0);
    mem_free(&d.mem, text, len + 1);
  }
  desk_close(&d);
}

/* A file that the limit of memory has no room for is not read further. */
static void text_beyond_memory(void **state) {
  (void)state;
  enum { LIMIT = 1 << 20 };
  Desk d;
  desk_open(&d);
  write_bytes(&d, "", 0);
  assert_int_equal(truncate(d.path, 16 * LIMIT), 0);
  Mem *mem = mem_child(&d.mem, LIMIT);
  char *text;
  size_t len;
  assert_false(text_read(mem, d.path, &text, &len, &d.diags));
  expect_error(&d, E0501, strerror(ENOMEM));
  assert_true(atomic_load(&mem->peak) < LIMIT + LIMIT / 5);
  mem_clear_exhausted(mem);
  mem_leave(mem);
  desk_close(&d);
}

static void unreadable_files(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  char *text;
  size_t len;
  assert_false(text_read(&d.mem, d.path, &text, &len, &d.diags));
  expect_error(&d, E0501, strerror(ENOENT));
  assert_null(safetensors_read(d.path, &d.heap, &d.diags));
  expect_error(&d, E0501, strerror(ENOENT));
  strcpy(d.path, d.folder);
  assert_false(text_read(&d.mem, d.path, &text, &len, &d.diags));
  expect_error(&d, E0501, strerror(EISDIR));
  assert_null(npy_read(d.path, &d.heap, &d.diags));
  expect_error(&d, E0501, "not a regular file");
  desk_close(&d);
}

static void failed_writes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Value bits = {.i32 = 1};
  Tensor t = tensor_on_bits(DT_INT32, &bits);
  strcpy(d.path, "/dev/full");
  assert_false(npy_write(d.path, &t, &d.mem, &d.diags));
  expect_error(&d, E0507, strerror(ENOSPC));
  snprintf(d.path, sizeof d.path, "%s/none/file", d.folder);
  assert_false(npy_write(d.path, &t, &d.mem, &d.diags));
  expect_error(&d, E0507, strerror(ENOENT));
  strcpy(d.path, "/dev/null");
  assert_true(npy_write(d.path, &t, &d.mem, &d.diags));
  struct stat info;
  assert_true(stat(d.path, &info) == 0 && S_ISCHR(info.st_mode));
  snprintf(d.path, sizeof d.path, "%s/file", d.folder);
  desk_close(&d);
}

/* Zeros stand where a file has become shorter, and are not written to another
 * one. */
static void cut_mappings(void **state) {
  (void)state;
  enum { MAPS = 200, SIZE = 1 << 20 };
  Desk d;
  Tensor *maps[MAPS];
  StrBuf path;
  desk_open(&d);
  strbuf_init(&path, &d.mem);
  mappings_outlive_cuts();
  write_bytes(&d, "", 0);
  assert_int_equal(truncate(d.path, SIZE), 0);
  for (int i = 0; i < MAPS; i++)
    assert_non_null(maps[i] = bytes_read(d.path, &d.heap, &d.diags));
  Tensor *last = maps[MAPS - 1];
  assert_false(mappings_cut(&path));
  assert_int_equal(truncate(d.path, 1), 0);
  assert_int_equal(last->data[0], 0);
  assert_false(mappings_cut(&path)); /* The first page is still there. */
  assert_int_equal(*(volatile char *)(last->data + SIZE / 2), 0);
  assert_int_equal(*(volatile char *)(last->data + SIZE / 4), 0);
  assert_true(mappings_cut(&path));
  assert_string_equal(strbuf_text(&path), d.path);
  assert_false(npy_write(d.path, last, &d.mem, &d.diags));
  expect_error(&d, E0507, "has become shorter");
  for (int i = 0; i < MAPS; i++) tensor_drop(&d.heap, maps[i]);
  assert_false(mappings_cut(&path));
  strbuf_done(&path);
  desk_close(&d);
}

/* A link stays one, a mode is kept, and an abandoned file leaves the old one as
 * it was. */
static void files_are_replaced_whole(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  char link[64], bytes[16];
  snprintf(link, sizeof link, "%s/link", d.folder);
  write_bytes(&d, "old", 3);
  assert_int_equal(symlink("file", link), 0);
  assert_int_equal(chmod(d.path, 0640), 0);
  for (int fine = 0; fine <= 1; fine++) {
    FileOut out;
    assert_true(file_out_open(&out, &d.mem, link, &d.diags));
    fputs("newer", out.stream);
    assert_int_equal(file_out_close(&out, fine), fine);
    size_t size = read_bytes(&d, bytes, sizeof bytes);
    assert_int_equal(size, fine ? 5 : 3);
    assert_memory_equal(bytes, fine ? "newer" : "old", size);
  }
  struct stat info;
  assert_true(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
  assert_true(stat(link, &info) == 0 && (info.st_mode & 07777) == 0640);
  unlink(link);
  desk_close(&d);
}

/* The next save removes what a killed writer has left, but neither a file that
 * is being written nor one with a similar name. */
static void left_files_are_removed(void **state) {
  (void)state;
  static const char *const names[] = {"file.0123456789abcdef.tmp",
                                      "file.0123456789abcde.tmp",
                                      "other.0123456789abcdef.tmp"};
  Desk d;
  desk_open(&d);
  char path[128];
  write_bytes(&d, "old", 3);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", d.folder, names[i]);
    close(open(path, O_WRONLY | O_CREAT, 0600));
  }
  FileOut first, second;
  assert_true(file_out_open(&first, &d.mem, d.path, &d.diags));
  assert_true(file_out_open(&second, &d.mem, d.path, &d.diags));
  assert_string_not_equal(first.temporary, second.temporary);
  assert_int_equal(access(first.temporary, F_OK), 0);
  fputs("first", first.stream);
  fputs("second", second.stream);
  assert_true(file_out_close(&second, true));
  assert_true(file_out_close(&first, true));
  char bytes[16];
  assert_int_equal(read_bytes(&d, bytes, sizeof bytes), 5);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", d.folder, names[i]);
    assert_int_equal(unlink(path), i == 0 ? -1 : 0);
  }
  desk_close(&d);
}

/* --- When memory runs out ------------------------------------------------ */

/* Whichever allocation fails: an error and no file, or no error and the whole
 * file. */
static void every_failing_allocation(void **state) {
  (void)state;
  for (size_t n = 1, count = 1; n <= count; n++) {
    Desk d;
    desk_open(&d);
    Value bits = {.i32 = 1};
    Tensor t = tensor_on_bits(DT_INT32, &bits);
    NamedTensor named = {"t", &t};
    MetaPair pair = {"key", "value"};
    d.mem.fail_at = d.mem.count + n;
    bool written =
        safetensors_write(d.path, &named, 1, &pair, 1, &d.mem, &d.diags);
    assert_int_equal(written, access(d.path, F_OK) == 0);
    TensorFile *f = safetensors_read(d.path, &d.heap, &d.diags);
    if (f) assert_true(tensor_same(tensor_file_find(f, "t"), &t));
    if (!f) assert_true(d.diags.errors > 0);
    tensor_file_free(f);
    count = d.mem.count;
    desk_close(&d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(safetensors_by_hand),
      cmocka_unit_test(misaligned_tensors_are_copied),
      cmocka_unit_test(lying_headers),
      cmocka_unit_test(safetensors_left_out),
      cmocka_unit_test(lying_lengths),
      cmocka_unit_test(safetensors_round_trip),
      cmocka_unit_test(safetensors_bytes),
      cmocka_unit_test(npy_by_hand),
      cmocka_unit_test(lying_npy_headers),
      cmocka_unit_test(npy_round_trip),
      cmocka_unit_test(npy_bytes),
      cmocka_unit_test(text_files),
      cmocka_unit_test(text_beyond_memory),
      cmocka_unit_test(unreadable_files),
      cmocka_unit_test(failed_writes),
      cmocka_unit_test(cut_mappings),
      cmocka_unit_test(files_are_replaced_whole),
      cmocka_unit_test(left_files_are_removed),
      cmocka_unit_test(every_failing_allocation),
  };
  return RUN_TESTS(tests);
}
