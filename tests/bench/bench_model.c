/* One prediction of a motion model, as an estimator that links the models calls it. Row B24 of the reference tables. */
#include "base/monotonic.h"
#include "bench.h"

#include <string.h>

#include "num_catr.h"
#include "num_model.h"

enum { CALLS = 2000 };

/* Keeps the compiler from removing writes to this variable, and from knowing the value that is read. */
static inline void touch(void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

struct subject {
    const struct num_model *model;
    double state[6], next[6], jacobian[36];
};

static void predict_towards(struct subject *s)
{
    struct num_catr catr, next;
    memcpy(&catr, s->state, sizeof catr);
    const struct num_direction direction = num_direction_of(catr.heading_rad);
    for (int i = 0; i < CALLS; i++) {
        touch(&catr);
        num_catr_predict_towards(&catr, direction, 0.01, &next);
        touch(&next);
    }
}

static void predict(struct subject *s)
{
    for (int i = 0; i < CALLS; i++) {
        touch(s);
        (void)s->model->predict(NULL, s->state, 0.01, s->next);
    }
    touch(s);
}

static void jacobian_and_predict(struct subject *s)
{
    for (int i = 0; i < CALLS; i++) {
        touch(s);
        (void)s->model->both(NULL, s->state, 0.01, s->jacobian, s->next);
    }
    touch(s);
}

static void measure(void (*run)(struct subject *), struct subject *subject, struct bench_series *series, int batches)
{
    for (int batch = 0; batch < batches; batch++) {
        const int64_t start_ns = srv_now_ns();
        run(subject);
        series_add(series, (double)(srv_now_ns() - start_ns) / CALLS);
    }
}

void bench_model(struct bench_context *context)
{
    static const struct {
        const char *name;
        void (*run)(struct subject *);
        const struct num_model *model;
        double goal;
    } cases[] = {
        {"cv_predict", predict, &num_model_constant_velocity, 2.0},
        {"catr_predict_cached", predict_towards, &num_model_catr, 7.0},
        {"catr_predict", predict, &num_model_catr, 20.0},
        {"catr_jacobian_predict", jacobian_and_predict, &num_model_catr, 30.0},
    };
    const int batches = context->smoke ? 20 : 5000;
    struct subject subject = {&num_model_constant_velocity, {1, 2, 13, 1.5, 0.7, -0.4}, {0}, {0}};
    struct bench_series reference = {0};
    measure(predict, &subject, &reference, batches);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_series series = {0};
        struct bench_result result = {.name = cases[i].name, .unit = "ns", .goal = cases[i].goal,
                                      .reference = "constant velocity"};
        subject.model = cases[i].model;
        measure(cases[i].run, &subject, &series, batches);
        result_from_series(&result, &series);
        result.reference_p50 = series_quantile(&reference, 0.5);
        bench_print(context, &result);
        series_free(&series);
    }
    series_free(&reference);
}
