/* Motion models opened by the command line, with parameters that are already parsed (otolith/model.h). */
#ifndef SRV_SIM_MODEL_H
#define SRV_SIM_MODEL_H

#include "document/document.h"
#include "otolith/model.h"

/* As oto_model_open (otolith/model.h), with parameters from a document: a map, or NULL. */
enum oto_status srv_model_open(const char *name, const struct oto_value *params, oto_warn_function warn, void *warn_context,
                               struct oto_model **model, struct oto_error *error);

#endif
