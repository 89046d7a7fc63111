/* Framing: `Content-Length: N`, further fields, an empty line, N bytes.
 *
 * Bytes are kept only as they come, so a header that promises more than is sent
 * costs nothing.  A message that the limit of memory has no room for is read to
 * its end and passed over.  A header that cannot be read ends the conversation,
 * since nothing tells where the next message begins. */
#include "server/wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CHUNK = 65536, HEADER_MOST = 4096, DIGITS_MOST = 15 };

void wire_init(Wire *w, Mem *mem, int in, int out) {
  *w = (Wire){.in = in, .out = out};
  strbuf_init(&w->read, mem);
}

void wire_done(Wire *w) { strbuf_done(&w->read); }

/* Reads what has come; 0 at the end. */
static size_t receive(const Wire *w, char *chunk, size_t most) {
  ssize_t n;
  do n = read(w->in, chunk, most);
  while (n < 0 && errno == EINTR);
  return n > 0 ? (size_t)n : 0;
}

/* Receives at most `most` bytes into the buffer w->read, and returns how many
 * have come, even where memory has no room for them. */
static size_t receive_more(Wire *w, size_t most) {
  char chunk[CHUNK];
  size_t n = receive(w, chunk, most < sizeof chunk ? most : sizeof chunk);
  strbuf_add_len(&w->read, chunk, n);
  return n;
}

/* Removes the first `n` bytes of the buffer. */
static void drop(Wire *w, size_t n) {
  w->read.len -= n;
  memmove(w->read.data, w->read.data + n, w->read.len);
}

/* The length that the header's fields tell; false: none, or no number. */
static bool read_length(const char *header, const char *end, size_t *length) {
  static const char field[] = "content-length:";
  for (const char *line = header; line < end;) {
    const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
    if (!stop) stop = end;
    if (!strncasecmp(line, field, sizeof field - 1)) {
      line += sizeof field - 1;
      while (line < stop && *line == ' ') line++;
      const char *digits = line;
      for (*length = 0; line < stop && *line >= '0' && *line <= '9'; line++)
        *length = *length * 10 + (size_t)(*line - '0');
      while (line < stop && *line == ' ') line++;
      return line == stop && line > digits && line - digits <= DIGITS_MOST;
    }
    line = stop + 2;
  }
  return false;
}

/* Passes over the rest of a message of which `left` bytes are still to come. */
static WireRead skip(Wire *w, size_t left) {
  char chunk[CHUNK];
  strbuf_done(&w->read);
  while (left) {
    size_t n = receive(w, chunk, left < sizeof chunk ? left : sizeof chunk);
    if (!n) return WIRE_END;
    left -= n;
  }
  return WIRE_SKIPPED;
}

WireRead wire_read(Wire *w, char **text, size_t *len) {
  const char *end = NULL;
  if (w->taken) drop(w, w->taken);
  w->taken = 0;
  while (!(end = w->read.len ? memmem(w->read.data, w->read.len, "\r\n\r\n", 4)
                             : NULL)) {
    if (w->read.len > HEADER_MOST) return WIRE_BROKEN;
    if (!receive_more(w, CHUNK)) return w->read.len ? WIRE_BROKEN : WIRE_END;
  }
  size_t header = (size_t)(end - w->read.data);
  if (header > HEADER_MOST || !read_length(w->read.data, end, len))
    return WIRE_BROKEN;
  drop(w, header + 4);
  /* of a message never more than what belongs to it is asked for */
  for (size_t had = w->read.len; had < *len; had = w->read.len) {
    size_t n = receive_more(w, *len - had);
    if (!n) return WIRE_BROKEN;
    if (!mem_exhausted(w->read.mem)) continue;
    mem_clear_exhausted(w->read.mem);
    return skip(w, *len - had - n);
  }
  w->taken = *len;
  *text = w->read.data;
  return WIRE_MESSAGE;
}

bool wire_has_more(const Wire *w) {
  struct pollfd p = {.fd = w->in, .events = POLLIN};
  return w->read.len > w->taken || (poll(&p, 1, 0) > 0 && p.revents & POLLIN);
}

static bool send_all(const Wire *w, const char *bytes, size_t len) {
  while (len) {
    ssize_t n = write(w->out, bytes, len);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    len -= (size_t)n;
  }
  return true;
}

bool wire_write(Wire *w, const char *text, size_t len) {
  char header[64];
  int n = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", len);
  return send_all(w, header, (size_t)n) && send_all(w, text, len);
}
