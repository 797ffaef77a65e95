/* The bits of keys and of the mode word, as in _keys.py: tests/mindtorch_v2/test_key_bits.py compares them. */
#ifndef MINDTORCH_KEYS_H
#define MINDTORCH_KEYS_H

#define KEY_BITS(BIT)                                                                                                  \
    BIT(CPU, 1)                                                                                                        \
    BIT(META, 2)                                                                                                       \
    BIT(NPU, 4)                                                                                                        \
    BIT(GRAD, 8)                                                                                                       \
    BIT(NO_GRAD, 16)                                                                                                   \
    BIT(OBSERVED, 32)                                                                                                  \
    BIT(SPECIAL, 64)                                                                                                   \
    BIT(INFERENCE, 128)                                                                                                \
    BIT(OUTPUTS, 256)                                                                                                  \
    BIT(SUBCLASS, 512)

#define KEY_BIT(name, value) KEY_##name = value,
enum { KEY_BITS(KEY_BIT) KEY_DEVICES = KEY_CPU | KEY_META | KEY_NPU };

#endif
