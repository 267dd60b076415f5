//! What a form accepts fits its schema. `cargo +nightly fuzz run form_answer fuzz/corpus/form_answer fuzz/seeds/form_answer`

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mrtr_fuzz::form_answer(data));
