# Real and complex numbers, and rows of them, in loops; the NumPy version is numbers.py beside this file.

from diverset.numerics.kernels cimport kernels

ctypedef fused number:
    double
    double complex


cdef inline double real(number x) noexcept nogil:
    if number is double:
        return x
    else:
        return x.real


cdef inline number conj(number x) noexcept nogil:
    if number is double:
        return x
    else:
        return x.conjugate()


cdef inline double squared_modulus(number x) noexcept nogil:
    if number is double:
        return x * x
    else:
        return x.real * x.real + x.imag * x.imag


cdef inline void add_row(
    number factor, number[:, ::1] X, Py_ssize_t i, number[:, ::1] Y, Py_ssize_t j, Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    if start >= stop:
        return
    if number is double:
        kernels.axpy(factor, &X[i, start], &Y[j, start], stop - start)
    else:
        kernels.axpy_complex(
            factor.real, factor.imag, <double *> &X[i, start], <double *> &Y[j, start], stop - start
        )


cdef inline number dot_rows(
    number[:, ::1] X, Py_ssize_t i, number[:, ::1] Y, Py_ssize_t j, Py_ssize_t size, bint conjugate
) noexcept nogil:
    cdef double complex total = 0.0
    if number is double:
        return kernels.dot(&X[i, 0], &Y[j, 0], size)
    else:
        kernels.dot_complex(
            -1.0 if conjugate else 1.0, <double *> &X[i, 0], <double *> &Y[j, 0], size, <double *> &total
        )
        return total
