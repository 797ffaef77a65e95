/* Operands, executors and the interface between the operator table and the kernels. */
#ifndef ASCEND_SIM_OPS_H
#define ASCEND_SIM_OPS_H

#include "sim.h"

#define MAX_ARGS 30
#define MAX_OUTPUTS 4
#define TENSOR_MAGIC 0x54656e73u

typedef struct {
    uint32_t magic;
    int dtype, format, ndim;
    int64_t shape[MAX_DIMS], stride[MAX_DIMS], offset;
    int64_t numel;
    size_t item;
    bool contiguous, watched;
    char *data;   /* device address of element 0 of the view */
    char *origin; /* as given by the caller */
    int storage_ndim;
    int64_t storage[MAX_DIMS];
} Tensor;

typedef struct {
    int dtype;
    double d;
    int64_t i;
} Scalar;
typedef struct {
    uint64_t n;
    int64_t v[];
} IntArray;
typedef struct {
    uint64_t n;
    bool v[];
} BoolArray;
typedef struct {
    uint64_t n;
    float v[];
} FloatArray;
typedef struct {
    uint64_t n;
    Tensor *v[];
} TensorList;
typedef struct {
    uint64_t n;
    Scalar *v[];
} ScalarList;

/* One argument as it arrives; the role letters of op_table.h say which member holds. */
typedef union {
    const void *p;
    int64_t i;
    double d;
} RawArg;

typedef union {
    Tensor *t;
    Scalar *s;
    IntArray *ints;
    BoolArray *bools;
    TensorList *list;
    ScalarList *scalars;
    const char *text;
    const struct Attributes *attributes; /* of an aclop operator */
    int64_t i;
    double d;
} Arg;

typedef enum { UNIT_VECTOR, UNIT_CUBE, UNIT_AICPU } Unit;

typedef int (*CheckFn)(Executor *e); /* 0 or an aclnn status, set by nn_fail */
typedef int (*RunFn)(Executor *e);   /* 0 or a fault code, text in e->problem */

typedef struct {
    const char *name, *kernel, *roles;
    Unit unit;
    uint32_t types; /* allowed types of the first tensor */
    CheckFn check;
    RunFn run;
    int variant;
} OpInfo;

struct Executor {
    const OpInfo *op;
    int argc;
    bool repeatable;
    uint64_t workspace;
    size_t bytes; /* of this allocation, copies of the operands included */
    uint32_t tensors;
    uint64_t watch;               /* of the client's tensors whose shapes the kernel tells; 0 for none */
    Tensor *outputs[MAX_OUTPUTS]; /* the client's own tensors, to be touched in the first phase only */
    int output_count;
    char problem[160];
    Arg args[MAX_ARGS];
};

extern const OpInfo op_infos[];
extern const int op_count;

int op_prepare(int id, const RawArg *raw, uint64_t *workspace, void **executor);
int op_launch(int id, void *workspace, uint64_t size, void *executor, void *stream);
int executor_run(Stream *stream, Task *task); /* 0 or a fault code; text in the executor */
void executor_free(Executor *e);
int executor_check(const Executor *e);                             /* its operands, not their meaning */
int executor_submit(Executor *e, Stream *stream, void *workspace); /* the kernel takes the executor */
void tensor_fill(Tensor *t, const int64_t *dims, int ndim, int dtype, const int64_t *strides, int format, void *data);

/* Results whose size only the kernel knows: the client reads it from its tensor (aclGetViewShape) after it waited. */
void tensor_watch(Executor *e); /* the last output */
void tensor_watch_output(Executor *e, int output);
void tensor_resized_output(const Executor *e, int output, const int64_t *shape, int ndim);
void tensor_resized(const Executor *e, const int64_t *shape,
                    int ndim); /* nothing where the client destroyed it already */

int nn_fail(const Executor *e, const char *format, ...) PRINTF_LIKE(2, 3); /* invalid parameter, 161002 */
int run_fail(Executor *e, const char *format, ...) PRINTF_LIKE(2, 3);      /* fault of a running kernel */

/* ---- type sets --------------------------------------------------------------------------------- */
#define BIT(t) (1u << (t))
enum {
    HALVES = BIT(DT_FLOAT16) | BIT(DT_BF16),
    FLOATS = HALVES | BIT(DT_FLOAT),
    FLOATS_D = FLOATS | BIT(DT_DOUBLE),
    INTS = BIT(DT_INT8) | BIT(DT_INT16) | BIT(DT_INT32) | BIT(DT_INT64) | BIT(DT_UINT8),
    NUMBERS = FLOATS_D | INTS,
    ANY = NUMBERS | BIT(DT_BOOL),
    INDICES = BIT(DT_INT32) | BIT(DT_INT64),
};

/* ---- shapes ------------------------------------------------------------------------------------ */
bool same_shape(const Tensor *a, const Tensor *b);
bool broadcast_shapes(const Tensor *const *tensors, int n, int64_t *shape, int *ndim);
const char *shape_text(const Tensor *t);   /* one of a few per-thread buffers */
int64_t normal_dim(int64_t dim, int ndim); /* -1 when out of range */
int need_types(const Executor *e, const Tensor *t, uint32_t types, const char *what);
int need_same(const Executor *e, const Tensor *a, const Tensor *b, const char *what);
int need_shape(const Executor *e, const Tensor *t, const int64_t *shape, int ndim, const char *what);

/* ---- reading and writing operands in a compute type -------------------------------------------- */
typedef enum { CT_F32, CT_F64, CT_I64 } ComputeType;
#define CHUNK 1024

typedef struct { /* an operand seen in the shape of the result, dimensions merged where they can be */
    char *base;  /* address the kernels may touch */
    int dtype, ndim;
    int64_t shape[MAX_DIMS], stride[MAX_DIMS]; /* strides in elements */
    size_t item;
    bool dense;
} View;

View view_of(const Tensor *t);
View view_as(const Tensor *t, const int64_t *shape, int ndim); /* broadcast */
const void *view_load(const View *v, int64_t start, int64_t n, ComputeType ct, void *buffer);
void *view_target(const View *v, int64_t start, ComputeType ct, void *buffer); /* where to write before view_store */
void view_store(const View *v, int64_t start, int64_t n, ComputeType ct, const void *values);
ComputeType compute_type(const Tensor *const *tensors, int n);
size_t compute_size(ComputeType ct);

static inline void view_read(void *to, const View *v, int64_t at, ComputeType ct) { /* one element */
    const void *found = view_load(v, at, 1, ct, to);
    if (found != to) memcpy(to, found, compute_size(ct));
}

/* Whole operands as dense arrays. `*owned` is what free() must get afterwards (NULL when the data was used in place).
 */
float *dense_f32(const Tensor *t, void **owned);
int64_t *dense_i64(const Tensor *t, void **owned);
void *dense(const Tensor *t, ComputeType ct, void **owned);
float *out_f32(const Tensor *t, void **owned); /* array to fill, then out_done */
void *out_dense(const Tensor *t, ComputeType ct, void **owned);
void out_done(const Tensor *t, ComputeType ct, void *values, void *owned);

float half_to_float(uint16_t h);
uint16_t float_to_half(float f);

static inline float bf16_to_float(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint16_t float_to_bf16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/* Clones for wider vector units, chosen at load time; sanitizers cannot run code before their start-up. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("fma", "default")))
#else
#define WIDE
#endif

#endif
