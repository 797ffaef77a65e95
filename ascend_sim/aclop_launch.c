/* The aclop operators that have kernels, and the way from a call to a kernel on a stream. */
#include "aclop.h"

static int check_aclop_pair(Executor *e) {
    if (e->args[0].t != NULL && e->args[1].t != NULL) return ACL_OK;
    return nn_fail(e, "an input and an output are needed");
}

#define FULL(name, roles, check, run, variant)                                                                         \
    { name, name "_Sim_" name, roles, UNIT_CUBE, FLOATS, check, run, variant }

/* n: an input, p: an output, a: the attributes */
const OpInfo aclop_infos[] = {
    FULL("DynamicRNN",
         "nnnnnn"
         "pppppppp"
         "a",
         check_aclop_recurrent, run_aclop_recurrent, ACLOP_RNN),
    FULL("DynamicRNNV2",
         "nnnnnnn"
         "pppppppp"
         "a",
         check_aclop_recurrent, run_aclop_recurrent, ACLOP_RNN_V2),
    FULL("DynamicGRUV2",
         "nnnnnnn"
         "pppppp"
         "a",
         check_aclop_recurrent, run_aclop_recurrent, ACLOP_GRU),
    FULL("DynamicRNNGrad",
         "nnnnnnnnnnnnnnnnnnnnn"
         "ppppp"
         "a",
         check_aclop_recurrent, run_aclop_recurrent_backward, ACLOP_RNN_GRAD),
    FULL("DynamicRNNV2Grad",
         "nnnnnnnnnnnnnnnnnnnnn"
         "pppppp"
         "a",
         check_aclop_recurrent, run_aclop_recurrent_backward, ACLOP_RNN_V2_GRAD),
    FULL("DynamicGRUV2Grad",
         "nnnnnnnnnnnnnn"
         "pppppp"
         "a",
         check_aclop_recurrent, run_aclop_recurrent_backward, ACLOP_GRU_GRAD),
    FULL("Swish",
         "n"
         "p"
         "a",
         check_aclop_map, run_aclop_map, ACLOP_SWISH),
    FULL("SwishGrad",
         "nnn"
         "p"
         "a",
         check_aclop_map, run_aclop_map, ACLOP_SWISH_GRAD),
    FULL("Mish",
         "n"
         "p"
         "a",
         check_aclop_map, run_aclop_map, ACLOP_MISH),
    FULL("MishGrad",
         "nnn"
         "p"
         "a",
         check_aclop_map, run_aclop_map, ACLOP_MISH_GRAD),
    FULL("LeakyRelu",
         "n"
         "p"
         "a",
         check_aclop_map, run_aclop_map, ACLOP_LEAKY_RELU),
    FULL("Pdist",
         "n"
         "p"
         "a",
         check_aclop_pdist, run_aclop_pdist, 0),
    FULL("Qr",
         "n"
         "pp"
         "a",
         check_aclop_qr, run_aclop_qr, 0),
    FULL("LpNormReduceV2",
         "n"
         "p"
         "a",
         check_aclop_pair, run_aclop_norm_reduce, 0),
    FULL("LpNormUpdateV2",
         "n"
         "p"
         "a",
         check_aclop_pair, run_aclop_norm_update, 0),
};
const int aclop_count = sizeof aclop_infos / sizeof *aclop_infos;

const Attributes *aclop_attributes(const Executor *e) { return e->args[e->argc - 1].attributes; }

/* Puts the i-th operand into the executor; an absent one has no type or no data. */
static void prepare(Executor *e, int at, Tensor *room, const Description *shape, const DataBuffer *buffer) {
    if (shape == NULL || buffer == NULL || shape->dtype == DT_UNDEFINED || buffer->data == NULL) return;
    tensor_fill(room, shape->dims, shape->ndim, shape->dtype, NULL, shape->format, buffer->data);
    e->args[at].t = room;
    e->tensors++;
}

