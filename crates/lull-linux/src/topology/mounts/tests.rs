use proptest::prelude::*;

use super::*;

const ROOT: &str = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard";

#[test]
fn a_line_with_tags_and_a_line_without_both_parse() {
    let mount = Mount::parse(ROOT).unwrap();
    assert_eq!(
        (mount.dev, mount.fs.as_str(), mount.source.as_str()),
        (DevT::new(254, 0), "ext4", "/dev/vda1")
    );
    let mount = Mount::parse("28 27 0:25 /sub /mnt/a\\040b ro - btrfs /dev/sda rw,subvol=/sub").unwrap();
    assert_eq!(mount.point, Path::new("/mnt/a b"));
    assert_eq!(mount.fs_root, Path::new("/sub"));
    assert!(mount.has_option("subvol=/sub") && !mount.has_option("subvol"));
}

#[test]
fn a_broken_line_hides_no_other() {
    let table = MountTable::parse(&format!("nonsense\n{ROOT}\n12 x - \n"));
    assert_eq!(table.iter().count(), 1);
}

#[test]
fn overlay_layers_keep_their_colons_and_commas() {
    let line = "40 1 0:50 / /merged rw - overlay overlay rw,lowerdir=/a\\134:b:/c\\054d,upperdir=/up\\040per,workdir=/w";
    let layers = Mount::parse(line).unwrap().layers();
    assert_eq!(layers, [Path::new("/up per"), Path::new("/a:b"), Path::new("/c,d")]);
}

#[test]
fn relative_overlay_layers_are_beside_the_mount_point() {
    let line = "40 1 0:50 / /srv/merged rw - overlay overlay rw,lowerdir=low:/a,upperdir=up,workdir=work";
    let layers = Mount::parse(line).unwrap().layers();
    assert_eq!(layers, [Path::new("/srv/up"), Path::new("/srv/low"), Path::new("/a")]);
}

#[test]
fn overlay_layers_given_one_by_one_are_found() {
    let line = "40 1 0:50 / /merged rw - overlay overlay rw,lowerdir+=/a,lowerdir+=/b,datadir+=/c";
    assert_eq!(Mount::parse(line).unwrap().layers(), [Path::new("/a"), Path::new("/b"), Path::new("/c")]);
}

#[test]
fn the_deepest_and_latest_mount_contains_a_path() {
    let text =
        format!("{ROOT}\n30 27 8:1 / /srv rw - xfs /dev/sda1 rw\n31 27 8:17 / /srv rw - xfs /dev/sdb1 rw");
    let table = MountTable::parse(&text);
    assert_eq!(table.containing(Path::new("/srv/x")).unwrap().dev, DevT::new(8, 17));
    assert_eq!(table.containing(Path::new("/srvx")).unwrap().dev, DevT::new(254, 0));
}

proptest! {
    #[test]
    fn any_name_survives_the_kernel_s_escaping(name in "/[a-z \\t\\\\:,\\n0-9é]{0,12}") {
        let escaped: String = name.chars().map(|c| match c {
            ' ' => "\\040".to_owned(),
            '\t' => "\\011".to_owned(),
            '\n' => "\\012".to_owned(),
            '\\' => "\\134".to_owned(),
            other => other.to_string(),
        }).collect();
        prop_assert_eq!(unescape(&escaped), name);
    }

    #[test]
    fn any_text_parses_or_is_left_out(text in "\\PC{0,60}") {
        let table = MountTable::parse(&text);
        for mount in table.iter() {
            let _layers = mount.layers();
        }
        prop_assert!(table.iter().count() <= text.lines().count());
    }
}
