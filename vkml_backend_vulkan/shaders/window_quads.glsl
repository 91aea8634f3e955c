// Windows two pixels wide that lie side by side without gaps, read four pixels at a time: the keys
// that order pixels (see value.glsl) and the first largest of two windows.
layout(constant_id = 2) const uint HEIGHT = 2u;  // of a window
uvec4 pixels(uvec2 image, uint at) { return U32x4(image).v[at]; }
// A number's key is above 0.
uvec4 order_keys(uvec4 p)
{
    return uvec4(order_key(p.x).x, order_key(p.y).x, order_key(p.z).x, order_key(p.w).x);
}
void look(inout uint best, inout uint chosen, uint key, uint what)
{
    if (key <= best) return;
    best = key;
    chosen = what;
}
uvec4 canonical(uvec4 v)
{
    return uvec4(f_canonical(v.x), f_canonical(v.y), f_canonical(v.z), f_canonical(v.w));
}
