//! From Rust types to what is sent.

#![allow(dead_code, reason = "the types are only looked at")]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;

fn properties<T: JsonSchema>() -> Value {
    schema_of::<T>().expect("a type that can be asked")["properties"].take()
}

fn refusal<T: JsonSchema>() -> String {
    schema_of::<T>().expect_err("a type that cannot be asked").to_string()
}

/// Where to send it. This text is not part of the form.
#[derive(Deserialize, JsonSchema)]
struct Address {
    zip: String,
    age: u8,
    #[schemars(email)]
    email: Option<String>,
    #[schemars(url, title = "Home page")]
    page: Option<String>,
    /// A few words
    #[schemars(length(min = 20, max = 500))]
    about: String,
}

#[test]
fn only_type_properties_and_required_are_sent_in_declaration_order() {
    let expected = r#"{"type":"object","properties":{"zip":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":255},"email":{"type":"string","format":"email"},"page":{"type":"string","format":"uri","title":"Home page"},"about":{"type":"string","minLength":20,"maxLength":500,"description":"A few words"}},"required":["zip","age","about"]}"#;
    let form = Form::of::<Address>().expect("a flat struct");
    assert_eq!(form.json(), expected);
    assert_eq!(form.schema().to_string(), expected);
}

#[test]
fn a_doc_comment_is_the_description_and_a_heading_the_title() {
    #[derive(JsonSchema)]
    struct Confirm {
        /// Confirm production deploy
        confirm: bool,
        /// # Dry run
        ///
        /// Say what would happen.
        dry: bool,
    }
    let expected = json!({
        "confirm": { "type": "boolean", "description": "Confirm production deploy" },
        "dry": { "type": "boolean", "title": "Dry run", "description": "Say what would happen." },
    });
    assert_eq!(properties::<Confirm>(), expected);
}

#[test]
fn numbers_have_bounds_but_no_machine_formats() {
    #[derive(JsonSchema)]
    struct Numbers {
        a: u8,
        b: i32,
        c: u64,
        d: f32,
        #[schemars(range(min = 1, max = 10))]
        e: u16,
        #[schemars(range(min = 0.5))]
        f: f64,
        g: std::num::NonZeroU32,
        h: i8,
    }
    let expected = json!({
        "a": { "type": "integer", "minimum": 0, "maximum": 255 },
        "b": { "type": "integer" },
        "c": { "type": "integer", "minimum": 0 },
        "d": { "type": "number" },
        "e": { "type": "integer", "minimum": 1, "maximum": 10 },
        "f": { "type": "number", "minimum": 0.5 },
        "g": { "type": "integer", "minimum": 1 },
        "h": { "type": "integer", "minimum": -128, "maximum": 127 },
    });
    assert_eq!(properties::<Numbers>(), expected);
}

