# Uniform numbers of a NumPy generator without the interpreter; the plain twin is uniforms.py beside this file.

from cpython.pycapsule cimport PyCapsule_GetPointer


cdef extern from "numpy/random/bitgen.h" nogil:
    ctypedef struct bitgen_t:
        void *state
        double (*next_double)(void *) noexcept nogil


ctypedef bitgen_t *Bits


cdef inline object lock_of(rng):
    return rng.bit_generator.lock


cdef inline Bits open_generator(rng) except NULL:
    return <Bits>PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")


cdef inline double uniform(Bits bits) noexcept nogil:
    return bits.next_double(bits.state)
