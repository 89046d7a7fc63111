/* io/: .npz and .params.  Valid files are built by hand here, from the
 * descriptions of zip (APPNOTE.TXT) and of TVM's format; invalid ones by
 * patching valid ones.
 *
 * Bytes written by hand are an oracle that does not share our reader's
 * mistakes: a file that we write and read back proves only that both agree.
 * Invalid files are valid ones with one field changed, so each is wrong in one
 * way, and the message must name that way.  Sizes that lie are the important
 * ones: nothing may be allocated for what cannot be there. */
#include "tests/unit/desk.h"

#include <errno.h>

#include "io/gguf.h"
#include "io/npz.h"
#include "io/params.h"

/* Bytes being laid out. */
typedef struct Bytes {
  unsigned char at[4000];
  size_t n;
} Bytes;

static void put(Bytes *b, const void *data, size_t size) {
  assert_true(b->n + size <= sizeof b->at);
  memcpy(b->at + b->n, data, size);
  b->n += size;
}

/* Little-endian, `size` bytes. */
static void num(Bytes *b, uint64_t v, int size) {
  for (int i = 0; i < size; i++) put(b, &(unsigned char){v >> 8 * i}, 1);
}

static void expect_json(Desk *d, const Tensor *t, const char *json) {
  StrBuf out;
  strbuf_init(&out, &d->mem);
  tensor_print_json(&out, t, NULL);
  assert_string_equal(strbuf_text(&out), json);
  strbuf_done(&out);
}

/* --- Archives by hand ----------------------------------------------------- */

enum { STORED = 0, DEFLATED = 8 };

/* An entry; the directory's claims can differ from what is there. */
typedef struct Entry {
  const char *name;
  int method, flags;
  const void *data;
  size_t size;
  int64_t more_size, more_packed; /* than there are */
  uint32_t wrong_crc;             /* bits to flip */
} Entry;

static uint32_t crc32_of(const unsigned char *data, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

/* Deflate's simplest form: one block that is final (1) and not compressed. */
static Bytes packed(const Entry *e) {
  Bytes b = {.n = 0};
  if (e->method == DEFLATED) {
    num(&b, 1, 1);
    num(&b, e->size, 2);
    num(&b, ~e->size, 2);
  }
  put(&b, e->data, e->size);
  return b;
}

/* From the version on, as local headers and the directory share it. */
static void put_fields(Bytes *b, const Entry *e, size_t packed_size) {
  num(b, 20, 2);
  num(b, (uint64_t)e->flags, 2);
  num(b, (uint64_t)e->method, 2);
  num(b, 0, 2);
  num(b, 1 << 5 | 1, 2);
  num(b, crc32_of(e->data, e->size) ^ e->wrong_crc, 4);
  num(b, packed_size + (uint64_t)e->more_packed, 4);
  num(b, e->size + (uint64_t)e->more_size, 4);
  num(b, strlen(e->name), 2);
  num(b, 0, 2);
}

static void put_local(Bytes *b, const Entry *e) {
  Bytes data = packed(e);
  put(b, "PK\3\4", 4);
  put_fields(b, e, data.n);
  put(b, e->name, strlen(e->name));
  put(b, data.at, data.n);
}

static void put_central(Bytes *b, const Entry *e, size_t offset) {
  put(b, "PK\1\2", 4);
  num(b, 20, 2);
  put_fields(b, e, packed(e).n);
  num(b, 0, 2 + 2 + 2); /* no comment, disk 0, no attributes ... */
  num(b, 0, 4);         /* ... of either kind */
  num(b, offset, 4);
  put(b, e->name, strlen(e->name));
}

static Bytes archive(const Entry *entries, size_t n) {
  Bytes b = {.n = 0};
  size_t offsets[8];
  for (size_t i = 0; i < n; i++) {
    offsets[i] = b.n;
    put_local(&b, &entries[i]);
  }
  size_t start = b.n;
  for (size_t i = 0; i < n; i++) put_central(&b, &entries[i], offsets[i]);
  size_t size = b.n - start;
  put(&b, "PK\5\6", 4);
  num(&b, 0, 4);
  num(&b, n, 2);
  num(&b, n, 2);
  num(&b, size, 4);
  num(&b, start, 4);
  num(&b, 0, 2);
  return b;
}

/* A version 1 array of this dict. */
static Bytes npy(const char *dict, const void *data, size_t size) {
  Bytes b = {.n = 0};
  put(&b, "\x93NUMPY\1\0", 8);
  num(&b, strlen(dict), 2);
  put(&b, dict, strlen(dict));
  put(&b, data, size);
  return b;
}

static const int32_t six[] = {1, 2, 3, 4, 5, 6};

static Bytes matrix(void) {
  return npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}\n", six,
             sizeof six);
}

