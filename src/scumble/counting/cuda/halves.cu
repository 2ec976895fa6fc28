// Projections on the tensor cores, in two halves: every number is the sum of a half-precision number and a
// half-precision remainder, 22 bits together, and their products are added up in single precision. What that leaves open
// lies in a narrow band around the edges: see halves.py. A warp that meets such a close call decides it in double
// precision, so no edge moves.
//
// The same goes for the hash: of the 64-bit sum m0 + sum of m v, only the high words of m are multiplied. What the low
// words would carry is less than `reach`, and matters only if the high word is that close to the edge of a bucket.
//
// A warp takes 16 records (a tile) and 8 rows (a set) at a time, TILES tiles before it turns to the next set. Of each
// product a lane holds two records (lane / 4 and 8 more) and two rows (2 * (lane % 4) and the next).

#define SIZE (COLUMNS + FLOOR)
#define HASH_WORDS (64 * STEPS + 32)              // two halves of the directions for 32 lanes; offsets, multipliers
#define SET_WORDS (HASHES * HASH_WORDS + 32)      // then bands, starts, and the longest direction
#define MAGIC 12582912.0f                         // 1.5 * 2^23: adding it rounds to whole numbers
#define UNIT (DIRECT ? 1ULL : 1ULL << 32)         // of the totals, which have one word

struct Job {
    const double* X;
    long long n;
    u64* counts;
    int rows;
    const double* parameters;
    const u64 *start, *multipliers;
};

// D (16 records x 8 rows) = A (16 x 16 halves) B (16 x 8 rows) + C; both halves of A meet the same half of B.
__device__ __forceinline__ void multiply(float* d, const u32* a, u32 b, const float* c) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %8}, {%9, %10, %11, %12};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// Two numbers rounded to half precision; what rounding left of them.
__device__ __forceinline__ u32 halves(float first, float second) {
    u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}
__device__ __forceinline__ u32 remainders(u32 pair, float first, float second) {
    float a, b;
    asm("{ .reg .b16 x, y; mov.b32 {x, y}, %2; cvt.f32.f16 %0, x; cvt.f32.f16 %1, y; }" : "=f"(a), "=f"(b) : "r"(pair));
    return halves(first - a, second - b);
}

// The close calls of the lanes in `doubtful`, one lane's four pairs of record and row at a time, eight lanes a pair.
__device__ __noinline__ void settle(u32 doubtful, long long record, int row, const Job& job) {
    const int lane = threadIdx.x % 32;
    while (doubtful) {
        const int who = __ffs(doubtful) - 1;
        doubtful &= doubtful - 1;
        const long long i = record + who / 4 + 8 * (lane / 16), r = row + 2 * (who % 4) + lane / 8 % 2;
        const bool real = i < job.n && r < job.rows;
        u64 total = 0;
        for (int h = lane % 8; h < HASHES && real; h += 8) {
            const double t = projection(job.X + i * COLUMNS, job.parameters + (r * HASHES + h) * SIZE, COLUMNS, FLOOR);
            total += job.multipliers[r * HASHES + h] * (FLOOR ? word_of(floor(t)) : (u64)(t >= 0.0));
        }
        for (int apart = 4; apart; apart /= 2) total += __shfl_xor_sync(~0u, total, apart);
        if (lane % 8 == 0 && real) atomicAdd(job.counts + r * BUCKETS + bucket_of(job.start[r] + total), 1ULL);
    }
}

