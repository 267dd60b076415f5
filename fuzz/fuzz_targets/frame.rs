//! Any body gets a reply the protocol knows. `cargo +nightly fuzz run frame fuzz/corpus/frame fuzz/seeds/frame`

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mrtr_fuzz::frame(data));
