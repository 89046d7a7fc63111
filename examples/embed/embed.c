/* How a C program uses librly: it reads text and tells, character by character
 * as it comes, how likely the character LSTM held each one.
 *
 *   embed charlm.rly charlm.safetensors < text
 *
 * Each line is printed after its mean surprise in bits; at the end the mean
 * over all, in nats.  embed.py is the same program in Python. */
#include <math.h>
#include <stdio.h>

#include "rly.h"

enum { ALPHABET = 96, LINE_MAX = 4096 };

/* The model's state is a value that each step takes and gives: @read of the
 * program is (Net, int32) -> Net. */
typedef struct Model {
  rly_context *cx;
  rly_program *program;
  rly_session *session;
  rly_value *net;
} Model;

/* Prints what the library has to say; false when all is not well.  What went
 * wrong in a session, the session tells. */
static int fine(Model *m, rly_status status) {
  if (status == RLY_OK) return 1;
  char *text = m->session ? rly_session_diagnostics_text(m->session, false)
                          : rly_diagnostics_text(m->cx, false);
  fprintf(stderr, "status %d\n%s", (int)status, text ? text : "");
  rly_text_free(m->cx, text);
  return 0;
}

static int model_open(Model *m, const char *program, const char *weights) {
  m->cx = rly_context_new(NULL);
  m->program = rly_program_new(m->cx);
  if (!fine(m, rly_program_add_file(m->program, program, 0)) ||
      !fine(m, rly_program_bind_file(m->program, weights)) ||
      !fine(m, rly_program_bindings_check(m->program, NULL)))
    return 0;
  m->session = rly_session_new(m->program, NULL);
  return fine(m, rly_session_call(m->session, "blank", 0, NULL, &m->net));
}

static void model_close(Model *m) {
  rly_value_free(m->net);
  rly_session_free(m->session);
  rly_program_free(m->program);
  rly_context_free(m->cx);
}

/* -log p of a character, by the logits: the first field of the state. */
static double surprise(const Model *m, int index) {
  rly_value *field = rly_value_field(m->net, 0);
  rly_tensor *logits = rly_value_tensor(field);
  const float *z = rly_tensor_data(logits);
  double sum = 0;
  for (int i = 0; i < ALPHABET; i++) sum += exp(z[i]);
  double nats = log(sum) - z[index];
  rly_tensor_free(logits);
  rly_value_free(field);
  return nats;
}

/* Replaces the state by the one after this character. */
static int model_read(Model *m, int32_t index) {
  rly_tensor *scalar = rly_tensor_new(m->cx, "int32", 0, NULL, &index);
  rly_value *args[] = {m->net, rly_value_of_tensor(m->session, scalar)};
  rly_value *next = NULL;
  rly_status status = rly_session_call(m->session, "read", 2, args, &next);
  rly_tensor_free(scalar);
  rly_value_free(args[1]);
  if (!fine(m, status)) return 0;
  rly_value_free(m->net);
  m->net = next;
  return 1;
}

/* The model's alphabet: 0 is newline, i is the character of code 31 + i. */
static int index_of(int c) { return c >= 32 && c < 127 ? c - 31 : 0; }

static void print_line(const char *line, int len, double nats) {
  if (len)
    printf("%5.2f  %.*s\n", nats / log(2) / len, len - (line[len - 1] == '\n'),
           line);
}

static int stream(Model *m, FILE *in) {
  char line[LINE_MAX];
  double of_line = 0, total = 0;
  int len = 0;
  long count = 0;
  for (int c; (c = getc(in)) != EOF; count++) {
    double nats = count ? surprise(m, index_of(c)) : 0; /* nothing before */
    if (!model_read(m, index_of(c))) return 0;
    total += nats;
    of_line += nats;
    line[len++] = (char)c;
    if (c != '\n' && len < LINE_MAX) continue;
    print_line(line, len, of_line);
    of_line = len = 0;
  }
  print_line(line, len, of_line);
  if (count > 1) printf("mean %.6f nats\n", total / (double)(count - 1));
  return 1;
}

int main(int argc, char **argv) {
  Model m = {0};
  if (argc != 3) {
    fprintf(stderr, "usage: embed PROGRAM WEIGHTS < TEXT\n");
    return 2;
  }
  int done = model_open(&m, argv[1], argv[2]) && stream(&m, stdin);
  model_close(&m);
  return done ? 0 : 1;
}
