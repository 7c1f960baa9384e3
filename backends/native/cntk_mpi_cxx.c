/* The four symbols of Open MPI's old C++ bindings that CNTK 2.7 refers to; built as libmpi_cxx.so.1.
 *
 * CNTK's objects carry them because mpi.h used to include the C++ bindings; in one process none is ever called.
 * Each does nothing, so that the loader is satisfied and nothing else changes. */

void _ZN3MPI3Win4FreeEv(void *self) { (void)self; }      /* MPI::Win::Free() */
void _ZN3MPI8Datatype4FreeEv(void *self) { (void)self; } /* MPI::Datatype::Free() */
void _ZN3MPI4CommC2Ev(void *self) { (void)self; }        /* MPI::Comm::Comm() */
void ompi_mpi_cxx_op_intercept(void *invec, void *outvec, int *len, void *datatype, void *function)
{
    (void)invec, (void)outvec, (void)len, (void)datatype, (void)function;
}
