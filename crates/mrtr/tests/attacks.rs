//! What a client can do to a request state. Every refusal is the same bytes, and the handler never hears of it.

use std::time::Duration;

use mrtr::{Context, Keyring, Principal, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{Effects, World, everything};

const REFUSED: &str = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid or expired requestState"}}"#;
const ARGUMENTS: &str = r#"{"to":"ann","amount":100}"#;

#[derive(Deserialize, JsonSchema)]
struct Transfer {
    to: String,
    amount: u64,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

/// A tool that counts how often its handler starts; its state grows with the length of `key`.
fn transfer(name: &str, key: &'static str, effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new(name, move |transfer: Transfer, cx: Context| {
        effects.happen("run");
        async move {
            let answer: Sure = cx.elicit(key, format!("Send {} to {}?", transfer.amount, transfer.to)).await?;
            Ok::<_, ToolError>(format!("{} {} {:?}", answer.sure, transfer.amount, transfer.note))
        }
    })
}

/// A client that holds a state and retries with whatever it likes.
struct Attacker {
    world: World,
    effects: Effects,
    who: Option<Principal>,
    state: String,
}

impl Attacker {
    fn new() -> Self {
        Self::on(|server| server, "key", None)
    }

    fn on(setup: impl Fn(Server) -> Server, key: &'static str, who: Option<Principal>) -> Self {
        let effects = Effects::default();
        let (tool, other) = (transfer("transfer", key, &effects), transfer("refund", key, &effects));
        let world = World::of(|server| setup(server.tool(tool.clone()).tool(other.clone())));
        let first = body("transfer", ARGUMENTS, "{}", "null");
        let reply: Value = serde_json::from_slice(&world.send_as(&first, who.clone()).body).expect("JSON");
        let state = reply["result"]["requestState"].as_str().expect("a state").to_owned();
        Self { world, effects, who, state }
    }

    /// Retries with an accepted answer and checks what comes back, to the byte.
    #[track_caller]
    fn retries(&self, tool: &str, arguments: &str, state: &str) -> String {
        let answers = r#"{"key":{"action":"accept","content":{"sure":true}}}"#;
        let reply = self.world.send_as(&body(tool, arguments, answers, &json!(state).to_string()), self.who.clone());
        assert_eq!(reply.status, 200);
        String::from_utf8(reply.body).expect("text")
    }

    #[track_caller]
    fn is_refused(&self, tool: &str, arguments: &str, state: &str, why: &str) {
        let runs = self.effects.count("run");
        assert_eq!(self.retries(tool, arguments, state), REFUSED, "{why}: {state:.300}");
        assert_eq!(self.effects.count("run"), runs, "{why}");
    }

    #[track_caller]
    fn state_is_refused(&self, state: &str, why: &str) {
        self.is_refused("transfer", ARGUMENTS, state, why);
    }

    #[track_caller]
    fn passes(&self, arguments: &str) {
        let reply = self.retries("transfer", arguments, &self.state);
        assert!(
            reply.contains(r#""resultType":"complete""#) && reply.contains("true 100 None"),
            "{arguments}: {reply}"
        );
    }
}

fn body(tool: &str, arguments: &str, answers: &str, state: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": everything(),
    });
    format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"inputResponses":{answers},"requestState":{state},"_meta":{meta}}}}}"#
    )
}

/// The alphabet of a token and characters that are close to it.
const CHARACTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. \u{e9}";

#[test]
fn the_state_itself_passes() {
    Attacker::new().passes(ARGUMENTS);
}

#[test]
fn a_character_changed_anywhere_is_refused() {
    let attacker = Attacker::new();
    for (at, was) in attacker.state.char_indices() {
        let others = CHARACTERS.chars().cycle().skip(at * 7).filter(|c| *c != was).take(3);
        for other in others.chain([char::from(was as u8 ^ 0x20)]) {
            let mut changed = attacker.state.clone();
            changed.replace_range(at..=at, &other.to_string());
            attacker.state_is_refused(&changed, "changed");
        }
    }
}

#[test]
fn a_character_dropped_or_added_anywhere_is_refused() {
    let attacker = Attacker::new();
    for at in 0..=attacker.state.len() {
        for added in ["A", "_", "=", " ", "\u{0}", "m1."] {
            let mut longer = attacker.state.clone();
            longer.insert_str(at, added);
            attacker.state_is_refused(&longer, "added");
        }
        attacker.state_is_refused(&attacker.state[at..].repeat(2), "repeated");
        if at < attacker.state.len() {
            attacker.state_is_refused(&attacker.state[..at], "cut off");
            let mut shorter = attacker.state.clone();
            shorter.remove(at);
            attacker.state_is_refused(&shorter, "dropped");
        }
    }
}

