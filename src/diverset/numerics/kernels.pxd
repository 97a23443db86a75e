cdef extern from "kernels.h" nogil:
    struct kernel_table "kernels":
        double (*dot)(const double *, const double *, Py_ssize_t) noexcept nogil
        double (*dot_float)(const double *, const float *, Py_ssize_t) noexcept nogil
        double (*dot_floats)(const float *, const float *, Py_ssize_t) noexcept nogil
        double (*panel_squares_float)(const float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const float *) noexcept nogil
        double (*panel_squares_double)(const double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double *) noexcept nogil
        void (*add_rows)(double *, const double *, Py_ssize_t, const Py_ssize_t *, const double *, Py_ssize_t) noexcept nogil
        void (*axpy)(double, const double *, double *, Py_ssize_t) noexcept nogil
        void (*axpy_complex)(double, double, const double *, double *, Py_ssize_t) noexcept nogil
        void (*dot_complex)(double, const double *, const double *, Py_ssize_t, double *) noexcept nogil
        void (*add_trial)(const double *, double *, Py_ssize_t, double, double) noexcept nogil
        double (*convolve)(const double *, const double *, Py_ssize_t) noexcept nogil
        void (*compress)(const double *, Py_ssize_t, const double *, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
        void (*compress_complex)(const double *, Py_ssize_t, const double *, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
        void (*reflect)(const double *, const double *, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
        void (*reflect_complex)(const double *, const double *, Py_ssize_t, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
        void (*reflect_rows)(const double *, double, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil
        void (*reflect_rows_complex)(const double *, double, Py_ssize_t, double *, Py_ssize_t, Py_ssize_t) noexcept nogil

    kernel_table kernels
    const char *kernels_name
    void choose_kernels() noexcept
    void prefetch(const void *, Py_ssize_t) noexcept
