/* The kernels of kernels.h, compiled once for each instruction set.

   The including file defines SET (suffix of the function names) and TARGET (attribute that selects the instruction
   set). Complex arrays are interleaved doubles: real part, imaginary part. */

#define JOIN_(name, set) name##_##set
#define JOIN(name, set) JOIN_(name, set)
#define FN(name) JOIN(name, SET)

#if defined(__GNUC__)

/* Sum of the entries of a vector of eight doubles. */
TARGET static inline double FN(total)(octet v)
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* Load eight numbers as doubles, from any address. */
TARGET static inline octet FN(load_double)(const double *p)
{
    octet v;
    memcpy(&v, p, sizeof v);
    return v;
}

TARGET static inline octet FN(load_float)(const float *p)
{
    float8 v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, octet);
}

/* Inner products, two vectors of eight at a time so that additions do not wait for each other. */
#define DEFINE_DOT(NAME, TYPE_A, LOAD_A, TYPE_B, LOAD_B)                                                             \
    TARGET static double FN(NAME)(const TYPE_A *a, const TYPE_B *b, ptrdiff_t n)                                     \
    {                                                                                                                \
        octet even = {0}, odd = {0};                                                                                 \
        ptrdiff_t j = 0;                                                                                             \
        for (; j + 16 <= n; j += 16) {                                                                               \
            even += FN(LOAD_A)(a + j) * FN(LOAD_B)(b + j);                                                           \
            odd += FN(LOAD_A)(a + j + 8) * FN(LOAD_B)(b + j + 8);                                                    \
        }                                                                                                            \
        double sum = FN(total)(even + odd);                                                                          \
        for (; j < n; j++)                                                                                           \
            sum += (double)a[j] * (double)b[j];                                                                      \
        return sum;                                                                                                  \
    }

/* Sums of products of a row with 1, 2 or 3 panels. Each sum is taken in parts, which do not wait for each other. */
#define DEFINE_PANEL_SUMS(NAME, TYPE, VECTOR, WIDTH, PANELS, PARTS)                                                  \
    TARGET static inline void FN(NAME)(const TYPE *panels, ptrdiff_t D, const TYPE *x, TYPE *sums)                   \
    {                                                                                                                \
        VECTOR acc[PANELS][PARTS] = {{{0}}};                                                                         \
        const ptrdiff_t share = D / PARTS;                                                                           \
        for (ptrdiff_t j = 0; j < share; j++)                                                                        \
            for (int part = 0; part < PARTS; part++) {                                                               \
                const ptrdiff_t at = j + part * share;                                                               \
                for (int p = 0; p < PANELS; p++) {                                                                   \
                    VECTOR line;                                                                                     \
                    memcpy(&line, panels + (p * D + at) * WIDTH, sizeof line);                                       \
                    acc[p][part] += x[at] * line;                                                                    \
                }                                                                                                    \
            }                                                                                                        \
        for (ptrdiff_t at = share * PARTS; at < D; at++)                                                             \
            for (int p = 0; p < PANELS; p++) {                                                                       \
                VECTOR line;                                                                                         \
                memcpy(&line, panels + (p * D + at) * WIDTH, sizeof line);                                           \
                acc[p][0] += x[at] * line;                                                                           \
            }                                                                                                        \
        for (int p = 0; p < PANELS; p++) {                                                                           \
            VECTOR whole = acc[p][0];                                                                                \
            for (int part = 1; part < PARTS; part++)                                                                 \
                whole += acc[p][part];                                                                               \
            memcpy(sums + p * WIDTH, &whole, sizeof whole);                                                          \
        }                                                                                                            \
    }

DEFINE_PANEL_SUMS(panel_sums1_float, float, float8, 8, 1, 6)
DEFINE_PANEL_SUMS(panel_sums2_float, float, float8, 8, 2, 3)
DEFINE_PANEL_SUMS(panel_sums3_float, float, float8, 8, 3, 2)
DEFINE_PANEL_SUMS(panel_sums1_double, double, double4, 4, 1, 6)
DEFINE_PANEL_SUMS(panel_sums2_double, double, double4, 4, 2, 3)
DEFINE_PANEL_SUMS(panel_sums3_double, double, double4, 4, 3, 2)
#undef DEFINE_PANEL_SUMS

