// The tile of matrix products in CUDA C++, to see what another compiler makes of it:
//     nvcc -O3 -std=c++17 -arch=sm_90 -o /tmp/product benchmarks/product.cu && /tmp/product
//
// Every product rounds before it is added, and sums go by chunks of 512 steps of k, as in
// vkml_backend_vulkan/shaders/tile.glsl: the results of all shapes are the same bits. Prints the best
// of ten runs; registers of a thread; a hash of the result. `interleaved` has two steps of k in a
// vector, so that the two factors of a product never lie in the same bank of registers. `loop` is
// multiplications and additions alone.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

constexpr int SIDE = 4096, CHUNK = 512, RUNS = 10, STEPS = 8192;
float *left, *right, *result;

__device__ float4 load(const float* from) { return *reinterpret_cast<const float4*>(from); }

// Rows x columns of a block, each thread with EACH_ROWS x EACH_COLUMNS, DEPTH steps of k at a time.
template <int ROWS, int COLUMNS, int EACH_ROWS, int EACH_COLUMNS, int DEPTH, bool INTERLEAVED>
__global__ void __launch_bounds__(ROWS / EACH_ROWS * COLUMNS / EACH_COLUMNS)
tile(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out)
{
    constexpr int THREADS = ROWS / EACH_ROWS * COLUMNS / EACH_COLUMNS;
    constexpr int LEFT = ROWS * DEPTH / 4 / THREADS, RIGHT = COLUMNS * DEPTH / 4 / THREADS;
    static_assert(LEFT > 0 && RIGHT > 0, "every thread reads something");
    constexpr bool BY_TWO = INTERLEAVED && RIGHT % 2 == 0;
    constexpr int LINES = INTERLEAVED ? DEPTH / 2 : DEPTH, EACH = INTERLEAVED ? 2 : 4;
    constexpr int HALF = INTERLEAVED ? COLUMNS / 4 : 0;
    __shared__ float4 as[2][LINES][ROWS / EACH + 1], bs[2][LINES][COLUMNS / EACH + 1];
    const int t = threadIdx.x, row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    const int x = t % (COLUMNS / EACH_COLUMNS), y = t / (COLUMNS / EACH_COLUMNS);
    float total[EACH_ROWS][EACH_COLUMNS] = {}, chunk[EACH_ROWS][EACH_COLUMNS] = {};
    float4 next_a[LEFT], next_b[RIGHT];

    auto spot = [&](int e, int& k, int& c) {  // of the right factor
        const int i = t + (BY_TWO ? e / 2 : e) * THREADS;
        c = i % (COLUMNS / 4);
        k = BY_TWO ? i / (COLUMNS / 4) * 2 + e % 2 : i / (COLUMNS / 4);
    };
    auto read = [&](int first) {
#pragma unroll
        for (int e = 0; e < LEFT; e++) {
            const int i = t + e * THREADS, r = row + i / (DEPTH / 4);
            next_a[e] = load(a + size_t(r) * SIDE + first + i % (DEPTH / 4) * 4);
        }
#pragma unroll
        for (int e = 0; e < RIGHT; e++) {
            int k, c;
            spot(e, k, c);
            next_b[e] = load(b + size_t(first + k) * SIDE + column + c * 4);
        }
    };
    auto write = [&](int into) {
#pragma unroll
        for (int e = 0; e < LEFT; e++) {
            const int i = t + e * THREADS, r = i / (DEPTH / 4), k = i % (DEPTH / 4) * 4;
            const float4 v = next_a[e];
            if (INTERLEAVED) {
                reinterpret_cast<float2*>(&as[into][k / 2][r / 2])[r % 2] = make_float2(v.x, v.y);
                reinterpret_cast<float2*>(&as[into][k / 2 + 1][r / 2])[r % 2] = make_float2(v.z, v.w);
            } else {
                constexpr int LINE = sizeof(as[0][0]) / sizeof(float);
                float* to = reinterpret_cast<float*>(&as[into][k][0]) + r;
                to[0] = v.x, to[LINE] = v.y, to[2 * LINE] = v.z, to[3 * LINE] = v.w;
            }
        }
#pragma unroll
        for (int e = 0; e < RIGHT; e += BY_TWO ? 2 : 1) {
            int k, c;
            spot(e, k, c);
            const float4 p = next_b[e], q = next_b[(e + 1) % RIGHT];
            if (BY_TWO) {
                bs[into][k / 2][c] = make_float4(q.x, p.x, q.y, p.y);
                bs[into][k / 2][HALF + c] = make_float4(q.z, p.z, q.w, p.w);
            } else if (INTERLEAVED) {
                float* low = reinterpret_cast<float*>(&bs[into][k / 2][c]) + 1 - k % 2;
                float* high = reinterpret_cast<float*>(&bs[into][k / 2][HALF + c]) + 1 - k % 2;
                low[0] = p.x, low[2] = p.y, high[0] = p.z, high[2] = p.w;
            } else {
                bs[into][k][c] = p;
            }
        }
    };
    auto multiply = [&](int from) {
        constexpr int TOGETHER = INTERLEAVED ? 2 : 1;
#pragma unroll
        for (int line = 0; line < LINES; line++) {
            float u[TOGETHER][EACH_ROWS], v[TOGETHER][EACH_COLUMNS];
#pragma unroll
            for (int i = 0; i < EACH_ROWS; i += EACH) {
                const int r = i / 4 * (ROWS / EACH_ROWS) + y;
                const float4 w = as[from][line][INTERLEAVED ? r * 2 + i / 2 % 2 : r];
                if (INTERLEAVED) u[0][i] = w.x, u[1 % TOGETHER][i] = w.y, u[0][i + 1] = w.z, u[1 % TOGETHER][i + 1] = w.w;
                else u[0][i] = w.x, u[0][i + 1] = w.y, u[0][(i + 2) % EACH_ROWS] = w.z, u[0][(i + 3) % EACH_ROWS] = w.w;
            }
#pragma unroll
            for (int j = 0; j < EACH_COLUMNS; j += EACH) {
                const int c = j / 4 * (COLUMNS / EACH_COLUMNS) + x;
                const float4 w = bs[from][line][INTERLEAVED ? j / 2 % 2 * HALF + c : c];
                if (INTERLEAVED) v[1 % TOGETHER][j] = w.x, v[0][j] = w.y, v[1 % TOGETHER][j + 1] = w.z, v[0][j + 1] = w.w;
                else v[0][j] = w.x, v[0][j + 1] = w.y, v[0][(j + 2) % EACH_COLUMNS] = w.z, v[0][(j + 3) % EACH_COLUMNS] = w.w;
            }
#pragma unroll
            for (int k = 0; k < TOGETHER; k++)
#pragma unroll
                for (int i = 0; i < EACH_ROWS; i++)
#pragma unroll
                    for (int j = 0; j < EACH_COLUMNS; j++)
                        chunk[i][j] = __fadd_rn(chunk[i][j], __fmul_rn(u[k][i], v[k][j]));
        }
    };

    read(0);
    write(0);
    __syncthreads();
    for (int s = 0; s < SIDE / DEPTH; s++) {
        const bool more = s + 1 < SIDE / DEPTH;
        if (more) read((s + 1) * DEPTH);
        multiply(s & 1);
        if ((s + 1) % (CHUNK / DEPTH) == 0)
#pragma unroll
            for (int i = 0; i < EACH_ROWS; i++)
#pragma unroll
                for (int j = 0; j < EACH_COLUMNS; j++) {
                    total[i][j] = __fadd_rn(total[i][j], chunk[i][j]);
                    chunk[i][j] = 0;
                }
        if (more) write((s + 1) & 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH_ROWS; i++)
#pragma unroll
        for (int j = 0; j < EACH_COLUMNS; j++) {
            const int r = row + i / 4 * (ROWS / EACH_ROWS * 4) + y * 4 + i % 4;
            const int c = column + j / 4 * (COLUMNS / EACH_COLUMNS * 4) + x * 4 + j % 4;
            out[size_t(r) * SIDE + c] = __fadd_rn(total[i][j], chunk[i][j]);
        }
}

// N numbers of a thread, each multiplied and then added to.
template <int N> __global__ void loop(float* out, float x, float y, int steps)
{
    float s[N], b[4];
#pragma unroll
    for (int i = 0; i < N; i++) s[i] = x + threadIdx.x * (i + 1);
#pragma unroll
    for (int i = 0; i < 4; i++) b[i] = y + threadIdx.x * (i + 1);
    for (int k = 0; k < steps; k++)
#pragma unroll
        for (int u = 0; u < 8; u++)
#pragma unroll
            for (int i = 0; i < N; i++) s[i] = __fadd_rn(s[i], __fmul_rn(s[i], b[i % 4]));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++) sum += s[i];
    if (sum == 123.25f) out[threadIdx.x] = sum;
}

