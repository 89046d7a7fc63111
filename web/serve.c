/* rly serve-docs [FOLDER]: shows the site that `make web` builds, the book and
 * the playground, to browsers of this machine.
 *
 * Browsers load WebAssembly only from a server, so here is a small one: it
 * listens on 127.0.0.1, answers GET and HEAD with files of one folder, and
 * knows nothing else of HTTP.  One loop over poll() serves all visitors: a
 * browser opens connections in advance, and one that says nothing must not keep
 * others waiting.  An answer ends its connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  VISITORS_MOST = 64,
  REQUEST_MOST = 8192, /* bytes of a request's lines */
  PATIENCE = 10,       /* seconds without a byte that goes or comes */
};

typedef struct Visitor {
  int fd;                  /* -1: a free place */
  int file;                /* what is sent after `text`; -1: nothing */
  bool answering;          /* the request has been read */
  char text[REQUEST_MOST]; /* the request, then the answer's lines */
  size_t len;              /* of `text` */
  off_t sent;              /* bytes of `text` and of the file */
  time_t last;             /* when a byte went or came */
} Visitor;

typedef struct Server {
  int folder, door; /* descriptors */
  bool safe;        /* no symbolic link is followed */
  Visitor visitors[VISITORS_MOST];
} Server;

static time_t seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

/* --- Answers -------------------------------------------------------------- */

static const char *type_of(const char *path) {
  static const struct {
    const char *ending, *type;
  } types[] = {
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".json", "application/json"},
      {".wasm", "application/wasm"},
  };
  const char *ending = strrchr(path, '.');
  for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
    if (!strcmp(ending, types[i].ending)) return types[i].type;
  return "application/octet-stream";
}

static void answer_head(Visitor *v, const char *status, const char *type,
                        long long size, const char *body) {
  v->len =
      (size_t)snprintf(v->text, sizeof v->text,
                       "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
                       "Content-Length: %lld\r\nCache-Control: no-cache\r\n"
                       "Connection: close\r\n\r\n%s",
                       status, type, size, body);
  v->answering = true;
}

static void answer_refused(Visitor *v, const char *status) {
  char body[64];
  int n = snprintf(body, sizeof body, "%s\n", status);
  answer_head(v, status, "text/plain; charset=utf-8", n, body);
}

static int hex(char c) {
  const char *digits = "0123456789abcdef";
  const char *at = c ? strchr(digits, c | 0x20) : NULL;
  return at ? (int)(at - digits) : -1;
}

/* Decodes a request's target, up to its query, in place.  Returns false for one
 * that is no path, or has a hidden name or `..` in it.  What follows its first
 * slash is opened as a path in the folder: with a second slash it would be a
 * path from the root. */
static bool decode(char *target) {
  char *out = target;
  for (const char *in = target; *in && *in != '?' && *in != '#'; in++) {
    char c = *in;
    if (c == '%') {
      int high = hex(in[1]), low = high < 0 ? -1 : hex(in[2]);
      if (low < 0) return false;
      c = (char)(high << 4 | low);
      in += 2;
    }
    if (!c) return false;
    *out++ = c;
  }
  *out = '\0';
  return *target == '/' && target[1] != '/' && !strstr(target, "/.");
}

enum { OPENED_TO_READ = O_RDONLY | O_NONBLOCK | O_CLOEXEC };

/* Opens a path one name after the other, so that none of them is a symbolic
 * link. */
static int open_without_links(int folder, char *path) {
  int at = folder;
  for (char *name = path; name && at >= 0;) {
    char *slash = strchr(name, '/');
    if (slash) *slash = '\0';
    int next = openat(at, name,
                      OPENED_TO_READ | O_NOFOLLOW | (slash ? O_DIRECTORY : 0));
    if (slash) *slash = '/';
    if (at != folder) close(at);
    at = next;
    name = slash ? slash + 1 : NULL;
  }
  return at;
}

/* Opens a path of the folder, of a folder its index.html.  Returns a
 * descriptor, or -1. */
static int open_file(Server *s, char *path, size_t room, struct stat *is) {
  size_t len = strlen(path);
  if (path[len - 1] == '/') {
    if (len + sizeof "index.html" > room) return -1;
    strcpy(path + len, "index.html");
  }
  /* Not a pipe, which would keep the server waiting. */
  int file = s->safe ? open_without_links(s->folder, path + 1)
                     : openat(s->folder, path + 1, OPENED_TO_READ);
  if (file >= 0 && !fstat(file, is) && S_ISREG(is->st_mode)) return file;
  if (file >= 0) close(file);
  return -1;
}

/* What a request's field says, up to its end; NULL: it has none of this name,
 * which is given with its colon. */
static const char *field(const char *request, const char *name) {
  size_t len = strlen(name);
  for (const char *line = request; (line = strstr(line, "\r\n"));) {
    line += strlen("\r\n");
    if (!strncasecmp(line, name, len))
      return line + len + strspn(line + len, " \t");
  }
  return NULL;
}

/* Does the request mean this machine?  A page from elsewhere whose name has
 * been made to lead here (DNS rebinding) would otherwise read the folder: its
 * browser takes the answers for that page's own.  Only programs that are no
 * browsers leave the field out. */
static bool is_for_here(const char *request) {
  static const char *const names[] = {"127.0.0.1", "localhost"};
  const char *host = field(request, "Host:");
  if (!host) return true;
  size_t len = strcspn(host, ": \t\r");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (len == strlen(names[i]) && !strncasecmp(host, names[i], len))
      return true;
  return false;
}

