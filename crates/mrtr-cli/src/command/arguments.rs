//! `name=value` and `name:=json`, made into a tool's arguments.
//!
//! Values are typed by the tool's input schema, so that `version=5` is text for one tool and a number for another. What
//! cannot be right is refused before anything is sent.

use mrtr::form::{Field, FieldKind, Form};
use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::report;
use crate::term::escape;

/// Makes the arguments, or says which one is wrong. Without a schema, values are text.
pub(super) fn read(words: &[String], input_schema: Option<&Value>) -> Result<Map<String, Value>, Failure> {
    let form = Form::lenient(input_schema.unwrap_or(&Value::Null));
    let mut arguments = Map::new();
    for word in words {
        let (name, value) = argument(word, &form)?;
        if arguments.insert(name.clone(), value).is_some() {
            return Err(Failure::usage(format!("argument {name:?} is given twice")));
        }
    }
    let missing: Vec<_> = form
        .fields()
        .iter()
        .filter(|field| field.required && !arguments.contains_key(&field.name))
        .map(|field| format!("{}=...", escape::line(&field.name)))
        .collect();
    if missing.is_empty() {
        return Ok(arguments);
    }
    Err(Failure::usage(format!("the tool also needs {}", missing.join(" "))))
}

fn argument(word: &str, form: &Form) -> Result<(String, Value), Failure> {
    let Some((name, text)) = word.split_once('=') else {
        return Err(Failure::usage(format!("{word:?} is no argument, expected name=value or name:=json")));
    };
    if let Some(name) = name.strip_suffix(':') {
        let value = serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("argument {name:?} is not JSON: {error}")))?;
        return Ok((name.to_owned(), value));
    }
    if let Some(field) = form.field(name) {
        let value = field.parse_text(text).map_err(|problem| {
            let cure = as_list(field, text).map(|cure| format!("; for a list: {cure}")).unwrap_or_default();
            Failure::usage(format!("argument {problem}{cure}"))
        })?;
        return Ok((name.to_owned(), value));
    }
    if form.fields().is_empty() {
        return Ok((name.to_owned(), text.into()));
    }
    let names: Vec<_> = form.fields().iter().map(|field| field.name.as_str()).collect();
    Err(Failure::usage(format!(
        "the tool has no argument {name:?}{}; it takes {} ({name}:=json sends it all the same)",
        did_you_mean(name, &names),
        escape::line(&names.join(", "))
    )))
}

/// The argument as it would be typed if the text was meant as the items of a list, which this field takes.
fn as_list(field: &Field, text: &str) -> Option<String> {
    let FieldKind::Unsupported { schema, .. } = &field.kind else { return None };
    if schema.get("type")? != "array" {
        return None;
    }
    let is_text = schema["items"]["type"].as_str().is_none_or(|name| name == "string");
    let item = |text: &str| match serde_json::from_str(text) {
        Ok(value) if !is_text => value,
        _ => Value::from(text),
    };
    let items: Value = text.split(',').map(|text| item(text.trim())).collect();
    let items = escape::line(&items.to_string().replace('\'', r"'\''"));
    Some(format!("{}'{items}'", report::word(&field.name, ":=")))
}

/// Names the closest of some names, if one is close.
pub(crate) fn did_you_mean(word: &str, names: &[&str]) -> String {
    let distance = |name: &&&str| strsim::damerau_levenshtein(word, name);
    names
        .iter()
        .min_by_key(distance)
        .filter(|name| distance(name) <= 1 + word.chars().count() / 4)
        .map(|name| format!(" (did you mean {name:?}?)"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "required": ["service"], "properties": {
            "service": { "type": "string" }, "replicas": { "type": "integer", "minimum": 1 },
            "dry": { "type": "boolean" }, "tags": { "type": "array", "items": { "type": "string" } },
        }})
    }

    fn given(words: &[&str]) -> Result<Value, String> {
        let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
        read(&words, Some(&schema())).map(Value::Object).map_err(|failure| failure.message)
    }

    #[test]
    fn values_are_typed_by_the_schema() {
        assert_eq!(
            given(&["service=42", "replicas=3", "dry=yes", r#"tags=["a"]"#]),
            Ok(json!({ "service": "42", "replicas": 3, "dry": true, "tags": ["a"] }))
        );
        assert_eq!(given(&["service=a=b", "extra:={\"x\":1}"]), Ok(json!({ "service": "a=b", "extra": { "x": 1 } })));
    }

    #[test]
    fn what_cannot_be_right_is_refused() {
        for (words, expected) in [
            (&["service=api", "replicas=many"][..], r#"argument "replicas" must be a whole number, not "many""#),
            (&["service=api", "replicas=0"], r#"argument "replicas" must be at least 1, not 0"#),
            (&["service=api", "service=b"], r#"argument "service" is given twice"#),
            (&["service"], r#""service" is no argument, expected name=value or name:=json"#),
            (
                &["service=api", "tags=a, it's"],
                r#"argument "tags" must be JSON (expected value at line 1 column 1); for a list: tags:='["a","it'\''s"]'"#,
            ),
            (&["dry=no"], "the tool also needs service=..."),
            (
                &["servise=api"],
                r#"the tool has no argument "servise" (did you mean "service"?); it takes service, replicas, dry, tags (servise:=json sends it all the same)"#,
            ),
        ] {
            assert_eq!(given(words).unwrap_err(), expected);
        }
        assert!(given(&["service:={"]).unwrap_err().starts_with(r#"argument "service" is not JSON: "#));
    }

    #[test]
    fn without_a_schema_values_are_text() {
        assert_eq!(read(&["n=1".to_owned()], None).map(Value::Object).ok(), Some(json!({ "n": "1" })));
    }
}