static TensorFile *read_archive(Desk *d, const Entry *entries, size_t n) {
  Bytes b = archive(entries, n);
  write_bytes(d, b.at, b.n);
  return npz_read(d->path, &d->heap, &d->diags);
}

/* --- npz ------------------------------------------------------------------ */

static void npz_by_hand(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Bytes rows = matrix();
  Bytes columns =
      npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}", six,
          sizeof six);
  Bytes none =
      npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}", "", 0);
  const Entry entries[] = {
      {.name = "a.npy", .data = rows.at, .size = rows.n},
      {.name = "lstm/b.0.npy",
       .method = DEFLATED,
       .data = columns.at,
       .size = columns.n},
      {.name = "\xC3\xA9.npy",
       .flags = 1 << 11,
       .data = none.at,
       .size = none.n},
  };
  TensorFile *f = read_archive(&d, entries, LENGTH(entries));
  assert_non_null(f);
  assert_int_equal(f->tensors.len, 3);
  expect_json(&d, tensor_file_find(f, "a"),
              "{\"dtype\": \"int32\", \"shape\": [2, 3], "
              "\"data\": [1, 2, 3, 4, 5, 6]}");
  expect_json(&d, tensor_file_find(f, "lstm/b.0"),
              "{\"dtype\": \"int32\", \"shape\": [2, 3], "
              "\"data\": [1, 3, 5, 2, 4, 6]}");
  expect_json(&d, tensor_file_find(f, "\xC3\xA9"),
              "{\"dtype\": \"float64\", \"shape\": [0], \"data\": []}");
  tensor_file_free(f);
  f = read_archive(&d, NULL, 0);
  assert_non_null(f);
  assert_int_equal(f->tensors.len, 0);
  tensor_file_free(f);
  desk_close(&d);
}

