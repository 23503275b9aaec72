/* The models that are compiled in, oldest first: made by tools/gen_wmm_table.py from configs/magnetics. */
#ifndef ENVIRONMENT_INTERNAL_H
#define ENVIRONMENT_INTERNAL_H

#include "otolith/environment.h"

#define WMM_MODELS 2

extern const struct oto_wmm wmm_models[WMM_MODELS];

#endif