#[test]
fn what_the_width_of_a_number_forbids_is_refused_though_it_is_not_sent() {
    #[derive(JsonSchema)]
    struct Widths {
        a: Option<i32>,
        b: Option<u32>,
        c: Option<i64>,
    }
    let form = Form::of::<Widths>().expect("numbers");
    let answer = json!({ "a": 3_000_000_000_i64, "b": -1, "c": u64::MAX });
    insta::assert_snapshot!(problems(&form, answer).join("\n"), @r#"
    "a" must be at most 2147483647, not 3000000000
    "b" must be at least 0, not -1
    "c" must be at most 9223372036854775807, not 18446744073709551615
    "#);
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum Plain {
    NextDay,
    Slow,
}

/// How to ship.
#[derive(Deserialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord)]
enum Documented {
    /// Next day,
    /// before noon
    ///
    /// Not on Sundays.
    #[serde(rename = "next")]
    NextDay,
    /// Whenever
    Slow,
}

#[derive(JsonSchema)]
enum Mixed {
    /// The first
    A,
    B,
}

#[test]
fn a_unit_enum_is_one_choice_written_in_place() {
    #[derive(JsonSchema)]
    struct Order {
        plain: Plain,
        /// Shipping
        documented: Documented,
        mixed: Mixed,
        maybe: Option<Plain>,
        perhaps: Option<Documented>,
    }
    let titled =
        json!([{ "const": "next", "title": "Next day, before noon" }, { "const": "Slow", "title": "Whenever" }]);
    let expected = json!({
        "plain": { "type": "string", "enum": ["next-day", "slow"] },
        "documented": { "type": "string", "oneOf": titled, "description": "Shipping" },
        "mixed": { "type": "string", "oneOf": [{ "const": "B", "title": "B" }, { "const": "A", "title": "The first" }] },
        "maybe": { "type": "string", "enum": ["next-day", "slow"] },
        "perhaps": { "type": "string", "oneOf": titled, "description": "How to ship." },
    });
    let schema = schema_of::<Order>().expect("choices");
    assert_eq!(schema["properties"], expected);
    assert_eq!(schema["required"], json!(["plain", "documented", "mixed"]));
    assert!(!schema.to_string().contains("$ref"));
}

#[test]
fn a_list_or_set_of_a_unit_enum_is_several_choices() {
    #[derive(JsonSchema)]
    struct Order {
        #[schemars(length(min = 1, max = 2))]
        list: Vec<Plain>,
        set: BTreeSet<Documented>,
        maybe: Option<Vec<Plain>>,
    }
    let expected = json!({
        "list": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string", "enum": ["next-day", "slow"] } },
        "set": { "type": "array", "items": { "anyOf": [
            { "const": "next", "title": "Next day, before noon" }, { "const": "Slow", "title": "Whenever" },
        ] } },
        "maybe": { "type": "array", "items": { "type": "string", "enum": ["next-day", "slow"] } },
    });
    assert_eq!(properties::<Order>(), expected);
}

#[test]
fn serde_defaults_are_offered_and_make_a_field_optional() {
    #[derive(JsonSchema, Deserialize)]
    struct Options {
        #[serde(default)]
        retries: u8,
        #[serde(default)]
        note: String,
        #[serde(default)]
        loud: bool,
        #[serde(default)]
        nothing: Option<String>,
        #[serde(default)]
        #[schemars(email)]
        email: String,
    }
    let schema = schema_of::<Options>().expect("options");
    let expected = json!({
        "retries": { "type": "integer", "minimum": 0, "maximum": 255, "default": 0 },
        "note": { "type": "string", "default": "" },
        "loud": { "type": "boolean", "default": false },
        "nothing": { "type": "string" },
        "email": { "type": "string", "format": "email" },
    });
    assert_eq!(schema["properties"], expected);
    assert_eq!(schema.get("required"), None);
}

#[test]
fn dates_and_instants_of_jiff_and_chrono_are_kept() {
    #[derive(JsonSchema)]
    struct When {
        a: jiff::civil::Date,
        b: jiff::Timestamp,
        c: chrono::NaiveDate,
        d: chrono::DateTime<chrono::Utc>,
        e: Option<jiff::Timestamp>,
    }
    let (date, instant) =
        (json!({ "type": "string", "format": "date" }), json!({ "type": "string", "format": "date-time" }));
    assert_eq!(properties::<When>(), json!({ "a": date, "b": instant, "c": date, "d": instant, "e": instant }));
}

#[test]
fn times_that_are_no_instants_are_refused() {
    #[derive(JsonSchema)]
    struct Zoned {
        at: jiff::Zoned,
    }
    #[derive(JsonSchema)]
    struct Local {
        at: chrono::NaiveDateTime,
    }
    #[derive(JsonSchema)]
    struct Span {
        long: jiff::Span,
    }
    insta::assert_snapshot!([refusal::<Zoned>(), refusal::<Local>(), refusal::<Span>()].join("\n"), @r#"
    form type Zoned, field "at": its format "zoned-date-time" is not one of email, uri, date and date-time; use a type that is an instant, such as jiff::Timestamp or chrono::DateTime<Utc>
    form type Local, field "at": its format "partial-date-time" is not one of email, uri, date and date-time; use a type that is an instant, such as jiff::Timestamp or chrono::DateTime<Utc>
    form type Span, field "long": its format "duration" is not one of email, uri, date and date-time; ask for plain text, and let the tool check it
    "#);
}

#[test]
fn newtypes_and_flattened_structs_are_seen_through() {
    #[derive(JsonSchema)]
    #[schemars(transparent)]
    struct Name(String);
    #[derive(JsonSchema)]
    struct Count(u8);
    #[derive(JsonSchema)]
    struct Inner {
        count: Count,
    }
    #[derive(JsonSchema)]
    struct Outer {
        name: Name,
        #[serde(flatten)]
        inner: Inner,
        letter: char,
    }
    let expected = json!({
        "name": { "type": "string" },
        "count": { "type": "integer", "minimum": 0, "maximum": 255 },
        "letter": { "type": "string", "minLength": 1, "maxLength": 1 },
    });
    assert_eq!(properties::<Outer>(), expected);
    assert_eq!(properties::<Box<Outer>>(), expected);
}

#[test]
fn forms_without_fields() {
    #[derive(JsonSchema, Deserialize)]
    struct Unit;
    #[derive(JsonSchema, Deserialize)]
    struct Empty {}
    let empty = json!({ "type": "object", "properties": {} });
    assert_eq!(schema_of::<()>(), Ok(empty.clone()));
    assert_eq!(schema_of::<Unit>(), Ok(empty.clone()));
    assert_eq!(schema_of::<Empty>(), Ok(empty));
    let form = Form::of::<()>().expect("no fields");
    assert_eq!(accepted(&form, json!({ "extra": 1 })), json!({}));
    assert!(form.decode::<()>(Map::new()).is_ok());
    assert!(form.decode::<Unit>(Map::new()).is_ok());
    assert!(form.decode::<Empty>(Map::new()).is_ok());
    assert_eq!(form.decode::<Value>(Map::new()), Ok(json!({})));
}

#[derive(JsonSchema)]
struct Line {
    sku: String,
}

#[derive(JsonSchema)]
enum Data {
    A { x: u8 },
    B(u8),
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Untagged {
    A(u8),
    B(String),
}

#[derive(JsonSchema)]
struct Chain {
    next: Option<Box<Self>>,
}

macro_rules! refusal_of {
    ($name:ident : $type:ty) => {{
        #[derive(JsonSchema)]
        struct $name {
            field: $type,
        }
        refusal::<$name>()
    }};
    ($name:ident : $type:ty, $($attribute:tt)+) => {{
        #[derive(JsonSchema)]
        struct $name {
            #[schemars($($attribute)+)]
            field: $type,
        }
        refusal::<$name>()
    }};
}

#[test]
fn what_does_not_fit_names_the_type_the_field_and_the_way_out() {
    let refusals = [
        refusal_of!(Order: Line),
        refusal_of!(Orders: Vec<Line>),
        refusal_of!(Tags: Vec<String>),
        refusal_of!(Headers: HashMap<String, String>),
        refusal_of!(Pair: (u8, u8)),
        refusal_of!(Kind: Data),
        refusal_of!(Either: Untagged),
        refusal_of!(Anything: Value),
        refusal_of!(Nothing: ()),
        refusal_of!(Code: String, regex(pattern = "^[a-z]+$")),
        refusal_of!(Odd: i32, extend("exclusiveMinimum" = 3)),
        refusal_of!(Step: i32, extend("multipleOf" = 5)),
        refusal_of!(Host: std::net::Ipv4Addr),
        refusal_of!(Off: std::num::NonZeroI8),
        refusal_of!(Level: u8, extend("enum" = [1, 2])),
        refusal_of!(Never: u8, range(min = 9, max = 3)),
        refusal::<Chain>(),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn what_is_not_a_flat_struct_is_refused_as_a_whole() {
    #[derive(JsonSchema)]
    struct Open {
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    #[derive(JsonSchema)]
    struct Branching {
        a: u8,
        #[serde(flatten)]
        rest: Data,
    }
    let refusals = [
        refusal::<String>(),
        refusal::<Plain>(),
        refusal::<Data>(),
        refusal::<Vec<Line>>(),
        refusal::<HashMap<String, u8>>(),
        refusal::<Value>(),
        refusal::<Open>(),
        refusal::<Branching>(),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn denying_unknown_fields_changes_nothing() {
    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Closed {
        a: bool,
    }
    assert_eq!(schema_of::<Closed>().expect("flat").as_object().map(Map::len), Some(3));
}