/* Each entry goes with a 2 x 3 matrix where it brings no data. */
static void lying_entries(void **state) {
  (void)state;
  static const char far[] = "\x93NUMPY\1\0\xFF\xFF{}";
  static const char alien[] = "no array at all";
  static const char bools[] =
      "\x93NUMPY\1\0\x39\0"
      "{'descr': '|b1', 'fortran_order': False, 'shape': (3, )} \0\1\2";
  static const char huge[] =
      "\x93NUMPY\1\0\x48\0"
      "{'descr': '<f8', 'fortran_order': False, "
      "'shape': (1099511627776, 8), } \n12345678";
  const struct {
    Entry entry;
    const char *why;
  } rows[] = {
      {{.name = "a"}, "entry `a` is no .npy file"},
      {{.name = ".npy"}, "entry `.npy` is no .npy file"},
      {{.name = "dir/"}, "entry `dir/` is no .npy file"},
      {{.name = "a.npy", .more_size = 1}, "cannot hold"},
      {{.name = "a.npy", .more_size = -1}, "its size is not what"},
      {{.name = "a.npy", .more_size = 4000000000}, "cannot hold the 40000000"},
      {{.name = "a.npy", .method = DEFLATED, .more_size = 4000000000},
       "cannot hold the 40000000"},
      {{.name = "a.npy", .method = DEFLATED, .more_size = 4},
       "its size is not what its shape"},
      {{.name = "a.npy", .more_packed = 4000}, "only"},
      {{.name = "a.npy", .method = 12}, "compressed by method 12"},
      {{.name = "a.npy", .flags = 1}, "encrypted"},
      {{.name = "a.npy", .wrong_crc = 1}, "CRC error"},
      {{.name = "a.npy", .method = DEFLATED, .wrong_crc = 1u << 31},
       "CRC error"},
      {{.name = "a.npy", .data = "", .size = 0}, "too short"},
      {{.name = "a.npy", .data = far, .size = sizeof far}, "begin as one"},
      {{.name = "a.npy", .data = alien, .size = sizeof alien}, "begin as one"},
      {{.name = "a.npy", .data = bools, .size = sizeof bools - 1}, "no bool"},
      {{.name = "a.npy", .data = huge, .size = sizeof huge - 1},
       "its size is not what its shape"},
  };
  Desk d;
  desk_open(&d);
  Bytes array = matrix();
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Entry e = rows[i].entry;
    if (!e.data) e.data = array.at, e.size = array.n;
    assert_null(read_archive(&d, &e, 1));
    expect_error(&d, E0502, rows[i].why);
  }
  desk_close(&d);
}

/* Beside a matrix; of each the rest is read, up to the checksum. */
static void npz_left_out(void **state) {
  (void)state;
  static const struct {
    const char *dict;
    size_t size;
    const char *why;
  } rows[] = {
      {"{'descr': '>i4', 'fortran_order': False, 'shape': (6,)}", 24,
       "its descr '>i4' is no little-endian dtype of rly"},
      {"{'shape': (3,), 'descr': '<c8', 'fortran_order': True}", 24,
       "its descr '<c8' is no little-endian dtype of rly"},
      {"{'descr': '<U2', 'fortran_order': False, 'shape': (3, 1)}", 24,
       "its descr '<U2' is no little-endian dtype of rly"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (100,)}", 17,
       "its descr '|O' is no little-endian dtype of rly"},
      {"{'descr': [('x', '<f4'), ('y', '>u2')], 'fortran_order': False, "
       "'shape': (4,)}",
       24,
       "its descr [('x', '<f4'), ('y', '>u2')] is no little-endian "
       "dtype of rly"},
      {"{'descr': '<f4', 'fortran_order': True, "
       "'shape': (1, 2, 1, 1, 1, 1, 1, 1, 3)}",
       24, "its rank is 9, and the most is 8"},
      {"{'descr': '<f4', 'fortran_order': False, "
       "'shape': (1, 2, 1, 1, 1, 1, 1, 1, 0)}",
       0, "its rank is 9, and the most is 8"},
  };
  Desk d;
  desk_open(&d);
  Bytes array = matrix();
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Bytes other = npy(rows[i].dict, six, rows[i].size);
    Entry entries[] = {
        {.name = "a.npy", .data = other.at, .size = other.n},
        {.name = "b.npy", .data = array.at, .size = array.n},
    };
    TensorFile *f = read_archive(&d, entries, 2);
    assert_non_null(f);
    assert_int_equal(f->tensors.len, 1);
    assert_int_equal(tensor_i64_at(tensor_file_find(f, "b"), 5), 6);
    assert_int_equal(f->left_out.len, 1);
    assert_string_equal(f->left_out.data[0].name, "a");
    assert_string_equal(f->left_out.data[0].why, rows[i].why);
    tensor_file_free(f);
    entries[0].wrong_crc = 1;
    assert_null(read_archive(&d, entries, 2));
    expect_error(&d, E0502, "CRC error");
    entries[0].wrong_crc = 0;
    entries[0].more_size = -1;
    assert_null(read_archive(&d, entries, 2));
    expect_error(&d, E0502, "entry `a` is ");
    entries[0].more_size = 0;
    entries[1].name = "a.npy";
    assert_null(read_archive(&d, entries, 2));
    expect_error(&d, E0502, "two of its tensors are named `a`");
  }
  desk_close(&d);
}

