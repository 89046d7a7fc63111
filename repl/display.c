/* How the prompt shows a value: on one line if it fits; otherwise a tensor as
 * facts and a block that fits the terminal, and a value with parts as a tree.
 * rly run prints the plain form (value/show.c).
 *
 * A tree as the prompt draws it:
 *
 *   Node
 *   |- Tensor[(2, 3), float32]  6 elements, min 0, max 5, mean 2.5
 *   |  [[0.0, 1.0, 2.0],
 *   |   [3.0, 4.0, 5.0]]
 *   |- Cons of 1000 in a row
 *   |  |- 1
 *   |  |- ...
 *   |  `- 1000
 *   `- Node of 7 values          (closed: below the depth that fits)
 *
 * Everything here is bounded in time and in lines, whatever the value is: a
 * list of ten million cells, a tree of any depth, a value that shares its parts
 * exponentially often.  Sequences keep their first and last items only, trees
 * are cut at a depth, and what is left out is counted up to COUNTED.  Nothing
 * recurses over the value: children wait on an explicit stack.
 *
 * Values are read through the handles of rly.h.  A handle owns a reference;
 * each function below frees those that it takes out of a node. */
#include "repl/display.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inside.h"
#include "repl/cli.h"

/* --- Terminals ------------------------------------------------------------ */

static const char *locale_name(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (int i = 0; i < 3; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return value;
  }
  return "";
}

/* Files and pipes get UTF-8; a terminal gets UTF-8 if its locale says so.  The
 * locale's name is read from the environment, in POSIX's order of precedence.
 * setlocale(LC_ALL, "") would change how numbers are written, too. */
bool display_unicode(void) {
  const char *name = locale_name();
  return !is_terminal(stdout) || strcasestr(name, "utf-8") ||
         strcasestr(name, "utf8");
}

/* These four colours are legible on a light and on a dark background. */
static const char *const styles[] = {
    [STYLE_TYPE] = "\033[36m",
    [STYLE_NAME] = "\033[1m",
    [STYLE_FACT] = "\033[2m",
    [STYLE_ALARM] = "\033[31m",
};

void display_styled(const Display *d, StrBuf *out, Style style,
                    const char *text, size_t len) {
  if (d->colour) strbuf_add(out, styles[style]);
  strbuf_add_len(out, text, len);
  if (d->colour) strbuf_add(out, "\033[0m");
}

/* --- Facts ---------------------------------------------------------------- */

static void add_number(StrBuf *out, DType dtype, Value v) {
  if (dtype_is_float(dtype)) strbuf_addf(out, "%.6g", bits_to_f64(dtype, v));
  else if (dtype == DT_UINT64)
    strbuf_addf(out, "%llu", (unsigned long long)v.u64);
  else strbuf_addf(out, "%lld", (long long)bits_to_i64(dtype, v));
}

static void add_range(StrBuf *out, DType dtype, const TensorFacts *f) {
  if (!f->ordered) return;
  strbuf_add(out, ", min ");
  add_number(out, dtype, f->least);
  strbuf_add(out, ", max ");
  add_number(out, dtype, f->most);
  if (f->finite) strbuf_addf(out, ", mean %.6g", f->mean);
}

/* Writes "10 elements, min -1, max 3.5, mean 0.25" and the counts of NaNs and
 * infinities, after `used` columns if the line has room, otherwise on a new
 * line.  Counts of NaNs and infinities are in the colour of an alarm, because
 * they are what one looks for. */
