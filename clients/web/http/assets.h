/* The files of the page, compiled into the program from the folder assets/. */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include "http/http.h"

extern const struct web_asset web_assets[];
extern const uint32_t web_asset_count;

#endif
