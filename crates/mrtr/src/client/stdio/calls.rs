//! The requests a child has not answered, and which of its lines belongs to which.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::wire::Object;

/// What a waiting request is told.
#[derive(Debug)]
pub(super) enum News {
    /// A notification.
    Notification(String),
    /// The response.
    Response(String),
    /// The response, or what may have been it, is longer than any request allows.
    TooLong,
    /// The child wrote something else than messages.
    Garbage(String),
    /// The child is gone, and no response will come.
    Gone,
}

/// The requests under way, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    open: BTreeMap<u64, Call>,
    last: u64,
    has_ended: bool,
    has_spoken: bool,
}

#[derive(Debug)]
struct Call {
    id: String,
    progress_token: Option<String>,
    is_written: bool,
    longest: usize,
    news: mpsc::UnboundedSender<News>,
}

/// What the transport has to know of a request.
#[derive(Debug)]
pub(super) struct Head {
    /// The id, as JSON text.
    pub(super) id: String,
    /// The progress token, as JSON text.
    pub(super) progress_token: Option<String>,
    /// Whether sending it a second time is what the specification has in mind.
    pub(super) may_repeat: bool,
    /// Its metadata, as JSON text.
    pub(super) meta: Option<Box<RawValue>>,
}

/// What to make of a line that is not for any request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Routed {
    Delivered,
    /// Nobody waits for it: the answer to a request that was given up, or what is no message.
    Stray,
}

impl Calls {
    /// Registers a request; `None` when no more can be taken, or when one with this id is under way.
    pub(super) fn open(&self, head: &Head, longest: usize) -> Result<(u64, mpsc::UnboundedReceiver<News>), Refused> {
        let (news, receiver) = mpsc::unbounded_channel();
        let mut inner = self.inner();
        if inner.has_ended {
            return Err(Refused::Ended);
        }
        if inner.open.values().any(|call| call.id == head.id) {
            return Err(Refused::SameId);
        }
        inner.last += 1;
        let number = inner.last;
        let (id, progress_token) = (head.id.clone(), head.progress_token.clone());
        inner.open.insert(number, Call { id, progress_token, is_written: false, longest, news });
        Ok((number, receiver))
    }

    /// Takes note that a request is being written; false if nobody waits for its response any more.
    pub(super) fn note_written(&self, number: u64) -> bool {
        self.inner().open.get_mut(&number).map(|call| call.is_written = true).is_some()
    }

    /// Forgets a request. Returns its id if the child may have seen it and has not answered it.
    pub(super) fn close(&self, number: u64) -> Option<String> {
        self.inner().open.remove(&number).filter(|call| call.is_written).map(|call| call.id)
    }

    /// Whether the child may have seen this request.
    pub(super) fn is_written(&self, number: u64) -> bool {
        self.inner().open.get(&number).is_some_and(|call| call.is_written)
    }

    /// The longest line that somebody waits for.
    pub(super) fn longest(&self) -> usize {
        self.inner().open.values().map(|call| call.longest).max().unwrap_or(LONGEST_UNASKED)
    }

    /// Whether the child has written a message.
    pub(super) fn has_spoken(&self) -> bool {
        self.inner().has_spoken
    }

    /// Hands a line to the request it belongs to.
    pub(super) fn route(&self, line: String) -> Routed {
        let mut inner = self.inner();
        let Ok(Object(message)) = serde_json::from_str::<Object<Message<'_>>>(&line) else {
            return inner.cannot_read(line);
        };
        inner.has_spoken = true;
        if message.method.is_some() {
            let token = message.params.as_ref().and_then(|Object(params)| params.progress_token).map(RawValue::get);
            return match inner.notified(token) {
                Some(call) => call.tell(News::Notification(line)),
                None => Routed::Stray,
            };
        }
        let id = message.id.map(RawValue::get).filter(|id| *id != "null");
        let number = match id {
            Some(id) => inner.open.iter().find(|(_, call)| is_same(&call.id, id)).map(|(number, _)| *number),
            // Spec: basic/index#error-responses. Without an id it can only be about the one request there is.
            None if inner.open.len() == 1 => inner.open.keys().next().copied(),
            None => None,
        };
        match number.and_then(|number| inner.open.remove(&number)) {
            Some(call) => call.tell(News::Response(line)),
            None => Routed::Stray,
        }
    }

    /// Ends all that wait: one of them was to get the line that is too long.
    pub(super) fn too_long(&self) {
        self.inner().tell_all(|| News::TooLong);
    }

    /// Ends all that wait, and takes no more.
    pub(super) fn end(&self) {
        let mut inner = self.inner();
        inner.has_ended = true;
        inner.tell_all(|| News::Gone);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Decides on a line that is no message.
    fn cannot_read(&mut self, line: String) -> Routed {
        if !self.has_spoken {
            // A server that has said nothing else is none; one that has may print something now and then.
            self.tell_all(|| News::Garbage(line.clone()));
            return Routed::Stray;
        }
        // Meant as a message, and by all appearance as the one that is waited for: its reader says what is wrong.
        let is_meant = line.starts_with('{') && self.open.len() == 1;
        match is_meant.then(|| self.open.pop_first()).flatten() {
            Some((_, call)) => call.tell(News::Response(line)),
            None => Routed::Stray,
        }
    }

    /// The request a notification is for: the one that has its progress token, or else the oldest.
    fn notified(&self, token: Option<&str>) -> Option<&Call> {
        match token {
            Some(token) => self.open.values().find(|call| call.progress_token.as_deref() == Some(token)),
            None => self.open.values().next(),
        }
    }

    fn tell_all(&self, news: impl Fn() -> News) {
        for call in self.open.values() {
            call.tell(news());
        }
    }
}

