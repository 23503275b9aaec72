#include "page/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_vehicle(const struct oto_channel *channel)
{
    return (channel->flags & OTO_CHANNEL_TRUTH) != 0 || strcmp(channel->type.name, "truth") == 0;
}

void web_places_take(struct web_places *places, const struct oto_client *client)
{
    uint32_t count = 0;
    free(places->vehicles);
    places->count = 0;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        count += is_vehicle(oto_client_channel(client, i));
    }
    count = count < WEB_PLACES_MAX ? count : WEB_PLACES_MAX;
    places->vehicles = calloc((size_t)count + 1, sizeof *places->vehicles);
    for (uint32_t i = 0; places->vehicles != NULL && places->count < count; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        struct web_place *place = &places->vehicles[places->count];
        if (is_vehicle(channel)) {
            const bool has = web_column_find(&channel->type, "position_enu_m.x", &place->east) &&
                             web_column_find(&channel->type, "position_enu_m.y", &place->north);
            place->channel = has ? channel : NULL;
            places->count++;
        }
    }
}

size_t web_places_make(struct web_places *places, double sim_time_s, void *payload)
{
    const uint32_t start[2] = {WEB_PLACES_MAGIC, places->count};
    unsigned char *to = places->message;
    memcpy(to, start, sizeof start);
    memcpy(to + 8, &sim_time_s, sizeof sim_time_s);
    to += 16;
    for (uint32_t i = 0; i < places->count; i++, to += 8) {
        const struct web_place *place = &places->vehicles[i];
        struct oto_sample_head head;
        float position[2] = {NAN, NAN};
        if (place->channel != NULL && place->channel->view.ring != NULL &&
            oto_channel_latest(place->channel, &head, payload, OTO_RECORD_MAX_BYTES) == OTO_OK) {
            position[0] = (float)oto_field_number(place->east.field, payload, place->east.element);
            position[1] = (float)oto_field_number(place->north.field, payload, place->north.element);
        }
        memcpy(to, position, sizeof position);
    }
    return (size_t)(to - places->message);
}
