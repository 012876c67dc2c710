/*
 * main.rs
 *	  Sets to bytes and back with Rust's roaring::RoaringTreemap.
 *
 * See ../run for what its arguments are and what it has to do.
 */
use roaring::RoaringTreemap;
use std::error::Error;
use std::fmt::Write;
use std::{env, fs, path::Path, process};

type Outcome = Result<(), Box<dyn Error>>;

fn write_set(from: &Path, to: &Path) -> Outcome {
    let mut set = RoaringTreemap::new();
    for line in fs::read_to_string(from)?.lines() {
        let (first, last) = line.split_once(' ').ok_or("a line is no run")?;
        let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
        if last - first >= 100 {
            set.insert_range(first..=last);
        } else {
            for value in first..=last {
                set.insert(value);
            }
        }
    }
    for form in ["plain", "optimized"] {
        if form == "optimized" {
            set.optimize();
        }
        let mut bytes = Vec::with_capacity(set.serialized_size());
        set.serialize_into(&mut bytes)?;
        fs::write(format!("{}.{form}", to.display()), bytes)?;
    }
    Ok(())
}

fn read_set(from: &Path, to: &Path) -> Outcome {
    let bytes = fs::read(from)?;
    let mut left = &bytes[..];
    let set = RoaringTreemap::deserialize_from(&mut left)?;
    if !left.is_empty() {
        return Err(format!("{} bytes were not read", left.len()).into());
    }
    let mut text = String::new();
    let mut run: Option<(u64, u64)> = None;
    for value in &set {
        run = match run {
            Some((first, last)) if last + 1 == value => Some((first, value)),
            other => {
                if let Some((first, last)) = other {
                    writeln!(text, "{first} {last}")?;
                }
                Some((value, value))
            }
        };
    }
    if let Some((first, last)) = run {
        writeln!(text, "{first} {last}")?;
    }
    fs::write(to, text)?;
    Ok(())
}

fn main() -> Outcome {
    let args: Vec<String> = env::args().collect();
    let work = if args[2] == "write" { write_set } else { read_set };
    let mut status = 0;
    for entry in fs::read_dir(&args[3])? {
        let name = entry?.file_name();
        let from = Path::new(&args[3]).join(&name);
        let to = Path::new(&args[4]).join(&name);
        if let Err(trouble) = work(&from, &to) {
            eprintln!("{}: {trouble}", name.to_string_lossy());
            status = 1;
        }
    }
    process::exit(status)
}
