/* Inner loops that need wide registers, with the instruction set chosen when the module is loaded.

   On x86-64 with GCC or Clang each kernel exists three times: for every such processor, with AVX2 and FMA, and with
   AVX-512. The best one that the processor has is used. The environment variable DIVERSET_SIMD (baseline, avx2 or
   avx512) lowers the choice. Elsewhere the compiler vectorises the one version for its target.

   NumPy twins of all kernels are in kernels.py beside this file, and tests compare the two. */

#ifndef DIVERSET_KERNELS_H
#define DIVERSET_KERNELS_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define restrict __restrict
#endif

struct kernels {
    double (*dot)(const double *, const double *, ptrdiff_t);
    double (*dot_float)(const double *, const float *, ptrdiff_t);
    double (*dot_floats)(const float *, const float *, ptrdiff_t);
    double (*panel_squares_float)(const float *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const float *);
    double (*panel_squares_double)(const double *, ptrdiff_t, ptrdiff_t, ptrdiff_t, const double *);
    void (*add_rows)(double *, const double *, ptrdiff_t, const ptrdiff_t *, const double *, ptrdiff_t);
    void (*axpy)(double, const double *, double *, ptrdiff_t);
    void (*axpy_complex)(double, double, const double *, double *, ptrdiff_t);
    void (*dot_complex)(double, const double *, const double *, ptrdiff_t, double *);
    void (*add_trial)(const double *, double *, ptrdiff_t, double, double);
    double (*convolve)(const double *, const double *, ptrdiff_t);
    void (*compress)(const double *, ptrdiff_t, const double *, ptrdiff_t, double *, ptrdiff_t, ptrdiff_t);
    void (*compress_complex)(const double *, ptrdiff_t, const double *, ptrdiff_t, double *, ptrdiff_t, ptrdiff_t);
    void (*reflect)(const double *, const double *, ptrdiff_t, ptrdiff_t, double *, ptrdiff_t, ptrdiff_t);
    void (*reflect_complex)(const double *, const double *, ptrdiff_t, ptrdiff_t, double *, ptrdiff_t, ptrdiff_t);
    void (*reflect_rows)(const double *, double, ptrdiff_t, double *, ptrdiff_t, ptrdiff_t);
    void (*reflect_rows_complex)(const double *, double, ptrdiff_t, double *, ptrdiff_t, ptrdiff_t);
};

/* The kernels are vectorised; for the code around them, which Cython writes, -O2 does and compiles faster. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

#define SET baseline
#define TARGET
#define REGISTER 16
#define WIDEST 16
#include "kernels_body.h"
#undef SET
#undef TARGET
#undef REGISTER
#undef WIDEST

#if defined(__GNUC__) && defined(__x86_64__)
#define REGISTER 32
#define WIDEST 32
#define SET avx2
#define TARGET __attribute__((target("avx2,fma")))
#include "kernels_body.h"
#undef SET
#undef TARGET

#undef WIDEST
#define WIDEST 64
#define SET avx512
#define TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")))
#include "kernels_body.h"
#undef SET
#undef TARGET
#undef REGISTER
#undef WIDEST
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* The kernels in use, and the name of their instruction set. */
static struct kernels kernels = {0};
static const char *kernels_name = "baseline";

/* Choose the kernels; each extension module calls this once, when it is imported. */
static void choose_kernels(void)
{
    kernels = kernels_baseline;
#if defined(__GNUC__) && defined(__x86_64__)
    const char *wanted = getenv("DIVERSET_SIMD");
    const int limit = !wanted || !*wanted || !strcmp(wanted, "avx512") ? 2 : !strcmp(wanted, "avx2") ? 1 : 0;
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (limit >= 1 && avx2) {
        kernels = kernels_avx2;
        kernels_name = "avx2";
    }
    if (limit >= 2 && avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        kernels = kernels_avx512;
        kernels_name = "avx512";
    }
#endif
}

/* Ask memory for `bytes` bytes without waiting for them. */
static inline void prefetch(const void *address, ptrdiff_t bytes)
{
#if defined(__GNUC__)
    for (ptrdiff_t j = 0; j < bytes; j += 64)
        __builtin_prefetch((const char *)address + j, 0, 3);
    /* Without this, GCC takes a function that only prefetches for one without effect, and drops calls of it. */
    __asm__ volatile("" : : "r"(address));
#else
    (void)address;
    (void)bytes;
#endif
}

#endif