static void add_facts(const Display *d, StrBuf *out, const Tensor *t, int used,
                      const char *indent) {
  TensorFacts f = tensor_facts(t);
  StrBuf text;
  strbuf_init(&text, out->mem);
  strbuf_addf(&text, "%lld element%s", (long long)f.count,
              f.count == 1 ? "" : "s");
  if (t->dtype == DT_BOOL)
    strbuf_addf(&text, ", %lld True", (long long)f.trues);
  else add_range(&text, t->dtype, &f);
  size_t plain = text.len;
  if (f.nans) strbuf_addf(&text, ", %lld NaN", (long long)f.nans);
  if (f.infinities) strbuf_addf(&text, ", %lld Inf", (long long)f.infinities);
  if (used + 2 + (int)text.len > d->width) strbuf_addf(out, "\n%s", indent);
  strbuf_add(out, "  ");
  const char *all = strbuf_text(&text);
  display_styled(d, out, STYLE_FACT, all, plain);
  if (text.len > plain)
    display_styled(d, out, STYLE_ALARM, all + plain, text.len - plain);
  strbuf_done(&text);
}

/* A rank-0 tensor is a scalar and is shown like one, without facts. */
static bool is_tensor(const rly_value *v) {
  return v->type->kind == TY_TENSOR && v->type->rank > 0;
}

void display_facts(const Display *d, StrBuf *out, rly_value *v) {
  if (!is_tensor(v)) return;
  add_facts(d, out, v->value.tensor, 0, "");
  strbuf_add_char(out, '\n');
}

/* --- Leaves --------------------------------------------------------------- */

static int width_of(const char *text) {
  return (int)utf8_width(text, strlen(text));
}

/* Colours the tensor type or the constructor name at the beginning of the text.
 * A value's text begins with that name, so its length says how much is
 * coloured. */
static void add_line(const Display *d, StrBuf *out, const rly_value *v,
                     const char *text) {
  size_t n = 0;
  if (is_tensor(v)) n = (size_t)(strchr(text, ']') - text) + 1;
  const char *name = rly_value_constructor(v);
  if (name) n = strlen(name);
  if (n) display_styled(d, out, name ? STYLE_NAME : STYLE_TYPE, text, n);
  strbuf_add(out, text + n);
}

/* Shows a tensor: type and facts, then its block on the following lines.  The
 * block is written for the width that the indentation leaves; its lines are
 * then copied one by one after the tree's vertical lines. */
static void add_tensor(const Display *d, StrBuf *out, const rly_value *v,
                       const char *indent) {
  const Tensor *t = v->value.tensor;
  StrBuf text;
  strbuf_init(&text, out->mem);
  tensor_print_type(&text, t);
  display_styled(d, out, STYLE_TYPE, strbuf_text(&text), text.len);
  add_facts(d, out, t, width_of(indent) + (int)text.len, indent);
  VEC_CLEAR(&text);
  tensor_print_block(&text, t, d->width - width_of(indent), 0, d->digits);
  for (const char *line = strbuf_text(&text); line;) {
    const char *end = strchr(line, '\n');
    size_t n = end ? (size_t)(end - line) : strlen(line);
    strbuf_addf(out, "\n%s", indent);
    strbuf_add_len(out, line, n);
    line = end ? end + 1 : NULL;
  }
  strbuf_done(&text);
}

/* --- Trees ------------------------------------------------------------------
 * A node is a line; its children stand below it.  What is right-recursive, like
 * a list, is shown as the sequence that it is.  A tree is shown as deep as its
 * lines fit, all of its branches equally, and what lies below is counted. */

/* At most FIRST + LAST + 1 children of a node have a line.  So a tree of depth
 * 1 always fits into LINES lines, and the search for a depth (show) ends. */
enum { FIRST = 12, LAST = 4, INDENT_MAX = 64 };
/* Values that are counted in a drawing.  Once so many were met, a node counts
 * few of its own: dozens of nodes may lead to the same exponentially many. */
enum { COUNTED = 1000000, COUNTED_EACH = 10000 };

/* An item of the explicit stack: a value still to be shown, or (NULL) the
 * number of values left out. */
typedef struct Node {
  rly_value *value;
  int64_t left_out;
  int depth;
  bool last; /* its index among the parent's children */
} Node;

