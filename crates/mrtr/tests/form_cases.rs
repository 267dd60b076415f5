//! Faults that users met in other clients' forms, each with the right behaviour. Tests named `cli::` are the program's,
//! played through a pseudo terminal (`crates/mrtr-cli/tests/cli`); those named `client` are the driver's own. The rows:
//!
//! | row | what went wrong | test |
//! |---|---|---|
//! | 1, 2, 40 | an empty form hangs, is asked twice, or needs a checkbox | [`a_form_without_fields_takes_an_empty_object_and_nothing_else_is_asked`], `cli::terminal::a_form_without_fields_is_one_question_and_enter_alone_decides_nothing` |
//! | 3 | an answer typed and thrown away | [`what_has_no_control_takes_json`], `cli::form_cases::an_object_is_typed_as_json_and_sent_as_typed` |
//! | 4 | an all-optional form cannot be sent blank | [`blank_optional_fields_leave_no_key`], `cli::form_cases::a_form_without_required_fields_is_agreed_to_blank` |
//! | 5, 9 | unanswered sent as `null` or `false` | [`blank_optional_fields_leave_no_key`], `cli::form_cases::yes_and_no_are_two_options_and_the_default_is_under_the_cursor` |
//! | 6 | `""` for a cleared text, or never | [`untouched_left_out_and_empty_are_three_answers`], `cli::form_cases::blank_is_left_out_and_empty_is_said_on_purpose` |
//! | 7 | a default of true sent as false, `"true"` read as false | [`a_default_of_true_stays_true_and_text_is_no_boolean`] |
//! | 8 | a boolean as a text box | `cli::form_cases::yes_and_no_are_two_options_and_the_default_is_under_the_cursor` |
//! | 9, 10 | numbers that are no numbers | [`a_number_is_exact_or_refused`], `cli::form_cases::a_number_is_exact_or_asked_again` |
//! | 10, 13 | defaults that are not offered, falsy ones above all | [`falsy_defaults_are_sent_untouched`], `cli::form_cases::falsy_defaults_are_offered_and_sent` |
//! | 11 | a wrong number becomes null, `1.0` is none | [`a_number_is_exact_or_refused`] |
//! | 12 | titles, bounds and labels that are not shown | [`the_five_examples_of_the_specification_are_whole`], `cli::form_cases::titles_help_and_bounds_are_on_the_screen` |
//! | 14 | choices behind a reference as free text | [`a_local_reference_is_followed_and_a_remote_one_never`] |
//! | 15, 16 | several choices refused, or sent empty | [`several_choices_are_a_list_within_its_bounds`], `cli::form_cases::too_few_choices_are_said_before_anything_is_sent` |
//! | 17 | choices without a value crash the form | [`what_has_no_control_takes_json`] |
//! | 18 | an unknown format ends the call | [`an_unknown_format_is_text_with_a_note`] |
//! | 19 | fields in another order | [`fields_and_answers_keep_the_servers_order`] |
//! | 20, 21 | a title refused; a missing title or mode refused | [`unknown_keys_at_the_root_do_no_harm`], [`a_request_without_a_mode_is_a_form`] |
//! | 22 | dates and addresses barely looked at | [`formats_are_checked_for_real`], `cli::form_cases::real_dates_only` |
//! | 23 | a long message hides the buttons | `cli::form_cases::a_long_message_never_takes_the_actions_away` |
//! | 24 | options hidden behind a key | `cli::form_cases::titles_help_and_bounds_are_on_the_screen` |
//! | 25 | accept with `content: null` | [`a_form_without_fields_takes_an_empty_object_and_nothing_else_is_asked`] |
//! | 26, 27 | an accept or a decline nobody gave | [`nobody_to_ask_is_an_error_and_no_answer`], `cli::form_cases::nobody_there_is_no_decline` |
//! | 28 | a responder whose capability is not declared | [`what_is_declared_is_what_is_answered`] |
//! | 29 | pages refused by a rule for forms | [`forms_and_pages_go_to_the_same_responder`] |
//! | 30 | no other way out than accept | `cli::terminal::escape_offers_to_decline`, `cli::terminal::escape_offers_to_cancel` |
//! | 31 | refusals held against the schema | [`a_refusal_is_not_held_against_the_schema`], `cli::form_cases::a_form_that_was_declined_is_not_checked` |
//! | 32, 33 | the user's time taken for the server's | [`a_question_is_put_at_once_and_thinking_is_free`] |
//! | 34 | a question read as an empty success | [`a_question_is_never_taken_for_a_result`] |
//! | 35 | a question on another call's screen | [`each_question_says_which_call_it_belongs_to`] |
//! | 36 | accept though nothing was opened | `cli::pages::a_browser_that_fails_agrees_to_nothing` |
//! | 37, 38 | pages opened unasked, or not shown | `cli::pages::a_page_is_shown_in_full_and_opened_with_consent_only` |
//! | 38 | content with the consent | [`consent_to_a_page_carries_no_content`] |
//! | 39 | a server's text that reaches the terminal | [`what_is_said_about_a_field_is_harmless`], `cli::terminal::what_a_server_says_cannot_touch_the_terminal`, `cli::form_cases::markup_of_a_server_is_inert_in_every_place` |
//! | 41 | nullable fields refused | [`a_nullable_field_is_an_optional_one`] |
//! | 42 | nothing but a screen can answer | [`anything_can_be_a_responder`], `cli::plain::who_says_plain_may_be_at_the_end_of_a_pipe` |
//!
//! And without a report: [`huge_forms_are_read_in_no_time`], `cli::form_cases::five_thousand_choices_are_searched_and_five_hundred_fields_end`,
//! [`duplicates_and_contradictions_are_noted_and_do_no_harm`], [`one_refusal_keeps_the_other_answers`],
//! [`a_server_that_is_gone_between_rounds_is_named`], [`a_large_state_goes_back_whole`],
//! [`a_default_that_breaks_its_own_schema_has_to_be_fixed`], [`a_hostile_pattern_costs_no_time`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mrtr::client::{
    Action, Answer, Ask, BoxFuture, CallError, Client, Incoming, Kind, NotAnswered, Outgoing, Output, Responders,
    Scripted, Transport, TransportError,
};
use mrtr::form::{Draft, Entry, Field, FieldKind, Form, TextFormat};
use serde_json::{Map, Value, json};