static void lying_archives(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Bytes array = matrix();
  const Entry twice[] = {
      {.name = "a.npy", .data = array.at, .size = array.n},
      {.name = "b.npy", .data = array.at, .size = array.n},
      {.name = "a.npy", .data = array.at, .size = array.n},
  };
  assert_null(read_archive(&d, twice, 3));
  expect_error(&d, E0502, "two of its tensors are named `a`");

  /* Cut anywhere, it is refused, and never read beyond its end. */
  Bytes whole = archive(twice, 2);
  for (size_t size = 0; size < whole.n; size += size < whole.n - 30 ? 13 : 1) {
    write_bytes(&d, whole.at, size);
    assert_null(npz_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, "no valid npz file");
  }

  /* The second one's data is the first one's: more is claimed than is there.
   * Its directory entry lies 22 + 51 bytes before the end; the offset at 42. */
  static char zeros[1500];
  Bytes large =
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1500,)}\n", zeros,
          sizeof zeros);
  const Entry bomb[] = {
      {.name = "a.npy", .data = large.at, .size = large.n},
      {.name = "b.npy", .data = large.at, .size = large.n},
  };
  Bytes b = archive(bomb, 1), second = {.n = 0};
  put_central(&second, &bomb[1], 0);
  Bytes both = {.n = 0};
  put(&both, b.at, b.n - 22);
  put(&both, second.at, second.n);
  put(&both, b.at + b.n - 22, 22);
  both.at[both.n - 22 + 8] = both.at[both.n - 22 + 10] = 2;
  size_t directory = 2 * second.n;
  both.at[both.n - 22 + 12] = (unsigned char)directory;
  write_bytes(&d, both.at, both.n);
  assert_null(npz_read(d.path, &d.heap, &d.diags));
  expect_error(&d, E0502, "entry `b.npy` takes 1569 bytes, but only");
  desk_close(&d);
}

typedef bool WriteFile(const char *path, const NamedTensor *tensors, size_t n,
                       Mem *mem, Diags *diags);
typedef TensorFile *ReadFile(const char *path, Heap *heap, Diags *diags);

/* A file without tensors, and one with a tensor of each dtype. */
static void round_trip(WriteFile *write, ReadFile *read, bool narrow) {
  Desk d;
  desk_open(&d);
  NamedTensor tensors[DTYPE_COUNT];
  size_t all = fill_tensors(&d, tensors, narrow);
  for (size_t n = 0; n <= all; n += all) {
    assert_true(write(d.path, tensors, n, &d.mem, &d.diags));
    TensorFile *f = read(d.path, &d.heap, &d.diags);
    expect_tensors(f, tensors, n);
    tensor_file_free(f);
  }
  drop_tensors(&d, tensors, all);
  desk_close(&d);
}

static void npz_round_trip(void **state) {
  (void)state;
  round_trip(npz_write, npz_read, false);
}

/* Stored, dated January 1st 1980, of 128 + 2 bytes that make this array. */
static void npz_bytes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {2};
  uint8_t data[] = {5, 6};
  Tensor t = tensor_on_data(DT_UINT8, 1, shape, data);
  NamedTensor named = {"t", &t};
  assert_true(npz_write(d.path, &named, 1, &d.mem, &d.diags));
  char bytes[1000];
  read_bytes(&d, bytes, sizeof bytes);
  assert_memory_equal(bytes, "PK\3\4", 4);
  assert_memory_equal(bytes + 8, "\0\0\0\0\x21\0", 6);
  assert_memory_equal(bytes + 18, "\x82\0\0\0\x82\0\0\0\5\0\0\0t.npy", 17);
  assert_memory_equal(bytes + 35, "\x93NUMPY\1\0\x76\0", 10);
  assert_memory_equal(bytes + 35 + 127, "\n\5\6", 3);
  uint32_t crc = crc32_of((unsigned char *)bytes + 35, 130);
  assert_memory_equal(bytes + 14, &crc, 4);
  desk_close(&d);
}

