/* The graph as JSON, as text for Graphviz, and as a page that needs nothing
 * else: the JSON with a script of ours that lays it out (graph.js). */
#include <string.h>

#include "base/html.h"
#include "data/graph.h"
#include "types/types.h"

static const char style[] =
#include "data/graph.css.inc"
    ;
static const char script[] =
#include "data/graph.js.inc"
    ;

enum { TYPE_MOST = 60 };

/* --- Parts ---------------------------------------------------------------- */

static void add_type(const Graph *g, StrBuf *out, const Type *t) {
  StrBuf text;
  strbuf_init(&text, out->mem);
  type_print(g->program->types, &text, t, TYPE_MOST);
  strbuf_add_escaped(out, strbuf_text(&text), text.len);
  strbuf_done(&text);
}

static void add_text(StrBuf *out, const char *text) {
  strbuf_add_escaped(out, text, strlen(text));
}

static void add_member(StrBuf *out, const char *key, const char *text) {
  if (!text) return;
  strbuf_addf(out, ", \"%s\": \"", key);
  add_text(out, text);
  strbuf_add_char(out, '"');
}

static bool has_effects(const GraphNode *n) {
  return n->effects & (EFFECT_ALL | EFFECT_PARAM) & ~EFFECT_ALLOC;
}

/* --- JSON ----------------------------------------------------------------- */

static void add_node_json(const Graph *g, StrBuf *out, const GraphNode *n) {
  strbuf_addf(out, "{\"kind\": \"%s\", \"region\": %d",
              node_looks[n->kind].word, n->region);
  add_member(out, "label", n->label);
  add_member(out, "detail", n->detail);
  add_member(out, "name", n->name);
  if (n->type) {
    strbuf_add(out, ", \"type\": \"");
    add_type(g, out, n->type);
    strbuf_add_char(out, '"');
  }
  if (has_effects(n)) {
    strbuf_add(out, ", \"effects\": \"");
    effects_print(out, n->effects);
    strbuf_add_char(out, '"');
  }
  Place at = sources_place(g->program->sources, n->span);
  if (at.file) {
    add_member(out, "file", at.file->path);
    strbuf_addf(out, ", \"line\": %u, \"column\": %u", at.line, at.column);
  }
  strbuf_add_char(out, '}');
}

static void add_edge_json(const Graph *g, StrBuf *out, const GraphEdge *e) {
  strbuf_addf(out, "{\"from\": %d, \"to\": %d", e->from, e->to);
  if (e->control) strbuf_add(out, ", \"control\": true");
  add_member(out, "port", e->port);
  if (e->type) {
    strbuf_add(out, ", \"type\": \"");
    add_type(g, out, e->type);
    strbuf_add_char(out, '"');
  }
  strbuf_add_char(out, '}');
}

static void add_separator(StrBuf *out, size_t i) {
  strbuf_add(out, i ? ",\n  " : "\n  ");
}

static void add_json(const Graph *g, StrBuf *out) {
  strbuf_add(out, "{\"format\": \"rly graph\", \"version\": 1,\n");
  strbuf_add(out, " \"regions\": [");
  for (size_t i = 0; i < g->regions.len; i++) {
    const GraphRegion *r = &g->regions.data[i];
    add_separator(out, i);
    strbuf_addf(out, "{\"parent\": %d", r->parent);
    add_member(out, "kind", r->kind);
    add_member(out, "label", r->label);
    strbuf_add_char(out, '}');
  }
  strbuf_add(out, "],\n \"nodes\": [");
  for (size_t i = 0; i < g->nodes.len && !mem_exhausted(out->mem); i++) {
    add_separator(out, i);
    add_node_json(g, out, &g->nodes.data[i]);
  }
  strbuf_add(out, "],\n \"edges\": [");
  for (size_t i = 0; i < g->edges.len && !mem_exhausted(out->mem); i++) {
    add_separator(out, i);
    add_edge_json(g, out, &g->edges.data[i]);
  }
  strbuf_add(out, "]}\n");
}

void graph_json(const Program *p, const Unit *u, const Global *entry,
                StrBuf *out) {
  Graph g;
  graph_build(&g, p, u, entry);
  add_json(&g, out);
  graph_done(&g);
}

/* --- Graphviz ------------------------------------------------------------- */

/* A label's lines: what the node does, its attributes, the value's name. */
static void add_node_dot(StrBuf *out, size_t i, const GraphNode *n) {
  strbuf_addf(out, "  n%zu [shape=%s, label=\"", i, node_looks[n->kind].shape);
  add_text(out, n->label);
  if (n->detail) {
    strbuf_add(out, "\\n");
    add_text(out, n->detail);
  }
  if (n->name) {
    strbuf_add(out, "\\n");
    add_text(out, n->name);
  }
  strbuf_add(out, has_effects(n) ? "\", color=\"#b3501e\"];\n" : "\"];\n");
}

static void add_edge_dot(const Graph *g, StrBuf *out, const GraphEdge *e) {
  strbuf_addf(out, "  n%d -> n%d", e->from, e->to);
  if (e->control) {
    strbuf_add(out, " [style=dashed, color=\"#b3501e\", constraint=true];\n");
    return;
  }
  strbuf_add(out, " [label=\"");
  if (e->port) add_text(out, e->port);
  if (e->port && e->type) strbuf_add(out, ": ");
  if (e->type) add_type(g, out, e->type);
  strbuf_add(out, "\"];\n");
}

