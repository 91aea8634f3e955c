// The main function of a kernel that gives one output at a time by `result(index)`: an invocation
// owns whole 32-bit words of the output. With PLACE the result is an index below 2^31, stored as
// int64, or with WORDS too as a word; otherwise it is a V.
void main()
{
#if defined(PLACE) && defined(WORDS)
    uint i = invocation();
    if (i < count) U32(out_).v[i] = result(i);
#elif defined(PLACE)
    uint i = invocation();
    if (i < count) U32x2(out_).v[i] = uvec2(result(i), 0u);
#elif defined(DTYPE_I64)
    uint i = invocation();
    if (i < count) U32x2(out_).v[i] = result(i);
#elif defined(HOOK)
    uint i = invocation();
    if (i < count) hook_store(i, packed(result(i)));
#else
    uint first = invocation() * PER_WORD, word = 0u;
    for (uint i = 0u; i < PER_WORD && first + i < count; i++)
        word |= packed(result(first + i)) << (32u / PER_WORD * i);
    if (first < count) U32(out_).v[first / PER_WORD] = word;
#endif
}
