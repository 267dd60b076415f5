//! `mrtr keygen`.

use crate::mrtr;

#[test]
fn every_key_is_new_and_long_enough() {
    let (one, two) = (mrtr(["keygen"]), mrtr(["keygen"]));
    assert_ne!(one.stdout, two.stdout);
    let keys = format!("{}{}", one.stdout, two.stdout);
    let ring = mrtr::Keyring::parse(&keys).expect("two keys");
    assert_eq!((one.code, one.stdout.lines().count()), (0, 1));
    for (ran, fingerprint) in [one, two].iter().zip(ring.fingerprints()) {
        assert_eq!(
            ran.stderr,
            format!(
                "The key's fingerprint is {fingerprint}; it is no secret, and what servers and mrtr state inspect call the key.\n"
            )
        );
    }
}
