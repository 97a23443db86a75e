/* The kernels of kernels.h, compiled once for each instruction set.

   The including file defines SET (suffix of the function names), TARGET (attribute that selects the instruction set)
   and REGISTER and WIDEST (bytes of vector registers). Complex arrays are interleaved doubles: real part, imaginary part. */

#define JOIN_(name, set) name##_##set
#define JOIN(name, set) JOIN_(name, set)
#define FN(name) JOIN(name, SET)

#if defined(__GNUC__)

/* Vectors of doubles; for inner products the widest there are, and vectors of as many floats. */
typedef double FN(doubles) __attribute__((vector_size(REGISTER)));
typedef double FN(wide) __attribute__((vector_size(WIDEST)));
typedef float FN(floats) __attribute__((vector_size(WIDEST / 2)));
#define LANES (REGISTER / 8)
#define WIDE_LANES (WIDEST / 8)

TARGET static inline FN(doubles) FN(load_double)(const double *p)
{
    FN(doubles) v;
    memcpy(&v, p, sizeof v);
    return v;
}

TARGET static inline FN(wide) FN(wide_double)(const double *p)
{
    FN(wide) v;
    memcpy(&v, p, sizeof v);
    return v;
}

TARGET static inline FN(wide) FN(wide_float)(const float *p)
{
    FN(floats) v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, FN(wide));
}

/* Inner products of sixteen numbers at a time, in parts, so that additions do not wait for each other. */
#define DEFINE_DOT(NAME, TYPE_A, LOAD_A, TYPE_B, LOAD_B)                                                             \
    TARGET static double FN(NAME)(const TYPE_A *a, const TYPE_B *b, ptrdiff_t n)                                     \
    {                                                                                                                \
        enum { PARTS = 16 / WIDE_LANES };                                                                            \
        FN(wide) part[PARTS] = {{0}};                                                                                \
        ptrdiff_t j = 0;                                                                                             \
        for (; j + 16 <= n; j += 16)                                                                                 \
            for (int i = 0; i < PARTS; i++)                                                                          \
                part[i] += FN(LOAD_A)(a + j + i * WIDE_LANES) * FN(LOAD_B)(b + j + i * WIDE_LANES);                  \
        for (int i = 1; i < PARTS; i++)                                                                              \
            part[0] += part[i];                                                                                      \
        double sum = 0.0;                                                                                            \
        for (int i = 0; i < WIDE_LANES; i++)                                                                         \
            sum += part[0][i];                                                                                       \
        for (; j < n; j++)                                                                                           \
            sum += (double)a[j] * (double)b[j];                                                                      \
        return sum;                                                                                                  \
    }

/* Products of x with the directions in 1, 2 or 3 panels. A line of a panel fills 32 / REGISTER vectors. Sums are taken
   in parts, which do not wait for each other. */
#define DEFINE_PANELS(NAME, TYPE, PANELS, PARTS)                                                                     \
    TARGET static inline void FN(NAME)(const TYPE *panels, ptrdiff_t D, const TYPE *x, TYPE *sums)                   \
    {                                                                                                                \
        typedef TYPE vector __attribute__((vector_size(REGISTER)));                                                  \
        enum { WIDTH = 32 / sizeof(TYPE), SIZE = REGISTER / sizeof(TYPE), VECTORS = PANELS * WIDTH / SIZE };         \
        vector acc[VECTORS][PARTS] = {{{0}}}, line;                                                                  \
        const ptrdiff_t share = D / PARTS;                                                                           \
        for (ptrdiff_t j = 0; j < share; j++)                                                                        \
            for (int part = 0; part < PARTS; part++) {                                                               \
                const ptrdiff_t at = j + part * share;                                                               \
                for (int v = 0; v < VECTORS; v++) {                                                                  \
                    const int p = v * SIZE / WIDTH, w = v * SIZE % WIDTH;                                            \
                    memcpy(&line, panels + (p * D + at) * WIDTH + w, sizeof line);                                   \
                    acc[v][part] += x[at] * line;                                                                    \
                }                                                                                                    \
            }                                                                                                        \
        for (ptrdiff_t at = share * PARTS; at < D; at++)                                                             \
            for (int v = 0; v < VECTORS; v++) {                                                                      \
                const int p = v * SIZE / WIDTH, w = v * SIZE % WIDTH;                                                \
                memcpy(&line, panels + (p * D + at) * WIDTH + w, sizeof line);                                       \
                acc[v][0] += x[at] * line;                                                                           \
            }                                                                                                        \
        for (int v = 0; v < VECTORS; v++) {                                                                          \
            for (int part = 1; part < PARTS; part++)                                                                 \
                acc[v][0] += acc[v][part];                                                                           \
            memcpy(sums + v * SIZE, &acc[v][0], sizeof line);                                                        \
        }                                                                                                            \
    }

