//! lull bpf
