/* The program as data for other tools: JSON, which reads back as the same
 * program (docs/DATA.md), and the graph that a person looks at. */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include "ir/program.h"

/* Adds the checked unit as JSON, with the units that it imports in their
 * places: what unit_print_checked() says, and beside it the type of every node,
 * the effects of every function and the places in the source. */
void unit_json(const Program *p, const Unit *u, StrBuf *out);

/* Does the text begin as an object of JSON does, and no program's text? */
bool json_is_program(const char *text, size_t len);
/* Did the unit's text come from such a document? */
bool unit_is_of_json(const Program *p, const Unit *u);
/* Where the nodes of a document stood in the text that it was made of. */
typedef struct JsonPlaces JsonPlaces;
/* Reads a program that is JSON and adds it to `out` as text.  False, when it is
 * none, after E0530, which says where in the document: `$.nodes[3].args`; also
 * when memory ran out.  `*places` is then, too, the caller's to free. */
bool json_to_text(Program *p, const SourceFile *source, StrBuf *out,
                  JsonPlaces **places);
/* The text has been parsed: from now on messages say of its parts where they
 * stood. */
void json_places_put(Program *p, const JsonPlaces *places, const Unit *parsed);
void json_places_free(JsonPlaces *places);

/* The graph of the unit's items, or of `entry` (NULL: of all) and what it
 * reaches of them: as JSON, as text for Graphviz, and as a page that needs
 * nothing else. */
void graph_json(const Program *p, const Unit *u, const Global *entry,
                StrBuf *out);
void graph_dot(const Program *p, const Unit *u, const Global *entry,
               StrBuf *out);
void graph_page(const Program *p, const Unit *u, const Global *entry,
                StrBuf *out);

#endif
