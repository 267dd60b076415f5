//! Which rule of the specification a server broke: a name that stays, the rule, and where it is written.
//!
//! A client that guesses what a server may have meant hides the fault from the one who can mend it, and one day guesses
//! wrong. What deviates is named instead, also where the meaning looks plain.

use std::fmt;

/// A rule of the specification (revision 2026-07-28) that a server's response breaks.
///
/// [`name`](Self::name) is stable: a test may expect it, a bug report may quote it.
///
/// ```
/// use mrtr::client::Diagnosis;
///
/// assert_eq!(Diagnosis::StateNotString.name(), "state-not-string");
/// assert_eq!(Diagnosis::StateNotString.section(), "basic/patterns/mrtr#inputrequiredresult");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Diagnosis {
    /// `"resultType": "inputRequired"`, or another spelling of `input_required`.
    ResultTypeSpelling,
    /// A result with questions or a state that does not say it is `input_required`.
    ResultTypeMissing,
    /// A result type that is neither of the core protocol nor of a declared extension.
    ResultTypeUnknown,
    /// Members spelled `input_requests` and `request_state`.
    SnakeCase,
    /// A question written `{"type": "elicitation", "schema": ..}`, as in early write-ups of the pattern.
    DraftQuestion,
    /// An `input_required` result without questions and without a state.
    NothingRequired,
    /// `inputRequests` that is no object, or names a key twice.
    RequestsNotAMap,
    /// A question that is no request object.
    QuestionMalformed,
    /// A question by a method that is none of the three input requests.
    KindUnknown,
    /// An elicitation in a mode that is neither `form` nor `url`.
    ModeUnknown,
    /// A form whose message or schema is missing or cannot be read.
    FormMalformed,
    /// A URL request whose message or URL is missing or cannot be read.
    PageMalformed,
    /// A state that is not a string.
    StateNotString,
    /// A kind or mode of input this client did not declare.
    KindUndeclared,
    /// `input_required` in answer to a method that has no rounds.
    MethodHasNoRounds,
    /// Questions inside a JSON-RPC error, such as -32042 of revision 2025-11-25.
    QuestionsInError,
    /// A request to the client, such as `elicitation/create`, sent while the client waits for its response.
    ServerRequest,
    /// What came back is not a JSON-RPC message.
    NotJsonRpc,
    /// A response to another request.
    IdMismatch,
    /// A result that is no object.
    ResultMalformed,
    /// An error that is no error object.
    ErrorMalformed,
    /// A result below an HTTP status that says there is none.
    ResultWithErrorStatus,
    /// A list whose pages cannot be read, repeat themselves, or never end.
    ListMalformed,
}

impl Diagnosis {
    /// Every diagnosis there is.
    pub const ALL: &[Self] = &[
        Self::ResultTypeSpelling,
        Self::ResultTypeMissing,
        Self::ResultTypeUnknown,
        Self::SnakeCase,
        Self::DraftQuestion,
        Self::NothingRequired,
        Self::RequestsNotAMap,
        Self::QuestionMalformed,
        Self::KindUnknown,
        Self::ModeUnknown,
        Self::FormMalformed,
        Self::PageMalformed,
        Self::StateNotString,
        Self::KindUndeclared,
        Self::MethodHasNoRounds,
        Self::QuestionsInError,
        Self::ServerRequest,
        Self::NotJsonRpc,
        Self::IdMismatch,
        Self::ResultMalformed,
        Self::ErrorMalformed,
        Self::ResultWithErrorStatus,
        Self::ListMalformed,
    ];

