/* The driver: takes tokens from the scanner, asks the grammar whether each can
 * stand where it stands, and feeds it.  After a mistake it goes on at the next
 * item.  mistake.c words the messages.
 *
 *   scan_next --> settle_sign --> grammar_plan --yes--> feed --+
 *       ^                               | no                   |
 *       |                               v                      |
 *       |                       mistake_unexpected             |
 *       |                               |                      |
 *       +-- restart <-- recover <-------+                      |
 *       +------------------------------------------------------+
 *
 * Asking first has three uses.  The error is found before the parser's default
 * reductions have dropped the context, so the list of expected tokens is exact.
 * Whether `-1` is one token or two depends on the place.  And a prompt can tell
 * "wrong" from "not complete yet": everything fitted, and the end does not.
 *
 * Asking replays the token's reductions on a copy of states and notes the
 * rules, which feeding then follows without looking them up again.  Parsing
 * stays linear in the text.
 *
 * A Parse lives from parse_unit's first line to its last.  Its brackets and
 * comments are vectors of the program's Mem, nodes go to the unit's arena,
 * lists to a scratch arena.  A unit is handed out only for a text without
 * mistakes. */
#include "parser/parse.h"

#include <string.h>

#include "parser/metadata.h"

/* --- Tokens ------------------------------------------------------------- */

static Span span_at(const SourceFile *source, const char *lo, const char *hi) {
  return (Span){source->base + (uint32_t)(lo - source->text),
                source->base + (uint32_t)(hi - source->text)};
}

/* The name in a token's text: without the sigil, or the key of meta[key]. */
static const Name *token_name(Parse *p, int kind) {
  const char *lo = p->scanner.lo, *hi = p->scanner.cur;
  switch (kind) {
    case TK_LOCAL:
    case TK_GLOBAL: lo++; break;
    case TK_META: lo += strlen("meta["), hi--; break;
    case TK_IDENT:
    case TK_UNDERSCORE:
    case TK_AND:
    case TK_PARAM:
    case TK_IMPORT:
    case TK_GRADIENT:
    case TK_RULE:
    case TK_OP:
    case TK_WHERE:
    case TK_WHEN:
    case TK_WITH:
    case TK_TENSOR: break;
    default: return NULL;
  }
  return name_intern(p->builder.program->names, lo, (size_t)(hi - lo));
}

/* Comments are kept aside, with their places, for the printer.  The metadata
 * section is the end of the program's text: metadata.c reads it.  Two tokens
 * back are remembered for hints. */
static void read_token(Parse *p) {
  const SourceFile *source = p->builder.unit->source;
  p->earlier = p->previous;
  p->previous = p->token;
  int kind;
  for (;;) {
    kind = scan_next(&p->scanner);
    Span span = span_at(source, p->scanner.lo, p->scanner.cur);
    if (kind == TK_COMMENT) {
      VEC_PUSH(&p->comments, (Comment){span});
      continue;
    }
    if (kind == TK_METADATA) {
      p->metadata = span;
      kind = TK_END;
    }
    p->token = (Token){kind, span, token_name(p, kind)};
    return;
  }
}

/* A minus sign belongs to a number only where a number may stand.  `%x -1` is a
 * difference and `f(-1)` a literal: the scanner cannot know, the grammar's
 * state does. */
static void settle_sign(Parse *p) {
  if (p->token.kind != TK_SIGNED) return;
  bool number = grammar_accepts(p->grammar, TK_NUMBER);
  p->token.kind = number ? TK_NUMBER : scan_split_sign(&p->scanner);
  p->token.span =
      span_at(p->builder.unit->source, p->scanner.lo, p->scanner.cur);
}

/* --- Brackets ----------------------------------------------------------- */

static bool opens(int kind) {
  return kind == TK_LPAREN || kind == TK_LBRACKET || kind == TK_LBRACE;
}

static bool closes(int kind) {
  return kind == TK_RPAREN || kind == TK_RBRACKET || kind == TK_RBRACE;
}

