#version 450
// The frame of a kernel for whole rows: Python replaces the bodies of the hooks (link/rows.py).
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
// Invocations that hold a row, as in rows.glsl.
layout(constant_id = 2) const uint WIDTH = 32u;
layout(push_constant, std430) uniform Push { uint words[32]; } push;

uint push_word(const uint i) { return push.words[i]; }
uvec2 push_address(const uint i) { return uvec2(push.words[2u * i], push.words[2u * i + 1u]); }

// What all invocations of a workgroup do first.
void hook_prepare() {}
uint hook_count() { return 1u; }
// One row, if it is one; `at` is a row that there is.
void hook_row(const uint row, const uint at) {}

void main()
{
    hook_prepare();
    uint workgroup = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint row = workgroup * (gl_WorkGroupSize.x / WIDTH) + gl_LocalInvocationIndex / WIDTH;
    hook_row(row, min(row, hook_count() - 1u));
}
