/* The bits of keys and of the mode word, as in _keys.py: tests/mindtorch_v2/test_key_bits.py compares them. */
#ifndef MINDTORCH_KEYS_H
#define MINDTORCH_KEYS_H

#define KEY_BITS(BIT)                                                                                                  \
    BIT(CPU, 1)                                                                                                        \
    BIT(META, 2)                                                                                                       \
    BIT(GRAD, 8)                                                                                                       \
    BIT(NO_GRAD, 16)                                                                                                   \
    BIT(OBSERVED, 32)                                                                                                  \
    BIT(SPECIAL, 64)                                                                                                   \
    BIT(INFERENCE, 128)                                                                                                \
    BIT(OUTPUTS, 256)                                                                                                  \
    BIT(SUBCLASS, 512)

#define KEY_BIT(name, value) KEY_##name = value,
/* Accelerators have a bit each: the first stands among the small numbers, the others from KEY_FURTHER on. Which is
 * whose is data: _accelerators.py hands them out. */
enum { KEY_FIRST = 4, KEY_FURTHER = 10, KEY_END = 24 };
enum {
    KEY_BITS(KEY_BIT) KEY_ACCELERATORS = KEY_FIRST | ((1 << KEY_END) - (1 << KEY_FURTHER)),
    KEY_DEVICES = KEY_CPU | KEY_META | KEY_ACCELERATORS,
};

static inline int is_accelerator(long device)
{
    return (device & KEY_ACCELERATORS) == device && device && !(device & (device - 1));
}

#endif
