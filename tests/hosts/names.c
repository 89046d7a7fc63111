/* A host that has functions of the names that librly's own parts have.  Built
 * with -static, it must link, and librly must not call these. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rly.h>

void *attr_get(void) { abort(); }
void *buffer_new(void) { abort(); }
void *arena_alloc(void) { abort(); }
void *names_init(void) { abort(); }

int main(void) {
  static const char text[] =
      "def @main() { sum(nn.matmul(ones(shape=[300, 200], dtype=\"float32\"), "
      "ones(shape=[200, 100], dtype=\"float32\"))) }";
  rly_context *cx = rly_context_new(&(rly_options){.threads = 2});
  rly_program *p = rly_program_new(cx);
  rly_value *v = NULL;
  if (rly_program_add_text(p, "text", text, strlen(text), 0) != RLY_OK)
    return 1;
  rly_session *s = rly_session_new(p, NULL);
  if (rly_session_call(s, "main", 0, NULL, &v) != RLY_OK) return 1;
  char *shown = rly_value_text(v);
  puts(shown);
  rly_text_free(cx, shown);
  rly_value_free(v);
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
}
