"""Build of the compiled loops; everything else about the package is in pyproject.toml.

The environment variable ``DIVERSET_BUILD`` chooses the kind of build:

- ``plain``: compile nothing; the loops run as plain Python, much slower;
- ``checked``: loops check the bounds of every array access;
- ``sanitized``: the same, with the address sanitizer;
- otherwise: optimised loops, or plain ones where no C compiler is found.
"""

import os
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

LOOPS = sorted(Path("src/diverset").glob("**/_*loops.py"))
KIND = os.environ.get("DIVERSET_BUILD", "optimised")
MSVC = sys.platform == "win32"


def extensions():
    """Extension modules, each from the Python file of its name."""
    import numpy as np
    from Cython.Build import cythonize

    checked = KIND in ("checked", "sanitized")
    flags = ["/O2", "/fp:contract"] if MSVC else ["-O2", "-g0", "-fopenmp-simd", "-fno-math-errno", "-Wno-psabi"]
    sanitizer = ["-fsanitize=address", "-g"] if KIND == "sanitized" else []
    modules = [
        Extension(
            ".".join(path.with_suffix("").parts[1:]),
            [path.as_posix()],
            include_dirs=["src/diverset/numerics", np.get_include()],
            depends=["src/diverset/numerics/kernels.h", "src/diverset/numerics/kernels_body.h"],
            extra_compile_args=flags + sanitizer,
            extra_link_args=sanitizer,
        )
        for path in LOOPS
    ]
    directives = {
        "language_level": 3,
        "boundscheck": checked,
        "wraparound": False,
        "initializedcheck": checked,
        "cdivision": True,
        "embedsignature": False,
        "freethreading_compatible": True,
    }
    return cythonize(modules, compiler_directives=directives, build_dir=f"build/cython-{KIND}", quiet=True)


class BuildLoops(build_ext):
    """Compile the loops, or say that there is no compiler and end well."""

    def run(self):
        """Compile with all processors."""
        self.parallel = self.parallel or os.cpu_count()
        super().run()

    def build_extensions(self):
        """Compile, if there is a compiler."""
        if self._compiles():
            # What another kind of build left behind looks up to date, and is not.
            last = Path("build", "kind-of-loops")
            self.force = self.force or not last.exists() or last.read_text() != KIND
            super().build_extensions()
            last.parent.mkdir(exist_ok=True)
            last.write_text(KIND)
        else:
            self.extensions = []
            print(
                "diverset: no C compiler found, so loops are not compiled and run slowly. "
                "Install a C compiler with Python's headers, and install diverset again.",
                file=sys.stderr,
            )

    def _compiles(self):
        """Whether a C file that needs Python's headers compiles."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "empty.c")
            source.write_text("#include <Python.h>\n")
            try:
                self.compiler.compile([str(source)], output_dir=folder)
            except Exception:
                return False
        return True


setup(ext_modules=[] if KIND == "plain" else extensions(), cmdclass={"build_ext": BuildLoops})
