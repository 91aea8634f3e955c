// Sliding windows: the geometry that the host pushes, and where a tap falls.
struct Window { ivec2 image; ivec2 kernel; ivec2 stride; ivec2 padding; ivec2 dilation; };
ivec2 places(Window w)
{
    return (w.image + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) / w.stride + 1;
}
bool inside(ivec2 at, ivec2 size)
{
    return all(lessThan(uvec2(at), uvec2(size))); // what is negative is large
}
ivec2 seen(Window w, ivec2 place, ivec2 tap) { return place * w.stride - w.padding + tap * w.dilation; }
// The place whose tap sees `at`, or one outside of all places.
ivec2 place_of(Window w, ivec2 at, ivec2 tap)
{
    ivec2 moved = at + w.padding - tap * w.dilation;
    if (any(lessThan(moved, ivec2(0)))) return ivec2(-1);
    ivec2 place = moved / w.stride;
    return place * w.stride == moved ? place : ivec2(-1);
}
