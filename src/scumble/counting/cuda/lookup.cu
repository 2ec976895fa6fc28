// Mean over the rows and spread of the blocks' means, for one query per thread; the twin of rows.RowMoments.
extern "C" __global__ void lookup(const double* __restrict__ X, long long n, const double* __restrict__ parameters,
    const u64* __restrict__ start, const u64* __restrict__ multipliers, const double* __restrict__ values,
    const int* __restrict__ starts, int blocks, int rows, double* __restrict__ mean, double* __restrict__ spread)
{
    long long base = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (base >= n) return;
LOAD
    double all = 0.0, squares = 0.0, products = 0.0, weights = 0.0;
    for (int b = 0; b < blocks; b++) {
        int low = starts[b], high = starts[b + 1];
        double sum = 0.0;
        for (int r = low; r < high; r++) {
            const double* p = parameters + (long long)r * NUMBERS;
            const u64* m = multipliers + (long long)r * HASHES - 1;
            const double* row = values + (long long)r * BUCKETS;
            u64 first = start[r];
HASH
        }
        double weight = (double)(high - low) / rows, middle = sum / (high - low);
        all += sum;
        squares += weight * weight * middle * middle;
        products += weight * weight * middle;
        weights += weight * weight;
    }
    double average = all / rows;
    mean[base] = average;
    double apart = squares - 2.0 * average * products + average * average * weights;
    spread[base] = blocks > 1 ? fmax(apart, 0.0) * blocks / (blocks - 1) : average * average;
}
