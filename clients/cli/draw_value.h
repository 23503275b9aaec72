/* Values that are drawn for a seed, and values as YAML in one line: for commands that run many worlds. Pure: any thread. */
#ifndef CLI_DRAW_VALUE_H
#define CLI_DRAW_VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "document/document.h"

enum { CLI_DRAWN_BYTES = 1024 };

/*
 * Draws from {uniform: [low, high]}, {log_uniform: [low, high]}, {normal: [mean, sigma]} or {choose: [word, …]}; a list of such
 * pairs gives a list. The value depends only on the seed and on the law's key, the path that the value is for. Writes it as YAML.
 */
enum oto_status cli_draw_value(const struct oto_value *law, uint64_t seed, char *text, size_t bytes, struct oto_error *error);
/* Writes a value as YAML in one line. */
void cli_value_yaml(FILE *to, const struct oto_value *value);
/* Writes a value as JSON in one line. */
void cli_value_json(struct oto_json *json, const char *key, const struct oto_value *value);

#endif
