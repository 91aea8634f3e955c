// Rows that a group of invocations holds: the functions that kernels for whole rows are linked
// from. WIDTH invocations side by side hold a row; quad k of the invocation at `place` has the
// four elements from column 4 (place + k WIDTH) on. What is past the end of a row is never stored,
// and counts as the neutral element where a row is reduced. All invocations of a workgroup come to
// every barrier.
#ifndef ROWS_GLSL
#define ROWS_GLSL

layout(constant_id = 2) const uint WIDTH = 32u;
layout(constant_id = 3) const uint QUADS = 1u;
layout(constant_id = 4) const uint FULL = 0u;  // 1: a row has as many elements as there is room for
const uint ROW_LANES = 32u;
const uint ROW_PARTS = 8u;  // from which each invocation works out a result of the row
const uint HELD = 4u * QUADS * WIDTH;  // elements that there is room for: a power of two
const uint ROW_CHUNK = HELD < 1024u ? HELD : 1024u;
const uint ROW_CHUNKS = HELD / ROW_CHUNK;  // at most four
const uint ROW_SUMS = HELD > ROW_LANES ? ROW_LANES * ROW_CHUNKS : 1u;  // of lanes, if they add up

shared uvec4 row_elements[QUADS * gl_WorkGroupSize.x];
shared uvec4 row_keys[(gl_WorkGroupSize.x + 3u) / 4u];
shared uvec4 row_lanes[(ROW_SUMS * (gl_WorkGroupSize.x / WIDTH) + 3u) / 4u];
shared vec4 row_parts[ROW_SUMS > 1u ? ROW_PARTS / 4u * ROW_CHUNKS * (gl_WorkGroupSize.x / WIDTH) : 1u];
shared uint row_chunks[ROW_CHUNKS * (gl_WorkGroupSize.x / WIDTH)];
shared uint row_results[2u * (gl_WorkGroupSize.x / WIDTH)];

uint row_number() { return gl_LocalInvocationIndex / WIDTH; }
uint row_place() { return gl_LocalInvocationIndex % WIDTH; }
uint row_column(const uint k) { return 4u * (row_place() + k * WIDTH); }
bool row_inside(const uint column, const uint n) { return FULL == 1u || column < n; }

// Where a row of an operand begins, and the four elements of quad k from there. A quad past the
// end reads what is there at the end.
uint row_start(const uint row, const uint stride, const uint offset) { return row * stride + offset; }
uint row_quad(const uint start, const uint k, const uint n)
{
    return start + (FULL == 1u ? row_column(k) : min(row_column(k), n - 4u));
}
ivec4 row_four(const uint start, const uint k, const uint n)
{
    return ivec4(int(start)) + ivec4(min(uvec4(row_column(k)) + uvec4(0u, 1u, 2u, 3u), uvec4(n - 1u)));
}