template <class Run> void timed(const char* name, double operations, Run run)
{
    cudaEvent_t from, to;
    cudaEventCreate(&from), cudaEventCreate(&to);
    float best = 1e9f;
    for (int r = 0; r <= RUNS; r++) {
        float milliseconds;
        cudaEventRecord(from), run(), cudaEventRecord(to), cudaEventSynchronize(to);
        cudaEventElapsedTime(&milliseconds, from, to);
        best = r && milliseconds < best ? milliseconds : best;
    }
    printf("%-36s %8.3f ms %6.2f TFLOP/s  %s", name, best, operations / best / 1e9, cudaGetErrorString(cudaGetLastError()));
}

template <int ROWS, int COLUMNS, int EACH_ROWS, int EACH_COLUMNS, int DEPTH, bool INTERLEAVED> void product(const char* name)
{
    const auto kernel = tile<ROWS, COLUMNS, EACH_ROWS, EACH_COLUMNS, DEPTH, INTERLEAVED>;
    const dim3 blocks(SIDE / COLUMNS, SIDE / ROWS);
    const size_t count = size_t(SIDE) * SIDE;
    cudaMemset(result, 0, count * sizeof(float));
    timed(name, 2.0 * SIDE * count, [&] { kernel<<<blocks, ROWS / EACH_ROWS * COLUMNS / EACH_COLUMNS>>>(left, right, result); });
    cudaFuncAttributes found;
    cudaFuncGetAttributes(&found, kernel);
    unsigned* host = static_cast<unsigned*>(malloc(count * sizeof(float)));
    cudaMemcpy(host, result, count * sizeof(float), cudaMemcpyDeviceToHost);
    unsigned long long hash = 0;
    for (size_t i = 0; i < count; i++) hash = hash * 31 + host[i];
    free(host);
    printf("  %d registers, bits %llx\n", found.numRegs, hash);
}

