//! From the tree of a file to a script; what does not belong is named with its line.

use std::time::Duration;

use serde_json::{Value, json};

use super::node::{It, Key, Node};
use super::{Expected, Given, Pattern, Question, Reply, Say, Script, ScriptError, ScriptedCall};
use crate::client::Kind;
use crate::form::quoted;

impl Script {
    /// Reads a script from a file's text; `file` is its name, for errors.
    ///
    /// # Errors
    ///
    /// When the text is neither YAML nor JSON, or something in it does not belong there.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        Reader { file, replies: 0 }.script(&Node::read(file, text)?)
    }
}

type Read<T> = Result<T, ScriptError>;

struct Reader<'f> {
    file: &'f str,
    /// How many replies were read.
    replies: usize,
}

impl Reader<'_> {
    fn script(&mut self, node: &Node) -> Read<Script> {
        let mut script = Script { file: self.file.to_owned(), ..Script::default() };
        for (key, value) in self.members(node, "the file", &["version", "calls", "answers"])? {
            match &*key.name {
                "version" if value.text() == Some("1") => {}
                "version" => return self.wrong(value, "version", "1, the only one there is"),
                "calls" => {
                    let calls = self.list(value, "calls")?;
                    script.calls = calls.iter().map(|call| self.call(call)).collect::<Read<_>>()?;
                }
                _ => script.answers = self.answers(value, "answers")?,
            }
        }
        Ok(script)
    }

    fn call(&mut self, node: &Node) -> Read<ScriptedCall> {
        let names = ["tool", "prompt", "resource", "arguments", "rounds", "answers", "result"];
        let mut call = ScriptedCall {
            line: node.line,
            method: "",
            target: String::new(),
            arguments: None,
            rounds: Vec::new(),
            answers: Vec::new(),
            result: None,
        };
        for (key, value) in self.members(node, "a call", &names)? {
            match &*key.name {
                "arguments" => match value.to_value(self.file)? {
                    Value::Object(arguments) => call.arguments = Some(arguments),
                    _ => return self.wrong(value, "arguments", "a mapping of names to values"),
                },
                "rounds" => {
                    let rounds = self.list(value, "rounds")?;
                    call.rounds = rounds.iter().map(|round| self.answers(round, "a round")).collect::<Read<_>>()?;
                }
                "answers" => call.answers = self.answers(value, "answers")?,
                "result" => call.result = Some(self.expected(value)?),
                kind => {
                    if !call.method.is_empty() {
                        return self.error(key.line, "a call has one of tool, prompt and resource");
                    }
                    call.method = method(kind);
                    call.target = self.text(value, kind)?;
                }
            }
        }
        if call.method.is_empty() {
            return self.error(node.line, "a call needs one of tool, prompt and resource");
        }
        Ok(call)
    }

    /// What is answered, by the keys of questions. A list answers a question as often as it is asked.
    fn answers(&mut self, node: &Node, place: &str) -> Read<Vec<(String, Vec<Reply>)>> {
        let entries = self.mapping(node, place)?;
        let mut answers = Vec::with_capacity(entries.len());
        for (Key { name, line }, value) in entries {
            let replies = match &value.it {
                It::List(items) if items.is_empty() => return self.wrong(value, name, "an answer, or several"),
                It::List(items) => items.iter().map(|item| self.reply(name, item)).collect::<Read<_>>()?,
                // It is looked for where its key is.
                _ => vec![Reply { line: *line, ..self.reply(name, value)? }],
            };
            answers.push((name.clone(), replies));
        }
        Ok(answers)
    }

    fn reply(&mut self, key: &str, node: &Node) -> Read<Reply> {
        let wanted = "accept, decline, cancel, or a mapping with one of accept, decline, cancel, sampling and roots";
        self.replies += 1;
        let (number, line, after) = (self.replies, node.line, Duration::ZERO);
        if let Some(word) = node.text() {
            return match word_said(word) {
                Some(say) => Ok(Reply { line, number, say, after, asked: None }),
                None => self.wrong(node, key, wanted),
            };
        }
        let mut reply = Reply { line, number, say: Say::Cancel, after, asked: None };
        let mut said = None;
        for (name, value) in self.mapping(node, key)? {
            match &*name.name {
                "after" => reply.after = self.duration(value)?,
                "asked" => reply.asked = Some(self.question(value)?),
                word @ ("accept" | "decline" | "cancel" | "sampling" | "roots") => {
                    if let Some(other) = said.replace(word) {
                        return self.error(name.line, format!("{} says both {other} and {word}", quoted(key)));
                    }
                    reply.say = self.say(word, value)?;
                }
                other => {
                    let hint = format!(
                        "{other}: is not expected for {}; a field goes into accept: {{{other}: ..}}",
                        quoted(key)
                    );
                    return self.error(name.line, hint);
                }
            }
        }
        if said.is_none() {
            return self.wrong(node, key, wanted);
        }
        Ok(reply)
    }

    fn say(&self, word: &str, value: &Node) -> Read<Say> {
        match (word, &value.it) {
            ("accept", It::Map(fields)) => {
                let field = |(key, node): &(Key, Node)| Ok((key.name.clone(), Given::read(self.file, node)?));
                fields.iter().map(field).collect::<Read<_>>().map(Say::Accept)
            }
            ("sampling", It::Map(_)) => value.to_value(self.file).map(Say::Sampling),
            ("sampling", It::Text(text) | It::Bare(text)) if !value.is_null() => Ok(Say::Sampling(message(text))),
            ("roots", It::List(_)) => self.roots(value).map(Say::Roots),
            ("roots" | "sampling", _) => {
                let wanted = if word == "roots" { "a list of URIs" } else { "a text, or the result as a mapping" };
                self.wrong(value, word, wanted)
            }
            (_, It::Map(none)) if none.is_empty() => Ok(word_said(word).unwrap_or(Say::Cancel)),
            (_, _) if value.is_null() => Ok(word_said(word).unwrap_or(Say::Cancel)),
            ("accept", _) => self.wrong(value, word, "fields, or nothing"),
            _ => self.wrong(value, word, "nothing"),
        }
    }

    fn roots(&self, list: &Node) -> Read<Value> {
        let root = |node: &Node| match node.text() {
            Some(uri) if uri.starts_with("file://") => Ok(json!({ "uri": uri })),
            None if matches!(node.it, It::Map(_)) => node.to_value(self.file),
            _ => self.wrong(node, "roots", "a URI that starts with file://, or a mapping with uri and name"),
        };
        let roots = self.list(list, "roots")?.iter().map(root).collect::<Read<Value>>()?;
        Ok(json!({ "roots": roots }))
    }

    fn question(&self, node: &Node) -> Read<Question> {
        let mut question = Question::default();
        for (key, value) in self.members(node, "asked", &["kind", "message", "url", "schema", "params"])? {
            match &*key.name {
                "kind" => match value.text().and_then(kind) {
                    Some(kind) => question.kind = Some(kind),
                    None => return self.wrong(value, "kind", "form, url, sampling or roots"),
                },
                "message" => question.message = Some(self.pattern(value, "message")?),
                "url" => question.url = Some(self.pattern(value, "url")?),
                "schema" => question.schema = Some(self.object(value, "schema")?),
                _ => question.params = Some(self.object(value, "params")?),
            }
        }
        Ok(question)
    }

    fn expected(&self, node: &Node) -> Read<Expected> {
        let mut expected = Expected::default();
        for (key, value) in self.members(node, "result", &["text", "error", "blocks", "structured", "value"])? {
            match &*key.name {
                "text" => expected.text = Some(self.pattern(value, "text")?),
                "error" => match value.to_value(self.file)? {
                    Value::Bool(is_error) => expected.is_error = Some(is_error),
                    _ => return self.wrong(value, "error", "true or false"),
                },
                "blocks" => {
                    let blocks = self.list(value, "blocks")?;
                    expected.blocks = Some(blocks.iter().map(|it| self.text(it, "blocks")).collect::<Read<_>>()?);
                }
                "structured" => expected.structured = Some(value.to_value(self.file)?),
                _ => expected.value = Some(self.object(value, "value")?),
            }
        }
        Ok(expected)
    }

    fn pattern(&self, node: &Node, place: &str) -> Read<Pattern> {
        match &node.it {
            It::Bare(text) | It::Text(text) => Ok(Pattern::Exactly(text.clone())),
            It::Map(entries) => match entries.as_slice() {
                [(key, value)] if key.name == "like" => self.text(value, "like").map(Pattern::Like),
                _ => self.wrong(node, place, "a text, or like: and a text with * in it"),
            },
            It::List(_) => self.wrong(node, place, "a text, or like: and a text with * in it"),
        }
    }

    fn duration(&self, node: &Node) -> Read<Duration> {
        let wanted = "a time such as 500ms, 2s or 1.5s, at most an hour";
        let Some(text) = node.text() else { return self.wrong(node, "after", wanted) };
        let (digits, unit) = match text.strip_suffix("ms") {
            Some(digits) => (digits, 0.001),
            None => (text.strip_suffix('s').unwrap_or_default(), 1.0),
        };
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match digits.trim().parse::<f64>() {
            Ok(count) if is_plain && count * unit <= 3600.0 => Ok(Duration::from_secs_f64(count * unit)),
            _ => self.wrong(node, "after", wanted),
        }
    }

    fn object(&self, node: &Node, place: &str) -> Read<Value> {
        match &node.it {
            It::Map(_) => node.to_value(self.file),
            _ => self.wrong(node, place, "a mapping"),
        }
    }

    fn text(&self, node: &Node, place: &str) -> Read<String> {
        match node.text() {
            Some(text) if !node.is_null() => Ok(text.to_owned()),
            _ => self.wrong(node, place, "a text"),
        }
    }

    fn list<'n>(&self, node: &'n Node, place: &str) -> Read<&'n [Node]> {
        match &node.it {
            It::List(items) => Ok(items),
            _ => self.wrong(node, place, "a list"),
        }
    }

    fn mapping<'n>(&self, node: &'n Node, place: &str) -> Read<&'n [(Key, Node)]> {
        match &node.it {
            It::Map(entries) => Ok(entries),
            _ => self.wrong(node, place, "a mapping"),
        }
    }

    /// The members of a mapping that takes these and no others.
    fn members<'n>(&self, node: &'n Node, place: &str, names: &[&str]) -> Read<&'n [(Key, Node)]> {
        let members = self.mapping(node, place)?;
        match members.iter().find(|(key, _)| !names.contains(&&*key.name)) {
            Some((key, _)) => {
                let what =
                    format!("{} does not belong into {place}, which takes {}", quoted(&key.name), names.join(", "));
                self.error(key.line, what)
            }
            None => Ok(members),
        }
    }

    fn wrong<T>(&self, node: &Node, place: &str, wanted: &str) -> Read<T> {
        self.error(node.line, format!("{place}: expected {wanted}, found {}", node.what()))
    }

    fn error<T>(&self, line: usize, what: impl Into<String>) -> Read<T> {
        Err(ScriptError::new(self.file, line, what))
    }
}

fn method(kind: &str) -> &'static str {
    match kind {
        "tool" => "tools/call",
        "prompt" => "prompts/get",
        _ => "resources/read",
    }
}

fn kind(word: &str) -> Option<Kind> {
    Some(match word {
        "form" => Kind::Form,
        "url" => Kind::Url,
        "sampling" => Kind::Sampling,
        "roots" => Kind::Roots,
        _ => return None,
    })
}

fn word_said(word: &str) -> Option<Say> {
    Some(match word {
        "accept" => Say::Accept(Vec::new()),
        "decline" => Say::Decline,
        "cancel" => Say::Cancel,
        _ => return None,
    })
}

/// The result of sampling for which only the text is given.
fn message(text: &str) -> Value {
    json!({
        "role": "assistant", "content": { "type": "text", "text": text }, "model": "scripted", "stopReason": "endTurn",
    })
}