static void npz_failed_writes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Value bits = {.i32 = 1};
  Tensor t = tensor_on_bits(DT_INT32, &bits);
  NamedTensor twice[] = {{"t", &t}, {"t", &t}};
  assert_false(npz_write(d.path, twice, 2, &d.mem, &d.diags));
  expect_error(&d, E0507, "already exists");
  char path[sizeof d.path];
  strcpy(path, d.path);
  strcpy(d.path, "/dev/full");
  assert_false(npz_write(d.path, twice, 1, &d.mem, &d.diags));
  expect_error(&d, E0507, strerror(ENOSPC));
  strcpy(d.path, path);
  desk_close(&d);
}

/* The field of an entry's name has 16 bits for its length. */
static void npz_longest_name(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Value bits = {.i32 = 1};
  Tensor t = tensor_on_bits(DT_INT32, &bits);
  char *name = calloc(1, 65533);
  memset(name, 'n', 65531);
  NamedTensor named = {name, &t};
  assert_true(npz_write(d.path, &named, 1, &d.mem, &d.diags));
  TensorFile *f = npz_read(d.path, &d.heap, &d.diags);
  assert_non_null(f);
  assert_string_equal(f->tensors.data[0].name, name);
  tensor_file_free(f);
  name[65531] = 'n';
  assert_false(npz_write(d.path, &named, 1, &d.mem, &d.diags));
  expect_error(&d, E0507, "65532 bytes");
  free(name);
  desk_close(&d);
}

/* --- params --------------------------------------------------------------- */

#define NDARRAY UINT64_C(0xDD5E40F096B4A13F)

typedef struct Array {
  int code, bits, lanes, rank;
  int64_t shape[9];
  const void *data;
  size_t size;
} Array;

static void put_array(Bytes *b, const Array *a) {
  num(b, NDARRAY, 8);
  num(b, 0, 8);
  num(b, 1, 4); /* the CPU */
  num(b, 0, 4);
  num(b, (uint64_t)a->rank, 4);
  num(b, (uint64_t)a->code, 1);
  num(b, (uint64_t)a->bits, 1);
  num(b, (uint64_t)a->lanes, 2);
  for (int i = 0; i < a->rank; i++) num(b, (uint64_t)a->shape[i], 8);
  num(b, a->size, 8);
  put(b, a->data, a->size);
}

static void put_name(Bytes *b, const char *name) {
  num(b, strlen(name), 8);
  put(b, name, strlen(name));
}

/* "p0" and a name of 14 bytes: both arrays are aligned in the file. */
static Bytes params(const Array *arrays) {
  Bytes b = {.n = 0};
  num(&b, UINT64_C(0xF7E58D4F05049CB7), 8);
  num(&b, 0, 8);
  num(&b, 2, 8);
  put_name(&b, "p0");
  put_name(&b, "dense.weight\xC3\xA9");
  num(&b, 2, 8);
  put_array(&b, &arrays[0]);
  put_array(&b, &arrays[1]);
  return b;
}

static const float halves[] = {0.5f, -1.5f};
static const Array good[] = {
    {2, 32, 1, 1, {2}, halves, sizeof halves},
    {0, 32, 1, 2, {3, 2}, six, sizeof six},
};

