// What the self-test has found exact: bits of the specialisation constant that every kernel has.
#ifndef HARDWARE_GLSL
#define HARDWARE_GLSL

layout(constant_id = 1) const uint HARDWARE = 0u;
const uint DIVIDES = 1u;  // division is correctly rounded
const uint FUSES = 2u;  // fma rounds once

#endif
