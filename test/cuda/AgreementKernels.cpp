// The kernels of AgreementKernels.cuh for the emulator, linked in.
#include "test/cuda/AgreementKernels.cuh"
