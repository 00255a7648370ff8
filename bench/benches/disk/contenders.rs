//! Which stores are compared? Ours and its peers, each as its user would set it up.
//!
//! All return what a cache needs: the shared text. Each syncs only what it needs to survive a kill
//! of its process, unless its name says otherwise.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ptx_disk::{Bundle, Compression, Config, DiskStore, PtxArtifact, Size, Store as _, Stored};
use ptx_key::PtxKey;
use redb::{Database, ReadableDatabase as _, TableDefinition};
use rusqlite::{Connection, OptionalExtension as _};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// An open store.
pub(crate) trait Store {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome;
    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>>;

    /// Publishes many, in one transaction if the store has transactions.
    fn fill(&mut self, entries: &[(PtxKey, Arc<str>)]) -> Outcome {
        entries.iter().try_for_each(|(key, text)| self.publish(key, text))
    }
}

/// A kind of store.
#[derive(Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// Opens the store in a directory. Only ours enforces the maximum number of entries.
    pub(crate) open: fn(&Path, u64) -> Outcome<Box<dyn Store>>,
}

/// Ours is the first: ratios are to it.
pub(crate) const CONTENDERS: [Contender; 8] = [
    Contender { name: "ptx-disk", open: |at, most| ours(at, most, Compression::default()) },
    Contender { name: "ptx-disk, plain", open: |at, most| ours(at, most, Compression::Off) },
    Contender { name: "bare files", open: |at, _| BareFiles::open(at) },
    Contender { name: "files", open: |at, _| Files::open(at) },
    Contender { name: "cacache", open: |at, _| Ok(Box::new(Cacache(at.to_owned()))) },
    Contender { name: "sqlite", open: |at, _| Sqlite::open(at) },
    Contender { name: "redb", open: |at, _| Redb::open(at, redb::Durability::Immediate) },
    Contender { name: "redb, no sync", open: |at, _| Redb::open(at, redb::Durability::None) },
];

struct Ours(DiskStore);

fn ours(at: &Path, most: u64, compression: Compression) -> Outcome<Box<dyn Store>> {
    let config = Config::new(at);
    let budget = Size { entries: most, ..config.budget };
    let config = Config { compression, budget, free_bytes: 0, ..config };
    Ok(Box::new(Ours(DiskStore::open(config)?)))
}

impl Store for Ours {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome {
        let artifact = PtxArtifact::from(Arc::clone(text)).with_cost(Duration::from_millis(100));
        match self.0.store(key, &artifact).map_err(|error| -> Box<dyn Error> { error })? {
            Stored::Written => Ok(()),
            other => Err(format!("not published: {other:?}").into()),
        }
    }

    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        Ok(self
            .0
            .load(key)
            .map_err(|error| -> Box<dyn Error> { error })?
            .map(|found| found.payload))
    }
}

/// A file of entries, read in place. Another store exports it.
struct InBundle(Bundle);

pub(crate) const IN_BUNDLE: Contender = Contender {
    name: "ptx-disk, a bundle",
    open: |at, _| Ok(Box::new(InBundle(Bundle::open(&at.with_file_name("bundle"))?))),
};

impl Store for InBundle {
    fn publish(&mut self, _: &PtxKey, _: &Arc<str>) -> Outcome {
        Err("a bundle takes no entries".into())
    }

    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        Ok(self.0.load(key)?.map(|found| found.payload))
    }
}

/// A file for each key, written and renamed: the work of an hour. It has no header, digest, bound or
/// repair.
struct Files(PathBuf);

impl Files {
    fn open(at: &Path) -> Outcome<Box<dyn Store>> {
        fs::create_dir_all(at)?;
        Ok(Box::new(Self(at.to_owned())))
    }

    fn path(&self, key: &PtxKey) -> PathBuf {
        self.0.join(format!("{key:.2}/{key}.ptx"))
    }
}