#define PANEL_SUMS(TYPE, WIDTH)                                                                                      \
    switch (count) {                                                                                                 \
    case 1: FN(panel_sums1_##TYPE)(panels, D, x, sums); break;                                                       \
    case 2: FN(panel_sums2_##TYPE)(panels, D, x, sums); break;                                                       \
    default: FN(panel_sums3_##TYPE)(panels, D, x, sums);                                                             \
    }

/* y[0..4N) += sum of entries[e] * X[rows[e], 0..4N); the last vector starts at `last`, so that it ends with the row. */
#define DEFINE_ADD_ROWS(N)                                                                                           \
    TARGET static void FN(add_rows##N)(double *y, const double *X, ptrdiff_t width, ptrdiff_t last,                  \
                                       const ptrdiff_t *rows, const double *entries, ptrdiff_t count)                \
    {                                                                                                                \
        double4 acc[N];                                                                                              \
        for (int v = 0; v < N - 1; v++)                                                                              \
            memcpy(&acc[v], y + 4 * v, sizeof acc[v]);                                                               \
        memcpy(&acc[N - 1], y + last, sizeof acc[N - 1]);                                                            \
        for (ptrdiff_t e = 0; e < count; e++) {                                                                      \
            const double *x = X + rows[e] * width;                                                                   \
            double4 part;                                                                                            \
            for (int v = 0; v < N - 1; v++) {                                                                        \
                memcpy(&part, x + 4 * v, sizeof part);                                                               \
                acc[v] += entries[e] * part;                                                                         \
            }                                                                                                        \
            memcpy(&part, x + last, sizeof part);                                                                    \
            acc[N - 1] += entries[e] * part;                                                                         \
        }                                                                                                            \
        for (int v = 0; v < N - 1; v++)                                                                              \
            memcpy(y + 4 * v, &acc[v], sizeof acc[v]);                                                               \
        memcpy(y + last, &acc[N - 1], sizeof acc[N - 1]);                                                            \
    }

DEFINE_ADD_ROWS(1)
DEFINE_ADD_ROWS(2)
DEFINE_ADD_ROWS(3)
DEFINE_ADD_ROWS(4)
DEFINE_ADD_ROWS(5)
DEFINE_ADD_ROWS(6)
DEFINE_ADD_ROWS(7)
DEFINE_ADD_ROWS(8)
DEFINE_ADD_ROWS(9)
DEFINE_ADD_ROWS(10)
DEFINE_ADD_ROWS(11)
DEFINE_ADD_ROWS(12)
DEFINE_ADD_ROWS(13)
#undef DEFINE_ADD_ROWS

/* y += sum of entries[e] * X[rows[e]], in blocks of columns that stay in registers. A row of X has at least 4. */
TARGET static void FN(add_rows)(double *y, const double *X, ptrdiff_t width, const ptrdiff_t *rows,
                                const double *entries, ptrdiff_t count)
{
    static void (*const blocks[13])(double *, const double *, ptrdiff_t, ptrdiff_t, const ptrdiff_t *, const double *,
                                    ptrdiff_t) = {
        FN(add_rows1), FN(add_rows2), FN(add_rows3),  FN(add_rows4),  FN(add_rows5),  FN(add_rows6), FN(add_rows7),
        FN(add_rows8), FN(add_rows9), FN(add_rows10), FN(add_rows11), FN(add_rows12), FN(add_rows13)};
    ptrdiff_t column = 0;
    for (; width - column > 52; column += 52)
        blocks[12](y + column, X + column, width, 48, rows, entries, count);
    const ptrdiff_t left = width - column;
    if (left >= 4)
        blocks[(left + 3) / 4 - 1](y + column, X + column, width, left - 4, rows, entries, count);
    else
        /* Fewer than four columns are left: the vector that ends with the row repeats columns of the block before. */
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

#define PANEL_SUMS(TYPE, WIDTH)                                                                                      \
    for (ptrdiff_t p = 0; p < count; p++)                                                                            \
        for (ptrdiff_t j = 0; j < D; j++)                                                                            \
            for (int w = 0; w < WIDTH; w++)                                                                          \
                sums[p * WIDTH + w] += x[j] * panels[(p * D + j) * WIDTH + w];

static void FN(add_rows)(double *y, const double *X, ptrdiff_t width, const ptrdiff_t *rows, const double *entries,
                         ptrdiff_t count)
{
    for (ptrdiff_t e = 0; e < count; e++)
        for (ptrdiff_t j = 0; j < width; j++)
            y[j] += entries[e] * X[rows[e] * width + j];
}

#endif

DEFINE_DOT(dot, double, load_double, double, load_double)
DEFINE_DOT(dot_float, double, load_double, float, load_float)
DEFINE_DOT(dot_floats, float, load_float, float, load_float)
#undef DEFINE_DOT

/* Sum of squared products of x with the directions start..end-1, which lie in at most three panels. */
#define DEFINE_PANEL_SQUARES(TYPE, WIDTH)                                                                            \
    TARGET static double FN(panel_squares_##TYPE)(const TYPE *panels, ptrdiff_t D, ptrdiff_t start, ptrdiff_t end,   \
                                                  const TYPE *x)                                                     \
    {                                                                                                                \
        TYPE sums[3 * WIDTH] = {0};                                                                                  \
        const ptrdiff_t first = start / WIDTH, count = (end + WIDTH - 1) / WIDTH - first;                            \
        panels += first * D * WIDTH;                                                                                 \
        PANEL_SUMS(TYPE, WIDTH)                                                                                      \
        for (ptrdiff_t w = 0; w < start % WIDTH; w++)                                                                \
            sums[w] = 0;                                                                                             \
        double squares[WIDTH] = {0};                                                                                 \
        for (int p = 0; p < 3; p++)                                                                                  \
            for (int w = 0; w < WIDTH; w++)                                                                          \
                squares[w] += (double)sums[p * WIDTH + w] * (double)sums[p * WIDTH + w];                             \
        double sum = 0.0;                                                                                            \
        for (int w = 0; w < WIDTH; w++)                                                                              \
            sum += squares[w];                                                                                       \
        return sum;                                                                                                  \
    }

DEFINE_PANEL_SQUARES(float, 8)
DEFINE_PANEL_SQUARES(double, 4)
#undef DEFINE_PANEL_SQUARES
#undef PANEL_SUMS

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

#undef FN
#undef JOIN
#undef JOIN_
