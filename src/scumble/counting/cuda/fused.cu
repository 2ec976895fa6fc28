// One thread holds a few records in registers and goes through the rows of its block's group. Arithmetic is the
// reference's: double precision, in the order of the columns, without fused products. The lines LOAD and HASH stand for
// what fused.py writes for the kernel's factors.

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
count(const double* __restrict__ X, long long n, u64* __restrict__ counts, int rows,
      const double* __restrict__ parameters, const u64* __restrict__ start, const u64* __restrict__ multipliers)
{
    extern __shared__ __align__(16) double space[];
    double* mine = space;                            // GROUP x NUMBERS
    u64* factor = (u64*)(mine + GROUP * NUMBERS);    // GROUP x (1 + HASHES)
    u32* table = (u32*)(factor + GROUP * (1 + HASHES));
    const int top = blockIdx.x * GROUP, height = min(GROUP, rows - top);
    for (int i = threadIdx.x; i < height * NUMBERS; i += THREADS) mine[i] = parameters[(long long)top * NUMBERS + i];
    for (int i = threadIdx.x; i < height * HASHES; i += THREADS)
        factor[(i / HASHES) * (1 + HASHES) + 1 + i % HASHES] = multipliers[(long long)top * HASHES + i];
    for (int i = threadIdx.x; i < height; i += THREADS) factor[i * (1 + HASHES)] = start[top + i];
    for (int i = threadIdx.x; i < (int)(GROUP * BUCKETS); i += THREADS) table[i] = 0;
    __syncthreads();

    const long long stride = (long long)gridDim.y * THREADS * RECORDS;
    for (long long base = (long long)blockIdx.y * THREADS * RECORDS + threadIdx.x; base < n; base += stride) {
LOAD
        #pragma unroll UNROLL
        for (int r = 0; r < height; r++) {
            const double* p = mine + r * NUMBERS;
            const u64* m = factor + r * (1 + HASHES);
            u32* row = table + r * BUCKETS;
HASH
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < (int)(height * BUCKETS); i += THREADS)
        if (table[i]) atomicAdd(counts + (long long)top * BUCKETS + i, (u64)table[i]);
}
