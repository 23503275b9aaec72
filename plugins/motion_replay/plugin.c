/* The adapter of the trajectory to the plugin ABI: parameter table, reading of the file, truth. */
#include "otolith/plugin.h"

#include "num_course.h"
#include "trajectory.h"

#define NAME_BYTES 64
#define MOST_COLUMNS 11
#define FAR_M 1e5                          /* m: a larger distance from the world's origin gives a warning */
#define COURSE_WARNING_RAD (20.0 * OTO_DEG)

struct params {
    char path[1024];
    int64_t position_frame, velocity_frame, attitude_frame, attitude_direction, body;
    char time[NAME_BYTES];
    char position[3][NAME_BYTES], velocity[3][NAME_BYTES], attitude[4][NAME_BYTES];
    struct trajectory_options options;
};

static const struct oto_named_value position_frames[] = {
    {"enu", ROWS_POSITION_ENU}, {"ecef", ROWS_POSITION_ECEF}, {"geodetic", ROWS_POSITION_GEODETIC}};
static const struct oto_named_value velocity_frames[] = {
    {"position", ROWS_VELOCITY_AS_POSITION}, {"enu", ROWS_VELOCITY_ENU}, {"ecef", ROWS_VELOCITY_ECEF}};
static const struct oto_named_value attitude_frames[] = {
    {"enu", ROWS_ATTITUDE_ENU}, {"ned", ROWS_ATTITUDE_NED}, {"ecef", ROWS_ATTITUDE_ECEF}};
static const struct oto_named_value directions[] = {{"frame_from_body", ROWS_FRAME_FROM_BODY},
                                                    {"body_from_frame", ROWS_BODY_FROM_FRAME}};
static const struct oto_named_value bodies[] = {{"flu", ROWS_FLU}, {"frd", ROWS_FRD}};
static const struct oto_named_value ends[] = {{"hold", TRAJECTORY_HOLD}, {"loop", TRAJECTORY_LOOP}};

/* clang-format off */
#define COUNT(table) (sizeof(table) / sizeof *(table))
#define WORD(key_, member_, names_, text_) \
    {.key = key_, .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, member_), .minimum = 1, \
     .maximum = COUNT(names_), .default_value = 1, .unit = "", .text = text_, .names = names_, .name_count = COUNT(names_)}
#define COLUMN(key_, member_, default_, text_) \
    {.key = "columns." key_, .type = OTO_PARAM_TEXT, .count = NAME_BYTES, .offset = OTO_PARAM_AT(struct params, member_), \
     .default_text = default_, .unit = "", .text = text_}
#define NUMBER(key_, member_, flags_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, options.member_), \
     .flags = flags_, .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}

static const struct oto_param params[] = {
    {.key = "path", .type = OTO_PARAM_PATH, .count = sizeof((struct params *)0)->path,
     .offset = OTO_PARAM_AT(struct params, path), .flags = OTO_PARAM_REQUIRED, .unit = "", .text = "CSV with one header line"},
    WORD("position_frame", position_frame, position_frames, "enu about the world's origin, ecef, or geodetic: degrees, degrees, metres"),
    WORD("velocity_frame", velocity_frame, velocity_frames, "axes of the velocity; position: those of the position"),
    WORD("attitude_frame", attitude_frame, attitude_frames, "the frame outside the body that the quaternion relates to"),
    WORD("attitude_direction", attitude_direction, directions, "what the quaternion takes to what"),
    WORD("frame", body, bodies, "axes of the body in the file"),
    COLUMN("time", time, "t_s", "seconds, from any zero"),
    COLUMN("position_x", position[0], "x", "x, or latitude"),
    COLUMN("position_y", position[1], "y", "y, or longitude"),
    COLUMN("position_z", position[2], "z", "z, or height"),
    COLUMN("velocity_x", velocity[0], "", "m/s; all three or none"),
    COLUMN("velocity_y", velocity[1], "", "m/s; all three or none"),
    COLUMN("velocity_z", velocity[2], "", "m/s; all three or none"),
    COLUMN("attitude_w", attitude[0], "", "Hamilton quaternion; all four or none"),
    COLUMN("attitude_x", attitude[1], "", "Hamilton quaternion; all four or none"),
    COLUMN("attitude_y", attitude[2], "", "Hamilton quaternion; all four or none"),
    COLUMN("attitude_z", attitude[3], "", "Hamilton quaternion; all four or none"),
    NUMBER("start_offset_s", start_offset_s, 0, 0, 1e8, 0, "s", "time zero of the world is this much after the first row"),
    WORD("at_end", options.at_end, ends, "after the last row: come to rest and stay, or also begin again"),
    NUMBER("smoothing.position_s", position_smoothing_s, 0, 0.001, 100, 0.1, "s", "time constant of the position spline"),
    NUMBER("smoothing.attitude_s", attitude_smoothing_s, 0, 0.001, 100, 0.05, "s", "time constant of the attitude spline"),
    NUMBER("smoothing.position_sigma_m", position_sigma_m, OTO_PARAM_OPEN_MIN, 0, 1e4, 0.05, "m", "weight of the positions beside the velocities"),
    NUMBER("smoothing.velocity_sigma_m_s", velocity_sigma_m_s, OTO_PARAM_OPEN_MIN, 0, 1e4, 0.05, "m/s", "weight of the velocities beside the positions"),
    NUMBER("standstill.speed_m_s", standstill_speed_m_s, 0, 0, 100, 0.05, "m/s", "rows slower than this are a standstill; 0: none is held"),
    NUMBER("standstill.duration_s", standstill_duration_s, OTO_PARAM_OPEN_MIN, 0, 1e6, 1, "s", "shortest standstill that is held"),
};
/* clang-format on */