typedef struct Tree {
  const Display *d;
  StrBuf *out;
  VEC(Node) stack;
  bool open[DISPLAY_DEPTH_MOST +
            2]; /* whether the vertical line at that depth continues */
  int deep;     /* nodes at this depth have no children */
  int lines;
  int64_t counted; /* values in nodes that have no children */
} Tree;

/* The field that continues a sequence: the last field, if it alone has the type
 * of the whole value and there are other fields; otherwise -1.  A Cons(head,
 * tail) has one; a binary tree, which has two fields of its own type, has none
 * and is shown as a tree. */
int display_rest_field(rly_value *v) {
  int n = rly_value_field_count(v), own = 0;
  if (v->type->kind != TY_ADT || n < 2) return -1;
  bool last = false;
  for (int i = 0; i < n; i++) {
    rly_value *f = rly_value_field(v, i);
    bool same = f && f->type == v->type;
    own += same;
    last = same;
    rly_value_free(f);
  }
  return own == 1 && last ? n - 1 : -1;
}

/* Takes the handle.  Without memory for the stack the value is left out of the
 * picture; text_take() sees at the end that memory ran out and refuses the
 * text. */
static void push(Tree *t, rly_value *v, int64_t left_out, int depth,
                 bool last) {
  size_t before = t->stack.len;
  VEC_PUSH(&t->stack, (Node){v, left_out, depth, last});
  if (t->stack.len == before) rly_value_free(v);
}

/* Children are collected in order and then reversed onto the stack.  `count` is
 * how many there were; the vector holds all of them, or the first and the last
 * few. */
typedef VEC(rly_value *) Children;

static void push_children(Tree *t, Children *c, int64_t count, int depth) {
  bool elided = count > FIRST + LAST + 1;
  for (size_t i = c->len; i-- > 0;) {
    push(t, c->data[i], 0, depth, i + 1 == c->len);
    if (elided && i == FIRST) push(t, NULL, count - FIRST - LAST, depth, false);
  }
  VEC_DONE(c);
}

/* Keeps the first and the last few of the children that are offered.  `count`
 * is the number of this child, from 1.  Up to FIRST + LAST + 1 children are
 * kept whole: a line "... 1 more" would take as much room as the child.  The
 * next one makes the list drop two in the middle; from then on each child
 * pushes out the oldest of the LAST.
 *
 *   12 first ... 5 others          17 children: all
 *   12 first ... 4 last            18 and more: 2 and more left out */
static void gather(Children *c, rly_value *v, int64_t count) {
  if (!v) return;
  if (count > FIRST + LAST + 1) {
    if (count == FIRST + LAST + 2) {
      rly_value_free(c->data[FIRST]);
      memmove(c->data + FIRST, c->data + FIRST + 1,
              (c->len - FIRST - 1) * sizeof *c->data);
      c->len--;
    }
    rly_value_free(c->data[FIRST]);
    memmove(c->data + FIRST, c->data + FIRST + 1, (LAST - 1) * sizeof *c->data);
    c->data[c->len - 1] = v;
    return;
  }
  size_t before = c->len;
  VEC_PUSH(c, v);
  if (c->len == before) rly_value_free(v);
}

/* Collects the items of a sequence.  The constructor that ends it is shown only
 * if it has fields.  One handle at a time is alive, so a list of any length
 * takes constant memory; the walk ends early when the user presses Ctrl-C. */
static int64_t gather_sequence(Children *c, rly_value *v) {
  int64_t count = 0;
  rly_value *at = rly_value_keep(v);
  for (int rest; at && (rest = display_rest_field(at)) >= 0 &&
                 !store_should_stop(store_of(v->session));) {
    for (int i = 0; i < rest; i++) gather(c, rly_value_field(at, i), ++count);
    rly_value *next = rly_value_field(at, rest);
    rly_value_free(at);
    at = next;
  }
  if (at && rly_value_field_count(at)) gather(c, at, ++count);
  else rly_value_free(at);
  return count;
}

