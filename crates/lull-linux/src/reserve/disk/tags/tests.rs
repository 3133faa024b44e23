//! Tags of this process's own descriptors, and of children's: real ones, marked and looked up as the gate does.

use std::fs::File as OpenFile;
use std::os::fd::IntoRawFd;
use std::process::{Child, Command, Stdio};

use super::*;

const ONE: Queue = (0, Id(1));
const TWO: Queue = (0, Id(2));

/// One at a time: numbers of descriptors are all threads'.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn file() -> OpenFile {
    tempfile::tempfile().unwrap()
}

/// What the gate would find for a descriptor of this process.
fn queue(tags: &Tags, fd: &impl AsRawFd) -> Option<Queue> {
    // SAFETY: asks for a number.
    let tid = unsafe { libc::gettid() };
    tags.queue_of_thread(tid.cast_unsigned(), fd.as_raw_fd())
}

fn set(tags: &Tags, fd: &impl AsRawFd, queue: Option<Queue>) {
    tags.set(own_pid(), fd.as_raw_fd(), queue).unwrap();
}

/// A child that has `input` as descriptor 0, until it is killed.
fn child_with(input: &OpenFile) -> Child {
    Command::new("sleep").arg("1000").stdin(Stdio::from(input.try_clone().unwrap())).spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

#[test]
fn two_descriptors_of_one_file_have_different_queues() {
    let _alone = alone();
    let path = tempfile::NamedTempFile::new().unwrap();
    let [first, second, third] = [(); 3].map(|()| OpenFile::open(path.path()).unwrap());
    let tags = Tags::default();
    assert!(tags.is_empty() && queue(&tags, &first).is_none());
    set(&tags, &first, Some(ONE));
    set(&tags, &second, Some(TWO));
    assert_eq!([&first, &second, &third].map(|fd| queue(&tags, fd)), [Some(ONE), Some(TWO), None]);
    set(&tags, &first, Some(TWO));
    set(&tags, &second, None);
    assert_eq!([&first, &second, &third].map(|fd| queue(&tags, fd)), [Some(TWO), None, None]);
    assert!(tags.uses(TWO) && !tags.uses(ONE));
}

#[test]
fn a_number_that_is_given_again_does_not_keep_the_tag() {
    let _alone = alone();
    let path = tempfile::NamedTempFile::new().unwrap();
    let tags = Tags::default();
    let first = OpenFile::open(path.path()).unwrap().into_raw_fd();
    tags.set(own_pid(), first, Some(ONE)).unwrap();
    assert_eq!(tags.queue_of(own_pid(), first), Some(ONE));
    let other = OpenFile::open(path.path()).unwrap();
    // SAFETY: both numbers are this test's own; the first is now another open file of the same file.
    unsafe { assert_eq!(libc::dup2(other.as_raw_fd(), first), first) };
    assert_eq!(tags.queue_of(own_pid(), first), None);
    assert!(!tags.uses(ONE), "nobody has it any more");
    // SAFETY: this test's own.
    unsafe { libc::close(first) };
}

#[test]
fn a_copy_has_the_queue_with_which_it_was_copied() {
    let _alone = alone();
    let tags = Tags::default();
    let first = file();
    let before = first.try_clone().unwrap();
    set(&tags, &first, Some(ONE));
    let after = first.try_clone().unwrap();
    set(&tags, &first, Some(TWO));
    assert_eq!([&before, &after, &first].map(|fd| queue(&tags, fd)), [None, Some(ONE), Some(TWO)]);

    let other = file();
    set(&tags, &other, Some(ONE));
    set(&tags, &after, None);
    let last = other.try_clone().unwrap();
    drop(other);
    assert!(tags.uses(ONE), "the copy was not used yet, and its original is closed");
    assert_eq!(queue(&tags, &last), Some(ONE));
    drop(last);
    assert!(!tags.uses(ONE));
}

#[test]
fn a_number_given_again_to_another_tagged_file_leaves_the_copies_of_the_first() {
    let _alone = alone();
    let tags = Tags::default();
    let (first, second) = (file().into_raw_fd(), file());
    tags.set(own_pid(), first, Some(ONE)).unwrap();
    set(&tags, &second, Some(TWO));
    // SAFETY: numbers of this test's own.
    let copy = unsafe { libc::dup(first) };
    // SAFETY: as above.
    unsafe { libc::dup2(second.as_raw_fd(), first) };
    assert_eq!(tags.queue_of(own_pid(), first), Some(TWO));
    assert_eq!(tags.queue_of(own_pid(), copy), Some(ONE));
    // SAFETY: as above.
    unsafe { (libc::close(first), libc::close(copy)) };
}

#[test]
fn a_child_has_its_parents_queues_until_either_is_switched() {
    let _alone = alone();
    let tags = Tags::default();
    let shared = file();
    set(&tags, &shared, Some(ONE));
    let [early, late] = [(); 2].map(|()| child_with(&shared));
    assert_eq!(tags.queue_of(pid(&early), 0), Some(ONE));
    set(&tags, &shared, Some(TWO));
    assert_eq!(tags.queue_of(pid(&late), 0), Some(ONE), "it was forked before");
    tags.set(pid(&early), 0, Some(TWO)).unwrap();
    tags.set(pid(&late), 0, None).unwrap();
    let all = [tags.queue_of(pid(&early), 0), tags.queue_of(pid(&late), 0), queue(&tags, &shared)];
    assert_eq!(all, [Some(TWO), None, Some(TWO)], "one open file, three references");
    end(early);
    end(late);
}

#[test]
fn a_child_keeps_the_queue_when_its_parent_has_ended() {
    let _alone = alone();
    let tags = Tags::default();
    let shared = file();
    let mut shell = Command::new("sh");
    shell.args(["-c", "sleep 1000 >/dev/null & echo $!; read x"]);
    let (input, mut release) = io::pipe().unwrap();
    let mut shell = shell
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::from(shared.try_clone().unwrap()))
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut told = io::BufReader::new(shell.stdout.take().unwrap());
    io::BufRead::read_line(&mut told, &mut line).unwrap();
    let orphan: i32 = line.trim().parse().unwrap();
    tags.set(pid(&shell), 2, Some(ONE)).unwrap();
    // The child was there before: it has what it was forked with. A later one is not easily made, so it is switched by its parent's tag.
    assert_eq!(tags.queue_of(orphan, 2), None);
    tags.set(orphan, 2, Some(TWO)).unwrap();
    io::Write::write_all(&mut release, b"\n").unwrap();
    shell.wait().unwrap();
    assert!(tags.uses(TWO) && !tags.uses(ONE), "the shell is gone, its child is not");
    assert_eq!(tags.queue_of(orphan, 2), Some(TWO));
    // SAFETY: a child's child of this test.
    unsafe { libc::kill(orphan, libc::SIGKILL) };
}

#[test]
fn marks_are_taken_off_and_those_of_programs_are_left() {
    let _alone = alone();
    let tags = Tags::default();
    let (ours, theirs) = (OwnedFd::from(file()), OwnedFd::from(file()));
    fcntl(&theirs, libc::F_SETOWN, 1).unwrap();
    let refused = tags.set(own_pid(), theirs.as_raw_fd(), Some(ONE)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
    assert_eq!(fcntl(&theirs, libc::F_GETOWN, 0).unwrap(), 1);
    set(&tags, &ours, Some(ONE));
    assert!(mark_of(&ours).is_some());
    tags.clear(0);
    assert_eq!((fcntl(&ours, F_GETSIG, 0).unwrap(), fcntl(&ours, libc::F_GETOWN, 0).unwrap()), (0, 0));
    assert!(tags.set(own_pid(), 9_999, Some(ONE)).is_err(), "there is no such descriptor");
}
