/* Standard ROS messages beside a record. */
#include "wire/ros.h"

#include "otolith/records.h"
#include "otolith/vecmath.h"
#include "wire/cdr.h"
#include "wire/ros_text.h"

/* clang-format off */
static const char clock_text[] = "builtin_interfaces/Time clock\n" OTO_ROS_TIME;
static const char transform_text[] =
    "geometry_msgs/TransformStamped[] transforms\n"
    OTO_ROS_BLOCK_ "geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n"
    OTO_ROS_HEADER
    OTO_ROS_BLOCK_ "geometry_msgs/Transform\ngeometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n"
    OTO_ROS_VECTOR3 OTO_ROS_QUATERNION;
static const char odometry_text[] =
    "std_msgs/Header header\nstring child_frame_id\n"
    "geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist\n"
    OTO_ROS_HEADER
    OTO_ROS_BLOCK_ "geometry_msgs/PoseWithCovariance\ngeometry_msgs/Pose pose\nfloat64[36] covariance\n"
    OTO_ROS_BLOCK_ "geometry_msgs/Pose\ngeometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n"
    OTO_ROS_BLOCK_ "geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
    OTO_ROS_QUATERNION
    OTO_ROS_BLOCK_ "geometry_msgs/TwistWithCovariance\ngeometry_msgs/Twist twist\nfloat64[36] covariance\n"
    OTO_ROS_BLOCK_ "geometry_msgs/Twist\ngeometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n"
    OTO_ROS_VECTOR3;
static const char fix_text[] =
    "uint8 COVARIANCE_TYPE_UNKNOWN=0\nuint8 COVARIANCE_TYPE_APPROXIMATED=1\nuint8 COVARIANCE_TYPE_DIAGONAL_KNOWN=2\n"
    "uint8 COVARIANCE_TYPE_KNOWN=3\n"
    "std_msgs/Header header\nsensor_msgs/NavSatStatus status\nfloat64 latitude\nfloat64 longitude\nfloat64 altitude\n"
    "float64[9] position_covariance\nuint8 position_covariance_type\n"
    OTO_ROS_HEADER
    OTO_ROS_BLOCK_ "sensor_msgs/NavSatStatus\nint8 STATUS_NO_FIX=-1\nint8 STATUS_FIX=0\nint8 STATUS_SBAS_FIX=1\n"
    "int8 STATUS_GBAS_FIX=2\nuint16 SERVICE_GPS=1\nuint16 SERVICE_GLONASS=2\nuint16 SERVICE_COMPASS=4\n"
    "uint16 SERVICE_GALILEO=8\nint8 status\nuint16 service\n";
static const char pressure_text[] = "std_msgs/Header header\nfloat64 fluid_pressure\nfloat64 variance\n" OTO_ROS_HEADER;
static const char log_text[] =
    "byte DEBUG=10\nbyte INFO=20\nbyte WARN=30\nbyte ERROR=40\nbyte FATAL=50\n"
    "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\nuint32 line\n"
    OTO_ROS_TIME;
static const char diagnostics_text[] =
    "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n"
    OTO_ROS_HEADER
    OTO_ROS_BLOCK_ "diagnostic_msgs/DiagnosticStatus\nbyte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\n"
    "byte level\nstring name\nstring message\nstring hardware_id\ndiagnostic_msgs/KeyValue[] values\n"
    OTO_ROS_BLOCK_ "diagnostic_msgs/KeyValue\nstring key\nstring value\n";
/* clang-format on */

static const struct {
    const char *name, *definition;
} views[] = {
    [OTO_ROS_CLOCK] = {"rosgraph_msgs/msg/Clock", clock_text},
    [OTO_ROS_TRANSFORM] = {"tf2_msgs/msg/TFMessage", transform_text},
    [OTO_ROS_ODOMETRY] = {"nav_msgs/msg/Odometry", odometry_text},
    [OTO_ROS_FIX] = {"sensor_msgs/msg/NavSatFix", fix_text},
    [OTO_ROS_PRESSURE] = {"sensor_msgs/msg/FluidPressure", pressure_text},
    [OTO_ROS_LOG] = {"rcl_interfaces/msg/Log", log_text},
    [OTO_ROS_DIAGNOSTICS] = {"diagnostic_msgs/msg/DiagnosticArray", diagnostics_text},
};

const char *oto_ros_view_name(enum oto_ros_view view)
{
    return views[view].name;
}

const char *oto_ros_view_definition(enum oto_ros_view view)
{
    return views[view].definition;
}

static bool is_type(const struct oto_record_type *type, const struct oto_record_type *other)
{
    return oto_record_type_hash(type) == oto_record_type_hash(other);
}