/* Called for tokens that fit, so a closing bracket closes the last one
 * opened. */
static void count_bracket(Parse *p) {
  if (opens(p->token.kind)) VEC_PUSH(&p->open, p->token);
  else if (closes(p->token.kind)) p->open.len--;
}

/* --- Going on after a mistake ------------------------------------------- */

static void restart(Parse *p) {
  grammar_reset(p->grammar);
  VEC_CLEAR(&p->open);
  p->in_definition = p->in_left_side = false;
  p->foreign.kind = TK_END;
}

static bool is_last(int kind) {
  return kind == TK_END || kind == TK_OPEN_COMMENT || kind == TK_OPEN_STRING;
}

static bool out_of_memory(const Parse *p) {
  return mem_exhausted(p->builder.program->mem);
}

static bool is_definition(int kind) {
  return kind == TK_DEF || kind == TK_TYPE || kind == TK_EXTERN;
}

/* The kind of the token after `p->token`.  On a copy of the scanner, which is a
 * few pointers. */
static int peek(const Parse *p) {
  Scanner after = p->scanner;
  int kind;
  do kind = scan_next(&after);
  while (kind == TK_COMMENT);
  return kind;
}

/* Does an item begin here, whatever brackets are open?  `let`, `param` and
 * `import` need the token after them to tell. */
static bool begins_item(Parse *p) {
  switch (p->token.kind) {
    case TK_LET:
    case TK_RULE:
    case TK_OP:
    case TK_PARAM: return peek(p) == TK_GLOBAL;
    case TK_IMPORT: return peek(p) == TK_STRING;
    case TK_GRADIENT: {
      int next = peek(p);
      return next == TK_IDENT || next == TK_GLOBAL;
    }
    default: return is_definition(p->token.kind);
  }
}

/* Skips to the next item: one whose first word shows it, or the text after a
 * semicolon outside of all brackets, or after the brace that ends a definition.
 * Leaves its first token in `p->token`.  It counts brackets on the way, so that
 * a semicolon inside of what is skipped ends nothing.  A stray closer counts as
 * one more open bracket, which it then closes.  The grammar starts afresh, as
 * its stack may end anywhere in an item. */
static void recover(Parse *p) {
  bool stray = closes(p->token.kind) && !closes_open(p, p->token.kind);
  size_t depth = p->open.len + stray;
  for (; !is_last(p->token.kind) && !out_of_memory(p); read_token(p)) {
    /* Not in `:type`, a command of the prompt: no item follows a colon. */
    if (begins_item(p) && p->previous.kind != TK_COLON) break;
    depth += opens(p->token.kind);
    if (closes(p->token.kind) && depth > 0) depth--;
    bool over = p->token.kind == TK_SEMI ||
                (p->token.kind == TK_RBRACE && p->in_definition);
    if (depth > 0 || !over) continue;
    read_token(p);
    break;
  }
  /* What is left open at the end has been reported, or is not worth another
   * report. */
  if (is_last(p->token.kind)) p->token.kind = TK_END;
  restart(p);
}

/* --- The loop ----------------------------------------------------------- */

static size_t errors_so_far(const Parse *p) {
  return p->builder.program->diags->errors - p->errors_before;
}

/* Feeds a token that fits. */
static void feed(Parse *p, const GrammarPlan *plan) {
  if (is_definition(p->token.kind)) p->in_definition = true;
  if (p->token.kind == TK_RULE) p->in_left_side = true;
  if (p->token.kind == TK_FATARROW && p->open.len == 0) p->in_left_side = false;
  count_bracket(p);
  grammar_feed(p->grammar, &p->token, plan);
  if (p->open.len == 0 && p->token.kind == TK_RBRACE) p->in_definition = false;
}

static bool is_unreadable(int kind) { return kind > TK_SIGNED; }

/* Takes the token, or reports what is wrong with it.  A word that begins an
 * item while brackets are open is refused although it might fit: `def` inside a
 * body nearly always means that a brace is missing, and the message names that
 * brace (never_closed). */
