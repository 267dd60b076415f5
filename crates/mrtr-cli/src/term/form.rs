//! A form in the terminal: its fields one after the other, back and forth, and a review of what is about to be sent.

use anstyle::Style;
use mrtr::client::{Answer, Ask};
use mrtr::form::{Draft, Entry, Field, Form, Problem};

use super::console::{Console, Left, PickPrompt, Said, Ways, pick};
use super::field::{Place, Step};
use super::layout::{cut, screen, wrap};
use super::prompt::{dimmed, introduce, read_through, remark};
use super::{escape, field};

/// Asks for what a form wants; fields that are settled already are kept as they are.
pub(super) fn ask(console: &mut dyn Console, ask: &Ask) -> Result<Answer, Left> {
    introduce(console, ask)?;
    let form = Form::lenient(&ask.requested_schema());
    for keyword in ["title", "description"] {
        if let Some(text) = form.schema().get(keyword).and_then(serde_json::Value::as_str) {
            remark(text);
        }
    }
    if form.fields().is_empty() {
        form.notes().iter().for_each(|note| dimmed(&format!("Note: {}.", escape::line(note))));
        agree(console, None)?;
        return Ok(Answer::accept(ask.settled.clone()));
    }
    let open = form.fields().iter().enumerate().filter(|(_, field)| !ask.settled.contains_key(&field.name));
    let open: Vec<usize> = open.map(|(index, _)| index).collect();
    Filling { console, form: &form, draft: Draft::with(&form, &ask.settled), open }.fill()
}

/// A question whose answer is the action itself. `fill` says what else there is to do, if anything; true if it is done.
/// No answer is under the cursor, so that a stray Enter decides nothing.
fn agree(console: &mut dyn Console, fill: Option<(&str, &str)>) -> Result<bool, Left> {
    let mut choices = vec![(fill.map_or("Yes, go ahead", |(yes, _)| yes), Agreed::Accept)];
    choices.extend(fill.map(|(_, fill)| (fill, Agreed::Fill)));
    choices.extend([("No: decline", Agreed::Decline), ("Cancel: leave it undecided", Agreed::Cancel)]);
    match pick(console, "Go ahead?", &choices, None)? {
        Agreed::Accept => Ok(false),
        Agreed::Fill => Ok(true),
        Agreed::Decline => Err(Left::Declined),
        Agreed::Cancel => Err(Left::Cancelled),
    }
}

#[derive(Clone, Copy)]
enum Agreed {
    Accept,
    Fill,
    Decline,
    Cancel,
}

/// A form being filled in.
struct Filling<'f, 'c> {
    console: &'c mut dyn Console,
    form: &'f Form,
    draft: Draft<'f>,
    /// The fields that nothing settled, by their place in the form.
    open: Vec<usize>,
}

