//! Errors of the library, in the words of the command line.

use std::collections::BTreeSet;
use std::error::Error;

use mrtr::client::{Ask, CallError, Diagnosis, Kind, Misfit};
use mrtr::form::{Field, FieldKind, Form, Problem};
use mrtr::wire::PROTOCOL_VERSION;
use serde_json::Value;

use crate::command::did_you_mean;
use crate::exit::{Exit, Failure};
use crate::term::{escape, page};

/// Sorts an error by who has to act, and says what to do.
pub(crate) fn failure(error: CallError) -> Failure {
    match error {
        CallError::Abandoned { .. } => Failure::new(Exit::Refused, "stopped; nothing more was sent"),
        CallError::Unanswered { questions } => unanswered(&questions, &BTreeSet::new(), None),
        error @ (CallError::Undeclared { .. } | CallError::Rpc { code: -32021, .. }) => undeclared(&error),
        CallError::Responder { round, key, cause } => responder(round, key, cause),
        CallError::Invalid(what) => Failure::usage(what),
        error => Failure::new(Exit::Failed, format!("{}{}", quoted(&error.to_string()), broken_rule(&error))),
    }
}

/// Names the rule a server broke, for whoever writes it; empty if it is not for that that the call ended.
fn broken_rule(error: &CallError) -> String {
    let line = |diagnosis: Diagnosis| {
        let (name, rule, section) = (diagnosis.name(), diagnosis.rule(), diagnosis.section());
        format!("\n  {name}: {rule}\n  (specification {PROTOCOL_VERSION}, {section})")
    };
    error.diagnosis().map(line).unwrap_or_default()
}

fn responder(round: u32, key: String, cause: Box<dyn Error + Send + Sync>) -> Failure {
    match cause.downcast::<Failure>() {
        Ok(failure) => *failure,
        Err(cause) => Failure::new(Exit::Failed, CallError::Responder { round, key, cause }.to_string()),
    }
}

/// Names the flags that do not fit a question, and what is wrong with each.
pub(crate) fn misfitting(ask: &Ask, misfit: &Misfit) -> Failure {
    let form = Form::lenient(&ask.requested_schema());
    let names: Vec<_> = form.fields().iter().map(|field| field.name.as_str()).collect();
    let line = |problem: &Problem| {
        let field = problem.field.as_deref().unwrap_or("FIELD");
        let is_unknown = ask.kind == Kind::Form && !names.contains(&field);
        let hint = if is_unknown { did_you_mean(field, &names) } else { String::new() };
        let flag = escape::line(&format!("--answer {}.{field}", ask.key));
        format!("{flag}: it {}{}", problem.text, escape::line(&hint))
    };
    let lines: Vec<_> = misfit.problems.iter().map(line).collect();
    Failure::usage(format!("{}; the question was not answered", lines.join("\n")))
}

/// Says that the server did not take what flags answered, and what it says about it.
pub(crate) fn rejected(flags: &[String], ask: &Ask) -> Failure {
    let flags = escape::line(&flags.join(" "));
    Failure::usage(format!(
        "{flags}: the server did not take this answer and asks again; nothing more was sent\n  {}: {}",
        escape::line(&ask.key),
        quoted(&ask.message())
    ))
}

/// Says what would answer a kind of question that this run cannot answer, and so has not declared.
fn undeclared(error: &CallError) -> Failure {
    let kinds = match error {
        CallError::Undeclared { kind, .. } => vec![*kind],
        CallError::Rpc { data: Some(data), .. } => {
            let is_required = |name: &str| data["requiredCapabilities"].get(name).is_some();
            let kinds = [("sampling", Kind::Sampling), ("roots", Kind::Roots)];
            kinds.into_iter().filter(|(name, _)| is_required(name)).map(|(_, kind)| kind).collect()
        }
        _ => Vec::new(),
    };
    let mut lines = vec![format!("{}{}", quoted(&error.to_string()), broken_rule(error))];
    lines.extend(kinds.iter().filter_map(|kind| lending(*kind)).map(|flags| format!("    {flags}")));
    let exit = if lines.len() > 1 { Exit::Unanswered } else { Exit::Failed };
    Failure::new(exit, lines.join("\n"))
}

/// The flags that answer what no person is asked in a form.
fn lending(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Sampling => Some("--sample-with CMD --sample-unattended, or --answers FILE with KEY: { sampling: TEXT }"),
        Kind::Roots => Some("--root DIR, or --answers FILE with KEY: { roots: [file:///DIR] }"),
        _ => None,
    }
}

