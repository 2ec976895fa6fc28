// One projection a row: v = floor(b + a x). Not the bucket is counted but the step v itself, in a ring of RING counters
// a row; each step is hashed once, at the end. That leaves the projection and the increment as the only work a record.
//
// Adding QUARTERS = 1.5 * 2^50, rounded down, leaves floor(4 t) in the low word of the sum: with its last two bits off
// it is four times the step, the byte at which its counter lies. Before that, `shift` moves the row's usual steps into
// the ring. Then the high word is always HIGH and the low one below 4 * RING, or the record goes another way.

#define QUARTERS 1688849860263936.0
#define HIGH 0x43180000u
#define NUMBERS (2 + COLUMNS + COLUMNS % 2)   // b, a, shift, rounded up to pairs
#define ROOM ((((int)BUCKETS + RING - 1) / RING) * RING)

// A record that may have left the ring: counted there if it has not, else straight in its bucket.
__device__ __noinline__ void alone(const double* x, const double* p, u32 ring, u64 start, u64 multiplier, u64* counts) {
    const double t = projection(x, p, COLUMNS, 1), place = __dadd_rd(t, p[1 + COLUMNS]);
    const u32 low = (u32)__double2loint(place);
    if ((u32)__double2hiint(place) == HIGH && low < 4 * RING) increment(ring + (low & ~3u));
    else atomicAdd(counts + bucket_of(start + multiplier * word_of(floor(t))), 1ULL);
}

// Puts the middle of what a few hundred records show into the middle of each row's ring. False if that is too little.
__device__ __forceinline__ bool place_rings(const double* X, long long n, double (*numbers)[NUMBERS], int height) {
    __shared__ int least[GROUP], most[GROUP];
    if (threadIdx.x < GROUP) least[threadIdx.x] = 2147483647, most[threadIdx.x] = -2147483647;
    __syncthreads();
    const double* x = X + (long long)((threadIdx.x + 0.5) / THREADS * (double)n) * COLUMNS;
    for (int r = 0; r < height; r++) {
        const int step = __double2int_rd(projection(x, numbers[r], COLUMNS, 1));
        const int low = __reduce_min_sync(~0u, step), high = __reduce_max_sync(~0u, step);
        if (threadIdx.x % 32 == 0) atomicMin(least + r, low), atomicMax(most + r, high);
    }
    __syncthreads();
    bool narrow = true;
    if (threadIdx.x < height) {
        const double low = least[threadIdx.x], high = most[threadIdx.x];
        numbers[threadIdx.x][1 + COLUMNS] = QUARTERS - (floor((low + high) / 2) - RING / 2);
        narrow = high - low < 3 * RING / 4;
    }
    return __syncthreads_and(narrow);
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
count(const double* __restrict__ X, long long n, u64* __restrict__ counts, int rows,
      const double* __restrict__ parameters, const u64* __restrict__ start, const u64* __restrict__ multipliers)
{
    extern __shared__ u32 space[];
    u32 ring = (u32)__cvta_generic_to_shared(space);
    u32* table = space + (-ring & (4 * RING - 1)) / 4;              // GROUP x ROOM, on a multiple of the ring's bytes
    ring = (u32)__cvta_generic_to_shared(table);
    asm volatile("" : "+r"(ring));                                  // kept in a register
    double (*numbers)[NUMBERS] = (double (*)[NUMBERS])(table + GROUP * ROOM);
    const int top = blockIdx.x * GROUP, height = min(GROUP, rows - top);
    counts += (long long)top * BUCKETS;
    start += top;
    multipliers += top;
    for (int i = threadIdx.x; i < GROUP * NUMBERS; i += THREADS) {
        const int r = min(i / NUMBERS, height - 1), j = i % NUMBERS;
        numbers[i / NUMBERS][j] = j <= COLUMNS ? parameters[(long long)(top + r) * (1 + COLUMNS) + j] : 0.0;
    }
    for (int i = threadIdx.x; i < GROUP * ROOM; i += THREADS) table[i] = 0;
    const bool narrow = place_rings(X, n, numbers, height);

    const long long stride = (long long)gridDim.y * THREADS * RECORDS;
    const long long begin = (long long)blockIdx.y * THREADS * RECORDS + threadIdx.x;
    if (narrow) {
        for (long long base = begin; base < n; base += stride) {
            double x[RECORDS][COLUMNS];                             // beyond the end: not a number, which leaves the ring
            #pragma unroll
            for (int q = 0; q < RECORDS; q++)
                #pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    x[q][j] = base + q * THREADS < n ? X[(base + q * THREADS) * COLUMNS + j]
                                                     : __longlong_as_double(0x7ff8000000000000LL);
            #pragma unroll
            for (int r = 0; r < GROUP; r++) {
                double p[NUMBERS];
                #pragma unroll
                for (int j = 0; j < NUMBERS; j += 2)
                    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(p[j]), "=d"(p[j + 1])
                                 : "r"(ring + 4 * GROUP * ROOM + 8 * (r * NUMBERS + j)));
                u32 low[RECORDS], high = 0, wide = 0;
                #pragma unroll
                for (int q = 0; q < RECORDS; q++) {
                    const double place = __dadd_rd(projection(x[q], p, COLUMNS, 1), p[1 + COLUMNS]);
                    low[q] = (u32)__double2loint(place);
                    wide |= low[q];
                    high |= (u32)__double2hiint(place) ^ HIGH;
                }
                if (!high && wide < 4 * RING) {
                    #pragma unroll
                    for (int q = 0; q < RECORDS; q++)
                        increment(((low[q] & (4 * RING - 4)) | ring) + 4 * r * ROOM);
                } else if (r < height) {
                    #pragma unroll 1
                    for (int q = 0; q < RECORDS; q++)
                        if (base + q * THREADS < n)
                            alone(X + (base + q * THREADS) * COLUMNS, numbers[r], ring + 4 * r * ROOM, start[r],
                                  multipliers[r], counts + (long long)r * BUCKETS);
                }
            }
        }
    } else {                                                        // more steps than a ring holds: hashed one by one
        for (long long base = begin; base < n; base += stride)
            for (int q = 0; q < RECORDS && base + q * THREADS < n; q++) {
                double x[COLUMNS];
                #pragma unroll
                for (int j = 0; j < COLUMNS; j++) x[j] = X[(base + q * THREADS) * COLUMNS + j];
                for (int r = 0; r < height; r++) {
                    const u64 word = word_of(floor(projection(x, numbers[r], COLUMNS, 1)));
                    increment(ring + 4 * (r * ROOM + bucket_of(start[r] + multipliers[r] * word)));
                }
            }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < height * ROOM; i += THREADS) {
        if (!table[i]) continue;
        const int r = i / ROOM;
        u32 bucket = i % ROOM;
        if (narrow) {
            const long long step = i % ROOM + (long long)(QUARTERS - numbers[r][1 + COLUMNS]);
            bucket = bucket_of(start[r] + multipliers[r] * (u64)step);
        }
        atomicAdd(counts + (long long)r * BUCKETS + bucket, (u64)table[i]);
    }
}