/* Adds a group of columns, which must be present completely or not at all. */
static enum oto_status add_group(const char (*names)[NAME_BYTES], uint32_t count, const char *group,
                                 const char **columns, struct rows_layout *layout, bool *has, struct oto_error *error)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        columns[layout->columns + i] = names[i];
        given += names[i][0] != '\0';
    }
    *has = given > 0;
    if (given != 0 && given != count)
        return oto_fail(error, OTO_INVALID, "columns.%s_…: %u of %u columns are named; name all of them or none", group,
                        given, count);
    layout->columns += given;
    return OTO_OK;
}

static enum oto_status lay_columns(const struct params *p, const char **columns, struct rows_layout *layout,
                                   struct oto_error *error)
{
    bool has_position = true;
    enum oto_status status;
    *layout = (struct rows_layout){.columns = 1, .names = columns, .path = p->path, .position = 1};
    columns[0] = p->time;
    status = add_group(p->position, 3, "position", columns, layout, &has_position, error);
    layout->velocity = layout->columns;
    if (status == OTO_OK)
        status = add_group(p->velocity, 3, "velocity", columns, layout, &layout->has_velocity, error);
    layout->attitude = layout->columns;
    if (status == OTO_OK)
        status = add_group(p->attitude, 4, "attitude", columns, layout, &layout->has_attitude, error);
    if (status == OTO_OK && (!has_position || p->time[0] == '\0'))
        return oto_fail(error, OTO_INVALID, "columns: time and position_x, _y, _z must be named");
    return status;
}

static enum oto_status take_rows(const struct oto_host *host, const struct rows_layout *layout, uint64_t count,
                                 struct rows *rows, struct oto_error *error)
{
    rows->count = count;
    rows->t_s = host->alloc(host->context, count * sizeof *rows->t_s + 1);
    rows->position_enu_m = host->alloc(host->context, count * sizeof *rows->position_enu_m + 1);
    if (layout->has_velocity)
        rows->velocity_enu_m_s = host->alloc(host->context, count * sizeof *rows->velocity_enu_m_s + 1);
    if (layout->has_attitude)
        rows->q_enu_from_body = host->alloc(host->context, count * sizeof *rows->q_enu_from_body + 1);
    if (rows->t_s == NULL || rows->position_enu_m == NULL || (layout->has_velocity && rows->velocity_enu_m_s == NULL) ||
        (layout->has_attitude && rows->q_enu_from_body == NULL))
        return oto_fail(error, OTO_NO_MEMORY, "%s: out of memory for %llu rows", layout->path,
                        (unsigned long long)count);
    return OTO_OK;
}

/* Warns about probable mistakes in a file that is formally correct. */
static void warn_doubts(const struct oto_host *host, const struct trajectory *trajectory, const char *path)
{
    struct trajectory_doubts doubts = trajectory_doubt(trajectory);
    double far_m = oto_vec3_norm(trajectory->base_enu_m);
    char sentence[1400];
    if (doubts.course_error_rad > COURSE_WARNING_RAD) {
        (void)snprintf(sentence, sizeof sentence,
                       "%s: while it moves, the body's x axis is on average %.0f deg off the direction of travel; check "
                       "frame, attitude_frame and attitude_direction",
                       path, doubts.course_error_rad / OTO_DEG);
        host->warn(host->context, sentence);
    }
    if (doubts.upward < 0.0) {
        (void)snprintf(sentence, sizeof sentence, "%s: the body's z axis points down on average; check frame", path);
        host->warn(host->context, sentence);
    }
    if (far_m > FAR_M) {
        (void)snprintf(sentence, sizeof sentence,
                       "%s: it begins %.0f km from the world's origin, where gravity and the magnetic field are taken; "
                       "move the origin",
                       path, far_m * 1e-3);
        host->warn(host->context, sentence);
    }
}

struct prepared {
    struct num_course course;
    struct trajectory trajectory;
};

static void truth_of(const void *trajectory, struct oto_instant at, struct oto_truth_record *truth)
{
    trajectory_evaluate(trajectory, at, truth);
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct params *p = block;
    const struct rows_convention convention = {
        p->position_frame, p->velocity_frame, p->attitude_frame, p->attitude_direction, p->body,
        {setup->origin_latitude_rad, setup->origin_longitude_rad, setup->origin_altitude_m}};
    const char *columns[MOST_COLUMNS];
    struct prepared *prepared = host->alloc(host->context, sizeof *prepared);
    struct rows_layout layout;
    struct oto_table_view table;
    struct rows rows = {0};
    enum oto_status status = lay_columns(p, columns, &layout, error);
    if (prepared == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *prepared);
    prepared->course = (struct num_course){truth_of, &prepared->trajectory};
    if (status == OTO_OK)
        status = host->read_table(host->context, p->path, columns, layout.columns, &table, error);
    if (status == OTO_OK)
        status = take_rows(host, &layout, table.rows, &rows, error);
    if (status == OTO_OK)
        status = rows_read(&rows, table.values, &layout, &convention, error);
    if (status == OTO_OK)
        status = trajectory_fit(&prepared->trajectory, &rows, &p->options, p->path, host->alloc, host->context,
                                error);
    if (status == OTO_OK)
        warn_doubts(host, &prepared->trajectory, p->path);
    *data = prepared;
    return status;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "motion_replay", .kind = OTO_KIND_MOTION, .version = "1.1.0",
    .text = "a recorded drive through smoothing splines, as analytic truth",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct num_blend), .state_version = 2, .migrates_from = 2};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .step = num_course_step};
OTO_PLUGIN_DEFINE(descriptor, ops, num_course_extension);
