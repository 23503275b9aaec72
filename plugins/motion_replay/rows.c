#include "rows.h"

#define UNIT_TOLERANCE 1e-3 /* tolerance of a quaternion's length: the file may print four digits only */

static const oto_quat q_enu_from_ned = {0.0, 0.70710678118654752, 0.70710678118654752, 0.0};
static const oto_quat q_frd_from_flu = {0.0, 1.0, 0.0, 0.0};

static bool is_finite(double x)
{
    return x - x == 0.0;
}

static enum oto_status check_finite(const double *value, uint64_t row, const struct rows_layout *layout,
                                    struct oto_error *error)
{
    for (uint32_t c = 0; c < layout->columns; c++)
        if (!is_finite(value[c]))
            return oto_fail(error, OTO_INVALID, "%s: row %llu has %g in column %s; a finite number is expected",
                            layout->path, (unsigned long long)row + 1, value[c], layout->names[c]);
    return OTO_OK;
}

static enum oto_status check_time(const double *value, const double *before, uint64_t row,
                                  const struct rows_layout *layout, struct oto_error *error)
{
    double now_s = value[layout->time], last_s;
    if (before == NULL)
        return OTO_OK;
    last_s = before[layout->time];
    if (now_s > last_s)
        return OTO_OK;
    if (now_s == last_s)
        return oto_fail(error, OTO_INVALID, "%s: row %llu has the time %.9g s of the row before it; times must increase",
                        layout->path, (unsigned long long)row + 1, now_s);
    return oto_fail(error, OTO_INVALID, "%s: row %llu has a decreasing time, from %.9g s to %.9g s; times must increase",
                    layout->path, (unsigned long long)row + 1, last_s, now_s);
}

static oto_geodetic place_of(const double *value)
{
    return (oto_geodetic){value[0] * OTO_DEG, value[1] * OTO_DEG, value[2]};
}

static enum oto_status read_position(const double *value, uint64_t row, const struct rows_layout *layout,
                                     const struct rows_convention *convention, oto_vec3 *position_enu_m,
                                     struct oto_error *error)
{
    oto_vec3 given = oto_vec3_from_array(value);
    double radius_m;
    if (convention->position_frame == ROWS_POSITION_ENU) {
        *position_enu_m = given;
        return OTO_OK;
    }
    if (convention->position_frame == ROWS_POSITION_GEODETIC) {
        if (oto_fabs(value[0]) > 90.0 || oto_fabs(value[1]) > 360.0)
            return oto_fail(error, OTO_RANGE,
                            "%s: row %llu is at latitude %g, longitude %g; geodetic takes degrees in -90 … 90 and "
                            "-360 … 360",
                            layout->path, (unsigned long long)row + 1, value[0], value[1]);
        *position_enu_m = oto_enu_from_geodetic(convention->origin, place_of(value));
        return OTO_OK;
    }
    radius_m = oto_vec3_norm(given);
    if (radius_m < 6.2e6 || radius_m > 1e8)
        return oto_fail(error, OTO_RANGE,
                        "%s: row %llu is %g m from the centre of the Earth; ecef takes positions between 6.2e6 and 1e8 m",
                        layout->path, (unsigned long long)row + 1, radius_m);
    *position_enu_m = oto_quat_rotate(oto_q_enu_from_ecef(convention->origin.lat_rad, convention->origin.lon_rad),
                                      oto_vec3_sub(given, oto_ecef_from_geodetic(convention->origin)));
    return OTO_OK;
}

static oto_vec3 read_velocity(const double *value, const double *position, const struct rows_convention *convention)
{
    oto_vec3 given = oto_vec3_from_array(value);
    oto_quat q_enu_from_ecef = oto_q_enu_from_ecef(convention->origin.lat_rad, convention->origin.lon_rad);
    bool as_position = convention->velocity_frame == ROWS_VELOCITY_AS_POSITION;
    if (as_position && convention->position_frame == ROWS_POSITION_GEODETIC) {
        oto_geodetic place = place_of(position);
        return oto_quat_rotate(q_enu_from_ecef,
                               oto_quat_rotate_inv(oto_q_enu_from_ecef(place.lat_rad, place.lon_rad), given));
    }
    if (convention->velocity_frame == ROWS_VELOCITY_ECEF ||
        (as_position && convention->position_frame == ROWS_POSITION_ECEF))
        return oto_quat_rotate(q_enu_from_ecef, given);
    return given;
}

static enum oto_status read_attitude(const double *value, uint64_t row, const struct rows_layout *layout,
                                     const struct rows_convention *convention, oto_quat *q_enu_from_body,
                                     struct oto_error *error)
{
    oto_quat q = oto_quat_make(value[0], value[1], value[2], value[3]);
    if (!oto_quat_is_unit(q, UNIT_TOLERANCE))
        return oto_fail(error, OTO_INVALID,
                        "%s: row %llu has an attitude quaternion of length %.6g; it takes one of length 1 within %g",
                        layout->path, (unsigned long long)row + 1, oto_sqrt(oto_quat_dot(q, q)), UNIT_TOLERANCE);
    if (convention->attitude_direction == ROWS_BODY_FROM_FRAME)
        q = oto_quat_conj(q);
    if (convention->attitude_frame == ROWS_ATTITUDE_NED)
        q = oto_quat_mul(q_enu_from_ned, q);
    if (convention->attitude_frame == ROWS_ATTITUDE_ECEF)
        q = oto_quat_mul(oto_q_enu_from_ecef(convention->origin.lat_rad, convention->origin.lon_rad), q);
    if (convention->body == ROWS_FRD)
        q = oto_quat_mul(q, q_frd_from_flu);
    *q_enu_from_body = oto_quat_normalize(q);
    return OTO_OK;
}

static enum oto_status read_row(struct rows *rows, uint64_t row, const double *values, const struct rows_layout *layout,
                                const struct rows_convention *convention, struct oto_error *error)
{
    const double *value = values + row * layout->columns, *position = value + layout->position;
    enum oto_status status = check_finite(value, row, layout, error);
    if (status == OTO_OK)
        status = check_time(value, row > 0 ? value - layout->columns : NULL, row, layout, error);
    if (status == OTO_OK)
        status = read_position(position, row, layout, convention, &rows->position_enu_m[row], error);
    if (status != OTO_OK)
        return status;
    rows->t_s[row] = value[layout->time] - values[layout->time];
    if (layout->has_velocity)
        rows->velocity_enu_m_s[row] = read_velocity(value + layout->velocity, position, convention);
    if (!layout->has_attitude)
        return OTO_OK;
    status = read_attitude(value + layout->attitude, row, layout, convention, &rows->q_enu_from_body[row], error);
    if (status == OTO_OK && row > 0 && oto_quat_dot(rows->q_enu_from_body[row], rows->q_enu_from_body[row - 1]) < 0.0)
        rows->q_enu_from_body[row] = oto_quat_neg(rows->q_enu_from_body[row]);
    return status;
}

enum oto_status rows_read(struct rows *rows, const double *values, const struct rows_layout *layout,
                          const struct rows_convention *convention, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (rows->count < ROWS_FEWEST)
        return oto_fail(error, OTO_INVALID, "%s: it has %llu rows; a trajectory takes at least %d", layout->path,
                        (unsigned long long)rows->count, ROWS_FEWEST);
    for (uint64_t row = 0; row < rows->count && status == OTO_OK; row++)
        status = read_row(rows, row, values, layout, convention, error);
    return status;
}
