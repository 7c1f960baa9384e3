"""Keras 2 on Theano, whose convolutions flip the kernel."""

import os
from typing import Any, Dict, Optional, Set

from kbench_guest.frameworks import recurrent, theano_headers
from kbench_guest.frameworks.interface import DoneOnReturn
from kbench_guest.frameworks.keras2 import Keras2, is_kernel


class Theano(DoneOnReturn, Keras2):
    def prepare(self) -> None:
        import theano

        for flag in theano.config.gcc.cxxflags.split():
            if flag.startswith("-I") and not os.path.isdir(flag[2:]):
                from theano.gof import cmodule

                flags = cmodule.GCC_compiler.compile_args()
                theano_headers.make(flag[2:], theano.config.cxx, flags, cmodule.std_include_dirs())

    def device(self, model: Any) -> str:
        return "cpu" if self.module.config.device.startswith("cpu") else "gpu"

    def kernels_compiled(self, model: Any) -> Set[str]:
        return recurrent.of_theano(model.predict_function.function)

    def threads(self) -> Dict[str, Any]:
        # Results are made to be published: the user's home folder is not named.
        flags = str(self.module.config.blas.ldflags).replace(os.path.expanduser("~"), "~")
        return {"openmp": bool(self.module.config.openmp), "blas": flags}

    def to_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        if not is_kernel(owner, name):
            return value
        return value[tuple([slice(None, None, -1)] * (value.ndim - 2))]

    from_shared = to_shared  # twice flipped is not flipped


INTERFACE = Theano
