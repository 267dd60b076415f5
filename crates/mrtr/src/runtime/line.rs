//! JSON on one line, as streams that are framed by lines need it.

/// Adds a JSON text without its line ends: they stand between its tokens, where a space means the same.
pub(crate) fn push_line(out: &mut Vec<u8>, json: &[u8]) {
    out.extend(json.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
}