static int64_t gather_fields(Children *c, rly_value *v) {
  int64_t count = 0;
  for (int i = 0; i < rly_value_field_count(v); i++)
    gather(c, rly_value_field(v, i), ++count);
  return count;
}

/* open[i] says whether a node of depth i has further siblings, so whether the
 * line beside its children continues. */
void display_lead(const Display *d, StrBuf *out, bool *open, int depth,
                  bool last) {
  bool wide = d->unicode;
  for (int i = 1; i < depth; i++)
    strbuf_add(out, !open[i] ? "   " : wide ? "\u2502  " : "|  ");
  const char *corner = wide ? "\u2514\u2500 " : "`- ";
  const char *fork = wide ? "\u251c\u2500 " : "|- ";
  if (depth) strbuf_add(out, last ? corner : fork);
  open[depth] = !last;
}

/* Draws the lines in front of a block's second and further lines.  One column
 * of the tree takes up to five bytes in UTF-8 (a line of three and two blanks),
 * and there are at most DEEP + 1 columns, so `to` has room for all. */
static void block_indent(const Tree *t, int depth, char *to) {
  *to = '\0';
  for (int i = 1; i <= depth; i++)
    strcat(to, !t->open[i] ? "   " : t->d->unicode ? "\u2502  " : "|  ");
}

/* "Node", "Cons of 1000 in a row", "tuple of 3", "ref".  The number of fields
 * of a constructor is not said, for they stand below. */
static void add_header(Tree *t, const rly_value *v, int64_t count,
                       bool sequence) {
  const char *name = rly_value_constructor(v);
  char text[64];
  if (v->type->kind == TY_REF) name = "ref";
  if (name) display_styled(t->d, t->out, STYLE_NAME, name, strlen(name));
  int n = snprintf(text, sizeof text, name ? " of %lld %s" : "tuple of %lld",
                   (long long)count, sequence ? "in a row" : "");
  while (n && text[n - 1] == ' ') n--;
  if (!name || sequence)
    display_styled(t->d, t->out, STYLE_FACT, text, (size_t)n);
}

static void add_parts(Tree *t, const Node *node) {
  Children c;
  VEC_INIT(&c, t->out->mem);
  bool sequence = display_rest_field(node->value) >= 0;
  int64_t count = sequence ? gather_sequence(&c, node->value)
                           : gather_fields(&c, node->value);
  add_header(t, node->value, count, sequence);
  push_children(t, &c, count, node->depth + 1);
}

/* How many values lie in this one, up to `most`; what is shared counts as often
 * as it is met.  Counting each shared part as often as it is met is the size of
 * the value as it would be printed.  Without the bound, a value of n cells in
 * which each refers to the next twice would take 2^n visits. */
static int64_t count_inside(Tree *t, rly_value *v, int64_t most) {
  VEC(rly_value *) rest;
  VEC_INIT(&rest, t->out->mem);
  VEC_PUSH(&rest, rly_value_keep(v));
  int64_t count = -1;
  while (rest.len) {
    rly_value *at = VEC_POP(&rest);
    /* Beyond the bound nothing more is pushed, but what is on the stack is
     * still popped: each entry is a reference that must be dropped. */
    bool more = ++count < most && !store_should_stop(store_of(v->session));
    int n = more && !is_tensor(at) ? rly_value_field_count(at) : 0;
    for (int i = 0; i < n; i++) {
      rly_value *field = rly_value_field(at, i);
      size_t before = rest.len;
      if (field) VEC_PUSH(&rest, field);
      if (rest.len == before) rly_value_free(field);
    }
    rly_value_free(at);
  }
  VEC_DONE(&rest);
  return count;
}