bool oto_ros_view_of(enum oto_ros_view view, const struct oto_record_type *type)
{
    switch (view) {
    case OTO_ROS_TRANSFORM:
        return is_type(type, &oto_truth_type);
    case OTO_ROS_ODOMETRY:
        return is_type(type, &oto_truth_type) || is_type(type, &oto_estimate_type) || is_type(type, &oto_odometry_type) ||
               is_type(type, &oto_wheels_type);
    case OTO_ROS_FIX:
        return is_type(type, &oto_navsat_type);
    case OTO_ROS_PRESSURE:
        return is_type(type, &oto_pressure_type);
    case OTO_ROS_LOG:
        return is_type(type, &oto_event_type);
    default:
        return false;
    }
}

static bool put_header(struct oto_cdr_writer *writer, int64_t t_ns, const char *frame_id)
{
    const bool in_range = oto_cdr_put_stamp(writer, t_ns);
    oto_cdr_put_text(writer, frame_id, strlen(frame_id));
    return in_range;
}

/* Puts a quaternion in the order of geometry_msgs: x, y, z, w. */
static void put_quaternion(struct oto_cdr_writer *writer, oto_quat q)
{
    const double numbers[4] = {q.x, q.y, q.z, q.w};
    oto_cdr_put(writer, 8, numbers, sizeof numbers);
}

static void put_vector(struct oto_cdr_writer *writer, oto_vec3 v)
{
    oto_cdr_put(writer, 8, &v, sizeof v);
}

/* ---- transform ---- */

enum oto_status oto_ros_transforms_encode(const struct oto_ros_transform *transforms, uint32_t count, int64_t t_ns, struct oto_buffer *to)
{
    struct oto_cdr_writer writer;
    size_t bytes = 16;
    bool in_range = true;
    for (uint32_t i = 0; i < count; i++) {
        bytes += 128 + strlen(transforms[i].frame_id) + strlen(transforms[i].child_frame_id);
    }
    if (oto_cdr_begin(&writer, to, bytes) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    oto_cdr_put_u32(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        in_range = put_header(&writer, t_ns, transforms[i].frame_id) && in_range;
        oto_cdr_put_text(&writer, transforms[i].child_frame_id, strlen(transforms[i].child_frame_id));
        put_vector(&writer, transforms[i].translation_m);
        put_quaternion(&writer, transforms[i].q_frame_from_child);
    }
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

static enum oto_status encode_transform(const char *frame_id, const struct oto_sample_head *head, const void *payload,
                                        struct oto_buffer *to)
{
    const struct oto_truth_record *truth = payload;
    const struct oto_ros_transform transform = {OTO_ROS_WORLD_FRAME, frame_id, truth->position_enu_m, truth->q_enu_from_body};
    return oto_ros_transforms_encode(&transform, 1, head->t_ns, to);
}

/* ---- odometry ---- */

/* An Odometry before it is written: the twist is in body axes, the covariances are row-major over x y z roll pitch yaw. */
struct odometry {
    const char *frame_id; /* of the pose */
    oto_vec3 position_enu_m;
    oto_quat q_enu_from_body;
    double pose_covariance[36];
    oto_vec3 velocity_body_m_s, angular_rate_body_rad_s;
    double twist_covariance[36];
};

static const double unknown = -1.0; /* a variance that is not estimated, as in sensor_msgs */

static double variance(double sigma)
{
    return sigma < 0.0 ? unknown : sigma * sigma;
}

/* Writes three variances to the diagonal of a covariance, from row `first` on. */
static void put_variances(double covariance[36], uint32_t first, oto_vec3 sigma)
{
    covariance[7 * first] = variance(sigma.x);
    covariance[7 * (first + 1)] = variance(sigma.y);
    covariance[7 * (first + 2)] = variance(sigma.z);
}

/* Writes the covariance of a velocity in body axes, Rᵀ D R, from its standard deviations along the ENU axes. */
static void put_velocity_covariance(double covariance[36], oto_quat q_enu_from_body, oto_vec3 sigma_enu)
{
    const oto_mat3 r = oto_mat3_from_quat(q_enu_from_body);
    if (sigma_enu.x < 0.0 || sigma_enu.y < 0.0 || sigma_enu.z < 0.0) {
        put_variances(covariance, 0, oto_vec3_make(unknown, unknown, unknown));
        return;
    }
    const oto_mat3 d = oto_mat3_diagonal(variance(sigma_enu.x), variance(sigma_enu.y), variance(sigma_enu.z));
    const oto_mat3 body = oto_mat3_mul(oto_mat3_transpose(r), oto_mat3_mul(d, r));
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            covariance[6 * i + k] = body.m[i][k];
        }
    }
}

static void of_truth(const struct oto_truth_record *truth, struct odometry *odometry)
{
    odometry->position_enu_m = truth->position_enu_m;
    odometry->q_enu_from_body = truth->q_enu_from_body;
    odometry->velocity_body_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s);
    odometry->angular_rate_body_rad_s = truth->angular_rate_body_rad_s;
}

