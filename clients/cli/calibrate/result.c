/* The result of a calibration as text, JSON and CSV. */
#include "calibrate/calibrate.h"

#include <inttypes.h>

#include "json.h"

static const char *const angle_names[] = {"roll", "pitch", "yaw"};
static const char *const axis_names[OTO_CALIBRATION_AXES] = {"pitch", "yaw", "roll_repeatable", "roll_absolute"};
static const char *const axis_texts[OTO_CALIBRATION_AXES] = {"pitch", "yaw", "roll, to the mean road", "roll, to gravity"};

const char *calibrate_state_name(uint32_t state)
{
    static const char *const names[] = {
#define OTO_X(name, number, text) #name,
        OTO_CALIBRATION_STATE_TABLE(OTO_X)
#undef OTO_X
    };
    return state < sizeof names / sizeof *names ? names[state] : "INVALID";
}

void calibrate_print_json(FILE *to, const struct oto_mount_calibration_record *result)
{
    struct oto_json json = {.to = to};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "state", calibrate_state_name(result->state));
    oto_json_number(&json, "percent", result->percent);
    oto_json_numbers(&json, "rpy_deg", result->rpy_deg, 3);
    oto_json_numbers(&json, "bound_3sigma_deg", result->bound_3sigma_deg, 3);
    oto_json_number(&json, "seconds", result->seconds);
    oto_json_open(&json, "axes", '{');
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        oto_json_open(&json, axis_names[i], '{');
        oto_json_number(&json, "value", result->axis_value_deg[i]);
        oto_json_number(&json, "bound", result->axis_bound_deg[i]);
        oto_json_flag(&json, "accepted", result->axis_accepted[i] != 0);
        oto_json_close(&json, '}');
    }
    oto_json_close(&json, '}');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static const char *previous_text(uint32_t previous)
{
    return previous == OTO_CALIBRATION_PREVIOUS_CARRIED   ? ", previous result carried, not confirmed"
           : previous == OTO_CALIBRATION_PREVIOUS_JOINED  ? ", previous result joined"
           : previous == OTO_CALIBRATION_PREVIOUS_REFUTED ? ", previous result refuted"
                                                          : "";
}

static void print_axes(FILE *to, const struct oto_mount_calibration_record *result)
{
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        (void)fprintf(to, "  %-23s %8.3f ± %-7.3f %s%s\n", axis_texts[i], result->axis_value_deg[i], result->axis_bound_deg[i],
                      result->axis_accepted[i] != 0 ? "accepted" : "not accepted", previous_text(result->axis_previous[i]));
    }
}

static void print_needed(FILE *to, const struct oto_mount_calibration_record *result)
{
    const char *comma = "";
    if (result->manoeuvres_needed == 0) {
        return;
    }
    (void)fputs("  still needed  ", to);
    for (uint32_t i = 0; i < OTO_CALIBRATION_MANOEUVRES; i++) {
        if ((result->manoeuvres_needed >> i & 1u) != 0) {
            (void)fprintf(to, "%s%s (%.0f %%)", comma, oto_calibration_manoeuvre_text(i), 100.0 * result->manoeuvre_progress[i]);
            comma = ", ";
        }
    }
    (void)fputc('\n', to);
}

void calibrate_print_monitors(uint32_t seen, uint32_t reason)
{
    const bool to_blame = reason != OTO_CALIBRATION_REASON_COLLECTING && reason != OTO_CALIBRATION_REASON_CONSISTENT;
    for (uint32_t i = 0; i < OTO_CALIBRATION_MONITORS; i++) {
        if ((seen >> i & 1u) != 0) {
            (void)fprintf(stderr, "otolith: warning: %s\n", oto_calibration_monitor_text(i));
        }
    }
    if (to_blame) {
        (void)fprintf(stderr, "otolith: warning: %s\n", oto_calibration_reason_text(reason));
    }
}

void calibrate_print(FILE *to, const struct oto_mount_calibration_record *result, uint32_t seen)
{
    (void)fprintf(to, "%s, %.0f %%: %s\n", calibrate_state_name(result->state), result->percent,
                  oto_calibration_reason_text(result->reason));
    (void)fprintf(to, "  %-6s %10s %12s   deg\n", "", "mount", "correction");
    for (int i = 0; i < 3; i++) {
        (void)fprintf(to, "  %-6s %10.3f %12.3f\n", angle_names[i], result->rpy_deg[i], result->correction_rpy_deg[i]);
    }
    (void)fputs("  about the vehicle's axes:\n", to);
    print_axes(to, result);
    (void)fprintf(to, "  from %.1f s and %.0f m, %s; gyro bias %.3g %.3g %.3g rad/s; speed scale %.4f\n", result->seconds,
                  result->distance_m, result->method == OTO_CALIBRATION_HISTOGRAM ? "histogram" : "joint",
                  result->gyro_bias_rad_s.x, result->gyro_bias_rad_s.y, result->gyro_bias_rad_s.z, result->speed_scale);
    print_needed(to, result);
    calibrate_print_monitors(seen, result->reason);
}

void calibrate_trace_header(FILE *to)
{
    (void)fputs("t_s,state,percent,roll_deg,pitch_deg,yaw_deg,bound_roll_deg,bound_pitch_deg,bound_yaw_deg", to);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        (void)fprintf(to, ",%s_axis_deg,%s_axis_bound_deg,%s_accepted", axis_names[i], axis_names[i], axis_names[i]);
    }
    (void)fputc('\n', to);
}

void calibrate_trace_row(FILE *to, double t_s, const struct oto_mount_calibration_record *result)
{
    (void)fprintf(to, "%.9g,%s,%.6g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g", t_s, calibrate_state_name(result->state),
                  result->percent, result->rpy_deg[0], result->rpy_deg[1], result->rpy_deg[2],
                  result->bound_3sigma_deg[0], result->bound_3sigma_deg[1], result->bound_3sigma_deg[2]);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        (void)fprintf(to, ",%.9g,%.9g,%" PRIu32, result->axis_value_deg[i], result->axis_bound_deg[i],
                      result->axis_accepted[i]);
    }
    (void)fputc('\n', to);
}
