/* And what wasi-libc lacks: ioctl() refuses the request. */
#ifndef WEB_WASI_IOCTL_H
#define WEB_WASI_IOCTL_H

#include_next <sys/ioctl.h>

enum { TIOCGWINSZ = 0x5413 };
struct winsize {
  unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

#endif