#define PARTS(PANELS) (6 * REGISTER / 32 / PANELS)
DEFINE_PANELS(panels1_float, float, 1, PARTS(1))
DEFINE_PANELS(panels2_float, float, 2, (REGISTER == 32 ? 3 : 1))
DEFINE_PANELS(panels3_float, float, 3, PARTS(3))
DEFINE_PANELS(panels1_double, double, 1, PARTS(1))
DEFINE_PANELS(panels2_double, double, 2, (REGISTER == 32 ? 3 : 1))
DEFINE_PANELS(panels3_double, double, 3, PARTS(3))
#undef PARTS
#undef DEFINE_PANELS

/* y += sum of entries[e] * X[rows[e]] over 4N columns or fewer; the last four start at `last`, to end with the row. */
#define DEFINE_ADD_ROWS(N)                                                                                           \
    TARGET static void FN(add_rows##N)(double *y, const double *X, ptrdiff_t width, ptrdiff_t last,                  \
                                       const ptrdiff_t *rows, const double *entries, ptrdiff_t count)                \
    {                                                                                                                \
        enum { VECTORS = 4 * N / LANES, WHOLE = 4 * (N - 1) / LANES };                                               \
        FN(doubles) acc[VECTORS];                                                                                    \
        for (int v = 0; v < VECTORS; v++)                                                                            \
            acc[v] = FN(load_double)(y + (v < WHOLE ? v * LANES : last + (v - WHOLE) * LANES));                      \
        for (ptrdiff_t e = 0; e < count; e++) {                                                                      \
            const double *x = X + rows[e] * width;                                                                   \
            for (int v = 0; v < VECTORS; v++)                                                                        \
                acc[v] += entries[e] * FN(load_double)(x + (v < WHOLE ? v * LANES : last + (v - WHOLE) * LANES));    \
        }                                                                                                            \
        for (int v = 0; v < VECTORS; v++)                                                                            \
            memcpy(y + (v < WHOLE ? v * LANES : last + (v - WHOLE) * LANES), &acc[v], sizeof acc[v]);                \
    }

DEFINE_ADD_ROWS(1)
DEFINE_ADD_ROWS(2)
DEFINE_ADD_ROWS(3)
DEFINE_ADD_ROWS(4)
DEFINE_ADD_ROWS(5)
DEFINE_ADD_ROWS(6)
#if REGISTER == 32
DEFINE_ADD_ROWS(7)
DEFINE_ADD_ROWS(8)
DEFINE_ADD_ROWS(9)
DEFINE_ADD_ROWS(10)
DEFINE_ADD_ROWS(11)
DEFINE_ADD_ROWS(12)
DEFINE_ADD_ROWS(13)
#endif
#undef DEFINE_ADD_ROWS

/* y += sum of entries[e] * X[rows[e]], in blocks of columns that stay in registers. */
TARGET static void FN(add_rows)(double *y, const double *X, ptrdiff_t width, const ptrdiff_t *rows,
                                const double *entries, ptrdiff_t count)
{
    static void (*const blocks[])(double *, const double *, ptrdiff_t, ptrdiff_t, const ptrdiff_t *, const double *,
                                  ptrdiff_t) = {
        FN(add_rows1), FN(add_rows2), FN(add_rows3), FN(add_rows4), FN(add_rows5), FN(add_rows6),
#if REGISTER == 32
        FN(add_rows7), FN(add_rows8), FN(add_rows9), FN(add_rows10), FN(add_rows11), FN(add_rows12), FN(add_rows13),
#endif
    };
    const ptrdiff_t n_blocks = sizeof blocks / sizeof *blocks;
    ptrdiff_t column = 0;
    for (; width - column > 4 * n_blocks; column += 4 * n_blocks)
        blocks[n_blocks - 1](y + column, X + column, width, 4 * (n_blocks - 1), rows, entries, count);
    const ptrdiff_t left = width - column;
    if (left >= 4)
        blocks[(left + 3) / 4 - 1](y + column, X + column, width, left - 4, rows, entries, count);
    else
        for (ptrdiff_t e = 0; e < count; e++)
            for (ptrdiff_t j = column; j < width; j++)
                y[j] += entries[e] * X[rows[e] * width + j];
}

