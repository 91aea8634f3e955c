// Where four float32 results side by side go, the first one at a multiple of four: into memory,
// or with HOOK to a function whose body Python writes (link/epilogue_quads.py).
#include "hook.glsl"
#ifdef HOOK
// What an invocation does before any of its workgroup returns.
void hook_prepare() {}
void hook_store_quad(const uint first, const uvec4 value) {}
#define PREPARE() hook_prepare()
#define PUT4(I, X) hook_store_quad(I, X)
#else
#define PREPARE()
#define PUT4(I, X) U32x4(OUT).v[(I) >> 2] = X
#endif