static void of_estimate(const struct oto_estimate_record *estimate, struct odometry *odometry)
{
    odometry->position_enu_m = estimate->position_enu_m;
    odometry->q_enu_from_body = estimate->q_enu_from_body;
    odometry->velocity_body_m_s = oto_quat_rotate_inv(estimate->q_enu_from_body, estimate->velocity_enu_m_s);
    odometry->angular_rate_body_rad_s = estimate->angular_rate_body_rad_s;
    put_variances(odometry->pose_covariance, 0, estimate->position_sigma_enu_m);
    put_variances(odometry->pose_covariance, 3, estimate->attitude_sigma_body_rad);
    put_velocity_covariance(odometry->twist_covariance, estimate->q_enu_from_body, estimate->velocity_sigma_enu_m_s);
    put_variances(odometry->twist_covariance, 3, estimate->angular_rate_sigma_body_rad_s);
}

/* Wheels measure the speed along x; everything else is unknown. */
static void of_wheels(const struct oto_odometry_record *wheels, struct odometry *odometry)
{
    const oto_vec3 none = {unknown, unknown, unknown};
    odometry->q_enu_from_body = oto_quat_identity();
    odometry->velocity_body_m_s.x = wheels->speed_m_s;
    put_variances(odometry->pose_covariance, 0, none);
    put_variances(odometry->pose_covariance, 3, none);
    put_variances(odometry->twist_covariance, 0, none);
    put_variances(odometry->twist_covariance, 3, none);
}

/* The pose of wheel encoders is in the axes of the body at the start, which REP 105 calls odom; rows x, y and yaw are known. */
static void of_encoders(const struct oto_wheels_record *wheels, struct odometry *odometry)
{
    static const uint32_t pose_rows[3] = {0, 1, 5}, twist_rows[2] = {0, 5};
    odometry->frame_id = OTO_ROS_START_FRAME;
    odometry->position_enu_m = oto_vec3_make(wheels->position_odom_m[0], wheels->position_odom_m[1], 0.0);
    odometry->q_enu_from_body = oto_quat_from_rpy(0.0, 0.0, wheels->yaw_odom_rad);
    odometry->velocity_body_m_s.x = wheels->speed_m_s;
    odometry->angular_rate_body_rad_s.z = wheels->yaw_rate_rad_s;
    for (uint32_t row = 0; row < 6; row++) {
        odometry->pose_covariance[7 * row] = unknown;
        odometry->twist_covariance[7 * row] = unknown;
    }
    for (uint32_t i = 0; i < 9; i++) {
        odometry->pose_covariance[6 * pose_rows[i / 3] + pose_rows[i % 3]] = wheels->pose_covariance[i];
    }
    for (uint32_t i = 0; i < 4; i++) {
        odometry->twist_covariance[6 * twist_rows[i / 2] + twist_rows[i % 2]] = wheels->twist_covariance[i];
    }
}

static enum oto_status encode_odometry(const struct oto_record_type *type, const char *frame_id,
                                       const struct oto_sample_head *head, const void *payload, struct oto_buffer *to)
{
    struct odometry odometry = {.frame_id = OTO_ROS_WORLD_FRAME, .q_enu_from_body = oto_quat_identity()};
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, to, 800 + strlen(frame_id)) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    if (is_type(type, &oto_truth_type)) {
        of_truth(payload, &odometry);
    } else if (is_type(type, &oto_estimate_type)) {
        of_estimate(payload, &odometry);
    } else if (is_type(type, &oto_wheels_type)) {
        of_encoders(payload, &odometry);
    } else {
        of_wheels(payload, &odometry);
    }
    const bool in_range = put_header(&writer, head->t_ns, odometry.frame_id);
    oto_cdr_put_text(&writer, frame_id, strlen(frame_id));
    put_vector(&writer, odometry.position_enu_m);
    put_quaternion(&writer, odometry.q_enu_from_body);
    oto_cdr_put(&writer, 8, odometry.pose_covariance, sizeof odometry.pose_covariance);
    put_vector(&writer, odometry.velocity_body_m_s);
    put_vector(&writer, odometry.angular_rate_body_rad_s);
    oto_cdr_put(&writer, 8, odometry.twist_covariance, sizeof odometry.twist_covariance);
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

/* ---- satellite navigation and pressure ---- */

