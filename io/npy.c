/* .npy files, which hold one array. */
#include "io/npy.h"

#include "io/npy_header.h"

Tensor *npy_read(const char *path, Heap *heap, Diags *diags) {
  FileMap *map = file_map(heap->mem, path, diags);
  if (!map) return NULL;
  NpyHeader h;
  Tensor *t = NULL;
  const char *why = npy_header_read(map->data, map->size, map->size, &h);
  if (why) {
    file_invalid(diags, path, "npy", "%s", why);
  } else {
    MappedElements e = {.map = map,
                        .path = path,
                        .offset = h.size,
                        .size = h.bytes,
                        .dtype = h.dtype,
                        .rank = h.rank,
                        .shape = h.shape,
                        .strides = h.strides};
    t = tensor_of_mapping(heap, &e, diags);
  }
  file_map_drop(map);
  return t;
}

bool npy_write(const char *path, const Tensor *t, Mem *mem, Diags *diags) {
  FileOut out;
  if (!file_out_open(&out, mem, path, diags)) return false;
  StrBuf header;
  strbuf_init(&header, mem);
  npy_header_add(&header, t);
  bool fine = !mem_exhausted(mem);
  if (fine) {
    fwrite(header.data, 1, header.len, out.stream);
    tensor_write_elements(out.stream, t);
  } else {
    diag_error(diags, E0507, SPAN_NONE, "cannot write %s: out of memory", path);
  }
  strbuf_done(&header);
  return file_out_close(&out, fine);
}