int main()
{
    const size_t count = size_t(SIDE) * SIDE, bytes = count * sizeof(float);
    cudaMalloc(&left, bytes), cudaMalloc(&right, bytes), cudaMalloc(&result, bytes);
    float* drawn = static_cast<float*>(malloc(bytes));
    unsigned state = 1;
    for (size_t i = 0; i < count; i++) drawn[i] = int(state = state * 1664525u + 1013904223u) / 2147483648.0f;
    cudaMemcpy(left, drawn, bytes, cudaMemcpyHostToDevice), cudaMemcpy(right, drawn, bytes, cudaMemcpyHostToDevice);
    const double all = 2.0 * 8 * STEPS * 264 * 256;
    timed("loop, 16 numbers", 16 * all, [] { loop<16><<<264, 256>>>(result, 0.5f, 1e-9f, STEPS); }), puts("");
    timed("loop, 32 numbers", 32 * all, [] { loop<32><<<264, 256>>>(result, 0.5f, 1e-9f, STEPS); }), puts("");
    product<64, 64, 8, 4, 16, false>("64 x 64, 8 x 4 each, depth 16");
    product<64, 64, 4, 4, 16, false>("64 x 64, 4 x 4 each, depth 16");
    product<128, 64, 8, 4, 16, false>("128 x 64, 8 x 4 each, depth 16");
    product<128, 128, 8, 8, 16, false>("128 x 128, 8 x 8 each, depth 16");
    product<128, 128, 8, 8, 8, false>("128 x 128, 8 x 8 each, depth 8");
    product<64, 128, 8, 8, 8, false>("64 x 128, 8 x 8 each, depth 8");
    product<64, 64, 8, 8, 8, false>("64 x 64, 8 x 8 each, depth 8");
    product<64, 64, 8, 4, 16, true>("interleaved 64 x 64, 8 x 4 each");
    product<64, 128, 8, 4, 16, true>("interleaved 64 x 128, 8 x 4 each");
    return 0;
}
