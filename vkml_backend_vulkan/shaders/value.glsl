// One element as the kernels of sums, windows and indices hold it: V is the bits of a float32
// (float16 comes widened), an int32, a bool as 0 or 1, or the two words of an int64.

#if defined(DTYPE_I64)
#define V uvec2
const V ZERO = uvec2(0);
V load(uvec2 p, int i) { return load_i64(p, i); }
V add(V a, V b) { return i64_add(a, b); }
V mul(V a, V b) { return i64_mul(a, b); }
uvec2 order_key(V a) { return uvec2(a.x, a.y ^ 0x80000000u); }
#else
#define V uint
const V ZERO = 0u;
#if defined(DTYPE_F32) || defined(DTYPE_F16)
V add(V a, V b)
{
    precise float sum = uintBitsToFloat(a) + uintBitsToFloat(b);
    return floatBitsToUint(sum);
}
V mul(V a, V b)
{
    precise float product = uintBitsToFloat(a) * uintBitsToFloat(b);
    return floatBitsToUint(product);
}
// NaN is the largest, -0 equals +0, subnormals count even where a device flushes them.
uvec2 order_key(V a)
{
    uint bits = (a & 0x7fffffffu) == 0u ? 0u : a;
    uint key = (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
    return uvec2(f_canonical(bits) == 0x7fc00000u ? 0xffffffffu : key, 0u);
}
#else
V add(V a, V b) { return a + b; }
V mul(V a, V b) { return a * b; }
uvec2 order_key(V a) { return uvec2(a ^ 0x80000000u, 0u); }
#endif
#if defined(DTYPE_F16)
#define PER_WORD 2u
uint packed(V a) { return f16_from_f32(a); }
V load(uvec2 p, int i) { return load_f16(p, i); }
#elif defined(DTYPE_B8)
#define PER_WORD 4u
uint packed(V a) { return a; }
V load(uvec2 p, int i) { return uint(load_b8(p, i)); }
#else
#define PER_WORD 1u
#if defined(DTYPE_F32)
uint packed(V a) { return f_canonical(a); }
#else
uint packed(V a) { return a; }
#endif
V load(uvec2 p, int i) { return load_word(p, i); }
#endif
#endif

bool key_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

// The contract's matmul sums 512 products before it adds them to the total (rule 19).
const uint CHUNK = 512u;
struct Chain { V total; V chunk; uint terms; };
Chain chain() { return Chain(ZERO, ZERO, 0u); }
void turn(inout Chain c)
{
    if (c.terms < CHUNK) return;
    c.total = add(c.total, c.chunk);
    c.chunk = ZERO;
    c.terms = 0u;
}
void multiply_add(inout Chain c, V a, V b)
{
    turn(c);
    c.chunk = add(c.chunk, mul(a, b));
    c.terms++;
}
V chain_sum(Chain c) { return add(c.total, c.chunk); }
