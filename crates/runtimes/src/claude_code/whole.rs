//! One line with the inside of its message, read in one pass.

use super::message::{Content, Message};
use super::record::Record;
use crate::json::{RecordError, Refused, Skim, parse_line};

/// A line: its own fields, and what is inside its message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Whole<'a> {
    pub(super) record: Record<'a>,
    pub(super) inside: Inside<'a>,
}

/// The inside of a record's message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inside<'a> {
    /// Its fields, where it is an object.
    pub(super) message: Option<Message<'a>>,
    /// Its content.
    pub(super) content: Content<'a>,
}

impl<'a> Whole<'a> {
    /// Reads one line, as [`Record::parse`] does.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        Ok(parse_line(line, |whole| Skim::whole(whole, Self::skim))?.1)
    }

    fn skim(skim: &mut Skim<'a>) -> Result<Self, Refused> {
        let mut whole = Self::default();
        skim.object(|key, skim| match key {
            "message" => {
                let (field, inside) = skim.spanned(Inside::skim)?;
                (whole.record.message, whole.inside) = (Some(field), inside);
                Ok(())
            }
            _ => whole.record.member(key, skim),
        })?;
        Ok(whole)
    }
}

impl<'a> Inside<'a> {
    fn skim(skim: &mut Skim<'a>) -> Result<Self, Refused> {
        if skim.peek() != Some(b'{') {
            return skim.skip().map(|()| Self::default());
        }
        let (mut message, mut content) = (Message::default(), Content::Absent);
        skim.object(|key, skim| match key {
            "content" => {
                let (field, read) = skim.spanned(Content::skim)?;
                (message.content, content) = (Some(field), read);
                Ok(())
            }
            _ => message.member(key, skim),
        })?;
        Ok(Self { message: Some(message), content })
    }
}

#[cfg(test)]
mod tests;
