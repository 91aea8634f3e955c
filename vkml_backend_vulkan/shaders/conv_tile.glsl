// What the convolutions by tiles share: the kernel's size, known when the pipeline is made, so that
// the divisions by it are multiplications; and how columns of matrices are numbered.
layout(constant_id = 2) const int KERNEL_Y = 1;
layout(constant_id = 3) const int KERNEL_X = 1;
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
