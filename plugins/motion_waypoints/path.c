#include "path.h"

#include <string.h>

#define NODES 5
#define PROBES 64 /* number of points in a span at which the curve is checked */

void path_point_at(const struct path_span *span, double u, struct path_point *point)
{
    for (int k = 0; k < PATH_CHANNELS; k++) {
        const double *c = span->c[k];
        double p0 = c[PATH_DEGREE], p1 = 0.0, p2 = 0.0, p3 = 0.0;
        for (int i = PATH_DEGREE - 1; i >= 0; i--) {
            p3 = p3 * u + 3.0 * p2;
            p2 = p2 * u + 2.0 * p1;
            p1 = p1 * u + p0;
            p0 = p0 * u + c[i];
        }
        point->value[k] = p0;
        point->first[k] = p1;
        point->second[k] = p2;
        point->third[k] = p3;
    }
}

/* ---- arc length -------------------------------------------------------------------------------------------------- */

/* |d position/du| */
static double stretch_at(const struct path_span *span, double u)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        const double *c = span->c[k];
        double p = 5.0 * c[5];
        for (int i = 4; i >= 1; i--)
            p = p * u + (double)i * c[i];
        sum += p * p;
    }
    return oto_sqrt(sum);
}

/* Arc length from u0 to u1, by Gauss–Legendre with five nodes. */
static double length_between(const struct path_span *span, double u0, double u1)
{
    static const double node[NODES] = {0.04691007703066800, 0.23076534494715845, 0.5, 0.76923465505284155,
                                       0.95308992296933200};
    static const double weight[NODES] = {0.11846344252809454, 0.23931433524968324, 0.28444444444444444,
                                         0.23931433524968324, 0.11846344252809454};
    double total = 0.0;
    for (int i = 0; i < NODES; i++)
        total += weight[i] * stretch_at(span, u0 + (u1 - u0) * node[i]);
    return total * (u1 - u0);
}

static void lay_lengths(struct path_span *span)
{
    span->length_m[0] = 0.0;
    for (int i = 0; i < PATH_KNOTS; i++)
        span->length_m[i + 1] = span->length_m[i] + length_between(span, (double)i / PATH_KNOTS, (double)(i + 1) / PATH_KNOTS);
}

double path_u_at(const struct path_span *span, double length_m)
{
    int low = 0, high = PATH_KNOTS;
    double u0, u, here_m;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (span->length_m[middle] <= length_m)
            low = middle;
        else
            high = middle;
    }
    u0 = (double)low / PATH_KNOTS;
    here_m = length_m - span->length_m[low];
    u = u0 + here_m / (span->length_m[low + 1] - span->length_m[low]) / PATH_KNOTS;
    for (int i = 0; i < 4; i++)
        u -= (length_between(span, u0, u) - here_m) / stretch_at(span, u);
    return u;
}

/* ---- the spline -------------------------------------------------------------------------------------------------- */

/*
 * The unknowns at waypoint i are the first and second derivative by the chord length, u_i = (m_i, k_i). Continuity of
 * the third and fourth derivative gives A u_{i-1} + B u_i + C u_{i+1} = d: a block tridiagonal system. For a loop the
 * first waypoint is treated as known, with a column for each of its two unknowns, and is solved last.
 */
enum { COLUMNS = PATH_CHANNELS + 2 };

struct block {
    double m[2][2];
};

struct row {
    struct block left, middle, right;
    double d[2][COLUMNS];
};

struct solution {
    struct block right; /* unknowns of this row = d - right × unknowns of the next row */
    double d[2][COLUMNS];
};

static bool invert(const struct block *a, struct block *out)
{
    double det = a->m[0][0] * a->m[1][1] - a->m[0][1] * a->m[1][0];
    if (!(oto_fabs(det) > 0.0))
        return false;
    *out = (struct block){{{a->m[1][1] / det, -a->m[0][1] / det}, {-a->m[1][0] / det, a->m[0][0] / det}}};
    return true;
}

static struct block multiply(const struct block *a, const struct block *b)
{
    struct block c;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            c.m[i][j] = a->m[i][0] * b->m[0][j] + a->m[i][1] * b->m[1][j];
    return c;
}

/* d -= a e, column by column. */
static void take_off(double d[2][COLUMNS], const struct block *a, double e[2][COLUMNS])
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < COLUMNS; k++)
            d[i][k] -= a->m[i][0] * e[0][k] + a->m[i][1] * e[1][k];
}

struct fitting {
    const struct path_waypoint *waypoints;
    uint32_t count;
    bool clamped;    /* true: first and second derivative are 0 at open ends; false: second and third */
    double *chord_m; /* of each span */
    struct solution *solutions;
};

static double channel(const struct path_waypoint *w, int k)
{
    const double values[PATH_CHANNELS] = {w->position_enu_m.x, w->position_enu_m.y, w->position_enu_m.z, w->bank_rad};
    return values[k];
}