#[test]
fn each_token_has_one_spelling_whatever_its_length() {
    let mut spellings = 0;
    for key in ["k", "ke", "key"] {
        let attacker = Attacker::on(|server| server, key, None);
        let (head, last) = attacker.state.split_at(attacker.state.len() - 1);
        spellings += usize::from(!(attacker.state.len() - 3).is_multiple_of(4));
        for other in CHARACTERS.chars().filter(|c| !last.starts_with(*c)) {
            attacker.state_is_refused(&format!("{head}{other}"), "trailing bits");
        }
        for tail in ["=", "==", "\n", "%3D", "\u{0}"] {
            attacker.state_is_refused(&format!("{}{tail}", attacker.state), "padded");
        }
        let standard = attacker.state.replace('-', "+").replace('_', "/");
        if standard != attacker.state {
            attacker.state_is_refused(&standard, "the other alphabet");
        }
    }
    assert!(spellings >= 1, "none of the tokens has trailing bits");
}

#[test]
fn what_was_never_a_state_of_ours_is_refused() {
    let attacker = Attacker::new();
    let code = "eyJhbGciOiJIUzI1NiJ9.eyJzdGVwIjoxfQ.4Rk0nYvM0eYdMkXh0mM3oH2n0nq7t0u8m8t6G1m8r3g";
    let next_version = attacker.state.replace("m1.", "m2.");
    for state in ["", " ", "m1.", "m1", "null", "{}", "eyJzdGVwIjoxfQ==", code, "\u{1F680}", &next_version] {
        attacker.state_is_refused(state, "invented");
    }
    attacker.state_is_refused(&"A".repeat(1 << 20), "a megabyte");
    attacker.state_is_refused(&format!("m1.{}", "A".repeat(1 << 20)), "a megabyte that starts like ours");
}

#[test]
fn a_state_belongs_to_one_tool_and_its_arguments() {
    let attacker = Attacker::new();
    attacker.is_refused("refund", ARGUMENTS, &attacker.state, "another tool");
    for other in [
        r#"{"to":"bob","amount":100}"#,
        r#"{"to":"ann","amount":101}"#,
        r#"{"to":"ann","amount":1e3}"#,
        r#"{"to":"ann","amount":"100"}"#,
        r#"{"to":"ann","amount":100,"note":null}"#,
        r#"{"to":"ann","amount":100,"extra":1}"#,
        r#"{"to":"ann"}"#,
        r#"{"to":["ann"],"amount":100}"#,
        r#"{"to":"ann ","amount":100}"#,
        "{}",
        "null",
    ] {
        attacker.is_refused("transfer", other, &attacker.state, other);
    }
}

#[test]
fn the_same_arguments_may_be_spelled_differently() {
    let attacker = Attacker::new();
    for same in [
        ARGUMENTS,
        r#"{"amount":100,"to":"ann"}"#,
        r#"{"to":"ann","amount":100.0}"#,
        r#"{"to":"ann","amount":1e2}"#,
        r#"{"to":"ann","amount":1.0E+2}"#,
        r#"{"to":"ann","amount":1000e-1}"#,
        r#"{"t\u006f":"\u0061nn","amount":100}"#,
        "{\n\t\"to\" : \"ann\" ,\r\n \"amount\":100 }",
    ] {
        attacker.passes(same);
    }
}

