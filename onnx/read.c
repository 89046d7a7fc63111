/* Reading protocol buffers: a file to messages, by protobuf-c.
 *
 * protobuf-c calls itself for a message within a message, so a hostile file
 * could use up the C stack.  A walk over the bytes goes first, with a stack of
 * its own, and refuses what nests too deep.  Memory comes from the caller's
 * Mem, whose limit so holds for what is decoded. */
#include "onnx/read.h"

#include <string.h>

#include "io/file.h"

enum { NESTED_MOST = 100 };

/* --- Memory --------------------------------------------------------------- */

/* protobuf-c frees without a size, so each block begins with its own. */
typedef struct Block {
  size_t size, unused;
} Block;

static void *pb_alloc(void *mem, size_t size) {
  if (size > SIZE_MAX / 2) return NULL;
  Block *b = mem_alloc((Mem *)mem, size + sizeof *b);
  if (!b) mem_raise_exhausted((Mem *)mem);
  if (!b) return NULL;
  b->size = size + sizeof *b;
  return b + 1;
}

static void pb_free(void *mem, void *at) {
  Block *b = at ? (Block *)at - 1 : NULL;
  if (b) mem_free((Mem *)mem, b, b->size);
}

static ProtobufCAllocator allocator(Mem *mem) {
  return (ProtobufCAllocator){pb_alloc, pb_free, mem};
}

/* --- Nesting -------------------------------------------------------------- */

typedef struct Level {
  const ProtobufCMessageDescriptor *what;
  const uint8_t *end;
} Level;

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    *out |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

/* Why the bytes are no message of that kind, as far as a walk sees; NULL: it
 * sees nothing wrong. */
static const char *objection(const uint8_t *at, size_t size,
                             const ProtobufCMessageDescriptor *what) {
  Level levels[NESTED_MOST] = {{what, at + size}};
  int depth = 0;
  while (depth >= 0) {
    Level *level = &levels[depth];
    if (at == level->end) {
      depth--;
      continue;
    }
    uint64_t key, len;
    if (!varint(&at, level->end, &key) || key >> 3 == 0 || key >> 3 > INT32_MAX)
      return "a field has no number";
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(level->what,
                                                (unsigned)(key >> 3));
    size_t left = (size_t)(level->end - at), fixed = key & 4 ? 4 : 8;
    switch (key & 7) {
      case 0:
        if (!varint(&at, level->end, &len)) return "a number does not end";
        break;
      case 1:
      case 5:
        if (left < fixed) return "it ends within a number";
        at += fixed;
        break;
      case 2:
        if (!varint(&at, level->end, &len)) return "a length does not end";
        if (len > (size_t)(level->end - at)) return "it ends within a field";
        if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) {
          if (++depth == NESTED_MOST) return "its messages nest too deep";
          levels[depth] = (Level){field->descriptor, at + len};
        } else {
          at += len;
        }
        break;
      default: return "a field is of no known kind";
    }
  }
  return NULL;
}

/* --- Files ---------------------------------------------------------------- */

ProtobufCMessage *onnx_message_read(Mem *mem, const char *path,
                                    const ProtobufCMessageDescriptor *what,
                                    Diags *diags) {
  FileMap *map = file_map(mem, path, diags);
  if (!map) return NULL;
  const uint8_t *data = (const uint8_t *)map->data;
  const char *why = objection(data, map->size, what);
  ProtobufCAllocator a = allocator(mem);
  ProtobufCMessage *m =
      why ? NULL : protobuf_c_message_unpack(what, &a, map->size, data);
  if (!m && mem_exhausted(mem))
    diag_error(diags, E0501, SPAN_NONE, "cannot read %s: out of memory", path);
  else if (!m)
    diag_error(diags, E0502, SPAN_NONE, "%s is no valid ONNX file: %s", path,
               why ? why : "a field does not fit");
  file_map_drop(map);
  return m;
}

void onnx_message_free(Mem *mem, ProtobufCMessage *m) {
  ProtobufCAllocator a = allocator(mem);
  if (m) protobuf_c_message_free_unpacked(m, &a);
}