/// A form with one property, `x`.
fn one(property: Value, required: bool) -> Form {
    let required: &[&str] = if required { &["x"] } else { &[] };
    Form::lenient(&json!({ "type": "object", "properties": { "x": property }, "required": required }))
}

fn kind(property: Value) -> FieldKind {
    one(property, true).fields()[0].kind.clone()
}

/// What is sent of a form nobody touched.
fn untouched(form: &Form) -> Result<Value, Vec<String>> {
    sent(&Draft::new(form))
}

fn sent(draft: &Draft<'_>) -> Result<Value, Vec<String>> {
    draft.content().map(Value::Object).map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

/// What typing this text comes to.
fn typed(property: Value, text: &str) -> Result<Value, String> {
    one(property, true).parse_text("x", text).map_err(|problem| problem.text)
}

#[test]
fn what_has_no_control_takes_json() {
    for property in [
        json!({ "type": "object" }),
        json!({ "type": "array", "items": { "anyOf": [{ "type": "object" }, { "type": "object" }] } }),
        json!({ "oneOf": [{ "title": "no value" }, { "const": "a" }] }),
    ] {
        let form = one(property.clone(), true);
        let FieldKind::Unsupported { reason, schema } = &form.fields()[0].kind else { panic!("{property}") };
        assert!(!reason.is_empty() && *schema == property);
        assert!(form.parse_text("x", "no JSON").unwrap_err().text.starts_with("must be JSON"));
    }
    assert_eq!(typed(json!({ "type": "object" }), r#"{"a":1}"#), Ok(json!({ "a": 1 })));
    assert!(typed(json!({ "type": "object" }), "[]").is_err());
}

#[test]
fn blank_optional_fields_leave_no_key() {
    for property in [json!({ "type": "string" }), json!({ "type": "number" }), json!({ "type": "boolean" })] {
        assert_eq!(untouched(&one(property, false)), Ok(json!({})));
    }
}

#[test]
fn untouched_left_out_and_empty_are_three_answers() {
    let form = one(json!({ "type": "string", "default": "John" }), false);
    let mut draft = Draft::new(&form);
    assert_eq!(draft.entry("x"), &Entry::Untouched);
    assert_eq!(sent(&draft), Ok(json!({ "x": "John" })));
    draft.omit("x");
    assert_eq!(sent(&draft), Ok(json!({})));
    draft.give("x", "".into());
    assert_eq!(sent(&draft), Ok(json!({ "x": "" })));
    let required = one(json!({ "type": "string" }), true);
    let mut draft = Draft::new(&required);
    assert_eq!(sent(&draft), Err(vec![r#""x" is required"#.to_owned()]));
    draft.give("x", "".into());
    assert_eq!(sent(&draft), Ok(json!({ "x": "" })));
}

#[test]
fn a_default_of_true_stays_true_and_text_is_no_boolean() {
    let form = one(json!({ "type": "boolean", "default": true }), true);
    assert_eq!(untouched(&form), Ok(json!({ "x": true })));
    let content = json!({ "x": "true" });
    let problems = form.validate(content.as_object().expect("an object")).unwrap_err();
    assert_eq!(problems[0].to_string(), r#""x" must be true or false, not "true""#);
    assert_eq!(form.parse_text("x", "true"), Ok(json!(true)));
}

#[test]
fn a_number_is_exact_or_refused() {
    let integer = |text| typed(json!({ "type": "integer" }), text);
    let number = |text| typed(json!({ "type": "number" }), text);
    assert_eq!(integer("9007199254740993"), Ok(json!(9_007_199_254_740_993_i64)));
    assert_eq!(integer("1.0"), Ok(json!(1)));
    assert_eq!(number("9007199254740993"), Ok(json!(9_007_199_254_740_993_i64)));
    for (text, shown) in
        [("0.10", "0.1"), ("-2.50", "-2.5"), ("1e22", "1e+22"), (".5", "0.5"), ("1e-7", "1e-7"), ("0.0", "0.0")]
    {
        assert_eq!(number(text).map(|value| value.to_string()), Ok(shown.to_owned()));
    }
    for text in ["abc", "1.5", "NaN", "Infinity", "1e999", "", "1,000", "0x10", "18446744073709551616"] {
        assert!(integer(text).is_err(), "{text}");
    }
    for text in ["abc", "NaN", "-inf", "1e999", "9007199254740993.5", "0.12345678901234567890", "18446744073709551617"]
    {
        assert!(number(text).is_err(), "{text}");
    }
    assert_eq!(
        number("9007199254740993.5"),
        Err(r#"has more digits than a number keeps: "9007199254740993.5" would become 9007199254740994.0"#.to_owned())
    );
}

#[test]
fn falsy_defaults_are_sent_untouched() {
    let form = Form::lenient(&json!({ "properties": {
        "n": { "type": "integer", "default": 0 }, "s": { "type": "string", "default": "" },
        "b": { "type": "boolean", "default": false }, "l": { "type": "array", "items": { "enum": ["a"] }, "default": [] },
    }}));
    assert_eq!(untouched(&form), Ok(json!({ "n": 0, "s": "", "b": false, "l": [] })));
}

#[test]
fn the_five_examples_of_the_specification_are_whole() {
    // Spec: client/elicitation#supported-schema-types.
    let text = one(
        json!({ "type": "string", "title": "Display Name", "description": "Description text",
        "minLength": 3, "maxLength": 50, "pattern": "^[A-Za-z]+$", "format": "email", "default": "user@example.com" }),
        true,
    );
    let field = &text.fields()[0];
    assert_eq!((field.label(), field.description.as_deref()), ("Display Name", Some("Description text")));
    assert_eq!(field.rules(), ["an e-mail address", "3 to 50 characters", "matching ^[A-Za-z]+$"]);
    let number = one(json!({ "type": "number", "title": "N", "minimum": 0, "maximum": 100, "default": 50 }), true);
    assert_eq!(number.fields()[0].rules(), ["a number", "0 to 100"]);
    assert_eq!(untouched(&number), Ok(json!({ "x": 50 })));
    assert_eq!(kind(json!({ "type": "boolean", "default": false })), FieldKind::Boolean);
    let titled = json!([{ "const": "#FF0000", "title": "Red" }, { "const": "#00FF00", "title": "Green" }]);
    let FieldKind::Choice { options } = kind(json!({ "type": "string", "oneOf": titled, "default": "#FF0000" })) else {
        panic!("no choice")
    };
    assert_eq!((options[0].label(), options[1].value.as_str()), ("Red", "#00FF00"));
    let several = one(
        json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": { "anyOf": titled }, "default": ["#00FF00"] }),
        true,
    );
    assert_eq!(several.fields()[0].rules(), ["1 to 2 choices"]);
    assert_eq!(untouched(&several), Ok(json!({ "x": ["#00FF00"] })));
}

#[test]
fn a_local_reference_is_followed_and_a_remote_one_never() {
    let form = Form::lenient(&json!({
        "properties": { "p": { "$ref": "#/$defs/P" }, "q": { "$ref": "https://evil.example/q.json" } },
        "$defs": { "P": { "type": "string", "enum": ["low", "high"] } }, "required": ["p"],
    }));
    assert!(matches!(&form.fields()[0].kind, FieldKind::Choice { options } if options.len() == 2));
    assert!(
        matches!(&form.fields()[1].kind, FieldKind::Unsupported { reason, .. } if reason.contains("never fetched"))
    );
}

#[test]
fn several_choices_are_a_list_within_its_bounds() {
    let list = json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["a", "b"] } });
    assert_eq!(typed(list.clone(), "b"), Ok(json!(["b"])));
    assert_eq!(typed(list.clone(), ""), Err("needs at least 1 choice (it has 0)".to_owned()));
    assert_eq!(untouched(&one(list, true)), Err(vec![r#""x" is required"#.to_owned()]));
}

#[test]
fn an_unknown_format_is_text_with_a_note() {
    let form = one(json!({ "type": "string", "format": "iata" }), true);
    let field: &Field = &form.fields()[0];
    let other = Some(TextFormat::Other("iata".to_owned()));
    assert_eq!(field.kind, FieldKind::Text { min_length: None, max_length: None, format: other });
    assert_eq!(field.notes, [r#"its format "iata" is not one of email, uri, date and date-time"#]);
    assert_eq!(form.parse_text("x", "anything"), Ok(json!("anything")));
}

#[test]
fn fields_and_answers_keep_the_servers_order() {
    let form = Form::lenient(
        &json!({ "properties": { "zip": { "type": "string", "default": "0150" }, "age": { "type": "integer", "default": 7 } } }),
    );
    assert_eq!(untouched(&form).expect("an answer").to_string(), r#"{"zip":"0150","age":7}"#);
}

#[test]
fn unknown_keys_at_the_root_do_no_harm() {
    let form = Form::lenient(
        &json!({ "type": "object", "title": "T", "x-order": 1, "properties": { "a": { "type": "string" } } }),
    );
    assert_eq!((form.fields().len(), form.notes().len()), (1, 0));
}

#[test]
fn formats_are_checked_for_real() {
    for (format, good, bad) in [
        ("date", "2028-02-29", &["2026-02-30", "2026-2-3", "2026-07-28T00:00:00Z", "tomorrow"] as &[&str]),
        ("email", "ada+x@example.com", &["@", "a@", "a b@example.com", "Ada <ada@example.com>"]),
        ("uri", "https://example.com/a?b", &["example.com", "//example.com", "not a uri"]),
        ("date-time", "2026-07-28T15:30:00+02:00", &["2026-07-28", "2026-07-28T15:30:00", "2026-07-28T25:00:00Z"]),
    ] {
        let property = || json!({ "type": "string", "format": format });
        assert_eq!(typed(property(), good), Ok(json!(good)));
        bad.iter().for_each(|text| assert!(typed(property(), text).is_err(), "{format}: {text}"));
    }
}

#[test]
fn a_nullable_field_is_an_optional_one() {
    for property in [
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null }),
        json!({ "type": ["string", "null"] }),
    ] {
        let form = one(property, false);
        assert!(matches!(form.fields()[0].kind, FieldKind::Text { .. }) && !form.fields()[0].required);
        assert_eq!(untouched(&form), Ok(json!({})));
    }
}

#[test]
fn what_is_said_about_a_field_is_harmless() {
    let hostile = "\u{1b}[2J\u{202e}\u{200b}";
    let form = Form::lenient(&json!({ "required": [hostile], "properties": { hostile: {
        "type": "string", "pattern": hostile, "format": hostile, "enum": 3, "default": hostile,
    }}}));
    let mut draft = Draft::new(&form);
    draft.give(hostile, json!(hostile));
    let field = &form.fields()[0];
    let said =
        [field.rules(), field.notes.clone(), form.notes().to_vec(), sent(&draft).err().unwrap_or_default()].concat();
    assert!(!said.is_empty());
    for text in said {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{text:?}");
    }
}

#[test]
fn a_default_that_breaks_its_own_schema_has_to_be_fixed() {
    for required in [true, false] {
        let form = one(json!({ "type": "integer", "maximum": 5, "default": 9 }), required);
        let faulty = form.fields()[0].faulty_default.as_ref().expect("a faulty default");
        assert_eq!((&faulty.value, faulty.problem.as_str()), (&json!(9), "must be at most 5, not 9"));
        let mut draft = Draft::new(&form);
        let unfixed = r#""x" has a default that does not fit: it must be at most 5, not 9"#;
        assert_eq!(sent(&draft), Err(vec![unfixed.to_owned()]));
        draft.give("x", 4.into());
        assert_eq!(sent(&draft), Ok(json!({ "x": 4 })));
        draft.omit("x");
        assert_eq!(sent(&draft).is_ok(), !required);
    }
}

#[test]
fn duplicates_and_contradictions_are_noted_and_do_no_harm() {
    let form = Form::lenient(&json!({ "required": ["e", "e", "gone"], "properties": {
        "e": { "type": "string", "enum": ["a", "a", "b"] }, "n": { "type": "integer", "minimum": 5, "maximum": 3 },
    }}));
    let mut draft = Draft::new(&form);
    assert_eq!(sent(&draft), Err(vec![r#""e" is required"#.to_owned()]));
    draft.give("e", "a".into());
    assert_eq!(sent(&draft), Ok(json!({ "e": "a" })));
    assert_eq!(form.fields()[1].notes, ["no answer can be valid: minimum 5 is above maximum 3"]);
}

#[test]
fn a_hostile_pattern_costs_no_time() {
    let start = Instant::now();
    let form = one(json!({ "type": "string", "pattern": "^(a+)+$" }), true);
    assert!(form.parse_text("x", &format!("{}!", "a".repeat(100_000))).is_err());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn huge_forms_are_read_in_no_time() {
    let start = Instant::now();
    let values: Vec<String> = (0..5000).map(|n| format!("value {n}")).collect();
    let mut fields: Map<String, Value> = (0..500).map(|n| (format!("f{n}"), json!({ "type": "string" }))).collect();
    fields.insert("pick".to_owned(), json!({ "enum": values }));
    let form = Form::lenient(&json!({ "properties": fields }));
    let mut draft = Draft::new(&form);
    draft.give("pick", "value 4999".into());
    assert_eq!(sent(&draft), Ok(json!({ "pick": "value 4999" })));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn secrets_are_recognised_by_whole_words() {
    let secret = |property: Value| one(property, true).fields()[0].looks_secret();
    for (title, what) in [
        ("Your password", "a password"),
        ("API-Key", "an API key"),
        ("cardNumber", "payment card details"),
        ("PIN", "a PIN"),
        ("GitHub token", "an access token"),
    ] {
        assert_eq!(secret(json!({ "type": "string", "title": title })), Some(what), "{title}");
    }
    assert_eq!(secret(json!({ "type": "string", "format": "password" })), Some("a password"));
    assert_eq!(secret(json!({ "type": "string", "description": "Type your passphrase here" })), Some("a password"));
    for title in ["Max tokens", "Spinning", "Keyboard", "Passenger", "Secretary", "Compass"] {
        assert_eq!(
            secret(json!({ "type": "string", "title": title, "description": "Pin it to the top." })),
            None,
            "{title}"
        );
    }
}

// --- rounds

/// A server that plays back what it is to answer to each call.
#[derive(Clone, Default)]
struct Playback {
    results: Arc<Mutex<VecDeque<Value>>>,
    sent: Arc<Mutex<Vec<Value>>>,
}

impl Playback {
    fn new(results: impl IntoIterator<Item = Value>) -> Self {
        Self { results: Arc::new(Mutex::new(results.into_iter().collect())), sent: Arc::default() }
    }

    fn client(&self, responders: Responders) -> Client {
        Client::with_transport(self.clone()).responders(responders)
    }

    /// What was sent to the tool, call by call.
    fn sent(&self, index: usize) -> Value {
        self.sent.lock().expect("no panic meanwhile")[index]["params"].clone()
    }
}

impl Transport for Playback {
    fn server(&self) -> &str {
        "playback"
    }

    fn exchange<'a>(
        &'a self,
        request: &'a Outgoing,
        _: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Incoming, TransportError>> {
        let request: Value = serde_json::from_str(&request.body).expect("JSON");
        let id = request["id"].clone();
        self.sent.lock().expect("no panic meanwhile").push(request);
        let next = self.results.lock().expect("no panic meanwhile").pop_front();
        Box::pin(std::future::ready(match next {
            Some(result) => Ok(Incoming::ok(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())),
            None => Err(TransportError::Lost { server: "playback".to_owned(), cause: "it is gone".to_owned() }),
        }))
    }
}

fn form(message: &str, schema: Value) -> Value {
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn page() -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "m", "url": "https://pay.example/7" } })
}

fn asks(requests: Value) -> Value {
    json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "s" })
}

fn done() -> Value {
    json!({ "resultType": "complete", "content": [] })
}

fn number() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(future)
}

fn call(server: &Playback, responders: Responders) -> Result<Output, CallError> {
    run(server.client(responders).call_tool("t", json!({})))
}

#[test]
fn a_form_without_fields_takes_an_empty_object_and_nothing_else_is_asked() {
    let server =
        Playback::new([asks(json!({ "k": form("m", json!({ "type": "object", "properties": {} })) })), done()]);
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let responder = move |ask: Ask| {
        *count.lock().expect("no panic meanwhile") += 1;
        let form = Form::lenient(&ask.requested_schema());
        std::future::ready(Ok(Answer::accept(Draft::new(&form).content().expect("an empty answer"))))
    };
    call(&server, Responders::new().form(responder)).expect("a result");
    assert_eq!(server.sent(1)["inputResponses"], json!({ "k": { "action": "accept", "content": {} } }));
    assert_eq!(*asked.lock().expect("no panic meanwhile"), 1);
}

#[test]
fn a_request_without_a_mode_is_a_form() {
    let server = Playback::new([asks(json!({ "k": form("m", number()) })), done()]);
    let responder = async |ask: Ask| {
        assert_eq!(ask.kind, Kind::Form);
        Ok(Answer::accept([("n".to_owned(), json!(1))]))
    };
    assert!(call(&server, Responders::new().form(responder)).is_ok());
}

#[test]
fn nobody_to_ask_is_an_error_and_no_answer() {
    let server = Playback::new([asks(json!({ "k": form("m", number()), "p": page() }))]);
    let nobody = async |_: Ask| Err(NotAnswered::Nobody);
    let error = call(&server, Responders::new().elicitation(nobody)).unwrap_err();
    let CallError::Unanswered { questions } = error else { panic!("{error}") };
    assert_eq!(questions.len(), 2);
    assert_eq!(server.sent.lock().expect("no panic meanwhile").len(), 1, "nothing is made up");
}

#[test]
fn what_is_declared_is_what_is_answered() {
    let declared = |responders: Responders| {
        let server = Playback::new([done()]);
        call(&server, responders).expect("a result");
        server.sent(0)["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"].clone()
    };
    let yes = async |_: Ask| Ok(Answer::accept([]));
    assert_eq!(declared(Responders::new()), Value::Null);
    assert_eq!(declared(Responders::new().form(yes)), json!({ "form": {} }));
    assert_eq!(declared(Responders::new().url(yes)), json!({ "url": {} }));
}

#[test]
fn forms_and_pages_go_to_the_same_responder() {
    let server = Playback::new([asks(json!({ "a": form("m", number()), "b": page() })), done()]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let responder = move |ask: Ask| {
        log.lock().expect("no panic meanwhile").push(ask.kind);
        std::future::ready(Ok(Answer::decline()))
    };
    call(&server, Responders::new().elicitation(responder)).expect("a result");
    assert_eq!(*seen.lock().expect("no panic meanwhile"), [Kind::Form, Kind::Url]);
}

#[test]
fn a_refusal_is_not_held_against_the_schema() {
    for (answer, action) in [(Answer::cancel(), "cancel"), (Answer::decline(), "decline")] {
        let server = Playback::new([asks(json!({ "k": form("m", number()) })), done()]);
        call(&server, Responders::new().form(move |_: Ask| std::future::ready(Ok(answer.clone())))).expect("a result");
        assert_eq!(server.sent(1)["inputResponses"]["k"], json!({ "action": action }));
    }
}

#[test]
fn a_question_is_put_at_once_and_thinking_is_free() {
    let server = Playback::new([asks(json!({ "k": form("m", number()) })), done()]);
    let responder = async |_: Ask| {
        // Longer than any request may take.
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Ok(Answer::accept([("n".to_owned(), json!(1))]))
    };
    let client = server.client(Responders::new().form(responder)).server_timeout(Duration::from_secs(60));
    let output = run(client.call_tool("t", json!({}))).expect("a result");
    assert!(output.rounds.iter().all(|round| round.elapsed < Duration::from_secs(60)));
}

#[test]
fn a_question_is_never_taken_for_a_result() {
    let server = Playback::new([asks(json!({ "k": form("m", number()) }))]);
    let error = call(&server, Responders::new()).unwrap_err();
    assert!(matches!(error, CallError::Undeclared { .. }), "{error}");
}

#[test]
fn each_question_says_which_call_it_belongs_to() {
    let server = Playback::new([
        asks(json!({ "k": form("m", number()) })),
        asks(json!({ "k": form("m", number()) })),
        done(),
        done(),
    ]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let responder = move |ask: Ask| {
        let both = Arc::clone(&both);
        log.lock().expect("no panic meanwhile").push(ask.target);
        async move {
            // Both are asked before either has an answer.
            both.wait().await;
            Ok(Answer::decline())
        }
    };
    let client = server.client(Responders::new().form(responder));
    let both =
        run(async { futures_util::join!(client.call_tool("one", json!({})), client.call_tool("two", json!({}))) });
    assert!(both.0.is_ok() && both.1.is_ok());
    let mut seen = seen.lock().expect("no panic meanwhile").clone();
    seen.sort();
    assert_eq!(seen, ["one", "two"]);
}

#[test]
fn consent_to_a_page_carries_no_content() {
    let server = Playback::new([asks(json!({ "p": page() })), done()]);
    let eager = async |_: Ask| Ok(Answer::accept([("secret".to_owned(), json!("x"))]));
    call(&server, Responders::new().url(eager)).expect("a result");
    assert_eq!(server.sent(1)["inputResponses"]["p"], json!({ "action": "accept" }));
}

#[test]
fn anything_can_be_a_responder() {
    // It hears the labels and says the words; no screen has a part in it.
    let voice = async |ask: Ask| {
        let form = Form::lenient(&ask.requested_schema());
        let mut draft = Draft::new(&form);
        for field in form.fields() {
            draft.give(&field.name, field.parse_text("7").map_err(NotAnswered::failed)?);
        }
        Ok(Answer::accept(draft.content().map_err(|problems| NotAnswered::failed(problems[0].clone()))?))
    };
    let server = Playback::new([asks(json!({ "k": form("m", number()) })), done()]);
    call(&server, Responders::new().form(voice)).expect("a result");
    assert_eq!(server.sent(1)["inputResponses"]["k"]["content"], json!({ "n": 7 }));
}

#[test]
fn one_refusal_keeps_the_other_answers() {
    let server = Playback::new([asks(json!({ "a": form("m", number()), "b": form("m", number()) })), done()]);
    let script = Scripted::new().answer("a", "n", 1).decline("b");
    let output = call(&server, Responders::new().form(script)).expect("a result");
    assert_eq!(
        server.sent(1)["inputResponses"],
        json!({ "a": { "action": "accept", "content": { "n": 1 } }, "b": { "action": "decline" } })
    );
    assert_eq!(output.refusals, [("b".to_owned(), Action::Decline)]);
}

#[test]
fn a_server_that_is_gone_between_rounds_is_named() {
    let server = Playback::new([asks(json!({ "k": form("m", number()) }))]);
    let error = call(&server, Responders::new().form(Scripted::new().answer("k", "n", 1))).unwrap_err();
    assert!(error.to_string().contains("lost the connection to playback: it is gone"), "{error}");
}

#[test]
fn a_large_state_goes_back_whole() {
    let state = "s".repeat(64 * 1024);
    let mut round = asks(json!({ "k": form("m", number()) }));
    round["requestState"] = state.clone().into();
    let server = Playback::new([round, done()]);
    call(&server, Responders::new().form(Scripted::new().answer("k", "n", 1))).expect("a result");
    assert_eq!(server.sent(1)["requestState"], state);
}
