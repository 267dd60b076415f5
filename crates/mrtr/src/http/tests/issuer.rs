//! An authorization server for tests: it signs what it is told, and serves its keys.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
        RSA_PKCS1_SHA256, RSA_PSS_SHA512, RsaEncoding,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::server::{Clock, Sleep};

pub(super) const ISSUER: &str = "https://id.example.com";
pub(super) const AUDIENCE: &str = "https://mcp.example.com/mcp";
/// When these tests happen.
pub(super) const NOW: u64 = 1_800_000_000;

/// A private key.
pub(super) enum Signer {
    Rsa(Box<rsa::KeyPair>, &'static dyn RsaEncoding),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Signer {
    /// The first RSA key of `fixtures/keys`.
    pub(super) fn rsa_a() -> Self {
        Self::rsa(include_bytes!("../../../../../fixtures/keys/rsa-a.pkcs8.der"), &RSA_PKCS1_SHA256)
    }

    /// The second one.
    pub(super) fn rsa_b() -> Self {
        Self::rsa(include_bytes!("../../../../../fixtures/keys/rsa-b.pkcs8.der"), &RSA_PKCS1_SHA256)
    }

    /// The first one again, for RSASSA-PSS.
    pub(super) fn rsa_pss() -> Self {
        Self::rsa(include_bytes!("../../../../../fixtures/keys/rsa-a.pkcs8.der"), &RSA_PSS_SHA512)
    }

    fn rsa(pkcs8: &[u8], encoding: &'static dyn RsaEncoding) -> Self {
        Self::Rsa(Box::new(rsa::KeyPair::from_pkcs8(pkcs8).unwrap()), encoding)
    }

    pub(super) fn p256() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random);
        Self::P256(pair.unwrap())
    }

    pub(super) fn p384() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, pkcs8.as_ref(), &random);
        Self::P384(pair.unwrap())
    }

    pub(super) fn ed25519() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    /// The public key's entry in a key set.
    pub(super) fn jwk(&self, id: &str) -> Value {
        let point = |curve: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            json!({ "kid": id, "kty": "EC", "crv": curve, "x": encode(x), "y": encode(y) })
        };
        match self {
            Self::Rsa(pair, _) => {
                let key: rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({ "kid": id, "kty": "RSA", "n": encode(key.n), "e": encode(key.e) })
            }
            Self::P256(pair) => point("P-256", pair.public_key().as_ref()),
            Self::P384(pair) => point("P-384", pair.public_key().as_ref()),
            Self::Ed25519(pair) => {
                json!({ "kid": id, "kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key()) })
            }
        }
    }

    /// A token with this header and these claims, whatever they say.
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match self {
            Self::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Self::P256(pair) | Self::P384(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", encode(signature))
    }

    /// The public RSA key as files have it: PKCS#1, and what is in a `PUBLIC KEY` file, in DER and in PEM.
    pub(super) fn public_files(&self) -> [Vec<u8>; 3] {
        let Self::Rsa(pair, _) = self else { panic!("only RSA keys are looked at this way") };
        let pkcs1 = pair.public().as_ref().to_vec();
        let info = STANDARD.decode("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A").unwrap();
        let spki = [info, pkcs1.clone()].concat();
        let lines: Vec<String> = STANDARD
            .encode(&spki)
            .as_bytes()
            .chunks(64)
            .map(|line| String::from_utf8(line.to_vec()).unwrap())
            .collect();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
        [pkcs1, spki, pem.into_bytes()]
    }
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A token "signed" with a shared secret.
pub(super) fn hmac_signed(secret: &[u8], header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", encode(tag))
}

/// Claims that let ada in.
pub(super) fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW + 300, "iat": NOW, "scope": "read deploy" })
}

/// A clock that tests move by hand; it begins at [`NOW`].
#[derive(Debug, Default)]
pub(super) struct HandClock(Mutex<Duration>);

impl HandClock {
    pub(super) fn advance(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

impl Clock for HandClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW) + *self.0.lock().unwrap()
    }

    fn sleep(&self, _: Duration) -> Option<Sleep> {
        None
    }
}

/// What a key server does when it is asked.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Body(String),
    Status(&'static str),
    Hangs,
}

/// A key server on a loopback port.
#[derive(Debug)]
pub(super) struct KeyServer {
    pub(super) url: String,
    answer: Arc<Mutex<Answer>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let server = Self { url, answer: Arc::new(Mutex::new(answer)), asked: Arc::default() };
        let (answer, asked) = (Arc::clone(&server.answer), Arc::clone(&server.asked));
        tokio::spawn(async move {
            loop {
                let (mut peer, _) = listener.accept().await.unwrap();
                asked.fetch_add(1, Ordering::SeqCst);
                let answer = answer.lock().unwrap().clone();
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    let _ = peer.read(&mut request).await;
                    let (status, body) = match answer {
                        Answer::Body(body) => ("200 OK", body),
                        Answer::Status(status) => (status, String::new()),
                        Answer::Hangs => std::future::pending().await,
                    };
                    let head = format!(
                        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\nLocation: /jwks.json\r\n\r\n",
                        body.len()
                    );
                    let _ = peer.write_all(format!("{head}{body}").as_bytes()).await;
                });
            }
        });
        server
    }

    pub(super) fn now(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A key server's answer with these keys.
pub(super) fn keys(keys: &[Value]) -> Answer {
    Answer::Body(json!({ "keys": keys }).to_string())
}
