#version 450
// The frame of a fused element-wise kernel: Python replaces the bodies of the hooks.
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
// 1: an invocation has two quads, and loads both before it does anything with one.
layout(constant_id = 2) const uint TWICE = 0u;
layout(push_constant, std430) uniform Push { uint words[32]; } push;

uint push_word(const uint i) { return push.words[i]; }
uvec2 push_address(const uint i) { return uvec2(push.words[2u * i], push.words[2u * i + 1u]); }

// What an invocation does before any of its workgroup returns.
void hook_prepare() {}
uint hook_count() { return 0u; }
// Four elements of the result, from `first` on; `left` are there.
void hook_quad(const uint first, const uint left) {}
// Two such quads.
void hook_two(const uint first, const uint left, const uint second, const uint left_then) {}

void main()
{
    hook_prepare();
    uint workgroup = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint step = gl_WorkGroupSize.x * 4u, count = hook_count();
    uint first = workgroup * (TWICE + 1u) * step + gl_LocalInvocationIndex * 4u;
    if (TWICE == 1u && first + step < count) hook_two(first, count - first, first + step, count - first - step);
    else if (first < count) hook_quad(first, count - first);
}