#else /* a compiler without vector types */

#define DEFINE_DOT(NAME, TYPE_A, LOAD_A, TYPE_B, LOAD_B)                                                             \
    static double FN(NAME)(const TYPE_A *a, const TYPE_B *b, ptrdiff_t n)                                            \
    {                                                                                                                \
        double sum = 0.0;                                                                                            \
        for (ptrdiff_t j = 0; j < n; j++)                                                                            \
            sum += (double)a[j] * (double)b[j];                                                                      \
        return sum;                                                                                                  \
    }

#define DEFINE_PANELS(NAME, TYPE, PANELS)                                                                            \
    static void FN(NAME)(const TYPE *panels, ptrdiff_t D, const TYPE *x, TYPE *sums)                                 \
    {                                                                                                                \
        enum { WIDTH = 32 / sizeof(TYPE) };                                                                          \
        for (ptrdiff_t p = 0; p < PANELS; p++)                                                                       \
            for (ptrdiff_t j = 0; j < D; j++)                                                                        \
                for (int w = 0; w < WIDTH; w++)                                                                      \
                    sums[p * WIDTH + w] += x[j] * panels[(p * D + j) * WIDTH + w];                                   \
    }

DEFINE_PANELS(panels1_float, float, 1)
DEFINE_PANELS(panels2_float, float, 2)
DEFINE_PANELS(panels3_float, float, 3)
DEFINE_PANELS(panels1_double, double, 1)
DEFINE_PANELS(panels2_double, double, 2)
DEFINE_PANELS(panels3_double, double, 3)
#undef DEFINE_PANELS

static void FN(add_rows)(double *y, const double *X, ptrdiff_t width, const ptrdiff_t *rows, const double *entries,
                         ptrdiff_t count)
{
    for (ptrdiff_t e = 0; e < count; e++)
        for (ptrdiff_t j = 0; j < width; j++)
            y[j] += entries[e] * X[rows[e] * width + j];
}

#endif

DEFINE_DOT(dot, double, wide_double, double, wide_double)
DEFINE_DOT(dot_float, double, wide_double, float, wide_float)
DEFINE_DOT(dot_floats, float, wide_float, float, wide_float)
#undef DEFINE_DOT

/* Sum of squared products of x with the directions start..end-1, which lie in at most three panels; those from `end`
   on are zero. Products are squared in double precision, where those of large floats do not overflow. */
