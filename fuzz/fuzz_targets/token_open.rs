//! No text opens but the state that was sealed. `cargo +nightly fuzz run token_open fuzz/corpus/token_open fuzz/seeds/token_open`

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mrtr_fuzz::token_open(data));
