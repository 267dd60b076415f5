//! Any response ends a call or is answered to the letter. `cargo +nightly fuzz run client_reply fuzz/corpus/client_reply fuzz/seeds/client_reply`

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mrtr_fuzz::client_reply(data));