static Executor *executor_for(const OpInfo *op, int n_in, const Description *const *in_shapes,
                              const DataBuffer *const *in, int n_out, const Description *const *out_shapes,
                              DataBuffer *const *out, const Attributes *attributes) {
    int argc = (int)strlen(op->roles), inputs = (int)strspn(op->roles, "n");
    Executor *e = malloc(sizeof *e + (size_t)argc * sizeof(Tensor) + sizeof(Attributes));
    *e = (Executor){.op = op, .argc = argc};
    Tensor *room = (Tensor *)(e + 1);
    Attributes *own = (Attributes *)(room + argc);
    *own = attributes != NULL ? *attributes : (Attributes){0};
    for (int i = 0; i < n_in; i++) prepare(e, i, &room[i], in_shapes[i], in[i]);
    for (int i = 0; i < n_out; i++) prepare(e, inputs + i, &room[inputs + i], out_shapes[i], out[i]);
    e->args[argc - 1].attributes = own;
    return e;
}

int aclop_launch(const OpInfo *op, int n_in, const Description *const *in_shapes, const DataBuffer *const *in,
                 int n_out, const Description *const *out_shapes, DataBuffer *const *out, const Attributes *attributes,
                 void *stream_handle_) {
    int inputs = (int)strspn(op->roles, "n"), outputs = (int)strspn(op->roles + inputs, "p");
    if (n_in > inputs || n_out > outputs || n_in < 1) {
        return fail(ACL_INVALID_PARAM, "operator %s takes %d inputs and %d outputs, got %d and %d", op->name, inputs,
                    outputs, n_in, n_out);
    }
    Stream *stream = NULL;
    int code = stream_of(stream_handle_, &stream);
    if (code == ACL_OK) code = device_status(stream->device);
    if (code != ACL_OK) return code;
    Executor *e = executor_for(op, n_in, in_shapes, in, n_out, out_shapes, out, attributes);
    code = executor_check(e);
    if (code == ACL_OK) code = op->check(e);
    if (code == ACL_OK) return executor_submit(e, stream, NULL);
    executor_free(e);
    return code;
}

/* ---- norms: |x|^p summed, then the root; the greatest and the least |x| for infinite p --------- */
#define INFINITE 1e9 /* clients send the limits of an int for the infinite ones */

int run_aclop_norm_reduce(Executor *e) {
    const Tensor *in = e->args[0].t, *out = e->args[1].t;
    const Attribute *axes = attribute_named(aclop_attributes(e), "axes");
    double p = attribute_number(aclop_attributes(e), "p", 2);
    bool reduced[MAX_DIMS] = {false}, all = axes == NULL || axes->count == 0;
    for (int i = 0; !all && i < axes->count; i++) {
        int64_t dim = normal_dim(axes->ints[i], in->ndim);
        if (dim < 0) return run_fail(e, "axis %lld of %d", (long long)axes->ints[i], in->ndim);
        reduced[dim] = true;
    }
    Values from = values_of(in), to = values_for(out);
    for (int64_t i = 0; i < out->numel; i++) to.v[i] = p < -INFINITE ? __builtin_inf() : 0;
    for (int64_t i = 0; i < in->numel; i++) {
        int64_t at = 0, step = 1, rest = i;
        for (int d = in->ndim - 1; d >= 0; d--) {
            if (!all && !reduced[d]) {
                at += rest % in->shape[d] * step;
                step *= in->shape[d];
            }
            rest /= in->shape[d];
        }
        if (at >= out->numel) break;
        double size = __builtin_fabs(from.v[i]), now = to.v[at];
        bool nan = size != size || now != now;
        if (p > INFINITE) to.v[at] = nan ? size + now : size > now ? size : now;
        else if (p < -INFINITE) to.v[at] = nan ? size + now : size < now ? size : now;
        else to.v[at] = now + (p == 0 ? size != 0 : __builtin_pow(size, p));
    }
    values_free(&from);
    values_done(&to);
    return ACL_OK;
}

int run_aclop_norm_update(Executor *e) {
    double p = attribute_number(aclop_attributes(e), "p", 2);
    Values from = values_of(e->args[0].t), to = values_for(e->args[1].t);
    bool as_it_is = p > INFINITE || p < -INFINITE || p == 0 || p == 1;
    for (int64_t i = 0; i < e->args[1].t->numel; i++) to.v[i] = as_it_is ? from.v[i] : __builtin_pow(from.v[i], 1 / p);
    values_free(&from);
    values_done(&to);
    return ACL_OK;
}
