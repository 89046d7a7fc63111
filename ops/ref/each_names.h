/* FN(name): the function of that name of the dtype ID (see each_int.h). */
#ifndef OPS_REF_EACH_NAMES_H
#define OPS_REF_EACH_NAMES_H

#define NAME_PASTE(name, id) name##_##id
#define NAME_OF(name, id) NAME_PASTE(name, id)
#define FN(name) NAME_OF(name, ID)

#endif
