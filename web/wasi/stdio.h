/* And what wasi-libc lacks (posix.c): here without its warning. */
#ifndef WEB_WASI_STDIO_H
#define WEB_WASI_STDIO_H

#include_next <stdio.h>

FILE *web_tmpfile(void);
#define tmpfile web_tmpfile

#endif
