#version 450
// The index of the first extreme of each row (rule 22): 32 invocations to a row. Defined per
// module: KEY_T, LOAD, KEY (larger keys win; NaN has the largest) and LESS on keys.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "exact.glsl"

const uint LANES = 32u;
const uint NONE = 0xffffffffu;

layout(push_constant, std430) uniform Push {
    uvec2 result;
    uvec2 source;
    uint extents[4];
    int strides[4];
    int offset;
    uint n;
    int step;
    uint rows;
} push;

shared KEY_T keys[gl_WorkGroupSize.x];
shared uint indices[gl_WorkGroupSize.x];

int nan_or(uint x, int key) { return is_nan(x) ? 0x7fffffff : key; }

void main()
{
    uint me = gl_LocalInvocationIndex;
    // Not invocation() / LANES: there can be more invocations than 32 bits count.
    uint row = workgroup() * (gl_WorkGroupSize.x / LANES) + me / LANES;
    uint lane = me % LANES;
    KEY_T best;
    uint at = NONE;
    if (row < push.rows) {
        ivec4 place = coords(
            row, uvec4(push.extents[0], push.extents[1], push.extents[2], push.extents[3]));
        int base = push.offset
            + along(place, ivec4(push.strides[0], push.strides[1], push.strides[2],
                                 push.strides[3]));
        for (uint j = lane; j < push.n; j += LANES) {
            V_T x = LOAD(push.source, base + int(j) * push.step);
            KEY_T key = KEY;
            if (at == NONE || LESS(best, key)) {
                best = key;
                at = j;
            }
        }
    }
    for (uint left = LANES / 2u; left > 0u; left >>= 1) {
        keys[me] = best;
        indices[me] = at;
        barrier();
        if (lane < left && indices[me + left] != NONE) {
            KEY_T key = keys[me + left];
            uint j = indices[me + left];
            if (at == NONE || LESS(best, key) || (key == best && j < at)) {
                best = key;
                at = j;
            }
        }
        barrier();
    }
    if (lane == 0u && row < push.rows) U32x2(push.result).v[row] = uvec2(at, 0u);
}