static void params_by_hand(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Bytes b = params(good);
  write_bytes(&d, b.at, b.n);
  TensorFile *f = params_read(d.path, &d.heap, &d.diags);
  assert_non_null(f);
  assert_int_equal(f->tensors.len, 2);
  Tensor *p = tensor_file_find(f, "p0");
  expect_json(&d, p,
              "{\"dtype\": \"float32\", \"shape\": [2], "
              "\"data\": [0.5, -1.5]}");
  expect_json(&d, tensor_file_find(f, "dense.weight\xC3\xA9"),
              "{\"dtype\": \"int32\", \"shape\": [3, 2], "
              "\"data\": [1, 2, 3, 4, 5, 6]}");
  assert_true(p->buffer->flags & BUFFER_FOREIGN); /* not copied */
  tensor_file_free(f);
  desk_close(&d);
}

/* Each row changes one thing. */
static void lying_params(void **state) {
  (void)state;
  static const struct {
    int at;
    const char *bytes;
    size_t n;
    const char *why;
  } rows[] = {
      {0, "\0", 1, "does not begin as one"},
      {16, "\3", 1, "a name is not UTF-8"},
      {16, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, "names do not fit into"},
      {16, "\0\0\0\0\0\0\0\x10", 8, "names do not fit into"},
      {24, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, "a name would take"},
      {32, "\0", 1, "a name is not UTF-8"},
      {32, "\xC3", 1, "a name is not UTF-8"},
      {56, "\3", 1, "2 names, but 3 arrays"},
      {64, "\0", 1, "another format"},
      {64 + 24, "\x9", 1, "does not fit its shape"},
      {64 + 24, "\xFF\xFF\xFF\xFF", 4, "cut short"},
      {64 + 32, "\3", 1, "does not fit its shape"},
      {64 + 32, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8, "not fit its shape"},
      {64 + 32, "\2\0\0\0\0\0\0\x40", 8, "not fit its shape"},
      {64 + 40, "\x9", 1, "does not fit its shape"},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Bytes b = params(good);
    memcpy(b.at + rows[i].at, rows[i].bytes, rows[i].n);
    write_bytes(&d, b.at, b.n);
    assert_null(params_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, rows[i].why);
  }
  desk_close(&d);
}

static void params_left_out(void **state) {
  (void)state;
  static const struct {
    Array array;
    const char *why;
  } rows[] = {
      {{5, 64, 1, 1, {2}, six, 16}, "its dtype is complex64, which is none"},
      {{2, 32, 2, 1, {1}, halves, 8}, "its dtype is float32x2, which is none"},
      {{3, 64, 1, 0, {0}, six, 8}, "its dtype is handle64, which is none"},
      {{0, 33, 0, 1, {0}, "", 0}, "its dtype is int33x0, which is none"},
      {{200, 16, 1, 1, {4}, six, 8},
       "its dtype is code 200 of DLPack, 16 bits, which is none"},
      {{2, 32, 1, 9, {1, 1, 1, 1, 1, 1, 1, 1, 2}, halves, 8},
       "its rank is 9, and the most is 8"},
      {{2, 32, 1, 9, {1, 1, 1, 1, 1, 1, 1, 7, 0}, "", 0},
       "its rank is 9, and the most is 8"},
  };
  static const Array damaged[] = {
      {5, 64, 1, 2, {1LL << 32, 1LL << 31}, six, 16},
      {5, 64, 1, 3, {0, 1LL << 32, 1LL << 31}, "", 0},
      {5, 64, 1, 1, {-2}, six, 16},
      {2, 32, 1, 9, {1, 1, 1, 1, 1, 1, 1, 1, 3}, halves, 8},
      {2, 32, 1, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1LL << 62}, halves, 8},
      {2, 32, 1, 9, {1, 1, 1, 1, 1, 1, 1, 1, -2}, halves, 8},
  };
  Desk d;
  desk_open(&d);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Bytes b = params((Array[]){rows[i].array, good[1]});
    write_bytes(&d, b.at, b.n);
    TensorFile *f = params_read(d.path, &d.heap, &d.diags);
    assert_non_null(f);
    assert_int_equal(f->tensors.len, 1);
    expect_json(&d, tensor_file_find(f, "dense.weight\xC3\xA9"),
                "{\"dtype\": \"int32\", \"shape\": [3, 2], "
                "\"data\": [1, 2, 3, 4, 5, 6]}");
    assert_int_equal(f->left_out.len, 1);
    assert_string_equal(f->left_out.data[0].name, "p0");
    assert_memory_equal(f->left_out.data[0].why, rows[i].why,
                        strlen(rows[i].why));
    tensor_file_free(f);

    /* Its own count of bytes leads beyond the file. */
    b.at[64 + 32 + 8 * rows[i].array.rank + 2] = 1;
    write_bytes(&d, b.at, b.n);
    assert_null(params_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, "does not fit its shape");
  }
  for (size_t i = 0; i < LENGTH(damaged); i++) {
    Bytes b = params((Array[]){damaged[i], good[1]});
    write_bytes(&d, b.at, b.n);
    assert_null(params_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, "does not fit its shape");
  }
  desk_close(&d);
}