static bool take_token(Parse *p) {
  if (is_unreadable(p->token.kind)) {
    mistake_unreadable(p);
    return false;
  }
  settle_sign(p);
  GrammarPlan plan;
  p->item_inside = p->open.len > 0 && begins_item(p);
  if (!p->item_inside && grammar_plan(p->grammar, p->token.kind, &plan)) {
    hint_watch(p);
    feed(p, &plan);
    return true;
  }
  mistake_unexpected(p);
  return false;
}

/* Is the text an incomplete program?  Only when nothing was wrong so far.  An
 * open comment or string is incomplete at any place. */
static bool is_incomplete(Parse *p) {
  if (errors_so_far(p) > 0 || !is_last(p->token.kind)) return false;
  return p->token.kind != TK_END || !grammar_accepts(p->grammar, TK_END);
}

/* The last token is fed, too: it is the end, by which the grammar accepts the
 * text.  Mistakes beyond DIAG_MAX would not be shown. */
static ParseStatus parse_tokens(Parse *p, ParseOptions options) {
  for (read_token(p);;) {
    if (out_of_memory(p)) return PARSE_ERRORS;
    if (options.interactive && is_incomplete(p)) return PARSE_INCOMPLETE;
    bool last = is_last(p->token.kind);
    bool taken = take_token(p);
    if (last || errors_so_far(p) >= DIAG_MAX) break;
    if (taken) read_token(p);
    else recover(p);
  }
  return errors_so_far(p) > 0 ? PARSE_ERRORS : PARSE_OK;
}

/* --- Units -------------------------------------------------------------- */

static void fill_unit(Parse *p, Unit *u) {
  u->items = list_structs(&p->builder, p->builder.items, sizeof(Item));
  u->item_count = list_count(p->builder.items, u->items);
  u->comments = VEC_TO_ARENA(&p->comments, &u->arena);
  u->comment_count = u->comments ? (int)p->comments.len : 0;
  u->meta_span = p->metadata;
}

/* Once over the whole text, so that no later phase meets an invalid sequence or
 * a NUL before the end. */
static bool check_encoding(Program *p, const SourceFile *source) {
  size_t bad = utf8_check(source->text, source->len);
  if (bad == source->len) return true;
  Span span = {source->base + (uint32_t)bad, source->base + (uint32_t)bad + 1};
  diag_error(p->diags, E0001, span, "%s at byte %zu of the text",
             source->text[bad] ? "invalid UTF-8" : "a NUL", bad);
  return false;
}

/* The metadata section is read last, as it names nothing of the text; whether
 * uses of it are right is for types/ to say. */
static ParseStatus parse_with(Parse *p, Unit *u, ParseOptions options) {
  grammar_start(p->grammar, p);
  ParseStatus status = parse_tokens(p, options);
  grammar_end(p->grammar);
  fill_unit(p, u);
  if (status == PARSE_OK && span_exists(u->meta_span) &&
      !metadata_read(p->builder.program, u))
    status = PARSE_ERRORS;
  return out_of_memory(p) ? PARSE_ERRORS : status;
}

static void parse_init(Parse *p, Program *program, Unit *u) {
  *p = (Parse){.scanner = scanner_over(u->source->text, u->source->len),
               .builder = {program, u, &u->arena, {0}, {0}, {0}},
               .errors_before = program->diags->errors};
  arena_init(&p->builder.scratch, program->mem);
  VEC_INIT(&p->open, program->mem);
  VEC_INIT(&p->comments, program->mem);
}

/* Only grammar.y knows the automaton's size, so it comes from the heap, as does
 * the driver's state. */