/* The request's lines are in `text`: "GET /book/index.html HTTP/1.1", fields.
 */
static void answer(Server *s, Visitor *v) {
  char method[8], target[REQUEST_MOST], version[8];
  if (sscanf(v->text, "%7[A-Z] %8191[^ \r\n] %7[HTP/1.0]", method, target,
             version) != 3) {
    answer_refused(v, "400 Bad Request");
    return;
  }
  bool head = !strcmp(method, "HEAD");
  struct stat is;
  if (!head && strcmp(method, "GET"))
    answer_refused(v, "405 Method Not Allowed");
  else if (!is_for_here(v->text)) answer_refused(v, "421 Misdirected Request");
  else if (!decode(target)) answer_refused(v, "400 Bad Request");
  else if ((v->file = open_file(s, target, sizeof target, &is)) < 0)
    answer_refused(v, "404 Not Found");
  else answer_head(v, "200 OK", type_of(target), (long long)is.st_size, "");
  if (!head || v->file < 0) return;
  close(v->file);
  v->file = -1;
}

/* --- Visitors ------------------------------------------------------------- */

static void leave(Visitor *v) {
  close(v->fd);
  if (v->file >= 0) close(v->file);
  v->fd = v->file = -1;
}

/* NULL: who comes now waits at the door. */
static Visitor *free_place(Server *s) {
  for (Visitor *v = s->visitors; v < s->visitors + VISITORS_MOST; v++)
    if (v->fd < 0) return v;
  return NULL;
}

static void enter(Server *s, Visitor *place) {
  int fd = accept(s->door, NULL, NULL);
  if (fd < 0) return;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  *place = (Visitor){.fd = fd, .file = -1, .last = seconds_now()};
}

static bool again(void) { return errno == EAGAIN || errno == EINTR; }

/* Reads what has come of a request.  Returns false when the visitor is gone. */
static bool hear(Server *s, Visitor *v) {
  ssize_t n = read(v->fd, v->text + v->len, sizeof v->text - 1 - v->len);
  if (n <= 0) return n < 0 && again();
  v->len += (size_t)n;
  v->text[v->len] = '\0';
  if (strlen(v->text) < v->len) answer_refused(v, "400 Bad Request");
  else if (strstr(v->text, "\r\n\r\n")) answer(s, v);
  else if (v->len == sizeof v->text - 1)
    answer_refused(v, "431 Request Header Fields Too Large");
  return true;
}

/* Writes a piece of the answer.  Returns false after the last. */
static bool tell(Visitor *v) {
  char piece[65536];
  const char *from = v->text + v->sent;
  ssize_t size = (ssize_t)v->len - v->sent;
  if (size <= 0) {
    if (v->file < 0) return false;
    size = pread(v->file, piece, sizeof piece, v->sent - (off_t)v->len);
    if (size <= 0) return false;
    from = piece;
  }
  ssize_t n = write(v->fd, from, (size_t)size);
  if (n > 0) v->sent += n;
  return n > 0 || again();
}

/* One round: waits until something can be done, and does it. */
static void serve(Server *s) {
  Visitor *place = free_place(s);
  struct pollfd of[VISITORS_MOST + 1] = {
      {.fd = place ? s->door : -1, .events = POLLIN}};
  for (int i = 0; i < VISITORS_MOST; i++)
    of[i + 1] =
        (struct pollfd){.fd = s->visitors[i].fd,
                        .events = s->visitors[i].answering ? POLLOUT : POLLIN};
  poll(of, VISITORS_MOST + 1, 1000 * PATIENCE);
  time_t now = seconds_now();
  for (int i = 0; i < VISITORS_MOST; i++) {
    Visitor *v = &s->visitors[i];
    if (v->fd < 0) continue;
    if (of[i + 1].revents) {
      v->last = now;
      if (!(v->answering ? tell(v) : hear(s, v))) leave(v);
    } else if (now - v->last > PATIENCE) {
      leave(v);
    }
  }
  if (of[0].revents) enter(s, place);
}

/* --- The program ---------------------------------------------------------- */

/* Listens on this machine's own address.  Returns the port; -1: `errno`. */
static int listen_at(Server *s, int port) {
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  s->door = socket(AF_INET, SOCK_STREAM, 0);
  if (s->door < 0) return -1;
  setsockopt(s->door, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  fcntl(s->door, F_SETFD, FD_CLOEXEC);
  fcntl(s->door, F_SETFL, O_NONBLOCK);
  if (bind(s->door, (struct sockaddr *)&at, size) || listen(s->door, 64) ||
      getsockname(s->door, (struct sockaddr *)&at, &size))
    return -1;
  return ntohs(at.sin_port);
}

static int refuse(const char *what) {
  fprintf(stderr, "rly: %s: %s\n", what, strerror(errno));
  return 1;
}

int main(int count, char **words) {
  static Server s;
  if (count != 3 && count != 4)
    return fputs("rly-serve-docs FOLDER PORT [safe]\n", stderr), 1;
  s.safe = count == 4;
  s.folder = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (s.folder < 0) return refuse(words[1]);
  for (int i = 0; i < VISITORS_MOST; i++) s.visitors[i].fd = -1;
  int port = listen_at(&s, atoi(words[2]));
  if (port < 0) return refuse("cannot listen");
  printf("http://127.0.0.1:%d/book/index.html\nCtrl-C ends this.\n", port);
  fflush(stdout);
  signal(SIGPIPE, SIG_IGN);
  for (;;) serve(&s);
}
