/* The older single-operator interface: descriptions, attributes, and the few operators that have kernels. */
#ifndef ASCEND_SIM_ACLOP_H
#define ASCEND_SIM_ACLOP_H

#include "kernels.h"

#define ATTRIBUTES 24
#define ATTRIBUTE_TEXT 32
#define ATTRIBUTE_INTS 8

typedef struct {
    int32_t dtype, format, ndim;
    int64_t dims[MAX_DIMS];
} Description;
typedef struct {
    void *data;
    size_t size;
} DataBuffer;

typedef struct {
    char name[ATTRIBUTE_TEXT], text[ATTRIBUTE_TEXT];
    double number;
    int count; /* of ints */
    int64_t ints[ATTRIBUTE_INTS];
} Attribute;

typedef struct Attributes {
    int count;
    Attribute v[ATTRIBUTES];
} Attributes;

const Attribute *attribute_named(const Attributes *attributes, const char *name); /* NULL when it was not set */
double attribute_number(const Attributes *attributes, const char *name, double otherwise);
const char *attribute_text(const Attributes *attributes, const char *name, const char *otherwise);

/* An operator's arguments are its inputs, its outputs, and its attributes. */
extern const OpInfo aclop_infos[];
extern const int aclop_count;
const Attributes *aclop_attributes(const Executor *e);
int aclop_launch(const OpInfo *op, int n_in, const Description *const *in_shapes, const DataBuffer *const *in,
                 int n_out, const Description *const *out_shapes, DataBuffer *const *out, const Attributes *attributes,
                 void *stream);

KERNEL(check_aclop_recurrent);
KERNEL(run_aclop_recurrent);
KERNEL(run_aclop_recurrent_backward);
KERNEL(run_aclop_norm_reduce);
KERNEL(run_aclop_norm_update);
KERNEL(check_aclop_map);
KERNEL(run_aclop_map);
KERNEL(check_aclop_pdist);
KERNEL(run_aclop_pdist);
KERNEL(check_aclop_qr);
KERNEL(run_aclop_qr);
enum { ACLOP_RNN, ACLOP_RNN_V2, ACLOP_GRU, ACLOP_RNN_GRAD, ACLOP_RNN_V2_GRAD, ACLOP_GRU_GRAD };
enum { ACLOP_SWISH, ACLOP_MISH, ACLOP_LEAKY_RELU, ACLOP_SWISH_GRAD, ACLOP_MISH_GRAD }; /* gradients last */

#endif