impl Store for Files {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome {
        let (path, temporary) = (self.path(key), self.0.join(format!("tmp-{key}")));
        fs::write(&temporary, text.as_bytes())?;
        if fs::rename(&temporary, &path).is_err() {
            fs::create_dir_all(path.parent().ok_or("no parent directory")?)?;
            fs::rename(&temporary, &path)?;
        }
        Ok(())
    }

    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        match fs::read_to_string(self.path(key)) {
            Ok(text) => Ok(Some(text.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The same files, read without any check, not even for UTF-8: the floor of any store of files.
struct BareFiles(Files);

impl BareFiles {
    fn open(at: &Path) -> Outcome<Box<dyn Store>> {
        fs::create_dir_all(at)?;
        Ok(Box::new(Self(Files(at.to_owned()))))
    }
}

impl Store for BareFiles {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome {
        self.0.publish(key, text)
    }

    /// Reads and drops the bytes. The returned text is empty and costs nothing.
    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        match fs::read(self.0.path(key)) {
            Ok(bytes) => {
                std::hint::black_box(&bytes);
                Ok(Some(Arc::default()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

struct Cacache(PathBuf);

impl Store for Cacache {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome {
        cacache::write_sync(&self.0, key.to_string(), text.as_bytes())?;
        Ok(())
    }

    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        match cacache::read_sync(&self.0, key.to_string()) {
            Ok(bytes) => Ok(Some(String::from_utf8(bytes)?.into())),
            Err(cacache::Error::EntryNotFound(..)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// One table with a write-ahead log: a killed process loses no commit.
struct Sqlite(Connection);

impl Sqlite {
    fn open(at: &Path) -> Outcome<Box<dyn Store>> {
        fs::create_dir_all(at)?;
        let connection = Connection::open(at.join("store.sqlite"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute(
            "CREATE TABLE IF NOT EXISTS ptx (key BLOB PRIMARY KEY, text TEXT NOT NULL)",
            (),
        )?;
        Ok(Box::new(Self(connection)))
    }
}

impl Store for Sqlite {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome {
        let sql = "INSERT OR IGNORE INTO ptx (key, text) VALUES (?1, ?2)";
        self.0.prepare_cached(sql)?.execute((key.as_bytes(), &**text))?;
        Ok(())
    }

    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        let mut select = self.0.prepare_cached("SELECT text FROM ptx WHERE key = ?1")?;
        let text = |row: &rusqlite::Row<'_>| Ok(row.get_ref(0)?.as_str()?.into());
        Ok(select.query_row([key.as_bytes()], text).optional()?)
    }

    fn fill(&mut self, entries: &[(PtxKey, Arc<str>)]) -> Outcome {
        self.0.execute_batch("BEGIN")?;
        entries.iter().try_for_each(|(key, text)| self.publish(key, text))?;
        Ok(self.0.execute_batch("COMMIT")?)
    }
}

/// One table. A process that is killed before a sync loses what it wrote since the last one.
struct Redb(Database, redb::Durability);

impl Redb {
    const TABLE: TableDefinition<'static, &'static [u8], &'static str> =
        TableDefinition::new("ptx");

    fn open(at: &Path, durability: redb::Durability) -> Outcome<Box<dyn Store>> {
        fs::create_dir_all(at)?;
        let database = Database::create(at.join("store.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(Self::TABLE)?;
        transaction.commit()?;
        Ok(Box::new(Self(database, durability)))
    }
}

impl Store for Redb {
    fn publish(&mut self, key: &PtxKey, text: &Arc<str>) -> Outcome {
        let mut transaction = self.0.begin_write()?;
        transaction.set_durability(self.1)?;
        transaction.open_table(Self::TABLE)?.insert(key.as_bytes().as_slice(), &**text)?;
        Ok(transaction.commit()?)
    }

    fn load(&self, key: &PtxKey) -> Outcome<Option<Arc<str>>> {
        let table = self.0.begin_read()?.open_table(Self::TABLE)?;
        Ok(table.get(key.as_bytes().as_slice())?.map(|text| text.value().into()))
    }

    fn fill(&mut self, entries: &[(PtxKey, Arc<str>)]) -> Outcome {
        let transaction = self.0.begin_write()?;
        {
            let mut table = transaction.open_table(Self::TABLE)?;
            for (key, text) in entries {
                table.insert(key.as_bytes().as_slice(), &**text)?;
            }
        }
        Ok(transaction.commit()?)
    }
}
