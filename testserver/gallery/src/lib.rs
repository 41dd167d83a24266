//! Operators with one classic bug each, and correct ones, in `tests/`: what `kube-verify` has to find, and what it must not complain about.
