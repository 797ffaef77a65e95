/* Makes the loops of an .inc file for double. */
#undef T
#undef F
#undef BITS
#undef LANES
#define T double
#define F(name) name##_d
#define BITS uint64_t
#define LANES 4
