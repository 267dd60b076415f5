//! Responders one after the other: who cannot answer passes the question on.

use super::{Answer, Ask, BoxFuture, NotAnswered, Responder};

/// Asks one responder, and another one what the first leaves open; made by [`Responder::or`].
///
/// ```
/// use mrtr::client::{Answer, Ask, NotAnswered, Responder, Responders, Scripted};
///
/// let script = Scripted::new().answer("confirm_prod", "confirm", true);
/// let person = async |ask: Ask| -> Result<Answer, NotAnswered> {
///     eprintln!("{}", ask.message());
///     Err(NotAnswered::Nobody) // no terminal here
/// };
/// let responders = Responders::new().elicitation(script.or(person).or(Answer::cancel()));
/// # let _ = responders;
/// ```
///
/// Only [`NotAnswered::Nobody`] and [`NotAnswered::Partly`] are passed on. A user who stops has stopped, and an answer that
/// does not fit is a fault to be seen, not one to be covered up by the next in line.
#[derive(Clone, Debug)]
pub struct Or<A, B> {
    first: A,
    next: B,
}

impl<A, B> Or<A, B> {
    pub(super) fn new(first: A, next: B) -> Self {
        Self { first, next }
    }
}

impl<A: Responder, B: Responder> Or<A, B> {
    async fn ask_both(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let mut ask = ask.clone();
        let has_alternative = std::mem::replace(&mut ask.has_alternative, true);
        let left = match self.first.respond(&ask).await {
            Err(left @ (NotAnswered::Nobody | NotAnswered::Partly(_))) => left,
            other => return other,
        };
        ask.has_alternative = has_alternative;
        if let NotAnswered::Partly(settled) = left {
            ask.settled.extend(settled);
        }
        match self.next.respond(&ask).await {
            // What the first one knew is not lost when there is nobody for the rest.
            Err(NotAnswered::Nobody) if !ask.settled.is_empty() => Err(NotAnswered::Partly(ask.settled)),
            other => other,
        }
    }
}

impl<A: Responder, B: Responder> Responder for Or<A, B> {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.ask_both(ask))
    }
}

/// Gives this answer to every question: [`Answer::decline`] or [`Answer::cancel`] at the end of a chain.
///
/// # Security
///
/// An [`Answer::accept`] used so agrees to whatever a server asks.
impl Responder for Answer {
    fn respond<'a>(&'a self, _: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}
