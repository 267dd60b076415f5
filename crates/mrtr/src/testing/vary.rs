//! Answers other than the script's: as good as it, for forks; and worse ones, which no server may take.

use serde_json::{Map, Value, json};

use super::reply::Kind;
use crate::form::Form;

/// Another answer to the same question that is just as valid, if one can be made up.
pub(super) fn another(question: &Value, answer: &Value) -> Option<Value> {
    let mut other = answer.clone();
    match Kind::of(question) {
        Kind::Url => return None,
        Kind::Form => other["content"] = Value::Object(another_form(question, answer["content"].as_object()?)?),
        Kind::Sampling => {
            let text = answer["content"]["text"].as_str()?;
            other["content"]["text"] = json!(format!("{text} (on second thought)"));
        }
        Kind::Roots => other["roots"] = json!([{ "uri": "file:///somewhere/else" }]),
    }
    Some(other)
}

/// The form with one field changed: rather a text or a number than a yes into a no, which would only end the call.
fn another_form(question: &Value, content: &Map<String, Value>) -> Option<Map<String, Value>> {
    let schema = &question["params"]["requestedSchema"];
    let form = Form::lenient(schema);
    let (decisions, details): (Vec<_>, Vec<_>) = content.iter().partition(|(_, value)| value.is_boolean());
    let changed = details.into_iter().chain(decisions).flat_map(|(name, value)| {
        let others = others(&schema["properties"][name], value);
        others.into_iter().map(|other| {
            let mut content = content.clone();
            content.insert(name.clone(), other);
            content
        })
    });
    changed.filter(|other| other != content).find(|other| form.validate(other).is_ok())
}

/// Values that may do instead of this one. Whether they do is for the form to say.
fn others(field: &Value, value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(yes) => vec![json!(!yes)],
        Value::Number(number) => {
            let moved = |by: i64| {
                number.as_i64().map_or_else(
                    || number.as_f64().map(|float| json!(float + by as f64)),
                    |whole| whole.checked_add(by).map(|whole| json!(whole)),
                )
            };
            [moved(1), moved(-1)].into_iter().flatten().collect()
        }
        Value::String(text) => {
            let choices = list(&field["enum"]).chain(list(&field["oneOf"]).map(|choice| &choice["const"]));
            choices.cloned().chain([json!(format!("x{text}")), json!(format!("{text}x"))]).collect()
        }
        Value::Array(chosen) => {
            let items = &field["items"];
            let choices = list(&items["enum"]).chain(list(&items["anyOf"]).map(|choice| &choice["const"]));
            std::iter::once(json!([]))
                .chain(choices.map(|choice| json!([choice])))
                .chain([json!(&chosen[..1.min(chosen.len())])])
                .collect()
        }
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Answers to a question that are not valid, whatever it is.
pub(super) fn invalid(question: &Value, answer: &Value) -> Vec<Value> {
    let mut all = vec![json!("yes")];
    if Kind::of(question) != Kind::Form {
        return all;
    }
    all.push(json!({ "action": "approve" }));
    // No field of a form takes an object.
    let fields = question["params"]["requestedSchema"]["properties"].as_object();
    if let Some(name) = fields.and_then(|fields| fields.keys().next()) {
        let mut broken = answer.clone();
        broken["content"] = answer["content"].as_object().cloned().unwrap_or_default().into();
        broken["content"][name] = json!({ "no": "field takes this" });
        all.push(broken);
    }
    all
}
