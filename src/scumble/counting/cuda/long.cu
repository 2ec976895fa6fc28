// Long records. First in halves, so a matrix product can project them; then counted from the projections, a thread
// four records, a block one row. Close calls are decided in double precision, by the whole warp, a hash a lane.

typedef unsigned short u16;
#define SIZE (COLUMNS + FLOOR)
#define MAGIC 12582912.0f                         // 1.5 * 2^23: adding it rounds to whole numbers

__device__ __forceinline__ u16 half_of(float value) {
    u16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
__device__ __forceinline__ float float_of(u16 half) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

// One record a warp: (remainders, halves, halves), and its length; of length 1 where only signs count, or infinite, which
// leaves it in doubt, where single precision does not hold its squares. The directions lie as (halves, remainders,
// halves), so small terms are added first.
extern "C" __global__ void __launch_bounds__(256)
split(const double* __restrict__ X, long long n, const double* __restrict__ scales, u16* __restrict__ out,
      float* __restrict__ length)
{
    const long long i = ((long long)blockIdx.x * 256 + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= n) return;
    float squares = 0.0f;
    for (int j = lane; j < COLUMNS; j += 32) {
        const float value = (float)(X[i * COLUMNS + j] * scales[j]);
        squares = fmaf(value, value, squares);
    }
    for (int apart = 16; apart; apart /= 2) squares += __shfl_xor_sync(~0u, squares, apart);
    if (lane == 0) length[i] = FLOOR ? sqrtf(squares) : squares > LEAST && squares < MOST ? 1.0f : INFINITE;
    const float by = FLOOR ? 1.0f : rsqrtf(squares);
    for (int j = lane; j < WIDE; j += 32) {
        const float value = j < COLUMNS ? (float)(X[i * COLUMNS + j] * scales[j]) * by : 0.0f;
        const u16 large = half_of(value);
        u16* to = out + i * 3 * WIDE + j;
        to[0] = half_of(value - float_of(large));
        to[WIDE] = to[2 * WIDE] = large;
    }
}

struct Hash { float offset, near, limit; u32 multiplier; };

// T holds HASHES x width projections a row; width is a multiple of 4.
extern "C" __global__ void __launch_bounds__(THREADS)
count(const float4* __restrict__ T, long long width, const double* __restrict__ X, const float4* __restrict__ lengths,
      long long n, u64* __restrict__ counts, const double* __restrict__ parameters, const u64* __restrict__ start,
      const u64* __restrict__ multipliers, const u32* __restrict__ begin, const Hash* __restrict__ hashes,
      const float* __restrict__ longest)
{
    extern __shared__ Hash hash[];                                  // HASHES
    u32* table = (u32*)(hash + HASHES);                             // BUCKETS
    const long long r = blockIdx.x;
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < (int)BUCKETS; i += THREADS) table[i] = 0;
    for (int h = threadIdx.x; h < HASHES; h += THREADS) hash[h] = hashes[r * HASHES + h];
    __syncthreads();
    const long long stride = (long long)gridDim.y * THREADS * 4;
    for (long long base = ((long long)blockIdx.y * THREADS + threadIdx.x - lane) * 4; base < n; base += stride) {
        const long long i = base + 4 * lane;
        const float4* here = T + (r * HASHES * width + i) / 4;
        const float4 zeros = {0.0f, 0.0f, 0.0f, 0.0f}, sizes = i < n ? lengths[i / 4] : zeros;
        const float length[4] = {sizes.x, sizes.y, sizes.z, sizes.w};
        u32 total[4] = {begin[r], begin[r], begin[r], begin[r]};
        bool doubt[4] = {false, false, false, false};
        #pragma unroll UNROLL
        for (int h = 0; h < HASHES; h++) {
            const Hash by = hash[h];
            const float4 four = i < n ? here[h * (width / 4)] : zeros;
            const float t[4] = {four.x + by.offset, four.y + by.offset, four.z + by.offset, four.w + by.offset};
            #pragma unroll
            for (int e = 0; e < 4; e++) {
                const float far = fmaf(-length[e], by.near, by.limit);
#if FLOOR
                const float whole = t[e] + MAGIC;
                doubt[e] |= !(fabsf(t[e] - (whole - MAGIC)) < far);
                total[e] += by.multiplier * __float_as_uint(whole);
#else
                doubt[e] |= !(fabsf(t[e]) > -far);
                if (t[e] >= 0.0f) total[e] += by.multiplier;
#endif
            }
        }
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            const bool real = i + e < n;
            if (!DIRECT) {                                          // what the low words may carry: see halves.cu
                const float most = FLOOR ? length[e] * longest[r] + 2.0f : 1.0f;
                const u32 reach = min(__float2uint_ru((float)BUCKETS * (HASHES * most + 2.0f)), 0x7fffffffu);
                doubt[e] |= total[e] * BUCKETS + reach < 2 * reach;
            }
            if (real && !doubt[e]) atomicAdd(table + bucket_of(total[e] * (DIRECT ? 1ULL : 1ULL << 32)), 1u);
            u32 doubtful = __ballot_sync(~0u, real && doubt[e]);
            while (doubtful) {
                const double* x = X + (base + 4 * (__ffs(doubtful) - 1) + e) * COLUMNS;
                doubtful &= doubtful - 1;
                u64 sum = 0;
                for (int h = lane; h < HASHES; h += 32) {
                    const double y = projection(x, parameters + (r * HASHES + h) * SIZE, COLUMNS, FLOOR);
                    sum += multipliers[r * HASHES + h] * (FLOOR ? word_of(floor(y)) : (u64)(y >= 0.0));
                }
                for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
                if (lane == 0) atomicAdd(table + bucket_of(start[r] + sum), 1u);
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (int)BUCKETS; i += THREADS)
        if (table[i]) atomicAdd(counts + r * BUCKETS + i, (u64)table[i]);
}
