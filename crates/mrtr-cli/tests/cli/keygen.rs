//! `mrtr keygen`.

use crate::mrtr;

#[test]
fn every_key_is_new_and_long_enough() {
    let (one, two) = (mrtr(["keygen"]), mrtr(["keygen"]));
    assert_ne!(one.stdout, two.stdout);
    let keys = format!("{}{}", one.stdout, two.stdout);
    assert!(mrtr::Keyring::parse(&keys).is_ok());
    assert_eq!((one.code, one.stdout.lines().count(), one.stderr.as_str()), (0, 1, ""));
}
