/* Expands a list of role letters, e.g. EACH(M, i, i, s, o) -> M(0, i), M(1, i), M(2, s), M(3, o). */
#ifndef ASCEND_SIM_OP_MACROS_H
#define ASCEND_SIM_OP_MACROS_H

#define ARG_COUNT_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, \
                   a22, a23, a24, n, ...)                                                                              \
    n
#define ARG_COUNT(...)                                                                                                 \
    ARG_COUNT_(__VA_ARGS__, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, \
               0)
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define EACH(M, ...) GLUE(EACH_, ARG_COUNT(__VA_ARGS__))(M, __VA_ARGS__)
#define EACH_1(M, a) M(0, a)
#define EACH_2(M, a, b) EACH_1(M, a), M(1, b)
#define EACH_3(M, a, b, c) EACH_2(M, a, b), M(2, c)
#define EACH_4(M, a, b, c, d) EACH_3(M, a, b, c), M(3, d)
#define EACH_5(M, a, b, c, d, e) EACH_4(M, a, b, c, d), M(4, e)
#define EACH_6(M, a, b, c, d, e, f) EACH_5(M, a, b, c, d, e), M(5, f)
#define EACH_7(M, a, b, c, d, e, f, g) EACH_6(M, a, b, c, d, e, f), M(6, g)
#define EACH_8(M, a, b, c, d, e, f, g, h) EACH_7(M, a, b, c, d, e, f, g), M(7, h)
#define EACH_9(M, a, b, c, d, e, f, g, h, i) EACH_8(M, a, b, c, d, e, f, g, h), M(8, i)
#define EACH_10(M, a, b, c, d, e, f, g, h, i, j) EACH_9(M, a, b, c, d, e, f, g, h, i), M(9, j)
#define EACH_11(M, a, b, c, d, e, f, g, h, i, j, k) EACH_10(M, a, b, c, d, e, f, g, h, i, j), M(10, k)
#define EACH_12(M, a, b, c, d, e, f, g, h, i, j, k, l) EACH_11(M, a, b, c, d, e, f, g, h, i, j, k), M(11, l)
#define EACH_13(M, a, b, c, d, e, f, g, h, i, j, k, l, m) EACH_12(M, a, b, c, d, e, f, g, h, i, j, k, l), M(12, m)
#define EACH_14(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n) EACH_13(M, a, b, c, d, e, f, g, h, i, j, k, l, m), M(13, n)
#define EACH_15(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)                                                        \
    EACH_14(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n), M(14, o)
#define EACH_16(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)                                                     \
    EACH_15(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o), M(15, p)
#define EACH_17(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)                                                  \
    EACH_16(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p), M(16, q)
#define EACH_18(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)                                               \
    EACH_17(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q), M(17, r)
#define EACH_19(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)                                            \
    EACH_18(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r), M(18, s)
#define EACH_20(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)                                         \
    EACH_19(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s), M(19, t)
#define EACH_21(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)                                      \
    EACH_20(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t), M(20, u)
#define EACH_22(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)                                   \
    EACH_21(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u), M(21, v)
#define EACH_23(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)                                \
    EACH_22(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v), M(22, w)
#define EACH_24(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)                             \
    EACH_23(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w), M(23, x)
#define EACH_25(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)                          \
    EACH_24(M, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x), M(24, y)

/* C type and RawArg member of each role. */
#define TYPE_i const Tensor *
#define TYPE_n const Tensor *
#define TYPE_o const Tensor *
#define TYPE_p const Tensor *
#define TYPE_m const Tensor *
#define TYPE_k const Tensor *
#define TYPE_s const Scalar *
#define TYPE_z const Scalar *
#define TYPE_I const IntArray *
#define TYPE_J const IntArray *
#define TYPE_B const BoolArray *
#define TYPE_M const BoolArray *
#define TYPE_L const TensorList *
#define TYPE_E const TensorList *
#define TYPE_S const ScalarList *
#define TYPE_l int64_t
#define TYPE_u uint64_t
#define TYPE_w int32_t
#define TYPE_b int8_t
#define TYPE_q bool
#define TYPE_d double
#define TYPE_f float
#define TYPE_D int32_t
#define TYPE_c const char *
#define MEMBER_i p
#define MEMBER_n p
#define MEMBER_o p
#define MEMBER_p p
#define MEMBER_m p
#define MEMBER_k p
#define MEMBER_s p
#define MEMBER_z p
#define MEMBER_I p
#define MEMBER_J p
#define MEMBER_B p
#define MEMBER_M p
#define MEMBER_L p
#define MEMBER_E p
#define MEMBER_S p
#define MEMBER_l i
#define MEMBER_u i
#define MEMBER_w i
#define MEMBER_b i
#define MEMBER_q i
#define MEMBER_d d
#define MEMBER_f d
#define MEMBER_D i
#define MEMBER_c p

#define PARAMETER(n, role) TYPE_##role a##n
#define RAW(n, role)                                                                                                   \
    { .MEMBER_##role = a##n }
#define ROLE_CHAR(n, role) #role[0]

#endif
