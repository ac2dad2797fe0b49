/* A call of SQLite's that Swift does not see, being variadic. */
#include <sqlite3.h>

/* Lets the log lie where it is when a connection to `database` is closed; an SQLite result code. */
static inline int sqlite_keep_log_on_close(void *database) {
    return sqlite3_db_config((sqlite3 *)database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