/* The equations for the third and fourth derivative at waypoint i, from the spans on both sides. */
static struct row row_at(const struct fitting *f, uint32_t i)
{
    const uint32_t before = (i + f->count - 1) % f->count, after = (i + 1) % f->count;
    const double hl = f->chord_m[before], hr = f->chord_m[i], l2 = 1.0 / (hl * hl), r2 = 1.0 / (hr * hr);
    struct row row = {
        .left = {{{-24.0 * l2, -3.0 / hl}, {-168.0 * l2 / hl, -24.0 * l2}}},
        .middle = {{{-36.0 * l2 + 36.0 * r2, 9.0 / hl + 9.0 / hr},
                    {-192.0 * l2 / hl - 192.0 * r2 / hr, 36.0 * l2 - 36.0 * r2}}},
        .right = {{{24.0 * r2, -3.0 / hr}, {-168.0 * r2 / hr, 24.0 * r2}}}};
    for (int k = 0; k < PATH_CHANNELS; k++) {
        const double here = channel(&f->waypoints[i], k);
        const double dl = here - channel(&f->waypoints[before], k), dr = channel(&f->waypoints[after], k) - here;
        row.d[0][k] = 60.0 * dr * r2 / hr - 60.0 * dl * l2 / hl;
        row.d[1][k] = -360.0 * dr * r2 * r2 - 360.0 * dl * l2 * l2;
    }
    return row;
}

/*
 * The equations at an open end: the second derivative k is 0, and so is the first derivative m (clamped) or the third
 * derivative; `other` is the adjacent waypoint.
 */
static struct row row_at_end(const struct fitting *f, uint32_t i, uint32_t other)
{
    static const struct row clamped = {.middle = {{{0.0, 1.0}, {1.0, 0.0}}}};
    const double h = f->chord_m[i < other ? i : other], sign = i < other ? 1.0 : -1.0;
    const struct block beside = {{{0.0, 0.0}, {24.0 * h, -3.0 * sign * h * h}}};
    struct row row = {.middle = {{{0.0, 1.0}, {36.0 * h, 9.0 * sign * h * h}}}};
    if (f->clamped)
        return clamped;
    if (i < other)
        row.right = beside;
    else
        row.left = beside;
    for (int k = 0; k < PATH_CHANNELS; k++)
        row.d[1][k] = 60.0 * sign * (channel(&f->waypoints[other], k) - channel(&f->waypoints[i], k));
    return row;
}

static bool eliminate(const struct fitting *f, uint32_t i, struct row *row, bool has_before)
{
    struct solution *s = &f->solutions[i];
    struct block inverse;
    if (has_before) {
        const struct block through = multiply(&row->left, &f->solutions[i - 1].right);
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++)
                row->middle.m[a][b] -= through.m[a][b];
        take_off(row->d, &row->left, f->solutions[i - 1].d);
    }
    if (!invert(&row->middle, &inverse))
        return false;
    s->right = multiply(&inverse, &row->right);
    memset(s->d, 0, sizeof s->d);
    for (int k = 0; k < COLUMNS; k++)
        for (int a = 0; a < 2; a++)
            s->d[a][k] = inverse.m[a][0] * row->d[0][k] + inverse.m[a][1] * row->d[1][k];
    return true;
}

static void substitute_back(const struct fitting *f, uint32_t first, uint32_t last)
{
    for (uint32_t i = last; i > first; i--)
        take_off(f->solutions[i - 1].d, &f->solutions[i - 1].right, f->solutions[i].d);
}

static bool solve_open(const struct fitting *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        struct row row = i == 0 ? row_at_end(f, 0, 1) : i + 1 == f->count ? row_at_end(f, i, i - 1) : row_at(f, i);
        if (!eliminate(f, i, &row, i > 0))
            return false;
    }
    substitute_back(f, 0, f->count - 1);
    return true;
}

/* Moves the coefficients of a loop's first waypoint to the two additional columns on the right side. */
static void move_to_columns(struct row *row, struct block *block)
{
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            row->d[a][PATH_CHANNELS + b] -= block->m[a][b];
    memset(block, 0, sizeof *block);
}

static bool solve_loop(const struct fitting *f)
{
    const uint32_t last = f->count - 1;
    struct row first = row_at(f, 0);
    struct block own = first.middle, inverse;
    double d[2][COLUMNS];
    for (uint32_t i = 1; i <= last; i++) {
        struct row row = row_at(f, i);
        if (i == 1)
            move_to_columns(&row, &row.left);
        if (i == last)
            move_to_columns(&row, &row.right);
        if (!eliminate(f, i, &row, i > 1))
            return false;
    }
    substitute_back(f, 1, last);
    memcpy(d, first.d, sizeof d);
    take_off(d, &first.left, f->solutions[last].d);
    take_off(d, &first.right, f->solutions[1].d);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            own.m[a][b] -= d[a][PATH_CHANNELS + b];
    if (!invert(&own, &inverse))
        return false;
    for (int k = 0; k < PATH_CHANNELS; k++) {
        double u0[2];
        for (int a = 0; a < 2; a++)
            u0[a] = inverse.m[a][0] * d[0][k] + inverse.m[a][1] * d[1][k];
        f->solutions[0].d[0][k] = u0[0];
        f->solutions[0].d[1][k] = u0[1];
        for (uint32_t i = 1; i <= last; i++)
            for (int a = 0; a < 2; a++)
                f->solutions[i].d[a][k] += f->solutions[i].d[a][PATH_CHANNELS] * u0[0] + f->solutions[i].d[a][PATH_CHANNELS + 1] * u0[1];
    }
    return true;
}