/* Regions come in the order of a walk that meets a region before those in it,
 * so those that end before the next one are found by its parent. */
static void close_clusters(const Graph *g, StrBuf *out, int *open, int parent) {
  for (; *open != parent && *open >= 0; *open = g->regions.data[*open].parent)
    strbuf_add(out, "  }\n");
}

/* The nodes of a region are chained: next[i] is the one after node i. */
static void add_clusters(const Graph *g, StrBuf *out, const int *first,
                         const int *next) {
  int open = -1;
  for (size_t i = 0; i < g->regions.len && !mem_exhausted(out->mem); i++) {
    const GraphRegion *r = &g->regions.data[i];
    close_clusters(g, out, &open, r->parent);
    strbuf_addf(out, "  subgraph cluster_%zu {\n  label=\"", i);
    add_text(out, r->label);
    strbuf_add(out, "\";\n");
    for (int n = first[i]; n >= 0; n = next[n])
      add_node_dot(out, (size_t)n, &g->nodes.data[n]);
    open = (int)i;
  }
  close_clusters(g, out, &open, -1);
}

void graph_dot(const Program *p, const Unit *u, const Global *entry,
               StrBuf *out) {
  Graph g;
  graph_build(&g, p, u, entry);
  int *first = ARENA_ARRAY(&g.arena, int, g.regions.len + 1);
  int *next = ARENA_ARRAY(&g.arena, int, g.nodes.len + 1);
  strbuf_add(out,
             "digraph rly {\n"
             "  graph [fontname=\"sans-serif\", style=rounded, "
             "color=\"#8a929a\"];\n"
             "  node [fontname=\"monospace\", fontsize=11];\n"
             "  edge [fontname=\"monospace\", fontsize=9];\n");
  if (first && next) {
    for (size_t i = 0; i < g.regions.len; i++) first[i] = -1;
    for (size_t i = g.nodes.len; i-- > 0;) {
      int region = g.nodes.data[i].region;
      if (region < 0) continue;
      next[i] = first[region];
      first[region] = (int)i;
    }
    add_clusters(&g, out, first, next);
  } else {
    mem_raise_exhausted(out->mem);
  }
  for (size_t i = 0; i < g.edges.len && !mem_exhausted(out->mem); i++)
    add_edge_dot(&g, out, &g.edges.data[i]);
  strbuf_add(out, "}\n");
  graph_done(&g);
}

/* --- The page ------------------------------------------------------------- */

/* In a script element, `</` and `<!` would end the data or begin a comment. */
static void add_script_data(StrBuf *out, const StrBuf *json) {
  const char *at = strbuf_text(json), *end = at + json->len;
  while (at < end && !mem_exhausted(out->mem)) {
    const char *mark = memchr(at, '<', (size_t)(end - at));
    const char *stop = mark ? mark : end;
    strbuf_add_len(out, at, (size_t)(stop - at));
    if (mark) strbuf_add(out, "\\u003c");
    at = mark ? mark + 1 : end;
  }
}

void graph_page(const Program *p, const Unit *u, const Global *entry,
                StrBuf *out) {
  StrBuf json;
  strbuf_init(&json, out->mem);
  graph_json(p, u, entry, &json);
  strbuf_add(out,
             "<!doctype html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\""
             "default-src 'none'; style-src 'unsafe-inline'; "
             "script-src 'unsafe-inline'\">\n<title>");
  html_add(out, u->source->path, strlen(u->source->path));
  strbuf_add(out, "</title>\n<style>\n");
  strbuf_add(out, style);
  strbuf_add(out, "</style>\n</head>\n<body>\n<header>\n<h1>");
  html_add(out, u->source->path, strlen(u->source->path));
  strbuf_add(
      out,
      "</h1>\n"
      "<input type=\"search\" id=\"search\" placeholder=\"search\" "
      "aria-label=\"search for nodes\" title=\"/\">\n"
      "<output id=\"found\"></output>\n"
      "<span class=\"keys\"><button id=\"fold\" title=\"f\">fold all</button>"
      "<button id=\"unfold\" title=\"u\">unfold all</button>"
      "<button id=\"out\" title=\"-\" aria-label=\"smaller\">&#8722;</button>"
      "<button id=\"in\" title=\"+\" aria-label=\"larger\">+</button>"
      "<button id=\"fit\" title=\"0\">fit</button></span>\n"
      "</header>\n<main>\n"
      "<svg id=\"graph\" tabindex=\"0\" role=\"application\" "
      "aria-label=\"the graph\"></svg>\n"
      "<aside id=\"side\" hidden></aside>\n</main>\n"
      "<noscript>The graph is drawn by a script.</noscript>\n"
      "<script type=\"application/json\" id=\"data\">");
  add_script_data(out, &json);
  strbuf_add(out, "</script>\n<script>\n");
  strbuf_add(out, script);
  strbuf_add(out, "</script>\n</body>\n</html>\n");
  strbuf_done(&json);
}
