//! One subscription: what it listens to, and what of that is due to be told.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll, Waker};

use super::Change;
use super::filter::Filter;

/// What a subscription is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic<'a> {
    Tools,
    Prompts,
    Resources,
    Resource(&'a str),
}

/// A subscription, as those see it who publish.
#[derive(Debug)]
pub(super) struct Listener {
    lists: [bool; LISTS],
    /// Sorted, each once.
    uris: Vec<String>,
    state: Mutex<State>,
}

/// Tools, prompts and resources; in the numbering of topics the URIs come after them.
const LISTS: usize = 3;

#[derive(Debug)]
struct State {
    /// The numbers of the topics that have changed, in the order in which they first did.
    due: VecDeque<usize>,
    /// By number, whether the topic is in there.
    is_due: Vec<bool>,
    is_closed: bool,
    waker: Option<Waker>,
}

impl Listener {
    pub(super) fn new(filter: Filter) -> Self {
        let lists = [filter.tools_list_changed, filter.prompts_list_changed, filter.resources_list_changed];
        let mut uris = filter.resource_subscriptions.unwrap_or_default();
        uris.sort_unstable();
        uris.dedup();
        let is_due = vec![false; LISTS + uris.len()];
        let state = State { due: VecDeque::new(), is_due, is_closed: false, waker: None };
        Self { lists: lists.map(|wanted| wanted == Some(true)), uris, state: Mutex::new(state) }
    }

    /// Notes a change, if it is one to tell. What is returned is to be woken, once no lock is held.
    #[must_use]
    pub(super) fn note(&self, change: &Change) -> Option<Waker> {
        let number = self.number(change)?;
        let mut state = self.state();
        if std::mem::replace(&mut state.is_due[number], true) {
            return None;
        }
        state.due.push_back(number);
        state.waker.take()
    }

    /// Ends the subscription. What is returned is to be woken, once no lock is held.
    #[must_use]
    pub(super) fn close(&self) -> Option<Waker> {
        let mut state = self.state();
        state.is_closed = true;
        state.waker.take()
    }

    /// What is due next, if it may be taken; `None` when the subscription is over. Otherwise the task is woken when
    /// there is either.
    pub(super) fn poll_due(&self, task: &mut Task<'_>, may_take: bool) -> Poll<Option<Topic<'_>>> {
        let mut state = self.state();
        if let Some(number) = may_take.then(|| state.due.pop_front()).flatten() {
            state.is_due[number] = false;
            return Poll::Ready(Some(self.topic(number)));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        state.waker = Some(task.waker().clone());
        Poll::Pending
    }

    /// The number of the topic that has changed, if it is one of ours.
    fn number(&self, change: &Change) -> Option<usize> {
        let list = match change {
            Change::ToolsChanged => 0,
            Change::PromptsChanged => 1,
            Change::ResourcesChanged => 2,
            Change::ResourceUpdated { uri } => return self.uris.binary_search(uri).ok().map(|at| LISTS + at),
        };
        self.lists[list].then_some(list)
    }

    fn topic(&self, number: usize) -> Topic<'_> {
        match number {
            0 => Topic::Tools,
            1 => Topic::Prompts,
            2 => Topic::Resources,
            uri => Topic::Resource(&self.uris[uri - LISTS]),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(uris: &[&str]) -> Listener {
        let uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
        Listener::new(Filter {
            tools_list_changed: Some(true),
            resource_subscriptions: Some(uris),
            ..Filter::default()
        })
    }

    fn updated(uri: &str) -> Change {
        Change::ResourceUpdated { uri: uri.to_owned() }
    }

    fn due(listener: &Listener, may_take: bool) -> Poll<Option<Topic<'_>>> {
        listener.poll_due(&mut Task::from_waker(Waker::noop()), may_take)
    }

    #[test]
    fn many_changes_of_one_thing_are_told_once_in_the_order_of_the_first() {
        let listener = listener(&["b:", "a:", "b:", "c:"]);
        for _ in 0..1_000 {
            for change in [updated("c:"), Change::ToolsChanged, updated("a:"), updated("unheard:")] {
                let _ = listener.note(&change);
            }
        }
        let told = std::iter::from_fn(|| match due(&listener, true) {
            Poll::Ready(topic) => topic,
            Poll::Pending => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), [Topic::Resource("c:"), Topic::Tools, Topic::Resource("a:")]);

        let _ = listener.note(&updated("c:"));
        assert_eq!(due(&listener, true), Poll::Ready(Some(Topic::Resource("c:"))));
        assert!(due(&listener, true).is_pending());
    }

    #[test]
    fn what_was_not_asked_for_is_not_told() {
        let listener = listener(&["a:"]);
        for change in [Change::PromptsChanged, Change::ResourcesChanged, updated("a"), updated("a:b")] {
            assert!(listener.note(&change).is_none());
        }
        assert!(due(&listener, true).is_pending());
    }

    #[test]
    fn what_is_due_waits_for_room_and_is_told_before_the_end_if_there_is_some() {
        let listener = listener(&[]);
        let _ = listener.note(&Change::ToolsChanged);
        assert!(due(&listener, false).is_pending());
        assert!(listener.close().is_some(), "the one that waits for room hears of the end");
        assert_eq!(due(&listener, true), Poll::Ready(Some(Topic::Tools)));
        assert_eq!(due(&listener, true), Poll::Ready(None));

        let _ = listener.note(&Change::ToolsChanged);
        assert_eq!(due(&listener, false), Poll::Ready(None), "a client that does not read cannot delay the end");
    }
}
