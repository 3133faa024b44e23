"""Commits of SQLite beside an interval timer: none of them may fail with a disk I/O error."""

import signal
import sqlite3

signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
db = sqlite3.connect("a.db")
db.execute("create table t (a integer, b blob)")
failed = 0
for number in range(150):
    try:
        with db:
            db.execute("insert into t values (?, zeroblob(100000))", (number,))
    except sqlite3.OperationalError as error:
        failed += 1
        print(error)
signal.setitimer(signal.ITIMER_REAL, 0)
print(failed, "failed;", *db.execute("select count(*), sum(a) from t").fetchone())