// A value of the row, as four elements; stores of quads, of single elements, and of values of rows.
#define ROW_VALUES(T) \
    Quad_##T row_spread_##T(const One_##T x) { return quad(x, x, x, x); } \
    void row_store_quad_##T(const uvec2 p, const uint row, const uint rows, const uint k, const uint n, const Quad_##T q) \
    { if (row < rows && row_inside(row_column(k), n)) store_quad_##T(p, row * n + row_column(k), 4u, q); }
ROW_VALUES(f32)
ROW_VALUES(f16)
ROW_VALUES(i32)
ROW_VALUES(i64)
ROW_VALUES(b8)
void row_store_settled_f32(const uvec2 p, const uint row, const uint rows, const uint k, const uint n, const uvec4 q)
{
    if (row < rows && row_inside(row_column(k), n)) store_settled_f32(p, row * n + row_column(k), 4u, q);
}
#define ROW_STORES(T) \
    void row_store_each_##T(const uvec2 p, const uint row, const uint rows, const uint k, const uint n, const Quad_##T q) \
    { \
        [[unroll]] for (uint i = 0u; i < 4u; i++) \
            if (row < rows && row_inside(row_column(k) + i, n)) store1_##T(p, row * n + row_column(k) + i, part(q, i)); \
    } \
    void row_store_one_##T(const uvec2 p, const uint row, const uint rows, const One_##T x) \
    { if (row < rows && row_place() == 0u) store1_##T(p, row, x); }
ROW_STORES(f32)
ROW_STORES(i32)
ROW_STORES(i64)

// Leaves a quad where all invocations of the row find it; what is past the end is zero.
void row_share(const uint k, const uint n, const uvec4 q)
{
    uvec4 kept = q;
    if (FULL == 0u) {
        bvec4 is_there = lessThan(uvec4(row_column(k)) + uvec4(0u, 1u, 2u, 3u), uvec4(n));
        kept = mix(uvec4(0u), q, is_there);
    }
    row_elements[(row_number() * HELD + row_column(k)) / 4u] = kept;
}
uint row_element(const uint column)
{
    uint at = row_number() * HELD + column;
    return row_elements[at / 4u][at % 4u];
}

// Sums (rule 16). A sum that starts from +0 and its first term: that term, but never -0.
vec4 first_terms(const uvec4 x) { return uintBitsToFloat(mix(x, uvec4(0u), equal(x, uvec4(0x80000000u)))); }
// The sum of 32 lanes: each with the one 16 on, then 8, 4, 2 and 1.
float row_tree(const vec4 lanes[ROW_LANES / 4u])
{
    vec4 v[4];
    [[unroll]] for (uint i = 0u; i < 4u; i++) v[i] = lanes[i] + lanes[i + 4u];
    vec4 a = v[0] + v[2], b = v[1] + v[3];
    vec4 four = a + b;
    return (four.x + four.z) + (four.y + four.w);
}
// The sums of lanes of a chunk that are eight apart, and the rest of the tree.
float row_lane(const uint at) { return uintBitsToFloat(row_lanes[at / 4u][at % 4u]); }
float row_part(const uint first)
{
    return (row_lane(first) + row_lane(first + 16u)) + (row_lane(first + 8u) + row_lane(first + 24u));
}
float row_of_parts(const uint chunk)
{
    vec4 four = row_parts[2u * chunk] + row_parts[2u * chunk + 1u];
    return (four.x + four.z) + (four.y + four.w);
}
// Rows with an element for each lane, or none.
uint row_short_sum()
{
    vec4 lanes[ROW_LANES / 4u];
    uint first = row_number() * HELD / 4u;
    [[unroll]] for (uint i = 0u; i < ROW_LANES / 4u; i++) {
        lanes[i] = vec4(0.0);
        if (4u * i < HELD) lanes[i] = first_terms(row_elements[first + i]);
    }
    barrier();
    return f_canonical(floatBitsToUint(row_tree(lanes)));
}
uint row_chunk_sum(const uint i)
{
    return i < ROW_CHUNKS ? row_chunks[row_number() * ROW_CHUNKS + min(i, ROW_CHUNKS - 1u)] : 0u;
}
// Of what was shared, the same for all invocations of the row.
uint row_sum_f32()
{
    barrier();
    if (HELD <= ROW_LANES) return row_short_sum();
    for (uint lane = row_place(); lane < ROW_LANES * ROW_CHUNKS; lane += WIDTH) {
        uint first = row_number() * HELD + lane / ROW_LANES * ROW_CHUNK + lane % ROW_LANES;
        uint quad = first / 4u, part = first % 4u;
        float sum = first_terms(uvec4(row_elements[quad][part])).x;
        for (uint i = ROW_LANES / 4u; i < ROW_CHUNK / 4u; i += ROW_LANES / 4u)
            sum = sum + uintBitsToFloat(row_elements[quad + i][part]);
        uint at = row_number() * ROW_SUMS + lane;
        row_lanes[at / 4u][at % 4u] = floatBitsToUint(sum);
    }
    barrier();
    uint first = row_number() * ROW_CHUNKS;
    for (uint i = row_place(); i < ROW_PARTS * ROW_CHUNKS; i += WIDTH) {
        uint at = first * ROW_PARTS + i;
        row_parts[at / 4u][at % 4u] = row_part((first + i / ROW_PARTS) * ROW_LANES + i % ROW_PARTS);
    }
    barrier();
    if (ROW_CHUNKS == 1u) return f_canonical(floatBitsToUint(row_of_parts(first)));
    for (uint chunk = row_place(); chunk < ROW_CHUNKS; chunk += WIDTH)
        row_chunks[first + chunk] = floatBitsToUint(row_of_parts(first + chunk));
    barrier();
    float even = uintBitsToFloat(row_chunk_sum(0u)) + uintBitsToFloat(row_chunk_sum(2u));
    float odd = uintBitsToFloat(row_chunk_sum(1u)) + uintBitsToFloat(row_chunk_sum(3u));
    return f_canonical(floatBitsToUint(even + odd));
}
uint row_sum_f16() { return stored_f16(row_sum_f32()); }

// Reductions that have the same bits in any order: of integers, and of floats by keys that are in
// their order (NaN first or last, -0 before +0).
uint key_i32(const uint x) { return x; }
uint key_amax_f32(const uint x) { return is_nan(x) ? 0x7fffffffu : uint(ordered(x)); }
uint key_amin_f32(const uint x) { return is_nan(x) ? 0x80000000u : uint(ordered(x)); }
uint number_of_key(const uint key) { return f_canonical(uint(ordered(key))); }
uint larger(const uint a, const uint b) { return uint(max(int(a), int(b))); }
uint smaller(const uint a, const uint b) { return uint(min(int(a), int(b))); }
uint sum_of(const uint a, const uint b) { return a + b; }

#define ROW_KEY(NAME, KEY, NEUTRAL, COMBINE) \
    uint row_key_##NAME(const uint k, const uint n, const uvec4 q) \
    { \
        uint found = NEUTRAL; \
        [[unroll]] for (uint i = 0u; i < 4u; i++) \
            if (row_inside(row_column(k) + i, n)) found = COMBINE(found, KEY(q[i])); \
        return found; \
    }
// A key of each invocation, WIDTH of a row, or eight parts of them: all are read by all.
#define ROW_KEYS(NAME, KEY, NEUTRAL, COMBINE, RESULT) \
    ROW_KEY(NAME, KEY, NEUTRAL, COMBINE) \
    uint row_both_##NAME(const uint a, const uint b) { return COMBINE(a, b); } \
    uint row_four_##NAME(const uint a, const uvec4 q) \
    { return COMBINE(COMBINE(a, q.x), COMBINE(COMBINE(q.y, q.z), q.w)); } \
    uint row_##NAME(const uint mine) \
    { \
        uint whole = NEUTRAL, first = row_number() * WIDTH; \
        uint me = gl_LocalInvocationIndex; \
        row_keys[me / 4u][me % 4u] = mine; \
        barrier(); \
        if (WIDTH <= 2u * ROW_PARTS) { \
            if (WIDTH < 4u) for (uint i = first; i < first + WIDTH; i++) whole = COMBINE(whole, row_keys[i / 4u][i % 4u]); \
            else for (uint i = 0u; i < WIDTH / 4u; i++) whole = row_four_##NAME(whole, row_keys[first / 4u + i]); \
            barrier(); \
            return RESULT(whole); \
        } \
        if (row_place() < ROW_PARTS) { \
            uint found = NEUTRAL, at = row_number() * ROW_SUMS + row_place(); \
            first += row_place() * (WIDTH / ROW_PARTS); \
            for (uint i = 0u; i < WIDTH / ROW_PARTS / 4u; i++) found = row_four_##NAME(found, row_keys[first / 4u + i]); \
            row_lanes[at / 4u][at % 4u] = found; \
        } \
        barrier(); \
        first = row_number() * ROW_SUMS / 4u; \
        whole = row_four_##NAME(row_four_##NAME(whole, row_lanes[first]), row_lanes[first + 1u]); \
        return RESULT(whole); \
    }
ROW_KEYS(sum_i32, key_i32, 0u, sum_of, key_i32)
ROW_KEYS(amax_i32, key_i32, 0x80000000u, larger, key_i32)
ROW_KEYS(amin_i32, key_i32, 0x7fffffffu, smaller, key_i32)
ROW_KEYS(amax_f32, key_amax_f32, 0x80000000u, larger, number_of_key)
ROW_KEYS(amin_f32, key_amin_f32, 0x7fffffffu, smaller, number_of_key)
ROW_KEYS(amax_f16, key_amax_f32, 0x80000000u, larger, number_of_key)
ROW_KEYS(amin_f16, key_amin_f32, 0x7fffffffu, smaller, number_of_key)
// Of numbers whose NaN is the canonical one, which is above infinity.
uint key_settled(const uint x) { return uint(ordered(x)); }
ROW_KEY(settled_amax_f32, key_settled, 0x80000000u, larger)

// Indices into a row: the column, once it is found to be one; `inside`, where another kernel tells.
bool row_has(const uvec2 value, const uint n) { return value.y == 0u && value.x < n; }
uvec2 row_wide(const uint value) { return uvec2(value, is_negative(value) ? 0xffffffffu : 0u); }
uint row_inside_i64(const uvec2 value, const uint n) { return row_has(value, n) ? value.x : 0u; }
uint row_inside_i32(const uint value, const uint n) { return row_inside_i64(row_wide(value), n); }
uint row_index_i64(const uvec2 value, const uint n, const uvec2 errors)
{
    if (!row_has(value, n)) report(errors, INDEX_OUT_OF_RANGE, value);
    return row_inside_i64(value, n);
}
uint row_index_i32(const uint value, const uint n, const uvec2 errors)
{
    return row_index_i64(row_wide(value), n, errors);
}
// An element of what was shared.
uint row_gather(const uint column)
{
    barrier();
    uint found = row_element(column);
    barrier();
    return found;
}
// Zeros, and x added to that at a column.
uvec4 row_scattered(const uint k, const uint column, const uint x)
{
    return mix(uvec4(0u), uvec4(x), equal(uvec4(row_column(k)) + uvec4(0u, 1u, 2u, 3u), uvec4(column)));
}
uvec4 row_scatter_f32(const uint k, const uint column, const uint x)
{
    return row_scattered(k, column, x == 0x80000000u ? 0u : f_canonical(x));
}
uvec4 row_scatter_f16(const uint k, const uint column, const uint x)
{
    return row_scatter_f32(k, column, x);
}
uvec4 row_scatter_i32(const uint k, const uint column, const uint x)
{
    return row_scattered(k, column, x);
}

// A long function of values of rows is worked out once a row where that saves work. `turn` counts
// them: what one has read is overwritten by the next but one, after a barrier.
#define ROW_ONCE(X, TURN) \
    if (WIDTH <= ROW_LANES) return X; \
    if (row_place() == 0u) row_results[2u * row_number() + (TURN & 1u)] = X; \
    barrier(); \
    return row_results[2u * row_number() + (TURN & 1u)]
#endif
