// Where the results of a reduction go: into memory, or with HOOK to what follows. WHOLE(a), defined
// per module, is a result that all elements are part of.
#define OUT push.result
#define EXTRA_OF push.extra
#include "hook.glsl"
#ifndef HOOK
#undef PUT
#define PUT(I, X) RESULT(push.result).v[I] = X
#endif
