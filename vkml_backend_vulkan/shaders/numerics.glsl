// The numbers of the contract on uint bits: arithmetic, conversions, exponentials, logarithms.
#ifndef NUMERICS_GLSL
#define NUMERICS_GLSL
#include "int64.glsl"
#include "arith.glsl"
#include "exp.glsl"
#include "log.glsl"
#endif
