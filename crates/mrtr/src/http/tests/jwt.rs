//! Bearer tokens: the good one, and every way known to forge or misuse one.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{
    issuer::{AUDIENCE, HandClock, ISSUER, NOW, Signer, claims, encode, hmac_signed},
    world::{Served, call, called, endpoint, head, json, logged, request},
};
use crate::{
    Context, NoArguments, Server, Tool, ToolError,
    http::{
        Jwks, JwtAuthenticator, McpService, ResourceMetadata, ResponseBody,
        endpoint::{Endpoint, Handle},
        serve::Options,
    },
    server::{Incoming, Reply},
};

/// Counts the calls that got through, and names the caller.
#[derive(Debug, Default)]
struct Counted(AtomicUsize);

impl Handle for Counted {
    async fn handle(&self, incoming: Incoming<'_>) -> Reply {
        self.0.fetch_add(1, Ordering::SeqCst);
        let caller = incoming.principal.map(|caller| [caller.issuer, caller.subject]);
        Reply { status: 200, body: json!(caller).to_string().into_bytes() }
    }
}

fn fixed(keys: &[Value]) -> JwtAuthenticator {
    let keys = Jwks::from_json(&json!({ "keys": keys }).to_string()).unwrap();
    JwtAuthenticator::new(ISSUER, AUDIENCE, keys).clock(Arc::new(HandClock::default()))
}

fn guarded(authenticator: JwtAuthenticator) -> (Endpoint<Counted>, Arc<Counted>) {
    let counted = Arc::new(Counted::default());
    let mut endpoint = Endpoint::new(Arc::clone(&counted));
    endpoint.rules_mut().auth.set_authenticator(authenticator);
    endpoint.rules_mut().auth.metadata = Some(Arc::new(ResourceMetadata::new(AUDIENCE, [ISSUER]).unwrap()));
    (endpoint, counted)
}

fn with(authorization: &[&str]) -> Request<Full<Bytes>> {
    let mut request = request(Full::from("{}"));
    for value in authorization {
        request.headers_mut().append(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap());
    }
    request
}

