//! Tokens in the database.

use rusqlite::{Connection, Row, params};
use stemmata_model::{Timestamp, TokenId};

use super::super::failure::{During, unreadable};
use super::super::statements::one;
use super::{SqliteState, at, count, name};
use crate::error::StoreError;
use crate::rules::tokens::{check_token, used};
use crate::state::{
    NewToken, STATE_PAGE_MAX, StateError, TOKENS_MAX, Token, TokenHash, TokenLimits, TokenScopes, Tokens,
};

const READING: &str = "reading a token";
const ADDING: &str = "adding a token";
const USING: &str = "using a token";
const REVOKING: &str = "revoking a token";

const COLUMNS: &str = "id, hash, label, principal, scopes, projects, sessions, created_at, expires_at, once, \
     used_at, revoked_at";

/// The bits of `scopes`.
const READ: u8 = 1;
const PUBLISH: u8 = 2;
const MANAGE: u8 = 4;

impl Tokens for SqliteState {
    fn add_token(&self, token: &NewToken) -> Result<(), StateError> {
        check_token(token)?;
        let texts = |all: Vec<&str>| serde_json::to_string(&all).expect("a list of texts");
        let sessions = token.limits.sessions.iter().map(AsRef::as_ref).collect();
        let projects = token.limits.projects.iter().map(String::as_str).collect();
        self.writing(ADDING, |transaction| {
            if count(transaction, ADDING, "SELECT count(*) FROM token")? >= TOKENS_MAX {
                return Err(StateError::TooMany { what: "tokens", bound: TOKENS_MAX });
            }
            let added = transaction.during(ADDING).run(
                "INSERT INTO token (id, hash, label, principal, scopes, projects, sessions, created_at, expires_at, once) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
                params![
                    token.id.as_str(),
                    token.hash.0,
                    token.label,
                    token.principal.as_str(),
                    bits(token.scopes),
                    texts(projects),
                    texts(sessions),
                    token.created_at.as_micros(),
                    token.expires_at.map(Timestamp::as_micros),
                    token.once
                ],
            )?;
            if added == 0 { Err(StateError::TokenTaken(token.id.clone())) } else { Ok(()) }
        })
    }

    fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StateError> {
        self.reading(|connection| Ok(found(connection, hash)?))
    }

    fn use_token(&self, hash: &TokenHash, now: Timestamp) -> Result<Option<Token>, StateError> {
        // Most uses note nothing, and need no lock.
        let known = self.token(hash)?;
        let Some((token, is_noted)) = known.and_then(|token| used(token, now)) else { return Ok(None) };
        if !is_noted {
            return Ok(Some(token));
        }
        self.writing(USING, |transaction| {
            // Another process may have used or revoked it meanwhile.
            let Some((token, _)) = found(transaction, hash)?.and_then(|token| used(token, now)) else {
                return Ok(None);
            };
            transaction.during(USING).run(
                "UPDATE token SET used_at = ?2 WHERE hash = ?1",
                params![hash.0, token.used_at.map(Timestamp::as_micros)],
            )?;
            Ok(Some(token))
        })
    }

    fn tokens(&self, after: Option<&TokenId>, rows_max: usize) -> Result<Vec<Token>, StateError> {
        let after = after.map_or("", TokenId::as_str);
        let rows_max = i64::try_from(rows_max.min(STATE_PAGE_MAX)).unwrap_or(i64::MAX);
        self.reading(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM token WHERE id > ?1 ORDER BY id LIMIT ?2");
            let rows: Vec<_> =
                connection.during(READING).list(&sql, params![after, rows_max], |row| Ok(token(row)))?;
            Ok(rows.into_iter().collect::<Result<_, _>>()?)
        })
    }

    fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<bool, StateError> {
        self.writing(REVOKING, |transaction| {
            let sql = "UPDATE token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
            Ok(transaction.during(REVOKING).run(sql, params![id.as_str(), now.as_micros()])? > 0)
        })
    }

    fn valid_tokens(&self, now: Timestamp) -> Result<u64, StateError> {
        self.reading(|connection| {
            let rows: i64 = connection.during(READING).only(
                "SELECT count(*) FROM token WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1) \
                 AND (once = 0 OR used_at IS NULL)",
                [now.as_micros()],
                one,
            )?;
            Ok(rows.cast_unsigned())
        })
    }
}

fn found(connection: &Connection, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM token WHERE hash = ?1");
    connection.during(READING).first(&sql, [hash.0], |row| Ok(token(row)))?.transpose()
}

fn token(row: &Row<'_>) -> Result<Token, StoreError> {
    let id: String = column(row, 0)?;
    let list = |number: usize| -> Result<Vec<String>, StoreError> {
        let text: String = column(row, number)?;
        serde_json::from_str(&text).map_err(|error| unreadable("projects and sessions", &id, &error))
    };
    let sessions = list(6)?.iter().map(|session| name("sessions", session)).collect::<Result<_, _>>()?;
    let bits: u8 = column(row, 4)?;
    let made = NewToken {
        id: name("id", &id)?,
        hash: TokenHash(column(row, 1)?),
        label: column(row, 2)?,
        principal: name("principal", &column::<String>(row, 3)?)?,
        scopes: TokenScopes {
            read: bits & READ != 0,
            publish: bits & PUBLISH != 0,
            manage: bits & MANAGE != 0,
        },
        limits: TokenLimits { projects: list(5)?, sessions },
        created_at: at(column(row, 7)?),
        expires_at: column::<Option<i64>>(row, 8)?.map(at),
        once: column(row, 9)?,
    };
    Ok(Token {
        made,
        used_at: column::<Option<i64>>(row, 10)?.map(at),
        revoked_at: column::<Option<i64>>(row, 11)?.map(at),
    })
}

fn column<T: rusqlite::types::FromSql>(row: &Row<'_>, number: usize) -> Result<T, StoreError> {
    row.get(number).during(READING)
}

fn bits(scopes: TokenScopes) -> u8 {
    let TokenScopes { read, publish, manage } = scopes;
    [(read, READ), (publish, PUBLISH), (manage, MANAGE)]
        .into_iter()
        .filter(|(is_allowed, _)| *is_allowed)
        .fold(0, |bits, (_, bit)| bits | bit)
}
