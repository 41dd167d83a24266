//! Operators with one classic bug each, and correct ones.

mod correct;
mod faulty;
mod operators;
