// What the convolutions by tiles share: the kernel's size, known when the pipeline is made, so that
// the divisions by it are multiplications; how columns of matrices are numbered, and how four
// neighbours are read and results written.
layout(constant_id = 2) const int KERNEL_Y = 1;
layout(constant_id = 3) const int KERNEL_X = 1;
// Four neighbours of the second operand (along k, for input gradients beside it) are one vector in
// memory.
layout(constant_id = 16) const bool SECOND_IN_FOURS = false;
const int TAPS = KERNEL_Y * KERNEL_X;

int group; // which of the convolution's groups this workgroup has

// (channel, ky, kx) of k or of a column.
ivec3 tap_of(int k)
{
    uint channel = uint(k) / uint(TAPS), tap = uint(k) % uint(TAPS);
    return ivec3(channel, tap / uint(KERNEL_X), tap % uint(KERNEL_X));
}
// (image, y, x) of a place or pixel counted through a batch.
ivec3 spot_of(int i, ivec2 size)
{
    uint row = uint(i) / uint(size.y);
    return ivec3(row / uint(size.x), row % uint(size.x), uint(i) % uint(size.y));
}

// Whether four places, from a multiple of four on, see four neighbours of one row with each tap.
bool are_in_row(ivec2 size) { return window.stride == ivec2(1) && size.y % 4 == 0; }

// Elements of the first operand: at `pixel` of the plane that begins at `plane`, and its neighbours.
uint load_pixel(int plane, ivec2 pixel, ivec2 size, bool real)
{
    int at = plane + pixel.x * a_strides[2] + pixel.y * a_strides[3];
    return real && inside(pixel, size) ? load(a, at) : 0u;
}
uvec4 load_row(int plane, ivec2 pixel, ivec2 size, bool real)
{
    int at = plane + pixel.x * a_strides[2] + pixel.y * a_strides[3];
    real = real && uint(pixel.x) < uint(size.x);
    uvec4 found;
    [[unroll]] for (int i = 0; i < 4; i++)
        found[i] = real && uint(pixel.y + i) < uint(size.y) ? load(a, at + i * a_strides[3]) : 0u;
    return found;
}

// Writes sums (channels × places of a batch) of a tile as images; with FOURS four places side by
// side at a time, which a plane has a multiple of.
#ifdef FOURS
#define PUT_IMAGES(SUMS, CORNER, SIZE, CHANNELS) \
    int plane = SIZE.x * SIZE.y, n = CORNER.y + first_column(), image = n / plane; \
    int first = (image * groups + group) * CHANNELS * plane + n % plane; \
    [[unroll]] for (int i = 0; i < EACH_ROWS; i++) { \
        int m = CORNER.x + row_of(i); \
        if (m < CHANNELS && image < batch) PUT4(uint(first + m * plane), sums_bits(SUMS[i])); \
    }
#else
#define PUT_IMAGES(SUMS, CORNER, SIZE, CHANNELS) \
    int plane = SIZE.x * SIZE.y; \
    [[unroll]] for (int j = 0; j < 4; j++) { \
        int n = CORNER.y + first_column() + j, image = n / plane; \
        int first = (image * groups + group) * CHANNELS * plane + n % plane; \
        [[unroll]] for (int i = 0; i < EACH_ROWS; i++) { \
            int m = CORNER.x + row_of(i); \
            if (m < CHANNELS && image < batch) PUT(first + m * plane, sum_bits(SUMS[i][j])); \
        } \
    }
#endif
