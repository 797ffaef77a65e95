/* Makes the loops of an .inc file for float. */
#undef T
#undef F
#undef BITS
#undef LANES
#define T float
#define F(name) name##_f
#define BITS uint32_t
#define LANES 8
