/* A call of SQLite's that Swift does not see, being variadic. */
#include <sqlite3.h>

/* Whether the log stays as it is when the connection is closed; an SQLite result code. */
static inline int sqlite_keep_log_on_close(void *connection, int keep) {
    return sqlite3_db_config((sqlite3 *)connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, (int *)0);
}