/* A node whose parts are not shown. */
static void add_closed(Tree *t, rly_value *v) {
  const char *name = rly_value_constructor(v);
  if (v->type->kind == TY_REF) name = "ref";
  if (!name) name = "tuple";
  int64_t most = COUNTED - t->counted;
  if (most < COUNTED_EACH) most = COUNTED_EACH;
  int64_t count = count_inside(t, v, most);
  t->counted += count;
  char text[64];
  int n = snprintf(text, sizeof text, " of %s%lld values",
                   count >= most ? "more than " : "",
                   (long long)(count >= most ? most : count));
  display_styled(t->d, t->out, STYLE_NAME, name, strlen(name));
  display_styled(t->d, t->out, STYLE_FACT, text, (size_t)n);
}

/* Writes as much of the text as fits on the line.  For values without parts
 * that do not fit, such as the type of a function. */
static void add_cut(Tree *t, const char *text, int room) {
  size_t n = strcspn(text, "\n"), size;
  size_t end = 0;
  while (end < n && (int)utf8_width(text, end) < room - 3) {
    utf8_decode(text + end, n - end, &size);
    end += size;
  }
  strbuf_add_len(t->out, text, end);
  if (text[end]) strbuf_add(t->out, "...");
}

/* In order of preference: a line, a block, a node with children, a node
 * without, the beginning of a line. */
static void add_value(Tree *t, const Node *node) {
  char indent[INDENT_MAX * 3];
  block_indent(t, node->depth, indent);
  int room = t->d->width - width_of(indent);
  char *text = rly_value_text_fit(node->value, t->d->width, t->d->digits);
  if (!text) return;
  bool parts = rly_value_field_count(node->value) > 0;
  if (!strchr(text, '\n') && width_of(text) <= room)
    add_line(t->d, t->out, node->value, text);
  else if (is_tensor(node->value))
    add_tensor(t->d, t->out, node->value, indent);
  else if (parts && node->depth < t->deep) add_parts(t, node);
  else if (parts) add_closed(t, node->value);
  else add_cut(t, text, room);
  rly_text_free(node->value->session->program->cx, text);
}

static void add_node(Tree *t, const Node *node) {
  display_lead(t->d, t->out, t->open, node->depth, node->last);
  if (node->value) add_value(t, node);
  else strbuf_addf(t->out, "... %lld more", (long long)node->left_out);
  strbuf_add_char(t->out, '\n');
  t->lines++;
}

/* Shows a value down to that depth; false: it takes more lines than there may
 * be.  When it does not fit, the rest of the stack is still popped, because
 * each node owns its handle. */
static bool show_to(const Display *d, StrBuf *out, rly_value *v, int deep) {
  Tree t = {.d = d, .out = out, .deep = deep};
  VEC_INIT(&t.stack, out->mem);
  push(&t, rly_value_keep(v), 0, 0, true);
  bool fits = true;
  while (t.stack.len) {
    Node node = VEC_POP(&t.stack);
    fits = fits && t.lines < d->rows;
    if (fits && (node.value || node.left_out)) add_node(&t, &node);
    rly_value_free(node.value);
  }
  VEC_DONE(&t.stack);
  return fits;
}

/* Iterative deepening, from above: the deepest drawing that fits.  Each attempt
 * costs at most LINES lines, so DEEP attempts are cheap; what fits at a depth
 * is not known without trying, because tensors and closed nodes differ in
 * height. */
static void show(const Display *d, StrBuf *out, rly_value *v) {
  for (int deep = d->depth; !show_to(d, out, v, deep) && deep > 1; deep--)
    VEC_CLEAR(out);
}

char *display_text(const Display *d, rly_value *v) {
  rly_session *s = v->session;
  if (rly_value_is_unit(v)) return NULL;
  StrBuf out;
  strbuf_init(&out, &s->program->cx->mem);
  show(d, &out, v);
  if (!store_should_stop(store_of(s))) return text_take(s->program->cx, &out);
  strbuf_done(&out);
  return NULL;
}
