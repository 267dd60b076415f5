//! An issuer's public keys, as its JSON Web Key Set tells them ([RFC 7517](https://www.rfc-editor.org/rfc/rfc7517)).
//!
//! A key is taken only for what its entry allows: `use`, `key_ops`, `alg`, its type and its curve. The header of a token
//! chooses among the algorithms that are left, and never brings a key.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{
    Algorithm,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse},
};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::Value;

/// The keys of a set that can verify a token's signature.
#[derive(Debug)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The only algorithm it may be used with, where its entry names one.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// Public numbers; nothing here is secret.
#[derive(Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// Why a text is not a set of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeySetError {
    #[error("it is not a JSON Web Key Set: {0}")]
    NotASet(String),
    #[error("none of its {0} keys is a public RSA, P-256, P-384 or Ed25519 key for signatures")]
    NothingUsable(usize),
}

/// Why no key verifies a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unverified {
    /// The token does not say which key, and more than one could be meant.
    Ambiguous,
    /// No key of the set fits the token's `kid` and `alg`.
    NoKey,
    /// The signature is not this key's.
    Signature,
}

impl KeySet {
    /// Reads a set; keys that are not for verifying signatures are left out, as others may be for other purposes.
    pub(super) fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_slice(text).map_err(|error| KeySetError::NotASet(error.to_string()))?;
        let entries = set.keys.len();
        let usable: Vec<Key> = set.keys.into_iter().filter_map(Key::from_entry).collect();
        if usable.is_empty() {
            return Err(KeySetError::NothingUsable(entries));
        }
        Ok(Self(usable))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a key of this name is here; a token that names none could mean any.
    pub(super) fn knows(&self, id: Option<&str>) -> bool {
        id.is_none() || self.0.iter().any(|key| key.id.as_deref() == id)
    }

    /// Verifies a signature with the key the token names. Without a name there must be only one that fits.
    pub(super) fn verify(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Unverified> {
        let is_meant = |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let fitting: Vec<&Key> = self.0.iter().filter(is_meant).filter(|key| key.fits(algorithm)).collect();
        match fitting[..] {
            [] => Err(Unverified::NoKey),
            [_, _, ..] if id.is_none() => Err(Unverified::Ambiguous),
            // A name should be unique, and where it is not, each of its keys is the issuer's.
            _ if fitting.iter().any(|key| key.material.verify(algorithm, message, signature)) => Ok(()),
            _ => Err(Unverified::Signature),
        }
    }
}

impl Key {
    fn from_entry(entry: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(entry).ok()?;
        let common = jwk.common;
        if common.public_key_use.is_some_and(|purpose| purpose != PublicKeyUse::Signature)
            || common.key_operations.is_some_and(|operations| !operations.contains(&KeyOperations::Verify))
        {
            return None;
        }
        let algorithm = common.key_algorithm.map(Algorithm::try_from).transpose().ok()?;
        let material = Material::from_parameters(jwk.algorithm)?;
        if algorithm.is_some_and(|algorithm| !material.fits(algorithm)) {
            return None;
        }
        Some(Self { id: common.key_id, algorithm, material })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        self.material.fits(algorithm) && self.algorithm.is_none_or(|only| only == algorithm)
    }
}

impl Material {
    fn from_parameters(parameters: AlgorithmParameters) -> Option<Self> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        // An uncompressed point: 4, x, y, the coordinates at their full length.
        let point = |x: &str, y: &str, length: usize| {
            let (x, y) = (bytes(x)?, bytes(y)?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        match parameters {
            AlgorithmParameters::RSA(rsa) => {
                // ring takes numbers without leading zeros, which some issuers send.
                let number = |text: &str| Some(bytes(text)?.into_iter().skip_while(|byte| *byte == 0).collect());
                Some(Self::Rsa { n: number(&rsa.n)?, e: number(&rsa.e)? })
            }
            AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
                EllipticCurve::P256 => point(&ec.x, &ec.y, 32).map(Self::P256),
                EllipticCurve::P384 => point(&ec.x, &ec.y, 48).map(Self::P384),
                _ => None,
            },
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
                bytes(&pair.x).filter(|x| x.len() == 32).map(Self::Ed25519)
            }
            // Secrets have no place in a public document; whoever puts one there does not make it a key.
            _ => None,
        }
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa { .. } => rsa(algorithm).is_some(),
            Self::P256(_) => algorithm == Algorithm::ES256,
            Self::P384(_) => algorithm == Algorithm::ES384,
            Self::Ed25519(_) => algorithm == Algorithm::EdDSA,
        }
    }

    fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let (verification, key): (&'static dyn VerificationAlgorithm, _) = match self {
            Self::Rsa { n, e } => {
                return rsa(algorithm)
                    .is_some_and(|scheme| RsaPublicKeyComponents { n, e }.verify(scheme, message, signature).is_ok());
            }
            Self::P256(point) => (&signature::ECDSA_P256_SHA256_FIXED, point),
            Self::P384(point) => (&signature::ECDSA_P384_SHA384_FIXED, point),
            Self::Ed25519(point) => (&signature::ED25519, point),
        };
        UnparsedPublicKey::new(verification, key).verify(message, signature).is_ok()
    }
}

