// Indices of int32 or int64, as int64; `checked_index` reports one outside [0, size).
// `known_index` is for indices that are checked elsewhere: it only stays inside.
uvec2 load_index(uvec2 p, int i)
{
#if defined(INDEX_I64)
    return load_i64(p, i);
#else
    uint word = load_word(p, i);
    return uvec2(word, int(word) < 0 ? 0xffffffffu : 0u);
#endif
}
uint checked_index(uvec2 p, int i, uint size, uvec2 errors)
{
    uvec2 value = load_index(p, i);
    if (value.y == 0u && value.x < size) return value.x;
    report(errors, INDEX_OUT_OF_RANGE, value);
    return 0u;
}
uint known_index(uvec2 p, int i, uint size)
{
    uvec2 value = load_index(p, i);
    return value.y == 0u && value.x < size ? value.x : 0u;
}
