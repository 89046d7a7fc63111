/* The bytes of a fuzzer in a file, for what reads files. */
#ifndef FUZZ_GUIDED_BYTES_H
#define FUZZ_GUIDED_BYTES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

static inline bool write_file(const char *path, const uint8_t *data,
                              size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return false;
  bool ok = write(fd, data, size) == (ssize_t)size;
  close(fd);
  return ok;
}

#endif
