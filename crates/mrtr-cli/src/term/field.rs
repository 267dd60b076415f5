//! One field of a form, asked by the control that suits its kind.

use anstyle::Style;
use mrtr::form::{Choice, Entry, Field, FieldKind, Problem};
use serde_json::Value;

use super::console::{Console, Left, PickPrompt, Said, SomePrompt, TextPrompt, Ways};
use super::escape;
use super::layout::{cut, screen};
use super::prompt::{careful, dimmed, remark};

/// Where a field stands in its form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) count: usize,
    /// Whether there is something to go back to.
    pub(super) back: bool,
}

/// What came of asking for a field.
#[derive(Debug)]
pub(super) enum Step {
    Answered(Entry),
    Back,
}

/// Asks for a field. `entry` is what has been said about it so far.
pub(super) fn ask(console: &mut dyn Console, field: &Field, entry: &Entry, place: Place) -> Result<Step, Left> {
    describe(field, place);
    let offered = match entry {
        Entry::Given(value) => Some(value),
        Entry::Untouched => field.default.as_ref(),
        _ => None,
    };
    let is_text = matches!(field.kind, FieldKind::Text { .. });
    let empty = is_text && field.parse_text("").is_ok();
    let ways = Ways { back: place.back, omit: !field.required, empty };
    let mut asked = Asked { console, field, offered, entry, ways };
    let said = match &field.kind {
        FieldKind::Boolean => asked.yes_or_no(),
        FieldKind::Choice { options } if !options.is_empty() => asked.one_of(options),
        FieldKind::MultiChoice { options, .. } if !options.is_empty() => asked.some_of(options),
        _ => asked.typed(),
    }?;
    Ok(match said {
        Said::Given(entry) => Step::Answered(entry),
        Said::Omit => Step::Answered(Entry::Omitted),
        Said::Empty => Step::Answered(Entry::Given(Value::from(""))),
        Said::Back | Said::Number(_) => Step::Back,
    })
}

/// The field's name as a prompt, harmless and no longer than a line or so.
pub(super) fn label(field: &Field) -> String {
    cut(&escape::line(field.label()), screen().0.saturating_sub(26).max(12))
}

/// A value as it would be typed.
pub(super) fn shown(field: &Field, value: &Value) -> String {
    if value == "" { EMPTY_TEXT.to_owned() } else { field.to_text(value) }
}

/// A value as a person reads it: choices by their titles too.
pub(super) fn told(field: &Field, value: &Value) -> String {
    match (&field.kind, value) {
        (FieldKind::Choice { options }, value) => titled(options, value),
        (FieldKind::MultiChoice { .. }, Value::Array(items)) if items.is_empty() => "(an empty list)".to_owned(),
        (FieldKind::MultiChoice { options, .. }, Value::Array(items)) => {
            items.iter().map(|item| titled(options, item)).collect::<Vec<_>>().join(", ")
        }
        _ => shown(field, value),
    }
}

fn titled(options: &[Choice], value: &Value) -> String {
    let value = value.as_str().unwrap_or_default();
    match options.iter().find(|choice| choice.value == value).map(Choice::label) {
        Some(title) if title != value => format!("{title} ({value})"),
        _ if value.is_empty() => EMPTY_TEXT.to_owned(),
        _ => value.to_owned(),
    }
}

fn describe(field: &Field, place: Place) {
    let label = label(field);
    let bold = Style::new().bold();
    let optional = if field.required { "" } else { " (optional)" };
    let of = if place.count > 1 { format!(" ({} of {})", place.number, place.count) } else { String::new() };
    anstream::eprintln!();
    anstream::eprintln!("{bold}{label}{bold:#}{optional}{of}");
    let about = field.description.as_deref().map(str::trim).unwrap_or_default();
    if !about.is_empty() && about != field.label() {
        remark(about);
    }
    if let Some(what) = field.looks_secret() {
        careful(&format!(
            "this looks as if it asked for {what}. Servers must not ask for secrets in a form: what is entered here \
             passes through this program and is sent to the server as it is"
        ));
    }
    if let FieldKind::Unsupported { schema, reason, .. } = &field.kind {
        dimmed(&format!("There is no control for this field: {}. Answer in JSON.", escape::line(reason)));
        dimmed(&format!("Its schema: {}", cut(&escape::line(&schema.to_string()), LONGEST_SCHEMA)));
    }
    let rules = field.rules();
    if !rules.is_empty() {
        dimmed(&escape::line(&rules.join(", ")));
    }
    if let Some(faulty) = &field.faulty_default {
        let value = cut(&escape::line(&faulty.value.to_string()), LONGEST_DEFAULT);
        careful(&format!("the server offers {value}, which does not fit: it {}", escape::line(&faulty.problem)));
    }
    // What is wrong with the default has just been said.
    let others = field.notes.iter().filter(|note| !note.starts_with("its default"));
    others.for_each(|note| dimmed(&format!("Note: {}.", escape::line(note))));
}

