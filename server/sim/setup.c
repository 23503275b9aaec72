#include <stdio.h>
#include <string.h>

#include "sim/node.h"
#include "otolith/rng.h"

void srv_setup_fill(const struct srv_world_config *world, const struct srv_node_config *node, struct oto_setup *setup)
{
    char unit[sizeof node->part_unit + 8];
    memset(setup, 0, sizeof *setup);
    setup->size = sizeof *setup;
    (void)snprintf(setup->node, sizeof setup->node, "%s/%s", world->vehicles[node->vehicle].name, node->name);
    if (node->part_unit[0] != '\0') {
        (void)snprintf(unit, sizeof unit, "%s", node->part_unit);
    } else {
        (void)snprintf(unit, sizeof unit, "%.90s/0", oto_plugin_descriptor(node->plugin)->id);
    }
    setup->base_rate_num = world->clock.rate_num;
    setup->base_rate_den = world->clock.rate_den;
    setup->rate_num = node->rate_num;
    setup->rate_den = node->rate_den;
    setup->rate_hz = (double)node->rate_num / (double)node->rate_den;
    setup->noise_key = oto_rng_key_make(world->seed, setup->node);
    setup->unit_key = oto_rng_key_make(0, unit);
    setup->mount_position_body_m = node->mount_position_body_m;
    setup->q_body_from_sensor = oto_quat_normalize(node->q_body_from_sensor);
    setup->origin_latitude_rad = world->origin_latitude_rad;
    setup->origin_longitude_rad = world->origin_longitude_rad;
    setup->origin_altitude_m = world->origin_altitude_m;
    setup->gravity_enu_m_s2 = world->environment.gravity_enu_m_s2;
    setup->mag_field_enu_ut = world->environment.mag_field_enu_ut;
    setup->temperature_degc = world->environment.temperature_degc;
    setup->pressure_pa = world->environment.pressure_pa;
    setup->date_days = world->date_days;
}
