//! The `mrtr` program.
fn main() {}
