/* Messages over two descriptors: a header that tells the length, then JSON. */
#ifndef SERVER_WIRE_H
#define SERVER_WIRE_H

#include "lib/inside.h"

typedef struct Wire {
  int in, out;
  StrBuf read;  /* what has come and was not taken */
  size_t taken; /* of it: the message at hand */
} Wire;

typedef enum WireRead {
  WIRE_MESSAGE,
  WIRE_SKIPPED, /* a message that memory has no room for was passed over */
  WIRE_END,     /* nothing more comes */
  WIRE_BROKEN,  /* what came is no header: where a message begins is lost */
} WireRead;

void wire_init(Wire *w, Mem *mem, int in, int out);
void wire_done(Wire *w);
/* The next message, which stays where it is until the next call; the caller may
 * write to it. */
WireRead wire_read(Wire *w, char **text, size_t *len);
/* Has the beginning of another message come? */
bool wire_has_more(const Wire *w);
/* False: nobody reads any more. */
bool wire_write(Wire *w, const char *text, size_t len);

#endif
