// Where a head's float32 results go: into memory, or with HOOK to a function whose body Python
// writes (link/epilogue.py): element-wise calls that follow, with addresses of their own.
#ifndef OUT
#define OUT out_
#define EXTRA_OF extra
#endif
#ifdef HOOK
uvec2 push_address(const uint i) { return i == 0u ? OUT : EXTRA_OF[max(i, 1u) - 1u]; }
void hook_store(const uint index, const uint value) {}
#define PUT(I, X) hook_store(I, X)
#else
#define PUT(I, X) U32(OUT).v[I] = X
#endif
