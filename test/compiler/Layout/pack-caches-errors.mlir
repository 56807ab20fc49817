// RUN: sinter-opt %s --sinter-pack-caches --verify-diagnostics

// expected-error @below {{expected the module to say what it is compiled for (sinter.target)}}
module {}
