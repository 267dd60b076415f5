//! One reply, read as a test author looks at it: it asks, it finished, it failed, or it is an error.

use std::fmt;

use serde_json::{Map, Value};

/// A JSON-RPC response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply(Value);

/// What a question is, as it goes over the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Form,
    Url,
    Sampling,
    Roots,
}

/// How a leg ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With questions, or with a state to come back with.
    Asks,
    /// With a result.
    Finishes,
    /// With a result that reports an error to the model.
    Fails,
    /// With a JSON-RPC error of this code.
    Errs(i64),
    /// With something that is none of these.
    Nothing,
}

impl Reply {
    pub(super) fn read(body: &[u8]) -> Self {
        Self(serde_json::from_slice(body).unwrap_or_default())
    }

    pub(super) fn end(&self) -> End {
        let result = &self.0["result"];
        match (self.0["error"]["code"].as_i64(), result["resultType"].as_str()) {
            (Some(code), _) => End::Errs(code),
            (None, Some("input_required")) if self.state().is_some() => End::Asks,
            (None, Some("complete")) if result["isError"] == true => End::Fails,
            (None, Some("complete")) => End::Finishes,
            _ => End::Nothing,
        }
    }

    /// What is asked, by key.
    pub(super) fn questions(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0["result"]["inputRequests"].as_object().into_iter().flat_map(Map::iter)
    }

    pub(super) fn question(&self, key: &str) -> Option<&Value> {
        self.0["result"]["inputRequests"].get(key)
    }

    pub(super) fn state(&self) -> Option<&str> {
        self.0["result"]["requestState"].as_str()
    }

    /// The members of the result; null where there is none.
    pub(super) fn result(&self) -> &Value {
        &self.0["result"]
    }

    /// The text of a result or an error: what a tool says, what a prompt's messages or a resource's contents say.
    pub(super) fn text(&self) -> String {
        if let Some(message) = self.0["error"]["message"].as_str() {
            return message.to_owned();
        }
        let list = |name: &str| self.0["result"][name].as_array().into_iter().flatten();
        let texts = list("content").chain(list("messages").map(|message| &message["content"])).chain(list("contents"));
        texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

impl Kind {
    /// The kind of a question.
    pub(super) fn of(question: &Value) -> Self {
        match (question["method"].as_str(), question["params"]["mode"].as_str()) {
            (Some("sampling/createMessage"), _) => Self::Sampling,
            (Some("roots/list"), _) => Self::Roots,
            (_, Some("url")) => Self::Url,
            _ => Self::Form,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Url => "url",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }
}

/// What a question says to whoever is asked.
pub(super) fn message(question: &Value) -> String {
    let params = &question["params"];
    let prompt = params["messages"].as_array().and_then(|messages| messages.last());
    let text = params["message"].as_str().or_else(|| prompt?["content"]["text"].as_str());
    text.unwrap_or_default().to_owned()
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end() {
            End::Asks => {
                let mut questions = self.questions().peekable();
                if questions.peek().is_none() {
                    return f.write_str("asks nothing, and wants to be called again");
                }
                let described =
                    questions.map(|(key, asked)| format!("{} {key:?}: {:?}", Kind::of(asked), message(asked)));
                write!(f, "asks {}", described.collect::<Vec<_>>().join(" and "))
            }
            End::Finishes => write!(f, "finishes: {:?}", self.text()),
            End::Fails => write!(f, "fails: {:?}", self.text()),
            End::Errs(code) => write!(f, "error {code}: {}", self.text()),
            End::Nothing => write!(f, "is no reply the protocol knows: {}", self.0),
        }
    }
}