/// The RSA scheme of an algorithm; keys of less than 2048 bits verify nothing.
fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7515, appendices A.2 and A.3, and of RFC 8037, appendix A.4: key, token.
    const RFC_TOKENS: [(&str, &str, Algorithm); 3] = [
        (
            r#"{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#,
            "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
            Algorithm::RS256,
        ),
        (
            r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            Algorithm::ES256,
        ),
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
            Algorithm::EdDSA,
        ),
    ];

    fn set(keys: &[Value]) -> Result<KeySet, KeySetError> {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes())
    }

    fn verify(keys: &[Value], id: Option<&str>, example: usize) -> Result<(), Unverified> {
        let (_, token, algorithm) = RFC_TOKENS[example];
        let (message, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        set(keys).unwrap().verify(id, algorithm, message.as_bytes(), &signature)
    }

    fn key(example: usize, members: &Value) -> Value {
        let mut key: Value = serde_json::from_str(RFC_TOKENS[example].0).unwrap();
        for (name, value) in members.as_object().unwrap() {
            key[name] = value.clone();
        }
        key
    }

    #[test]
    fn the_examples_of_the_rfcs_verify_with_their_own_key_only() {
        let keys = [0, 1, 2].map(|example| key(example, &json!({ "kid": example.to_string() })));
        for example in 0..3 {
            assert_eq!(verify(&keys, Some(&example.to_string()), example), Ok(()));
            assert_eq!(verify(&keys, None, example), Ok(()), "only one key fits the algorithm");
            assert_eq!(verify(&keys, Some(&((example + 1) % 3).to_string()), example), Err(Unverified::NoKey));
            assert_eq!(verify(&keys, Some("other"), example), Err(Unverified::NoKey));
        }
    }

    #[test]
    fn a_token_without_a_key_id_needs_a_set_with_one_fitting_key() {
        let twice = [key(1, &json!({ "kid": "a" })), key(1, &json!({ "kid": "b" }))];
        assert_eq!(verify(&twice, None, 1), Err(Unverified::Ambiguous));
        assert_eq!(verify(&twice, Some("b"), 1), Ok(()));
    }

    #[test]
    fn a_key_is_used_only_for_what_its_entry_allows() {
        for (members, is_usable) in [
            (json!({ "use": "sig" }), true),
            (json!({ "key_ops": ["verify"] }), true),
            (json!({ "alg": "RS256" }), true),
            (json!({ "use": "enc" }), false),
            (json!({ "key_ops": ["encrypt"] }), false),
            (json!({ "alg": "HS256" }), false),
            (json!({ "alg": "ES256" }), false),
            (json!({ "alg": "RSA-OAEP" }), false),
            (json!({ "alg": "unheard of" }), false),
            (json!({ "kty": "oct", "k": "c2VjcmV0" }), false),
            (json!({ "n": "not base64!" }), false),
            (json!({ "n": null }), false),
        ] {
            let set = set(&[key(0, &members)]);
            assert_eq!(set.is_ok(), is_usable, "{members}");
        }
        assert_eq!(verify(&[key(0, &json!({ "alg": "RS512" }))], None, 0), Err(Unverified::NoKey));
    }

    #[test]
    fn a_short_rsa_key_verifies_nothing() {
        let short = key(0, &json!({ "n": URL_SAFE_NO_PAD.encode([0xc5; 128]) }));
        assert_eq!(verify(&[short], None, 0), Err(Unverified::Signature));
    }

    #[test]
    fn what_is_not_a_set_says_so() {
        for text in ["", "[]", "{}", "{\"keys\":1}", "<html>"] {
            assert!(matches!(KeySet::parse(text.as_bytes()), Err(KeySetError::NotASet(_))), "{text}");
        }
        assert_eq!(set(&[json!({}), json!(1)]).unwrap_err(), KeySetError::NothingUsable(2));
    }
}
