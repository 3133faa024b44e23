use lull_core::linger::GuestPolicy;

use super::*;

fn told(installed: Installed) -> String {
    let mut page = Page::new(false);
    Condor(installed).write(&mut page);
    page.finish()
}

#[test]
fn what_is_installed_and_what_is_in_its_way_is_told() {
    let installed = Installed {
        version: "23.9.6".to_owned(),
        executes: true,
        policy: Some(GuestPolicy::LingerForever),
        below: None,
        warnings: vec!["START already waits for KeyboardIdle".to_owned()],
    };
    let text = told(installed.clone());
    assert!(text.contains("23.9.6, runs guests"), "{text}");
    assert!(text.contains("installed: linger-forever") && text.contains("KeyboardIdle"), "{text}");
    for (below, said) in [
        ("everybody", "everybody comes first"),
        ("those in /system.slice", "idle among those in /system.slice only"),
    ] {
        let text = told(Installed { below: Some(below.to_owned()), ..installed.clone() });
        assert!(text.contains(said), "{text}");
    }
    let text = told(Installed { policy: None, warnings: Vec::new(), ..installed.clone() });
    assert!(text.contains("not installed"), "{text}");
    let text = told(Installed { executes: false, policy: None, warnings: Vec::new(), ..installed });
    assert!(text.contains("runs no guests"), "{text}");
}
