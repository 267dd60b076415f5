//! The properties the targets assert. They live with the tests of `mrtr`, which run them on stable.

#[path = "../../crates/mrtr/tests/properties.rs"]
mod properties;
#[path = "../../crates/mrtr/tests/properties_client.rs"]
mod properties_client;

pub use properties::{form_answer, frame, token_open};
pub use properties_client::client_reply;