#define DEFINE_PANEL_SQUARES(TYPE)                                                                                   \
    TARGET static double FN(panel_squares_##TYPE)(const TYPE *panels, ptrdiff_t D, ptrdiff_t start, ptrdiff_t end,   \
                                                  const TYPE *x)                                                     \
    {                                                                                                                \
        enum { WIDTH = 32 / sizeof(TYPE) };                                                                          \
        TYPE sums[3 * WIDTH] = {0};                                                                                  \
        const ptrdiff_t first = start / WIDTH, count = (end + WIDTH - 1) / WIDTH - first, before = start % WIDTH;    \
        panels += first * D * WIDTH;                                                                                 \
        switch (count) {                                                                                             \
        case 1: FN(panels1_##TYPE)(panels, D, x, sums); break;                                                       \
        case 2: FN(panels2_##TYPE)(panels, D, x, sums); break;                                                       \
        default: FN(panels3_##TYPE)(panels, D, x, sums);                                                             \
        }                                                                                                            \
        for (ptrdiff_t w = 0; w < before; w++)                                                                       \
            sums[w] = 0;                                                                                             \
        double squares[WIDTH] = {0}, total = 0.0;                                                                    \
        for (int p = 0; p < 3; p++)                                                                                  \
            for (int w = 0; w < WIDTH; w++)                                                                          \
                squares[w] += (double)sums[p * WIDTH + w] * (double)sums[p * WIDTH + w];                             \
        for (int w = 0; w < WIDTH; w++)                                                                              \
            total += squares[w];                                                                                     \
        return total;                                                                                                \
    }

DEFINE_PANEL_SQUARES(float)
DEFINE_PANEL_SQUARES(double)
#undef DEFINE_PANEL_SQUARES

/* y += a x. */
TARGET static void FN(axpy)(double a, const double *restrict x, double *restrict y, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < n; j++)
        y[j] += a * x[j];
}

/* y += a x for complex numbers. */
TARGET static void FN(axpy_complex)(double re, double im, const double *restrict x, double *restrict y, ptrdiff_t n)
{
    for (ptrdiff_t j = 0; j < 2 * n; j += 2) {
        y[j] += re * x[j] - im * x[j + 1];
        y[j + 1] += re * x[j + 1] + im * x[j];
    }
}

/* Sum of x y for complex numbers, of conj(x) y if sign is -1; written to out[0..1]. */
TARGET static void FN(dot_complex)(double sign, const double *x, const double *y, ptrdiff_t n, double *out)
{
    double re = 0.0, im = 0.0;
    for (ptrdiff_t j = 0; j < 2 * n; j += 2) {
        const double xi = sign * x[j + 1];
        re += x[j] * y[j] - xi * y[j + 1];
        im += x[j] * y[j + 1] + xi * y[j];
    }
    out[0] = re;
    out[1] = im;
}

/* dst[j] = r src[j] + p src[j-1], j = 1..n: the law of a count after one more trial. */
TARGET static void FN(add_trial)(const double *restrict src, double *restrict dst, ptrdiff_t n, double p, double r)
{
    for (ptrdiff_t j = 1; j <= n; j++)
        dst[j] = src[j] * r + src[j - 1] * p;
}

/* Sum of f[j] g[-j], j = 0..n-1. */
TARGET static double FN(convolve)(const double *f, const double *g, ptrdiff_t n)
{
    double part[8] = {0};
    ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8)
        for (int i = 0; i < 8; i++)
            part[i] += f[j + i] * g[-(j + i)];
    double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; j < n; j++)
        sum += f[j] * g[-j];
    return sum;
}

/* Coordinates Y of `count` rows of X (padded to a multiple of four) against the first s rows of W. Rows have m numbers,
   the next begins after `width` numbers. */
TARGET static void FN(compress)(const double *W, ptrdiff_t s, const double *X, ptrdiff_t count, double *Y, ptrdiff_t m,
                                ptrdiff_t width)
{
    for (ptrdiff_t c = 0; c < count; c += 4) {
        const double *x0 = X + c * width, *x1 = x0 + width, *x2 = x1 + width, *x3 = x2 + width;
        double *y = Y + c * width;
        for (ptrdiff_t a = 0; a < s; a++) {
            const double *w = W + a * width;
            double y0 = 0.0, y1 = 0.0, y2 = 0.0, y3 = 0.0;
#if defined(_OPENMP) || defined(__GNUC__)
#pragma omp simd reduction(+ : y0, y1, y2, y3)
#endif
            for (ptrdiff_t k = 0; k < m; k++) {
                y0 += w[k] * x0[k];
                y1 += w[k] * x1[k];
                y2 += w[k] * x2[k];
                y3 += w[k] * x3[k];
            }
            y[a] = y0;
            y[width + a] = y1;
            y[2 * width + a] = y2;
            y[3 * width + a] = y3;
        }
    }
}

TARGET static void FN(compress_complex)(const double *W, ptrdiff_t s, const double *X, ptrdiff_t count, double *Y,
                                        ptrdiff_t m, ptrdiff_t width)
{
    for (ptrdiff_t c = 0; c < count; c++)
        for (ptrdiff_t a = 0; a < s; a++)
            FN(dot_complex)(1.0, W + 2 * a * width, X + 2 * c * width, m, Y + 2 * (c * width + a));
}

