//! Forms: elicitation schemas from Rust types, their validation, and the model clients render.