fn challenge(response: &Response<ResponseBody>) -> &str {
    response.headers().get(header::WWW_AUTHENTICATE).map_or("", |challenge| challenge.to_str().unwrap())
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

#[tokio::test]
async fn a_good_token_of_each_kind_names_its_caller() {
    for (signer, algorithm) in [
        (Signer::rsa_a(), "RS256"),
        (Signer::rsa_pss(), "PS512"),
        (Signer::p256(), "ES256"),
        (Signer::p384(), "ES384"),
        (Signer::ed25519(), "EdDSA"),
    ] {
        let (endpoint, _) = guarded(fixed(&[signer.jwk("a")]));
        let token = signer.sign(&json!({ "alg": algorithm, "kid": "a", "typ": "at+jwt" }), &claims());
        for authorization in [format!("Bearer {token}"), format!("bearer  {token} ")] {
            let response = endpoint.respond(with(&[&authorization])).await;
            assert_eq!(response.status(), 200, "{algorithm}: {}", challenge(&response));
            assert_eq!(json(response).await, json!([ISSUER, "ada"]));
        }
    }
}

#[tokio::test]
async fn tokens_at_the_edge_of_what_is_good_pass() {
    let signer = Signer::rsa_a();
    let (endpoint, _) = guarded(fixed(&[signer.jwk("a")]));
    let rs256 = json!({ "alg": "RS256", "kid": "a" });
    for (what, header, claims) in [
        ("just expired by our clock", rs256.clone(), changed("exp", json!(NOW - 59))),
        ("valid a moment from now by our clock", rs256.clone(), changed("nbf", json!(NOW + 60))),
        ("times with fractions", rs256.clone(), changed("exp", json!(NOW as f64 + 0.5))),
        ("several audiences", rs256.clone(), changed("aud", json!(["https://other.example", AUDIENCE]))),
        ("no kid where the set has one key", json!({ "alg": "RS256" }), claims()),
        ("the type most issuers give", json!({ "alg": "RS256", "kid": "a", "typ": "JWT" }), claims()),
        ("the type as a media type", json!({ "alg": "RS256", "kid": "a", "typ": "application/AT+jwt" }), claims()),
        (
            "keys and URLs in the header, which are ignored",
            json!({ "alg": "RS256", "kid": "a", "jku": "https://evil.example", "x5u": "https://evil.example" }),
            claims(),
        ),
    ] {
        let token = signer.sign(&header, &claims);
        let response = endpoint.respond(with(&[&format!("Bearer {token}")])).await;
        assert_eq!(response.status(), 200, "{what}: {}", challenge(&response));
    }
}

#[tokio::test]
async fn no_forged_or_foreign_token_gets_through() {
    let (ours, theirs, ec) = (Signer::rsa_a(), Signer::rsa_b(), Signer::p256());
    let mut bound = ec.jwk("ec");
    bound["alg"] = json!("ES256");
    let (endpoint, counted) = guarded(fixed(&[ours.jwk("a"), Signer::rsa_pss().jwk("twin"), bound]));

    let rs256 = json!({ "alg": "RS256", "kid": "a" });
    let signed = |claims: &Value| ours.sign(&rs256, claims);
    let good = signed(&claims());
    let [head, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
    let unsigned = |algorithm: &str| encode(json!({ "alg": algorithm, "kid": "a" }).to_string());
    let admin = encode(changed("sub", json!("admin")).to_string());
    let own_key = json!({ "alg": "RS256", "kid": "a", "jwk": theirs.jwk("a") });
    let own_url =
        json!({ "alg": "RS256", "kid": "evil", "jku": "https://evil.example/jwks", "x5u": "https://evil.example" });
    let [pkcs1, spki, pem] = ours.public_files();
    let hs256 = json!({ "alg": "HS256", "kid": "a" });

    let table: Vec<(&str, String, &str)> = vec![
        ("alg none, unsigned", format!("{}.{payload}.", unsigned("none")), "not a JWT signed in a way"),
        ("alg NoNe, unsigned", format!("{}.{payload}.", unsigned("NoNe")), "not a JWT signed in a way"),
        (
            "alg none, with a signature",
            format!("{}.{payload}.{signature}", unsigned("none")),
            "not a JWT signed in a way",
        ),
        ("signature cut off", format!("{head}.{payload}."), "signature of the access token is wrong"),
        ("no signature part", format!("{head}.{payload}"), "not a JWT"),
        ("five parts", format!("{good}.a.b"), "not a JWT"),
        ("wrong issuer", signed(&changed("iss", json!("https://id.example.com/"))), "another issuer"),
        ("wrong audience", signed(&changed("aud", json!("https://other.example/mcp"))), "another server"),
        ("no audience at all", signed(&changed("aud", json!([]))), "another server"),
        ("missing audience", signed(&without("aud")), "lacks a claim"),
        ("missing issuer", signed(&without("iss")), "lacks a claim"),
        ("missing expiry", signed(&without("exp")), "lacks a claim"),
        ("expiry as a text", signed(&changed("exp", json!("2099-01-01"))), "lacks a claim"),
        ("expired", signed(&changed("exp", json!(NOW - 60))), "has expired"),
        ("not valid yet", signed(&changed("nbf", json!(NOW + 61))), "not valid yet"),
        ("missing subject", signed(&without("sub")), "lacks a claim"),
        ("empty subject", signed(&changed("sub", json!(""))), "no subject"),
        ("subject that is no text", signed(&changed("sub", json!(7))), "lacks a claim"),
        ("another key under the same kid", theirs.sign(&rs256, &claims()), "signature of the access token is wrong"),
        ("unknown kid", theirs.sign(&json!({ "alg": "RS256", "kid": "b" }), &claims()), "not one of its issuer's"),
        ("no kid where two keys fit", ours.sign(&json!({ "alg": "RS256" }), &claims()), "does not name its key"),
        ("HS256 with the public key, PKCS#1", hmac_signed(&pkcs1, &hs256, &claims()), "not accepted here"),
        ("HS256 with the public key, DER", hmac_signed(&spki, &hs256, &claims()), "not accepted here"),
        ("HS256 with the public key, PEM", hmac_signed(&pem, &hs256, &claims()), "not accepted here"),
        ("alg that is not the key's", ours.sign(&json!({ "alg": "RS512", "kid": "a" }), &claims()), "signature of the"),
        ("alg of another kind of key", ours.sign(&json!({ "alg": "RS256", "kid": "ec" }), &claims()), "not one of its"),
        ("tampered payload", format!("{head}.{admin}.{signature}"), "signature of the access token is wrong"),
        (
            "tampered signature",
            format!("{head}.{payload}.A{}", &signature[1..]),
            "signature of the access token is wrong",
        ),
        ("signature with padding", format!("{good}=="), "not readable"),
        ("its own key in the header", theirs.sign(&own_key, &claims()), "signature of the access token is wrong"),
        ("its own key server in the header", theirs.sign(&own_url, &claims()), "not one of its issuer's"),
        (
            "critical extension",
            ours.sign(&json!({ "alg": "RS256", "kid": "a", "crit": ["exp"] }), &claims()),
            "not accepted here",
        ),
        (
            "payload that is not encoded",
            ours.sign(&json!({ "alg": "RS256", "kid": "a", "b64": false }), &claims()),
            "not accepted here",
        ),
        (
            "logout token",
            ours.sign(&json!({ "alg": "RS256", "kid": "a", "typ": "logout+jwt" }), &claims()),
            "another kind",
        ),
        ("garbage", "garbage".to_owned(), "not a JWT"),
        ("dots", "..".to_owned(), "not a JWT"),
        ("an opaque token", "9f8b2c".repeat(8), "not a JWT"),
    ];
    for (what, token, says) in table {
        let response = endpoint.respond(with(&[&format!("Bearer {token}")])).await;
        assert_eq!(response.status(), 401, "{what}");
        let challenge = challenge(&response);
        assert!(challenge.starts_with("Bearer error=\"invalid_token\""), "{what}: {challenge}");
        assert!(challenge.contains(says) && challenge.contains("resource_metadata="), "{what}: {challenge}");
        let body = json(response).await;
        assert!(body["error"]["message"].as_str().unwrap().contains(says), "{what}: {body}");
        assert!(!body.to_string().contains(&token) || token.len() < 3, "{what}: the token is not repeated");
    }
    assert_eq!(counted.0.load(Ordering::SeqCst), 0, "the handler never ran");
    assert_eq!(endpoint.respond(with(&[&format!("Bearer {good}")])).await.status(), 200, "the token all were made of");
}

#[tokio::test]
async fn what_carries_no_token_is_asked_for_one() {
    let signer = Signer::rsa_a();
    let (endpoint, counted) = guarded(fixed(&[signer.jwk("a")]).require_scopes(["deploy"]));
    let token = signer.sign(&json!({ "alg": "RS256", "kid": "a" }), &claims());
    let mut in_the_url = with(&[]);
    *in_the_url.uri_mut() = format!("/mcp?access_token={token}").parse().unwrap();

    for (what, request, status) in [
        ("no header", with(&[]), 401),
        ("token in the query string", in_the_url, 401),
        ("Basic", with(&["Basic YWRhOnNlY3JldA=="]), 401),
        ("empty bearer", with(&["Bearer "]), 401),
        ("bare scheme", with(&["Bearer"]), 401),
        ("bare token", with(&[&token]), 401),
        ("scheme without a space", with(&[&format!("Bearer{token}")]), 401),
        ("two headers", with(&[&format!("Bearer {token}"), &format!("Bearer {token}")]), 400),
    ] {
        let response = endpoint.respond(request).await;
        assert_eq!(response.status(), status, "{what}");
        let expected = if status == 401 { "Bearer scope=\"deploy\"," } else { "Bearer error=\"invalid_request\"," };
        assert!(challenge(&response).starts_with(expected), "{what}: {}", challenge(&response));
    }
    assert_eq!(counted.0.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_huge_token_is_refused_before_anything_is_decoded() {
    let (endpoint, counted) = guarded(fixed(&[Signer::rsa_a().jwk("a")]));
    let huge = format!("Bearer {}.a.a", "a".repeat(10 << 20));
    let request = with(&[&huge]);
    let response = endpoint.respond(request).await;
    assert_eq!(response.status(), 401);
    assert!(challenge(&response).contains("larger than 16 KiB"));
    assert_eq!(counted.0.load(Ordering::SeqCst), 0);

    // From a socket it does not even get that far.
    let served = Served::start(endpoint, Options::default()).await;
    let mut peer = served.connect().await;
    peer.send(&format!("{}Authorization: {}", head(), &huge[..512 << 10])).await;
    assert!(peer.read_until("\r\n").await.starts_with("HTTP/1.1 431"));
}

#[tokio::test]
async fn a_token_without_the_scopes_is_told_all_of_them() {
    let signer = Signer::ed25519();
    let (endpoint, counted) = guarded(fixed(&[signer.jwk("a")]).require_scopes(["deploy", "read"]));
    let with_scope = |name: &str, value: Value| {
        let mut claims = without("scope");
        claims[name] = value;
        let token = signer.sign(&json!({ "alg": "EdDSA", "kid": "a" }), &claims);
        endpoint.respond(with(&[&format!("Bearer {token}")]))
    };
    for (name, value) in
        [("scope", json!("x read deploy")), ("scp", json!(["deploy", "read"])), ("scp", json!("deploy read"))]
    {
        assert_eq!(with_scope(name, value.clone()).await.status(), 200, "{name}: {value}");
    }
    let passed = counted.0.load(Ordering::SeqCst);
    for (name, value) in [
        ("scope", json!("read")),
        ("scope", json!("read deployment")),
        ("scope", json!("")),
        ("scp", json!(["read deploy"])),
        ("roles", json!("read deploy")),
    ] {
        let response = with_scope(name, value.clone()).await;
        assert_eq!(response.status(), 403, "{name}: {value}");
        assert!(challenge(&response).starts_with(
            "Bearer error=\"insufficient_scope\", scope=\"deploy read\", resource_metadata=\"https://mcp.example.com/"
        ));
    }
    assert_eq!(counted.0.load(Ordering::SeqCst), passed);
}

#[tokio::test]
async fn another_name_of_the_server_can_be_an_audience() {
    let signer = Signer::ed25519();
    let (endpoint, _) = guarded(fixed(&[signer.jwk("a")]).also_for("https://mcp.example.com/mcp/"));
    let token =
        signer.sign(&json!({ "alg": "EdDSA", "kid": "a" }), &changed("aud", json!("https://mcp.example.com/mcp/")));
    assert_eq!(endpoint.respond(with(&[&format!("Bearer {token}")])).await.status(), 200);
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    confirm: bool,
}

#[tokio::test]
async fn a_state_is_its_users_whatever_token_they_have_by_then_and_nobody_elses() {
    let deploy = Tool::new("deploy", async |_: NoArguments, cx: Context| {
        let answer: Confirm = cx.elicit("confirm", "Deploy?").await?;
        Ok::<_, ToolError>(if answer.confirm { "Deployed." } else { "Nothing was deployed." })
    });
    let signer = Signer::ed25519();
    let service = McpService::new(Server::new("releases", "1.0.0").tool(deploy).build().unwrap())
        .authenticator(fixed(&[signer.jwk("a")]));
    let leg = async |claims: Value, message: &Value| {
        let token = signer.sign(&json!({ "alg": "EdDSA", "kid": "a" }), &claims);
        let mut request: Request<Full<Bytes>> = called("deploy", message);
        request.headers_mut().insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        json(service.clone().oneshot(request).await.unwrap()).await
    };
    let asked = leg(claims(), &call("deploy")).await;
    let mut retry = call("deploy");
    retry["params"]["requestState"] = asked["result"]["requestState"].clone();
    retry["params"]["inputResponses"] = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });

    let stolen = leg(changed("sub", json!("grace")), &retry).await;
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    let refreshed = changed("exp", json!(NOW + 900));
    assert_eq!(leg(refreshed, &retry).await["result"]["content"][0]["text"], "Deployed.");
}

#[tokio::test]
async fn without_an_authenticator_a_token_changes_nothing() {
    let response = endpoint(Counted::default(), |_| {}).respond(with(&["Bearer whatever"])).await;
    assert_eq!(json(response).await, json!(null));
}

#[tokio::test]
async fn no_token_reaches_the_log() {
    let (log, _guard) = logged();

    let signer = Signer::ed25519();
    let (endpoint, _) = guarded(fixed(&[signer.jwk("a")]));
    let header = json!({ "alg": "EdDSA", "kid": "a" });
    for (claims, status) in [(claims(), 200), (changed("exp", json!(1)), 401), (without("aud"), 401)] {
        let token = signer.sign(&header, &claims);
        let request = with(&[&format!("Bearer {token}")]);
        log.take();
        assert_eq!(endpoint.respond(request).await.status(), status);
        let logged = log.take();
        assert_eq!(logged.contains("refused a request"), status == 401, "{logged}");
        for part in token.split('.') {
            assert!(!logged.contains(part), "{logged}");
        }
    }
}