/* W, of m columns, after `count` reflections I - tau h h*, the rows of H, each of which drops the last of the rows of W
   that are left, s at the start. Rows of W begin every `width` numbers, those of H every `width + 3`; both are padded to
   a multiple of four, H with zeros. In stripes, so that W is read from memory once however many reflections there are. */
#define STRIPE 32
TARGET static void FN(reflect)(const double *restrict H, const double *restrict tau, ptrdiff_t count, ptrdiff_t s,
                               double *restrict W, ptrdiff_t m, ptrdiff_t width)
{
    for (ptrdiff_t start = 0; start < m; start += STRIPE) {
        const ptrdiff_t columns = m - start < STRIPE ? m - start : STRIPE;
        for (ptrdiff_t e = 0; e < count; e++) {
            const double *restrict h = H + e * (width + 3);
            double g[STRIPE] = {0};
            for (ptrdiff_t a = 0; a < s - e; a += 4) {
                const double *restrict w0 = W + a * width + start, *restrict w1 = w0 + width,
                             *restrict w2 = w1 + width, *restrict w3 = w2 + width;
                const double h0 = h[a], h1 = h[a + 1], h2 = h[a + 2], h3 = h[a + 3];
                for (ptrdiff_t k = 0; k < columns; k++)
                    g[k] += (h0 * w0[k] + h1 * w1[k]) + (h2 * w2[k] + h3 * w3[k]);
            }
            for (ptrdiff_t a = 0; a < s - e - 1; a++)
                FN(axpy)(-tau[e] * h[a], g, W + a * width + start, columns);
        }
    }
}

TARGET static void FN(reflect_complex)(const double *restrict H, const double *restrict tau, ptrdiff_t count,
                                       ptrdiff_t s, double *restrict W, ptrdiff_t m, ptrdiff_t width)
{
    for (ptrdiff_t start = 0; start < m; start += STRIPE) {
        const ptrdiff_t columns = m - start < STRIPE ? m - start : STRIPE;
        for (ptrdiff_t e = 0; e < count; e++) {
            const double *restrict h = H + 2 * e * (width + 3);
            double g[2 * STRIPE] = {0};
            for (ptrdiff_t a = 0; a < s - e; a++)
                FN(axpy_complex)(h[2 * a], -h[2 * a + 1], W + 2 * (a * width + start), g, columns);
            for (ptrdiff_t a = 0; a < s - e - 1; a++)
                FN(axpy_complex)(-tau[e] * h[2 * a], -tau[e] * h[2 * a + 1], g, W + 2 * (a * width + start), columns);
        }
    }
}
#undef STRIPE

/* The first s - 1 of s numbers of each of `count` rows of Y after the reflection I - tau h h*. */
TARGET static void FN(reflect_rows)(const double *restrict h, double tau, ptrdiff_t s, double *restrict Y,
                                    ptrdiff_t count, ptrdiff_t width)
{
    for (ptrdiff_t c = 0; c < count; c++) {
        double *restrict y = Y + c * width;
        FN(axpy)(-tau * FN(dot)(h, y, s), h, y, s - 1);
    }
}

TARGET static void FN(reflect_rows_complex)(const double *restrict h, double tau, ptrdiff_t s, double *restrict Y,
                                            ptrdiff_t count, ptrdiff_t width)
{
    for (ptrdiff_t c = 0; c < count; c++) {
        double *restrict y = Y + 2 * c * width, g[2];
        FN(dot_complex)(-1.0, h, y, s, g);
        FN(axpy_complex)(-tau * g[0], -tau * g[1], h, y, s - 1);
    }
}

static const struct kernels FN(kernels) = {
    FN(dot),       FN(dot_float),    FN(dot_floats),  FN(panel_squares_float), FN(panel_squares_double),
    FN(add_rows),  FN(axpy),         FN(axpy_complex), FN(dot_complex),        FN(add_trial),
    FN(convolve),  FN(compress),     FN(compress_complex), FN(reflect),        FN(reflect_complex),
    FN(reflect_rows), FN(reflect_rows_complex),
};

#undef LANES
#undef WIDE_LANES
#undef FN
#undef JOIN
#undef JOIN_