#[test]
fn neighbours_past_two_to_the_53_are_different_arguments() {
    let attacker = Attacker::new();
    let arguments = |amount: &str| format!(r#"{{"to":"ann","amount":{amount}}}"#);
    let first = body("transfer", &arguments("9007199254740993"), "{}", "null");
    let reply: Value = serde_json::from_slice(&attacker.world.send(&first).body).expect("JSON");
    let state = reply["result"]["requestState"].as_str().expect("a state");
    for other in ["9007199254740992", "9007199254740994", "9007199254740993.5", "90071992547409930"] {
        attacker.is_refused("transfer", &arguments(other), state, other);
    }
    let reply = attacker.retries("transfer", &arguments("9007199254740993"), state);
    assert!(reply.contains("true 9007199254740993 None"), "{reply}");
}

#[test]
fn a_whole_float_too_large_to_be_exact_is_refused_not_rounded() {
    let attacker = Attacker::new();
    for amount in ["9007199254740993.0", "9007199254740992.0", "9.007199254740993e15", "18446744073709551615.0"] {
        let arguments = format!(r#"{{"to":"ann","amount":{amount}}}"#);
        let reply: Value =
            serde_json::from_slice(&attacker.world.send(&body("transfer", &arguments, "{}", "null")).body)
                .expect("JSON");
        assert_eq!(reply["result"]["isError"], true, "{amount}: {reply}");
        assert!(reply["result"]["content"][0]["text"].as_str().expect("text").contains("Invalid arguments"), "{reply}");
    }
    assert_eq!(attacker.effects.count("run"), 1, "only for the attacker's own state");
}

#[test]
fn a_state_belongs_to_one_caller() {
    let ann = Principal::new("https://issuer.example", "ann");
    let mut attacker = Attacker::on(|server| server, "key", Some(ann));
    attacker.passes(ARGUMENTS);
    let others =
        [("https://issuer.example", "bob"), ("https://other.example", "ann"), ("https://issuer.examplea", "nn")];
    for (issuer, subject) in others {
        attacker.who = Some(Principal::new(issuer, subject));
        attacker.state_is_refused(&attacker.state, "another caller");
    }
    attacker.who = None;
    attacker.state_is_refused(&attacker.state, "no caller");
    let mut nobody = Attacker::new();
    nobody.who = Some(Principal::new("", ""));
    nobody.state_is_refused(&nobody.state, "a caller where there was none");
}

#[test]
fn a_state_belongs_to_one_service() {
    let here = Attacker::on(|server| server.audience("payments"), "key", None);
    let there = Attacker::on(|server| server.audience("refunds"), "key", None);
    there.state_is_refused(&here.state, "another audience");
    let unnamed = Attacker::new();
    unnamed.state_is_refused(&here.state, "the audience of the server's name");
    let named = Attacker::on(|server| server.audience("test"), "key", None);
    assert!(named.retries("transfer", ARGUMENTS, &unnamed.state).contains("true 100 None"));
}

#[test]
fn a_state_lives_for_its_time_and_a_minute_of_skew() {
    for (lifetime, limit) in
        [(None, 660_000), (Some(Duration::from_millis(500)), 60_500), (Some(Duration::ZERO), 60_000)]
    {
        let setup = |server: Server| match lifetime {
            Some(lifetime) => server.state_lifetime(lifetime),
            None => server,
        };
        let attacker = Attacker::on(setup, "key", None);
        attacker.world.clock.advance(Duration::from_millis(limit));
        attacker.passes(ARGUMENTS);
        attacker.world.clock.advance(Duration::from_millis(1));
        attacker.state_is_refused(&attacker.state, "expired");
    }
}

#[test]
fn each_round_renews_the_time() {
    let attacker = Attacker::new();
    attacker.world.clock.advance(Duration::from_secs(600));
    let again = body("transfer", ARGUMENTS, "{}", &json!(attacker.state).to_string());
    let reply: Value = serde_json::from_slice(&attacker.world.send(&again).body).expect("JSON");
    attacker.world.clock.advance(Duration::from_secs(600));
    attacker.state_is_refused(&attacker.state, "the first state");
    let renewed = reply["result"]["requestState"].as_str().expect("a state");
    assert!(attacker.retries("transfer", ARGUMENTS, renewed).contains("true 100 None"));
}

#[test]
fn keys_rotate_without_a_refused_state_and_an_old_key_ends() {
    let (old, new) = ([1; 32], [2; 32]);
    let on = |keys: &[[u8; 32]]| {
        let keys = Keyring::new(keys).expect("keys");
        Attacker::on(move |server| server.keys(keys.clone()), "key", None)
    };
    let stages = [on(&[old]), on(&[old, new]), on(&[new, old]), on(&[new])];
    for (made, opened, passes) in [
        (0, 0, true),
        (0, 1, true),
        (1, 0, true),
        (1, 2, true),
        (2, 1, true),
        (2, 3, true),
        (3, 2, true),
        (0, 3, false),
        (1, 3, false),
        (2, 0, false),
        (3, 0, false),
    ] {
        let reply = stages[opened].retries("transfer", ARGUMENTS, &stages[made].state);
        assert_eq!(reply.contains("true 100 None"), passes, "made in stage {made}, opened in {opened}: {reply}");
        assert_eq!(reply == REFUSED, !passes, "{reply}");
    }
}

#[test]
fn a_null_state_is_none_and_answers_without_one_do_not_count() {
    let attacker = Attacker::new();
    let answers = r#"{"key":{"action":"accept","content":{"sure":true}}}"#;
    let reply = attacker.world.send(&body("transfer", ARGUMENTS, answers, "null"));
    let reply: Value = serde_json::from_slice(&reply.body).expect("JSON");
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    assert!(reply["result"]["inputRequests"]["key"].is_object(), "{reply}");
}

#[test]
fn a_state_replayed_without_answers_asks_again() {
    let effects = Effects::default();
    let world = World::with(crate::tools::file_shipping_claim(&effects));
    let email = world.call("file_shipping_claim", json!({ "order": "o-1" }));
    let description = email.accept("email", json!({ "email": "ann@example.com" }));
    for _ in 0..3 {
        email.respond(json!({})).asks(&["email"]);
        email.respond(Value::Null).asks(&["email"]);
        description.respond(json!({})).asks(&["description"]);
    }
    let early = json!({ "description": { "action": "accept", "content": { "description": "d".repeat(20) } } });
    email.respond(early).asks(&["email"]);
    assert_eq!(effects.count("file"), 0);
}
