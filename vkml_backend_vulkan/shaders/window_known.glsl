// The window's numbers as constants, known when the pipeline is made: divisions by them are cheap
// then. Where the first is 0 they are those that the host pushes.
layout(constant_id = 6) const int IMAGE_Y = 0;
layout(constant_id = 7) const int IMAGE_X = 0;
layout(constant_id = 8) const int WINDOW_Y = 0;
layout(constant_id = 9) const int WINDOW_X = 0;
layout(constant_id = 10) const int STRIDE_Y = 0;
layout(constant_id = 11) const int STRIDE_X = 0;
layout(constant_id = 12) const int PADDING_Y = 0;
layout(constant_id = 13) const int PADDING_X = 0;
layout(constant_id = 14) const int DILATION_Y = 0;
layout(constant_id = 15) const int DILATION_X = 0;
Window known()
{
    return Window(
        ivec2(IMAGE_Y, IMAGE_X), ivec2(WINDOW_Y, WINDOW_X), ivec2(STRIDE_Y, STRIDE_X),
        ivec2(PADDING_Y, PADDING_X), ivec2(DILATION_Y, DILATION_X));
}
#ifdef WINDOW_ONLY_KNOWN
#define window known()
#else
Window known_or_pushed()
{
    if (IMAGE_Y != 0) return known();
    return pushed;
}
#define window known_or_pushed()
#endif
