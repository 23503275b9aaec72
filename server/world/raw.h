/* A world file as written, before plugins are opened and models are evaluated. The tables fill these structs. [loop] */
#ifndef SRV_CONFIG_RAW_H
#define SRV_CONFIG_RAW_H

#include "world/world_config.h"

enum { SRV_GRAVITY_VECTOR = 0, SRV_GRAVITY_WGS84 = 1 };
enum { SRV_FIELD_VECTOR = 0, SRV_FIELD_WMM2020, SRV_FIELD_WMM2025 };
enum { SRV_ATMOSPHERE_CONSTANT = 0, SRV_ATMOSPHERE_ISA = 1 };

struct srv_raw_world {
    struct srv_world_config config;
    const struct oto_value *vehicles, *participants, *roles;
    const struct oto_value *defaults;
    const struct oto_value *checkpoint_directory; /* NULL: not given */
    const struct oto_value *tls_cert, *tls_key, *tls_client_ca, *tls_crl, *control_listen;
    const struct oto_value *master; /* NULL: not given */
    int32_t gravity;        /* SRV_GRAVITY_…; with VECTOR the value is in config */
    int32_t magnetic_field; /* SRV_FIELD_…; with VECTOR the value is in config */
    int32_t atmosphere;     /* SRV_ATMOSPHERE_… */
    int32_t packed;
};

/*
 * Evaluates gravity, field and air at the origin and its date if the file names models. Errors have their place in the
 * file.
 */
enum oto_status srv_resolve_environment(struct srv_raw_world *raw, struct oto_error *error);

struct srv_raw_vehicle {
    char name[SRV_NAME_BYTES];
    uint32_t count; /* 0: not given */
    const struct oto_value *spread; /* NULL: not given */
    const struct oto_value *defaults; /* applied before */
    const struct oto_value *motion, *nodes, *vibration;
};

/* An entry of `vibration`: exactly one of the maps is given. */
struct srv_raw_vibration {
    const struct oto_value *sine, *psd, *noise, *engine;
};

struct srv_raw_sine {
    double frequency_hz;
    double order; /* used in the `orders` of an engine */
    double accel_body_m_s2[3], rate_body_rad_s[3], phase_deg[3];
};

struct srv_raw_psd {
    struct srv_table g2_hz, m2_s4_hz; /* levels over frequency */
    double axes[3];
    uint32_t lines;
};

struct srv_raw_noise {
    double accel_body_m_s2[3];
    double rate_hz;
    bool differenced;
};

struct srv_raw_engine {
    struct srv_table rpm;
    double reference_rpm;
    const struct oto_value *orders;
};

struct srv_raw_node {
    char name[SRV_NAME_BYTES];
    char topic[OTO_TOPIC_BYTES];
    char frame_id[OTO_WORLD_NAME_BYTES];
    const struct oto_value *plugin, *params, *params_file;
    const struct oto_value *inputs; /* NULL: not given */
    const struct oto_value *part, *mode; /* NULL: not given */
    const struct oto_value *faults; /* NULL: not given */
    const struct oto_value *participant; /* motion nodes: a participant, instead of `plugin` */
    const struct oto_value *controls;    /* motion nodes: the participant that gives the controls */
    uint32_t unit, fifo_samples;
    int32_t isolation, isolation_async;
    int64_t isolation_budget_ns;
    char isolation_group[SRV_NAME_BYTES];
    bool labels, watch;
    uint64_t rate_num, rate_den; /* 0: not given */
    double position_m[3], rpy_deg[3];
};

#endif