impl Call {
    fn tell(&self, news: News) -> Routed {
        if self.news.send(news).is_ok() { Routed::Delivered } else { Routed::Stray }
    }
}

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Ended,
    SameId,
}

impl Head {
    /// Reads what the transport has to know of a request.
    pub(super) fn read(request: &str) -> Result<Self, serde_json::Error> {
        let Object(message) = serde_json::from_str::<Object<Request<'_>>>(request)?;
        let params = message.params.map(|Object(params)| params).unwrap_or_default();
        let meta: Meta<'_> = params
            .meta
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .map(|Object(meta)| meta)
            .unwrap_or_default();
        let may_repeat = message.method != "tools/call" || meta.key.is_some() || params.state.is_some();
        Ok(Self {
            id: message.id.get().to_owned(),
            progress_token: meta.progress_token.map(|token| token.get().to_owned()),
            may_repeat,
            meta: params.meta.map(ToOwned::to_owned),
        })
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: String,
    #[serde(borrow, default)]
    params: Option<Object<Params<'a>>>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestState")]
    state: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, rename = "mrtr/idempotencyKey")]
    key: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    params: Option<Object<Told<'a>>>,
}

#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

/// Parameters of another shape have no token.
fn lenient<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Object<Told<'de>>>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

/// Compares ids as JSON texts. Servers that keep numbers as floats write `1.0` for `1`.
fn is_same(sent: &str, found: &str) -> bool {
    sent == found || found.parse::<f64>().is_ok_and(|found| sent.parse::<f64>().is_ok_and(|sent| sent == found))
}

/// Longest line while nobody waits for one, in bytes.
const LONGEST_UNASKED: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn head(id: &str, token: Option<&str>) -> Head {
        let params = token.map(|token| format!(r#","params":{{"_meta":{{"progressToken":{token}}}}}"#));
        Head::read(&format!(r#"{{"id":{id},"method":"tools/list"{}}}"#, params.unwrap_or_default())).unwrap()
    }

    #[test]
    fn answers_find_their_request_in_any_order() {
        let calls = Calls::default();
        let (_, mut one) = calls.open(&head("1", None), 100).unwrap();
        let (_, mut two) = calls.open(&head("2", Some("\"t\"")), 100).unwrap();
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
        assert_eq!(calls.route(progress.to_owned()), Routed::Delivered);
        assert_eq!(calls.route(r#"{"result":{},"id":2.0}"#.to_owned()), Routed::Delivered);
        assert_eq!(calls.route(r#"{"id":1,"result":{}}"#.to_owned()), Routed::Delivered);
        assert!(matches!(two.try_recv(), Ok(News::Notification(_))));
        assert!(matches!(two.try_recv(), Ok(News::Response(_))));
        assert!(matches!(one.try_recv(), Ok(News::Response(_))));
        assert_eq!(calls.route(r#"{"id":1,"result":{}}"#.to_owned()), Routed::Stray);
    }

    #[test]
    fn an_error_without_an_id_is_about_the_only_request() {
        let calls = Calls::default();
        let (_, mut one) = calls.open(&head("1", None), 100).unwrap();
        let error = r#"{"id":null,"error":{"code":-32700}}"#;
        assert_eq!(calls.route(error.to_owned()), Routed::Delivered);
        assert!(matches!(one.try_recv(), Ok(News::Response(_))));
        let _both = (calls.open(&head("2", None), 100).unwrap(), calls.open(&head("3", None), 100).unwrap());
        assert_eq!(calls.route(error.to_owned()), Routed::Stray);
    }

    #[test]
    fn what_is_no_message_ends_the_requests_only_of_a_server_that_has_said_nothing_else() {
        let calls = Calls::default();
        let (_, mut one) = calls.open(&head("1", None), 100).unwrap();
        assert_eq!(calls.route("hello".to_owned()), Routed::Stray);
        assert!(matches!(one.try_recv(), Ok(News::Garbage(line)) if line == "hello"));
        calls.route(r#"{"method":"notifications/message"}"#.to_owned());
        assert_eq!(calls.route("hello".to_owned()), Routed::Stray);
        assert!(matches!(one.try_recv(), Ok(News::Notification(_))));
        assert!(one.try_recv().is_err());
    }

    #[test]
    fn only_what_was_written_needs_to_be_cancelled() {
        let calls = Calls::default();
        let (unseen, _news) = calls.open(&head("1", None), 100).unwrap();
        let (seen, _news) = calls.open(&head("2", None), 100).unwrap();
        assert!(calls.note_written(seen));
        assert_eq!((calls.close(unseen), calls.close(seen)), (None, Some("2".to_owned())));
        assert!(!calls.note_written(unseen));
    }

    #[test]
    fn a_call_may_be_repeated_with_a_key_or_a_state_and_what_only_reads_always() {
        for (request, expected) in [
            (r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#, false),
            (r#"{"id":1,"method":"tools/call","params":{"_meta":{"mrtr/idempotencyKey":"k"}}}"#, true),
            (r#"{"id":1,"method":"tools/call","params":{"requestState":"s"}}"#, true),
            (r#"{"id":1,"method":"resources/read","params":{}}"#, true),
        ] {
            assert_eq!(Head::read(request).unwrap().may_repeat, expected, "{request}");
        }
    }
}
