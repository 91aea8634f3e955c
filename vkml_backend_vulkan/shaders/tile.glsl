// A tile of a float32 matrix product: ROWS × COLUMNS sums of a workgroup whose invocations have
// EACH × 4 each, in the contract's order. Both factors pass through shared memory, DEPTH steps of k at a
// time, the next ones being read while the present ones are used.
//
// The includer gives the factors, which are +0 outside of the matrices (that changes no sum):
//     uint left(int m, int k), uint right(int k, int n)
// and says for each whether neighbours in memory are neighbours in k: LEFT_ALONG_K, RIGHT_ALONG_K.
#extension GL_EXT_control_flow_attributes : require

// Multiples of 16; the workgroup has ROWS × COLUMNS / EACH / 4 invocations.
layout(constant_id = 4) const int ROWS = 64;
layout(constant_id = 5) const int COLUMNS = 64;
const int DEPTH = 16;
// Rows of an invocation: fewer in a small tile, so that more of them hide what each waits for.
const int EACH = ROWS * COLUMNS == 1024 ? 2 : 4;
const int SIDE = COLUMNS / 4, INVOCATIONS = ROWS / EACH * SIDE;
const int LEFT_LOADS = ROWS * DEPTH / INVOCATIONS, RIGHT_LOADS = COLUMNS * DEPTH / INVOCATIONS;
const int MOST_LOADS = 8;
const int CHUNK_STEPS = 512 / DEPTH;

// One more vector in a row, so that writes along k fall into different banks.
shared vec4 left_tile[2][DEPTH][ROWS / 4 + 1];
shared vec4 right_tile[2][DEPTH][COLUMNS / 4 + 1];

// (glslang 12 miscompiles globals that are `precise`: the sums are.)
vec4 total[4], chunk[4];
float left_next[MOST_LOADS], right_next[MOST_LOADS];

// Row or column in x, k in y of load e of this invocation.
ivec2 spot(int e, int side, bool along_k)
{
    int t = int(gl_LocalInvocationIndex) + e * INVOCATIONS;
    return along_k ? ivec2(t / DEPTH, t % DEPTH) : ivec2(t % side, t / side);
}

void read_next(ivec2 corner, int k)
{
    [[unroll]] for (int e = 0; e < LEFT_LOADS; e++) {
        ivec2 l = spot(e, ROWS, LEFT_ALONG_K);
        left_next[e] = uintBitsToFloat(left(corner.x + l.x, k + l.y));
    }
    [[unroll]] for (int e = 0; e < RIGHT_LOADS; e++) {
        ivec2 r = spot(e, COLUMNS, RIGHT_ALONG_K);
        right_next[e] = uintBitsToFloat(right(k + r.y, corner.y + r.x));
    }
}

void write_next(int buffer_)
{
    [[unroll]] for (int e = 0; e < LEFT_LOADS; e++) {
        ivec2 l = spot(e, ROWS, LEFT_ALONG_K);
        left_tile[buffer_][l.y][l.x / 4][l.x % 4] = left_next[e];
    }
    [[unroll]] for (int e = 0; e < RIGHT_LOADS; e++) {
        ivec2 r = spot(e, COLUMNS, RIGHT_ALONG_K);
        right_tile[buffer_][r.y][r.x / 4][r.x % 4] = right_next[e];
    }
}

void add_products(int buffer_, ivec2 place)
{
    [[unroll]] for (int k = 0; k < DEPTH; k++) {
        vec4 a = left_tile[buffer_][k][place.x * EACH / 4], b = right_tile[buffer_][k][place.y];
        if (EACH == 2 && place.x % 2 != 0) a.xy = a.zw;
        [[unroll]] for (int i = 0; i < EACH; i++) {
            precise vec4 product = vec4(a[i]) * b;
            precise vec4 sum = chunk[i] + product;
            chunk[i] = sum;
        }
    }
}

void end_chunk()
{
    [[unroll]] for (int i = 0; i < EACH; i++) {
        precise vec4 sum = total[i] + chunk[i];
        total[i] = sum;
        chunk[i] = vec4(0.0);
    }
}

// This invocation's place in the tile: EACH rows from EACH x on, columns 4y … 4y + 3.
ivec2 place() { return ivec2(int(gl_LocalInvocationIndex) / SIDE, int(gl_LocalInvocationIndex) % SIDE); }

void begin()
{
    [[unroll]] for (int i = 0; i < EACH; i++) total[i] = chunk[i] = vec4(0.0);
}

// Leaves in `total` the sums over k from `first` to `last` - 1 of the tile at `corner`.
void multiply(ivec2 corner, int first, int last)
{
    begin();
    int steps = (last - first + DEPTH - 1) / DEPTH;
    read_next(corner, first);
    barrier();
    write_next(0);
    barrier();
    for (int s = 0; s < steps; s++) {
        if (s + 1 < steps) read_next(corner, first + (s + 1) * DEPTH);
        add_products(s & 1, place());
        if ((s + 1) % CHUNK_STEPS == 0) end_chunk();
        if (s + 1 < steps) write_next((s + 1) & 1);
        barrier();
    }
    end_chunk();
}