static void cut_params(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  Bytes b = params(good);
  for (size_t size = 0; size < b.n; size++) {
    write_bytes(&d, b.at, size);
    assert_null(params_read(d.path, &d.heap, &d.diags));
    expect_error(&d, E0502, "no valid params file");
  }
  num(&b, 0, 1);
  write_bytes(&d, b.at, b.n);
  assert_null(params_read(d.path, &d.heap, &d.diags));
  expect_error(&d, E0502, "last 1 bytes belong to no array");
  const Array bools[] = {{1, 1, 1, 1, {2}, "\1\2", 2}, good[1]};
  b = params(bools);
  write_bytes(&d, b.at, b.n);
  assert_null(params_read(d.path, &d.heap, &d.diags));
  expect_error(&d, E0502, "no bool");
  desk_close(&d);
}

static void params_round_trip(void **state) {
  (void)state;
  round_trip(params_write, params_read, true);
}

static void params_bytes(void **state) {
  (void)state;
  Desk d;
  desk_open(&d);
  int64_t shape[] = {2}, sides[] = {3, 2};
  int32_t elements[6];
  float data[2];
  memcpy(data, halves, sizeof data);
  memcpy(elements, six, sizeof elements);
  Tensor t = tensor_on_data(DT_FLOAT32, 1, shape, data);
  Tensor u = tensor_on_data(DT_INT32, 2, sides, elements);
  NamedTensor named[] = {{"p0", &t}, {"dense.weight\xC3\xA9", &u}};
  assert_true(params_write(d.path, named, 2, &d.mem, &d.diags));
  Bytes expected = params(good);
  char bytes[1000];
  assert_int_equal(read_bytes(&d, bytes, sizeof bytes), expected.n);
  assert_memory_equal(bytes, expected.at, expected.n);
  desk_close(&d);
}

/* --- When memory runs out ------------------------------------------------- */

typedef bool Write(const char *path, const NamedTensor *tensors, size_t n,
                   Mem *mem, Diags *diags);
typedef TensorFile *Read(const char *path, Heap *heap, Diags *diags);

/* Whichever allocation fails: an error and no file, or no error and the whole
 * file. */
static void walk_failures(Write *write, Read *read) {
  for (size_t n = 1, count = 1; n <= count; n++) {
    Desk d;
    desk_open(&d);
    NamedTensor tensors[DTYPE_COUNT];
    size_t all = fill_tensors(&d, tensors, false);
    size_t before = d.mem.count;
    d.mem.fail_at = before + n;
    bool written = write(d.path, tensors, all, &d.mem, &d.diags);
    assert_int_equal(written, access(d.path, F_OK) == 0);
    assert_int_equal(written, d.diags.errors == 0);
    TensorFile *f = read(d.path, &d.heap, &d.diags);
    if (f)
      assert_true(
          tensor_same(tensor_file_find(f, "float64"), tensors[all - 1].tensor));
    if (!f) assert_true(d.diags.errors > 0);
    tensor_file_free(f);
    count = d.mem.count - before;
    drop_tensors(&d, tensors, all);
    desk_close(&d);
  }
}