    /// Returns the name, in lower case with hyphens. It stays the same in later versions.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Returns the section of the specification that holds the rule, as `page#heading`.
    pub fn section(self) -> &'static str {
        self.entry().1
    }

    /// Returns the rule as one sentence, for whoever writes the server.
    pub fn rule(self) -> &'static str {
        self.entry().2
    }

    fn entry(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::ResultTypeSpelling => (
                "result-type-spelling",
                "basic/index#resulttype",
                r#"a result that wants input says "resultType": "input_required", in this spelling"#,
            ),
            Self::ResultTypeMissing => (
                "result-type-missing",
                "basic/index#result-responses",
                "every result has a resultType; without one it counts as complete, so its questions would be lost",
            ),
            Self::ResultTypeUnknown => (
                "result-type-unknown",
                "basic/index#resulttype",
                "a resultType the client does not know, from the core protocol or a declared extension, is invalid",
            ),
            Self::SnakeCase => (
                "snake-case",
                "basic/patterns/mrtr#inputrequiredresult",
                "the members are resultType, inputRequests and requestState; only the value input_required has an underscore",
            ),
            Self::DraftQuestion => (
                "draft-question",
                "basic/patterns/mrtr#inputrequests",
                r#"a question is a request object: {"method": "elicitation/create", "params": {"message": .., "requestedSchema": ..}}"#,
            ),
            Self::NothingRequired => (
                "nothing-required",
                "basic/patterns/mrtr#server-requirements-basic-workflow",
                "an input_required result has inputRequests, or requestState, or both",
            ),
            Self::RequestsNotAMap => (
                "requests-not-a-map",
                "basic/patterns/mrtr#inputrequests",
                "inputRequests is an object from keys of the server's choice to requests, each key once",
            ),
            Self::QuestionMalformed => (
                "question-malformed",
                "basic/patterns/mrtr#inputrequests",
                "each value of inputRequests is a request object with a method and params",
            ),
            Self::KindUnknown => (
                "kind-unknown",
                "basic/patterns/mrtr#server-requirements-basic-workflow",
                "a question is elicitation/create, sampling/createMessage or roots/list",
            ),
            Self::ModeUnknown => (
                "mode-unknown",
                "client/elicitation#elicitation-requests",
                r#"the mode of an elicitation is "form" or "url"; without one it is a form"#,
            ),
            Self::FormMalformed => (
                "form-malformed",
                "client/elicitation#form-mode-elicitation-requests",
                "a form has a message and a requestedSchema, which is an object schema",
            ),
            Self::PageMalformed => (
                "page-malformed",
                "client/elicitation#url-mode-elicitation-requests",
                "a URL request has a message and a url",
            ),
            Self::StateNotString => (
                "state-not-string",
                "basic/patterns/mrtr#inputrequiredresult",
                "requestState is a string, whatever the server keeps in it",
            ),
            Self::KindUndeclared => (
                "kind-undeclared",
                "basic/patterns/mrtr#server-requirements-basic-workflow",
                "a server asks only for what the client declared in its capabilities, mode by mode; otherwise it answers -32021",
            ),
            Self::MethodHasNoRounds => (
                "method-has-no-rounds",
                "basic/patterns/mrtr#supported-requests",
                "only tools/call, prompts/get and resources/read may end in input_required",
            ),
            Self::QuestionsInError => (
                "questions-in-error",
                "basic/index#error-codes",
                "questions come in a result with resultType input_required; the error -32042 belongs to revision 2025-11-25",
            ),
            Self::ServerRequest => (
                "server-request",
                "basic/patterns/mrtr",
                "servers send no requests to clients: they return their questions in an input_required result",
            ),
            Self::NotJsonRpc => (
                "not-json-rpc",
                "basic/index#messages",
                "all messages are JSON-RPC 2.0, and a response has a result or an error",
            ),
            Self::IdMismatch => {
                ("id-mismatch", "basic/index#responses", "a response has the id of the request it answers")
            }
            Self::ResultMalformed => ("result-malformed", "basic/index#result-responses", "a result is an object"),
            Self::ErrorMalformed => (
                "error-malformed",
                "basic/index#error-responses",
                "an error is an object with an integer code and a message",
            ),
            Self::ResultWithErrorStatus => (
                "result-with-error-status",
                "basic/transports/streamable-http#receiving-messages",
                "a result comes with an HTTP status of success",
            ),
            Self::ListMalformed => (
                "list-malformed",
                "server/utilities/pagination",
                "each page of a list is an object with the list and, unless it is the last, a nextCursor not seen before",
            ),
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.name(), self.rule(), self.section())
    }
}

/// What is wrong with one response: the rule, and what was found where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) diagnosis: Diagnosis,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn new(diagnosis: Diagnosis, what: impl Into<String>) -> Self {
        Self { diagnosis, what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_its_own_and_every_rule_has_a_place() {
        let names: HashSet<_> = Diagnosis::ALL.iter().map(|diagnosis| diagnosis.name()).collect();
        assert_eq!(names.len(), Diagnosis::ALL.len());
        for diagnosis in Diagnosis::ALL {
            assert!(diagnosis.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{diagnosis}");
            assert!(diagnosis.section().contains('/') && !diagnosis.rule().ends_with('.'), "{diagnosis}");
        }
    }
}