static enum oto_status encode_fix(const char *frame_id, const struct oto_sample_head *head, const void *payload,
                                  struct oto_buffer *to)
{
    const struct oto_navsat_record *fix = payload;
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, to, 160 + strlen(frame_id)) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const bool in_range = put_header(&writer, head->t_ns, frame_id);
    oto_cdr_put_u8(&writer, (uint8_t)fix->status);
    oto_cdr_put(&writer, 2, &fix->service, sizeof fix->service);
    const double place[3] = {fix->latitude_deg, fix->longitude_deg, fix->altitude_m};
    oto_cdr_put(&writer, 8, place, sizeof place);
    oto_cdr_put(&writer, 8, fix->position_covariance, sizeof fix->position_covariance);
    oto_cdr_put_u8(&writer, fix->position_covariance_type);
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

static enum oto_status encode_pressure(const char *frame_id, const struct oto_sample_head *head, const void *payload,
                                       struct oto_buffer *to)
{
    const struct oto_pressure_record *pressure = payload;
    const double numbers[2] = {pressure->fluid_pressure_pa, pressure->variance_pa2};
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, to, 64 + strlen(frame_id)) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const bool in_range = put_header(&writer, head->t_ns, frame_id);
    oto_cdr_put(&writer, 8, numbers, sizeof numbers);
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

/* ---- clock, log, diagnostics ---- */

static enum oto_status encode_clock(const struct oto_sample_head *head, struct oto_buffer *to)
{
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, to, OTO_CDR_START + 8) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const bool in_range = oto_cdr_put_stamp(&writer, head->t_ns);
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

static enum oto_status encode_log(const struct oto_sample_head *head, const void *payload, struct oto_buffer *to)
{
    static const uint8_t levels[] = {20, 30, 40};
    const struct oto_event_record *event = payload;
    const char *kind = oto_event_kind_text(event->kind);
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, to, 128 + sizeof event->source + sizeof event->text + strlen(kind)) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const bool in_range = oto_cdr_put_stamp(&writer, head->t_ns);
    oto_cdr_put_u8(&writer, levels[event->severity < 2 ? event->severity : 2]);
    oto_cdr_put_text(&writer, event->source, strnlen(event->source, sizeof event->source));
    oto_cdr_put_text(&writer, event->text, strnlen(event->text, sizeof event->text));
    oto_cdr_put_text(&writer, "", 0);
    oto_cdr_put_text(&writer, kind, strlen(kind));
    oto_cdr_put_u32(&writer, 0);
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

/* The greatest size of a status: each text has a length, padding and NUL. */
static size_t status_room(const struct oto_ros_status *status)
{
    size_t bytes = 64 + strlen(status->name) + strlen(status->message);
    for (uint32_t i = 0; i < status->count; i++) {
        bytes += 16 + strlen(status->facts[i].key) + sizeof status->facts[i].value;
    }
    return bytes;
}

static void put_status(struct oto_cdr_writer *writer, const struct oto_ros_status *status)
{
    oto_cdr_put_u8(writer, status->level);
    oto_cdr_put_text(writer, status->name, strlen(status->name));
    oto_cdr_put_text(writer, status->message, strlen(status->message));
    oto_cdr_put_text(writer, "", 0);
    oto_cdr_put_u32(writer, status->count);
    for (uint32_t i = 0; i < status->count; i++) {
        oto_cdr_put_text(writer, status->facts[i].key, strlen(status->facts[i].key));
        oto_cdr_put_text(writer, status->facts[i].value, strlen(status->facts[i].value));
    }
}

static enum oto_status encode_diagnostics(const struct oto_sample_head *head, const struct oto_ros_diagnostics *diagnostics,
                                          struct oto_buffer *to)
{
    struct oto_cdr_writer writer;
    size_t bytes = 64;
    for (uint32_t i = 0; i < diagnostics->count; i++) {
        bytes += status_room(&diagnostics->statuses[i]);
    }
    if (oto_cdr_begin(&writer, to, bytes) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const bool in_range = put_header(&writer, head->t_ns, "");
    oto_cdr_put_u32(&writer, diagnostics->count);
    for (uint32_t i = 0; i < diagnostics->count; i++) {
        put_status(&writer, &diagnostics->statuses[i]);
    }
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

enum oto_status oto_ros_view_encode(enum oto_ros_view view, const struct oto_record_type *type, const char *frame_id,
                                    const struct oto_sample_head *head, const void *payload, struct oto_buffer *to)
{
    switch (view) {
    case OTO_ROS_CLOCK:
        return encode_clock(head, to);
    case OTO_ROS_TRANSFORM:
        return encode_transform(frame_id, head, payload, to);
    case OTO_ROS_ODOMETRY:
        return encode_odometry(type, frame_id, head, payload, to);
    case OTO_ROS_FIX:
        return encode_fix(frame_id, head, payload, to);
    case OTO_ROS_PRESSURE:
        return encode_pressure(frame_id, head, payload, to);
    case OTO_ROS_LOG:
        return encode_log(head, payload, to);
    default:
        return encode_diagnostics(head, payload, to);
    }
}
