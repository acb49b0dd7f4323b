//! Shell lines, taken apart into simple commands: quotes, pipes, redirections and documents are read, nothing is expanded.
//!
//! What a command proves or writes is decided elsewhere.

use std::iter::Peekable;
use std::str::Chars;

/// Bytes of a command line that are looked at.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// One command with its words, without redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Command {
    /// The program and what it is given.
    pub(crate) words: Vec<String>,
    /// Files that its output goes to, and whether it is put behind what they hold.
    pub(crate) writes: Vec<(String, bool)>,
    /// Whether it reads what the command before it says.
    pub(crate) is_piped: bool,
    /// What it is given behind its line, where that is whole and nothing in it is replaced.
    pub(crate) document: Option<String>,
    /// Whether it runs only where the one before it fails.
    pub(crate) is_else: bool,
}

/// Returns the commands of a line in their order; the last one is left out where a quote in it has no end.
pub(crate) fn commands(line: &str) -> Vec<Command> {
    let end = (0..=LINE_BYTES_MAX.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let mut lexer = Lexer {
        rest: line.get(..end).unwrap_or_default().chars().peekable(),
        found: Vec::new(),
        command: Command::default(),
        word: None,
        redirection: None,
        documents: Vec::new(),
    };
    lexer.read();
    lexer.found
}

/// Where the next word goes that is none of the command's own.
#[derive(Clone, Copy)]
enum Redirection {
    /// To a file.
    Output { appends: bool },
    /// From a file, or to what is open already.
    Other,
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    found: Vec<Command>,
    command: Command,
    word: Option<String>,
    redirection: Option<Redirection>,
    /// Documents that begin after this line: which command's, their ends, whether those are quoted.
    documents: Vec<(usize, String, bool)>,
}

impl Lexer<'_> {
    fn read(&mut self) {
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                '"' | '\'' => {
                    if !self.quoted(character) {
                        return;
                    }
                }
                '#' if self.word.is_none() => while self.rest.next_if(|next| *next != '\n').is_some() {},
                '>' => self.output(),
                '<' => self.input(),
                '&' if self.rest.peek() == Some(&'>') => self.push('&'),
                '|' if self.rest.peek() != Some(&'|') => {
                    self.end_command();
                    self.command.is_piped = true;
                }
                '&' | ';' | '|' | '\n' => {
                    let is_double = self.rest.next_if_eq(&character).is_some();
                    self.end_command();
                    self.command.is_else = character == '|' && is_double;
                    if character == '\n' {
                        self.skip_documents();
                    }
                }
                _ if character.is_whitespace() => self.end_word(),
                _ => self.push(character),
            }
        }
        self.end_command();
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_with(String::new).push(character);
    }

    /// Says whether the quote has an end.
    fn quoted(&mut self, quote: char) -> bool {
        self.word.get_or_insert_with(String::new);
        while let Some(character) = self.rest.next() {
            match character {
                _ if character == quote => return true,
                '\\' if quote == '"' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                _ => self.push(character),
            }
        }
        false
    }

    fn output(&mut self) {
        // The number of what is redirected is no word.
        let is_number = |word: &String| word == "&" || word.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.take_if(|word| is_number(word)).is_none() {
            self.end_word();
        }
        let appends = self.rest.next_if_eq(&'>').is_some();
        self.rest.next_if_eq(&'|');
        let is_open = self.rest.next_if_eq(&'&').is_some();
        self.redirection = Some(if is_open { Redirection::Other } else { Redirection::Output { appends } });
    }

    fn input(&mut self) {
        if self.word.take_if(|word| word.bytes().all(|byte| byte.is_ascii_digit())).is_none() {
            self.end_word();
        }
        if self.rest.next_if_eq(&'<').is_some() && self.rest.next_if_eq(&'<').is_none() {
            self.rest.next_if_eq(&'-');
            while self.rest.next_if_eq(&' ').is_some() {}
            let (mut end, mut is_quoted) = (String::new(), false);
            while let Some(character) = self
                .rest
                .next_if(|next| !next.is_whitespace() && !matches!(next, ';' | '|' | '&' | ')' | '>'))
            {
                if matches!(character, '"' | '\'' | '\\') {
                    is_quoted = true;
                } else {
                    end.push(character);
                }
            }
            self.documents.push((self.found.len(), end, is_quoted));
            return;
        }
        self.rest.next_if_eq(&'&');
        self.redirection = Some(Redirection::Other);
    }

    fn skip_documents(&mut self) {
        for (of, end, is_quoted) in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            let is_whole = loop {
                let line: String = std::iter::from_fn(|| self.rest.next_if(|next| *next != '\n')).collect();
                let is_last = self.rest.next().is_none();
                if is_last || line.trim() == end {
                    break line.trim() == end;
                }
                text.push_str(&line);
                text.push('\n');
            };
            let is_literal = is_quoted || !text.contains(['$', '`', '\\']);
            if let Some(command) = self.found.get_mut(of).filter(|_| is_whole && is_literal) {
                command.document = Some(text);
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirection.take() {
            None => self.command.words.push(word),
            Some(Redirection::Output { appends }) => self.command.writes.push((word, appends)),
            Some(Redirection::Other) => {}
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirection = None;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.writes.is_empty() {
            self.found.push(command);
        }
    }
}