struct Asked<'a> {
    console: &'a mut dyn Console,
    field: &'a Field,
    offered: Option<&'a Value>,
    entry: &'a Entry,
    ways: Ways,
}

impl Asked<'_> {
    fn yes_or_no(&mut self) -> Result<Said<Entry>, Left> {
        let mut options =
            vec![("Yes".to_owned(), Entry::Given(true.into())), ("No".to_owned(), Entry::Given(false.into()))];
        let offered = self.offered.and_then(Value::as_bool).map(|flag| usize::from(!flag));
        self.one(&mut options, offered)
    }

    fn one_of(&mut self, choices: &[Choice]) -> Result<Said<Entry>, Left> {
        let titles = Titles::of(choices);
        let value = |choice: &Choice| Entry::Given(choice.value.as_str().into());
        let mut options: Vec<_> = choices.iter().map(|choice| (titles.title(choice), value(choice))).collect();
        let offered = choices.iter().position(|choice| self.offered.and_then(Value::as_str) == Some(&choice.value));
        self.one(&mut options, offered)
    }

    /// Has one of some options picked. Without an offer, Enter alone leaves an optional field out and picks nothing for
    /// a required one.
    fn one(&mut self, options: &mut Vec<(String, Entry)>, offered: Option<usize>) -> Result<Said<Entry>, Left> {
        let mut start = offered;
        if self.ways.omit {
            options.insert(0, (LEAVE_OUT.to_owned(), Entry::Omitted));
            start = Some(offered.map_or(0, |index| index + 1));
        }
        let labels: Vec<String> = options.iter().map(|(label, _)| label.clone()).collect();
        let prompt = PickPrompt { title: "", options: &labels, start, numbers: 0, ways: self.ways };
        let said = self.console.pick(&prompt)?;
        Ok(reply(said, |index| options.swap_remove(index).1))
    }

    fn some_of(&mut self, choices: &[Choice]) -> Result<Said<Entry>, Left> {
        let titles = Titles::of(choices);
        let labels: Vec<String> = choices.iter().map(|choice| titles.title(choice)).collect();
        let offered = self.offered.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut picked: Vec<usize> = Vec::new();
        for (index, choice) in choices.iter().enumerate() {
            if offered.iter().any(|value| *value == choice.value) {
                picked.push(index);
            }
        }
        loop {
            let field = self.field;
            let check = |picked: &[usize]| match picked {
                [] if !field.required => Ok(()),
                picked => parse(field, &chosen(choices, picked).to_string()).map(drop),
            };
            let prompt = SomePrompt { options: &labels, picked: &picked, ways: self.ways, check: &check };
            let said = self.console.pick_some(&prompt)?;
            let Said::Given(now) = said else { return Ok(reply(said, |_| Entry::Untouched)) };
            if !now.is_empty() || field.required {
                return Ok(Said::Given(Entry::Given(chosen(choices, &now))));
            }
            if let Some(entry) = self.none_of_them()? {
                return Ok(Said::Given(entry));
            }
            picked = now;
        }
    }

    /// What an optional selection without anything in it means. A server may tell an empty list from no answer.
    fn none_of_them(&mut self) -> Result<Option<Entry>, Left> {
        let empty = Value::Array(Vec::new());
        if self.field.parse_text("[]").is_err() {
            return Ok(Some(Entry::Omitted));
        }
        let choices = [("Leave this answer out", 0), ("Answer with an empty list", 1), ("Pick something", 2)];
        let start = if self.offered == Some(&empty) { 1 } else { 0 };
        Ok(match super::console::pick(self.console, "Nothing is picked.", &choices, Some(start))? {
            0 => Some(Entry::Omitted),
            1 => Some(Entry::Given(empty)),
            _ => None,
        })
    }

    /// Text, numbers, and JSON for what has no control.
    fn typed(&mut self) -> Result<Said<Entry>, Left> {
        let field = self.field;
        let faulty = field.faulty_default.as_ref().filter(|_| *self.entry == Entry::Untouched).map(|it| &it.value);
        let initial = self.offered.or(faulty).map(|value| shown(field, value)).unwrap_or_default();
        // What is offered is sent as it came, whatever reading it back from text would make of it.
        let kept = self.offered.is_some().then_some(self.entry);
        let read = |text: &str| match kept {
            Some(entry) if text == initial => Ok(entry.clone()),
            _ => entry_of(field, text),
        };
        let check = |text: &str| read(text).map(drop);
        match (self.ways.omit, self.ways.empty) {
            (true, true) => dimmed(&format!("blank leaves it out, {EMPTY_TEXT} is an empty text")),
            (true, false) => dimmed("blank leaves it out"),
            (false, _) => {}
        }
        let said = self.console.text(&TextPrompt { initial: &initial, ways: self.ways, check: &check })?;
        Ok(reply(said, |text| read(&text).unwrap_or_default()))
    }
}

