//! `node,time,cpu,mem,owner_active`.

use std::io::BufRead;

use super::{Bad, Nodes, TraceError};
use crate::cluster::owner::Sample;
use crate::span::nanos;

const COLUMNS: [&str; 5] = ["node", "time", "cpu", "mem", "owner_active"];

pub(super) fn read(text: impl BufRead) -> Result<Nodes, TraceError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text);
    let mut nodes = Nodes::default();
    let mut bad = Bad::default();
    let mut record = csv::StringRecord::new();
    let mut first = true;
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                match error.into_kind() {
                    csv::ErrorKind::Io(error) => return Err(error.into()),
                    kind => bad.add(line, "…", format!("{kind:?}: it is not text; save the file as UTF-8")),
                }
                continue;
            }
        }
        let line = record.position().map_or(0, csv::Position::line);
        if std::mem::take(&mut first)
            && COLUMNS.iter().all(|column| record.iter().any(|field| field == *column))
        {
            if record.iter().ne(COLUMNS) {
                let problem = format!("the columns are in another order; write {}", COLUMNS.join(","));
                bad.add(line, &record.iter().collect::<Vec<_>>().join(","), problem);
                break;
            }
            continue;
        }
        if let Err(problem) = add(&record, &mut nodes) {
            bad.add(line, &record.iter().collect::<Vec<_>>().join(","), problem);
        }
    }
    bad.none()?;
    Ok(nodes)
}

fn add(record: &csv::StringRecord, nodes: &mut Nodes) -> Result<(), String> {
    let [node, time, cpu, mem, active] = record.iter().collect::<Vec<_>>()[..] else {
        return Err(format!("it has {} fields; write {}", record.len(), COLUMNS.join(",")));
    };
    if node.is_empty() {
        return Err("the node has no name; every sample belongs to one".to_owned());
    }
    let time_s: f64 = time
        .parse()
        .ok()
        .filter(|time: &f64| time.is_finite())
        .ok_or_else(|| format!("the time '{time}' is not a number; write seconds since any moment"))?;
    if time_s < 0.0 {
        return Err(format!(
            "the time {time} is negative; count seconds from the beginning of the trace, or of 1970"
        ));
    }
    let part = |name: &str, text: &str| match text.parse::<f32>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        Ok(_) => Err(format!("{name} is {text}; it is a share from 0 to 1 (12% is 0.12)")),
        Err(_) => Err(format!("{name} is '{text}', which is not a number; write a share from 0 to 1")),
    };
    let (load, memory) = (part("cpu", cpu)?, part("mem", mem)?);
    let in_use = match active {
        "0" | "false" => false,
        "1" | "true" => true,
        _ => return Err(format!("owner_active is '{active}'; write 0 or 1")),
    };
    let at = nanos(time_s * 1e9);
    let samples = nodes.of(node);
    if let Some(last) = samples.last()
        && at <= last.at
    {
        return Err(format!(
            "the time is not after that of the sample of {node} before it; sort the file by time"
        ));
    }
    samples.push(Sample { at, load, memory, in_use });
    Ok(())
}
