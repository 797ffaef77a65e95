/* AdamW: one fused update of a parameter and its moments. */
#include "kernels.h"

#include <math.h>

enum { VAR, M, V, MAX_V, GRAD, STEP, LR, BETA1, BETA2, DECAY, EPS, AMSGRAD, MAXIMIZE };

int check_adamw(Executor *e) {
    const Tensor *var = e->args[VAR].t, *step = e->args[STEP].t;
    if (!config()->soc.has_bf16) return nn_fail(e, "not supported on %s", config()->soc.name);
    int code = need_same(e, var, e->args[M].t, "varRef and mRef");
    if (code == 0) code = need_same(e, var, e->args[V].t, "varRef and vRef");
    if (code == 0) code = need_same(e, var, e->args[GRAD].t, "varRef and grad");
    if (code == 0) code = need_types(e, step, BIT(DT_FLOAT) | BIT(DT_INT64), "step");
    if (code == 0 && step->numel != 1) code = nn_fail(e, "step has %lld elements", (long long)step->numel);
    if (code != 0 || e->args[AMSGRAD].i == 0) return code;
    if (e->args[MAX_V].t == NULL) return fail(NN_NULL_PARAM, "aclnnApplyAdamWV2: amsgrad needs maxGradNorm");
    return need_same(e, var, e->args[MAX_V].t, "varRef and maxGradNorm");
}

int run_adamw(Executor *e) {
    const Tensor *tensors[4] = {e->args[VAR].t, e->args[M].t, e->args[V].t, e->args[MAX_V].t};
    int64_t n = tensors[0]->numel;
    if (n == 0) return ACL_OK;
    bool amsgrad = e->args[AMSGRAD].i != 0;
    int used = amsgrad ? 4 : 3;
    double room, beta1 = e->args[BETA1].d, beta2 = e->args[BETA2].d, lr = e->args[LR].d, eps = e->args[EPS].d;
    View step_view = view_of(e->args[STEP].t);
    double step = 1 + *(const double *)view_load(&step_view, 0, 1, CT_F64,
                                                 &room); /* the operand counts the steps before this one */
    double correction1 = 1 - pow(beta1, step), correction2 = 1 - pow(beta2, step);
    float *values[4] = {NULL};
    void *owned[4] = {NULL}, *own_g;
    for (int k = 0; k < used; k++) values[k] = dense_f32(tensors[k], &owned[k]);
    const float *grad = dense_f32(e->args[GRAD].t, &own_g);
    float *p = values[VAR], *m = values[M], *v = values[V], *top = values[MAX_V];
    float sign = e->args[MAXIMIZE].i != 0 ? -1.0f : 1.0f, decay = (float)(1 - lr * e->args[DECAY].d);
    for (int64_t i = 0; i < n; i++) {
        double g = sign * grad[i];
        m[i] = (float)(beta1 * m[i] + (1 - beta1) * g);
        v[i] = (float)(beta2 * v[i] + (1 - beta2) * g * g);
        double second = v[i];
        if (amsgrad) {
            if (v[i] > top[i]) top[i] = v[i];
            second = top[i];
        }
        double denominator = sqrt(second) / sqrt(correction2) + eps;
        p[i] = (float)(p[i] * decay - lr / correction1 * m[i] / denominator);
    }
    for (int k = 0; k < used; k++) out_done(tensors[k], CT_F32, values[k], owned[k]);
    free(own_g);
    return ACL_OK;
}
