//! The frames of SQLite's log as they lie in the file: which transactions can be read, and which cannot any more.
//!
//! SQLite ends its log at the first frame whose checksum is wrong, because that is what a torn write looks like, and
//! drops what comes after it without a word. This looks past that frame. It changes nothing; what follows from what is
//! found is decided by `log_damage`.

mod sums;

use std::io::{self, Read, Seek, SeekFrom};

use self::sums::{Order, Sums};

/// Bytes of the log's header, and of the one before each page.
const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// How many bits of a frame's salts may differ from the log's for it to be one of this log, with a flipped bit.
const NEAR_BITS_MAX: u32 = 1;

/// What a log begins with, but for the lowest bit, which says in which order checksums take the bytes of a word.
const MAGIC: u32 = 0x377f_0682;

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Transactions that SQLite reads.
    pub(super) readable: u64,
    /// What it drops although it was committed.
    pub(super) lost: Option<Lost>,
    /// Where the frames of a last transaction begin that is not whole: either it was being written when the power
    /// went, and nobody was told that it is stored, or more than one bit of it changed since.
    pub(super) unfinished_at: Option<u64>,
}

/// Committed transactions that SQLite does not read, because a frame before them, or of them, is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost {
    /// Transactions, as far as they can be counted.
    pub(super) transactions: u64,
    /// Byte of the file at which the first damaged frame begins; 0 for the log's header.
    pub(super) offset: u64,
    /// The two random words of the log.
    pub(super) salts: [u32; 2],
}

