//! What came back for a question: parsed, never trusted. A malformed answer is a problem to name, not an answer.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, value::RawValue};

use crate::wire::{Object, Text};

/// A well-formed elicitation result. Spec: `schema#elicitresult`; it carries no `resultType`, and one is ignored.
#[derive(Debug, PartialEq)]
pub(super) enum ElicitResult {
    Accept(Map<String, Value>),
    Decline,
    Cancel,
}

impl ElicitResult {
    /// Reads an elicitation result. Only an `accept` has its content looked at; none at all is an empty form.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence about "the answer".
    pub(super) fn parse(raw: &RawValue) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow, default)]
            action: Option<&'a RawValue>,
            #[serde(borrow, default)]
            content: Option<&'a RawValue>,
            #[serde(default)]
            result: Option<IgnoredAny>,
        }
        let Object(wire) = serde_json::from_str::<Object<Wire<'_>>>(raw.get())
            .map_err(|_| "the answer must be an object with an \"action\"".to_owned())?;
        let action = wire.action.map(|action| serde_json::from_str::<Text<'_>>(action.get()).ok());
        match action.as_ref().map(|action| action.as_ref().map(|text| &*text.0)) {
            Some(Some("accept")) => Self::accept(wire.content),
            Some(Some("decline")) => Ok(Self::Decline),
            Some(Some("cancel")) => Ok(Self::Cancel),
            Some(_) => Err("\"action\" must be \"accept\", \"decline\" or \"cancel\"".to_owned()),
            None if wire.result.is_some() => {
                Err("the answer is wrapped in \"result\"; send the object inside it".to_owned())
            }
            None => Err("the answer has no \"action\"".to_owned()),
        }
    }

    fn accept(content: Option<&RawValue>) -> Result<Self, String> {
        match content.map(|content| serde_json::from_str(content.get())) {
            None => Ok(Self::Accept(Map::new())),
            Some(Ok(Value::Object(content))) => Ok(Self::Accept(content)),
            Some(_) => Err("\"content\" must be an object with the form's fields".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<ElicitResult, String> {
        ElicitResult::parse(&RawValue::from_string(json.to_owned()).expect("valid JSON"))
    }

    #[test]
    fn an_accept_without_content_is_an_empty_form() {
        for json in
            [r#"{"action":"accept"}"#, r#"{"action":"accept","content":null}"#, r#"{"action":"accept","content":{}}"#]
        {
            assert_eq!(parse(json), Ok(ElicitResult::Accept(Map::new())), "{json}");
        }
    }

    #[test]
    fn a_refusal_needs_no_valid_content_and_extra_fields_do_not_matter() {
        assert_eq!(parse(r#"{"action":"decline","content":null,"_meta":null}"#), Ok(ElicitResult::Decline));
        assert_eq!(parse(r#"{"action":"cancel","content":{"x":[{}]}}"#), Ok(ElicitResult::Cancel));
        assert_eq!(parse(r#"{"action":"cancel","resultType":"complete"}"#), Ok(ElicitResult::Cancel));
    }

    #[test]
    fn whatever_else_comes_is_a_problem_and_never_an_accept() {
        for json in [
            "null",
            "true",
            "\"accept\"",
            "[]",
            "[\"accept\"]",
            "{}",
            r#"{"action":"reject"}"#,
            r#"{"action":"Accept"}"#,
            r#"{"action":null}"#,
            r#"{"action":true}"#,
            r#"{"action":"accept","content":[]}"#,
            r#"{"action":"accept","content":"yes"}"#,
            r#"{"result":{"action":"accept"}}"#,
            r#"{"action":"decline","action":"accept"}"#,
        ] {
            assert!(parse(json).is_err(), "{json}");
        }
    }
}
