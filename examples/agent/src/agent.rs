//! The loop: ask the model, run its tools, until it answers.
//!
//! Everything is stored before the next thing happens. So the process may end at any moment, and `resume` goes on.

use std::slice;

use stemmata_engine::model::{Part, Role};
use stemmata_llm::{ChatReply, ChatRequest, Client, LlmError};

use crate::Result;
use crate::memory::Memory;
use crate::messages::{self, INTERRUPTED};
use crate::tools::Tools;

/// Answers of the model in one turn. A model that calls tools without end is stopped.
const ANSWERS_MAX: usize = 50;

pub struct Agent<'e> {
    pub memory: Memory<'e>,
    pub model: Client,
    pub tools: Tools,
    /// Who the agent is: the system prompt. It is the same in every request, so that the provider's cache holds it.
    pub system: String,
    pub answer_tokens_max: u32,
}

impl Agent<'_> {
    /// Takes a turn: what the user said, until the model has answered.
    pub fn turn(&mut self, said: &str) -> Result<String> {
        let said = messages::said(Role::User, vec![Part::Text(said.to_owned())])?;
        self.memory.begin(said)?;
        self.go_on()
    }

    /// Finishes the turn in which the process ended before, if there is one.
    pub fn resume(&mut self) -> Result<Option<String>> {
        if !messages::is_open(self.memory.context()) {
            return Ok(None);
        }
        self.go_on().map(Some)
    }

    fn go_on(&mut self) -> Result<String> {
        // A call whose result was never stored may have run. It is not run again: the model is told, and decides.
        for call in messages::open_calls(self.memory.context()) {
            let told = Err(INTERRUPTED.to_owned());
            self.memory.step(messages::result(&call, told, self.memory.window.output())?)?;
        }
        for _ in 0..ANSWERS_MAX {
            let reply = self.ask()?;
            let answer = messages::answer(&reply, self.model.model())?;
            let calls = messages::open_calls(slice::from_ref(&answer));
            if calls.is_empty() {
                self.memory.end(answer)?;
                return Ok(reply.text);
            }
            // The calls are stored before they run: what a tool did must not be forgotten.
            self.memory.step(answer)?;
            for call in calls {
                self.memory.step(messages::result(
                    &call,
                    self.tools.run(&call),
                    self.memory.window.output(),
                )?)?;
            }
        }
        // An answer of our own ends the turn: behind a result the next start would go on, though nobody asks for more.
        let text = format!("[stopped: the model called tools in {ANSWERS_MAX} answers]");
        self.memory.end(messages::said(Role::Assistant, vec![Part::Text(text.clone())])?)?;
        Ok(text)
    }

    /// Asks the model. If the context is too long for it, makes that smaller and asks once more.
    fn ask(&mut self) -> Result<ChatReply> {
        match self.model.chat(&self.request()) {
            Err(LlmError::Refused { status, .. })
                if self.memory.recover(&status.message, &status.code)? =>
            {
                Ok(self.model.chat(&self.request())?)
            }
            answered => Ok(answered?),
        }
    }

    fn request(&self) -> ChatRequest {
        ChatRequest {
            system: self.system.clone(),
            messages: messages::messages(self.memory.context()),
            tools: Tools::described(),
            max_output_tokens: self.answer_tokens_max,
        }
    }
}