/// The same reply about another type.
fn reply<T, U>(said: Said<T>, value: impl FnOnce(T) -> U) -> Said<U> {
    match said {
        Said::Given(given) => Said::Given(value(given)),
        Said::Number(number) => Said::Number(number),
        Said::Back => Said::Back,
        Said::Omit => Said::Omit,
        Said::Empty => Said::Empty,
    }
}

fn chosen(choices: &[Choice], picked: &[usize]) -> Value {
    picked.iter().filter_map(|index| choices.get(*index)).map(|choice| choice.value.as_str()).collect()
}

/// Reads typed text. Blank leaves an optional field out, and [`EMPTY_TEXT`] is the empty text said on purpose.
fn entry_of(field: &Field, text: &str) -> Result<Entry, String> {
    let is_text = matches!(field.kind, FieldKind::Text { .. });
    if text == EMPTY_TEXT && is_text {
        return parse(field, "").map(Entry::Given);
    }
    if !text.trim().is_empty() {
        return parse(field, text).map(Entry::Given);
    }
    match (field.required, is_text) {
        (false, _) => Ok(Entry::Omitted),
        (true, true) => Err(format!("is required ({EMPTY_TEXT} is an empty text)")),
        (true, false) => Err("is required".to_owned()),
    }
}

fn parse(field: &Field, text: &str) -> Result<Value, String> {
    field.parse_text(text).map_err(|Problem { text, .. }| escape::line(&text))
}

/// The titles of choices, with the value behind one where titles alone do not tell choices apart.
struct Titles<'a> {
    shared: std::collections::HashSet<&'a str>,
}

impl<'a> Titles<'a> {
    fn of(choices: &'a [Choice]) -> Self {
        let mut seen = std::collections::HashSet::new();
        let shared = choices.iter().map(Choice::label).filter(|label| !seen.insert(*label)).collect();
        Self { shared }
    }

    fn title(&self, choice: &Choice) -> String {
        let text = match choice.label() {
            label if label.is_empty() && choice.value.is_empty() => EMPTY_TEXT.to_owned(),
            label if choice.title.is_some() && (self.shared.contains(label) || label.is_empty()) => {
                format!("{label} ({})", choice.value)
            }
            label => label.to_owned(),
        };
        cut(&escape::line(&text), LONGEST_TITLE)
    }
}

const LEAVE_OUT: &str = "(leave it out)";
const EMPTY_TEXT: &str = "\"\"";

/// Most columns of the title of a choice; the screen cuts it further where it is narrower.
const LONGEST_TITLE: usize = 200;

/// Most columns of a schema that is shown.
const LONGEST_SCHEMA: usize = 300;

/// Most columns of a default that does not fit.
const LONGEST_DEFAULT: usize = 100;
