//! A server's request to a model: shown, changed, refused, or answered by the person in the model's place.
//!
//! No answer says "I refuse" in the protocol: who refuses ends the call (client/sampling#error-handling).

use mrtr::client::{Answer, Ask, NotAnswered};
use mrtr::visible;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::console::{Console, Left, Said, TextPrompt, Ways, pick};
use super::layout::{screen, wrap};
use super::prompt::{dimmed, introduce, read_through};
use super::{Terminal, escape};

impl Terminal {
    /// Has a person write what a model would.
    pub(crate) async fn write_sample(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        let ask = ask.clone();
        self.run(move |console| {
            show_request(console, &ask)?;
            let text = edited(console, "Your answer", "")?;
            let result = json!({
                "role": "assistant", "content": { "type": "text", "text": text },
                "model": "person", "stopReason": "endTurn",
            });
            reviewed(console, result)
        })
        .await
    }

    /// Has a person decide whether a model is asked this. Returns the request as it is then.
    pub(crate) async fn review_request(&self, ask: &Ask) -> Result<Ask, NotAnswered> {
        let mut ask = ask.clone();
        self.run(move |console| {
            loop {
                show_request(console, &ask)?;
                let choices = [("Send it to the model", Next::Send), ("Edit it", Next::Edit), REFUSE];
                match pick(console, "Ask the model?", &choices, Some(0))? {
                    Next::Send => return Ok(ask),
                    Next::Refuse => return Err(Left::Stopped),
                    Next::Edit => {
                        let mut params = params(&ask);
                        edit(console, &mut params)?;
                        // Text of ours is always JSON.
                        ask.params = to_raw_value(&params).unwrap_or(ask.params);
                    }
                }
            }
        })
        .await
    }

    /// Has a person decide whether the server gets this answer. Returns the answer as it is then.
    pub(crate) async fn review_sample(&self, answer: Answer) -> Result<Answer, NotAnswered> {
        let Some(result) = answer.as_result().cloned() else { return Ok(answer) };
        self.run(move |console| reviewed(console, result)).await
    }
}

#[derive(Clone, Copy)]
enum Next {
    Send,
    Edit,
    Refuse,
}

const REFUSE: (&str, Next) = ("Refuse: stop the call", Next::Refuse);

fn reviewed(console: &mut dyn Console, mut result: Value) -> Result<Answer, Left> {
    loop {
        let about = ["model", "stopReason"].map(|name| result[name].as_str().unwrap_or_default());
        let mut lines = vec![format!("Answer ({}, {}):", escape::line(about[0]), escape::line(about[1]))];
        lines.extend(content(&result["content"]));
        show(console, &lines)?;
        let choices = [("Send it to the server", Next::Send), ("Edit it", Next::Edit), REFUSE];
        match pick(console, "Send this answer?", &choices, Some(0))? {
            Next::Send => return Ok(Answer::result(result)),
            Next::Refuse => return Err(Left::Stopped),
            Next::Edit => edit(console, &mut result)?,
        }
    }
}

fn params(ask: &Ask) -> Value {
    serde_json::from_str(ask.params.get()).unwrap_or_default()
}

fn show_request(console: &mut dyn Console, ask: &Ask) -> Result<(), Left> {
    introduce(console, ask)?;
    let params = params(ask);
    let mut lines = vec!["It wants a model to answer this:".to_owned()];
    if let Some(system) = params["systemPrompt"].as_str() {
        lines.push(format!("[system] {}", escape::block(system)));
    }
    for message in params["messages"].as_array().into_iter().flatten() {
        let role = escape::line(message["role"].as_str().unwrap_or("?"));
        lines.extend(content(&message["content"]).iter().map(|text| format!("[{role}] {text}")));
    }
    let names = |list: &Value| {
        let names = list.as_array().into_iter().flatten().filter_map(|it| it["name"].as_str());
        escape::line(&names.collect::<Vec<_>>().join(", "))
    };
    let hints = names(&params["modelPreferences"]["hints"]);
    let tools = names(&params["tools"]);
    let about = [("at most", params["maxTokens"].to_string(), " tokens"), ("model", hints, ""), ("tools", tools, "")];
    let about = about.iter().filter(|(_, text, _)| !text.is_empty() && text != "null");
    let about: Vec<_> = about.map(|(what, text, unit)| format!("{what} {}{unit}", escape::line(text))).collect();
    if !about.is_empty() {
        lines.push(format!("({})", about.join("; ")));
    }
    show(console, &lines)
}

