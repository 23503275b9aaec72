#include "sdf/sdf_table.h"

#include <stdlib.h>
#include <strings.h>

#define LARGE 1e12

static const struct sdf_word noise_types[] = {{"none", 0}, {"gaussian", 1}, {"gaussian_quantized", 2}};
static const struct sdf_word localizations[] = {{"CUSTOM", 0}, {"ENU", 1},     {"NED", 2},
                                                {"NWU", 3},    {"GRAV_UP", 4}, {"GRAV_DOWN", 5}};
static const struct sdf_word xml_parents[] = {{"", 0}, {"world", 1}};
static const struct sdf_word yaml_parents[] = {{"sensor", 0}, {"world", 1}};
static const struct sdf_word gravities[] = {{"world", OTO_SDF_GRAVITY_WORLD}};
static const struct sdf_word covariances[] = {{"white", OTO_SDF_COVARIANCE_WHITE}};

/* clang-format off */
#define COUNT(table) (uint32_t)(sizeof(table) / sizeof *(table))
#define WORDS(table) {table, COUNT(table)}
#define CHILDREN(table) .children = (table), .child_count = COUNT(table)
#define AT(MEMBER) .offset = (uint32_t)offsetof(struct oto_sdf_imu, MEMBER)
#define IN_NOISE(NAME, MINIMUM) \
    {#NAME, SDF_NUMBER, 1, (uint32_t)offsetof(struct oto_sdf_noise, NAME), .minimum = (MINIMUM), .maximum = LARGE}

static const struct sdf_element noise_elements[] = {
    {"type", SDF_WORD, 1, (uint32_t)offsetof(struct oto_sdf_noise, type), .words = WORDS(noise_types)},
    IN_NOISE(mean, -LARGE), IN_NOISE(stddev, 0), IN_NOISE(bias_mean, -LARGE), IN_NOISE(bias_stddev, 0),
    IN_NOISE(dynamic_bias_stddev, 0), IN_NOISE(dynamic_bias_correlation_time, 0), IN_NOISE(precision, 0),
};
#define NOISE(KIND) \
    .name = "noise", .kind = (KIND), .attribute = "type", .attribute_words = WORDS(noise_types), \
    .attribute_offset = (uint32_t)offsetof(struct oto_sdf_noise, type), CHILDREN(noise_elements)

const struct sdf_element sdf_noise = {NOISE(SDF_SECTION)};
static const struct sdf_element axis_elements[] = {{NOISE(SDF_SECTION)}};

#define AXIS(NAME, INDEX) \
    {NAME, SDF_SECTION, .offset = (INDEX) * (uint32_t)sizeof(struct oto_sdf_noise), CHILDREN(axis_elements)}
static const struct sdf_element triad_elements[] = {AXIS("x", 0), AXIS("y", 1), AXIS("z", 2)};

static const struct sdf_element reference_elements[] = {
    {"localization", SDF_WORD, 1, AT(localization), .words = WORDS(localizations)},
    {"custom_rpy", SDF_NUMBER, 3, AT(custom_rpy_rad), .minimum = -LARGE, .maximum = LARGE, .attribute = "parent_frame",
     .attribute_offset = (uint32_t)offsetof(struct oto_sdf_imu, custom_rpy_parent_frame),
     .attribute_words = WORDS(xml_parents)},
    {"grav_dir_x", SDF_NUMBER, 3, AT(grav_dir_x), .minimum = -LARGE, .maximum = LARGE, .attribute = "parent_frame",
     .attribute_offset = (uint32_t)offsetof(struct oto_sdf_imu, grav_dir_x_parent_frame),
     .attribute_words = WORDS(xml_parents)},
};

static const struct sdf_element imu_elements[] = {
    {"orientation_reference_frame", SDF_SECTION, CHILDREN(reference_elements)},
    {"angular_velocity", SDF_SECTION, AT(noise[3]), CHILDREN(triad_elements)},
    {"linear_acceleration", SDF_SECTION, AT(noise[0]), CHILDREN(triad_elements)},
    {"enable_orientation", SDF_FLAG, 1, AT(orientation_enable)},
};

static const struct sdf_element output_elements[] = {
    {"discard_redundant_data", SDF_FLAG, 1, AT(discard_redundant_data)},
};

/* The elements with the prefix "otolith:" are not in SDF; because of the prefix, SDF's own parser accepts them. */
#define COVARIANCE(NAME, MEMBER, ...) \
    {"otolith:" NAME, SDF_NUMBER, 9, AT(MEMBER), .minimum = -LARGE, .maximum = LARGE, __VA_ARGS__}
static const struct sdf_element sensor_elements[] = {
    {"pose", SDF_POSE, 6, AT(position_m)},
    {"update_rate", SDF_NUMBER, 1, AT(update_rate_hz), .maximum = 1e6},
    {"topic", SDF_TEXT, OTO_TOPIC_BYTES, AT(topic)},
    {"offset_start_time", SDF_FLAG, 1, AT(offset_start_time)},
    {"output", SDF_SECTION, CHILDREN(output_elements)},
    {"imu", SDF_SECTION, CHILDREN(imu_elements)},
    {NOISE(SDF_NOISE_ALL), AT(noise)},
    {"otolith:frame_id", SDF_TEXT, OTO_WORLD_NAME_BYTES, AT(frame_id)},
    {"otolith:offset_start_max_samples", SDF_WHOLE, 1, AT(offset_start_max_samples), .minimum = 1, .maximum = 1000},
    {"otolith:gravity_m_s2", SDF_NUMBER, 1, AT(gravity_m_s2), .maximum = 1e4, .words = WORDS(gravities)},
    {"otolith:scene_units_per_m", SDF_NUMBER, 1, AT(scene_units_per_m), .minimum = 1e-300, .maximum = 1e9},
    COVARIANCE("orientation_covariance", orientation_covariance),
    COVARIANCE("angular_velocity_covariance", angular_velocity_covariance, .words = WORDS(covariances)),
    COVARIANCE("linear_acceleration_covariance", linear_acceleration_covariance, .words = WORDS(covariances)),
};
const struct sdf_element sdf_sensor = {"sensor", SDF_SECTION, CHILDREN(sensor_elements)};

#define PARAM(KEY, KIND, N, MEMBER, ...) {KEY, KIND, N, (uint32_t)offsetof(struct oto_sdf_imu, MEMBER), 8, __VA_ARGS__}
#define OF_AXES(KEY, KIND, AXIS, MEMBER, ...) \
    {KEY, KIND, 3, (uint32_t)offsetof(struct oto_sdf_imu, noise[AXIS].MEMBER), sizeof(struct oto_sdf_noise), \
     __VA_ARGS__}
#define TRIAD(NAME, U, U2, AXIS) \
    OF_AXES(NAME ".noise_type", SDF_WORD, AXIS, type, WORDS(noise_types)), \
    OF_AXES(NAME ".mean_" U, SDF_NUMBER, AXIS, mean, {NULL, 0}), \
    OF_AXES(NAME ".stddev_" U, SDF_NUMBER, AXIS, stddev, {NULL, 0}), \
    OF_AXES(NAME ".bias_mean_" U, SDF_NUMBER, AXIS, bias_mean, {NULL, 0}), \
    OF_AXES(NAME ".bias_stddev_" U, SDF_NUMBER, AXIS, bias_stddev, {NULL, 0}), \
    OF_AXES(NAME ".dynamic_bias_stddev_" U "_rts", SDF_NUMBER, AXIS, dynamic_bias_stddev, {NULL, 0}), \
    OF_AXES(NAME ".dynamic_bias_correlation_time_s", SDF_NUMBER, AXIS, dynamic_bias_correlation_time, {NULL, 0}), \
    OF_AXES(NAME ".precision_" U, SDF_NUMBER, AXIS, precision, {NULL, 0})

const struct sdf_param sdf_params[] = {
    PARAM("update_rate_hz", SDF_NUMBER, 1, update_rate_hz, {NULL, 0}),
    PARAM("offset_start_time", SDF_FLAG, 1, offset_start_time, {NULL, 0}),
    PARAM("offset_start_max_samples", SDF_WHOLE, 1, offset_start_max_samples, {NULL, 0}),
    PARAM("discard_redundant_data", SDF_FLAG, 1, discard_redundant_data, {NULL, 0}),
    PARAM("gravity_m_s2", SDF_NUMBER, 1, gravity_m_s2, WORDS(gravities)),
    PARAM("scene_units_per_m", SDF_NUMBER, 1, scene_units_per_m, {NULL, 0}),
    PARAM("orientation.enable", SDF_FLAG, 1, orientation_enable, {NULL, 0}),
    PARAM("orientation.localization", SDF_WORD, 1, localization, WORDS(localizations)),
    PARAM("orientation.custom_rpy_rad", SDF_NUMBER, 3, custom_rpy_rad, {NULL, 0}),
    PARAM("orientation.custom_rpy_parent_frame", SDF_WORD, 1, custom_rpy_parent_frame, WORDS(yaml_parents)),
    PARAM("orientation.grav_dir_x", SDF_NUMBER, 3, grav_dir_x, {NULL, 0}),
    PARAM("orientation.grav_dir_x_parent_frame", SDF_WORD, 1, grav_dir_x_parent_frame, WORDS(yaml_parents)),
    PARAM("orientation.covariance_rad2", SDF_NUMBER, 9, orientation_covariance, {NULL, 0}),
    TRIAD("linear_acceleration", "m_s2", "m2_s4", 0),
    PARAM("linear_acceleration.covariance_m2_s4", SDF_NUMBER, 9, linear_acceleration_covariance, WORDS(covariances)),
    TRIAD("angular_velocity", "rad_s", "rad2_s2", 3),
    PARAM("angular_velocity.covariance_rad2_s2", SDF_NUMBER, 9, angular_velocity_covariance, WORDS(covariances)),
};
const uint32_t sdf_param_count = COUNT(sdf_params);

#define WHITE OTO_SDF_COVARIANCE_WHITE
const struct oto_sdf_imu oto_sdf_imu_default = {
    .vehicle = "car", .name = "imu", .offset_start_max_samples = 10, .gravity_m_s2 = OTO_SDF_GRAVITY_WORLD,
    .scene_units_per_m = 1, .orientation_enable = 1,
    .angular_velocity_covariance = {WHITE, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE},
    .linear_acceleration_covariance = {WHITE, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE},
};
/* clang-format on */

const char *sdf_word_of(struct sdf_words words, double value)
{
    for (uint32_t i = 0; i < words.count; i++) {
        if (words.words[i].value == value) {
            return words.words[i].word;
        }
    }
    return NULL;
}

bool sdf_word_find(struct sdf_words words, const char *text, double *value)
{
    for (uint32_t i = 0; i < words.count; i++) {
        if (strcasecmp(words.words[i].word, text) == 0) {
            *value = words.words[i].value;
            return true;
        }
    }
    return false;
}

void sdf_words_list(struct sdf_words words, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < words.count && used + 1 < bytes; i++) {
        const char *word = words.words[i].word[0] != '\0' ? words.words[i].word : "''";
        const int written = snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", word);
        used += written > 0 ? (size_t)written : 0;
    }
}

struct oto_sdf_imu *oto_sdf_world_add(struct oto_sdf_world *world, const struct oto_sdf_imu *imu)
{
    if (world->count == world->capacity) {
        const uint32_t capacity = world->capacity > 0 ? 2 * world->capacity : 4;
        struct oto_sdf_imu *grown = realloc(world->imus, capacity * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        world->imus = grown;
        world->capacity = capacity;
    }
    world->imus[world->count] = *imu;
    return &world->imus[world->count++];
}

void oto_sdf_world_finish(struct oto_sdf_world *world)
{
    free(world->imus);
    *world = (struct oto_sdf_world){0};
}
