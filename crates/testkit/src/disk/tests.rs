//! What the simulated disk does, and what a power cut leaves of it.

use super::*;

fn with_file(text: &[u8]) -> (Disk, Node, Node) {
    let disk = Disk::new();
    let top = disk.plant("run", &Image::default());
    let file = disk.make(&Name::new(top, "a"), false).expect("made");
    disk.write(file, 0, text).expect("written");
    (disk, top, file)
}

fn follow(platter: &mut Platter, ops: &[Op]) {
    for op in ops {
        platter.follow(op);
    }
}

fn file_of(image: &Image, path: &str) -> Option<Vec<u8>> {
    image.files().find(|(name, _)| *name == path).map(|(_, bytes)| bytes.to_vec())
}

#[test]
fn a_power_cut_keeps_what_was_synced_and_may_drop_the_rest() {
    let disk = Disk::new();
    let top = disk.plant("run", &Image::default());
    let mut platter = Platter::new(&disk);
    disk.start_record();
    let file = disk.make(&Name::new(top, "a"), false).expect("made");
    disk.write(file, 0, b"first").expect("written");
    disk.sync(file).expect("synced");
    disk.write(file, 5, b" second").expect("written");
    let other = disk.make(&Name::new(top, "b"), false).expect("made");
    disk.sync(top).expect("synced");
    disk.write(other, 0, b"b").expect("written");
    let record = disk.end_record();
    let (before_sync, after) = record.split_at(5);
    follow(&mut platter, before_sync);
    assert_eq!(platter.cut("run", Keep::Nothing), Image::default(), "no name is durable");
    assert_eq!(file_of(&platter.cut("run", Keep::Names), "a").as_deref(), Some(&b"first\0\0\0\0\0\0\0"[..]));
    follow(&mut platter, after);
    let least = platter.cut("run", Keep::Nothing);
    assert_eq!(file_of(&least, "a").as_deref(), Some(&b"first"[..]));
    assert_eq!(file_of(&least, "b").as_deref(), Some(&b""[..]));
    assert_eq!(platter.cut("run", Keep::All), disk.image(top));
    let newest = platter.cut("run", Keep::Last);
    assert_eq!(file_of(&newest, "a").as_deref(), Some(&b"first"[..]));
    assert_eq!(file_of(&newest, "b").as_deref(), Some(&b"b"[..]));
    assert_eq!(platter.pending(), 2);
}

#[test]
fn a_write_is_torn_at_sectors() {
    let disk = Disk::new();
    let top = disk.plant("run", &Image::default());
    let mut platter = Platter::new(&disk);
    disk.start_record();
    let file = disk.make(&Name::new(top, "a"), false).expect("made");
    disk.write(file, 0, &[7; 2 * SECTOR_BYTES]).expect("written");
    follow(&mut platter, &disk.end_record());
    assert_eq!(platter.last_sectors(), Some(2));
    let head = file_of(&platter.cut("run", Keep::Head(1)), "a").expect("there");
    assert_eq!(head, vec![7; SECTOR_BYTES]);
    let tail = file_of(&platter.cut("run", Keep::Tail(1)), "a").expect("there");
    assert_eq!(tail[..SECTOR_BYTES], [0; SECTOR_BYTES]);
    assert_eq!(tail[SECTOR_BYTES..], [7; SECTOR_BYTES]);
}

#[test]
fn the_operation_that_was_named_fails_and_space_comes_back() {
    let (disk, top, file) = with_file(b"0123");
    disk.arm(Fault { failure: Failure::Torn, at: 1 });
    assert_eq!(disk.sync(file), Ok(()));
    assert_eq!(disk.write(file, 4, b"4567"), Err(DiskError::Io));
    assert_eq!(disk.read(file, 0, 9), Ok(b"012345".to_vec()));
    assert!(disk.disarm());
    disk.arm(Fault { failure: Failure::Full, at: 0 });
    assert_eq!(disk.write(file, 6, b"6"), Err(DiskError::Full));
    assert_eq!(disk.make(&Name::new(top, "b"), false), Err(DiskError::Full));
    assert_eq!(disk.write(file, 0, b"x"), Ok(()), "it needs no room");
    assert_eq!(disk.remove(&Name::new(top, "a")), Ok(()));
    assert!(disk.disarm());
    assert_eq!(disk.make(&Name::new(top, "b"), false).map(|_| ()), Ok(()));
    assert!(!disk.disarm());
    disk.arm(Fault { failure: Failure::Read, at: 1 });
    assert!(disk.read(file, 0, 1).is_ok());
    assert_eq!(disk.read(file, 0, 1), Err(DiskError::Io));
    assert!(disk.read(file, 0, 1).is_ok());
}

#[test]
fn a_rename_is_there_whole_or_not_at_all() {
    let (disk, top, file) = with_file(b"new");
    let old = disk.make(&Name::new(top, "b"), false).expect("made");
    disk.write(old, 0, b"old").expect("written");
    let mut platter = Platter::new(&disk);
    disk.start_record();
    disk.rename(&Name::new(top, "a"), &Name::new(top, "b")).expect("renamed");
    follow(&mut platter, &disk.end_record());
    let least = platter.cut("run", Keep::Nothing);
    assert_eq!(file_of(&least, "b").as_deref(), Some(&b"old"[..]));
    let most = platter.cut("run", Keep::All);
    assert_eq!(file_of(&most, "b").as_deref(), Some(&b"new"[..]));
    assert_eq!(file_of(&most, "a"), None);
    assert_eq!(disk.lookup(&Name::new(top, "b")), Some(file));
    disk.uproot("run");
    assert_eq!(disk.lookup(&Name::new(ROOT, "run")), None);
}

#[test]
fn a_rename_into_a_synced_folder_is_durable_though_the_name_it_ends_never_was() {
    let disk = Disk::new();
    let top = disk.plant("run", &Image::default());
    let folder = disk.make(&Name::new(top, "new"), true).expect("made");
    let mut platter = Platter::new(&disk);
    disk.start_record();
    let file = disk.make(&Name::new(folder, "a"), false).expect("made");
    disk.write(file, 0, b"text").and_then(|()| disk.sync(file)).expect("synced");
    disk.rename(&Name::new(folder, "a"), &Name::new(top, "b")).expect("renamed");
    disk.sync(top).expect("synced");
    follow(&mut platter, &disk.end_record());
    for keep in [Keep::Nothing, Keep::All, Keep::Random(3)] {
        assert_eq!(platter.cut("run", keep), disk.image(top), "{keep:?}");
    }
}

#[test]
fn an_image_goes_to_a_folder_and_back() {
    let mut image = Image::default();
    image.put("x", b"1".to_vec());
    let disk = Disk::new();
    let top = disk.plant("run", &image);
    let folder = disk.make(&Name::new(top, "deep"), true).expect("made");
    let file = disk.make(&Name::new(folder, "y"), false).expect("made");
    disk.write(file, 3, b"2").expect("written");
    let image = disk.image(top);
    let home = tempfile::tempdir().expect("a folder");
    image.write(home.path()).expect("written");
    let read = Image::read(home.path()).expect("read");
    assert_eq!(read, image);
    assert_eq!(read.fingerprint(), image.fingerprint());
    let planted = disk.plant("again", &read);
    assert_eq!(disk.image(planted), image);
}
