#include "num_filter.h"

#include "num_cholesky.h"

/* clang-format off */
#define FIELD(record, member, kind, n, u, t) {#member, kind, n, (uint32_t)offsetof(record, member), u, "", t}
#define STATE(member, n, kind, u, t) FIELD(struct num_filter_state_record, member, kind, n, u, t)
#define INNOVATION(member, n, kind, u, t) FIELD(struct num_filter_innovation_record, member, kind, n, u, t)

static const struct oto_field state_fields[] = {
    STATE(state, NUM_FILTER_STATES, OTO_FIELD_F64, "", "states, in the filter's order and units"),
    STATE(sigma, NUM_FILTER_STATES, OTO_FIELD_F64, "", "standard deviation of each"),
    STATE(error, NUM_FILTER_STATES, OTO_FIELD_F64, "", "against the last truth"),
    STATE(rmse, NUM_FILTER_STATES, OTO_FIELD_F64, "", "root of the mean square of the errors so far"),
    STATE(nees_mean, 1, OTO_FIELD_F64, "1", "mean of the normalised estimation error squared so far"),
    STATE(truths, 1, OTO_FIELD_U64, "", "truths that the means are of"),
    STATE(size, 1, OTO_FIELD_U64, "", "states that there are"),
    STATE(model_hash, 1, OTO_FIELD_U64, "", "FNV-1a-64 of the model's name and size"),
};
static const struct oto_field innovation_fields[] = {
    INNOVATION(innovation, NUM_FILTER_ROWS * NUM_KALMAN_ROWS, OTO_FIELD_F64, "", "measured minus expected, three for each row"),
    INNOVATION(sigma, NUM_FILTER_ROWS * NUM_KALMAN_ROWS, OTO_FIELD_F64, "", "standard deviation of each"),
    INNOVATION(nis, NUM_FILTER_ROWS, OTO_FIELD_F64, "1", "normalised innovation squared"),
    INNOVATION(t_ns, NUM_FILTER_ROWS, OTO_FIELD_I64, "ns", "when it was measured"),
    INNOVATION(used, NUM_FILTER_ROWS, OTO_FIELD_U64, "", "measurements used"),
    INNOVATION(gated, NUM_FILTER_ROWS, OTO_FIELD_U64, "", "measurements beyond the gate"),
    INNOVATION(refused, NUM_FILTER_ROWS, OTO_FIELD_U64, "", "not finite, or not defined in this state"),
    INNOVATION(late, NUM_FILTER_ROWS, OTO_FIELD_U64, "", "came too late"),
    INNOVATION(singular, NUM_FILTER_ROWS, OTO_FIELD_U64, "", "innovation covariance without inverse"),
    INNOVATION(size, 1, OTO_FIELD_U64, "", "rows that there are"),
};
/* clang-format on */
const struct oto_record_type num_filter_state_type = {"filter_state", sizeof(struct num_filter_state_record),
                                                      sizeof state_fields / sizeof *state_fields, state_fields};
const struct oto_record_type num_filter_innovation_type = {
    "filter_innovation", sizeof(struct num_filter_innovation_record),
    sizeof innovation_fields / sizeof *innovation_fields, innovation_fields};
_Static_assert(sizeof(struct num_filter_innovation_record) <= OTO_RECORD_MAX_BYTES, "a record has at most 4096 bytes");

enum num_outcome num_filter_update(uint32_t n, struct num_kalman_row *measured, double *p, double *dx,
                                   struct num_filter_row *row)
{
    static const enum num_outcome outcomes[] = {[NUM_KALMAN_USED] = NUM_USED, [NUM_KALMAN_GATED] = NUM_GATED,
                                                [NUM_KALMAN_SINGULAR] = NUM_SINGULAR,
                                                [NUM_KALMAN_NON_FINITE] = NUM_REFUSED};
    const enum num_kalman_result result = num_kalman_update(n, measured, p, dx);
    for (uint32_t i = 0; i < NUM_KALMAN_ROWS; i++) {
        const bool told = i < measured->m && num_is_finite(measured->innovation[i]) && num_is_finite(measured->sigma[i]);
        row->innovation[i] = told ? measured->innovation[i] : 0.0;
        row->sigma[i] = told ? measured->sigma[i] : 0.0;
    }
    row->nis = measured->nis;
    return outcomes[result];
}

void num_filter_count(struct num_filter_row *row, enum num_outcome outcome, int64_t t_ns)
{
    uint64_t *const counters[] = {[NUM_USED] = &row->used, [NUM_GATED] = &row->gated, [NUM_REFUSED] = &row->refused,
                                  [NUM_LATE] = &row->late, [NUM_SINGULAR] = &row->singular};
    row->t_ns = t_ns;
    (*counters[outcome])++;
}

void num_filter_sum(const struct num_filter_row *rows, uint32_t count, struct oto_estimate_record *record)
{
    for (uint32_t i = 0; i < count; i++) {
        record->used += rows[i].used;
        record->gated += rows[i].gated;
        record->refused += rows[i].refused;
        record->late += rows[i].late;
        record->singular += rows[i].singular;
    }
}

void num_filter_report(const struct num_filter_row *rows, uint32_t count, struct num_filter_innovation_record *record)
{
    record->size = count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < NUM_KALMAN_ROWS; k++) {
            record->innovation[i * NUM_KALMAN_ROWS + k] = rows[i].innovation[k];
            record->sigma[i * NUM_KALMAN_ROWS + k] = rows[i].sigma[k];
        }
        record->nis[i] = rows[i].nis;
        record->t_ns[i] = rows[i].t_ns;
        record->used[i] = rows[i].used;
        record->gated[i] = rows[i].gated;
        record->refused[i] = rows[i].refused;
        record->late[i] = rows[i].late;
        record->singular[i] = rows[i].singular;
    }
}

void num_filter_report_truths(const struct num_filter_truths *truths, uint32_t n, struct num_filter_state_record *record)
{
    const double count = truths->count > 0 ? (double)truths->count : 1.0;
    for (uint32_t i = 0; i < n; i++) {
        record->error[i] = truths->error[i];
        record->rmse[i] = num_sigma(truths->square_sum[i] / count);
    }
    record->nees_mean = truths->nees_sum / count;
    record->truths = truths->count;
}

void num_filter_add_nees(struct num_filter_truths *truths, uint32_t k, double *p, double *e)
{
    truths->nees = num_cholesky(k, p) ? num_cholesky_distance(k, p, e) : -1.0;
    if (!num_is_finite(truths->nees)) {
        truths->nees = -1.0;
    }
    truths->nees_sum += truths->nees > 0.0 ? truths->nees : 0.0;
    truths->count++;
}