/// The blocks of a message, harmless; what is not text is named.
fn content(content: &Value) -> Vec<String> {
    let blocks = content.as_array().map_or_else(|| std::slice::from_ref(content), Vec::as_slice);
    let shown = |block: &Value| match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => escape::block(text),
        (Some("tool_use"), _) => escape::json(&format!("uses {} with {}", block["name"], block["input"])),
        (Some("tool_result"), _) => escape::json(&format!("result {}", block["content"])),
        (kind, _) => {
            let bytes = block["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
            format!("({}, about {bytes} bytes)", escape::line(kind.unwrap_or("no type")))
        }
    };
    blocks.iter().map(shown).collect()
}

fn show(console: &mut dyn Console, lines: &[String]) -> Result<(), Left> {
    let (columns, rows) = screen();
    let wrapped: Vec<_> = lines.iter().flat_map(|line| wrap(line, columns.saturating_sub(2))).collect();
    read_through(console, &wrapped, rows.saturating_sub(8))
}

/// Has one of the texts in a request or an answer changed.
fn edit(console: &mut dyn Console, value: &mut Value) -> Result<(), Left> {
    let places = texts(value);
    let place = match &*places {
        [] => return Ok(()),
        [only] => only,
        several => {
            let labels: Vec<_> = several
                .iter()
                .map(|place| super::layout::cut(&escape::line(text_at(value, place)), screen().0.saturating_sub(6)))
                .collect();
            let choices: Vec<_> = labels.iter().map(String::as_str).zip(several).collect();
            pick(console, "Which text?", &choices, Some(0))?
        }
    };
    let text = edited(console, "Text", text_at(value, place))?;
    if let Some(found) = value.pointer_mut(place) {
        *found = text.into();
    }
    Ok(())
}

fn text_at<'v>(value: &'v Value, place: &str) -> &'v str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// Where the texts are, as JSON pointers.
fn texts(value: &Value) -> Vec<String> {
    let mut places = Vec::new();
    if value["systemPrompt"].is_string() {
        places.push("/systemPrompt".to_owned());
    }
    let messages = value["messages"].as_array().map_or(0, Vec::len);
    let contents = (0..messages).map(|index| format!("/messages/{index}/content")).chain(["/content".to_owned()]);
    for place in contents {
        let content = value.pointer(&place).unwrap_or(&Value::Null);
        let blocks = content.as_array().map_or(0, Vec::len);
        let blocks = (0..blocks).map(|index| format!("{place}/{index}/text")).chain([format!("{place}/text")]);
        places.extend(blocks.filter(|place| value.pointer(place).is_some_and(Value::is_string)));
    }
    places
}

/// Has a text typed on one line, in which `\n` is a line break.
fn edited(console: &mut dyn Console, label: &str, text: &str) -> Result<String, Left> {
    anstream::eprintln!("  {label}");
    dimmed("(\\n is a line break, \\\\ a backslash)");
    let initial = on_one_line(text);
    let prompt = TextPrompt { initial: &initial, ways: Ways::default(), check: &|_| Ok(()) };
    loop {
        if let Said::Given(typed) = console.text(&prompt)? {
            return Ok(from_one_line(&typed));
        }
    }
}

fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    for (c, is_unsafe) in visible::characters(text) {
        match c {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            c if is_unsafe => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

fn from_one_line(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let (c, left) = match after.as_bytes().first() {
            Some(b'n') => ('\n', after.get(1..)),
            Some(b't') => ('\t', after.get(1..)),
            Some(b'\\') => ('\\', after.get(1..)),
            Some(b'u') => code(after).map_or(('\\', Some(after)), |(c, left)| (c, Some(left))),
            _ => ('\\', Some(after)),
        };
        text.push(c);
        rest = left.unwrap_or_default();
    }
    text + rest
}

/// Reads `u{1b}`.
fn code(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = text.strip_prefix("u{")?.split_once('}')?;
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_be_edited_on_one_line() {
        for text in ["plain", "two\nlines\tand \\n", "\u{1b}[2J\u{202e}é", "\\u{zz} \\x \\", ""] {
            let line = on_one_line(text);
            assert!(!line.contains(['\n', '\u{1b}', '\u{202e}']), "{line}");
            assert_eq!(from_one_line(&line), text);
        }
    }

    #[test]
    fn the_texts_of_requests_and_answers_are_found() {
        let request = json!({ "systemPrompt": "s", "messages": [
            { "content": { "type": "text", "text": "a" } },
            { "content": [{ "type": "image" }, { "type": "text", "text": "b" }] },
        ]});
        assert_eq!(texts(&request), ["/systemPrompt", "/messages/0/content/text", "/messages/1/content/1/text"]);
        assert_eq!(texts(&json!({ "content": { "text": "a" } })), ["/content/text"]);
    }
}
