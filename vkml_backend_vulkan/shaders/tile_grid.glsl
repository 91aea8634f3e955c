// Which tile a workgroup has: its corner in x and y, its matrix in z, its slice of k in w. Tiles
// next to each other share columns of the right factor.
ivec4 tile_grid(int matrices, int rows, int columns, int slices)
{
    ivec2 side = ivec2(ROWS, COLUMNS), tiles = (ivec2(rows, columns) + side - 1) / side;
    int w = int(workgroup());
    int slice = w / tiles.x / tiles.y;
    return ivec4(ivec2(w % tiles.x, w / tiles.x % tiles.y) * side, slice / slices, slice % slices);
}

const int SLICE = 512;
int slice_first(int slice, int slices) { return slice * SLICE; }
int slice_last(int slice, int slices, int depth)
{
    return slices == 1 ? depth : min(depth, (slice + 1) * SLICE);
}
