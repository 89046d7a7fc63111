/* Parts of the text that a run leaves to the next (kept.h), and values of steps
 * as parts. */
#ifndef LIB_KEPT_TEXT_H
#define LIB_KEPT_TEXT_H

#include "lib/handles.h"

/* A part is a word, a length, and so many bytes. */
void kept_add_part(StrBuf *out, const char *word, const char *text, size_t len);
/* Cuts the first part off the text from `*at` to `end`, where a byte must
 * follow that is no digit.  False: there is none, or it is not whole.  `*word`
 * and `*text` point into the text. */
bool kept_next_part(const char **at, const char *end, const char **word,
                    const char **text, size_t *len);

/* Neither function below exhausts the session's Mem: what they need but for the
 * text and the value is taken from one of their own. */

/* Adds the parts of a value of data (type_is_data).  False where these would be
 * more than `most` bytes, more than a quarter of the memory is in use, or
 * memory ran out; then some parts may have been added. */
bool kept_add_value(rly_session *s, const Type *type, Value v, size_t most,
                    StrBuf *out);
/* The value of these parts; owned.  False where they are not those of a value
 * of the type, or memory ran out. */
bool kept_value(rly_session *s, const Type *type, const char *text, size_t len,
                Value *out);

#endif
