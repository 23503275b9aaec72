/* The models compiled into the library, oldest first. tools/gen_wmm_table.py makes them from configs/magnetics. */
#ifndef ENVIRONMENT_INTERNAL_H
#define ENVIRONMENT_INTERNAL_H

#include "otolith/environment.h"

#define WMM_MODELS 2

extern const struct oto_wmm wmm_models[WMM_MODELS];

#endif