/* Makes the polynomials of a span. At open ends the first derivative of the position is free, that of the bank is zero. */
static void make_span(const struct fitting *position, const struct fitting *bank, uint32_t i, struct path_span *span)
{
    const uint32_t next = (i + 1) % position->count;
    const double h = position->chord_m[i];
    for (int k = 0; k < PATH_CHANNELS; k++) {
        const struct fitting *f = k < 3 ? position : bank;
        const double p0 = channel(&f->waypoints[i], k), step = channel(&f->waypoints[next], k) - p0;
        const double m0 = h * f->solutions[i].d[0][k], m1 = h * f->solutions[next].d[0][k];
        const double k0 = h * h * f->solutions[i].d[1][k], k1 = h * h * f->solutions[next].d[1][k];
        double *c = span->c[k];
        c[0] = p0;
        c[1] = m0;
        c[2] = 0.5 * k0;
        c[3] = 10.0 * step - 6.0 * m0 - 4.0 * m1 - 1.5 * k0 + 0.5 * k1;
        c[4] = -15.0 * step + 8.0 * m0 + 7.0 * m1 + 1.5 * k0 - k1;
        c[5] = 6.0 * step - 3.0 * m0 - 3.0 * m1 - 0.5 * k0 + 0.5 * k1;
    }
    lay_lengths(span);
}

static enum oto_status check_span(const struct path_span *span, double chord_m, uint32_t i, struct oto_error *error)
{
    for (int probe = 0; probe <= PROBES; probe++) {
        struct path_point at;
        double ahead, level;
        path_point_at(span, (double)probe / PROBES, &at);
        level = oto_hypot(at.first[0], at.first[1]);
        ahead = oto_hypot(level, at.first[2]);
        if (!(ahead > 1e-2 * chord_m))
            return oto_fail(error, OTO_INVALID,
                            "waypoints[%u]: the path to the next waypoint turns back on itself; set a waypoint between them",
                            i);
        if (!(level > 1e-2 * ahead))
            return oto_fail(error, OTO_INVALID,
                            "waypoints[%u]: the path to the next waypoint becomes vertical, where it has no heading; keep it "
                            "below 89.4 deg", i);
    }
    return OTO_OK;
}

static enum oto_status measure_chords(const struct fitting *f, uint32_t spans, struct oto_error *error)
{
    for (uint32_t i = 0; i < spans; i++) {
        const oto_vec3 a = f->waypoints[i].position_enu_m, b = f->waypoints[(i + 1) % f->count].position_enu_m;
        f->chord_m[i] = oto_vec3_norm(oto_vec3_sub(b, a));
        if (!(f->chord_m[i] > 1e-3))
            return oto_fail(error, OTO_INVALID,
                            "waypoints[%u]: it has the position of the previous one, (%g, %g, %g); leave one of them out, and "
                            "give hold_s for a stand", (i + 1) % f->count, b.x, b.y, b.z);
    }
    return OTO_OK;
}

enum oto_status path_fit(struct path *path, const struct path_waypoint *waypoints, uint32_t count, bool loop,
                         path_alloc *alloc, void *alloc_context, struct oto_error *error)
{
    const uint32_t least = loop ? 3 : 2;
    struct fitting f = {.waypoints = waypoints, .count = count}, bank;
    enum oto_status status = OTO_OK;
    *path = (struct path){loop ? count : count - 1, loop, NULL};
    if (count < least)
        return oto_fail(error, OTO_INVALID, "waypoints: there are %u of them; a %s needs at least %u", count,
                        loop ? "loop" : "path", least);
    path->spans = alloc(alloc_context, path->span_count * sizeof *path->spans);
    f.chord_m = alloc(alloc_context, count * sizeof *f.chord_m);
    f.solutions = alloc(alloc_context, count * sizeof *f.solutions);
    bank = f;
    bank.clamped = true;
    bank.solutions = alloc(alloc_context, count * sizeof *f.solutions);
    if (path->spans == NULL || f.chord_m == NULL || f.solutions == NULL || bank.solutions == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "waypoints: out of memory for %u of them", count);
    status = measure_chords(&f, path->span_count, error);
    if (status == OTO_OK && !(loop ? solve_loop(&f) && solve_loop(&bank) : solve_open(&f) && solve_open(&bank)))
        status = oto_fail(error, OTO_INVALID, "waypoints: no smooth path leads through them; their spacing is too uneven");
    for (uint32_t i = 0; status == OTO_OK && i < path->span_count; i++) {
        make_span(&f, &bank, i, &path->spans[i]);
        status = check_span(&path->spans[i], f.chord_m[i], i, error);
    }
    return status;
}