/// Says whether frames of this very log lie behind the first so many, by their headers alone: those of an earlier
/// round through the file have other salts. Where there are none, nothing was dropped.
pub(super) fn has_more(
    log: &mut (impl Read + Seek),
    bytes: u64,
    page_bytes: usize,
    after: u64,
) -> io::Result<bool> {
    let frame_bytes = (FRAME_HEADER_BYTES + page_bytes) as u64;
    let frames = bytes.saturating_sub(HEADER_BYTES as u64) / frame_bytes;
    let mut header = [0; HEADER_BYTES];
    if frames > after {
        log.seek(SeekFrom::Start(0))?;
        log.read_exact(&mut header)?;
    }
    let salts = [word(&header, 16), word(&header, 20)];
    for number in after..frames {
        let mut frame = [0; FRAME_HEADER_BYTES];
        log.seek(SeekFrom::Start(HEADER_BYTES as u64 + number * frame_bytes))?;
        log.read_exact(&mut frame)?;
        if bits_between([word(&frame, 8), word(&frame, 12)], salts) <= NEAR_BITS_MAX {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Looks through a log of so many bytes, whose pages have so many.
pub(super) fn look(log: &mut (impl Read + Seek), bytes: u64, page_bytes: usize) -> io::Result<Found> {
    let frame_bytes = FRAME_HEADER_BYTES + page_bytes;
    let frames = bytes.saturating_sub(HEADER_BYTES as u64) / frame_bytes as u64;
    if frames == 0 {
        return Ok(Found::default());
    }
    let mut header = [0; HEADER_BYTES];
    let mut frame = Frame { header: [0; FRAME_HEADER_BYTES], page: vec![0; page_bytes] };
    log.seek(SeekFrom::Start(0))?;
    log.read_exact(&mut header)?;
    frame.read(log)?;
    // A header that was never written: the file grew, and the power went.
    if header == [0; HEADER_BYTES] {
        return Ok(Found::default());
    }
    let (log_head, is_sound) = Head::of(&header, &frame);
    let mut walk = Walk::new(log_head, is_sound);
    walk.take(&frame, HEADER_BYTES as u64);
    for number in 1..frames {
        frame.read(log)?;
        walk.take(&frame, HEADER_BYTES as u64 + number * frame_bytes as u64);
    }
    Ok(walk.end())
}

/// A page in the log, with the header before it.
struct Frame {
    header: [u8; FRAME_HEADER_BYTES],
    page: Vec<u8>,
}

impl Frame {
    fn read(&mut self, log: &mut impl Read) -> io::Result<()> {
        log.read_exact(&mut self.header)?;
        log.read_exact(&mut self.page)
    }

    fn page_number(&self) -> u32 {
        word(&self.header, 0)
    }

    /// The last frame of a transaction holds how long the database is afterwards; all others hold 0.
    fn ends_transaction(&self) -> bool {
        word(&self.header, 4) != 0
    }

    fn salts(&self) -> [u32; 2] {
        [word(&self.header, 8), word(&self.header, 12)]
    }

    fn sums(&self) -> Sums {
        Sums(word(&self.header, 16), word(&self.header, 20))
    }

    /// What its checksum is over, after the checksum of the frame before it.
    fn covered(&self) -> [&[u8]; 2] {
        [self.header.split_at(8).0, &self.page]
    }
}

/// What all frames of a log have to go with.
#[derive(Debug, Clone, Copy)]
struct Head {
    order: Order,
    salts: [u32; 2],
    /// The checksum that the first frame's goes on from.
    sums: Sums,
}

impl Head {
    /// Reads the log's header, and says whether it is sound. What a damaged one said is taken from the first frame,
    /// as far as that goes on from it.
    fn of(header: &[u8; HEADER_BYTES], first: &Frame) -> (Self, bool) {
        let stored = Sums(word(header, 24), word(header, 28));
        let covered = header.split_at(24).0;
        let order = if word(header, 0) & 1 == 1 { Order::HighestFirst } else { Order::LowestFirst };
        let head = Self { order, salts: [word(header, 16), word(header, 20)], sums: stored };
        if word(header, 0) & !1 == MAGIC && Sums::default().after(order, &[covered]) == stored {
            return (head, true);
        }
        for order in [Order::LowestFirst, Order::HighestFirst] {
            for sums in [stored, Sums::default().after(order, &[covered])] {
                if first.page_number() != 0 && sums.after(order, &first.covered()) == first.sums() {
                    return (Self { order, salts: first.salts(), sums }, false);
                }
            }
        }
        (Self { salts: first.salts(), ..head }, false)
    }
}

/// What a frame says but for a flipped bit.
struct Mended {
    ends_transaction: bool,
    other_sums: Option<Sums>,
}

/// A walk through the frames of a log, first to last.
struct Walk {
    head: Head,
    /// The checksum that the next frame's goes on from.
    sums: Sums,
    /// What it may be as well, where the flipped bit may be one of the checksum itself.
    other_sums: Option<Sums>,
    found: Found,
    /// Where SQLite ends the log; all before it is read.
    damaged_at: Option<u64>,
    /// Whether all frames up to here follow one another, one flipped bit each set aside.
    is_whole: bool,
    /// Transactions behind the damage, and whether a frame says that one of them had been committed.
    behind: u64,
    is_certain: bool,
    /// The last frame ended a transaction, and whatever goes on from it shows that it was committed.
    is_open: bool,
    unfinished_at: Option<u64>,
}

impl Walk {
    const fn new(head: Head, is_sound: bool) -> Self {
        Self {
            head,
            sums: head.sums,
            other_sums: None,
            found: Found { readable: 0, lost: None, unfinished_at: None },
            damaged_at: if is_sound { None } else { Some(0) },
            is_whole: true,
            behind: 0,
            is_certain: false,
            is_open: false,
            unfinished_at: None,
        }
    }

    fn take(&mut self, frame: &Frame, offset: u64) {
        let (mine, near) = (frame.salts() == self.head.salts, bits_between(frame.salts(), self.head.salts));
        let other = self.other_sums.take();
        let goes_on = [Some(self.sums), other]
            .into_iter()
            .flatten()
            .any(|sums| sums.after(self.head.order, &frame.covered()) == frame.sums());
        if mine && frame.page_number() != 0 && goes_on {
            return self.follow(frame.ends_transaction(), frame.sums(), offset);
        }
        // A frame of an earlier round through the file, or none yet.
        if near > NEAR_BITS_MAX {
            self.damaged_at.get_or_insert(offset);
            self.is_whole = false;
            self.is_open = false;
            return;
        }
        let mended = self.mended(frame, near);
        self.damaged_at.get_or_insert(offset);
        if let Some(mended) = mended {
            self.follow(mended.ends_transaction, frame.sums(), offset);
            self.other_sums = mended.other_sums;
            return;
        }
        self.is_whole = false;
        self.unfinished_at.get_or_insert(offset);
        self.sums = frame.sums();
        self.is_open = frame.ends_transaction();
        self.behind += u64::from(self.is_open);
    }

    /// Goes on with a frame that goes on from the one before it.
    fn follow(&mut self, ends_transaction: bool, sums: Sums, offset: u64) {
        self.sums = sums;
        if self.damaged_at.is_none() {
            self.found.readable += u64::from(ends_transaction);
            return;
        }
        // Nobody writes on before a transaction was committed.
        self.is_certain |= self.is_open || self.is_whole && ends_transaction;
        self.is_open = ends_transaction;
        self.behind += u64::from(ends_transaction);
        self.unfinished_at.get_or_insert(offset);
    }

    /// Returns what a frame says once the one bit is turned back that makes it go on from the one before it.
    fn mended(&self, frame: &Frame, salt_bits: u32) -> Option<Mended> {
        let (sums, stored) = (self.sums.after(self.head.order, &frame.covered()), frame.sums());
        if salt_bits == 1 {
            let ends_transaction = frame.ends_transaction();
            return (sums == stored).then_some(Mended { ends_transaction, other_sums: None });
        }
        let other_sums = (bits_between([sums.0, sums.1], [stored.0, stored.1]) == 1).then_some(sums);
        let flipped = sums::flipped_words(self.head.order, (sums, stored), &frame.covered());
        // The second word is the length of the database, which is 0 but at the end of a transaction. Where it may be
        // the one with the flipped bit, and may not, it counts as an end: one too many says less than one too few.
        let lengths = || flipped.iter().filter(|own| own.word == 1);
        let is_length = other_sums.is_none() && lengths().count() == flipped.len();
        let ends_transaction = !is_length && frame.ends_transaction() || lengths().any(|own| own.right != 0);
        (other_sums.is_some() || !flipped.is_empty()).then_some(Mended { ends_transaction, other_sums })
    }

    fn end(mut self) -> Found {
        match self.damaged_at {
            Some(offset) if self.is_certain => {
                let salts = self.head.salts;
                self.found.lost = Some(Lost { transactions: self.behind, offset, salts });
            }
            Some(_) if self.behind > 0 => self.found.unfinished_at = self.unfinished_at,
            _ => {}
        }
        self.found
    }
}

fn bits_between(one: [u32; 2], other: [u32; 2]) -> u32 {
    (one[0] ^ other[0]).count_ones() + (one[1] ^ other[1]).count_ones()
}

/// Reads four bytes, the highest first; 0 where there are not so many.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests;
