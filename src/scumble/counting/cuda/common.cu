typedef unsigned long long u64;
typedef unsigned int u32;

#define INFINITE __int_as_float(0x7f800000)
#define LEAST 1e-30f                              // sums of squares that have lost nothing to underflow or overflow
#define MOST 1e30f

// One code to a 32-bit word; the twin of hasher.to_words.
__device__ __forceinline__ u64 word_of(double code) {
    if (fabs(code) < 2147483648.0) return (u64)__double2ll_rz(code);
    const double safe = isfinite(code) ? code : __longlong_as_double(0x7ff0000000000000LL);
    u64 bits = (u64)__double_as_longlong(safe);
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    return (bits >> 32) - 2147483648ULL;
}

__device__ __forceinline__ u32 bucket_of(u64 total) {
    if (DIRECT) return (u32)min(total, (u64)BUCKETS - 1);
    const u32 word = (u32)(total >> 32);
    const bool shift = BUCKETS > 1 && (BUCKETS & (BUCKETS - 1)) == 0;   // a power of two: no multiplication
    return shift ? word >> (1 + __clz(BUCKETS)) : __umulhi(word, BUCKETS);
}

// One more in a counter of shared memory; lanes that meet in one are added up by the hardware.
__device__ __forceinline__ void increment(u32 address) {
    asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(address));
}
__device__ __forceinline__ void increment(u32 table, u32 bucket) {
    asm volatile("{ .reg .u32 a; mad.lo.u32 a, %1, 4, %0; red.shared.add.u32 [a], 1; }" :: "r"(table), "r"(bucket));
}

// The projection of a record without fused products, in the order of the columns: bit-identical to the reference's.
__device__ __forceinline__ double projection(const double* x, const double* p, int columns, int floor) {
    double t = floor ? p[0] : 0.0;
    #pragma unroll 8
    for (int j = 0; j < columns; j++) t = __dadd_rn(t, __dmul_rn(x[j], p[floor + j]));
    return t;
}