/// Names each question and the flags that answer it. `accepted` are the keys that a flag accepts as a whole, `file` is the
/// answers file there is.
pub(crate) fn unanswered(questions: &[Ask], accepted: &BTreeSet<String>, file: Option<&str>) -> Failure {
    let mut lines = vec![match file {
        Some(file) => format!("input is needed, and {} has no answer", escape::line(file)),
        None => "input is needed, and there is no terminal to ask in".to_owned(),
    }];
    for ask in questions {
        if let Some(flags) = lending(ask.kind) {
            lines.push(format!("  {}: {}\n    {flags}", escape::line(&ask.key), ask.kind));
            continue;
        }
        lines.push(format!("  {}: {}", escape::line(&ask.key), quoted(&ask.message())));
        match ask.kind {
            Kind::Url => {
                let url = ask.url().unwrap_or_default();
                lines.push(format!("    it asks to open {}", escape::line(&url)));
                lines.push(match page::check_unseen(&url) {
                    Ok(_) => format!("    --answer {}", word(&ask.key, "=accept")),
                    Err(reason) => format!("    no flag accepts it: {reason}"),
                });
            }
            Kind::Sampling => {
                lines.push("    it asks for a model's answer; --sample-unattended sends it unseen".to_owned());
                continue;
            }
            _ => lines.extend(fields(ask, accepted.contains(&ask.key))),
        }
        let key = word(&ask.key, "");
        lines.push(format!("    or --decline {key}, or --cancel {key}"));
    }
    Failure::new(Exit::Unanswered, lines.join("\n"))
}

fn fields(ask: &Ask, is_accepted: bool) -> Vec<String> {
    let form = Form::lenient(&ask.requested_schema());
    let is_given = |field: &&Field| ask.settled.contains_key(&field.name);
    let mut lines = Vec::new();
    let missing: Vec<_> = form.fields().iter().filter(|field| field.required && !is_given(field)).collect();
    let names: Vec<_> = missing.iter().map(|field| field.name.as_str()).collect();
    let names = escape::line(&names.join(", "));
    if is_accepted && !missing.is_empty() {
        let flag = word(&ask.key, "=accept");
        lines.push(format!("    --answer {flag} is not enough, these fields are required too: {names}"));
    } else if !ask.settled.is_empty() {
        lines.push(format!("    still missing: {names}"));
    }
    for field in form.fields() {
        let note = match (is_given(&field), field.required) {
            (true, _) => ", given",
            (false, true) => "",
            (false, false) => ", optional",
        };
        let about = field.title.as_deref().or(field.description.as_deref());
        let about = about.map(|about| format!("  {}", escape::line(about))).unwrap_or_default();
        let place = word(&format!("{}.{}", ask.key, field.name), "=VALUE");
        lines.push(format!("    --answer {place}  ({}{note}){about}", escape::line(&kind(field))));
    }
    if lines.is_empty() {
        lines.push(format!("    --answer {}", word(&ask.key, "=accept")));
    }
    lines
}

/// Text of a server below a line of ours: what is not its first line is marked, and can be taken for nothing else.
fn quoted(text: &str) -> String {
    text.trim_end().replace("\r\n", "\n").replace('\n', "\n    | ")
}

/// A word of a command line, which a shell reads as one whatever the server put into it.
pub(crate) fn word(name: &str, rest: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@' | '+' | ',');
    if !name.is_empty() && name.chars().all(is_plain) {
        return format!("{name}{rest}");
    }
    format!("'{}{rest}'", escape::line(&name.replace('\'', r"'\''")))
}

/// What a field takes, in a few words.
pub(crate) fn kind(field: &Field) -> String {
    match &field.kind {
        FieldKind::Text { format: Some(format), .. } => format.as_str().to_owned(),
        FieldKind::Text { .. } => "text".to_owned(),
        FieldKind::Number { integer: true, .. } => "integer".to_owned(),
        FieldKind::Number { .. } => "number".to_owned(),
        FieldKind::Boolean => "yes or no".to_owned(),
        FieldKind::Choice { options } => one_of(options.iter().map(|choice| choice.value.as_str())),
        FieldKind::MultiChoice { options, .. } => {
            format!("any of {}", one_of(options.iter().map(|choice| choice.value.as_str())))
        }
        FieldKind::Unsupported { schema, .. } => match schema.get("type").and_then(Value::as_str) {
            Some(name) => format!("{name}, as JSON"),
            None => "JSON".to_owned(),
        },
        _ => "text".to_owned(),
    }
}

fn one_of<'a>(values: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let more = values.len().saturating_sub(SHOWN);
    let mut text = values.take(SHOWN).collect::<Vec<_>>().join("|");
    if more > 0 {
        text.push_str(&format!("|{more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_shown_as_a_shell_takes_them() {
        assert_eq!(word("trip.city", "=VALUE"), "trip.city=VALUE");
        assert_eq!(word("my trip.city", "=VALUE"), "'my trip.city=VALUE'");
        assert_eq!(word("a'; rm -rf '~", ""), r"'a'\''; rm -rf '\''~'");
        assert_eq!(word("", ""), "''");
    }

    #[test]
    fn lines_of_a_server_cannot_be_taken_for_ours() {
        assert_eq!(quoted("Sure?\r\n    --answer pay=accept\n"), "Sure?\n    |     --answer pay=accept");
    }
}