// Records into halves, a tile a warp, in the order in which the lanes multiply them; and their lengths, infinite beyond
// the last record, which leaves it in doubt. Where only signs count, records are brought to length 1 first; those whose
// squares single precision does not hold are also left in doubt.
extern "C" __global__ void __launch_bounds__(256)
split(const double* __restrict__ X, long long n, long long tiles, const double* __restrict__ scales,
      uint4* __restrict__ halved, float* __restrict__ lengths)
{
    const long long tile = ((long long)blockIdx.x * 256 + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (tile >= tiles) return;
    u32 a[STEPS][4];
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        const long long i = 16 * tile + 8 * half + lane / 4;
        float value[STEPS][2], squares = 0.0f;
        #pragma unroll
        for (int k = 0; k < STEPS; k++)
            #pragma unroll
            for (int c = 0; c < 2; c++) {
                const int column = 8 * k + 2 * (lane % 4) + c;
                value[k][c] = column < COLUMNS && i < n ? (float)(X[i * COLUMNS + column] * scales[column]) : 0.0f;
                squares = fmaf(value[k][c], value[k][c], squares);
            }
        squares += __shfl_xor_sync(~0u, squares, 1);
        squares += __shfl_xor_sync(~0u, squares, 2);
        const bool held = squares > LEAST && squares < MOST;
        if (lane % 4 == 0) lengths[i] = i >= n ? INFINITE : FLOOR ? sqrtf(squares) : held ? 1.0f : INFINITE;
        const float by = FLOOR ? 1.0f : rsqrtf(squares);
        #pragma unroll
        for (int k = 0; k < STEPS; k++) {
            a[k][half] = halves(value[k][0] * by, value[k][1] * by);
            a[k][2 + half] = remainders(a[k][half], value[k][0] * by, value[k][1] * by);
        }
    }
    #pragma unroll
    for (int k = 0; k < STEPS; k++)
        halved[(tile * STEPS + k) * 32 + lane] = make_uint4(a[k][0], a[k][1], a[k][2], a[k][3]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
count(const uint4* __restrict__ halved, const float* __restrict__ lengths, long long tiles,
      const double* __restrict__ X, long long n, u64* __restrict__ counts, int rows,
      const double* __restrict__ parameters, const u64* __restrict__ start, const u64* __restrict__ multipliers,
      const uint4* __restrict__ packed)
{
    extern __shared__ uint4 mine[];                                 // SETS x SET_WORDS words
    u32* table = (u32*)(mine + SETS * SET_WORDS / 4);               // SETS x 8 x BUCKETS
    __shared__ Job job;
    const int lane = threadIdx.x % 32, q = lane % 4;
    const int top = blockIdx.x * SETS * 8;
    const int height = min(SETS * 8, rows - top), sets = (height + 7) / 8;
    for (int i = threadIdx.x; i < sets * SET_WORDS / 4; i += THREADS)
        mine[i] = packed[(long long)blockIdx.x * SETS * SET_WORDS / 4 + i];
    for (int i = threadIdx.x; i < (int)(SETS * 8 * BUCKETS); i += THREADS) table[i] = 0;
    if (threadIdx.x == 0) job = {X, n, counts, rows, parameters, start, multipliers};
    __syncthreads();

    float longest = 0.0f;                                           // direction of this lane's rows
    for (int set = 0; set < sets; set++)
        longest = fmaxf(longest, ((float*)mine)[set * SET_WORDS + HASHES * HASH_WORDS + 8 * q + 4]);
    const long long stride = (long long)gridDim.y * (THREADS / 32) * TILES;
    long long base = ((long long)blockIdx.y * (THREADS / 32) + threadIdx.x / 32) * TILES;
    for (; base < tiles; base += stride) {                          // there is room for TILES - 1 tiles too many
        u32 a[TILES][STEPS][4], reach[TILES][2];
        float length[TILES][2];
        #pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            #pragma unroll
            for (int k = 0; k < STEPS; k++) {
                const uint4 four = halved[((base + tile) * STEPS + k) * 32 + lane];
                a[tile][k][0] = four.x, a[tile][k][1] = four.y, a[tile][k][2] = four.z, a[tile][k][3] = four.w;
            }
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                length[tile][half] = lengths[16 * (base + tile) + 8 * half + lane / 4];
                // At most |v| + 1 for every hash, and rounding.
                const float most = FLOOR ? length[tile][half] * longest + 2.0f : 1.0f;
                reach[tile][half] = min(__float2uint_ru((float)BUCKETS * (HASHES * most + 2.0f)), 0x7fffffffu);
            }
        }
        u32 hash = (u32)__cvta_generic_to_shared(mine), place = (u32)__cvta_generic_to_shared(table + 2 * q * BUCKETS);
        #pragma unroll 1
        for (int set = 0; set < sets; set++) {
            asm volatile("" : "+r"(hash), "+r"(place));             // kept in registers
            const u32 last = hash + 4 * HASHES * HASH_WORDS + 32 * q;
            u32 first[2], total[TILES][4];
            float near, limit, far[TILES][2];
            bool doubt[TILES];
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(near), "=f"(limit), "=r"(first[0]), "=r"(first[1]) : "r"(last));
            #pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                doubt[tile] = false;
                #pragma unroll
                for (int e = 0; e < 4; e++) total[tile][e] = first[e % 2];
                far[tile][0] = fmaf(-length[tile][0], near, limit);
                far[tile][1] = fmaf(-length[tile][1], near, limit);
            }
            #pragma unroll UNROLL
            for (int h = 0; h < HASHES; h++) {
                u32 large[STEPS], small[STEPS], m[2];
                float offset[4];
                #pragma unroll
                for (int k = 0; k < STEPS; k++)
                    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(large[k]), "=r"(small[k])
                                 : "r"(hash + 4 * (h * HASH_WORDS + 64 * k) + 8 * lane));
                const u32 more = hash + 4 * (h * HASH_WORDS + 64 * STEPS) + 32 * q;
                asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(offset[0]), "=f"(offset[1]), "=f"(offset[2]), "=f"(offset[3]) : "r"(more));
                asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(m[0]), "=r"(m[1]) : "r"(more + 16));
                #pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    float t[4];
                    #pragma unroll
                    for (int k = 0; k < STEPS; k++) multiply(t, a[tile][k], small[k], k ? t : offset);
                    #pragma unroll
                    for (int k = 0; k < STEPS; k++) multiply(t, a[tile][k], large[k], t);
                    #pragma unroll
                    for (int e = 0; e < 4; e++) {
#if FLOOR                                                           // a step, still with the bits of MAGIC
                        const float whole = t[e] + MAGIC;
                        doubt[tile] |= !(fabsf(t[e] - (whole - MAGIC)) < far[tile][e / 2]);
                        total[tile][e] += m[e % 2] * __float_as_uint(whole);
#else                                                               // a side
                        doubt[tile] |= !(fabsf(t[e]) > -far[tile][e / 2]);
                        if (t[e] >= 0.0f) total[tile][e] += m[e % 2];
#endif
                    }
                }
            }
            #pragma unroll
            for (int tile = 0; tile < TILES && !DIRECT; tile++)
                #pragma unroll
                for (int e = 0; e < 4; e++)
                    doubt[tile] |= total[tile][e] * BUCKETS + reach[tile][e / 2] < 2 * reach[tile][e / 2];
            auto add = [&](int tile) {
                #pragma unroll
                for (int e = 0; e < 4; e++) increment(place + e % 2 * 4 * BUCKETS, bucket_of(total[tile][e] * UNIT));
            };
            bool any = false;
            #pragma unroll
            for (int tile = 0; tile < TILES; tile++) any |= doubt[tile];
            if (!__any_sync(~0u, any)) {
                #pragma unroll
                for (int tile = 0; tile < TILES; tile++) add(tile);
            } else {
                #pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    settle(__ballot_sync(~0u, doubt[tile]), 16 * (base + tile), top + 8 * set, job);
                    if (!doubt[tile]) add(tile);
                }
            }
            hash += 4 * SET_WORDS;
            place += 4 * 8 * BUCKETS;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(height * BUCKETS); i += THREADS)
        if (table[i]) atomicAdd(counts + (long long)top * BUCKETS + i, (u64)table[i]);
}