static void npz_failing_allocations(void **state) {
  (void)state;
  walk_failures(npz_write, npz_read);
}

static void params_failing_allocations(void **state) {
  (void)state;
  walk_failures(params_write, params_read);
}

/* A file with tensors that are left out, however far it is read. */
static void left_out_failing_allocations(void **state) {
  (void)state;
  Bytes words =
      npy("{'descr': '<U2', 'fortran_order': False, 'shape': (3,)}", six, 24);
  Bytes deep =
      npy("{'descr': '<i4', 'fortran_order': False, "
          "'shape': (1,1,1,1,1,1,1,1,6)}",
          six, 24);
  const Entry entries[] = {
      {.name = "a.npy", .data = words.at, .size = words.n},
      {.name = "b.npy", .data = deep.at, .size = deep.n},
  };
  const Array arrays[] = {
      {5, 64, 1, 1, {2}, six, 16},
      {2, 32, 1, 9, {1, 1, 1, 1, 1, 1, 1, 1, 2}, halves, 8},
  };
  Bytes gguf = {.n = 0};
  put(&gguf, "GGUF\3\0\0\0", 8);
  num(&gguf, 3, 8);
  num(&gguf, 0, 8);
  for (uint64_t i = 0; i < 3; i++) { /* of type Q4_0, 4, and of 9 dimensions */
    put_name(&gguf, (const char *[]){"q", "u", "d"}[i]);
    num(&gguf, i == 2 ? 9 : 1, 4);
    num(&gguf, i == 0 ? 32 : 1, 8);
    for (int k = 0; i == 2 && k < 8; k++) num(&gguf, 1, 8);
    num(&gguf, (uint64_t[]){2, 4, 0}[i], 4);
    num(&gguf, (uint64_t[]){0, 32, 32}[i], 8);
  }
  while (gguf.n % 32) num(&gguf, 0, 1);
  put(&gguf, six, 24);
  num(&gguf, 0, 8);
  put(&gguf, six, 4);
  const struct {
    Bytes bytes;
    Read *read;
    size_t left_out;
  } files[] = {{archive(entries, 2), npz_read, 2},
               {params(arrays), params_read, 2},
               {gguf, gguf_read, 3}};
  for (size_t i = 0; i < LENGTH(files); i++) {
    bool whole = false;
    for (size_t n = 1, count = 1; n <= count; n++) {
      Desk d;
      desk_open(&d);
      write_bytes(&d, files[i].bytes.at, files[i].bytes.n);
      size_t before = d.mem.count;
      d.mem.fail_at = before + n;
      TensorFile *f = files[i].read(d.path, &d.heap, &d.diags);
      count = d.mem.count - before;
      whole = f != NULL;
      assert_true(whole || d.diags.errors > 0);
      if (whole) assert_int_equal(f->left_out.len, files[i].left_out);
      if (whole) assert_int_equal(f->tensors.len, 0);
      tensor_file_free(f);
      desk_close(&d);
    }
    assert_true(whole);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npz_by_hand),
      cmocka_unit_test(lying_entries),
      cmocka_unit_test(npz_left_out),
      cmocka_unit_test(lying_archives),
      cmocka_unit_test(npz_round_trip),
      cmocka_unit_test(npz_bytes),
      cmocka_unit_test(npz_failed_writes),
      cmocka_unit_test(npz_longest_name),
      cmocka_unit_test(params_by_hand),
      cmocka_unit_test(lying_params),
      cmocka_unit_test(params_left_out),
      cmocka_unit_test(cut_params),
      cmocka_unit_test(params_round_trip),
      cmocka_unit_test(params_bytes),
      cmocka_unit_test(npz_failing_allocations),
      cmocka_unit_test(params_failing_allocations),
      cmocka_unit_test(left_out_failing_allocations),
  };
  return RUN_TESTS(tests);
}
