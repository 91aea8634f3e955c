#version 450
// The frame of a fused element-wise kernel: Python replaces the bodies of the hooks.
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
// How often an invocation does four elements.
layout(constant_id = 2) const uint TURNS = 1u;
layout(push_constant, std430) uniform Push { uint words[32]; } push;

uint push_word(const uint i) { return push.words[i]; }
uvec2 push_address(const uint i) { return uvec2(push.words[2u * i], push.words[2u * i + 1u]); }

// What an invocation does before any of its workgroup returns.
void hook_prepare() {}
uint hook_count() { return 0u; }
// Four elements of the result, from `first` on; `left` are there.
void hook_quad(const uint first, const uint left) {}

void main()
{
    hook_prepare();
    uint workgroup = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint step = gl_WorkGroupSize.x * 4u, count = hook_count();
    uint first = workgroup * TURNS * step + gl_LocalInvocationIndex * 4u;
    [[dont_unroll]] for (uint turn = 0u; turn < TURNS; turn++) {
        if (first < count) hook_quad(first, count - first);
        first += step;
    }
}
