"""The parts of gpu-check."""