impl<'f> Filling<'f, '_> {
    fn fill(mut self) -> Result<Answer, Left> {
        let order = match self.choose_order()? {
            Some(order) => order,
            // Agreed to as it is: there is nothing in it that has not been shown.
            None if self.draft.content().is_ok() => return self.send(),
            None => self.open.clone(),
        };
        // A single field was in full view when Enter was pressed.
        let needs_review = self.open.len() != 1;
        let mut at = 0;
        loop {
            self.ask_from(&order, at)?;
            if !needs_review && self.draft.content().is_ok() || self.review(!order.is_empty())? {
                return self.send();
            }
            at = order.len().saturating_sub(1);
        }
    }

    fn send(&self) -> Result<Answer, Left> {
        let refused = |problems: Vec<Problem>| {
            let texts: Vec<_> = problems.iter().map(Problem::to_string).collect();
            Left::Broken(std::io::Error::other(texts.join("; ")))
        };
        self.draft.content().map(Answer::accept).map_err(refused)
    }

    /// The fields to ask for; `None` if the person agrees without being asked for any.
    fn choose_order(&mut self) -> Result<Option<Vec<usize>>, Left> {
        let form = self.form;
        let is_needed = |index: &&usize| {
            form.fields().get(**index).is_some_and(|field| field.required || field.faulty_default.is_some())
        };
        let needed: Vec<usize> = self.open.iter().filter(is_needed).copied().collect();
        let optional = self.open.len() - needed.len();
        if needed.is_empty() && !self.open.is_empty() {
            let fill = if optional == 1 {
                "Fill in the optional field".to_owned()
            } else {
                format!("Fill in the {optional} optional fields")
            };
            let yes = self.offer();
            let is_filled = agree(self.console, Some((yes, &fill)))?;
            return Ok(is_filled.then(|| self.open.clone()));
        }
        if optional > MANY {
            let question = format!("{optional} fields are optional");
            let choices = [("Ask only for what is required", true), ("Ask for every field", false)];
            if pick(self.console, &question, &choices, Some(0))? {
                return Ok(Some(needed));
            }
        }
        Ok(Some(self.open.clone()))
    }

    /// Shows what an answer without any input has in it, and says what agreeing to it is.
    fn offer(&self) -> &'static str {
        let offered: Vec<String> =
            self.listed().into_iter().filter_map(|(line, is_sent)| is_sent.then_some(line)).collect();
        if offered.is_empty() {
            return "Yes, without filling anything in";
        }
        dimmed("Every answer is optional. Offered are:");
        offered.iter().take(MANY).for_each(|line| anstream::eprintln!("  {line}"));
        if offered.len() > MANY {
            dimmed(&format!("(and {} more)", offered.len() - MANY));
        }
        "Yes, with what is offered"
    }

    /// Asks for the fields in their order, from one of them on.
    fn ask_from(&mut self, order: &[usize], start: usize) -> Result<(), Left> {
        let mut at = start;
        while let Some(field) = order.get(at).and_then(|index| self.form.fields().get(*index)) {
            let place = Place { number: at + 1, count: order.len(), back: at > 0 };
            at = if self.ask(field, place)? { at + 1 } else { at.saturating_sub(1) };
        }
        Ok(())
    }

    /// Asks for one field; false if the person goes back instead.
    fn ask(&mut self, field: &Field, place: Place) -> Result<bool, Left> {
        match field::ask(self.console, field, self.draft.entry(&field.name), place)? {
            Step::Answered(entry) => self.draft.set(&field.name, entry),
            Step::Back => return Ok(false),
        }
        Ok(true)
    }

    /// Shows what would be sent until it is right; false goes back to the last question.
    fn review(&mut self, back: bool) -> Result<bool, Left> {
        loop {
            if let Err(problems) = self.draft.content() {
                self.correct(&problems)?;
                continue;
            }
            self.show_answers()?;
            match self.decide(back)? {
                Reviewed::Send => return Ok(true),
                Reviewed::Back => return Ok(false),
                Reviewed::Change(index) => self.change(index)?,
            }
        }
    }

    fn show_answers(&mut self) -> Result<(), Left> {
        let bold = Style::new().bold();
        anstream::eprintln!();
        anstream::eprintln!("{bold}Your answer{bold:#}");
        let listed = self.listed();
        let left_out = listed.iter().filter(|(_, is_sent)| !is_sent).count();
        let hides = left_out > MANY;
        let shown = listed.into_iter().filter(|(_, is_sent)| *is_sent || !hides);
        let columns = screen().0.saturating_sub(3);
        let lines: Vec<String> =
            shown.flat_map(|(line, _)| wrap(&line, columns).into_iter().take(MOST_LINES)).collect();
        read_through(self.console, &lines, screen().1.saturating_sub(8))?;
        if hides {
            dimmed(&format!("({left_out} fields are left out)"));
        }
        Ok(())
    }

    /// A line for each field, with its number, and whether it is sent.
    fn listed(&self) -> Vec<(String, bool)> {
        let line = |(index, field): (usize, &Field)| {
            let value = self.draft.value(field);
            let shown = value.map(|value| escape::line(&field::told(field, value)));
            let text = shown.map_or_else(|| "(left out)".to_owned(), |shown| cut(&shown, LONGEST_ANSWER));
            (format!("{}. {}: {text}", index + 1, field::label(field)), value.is_some())
        };
        self.form.fields().iter().enumerate().map(line).collect()
    }

    fn decide(&mut self, back: bool) -> Result<Reviewed, Left> {
        let actions = ["Send", "Change an answer", "Decline: say no", "Cancel: leave it undecided"];
        let prompt = PickPrompt {
            title: "Send it?",
            options: &actions.map(str::to_owned),
            start: Some(0),
            numbers: self.form.fields().len(),
            ways: Ways { back, ..Ways::default() },
        };
        match self.console.pick(&prompt)? {
            Said::Number(number) => Ok(Reviewed::Change(Some(number - 1))),
            Said::Given(0) => Ok(Reviewed::Send),
            Said::Given(1) => Ok(Reviewed::Change(None)),
            Said::Given(2) => Err(Left::Declined),
            Said::Given(_) => Err(Left::Cancelled),
            _ => Ok(Reviewed::Back),
        }
    }

    /// Asks again for one field, or first for which one.
    fn change(&mut self, index: Option<usize>) -> Result<(), Left> {
        let index = match index {
            Some(index) => index,
            None => {
                let lines: Vec<String> = self.listed().into_iter().map(|(line, _)| line).collect();
                let ways = Ways { back: true, ..Ways::default() };
                let prompt = PickPrompt { title: "Which one?", options: &lines, start: Some(0), numbers: 0, ways };
                let Said::Given(index) = self.console.pick(&prompt)? else { return Ok(()) };
                index
            }
        };
        if let Some(field) = self.form.fields().get(index) {
            self.ask(field, Place { number: 1, count: 1, back: true })?;
        }
        Ok(())
    }

    /// Asks again for the fields with problems.
    fn correct(&mut self, problems: &[Problem]) -> Result<(), Left> {
        for problem in problems {
            super::prompt::careful(&escape::line(&problem.to_string()));
        }
        let named = |field: &&Field| problems.iter().any(|problem| problem.field.as_ref() == Some(&field.name));
        let wrong: Vec<&Field> = self.form.fields().iter().filter(named).collect();
        for field in wrong {
            self.draft.set(
                &field.name,
                match self.draft.entry(&field.name) {
                    Entry::Omitted => Entry::Untouched,
                    entry => entry.clone(),
                },
            );
            self.ask(field, Place { number: 1, count: 1, back: false })?;
        }
        Ok(())
    }
}

enum Reviewed {
    Send,
    Back,
    /// The field with this index, or one to be picked.
    Change(Option<usize>),
}

/// More optional fields than this are not put to a person unasked.
const MANY: usize = 12;

/// Most lines of one answer in the review.
const MOST_LINES: usize = 6;

/// Most columns of one answer in the review.
const LONGEST_ANSWER: usize = 400;
