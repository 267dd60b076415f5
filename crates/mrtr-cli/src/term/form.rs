//! A form in the terminal: its fields one after the other, a review, and nothing sent that the schema refuses.

use anstyle::Style;
use mrtr::client::{Answer, Ask};
use mrtr::form::{Field, Form, Problem};
use serde_json::{Map, Value};

use super::layout::{cut, screen};
use super::prompt::{Left, introduce, pick};
use super::{escape, field};

/// Asks for what a form wants; fields that are settled already are kept as they are.
pub(super) fn ask(ask: &Ask) -> Result<Answer, Left> {
    introduce(ask)?;
    let form = Form::lenient(&ask.requested_schema());
    if form.fields().is_empty() {
        return go_ahead();
    }
    let mut filling = Filling { form: &form, answers: ask.settled.clone() };
    filling.ask_all()?;
    filling.finish(ask)
}

/// A question without fields: the action is the answer. The cursor starts at no, so that a stray Enter agrees to nothing.
fn go_ahead() -> Result<Answer, Left> {
    let choices =
        [("Yes, go ahead", Said::Accept), ("No: decline", Said::Decline), ("Cancel: leave it undecided", Said::Cancel)];
    match pick("Go ahead?", &choices, 1)? {
        Said::Accept => Ok(Answer::accept([])),
        Said::Decline => Err(Left::Declined),
        Said::Cancel => Err(Left::Cancelled),
    }
}

#[derive(Clone, Copy)]
enum Said {
    Accept,
    Decline,
    Cancel,
}

/// A form being filled in.
struct Filling<'f> {
    form: &'f Form,
    answers: Map<String, Value>,
}

impl Filling<'_> {
    fn ask_all(&mut self) -> Result<(), Left> {
        let open: Vec<&Field> =
            self.form.fields().iter().filter(|field| !self.answers.contains_key(&field.name)).collect();
        let optional = open.iter().filter(|field| !field.required).count();
        let skip = optional > MANY && !ask_for_optional(optional)?;
        for field in open.into_iter().filter(|field| field.required || !skip) {
            self.ask(field)?;
        }
        Ok(())
    }

    fn ask(&mut self, field: &Field) -> Result<(), Left> {
        match field::ask(field, self.answers.get(&field.name))? {
            Some(value) => self.answers.insert(field.name.clone(), value),
            None => self.answers.shift_remove(&field.name),
        };
        Ok(())
    }

    /// Has the answers reviewed, and corrected while the schema refuses them.
    fn finish(mut self, ask: &Ask) -> Result<Answer, Left> {
        // A single field was in full view when Enter was pressed.
        let needs_review = self.form.fields().len() - ask.settled.len().min(self.form.fields().len()) > 1;
        loop {
            let problems = match self.form.validate(&self.answers) {
                Ok(content) if !needs_review || self.review()? => {
                    return Ok(Answer::accept(content));
                }
                Ok(_) => Vec::new(),
                Err(problems) => problems,
            };
            self.correct(&problems)?;
        }
    }

    /// Shows what would be sent; false if it is to be edited.
    fn review(&self) -> Result<bool, Left> {
        let bold = Style::new().bold();
        let width = screen().0.saturating_sub(4);
        anstream::eprintln!("{bold}Your answer:{bold:#}");
        for field in self.form.fields() {
            if let Some(value) = self.answers.get(&field.name) {
                let line = format!("{}: {}", field.label(), field::shown(field, value));
                anstream::eprintln!("  {}", cut(&escape::line(&line), width));
            }
        }
        if self.answers.is_empty() {
            anstream::eprintln!("  (every field is left out)");
        }
        let choices = [
            ("Send", Reviewed::Send),
            ("Edit", Reviewed::Edit),
            ("Decline: say no", Reviewed::Decline),
            ("Cancel: leave it undecided", Reviewed::Cancel),
        ];
        match pick("Send it?", &choices, 0)? {
            Reviewed::Send => Ok(true),
            Reviewed::Edit => Ok(false),
            Reviewed::Decline => Err(Left::Declined),
            Reviewed::Cancel => Err(Left::Cancelled),
        }
    }

    /// Asks again for the fields with problems; without any, for the one the person wants to change.
    fn correct(&mut self, problems: &[Problem]) -> Result<(), Left> {
        let form = self.form;
        for problem in problems {
            anstream::eprintln!("  {}", escape::line(&problem.to_string()));
        }
        let named = |field: &&Field| problems.iter().any(|problem| problem.field.as_ref() == Some(&field.name));
        let wrong: Vec<&Field> = form.fields().iter().filter(named).collect();
        if !wrong.is_empty() {
            return wrong.into_iter().try_for_each(|field| self.ask(field));
        }
        let labels: Vec<_> = form.fields().iter().map(field::label).collect();
        let choices: Vec<_> = labels.iter().map(String::as_str).zip(form.fields()).collect();
        let field = pick("Which one?", &choices, 0)?;
        self.ask(field)
    }
}

#[derive(Clone, Copy)]
enum Reviewed {
    Send,
    Edit,
    Decline,
    Cancel,
}

fn ask_for_optional(count: usize) -> Result<bool, Left> {
    let question = format!("{count} fields are optional");
    pick(&question, &[("Ask only for what is required", false), ("Ask for every field", true)], 0)
}

/// More optional fields than this are not put to a person unasked.
const MANY: usize = 12;
