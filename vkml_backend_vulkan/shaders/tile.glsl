// A tile of a float32 matrix product: ROWS × COLUMNS sums of a workgroup whose invocations have
// EACH_ROWS × 4 each, in the contract's order. Both factors pass through shared memory,
// DEPTH steps of k at a time, the next ones being read while the present ones are used.
//
// The includer gives four neighbours of a factor at a time, which are +0 outside of the matrices
// (that changes no sum):
//     uvec4 left(int m, int k), uvec4 right(int k, int n)
// and says how for each (LEFT, RIGHT): they are neighbours in k (ALONG_K: and so are the next
// invocation's), or not (ACROSS_K), or in k, while the next invocation reads beside them (DOWN_K).
#extension GL_EXT_control_flow_attributes : require

// Multiples of 16.
layout(constant_id = 4) const int ROWS = 64;
layout(constant_id = 5) const int COLUMNS = 64;
layout(constant_id = 18) const int DEPTH = 16;
const int ALONG_K = 0, ACROSS_K = 1, DOWN_K = 2;
// Rows of an invocation's results: 1, 2, 4 or 8.
layout(constant_id = 17) const int EACH_ROWS = 4;
const int EACH_COLUMNS = 4;
const int ROW_VECTORS = (EACH_ROWS + 3) / 4, ROW_STEP = ROWS / ROW_VECTORS;
const int SIDE = COLUMNS / EACH_COLUMNS, INVOCATIONS = ROWS / EACH_ROWS * SIDE;
const int LEFT_FOURS = ROWS * DEPTH / 4, RIGHT_FOURS = COLUMNS * DEPTH / 4;
const int LEFT_LOADS = (LEFT_FOURS + INVOCATIONS - 1) / INVOCATIONS;
const int RIGHT_LOADS = (RIGHT_FOURS + INVOCATIONS - 1) / INVOCATIONS;
const int CHUNK_STEPS = 512 / DEPTH;

// One more vector in a row, and vectors that change places with k, so that four neighbours in k,
// and those of the next invocations, are written into different banks.
int turned(int vector, int k) { return vector ^ ((k >> 2 & 2) | (k >> 4 & 1)); }
shared vec4 left_tile[2][DEPTH][ROWS / 4 + 1];
shared vec4 right_tile[2][DEPTH][COLUMNS / 4 + 1];

// (glslang 12 miscompiles globals that are `precise`: the sums are.)
vec4 total[EACH_ROWS], chunk[EACH_ROWS];
vec4 left_next[LEFT_LOADS], right_next[RIGHT_LOADS];

// First row or column in x, first k in y of load e of this invocation.
ivec2 spot(int e, int side, int how)
{
    int t = int(gl_LocalInvocationIndex) + e * INVOCATIONS;
    if (how == ALONG_K) return ivec2(t / (DEPTH / 4), t % (DEPTH / 4) * 4);
    if (how == DOWN_K) return ivec2(t % side, t / side * 4);
    return ivec2(t % (side / 4) * 4, t / (side / 4));
}
// Whether there is a load e for this invocation.
bool loads(int e, int fours)
{
    return fours % INVOCATIONS == 0 || int(gl_LocalInvocationIndex) + e * INVOCATIONS < fours;
}

void read_next(ivec2 corner, int k)
{
    [[unroll]] for (int e = 0; e < LEFT_LOADS; e++) {
        ivec2 l = spot(e, ROWS, LEFT);
        if (loads(e, LEFT_FOURS)) left_next[e] = uintBitsToFloat(left(corner.x + l.x, k + l.y));
    }
    [[unroll]] for (int e = 0; e < RIGHT_LOADS; e++) {
        ivec2 r = spot(e, COLUMNS, RIGHT);
        if (loads(e, RIGHT_FOURS)) right_next[e] = uintBitsToFloat(right(k + r.y, corner.y + r.x));
    }
}

void write_next(int buffer_)
{
    [[unroll]] for (int e = 0; e < LEFT_LOADS; e++) {
        ivec2 l = spot(e, ROWS, LEFT);
        if (!loads(e, LEFT_FOURS)) continue;
        if (LEFT == ACROSS_K) left_tile[buffer_][l.y][turned(l.x / 4, l.y)] = left_next[e];
        else [[unroll]] for (int i = 0; i < 4; i++)
            left_tile[buffer_][l.y + i][turned(l.x / 4, l.y)][l.x % 4] = left_next[e][i];
    }
    [[unroll]] for (int e = 0; e < RIGHT_LOADS; e++) {
        ivec2 r = spot(e, COLUMNS, RIGHT);
        if (!loads(e, RIGHT_FOURS)) continue;
        if (RIGHT == ACROSS_K) right_tile[buffer_][r.y][turned(r.x / 4, r.y)] = right_next[e];
        else [[unroll]] for (int i = 0; i < 4; i++)
            right_tile[buffer_][r.y + i][turned(r.x / 4, r.y)][r.x % 4] = right_next[e][i];
    }
}

// This invocation's place in the tile.
ivec2 place() { return ivec2(int(gl_LocalInvocationIndex) / SIDE, int(gl_LocalInvocationIndex) % SIDE); }
// Row i of this invocation, counted in the tile, and the first of its columns.
int row_of(int i)
{
    return ROW_VECTORS == 1 ? place().x * EACH_ROWS + i : i / 4 * ROW_STEP + place().x * 4 + i % 4;
}
int first_column() { return place().y * 4; }

void add_products(int buffer_)
{
    ivec2 at = place();
    [[unroll]] for (int k = 0; k < DEPTH; k++) {
        vec4 a[ROW_VECTORS], b = right_tile[buffer_][k][turned(at.y, k)];
        if (EACH_ROWS >= 4)
            [[unroll]] for (int v = 0; v < ROW_VECTORS; v++)
                a[v] = left_tile[buffer_][k][turned(v * (ROW_STEP / 4) + at.x, k)];
        else
            [[unroll]] for (int i = 0; i < EACH_ROWS; i++)
                a[0][i] = left_tile[buffer_][k][turned(row_of(i) / 4, k)][row_of(i) % 4];
        [[unroll]] for (int i = 0; i < EACH_ROWS; i++) {
            precise vec4 product = vec4(a[i / 4][i % 4]) * b;
            precise vec4 sum = chunk[i] + product;
            chunk[i] = sum;
        }
    }
}

void end_chunk()
{
    [[unroll]] for (int i = 0; i < EACH_ROWS; i++) {
        precise vec4 sum = total[i] + chunk[i];
        total[i] = sum;
        chunk[i] = vec4(0.0);
    }
}

void begin()
{
    [[unroll]] for (int i = 0; i < EACH_ROWS; i++) total[i] = chunk[i] = vec4(0.0);
}

// The bits of sums that are stored.
uint sum_bits(float sum) { return f_canonical(from_zero(floatBitsToUint(sum))); }
uvec4 sums_bits(vec4 s) { return uvec4(sum_bits(s.x), sum_bits(s.y), sum_bits(s.z), sum_bits(s.w)); }

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
        add_products(s & 1);
        if ((s + 1) % CHUNK_STEPS == 0) end_chunk();
        if (s + 1 < steps) write_next((s + 1) & 1);
        barrier();
    }
    end_chunk();
}
