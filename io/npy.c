/* .npy files, which hold one array: a header (npy_header.c), then the elements.
 *
 * Reading maps the file and makes a tensor on the mapping, so that an array of
 * any size is read at no cost until it is used, and several processes share its
 * pages.  The mapping is reference counted: the tensor's buffer holds it.
 *
 * That a mapped file is cut off by another program while it is in use cannot be
 * helped here: the system then ends the process.  Reading everything into
 * memory would be the only defence, at the price of all that a mapping is good
 * for. */
#include "io/npy.h"

#include "io/npy_header.h"

/* Fortran order is no copy but other strides (h.strides). */
Tensor *npy_read(const char *path, Heap *heap, Diags *diags) {
  FileMap *map = file_map(heap->mem, path, diags);
  if (!map) return NULL;
  NpyHeader h;
  Tensor *t = NULL;
  const char *why = npy_header_read(map->data, map->size, map->size, &h);
  if (why) {
    file_invalid(diags, path, "npy", "%s", why);
  } else if (!npy_fits(&h)) {
    why = npy_misfit(&h, &diags->arena);
    if (why)
      diag_error(diags, E0502, SPAN_NONE, "cannot read %s: %s", path, why);
    else file_out_of_memory(diags, path);
  } else {
    MappedElements e = {.map = map,
                        .path = path,
                        .offset = h.size,
                        .size = h.bytes,
                        .dtype = h.dtype,
                        .rank = (int)h.rank,
                        .shape = h.shape,
                        .strides = h.strides};
    t = tensor_of_mapping(heap, &e, diags);
  }
  file_map_drop(map);
  return t;
}

/* Failed writes are seen by file_out_close(), so none is looked at here. */
bool npy_write(const char *path, const Tensor *t, Mem *mem, Diags *diags) {
  FileOut out;
  DType dtype = (DType)t->dtype;
  if (!dtype_has_name(path, NULL, dtype, dtype_info[dtype].npy, diags) ||
      !file_out_open(&out, mem, path, diags))
    return false;
  StrBuf header;
  strbuf_init(&header, mem);
  npy_header_add(&header, t);
  bool fine = !mem_exhausted(mem);
  if (fine) {
    fwrite(header.data, 1, header.len, out.stream);
    tensor_write_elements(&out, t);
  } else {
    diag_error(diags, E0507, SPAN_NONE, "cannot write %s: out of memory", path);
  }
  strbuf_done(&header);
  return file_out_close(&out, fine);
}