ParseStatus parse_unit(Program *program, SourceFile *source,
                       ParseOptions options, Unit **unit) {
  *unit = NULL;
  if (!check_encoding(program, source)) return PARSE_ERRORS;
  Parse *p = mem_alloc(program->mem, sizeof *p);
  Grammar *grammar = mem_alloc(program->mem, grammar_size());
  ParseStatus status = PARSE_ERRORS;
  if (p && grammar) {
    Unit *u = unit_new(program, source);
    parse_init(p, program, u);
    p->grammar = grammar;
    status = parse_with(p, u, options);
    VEC_DONE(&p->open);
    VEC_DONE(&p->comments);
    arena_done(&p->builder.scratch);
    if (status == PARSE_OK) *unit = u;
    else program_drop_unit(program, u);
  } else {
    mem_raise_exhausted(program->mem);
  }
  mem_free(program->mem, grammar, grammar_size());
  mem_free(program->mem, p, sizeof *p);
  return status;
}

/* --- The prompt --------------------------------------------------------- */

/* What a token of this kind opens, or NULL. */
static const char *opened_by(int kind) {
  switch (kind) {
    case TK_LPAREN: return "(";
    case TK_LBRACE: return "{";
    case TK_LBRACKET: return "[";
    case TK_OPEN_COMMENT: return "/*";
    case TK_OPEN_STRING: return "\"";
    default: return NULL;
  }
}

/* Only scans: a prompt asks after each line, also in the middle of a mistake,
 * where the grammar has nothing to say.  Depths beyond the array are counted
 * and not named. */
int parse_open_brackets(const char *text, uint32_t len,
                        const char **innermost) {
  const char *open[256] = {""}; /* from 1; what lies deeper is only counted */
  const int most = sizeof open / sizeof *open;
  Scanner s = scanner_over(text, len);
  int depth = 0, kind;
  do {
    kind = scan_next(&s);
    const char *opens = opened_by(kind);
    if (opens && ++depth < most) open[depth] = opens;
    if (closes(kind) && depth > 0) depth--;
  } while (!is_last(kind));
  *innermost = depth < most ? open[depth] : "";
  return depth;
}

static TokenLook look_of(int kind) {
  switch (kind) {
    case TK_LET:
    case TK_FN:
    case TK_DEF:
    case TK_IF:
    case TK_ELSE:
    case TK_TYPE:
    case TK_MATCH:
    case TK_MATCH_PARTIAL:
    case TK_EXTERN:
    case TK_FREE_VAR:
    case TK_REF:
    case TK_REF_READ:
    case TK_REF_WRITE:
    case TK_AND:
    case TK_PARAM:
    case TK_GRADIENT:
    case TK_RULE:
    case TK_OP:
    case TK_WHEN:
    case TK_WITH:
    case TK_IMPORT: return LOOK_KEYWORD;
    case TK_LOCAL:
    case TK_GRAPH: return LOOK_LOCAL;
    case TK_GLOBAL: return LOOK_GLOBAL;
    case TK_IDENT:
    case TK_WHERE: /* more often the operator */
    case TK_TENSOR: return LOOK_WORD;
    case TK_TRUE:
    case TK_FALSE:
    case TK_NUMBER:
    case TK_INDEX:
    case TK_SIGNED:
    case TK_META: return LOOK_NUMBER;
    case TK_STRING:
    case TK_OPEN_STRING: return LOOK_STRING;
    case TK_COMMENT:
    case TK_OPEN_COMMENT:
    case TK_VERSION:
    case TK_METADATA: return LOOK_COMMENT;
    case TK_BAD_CHARACTER: return LOOK_BAD;
    default: break;
  }
  if (closes(kind)) return LOOK_CLOSE;
  return opened_by(kind) ? LOOK_OPEN : LOOK_MARK;
}

void parse_each_token(const char *text, uint32_t len,
                      void (*visit)(void *data, TokenLook look, size_t lo,
                                    size_t hi),
                      void *data) {
  Scanner s = scanner_over(text, len);
  for (int kind; (kind = scan_next(&s)) != TK_END;)
    visit(data, look_of(kind), (size_t)(s.lo - text), (size_t)(s.cur - text));
}
